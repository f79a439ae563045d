// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Runweir's own workload files (TOML): periodic, sporadic and programmed tasks, and machine events.
//!
//! `docs/workload-files.md` describes the format.

mod criticality;
mod dag;
mod fairness;
mod gang;
mod guest;
mod profile;
mod steps;
mod table;
mod times;

use std::collections::{BTreeMap, BTreeSet};

use self::steps::{Scope, program};
use self::table::Table;
use super::build::{Builder, Kind, Limits, MAX_FILE, MAX_TASKS, repeat, spins_in_place};
use super::gang::Foreign;
use super::rtapp::{DEADLINE_PRIORITY, IDLE_PRIORITY};
use super::{Arrivals, Dist, OnMiss, Op, Policy, Protocol, Shape, TaskSpec, Timing, Workload, units};
use crate::document::{self, Source};
use crate::error::{Error, ErrorKind, did_you_mean};
use crate::machine::MachineEvent;
use crate::units::{SIZE, TIME};

const TOP: &[&str] = &[
    "name",
    "description",
    "duration",
    "task",
    "machine_event",
    "barriers",
    "channels",
    "mutexes",
    "dag",
    "gang",
    "group",
    "guest",
    "profile",
    "sample",
    "at",
    "rule",
];

const TASK: &[&str] = &[
    "name",
    "count",
    "group",
    "guest",
    "profile",
    "wait_profile",
    "start",
    "stagger",
    "template",
    "policy",
    "nice",
    "priority",
    "cpus",
    "isa",
    "period",
    "wcet",
    "criticality",
    "wcet_hi",
    "weight",
    "slice",
    "util_min",
    "util_max",
    "memory",
    "memory_bound",
    "arrivals",
    "acet",
    "deviation",
    "run",
    "deadline",
    "offset",
    "jitter",
    "sporadic",
    "jobs",
    "blocking",
    "on_miss",
    "loop",
    "program",
];

const MACHINE_EVENT: &[&str] = &["at", "online", "offline", "cpu", "frequency"];

/// Keys that make no sense without a period.
const PERIODIC_ONLY: &[&str] = &[
    "wcet",
    "criticality",
    "wcet_hi",
    "deadline",
    "offset",
    "jitter",
    "sporadic",
    "jobs",
    "blocking",
    "on_miss",
];

/// Reads a file that a workload names, by a path relative to the workload's.
pub(crate) type Files<'a> = &'a dyn Fn(&str) -> std::io::Result<Vec<u8>>;

/// Read a workload file.
pub(crate) fn parse(
    name: &str,
    file: &str,
    text: &str,
    limits: Limits,
    files: Files<'_>,
) -> Result<Workload, Error> {
    let source = Source { name: file, text, kind: ErrorKind::Workload };
    let document = source.parse()?;
    let root = document::Table::new(source, document.get_ref(), 0..0, "the file", TOP)?;
    let mut scenario = crate::scenario::tables(source, &root)?;
    let root = Table::new(source, root);
    let title = root.string("name", "\"video\"")?.unwrap_or(name);
    let mut builder = Builder::new(title, limits);
    if !scenario.is_empty() {
        scenario.name = title.to_string();
        builder.workload.scenario = Some(scenario);
    }
    if let Some(text) = root.get("description") {
        text.str("\"what it shows\"")?;
    }
    builder.workload.duration_ns = root.ns("duration")?;
    if builder.workload.duration_ns == Some(0) {
        let help = "write how long, such as \"2s\", or leave it out";
        return Err(root.wrong("duration", "a duration of 0", help));
    }
    let guests = root.tables("guest", "[[guest]]", guest::KEYS)?;
    guest::check(&root, &guests)?;
    inside(&mut builder, &root, &guests, None, limits, files)?;
    for table in root.tables("machine_event", "[[machine_event]]", MACHINE_EVENT)? {
        machine_event(&mut builder, &table)?;
    }
    builder.finish()
}

