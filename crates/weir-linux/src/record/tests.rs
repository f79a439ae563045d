// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Recordings of a toy kernel: whole streams must come out exactly, torn ones must stay sound.

use std::collections::BTreeMap;

use proptest::prelude::*;
use weir_core::event::{Call, Event, Observer, Stop, Urgency};
use weir_report::{Meta, Metrics, Summary, Trace};

use super::*;
use crate::event::{LiveEventKind as Kind, Waker};

const CPUS: u32 = 3;
const START: u64 = 1_000_000;
const NORMAL: Urgency = Urgency { prio: 120, policy: 0 };

/// Checks what every observer may rely on.
#[derive(Default)]
struct Checker {
    now: u64,
    alive: Vec<bool>,
    /// CPU that runs the task, since, and scheduler time within.
    running: BTreeMap<u32, (u32, u64, u64)>,
    on_cpu: BTreeMap<u32, u32>,
    ready: BTreeMap<u32, (u64, bool)>,
    last_cpu: BTreeMap<u32, u32>,
    last_task: BTreeMap<u32, u32>,
    open_job: BTreeMap<u32, (u32, u64)>,
    spent: BTreeMap<u32, u64>,
    preempted: u64,
    done: u64,
}

impl Observer for Checker {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        assert!(t >= self.now, "time went back");
        self.now = t;
        let alive = |s: &Self, task: u32| assert!(s.alive[task as usize], "{event:?}: no such task");
        match *event {
            Event::TaskNew { task, name, .. } => {
                assert_eq!(task as usize, self.alive.len(), "numbers are dense");
                assert!(!name.is_empty());
                self.alive.push(true);
            }
            Event::TaskName { task, .. } => alive(self, task),
            Event::TaskExit { task } => {
                alive(self, task);
                assert!(!self.running.contains_key(&task), "a task ended on its CPU");
                self.alive[task as usize] = false;
                self.ready.remove(&task);
            }
            Event::JobRelease { task, job, .. } => {
                alive(self, task);
                let next = self.open_job.get(&task).map_or(0, |(job, _)| job + 1);
                assert!(job >= next || job == 0, "jobs count up");
                self.open_job.insert(task, (job, t));
            }
            Event::JobDone { task, job, response_ns, .. } => {
                alive(self, task);
                assert_eq!(self.open_job.get(&task), Some(&(job, t - response_ns)));
                self.done += 1;
            }
            Event::Ready { task, wakeup } => {
                alive(self, task);
                assert!(!self.running.contains_key(&task), "ready while it runs");
                assert!(self.ready.insert(task, (t, wakeup)).is_none(), "ready twice");
            }
            Event::Run { task, cpu, migrated, switched, wakeup, waited_ns } => {
                alive(self, task);
                assert!(self.running.insert(task, (cpu, t, 0)).is_none(), "runs twice");
                assert!(self.on_cpu.insert(cpu, task).is_none(), "two tasks on CPU {cpu}");
                assert_eq!(migrated, self.last_cpu.insert(task, cpu).is_some_and(|c| c != cpu));
                assert_eq!(switched, self.last_task.insert(cpu, task) != Some(task));
                match self.ready.remove(&task) {
                    Some((since, woken)) => {
                        assert_eq!(waited_ns, t - since);
                        assert!(woken || !wakeup);
                    }
                    None => assert_eq!((waited_ns, wakeup), (0, false)),
                }
            }
            Event::Off { task, cpu, ran_ns, .. } => {
                alive(self, task);
                let (on, since, nested) = self.running.remove(&task).expect("off without a run");
                assert_eq!((on, self.on_cpu.remove(&cpu)), (cpu, Some(task)));
                assert_eq!(ran_ns, t - since - nested, "time on the CPU less the scheduler's");
                *self.spent.entry(cpu).or_default() += ran_ns;
            }
            Event::Preempted { task, .. } => {
                alive(self, task);
                self.preempted += 1;
            }
            Event::Sched { cpu, ns, .. } => {
                *self.spent.entry(cpu).or_default() += ns;
                if let Some(task) = self.on_cpu.get(&cpu) {
                    let (_, since, nested) = self.running.get_mut(task).expect("it runs");
                    *nested += ns.min(t - *since);
                    assert!(*nested <= t - *since, "more scheduler time than time");
                }
            }
            _ => {}
        }
        for (cpu, spent) in &self.spent {
            assert!(*spent <= t, "CPU {cpu} spent more than there was");
        }
    }
}

