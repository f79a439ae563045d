// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Runweir in the live Linux kernel: loads the core as a sched_ext scheduler, switches topologies
//! under load, and shows its inner state without stopping it.

mod changes;
pub mod client;
pub mod clock;
mod control;
pub mod diagnose;
pub mod endpoint;
mod error;
pub mod event;
mod gangs;
pub mod gauges;
pub mod groups;
pub mod kept;
pub mod launch;
mod layout;
mod live;
pub mod machine;
mod memory;
pub mod metrics;
mod object;
pub mod pmu;
pub mod protocol;
mod prune;
pub mod record;
#[cfg(test)]
mod rig;
mod server;
pub mod snapshot;
pub mod steering;
mod view;
mod watchdog;

pub use changes::Change;
pub use control::{Control, compile};
pub use error::{Error, ErrorKind, Result};
pub use event::{EventSink, LiveEvent, LiveEventKind, Waker};
pub use live::{Ended, Live, Options, Selection};
pub use object::sources;
pub use server::DEFAULT_SOCKET;
pub use snapshot::{
    CpuView, InstanceView, PipeView, Snapshot, SnapshotSource, SwapReport, TaskState, TaskView, Totals,
};
pub use watchdog::Stall;
