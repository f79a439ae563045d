// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Gangs: the resource service beside the scheduler. Placement before the clock starts; a planner on each CPU, and messages
//! between them when a phase changes; and how well members run together.
//!
//! The service is the C of `runtimes/multikernel/`; what is modelled here is only how long a message takes.

use std::collections::BTreeMap;

use weir_core::event::{CpuNo, TaskNo};
use weir_core::gang::{Controller, PhaseMessage, PhaseReply, Planner, Row, Submit, WHOLE};
use weir_core::{CpuSet, Msg, Plan, Topic};

use super::GangOutcome;
use super::queue::{Key, Kind, Phase};
use super::sim::Sim;
use super::task::{NEVER, NONE, State};
use weir_model::{Error, Machine, Result, Workload};

/// A member's place: its gang, its number there, and its CPU.
struct Member {
    gang: u32,
    nth: u32,
    cpu: CpuNo,
    mask: CpuSet,
}

/// Who belongs to which gang, and where; made before the run.
pub struct Placed {
    controller: Option<Controller>,
    /// By index in the workload's gangs: number in the controller.
    numbers: Vec<u32>,
    /// By template.
    members: BTreeMap<u32, Member>,
    warning: Option<String>,
}

impl Placed {
    /// Admit the workload's gangs, if the topology has slots for them.
    pub fn new(machine: &Machine, plan: &Plan, workload: &Workload) -> Result<Self> {
        let mut placed =
            Self { controller: None, numbers: Vec::new(), members: BTreeMap::new(), warning: None };
        if workload.gangs.is_empty() {
            return Ok(placed);
        }
        if !plan.listens_to(Topic::GangSlot) || !plan.listens_to(Topic::Gang) {
            placed.warning = Some(format!(
                "topology `{}` has no slots for gangs (`annotate membership`, `gang`): their tasks are ordinary ones",
                plan.name
            ));
            return Ok(placed);
        }
        let shape = &machine.shape;
        let Some(mut controller) = Controller::new(shape.nr_cpus()) else {
            return Err(Error::run(format!("gangs on {} CPUs", shape.nr_cpus()))
                .help(format!("gangs are placed on machines of up to {} CPUs", weir_core::gang::MAX_CPUS)));
        };
        for (c, cpu) in (0..).zip(&shape.cpus) {
            // A CPU of another instruction set has its own tasks.
            controller.set_cpu(c, cpu.online && cpu.isa == 0, 0);
        }
        for gang in &workload.gangs {
            let number = controller.admit(&gang.manifest, 0, gang.cut).map_err(|why| {
                let mut text = format!("gang `{}` is not admitted: {}", gang.manifest.name(), why.what);
                if let Some(cpu) = why.cpu {
                    let pct = |n: u64| n as f64 * 100.0 / f64::from(WHOLE);
                    text += &format!(
                        " (CPU {cpu}: {:.1} % needed, {:.1} % left)",
                        pct(why.needed),
                        pct(why.available)
                    );
                } else if let Some((_, other)) = &why.other {
                    text += &format!(" (`{other}`)");
                } else if why.available > 0 {
                    text += &format!(" ({} needed, {} there)", why.needed, why.available);
                }
                Error::run(text).help(why.remedy)
            })?;
            placed.numbers.push(number);
        }
        for (g, (gang, number)) in (0..).zip(workload.gangs.iter().zip(&placed.numbers)) {
            for (nth, template) in (0..).zip(&gang.members) {
                let cpu = controller.member_cpu(*number, nth).expect("it has a CPU for each thread");
                let mask = [cpu].into_iter().collect();
                placed.members.insert(*template, Member { gang: g, nth, cpu, mask });
            }
        }
        placed.controller = Some(controller);
        Ok(placed)
    }
}

/// A message between planners under way.
#[derive(Debug)]
enum Letter {
    Ask(CpuNo, PhaseMessage),
    Reply(CpuNo, PhaseReply),
}

/// When a member started in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Not,
    At(u64),
    /// It was blocked when the slot began.
    Absent,
}

/// How a gang's slots went.
#[derive(Debug, Default)]
struct Account {
    /// In force, if the present phase has slots; none begins before `from`.
    row: Option<Row>,
    from: u64,
    /// When the slot under way began, and the next one does; [`NEVER`]: none.
    open: u64,
    next: u64,
    /// By member: when it started in the slot.
    started: Vec<Start>,
    skew_sum: u64,
    skewed: u64,
    outcome: GangOutcome,
}

/// The service's state in a run.
pub struct Gangs<'a> {
    placed: &'a Placed,
    planners: Vec<Planner>,
    letters: Vec<Option<Letter>>,
    accounts: Vec<Account>,
    /// Members, by gang and number: tasks that exist.
    tasks: Vec<Vec<TaskNo>>,
}

