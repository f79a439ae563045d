// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! How faithful an imported workload is: the recording beside its replay, whether they agree within bounds, and the reasons if not.

use std::fmt::Write as _;

use serde::Serialize;
use weir_core::Plan;
use weir_core::event::{Event, Observer, Stop};
use weir_model::{Costs, Machine, Workload};
use weir_report::{Columns, Dist, InMemory, Meta, Metrics, Screen, Summary, Trace, count};
use weir_sim::engine::{self, RunConfig};
use weir_trace::Recording;

use crate::explain::Explainer;
use crate::fault::{Fault, Result};
use crate::import::ImportOptions;
use crate::requests::Requests;
use crate::units::{duration, plural};
use crate::watch::Watch;
use crate::{machine, topology};

/// The scheduler that represents the recorded one, if the caller names none.
const RECORDED_UNDER: &str = "linux";
/// Groups in the table.
const ROWS: usize = 12;
/// What counts as true, percent of the recorded value: CPU time, switches, wake-up latencies.
const BOUNDS: [f64; 3] = [2.0, 10.0, 25.0];
/// Fewer switches are a matter of chance.
const SCARCE: u64 = 20;
/// Wake-ups from which on a 99th percentile is no matter of chance.
const MANY: u64 = 5_000;
/// Costs of the replay: the default ones, with the recorded machine's way from a wake-up to the thread.
pub const RECORDED: &str = "recorded";
/// Wake-ups on idle CPUs that are needed to say how long one takes.
const ENOUGH: u64 = 20;
/// A way from a wake-up to the thread that takes longer is a wait, for a hypervisor or out of a deep sleep: no cost of a switch, ns.
const LONGEST_WAY_NS: u64 = 20_000;
/// Two figures that differ by less are no reason for anything, percent.
const ALIKE: f64 = 10.0;

/// The recording beside its replay.
#[derive(Clone, Debug, Serialize)]
pub struct Fidelity {
    pub topology: String,
    /// Cost of a context switch in the replay: the default one, raised where the recorded machine was slower.
    pub context_switch_ns: u64,
    pub all: Row,
    /// The groups with the most CPU time.
    pub groups: Vec<Row>,
    /// The replay had not done all of its work when the recording's time was over.
    pub unfinished: u64,
    /// What the workload asks for and the replay's scheduler does not obey.
    pub ignored: Vec<weir_report::Ignored>,
    /// Whether all threads together are within the bounds.
    pub verdicts: Vec<Verdict>,
    pub recorded: Manner,
    pub replayed: Manner,
    /// The replay's, where they were asked for.
    pub requests: Option<Requests>,
}

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub name: String,
    pub recorded: Figures,
    pub replayed: Figures,
}

/// The compared figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    pub cpu_ns: u64,
    /// Share of all CPUs' time.
    pub utilisation: f64,
    pub switches: u64,
    pub wakeups: u64,
    pub wakeup_p50_ns: Option<u64>,
    pub wakeup_p95_ns: Option<u64>,
    pub wakeup_p99_ns: Option<u64>,
}

/// A figure against its bound.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// `utilisation`, `switches`, `wakeup_p50`, `wakeup_p99`.
    pub figure: &'static str,
    /// Of the recorded value, percent; `None` where one side has no value.
    pub deviation_pct: Option<f64>,
    pub bound_pct: f64,
    pub within: bool,
    /// What differs besides, where the figure is out of its bound.
    pub why: Vec<String>,
}

/// How a scheduler went about it: what figures that differ are explained by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Manner {
    /// Median from a wake-up to the thread, where the CPU was idle, ns.
    pub idle_wakeup_ns: Option<u64>,
    /// Wake-ups of that kind.
    pub idle_wakeups: u64,
    /// Within this time a tenth of all threads ran after their wake-ups, ns.
    pub quick_wakeup_ns: Option<u64>,
    /// Times that a thread which could have gone on left its CPU.
    pub put_back: u64,
    /// Longest that a thread ran at a stretch, ns.
    pub longest_ns: u64,
}

/// Watches the manner.
#[derive(Default)]
struct Probe {
    /// By CPU: since when no task runs there; `None`: a task runs.
    idle_since: Vec<Option<u64>>,
    waits: Vec<u64>,
    /// After wake-ups on busy CPUs, too.
    all: Vec<u64>,
    put_back: u64,
    longest_ns: u64,
}

