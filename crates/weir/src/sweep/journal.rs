// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The finished runs of a sweep, so that it can continue after it was ended or killed.
//!
//! In the results' folder, `.runweir-sweep/identity` says which sweep it is and `.runweir-sweep/runs` has a line
//! for each finished run: its number, its values, and a checksum of these. A line is written by one call, so a killed process
//! leaves at most one incomplete line, which the next process removes.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::Row;
use crate::fault::{Fault, Result};
use crate::input::reason;
use crate::outdir::{replace_file, write_error};

/// The finished runs, on disk.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

/// The journal, and the runs that are already done.
pub type Opened = (Journal, Vec<(u64, Row)>);

impl Journal {
    /// Open the journal in `dir` for the sweep that `identity` describes in full, or begin it. `fresh` throws
    /// away what an earlier sweep left.
    ///
    /// # Errors
    /// The user's, where the journal is another sweep's or is in use; the system's, where it cannot be written.
    pub fn open(dir: &Path, identity: &str, fresh: bool) -> Result<Opened> {
        let folder = dir.join(format!("{}sweep", crate::outdir::SCRATCH));
        let fail = |path: &Path, e: &io::Error| {
            Fault::user(
                format!("cannot write {}: {}", path.display(), reason(e)),
                "name a folder with --out that you may write to",
            )
        };
        fs::create_dir_all(&folder).map_err(|e| fail(&folder, &e))?;
        let path = folder.join("runs");
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).open(&path).map_err(|e| fail(&path, &e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Fault::user(
                    format!("another sweep is writing into {}", dir.display()),
                    "wait for its end, or name another folder with --out",
                ));
            }
            Err(TryLockError::Error(e)) => return Err(write_error(&path, &e)),
        }
        let named = folder.join("identity");
        let known = match fs::read_to_string(&named) {
            Ok(text) => Some(text),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(fail(&named, &e)),
        };
        let mut done = Vec::new();
        match known {
            Some(known) if !fresh && known != identity => {
                return Err(changed(
                    dir,
                    &known,
                    identity,
                    "name another folder with --out: these runs are kept; --fresh would discard them",
                ));
            }
            Some(_) if !fresh => done = read(&path, &file)?,
            _ => {
                file.set_len(0).map_err(|e| write_error(&path, &e))?;
                replace_file(&named, identity.as_bytes())?;
            }
        }
        Ok((Self { path, file: Mutex::new(file) }, done))
    }

    /// The runs in the journal of another folder, which must be of the same sweep. Nothing there is changed, so that it may
    /// be read-only or still grow.
    ///
    /// # Errors
    /// The user's: there is no journal, it is another sweep's, or it is damaged.
    pub fn peek(dir: &Path, identity: &str) -> Result<Vec<(u64, Row)>> {
        let folder = dir.join(format!("{}sweep", crate::outdir::SCRATCH));
        let named = folder.join("identity");
        let known = fs::read_to_string(&named).map_err(|e| {
            Fault::user(
                format!("{} holds no runs of a sweep: {}: {}", dir.display(), named.display(), reason(&e)),
                "name the folders that `runweir sweep SPEC --shard K/N --out DIR` wrote, with the hidden folder in them",
            )
        })?;
        if known != identity {
            return Err(changed(
                dir,
                &known,
                identity,
                "nothing was changed: restore the specification and the version of Runweir that made these runs, or make the shards of \
                 this sweep into other folders (`runweir sweep SPEC --shard K/N --out NEW`) and name those",
            ));
        }
        let path = folder.join("runs");
        let text = fs::read(&path).map_err(|e| {
            Fault::user(
                format!("cannot read {}: {}", path.display(), reason(&e)),
                "copy the whole folder of the shard",
            )
        })?;
        lines(&path, &text[..whole(&text)])
    }

    /// Note a finished run.
    pub fn append(&self, run: u64, row: &Row) -> Result<()> {
        let mut line = run.to_string();
        for value in row {
            let _ = write!(line, ",{value}");
        }
        let _ = writeln!(line, ",{:016x}", checksum(&line));
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes()).map_err(|e| write_error(&self.path, &e))
    }
}

/// The runs of a journal; a line without its end is cut off.
fn read(path: &Path, file: &File) -> Result<Vec<(u64, Row)>> {
    let text = fs::read(path).map_err(|e| write_error(path, &e))?;
    let end = whole(&text);
    if end < text.len() {
        file.set_len(end as u64).map_err(|e| write_error(path, &e))?;
    }
    lines(path, &text[..end])
}

/// Of a line without its end: one digit that has changed is noticed for certain.
fn checksum(line: &str) -> u64 {
    weir_core::planfile::checksum(line.as_bytes())
}

/// Bytes of the lines that have their end.
fn whole(text: &[u8]) -> usize {
    text.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1)
}

