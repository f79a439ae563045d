// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Whether conditions hold: an observer that keeps the last messages and the metrics of sliding windows.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use weir_core::Topic;
use weir_core::event::{Event, Observer};

use super::{Condition, Metric, Scenario, Statistic, Subject, Term};

/// Buckets a factor of two: times are exact to 1/64.
const FINE: u64 = 64;

/// Times by bucket; a log-linear histogram, so that taking a sample out is as cheap as putting one in.
#[derive(Clone, Debug, Default)]
struct Histogram {
    counts: BTreeMap<u16, u32>,
    samples: u64,
    sum: u64,
}

fn bucket(ns: u64) -> u16 {
    if ns < 2 * FINE {
        return ns as u16;
    }
    let shift = 63 - ns.leading_zeros() - 6;
    (u64::from(shift) * FINE + (ns >> shift)) as u16
}

/// Largest time of a bucket, ns.
fn top(bucket: u16) -> u64 {
    let b = u64::from(bucket);
    if b < 2 * FINE {
        return b;
    }
    let shift = b / FINE - 1;
    ((b % FINE + FINE + 1) << shift) - 1
}

impl Histogram {
    fn add(&mut self, ns: u64) {
        *self.counts.entry(bucket(ns)).or_default() += 1;
        self.samples += 1;
        self.sum += ns;
    }

    fn remove(&mut self, ns: u64) {
        let b = bucket(ns);
        if let Some(n) = self.counts.get_mut(&b) {
            *n -= 1;
            if *n == 0 {
                self.counts.remove(&b);
            }
        }
        self.samples -= 1;
        self.sum -= ns;
    }

    /// `None` where there are no samples: nothing can be said then.
    fn value(&self, statistic: Statistic) -> Option<u64> {
        if self.samples == 0 {
            return None;
        }
        match statistic {
            Statistic::Mean => Some(self.sum / self.samples),
            Statistic::Percentile(p) => {
                let mut left = (self.samples * u64::from(p)).div_ceil(100).max(1);
                for (b, n) in &self.counts {
                    if u64::from(*n) >= left {
                        return Some(top(*b));
                    }
                    left -= u64::from(*n);
                }
                None
            }
        }
    }
}

/// Quantities counted one by one.
#[derive(Clone, Copy, Debug, Default)]
struct Counts([u64; 5]);

impl Counts {
    fn of(&self, metric: Metric) -> u64 {
        match metric {
            Metric::Misses => self.0[0],
            Metric::Jobs => self.0[1],
            Metric::Preemptions => self.0[2],
            Metric::Migrations => self.0[3],
            Metric::Switches => self.0[4],
            _ => 0,
        }
    }
}

/// Sums up to a sample.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    t_ns: u64,
    busy_ns: u64,
    online_ns: u64,
    counts: Counts,
}

/// A sliding window.
#[derive(Debug)]
struct Window {
    ns: u64,
    wakeups: (VecDeque<(u64, u64)>, Histogram),
    responses: (VecDeque<(u64, u64)>, Histogram),
    /// Samples, the oldest at or before the window's begin.
    sums: VecDeque<Sums>,
}

/// All that rules know of a run: an observer of it. Times are ns of the events' clock.
#[derive(Debug)]
pub struct Watch {
    now_ns: u64,
    windows: BTreeMap<u64, Window>,
    /// When a topic was published last, its value, by topic and CPU; CPU `None` for any.
    heard: BTreeMap<(&'static str, Option<u32>), (u64, u64)>,
    /// OVERLOAD or UNDERLOAD, whichever was published last, by CPU.
    load: BTreeMap<Option<u32>, Topic>,
    busy: u64,
    online: u64,
    sums: Sums,
    /// Messages since the last check: rules are checked at once.
    pub news: bool,
}

impl Watch {
    /// For the rules of `scenario`, on a machine with so many CPUs online.
    pub fn new(scenario: &Scenario, online: u32) -> Self {
        let window = |ns: u64| {
            (
                ns,
                Window {
                    ns,
                    wakeups: Default::default(),
                    responses: Default::default(),
                    sums: VecDeque::new(),
                },
            )
        };
        Self {
            now_ns: 0,
            windows: scenario.rules.iter().map(|r| window(r.window_ns)).collect(),
            heard: BTreeMap::new(),
            load: BTreeMap::new(),
            busy: 0,
            online: u64::from(online),
            sums: Sums::default(),
            news: false,
        }
    }

