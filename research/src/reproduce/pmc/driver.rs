// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The driver of the measurement (source 4, section 9): a run starts all heavy programs at once; while one of them lives, it starts light
//! ones now and then, one at a time, at random. The reader writes the log meanwhile.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::reader::{Counts, Filter, Reader};

/// How long the reader waits when there is nothing to read.
pub const PAUSE: Duration = Duration::from_millis(5);

/// What to run: shell commands.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Measured, with the names for the tables.
    pub heavy: Vec<(String, String)>,
    /// Not measured.
    pub light: Vec<String>,
    /// Shortest and longest pause before a light program, ms.
    pub pause_ms: (u64, u64),
}

/// The trace, to be read without waiting for more.
///
/// # Errors
/// The file cannot be opened.
pub fn open_trace(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

fn start(command: &str) -> io::Result<Child> {
    // `exec`: the process that is started is the program, not a shell around it.
    let text = format!("exec {command}");
    Command::new("sh").args(["-c", &text]).stdin(Stdio::null()).stdout(Stdio::null()).spawn()
}

/// What a run was like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Name and process of each heavy program.
    pub roots: Vec<(String, u32)>,
    /// Light programs that were started.
    pub light: u32,
    pub counts: Counts,
}

/// One run; the log goes to `log`.
///
/// # Errors
/// A program cannot be started or fails, or the trace cannot be read.
pub fn run(programs: &Programs, trace: &Path, log: &Path, seed: u64) -> io::Result<Ran> {
    let mut from = open_trace(trace)?;
    let mut to = File::create(log)?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reader = Reader::new(Filter::default());
            reader.run(&mut from, &mut to, PAUSE, &|| stop.load(Ordering::Acquire))
        });
        let driven = drive(programs, seed);
        stop.store(true, Ordering::Release);
        let counts = reader.join().map_err(|_| io::Error::other("the reader failed"))??;
        let (roots, light) = driven?;
        Ok(Ran { roots, light, counts })
    })
}

fn drive(programs: &Programs, seed: u64) -> io::Result<(Vec<(String, u32)>, u32)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut live = Vec::new();
    for (name, command) in &programs.heavy {
        live.push((name, start(command)?));
    }
    let roots = live.iter().map(|(name, child)| ((*name).clone(), child.id())).collect();
    let (shortest, longest) = programs.pause_ms;
    let mut light = 0;
    let mut next = Instant::now();
    let mut pick = || {
        let pause = rng.random_range(shortest..=longest.max(shortest));
        (Duration::from_millis(pause), rng.random_range(0..programs.light.len().max(1)))
    };
    let (pause, mut which) = pick();
    next += pause;
    while !live.is_empty() {
        let mut failed = None;
        live.retain_mut(|(name, child)| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) if status.success() => false,
            Ok(Some(status)) => {
                failed = Some(format!("`{name}` ended with {status}"));
                false
            }
            Err(e) => {
                failed = Some(format!("`{name}`: {e}"));
                false
            }
        });
        if let Some(why) = failed {
            for (_, child) in &mut live {
                // It may have ended meanwhile.
                let _ = child.kill();
                child.wait()?;
            }
            return Err(io::Error::other(why));
        }
        if let Some(command) = programs.light.get(which).filter(|_| Instant::now() >= next) {
            light += 1;
            start(command)?.wait()?;
            let (pause, then) = pick();
            (next, which) = (Instant::now() + pause, then);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok((roots, light))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(heavy: &[&str]) -> Programs {
        let named = |(i, c): (usize, &&str)| (format!("p{i}"), c.to_string());
        Programs {
            heavy: heavy.iter().enumerate().map(named).collect(),
            light: vec!["true".into()],
            pause_ms: (1, 5),
        }
    }

    #[test]
    fn light_programs_run_while_a_heavy_one_lives() {
        let (roots, light) = drive(&programs(&["sleep 0.3", "true"]), 1).expect("both succeed");
        assert_eq!(roots.len(), 2);
        assert!((2..=300).contains(&light), "{light}");
    }

    #[test]
    fn a_failure_ends_the_run() {
        let began = Instant::now();
        let e = drive(&programs(&["sleep 60", "false"]), 1).expect_err("one fails");
        assert!(e.to_string().contains("`p1` ended") && began.elapsed() < Duration::from_secs(30), "{e}");
    }

    #[test]
    fn a_run_reads_its_trace() {
        let dir = std::env::temp_dir().join(format!("weir-pmc-driver-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        let (trace, log) = (dir.join("trace"), dir.join("log"));
        let line = "cc-9 [011] d..2 0.000005: do_exit: [PMC_SCHED] exit\n";
        std::fs::write(&trace, format!("others\n{line}")).expect("written");
        let ran = run(&programs(&["true"]), &trace, &log, 1).expect("it succeeds");
        assert_eq!(ran.counts, Counts { kept: 1, dropped: 1, lost: 0 });
        assert_eq!(std::fs::read_to_string(&log).expect("written"), line);
        std::fs::remove_dir_all(&dir).expect("removed");
    }
}
