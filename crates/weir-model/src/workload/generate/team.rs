// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A team of threads that spins at barriers, as OpenMP programs do, beside tasks that only compute.

use weir_core::CpuSet;
use weir_core::gang::Manifest;

use super::args::Args;
use super::{GeneratorInfo, param};
use crate::error::Error;
use crate::workload::build::{Builder, Kind, repeat};
use crate::workload::{BarrierCounter, GangSpec, Op, TaskSpec, Way};

pub(super) const TEAM: GeneratorInfo = GeneratorInfo {
    name: "team",
    summary: "an OpenMP-like team that spins at barriers, beside tasks that only compute; with slots it is a gang",
    params: &[
        param("threads", "16", "members of the team"),
        param("teams", "1", "teams side by side"),
        param("work", "50us", "computing of a member in a round"),
        param("imbalance", "10%", "up to this much more work, drawn again each round"),
        param("rounds", "0", "rounds; 0: without end"),
        param("spin", "50us", "CPU time for which a member spins at the barrier before it blocks"),
        param(
            "counter",
            "none",
            "counting at the barrier takes `none` of the time, or what lines cost: one `central` word, or a `tree`",
        ),
        param("hogs", "0", "tasks beside the teams that compute without end"),
        param("stagger", "1ms", "each of them starts so much after the one before"),
        param(
            "pin",
            "0",
            "of that many CPUs: bind members to the first ones, those tasks to the last ones; 0: bind nothing",
        ),
        param("slot", "0", "gangs: the length of a slot; 0: no gangs"),
        param("period", "0", "gangs: the period of the slots"),
        param("release", "0", "gangs: the first slot is not before this time"),
        param("outside", "run", "gangs: between slots members `run` as best effort, or `wait`"),
        param("way", "locked", "gangs: what begins and ends slots: locked, central, daemon or slurm"),
        param("cut", "true", "gangs: if they do not fit, cut all slots in equal proportion; false: refuse"),
    ],
};

/// Most CPU time that a member spins, ns.
const MOST_SPIN: u64 = 3_600_000_000_000;

/// As manifests have times.
fn ms(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000)
}

pub(super) fn team(args: &Args<'_>, builder: &mut Builder, _seed: u64) -> Result<(), Error> {
    let threads = args.count("threads", 1, weir_core::gang::MAX_CPUS as u64)?;
    let teams = args.count("teams", 1, weir_core::gang::MAX_GANGS as u64)?;
    let work = args.ns("work", 1)?;
    let imbalance = args.share("imbalance", 0.0, 100.0)?;
    let rounds = args.count("rounds", 0, 1_000_000_000)?;
    let spin = args.ns("spin", 0)?;
    let hogs = args.count("hogs", 0, 1_000_000)?;
    let (slot, period, release) = (args.ns("slot", 0)?, args.ns("period", 0)?, args.ns("release", 0)?);
    let (cut, stagger) = (args.flag("cut")?, args.ns("stagger", 0)?);
    let counter = [None, Some(BarrierCounter::Central), Some(BarrierCounter::Tree)]
        [args.choice("counter", &["none", "central", "tree"])?];
    let way = Way::ALL[args.choice("way", &Way::ALL.map(Way::name))?];
    let outside = ["run", "wait"][args.choice("outside", &["run", "wait"])?];
    let pin = args.count("pin", 0, weir_core::MAX_CPUS.into())?;
    let bound = |cpu: u64| (pin > 0).then(|| [cpu as u32].into_iter().collect::<CpuSet>());
    if spin > MOST_SPIN {
        return Err(args.wrong("spin", "it spins for more than an hour", "write at most `3600s`"));
    }
    if stagger > MOST_SPIN {
        return Err(args.wrong("stagger", "more than an hour", "write at most `3600s`"));
    }
    builder.room_for_tasks(threads * teams + hogs)?;
    let extra = (work as f64 * imbalance) as u64;
    let run =
        if extra == 0 { Op::Run { ns: work } } else { Op::RunBetween { min_ns: work, max_ns: work + extra } };
    for n in 0..teams {
        let name = if teams == 1 { "team".to_string() } else { format!("team{n}") };
        let barrier = builder.object(Kind::Barrier, &name);
        builder.workload.barriers[barrier as usize].1 = threads as u32;
        builder.workload.barrier_spin.insert(barrier, spin);
        if let Some(counter) = counter {
            builder.workload.barrier_counter.insert(barrier, counter);
        }
        let mut ops = repeat((rounds > 0).then_some(rounds), vec![run.clone(), Op::Barrier { barrier }]);
        let first = builder.workload.tasks.len() as u32;
        if slot > 0 {
            let (slot, period, release) = (ms(slot), ms(period), ms(release));
            let text = format!(
                "name {name}\nthreads {threads}\noutside {outside}\nB 0\nH {slot} {period} {slot} {release}\n"
            );
            let manifest = Manifest::parse(&text).map_err(|fault| {
                let key = if fault.what.contains("deadline") || fault.what.contains("number") {
                    "period"
                } else {
                    "slot"
                };
                args.wrong(
                    key,
                    format!("as a manifest, `H {slot} {period} {slot} {release}`: {}", fault.what),
                    fault.remedy,
                )
            })?;
            let members = (first..first + threads as u32).collect();
            builder.workload.gangs.push(GangSpec { manifest, cut, way, members });
        }
        let follower = builder.program(ops.clone())?;
        if slot > 0 {
            ops.insert(0, Op::Phase { phase: 1 });
        }
        let leader = builder.program(ops)?;
        for i in 0..threads {
            let program = if i == 0 { &leader } else { &follower };
            let spec = TaskSpec::new(format!("{name}-{i}"), name.clone(), program.clone());
            builder.task(TaskSpec { cpus: bound(i % pin.max(1)), ..spec })?;
        }
    }
    if hogs > 0 {
        let program = builder.program(repeat(None, vec![Op::Run { ns: 10_000_000 }]))?;
        for i in 0..hogs {
            let spec = TaskSpec::new(format!("hog{i}"), "hogs", program.clone());
            let cpus = bound(pin.max(1) - 1 - i % pin.max(1));
            builder.task(TaskSpec { start_ns: Some(i * stagger), cpus, ..spec })?;
        }
    }
    Ok(())
}
