// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Gangs in the live kernel: manifests are admitted while programs run, threads become members, phases change.
//!
//! The service is the C of `runtimes/multikernel/`, as in the simulator. The loader carries its messages: rows and memberships are
//! messages to the graph, which has its own timer on each CPU. All CPUs read CLOCK_MONOTONIC, which the kernel keeps equal, so
//! clocks need no synchronisation, and slots begin and end without messages.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use weir_core::gang::{Change, Controller, Manifest, PhaseMessage, Planner, Row, Submit, row_fields};
use weir_core::{CpuSet, Topic};

use crate::clock;
use crate::control::Control;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::NONE;
use crate::watchdog::favour;

mod members;

use members::{Joined, Member, Processes};

/// Time between two looks for members; none while there are no gangs.
const LOOK: Duration = Duration::from_millis(25);
/// Likewise how long it takes until the end is seen.
const END: Duration = Duration::from_millis(200);
/// Assumed duration of a request to the kernel side until one was measured, ns.
const FIRST_REQUEST_NS: u64 = 1_000_000;
/// Slots never begin sooner after a request, ns.
const LEAST_LEAD_NS: u64 = 5_000_000;

/// A gang that is to be admitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GangWish {
    /// The manifest's text.
    pub manifest: String,
    /// Its name, where the manifest has none.
    #[serde(default)]
    pub name: Option<String>,
    /// If it does not fit, cut all gangs in equal proportion instead of refusing it.
    #[serde(default)]
    pub cut: bool,
}

/// Threads that are to belong to a gang.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinWish {
    pub gang: String,
    /// All threads of this process, and of processes that it starts.
    #[serde(default)]
    pub process: Option<u32>,
    /// Only processes that the process starts.
    #[serde(default)]
    pub children: bool,
    /// This thread alone.
    #[serde(default)]
    pub thread: Option<u32>,
    /// All threads of the processes of a control group, a path below /sys/fs/cgroup.
    #[serde(default)]
    pub cgroup: Option<String>,
}

/// A phase that is to begin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseWish {
    pub gang: String,
    pub phase: u32,
}

/// A gang that is meant by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GangName {
    pub gang: String,
}

/// The result of a change of phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseChanged {
    pub gang: String,
    pub phase: u32,
    /// CPUs of the gang.
    pub cpus: u32,
    /// Messages between planners.
    pub messages: u32,
    /// CLOCK_MONOTONIC time of the first slot; none where the phase is best effort.
    pub first_slot_ns: Option<u64>,
    /// From the request until every CPU had its row, ns.
    pub took_ns: u64,
}

/// A gang as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GangView {
    pub name: String,
    /// CPUs of its members, one for each thread.
    pub cpus: Vec<u32>,
    /// CPUs on which it has slots, too, so that nobody shares a core with a member (`cores whole`, `cores one`).
    #[serde(default)]
    pub kept: Vec<u32>,
    /// In its slots, only members run on these CPUs.
    #[serde(default)]
    pub alone: bool,
    /// The remaining part of the declared execution times, in 1000ths.
    pub scale: u32,
    /// Between slots, members wait.
    pub waits: bool,
    pub phase: u32,
    pub nr_phases: u32,
    /// Slots begin at all CLOCK_MONOTONIC times that are this modulo the period.
    pub offset_ns: u64,
    /// 0: the phase is best effort.
    pub length_ns: u64,
    pub period_ns: u64,
    /// No slot of the phase begins before.
    pub from_ns: u64,
    /// Slots that have ended on each CPU since the phase began.
    pub slots_ended: u64,
    /// Threads that belong to it, with the CPU of their slots; none: it is not bound to one of the gang's.
    pub members: Vec<(u32, Option<u32>)>,
    pub phase_changes: u64,
    /// Messages between planners, in all.
    pub messages: u64,
    /// Messages to the graph, in all: rows and memberships. None are sent per slot.
    pub published: u64,
    /// Changes of phase that reached some CPU only after the first slot had begun.
    pub late: u64,
}

