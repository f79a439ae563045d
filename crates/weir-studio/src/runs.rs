// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Simulations that the page looks at: begun, controlled, and reported by server-sent events.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{BufRead, BufReader, Write};
use std::pin::Pin;
use std::process::{Child, ChildStdin, ChildStdout, Command as Program, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc as channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use weir::fault::Fault;
use weir::stage::Command;

use crate::Shared;
use crate::api::refuse;
use crate::worker::{Refused, Wait};

/// Simulations at a time, finished ones that are kept among them.
const MOST: usize = 16;
/// A run that nobody looks at ends after this time.
const ALONE: Duration = Duration::from_secs(60);

/// Something for the page: the kind of the event and its JSON.
pub(crate) type Told = Option<(&'static str, Arc<str>)>;

/// A simulation in a process of its own: whatever happens to it, the studio goes on, with the texts that nobody has saved.
struct Run {
    child: Mutex<Child>,
    to: Mutex<ChildStdin>,
    /// It was closed: its end is no failure.
    closed: AtomicBool,
    /// The latest frame: a slow reader misses the ones between.
    frames: watch::Sender<Told>,
    /// What is not to be missed: results and failures, the last one.
    end: watch::Sender<Told>,
    report: Mutex<Option<Arc<str>>>,
    /// Who waits for which explanation.
    asked: Mutex<BTreeMap<u64, channel::Sender<Value>>>,
    last: AtomicU64,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run {
    fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        let _ = lock(&self.child).kill();
    }

    /// Say something to the process. One that has ended has said so.
    fn say(&self, what: &Value) {
        let mut to = lock(&self.to);
        let _ = writeln!(to, "{what}").and_then(|()| to.flush());
    }

    /// Ask for an explanation; `None`: the process is gone.
    fn explain(&self, wait: &Wait) -> Option<Value> {
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        let (send, receive) = channel::channel();
        lock(&self.asked).insert(id, send);
        self.say(&json!({ "explain": id, "wait": wait }));
        let answer = receive.recv().ok();
        lock(&self.asked).remove(&id);
        answer
    }
}

#[derive(Default)]
pub(crate) struct Runs {
    last: AtomicU64,
    all: Mutex<BTreeMap<u64, Arc<Run>>>,
}

impl Runs {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Run>>> {
        lock(&self.all)
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

async fn begin(State(shared): State<Arc<Shared>>, Json(wish): Json<Value>) -> Response {
    let work = move || -> Result<Value, Refused> {
        let failed = |e: std::io::Error| {
            let what = format!("cannot start a process for the simulation: {e}");
            Refused::of(&Fault::system(what, "try again"))
        };
        let mut child = std::env::current_exe()
            .and_then(|program| {
                let mut program = Program::new(program);
                program.args(&shared.options.worker).stdin(Stdio::piped()).stdout(Stdio::piped());
                program.stderr(Stdio::null()).spawn()
            })
            .map_err(failed)?;
        let mut to = child.stdin.take().expect("piped");
        let mut from = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        let said = writeln!(to, "{wish}").and_then(|()| to.flush()).and_then(|()| from.read_line(&mut line));
        let mut first: Value = serde_json::from_str(&line).unwrap_or_default();
        if said.is_err() || first["begun"].is_null() {
            let end = child.wait();
            let refused = serde_json::from_value(first["refused"].take());
            return Err(refused.unwrap_or_else(|_| Refused::of(&died(end.ok()))));
        }
        let run = Arc::new(Run {
            child: Mutex::new(child),
            to: Mutex::new(to),
            closed: AtomicBool::new(false),
            frames: watch::Sender::new(None),
            end: watch::Sender::new(None),
            report: Mutex::default(),
            asked: Mutex::default(),
            last: AtomicU64::new(1),
        });
        let mut begun = first["begun"].take();
        begun["id"] = shared.runs.add(run.clone()).into();
        std::thread::Builder::new()
            .name("simulation".into())
            .spawn(move || listen(&run, from))
            .map_err(failed)?;
        Ok(begun)
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(begun)) => Json(begun).into_response(),
        Ok(Err(refused)) => refused.into_response(),
        Err(_) => refuse(&Fault::system("this is a bug in runweir", "please report it with the text")),
    }
}

fn died(status: Option<std::process::ExitStatus>) -> Fault {
    let how = status.map_or_else(String::new, |s| format!(": {s}"));
    Fault::system(
        format!("the simulation's process ended without a result{how}"),
        "this is a bug in runweir; please report it with the text. The studio goes on",
    )
}

/// Pass on what the process says, until it ends.
fn listen(run: &Run, from: BufReader<ChildStdout>) {
    let mut since = Instant::now();
    for line in from.lines().map_while(Result::ok) {
        let Ok(mut said) = serde_json::from_str::<Value>(&line) else { continue };
        if let Some(id) = said["explained"].as_u64() {
            if let Some(asker) = lock(&run.asked).remove(&id) {
                let _ = asker.send(said);
            }
        } else if let Some(html) = said["report"].as_str() {
            *lock(&run.report) = Some(html.into());
        } else {
            let data: Arc<str> = said["data"].take().to_string().into();
            match said["kind"].as_str() {
                Some("frame") => {
                    if run.frames.receiver_count() > 0 {
                        since = Instant::now();
                    } else if since.elapsed() > ALONE {
                        run.close();
                    }
                    drop(run.frames.send_replace(Some(("frame", data))));
                }
                Some("done") => drop(run.end.send_replace(Some(("done", data)))),
                _ => drop(run.end.send_replace(Some(("failed", data)))),
            }
        }
    }
    let status = lock(&run.child).wait().ok();
    lock(&run.asked).clear();
    if !run.closed.load(Ordering::Relaxed) {
        let failed = json!({ "message": died(status).to_string() });
        run.end.send_replace(Some(("failed", failed.to_string().into())));
    }
}

async fn control(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<u64>,
    Json(command): Json<Value>,
) -> Response {
    // Whoever is to obey it reads it again: this is only whether it can.
    let known = match serde_json::from_value::<Command>(command.clone()) {
        Ok(known) => known,
        Err(e) => return (StatusCode::UNPROCESSABLE_ENTITY, e.to_string()).into_response(),
    };
    match shared.runs.get(id) {
        Some(run) => {
            if known == Command::Close {
                run.close();
                shared.runs.lock().remove(&id);
            } else {
                run.say(&json!({ "command": command }));
            }
            Json(serde_json::json!({})).into_response()
        }
        None => gone(),
    }
}

async fn explain(State(shared): State<Arc<Shared>>, Path(id): Path<u64>, Json(wait): Json<Wait>) -> Response {
    let Some(run) = shared.runs.get(id) else { return gone() };
    let answer = tokio::task::spawn_blocking(move || run.explain(&wait)).await;
    let Ok(Some(mut answer)) = answer else { return gone() };
    match serde_json::from_value::<Refused>(answer["refused"].take()) {
        Ok(refused) => refused.into_response(),
        Err(_) => Json(answer["value"].take()).into_response(),
    }
}

fn gone() -> Response {
    let fault = Fault::user("this run is over and forgotten", "begin it again");
    (StatusCode::NOT_FOUND, refuse(&fault).into_body()).into_response()
}

/// The report of a finished run: a page of its own, which has no access to ours.
async fn report(State(shared): State<Arc<Shared>>, Path(id): Path<u64>) -> Response {
    let run = shared.runs.get(id);
    let html = run.and_then(|r| lock(&r.report).clone());
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
