// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Findings as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};
use std::collections::BTreeSet;
use weir_analysis::task::{Exact, density, shown, utilization};

use weir_analysis::{Bound, Feature, Finding, Kind, Overheads, Task, Verdict};
use weir_report::duration;

use super::tasks::Breaks;
use weir_report::{Screen, pairs};

/// Tests and what follows from them.
pub struct Judged {
    pub verdict: Verdict,
    pub found: Vec<Finding>,
}

/// The findings about one policy.
pub struct Section {
    pub name: String,
    pub plain: Judged,
    /// The same with costs, where there are any.
    pub costly: Option<Judged>,
    /// Share of a CPU that switches take.
    pub shares: Option<Exact>,
    /// Share of each CPU that ticks take: the policy's, where its decisions are driven by them.
    pub tick: Option<Exact>,
}

/// The whole answer.
pub struct Report {
    pub topology: Option<String>,
    pub machine: String,
    pub workload: String,
    pub costs: String,
    pub cpus: u32,
    pub tasks: Vec<Task>,
    /// What in the inputs breaks assumptions, by what is assumed.
    pub breaks: Breaks,
    pub sections: Vec<Section>,
    pub overheads: Overheads,
    /// Remarks for the user about machine and workload.
    pub warnings: Vec<String>,
}

/// Names in a line.
const NAMES: usize = 6;

/// What breaks an assumption, in words.
pub(super) fn broken(feature: Feature, by: &BTreeSet<String>) -> String {
    let mut names: Vec<String> = by.iter().take(NAMES).map(|n| format!("`{n}`")).collect();
    if by.len() > NAMES {
        names.push(format!("{} more", by.len() - NAMES));
    }
    format!("{}: {}", feature.breaks(), names.join(", "))
}

/// What may be concluded from a finding: its kind, unless an assumption of it does not hold.
fn kind(f: &Finding) -> String {
    let withheld = !f.broken.is_empty() && (f.verdict == Verdict::Undecided || f.bound == Bound::Lower);
    match (withheld, f.bound) {
        (false, _) => f.kind.to_string(),
        (true, Bound::Lower) => "lower bound".into(),
        (true, Bound::Upper) => "assumption broken".into(),
    }
}

/// Tasks that get a line each.
const LINES: usize = 40;

fn float(value: &Exact) -> f64 {
    // Six decimals are what a share of a CPU is worth.
    shown_f64(value).map_or(f64::MAX, |v| (v * 1e6).round() / 1e6)
}

fn shown_f64(value: &Exact) -> Option<f64> {
    use num_traits::ToPrimitive;
    value.to_f64()
}

