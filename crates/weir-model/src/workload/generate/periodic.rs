// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Sets of periodic tasks with random utilizations and periods.

use super::args::Args;
use super::periods::{Periods, Shape};
use super::taskset::{rand_fixed_sum, uunifast, uunifast_discard};
use super::{GeneratorInfo, param};
use crate::error::Error;
use crate::workload::build::{Builder, repeat};
use crate::workload::dice::Dice;
use crate::workload::{Op, TaskSpec, Timing};

pub(super) const PERIODIC: GeneratorInfo = GeneratorInfo {
    name: "periodic",
    summary: "periodic tasks with random utilizations (UUniFast or RandFixedSum) and periods",
    params: &[
        param("tasks", "10", "how many"),
        param("util", "70%", "utilization of all tasks together; 100% is one CPU"),
        param("umax", "100%", "most utilization of a task"),
        param("pmin", "10ms", "shortest period"),
        param("pmax", "100ms", "longest period"),
        param("grain", "1us", "periods are multiples of this"),
        param(
            "dist",
            "loguniform",
            "periods: loguniform, uniform, harmonic (pmin times powers of factor), list (of periods), automotive \
             (1 to 1000 ms as in engine controllers)",
        ),
        param("factor", "2", "of harmonic periods"),
        param("periods", "", "of dist=list, with slashes between: 5ms/10ms/20ms"),
        param(
            "method",
            "uunifast",
            "utilizations by uunifast, uunifast-discard (the same: sets with a task above umax are drawn again), or \
             randfixedsum",
        ),
        param(
            "deadline",
            "implicit",
            "deadlines: implicit (the period), constrained (between computing time and period) or arbitrary \
             (between computing time and dmax)",
        ),
        param("dmax", "200%", "longest arbitrary deadline, in periods"),
        param("unit", "0", "all parameters are whole multiples of this, computing times at least one; 0: ns"),
        param("offset", "zero", "first releases: zero (all at once) or random (within the first period)"),
        param("jitter", "0", "releases come late by up to this, drawn again each time"),
        param("sporadic", "0", "up to this is added to each time between releases, drawn again each time"),
        param("jobs", "0", "jobs of each task; 0 for ever"),
        param(
            "blocking",
            "0",
            "a job may wait so long for sections that are not modelled; for analysis only",
        ),
        param("seed", "run", "seed of the set; run takes that of the run"),
    ],
};

pub(super) const BENCH: GeneratorInfo = GeneratorInfo {
    name: "bench",
    summary: "an even load of periodic tasks on all CPUs, to measure schedulers and the simulator",
    params: &[
        param("cpus", "8", "CPUs of the machine"),
        param("load", "80%", "utilization of each CPU"),
        param("per_cpu", "5", "tasks for each CPU; none is pinned"),
        param("pmin", "10ms", "shortest period"),
        param("pmax", "100ms", "longest period"),
        param("seed", "run", "seed of the set; run takes that of the run"),
    ],
};

fn seed_of(args: &Args<'_>, seed: u64) -> Result<u64, Error> {
    if args.text("seed") == "run" { Ok(seed) } else { args.count("seed", 0, u64::MAX) }
}

/// How relative deadlines are drawn.
enum Deadline {
    Implicit,
    Constrained,
    /// Up to this many periods.
    Arbitrary(f64),
}

impl Deadline {
    fn parse(args: &Args<'_>) -> Result<Self, Error> {
        Ok(match args.choice("deadline", &["implicit", "constrained", "arbitrary"])? {
            0 => Self::Implicit,
            1 => Self::Constrained,
            _ => Self::Arbitrary(args.share("dmax", 1.0, 100.0)?),
        })
    }

    /// Uniform between the computing time and the longest one.
    fn draw(&self, wcet: u64, period: u64, dice: &mut Dice) -> u64 {
        match self {
            Self::Implicit => period,
            Self::Constrained => dice.between(wcet, period),
            Self::Arbitrary(most) => dice.between(wcet, (period as f64 * most) as u64),
        }
    }
}

/// Computing time for a share of a period, both in units: rounded to the nearest where units are coarse, so
/// that the shares' sum is kept in the mean; down where they are nanoseconds, so that it is not exceeded.
fn wcet(period: u64, share: f64, unit: u64) -> u64 {
    let round = if unit > 1 { 0.5 } else { 0.0 };
    ((period as f64 * share + round) as u64).clamp(1, period)
}

