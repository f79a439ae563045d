// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Findings as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};
use weir_analysis::task::{Exact, density, shown, utilization};
use weir_analysis::{Finding, Overheads, Task, Verdict};
use weir_report::duration;

use crate::text::columns;

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
    pub sections: Vec<Section>,
    pub overheads: Overheads,
    /// Remarks for the user about machine and workload.
    pub warnings: Vec<String>,
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
    /// For scripts; `docs/analysis.md` describes it.
    pub fn json(&self) -> Value {
        let task = |t: &Task| {
            json!({
                "name": t.name, "wcet_ns": t.wcet, "period_ns": t.period, "deadline_ns": t.deadline,
                "jitter_ns": t.jitter, "offset_ns": t.offset, "sporadic": t.sporadic, "priority": t.priority,
            })
        };
        let test = |f: &Finding| {
            json!({
                "id": f.id, "test": f.test, "source": f.source, "kind": f.kind.to_string(),
                "verdict": f.verdict.to_string(), "remark": f.remark, "response_ns": f.response,
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
        let o = &self.overheads;
        json!({
            "runweir": env!("CARGO_PKG_VERSION"), "topology": self.topology, "machine": self.machine,
            "workload": self.workload, "costs": self.costs, "cpus": self.cpus,
            "utilization": float(&utilization(&self.tasks)), "density": float(&density(&self.tasks)),
            "tasks": self.tasks.iter().map(task).collect::<Vec<_>>(),
            "overheads_ns": {
                "switch": o.switch_ns, "migration": o.migration_ns, "decision": o.decision_ns,
                "release": o.release_ns, "tick": o.tick_ns, "tick_period": o.tick_period_ns,
            },
            "policies": self.sections.iter().map(section).collect::<Vec<_>>(),
        })
    }

    /// For people.
    pub fn text(&self) -> String {
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
            self.section(section, &mut text);
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

    fn section(&self, section: &Section, text: &mut String) {
        let costly = section.costly.as_ref();
        let with = costly.map_or(String::new(), |c| format!("; with costs {}", c.verdict));
        let _ = write!(text, "\n{}: {}{with}\n", section.name, section.plain.verdict);
        let rows: Vec<(String, String)> = section
            .plain
            .found
            .iter()
            .map(|f| {
                let again = costly.and_then(|c| c.found.iter().find(|o| o.id == f.id));
                let again = again.filter(|o| o.verdict != f.verdict);
                let again = again.map_or(String::new(), |o| format!(", with costs {}", o.verdict));
                (f.id.to_string(), format!("{}{again}: {} ({}; {})", f.verdict, f.remark, f.source, f.kind))
            })
            .collect();
        text.push_str(&columns(&rows));
        if let Some(share) = &section.shares {
            let cost = shown_f64(share).unwrap_or(f64::MAX) * 100.0;
            let ticks = section.tick.as_ref().and_then(shown_f64).unwrap_or(0.0) * 100.0;
            let _ =
                writeln!(text, "  switches take at most {cost:.2} % of one CPU, ticks {ticks:.3} % of each");
        }
        let bounds = section.plain.found.iter().find(|f| f.response.iter().any(Option::is_some));
        let Some(bounds) = bounds else { return };
        let again = costly.and_then(|c| c.found.iter().find(|o| o.id == bounds.id));
        let _ = writeln!(text, "  response times, at most (deadline):");
        let show = |ns: Option<&Option<u64>>| ns.copied().flatten().map_or("?".to_string(), duration);
        let line = |(i, t): (usize, &Task)| {
            let costs = again.map_or(String::new(), |o| format!(", with costs {}", show(o.response.get(i))));
            (t.name.clone(), format!("{}{costs} ({})", show(bounds.response.get(i)), duration(t.deadline)))
        };
        let rows: Vec<(String, String)> = self.tasks.iter().enumerate().take(LINES).map(line).collect();
        for row in columns(&rows).lines() {
            let _ = writeln!(text, "  {row}");
        }
        if self.tasks.len() > LINES {
            let _ = writeln!(text, "    and {} more: --json has all", self.tasks.len() - LINES);
        }
    }
}
