// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the tests of the live scheduler do that a shell cannot: see [`HELP`]. Runs in the guest of
//! `tools/live-tests.sh`.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use weir_linux::protocol::{Notify, Number, Request};
use weir_linux::{Snapshot, client};

mod fuzz;
mod interrupts;
mod load;
mod rival;
mod switches;
mod waits;

const HELP: &str = "\
probe settled [LOST]          wait until the counters add up and nothing failed; print them
probe get FIELD               a total of the status by its name
probe switches N T.weir…      switch N times between topologies, with pauses; print how long tasks waited
probe calls US                no call of the core but changes of topology took longer since the attachment; print the longest
probe waits FILE FILE TIMES MS    what tests/live/waits.c measured: the second is at most so many times as late as the first, and MS
probe stop                    ask the scheduler to leave
probe notify TOPIC VALUE      publish a message
probe fuzz SEED N             N requests to the control socket, most of them wrong
probe threads N               N threads at once that compute, yield and sleep
probe hog CPU SECONDS         compute on a CPU in the real-time class
probe clients N               N connections to the control socket that say nothing, until killed
probe hears CPU               a CPU still hears the interrupts that it sends to itself
probe pauses MS               until killed, print when a CPU took no interrupts for so long: CPU, begin and length in ns
probe rival OBJECT            attach a sched_ext scheduler that is not ours, until killed
probe as UID COMMAND…         run a command as another user";

/// What went wrong, in one line.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        ["settled", ref expected @ ..] => settled(expected),
        ["get", field] => get(field),
        ["switches", n, ref topologies @ ..] if topologies.len() > 1 => {
            number(n).and_then(|n| switches::run(n, topologies))
        }
        ["calls", us] => number(us).and_then(waits::calls),
        ["waits", usual, ours, times, ms] => {
            number(times).and_then(|times| waits::compare(usual, ours, times, number(ms)?))
        }
        ["stop"] => client::ask(&socket(), &Request::Stop {}).map(|_| ()).map_err(|e| e.to_string()),
        ["notify", topic, value] => number(value).and_then(|value| notify(topic, value)),
        ["fuzz", seed, n] => number(seed).and_then(|seed| fuzz::run(seed, number(n)?)),
        ["threads", n] => number(n).and_then(load::threads),
        ["hog", cpu, seconds] => number(cpu).and_then(|cpu| load::hog(cpu, number(seconds)?)),
        ["clients", n] => number(n).and_then(clients),
        ["hears", cpu] => number(cpu).and_then(interrupts::heard),
        ["pauses", ms] => number(ms).and_then(interrupts::pauses),
        ["rival", object] => rival::run(object),
        ["as", uid, program, ref rest @ ..] => number(uid).and_then(|uid| run_as(uid, program, rest)),
        _ => Err(HELP.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("probe: {e}");
            ExitCode::FAILURE
        }
    }
}

fn notify(topic: &str, value: u64) -> Outcome {
    let (topic, value) = (topic.into(), Number::Unsigned(value));
    let wish = Notify { topic, value, ..Notify::default() };
    client::ask(&socket(), &Request::Notify(wish)).map(|_| ()).map_err(|e| e.to_string())
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

/// Where `runweir live` listens.
fn socket() -> PathBuf {
    client::socket_path(None)
}

fn status() -> Result<Snapshot, String> {
    client::status(&socket()).map_err(|e| e.to_string())
}

/// What does not add up in a moment of the scheduler. Expected may be: `lost`, tasks without memory; `held`, CPUs that a
/// real-time program held while tasks waited for them.
fn complaint(s: &Snapshot, expected: &[&str]) -> Option<String> {
    let t = &s.totals;
    let (came, went) = (t.enqueues, t.dispatches + t.dequeues + t.in_graph);
    if !s.attached {
        return Some("it is not attached".into());
    }
    if came != went {
        let missing = came as i64 - went as i64;
        return Some(format!(
            "{came} enqueues = {} dispatches + {} dequeues + {} in the graph + {missing}",
            t.dispatches, t.dequeues, t.in_graph
        ));
    }
    let threads = std::env::var_os("THREADS").is_some_and(|v| !v.is_empty());
    let counted = [
        ("failures", t.failures),
        ("faults", t.faults),
        ("lost messages", t.lost_messages),
        ("rescues", t.rescues),
        // A guest whose CPUs are threads of a busy computer may have CPUs without time.
        ("tasks whose CPU had no time", if threads || expected.contains(&"held") { 0 } else { t.overdue }),
    ];
    if let Some((name, n)) = counted.iter().find(|(_, n)| *n > 0) {
        return Some(format!("{n} {name}"));
    }
    (t.no_memory > 0 && !expected.contains(&"lost")).then(|| format!("{} tasks without memory", t.no_memory))
}

/// Two numbers of a snapshot may be microseconds apart, so a sum that is wrong is looked at again.
fn settled(expected: &[&str]) -> Outcome {
    let mut last = String::new();
    for _ in 0..60 {
        let s = status()?;
        let Some(wrong) = complaint(&s, expected) else {
            let t = &s.totals;
            println!(
                "{}: {} enqueues = {} dispatches + {} dequeues + {} in the graph; {} beside it, {} direct, {} kept, \
                 {} dropped, {} runs, {} migrations, {} switches, {} waits given up",
                s.topology,
                t.enqueues,
                t.dispatches,
                t.dequeues,
                t.in_graph,
                t.aside,
                t.direct,
                t.kept,
                t.dropped,
                t.runs,
                t.migrations,
                t.swaps,
                t.gave_up
            );
            return Ok(());
        };
        last = wrong;
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(last)
}

fn get(field: &str) -> Outcome {
    let totals = serde_json::to_value(status()?.totals).map_err(|e| e.to_string())?;
    println!("{}", totals.get(field).ok_or_else(|| format!("no total is called `{field}`"))?);
    Ok(())
}

/// Connections that say nothing. One that the server lets go after its time is made again.
fn clients(n: u64) -> Outcome {
    use std::os::unix::net::UnixStream;
    loop {
        let all: Result<Vec<UnixStream>, _> = (0..n).map(|_| UnixStream::connect(socket())).collect();
        let all = all.map_err(|e| e.to_string())?;
        std::thread::sleep(Duration::from_secs(9));
        drop(all);
    }
}

fn run_as(uid: u64, program: &str, rest: &[&str]) -> Outcome {
    use std::os::unix::process::CommandExt;
    let uid = uid as u32;
    Err(Command::new(program).args(rest).uid(uid).gid(uid).exec().to_string())
}

/// Text of a small file, trimmed.
fn text(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map(|t| t.trim().to_owned()).map_err(|e| format!("{path}: {e}"))
}

/// Smallest, middle and largest of a sample: `min 1 p50 2 p95 3 p99 4 max 5`.
fn spread(sample: &mut [u64], unit: u64) -> String {
    sample.sort_unstable();
    let Some(last) = sample.len().checked_sub(1) else { return "nothing".into() };
    let at = |permille: usize| sample[(last * permille).div_ceil(1000)] as f64 / unit as f64;
    format!("min {:.3} p50 {:.3} p95 {:.3} p99 {:.3} max {:.3}", at(0), at(500), at(950), at(990), at(1000))
}
