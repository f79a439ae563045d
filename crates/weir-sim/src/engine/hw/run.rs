// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! CPUs beside an engine: at each tick jobs come and end there, then it decides, and CPUs whose task changes are interrupted. The
//! interrupt handler saves, asks the engine for the task (which hands over the context), and loads: a context switch, and
//! there is nothing else that scheduling costs.

use std::sync::atomic::Ordering;

use weir_core::event::{Event, Observer, Stop};
use weir_model::costs::Costs;
use weir_model::rng::Rng;
use weir_model::workload::Op;
use weir_model::{Machine, Result, Workload};

use super::super::{CpuOutcome, Outcome, RunConfig};
use super::Ready;
use super::device::{Claim, Device};

const NEVER: u64 = u64::MAX;
/// Events between two looks at whether the user wants an end.
const LOOK: u64 = 4_096;

struct Job {
    number: u32,
    release_ns: u64,
    deadline_ns: u64,
    left_ns: u64,
    missed: bool,
}

struct State {
    job: Option<Job>,
    jobs: u32,
    /// Number of the job in the engine.
    number: u8,
    /// Where it runs.
    on: Option<usize>,
    /// Where it last ran.
    last: Option<u32>,
    ready_since: u64,
    /// Its job has not run yet.
    fresh: bool,
    rng: Rng,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Nothing to do: no task, or the task whose context is there has no job.
    Idle,
    Runs(usize),
    /// In the handler until it reads SCHED.
    Saves,
    /// Reads it again and again: another CPU holds the context.
    Asks,
    Loads(usize),
}

struct Cpu {
    mode: Mode,
    since: u64,
    /// When the mode is over by itself.
    until: u64,
    /// Context that is loaded.
    holds: Option<usize>,
    /// Task that last ran.
    last: Option<usize>,
    told_idle: bool,
    outcome: CpuOutcome,
}

/// What is due; of things at one time the first goes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Cpu(usize),
    Deadline(usize),
    Decision,
    Tick,
}

struct Run<'a> {
    machine: &'a Machine,
    ready: &'a Ready<'a>,
    device: &'a mut dyn Device,
    costs: &'a Costs,
    observer: &'a mut dyn Observer,
    now: u64,
    next_tick: u64,
    decision: u64,
    tasks: Vec<State>,
    cpus: Vec<Cpu>,
    outcome: Outcome,
    /// Jobs that the engine ended because their execution time was over.
    spent: u64,
}

pub(super) fn run(
    machine: &Machine,
    ready: &Ready<'_>,
    device: &mut dyn Device,
    workload: &Workload,
    costs: &Costs,
    cfg: &RunConfig<'_>,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    let end = match (cfg.duration_ns, workload.duration_ns) {
        (Some(a), Some(b)) => a.min(b),
        (a, b) => a.or(b).unwrap_or(0),
    };
    let state = |n: usize| State {
        job: None,
        jobs: 0,
        number: 0,
        on: None,
        last: None,
        ready_since: 0,
        fresh: false,
        rng: Rng::new(cfg.seed, n as u64),
    };
    let cpu = || Cpu {
        mode: Mode::Idle,
        since: 0,
        until: NEVER,
        holds: None,
        last: None,
        told_idle: false,
        outcome: CpuOutcome::default(),
    };
    let mut run = Run {
        machine,
        ready,
        device,
        costs,
        observer,
        now: 0,
        next_tick: 0,
        decision: NEVER,
        tasks: (0..ready.rows.len()).map(state).collect(),
        cpus: (0..ready.setup.cpus).map(|_| cpu()).collect(),
        outcome: Outcome::default(),
        spent: 0,
    };
    for (n, row) in ready.rows.iter().enumerate() {
        run.device.state(n);
        let (name, group) = (row.spec.name.as_str(), row.spec.group.as_str());
        run.observer.event(0, &Event::TaskNew { task: n as u32, name, group });
    }
    (0..run.cpus.len()).for_each(|c| run.tell_idle(c, true));
    let stop = || cfg.stop.is_some_and(|s| s.load(Ordering::Relaxed));
    loop {
        let (at, due) = run.due();
        // What ends with the run counts; what begins then does not.
        if at > end || (at == end && due >= Due::Decision) {
            run.now = end;
            break;
        }
        run.now = at;
        match due {
            Due::Cpu(c) => run.cpu_due(c),
            Due::Deadline(n) => run.miss(n),
            Due::Decision => run.decide(),
            Due::Tick => run.tick(),
        }
        run.outcome.events += 1;
        if run.outcome.events.is_multiple_of(LOOK) {
            if let Some(progress) = cfg.progress {
                progress(run.now, run.outcome.events);
            }
            if stop() {
                run.outcome.interrupted = true;
                break;
            }
        }
    }
    Ok(run.finish())
}

