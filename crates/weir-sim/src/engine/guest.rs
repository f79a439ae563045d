// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Simulations within the simulation: a task that is a CPU of a guest runs what the guest's own scheduler chooses.
//!
//! A guest is a whole simulation, with its own event clock, scheduler and tasks. Its CPUs are *held* while the host does
//! not run the corresponding tasks: their work stops, and so do their decisions. Time is the host's: a guest's event
//! occurs when the host's clock reaches it, before the host's decisions of that instant. Only the following crosses the
//! boundary: the host enters and leaves a virtual CPU, a virtual CPU has work or none, and, if the workload says so,
//! priorities and the set of CPUs.

use std::cell::RefCell;

use weir_core::Plan;
use weir_core::event::{CpuNo, Event, Observer, Stop, TaskNo};

use super::Result;
use super::cpu::{FULL_SPEED, Mode};
use super::gang::Placed;
use super::interpret::Next;
use super::queue::{Key, Kind, Phase};
use super::sim::Sim;
use super::task::{NEVER, NONE, State, Wait};
use super::{GuestOutcome, RunConfig};
use weir_model::workload::{GuestSpec, Inform, Op};
use weir_model::{Costs, Error, Machine, Workload};

/// The inputs for which a guest's topology was compiled, and the result.
#[derive(Clone, Debug)]
pub struct Inside {
    pub machine: Machine,
    pub plan: Plan,
}

impl Inside {
    /// The machine that a guest sees: equal CPUs that share everything. The host pays for the energy.
    pub fn machine(guest: &GuestSpec) -> Machine {
        let mut machine = Machine::smp(guest.vcpus.len() as u32);
        machine.shape.name.clone_from(&guest.name);
        for kind in &mut machine.kinds {
            kind.idle_mw = 0;
            kind.points.iter_mut().for_each(|p| p.busy_mw = 0);
        }
        machine
    }
}

/// A host's data about a guest.
pub struct Guest<'a> {
    pub spec: &'a GuestSpec,
    pub sim: Box<Sim<'a>>,
    /// The task that is each virtual CPU, [`NONE`] before its first run, and the priority that it was last given.
    tasks: Vec<TaskNo>,
    priorities: Vec<Option<i32>>,
    /// All of its tasks have ended, or none can continue.
    pub over: bool,
    /// The CPU of the guest whose event it is.
    actor: CpuNo,
    enters: u64,
}

/// A guest's data about its role as a guest.
pub struct Within {
    inform: Inform,
    /// CPUs whose state has changed since the host looked.
    touched: Vec<CpuNo>,
    /// How urgent the task is that began to run on a CPU; or, with `false`, that waits for it.
    urgent: Vec<(CpuNo, i32, bool)>,
    /// By CPU: timers that came while it was held.
    deferred: Vec<Vec<Key>>,
    /// By CPU: the guest knows that the host has taken it away.
    taken: Vec<bool>,
    /// Speed of each CPU where the host is fastest.
    own_speed: Vec<u64>,
    horizon: u64,
}

/// Reports of a guest to the observer of the whole run.
pub struct InGuest<'c, 'a> {
    all: &'c RefCell<&'a mut (dyn Observer + 'a)>,
    /// Number of the guest; `None` is the host.
    guest: Option<u32>,
}

impl Observer for InGuest<'_, '_> {
    fn event(&mut self, t_ns: u64, event: &Event<'_>) {
        match self.guest {
            None => self.all.borrow_mut().event(t_ns, event),
            Some(guest) => self.all.borrow_mut().event(t_ns, &Event::Guest { guest, event }),
        }
    }

    fn rewired(&mut self, plan: &Plan) {
        match self.guest {
            None => self.all.borrow_mut().rewired(plan),
            Some(guest) => self.all.borrow_mut().guest_rewired(guest, plan),
        }
    }
}

/// All that a simulation of a guest is built of.
struct Parts<'a> {
    parent: Option<u32>,
    spec: &'a GuestSpec,
    inside: &'a Inside,
    costs: &'a Costs,
    cfg: &'a RunConfig<'a>,
    placed: &'a Placed,
    obs: &'a mut (dyn Observer + 'a),
}