impl Probe {
    fn cpu(&mut self, cpu: u32) -> &mut Option<u64> {
        let at = cpu as usize;
        if self.idle_since.len() <= at {
            self.idle_since.resize(at + 1, Some(0));
        }
        &mut self.idle_since[at]
    }

    fn manner(mut self) -> Manner {
        self.waits.sort_unstable();
        self.all.sort_unstable();
        Manner {
            idle_wakeup_ns: self.waits.get(self.waits.len() / 2).copied(),
            idle_wakeups: self.waits.len() as u64,
            quick_wakeup_ns: self.all.get(self.all.len() / 10).copied(),
            put_back: self.put_back,
            longest_ns: self.longest_ns,
        }
    }
}

impl Observer for Probe {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        match *event {
            Event::Run { cpu, wakeup, waited_ns, .. } => {
                let idle = self.cpu(cpu).take();
                // Where the wake-up is not known, it was put where the thread ran.
                let wakeup = wakeup && waited_ns > 0;
                if wakeup {
                    self.all.push(waited_ns);
                }
                if wakeup && idle.is_some_and(|since| since <= t.saturating_sub(waited_ns)) {
                    self.waits.push(waited_ns);
                }
            }
            Event::Off { cpu, why, ran_ns, .. } => {
                *self.cpu(cpu) = Some(t);
                self.put_back += u64::from(!matches!(why, Stop::Block | Stop::Exit));
                self.longest_ns = self.longest_ns.max(ran_ns);
            }
            _ => {}
        }
    }
}

/// Replays a workload on the recorded machine, and compares with the recording.
pub(crate) fn fidelity(
    recording: &Recording,
    options: &ImportOptions,
    machine: &Machine,
    workload: &Workload,
    watch: &dyn Watch,
) -> Result<Fidelity> {
    let meta = Meta { nr_cpus: recording.nr_cpus, ..Meta::default() };
    let mut seen = (Metrics::new(meta), Probe::default());
    recording.observe(&mut seen, &recording.groups(options.anonymise));
    let (recorded, theirs) = (seen.0.finish(recording.duration_ns()), seen.1.manner());

    let source = topology::source(options.under.as_deref().unwrap_or(RECORDED_UNDER))?;
    let plan = topology::compile(&source, &machine.shape, &[])?.plan;
    let measured = options.costs == RECORDED;
    let mut costs = machine::costs(if measured { "default" } else { &options.costs })?;
    let ignored = crate::ignored::allowed(&plan, workload, machine.nr_cpus(), options.strict)?;
    let traced = options.requests.is_some();
    let stage = Stage { recording, machine, workload, plan: &plan, traced };
    let mut done = stage.replay(&costs, watch)?;
    if measured && let Some(more_ns) = slower(&theirs, &done.manner) {
        costs.context_switch += more_ns;
        done = stage.replay(&costs, watch)?;
    }
    let Replay { summary: replayed, manner: ours, unfinished, trace } = done;
    let requests = match (&options.requests, trace) {
        (Some(told), Some(trace)) => Some(Explainer::of(&trace, "the replay")?.requests(told, 0)?),
        _ => None,
    };

    let mut groups = Vec::new();
    let mut order: Vec<_> = recorded.groups.iter().collect();
    order.sort_by(|a, b| b.cpu_ns.cmp(&a.cpu_ns).then_with(|| a.name.cmp(&b.name)));
    for group in order.into_iter().take(ROWS) {
        groups.push(Row {
            name: group.name.clone(),
            recorded: of_group(&recorded, &group.name),
            replayed: of_group(&replayed, &group.name),
        });
    }
    let all = Row { name: "all".into(), recorded: of_all(&recorded), replayed: of_all(&replayed) };
    Ok(Fidelity {
        context_switch_ns: costs.context_switch,
        topology: source.stem().into(),
        verdicts: verdicts(&all, Some((&theirs, &ours)), unfinished),
        all,
        groups,
        unfinished,
        ignored,
        recorded: theirs,
        replayed: ours,
        requests,
    })
}

/// Inputs of a replay.
struct Stage<'a> {
    recording: &'a Recording,
    machine: &'a Machine,
    workload: &'a Workload,
    plan: &'a Plan,
    /// A trace is kept.
    traced: bool,
}