/// A kernel that carries out requests where that is possible.
#[derive(Default)]
struct Toy {
    now: u64,
    /// State of a task: 0 blocked, 1 ready, 2 running.
    tasks: BTreeMap<u32, (u8, u32)>,
    on_cpu: BTreeMap<u32, u32>,
    pids: u32,
    events: Vec<LiveEvent>,
    wakeups: u64,
    runs: u64,
    blocks: u64,
    preempted: u64,
    sliced: BTreeMap<u32, u32>,
}

impl Toy {
    /// No two events at one instant, so that time alone gives their order back.
    fn emit(&mut self, cpu: u32, kind: Kind) {
        self.now += 1;
        self.events.push(LiveEvent { t_ns: START + self.now, cpu, kind });
    }

    fn off(&mut self, cpu: u32, why: Stop) {
        let Some(task) = self.on_cpu.remove(&cpu) else { return };
        self.emit(cpu, Kind::Off { task, why });
        let next = if why == Stop::Block { 0 } else { 1 };
        self.tasks.get_mut(&task).expect("it ran").0 = next;
        match why {
            Stop::Block => self.blocks += 1,
            Stop::Preempted => self.preempted += 1,
            Stop::SliceEnd => {
                self.sliced.insert(cpu, task);
            }
            _ => {}
        }
        if next == 1 {
            self.emit(cpu, Kind::Ready { task, wakeup: false, by: Waker::Unknown });
        }
    }

    fn step(&mut self, (what, a, b, dt): (u8, u8, u8, u16)) {
        self.now += u64::from(dt);
        let (task, cpu) = (u32::from(a) % 6, u32::from(b) % CPUS);
        match what % 9 {
            0 | 1 => match self.tasks.get(&task).copied() {
                None => {
                    self.pids += 1;
                    let (pid, comm) = (self.pids, format!("t{}", a % 4));
                    self.emit(cpu, Kind::Task { task, pid, tgid: pid, urgency: NORMAL, comm });
                    self.tasks.insert(task, (0, pid));
                }
                Some((0, _)) => {
                    self.tasks.get_mut(&task).expect("it is there").0 = 1;
                    self.wakeups += 1;
                    self.emit(cpu, Kind::Ready { task, wakeup: true, by: Waker::Unknown });
                }
                Some(_) => {}
            },
            2..=4 => {
                let Some((1, _)) = self.tasks.get(&task) else { return };
                self.off(cpu, if what % 2 == 0 { Stop::Preempted } else { Stop::SliceEnd });
                let elsewhere = self.sliced.iter().find(|s| *s.0 != cpu && *s.1 == task).map(|s| *s.0);
                if let Some(sliced) = elsewhere {
                    self.sliced.remove(&sliced);
                }
                if let Some(before) = self.sliced.remove(&cpu) {
                    self.preempted += u64::from(before != task);
                }
                self.runs += 1;
                self.on_cpu.insert(cpu, task);
                self.tasks.get_mut(&task).expect("it is there").0 = 2;
                self.emit(cpu, Kind::Run { task });
            }
            5 => self.off(cpu, Stop::Block),
            6 => match self.on_cpu.get(&cpu) {
                Some(_) => self.off(cpu, Stop::Yield),
                None => {
                    self.sliced.remove(&cpu);
                    self.emit(cpu, Kind::Idle { idle: true });
                }
            },
            7 => self.emit(cpu, Kind::Sched { call: Call::Pick, ns: u64::from(a) * 50 }),
            _ => {
                if let Some((0, _)) = self.tasks.get(&task) {
                    self.tasks.remove(&task);
                    self.sliced.retain(|_, t| *t != task);
                    self.emit(cpu, Kind::Exit { task });
                }
            }
        }
    }
}

fn nobody() -> Resolve {
    Box::new(|_| None)
}

fn steps() -> impl Strategy<Value = Vec<(u8, u8, u8, u16)>> {
    proptest::collection::vec(any::<(u8, u8, u8, u16)>(), 0..300)
}

