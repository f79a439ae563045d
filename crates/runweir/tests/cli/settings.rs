// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The columns of docs/settings.md about runtimes: what is asked for reaches the topology, or is said, or nobody can ask. The simulator's
//! column is tried by crates/weir/tests/ignored.rs, what programs ask of Linux's scheduler by tools/test-threads.sh.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use weir_core::{MachineShape, Plan, Setting};

use crate::{json, runweir, runweir_in, temp};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A column of the table of runtimes, by setting.
fn column(head: &str) -> BTreeMap<String, String> {
    let page = fs::read_to_string(format!("{ROOT}/docs/settings.md")).expect("the page");
    let rows = page.lines().skip_while(|l| !l.starts_with("| setting |")).take_while(|l| l.starts_with('|'));
    let cells = |l: &str| l.split('|').map(|c| c.trim().to_string()).collect::<Vec<_>>();
    let mut rows = rows.map(cells);
    let heads = rows.next().expect("a table");
    let at = heads.iter().position(|h| h == head).unwrap_or_else(|| panic!("no column {head}: {heads:?}"));
    rows.skip(1).map(|r| (r[1].clone(), r[at].clone())).collect()
}

/// The settings with one of these words in a column.
fn with(head: &str, words: &[&str]) -> BTreeSet<String> {
    let of = |(setting, cell): (String, String)| words.contains(&cell.as_str()).then_some(setting);
    column(head).into_iter().filter_map(of).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn every_setting_has_a_row() {
    let title = |s: Setting| s.value().map_or_else(|| s.name().to_string(), str::to_string);
    let all: BTreeSet<String> = Setting::ALL.into_iter().map(title).collect();
    assert_eq!(column("threads").into_keys().collect::<BTreeSet<_>>(), all);
}

fn plan(topology: &str) -> Plan {
    let source = weir::topology::source(topology).expect("of the catalogue");
    weir::topology::compile(&source, &MachineShape::flat(2), &[]).expect("compiles").plan
}

/// A machine where threads of every policy run and control groups ask for something.
#[test]
fn live_names_what_the_system_asks_for() {
    let dir = temp();
    let (proc, groups) = (dir.path().join("proc"), dir.path().join("cgroup"));
    for policy in 0..=6 {
        let task = proc.join(format!("{0}/task/{0}", 10 + policy));
        fs::create_dir_all(&task).expect("a folder");
        let fields = (4..=40).map(|i| i.to_string()).collect::<Vec<_>>().join(" ");
        fs::write(task.join("stat"), format!("1 (t{policy}) S {fields} {policy} 42\n")).expect("written");
    }
    fs::create_dir_all(groups.join("g")).expect("a folder");
    fs::write(groups.join("g/cpu.max"), "10000 100000\n").expect("written");
    fs::write(groups.join("g/cpu.weight"), "200\n").expect("written");
    let named = |topology: &str| -> BTreeSet<String> {
        let found = weir_linux::kept::ignored_below(&plan(topology), &proc, &groups);
        let name = |f: &weir_linux::protocol::Finding| match f.setting.as_deref() {
            Some("policy") => {
                let words = f.message.split_whitespace();
                words.filter(|w| w.starts_with("SCHED_")).map(str::to_string).next().expect("a policy")
            }
            setting => setting.expect("a setting").to_string(),
        };
        found.iter().map(name).collect()
    };
    // A topology that listens to nothing, and one that listens to all of it.
    assert_eq!(named("chain1"), with("live, switch", &["system"]));
    assert_eq!(named("groups"), BTreeSet::new());
}

/// The attributes of threads, and the words of the command line.
#[test]
fn threads_have_what_the_table_says() {
    let header =
        fs::read_to_string(format!("{ROOT}/runtimes/threads/include/weir/threads.h")).expect("the header");
    let body =
        header.split("enum weir_attribute {").nth(1).and_then(|t| t.split("};").next()).expect("the enum");
    let names = body.lines().filter_map(|l| l.trim().strip_prefix("WEIR_")?.split(',').next());
    let mut settings: BTreeSet<String> = BTreeSet::new();
    for name in names.filter(|n| *n != "NR_ATTRIBUTES") {
        settings.extend(match name {
            // A fixed priority comes by way of pthread_setschedparam(), too.
            "PRIORITY" => set(&["nice", "priority", "SCHED_FIFO"]),
            "DEADLINE" | "JOB" => set(&["deadline"]),
            "WEIGHT" => set(&["weight"]),
            "GROUP" => set(&["group weight"]),
            "LATENCY" => set(&["slice"]),
            other => panic!("no setting for {other}"),
        });
    }
    settings.insert("gang".into());
    assert_eq!(settings, with("threads", &["program"]));
    // No library is needed to see that.
    for (option, value, says, obeys) in [
        ("--priority", "50", "fixed priorities", "priority"),
        ("--priority", "-5", "nice values", "priority"),
        ("--weight", "2048", "weights", "stride"),
        ("--group", "3", "weights of groups", "groups"),
    ] {
        let ran =
            |policy| runweir(&["threads", policy, option, value, "--cpus", "1", "--strict", "--", "true"]);
        let ignoring = ran("decentral");
        assert_eq!(ignoring.status, 2, "{option}: {}", ignoring.stderr);
        let said = ignoring.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&format!("`decentral` ignores {says}")), "{said}");
        assert!(!ran(obeys).stderr.contains("ignores"), "{obeys} {option}");
    }
}

