// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The modelled machine: its shape plus speeds, distances and power.
//!
//! A machine comes from a preset ([`presets`]), an hwloc XML file, a TOML file, the catalogue, or
//! the host that Runweir runs on; [`Machine::resolve`] distinguishes them. `docs/machines.md` is
//! the user's page.

mod assemble;
mod bitmap;
mod check;
mod engine;
mod host;
mod hwloc;
mod hwloc_write;
mod power;
mod preset;
mod resize;
mod resolve;
mod toml_read;
mod toml_write;

#[cfg(test)]
mod tests;

use weir_core::MachineShape;
use weir_text::plural;

pub use bitmap::{Bitmap, parse_list};
pub use engine::{HwEngine, HwSelect};
pub use preset::presets;
pub use resolve::ReadFile;

/// A kind of CPU: all CPUs of a kind have the same clock, speed and power.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuKind {
    /// Shown in reports: `P-core`, `E-core`, `uniform` …
    pub name: String,
    /// Operating points, slowest first; at least one.
    pub points: Vec<OperatingPoint>,
    /// Power of an idle CPU, milliwatt.
    pub idle_mw: u32,
}

/// A clock with the power that a busy CPU draws at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatingPoint {
    pub hz: u64,
    pub busy_mw: u32,
}

/// Something the machine does at a given time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineEvent {
    Online(u32),
    Offline(u32),
    /// Clock of a CPU.
    Frequency(u32, u64),
    /// It runs on battery from now on, or on mains again.
    Battery(bool),
}

/// How cores get warm and what is done about it. A core's temperature follows its power with one time constant; one that is
/// too hot runs at its lowest clock until it is cool again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thermal {
    /// Temperature of a core that draws nothing, degrees Celsius.
    pub ambient_c: u32,
    /// Degrees above that for each watt, once it has settled.
    pub rise_per_w: u32,
    /// Time constant, ns.
    pub settle_ns: u64,
    /// Interval at which temperatures are sampled and published, ns.
    pub sample_ns: u64,
    /// The lowest clock from here on, and all clocks again from there on, degrees Celsius.
    pub throttle_c: u32,
    pub release_c: u32,
}

/// CPUs whose clocks are not one. They matter to slots of gangs; all else goes by the simulation's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// Clocks are up to so far apart when the machine starts, ns.
    pub offset_ns: u64,
    /// Each is up to so much too fast or too slow, millionths.
    pub drift_ppm: u32,
    /// CPUs other than the first look at a new target so late, ns.
    pub late_ns: u64,
    /// How often clocks are compared once they are equal, ns.
    pub watch_ns: u64,
}

impl Thermal {
    /// What a core goes of its way to the settled temperature between two looks, of 2^32.
    pub fn share_q32(&self) -> u64 {
        let share = -libm::expm1(-(self.sample_ns as f64) / self.settle_ns as f64);
        (share * 4_294_967_296.0) as u64
    }
}

/// The machine that a run simulates.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    pub shape: MachineShape,
    pub kinds: Vec<CpuKind>,
    /// Kind of each CPU: index into `kinds`.
    pub kind_of: Vec<u16>,
    /// NUMA distances by node index, 10 = local (ACPI SLIT); square.
    pub distances: Vec<Vec<u32>>,
    /// Speed of a hardware thread while its SMT siblings are busy, in percent of its speed alone.
    pub smt_pct: u32,
    /// Scheduled events, ascending by time in nanoseconds.
    pub events: Vec<(u64, MachineEvent)>,
    /// How cores get warm; without it they do not.
    pub thermal: Option<Thermal>,
    /// None: all CPUs read one clock.
    pub clocks: Option<Clocks>,
    /// The scheduler is in hardware; none: it is software.
    pub engine: Option<HwEngine>,
    /// It runs on battery at first.
    pub on_battery: bool,
    /// Dense index of the mid-level cache (L2) of each CPU: a cluster of cores may share one.
    pub l2_of: Vec<u32>,
    /// Size of each last-level cache by its index, bytes; 0 is unknown.
    pub llc_bytes: Vec<u64>,
    /// Level of the last-level cache: 3 for an L3; 0 where no cache is known and packages stand in.
    pub llc_level: u8,
    /// Properties of the source without a counterpart here, one sentence each.
    pub warnings: Vec<String>,
}

/// How far apart two CPUs are, nearest first; what a migration, an interrupt or a lock hand-over
/// between them costs depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distance {
    /// One and the same CPU.
    Same,
    /// Hardware threads of one core.
    Sibling,
    /// Cores with a common mid-level cache.
    L2,
    /// Cores with a common last-level cache.
    Llc,
    /// Same NUMA node, different last-level caches.
    Node,
    /// Other NUMA node, with its distance (10 = local, ACPI SLIT).
    Remote(u32),
    /// Another coherence domain: no common memory; with the distance of the nodes.
    Domain(u32),
}

/// SLIT value of a node to itself.
pub const LOCAL_DISTANCE: u32 = 10;
/// SLIT value between nodes where the source says nothing.
pub const REMOTE_DISTANCE: u32 = 20;
/// Distance between nodes that share no memory (SLIT: unreachable).
pub const DOMAIN_DISTANCE: u32 = 255;

impl Machine {
    /// It runs on battery at some time, and says so.
    pub fn has_battery(&self) -> bool {
        self.on_battery || self.events.iter().any(|(_, e)| matches!(e, MachineEvent::Battery(_)))
    }

    /// Number of logical CPUs, present or not.
    pub fn nr_cpus(&self) -> u32 {
        self.shape.nr_cpus()
    }

