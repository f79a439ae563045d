// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Bounds on the results of simulations, for continuous integration: absolute, or against another topology or revision.
//! `docs/guard.md` describes the specification.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::TempDir;
use weir_report::{Cell, Columns, Ignored, Screen, Summary, Tone};

use crate::fault::{Diag, Fault, Result};
use crate::input;
use crate::remarks::Remarks;
use crate::run::{PreparedRun, RunOptions};
use crate::session::Setting;
use crate::units::{duration, plural};
use crate::watch::Watch;

/// Most seeds of a check.
const MAX_SEEDS: u64 = 10_000;

/// The specification, as written.
#[derive(Clone, Debug, Deserialize)]
struct File {
    name: Option<String>,
    #[serde(default)]
    check: Vec<CheckFile>,
    #[serde(flatten)]
    common: Common,
    /// Unknown keys.
    #[serde(flatten)]
    rest: BTreeMap<String, toml::Value>,
}

/// What checks may have in common: each may say it for itself.
#[derive(Clone, Debug, Default, Deserialize)]
struct Common {
    topology: Option<String>,
    machine: Option<String>,
    workload: Option<String>,
    duration: Option<String>,
    costs: Option<String>,
    seeds: Option<u64>,
    first_seed: Option<u64>,
    #[serde(default)]
    set: Vec<String>,
    base: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct CheckFile {
    name: Option<String>,
    metric: String,
    #[serde(flatten)]
    own: Common,
    over: Option<Over>,
    min: Option<Bound>,
    max: Option<Bound>,
    max_increase: Option<String>,
    max_decrease: Option<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, toml::Value>,
}

/// A bound: a number, or a time with its unit.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Bound {
    Number(f64),
    Text(String),
}

/// How the values of several seeds become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    #[default]
    Mean,
    Min,
    Max,
}

/// A specification that was read.
#[derive(Debug)]
pub struct Guard {
    pub name: String,
    checks: Vec<Check>,
    /// Trees of base revisions.
    _trees: Vec<TempDir>,
}

#[derive(Debug)]
struct Check {
    name: String,
    metric: String,
    over: Over,
    seeds: std::ops::Range<u64>,
    run: RunOptions,
    base: Option<RunOptions>,
    min: Option<f64>,
    max: Option<f64>,
    /// Relative to the base.
    max_increase: Option<f64>,
    max_decrease: Option<f64>,
}

/// What became of a check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    pub name: String,
    pub topology: String,
    pub metric: String,
    pub over: Over,
    pub seeds: u64,
    /// `None`: the runs have no such value.
    pub value: Option<f64>,
    pub base: Option<f64>,
    /// In words: `<= 2 ms`.
    pub bound: String,
    pub passed: bool,
    /// Why it did not pass; empty where it did.
    pub why: String,
}

/// What became of all checks.
#[derive(Clone, Debug, Serialize)]
pub struct GuardResult {
    pub runweir: String,
    pub name: String,
    pub passed: bool,
    pub checks: Vec<Verdict>,
    /// What topologies do not obey of what the workloads ask for.
    pub ignored: Vec<Ignored>,
    /// Remarks for the user about the runs, each once.
    #[serde(skip)]
    pub warnings: Vec<Diag>,
}

/// The runs that were made.
#[derive(Default)]
struct Made {
    /// Their summaries, by their options.
    trees: BTreeMap<String, Value>,
    remarks: Remarks,
}

fn wrong(file: &str, check: &str, message: impl std::fmt::Display, help: impl Into<String>) -> Fault {
    let place = if check.is_empty() { String::new() } else { format!(", check `{check}`") };
    Fault::user(format!("{file}{place}: {message}"), help)
}

