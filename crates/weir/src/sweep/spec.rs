// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The specification of a sweep: a TOML file whose values may be lists. `docs/sweep.md` describes it.

// An error carries its source text and place; it is made once a command, so its size does not matter.
#![allow(clippy::result_large_err)]

use std::collections::BTreeSet;
use std::path::Path;

use weir_model::document::{Source, Table, Value};
use weir_model::error::did_you_mean;
use weir_model::workload::generators;
use weir_model::{Error, ErrorKind};

use super::range::expand;
use crate::units::parse_duration;

/// Most grid points.
pub const MAX_POINTS: usize = 100_000;
/// Most runs: points times seeds.
pub const MAX_RUNS: u64 = 20_000_000;

const KEYS: &[&str] = &[
    "name",
    "description",
    "topology",
    "machine",
    "workload",
    "keys",
    "costs",
    "set",
    "seeds",
    "duration",
    "stop_at_miss",
    "plot",
];

/// The varied parameters, in the order of the columns: the last axis changes fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Heading of its column: `machine`, `keys.util`, `set.llf.tick`.
    pub column: String,
    pub values: Vec<String>,
}

/// A scheduler of the sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// How columns and pictures call it.
    pub name: String,
    /// What `--topology` takes.
    pub topology: String,
    /// Its own `--set` values.
    pub sets: Vec<String>,
}

/// The content of the pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlotSpec {
    /// Column along the horizontal axis; without, nothing is drawn.
    pub x: Option<String>,
    /// `success`, or a column of `results.csv` whose mean is drawn; a picture each.
    pub y: Vec<String>,
}

/// A whole specification, checked by itself; names of topologies and the like are not yet looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    pub name: String,
    pub description: String,
    pub variants: Vec<Variant>,
    /// `topology` first, its values the variants' names.
    pub axes: Vec<Axis>,
    pub seeds: Vec<u64>,
    pub duration_ns: Option<u64>,
    pub stop_at_miss: bool,
    pub plot: PlotSpec,
}

type Result<T> = std::result::Result<T, Error>;

impl Spec {
    /// Read a specification. `file` names the text in diagnostics; `columns` are the numbers of a run.
    ///
    /// # Errors
    /// Of kind [`ErrorKind::Sweep`], with the place in the text.
    pub fn parse(file: &str, text: &str, columns: &[&str]) -> Result<Self> {
        let source = Source { name: file, text, kind: ErrorKind::Sweep };
        let document = source.parse()?;
        let top = Table::new(source, document.get_ref(), 0..0, "the sweep", KEYS)?;
        let stem = Path::new(file).file_stem().and_then(|s| s.to_str()).unwrap_or("sweep");
        let word = |key: &'static str, example: &str| {
            top.get(key).map(|v| v.str(example).map(str::to_string)).transpose()
        };

        let variants = variants(&top.require("topology", "[\"edf\", \"llf\"]")?)?;
        let mut axes = vec![Axis {
            column: "topology".into(),
            values: variants.iter().map(|v| v.name.clone()).collect(),
        }];
        axes.push(axis("machine", &top.require("machine", "\"smp-4\"")?)?);
        let workload = top.require("workload", "\"periodic\"")?;
        axes.push(axis("workload", &workload)?);
        axes.push(match top.get("costs") {
            Some(v) => axis("costs", &v)?,
            None => Axis { column: "costs".into(), values: vec!["default".into()] },
        });
        if let Some(keys) = top.get("keys") {
            let calls = &axes[2].values;
            axes.extend(generator_keys(&keys, &workload, &calls.clone())?);
        }
        if let Some(set) = top.get("set") {
            axes.extend(sets(&set)?);
        }
        let points = points(&axes, &source)?;
        let seeds = match top.get("seeds") {
            Some(v) => seeds(&v, points)?,
            None => vec![1],
        };
        let duration_ns = top
            .get("duration")
            .map(|v| {
                let text = v.str("\"1s\"")?;
                parse_duration(text)
                    .map_err(|e| v.error(format!("`duration`: {e}")).help("write `duration = \"1s\"`"))
            })
            .transpose()?;
        let stop_at_miss = top.get("stop_at_miss").map(|v| v.bool()).transpose()?.unwrap_or(false);
        let plot = plot(top.get("plot"), &axes, columns)?;
        Ok(Self {
            name: word("name", "\"a name\"")?.unwrap_or_else(|| stem.to_string()),
            description: word("description", "\"what it is for\"")?.unwrap_or_default(),
            variants,
            axes,
            seeds,
            duration_ns,
            stop_at_miss,
            plot,
        })
    }

    /// Number of grid points.
    pub fn nr_points(&self) -> usize {
        self.axes.iter().map(|a| a.values.len()).product()
    }

    /// Index of each axis' value at a point.
    pub fn point(&self, mut index: usize) -> Vec<usize> {
        let mut at = vec![0; self.axes.len()];
        for (i, axis) in self.axes.iter().enumerate().rev() {
            at[i] = index % axis.values.len();
            index /= axis.values.len();
        }
        at
    }

    /// The values at a point, by column.
    pub fn values(&self, index: usize) -> Vec<&str> {
        self.point(index).iter().zip(&self.axes).map(|(i, a)| a.values[*i].as_str()).collect()
    }
}

