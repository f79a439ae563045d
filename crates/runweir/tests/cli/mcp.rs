// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir mcp`: a conversation over stdin and stdout. Another client's view of it is in `python/tests/test_mcp.py`.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::{Ran, program, temp};

/// What it answers to these bytes; none where this kernel has no Landlock.
fn answers_to(dir: &Path, options: &[&str], input: &[u8]) -> Option<Ran> {
    let mut child = program(dir)
        .arg("mcp")
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    // One that refused to serve does not read.
    let _ = child.stdin.take().expect("piped").write_all(input);
    let ran: Ran = child.wait_with_output().expect("ends").into();
    (ran.status != 1 || !ran.stderr.contains("Landlock")).then_some(ran)
}

/// Answers by number.
fn converse(dir: &Path, options: &[&str], messages: &[Value]) -> Option<Vec<Value>> {
    let input: String = messages.iter().map(|m| format!("{m}\n")).collect();
    let ran = answers_to(dir, options, input.as_bytes())?;
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    Some(ran.stdout.lines().map(|l| serde_json::from_str(l).expect("a message a line")).collect())
}

fn call(id: u32, tool: &str, arguments: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": arguments } })
}

#[test]
fn each_tool_answers() {
    let run = json!({ "topology": "decentral", "machine": "smp-2", "workload": "hackbench:groups=1,fds=2,loops=5" });
    let with = |key: &str, value: Value| {
        let mut all = run.clone();
        all[key] = value;
        all
    };
    let own = "annotate affinity; entry -> fifo -> cpus;";
    let compare =
        json!({ "topologies": ["decentral", own], "machine": run["machine"], "workload": run["workload"] });
    let calls = [
        (call(1, "run", &with("topology", json!(own))), "jobs done"),
        (call(2, "compare", &compare), "topology-2"),
        (call(3, "check", &json!({ "topology": own, "machine": "smp-4" })), "4 CPUs"),
        (call(4, "analyze", &with("duration", json!("50ms"))), "decentral"),
        (call(5, "explain", &with("worst", json!(1))), "waited"),
        (call(6, "graph", &json!({ "topology": "decentral" })), "load_balancer"),
        (call(7, "catalogue", &json!({ "kind": "components", "name": "fifo" })), "fifo"),
    ];
    let messages: Vec<Value> = calls.iter().map(|c| c.0.clone()).collect();
    let Some(answers) = converse(temp().path(), &[], &messages) else { return };
    assert_eq!(answers.len(), calls.len());
    for (answer, (_, words)) in answers.iter().zip(&calls) {
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert!(result["isError"] == false && text.contains(words), "{words}: {text}");
    }
}

/// An assistant reads no stderr: what a topology ignores, and what is taken for granted, is part of the answer.
#[test]
fn remarks_are_part_of_each_answer() {
    let workload = "duration = \"20ms\"\n[[task]]\nname = \"a\"\nnice = 5\nperiod = \"5ms\"\nprogram = [\"run 1ms\", \"yield\", \"run 1ms\"]\n";
    let run = json!({ "topology": "decentral", "machine": "smp-2", "workload": workload });
    let with = |key: &str, value: Value| {
        let mut all = run.clone();
        all[key] = value;
        all
    };
    let compare = json!({ "topologies": ["decentral", "linux"], "machine": "smp-2", "workload": workload });
    let messages = [
        call(1, "run", &run),
        call(2, "compare", &compare),
        call(3, "analyze", &run),
        call(4, "explain", &with("worst", json!(1))),
        call(5, "analyze", &with("schedulability", json!(true))),
    ];
    let Some(answers) = converse(temp().path(), &[], &messages) else { return };
    for (n, answer) in (1..).zip(&answers) {
        let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
        let words =
            if n == 5 { "warning: steps that yield" } else { "warning: `decentral` ignores nice values" };
        assert!(text.contains(words), "{n}: {text}");
    }
}

