// SPDX-License-Identifier: MIT OR GPL-2.0-only
use super::*;
use crate::workload::{Op, Policy, Protocol, Timing};

fn read(text: &str) -> Workload {
    parse("t", "t.json", text, Limits::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn ops(text: &str) -> Vec<Op> {
    read(text).tasks[0].program.to_vec()
}

#[test]
fn repeated_keys_keep_their_order() {
    let text = r#"{ "tasks" : { "t" : { "loop" : 1, "run" : 1, "sleep" : 2, "run" : 3, "run_b" : 4, } } }"#;
    let expected = [Op::Run { ns: 1000 }, Op::Sleep { ns: 2000 }, Op::Run { ns: 3000 }, Op::Run { ns: 4000 }];
    assert_eq!(ops(text), expected);
}

#[test]
fn loops_follow_the_parser_of_rt_app() {
    let endless = ops(r#"{ "tasks" : { "t" : { "run" : 1, "sleep" : 1 } } }"#);
    assert_eq!(endless[0], Op::Loop { count: None });
    let thrice = ops(r#"{ "tasks" : { "t" : { "loop" : 3, "run" : 1 } } }"#);
    assert_eq!(thrice, [Op::Loop { count: Some(3) }, Op::Run { ns: 1000 }, Op::LoopEnd]);
    let phases = ops(r#"{ "tasks" : { "t" : { "loop" : 2, "phases" : {
        "a" : { "run" : 1 }, "b" : { "loop" : 5, "sleep" : 1 } } } } }"#);
    let expected = [
        Op::Loop { count: Some(2) },
        Op::Run { ns: 1000 },
        Op::Loop { count: Some(5) },
        Op::Sleep { ns: 1000 },
        Op::LoopEnd,
        Op::LoopEnd,
    ];
    assert_eq!(phases, expected);
    let never = read(r#"{ "tasks" : { "t" : { "loop" : 0, "phases" : { "a" : { "run" : 1 } } } } }"#);
    assert!(never.tasks[0].program.is_empty());
}

#[test]
fn timers_are_private_or_shared_and_keep_one_mode() {
    let w = read(
        r#"{ "tasks" : {
        "a" : { "instance" : 2, "run" : 1,
            "timer" : { "ref" : "uniqueA", "period" : 10 }, "timer" : { "ref" : "uniqueB", "period" : 20 },
            "timer" : { "ref" : "uniqueA", "period" : 10, "mode" : "absolute" },
            "timer" : { "ref" : "tick", "period" : 5 } },
        "b" : { "run" : 1, "timer" : { "ref" : "tick", "period" : 5 } } } }"#,
    );
    assert_eq!(w.timers, ["tick"]);
    let timer = |task: usize, op: usize| match w.tasks[task].program[op] {
        Op::Timer { timer, period_ns, relative, shared } => (timer, period_ns, relative, shared),
        ref other => panic!("{other:?}"),
    };
    assert_eq!(timer(0, 2), (0, 10_000, false, false));
    assert_eq!(timer(0, 3), (1, 20_000, true, false));
    assert_eq!(timer(0, 4), (0, 10_000, false, false));
    assert_eq!(timer(0, 5), (0, 5_000, true, true));
    assert_eq!(timer(2, 2), (0, 5_000, true, true));
    assert!(std::sync::Arc::ptr_eq(&w.tasks[0].program, &w.tasks[1].program));
    assert_eq!(w.tasks[2].timing, Some(Timing { period_ns: 5_000, deadline_ns: 5_000, wcet_ns: 1_000 }));
}

