// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What may stand in a place of a command line: names of the catalogue, parameters, figures, tasks of a run. For shells
//! that complete words, and for other faces that offer choices.

use std::path::Path;

use serde_json::Value;
use weir_core::{ParamInfo, Unit};
use weir_model::workload::generators;
use weir_report::{
    BarrierSummary, ComponentSummary, CpuSummary, Dist, GangSummary, GroupSummary, PipeSummary, Summary,
    TaskSummary,
};

use crate::catalogue::{Entry, MACHINES, PACKAGES, SCENARIOS, TOPOLOGIES, WORKLOADS};
use crate::input;

/// A word, and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub word: String,
    pub help: String,
}

fn choice(word: impl Into<String>, help: impl Into<String>) -> Choice {
    Choice { word: word.into(), help: help.into() }
}

fn entries(all: &[Entry]) -> Vec<Choice> {
    all.iter().map(|e| choice(e.name, e.summary())).collect()
}

/// Topologies of the catalogue.
pub fn topologies() -> Vec<Choice> {
    entries(TOPOLOGIES)
}

/// Scenarios of the catalogue.
pub fn scenarios() -> Vec<Choice> {
    entries(SCENARIOS)
}

/// Packages of the catalogue.
pub fn packages() -> Vec<Choice> {
    entries(PACKAGES)
}

/// Components that are there, loaded ones included.
pub fn components() -> Vec<Choice> {
    weir_core::catalog().components.iter().map(|c| choice(&c.name, &c.summary)).collect()
}

/// Presets and machines of the catalogue, and this computer.
pub fn machines() -> Vec<Choice> {
    let presets = weir_model::machine::presets();
    // `smp-N` stands for any number.
    let presets = presets.iter().map(|(name, summary)| choice(name.replace("smp-N", "smp-8"), *summary));
    let mut all: Vec<Choice> = presets.collect();
    all.extend(entries(MACHINES));
    all.push(choice("host", "the computer at hand"));
    all
}

/// Workloads of the catalogue and generators; behind a generator's colon its parameters.
pub fn workloads(current: &str) -> Vec<Choice> {
    let Some((name, given)) = current.split_once(':') else {
        let mut all = entries(WORKLOADS);
        all.extend(generators().iter().map(|g| choice(g.name, g.summary)));
        return all;
    };
    let all = generators();
    let Some(generator) = all.iter().find(|g| g.name == name) else { return Vec::new() };
    let (before, given) = given.rsplit_once(',').map_or(("", given), |(before, _)| (before, before));
    let used: Vec<&str> = given.split(',').filter_map(|p| p.split('=').next()).collect();
    let before = if before.is_empty() { format!("{name}:") } else { format!("{name}:{before},") };
    let open = generator.params.iter().filter(|p| before.ends_with(':') || !used.contains(&p.name));
    open.map(|p| choice(format!("{before}{}={}", p.name, p.default), p.help)).collect()
}

/// `comp.`, then `comp.param=` with values that it takes.
pub fn parameters(current: &str) -> Vec<Choice> {
    let all = &weir_core::catalog().components;
    let with_params = all.iter().filter(|c| !c.params.is_empty());
    let Some((name, _)) = current.split_once('.') else {
        return with_params.map(|c| choice(format!("{}.", c.name), &c.summary)).collect();
    };
    let Some(component) = all.iter().find(|c| c.name == name) else { return Vec::new() };
    let named = |p: &ParamInfo| choice(format!("{name}.{}=", p.name), &p.help);
    let Some((param, _)) = current.split_once('=') else {
        return component.params.iter().map(named).collect();
    };
    let Some(p) = component.params.iter().find(|p| format!("{name}.{}", p.name) == param) else {
        return Vec::new();
    };
    let show = |v| weir_lang::show_value(v, p.unit);
    let values = match p.unit {
        Unit::Flag => vec![("true".to_string(), ""), ("false".into(), "")],
        _ if p.max == u64::MAX => vec![(show(p.default), "default"), (show(p.min), "least")],
        _ => vec![(show(p.default), "default"), (show(p.min), "least"), (show(p.max), "greatest")],
    };
    values.into_iter().map(|(value, help)| choice(format!("{param}={value}"), help)).collect()
}