/// The tasks, graphs, gangs and guests of the machine, or of one guest.
fn inside(
    builder: &mut Builder,
    root: &Table<'_>,
    guests: &[Table<'_>],
    scope: Option<&str>,
    limits: Limits,
    files: Files<'_>,
) -> Result<(), Error> {
    declarations(builder, root)?;
    let declared = builder.workload.barriers.len();

    for table in root.tables("profile", "[[profile]]", profile::KEYS)? {
        let profile = profile::profile(&table, files)?;
        if builder.workload.profiles.iter().any(|p| p.name == profile.name) {
            let message = format!("two profiles are called `{}`", profile.name);
            return Err(table.wrong("name", message, "rename one of them"));
        }
        builder.workload.profiles.push(profile);
    }
    let tables = guest::those(root.tables("task", "[[task]]", TASK)?, scope)?;
    let graphs = guest::those(root.tables("dag", "[[dag]]", dag::KEYS)?, scope)?;
    fairness::groups(builder, &root.tables("group", "[[group]]", fairness::KEYS)?)?;
    let machines = guest::those(guests.to_vec(), scope)?;
    if tables.is_empty() && graphs.is_empty() && machines.is_empty() {
        let help = "add `[[task]]` with `name = \"a\"` and `program = [\"run 2ms\", \"sleep 8ms\"]`";
        return Err(root.error("the file describes no task", help));
    }
    // Names and counts first, as programs may fork tasks that come later.
    let mut heads = Vec::with_capacity(tables.len());
    let mut first: BTreeMap<&str, u32> = BTreeMap::new();
    let mut total = 0u64;
    for table in &tables {
        let head = Head::read(table)?;
        if first.insert(head.name, total as u32).is_some() {
            return Err(table.wrong(
                "name",
                format!("two tasks are called `{}`", head.name),
                "rename one of them",
            ));
        }
        total += head.count;
        builder
            .room_for_tasks(total)
            .map_err(|e| e.at(root.source.name, root.source.text, table.place("count")))?;
        heads.push(head);
    }
    let mut uses = vec![0u64; declared];
    for (table, head) in tables.iter().zip(&heads) {
        task(builder, table, head, &first, declared, &mut uses, files)?;
    }
    for (i, users) in uses.iter().enumerate().skip(declared) {
        builder.workload.barriers[i].1 = *users as u32;
    }
    for table in &graphs {
        dag::dag(builder, table)?;
    }
    let mut names: Vec<&str> = builder.workload.tasks.iter().map(|t| t.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|w| w[0] == w[1] && !graphs.is_empty()) {
        let message = format!("two tasks are called `{}`", twice[0]);
        return Err(graphs[0].error(message, "rename the graph, its node or the task"));
    }
    if graphs.is_empty() && machines.is_empty() && heads.iter().all(|h| h.template) {
        return Err(
            tables[0].error("all tasks are templates, so nothing would start", "remove one `template`")
        );
    }
    for table in &machines {
        guest::guest(builder, root, guests, table, limits, files)?;
    }
    gang::gangs(builder, &guest::those(root.tables("gang", "[[gang]]", gang::KEYS)?, scope)?, files)?;
    if let Some((i, why)) = builder.workload.foreign_request() {
        let task = &builder.workload.tasks[i].name;
        let (message, help) = match why {
            Foreign::NoGang => (
                format!(
                    "task `{task}` has a step of gangs (`phase`, `group`, `merge` or `split`), but belongs to no gang"
                ),
                "add `[[gang]]` with `group` and `manifest`".to_string(),
            ),
            Foreign::Phase(phase, n) => (
                format!("task `{task}` requests phase {phase}, but the manifest of its gang has {n}"),
                format!("write a phase below {n}: they are numbered from 0"),
            ),
            Foreign::Groups(way) => (
                format!("task `{task}` has a step of groups, but its gang has `way = \"{}\"`", way.name()),
                "leave `way` out: groups need slots that each CPU begins by its own clock".to_string(),
            ),
        };
        return Err(root.error(message, help));
    }
    Ok(())
}

/// `channels` and `barriers`: objects with a size.
fn declarations(builder: &mut Builder, root: &Table<'_>) -> Result<(), Error> {
    for channel in
        root.get("channels").map(|v| v.entries("{ requests = \"4KiB\" }")).transpose()?.unwrap_or_default()
    {
        // A bare number counts bytes.
        let capacity = if channel.is_int() { channel.int((0, 1 << 50))? } else { channel.quantity(SIZE)? };
        if capacity == 0 {
            let message = format!("channel `{}` holds nothing", channel.key);
            return Err(channel.error(message).help("give it at least 1 byte"));
        }
        let c = builder.object(Kind::Channel, channel.key);
        builder.workload.channels[c as usize].1 = capacity;
    }
    for mutex in
        root.get("mutexes").map(|v| v.entries("{ bus = \"inherit\" }")).transpose()?.unwrap_or_default()
    {
        let protocol = match mutex.str("\"inherit\"")? {
            "none" => Protocol::None,
            "inherit" => Protocol::Inherit,
            "ceiling" => Protocol::Ceiling,
            "pcp" => Protocol::Classic,
            "spin" => Protocol::Spin,
            word => {
                let help = did_you_mean(word, &["none", "inherit", "ceiling", "pcp", "spin"]);
                return Err(mutex.error(format!("unknown protocol `{word}`")).help(help));
            }
        };
        let m = builder.object(Kind::Mutex, mutex.key) as usize;
        builder.workload.protocols.resize(m + 1, Protocol::None);
        builder.workload.protocols[m] = protocol;
    }
    for barrier in root.get("barriers").map(|v| v.entries("{ start = 9 }")).transpose()?.unwrap_or_default() {
        let size = barrier.int((1, MAX_TASKS))?;
        let b = builder.object(Kind::Barrier, barrier.key);
        builder.workload.barriers[b as usize].1 = size as u32;
    }
    Ok(())
}

/// What must be known of a task before programs are read.
struct Head<'t> {
    name: &'t str,
    count: u64,
    template: bool,
}