impl Guard {
    /// Read a specification; paths in it are relative to its folder. `strict`: what a topology does not obey is an error.
    ///
    /// # Errors
    /// The user's: it cannot be read, a key is unknown, a bound is missing or malformed, a revision is unknown.
    pub fn open(file: &str, strict: bool) -> Result<Self> {
        let text = input::read_text(file)?;
        let spec: File = toml::from_str(&text).map_err(|e| {
            let diag =
                Diag::error(e.message().to_string()).help("docs/guard.md lists the keys").source(file, &text);
            Fault::from(match e.span() {
                Some(span) => diag.label(span, None),
                None => diag,
            })
        })?;
        let folder = Path::new(file).parent().unwrap_or(Path::new("")).to_path_buf();
        if let Some(key) = spec.rest.keys().next() {
            return Err(wrong(file, "", format!("unknown key `{key}`"), "docs/guard.md lists the keys"));
        }
        if spec.check.is_empty() {
            return Err(wrong(file, "", "there is no [[check]]", "add one with `metric` and `max`"));
        }
        let mut trees = BTreeMap::new();
        let mut checks = Vec::new();
        for (i, check) in spec.check.iter().enumerate() {
            let name = check.name.clone().unwrap_or_else(|| format!("{} ({})", check.metric, i + 1));
            let mut check = read_check(file, &folder, &spec.common, check, name, &mut trees)?;
            check.run.setting.strict = strict;
            check.base.iter_mut().for_each(|base| base.setting.strict = strict);
            checks.push(check);
        }
        let stem = Path::new(file).file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let _trees = trees.into_values().collect();
        Ok(Self { name: spec.name.unwrap_or(stem), checks, _trees })
    }

    /// Runs that will be made.
    pub fn nr_runs(&self) -> u64 {
        self.checks.iter().map(|c| (c.seeds.end - c.seeds.start) * (1 + u64::from(c.base.is_some()))).sum()
    }

    /// Make all runs and judge them. Equal runs are made once.
    ///
    /// # Errors
    /// The user's: a topology, machine or workload is wrong. The system's: the caller has ended it.
    pub fn run(&self, watch: &dyn Watch) -> Result<GuardResult> {
        let mut made = Made::default();
        let mut checks = Vec::new();
        for check in &self.checks {
            let value = check.value(&check.run, &mut made, watch)?;
            let base = match &check.base {
                Some(base) => check.value(base, &mut made, watch)?,
                None => None,
            };
            checks.push(check.judge(value, base));
        }
        let passed = checks.iter().all(|c| c.passed);
        let (warnings, ignored) = made.remarks.finish();
        let (runweir, name) = (env!("CARGO_PKG_VERSION").into(), self.name.clone());
        Ok(GuardResult { runweir, name, passed, checks, ignored, warnings })
    }
}

