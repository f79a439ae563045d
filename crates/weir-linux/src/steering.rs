// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Carries out a scenario on a running kernel: a thread does here, with the means of the system, what `weir_sim`'s engine
//! does in a simulation. `docs/scenarios.md` lists the differences.
//!
//! The topology of a transaction takes over first, then CPUs go offline, then CPUs come online, then messages are published.
//! If one of these steps is refused, the completed ones are undone.

mod hotplug;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use weir_core::{MachineShape, Plan};
use weir_model::scenario::{Condition, Publication, Rules, Subject, Watch, cpus_after};
use weir_model::{Composer, Proposal, Reconfiguration, Scenario, Verb};

use crate::clock;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::event::{EventSink, LiveEvent, LiveEventKind};
use crate::protocol::{Notify, Number};
use crate::record::Recorder;
use crate::snapshot::SnapshotSource;
use crate::watchdog::favour;
use hotplug::Hotplug;

/// Rules look no oftener: what they look at is read every few milliseconds.
const LEAST_SAMPLE: Duration = Duration::from_millis(1);
/// Interval at which its end is polled.
const LOOK: Duration = Duration::from_millis(50);

/// The rules' view of the run. A sink of events ([`crate::Options::sinks`]).
pub type Ear = Arc<Mutex<Option<Recorder<Watch>>>>;

/// An ear for the rules of `scenario`, if it has any.
pub fn ear(scenario: &Scenario, shape: &MachineShape) -> Option<Ear> {
    if scenario.rules.is_empty() {
        return None;
    }
    let mut recorder = Recorder::soon(Watch::new(scenario, shape.nr_cpus()));
    let t_ns = clock::now_ns();
    for (cpu, _) in (0..).zip(&shape.cpus).filter(|(_, c)| !c.online) {
        recorder.event(&LiveEvent { t_ns, cpu, kind: LiveEventKind::Online { online: false } });
    }
    Some(Arc::new(Mutex::new(Some(recorder))))
}

/// Actions that no kernel supports.
///
/// # Errors
/// A sentence: `verb` asks for it.
pub fn unable(verb: &Verb) -> std::result::Result<(), String> {
    match verb {
        Verb::Load { .. } | Verb::Unload { .. } => {
            Err(format!("`{verb}`: the kernel runs no components that are loaded from a file"))
        }
        _ => Ok(()),
    }
}

/// Conditions that rules cannot wait for: the kernel side reports only messages of standard topics.
///
/// # Errors
/// A sentence: a rule waits for messages of a topic that a component brings along.
pub fn unheard(scenario: &Scenario) -> std::result::Result<(), String> {
    let terms = scenario.rules.iter().flat_map(|r| r.when.terms().map(move |t| (&r.name, t)));
    for (rule, term) in terms {
        if let Some(Subject::Own(own)) = term.topic() {
            return Err(format!("rule `{rule}`: in the kernel, no rule hears messages of {}", own.name));
        }
    }
    Ok(())
}

/// What is to be done, and by whose help.
pub struct Orders {
    pub scenario: Scenario,
    /// Makes the composer of topologies, in the thread that asks.
    pub composer: Box<dyn FnOnce() -> Box<dyn Composer> + Send>,
    pub ear: Option<Ear>,
    /// Called with each transaction when it is over.
    pub on_done: Box<dyn Fn(&Reconfiguration) + Send>,
}

/// A scenario that is being carried out. Dropping it ends that.
pub struct Steering {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<Reconfiguration>>>,
}

