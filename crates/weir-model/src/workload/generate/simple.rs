// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Small generators: barrier rounds, plain computing, cyclictest's wake-up measurement, and tokens in pipes.

use super::args::Args;
use super::{GeneratorInfo, param};
use crate::error::Error;
use crate::workload::build::{Builder, Kind, PIPE_BYTES, repeat};
use crate::workload::{Op, Policy, TaskSpec, Timing};

pub(super) const BARRIER: GeneratorInfo = GeneratorInfo {
    name: "barrier",
    summary: "threads that compute and meet at a barrier, round by round",
    params: &[
        param("threads", "8", "threads that meet"),
        param("loops", "100", "rounds"),
        param("work", "1ms", "computing of a thread in a round"),
        param("imbalance", "10%", "up to this much more work, drawn again each round"),
    ],
};

pub(super) fn barrier(args: &Args<'_>, builder: &mut Builder, _seed: u64) -> Result<(), Error> {
    let threads = args.count("threads", 1, 1_000_000)?;
    let loops = args.count("loops", 1, 1_000_000_000)?;
    let work = args.ns("work", 0)?;
    let imbalance = args.share("imbalance", 0.0, 100.0)?;
    builder.room_for_tasks(threads)?;
    let barrier = builder.object(Kind::Barrier, "round");
    builder.workload.barriers[barrier as usize].1 = threads as u32;
    let extra = (work as f64 * imbalance) as u64;
    let run =
        if extra == 0 { Op::Run { ns: work } } else { Op::RunBetween { min_ns: work, max_ns: work + extra } };
    let program = builder.program(repeat(Some(loops), vec![run, Op::Barrier { barrier }]))?;
    for i in 0..threads {
        builder.task(TaskSpec::new(format!("worker{i}"), "barrier", program.clone()))?;
    }
    Ok(())
}

pub(super) const COMPUTE: GeneratorInfo = GeneratorInfo {
    name: "compute",
    summary: "tasks that only compute, all at once",
    params: &[
        param("tasks", "8", "how many"),
        param("work", "100ms", "computing of each task"),
        param("chunks", "1", "pieces of the work; a task yields between them"),
    ],
};

pub(super) fn compute(args: &Args<'_>, builder: &mut Builder, _seed: u64) -> Result<(), Error> {
    let tasks = args.count("tasks", 1, crate::workload::build::MAX_TASKS)?;
    let work = args.ns("work", 1)?;
    let chunks = args.count("chunks", 1, 1_000_000_000)?;
    if chunks > work {
        let help = format!("write at most {work} chunks, one a nanosecond");
        return Err(args.wrong("chunks", "there are more chunks than nanoseconds of work", help));
    }
    builder.room_for_tasks(tasks)?;
    let piece = work / chunks;
    let mut ops = repeat(Some(chunks - 1), vec![Op::Run { ns: piece }, Op::Yield]);
    // The last piece has the remainder, so that the sum is exact.
    ops.push(Op::Run { ns: work - piece * (chunks - 1) });
    let program = builder.program(ops)?;
    for i in 0..tasks {
        builder.task(TaskSpec::new(format!("compute{i}"), "compute", program.clone()))?;
    }
    Ok(())
}

pub(super) const CYCLIC: GeneratorInfo = GeneratorInfo {
    name: "cyclic",
    summary: "cyclictest: real-time threads, one a CPU, whose wake-up latency is the result",
    params: &[
        param("threads", "4", "threads; thread i is pinned to CPU i"),
        param("interval", "1ms", "time between the wake-ups of thread 0"),
        param("distance", "500us", "each further thread's interval is longer by this"),
        param("priority", "80", "real-time priority (FIFO)"),
        param("work", "3us", "computing at each wake-up"),
        param("loops", "0", "wake-ups of each thread; 0 for ever"),
        param("pin", "true", "pin each thread to its CPU"),
    ],
};

pub(super) fn cyclic(args: &Args<'_>, builder: &mut Builder, _seed: u64) -> Result<(), Error> {
    let threads = args.count("threads", 1, u64::from(weir_core::cpuset::MAX_CPUS))?;
    let interval = args.ns("interval", 1000)?;
    let distance = args.ns("distance", 0)?;
    let priority = args.count("priority", 1, 99)? as i32;
    let work = args.ns("work", 0)?;
    let loops = args.count("loops", 0, 1_000_000_000_000)?;
    let pin = args.flag("pin")?;
    for i in 0..threads {
        let period_ns = interval + i * distance;
        if work > period_ns {
            return Err(args.wrong(
                "work",
                "work is longer than the interval",
                "shorten it, or lengthen `interval`",
            ));
        }
        let release = Op::Release {
            offset_ns: period_ns,
            period_ns,
            deadline_ns: period_ns,
            jitter_ns: 0,
            extra_ns: 0,
        };
        let ops = repeat((loops > 0).then_some(loops), vec![release, Op::Run { ns: work }]);
        let program = builder.program(ops)?;
        let mut task = TaskSpec::new(format!("cyclic{i}"), "cyclic", program);
        task.policy = Policy::Fifo;
        task.priority = 100 + priority;
        task.cpus = pin.then(|| [i as u32].into_iter().collect());
        task.timing = Some(Timing { period_ns, deadline_ns: period_ns, wcet_ns: work });
        builder.task(task)?;
    }
    Ok(())
}

pub(super) const TOKENS: GeneratorInfo = GeneratorInfo {
    name: "tokens",
    summary: "pairs of tasks that hand a token back and forth through two pipes: nothing but switching",
    params: &[
        param("pairs", "8", "pairs of tasks"),
        param("loops", "1000", "rounds of each pair; 0 for ever"),
        param("work", "500ns", "computing for each pass of the token: a read and a write"),
        param("bytes", "4", "size of the token"),
    ],
};

/// As Unixbench's pipe-based context switching does it, with many pairs at once.
pub(super) fn tokens(args: &Args<'_>, builder: &mut Builder, _seed: u64) -> Result<(), Error> {
    let pairs = args.count("pairs", 1, 1_000_000)?;
    let loops = args.count("loops", 0, 1_000_000_000_000)?;
    let work = args.ns("work", 1)?;
    let bytes = args.bytes("bytes")?;
    if bytes == 0 || bytes > PIPE_BYTES {
        return Err(args.wrong("bytes", "bytes is not between 1 and 64KiB", "Unixbench has 4"));
    }
    builder.room_for_tasks(pairs * 2)?;
    let loops = (loops > 0).then_some(loops);
    for i in 0..pairs {
        let there = builder.object(Kind::Channel, &format!("there{i}"));
        let back = builder.object(Kind::Channel, &format!("back{i}"));
        let run = Op::Run { ns: work };
        let first = vec![run.clone(), Op::Write { channel: there, bytes }, Op::Read { channel: back, bytes }];
        let second = vec![Op::Read { channel: there, bytes }, run, Op::Write { channel: back, bytes }];
        for (name, body) in [("first", first), ("second", second)] {
            let program = builder.program(repeat(loops, body))?;
            builder.task(TaskSpec::new(format!("{name}{i}"), format!("pair{i}"), program))?;
        }
    }
    Ok(())
}