impl<'t> Head<'t> {
    fn read(table: &Table<'t>) -> Result<Self, Error> {
        let Some(name) = table.string("name", "\"worker\"")?.filter(|n| !n.is_empty()) else {
            return Err(table.error("a task has no name", "add `name = \"worker\"`"));
        };
        let count = table.count("count", 1, u64::from(u32::MAX))?.unwrap_or(1);
        let template = table.boolean("template")?.unwrap_or(false);
        if template && count > 1 {
            return Err(table.wrong(
                "count",
                "a template has no count",
                "remove `count`; fork it as often as needed",
            ));
        }
        for key in ["start", "stagger"] {
            if template && table.has(key) {
                return Err(table.wrong(
                    key,
                    format!("a template has no `{key}`"),
                    "begin its program with `sleep`",
                ));
            }
        }
        Ok(Self { name, count, template })
    }
}

/// Read one task and add its instances. `uses` counts the tasks that meet at each barrier; the first
/// `declared` barriers have their size already.
fn task(
    builder: &mut Builder,
    table: &Table<'_>,
    head: &Head<'_>,
    first: &BTreeMap<&str, u32>,
    declared: usize,
    uses: &mut Vec<u64>,
    files: Files<'_>,
) -> Result<(), Error> {
    let start = table.ns("start")?.unwrap_or(0);
    let stagger = table.ns("stagger")?.unwrap_or(0);
    let kind = policy_name(table)?;
    let real_time = matches!(kind, Policy::Fifo | Policy::RoundRobin);
    let wcet = table.ns("wcet")?;
    let scope = Scope { tasks: first, is_real_time: real_time, wcet };

    let mut body = match table.get("program") {
        Some(value) => program(table.source, builder, &scope, &value)?,
        None => Vec::new(),
    };
    let run = match computing(table, wcet)? {
        None => average(table, wcet)?,
        given => given,
    };
    if !body.is_empty() && run.is_some() {
        return Err(table.wrong("run", "`run` beside `program`", "write `run` as a step of the program"));
    }
    if body.is_empty() {
        let Some(run) = run.or(wcet.map(|ns| Op::Run { ns })) else {
            return Err(table.error(
                format!("task `{}` does nothing", head.name),
                "add `program = [\"run 2ms\", \"sleep 8ms\"]`, or `period` and `run`",
            ));
        };
        body.push(run);
    }
    let (ops, timing) = match table.ns("period")? {
        period if table.has("arrivals") => aperiodic(table, period, wcet, body, files)?,
        Some(period_ns) => periodic(table, period_ns, wcet, body)?,
        None => {
            if let Some(key) = PERIODIC_ONLY.iter().find(|k| table.has(k)) {
                return Err(table.wrong(key, format!("`{key}` needs a `period`"), "add `period = \"10ms\"`"));
            }
            (repeat(loop_count(table)?, body), None)
        }
    };
    if spins_in_place(&ops) {
        return Err(table.wrong(
            "program",
            format!("task `{}` loops for ever without computing or waiting", head.name),
            "add a `run`, `sleep` or `timer` to the loop",
        ));
    }
    let on_miss = on_miss(table)?;
    let (policy, priority) = priority(table, kind, timing)?;
    let mentioned: BTreeSet<u32> = ops
        .iter()
        .filter_map(|op| if let Op::Barrier { barrier } = op { Some(*barrier) } else { None })
        .collect();
    for barrier in mentioned {
        if head.template && barrier as usize >= declared {
            let name = &builder.workload.barriers[barrier as usize].0;
            let message =
                format!("the template meets others at the barrier `{name}`, whose size is not given");
            let help = format!("add `barriers = {{ {name} = 8 }}` at the top of the file");
            return Err(table.wrong("program", message, help));
        }
        uses.resize(uses.len().max(barrier as usize + 1), 0);
        uses[barrier as usize] += head.count;
    }
    let isa = table.string("isa", "\"accel\"")?.filter(|i| *i != "native").map(str::to_string);
    let group = table.string("group", "\"video\"")?.unwrap_or(head.name).to_string();
    let cpus = table.cpus("cpus")?;
    let shared = builder
        .program(ops)
        .map_err(|e| e.at(table.source.name, table.source.text, table.place("program")))?;
    let end = start.saturating_add(stagger.saturating_mul(head.count));
    if end > units::MAX_NS {
        return Err(table.wrong(
            "stagger",
            "the last instance starts after the end of the clock",
            "lower `stagger`",
        ));
    }
    let blocking = table.ns("blocking")?.filter(|ns| *ns > 0);
    let criticality = criticality::read(table, timing)?;
    let fair = fairness::read(table, builder, &group)?;
    let first_index = builder.workload.tasks.len() as u32;
    profile::assign(&mut builder.workload, table, first_index, first_index + head.count as u32)?;
    for i in 0..head.count {
        let index = builder.task(TaskSpec {
            name: if head.count == 1 { head.name.to_string() } else { format!("{}-{i}", head.name) },
            group: group.clone(),
            start_ns: (!head.template).then_some(start + i * stagger),
            policy,
            priority,
            cpus: cpus.clone(),
            isa: isa.clone(),
            timing,
            on_miss,
            program: shared.clone(),
        })?;
        builder.workload.blocking.extend(blocking.map(|ns| (index, ns)));
        builder.workload.criticality.extend(criticality.map(|c| (index, c)));
        builder.workload.fairness.tasks.extend(fair.map(|f| (index, f)));
    }
    Ok(())
}

