// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The process of one simulation: what is to be run on its first line of input, then wishes; what there is to see as lines of JSON.

use std::io::Write;
use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use weir::fault::{Blame, Fault, Result};
use weir::stage::{Command, Controls, Stage, StageOptions};
use weir::watch::Unwatched;
use weir_lang::Source;

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

/// A wait: of which task (a name, or `#` and its number), until when, and how long; 0: what it did at that time.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wait {
    pub task: String,
    pub at_ns: u64,
    #[serde(default)]
    pub ns: u64,
}

/// A fault, on its way to the page.
#[derive(Serialize, Deserialize)]
pub(crate) struct Refused {
    user: bool,
    message: String,
    help: Vec<String>,
}

impl Refused {
    pub fn of(fault: &Fault) -> Self {
        Self {
            user: matches!(fault.blame, Blame::User),
            message: fault.to_string(),
            help: fault.diags.iter().filter_map(|d| d.remedy().map(String::from)).collect(),
        }
    }

    /// 422 where the user can mend it.
    pub fn into_response(self) -> Response {
        let status =
            if self.user { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::INTERNAL_SERVER_ERROR };
        (status, Json(json!({ "message": self.message, "help": self.help }))).into_response()
    }
}

fn say(what: &Value) {
    let mut out = std::io::stdout().lock();
    // The studio is gone: nobody needs this process any more.
    if writeln!(out, "{what}").and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

fn prepare(line: &str) -> Result<(Stage, Controls)> {
    let wish: Begin = serde_json::from_str(line)
        .map_err(|e| Fault::user(format!("this is nothing to be run: {e}"), "reload the page"))?;
    let duration_ns = match wish.duration.trim() {
        "" => None,
        text => Some(
            weir::units::parse_duration(text)
                .map_err(|e| Fault::user(format!("`{}` is not a duration", text.escape_debug()), e))?,
        ),
    };
    let costs = Some(wish.costs).filter(|c| !c.is_empty());
    let setting = weir::Setting {
        machine: Some(wish.machine).filter(|m| !m.is_empty()),
        workload: Some(wish.workload).filter(|w| !w.is_empty()),
        duration_ns,
        set: wish.set,
        costs,
        strict: false,
    };
    let source = Source { name: wish.name, text: wish.text };
    let stage = Stage::new(StageOptions { source, setting, seed: wish.seed.unwrap_or(1) })?;
    Ok((stage, Controls::new(wish.pace, wish.paused)))
}

/// Run one simulation, until the input ends.
pub fn work() {
    let mut lines = std::io::stdin().lines().map_while(std::result::Result::ok);
    let Some(first) = lines.next() else { return };
    let (stage, controls) = match prepare(&first) {
        Ok(made) => (Arc::new(made.0), Arc::new(made.1)),
        Err(fault) => return say(&json!({ "refused": Refused::of(&fault) })),
    };
    say(&json!({ "begun": {
        "topology": stage.topology(),
        "machine": stage.machine(),
        "workload": stage.workload(),
        "nr_cpus": stage.nr_cpus(),
        "duration_ns": stage.duration_ns(),
        "picture": stage.picture(),
        "warnings": stage.warnings().iter().map(ToString::to_string).collect::<Vec<_>>(),
    } }));
    let (player, wishes) = (stage.clone(), controls.clone());
    std::thread::spawn(move || play(&player, &wishes));
    for line in lines {
        let Ok(mut wish) = serde_json::from_str::<Value>(&line) else { continue };
        if let Ok(command) = serde_json::from_value::<Command>(wish["command"].take()) {
            controls.command(command);
        } else if let (Some(id), Ok(wait)) =
            (wish["explain"].as_u64(), serde_json::from_value::<Wait>(wish["wait"].take()))
        {
            let stage = stage.clone();
            std::thread::spawn(move || {
                say(&match stage.explain(&wait.task, wait.at_ns, wait.ns, &Unwatched) {
                    Ok(value) => json!({ "explained": id, "value": value }),
                    Err(fault) => json!({ "explained": id, "refused": Refused::of(&fault) }),
                });
            });
        }
    }
    // Whatever is still computed is for nobody.
    std::process::exit(0);
}

fn play(stage: &Stage, controls: &Controls) {
    let show = |frame: weir::stage::Frame| say(&json!({ "kind": "frame", "data": frame }));
    let done = |watched: weir::session::Watched| {
        let s = &watched.summary;
        let done = json!({
            "interrupted": s.interrupted,
            "totals": s.totals,
            "duration_ns": s.duration_ns,
            "response_ns": s.response_ns,
            "wakeup_latency_ns": s.wakeup_latency_ns,
            "groups": s.groups,
            "warnings": watched.warnings,
            "crash": s.crash.as_ref().map(|c| format!("component `{}`: {}", c.component, c.what)),
        });
        say(&json!({ "report": watched.html }));
        say(&json!({ "kind": "done", "data": done }));
    };
    if let Err(fault) = stage.play(controls, &show, &done) {
        say(&json!({ "kind": "failed", "data": { "message": fault.to_string() } }));
    }
}
