// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir report --calls`: where the scheduler's time went, as a table, a graph or JSON.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use weir::call_picture::call_picture;
use weir::session::CALLS;
use weir_report::{CallFilter, CallGraph, CallSums};

use crate::fault::{Fault, Result};
use crate::input;
use crate::outdir::replace_file;
use crate::output::{json, note, print, screen};
use crate::paper::Paper;

/// What `report` says about calls.
#[derive(Debug, Args)]
pub struct CallArgs {
    /// Show where the time of scheduler code went: who calls which part, how often and for how long
    #[arg(long, conflicts_with = "serve")]
    pub calls: bool,
    /// With --calls: file to draw into; its ending selects the format. Default: a table on stdout
    #[arg(short, long, value_name = "F.svg|F.dot|F.pdf|F.tex|F.png", requires = "calls", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// With --calls: leave out parts whose names begin with NAME (repeatable)
    #[arg(long, value_name = "NAME", requires = "calls", value_parser = Text::new())]
    pub hide: Vec<String>,
    /// With --calls: leave out parts that take a smaller share of the scheduler's time
    #[arg(long, value_name = "N%", requires = "calls", value_parser = parse_share, default_value = "0%")]
    pub least: f64,
    /// With --calls: each instance of a component by itself
    #[arg(long, requires = "calls")]
    pub instances: bool,
    /// With --calls: print the call graph as JSON
    #[arg(long, requires = "calls", conflicts_with = "output")]
    pub json: bool,
}

/// What `--least` says, from 0 to 1.
fn parse_share(text: &str) -> std::result::Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
    match number.filter(|n| (0.0..=100.0).contains(n)) {
        Some(percent) => Ok(percent / 100.0),
        None => Err("write a share of the scheduler's time, from 0% to 100%".into()),
    }
}

/// Show the call graph of each run, or draw that of the only one.
pub fn calls(args: &CallArgs, results: &[PathBuf]) -> Result<ExitCode> {
    if let ([_, other, ..], true) = (results, args.output.is_some() || args.json) {
        return Err(Fault::user(
            format!("there are {} runs, and a graph is of one", results.len()),
            format!("name one of them, for example {}", other.display()),
        ));
    }
    for (i, dir) in results.iter().enumerate() {
        let graph = read(dir)?.graph(&filter(args));
        if let Some(path) = &args.output {
            draw(&graph, path)?;
            note(&format!("written: {}", path.display()));
        } else if args.json {
            print(&json(&graph)?)?;
        } else {
            print(&format!("{}{}", if i > 0 { "\n" } else { "" }, graph.table(&screen())))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn filter(args: &CallArgs) -> CallFilter {
    CallFilter { hide: args.hide.clone(), least: args.least, instances: args.instances }
}

fn draw(graph: &CallGraph, path: &Path) -> Result<()> {
    let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("dot" | "gv") => replace_file(path, graph.dot().as_bytes()),
        Some("svg" | "pdf" | "tex" | "tikz" | "png") => Paper::of(path)?.write(&call_picture(graph), path),
        _ => Err(Fault::user(
            format!("the ending of `{}` is none of .svg, .dot, .pdf, .tex, .png", path.display()),
            "give the file one of these endings",
        )),
    }
}

/// The sums that a run has left.
fn read(dir: &Path) -> Result<CallSums> {
    let path = dir.join(CALLS);
    if !path.is_file() {
        return Err(none(dir)?);
    }
    let text = input::read_text(&path).map_err(Fault::from)?;
    CallSums::from_json(&text).map_err(|e| {
        Fault::user(
            format!("`{}` has no sums of calls: {e}", path.display()),
            "write it again: runweir run … --out DIR",
        )
    })
}

/// Why a run has none.
fn none(dir: &Path) -> Result<Fault> {
    let summary = weir_studio::summary(dir)?;
    let at = dir.display();
    Ok(if summary.live {
        Fault::user(
            format!("`{at}` was recorded from a live kernel, which does not log what calls consist of"),
            "simulate it: `runweir import` makes a workload of the recording, and `runweir run --out` has the calls",
        )
    } else if summary.totals.scheduler_ns == 0 {
        Fault::user(
            format!("scheduling took no time in the run in `{at}`, so there is nothing to attribute"),
            "run again with --costs default, on a machine whose scheduler is software",
        )
    } else {
        Fault::user(
            format!("`{at}` has no `{CALLS}`, which says where the scheduler's time went"),
            "simulate again with this version: runweir run … --out DIR",
        )
    })
}
