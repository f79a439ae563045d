// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Valid but odd topologies x machines x workloads x scenarios, by a generator: every component in every kind of place (before and behind
//! `~>`, in coherence domains, merges, guests, `when`). Whatever the checker accepts runs to its end without a crash, its accounts are whole,
//! and a second run gives the same.
//!
//! Cases run in processes of their own, many in each, so that a crash is one case's. 200 in the tests; with `WEIR_LONG` 10,000. `ODDITIES` in
//! the environment says how many, `ODDITY=N` plays one case and prints it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weir::fault::Blame;
use weir::{PreparedRun, RunOptions, Setting, Watch};
use weir_core::{Class, ComponentInfo, Unit};
use weir_report::Summary;

/// Cases of a process.
const BATCH: u64 = 50;
/// A case that takes longer is ended: its accounts still count.
const PATIENCE: Duration = Duration::from_secs(20);

#[rustfmt::skip]
const MACHINES: [&str; 18] = [
    "smp-1", "smp-2", "smp-4", "smp-9", "cluster-2x1", "cluster-2x2", "cluster-2x2", "cluster-3x2", "big-little", "hybrid-2p2e",
    "two-of-four", "npu-board", "accel-2x1", "i7-2600", "hotplug", "hosted", "hot-8", "phone",
];

/// SplitMix64: the same cases in every run.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len() as u64) as usize]
    }
}

/// Writes a topology, and remembers what its components ask.
struct Author<'a> {
    dice: &'a mut Dice,
    /// The component that this case is about: it stands in the first place that fits.
    subject: &'static ComponentInfo,
    used: bool,
    asked: Vec<String>,
    names: u32,
}

fn components() -> impl Iterator<Item = &'static ComponentInfo> {
    weir_core::catalog().components.iter()
}

fn is_annotator(c: &ComponentInfo) -> bool {
    c.ins.1 == 0 && c.outs.1 == 0
}

/// One path in, several out.
fn spreads(c: &ComponentInfo) -> bool {
    c.class == Class::Distribute && c.name != "isa_demux"
}

/// One path through it.
fn passes(c: &ComponentInfo) -> bool {
    !is_annotator(c) && !spreads(c) && c.ins.0 <= 1 && c.ins.1 >= 1 && c.outs.1 >= 1
}

