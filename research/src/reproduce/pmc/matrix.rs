// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The configurations: thirty kernels in the thesis, parameters of `pmc_fair` here (source 4, section 7).

use super::penalty::{Level, Model, Policy};

/// Which of the two effects are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scale {
    Both,
    SliceOnly,
    RuntimeOnly,
}

/// How slices shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SliceRule {
    /// By the penalty, as in the thesis.
    Penalty,
    /// By half the share of the loads that L1 serves (ours).
    Served,
    /// By 45 % for everybody.
    Constant,
}

/// One scheduler. Without a policy it counts and logs only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Config {
    pub level: Level,
    pub model: Model,
    pub policy: Option<Policy>,
    pub scale: Scale,
    pub rule: SliceRule,
}

pub const LEVELS: [Level; 3] = [Level::L1, Level::L2, Level::L3];
pub const MODELS: [Model; 4] = [Model::CacheOnly, Model::Equal, Model::Cache, Model::Branch];
pub const POLICIES: [Policy; 2] = [Policy::Penalty, Policy::Reward];

impl Config {
    pub fn new(level: Level, model: Model, policy: Option<Policy>) -> Self {
        Self { level, model, policy, scale: Scale::Both, rule: SliceRule::Penalty }
    }

    /// Parameters of the component, as `--set` takes them.
    pub fn params(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("level", self.level as u64 + 1),
            ("branch", self.model.has_branches().into()),
            ("cache_weight", self.model.cache_weight()),
            ("reward", (self.policy == Some(Policy::Reward)).into()),
            ("log_only", self.policy.is_none().into()),
            ("scale", self.scale as u64),
            ("slice_rule", self.rule as u64),
        ]
    }

    /// `L1/CA/reward`, with what differs from the thesis behind it.
    pub fn name(&self) -> String {
        let model = match self.model {
            Model::CacheOnly => "cache",
            Model::Equal => "EQ",
            Model::Cache => "CA",
            Model::Branch => "BR",
        };
        let policy = match self.policy {
            None => "log-only",
            Some(Policy::Penalty) => "penalty",
            Some(Policy::Reward) => "reward",
        };
        let scale = match self.scale {
            Scale::Both => "",
            Scale::SliceOnly => "/slice-only",
            Scale::RuntimeOnly => "/vruntime-only",
        };
        let rule = match self.rule {
            SliceRule::Penalty => "",
            SliceRule::Served => "/served",
            SliceRule::Constant => "/constant",
        };
        format!("{:?}/{model}/{policy}{scale}{rule}", self.level)
    }
}

/// The 24 policies of the thesis, cache-only first.
pub fn policies() -> Vec<Config> {
    let mut all = Vec::new();
    for model in MODELS {
        for level in LEVELS {
            all.extend(POLICIES.map(|p| Config::new(level, model, Some(p))));
        }
    }
    all
}

/// Its six baselines: three levels for each of the two sets of counters.
pub fn baselines() -> Vec<Config> {
    let of = |model| LEVELS.map(|level| Config::new(level, model, None));
    [of(Model::CacheOnly), of(Model::Equal)].concat()
}

/// What the thesis argued but did not run: each of the cache-only policies with one effect alone.
pub fn ablations() -> Vec<Config> {
    let mut all = Vec::new();
    for scale in [Scale::SliceOnly, Scale::RuntimeOnly] {
        for level in LEVELS {
            all.extend(POLICIES.map(|p| Config { scale, ..Config::new(level, Model::CacheOnly, Some(p)) }));
        }
    }
    all
}

/// Slices by a rule of their own, virtual runtimes as they are.
pub fn slice_rules() -> Vec<Config> {
    [SliceRule::Served, SliceRule::Constant]
        .map(|rule| Config {
            scale: Scale::SliceOnly,
            rule,
            ..Config::new(Level::L1, Model::CacheOnly, Some(Policy::Reward))
        })
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn thirty_kernels() {
        let all: BTreeSet<String> = policies().iter().chain(&baselines()).map(Config::name).collect();
        assert_eq!((policies().len(), baselines().len(), all.len()), (24, 6, 30));
        assert_eq!(policies().iter().filter(|c| c.model == Model::CacheOnly).count(), 6);
        assert_eq!(ablations().len(), 12);
        let c = Config::new(Level::L3, Model::Branch, Some(Policy::Reward));
        let set: std::collections::BTreeMap<_, _> = c.params().into_iter().collect();
        assert_eq!((set["level"], set["branch"], set["cache_weight"], set["reward"]), (3, 1, 25, 1));
        assert_eq!(c.name(), "L3/BR/reward");
    }
}
