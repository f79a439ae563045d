// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Continuous measurements of the kernel side: durations of calls of the core, and tasks' waits for a CPU.
//!
//! The kernel side only counts: distributions since the attachment, and the longest value since the last reading. Here they
//! become figures of the last ten seconds, of each topology, and of each pipe that CPUs take tasks from.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use weir_core::Plan;

use crate::layout::{BUCKETS, CALLS, LiveCalls, LiveGauge, LiveWaits, UNIT_BITS, WAITS};
use crate::memory::Memory;

/// A stretch of the recent past; ten of them and the present one make up "the last 10 s".
const STRETCH_NS: u64 = 1_000_000_000;
const STRETCHES: u64 = 10;
/// Topologies whose waits are remembered.
const TOPOLOGIES: usize = 16;

/// Kinds of calls, in the order of `enum weir_live_call`.
pub const CALL_NAMES: [&str; CALLS] =
    ["admit", "unblock", "relinquish", "block", "exit", "pick", "notify", "swap", "timer", "new"];

/// Calls of the core that one CPU made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallView {
    /// `pick`, `unblock` …
    pub call: String,
    /// Since the attachment.
    pub calls: u64,
    /// Of these, timed: one in 64 of the kinds that come with each turn of a task, all others.
    #[serde(default)]
    pub timed: u64,
    /// Of the timed ones, longer than 1 ms.
    pub long: u64,
    /// Of all, by the mean of the timed ones.
    pub total_ns: u64,
    /// Of the timed ones.
    pub longest_ns: u64,
    /// The longest of the last 10 s.
    pub longest_10s_ns: u64,
}

/// A distribution of times. Percentiles are at most an eighth too high, and never above `max_ns`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    pub count: u64,
    pub mean_ns: u64,
    pub p50_ns: u64,
    pub p95_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
}

/// Waits of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitView {
    pub total: Spread,
    pub last_10s: Spread,
}

/// Waits from becoming runnable to running, by what began them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// The task was woken, or is new.
    pub woken: WaitView,
    /// Its turn had ended, or it was preempted.
    pub returned: WaitView,
    /// Either, and it ran outside the graph.
    pub aside: WaitView,
}

/// Waits while one topology was in charge, since the attachment: `total` is of all its times together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopologyWaits {
    pub topology: String,
    #[serde(flatten)]
    pub waits: Waits,
}

/// The upper end of a bucket, ns.
fn upper_ns(bucket: usize) -> u64 {
    let units = match bucket {
        0..8 => bucket as u64 + 1,
        _ => (bucket as u64 % 8 + 9) << (bucket / 8 - 1),
    };
    units << UNIT_BITS
}

/// Counts by bucket, and what they leave out.
#[derive(Clone, Debug)]
struct Distribution {
    nr: Box<[u64; BUCKETS]>,
    total_ns: u64,
    longest_ns: u64,
}

impl Default for Distribution {
    fn default() -> Self {
        Self { nr: Box::new([0; BUCKETS]), total_ns: 0, longest_ns: 0 }
    }
}

impl Distribution {
    fn add(&mut self, part: &Part) {
        for (bucket, n) in &part.nr {
            self.nr[usize::from(*bucket)] += u64::from(*n);
        }
        self.total_ns = self.total_ns.saturating_add(part.total_ns);
        self.longest_ns = self.longest_ns.max(part.longest_ns);
    }

    fn spread(&self) -> Spread {
        let count: u64 = self.nr.iter().sum();
        // A wait can be counted and its length not yet be seen, or the other way round.
        let quantile = |percent: u64| {
            let rank = count.saturating_mul(percent).div_ceil(100).max(1);
            let mut seen = 0;
            let bucket = self.nr.iter().position(|n| {
                seen += n;
                seen >= rank
            });
            bucket.map_or(0, |b| upper_ns(b).min(self.longest_ns.max(1)))
        };
        if count == 0 {
            return Spread::default();
        }
        Spread {
            count,
            mean_ns: self.total_ns / count,
            p50_ns: quantile(50),
            p95_ns: quantile(95),
            p99_ns: quantile(99),
            max_ns: self.longest_ns,
        }
    }
}

