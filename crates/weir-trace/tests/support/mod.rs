// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Recordings for tests: files, planted events as text, and the same in other formats.

pub mod forms;

use std::collections::BTreeMap;

use weir_core::event::Observer;
use weir_model::{Op, Workload};
use weir_report::{InMemory, Meta, Trace};
use weir_trace::{Event, Mode, Options, Recording, Speeds};

pub const V6: &[u8] = include_bytes!("../recordings/hackbench-v6.dat");
pub const V7: &[u8] = include_bytes!("../recordings/hackbench-v7.dat");
pub const REPORT: &[u8] = include_bytes!("../recordings/hackbench.report.txt");
pub const PERF: &[u8] = include_bytes!("../recordings/hackbench.perf.data");
pub const FTRACE: &[u8] = include_bytes!("../recordings/rt-app.ftrace.txt");

/// A client that wakes a server, which is preempted; a thread that waits for a disk; a child; a nice one.
pub const PLANTED: &str = "\
# tracer: nop
<idle>-0 [000] d..2. 1.000000: sched_switch: prev_comm=idle prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=client next_pid=10 next_prio=120
<idle>-0 [001] d..2. 1.000000: sched_switch: prev_comm=idle prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=server next_pid=20 next_prio=120
server-20 [001] d..2. 1.001000: sched_switch: prev_comm=server prev_pid=20 prev_prio=120 prev_state=S ==> next_comm=disk next_pid=30 next_prio=120
client-10 [000] d..3. 1.000500: sched_wakeup_new: comm=child pid=40 prio=120 target_cpu=000
client-10 [000] d..3. 1.001500: sched_waking: comm=server pid=20 prio=120 target_cpu=001
disk-30 [001] d..2. 1.001600: sched_switch: prev_comm=disk prev_pid=30 prev_prio=120 prev_state=D ==> next_comm=server next_pid=20 next_prio=120
client-10 [000] d..2. 1.002000: sched_switch: prev_comm=client prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=child next_pid=40 next_prio=120
server-20 [001] d..2. 1.002600: sched_switch: prev_comm=server prev_pid=20 prev_prio=120 prev_state=R+ ==> next_comm=nice next_pid=50 next_prio=125
nice-50 [001] d..2. 1.003600: sched_switch: prev_comm=nice prev_pid=50 prev_prio=125 prev_state=S ==> next_comm=server next_pid=20 next_prio=120
child-40 [000] d..2. 1.004000: sched_switch: prev_comm=child prev_pid=40 prev_prio=120 prev_state=X ==> next_comm=idle next_pid=0 next_prio=120
server-20 [001] d.h3. 1.004600: sched_waking: comm=disk pid=30 prio=120 target_cpu=001
server-20 [001] d..2. 1.004600: sched_switch: prev_comm=server prev_pid=20 prev_prio=120 prev_state=S ==> next_comm=disk next_pid=30 next_prio=120
disk-30 [001] d..2. 1.005600: sched_switch: prev_comm=disk prev_pid=30 prev_prio=120 prev_state=S ==> next_comm=idle next_pid=0 next_prio=120
<idle>-0 [000] d.h3. 1.008000: sched_waking: comm=client pid=10 prio=120 target_cpu=000
<idle>-0 [000] d..2. 1.008000: sched_switch: prev_comm=idle prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=client next_pid=10 next_prio=120
client-10 [000] d..2. 1.009000: sched_switch: prev_comm=client prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=idle next_pid=0 next_prio=120
";

/// Two threads; the clock of CPU 0 halves in the middle of the first.
pub const CLOCKS: &str = "\
<idle>-0 [000] d..2. 1.000000: cpu_frequency: state=2000000 cpu_id=0
<idle>-0 [000] d..2. 1.000000: sched_switch: prev_comm=idle prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=1 next_prio=120
<idle>-0 [001] d..2. 1.000000: sched_switch: prev_comm=idle prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=b next_pid=2 next_prio=120
a-1 [000] d..2. 1.002000: cpu_frequency: state=1000000 cpu_id=0
a-1 [000] d..2. 1.004000: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=idle next_pid=0 next_prio=120
b-2 [001] d..2. 1.004000: sched_switch: prev_comm=b prev_pid=2 prev_prio=120 prev_state=S ==> next_comm=idle next_pid=0 next_prio=120
";

