// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir switch`: another topology for the scheduler in charge.

use std::cell::RefCell;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use weir_core::MachineShape;
use weir_lang::{Loader, Source};
use weir_linux::client;
use weir_linux::protocol::{File, SetParam, Switch, Switched};

use crate::args::one;
use crate::fault::Result;
use crate::output;
use crate::topology::{self, Includes};
use crate::units::duration;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo runweir switch priority
  sudo runweir switch my.weir --set round_robin.slice=1ms
  sudo runweir switch my.weir --dry-run
  sudo runweir switch --do 'annotate priority' --do 'insert priority_order at round_robin.in'

The running scheduler builds the new topology beside the old one and moves all waiting tasks at once;
the default scheduler never runs in between. If anything fails, the old topology continues.")]
pub struct SwitchArgs {
    /// Scheduler: a catalogue name or a .weir file; - reads it from stdin
    #[arg(required_unless_present_any = ["named", "verbs"], value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub topology: Option<String>,
    /// The same as an option
    #[arg(short = 't', long = "topology", value_name = "T", value_parser = Text::new(), conflicts_with = "topology", value_hint = ValueHint::FilePath)]
    pub named: Option<String>,
    /// Set a parameter, as in `run`
    #[arg(long, value_name = "COMP.PARAM=V", value_parser = Text::new())]
    pub set: Vec<String>,
    /// Change a part, as a step of a scenario does: of T, or without T of the topology in charge
    #[arg(long = "do", value_name = "VERB", value_parser = Text::new())]
    pub verbs: Vec<String>,
    /// Only check the topology for the running machine
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Socket of `runweir live`: $RUNWEIR_SOCKET, else /run/runweir/live.sock
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

/// Have it done.
pub fn switch(args: &SwitchArgs) -> Result<ExitCode> {
    let socket = client::socket_path(args.socket.as_deref());
    let sets = topology::parse_sets(&args.set)?;
    let source = match args.topology.is_some() || args.named.is_some() {
        true => topology::source(&one(args.topology.as_ref(), args.named.as_ref()))?,
        false => Source { name: String::new(), text: String::new() },
    };
    let wish = Switch {
        files: included(&source),
        topology: source.name,
        source: source.text,
        verbs: args.verbs.clone(),
        set: sets
            .into_iter()
            .map(|s| SetParam { component: s.component, param: s.param, value: s.value })
            .collect(),
        dry_run: args.dry_run,
    };
    let done = client::switch(&socket, &wish).map_err(crate::live::fault)?;
    if !args.quiet {
        output::show(&done.warnings.iter().map(crate::live::finding).collect::<Vec<_>>());
    }
    if args.json {
        output::print(&output::json(&done)?)?;
    } else if !args.quiet {
        output::print(&describe(&done))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn describe(done: &Switched) -> String {
    let r = &done.report;
    if done.dry_run {
        return format!(
            "{}: ok: {} instances, {} pipes; nothing was changed\n",
            r.to, done.instances, done.pipes
        );
    }
    let plural = |n: u32| if n == 1 { "" } else { "s" };
    format!(
        "switched from {} to {}: pause {}, {} waiting task{} moved, {} instance{} built, {} kept\n",
        r.from,
        r.to,
        duration(r.pause_ns),
        r.represented,
        plural(r.represented),
        r.built,
        plural(r.built),
        r.kept
    )
}

/// The files that a topology includes: they are ours to read, not the scheduler's.
fn included(source: &Source) -> Vec<File> {
    let found = Recorder(RefCell::default());
    // Errors in the text are reported by the process that runs it, for its machine.
    let _ = weir_lang::compile(source, &found, weir_core::catalog(), &MachineShape::flat(1), &[]);
    found.0.into_inner()
}

/// Remembers each included file.
struct Recorder(RefCell<Vec<File>>);

impl Loader for Recorder {
    fn load(&self, from: &str, include: &str) -> std::result::Result<Source, String> {
        let source = Includes.load(from, include)?;
        self.0.borrow_mut().push(File {
            from: from.into(),
            include: include.into(),
            name: source.name.clone(),
            text: source.text.clone(),
        });
        Ok(source)
    }
}
