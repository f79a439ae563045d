// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The folder of one virtual machine: its first file system, sockets, console.
//!
//! The owner holds a lock on it. A folder whose lock is free belongs to a process that was killed;
//! the next machine removes it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::error::{Error, Result};

/// Begin of the folders' names.
const PREFIX: &str = "runweir-vm-";

/// A folder without a lock file may be this young before it counts as left behind.
const GRACE: Duration = Duration::from_secs(60);

/// Gone with everything in it when dropped, unless kept.
pub struct Scratch {
    dir: TempDir,
    _lock: File,
}

impl Scratch {
    pub fn new() -> Result<Self> {
        let place = std::env::temp_dir();
        remove_left_behind(&place);
        let failed = |e: std::io::Error| Error::io("make a folder in", &place, &e);
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&place).map_err(failed)?;
        let lock = File::create(dir.path().join("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        Ok(Self { dir, _lock: lock })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Leave the folder where it is and say where.
    pub fn keep(mut self) -> PathBuf {
        self.dir.disable_cleanup(true);
        // The lock goes, so the mark must too: what is kept is not left behind.
        let _ = fs::remove_file(self.dir.path().join("lock"));
        let _ = fs::write(self.dir.path().join("kept"), "");
        self.dir.path().to_path_buf()
    }
}

/// Remove folders of dead owners; a folder that cannot be removed belongs to another user.
fn remove_left_behind(place: &Path) {
    for path in fs::read_dir(place).into_iter().flatten().flatten().map(|e| e.path()) {
        let ours = path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
        if !ours || path.join("kept").exists() {
            continue;
        }
        let dead = match File::open(path.join("lock")) {
            Ok(lock) => lock.try_lock().is_ok(),
            Err(_) => {
                let age = path.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
                age.is_some_and(|a| a > GRACE)
            }
        };
        if dead {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_dead_are_removed() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = |name: &str, files: &[&str]| {
            let dir = place.path().join(name);
            fs::create_dir(&dir).expect("a folder");
            files.iter().for_each(|f| fs::write(dir.join(f), "").expect("written"));
            dir
        };
        let dead = folder("runweir-vm-dead", &["lock", "console"]);
        let kept = folder("runweir-vm-kept", &["kept"]);
        let young = folder("runweir-vm-young", &[]);
        let other = folder("something-else", &["lock"]);
        let alive = folder("runweir-vm-alive", &["lock"]);
        let lock = File::open(alive.join("lock")).expect("there");
        lock.lock().expect("locked");
        remove_left_behind(place.path());
        assert!(!dead.exists());
        assert!(kept.exists() && young.exists() && other.exists() && alive.exists());
    }

    #[test]
    fn a_scratch_folder_goes_or_stays() {
        let scratch = Scratch::new().expect("a folder");
        let path = scratch.path("");
        assert!(path.is_dir());
        drop(scratch);
        assert!(!path.exists());
        let kept = Scratch::new().expect("a folder").keep();
        assert!(kept.is_dir());
        fs::remove_dir_all(kept).expect("removed");
    }
}
