// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The contention analysis as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};
use weir_report::Ignored;

use super::change::{Change, diff};
use super::model::{Forecast, Group, Sample};
use super::{Assumption, BOUND, Measure, Study};
use crate::units::plural;

/// A change with its run on the whole machine.
#[derive(Clone, Debug)]
pub struct Tried {
    pub change: Change,
    pub sample: Sample,
}

/// The whole answer.
pub struct Report {
    pub topology: String,
    pub machine: String,
    pub workload: String,
    pub cpus: u32,
    pub share: f64,
    pub measure: Measure,
    /// The topology's text.
    pub source: String,
    pub study: Study,
    pub tried: Vec<Tried>,
    /// Index into `tried`.
    pub chosen: Option<usize>,
    /// The chosen change on machines of all sizes.
    pub after: Option<Study>,
    /// What forecasts for other sizes assume.
    pub assumptions: Vec<Assumption>,
    pub warnings: Vec<String>,
    /// What the topology does not obey of what the workload asks for.
    pub ignored: Vec<Ignored>,
}

/// Below this share of the machine waiting is not a bottleneck.
const NOTICEABLE: f64 = 0.005;

fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

fn pct(value: f64) -> String {
    format!("{:.1} %", 100.0 * value)
}

/// Rate a second with a unit that reads well.
fn rate(a_second: f64) -> String {
    match a_second {
        r if r >= 1e6 => format!("{:.2} million", r / 1e6),
        r if r >= 1e3 => format!("{:.1} thousand", r / 1e3),
        r => format!("{r:.0}"),
    }
}

/// The family that most is waited for, where waiting matters.
pub fn bottleneck(sample: &Sample) -> Option<&Group> {
    let most = sample.pipes.iter().max_by_key(|g| g.wait_ns)?;
    (sample.wait_share() >= NOTICEABLE).then_some(most)
}

fn costliest(sample: &Sample) -> Option<&Group> {
    sample.instances.iter().max_by_key(|g| g.held_ns).filter(|g| g.held_ns > 0)
}

impl Report {
    fn whole(&self) -> &Sample {
        &self.study.own
    }

    /// For people.
    pub fn text(&self) -> String {
        let s = self.whole();
        let mut text = format!(
            "{} on {} ({}), {}\n\n  scheduler     {} of the machine, {} of it waiting for its locks\n  switches      {} a second\n",
            self.topology,
            self.machine,
            plural(self.cpus, "CPU"),
            self.workload,
            pct(s.share()),
            pct(if s.scheduler_ns == 0 { 0.0 } else { s.wait_ns as f64 / s.scheduler_ns as f64 }),
            rate(s.switches_per_s()),
        );
        let end = s.end_ns.max(1) as f64;
        match bottleneck(s) {
            Some(g) => {
                let _ = writeln!(
                    text,
                    "  bottleneck    {}: {} of all waiting; held {} of the time",
                    pipe(g),
                    pct(g.wait_ns as f64 / s.wait_ns.max(1) as f64),
                    pct((g.held_ns as f64 / f64::from(g.count) / end).min(1.0)),
                );
            }
            None => text.push_str("  bottleneck    none: no lock is waited for noticeably\n"),
        }
        if let Some(g) = costliest(s) {
            let of = g.held_ns as f64 / s.capacity_ns().max(1) as f64;
            let _ = writeln!(text, "  costliest     component {}: {} of the machine", g.name, pct(of));
        }
        let what = match self.measure {
            Measure::Share => "scheduler",
            Measure::Wait => "waiting",
        };
        let _ = write!(text, "\n  {what} share by size (load in proportion; foreseen from runs with ");
        let sizes: Vec<String> = self.study.fitted.iter().map(|s| s.cpus.to_string()).collect();
        let _ = writeln!(text, "{} CPU{})\n", sizes.join(", "), if sizes == ["1"] { "" } else { "s" });
        self.sizes(&self.study, &mut text);
        let _ = writeln!(text, "\n  {}", self.carries(&self.study));
        self.remedy(&mut text);
        text
    }

    fn value(&self, f: &Forecast) -> f64 {
        match self.measure {
            Measure::Share => f.share,
            Measure::Wait => f.wait_share,
        }
    }