/// The runs in whole lines.
fn lines(path: &Path, text: &[u8]) -> Result<Vec<(u64, Row)>> {
    let broken = |line: usize| {
        Fault::user(
            format!("line {line} of {} is damaged", path.display()),
            "remove that line, and the same command makes its run again: all other runs are kept",
        )
    };
    let text = std::str::from_utf8(text).map_err(|_| broken(1))?;
    let mut done = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let (line, sum) = line.rsplit_once(',').ok_or_else(|| broken(number + 1))?;
        if sum != format!("{:016x}", checksum(line)) {
            return Err(broken(number + 1));
        }
        let mut values = line.split(',').map(str::parse::<u64>);
        let run = values.next().and_then(std::result::Result::ok).ok_or_else(|| broken(number + 1))?;
        let values: Vec<u64> =
            values.collect::<std::result::Result<_, _>>().map_err(|_| broken(number + 1))?;
        done.push((run, values.try_into().map_err(|_| broken(number + 1))?));
    }
    Ok(done)
}

/// The folder belongs to another sweep: say where the two first differ.
fn changed(dir: &Path, known: &str, identity: &str, help: &str) -> Fault {
    let pair = known.lines().zip(identity.lines()).find(|(a, b)| a != b);
    let difference = match pair {
        Some((was, is)) => format!("was `{}`, is `{}`", clip(was), clip(is)),
        None => "one has more lines than the other".to_string(),
    };
    Fault::user(
        format!("{} holds runs of another sweep, or this one has changed since: {difference}", dir.display()),
        help,
    )
}

fn clip(text: &str) -> String {
    let text = text.trim();
    if text.chars().count() <= 60 {
        text.into()
    } else {
        text.chars().take(57).chain("...".chars()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: u64) -> Row {
        let mut row = Row::default();
        row.fill(n);
        row
    }

    #[test]
    fn goes_on_where_it_was_cut() {
        let dir = tempfile::tempdir().expect("a folder");
        let (journal, done) = Journal::open(dir.path(), "a\nb", false).expect("new");
        assert!(done.is_empty());
        journal.append(7, &row(1)).expect("writable");
        let busy = Journal::open(dir.path(), "a\nb", false).expect_err("in use");
        assert!(busy.diags[0].to_string().contains("another sweep is writing"), "{busy:?}");
        drop(journal);
        let path = dir.path().join(".runweir-sweep/runs");
        let mut torn = fs::read(&path).expect("there");
        torn.extend(b"8,1,2");
        fs::write(&path, &torn).expect("writable");
        let (journal, done) = Journal::open(dir.path(), "a\nb", false).expect("known");
        assert_eq!(done, [(7, row(1))]);
        journal.append(9, &row(2)).expect("writable");
        drop(journal);
        assert_eq!(Journal::open(dir.path(), "a\nb", false).expect("known").1, [(7, row(1)), (9, row(2))]);
    }

    #[test]
    fn another_sweep_is_refused_unless_forced() {
        let dir = tempfile::tempdir().expect("a folder");
        let (journal, _) = Journal::open(dir.path(), "a\nb", false).expect("new");
        journal.append(1, &row(1)).expect("writable");
        drop(journal);
        let fault = Journal::open(dir.path(), "a\nc", false).expect_err("changed");
        assert!(fault.diags[0].to_string().contains("was `b`, is `c`"), "{fault:?}");
        // Whoever merges is told nothing that would lose the other sweep's runs.
        let fault = Journal::peek(dir.path(), "a\nc").expect_err("changed");
        let help = format!("{fault:?}");
        assert!(help.contains("nothing was changed") && !help.contains("--fresh"), "{help}");
        assert!(Journal::open(dir.path(), "a\nc", true).expect("fresh").1.is_empty());
    }

    #[test]
    fn damage_is_reported() {
        let dir = tempfile::tempdir().expect("a folder");
        drop(Journal::open(dir.path(), "a", false).expect("new"));
        fs::write(dir.path().join(".runweir-sweep/runs"), "1,x\n").expect("writable");
        let fault = Journal::open(dir.path(), "a", false).expect_err("damaged");
        assert!(fault.diags[0].to_string().contains("line 1"), "{fault:?}");
        assert!(format!("{fault:?}").contains("all other runs are kept"), "{fault:?}");
        // One digit of a value.
        let (journal, _) = Journal::open(dir.path(), "a", true).expect("fresh");
        journal.append(1, &row(12)).expect("writable");
        journal.append(2, &row(12)).expect("writable");
        drop(journal);
        let path = dir.path().join(".runweir-sweep/runs");
        let text = fs::read_to_string(&path).expect("there");
        let changed = text.replacen("\n2,12,", "\n2,13,", 1);
        assert_ne!(text, changed);
        fs::write(&path, changed).expect("writable");
        let fault = Journal::open(dir.path(), "a", false).expect_err("damaged");
        assert!(fault.diags[0].to_string().contains("line 2"), "{fault:?}");
    }
}