/// Additions to a distribution: usually few buckets.
#[derive(Clone, Debug, Default)]
struct Part {
    nr: Vec<(u8, u32)>,
    total_ns: u64,
    longest_ns: u64,
}

impl Part {
    fn between(before: &LiveWaits, now: &LiveWaits, longest_ns: u64) -> Self {
        let grown = |b: usize| u32::try_from(now.nr[b].saturating_sub(before.nr[b])).unwrap_or(u32::MAX);
        let nr = (0..BUCKETS).map(|b| (b as u8, grown(b))).filter(|(_, n)| *n > 0).collect();
        Part { nr, total_ns: now.total_ns.saturating_sub(before.total_ns), longest_ns }
    }
}

/// A stretch of time.
#[derive(Debug, Default)]
struct Stretch {
    began_ns: u64,
    /// By CPU.
    waits: Vec<[Vec<Part>; WAITS]>,
    calls: Vec<[u64; CALLS]>,
    /// The topology that was in charge: what is by pipe starts over with each.
    turn: u64,
}

/// One CPU so far.
#[derive(Debug)]
struct Cpu {
    /// Its counters at the last reading.
    seen: Box<LiveGauge>,
    /// Longest values that were taken, and not yet put to a stretch.
    longest: [u64; WAITS],
    /// Longest calls since the attachment.
    calls: [u64; CALLS],
    /// Waits of tasks from its exit, since the last switch.
    exit: [Distribution; WAITS],
}

/// Looks at the gauges now and then, and remembers.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    cpus: Vec<Cpu>,
    recent: VecDeque<Stretch>,
    /// Oldest first; the last one is in charge.
    topologies: Vec<(String, [Distribution; WAITS])>,
    turn: u64,
}

const NO_CALLS: LiveCalls = LiveCalls { nr: 0, nr_timed: 0, nr_long: 0, total_ns: 0, longest_ns: 0 };
const NO_WAITS: LiveWaits = LiveWaits { total_ns: 0, longest_ns: 0, nr: [0; BUCKETS] };

fn nothing() -> Box<LiveGauge> {
    Box::new(LiveGauge { began_ns: 0, calls: [NO_CALLS; CALLS], waits: [NO_WAITS; WAITS] })
}

impl Gauges {
    /// For `nr_cpus` CPUs, under the topology of this name.
    pub fn new(nr_cpus: u32, topology: &str) -> Self {
        let cpu =
            |_| Cpu { seen: nothing(), longest: [0; WAITS], calls: [0; CALLS], exit: Default::default() };
        let topologies = vec![(topology.to_owned(), Default::default())];
        Self { cpus: (0..nr_cpus).map(cpu).collect(), recent: VecDeque::new(), topologies, turn: 0 }
    }

    /// Look at the longest values, some ten times a second, and at all of it once a second or where `now` is asked for.
    pub fn look(&mut self, memory: &Memory, table: u64, now_ns: u64, whole: bool) {
        if table == 0 {
            return;
        }
        let fresh = match self.recent.back() {
            Some(s) => now_ns.saturating_sub(s.began_ns) >= STRETCH_NS,
            None => true,
        };
        // What has happened up to here belongs to the stretch before.
        if fresh && !self.recent.is_empty() {
            self.take_longest(memory, table);
            self.take_waits(memory, table);
        }
        if fresh {
            self.begin_stretch(now_ns);
        }
        let over = |s: &Stretch| s.began_ns + (STRETCHES + 1) * STRETCH_NS <= now_ns;
        while self.recent.front().is_some_and(over) {
            self.recent.pop_front();
        }
        self.take_longest(memory, table);
        if whole {
            self.take_waits(memory, table);
        }
    }

    fn begin_stretch(&mut self, began_ns: u64) {
        let nr = self.cpus.len();
        let waits = (0..nr).map(|_| Default::default()).collect();
        self.recent.push_back(Stretch { began_ns, waits, calls: vec![[0; CALLS]; nr], turn: self.turn });
    }