    /// Sizes that were simulated, and powers of two up to the machine's fourfold.
    fn sizes(&self, study: &Study, text: &mut String) {
        let _ = writeln!(text, "  {:>6} {:>10} {:>10}", "CPUs", "foreseen", "simulated");
        for f in &study.forecasts {
            let simulated = simulated(study, f.cpus);
            let given = f.cpus <= study.reach;
            if simulated.is_none() && !(given && f.cpus.is_power_of_two()) {
                continue;
            }
            let shown = simulated.map_or(String::new(), |s| pct(self.measure.of(s)));
            let _ = writeln!(text, "  {:>6} {:>10} {shown:>10}", f.cpus, pct(self.value(f)));
        }
        let bound = 100.0 * BOUND;
        let _ = match (study.miss, study.reach) {
            (Some(m), _) => writeln!(
                text,
                "\n  no forecast beyond these sizes: on {} the model foresaw {} from runs of half as many and fewer, and {} \
                 is simulated; forecasts are given where each size is foreseen within {bound:.0} points",
                plural(m.cpus, "CPU"),
                pct(m.foreseen),
                pct(m.simulated),
            ),
            (None, 0) if study.doubt.is_none() => {
                writeln!(text, "\n  no forecast beyond these sizes: too few were simulated to test one")
            }
            (None, reach) => writeln!(
                text,
                "\n  each simulated size is foreseen within {bound:.0} points from runs of half as many CPUs and fewer; {}",
                if reach > 0 {
                    format!("forecasts reach to {}", plural(reach, "CPU"))
                } else {
                    "no forecast beyond these sizes".into()
                }
            ),
        };
        if let Some(d) = &study.doubt {
            let _ = writeln!(
                text,
                "  (on {} the model foresees {}, but {})",
                plural(d.cpus, "CPU"),
                pct(d.foreseen),
                d.why
            );
        }
    }

    fn carries(&self, study: &Study) -> String {
        let what = match self.measure {
            Measure::Share => format!("the scheduler takes at most {}", pct(self.share)),
            Measure::Wait => format!("waiting takes at most {}", pct(self.share)),
        };
        let size = |n: Option<u32>| n.map_or("none".to_string(), |n| plural(n, "CPU"));
        let found = match (study.found, study.open) {
            (Some(n), true) => format!("at least {} (no larger one was simulated)", plural(n, "CPU")),
            (n, _) => size(n),
        };
        let foreseen = study.largest(self.measure, self.share);
        // A load that cannot be divided may be too much for a few CPUs.
        let fewer = match study.smallest(self.measure, self.share) {
            Some(n) if study.found.is_some() && study.too_small(self.measure, self.share) => {
                format!("; machines of fewer than {} exceed it", plural(n, "CPU"))
            }
            _ => String::new(),
        };
        // Not every load costs more on each larger machine.
        let again = match &study.again(self.measure, self.share)[..] {
            [] => String::new(),
            sizes => {
                let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
                format!("; larger ones exceed it, but {} CPUs do not", sizes.join(", "))
            }
        };
        match study.reach {
            0 => format!("largest machine on which {what}: simulated {found}{fewer}{again}"),
            _ => format!(
                "largest machine on which {what}: foreseen {}, simulated {found}{fewer}{again}",
                size(foreseen)
            ),
        }
    }

    fn remedy(&self, text: &mut String) {
        let Some(chosen) = self.chosen.map(|i| &self.tried[i]) else {
            if self.measure.of(self.whole()) <= self.share {
                let _ = writeln!(text, "\n  no change is needed on this machine");
            } else if self.tried.is_empty() {
                let _ = writeln!(text, "\n  no small change of this topology is known that could help");
            } else {
                let _ = writeln!(text, "\n  none of the {} tried helps", plural(self.tried.len(), "change"));
            }
            return;
        };
        let (before, after) = (self.whole(), &chosen.sample);
        let enough = self.measure.of(after) <= self.share;
        let words =
            if enough { "smallest change that is enough" } else { "change that helps most (not enough)" };
        let _ = write!(text, "\n  {words}: {}\n\n", chosen.change.what);
        for line in diff(&self.source, &chosen.change.text) {
            let _ = writeln!(text, "    {line}");
        }
        let _ = write!(
            text,
            "\n  run with it: scheduler {} instead of {}, waiting {} instead of {}, {} switches a second ({:.1} ×)\n",
            pct(after.share()),
            pct(before.share()),
            pct(after.wait_share()),
            pct(before.wait_share()),
            rate(after.switches_per_s()),
            after.switches_per_s() / before.switches_per_s().max(1e-9),
        );
        if let Some(study) = &self.after {
            let _ = writeln!(text, "  {}", self.carries(study));
        }
    }

