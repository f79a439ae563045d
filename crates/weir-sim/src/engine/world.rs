// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! External events: CPUs go online and offline, clocks change, messages are published.

use weir_core::event::{CpuNo, Event, Stop, TaskNo};
use weir_core::{Msg, Topic};

use super::Result;
use super::cpu::Mode;
use super::sim::{Sim, refused};
use super::task::NONE;
use super::{Command, Notice};
use weir_model::Error;
use weir_model::machine::MachineEvent;
use weir_model::scenario::{Publication, Subject};

impl<'a> Sim<'a> {
    /// Entry `index` of the list of machine events.
    pub fn machine_event(&mut self, index: u32) -> Result<()> {
        self.happen(self.machine_events[index as usize].1.clone())
    }

    /// Something happens to the machine.
    pub fn happen(&mut self, event: MachineEvent) -> Result<()> {
        match event {
            MachineEvent::Online(c) if self.known(c, "goes online") => self.online(c),
            MachineEvent::Offline(c) if self.known(c, "goes offline") => self.offline(c),
            MachineEvent::Frequency(c, hz) if self.known(c, "changes its clock") => {
                // What the machine says is a limit to what components ask for.
                self.cpus[c as usize].limit_hz = hz;
                self.frequency(c, self.clock_for(c))
            }
            MachineEvent::Battery(on) => self.publish_power(on),
            _ => Ok(()),
        }
    }

    fn known(&mut self, c: CpuNo, what: &str) -> bool {
        let known = (c as usize) < self.cpus.len();
        if !known {
            self.warn(format!(
                "CPU {c} {what} at {} ns, but the machine has only {}",
                self.now,
                weir_text::plural(self.cpus.len(), "CPU")
            ));
        }
        known
    }

    /// As if it was unplugged, and plugged in again.
    pub fn go_away(&mut self, c: CpuNo) -> Result<()> {
        self.offline(c)
    }

    pub fn come_back(&mut self, c: CpuNo) -> Result<()> {
        self.online(c)
    }

    fn online(&mut self, c: CpuNo) -> Result<()> {
        if self.cpus[c as usize].mode != Mode::Offline {
            return Ok(());
        }
        self.set_mode(c, Mode::Idle);
        self.cpus[c as usize].busy_until = self.now;
        self.choose_boot_cpu();
        self.obs.event(self.now, &Event::CpuOnline { cpu: c, online: true });
        let msg = Msg { cpu: Some(c), value: 1, ..Msg::default() };
        self.announce(c, Topic::CpuStatus, &msg, NONE)?;
        // A CPU that arrives asks for work of its own accord.
        if self.cpus[c as usize].cur == NONE && !self.cpus[c as usize].choosing {
            self.ask(c);
        }
        Ok(())
    }

    fn offline(&mut self, c: CpuNo) -> Result<()> {
        if self.cpus[c as usize].mode == Mode::Offline {
            return Ok(());
        }
        if self.cpus.iter().filter(|cpu| cpu.mode != Mode::Offline).count() == 1 {
            self.warn(format!("CPU {c} stayed online at {} ns: it was the last one", self.now));
            return Ok(());
        }
        while !self.cpus[c as usize].to_wake.is_empty() {
            self.wake_one_more(c)?;
        }
        if self.cpus[c as usize].cur != NONE {
            self.part(c, Stop::Preempted, true)?;
        }
        if self.cpus[c as usize].prev != NONE {
            let prev = self.cpus[c as usize].prev;
            self.report_parted(prev, false);
        }
        self.flush_calls(c);
        self.set_mode(c, Mode::Offline);
        let cpu = &mut self.cpus[c as usize];
        cpu.choosing = false;
        cpu.reported_idle = false;
        cpu.last = NONE;
        self.rekey(c);
        self.choose_boot_cpu();
        self.obs.event(self.now, &Event::CpuOnline { cpu: c, online: false });
        let msg = Msg { cpu: Some(c), value: 0, ..Msg::default() };
        self.announce(self.boot_cpu, Topic::CpuStatus, &msg, NONE)
    }

    /// The boot CPU is the first that is online and runs the scheduler; a CPU whose host has gone is
    /// served by it.
    fn choose_boot_cpu(&mut self) {
        let serves = |c: usize| self.machine.shape.cpus[c].host.is_none();
        let online = |c: usize| self.cpus[c].mode != Mode::Offline;
        let all = 0..self.cpus.len();
        let boot = all.clone().find(|&c| online(c) && serves(c)).or_else(|| all.clone().find(|&c| online(c)));
        self.boot_cpu = boot.unwrap_or(0) as CpuNo;
        for c in all {
            let host = match self.machine.shape.cpus[c].host {
                None => c as CpuNo,
                Some(h) if self.cpus[h as usize].mode != Mode::Offline => h,
                Some(_) => self.boot_cpu,
            };
            self.cpus[c].host = host;
        }
    }

    pub fn frequency(&mut self, c: CpuNo, hz: u64) -> Result<()> {
        self.progress(c);
        let cpu = &mut self.cpus[c as usize];
        cpu.settle(self.now);
        cpu.set_clock(self.machine, self.costs, c, hz);
        self.update_speed(c);
        self.rekey(c);
        self.obs.event(self.now, &Event::Frequency { cpu: c, hz });
        self.report_energy();
        let msg = Msg { cpu: Some(c), value: hz, ..Msg::default() };
        self.heat.announcing = Some((c, hz));
        let announced = self.announce(c, Topic::Frequency, &msg, NONE);
        self.heat.announcing = None;
        announced
    }

