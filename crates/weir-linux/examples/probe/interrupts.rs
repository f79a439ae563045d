// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Does a CPU still hear itself? What the kernel may not do at once it does in an interrupt that the CPU sends to itself
//! (`irq_work`): the kicks of sched_ext, and the wake-ups of performance events. These can be seen from outside.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use perf_event_open_sys::{bindings as perf, perf_event_open};

/// How long to wait for an event that comes each millisecond.
const PATIENCE_MS: i32 = 1000;

/// An event of this CPU wakes us.
pub fn heard(cpu: u64) -> crate::Outcome {
    let cpu = i32::try_from(cpu).map_err(|e| e.to_string())?;
    let failed = |what: &str| format!("{what}: {}", std::io::Error::last_os_error());
    let mut attr = perf::perf_event_attr {
        type_: perf::PERF_TYPE_SOFTWARE,
        size: size_of::<perf::perf_event_attr>() as u32,
        config: perf::PERF_COUNT_SW_CPU_CLOCK.into(),
        sample_type: perf::PERF_SAMPLE_IP.into(),
        ..Default::default()
    };
    attr.__bindgen_anon_1.sample_period = 1_000_000;
    attr.__bindgen_anon_2.wakeup_events = 1;
    // SAFETY: a complete attribute record.
    let fd = unsafe { perf_event_open(&mut attr, -1, cpu, -1, perf::PERF_FLAG_FD_CLOEXEC.into()) };
    if fd < 0 {
        return Err(failed("perf_event_open"));
    }
    // SAFETY: a new descriptor, ours alone.
    let event = unsafe { OwnedFd::from_raw_fd(fd) };
    // The kernel wakes the reader of a buffer: a page that describes it, and one of events.
    // SAFETY: new memory, which nobody here looks at; it is gone with this process.
    let buffer = unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), 2 * 4096, protection, libc::MAP_SHARED, event.as_raw_fd(), 0)
    };
    if buffer == libc::MAP_FAILED {
        return Err(failed("mmap"));
    }
    let mut waiting = libc::pollfd { fd: event.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one record.
    match unsafe { libc::poll(&mut waiting, 1, PATIENCE_MS) } {
        1 if waiting.revents & libc::POLLIN != 0 => Ok(()),
        0 => Err(format!("CPU {cpu} does not hear the interrupts that it sends to itself")),
        _ => Err(failed("poll")),
    }
}