/// `run = "2ms"`, `"1ms..2ms"` or a distribution.
fn computing(table: &Table<'_>, wcet: Option<u64>) -> Result<Option<Op>, Error> {
    let Some(text) = table.string("run", "\"2ms\"")? else { return Ok(None) };
    let words: Vec<&str> = text.split_whitespace().collect();
    let run = times::computing(&words, wcet);
    run.map(Some).map_err(|r| table.wrong("run", format!("run: {}", r.message), r.help))
}

/// `acet = "1ms"` with `deviation` and `wcet`: normally distributed, cut at the WCET.
fn average(table: &Table<'_>, wcet: Option<u64>) -> Result<Option<Op>, Error> {
    let deviation_ns = table.ns("deviation")?;
    let Some(mean_ns) = table.ns("acet")? else {
        return match deviation_ns {
            None => Ok(None),
            Some(_) => Err(table.wrong("deviation", "`deviation` needs an `acet`", "add `acet = \"1ms\"`")),
        };
    };
    let Some(max_ns) = wcet.filter(|w| *w >= mean_ns && mean_ns > 0) else {
        let help = "add the longest time, at least as long, such as `wcet = \"2ms\"`";
        return Err(table.wrong("acet", "`acet` needs a `wcet` that is not shorter", help));
    };
    if table.has("program") {
        let help = "write `run normal MEAN DEVIATION LONGEST` as a step of the program";
        return Err(table.wrong("acet", "`acet` beside `program`", help));
    }
    Ok(Some(match deviation_ns.unwrap_or(0) {
        0 => Op::Run { ns: mean_ns },
        deviation_ns => {
            let shape = Shape::Normal { mean_ns, deviation_ns };
            Op::RunDrawn { dist: Dist { shape, min_ns: 1, max_ns, clamp: false }.into() }
        }
    }))
}