impl<'a> Gangs<'a> {
    pub fn new(placed: &'a Placed) -> Self {
        let (mut accounts, mut tasks) = (Vec::new(), Vec::new());
        for number in &placed.numbers {
            let gang = placed.controller.as_ref().and_then(|c| c.gang(*number)).expect("it was admitted");
            let outcome = GangOutcome {
                name: gang.manifest.name().to_string(),
                cpus: gang.cpus.iter().collect(),
                scale: gang.scale,
                ..GangOutcome::default()
            };
            let started = vec![Start::Absent; gang.threads as usize];
            tasks.push(vec![NONE; gang.threads as usize]);
            accounts.push(Account { open: NEVER, next: NEVER, started, outcome, ..Account::default() });
        }
        Self { placed, planners: Vec::new(), letters: Vec::new(), accounts, tasks }
    }
}

impl Account {
    /// The slot under way is over.
    fn close(&mut self) {
        if self.open == NEVER {
            return;
        }
        let at = |s: &Start| if let Start::At(at) = s { Some(*at) } else { None };
        let began: Vec<u64> = self.started.iter().filter_map(at).collect();
        self.outcome.slots += 1;
        self.outcome.incomplete += u64::from(self.started.contains(&Start::Not));
        if let (Some(first), Some(last)) = (began.iter().min(), began.iter().max())
            && began.len() > 1
        {
            self.outcome.skew_max_ns = self.outcome.skew_max_ns.max(last - first);
            self.skew_sum += last - first;
            self.skewed += 1;
        }
        self.open = NEVER;
    }
}

