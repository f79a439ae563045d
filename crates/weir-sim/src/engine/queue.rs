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

impl Kind {
    /// It comes again and again, whether or not there is a task for which it matters.
    #[inline]
    pub fn is_routine(self) -> bool {
        matches!(self, Kind::Component | Kind::Message | Kind::Slot | Kind::Heat)
    }
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

/// The four children of a node of [`TimerHeap`]: one line of a cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Children([Key; 4]);

/// A heap of timers; four children a node, which halves the depth of a binary one.
///
/// Node `n` has the children `4 n + 1 ..= 4 n + 4`. Most timers that are due queue their next one, so that the place of the
/// first is left open until it is known what comes there.
#[derive(Debug)]
pub struct TimerHeap {
    first: Key,
    /// The first one has been taken; nothing has come in its place yet.
    open: bool,
    /// All others, by the number of their parent; those behind the last one are [`Key::NEVER`].
    below: Vec<Children>,
    /// How many those are.
    len: usize,
}

impl Default for TimerHeap {
    fn default() -> Self {
        Self { first: Key::NEVER, open: false, below: Vec::new(), len: 0 }
    }
}

impl TimerHeap {
    #[inline]
    pub fn peek(&mut self) -> Key {
        if self.open {
            self.close();
        }
        self.first
    }

    #[inline]
    pub fn push(&mut self, key: Key) {
        if std::mem::take(&mut self.open) {
            self.sink(key);
        } else if self.first == Key::NEVER {
            self.first = key;
        } else {
            self.rise(key);
        }
    }

    /// The last of all comes in the place of the first one, which was taken.
    fn close(&mut self) {
        self.open = false;
        let Some(last) = self.len.checked_sub(1) else {
            self.first = Key::NEVER;
            return;
        };
        self.len = last;
        let last = std::mem::replace(&mut self.below[last / 4].0[last % 4], Key::NEVER);
        self.sink(last);
    }

    /// A key behind all others, up to its place.
    fn rise(&mut self, key: Key) {
        let mut hole = self.len;
        self.len += 1;
        if hole / 4 == self.below.len() {
            self.below.push(Children([Key::NEVER; 4]));
        }
        // The parent of the children at `4 p ..` is node `p`, which is the first or stands at `p - 1`.
        while let Some(parent) = (hole / 4).checked_sub(1) {
            let above = self.below[parent / 4].0[parent % 4];
            if above <= key {
                self.below[hole / 4].0[hole % 4] = key;
                return;
            }
            self.below[hole / 4].0[hole % 4] = above;
            hole = parent;
        }
        if self.first <= key {
            self.below[hole / 4].0[hole % 4] = key;
        } else {
            self.below[hole / 4].0[hole % 4] = std::mem::replace(&mut self.first, key);
        }
    }

    /// A key in the place of the first, down to its place.
    fn sink(&mut self, key: Key) {
        // Where the key would stand, if it need not go further down: as the first, or in a group.
        let (mut group, mut place) = (usize::MAX, 0);
        let mut next = 0;
        while let Some(&Children(c)) = self.below.get(next) {
            let (low, high) = (usize::from(c[1] < c[0]), 2 + usize::from(c[3] < c[2]));
            let least = if c[high % 4] < c[low % 4] { high } else { low };
            let up = c[least % 4];
            if key <= up {
                break;
            }
            *self.at(group, place) = up;
            (group, place) = (next, least);
            next = 4 * next + least + 1;
        }
        *self.at(group, place) = key;
    }

    #[inline(always)]
    fn at(&mut self, group: usize, place: usize) -> &mut Key {
        match self.below.get_mut(group) {
            Some(children) => &mut children.0[place % 4],
            None => &mut self.first,
        }
    }

    /// Some timer is of such a kind.
    pub fn any(&self, of: impl Fn(Kind) -> bool) -> bool {
        let first = Some(self.first).filter(|_| !self.open);
        let below = self.below.iter().flat_map(|c| c.0).take(self.len);
        first.into_iter().chain(below).any(|key| key != Key::NEVER && of(key.kind()))
    }

