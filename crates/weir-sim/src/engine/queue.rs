// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The event queue: the next event, and the order within one instant.
//!
//! An event is one 128-bit number: time, then class, then kind, then (of tasks) the place in the workload, then
//! index. Comparing two events is comparing two numbers, so the order of simultaneous events is total and does not depend on the
//! history of the queue. Two structures share that order: a heap for timers, of which there may be
//! millions, and a tree of minima with one entry per CPU, whose next event changes all the time.

/// Order of events at equal times: all changes of state come before any decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Phase {
    /// Work completed, slice used up, scheduler code done.
    Finish = 0,
    /// Timers, releases, wake-ups, machine events, commands.
    Timer = 1,
    /// Inter-processor interrupts arrive.
    Interrupt = 2,
    /// CPUs choose what to run.
    Choose = 3,
}

/// The kind of an event; the order of simultaneous events of one [`Phase`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Index: CPU.
    Cpu = 0,
    /// Index: entry of the list of machine events.
    Machine = 1,
    /// Index: entry of the list of commands.
    Command = 2,
    /// Index: step of the scenario.
    Step = 3,
    /// Index: task whose job has its deadline now.
    Deadline = 4,
    /// Index: workload entry to be created.
    Start = 5,
    /// Index: task whose sleep is over.
    Wake = 6,
    /// A component's timer.
    Component = 7,
    /// The scenario's rules look at the run.
    Sample = 8,
    /// Index: CPU that is woken for work.
    Kick = 9,
    /// Index: CPU that must give up its task.
    Preempt = 10,
    /// Index: coherence domain that has remote messages.
    Remote = 11,
    /// Index: message between planners.
    Message = 12,
    /// Index: gang one of whose slots begins.
    Slot = 13,
    /// Temperatures are sampled.
    Heat = 14,
    /// Index: CPU whose clock changes as a component asked.
    Clock = 15,
}

const KINDS: [Kind; 16] = [
    Kind::Cpu,
    Kind::Machine,
    Kind::Command,
    Kind::Step,
    Kind::Deadline,
    Kind::Start,
    Kind::Wake,
    Kind::Component,
    Kind::Sample,
    Kind::Kick,
    Kind::Preempt,
    Kind::Remote,
    Kind::Message,
    Kind::Slot,
    Kind::Heat,
    Kind::Clock,
];

/// An event, ordered by time, phase, kind, place in the workload and index.
///
/// Releases of tasks that exist and creations of others are of one kind in this order, so that what the workload lists
/// first comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(u128);

/// Places in the workload that are distinguished; the tasks behind them go by number.
const PLACES: u32 = (1 << 25) - 1;

impl Key {
    /// Later than every event.
    pub const NEVER: Key = Key(u128::MAX);

    pub fn new(time: u64, phase: Phase, kind: Kind, index: u32) -> Self {
        debug_assert!(!matches!(kind, Kind::Start | Kind::Wake), "see `Key::of_task`");
        Self::with(time, phase, kind, 0, index)
    }

    /// A creation or a wake-up; `place` is the task's in the workload.
    pub fn of_task(time: u64, kind: Kind, place: u32, index: u32) -> Self {
        let order = place.min(PLACES) << 1 | u32::from(kind == Kind::Wake);
        Self::with(time, Phase::Timer, Kind::Start, order, index)
    }

    /// From the top: 64 bits, 2, 4, 26, 32.
    fn with(time: u64, phase: Phase, kind: Kind, order: u32, index: u32) -> Self {
        let rank = (phase as u64) << 62 | (kind as u64) << 58 | u64::from(order) << 32 | u64::from(index);
        Self(u128::from(time) << 64 | u128::from(rank))
    }

    pub fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    fn phase(self) -> u8 {
        (self.0 >> 62) as u8 & 3
    }

    pub fn is_choose(self) -> bool {
        self.phase() == Phase::Choose as u8
    }

    pub fn is_finish(self) -> bool {
        self.phase() == Phase::Finish as u8
    }

    pub fn kind(self) -> Kind {
        match KINDS[(self.0 >> 58) as usize & 15] {
            Kind::Start if self.0 >> 32 & 1 == 1 => Kind::Wake,
            kind => kind,
        }
    }

    pub fn index(self) -> u32 {
        self.0 as u32
    }

    /// The same event at another time.
    pub fn at(self, time: u64) -> Self {
        Self(u128::from(time) << 64 | u128::from(self.0 as u64))
    }
}

/// A heap of timers; four children a node, which halves the depth of a binary one.
#[derive(Debug, Default)]
pub struct TimerHeap {
    keys: Vec<Key>,
}

impl TimerHeap {
    pub fn peek(&self) -> Key {
        self.keys.first().copied().unwrap_or(Key::NEVER)
    }