    /// For scripts; `docs/analysis.md` describes it.
    pub fn json(&self) -> Value {
        let chosen = self.chosen.map(|i| &self.tried[i]);
        json!({
            "runweir": env!("CARGO_PKG_VERSION"),
            "topology": self.topology,
            "machine": self.machine,
            "workload": self.workload,
            "cpus": self.cpus,
            "share": rounded(self.share),
            "measure": match self.measure { Measure::Share => "scheduler", Measure::Wait => "waiting" },
            "bottleneck": bottleneck(self.whole()).map(|g| group(g, self.whole())),
            "costliest": costliest(self.whole()).map(|g| json!({
                "component": g.name, "ns": g.held_ns,
                "share": rounded(g.held_ns as f64 / self.whole().capacity_ns().max(1) as f64),
            })),
            "now": self.study_json(&self.study),
            "tried": self.tried.iter().map(|t| json!({
                "change": t.change.what, "edits": t.change.edits, "run": sample(&t.sample),
            })).collect::<Vec<_>>(),
            "change": chosen.map(|t| json!({
                "what": t.change.what,
                "edits": t.change.edits,
                "enough": self.measure.of(&t.sample) <= self.share,
                "diff": diff(&self.source, &t.change.text),
                "topology": t.change.text,
                "run": sample(&t.sample),
                "switches_ratio":
                    rounded(t.sample.switches_per_s() / self.whole().switches_per_s().max(1e-9)),
            })),
            "changed": self.after.as_ref().map(|s| self.study_json(s)),
            "assumptions": self.assumptions.iter().map(|a| json!({
                "id": a.id, "assumption": a.assumption, "holds": a.broken_by.is_empty(), "broken_by": a.broken_by,
            })).collect::<Vec<_>>(),
            "ignored": self.ignored,
            "warnings": self.warnings,
        })
    }

    fn study_json(&self, study: &Study) -> Value {
        json!({
            "run": sample(&study.own),
            "pipes": study.own.pipes.iter().filter(|g| g.held_ns > 0).map(|g| group(g, &study.own)).collect::<Vec<_>>(),
            "fitted_cpus": study.fitted.iter().map(|s| s.cpus).collect::<Vec<_>>(),
            "largest_foreseen": study.largest(self.measure, self.share).filter(|_| study.reach > 0),
            "forecast_up_to": (study.reach > 0).then_some(study.reach),
            "bound": BOUND,
            "doubt": study.doubt.as_ref().map(|d| json!({
                "cpus": d.cpus, "foreseen": rounded(d.foreseen), "why": d.why,
            })),
            "missed": study.miss.map(|m| json!({
                "cpus": m.cpus, "foreseen": rounded(m.foreseen), "simulated": rounded(m.simulated),
            })),
            "largest_simulated": study.found,
            "smallest_simulated": study.found.and(study.smallest(self.measure, self.share)),
            "largest_is_bound": study.open,
            "larger_within": study.again(self.measure, self.share),
            "sizes": study.forecasts.iter().map(|f| {
                let s = simulated(study, f.cpus);
                let foreseen = (s.is_some() || f.cpus <= study.reach).then(|| {
                    // Beyond what is simulated only what is limited was put to the test.
                    let tested = |m: Measure, v: f64| (s.is_some() || self.measure == m).then(|| rounded(v));
                    json!({
                        "scheduler": tested(Measure::Share, f.share), "waiting": tested(Measure::Wait, f.wait_share),
                        "decisions_per_s": f.cycles_per_s.round(),
                    })
                });
                json!({
                    "cpus": f.cpus,
                    "foreseen": foreseen,
                    "simulated": s.map(sample),
                })
            }).collect::<Vec<_>>(),
        })
    }
}

/// The run of a study on a size, if there was one.
pub fn simulated(study: &Study, cpus: u32) -> Option<&Sample> {
    study.fitted.iter().chain(&study.checked).chain([&study.own]).find(|s| s.cpus == cpus)
}

fn pipe(g: &Group) -> String {
    if g.count == 1 { format!("pipe {}", g.name) } else { format!("{} pipes {}", g.count, g.name) }
}

fn group(g: &Group, of: &Sample) -> Value {
    json!({
        "pipe": g.name, "pipes": g.count, "held_ns": g.held_ns, "wait_ns": g.wait_ns,
        "of_all_waiting": rounded(g.wait_ns as f64 / of.wait_ns.max(1) as f64),
    })
}

fn sample(s: &Sample) -> Value {
    json!({
        "cpus": s.cpus, "scheduler": rounded(s.share()), "waiting": rounded(s.wait_share()),
        "decisions": s.cycles, "switches": s.switches, "switches_per_s": s.switches_per_s().round(),
        "virtual_ns": s.end_ns,
    })
}
