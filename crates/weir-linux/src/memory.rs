// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Memory that the kernel side writes while the loader reads it.
//!
//! Every address read there is checked against the bounds before it is followed, and every access is
//! volatile: a value may be half changed, but is never outside the memory, and never kept in a register.

use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use weir_core::raw::Plain;

use crate::layout::{Live, LiveCpu, LiveHead, LiveRequest, MAX_CPUS};

/// The arena, or any other memory that holds a scheduler of the core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    base: u64,
    bytes: u64,
}

impl Memory {
    /// # Safety
    /// `bytes` bytes at `base` are mapped, readable and writable as long as the value or a copy is used.
    pub unsafe fn new(base: u64, bytes: u64) -> Self {
        Self { base, bytes }
    }

    pub fn base(&self) -> u64 {
        self.base
    }

    /// `len` bytes at `at` lie within, and `at` is a multiple of `align`.
    fn holds(&self, at: u64, len: usize, align: usize) -> bool {
        let start = at.checked_sub(self.base);
        let end = start.and_then(|s| s.checked_add(len as u64));
        at.is_multiple_of(align as u64) && end.is_some_and(|e| e <= self.bytes)
    }

    /// The record at `at`; `None` where it does not lie within.
    pub fn read<T: Plain>(&self, at: u64) -> Option<T> {
        if !self.holds(at, size_of::<T>(), align_of::<T>()) {
            return None;
        }
        // SAFETY: in bounds, aligned, and any bytes are a valid `T`.
        Some(unsafe { ptr::read_volatile(at as *const T) })
    }

    /// Record number `index` of a table at `table`.
    pub fn entry<T: Plain>(&self, table: u64, index: u64) -> Option<T> {
        self.read(table.checked_add(index.checked_mul(size_of::<T>() as u64)?)?)
    }

    /// Hand one word of each record of a table to `each`, by number: the word at `offset` of the records 0 to `count`. Those that
    /// lie beyond the memory are left out. Quick even where nothing is optimised: the watchdog looks at thousands of tasks.
    pub fn words(
        &self,
        table: u64,
        stride: usize,
        offset: usize,
        count: u32,
        mut each: impl FnMut(u32, u64),
    ) {
        let room = (self.base + self.bytes).saturating_sub(table) / (stride as u64).max(1);
        let count = u32::try_from(room).unwrap_or(u32::MAX).min(count);
        let Some(first) = table.checked_add(offset as u64) else { return };
        let fits = offset + size_of::<u64>() <= stride && stride.is_multiple_of(align_of::<u64>());
        if count == 0 || !fits || !self.holds(first, size_of::<u64>(), align_of::<u64>()) {
            return;
        }
        let mut at = first as *const u64;
        let mut number = 0;
        while number < count {
            // SAFETY: `count` records of `stride` bytes lie between the table's beginning and the memory's end, and the word within
            // each of them; the first is aligned, and so all are.
            let word = unsafe { ptr::read_volatile(at) };
            if word != 0 {
                each(number, word);
            }
            at = at.wrapping_byte_add(stride);
            number += 1;
        }
    }

    /// The word at `at`, which is 0 from then on; 0 where it does not lie within.
    pub fn take(&self, at: u64) -> u64 {
        if !self.holds(at, size_of::<u64>(), align_of::<u64>()) {
            return 0;
        }
        // SAFETY: in bounds and aligned; the kernel side writes it, too, and loses no maximum by this exchange.
        unsafe { AtomicU64::from_ptr(at as *mut u64) }.swap(0, Ordering::Relaxed)
    }

    /// Put bytes at `at`; false where they do not lie within. Only for memory that is ours alone.
    pub fn write(&self, at: u64, bytes: &[u8]) -> bool {
        if !self.holds(at, bytes.len(), 1) {
            return false;
        }
        // SAFETY: in bounds; the kernel side reads there only later, on request.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
        true
    }

    /// Look at each page once: only then does it exist for the kernel side.
    pub fn touch(&self) {
        let mut at = self.base;
        while at < self.base + self.bytes {
            // SAFETY: in bounds.
            unsafe { ptr::read_volatile(at as *const u8) };
            at += 4096;
        }
    }
}

/// The record of global data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared {
    live: *mut Live,
}

// SAFETY: all accesses are volatile or atomic, and what is written by several is written under a lock.
unsafe impl Send for Shared {}
// SAFETY: likewise.
unsafe impl Sync for Shared {}

/// Read a field of the head.
macro_rules! get {
    ($self:ident . $($field:ident).+) => {
        // SAFETY: `live` is valid (see `Shared::new`); integers may have any value.
        unsafe { ptr::read_volatile(&raw const (*$self.live).head.$($field).+) }
    };
}

/// Write a field of the head that is the loader's.
macro_rules! set {
    ($self:ident . $($field:ident).+ = $value:expr) => {
        // SAFETY: `live` is valid (see `Shared::new`); the field is the loader's to write.
        unsafe { ptr::write_volatile(&raw mut (*$self.live).head.$($field).+, $value) }
    };
}

