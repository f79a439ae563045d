// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! hackbench: groups of senders and receivers that flood the run queues with short wake-ups.
//!
//! As the original does it: in each group every sender writes a message to each receiver in turn, as
//! often as there are loops; a receiver reads from its own channel until it has the messages of all
//! senders. One task creates all others, waits until all are ready, then lets them go at once.

use super::args::Args;
use super::{GeneratorInfo, param};
use crate::error::Error;
use crate::workload::build::{Builder, Kind, PIPE_BYTES, repeat};
use crate::workload::{Op, TaskSpec};

pub(super) const HACKBENCH: GeneratorInfo = GeneratorInfo {
    name: "hackbench",
    summary: "groups of senders and receivers that exchange short messages through pipes or sockets",
    params: &[
        param("groups", "10", "groups of senders and receivers"),
        param("fds", "20", "senders, and as many receivers, in a group"),
        param("loops", "100", "messages from each sender to each receiver"),
        param("bytes", "100", "size of a message"),
        param("mode", "pipe", "channel between them: pipe or socket"),
        param("work", "1us", "computing for each message, on either side"),
        param("create", "20us", "computing to create a task"),
        param("begin", "0us", "computing of a task before it is ready"),
    ],
};

/// Send buffer of a Unix socket in Linux, bytes.
const SOCKET_BUFFER: u64 = 212_992;

/// Bookkeeping that a message in a socket's buffer costs, bytes (`sk_buff` and rounding).
const MESSAGE_OVERHEAD: u64 = 668;

/// Bytes that a channel holds before its writer blocks.
fn capacity(socket: bool, bytes: u64) -> u64 {
    let room = if socket { SOCKET_BUFFER / (bytes + MESSAGE_OVERHEAD) * bytes } else { PIPE_BYTES };
    room.max(bytes)
}

pub(super) fn hackbench(args: &Args<'_>, builder: &mut Builder, _seed: u64) -> Result<(), Error> {
    let groups = args.count("groups", 1, 1_000_000)?;
    let fds = args.count("fds", 1, 10_000)?;
    let loops = args.count("loops", 1, 1_000_000_000)?;
    let bytes = args.bytes("bytes")?;
    let socket = args.choice("mode", &["pipe", "socket"])? == 1;
    let work = args.ns("work", 0)?;
    let create = args.ns("create", 0)?;
    let begin = args.ns("begin", 0)?;
    if bytes > 1 << 20 {
        return Err(args.wrong("bytes", "bytes is more than 1MiB", "write a size up to 1MiB"));
    }
    let tasks = groups * fds * 2;
    builder.room_for_tasks(tasks + 1)?;
    // Two steps of the creator a task, eight of each receiver, and the shared program of the senders.
    builder.room_for_ops(tasks * 2 + groups * fds * 8 + groups * (fds * 2 + 5))?;

    let start = builder.object(Kind::Barrier, "start");
    builder.workload.barriers[start as usize].1 = tasks as u32 + 1;
    let mut creator = Vec::with_capacity(tasks as usize * 2 + 1);
    for template in 1..=tasks as u32 {
        creator.push(Op::Run { ns: create });
        creator.push(Op::Fork { template });
    }
    creator.push(Op::Barrier { barrier: start });
    let creator = builder.program(creator)?;
    builder.task(TaskSpec::new("hackbench", "hackbench", creator))?;

    let ready =
        (begin > 0).then_some(Op::Run { ns: begin }).into_iter().chain([Op::Barrier { barrier: start }]);
    let room = capacity(socket, bytes);
    for g in 0..groups {
        let group = format!("group{g}");
        let first = builder.workload.channels.len() as u32;
        for r in 0..fds {
            builder.workload.channels.push((format!("group{g}.{r}"), room));
            let channel = first + r as u32;
            let body = vec![Op::Read { channel, bytes }, Op::Run { ns: work }];
            let mut ops: Vec<Op> = ready.clone().collect();
            ops.extend(repeat(Some(loops * fds), body));
            let program = builder.program(ops)?;
            let mut task = TaskSpec::new(format!("group{g}.receiver{r}"), group.clone(), program);
            task.start_ns = None;
            builder.task(task)?;
        }
        let mut body = Vec::with_capacity(fds as usize * 2);
        for r in 0..fds as u32 {
            body.push(Op::Run { ns: work });
            body.push(Op::Write { channel: first + r, bytes });
        }
        let mut ops: Vec<Op> = ready.clone().collect();
        ops.extend(repeat(Some(loops), body));
        let program = builder.program(ops)?;
        for s in 0..fds {
            let mut task = TaskSpec::new(format!("group{g}.sender{s}"), group.clone(), program.clone());
            task.start_ns = None;
            builder.task(task)?;
        }
    }
    Ok(())
}