impl Run<'_> {
    fn due(&self) -> (u64, Due) {
        let cpus = self.cpus.iter().enumerate().map(|(c, cpu)| (cpu.until, Due::Cpu(c)));
        let open = |(n, t): (usize, &State)| {
            let job = t.job.as_ref().filter(|j| !j.missed)?;
            Some((job.deadline_ns, Due::Deadline(n)))
        };
        let deadlines = self.tasks.iter().enumerate().filter_map(open);
        let engine = [(self.decision, Due::Decision), (self.next_tick, Due::Tick)];
        cpus.chain(deadlines).chain(engine).min().expect("there are ticks without end")
    }

    fn tell(&mut self, event: &Event<'_>) {
        self.observer.event(self.now, event);
    }

    fn tell_idle(&mut self, c: usize, idle: bool) {
        if self.cpus[c].told_idle != idle {
            self.cpus[c].told_idle = idle;
            self.tell(&Event::Idle { cpu: c as u32, idle });
        }
    }

    /// The CPU does something else from now on, until `until`.
    fn enter(&mut self, c: usize, mode: Mode, until: u64) {
        let cpu = &mut self.cpus[c];
        let was = self.now - cpu.since;
        match cpu.mode {
            Mode::Idle => cpu.outcome.idle_ns += was,
            Mode::Runs(_) => cpu.outcome.busy_ns += was,
            Mode::Saves | Mode::Asks | Mode::Loads(_) => cpu.outcome.kernel_ns += was,
        }
        (cpu.mode, cpu.since, cpu.until) = (mode, self.now, until);
        self.tell_idle(c, mode == Mode::Idle);
    }

    /// Jobs come and end; the decision follows.
    fn tick(&mut self) {
        self.device.tick();
        self.outcome.decisions += 1;
        self.decision = self.now + self.ready.latency_ns;
        self.next_tick += self.ready.tick_ns;
        for n in 0..self.tasks.len() {
            let (is_ready, number) = self.device.state(n);
            let came = number != self.tasks[n].number;
            if self.tasks[n].job.is_some() && (came || !is_ready) {
                self.spent += u64::from(!came);
                self.drop_job(n);
            }
            if came {
                self.release(n, number);
            }
        }
    }

    fn release(&mut self, n: usize, number: u8) {
        let row = &self.ready.rows[n];
        let (now, task) = (self.now, &mut self.tasks[n]);
        let left_ns = match row.work {
            Op::Run { ns } | Op::Runtime { ns } => *ns,
            Op::RunBetween { min_ns, max_ns } => task.rng.between(*min_ns, *max_ns),
            Op::RunDrawn { dist } => dist.draw(&mut task.rng),
            _ => unreachable!("other tasks are refused"),
        };
        let job = Job {
            number: task.jobs,
            release_ns: now,
            deadline_ns: now + row.deadline_ns,
            left_ns,
            missed: false,
        };
        let deadline_ns = Some(job.deadline_ns);
        let job_no = job.number;
        task.job = Some(job);
        task.jobs += 1;
        task.number = number;
        (task.ready_since, task.fresh) = (now, true);
        self.outcome.jobs += 1;
        self.tell(&Event::JobRelease { task: n as u32, job: job_no, due_ns: now, deadline_ns });
        self.tell(&Event::Ready { task: n as u32, wakeup: true });
    }

    /// The engine ends a job whose work is not done.
    fn drop_job(&mut self, n: usize) {
        let job = self.tasks[n].job.as_ref().expect("it has one").number;
        if let Some(c) = self.tasks[n].on {
            self.leave(c, Stop::Block);
            self.enter(c, Mode::Idle, NEVER);
        }
        self.tasks[n].job = None;
        self.tell(&Event::JobDropped { task: n as u32, job });
    }

    fn miss(&mut self, n: usize) {
        let job = self.tasks[n].job.as_mut().expect("its deadline is due");
        job.missed = true;
        let (job, deadline_ns) = (job.number, job.deadline_ns);
        self.outcome.deadline_misses += 1;
        self.tell(&Event::DeadlineMiss { task: n as u32, job, deadline_ns });
    }

    /// The decision is there: interrupts rise, and CPUs that wait for their task's next job look whether it is theirs.
    fn decide(&mut self) {
        self.decision = NEVER;
        for c in 0..self.cpus.len() {
            let interrupt = self.device.interrupts(c);
            match self.cpus[c].mode {
                Mode::Idle | Mode::Runs(_) if interrupt => self.handle(c),
                Mode::Idle => self.poll(c),
                _ => {}
            }
        }
        self.ask_again();
    }

    /// The CPU goes into its interrupt handler.
    fn handle(&mut self, c: usize) {
        if let Mode::Runs(n) = self.cpus[c].mode {
            self.leave(c, Stop::Preempted);
            self.outcome.preemptions += 1;
            self.tasks[n].ready_since = self.now;
            self.tell(&Event::Ready { task: n as u32, wakeup: false });
        }
        self.cpus[c].holds = None;
        self.enter(c, Mode::Saves, self.now + self.costs.context_switch / 2);
    }

    /// An idle CPU runs the task that it holds, if that is its to run and has a job.
    fn poll(&mut self, c: usize) {
        if let Some(n) = self.cpus[c].holds
            && self.device.chosen(c) == Some(n)
            && self.tasks[n].job.is_some()
        {
            self.begin(c, n);
        }
    }

    fn cpu_due(&mut self, c: usize) {
        match self.cpus[c].mode {
            Mode::Runs(n) => self.complete(c, n),
            // The choice is being made.
            Mode::Saves if self.decision != NEVER => self.cpus[c].until = self.decision,
            Mode::Saves => {
                self.claim(c);
                self.ask_again();
            }
            Mode::Loads(n) => {
                self.cpus[c].holds = Some(n);
                if self.decision == NEVER && self.device.interrupts(c) {
                    self.handle(c);
                } else if self.tasks[n].job.is_some() {
                    self.begin(c, n);
                } else {
                    self.enter(c, Mode::Idle, NEVER);
                }
            }
            Mode::Idle | Mode::Asks => unreachable!("they end by an event"),
        }
    }

    /// The handler reads SCHED.
    fn claim(&mut self, c: usize) {
        match self.device.claim(c) {
            Claim::Idle => self.enter(c, Mode::Idle, NEVER),
            Claim::Wait => self.enter(c, Mode::Asks, NEVER),
            Claim::Task(n, _) => {
                let from = self.tasks[n].last.unwrap_or(c as u32);
                let cache = self.costs.migrate(self.machine.distance(from, c as u32));
                let load = self.costs.context_switch - self.costs.context_switch / 2;
                self.enter(c, Mode::Loads(n), self.now + load + cache);
            }
        }
    }

    /// CPUs that wait for a context read SCHED again: at the first time that can help.
    fn ask_again(&mut self) {
        for _ in 0..self.cpus.len() {
            for c in 0..self.cpus.len() {
                if self.cpus[c].mode == Mode::Asks {
                    self.claim(c);
                }
            }
        }
    }

    fn begin(&mut self, c: usize, n: usize) {
        let (cpu, task) = (c as u32, &mut self.tasks[n]);
        let left = task.job.as_ref().expect("it has a job").left_ns;
        let migrated = task.last.is_some_and(|l| l != cpu);
        let (waited_ns, wakeup) = (self.now - task.ready_since, std::mem::take(&mut task.fresh));
        (task.on, task.last) = (Some(c), Some(cpu));
        let switched = self.cpus[c].last != Some(n);
        self.cpus[c].last = Some(n);
        self.cpus[c].outcome.switches += u64::from(switched);
        self.outcome.runs += 1;
        self.outcome.context_switches += u64::from(switched);
        self.outcome.migrations += u64::from(migrated);
        self.enter(c, Mode::Runs(n), self.now + left);
        self.tell(&Event::Run { task: n as u32, cpu, migrated, switched, wakeup, waited_ns });
    }

    /// The task that runs stops; the CPU's new mode follows.
    fn leave(&mut self, c: usize, why: Stop) {
        let Mode::Runs(n) = self.cpus[c].mode else { unreachable!("a task runs") };
        let ran_ns = self.now - self.cpus[c].since;
        let task = &mut self.tasks[n];
        task.on = None;
        if let Some(job) = &mut task.job {
            job.left_ns -= ran_ns;
        }
        self.tell(&Event::Off { task: n as u32, cpu: c as u32, why, ran_ns });
    }

    /// The job's work is done: DONE is written, and the task polls for its next job.
    fn complete(&mut self, c: usize, n: usize) {
        let job = self.tasks[n].job.as_ref().expect("it runs");
        let (number, missed) = (job.number, job.missed);
        let response_ns = self.now - job.release_ns;
        self.outcome.jobs_completed += 1;
        self.tell(&Event::JobDone { task: n as u32, job: number, response_ns, missed });
        self.leave(c, Stop::Block);
        self.tasks[n].job = None;
        self.device.done(n, self.tasks[n].number);
        self.enter(c, Mode::Idle, NEVER);
    }

    fn finish(mut self) -> Outcome {
        for c in 0..self.cpus.len() {
            if matches!(self.cpus[c].mode, Mode::Runs(_)) {
                self.leave(c, Stop::SliceEnd);
            }
            self.enter(c, Mode::Idle, NEVER);
        }
        let mut pj = 0u128;
        for (cpu, c) in self.cpus.iter().zip(0..) {
            let o = &cpu.outcome;
            let busy = u128::from(self.machine.busy_mw(c, self.machine.top_hz(c)));
            pj += u128::from(o.busy_ns + o.kernel_ns) * busy
                + u128::from(o.idle_ns) * u128::from(self.machine.kind(c).idle_mw);
        }
        let uj = (pj / 1_000_000) as u64;
        self.tell(&Event::Energy { uj });
        let mut out = std::mem::take(&mut self.outcome);
        let sum = |f: fn(&CpuOutcome) -> u64| self.cpus.iter().map(|c| f(&c.outcome)).sum();
        (out.end_ns, out.energy_uj) = (self.now, uj);
        (out.busy_ns, out.idle_ns, out.kernel_ns) =
            (sum(|o| o.busy_ns), sum(|o| o.idle_ns), sum(|o| o.kernel_ns));
        out.tasks = self.tasks.len() as u32;
        out.alive = out.tasks;
        out.cpus = self.cpus.iter().map(|c| c.outcome).collect();
        if self.spent > 0 {
            out.warnings.push(format!(
                "the engine ended {} jobs because the execution time that they declare was over",
                self.spent
            ));
        }
        out
    }
}