    /// Entry `index` of the script.
    pub fn command(&mut self, index: u32) -> Result<()> {
        let cfg = self.cfg;
        self.obey(&cfg.scripted[index as usize].1)
    }

    /// Do what was asked for from outside.
    pub fn obey(&mut self, command: &'a Command) -> Result<()> {
        match command {
            Command::Swap(plan) => self.swap(plan),
            Command::Notify(notice) => self.notice(notice),
            Command::Guest(guest, command) => self.command_inside(*guest, command),
        }
    }

    /// Publish a message of the script, which may change where a task may run.
    fn notice(&mut self, n: &'a Notice) -> Result<()> {
        if let (Topic::Affinity, Some(no)) = (n.topic, n.task)
            && let Some(task) = self.tasks.get_mut(no as usize)
        {
            task.cpus = n.mask.as_ref();
        }
        self.publish(n)
    }

    /// Publish what a scenario or a task's program says, on CPU `by`, about the task `task`.
    pub fn publish_for(&mut self, by: CpuNo, p: &Publication, task: Option<TaskNo>) -> Result<()> {
        let value = p.value.unwrap_or(0);
        let own = match p.topic {
            Subject::Standard(topic) => {
                return self
                    .publish_on(by, &Notice { topic, cpu: p.cpu, task, value, value2: 0, mask: None });
            }
            Subject::Own(own) => own,
        };
        let words = p.payload().map_err(|e| Error::run(e.message).help(e.help))?;
        let no = task.unwrap_or(NONE);
        let id = task.and_then(|no| self.tasks.get(no as usize)).map(|t| t.id);
        let msg = Msg { cpu: p.cpu, task: id, value, ..Msg::default() };
        let h = self.caller(by);
        if self.sched.topic_find(own).is_err() {
            self.warn(format!(
                "no component of `{}` has the topic {}: messages of it are lost",
                self.plan.name, own.name
            ));
            return Ok(());
        }
        self.notices += 1;
        self.sched_on(h).publish_own(h, own, &msg, &words).map_err(|e| refused("take a message", &e))?;
        let value = words.first().copied().unwrap_or(value);
        let cpu = msg.cpu.unwrap_or(by);
        let task = (no != NONE).then_some(no);
        self.obs.event(self.now, &Event::Message { topic: &own.name, cpu, task, value });
        self.account(h, weir_core::event::Call::Notify);
        Ok(())
    }

    /// Ask on CPU `by` what is known in a topic about the task `no`.
    pub fn request_for(&mut self, by: CpuNo, topic: Subject, no: TaskNo) -> Result<()> {
        let h = self.caller(by);
        let task = self.tasks.get(no as usize).map(|t| t.id);
        let number = match topic {
            Subject::Standard(t) => Ok(t as u32),
            Subject::Own(own) => self.sched.topic_find(own),
        };
        let msg = Msg { cpu: Some(by), task, ..Msg::default() };
        match number.and_then(|n| self.sched_on(h).ask(h, n, &msg)) {
            Ok(reply) => {
                let value = reply.data.first().copied().unwrap_or(reply.value);
                self.obs.event(self.now, &Event::Reply { topic: topic.name(), cpu: by, task: no, value });
            }
            Err(_) => {
                let message = format!(
                    "no component of `{}` answers {}: requests of it fail",
                    self.plan.name,
                    topic.name()
                );
                self.warn(message);
            }
        }
        self.account(h, weir_core::event::Call::Notify);
        Ok(())
    }

    /// Publish a message from outside.
    pub fn publish(&mut self, n: &Notice) -> Result<()> {
        self.publish_on(self.boot_cpu, n)
    }

    fn publish_on(&mut self, by: CpuNo, n: &Notice) -> Result<()> {
        let Some(no) = n.task else {
            let msg = Msg { cpu: n.cpu, task: None, value: n.value, value2: n.value2, mask: n.mask.clone() };
            return self.announce(by, n.topic, &msg, NONE);
        };
        let Some(task) = self.tasks.get_mut(no as usize) else {
            self.warn(format!("a message at {} ns names task {no}, which does not exist then", self.now));
            return Ok(());
        };
        if task.state == super::task::State::Gone {
            self.warn(format!("a message at {} ns names task {no}, which has ended", self.now));
            return Ok(());
        }
        match n.topic {
            Topic::Priority => self.set_priority(no, n.value as i64 as i32, by)?,
            Topic::Isa => self.set_isa(no, n.value as u16, by)?,
            Topic::Affinity => self.publish_affinity(no, by)?,
            _ => {
                let msg = Msg {
                    cpu: n.cpu,
                    task: Some(task.id),
                    value: n.value,
                    value2: n.value2,
                    mask: n.mask.clone(),
                };
                return self.announce(by, n.topic, &msg, no);
            }
        }
        // A running task that may not stay where it is, or may have become less urgent, gives way.
        let on = self.running_on(no);
        if on != NONE {
            self.part(on, Stop::Preempted, true)?;
        }
        Ok(())
    }
}
