// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Reclaiming of unused bandwidth (GRUB) by `cbs`, against a model of the rules that shares nothing with the component.
//!
//! The rules are those of Linux's documentation of SCHED_DEADLINE: the budget of the running task falls by
//! max(U, Umax - Uinactive - Uextra) / Umax, and a task that blocks is inactive from the instant at which its lag is zero. Uinactive is that of
//! the task's CPU, and Uextra what the bound leaves of each CPU if the tasks of all are divided equally.

use weir_sim::{Op, TaskSpec, Timing, Workload};

use crate::common::*;

const RECLAIM: &str = "annotate affinity, cbs(hard = true, bound = 95%, reclaim = true), job; each cpu { entry -> throttle } -> load_balancer -> each cpu { edf -> cpu };";
const BOUND: f64 = 0.95;

#[derive(Clone, Copy, Debug)]
struct Server {
    budget: f64,
    period: f64,
    run: f64,
    sleep: f64,
}

/// A task of the model; times in ns.
struct Modelled {
    server: Server,
    /// Work left of the present stint; none: it sleeps until `wakes`.
    left: Option<f64>,
    wakes: f64,
    budget: f64,
    deadline: f64,
    throttled: bool,
    /// Asleep and active until then.
    zero: Option<f64>,
    active: bool,
}

impl Modelled {
    fn rate(&self) -> f64 {
        self.server.budget / self.server.period
    }

    fn wake(&mut self, now: f64) {
        self.left = Some(self.server.run);
        (self.zero, self.active) = (None, true);
        if self.deadline <= now || self.budget > (self.deadline - now) * self.rate() {
            (self.deadline, self.budget, self.throttled) =
                (now + self.server.period, self.server.budget, false);
        }
    }

    fn block(&mut self, now: f64) {
        self.left = None;
        self.wakes = now + self.server.sleep;
        let zero = self.deadline - self.budget / self.rate();
        (self.zero, self.active) = if zero > now { (Some(zero), true) } else { (None, false) };
    }
}

/// CPU time of each task of a CPU until `end`; `mean` is the sum of all rates over the number of CPUs.
fn modelled(servers: &[Server], mean: f64, end: f64) -> Vec<f64> {
    let mut all: Vec<Modelled> = servers
        .iter()
        .map(|s| Modelled {
            server: *s,
            left: None,
            wakes: 0.0,
            budget: 0.0,
            deadline: 0.0,
            throttled: false,
            zero: None,
            active: false,
        })
        .collect();
    let (mut now, mut ran) = (0.0f64, vec![0.0; all.len()]);
    while now < end {
        for m in &mut all {
            if m.left.is_none() && m.wakes <= now {
                m.wake(now);
            }
            if m.throttled && m.deadline <= now {
                (m.deadline, m.budget, m.throttled) = (m.deadline + m.server.period, m.server.budget, false);
            }
            if m.zero.is_some_and(|z| z <= now) {
                (m.zero, m.active) = (None, false);
            }
        }
        let inactive: f64 = all.iter().filter(|m| !m.active).map(Modelled::rate).sum();
        let runs = (0..all.len())
            .filter(|i| all[*i].left.is_some() && !all[*i].throttled)
            .min_by(|a, b| all[*a].deadline.total_cmp(&all[*b].deadline));
        let mut next = end;
        for m in &all {
            let due = [m.zero, m.left.is_none().then_some(m.wakes), m.throttled.then_some(m.deadline)];
            next = due.into_iter().flatten().fold(next, f64::min);
        }
        if let Some(i) = runs {
            let pace = all[i].rate().max(BOUND - inactive - (BOUND - mean)) / BOUND;
            let work = all[i].left.expect("it runs");
            let stop = work.min(all[i].budget / pace);
            next = next.min(now + stop);
            let d = next - now;
            ran[i] += d;
            all[i].budget -= d * pace;
            all[i].left = Some(work - d);
            if work - d < 0.5 {
                all[i].block(next);
            } else if all[i].budget < 0.5 {
                all[i].throttled = true;
            }
        }
        now = next;
    }
    ran
}

fn tasks(servers: &[Server]) -> Workload {
    let spec = |(i, s): (usize, &Server)| {
        let (budget, period) = (s.budget as u64, s.period as u64);
        let release =
            Op::Release { offset_ns: 0, period_ns: period, deadline_ns: period, jitter_ns: 0, extra_ns: 0 };
        let mut ops = vec![release];
        let sleep = Op::Sleep { ns: s.sleep as u64 };
        let steps = vec![Op::Run { ns: s.run as u64 }, sleep];
        ops.extend(repeat(None, if s.sleep > 0.0 { steps } else { vec![Op::Run { ns: s.run as u64 }] }));
        let timing = Timing { period_ns: period, deadline_ns: period, wcet_ns: budget };
        TaskSpec { timing: Some(timing), ..task(&format!("w{i}"), ops) }
    };
    workload(servers.iter().enumerate().map(spec).collect())
}

