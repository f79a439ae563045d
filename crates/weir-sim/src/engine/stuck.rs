// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Standstill: no event can occur any more, or time no longer advances. Reports what each task waits for.

use weir_core::Topic;
use weir_core::event::{CpuNo, Stop, TaskNo};

use super::Result;
use super::cpu::Mode;
use super::queue::{Key, Kind};
use super::sim::Sim;
use super::task::{NEVER, NONE, SPIN_LOCK, State, Wait};
use weir_model::Error;
use weir_model::workload::Op;

/// Component timers in a row after which a scheduler that runs nothing is taken to have lost its tasks.
const PATIENCE: u64 = 10_000;
/// Decisions of a CPU in a row that let its task run less than [`FRUITFUL_NS`], after which the run ends.
const FRUITLESS: u32 = 100_000;
/// Less than any policy means by a turn.
const FRUITFUL_NS: u64 = 100;
/// Events at one instant after which time is taken to stand still, beside those that each task and CPU may have.
const STANDING: u64 = 1_000_000;
/// Tasks named in a message.
const NAMED: usize = 8;
/// Tasks named in the outcome.
const MOST_LEFT: usize = 1000;

impl Sim<'_> {
    /// No task is left that could make something happen, or nothing is queued but what comes again and again without effect.
    pub fn is_stuck(&self, next: Key) -> bool {
        if self.census.alive == 0 {
            return false;
        }
        if self.movers() == 0 || next == Key::NEVER {
            return true;
        }
        matches!(next.kind(), Kind::Component | Kind::Message)
            && self.idle_timers > PATIENCE
            && self.census.running == 0
            && !self.may_change()
    }

    /// Something is queued, here or in a guest, that is not the machinery's own and comes again and again: the end of a sleep however
    /// long, a CPU that comes back, a step of the scenario.
    fn may_change(&self) -> bool {
        self.timers.any(|kind| !kind.is_routine())
            || self.queue.first_cpu().is_some()
            || self.guests.iter().any(|g| !g.over && g.sim.may_change())
    }

    /// The diagnostic of a standstill.
    pub fn explain_standstill(&mut self) {
        let mut lines = Vec::new();
        let waiting = self.tasks.iter().enumerate().filter(|(_, t)| t.state != State::Gone);
        for (no, _) in waiting.take(NAMED) {
            lines.push(self.situation(no as TaskNo));
        }
        let more = (self.census.alive as usize).saturating_sub(lines.len());
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        let what = if self.census.ready > self.census.spinning {
            "no CPU takes the tasks that are ready"
        } else {
            "deadlock"
        };
        let text = format!("{what} at {} ns: {}", self.now, lines.join("; "));
        self.warn(text);
        self.stuck = true;
    }

    /// Tasks whose work nothing would ever do: after a standstill all that are there, else those with an end that no CPU may take as
    /// things are. (A task without end has work left whenever a run ends.)
    pub fn left(&self) -> Vec<(String, String)> {
        let left = |no: &usize| {
            let task = &self.tasks[*no];
            match self.stuck {
                true => task.state != State::Gone,
                false => {
                    task.state == State::Ready && !self.has_a_cpu(*no as TaskNo) && !self.is_endless(*no)
                }
            }
        };
        let say = |no: usize| (self.name(no as TaskNo).to_string(), self.situation(no as TaskNo));
        (0..self.tasks.len()).filter(left).take(MOST_LEFT).map(say).collect()
    }

    fn is_endless(&self, no: usize) -> bool {
        let ops = self.programs[self.tasks[no].program as usize].ops;
        ops.iter().any(|op| matches!(op, Op::Loop { count: None }))
    }

    /// Some CPU that is there, and takes tasks of the topology, may run it.
    fn has_a_cpu(&self, no: TaskNo) -> bool {
        let task = &self.tasks[no as usize];
        let mut cpus =
            (0..).zip(&self.cpus).filter(|(_, cpu)| cpu.mode != Mode::Offline && cpu.isa == task.isa);
        cpus.any(|(c, _)| {
            self.plan.exits[c as usize].is_some() && task.cpus.is_none_or(|set| set.contains(c))
        })
    }

    fn name(&self, no: TaskNo) -> &str {
        &self.workload.tasks[self.tasks[no as usize].spec as usize].name
    }

    fn at_barrier(&self, name: &str, barrier: u32) -> String {
        let (place, object) =
            (&self.workload.barriers[barrier as usize].0, &self.objects.barriers[barrier as usize]);
        format!("`{name}` waits at `{place}`, where {} of {} have arrived", object.waiters.len(), object.need)
    }

    /// A description of what a task does or waits for.
    fn situation(&self, no: TaskNo) -> String {
        let w = self.workload;
        let task = &self.tasks[no as usize];
        let name = self.name(no);
        if let Some(flag) = task.spins {
            if flag & SPIN_LOCK != 0 {
                let m = flag & !SPIN_LOCK;
                let holder = self.objects.mutexes[m as usize].owner.map_or("nobody", |o| self.name(o));
                return format!("`{name}` spins for `{}`, which `{holder}` holds", w.mutexes[m as usize]);
            }
            let flag_name = &w.flags[flag as usize];
            let f = &self.objects.flags[flag as usize];
            let want = f.spinners.iter().find(|s| s.0 == no).map_or(0, |s| s.1);
            return format!("`{name}` spins until `{flag_name}` is {want} (it is {})", f.value);
        }
        if task.looks > 0 {
            return self.at_barrier(name, task.at_barrier);
        }
        match task.state {
            State::Ready => {
                let bound = match task.cpus {
                    Some(set) => format!(" (it may run on CPUs {set} only)"),
                    None => String::new(),
                };
                return format!("`{name}` is ready, but the topology offers it to no CPU{bound}");
            }
            State::Running => return format!("`{name}` runs"),
            State::Blocked | State::Gone => {}
        }
        match task.wait {
            Wait::Mutex(m) => {
                let object = &w.mutexes[m as usize];
                match self.objects.mutexes[m as usize].owner {
                    Some(owner) if owner == no => {
                        format!("`{name}` waits for `{object}`, which it holds itself")
                    }
                    Some(owner) if self.tasks[owner as usize].state == State::Gone => {
                        format!(
                            "`{name}` waits for `{object}`, which `{}` held when it ended",
                            self.name(owner)
                        )
                    }
                    Some(owner) => {
                        format!("`{name}` waits for `{object}`, which `{}` holds", self.name(owner))
                    }
                    None => format!("`{name}` waits for `{object}`"),
                }
            }
            Wait::Condition(c, _) => format!("`{name}` waits for a signal of `{}`", w.conditions[c as usize]),
            Wait::Event(e) => {
                format!("`{name}` is suspended until someone resumes `{}`", w.events[e as usize])
            }
            Wait::Barrier(b) => self.at_barrier(name, b),
            Wait::Read(c) => format!("`{name}` waits for data in `{}`", w.channels[c as usize].0),
            Wait::Write(c) => format!("`{name}` waits for room in `{}`", w.channels[c as usize].0),
            Wait::Join => format!("`{name}` waits for the tasks before it in its graph"),
            Wait::Vcpu(g) => {
                format!("`{name}` waits for work in the guest `{}`", w.guests[g as usize].name)
            }
            Wait::Time | Wait::Release | Wait::Device | Wait::Sent => format!("`{name}` waits for a time"),
            Wait::No => format!("`{name}` has not begun"),
        }
    }

    /// `c` gives its task back to the scheduler: an error where it has done hardly anything else for very long.
    #[inline(always)]
    pub fn weigh_decision(&mut self, c: CpuNo, why: Stop) -> Result<()> {
        let cpu = &mut self.cpus[c as usize];
        let ran = if cpu.starting { 0 } else { self.now.saturating_sub(cpu.slice_since) };
        if ran >= FRUITFUL_NS || !matches!(why, Stop::SliceEnd | Stop::Preempted) {
            cpu.fruitless = 0;
            return Ok(());
        }
        cpu.fruitless += 1;
        match cpu.fruitless < FRUITLESS {
            true => Ok(()),
            false => Err(self.without_progress(c, why).into()),
        }
    }

    #[cold]
    fn without_progress(&self, c: CpuNo, why: Stop) -> Error {
        let cpu = &self.cpus[c as usize];
        let named = |i: u32| self.plan.instances.get(i as usize).map(|i| format!("`{}`", i.name));
        let catalog = weir_core::catalog();
        let running = if why == Stop::Preempted {
            let by = Some(cpu.preempted_by).filter(|i| *i != NONE).and_then(named);
            format!("{} preempts it again and again", by.unwrap_or_else(|| "the scheduler".into()))
        } else {
            // The slice is granted by the stage before the exit, or by an annotator that keeps budgets.
            let exit = self.plan.exits[c as usize].and_then(|p| self.plan.pipes[p as usize].from);
            let keeps = |class: u16| {
                let topics = [Topic::Budget, Topic::Slice];
                catalog.class(class).is_some_and(|info| topics.iter().any(|t| info.answers_to(*t)))
            };
            let keepers =
                self.plan.instances.iter().filter(|i| keeps(i.class)).map(|i| format!("`{}`", i.name));
            let all: Vec<String> = keepers.chain(exit.and_then(|(i, _)| named(i))).collect();
            format!("{} grants slices of {} ns", all.join(" or "), cpu.slice_ns)
        };
        Error::policy(format!(
            "CPU {c} has decided {FRUITLESS} times in a row, until {} ns, and task `{}` ran less than {FRUITFUL_NS} ns \
             each time: {running}",
            self.now,
            self.name(cpu.cur)
        ))
        .help("grant longer slices, or hold tasks without budget back with `throttle`")
    }

    /// So many events have followed each other without time passing that it never will. All tasks may have something to do at one instant.
    pub fn stands_still(&self) -> bool {
        self.totals.events - self.moved_at
            > STANDING + 64 * (self.tasks.len() as u64 + self.cpus.len() as u64)
    }

    /// An instance's timer is due: an error where it has armed it for hardly any time ahead very often.
    pub fn weigh_timer(&mut self, instance: u32) -> Result<()> {
        if self.timers_of.len() <= instance as usize {
            self.timers_of.resize(instance as usize + 1, (NEVER, 0));
        }
        let (last, in_a_row) = &mut self.timers_of[instance as usize];
        let ns = self.now.saturating_sub(std::mem::replace(last, self.now));
        // Several at one instant are another error.
        *in_a_row = if ns < FRUITFUL_NS { *in_a_row + u32::from(ns > 0) } else { 0 };
        if *in_a_row < FRUITLESS {
            return Ok(());
        }
        Err(Error::policy(format!(
            "instance `{}` has armed its timer {FRUITLESS} times in a row, until {} ns, for less than {FRUITFUL_NS} ns ahead",
            self.plan.instances[instance as usize].name, self.now
        ))
        .help("its component plans by deadlines and execution times: let those of the tasks be a microsecond at least").into())
    }

    /// Very many events without time passing.
    pub fn standing_clock(&self) -> Error {
        let busy = self.cpus.iter().find(|c| c.last != NONE).map(|c| self.name(c.last));
        let running = busy.map(|n| format!("; task `{n}` is among those that run")).unwrap_or_default();
        Error::run(format!("simulated time makes no progress at {} ns: tasks wake or yield to each other without end{running}", self.now))
            .help("put a step that takes time (run, sleep, timer) into their loops, or use a cost table other than zero")
    }
}