impl Sim<'_> {
    /// CPU of a member of a gang.
    pub fn gang_home(&self, template: u32) -> Option<CpuNo> {
        self.gangs.placed.members.get(&template).map(|m| m.cpu)
    }

    /// A task comes into being: if it is a member, it is pinned.
    pub fn join_gang(&mut self, template: u32, no: TaskNo) {
        let placed = self.gangs.placed;
        let Some(member) = placed.members.get(&template) else { return };
        self.gangs.tasks[member.gang as usize][member.nth as usize] = no;
        let task = &mut self.tasks[no as usize];
        task.gang = member.gang;
        task.cpus = Some(&member.mask);
    }

    /// Report to the scheduler which gang a task belongs to.
    pub fn tell_gang(&mut self, h: CpuNo, no: TaskNo) -> Result<()> {
        let task = &self.tasks[no as usize];
        if task.gang == NONE || !self.plan.listens_to(Topic::Gang) {
            return Ok(());
        }
        let value2 = u64::from(self.workload.gangs[task.gang as usize].manifest.waits());
        let msg = Msg { task: Some(task.id), value: u64::from(task.gang) + 1, value2, ..Msg::default() };
        self.notify_scheduler(h, Topic::Gang, &msg)
    }

    /// All planners learn all tables anew, and hand on what is in force; before the clock starts, and when a topology has come.
    pub fn tell_slots(&mut self) -> Result<()> {
        let placed = self.gangs.placed;
        if let Some(text) = &placed.warning {
            self.warn(text.clone());
        }
        let Some(controller) = &placed.controller else { return Ok(()) };
        if self.gangs.planners.is_empty() {
            self.gangs.planners = (0..self.cpus.len() as u32).map(Planner::new).collect();
            for c in 0..self.cpus.len() {
                for number in &placed.numbers {
                    if let Some(submit) = self.gangs.planners[c].replicate(controller, *number, self.now) {
                        self.submit(c as CpuNo, &submit)?;
                    }
                }
            }
            return Ok(());
        }
        for g in 0..placed.numbers.len() {
            let account = &self.gangs.accounts[g];
            let (row, from) = (account.row.unwrap_or_default(), account.from);
            for cpu in account.outcome.cpus.clone() {
                self.hand_on(cpu, g as u32, &row, from)?;
            }
        }
        Ok(())
    }

    /// A member requests a phase on `c`, whose planner coordinates the change.
    pub fn request_phase(&mut self, c: CpuNo, no: TaskNo, phase: u32) -> Result<()> {
        let gang = self.tasks[no as usize].gang;
        if gang == NONE {
            return Ok(());
        }
        let number = self.gangs.placed.numbers[gang as usize];
        self.gangs.accounts[gang as usize].outcome.phase_changes += 1;
        let (msg, submit, _) = match self.gangs.planners[c as usize].change(number, phase, self.now) {
            Ok(changed) => changed,
            Err(e) => {
                let name = &self.gangs.accounts[gang as usize].outcome.name;
                self.warn(format!(
                    "gang `{name}`: the request for phase {phase} at {} ns had no effect: {e}",
                    self.now
                ));
                return Ok(());
            }
        };
        self.submit(c, &submit)?;
        for peer in self.gangs.accounts[gang as usize].outcome.cpus.clone() {
            if peer != c {
                self.send(c, peer, gang, Letter::Ask(peer, msg));
            }
        }
        Ok(())
    }

    /// A message from a planner to another; it takes as long as an interrupt.
    fn send(&mut self, from: CpuNo, to: CpuNo, gang: u32, letter: Letter) {
        let at = self.now + self.charger.interrupt_ns(from, to);
        let letters = &mut self.gangs.letters;
        let index = match letters.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                letters.push(None);
                letters.len() - 1
            }
        };
        letters[index] = Some(letter);
        self.gangs.accounts[gang as usize].outcome.messages += 1;
        self.timers.push(Key::new(at, Phase::Timer, Kind::Letter, index as u32));
    }

    /// A message has arrived.
    pub fn letter_arrives(&mut self, index: u32) -> Result<()> {
        match self.gangs.letters[index as usize].take() {
            Some(Letter::Ask(to, msg)) => {
                let (submit, reply) = self.gangs.planners[to as usize].receive(&msg);
                if let Some(submit) = submit {
                    self.submit(to, &submit)?;
                }
                if let Some(gang) = self.gang_of_number(msg.gang) {
                    self.send(to, msg.coordinator, gang, Letter::Reply(msg.coordinator, reply));
                }
            }
            Some(Letter::Reply(to, reply)) => _ = self.gangs.planners[to as usize].reply(&reply),
            None => {}
        }
        Ok(())
    }

    fn gang_of_number(&self, number: u32) -> Option<u32> {
        self.gangs.placed.numbers.iter().position(|n| *n == number).map(|g| g as u32)
    }

    /// A planner hands a row to the scheduler of its CPU.
    fn submit(&mut self, c: CpuNo, submit: &Submit) -> Result<()> {
        let Some(gang) = self.gang_of_number(submit.gang) else { return Ok(()) };
        self.hand_on(c, gang, &submit.row, submit.from_ns)?;
        let account = &mut self.gangs.accounts[gang as usize];
        let row = (submit.row.length_ns > 0).then_some(submit.row);
        if account.row == row && account.from == submit.from_ns {
            return Ok(());
        }
        account.row = row;
        account.from = submit.from_ns;
        account.next = row.and_then(|r| r.next(submit.from_ns.max(self.now))).unwrap_or(NEVER);
        if account.next != NEVER {
            let key = Key::new(account.next, Phase::Timer, Kind::Slot, gang);
            self.timers.push(key);
        }
        Ok(())
    }

    fn hand_on(&mut self, c: CpuNo, gang: u32, row: &Row, from: u64) -> Result<()> {
        if !self.plan.listens_to(Topic::GangSlot) {
            return Ok(());
        }
        for (field, value2) in (0u64..).zip([row.offset_ns, row.period_ns, row.length_ns, from]) {
            let value = (u64::from(gang) + 1) | field << 32;
            self.announce(c, Topic::GangSlot, &Msg { cpu: Some(c), value, value2, ..Msg::default() }, NONE)?;
        }
        Ok(())
    }

    /// A slot of a gang begins: members that run have started.
    pub fn slot_begins(&mut self, gang: u32) {
        let now = self.now;
        let account = &mut self.gangs.accounts[gang as usize];
        let Some(row) = account.row.filter(|_| account.next == now) else { return };
        account.close();
        account.open = now;
        account.next = row.next(now + 1).unwrap_or(NEVER);
        let next = account.next;
        self.timers.push(Key::new(next, Phase::Timer, Kind::Slot, gang));
        for nth in 0..self.gangs.tasks[gang as usize].len() {
            let no = self.gangs.tasks[gang as usize][nth];
            let state = if no == NONE { State::Gone } else { self.tasks[no as usize].state };
            let on = if state == State::Running { self.running_on(no) } else { NONE };
            self.gangs.accounts[gang as usize].started[nth] = match state {
                State::Gone | State::Blocked => Start::Absent,
                _ if on != NONE => Start::At(now),
                _ => Start::Not,
            };
        }
    }

    /// A task starts on a CPU: if it is a member in its slot, that is noted once a slot.
    pub fn note_start(&mut self, no: TaskNo) {
        let task = &self.tasks[no as usize];
        if task.gang == NONE {
            return;
        }
        let gangs = &mut self.gangs;
        let account = &mut gangs.accounts[task.gang as usize];
        let now = self.now;
        if account.open == NEVER || account.row.is_none_or(|r| now >= account.open + r.length_ns) {
            return;
        }
        let Some(nth) = gangs.tasks[task.gang as usize].iter().position(|t| *t == no) else { return };
        if account.started[nth] == Start::Not {
            account.started[nth] = Start::At(self.now);
            account.outcome.late_max_ns = account.outcome.late_max_ns.max(self.now - account.open);
        }
    }

    /// What became of the gangs.
    pub fn gang_outcomes(&mut self) -> Vec<GangOutcome> {
        let now = self.now;
        self.gangs
            .accounts
            .iter_mut()
            .map(|a| {
                if a.row.is_some_and(|r| a.open != NEVER && a.open + r.length_ns <= now) {
                    a.close();
                }
                a.outcome.skew_mean_ns = a.skew_sum.checked_div(a.skewed).unwrap_or(0);
                a.outcome.clone()
            })
            .collect()
    }
}
