// SPDX-License-Identifier: MIT OR GPL-2.0-only
use std::sync::Mutex;
use std::sync::mpsc;

use super::*;

fn stage(topology: &str, machine: &str, workload: &str, duration_ns: Option<u64>) -> Stage {
    let setting = Setting {
        machine: Some(machine.into()),
        workload: Some(workload.into()),
        duration_ns,
        ..Setting::default()
    };
    let source = crate::topology::source(topology).expect("it is in the catalogue");
    Stage::new(StageOptions { source, setting, seed: 1 }).expect("it fits")
}

/// All frames of a run at full speed, and its end.
fn whole(stage: &Stage) -> (Vec<Frame>, Watched) {
    let (frames, end) = (Mutex::new(Vec::new()), Mutex::new(None));
    let controls = Controls::new(None, false);
    let done = |w| {
        *end.lock().unwrap() = Some(w);
        controls.command(Command::Close);
    };
    stage.play(&controls, &|f| frames.lock().unwrap().push(f), &done).expect("it runs");
    (frames.into_inner().unwrap(), end.into_inner().unwrap().expect("it ended"))
}

#[test]
fn the_last_frame_agrees_with_the_summary() {
    let stage = stage("decentral", "smp-4", "hackbench:groups=2,loops=20", None);
    let (frames, end) = whole(&stage);
    let last = frames.last().expect("there is one");
    let totals = &end.summary.totals;
    assert_eq!(last.state, State::Done);
    assert_eq!((last.jobs, last.misses), (totals.jobs_completed, totals.deadline_misses));
    assert_eq!((last.switches, last.migrations), (totals.context_switches, totals.migrations));
    assert_eq!(last.preemptions, totals.preemptions);
    assert_eq!(last.wakeup[1].count, end.summary.wakeup_latency_ns.count);
    assert_eq!(last.wakeup[1].max, end.summary.wakeup_latency_ns.max);
    let exact = end.summary.wakeup_latency_ns.p99;
    assert!(last.wakeup[1].p99 >= exact && last.wakeup[1].p99 <= exact + exact / 8 + 1);
    assert_eq!(last.worst[0].ns, end.summary.wakeup_latency_ns.max);
    assert!(end.html.contains("</html>"));
    let picture = stage.picture();
    assert_eq!((last.lines.len(), last.boxes.len()), (picture.lines.len(), picture.boxes.len()));
    assert_eq!((last.busy.len(), last.cells.len()), (4, 2), "queues and CPUs have cells");
}

#[test]
fn a_run_is_stopped_stepped_and_taken_back() {
    let stage = stage("global_rr", "smp-2", "hackbench:groups=1,loops=200", None);
    let controls = Controls::new(None, false);
    controls.command(Command::Seek { ns: 1_000_000 });
    let (send, frames) = mpsc::channel();
    let (over, ends) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let show = |f: Frame| send.send(f).expect("somebody listens");
            stage
                .play(&controls, &show, &|w| over.send(w.summary).expect("somebody listens"))
                .expect("it runs");
        });
        let stopped = || loop {
            let f = frames.recv().expect("it comes");
            if f.state == State::Paused {
                return f;
            }
        };
        let first = stopped();
        assert!(first.t_ns >= 1_000_000 && !first.log.is_empty());
        controls.command(Command::Step { events: 1 });
        let second = stopped();
        assert!(second.events > first.events && second.t_ns >= first.t_ns);
        assert_eq!(second.log.len(), (first.log.len() + 1).min(80));
        // Back: the same moment is the same.
        controls.command(Command::Seek { ns: 1_000_000 });
        let again = stopped();
        assert_eq!((again.t_ns, again.events, again.take), (first.t_ns, first.events, 1));
        assert_eq!((again.switches, &again.log), (first.switches, &first.log));
        controls.command(Command::Resume);
        let whole = ends.recv().expect("it ends");
        assert!(!whole.interrupted);
        // From the end back into the run, and out of it early.
        controls.command(Command::Seek { ns: 2_000_000 });
        assert!(stopped().t_ns >= 2_000_000);
        controls.command(Command::Stop);
        assert!(ends.recv().expect("it ends").interrupted);
        controls.command(Command::Close);
    });
}

#[test]
fn locks_that_limit_are_hot() {
    let stage = stage("global_rr", "smp-128", "tokens:pairs=128,loops=0", Some(2_000_000));
    let (frames, end) = whole(&stage);
    assert!(end.summary.totals.lock_wait_ns > 0);
    let wait = frames.iter().flat_map(|f| &f.lines).map(|l| l[3]).fold(0.0, f64::max);
    assert!(wait > 1.0, "several CPUs wait at a time: {wait}");
}

#[test]
fn the_worst_wake_up_is_explained() {
    let stage = stage("priority", "smp-1", "locks", None);
    let (frames, _) = whole(&stage);
    let worst = frames.last().expect("there is one").worst.iter().find(|m| m.what == "wakeup").cloned();
    let worst = worst.expect("some task waited");
    let number = format!("#{}", worst.number.expect("it is about a task"));
    let why = stage.explain(&number, worst.at_ns, worst.ns, &crate::watch::Unwatched).expect("it was there");
    assert_eq!((why.task.id, why.ns), (worst.number.unwrap(), worst.ns), "{}", why.text);
    assert_eq!(why.from_ns, worst.at_ns - worst.ns);
    assert!(!why.causes.is_empty() && why.text.contains(&worst.task), "{}", why.text);
    let nobody = stage.explain("nobody", worst.at_ns, 0, &crate::watch::Unwatched);
    assert_eq!(nobody.expect_err("no such task").blame, crate::Blame::User);
}

#[test]
fn where_it_stands_still_the_rates_stay() {
    let stage = stage("global_rr", "smp-2", "hackbench:groups=1,loops=200", None);
    let controls = Controls::new(None, false);
    let frames = Mutex::new(Vec::new());
    controls.command(Command::Seek { ns: 1_000_000 });
    let steps = Mutex::new(3);
    let show = |f: Frame| {
        let paused = f.state == State::Paused;
        frames.lock().unwrap().push(f);
        let mut left = steps.lock().unwrap();
        match *left {
            0 if paused => controls.command(Command::Close),
            _ if paused => {
                *left -= 1;
                controls.command(Command::Step { events: 1 });
            }
            _ => {}
        }
    };
    stage.play(&controls, &show, &|_| {}).expect("it runs");
    let frames = frames.into_inner().unwrap();
    let paused: Vec<&Frame> = frames.iter().filter(|f| f.state == State::Paused).collect();
    assert_eq!(paused.len(), 4);
    for pair in paused.windows(2) {
        assert_ne!(pair[0].log.last(), pair[1].log.last(), "one event more");
        assert!(pair[1].busy.iter().any(|b| *b > 0), "{:?}", pair[1].busy);
        assert!(pair[1].lines.iter().any(|l| l[0] > 0.0), "{:?}", pair[1].lines);
    }
}
