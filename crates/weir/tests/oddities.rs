// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Valid but odd topologies x machines x workloads x scenarios, by a generator: every component in every kind of place (before and behind
//! `~>`, in coherence domains, merges, guests, `when`). Whatever the checker accepts runs to its end without a crash, its accounts are whole,
//! and a second run gives the same.
//!
//! Cases run in processes of their own, many in each, so that a crash is one case's. 200 in the tests; with `WEIR_LONG` 10,000, where each
//! component has run in each place. `ODDITIES` in
//! the environment says how many, `ODDITY=N` plays one case and prints it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weir::fault::Blame;
use weir::{PreparedRun, RunOptions, Setting, Watch};
use weir_core::{Class, ComponentInfo, Unit};
use weir_report::Summary;

/// Cases of a process.
const BATCH: u64 = 50;
/// A case that takes longer is ended: its accounts still count.
const PATIENCE: Duration = Duration::from_secs(20);
/// A case that cannot be ended for so long waits for itself: its process gives up.
const HANGS: Duration = Duration::from_secs(90);

#[rustfmt::skip]
const MACHINES: [&str; 18] = [
    "smp-1", "smp-2", "smp-4", "smp-9", "cluster-2x1", "cluster-2x2", "cluster-2x2", "cluster-3x2", "big-little", "hybrid-2p2e",
    "two-of-four", "npu-board", "accel-2x1", "i7-2600", "hotplug", "hosted", "hot-8", "phone",
];

/// With a second instruction set.
const BOARDS: [&str; 2] = ["npu-board", "accel-2x1"];

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

/// Where a case's component stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// Its own pipe is postponed.
    Before,
    Behind,
    /// On either side of a crossing between coherence domains.
    Domains,
    Merge,
    Guest,
    When,
    Anywhere,
}

/// Cases that once did not end, which the tests always play: components that looked for a task behind a postponed pipe took its inbox for a
/// lock, and `top` compared places of one order with places of another one behind it.
const KEPT: [u64; 3] = [214, 1310, 8675];

const PLACES: [Place; 7] = {
    use Place::*;
    [Before, Behind, Domains, Merge, Guest, When, Anywhere]
};

/// Writes a topology, and remembers what its components ask.
struct Author<'a> {
    dice: &'a mut Dice,
    /// The component that this case is about.
    subject: &'static ComponentInfo,
    used: bool,
    asked: Vec<String>,
    names: u32,
    /// The path has an order already.
    ordered: bool,
}

fn components() -> impl Iterator<Item = &'static ComponentInfo> {
    weir_core::catalog().components.iter()
}

/// Those that cases are about. `termination` is what the compiler puts at the end of each exit pipe: no topology names it.
fn subjects() -> Vec<&'static ComponentInfo> {
    components().filter(|c| c.name != "termination").collect()
}

fn is_annotator(c: &ComponentInfo) -> bool {
    c.ins.1 == 0 && c.outs.1 == 0
}

fn splits(c: &ComponentInfo) -> bool {
    c.name == "isa_demux"
}

/// One path in, several out.
fn spreads(c: &ComponentInfo) -> bool {
    c.class == Class::Distribute && !splits(c)
}

fn joins(c: &ComponentInfo) -> bool {
    spreads(c) && c.ins.1 > 1
}

fn meets(c: &ComponentInfo) -> bool {
    c.class == Class::Merge
}

/// One path through it.
fn passes(c: &ComponentInfo) -> bool {
    !is_annotator(c) && c.class != Class::Distribute && c.ins.0 <= 1 && c.ins.1 >= 1 && c.outs.1 >= 1
}

/// The same, and no CPU gives up its task because of it: only such ones stand behind postponed pipes.
fn waits(c: &ComponentInfo) -> bool {
    passes(c) && !c.publishes.iter().any(|t| t == "PREEMPT")
}