    /// One of those that may be first when the first one has gone.
    #[inline]
    pub fn second(&self) -> Key {
        self.below.first().map_or(Key::NEVER, |c| c.0[0])
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Key> {
        let first = self.peek();
        if first == Key::NEVER {
            return None;
        }
        self.open = true;
        Some(first)
    }
}

/// Times from here on never come: 146 years.
pub const HORIZON: u64 = 1 << 62;

/// Entries a node of [`CpuQueue`] has.
const FAN: usize = 8;
/// No event.
const IDLE: u64 = u64::MAX;

/// Levels of [`CpuQueue`] for 4,096 CPUs.
const LEVELS: usize = 5;

/// The next event of a CPU: twice the time, plus one if it is a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry(u64);

impl Entry {
    /// No event.
    pub const IDLE: Entry = Entry(IDLE);

    /// It chooses at this time.
    #[inline]
    pub fn choose(at: u64) -> Self {
        Self(at << 1 | 1)
    }

    /// Something ends at this time.
    #[inline]
    pub fn finish(at: u64) -> Self {
        Self(at << 1)
    }

    #[inline]
    pub fn time(self) -> u64 {
        self.0 >> 1
    }

    #[inline]
    pub fn is_finish(self) -> bool {
        self.0 & 1 == 0
    }

    #[inline]
    pub fn key(self, cpu: u32) -> Key {
        let phase = if self.0 & 1 == 1 { Phase::Choose } else { Phase::Finish };
        Key::new(self.0 >> 1, phase, Kind::Cpu, cpu)
    }

    /// It comes before a timer. Twice the time of the timer stands between an end and a choice of that time.
    #[inline]
    fn comes_before(self, timer: Key) -> bool {
        let time = timer.time().min(HORIZON) << 1;
        self.0 < time || (self.0 == time && self.0 != IDLE)
    }
}

/// The next event of each CPU: a tree whose nodes hold the least entry below them.
///
/// Equal entries are ordered by CPU. Setting one compares it with the node above, and looks at its seven neighbours only where it was the
/// least of them; most lie far in the future and change nothing above. Choices due at once, the most frequent
/// kind without costs, do not go through the tree but into a set of their own. A CPU that goes on as the first of all does not come
/// here: see [`CpuQueue::goes_first`].
#[derive(Debug)]
pub struct CpuQueue {
    /// First an entry for each CPU, then one for each eight of those before, and so on to a single one.
    nodes: Vec<u64>,
    /// Where each level begins; the last one is the single node.
    levels: [usize; LEVELS],
    top: usize,
    /// What the single node holds.
    least: u64,
    /// CPUs that choose at the present instant, a bit each, and the words that have any.
    choosing: Vec<u64>,
    words: u64,
    /// The present instant.
    now: u64,
}

impl CpuQueue {
    pub fn new(nr_cpus: u32) -> Self {
        let mut n = (nr_cpus as usize).max(1);
        let words = n.div_ceil(64);
        assert!(words <= 64, "one word has a bit for each word of CPUs");
        let (mut levels, mut top, mut len) = ([0; LEVELS], 0, n.next_multiple_of(FAN));
        while n > 1 || top == 0 {
            n = n.div_ceil(FAN);
            top += 1;
            levels[top] = len;
            len += n.next_multiple_of(FAN);
        }
        Self { nodes: vec![IDLE; len], levels, top, least: IDLE, choosing: vec![0; words], words: 0, now: 0 }
    }

    /// Time moves on; the caller has handled all events before `now`.
    #[inline]
    pub fn advance(&mut self, now: u64) {
        debug_assert!(self.words == 0, "choices of an instant are made in it");
        self.now = now;
    }

