// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The pipeline of source 0, section 8.8: stages on one CPU that wait for each other by spinning.
//!
//! Forward, each stage waits for the one before it; backward, for the one after it. A stage that has
//! done its part waits at a barrier, without spinning, until the phase is over. The stage that ends a
//! phase shows a marker first, on which a scheduler can be changed: first come first served suits the
//! way forward, last come first served the way back.

use super::args::Args;
use super::{GeneratorInfo, param};
use crate::error::Error;
use crate::workload::build::{Builder, Kind, repeat};
use crate::workload::{Op, TaskSpec};

pub(super) const PIPELINE: GeneratorInfo = GeneratorInfo {
    name: "pipeline",
    summary: "stages that wait for each other by spinning, forward then backward, on one CPU",
    params: &[
        param("threads", "8", "stages of the pipeline"),
        param("direction", "both", "forward, backward, or both in turn"),
        param("loops", "1", "how often the pipeline is passed"),
        param("work", "1ms", "computing of a stage in a phase"),
        param("create", "0", "from the creation of one stage to that of the next"),
        param("spin", "true", "wait by spinning; false blocks instead"),
        param("cpu", "0", "the CPU of all stages, or any"),
        param("marker", "true", "show a marker at the begin of each phase, and at the end of a single pass"),
    ],
};

pub(super) fn pipeline(args: &Args<'_>, builder: &mut Builder, _seed: u64) -> Result<(), Error> {
    let n = args.count("threads", 1, 100_000)?;
    let directions: &[bool] = match args.choice("direction", &["forward", "backward", "both"])? {
        0 => &[true],
        1 => &[false],
        _ => &[true, false],
    };
    let loops = args.count("loops", 1, 1_000_000_000)?;
    let work = args.ns("work", 0)?;
    let create = args.ns("create", 0)?;
    let spin = args.flag("spin")?;
    let marker = args.flag("marker")?;
    let cpu = args.cpu("cpu")?;
    builder.room_for_tasks(n)?;
    builder.room_for_ops(n * 12)?;

    let name_of = |forward: bool| if forward { "forward" } else { "backward" };
    // Rules distinguish the phases by number: MARKER = 1 forward, 2 backward, 0 when a single pass is over.
    let mark = |forward: Option<bool>| Op::Marker {
        text: forward.map_or("end", name_of).to_string(),
        number: forward.map_or(0, |f| if f { 1 } else { 2 }),
    };
    let turn = builder.object(Kind::Barrier, "turn");
    builder.workload.barriers[turn as usize].1 = n as u32;
    // How a stage learns that its predecessor is done, by phase and stage.
    let mut done = Vec::new();
    for &forward in directions {
        let kind = if spin { Kind::Flag } else { Kind::Channel };
        let list: Vec<u32> =
            (0..n).map(|i| builder.object(kind, &format!("{}{i}", name_of(forward)))).collect();
        done.push(list);
    }
    for i in 0..n {
        let mut body = Vec::new();
        for (phase, &forward) in directions.iter().enumerate() {
            let first = if forward { 0 } else { n - 1 };
            let last = n - 1 - first;
            if i != first {
                let before = done[phase][if forward { i - 1 } else { i + 1 } as usize];
                body.push(if spin {
                    Op::SpinUntil { flag: before, value: 1, per_iteration: loops > 1 }
                } else {
                    Op::Read { channel: before, bytes: 1 }
                });
            }
            body.push(Op::Run { ns: work });
            if i != last {
                let mine = done[phase][i as usize];
                body.push(if spin {
                    Op::Raise { flag: mine, by: 1 }
                } else {
                    Op::Write { channel: mine, bytes: 1 }
                });
            }
            if i == last && marker && directions.len() > 1 {
                let over = loops == 1 && phase + 1 == directions.len();
                body.push(mark((!over).then(|| directions[(phase + 1) % directions.len()])));
            }
            body.push(Op::Barrier { barrier: turn });
        }
        let mut ops = Vec::new();
        if i == 0 && marker {
            ops.push(mark(Some(directions[0])));
        }
        ops.extend(repeat(Some(loops), body));
        let program = builder.program(ops)?;
        let mut task = TaskSpec::new(format!("stage{i}"), "pipeline", program);
        task.start_ns = Some(create.saturating_mul(i));
        task.cpus = cpu.map(|c| [c].into_iter().collect());
        builder.task(task)?;
    }
    Ok(())
}
