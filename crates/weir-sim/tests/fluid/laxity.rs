// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `llf`, `llf-tick`, `edf-tick` and `edzl-tick` against an independent model of the hardware scheduling engine (Mancuso et al., V-B): a
//! deadline counter and a computation counter a task, and at each tick the least laxities (or times to the deadline, or these but
//! jobs without laxity first), ties by the decision before and then by number, tasks that are chosen again where they are, others on free CPUs in order.

use crate::run::{compile, plan};
use crate::sets::{Dice, Task};
use crate::ticks::{Row, per_cpu};

/// The policies, as the parameter `by` numbers them.
const LLF: u32 = 0;
const EDF: u32 = 1;
const EDZL: u32 = 2;

/// The counters of a task.
#[derive(Clone, Copy, Default)]
struct Monitor {
    deadline: i64,
    computation: i64,
    runnable: bool,
}

/// The engine: rules that can be switched off, as in the component.
struct Engine<'a> {
    tasks: &'a [Task],
    monitors: Vec<Monitor>,
    chosen: Row,
    ties: bool,
    stay: bool,
    by: u32,
}

impl<'a> Engine<'a> {
    fn new(tasks: &'a [Task], cpus: u32) -> Self {
        let monitors = vec![Monitor::default(); tasks.len()];
        Self { tasks, monitors, chosen: vec![None; cpus as usize], ties: true, stay: true, by: LLF }
    }

    /// Tick `now`: the counters of the tick that ends, new jobs, a decision. Error: a deadline was missed.
    fn tick(&mut self, now: u64) -> Result<(), ()> {
        for (i, (task, m)) in self.tasks.iter().zip(&mut self.monitors).enumerate() {
            m.deadline -= 1;
            if m.runnable && self.chosen.contains(&Some(i as u32)) {
                m.computation -= 1;
                m.runnable = m.computation > 0;
            }
            if now >= task.offset && (now - task.offset).is_multiple_of(task.period) {
                if m.runnable {
                    return Err(());
                }
                *m = Monitor { deadline: task.period as i64, computation: task.wcet as i64, runnable: true };
            }
        }
        let was = |t: u32| self.ties && self.chosen.contains(&Some(t));
        let mut order: Vec<u32> =
            (0..self.tasks.len() as u32).filter(|t| self.monitors[*t as usize].runnable).collect();
        order.sort_by_key(|t| {
            let m = &self.monitors[*t as usize];
            let laxity = m.deadline - m.computation;
            let urgency = match self.by {
                LLF => (0, laxity),
                EDZL if laxity <= 0 => (0, 0),
                _ => (1, m.deadline),
            };
            (urgency, !was(*t), *t)
        });
        order.truncate(self.chosen.len());
        let kept = |c: &Option<u32>| c.filter(|t| self.stay && order.contains(t));
        let mut next: Row = self.chosen.iter().map(kept).collect();
        for t in order {
            if !next.contains(&Some(t)) {
                *next.iter_mut().find(|c| c.is_none()).expect("no more are chosen than there are CPUs") =
                    Some(t);
            }
        }
        self.chosen = next;
        Ok(())
    }

    /// The decisions of the first `end` ticks, or of those before a deadline is missed.
    fn run(mut self, end: u64) -> Vec<Row> {
        (0..end).map_while(|now| self.tick(now).ok().map(|()| self.chosen.clone())).collect()
    }
}

/// How often a CPU switches to another task, or to none.
fn interrupts(rows: &[Row]) -> usize {
    let first = vec![None; rows[0].len()];
    let before = std::iter::once(&first).chain(rows);
    rows.iter().zip(before).map(|(row, was)| row.iter().zip(was).filter(|(a, b)| a != b).count()).sum()
}

/// Rows by the numbers of the tasks, as in "01 12 2-".
fn shown(rows: &[Row]) -> String {
    let name = |t: &Option<u32>| t.map_or("-".into(), |t| t.to_string());
    rows.iter().map(|row| row.iter().map(name).collect::<String>()).collect::<Vec<_>>().join(" ")
}

/// A set of tasks (computing time, period), its CPUs, the schedule in ticks and the interrupts.
type Vector<'a> = (&'a [(u64, u64)], u32, &'a str, usize);

const GOLDEN: [Vector<'_>; 3] = [
    (&[(5, 10), (5, 10)], 1, "0 1 1 0 0 1 1 0 0 1", 6),
    (&[(2, 3), (2, 3), (2, 3)], 2, "01 02 12 12 10 20 20 10 12 12 10 20", 10),
    (&[(2, 10), (2, 10), (9, 10)], 2, "20 21 21 20 2- 2- 2- 2- 2- --", 6),
];

fn set(tasks: &[(u64, u64)]) -> Vec<Task> {
    tasks.iter().map(|&(wcet, period)| Task { wcet, period, offset: 0 }).collect()
}

