// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What Linux 7.2 did under the loads of experiments/sim-vs-kernel/decisions: the recordings, and what the load files say.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use weir_sim::{Op, Workload};

use crate::common::*;

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Wakes { pid: u32, new: bool },
    Moves { pid: u32, to: u32 },
    Switch { from: u32, goes_on: bool, to: u32 },
    Nice { pid: u32, nice: i32 },
    Attributes { pid: u32 },
    Account,
    SliceOver,
    Asked,
}

#[derive(Clone, Debug)]
pub struct Event {
    pub at: u64,
    pub cpu: u32,
    pub what: What,
}

/// What the load file says of threads with a name, and what the scheduler is told of them.
#[derive(Clone, Default)]
pub struct Thread {
    pub policy: u64,
    pub slice: u64,
    pub nice: i32,
}

/// What a thread is called, and its nice value when it was first seen.
#[derive(Clone, Default)]
pub struct Name {
    pub text: String,
    pub nice: i32,
    /// It is of a class above the fair one.
    pub above: bool,
}

pub struct Recording {
    pub events: Vec<Event>,
    pub names: HashMap<u32, Name>,
    pub threads: HashMap<String, Thread>,
    pub cpus: u32,
    /// How often each thread wakes before the load begins.
    alone: usize,
}

/// Recordings in which each thread wakes once, alone, before the load begins. (`load.c` did not always do that.)
const ALONE: [&str; 7] = ["policies", "renice", "realtime", "deadline", "tuned", "crowd", "chain"];

fn folder() -> PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/sim-vs-kernel/decisions")
}

pub fn threads(load: &str) -> HashMap<String, Thread> {
    let text = std::fs::read_to_string(folder().join(format!("loads/{load}.txt"))).expect("a load");
    let mut all = HashMap::new();
    for line in text.lines() {
        let words: Vec<_> = line.split(' ').collect();
        if words[0] != "thread" {
            continue;
        }
        let mut t = Thread::default();
        for word in &words[3..] {
            match word.split_once('=') {
                Some(("nice", n)) => t.nice = n.parse().expect("a number"),
                Some(("slice", n)) => t.slice = n.parse::<u64>().expect("a number") * US,
                Some(("policy", "batch")) => t.policy = 3,
                Some(("policy", "idle")) => t.policy = 5,
                _ => {}
            }
        }
        all.insert(words[1].into(), t);
    }
    all
}

pub fn recording(load: &str) -> Recording {
    let path = folder().join(format!("data/{load}.trace"));
    let text = std::fs::read_to_string(path).expect("it was recorded");
    let (mut events, mut names, mut at) = (Vec::new(), HashMap::new(), 0);
    for line in text.lines() {
        let f: Vec<_> = line.split(' ').collect();
        let n = |i: usize| f[i].parse::<u32>().expect("a number");
        if f[0] == "=" {
            let prio: i32 = f[3].parse().expect("a number");
            let name = names.entry(n(1)).or_insert(Name { nice: prio - 120, ..Name::default() });
            // A thread gets its name, and its class, after it has begun.
            name.text = f[2].into();
            name.above = prio < 100;
            continue;
        }
        at += f[0].parse::<u64>().expect("a number");
        let what = match f[2] {
            "W" | "N" => What::Wakes { pid: n(3), new: f[2] == "N" },
            "M" => What::Moves { pid: n(3), to: n(4) },
            "S" => What::Switch { from: n(3), goes_on: f[4] == "R", to: n(5) },
            "P" => {
                let nice = u64::from_str_radix(f[4], 16).expect("a number") as i32;
                What::Nice { pid: n(3), nice }
            }
            "A" => What::Attributes { pid: n(3) },
            "T" | "U" => What::Account,
            "H" => What::SliceOver,
            "Y" => What::Asked,
            other => panic!("{other}"),
        };
        events.push(Event { at, cpu: n(1), what });
    }
    let cpus = 1 + events.iter().map(|e| e.cpu).max().expect("events");
    let alone = usize::from(ALONE.contains(&load));
    Recording { events, names, threads: threads(load), cpus, alone }
}