/// `loop = 10` or `"forever"`; once without it.
fn loop_count(table: &Table<'_>) -> Result<Option<u64>, Error> {
    if let Some(word) = table.get("loop").filter(document::Value::is_str) {
        return match word.str("\"forever\"")? {
            "forever" => Ok(None),
            other => {
                Err(word.error(format!("`loop` cannot be `{other}`")).help("write a number or \"forever\""))
            }
        };
    }
    Ok(Some(table.count("loop", 1, 1_000_000_000_000)?.unwrap_or(1)))
}

/// The program and timing of a task with a period: each job runs the body.
fn periodic(
    table: &Table<'_>,
    period_ns: u64,
    wcet: Option<u64>,
    body: Vec<Op>,
) -> Result<(Vec<Op>, Option<Timing>), Error> {
    if period_ns == 0 {
        return Err(table.wrong("period", "a period of 0", "write a period, such as \"10ms\""));
    }
    if table.has("loop") {
        return Err(table.wrong(
            "loop",
            "`loop` beside `period`",
            "write `jobs = 100` to end after some jobs",
        ));
    }
    let deadline_ns = table.ns("deadline")?.unwrap_or(period_ns);
    if deadline_ns == 0 {
        return Err(table.wrong(
            "deadline",
            "a deadline of 0",
            "write how long after its release a job must end",
        ));
    }
    let computing = most_computing(&body);
    let wcet_ns = wcet.unwrap_or(computing);
    let most = table.ns("wcet_hi")?.or(wcet);
    if most.is_some_and(|w| w < computing) && !table.has("program") {
        return Err(table.wrong(
            "wcet",
            "`wcet` is shorter than the longest `run`",
            "raise it, or leave it out",
        ));
    }
    let jobs = count_of_jobs(table)?;
    let mut ops = vec![Op::Release {
        offset_ns: table.ns("offset")?.unwrap_or(0),
        period_ns,
        deadline_ns,
        jitter_ns: table.ns("jitter")?.unwrap_or(0),
        extra_ns: table.ns("sporadic")?.unwrap_or(0),
    }];
    ops.extend(body);
    Ok((repeat(jobs, ops), Some(Timing { period_ns, deadline_ns, wcet_ns })))
}

/// How many jobs; without, they never end.
fn count_of_jobs(table: &Table<'_>) -> Result<Option<u64>, Error> {
    table.count("jobs", 1, 1_000_000_000_000)
}

