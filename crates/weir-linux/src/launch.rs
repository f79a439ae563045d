// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Programs that are started as a gang.

/// Processes whose parents end become ours, so that they can still be distinguished from others.
pub fn adopt_orphans() {
    // SAFETY: numbers only.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Ask a process to end.
pub fn ask_to_end(pid: u32) {
    if let Ok(pid) = i32::try_from(pid)
        && pid > 1
    {
        // SAFETY: numbers only.
        unsafe { libc::kill(pid, libc::SIGTERM) };
    }
}
