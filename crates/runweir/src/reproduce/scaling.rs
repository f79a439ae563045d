// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Source 0, 8.5: how many ways into a balancer do 16 to 254 CPUs need, and 1,024 and 4,096?
//!
//! Topology `scaling`: entry pipes, each with a `burn`, before one balancer. The cost table is the default one,
//! fitted once to the source's uncontended admission (docs/costs.md); nothing is fitted here.

use std::collections::BTreeMap;

use weir_core::event::{Call, Event, Observer};
use weir_sim::{Costs, Machine};

use super::lab::{self, Calls, Done, Figures, Lab, Run, Spent};
use super::registry::Experiment;
use super::report::{Claim, Line, Picture, Report, Table, Verdict, short};

pub const EXPERIMENT: Experiment = Experiment {
    id: "cobas-8.5",
    aliases: &["8.5", "scaling"],
    title: "entry pipes against contention, 16 to 4,096 CPUs",
    source: "source 0, section 8.5, figures 8.5 and B.1 to B.4, tables B.1 to B.19",
    run,
};

const SOURCE: &str = include_str!("../../../../experiments/cobas-8.5/source.csv");

/// Iterations of `burn`; one is 2.5 ns.
const BURNS: [u32; 4] = [0, 500, 1000, 2000];

/// CPUs with the numbers of entry pipes tried with no and the most work, and those tried with all. The source's fewest
/// come first: more than 32 CPUs a pipe made no progress there.
const SIZES: [(u32, &[u32], &[u32]); 7] = [
    (16, &[1, 2, 4, 8, 16], &[1, 4, 16]),
    (32, &[1, 2, 4, 8, 16, 32], &[1, 4, 32]),
    (64, &[1, 2, 4, 8, 16, 32, 64], &[2, 8, 64]),
    (128, &[4, 8, 16, 32, 64, 128], &[4, 16, 128]),
    (254, &[12, 16, 24, 32, 64, 128, 254], &[12, 32, 254]),
    (1024, &[32, 128, 512, 1024], &[32, 128, 1024]),
    (4096, &[128, 512, 4096], &[]),
];

/// The source's machine sizes.
const MEASURED: std::ops::RangeInclusive<u32> = 16..=254;

/// A point of the grid: CPUs, iterations, pipes.
type At = (u32, u32, u32);

/// What a point showed.
struct Point {
    at: At,
    /// Without the burst at the beginning, but for admissions.
    calls: Calls,
    /// With it.
    all: Calls,
    /// Of the CPU time that was not idle: scheduler code, and waiting for its locks.
    share: f64,
    wait_share: f64,
    end_ns: u64,
}

/// The load: the source's 100 groups of 40 tasks and 100 loops. Larger machines have as many tasks a CPU as 254, and
/// fewer loops, for the sake of time.
fn load(cpus: u32, quick: bool) -> String {
    if quick {
        return "hackbench:groups=8,loops=60".into();
    }
    let groups = 100.max(cpus * 100 / 254);
    let loops = if MEASURED.contains(&cpus) { 100 } else { 20 };
    format!("hackbench:groups={groups},loops={loops}")
}

/// Time after the burst until those who waited for it are through, ns.
const SETTLING_NS: u64 = 2_000_000;

/// Observer that leaves out the burst: when all tasks exist, one CPU wakes them from their barrier. The simulator makes
/// these calls at one instant, so that whoever comes to the same lock waits for all of them together; on a real
/// machine the others get in between.
struct Settled {
    calls: Calls,
    all: Calls,
    /// Wake-ups of the burst that are still to come.
    burst: u64,
    from_ns: u64,
}

impl Observer for Settled {
    fn event(&mut self, t_ns: u64, event: &Event<'_>) {
        self.all.event(t_ns, event);
        match *event {
            Event::Sched { call: Call::Unblock, .. } if self.burst > 0 => {
                self.burst -= 1;
                self.from_ns = t_ns + SETTLING_NS;
            }
            Event::Sched { call: Call::Admit, .. } => self.calls.event(t_ns, event),
            _ if self.burst == 0 && t_ns > self.from_ns => self.calls.event(t_ns, event),
            _ => {}
        }
    }
}

