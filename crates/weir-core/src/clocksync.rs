// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Equal clocks of CPUs that have one each: `runtimes/multikernel/clocksync.h`, which every runtime shares.

use std::ffi::c_int;

/// The margin of the first round, ns.
pub const MARGIN_NS: u64 = 80_000_000;
/// Beyond this margin nothing is tried any more, ns.
pub const LIMIT_NS: u64 = 1_000_000_000;
/// A clock that is off by more asks for a new round, ns.
pub const DRIFT_NS: u64 = 5_000;

/// Begin of `struct mk_sync`; C says how large the whole is.
#[repr(C)]
struct CSync {
    state: u32,
    nr: u32,
    waiting: u32,
    late: u32,
    rounds: u32,
    sequence: u32,
    margin: u64,
    target: u64,
    drift: u64,
}

/// What a CPU answers to a round.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub cpu: u32,
    pub sequence: u32,
    /// 1: the target was over when this CPU first looked.
    pub late: i32,
    pub unused: u32,
    /// The reference less its own clock at the target, ns.
    pub base_ns: i64,
}

/// How it stands with the clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    None,
    Round,
    Equal,
    Disabled,
}

unsafe extern "C" {
    fn mk_sync_bytes() -> u64;
    fn mk_sync_init(s: *mut CSync, nr: u32, drift: u64) -> c_int;
    fn mk_sync_begin(s: *mut CSync, reference: u64) -> c_int;
    fn mk_sync_in_time(target: u64, reference: u64) -> c_int;
    fn mk_sync_answered(s: *mut CSync, a: *const Answer) -> c_int;
    fn mk_sync_time(s: *const CSync, cpu: u32, local: u64) -> u64;
    fn mk_sync_watch(s: *const CSync, cpu: u32, local: u64, reference: u64) -> c_int;
}

/// The initiator's side.
#[derive(Debug)]
pub struct ClockSync {
    /// Room for `struct mk_sync`, aligned for it.
    room: Vec<u64>,
    nr: u32,
}

impl ClockSync {
    /// For that many CPUs; none if there are too many.
    pub fn new(nr: u32) -> Option<Self> {
        // SAFETY: it only says a size.
        let bytes = unsafe { mk_sync_bytes() } as usize;
        let mut sync = Self { room: vec![0; bytes.div_ceil(8)], nr };
        // SAFETY: there is room for all of it.
        (unsafe { mk_sync_init(sync.raw(), nr, DRIFT_NS) } == 0).then_some(sync)
    }

    fn raw(&mut self) -> *mut CSync {
        self.room.as_mut_ptr().cast()
    }

    fn head(&self) -> &CSync {
        // SAFETY: C wrote a `struct mk_sync` there, which begins so.
        unsafe { &*self.room.as_ptr().cast() }
    }

    pub fn state(&self) -> State {
        match self.head().state {
            0 => State::None,
            1 => State::Round,
            2 => State::Equal,
            _ => State::Disabled,
        }
    }

    /// Begin a round: its target and number, for every CPU. None: disabled, or a round is under way.
    pub fn begin(&mut self, reference_ns: u64) -> Option<(u64, u32)> {
        // SAFETY: initialised by `new`.
        let begun = unsafe { mk_sync_begin(self.raw(), reference_ns) } == 1;
        begun.then(|| (self.head().target, self.head().sequence))
    }

    /// Whether a CPU that looks at the reference for the first time can still wait for the target.
    pub fn in_time(target_ns: u64, reference_ns: u64) -> bool {
        // SAFETY: plain numbers.
        unsafe { mk_sync_in_time(target_ns, reference_ns) == 1 }
    }

    /// An answer came; true: it was the last one of the round, and [`ClockSync::state`] says how that ended.
    pub fn answered(&mut self, answer: &Answer) -> bool {
        // SAFETY: initialised by `new`; C checks the number of the CPU.
        unsafe { mk_sync_answered(self.raw(), answer) == 1 }
    }

    /// The common time when the clock of `cpu` says `local_ns`; only if clocks are equal.
    pub fn time(&self, cpu: u32, local_ns: u64) -> u64 {
        assert!(cpu < self.nr, "CPU {cpu} of {}", self.nr);
        // SAFETY: initialised by `new`, and there is such a CPU.
        unsafe { mk_sync_time(self.room.as_ptr().cast(), cpu, local_ns) }
    }

    /// Whether the clock of `cpu` has drifted so far that a new round is due.
    pub fn watch(&self, cpu: u32, local_ns: u64, reference_ns: u64) -> bool {
        assert!(cpu < self.nr, "CPU {cpu} of {}", self.nr);
        // SAFETY: as in `time`.
        unsafe { mk_sync_watch(self.room.as_ptr().cast(), cpu, local_ns, reference_ns) == 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A CPU that comes too late makes the initiator double the margin, and give up beyond the limit.
    #[test]
    fn rounds_are_repeated_and_given_up() {
        let mut sync = ClockSync::new(2).expect("two CPUs");
        let mut margins = Vec::new();
        let mut now = 0;
        while let Some((target, sequence)) = sync.begin(now) {
            margins.push(target - now);
            assert!(!sync.answered(&Answer { cpu: 0, sequence, ..Answer::default() }));
            now = target + 1;
            assert!(!ClockSync::in_time(target, now));
            assert!(sync.answered(&Answer { cpu: 1, sequence, late: 1, ..Answer::default() }));
        }
        assert_eq!(margins, [80, 160, 320, 640].map(|ms| ms * 1_000_000));
        assert_eq!(sync.state(), State::Disabled);

        let mut sync = ClockSync::new(1).expect("one CPU");
        let (_, sequence) = sync.begin(5).expect("it begins");
        assert!(sync.answered(&Answer { sequence, base_ns: -7, ..Answer::default() }));
        assert_eq!((sync.state(), sync.time(0, 100)), (State::Equal, 93));
        assert!(!sync.watch(0, 100, 93 + DRIFT_NS) && sync.watch(0, 100, 94 + DRIFT_NS));
    }
}