impl Author<'_> {
    fn pipe(&mut self) -> &'static str {
        if self.dice.one_in(4) { "~>" } else { "->" }
    }

    /// A component with perhaps a parameter at one end of its range.
    fn instance(&mut self, fits: fn(&ComponentInfo) -> bool) -> String {
        let c = if fits(self.subject) && !self.used {
            self.used = true;
            self.subject
        } else {
            let all: Vec<_> = components().filter(|c| fits(c)).collect();
            *self.dice.of(&all)
        };
        self.asked.extend(c.asks.iter().chain(&c.needs).cloned());
        let mut text = c.name.clone();
        if self.dice.one_in(3) && !c.params.is_empty() {
            let p = self.dice.of(&c.params);
            let value = *self.dice.of(&[p.min, p.max, p.default]);
            let value = match p.unit {
                Unit::Ns => format!("{value}ns"),
                Unit::Count | Unit::Bytes => value.to_string(),
                Unit::Pct => format!("{value}%"),
                Unit::Flag => if value == 0 { "false" } else { "true" }.into(),
            };
            let _ = write!(text, "({} = {value})", p.name);
        }
        text
    }

    /// Some stages, each with the pipe behind it.
    fn stages(&mut self, most: u64) -> String {
        let mut text = String::new();
        for _ in 0..self.dice.below(most + 1) {
            let (stage, pipe) = (self.instance(passes), self.pipe());
            let _ = write!(text, "{stage} {pipe} ");
        }
        text
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("x{}", self.names)
    }

    /// From an entry to exits, as statements.
    fn body(&mut self, domains: bool) -> String {
        let kind = if domains { 6 + self.dice.below(3) } else { self.dice.below(9) };
        let (p, q) = (self.pipe(), self.pipe());
        match kind {
            0 => format!("entry {p} {}cpus;", self.stages(3)),
            1 => {
                let block = *self.dice.of(&["cpu", "core", "llc", "node", "cpu"]);
                let (before, spread, behind) = (self.stages(2), self.instance(spreads), self.stages(2));
                let exit = if block == "cpu" { "cpu" } else { "cpus" };
                format!("entry {p} {before}{spread} {q} each {block} {{ {behind}{exit} }};")
            }
            2 => format!(
                "entry each cpu {p} {} {q} each cpu {{ {}cpu }};",
                self.instance(spreads),
                self.stages(2)
            ),
            3 => {
                let (outer, inner, behind) = (self.instance(spreads), self.instance(spreads), self.stages(1));
                format!("entry {p} {outer} {q} each llc {{ {inner} {p} each cpu {{ {behind}cpu }} }};")
            }
            4 => {
                // Paths that part and meet again.
                let (d, m) = (self.name(), self.name());
                let meet = self.instance(|c| c.class == Class::Merge);
                let (spread, a, b) = (self.instance(spreads), self.stages(1), self.stages(2));
                format!(
                    "entry {p} {d} :: {spread};\n{d} {q} {a}{m} :: {meet};\n{d} {q} {b}{m};\n{m} {p} {}cpus;",
                    self.stages(1)
                )
            }
            5 => {
                let (a, b) = (self.body(false), self.body(false));
                format!("when cpus.online > {} {{\n{a}\n}} else {{\n{b}\n}}", self.dice.below(4))
            }
            6 => {
                let (before, spread, behind) = (self.stages(1), self.instance(spreads), self.stages(2));
                let m = self.name();
                format!(
                    "each cpu {{ entry {p} {before}{spread} }}\n    ~> all each cpu {{ {m} :: task_mux {q} {behind}cpu }};"
                )
            }
            7 => format!("each cpu {{ entry {p} {}cpu }};", self.stages(3)),
            _ => {
                let (before, behind, m) = (self.stages(1), self.stages(1), self.name());
                let spread = self.instance(spreads);
                format!(
                    "each cpu {{ entry {p} {before}{spread} }}\n    ~> all each cpu {{ {m} :: task_mux ~> {behind}task_mux {q} cpu }};"
                )
            }
        }
    }

    fn topology(&mut self, domains: bool) -> String {
        let body = self.body(domains);
        // Annotators for what is asked, and for what these ask; sometimes one is missing, sometimes there is one more.
        let mut chosen = vec!["affinity".to_string()];
        if is_annotator(self.subject) {
            chosen.push(self.subject.name.clone());
            self.asked.extend(self.subject.asks.iter().chain(&self.subject.needs).cloned());
        }
        let mut at = 0;
        while at < self.asked.len() {
            let topic = self.asked[at].clone();
            at += 1;
            let answered = components().any(|c| chosen.contains(&c.name) && c.answers.contains(&topic));
            let providers: Vec<_> =
                components().filter(|c| is_annotator(c) && c.answers.contains(&topic)).collect();
            if answered || providers.is_empty() || self.dice.one_in(40) {
                continue;
            }
            let provider = *self.dice.of(&providers);
            self.asked.extend(provider.asks.iter().chain(&provider.needs).cloned());
            chosen.push(provider.name.clone());
        }
        chosen.dedup();
        format!("annotate {};\n{body}\n", chosen.join(", "))
    }
}

fn time(dice: &mut Dice) -> String {
    let n = 1 + dice.below(900);
    format!("{n}{}", dice.of(&["us", "us", "us", "ns"]))
}

fn program(dice: &mut Dice) -> String {
    let mut steps = Vec::new();
    for _ in 0..1 + dice.below(5) {
        let t = time(dice);
        steps.push(match dice.below(9) {
            0..=2 => format!("run {t}"),
            3 | 4 => format!("sleep {t}"),
            5 => format!("lock m{}; run {t}; unlock m0", 0),
            6 => format!("lock m1; run {t}; unlock m1"),
            7 => "yield".into(),
            _ => format!("run {t}; write c 8B"),
        });
    }
    format!("loop {} {{ {} }}", 1 + dice.below(6), steps.join("; "))
}