fn measure(lab: &Lab<'_>, at: At) -> Done<Point> {
    let (cpus, iterations, pipes) = at;
    let (machine, costs) = (Machine::smp(cpus), Costs::default());
    let sets = [("scaling", "pipes", pipes.to_string()), ("burn", "iterations", iterations.to_string())];
    let plan = lab::plan("scaling", &machine, &sets)?;
    let workload = lab::workload(&load(cpus, lab.quick))?;
    let calls = || {
        let mut calls = Calls::new(&costs);
        // A dispatch burns too; without it, it is a call and the look at an empty pipe.
        calls.least_ns += u64::from(iterations) * costs.core.burn_1000 / 1000;
        calls
    };
    // All tasks but the one that creates them wait at the barrier.
    let burst = workload.tasks.len() as u64 - 1;
    let mut seen = Settled { calls: calls(), all: calls(), burst, from_ns: 0 };
    let outcome = lab.run(&Run::new(&machine, &plan, &workload, &costs), &mut seen)?;
    let used = (outcome.busy_ns + outcome.kernel_ns).max(1) as f64;
    Ok(Point {
        at,
        calls: seen.calls,
        all: seen.all,
        share: outcome.scheduler_ns as f64 / used,
        wait_share: outcome.lock_wait_ns as f64 / used,
        end_ns: outcome.end_ns,
    })
}

fn run(lab: &Lab<'_>) -> Done<Report> {
    let sizes = lab.pick(SIZES.to_vec(), vec![(16, &[1, 4, 8, 16], &[]), (32, &[1, 4, 16, 32], &[])]);
    let burns: &[u32] = lab.pick(&BURNS, &[0, 2000]);
    let mut grid: Vec<At> = Vec::new();
    for &(cpus, pipes, few) in &sizes {
        for burn in burns {
            let pipes = match burn {
                0 => pipes,
                // The largest machine costs most and adds least.
                2000 if cpus <= 1024 => pipes,
                _ => few,
            };
            grid.extend(pipes.iter().map(|p| (cpus, *burn, *p)));
        }
    }
    let points = lab.points(&grid, |at| measure(lab, *at))?;
    let study = Study { points: points.iter().map(|p| (p.at, p)).collect(), source: Figures::parse(SOURCE) };
    let mut report = Report { claims: study.claims(lab.quick), ..Report::default() };
    report.tables.push(study.table());
    for &burn in burns {
        report.pictures.push(study.picture(burn));
    }
    report.pictures.push(study.slope_picture());
    Ok(report)
}

/// All points beside the source's.
struct Study<'a> {
    points: BTreeMap<At, &'a Point>,
    source: Figures,
}

