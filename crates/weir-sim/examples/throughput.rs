// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! How fast the simulator is: run slices a second (of CPU time) and memory, by number of CPUs.
//!
//! Periodic tasks, five a CPU, 80 % load, periods of 10 to 100 ms, no scheduling costs unless asked for.
//!
//! usage: throughput [--costs] [--cpus N,N…] [--topology TEXT] [--slices N] [--tasks N]

use weir_core::event::{Event, Observer};
use weir_lang::{NoIncludes, Source};
use weir_sim::{Costs, Machine, RunConfig, TaskSpec, Timing, Workload};

const TOPOLOGY: &str = "annotate deadline, affinity; entry each cpu { edf -> cpu };";

/// Counts what leaves a CPU, which is a run slice.
#[derive(Default)]
struct Slices(u64);

impl Observer for Slices {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        if matches!(event, Event::Run { .. }) {
            self.0 += 1;
        }
    }
}

/// Task sets of five with a load of 0.8 each; the periods are spread over 10..=100 ms.
fn workload(tasks: u32) -> Workload {
    let mut state = 88_172_645_463_325_252u64;
    let mut draw = |lo: u64, hi: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        lo + state % (hi - lo + 1)
    };
    let spec = |i: u32, offset_ns: u64, period_ns: u64, wcet_ns: u64| {
        TaskSpec::periodic(format!("p{i}"), Timing { period_ns, deadline_ns: period_ns, wcet_ns }, offset_ns)
    };
    let tasks = (0..tasks)
        .map(|i| {
            let period = draw(10_000, 100_000) * 1_000;
            spec(i, draw(0, period), period, period * 16 / 100)
        })
        .collect();
    Workload { name: "periodic".into(), tasks, ..Workload::default() }
}

/// CPU time of this process, seconds: unlike wall time it does not depend on what else runs.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// Peak resident memory of this process, KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    line.and_then(|l| l.split_whitespace().nth(1)).and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let costs = if args.iter().any(|a| a == "--costs") { Costs::default() } else { Costs::zero() };
    let topology = value("--topology").unwrap_or_else(|| TOPOLOGY.into());
    let slices: u64 = value("--slices").and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let cpus = value("--cpus").unwrap_or_else(|| "4,64,256,1024,4096".into());
    println!(
        "{:>6} {:>9} {:>10} {:>10} {:>9} {:>8} {:>10}",
        "cpus", "tasks", "slices", "slices/s", "set-up s", "run s", "peak MiB"
    );
    for n in cpus.split(',').map(|n| n.parse::<u32>().expect("a number of CPUs")) {
        let machine = Machine::smp(n);
        let src = Source { name: "throughput.weir".into(), text: topology.clone() };
        let begin = cpu_seconds();
        let plan = match weir_lang::compile(&src, &NoIncludes, weir_core::catalog(), &machine.shape, &[]) {
            Ok(c) => c.plan,
            Err(all) => {
                all.iter().for_each(|d| eprintln!("{d}"));
                std::process::exit(2);
            }
        };
        let tasks = value("--tasks").and_then(|n| n.parse().ok()).unwrap_or(5 * n);
        let w = workload(tasks);
        // The mean rate of periods of 10 to 100 ms is ln(10) / 90 ms.
        let rate = f64::from(tasks) * 25.6;
        let duration = (slices as f64 / rate * 1e9) as u64;
        let cfg = RunConfig { seed: 1, duration_ns: Some(duration.max(1_000_000)), ..RunConfig::default() };
        let set_up = cpu_seconds() - begin;
        let mut count = Slices::default();
        let begin = cpu_seconds();
        let out = weir_sim::run(&machine, &plan, &w, &costs, &cfg, &mut count).expect("the run succeeds");
        let run = cpu_seconds() - begin;
        println!(
            "{n:>6} {tasks:>9} {:>10} {:>10.0} {set_up:>9.2} {run:>8.2} {:>10}   misses {} arena {} MiB {} B/task",
            count.0,
            count.0 as f64 / run,
            peak_kib() / 1024,
            out.deadline_misses,
            out.memory_bytes >> 20,
            out.bytes_per_task
        );
    }
}
