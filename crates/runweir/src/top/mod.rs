// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir top`: the scheduler in charge, or that of a program's threads, on a terminal.
//!
//! What is shown follows from two snapshots and the state of the keys alone ([`Picture`]), so every picture can be had without a
//! terminal: tests compare them, and [`once`] prints one.

mod app;
mod graph;
mod keys;
mod rates;
mod text;
mod view;

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use weir_linux::client;

use crate::fault::{Fault, Result};
use crate::live::fault;
use crate::output::{note, print};
use crate::units::parse_duration;
use crate::watched::Watched;

pub use keys::{Keys, Pane, Sort};
pub use text::once;
pub use view::Picture;

/// Set by signals: the terminal is put in order before the program ends.
static STOP: AtomicBool = AtomicBool::new(false);

/// Shortest time between two pictures: each costs the machine a look at all tasks.
const SHORTEST: Duration = Duration::from_millis(50);
/// Size of a picture without a terminal, where the environment does not say.
const SIZE: (u16, u16) = (100, 50);

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Keys:
  q, Esc, Ctrl-C   quit                       p, space   pause or continue
  Tab, ←, →        select a pane              s, S       sort tasks by CPU time, waiting, switches …
  ↑, ↓, PageUp …   scroll the pane

Rates cover the time between two updates. The latency of a pipe is its mean depth divided by the tasks that
leave it per second (Little's law); docs/observing.md defines each number. Reading does not affect the scheduler.")]
pub struct TopArgs {
    /// Time between two updates, with its unit
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, default_value = "500ms", allow_hyphen_values = true)]
    pub interval: u64,
    /// Print one snapshot as text and end; the default without a terminal
    #[arg(long)]
    pub once: bool,
    #[command(flatten)]
    pub watched: Watched,
}

/// Show until the user leaves.
pub fn top(args: &TopArgs) -> Result<ExitCode> {
    let interval = Duration::from_nanos(args.interval).max(SHORTEST);
    let socket = args.watched.socket();
    let first = client::status(&socket).map_err(fault)?;
    if args.once || !app::usable() {
        std::thread::sleep(interval);
        let now = client::status(&socket).map_err(fault)?;
        let (width, height) = (size("COLUMNS", SIZE.0), size("LINES", SIZE.1));
        print(&once(Some(&first), &now, width, height))?;
        if !args.once {
            note("this is not a terminal: one picture was printed. `runweir status` has counts and --json");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let stop = || STOP.store(true, std::sync::atomic::Ordering::Relaxed);
    ctrlc::set_handler(stop).map_err(|e| terminal(&e))?;
    let fetch = move || client::status(&socket).map_err(|e| e.message);
    app::run(first, fetch, interval, &STOP).map_err(|e| terminal(&e))?;
    Ok(ExitCode::SUCCESS)
}

fn terminal(e: &dyn std::fmt::Display) -> Fault {
    Fault::system(
        format!("the terminal cannot be used: {e}"),
        "runweir top --once prints one picture as text",
    )
}

/// A size that the shell exports.
fn size(variable: &str, otherwise: u16) -> u16 {
    let given = std::env::var(variable).ok().and_then(|v| v.parse().ok());
    given.filter(|n| (20..=1000).contains(n)).unwrap_or(otherwise)
}
