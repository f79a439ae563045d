// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The core built twice by the computer's C compiler, with swapping and without, and both timed in turns
//! (`experiments/swap-pause/hot.c`). The sources are part of the program.

use std::path::{Path, PathBuf};

use crate::reproduce::cc::{self, Bench};
use crate::reproduce::lab::{Done, Lab};

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
    let bench = match Bench::new(SOURCES)? {
        Ok(bench) => bench,
        Err(why) => return Ok(Err(why)),
    };
    lab.watch().more(2 + u64::from(rounds));
    let compile = |swaps: u32| -> Done<PathBuf> {
        // As the core is in the program; a reduced sweep does not wait for that.
        let (level, swap) = (lab.pick("-O3", "-O1"), format!("-DWEIR_SWAPS={swaps}"));
        let args = [level, "-Icore/src", &swap, "unit.c", "port.c", "host.c", "hot.c"];
        let program = bench.compile(lab, &format!("swaps-{swaps}"), &args)?;
        lab.watch().one();
        Ok(program)
    };
    let programs = [compile(1)?, compile(0)?];
    let mut times = vec![(Vec::new(), Vec::new()); THREADS.len()];
    for _ in 0..rounds {
        for (threads, times) in THREADS.iter().zip(&mut times) {
            times.0.push(time(lab, &programs[0], *threads, ms)?);
            times.1.push(time(lab, &programs[1], *threads, ms)?);
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

/// One run of a program: ns a call.
fn time(lab: &Lab<'_>, program: &Path, threads: u32, ms: u32) -> Done<f64> {
    let printed = cc::printed(lab, program, &[threads.to_string(), ms.to_string()])?;
    printed.unwrap_or_default().trim().parse().map_err(|_| cc::failed("the compiled program prints no time"))
}