    pub fn push(&mut self, key: Key) {
        let mut hole = self.keys.len();
        self.keys.push(key);
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if self.keys[parent] <= key {
                break;
            }
            self.keys[hole] = self.keys[parent];
            hole = parent;
        }
        self.keys[hole] = key;
    }

    pub fn pop(&mut self) -> Option<Key> {
        let top = *self.keys.first()?;
        let last = self.keys.pop().expect("the heap has a first element");
        let len = self.keys.len();
        if len == 0 {
            return Some(top);
        }
        let mut hole = 0;
        loop {
            let first = 4 * hole + 1;
            if first >= len {
                break;
            }
            let children = &self.keys[first..(first + 4).min(len)];
            let (mut least, mut least_key) = (first, children[0]);
            for (child, &k) in (first + 1..).zip(&children[1..]) {
                if k < least_key {
                    (least, least_key) = (child, k);
                }
            }
            if last <= least_key {
                break;
            }
            self.keys[hole] = least_key;
            hole = least;
        }
        self.keys[hole] = last;
        Some(top)
    }
}

/// Times from here on never come: 146 years.
pub const HORIZON: u64 = 1 << 62;

/// Entries a node of [`CpuQueue`] has.
const FAN: usize = 8;
/// No event.
const IDLE: u64 = u64::MAX;

/// The next event of each CPU: a tree whose nodes hold the least entry below them.
///
/// An entry is twice the time, plus one if the event is a choice; equal entries are ordered by CPU.
/// Setting one costs a scan of eight neighbours a level, and stops at the first level that does not
/// change; most lie far in the future and change nothing above. Choices due at once, the most frequent
/// kind without costs, do not go through the tree but into a set of their own.
#[derive(Debug)]
pub struct CpuQueue {
    /// `levels[0]` has an entry for each CPU, the last level has one node.
    levels: Vec<Vec<u64>>,
    /// CPUs that choose at the present instant, a bit each, and the words that have any.
    choosing: Vec<u64>,
    words: u64,
    /// The present instant.
    now: u64,
}

impl CpuQueue {
    pub fn new(nr_cpus: u32) -> Self {
        let mut levels = Vec::new();
        let mut n = (nr_cpus as usize).max(1);
        let words = n.div_ceil(64);
        assert!(words <= 64, "one word has a bit for each word of CPUs");
        loop {
            levels.push(vec![IDLE; n.next_multiple_of(FAN)]);
            n = n.div_ceil(FAN);
            if n == 1 {
                break;
            }
        }
        levels.push(vec![IDLE]);
        Self { levels, choosing: vec![0; words], words: 0, now: 0 }
    }

    /// Time moves on; the caller has handled all events before `now`.
    pub fn advance(&mut self, now: u64) {
        debug_assert!(self.words == 0, "choices of an instant are made in it");
        self.now = now;
    }

    /// Whether the first event of the CPUs comes before a timer.
    pub fn comes_before(&self, timer: Key) -> bool {
        let least = self.levels[self.levels.len() - 1][0];
        let least = if self.words != 0 { least.min(self.now << 1 | 1) } else { least };
        // Twice the time of the timer stands between an end and a choice of that time.
        let time = timer.time().min(HORIZON);
        least < time << 1 || (least == time << 1 && least != IDLE)
    }

    /// The first event of all CPUs.
    pub fn peek(&self) -> Key {
        let least = self.levels[self.levels.len() - 1][0];
        let chooser = self.now << 1 | 1;
        if self.words != 0 && chooser <= least {
            let word = self.words.trailing_zeros();
            let cpu = word * 64 + self.choosing[word as usize].trailing_zeros();
            return Key::new(self.now, Phase::Choose, Kind::Cpu, cpu);
        }
        if least == IDLE {
            return Key::NEVER;
        }
        let mut at = 0;
        for level in self.levels.iter().rev().skip(1) {
            let group = &level[at * FAN..at * FAN + FAN];
            at = at * FAN
                + group.iter().position(|&k| k == least).expect("a node holds the least entry below it");
        }
        let phase = if least & 1 == 1 { Phase::Choose } else { Phase::Finish };
        Key::new(least >> 1, phase, Kind::Cpu, at as u32)
    }

    /// Whether an event of this CPU is queued.
    pub fn has(&self, cpu: u32) -> bool {
        self.levels[0][cpu as usize] != IDLE || self.choosing[cpu as usize / 64] >> (cpu % 64) & 1 == 1
    }

    /// The next event of this CPU is a choice at this time.
    pub fn choose(&mut self, cpu: u32, at: u64) {
        let (word, bit) = (cpu as usize / 64, 1 << (cpu % 64));
        if at <= self.now {
            self.choosing[word] |= bit;
            self.words |= 1 << word;
            self.set(cpu, IDLE);
        } else {
            self.forget_choice(cpu);
            self.set(cpu, at << 1 | 1);
        }
    }