#[test]
fn golden_vectors() {
    for (tasks, cpus, schedule, count) in GOLDEN {
        let tasks = set(tasks);
        let end = schedule.split(' ').count() as u64;
        let model = Engine::new(&tasks, cpus).run(end);
        assert_eq!((shown(&model).as_str(), interrupts(&model)), (schedule, count));
        for topology in ["llf", "llf-tick"] {
            let (rows, missed) = per_cpu(&plan(topology, cpus), cpus, &tasks, end);
            assert_eq!((shown(&rows).as_str(), missed), (schedule, 0), "{topology}");
        }
    }
}

/// The second vector under the engine's other policies: EDZL gives LLF's schedule with its 10 interrupts, EDF misses one
/// job a period. The third: EDF misses the long task, EDZL needs one interrupt less than LLF.
#[test]
fn golden_vectors_of_the_other_policies() {
    let [_, two, three] = GOLDEN;
    let made = |by: u32, topology: &str, (tasks, cpus, end): (&[(u64, u64)], u32, u64)| {
        let tasks = set(tasks);
        let mut engine = Engine::new(&tasks, cpus);
        engine.by = by;
        let model = engine.run(end);
        let (rows, missed) = per_cpu(&plan(topology, cpus), cpus, &tasks, end + 1);
        assert_eq!(shown(&rows[..model.len()]), shown(&model), "{topology}");
        (shown(&rows[..end as usize]), interrupts(&rows[..end as usize]), missed)
    };
    let v2 = |by, topology| made(by, topology, (two.0, two.1, 12));
    assert_eq!(v2(EDZL, "edzl-tick"), (two.2.to_string(), two.3, 0));
    assert_eq!(v2(EDF, "edf-tick").2, 4, "one job a period");
    let v3 = |by, topology| made(by, topology, (three.0, three.1, 10));
    let (_, count, missed) = v3(EDZL, "edzl-tick");
    assert_eq!((count, missed), (5, 0));
    assert_eq!(v3(EDF, "edf-tick").2, 1);
}

/// Without the rule about equals the tie of the first vector changes the task at each tick.
#[test]
fn without_the_tie_rule() {
    let tasks = set(GOLDEN[0].0);
    let text =
        "annotate affinity, deadline, executed, job; entry -> laxity(ties = false) -> each cpu { -> cpu };";
    let (rows, missed) = per_cpu(&compile("no-ties", text, 1), 1, &tasks, 10);
    assert_eq!((shown(&rows).as_str(), interrupts(&rows), missed), ("0 1 0 1 0 1 0 1 0 1", 10, 0));
}

/// Random sets, loaded up to the number of CPUs: the same task on the same CPU in each tick, until the first miss.
#[test]
fn the_engine_tick_by_tick() {
    tick_by_tick(LLF, 34, 15);
}

#[test]
fn edf_tick_by_tick() {
    tick_by_tick(EDF, 35, 5);
}

#[test]
fn edzl_tick_by_tick() {
    tick_by_tick(EDZL, 36, 15);
}

/// `least`: so many schedules of each number of CPUs are to be without a miss.
fn tick_by_tick(by: u32, seed: u64, least: u32) {
    let mut dice = Dice::new(seed);
    let rules = [(true, true), (false, true), (true, false), (false, false)];
    for cpus in 1..=4u32 {
        let plans = rules.map(|(ties, stay)| {
            let text = |eager: bool| {
                let params = format!("by = {by}, eager = {eager}, ties = {ties}, stay = {stay}");
                format!("annotate affinity, deadline, executed, job; entry -> laxity({params}) -> each cpu {{ -> cpu }};")
            };
            [true, false].map(|eager| compile("rules", &text(eager), cpus))
        });
        let mut whole = 0;
        for i in 0..10 {
            let tasks = random(u64::from(cpus), &mut dice);
            for ((ties, stay), plans) in rules.iter().zip(&plans) {
                let mut engine = Engine::new(&tasks, cpus);
                (engine.ties, engine.stay, engine.by) = (*ties, *stay, by);
                let model = engine.run(120);
                whole += u32::from(model.len() == 120);
                for plan in plans {
                    let (rows, _) = per_cpu(plan, cpus, &tasks, model.len() as u64);
                    assert_eq!(shown(&rows), shown(&model), "set {i} on {cpus} CPUs: {tasks:?}");
                }
            }
        }
        assert!(whole >= least, "only {whole} schedules on {cpus} CPUs were seen without a miss");
    }
}

/// Some tasks with whole numbers, first jobs at different times, that load `cpus` CPUs by at most all.
fn random(cpus: u64, dice: &mut Dice) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut load = 0;
    for _ in 0..3 * cpus + 1 {
        let period = [4, 5, 6, 8, 10, 12, 15, 20, 24, 30][dice.below(10) as usize];
        let wcet = 1 + dice.below(period - 1);
        if load + wcet * 120 / period <= cpus * 120 {
            load += wcet * 120 / period;
            tasks.push(Task { wcet, period, offset: dice.below(3) * dice.below(4) });
        }
    }
    tasks
}
