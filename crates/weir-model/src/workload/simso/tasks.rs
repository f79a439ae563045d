// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tasks of a SimSo file and their programs.

use std::ops::Range;

use roxmltree::Node;

use super::TimeModel;
use super::xml::Source;
use crate::error::{Error, did_you_mean};
use crate::workload::build::{Builder, repeat};
use crate::workload::{Arrivals, Dist, OnMiss, Op, Shape, TaskSpec, Timing};

/// Longest time of a task, ms: 10,000 hours.
const MAX_MS: f64 = 36e9;

/// What makes a task's jobs arrive.
enum Arrival {
    Periodic,
    /// At the given dates, ns.
    Dates(Vec<u64>),
    /// Only as a follower.
    Followed,
}

/// One `<task>`. Times are ns.
pub(super) struct SimsoTask {
    pub name: String,
    pub id: u64,
    pub abort_on_miss: bool,
    /// The field that SimSo's fixed priority scheduler reads; higher is more urgent.
    pub priority: i32,
    /// The follower's id and the place where it says so.
    pub followed_by: Option<(u64, Range<usize>)>,
    /// Attributes that are given, not trivial, and have no counterpart.
    pub ignored: Vec<&'static str>,
    at: Range<usize>,
    arrival: Arrival,
    offset_ns: u64,
    period_ns: u64,
    deadline_ns: u64,
    wcet_ns: u64,
    acet_ns: u64,
    deviation_ns: u64,
}

/// Events that join a task with its followers.
#[derive(Default)]
pub(super) struct Chain {
    /// Each job of the task activates the follower by this event.
    pub starts: Option<u32>,
    /// Each job of the task begins with an activation by this event.
    pub started_by: Option<u32>,
}

const TYPES: &[&str] = &["Periodic", "APeriodic", "Sporadic"];

impl SimsoTask {
    /// Read a `<task>`.
    pub fn read(source: Source<'_>, node: &Node<'_, '_>) -> Result<Self, Error> {
        let ms = |key: &str| -> Result<Option<u64>, Error> {
            Ok(source.number(node, key, 0.0, MAX_MS)?.map(|v| (v * 1e6 + 0.5) as u64))
        };
        let required = |key: &str| -> Result<u64, Error> {
            ms(key)?.ok_or_else(|| {
                source.error(
                    source.tag(node),
                    format!("the task has no `{key}`"),
                    format!("add `{key}=\"10\"` (milliseconds)"),
                )
            })
        };
        let name = node.attribute("name").unwrap_or_default().to_string();
        if name.is_empty() || name.len() > 256 {
            return Err(source.error(
                source.tag(node),
                "a task needs a name of 1 to 256 bytes",
                "add `name=\"T1\"`",
            ));
        }
        let id = |key: &str| -> Result<Option<u64>, Error> {
            Ok(source.number(node, key, 0.0, 1e15)?.map(|v| v as u64))
        };
        let Some(number) = id("id")? else {
            return Err(source.error(
                source.tag(node),
                format!("task `{name}` has no `id`"),
                "add `id=\"1\"`",
            ));
        };
        let kind = match node.attribute("task_type") {
            Some(t) if TYPES.contains(&t) => t,
            Some(other) => {
                return Err(source.error(
                    source.attribute(node, "task_type"),
                    format!("unknown task type `{other}`"),
                    did_you_mean(other, TYPES),
                ));
            }
            None if node.attribute("periodic") == Some("no") => "APeriodic",
            None => "Periodic",
        };
        let wcet_ns = required("WCET")?;
        // Of other kinds of tasks it is data for schedulers only.
        let mut period_ns = if kind == "Periodic" { 0 } else { ms("period")?.unwrap_or(0) };
        let arrival = match kind {
            "Periodic" => {
                period_ns = required("period")?;
                if period_ns == 0 {
                    let help = "write the period in milliseconds, such as `period=\"10\"`";
                    return Err(source.error(source.attribute(node, "period"), "a period of 0", help));
                }
                Arrival::Periodic
            }
            "Sporadic" => Arrival::Dates(dates(source, node)?),
            _ => Arrival::Followed,
        };
        let deadline_ns = match ms("deadline")? {
            Some(0) | None if period_ns > 0 && kind == "Periodic" => period_ns,
            Some(d) => d,
            None => required("deadline")?,
        };
        let followed_by = id("followed_by")?.map(|f| (f, source.attribute(node, "followed_by")));
        let mut ignored = Vec::new();
        for (key, trivial) in [("preemption_cost", 0.0), ("instructions", 0.0), ("base_cpi", 1.0)] {
            if source.number(node, key, 0.0, 1e18)?.is_some_and(|v| v != trivial) {
                ignored.push(key);
            }
        }
        if node.attribute("stack").is_some_and(|s| !s.is_empty()) {
            ignored.push("stack");
        }
        Ok(Self {
            name,
            id: number,
            abort_on_miss: node.attribute("abort_on_miss").is_none_or(|v| v == "yes"),
            priority: source.number(node, "priority", -1e9, 1e9)?.unwrap_or(0.0) as i32,
            followed_by,
            ignored,
            at: source.tag(node),
            arrival,
            offset_ns: ms("activationDate")?.unwrap_or(0),
            period_ns,
            deadline_ns,
            wcet_ns,
            acet_ns: ms("ACET")?.unwrap_or(0),
            deviation_ns: ms("et_stddev")?.unwrap_or(0),
        })
    }

