// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Simulations that the page looks at: begun, controlled, and reported by server-sent events.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_core::Stream;
use serde::Deserialize;
use tokio::sync::{mpsc, watch};
use weir::fault::Fault;
use weir::stage::{Command, Controls, Stage, StageOptions};
use weir::watch::Watch;
use weir_lang::Source;

use crate::Shared;
use crate::api::{compute, refuse};

/// Simulations at a time, finished ones that are kept among them.
const MOST: usize = 16;
/// A run that nobody looks at ends after this time.
const ALONE: Duration = Duration::from_secs(60);

/// Something for the page: the kind of the event and its JSON.
pub(crate) type Told = Option<(&'static str, Arc<str>)>;

struct Run {
    stage: Stage,
    controls: Arc<Controls>,
    /// It was closed: what is still computed about it ends.
    closed: AtomicBool,
    /// The latest frame: a slow reader misses the ones between.
    frames: watch::Sender<Told>,
    /// What is not to be missed: results and failures, the last one.
    end: watch::Sender<Told>,
    report: Mutex<Option<Arc<str>>>,
}

impl Run {
    fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.controls.command(Command::Close);
    }
}

impl Watch for Run {
    fn stop(&self) -> &AtomicBool {
        &self.closed
    }
}

#[derive(Default)]
pub(crate) struct Runs {
    last: AtomicU64,
    all: Mutex<BTreeMap<u64, Arc<Run>>>,
}

impl Runs {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Run>>> {
        self.all.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn get(&self, id: u64) -> Option<Arc<Run>> {
        self.lock().get(&id).cloned()
    }

    /// End them all.
    pub fn close(&self) {
        self.lock().values().for_each(|r| r.close());
    }

    /// A place for another; the oldest goes where there is none.
    fn add(&self, run: Arc<Run>) -> u64 {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut all = self.lock();
        while all.len() >= MOST {
            if let Some((_, old)) = all.pop_first() {
                old.close();
            }
        }
        all.insert(id, run);
        id
    }
}

pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/api/run", post(begin))
        .route("/api/run/{id}", get(events).post(control))
        .route("/api/run/{id}/report", get(report))
        .route("/api/run/{id}/explain", post(explain))
}

/// What is to be run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Begin {
    name: String,
    text: String,
    machine: String,
    workload: String,
    #[serde(default)]
    seed: Option<u64>,
    /// With its unit; empty: the workload's own end.
    #[serde(default)]
    duration: String,
    #[serde(default)]
    costs: String,
    #[serde(default)]
    set: Vec<String>,
    #[serde(default)]
    pace: Option<f64>,
    #[serde(default)]
    paused: bool,
}

async fn begin(State(shared): State<Arc<Shared>>, Json(wish): Json<Begin>) -> Response {
    compute(move || {
        let duration_ns = match wish.duration.trim() {
            "" => None,
            text => Some(
                weir::units::parse_duration(text)
                    .map_err(|e| Fault::user(format!("`{}` is not a duration", text.escape_debug()), e))?,
            ),
        };
        let costs = if wish.costs.is_empty() { "default".into() } else { wish.costs };
        let setting = weir::Setting {
            machine: Some(wish.machine).filter(|m| !m.is_empty()),
            workload: Some(wish.workload).filter(|w| !w.is_empty()),
            duration_ns,
            set: wish.set,
            costs,
        };
        let source = Source { name: wish.name, text: wish.text };
        let stage = Stage::new(StageOptions { source, setting, seed: wish.seed.unwrap_or(1) })?;
        let mut begun = serde_json::json!({
            "topology": stage.topology(),
            "machine": stage.machine(),
            "workload": stage.workload(),
            "nr_cpus": stage.nr_cpus(),
            "duration_ns": stage.duration_ns(),
            "picture": stage.picture(),
            "warnings": stage.warnings().iter().map(ToString::to_string).collect::<Vec<_>>(),
        });
        let run = Arc::new(Run {
            stage,
            closed: AtomicBool::new(false),
            controls: Arc::new(Controls::new(wish.pace, wish.paused)),
            frames: watch::Sender::new(None),
            end: watch::Sender::new(None),
            report: Mutex::default(),
        });
        begun["id"] = shared.runs.add(run.clone()).into();
        std::thread::Builder::new()
            .name("simulation".into())
            .spawn(move || play(&run))
            .map_err(|e| Fault::system(format!("cannot start a thread: {e}"), "try again"))?;
        Ok(begun)
    })
    .await
}

