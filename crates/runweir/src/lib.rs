// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The command line of Runweir, as a library: [`main`] is the program. Programs of the other wings (`runweir-lab`) share with it how
//! a command line reads, ends and prints: the public modules here.
//!
//! Exit status: 0 done, 2 the user's input is wrong, 1 anything else. Results go to stdout,
//! everything else to stderr. `docs/command-line.md` is the contract.

#[cfg(feature = "live")]
mod advise;
mod analyze;
pub mod args;
#[cfg(feature = "ask")]
mod ask;
#[cfg(feature = "studio")]
mod calls;
mod check;
mod compare;
pub mod compile;
pub mod complete;
mod component;
mod config;
mod drawing;
mod elf;
mod elsewhere;
#[cfg(all(test, feature = "default"))]
mod examples;
mod explain;
mod formatting;
#[cfg(feature = "live")]
mod gang;
mod gantt;
mod guard;
mod import;
#[cfg(not(feature = "default"))]
mod left_out;
mod listing;
#[cfg(feature = "live")]
mod live;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "live")]
mod message;
mod models;
pub mod output;
pub mod pages;
mod paper;
pub mod progress;
mod record;
mod run;
mod shrink;
#[cfg(feature = "live")]
mod status;
pub mod stop;
mod stubs;
#[cfg(feature = "studio")]
mod studio;
mod sweep;
#[cfg(feature = "live")]
mod switch;
mod threads;
#[cfg(feature = "top")]
pub mod top;
mod tour;
mod tune;
mod version;
#[cfg(feature = "vm")]
mod vm;
#[cfg(feature = "live")]
mod watched;
pub mod words;

/// A word in place of the commands of a feature that is off.
macro_rules! absent {
    ($($feature:literal $module:ident: $($args:ident $run:ident),+;)+) => { $(
        #[cfg(not(feature = $feature))]
        mod $module {
            $(pub use crate::left_out::{Args as $args, run as $run};)+
        }
    )+ };
}

absent! {
    "ask" ask: AskArgs ask;
    "live" advise: AdviseArgs advise;
    "live" gang: GangArgs gang, PhaseArgs phase;
    "live" live: LiveArgs live;
    "live" message: PublishArgs publish, RequestArgs request;
    "live" status: StatusArgs status;
    "live" switch: SwitchArgs switch;
    "mcp" mcp: McpArgs mcp;
    "studio" studio: StudioArgs studio, ReportArgs report;
    "top" top: TopArgs top;
    "vm" vm: VmArgs vm;
}

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

// What commands name as `crate::…`.
#[cfg(feature = "live")]
use weir::scenario;
use weir::{catalogue, fault, input, machine, outdir, topology, units};

use args::{Cli, Command, Common};
use fault::{Blame, Result};

/// The program: its arguments are those of the process.
#[must_use]
pub fn main() -> ExitCode {
    // A shell asks for the words that may follow: the process ends here.
    clap_complete::CompleteEnv::with_factory(words::completed).complete();
    let cli: Cli = words::RUNWEIR.read();
    let Cli { common, command } = cli;
    ended(&common, || dispatch(command, &common))
}

/// What the process comes to: the exit status of `work`, and its errors on stderr.
pub fn ended(common: &Common, work: impl FnOnce() -> Result<ExitCode>) -> ExitCode {
    output::set_colour(common.color);
    let work = || component::load_all(&common.load, common.allow_code).and_then(|()| work());
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(status)) => status,
        Ok(Err(fault)) => {
            output::show(&fault.diags);
            match fault.blame {
                Blame::User => ExitCode::from(2),
                Blame::System => ExitCode::from(1),
            }
        }
        Err(_) => {
            output::note("runweir: this is a bug; please report the message above with the command line");
            ExitCode::from(1)
        }
    }
}

fn dispatch(command: Command, common: &Common) -> Result<ExitCode> {
    match command {
        Command::Tour => tour::tour(),
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Analyze(args) => analyze::analyze(&args),
        Command::Reproduce(args) => elsewhere::run("reproduce", common, &args),
        Command::Import(args) => import::import(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Gantt(args) => gantt::gantt(&args),
        Command::Guard(args) => guard::guard(&args),
        Command::Tune(args) => tune::tune(&args),
        Command::Advise(args) => advise::advise(&args),
        Command::Record(args) => record::record(&args),
        Command::Mcp(args) => mcp::mcp(&args),
        Command::Shrink(args) => shrink::shrink(&args),
        Command::Check(args) => check::check(&args),
        Command::Compile(args) => compile::compile(&args),
        Command::Stubs(args) => stubs::stubs(&args),
        Command::Graph(args) => drawing::graph(&args),
        Command::Fmt(args) => formatting::fmt(&args),
        Command::Config(command) => config::config(&command),
        Command::Live(args) => live::live(&args),
        Command::Switch(args) => switch::switch(&args),
        Command::Publish(args) => message::publish(&args),
        Command::Request(args) => message::request(&args),
        Command::Status(args) => status::status(&args),
        Command::Studio(args) => studio::studio(&args),
        Command::Report(args) => studio::report(&args),
        Command::Top(args) => top::top(&args),
        Command::Threads(args) => threads::threads(&args),
        Command::Soc(args) => elsewhere::run("soc", common, &args),
        Command::Bare(args) => elsewhere::run("bare", common, &args),
        Command::Ask(args) => ask::ask(&args),
        Command::Doctor(args) => threads::doctor(&args),
        Command::Gang(args) => gang::gang(&args),
        Command::Phase(args) => gang::phase(&args),
        Command::Vm(args) => vm::vm(&args),
        Command::Components(args) => listing::components(&args),
        Command::Component(command) => component::component(&command),
        Command::Topologies(args) => listing::files(&args, "topology", "topologies", catalogue::TOPOLOGIES),
        Command::Machines(args) => models::machines(&args),
        Command::Workloads(args) => models::workloads(&args),
        Command::Scenarios(args) => listing::files(&args, "scenario", "scenarios", catalogue::SCENARIOS),
        Command::Packages(args) => listing::files(&args, "package", "packages", catalogue::PACKAGES),
        Command::Completions { shell } => pages::completions(shell),
        Command::Man { dir } => pages::man(&words::RUNWEIR, &dir),
        Command::Docs { dir } => pages::docs(&dir),
    }
}
