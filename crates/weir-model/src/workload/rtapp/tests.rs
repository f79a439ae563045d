// SPDX-License-Identifier: MIT OR GPL-2.0-only
use proptest::prelude::*;

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
        "resources" : { "m" : { "type" : "mutex", "protocol" : "inherit", "kind" : 1 }, "s" : { "type" : "sem" } },
        "tasks" : { "t" : { "run" : 1, "nodes_membind" : [0], "period" : 5, "_note" : "a remark" } } }"#,
    );
    assert_eq!(w.duration_ns, Some(2_000_000_000));
    assert!(!w.is_endless());
    let all = w.warnings.join("\n");
    for part in [
        "`frag` is ignored",
        "did you mean `gnuplot`?",
        "nodes_membind",
        "resource `m`: `protocol` is ignored",
        "resource `m`: unknown key `kind`",
        "`period` without SCHED_DEADLINE has no effect",
    ] {
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

fn refused(text: &str) -> String {
    parse("t", "t.json", text, Limits::default()).expect_err("refused").to_string()
}

/// A slip in the place of an event would drop the event: rt-app does, we do not.
#[test]
fn what_is_no_event_is_refused() {
    let slip = refused(r#"{ "tasks" : { "t" : { "run" : 1, "slep" : 5 } } }"#);
    assert!(slip.contains("t.json:1:34") && slip.contains("did you mean `sleep`?"), "{slip}");
    let phase = refused(r#"{ "tasks" : { "t" : { "phases" : { "p" : { "memory" : 5 } } } } }"#);
    assert!(phase.contains("phase `p`: `memory` is neither an event nor a setting"), "{phase}");
    let delay = refused(r#"{ "tasks" : { "t" : { "phases" : { "p" : { "delay" : 5 } } } } }"#);
    assert!(delay.contains("`delay` is a thread's"), "{delay}");
    let old = refused(
        r#"{ "global" : { "default_policy" : "SCHED_DEADLINE" }, "tasks" : { "t" : { "exec" : 5, "period" : 9 } } }"#,
    );
    assert!(old.contains("before version 1.0"), "{old}");
}

#[test]
fn semaphores_count() {
    let w = read(
        r#"{ "tasks" : {
        "a" : { "loop" : 3, "sem_post" : "s", "suspend" : "s" },
        "b" : { "loop" : 3, "sem_wait1" : "s", "run" : 2 } } }"#,
    );
    // Semaphores and what threads suspend on have names of their own.
    assert_eq!(w.events, ["semaphore s", "s"]);
    assert_eq!(w.tasks[0].program[1..3], [Op::Activate { event: 0 }, Op::Suspend { event: 1 }]);
    assert_eq!(w.tasks[1].program[1..3], [Op::Take { event: 0 }, Op::Run { ns: 2000 }]);
}

#[test]
fn memory_runs_are_events_of_their_own() {
    let w = read(
        r#"{ "tasks" : { "t" : { "loop" : 1, "mem" : 7, "memrun" : { "type" : "write", "size" : 64, "count" : 9 },
        "memrun1" : { "type" : "chase", "size" : 4096, "stride" : 64, "pattern" : "random", "count" : 3000000000 } } } }"#,
    );
    let bytes: Vec<u64> = w.tasks[0]
        .program
        .iter()
        .map(|op| match op {
            Op::Memory { bytes } => *bytes,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(bytes, [7, 9, 192_000_000_000]);
    assert!(
        w.warnings.iter().any(|w| w.contains("`size`, `stride` and `pattern` have no effect")),
        "{:?}",
        w.warnings
    );
    let kind = refused(r#"{ "tasks" : { "t" : { "memrun" : { "type" : "red", "count" : 1 } } } }"#);
    assert!(kind.contains("did you mean `read`?"), "{kind}");
    let member = refused(r#"{ "tasks" : { "t" : { "memrun" : { "type" : "read", "cout" : 1 } } } }"#);
    assert!(member.contains("did you mean `count`?"), "{member}");
}

/// Linux 6.12: the runtime of a fair thread is its slice, from 0.1 to 100 ms.
#[test]
fn fair_threads_request_slices() {
    let w = read(
        r#"{ "tasks" : {
        "a" : { "run" : 1, "dl-runtime" : 300 },
        "b" : { "run" : 1, "policy" : "SCHED_BATCH", "dl-runtime" : 7 },
        "c" : { "phases" : { "p" : { "run" : 1, "dl-runtime" : 500000 }, "q" : { "run" : 1, "dl-runtime" : 900 } } },
        "d" : { "run" : 1, "policy" : "SCHED_FIFO", "dl-runtime" : 300 } } }"#,
    );
    let slice = |i: u32| w.fairness.tasks.get(&i).and_then(|f| f.slice_ns);
    assert_eq!(
        [slice(0), slice(1), slice(2), slice(3)],
        [Some(300_000), Some(100_000), Some(100_000_000), None]
    );
    let all = w.warnings.join("\n");
    for part in
        ["of 7 us becomes 100 us", "change of slice", "thread `d`: `dl-runtime` without SCHED_DEADLINE"]
    {
        assert!(all.contains(part), "{part} in {all}");
    }
}

#[test]
fn threads_have_utilisation_clamps() {
    let w = read(
        r#"{ "tasks" : {
        "a" : { "run" : 1, "util_min" : 200, "util_max" : 600 },
        "b" : { "util_max" : 512, "phases" : { "p" : { "run" : 1, "util_min" : 100 }, "q" : { "run" : 1, "util_max" : 300 } } },
        "c" : { "run" : 1, "util_min" : -1, "util_max" : 1024 } } }"#,
    );
    let clamps = |i: u32| w.fairness.tasks.get(&i).map(|f| (f.clamps.least, f.clamps.most));
    assert_eq!([clamps(0), clamps(1), clamps(2)], [Some((200, 600)), Some((100, 512)), None]);
    let changes = w.warnings.iter().filter(|w| w.contains("clamps hold for whole threads"));
    assert_eq!(changes.count(), 1, "{:?}", w.warnings);
    let above = refused(r#"{ "tasks" : { "t" : { "run" : 1, "util_min" : 700, "util_max" : 600 } } }"#);
    assert!(above.contains("`util_min` 700 is above `util_max` 600"), "{above}");
    let large = refused(r#"{ "tasks" : { "t" : { "run" : 1, "util_max" : 1025 } } }"#);
    assert!(large.contains("util_max"), "{large}");
}

#[test]
fn deadlines_take_the_period_of_the_timer() {
    let timing = |thread: &str| {
        let w = read(&format!(
            r#"{{ "global" : {{ "default_policy" : "SCHED_DEADLINE" }}, "tasks" : {{ "t" : {{ {thread} }} }} }}"#
        ));
        let t = w.tasks[0].timing.expect("it is recurrent");
        ((t.wcet_ns, t.deadline_ns, t.period_ns), w.warnings.join("\n"))
    };
    let timer = r#""runtime" : 233, "timer" : { "ref" : "unique", "period" : 1000 }"#;
    let (one, said) = timing(timer);
    assert_eq!(one, (233_000, 1_000_000, 1_000_000));
    assert!(said.contains("is that of the timer"), "{said}");
    let (given, said) = timing(&format!(r#"{timer}, "dl-period" : 900, "dl-deadline" : 500"#));
    assert_eq!((given, said.as_str()), ((233_000, 500_000, 900_000), ""));
    let (two, said) = timing(&format!(r#"{timer}, "timer1" : {{ "ref" : "u", "period" : 1500 }}"#));
    assert_eq!(two, (233_000, 233_000, 233_000));
    assert!(said.contains("the runtime itself"), "{said}");
    let (none, _) = timing(r#""dl-runtime" : 200, "run" : 5"#);
    assert_eq!(none, (200_000, 200_000, 200_000));
}

/// A control group that nobody has changed has the weight of a task of nice 0; paths nest.
#[test]
fn taskgroups_are_groups() {
    let w = read(
        r#"{ "tasks" : {
        "a" : { "run" : 1, "taskgroup" : "/x/y" }, "b" : { "run" : 1, "taskgroup" : "/x/" }, "c" : { "run" : 1 },
        "d" : { "phases" : { "p" : { "run" : 1, "taskgroup" : "/z" }, "q" : { "run" : 1, "taskgroup" : "/x" } } },
        "e" : { "run" : 1, "taskgroup" : "/" } } }"#,
    );
    let groups: Vec<(&str, u32, u32)> =
        w.fairness.groups.iter().map(|g| (g.name.as_str(), g.parent, g.weight)).collect();
    assert_eq!(groups, [("/x", 0, 1024), ("/x/y", 1, 1024), ("/z", 0, 1024)]);
    let of: Vec<u32> = (0..5).map(|i| w.fairness.tasks.get(&i).map_or(0, |f| f.group)).collect();
    assert_eq!(of, [2, 1, 0, 3, 0]);
    assert_eq!([&w.tasks[0].group, &w.tasks[1].group, &w.tasks[2].group], ["/x/y", "/x", "c"]);
    assert!(w.warnings.join(" ").contains("phase `q`: the change of task group"), "{:?}", w.warnings);
    let deep = refused(r#"{ "tasks" : { "t" : { "run" : 1, "taskgroup" : "/1/2/3/4/5/6/7/8/9" } } }"#);
    // A file system would follow it elsewhere.
    let up = refused(r#"{ "tasks" : { "t" : { "run" : 1, "taskgroup" : "/x/../y" } } }"#);
    assert!(up.contains("`..` in a task group"), "{up}");
    assert!(deep.contains("9 levels deep"), "{deep}");
}

/// An event as a file writes it, and what it becomes.
fn drawn_event() -> impl Strategy<Value = (String, String, Op)> {
    let us = 1u64..1_000_000;
    prop_oneof![
        us.clone().prop_map(|v| ("run".into(), v.to_string(), Op::Run { ns: v * 1000 })),
        us.clone().prop_map(|v| ("runtime".into(), v.to_string(), Op::Runtime { ns: v * 1000 })),
        us.clone().prop_map(|v| ("sleep".into(), v.to_string(), Op::Sleep { ns: v * 1000 })),
        us.clone().prop_map(|v| ("mem".into(), v.to_string(), Op::Memory { bytes: v })),
        us.clone().prop_map(|v| ("iorun".into(), v.to_string(), Op::Io { bytes: v })),
        us.prop_map(|v| {
            let value = format!(r#"{{ "type" : "read", "size" : 4096, "count" : {v} }}"#);
            ("memrun".into(), value, Op::Memory { bytes: v })
        }),
        Just(("sem_post".into(), r#""s""#.into(), Op::Activate { event: 0 })),
        Just(("sem_wait".into(), r#""s""#.into(), Op::Take { event: 0 })),
        Just(("lock".into(), r#""m""#.into(), Op::Lock { mutex: 0 })),
        Just(("unlock".into(), r#""m""#.into(), Op::Unlock { mutex: 0 })),
        Just(("signal".into(), r#""c""#.into(), Op::Signal { condition: 0 })),
        Just(("broad".into(), r#""c""#.into(), Op::Broadcast { condition: 0 })),
        Just(("yield".into(), r#""""#.into(), Op::Yield)),
    ]
}

proptest! {
    /// Whatever events a file has, in whatever spelling, the program has each of them, in order.
    #[test]
    fn no_event_is_dropped(
        events in proptest::collection::vec((drawn_event(), "([0-9]{1,3}|_[a-z]{0,3}|-[0-9]|[A-Z][a-z]{0,4})?"), 1..12),
        loops in 1u32..5,
        in_phase in any::<bool>(),
    ) {
        let body: Vec<String> =
            events.iter().map(|((key, value, _), suffix)| format!(r#""{key}{suffix}" : {value}"#)).collect();
        let body = body.join(", ");
        let thread = match in_phase {
            true => format!(r#""loop" : 1, "phases" : {{ "p" : {{ "loop" : {loops}, {body} }} }}"#),
            false => format!(r#""loop" : {loops}, {body}"#),
        };
        let w = read(&format!(r#"{{ "tasks" : {{ "t" : {{ {thread} }} }} }}"#));
        let program = &w.tasks[0].program;
        let body = if loops == 1 { &program[..] } else { &program[1..program.len() - 1] };
        let expected: Vec<Op> = events.into_iter().map(|((_, _, op), _)| op).collect();
        prop_assert_eq!(body, &expected[..]);
    }

    /// A word that is no event is refused by its name, wherever it stands among events.
    #[test]
    fn no_word_is_taken_for_an_event(word in "[a-z][a-z_-]{1,11}", at in 0usize..3) {
        prop_assume!(events::event_name(&word).is_none() && !THREAD_KEYS.contains(&word.as_str()));
        prop_assume!(!is_remark(&word) && !matches!(word.as_str(), "exec" | "lock_order"));
        let mut keys = vec![r#""run" : 1"#.to_string(), r#""sleep" : 2"#.into()];
        keys.insert(at, format!(r#""{word}" : 3"#));
        let text = format!(r#"{{ "tasks" : {{ "t" : {{ {} }} }} }}"#, keys.join(", "));
        let (said, named) = (refused(&text), format!("`{word}` is neither"));
        prop_assert!(said.contains(&named), "{}", said);
    }

    /// Text of any kind is read or refused, never more.
    #[test]
    fn any_file_is_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0usize..400) {
        let _ = parse("t", "t.json", &String::from_utf8_lossy(&bytes), Limits::default());
        let whole = r#"{ "tasks" : { "t" : { "policy" : "SCHED_DEADLINE", "dl-runtime" : 5, "phases" : { "p" : { "memrun" : { "type" :
            "chase", "count" : 5 }, "timer" : { "ref" : "unique", "period" : 9 }, "taskgroup" : "/a/b", "sem_wait" : "s" } } } } }"#;
        let mut text = whole.get(..cut.min(whole.len())).unwrap_or(whole).to_string();
        text += &String::from_utf8_lossy(&bytes);
        let _ = parse("t", "t.json", &text, Limits::default());
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
