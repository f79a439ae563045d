// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `--out DIR`: all files or none.
//!
//! Everything is first written into a hidden folder and moved into place when the results are
//! complete: by one rename where `DIR` does not exist yet, file by file where it does (each file is
//! whole at every instant). An existing `DIR` must be empty or hold earlier results;
//! `--force` lifts that. Files of other names are never touched.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use crate::fault::{Fault, Result};
use crate::input::reason;
use crate::session::{CALLS, trace_name};

/// Files that mark a folder as earlier results.
const MARKS: [&str; 4] = ["summary.json", "compare.json", "sweep.json", "result.json"];

/// Begin of the names of unfinished files and folders.
pub const SCRATCH: &str = ".runweir-";

/// The folder of unfinished results, if there is one.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

fn register(dir: Option<&Path>) {
    *UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner) = dir.map(Path::to_path_buf);
}

/// Remove unfinished results: for a program that must end at once.
pub fn discard_unfinished() {
    if let Some(dir) = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = fs::remove_dir_all(dir);
    }
}

/// Results on their way to `--out DIR`.
#[derive(Debug)]
pub struct OutDir {
    target: PathBuf,
    scratch: TempDir,
    /// Locked as long as this process lives: by that others see whether the folder was left behind.
    _lock: Option<File>,
}

/// The file within a scratch folder that its process has locked.
const LOCK: &str = ".lock";

/// Remove what processes that were killed have left in a folder: their scratch folders, whose lock is free.
fn sweep_up(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(SCRATCH);
        if !ours || !entry.file_type().is_ok_and(|t| t.is_dir()) {
            continue;
        }
        // One without the file is just being made, or has another purpose.
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Mark a scratch folder as in use; `None` where the file system has no locks, and then it is never swept up.
fn claim(scratch: &Path) -> Option<File> {
    let path = scratch.join(LOCK);
    let lock = File::create_new(&path).ok()?;
    if lock.try_lock().is_ok() {
        return Some(lock);
    }
    let _ = fs::remove_file(path);
    None
}

impl OutDir {
    /// Check that `target` may be written, and open the scratch folder. Nothing of the user's
    /// changes before [`OutDir::commit`].
    pub fn prepare(target: &Path, force: bool) -> Result<Self> {
        Self::named("--out", target, force)
    }

    /// The same for the folder that `option` names.
    pub fn named(option: &str, target: &Path, force: bool) -> Result<Self> {
        if target.as_os_str().is_empty() {
            return Err(Fault::user(
                format!("the folder name of {option} is empty"),
                format!("name a folder, for example {option} results"),
            ));
        }
        match fs::metadata(target) {
            Ok(meta) if !meta.is_dir() => {
                return Err(Fault::user(
                    format!("{option} {} is a file", target.display()),
                    "name a folder; it is made if it does not exist",
                ));
            }
            Ok(_) if !force => refuse_foreign(option, target)?,
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(unwritable(option, target, &e)),
        }
        // The scratch folder must be on the same file system, so that moving is renaming.
        let place = if target.is_dir() { target.to_path_buf() } else { nearest_folder(target) };
        let scratch = tempfile::Builder::new()
            .prefix(SCRATCH)
            .tempdir_in(&place)
            .map_err(|e| unwritable(option, target, &e))?;
        register(Some(scratch.path()));
        let lock = claim(scratch.path());
        sweep_up(&place);
        Ok(Self { target: target.to_path_buf(), scratch, _lock: lock })
    }

    /// Path of a scratch file; makes the folders on the way to it.
    fn path(&self, name: &str) -> Result<PathBuf> {
        let path = self.scratch.path().join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|e| write_error(&self.target.join(name), &e))?;
        }
        Ok(path)
    }

    /// Write a whole file; `name` may contain folders.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        fs::write(self.path(name)?, bytes).map_err(|e| write_error(&self.target.join(name), &e))
    }

    /// Open a file that is written during the run.
    pub fn create(&self, name: &str) -> Result<BufWriter<File>> {
        let file = File::create(self.path(name)?).map_err(|e| write_error(&self.target.join(name), &e))?;
        Ok(BufWriter::with_capacity(1 << 18, file))
    }

    /// A result file as the user will find it.
    pub fn shown(&self, name: &str) -> String {
        self.target.join(name).display().to_string()
    }

    /// Move everything into place.
    pub fn commit(self) -> Result<()> {
        let result = self.publish();
        register(None);
        result
    }

    fn publish(&self) -> Result<()> {
        let fail = |e: io::Error| write_error(&self.target, &e);
        let _ = fs::remove_file(self.scratch.path().join(LOCK));
        open_up(self.scratch.path()).map_err(fail)?;
        if let Some(parent) = self.target.parent().filter(|p| !p.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(fail)?;
        }
        if !self.target.is_dir() {
            // TempDir finds nothing to remove afterwards, which it accepts.
            return fs::rename(self.scratch.path(), &self.target).map_err(fail);
        }
        move_into(self.scratch.path(), &self.target).map_err(fail)
    }
}