    /// The next event of this CPU is the end of something at this time.
    pub fn finish(&mut self, cpu: u32, at: u64) {
        self.forget_choice(cpu);
        self.set(cpu, at << 1);
    }

    /// This CPU has no event.
    pub fn clear(&mut self, cpu: u32) {
        self.forget_choice(cpu);
        self.set(cpu, IDLE);
    }

    fn forget_choice(&mut self, cpu: u32) {
        let (word, bit) = (cpu as usize / 64, 1u64 << (cpu % 64));
        self.choosing[word] &= !bit;
        if self.choosing[word] == 0 {
            self.words &= !(1 << word);
        }
    }

    fn set(&mut self, cpu: u32, entry: u64) {
        let mut at = cpu as usize;
        if self.levels[0][at] == entry {
            return;
        }
        self.levels[0][at] = entry;
        for level in 1..self.levels.len() {
            at /= FAN;
            let group: &[u64; FAN] = self.levels[level - 1][at * FAN..at * FAN + FAN]
                .try_into()
                .expect("levels are padded to whole nodes");
            let least = group.iter().fold(IDLE, |a, &b| a.min(b));
            if self.levels[level][at] == least {
                return;
            }
            self.levels[level][at] = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn order_within_an_instant() {
        let mut keys = [
            Key::new(5, Phase::Choose, Kind::Cpu, 0),
            Key::new(5, Phase::Interrupt, Kind::Preempt, 0),
            Key::of_task(5, Kind::Wake, 0, 9),
            Key::of_task(5, Kind::Wake, 1, 2),
            Key::of_task(5, Kind::Start, 1, 1),
            Key::of_task(5, Kind::Wake, 1, 1),
            Key::new(5, Phase::Timer, Kind::Deadline, 7),
            Key::new(5, Phase::Finish, Kind::Cpu, 3),
            Key::new(4, Phase::Choose, Kind::Cpu, 1),
        ];
        keys.sort();
        let shown: Vec<_> = keys.iter().map(|k| (k.time(), k.kind(), k.index())).collect();
        assert_eq!(
            shown,
            [
                (4, Kind::Cpu, 1),
                (5, Kind::Cpu, 3),
                (5, Kind::Deadline, 7),
                (5, Kind::Wake, 9),
                (5, Kind::Start, 1),
                (5, Kind::Wake, 1),
                (5, Kind::Wake, 2),
                (5, Kind::Preempt, 0),
                (5, Kind::Cpu, 0),
            ]
        );
        assert!(keys[8].is_choose() && !keys[1].is_choose());
    }

    proptest! {
        #[test]
        fn heap_sorts(mut times in proptest::collection::vec(0u64..50, 0..200)) {
            let mut heap = TimerHeap::default();
            for (i, &t) in times.iter().enumerate() {
                heap.push(Key::new(t, Phase::Timer, Kind::Component, i as u32));
            }
            times.sort();
            let mut popped = Vec::new();
            while let Some(k) = heap.pop() {
                popped.push(k);
            }
            prop_assert!(popped.windows(2).all(|w| w[0] < w[1]));
            prop_assert_eq!(popped.iter().map(|k| k.time()).collect::<Vec<_>>(), times);
        }

        #[test]
        fn tree_finds_the_first(cpus in 1u32..200, steps in proptest::collection::vec((0u32..200, 0u64..30, 0u8..3), 0..300)) {
            let mut q = CpuQueue::new(cpus);
            let mut plain = vec![Key::NEVER; cpus as usize];
            for (c, t, what) in steps {
                let t = t.max(q.now);
                let c = c % cpus;
                plain[c as usize] = match what {
                    0 => { q.clear(c); Key::NEVER }
                    1 => { q.choose(c, t); Key::new(t, Phase::Choose, Kind::Cpu, c) }
                    _ => { q.finish(c, t); Key::new(t, Phase::Finish, Kind::Cpu, c) }
                };
                let first = *plain.iter().min().unwrap();
                prop_assert_eq!(q.peek(), first);
                for phase in [Phase::Timer, Phase::Interrupt] {
                    let timer = Key::new(t, phase, Kind::Component, 0);
                    prop_assert_eq!(q.comes_before(timer), first < timer);
                }
                prop_assert_eq!(q.comes_before(Key::NEVER), first != Key::NEVER);
                prop_assert_eq!(q.has(c), plain[c as usize] != Key::NEVER);
                if first != Key::NEVER && first.time() > q.now {
                    q.advance(first.time());
                }
                // What is due is handled before time moves on, as in the simulation.
                while q.peek() != Key::NEVER && q.peek().time() <= q.now {
                    let c = q.peek().index();
                    prop_assert_eq!(q.peek(), *plain.iter().min().unwrap());
                    q.clear(c);
                    plain[c as usize] = Key::NEVER;
                }
            }
        }
    }
}
