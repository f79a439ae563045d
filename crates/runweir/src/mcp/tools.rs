// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The tools: a schema for each, and the call of the library behind it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir::analyze::Question;
use weir::compare::PreparedComparison;
use weir::explain::parse_place;
use weir::fault::render;
use weir::{
    AnalyzeOptions, CheckOptions, CompareOptions, Explainer, OutDir, PreparedRun, RunOptions, Setting, Watch,
};

use weir_report::Screen;

use crate::fault::{Diag, Fault, Result};
use crate::units::{parse_duration, plural};
use crate::{catalogue, input};

pub const NAMES: [&str; 7] = ["run", "compare", "check", "analyze", "explain", "graph", "catalogue"];

/// Longest virtual time of a run, ns.
const LONGEST_NS: u64 = 60_000_000_000;
/// Longest answer, bytes.
const MAX_ANSWER: usize = 200_000;

/// Where tools work, and within what.
pub struct Toolbox {
    pub scratch: PathBuf,
    pub allowed: Vec<PathBuf>,
    pub limit: Duration,
}

/// Ends work when its time is over.
struct Limited {
    stop: AtomicBool,
    until: Instant,
}

impl Watch for Limited {
    fn stop(&self) -> &AtomicBool {
        if Instant::now() >= self.until {
            self.stop.store(true, Ordering::Relaxed);
        }
        &self.stop
    }

    fn at(&self, _: usize, _: u64, _: Option<u64>) {
        self.stop();
    }

    fn one(&self) {
        self.stop();
    }
}

/// A fault as text.
pub fn words(fault: &Fault) -> String {
    fault.diags.iter().map(|d| render(d, false, 100)).collect()
}