fn workload(dice: &mut Dice, with: &str) -> String {
    let protocols = ["none", "inherit", "ceiling", "pcp"];
    let mut text = format!(
        "duration = \"8ms\"\nmutexes = {{ m0 = \"{}\", m1 = \"{}\" }}\n[channels]\nc = \"64KiB\"\n",
        dice.of(&protocols),
        dice.of(&protocols)
    );
    let guest = dice.one_in(4);
    if guest {
        let _ = writeln!(
            text,
            "[[guest]]\nname = \"vm\"\ncpus = {}\ntopology = \"{}\"",
            1 + dice.below(3),
            dice.of(&["decentral", "linux", "edf", "fifo", "inner.weir"])
        );
    }
    for i in 0..1 + dice.below(5) {
        let _ = write!(text, "[[task]]\nname = \"t{i}\"\ncount = {}\n", 1 + dice.below(4));
        if dice.one_in(3) {
            let period = 1 + dice.below(4);
            let _ = writeln!(text, "period = \"{period}ms\"\nrun = \"{}us\"", 50 + dice.below(period * 600));
        } else {
            let _ = writeln!(text, "program = [\"{}\"]", program(dice));
        }
        if dice.one_in(4) {
            let _ = writeln!(text, "nice = {}", dice.below(40) as i64 - 20);
        }
        if dice.one_in(5) {
            let _ = writeln!(text, "cpus = \"0\"");
        }
        if guest && dice.one_in(2) {
            let _ = writeln!(text, "guest = \"vm\"");
        }
    }
    for _ in 0..dice.below(4) {
        let verb = match dice.below(7) {
            0 => "cpu 0 offline".into(),
            1 => "cpu 1 offline".into(),
            2 => "cpu 1 online".into(),
            3 => format!("swap {with}"),
            4 => "swap decentral".into(),
            5 => format!("publish POWER = {}", dice.below(2)),
            _ => format!("swap {}", dice.of(&["edf", "central", "worksteal", "linux", "distributed"])),
        };
        let _ = writeln!(text, "[[at]]\ntime = \"{}us\"\ndo = \"{verb}\"", dice.below(7000));
    }
    text
}

/// A case's files, and its machine.
fn write(number: u64, dir: &Path) -> &'static str {
    let mut dice = Dice(number.wrapping_mul(0x1234_5678_9abc_def1));
    // Each component in turn.
    let all: Vec<_> = components().filter(|c| c.name != "termination").collect();
    let subject = all[number as usize % all.len()];
    let machine = *dice.of(&MACHINES);
    let mut text = |domains| {
        Author { dice: &mut dice, subject, used: false, asked: Vec::new(), names: 0 }.topology(domains)
    };
    let domains = machine.starts_with("cluster");
    let (topology, other, inner) = (text(domains), text(domains), text(false));
    let workload = workload(&mut dice, "./other.weir");
    for (name, text) in
        [("t.weir", topology), ("other.weir", other), ("inner.weir", inner), ("w.toml", workload)]
    {
        fs::write(dir.join(name), text).expect("writable");
    }
    machine
}

struct Patience {
    until: Instant,
    over: AtomicBool,
}

impl Watch for Patience {
    fn stop(&self) -> &AtomicBool {
        if Instant::now() > self.until {
            self.over.store(true, Ordering::Relaxed);
        }
        &self.over
    }
}

/// Whether a case was played, refused, or given up; the error is what no case may do.
fn play(number: u64, dir: &Path) -> Result<&'static str, String> {
    let machine = write(number, dir);
    let at = |name: &str| Some(dir.join(name).to_string_lossy().into_owned());
    let setting = Setting { machine: Some(machine.into()), workload: at("w.toml"), ..Setting::default() };
    let checks = number.is_multiple_of(3);
    let options =
        RunOptions { setting, topology: at("t.weir"), seed: number, checks, ..RunOptions::default() };
    let run = || -> Result<Option<Summary>, weir::Fault> {
        let watch = Patience { until: Instant::now() + PATIENCE, over: AtomicBool::new(false) };
        let mut summary = PreparedRun::new(&options)?.run(None, &watch)?.summary;
        summary.wall_ns = 0;
        Ok((!watch.over.load(Ordering::Relaxed)).then_some(summary))
    };
    let summary = match run() {
        Ok(Some(summary)) => summary,
        Ok(None) => return Ok("slow"),
        Err(fault) if matches!(fault.blame, Blame::User) => return Ok("refused"),
        Err(fault) => return Err(fault.to_string()),
    };
    accounts(&summary)?;
    let again = run().map_err(|e| format!("the second run fails: {e}"))?;
    match again {
        Some(again) if json(&again) != json(&summary) => Err("a second run differs".into()),
        _ => Ok("ran"),
    }
}

