// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The modelled machine: its shape plus speeds, distances and power.

use weir_core::MachineShape;

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
}