/// The guests of a workload were compiled, and what they are made of fits.
fn fits(workload: &Workload, inside: &[Inside]) -> Result<()> {
    let all = workload.all_guests();
    if let (Some((_, first)), true) = (all.first(), inside.is_empty()) {
        return Err(Error::run(format!(
            "the workload has guests (`{}`), which this command does not simulate",
            first.name
        ))
        .help("use `runweir run`, `compare` or `sweep`, or take the guests out")
        .into());
    }
    if all.len() != inside.len() {
        let text = format!(
            "the workload has {}, and the number of topologies that were compiled for them is {}",
            weir_text::plural(all.len(), "guest"),
            inside.len()
        );
        return Err(Error::run(text)
            .help("compile the topology of each guest for the machine that it sees")
            .into());
    }
    for (_, guest) in all {
        let w = &guest.workload;
        let lacks = [("machine events", !w.machine_events.is_empty()), ("a scenario", w.scenario.is_some())];
        if let Some((what, _)) = lacks.iter().find(|l| l.1) {
            return Err(Error::run(format!("the guest `{}` has {what}", guest.name))
                .help("take them out: these are for the host")
                .into());
        }
    }
    Ok(())
}

/// The settings of a guest's simulation: its random numbers are its own, and the host ends it.
fn settings<'a>(cfg: &RunConfig<'a>, number: u32) -> RunConfig<'a> {
    RunConfig {
        seed: cfg.seed.wrapping_add(u64::from(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        // The host ends it, so it may be endless.
        duration_ns: Some(NEVER),
        checks: cfg.checks,
        trace_pipes: cfg.trace_pipes,
        causes: cfg.causes,
        ..RunConfig::default()
    }
}

/// Inputs of guests, which must outlive their simulations.
pub struct Ground<'a> {
    placed: Vec<Placed>,
    cfgs: Vec<RunConfig<'a>>,
    free: Costs,
}

impl<'a> Ground<'a> {
    /// # Errors
    /// The guests do not match the topologies compiled for them.
    pub fn new(workload: &Workload, cfg: &RunConfig<'a>) -> Result<Self> {
        fits(workload, cfg.inside)?;
        let all = workload.all_guests();
        let placed = |((_, g), inside): (&(Option<u32>, &GuestSpec), &Inside)| {
            Placed::new(&inside.machine, &inside.plan, &g.workload)
        };
        Ok(Self {
            placed: all.iter().zip(cfg.inside).map(placed).collect::<Result<_>>()?,
            cfgs: (0..all.len() as u32).map(|i| settings(cfg, i)).collect(),
            free: Costs::zero(),
        })
    }
}

/// The way of all reports to one observer.
pub struct Reports<'c, 'o> {
    pub host: InGuest<'c, 'o>,
    guests: Vec<InGuest<'c, 'o>>,
}

impl<'c, 'o> Reports<'c, 'o> {
    pub fn new(all: &'c RefCell<&'o mut (dyn Observer + 'o)>, guests: usize) -> Self {
        let of = |guest| InGuest { all, guest };
        Self { host: of(None), guests: (0..guests as u32).map(|g| of(Some(g))).collect() }
    }

    /// One way for the host, and those of the guests.
    pub fn split(&mut self) -> (&mut InGuest<'c, 'o>, &mut [InGuest<'c, 'o>]) {
        (&mut self.host, &mut self.guests)
    }
}

/// Build the simulations of all guests, and give them to their hosts.
pub fn settle<'a, 'c: 'a, 'o: 'c>(
    host: &mut Sim<'a>,
    workload: &'a Workload,
    costs: &'a Costs,
    inside: &'a [Inside],
    ground: &'a Ground<'a>,
    reports: &'a mut [InGuest<'c, 'o>],
) -> Result<()> {
    let all = workload.all_guests();
    let mut parts: Vec<Option<Parts<'a>>> = Vec::with_capacity(all.len());
    for (i, ((parent, spec), obs)) in all.into_iter().zip(reports).enumerate() {
        parts.push(Some(Parts {
            parent,
            spec,
            inside: &inside[i],
            costs: if spec.free { &ground.free } else { costs },
            cfg: &ground.cfgs[i],
            placed: &ground.placed[i],
            obs,
        }));
    }
    adopt_all(host, None, &mut parts)
}

