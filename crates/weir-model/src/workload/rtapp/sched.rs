// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Policies and priorities of threads and phases, on the one scale of [`TaskSpec::priority`].
//!
//! [`TaskSpec::priority`]: crate::workload::TaskSpec::priority

use jsonc_parser::ast::Object;

use super::events::event_name;
use super::json::{Source, find, span};
use crate::error::{Error, did_you_mean};
use crate::workload::build::Builder;
use crate::workload::{Policy, Timing};

/// Priority of SCHED_IDLE on the common scale: below every nice value.
pub(crate) const IDLE_PRIORITY: i32 = -20;

/// Priority of SCHED_DEADLINE on the common scale: above every FIFO priority.
pub(crate) const DEADLINE_PRIORITY: i32 = 300;

/// Priority that rt-app gives FIFO and RR threads without one.
const DEFAULT_RT: i64 = 10;

const POLICIES: &[&str] =
    &["SCHED_OTHER", "SCHED_BATCH", "SCHED_IDLE", "SCHED_FIFO", "SCHED_RR", "SCHED_DEADLINE"];

/// Policy and priority of a thread or of a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sched {
    pub policy: Policy,
    pub priority: i32,
    pub timing: Option<Timing>,
    pub period: PeriodFrom,
}

/// Where the period of SCHED_DEADLINE comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeriodFrom {
    /// The file says it, or the policy has none.
    File,
    /// The only period of the thread's timers.
    Timer,
    /// As in rt-app: the runtime, so that the thread reserves a whole CPU.
    Runtime,
}

/// The policy a name stands for; the parameters of DEADLINE come later.
pub(super) fn policy_of<'a>(
    source: Source<'a>,
    value: &jsonc_parser::ast::Value<'a>,
    key: &str,
) -> Result<Policy, Error> {
    let name = source.string(value, key, "\"SCHED_OTHER\"")?;
    Ok(match name {
        "SCHED_OTHER" => Policy::Other,
        "SCHED_BATCH" => Policy::Batch,
        "SCHED_IDLE" => Policy::Idle,
        "SCHED_FIFO" => Policy::Fifo,
        "SCHED_RR" => Policy::RoundRobin,
        "SCHED_DEADLINE" => Policy::Deadline { runtime_ns: 0, deadline_ns: 0, period_ns: 0 },
        other => {
            return Err(source.error(
                span(value),
                format!("unknown scheduling policy `{other}`"),
                did_you_mean(other, POLICIES),
            ));
        }
    })
}

