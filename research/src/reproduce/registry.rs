// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The list of experiments. A new one is a file of its own and a line here.

use crate::reproduce::lab::{Done, Lab};
use crate::reproduce::report::Report;
use crate::reproduce::{
    adaptation, agility, collapse, composition, counter_grid, counters, foreign, gang_change, gang_clock,
    gang_grain, gang_interference, gang_service, gang_wait, gangs, hackbench, heat, heterogeneity, hw,
    least_laxity, lines, local_messages, nested, network, openmp, pause, scaling,
};

/// An experiment: a table or figure of a source, or a result reported elsewhere, reproduced.
pub struct Experiment {
    /// What the user types; also the folder below `experiments/`.
    pub id: &'static str,
    /// Other words for it.
    pub aliases: &'static [&'static str],
    pub title: &'static str,
    /// Where the original is: source, section, figures and tables.
    pub source: &'static str,
    pub run: fn(&Lab<'_>) -> Done<Report>,
}

/// All experiments, in the order of the sources.
pub const EXPERIMENTS: &[Experiment] = &[
    heterogeneity::EXPERIMENT,
    scaling::EXPERIMENT,
    composition::EXPERIMENT,
    hackbench::EXPERIMENT,
    adaptation::EXPERIMENT,
    foreign::EXPERIMENT,
    pause::EXPERIMENT,
    collapse::EXPERIMENT,
    least_laxity::EXPERIMENT,
    counters::EXPERIMENT,
    counter_grid::EXPERIMENT,
    lines::LEVELS,
    lines::UPDATES,
    lines::CROSSING,
    local_messages::EXPERIMENT,
    lines::MESSAGES,
    lines::NOTIFY,
    network::LOOPBACK,
    network::WEB,
    gang_interference::LINUX,
    gang_wait::BLOCK,
    gang_wait::CLUSTER,
    gang_service::BURSTS,
    gang_clock::EXPERIMENT,
    gang_change::TRACE,
    gang_change::COST,
    openmp::EXPERIMENT,
    gang_interference::BEST_EFFORT,
    gangs::EXPERIMENT,
    heat::EXPERIMENT,
    nested::EXPERIMENT,
    agility::EXPERIMENT,
    gang_service::SOLVER,
    gang_grain::EXPERIMENT,
    hw::engine::E2,
    hw::engine::E3,
    hw::engine::E4,
    hw::area::E5,
    hw::area::E7,
    hw::area::E8,
    hw::engine::PAYS,
    hw::unified::X1,
    hw::unified::X2,
    hw::unified::X3,
    hw::unified::X4,
    hw::unified::X5,
    hw::unified::X6,
    hw::unified::X7,
    hw::area::SHARES,
];

/// The experiment that the user names, by id or alias.
pub fn find(name: &str) -> Option<&'static Experiment> {
    let name = name.to_lowercase();
    EXPERIMENTS.iter().find(|e| e.id == name || e.aliases.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> =
            EXPERIMENTS.iter().flat_map(|e| e.aliases.iter().copied().chain([e.id])).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(names.iter().all(|n| n.to_lowercase() == **n));
    }

    #[test]
    fn an_alias_is_as_good_as_the_id() {
        assert_eq!(find("8.5").map(|e| e.id), Some("cobas-8.5"));
        assert_eq!(find("COBAS-8.5").map(|e| e.id), Some("cobas-8.5"));
        assert!(find("nonsense").is_none());
    }
}
