// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A team of threads that spins at barriers, as OpenMP programs do, beside tasks that only compute.

use weir_core::CpuSet;
use weir_core::gang::{Change, Manifest};

use super::args::Args;
use super::{GeneratorInfo, ParamInfo, param};
use crate::error::Error;
use crate::rng::Rng;
use crate::units::{TIME, show};
use crate::workload::build::{Builder, Kind, repeat};
use crate::workload::{BarrierCounter, BarrierWait, GangSpec, Op, TaskSpec, Timing, Way};

pub(super) const TEAM: GeneratorInfo = GeneratorInfo {
    name: "team",
    summary: "an OpenMP-like team that spins at barriers, beside tasks that only compute; with slots it is a gang",
    params: &[
        param("threads", "16", "members of the team"),
        param("teams", "1", "teams side by side"),
        param("work", "50us", "computing of a member in a round"),
        param("imbalance", "10%", "up to this much more work, drawn again each round"),
        param("rounds", "0", "rounds, or those of a burst; 0: without end"),
        param(
            "every",
            "0",
            "a burst of rounds begins so often, as a request for a parallel service; 0: no bursts",
        ),
        param("bursts", "0", "bursts; 0: without end"),
        param("spin", "50us", "CPU time for which a member spins at the barrier before it blocks"),
        param(
            "counter",
            "none",
            "counting at the barrier takes `none` of the time, or what lines cost: one `central` word, or a `tree`",
        ),
        param("hogs", "0", "tasks beside the teams that compute without end"),
        param("stagger", "1ms", "each of them starts so much after the one before"),
        param(
            "scatter",
            "0",
            "all tasks start later by a time up to this, drawn with the run's seed for each of them",
        ),
        param(
            "pin",
            "0",
            "of that many CPUs: bind members to the first ones, those tasks to the last ones; 0: bind nothing",
        ),
        Slots::SLOT,
        Slots::PERIOD,
        Slots::RELEASE,
        Slots::OUTSIDE,
        Slots::CORES,
        Slots::WAY,
        Slots::CUT,
    ],
};

/// The longest spinning, burst or stagger, ns.
const MOST_TIME: u64 = 3_600_000_000_000;

/// Random numbers for the times at which tasks start.
const START_STREAM: u64 = 0x7363_6174_7465_7200;

/// As manifests have times.
fn ms(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000)
}

/// What makes threads a gang.
pub(super) struct Slots {
    slot: String,
    period: String,
    release: String,
    outside: &'static str,
    cores: &'static str,
    way: Way,
    cut: bool,
}

impl Slots {
    pub const SLOT: ParamInfo = param("slot", "0", "gangs: the length of a slot; 0: no gangs");
    pub const PERIOD: ParamInfo = param("period", "0", "gangs: the period of the slots");
    pub const RELEASE: ParamInfo = param("release", "0", "gangs: the first slot is not before this time");
    pub const OUTSIDE: ParamInfo =
        param("outside", "run", "gangs: between slots members `run` as best effort, or `wait`");
    pub const CORES: ParamInfo = param(
        "cores",
        "shared",
        "gangs: members share cores in their slots with anybody (`shared`), with members alone (`whole`), or with nobody, one a core (`one`)",
    );
    pub const WAY: ParamInfo =
        param("way", "locked", "gangs: what begins and ends slots: locked, central, daemon or slurm");
    pub const CUT: ParamInfo =
        param("cut", "true", "gangs: if they do not fit, cut all slots in equal proportion; false: refuse");

    /// What a call says; none: no gang.
    pub fn of(args: &Args<'_>) -> Result<Option<Self>, Error> {
        let (slot, period, release) = (args.ns("slot", 0)?, args.ns("period", 0)?, args.ns("release", 0)?);
        let way = Way::ALL[args.choice("way", &Way::ALL.map(Way::name))?];
        let outside = ["run", "wait"][args.choice("outside", &["run", "wait"])?];
        let cores = ["shared", "whole", "one"][args.choice("cores", &["shared", "whole", "one"])?];
        let cut = args.flag("cut")?;
        if slot > 0 && period == 0 {
            return Err(args.wrong(
                "slot",
                "slots without a period",
                format!(
                    "write how often they come, for example `period={}`",
                    show(slot.saturating_mul(2), TIME)
                ),
            ));
        }
        if slot == 0
            && let Some((key, _)) =
                [("period", period), ("release", release)].into_iter().find(|(_, ns)| *ns > 0)
        {
            return Err(args.wrong(
                key,
                format!("`{key}` without slots: the threads are no gang"),
                "write how long the slots are, for example `slot=20ms`",
            ));
        }
        let all = Self { slot: ms(slot), period: ms(period), release: ms(release), outside, cores, way, cut };
        Ok((slot > 0).then_some(all))
    }

    /// The tasks from `first` on are a gang: best effort in phase 0, slots in phase 1.
    pub fn gang(
        &self,
        args: &Args<'_>,
        builder: &mut Builder,
        name: &str,
        first: u32,
        threads: u64,
    ) -> Result<(), Error> {
        let Self { slot, period, release, outside, cores, way, cut } = self;
        let text = format!(
            "name {name}\nthreads {threads}\noutside {outside}\ncores {cores}\nB 0\nH {slot} {period} {slot} {release}\n"
        );
        let manifest = Manifest::parse(&text).map_err(|fault| {
            let of_period = ["deadline", "period", "number"].iter().any(|w| fault.what.contains(w));
            let key = if of_period { "period" } else { "slot" };
            args.wrong(
                key,
                format!("as a manifest, `H {slot} {period} {slot} {release}`: {}", fault.what),
                fault.remedy,
            )
        })?;
        let members = (first..first + threads as u32).collect();
        builder.workload.gangs.push(GangSpec { manifest, cut: *cut, way: *way, members });
        Ok(())
    }
}