/// The history with its length.
fn history(steps: &[(u8, u8, u8, u16)]) -> Toy {
    let mut toy = Toy::default();
    steps.iter().for_each(|s| toy.step(*s));
    toy
}

fn play(events: &[LiveEvent], end: u64) -> Recording<(Checker, Metrics)> {
    let metrics = Metrics::new(Meta { nr_cpus: CPUS, ..Meta::default() });
    let mut recorder = Recorder::new("toy", Some(START), (Checker::default(), metrics), nobody());
    for event in events {
        recorder.event(event);
    }
    recorder.finish(START + end)
}

fn sound(summary: &Summary) {
    for cpu in &summary.cpus {
        let sum = cpu.busy_ns + cpu.idle_ns + cpu.scheduler_ns + cpu.offline_ns;
        assert_eq!(sum, summary.duration_ns, "CPU {}", cpu.cpu);
    }
    let t = &summary.totals;
    assert!(t.busy_ns + t.scheduler_ns <= summary.duration_ns * u64::from(CPUS));
    assert!(t.jobs_completed <= t.jobs);
    assert_eq!(summary.tasks.iter().map(|t| t.cpu_ns).sum::<u64>(), t.busy_ns);
    for task in &summary.tasks {
        assert!(task.cpu_ns + task.wait_ns <= summary.duration_ns, "{task:?}");
    }
}

/// The same cases in every run, so that a failure is a change's own; `PROPTEST_RNG_SEED` asks for others.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let rng_seed = match std::env::var_os("PROPTEST_RNG_SEED") {
        Some(_) => default.rng_seed,
        None => proptest::test_runner::RngSeed::Fixed(1),
    };
    ProptestConfig { rng_seed, failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(config())]

    /// A whole stream, out of order by less than the window, comes out exactly.
    #[test]
    fn whole_streams_are_exact(steps in steps(), jitter in proptest::collection::vec(0..WINDOW_NS, 300)) {
        let toy = history(&steps);
        let mut order: Vec<(u64, usize)> =
            toy.events.iter().enumerate().map(|(i, e)| (e.t_ns + jitter[i % 300], i)).collect();
        order.sort_unstable();
        let arrived: Vec<LiveEvent> = order.iter().map(|(_, i)| toy.events[*i].clone()).collect();
        let done = play(&arrived, toy.now);
        prop_assert_eq!((done.counts.late, done.counts.mended, done.counts.nameless), (0, 0, 0));
        prop_assert_eq!(done.counts.events as usize, toy.events.len());
        prop_assert_eq!(done.threads.len(), toy.pids as usize);
        let (checker, metrics) = done.observer;
        let summary = metrics.finish(done.duration_ns);
        sound(&summary);
        prop_assert_eq!(summary.totals.jobs, toy.wakeups);
        prop_assert_eq!(summary.totals.jobs_completed, toy.blocks);
        prop_assert_eq!(summary.totals.preemptions, toy.preempted);
        prop_assert_eq!(checker.on_cpu.len(), toy.on_cpu.len());
        prop_assert_eq!(summary.totals.decisions > 0 || toy.runs == 0, true);
    }

    /// Events that are lost, repeated or come much too late leave a stream that is sound.
    #[test]
    fn torn_streams_are_sound(
        steps in steps(),
        fate in proptest::collection::vec(0u8..12, 1..400),
    ) {
        let toy = history(&steps);
        let mut events = Vec::new();
        let mut late = Vec::new();
        for (event, fate) in toy.events.iter().zip(fate.iter().cycle()) {
            match fate {
                0 | 1 => {}
                2 => events.extend([event.clone(), event.clone()]),
                3 => late.push(event.clone()),
                _ => events.push(event.clone()),
            }
        }
        events.extend(late);
        let done = play(&events, toy.now);
        prop_assert!(done.counts.nameless <= done.threads.len() as u64);
        sound(&done.observer.1.finish(done.duration_ns));
    }

    /// Records of any content.
    #[test]
    fn arbitrary_events_are_sound(
        words in proptest::collection::vec((0u64..1_000_000_000, 0u32..14, 0u32..5, 0u32..5, 0u64..6), 0..200)
    ) {
        let mut events = Vec::new();
        for (t, kind, cpu, task, value) in words {
            let mut record = t.to_ne_bytes().to_vec();
            for word in [kind, cpu, task, value as u32] {
                record.extend(word.to_ne_bytes());
            }
            record.extend(value.to_ne_bytes());
            record.resize(crate::event::EVENT_BYTES, b'x');
            events.extend(LiveEvent::decode(&record));
        }
        let done = play(&events, 2_000_000_000);
        sound(&done.observer.1.finish(done.duration_ns));
    }
}