/// Points of the grid that the axes span.
fn points(axes: &[Axis], source: &Source<'_>) -> Result<u64> {
    let points = axes.iter().try_fold(1usize, |n, a| n.checked_mul(a.values.len()));
    points.filter(|p| *p <= MAX_POINTS).map(|p| p as u64).ok_or_else(|| {
        source
            .error(0..0, format!("the grid has more than {MAX_POINTS} points"))
            .help("give fewer values, or split it into several sweeps")
    })
}

/// A value or a list of them, or a range.
fn axis(column: &str, value: &Value<'_, '_>) -> Result<Axis> {
    let values = if value.is_list() {
        let items = value.list("[…]")?;
        items.iter().map(|v| v.word("…")).collect::<Result<Vec<_>>>()?
    } else if value.is_table() {
        let t = value.table("the range", &["from", "to", "step"])?;
        let word = |key: &'static str| t.require(key, "\"5%\"").and_then(|v| v.word("\"5%\""));
        expand(&word("from")?, &word("to")?, &word("step")?).map_err(|e| value.error(e.0).help(e.1))?
    } else {
        vec![value.word("…")?]
    };
    if values.is_empty() {
        return Err(value.error(format!("`{}` is an empty list", value.key)).help("give at least one value"));
    }
    let mut seen = BTreeSet::new();
    for v in &values {
        if !seen.insert(v) {
            return Err(value.error(format!("`{}` has `{v}` twice", value.key)).help("give each value once"));
        }
    }
    Ok(Axis { column: column.to_string(), values })
}

/// Names of topologies, or tables with a name and settings of their own.
fn variants(value: &Value<'_, '_>) -> Result<Vec<Variant>> {
    let items = if value.is_list() { value.list("[…]")? } else { vec![value.clone()] };
    let mut all: Vec<Variant> = Vec::new();
    for item in &items {
        let variant = if item.is_table() {
            let t = item.table("the topology", &["name", "topology", "set"])?;
            let topology = t.require("topology", "\"llf\"")?.str("\"llf\"")?.to_string();
            let name = match t.get("name") {
                Some(v) => v.str("\"llf with a tick of 1 ms\"")?.to_string(),
                None => topology.clone(),
            };
            let mut own = Vec::new();
            if let Some(set) = t.get("set") {
                for axis in sets(&set)? {
                    let [one] = &axis.values[..] else {
                        return Err(set.error("a topology of its own has one value for each parameter").help(
                            "write another entry for another value, or vary it for all topologies under `[set]`",
                        ));
                    };
                    own.push(format!("{}={one}", axis.column.trim_start_matches("set.")));
                }
            }
            Variant { name, topology, sets: own }
        } else {
            let topology = item.str("[\"edf\", \"llf\"]")?.to_string();
            Variant { name: topology.clone(), topology, sets: Vec::new() }
        };
        if all.iter().any(|v| v.name == variant.name) {
            return Err(item
                .error(format!("two topologies are called `{}`", variant.name))
                .help("give one of them a name: { name = \"…\", topology = \"…\", set = { … } }"));
        }
        all.push(variant);
    }
    if all.is_empty() {
        return Err(value
            .error("`topology` is an empty list")
            .help("name at least one: `runweir topologies`"));
    }
    Ok(all)
}

/// `[keys]`: parameters of the generator, which all workloads must have.
fn generator_keys(keys: &Value<'_, '_>, workload: &Value<'_, '_>, calls: &[String]) -> Result<Vec<Axis>> {
    let mut known: Option<Vec<&str>> = None;
    for call in calls {
        let name = call.split(':').next().unwrap_or(call);
        let Some(info) = generators().into_iter().find(|g| g.name == name) else {
            return Err(workload
                .error(format!("`{call}` is not a generator and has no keys"))
                .help("take `[keys]` away, or name a generator: `runweir workloads` lists them"));
        };
        let own: Vec<&str> = info.params.iter().map(|p| p.name).collect();
        known = Some(match known {
            Some(k) => k.into_iter().filter(|n| own.contains(n)).collect(),
            None => own,
        });
    }
    let known = known.unwrap_or_default();
    let what = format!("the keys of {}", calls.join(" and "));
    // Checks the names; the entries give the order of the text.
    keys.table(&what, &known)?;
    let mut axes = Vec::new();
    for value in keys.entries("{ util = [\"50%\", \"60%\"] }")? {
        let fixed = |c: &&String| {
            let list = c.split_once(':').map_or("", |s| s.1);
            list.split(',').any(|p| p.split('=').next().is_some_and(|k| k.trim() == value.key))
        };
        if let Some(call) = calls.iter().find(fixed) {
            return Err(value
                .error(format!("`{}` is given in `{call}` already", value.key))
                .help("give it at one place"));
        }
        axes.push(axis(&format!("keys.{}", value.key), &value)?);
    }
    Ok(axes)
}

