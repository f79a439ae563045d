// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Invariants of the engine, checked after every event if the user requests it.

use super::cpu::Mode;
use super::sim::Sim;
use super::task::{NONE, State};

impl Sim<'_> {
    /// Every task is in exactly one state, engine and core agree on how many are schedulable, every CPU
    /// that has something to do has an event. Panics with the invariant's name.
    pub fn check(&self) {
        let count = |state| self.tasks.iter().filter(|t| t.state == state).count() as u32;
        assert_eq!(count(State::Ready), self.census.ready, "invariant ready-count");
        assert_eq!(count(State::Running), self.census.running, "invariant running-count");
        assert_eq!(self.tasks.len() as u32 - count(State::Gone), self.census.alive, "invariant alive-count");
        let timed =
            self.tasks.iter().filter(|t| t.state == State::Blocked && t.wait.is_timed()).count() as u32;
        assert_eq!(timed, self.census.timed, "invariant timed-count");
        let spinning = self.tasks.iter().filter(|t| t.spins.is_some() || t.looks > 0).count() as u32;
        assert_eq!(spinning, self.census.spinning, "invariant spinning-count");

        let mut on_cpus = 0;
        for (c, cpu) in self.cpus.iter().enumerate() {
            if cpu.cur != NONE {
                on_cpus += 1;
                let task = &self.tasks[cpu.cur as usize];
                assert_eq!(task.state, State::Running, "invariant running-state of task {}", cpu.cur);
                assert!(cpu.starting || task.cpu == c as u32, "invariant running-cpu of task {}", cpu.cur);
            }
            let has_event = self.queue.has(c as u32);
            match cpu.mode {
                Mode::Offline => assert!(!has_event && cpu.cur == NONE, "invariant offline of CPU {c}"),
                _ if cpu.held => assert!(!has_event, "invariant held of CPU {c}"),
                Mode::Idle => {
                    assert!(cpu.cur == NONE && has_event == cpu.choosing, "invariant idle of CPU {c}")
                }
                Mode::Kernel => assert!(has_event, "invariant kernel of CPU {c}"),
                Mode::Run => assert!(cpu.cur != NONE, "invariant run of CPU {c}"),
            }
        }
        self.check_lines();
        assert_eq!(on_cpus, self.census.running, "invariant one-cpu-a-task");

        if let Some(schedulable) = self.sched.schedulable_in_domains() {
            assert_eq!(schedulable, self.census.ready, "invariant schedulable-count (engine and domains)");
            return;
        }
        let mut entries = self.plan.entries.clone();
        entries.sort_unstable();
        entries.dedup();
        let schedulable: u32 = entries.iter().map(|&p| self.sched.pipe_len(p)).sum();
        assert_eq!(schedulable, self.census.ready, "invariant schedulable-count (engine and core)");
    }
}
