// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The service on a rig: a thread acts as the kernel side and keeps the messages that it receives.

use super::*;
use crate::control::tests::recording;
use crate::layout::LiveRequest;
use crate::protocol::Request;
use crate::rig::Rig;

const TEXT: &str =
    "annotate affinity, membership;\nentry each cpu -> work_stealing -> each cpu { gang -> urgent -> cpu };";
const MS: u64 = 1_000_000;

/// A thread of this process that waits until it is dropped.
struct Sleeper(Option<std::process::Child>);

impl Sleeper {
    fn new() -> Self {
        Self(Some(std::process::Command::new("sleep").arg("100").spawn().expect("sleep")))
    }

    fn pid(&self) -> u32 {
        self.0.as_ref().expect("not dropped").id()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn wish(manifest: &str) -> GangWish {
    GangWish { manifest: manifest.into(), name: Some("team".into()), cut: false }
}

fn rows(seen: &[LiveRequest]) -> Vec<(u32, u64, u64)> {
    let slot = Topic::GangSlot as u32;
    seen.iter().filter(|r| r.topic == slot).map(|r| (r.cpu, r.value >> 32, r.value2)).collect()
}

#[test]
fn a_phase_reaches_every_cpu_with_the_same_slots() {
    let rig = Rig::of(TEXT);
    let (control, seen) = recording(&rig);
    let gang = control.gangs.admit(&control, &wish("B 0\nH 20 40\n")).expect("there is room");
    assert_eq!((gang.cpus.as_slice(), gang.length_ns, gang.nr_phases), (&[0, 1][..], 0, 2));
    seen.lock().expect("whole").clear();
    let before = clock::now_ns();
    let done = control.gangs.phase(&control, &PhaseWish { gang: "team".into(), phase: 1 }).expect("a phase");
    let first = done.first_slot_ns.expect("it has slots");
    assert!(first > before + LEAST_LEAD_NS && done.took_ns < first - before);
    assert_eq!((done.cpus, done.messages), (2, 2));
    let seen_rows = rows(&seen.lock().expect("whole"));
    let of = |cpu| seen_rows.iter().filter(|r| r.0 == cpu).map(|r| (r.1, r.2)).collect::<Vec<_>>();
    assert_eq!(of(0), of(1));
    assert_eq!((of(0)[1], of(0)[2]), ((1, 40 * MS), (2, 20 * MS)));
    let view = &control.gangs.views()[0];
    assert_eq!((view.phase, view.length_ns, view.period_ns, view.late), (1, 20 * MS, 40 * MS, 0));
    assert_eq!(first % (40 * MS), view.offset_ns);
    let e = control
        .gangs
        .phase(&control, &PhaseWish { gang: "team".into(), phase: 2 })
        .expect_err("no such phase");
    assert!(e.message.contains("no phase 2") && e.help.contains("0 to 1"), "{e}");
    let e =
        control.gangs.phase(&control, &PhaseWish { gang: "x".into(), phase: 2 }).expect_err("no such gang");
    assert!(e.help.contains("team"), "{e}");
    control.gangs.leave(&control, "team").expect("it is there");
    assert!(control.gangs.views().is_empty());
    let last = rows(&seen.lock().expect("whole"));
    assert!(last.iter().rev().take(8).filter(|r| r.1 == 2).all(|r| r.2 == 0), "no slots are left: {last:?}");
}

#[test]
fn what_does_not_fit_is_refused_or_all_are_cut() {
    let rig = Rig::of(TEXT);
    let (control, _) = recording(&rig);
    let half = "H 80 160 80\n";
    control.gangs.admit(&control, &wish(&format!("name a\n{half}"))).expect("there is room");
    let e = control.gangs.admit(&control, &wish(&format!("name b\n{half}"))).expect_err("it is too much");
    assert!(e.message.contains("gang `b` is not admitted") && e.message.contains("40.0 % left"), "{e}");
    let cut = GangWish { cut: true, ..wish(&format!("name b\n{half}")) };
    assert_eq!(control.gangs.admit(&control, &cut).expect("both are cut").scale, 900);
    let scales: Vec<u32> = control.gangs.views().iter().map(|g| g.scale).collect();
    assert_eq!(scales, [900, 900]);
    control.gangs.leave(&control, "b").expect("it is there");
    assert_eq!(control.gangs.views()[0].scale, 1000);
    let e = control.gangs.admit(&control, &wish("B 0\nH 3 2\n")).expect_err("no manifest");
    assert!(e.message.contains("line 2, column 5"), "{e}");
    control.set_patience(Duration::from_secs(2));
    let e = control.gangs.admit(&control, &wish("outside wait\nH 500 5000\n")).expect_err("too long a wait");
    assert!(e.message.contains("wait 4500 ms"), "{e}");
}

#[test]
fn threads_become_members_and_are_spread() {
    let mut rig = Rig::of(TEXT);
    let sleepers = [Sleeper::new(), Sleeper::new(), Sleeper::new()];
    for (i, s) in (0u32..).zip(&sleepers) {
        let task = rig.sched.task_new(0, i.into()).expect("room for a task");
        rig.note(task, s.pid(), 0, 0);
        rig.process(task, s.pid());
    }
    let (control, seen) = recording(&rig);
    control.gangs.admit(&control, &wish("H 20 40\n")).expect("there is room");
    let join = |pid: u32| JoinWish { gang: "team".into(), process: Some(pid), ..JoinWish::default() };
    control.gangs.join(&control, &join(sleepers[0].pid())).expect("it is there");
    let gang = control.gangs.join(&control, &join(sleepers[2].pid())).expect("it is there");
    let mut places: Vec<Option<u32>> = gang.members.iter().map(|m| m.1).collect();
    places.sort_unstable();
    // A machine of another shape than the rig's may not have CPU 1.
    if clock::may_run(sleepers[0].pid(), 0) && clock::may_run(sleepers[0].pid(), 1) {
        assert_eq!(places, [Some(0), Some(1)]);
    }
    let seen_rows = seen.lock().expect("whole").clone();
    let members: Vec<u32> =
        seen_rows.iter().filter(|r| r.topic == Topic::Gang as u32 && r.value == 1).map(|r| r.task).collect();
    assert_eq!(members.len(), 2);
    // Nothing is sent twice.
    seen.lock().expect("whole").clear();
    control.gangs.turn(&control);
    control.gangs.turn(&control);
    assert!(seen.lock().expect("whole").is_empty());
    // A thread that leaves is reported, and may run everywhere.
    control.gangs.leave(&control, "team").expect("it is there");
    let seen_rows = seen.lock().expect("whole").clone();
    assert_eq!(seen_rows.iter().filter(|r| r.topic == Topic::Gang as u32 && r.value == 0).count(), 2);
    let e = control.gangs.join(&control, &join(u32::MAX - 1)).expect_err("no gang");
    assert!(e.help.contains("admit it first"), "{e}");
}

#[test]
fn a_program_joins_by_its_name_and_children_by_their_parent() {
    let mut rig = Rig::of(TEXT);
    let sleeper = Sleeper::new();
    let task = rig.sched.task_new(0, 7).expect("room for a task");
    rig.note(task, sleeper.pid(), 0, 0);
    rig.process(task, sleeper.pid());
    let (control, _) = recording(&rig);
    // The new process becomes `sleep` a moment after its start.
    let named = GangWish { name: Some("named".into()), ..wish("program sleep\nthreads 1\nH 5 40\n") };
    control.gangs.admit(&control, &named).expect("there is room");
    let began = Instant::now();
    while control.gangs.views()[0].members.is_empty() && began.elapsed() < Duration::from_secs(20) {
        control.gangs.turn(&control);
    }
    assert_eq!(control.gangs.views()[0].members[0].0, sleeper.pid());
    control.gangs.leave(&control, "named").expect("it is there");
    control.gangs.admit(&control, &wish("threads 1\nH 5 40\n")).expect("there is room");
    let children = JoinWish {
        gang: "team".into(),
        process: Some(std::process::id()),
        children: true,
        ..JoinWish::default()
    };
    let gang = control.gangs.join(&control, &children).expect("we are there");
    assert_eq!(gang.members.iter().map(|m| m.0).collect::<Vec<_>>(), [sleeper.pid()]);
    for (wrong, words) in [
        (JoinWish { gang: "team".into(), ..JoinWish::default() }, "who is to join"),
        (
            JoinWish { gang: "team".into(), cgroup: Some("../x".into()), ..JoinWish::default() },
            "no control group",
        ),
        (JoinWish { gang: "team".into(), thread: Some(u32::MAX - 1), ..JoinWish::default() }, "no thread"),
    ] {
        let e = control.gangs.join(&control, &wrong).expect_err("it is wrong");
        assert!(e.message.contains(words), "{e}");
    }
}

#[test]
fn a_later_topology_gets_all_rows_and_one_without_slots_none() {
    let rig = Rig::of(TEXT);
    let (control, seen) = recording(&rig);
    control.gangs.admit(&control, &wish("H 20 40\n")).expect("there is room");
    seen.lock().expect("whole").clear();
    rig.view.shared.count_swap();
    control.gangs.turn(&control);
    assert_eq!(rows(&seen.lock().expect("whole")).len(), 8, "two CPUs, four fields each");
    let plain = Rig::new();
    let (control, _) = recording(&plain);
    let answer = control.serve(&Request::Gang(wish("H 20 40\n")));
    assert!(answer.error.expect("refused").message.contains("has no slots"));
}

#[test]
fn slots_that_ended_are_counted_by_the_clock() {
    let row = Row { offset_ns: 5, length_ns: 20, period_ns: 40 };
    let counts: Vec<u64> = [0, 45, 64, 65, 104, 105, 4065].iter().map(|now| ended(&row, 6, *now)).collect();
    assert_eq!(counts, [0, 0, 0, 1, 1, 2, 101]);
    assert_eq!(ended(&Row::default(), 0, 1000), 0);
}
