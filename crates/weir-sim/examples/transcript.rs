// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the simulator does, a line a run: a hash of all events that observers see, their number, and a hash of the outcome.
//!
//! Every topology of the catalogue, on machines and workloads of every kind, at default costs and at none. Two builds whose output
//! is the same simulate the same; `tools/same-runs.sh` compares what `runweir` writes.
//!
//! usage, in the repository's folder: transcript [EVERY [TOPOLOGY]]     EVERY: one of so many pairs of machine and workload a topology

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;

use weir_core::Plan;
use weir_core::event::{Event, Observer};
use weir_lang::{Loader, Source};
use weir_sim::{Costs, Inside, Machine, RunConfig, Workload};

/// Machine, workload, milliseconds of virtual time.
const PAIRS: [(&str, &str, u64); 28] = [
    ("smp-4", "bench:cpus=4", 60),
    ("smp-64", "bench:cpus=64", 5),
    ("smp-1", "bench:cpus=1,load=110%", 200),
    ("machines/dual-socket.xml", "hackbench:groups=2,loops=5", 20),
    ("machines/big-little.toml", "workloads/audio.json", 60),
    ("machines/desktop.xml", "workloads/game.json", 40),
    ("machines/hot-8.toml", "workloads/render.toml", 100),
    ("machines/hosted.toml", "workloads/mixed-isa.toml", 40),
    ("machines/dsp-board.toml", "workloads/mixed-isa.toml", 40),
    ("machines/npu-board.toml", "workloads/npu.toml", 40),
    ("machines/hotplug.toml", "workloads/hotplug.toml", 60),
    ("smp-4", "workloads/locks.toml", 60),
    ("smp-2", "workloads/pathfinder.toml", 200),
    ("smp-4", "workloads/groups.toml", 50),
    ("machines/eight-nodes.toml", "workloads/compile.toml", 20),
    ("smp-8", "workloads/web.toml", 30),
    ("smp-8", "workloads/caches.toml", 20),
    ("smp-4", "workloads/virtual.toml", 30),
    ("smp-4", "workloads/virtual-gang.toml", 30),
    ("smp-4", "workloads/tenants.toml", 40),
    ("smp-4", "workloads/grow-and-shrink.toml", 60),
    ("machines/phone.toml", "workloads/video.json", 60),
    ("smp-4", "workloads/robot.toml", 60),
    ("smp-4", "workloads/avionics.xml", 100),
    ("smp-2", "workloads/anomaly.toml", 100),
    ("machines/throttled.toml", "workloads/rush.toml", 60),
    ("smp-4", "workloads/vision.toml", 50),
    ("machines/ring-32.toml", "bench:cpus=32", 10),
];

struct Files;

impl Loader for Files {
    fn load(&self, _: &str, include: &str) -> Result<Source, String> {
        let folders = ["topologies", "packages", "."];
        let text = folders.iter().find_map(|f| std::fs::read_to_string(format!("{f}/{include}")).ok());
        Ok(Source { name: include.into(), text: text.ok_or("it is in no folder of the catalogue")? })
    }
}

/// Of every event, all that its debugging form shows.
#[derive(Default)]
struct Seen {
    hash: DefaultHasher,
    text: String,
    events: u64,
}

impl Observer for Seen {
    fn event(&mut self, t_ns: u64, event: &Event<'_>) {
        use std::fmt::Write as _;
        self.text.clear();
        write!(self.text, "{t_ns} {event:?}").expect("writing to a string");
        self.hash.write(self.text.as_bytes());
        self.events += 1;
    }
}

fn hash(text: &str) -> u64 {
    let mut hash = DefaultHasher::new();
    hash.write(text.as_bytes());
    hash.finish()
}

fn compiled(name: &str, machine: &Machine) -> Result<Plan, String> {
    let path = format!("topologies/{name}.weir");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    let source = Source { name: path, text };
    let done = weir_lang::compile(&source, &Files, weir_core::catalog(), &machine.shape, &[]);
    done.map(|c| c.plan).map_err(|all| all.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("; "))
}

fn one(
    topology: &str,
    machine: &str,
    workload: &str,
    ms: u64,
    costs: &Costs,
    seed: u64,
) -> Result<String, String> {
    let read = |path: &str| std::fs::read(path);
    let machine = Machine::resolve(machine, &read, &[]).map_err(|e| e.to_string())?;
    let workload = Workload::resolve(workload, seed, &read, &[]).map_err(|e| e.to_string())?;
    let plan = compiled(topology, &machine)?;
    let inside: Vec<Inside> = (workload.all_guests().iter())
        .map(|(_, guest)| {
            let machine = Inside::machine(guest);
            Ok(Inside { plan: compiled(&guest.topology, &machine)?, machine })
        })
        .collect::<Result<_, String>>()?;
    let mut seen = Seen::default();
    let config = RunConfig {
        seed,
        duration_ns: Some(ms * 1_000_000),
        trace_pipes: true,
        causes: seed.is_multiple_of(3),
        inside: &inside,
        ..RunConfig::default()
    };
    let outcome =
        weir_sim::run(&machine, &plan, &workload, costs, &config, &mut seen).map_err(|e| e.to_string())?;
    let outcome = hash(&format!("{outcome:?}"));
    Ok(format!("{:016x} {} {outcome:016x}", seen.hash.finish(), seen.events))
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let every: usize = args.first().map_or(1, |n| n.parse().expect("EVERY is a number"));
    let mut topologies: Vec<String> = (std::fs::read_dir("topologies").expect("the repository's folder"))
        .filter_map(|f| Some(f.ok()?.file_name().to_str()?.strip_suffix(".weir")?.to_owned()))
        .filter(|name| args.get(1).is_none_or(|only| only == name))
        .collect();
    topologies.sort();
    for (nr, topology) in topologies.iter().enumerate() {
        for (i, (machine, workload, ms)) in
            PAIRS.into_iter().enumerate().filter(|(i, _)| i % every == nr % every)
        {
            let seed = (nr + i) as u64;
            let costs = if (nr + i / every).is_multiple_of(2) { Costs::default() } else { Costs::zero() };
            let result = one(topology, machine, workload, ms, &costs, seed)
                .unwrap_or_else(|e| format!("refused {:016x}", hash(&e)));
            println!(
                "{topology} {machine} {workload} {} {result}",
                if costs.is_zero() { "zero" } else { "default" }
            );
        }
    }
}
