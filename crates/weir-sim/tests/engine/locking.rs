// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Mutexes with protocols: the examples and the bounds of Sha, Rajkumar and Lehoczky (1990), under every order
//! of tasks.

use crate::common::*;

const PROTOCOLS: [&str; 4] = ["none", "inherit", "ceiling", "pcp"];

/// The same tasks are high, middle and low in the eyes of each of them.
const ORDERS: [&str; 4] = [
    "annotate priority; entry -> priority_order -> cpus;",
    "annotate deadline; entry -> rm -> cpus;",
    "annotate job; entry -> dm -> cpus;",
    "annotate deadline; entry -> edf -> cpus;",
];

/// A task of one job that is released `offset` ms after the start; `rank` from 1 (urgent).
fn once(name: &str, rank: u32, offset: u32, program: &str) -> String {
    format!(
        "[[task]]\nname = \"{name}\"\npolicy = \"fifo\"\npriority = {}\nperiod = \"{}ms\"\nwcet = \"50ms\"\n\
         offset = \"{offset}ms\"\njobs = 1\nprogram = \"{program}\"\n",
        90 - rank,
        100 * rank
    )
}

/// Responses in ms by task.
fn responses(text: &str, order: &str) -> Vec<(String, u64)> {
    let (g, out) = gantt(1, order, &toml(text), 0);
    assert!(out.warnings.is_empty() && out.alive == 0, "{:?}", out.warnings);
    let mut all: Vec<_> = g.done.iter().map(|d| (d.0.clone(), d.2 / MS)).collect();
    all.sort();
    all
}

fn expect(text: &str, order: &str, want: &[(&str, u64)]) {
    let got = responses(text, order);
    let want: Vec<_> = want.iter().map(|w| (w.0.to_string(), w.1)).collect();
    assert_eq!(got, want, "{order}\n{text}");
}

/// What stopped Mars Pathfinder: a middle task that needs no bus keeps the low one, which holds the bus, from
/// running, and thereby the high one, which wants it.
#[test]
fn a_middle_task_holds_up_the_high_one_only_without_a_protocol() {
    let tasks = [
        once("high", 1, 3, "lock bus; run 2ms; unlock bus"),
        once("mid", 2, 2, "run 10ms"),
        once("low", 3, 0, "lock bus; run 4ms; unlock bus; run 1ms"),
    ]
    .concat();
    for order in ORDERS {
        for (protocol, high, mid) in
            [("none", 13, 10), ("inherit", 4, 14), ("ceiling", 3, 14), ("pcp", 4, 14)]
        {
            let text = format!("mutexes = {{ bus = \"{protocol}\" }}\n{tasks}");
            expect(&text, order, &[("high", high), ("low", 17), ("mid", mid)]);
        }
    }
}

/// Two low tasks hold a mutex each that the high one needs in turn: inheritance lets both hold it up, the
/// ceilings only one.
#[test]
fn ceilings_hold_a_task_up_at_most_once() {
    let tasks = [
        once("high", 1, 2, "lock a; run 1ms; unlock a; lock b; run 1ms; unlock b"),
        once("mid", 2, 1, "lock a; run 3ms; unlock a"),
        once("low", 3, 0, "lock b; run 3ms; unlock b"),
    ]
    .concat();
    for order in ORDERS {
        for (protocol, high, mid, low) in [("inherit", 6, 3, 7), ("pcp", 3, 7, 3), ("ceiling", 3, 7, 3)] {
            let text = format!("mutexes = {{ a = \"{protocol}\", b = \"{protocol}\" }}\n{tasks}");
            expect(&text, order, &[("high", high), ("low", low), ("mid", mid)]);
        }
    }
}

/// The low task holds what the middle one waits for, which holds what the high one waits for.
#[test]
fn inheritance_is_handed_on() {
    let text = [
        "mutexes = { a = \"inherit\", b = \"inherit\" }\n".into(),
        once("high", 1, 3, "lock b; run 1ms; unlock b"),
        once("other", 2, 3, "run 5ms"),
        once("mid", 3, 1, "lock b; lock a; run 1ms; unlock a; unlock b"),
        once("low", 4, 0, "lock a; run 4ms; unlock a"),
    ]
    .concat();
    for order in ORDERS {
        // low 0-1, mid at 1 is held up; low 1-3, high at 3 is held up; low 3-4, mid 4-5, high 5-6, other 6-11.
        expect(&text, order, &[("high", 3), ("low", 4), ("mid", 4), ("other", 8)]);
    }
}

/// Two tasks that take two mutexes in opposite order: the ceilings avoid the deadlock.
#[test]
fn ceilings_avoid_deadlock() {
    for protocol in PROTOCOLS {
        let text = [
            format!("mutexes = {{ a = \"{protocol}\", b = \"{protocol}\" }}\n"),
            once("high", 1, 1, "lock b; run 1ms; lock a; run 1ms; unlock a; unlock b"),
            once("low", 2, 0, "lock a; run 2ms; lock b; run 1ms; unlock b; unlock a"),
        ]
        .concat();
        let (_, out) = gantt(1, ORDERS[0], &toml(&text), 0);
        let avoided = matches!(protocol, "ceiling" | "pcp");
        assert_eq!(
            out.warnings.iter().any(|w| w.starts_with("deadlock")),
            !avoided,
            "{protocol}: {:?}",
            out.warnings
        );
        assert_eq!(out.jobs_completed, if avoided { 2 } else { 0 }, "{protocol}");
    }
}

