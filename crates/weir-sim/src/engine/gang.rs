// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Gangs: the resource service beside the scheduler. Placement before the clock starts; a planner on each CPU, and messages
//! between them when a phase changes; and how well members run together.
//!
//! The service is the C of `runtimes/multikernel/`; only the duration of messages is modelled here, and how slots begin and end if CPUs
//! do not follow their own clocks: through a CPU that interrupts the others, a program, or a network.

use std::collections::BTreeMap;

use weir_core::clocksync::Answer;
use weir_core::event::{CpuNo, Event, TaskNo};
use weir_core::gang::{
    Change, Controller, MAX_GROUPS, PhaseMessage, PhaseReply, Planner, Row, Submit, row_fields,
};
use weir_core::{CpuSet, Msg, Plan, Topic};

use super::Result;
use super::charge::reserves;
use super::clocks::CpuClocks;
use super::queue::{Key, Kind, Phase};
use super::sim::Sim;
use super::task::{NEVER, NONE, State};
use super::{GangOutcome, GroupOutcome};
use weir_model::workload::Way;
use weir_model::{Error, Machine, Workload};

/// A member's place: its gang, its number there, and its CPU.
struct Member {
    gang: u32,
    nth: u32,
    cpu: CpuNo,
    mask: CpuSet,
}

/// The gang of each task, and its place; made before the run.
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
            if !has_reservations(plan) {
                placed.warning = Some(format!(
                    "topology `{}` has no slots for gangs (`annotate membership`, `gang`; or `rbed`): their tasks are ordinary ones",
                    plan.name
                ));
                return Ok(placed);
            }
            if let Some(gang) = workload.gangs.iter().find(|g| g.way != Way::Locked) {
                let text = format!(
                    "gang `{}` has `way = \"{}\"`, but topology `{}` serves slots by reservations, each CPU by its own clock",
                    gang.manifest.name(),
                    gang.way.name(),
                    plan.name
                );
                return Err(Error::run(text).help("leave `way` out, or take the topology `gang`").into());
            }
            if let Some(gang) = workload.gangs.iter().find(|g| g.manifest.alone()) {
                let text = format!(
                    "gang `{}` wants whole cores, but topology `{}` serves slots by reservations, each CPU for itself",
                    gang.manifest.name(),
                    plan.name
                );
                return Err(Error::run(text).help("take the topology `gang`, or leave `cores` out").into());
            }
        }
        let shape = &machine.shape;
        let Some(mut controller) = Controller::new(shape.nr_cpus()) else {
            return Err(Error::run(format!("gangs on {} CPUs", shape.nr_cpus()))
                .help(format!("gangs are placed on machines of up to {} CPUs", weir_core::gang::MAX_CPUS))
                .into());
        };
        for (c, cpu) in (0..).zip(&shape.cpus) {
            controller.set_core(c, cpu.core);
            // A CPU of another instruction set has its own tasks.
            controller.set_cpu(c, cpu.online && cpu.isa == 0, 0);
        }
        for gang in &workload.gangs {
            let number = controller.admit(&gang.manifest, 0, gang.cut).map_err(|why| {
                let text = format!("gang `{}` is not admitted: {}", gang.manifest.name(), why.text());
                Error::run(text).help(why.remedy)
            })?;
            placed.numbers.push(number);
        }
        placed.warning = cut_text(&controller, &placed.numbers);
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

/// Which gangs have shorter slots than they asked for.
fn cut_text(controller: &Controller, numbers: &[u32]) -> Option<String> {
    let all = numbers.iter().filter_map(|n| controller.gang(*n)).filter(|g| g.scale < 1000);
    let cut: Vec<String> =
        all.map(|g| format!("`{}` to {:.1} %", g.manifest.name(), f64::from(g.scale) / 10.0)).collect();
    (!cut.is_empty()).then(|| {
        format!("gangs do not fit: their slots are cut, {} (`cut = false` refuses instead)", cut.join(", "))
    })
}

/// Slots can be reservations of the members.
fn has_reservations(plan: &Plan) -> bool {
    (0..plan.instances.len() as u32).any(|i| reserves(plan, i))
}

