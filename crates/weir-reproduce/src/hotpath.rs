// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The core built twice by the computer's C compiler, with swapping and without, and both timed in turns
//! (`experiments/swap-pause/hot.c`). The sources are part of the program.

use std::fs;
use std::path::Path;
use std::process::Command;

use weir_core::HEADERS;

use crate::lab::{Done, Halt, Lab};
use weir::fault::Fault;

include!(concat!(env!("OUT_DIR"), "/hot.rs"));

/// Threads that call at once, each a CPU with a queue of its own.
const THREADS: [u32; 2] = [1, 2];

/// Nanoseconds a call, median.
pub struct Hot {
    pub threads: u32,
    pub with_ns: f64,
    pub without_ns: f64,
}

impl Hot {
    pub fn ratio(&self) -> f64 {
        self.with_ns / self.without_ns
    }
}

/// Build and time both, a number of rounds of so many milliseconds; or say why that cannot be done here.
///
/// # Errors
/// The sources do not compile, or Ctrl-C.
pub fn measure(lab: &Lab<'_>, (rounds, ms): (u32, u32)) -> Done<Result<Vec<Hot>, String>> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    if Command::new(&compiler).arg("--version").output().is_err() {
        return Ok(Err(format!("there is no C compiler `{compiler}`; install one, or set CC")));
    }
    let folder = tempfile::tempdir().map_err(|e| failed(&format!("cannot make a folder: {e}")))?;
    unpack(folder.path()).map_err(|e| failed(&format!("cannot write the sources: {e}")))?;
    lab.watch().more(2 + u64::from(rounds));
    let programs = ["1", "0"].map(|swaps| (swaps, folder.path().join(format!("swaps-{swaps}"))));
    for (swaps, program) in &programs {
        // As the core is in the program; a reduced sweep does not wait for that.
        compile(lab, &compiler, lab.pick("-O3", "-O1"), folder.path(), swaps, program)?;
        lab.watch().one();
    }
    let mut times = vec![(Vec::new(), Vec::new()); THREADS.len()];
    for _ in 0..rounds {
        for (threads, times) in THREADS.iter().zip(&mut times) {
            times.0.push(time(lab, &programs[0].1, *threads, ms)?);
            times.1.push(time(lab, &programs[1].1, *threads, ms)?);
        }
        lab.watch().one();
    }
    let median = |mut t: Vec<f64>| {
        t.sort_by(f64::total_cmp);
        t[t.len() / 2]
    };
    let hot = |(threads, (with, without)): (&u32, (Vec<f64>, Vec<f64>))| Hot {
        threads: *threads,
        with_ns: median(with),
        without_ns: median(without),
    };
    Ok(Ok(THREADS.iter().zip(times).map(hot).collect()))
}

fn unpack(folder: &Path) -> std::io::Result<()> {
    let headers = HEADERS.iter().map(|(name, text)| (format!("weir/{name}"), *text));
    for (name, text) in headers.chain(SOURCES.iter().map(|(name, text)| (name.to_string(), *text))) {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().expect("a file lies in a folder"))?;
        fs::write(file, text)?;
    }
    Ok(())
}

fn compile(
    lab: &Lab<'_>,
    compiler: &str,
    optimised: &str,
    folder: &Path,
    swaps: &str,
    program: &Path,
) -> Done<()> {
    let done = Command::new(compiler)
        .current_dir(folder)
        .args(["-std=gnu11", optimised, "-Wno-unused-parameter", "-I.", "-Icore/src"])
        .arg(format!("-DWEIR_SWAPS={swaps}"))
        .arg("-o")
        .arg(program)
        .args(["unit.c", "port.c", "host.c", "hot.c", "-pthread"])
        .output();
    let done = done.map_err(|e| failed(&format!("cannot start `{compiler}`: {e}")))?;
    match done.status.success() {
        true => Ok(()),
        _ if lab.stopped() => Err(Halt::Interrupted),
        _ => {
            let said = String::from_utf8_lossy(&done.stderr);
            let first = said.lines().find(|l| l.contains("error")).unwrap_or_default();
            Err(failed(&format!("`{compiler}` does not compile the core: {first}")))
        }
    }
}

/// One run of a program: ns a call.
fn time(lab: &Lab<'_>, program: &Path, threads: u32, ms: u32) -> Done<f64> {
    if lab.stopped() {
        return Err(Halt::Interrupted);
    }
    let done = Command::new(program).args([threads.to_string(), ms.to_string()]).output();
    let done = done.map_err(|e| failed(&format!("cannot start the compiled program: {e}")))?;
    if lab.stopped() {
        return Err(Halt::Interrupted);
    }
    String::from_utf8_lossy(&done.stdout)
        .trim()
        .parse()
        .ok()
        .filter(|_| done.status.success())
        .ok_or_else(|| failed("the compiled program prints no time"))
}

fn failed(what: &str) -> Halt {
    Halt::Fault(Fault::system(
        format!("the hot path cannot be measured: {what}"),
        "is the C compiler whole, and is there room in the folder for temporary files?",
    ))
}
