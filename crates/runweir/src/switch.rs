// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir switch`: another topology for the scheduler in charge.

use std::cell::RefCell;
use std::fs;
use std::io::{ErrorKind, IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use weir::live_config::LiveConfig;
use weir_core::MachineShape;
use weir_lang::{Loader, Source};
use weir_linux::client;
use weir_linux::protocol::{File, SetParam, Switch, Switched, TopologyText};

use crate::args::one;
use crate::fault::{Fault, Result};
use crate::output;
use crate::stop;
use crate::topology::{self, Includes};
use crate::units::{duration, parse_duration, plural};

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  sudo runweir switch priority
  sudo runweir switch my.weir --set round_robin.slice=1ms
  sudo runweir switch my.weir --dry-run
  sudo runweir switch --do 'annotate priority' --do 'insert priority_order at round_robin.in'
      where live was started --with priority
  sudo runweir switch my.weir --confirm 60s    goes back unless you confirm: Enter here, or:
  sudo runweir switch --keep                   from another terminal

The running scheduler builds the new topology beside the old one and moves all waiting tasks at once;
the default scheduler never runs in between. If anything fails, the old topology continues.")]
pub struct SwitchArgs {
    /// Scheduler: a catalogue name or a .weir file; - reads it from stdin
    #[arg(required_unless_present_any = ["named", "keep", "config", "verbs"], value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub topology: Option<String>,
    /// The same as an option
    #[arg(short = 't', long = "topology", value_name = "T", value_parser = Text::new(), conflicts_with = "topology", value_hint = ValueHint::FilePath)]
    pub named: Option<String>,
    /// The topology, settings and socket of this file, as `systemctl reload runweir` does
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath, conflicts_with_all = ["topology", "named"])]
    pub config: Option<PathBuf>,
    /// Restore the previous topology after this time unless you confirm the switch: Enter here, or --keep elsewhere. It is also
    /// restored if this command ends earlier, for example by a lost connection
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "dry_run")]
    pub confirm: Option<u64>,
    /// Confirm a switch that waits for confirmation
    #[arg(long, conflicts_with_all = ["topology", "named", "config", "set", "verbs", "dry_run", "confirm", "strict"])]
    pub keep: bool,
    /// Set a parameter, as in `run`
    #[arg(long, value_name = "COMP.PARAM=V", value_parser = Text::new())]
    pub set: Vec<String>,
    /// Change one part, as a step of a scenario does, of T or of the active topology
    #[arg(long = "do", value_name = "VERB", value_parser = Text::new())]
    pub verbs: Vec<String>,
    /// Refuse a topology that ignores what users ask of the kernel, instead of warning
    #[arg(long)]
    pub strict: bool,
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
    let config = args.config.as_deref().map(LiveConfig::read).transpose()?.unwrap_or_default();
    let socket = client::socket_path(args.socket.as_deref().or(config.socket.as_deref()));
    if args.keep {
        return keep(&socket, args.quiet);
    }
    let sets = topology::parse_sets(&[config.set, args.set.clone()].concat())?;
    let named = args.named.as_ref().or(config.topology.as_ref());
    // Verbs without a topology change the one in charge.
    let source = match args.topology.is_some() || named.is_some() {
        true => topology::source(&one(args.topology.as_ref(), named))?,
        false if args.verbs.is_empty() => {
            return Err(Fault::user(
                "the file names no topology to switch to",
                "write topology = \"decentral\" into it",
            ));
        }
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
    if args.strict {
        let tried = client::switch(&socket, &Switch { dry_run: true, ..wish.clone() });
        crate::live::all_obeyed(&tried.map_err(crate::live::fault)?.warnings)?;
    }
    let trial = args.confirm.map(|ns| Trial::begin(&socket, ns)).transpose()?;
    let done = client::switch(&socket, &wish).map_err(crate::live::fault)?;
    if !args.quiet {
        output::show(&done.warnings.iter().map(crate::live::finding).collect::<Vec<_>>());
    }
    if args.json {
        output::print(&output::json(&done)?)?;
    } else if !args.quiet {
        output::say(&describe(&done))?;
    }
    trial.map_or(Ok(ExitCode::SUCCESS), |t| t.end(args.quiet))
}