/// What a thread had.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Had {
    /// ns on CPUs.
    pub ran: u64,
    /// When it woke, and how long it waited for the CPU then, ns.
    pub waits: Vec<(u64, u64)>,
    /// When it woke, and how long it computed until it slept again, ns; of the last one until the end.
    pub stints: Vec<(u64, u64)>,
}

impl Recording {
    /// When the load begins: with the first of its threads that wakes for it.
    fn begin(&self) -> u64 {
        let mut woken: HashMap<u32, usize> = HashMap::new();
        let begins = |e: &&Event| match e.what {
            What::Wakes { pid, new: false } if self.is_of_load(pid) => {
                let n = woken.entry(pid).or_default();
                *n += 1;
                *n > self.alone
            }
            _ => false,
        };
        self.events.iter().find(begins).map_or(0, |e| e.at)
    }

    /// The threads of the load by name, from the time on at which it begins, the last time that a thread of that name was started.
    pub fn had(&self) -> HashMap<String, Had> {
        let begin = self.begin();
        let mut all: HashMap<u32, Had> = HashMap::new();
        let (mut since, mut woken) = (HashMap::new(), HashMap::new());
        for e in self.events.iter().filter(|e| e.at >= begin) {
            match e.what {
                What::Wakes { pid, .. } => {
                    woken.insert(pid, e.at);
                    all.entry(pid).or_default().stints.push((e.at - begin, 0));
                }
                What::Switch { from, to, .. } => {
                    if let Some(s) = since.remove(&from) {
                        let had = all.entry(from).or_default();
                        had.ran += e.at - s;
                        if let Some(last) = had.stints.last_mut() {
                            last.1 += e.at - s;
                        }
                    }
                    since.insert(to, e.at);
                    if let Some(w) = woken.remove(&to) {
                        all.entry(to).or_default().waits.push((w - begin, e.at - w));
                    }
                }
                _ => {}
            }
        }
        let named = |(pid, had)| Some((self.names.get(&pid)?.text.clone(), had));
        all.into_iter().filter_map(named).collect()
    }

    /// CPU time of the threads of two names while one of each could run, from the first wake-up of the load on, ns.
    pub fn while_both_can_run(&self, one: &str, other: &str) -> [u64; 2] {
        let names = [one, other];
        let which = |pid: u32| {
            let name = self.names.get(&pid).and_then(|n| n.text.rsplit_once('-')).map(|n| n.0);
            names.iter().position(|n| Some(*n) == name)
        };
        let (mut ready, mut ran) = ([HashSet::new(), HashSet::new()], [0; 2]);
        let (mut runs, mut last) = (None, 0);
        for e in &self.events {
            if let (Some(i), true) = (runs, ready.iter().all(|r: &HashSet<u32>| !r.is_empty())) {
                ran[i] += e.at - last;
            }
            last = e.at;
            match e.what {
                What::Wakes { pid, .. } => {
                    if let Some(i) = which(pid) {
                        ready[i].insert(pid);
                    }
                }
                What::Switch { from, goes_on, to } => {
                    if let (Some(i), false) = (which(from), goes_on) {
                        ready[i].remove(&from);
                    }
                    runs = which(to);
                    if let Some(i) = runs {
                        ready[i].insert(to);
                    }
                }
                _ => {}
            }
        }
        ran
    }

    fn is_of_load(&self, pid: u32) -> bool {
        let name = self.names.get(&pid).map_or("", |n| &n.text);
        name.rsplit_once('-').is_some_and(|(name, _)| self.threads.contains_key(name))
    }
}

/// Where the times of threads without a period come from: how long they compute, and when they wake.
#[derive(Clone, Copy, PartialEq)]
pub enum Times {
    OfFile,
    /// They compute as long as in the recording, with their system calls, and sleep as the file says.
    Computing,
    /// Both are those of the recording.
    Recorded,
}