    /// Whether the first event of the CPUs comes before a timer.
    #[inline]
    pub fn comes_before(&self, timer: Key) -> bool {
        let least = self.least;
        let least = if self.words != 0 { least.min(self.now << 1 | 1) } else { least };
        Entry(least).comes_before(timer)
    }

    /// Whether an event of a CPU comes before all that are here, and before the first timer.
    #[inline(always)]
    pub fn goes_first(&self, entry: Entry, timer: Key) -> bool {
        self.words == 0 && entry.0 < self.least && entry.comes_before(timer)
    }

    /// The first event of all CPUs.
    pub fn peek(&self) -> Key {
        match self.first_cpu() {
            Some(cpu) if self.is_choosing(cpu) => Entry::choose(self.now).key(cpu),
            Some(cpu) => Entry(self.nodes[cpu as usize]).key(cpu),
            None => Key::NEVER,
        }
    }

    #[inline]
    fn is_choosing(&self, cpu: u32) -> bool {
        self.words != 0 && self.choosing[cpu as usize / 64] >> (cpu % 64) & 1 == 1
    }

    /// The CPU whose event is the first of all.
    #[inline]
    pub fn first_cpu(&self) -> Option<u32> {
        let least = self.least;
        if self.words != 0 && self.now << 1 | 1 <= least {
            let word = self.words.trailing_zeros();
            return Some(word * 64 + self.choosing[word as usize].trailing_zeros());
        }
        if least == IDLE { None } else { Some(self.way_to(least) as u32) }
    }

    /// Take the first event of all CPUs, of which there is one, out.
    #[inline(always)]
    pub fn pop(&mut self) -> (u32, Entry) {
        let least = self.least;
        if self.words != 0 && self.now << 1 | 1 <= least {
            let word = self.words.trailing_zeros();
            let cpu = word * 64 + self.choosing[word as usize].trailing_zeros();
            self.forget_choice(cpu);
            return (cpu, Entry::choose(self.now));
        }
        let cpu = self.way_to(least);
        // Every node on the way holds it: each gets the least of the others below.
        self.nodes[cpu] = IDLE;
        let mut at = cpu / FAN;
        for level in 1..=self.top {
            let below = *self.group(self.levels[level - 1] + at * FAN);
            self.least = below.into_iter().fold(IDLE, u64::min);
            self.nodes[self.levels[level] + at] = self.least;
            at /= FAN;
        }
        (cpu as u32, Entry(least))
    }

    /// The first CPU whose entry is `least`, which is that of the topmost node.
    #[inline(always)]
    fn way_to(&self, least: u64) -> usize {
        let mut at = 0;
        for level in self.levels[..self.top].iter().rev() {
            let group = self.group(level + at * FAN);
            at = at * FAN
                + group.iter().position(|&k| k == least).expect("a node holds the least entry below it");
        }
        at
    }

    /// The nodes below one node.
    #[inline(always)]
    fn group(&self, from: usize) -> &[u64; FAN] {
        self.nodes[from..from + FAN].try_into().expect("levels are padded to whole nodes")
    }

    /// Whether an event of this CPU is queued.
    #[inline]
    pub fn has(&self, cpu: u32) -> bool {
        self.nodes[cpu as usize] != IDLE || self.is_choosing(cpu)
    }

    /// This CPU has no event here any more.
    #[inline(always)]
    pub fn take_out(&mut self, cpu: u32) {
        if self.nodes[cpu as usize] != IDLE {
            self.set(cpu, IDLE);
        }
    }

    /// The next event of this CPU.
    #[inline]
    pub fn put(&mut self, cpu: u32, entry: Entry) {
        if entry.0 == self.now << 1 | 1 {
            let word = cpu as usize / 64;
            self.choosing[word] |= 1 << (cpu % 64);
            self.words |= 1 << word;
            self.set(cpu, IDLE);
        } else {
            self.forget_choice(cpu);
            self.set(cpu, entry.0);
        }
    }