/// What went wrong in a guest.
fn inside(guest: &str, mut e: Box<Error>) -> Box<Error> {
    e.message = format!("in the guest `{guest}`: {}", e.message);
    e
}

fn adopt_all<'a>(host: &mut Sim<'a>, parent: Option<u32>, parts: &mut [Option<Parts<'a>>]) -> Result<()> {
    for i in 0..parts.len() {
        if parts[i].as_ref().is_none_or(|p| p.parent != parent) {
            continue;
        }
        let p = parts[i].take().expect("it was just there");
        let named = |e| inside(&p.spec.name, e);
        let machine = &p.inside.machine;
        let mut sim =
            Sim::new(machine, &p.inside.plan, &p.spec.workload, p.costs, p.cfg, None, p.placed, p.obs)
                .map_err(named)?;
        sim.become_guest(p.spec);
        adopt_all(&mut sim, Some(i as u32), parts)?;
        let n = p.spec.vcpus.len();
        host.nested = true;
        host.guests.push(Guest {
            spec: p.spec,
            sim: Box::new(sim),
            tasks: vec![NONE; n],
            priorities: vec![None; n],
            over: false,
            actor: NONE,
            enters: 0,
        });
    }
    Ok(())
}

/// The side of the host.
impl<'a> Sim<'a> {
    /// The guest whose next event is first, and that event.
    pub fn first_guest(&mut self) -> Option<(usize, Key)> {
        let mut first: Option<(usize, Key)> = None;
        for (i, guest) in self.guests.iter_mut().enumerate().filter(|(_, g)| !g.over) {
            let key = guest.sim.next_key();
            if key != Key::NEVER && first.is_none_or(|f| key.time() < f.1.time()) {
                first = Some((i, key));
            }
        }
        first
    }

    /// The next event, of whatever kind.
    fn next_key(&mut self) -> Key {
        let (own, _) = self.first_own();
        match self.first_guest() {
            Some((_, key)) if goes_first(key, own) => key,
            _ => own,
        }
    }

    /// Tasks that can still make something happen, here and in guests.
    pub fn movers(&self) -> u32 {
        let inside = self.guests.iter().filter(|g| !g.over).map(|g| g.sim.movers());
        self.census.movers() + inside.sum::<u32>()
    }

    /// Guest `g` has an event now.
    pub fn guest_event(&mut self, g: usize) -> Result<()> {
        let guest = &mut self.guests[g];
        let key = guest.sim.next_key();
        guest.actor = if key.kind() == Kind::Cpu { key.index() } else { NONE };
        let sim = &mut guest.sim;
        let turn = sim.turn(key);
        turn.map_err(|e| inside(&guest.spec.name, e))?;
        if guest.sim.is_stuck_inside(key) {
            guest.sim.explain_standstill();
            guest.over = true;
        }
        let done = self.after_guest(g);
        self.guests[g].actor = NONE;
        done
    }

    /// Look at the CPUs of a guest whose state has changed.
    fn after_guest(&mut self, g: usize) -> Result<()> {
        let guest = &mut self.guests[g];
        if !guest.over && guest.sim.is_done() {
            guest.over = true;
        }
        let all = 0..guest.tasks.len() as CpuNo;
        let over = guest.over;
        let Some(within) = guest.sim.within.as_mut() else { return Ok(()) };
        if over {
            within.touched.extend(all);
        }
        for (v, priority, runs) in std::mem::take(&mut within.urgent) {
            let known = self.guests[g].priorities[v as usize];
            if runs || known.is_none_or(|k| priority > k) {
                self.report_urgency(g, v, Some(priority))?;
            }
        }
        while let Some(v) = self.guests[g].sim.within.as_mut().and_then(|w| w.touched.pop()) {
            self.look_at(g, v)?;
        }
        Ok(())
    }