#[test]
fn suspend_is_an_event_unless_its_name_is_a_condition() {
    let w = read(
        r#"{ "tasks" : {
        "a" : { "run" : 1, "suspend" : "", "suspend" : "q" },
        "b" : { "run" : 1, "resume" : "a", "signal" : "q" } } }"#,
    );
    assert_eq!(w.events, ["a"]);
    let a = &w.tasks[0].program;
    assert_eq!(a[2], Op::Suspend { event: 0 });
    assert_eq!(
        a[3..6],
        [Op::Lock { mutex: 0 }, Op::Wait { condition: 0, mutex: 0 }, Op::Unlock { mutex: 0 }]
    );
    assert_eq!(w.tasks[1].program[2], Op::Resume { event: 0 });
}

#[test]
fn values_may_be_missing_where_workgen_fills_them_in() {
    let w = read("{ \"tasks\" : { \"t\" : { \"suspend\", \"run\" : 5, \"yield\" } } }");
    assert_eq!(w.events, ["t"]);
    assert_eq!(w.tasks[0].program[1..4], [Op::Suspend { event: 0 }, Op::Run { ns: 5_000 }, Op::Yield]);
    let e = parse(
        "t",
        "t.json",
        "{ \"tasks\" : { \"t\" : { \"suspend\", \"run\" : \"x\" } } }",
        Limits::default(),
    );
    let e = e.expect_err("run needs a number");
    assert_eq!(e.position(), Some((1, 42)));
    let off = read(
        "{ \"tasks\" : { \"t\" : { \"loop\" : 1, \"run\" : 5, \"timer\" : { \"ref\" : \"unique\", \"period\" : 0 } } } }",
    );
    assert_eq!(off.tasks[0].program.to_vec(), [Op::Run { ns: 5_000 }]);
}

#[test]
fn names_priorities_and_groups() {
    let w = read(
        r#"{ "global" : { "default_policy" : "SCHED_FIFO" }, "tasks" : {
        "a" : { "instance" : 2, "run" : 1, "delay" : 7 },
        "b" : { "policy" : "SCHED_OTHER", "priority" : -6, "run" : 1, "taskgroup" : "/x" },
        "c" : { "policy" : "SCHED_DEADLINE", "dl-runtime" : 2, "dl-period" : 10, "run" : 1 },
        "d" : { "policy" : "SCHED_IDLE", "run" : 1 },
        "e" : { "policy" : "SCHED_RR", "priority" : 42, "run" : 1, "cpus" : [0, 2] } } }"#,
    );
    let names: Vec<&str> = w.tasks.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["a-0", "a-1", "b-2", "c-3", "d-4", "e-5"]);
    let priorities: Vec<i32> = w.tasks.iter().map(|t| t.priority).collect();
    assert_eq!(priorities, [110, 110, 6, 300, -20, 142]);
    assert_eq!(w.tasks[0].start_ns, Some(7_000));
    assert_eq!(w.tasks[2].group, "/x");
    let deadline = Policy::Deadline { runtime_ns: 2_000, deadline_ns: 10_000, period_ns: 10_000 };
    assert_eq!(w.tasks[3].policy, deadline);
    assert_eq!(w.tasks[5].cpus.as_ref().map(ToString::to_string).as_deref(), Some("0,2"));
}

#[test]
fn phases_change_cpus_and_priority() {
    let w = read(
        r#"{ "tasks" : { "t" : { "cpus" : [4], "phases" : {
        "a" : { "cpus" : [0, 1], "run" : 1 },
        "b" : { "priority" : 5, "run" : 1 } } } } }"#,
    );
    let cpus = |list: &[u32]| Some(list.iter().copied().collect());
    let expected = [
        Op::Loop { count: None },
        Op::SetAffinity { cpus: cpus(&[0, 1]) },
        Op::Run { ns: 1000 },
        Op::SetPriority { priority: -5 },
        Op::SetAffinity { cpus: cpus(&[4]) },
        Op::Run { ns: 1000 },
        Op::LoopEnd,
    ];
    assert_eq!(w.tasks[0].program.to_vec(), expected);
    assert_eq!(w.tasks[0].cpus, cpus(&[0, 1]));
}