/// All tools, as the protocol lists them.
pub fn list() -> Vec<Value> {
    let text = |what: &str| json!({ "type": "string", "description": what });
    let topology = text("scheduler: a name of the catalogue, or the text of a topology (.weir)");
    let machine =
        text("machine: a preset such as smp-8, a name of the catalogue, or the text of a TOML file");
    let workload =
        text("workload: a name, a generator such as hackbench:groups=2,loops=10, or the text of a TOML file");
    let duration = text("virtual time at most, such as 500ms; endless workloads need it");
    let costs = text("costs of scheduling: default or zero");
    let seed = json!({ "type": "integer", "minimum": 0, "description": "seed of random numbers; default 1" });
    let set = json!({ "type": "array", "items": { "type": "string" }, "description": "parameters: component.param=value" });
    let tool = |name: &str, title: &str, what: &str, properties: Value, required: &[&str]| {
        json!({
            "name": name, "title": title, "description": what,
            "inputSchema": { "type": "object", "properties": properties, "required": required },
            "annotations": { "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false },
        })
    };
    let setting = |more: Value| {
        let mut all = json!({
            "machine": machine, "workload": workload, "duration": duration, "costs": costs, "seed": seed, "set": set,
        });
        if let (Some(all), Some(more)) = (all.as_object_mut(), more.as_object()) {
            all.extend(more.clone());
        }
        all
    };
    vec![
        tool(
            "run",
            "Run a workload under a scheduler",
            "Simulates, and returns totals, response times and wake-up latencies of the groups, and how time was spent. Deterministic.",
            setting(json!({ "topology": topology })),
            &["topology", "machine", "workload"],
        ),
        tool(
            "compare",
            "Compare schedulers",
            "Runs the same workload under several schedulers and seeds, and returns a table; * marks certain differences.",
            setting(json!({
                "topologies": { "type": "array", "items": topology, "minItems": 1, "maxItems": 16 },
                "seeds": { "type": "integer", "minimum": 1, "maximum": 100 },
            })),
            &["topologies", "machine", "workload"],
        ),
        tool(
            "check",
            "Check a topology",
            "Finds errors and warnings of a topology, with line and column, without running it.",
            json!({ "topology": topology, "machine": machine, "set": set }),
            &["topology"],
        ),
        tool(
            "analyze",
            "Analyze contention or schedulability",
            "Says which lock or component limits a topology and what to change; or, with schedulability, which task sets meet their deadlines.",
            setting(json!({ "topology": topology, "schedulability": { "type": "boolean" } })),
            &["machine", "workload"],
        ),
        tool(
            "explain",
            "Explain a wait",
            "Runs, and says why a task waited: the chain of causes. `place` is task@time, such as web@12ms; without it, the longest waits.",
            setting(json!({
                "topology": topology, "place": text("web@12ms"),
                "worst": { "type": "integer", "minimum": 1, "maximum": 50, "description": "without place: how many; default 5" },
            })),
            &["topology", "machine", "workload"],
        ),
        tool(
            "graph",
            "Draw a topology",
            "The wiring of a topology as Mermaid text.",
            json!({ "topology": topology, "machine": machine, "set": set }),
            &["topology"],
        ),
        tool(
            "catalogue",
            "List or show what there is",
            "Lists topologies, machines, workloads or components, each with a sentence; with a name, the text of one (the manual of a component).",
            json!({
                "kind": { "type": "string", "enum": ["topologies", "machines", "workloads", "components"] },
                "name": text("show this one in full"),
            }),
            &["kind"],
        ),
    ]
}

/// Remarks as lines of an answer.
fn said(diags: &[Diag]) -> String {
    diags.iter().map(|d| format!("warning: {d}\n")).collect()
}

fn wrong(what: impl Into<String>, help: impl Into<String>) -> Fault {
    Fault::user(what, help)
}

/// Refuses arguments that the tool does not have: one that is passed over in silence would be believed to have had an effect.
fn known(tool: &str, arguments: &Value) -> Result<()> {
    let tools = list();
    let schema = tools.iter().find(|t| t["name"] == tool).map(|t| &t["inputSchema"]["properties"]);
    let names: Vec<&str> =
        schema.and_then(Value::as_object).into_iter().flatten().map(|p| p.0.as_str()).collect();
    let Some(given) = arguments.as_object() else {
        return Err(wrong(
            format!("the arguments of `{tool}` are {arguments}"),
            format!("give an object with: {}", names.join(", ")),
        ));
    };
    match given.keys().find(|k| !names.contains(&k.as_str())) {
        None => Ok(()),
        Some(unknown) => Err(wrong(
            format!("tool `{tool}` has no argument `{}`", unknown.escape_debug()),
            format!("it has: {}", names.join(", ")),
        )),
    }
}

impl Toolbox {
    /// Do what a tool does.
    pub fn call(&self, name: &str, arguments: &Value) -> Result<String> {
        let dir = tempfile::tempdir_in(&self.scratch).map_err(|e| {
            Fault::system(format!("cannot make a temporary folder: {e}"), "see whether TMPDIR is full")
        })?;
        known(name, arguments)?;
        let ask = Ask { toolbox: self, arguments, dir: dir.path().into() };
        let watch = Limited { stop: AtomicBool::new(false), until: Instant::now() + self.limit };
        let mut answer = ask.call(name, &watch)?;
        if watch.stop.load(Ordering::Relaxed) {
            return Err(Fault::system(
                format!("the work took longer than {} s and was ended", self.limit.as_secs()),
                "shorten the duration or the workload; --time-limit of `runweir mcp` sets the limit",
            ));
        }
        if answer.len() > MAX_ANSWER {
            let cut = (0..=MAX_ANSWER).rev().find(|i| answer.is_char_boundary(*i)).unwrap_or(0);
            answer.truncate(cut);
            answer += "\n… cut: the answer is too long\n";
        }
        Ok(answer)
    }
}

/// A call under way.
struct Ask<'a> {
    toolbox: &'a Toolbox,
    arguments: &'a Value,
    dir: PathBuf,
}