impl Shared {
    /// # Safety
    /// `live` points to a mapped `struct weir_live` as long as the value or a copy is used.
    pub unsafe fn new(live: *mut Live) -> Self {
        assert!(live.is_aligned() && !live.is_null(), "libbpf maps global data by pages");
        Self { live }
    }

    /// The record without its CPUs; half a millisecond old or new, as it happens.
    pub fn head(&self) -> LiveHead {
        // SAFETY: `live` is valid; integers may have any value.
        unsafe { ptr::read_volatile(&raw const (*self.live).head) }
    }

    pub fn exit_kind(&self) -> i32 {
        get!(self.exit_kind)
    }

    pub fn attached(&self) -> bool {
        get!(self.attached) != 0
    }

    /// Address of the table of gauges; 0 before the attachment.
    pub fn gauges(&self) -> u64 {
        get!(self.gauges)
    }

    pub fn cpu(&self, cpu: u32) -> Option<LiveCpu> {
        // SAFETY: `live` is valid, the CPU in range.
        ((cpu as usize) < MAX_CPUS)
            .then(|| unsafe { ptr::read_volatile(&raw const (*self.live).cpus[cpu as usize]) })
    }

    /// Facts that the kernel side needs before the attachment.
    pub fn set_up(&self, sched: u64, tasks: u64, max_tasks: u32, nr_cpus: u32, slice_ns: u64) {
        set!(self.sched = sched);
        set!(self.tasks = tasks);
        set!(self.max_tasks = max_tasks);
        set!(self.nr_cpus = nr_cpus);
        set!(self.slice_ns = slice_ns);
    }

    pub fn set_recording(&self, on: bool) {
        set!(self.recording = on.into());
    }

    /// Bound tasks run outside the graph: it has no responder of AFFINITY.
    pub fn set_bind(&self, on: bool) {
        set!(self.bind = on.into());
    }

    /// For tests: the kernel side has changed over to another topology.
    #[cfg(test)]
    pub fn count_swap(&self) {
        set!(self.swaps = self.head().swaps + 1);
    }

    /// Fields of `weir_counters` that are counted, and how.
    pub fn set_counting(&self, counting: u32) {
        set!(self.counting = counting);
    }

    /// No more tasks enter the graph.
    pub fn set_leave(&self, on: bool) {
        set!(self.leave = on.into());
    }

    /// State of the request.
    pub fn request_state(&self) -> &AtomicU32 {
        // SAFETY: valid and aligned; all accesses to the state go through this.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.live).head.request.state) }
    }

    /// Fill the request in, all but its state. Only while the state is FREE, by one thread.
    pub fn fill_request(&self, r: &LiveRequest) {
        let skip = offset_of!(LiveRequest, kind);
        // SAFETY: `live` is valid; while the state is FREE nobody else looks at the request.
        unsafe {
            let to = (&raw mut (*self.live).head.request).cast::<u8>().add(skip);
            ptr::copy_nonoverlapping(
                (&raw const *r).cast::<u8>().add(skip),
                to,
                size_of::<LiveRequest>() - skip,
            );
        }
    }

    /// The request with its result; after its state was seen as DONE.
    pub fn request(&self) -> LiveRequest {
        std::sync::atomic::fence(Ordering::Acquire);
        get!(self.request)
    }
}

/// A zeroed record, for tests and for the beginning.
#[cfg(test)]
pub(crate) fn zeroed_live() -> Box<Live> {
    // SAFETY: integers only; all zero bytes are valid.
    unsafe { Box::<Live>::new_zeroed().assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::raw;

    #[test]
    fn addresses_outside_are_not_followed() {
        let words = [1u64, 2, 3, 4];
        let base = words.as_ptr() as u64;
        // SAFETY: the array outlives the value.
        let memory = unsafe { Memory::new(base, 32) };
        assert_eq!(memory.read::<u64>(base + 24), Some(4));
        assert_eq!(memory.entry::<u64>(base, 1), Some(2));
        for wrong in [base - 8, base + 32, base + 25, 0, u64::MAX, u64::MAX - 7, base + (1 << 40)] {
            assert_eq!(memory.read::<u64>(wrong), None, "{wrong:#x}");
        }
        assert_eq!(memory.take(base + 32), 0);
        let seen = |table: u64, stride: usize, offset: usize, count: u32| {
            let mut seen = Vec::new();
            memory.words(table, stride, offset, count, |n, word| seen.push((n, word)));
            seen
        };
        assert_eq!(seen(base, 16, 8, 2), [(0, 2), (1, 4)]);
        assert_eq!(seen(base + 8, 16, 0, u32::MAX), [(0, 2)], "the second record is not whole");
        for (table, stride, offset) in
            [(base - 8, 8, 0), (base + 4, 8, 0), (u64::MAX - 7, 8, 0), (base, 8, 8), (base, 4, 0)]
        {
            assert_eq!(seen(table, stride, offset, 4), [], "{table:#x} {stride} {offset}");
        }
        assert_eq!(memory.entry::<u64>(base, u64::MAX / 4), None);
        assert_eq!(memory.entry::<u64>(u64::MAX - 3, 1), None);
        assert!(memory.read::<raw::Pipe>(base).is_none(), "larger than the memory");
        assert!(!memory.write(base + 30, &[1, 2, 3]));
    }
}
