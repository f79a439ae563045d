// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The only place where Rust meets the C core: shared types, and a safe wrapper over `core/`. The modules [`ffi`], [`runtime`]
//! and [`tables`] are for [`host`], which makes a handle for several threads of them; others use [`Sched`] or that handle.

#[cfg(feature = "bpf")]
mod bpf;
pub mod catalog;
pub mod clamps;
mod classes;
pub mod clocksync;
mod counters;
pub mod cpuset;
pub mod crash;
mod domains;
mod elf;
pub mod event;
pub mod ffi;
pub mod gang;
pub mod heed;
pub mod host;
#[cfg(test)]
mod layout;
pub mod loaded;
pub mod memory;
mod outside;
mod pelt;
pub mod plan;
pub mod planfile;
pub mod raw;
pub mod runtime;
pub mod sched;
pub mod shape;
pub mod tables;
mod topic;

pub use catalog::{
    Catalog, Class, ComponentInfo, Kernel, Ordering, OwnTopic, ParamInfo, PortLabel, Relation, RelationKind,
    Unit,
};
pub use clamps::Clamps;
pub use classes::{HEADERS, catalog, class_table, classes_with_timer};
pub use counters::Counters;
pub use cpuset::{CpuSet, MAX_CPUS};
pub use heed::{Heed, Setting};
pub use outside::{Parts, Refusal};
pub use pelt::Pelt;
pub use plan::{InstanceIdx, PipeIdx, Plan, PlanCpu, PlanInstance, PlanPipe};
#[cfg(feature = "strict")]
pub use sched::strict_impatience;
pub use sched::{
    Config, Error, Msg, OpKind, OpRecord, OutMsg, Picked, Reply, Sched, SwapStats, TaskId, Topic, What,
    error_name, not_built, thread_time_ns,
};
pub use shape::{CpuShape, MachineShape};
pub use tables::Image;
pub use topic::{OWN_TOPICS, STATUS_QUERIES};

/// It will be read soon: the cache may fetch its first line meanwhile.
#[inline(always)]
pub fn soon<T>(what: &T) {
    fetch(std::ptr::from_ref(what).cast());
}

/// The same of whatever is at this address, if anything is.
#[inline(always)]
pub(crate) fn fetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which reads nothing and is legal for every address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
