// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A solver with the communication of NAS's LU: threads in a row pass planes on, up and then down, and wait for their neighbours only.

use weir_core::gang::Change;

use super::args::Args;
use super::team::{Slots, hogs};
use super::{GeneratorInfo, param};
use crate::error::Error;
use crate::workload::build::{Builder, Kind, repeat};
use crate::workload::{Op, TaskSpec};

pub(super) const LU: GeneratorInfo = GeneratorInfo {
    name: "lu",
    summary: "a solver like NAS's LU: a row of threads that pass planes on, up and down, beside tasks that only compute; with slots it is a gang",
    params: &[
        param("threads", "16", "threads in the row"),
        param("steps", "10", "steps, each of a sweep up and one down; 0: without end"),
        param("planes", "64", "planes in a sweep"),
        param("work", "100us", "computing of a thread on a plane"),
        param(
            "spin",
            "true",
            "wait for a neighbour by spinning, as OpenMP programs do; false blocks, as processes that exchange messages",
        ),
        param("hogs", "0", "tasks beside the solver that compute without end"),
        param("stagger", "1ms", "each of them starts so much after the one before"),
        Slots::SLOT,
        Slots::PERIOD,
        Slots::RELEASE,
        Slots::OUTSIDE,
        Slots::CORES,
        Slots::WAY,
        Slots::CUT,
    ],
};

/// How a thread learns that a neighbour has done a plane.
struct Passing {
    spin: bool,
    planes: u64,
    /// By direction (up, down), thread, and, where threads spin, plane.
    objects: [Vec<Vec<u32>>; 2],
}

impl Passing {
    fn new(builder: &mut Builder, threads: u64, planes: u64, spin: bool) -> Self {
        let objects = ["up", "down"].map(|way| {
            (0..threads)
                .map(|i| match spin {
                    true => {
                        (0..planes).map(|p| builder.object(Kind::Flag, &format!("{way}{i}.{p}"))).collect()
                    }
                    false => vec![builder.object(Kind::Channel, &format!("{way}{i}"))],
                })
                .collect()
        });
        Self { spin, planes, objects }
    }

    /// A sweep: each plane comes from a thread, if there is one, and goes to one.
    fn sweep(&self, way: usize, me: u64, from: Option<u64>, to: Option<u64>, work: u64) -> Vec<Op> {
        let of = |i: u64| &self.objects[way][i as usize];
        if !self.spin {
            let mut body: Vec<Op> =
                from.map(|i| Op::Read { channel: of(i)[0], bytes: 1 }).into_iter().collect();
            body.push(Op::Run { ns: work });
            body.extend(to.map(|_| Op::Write { channel: of(me)[0], bytes: 1 }));
            return repeat(Some(self.planes), body);
        }
        // A flag for each plane, because flags count the iterations of the loop around, which is that of the steps.
        let plane = |p: usize| {
            let before = from.map(|i| Op::SpinUntil { flag: of(i)[p], value: 1, per_iteration: true });
            let after = to.map(|_| Op::Raise { flag: of(me)[p], by: 1 });
            before.into_iter().chain([Op::Run { ns: work }]).chain(after)
        };
        (0..self.planes as usize).flat_map(plane).collect()
    }
}

pub(super) fn lu(args: &Args<'_>, builder: &mut Builder, _seed: u64) -> Result<(), Error> {
    let threads = args.count("threads", 1, weir_core::gang::MAX_CPUS as u64)?;
    let steps = args.count("steps", 0, 1_000_000_000)?;
    let planes = args.count("planes", 1, 100_000)?;
    let work = args.ns("work", 1)?;
    let spin = args.flag("spin")?;
    let slots = Slots::of(args)?;
    if spin {
        builder.room_for_ops(threads * planes * 6)?;
    }
    let passing = Passing::new(builder, threads, planes, spin);
    for i in 0..threads {
        let (west, east) = (i.checked_sub(1), (i + 1 < threads).then_some(i + 1));
        let mut body = passing.sweep(0, i, west, east, work);
        body.extend(passing.sweep(1, i, east, west, work));
        let mut ops = repeat((steps > 0).then_some(steps), body);
        if i == 0 && slots.is_some() {
            ops.insert(0, Op::Gang { change: Change::Phase(1) });
        }
        let program = builder.program(ops)?;
        builder.task(TaskSpec::new(format!("lu{i}"), "lu", program))?;
    }
    if let Some(slots) = slots {
        slots.gang(args, builder, "lu", 0, threads)?;
    }
    hogs(args, builder, 0, || 0)
}
