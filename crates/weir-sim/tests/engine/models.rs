// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Task models: graphs, drawn and recorded arrivals, computing times, self-suspension.

use weir_core::event::{Event, Observer};
use weir_sim::{Costs, Machine, RunConfig, Workload};

use crate::common::*;

const EDF: &str = "annotate deadline; entry -> edf -> cpus;";

/// When jobs are released and done: task, job, time.
#[derive(Default)]
struct Times {
    names: Vec<String>,
    released: Vec<(String, u32, u64)>,
    done: Vec<(String, u32, u64)>,
    dropped: Vec<(String, u32, u64)>,
}

impl Observer for Times {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        match *event {
            Event::TaskNew { name, .. } => self.names.push(name.into()),
            Event::JobRelease { task, job, .. } => {
                self.released.push((self.names[task as usize].clone(), job, t))
            }
            Event::JobDone { task, job, .. } => self.done.push((self.names[task as usize].clone(), job, t)),
            Event::JobDropped { task, job } => self.dropped.push((self.names[task as usize].clone(), job, t)),
            _ => {}
        }
    }
}

fn times(cpus: u32, w: &Workload, duration_ns: u64, seed: u64) -> (Times, weir_sim::Outcome) {
    let cfg = RunConfig { seed, duration_ns: Some(duration_ns), ..RunConfig::default() };
    let mut seen = Times::default();
    let out = run_on(&Machine::smp(cpus), EDF, w, &Costs::zero(), cfg, &mut seen).expect("it runs");
    (seen, out)
}

const VISION: &str = r#"
[[dag]]
name = "vision"
period = "20ms"
nodes = { grab = "2ms", left = "3ms", right = "5ms", fuse = "1ms" }
edges = ["grab -> left -> fuse", "grab -> right -> fuse"]
"#;

#[test]
fn nodes_of_a_graph_run_in_parallel_once_they_are_ready() {
    let (g, out) = gantt(2, EDF, &toml(VISION), 20 * MS - 1);
    assert_eq!(g.cpu(0), "vision.grab 0-2, vision.left 2-5, vision.fuse 7-8");
    assert_eq!(g.cpu(1), "vision.right 2-7");
    // The response of the last node is that of the graph.
    assert_eq!(g.done.last(), Some(&("vision.fuse".into(), 0, 8 * MS)));
    // Nodes that are held back are never offered to the scheduler: one run each.
    assert_eq!((out.runs, out.deadline_misses, out.preemptions), (4, 0, 0));
}

#[test]
fn a_graph_that_is_late_is_thrown_away_as_a_whole() {
    let text = VISION.replace("period", "deadline = \"6ms\"\non_miss = \"abort\"\nperiod");
    let (t, out) = times(2, &toml(&text), 60 * MS - 1, 1);
    let dropped: Vec<_> = t.dropped.iter().map(|d| (d.0.as_str(), d.1, d.2 / MS)).collect();
    let each = |k| [("vision.right", k, 6 + 20 * u64::from(k)), ("vision.fuse", k, 6 + 20 * u64::from(k))];
    let mut want: Vec<_> = (0..3).flat_map(each).collect();
    want.sort();
    let mut got = dropped.clone();
    got.sort();
    assert_eq!(got, want);
    assert_eq!((out.jobs, out.jobs_completed, out.deadline_misses), (12, 6, 6));
}

