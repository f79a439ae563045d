// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Ctrl-C: the first ends the run cleanly with the results so far, the second ends the program.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::fault::{Fault, Result};
use crate::output::note;

static STOP: AtomicBool = AtomicBool::new(false);
/// Unfinished results, removed if the program has to end at once.
static SCRATCH: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Catch Ctrl-C, SIGTERM and SIGHUP from now on.
pub fn install() -> Result<()> {
    install_saying("ending the run with the results so far; once more ends at once and keeps nothing")
}

/// The same; `words` tell the user what happens now.
pub fn install_saying(words: &'static str) -> Result<()> {
    ctrlc::set_handler(move || {
        if !STOP.swap(true, Ordering::Relaxed) {
            // On a terminal the line begins with ^C or a progress bar.
            let line = if std::io::stderr().is_terminal() { "\n" } else { "" };
            note(&format!("{line}{words}"));
            return;
        }
        if let Some(dir) = SCRATCH.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = std::fs::remove_dir_all(dir);
        }
        std::process::exit(1);
    })
    .map_err(|e| {
        Fault::system(format!("cannot catch Ctrl-C: {e}"), "this is a bug in runweir; please report it")
    })
}

/// The flag that running simulations watch.
pub fn flag() -> &'static AtomicBool {
    &STOP
}

/// True once the user asked to end.
pub fn requested() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Name the folder of unfinished results, or that there is none any more.
pub fn scratch(dir: Option<&Path>) {
    *SCRATCH.lock().unwrap_or_else(PoisonError::into_inner) = dir.map(Path::to_path_buf);
}