impl Steering {
    /// Begin: times are counted from the attachment.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(control: Arc<Control>, orders: Orders) -> Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let flag = over.clone();
        let thread = std::thread::Builder::new()
            .name("weir-scenario".into())
            .spawn(move || {
                favour();
                let Orders { scenario, composer, ear, on_done } = orders;
                let mut helm = Helm::new(&control, composer(), Hotplug::default(), on_done);
                helm.follow(&scenario, ear.as_ref(), &flag);
                helm.put_cpus_back();
                helm.done
            })
            .map_err(|e| Error::io("start a thread", &e, "the system is out of threads"))?;
        Ok(Self { over, thread: Some(thread) })
    }

    /// Begin no further transaction.
    pub fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// What was done, and what was refused, in order of time. Waits for a transaction that is under way, and until CPUs are
    /// back that the scenario had switched off.
    pub fn finish(mut self) -> Vec<Reconfiguration> {
        self.end()
    }

    fn end(&mut self) -> Vec<Reconfiguration> {
        self.stop();
        let Some(thread) = self.thread.take() else { return Vec::new() };
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Steering {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.end();
        }
    }
}

/// The executor of transactions.
struct Helm<'c> {
    control: &'c Control,
    composer: Box<dyn Composer>,
    hotplug: Hotplug,
    on_done: Box<dyn Fn(&Reconfiguration) + Send>,
    /// The topology that the composer takes to be in force.
    known: Rc<Plan>,
    /// CPUs that were switched, and what they were before.
    switched: Vec<(u32, bool)>,
    done: Vec<Reconfiguration>,
}

impl<'c> Helm<'c> {
    fn new(
        control: &'c Control,
        composer: Box<dyn Composer>,
        hotplug: Hotplug,
        on_done: Box<dyn Fn(&Reconfiguration) + Send>,
    ) -> Self {
        let known = Rc::new(control.facts().plan.clone());
        Self { control, composer, hotplug, on_done, known, switched: Vec::new(), done: Vec::new() }
    }

    /// Time since the attachment, ns.
    fn now_ns(&self) -> u64 {
        clock::now_ns().saturating_sub(self.control.facts().attached_ns)
    }

    fn is_over(&self, flag: &AtomicBool) -> bool {
        flag.load(Ordering::Relaxed) || self.control.stop_requested() || self.control.has_left()
    }

    fn follow(&mut self, scenario: &Scenario, ear: Option<&Ear>, over: &AtomicBool) {
        let mut steps = scenario.steps.iter().zip(1u32..).peekable();
        let mut rules = Rules::new(&scenario.rules);
        let sample = Duration::from_nanos(scenario.sample_ns).max(LEAST_SAMPLE);
        while !self.is_over(over) {
            while let Some((step, n)) = steps.next_if(|(s, _)| s.at_ns <= self.now_ns()) {
                self.transact(format!("step {n}"), &step.verbs, None);
            }
            if let Some(ear) = ear {
                self.look(scenario, &mut rules, ear);
            }
            let next = steps.peek().map(|(s, _)| Duration::from_nanos(s.at_ns.saturating_sub(self.now_ns())));
            let pause = ear.map_or(LOOK, |_| sample.min(LOOK));
            std::thread::park_timeout(next.map_or(pause, |next| next.min(pause)));
        }
    }

    /// Look at the rules.
    fn look(&mut self, scenario: &Scenario, rules: &mut Rules, ear: &Ear) {
        let ready = self.control.ready();
        {
            let mut guard = ear.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(recorder) = guard.as_mut() else { return };
            // Up to when everything was reported.
            let recorded_ns = clock::now_ns().saturating_sub(recorder.lag_ns());
            recorder.observer().sample(recorded_ns);
        }
        for (i, rule) in scenario.rules.iter().enumerate() {
            let now_ns = self.now_ns();
            let action = {
                let mut guard = ear.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(recorder) = guard.as_mut() else { return };
                let watch = recorder.observer();
                let holds = |c: &Condition| watch.holds(c, rule.window_ns, ready);
                rules.due(i, rule, now_ns, holds)
            };
            if let Some(action) = action {
                let done = self.transact(action.cause.clone(), action.verbs, Some(i));
                rules.acted(&action, rule, self.now_ns(), done);
            }
        }
    }

