// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Runweir in the live Linux kernel: loads the core as a sched_ext scheduler, switches topologies
//! under load, and tells what goes on inside without stopping anything.

pub mod event;
pub mod record;
pub mod snapshot;

pub use event::{EventSink, LiveEvent, LiveEventKind};
pub use snapshot::{
    CpuView, InstanceView, PipeView, Snapshot, SnapshotSource, SwapReport, TaskState, TaskView, Totals,
};
