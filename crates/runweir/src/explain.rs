// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir explain`: why a task waited, how long requests took.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use weir::Told;
use weir::explain::{Explainer, Explanation, parse_place};
use weir::units::exact;

use crate::fault::Result;
use crate::output::{json, print, say, screen};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir run -t priority -m smp-2 -w app.toml -d 1s --out results
  runweir explain results web@12.5ms      what kept it from running at that time
  runweir explain results --worst 10      the ten longest waits, with their causes
  runweir explain results --worst 5 --group web     only of tasks whose names begin with web
  runweir explain perf.data 'cc1@1.2s'    a recording of another tool: no pipes and no locks
  runweir explain perf.data --requests nginx,php-fpm     how long requests took, across threads
  runweir explain trace.dat --marker request_begin..request_end     the same, by the program's marks

A task is a name, or # and its number. If several tasks have the name, the one that waited longest at that time is explained. Times count from the start of the run. If the task ran
then, the wait before that run is explained, and what made the run itself slower.")]
pub struct ExplainArgs {
    /// Folder of `run --out` or `live --record`, or a recording that `import` reads
    #[arg(value_name = "DIR", value_hint = ValueHint::AnyPath)]
    pub dir: PathBuf,
    /// Which task, and when: web@12ms
    #[arg(value_name = "TASK@TIME", value_parser = Text::new(), required_unless_present_any = ["worst", "group", "requests", "marker"])]
    pub place: Option<String>,
    /// Explain the N longest waits for a CPU, a lock or a budget; or list the N longest requests
    #[arg(long, value_name = "N", conflicts_with = "place", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub worst: Option<u32>,
    /// With --worst: only tasks whose names begin with NAME
    #[arg(long, value_name = "NAME", value_parser = Text::new(), conflicts_with = "place")]
    pub group: Option<String>,
    /// Report how long requests took: beginnings of thread names, first of threads that receive requests, then of threads that work on them
    #[arg(long, value_name = "NAME,…", value_parser = Text::new(), conflicts_with_all = ["place", "group"])]
    pub requests: Option<String>,
    /// Report how long requests took, by marks of the program (trace_marker, USDT): BEGIN..END, or one name of atrace
    #[arg(long, value_name = "BEGIN..END", value_parser = Text::new(), conflicts_with_all = ["place", "group", "requests"])]
    pub marker: Option<String>,
    /// Print as JSON: an object, or with --worst alone a list
    #[arg(long)]
    pub json: bool,
}

/// Read, explain, print.
pub fn explain(args: &ExplainArgs) -> Result<ExitCode> {
    let place = args.place.as_deref().map(parse_place).transpose()?;
    let told = match (&args.requests, &args.marker) {
        (Some(names), _) => Some(Told::wakeups(names)?),
        (None, Some(marks)) => Some(Told::marks(marks)?),
        (None, None) => None,
    };
    let run = Explainer::open(&args.dir)?;
    if let Some(told) = told {
        let found = run.requests(&told, args.worst.unwrap_or(5) as usize)?;
        if args.json {
            print(&json(&found)?)?
        } else {
            print(&found.table(&screen()))?
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some((task, at_ns)) = place {
        let why = run.at(&task, at_ns)?;
        if args.json { print(&json(&why)?)? } else { say(&paragraph(&why))? }
    } else {
        let all = run.worst(args.worst.unwrap_or(10) as usize, args.group.as_deref())?;
        if args.json { print(&json(&all)?)? } else { say(&list(&all))? }
    }
    Ok(ExitCode::SUCCESS)
}

fn paragraph(why: &Explanation) -> String {
    let mut text = format!("{}\n", why.text);
    if let Some(link) = &why.link {
        text += &format!("\n{link}\n");
    }
    for note in &why.notes {
        text += &format!("note: {note}\n");
    }
    text
}

fn list(all: &[Explanation]) -> String {
    let mut text = String::new();
    for (i, why) in all.iter().enumerate() {
        let from = exact(why.from_ns);
        text += &format!(
            "{:>3}. {} for {} from {from}\n     {}\n",
            i + 1,
            why.task.name,
            weir_report::duration(why.ns),
            why.text
        );
    }
    if let Some(why) = all.first() {
        for note in &why.notes {
            text += &format!("note: {note}\n");
        }
    } else {
        text += "no task waited\n";
    }
    text
}
