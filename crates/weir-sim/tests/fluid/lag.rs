// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Proportionate fairness: under PD2 no task is ever a whole quantum ahead of its share or behind it.

use weir_core::event::{Event, Observer};

use crate::run::{plan, run, workload};
use crate::sets::{Dice, MS, Set, full};

/// Time for which each task has run, and the quanta that were looked at.
struct Lags<'a> {
    set: &'a Set,
    since: Vec<Option<u64>>,
    ran: Vec<u64>,
    quantum: u64,
}

impl Lags<'_> {
    /// At each beginning of a quantum up to `time`: |C t / P - ran| < 1, in whole numbers.
    fn look(&mut self, time: u64) {
        while (self.quantum + 1) * MS <= time {
            self.quantum += 1;
            let at = self.quantum * MS;
            for (i, t) in self.set.tasks.iter().enumerate() {
                let ran = self.ran[i] + self.since[i].map_or(0, |s| at - s);
                let (share, had) = ((t.wcet * at) as i128, (ran * t.period) as i128);
                let bound = (t.period * MS) as i128;
                assert!((share - had).abs() < bound, "task {i} at {at}: {:?}", self.set);
            }
        }
    }
}

impl Observer for Lags<'_> {
    fn event(&mut self, time: u64, e: &Event<'_>) {
        self.look(time);
        match *e {
            Event::Run { task, .. } => self.since[task as usize] = Some(time),
            Event::Off { task, .. } => {
                let since = self.since[task as usize].take().expect("it ran");
                self.ran[task as usize] += time - since;
            }
            _ => {}
        }
    }
}

#[test]
fn pd2_is_proportionate_at_every_quantum() {
    for m in [2u32, 4, 8] {
        let plan = plan("pd2", m);
        let mut dice = Dice::new(100 + u64::from(m));
        for _ in 0..20 {
            let set = full(m.into(), &mut dice);
            let n = set.tasks.len();
            let mut lags = Lags { set: &set, since: vec![None; n], ran: vec![0; n], quantum: 0 };
            let end = 2 * set.hyperperiod;
            run(&plan, m, &workload(&set.tasks, MS), end * MS, &mut lags);
            assert!(lags.quantum >= end - 1, "{} quanta of {end}", lags.quantum);
        }
    }
}