/// Data about a gang.
struct Gang {
    name: String,
    manifest: Manifest,
    /// Of members.
    cpus: Vec<u32>,
    /// With slots.
    rows: Vec<u32>,
    scale: u32,
    version: u64,
    phase: u32,
    row: Row,
    from_ns: u64,
    joined: Joined,
    members: BTreeMap<u32, Member>,
    phase_changes: u64,
    messages: u64,
    published: u64,
    late: u64,
}

/// The service and what it knows.
struct State {
    controller: Controller,
    /// By CPU.
    planners: Vec<Planner>,
    /// By the controller's number.
    gangs: BTreeMap<u32, Gang>,
    processes: Processes,
    /// Topologies that came before the present one: those that have come since know nothing yet.
    swaps: u64,
    /// The duration of a request to the kernel side, ns.
    request_ns: u64,
}

/// Shared by the threads of the loader.
#[derive(Default)]
pub(crate) struct Gangs {
    state: Mutex<Option<State>>,
    news: Condvar,
}

/// The present slots of a gang from `from_ns` on that have ended at `now_ns`.
fn ended(row: &Row, from_ns: u64, now_ns: u64) -> u64 {
    let Some(first) = row.next(from_ns) else { return 0 };
    let since = now_ns.saturating_sub(first);
    if since < row.length_ns { 0 } else { (since - row.length_ns) / row.period_ns + 1 }
}

fn wrong(message: impl Into<String>, help: impl Into<String>) -> Error {
    Error::new(ErrorKind::Input, message, help)
}

impl State {
    fn new(nr_cpus: u32, swaps: u64) -> Result<Self> {
        let controller = Controller::new(nr_cpus).ok_or_else(|| {
            wrong(
                format!("gangs on {nr_cpus} CPUs"),
                format!("gangs are placed on machines of up to {} CPUs", weir_core::gang::MAX_CPUS),
            )
        })?;
        Ok(Self {
            controller,
            planners: (0..nr_cpus).map(Planner::new).collect(),
            gangs: BTreeMap::new(),
            processes: Processes::default(),
            swaps,
            request_ns: FIRST_REQUEST_NS,
        })
    }

    fn number(&self, name: &str) -> Result<u32> {
        self.gangs.iter().find(|(_, g)| g.name == name).map(|(n, _)| *n).ok_or_else(|| {
            let names: Vec<&str> = self.gangs.values().map(|g| g.name.as_str()).collect();
            let help = match names.as_slice() {
                [] => "admit it first: runweir gang NAME --manifest FILE -- COMMAND".to_string(),
                _ => format!("there are: {}", names.join(", ")),
            };
            wrong(format!("there is no gang `{}`", name.escape_debug()), help)
        })
    }

    /// A time at which rows can be on all of `nr` CPUs.
    fn lead_ns(&self, nr: usize) -> u64 {
        LEAST_LEAD_NS + self.request_ns.saturating_mul(6 * nr as u64).min(1_000_000_000)
    }

    /// A message to the graph.
    fn post(&mut self, control: &Control, number: u32, send: impl FnOnce() -> Result<()>) -> Result<()> {
        if !control.has_slots() {
            return Ok(());
        }
        let began = Instant::now();
        send()?;
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        // A mean over the last ones, so that one slow request does not put off the next phase for long.
        self.request_ns = (self.request_ns * 7 + took.min(100_000_000)) / 8;
        if let Some(g) = self.gangs.get_mut(&number) {
            g.published += 1;
        }
        Ok(())
    }

    /// A planner hands a row to the scheduler of its CPU.
    fn hand_on(&mut self, control: &Control, cpu: u32, submit: &Submit) -> Result<()> {
        let Submit { gang, row, from_ns, .. } = *submit;
        let Some(g) = self.gangs.get_mut(&gang) else { return Ok(()) };
        (g.row, g.from_ns) = (row, from_ns);
        for (field, value2) in row_fields(&row, from_ns, g.manifest.alone()) {
            let value = (u64::from(gang) + 1) | field << 32;
            self.post(control, gang, || {
                control.post_gang(Topic::GangSlot, NONE, cpu, [value, value2], None)
            })?;
        }
        Ok(())
    }

