// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Run slices per second of the simulator, and its memory, from 4 to 4,096 CPUs.
//!
//! CPU time is measured, of the one thread that a run has. Load: periodic tasks, 5 a CPU, 80 % in all, periods of 10 to 100 ms. Each measurement is a process of
//! its own, so that the peak of its memory is its own too.

use std::process::Command;

use weir_core::event::Observer;
use weir_lang::{Loader, Source};
use weir_report::{Meta, Metrics, Trace};
use weir_sim::engine::{self, RunConfig};
use weir_sim::{Costs, Machine, Workload};

use crate::row::Row;

/// What is measured: a topology, and whether scheduling costs virtual time.
const SUBJECTS: [(&str, &str, &str); 4] = [
    ("partitioned", include_str!("../../topologies/partitioned.weir"), "zero"),
    ("partitioned", include_str!("../../topologies/partitioned.weir"), "default"),
    ("worksteal", include_str!("../../topologies/worksteal.weir"), "default"),
    ("linux", include_str!("../../topologies/linux.weir"), "default"),
];
/// Virtual time by machine size: about the same number of slices each.
const SIZES: [(u32, u64); 5] = [(4, 200), (64, 16), (256, 4), (1024, 1), (4096, 1)];
const REPEATS: usize = 2;

struct NoIncludes;

impl Loader for NoIncludes {
    fn load(&self, _: &str, include: &str) -> Result<Source, String> {
        Err(format!("`{include}` is not part of the benchmark"))
    }
}

/// The three things that a run may be asked for.
#[derive(Clone, Copy)]
enum Mode {
    Bare,
    Metrics,
    Trace,
}

const MODES: [(Mode, &str); 3] = [(Mode::Bare, "bare"), (Mode::Metrics, "metrics"), (Mode::Trace, "trace")];

/// One measurement, in a process of its own: prints slices, nanoseconds and peak KiB.
pub fn one(nr_cpus: u32, seconds: u64, mode: &str, subject: usize) {
    let (topology, text, costs) = SUBJECTS[subject];
    let costs = if costs == "zero" { Costs::zero() } else { Costs::default() };
    let (mode, _) = MODES.into_iter().find(|m| m.1 == mode).expect("bare, metrics or trace");
    let no_files = |name: &str| Err(std::io::Error::new(std::io::ErrorKind::NotFound, name.to_owned()));
    let machine = match nr_cpus {
        0..256 => format!("smp-{nr_cpus}"),
        256 => "mesh-256".into(),
        n => format!("numa-{n}"),
    };
    let machine = Machine::resolve(&machine, &no_files, &[]).expect("a preset");
    let spec = format!("bench:cpus={nr_cpus},load=80%,per_cpu=5,pmin=10ms,pmax=100ms");
    let workload = Workload::resolve(&spec, 1, &no_files, &[]).expect("a generator");
    let source = Source { name: format!("{topology}.weir"), text: text.into() };
    let compiled = weir_lang::compile(&source, &NoIncludes, weir_core::catalog(), &machine.shape, &[])
        .unwrap_or_else(|d| panic!("{}", d[0]));
    let config = RunConfig {
        seed: 1,
        duration_ns: Some(seconds * 1_000_000_000),
        trace_pipes: matches!(mode, Mode::Trace),
        ..RunConfig::default()
    };
    let meta = Meta {
        runweir: env!("CARGO_PKG_VERSION").into(),
        topology: topology.into(),
        machine: machine.shape.name.clone(),
        workload: spec,
        seed: 1,
        nr_cpus,
        cpu_names: vec![],
        pipes: compiled.plan.pipes.iter().map(|p| p.name.clone()).collect(),
        instances: compiled.plan.instances.iter().map(|i| i.name.clone()).collect(),
        stages: vec![],
        capacities: vec![],
    };
    let go = |observer: &mut dyn FnMut() -> u64| {
        let began = cpu_ns();
        let slices = observer();
        (slices, cpu_ns() - began)
    };
    let run = |o: &mut dyn Observer| {
        engine::run(&machine, &compiled.plan, &workload, &costs, &config, &mut { o })
            .expect("a valid workload")
    };
    let (slices, ns) = match mode {
        Mode::Bare => go(&mut || {
            engine::run(&machine, &compiled.plan, &workload, &costs, &config, &mut ())
                .expect("a valid workload")
                .runs
        }),
        Mode::Metrics => go(&mut || {
            let mut metrics = Metrics::new(meta.clone());
            let end = run(&mut metrics);
            assert!(metrics.finish(end.end_ns).events > 0);
            end.runs
        }),
        Mode::Trace => go(&mut || {
            let file = std::fs::File::create("/dev/null").expect("every system has it");
            let trace = Trace::new(meta.clone(), Box::new(std::io::BufWriter::new(file)));
            let mut both = (Metrics::new(meta.clone()), trace);
            let end = run(&mut both);
            both.1.finish(end.end_ns).expect("nothing can fail to be forgotten");
            end.runs
        }),
    };
    println!("{slices} {ns} {}", peak_kib());
}