fn at(t_ns: u64, cpu: u32, kind: Kind) -> LiveEvent {
    LiveEvent { t_ns: START + t_ns, cpu, kind }
}

fn task(task: u32, pid: u32, comm: &str) -> Kind {
    Kind::Task { task, pid, tgid: pid, urgency: NORMAL, comm: comm.into() }
}

/// What is reported of wakers.
#[derive(Default)]
struct Wakers(Vec<(u32, Option<u32>)>);

impl Observer for Wakers {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        if let Event::Woken { task, by } = event {
            self.0.push((*task, *by));
        }
    }
}

#[test]
fn a_waker_is_a_thread_of_ours_or_an_interrupt() {
    let wake = |task, by| Kind::Ready { task, wakeup: true, by };
    let off = |task| Kind::Off { task, why: Stop::Block };
    let mut recorder = Recorder::new("toy", Some(START), Wakers::default(), Box::new(|_| None));
    for event in [
        at(0, 0, task(4, 77, "server")),
        at(0, 0, task(5, 78, "client")),
        at(10, 0, wake(4, Waker::Thread(78))),
        // It is ready already: that this thread also woke it changes nothing.
        at(11, 0, wake(4, Waker::Interrupt)),
        at(20, 0, Kind::Run { task: 4 }),
        at(30, 0, off(4)),
        at(40, 0, wake(4, Waker::Interrupt)),
        at(41, 0, Kind::Run { task: 4 }),
        at(42, 0, off(4)),
        // Not a thread that the recording knows; the thread itself; not known.
        at(50, 0, wake(4, Waker::Thread(1))),
        at(51, 0, Kind::Run { task: 4 }),
        at(52, 0, off(4)),
        at(60, 0, wake(5, Waker::Thread(78))),
        at(61, 0, Kind::Run { task: 5 }),
        at(62, 0, off(5)),
        at(70, 0, Kind::Exit { task: 5 }),
        // The number of the thread that ended belongs to another one now.
        at(80, 0, task(5, 79, "next")),
        at(90, 0, wake(4, Waker::Thread(78))),
        at(91, 0, Kind::Run { task: 4 }),
        at(92, 0, off(4)),
        at(93, 0, wake(4, Waker::Thread(79))),
    ] {
        recorder.event(&event);
    }
    let done = recorder.finish(START + 100);
    assert_eq!(done.observer.0, [(0, Some(1)), (0, None), (0, Some(2))]);
}

/// What is reported of priorities.
#[derive(Default)]
struct Urgencies(Vec<(u32, u8, u8)>);

impl Observer for Urgencies {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        if let Event::Priority { task, urgency } = event {
            self.0.push((*task, urgency.prio, urgency.policy));
        }
    }
}

/// Once when a task is announced or asked for, and once for each change.
#[test]
fn priorities_are_reported() {
    let of = |prio, policy| Urgency { prio, policy };
    let known = Identity { pid: 80, tgid: 80, comm: "older".into(), urgency: Some(of(139, 5)) };
    let resolve = move |task| (task == 6).then(|| known.clone());
    let mut recorder = Recorder::new("toy", Some(START), Urgencies::default(), Box::new(resolve));
    let announced = |urgency| Kind::Task { task: 4, pid: 77, tgid: 77, urgency, comm: "worker".into() };
    for event in [
        at(0, 0, announced(of(120, 0))),
        at(10, 0, announced(of(120, 0))),
        at(20, 0, announced(of(125, 3))),
        at(30, 0, Kind::Ready { task: 6, wakeup: false, by: Waker::Unknown }),
        // Nobody knows this one.
        at(40, 0, Kind::Ready { task: 7, wakeup: false, by: Waker::Unknown }),
    ] {
        recorder.event(&event);
    }
    // A look at names changes nothing.
    recorder.names(&[TaskView { id: 4, pid: 77, tgid: 77, comm: "worker".into(), ..TaskView::default() }]);
    let done = recorder.finish(START + 100);
    assert_eq!(done.observer.0, [(0, 120, 0), (0, 125, 3), (1, 139, 5)]);
    let last: Vec<_> = done.threads.iter().map(|t| t.urgency).collect();
    assert_eq!(last, [Some(of(125, 3)), Some(of(139, 5)), None]);
}

