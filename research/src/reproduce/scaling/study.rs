// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! All points beside the source's, and what is read off them: gain, knee, slope.

use std::collections::BTreeMap;

use super::{At, Point};
use crate::reproduce::lab::Figures;

/// All points beside the source's.
pub(super) struct Study<'a> {
    pub points: BTreeMap<At, &'a Point>,
    pub source: Figures,
}

impl Study<'_> {
    pub fn source(&self, at: At, column: &str) -> Option<f64> {
        let (cpus, iterations, pipes) = (at.0.to_string(), at.1.to_string(), at.2.to_string());
        self.source.at(&[("cpus", &cpus), ("iterations", &iterations), ("pipes", &pipes)], column)
    }

    /// Mean of `activate_task`, us.
    pub fn activate(&self, at: At) -> Option<f64> {
        self.points.get(&at).map(|p| p.calls.activate().mean_us())
    }

    pub fn sizes(&self) -> Vec<u32> {
        let mut sizes: Vec<u32> = self.points.keys().map(|at| at.0).collect();
        sizes.dedup();
        sizes
    }

    pub fn pipes(&self, cpus: u32, burn: u32) -> Vec<u32> {
        self.points.keys().filter(|at| at.0 == cpus && at.1 == burn).map(|at| at.2).collect()
    }

    /// `activate_task` at the fewest pipes that the source has, over that at one a CPU: here and there.
    pub fn gain(&self, cpus: u32, burn: u32) -> Option<(u32, f64, f64)> {
        let most = (cpus, burn, cpus);
        let known = |p: &u32| self.source((cpus, burn, *p), "activate_us").is_some();
        let fewest = self.pipes(cpus, burn).into_iter().find(known)?;
        let few = (cpus, burn, fewest);
        let there = self.source(few, "activate_us")? / self.source(most, "activate_us")?;
        Some((fewest, self.activate(few)? / self.activate(most)?, there))
    }

    /// Most CPUs a pipe at which `activate_task` is within half more than at one pipe a CPU: the knee.
    pub fn knee(&self, cpus: u32, burn: u32, of: impl Fn(At) -> Option<f64>) -> Option<f64> {
        let best = of((cpus, burn, cpus))?;
        let near = |p: &u32| of((cpus, burn, *p)).is_some_and(|v| v <= 1.5 * best);
        let fewest = self.pipes(cpus, burn).into_iter().find(near)?;
        Some(f64::from(cpus) / f64::from(fewest))
    }

    /// Slope (us a CPU) and offset (us) of the straight line through the admissions at one pipe a CPU.
    pub fn slope(&self, sizes: &[u32], of: impl Fn(At) -> Option<f64>) -> (f64, f64) {
        let xy: Vec<(f64, f64)> =
            sizes.iter().filter_map(|c| of((*c, 0, *c)).map(|y| (f64::from(*c), y))).collect();
        let n = xy.len() as f64;
        let (mx, my) = (xy.iter().map(|p| p.0).sum::<f64>() / n, xy.iter().map(|p| p.1).sum::<f64>() / n);
        let up: f64 = xy.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
        let slope = up / xy.iter().map(|p| (p.0 - mx).powi(2)).sum::<f64>();
        (slope, my - slope * mx)
    }
}