struct Replay {
    summary: Summary,
    manner: Manner,
    /// Tasks that had work left.
    unfinished: u64,
    trace: Option<Vec<u8>>,
}

impl Stage<'_> {
    fn replay(&self, costs: &Costs, watch: &dyn Watch) -> Result<Replay> {
        let meta = Meta { nr_cpus: self.machine.nr_cpus(), ..Meta::default() };
        let bytes = InMemory::default();
        let trace = self.traced.then(|| Trace::new(meta.clone(), Box::new(bytes.clone())));
        let mut seen = (Metrics::new(meta), (Probe::default(), trace));
        let config = RunConfig {
            seed: 1,
            duration_ns: Some(self.recording.duration_ns().max(1)),
            stop: Some(watch.stop()),
            causes: self.traced,
            ..RunConfig::default()
        };
        let running = watch.running();
        let outcome = engine::run(self.machine, self.plan, self.workload, costs, &config, &mut seen)
            .map_err(machine::fault)?;
        drop(running);
        if outcome.interrupted {
            return Err(Fault::system(
                "the replay was interrupted",
                "run the import again, or with --no-fidelity",
            ));
        }
        let end_ns = self.recording.duration_ns().max(outcome.end_ns);
        let (metrics, (probe, trace)) = seen;
        let trace = match trace {
            Some(trace) => {
                let kept = |e| Fault::system(format!("the replay's trace cannot be kept: {e}"), "try again");
                trace.finish(end_ns).map_err(kept)?;
                Some(bytes.take())
            }
            None => None,
        };
        let summary = metrics.finish(end_ns);
        Ok(Replay { summary, manner: probe.manner(), unfinished: outcome.alive.into(), trace })
    }
}

/// By how much the recorded machine is slower than the model, from a wake-up on an idle CPU to the thread: that is the machine, and no
/// matter of the scheduler. `None`: it is not, or too few wake-ups say so.
/// On machines that are never idle the quickest tenth of all wake-ups says it.
fn slower(theirs: &Manner, ours: &Manner) -> Option<u64> {
    let idle = theirs.idle_wakeups >= ENOUGH && ours.idle_wakeups >= ENOUGH;
    let (a, b) = match idle {
        true => (theirs.idle_wakeup_ns?, ours.idle_wakeup_ns?),
        false => (theirs.quick_wakeup_ns?, ours.quick_wakeup_ns?),
    };
    (a <= LONGEST_WAY_NS && a as f64 > b as f64 * (1.0 + ALIKE / 100.0)).then(|| a - b)
}

