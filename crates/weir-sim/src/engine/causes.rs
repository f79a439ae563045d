// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Why tasks wait, for observers that request it: their reasons, the tasks that wake them, their progress.

use weir_core::event::{Call, CpuNo, Event, TaskNo};

use super::sim::Sim;
use super::task::{NONE, State, Wait};

/// With more tasks than this, moves by a balancer are not searched for; each task's pipe is reported when it becomes ready.
const MANY: usize = 1 << 14;

impl Sim<'_> {
    /// `no` is about to wait, or waits for something else than before.
    pub fn report_wait(&mut self, no: TaskNo, wait: Wait) {
        let w = self.workload;
        let (what, holder) = match wait {
            Wait::No | Wait::Sent => return,
            Wait::Time => ("time".into(), None),
            Wait::Release => ("release".into(), None),
            Wait::Device => ("device".into(), None),
            Wait::Mutex(m) => {
                let owner = self.objects.mutexes[m as usize].owner;
                // A ceiling: the mutex is free, another one is in the way.
                let holder = owner.filter(|&o| o != no).or_else(|| self.in_the_way_of(no));
                (format!("mutex {}", w.mutexes[m as usize]), holder)
            }
            Wait::Condition(c, _) => (format!("condition {}", w.conditions[c as usize]), None),
            Wait::Event(e) => (format!("event {}", w.events[e as usize]), None),
            Wait::Barrier(b) => (format!("barrier {}", w.barriers[b as usize].0), None),
            Wait::Read(c) => (format!("data in {}", w.channels[c as usize].0), None),
            Wait::Write(c) => (format!("room in {}", w.channels[c as usize].0), None),
            Wait::Join => ("the nodes before it".into(), None),
            Wait::Vcpu(g) => (format!("work in {}", w.guests[g as usize].name), None),
        };
        self.obs.event(self.now, &Event::WaitsFor { task: no, what: &what, holder });
    }

    /// `no` is about to become ready, through `by`.
    pub fn report_waker(&mut self, no: TaskNo, by: CpuNo, timed: bool) {
        let runs = self.cpus.get(by as usize).map_or(NONE, |c| if c.starting { NONE } else { c.cur });
        let by = (!timed && runs != NONE && runs != no).then_some(runs);
        self.obs.event(self.now, &Event::Woken { task: no, by });
    }

    /// Where `no` may run from now on, unless it was and is free to run everywhere.
    pub fn report_allowed(&mut self, no: TaskNo) {
        if !self.cfg.causes {
            return;
        }
        let task = &self.tasks[no as usize];
        let cpus = match task.cpus {
            Some(cpus) => cpus.to_string(),
            None if task.admitted => format!("0-{}", self.cpus.len().saturating_sub(1)),
            None => return,
        };
        self.obs.event(self.now, &Event::Allowed { task: no, cpus: &cpus });
    }

    /// How far the ready task `no` has got, if that is news.
    #[inline(always)]
    pub fn report_place(&mut self, no: TaskNo) {
        if self.cfg.causes {
            self.report_where(no);
        }
    }

    fn report_where(&mut self, no: TaskNo) {
        let task = &self.tasks[no as usize];
        if task.state != State::Ready || task.parted.is_some() {
            return;
        }
        if let Some(pipe) = self.sched.stands(task.id) {
            if self.places.len() <= no as usize {
                self.places.resize(no as usize + 1, NONE);
            }
            self.places[no as usize] = pipe;
            self.obs.event(self.now, &Event::Stands { task: no, pipe });
        }
    }

    /// A topology took over, with pipes of its own.
    pub fn report_places(&mut self) {
        if self.cfg.causes {
            for no in 0..self.tasks.len() {
                self.report_place(no as TaskNo);
            }
        }
    }

    /// A call that adds tasks to pipes without being about one of them has moved others.
    pub fn report_moves(&mut self, call: Call) {
        if matches!(call, Call::Admit | Call::Unblock | Call::Relinquish | Call::Swap)
            || self.places.len() > MANY
            || !self.sched.ops().iter().any(|op| op.joins())
        {
            return;
        }
        for no in 0..self.places.len() {
            let task = &self.tasks[no];
            if task.state == State::Ready
                && task.parted.is_none()
                && self.sched.stands(task.id).is_some_and(|p| p != self.places[no])
            {
                self.report_place(no as TaskNo);
            }
        }
    }
}
