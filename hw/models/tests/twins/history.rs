// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Random histories: task sets that are set and deleted, jobs that end early, late reports, sporadic releases, sections that are not
//! preempted, budgets, two levels of criticality.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weir_hw::engine::{Engine, Event, High, Policy, Server, Task, Terms};

/// What programs do between two ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Set(usize, Task, Terms),
    Delete(usize),
    Release(usize),
    /// The job reported complete; whether it was the present one.
    Done(usize, u8, bool),
    /// The CPU begins or ends a section that is not preempted.
    Hold(usize, bool),
    /// The high mode is to begin.
    Raise,
}

/// One tick: what happened since the one before, and at it.
pub struct Tick {
    /// Number of the tick, the first one is 1.
    pub now: i64,
    pub actions: Vec<Action>,
    pub events: Vec<Event>,
    /// MLLF may put a decision off.
    #[cfg_attr(not(feature = "verilated"), expect(dead_code))]
    pub decides: bool,
}

#[derive(Clone, Copy)]
struct Sections {
    /// Each ends with its job, and begins where the CPU holds what it should run.
    short: bool,
}

pub struct History {
    pub engine: Engine,
    pub tasks: Vec<Option<Task>>,
    pub terms: Vec<Terms>,
    rng: ChaCha8Rng,
    now: i64,
    periodic: bool,
    /// Separate deadlines, sporadic tasks.
    pub separation: bool,
    /// Sections that are not preempted, if there are any.
    sections: Option<Sections>,
    /// Some tasks have a server; some are of high criticality.
    budgets: bool,
    levels: bool,
    /// Virtual deadlines are half of the others.
    halves: bool,
    /// What the CPUs hold: whoever switches says so.
    pub contexts: Vec<Option<usize>>,
    /// No two jobs have one deadline.
    distinct: bool,
    /// Longest period, ticks.
    longest: u32,
}

impl History {
    pub fn new(seed: u64, tasks: usize, cpus: usize, policy: Policy) -> History {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let longest = *[6, 12, 40, 300].get(rng.random_range(0..4)).expect("four of them");
        History {
            engine: Engine::new(tasks, cpus, policy),
            tasks: vec![None; tasks],
            terms: vec![Terms::default(); tasks],
            rng,
            now: 0,
            periodic: false,
            separation: true,
            sections: None,
            budgets: false,
            levels: false,
            halves: false,
            contexts: vec![None; cpus],
            distinct: false,
            longest,
        }
    }

    /// Tasks are set once, before the first tick, and are periodic.
    pub fn periodic_only(&mut self) {
        self.periodic = true;
    }

    /// As that, and no two jobs ever have the same deadline: there is one choice.
    pub fn distinct_deadlines(&mut self) {
        self.periodic = true;
        self.distinct = true;
    }

    /// CPUs hold their tasks now and then. `short`: as a component without such sections can follow by a task's deadline.
    pub fn with_sections(&mut self, short: bool) {
        self.sections = Some(Sections { short });
    }

    pub fn with_budgets(&mut self) {
        self.budgets = true;
    }

    #[cfg(feature = "verilated")]
    pub fn with_levels(&mut self) {
        self.levels = true;
    }

    /// As a component follows: no two jobs have one deadline, in neither mode.
    pub fn with_halved_deadlines(&mut self) {
        self.distinct_deadlines();
        self.levels = true;
        self.halves = true;
    }

    /// A job is withheld, or was set aside.
    pub fn is_special(&self) -> bool {
        let e = &self.engine;
        (0..self.tasks.len()).any(|n| e.ready(n) && (e.withheld(n) || e.aside(n)))
    }

    /// More jobs than CPUs have no laxity left: one of them must be late, and which is a matter of taste.
    pub fn overloaded(&self) -> bool {
        let e = &self.engine;
        let tight = (0..self.tasks.len()).filter(|n| e.ready(*n) && e.laxity(*n) <= 0).count();
        tight > e.cpus().len()
    }

    /// A task whose share is such that all together need about as much as there is, so that many are late.
    fn task(&mut self, n: usize) -> Task {
        let many = self.tasks.len() as u32 * (1 + u32::from(self.halves));
        let mut period = self.rng.random_range(2..=self.longest.max(2));
        if self.distinct {
            period = period.div_ceil(many).max(2) * many;
        }
        let share =
            self.engine.cpus().len() as f64 / self.tasks.len() as f64 * self.rng.random_range(0.3..2.0);
        let wcet = ((f64::from(period) * share).round() as u32).clamp(1, period - 1);
        let constrained = self.separation && !self.distinct && self.rng.random_bool(0.3);
        let phase = if self.rng.random_bool(0.3) { self.rng.random_range(0..2 * period) } else { 0 };
        Task {
            period,
            wcet,
            deadline: if constrained { self.rng.random_range(wcet..=period) } else { period },
            phase: if self.distinct { phase / many * many + n as u32 } else { phase },
            sporadic: !self.periodic && self.separation && self.rng.random_bool(0.3),
        }
    }