const M: f64 = 1_000_000.0;

/// A task alone gets all of the bound, whatever it has reserved; two that compute share it by their rates.
#[test]
fn what_nobody_uses_is_shared() {
    let hog =
        |budget: f64, period: f64| Server { budget: budget * M, period: period * M, run: 1e12, sleep: 0.0 };
    let (g, _) = gantt(1, RECLAIM, &tasks(&[hog(2.0, 20.0)]), 2000 * MS);
    assert!(g.ran("w0").abs_diff(1900 * MS) <= 20 * MS, "{}", g.ran("w0"));
    let (g, _) = gantt(1, RECLAIM, &tasks(&[hog(2.0, 20.0), hog(6.0, 20.0)]), 2000 * MS);
    assert!(g.ran("w0").abs_diff(475 * MS) <= 20 * MS, "{}", g.ran("w0"));
    assert!(g.ran("w1").abs_diff(1425 * MS) <= 20 * MS, "{}", g.ran("w1"));
}

/// A random set for one CPU.
fn set(seed: u64) -> Vec<Server> {
    let mut state: u64 = seed * 7919 + 13;
    let mut draw = |low: u64, high: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        low + (state >> 33) % (high - low + 1)
    };
    let mut servers: Vec<Server> = Vec::new();
    for _ in 0..draw(2, 5) {
        let period = draw(5_000, 60_000);
        let budget = period * draw(5, 40) / 100;
        // Some keep to their budget, others want more of it.
        let run = budget * draw(30, 300) / 100;
        let sleep = if draw(0, 3) == 0 { 1 } else { draw(1, 60_000) };
        if total(&servers) + budget as f64 / period as f64 > BOUND - 0.001 {
            break;
        }
        let ns = |us: u64| (us * 1000 + draw(0, 999)) as f64;
        let server = [budget, period, run, sleep].map(ns);
        servers.push(Server { budget: server[0], period: server[1], run: server[2], sleep: server[3] });
    }
    servers
}

fn rhythm(mut servers: Vec<Server>, c: f64) -> Vec<Server> {
    for s in &mut servers {
        (s.run, s.sleep) = ((s.run * (1.0 + 0.37 * c)).round(), (s.sleep * (1.0 + 0.61 * c)).round());
    }
    servers
}

fn total(servers: &[Server]) -> f64 {
    servers.iter().map(|s| s.budget / s.period).sum()
}

fn sets() -> u64 {
    if std::env::var("WEIR_LONG").is_ok() { 1000 } else { 100 }
}

/// Nearly all sets of a CPU: every task's CPU time on `cpus` CPUs is the model's. Each CPU has tasks with the same rates, which compute and sleep in
/// another rhythm. (With more than its equal part of all rates a CPU promises more than it has, and tasks fall behind their periods.)
fn compare(cpus: u64, sets: u64) {
    let (mut same, mut bad) = (0, Vec::new());
    for seed in 0..sets {
        let each: Vec<Vec<Server>> = (0..cpus).map(|c| rhythm(set(seed), c as f64)).collect();
        let mean = each.iter().map(|s| total(s)).sum::<f64>() / cpus as f64;
        let want: Vec<f64> = each.iter().flat_map(|s| modelled(s, mean, 400.0 * M)).collect();
        let mut w = tasks(&each.concat());
        let mut at = w.tasks.iter_mut();
        for (c, servers) in each.iter().enumerate() {
            at.by_ref().take(servers.len()).for_each(|t| t.cpus = Some([c as u32].into_iter().collect()));
        }
        let (g, _) = gantt(cpus as u32, RECLAIM, &w, 400 * MS);
        let has: Vec<f64> = (0..want.len()).map(|i| g.ran(&format!("w{i}")) as f64).collect();
        let mut first = 0;
        for servers in &each {
            let own = first..first + servers.len();
            first = own.end;
            let (want, has) = (&want[own.clone()], &has[own]);
            let far = want.iter().zip(has).map(|(w, h)| (w - h).abs()).fold(0.0, f64::max);
            if far <= 20_000.0 {
                same += 1;
            } else if bad.len() < 3 {
                bad.push(format!("set {seed}: {want:?}, has {has:?}: {servers:?}"));
            }
        }
    }
    let sets = sets * cpus;
    println!("{cpus} CPUs: {same} of {sets} sets of a CPU within 20 us in 400 ms");
    assert!(same * 100 >= sets * 98, "{same} of {sets}\n{}", bad.join("\n"));
}

#[test]
fn reclaiming_is_that_of_the_model() {
    compare(1, sets());
}

/// What one CPU does not use is not reclaimed on another one, beyond equal parts of all rates.
#[test]
fn each_cpu_reclaims_for_itself() {
    compare(2, sets() / 2);
    compare(4, sets() / 4);
}
