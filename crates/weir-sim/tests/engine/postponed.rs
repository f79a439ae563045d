// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Postponed pipes and urgent tasks. The bug: a change in a postponed pipe waited until a CPU behind it asked, which a busy one does when
//! its task is over, so that `~>` switched preemption off.

use weir_sim::{Costs, Machine, Outcome, RunConfig, Workload};

use crate::common::*;

/// A job of 50 ms, and 50 jobs of 1 ms every 10 ms, which are due at the end of their period.
fn jobs(cpu: Option<u32>) -> Workload {
    let mut long = real_time("long", 50 * MS, 50 * MS, 1_000 * MS, 1_000 * MS);
    let mut short = real_time("short", MS, MS, 10 * MS, 10 * MS);
    for t in [&mut long, &mut short] {
        t.cpus = cpu.map(|c| [c].into_iter().collect());
    }
    workload(vec![long, short])
}

fn run(machine: &Machine, topology: &str, w: &Workload) -> Outcome {
    let cfg = RunConfig { duration_ns: Some(500 * MS), ..RunConfig::default() };
    run_on(machine, topology, w, &Costs::default(), cfg, &mut ())
        .unwrap_or_else(|e| panic!("{topology}: {e}"))
}

/// As many misses as with `->`: none.
#[test]
fn an_urgent_task_reaches_a_busy_cpu_through_a_postponed_pipe() {
    let one = Machine::smp(1);
    for chain in ["{} edf -> cpus", "-> fifo {} edf -> cpus", "{} fifo {} edf -> cpus"] {
        let of = |arrow: &str| {
            let topology = format!("annotate affinity, deadline; entry {};", chain.replace("{}", arrow));
            let out = run(&one, &topology, &jobs(None));
            (out.deadline_misses, out.preemptions)
        };
        assert_eq!(of("~>"), of("->"), "{chain}");
        assert_eq!(of("~>").0, 0, "{chain}");
        assert!(of("~>").1 >= 4, "{chain}: the long job is preempted");
    }
}

/// Between coherence domains there are no other pipes.
#[test]
fn an_urgent_task_reaches_a_busy_cpu_of_another_domain() {
    let none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let machine = Machine::resolve("cluster-2x2", &none, &[]).unwrap_or_else(|e| panic!("{e}"));
    let topology = "annotate affinity, deadline; each cpu { entry -> balancer :: load_balancer } \
                    ~> all each cpu { inbox :: task_mux -> edf -> cpu };";
    let out = run(&machine, topology, &jobs(Some(3)));
    assert!(
        out.deadline_misses == 0 && out.preemptions >= 4,
        "{} misses, {} preemptions",
        out.deadline_misses,
        out.preemptions
    );
}
