// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `eevdf` beside an independent model of the rules of Linux 6.12 and 7.x on one CPU, switch by switch.
//!
//! The model is written from what the rules say, and shares nothing with the component. It keeps virtual time in nanoseconds
//! and looks through all tasks each time. docs/fair.md names what it leaves out.

use std::fmt::Write as _;

use crate::common::*;
use crate::draw::Draw;
use crate::{gantt_unchecked, weight};

const TICK: u64 = 4 * MS;
/// No timer is shorter.
const LEAST: u64 = 10 * US;
const BASE: u64 = 700 * US;

/// A task of a set: it computes, sleeps, and again.
#[derive(Debug, Clone)]
struct Load {
    nice: i32,
    slice: Option<u64>,
    start: u64,
    run: u64,
    sleep: u64,
}

/// From, to, task.
type Bar = (u64, u64, usize);

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Away,
    Waits,
    Runs,
    /// Asleep with negative lag, but still in the tree.
    Owes,
}

#[derive(Debug)]
struct Entity {
    w: i128,
    slice: u64,
    v: i128,
    deadline: i128,
    /// It is protected up to here.
    safe: i128,
    lag: i128,
    state: State,
    /// Order of arrival in the tree.
    came: u64,
    new: bool,
    left: u64,
    wakes: u64,
}

impl Entity {
    fn virt(&self, ns: u64) -> i128 {
        i128::from(ns) * 1024 / self.w
    }

    fn competes(&self) -> bool {
        self.state != State::Away
    }
}

struct Model<'a> {
    /// Of 6.17 and later.
    late: bool,
    loads: &'a [Load],
    e: Vec<Entity>,
    now: u64,
    charged: u64,
    curr: Option<usize>,
    since: u64,
    timer: Option<u64>,
    arrivals: u64,
    bars: Vec<Bar>,
}

impl<'a> Model<'a> {
    fn new(late: bool, loads: &'a [Load]) -> Self {
        let e = loads.iter().map(|l| Entity {
            w: i128::from(weight(l.nice)),
            slice: l.slice.unwrap_or(BASE),
            v: 0,
            deadline: 0,
            safe: 0,
            lag: 0,
            state: State::Away,
            came: 0,
            new: true,
            left: l.run,
            wakes: l.start,
        });
        Self {
            late,
            loads,
            e: e.collect(),
            now: 0,
            charged: 0,
            curr: None,
            since: 0,
            timer: None,
            arrivals: 0,
            bars: Vec::new(),
        }
    }

    fn competing(&self) -> impl Iterator<Item = &Entity> {
        self.e.iter().filter(|e| e.competes())
    }

    fn load(&self) -> i128 {
        self.competing().map(|e| e.w).sum()
    }

    fn mean(&self) -> i128 {
        match self.load() {
            // All have left: where the last one stood does not matter.
            0 => 0,
            load => self.competing().map(|e| e.w * e.v).sum::<i128>().div_euclid(load),
        }
    }

    fn eligible(&self, i: usize) -> bool {
        self.competing().map(|e| e.w * (e.v - self.e[i].v)).sum::<i128>() >= 0
    }

    /// The account of the running task up to now. True if the CPU is to be rescheduled.
    fn account(&mut self) -> bool {
        let Some(c) = self.curr else { return false };
        let ran = self.now - self.charged;
        self.charged = self.now;
        if ran == 0 {
            return false;
        }
        let e = &mut self.e[c];
        e.left -= ran;
        e.v += e.virt(ran);
        // Each account rounds down; where the timer ends a slice it is over.
        let passed = e.v >= e.deadline || self.timer == Some(self.now);
        if passed {
            e.safe = e.safe.min(e.v);
            e.deadline = e.v + e.virt(e.slice);
        }
        if self.competing().count() == 1 {
            return false;
        }
        let safe = self.e[c].v < self.e[c].safe;
        passed || (!safe && (self.late || !self.eligible(c)))
    }

