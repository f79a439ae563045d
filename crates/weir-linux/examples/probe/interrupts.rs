// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Does a CPU still hear itself? What the kernel may not do at once it does in an interrupt that the CPU sends to itself
//! (`irq_work`): the kicks of sched_ext, and the wake-ups of performance events. These can be seen from outside.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use perf_event_open_sys::{bindings as perf, perf_event_open};

/// How long to wait for an event that comes each millisecond.
const PATIENCE_MS: i32 = 1000;

const PERIOD_NS: u64 = 1_000_000;
const PAGE: usize = 4096;
const PAGES: usize = 64;

/// Times between two interrupts of a CPU that are that long. A virtual CPU that does not run takes none; nor does one that spends the
/// time with interrupts off. (Unlike a thread that wakes each millisecond this does not make the CPU choose a task.)
pub fn pauses(ms: u64) -> crate::Outcome {
    let nr_cpus = crate::status()?.nr_cpus;
    crate::load::above_all()?;
    let mut cpus = Vec::new();
    for cpu in 0..nr_cpus {
        let (event, buffer) = each_millisecond(cpu as i32, PAGES)?;
        cpus.push((cpu, event, buffer, 0u64, 0u64));
    }
    loop {
        for (cpu, _, buffer, tail, last) in &mut cpus {
            // SAFETY: the kernel's description of the buffer, which is mapped as long as this process lives.
            let head = unsafe {
                let page = buffer.cast::<perf::perf_event_mmap_page>();
                std::ptr::read_volatile(&raw const (*page).data_head)
            };
            std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
            while *tail < head {
                let word = |at: u64| -> u64 {
                    let at = PAGE + (at as usize % (PAGES * PAGE));
                    // SAFETY: within the buffer; records are multiples of eight bytes.
                    unsafe { std::ptr::read_volatile(buffer.add(at).cast::<u64>()) }
                };
                let header = word(*tail);
                if header as u32 == perf::PERF_RECORD_SAMPLE {
                    let t = word(*tail + 8);
                    if *last != 0 && t - *last >= ms * 1_000_000 {
                        println!("{cpu} {last} {}", t - *last);
                    }
                    *last = t;
                } else {
                    *last = 0;
                }
                *tail += header >> 48;
            }
            // SAFETY: as above; only this thread writes it.
            unsafe {
                let page = buffer.cast::<perf::perf_event_mmap_page>();
                std::ptr::write_volatile(&raw mut (*page).data_tail, *tail);
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

fn failed(what: &str) -> String {
    format!("{what}: {}", std::io::Error::last_os_error())
}

/// An interrupt of this CPU each millisecond, whatever runs there or nothing; with a buffer of so many pages for its times.
fn each_millisecond(cpu: i32, pages: usize) -> Result<(OwnedFd, *mut u8), String> {
    let mut attr = perf::perf_event_attr {
        type_: perf::PERF_TYPE_SOFTWARE,
        size: size_of::<perf::perf_event_attr>() as u32,
        config: perf::PERF_COUNT_SW_CPU_CLOCK.into(),
        sample_type: perf::PERF_SAMPLE_TIME.into(),
        clockid: libc::CLOCK_MONOTONIC,
        ..Default::default()
    };
    attr.set_use_clockid(1);
    attr.__bindgen_anon_1.sample_period = PERIOD_NS;
    attr.__bindgen_anon_2.wakeup_events = 1;
    // SAFETY: a complete attribute record.
    let fd = unsafe { perf_event_open(&mut attr, -1, cpu, -1, perf::PERF_FLAG_FD_CLOEXEC.into()) };
    if fd < 0 {
        return Err(failed("perf_event_open"));
    }
    // SAFETY: a new descriptor, ours alone.
    let event = unsafe { OwnedFd::from_raw_fd(fd) };
    // The kernel wakes the reader of a buffer: a page that describes it, and those of events.
    // SAFETY: new memory; it is gone with this process.
    let buffer = unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(
            std::ptr::null_mut(),
            (1 + pages) * PAGE,
            protection,
            libc::MAP_SHARED,
            event.as_raw_fd(),
            0,
        )
    };
    if buffer == libc::MAP_FAILED { Err(failed("mmap")) } else { Ok((event, buffer.cast())) }
}

/// An event of this CPU wakes us.
pub fn heard(cpu: u64) -> crate::Outcome {
    let cpu = i32::try_from(cpu).map_err(|e| e.to_string())?;
    let (event, _) = each_millisecond(cpu, 1)?;
    let mut waiting = libc::pollfd { fd: event.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one record.
    match unsafe { libc::poll(&mut waiting, 1, PATIENCE_MS) } {
        1 if waiting.revents & libc::POLLIN != 0 => Ok(()),
        0 => Err(format!("CPU {cpu} does not hear the interrupts that it sends to itself")),
        _ => Err(failed("poll")),
    }
}
