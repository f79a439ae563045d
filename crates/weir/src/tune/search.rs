// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What to try next: one TPE optimiser for the topology, and one for each parameter under each topology.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use tpe::{TpeOptimizer, categorical_range, histogram_estimator, parzen_estimator, range};
use weir_model::rng::Rng;

use super::spec::{Parameter, Space, Spec};
use super::{Config, Trial};

/// Proposals that may turn out to be old ones before the search is over.
const OLD: u32 = 50;

pub(super) struct Search<'a> {
    spec: &'a Spec,
    rng: ChaCha8Rng,
    weights: Rng,
    round: u64,
}

impl<'a> Search<'a> {
    pub fn new(spec: &'a Spec) -> Self {
        let rng = ChaCha8Rng::seed_from_u64(spec.search_seed);
        Self { spec, rng, weights: Rng::new(spec.search_seed, 1), round: 0 }
    }

    /// A configuration that was not tried; `None`: there seems to be no other one.
    pub fn next(&mut self, trials: &[Trial]) -> Option<Config> {
        let weights = self.weights();
        let scores: Vec<f64> = trials.iter().map(|t| self.spec.score(&trials[0], t, &weights)).collect();
        for turn in 0..OLD {
            // The later, the more at random.
            let config = self.propose(trials, &scores, turn > OLD / 5)?;
            if !trials.iter().any(|t| t.config == config) {
                return Some(config);
            }
        }
        None
    }

    /// A direction in which this trial looks: even for one objective, else drawn from the simplex.
    fn weights(&mut self) -> Vec<f64> {
        let n = self.spec.objectives.len();
        self.round += 1;
        if n == 1 {
            return vec![1.0];
        }
        let mut cuts: Vec<u64> = (1..n).map(|_| self.weights.between(1, 999)).collect();
        cuts.extend([0, 1000]);
        cuts.sort_unstable();
        cuts.windows(2).map(|w| (w[1] - w[0]).max(1) as f64 / 1000.0).collect()
    }

    fn propose(&mut self, trials: &[Trial], scores: &[f64], random: bool) -> Option<Config> {
        let spec = self.spec;
        let mut which =
            TpeOptimizer::new(histogram_estimator(), categorical_range(spec.topologies.len()).ok()?);
        for (trial, score) in trials.iter().zip(scores).filter(|_| !random) {
            let at = spec.topologies.iter().position(|t| *t == trial.config.topology)?;
            which.tell(at as f64, *score).ok()?;
        }
        let at = (which.ask(&mut self.rng).ok()? as usize).min(spec.topologies.len() - 1);
        let topology = spec.topologies[at].clone();
        let mut set = Vec::new();
        for p in spec.parameters.iter().filter(|p| p.applies[at]) {
            let value = self.value(p, &topology, trials, scores, random)?;
            set.push(format!("{}={value}", p.name));
        }
        Some(Config { topology, set })
    }

    fn value(
        &mut self,
        p: &Parameter,
        topology: &str,
        trials: &[Trial],
        scores: &[f64],
        random: bool,
    ) -> Option<String> {
        let prefix = format!("{}=", p.name);
        let known =
            trials.iter().zip(scores).filter(|(t, _)| !random && t.config.topology == topology).filter_map(
                |(t, score)| Some((t.config.set.iter().find_map(|s| s.strip_prefix(&prefix))?, *score)),
            );
        match &p.space {
            Space::Values(values) => {
                let mut tpe = TpeOptimizer::new(histogram_estimator(), categorical_range(values.len()).ok()?);
                for (value, score) in known {
                    let at = values.iter().position(|v| v == value)?;
                    tpe.tell(at as f64, score).ok()?;
                }
                let at = (tpe.ask(&mut self.rng).ok()? as usize).min(values.len() - 1);
                Some(values[at].clone())
            }
            Space::Numbers { from, to, log, unit } => {
                let there = |x: f64| if *log { libm::log(x) } else { x };
                let back = |x: f64| if *log { libm::exp(x) } else { x };
                let (low, high) = (there(*from), there(*to));
                let mut tpe = TpeOptimizer::new(parzen_estimator(), range(low, high).ok()?);
                for (value, score) in known {
                    let number: f64 = value.strip_suffix(unit).unwrap_or(value).parse().ok()?;
                    let x = there(number).clamp(low, high - (high - low) * 1e-12);
                    tpe.tell(x, score).ok()?;
                }
                let x = back(tpe.ask(&mut self.rng).ok()?).clamp(*from, *to);
                Some(format!("{}{unit}", x.round()))
            }
        }
    }
}
