// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A program's own threads under a Runweir policy: [`spawn`] a thread, set its attributes for the policy, and the topology decides
//! which thread has which CPU. Neither root nor a kernel module is needed; it runs on Linux. `docs/threads.md` is the guide.
//!
//! ```no_run
//! use weir_threads::{Builder, Plan, Runtime};
//!
//! let plan = Plan::compile("two.weir", "annotate priority;\nentry -> priority_order -> cpus;\n", 2)?;
//! let runtime = Runtime::open(&plan)?;
//! let urgent = Builder::new().priority(10).spawn(|| 42)?;
//! let other = weir_threads::spawn(|| weir_threads::yield_now())?;
//! assert_eq!(urgent.join().expect("it did not panic"), 42);
//! other.join().expect("it did not panic");
//! println!("{} dispatches under {}", runtime.stats().dispatches, runtime.policy());
//! # Ok::<(), weir_threads::Error>(())
//! ```
//!
//! Threads are *bound* threads: POSIX threads that run only while the policy gives them a CPU. Thread-local storage, panics, debuggers and
//! all libraries work in them. Put a call outside this crate that may block into [`blocking`], so that another thread gets the CPU
//! meanwhile. (Green threads share thread-local storage, on which Rust's standard library relies, so this crate does not offer them.)

mod error;
mod ffi;
pub mod foreign;
mod plan;
mod runtime;
mod stream;
pub mod sync;
mod thread;

pub use error::Error;
pub use plan::Plan;
pub use runtime::{Adopted, Options, Runtime, Stats, Swapped};
pub use stream::{Listener, Stream};
pub use thread::{
    Builder, JoinHandle, Thread, blocking, current, now, park, sleep, sleep_until, spawn, without_preemption,
    yield_now,
};

/// What functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;