    /// A virtual CPU continues, waits, or is no longer needed.
    fn look_at(&mut self, g: usize, v: CpuNo) -> Result<()> {
        let guest = &self.guests[g];
        let no = guest.tasks[v as usize];
        if no == NONE {
            return Ok(());
        }
        let wants = guest.over || guest.sim.wants(v);
        let task = &self.tasks[no as usize];
        match task.state {
            State::Blocked if wants && matches!(task.wait, Wait::Vcpu(_)) => {
                let actor = guest.actor;
                let by = match guest.tasks.get(actor as usize) {
                    // The virtual CPU that sends the interrupt does so where it runs.
                    Some(&other) if other != NONE && self.tasks[other as usize].inside => {
                        self.running_on(other)
                    }
                    _ => task.cpu,
                };
                if guest.spec.inform.of_priorities() && !guest.over {
                    let most = guest.sim.most_urgent();
                    let known = guest.priorities[v as usize];
                    if most > known {
                        self.report_urgency(g, v, most)?;
                    }
                }
                self.wake(no, self.caller(by))
            }
            // One that waits for a CPU may have become more urgent.
            State::Ready if wants && guest.spec.inform.of_priorities() && !guest.over => {
                let most = guest.sim.most_urgent();
                if most > guest.priorities[v as usize] {
                    self.report_urgency(g, v, most)?;
                }
                Ok(())
            }
            State::Running if task.inside && !wants => {
                let c = self.running_on(no);
                self.wait(c, no, Wait::Vcpu(g as u32)).map(|_| ())
            }
            State::Running if task.inside && guest.over => {
                let c = self.running_on(no);
                self.progress(c);
                self.leave_guest(c);
                self.step(c)
            }
            _ => Ok(()),
        }
    }

    /// The new task `no` may be a CPU of a guest.
    pub fn note_vcpu(&mut self, no: TaskNo) {
        let task = &mut self.tasks[no as usize];
        if let Some(&Op::Vcpu { guest, vcpu }) = self.programs[task.program as usize].ops.first()
            && let Some(of) = self.guests.get_mut(guest as usize)
        {
            (task.guest, task.vcpu) = (guest, vcpu);
            of.tasks[vcpu as usize] = no;
        }
    }

    /// The task `no` on `c` is CPU `v` of guest `g`.
    pub fn be_vcpu(&mut self, c: CpuNo, no: TaskNo, g: u32, v: CpuNo) -> Result<Next> {
        let g = g as usize;
        let guest = &self.guests[g];
        if guest.over {
            return Ok(Next::Op);
        }
        let (enter_ns, wants) = (guest.spec.enter_ns, guest.sim.wants(v));
        let task = &mut self.tasks[no as usize];
        // It comes back to this step until the guest is over.
        task.pc -= 1;
        if !wants {
            return self.wait(c, no, Wait::Vcpu(g as u32));
        }
        if !std::mem::replace(&mut task.entered, true) {
            let ns = enter_ns + std::mem::take(&mut task.penalty_ns);
            self.guests[g].enters += 1;
            if ns > 0 {
                task.left = ns.saturating_mul(FULL_SPEED);
                task.by_time = true;
                return Ok(Next::Work);
            }
        }
        self.tasks[no as usize].inside = true;
        let (now, speed) = (self.now, self.cpus[c as usize].speed);
        let sim = &mut self.guests[g].sim;
        sim.sync(now);
        sim.enter(v, speed)?;
        self.after_guest(g)?;
        let stays = self.tasks[no as usize].inside && self.cpus[c as usize].cur == no;
        Ok(if stays { Next::Inside } else { Next::Left })
    }

    /// `c` does something else than to run its task: if that is a virtual CPU, it stands still.
    pub fn leave_guest(&mut self, c: CpuNo) {
        let no = self.cpus[c as usize].cur;
        let Some(task) = self.tasks.get_mut(no as usize) else { return };
        if !std::mem::replace(&mut task.inside, false) {
            return;
        }
        let (g, v, now) = (task.guest as usize, task.vcpu, self.now);
        let sim = &mut self.guests[g].sim;
        sim.sync(now);
        sim.stand_still(v);
    }

    /// The speed of `c` has changed, and with it that of the virtual CPU that it runs.
    pub fn pace_guest(&mut self, c: CpuNo) {
        let no = self.cpus[c as usize].cur;
        let Some(task) = self.tasks.get(no as usize).filter(|t| t.inside) else { return };
        let (g, v, now, speed) = (task.guest as usize, task.vcpu, self.now, self.cpus[c as usize].speed);
        let sim = &mut self.guests[g].sim;
        sim.sync(now);
        sim.set_host_speed(v, speed);
        sim.queue_changes();
    }