/// The program and timing of a task whose jobs arrive at drawn or recorded times. Without a deadline it has
/// none; `period` is published with a deadline, the mean gap where it is left out.
fn aperiodic(
    table: &Table<'_>,
    period: Option<u64>,
    wcet: Option<u64>,
    body: Vec<Op>,
    files: Files<'_>,
) -> Result<(Vec<Op>, Option<Timing>), Error> {
    if let Some(key) = ["loop", "sporadic"].into_iter().find(|k| table.has(k)) {
        return Err(table.wrong(key, format!("`{key}` beside `arrivals`"), format!("remove `{key}`")));
    }
    let arrivals = arrivals(table, files)?;
    let listed = if let Arrivals::List(times) = &arrivals { Some(times.len() as u64) } else { None };
    let deadline = table.ns("deadline")?;
    if deadline == Some(0) {
        return Err(table.wrong(
            "deadline",
            "a deadline of 0",
            "write how long after its arrival a job must end",
        ));
    }
    if deadline.is_none() && table.has("on_miss") {
        return Err(table.wrong("on_miss", "`on_miss` needs a `deadline`", "add `deadline = \"10ms\"`"));
    }
    let period_ns = period.unwrap_or_else(|| arrivals.mean_ns());
    let wcet_ns = wcet.unwrap_or_else(|| most_computing(&body));
    let timing = deadline.map(|deadline_ns| Timing { period_ns, deadline_ns, wcet_ns });
    let mut ops = vec![Op::Arrive {
        arrivals: arrivals.into(),
        offset_ns: table.ns("offset")?.unwrap_or(0),
        period_ns,
        deadline_ns: deadline.unwrap_or(u64::MAX),
        jitter_ns: table.ns("jitter")?.unwrap_or(0),
    }];
    ops.extend(body);
    let jobs = count_of_jobs(table)?;
    let jobs = listed.map_or(jobs, |n| Some(jobs.unwrap_or(n).min(n)));
    Ok((repeat(jobs, ops), timing))
}

/// `arrivals = "poisson 10ms"`, a file of recorded times, or a list of them.
fn arrivals(table: &Table<'_>, files: Files<'_>) -> Result<Arrivals, Error> {
    let value = table.get("arrivals").expect("the caller has seen it");
    let mut times = Vec::new();
    if value.is_list() {
        for item in value.list("[\"1ms\", \"2.5ms\"]")? {
            times.push(item.quantity(TIME)?);
        }
    } else {
        let text = value.str("\"poisson 10ms\"")?;
        let Some(path) = text.strip_prefix("file ").map(str::trim) else {
            return times::arrivals(text).map_err(|r| table.wrong("arrivals", r.message, r.help));
        };
        let bytes = files(path).map_err(|e| {
            let help = "name a file in the folder of the workload, one time a line";
            table.wrong("arrivals", format!("`{path}` cannot be read: {e}"), help)
        })?;
        if bytes.len() > MAX_FILE {
            return Err(table.wrong("arrivals", format!("`{path}` is too large"), "64 MiB are possible"));
        }
        let text = String::from_utf8_lossy(&bytes);
        times = times::recorded(&text)
            .map_err(|r| table.wrong("arrivals", format!("`{path}`, {}", r.message), r.help))?;
    }
    if let Some(at) = times.windows(2).position(|w| w[0] > w[1]) {
        let message = format!("arrival {} is earlier than its predecessor", at + 2);
        return Err(table.wrong("arrivals", message, "sort the times"));
    }
    if times.is_empty() || times.last().is_some_and(|&t| t > units::MAX_NS) {
        let help = "write at least one time, and none beyond 10000 hours";
        return Err(table.wrong("arrivals", "no arrivals, or too late ones", help));
    }
    Ok(Arrivals::List(times.into()))
}

/// Most computing of a body, counting finite loops.
fn most_computing(body: &[Op]) -> u64 {
    let mut sums = vec![0u64];
    let mut counts = Vec::new();
    for op in body {
        let add = match op {
            Op::Run { ns } | Op::Runtime { ns } => *ns,
            Op::RunBetween { max_ns, .. } => *max_ns,
            Op::RunDrawn { dist } => dist.max_ns,
            Op::Loop { count } => {
                counts.push(count.unwrap_or(1));
                sums.push(0);
                0
            }
            Op::LoopEnd => {
                let inner = sums.pop().unwrap_or(0);
                inner.saturating_mul(counts.pop().unwrap_or(1))
            }
            _ => 0,
        };
        if let Some(top) = sums.last_mut() {
            *top = top.saturating_add(add);
        }
    }
    sums.first().copied().unwrap_or(0)
}