/// The file that exists as long as a switch waits to be confirmed: taking it away confirms.
fn waiting(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(".confirm");
    name.into()
}

/// Confirm for the process that waits.
fn keep(socket: &Path, quiet: bool) -> Result<ExitCode> {
    fs::remove_file(waiting(socket)).map_err(|e| match e.kind() {
        ErrorKind::NotFound => Fault::user(
            "no switch waits to be confirmed",
            "switch with --confirm TIME first; it may be over already",
        ),
        _ => Fault::system(format!("cannot confirm: {e}"), "call it as the user who switched"),
    })?;
    if !quiet {
        output::note("confirmed");
    }
    Ok(ExitCode::SUCCESS)
}

/// A switch on trial: the way back.
struct Trial {
    socket: PathBuf,
    file: PathBuf,
    before: TopologyText,
    time: Duration,
}

impl Trial {
    /// Remember what is in charge.
    fn begin(socket: &Path, ns: u64) -> Result<Self> {
        let file = waiting(socket);
        stop::install_saying("switching back")?;
        let before = client::topology(socket).map_err(crate::live::fault)?;
        let made = fs::OpenOptions::new().write(true).create_new(true).open(&file);
        made.and_then(|mut f| writeln!(f, "{}", std::process::id())).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => Fault::user(
                "another switch waits to be confirmed",
                format!(
                    "confirm it (runweir switch --keep), or wait; if nothing waits, remove {}",
                    file.display()
                ),
            ),
            _ => Fault::system(format!("cannot write {}: {e}", file.display()), "see who may write there"),
        })?;
        Ok(Self { socket: socket.into(), file, before, time: Duration::from_nanos(ns) })
    }

    /// Wait for a word, else switch back.
    fn end(self, quiet: bool) -> Result<ExitCode> {
        let time = duration(u64::try_from(self.time.as_nanos()).unwrap_or(u64::MAX));
        if !quiet {
            output::note(&format!(
                "Enter keeps it (or: runweir switch --keep); else {} is back in {time}",
                self.before.topology
            ));
        }
        if std::io::stdin().is_terminal() {
            let file = self.file.clone();
            std::thread::spawn(move || {
                if std::io::stdin().read_line(&mut String::new()).is_ok_and(|n| n > 0) {
                    let _ = fs::remove_file(file);
                }
            });
        }
        let until = Instant::now() + self.time;
        let stopped = || stop::flag().load(Ordering::Relaxed);
        while self.file.exists() && Instant::now() < until && !stopped() {
            std::thread::sleep(Duration::from_millis(50));
        }
        // Taken away by us: nobody has confirmed.
        if fs::remove_file(&self.file).is_err() {
            if !quiet {
                output::note("kept");
            }
            return Ok(ExitCode::SUCCESS);
        }
        let back = Switch {
            topology: format!("{}.weir", self.before.topology),
            source: self.before.weir.clone(),
            ..Switch::default()
        };
        client::switch(&self.socket, &back).map_err(crate::live::fault)?;
        if !quiet {
            let why =
                if stopped() { "interrupted".into() } else { format!("nobody confirmed within {time}") };
            output::note(&format!("switched back to {}: {why}", self.before.topology));
        }
        Ok(ExitCode::from(1))
    }
}

impl Drop for Trial {
    /// Also where the switch itself failed.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

fn describe(done: &Switched) -> String {
    let r = &done.report;
    if done.dry_run {
        return format!(
            "{}: ok: {}, {}; nothing was changed\n",
            r.to,
            plural(done.instances, "instance"),
            plural(done.pipes, "pipe")
        );
    }
    format!(
        "switched from {} to {}: pause {}, {} moved, {} built, {} kept\n",
        r.from,
        r.to,
        duration(r.pause_ns),
        plural(r.represented, "waiting task"),
        plural(r.built, "instance"),
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