impl Drop for OutDir {
    fn drop(&mut self) {
        register(None);
    }
}

/// Give the results the access rights of ordinary new folders: a temporary folder is private.
#[cfg(unix)]
fn open_up(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let sample = dir.join(".rights");
    fs::create_dir(&sample)?;
    let mode = fs::metadata(&sample)?.permissions().mode();
    fs::remove_dir(&sample)?;
    fs::set_permissions(dir, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn open_up(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Files of a run that it may have or not: those of an earlier one must not stay beside it.
const OPTIONAL: [&str; 3] = [trace_name(false), trace_name(true), CALLS];

/// Rename every file below `from` to its place below `to`.
fn move_into(from: &Path, to: &Path) -> io::Result<()> {
    if from.join("summary.json").is_file() {
        for stale in OPTIONAL.iter().filter(|name| !from.join(name).exists()) {
            match fs::remove_file(to.join(stale)) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
    }
    let mut entries: Vec<_> = fs::read_dir(from)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            move_into(&entry.path(), &target)?;
        } else {
            fs::rename(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Refuse a folder with files of others in it.
fn refuse_foreign(option: &str, target: &Path) -> Result<()> {
    if MARKS.iter().any(|m| is_ours(&target.join(m))) {
        return Ok(());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(target).map_err(|e| unwritable(option, target, &e))? {
        names.push(entry.map_err(|e| unwritable(option, target, &e))?.file_name());
    }
    // What a killed run left behind is nobody's.
    names.retain(|n| !n.to_string_lossy().starts_with(SCRATCH));
    let Some(first) = names.iter().min() else { return Ok(()) };
    Err(Fault::user(
        format!("{option} {} holds other files, for example {}", target.display(), first.display()),
        "name a new folder, or use --force: results are then written into the same folder",
    ))
}

/// True for a JSON file that begins as ours do.
fn is_ours(path: &Path) -> bool {
    use std::io::Read;
    let mut head = Vec::new();
    File::open(path).is_ok_and(|f| f.take(64).read_to_end(&mut head).is_ok())
        && String::from_utf8_lossy(&head).split_whitespace().collect::<String>().starts_with("{\"runweir\":")
}

/// The folder that exists and is nearest above `target`.
fn nearest_folder(target: &Path) -> PathBuf {
    let absolute = std::path::absolute(target).unwrap_or_else(|_| target.to_path_buf());
    let mut at = absolute.parent();
    while let Some(dir) = at {
        if dir.is_dir() {
            return dir.to_path_buf();
        }
        at = dir.parent();
    }
    PathBuf::from(".")
}

/// The place the user named cannot be written.
fn unwritable(option: &str, target: &Path, e: &io::Error) -> Fault {
    Fault::user(
        format!("cannot write into {option} {}: {}", target.display(), reason(e)),
        "name a folder that you may write to",
    )
}

/// Writing failed on the way: not the user's input.
pub fn write_error(path: &Path, e: &io::Error) -> Fault {
    Fault::system(
        format!("cannot write {}: {}", path.display(), reason(e)),
        "is the disk full, or did the folder go away? Nothing was left behind half-written",
    )
}

/// Replace one file as a whole, by writing beside it and renaming. An existing file keeps its
/// access rights, and a symbolic link stays one.
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let fail = |e: &io::Error| {
        Fault::user(
            format!("cannot write `{}`: {}", path.display(), reason(e)),
            "name a place that you may write to",
        )
    };
    if path.is_dir() {
        return Err(Fault::user(format!("{} is a folder", path.display()), "name a file"));
    }
    if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        // A device or a pipe (/dev/stdout, >(command)): renaming over it would replace it.
        return fs::write(path, bytes).map_err(|e| fail(&e));
    }
    let dir = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(SCRATCH);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The process's umask still takes its bits from these.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(dir).map_err(|e| fail(&e))?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(|e| fail(&e))?;
    if let Ok(meta) = fs::metadata(path) {
        fs::set_permissions(file.path(), meta.permissions()).map_err(|e| fail(&e))?;
    }
    file.persist(path).map_err(|e| fail(&e.error)).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> TempDir {
        tempfile::tempdir().expect("a temporary folder")
    }

    fn write_results(target: &Path, force: bool, text: &[u8]) -> Result<()> {
        let out = OutDir::prepare(target, force)?;
        out.write("summary.json", text)?;
        out.write("sub/one.txt", b"1")?;
        out.commit()
    }

    #[test]
    fn makes_new_folders_and_replaces_earlier_results() {
        let base = tree();
        let target = base.path().join("a/b/out");
        write_results(&target, false, b"{ \"runweir\": \"1\" }").expect("new");
        fs::write(target.join("notes.txt"), "mine").expect("writable");
        write_results(&target, false, b"{\"runweir\":\"2\"}").expect("again");
        assert_eq!(fs::read_to_string(target.join("notes.txt")).expect("kept"), "mine");
        assert_eq!(fs::read_to_string(target.join("summary.json")).expect("new"), "{\"runweir\":\"2\"}");
        assert_eq!(fs::read_dir(base.path()).expect("listable").count(), 1, "no scratch folder stays behind");
    }

    #[test]
    fn foreign_folders_need_force() {
        let base = tree();
        fs::write(base.path().join("summary.json"), "{}").expect("writable");
        let fault = write_results(base.path(), false, b"x").expect_err("foreign");
        assert!(fault.diags[0].to_string().contains("holds other files"), "{fault:?}");
        write_results(base.path(), true, b"x").expect("forced");
    }

    #[test]
    fn an_abandoned_run_leaves_nothing() {
        let base = tree();
        let out = OutDir::prepare(&base.path().join("out"), false).expect("new");
        out.write("summary.json", b"half").expect("writable");
        drop(out);
        assert_eq!(fs::read_dir(base.path()).expect("listable").count(), 0);
    }

    #[test]
    fn what_a_killed_process_left_is_swept_up() {
        let base = tree();
        let mut left = OutDir::prepare(&base.path().join("killed"), false).expect("new");
        left.write("summary.json", b"half").expect("writable");
        // As after SIGKILL: the folder stays, the lock is free.
        let (held, path) = (left._lock.take(), left.scratch.path().to_path_buf());
        std::mem::forget(left);
        let left = path;
        let other = OutDir::prepare(&base.path().join("other"), false).expect("new");
        assert!(left.exists(), "its lock is held still");
        drop(held);
        let next = OutDir::prepare(&base.path().join("next"), false).expect("new");
        assert!(!left.exists() && other.scratch.path().exists(), "only what nobody uses");
        next.commit().expect("moved");
        assert_eq!(
            fs::read_dir(base.path().join("next")).expect("listable").count(),
            0,
            "no lock stays behind"
        );
    }

    #[test]
    fn a_replaced_file_keeps_its_rights() {
        use std::os::unix::fs::PermissionsExt;
        let base = tree();
        let path = base.path().join("x");
        fs::write(&path, "old").expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("ours");
        replace_file(&path, b"new").expect("writable");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_to_string(&path).expect("there"), "new");
    }
}