impl Report {
    fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.sections.iter().flat_map(|s| s.plain.found.iter().chain(s.costly.iter().flat_map(|c| &c.found)))
    }

    /// What some of the tests assumes, or what is broken.
    fn assumptions(&self) -> Vec<Feature> {
        let tests = || self.findings().map(|f| f.test);
        let named = |a: &Feature| a.matters(tests()) || self.breaks.contains_key(a);
        Feature::ALL.iter().copied().filter(named).collect()
    }

    /// Tests whose result an assumption has cost.
    fn undecides(&self, assumption: Feature) -> BTreeSet<&'static str> {
        self.findings().filter(|f| f.broken.contains(&assumption)).map(|f| f.test.id()).collect()
    }

    /// A policy's verdict is withheld because an assumption does not hold.
    pub fn withheld(&self) -> bool {
        let lost =
            |j: &Judged| j.verdict == Verdict::Undecided && j.found.iter().any(|f| !f.broken.is_empty());
        self.sections.iter().any(|s| lost(&s.plain) || s.costly.as_ref().is_some_and(lost))
    }

    /// For scripts; `docs/analysis.md` describes it.
    pub fn json(&self) -> Value {
        let task = |t: &Task| {
            json!({
                "name": t.name, "wcet_ns": t.wcet, "period_ns": t.period, "deadline_ns": t.deadline,
                "jitter_ns": t.jitter, "offset_ns": t.offset, "sporadic": t.sporadic, "priority": t.priority,
                "sleep_ns": t.sleep, "blocking_ns": t.blocking,
            })
        };
        let test = |f: &Finding| {
            let bound = match f.bound {
                _ if f.response.is_empty() => Value::Null,
                Bound::Upper => "upper".into(),
                Bound::Lower => "lower".into(),
            };
            json!({
                "id": f.test.id(), "test": f.test.name(), "source": f.source, "kind": kind(f),
                "verdict": f.verdict.to_string(), "remark": f.remark, "response_ns": f.response, "bound": bound,
                "broken": f.broken.iter().map(|b| b.id()).collect::<Vec<_>>(),
            })
        };
        let judged = |j: &Judged| json!({ "verdict": j.verdict.to_string(), "tests": j.found.iter().map(test).collect::<Vec<_>>() });
        let section = |s: &Section| {
            let mut value = judged(&s.plain);
            value["policy"] = s.name.clone().into();
            if let Some(costly) = &s.costly {
                value["with_costs"] = judged(costly);
            }
            if let Some((share, tick)) = s.shares.as_ref().zip(s.tick.as_ref().map(float)) {
                value["overhead"] = json!({
                    "switches": float(share), "tick": tick,
                    "formula_1": float(share) + tick * f64::from(self.cpus), "formula_2": float(share),
                });
            }
            value
        };
        let assumption = |a: &Feature| {
            let by = self.breaks.get(a);
            json!({
                "id": a.id(), "assumption": a.assumption(), "broken_if": a.breaks(), "holds": by.is_none(),
                "broken_by": by.into_iter().flatten().collect::<Vec<_>>(),
                "undecides": self.undecides(*a),
            })
        };
        let o = &self.overheads;
        json!({
            "runweir": env!("CARGO_PKG_VERSION"), "topology": self.topology, "machine": self.machine,
            "workload": self.workload, "costs": self.costs, "cpus": self.cpus,
            "utilization": float(&utilization(&self.tasks)), "density": float(&density(&self.tasks)),
            "tasks": self.tasks.iter().map(task).collect::<Vec<_>>(),
            "overheads_ns": {
                "switch": o.switch_ns, "migration": o.migration_ns, "notify": o.notify_ns, "decision": o.decision_ns,
                "release": o.release_ns, "tick": o.tick_ns, "tick_period": o.tick_period_ns,
                "slice": o.slice_ns, "slice_period": o.slice_period_ns,
            },
            "assumptions": self.assumptions().iter().map(assumption).collect::<Vec<_>>(),
            "policies": self.sections.iter().map(section).collect::<Vec<_>>(),
        })
    }

    /// For people.
    pub fn text(&self, screen: &Screen) -> String {
        let mut text = format!(
            "{}: {} recurrent tasks, U = {}, density {}, on {} ({} CPU{})\n",
            self.workload,
            self.tasks.len(),
            shown(&utilization(&self.tasks)),
            shown(&density(&self.tasks)),
            self.machine,
            self.cpus,
            if self.cpus == 1 { "" } else { "s" },
        );
        for section in &self.sections {
            self.section(section, screen, &mut text);
        }
        let lost = |a: &Feature| !self.undecides(*a).is_empty();
        let broken: Vec<(String, String)> = self
            .breaks
            .iter()
            .filter(|(a, _)| lost(a))
            .map(|(a, by)| (a.id().to_string(), broken(*a, by)))
            .collect();
        if !broken.is_empty() {
            text.push_str("\nassumptions of some tests that do not hold, so that their results are undecided or lower bounds:\n");
            text.push_str(&pairs(&broken, screen));
        }
        if !self.overheads.is_zero() {
            let o = &self.overheads;
            let _ = write!(
                text,
                "\ncosts taken: a switch {}, a decision {}, a migration {}, a release {}, {} of ticks each {}\n",
                duration(o.switch_ns),
                duration(o.decision_ns),
                duration(o.migration_ns),
                duration(o.release_ns),
                duration(o.tick_ns),
                duration(o.tick_period_ns),
            );
        }
        text
    }

    fn section(&self, section: &Section, screen: &Screen, text: &mut String) {
        let costly = section.costly.as_ref();
        let with = costly.map_or(String::new(), |c| format!("; with costs {}", c.verdict));
        let _ = write!(text, "\n{}: {}{with}\n", section.name, section.plain.verdict);
        let rows: Vec<(String, String)> = section
            .plain
            .found
            .iter()
            .map(|f| {
                let again = costly.and_then(|c| c.found.iter().find(|o| o.test == f.test));
                let again = again.filter(|o| o.verdict != f.verdict);
                let again = again.map_or(String::new(), |o| format!(", with costs {}", o.verdict));
                let passes =
                    f.kind == Kind::Necessary && f.verdict == Verdict::Undecided && f.broken.is_empty();
                let word = if passes { "passes".to_string() } else { f.verdict.to_string() };
                (f.test.id().to_string(), format!("{word}{again}: {} ({}; {})", f.remark, f.source, kind(f)))
            })
            .collect();
        text.push_str(&pairs(&rows, screen));
        if let Some(share) = &section.shares {
            let cost = shown_f64(share).unwrap_or(f64::MAX) * 100.0;
            let ticks = section.tick.as_ref().and_then(shown_f64).unwrap_or(0.0) * 100.0;
            let _ =
                writeln!(text, "  switches take at most {cost:.2} % of one CPU, ticks {ticks:.3} % of each");
        }
        let bounds = section.plain.found.iter().find(|f| f.response.iter().any(Option::is_some));
        let Some(bounds) = bounds else { return };
        let again = costly.and_then(|c| c.found.iter().find(|o| o.test == bounds.test));
        let most = match bounds.bound {
            Bound::Upper => "at most",
            Bound::Lower => "lower bound, as an assumption is broken",
        };
        let _ = writeln!(text, "  response times, {most} (deadline):");
        let show = |ns: Option<&Option<u64>>| ns.copied().flatten().map_or("?".to_string(), duration);
        let line = |(i, t): (usize, &Task)| {
            let costs = again.map_or(String::new(), |o| format!(", with costs {}", show(o.response.get(i))));
            (t.name.clone(), format!("{}{costs} ({})", show(bounds.response.get(i)), duration(t.deadline)))
        };
        let rows: Vec<(String, String)> = self.tasks.iter().enumerate().take(LINES).map(line).collect();
        for row in pairs(&rows, screen).lines() {
            let _ = writeln!(text, "  {row}");
        }
        if self.tasks.len() > LINES {
            let _ = writeln!(text, "    and {} more: --json has all", self.tasks.len() - LINES);
        }
    }
}