fn read_check(
    file: &str,
    folder: &Path,
    common: &Common,
    check: &CheckFile,
    name: String,
    trees: &mut BTreeMap<String, TempDir>,
) -> Result<Check> {
    let fail = |message: String, help: &str| wrong(file, &name, message, help);
    if let Some(key) = check.rest.keys().next() {
        return Err(fail(format!("unknown key `{key}`"), "docs/guard.md lists the keys"));
    }
    let own = &check.own;
    let beside =
        |name: &str| match input::is_path(name) && !name.contains(':') && !Path::new(name).is_absolute() {
            true => folder.join(name).to_string_lossy().into_owned(),
            false => name.to_string(),
        };
    let pick = |a: &Option<String>, b: &Option<String>| a.clone().or_else(|| b.clone());
    let need = |key: &str, value: Option<String>| {
        value.ok_or_else(|| {
            fail(format!("`{key}` is missing"), "write it in the check, or at the top for all checks")
        })
    };
    let topology = need("topology", pick(&own.topology, &common.topology))?;
    let machine = need("machine", pick(&own.machine, &common.machine))?;
    let workload = need("workload", pick(&own.workload, &common.workload))?;
    let time = |text: &str| {
        crate::units::parse_duration(text).map_err(|e| fail(format!("`{text}`: {e}"), "for example \"2ms\""))
    };
    let duration_ns = pick(&own.duration, &common.duration).map(|t| time(&t)).transpose()?;
    let seeds = own.seeds.or(common.seeds).unwrap_or(1);
    let first = own.first_seed.or(common.first_seed).unwrap_or(1);
    if seeds == 0 || seeds > MAX_SEEDS || first.checked_add(seeds).is_none() {
        return Err(fail(format!("{seeds} seeds from {first}"), "write 1 to 10000 seeds"));
    }
    let bound = |b: &Option<Bound>| match b {
        None => Ok(None),
        Some(Bound::Number(n)) => Ok(Some(*n)),
        Some(Bound::Text(t)) => time(t).map(|ns| Some(ns as f64)),
    };
    let share = |key: &str, text: &Option<String>| match text {
        None => Ok(None),
        Some(t) => {
            match t.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok()).filter(|n| *n >= 0.0)
            {
                Some(n) => Ok(Some(n / 100.0)),
                None => Err(fail(format!("{key} = `{t}` is not a share"), "write, for example, \"5%\"")),
            }
        }
    };
    let (min, max) = (bound(&check.min)?, bound(&check.max)?);
    let max_increase = share("max_increase", &check.max_increase)?;
    let max_decrease = share("max_decrease", &check.max_decrease)?;
    let relative = max_increase.is_some() || max_decrease.is_some();
    if min.is_none() && max.is_none() && !relative {
        return Err(fail(
            "it has no bound".into(),
            "add `min`, `max`, or `base` with `max_increase` or `max_decrease`",
        ));
    }
    let base = pick(&own.base, &common.base).filter(|_| relative);
    if relative && base.is_none() {
        return Err(fail(
            "a relative bound needs a `base`".into(),
            "add base = \"central\", a .weir file, or \"git:main\"",
        ));
    }
    let set: Vec<String> = common.set.iter().chain(&own.set).cloned().collect();
    let options = |topology: String| RunOptions {
        topology: Some(topology),
        setting: Setting {
            machine: Some(beside(&machine)),
            workload: Some(beside(&workload)),
            duration_ns,
            set: set.clone(),
            costs: pick(&own.costs, &common.costs).map(|c| beside(&c)),
            strict: false,
        },
        ..RunOptions::default()
    };
    let base = match base {
        None => None,
        Some(base) => Some(options(match base.strip_prefix("git:") {
            None => beside(&base),
            Some(revision) => at_revision(file, &name, folder, &topology, revision, trees)?,
        })),
    };
    Ok(Check {
        metric: check.metric.clone(),
        over: check.over.unwrap_or_default(),
        seeds: first..first + seeds,
        run: options(beside(&topology)),
        base,
        min,
        max,
        max_increase,
        max_decrease,
        name,
    })
}

