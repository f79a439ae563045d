// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir mcp`: what the library computes, for an assistant, by the Model Context Protocol over stdin and stdout.
//!
//! The messages are those of the schema's types (crate `rust-mcp-schema`): what goes out has been through them. Each call has a process of its
//! own, which can write into a temporary folder only, read only what it is allowed to, and reach neither network nor other processes.

mod sandbox;
mod tools;
mod worker;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueHint};
use rust_mcp_schema::{CallToolResult, InitializeResult, ListToolsResult};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::fault::{Fault, Result};
use crate::output::note;
use crate::units::parse_duration;
use worker::Workers;

/// The version of the protocol whose types are used.
const VERSION: &str = "2025-11-25";
/// Versions that differ in nothing that is used here.
const KNOWN: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];
/// Longest message, bytes.
const MAX_MESSAGE: u64 = 16 << 20;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir mcp                          serve on stdin and stdout; an assistant starts this
  runweir mcp --allow ~/schedulers     let it also read topologies, workloads and traces below this folder

Tools: run, compare, check, analyze, explain, graph, catalogue. Inputs are names of the catalogue or texts. Nothing outside a temporary
folder is written, nothing touches this machine's scheduler. Each call has a process of its own: what it may read is bounded by Landlock,
it has no network, and its end is not the server's.

In the configuration of an assistant:
  { \"mcpServers\": { \"runweir\": { \"command\": \"runweir\", \"args\": [\"mcp\"] } } }")]
pub struct McpArgs {
    /// Let tools read files below this folder (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub allow: Vec<PathBuf>,
    /// End a tool's work after this much time
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "60s")]
    pub time_limit: u64,
    /// End a tool's work when it uses this much memory, MiB
    #[arg(long, value_name = "MIB", default_value_t = 4096, value_parser = clap::value_parser!(u64).range(64..=1 << 24))]
    pub memory_limit: u64,
    /// Serve even if this kernel cannot restrict which files are read (no Landlock)
    #[arg(long)]
    pub no_sandbox: bool,
    /// Do one call, for the server
    #[arg(long, hide = true, value_name = "DIR")]
    pub worker: Option<PathBuf>,
}

/// Serve until stdin ends.
pub fn mcp(args: &McpArgs) -> Result<ExitCode> {
    if let Some(scratch) = &args.worker {
        return worker::work(args, scratch);
    }
    let scratch = tempfile::Builder::new().prefix("runweir-mcp-").tempdir().map_err(|e| {
        Fault::system(format!("cannot make a temporary folder: {e}"), "see whether TMPDIR is full")
    })?;
    let mut allowed = Vec::new();
    for dir in &args.allow {
        allowed.push(dir.canonicalize().ok().filter(|d| d.is_dir()).ok_or_else(|| {
            Fault::user(
                format!("--allow {}: there is no such folder", dir.display()),
                "name a folder that exists",
            )
        })?);
    }
    let workers = Workers::new(args, scratch.path(), &allowed);
    let first = workers.call("", &Value::Null);
    if first.wrong {
        return Err(Fault::system(first.text, "start it where a program may start processes"));
    }
    if let Some(why) = first.unbounded {
        if !args.no_sandbox {
            return Err(Fault::system(
                format!("cannot bound what this program reads: {why}"),
                "a kernel with Landlock (5.13 or later, and `landlock` among its security modules) is needed; --no-sandbox serves without",
            ));
        }
        note(&format!("serving without a sandbox: {why}"));
    }
    serve(&|tool, arguments| workers.call(tool, arguments))?;
    Ok(ExitCode::SUCCESS)
}

/// Does what a tool does, by its name, with these arguments.
type Call<'a> = &'a dyn Fn(&str, &Value) -> worker::Answer;

