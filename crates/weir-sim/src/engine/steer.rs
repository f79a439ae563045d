// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Carrying out a scenario: steps by time, rules by condition, each as one transaction.
//!
//! A transaction's topology takes over first, because only that can fail; then CPUs go offline, then CPUs come online, then
//! messages are published. A refused transaction changes nothing, and the outcome says why.

use std::ops::Deref;
use std::rc::Rc;

use weir_core::event::{Call, CpuNo, Event};
use weir_core::{Plan, SwapStats, Topic};

use super::Result;
use super::classes::Wanted;
use super::cpu::Mode;
use super::queue::{Key, Kind, Phase};
use super::sim::Sim;
use super::task::{NONE, State};
use weir_model::machine::MachineEvent;
use weir_model::scenario::{
    Condition, Proposal, Reconfiguration, Rules, Verb, cpus_after, known_cpu, known_isa,
};

/// Samples in a row without anything else queued after which nothing more is expected.
const PATIENCE: u32 = 1_000;

/// The topology in force: the caller's, or one that a scenario made.
#[derive(Clone, Debug)]
pub enum InForce<'a> {
    Given(&'a Plan),
    Made(Rc<Plan>),
}

impl Deref for InForce<'_> {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        match self {
            InForce::Given(plan) => plan,
            InForce::Made(plan) => plan,
        }
    }
}

/// How a topology takes over.
#[derive(Debug)]
enum Change {
    Whole,
    /// One instance in its place; number in both plans.
    Instance(u32),
}

/// The result of a change, and when the scheduler could be called again.
struct Changed {
    stats: SwapStats,
    pause_ns: u64,
    end: u64,
}

impl<'a> Sim<'a> {
    /// Queue the scenario's steps and the first look at its rules.
    pub fn queue_scenario(&mut self) {
        let Some(control) = self.cfg.control else { return };
        for (i, step) in control.scenario.steps.iter().enumerate() {
            self.timers.push(Key::new(step.at_ns, Phase::Timer, Kind::Step, i as u32));
        }
        if !control.scenario.rules.is_empty() {
            self.rules = Rules::new(&control.scenario.rules);
            self.timers.push(Key::new(0, Phase::Timer, Kind::Sample, 0));
        }
    }

    /// Step `index` of the scenario is due.
    pub fn scenario_step(&mut self, index: u32) -> Result<()> {
        let Some(control) = self.cfg.control else { return Ok(()) };
        let step = &control.scenario.steps[index as usize];
        self.transact(format!("step {}", index + 1), &step.verbs, None).map(|_| ())
    }

    /// Take a sample, look at the rules, and come again.
    pub fn sample(&mut self) -> Result<()> {
        let (Some(control), Some(watch)) = (self.cfg.control, self.watch) else { return Ok(()) };
        watch.borrow_mut().sample(self.now);
        self.look_at_rules()?;
        let alone = self.timers.peek() == Key::NEVER && self.queue.peek() == Key::NEVER;
        self.idle_samples = if alone { self.idle_samples + 1 } else { 0 };
        if self.idle_samples <= PATIENCE {
            let at = self.now + control.scenario.sample_ns;
            self.timers.push(Key::new(at, Phase::Timer, Kind::Sample, 0));
        }
        Ok(())
    }

    /// Rules receive messages at the end of the event in which they were published.
    pub fn heed(&mut self) -> Result<()> {
        let Some(watch) = self.watch else { return Ok(()) };
        let news = std::mem::take(&mut watch.borrow_mut().news);
        if news { self.look_at_rules() } else { Ok(()) }
    }

    fn look_at_rules(&mut self) -> Result<()> {
        let (Some(control), Some(watch)) = (self.cfg.control, self.watch) else { return Ok(()) };
        for (i, rule) in control.scenario.rules.iter().enumerate() {
            let ready = self.census.ready;
            let holds = |c: &Condition| watch.borrow().holds(c, rule.window_ns, ready);
            if let Some(action) = self.rules.due(i, rule, self.now, holds) {
                let done = self.transact(action.cause.clone(), action.verbs, Some(i))?;
                self.rules.acted(&action, rule, self.now, done);
            }
        }
        Ok(())
    }