    /// A server of about what the task needs, and a high task's times.
    fn terms(&mut self, task: &Task) -> Terms {
        let server = (self.budgets && self.rng.random_bool(0.5)).then(|| {
            let replenish = self.rng.random_range(1..=2 * task.period);
            let most = (2 * task.wcet * replenish / task.period).clamp(1, replenish);
            Server { budget: self.rng.random_range(1..=most), replenish }
        });
        let may = self.levels && !(self.halves && task.deadline / 2 < task.wcet);
        let high = (may && self.rng.random_bool(0.4)).then(|| High {
            wcet: self.rng.random_range(task.wcet..=task.deadline.min(task.period - 1)),
            deadline: if self.halves {
                task.deadline / 2
            } else {
                self.rng.random_range(task.wcet..=task.deadline)
            },
        });
        Terms { server, high }
    }

    fn set(&mut self, n: usize) -> Action {
        let task = self.task(n);
        let terms = self.terms(&task);
        Action::Set(n, task, terms)
    }

    fn act(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        let n = self.tasks.len();
        if self.periodic {
            if self.now == 0 {
                for t in 0..n {
                    let set = self.set(t);
                    actions.push(set);
                }
            }
        } else {
            for t in 0..n {
                match self.rng.next_u32() % 256 {
                    0 if self.tasks[t].is_some() => actions.push(Action::Delete(t)),
                    1..8 if self.tasks[t].is_none() => {
                        let set = self.set(t);
                        actions.push(set);
                    }
                    8 => {
                        let set = self.set(t);
                        actions.push(set);
                    }
                    9..40 if self.tasks[t].is_some_and(|t| t.sporadic) => actions.push(Action::Release(t)),
                    _ => {}
                }
                if actions.len() > 8 {
                    break;
                }
            }
        }
        // Jobs that run may end early; some reports are of another job than the present one.
        let running: Vec<usize> = self.engine.cpus().iter().flatten().copied().collect();
        for t in running {
            let touched =
                actions.iter().any(|a| matches!(a, Action::Set(n, ..) | Action::Delete(n) if *n == t));
            if !touched && self.engine.ready(t) && self.rng.random_bool(0.06) {
                let late = self.rng.random_bool(0.2);
                let job = self.engine.job(t).wrapping_sub(u8::from(late));
                actions.push(Action::Done(t, job, !late));
            }
        }
        self.hold(&mut actions);
        if self.levels && !self.periodic && self.rng.random_bool(0.01) {
            actions.push(Action::Raise);
        }
        actions
    }

    fn hold(&mut self, actions: &mut Vec<Action>) {
        let Some(Sections { short }) = self.sections else { return };
        let ended = |n: usize, engine: &Engine, actions: &[Action]| {
            !engine.ready(n) || actions.iter().any(|a| matches!(a, Action::Done(d, _, true) if *d == n))
        };
        for cpu in 0..self.contexts.len() {
            let context = self.contexts[cpu];
            if let Some(n) = self.engine.held[cpu] {
                if self.rng.random_bool(0.3) || (short && ended(n, &self.engine, actions)) {
                    actions.push(Action::Hold(cpu, false));
                }
            } else if let Some(n) = context
                && self.rng.random_bool(0.05)
                && !(short && (context != self.engine.cpus()[cpu] || ended(n, &self.engine, actions)))
            {
                actions.push(Action::Hold(cpu, true));
            }
        }
    }

    /// Programs act, then a tick passes.
    pub fn step(&mut self) -> Tick {
        let actions = self.act();
        for action in &actions {
            match *action {
                Action::Set(n, task, terms) => {
                    self.engine.set_on(n, task, terms);
                    self.tasks[n] = Some(task);
                    self.terms[n] = terms;
                }
                Action::Delete(n) => {
                    self.engine.delete(n);
                    self.tasks[n] = None;
                }
                Action::Release(n) => self.engine.release(n),
                Action::Done(n, job, counts) => assert_eq!(self.engine.done(n, job), counts),
                Action::Raise => self.engine.raise(),
                Action::Hold(cpu, on) => self.engine.held[cpu] = self.contexts[cpu].filter(|_| on),
            }
        }
        self.now += 1;
        let (events, decides) = self.engine.tick();
        Tick { now: self.now, actions, events, decides }
    }
}