impl Ask<'_> {
    fn text(&self, key: &str) -> Result<Option<&str>> {
        match &self.arguments[key] {
            Value::Null => Ok(None),
            Value::String(s) => Ok(Some(s)),
            other => Err(wrong(format!("`{key}` is {other}"), "give a string")),
        }
    }

    fn number(&self, key: &str, default: u64) -> Result<u64> {
        match &self.arguments[key] {
            Value::Null => Ok(default),
            n => {
                n.as_u64().ok_or_else(|| wrong(format!("`{key}` is {n}"), "give a whole number of 0 or more"))
            }
        }
    }

    fn list(&self, key: &str) -> Result<Vec<&str>> {
        match &self.arguments[key] {
            Value::Null => Ok(Vec::new()),
            Value::Array(items) => items
                .iter()
                .map(|v| {
                    v.as_str().ok_or_else(|| wrong(format!("`{key}` has {v}"), "give a list of strings"))
                })
                .collect(),
            other => Err(wrong(format!("`{key}` is {other}"), "give a list of strings")),
        }
    }

    /// A name as it is, a text as a file, a path where it is allowed.
    fn place(&self, what: &str, stem: &str, ending: &str, is_text: bool) -> Result<String> {
        if is_text {
            let path = self.dir.join(format!("{stem}.{ending}"));
            std::fs::write(&path, what).map_err(|e| {
                Fault::system(format!("cannot write a temporary file: {e}"), "see whether TMPDIR is full")
            })?;
            return Ok(path.to_string_lossy().into_owned());
        }
        if !input::is_path(what) || what.contains(':') {
            return Ok(what.into());
        }
        let allowed = |p: &Path| {
            p.canonicalize().is_ok_and(|p| self.toolbox.allowed.iter().any(|dir| p.starts_with(dir)))
        };
        let path = Path::new(what);
        // A name that is wrong within such a folder is reported by whoever reads it.
        if allowed(path) || (!path.exists() && path.parent().is_some_and(allowed)) {
            return Ok(what.into());
        }
        Err(wrong(
            format!("`{}` is a file outside of what this server may read", what.escape_debug()),
            "give the text itself, or a name of the catalogue; `runweir mcp --allow DIR` lets it read a folder",
        ))
    }

    fn topology(&self, what: &str, stem: &str) -> Result<String> {
        if what == "-" {
            return Err(wrong("`-` is not a topology here", "give a name or the text"));
        }
        self.place(what, stem, "weir", what.contains("->") || what.contains('\n'))
    }

    fn toml(&self, key: &str) -> Result<Option<String>> {
        let Some(what) = self.text(key)? else { return Ok(None) };
        let is_text =
            what.contains('\n') || (what.contains('=') && what.contains('[') && !what.contains(':'));
        self.place(what, key, "toml", is_text).map(Some)
    }

    fn setting(&self) -> Result<Setting> {
        let duration_ns = match self.text("duration")? {
            None => None,
            Some(t) => {
                Some(parse_duration(t).map_err(|e| wrong(format!("duration: {e}"), "for example 500ms"))?)
            }
        };
        if duration_ns.is_some_and(|d| d > LONGEST_NS) {
            return Err(wrong("the duration is longer than a minute", "shorten it"));
        }
        let costs = self.text("costs")?;
        Ok(Setting {
            machine: self.toml("machine")?,
            workload: self.toml("workload")?,
            duration_ns,
            set: self.list("set")?.into_iter().map(str::to_string).collect(),
            costs: costs.map(|c| self.place(c, "costs", "toml", c.contains('\n'))).transpose()?,
            strict: false,
        })
    }

    fn options(&self) -> Result<RunOptions> {
        let topology =
            self.text("topology")?.ok_or_else(|| wrong("`topology` is missing", "give a name or a text"))?;
        Ok(RunOptions {
            setting: self.setting()?,
            topology: Some(self.topology(topology, "topology")?),
            seed: self.number("seed", 1)?,
            ..RunOptions::default()
        })
    }

    fn call(&self, tool: &str, watch: &dyn Watch) -> Result<String> {
        match tool {
            "run" => {
                let run = PreparedRun::new(&self.options()?)?;
                let done = run.run(None, watch)?;
                Ok(weir_report::table(&done.summary, &Screen::default()) + &said(&run.remarks(&done)))
            }
            "compare" => {
                let topologies: Result<Vec<String>> = self
                    .list("topologies")?
                    .iter()
                    .enumerate()
                    .map(|(i, t)| self.topology(t, &format!("topology-{}", i + 1)))
                    .collect();
                let options = CompareOptions {
                    setting: self.setting()?,
                    topologies: topologies?,
                    seed: self.number("seed", 1)?,
                    seeds: self.number("seeds", 3)?.clamp(1, 100) as u32,
                    ..CompareOptions::default()
                };
                let all = PreparedComparison::new(&options)?;
                let done = all.run(None, watch)?;
                let later: Vec<Diag> = done.warnings.iter().map(Diag::warning).collect();
                Ok(done.table(&Screen::default()) + &said(&all.warnings()) + &said(&later))
            }
            "check" => {
                let topology = self.text("topology")?.unwrap_or("");
                let options = CheckOptions {
                    topologies: vec![self.topology(topology, "topology")?],
                    machine: self.toml("machine")?,
                    set: self.list("set")?.into_iter().map(str::to_string).collect(),
                    with: Vec::new(),
                };
                let mut text = String::new();
                for checked in weir::check(&options)? {
                    let facts = checked.outcome?;
                    text += &format!(
                        "{} on {}: right; {}, {}, {} in a row, {}\n",
                        facts.topology,
                        facts.machine,
                        plural(facts.instances, "instance"),
                        plural(facts.pipes, "pipe"),
                        facts.depth,
                        plural(facts.cpus, "CPU")
                    );
                    text += &said(&facts.warnings.iter().map(weir::topology::diag).collect::<Vec<_>>());
                }
                Ok(text)
            }
            "analyze" => {
                let setting = self.setting()?;
                let topology = self.text("topology")?.map(|t| self.topology(t, "topology")).transpose()?;
                let question = if self.arguments["schedulability"] == true {
                    Question::Schedulability
                } else {
                    Question::Contention { share: 0.1, duration_ns: setting.duration_ns, jobs: None }
                };
                if matches!(question, Question::Contention { .. }) && topology.is_none() {
                    return Err(wrong(
                        "`topology` is missing",
                        "give a name or a text, or set schedulability",
                    ));
                }
                let options = AnalyzeOptions {
                    question,
                    topology,
                    machine: setting.machine,
                    workload: setting
                        .workload
                        .ok_or_else(|| wrong("`workload` is missing", "give a name or a text"))?,
                    set: setting.set,
                    costs: setting.costs.unwrap_or_else(|| "default".into()),
                    seed: self.number("seed", 1)?,
                    strict: false,
                };
                let done = weir::analyze(&options, watch)?;
                Ok(done.text(&Screen::default()) + &said(&done.warnings()))
            }
            "explain" => {
                let run = PreparedRun::new(&self.options()?)?;
                let place = self.text("place")?.map(parse_place).transpose()?;
                let folder = self.dir.join("run");
                let out = OutDir::prepare(&folder, false)?;
                let done = run.run(Some(&out), watch)?;
                out.commit()?;
                let asked = Explainer::open(&folder)?;
                let all = match place {
                    Some((task, at_ns)) => vec![asked.at(&task, at_ns)?],
                    None => asked.worst(self.number("worst", 5)?.clamp(1, 50) as usize, None)?,
                };
                let text: String = all.iter().map(|e| e.text.clone() + "\n").collect();
                Ok(text + &said(&run.remarks(&done)))
            }
            "graph" => {
                let topology = self.text("topology")?.unwrap_or("");
                let source = weir::topology::source(&self.topology(topology, "topology")?)?;
                let machine = match self.toml("machine")? {
                    Some(name) => weir::machine::resolve(&name)?,
                    None => weir::topology::default_machine(&source)?,
                };
                let set: Vec<String> = self.list("set")?.into_iter().map(str::to_string).collect();
                let sets = weir::topology::parse_sets(&set)?;
                let compiled = weir::topology::compile(&source, &machine.shape, &sets)?;
                Ok(weir_lang::draw::mermaid(&compiled.graph))
            }
            _ => self.catalogue(),
        }
    }

    fn catalogue(&self) -> Result<String> {
        let kind = self.text("kind")?.unwrap_or("");
        let name = self.text("name")?;
        if kind == "components" {
            let all = weir_core::catalog();
            return match name {
                Some(name) => match all.components.iter().find(|c| c.name == name) {
                    Some(c) => Ok(c.manual.clone()),
                    None => Err(wrong(
                        format!("there is no component `{name}`"),
                        "`catalogue` with kind components lists them",
                    )),
                },
                None => Ok(all.components.iter().map(|c| format!("{}: {}\n", c.name, c.summary)).collect()),
            };
        }
        let entries = match kind {
            "topologies" => catalogue::TOPOLOGIES,
            "machines" => catalogue::MACHINES,
            "workloads" => catalogue::WORKLOADS,
            other => {
                return Err(wrong(
                    format!("`kind` is `{other}`"),
                    "topologies, machines, workloads or components",
                ));
            }
        };
        match name {
            None => Ok(entries.iter().map(|e| format!("{}: {}\n", e.name, e.summary())).collect()),
            Some(name) => match catalogue::find(entries, name) {
                Some(entry) => Ok(entry.text.to_string()),
                None => {
                    let names: Vec<&str> = entries.iter().map(|e| e.name).collect();
                    Err(catalogue::unknown(kind.trim_end_matches('s'), kind, name, &names))
                }
            },
        }
    }
}