    fn take_longest(&mut self, memory: &Memory, table: u64) {
        let Some(stretch) = self.recent.back_mut() else { return };
        let calls = std::mem::offset_of!(LiveGauge, calls) + std::mem::offset_of!(LiveCalls, longest_ns);
        let waits = std::mem::offset_of!(LiveGauge, waits) + std::mem::offset_of!(LiveWaits, longest_ns);
        for (c, cpu) in self.cpus.iter_mut().enumerate() {
            let at = table + (c * size_of::<LiveGauge>()) as u64;
            for call in 0..CALLS {
                let longest = memory.take(at + (calls + call * size_of::<LiveCalls>()) as u64);
                stretch.calls[c][call] = stretch.calls[c][call].max(longest);
                cpu.calls[call] = cpu.calls[call].max(longest);
            }
            for (kind, longest) in cpu.longest.iter_mut().enumerate() {
                *longest = memory.take(at + (waits + kind * size_of::<LiveWaits>()) as u64).max(*longest);
            }
        }
    }

    fn take_waits(&mut self, memory: &Memory, table: u64) {
        let (Some(stretch), Some((_, sums))) = (self.recent.back_mut(), self.topologies.last_mut()) else {
            return;
        };
        for (c, cpu) in self.cpus.iter_mut().enumerate() {
            let Some(now) = memory.entry::<LiveGauge>(table, c as u64) else { return };
            for (kind, sum) in sums.iter_mut().enumerate() {
                let longest = std::mem::take(&mut cpu.longest[kind]);
                let part = Part::between(&cpu.seen.waits[kind], &now.waits[kind], longest);
                sum.add(&part);
                cpu.exit[kind].add(&part);
                if !part.nr.is_empty() || longest > 0 {
                    stretch.waits[c][kind].push(part);
                }
            }
            *cpu.seen = now;
        }
    }

    /// Another topology is in charge: what was measured so far is the last one's.
    pub fn turn(&mut self, memory: &Memory, table: u64, now_ns: u64, topology: &str) {
        self.look(memory, table, now_ns, true);
        self.turn += 1;
        self.begin_stretch(now_ns);
        self.cpus.iter_mut().for_each(|c| c.exit = Default::default());
        match self.topologies.iter().position(|t| t.0 == topology) {
            Some(at) => {
                let back = self.topologies.remove(at);
                self.topologies.push(back);
            }
            None => self.topologies.push((topology.to_owned(), Default::default())),
        }
        if self.topologies.len() > TOPOLOGIES {
            self.topologies.remove(0);
        }
    }

    /// Measurements of the last 10 s on the CPUs of `of`, under the present topology.
    fn recently(&self, kind: usize, of: impl Fn(usize) -> bool) -> Spread {
        let mut sum = Distribution::default();
        for stretch in self.recent.iter().filter(|s| s.turn == self.turn) {
            let cpus = stretch.waits.iter().enumerate().filter(|(c, _)| of(*c));
            cpus.flat_map(|(_, w)| &w[kind]).for_each(|part| sum.add(part));
        }
        sum.spread()
    }

    /// By topology, the one in charge first; the last 10 s are those under the present topology alone.
    pub fn topologies(&self) -> Vec<TopologyWaits> {
        let present = self.topologies.len().saturating_sub(1);
        let view = |(i, (name, sums)): (usize, &(String, [Distribution; WAITS]))| {
            let of = |kind: usize| WaitView {
                total: sums[kind].spread(),
                last_10s: if i == present { self.recently(kind, |_| true) } else { Spread::default() },
            };
            TopologyWaits {
                topology: name.clone(),
                waits: Waits { woken: of(0), returned: of(1), aside: of(2) },
            }
        };
        self.topologies.iter().enumerate().rev().map(view).collect()
    }