#[test]
fn a_job_lasts_from_wake_up_to_block() {
    let events = [
        at(0, 0, task(4, 77, "worker")),
        at(100, 0, Kind::Ready { task: 4, wakeup: true, by: Waker::Unknown }),
        at(130, 1, Kind::Run { task: 4 }),
        at(180, 1, Kind::Sched { call: Call::Unblock, ns: 20 }),
        at(230, 1, Kind::Off { task: 4, why: Stop::SliceEnd }),
        at(230, 1, Kind::Ready { task: 4, wakeup: false, by: Waker::Unknown }),
        at(300, 0, Kind::Run { task: 4 }),
        at(350, 0, Kind::Off { task: 4, why: Stop::Block }),
        at(400, 0, Kind::Exit { task: 4 }),
        at(500, 0, task(4, 78, "next")),
    ];
    let done = play(&events, 1000);
    let threads: Vec<_> =
        done.threads.iter().map(|t| (t.pid, t.name.as_str(), t.began_ns, t.ended_ns)).collect();
    assert_eq!(threads, [(77, "worker", 0, Some(400)), (78, "next", 500, None)]);
    let s = done.observer.1.finish(done.duration_ns);
    let t = &s.tasks[0];
    assert_eq!((t.jobs, t.jobs_completed, t.response_ns.max), (1, 1, 250));
    assert_eq!((t.cpu_ns, t.wait_ns, t.wakeup_latency_ns.max), (80 + 50, 30 + 70, 30));
    assert_eq!((t.migrations, t.preemptions), (1, 0));
    assert_eq!((s.totals.scheduler_ns, s.totals.context_switches), (20, 2));
    assert_eq!(s.tasks.len(), 2, "the number was used again, the task is kept");
}

#[test]
fn the_end_of_a_slice_preempts_if_another_follows() {
    let run = |next: u32| {
        let events = [
            at(0, 0, task(0, 1, "a")),
            at(0, 0, task(1, 2, "b")),
            at(5, 0, Kind::Run { task: 0 }),
            at(9, 0, Kind::Off { task: 0, why: Stop::SliceEnd }),
            at(9, 0, Kind::Ready { task: 0, wakeup: false, by: Waker::Unknown }),
            at(10, 0, Kind::Run { task: next }),
        ];
        play(&events, 20).observer.0.preempted
    };
    assert_eq!((run(0), run(1)), (0, 1));
}

#[test]
fn names_come_from_whoever_knows_them() {
    let identity =
        |task| (task == 3).then(|| Identity { pid: 30, tgid: 30, comm: "kworker/2:1".into(), urgency: None });
    let metrics = Metrics::new(Meta { nr_cpus: 1, ..Meta::default() });
    let mut recorder = Recorder::new("toy", Some(START), metrics, Box::new(identity));
    for task in [3, 5] {
        recorder.event(&at(10, 0, Kind::Ready { task, wakeup: true, by: Waker::Unknown }));
    }
    recorder.event(&at(1_000_000_000, 0, Kind::Kick));
    let view = |id, pid, comm: &str| TaskView { id, pid, comm: comm.into(), ..TaskView::default() };
    recorder.names(&[view(5, 50, "late"), view(3, 31, "not the same one")]);
    recorder.name_new_tasks(|pid| (pid == 30).then(|| "kworker/2:1".into()));
    // It names itself only later.
    recorder.name_new_tasks(|pid| (pid == 30).then(|| "kworker/2:1-events".into()));
    recorder.sample(Sample {
        t_ns: START + 1_000_000_000,
        topology: "toy".into(),
        depths: vec![2],
        updates: vec![7],
    });
    let done = recorder.finish(START + 2_000_000_000);
    assert_eq!((done.counts.nameless, done.threads[1].pid), (1, 50));
    let s = done.observer.finish(done.duration_ns);
    let names: Vec<_> = s.tasks.iter().map(|t| (&*t.name, &*t.group)).collect();
    assert_eq!(names, [("kworker/2:1-events", "kworker"), ("late", "late")]);
    assert_eq!((s.pipes[0].max_depth, s.pipes[0].mean_depth), (2, 1.0));
    assert_eq!(s.components[0].updates, 7);
}

