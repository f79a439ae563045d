// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The whole experiment: every configuration over many seeded runs, and the means.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::Error;
use super::average::{METRICS, Metric, Numbers, Summary};
use super::matrix::{self, Config};
use super::penalty::{Level, Model, Policy};
use super::run::{PROGRAMS, Setting, run};
use super::tree::forest;

/// What to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Runs of each configuration; the thesis made 30.
    pub runs: u32,
    pub first_seed: u64,
    /// With the ablations and the slice rules of our own.
    pub ablations: bool,
    /// Only the configurations that look at this cache.
    pub only: Option<Level>,
    /// Only the thesis's best configuration and its baseline.
    pub best: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self { runs: 30, first_seed: 1, ablations: true, only: None, best: false }
    }
}

/// A configuration's programs on one workload.
pub type Programs = BTreeMap<&'static str, BTreeMap<Metric, Summary>>;

/// Means of everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    pub plan: Plan,
    /// By workload and configuration.
    pub of: BTreeMap<(String, Config), Programs>,
    /// Time of all three programs together, of each run summed up.
    pub overall: BTreeMap<(String, Config), Summary>,
}

/// All configurations of a plan.
pub fn configs(plan: &Plan) -> Vec<Config> {
    let mut all = matrix::baselines();
    all.extend(matrix::policies());
    if plan.ablations {
        all.extend(matrix::ablations());
        all.extend(matrix::slice_rules());
    }
    if plan.best {
        let best = Config::new(Level::L1, Model::CacheOnly, Some(Policy::Reward));
        return vec![baseline(&best), best];
    }
    all.retain(|c| plan.only.is_none_or(|level| c.level == level));
    all
}

/// The baseline that a configuration is compared with: same level, same set of counters.
pub fn baseline(config: &Config) -> Config {
    let model = if config.model.has_branches() { Model::Equal } else { Model::CacheOnly };
    Config::new(config.level, model, None)
}

/// Numbers of each program in one run.
fn measure(
    setting: &Setting,
    plan: &weir_core::Plan,
    config: Config,
    seed: u64,
) -> Result<Vec<Numbers>, Error> {
    let log = run(setting, plan, config, seed)?;
    let roots: Vec<u32> = log.roots.iter().map(|r| r.1).collect();
    let trees = forest(&log.lines, &roots);
    PROGRAMS
        .iter()
        .map(|name| {
            let root = log.roots.iter().find(|r| r.0 == *name).map(|r| r.1);
            let tree = trees.iter().find(|t| Some(t.nodes[0].pid) == root);
            tree.and_then(Numbers::of)
                .ok_or_else(|| Error(format!("`{name}` did not end under {} (seed {seed})", config.name())))
        })
        .collect()
}

/// Run a plan on workloads, each with its name, on all CPUs. `progress` hears how many of how many runs are done; it may say stop
/// (`false`).
///
/// # Errors
/// A run fails, or it was stopped.
pub fn experiment(
    plan: &Plan,
    workloads: &[(&str, Setting)],
    progress: &(dyn Fn(usize, usize) -> bool + Sync),
) -> Result<Results, Error> {
    let configs = configs(plan);
    let total = configs.len() * workloads.len() * plan.runs as usize;
    let done = AtomicUsize::new(0);
    let mut results = Results { plan: *plan, ..Results::default() };
    for (name, setting) in workloads {
        let plans: Vec<weir_core::Plan> =
            configs.iter().map(|c| setting.plan(c)).collect::<Result<_, _>>()?;
        let jobs: Vec<(usize, u64)> = (0..configs.len())
            .flat_map(|c| (0..u64::from(plan.runs)).map(move |r| (c, plan.first_seed + r)))
            .collect();
        let numbers: Vec<Vec<Numbers>> = jobs
            .par_iter()
            .map(|&(c, seed)| {
                let numbers = measure(setting, &plans[c], configs[c], seed)?;
                if !progress(done.fetch_add(1, Ordering::Relaxed) + 1, total) {
                    return Err(Error("stopped".into()));
                }
                Ok(numbers)
            })
            .collect::<Result<_, Error>>()?;
        for (c, config) in configs.iter().enumerate() {
            let runs = &numbers[c * plan.runs as usize..(c + 1) * plan.runs as usize];
            let mut programs = Programs::new();
            for (p, program) in PROGRAMS.into_iter().enumerate() {
                let of = |m| Summary::of(&runs.iter().map(|r| r[p].get(m)).collect::<Vec<_>>());
                programs.insert(program, METRICS.into_iter().map(|m| (m, of(m))).collect());
            }
            let times: Vec<f64> = runs.iter().map(|r| r.iter().map(|p| p.get(Metric::Time)).sum()).collect();
            results.overall.insert((name.to_string(), *config), Summary::of(&times));
            results.of.insert((name.to_string(), *config), programs);
        }
    }
    Ok(results)
}

impl Results {
    /// A program's metric under a configuration.
    pub fn get(&self, workload: &str, config: &Config, program: &str, metric: Metric) -> Option<&Summary> {
        self.of.get(&(workload.to_string(), *config))?.get(program)?.get(&metric)
    }
}
