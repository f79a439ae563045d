// SPDX-License-Identifier: MIT OR GPL-2.0-only
use super::*;
use crate::workload::{Op, Timing};

fn file(attributes: &str, tasks: &str) -> String {
    format!(
        r#"<?xml version="1.0"?>
<simulation duration="100000000" cycles_per_ms="1000000" {attributes}>
  <sched class="simso.schedulers.EDF" overhead="0"/>
  <processors><processor id="1" name="CPU 1" speed="1.0"/><processor id="2" name="CPU 2" speed="0.5"/></processors>
  <tasks>{tasks}</tasks>
</simulation>"#
    )
}

fn read(text: &str) -> Workload {
    parse("t", "t.xml", text, 1, Limits::default()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn periodic_tasks_and_extras() {
    let w = read(&file(
        "",
        r#"<task name="T1" id="1" WCET="2.5" period="10" deadline="8" activationDate="1" abort_on_miss="no"
             instructions="0" mix="0.5" base_cpi="1.0"/>"#,
    ));
    assert_eq!(w.duration_ns, Some(100_000_000));
    let extras = w.simso.as_ref().expect("always there");
    assert_eq!((extras.nr_cpus, extras.scheduler.as_deref()), (2, Some("simso.schedulers.EDF")));
    assert_eq!(extras.speeds_pct, [100, 50]);
    let release = Op::Release {
        offset_ns: 1_000_000,
        period_ns: 10_000_000,
        deadline_ns: 8_000_000,
        jitter_ns: 0,
        extra_ns: 0,
    };
    let expected = [Op::Loop { count: None }, release, Op::Run { ns: 2_500_000 }, Op::LoopEnd];
    assert_eq!(w.tasks[0].program.to_vec(), expected);
    let timing = Timing { period_ns: 10_000_000, deadline_ns: 8_000_000, wcet_ns: 2_500_000 };
    assert_eq!(w.tasks[0].timing, Some(timing));
    assert!(w.warnings.is_empty(), "{:?}", w.warnings);
}

#[test]
fn dates_and_followers() {
    let w = read(&file(
        "",
        r#"<task name="A" id="1" task_type="Sporadic" WCET="1" deadline="5" period="0" followed_by="2"
             list_activation_dates="7.5, 2"/>
           <task name="B" id="2" task_type="APeriodic" WCET="3" deadline="9" period="0"/>
           <task name="C" id="3" task_type="APeriodic" WCET="3" deadline="9" period="0"/>"#,
    ));
    let release = |offset_ns| Op::Release {
        offset_ns,
        period_ns: 0,
        deadline_ns: 5_000_000,
        jitter_ns: 0,
        extra_ns: 0,
    };
    let (run, start) = (Op::Run { ns: 1_000_000 }, Op::Write { channel: 0, bytes: 1 });
    let expected = [release(2_000_000), run.clone(), start.clone(), release(7_500_000), run, start];
    assert_eq!(w.tasks[0].program.to_vec(), expected);
    assert_eq!(w.tasks[1].program[1], Op::Read { channel: 0, bytes: 1 });
    assert!(w.tasks[2].program.is_empty());
    let all = w.warnings.join("\n");
    assert!(all.contains("abort_on_miss") && all.contains("`C` is aperiodic"), "{all}");
}

#[test]
fn computing_times_are_drawn_with_the_seed() {
    let text = file(
        r#"etm="acet""#,
        r#"<task name="T" id="1" WCET="5" ACET="3" et_stddev="1" period="10" deadline="10"/>"#,
    );
    let w = read(&text);
    let draws: Vec<u64> = w.tasks[0]
        .program
        .iter()
        .filter_map(|op| if let Op::Run { ns } = op { Some(*ns) } else { None })
        .collect();
    assert_eq!(draws.len(), 11);
    assert!(draws.iter().all(|&d| d <= 5_000_000) && draws.iter().any(|&d| d != draws[0]));
    assert_eq!(w, read(&text));
    assert_ne!(w, parse("t", "t.xml", &text, 2, Limits::default()).expect("right"));
}