/// Read the scheduling keys of a thread (`legacy`: also the old names of the deadline keys) or of a
/// phase. `inherited` is what holds without them; `None` is returned where nothing is said.
pub(super) fn parse<'a>(
    source: Source<'a>,
    object: &Object<'a>,
    inherited: Policy,
    legacy: bool,
) -> Result<Option<Sched>, Error> {
    let policy_key = find(object, "policy");
    let priority_key = find(object, "priority");
    let us = |keys: &[&str]| -> Result<Option<u64>, Error> {
        for key in keys {
            if let Some(p) = find(object, key) {
                let v = source.integer(&p.value, key, 1..=i64::from(i32::MAX), " of microseconds")?;
                return Ok(Some(v as u64 * 1000));
            }
        }
        Ok(None)
    };
    let old = |new: &'static str, old: &'static str| if legacy { vec![new, old] } else { vec![new] };
    let mut policy = match policy_key {
        Some(p) => policy_of(source, &p.value, "policy")?,
        None => inherited,
    };
    let mut timing = None;
    let mut period = PeriodFrom::File;
    if let Policy::Deadline { .. } = policy {
        let at = policy_key.or(priority_key).map_or_else(|| span(object), span);
        let runtime = us(&old("dl-runtime", "runtime"))?;
        if runtime.is_none() && inherited == policy && policy_key.is_none() && !legacy {
            return Ok(None);
        }
        let Some(runtime_ns) = runtime else {
            return Err(source.error(
                at,
                "SCHED_DEADLINE needs a runtime budget",
                "add `\"dl-runtime\" : 2000, \"dl-period\" : 10000` (microseconds)",
            ));
        };
        let deadline = us(&old("dl-deadline", "deadline"))?;
        let fits = |timer: &u64| *timer >= deadline.unwrap_or(runtime_ns);
        let (period_ns, from) = match us(&old("dl-period", "period"))? {
            Some(ns) => (ns, PeriodFrom::File),
            None => match timer_ns(object).filter(fits) {
                Some(ns) => (ns, PeriodFrom::Timer),
                None => (runtime_ns, PeriodFrom::Runtime),
            },
        };
        let deadline_ns = deadline.unwrap_or(period_ns);
        period = from;
        if runtime_ns > deadline_ns || deadline_ns > period_ns {
            return Err(source.error(
                at,
                format!(
                    "the deadline parameters must rise: runtime {} us, deadline {} us, period {} us",
                    runtime_ns / 1000,
                    deadline_ns / 1000,
                    period_ns / 1000
                ),
                "make dl-runtime the smallest and dl-period the largest",
            ));
        }
        policy = Policy::Deadline { runtime_ns, deadline_ns, period_ns };
        timing = Some(Timing { period_ns, deadline_ns, wcet_ns: runtime_ns });
    }
    if policy_key.is_none() && priority_key.is_none() && timing.is_none() && !legacy {
        return Ok(None);
    }
    let given = |low: i64, high: i64, default: i64, what: &str| -> Result<i64, Error> {
        priority_key.map_or(Ok(default), |p| source.integer(&p.value, "priority", low..=high, what))
    };
    let priority = match policy {
        Policy::Other | Policy::Batch => -given(-20, 19, 0, " (a nice value)")? as i32,
        Policy::Idle => {
            given(-20, 19, 0, " (a nice value)")?;
            IDLE_PRIORITY
        }
        Policy::Fifo | Policy::RoundRobin => {
            100 + given(1, 99, DEFAULT_RT, " (a real-time priority)")? as i32
        }
        Policy::Deadline { .. } => {
            given(i64::from(i32::MIN), i64::from(i32::MAX), 0, "")?;
            DEADLINE_PRIORITY
        }
    };
    Ok(Some(Sched { policy, priority, timing, period }))
}

/// The period of the timers of a thread or phase, ns, if they have one in common.
fn timer_ns(object: &Object<'_>) -> Option<u64> {
    let mut found = std::collections::BTreeSet::new();
    let mut gather = |o: &Object<'_>| {
        for p in o.properties.iter().filter(|p| event_name(p.name.as_str()) == Some("timer")) {
            let period = p.value.as_object().and_then(|t| find(t, "period"));
            let us = period.and_then(|p| p.value.as_number_lit()).and_then(|n| n.value.parse::<u64>().ok());
            found.extend(us.filter(|us| *us > 0));
        }
    };
    match find(object, "phases").and_then(|p| p.value.as_object()) {
        Some(phases) => phases.properties.iter().filter_map(|p| p.value.as_object()).for_each(gather),
        None => gather(object),
    }
    let first = found.pop_first()?;
    found.is_empty().then(|| first.saturating_mul(1000))
}

/// Say which threads of SCHED_DEADLINE have periods that the file does not name.
pub(super) fn periods(builder: &mut Builder, threads: &[super::Thread]) {
    let of = |from: PeriodFrom| {
        let names = threads.iter().filter(|t| {
            let phases = t.phases.iter().filter_map(|p| p.sched);
            phases.chain([t.sched]).any(|s| s.period == from)
        });
        names.map(|t| format!("`{}`", t.name)).collect::<Vec<_>>()
    };
    let say = |names: &[String]| match names {
        [one] => format!("thread {one}"),
        [first, .., last] if names.len() > 3 => format!("threads {first} to {last}"),
        all => format!("threads {}", all.join(", ")),
    };
    let timer = of(PeriodFrom::Timer);
    if !timer.is_empty() {
        builder.warn(format!(
            "{}: without `dl-period` the period of SCHED_DEADLINE is that of the timer; rt-app itself takes `dl-runtime`",
            say(&timer)
        ));
    }
    let runtime = of(PeriodFrom::Runtime);
    if !runtime.is_empty() {
        builder.warn(format!(
            "{}: without `dl-period` the period and deadline of SCHED_DEADLINE are the runtime itself, as in rt-app: the whole \
             of a CPU is reserved; add `dl-period`",
            say(&runtime)
        ));
    }
}