/// The topology's file as it is in another revision, with everything beside it.
fn at_revision(
    file: &str,
    check: &str,
    folder: &Path,
    topology: &str,
    revision: &str,
    trees: &mut BTreeMap<String, TempDir>,
) -> Result<String> {
    if !input::is_path(topology) {
        return Err(wrong(
            file,
            check,
            format!("`{topology}` is a name of the catalogue, which has no revisions"),
            "name a .weir file as topology",
        ));
    }
    if revision.is_empty() || revision.starts_with('-') {
        return Err(wrong(
            file,
            check,
            format!("`git:{revision}` names no revision"),
            "for example base = \"git:main\"",
        ));
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let git = |args: &[&str]| {
        let out = Command::new("git").arg("-C").arg(folder).args(args).output();
        let out = out.map_err(|e| {
            wrong(file, check, format!("git cannot be started: {e}"), "install git, or name a file as `base`")
        })?;
        if out.status.success() {
            return Ok(out.stdout);
        }
        let words = String::from_utf8_lossy(&out.stderr);
        let words = words.lines().next().unwrap_or("no reason given").trim().to_string();
        Err(wrong(
            file,
            check,
            format!("git: {words}"),
            "check that the revision exists here; shallow clones lack older ones (git fetch)",
        ))
    };
    let top = PathBuf::from(String::from_utf8_lossy(&git(&["rev-parse", "--show-toplevel"])?).trim());
    let inside = std::fs::canonicalize(folder.join(topology))
        .ok()
        .and_then(|p| p.strip_prefix(std::fs::canonicalize(&top).ok()?).ok().map(Path::to_path_buf))
        .ok_or_else(|| {
            wrong(
                file,
                check,
                format!("`{topology}` is not a file of the repository"),
                "name a .weir file of it",
            )
        })?;
    if !trees.contains_key(revision) {
        let broken = |e: std::io::Error| {
            Fault::system(format!("cannot unpack revision {revision}: {e}"), "is the disk full?")
        };
        let dir = tempfile::tempdir().map_err(broken)?;
        // The files of a folder hold its includes; a listing avoids unpacking the whole repository.
        let list =
            git(&["ls-tree", "-r", "-z", "--full-tree", "--name-only", &format!("{revision}^{{commit}}")])?;
        for path in list.split(|b| *b == 0).filter(|p| p.ends_with(b".weir")) {
            let path = String::from_utf8_lossy(path).into_owned();
            let to = dir.path().join(&path);
            if let Some(parent) = to.parent() {
                std::fs::create_dir_all(parent).map_err(broken)?;
            }
            std::fs::write(&to, git(&["show", &format!("{revision}:{path}")])?).map_err(broken)?;
        }
        trees.insert(revision.to_string(), dir);
    }
    let there = trees[revision].path().join(&inside);
    if !there.is_file() {
        return Err(wrong(
            file,
            check,
            format!("revision `{revision}` has no `{}`", inside.display()),
            "name the revision that introduced the file, or a later one",
        ));
    }
    Ok(there.to_string_lossy().into_owned())
}

impl Check {
    /// The metric over all seeds; `None` where a run has no such value.
    fn value(&self, options: &RunOptions, made: &mut Made, watch: &dyn Watch) -> Result<Option<f64>> {
        let mut values = Vec::new();
        for seed in self.seeds.clone() {
            let options = RunOptions { seed, ..options.clone() };
            let key = format!("{options:?}");
            if !made.trees.contains_key(&key) {
                let place =
                    |f: Fault| f.note(format!("it happened in the check `{}`, seed {seed}", self.name));
                let run = PreparedRun::new(&options).map_err(place)?;
                let done = run.run(None, watch).map_err(place)?;
                if done.summary.interrupted && done.summary.crash.is_none() {
                    return Err(Fault::system("the guard was interrupted", "run it again"));
                }
                made.remarks.add(run.remarks(&done), &done.summary.ignored);
                made.trees.insert(key.clone(), tree(&done.summary)?);
            }
            watch.one();
            match metric(&made.trees[&key], &self.metric) {
                Ok(Some(v)) => values.push(v),
                Ok(None) => return Ok(None),
                Err((message, help)) => {
                    return Err(Fault::user(format!("check `{}`: {message}", self.name), help));
                }
            }
        }
        let n = values.len() as f64;
        Ok(Some(match self.over {
            Over::Mean => values.iter().sum::<f64>() / n,
            Over::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Over::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }))
    }

    fn judge(&self, value: Option<f64>, base: Option<f64>) -> Verdict {
        let show = |v: f64| show(&self.metric, v);
        let mut bounds = Vec::new();
        let mut why = Vec::new();
        if let Some(max) = self.max {
            bounds.push(format!("<= {}", show(max)));
            why.extend(value.filter(|v| *v > max).map(|v| format!("{} is more than {}", show(v), show(max))));
        }
        if let Some(min) = self.min {
            bounds.push(format!(">= {}", show(min)));
            why.extend(value.filter(|v| *v < min).map(|v| format!("{} is less than {}", show(v), show(min))));
        }
        for (share, sign) in [(self.max_increase, 1.0), (self.max_decrease, -1.0)] {
            let Some(share) = share else { continue };
            bounds.push(
                format!("{}{:.4}% of base", if sign > 0.0 { "+" } else { "-" }, share * 100.0)
                    .replace(".0000%", "%"),
            );
            match (value, base) {
                (Some(v), Some(b)) if sign * (v - b) > share * b.abs() => {
                    let change = if b == 0.0 {
                        String::from("from 0")
                    } else {
                        format!("by {:+.1} %", (v / b - 1.0) * 100.0)
                    };
                    why.push(format!("{} instead of {} in the base, {change}", show(v), show(b)));
                }
                (Some(_), Some(_)) => {}
                _ => why.push("the base has no such value".into()),
            }
        }
        if value.is_none() {
            why = vec!["the runs have no such value (nothing was measured)".into()];
        }
        Verdict {
            name: self.name.clone(),
            topology: self.run.topology.clone().unwrap_or_default(),
            metric: self.metric.clone(),
            over: self.over,
            seeds: self.seeds.end - self.seeds.start,
            value,
            base,
            bound: bounds.join(", "),
            passed: why.is_empty(),
            why: why.join("; "),
        }
    }
}

fn tree(summary: &Summary) -> Result<Value> {
    serde_json::to_value(summary)
        .map_err(|e| Fault::system(format!("a summary cannot be written: {e}"), "this is a bug"))
}

/// A value of a summary by its path: `totals.preemptions`, `groups.web.wakeup_latency_ns.p99`, `faults`.
///
/// Elements of lists go by their `name` (CPUs by number); a list itself counts its elements.
pub fn metric(summary: &Value, path: &str) -> std::result::Result<Option<f64>, (String, String)> {
    let mut at = summary;
    let mut rest = path;
    let mut done = String::new();
    while !rest.is_empty() {
        let (here, after) = match at {
            Value::Object(map) => {
                let (key, after) = rest.split_once('.').unwrap_or((rest, ""));
                let Some(next) = map.get(key) else {
                    let keys: Vec<&str> = map.keys().map(String::as_str).collect();
                    let of = if done.is_empty() {
                        "the summary".into()
                    } else {
                        format!("`{}`", done.trim_end_matches('.'))
                    };
                    return Err((
                        format!("{of} has no `{key}`"),
                        weir_model::error::did_you_mean(key, &keys),
                    ));
                };
                done += &format!("{key}.");
                (next, after)
            }
            Value::Array(items) => {
                // Names may have dots: the longest that fits.
                let name = |v: &Value| match (v.get("name"), v.get("cpu")) {
                    (_, Some(cpu)) => cpu.to_string(),
                    (Some(Value::String(s)), _) => s.clone(),
                    _ => String::new(),
                };
                let fits = |n: &str| rest == n || rest.strip_prefix(n).is_some_and(|r| r.starts_with('.'));
                let best = items.iter().filter(|v| fits(&name(v))).max_by_key(|v| name(v).len());
                let Some(next) = best else {
                    let names: Vec<String> = items.iter().map(name).collect();
                    let names: Vec<&str> = names.iter().map(String::as_str).take(50).collect();
                    let word = rest.split('.').next().unwrap_or(rest);
                    return Err((
                        format!("`{}` has no `{word}`", done.trim_end_matches('.')),
                        weir_model::error::did_you_mean(word, &names),
                    ));
                };
                let n = name(next).len();
                done += &rest[..n];
                done.push('.');
                (next, rest[n..].trim_start_matches('.'))
            }
            _ => {
                return Err((
                    format!("`{}` is a value by itself", done.trim_end_matches('.')),
                    format!("leave out `.{rest}`"),
                ));
            }
        };
        at = here;
        rest = after;
    }
    match at {
        Value::Number(n) => Ok(n.as_f64()),
        Value::Bool(b) => Ok(Some(f64::from(u8::from(*b)))),
        Value::Array(items) => Ok(Some(items.len() as f64)),
        Value::Null => Ok(None),
        Value::Object(map) => {
            let keys: Vec<&str> = map.keys().map(String::as_str).collect();
            Err((format!("`{path}` is not one value"), format!("add one of: {}", keys.join(", "))))
        }
        Value::String(_) => Err((format!("`{path}` is a text"), "name a number".into())),
    }
}

/// Whether the values of a metric are times.
pub(crate) fn is_time(metric: &str) -> bool {
    metric.split('.').any(|part| part.ends_with("_ns"))
}

/// Times by their unit, numbers as they are.
pub(crate) fn show(metric: &str, v: f64) -> String {
    if is_time(metric) && v >= 0.0 {
        return duration(v.round() as u64);
    }
    if v == v.trunc() && v.abs() < 1e15 { format!("{v:.0}") } else { format!("{v:.3}") }
}

impl GuardResult {
    /// A line for each check, and why some did not pass.
    pub fn table(&self, screen: &Screen) -> String {
        let mut columns = Columns::new(["check", "value", "base", "bound", ""]);
        for c in &self.checks {
            let one = |v: Option<f64>| Cell::from(v.map_or_else(|| "-".into(), |v| show(&c.metric, v)));
            let word = if c.passed { Cell::from("ok") } else { Cell::new("FAILED", Tone::Bad) };
            columns.row([Cell::from(&c.name), one(c.value), one(c.base), Cell::from(&c.bound), word]);
        }
        let mut text = columns.render(0, screen);
        for c in self.checks.iter().filter(|c| !c.passed) {
            let _ = writeln!(
                text,
                "\n{} failed: {}, the {} of {}: {}",
                c.name,
                c.metric,
                over(c.over),
                plural(c.seeds, "seed"),
                c.why
            );
        }
        screen.fold(&text)
    }

    /// For continuous integration: JUnit's XML.
    pub fn junit(&self) -> String {
        let failures = self.checks.iter().filter(|c| !c.passed).count();
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(
            text,
            "<testsuites>\n  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">",
            xml(&self.name),
            self.checks.len()
        );
        for c in &self.checks {
            let _ = write!(text, "    <testcase classname=\"{}\" name=\"{}\"", xml(&self.name), xml(&c.name));
            if c.passed {
                text.push_str("/>\n");
            } else {
                let _ = writeln!(
                    text,
                    ">\n      <failure message=\"{}\">{} of {} under {}: {}</failure>\n    </testcase>",
                    xml(&c.why),
                    xml(over(c.over)),
                    xml(&c.metric),
                    xml(&c.topology),
                    xml(&c.why)
                );
            }
        }
        text.push_str("  </testsuite>\n</testsuites>\n");
        text
    }
}

fn over(over: Over) -> &'static str {
    match over {
        Over::Mean => "mean",
        Over::Min => "smallest",
        Over::Max => "largest",
    }
}