/// `on_miss = "abort"`: what becomes of late jobs.
fn on_miss(table: &Table<'_>) -> Result<OnMiss, Error> {
    Ok(match table.string("on_miss", "\"abort\"")? {
        None | Some("continue") => OnMiss::Continue,
        Some("abort") => OnMiss::Abort,
        Some("skip") => OnMiss::Skip,
        Some(word) => {
            let help = did_you_mean(word, &["continue", "abort", "skip"]);
            return Err(table.wrong("on_miss", format!("`on_miss` cannot be `{word}`"), help));
        }
    })
}

/// The policy by name; the parameters of deadline come later.
fn policy_name(table: &Table<'_>) -> Result<Policy, Error> {
    const NAMES: &[&str] = &["other", "batch", "idle", "fifo", "rr", "deadline"];
    Ok(match table.string("policy", "\"fifo\"")?.unwrap_or("other") {
        "other" => Policy::Other,
        "batch" => Policy::Batch,
        "idle" => Policy::Idle,
        "fifo" => Policy::Fifo,
        "rr" => Policy::RoundRobin,
        "deadline" => Policy::Deadline { runtime_ns: 0, deadline_ns: 0, period_ns: 0 },
        word => {
            return Err(table.wrong("policy", format!("unknown policy `{word}`"), did_you_mean(word, NAMES)));
        }
    })
}

/// Policy with its parameters, and priority on the common scale.
fn priority(table: &Table<'_>, policy: Policy, timing: Option<Timing>) -> Result<(Policy, i32), Error> {
    let real_time = matches!(policy, Policy::Fifo | Policy::RoundRobin);
    if real_time && table.has("nice") {
        return Err(table.wrong("nice", "`nice` is for fair tasks", "use `priority`, or remove `policy`"));
    }
    if !real_time && table.has("priority") {
        let help = "use `nice`, or add `policy = \"fifo\"`";
        return Err(table.wrong("priority", "`priority` is for tasks of policy fifo or rr", help));
    }
    let nice = table.signed("nice", -20, 19)?.unwrap_or(0) as i32;
    Ok(match policy {
        Policy::Other | Policy::Batch => (policy, -nice),
        Policy::Idle => (policy, IDLE_PRIORITY),
        Policy::Fifo | Policy::RoundRobin => {
            (policy, 100 + table.count("priority", 1, 99)?.unwrap_or(10) as i32)
        }
        Policy::Deadline { .. } => match timing {
            Some(Timing { period_ns, deadline_ns, wcet_ns })
                if wcet_ns <= deadline_ns && deadline_ns <= period_ns =>
            {
                (Policy::Deadline { runtime_ns: wcet_ns, deadline_ns, period_ns }, DEADLINE_PRIORITY)
            }
            Some(_) => {
                let help = "make wcet the smallest and period the largest";
                return Err(table.wrong("policy", "policy deadline needs wcet <= deadline <= period", help));
            }
            None => {
                let help = "add `period` and `wcet`, or choose another policy";
                return Err(table.wrong("policy", "policy deadline needs a period", help));
            }
        },
    })
}

/// `at = "100ms"` with `online = 3`, `offline = 3`, or `cpu = 3` and `frequency = "1.2GHz"`.
fn machine_event(builder: &mut Builder, table: &Table<'_>) -> Result<(), Error> {
    let help = "write `online = 3`, `offline = 3`, or `cpu = 3` with `frequency = \"1.2GHz\"`";
    let Some(at) = table.ns("at")? else {
        return Err(table.error("a machine event has no time", "add `at = \"100ms\"`"));
    };
    let max = u64::from(weir_core::cpuset::MAX_CPUS) - 1;
    let cpu = |key: &'static str| table.count(key, 0, max).map(|c| c.map(|c| c as u32));
    let event = match (cpu("online")?, cpu("offline")?, cpu("cpu")?, table.hz("frequency")?) {
        (Some(c), None, None, None) => MachineEvent::Online(c),
        (None, Some(c), None, None) => MachineEvent::Offline(c),
        (None, None, Some(c), Some(hz)) if hz > 0 => MachineEvent::Frequency(c, hz),
        _ => {
            return Err(table.error("a machine event does exactly one thing", help));
        }
    };
    builder.workload.machine_events.push((at, event));
    Ok(())
}

#[cfg(test)]
mod tests;