impl Study<'_> {
    fn source(&self, at: At, column: &str) -> Option<f64> {
        let (cpus, iterations, pipes) = (at.0.to_string(), at.1.to_string(), at.2.to_string());
        self.source.at(&[("cpus", &cpus), ("iterations", &iterations), ("pipes", &pipes)], column)
    }

    /// Mean of `activate_task`, us.
    fn activate(&self, at: At) -> Option<f64> {
        self.points.get(&at).map(|p| p.calls.activate().mean_us())
    }

    fn sizes(&self) -> Vec<u32> {
        let mut sizes: Vec<u32> = self.points.keys().map(|at| at.0).collect();
        sizes.dedup();
        sizes
    }

    fn pipes(&self, cpus: u32, burn: u32) -> Vec<u32> {
        self.points.keys().filter(|at| at.0 == cpus && at.1 == burn).map(|at| at.2).collect()
    }

    /// `activate_task` at the fewest pipes that the source has, over that at one a CPU: here and there.
    fn gain(&self, cpus: u32, burn: u32) -> Option<(u32, f64, f64)> {
        let most = (cpus, burn, cpus);
        let known = |p: &u32| self.source((cpus, burn, *p), "activate_us").is_some();
        let fewest = self.pipes(cpus, burn).into_iter().find(known)?;
        let few = (cpus, burn, fewest);
        let there = self.source(few, "activate_us")? / self.source(most, "activate_us")?;
        Some((fewest, self.activate(few)? / self.activate(most)?, there))
    }

    /// Most CPUs a pipe at which `activate_task` is within half more than at one pipe a CPU: the knee.
    fn knee(&self, cpus: u32, burn: u32, of: impl Fn(At) -> Option<f64>) -> Option<f64> {
        let best = of((cpus, burn, cpus))?;
        let near = |p: &u32| of((cpus, burn, *p)).is_some_and(|v| v <= 1.5 * best);
        let fewest = self.pipes(cpus, burn).into_iter().find(near)?;
        Some(f64::from(cpus) / f64::from(fewest))
    }

    /// Slope (us a CPU) and offset (us) of the straight line through the admissions at one pipe a CPU.
    fn slope(&self, sizes: &[u32], of: impl Fn(At) -> Option<f64>) -> (f64, f64) {
        let xy: Vec<(f64, f64)> =
            sizes.iter().filter_map(|c| of((*c, 0, *c)).map(|y| (f64::from(*c), y))).collect();
        let n = xy.len() as f64;
        let (mx, my) = (xy.iter().map(|p| p.0).sum::<f64>() / n, xy.iter().map(|p| p.1).sum::<f64>() / n);
        let up: f64 = xy.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
        let slope = up / xy.iter().map(|p| (p.0 - mx).powi(2)).sum::<f64>();
        (slope, my - slope * mx)
    }

    fn claims(&self, quick: bool) -> Vec<Claim> {
        let mut claims = Vec::new();
        claims.extend(self.gain_claims());
        claims.extend(self.knee_claims());
        claims.extend(self.slope_claim());
        claims.extend(self.half_claim());
        claims.extend(self.progress_claim());
        claims.extend(self.admit_claim());
        claims.extend(self.burn_claim());
        claims.extend(self.count_claim());
        if !quick {
            claims.extend(self.beyond_claim());
        }
        claims
    }

    /// The gains of table B: per machine at the least and the most work.
    fn gain_claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        let measured: Vec<u32> = self.sizes().into_iter().filter(|c| MEASURED.contains(c)).collect();
        for cpus in measured {
            for burn in [0, 2000] {
                let Some((fewest, here, there)) = self.gain(cpus, burn) else { continue };
                let mut verdict = Verdict::near(here, there, 1.6, 4.0);
                if cpus == 254 {
                    // The goal is the source's: at least five times.
                    verdict = Verdict::of(here >= 5.0, here >= 2.0);
                }
                claims.push(Claim::new(
                    format!(
                        "{cpus} CPUs, {burn} iterations: activate_task with {fewest} pipe{} is dearer than with {cpus} by",
                        if fewest == 1 { "" } else { "s" }
                    ),
                    format!("{} ×", short(there)),
                    format!("{} ×", short(here)),
                    verdict,
                ));
            }
        }
        claims
    }

    fn knee_claims(&self) -> Vec<Claim> {
        let claim = |burn: u32, words: &str, least: f64, most: f64| {
            let here: Vec<(u32, f64)> = self
                .sizes()
                .into_iter()
                .filter(|c| (32..=254).contains(c))
                .filter_map(|c| Some((c, self.knee(c, burn, |at| self.activate(at))?)))
                .collect();
            let there: Vec<(u32, f64)> = here
                .iter()
                .filter_map(|(c, _)| Some((*c, self.knee(*c, burn, |at| self.source(at, "activate_us"))?)))
                .collect();
            let inside = here.iter().filter(|k| (least..=most).contains(&k.1)).count();
            let list = |of: &[(u32, f64)]| {
                of.iter().map(|(c, k)| format!("{} ({c})", short(*k))).collect::<Vec<_>>().join(", ")
            };
            (!here.is_empty()).then(|| {
                Claim::new(
                    format!("{burn} iterations: contention is low {words} CPUs share a pipe"),
                    format!("CPUs a pipe (machine) up to which it costs at most half more: {}", list(&there)),
                    list(&here),
                    Verdict::of(inside == here.len(), inside > 0),
                )
            })
        };
        [claim(0, "once fewer than about 16", 8.0, 32.0), claim(2000, "once fewer than about 8", 4.0, 16.0)]
            .into_iter()
            .flatten()
            .collect()
    }

    fn slope_claim(&self) -> Option<Claim> {
        let sizes: Vec<u32> = self.sizes().into_iter().filter(|c| MEASURED.contains(c)).collect();
        if sizes.len() < 2 {
            return None;
        }
        let here = self.slope(&sizes, |at| self.points.get(&at).map(|p| p.calls.admit.mean_us()));
        let there = self.slope(&[16, 32, 64, 128, 254], |at| self.source(at, "admit_us"));
        let show = |(slope, offset): (f64, f64)| format!("{offset:.2} us + {slope:.4} us a CPU");
        Some(
            Claim::new(
                "admission grows in proportion to the CPUs: the balancer looks at each",
                show(there),
                show(here),
                Verdict::near(here.0, there.0, 1.1, 1.5),
            )
            .remark("the cost table was fitted to this line, once"),
        )
    }

    /// One pipe a CPU is not necessary.
    fn half_claim(&self) -> Option<Claim> {
        let list: Vec<(u32, f64, Option<f64>)> = self
            .sizes()
            .into_iter()
            .filter(|c| MEASURED.contains(c))
            .filter_map(|c| {
                let half = self.pipes(c, 0).into_iter().find(|p| *p >= c / 2)?;
                let (half, full) = ((c, 0, half), (c, 0, c));
                let there = self
                    .source(half, "activate_us")
                    .zip(self.source(full, "activate_us"))
                    .map(|(h, f)| h / f);
                Some((c, self.activate(half)? / self.activate(full)?, there))
            })
            .collect();
        let worst = list.iter().map(|l| l.1).fold(0.0, f64::max);
        let show = |v: Option<f64>| v.map_or("?".into(), |v| format!("{:.1} %", 100.0 * (v - 1.0)));
        type Cost = (u32, f64, Option<f64>);
        let words = |f: &dyn Fn(&Cost) -> Option<f64>| {
            list.iter().map(|l| format!("{} ({})", show(f(l)), l.0)).collect::<Vec<_>>().join(", ")
        };
        (!list.is_empty()).then(|| {
            Claim::new(
                "not every CPU needs its own pipe: two CPUs a pipe, no iterations, cost more by",
                words(&|l| l.2),
                words(&|l| Some(l.1)),
                Verdict::of(worst <= 1.1, worst <= 1.3),
            )
        })
    }

    /// More than 32 CPUs a pipe.
    fn progress_claim(&self) -> Option<Claim> {
        let (one, all) = (self.points.get(&(64, 0, 1))?, self.points.get(&(64, 0, 64))?);
        let slower = one.end_ns as f64 / all.end_ns as f64;
        Some(
            Claim::new(
                "more than 32 CPUs at one pipe: nearly all time goes into the scheduler",
                "almost no progress; not measurable",
                format!(
                    "64 CPUs, 1 pipe: {:.0} % of the busy time (with 64 pipes {:.0} %); {} × as long",
                    100.0 * one.share,
                    100.0 * all.share,
                    short(slower)
                ),
                Verdict::of(one.share >= 0.9, one.share >= 0.6),
            )
            .remark("locks here are granted in order and do not get slower when many wait, so progress never stops"),
        )
    }

    fn admit_claim(&self) -> Option<Claim> {
        let ratio = |of: &dyn Fn(At) -> Option<f64>, cpus: u32| {
            let fewest = self.gain(cpus, 0)?.0;
            Some(of((cpus, 0, fewest))? / of((cpus, 0, cpus))?)
        };
        let sizes: Vec<u32> = self.sizes().into_iter().filter(|c| MEASURED.contains(c)).collect();
        let here = |at: At| self.points.get(&at).map(|p| p.calls.admit.mean_us());
        let there = |at: At| self.source(at, "admit_us");
        let words = |of: &dyn Fn(At) -> Option<f64>| {
            let one = |c: &u32| ratio(of, *c).map(|r| format!("{} ({c})", short(r)));
            sizes.iter().filter_map(one).collect::<Vec<_>>().join(", ")
        };
        let worst = sizes.iter().filter_map(|c| ratio(&here, *c)).fold(0.0, f64::max);
        (worst > 0.0).then(|| {
            Claim::new(
                "admission hardly suffers, because the benchmark forks while the machine is idle: fewest pipes over one a CPU",
                words(&there),
                words(&here),
                Verdict::of(worst <= 1.5, worst <= 3.0),
            )
        })
    }

    fn burn_claim(&self) -> Option<Claim> {
        let base = self.activate((16, 0, 16))?;
        let base_there = self.source((16, 0, 16), "activate_us")?;
        let added: Vec<(u32, f64, f64)> = BURNS[1..]
            .iter()
            .filter_map(|b| {
                let at = (16, *b, 16);
                Some((*b, self.activate(at)? - base, self.source(at, "activate_us")? - base_there))
            })
            .collect();
        let good =
            added.iter().all(|a| (a.1 - f64::from(a.0) * 0.0025).abs() <= 0.1 * f64::from(a.0) * 0.0025);
        let words = |f: fn(&(u32, f64, f64)) -> f64| {
            added.iter().map(|a| format!("{:.2}", f(a))).collect::<Vec<_>>().join(", ")
        };
        let steps = added.iter().map(|a| a.0.to_string()).collect::<Vec<_>>().join(", ");
        (!added.is_empty()).then(|| {
            Claim::new(
                format!("16 CPUs, 16 pipes: {steps} iterations are paid once a call, us"),
                words(|a| a.2),
                words(|a| a.1),
                Verdict::of(good, false),
            )
        })
    }

    fn count_claim(&self) -> Option<Claim> {
        let calls = |of: &dyn Fn(At) -> Option<f64>| Some(of((16, 2000, 1))? / of((16, 2000, 16))?);
        let here = |at: At| self.points.get(&at).map(|p| p.all.unblock.calls as f64);
        let there = |at: At| self.source(at, "unblock_calls");
        let (h, t) = (calls(&here)?, calls(&there)?);
        let show = |of: &dyn Fn(At) -> Option<f64>, ratio: f64| {
            let n = |at| of(at).map_or("?".into(), short);
            format!("{} instead of {}: {} ×", n((16, 2000, 1)), n((16, 2000, 16)), short(ratio))
        };
        Some(Claim::new(
            "contention makes for more calls: wake-ups at 16 CPUs, 2000 iterations, with 1 pipe instead of 16",
            show(&there, t),
            show(&here, h),
            Verdict::of(h >= 1.2, h >= 1.05),
        ))
    }

    /// Beyond the source's simulator.
    fn beyond_claim(&self) -> Option<Claim> {
        let largest = *self.sizes().last()?;
        let point = self.points.get(&(largest, 0, largest))?;
        let spent = point.calls.activate();
        let wait = spent.wait_ns as f64 / spent.ns.max(1) as f64;
        let mean = spent.mean_us();
        Some(
            Claim::new(
                format!("nothing speaks against more CPUs: {largest}, one pipe each"),
                "no sign of a limit up to 254",
                format!("waiting for locks is {:.1} % of activate_task ({} us)", 100.0 * wait, short(mean)),
                Verdict::of(wait <= 0.1, wait <= 0.5),
            )
            .remark(format!(
                "contention is no limit, the balancer's look at every CPU is: {:.0} % of the busy time is scheduler code",
                100.0 * point.share
            )),
        )
    }

    fn table(&self) -> Table {
        let mut heads: Vec<String> = ["cpus", "iterations", "pipes"].map(String::from).to_vec();
        for name in FUNCTIONS {
            heads.extend([
                format!("{name}_us"),
                format!("{name}_calls"),
                format!("source_{name}_us"),
                format!("source_{name}_calls"),
            ]);
        }
        heads.extend(["activate_ci95_us", "scheduler_pct", "lock_wait_pct", "virtual_ms"].map(String::from));
        let mut table = Table { name: "data".into(), heads, rows: Vec::new() };
        for (at, p) in &self.points {
            let mut row = vec![at.0.to_string(), at.1.to_string(), at.2.to_string()];
            let c = &p.calls;
            let (activate, schedule) = (c.activate(), c.schedule_us());
            let all = &p.all;
            let of = |s: &Spent, all: &Spent| (s.mean_us(), all.calls);
            let values = [
                of(&activate, &all.activate()),
                (schedule, all.pick.calls),
                of(&c.admit, &all.admit),
                of(&c.dispatch, &all.dispatch),
                of(&c.relinquish, &all.relinquish),
                of(&c.unblock, &all.unblock),
            ];
            for (name, (us, calls)) in FUNCTIONS.iter().zip(values) {
                let there = |what: &str| {
                    self.source(*at, &format!("{name}_{what}")).map_or(String::new(), |v| v.to_string())
                };
                row.extend([format!("{us:.3}"), calls.to_string(), there("us"), there("calls")]);
            }
            row.extend([
                format!("{:.4}", activate.ci95_us()),
                format!("{:.2}", 100.0 * p.share),
                format!("{:.2}", 100.0 * p.wait_share),
                format!("{:.3}", p.end_ns as f64 / 1e6),
            ]);
            table.rows.push(row);
        }
        table
    }

    /// `activate_task` by pipes, a line a machine; the source's dashed.
    fn picture(&self, burn: u32) -> Picture {
        let mut xs: Vec<u32> = self.points.keys().filter(|at| at.1 == burn).map(|at| at.2).collect();
        xs.sort_unstable();
        xs.dedup();
        let xs: Vec<String> = xs.iter().map(u32::to_string).collect();
        let mut lines = Vec::new();
        for (colour, cpus) in self.sizes().into_iter().enumerate() {
            let pipes = self.pipes(cpus, burn);
            let line = |name: String, dashed: bool, of: &dyn Fn(At) -> Option<f64>| Line {
                name,
                points: pipes.iter().filter_map(|p| Some((p.to_string(), of((cpus, burn, *p))?))).collect(),
                colour,
                dashed,
            };
            lines.push(line(format!("{cpus} CPUs"), false, &|at| self.activate(at)));
            lines.push(line(format!("{cpus}, source"), true, &|at| self.source(at, "activate_us")));
        }
        let titles = ("entry pipes", "activate_task, us (mean)");
        Picture::new(&format!("activate-{burn}"), titles, true, &xs, lines)
    }

    /// Admission by CPUs.
    fn slope_picture(&self) -> Picture {
        let sizes = self.sizes();
        let xs: Vec<String> = sizes.iter().map(u32::to_string).collect();
        let line = |name: &str, dashed: bool, of: &dyn Fn(At) -> Option<f64>| Line {
            name: name.into(),
            points: sizes.iter().filter_map(|c| Some((c.to_string(), of((*c, 0, *c))?))).collect(),
            colour: 0,
            dashed,
        };
        let here = |at: At| self.points.get(&at).map(|p| p.calls.admit.mean_us());
        let lines = vec![line("here", false, &here), line("source", true, &|at| self.source(at, "admit_us"))];
        Picture::new("admit", ("CPUs, one pipe each", "admission, us (mean)"), true, &xs, lines)
    }
}

/// Functions of the source's tables, by the names of our columns.
const FUNCTIONS: [&str; 6] = ["activate", "schedule", "admit", "dispatch", "relinquish", "unblock"];