    /// Account for the time up to `t_ns`.
    fn advance(&mut self, t_ns: u64) {
        let ns = t_ns.saturating_sub(self.now_ns);
        self.now_ns = self.now_ns.max(t_ns);
        self.sums.busy_ns += ns * self.busy;
        self.sums.online_ns += ns * self.online;
        self.sums.t_ns = self.now_ns;
    }

    /// A sample is taken: what is older than a window leaves it.
    pub fn sample(&mut self, t_ns: u64) {
        self.advance(t_ns);
        for w in self.windows.values_mut() {
            let begin = t_ns.saturating_sub(w.ns);
            for (list, histogram) in [&mut w.wakeups, &mut w.responses] {
                while let Some(&(_, ns)) = list.front().filter(|s| s.0 < begin) {
                    histogram.remove(ns);
                    list.pop_front();
                }
            }
            w.sums.push_back(self.sums);
            while w.sums.get(1).is_some_and(|s| s.t_ns <= begin) {
                w.sums.pop_front();
            }
        }
    }

    /// Does the condition hold? `ready` is how many tasks are schedulable.
    pub fn holds(&self, condition: &Condition, window_ns: u64, ready: u32) -> bool {
        let term = |t: &Term| self.term(t, window_ns, ready);
        condition.0.iter().any(|all| all.iter().all(term))
    }

    fn term(&self, term: &Term, window_ns: u64, ready: u32) -> bool {
        match term {
            Term::Metric { metric, compare, limit } => {
                self.metric(*metric, window_ns, ready).is_some_and(|v| compare.holds(v, *limit))
            }
            Term::Value { topic, cpu, compare, limit } => {
                self.heard.get(&(topic.name(), *cpu)).is_some_and(|(_, v)| compare.holds(*v, *limit))
            }
            Term::Heard { topic: Subject::Standard(topic @ (Topic::Overload | Topic::Underload)), cpu } => {
                self.load.get(cpu) == Some(topic)
            }
            Term::Not(term) => !self.term(term, window_ns, ready),
            Term::Heard { topic, cpu } => {
                let begin = self.now_ns.saturating_sub(window_ns);
                self.heard.get(&(topic.name(), *cpu)).is_some_and(|(t, _)| *t >= begin)
            }
        }
    }

    fn metric(&self, metric: Metric, window_ns: u64, ready: u32) -> Option<u64> {
        let w = self.windows.get(&window_ns)?;
        match metric {
            Metric::WakeupLatency(s) => w.wakeups.1.value(s),
            Metric::Response(s) => w.responses.1.value(s),
            Metric::Ready => Some(ready.into()),
            Metric::Online => Some(self.online),
            Metric::Utilization => {
                let first = w.sums.front()?;
                let online = self.sums.online_ns - first.online_ns;
                (online > 0).then(|| (self.sums.busy_ns - first.busy_ns) * 100 / online)
            }
            counted => Some(self.sums.counts.of(counted) - w.sums.front()?.counts.of(counted)),
        }
    }
}

impl Observer for Watch {
    fn event(&mut self, t_ns: u64, event: &Event<'_>) {
        match *event {
            Event::Run { wakeup, waited_ns, migrated, switched, .. } => {
                self.advance(t_ns);
                self.busy += 1;
                self.sums.counts.0[3] += u64::from(migrated);
                self.sums.counts.0[4] += u64::from(switched);
                if wakeup {
                    for w in self.windows.values_mut() {
                        w.wakeups.0.push_back((t_ns, waited_ns));
                        w.wakeups.1.add(waited_ns);
                    }
                }
            }
            Event::Off { why, .. } => {
                self.advance(t_ns);
                self.busy = self.busy.saturating_sub(1);
                self.sums.counts.0[2] += u64::from(why == weir_core::event::Stop::Preempted);
            }
            Event::Preempted { .. } => self.sums.counts.0[2] += 1,
            Event::JobDone { response_ns, .. } => {
                self.sums.counts.0[1] += 1;
                for w in self.windows.values_mut() {
                    w.responses.0.push_back((t_ns, response_ns));
                    w.responses.1.add(response_ns);
                }
            }
            Event::DeadlineMiss { .. } => self.sums.counts.0[0] += 1,
            Event::CpuOnline { online, .. } => {
                self.advance(t_ns);
                self.online = if online { self.online + 1 } else { self.online.saturating_sub(1) };
            }
            Event::Message { topic, cpu, value, .. } => {
                let Some(subject) = Subject::by_name(topic) else { return };
                self.advance(t_ns);
                for cpu in [None, Some(cpu)] {
                    self.heard.insert((subject.name(), cpu), (t_ns, value));
                    if let Subject::Standard(topic @ (Topic::Overload | Topic::Underload)) = subject {
                        self.load.insert(cpu, topic);
                    }
                }
                self.news = true;
            }
            _ => {}
        }
    }
}

/// The observer that feeds a [`Watch`].
pub struct Tap<'w>(pub &'w RefCell<Watch>);