    #[inline]
    fn forget_choice(&mut self, cpu: u32) {
        if self.words == 0 {
            return;
        }
        let (word, bit) = (cpu as usize / 64, 1u64 << (cpu % 64));
        self.choosing[word] &= !bit;
        if self.choosing[word] == 0 {
            self.words &= !(1 << word);
        }
    }

    #[inline(never)]
    fn set(&mut self, cpu: u32, entry: u64) {
        let mut at = cpu as usize;
        let mut was = std::mem::replace(&mut self.nodes[at], entry);
        let mut is = entry;
        for level in 1..=self.top {
            if was == is {
                return;
            }
            at /= FAN;
            let least = self.nodes[self.levels[level] + at];
            let new = if is <= least {
                is
            } else if was == least {
                let below = *self.group(self.levels[level - 1] + at * FAN);
                below.into_iter().fold(IDLE, u64::min)
            } else {
                return;
            };
            self.nodes[self.levels[level] + at] = new;
            (was, is) = (least, new);
        }
        self.least = is;
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
                prop_assert_eq!(heap.peek().time(), times[..=i].iter().copied().min().unwrap_or(0));
            }
            times.sort();
            let mut popped = Vec::new();
            while let Some(k) = heap.pop() {
                popped.push(k);
            }
            prop_assert!(popped.windows(2).all(|w| w[0] < w[1]));
            prop_assert_eq!(popped.iter().map(|k| k.time()).collect::<Vec<_>>(), times);
        }

        /// Timers that are due queue others, or none: always the first of those that are there.
        #[test]
        fn heap_is_a_queue(steps in proptest::collection::vec((0u8..5, 0u64..40), 0..400)) {
            let mut heap = TimerHeap::default();
            let mut plain = std::collections::BTreeSet::new();
            for (i, (what, t)) in (0u32..).zip(steps) {
                let key = Key::new(t, Phase::Timer, Kind::Component, i);
                if what < 3 {
                    prop_assert_eq!(heap.pop(), plain.pop_first());
                }
                if what != 0 && what != 4 || plain.len() < 20 {
                    heap.push(key);
                    plain.insert(key);
                }
                if what == 2 {
                    prop_assert_eq!(heap.peek(), plain.first().copied().unwrap_or(Key::NEVER));
                }
            }
            while let Some(key) = heap.pop() {
                prop_assert_eq!(Some(key), plain.pop_first());
            }
            prop_assert!(plain.is_empty());
        }

        #[test]
        fn tree_finds_the_first(cpus in 1u32..200, steps in proptest::collection::vec((0u32..200, 0u64..30, 0u8..3), 0..300)) {
            let mut q = CpuQueue::new(cpus);
            let mut plain = vec![Key::NEVER; cpus as usize];
            for (c, t, what) in steps {
                let t = t.max(q.now);
                let c = c % cpus;
                plain[c as usize] = match what {
                    0 => { q.put(c, Entry::IDLE); Key::NEVER }
                    1 => { q.put(c, Entry::choose(t)); Key::new(t, Phase::Choose, Kind::Cpu, c) }
                    _ => { q.put(c, Entry::finish(t)); Key::new(t, Phase::Finish, Kind::Cpu, c) }
                };
                let first = *plain.iter().min().unwrap();
                prop_assert_eq!(q.peek(), first);
                for phase in [Phase::Timer, Phase::Interrupt] {
                    let timer = Key::new(t, phase, Kind::Component, 0);
                    prop_assert_eq!(q.comes_before(timer), first < timer);
                    // A CPU beside them, which would be the last of equals.
                    for entry in [Entry::finish(t), Entry::choose(t)] {
                        let key = entry.key(cpus);
                        if q.words == 0 {
                            prop_assert_eq!(q.goes_first(entry, timer), key < first && key < timer);
                        }
                    }
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
                    let (popped, entry) = q.pop();
                    prop_assert_eq!((popped, entry.key(popped)), (c, plain[c as usize]));
                    prop_assert!(!q.has(c));
                    plain[c as usize] = Key::NEVER;
                }
            }
        }
    }
}
