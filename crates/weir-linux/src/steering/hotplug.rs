// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Switches CPUs offline and online, as root: `/sys/devices/system/cpu/cpuN/online`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const CPUS: &str = "/sys/devices/system/cpu";

/// The switches of a machine's CPUs.
#[derive(Clone, Debug)]
pub struct Hotplug(PathBuf);

impl Default for Hotplug {
    fn default() -> Self {
        Self(CPUS.into())
    }
}

impl Hotplug {
    /// Switches in another folder.
    #[cfg(test)]
    pub fn at(folder: &Path) -> Self {
        Self(folder.into())
    }

    fn switch(&self, cpu: u32) -> PathBuf {
        self.0.join(format!("cpu{cpu}/online"))
    }

    /// A CPU without a switch is there for good, if it is there.
    pub fn is_online(&self, cpu: u32) -> bool {
        match fs::read_to_string(self.switch(cpu)) {
            Ok(text) => text.trim() == "1",
            Err(_) => self.0.join(format!("cpu{cpu}")).is_dir(),
        }
    }

    /// Why it cannot be switched, in a sentence.
    pub fn obstacle(&self, cpu: u32) -> Option<String> {
        let switch = self.switch(cpu);
        (!Path::exists(&switch))
            .then(|| format!("CPU {cpu} cannot be switched: the kernel has no {}", switch.display()))
    }

    /// Returns when the CPU has come or gone, which may take a second.
    ///
    /// # Errors
    /// A sentence: the kernel refused, as where it is the last CPU, or one that a thread with a deadline is bound to.
    pub fn set(&self, cpu: u32, online: bool) -> Result<(), String> {
        if self.is_online(cpu) == online {
            return Ok(());
        }
        let errors = |e: io::Error| {
            let way = if online { "come online" } else { "go offline" };
            format!("the kernel does not let CPU {cpu} {way}: {e}")
        };
        fs::write(self.switch(cpu), if online { "1" } else { "0" }).map_err(errors)
    }
}
