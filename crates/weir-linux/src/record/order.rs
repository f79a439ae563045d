// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Puts events of several CPUs into order of time.
//!
//! A CPU reads the clock and then takes its place in the ring; another CPU may do so in between, so the
//! ring is out of order by some microseconds, or by milliseconds if a hypervisor preempts a CPU between
//! the two steps. Events wait here until no older one can be expected.

use std::collections::VecDeque;

/// Maximum number of waiting events. At this number the oldest is passed on, however young it is.
const MOST: usize = 1 << 20;

/// Events that wait for older ones, oldest first.
#[derive(Debug)]
pub(super) struct Window<T> {
    waiting: VecDeque<(u64, T)>,
    /// How long an event waits, ns of the events' clock.
    span_ns: u64,
    /// The latest time heard of.
    newest_ns: u64,
    /// Time of the last event that left: none older may follow.
    left_ns: u64,
    /// Events that came after a younger one had left. They keep their place and get its time.
    pub late: u64,
}

impl<T> Window<T> {
    pub fn new(span_ns: u64) -> Self {
        Self { waiting: VecDeque::new(), span_ns, newest_ns: 0, left_ns: 0, late: 0 }
    }

    /// How long an event waits.
    pub fn span_ns(&self) -> u64 {
        self.span_ns
    }

    /// Takes an event in. Those of equal time keep the order in which they came.
    pub fn push(&mut self, t_ns: u64, item: T) {
        self.late += u64::from(t_ns < self.left_ns);
        let t_ns = t_ns.max(self.left_ns);
        // Nearly sorted: the place is at the end or a few steps before it.
        let mut at = self.waiting.len();
        while at > 0 && self.waiting[at - 1].0 > t_ns {
            at -= 1;
        }
        self.waiting.insert(at, (t_ns, item));
    }

    /// The ring was read up to an event of `now_ns`. No clock may be asked instead: where the reader is kept
    /// waiting, older events are still in the ring.
    pub fn advance(&mut self, now_ns: u64) {
        self.newest_ns = self.newest_ns.max(now_ns);
    }

    /// The next event that has waited long enough, with its time. `extra` is asked how much longer than
    /// others it has to wait, ns.
    pub fn pop(&mut self, extra: impl FnOnce(u64, &T) -> u64) -> Option<(u64, T)> {
        let (t_ns, item) = self.waiting.front()?;
        let span_ns = self.span_ns.saturating_add(extra(*t_ns, item));
        if t_ns.saturating_add(span_ns) > self.newest_ns && self.waiting.len() <= MOST {
            return None;
        }
        self.pop_now()
    }

    /// The next event, however young.
    pub fn pop_now(&mut self) -> Option<(u64, T)> {
        let (t_ns, item) = self.waiting.pop_front()?;
        self.left_ns = t_ns;
        Some((t_ns, item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(w: &mut Window<char>) -> String {
        std::iter::from_fn(|| w.pop(|_, _| 0)).map(|(_, c)| c).collect()
    }

    #[test]
    fn sorts_within_the_window() {
        let mut w = Window::new(10);
        for (t, c) in [(5, 'b'), (3, 'a'), (5, 'c'), (12, 'e'), (8, 'd')] {
            w.push(t, c);
            w.advance(t);
        }
        assert_eq!(ready(&mut w), "", "nothing is 10 ns old yet");
        w.advance(15);
        assert_eq!(ready(&mut w), "abc");
        w.push(30, 'f');
        assert_eq!(ready(&mut w), "", "the reader is not that far");
        w.advance(30);
        assert_eq!(ready(&mut w), "de");
        assert_eq!(w.pop_now(), Some((30, 'f')));
        assert_eq!(w.late, 0);
    }

    #[test]
    fn what_comes_too_late_is_moved_up_and_counted() {
        let mut w = Window::new(10);
        w.push(100, 'a');
        w.advance(170);
        assert_eq!(w.pop(|t, c| if (t, *c) == (100, 'a') { 61 } else { 0 }), None);
        assert_eq!(w.pop(|_, _| 60), Some((100, 'a')), "longer than others, and it is time");
        w.push(40, 'b');
        assert_eq!((w.pop_now(), w.late), (Some((100, 'b')), 1));
    }

    #[test]
    fn memory_is_bounded() {
        let mut w = Window::new(u64::MAX);
        for t in 0..=MOST as u64 {
            w.push(t, ());
        }
        assert_eq!(w.pop(|_, _| 0), Some((0, ())));
        assert_eq!(w.pop(|_, _| 0), None);
    }
}