pub fn options(recording: &Recording, mode: Mode, anonymise: bool) -> Options<'static> {
    Options { mode, anonymise, file: "file", speeds: Speeds::equal(recording.nr_cpus) }
}

pub fn parse(text: &str) -> Workload {
    let read = |_: &str| Ok(text.as_bytes().to_vec());
    Workload::resolve("x.toml", 1, &read, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// All work of a workload that computes for fixed times, without what stands for no work at all.
pub fn work_ns(workload: &Workload) -> u64 {
    let of = |op: &Op| match op {
        Op::Run { ns } if *ns > 1 => *ns,
        _ => 0,
    };
    workload.tasks.iter().flat_map(|t| t.program.iter()).map(of).sum()
}

/// Time on CPUs.
pub fn ran_ns(recording: &Recording) -> u64 {
    let mut since = BTreeMap::new();
    let mut sum = 0;
    for &(t, event) in &recording.events {
        match event {
            Event::Run { thread, .. } => drop(since.insert(thread, t)),
            Event::Off { thread, .. } => sum += since.remove(&thread).map_or(0, |s| t - s),
            _ => {}
        }
    }
    sum + since.values().map(|s| recording.end_ns - s).sum::<u64>()
}

/// The recording as a trace of our own.
pub fn own(recording: &Recording) -> Vec<u8> {
    let file = InMemory::default();
    let meta = Meta { nr_cpus: recording.nr_cpus, ..Meta::default() };
    let mut trace = Trace::new(meta, Box::new(file.clone()));
    recording.observe(&mut trace, &recording.groups(false));
    trace.finish(recording.duration_ns()).expect("memory");
    file.take()
}

/// The same by a version that did not record priorities.
pub fn own_without_priorities(recording: &Recording) -> Vec<u8> {
    struct Former(Trace);
    impl Observer for Former {
        fn event(&mut self, t: u64, event: &weir_core::event::Event<'_>) {
            if !matches!(event, weir_core::event::Event::Priority { .. }) {
                self.0.event(t, event);
            }
        }
    }
    let file = InMemory::default();
    let meta = Meta { nr_cpus: recording.nr_cpus, ..Meta::default() };
    let mut former = Former(Trace::new(meta, Box::new(file.clone())));
    recording.observe(&mut former, &recording.groups(false));
    former.0.finish(recording.duration_ns()).expect("memory");
    file.take()
}

#[derive(Clone, Copy, PartialEq)]
pub enum Form {
    Plain,
    Compact,
    /// Plain, in a compressed packet.
    Compressed,
}

fn varint(out: &mut Vec<u8>, mut n: u64) {
    while n > 0x7f {
        out.push(n as u8 & 0x7f | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn number(out: &mut Vec<u8>, field: u64, n: u64) {
    varint(out, field << 3);
    varint(out, n);
}

fn bytes(out: &mut Vec<u8>, field: u64, b: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, b.len() as u64);
    out.extend_from_slice(b);
}

/// Planted text as a Perfetto trace.
pub fn perfetto(text: &str, form: Form) -> Vec<u8> {
    let mut cpus: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    let mut lines: Vec<&str> = text.lines().filter(|l| !l.starts_with('#')).collect();
    let time = |l: &str| {
        let t = l.split_whitespace().nth(3).expect("a time").trim_end_matches(':');
        let (s, us) = t.split_once('.').expect("a point");
        s.parse::<u64>().expect("digits") * 1_000_000_000 + us.parse::<u64>().expect("digits") * 1000
    };
    lines.sort_by_key(|l| time(l));
    for line in lines {
        cpus.entry(line.split(['[', ']']).nth(1).expect("a CPU").parse().expect("digits"))
            .or_default()
            .push(line);
    }
    let value = |l: &str, key: &str| {
        let at = l.find(&format!("{key}=")).unwrap_or_else(|| panic!("{key} in {l}")) + key.len() + 1;
        l[at..].split(' ').next().expect("a word").to_string()
    };
    let state = |s: String| match &*s {
        "R" => 0,
        "R+" => 0x100,
        "S" => 1,
        "D" => 2,
        _ => 0x10,
    };
    let mut trace = Vec::new();
    for (cpu, lines) in cpus {
        let mut bundle = Vec::new();
        number(&mut bundle, 1, cpu);
        let (mut columns, mut texts): (Vec<Vec<u64>>, Vec<String>) = (vec![Vec::new(); 13], Vec::new());
        let mut last = [0u64; 2];
        for line in lines {
            let (mut event, mut body) = (Vec::new(), Vec::new());
            let t = time(line);
            let words: Vec<&str> = line.split_whitespace().collect();
            let pid: u64 = words[0].rsplit('-').next().expect("a pid").parse().expect("digits");
            let flags = if words[2].as_bytes()[2] == b'h' { 8 } else { 0 };
            let mut index = |name: String| {
                let known = texts.iter().position(|x| *x == name);
                known.unwrap_or_else(|| {
                    texts.push(name);
                    texts.len() - 1
                }) as u64
            };
            number(&mut event, 1, t);
            number(&mut event, 2, pid);
            number(&mut event, 5, flags);
            let n = |key: &str| value(line, key).parse::<u64>().expect("digits");
            let field = match words[4] {
                "sched_switch:" => {
                    columns[1].push(t - last[0]);
                    last[0] = t;
                    columns[2].push(state(value(line, "prev_state")));
                    columns[3].push(n("next_pid"));
                    columns[4].push(n("next_prio"));
                    columns[6].push(index(value(line, "next_comm")));
                    bytes(&mut body, 1, value(line, "prev_comm").as_bytes());
                    number(&mut body, 2, n("prev_pid"));
                    number(&mut body, 3, n("prev_prio"));
                    number(&mut body, 4, state(value(line, "prev_state")));
                    bytes(&mut body, 5, value(line, "next_comm").as_bytes());
                    number(&mut body, 6, n("next_pid"));
                    number(&mut body, 7, n("next_prio"));
                    4
                }
                "tracing_mark_write:" => {
                    let text = line.split_once("tracing_mark_write: ").expect("a text").1;
                    bytes(&mut body, 2, text.as_bytes());
                    3
                }
                kind => {
                    bytes(&mut body, 1, value(line, "comm").as_bytes());
                    number(&mut body, 2, n("pid"));
                    number(&mut body, 3, n("prio"));
                    if kind == "sched_waking:" {
                        columns[7].push(t - last[1]);
                        last[1] = t;
                        columns[8].push(n("pid"));
                        columns[9].push(0);
                        columns[10].push(n("prio"));
                        columns[11].push(index(value(line, "comm")));
                        columns[12].push(flags);
                        20
                    } else {
                        114
                    }
                }
            };
            bytes(&mut event, field, &body);
            if form != Form::Compact || matches!(field, 3 | 114) {
                bytes(&mut bundle, 2, &event);
            }
        }
        if form == Form::Compact {
            let mut compact = Vec::new();
            for text in &texts {
                bytes(&mut compact, 5, text.as_bytes());
            }
            for (field, column) in columns.iter().enumerate().filter(|c| !c.1.is_empty()) {
                let mut packed = Vec::new();
                column.iter().for_each(|n| varint(&mut packed, *n));
                bytes(&mut compact, field as u64, &packed);
            }
            bytes(&mut bundle, 4, &compact);
        }
        let mut packet = Vec::new();
        bytes(&mut packet, 1, &bundle);
        bytes(&mut trace, 1, &packet);
    }
    if form == Form::Compressed {
        let mut packet = Vec::new();
        bytes(&mut packet, 50, &miniz_oxide::deflate::compress_to_vec_zlib(&trace, 6));
        let mut outer = Vec::new();
        bytes(&mut outer, 1, &packet);
        return outer;
    }
    trace
}