    /// Virtual CPUs that others have displaced since this was asked last: their guests hear of it where they are to.
    pub fn report_lost(&mut self) -> Result<()> {
        while let Some(no) = self.lost.pop() {
            let task = &self.tasks[no as usize];
            let (g, v, now) = (task.guest as usize, task.vcpu, self.now);
            let guest = &mut self.guests[g];
            let away = matches!(task.state, State::Ready) && task.parted.is_none();
            if away && guest.spec.inform.of_cpus() && !guest.over {
                guest.sim.sync(now);
                guest.sim.lose(v)?;
                self.after_guest(g)?;
            }
        }
        Ok(())
    }

    /// Report a virtual CPU's urgency to the host: only real-time priorities count outside.
    fn report_urgency(&mut self, g: usize, v: CpuNo, priority: Option<i32>) -> Result<()> {
        let guest = &mut self.guests[g];
        let no = guest.tasks[v as usize];
        if no == NONE || self.tasks[no as usize].state == State::Gone {
            return Ok(());
        }
        let own = self.workload.tasks[guest.spec.vcpus[v as usize] as usize].priority;
        let priority = priority.filter(|p| *p >= REAL_TIME).unwrap_or(own);
        let known = guest.priorities[v as usize].replace(priority).unwrap_or(own);
        if known == priority {
            return Ok(());
        }
        let task = &self.tasks[no as usize];
        let by = self.caller(task.cpu);
        self.set_priority(no, priority, by)?;
        let on = self.running_on(no);
        if on != NONE && priority < known && self.cpus[on as usize].mode != Mode::Offline {
            // Less urgent than before: others may be ahead of it.
            self.part(on, Stop::Yield, true)?;
        }
        Ok(())
    }

    /// Guests of this one, those inside them included.
    fn nr_guests(&self) -> u32 {
        self.guests.iter().map(|g| 1 + g.sim.nr_guests()).sum()
    }

    /// Do something to the scheduler of guest number `n`.
    pub fn command_inside(&mut self, mut n: u32, command: &'a super::Command) -> Result<()> {
        for g in 0..self.guests.len() {
            let size = 1 + self.guests[g].sim.nr_guests();
            if n < size {
                let now = self.now;
                let sim = &mut self.guests[g].sim;
                sim.sync(now);
                if n == 0 {
                    sim.obey(command)?
                } else {
                    sim.command_inside(n - 1, command)?
                }
                sim.queue_changes();
                return self.after_guest(g);
            }
            n -= size;
        }
        self.warn(format!("a command at {} ns is for a guest that does not exist", self.now));
        Ok(())
    }

    /// What became of the guests, each before those inside it.
    pub fn guest_outcomes(&mut self, end: u64, interrupted: bool) -> Vec<GuestOutcome> {
        let mut all: Vec<GuestOutcome> = Vec::new();
        for guest in std::mem::take(&mut self.guests) {
            let number = all.len() as u32;
            let stolen = |c: &super::cpu::Cpu| c.stolen_ns;
            let mut outcome = guest.sim.outcome_of_guest(end, interrupted);
            let stolen_ns = outcome.1.iter().map(stolen).collect();
            let inside = std::mem::take(&mut outcome.0.guests);
            all.push(GuestOutcome {
                name: guest.spec.name.clone(),
                parent: None,
                vcpus: guest.tasks,
                stolen_ns,
                enters: guest.enters,
                outcome: outcome.0,
            });
            all.extend(
                inside
                    .into_iter()
                    .map(|g| GuestOutcome { parent: Some(g.parent.map_or(number, |p| p + number + 1)), ..g }),
            );
        }
        all
    }
}

/// Priorities from here on are those of FIFO and round robin.
const REAL_TIME: i32 = 100;

/// An event of a guest takes place before one of its host: all but the host's decisions come first at an instant.
pub fn goes_first(guest: Key, host: Key) -> bool {
    guest.time() < host.time() || (guest.time() == host.time() && host.is_choose())
}

