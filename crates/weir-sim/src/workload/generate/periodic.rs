// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Sets of periodic tasks with random utilizations and periods.

use super::args::Args;
use super::taskset::{rand_fixed_sum, uunifast, uunifast_discard};
use super::{GeneratorInfo, param};
use crate::error::Error;
use crate::workload::build::{Builder, plain_task, repeat};
use crate::workload::dice::Dice;
use crate::workload::{Op, Timing};

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
        param("dist", "loguniform", "distribution of the periods: loguniform or uniform"),
        param("method", "uunifast", "utilizations by uunifast (with discarding) or randfixedsum"),
        param(
            "deadline",
            "implicit",
            "deadlines: implicit (the period) or constrained (between computing time and period)",
        ),
        param("offset", "zero", "first releases: zero (all at once) or random (within the first period)"),
        param("jitter", "0", "releases come late by up to this, drawn anew each time"),
        param("jobs", "0", "jobs of each task; 0 for ever"),
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

/// How periods are drawn.
struct Periods {
    min: u64,
    max: u64,
    grain: u64,
    log: bool,
}

impl Periods {
    fn parse(args: &Args<'_>, grain: u64, log: bool) -> Result<Self, Error> {
        let (min, max) = (args.ns("pmin", 1_000)?, args.ns("pmax", 1_000)?);
        if min > max {
            return Err(args.wrong("pmin", "pmin is longer than pmax", "swap them"));
        }
        if grain > max {
            return Err(args.wrong("grain", "grain is longer than pmax", "choose a finer grain"));
        }
        Ok(Self { min, max, grain, log })
    }

    fn draw(&self, dice: &mut Dice) -> u64 {
        if self.log {
            dice.log_uniform(self.min, self.max, self.grain)
        } else {
            dice.uniform(self.min, self.max, self.grain)
        }
    }
}

fn seed_of(args: &Args<'_>, seed: u64) -> Result<u64, Error> {
    if args.text("seed") == "run" { Ok(seed) } else { args.count("seed", 0, u64::MAX) }
}

pub(super) fn periodic(args: &Args<'_>, builder: &mut Builder, seed: u64) -> Result<(), Error> {
    let n = args.count("tasks", 1, 1_000_000)? as usize;
    let total = args.share("util", 0.0, 4096.0)?;
    let most = args.share("umax", 0.0, 1.0)?;
    let log = args.choice("dist", &["loguniform", "uniform"])? == 0;
    let fixed_sum = args.choice("method", &["uunifast", "randfixedsum"])? == 1;
    let constrained = args.choice("deadline", &["implicit", "constrained"])? == 1;
    let random_offset = args.choice("offset", &["zero", "random"])? == 1;
    let jitter_ns = args.ns("jitter", 0)?;
    let jobs = args.count("jobs", 0, 1_000_000_000_000)?;
    let periods = Periods::parse(args, args.ns("grain", 1)?, log)?;
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
        let period_ns = periods.draw(&mut dice);
        let wcet_ns = ((period_ns as f64 * share) as u64).clamp(1, period_ns);
        let deadline_ns = if constrained { dice.between(wcet_ns, period_ns) } else { period_ns };
        let offset_ns = if random_offset { dice.between(0, period_ns - 1) } else { 0 };
        let release = Op::Release { offset_ns, period_ns, deadline_ns, jitter_ns, extra_ns: 0 };
        let ops = repeat((jobs > 0).then_some(jobs), vec![release, Op::Run { ns: wcet_ns }]);
        let program = builder.program(ops)?;
        let mut task = plain_task(format!("periodic{i}"), "periodic", program);
        task.timing = Some(Timing { period_ns, deadline_ns, wcet_ns });
        builder.task(task)?;
    }
    Ok(())
}

pub(super) fn bench(args: &Args<'_>, builder: &mut Builder, seed: u64) -> Result<(), Error> {
    let cpus = args.count("cpus", 1, u64::from(weir_core::cpuset::MAX_CPUS))?;
    let load = args.share("load", 0.001, 1.0)?;
    let per_cpu = args.count("per_cpu", 1, 10_000)?;
    let periods = Periods::parse(args, 1_000, false)?;
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
            let mut task = plain_task(format!("bench{}", cpu * per_cpu + i as u64), "bench", program);
            task.timing = Some(Timing { period_ns, deadline_ns: period_ns, wcet_ns });
            builder.task(task)?;
        }
    }
    Ok(())
}