impl Observer for Tap<'_> {
    fn event(&mut self, t_ns: u64, event: &Event<'_>) {
        self.0.borrow_mut().event(t_ns, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Rule;

    fn watch() -> Watch {
        let rule = Rule {
            name: "r".into(),
            when: Condition::parse("ready > 0").expect("sound"),
            hold_ns: 0,
            verbs: Vec::new(),
            back: None,
            cooldown_ns: 0,
            window_ns: 1_000,
            begun: false,
            of_topology: false,
        };
        Watch::new(&Scenario { rules: vec![rule], ..Scenario::default() }, 2)
    }

    fn holds(w: &Watch, text: &str) -> bool {
        w.holds(&Condition::parse(text).expect(text), 1_000, 3)
    }

    #[test]
    fn buckets_are_exact_to_a_64th() {
        for ns in [0, 1, 100, 127, 128, 129, 1_000, 5_000_000, 123_456_789_012, u64::MAX / 4] {
            let t = top(bucket(ns));
            assert!(t >= ns && t - ns <= ns / 64, "{ns}: {t}");
        }
        let mut last = 0;
        for b in 0..3_000 {
            assert!(b == 0 || top(b) > last, "bucket {b}");
            last = top(b);
            assert_eq!(bucket(last), b);
        }
    }

    #[test]
    fn samples_leave_their_window() {
        let mut w = watch();
        let run = |waited_ns| Event::Run {
            task: 0,
            cpu: 0,
            migrated: false,
            switched: true,
            wakeup: true,
            waited_ns,
        };
        let off = Event::Off { task: 0, cpu: 0, why: weir_core::event::Stop::Block, ran_ns: 0 };
        w.sample(0);
        assert!(!holds(&w, "p99 wakeup_latency < 1s"), "nothing was measured yet");
        w.event(100, &run(50));
        w.event(300, &off);
        w.sample(1_000);
        assert!(holds(&w, "max wakeup_latency = 50ns and switches = 1"));
        // 200 ns of 2 CPUs in 1,000 ns.
        assert!(holds(&w, "utilization = 10%"));
        w.sample(2_000);
        assert!(holds(&w, "switches = 0 and utilization = 0%") && !holds(&w, "max wakeup_latency < 1s"));
        assert!(holds(&w, "ready = 3 and online = 2"));
    }

    #[test]
    fn of_overload_and_underload_the_last_counts() {
        let mut w = watch();
        let message = |topic, cpu, value| Event::Message { topic, cpu, task: None, value };
        w.event(10, &message("OVERLOAD", 1, 4));
        assert!(holds(&w, "OVERLOAD on cpu 1") && holds(&w, "OVERLOAD") && !holds(&w, "OVERLOAD on cpu 0"));
        w.event(20, &message("UNDERLOAD", 1, 0));
        assert!(!holds(&w, "OVERLOAD on cpu 1") && holds(&w, "UNDERLOAD on cpu 1"));
        w.event(30, &message("POWER", 0, 1));
        assert!(holds(&w, "battery") && !holds(&w, "mains"));
        w.event(40, &message("DEADLINE_MISS", 0, 1));
        assert!(holds(&w, "DEADLINE_MISS"));
        w.sample(5_000);
        assert!(!holds(&w, "DEADLINE_MISS") && holds(&w, "battery"));
    }
}