/// The side of the guest.
impl<'a> Sim<'a> {
    /// From now on a host runs the CPUs, or does not.
    fn become_guest(&mut self, spec: &GuestSpec) {
        let n = self.cpus.len();
        self.nested = true;
        self.within = Some(Box::new(Within {
            inform: spec.inform,
            touched: Vec::new(),
            urgent: Vec::new(),
            deferred: vec![Vec::new(); n],
            taken: vec![false; n],
            own_speed: self.cpus.iter().map(|c| c.alone_speed).collect(),
            horizon: spec.workload.duration_ns.unwrap_or(NEVER),
        }));
        for c in 0..n as CpuNo {
            self.cpus[c as usize].held = true;
            self.rekey(c);
        }
        self.queue_changes();
    }

    /// The clock shows what the host's does.
    fn sync(&mut self, now: u64) {
        if now > self.now {
            self.advance(now);
        }
    }

    /// Nothing is left to run, or the workload's own time is over.
    fn is_done(&self) -> bool {
        let horizon = self.within.as_ref().map_or(NEVER, |w| w.horizon);
        (self.census.alive == 0 && self.census.starts == 0) || self.now >= horizon
    }

    /// No task in the guest can cause another event.
    fn is_stuck_inside(&self, next: Key) -> bool {
        self.census.alive > 0 && (self.movers() == 0 || (next != Key::NEVER && self.is_stuck(next)))
    }

    /// There is something for a CPU to do.
    fn wants(&self, c: CpuNo) -> bool {
        let cpu = &self.cpus[c as usize];
        let Some(within) = &self.within else { return false };
        match cpu.mode {
            Mode::Offline => within.taken[c as usize],
            Mode::Idle => cpu.choosing || cpu.preempt_due || !within.deferred[c as usize].is_empty(),
            Mode::Kernel | Mode::Run => true,
        }
    }

    /// The priority of the most urgent ready task.
    pub fn most_urgent(&self) -> Option<i32> {
        self.tasks.iter().filter(|t| t.state == State::Ready).map(|t| t.priority).max()
    }

    /// The state of a CPU has changed.
    pub fn note_change(&mut self, c: CpuNo) {
        let wants = self.wants(c);
        let cpu = &mut self.cpus[c as usize];
        if cpu.held {
            cpu.settle(self.now);
        }
        cpu.wanting = wants;
        if let Some(within) = &mut self.within {
            within.touched.push(c);
        }
    }

    /// A task begins to run on `c`, or its priority changes.
    pub fn note_urgent(&mut self, c: CpuNo, no: TaskNo) {
        let priority = self.tasks[no as usize].priority;
        if let Some(within) = self.within.as_mut().filter(|w| w.inform.of_priorities()) {
            within.urgent.push((c, priority, true));
        }
    }

    /// A task of this priority waits for `c`, which the host does not run.
    pub fn note_waiting(&mut self, c: CpuNo, priority: Option<i32>) {
        if let (Some(within), Some(priority)) = (&mut self.within, priority)
            && within.inform.of_priorities()
        {
            within.urgent.push((c, priority, false));
        }
    }

    /// The CPU of a timer that runs the scheduler there, if that is held; the timer then comes when it runs again.
    pub fn put_off(&mut self, key: Key) -> bool {
        let c = match key.kind() {
            Kind::Wake => {
                let task = &self.tasks[key.index() as usize];
                self.caller(if task.cpu == NONE { task.home } else { task.cpu })
            }
            // Before the clock starts, tasks come into being by themselves.
            Kind::Start if key.time() > 0 => self.boot_cpu,
            Kind::Component => self.boot_cpu,
            _ => return false,
        };
        if !self.cpus[c as usize].held {
            return false;
        }
        if let Some(within) = &mut self.within {
            within.deferred[c as usize].push(key);
        }
        if key.kind() == Kind::Wake {
            let priority = self.tasks[key.index() as usize].priority;
            self.note_waiting(c, Some(priority));
        }
        self.rekey(c);
        true
    }