/// Tasks beside the others that compute without end; bound to the last ones of `pin` CPUs, or not at all if that is 0. `later`: how much later
/// than staggered each one starts.
pub(super) fn hogs(
    args: &Args<'_>,
    builder: &mut Builder,
    pin: u64,
    mut later: impl FnMut() -> u64,
) -> Result<(), Error> {
    let hogs = args.count("hogs", 0, 1_000_000)?;
    let stagger = args.ns("stagger", 0)?;
    if stagger > MOST_TIME {
        return Err(args.wrong("stagger", "more than an hour", "write at most `3600s`"));
    }
    if hogs == 0 {
        return Ok(());
    }
    builder.room_for_tasks(hogs)?;
    let program = builder.program(repeat(None, vec![Op::Run { ns: 10_000_000 }]))?;
    for i in 0..hogs {
        let spec = TaskSpec::new(format!("hog{i}"), "hogs", program.clone());
        let cpus = bound(pin, pin.max(1) - 1 - i % pin.max(1));
        builder.task(TaskSpec { start_ns: Some(i * stagger + later()), cpus, ..spec })?;
    }
    Ok(())
}

/// A CPU, if there is binding at all.
fn bound(pin: u64, cpu: u64) -> Option<CpuSet> {
    (pin > 0).then(|| [cpu as u32].into_iter().collect())
}

pub(super) fn team(args: &Args<'_>, builder: &mut Builder, seed: u64) -> Result<(), Error> {
    let threads = args.count("threads", 1, weir_core::gang::MAX_CPUS as u64)?;
    let teams = args.count("teams", 1, weir_core::gang::MAX_GANGS as u64)?;
    let work = args.ns("work", 1)?;
    let imbalance = args.share("imbalance", 0.0, 100.0)?;
    let rounds = args.count("rounds", 0, 1_000_000_000)?;
    let (every, bursts) = (args.ns("every", 0)?, args.count("bursts", 0, 1_000_000_000)?);
    let spin = args.ns("spin", 0)?;
    let counter = [None, Some(BarrierCounter::Central), Some(BarrierCounter::Tree)]
        [args.choice("counter", &["none", "central", "tree"])?];
    let pin = args.count("pin", 0, weir_core::MAX_CPUS.into())?;
    let slots = Slots::of(args)?;
    let scatter = args.ns("scatter", 0)?;
    let mut draws = Rng::new(seed, START_STREAM);
    if scatter > MOST_TIME {
        return Err(args.wrong("scatter", "more than an hour", "write at most `3600s`"));
    }
    if spin > MOST_TIME {
        return Err(args.wrong("spin", "it spins for more than an hour", "write at most `3600s`"));
    }
    if every > MOST_TIME {
        return Err(args.wrong("every", "more than an hour", "write at most `3600s`"));
    }
    if every > 0 && rounds == 0 {
        return Err(args.wrong(
            "every",
            "a burst has no end",
            "write how many `rounds` it has, for example `rounds=220`",
        ));
    }
    if every == 0 && bursts > 0 {
        return Err(args.wrong("bursts", "bursts without a period", "write how often they come: `every=1s`"));
    }
    builder.room_for_tasks(threads * teams)?;
    let extra = (work as f64 * imbalance) as u64;
    let run =
        if extra == 0 { Op::Run { ns: work } } else { Op::RunBetween { min_ns: work, max_ns: work + extra } };
    for n in 0..teams {
        let name = if teams == 1 { "team".to_string() } else { format!("team{n}") };
        let barrier = builder.object(Kind::Barrier, &name);
        builder.workload.barriers[barrier as usize].1 = threads as u32;
        builder.workload.barrier_wait.insert(barrier, BarrierWait::Spin { ns: spin });
        if let Some(counter) = counter {
            builder.workload.barrier_counter.insert(barrier, counter);
        }
        let mut ops = repeat((rounds > 0).then_some(rounds), vec![run.clone(), Op::Barrier { barrier }]);
        let mut timing = None;
        if every > 0 {
            let (period_ns, deadline_ns) = (every, every);
            let wcet_ns = rounds.saturating_mul(work + extra).min(every);
            timing = Some(Timing { period_ns, deadline_ns, wcet_ns });
            let release = Op::Release { offset_ns: 0, period_ns, deadline_ns, jitter_ns: 0, extra_ns: 0 };
            ops.insert(0, release);
            ops = repeat((bursts > 0).then_some(bursts), ops);
        }
        let first = builder.workload.tasks.len() as u32;
        if let Some(slots) = &slots {
            slots.gang(args, builder, &name, first, threads)?;
        }
        let follower = builder.program(ops.clone())?;
        if slots.is_some() {
            ops.insert(0, Op::Gang { change: Change::Phase(1) });
        }
        let leader = builder.program(ops)?;
        for i in 0..threads {
            let program = if i == 0 { &leader } else { &follower };
            let spec = TaskSpec::new(format!("{name}-{i}"), name.clone(), program.clone());
            let start_ns = Some(draws.between(0, scatter));
            builder.task(TaskSpec { cpus: bound(pin, i % pin.max(1)), timing, start_ns, ..spec })?;
        }
    }
    hogs(args, builder, pin, || draws.between(0, scatter))
}