fn play(run: &Run) {
    let alone = Mutex::new(Instant::now());
    let show = |frame: weir::stage::Frame| {
        let mut since = alone.lock().unwrap_or_else(|e| e.into_inner());
        if run.frames.receiver_count() > 0 {
            *since = Instant::now();
        } else if since.elapsed() > ALONE {
            run.controls.command(Command::Close);
        }
        let json = serde_json::to_string(&frame).unwrap_or_default();
        run.frames.send_replace(Some(("frame", json.into())));
    };
    let done = |watched: weir::session::Watched| {
        let s = &watched.summary;
        let done = serde_json::json!({
            "interrupted": s.interrupted,
            "totals": s.totals,
            "duration_ns": s.duration_ns,
            "response_ns": s.response_ns,
            "wakeup_latency_ns": s.wakeup_latency_ns,
            "groups": s.groups,
            "warnings": watched.warnings,
            "crash": s.crash.as_ref().map(|c| format!("component `{}`: {}", c.component, c.what)),
        });
        *run.report.lock().unwrap_or_else(|e| e.into_inner()) = Some(watched.html.into());
        run.end.send_replace(Some(("done", done.to_string().into())));
    };
    if let Err(fault) = run.stage.play(&run.controls, &show, &done) {
        let failed = serde_json::json!({ "message": fault.to_string() });
        run.end.send_replace(Some(("failed", failed.to_string().into())));
    }
}

async fn control(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<u64>,
    Json(command): Json<Command>,
) -> Response {
    match shared.runs.get(id) {
        Some(run) => {
            if command == Command::Close {
                run.close();
                shared.runs.lock().remove(&id);
            } else {
                run.controls.command(command);
            }
            Json(serde_json::json!({})).into_response()
        }
        None => gone(),
    }
}

/// A wait: of which task (a name, or `#` and its number), until when, and how long; 0: what it did at that time.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wait {
    pub task: String,
    pub at_ns: u64,
    #[serde(default)]
    pub ns: u64,
}

async fn explain(State(shared): State<Arc<Shared>>, Path(id): Path<u64>, Json(wait): Json<Wait>) -> Response {
    let Some(run) = shared.runs.get(id) else { return gone() };
    compute(move || run.stage.explain(&wait.task, wait.at_ns, wait.ns, &*run)).await
}

fn gone() -> Response {
    let fault = Fault::user("this run is over and forgotten", "begin it again");
    (StatusCode::NOT_FOUND, refuse(&fault).into_body()).into_response()
}

/// The report of a finished run: a page of its own, which has no access to ours.
async fn report(State(shared): State<Arc<Shared>>, Path(id): Path<u64>) -> Response {
    let run = shared.runs.get(id);
    let html = run.and_then(|r| r.report.lock().unwrap_or_else(|e| e.into_inner()).clone());
    match html {
        Some(html) => page(html.to_string()),
        None => gone(),
    }
}

/// A report that we did not write may stand in our frame, but is not of our origin.
pub(crate) fn page(html: String) -> Response {
    let policy = "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; \
                  style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";
    ([(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, policy)], html).into_response()
}

async fn events(State(shared): State<Arc<Shared>>, Path(id): Path<u64>) -> Response {
    let Some(run) = shared.runs.get(id) else { return gone() };
    stream(vec![run.frames.subscribe(), run.end.subscribe()])
}

/// What these report, as server-sent events, each from its present state on.
pub(crate) fn stream(sources: Vec<watch::Receiver<Told>>) -> Response {
    let (send, receiver) = mpsc::channel(2);
    for mut source in sources {
        let send = send.clone();
        source.mark_changed();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    changed = source.changed() => if changed.is_err() { return },
                    () = send.closed() => return,
                }
                let update = source.borrow_and_update().clone();
                let Some((kind, json)) = update else { continue };
                if send.send(Event::default().event(kind).data(&*json)).await.is_err() {
                    return;
                }
            }
        });
    }
    Sse::new(Events(receiver)).keep_alive(KeepAlive::new().interval(Duration::from_secs(10))).into_response()
}

struct Events(mpsc::Receiver<Event>);

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|event| event.map(Ok))
    }
}
