// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The running kernel, over the control socket of `runweir live`: frames of it, switches and parameters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Query;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use tokio::sync::watch;
use weir::fault::{Blame, Fault, Result};
use weir::sheet::picture;
use weir::stage::{Frame, Spread, State};
use weir::topology::Includes;
use weir_core::{CpuSet, MachineShape};
use weir_lang::draw::{Scene, scene};
use weir_lang::{Edge, Graph, Loader, Node, NodeKind, Source};
use weir_linux::protocol::{File, Replace, Request, Switch, Switched};
use weir_linux::{Snapshot, client};

use crate::Shared;
use crate::api::compute;
use crate::runs::{Told, stream};

/// Time between two looks at the kernel.
const INTERVAL: Duration = Duration::from_millis(200);

pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/api/live", get(attach))
        .route("/api/live/switch", post(switch))
        .route("/api/live/set", post(set))
}

#[derive(Deserialize)]
struct Attach {
    socket: PathBuf,
}

async fn attach(Query(wish): Query<Attach>) -> Response {
    let (pictures, frames) = (watch::Sender::<Told>::new(None), watch::Sender::<Told>::new(None));
    let response = stream(vec![pictures.subscribe(), frames.subscribe()]);
    std::thread::spawn(move || observe(&wish.socket, &pictures, &frames));
    response
}

/// Look until nobody does, or the scheduler is gone.
fn observe(socket: &Path, pictures: &watch::Sender<Told>, frames: &watch::Sender<Told>) {
    let mut before: Option<Snapshot> = None;
    let mut drawn: Option<(Graph, Scene)> = None;
    while pictures.receiver_count() > 0 {
        let now = match client::status(socket) {
            Ok(now) => now,
            Err(e) => {
                let failed = serde_json::json!({ "message": e.message, "help": e.help });
                pictures.send_replace(Some(("failed", failed.to_string().into())));
                return;
            }
        };
        let same = before.as_ref().is_some_and(|b| {
            let params = b.instances.iter().map(|i| &i.params).eq(now.instances.iter().map(|i| &i.params));
            b.topology == now.topology && b.source == now.source && params
        });
        if !same || drawn.is_none() {
            let graph = graph(&now);
            let scene = scene(&graph, true);
            let attached = serde_json::json!({
                "picture": picture(&graph, &scene, None),
                "topology": now.topology,
                "cpus": now.nr_cpus,
                "source": now.source,
            });
            pictures.send_replace(Some(("attached", attached.to_string().into())));
            drawn = Some((graph, scene));
        }
        if let (Some((graph, scene)), Some(before)) = (&drawn, before.as_ref().filter(|_| same)) {
            let json = serde_json::to_string(&frame(before, &now, graph, scene)).unwrap_or_default();
            frames.send_replace(Some(("frame", json.into())));
        }
        before = Some(now);
        std::thread::sleep(INTERVAL);
    }
}

/// The name of a place in all blocks.
fn base(name: &str) -> String {
    name.split('/').map(|part| part.split('@').next().unwrap_or(part)).collect::<Vec<_>>().join("/")
}

fn cpus(list: &str) -> CpuSet {
    let mut set = CpuSet::new();
    for range in list.split(',').filter(|r| !r.is_empty()) {
        let (a, b) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(a), Ok(b)) = (a.trim().parse::<u32>(), b.trim().parse::<u32>()) {
            (a..=b.min(a.saturating_add(65_535))).for_each(|c| set.insert(c));
        }
    }
    set
}