    /// Do all of `verbs` or none; says which.
    fn transact(&mut self, cause: String, verbs: &'a [Verb], rule: Option<usize>) -> Result<bool> {
        let mut record = Reconfiguration {
            at_ns: self.now,
            cause,
            verbs: verbs.iter().map(Verb::to_string).collect(),
            from: self.plan.name.clone(),
            to: self.plan.name.clone(),
            kind: "none",
            running: self.census.running,
            ..Reconfiguration::default()
        };
        let refused = match self.possible(verbs) {
            Ok(()) => self.reshape(verbs, rule, &mut record).err(),
            Err(why) => Some(why),
        };
        let done = refused.is_none();
        if let Some(why) = &refused {
            let text =
                format!("at {} {} was refused, and nothing changed: {why}", at(self.now), record.cause);
            self.warn(text);
        } else {
            self.then(verbs)?;
        }
        record.refused = refused;
        self.reconfigurations.push(record);
        Ok(done)
    }

    /// Why CPUs or messages of a transaction cannot be had.
    fn possible(&self, verbs: &[Verb]) -> std::result::Result<(), String> {
        let online: Vec<bool> = self.cpus.iter().map(|c| c.mode != Mode::Offline).collect();
        cpus_after(verbs, &online, |c| self.machine.shape.cpus[c].host.is_none())?;
        for verb in verbs {
            if let Verb::Publish(p) = verb {
                p.admitted().map_err(|e| format!("{}: {}", e.message, e.help))?;
                p.cpu.map_or(Ok(()), |c| known_cpu(c, online.len()))?;
                known_isa(p, self.machine.shape.isas.len())?;
                if let Some(name) = &p.task {
                    self.task_called(name).ok_or_else(|| format!("no task called `{name}` is there now"))?;
                }
            }
        }
        Ok(())
    }

    fn task_called(&self, name: &str) -> Option<u32> {
        let spec = |t: &super::task::Task<'_>| self.workload.tasks[t.spec as usize].name == name;
        self.tasks.iter().position(|t| t.state != State::Gone && spec(t)).map(|i| i as u32)
    }

    /// Let the topology that the verbs ask for take over.
    fn reshape(
        &mut self,
        verbs: &[Verb],
        rule: Option<usize>,
        record: &mut Reconfiguration,
    ) -> std::result::Result<(), String> {
        let Some(control) = self.cfg.control.filter(|_| verbs.iter().any(Verb::reshapes)) else {
            return Ok(());
        };
        let Proposal { plan, diff, .. } = control.composer.compose(verbs, rule)?;
        let withheld = self.plan.on_the_way(|pipe| self.sched.pipe_len(pipe));
        let change = self.plan.only_difference(&plan).map_or(Change::Whole, Change::Instance);
        let changed = match self.take_over(InForce::Made(plan), &change) {
            Ok(changed) => changed,
            Err(e) => {
                control.composer.reject();
                return Err(e.to_string());
            }
        };
        for text in control.composer.accept() {
            self.warn(text);
        }
        record.to = self.plan.name.clone();
        record.kind = if matches!(change, Change::Whole) { "topology" } else { "instance" };
        record.pause_ns = changed.pause_ns;
        record.drained = withheld;
        record.represented = changed.stats.represented;
        record.built = changed.stats.instances_built;
        record.kept = changed.stats.instances_kept;
        record.diff = diff;
        Ok(())
    }

    /// CPUs and messages of a transaction.
    fn then(&mut self, verbs: &'a [Verb]) -> Result<()> {
        for wanted in [false, true] {
            for verb in verbs {
                if let Verb::Cpu { cpu, online } = verb
                    && *online == wanted
                {
                    let event =
                        if *online { MachineEvent::Online(*cpu) } else { MachineEvent::Offline(*cpu) };
                    self.happen(event)?;
                }
            }
        }
        for verb in verbs {
            if let Verb::Publish(p) = verb {
                let task = p.task.as_deref().and_then(|name| self.task_called(name));
                self.publish_for(self.boot_cpu, p, task)?;
            }
        }
        Ok(())
    }