    /// Who is to run; tasks that have paid leave the tree when they would be. `settle`: they do; else the choice is only looked at.
    fn choose(&mut self, heed: bool, settle: bool) -> Option<usize> {
        loop {
            let all: Vec<usize> = (0..self.e.len()).filter(|&i| self.e[i].competes()).collect();
            let mut best = match all[..] {
                [] => return None,
                [one] => Some(one),
                _ => {
                    let c = self.curr.filter(|&c| self.e[c].state == State::Runs && self.eligible(c));
                    if let Some(c) = c
                        && heed
                        && self.e[c].v < self.e[c].safe
                    {
                        return Some(c);
                    }
                    let tree = all.iter().copied().filter(|&i| self.e[i].state != State::Runs);
                    let first = tree
                        .filter(|&i| self.eligible(i))
                        .min_by_key(|&i| (self.e[i].deadline, self.e[i].came));
                    match (c, first) {
                        (Some(c), Some(f)) if self.e[c].deadline < self.e[f].deadline => Some(c),
                        (c, None) => c,
                        (_, f) => f,
                    }
                }
            };
            if settle && let Some(b) = best.filter(|&b| self.e[b].state == State::Owes) {
                self.e[b].state = State::Away;
                self.e[b].lag = 0;
                best = None;
            }
            if best.is_some() {
                return best;
            }
        }
    }

    fn schedule(&mut self) {
        let next = self.choose(true, true);
        let prev = self.curr.filter(|&c| self.e[c].state == State::Runs);
        if prev.is_some() && next == prev {
            return self.arm(0);
        }
        if let Some(p) = self.curr.filter(|_| self.now > self.since) {
            self.bars.push((self.since, self.now, p));
        }
        if let Some(p) = prev {
            self.e[p].state = State::Waits;
            self.e[p].came = self.arrivals;
            self.arrivals += 1;
        }
        self.curr = next;
        self.since = self.now;
        self.charged = self.now;
        if let Some(n) = next {
            self.e[n].state = State::Runs;
            let brief = self.competing().map(|e| e.slice).min().expect("itself");
            let e = &mut self.e[n];
            e.safe = e.deadline;
            if self.late && brief < e.slice {
                e.safe = e.safe.min(e.v + e.virt(brief));
            }
        }
        self.arm(LEAST);
    }

    /// Time until the slice of the running task is over.
    fn rest(&self, c: usize) -> u64 {
        let e = &self.e[c];
        ((e.deadline - e.v).max(0) * e.w + 1023).div_euclid(1024) as u64
    }

    /// The timer of the slice. Linux gives the least time also to a task that goes on, when a tick came right before the end of its slice.
    fn arm(&mut self, least: u64) {
        self.timer = match self.curr {
            Some(c) if self.competing().count() > 1 => Some(self.now + self.rest(c).max(least).max(1)),
            _ => None,
        };
    }

    fn clamp(&self, i: usize, lag: i128) -> i128 {
        let e = &self.e[i];
        let longest = self.competing().map(|e| e.slice).max().unwrap_or(0).max(e.slice);
        let most = e.virt(if self.late { longest + TICK } else { (2 * e.slice).max(TICK) });
        lag.clamp(-most, most)
    }

    fn place(&mut self, i: usize) {
        let (mean, load) = (self.mean(), self.load());
        let e = &mut self.e[i];
        let lag = if load > 0 { (e.lag * (load + e.w)).div_euclid(load) } else { 0 };
        e.v = mean - lag;
        e.deadline = e.v + e.virt(e.slice) / if e.new { 2 } else { 1 };
    }

    fn block(&mut self, c: usize) {
        self.account();
        let load = &self.loads[c];
        self.e[c].wakes = self.now + load.sleep;
        self.e[c].left = load.run;
        self.e[c].lag = self.clamp(c, self.mean() - self.e[c].v);
        self.e[c].state = if self.eligible(c) { State::Away } else { State::Owes };
        self.e[c].came = self.arrivals;
        self.arrivals += 1;
        self.schedule();
    }