fn json(summary: &Summary) -> String {
    serde_json::to_string(summary).expect("it can be written")
}

fn accounts(s: &Summary) -> Result<(), String> {
    let mut sums = (0, 0, 0);
    for c in &s.cpus {
        let all = c.busy_ns + c.idle_ns + c.scheduler_ns + c.offline_ns;
        if all != s.duration_ns {
            return Err(format!("CPU {} accounts for {all} of {} ns: {c:?}", c.cpu, s.duration_ns));
        }
        sums = (sums.0 + c.busy_ns, sums.1 + c.idle_ns, sums.2 + c.scheduler_ns);
    }
    let t = &s.totals;
    if sums != (t.busy_ns, t.idle_ns, t.scheduler_ns) {
        return Err(format!("the CPUs' sums are {sums:?}, the totals {t:?}"));
    }
    if t.jobs < t.jobs_completed + t.jobs_dropped {
        return Err(format!("more jobs ended than began: {t:?}"));
    }
    let jobs: u64 = s.tasks.iter().map(|t| t.jobs).sum();
    if !s.tasks.is_empty() && jobs != t.jobs {
        return Err(format!("the tasks have {jobs} jobs, the totals {}", t.jobs));
    }
    match &s.crash {
        Some(crash) => Err(format!("`{}` crashed: {}", crash.component, crash.what)),
        None => Ok(()),
    }
}

const PART: &str = "ODDITIES_PART";

/// A process's part: from one case to another, with a line for each in a file.
fn part(text: &str) {
    let words: Vec<&str> = text.splitn(3, ' ').collect();
    let number = |i: usize| words[i].parse::<u64>().expect("a number");
    let dir = tempfile::tempdir().expect("a folder");
    let mut lines = String::new();
    for case in number(0)..number(1) {
        let _ = write!(lines, "{case} ");
        fs::write(words[2], &lines).expect("writable");
        match play(case, dir.path()) {
            Ok(how) => lines += &format!("{how}\n"),
            Err(e) => lines += &format!("failed {}\n", e.escape_debug()),
        }
    }
    fs::write(words[2], lines).expect("writable");
}

#[test]
fn whatever_the_checker_accepts_runs() {
    if let Ok(text) = std::env::var(PART) {
        return part(&text);
    }
    if let Some(case) = std::env::var("ODDITY").ok().and_then(|n| n.parse().ok()) {
        let dir = tempfile::tempdir().expect("a folder").keep();
        println!("case {case} on {} in {}", write(case, &dir), dir.display());
        println!("{}", fs::read_to_string(dir.join("t.weir")).expect("there"));
        println!("{:?}", play(case, &dir));
        return;
    }
    let long = if std::env::var_os("WEIR_LONG").is_some() { 10_000 } else { 200 };
    let cases = std::env::var("ODDITIES").ok().and_then(|n| n.parse().ok()).unwrap_or(long);
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("lines");
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut bad = Vec::new();
    let mut from = 0;
    while from < cases {
        let to = (from + BATCH).min(cases);
        let status = Command::new(std::env::current_exe().expect("a path"))
            .args(["--exact", "whatever_the_checker_accepts_runs", "--nocapture"])
            .env(PART, format!("{from} {to} {}", file.display()))
            .output()
            .expect("it starts");
        let lines = fs::read_to_string(&file).expect("there");
        for line in lines.lines() {
            from = line.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(from) + 1;
            let how = line.split(' ').nth(1).unwrap_or("");
            let how = if how.is_empty() { "crashed" } else { how };
            *counts.entry(how.into()).or_default() += 1;
            match how {
                "crashed" => bad.push(format!(
                    "case {}: {}: {}",
                    from - 1,
                    status.status,
                    String::from_utf8_lossy(&status.stderr).lines().take(6).collect::<Vec<_>>().join(" | ")
                )),
                "failed" => bad.push(format!("case {line}")),
                _ => {}
            }
        }
        assert!(bad.len() < 20, "{counts:?}\n{}", bad.join("\n"));
    }
    println!("{cases} cases: {counts:?}");
    assert!(bad.is_empty(), "{counts:?}; ODDITY=N shows one\n{}", bad.join("\n"));
    assert!(counts.get("ran").copied().unwrap_or(0) * 4 > cases, "too few are valid: {counts:?}");
}