/// A machine so busy that the reader did not run for long: what it looked at itself is younger than what it
/// finds in the ring, and must not push that aside.
#[test]
fn a_starved_reader_loses_no_order() {
    let metrics = Metrics::new(Meta { nr_cpus: 1, ..Meta::default() });
    let mut recorder = Recorder::new("toy", Some(START), metrics, nobody());
    let second = 1_000_000_000;
    recorder.event(&at(0, 0, task(0, 1, "a")));
    recorder.sample(Sample { t_ns: START + 3 * second, topology: "toy".into(), ..Sample::default() });
    recorder.event(&at(second, 0, Kind::Ready { task: 0, wakeup: true, by: Waker::Unknown }));
    recorder.event(&at(2 * second, 0, Kind::Run { task: 0 }));
    let done = recorder.finish(START + 4 * second);
    assert_eq!(done.counts.late, 0);
    assert_eq!(done.observer.finish(done.duration_ns).wakeup_latency_ns.max, second);
}

#[test]
fn swaps_have_names_and_pauses() {
    let metrics = Metrics::new(Meta { topology: "one".into(), nr_cpus: 1, ..Meta::default() });
    let mut recorder = Recorder::new("one", Some(START), metrics, nobody());
    let swap = |t| at(t, 0, Kind::Swap { pause_ns: 9, represented: 3 });
    let second = 1_000_000_000;
    recorder.event(&swap(100));
    // The loader reports late.
    recorder.event(&at(second, 0, Kind::Kick));
    recorder.changed(START + 110, "two");
    // Another without a name: an instance was replaced.
    recorder.event(&swap(2 * second));
    // The event of `three` was lost.
    recorder.changed(START + 5 * second, "three");
    recorder.changed(START + 6 * second, "four");
    recorder.event(&swap(6 * second - 7));
    let done = recorder.finish(START + 7 * second);
    let s = done.observer.finish(done.duration_ns);
    let swaps: Vec<_> = s.swaps.iter().map(|s| (s.at_ns, &*s.from, &*s.to, s.represented)).collect();
    let all = [(100, "one", "two", 3), (2 * second, "two", "two", 3), (6 * second - 7, "two", "four", 3)];
    assert_eq!(swaps, all);
}

#[test]
fn messages_are_named_and_misses_counted_once_a_job() {
    let message = |t, topic, task| at(t, 0, Kind::Message { topic, task, value: 5 });
    let miss = weir_core::Topic::DeadlineMiss as u32;
    let events = [
        at(0, 0, task(0, 1, "rt")),
        at(1, 0, Kind::Ready { task: 0, wakeup: true, by: Waker::Unknown }),
        message(2, miss, Some(0)),
        message(3, miss, Some(0)),
        message(4, 60, None),
        message(5, weir_core::Topic::Marker as u32, None),
    ];
    let s = play(&events, 10).observer.1.finish(10);
    let topics: Vec<_> = s.messages.iter().map(|m| (m.topic.as_str(), m.count)).collect();
    assert_eq!(topics, [("DEADLINE_MISS", 2), ("MARKER", 1), ("topic 60", 1)]);
    assert_eq!(s.totals.deadline_misses, 1);
}

#[test]
fn a_recorder_can_be_fed_by_another_thread() {
    fn is_send<T: Send>(_: &T) {}
    let trace = Trace::new(Meta::default(), Box::new(Vec::new()));
    let metrics = Metrics::new(Meta::default());
    is_send(&Recorder::new("t", None, (metrics, trace), nobody()));
}