pub(super) fn periodic(args: &Args<'_>, builder: &mut Builder, seed: u64) -> Result<(), Error> {
    let n = args.count("tasks", 1, 1_000_000)? as usize;
    let total = args.share("util", 0.0, 4096.0)?;
    let most = args.share("umax", 0.0, 1.0)?;
    let fixed_sum = args.choice("method", &["uunifast", "uunifast-discard", "randfixedsum"])? == 2;
    let deadline = Deadline::parse(args)?;
    let random_offset = args.choice("offset", &["zero", "random"])? == 1;
    let jitter_ns = args.ns("jitter", 0)?;
    let extra_ns = args.ns("sporadic", 0)?;
    let unit = args.ns("unit", 0)?;
    let jobs = args.count("jobs", 0, 1_000_000_000_000)?;
    let blocking = args.ns("blocking", 0)?;
    let periods = Periods::parse(args, unit)?;
    // Draws are made in units, so that all results are whole.
    let unit = unit.max(1);
    if total > n as f64 * most {
        if total > 10.0 && !args.text("util").contains('%') {
            let help = format!("did you mean `{}%`?", args.text("util"));
            return Err(args.wrong(
                "util",
                format!("{n} tasks cannot keep {} CPUs busy", args.text("util")),
                help,
            ));
        }
        let help = format!(
            "with {n} tasks write at most {:.0}%, or raise `tasks` or `umax`",
            n as f64 * most * 100.0
        );
        return Err(args.wrong(
            "util",
            format!("{n} tasks cannot reach a utilization of {}", args.text("util")),
            help,
        ));
    }
    builder.room_for_tasks(n as u64)?;
    builder.room_for_ops(n as u64 * 4)?;
    let mut dice = Dice::new(seed_of(args, seed)?);
    let shares = if fixed_sum {
        if n > 2_000 {
            return Err(args.wrong(
                "tasks",
                "randfixedsum makes at most 2000 tasks",
                "use `method=uunifast`",
            ));
        }
        rand_fixed_sum(n, total, most, &mut dice)
    } else {
        uunifast_discard(n, total, most, &mut dice).ok_or_else(|| {
            args.wrong(
                "util",
                format!("uunifast found no set whose tasks all stay below {:.0}%", most * 100.0),
                "use `method=randfixedsum`, which always finds one",
            )
        })?
    };
    for (i, share) in shares.into_iter().enumerate() {
        let period = periods.draw(&mut dice) / unit;
        let wcet = wcet(period, share, unit);
        let deadline_ns = unit * deadline.draw(wcet, period, &mut dice);
        let offset_ns = if random_offset { unit * dice.between(0, period - 1) } else { 0 };
        let (period_ns, wcet_ns) = (period * unit, wcet * unit);
        let release = Op::Release { offset_ns, period_ns, deadline_ns, jitter_ns, extra_ns };
        let ops = repeat((jobs > 0).then_some(jobs), vec![release, Op::Run { ns: wcet_ns }]);
        let program = builder.program(ops)?;
        let mut task = TaskSpec::new(format!("periodic{i}"), "periodic", program);
        task.timing = Some(Timing { period_ns, deadline_ns, wcet_ns });
        let index = builder.task(task)?;
        builder.workload.blocking.extend((blocking > 0).then_some((index, blocking)));
    }
    Ok(())
}

pub(super) fn bench(args: &Args<'_>, builder: &mut Builder, seed: u64) -> Result<(), Error> {
    let cpus = args.count("cpus", 1, u64::from(weir_core::cpuset::MAX_CPUS))?;
    let load = args.share("load", 0.001, 1.0)?;
    let per_cpu = args.count("per_cpu", 1, 10_000)?;
    let periods = Periods::between(args, 1_000, Shape::Uniform)?;
    builder.room_for_tasks(cpus * per_cpu)?;
    builder.room_for_ops(cpus * per_cpu * 4)?;
    let mut dice = Dice::new(seed_of(args, seed)?);
    for cpu in 0..cpus {
        let shares = uunifast(per_cpu as usize, load, &mut dice);
        for (i, share) in shares.into_iter().enumerate() {
            let period_ns = periods.draw(&mut dice);
            let wcet_ns = ((period_ns as f64 * share) as u64).clamp(1, period_ns);
            let offset_ns = dice.between(0, period_ns - 1);
            let release =
                Op::Release { offset_ns, period_ns, deadline_ns: period_ns, jitter_ns: 0, extra_ns: 0 };
            let program = builder.program(repeat(None, vec![release, Op::Run { ns: wcet_ns }]))?;
            let mut task = TaskSpec::new(format!("bench{}", cpu * per_cpu + i as u64), "bench", program);
            task.timing = Some(Timing { period_ns, deadline_ns: period_ns, wcet_ns });
            builder.task(task)?;
        }
    }
    Ok(())
}