#[test]
fn barriers_count_their_users_and_forks_have_templates() {
    let w = read(
        r#"{ "tasks" : {
        "a" : { "instance" : 3, "loop" : 1, "barrier" : "m", "run" : 1 },
        "b" : { "loop" : 1, "barrier" : "m", "fork" : "c", "run" : 1 },
        "c" : { "instance" : 0, "loop" : 1, "run" : 9 } } }"#,
    );
    assert_eq!(w.barriers, [("m".to_string(), 4)]);
    assert_eq!(w.tasks.len(), 5);
    assert_eq!(w.tasks[3].program[1], Op::Fork { template: 4 });
    assert_eq!((w.tasks[4].name.as_str(), w.tasks[4].start_ns), ("c", None));
}

#[test]
fn calibration_rounds_to_whole_loops() {
    let w = read(
        r#"{ "global" : { "calibration" : 300 }, "tasks" : { "t" : { "loop" : 1, "run" : 1, "run" : 1500000 } } }"#,
    );
    assert_eq!(w.calibration_cpu, None);
    assert_eq!(w.tasks[0].program[0], Op::Run { ns: 900 });
    assert_eq!(w.tasks[0].program[1], Op::Run { ns: 999_999_900 + 499_999_800 });
    assert_eq!(read(r#"{ "tasks" : { "t" : { "run" : 1 } } }"#).calibration_cpu, Some(0));
}

#[test]
fn durations_and_warnings() {
    let w = read(
        r#"{ "global" : { "duration" : 2, "frag" : 1, "gnuplt" : false },
        "tasks" : { "t" : { "run" : 1, "slep" : 5, "nodes_membind" : [0] } } }"#,
    );
    assert_eq!(w.duration_ns, Some(2_000_000_000));
    assert!(!w.is_endless());
    let all = w.warnings.join("\n");
    for part in ["`frag` is ignored", "did you mean `gnuplot`?", "did you mean `sleep`?", "nodes_membind"] {
        assert!(all.contains(part), "{part} in {all}");
    }
    let without = read(r#"{ "global" : { "duration" : -1 }, "tasks" : { "t" : { "run" : 1 } } }"#);
    assert_eq!(without.duration_ns, None);
}

/// All mutexes of a file hand on priorities, or none does.
#[test]
fn pi_enabled_gives_all_mutexes_inheritance() {
    let file = |pi: &str| {
        read(&format!(
            r#"{{ "global" : {{ {pi} "duration" : 1 }}, "tasks" : {{ "t" : {{ "loop" : 1, "lock" : "a", "run" : 5,
            "unlock" : "a", "lock1" : "b", "unlock1" : "b" }} }} }}"#
        ))
    };
    let w = file("\"pi_enabled\" : true,");
    assert_eq!(w.protocols, vec![Protocol::Inherit; w.mutexes.len()]);
    assert!(w.mutexes.len() >= 2 && w.warnings.is_empty(), "{:?}", w.warnings);
    for pi in ["\"pi_enabled\" : false,", ""] {
        assert!(file(pi).protocols.iter().all(|p| *p == Protocol::None));
    }
}

/// The public example files of rt-app, where the developer has them.
#[test]
fn public_examples_are_read() {
    let Ok(dir) = std::env::var("WEIR_SHARED_DATA") else {
        eprintln!("skipped: WEIR_SHARED_DATA does not name a directory with rt-app/*.json");
        return;
    };
    let mut read_files = 0;
    let files = std::fs::read_dir(format!("{dir}/rt-app")).expect("the directory exists");
    for entry in files.map(|e| e.expect("readable").path()) {
        let text = std::fs::read_to_string(&entry).expect("readable");
        let name = entry.display().to_string();
        let w = parse("x", &name, &text, Limits::default()).unwrap_or_else(|e| panic!("{e}"));
        eprintln!("{name}: {} tasks, {:?}", w.tasks.len(), w.warnings);
        assert!(!w.tasks.is_empty());
        read_files += 1;
    }
    assert!(read_files > 0);
}
