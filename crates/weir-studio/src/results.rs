// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Finished runs: their reports and traces as they were written, and a local copy of Perfetto where there is one.

use std::path::{Path as File, PathBuf};
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Serialize;
use weir::fault::{Fault, Result};
use weir_report::Summary;

use crate::api::compute;
use crate::worker::Wait;
use crate::{Shared, runs};

pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/api/results/{index}/explain", post(explain))
        .route("/api/results/{index}/{file}", get(file))
        .route("/perfetto/{*path}", get(perfetto_file))
        .route("/perfetto/", get(|| async { perfetto_at("index.html").await }))
}

/// The numbers of a finished run.
///
/// # Errors
/// The user's: the folder holds no run, or one of another program.
pub fn summary(dir: &File) -> Result<Summary> {
    let path = dir.join("summary.json");
    let text = weir::input::read_text(&path).map_err(Fault::from)?;
    serde_json::from_str(&text).map_err(|e| {
        Fault::user(
            format!("`{}` is not a summary of a run: {e}", path.display()),
            "name a folder that `runweir run --out` has written",
        )
    })
}

/// A run in a list.
#[derive(Serialize)]
pub(crate) struct Listed {
    name: String,
    topology: String,
    machine: String,
    workload: String,
    p99: Option<u64>,
    /// Name of the trace's file in the folder.
    trace: Option<String>,
}

pub(crate) fn list(dirs: &[PathBuf]) -> Vec<Listed> {
    let one = |dir: &PathBuf| {
        let s = summary(dir).unwrap_or_default();
        Listed {
            name: dir.display().to_string(),
            p99: (!s.wakeup_latency_ns.is_empty()).then_some(s.wakeup_latency_ns.p99),
            topology: s.topology,
            machine: s.machine,
            workload: s.workload,
            trace: weir::trace_in(dir)
                .and_then(|file| file.file_name().map(|name| name.to_string_lossy().into_owned())),
        }
    };
    dirs.iter().map(one).collect()
}

/// Why a task of a finished run waited, from its trace.
async fn explain(
    State(shared): State<Arc<Shared>>,
    Path(index): Path<usize>,
    Json(wait): Json<Wait>,
) -> Response {
    let Some(dir) = shared.options.results.get(index).cloned() else { return missing("the run") };
    compute(move || weir::Explainer::open(&dir)?.until(&wait.task, wait.at_ns, wait.ns)).await
}

fn missing(what: &str) -> Response {
    (StatusCode::NOT_FOUND, format!("{what} is not there\n")).into_response()
}

/// The report and the trace alone, by name.
async fn file(State(shared): State<Arc<Shared>>, Path((index, file)): Path<(usize, String)>) -> Response {
    let Some(dir) = shared.options.results.get(index) else { return missing("the run") };
    match file.as_str() {
        "report.html" => match tokio::task::spawn_blocking({
            let path = dir.join("report.html");
            move || std::fs::read_to_string(path)
        })
        .await
        {
            Ok(Ok(html)) => runs::page(html),
            _ => missing("report.html"),
        },
        name if [false, true].map(weir::trace_name).contains(&name) => {
            bytes(dir.join(name), "application/octet-stream").await
        }
        _ => missing("the file"),
    }
}

async fn bytes(path: PathBuf, kind: &'static str) -> Response {
    match tokio::task::spawn_blocking(move || std::fs::read(path)).await {
        Ok(Ok(bytes)) => ([(CONTENT_TYPE, kind)], bytes).into_response(),
        _ => missing("the file"),
    }
}

/// Folder of a built Perfetto interface: `$RUNWEIR_PERFETTO`, or where a package would put it.
pub(crate) fn perfetto() -> Option<PathBuf> {
    let named = std::env::var_os("RUNWEIR_PERFETTO").map(PathBuf::from);
    let usual = Some(PathBuf::from("/usr/share/perfetto-ui"));
    [named, usual].into_iter().flatten().find(|dir| dir.join("index.html").is_file())
}

async fn perfetto_file(Path(path): Path<String>) -> Response {
    perfetto_at(&path).await
}

async fn perfetto_at(path: &str) -> Response {
    let Some(root) = perfetto() else { return missing("Perfetto") };
    let inside = File::new(path).components().all(|c| matches!(c, std::path::Component::Normal(_)));
    if !inside {
        return missing("the file");
    }
    let kind = match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript",
        "css" => "text/css",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "json" => "application/json",
        _ => "application/octet-stream",
    };
    bytes(root.join(path), kind).await
}