    /// The host runs `c` from now on.
    fn enter(&mut self, c: CpuNo, speed: u64) -> Result<()> {
        let now = self.now;
        let cpu = &mut self.cpus[c as usize];
        cpu.settle(now);
        cpu.held = false;
        cpu.since = now;
        let left = std::mem::take(&mut cpu.left_ns);
        if left > 0 {
            cpu.busy_until = now + left;
        }
        self.report_stolen(c);
        self.set_host_speed(c, speed);
        if self.cpus[self.boot_cpu as usize].held {
            self.boot_cpu = c;
        }
        let mut deferred = Vec::new();
        if let Some(within) = &mut self.within {
            std::mem::swap(&mut deferred, &mut within.deferred[c as usize]);
        }
        if self.within.as_mut().is_some_and(|w| std::mem::take(&mut w.taken[c as usize])) {
            self.come_back(c)?;
        }
        for key in deferred {
            self.timer(key)?;
        }
        let cpu = &mut self.cpus[c as usize];
        if std::mem::take(&mut cpu.preempt_due) && cpu.cur != NONE {
            cpu.preempt_sent = true;
            self.timers.push(Key::new(now, Phase::Interrupt, Kind::Preempt, c));
        }
        self.rekey(c);
        let cpu = &self.cpus[c as usize];
        // A virtual CPU in a virtual CPU goes on, too.
        if cpu.mode == Mode::Run && self.tasks[cpu.cur as usize].guest != NONE {
            let task = &self.tasks[cpu.cur as usize];
            if task.left == 0 && task.spins.is_none() && !task.inside {
                self.step(c)?;
            }
        }
        self.queue_changes();
        Ok(())
    }

    /// The host no longer runs `c`.
    fn stand_still(&mut self, c: CpuNo) {
        self.progress(c);
        let now = self.now;
        if !self.guests.is_empty() && self.cpus[c as usize].mode == Mode::Run {
            self.leave_guest(c);
        }
        let cpu = &mut self.cpus[c as usize];
        cpu.settle(now);
        cpu.since = now;
        cpu.held = true;
        cpu.left_ns = cpu.busy_until.saturating_sub(now);
        // What is left is counted apart from now on.
        cpu.busy_until = now;
        self.rekey(c);
        self.queue_changes();
    }

    /// The guest learns that the host has taken `c` away; it keeps its last CPU, whatever the host does.
    fn lose(&mut self, c: CpuNo) -> Result<()> {
        let online = self.cpus.iter().filter(|cpu| cpu.mode != Mode::Offline).count();
        if self.cpus[c as usize].mode == Mode::Offline || online == 1 {
            return Ok(());
        }
        self.cpus[c as usize].settle(self.now);
        self.report_stolen(c);
        if let Some(within) = &mut self.within {
            within.taken[c as usize] = true;
            // Its timers are another one's.
            let deferred = std::mem::take(&mut within.deferred[c as usize]);
            for key in deferred {
                self.timers.push(key.at(self.now));
            }
        }
        self.go_away(c)?;
        self.cpus[c as usize].left_ns = 0;
        // Whoever runs is the one that does what has no CPU of its own.
        if let Some(runs) = self.cpus.iter().position(|cpu| cpu.mode != Mode::Offline && !cpu.held) {
            self.boot_cpu = runs as CpuNo;
        }
        self.rekey(c);
        self.queue_changes();
        Ok(())
    }

    /// Notify observers of the time that `c` waited for the host.
    pub fn report_stolen(&mut self, c: CpuNo) {
        let cpu = &mut self.cpus[c as usize];
        let ns = cpu.stolen_ns - cpu.stolen_reported;
        if ns > 0 {
            cpu.stolen_reported = cpu.stolen_ns;
            self.obs.event(self.now, &Event::Stolen { cpu: c, ns });
        }
    }

    /// How fast the host's CPU is.
    fn set_host_speed(&mut self, c: CpuNo, speed: u64) {
        let own = self.within.as_ref().map_or(FULL_SPEED, |w| w.own_speed[c as usize]);
        let product = u128::from(own) * u128::from(speed) / u128::from(FULL_SPEED);
        let cpu = &mut self.cpus[c as usize];
        cpu.alone_speed = u64::try_from(product).unwrap_or(FULL_SPEED).max(1);
        self.update_speed(c);
    }
}