fn xml(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_by_their_paths() {
        let s = serde_json::json!({
            "totals": { "preemptions": 7 },
            "groups": [{ "name": "web", "wakeup_latency_ns": { "p99": 3, "max": null } }, { "name": "web.db", "jobs": 4 }],
            "cpus": [{ "cpu": 0, "name": "", "busy_ns": 9 }],
            "faults": [], "interrupted": false
        });
        let of = |p: &str| metric(&s, p);
        assert_eq!(of("totals.preemptions"), Ok(Some(7.0)));
        assert_eq!(of("groups.web.wakeup_latency_ns.p99"), Ok(Some(3.0)));
        assert_eq!(of("groups.web.wakeup_latency_ns.max"), Ok(None));
        assert_eq!(of("groups.web.db.jobs"), Ok(Some(4.0)));
        assert_eq!(of("cpus.0.busy_ns"), Ok(Some(9.0)));
        assert_eq!((of("faults"), of("interrupted")), (Ok(Some(0.0)), Ok(Some(0.0))));
        for (path, words) in [
            ("totals.preemption", "has no `preemption`"),
            ("groups.wep.jobs", "has no `wep`"),
            ("totals", "is not one value"),
            ("totals.preemptions.x", "is a value by itself"),
        ] {
            assert!(of(path).expect_err("wrong").0.contains(words), "{path}");
        }
    }

    #[test]
    fn text_in_xml() {
        assert_eq!(xml("a<b>&\"\u{1}"), "a&lt;b&gt;&amp;&quot; ");
    }
}
