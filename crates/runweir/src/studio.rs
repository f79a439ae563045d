// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir studio` and `runweir report`: a page in the browser.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use weir_linux::client;
use weir_studio::{Options, Studio};

use crate::calls::{self, CallArgs};
use crate::fault::{Fault, Result};
use crate::output::{note, print, screen};
use crate::{input, stop};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir studio                      begin with a small topology
  runweir studio my.weir              edit a file; it is begun where it does not exist
  runweir studio worksteal --port 4000

The address that is printed has a token: anyone who has it can do in the studio what you can do. The studio
listens on this machine only (127.0.0.1) and loads nothing from a network. To reach the studio of another machine:
ssh -L 4000:127.0.0.1:4000 HOST, and open the printed address here. Ctrl-C ends it.")]
pub struct StudioArgs {
    /// A .weir file, or a topology of the catalogue
    #[arg(value_name = "FILE", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub file: Option<String>,
    /// Port on 127.0.0.1; 0: any that is free
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub port: u16,
    /// Socket of `runweir live`: $RUNWEIR_SOCKET, else /run/runweir/live.sock
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
    /// Run one simulation, for the studio
    #[arg(long, hide = true)]
    pub worker: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir report out/web              print the table of a finished run again
  runweir report out --serve          all runs below out, with their timelines, in the browser
  runweir report out/web --calls      where the scheduler's time went: calls, parts, who calls what
  runweir report out/web --calls --least 1% --hide link --hide unlink -o calls.svg

The call graph is of a simulated run: calls of the runtime, components, and parts of the framework such as locks, each with its
number of calls, its total time, the mean of a call, and its own time without what it calls. A hidden part's time is its callers';
a hidden call takes all that it calls along.")]
pub struct ReportArgs {
    /// Folder that `run --out`, `compare --out` or `live --record` has written, or one that holds such folders
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Show the runs in the studio
    #[arg(long)]
    pub serve: bool,
    /// Port on 127.0.0.1; 0: any that is free
    #[arg(short, long, value_name = "N", default_value_t = 0, requires = "serve")]
    pub port: u16,
    #[command(flatten)]
    pub calls: CallArgs,
}

/// Serve until Ctrl-C.
pub fn studio(args: &StudioArgs) -> Result<ExitCode> {
    if args.worker {
        weir_studio::work();
        return Ok(ExitCode::SUCCESS);
    }
    let socket = client::socket_path(args.socket.as_deref());
    serve(Options { file: args.file.clone(), port: args.port, results: Vec::new(), socket, worker: worker() })
}

/// How a simulation's process is started, with the same components.
fn worker() -> Vec<String> {
    [crate::component::loaded(), vec!["studio".into(), "--worker".into()]].concat()
}

fn serve(options: Options) -> Result<ExitCode> {
    let studio = Studio::open(options)?;
    stop::install_saying("ending the studio")?;
    // The one result: where it is.
    print(&format!("{}\n", studio.address()))?;
    note("open this address in a browser on this machine; Ctrl-C ends the studio");
    studio.serve(stop::flag())?;
    Ok(ExitCode::SUCCESS)
}

/// Print a finished run, or serve all that there are.
pub fn report(args: &ReportArgs) -> Result<ExitCode> {
    let results = found(&args.dir)?;
    if args.serve {
        let socket = client::socket_path(None);
        return serve(Options { file: None, port: args.port, results, socket, worker: worker() });
    }
    if args.calls.calls {
        return calls::calls(&args.calls, &results);
    }
    for (i, dir) in results.iter().enumerate() {
        if results.len() > 1 {
            print(&format!("{}{}\n", if i > 0 { "\n" } else { "" }, dir.display()))?;
        }
        print(&weir_report::table(&weir_studio::summary(dir)?, &screen()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder, or those in it, that hold a run.
fn found(dir: &Path) -> Result<Vec<PathBuf>> {
    let has = |d: &Path| d.join("summary.json").is_file();
    if has(dir) {
        return Ok(vec![dir.into()]);
    }
    let entries = std::fs::read_dir(dir).map_err(|e| {
        Fault::user(
            format!("cannot read `{}`: {}", dir.display(), input::reason(&e)),
            "name a folder that `runweir run --out DIR` has written",
        )
    })?;
    let mut all: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(|d| has(d)).collect();
    all.sort();
    if all.is_empty() {
        return Err(Fault::user(
            format!("`{}` holds no finished run", dir.display()),
            "write one: runweir run -t decentral -m smp-8 -w web --out DIR",
        ));
    }
    Ok(all)
}
