// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The kernel's clock and its names of threads.

/// CLOCK_MONOTONIC, ns: the clock of the kernel side.
pub fn now_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is ours; the clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Whether the thread's affinity has the CPU; one that is gone may run nowhere.
pub fn may_run(tid: u32, cpu: u32) -> bool {
    let mut mask = [0u64; weir_core::MAX_CPUS as usize / 64];
    // SAFETY: the mask is ours, and its size is given; zero is written behind what the kernel has.
    let wrote = unsafe { libc::sched_getaffinity(tid as i32, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    wrote == 0 && mask.get(cpu as usize / 64).is_some_and(|w| w >> (cpu % 64) & 1 == 1)
}

/// Present name of a thread.
pub fn thread_name(tid: u32) -> Option<String> {
    let name = std::fs::read(format!("/proc/{tid}/comm")).ok()?;
    Some(String::from_utf8_lossy(name.strip_suffix(b"\n").unwrap_or(&name)).into_owned())
}
