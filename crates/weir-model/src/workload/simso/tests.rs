// SPDX-License-Identifier: MIT OR GPL-2.0-only
use super::*;
use crate::workload::{Arrivals, Dist, OnMiss, Op, Shape, Timing};

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
    parse("t", "t.xml", text, Limits::default()).unwrap_or_else(|e| panic!("{e}"))
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
    assert_eq!(extras.speeds, [1.0, 0.5]);
    let machine = extras.machine().expect("it has processors");
    assert_eq!(machine.shape.cpus.iter().map(|c| c.capacity).collect::<Vec<_>>(), [1024, 512]);
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
    let arrive = Op::Arrive {
        arrivals: Arrivals::List([2_000_000, 7_500_000].into()).into(),
        offset_ns: 0,
        period_ns: 5_500_000,
        deadline_ns: 5_000_000,
        jitter_ns: 0,
    };
    let (run, start) = (Op::Run { ns: 1_000_000 }, Op::Activate { event: 0 });
    let expected = [Op::Loop { count: Some(2) }, arrive, run, start, Op::LoopEnd];
    assert_eq!(w.tasks[0].program.to_vec(), expected);
    assert_eq!(w.tasks[0].on_miss, OnMiss::Abort);
    assert_eq!(w.tasks[1].program[1], Op::Await { event: 0 });
    assert_eq!(w.tasks[1].timing.map(|t| t.deadline_ns), Some(9_000_000));
    assert!(w.tasks[2].program.is_empty());
    let all = w.warnings.join("\n");
    assert!(all.contains("`abort_on_miss` of `B`") && all.contains("`C` is aperiodic"), "{all}");
}

#[test]
fn computing_times_are_drawn_and_cut_at_the_wcet() {
    let w = read(&file(
        r#"etm="acet""#,
        r#"<task name="T" id="1" WCET="5" ACET="3" et_stddev="1" period="10" deadline="10"/>"#,
    ));
    let shape = Shape::Normal { mean_ns: 3_000_000, deviation_ns: 1_000_000 };
    let dist = Dist { shape, min_ns: 1, max_ns: 5_000_000, clamp: true }.into();
    assert_eq!(w.tasks[0].program[2], Op::RunDrawn { dist });
    // Drawn times do not keep a late job from being aborted.
    assert_eq!(w.tasks[0].on_miss, OnMiss::Abort);
}

#[test]
fn faster_processors_make_work_shorter() {
    let text =
        file("", r#"<task name="T" id="1" WCET="4" period="10" deadline="10"/>"#).replace("0.5", "2.0");
    let mut w = read(&text);
    let capacity = |w: &Workload| -> Vec<u32> {
        let machine = w.simso.as_ref().and_then(|s| s.machine()).expect("it has processors");
        machine.shape.cpus.iter().map(|c| c.capacity).collect()
    };
    assert_eq!(capacity(&w), [512, 1024]);
    w.for_own_machine();
    assert_eq!(w.tasks[0].program[2], Op::Run { ns: 2_000_000 });
    assert_eq!(w.tasks[0].timing.map(|t| t.wcet_ns), Some(2_000_000));
}

/// Every attribute without effect is reported with its consequences.
#[test]
fn what_has_no_counterpart_is_reported() {
    let text = r#"<?xml version="1.0"?>
<simulation cycles_per_ms="1000000" etm="fixedpenalty" penalty_migration="5000" colour="red">
  <sched class="simso.schedulers.EDF" overhead="10"><field name="UtilMax" type="float" value="0.9"/></sched>
  <caches memory_access_time="100"><cache name="L1" id="1" policy="LRU" type="data" size="64"/></caches>
  <processors migration_overhead="7">
    <processor id="1" name="CPU 1" speed="0.3" cl_overhead="200" cs_overhead="100"/>
    <processor id="2" name="CPU 2" cl_overhead="250"/>
  </processors>
  <tasks>
    <field name="priority" type="int"/><field name="memory" type="int"/>
    <task name="T" id="1" WCET="4" period="10" deadline="10" priority="3" memory="5" instructions="100"
      preemption_cost="9" stack="x.txt" base_cpi="2"/>
  </tasks>
</simulation>"#;
    let w = read(text);
    let all = w.warnings.join("\n");
    for word in [
        "no attribute `colour`",
        "parameter `UtilMax` of the scheduler",
        "overheads of the scheduler",
        "`caches` have no effect",
        "`migration_overhead` has no effect",
        "`cl_overhead` and `cs_overhead`",
        "the largest everywhere",
        "`speed` of processors is rounded",
        "field `memory` of tasks",
        "`instructions` of tasks",
        "`preemption_cost` of tasks",
        "`stack` of tasks",
        "`base_cpi` of tasks",
        "`penalty_preemption` has no counterpart",
    ] {
        assert!(all.contains(word), "{word}\n{all}");
    }
    assert!(!all.contains("priority"), "{all}");
    // SimSo's own default: 50,000 cycles.
    assert_eq!(w.duration_ns, Some(50_000));
    let costs = w.simso.as_ref().expect("always there").costs.table();
    assert_eq!((costs.context_switch, costs.migration.llc), (300, 5_000));
}