/// The graph as the kernel has it.
fn graph(now: &Snapshot) -> Graph {
    let params: BTreeMap<&str, Vec<String>> = now
        .instances
        .iter()
        .map(|i| {
            (i.name.as_str(), i.params.iter().map(|(name, value)| format!("{name} = {value}")).collect())
        })
        .collect();
    let mut sites: BTreeMap<(String, String), u32> = BTreeMap::new();
    let mut site = |name: &str, component: &str| {
        let next = sites.len() as u32;
        *sites.entry((base(name), component.to_string())).or_insert(next)
    };
    let node = |kind, name: &str, component: &str, cpus: CpuSet, instance, site| {
        let info = weir_core::catalog().get(component);
        let local = name.rsplit('/').next().unwrap_or(name);
        Node {
            kind,
            name: name.into(),
            base: local.split('@').next().unwrap_or(local).into(),
            component: component.into(),
            class: info.map_or(weir_core::Class::Service, |i| i.class),
            params: params.get(name).cloned().unwrap_or_default(),
            asks: info.map_or_else(Vec::new, |i| i.asks.clone()),
            answers: info.map_or_else(Vec::new, |i| i.answers.clone()),
            cpus,
            instance,
            shared: false,
            site,
            place: weir_lang::Place::default(),
        }
    };
    let mut nodes = Vec::new();
    for p in now.pipes.iter().filter(|p| p.from == "entry") {
        let site = site(&p.name, "entry");
        nodes.push(Node {
            name: p.name.clone(),
            base: "entry".into(),
            component: String::new(),
            ..node(NodeKind::Entry, &p.name, "", cpus(&p.cpus), None, site)
        });
    }
    let mut of: BTreeMap<&str, usize> = BTreeMap::new();
    for i in &now.instances {
        let piped = now.pipes.iter().any(|p| p.from == i.name || p.to == i.name);
        let exit = i.component == "termination";
        let kind = match (exit, piped) {
            (true, _) => NodeKind::Cpus,
            (false, true) => NodeKind::Component,
            (false, false) => NodeKind::Annotator,
        };
        let behind = now.pipes.iter().filter(|p| p.to == i.name || p.from == i.name);
        let mut set = CpuSet::new();
        behind.flat_map(|p| cpus(&p.cpus).iter().collect::<Vec<_>>()).for_each(|c| set.insert(c));
        let site = site(&i.name, &i.component);
        let mut made = node(kind, &i.name, &i.component, set, Some(i.idx), site);
        if exit {
            made.name = format!("CPU {}", made.cpus);
            made.base = made.name.clone();
        }
        of.insert(&i.name, nodes.len());
        nodes.push(made);
    }
    let mut entries = 0;
    let mut edges = Vec::new();
    for p in &now.pipes {
        let from = if p.from == "entry" {
            entries += 1;
            Some(entries - 1)
        } else {
            of.get(p.from.as_str()).copied()
        };
        if let (Some(from), Some(to)) = (from, of.get(p.to.as_str()).copied()) {
            let (postponed, keyed, label) = (false, false, String::new());
            let place = weir_lang::Place::default();
            edges.push(Edge { from, to, pipe: p.idx, postponed, keyed, label, place });
        }
    }
    Graph { name: now.topology.clone(), machine: "this machine".into(), nodes, edges }
}

/// What happened between two looks.
fn frame(before: &Snapshot, now: &Snapshot, graph: &Graph, scene: &Scene) -> Frame {
    let dt = now.t_ns.saturating_sub(before.t_ns);
    let seconds = dt.max(1) as f64 / 1e9;
    let was: BTreeMap<u32, &weir_linux::snapshot::PipeView> =
        before.pipes.iter().map(|p| (p.idx, p)).collect();
    let is: BTreeMap<u32, &weir_linux::snapshot::PipeView> = now.pipes.iter().map(|p| (p.idx, p)).collect();
    let lines = scene.lines.iter().map(|line| {
        let mut all = [0.0; 5];
        for pipe in line.members.iter().filter_map(|e| is.get(&graph.edges[*e].pipe)) {
            let old = was.get(&pipe.idx);
            let grown = |n: u64, o: fn(&weir_linux::snapshot::PipeView) -> u64| {
                n.saturating_sub(old.map_or(0, |p| o(p))) as f64
            };
            all[0] += grown(pipe.added, |p| p.added) / seconds;
            all[1] += f64::from(pipe.depth);
            all[2] = f64::max(all[2], f64::from(pipe.depth));
            all[3] += grown(pipe.lock_wait_ns, |p| p.lock_wait_ns) / 1e9 / seconds;
        }
        all
    });
    let depth_of = |node: usize| -> u32 {
        let before = graph.edges.iter().filter(|e| e.to == node);
        before.filter_map(|e| is.get(&e.pipe)).map(|p| p.depth).sum()
    };
    let depths: Vec<u32> = (0..graph.nodes.len()).map(depth_of).collect();
    let boxes = scene.boxes.iter().map(|b| [b.members.iter().map(|m| f64::from(depths[*m])).sum(), 0.0]);
    let cells = scene.boxes.iter().enumerate().filter(|(_, b)| b.strip.is_some());
    let cells = cells.map(|(i, b)| (i, b.members.iter().map(|m| depths[*m]).collect()));
    let old: BTreeMap<u32, u64> = before.cpus.iter().map(|c| (c.cpu, c.busy_ns)).collect();
    let top = now.cpus.iter().map(|c| c.cpu + 1).max().unwrap_or(0) as usize;
    let (mut busy, mut running) = (vec![255u8; top], vec![None; top]);
    for c in now.cpus.iter().filter(|c| c.online) {
        let ran = c.busy_ns.saturating_sub(old.get(&c.cpu).copied().unwrap_or(0));
        let share = (u128::from(ran) * 100 / u128::from(dt.max(1))).min(100) as u8;
        // Run time is counted when a task leaves: one that is still there has had all of the time.
        let stays = ran == 0 && c.curr.is_some();
        busy[c.cpu as usize] = if stays { 100 } else { share };
        running[c.cpu as usize] = c.curr.map(|_| c.curr_comm.clone());
    }
    let woken = now.waits.first().map(|w| &w.waits.woken);
    let spread = |d: &weir_linux::gauges::Spread| Spread {
        count: d.count,
        p50: d.p50_ns,
        p95: d.p95_ns,
        p99: d.p99_ns,
        max: d.max_ns,
    };
    let total = |f: fn(&weir_linux::snapshot::CpuView) -> u64| now.cpus.iter().map(f).sum();
    Frame {
        state: State::Running,
        t_ns: now.uptime_ns,
        dt_ns: dt,
        events: total(|c| c.enqueues),
        topology: now.topology.clone(),
        lines: lines.collect(),
        boxes: boxes.collect(),
        cells: cells.collect(),
        sched: vec![0; top],
        busy,
        running,
        wakeup: woken.map_or([Spread::default(); 2], |w| [spread(&w.total), spread(&w.last_10s)]),
        switches: total(|c| c.runs),
        migrations: total(|c| c.migrations),
        preemptions: total(|c| c.preempts),
        ..Frame::default()
    }
}