/// A small generator of numbers, so that sets differ by their seed only.
fn dice(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut s = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |n| {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        s % n
    }
}

/// Section IV of the paper: the most urgent task waits for at most one critical section of a lower one.
#[test]
fn the_bound_of_blocking_holds_for_random_sets() {
    let mut exceeded = 0;
    for seed in 1..=60 {
        let mut dice = dice(seed);
        let sections: Vec<u64> = (0..3).map(|_| 1 + dice(4)).collect();
        let mut text = once(
            "high",
            1,
            20,
            "lock a; run 1ms; unlock a; lock b; run 1ms; unlock b; lock c; run 1ms; unlock c",
        );
        for (i, section) in sections.iter().enumerate() {
            let mutex = ["a", "b", "c"][i];
            text += &once(
                &format!("holder-{i}"),
                5 - i as u32,
                dice(20) as u32,
                &format!("run 1ms; lock {mutex}; run {section}ms; unlock {mutex}; run 1ms"),
            );
        }
        text += &once("mid", 2, 15 + dice(8) as u32, "run 9ms");
        let longest = *sections.iter().max().expect("three");
        let sum: u64 = sections.iter().sum();
        for order in ORDERS {
            let high = |protocol: &str| {
                let head =
                    format!("mutexes = {{ a = \"{protocol}\", b = \"{protocol}\", c = \"{protocol}\" }}\n");
                responses(&(head + &text), order).iter().find(|r| r.0 == "high").expect("it ends").1
            };
            assert!(
                high("ceiling") <= 3 + longest && high("pcp") <= 3 + longest,
                "seed {seed} {order}\n{text}"
            );
            assert!(high("inherit") <= 3 + sum, "seed {seed} {order}\n{text}");
            exceeded += u32::from(high("none") > 3 + sum);
        }
    }
    assert!(exceeded > 0, "without a protocol some set exceeds the bound");
}

/// Twenty thousand tasks want one mutex. Each arrival and each release searched all that wait, and under the original ceiling
/// woke them: a minute under inheritance, hours under the ceiling. A second mutex is held meanwhile, by the last one.
#[test]
fn many_wait_for_a_mutex() {
    const TASKS: u32 = 20_000;
    for protocol in PROTOCOLS {
        for cpus in [1, 2] {
            let text = format!(
                "mutexes = {{ a = \"{protocol}\", b = \"{protocol}\" }}\n[[task]]\nname = \"t\"\ncount = {TASKS}\n\
                 program = \"lock a; run 1us; unlock a\"\n[[task]]\nname = \"last\"\nnice = 5\nprogram = \"lock b; run 2us; unlock b\"\n"
            );
            let machine = weir_sim::Machine::smp(cpus);
            let topology =
                "annotate affinity; entry -> load_balancer -> each cpu { round_robin(slice = 3ms) -> cpu };";
            let plan = plan(topology, &machine.shape);
            let cfg = weir_sim::RunConfig::default();
            let out = weir_sim::run(&machine, &plan, &toml(&text), &weir_sim::Costs::zero(), &cfg, &mut ());
            let out = out.unwrap_or_else(|e| panic!("{protocol}: {e}"));
            assert_eq!((out.alive, out.jobs_completed), (0, u64::from(TASKS) + 1), "{protocol}");
            assert!(out.events < 12 * u64::from(TASKS), "{protocol}, {cpus} CPUs: {} events", out.events);
        }
    }
}

/// Under the original ceiling one task of those that wait for a mutex is woken. If it loses its job before it has asked again,
/// the next one is.
#[test]
fn a_task_that_was_to_ask_again_and_does_not_is_followed() {
    let aborted = |name: &str, deadline: &str| {
        format!(
            "[[task]]\nname = \"{name}\"\npolicy = \"fifo\"\npriority = 50\nperiod = \"100ms\"\ndeadline = \"{deadline}\"\n\
             wcet = \"5ms\"\njobs = 1\non_miss = \"abort\"\nprogram = \"lock a; run 5ms; unlock a\"\n"
        )
    };
    let text = [
        "mutexes = { a = \"pcp\" }\n".into(),
        once("holder", 40, 0, "lock a; run 10ms; unlock a; run 1ms"),
        aborted("first", "12ms"),
        aborted("second", "60ms"),
        once("hog", 10, 9, "run 8ms"),
    ]
    .concat();
    for n in [1, 2] {
        let (g, out) = gantt(n, ORDERS[0], &toml(&text), 0);
        assert_eq!((out.alive, &out.warnings[..]), (0, &[][..]), "{n} CPUs: {:?}", g.done);
        assert!(g.done.iter().any(|d| d.0 == "second"), "{n} CPUs: {:?}", g.done);
    }
}