/// The load as a workload of the simulator, and how long it takes, ms. `had`: what its threads had in the recording.
pub fn workload_of(load: &str, times: Times, had: &HashMap<String, Had>) -> (Workload, u64) {
    let text = std::fs::read_to_string(folder().join(format!("loads/{load}.txt"))).expect("a load");
    let (mut out, mut ms, mut endless) = (String::new(), 0, Vec::new());
    for line in text.lines() {
        let words: Vec<_> = line.split(' ').collect();
        // A deadline task that computes and never sleeps.
        if line.contains("period=") && words[words.len() - 3] == ":" {
            endless.push(format!("{}-", words[1]));
        }
        match words[0] {
            "for" => ms = words[1].parse().expect("a number"),
            "group" => {
                // 100 is the kernel's default, 1024 in its own unit.
                let weight = words[2].parse::<u64>().expect("a number") * 1024 / 100;
                writeln!(out, "[[group]]\nname = \"{}\"\nweight = {weight}", words[1]).unwrap();
            }
            "thread" => out += &tasks_of(&words, times, had),
            _ => {}
        }
    }
    let mut w = toml(&out);
    for t in w.tasks.iter_mut().filter(|t| endless.iter().any(|name| t.name.starts_with(name))) {
        let no_end =
            |op: &Op| if matches!(op, Op::Run { .. }) { Op::Run { ns: 1_000_000 * MS } } else { op.clone() };
        t.program = t.program.iter().map(no_end).collect();
    }
    (w, ms)
}

/// A step of the file.
fn step(words: &[&str]) -> String {
    match words[0] {
        "r" => format!("run {}us", words[1]),
        "s" => format!("sleep {}us", words[1]),
        other => panic!("{other}"),
    }
}

/// One task of the simulator for each thread, with the kernel's name for it.
fn tasks_of(words: &[&str], times: Times, had: &HashMap<String, Had>) -> String {
    let colon = words.iter().position(|w| *w == ":").expect("steps");
    let keys: HashMap<_, _> = words[3..colon].iter().filter_map(|w| w.split_once('=')).collect();
    let mut text = String::new();
    for i in 0..words[2].parse::<u8>().expect("a number") {
        let name = format!("{}-{}", words[1], char::from(b'a' + i));
        writeln!(text, "[[task]]\nname = \"{name}\"").unwrap();
        for (key, value) in &keys {
            match *key {
                "start" if times == Times::Recorded && !keys.contains_key("period") => {}
                "policy" | "group" => writeln!(text, "{key} = \"{value}\"").unwrap(),
                "nice" | "priority" => writeln!(text, "{key} = {value}").unwrap(),
                "runtime" => writeln!(text, "wcet = \"{value}us\"").unwrap(),
                key => writeln!(text, "{key} = \"{value}us\"").unwrap(),
            }
        }
        if keys.contains_key("period") {
            let endless = words[colon + 3..].is_empty();
            let run = if endless { keys["runtime"] } else { words[colon + 2] };
            writeln!(text, "run = \"{run}us\"").unwrap();
            continue;
        }
        let had = had.get(&name).unwrap_or_else(|| panic!("{name} is not in the recording"));
        let file: Vec<&[&str]> = words[colon + 1..].chunks(2).collect();
        let steps: Vec<String> = match times {
            // What never sleeps is there until the end.
            Times::Recorded if file.len() == 1 => {
                had.stints.iter().take(1).map(|(at, _)| format!("until {at}ns; run 1000s")).collect()
            }
            Times::Recorded => {
                had.stints.iter().map(|(at, run)| format!("until {at}ns; run {run}ns")).collect()
            }
            Times::Computing if file.len() == 2 => {
                had.stints.iter().map(|(_, run)| format!("run {run}ns; sleep {}us", file[1][1])).collect()
            }
            _ => file.iter().map(|s| step(s)).collect(),
        };
        let steps: Vec<String> = steps.iter().map(|s| format!("\"{s}\"")).collect();
        writeln!(text, "program = [{}]", steps.join(", ")).unwrap();
        if times != Times::Recorded {
            text += "loop = \"forever\"\n";
        }
    }
    text
}