/// An error of the other side, with what its compiler found.
fn failed(e: weir_linux::Error) -> Fault {
    let found = e.findings.iter().map(|f| f.message.clone()).collect::<Vec<_>>().join("; ");
    let message = if found.is_empty() { e.message } else { format!("{}: {found}", e.message) };
    Fault { blame: Blame::User, ..Fault::user(message, e.help) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchTo {
    socket: PathBuf,
    name: String,
    text: String,
    dry_run: bool,
}

async fn switch(Json(wish): Json<SwitchTo>) -> Response {
    compute(move || {
        let source = Source { name: wish.name, text: wish.text };
        let now = client::status(&wish.socket).map_err(failed)?;
        let difference = difference(&now, &source);
        let request = Switch {
            files: included(&source),
            topology: source.name,
            source: source.text,
            verbs: Vec::new(),
            set: Vec::new(),
            dry_run: wish.dry_run,
        };
        let done: Switched = client::switch(&wish.socket, &request).map_err(failed)?;
        let r = &done.report;
        let report = format!(
            "switched from {} to {}: pause {}, {} moved, {} built, {} kept",
            r.from,
            r.to,
            weir::units::duration(r.pause_ns),
            weir::units::plural(r.represented, "waiting task"),
            weir::units::plural(r.built, "instance"),
            r.kept
        );
        Ok(serde_json::json!({ "difference": difference, "report": report }))
    })
    .await
}

/// What a switch changes, where both are compiled for a machine of as many CPUs.
fn difference(now: &Snapshot, to: &Source) -> String {
    let shape = MachineShape::flat(now.nr_cpus.max(1));
    let compile = |s: &Source| weir_lang::compile(s, &Includes, weir_core::catalog(), &shape, &[]);
    let from = Source { name: format!("{}.weir", now.topology), text: now.source.clone() };
    match (compile(&from), compile(to)) {
        (Ok(a), Ok(b)) => weir_lang::diff(&a.graph, &b.graph).to_string(),
        _ => "the graphs cannot be compared here; the running scheduler accepts the topology".into(),
    }
}

fn included(source: &Source) -> Vec<File> {
    struct Recorder(std::cell::RefCell<Vec<File>>);
    impl Loader for Recorder {
        fn load(&self, from: &str, include: &str) -> std::result::Result<Source, String> {
            let source = Includes.load(from, include)?;
            let (name, text) = (source.name.clone(), source.text.clone());
            self.0.borrow_mut().push(File { from: from.into(), include: include.into(), name, text });
            Ok(source)
        }
    }
    let found = Recorder(std::cell::RefCell::default());
    let _ = weir_lang::compile(source, &found, weir_core::catalog(), &MachineShape::flat(1), &[]);
    found.0.into_inner()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    socket: PathBuf,
    /// Name of the instance, or of the place whose copies are meant.
    instances: String,
    param: String,
    value: String,
}

async fn set(Json(wish): Json<Set>) -> Response {
    compute(move || -> Result<usize> {
        let now = client::status(&wish.socket).map_err(failed)?;
        let meant =
            |name: &str| name == wish.instances || base(name).rsplit('/').next() == Some(&*wish.instances);
        let names: Vec<&str> = now.instances.iter().map(|i| i.name.as_str()).filter(|n| meant(n)).collect();
        if names.is_empty() {
            return Err(Fault::user(
                format!("the running scheduler has no `{}`", wish.instances),
                "attach again",
            ));
        }
        for name in &names {
            let params = BTreeMap::from([(wish.param.clone(), wish.value.clone())]);
            let request = Request::Replace(Replace { instance: (*name).into(), component: None, params });
            client::ask(&wish.socket, &request).map_err(failed)?;
        }
        Ok(names.len())
    })
    .await
}