/// What is wrong is said to the assistant, with the remedy; files outside stay unread, and nothing is written beside.
#[test]
fn it_reads_and_writes_nothing_that_it_was_not_given() {
    let (dir, allowed) = (temp(), temp());
    std::fs::write(dir.path().join("secret.weir"), "entry -> fifo -> cpus;").expect("writable");
    let file = allowed.path().join("open.weir");
    std::fs::write(&file, "annotate affinity; entry -> fifo -> cpus;").expect("writable");
    let secret = dir.path().join("secret.weir");
    let check =
        |id: u32, topology: &str| call(id, "check", &json!({ "topology": topology, "machine": "smp-2" }));
    let messages = [
        check(1, &secret.to_string_lossy()),
        check(2, "secret.weir"),
        check(3, &file.to_string_lossy()),
        check(4, "include \"/etc/passwd\"; entry -> fifo -> cpus;"),
        check(5, "entry -> fifoo -> cpus;"),
        call(6, "format_disk", &json!({})),
        call(
            7,
            "run",
            &json!({ "topology": "decentral", "machine": "smp-2", "workload": "hackbench", "duration": "1h" }),
        ),
        // The sandbox refuses it, not its permissions.
        check(9, &format!("include \"{}\"; entry -> fifo -> cpus;", secret.display())),
        check(10, &allowed.path().join("lacks.weir").to_string_lossy()),
        call(
            11,
            "run",
            &json!({ "topology": "decentral", "machine": "smp-2", "workload": "hackbench", "cpus": 4 }),
        ),
        call(12, "check", &json!(["decentral"])),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" }),
        json!({ "jsonrpc": "2.0", "id": 8, "method": "resources/list" }),
    ];
    let allow = allowed.path().to_string_lossy();
    let Some(answers) = converse(dir.path(), &["--allow", &allow], &messages) else { return };
    let text = |i: usize| answers[i]["result"]["content"][0]["text"].as_str().unwrap_or_default().to_string();
    assert_eq!(answers.len(), 12, "a notification has no answer");
    for i in [0, 1] {
        assert!(
            answers[i]["result"]["isError"] == true
                && text(i).contains("outside of what this server may read"),
            "{}",
            text(i)
        );
    }
    assert_eq!(answers[2]["result"]["isError"], false, "{}", text(2));
    assert!(answers[3]["result"]["isError"] == true && !text(3).contains("root:"), "{}", text(3));
    assert!(text(4).contains("did you mean `fifo`?") && text(4).contains("1:10"), "{}", text(4));
    assert_eq!(answers[5]["error"]["code"], -32602);
    assert!(text(6).contains("duration"), "{}", text(6));
    assert!(text(7).contains("--allow DIR") && !text(7).contains("chmod"), "{}", text(7));
    assert!(text(8).contains("lacks.weir") && !text(8).contains("outside"), "{}", text(8));
    assert!(
        text(9).contains("no argument `cpus`") && text(9).contains("costs, duration, machine"),
        "{}",
        text(9)
    );
    assert!(text(10).contains("give an object with: machine, set, topology"), "{}", text(10));
    assert_eq!(answers[11]["error"]["code"], -32601);
    assert_eq!(std::fs::read_dir(dir.path()).expect("listable").count(), 1);
}

#[test]
fn work_that_takes_too_long_is_ended_and_the_server_goes_on() {
    let long = json!({ "topology": "decentral", "machine": "smp-8", "workload": "hackbench:groups=40,loops=100000", "duration": "60s" });
    let messages = [call(1, "run", &long), json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" })];
    let Some(answers) = converse(temp().path(), &["--time-limit", "1s"], &messages) else { return };
    let text = answers[0]["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(answers[0]["result"]["isError"] == true && text.contains("longer than 1 s"), "{text}");
    assert_eq!(answers[1]["result"], json!({}));
}

/// A file loads no code here, a named pipe does not block, and too much memory ends one call: the server goes on.
#[test]
fn a_call_cannot_harm_the_server() {
    let allowed = temp();
    let pipe = allowed.path().join("pipe.weir");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there");
    assert!(made.success());
    std::fs::write(allowed.path().join("x.so"), "\x7fELF").expect("writable");
    let workload = format!(
        "duration = \"1ms\"\n[[task]]\nname = \"a\"\nrun = \"1us\"\n[[at]]\ntime = \"0\"\ndo = \"load {}\"\n",
        allowed.path().join("x.so").display()
    );
    let run = |id: u32, workload: &str| {
        call(id, "run", &json!({ "topology": "decentral", "machine": "smp-2", "workload": workload }))
    };
    let messages = [
        call(1, "check", &json!({ "topology": pipe.to_string_lossy(), "machine": "smp-2" })),
        run(2, &workload),
        run(3, "compute:tasks=3000000"),
        json!({ "jsonrpc": "2.0", "id": 4, "method": "ping" }),
    ];
    let allow = allowed.path().to_string_lossy();
    let options = ["--allow", &allow, "--memory-limit", "200"];
    let Some(answers) = converse(temp().path(), &options, &messages) else { return };
    let text = |i: usize| answers[i]["result"]["content"][0]["text"].as_str().unwrap_or_default().to_string();
    assert!(text(0).contains("no ordinary file"), "{}", text(0));
    assert!(text(1).contains("native code, which nothing loads here"), "{}", text(1));
    assert!(text(2).contains("more than 200 MiB of memory"), "{}", text(2));
    assert_eq!(answers[3]["result"], json!({}));
}

#[test]
fn what_is_no_message_is_answered() {
    let input =
        b"nonsense\n[]\n\xff\xfe\n\n{\"id\":1}\n{\"id\":2,\"method\":7}\n{\"id\":3,\"method\":\"ping\"}\n";
    let Some(ran) = answers_to(temp().path(), &[], input) else { return };
    let answers: Vec<Value> = ran.stdout.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert_eq!(answers.last().map(|a| &a["id"]), Some(&json!(3)), "{}", ran.stdout);
    assert!(answers[0]["error"]["code"] == -32700 && answers.len() >= 3, "{}", ran.stdout);
    let text = answers[0]["error"]["message"].as_str().unwrap_or_default();
    assert!(text.starts_with("line 1 of the input is not JSON") && text.contains("JSON-RPC 2.0"), "{text}");
    assert!(ran.stdout.contains("line 3 of the input"), "{}", ran.stdout);
}