    fn wake(&mut self, p: usize) {
        let now = self.now;
        self.e[p].wakes = u64::MAX;
        let again = self.account();
        let fork = self.e[p].new;
        if self.e[p].state == State::Owes {
            if self.e[p].v < self.mean() {
                self.e[p].state = State::Away;
                self.e[p].lag = 0;
                self.place(p);
            }
        } else {
            self.place(p);
        }
        self.e[p].new = false;
        self.e[p].state = State::Waits;
        self.e[p].came = self.arrivals;
        self.arrivals += 1;
        let Some(c) = self.curr else { return self.schedule() };
        if again {
            return self.schedule();
        }
        if self.timer.is_none() {
            self.timer = Some(now + self.rest(c));
        }
        let brief = self.e[p].slice < self.e[c].slice;
        if self.late {
            if fork && !brief {
                return;
            }
            if self.choose(!brief, true) == Some(p) {
                self.e[c].safe = if brief { self.e[c].v.min(self.e[c].safe) } else { self.e[c].safe };
                return self.schedule();
            }
            if brief {
                let least = self.competing().map(|e| e.slice).min().expect("itself");
                let e = &mut self.e[c];
                e.safe = e.safe.min(e.v + e.virt(least));
            }
            return;
        }
        let sooner = self.e[p].deadline < self.e[c].deadline || !self.eligible(c);
        if brief && self.eligible(p) && sooner {
            self.e[c].safe = self.e[c].safe.min(self.e[c].v);
        }
        if self.choose(true, false) == Some(p) {
            self.schedule();
        }
    }

    fn run(mut self, end: u64) -> Vec<Bar> {
        loop {
            let done = self.curr.map_or(u64::MAX, |c| self.charged + self.e[c].left);
            let tick = self.curr.map_or(u64::MAX, |_| (self.now / TICK + 1) * TICK);
            let timer = self.timer.unwrap_or(u64::MAX);
            let asleep = |i: &usize| matches!(self.e[*i].state, State::Away | State::Owes);
            let waker = (0..self.e.len()).filter(asleep).min_by_key(|&i| self.e[i].wakes);
            let wake = waker.map_or(u64::MAX, |i| self.e[i].wakes);
            let now = done.min(tick).min(timer).min(wake);
            if now >= end {
                return self.bars;
            }
            self.now = now;
            if now == done {
                self.block(self.curr.expect("it is done"));
            } else if now == timer || now == tick {
                if self.account() || now == timer {
                    self.schedule();
                }
            } else {
                self.wake(waker.expect("one wakes"));
            }
        }
    }
}

/// What the simulator does with the set.
fn simulated(late: bool, loads: &[Load], end: u64) -> Vec<Bar> {
    let mut text = String::new();
    for (i, l) in loads.iter().enumerate() {
        let slice = l.slice.map_or(String::new(), |s| format!("slice = \"{s}ns\"\n"));
        writeln!(
            text,
            "[[task]]\nname = \"{i}\"\nnice = {}\n{slice}start = \"{}ns\"\nprogram = [\"run {}ns\", \"sleep {}ns\"]\nloop = \"forever\"",
            l.nice, l.start, l.run, l.sleep
        )
        .unwrap();
    }
    let topology =
        catalogue("linux").replace("eevdf(", &format!("eevdf(rules = {}, ", if late { 7 } else { 6 }));
    let (g, _) = gantt_unchecked(1, &topology, &toml(&text), end);
    let mut bars: Vec<Bar> = Vec::new();
    for (name, _, from, to) in &g.bars {
        let task = name.parse().expect("a number");
        match bars.last_mut() {
            Some(last) if last.2 == task && last.1 == *from && from == to => {}
            _ if from == to => {}
            _ => bars.push((*from, *to, task)),
        }
    }
    bars
}

/// Waits from waking to the CPU, ns, ascending.
fn waits(loads: &[Load], bars: &[Bar]) -> Vec<u64> {
    let mut state: Vec<(u64, u64)> = loads.iter().map(|l| (l.start, 0)).collect();
    let mut all = Vec::new();
    for &(from, to, i) in bars {
        let (wakes, ran) = &mut state[i];
        if *ran == 0 {
            all.push(from - *wakes);
        }
        *ran += to - from;
        if *ran >= loads[i].run {
            (*wakes, *ran) = (to + loads[i].sleep, 0);
        }
    }
    all.sort_unstable();
    all
}

/// The first switch that differs by more than 3 us.
fn differs(a: &[Bar], b: &[Bar]) -> Option<usize> {
    let n = a.len().min(b.len());
    let near = |x: u64, y: u64| x.abs_diff(y) <= 3 * US;
    let same = |i: &usize| a[*i].2 == b[*i].2 && near(a[*i].0, b[*i].0) && near(a[*i].1, b[*i].1);
    (0..n).find(|i| !same(i)).or((a.len().abs_diff(b.len()) > 1).then_some(n))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Equal,
    Nice,
    Slices,
}