    /// How far apart two CPUs are. Panics if either is not a CPU of this machine.
    #[inline]
    pub fn distance(&self, a: u32, b: u32) -> Distance {
        if a == b {
            return Distance::Same;
        }
        let (x, y) = (&self.shape.cpus[a as usize], &self.shape.cpus[b as usize]);
        let nodes = || self.distances[x.node as usize][y.node as usize];
        if x.coherence != y.coherence {
            Distance::Domain(nodes())
        } else if x.core == y.core {
            Distance::Sibling
        } else if self.l2_of[a as usize] == self.l2_of[b as usize] {
            Distance::L2
        } else if x.llc == y.llc {
            Distance::Llc
        } else if x.node == y.node {
            Distance::Node
        } else {
            Distance::Remote(nodes())
        }
    }

    /// Kind of a CPU.
    pub fn kind(&self, cpu: u32) -> &CpuKind {
        &self.kinds[usize::from(self.kind_of[cpu as usize])]
    }

    /// Clock of a CPU when the machine starts: its fastest operating point.
    pub fn top_hz(&self, cpu: u32) -> u64 {
        self.kind(cpu).top().hz
    }

    /// Speed of a CPU at a clock, in the unit of its capacity (1024: the fastest CPU at its top
    /// clock). Work scales with the clock. At least 1.
    pub fn speed(&self, cpu: u32, hz: u64) -> u32 {
        let capacity = u64::from(self.shape.cpus[cpu as usize].capacity);
        let speed = u128::from(capacity) * u128::from(hz) / u128::from(self.top_hz(cpu).max(1));
        u32::try_from(speed).unwrap_or(u32::MAX).max(1)
    }

    /// Power of a busy CPU at a clock, milliwatt: that of the slowest operating point which
    /// reaches the clock, else of the fastest.
    pub fn busy_mw(&self, cpu: u32, hz: u64) -> u32 {
        let kind = self.kind(cpu);
        kind.points.iter().find(|p| p.hz >= hz).unwrap_or(kind.top()).busy_mw
    }

    /// `n` equal CPUs, the preset `smp-N`. Panics unless `n` is in 1..=4096.
    pub fn smp(n: u32) -> Self {
        preset::smp(n)
    }

    /// One line for people: what there is, from the largest part to the smallest.
    pub fn describe(&self) -> String {
        let cpus = &self.shape.cpus;
        let count = |f: fn(&weir_core::CpuShape) -> u32| cpus.iter().map(f).max().map_or(0, |m| m + 1);
        let mut parts = Vec::new();
        let domains = count(|c| c.coherence);
        if domains > 1 {
            parts.push(plural(domains, "coherence domain"));
        }
        parts.push(plural(count(|c| c.package), "package"));
        parts.push(plural(count(|c| c.node), "NUMA node"));
        let cores = count(|c| c.core);
        parts.push(plural(cores, "core"));
        parts.push(plural(self.nr_cpus(), "CPU"));
        let mut threads = vec![0u32; cores as usize];
        cpus.iter().for_each(|c| threads[c.core as usize] += 1);
        let (low, high) =
            (threads.iter().min().copied().unwrap_or(0), threads.iter().max().copied().unwrap_or(0));
        if high > 1 {
            parts.push(if low == high { format!("SMT {high}") } else { format!("SMT {low} to {high}") });
        }
        parts.extend(self.describe_llc(count(|c| c.llc)));
        if self.kinds.len() > 1 {
            let of = |k: usize| self.kind_of.iter().filter(|&&x| usize::from(x) == k).count();
            let kinds: Vec<String> =
                self.kinds.iter().enumerate().map(|(i, k)| format!("{} {}", of(i), k.name)).collect();
            parts.push(format!("kinds: {}", kinds.join(" + ")));
        }
        if self.shape.isas.len() > 1 {
            let of = |i: usize| cpus.iter().filter(|c| usize::from(c.isa) == i).count();
            let isas: Vec<String> =
                self.shape.isas.iter().enumerate().map(|(i, name)| format!("{} {name}", of(i))).collect();
            parts.push(format!("instruction sets: {}", isas.join(" + ")));
        }
        if let Some(engine) = &self.engine {
            parts.push(engine.describe());
        }
        let absent = cpus.iter().filter(|c| !c.online).count();
        if absent > 0 {
            parts.push(format!("{absent} offline at start"));
        }
        parts.join(", ")
    }

    /// `8 x L3 16 MiB`, or nothing where no cache is known.
    fn describe_llc(&self, llcs: u32) -> Option<String> {
        if self.llc_level == 0 {
            return None;
        }
        let times = if llcs == 1 { String::new() } else { format!("{llcs} x ") };
        let (low, high) = (self.llc_bytes.iter().min()?, self.llc_bytes.iter().max()?);
        let size = |b: u64| match b {
            b if b >= 1 << 20 => format!("{} MiB", decimal(b, 20)),
            b => format!("{} KiB", decimal(b, 10)),
        };
        let sizes = match (*low, *high) {
            (_, 0) => String::new(),
            (l, h) if l == h => format!(" {}", size(h)),
            (l, h) => format!(" {} to {}", size(l), size(h)),
        };
        Some(format!("{times}L{}{sizes}", self.llc_level))
    }
}

/// `bytes / 2^shift` with one decimal where it is not whole.
fn decimal(bytes: u64, shift: u32) -> String {
    let tenths = (u128::from(bytes) * 10) >> shift;
    if tenths.is_multiple_of(10) {
        format!("{}", tenths / 10)
    } else {
        format!("{}.{}", tenths / 10, tenths % 10)
    }
}

impl CpuKind {
    /// The fastest operating point.
    pub fn top(&self) -> &OperatingPoint {
        self.points.last().expect("a kind has at least one operating point")
    }
}