/// A message between planners under way.
#[derive(Debug)]
pub enum GangMessage {
    Ask(CpuNo, PhaseMessage),
    Reply(CpuNo, PhaseReply),
    /// A slot of a gang begins on a CPU, or ends there.
    Slot {
        cpu: CpuNo,
        gang: u32,
        begins: bool,
    },
    /// A slot of a gang is over and must be ended by a message.
    End(u32),
    /// All CPUs are to take their clocks at that time.
    Target {
        cpu: CpuNo,
        target: u64,
        sequence: u32,
    },
    /// The reading of a CPU's clock then.
    Base(Answer),
    /// Clocks are compared.
    Watch,
}

/// The cost of beginning or ending a slot if CPUs do not follow their own clocks; ns.
struct Carrying {
    /// Before the first CPU.
    start: u64,
    /// For each CPU.
    each: u64,
    /// On the way, beside the interrupt.
    latency: u64,
    /// More on the way, at most: the receiver has to get its CPU.
    jitter: u64,
    /// The receiving CPU's work.
    received: u64,
}

/// A system call that changes a thread's class, ns.
const SET_CLASS_NS: u64 = 1_000;
/// A message through the network between two daemons: one way; for each receiver; and until its daemon has a CPU.
const NETWORK_NS: u64 = 60_000;
const NETWORK_EACH_NS: u64 = 20_000;
const NETWORK_JITTER_NS: u64 = 1_000_000;
/// A slot without an end; a message will end it. Below the longest time that components accept.
const ENDLESS_NS: u64 = 1 << 60;

/// Numbers that look random: the same for the same place in the same run.
pub fn scatter(seed: u64, place: [u64; 3], below: u64) -> u64 {
    let mut x = seed;
    for p in place {
        x = (x ^ p.wrapping_add(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^= x >> 29;
    }
    if below == 0 { 0 } else { x % below }
}

/// When a member started in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Not,
    At(u64),
    /// It was blocked when the slot began.
    Absent,
}

/// How the slots of a group of a gang go.
#[derive(Debug)]
struct Track {
    /// In force, if the present phase has slots; none begins before `from`.
    row: Option<Row>,
    from: u64,
    /// When the slot under way began, how long it is, and when the next one begins; [`NEVER`]: none.
    open: u64,
    length: u64,
    next: u64,
    /// The present slot exists by the reference only: clocks are not equal, and no CPU keeps it.
    blind: bool,
    /// By member: when it started in the slot.
    started: Vec<Start>,
    outcome: GroupOutcome,
}

/// How a gang's slots went.
#[derive(Debug)]
struct Account {
    tracks: Vec<Track>,
    /// By place in the gang's CPUs: the group in which it is.
    groups: Vec<u32>,
    skew_sum: u64,
    skewed: u64,
    /// When the change under way was requested; [`NEVER`]: none is.
    asked: u64,
    outcome: GangOutcome,
}

/// The service's state in a run.
pub struct Gangs<'a> {
    placed: &'a Placed,
    planners: Vec<Planner>,
    /// Under way, with their numbers.
    under_way: Vec<Option<(u64, GangMessage)>>,
    /// Messages so far.
    posted: u64,
    accounts: Vec<Account>,
    /// Members, by gang and number: tasks that exist.
    tasks: Vec<Vec<TaskNo>>,
    /// None: all CPUs read one clock.
    pub clocks: Option<CpuClocks>,
}

impl<'a> Gangs<'a> {
    pub fn new(placed: &'a Placed, clocks: Option<CpuClocks>) -> Self {
        let (mut accounts, mut tasks) = (Vec::new(), Vec::new());
        for number in &placed.numbers {
            let gang = placed.controller.as_ref().and_then(|c| c.gang(*number)).expect("it was admitted");
            let outcome = GangOutcome {
                name: gang.manifest.name().to_string(),
                cpus: gang.cpus.iter().collect(),
                scale: gang.scale,
                ..GangOutcome::default()
            };
            let track = |group: usize| Track {
                row: None,
                from: 0,
                open: NEVER,
                length: 0,
                next: NEVER,
                blind: false,
                started: vec![Start::Absent; gang.threads as usize],
                outcome: GroupOutcome { group: group as u32, ..GroupOutcome::default() },
            };
            tasks.push(vec![NONE; gang.threads as usize]);
            accounts.push(Account {
                tracks: (0..MAX_GROUPS).map(track).collect(),
                groups: vec![0; outcome.cpus.len()],
                skew_sum: 0,
                skewed: 0,
                asked: NEVER,
                outcome,
            });
        }
        Self { placed, planners: Vec::new(), under_way: Vec::new(), posted: 0, accounts, tasks, clocks }
    }
}