/// Each figure of a row against its bound; for those out of it, what else differs. The manners are those of all threads.
fn verdicts(all: &Row, manners: Option<(&Manner, &Manner)>, unfinished: u64) -> Vec<Verdict> {
    let [cpu, switches, p50, _, p99] = all.replayed.deviations(&all.recorded);
    let percent = |a: u64, b: u64| 100.0 * (b as f64 / a.max(1) as f64 - 1.0);
    let wakeups = (all.recorded.wakeups, all.replayed.wakeups);
    let merged = (percent(wakeups.0, wakeups.1) < -ALIKE).then(|| {
        format!(
            "{} of {} recorded wake-ups are waits in the replay: a signal that comes before its reader waits is read without one",
            wakeups.1, wakeups.0
        )
    });
    let differs = |(theirs, ours): &(&Manner, &Manner)| percent(theirs.put_back, ours.put_back).abs() > ALIKE;
    let put_back = manners.filter(differs).map(|(theirs, ours)| {
        format!(
            "threads that could have gone on left their CPU {} times, in the replay {} times; the longest stretch was {}, in the replay {}",
            theirs.put_back,
            ours.put_back,
            duration(theirs.longest_ns),
            duration(ours.longest_ns)
        )
    });
    let idle = manners.and_then(|(theirs, ours)| match (theirs.idle_wakeup_ns, ours.idle_wakeup_ns) {
        (Some(a), Some(b)) if percent(a, b).abs() > ALIKE => Some(format!(
            "on an idle CPU a thread ran {} after its wake-up (median of {}), in the model {}",
            duration(a),
            theirs.idle_wakeups,
            duration(b)
        )),
        _ => None,
    });
    let left = (unfinished > 0 && cpu.is_some_and(|d| d < 0.0)).then(|| {
        format!(
            "when the recording's time was over, {} of the replay had work left",
            plural(unfinished, "task")
        )
    });
    let few = all.recorded.wakeups < MANY;
    let rare = few.then(|| {
        let n = all.recorded.wakeups;
        format!("the 99th percentile rests on the {} longest of {n} wake-ups", n.div_ceil(100))
    });
    let scarce = (all.recorded.switches < SCARCE).then(|| {
        format!(
            "only {} recorded",
            match all.recorded.switches {
                1 => "1 switch was".into(),
                n => format!("{n} switches were"),
            }
        )
    });
    let verdict = |figure, deviation: Option<f64>, bound: f64, reasons: &[&Option<String>]| {
        let deviation_pct = deviation.map(|d| (d * 1000.0).round() / 10.0);
        let within = deviation_pct.is_some_and(|d| d.abs() <= bound);
        let mut why: Vec<String> = reasons.iter().filter_map(|r| (*r).clone()).collect();
        if within {
            why.clear();
        } else if deviation_pct.is_none() {
            why = vec!["the recording or the replay has no such figure".into()];
        } else if why.is_empty() {
            why.push(match manners {
                Some(_) => "nothing else that is measured differs".into(),
                None => "what else differs is measured for all threads together only".into(),
            });
        }
        Verdict { figure, deviation_pct, bound_pct: bound, within, why }
    };
    vec![
        verdict("utilisation", cpu, BOUNDS[0], &[&left]),
        verdict("switches", switches, BOUNDS[1], &[&merged, &put_back, &scarce]),
        verdict("wakeup_p50", p50, BOUNDS[2], &[&idle, &merged, &put_back]),
        verdict("wakeup_p99", p99, BOUNDS[2], &[&put_back, &merged, &idle, &rare]),
    ]
}

impl Verdict {
    /// The figure in words.
    fn name(&self) -> String {
        self.figure.replace('_', " ")
    }
}

impl Fidelity {
    /// For the terminal.
    pub(crate) fn table(&self, machine: &str, screen: &Screen) -> String {
        let mut t = format!("\nreplayed under {} on {machine}, beside the recording:\n", self.topology);
        let mut columns = Columns::new(["", "CPU time", "switches", "wake-up p50", "wake-up p99"])
            .giving_way(&["wake-up p50", "switches"]);
        for row in std::iter::once(&self.all).chain(&self.groups) {
            let d = row.replayed.deviations(&row.recorded);
            let pair = |a: String, b: String, d: Option<f64>| match d {
                Some(d) => format!("{a} -> {b} {:+.0}%", d * 100.0),
                None => format!("{a} -> {b}"),
            };
            let ns = |n: Option<u64>| n.map_or_else(|| "-".into(), duration);
            let (a, b) = (&row.recorded, &row.replayed);
            columns.row([
                row.name.clone(),
                pair(duration(a.cpu_ns), duration(b.cpu_ns), d[0]),
                pair(count(a.switches), count(b.switches), d[1]),
                pair(ns(a.wakeup_p50_ns), ns(b.wakeup_p50_ns), d[2]),
                pair(ns(a.wakeup_p99_ns), ns(b.wakeup_p99_ns), d[4]),
            ]);
        }
        t += &columns.render(0, screen);
        let _ = writeln!(
            t,
            "costs of the replay: context_switch = \"{}ns\" (for --costs of `run`)",
            self.context_switch_ns
        );
        let (a, b) = (self.all.recorded.utilisation, self.all.replayed.utilisation);
        let _ = writeln!(t, "utilisation {:.1} % -> {:.1} %\n", a * 100.0, b * 100.0);
        for v in &self.verdicts {
            let off = v.deviation_pct.map_or_else(|| "-".into(), |d| format!("{d:+.1} %"));
            let word = if v.within { "within" } else { "not within" };
            let _ = writeln!(t, "{:<12} {off:>9}  {word} {} %", v.name(), v.bound_pct);
            for why in &v.why {
                let _ = writeln!(t, "  - {why}");
            }
        }
        for row in &self.groups {
            let out = verdicts(row, None, self.unfinished);
            // A group that never slept has no wake-ups on either side.
            let out: Vec<_> = out.iter().filter(|v| !v.within && v.deviation_pct.is_some()).collect();
            if out.is_empty() {
                continue;
            }
            let figure = |v: &&Verdict| {
                format!("{} {:+.1} % (bound {} %)", v.name(), v.deviation_pct.unwrap_or(0.0), v.bound_pct)
            };
            let figures: Vec<String> = out.iter().map(figure).collect();
            let mut why: Vec<&str> = Vec::new();
            for reason in out.iter().flat_map(|v| &v.why) {
                if !why.contains(&reason.as_str()) {
                    why.push(reason);
                }
            }
            let _ = writeln!(t, "{}: {}: {}", row.name, figures.join(", "), why.join("; "));
        }
        t
    }
}