    /// Of tasks that CPUs took from this pipe since the last switch; none where no CPU does.
    pub fn pipe(&self, plan: &Plan, pipe: u32) -> Option<Waits> {
        let takes = |c: usize| plan.exits.get(c).is_some_and(|e| *e == Some(pipe));
        if !(0..self.cpus.len()).any(takes) {
            return None;
        }
        let of = |kind: usize| {
            let mut sum = Distribution::default();
            for cpu in self.cpus.iter().enumerate().filter(|(c, _)| takes(*c)).map(|(_, cpu)| cpu) {
                let d = &cpu.exit[kind];
                sum.nr.iter_mut().zip(d.nr.iter()).for_each(|(to, n)| *to += n);
                sum.total_ns = sum.total_ns.saturating_add(d.total_ns);
                sum.longest_ns = sum.longest_ns.max(d.longest_ns);
            }
            WaitView { total: sum.spread(), last_10s: self.recently(kind, takes) }
        };
        Some(Waits { woken: of(0), returned: of(1), aside: WaitView::default() })
    }

    /// Kinds of calls that this CPU has made.
    pub fn calls(&self, cpu: u32) -> Vec<CallView> {
        let Some(known) = self.cpus.get(cpu as usize) else { return Vec::new() };
        let view = |(kind, name): (usize, &&str)| {
            let n = &known.seen.calls[kind];
            let recent = self.recent.iter().filter_map(|s| s.calls.get(cpu as usize)).map(|c| c[kind]).max();
            CallView {
                call: (*name).to_owned(),
                calls: n.nr,
                timed: n.nr_timed,
                long: n.nr_long,
                // (A call can be counted and its time not yet be seen.)
                total_ns: (u128::from(n.total_ns) * u128::from(n.nr) / u128::from(n.nr_timed.max(1))) as u64,
                longest_ns: known.calls[kind],
                longest_10s_ns: recent.unwrap_or(0),
            }
        };
        CALL_NAMES.iter().enumerate().map(view).filter(|c| c.calls > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel side's `bucket_of`.
    fn bucket_of(ns: u64) -> usize {
        let units = ns >> UNIT_BITS;
        if units < 8 {
            return units as usize;
        }
        let top = 63 - units.leading_zeros();
        (((top - 2) * 8) as usize + (units >> (top - 3) & 7) as usize).min(BUCKETS - 1)
    }

    #[test]
    fn buckets_have_their_bounds() {
        for ns in [0, 1, 1023, 1024, 8191, 8192, 9000, 65_535, 1_000_000, 100_000_000, 9_000_000_000] {
            let b = bucket_of(ns);
            assert!(ns < upper_ns(b), "{ns} in bucket {b} up to {}", upper_ns(b));
            assert!(b == 0 || ns >= upper_ns(b - 1), "{ns} in bucket {b} from {}", upper_ns(b - 1));
            assert!(upper_ns(b) <= ns.max(8192) + ns.max(8192) / 8 + 1024, "{ns} in bucket {b}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    struct Table(Vec<LiveGauge>);

    impl Table {
        fn new(nr_cpus: usize) -> Self {
            Self(vec![*nothing(); nr_cpus])
        }

        fn wait(&mut self, cpu: usize, kind: usize, ns: u64) {
            let w = &mut self.0[cpu].waits[kind];
            w.nr[bucket_of(ns)] += 1;
            w.total_ns += ns;
            w.longest_ns = w.longest_ns.max(ns);
        }

        fn call(&mut self, cpu: usize, kind: usize, ns: u64) {
            let c = &mut self.0[cpu].calls[kind];
            c.nr += 1;
            c.nr_timed += 1;
            c.nr_long += u64::from(ns > 1_000_000);
            c.total_ns += ns;
            c.longest_ns = c.longest_ns.max(ns);
        }

        fn look(&mut self, gauges: &mut Gauges, now_ns: u64, whole: bool) {
            let (at, bytes) = (self.0.as_mut_ptr() as u64, self.0.len() * size_of::<LiveGauge>());
            // SAFETY: the table outlives the value.
            gauges.look(&unsafe { Memory::new(at, bytes as u64) }, at, now_ns, whole);
        }

        fn turn(&mut self, gauges: &mut Gauges, now_ns: u64, to: &str) {
            let (at, bytes) = (self.0.as_mut_ptr() as u64, self.0.len() * size_of::<LiveGauge>());
            // SAFETY: the table outlives the value.
            gauges.turn(&unsafe { Memory::new(at, bytes as u64) }, at, now_ns, to);
        }
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn the_last_ten_seconds_are_forgotten_later() {
        let (mut table, mut gauges) = (Table::new(2), Gauges::new(2, "a"));
        table.look(&mut gauges, S, true);
        (0..99).for_each(|_| table.wait(0, 0, 20_000));
        table.wait(1, 0, 5_000_000);
        table.call(1, 5, 2_000_000);
        table.look(&mut gauges, S + S / 10, true);
        let waits = &gauges.topologies()[0];
        assert_eq!((waits.topology.as_str(), waits.waits.woken.total.count), ("a", 100));
        let s = &waits.waits.woken.last_10s;
        assert_eq!((s.count, s.mean_ns, s.max_ns), (100, (99 * 20_000 + 5_000_000) / 100, 5_000_000));
        assert!((20_000..=22_500).contains(&s.p50_ns) && s.p99_ns == s.p50_ns, "{s:?}");
        let pick = &gauges.calls(1)[0];
        assert_eq!((pick.call.as_str(), pick.calls, pick.long), ("pick", 1, 1));
        assert_eq!((pick.longest_ns, pick.longest_10s_ns), (2_000_000, 2_000_000));
        assert_eq!(gauges.calls(0), []);
        for second in 2..14 {
            table.wait(0, 0, 3_000);
            table.look(&mut gauges, second * S + S / 5, false);
        }
        table.look(&mut gauges, 14 * S, true);
        let waits = &gauges.topologies()[0].waits.woken;
        assert_eq!((waits.total.count, waits.total.max_ns), (112, 5_000_000));
        assert_eq!(waits.last_10s.max_ns, 3_000, "{waits:?}");
        assert!((9..=11).contains(&waits.last_10s.count), "{waits:?}");
        assert_eq!(gauges.calls(1)[0].longest_10s_ns, 0);
        assert_eq!(gauges.calls(1)[0].longest_ns, 2_000_000);
    }

    #[test]
    fn topologies_and_pipes_are_distinguished() {
        let (mut table, mut gauges) = (Table::new(2), Gauges::new(2, "a"));
        let plan = Plan { exits: vec![Some(3), Some(4)], ..Plan::default() };
        table.look(&mut gauges, S, true);
        table.wait(0, 0, 10_000);
        table.wait(1, 1, 70_000_000);
        table.look(&mut gauges, S + 1, true);
        let exit = |g: &Gauges, pipe| g.pipe(&plan, pipe).expect("an exit");
        assert_eq!(exit(&gauges, 3).woken.total.max_ns, 10_000);
        assert_eq!(exit(&gauges, 4).returned.total.max_ns, 70_000_000);
        assert_eq!(exit(&gauges, 4).woken.total.count, 0);
        assert!(gauges.pipe(&plan, 0).is_none());
        // The last wait before the change is the old one's, though nobody has looked since.
        table.wait(0, 0, 20_000);
        table.turn(&mut gauges, S + 2, "b");
        table.wait(0, 0, 30_000);
        table.look(&mut gauges, S + 3, true);
        assert_eq!(exit(&gauges, 3).woken.total, exit(&gauges, 3).woken.last_10s);
        assert_eq!(exit(&gauges, 3).woken.total.max_ns, 30_000);
        let both = gauges.topologies();
        let names: Vec<&str> = both.iter().map(|t| t.topology.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        assert_eq!((both[0].waits.woken.total.count, both[1].waits.woken.total.count), (1, 2));
        assert_eq!(both[1].waits.woken.last_10s.count, 0);
        table.turn(&mut gauges, S + 4, "a");
        table.look(&mut gauges, S + 5, true);
        assert_eq!(gauges.topologies()[0].waits.woken.total.count, 2, "it goes on");
        assert_eq!(gauges.topologies()[0].waits.woken.last_10s.count, 0);
    }
}
