// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A model of the unified controller (`weir_unified`), written after docs/hardware-registers.md: what each call answers, and whether the CPU is
//! interrupted. Time comes from outside: lines rise and fall, timers expire when the caller says so, and nothing is under way.

use std::cmp::Reverse;

use crate::kernel::FAILED;
use crate::map::unified;

/// What NEXT takes, the most urgent one first among equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Thread = 0,
    Timer = 1,
    Line = 2,
}

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// It interrupts by its rising edge.
    edge: bool,
    high: bool,
    /// An edge that is not handed over yet.
    latched: bool,
    enabled: bool,
    /// It interrupted while it was enabled: NEXT can take it, even if its level has gone since.
    posted: bool,
    thread: u8,
    priority: u8,
}

impl Line {
    fn pending(&self) -> bool {
        if self.edge { self.latched } else { self.high }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Timer {
    /// Clock of the expiry.
    armed: Option<u64>,
    expired: bool,
    thread: u8,
    priority: u8,
}

/// The controller with 256 threads and priorities.
#[derive(Clone, Debug)]
pub struct Unified {
    lines: Vec<Line>,
    timers: Vec<Timer>,
    heads: [Option<u8>; 256],
    current: (u8, u8),
    runs: bool,
}

impl Unified {
    /// Bit l of `edges`: line l interrupts by its rising edge.
    pub fn new(lines: usize, edges: u64, timers: usize) -> Self {
        let line = |l| Line { edge: edges >> l & 1 == 1, ..Line::default() };
        Self {
            lines: (0..lines).map(line).collect(),
            timers: vec![Timer::default(); timers],
            heads: [None; 256],
            current: (0, 0),
            runs: false,
        }
    }

    /// The lines are so from now on.
    pub fn lines(&mut self, high: u64) {
        for (l, line) in self.lines.iter_mut().enumerate() {
            let now = high >> l & 1 == 1;
            line.latched |= now && !line.high;
            line.high = now;
        }
        self.post();
    }

    fn post(&mut self) {
        for line in &mut self.lines {
            line.posted |= line.enabled && line.pending();
        }
    }

    /// Timers whose time has come expire.
    pub fn time(&mut self, now: u64) {
        for timer in &mut self.timers {
            if timer.armed.is_some_and(|at| at <= now) {
                (timer.armed, timer.expired) = (None, true);
            }
        }
    }

    /// Clocks at which timers that run will expire.
    pub fn expiries(&self) -> impl Iterator<Item = u64> {
        self.timers.iter().filter_map(|t| t.armed)
    }

    /// The most urgent one: priority, source, and, the lowest one first, its line, timer or level.
    fn best(&self) -> Option<(u8, Source, usize)> {
        let lines = self.lines.iter().enumerate().filter(|(_, l)| l.posted);
        let timers = self.timers.iter().enumerate().filter(|(_, t)| t.expired);
        let threads = self.heads.iter().enumerate().filter(|(_, h)| h.is_some());
        lines
            .map(|(n, l)| (l.priority, Source::Line, n))
            .chain(timers.map(|(n, t)| (t.priority, Source::Timer, n)))
            .chain(threads.map(|(n, _)| (n as u8, Source::Thread, n)))
            .max_by_key(|(priority, source, n)| (*priority, *source, Reverse(*n)))
    }

    /// The CPU is interrupted: something is strictly more urgent than what runs.
    pub fn interrupts(&self) -> bool {
        self.best().is_some_and(|(priority, _, _)| !self.runs || priority > self.current.1)
    }

    fn next(&mut self) -> u32 {
        let best = self.best();
        self.runs = best.is_some();
        let Some((priority, source, n)) = best else { return FAILED };
        let (thread, which) = match source {
            Source::Line => {
                let line = &mut self.lines[n];
                (line.posted, line.enabled, line.latched) = (false, false, false);
                (line.thread, n)
            }
            Source::Timer => {
                self.timers[n].expired = false;
                (self.timers[n].thread, n)
            }
            Source::Thread => (self.heads[n].expect("it is one of those that are there"), 0),
        };
        self.current = (thread, priority);
        use unified::next::*;
        THREAD.put(thread.into())
            | PRIORITY.put(priority.into())
            | WHICH.put(which as u32)
            | SOURCE.put(source as u32)
    }

    /// What a read answers; of TIMER_STATUS whether the timer runs.
    pub fn call(&mut self, command: u32, thread: u8, priority: u8, which: u8) -> u32 {
        let at = usize::from(which);
        let of_line = [unified::ASSOCIATE, unified::CLEAR, unified::READ].contains(&command);
        let of_timer = [unified::TIMER_STATUS, unified::CANCEL_TIMER].contains(&command);
        if of_line && at >= self.lines.len() || of_timer && at >= self.timers.len() {
            return u32::MAX;
        }
        match command {
            unified::CURRENT => {
                let (thread, priority) = self.current;
                use unified::current::*;
                THREAD.put(thread.into()) | PRIORITY.put(priority.into()) | NONE.put((!self.runs).into())
            }
            unified::NEXT => self.next(),
            unified::SET_THREAD => {
                self.heads[usize::from(priority)] = (which & 1 == 0).then_some(thread);
                0
            }
            unified::ASSOCIATE => {
                let line = &mut self.lines[at];
                let pending = line.pending();
                if pending {
                    line.latched = false;
                }
                (line.enabled, line.posted) = (!pending, false);
                (line.thread, line.priority) = (thread, priority);
                pending.into()
            }
            unified::CLEAR => {
                let line = &mut self.lines[at];
                let pending = line.pending();
                (line.posted, line.enabled, line.latched) = (false, false, false);
                pending.into()
            }
            unified::READ => self.lines[at].pending().into(),
            unified::TIMER_STATUS => self.timers[at].armed.is_some().into(),
            unified::CANCEL_TIMER => {
                let timer = &mut self.timers[at];
                let was = timer.armed.is_some() || timer.expired;
                (timer.armed, timer.expired) = (None, false);
                was.into()
            }
            _ => u32::MAX,
        }
    }

    /// The store of ADD_TIMER: the timer expires at that clock.
    pub fn add_timer(&mut self, thread: u8, priority: u8, timer: u8, at: u64) -> u32 {
        match self.timers.get_mut(usize::from(timer)) {
            None => u32::MAX,
            Some(t) => {
                *t = Timer { armed: Some(at), expired: false, thread, priority };
                0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::unified::*;

    #[test]
    fn equals_go_by_kind_and_then_by_number() {
        let mut u = Unified::new(4, 0b0011, 4);
        u.call(SET_THREAD, 9, 5, 0);
        for (line, thread) in [(2, 1), (0, 2)] {
            assert_eq!(u.call(ASSOCIATE, thread, 5, line), 0);
        }
        u.add_timer(3, 5, 1, 100);
        u.time(100);
        u.lines(0b0101);
        let mut order = Vec::new();
        for _ in 0..4 {
            order.push(u.call(NEXT, 0, 0, 0) & 0xff);
        }
        assert_eq!(order, [2, 1, 3, 9]);
        // Equal to what runs: no interrupt.
        assert!(!u.interrupts());
        u.call(SET_THREAD, 8, 6, 0);
        assert!(u.interrupts());
    }

    #[test]
    fn a_pending_line_is_served_at_once() {
        let mut u = Unified::new(4, 0b0001, 4);
        u.lines(1);
        u.lines(0);
        assert_eq!((u.call(READ, 0, 0, 0), u.call(ASSOCIATE, 1, 5, 0), u.call(READ, 0, 0, 0)), (1, 1, 0));
        assert_eq!((u.call(ASSOCIATE, 1, 5, 0), u.call(ASSOCIATE, 1, 5, 4)), (0, u32::MAX));
        assert!(!u.interrupts());
        u.lines(1);
        assert!(u.interrupts());
        assert_eq!((u.call(CLEAR, 0, 0, 0), u.interrupts()), (1, false));
    }
}