    /// Whether its jobs come from other tasks only.
    pub fn activated_by_others(&self) -> bool {
        matches!(self.arrival, Arrival::Followed)
    }

    /// The times that SimSo counts in whole cycles.
    pub fn times_ns(&self) -> Vec<u64> {
        let mut all = vec![self.offset_ns, self.wcet_ns];
        match &self.arrival {
            Arrival::Periodic => all.push(self.period_ns),
            Arrival::Dates(dates) => all.extend(dates),
            Arrival::Followed => {}
        }
        all
    }

    /// The computing of a job.
    fn computing(&self, model: TimeModel) -> Op {
        match model {
            TimeModel::Wcet | TimeModel::FixedPenalty => Op::Run { ns: self.wcet_ns },
            TimeModel::Acet if self.deviation_ns == 0 => Op::Run { ns: self.acet_ns.min(self.wcet_ns) },
            TimeModel::Acet => {
                let shape = Shape::Normal { mean_ns: self.acet_ns, deviation_ns: self.deviation_ns };
                // SimSo clamps at the WCET only; a job that takes no time at all is clamped here.
                Op::RunDrawn {
                    dist: Dist { shape, min_ns: 1, max_ns: self.wcet_ns.max(1), clamp: true }.into(),
                }
            }
        }
    }

    /// Period for the scheduler, ns: that of the file, or the least distance of dates, or the deadline.
    fn timing_period_ns(&self) -> u64 {
        let least = match &self.arrival {
            Arrival::Dates(dates) => dates.windows(2).map(|w| w[1] - w[0]).min().unwrap_or(0),
            _ => 0,
        };
        [self.period_ns, least, self.deadline_ns].into_iter().find(|ns| *ns > 0).unwrap_or(0)
    }
}

/// What follows from an attribute that has no effect.
pub(super) fn consequence(field: &str) -> &'static str {
    match field {
        "preemption_cost" => {
            "it is data for schedulers of SimSo's own, and a preempted job computes no longer"
        }
        "stack" => "its file is not read; how fast a task computes does not depend on caches here",
        _ => "it belongs to SimSo's cache model; how fast a task computes does not depend on caches here",
    }
}

/// `list_activation_dates`, sorted.
fn dates(source: Source<'_>, node: &Node<'_, '_>) -> Result<Vec<u64>, Error> {
    let text = node.attribute("list_activation_dates").unwrap_or_default();
    let mut list = Vec::new();
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        match part.parse::<f64>() {
            Ok(v) if (0.0..=MAX_MS).contains(&v) => list.push((v * 1e6 + 0.5) as u64),
            _ => {
                return Err(source.error(
                    source.attribute(node, "list_activation_dates"),
                    format!("`{part}` is not an activation date"),
                    "write milliseconds from 0, separated by commas",
                ));
            }
        }
    }
    list.sort_unstable();
    Ok(list)
}

/// Make tasks with programs of the task list.
pub(super) fn lower(
    source: Source<'_>,
    builder: &mut Builder,
    list: &[SimsoTask],
    chains: &[Chain],
    model: TimeModel,
) -> Result<(), Error> {
    for (task, chain) in list.iter().zip(chains) {
        let deadline_ns = task.deadline_ns;
        let mut body = Vec::new();
        match &task.arrival {
            Arrival::Periodic => body.push(Op::Release {
                offset_ns: task.offset_ns,
                period_ns: task.period_ns,
                deadline_ns,
                jitter_ns: 0,
                extra_ns: 0,
            }),
            Arrival::Dates(dates) if !dates.is_empty() => body.push(Op::Arrive {
                arrivals: Arrivals::List(dates.clone().into()).into(),
                offset_ns: 0,
                period_ns: task.timing_period_ns(),
                deadline_ns,
                jitter_ns: 0,
            }),
            Arrival::Dates(_) => {
                builder.warn(format!("`{}` is sporadic without activation dates and never runs", task.name));
            }
            Arrival::Followed => match chain.started_by {
                Some(event) => body.push(Op::Await { event }),
                None => builder.warn(format!(
                    "`{}` is aperiodic, but no task is followed by it: it never runs",
                    task.name
                )),
            },
        }
        let mut on_miss = if task.abort_on_miss { OnMiss::Abort } else { OnMiss::Continue };
        if !body.is_empty() {
            body.push(task.computing(model));
            body.extend(chain.starts.map(|event| Op::Activate { event }));
        }
        if body.is_empty() {
            on_miss = OnMiss::Continue;
        } else if matches!(body[0], Op::Await { .. }) && task.abort_on_miss {
            on_miss = OnMiss::Continue;
            builder.warn(format!(
                "`abort_on_miss` of `{}` has no effect: late jobs of a task that follows another are counted, and go on",
                task.name
            ));
        }
        let jobs = match &task.arrival {
            Arrival::Dates(dates) => Some(dates.len() as u64),
            _ => None,
        };
        // What never runs does not come into being either.
        let never = body.is_empty();
        let ops = if never { body } else { repeat(jobs, body) };
        let program = builder.program(ops).map_err(|e| e.at(source.name, source.text, task.at.clone()))?;
        let mut spec = TaskSpec::new(task.name.clone(), task.name.clone(), program);
        spec.priority = task.priority;
        spec.on_miss = on_miss;
        if never {
            spec.start_ns = None;
        }
        let period_ns = task.timing_period_ns();
        if period_ns > 0 {
            spec.timing = Some(Timing { period_ns, deadline_ns, wcet_ns: task.wcet_ns });
        }
        builder.task(spec)?;
    }
    Ok(())
}
