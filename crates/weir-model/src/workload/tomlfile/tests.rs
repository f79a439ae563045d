// SPDX-License-Identifier: MIT OR GPL-2.0-only
use super::*;
use crate::workload::Criticality;

fn read(text: &str) -> Workload {
    parse("t", "t.toml", text, Limits::default(), &|_| Err(std::io::ErrorKind::NotFound.into()))
        .unwrap_or_else(|e| panic!("{e}"))
}

/// A key that no page has is a key that nobody finds.
#[test]
fn keys_are_on_the_page() {
    let pages = [
        include_str!("../../../../../docs/workload-files.md"),
        include_str!("../../../../../docs/workload-programs.md"),
        include_str!("../../../../../docs/workloads.md"),
        include_str!("../../../../../docs/guests.md"),
    ];
    for key in TOP.iter().chain(TASK).chain(MACHINE_EVENT).chain(guest::KEYS).chain(profile::KEYS) {
        let forms = [format!("`{key}`"), format!("`{key} = "), format!("[[{key}]]"), format!("\n{key} = ")];
        let there = pages.iter().any(|page| forms.iter().any(|form| page.contains(form)));
        assert!(there, "`{key}` is not on docs/workload-files.md or the pages beside it");
    }
}

#[test]
fn programs_in_all_spellings() {
    let expected = [
        Op::Run { ns: 2_000_000 },
        Op::Loop { count: Some(10) },
        Op::Lock { mutex: 0 },
        Op::RunBetween { min_ns: 1_000, max_ns: 2_000 },
        Op::Unlock { mutex: 0 },
        Op::LoopEnd,
        Op::Sleep { ns: 8_000_000 },
    ];
    for program in [
        "\"run 2ms; loop 10 { lock m; run 1us..2us; unlock m }; sleep 8ms\"",
        "[\"run 2ms\", \"loop 10 {\", \"  lock m\", \"  run 1us..2us\", \"  unlock m\", \"}\", \"sleep 8ms\"]",
        "\"\"\"\nrun 2ms\nloop 10 {\n lock m\n run 1us..2us\n unlock m\n}\nsleep 8ms\n\"\"\"",
    ] {
        let w = read(&format!("[[task]]\nname = \"a\"\nprogram = {program}\n"));
        assert_eq!(w.tasks[0].program.to_vec(), expected, "{program}");
    }
}

#[test]
fn every_step_is_read() {
    let w = read(
        r#"
        channels = { c = "1KiB" }
        barriers = { b = 7 }
        [[task]]
        name = "a"
        policy = "fifo"
        priority = 3
        program = """
          runtime 1ms; mem 4MiB; io 1KiB; yield; timer 1ms; timer 2ms absolute tick
          wait q m; sync q m; signal q; broadcast q; barrier b; suspend e; resume e
          write c 10; read c 10B; raise f; raise f 2; spin f 3; spin f each
          fork child; isa accel; isa native; priority 4; nice 5; cpus 0-3; cpus all; marker half way
        """
        [[task]]
        name = "child"
        template = true
        run = "1ms"
        "#,
    );
    let p = &w.tasks[0].program;
    assert_eq!(p.len(), 27);
    assert_eq!(p[5], Op::Timer { timer: 0, period_ns: 2_000_000, relative: false, shared: true });
    assert_eq!(p[19], Op::Fork { template: 1 });
    assert_eq!(p[20], Op::SetIsa { isa: Some("accel".into()) });
    assert_eq!(p[21], Op::SetIsa { isa: None });
    assert_eq!(p[22], Op::SetPriority { priority: 104 });
    assert_eq!(p[26], Op::Marker { text: "half way".into(), number: 0 });
    assert_eq!(w.barriers, [("b".to_string(), 7)]);
    assert_eq!(w.channels, [("c".to_string(), 1024)]);
    assert_eq!(w.tasks[1].start_ns, None);
}