impl Author<'_> {
    fn pipe(&mut self) -> &'static str {
        if self.dice.one_in(6) { "~>" } else { "->" }
    }

    /// A component with perhaps a parameter at one end of its range.
    fn instance(&mut self, fits: fn(&ComponentInfo) -> bool) -> String {
        // Of two orders the second one mostly undoes what the first one did.
        let second = self.ordered && !self.dice.one_in(12);
        let all: Vec<_> = components().filter(|c| fits(c) && !(second && c.class == Class::Order)).collect();
        let c = *self.dice.of(&all);
        self.write(c)
    }

    fn subject(&mut self) -> String {
        self.used = true;
        self.write(self.subject)
    }

    fn write(&mut self, c: &ComponentInfo) -> String {
        self.ordered |= c.class == Class::Order;
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

    /// The subject, if it fits and stands nowhere yet; else any.
    fn first(&mut self, fits: fn(&ComponentInfo) -> bool) -> String {
        if !self.used && fits(self.subject) { self.subject() } else { self.instance(fits) }
    }

    /// Some stages, each with the pipe behind it; behind the last one is an exit if `exit`.
    fn stages(&mut self, most: u64, exit: bool) -> String {
        let n = self.dice.below(most + 1);
        let mut text = String::new();
        for i in 0..n {
            let stage = self.first(passes);
            let pipe = if exit && i + 1 == n { "->" } else { self.pipe() };
            let _ = write!(text, "{stage} {pipe} ");
        }
        text
    }

    /// The same behind a postponed pipe, at least one.
    fn patient(&mut self) -> String {
        let mut text = self.instance(waits) + " -> ";
        if self.dice.one_in(2) {
            text += &(self.instance(waits) + " -> ");
        }
        text
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("x{}", self.names)
    }

    /// From an entry to exits, as statements, with the subject in a place.
    fn body(&mut self, place: Place) -> String {
        self.ordered = false;
        let inside = place == Place::Guest;
        if splits(self.subject) && !matches!(place, Place::When | Place::Domains) {
            return self.by_isa("native", Some(place));
        }
        let (one, many) = (passes(self.subject), spreads(self.subject));
        let fork = self.dice.one_in(2);
        match place {
            Place::Before if one => {
                let (before, s) = (self.stages(1, false), self.subject());
                if fork {
                    let (d, behind) = (self.instance(spreads), self.stages(1, true));
                    return format!("entry -> {before}{s} ~> {d} -> each cpu {{ {behind}cpu }};");
                }
                format!("entry -> {before}{s} ~> {}cpus;", self.patient())
            }
            Place::Before if many => {
                let (before, s) = (self.stages(1, false), self.subject());
                format!("entry -> {before}{s} ~> each cpu {{ {}cpu }};", self.patient())
            }
            Place::Behind if one => {
                let (before, s) = (self.instance(passes), self.subject());
                format!("entry -> {before} ~> {s} -> {}cpus;", self.stages(1, true))
            }
            Place::Behind if many => {
                let (before, s) = (self.instance(passes), self.subject());
                format!("entry -> {before} ~> {s} -> each cpu {{ {}cpu }};", self.stages(1, true))
            }
            Place::Domains => self.domains(),
            Place::Merge if one || many => {
                let (d, m) = (self.name(), self.name());
                let s = self.subject();
                let (spread, a, b) = (self.instance(spreads), self.stages(1, false), self.stages(1, false));
                if joins(self.subject) {
                    return format!(
                        "entry -> {d} :: {spread};\n{d} -> {a}{m} :: {s};\n{d} -> {b}{m};\n{m} -> each cpu {{ {}cpu }};",
                        self.stages(1, true)
                    );
                }
                let (meet, behind) = match meets(self.subject) {
                    true => (s, self.stages(1, true) + "cpus"),
                    false if many => {
                        (self.instance(meets), s + " -> each cpu { " + &self.stages(1, true) + "cpu }")
                    }
                    false => (self.instance(meets), s + " -> " + &self.stages(1, true) + "cpus"),
                };
                format!(
                    "entry -> {d} :: {spread};\n{d} -> {a}{m} :: {meet};\n{d} -> {b}{m};\n{m} -> {behind};"
                )
            }
            Place::When => {
                let topic = self.dice.one_in(3);
                let a = if splits(self.subject) { self.by_isa("native", None) } else { self.anywhere(5) };
                self.ordered = false;
                let b = self.anywhere(5);
                // The subject stands in the first one, which is not always in force.
                let n = self.dice.below(4);
                match topic {
                    true => format!("when POWER = {} {{\n{a}\n}} else {{\n{b}\n}}", self.dice.below(2)),
                    false => format!("when cpus.online > {n} {{\n{a}\n}} else {{\n{b}\n}}"),
                }
            }
            // A guest's topology does not reshape itself.
            _ => self.anywhere(if inside { 5 } else { 6 }),
        }
    }

    /// Each CPU has an entry in its own domain.
    fn domains(&mut self) -> String {
        let (p, q) = (self.pipe(), self.pipe());
        let m = self.name();
        if splits(self.subject) {
            let (s, d) = (self.subject(), self.name());
            return format!(
                "each cpu {{ entry {p} {d} :: {s}; {d}[native] -> task_distributor }}\n    ~> all each cpu {{ {m} :: task_mux {q} {}cpu }};",
                self.stages(1, true)
            );
        }
        let spread = |a: &mut Self| a.first(spreads);
        match self.dice.below(4) {
            0 => format!("each cpu {{ entry {p} {}cpu }};", self.stages(3, true)),
            1 => {
                let (before, s, behind) = (self.stages(1, false), spread(self), self.stages(2, true));
                format!(
                    "each cpu {{ entry {p} {before}{s} }}\n    ~> all each cpu {{ {m} :: task_mux {q} {behind}cpu }};"
                )
            }
            2 => {
                let (s, behind) = (spread(self), self.stages(2, true));
                format!(
                    "each cpu {{ entry {p} {s} }}\n    ~> all each cpu {{ {m} :: task_mux {q} {behind}cpu }};"
                )
            }
            _ => {
                let (before, behind, s) = (self.stages(1, false), self.stages(1, false), spread(self));
                format!(
                    "each cpu {{ entry {p} {before}{s} }}\n    ~> all each cpu {{ {m} :: task_mux ~> {behind}task_mux {q} cpu }};"
                )
            }
        }
    }

    /// For machines with a second instruction set, or with the native one only.
    fn by_isa(&mut self, other: &str, place: Option<Place>) -> String {
        let d = self.name();
        let split = components().find(|c| splits(c)).expect("it is in the catalogue");
        if splits(self.subject) {
            self.used = true;
        }
        let split = self.write(split);
        let (before, spread) = (self.stages(1, false), self.first(spreads));
        let (merged, before) = match place {
            Some(Place::Merge) => (" each cpu in native", String::new()),
            _ => ("", before),
        };
        let (entry, out) = match place {
            Some(Place::Behind) => ("~>", "->"),
            Some(Place::Before) => ("->", "~>"),
            _ => ("->", "->"),
        };
        let mut text = format!(
            "entry{merged} {entry} {before}{d} :: {split};\n{d}[native] {out} {spread} -> each cpu in native {{ {}cpu }};",
            self.stages(2, true)
        );
        if other != "native" {
            self.ordered = false;
            let _ = write!(text, "\n{d}[{other}] -> {}cpus in {other};", self.stages(1, true));
        }
        text
    }

    /// One of the first so many forms.
    fn anywhere(&mut self, forms: u64) -> String {
        let (p, q) = (self.pipe(), self.pipe());
        match self.dice.below(forms) {
            0 => {
                let stages = self.stages(3, true);
                format!("entry {} {stages}cpus;", if stages.is_empty() { "->" } else { p })
            }
            1 => {
                let block = *self.dice.of(&["cpu", "core", "llc", "node", "cpu"]);
                let (before, spread, behind) =
                    (self.stages(2, false), self.first(spreads), self.stages(2, true));
                let exit = if block == "cpu" { "cpu" } else { "cpus" };
                format!("entry {p} {before}{spread} {q} each {block} {{ {behind}{exit} }};")
            }
            2 => format!(
                "entry each cpu {p} {} {q} each cpu {{ {}cpu }};",
                self.first(joins),
                self.stages(2, true)
            ),
            3 => {
                let (outer, inner, behind) =
                    (self.first(spreads), self.instance(spreads), self.stages(1, true));
                format!("entry {p} {outer} {q} each llc {{ {inner} {p} each cpu {{ {behind}cpu }} }};")
            }
            4 => {
                // Paths that part and meet again.
                let (d, m) = (self.name(), self.name());
                let (meet, spread) = (self.first(meets), self.first(spreads));
                let (a, b) = (self.stages(1, false), self.stages(2, false));
                format!(
                    "entry {p} {d} :: {spread};\n{d} {q} {a}{m} :: {meet};\n{d} {q} {b}{m};\n{m} {p} {}cpus;",
                    self.stages(1, true)
                )
            }
            _ => self.body(Place::When),
        }
    }

    fn topology(&mut self, place: Place, machine: &str) -> String {
        let text = loop {
            let text = match (place, machine) {
                (Place::Domains, _) => self.body(place),
                (_, m) if m.starts_with("cluster") => self.domains(),
                // In a guest all CPUs are of one kind.
                (_, m) if BOARDS.contains(&m) => self.by_isa("accel", None),
                _ => self.body(place),
            };
            // Some forms have no room for it.
            if self.used || is_annotator(self.subject) || place == Place::Anywhere {
                break text;
            }
            self.asked.clear();
        };
        // Annotators for what is asked, and for what these ask; sometimes one is missing, sometimes there is one more.
        let mut chosen = vec![components().find(|c| c.name == "affinity").expect("it is in the catalogue")];
        if is_annotator(self.subject) {
            chosen.push(self.subject);
            self.asked.extend(self.subject.asks.iter().chain(&self.subject.needs).cloned());
        }
        let mut at = 0;
        while at < self.asked.len() {
            let topic = self.asked[at].clone();
            at += 1;
            let answers = |t: &String| chosen.iter().any(|c| c.answers.contains(t));
            let providers: Vec<_> =
                components().filter(|c| is_annotator(c) && c.answers.contains(&topic)).collect();
            if answers(&topic) || providers.is_empty() || self.dice.one_in(60) {
                continue;
            }
            let alone: Vec<_> =
                providers.iter().filter(|c| !c.answers.iter().any(answers)).copied().collect();
            let provider = *self.dice.of(if alone.is_empty() { &providers } else { &alone });
            self.asked.extend(provider.asks.iter().chain(&provider.needs).cloned());
            chosen.push(provider);
        }
        let mut names: Vec<&str> = chosen.iter().map(|c| c.name.as_str()).collect();
        names.dedup();
        match (place, is_annotator(self.subject)) {
            (Place::When, true) => {
                let others: Vec<&str> = names.into_iter().filter(|n| *n != self.subject.name).collect();
                let own = &self.subject.name;
                // A topic that it alone answers.
                format!(
                    "annotate {};\nwhen cpus.online > {} {{ annotate {own}; }} else {{ annotate {own}; }}\n{text}\n",
                    others.join(", "),
                    self.dice.below(3)
                )
            }
            _ => format!("annotate {};\n{text}\n", names.join(", ")),
        }
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

fn workload(dice: &mut Dice, with: &str, inner: bool, board: bool) -> String {
    let protocols = ["none", "inherit", "ceiling", "pcp"];
    let mut text = format!(
        "duration = \"8ms\"\nmutexes = {{ m0 = \"{}\", m1 = \"{}\" }}\n[channels]\nc = \"64KiB\"\n",
        dice.of(&protocols),
        dice.of(&protocols)
    );
    let guest = inner || dice.one_in(4);
    if guest {
        let of = *dice.of(&["decentral", "linux", "edf", "fifo", "inner.weir"]);
        let _ = writeln!(
            text,
            "[[guest]]\nname = \"vm\"\ncpus = {}\ntopology = \"{}\"",
            1 + dice.below(3),
            if inner { "inner.weir" } else { of }
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
        if guest && (i == 0 || dice.one_in(2)) {
            let _ = writeln!(text, "guest = \"vm\"");
        }
    }
    let mut times: Vec<u64> = (0..dice.below(4)).map(|_| dice.below(7000)).collect();
    times.sort_unstable();
    for time in times {
        let verb = match dice.below(7) {
            0 => "cpu 0 offline".into(),
            1 => "cpu 1 offline".into(),
            2 => "cpu 1 online".into(),
            3 => format!("swap {with}"),
            4 if !board => "swap decentral".into(),
            5 => format!("publish POWER = {}", dice.below(2)),
            // The others would give its CPUs tasks of another instruction set.
            _ if board => "swap accelerator".into(),
            _ => format!("swap {}", dice.of(&["edf", "central", "worksteal", "linux", "distributed"])),
        };
        let _ = writeln!(text, "[[at]]\ntime = \"{time}us\"\ndo = \"{verb}\"");
    }
    text
}

/// What a case is about: each component in each place in turn.
fn about(number: u64) -> (&'static ComponentInfo, Place) {
    let all = subjects();
    let n = all.len() as u64;
    (all[(number % n) as usize], PLACES[(number / n % PLACES.len() as u64) as usize])
}

/// A case's files, and its machine.
fn write(number: u64, dir: &Path) -> &'static str {
    let mut dice = Dice(number.wrapping_mul(0x1234_5678_9abc_def1));
    let (subject, place) = about(number);
    let clusters: Vec<&str> = MACHINES.into_iter().filter(|m| m.starts_with("cluster")).collect();
    let others: Vec<&str> =
        MACHINES.into_iter().filter(|m| !m.starts_with("cluster") && !BOARDS.contains(m)).collect();
    let machine = match place {
        Place::Domains => *dice.of(&clusters),
        // Elsewhere a cluster's domains prescribe the form.
        Place::Anywhere | Place::Guest => *dice.of(&MACHINES),
        _ => *dice.of(&others),
    };
    let mut text = |place, machine| {
        let mut author =
            Author { dice: &mut dice, subject, used: false, asked: Vec::new(), names: 0, ordered: false };
        author.topology(place, machine)
    };
    let outer = if place == Place::Guest { Place::Anywhere } else { place };
    let (topology, other, inside) =
        (text(outer, machine), text(Place::Anywhere, machine), text(Place::Guest, "smp-2"));
    let workload = workload(&mut dice, "./other.weir", place == Place::Guest, BOARDS.contains(&machine));
    for (name, text) in
        [("t.weir", topology), ("other.weir", other), ("inner.weir", inside), ("w.toml", workload)]
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

/// A case as a run.
fn options(number: u64, dir: &Path) -> RunOptions {
    let machine = write(number, dir);
    let at = |name: &str| Some(dir.join(name).to_string_lossy().into_owned());
    let setting = Setting { machine: Some(machine.into()), workload: at("w.toml"), ..Setting::default() };
    let checks = number.is_multiple_of(3);
    RunOptions { setting, topology: at("t.weir"), seed: number, checks, ..RunOptions::default() }
}

/// A refusal in a line: what the checker says, without what differs from case to case.
fn reason(fault: &weir::Fault) -> String {
    let text = fault.to_string();
    text.lines().map(str::trim).find(|l| !l.is_empty()).unwrap_or("").to_string()
}

/// Whether a case was played, refused by the checker, refused while it ran, or given up; the error is what no case may do.
fn play(number: u64, dir: &Path) -> Result<String, String> {
    let options = options(number, dir);
    let prepared = match PreparedRun::new(&options) {
        Err(fault) if matches!(fault.blame, Blame::User) => return Ok(format!("refused {}", reason(&fault))),
        Err(fault) => return Err(fault.to_string()),
        Ok(prepared) => prepared,
    };
    let run = |prepared: &PreparedRun| -> Result<Option<Summary>, weir::Fault> {
        let watch = Patience { until: Instant::now() + PATIENCE, over: AtomicBool::new(false) };
        let mut summary = prepared.run(None, &watch)?.summary;
        summary.wall_ns = 0;
        Ok((!watch.over.load(Ordering::Relaxed)).then_some(summary))
    };
    let summary = match run(&prepared) {
        Ok(Some(summary)) => summary,
        Ok(None) => return Ok("slow".into()),
        Err(fault) if matches!(fault.blame, Blame::User) => {
            return Ok(format!("stopped {}", reason(&fault)));
        }
        Err(fault) => return Err(fault.to_string()),
    };
    accounts(&summary)?;
    let again =
        PreparedRun::new(&options).and_then(|p| run(&p)).map_err(|e| format!("the second run fails: {e}"))?;
    match again {
        Some(again) if json(&again) != json(&summary) => Err("a second run differs".into()),
        _ => Ok("ran".into()),
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
    let begun = Arc::new(AtomicU64::new(0));
    let watched = begun.clone();
    std::thread::spawn(move || {
        loop {
            let seen = watched.load(Ordering::Relaxed);
            std::thread::sleep(HANGS);
            if watched.load(Ordering::Relaxed) == seen {
                eprintln!("it does not end, and cannot be ended");
                std::process::abort();
            }
        }
    });
    for case in number(0)..number(1) {
        begun.fetch_add(1, Ordering::Relaxed);
        let _ = write!(lines, "{case} ");
        fs::write(words[2], &lines).expect("writable");
        match play(case, dir.path()) {
            Ok(how) => lines += &format!("{how}\n"),
            Err(e) => lines += &format!("failed {}\n", e.escape_debug()),
        }
    }
    fs::write(words[2], lines).expect("writable");
}

/// The checker accepts each component in each place, in some surroundings: a place is tried until it accepts a case. (What it refuses in
/// others is said with a reason, or this fails: an order behind one that it undoes, a second responder, a guest that reshapes itself.)
#[test]
fn every_component_stands_in_every_place() {
    const ATTEMPTS: u64 = 12;
    let dir = tempfile::tempdir().expect("a folder");
    let kinds = subjects().len() as u64 * PLACES.len() as u64;
    let mut wrong = Vec::new();
    for kind in 0..kinds {
        let (subject, place) = about(kind);
        let mut why = Vec::new();
        let accepted =
            (0..ATTEMPTS).any(|n| match PreparedRun::new(&options(kind + n * kinds, dir.path())) {
                Ok(_) => true,
                Err(fault) => {
                    assert!(matches!(fault.blame, Blame::User), "{} {place:?}: {fault}", subject.name);
                    why.push(reason(&fault));
                    false
                }
            });
        if !accepted {
            wrong.push(format!("{} {place:?}: {why:#?}", subject.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
    let mut played: BTreeMap<(&str, Place), u64> = BTreeMap::new();
    let mut bad = Vec::new();
    let mut from = 0;
    let mut kept = KEPT.iter().filter(|case| **case >= cases);
    loop {
        if from >= cases {
            let Some(case) = kept.next() else { break };
            from = *case;
        }
        let to = if from < cases { (from + BATCH).min(cases) } else { from + 1 };
        let status = Command::new(std::env::current_exe().expect("a path"))
            .args(["--exact", "oddities::whatever_the_checker_accepts_runs", "--nocapture"])
            .env(PART, format!("{from} {to} {}", file.display()))
            .output()
            .expect("it starts");
        let lines = fs::read_to_string(&file).expect("there");
        for line in lines.lines() {
            from = line.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(from) + 1;
            let how = line.split(' ').nth(1).unwrap_or("");
            let how = if how.is_empty() { "crashed" } else { how };
            *counts.entry(how.into()).or_default() += 1;
            if how == "ran" {
                let (subject, place) = about(from - 1);
                *played.entry((&subject.name, place)).or_default() += 1;
            }
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
    let part = |how: &str| counts.get(how).copied().unwrap_or(0) * 100 / cases;
    assert!(part("ran") > 75, "too few are valid: {counts:?}");
    // What only a run shows: a task on a CPU of another instruction set, above all.
    assert!(part("stopped") < 5 && part("slow") < 2, "{counts:?}");
    let kinds = subjects().into_iter().flat_map(|c| PLACES.map(|p| (c, p)));
    let missing: Vec<_> = kinds
        .filter(|(c, p)| !played.contains_key(&(c.name.as_str(), *p)))
        .map(|(c, p)| (&c.name, p))
        .collect();
    println!("{} kinds of place and component were played, {} not", played.len(), missing.len());
    assert!(cases < 10_000 || missing.is_empty(), "never played: {missing:?}");
}
