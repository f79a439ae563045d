// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A process for each call: it bounds itself before it reads what it is to do, and its end, of whatever kind, is not the server's.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{McpArgs, sandbox, tools};
use crate::fault::{Fault, Result};
use tools::Toolbox;

/// Between two looks at a worker.
const LOOK: Duration = Duration::from_millis(5);
/// After its time a worker ends by itself, with an answer; after this much more it is ended.
const GRACE: Duration = Duration::from_secs(2);

/// What a worker answers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Answer {
    pub text: String,
    pub wrong: bool,
    /// Why it could not bound itself.
    pub unbounded: Option<String>,
}

impl Answer {
    fn failed(text: String) -> Self {
        Self { text, wrong: true, unbounded: None }
    }
}

/// How workers are started.
pub struct Workers {
    options: Vec<String>,
    limit: Duration,
    memory: u64,
}

impl Workers {
    pub fn new(args: &McpArgs, scratch: &std::path::Path, allowed: &[PathBuf]) -> Self {
        let mut options = crate::component::loaded();
        let text = |p: &std::path::Path| p.to_string_lossy().into_owned();
        options.extend(["mcp".into(), "--worker".into(), text(scratch)]);
        options.extend(["--time-limit".into(), format!("{}ns", args.time_limit)]);
        options.extend(allowed.iter().flat_map(|dir| ["--allow".into(), text(dir)]));
        options.extend(args.no_sandbox.then(|| "--no-sandbox".into()));
        Self { options, limit: Duration::from_nanos(args.time_limit), memory: args.memory_limit << 20 }
    }

    /// Do what a tool does, in a process of its own.
    pub fn call(&self, tool: &str, arguments: &Value) -> Answer {
        self.begin(tool, arguments).map_or_else(
            |e| {
                Answer::failed(format!(
                    "error: cannot start a process for the call: {e}\n  help: try again\n"
                ))
            },
            |child| self.wait(child),
        )
    }

    fn begin(&self, tool: &str, arguments: &Value) -> std::io::Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(&self.options).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let mut to = child.stdin.take().expect("piped");
        let call = json!({ "tool": tool, "arguments": arguments }).to_string();
        // A worker that has ended does not read; its end is reported.
        thread::spawn(move || drop(to.write_all(call.as_bytes())));
        Ok(child)
    }

    fn wait(&self, mut child: Child) -> Answer {
        let mut from = child.stdout.take().expect("piped");
        let reader = thread::spawn(move || {
            let mut bytes = Vec::new();
            from.read_to_end(&mut bytes).map(|_| bytes)
        });
        let until = Instant::now() + self.limit + GRACE;
        let ended = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Err(e) => break Err(format!("the call's process was lost: {e}")),
                Ok(None) => {}
            }
            let too_much = resident(child.id()) > self.memory;
            if too_much || Instant::now() > until {
                let _ = child.kill();
                let _ = child.wait();
                break Err(match too_much {
                    true => {
                        format!("the call needed more than {} MiB of memory and was ended", self.memory >> 20)
                    }
                    false => format!("the work took longer than {} s and was ended", self.limit.as_secs()),
                });
            }
            thread::sleep(LOOK);
        };
        let bytes = reader.join().ok().and_then(std::io::Result::ok).unwrap_or_default();
        let help = "ask for less: fewer tasks, CPUs or seeds, a shorter duration; --time-limit and --memory-limit of `runweir mcp` set the limits";
        match (ended, serde_json::from_slice(&bytes)) {
            (Ok(_), Ok(answer)) => answer,
            (Ok(status), Err(_)) => Answer::failed(format!(
                "error: the call's process ended without an answer: {status}\n  help: this is a bug; the server goes on\n"
            )),
            (Err(why), _) => Answer::failed(format!("error: {why}\n  help: {help}\n")),
        }
    }
}

/// Bytes of memory that a process has, 0 where that is not known.
fn resident(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

/// The worker: one call from stdin, its answer to stdout.
pub fn work(args: &McpArgs, scratch: &std::path::Path) -> Result<ExitCode> {
    let mut answer = Answer::default();
    match sandbox::enter(scratch, &args.allow) {
        Ok(()) => weir::input::bounded(
            "give the text itself, or start `runweir mcp --allow DIR` with a folder that holds the file",
        ),
        Err(why) => answer.unbounded = Some(why),
    }
    weir::code::refuse_all("this server loads no code, whatever a file says: leave out `load` and `needs`");
    if answer.unbounded.is_none() || args.no_sandbox {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map_err(|e| Fault::system(format!("cannot read the call: {e}"), "this is for `runweir mcp`"))?;
        let call: Value = serde_json::from_str(&text)
            .map_err(|e| Fault::user(format!("the call is not JSON: {e}"), "this is for `runweir mcp`"))?;
        let limit = Duration::from_nanos(args.time_limit);
        let toolbox = Toolbox { scratch: scratch.into(), allowed: args.allow.clone(), limit };
        if let Some(tool) = call["tool"].as_str().filter(|t| tools::NAMES.contains(t)) {
            (answer.text, answer.wrong) = match toolbox.call(tool, &call["arguments"]) {
                Ok(text) => (text, false),
                Err(fault) => (tools::words(&fault), true),
            };
        }
    }
    crate::output::print(&serde_json::to_string(&answer).unwrap_or_default())?;
    Ok(ExitCode::SUCCESS)
}