#[test]
fn periodic_and_sporadic_tasks() {
    let w = read(
        r#"
        duration = "2s"
        [[task]]
        name = "p"
        count = 3
        stagger = "1ms"
        group = "g"
        period = "10ms"
        run = "1ms..3ms"
        deadline = "8ms"
        offset = "2ms"
        jitter = "100us"
        sporadic = "5ms"
        jobs = 4
        cpus = [1, 3]
        isa = "accel"
        "#,
    );
    assert_eq!(w.tasks.len(), 3);
    assert_eq!((w.tasks[2].name.as_str(), w.tasks[2].start_ns), ("p-2", Some(2_000_000)));
    assert_eq!(w.tasks[0].timing.map(|t| t.wcet_ns), Some(3_000_000));
    assert_eq!(w.tasks[0].isa.as_deref(), Some("accel"));
    let release = Op::Release {
        offset_ns: 2_000_000,
        period_ns: 10_000_000,
        deadline_ns: 8_000_000,
        jitter_ns: 100_000,
        extra_ns: 5_000_000,
    };
    assert_eq!(w.tasks[0].program[..2], [Op::Loop { count: Some(4) }, release]);
}

#[test]
fn barriers_count_tasks_and_events_are_sorted() {
    let w = read(
        r#"
        [[task]]
        name = "a"
        count = 4
        program = "barrier b; run 1ms; barrier b"
        [[task]]
        name = "b"
        program = "barrier b; run 1ms; barrier b"
        [[machine_event]]
        at = "5ms"
        online = 3
        [[machine_event]]
        at = "1ms"
        offline = 3
        [[machine_event]]
        at = "2ms"
        cpu = 0
        frequency = "1.2GHz"
        "#,
    );
    assert_eq!(w.barriers, [("b".to_string(), 5)]);
    let expected = [
        (1_000_000, MachineEvent::Offline(3)),
        (2_000_000, MachineEvent::Frequency(0, 1_200_000_000)),
        (5_000_000, MachineEvent::Online(3)),
    ];
    assert_eq!(w.machine_events, expected);
}

#[test]
fn policy_deadline_takes_the_timing() {
    let w = read("[[task]]\nname = \"d\"\npolicy = \"deadline\"\nperiod = \"10ms\"\nwcet = \"2ms\"\n");
    let policy = Policy::Deadline { runtime_ns: 2_000_000, deadline_ns: 10_000_000, period_ns: 10_000_000 };
    assert_eq!((w.tasks[0].policy, w.tasks[0].priority), (policy, 300));
}

#[test]
fn criticality_has_two_execution_times() {
    let w = read(
        "[[task]]\nname = \"hi\"\ncount = 2\nperiod = \"10ms\"\nwcet = \"2ms\"\nwcet_hi = \"5ms\"\nrun = \"1ms..4ms\"\n\
         criticality = \"hi\"\n[[task]]\nname = \"lo\"\nperiod = \"10ms\"\nrun = \"1ms\"\ncriticality = \"lo\"\n\
         [[task]]\nname = \"none\"\nrun = \"1ms\"\n",
    );
    let hi = Criticality::Hi { wcet_ns: 5_000_000 };
    assert_eq!(Vec::from_iter(w.criticality), [(0, hi), (1, hi), (2, Criticality::Lo)]);
    assert_eq!(w.tasks[0].timing.map(|t| t.wcet_ns), Some(2_000_000));
}

#[test]
fn clamps_and_nodes_of_memory_are_checked() {
    let task = |keys: &str| format!("[[task]]\nname = \"a\"\nrun = \"1ms\"\n{keys}\n");
    let w = read(&(task("util_min = 100\nmemory = 1") + "[[group]]\nname = \"g\"\nutil_max = 300\n"));
    let a = w.fairness.tasks[&0];
    assert_eq!((a.clamps.least, a.clamps.most), (100, 1024));
    assert_eq!(a.memory.map(|m| (m.node, m.bound_pct)), Some((1, 30)));
    assert_eq!((w.fairness.groups[0].clamps.least, w.fairness.groups[0].clamps.most), (0, 300));
    for (keys, says) in [
        ("util_min = 700\nutil_max = 600", "a least utilisation of 700, and at most 600"),
        ("util_max = 1025", "util_max"),
        ("memory_bound = \"20%\"", "`memory_bound` without `memory`"),
        ("memory = 0\nmemory_bound = \"120%\"", "more than the whole time"),
    ] {
        let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let e = parse("t", "t.toml", &task(keys), Limits::default(), &none).expect_err(keys);
        assert!(e.to_string().contains(says), "{e}");
    }
}
