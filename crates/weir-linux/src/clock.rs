// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The kernel's clock, and what it says of threads.

use weir_core::event::Urgency;

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

/// Present priority of a thread.
pub fn urgency(tid: u32) -> Option<Urgency> {
    urgency_in(&std::fs::read_to_string(format!("/proc/{tid}/stat")).ok()?)
}

/// As `stat` has it; the name of the thread, in parentheses, may contain anything.
fn urgency_in(stat: &str) -> Option<Urgency> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    // The state is field 3 of proc_pid_stat(5); 19 is the nice value, 40 and 41 are real-time priority and policy.
    let nice: i32 = fields.nth(16)?.parse().ok()?;
    let real_time: i32 = fields.nth(20)?.parse().ok()?;
    let policy = fields.next()?.parse().ok()?;
    let prio = if real_time > 0 { 99 - real_time } else { 120 + nice };
    Some(Urgency { prio: prio.try_into().ok()?, policy })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_priority_is_read_from_stat() {
        let of = |nice: &str, real_time: &str, policy: &str| {
            let stat = format!(
                "7 (a) (b) S 1 7 7 0 -1 4194560 1 0 0 0 1 2 0 0 20 {nice} 1 0 99 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 17 1 \
                 {real_time} {policy} 0 0 0\n"
            );
            urgency_in(&stat).map(|u| (u.prio, u.policy))
        };
        assert_eq!(of("5", "0", "0"), Some((125, 0)));
        assert_eq!(of("-20", "0", "3"), Some((100, 3)));
        assert_eq!(of("0", "99", "1"), Some((0, 1)));
        assert_eq!(of("0", "0", "5"), Some((120, 5)));
        assert_eq!(urgency_in("7 (short) S 1"), None);
        assert_eq!(urgency(std::process::id()).map(|u| u.policy <= 7), Some(true));
    }
}