    /// Replicate what the controller has of all gangs whose rows are new.
    fn replicate(&mut self, control: &Control) -> Result<()> {
        let stale: Vec<u32> = self
            .gangs
            .iter()
            .filter(|(n, g)| self.controller.gang(**n).is_some_and(|c| c.version != g.version))
            .map(|(n, _)| *n)
            .collect();
        let nr: usize = stale.iter().map(|n| self.gangs[n].rows.len()).sum();
        let at_ns = clock::now_ns() + self.lead_ns(nr);
        for number in stale {
            let Some(now) = self.controller.gang(number) else { continue };
            let Some(g) = self.gangs.get_mut(&number) else { continue };
            (g.scale, g.version) = (now.scale, now.version);
            for cpu in g.rows.clone() {
                let planner = &mut self.planners[cpu as usize];
                if let Some(submit) = planner.replicate(&self.controller, number, at_ns) {
                    self.hand_on(control, cpu, &submit)?;
                }
            }
        }
        Ok(())
    }

    fn admit(&mut self, control: &Control, wish: &GangWish) -> Result<u32> {
        let mut manifest = Manifest::parse(&wish.manifest).map_err(|f| {
            wrong(format!("line {}, column {} of the manifest: {}", f.line, f.column, f.what), f.remedy)
        })?;
        if manifest.name().is_empty() {
            manifest.set_name(wish.name.as_deref().unwrap_or("gang"));
        }
        let limit = control.patience_ns();
        for (i, phase) in manifest.phases().iter().enumerate() {
            if let weir_core::gang::Phase::Hard { wcet_ns, .. } = *phase
                && manifest.alone()
                && wcet_ns >= limit / 2
            {
                return Err(wrong(
                    format!(
                        "phase {i}: with whole cores, other tasks wait {} ms for the end of a slot, and a task that waits {} ms ends \
                         the scheduler",
                        wcet_ns / 1_000_000,
                        limit / 1_000_000
                    ),
                    "shorten the slots, write `cores shared`, or attach with a longer --watchdog",
                ));
            }
            if let weir_core::gang::Phase::Hard { wcet_ns, period_ns, .. } = *phase
                && manifest.waits()
                && period_ns - wcet_ns >= limit / 2
            {
                return Err(wrong(
                    format!(
                        "phase {i}: with `outside wait` members wait {} ms between slots, and a task that waits {} ms ends \
                         the scheduler",
                        (period_ns - wcet_ns) / 1_000_000,
                        limit / 1_000_000
                    ),
                    "shorten the period, write `outside run`, or attach with a longer --watchdog",
                ));
            }
        }
        for (cpu, online) in (0..).zip(control.online()) {
            self.controller.set_core(cpu, control.core_of(cpu));
            self.controller.set_cpu(cpu, online, 0);
        }
        let name = manifest.name().to_string();
        let number = self
            .controller
            .admit(&manifest, clock::now_ns(), wish.cut)
            .map_err(|why| wrong(format!("gang `{name}` is not admitted: {}", why.text()), why.remedy))?;
        let gang = self.controller.gang(number).ok_or_else(|| Error::bug("an admitted gang is gone"))?;
        let cpus = (0..gang.threads).filter_map(|nth| self.controller.member_cpu(number, nth)).collect();
        let joined = Joined::of(&manifest);
        let kept = Gang {
            name,
            manifest,
            cpus,
            rows: gang.cpus.iter().collect(),
            scale: gang.scale,
            // Not the present one: its rows are still to be replicated.
            version: u64::MAX,
            phase: 0,
            row: Row::default(),
            from_ns: 0,
            joined,
            members: BTreeMap::new(),
            phase_changes: 0,
            messages: 0,
            published: 0,
            late: 0,
        };
        self.gangs.insert(number, kept);
        self.processes.forget();
        self.replicate(control)?;
        Ok(number)
    }

