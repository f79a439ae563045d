// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Loads that the usual programs do not make.

use std::hint::black_box;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use crate::Outcome;

/// Bytes of a thread's stack.
const STACK: usize = 32 << 10;

/// Some thousand turns of arithmetic.
fn compute(turns: u64) -> u64 {
    (0..turns).fold(1, |x: u64, i| black_box(x.wrapping_mul(6_364_136_223_846_793_005) ^ i))
}

/// All of them exist at the same time; each computes, yields and sleeps before it ends.
pub fn threads(n: u64) -> Outcome {
    let n = n as usize;
    let all_there = Arc::new(Barrier::new(n));
    let began = Instant::now();
    let mut threads = Vec::new();
    for i in 0..n {
        let all_there = all_there.clone();
        let body = move || {
            all_there.wait();
            for _ in 0..3 {
                black_box(compute(2_000));
                thread::yield_now();
                thread::sleep(Duration::from_micros(i as u64 % 1000));
            }
        };
        let made = thread::Builder::new().stack_size(STACK).spawn(body);
        threads.push(made.map_err(|e| format!("thread {i}: {e}"))?);
    }
    let made = began.elapsed();
    for t in threads {
        t.join().map_err(|_| "a thread panicked")?;
    }
    println!(
        "{n} threads: made in {:.1} s, all over after {:.1} s",
        made.as_secs_f64(),
        began.elapsed().as_secs_f64()
    );
    Ok(())
}

/// From now on this thread, and those that it makes, are above everything that sched_ext schedules.
pub fn above_all() -> Outcome {
    let param = libc::sched_param { sched_priority: 50 };
    // SAFETY: numbers, and a record that is ours.
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &param) } == 0;
    if done { Ok(()) } else { Err(std::io::Error::last_os_error().to_string()) }
}

/// Compute above everything that sched_ext schedules.
pub fn hog(cpu: u64, seconds: u64) -> Outcome {
    // SAFETY: a set of our own, filled before use.
    let done = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set) == 0
    };
    if !done {
        return Err(std::io::Error::last_os_error().to_string());
    }
    above_all()?;
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        black_box(compute(10_000));
    }
    Ok(())
}
