// SPDX-License-Identifier: MIT OR GPL-2.0-only
use weir_core::gang::Change;

use super::*;
use crate::workload::Op;

fn make(spec: &str) -> Workload {
    generate(spec, 1, Limits::default()).expect("a generator").unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn defaults_of_all_generators_work() {
    for g in generators() {
        let w = make(g.name);
        assert!(!w.tasks.is_empty(), "{}", g.name);
        let full: Vec<String> = g.params.iter().map(|p| format!("{}={}", p.name, p.default)).collect();
        let mut again = make(&format!("{}:{}", g.name, full.join(",")));
        again.name = w.name.clone();
        assert_eq!(w, again, "the defaults that {} names are those it uses", g.name);
    }
}

#[test]
fn hackbench_moves_every_message() {
    let w = make("hackbench:groups=2,fds=3,loops=5,bytes=10");
    assert_eq!(w.tasks.len(), 1 + 2 * 6);
    assert_eq!(w.barriers, [("start".to_string(), 13)]);
    let forks = w.tasks[0].program.iter().filter(|op| matches!(op, Op::Fork { .. })).count();
    assert_eq!(forks, 12);
    let (mut written, mut read) = (vec![0; 6], vec![0; 6]);
    for task in &w.tasks {
        let mut times = 1;
        for op in task.program.iter() {
            match *op {
                Op::Loop { count } => times = count.expect("finite"),
                Op::Write { channel, bytes } => written[channel as usize] += times * bytes,
                Op::Read { channel, bytes } => read[channel as usize] += times * bytes,
                _ => {}
            }
        }
    }
    assert_eq!(written, vec![150; 6]);
    assert_eq!(read, written);
    assert!(std::sync::Arc::ptr_eq(&w.tasks[4].program, &w.tasks[6].program), "senders share their program");
}

#[test]
fn pipeline_waits_forward_then_backward() {
    let w = make("pipeline:threads=3,work=2ms");
    assert_eq!(w.flags.len(), 6);
    let first = &w.tasks[0].program;
    assert_eq!(first[0], Op::Marker { text: "forward".into(), number: 1 });
    assert_eq!(first[1], Op::Run { ns: 2_000_000 });
    assert_eq!(first[2], Op::Raise { flag: 0, by: 1 });
    assert_eq!(first[first.len() - 2], Op::Marker { text: "end".into(), number: 0 });
    let last = &w.tasks[2].program;
    let expected = [
        Op::SpinUntil { flag: 1, value: 1, per_iteration: false },
        Op::Run { ns: 2_000_000 },
        Op::Marker { text: "backward".into(), number: 2 },
        Op::Barrier { barrier: 0 },
        Op::Run { ns: 2_000_000 },
        Op::Raise { flag: 5, by: 1 },
        Op::Barrier { barrier: 0 },
    ];
    assert_eq!(last.to_vec(), expected);
    assert!(w.tasks.iter().all(|t| t.cpus.as_ref().is_some_and(|c| c.to_string() == "0")));
    let blocking = make("pipeline:threads=3,spin=false,cpu=any,direction=backward");
    assert!(blocking.flags.is_empty() && blocking.channels.len() == 3 && blocking.tasks[0].cpus.is_none());
}

#[test]
fn solvers_pass_planes_to_their_neighbours_only() {
    let spin = make("lu:threads=3,steps=2,planes=2,work=1us,hogs=2,slot=4ms,period=10ms,cores=whole");
    assert_eq!((spin.flags.len(), spin.channels.len(), spin.tasks.len()), (12, 0, 5));
    assert_eq!((spin.gangs.len(), spin.gangs[0].members.as_slice()), (1, &[0, 1, 2][..]));
    assert!(spin.gangs[0].manifest.alone());
    let of = |name: &str| spin.flags.iter().position(|f| f == name).expect("it exists") as u32;
    let wait = |name: &str| Op::SpinUntil { flag: of(name), value: 1, per_iteration: true };
    let (run, done) = (Op::Run { ns: 1_000 }, |name: &str| Op::Raise { flag: of(name), by: 1 });
    let middle = [
        Op::Loop { count: Some(2) },
        wait("up0.0"),
        run.clone(),
        done("up1.0"),
        wait("up0.1"),
        run.clone(),
        done("up1.1"),
        wait("down2.0"),
        run.clone(),
        done("down1.0"),
        wait("down2.1"),
        run,
        done("down1.1"),
        Op::LoopEnd,
    ];
    assert_eq!(spin.tasks[1].program.to_vec(), middle);
    assert_eq!(spin.tasks[0].program[0], Op::Gang { change: Change::Phase(1) });
    let block = make("lu:threads=3,steps=2,planes=2,spin=false");
    assert_eq!((block.flags.len(), block.channels.len(), block.gangs.len()), (0, 6, 0));
    let reads = |i: usize| block.tasks[i].program.iter().filter(|op| matches!(op, Op::Read { .. })).count();
    assert_eq!((reads(0), reads(1), reads(2)), (1, 2, 1));
}

#[test]
fn teams_answer_in_bursts() {
    let w = make("team:threads=2,rounds=3,work=1us,imbalance=0%,every=1s,bursts=5");
    let program = w.tasks[1].program.to_vec();
    assert_eq!(program[0], Op::Loop { count: Some(5) });
    assert!(matches!(program[1], Op::Release { period_ns: 1_000_000_000, .. }), "{program:?}");
    assert_eq!(program[2], Op::Loop { count: Some(3) });
    assert_eq!(w.tasks[1].timing.map(|t| (t.period_ns, t.wcet_ns)), Some((1_000_000_000, 3_000)));
    for (spec, what) in [("team:every=1s", "no end"), ("team:rounds=3,bursts=2", "without a period")] {
        let fault = generate(spec, 1, Limits::default()).expect("a generator").expect_err("it is wrong");
        assert!(fault.to_string().contains(what), "{fault}");
    }
}

#[test]
fn half_a_gang_is_refused() {
    for (spec, what, remedy) in [
        ("team:slot=20ms", "slots without a period", "`period=40ms`"),
        ("lu:slot=20ms", "slots without a period", "`period=40ms`"),
        ("team:period=40ms", "`period` without slots", "`slot=20ms`"),
        ("team:release=40ms", "`release` without slots", "`slot=20ms`"),
        ("team:slot=20ms,period=10ms", "the period is shorter than the execution time", "raise the period"),
    ] {
        let fault = generate(spec, 1, Limits::default()).expect("a generator").expect_err("it is wrong");
        assert!(fault.to_string().contains(what), "{fault}");
        assert!(fault.help.as_deref().is_some_and(|h| h.contains(remedy)), "{:?}", fault.help);
    }
    assert!(make("team:threads=2").gangs.is_empty());
}

#[test]
fn scattered_tasks_start_by_the_seed() {
    let starts = |spec: &str, seed: u64| -> Vec<u64> {
        let w = generate(spec, seed, Limits::default()).expect("a generator").expect("it is right");
        w.tasks.iter().map(|t| t.start_ns.expect("it starts by time")).collect()
    };
    assert_eq!(starts("team:threads=2,hogs=2", 1), [0, 0, 0, 1_000_000]);
    let spec = "team:threads=2,hogs=2,stagger=0,scatter=10ms";
    let (one, two) = (starts(spec, 1), starts(spec, 2));
    assert!(one != two && one == starts(spec, 1), "{one:?} {two:?}");
    assert!(
        one.iter().all(|ns| *ns <= 10_000_000)
            && one.iter().collect::<std::collections::BTreeSet<_>>().len() == 4
    );
}

#[test]
fn compute_keeps_the_sum_of_its_chunks() {
    for chunks in [1u64, 2, 3, 7, 1000] {
        let w = make(&format!("compute:tasks=1,work=1000001ns,chunks={chunks}"));
        let (mut sum, mut times) = (0, 1);
        for op in w.tasks[0].program.iter() {
            match *op {
                Op::Loop { count } => times = count.expect("finite"),
                Op::LoopEnd => times = 1,
                Op::Run { ns } => sum += times * ns,
                _ => {}
            }
        }
        assert_eq!(sum, 1_000_001, "{chunks} chunks");
    }
}

#[test]
fn sets_have_the_utilization_asked_for() {
    let utilization = |w: &Workload| -> f64 {
        w.tasks
            .iter()
            .map(|t| t.timing.expect("periodic"))
            .map(|t| t.wcet_ns as f64 / t.period_ns as f64)
            .sum()
    };
    for spec in [
        "periodic:tasks=20,util=320%",
        "periodic:tasks=20,util=3.2,method=randfixedsum,dist=uniform,offset=random",
        "periodic:tasks=100,util=320%,umax=50%,deadline=constrained",
    ] {
        let w = make(spec);
        assert!((utilization(&w) - 3.2).abs() < 1e-4, "{spec}: {}", utilization(&w));
        for t in w.tasks.iter().map(|t| t.timing.expect("periodic")) {
            assert!(t.wcet_ns <= t.deadline_ns && t.deadline_ns <= t.period_ns);
            assert!((10_000_000..=100_000_000).contains(&t.period_ns) && t.period_ns % 1000 == 0);
        }
    }
    let bench = make("bench:cpus=4,per_cpu=5,load=80%");
    assert_eq!(bench.tasks.len(), 20);
    assert!((utilization(&bench) - 3.2).abs() < 1e-4);
}

#[test]
fn the_seed_decides() {
    let with = |seed, spec| generate(spec, seed, Limits::default()).expect("a generator").expect("right");
    assert_eq!(with(1, "periodic"), with(1, "periodic"));
    assert_ne!(with(1, "periodic"), with(2, "periodic"));
    assert_eq!(with(1, "periodic:seed=5"), with(2, "periodic:seed=5"));
}

/// Period, deadline, computing time and release of each task.
fn sets(spec: &str) -> Vec<(u64, u64, u64, Op)> {
    let of = |t: &crate::workload::TaskSpec| {
        let timing = t.timing.expect("periodic");
        let release = t.program.iter().find(|op| matches!(op, Op::Release { .. }));
        (timing.period_ns, timing.deadline_ns, timing.wcet_ns, release.expect("periodic").clone())
    };
    make(spec).tasks.iter().map(of).collect()
}

#[test]
fn utilizations_sum_up() {
    for dist in ["loguniform", "uniform", "harmonic", "automotive", "list,periods=3ms/7ms"] {
        for method in ["uunifast", "uunifast-discard", "randfixedsum"] {
            let set = sets(&format!("periodic:tasks=12,util=290%,method={method},dist={dist}"));
            let sum: f64 = set.iter().map(|(p, _, c, _)| *c as f64 / *p as f64).sum();
            // Each computing time is rounded down to a nanosecond.
            assert!(sum <= 2.9 + 1e-9 && sum > 2.9 - 1e-4, "{dist} {method}: {sum}");
        }
    }
}

#[test]
fn deadlines_are_where_they_should() {
    assert!(sets("periodic:tasks=50").iter().all(|(p, d, ..)| p == d));
    let constrained = sets("periodic:tasks=50,deadline=constrained");
    assert!(
        constrained.iter().all(|(p, d, c, _)| c <= d && d <= p) && constrained.iter().any(|(p, d, ..)| d < p)
    );
    let arbitrary = sets("periodic:tasks=50,deadline=arbitrary,dmax=300%");
    assert!(
        arbitrary.iter().all(|(p, d, c, _)| c <= d && *d <= 3 * p)
            && arbitrary.iter().any(|(p, d, ..)| d > p)
    );
}

#[test]
fn integer_parameters_are_whole_units() {
    let ms = 1_000_000;
    let set =
        sets("periodic:tasks=60,util=300%,pmin=5ms,pmax=20ms,unit=1ms,offset=random,deadline=constrained");
    for (p, d, c, release) in &set {
        let Op::Release { offset_ns, .. } = release else { unreachable!("asked for") };
        assert!([*p, *d, *c, *offset_ns].iter().all(|v| v.is_multiple_of(ms)), "{p} {d} {c} {offset_ns}");
        assert!(*c >= ms && c <= d && offset_ns < p);
    }
    let sum: f64 = set.iter().map(|(p, _, c, _)| *c as f64 / *p as f64).sum();
    assert!(sum > 2.0, "rounding up to one unit raises it, rounding to the nearest keeps it: {sum}");
}

#[test]
fn wrong_combinations_are_explained() {
    for (spec, says) in [
        ("periodic:dist=list", "needs 1 to 1000 `periods`"),
        ("periodic:dist=list,periods=5ms/x", "`x` is not a time"),
        ("periodic:dist=harmonc", "did you mean `harmonic`?"),
        ("periodic:unit=7ms", "not multiples of `unit`"),
        ("periodic:deadline=arbitrary,dmax=50%", "out of range"),
    ] {
        let error = generate(spec, 1, Limits::default()).expect("a generator").expect_err(spec).to_string();
        assert!(error.contains(says), "{spec}: {error}");
    }
}

#[test]
fn a_token_goes_there_and_back() {
    let w = make("tokens:pairs=2,loops=3");
    assert_eq!(
        w.channels.iter().map(|c| c.0.as_str()).collect::<Vec<_>>(),
        ["there0", "back0", "there1", "back1"]
    );
    let steps = |task: usize| {
        w.tasks[task].program.iter().filter(|op| !matches!(op, Op::Run { .. })).cloned().collect::<Vec<_>>()
    };
    let (write, read) = (|channel| Op::Write { channel, bytes: 4 }, |channel| Op::Read { channel, bytes: 4 });
    assert_eq!(steps(2), [Op::Loop { count: Some(3) }, write(2), read(3), Op::LoopEnd]);
    assert_eq!(steps(3), [Op::Loop { count: Some(3) }, read(2), write(3), Op::LoopEnd]);
    assert!(matches!(make("tokens:loops=0").tasks[0].program[0], Op::Loop { count: None }));
}