    fn change(&mut self, control: &Control, number: u32, phase: u32) -> Result<PhaseChanged> {
        let began = clock::now_ns();
        let gang = &self.gangs[&number];
        let (name, cpus) = (gang.name.clone(), gang.rows.clone());
        let nr_phases = gang.manifest.phases().len() as u32;
        if phase >= nr_phases {
            return Err(wrong(
                format!("gang `{name}` has no phase {phase}"),
                format!("its manifest has the phases 0 to {}", nr_phases - 1),
            ));
        }
        let coordinator = cpus[0] as usize;
        let at_ns = began + self.lead_ns(cpus.len());
        let (msg, submit, _) = self.planners[coordinator]
            .change(number, Change::Phase(phase), at_ns)
            .map_err(|e| Error::bug(format!("gang `{name}`: {e}")))?;
        self.hand_on(control, cpus[0], &submit)?;
        let mut messages = 0;
        for cpu in &cpus[1..] {
            messages += self.exchange(control, coordinator, *cpu, &msg)?;
        }
        let now = clock::now_ns();
        let first_slot_ns = submit.row.next(submit.from_ns);
        if let Some(g) = self.gangs.get_mut(&number) {
            g.phase = phase;
            g.phase_changes += 1;
            g.messages += u64::from(messages);
            g.late += u64::from(first_slot_ns.is_some_and(|first| first <= now));
        }
        let took_ns = now - began;
        Ok(PhaseChanged { gang: name, phase, cpus: cpus.len() as u32, messages, first_slot_ns, took_ns })
    }

    /// The coordinator's message to a peer, and the peer's reply: how many messages that was.
    fn exchange(
        &mut self,
        control: &Control,
        coordinator: usize,
        peer: u32,
        msg: &PhaseMessage,
    ) -> Result<u32> {
        let (submit, reply) = self.planners[peer as usize].receive(msg);
        if let Some(submit) = submit {
            self.hand_on(control, peer, &submit)?;
        }
        self.planners[coordinator].reply(&reply);
        Ok(2)
    }

    /// It leaves: its members are ordinary tasks, and others get back what was cut.
    fn leave(&mut self, control: &Control, number: u32) -> Result<()> {
        let now = clock::now_ns();
        let Some(gang) = self.gangs.get(&number) else { return Ok(()) };
        let (cpus, members): (_, Vec<Member>) = (gang.rows.clone(), gang.members.values().cloned().collect());
        for m in &members {
            // A thread may be gone.
            let _ = self.expel(control, number, m);
        }
        for cpu in cpus {
            if let Some(submit) = self.planners[cpu as usize].forget(number, now) {
                self.hand_on(control, cpu, &Submit { row: Row::default(), ..submit })?;
            }
        }
        self.controller.leave(number);
        self.gangs.remove(&number);
        self.processes.forget();
        self.replicate(control)
    }

    fn view(&self, number: u32) -> GangView {
        let g = &self.gangs[&number];
        GangView {
            name: g.name.clone(),
            cpus: g.cpus.clone(),
            kept: g.rows.iter().copied().filter(|c| !g.cpus.contains(c)).collect(),
            alone: g.manifest.alone(),
            scale: g.scale,
            waits: g.manifest.waits(),
            phase: g.phase,
            nr_phases: g.manifest.phases().len() as u32,
            offset_ns: g.row.offset_ns,
            length_ns: g.row.length_ns,
            period_ns: g.row.period_ns,
            from_ns: g.from_ns,
            slots_ended: ended(&g.row, g.from_ns, clock::now_ns()),
            members: g.members.values().map(|m| (m.tid, m.cpu)).collect(),
            phase_changes: g.phase_changes,
            messages: g.messages,
            published: g.published,
            late: g.late,
        }
    }

    /// A new topology has taken over: send it all rows. The next check reports members again.
    fn post_all(&mut self, control: &Control) -> Result<()> {
        for number in self.gangs.keys().copied().collect::<Vec<_>>() {
            let Some(g) = self.gangs.get_mut(&number) else { continue };
            g.members.clear();
            let (row, from_ns) = (g.row, g.from_ns);
            for cpu in g.rows.clone() {
                self.hand_on(control, cpu, &Submit { gang: number, priority: 0, from_ns, row })?;
            }
        }
        Ok(())
    }