fn quantiles(d: &Dist) -> [Option<u64>; 3] {
    let some = |ns| (!d.is_empty()).then_some(ns);
    [some(d.p50), some(d.p95), some(d.p99)]
}

fn figures(s: &Summary, cpu_ns: u64, switches: u64, wakeups: u64, d: &Dist) -> Figures {
    let all = s.duration_ns.max(1) as f64 * s.cpus.len().max(1) as f64;
    let [wakeup_p50_ns, wakeup_p95_ns, wakeup_p99_ns] = quantiles(d);
    Figures {
        cpu_ns,
        utilisation: cpu_ns as f64 / all,
        switches,
        wakeups,
        wakeup_p50_ns,
        wakeup_p95_ns,
        wakeup_p99_ns,
    }
}

fn of_all(s: &Summary) -> Figures {
    figures(s, s.totals.busy_ns, s.totals.context_switches, s.wakeup_latency_ns.count, &s.wakeup_latency_ns)
}

/// A group's tasks; a fitted group may have a name with what sets it apart behind it.
fn of_group(s: &Summary, name: &str) -> Figures {
    let belongs = |n: &str| {
        n == name
            || n.strip_prefix(name).is_some_and(|r| {
                [" batch", " idle", " nice ", " rt ", " cpu "].iter().any(|k| r.starts_with(k))
            })
    };
    let tasks = s.tasks.iter().filter(|t| belongs(&t.group));
    let (mut cpu_ns, mut switches) = (0, 0);
    for t in tasks {
        cpu_ns += t.cpu_ns;
        switches += t.switches;
    }
    let groups: Vec<_> = s.groups.iter().filter(|g| belongs(&g.name)).collect();
    let jobs = groups.iter().map(|g| g.jobs).sum();
    // Quantiles of several groups cannot be added: those of the largest count.
    let largest = groups.iter().max_by_key(|g| g.jobs).map(|g| g.wakeup_latency_ns).unwrap_or_default();
    figures(s, cpu_ns, switches, jobs, &largest)
}