/// Where the costs of a run come from.
pub fn costs() -> Vec<Choice> {
    [
        ("default", "a measured table"),
        ("zero", "scheduling, switching and migrating are free"),
        ("workload", "those of a SimSo file"),
    ]
    .map(|(word, help)| choice(word, help))
    .into()
}

/// A summary with one of everything, so that every figure of a run has a path.
fn sample() -> Summary {
    let name = || "NAME".to_string();
    Summary {
        response_ns: Dist::default(),
        tasks: vec![TaskSummary { name: name().into(), ..TaskSummary::default() }],
        groups: vec![GroupSummary { name: name(), ..GroupSummary::default() }],
        cpus: vec![CpuSummary { name: name(), ..CpuSummary::default() }],
        barriers: vec![BarrierSummary { name: name(), ..BarrierSummary::default() }],
        gangs: vec![GangSummary { name: name(), ..GangSummary::default() }],
        components: vec![ComponentSummary { name: name(), ..ComponentSummary::default() }],
        pipes: vec![PipeSummary { name: name(), ..PipeSummary::default() }],
        ..Summary::default()
    }
}

/// Paths of all figures of a run: `totals.deadline_misses`, `groups.NAME.response_ns.p99`.
pub fn metrics() -> Vec<Choice> {
    let mut all = Vec::new();
    let value = serde_json::to_value(sample()).unwrap_or_default();
    figures(&value, "", &mut all);
    all.into_iter().map(|path| choice(path, "")).collect()
}

fn figures(value: &Value, path: &str, all: &mut Vec<String>) {
    let below = |key: &str| if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
    match value {
        // A percentile of nothing is null.
        Value::Number(_) | Value::Null => all.push(path.to_string()),
        Value::Object(map) => map.iter().for_each(|(key, v)| figures(v, &below(key), all)),
        Value::Array(list) => {
            list.iter().filter(|v| v["name"].is_string()).for_each(|v| figures(v, &below("NAME"), all))
        }
        _ => {}
    }
}

/// Tasks of the run in a folder, as `explain` takes them: each name once.
pub fn tasks(folder: &Path) -> Vec<Choice> {
    let file = folder.join("summary.json");
    let text = input::read_text(&file).ok();
    let Some(summary) = text.and_then(|t| serde_json::from_str::<Summary>(&t).ok()) else {
        return Vec::new();
    };
    let mut all: Vec<Choice> = Vec::new();
    for task in &summary.tasks {
        let word = format!("{}@", task.name);
        if !all.iter().any(|c| c.word == word) {
            let longest = weir_report::duration(task.response_ns.max);
            all.push(choice(word, format!("longest response {longest}")));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(all: &[Choice]) -> Vec<&str> {
        all.iter().map(|c| c.word.as_str()).collect()
    }

    #[test]
    fn names_and_parameters_are_offered() {
        assert!(words(&topologies()).contains(&"decentral"));
        assert!(words(&machines()).contains(&"epyc-64") && words(&machines()).contains(&"host"));
        assert!(words(&components()).contains(&"round_robin"));
        assert!(words(&parameters("ro")).contains(&"round_robin."));
        assert!(words(&parameters("round_robin.s")).contains(&"round_robin.slice="));
        assert!(words(&parameters("round_robin.slice=")).contains(&"round_robin.slice=3ms"));
        assert!(parameters("nothing.x").is_empty());
        assert!(words(&workloads("hack")).contains(&"hackbench"));
        let all = workloads("hackbench:");
        assert!(words(&all).iter().any(|w| w.starts_with("hackbench:groups=")), "{all:?}");
        let all = workloads("hackbench:groups=2,l");
        assert!(words(&all).iter().any(|w| w.starts_with("hackbench:groups=2,loops=")), "{all:?}");
        assert!(!words(&all).iter().any(|w| w.starts_with("hackbench:groups=2,groups")), "{all:?}");
    }

    /// Every figure that is offered can be asked for.
    #[test]
    fn metrics_are_paths_of_a_summary() {
        let all = metrics();
        assert!(words(&all).contains(&"totals.deadline_misses"));
        assert!(words(&all).contains(&"groups.NAME.response_ns.p99"), "{all:?}");
    }
}
