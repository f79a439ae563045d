// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the page asks for: texts as graphs, changes of them, files, and what there is to choose from.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use weir::catalogue::{self, Entry};
use weir::fault::{Fault, Result};
use weir::sheet::{self, Action};
use weir::{machine, topology};
use weir_lang::Source;

use crate::worker::Refused;
use crate::{Shared, files, results};

pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/api/hello", get(hello))
        .route("/api/sheet", post(look))
        .route("/api/act", post(act))
        .route("/api/format", post(format))
        .route("/api/open", post(open))
        .route("/api/save", post(save))
}

/// A fault as an answer.
pub(crate) fn refuse(fault: &Fault) -> Response {
    Refused::of(fault).into_response()
}

/// Compute beside the thread that serves.
pub(crate) async fn compute<T: Serialize + Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Response {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => Json(value).into_response(),
        Ok(Err(fault)) => refuse(&fault),
        Err(_) => refuse(&Fault::system("this is a bug in runweir", "please report it with the text")),
    }
}

#[derive(Serialize)]
struct Named {
    name: &'static str,
    summary: String,
    /// The machine that its example uses.
    machine: Option<&'static str>,
}

/// A parameter with its numbers as people write them.
#[derive(Serialize)]
struct Param<'a> {
    name: &'a str,
    unit: weir_core::Unit,
    help: &'a str,
    default: String,
    min: String,
    max: String,
    /// In base units, for sliders; absent where there is no upper end.
    range: Option<(u64, u64)>,
}

#[derive(Serialize)]
struct Component<'a> {
    #[serde(flatten)]
    info: &'a weir_core::ComponentInfo,
    shown: Vec<Param<'a>>,
}

async fn hello(State(shared): State<Arc<Shared>>) -> Response {
    let options = shared.options.clone();
    compute(move || {
        let list = |entries: &'static [Entry]| -> Vec<Named> {
            let named = |e: &'static Entry| Named {
                name: e.name,
                summary: e.summary(),
                machine: catalogue::suggested_machine(e.text),
            };
            entries.iter().map(named).collect()
        };
        let show = weir_lang::show_value;
        let components = weir_core::catalog().components.iter().map(|info| {
            let shown = info.params.iter().map(|p| Param {
                name: &p.name,
                unit: p.unit,
                help: &p.help,
                default: show(p.default, p.unit),
                min: show(p.min, p.unit),
                max: if p.max == u64::MAX { String::new() } else { show(p.max, p.unit) },
                range: (p.max != u64::MAX).then_some((p.min, p.max)),
            });
            Component { info, shown: shown.collect() }
        });
        let file = options.file.as_deref().map(files::open).transpose()?;
        Ok(serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "file": file,
            "topologies": list(catalogue::TOPOLOGIES),
            "machines": list(catalogue::MACHINES),
            "workloads": list(catalogue::WORKLOADS),
            "presets": PRESETS,
            "generators": GENERATORS,
            "components": components.collect::<Vec<_>>(),
            "results": results::list(&options.results),
            "perfetto": results::perfetto().is_some(),
            "socket": options.socket.display().to_string(),
        }))
    })
    .await
}

/// Presets and generators that menus offer; every other can be typed.
const PRESETS: [&str; 14] = [
    "smp-2",
    "smp-4",
    "smp-8",
    "smp-16",
    "smp-64",
    "smp-128",
    "smp-256",
    "smp-1024",
    "smp-4096",
    "epyc-64",
    "hybrid-8p16e",
    "big-little-4x4",
    "mesh-256",
    "host",
];
const GENERATORS: [&str; 6] = [
    "hackbench:groups=4,loops=100",
    "hackbench:groups=10,loops=100",
    "periodic:tasks=9,util=2",
    "bench:cpus=4,load=80%",
    "tokens:pairs=64,loops=0",
    "web",
];

/// A text that is shown as a graph.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Look {
    name: String,
    text: String,
    /// None: the one of the text's first comment.
    machine: Option<String>,
    #[serde(default)]
    set: Vec<String>,
}

async fn look(Json(look): Json<Look>) -> Response {
    compute(move || {
        let source = Source { name: look.name, text: look.text };
        let machine = match look.machine.filter(|m| !m.is_empty()) {
            Some(spec) => machine::resolve(&spec)?,
            None => topology::default_machine(&source)?,
        };
        sheet::sheet(&source, &machine, &look.set)
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Act {
    text: String,
    action: Action,
}

async fn act(Json(act): Json<Act>) -> Response {
    compute(move || sheet::act(&act.text, &act.action)).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    text: String,
}

async fn format(Json(text): Json<Text>) -> Response {
    compute(move || {
        let source = Source { name: "text".into(), text: text.text };
        weir_lang::format(&source).map_err(topology::fault)
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    name: String,
}

async fn open(Json(wish): Json<Open>) -> Response {
    compute(move || files::open(&wish.name)).await
}

async fn save(Json(wish): Json<files::Save>) -> Response {
    compute(move || files::save(&wish)).await
}