    /// Put `plan` in charge. A CPU that calls the scheduler in the meantime waits.
    fn take_over(
        &mut self,
        plan: InForce<'a>,
        change: &Change,
    ) -> std::result::Result<Changed, weir_core::Error> {
        let stats = match change {
            Change::Whole => self.sched.swap(&plan),
            Change::Instance(i) => {
                let new = &plan.instances[*i as usize];
                self.sched.swap_instance(*i, new.class, &new.params)
            }
        };
        let stats = match stats {
            Ok(stats) => stats,
            Err(e) => {
                self.sched.clear_ops();
                return Err(e);
            }
        };
        self.report_contention();
        self.charger.reset(&plan);
        if let Some(mut paths) = self.paths.take() {
            paths.reset(&plan, &self.own_topics(&plan));
            self.paths = Some(paths);
        }
        let begin = self.now.max(self.cpus[self.boot_cpu as usize].busy_until).max(self.frozen_until);
        let end = self.account(self.boot_cpu, Call::Swap);
        self.frozen_until = self.frozen_until.max(end);
        let pause_ns = end.saturating_sub(begin.min(end));
        let represented = stats.represented;
        self.obs.rewired(&plan);
        self.obs
            .event(self.now, &Event::Swap { from: &self.plan.name, to: &plan.name, pause_ns, represented });
        let now = plan.clone();
        let before = std::mem::replace(&mut self.plan, plan);
        self.ticking = self.plan.listens_to(Topic::Tick) && self.costs.tick_period > 0;
        self.job_wanted = self.plan.listens_to(Topic::Job);
        self.pmu.rewired(&self.plan);
        self.classes_wanted = Wanted::of(&self.plan);
        if let Err(e) = self.publish_again(self.boot_cpu, &before, &now) {
            self.warn(format!("the new topology did not get all messages: {}", e.message));
        }
        self.report_all_depths();
        self.report_places();
        // Idle CPUs look at what the new exits hold.
        for c in 0..self.cpus.len() as CpuNo {
            let cpu = &self.cpus[c as usize];
            if cpu.mode == Mode::Idle && cpu.cur == NONE && !cpu.choosing {
                self.cpus[c as usize].busy_until = end;
                self.cpus[c as usize].choosing = true;
                self.rekey(c);
            }
        }
        Ok(Changed { stats, pause_ns, end })
    }

    fn report_all_depths(&mut self) {
        if !self.cfg.trace_pipes {
            return;
        }
        let nr = self.plan.pipes.len();
        if !self.depths.is_empty() {
            self.depths = vec![0; nr];
        }
        for pipe in 0..nr as u32 {
            let depth = self.sched.pipe_len(pipe);
            if let Some(last) = self.depths.get_mut(pipe as usize) {
                *last = depth;
            }
            self.obs.event(self.now, &Event::PipeDepth { pipe, depth });
        }
    }

    /// Replace the topology by one of the script's.
    pub fn swap(&mut self, plan: &'a Plan) -> Result<()> {
        if plan.exits.len() != self.cpus.len() {
            let text = format!(
                "topology `{}` was compiled for {}, the machine has {}",
                plan.name,
                weir_text::plural(plan.exits.len(), "CPU"),
                self.cpus.len()
            );
            let help = "compile the new topology for the machine that it runs on";
            return Err(weir_model::Error::run(text).help(help).into());
        }
        match self.take_over(InForce::Given(plan), &Change::Whole) {
            Ok(changed) => debug_assert!(changed.end >= self.now),
            Err(e) => self.warn(format!(
                "at {} topology `{}` could not replace `{}`, which stays: {e}",
                at(self.now),
                plan.name,
                self.plan.name
            )),
        }
        Ok(())
    }
}

/// A time as people write it, and exactly: in the largest unit that leaves no fraction.
fn at(ns: u64) -> String {
    let (factor, unit) = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")]
        .into_iter()
        .find(|(factor, _)| ns != 0 && ns.is_multiple_of(*factor))
        .unwrap_or((1, "ns"));
    format!("{} {unit}", ns / factor)
}
