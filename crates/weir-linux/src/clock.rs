// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The kernel's clock and its names of threads.

/// CLOCK_MONOTONIC, ns: the clock of the kernel side.
pub fn now_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is ours; the clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Present name of a thread.
pub fn thread_name(tid: u32) -> Option<String> {
    let name = std::fs::read(format!("/proc/{tid}/comm")).ok()?;
    Some(String::from_utf8_lossy(name.strip_suffix(b"\n").unwrap_or(&name)).into_owned())
}
