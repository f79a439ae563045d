// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Ctrl-C: the first ends the run cleanly with the results so far, the second ends the program.
//!
//! A run looks at the flag between two events. Where it does not come to the next one, as in a component that never
//! returns, the program ends by itself after [`PATIENCE`].

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::fault::{Fault, Result};
use crate::output::note;

static STOP: AtomicBool = AtomicBool::new(false);
/// Simulations under way.
static RUNS: AtomicU32 = AtomicU32::new(0);
/// How long a simulation may take to notice that it is to end: many times what the slowest event takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// Catch Ctrl-C, SIGTERM and SIGHUP from now on.
pub fn install() -> Result<()> {
    install_saying("ending the run with the results so far; a second Ctrl-C ends at once without results")
}

/// The same; `words` say what happens now.
pub fn install_saying(words: &'static str) -> Result<()> {
    ctrlc::set_handler(move || {
        if weir::input::reading() {
            note("ending: an input has not come to its end");
            end_at_once();
        }
        if !STOP.swap(true, Ordering::Relaxed) {
            // On a terminal the line begins with ^C or a progress bar.
            let line = if std::io::stderr().is_terminal() { "\n" } else { "" };
            note(&format!("{line}{words}"));
            std::thread::spawn(|| {
                if !ends(&RUNS, PATIENCE) {
                    note("the run does not reach its next event; it ends now, without results");
                    end_at_once();
                }
            });
            return;
        }
        end_at_once();
    })
    .map_err(|e| {
        Fault::system(format!("cannot catch Ctrl-C: {e}"), "this is a bug in runweir; please report it")
    })
}

fn end_at_once() -> ! {
    weir::outdir::discard_unfinished();
    std::process::exit(1);
}

/// Whether `runs` gets to zero in this time.
fn ends(runs: &AtomicU32, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    while runs.load(Ordering::Relaxed) > 0 {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// A simulation begins.
pub fn begins() {
    RUNS.fetch_add(1, Ordering::Relaxed);
}

/// A simulation has ended.
pub fn ends_one() {
    RUNS.fetch_sub(1, Ordering::Relaxed);
}

/// The flag that running simulations watch.
pub fn flag() -> &'static AtomicBool {
    &STOP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_never_ends_is_noticed() {
        let runs = AtomicU32::new(1);
        assert!(!ends(&runs, Duration::from_millis(50)));
        runs.store(0, Ordering::Relaxed);
        assert!(ends(&runs, Duration::ZERO));
    }
}
