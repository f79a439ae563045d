// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tasks of a SimSo file and their programs.

use std::ops::Range;

use roxmltree::Node;

use super::TimeModel;
use super::xml::Source;
use crate::error::{Error, did_you_mean};
use crate::workload::build::{Builder, repeat};
use crate::workload::dice::Dice;
use crate::workload::{OnMiss, Op, TaskSpec, Timing};

/// Longest time of a task, ms: 10,000 hours.
const MAX_MS: f64 = 36e9;

/// Jobs whose computing time is drawn before the row of draws repeats; fewer with very many tasks.
const DRAWS: u64 = 1024;

/// Draws of all tasks together.
const ALL_DRAWS: u64 = 2_000_000;

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

/// Channels that join a task with its followers.
#[derive(Default)]
pub(super) struct Chain {
    /// Each job of the task starts the follower through this channel.
    pub starts: Option<u32>,
    /// Each job of the task begins with an activation from this channel.
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
        let mut period_ns = 0;
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
            Some(0) | None if period_ns > 0 => period_ns,
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

    /// Computing times of the jobs, in turn: one where all are equal.
    fn computing(&self, model: TimeModel, jobs: u64, seed: u64) -> Vec<u64> {
        if model == TimeModel::Wcet || jobs == 0 {
            return vec![self.wcet_ns];
        }
        if self.deviation_ns == 0 {
            return vec![self.acet_ns.min(self.wcet_ns)];
        }
        let mut dice = Dice::new(seed ^ self.id.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let draw = |_| {
            let drawn = self.acet_ns as f64 + self.deviation_ns as f64 * dice.normal();
            // SimSo cuts at the WCET only; a job that takes no time at all is cut here.
            (drawn.max(1.0) as u64).min(self.wcet_ns)
        };
        (0..jobs).map(draw).collect()
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
                    format!("`{part}` is no activation date"),
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
    seed: u64,
) -> Result<(), Error> {
    let end = builder.workload.duration_ns.unwrap_or(u64::MAX);
    let draws = (ALL_DRAWS / list.len().max(1) as u64).clamp(1, DRAWS);
    for (task, chain) in list.iter().zip(chains) {
        let place = task.at.clone();
        let job = |ns: u64, ops: &mut Vec<Op>| {
            ops.push(Op::Run { ns });
            if let Some(channel) = chain.starts {
                ops.push(Op::Write { channel, bytes: 1 });
            }
        };
        let deadline_ns = task.deadline_ns;
        let release = |offset_ns, period_ns| Op::Release {
            offset_ns,
            period_ns,
            deadline_ns,
            jitter_ns: 0,
            extra_ns: 0,
        };
        let mut ops = Vec::new();
        match &task.arrival {
            Arrival::Periodic => {
                let jobs = end.saturating_sub(task.offset_ns) / task.period_ns + 1;
                let mut body = Vec::new();
                for ns in task.computing(model, jobs.min(draws), seed) {
                    body.push(release(task.offset_ns, task.period_ns));
                    job(ns, &mut body);
                }
                ops = repeat(None, body);
            }
            Arrival::Dates(dates) => {
                let times = task.computing(model, draws.min(dates.len() as u64), seed);
                for (k, &date) in dates.iter().enumerate() {
                    ops.push(release(date, 0));
                    job(times[k % times.len()], &mut ops);
                }
                if dates.is_empty() {
                    builder
                        .warn(format!("`{}` is sporadic without activation dates and never runs", task.name));
                }
            }
            Arrival::Followed => match chain.started_by {
                Some(channel) => {
                    let mut body = Vec::new();
                    for ns in task.computing(model, draws, seed) {
                        body.push(Op::Read { channel, bytes: 1 });
                        job(ns, &mut body);
                    }
                    ops = repeat(None, body);
                    builder.warn("deadlines of tasks that follow others are not watched");
                }
                None => builder.warn(format!(
                    "`{}` is aperiodic, but no task is followed by it: it never runs",
                    task.name
                )),
            },
        }
        let program = builder.program(ops).map_err(|e| e.at(source.name, source.text, place))?;
        let releases = program.iter().filter(|op| matches!(op, Op::Release { .. })).count();
        let mut spec = TaskSpec::new(task.name.clone(), task.name.clone(), program);
        spec.priority = task.priority;
        if task.abort_on_miss && releases == 1 && task.period_ns > 0 {
            spec.on_miss = OnMiss::Abort;
        } else if task.abort_on_miss && releases > 0 {
            builder.warn(format!(
                "`abort_on_miss` of `{}` is ignored: only periodic tasks with the same computing time in each job are aborted",
                task.name
            ));
        }
        if task.period_ns > 0 {
            spec.timing = Some(Timing { period_ns: task.period_ns, deadline_ns, wcet_ns: task.wcet_ns });
        }
        builder.task(spec)?;
    }
    Ok(())
}
