// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Where fetched kernels and prepared archives are kept: `${XDG_CACHE_HOME:-~/.cache}/runweir/vm`.
//!
//! Every file appears by a rename, whole or not at all; a process that prepares a file holds a lock, so that two
//! programs do not download the same file twice. The folder may be deleted at any time.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::{Error, ErrorKind, Result};

/// Prepared archives kept; the least recently used go first.
const ARCHIVES: usize = 8;

/// Begin of the names of unfinished folders.
const UNFINISHED: &str = ".new-";

/// The cache folder.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// The user's cache.
    pub fn open() -> Result<Self> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|h| h.join(".cache")));
        let base = base.ok_or_else(|| {
            Error::new(
                ErrorKind::Input,
                "there is no place for the kernel: neither XDG_CACHE_HOME nor HOME is set",
            )
            .help("set one of them to a folder")
        })?;
        Self::at(&base.join("runweir/vm"))
    }

    /// A cache in a folder of one's own choice.
    pub fn at(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir).map_err(|e| Error::io("make the folder", dir, &e))?;
        Ok(Self { dir: dir.to_path_buf() })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Path of something in the cache.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Wait until no other process prepares files, and keep others out until the result is dropped.
    pub fn lock(&self) -> Result<File> {
        let path = self.path("lock");
        let file = File::create(&path).map_err(|e| Error::io("make", &path, &e))?;
        file.lock().map_err(|e| Error::io("lock", &path, &e))?;
        // What is unfinished now was left by a process that was killed.
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(file)
    }

    /// A folder for unfinished things on the cache's own file system; it vanishes when dropped. Only
    /// the holder of the lock may make one.
    pub fn scratch(&self) -> Result<tempfile::TempDir> {
        tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(&self.dir)
            .map_err(|e| Error::io("make a folder in", &self.dir, &e))
    }

    /// A file that depends on nothing but `key`: made by `make` unless it is there.
    pub fn archive(
        &self,
        kind: &str,
        key: &impl Hash,
        make: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<File> {
        // The hasher has fixed keys, so that the same inputs find the same file again.
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let path = self.path(&format!("{kind}-{:016x}.cpio", hasher.finish()));
        if let Some(file) = used(&path) {
            return Ok(file);
        }
        let _lock = self.lock()?;
        if let Some(file) = used(&path) {
            return Ok(file);
        }
        self.forget(ARCHIVES - 1);
        let scratch = self.scratch()?;
        let unfinished = scratch.path().join("archive");
        make(&unfinished)?;
        fs::rename(&unfinished, &path).map_err(|e| Error::io("write", &path, &e))?;
        File::open(&path).map_err(|e| Error::io("read", &path, &e))
    }

    /// Remove all but the `keep` archives that were used last; a failure costs only space.
    fn forget(&self, keep: usize) {
        let Ok(entries) = fs::read_dir(&self.dir) else { return };
        let mut archives: Vec<_> = entries
            .filter_map(std::result::Result::ok)
            .map(|e| e.path())
            .filter(|p| p.extension().is_some_and(|e| e == "cpio"))
            .filter_map(|p| Some((p.metadata().ok()?.modified().ok()?, p)))
            .collect();
        archives.sort();
        archives.reverse();
        for (_, path) in archives.iter().skip(keep) {
            let _ = fs::remove_file(path);
        }
    }
}

/// An archive that is there, marked as used now. Once open it may be forgotten.
fn used(path: &Path) -> Option<File> {
    let file = File::options().read(true).append(true).open(path).or_else(|_| File::open(path)).ok()?;
    // Without the mark it may be rebuilt sooner than needed.
    let _ = file.set_modified(SystemTime::now());
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_made_once_and_forgotten() {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(dir.path()).expect("a cache");
        let make = |text: &'static str| {
            move |path: &Path| fs::write(path, text).map_err(|e| Error::io("write", path, &e))
        };
        let text = |file: File| std::io::read_to_string(file).expect("readable");
        assert_eq!(text(cache.archive("a", &1, make("one")).expect("made")), "one");
        assert_eq!(text(cache.archive("a", &1, make("two")).expect("found")), "one");
        for key in 2..20 {
            cache.archive("a", &key, make("more")).expect("made");
            // What is in use stays.
            assert_eq!(text(cache.archive("a", &1, make("two")).expect("found")), "one");
        }
        let left = fs::read_dir(dir.path()).expect("a folder");
        let left =
            left.filter(|e| e.as_ref().is_ok_and(|e| e.path().extension().is_some_and(|x| x == "cpio")));
        assert_eq!(left.count(), ARCHIVES);
    }

    #[test]
    fn a_failure_leaves_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(dir.path()).expect("a cache");
        let fail = |path: &Path| {
            fs::write(path, "half").expect("written");
            Err(Error::new(ErrorKind::Io, "no"))
        };
        assert!(cache.archive("a", &1, fail).is_err());
        let names: Vec<_> =
            fs::read_dir(dir.path()).expect("a folder").map(|e| e.expect("an entry").file_name()).collect();
        assert_eq!(names, ["lock"]);
    }
}