    /// Do all of `verbs` or none; says which.
    fn transact(&mut self, cause: String, verbs: &[Verb], rule: Option<usize>) -> bool {
        let name = self.control.facts().plan.name.clone();
        let blank = Reconfiguration {
            at_ns: self.now_ns(),
            cause,
            verbs: verbs.iter().map(Verb::to_string).collect(),
            from: name.clone(),
            to: name,
            kind: "none",
            running: self.control.running(),
            ..Reconfiguration::default()
        };
        let mut record = blank.clone();
        let outcome = self.possible(verbs).and_then(|()| self.carry_out(verbs, rule, &mut record));
        if let Err(why) = outcome {
            record = Reconfiguration { refused: Some(why), ..blank };
        }
        (self.on_done)(&record);
        let done = record.refused.is_none();
        self.done.push(record);
        done
    }

    /// Why something of a transaction cannot be had, as far as that is known before.
    fn possible(&self, verbs: &[Verb]) -> std::result::Result<(), String> {
        let online: Vec<bool> = (0..self.control.nr_cpus()).map(|c| self.hotplug.is_online(c)).collect();
        cpus_after(verbs, &online, |_| true)?;
        for verb in verbs {
            match verb {
                Verb::Cpu { cpu, online: wanted } if online[*cpu as usize] != *wanted => {
                    self.hotplug.obstacle(*cpu).map_or(Ok(()), Err)?;
                }
                Verb::Publish(p) => {
                    self.control.message(&self.message(p)?).map_err(sentence)?;
                }
                _ => unable(verb)?,
            }
        }
        let first = verbs.iter().find(|v| v.reshapes());
        let changes_what_is_there = first.is_some_and(|v| !matches!(v, Verb::Swap { .. } | Verb::Undo));
        let now = self.control.facts();
        if changes_what_is_there && now.plan != *self.known {
            return Err(format!(
                "`runweir switch` has since loaded `{}`: only `swap`, which names the next topology, can follow",
                now.plan.name
            ));
        }
        Ok(())
    }

    fn message(&self, p: &Publication) -> std::result::Result<Notify, String> {
        let Publication { topic, value, cpu, ref task, ref fields } = *p;
        let thread = |name: &String| {
            let found = self.control.snapshot().tasks.into_iter().find(|t| t.comm == *name);
            found.map(|t| t.pid).ok_or_else(|| format!("no thread called `{name}` is there now"))
        };
        let value = Number::Unsigned(value.unwrap_or(0));
        let task = task.as_ref().map(thread).transpose()?;
        let fields = fields.iter().map(|(name, value)| (name.clone(), Number::Unsigned(*value))).collect();
        Ok(Notify { topic: topic.name().into(), value, value2: Number::default(), cpu, task, fields })
    }

    fn carry_out(
        &mut self,
        verbs: &[Verb],
        rule: Option<usize>,
        record: &mut Reconfiguration,
    ) -> std::result::Result<(), String> {
        let reshaped = match verbs.iter().any(Verb::reshapes) {
            true => {
                let before = {
                    let facts = self.control.facts();
                    (facts.plan.clone(), facts.source.clone())
                };
                Some((self.reshape(verbs, rule, record)?, before))
            }
            false => None,
        };
        let mark = self.switched.len();
        if let Err(why) = self.move_cpus(verbs).and_then(|()| self.publish(verbs)) {
            let back = self.switched.split_off(mark);
            let mut left: Vec<String> =
                back.iter().rev().filter_map(|(cpu, online)| self.hotplug.set(*cpu, *online).err()).collect();
            if let Some((plan, (before, source))) = reshaped {
                match self.control.change(before, source) {
                    Ok(_) => self.composer.reject(),
                    Err(e) => {
                        left.push(sentence(e));
                        self.accept(plan);
                    }
                }
            }
            left.insert(0, why);
            return Err(left.join("; "));
        }
        if let Some((plan, _)) = reshaped {
            self.accept(plan);
        }
        Ok(())
    }