/// `[set]`: `"llf.tick" = …`, or `llf.tick = …`, which TOML reads as a table.
fn sets(set: &Value<'_, '_>) -> Result<Vec<Axis>> {
    let mut axes = Vec::new();
    for value in set.entries("{ \"llf.tick\" = \"1ms\" }")? {
        let nested = value.is_table() && !value.entries("…")?.iter().any(|v| v.key == "from");
        if nested {
            for inner in value.entries("…")? {
                axes.push(axis(&format!("set.{}.{}", value.key, inner.key), &inner)?);
            }
        } else if value.key.contains('.') {
            axes.push(axis(&format!("set.{}", value.key), &value)?);
        } else {
            return Err(value.error(format!("`{}` does not say whose parameter it is", value.key)).help(
                format!("write `\"component.{}\" = …`, for example `\"llf.tick\" = \"1ms\"`", value.key),
            ));
        }
    }
    Ok(axes)
}

/// A number (1 to that), a list, or `{ first, count }`, for a grid of this many points.
fn seeds(value: &Value<'_, '_>, points: u64) -> Result<Vec<u64>> {
    // Before they are listed: there may be millions.
    let bounded = |count: u64| match points * count {
        0..=MAX_RUNS => Ok(count),
        _ => Err(value
            .error(format!("{points} points with {count} seeds are more than {MAX_RUNS} runs"))
            .help("give fewer seeds or values, or split it into several sweeps")),
    };
    let most = (1, MAX_RUNS);
    if value.is_table() {
        let t = value.table("the seeds", &["first", "count"])?;
        let first = t.get("first").map_or(Ok(1), |v| v.int((0, (i64::MAX as u64) - MAX_RUNS)))?;
        let count = bounded(t.require("count", "100")?.int(most)?)?;
        return Ok((first..first + count).collect());
    }
    if !value.is_list() {
        return Ok((1..=bounded(value.int(most)?)?).collect());
    }
    let any = (0, i64::MAX as u64);
    let seeds: Vec<u64> = value.list("[1, 2]")?.iter().map(|v| v.int(any)).collect::<Result<_>>()?;
    bounded(seeds.len() as u64)?;
    let distinct: BTreeSet<&u64> = seeds.iter().collect();
    if seeds.is_empty() || distinct.len() < seeds.len() {
        return Err(value
            .error("`seeds` is empty or has a seed twice")
            .help("write a number, such as `seeds = 100`"));
    }
    Ok(seeds)
}

/// `[plot]`; without one, success against the first number that is varied.
fn plot(value: Option<Value<'_, '_>>, axes: &[Axis], columns: &[&str]) -> Result<PlotSpec> {
    let varied: Vec<&str> =
        axes.iter().skip(1).filter(|a| a.values.len() > 1).map(|a| a.column.as_str()).collect();
    // What a generator is asked for is of more interest than where it runs.
    let key = varied.iter().find(|c| c.starts_with("keys.")).or(varied.first());
    let mut plot = PlotSpec { x: key.map(|c| c.to_string()), y: vec!["success".into()] };
    let Some(value) = value else { return Ok(plot) };
    let table = value.table("the plot", &["x", "y"])?;
    if let Some(x) = table.get("x") {
        let name = x.str("\"keys.util\"")?;
        if !varied.contains(&name) {
            let help = if varied.is_empty() {
                "nothing but the topology is varied: give a key several values".to_string()
            } else {
                did_you_mean(name, &varied)
            };
            return Err(x.error(format!("`{name}` is not varied in this sweep")).help(help));
        }
        plot.x = Some(name.to_string());
    }
    if let Some(y) = table.get("y") {
        let items = if y.is_list() { y.list("[\"success\"]")? } else { vec![y.clone()] };
        let known: Vec<&str> = ["success"].into_iter().chain(columns.iter().copied()).collect();
        plot.y.clear();
        for item in &items {
            let name = item.str("\"success\"")?;
            if !known.contains(&name) {
                return Err(item
                    .error(format!("there is no column `{name}`"))
                    .help(did_you_mean(name, &known)));
            }
            plot.y.push(name.to_string());
        }
    }
    Ok(plot)
}

#[cfg(test)]
mod tests;