    /// Look which threads have come or gone, and what has changed.
    fn look(&mut self, control: &Control) -> Result<()> {
        let swaps = control.swaps();
        if swaps != self.swaps {
            self.post_all(control)?;
            self.swaps = swaps;
        }
        self.look_at_members(control)
    }
}

impl Gangs {
    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Have the service do something.
    fn with<T>(&self, control: &Control, what: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        if !control.has_slots() {
            return Err(wrong(
                format!("topology `{}` has no slots for gangs", control.topology()),
                "runweir switch gang; or begin with it: runweir live gang",
            ));
        }
        let mut guard = self.lock();
        if guard.is_none() {
            *guard = Some(State::new(control.nr_cpus(), control.swaps())?);
        }
        let Some(state) = guard.as_mut() else { return Err(Error::bug("no service of gangs")) };
        let done = what(state);
        self.news.notify_all();
        done
    }

    /// Admit a program.
    pub fn admit(&self, control: &Control, wish: &GangWish) -> Result<GangView> {
        self.with(control, |s| {
            let number = s.admit(control, wish)?;
            s.look(control)?;
            Ok(s.view(number))
        })
    }

    /// Threads become members.
    pub fn join(&self, control: &Control, wish: &JoinWish) -> Result<GangView> {
        self.with(control, |s| {
            let number = s.number(&wish.gang)?;
            let Some(gang) = s.gangs.get_mut(&number) else { return Err(Error::bug("a gang is gone")) };
            gang.joined.add(wish)?;
            s.processes.forget();
            s.look(control)?;
            Ok(s.view(number))
        })
    }

    /// A phase begins.
    pub fn phase(&self, control: &Control, wish: &PhaseWish) -> Result<PhaseChanged> {
        self.with(control, |s| {
            let number = s.number(&wish.gang)?;
            s.change(control, number, wish.phase)
        })
    }

    /// A gang leaves: what it was.
    pub fn leave(&self, control: &Control, name: &str) -> Result<GangView> {
        self.with(control, |s| {
            let number = s.number(name)?;
            let last = s.view(number);
            s.leave(control, number)?;
            Ok(last)
        })
    }

    /// All gangs, as they are.
    pub fn views(&self) -> Vec<GangView> {
        self.lock().as_ref().map_or(Vec::new(), |s| s.gangs.keys().map(|n| s.view(*n)).collect())
    }

    /// One turn of the thread that looks.
    fn turn(&self, control: &Control) {
        let guard = self.lock();
        let idle = guard.as_ref().is_none_or(|s| s.gangs.is_empty());
        let wait = if idle { END } else { LOOK };
        let woken = self.news.wait_timeout(guard, wait).unwrap_or_else(PoisonError::into_inner);
        let mut guard = woken.0;
        if let Some(state) = guard.as_mut().filter(|s| !s.gangs.is_empty()) {
            // The kernel side may be busy with something else: the next look does it.
            let _ = state.look(control);
        }
    }
}

/// Looks for members until it is dropped.
pub(crate) struct Looking {
    control: Arc<Control>,
    over: Arc<std::sync::atomic::AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Looking {
    pub fn start(control: Arc<Control>) -> Result<Self> {
        use std::sync::atomic::{AtomicBool, Ordering};
        let over = Arc::new(AtomicBool::new(false));
        let (flag, looked) = (over.clone(), control.clone());
        let thread = std::thread::Builder::new()
            .name("weir-gangs".into())
            .spawn(move || {
                favour();
                while !flag.load(Ordering::Relaxed) && looked.view.shared.exit_kind() == 0 {
                    looked.gangs.turn(&looked);
                }
            })
            .map_err(|e| Error::io("start a thread", &e, "the system is out of threads"))?;
        Ok(Self { control, over, thread: Some(thread) })
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        self.over.store(true, std::sync::atomic::Ordering::Relaxed);
        self.control.gangs.news.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One CPU alone.
fn only(cpu: u32) -> CpuSet {
    [cpu].into_iter().collect()
}

#[cfg(test)]
mod tests;