/// CPU time of this process, ns: other load on the machine does not count.
fn cpu_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|w| w.parse().ok()).unwrap_or(0)
}

/// Peak resident memory of this process.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// All sizes, subjects and modes, in turn, best of [`REPEATS`].
pub fn run(json: bool) {
    let me = std::env::current_exe().expect("a running program has a path");
    if !json {
        println!(
            "simulator: run slices a second of CPU time; 80 % load, 5 tasks a CPU, periods 10 to 100 ms"
        );
        println!(
            "{:>6} {:<12} {:<8} {:>9} {:>11} {:>11} {:>11} {:>9}",
            "CPUs", "topology", "costs", "slices", "bare", "metrics", "with trace", "peak MiB"
        );
    }
    for (cpus, seconds) in SIZES {
        for (subject, (topology, _, costs)) in SUBJECTS.into_iter().enumerate() {
            let (slices, rate, peak) = measure(&me, cpus, seconds, subject);
            if json {
                rows(topology, costs, cpus, rate, peak);
                continue;
            }
            println!(
                "{cpus:>6} {topology:<12} {costs:<8} {slices:>9} {:>11.0} {:>11.0} {:>11.0} {peak:>9}",
                rate[0], rate[1], rate[2]
            );
        }
    }
}

/// Most memory that a run may need, MiB.
const MEMORY_MIB: u64 = 512;

/// The figure that counts is the one with metrics; beside it what a trace leaves of it, and memory.
fn rows(topology: &str, costs: &str, cpus: u32, rate: [f64; 3], peak: u64) {
    let name = if costs == "zero" { format!("{topology}, no costs") } else { topology.to_owned() };
    let rows = [
        Row::new(&name, cpus, rate[1], "slices/s", rate[1] / rate[0], "without metrics"),
        Row::new(&format!("{name}, traced"), cpus, rate[2], "slices/s", rate[2] / rate[1], &name),
        Row::new(&name, cpus, peak as f64, "MiB", peak as f64 / MEMORY_MIB as f64, "512 MiB"),
    ];
    rows.iter().for_each(|r| r.print(true));
}

/// Slices of a run, their rate in each mode, and the peak of memory in MiB.
fn measure(me: &std::path::Path, cpus: u32, seconds: u64, subject: usize) -> (u64, [f64; 3], u64) {
    let mut rate = [0.0f64; 3];
    let (mut slices, mut peak) = (0, 0);
    for _ in 0..REPEATS {
        for (i, (_, name)) in MODES.into_iter().enumerate() {
            let args = ["sim-one", &cpus.to_string(), &seconds.to_string(), name, &subject.to_string()];
            let out = Command::new(me).args(args).output().expect("it started once");
            let text = String::from_utf8_lossy(&out.stdout);
            let n: Vec<u64> = text.split_whitespace().filter_map(|w| w.parse().ok()).collect();
            let [s, ns, kib] = n[..] else {
                panic!("{}", String::from_utf8_lossy(&out.stderr));
            };
            slices = s;
            peak = peak.max(kib / 1024);
            rate[i] = rate[i].max(s as f64 * 1e9 / ns as f64);
        }
    }
    (slices, rate, peak)
}
