// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Several threads call one scheduler, and several runtimes live in one program.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_core::host::{Host, RealTime, Runtime};
use weir_core::{Config, MachineShape, Msg, OutMsg, Plan, TaskId, Topic};
use weir_lang::{NoIncludes, Source};

fn plan(text: &str, cpus: u32) -> Plan {
    let source = Source { name: "test.weir".into(), text: text.into() };
    let shape = MachineShape::flat(cpus);
    weir_lang::compile(&source, &NoIncludes, weir_core::catalog(), &shape, &[])
        .expect("a right topology")
        .plan
}

fn config(nr_cpus: u32) -> Config {
    Config { nr_cpus, arena_bytes: 256 << 20, checks: false, oplog: false, seed: 1 }
}

/// A runtime whose clock stands, and that counts.
#[derive(Default)]
struct Counting {
    time: u64,
    asked: AtomicU64,
    messages: Mutex<Vec<OutMsg>>,
}

impl Runtime for Counting {
    fn now(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.time
    }

    fn message(&self, msg: OutMsg) {
        self.messages.lock().expect("no panic").push(msg);
    }

    fn timer(&self, _: u32, _: u64) {}
}

#[test]
fn each_scheduler_has_its_own_runtime() {
    let plan = plan("entry -> head_queue -> cpus;", 2);
    let first = Host::new(&config(2), Counting { time: 1_000, ..Counting::default() }).expect("memory");
    let second = Host::new(&config(2), RealTime::new()).expect("memory");
    let mut a = first.cpu(0).expect("free");
    let mut b = second.cpu(0).expect("free");
    a.swap(&plan).expect("right");
    b.swap(&plan).expect("right");
    assert!(
        first.runtime().asked.load(Ordering::Relaxed) > 0,
        "a swap is timed by the scheduler's own clock"
    );
    a.notify(Topic::Marker, &Msg { value: 11, ..Msg::default() }).expect("right");
    b.notify(Topic::Marker, &Msg { value: 22, ..Msg::default() }).expect("right");
    let values = |m: &[OutMsg]| m.iter().map(|m| (m.topic, m.value)).collect::<Vec<_>>();
    assert_eq!(values(&first.runtime().messages.lock().expect("no panic")), [(Topic::Marker, 11)]);
    assert_eq!(values(&second.runtime().take_messages()), [(Topic::Marker, 22)]);
}

#[test]
fn a_cpu_exists_once_and_misuse_is_refused() {
    let host = Host::new(&config(2), RealTime::new()).expect("memory");
    assert!(host.cpu(2).is_none());
    let mut cpu = host.cpu(1).expect("free");
    assert!(host.cpu(1).is_none(), "it is taken");
    cpu.swap(&plan("entry -> head_queue -> cpus;", 2)).expect("right");
    assert!(cpu.block().is_err() && cpu.relinquish().is_err() && cpu.exit().is_err(), "it runs no task");
    assert!(cpu.admit(TaskId(99)).is_err() && cpu.timer_expired(99).is_err());
    let task = cpu.task_new(1).expect("memory");
    cpu.admit(task).expect("new");
    assert!(cpu.admit(task).is_err(), "it is schedulable already");
    assert_eq!(cpu.pick().expect("free").map(|p| p.task), Some(task));
    assert!(cpu.pick().is_err(), "it runs one already");
    drop(cpu);
    let mut other = host.cpu(0).expect("free");
    assert_eq!(other.pick().expect("free").map(|p| p.task), Some(task), "the other CPU gave it back");
}

/// A runtime that calls a scheduler from within a call.
struct Nesting(Host<RealTime>, Mutex<Vec<bool>>);

impl Runtime for Nesting {
    fn now(&self) -> u64 {
        0
    }

    fn message(&self, _: OutMsg) {
        let refused = self.0.cpu(0).is_some_and(|mut cpu| cpu.pick().is_err());
        self.1.lock().expect("no panic").push(refused);
    }

    fn timer(&self, _: u32, _: u64) {}
}

#[test]
fn calls_from_within_a_call_are_refused() {
    let inner = Host::new(&config(1), RealTime::new()).expect("memory");
    let host = Host::new(&config(1), Nesting(inner, Mutex::default())).expect("memory");
    let mut cpu = host.cpu(0).expect("free");
    cpu.swap(&plan("entry -> head_queue -> cpus;", 1)).expect("right");
    cpu.notify(Topic::Marker, &Msg::default()).expect("right");
    assert_eq!(*host.runtime().1.lock().expect("no panic"), [true]);
}

/// Threads pick, give back, block and wake at once while the topology is replaced under them: nothing is lost.
#[test]
fn threads_schedule_at_once() {
    const CPUS: u32 = 4;
    const TASKS: u64 = 32;
    const ROUNDS: u32 = 20_000;
    let plans = [
        plan("annotate affinity;\nentry -> load_balancer -> each cpu { round_robin -> cpu };", CPUS),
        plan("entry -> head_queue -> cpus;", CPUS),
        plan("annotate priority;\nentry -> priority_order -> cpus;", CPUS),
    ];
    let mut host = Host::new(&config(CPUS), RealTime::new()).expect("memory");
    {
        let mut cpu = host.cpu(0).expect("free");
        cpu.swap(&plans[0]).expect("right");
        for cookie in 0..TASKS {
            let task = cpu.task_new(cookie).expect("memory");
            cpu.admit(task).expect("new");
        }
    }
    let asleep: Mutex<Vec<TaskId>> = Mutex::default();
    let picks = AtomicU64::new(0);
    std::thread::scope(|threads| {
        for nr in 0..CPUS {
            let (host, plans, asleep, picks) = (&host, &plans, &asleep, &picks);
            threads.spawn(move || {
                let mut cpu = host.cpu(nr).expect("one thread each");
                for round in 0..ROUNDS {
                    if nr == 0 && round % 1_000 == 999 {
                        cpu.swap(&plans[(round / 1_000) as usize % plans.len()]).expect("right");
                    }
                    let woken = if round % 3 == 0 { asleep.lock().expect("no panic").pop() } else { None };
                    if let Some(task) = woken {
                        cpu.unblock(task).expect("it is blocked");
                    }
                    let Some(picked) = cpu.pick().expect("it runs none") else { continue };
                    picks.fetch_add(1, Ordering::Relaxed);
                    if round % 4 == nr % 4 {
                        cpu.block().expect("it runs");
                        asleep.lock().expect("no panic").push(picked.task);
                    } else {
                        cpu.relinquish().expect("it runs");
                    }
                }
            });
        }
    });
    host.check().expect("all invariants hold");
    assert!(picks.into_inner() > u64::from(ROUNDS), "tasks ran");
    // Each of them is either asleep or in a pipe: no task is lost, and none is there twice.
    let mut found = asleep.into_inner().expect("no panic");
    let mut cpu = host.cpu(0).expect("free");
    while let Some(picked) = cpu.pick().expect("it runs none") {
        found.push(picked.task);
        cpu.exit().expect("it runs");
    }
    let nr = found.len() as u64;
    found.sort_unstable();
    found.dedup();
    assert_eq!((nr, found.len() as u64), (TASKS, TASKS));
}
