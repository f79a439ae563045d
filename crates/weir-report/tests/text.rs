// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tables as a reader sees them.

use weir_report::{
    ComponentSummary, CpuSummary, Dist, GroupSummary, PipeSummary, Screen, Summary, SwapSummary, TaskSummary,
    Totals, compare_table, table,
};

const MS: u64 = 1_000_000;

fn dist(p50: u64) -> Dist {
    Dist { min: p50 / 4, mean: p50 + p50 / 9, p50, p95: 3 * p50, p99: 4 * p50, max: 7 * p50, count: 10 }
}

/// A made-up run on `cpus` CPUs with `tasks` tasks in groups of `per_group`.
fn run(topology: &str, cpus: u32, tasks: u32, per_group: u32, slower: u64) -> Summary {
    let task = |id: u32| TaskSummary {
        name: format!("worker-{id}").into(),
        id,
        group: format!("group-{}", id / per_group).into(),
        jobs: 10,
        jobs_completed: 9,
        deadline_misses: u64::from(id % 7 == 3),
        preemptions: u64::from(id % 5),
        migrations: 1,
        cpu_ns: 3 * MS,
        wait_ns: 2 * MS * slower,
        response_ns: dist(MS * slower + 1000 * u64::from(id)),
        wakeup_latency_ns: dist(12_345 * slower),
        ..TaskSummary::default()
    };
    let tasks: Vec<TaskSummary> = (0..tasks).map(task).collect();
    let group = |members: &[TaskSummary]| GroupSummary {
        name: members[0].group.to_string(),
        tasks: members.len() as u64,
        jobs: members.iter().map(|t| t.jobs).sum(),
        deadline_misses: members.iter().map(|t| t.deadline_misses).sum(),
        cpu_ns: members.iter().map(|t| t.cpu_ns).sum(),
        wait_ns: members.iter().map(|t| t.wait_ns).sum(),
        response_ns: members[0].response_ns,
        wakeup_latency_ns: members[0].wakeup_latency_ns,
        ..GroupSummary::default()
    };
    let cpu = |cpu: u32| CpuSummary {
        cpu,
        name: format!("CPU {cpu}"),
        busy_ns: 10 * MS + u64::from(cpu % 8) * 10 * MS,
        scheduler_ns: 4 * MS,
        idle_ns: 86 * MS - u64::from(cpu % 8) * 10 * MS,
        switches: 120,
        ..CpuSummary::default()
    };
    let cpus: Vec<CpuSummary> = (0..cpus).map(cpu).collect();
    let sum = |f: fn(&CpuSummary) -> u64| cpus.iter().map(f).sum();
    Summary {
        runweir: "0.1.0".into(),
        topology: topology.into(),
        machine: format!("smp-{}", cpus.len()),
        workload: "made-up".into(),
        seed: 7,
        duration_ns: 100 * MS,
        events: 1_234_567,
        totals: Totals {
            jobs: 10 * tasks.len() as u64,
            jobs_completed: 9 * tasks.len() as u64,
            deadline_misses: tasks.iter().map(|t| t.deadline_misses).sum(),
            context_switches: 120 * cpus.len() as u64,
            cpu_switches: 200 * cpus.len() as u64,
            preemptions: 31,
            migrations: tasks.len() as u64,
            decisions: 4000,
            scheduler_ns: sum(|c| c.scheduler_ns),
            lock_wait_ns: sum(|c| c.scheduler_ns) / 5,
            idle_ns: sum(|c| c.idle_ns),
            busy_ns: sum(|c| c.busy_ns),
            energy_uj: 12_345_678,
            jobs_dropped: 0,
            spin_ns: 0,
            stolen_ns: 0,
        },
        response_ns: dist(MS * slower),
        wakeup_latency_ns: dist(12_345 * slower),
        groups: tasks.chunks(per_group as usize).map(group).collect(),
        pipes: vec![PipeSummary { name: "entry".into(), lock_wait_ns: MS, ..PipeSummary::default() }],
        components: vec![ComponentSummary { name: "lb".into(), updates: 4000, ns: 3 * MS }],
        tasks,
        cpus,
        ..Summary::default()
    }
}

#[test]
fn small_run() {
    let mut s = run("decentral", 2, 4, 2, 1);
    s.wall_ns = 5 * MS;
    s.interrupted = true;
    s.swaps.push(SwapSummary { at_ns: 5, from: "a".into(), to: "b".into(), pause_ns: 4_200, represented: 3 });
    s.cpus[1].name = "E-core 1".into();
    insta::assert_snapshot!(table(&s, &Screen::default()));
}

#[test]
fn large_run_is_folded() {
    insta::assert_snapshot!(table(&run("decentral", 100, 300, 10, 1), &Screen::default()));
}

#[test]
fn nothing_happened() {
    insta::assert_snapshot!(table(&Summary::default(), &Screen::default()));
}

#[test]
fn two_topologies() {
    insta::assert_snapshot!(compare_table(
        &[run("central", 4, 8, 2, 3), run("decentral", 4, 8, 2, 1)],
        &Screen::default()
    ));
}

#[test]
fn seeds_are_averaged_and_unclear_winners_are_all_marked() {
    let mut runs = Vec::new();
    for (i, noise) in [0, 3, 1, 2, 4].into_iter().enumerate() {
        for (topology, slower) in [("central", 30), ("decentral", 10), ("stealing", 10)] {
            let mut s = run(topology, 4, 8, 2, slower + noise);
            s.seed = i as u64;
            runs.push(s);
        }
    }
    insta::assert_snapshot!(compare_table(&runs, &Screen::default()));
}

#[test]
fn many_topologies_come_in_blocks() {
    let names = ["a", "b", "c", "a-topology-with-a-very-long-name-that-does-not-fit", "e", "f"];
    let runs: Vec<Summary> = names.iter().enumerate().map(|(i, n)| run(n, 4, 8, 2, 1 + i as u64)).collect();
    let text = compare_table(&runs, &Screen::default());
    assert!(text.lines().all(|l| l.chars().count() <= 100), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_recording_says_that_it_is_one() {
    let summary = Summary {
        topology: "decentral".into(),
        machine: "host".into(),
        workload: "live".into(),
        duration_ns: 2_000_000_000,
        live: true,
        lost_events: 1200,
        ..Summary::default()
    };
    let text = table(&summary, &Screen::default());
    assert!(text.starts_with("decentral on host · live\n2 s of real time, 0 events\n"), "{text}");
    assert!(text.contains("INCOMPLETE: 1 200 events lost"), "{text}");
}

/// A comparison as a figure: every topology and figure is there, and the baseline's bars end at 1.0.
#[test]
fn a_comparison_is_a_figure() {
    use weir_report::picture::{Format, Shape};
    let picture = weir_report::compare_picture(&[run("central", 4, 8, 2, 3), run("decentral", 4, 8, 2, 1)]);
    let texts: Vec<&str> = picture
        .shapes
        .iter()
        .filter_map(|s| if let Shape::Text { text, .. } = s { Some(text.as_str()) } else { None })
        .collect();
    for word in ["central", "decentral", "response p99", "deadline misses", "1.0 = central"] {
        assert!(texts.contains(&word), "{word}: {texts:?}");
    }
    assert_eq!(picture.bytes(Format::Svg), picture.bytes(Format::Svg));
    assert!(picture.bytes(Format::Tex).starts_with(b"% "));
}