    /// The composer's proposal is in force.
    fn accept(&mut self, plan: Rc<Plan>) {
        // Its remarks are about components that were loaded, which there are none of.
        self.composer.accept();
        self.known = plan;
    }

    /// Let the topology that the verbs ask for take over.
    fn reshape(
        &mut self,
        verbs: &[Verb],
        rule: Option<usize>,
        record: &mut Reconfiguration,
    ) -> std::result::Result<Rc<Plan>, String> {
        let Proposal { plan, source, diff } = self.composer.compose(verbs, rule)?;
        record.drained = self.control.drained();
        let (report, in_place) = self.control.change((*plan).clone(), source).map_err(|e| {
            self.composer.reject();
            sentence(e)
        })?;
        record.from = report.from;
        record.to = report.to;
        record.kind = if in_place { "instance" } else { "topology" };
        record.pause_ns = report.pause_ns;
        record.represented = report.represented;
        (record.built, record.kept) = (report.built, report.kept);
        record.diff = diff;
        Ok(plan)
    }

    /// CPUs leave, then CPUs arrive.
    fn move_cpus(&mut self, verbs: &[Verb]) -> std::result::Result<(), String> {
        for wanted in [false, true] {
            for verb in verbs {
                if let Verb::Cpu { cpu, online } = *verb
                    && online == wanted
                    && self.hotplug.is_online(cpu) != online
                {
                    self.hotplug.set(cpu, online)?;
                    self.switched.push((cpu, !online));
                }
            }
        }
        Ok(())
    }

    fn publish(&self, verbs: &[Verb]) -> std::result::Result<(), String> {
        for verb in verbs {
            if let Verb::Publish(p) = verb {
                self.control.notify(&self.message(p)?).map_err(sentence)?;
            }
        }
        Ok(())
    }

    /// CPUs that the scenario has switched are as they were before it, as far as the kernel lets them.
    fn put_cpus_back(&mut self) {
        let mut first = BTreeMap::new();
        for (cpu, online) in std::mem::take(&mut self.switched) {
            first.entry(cpu).or_insert(online);
        }
        for (cpu, online) in first {
            // Nobody is left to on_done, and the next one may work.
            let _ = self.hotplug.set(cpu, online);
        }
    }
}

/// An error in one line.
fn sentence(e: Error) -> String {
    let found: Vec<String> = e.findings.iter().filter(|f| f.error).map(|f| f.message.clone()).collect();
    let what = if found.is_empty() { e.message } else { found.join("; ") };
    format!("{what} ({})", e.help)
}

impl Control {
    /// The kernel has detached or ejected the scheduler.
    fn has_left(&self) -> bool {
        self.view.shared.exit_kind() != 0
    }

    /// Tasks that wait in the graph.
    fn ready(&self) -> u32 {
        let sum = self.cpus().fold(0u64, |sum, c| {
            sum.wrapping_add(c.enqueues).wrapping_sub(c.dispatches).wrapping_sub(c.dequeues)
        });
        // CPUs are read one after the other.
        i64::from_ne_bytes(sum.to_ne_bytes()).clamp(0, u32::MAX.into()) as u32
    }

    /// CPUs with a task of ours.
    fn running(&self) -> u32 {
        self.cpus().filter(|c| c.curr_pid != 0).count() as u32
    }

    /// Tasks in the graph that are at no exit yet.
    fn drained(&self) -> u32 {
        let depths = self.sample().depths;
        self.facts().plan.on_the_way(|pipe| depths.get(pipe as usize).copied().unwrap_or(0))
    }

    fn cpus(&self) -> impl Iterator<Item = crate::layout::LiveCpu> + '_ {
        (0..self.nr_cpus()).filter_map(|c| self.view.shared.cpu(c))
    }
}
