// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A runtime in Rust: what the framework needs from it ([`Runtime`]), and a scheduler that several threads call at once
//! ([`Host`]), each in the name of a CPU of its own ([`Cpu`]).
//!
//! Every scheduler has its own runtime; several of different kinds live in one program. A program that defines the functions
//! of `weir/runtime.h` itself, in C or in Rust, links as well: those behind this crate stay out then.
//!
//! The simulator needs none of this: it calls a [`weir_core::Sched`] from one thread, which takes no locks.
//!
//! ```
//! use weir_core::{Config, MachineShape};
//! use weir_core::host::{Host, RealTime};
//!
//! # let source = weir_lang::Source { name: "t.weir".into(), text: "entry -> head_queue -> cpus;".into() };
//! # let shape = MachineShape::flat(2);
//! # let plan = weir_lang::compile(&source, &weir_lang::NoIncludes, weir_core::catalog(), &shape, &[]).expect("right").plan;
//! let config = Config { nr_cpus: 2, arena_bytes: 64 << 20, checks: false, oplog: false, seed: 1 };
//! let host = Host::new(&config, RealTime::new())?;
//! let mut cpu = host.cpu(0).expect("nobody has it yet");
//! cpu.swap(&plan)?;
//! let task = cpu.task_new(7)?;
//! cpu.admit(task)?;
//! assert_eq!(cpu.pick()?.map(|p| p.task), Some(task));
//! cpu.block()?;
//! # Ok::<(), weir_core::Error>(())
//! ```

mod real_time;
mod shared;

use crate::OutMsg;
pub use real_time::RealTime;
pub use shared::{Cpu, Host};

/// What the framework needs from a runtime: `weir/runtime.h`. Called from within calls of the scheduler, by every thread that
/// makes some; it may not call a scheduler itself (such a call is refused). A panic in it ends the program.
pub trait Runtime: Send + Sync {
    /// Monotonic time, ns.
    fn now(&self) -> u64;

    /// A message for the runtime, such as a CPU that has to pick again. Called without locks.
    fn message(&self, msg: OutMsg);

    /// Call [`Cpu::timer_expired`] with `instance` at `at_ns`; 0 cancels that.
    fn timer(&self, instance: u32, at_ns: u64);
}