/// One message a line, in and out.
fn serve(call: Call<'_>) -> Result<()> {
    let stdin = std::io::stdin();
    let mut input = BufReader::new(stdin.lock());
    for number in 1u64.. {
        let mut line = Vec::new();
        let n =
            input.by_ref().take(MAX_MESSAGE).read_until(b'\n', &mut line).map_err(|e| {
                Fault::system(format!("cannot read stdin: {e}"), "start it from an assistant")
            })?;
        if n == 0 {
            return Ok(());
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let answer = match serde_json::from_slice::<Value>(&line) {
            Ok(message) => answer(&message, call),
            Err(e) => Some(error(
                &Value::Null,
                -32700,
                &format!(
                    "line {number} of the input is not JSON: {e}; send one message of JSON-RPC 2.0 a line"
                ),
            )),
        };
        if let Some(answer) = answer {
            let mut out = std::io::stdout().lock();
            let written = writeln!(out, "{answer}").and_then(|()| out.flush());
            if written.is_err() {
                // The assistant is gone.
                return Ok(());
            }
        }
    }
    Ok(())
}

fn answer(message: &Value, call: Call<'_>) -> Option<Value> {
    let id = match message.get("id") {
        Some(id) if id.is_string() || id.is_number() => id.clone(),
        // A notification wants no answer, nor does an answer.
        _ if message.get("method").is_some() => return None,
        _ => return Some(error(&Value::Null, -32600, "no request: `method` is missing")),
    };
    let method = message.get("method").and_then(Value::as_str)?;
    let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
    Some(match method {
        "initialize" => {
            let asked = params["protocolVersion"].as_str().unwrap_or(VERSION);
            let version = if KNOWN.contains(&asked) { asked } else { VERSION };
            let words = json!({
                "protocolVersion": version,
                "capabilities": { "tools": { "listChanged": false } },
                "serverInfo": { "name": "runweir", "title": "Runweir", "version": env!("CARGO_PKG_VERSION") },
                "instructions": "Simulates CPU schedulers made of components. Begin with `catalogue`, check a topology text with \
                    `check`, then `run` or `compare` it, and ask `explain` why a task waited. Nothing here touches a kernel.",
            });
            result::<InitializeResult>(&id, words)
        }
        "ping" => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
        "tools/list" => result::<ListToolsResult>(&id, json!({ "tools": tools::list() })),
        "tools/call" => {
            let name = params["name"].as_str().unwrap_or("");
            if !tools::NAMES.contains(&name) {
                return Some(error(
                    &id,
                    -32602,
                    &format!("there is no tool `{name}`: {}", tools::NAMES.join(", ")),
                ));
            }
            let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
            let worker::Answer { text, wrong, .. } = call(name, &arguments);
            result::<CallToolResult>(
                &id,
                json!({ "content": [{ "type": "text", "text": text }], "isError": wrong }),
            )
        }
        _ => error(&id, -32601, &format!("method `{method}` is not served")),
    })
}

/// A result that the schema's type accepts.
fn result<T: Serialize + DeserializeOwned>(id: &Value, words: Value) -> Value {
    match serde_json::from_value::<T>(words).and_then(serde_json::to_value) {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(e) => error(id, -32603, &format!("this is a bug: {e}")),
    }
}

fn error(id: &Value, code: i64, text: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": text } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_is_what_the_schema_knows() {
        let call = |_: &str, _: &Value| worker::Answer::default();
        let ask = |method: &str| {
            answer(&json!({ "jsonrpc": "2.0", "id": 1, "method": method }), &call).expect("an answer")
        };
        let tools = ask("tools/list");
        let listed: Vec<&str> = tools["result"]["tools"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|t| t["name"].as_str())
            .collect();
        assert_eq!(listed, tools::NAMES);
        assert_eq!(ask("initialize")["result"]["protocolVersion"], VERSION);
        assert_eq!(ask("nonsense")["error"]["code"], -32601);
        assert!(answer(&json!({ "method": "notifications/initialized" }), &call).is_none());
    }
}