fn set(kind: Kind, seed: u64) -> Vec<Load> {
    let mut draw = Draw(seed * 3 + kind as u64);
    let n = draw.between(2, 6);
    (0..n)
        .map(|_| {
            let hog = draw.between(0, 3) == 0;
            let run = if hog { 1000 * MS } else { draw.between(100 * US, 8 * MS) };
            Load {
                nice: if kind == Kind::Nice { draw.between(0, 20) as i32 - 10 } else { 0 },
                slice: (kind == Kind::Slices && draw.between(0, 3) > 0)
                    .then(|| draw.between(300 * US, 20 * MS)),
                start: draw.between(0, 5 * MS),
                run,
                sleep: draw.between(500 * US, 20 * MS),
            }
        })
        .collect()
}

fn sets() -> u64 {
    if std::env::var("WEIR_LONG").is_ok() { 200 } else { 25 }
}

/// Random sets of two to six tasks: nearly all schedules are the model's, switch by switch within 3 us, and waits are within 2 %.
#[test]
fn schedules_are_those_of_the_kernels_rules() {
    let end = 400 * MS;
    let mut fine = true;
    for late in [false, true] {
        for kind in [Kind::Equal, Kind::Nice, Kind::Slices] {
            let (mut same, mut all) = (0, [Vec::new(), Vec::new()]);
            for seed in 0..sets() {
                let loads = set(kind, seed);
                let (ours, rules) = (simulated(late, &loads, end), Model::new(late, &loads).run(end));
                match differs(&ours, &rules) {
                    None => same += 1,
                    Some(i) => {
                        let near = |b: &[Bar]| b[i.saturating_sub(3)..(i + 3).min(b.len())].to_vec();
                        println!("set {seed} from switch {i} on: {loads:?}");
                        println!(" here {:?}\n rules {:?}", near(&ours), near(&rules));
                    }
                }
                // The last one may still be on the CPU.
                let n = ours.len().min(rules.len());
                all[0].extend(waits(&loads, &ours[..n]));
                all[1].extend(waits(&loads, &rules[..n]));
            }
            let figures = all.map(|mut w| {
                w.sort_unstable();
                let mean = w.iter().sum::<u64>() / w.len() as u64;
                [mean, w[w.len() * 95 / 100], w[w.len() - 1]].map(|ns| ns as f64 / 1e6)
            });
            println!("late {late}, {kind:?}: {same} of {} the same; mean, p95, max ms {figures:?}", sets());
            let near = figures[0].iter().zip(figures[1]).all(|(a, b)| (a / b - 1.0).abs() < 0.02);
            fine &= same * 100 >= sets() * 95 && near;
        }
    }
    assert!(fine, "the figures are above");
}

/// A task of 1 ms, asleep for 9 ms, beside a hog with slices of 100 ms and one with the default.
#[test]
fn a_short_task_beside_long_slices_waits_as_in_linux() {
    let hog = |slice| Load { nice: 0, slice, start: 0, run: 100_000 * MS, sleep: MS };
    let ui = Load { nice: 0, slice: None, start: 0, run: MS, sleep: 9 * MS };
    let loads = [hog(Some(100 * MS)), hog(None), ui];
    for (late, most) in [(false, 1.9), (true, 0.62)] {
        let w = waits(&loads, &simulated(late, &loads, 20_000 * MS));
        let r = waits(&loads, &Model::new(late, &loads).run(20_000 * MS));
        let mean = |w: &[u64]| w.iter().sum::<u64>() as f64 / w.len() as f64 / 1e6;
        println!(
            "late {late}: {:.3} ms, max {}; by the model {:.3}, {}",
            mean(&w),
            w[w.len() - 1],
            mean(&r),
            r[r.len() - 1]
        );
        assert!(mean(&w) < most, "{late}: {}", mean(&w));
        assert!((mean(&w) / mean(&r) - 1.0).abs() < 0.1, "{late}: {} against {}", mean(&w), mean(&r));
    }
}
