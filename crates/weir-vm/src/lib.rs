// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A virtual machine whose kernel has sched_ext: fetch the kernel, boot it, run a command in it.
//!
//! [`kernel::ensure`] finds, downloads and checks a stock Debian kernel and caches it;
//! [`Layout`] turns a machine model into QEMU's options; [`run`] boots, runs a [`Job`] and returns
//! exit status, output and recordings in an [`Outcome`]. It installs nothing on the host and does not
//! need root: software emulation is the default, KVM is used if it works. `docs/vm.md` is the user's
//! page.

pub mod accel;
pub mod btf;
pub mod cache;
pub mod cpio;
mod error;
pub mod image;
mod initramfs;
pub mod kernel;
mod layout;
mod lines;
mod qemu;
mod run;
mod scratch;
mod suites;
pub mod tool;

pub use accel::Accel;
pub use error::{Error, ErrorKind, Result};
pub use initramfs::Files;
pub use layout::{Hotplug, Layout, MAX_CPUS};
pub use run::{Icount, Job, Outcome, Sinks, Spec, run};

/// How far a slow step is: a download, a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// A readable description of the present step.
    pub what: String,
    /// Bytes so far, or hundredths of a per cent where `total` is 10000.
    pub done: u64,
    /// The total; 0 if unknown.
    pub total: u64,
}

/// Called with every [`Step`]; must be quick.
pub type OnStep<'a> = &'a dyn Fn(&Step);
