// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The command line of Runweir.
//!
//! Exit status: 0 done, 2 the user's input is wrong, 1 anything else. Results go to stdout,
//! everything else to stderr. `docs/command-line.md` is the contract.

#[cfg(feature = "live")]
mod advise;
mod analyze;
mod args;
#[cfg(feature = "bare")]
mod bare;
mod check;
mod compare;
mod compile;
mod complete;
mod component;
mod config;
mod drawing;
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
mod output;
mod pages;
mod progress;
mod record;
#[cfg(feature = "reproduce")]
mod reproduce;
mod run;
mod shrink;
mod soc;
#[cfg(feature = "live")]
mod status;
mod stop;
mod stubs;
#[cfg(feature = "studio")]
mod studio;
mod sweep;
#[cfg(feature = "live")]
mod switch;
mod threads;
#[cfg(feature = "top")]
mod top;
mod tour;
mod tune;
mod version;
#[cfg(feature = "vm")]
mod vm;
#[cfg(feature = "live")]
mod watched;
mod words;

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
    "bare" bare: BareArgs bare;
    "live" advise: AdviseArgs advise;
    "live" gang: GangArgs gang, PhaseArgs phase;
    "live" live: LiveArgs live;
    "live" message: PublishArgs publish, RequestArgs request;
    "live" status: StatusArgs status;
    "live" switch: SwitchArgs switch;
    "mcp" mcp: McpArgs mcp;
    "reproduce" reproduce: ReproduceArgs reproduce;
    "studio" studio: StudioArgs studio, ReportArgs report;
    "top" top: TopArgs top;
    "vm" vm: VmArgs vm;
}

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::FromArgMatches;
// What commands name as `crate::…`.
#[cfg(feature = "live")]
use weir::scenario;
use weir::{catalogue, fault, input, machine, outdir, topology, units};

use args::{Cli, Command};
use fault::{Blame, Result};

#[global_allocator]
static MEMORY: weir_core::memory::OrEnd = weir_core::memory::OrEnd;

fn main() -> ExitCode {
    // A shell asks for the words that may follow: the process ends here.
    clap_complete::CompleteEnv::with_factory(words::completed).complete();
    // clap ends with status 2 and its own words where the command line cannot be understood.
    let parsed = words::command().try_get_matches().and_then(|m| Cli::from_arg_matches(&m));
    let cli = parsed.unwrap_or_else(|e| match e.kind() {
        clap::error::ErrorKind::InvalidUtf8 => {
            output::show(&words::not_text(std::env::args_os()).diags);
            std::process::exit(2)
        }
        _ => words::suggest(e).exit(),
    });
    output::set_colour(cli.color);
    match catch_unwind(AssertUnwindSafe(|| {
        component::load_all(&cli.load, cli.allow_code).and_then(|()| dispatch(cli.command))
    })) {
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

fn dispatch(command: Command) -> Result<ExitCode> {
    match command {
        Command::Tour => tour::tour(),
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Analyze(args) => analyze::analyze(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
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
        Command::Soc(args) => soc::soc(&args),
        Command::Bare(args) => bare::bare(&args),
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
        Command::Man { dir } => pages::man(&dir),
        Command::Docs { dir } => pages::docs(&dir),
    }
}
