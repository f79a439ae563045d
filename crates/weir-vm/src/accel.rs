// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Hardware virtualisation or emulation?
//!
//! `/dev/kvm` may exist and still be of no use (in containers and in virtual machines of some
//! clouds, guests die at their first instructions), so it is tried once with a real guest and the
//! result is kept until the computer is rebooted.

use std::fs::{self, OpenOptions};
use std::io;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::cache::Cache;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::Kernel;
use crate::layout::Layout;
use crate::run::{Job, Sinks, Spec, run};
use crate::{OnStep, Step, tool};

/// A guest that KVM runs needs about two seconds for this.
const PATIENCE: Duration = Duration::from_secs(15);

/// How the guest's instructions are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accel {
    /// KVM where it works, else emulation.
    Auto,
    /// KVM or nothing.
    Kvm,
    /// Emulation: slow, the same everywhere.
    Tcg,
}

impl Accel {
    /// True where KVM is to be used.
    pub fn is_kvm(self, cache: &Cache, kernel: &Kernel, stop: &AtomicBool, on_step: OnStep) -> Result<bool> {
        let device = || OpenOptions::new().read(true).write(true).open("/dev/kvm").map(|_| ());
        match self {
            Self::Tcg => Ok(false),
            Self::Kvm => device().map(|()| true).map_err(|e| {
                let help = match e.kind() {
                    io::ErrorKind::PermissionDenied => "join the group `kvm`, or use --accel tcg",
                    _ => "use --accel tcg",
                };
                Error::new(ErrorKind::Input, format!("KVM cannot be used: /dev/kvm: {}", reason(&e)))
                    .help(help)
            }),
            Self::Auto if device().is_err() => Ok(false),
            Self::Auto => {
                let key = key(kernel);
                if let Some(known) = recall(cache, &key) {
                    return Ok(known);
                }
                on_step(&Step { what: "trying KVM".into(), done: 0, total: 0 });
                let works = probe(cache, kernel, stop)?;
                remember(cache, &key, works);
                Ok(works)
            }
        }
    }
}

fn reason(e: &io::Error) -> String {
    let text = e.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// What the result depends on.
fn key(kernel: &Kernel) -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let qemu = tool::find("qemu-system-x86_64").and_then(|p| p.metadata().ok());
    let size = qemu.map_or(0, |m| m.len());
    format!("{} {size} {}", boot.trim(), kernel.version)
}

fn recall(cache: &Cache, key: &str) -> Option<bool> {
    let text = fs::read_to_string(cache.path("accel")).ok()?;
    match text.strip_prefix(key)?.trim() {
        "kvm" => Some(true),
        "tcg" => Some(false),
        _ => None,
    }
}

/// Forgetting costs one more try, so a failure to write is none.
fn remember(cache: &Cache, key: &str, works: bool) {
    let _ = fs::write(cache.path("accel"), format!("{key} {}\n", if works { "kvm" } else { "tcg" }));
}

/// Boot a guest that does nothing.
fn probe(cache: &Cache, kernel: &Kernel, stop: &AtomicBool) -> Result<bool> {
    let spec =
        Spec { kernel: kernel.clone(), layout: Layout::flat(1)?, memory_mib: 512, kvm: true, icount: None };
    let job = Job { command: vec!["true".into()], timeout: PATIENCE, ..Job::default() };
    match run(cache, &spec, &job, Sinks::none(), stop) {
        Ok(outcome) => Ok(outcome.status == 0),
        Err(e) if matches!(e.kind, ErrorKind::Guest | ErrorKind::Timeout) => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_kept_for_their_key() {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(dir.path()).expect("a cache");
        assert_eq!(recall(&cache, "a"), None);
        remember(&cache, "a", true);
        assert_eq!((recall(&cache, "a"), recall(&cache, "b")), (Some(true), None));
        remember(&cache, "a", false);
        assert_eq!(recall(&cache, "a"), Some(false));
    }
}