/// More work than time: jobs of the graph overlap, but each node keeps to its own order and to its predecessors.
#[test]
fn late_graphs_keep_their_order() {
    let text = VISION.replace("20ms", "8ms");
    let (t, out) = times(1, &toml(&text), 200 * MS, 1);
    assert!(out.deadline_misses > 10 && out.warnings.is_empty(), "{:?}", out.warnings);
    let done =
        |node: &str, job| t.done.iter().find(|d| d.0 == format!("vision.{node}") && d.1 == job).map(|d| d.2);
    let mut seen = 0;
    for job in 0.. {
        let Some(fuse) = done("fuse", job) else { break };
        let parts = ["grab", "left", "right"].map(|n| done(n, job).expect("it came before"));
        assert!(parts[0] < parts[1] && parts[0] < parts[2]);
        assert!(parts[1].max(parts[2]) < fuse);
        seen += 1;
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn nodes_of_a_graph_are_released_together_whatever_is_drawn() {
    let text = VISION.replace("period", "jitter = \"3ms\"\nsporadic = \"5ms\"\ncount = 2\nperiod");
    let (t, _) = times(4, &toml(&text), 300 * MS, 9);
    let at = |name: &str| t.released.iter().filter(|r| r.0 == name).map(|r| r.2).collect::<Vec<_>>();
    let first = at("vision-0.grab");
    assert!(first.len() > 8);
    for node in ["left", "right", "fuse"] {
        assert_eq!(at(&format!("vision-0.{node}")), first);
    }
    assert_ne!(at("vision-1.fuse"), first);
}

#[test]
fn recorded_arrivals_come_when_they_came() {
    let list =
        "[[task]]\nname = \"a\"\narrivals = [\"1ms\", \"2ms\", \"9ms\"]\nrun = \"3ms\"\ndeadline = \"6ms\"\n";
    let file = list.replace("[\"1ms\", \"2ms\", \"9ms\"]", "\"file a.csv\"");
    let read = |path: &str| match path {
        "dir/w.toml" => Ok(file.clone().into_bytes()),
        "dir/a.csv" => Ok(b"seconds\n0.001\n0.002\n0.009\n".to_vec()),
        other => panic!("{other}"),
    };
    let from_file = Workload::resolve("dir/w.toml", 1, &read, &[]).expect("right");
    for w in [toml(list), from_file] {
        let (g, out) = gantt(1, EDF, &w, 0);
        let responses: Vec<u64> = g.done.iter().map(|d| d.2 / MS).collect();
        assert_eq!((responses, out.deadline_misses, out.alive), (vec![3, 5, 3], 0, 0));
    }
}

/// A task without a deadline runs when those with one leave time.
#[test]
fn aperiodic_tasks_without_a_deadline_come_last() {
    let text = "[[task]]\nname = \"a\"\narrivals = [\"0ms\"]\nrun = \"4ms\"\n[[task]]\nname = \"b\"\nperiod = \"10ms\"\nrun = \"3ms\"\njobs = 1\n";
    let (g, out) = gantt(1, EDF, &toml(text), 0);
    assert_eq!(g.cpu(0), "b 0-3, a 3-7");
    assert_eq!((out.jobs, out.deadline_misses), (2, 0));
}

#[test]
fn drawn_arrivals_depend_on_the_seed_only() {
    for process in ["poisson 5ms", "bursts 4 100us 30ms", "onoff 20ms 60ms 1ms", "mmpp 1ms 20ms 10ms 60ms"] {
        let text = format!(
            "[[task]]\nname = \"a\"\narrivals = \"{process}\"\nrun = \"exponential 100us 1ms\"\ndeadline = \"5ms\"\n"
        );
        let w = toml(&text);
        let released = |seed| times(1, &w, 2_000 * MS, seed).0.released;
        let first = released(1);
        assert!(first.len() > 50, "{process}: {}", first.len());
        assert_eq!(released(1), first);
        assert_ne!(released(2), first);
    }
}

#[test]
fn computing_times_keep_their_bounds() {
    for run in
        ["run = \"normal 1ms 1ms\"", "run = \"weibull 1ms 0.7\"", "acet = \"1ms\"\ndeviation = \"500us\""]
    {
        let text = format!("[[task]]\nname = \"a\"\nperiod = \"5ms\"\nwcet = \"2ms\"\n{run}\n");
        let (g, _) = gantt(1, EDF, &toml(&text), 1_000 * MS);
        let mut times: Vec<u64> = g.done.iter().map(|d| d.2).collect();
        assert_eq!(times.len(), 200);
        assert!(times.iter().all(|t| (1..=2 * MS).contains(t)));
        times.sort_unstable();
        times.dedup();
        assert!(times.len() > 150, "{run}: {}", times.len());
    }
}

#[test]
fn a_job_may_suspend_itself() {
    let text = "[[task]]\nname = \"a\"\nperiod = \"10ms\"\njobs = 2\nprogram = \"run 1ms; sleep 2ms; run 1ms\"\n[[task]]\nname = \"b\"\nperiod = \"20ms\"\njobs = 1\nrun = \"5ms\"\n";
    let (g, out) = gantt(1, EDF, &toml(text), 0);
    assert_eq!(g.cpu(0), "a 0-1, b 1-3, a 3-4, b 4-7, a 10-11, a 13-14");
    assert_eq!((out.jobs, out.jobs_completed, out.deadline_misses), (3, 3, 0));
}

/// A task that is activated by others has a job for each activation, whose deadline counts from that.
#[test]
fn activations_queue_up() {
    let text = r#"<simulation duration="40000000" cycles_per_ms="1000000">
      <sched class="simso.schedulers.EDF"/>
      <processors><processor name="1" id="1"/><processor name="2" id="2" speed="0.5"/></processors>
      <tasks>
        <task name="a" id="1" task_type="Sporadic" WCET="1" deadline="5" period="0" followed_by="2"
              list_activation_dates="1, 2, 20"/>
        <task name="b" id="2" task_type="APeriodic" WCET="3" deadline="4" period="0"/>
      </tasks></simulation>"#;
    let w = Workload::resolve("t.xml", 1, &|_| Ok(text.as_bytes().to_vec()), &[]).expect("right");
    let (t, out) = times(2, &w, 40 * MS, 1);
    let ends = |name: &str| t.done.iter().filter(|d| d.0 == name).map(|d| d.2 / MS).collect::<Vec<_>>();
    assert_eq!(ends("a"), [2, 3, 21]);
    // Activated at 2, 3 and 21; the second job waits for the first and is late.
    assert_eq!(ends("b"), [5, 8, 24]);
    assert_eq!((out.jobs, out.jobs_completed, out.deadline_misses), (6, 6, 1));
    // At 4 the second activation waits for the first job: it is a job, too.
    let (_, out) = times(2, &w, 4 * MS, 1);
    assert_eq!((out.jobs, out.jobs_completed), (4, 2));
    // On the machine of the file the work is done by processors of different speeds.
    let machine = w.simso.as_ref().and_then(|s| s.machine()).expect("it has processors");
    let mut seen = Times::default();
    run_on(&machine, EDF, &w, &Costs::zero(), RunConfig::default(), &mut seen).expect("it runs");
    assert!(
        seen.done.iter().any(|d| d.0 == "b" && d.2 / MS > 8),
        "the slower one takes part: {:?}",
        seen.done
    );
}