impl Account {
    /// The group of a CPU.
    fn group(&self, cpu: CpuNo) -> usize {
        self.outcome.cpus.iter().position(|c| *c == cpu).map_or(0, |at| self.groups[at] as usize)
    }

    /// A CPU is in a group from now on. A group without CPUs has no slots.
    fn regroup(&mut self, cpu: CpuNo, group: u32) {
        let Some(at) = self.outcome.cpus.iter().position(|c| *c == cpu) else { return };
        let before = std::mem::replace(&mut self.groups[at], group);
        let members = |group: u32| self.groups.iter().filter(|g| **g == group).count() as u32;
        let (left, joined) = (members(before), members(group));
        let most = &mut self.tracks[group as usize].outcome.members;
        *most = joined.max(*most);
        if left == 0 {
            self.tracks[before as usize].row = None;
            self.tracks[before as usize].next = NEVER;
        }
    }

    /// The slot of a group that is under way is over.
    fn close(&mut self, group: usize) {
        let track = &mut self.tracks[group];
        if track.open == NEVER {
            return;
        }
        let at = |s: &Start| if let Start::At(at) = s { Some(*at) } else { None };
        let began: Vec<u64> = track.started.iter().filter_map(at).collect();
        track.open = NEVER;
        track.outcome.slots += 1;
        self.outcome.slots += 1;
        let missing = u64::from(track.blind || track.started.contains(&Start::Not));
        track.outcome.incomplete += missing;
        self.outcome.incomplete += missing;
        if track.blind {
            return;
        }
        if let (Some(first), Some(last)) = (began.iter().min(), began.iter().max())
            && began.len() > 1
        {
            self.outcome.wasted_ns += began.iter().map(|at| last - at).sum::<u64>();
            self.outcome.skew_max_ns = self.outcome.skew_max_ns.max(last - first);
            track.outcome.skew_max_ns = track.outcome.skew_max_ns.max(last - first);
            self.skew_sum += last - first;
            self.skewed += 1;
        }
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
    pub fn publish_gang(&mut self, h: CpuNo, no: TaskNo) -> Result<()> {
        let task = &self.tasks[no as usize];
        if task.gang == NONE {
            return Ok(());
        }
        if !self.plan.listens_to(Topic::Gang) {
            let account = &self.gangs.accounts[task.gang as usize];
            let home = task.home().unwrap_or(h);
            let track = &account.tracks[account.group(home)];
            return match track.row.filter(|_| has_reservations(&self.plan)) {
                Some(row) => self.reserve(h, no, &row, track.from),
                None => Ok(()),
            };
        }
        let value2 = u64::from(self.workload.gangs[task.gang as usize].manifest.waits());
        let msg = Msg { task: Some(task.id), value: u64::from(task.gang) + 1, value2, ..Msg::default() };
        self.notify_scheduler(h, Topic::Gang, &msg)
    }

    /// All planners receive all tables again, and hand on what is in force; before the clock starts, and when a topology has come.
    pub fn publish_slots(&mut self) -> Result<()> {
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
            self.begin_round();
            return Ok(());
        }
        for g in 0..placed.numbers.len() {
            for cpu in self.gangs.accounts[g].outcome.cpus.clone() {
                let account = &self.gangs.accounts[g];
                let track = &account.tracks[account.group(cpu)];
                let (row, from) = (track.row.unwrap_or_default(), track.from);
                self.hand_on(cpu, g as u32, &row, from)?;
            }
        }
        Ok(())
    }

    /// The CPU of a member is in a group of its gang from now on; only its own planner has to know.
    pub fn join_group(&mut self, no: TaskNo, group: u32) -> Result<()> {
        let task = &self.tasks[no as usize];
        let (Some(home), true) = (task.home(), task.gang != NONE && self.gangs.placed.controller.is_some())
        else {
            return Ok(());
        };
        let number = self.gangs.placed.numbers[task.gang as usize];
        let joined = self.gangs.planners[home as usize].join(number, group, self.now);
        match joined.map_err(|e| Error::run(format!("group {group} of a gang: {e}")))? {
            Some(submit) => self.submit(home, &submit),
            None => Ok(()),
        }
    }