/// A recording with a thread of each kind.
#[test]
fn an_import_asks_for_what_the_recording_has() {
    let dir = temp();
    let kinds = [("plain", 120), ("nice", 110), ("fifo", 49), ("reserved", -1)];
    let mut text = String::from("# tracer: nop\n");
    for round in 0..20 {
        for (n, (name, prio)) in kinds.iter().enumerate() {
            let at = 100.0 + f64::from(round) * 0.01 + n as f64 * 0.002;
            let pid = 100 + n;
            text += &format!(
                "          <idle>-0     [000] d.h3. {at:.6}: sched_waking: comm={name} pid={pid} prio={prio} target_cpu=000\n\
                           <idle>-0     [000] d..2. {:.6}: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm={name} next_pid={pid} next_prio={prio}\n\
                 {name}-{pid}     [000] d..2. {:.6}: sched_switch: prev_comm={name} prev_pid={pid} prev_prio={prio} prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120\n",
                at + 0.000_010,
                at + 0.001
            );
        }
    }
    fs::write(dir.path().join("t.txt"), text).expect("written");
    let ran = runweir_in(dir.path(), &["import", "t.txt", "-o", "w.toml", "--no-fidelity", "--json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let toml = fs::read_to_string(dir.path().join("w.toml")).expect("written");
    assert!(toml.contains("nice = -10") && toml.contains("policy = \"fifo\"\npriority = 50"), "{toml}");
    // The parameters of a reservation are in no event, which is said.
    let result = json(&ran.stdout);
    let notes = result["notes"].to_string();
    assert!(notes.contains("SCHED_DEADLINE (`reserved`)"), "{result}");
    assert_eq!(with("import", &["said"]), set(&["SCHED_DEADLINE"]));
    // Batch, idle and round robin are in recordings of `runweir live`: crates/weir-trace.
    assert_eq!(
        with("import", &["recording"]),
        set(&["nice", "priority", "SCHED_FIFO", "SCHED_RR", "SCHED_BATCH", "SCHED_IDLE"])
    );
}

/// Commands that make many runs for one answer once kept to themselves what each of these runs would have said.
#[test]
fn every_command_that_runs_a_workload_says_what_is_ignored() {
    let dir = temp();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).expect("written");
    let step = "[[at]]\ntime = \"1ms\"\ndo = \"load other.so\"\n";
    write(
        "w.toml",
        &format!(
            "duration = \"20ms\"\n[[task]]\nname = \"a\"\nnice = 5\nperiod = \"5ms\"\nrun = \"1ms..2ms\"\n{step}"
        ),
    );
    write("other.so", "no object");
    write(
        "sweep.toml",
        "topology = [\"decentral\"]\nmachine = \"smp-2\"\nworkload = \"w.toml\"\nseeds = 2\n",
    );
    write(
        "guard.toml",
        "machine = \"smp-2\"\nworkload = \"w.toml\"\ntopology = \"decentral\"\nseeds = 3\n[[check]]\nmetric = \"faults\"\nmax = 0\n",
    );
    write(
        "tune.toml",
        "machine = \"smp-2\"\nworkload = \"w.toml\"\ntopology = [\"decentral\", \"headq\"]\ntrials = 2\n[[objective]]\nmetric = \"totals.context_switches\"\ngoal = \"min\"\n",
    );
    let place = ["-m", "smp-2", "-w", "w.toml"];
    let with = |head: &[&'static str]| [head, &place].concat();
    let commands: [(Vec<&str>, bool); 6] = [
        (with(&["run", "decentral"]), true),
        (with(&["compare", "-t", "decentral", "-t", "linux"]), true),
        (vec!["sweep", "sweep.toml"], true),
        (vec!["guard", "guard.toml"], true),
        (vec!["tune", "tune.toml"], true),
        // It makes no use of scenarios, which is said in other words.
        (with(&["analyze", "decentral"]), false),
    ];
    for (args, acts) in commands {
        let ran = runweir_in(dir.path(), &args);
        assert_eq!(ran.status, 0, "{args:?}: {}", ran.stderr);
        let said = ran.stderr.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
        let words = "`decentral` ignores nice values (task `a`)";
        assert_eq!(said.matches(words).count(), 1, "{args:?}: {said}");
        if acts {
            assert!(said.contains("`other.so` is native code"), "{args:?}: {said}");
        }
        let strict = runweir_in(dir.path(), &[&args[..], &["--strict"]].concat());
        assert_eq!(strict.status, 2, "{args:?}: {}", strict.stderr);
        let page = json(&runweir_in(dir.path(), &[&args[..], &["--json"]].concat()).stdout);
        assert!(page.to_string().contains("\"setting\":\"nice\""), "{args:?}: {page}");
    }
}
