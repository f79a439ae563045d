// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A simple energy model: power of a busy CPU by clock, and of an idle one.
//!
//! Dynamic power is proportional to `f V²` and the voltage falls with the clock, about linearly
//! from its full value at the top clock to 60% of it at a standstill; a tenth of the power at the
//! top clock is leakage that does not depend on the clock. An idle CPU sits in a sleep state at
//! 5% of its top power. One number per CPU is left to choose, its power at the top clock; the
//! presets take the maker's thermal design power divided by the number of hardware threads.

use super::{CpuKind, OperatingPoint};

/// Where a source gives no power: milliwatt per GHz of a hardware thread of capacity 1024 that
/// has its core to itself. Server parts have about 1.6 W (64 cores, 200 W, 2.0 GHz), desktop parts
/// about 7 W (4 cores, 95 W, 3.4 GHz).
const DEFAULT_MW_PER_GHZ: u64 = 2_500;

/// Clock assumed where a source gives none: that of source 0's simulations (8.4).
pub(super) const DEFAULT_HZ: u64 = 2_000_000_000;

/// Power at `hz` of a CPU that draws `top_mw` at `top_hz`; at least 1 mW.
pub(super) fn busy_mw(hz: u64, top_hz: u64, top_mw: u32) -> u32 {
    let r = hz.min(top_hz) as f64 / top_hz.max(1) as f64;
    let volt = 0.6 + 0.4 * r;
    let mw = f64::from(top_mw) * (0.1 + 0.9 * r * volt * volt);
    (mw.round() as u32).max(1)
}

/// Power of an idle CPU.
pub(super) fn idle_mw(top_mw: u32) -> u32 {
    top_mw / 20
}

/// Power at the top clock where the source gives none.
pub(super) fn default_top_mw(hz: u64, capacity: u32, smt: u32) -> u32 {
    let mw = u128::from(DEFAULT_MW_PER_GHZ) * u128::from(hz) * u128::from(capacity.max(1))
        / (1_000_000_000 * 1024 * u128::from(smt.max(1)));
    u32::try_from(mw).unwrap_or(u32::MAX / 2).clamp(1, 1_000_000)
}

/// A kind with operating points at the given clocks (ascending).
pub(super) fn kind(name: &str, clocks: &[u64], top_mw: u32) -> CpuKind {
    let top_hz = clocks.last().copied().expect("a kind has at least one clock");
    let points =
        clocks.iter().map(|&hz| OperatingPoint { hz, busy_mw: busy_mw(hz, top_hz, top_mw) }).collect();
    CpuKind { name: name.into(), points, idle_mw: idle_mw(top_mw) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_rises_faster_than_the_clock() {
        let k = kind("x", &[1_000_000_000, 2_000_000_000, 4_000_000_000], 10_000);
        let mw: Vec<u32> = k.points.iter().map(|p| p.busy_mw).collect();
        assert_eq!(*mw.last().unwrap(), 10_000);
        assert!(mw[0] * 2 < mw[1] * 2 && mw[1] * 2 < mw[2], "{mw:?}");
        assert_eq!(k.idle_mw, 500);
    }
}