    /// A member requests a change on `c`, whose planner coordinates it.
    pub fn request_change(&mut self, c: CpuNo, no: TaskNo, change: Change) -> Result<()> {
        let gang = self.tasks[no as usize].gang;
        if gang == NONE {
            return Ok(());
        }
        let number = self.gangs.placed.numbers[gang as usize];
        self.gangs.accounts[gang as usize].outcome.phase_changes += 1;
        // The planner is another program on this CPU: there and back.
        if self.charging {
            self.charge_flat(c, 2 * self.costs.context_switch);
        }
        let (msg, submit, _) = match self.gangs.planners[c as usize].change(number, change, self.now) {
            Ok(changed) => changed,
            Err(e) => {
                let name = &self.gangs.accounts[gang as usize].outcome.name;
                let what = match change {
                    Change::Phase(phase) => format!("phase {phase}"),
                    Change::Merge { into, .. } => format!("groups to merge into group {into}"),
                    Change::Split(group) => format!("group {group} to split"),
                };
                self.warn(format!(
                    "gang `{name}`: the request for {what} at {} ns had no effect: {e}",
                    self.now
                ));
                return Ok(());
            }
        };
        let asked = self.now;
        self.submit(c, &submit)?;
        let peers = self.gangs.accounts[gang as usize].outcome.cpus.clone();
        if peers.len() == 1 {
            self.phase_done(c, gang, asked);
            return Ok(());
        }
        self.gangs.accounts[gang as usize].asked = asked;
        for peer in peers {
            if peer != c {
                self.send(c, peer, gang, GangMessage::Ask(peer, msg));
            }
        }
        Ok(())
    }

    /// The program has its answer, as soon as `c` is through.
    fn phase_done(&mut self, c: CpuNo, gang: u32, asked: u64) {
        let over = self.now.max(self.cpus[c as usize].busy_until);
        let outcome = &mut self.gangs.accounts[gang as usize].outcome;
        outcome.phase_max_ns = outcome.phase_max_ns.max(over - asked);
        outcome.phase_last_ns = over - asked;
    }

    /// What a message costs one of the two CPUs.
    fn charge_message(&mut self, payer: CpuNo, from: CpuNo, to: CpuNo) {
        if self.charging {
            let ns = self.charger.message_send_ns(from, to);
            self.charge_flat(payer, ns);
        }
    }

    /// A message from a planner to another: the sender writes it, the receiver, which polls, finds it.
    fn send(&mut self, from: CpuNo, to: CpuNo, gang: u32, message: GangMessage) {
        self.charge_message(from, from, to);
        let sent = self.now.max(self.cpus[from as usize].busy_until);
        let at = sent + self.charger.message_ns(from, to);
        self.gangs.accounts[gang as usize].outcome.messages += 1;
        self.report_sent(from, to, "phase");
        self.post(at, message);
    }

    /// Notify observers of a message that is posted next.
    fn report_sent(&mut self, from: CpuNo, to: CpuNo, what: &'static str) {
        self.obs.event(self.now, &Event::MessageSent { from, to, number: self.gangs.posted, what });
    }