impl Figures {
    /// Relative deviation of each figure from the recorded one, in the order of the table; `None` where one has no value.
    fn deviations(&self, recorded: &Figures) -> [Option<f64>; 5] {
        let rel = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) if b > 0 => Some(a as f64 / b as f64 - 1.0),
            (Some(0), Some(0)) => Some(0.0),
            _ => None,
        };
        [
            rel(Some(self.cpu_ns), Some(recorded.cpu_ns)),
            rel(Some(self.switches), Some(recorded.switches)),
            rel(self.wakeup_p50_ns, recorded.wakeup_p50_ns),
            rel(self.wakeup_p95_ns, recorded.wakeup_p95_ns),
            rel(self.wakeup_p99_ns, recorded.wakeup_p99_ns),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(recorded: Figures, replayed: Figures) -> Row {
        Row { name: "all".into(), recorded, replayed }
    }

    #[test]
    fn figures_within_their_bounds_need_no_reason() {
        let f = |cpu_ns, switches, p50, p99| Figures {
            cpu_ns,
            switches,
            wakeups: 100,
            wakeup_p50_ns: Some(p50),
            wakeup_p99_ns: Some(p99),
            ..Figures::default()
        };
        let manner = Manner {
            idle_wakeup_ns: Some(5_000),
            idle_wakeups: 9,
            put_back: 10,
            longest_ns: 700_000,
            ..Manner::default()
        };
        let all = row(f(1_000_000, 100, 1_000, 9_000), f(985_000, 109, 1_200, 7_000));
        let verdicts = verdicts(&all, Some((&manner, &manner)), 3);
        assert!(verdicts.iter().all(|v| v.within && v.why.is_empty()), "{verdicts:?}");
    }

    /// A machine's way from a wake-up to the thread becomes the replay's; a wait does not.
    #[test]
    fn a_slower_machine_is_distinguished_from_a_longer_wait() {
        let of = |idle, idle_wakeups, quick| Manner {
            idle_wakeup_ns: Some(idle),
            idle_wakeups,
            quick_wakeup_ns: Some(quick),
            ..Manner::default()
        };
        assert_eq!(slower(&of(9_000, 100, 9_000), &of(4_500, 90, 4_400)), Some(4_500));
        assert_eq!(slower(&of(9_000, 3, 11_000), &of(4_500, 2, 6_700)), Some(4_300));
        assert_eq!(slower(&of(9_000, 3, 900_000), &of(4_500, 2, 6_700)), None);
        assert_eq!(slower(&of(1_051_000, 100, 9_000), &of(4_500, 90, 4_400)), None);
        assert_eq!(slower(&of(4_600, 100, 900), &of(4_500, 90, 6_700)), None);
        assert_eq!(slower(&of(2_000, 100, 900), &of(4_500, 90, 6_700)), None);
    }

    #[test]
    fn figures_out_of_their_bounds_have_reasons() {
        let recorded = Figures {
            cpu_ns: 1_000_000,
            switches: 2_920,
            wakeups: 1_954,
            wakeup_p50_ns: Some(36_000),
            ..Figures::default()
        };
        let replayed =
            Figures { cpu_ns: 900_000, switches: 838, wakeups: 492, wakeup_p50_ns: Some(18_000), ..recorded };
        let theirs = Manner {
            idle_wakeup_ns: Some(12_000),
            idle_wakeups: 300,
            put_back: 923,
            longest_ns: 900_000,
            ..Manner::default()
        };
        let ours = Manner { idle_wakeup_ns: Some(2_200), put_back: 354, ..theirs };
        let verdicts = verdicts(&row(recorded, replayed), Some((&theirs, &ours)), 7);
        let why: Vec<String> = verdicts.iter().map(|v| v.why.join("; ")).collect();
        assert!(verdicts.iter().all(|v| !v.within), "{verdicts:?}");
        assert!(why[0].contains("7 tasks of the replay had work left"), "{why:?}");
        assert!(why[1].contains("492 of 1954 recorded wake-ups") && why[1].contains("923 times"), "{why:?}");
        assert!(why[2].contains("after its wake-up (median of 300), in the model"), "{why:?}");
        assert!(why[3].contains("no such figure"), "{why:?}");
    }

    /// In the table, each figure out of its bound stands with its own reasons, also where two have the same one.
    #[test]
    fn each_figure_stands_with_its_reasons() {
        let recorded = Figures {
            cpu_ns: 1_000_000,
            switches: 2_920,
            wakeups: 1_954,
            wakeup_p50_ns: Some(36_000),
            wakeup_p99_ns: Some(90_000),
            ..Figures::default()
        };
        let replayed = Figures { switches: 838, wakeups: 492, wakeup_p50_ns: Some(18_000), ..recorded };
        let few = Figures { switches: 3, wakeups: 2, ..recorded };
        let more = Figures { switches: 5, ..few };
        let all = row(recorded, replayed);
        let manner = Manner::default();
        let fidelity = Fidelity {
            topology: "linux".into(),
            context_switch_ns: 1,
            verdicts: verdicts(&all, Some((&manner, &manner)), 0),
            all,
            groups: vec![Row { name: "web".into(), recorded: few, replayed: more }],
            unfinished: 0,
            ignored: Vec::new(),
            recorded: manner,
            replayed: manner,
            requests: None,
        };
        let table = fidelity.table("smp-2", &Screen::default());
        let lines: Vec<&str> = table.lines().collect();
        let merged = "  - 492 of 1954 recorded wake-ups are waits in the replay";
        for figure in ["switches ", "wakeup p50 "] {
            let at = lines.iter().position(|l| l.starts_with(figure) && l.contains("not within"));
            assert!(lines[at.expect(figure) + 1].starts_with(merged), "{figure}{table}");
        }
        let web = "web: switches +66.7 % (bound 10 %): only 3 switches were recorded";
        assert!(lines.contains(&web), "{table}");
    }
}