    pub fn post(&mut self, at: u64, message: GangMessage) {
        let message = (self.gangs.posted, message);
        self.gangs.posted += 1;
        let under_way = &mut self.gangs.under_way;
        let index = match under_way.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                under_way.push(None);
                under_way.len() - 1
            }
        };
        under_way[index] = Some(message);
        self.timers.push(Key::new(at, Phase::Timer, Kind::Message, index as u32));
    }

    /// A message has arrived.
    pub fn message_arrives(&mut self, index: u32) -> Result<()> {
        let Some((number, message)) = self.gangs.under_way[index as usize].take() else { return Ok(()) };
        let way = |gang: u32| self.workload.gangs[gang as usize].way;
        let arrived = match message {
            GangMessage::Ask(to, _) | GangMessage::Reply(to, _) => Some((to, "phase")),
            GangMessage::Slot { cpu, gang, .. } if cpu != self.boot_cpu => Some((cpu, way(gang).name())),
            GangMessage::Target { cpu, .. } if cpu != self.boot_cpu => Some((cpu, "clock")),
            GangMessage::Base(Answer { cpu, .. }) if cpu != self.boot_cpu => Some((self.boot_cpu, "clock")),
            GangMessage::Slot { .. }
            | GangMessage::End(_)
            | GangMessage::Target { .. }
            | GangMessage::Base(_)
            | GangMessage::Watch => None,
        };
        if let Some((to, what)) = arrived {
            self.obs.event(self.now, &Event::MessageArrived { to, number, what });
        }
        match message {
            GangMessage::Ask(to, msg) => {
                self.charge_message(to, msg.coordinator, to);
                let (submit, reply) = self.gangs.planners[to as usize].receive(&msg);
                if let Some(submit) = submit {
                    self.submit(to, &submit)?;
                }
                if let Some(gang) = self.gang_of_number(msg.gang) {
                    self.send(to, msg.coordinator, gang, GangMessage::Reply(msg.coordinator, reply));
                }
            }
            GangMessage::Reply(to, reply) => {
                self.charge_message(to, reply.cpu, to);
                let last = self.gangs.planners[to as usize].reply(&reply).is_some();
                if let Some(gang) = self.gang_of_number(reply.gang).filter(|_| last) {
                    let asked = std::mem::replace(&mut self.gangs.accounts[gang as usize].asked, NEVER);
                    if asked != NEVER {
                        self.phase_done(to, gang, asked);
                    }
                }
            }
            GangMessage::Slot { cpu, gang, begins } => self.slot_message(cpu, gang, begins)?,
            GangMessage::End(gang) => self.slot_ends(gang),
            GangMessage::Target { cpu, target, sequence } => self.target_heard(cpu, target, sequence),
            GangMessage::Base(answer) => self.base_heard(&answer)?,
            GangMessage::Watch => self.watch_clocks(),
        }
        Ok(())
    }

    fn gang_of_number(&self, number: u32) -> Option<u32> {
        self.gangs.placed.numbers.iter().position(|n| *n == number).map(|g| g as u32)
    }

    /// A planner hands a row to the scheduler of its CPU.
    fn submit(&mut self, c: CpuNo, submit: &Submit) -> Result<()> {
        let Some(gang) = self.gang_of_number(submit.gang) else { return Ok(()) };
        if self.workload.gangs[gang as usize].way == Way::Locked {
            self.hand_on(c, gang, &submit.row, submit.from_ns)?;
        }
        let group = self.gangs.planners[c as usize].group(submit.gang).unwrap_or(0);
        let now = self.now;
        let account = &mut self.gangs.accounts[gang as usize];
        account.regroup(c, group);
        let track = &mut account.tracks[group as usize];
        let row = (submit.row.length_ns > 0).then_some(submit.row);
        if track.row == row && track.from == submit.from_ns {
            return Ok(());
        }
        track.row = row;
        track.from = submit.from_ns;
        track.next = row.and_then(|r| r.next(submit.from_ns.max(now))).unwrap_or(NEVER);
        if track.next != NEVER {
            let next = track.next;
            self.push_slot(gang, group, next);
        }
        Ok(())
    }

    /// A slot of a group begins at that time.
    fn push_slot(&mut self, gang: u32, group: u32, at: u64) {
        let index = gang * MAX_GROUPS as u32 + group;
        self.timers.push(Key::new(at, Phase::Timer, Kind::Slot, index));
    }

    fn hand_on(&mut self, c: CpuNo, gang: u32, row: &Row, from: u64) -> Result<()> {
        if !self.plan.listens_to(Topic::GangSlot) {
            if has_reservations(&self.plan) {
                for no in self.gangs.tasks[gang as usize].clone() {
                    let there = no != NONE && self.tasks[no as usize].state != State::Gone;
                    if there && self.tasks[no as usize].cpus.is_some_and(|cpus| cpus.contains(c)) {
                        self.reserve(c, no, row, from)?;
                    }
                }
            }
            return Ok(());
        }
        let (row, from) = match &self.gangs.clocks {
            // Whoever says when slots begin and end says it now.
            Some(clocks) if self.workload.gangs[gang as usize].way != Way::Locked => {
                clocks.row_now(c, row, from, self.now)
            }
            Some(clocks) => clocks.row(c, row, from),
            None => (*row, from),
        };
        let alone = self.workload.gangs[gang as usize].manifest.alone();
        for (field, value2) in row_fields(&row, from, alone) {
            let value = (u64::from(gang) + 1) | field << 32;
            self.announce(c, Topic::GangSlot, &Msg { cpu: Some(c), value, value2, ..Msg::default() }, NONE)?;
        }
        Ok(())
    }

    /// The slots of a row as a reservation of a member: all the time up to the deadline, from the first begin on. What a job declares is work,
    /// of which a slower CPU does less in that time.
    fn reserve(&mut self, h: CpuNo, no: TaskNo, row: &Row, from: u64) -> Result<()> {
        let task = &self.tasks[no as usize];
        let home = task.home().unwrap_or(h);
        let capacity = u64::from(self.machine.shape.cpus[home as usize].capacity);
        let task = Some(task.id);
        let (length, due, period) = match row.next(from.max(self.now)) {
            Some(first) => (row.length_ns, first + row.length_ns, row.period_ns),
            None => (0, 0, 0),
        };
        let work = (length * capacity).div_ceil(1024);
        let job = Msg { task, value: work, value2: length, ..Msg::default() };
        self.announce(h, Topic::Job, &job, no)?;
        let deadline = Msg { task, value: due, value2: period, ..Msg::default() };
        self.announce(h, Topic::Deadline, &deadline, no)
    }

    /// What carrying the begin or end of a slot takes.
    fn carrying(&self, way: Way) -> Carrying {
        let costs = self.costs;
        let when = |ns: u64| if self.charging { ns } else { 0 };
        match way {
            Way::Locked => Carrying { start: 0, each: 0, latency: 0, jitter: 0, received: 0 },
            Way::Central => Carrying {
                start: when(costs.timer_interrupt),
                each: when(costs.ipi_send),
                latency: 0,
                jitter: 0,
                received: when(costs.timer_interrupt),
            },
            Way::Daemon => Carrying {
                start: when(costs.timer_interrupt + costs.context_switch),
                each: when(SET_CLASS_NS + costs.ipi_send),
                latency: 0,
                jitter: 0,
                received: when(costs.timer_interrupt),
            },
            Way::Slurm => Carrying {
                start: when(costs.timer_interrupt + costs.context_switch),
                each: NETWORK_EACH_NS,
                latency: NETWORK_NS,
                jitter: NETWORK_JITTER_NS,
                received: when(2 * costs.context_switch + SET_CLASS_NS),
            },
        }
    }

    /// The CPU that coordinates has a slot of a gang begin or end everywhere.
    fn carry(&mut self, gang: u32, begins: bool) {
        let way = self.workload.gangs[gang as usize].way;
        let by = self.boot_cpu;
        let prices = self.carrying(way);
        let began = self.now.max(self.cpus[by as usize].busy_until);
        let mut at = began + prices.start;
        for cpu in self.gangs.accounts[gang as usize].outcome.cpus.clone() {
            at += prices.each;
            let far = match cpu == by {
                true => 0,
                false => {
                    let place = [self.now, u64::from(cpu), u64::from(gang)];
                    self.charger.interrupt_ns(by, cpu)
                        + prices.latency
                        + scatter(self.cfg.seed, place, prices.jitter)
                }
            };
            self.gangs.accounts[gang as usize].outcome.signals += u64::from(cpu != by);
            if cpu != by {
                self.report_sent(by, cpu, way.name());
            }
            self.post(at + far, GangMessage::Slot { cpu, gang, begins });
        }
        self.gangs.accounts[gang as usize].outcome.carry_ns += at - began;
        if self.charging {
            // What the network takes is not the CPU's time.
            let own = if way == Way::Slurm { prices.start + SET_CLASS_NS } else { at - began };
            self.charge_flat(by, own);
        }
    }

    /// The time of a slot is over.
    fn slot_ends(&mut self, gang: u32) {
        let spec = &self.workload.gangs[gang as usize];
        self.obs.event(self.now, &Event::GangSlot { gang, name: spec.manifest.name(), begins: false });
        if spec.way != Way::Locked {
            self.carry(gang, false);
        }
    }

    /// Notify a CPU that a slot begins or ends there.
    fn slot_message(&mut self, cpu: CpuNo, gang: u32, begins: bool) -> Result<()> {
        let received = self.carrying(self.workload.gangs[gang as usize].way).received;
        self.charge_flat(cpu, received);
        let slots = self.gangs.accounts[gang as usize].tracks[0].row.is_some();
        let (at, length_ns) = match begins {
            true => (self.now, ENDLESS_NS / 2),
            // There will be more, though not at a time that this CPU knows: members that wait go on waiting.
            false => (self.now + ENDLESS_NS - 1, 1),
        };
        let row = match slots || begins {
            true => Row { offset_ns: at % ENDLESS_NS, length_ns, period_ns: ENDLESS_NS },
            false => Row::default(),
        };
        self.hand_on(cpu, gang, &row, self.now)
    }

    /// A slot of a group of a gang begins: members that run have started.
    pub fn slot_begins(&mut self, index: u32) {
        let (gang, group) = (index / MAX_GROUPS as u32, index % MAX_GROUPS as u32);
        let now = self.now;
        let way = self.workload.gangs[gang as usize].way;
        let equal = self.gangs.clocks.as_ref().is_none_or(CpuClocks::is_equal);
        let account = &mut self.gangs.accounts[gang as usize];
        let track = &account.tracks[group as usize];
        let Some(row) = track.row.filter(|_| track.next == now) else { return };
        account.close(group as usize);
        let track = &mut account.tracks[group as usize];
        track.open = now;
        track.length = row.length_ns;
        track.blind = way == Way::Locked && !equal;
        track.next = row.next(now + 1).unwrap_or(NEVER);
        let (next, length_ns) = (track.next, row.length_ns);
        let name = &self.workload.gangs[gang as usize].manifest;
        self.obs.event(now, &Event::GangSlot { gang, name: name.name(), begins: true });
        self.push_slot(gang, group, next);
        self.post(now + length_ns, GangMessage::End(gang));
        if self.workload.gangs[gang as usize].way != Way::Locked {
            self.carry(gang, true);
        }
        for nth in 0..self.gangs.tasks[gang as usize].len() {
            let no = self.gangs.tasks[gang as usize][nth];
            let state = if no == NONE { State::Gone } else { self.tasks[no as usize].state };
            let on = if state == State::Running { self.running_on(no) } else { NONE };
            let account = &mut self.gangs.accounts[gang as usize];
            let home = if no == NONE { None } else { self.tasks[no as usize].home() };
            let is_here = home.is_some_and(|cpu| account.group(cpu) == group as usize);
            account.tracks[group as usize].started[nth] = match state {
                State::Gone | State::Blocked => Start::Absent,
                _ if !is_here => Start::Absent,
                // It may have begun by a clock that is ahead, and will by one that is behind.
                _ if on != NONE => Start::At(match &self.gangs.clocks {
                    Some(clocks) => clocks.begin(on, now).max(self.cpus[on as usize].slice_since),
                    None => now,
                }),
                _ => Start::Not,
            };
        }
    }

    /// A member of a gang starts on a CPU: if that is in its slot, it is noted once a slot.
    pub fn note_start(&mut self, no: TaskNo) {
        let task = &self.tasks[no as usize];
        let gangs = &mut self.gangs;
        let account = &mut gangs.accounts[task.gang as usize];
        let now = self.now;
        let Some(home) = task.home() else { return };
        let group = account.group(home);
        let track = &mut account.tracks[group];
        if track.open == NEVER || track.blind || now >= track.open + track.length {
            return;
        }
        let Some(nth) = gangs.tasks[task.gang as usize].iter().position(|t| *t == no) else { return };
        if track.started[nth] == Start::Not {
            track.started[nth] = Start::At(now);
            account.outcome.late_max_ns = account.outcome.late_max_ns.max(now - track.open);
        }
    }

    /// What became of the gangs.
    pub fn gang_outcomes(&mut self) -> Vec<GangOutcome> {
        let now = self.now;
        self.gangs
            .accounts
            .iter_mut()
            .map(|a| {
                for group in 0..MAX_GROUPS {
                    let track = &a.tracks[group];
                    if track.open != NEVER && track.open + track.length <= now {
                        a.close(group);
                    }
                }
                if a.tracks[1..].iter().any(|t| t.outcome.members > 0) {
                    let used = |t: &&Track| t.outcome.members > 0;
                    a.outcome.groups = a.tracks.iter().filter(used).map(|t| t.outcome.clone()).collect();
                }
                a.outcome.skew_mean_ns = a.skew_sum.checked_div(a.skewed).unwrap_or(0);
                a.outcome.clone()
            })
            .collect()
    }
}
