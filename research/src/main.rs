// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The program of the research wing, `runweir-lab`: commands as those of `runweir`, which passes them on
//! (`runweir reproduce` is `runweir-lab reproduce`). `docs/command-line.md` is the contract of both.

mod commands;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand, ValueHint};
use commands::{bare, reproduce, soc};
use runweir::args::{Common, STYLES};
use runweir::words::Program;
use runweir::{complete, pages};
use weir::Result;

#[global_allocator]
static MEMORY: weir_core::memory::OrEnd = weir_core::memory::OrEnd;

/// Reproduce published results, and run schedulers on simulated hardware and on a bare multikernel.
#[derive(Debug, Parser)]
#[command(name = "runweir-lab", version, styles = STYLES)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Reproduce the papers' tables and figures, with a verdict for each claim
    Reproduce(reproduce::ReproduceArgs),
    /// Run a program on simulated RISC-V cores, with the scheduler in software or in hardware
    Soc(soc::SocArgs),
    /// Boot the bare multikernel in an emulator with a scheduler and programs
    Bare(bare::BareArgs),
    /// Write the man pages into a folder
    #[command(hide = true)]
    Man {
        /// Folder that receives runweir-lab.1 and a page for each command
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
    /// Write lab.md, the Markdown page made from this program, into a folder
    #[command(hide = true)]
    Docs {
        /// Folder that receives the page
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
}

const LAB: Program = Program {
    command: Cli::command,
    groups: &[("Research", &[(&["reproduce"], ""), (&["soc"], ""), (&["bare"], "")])],
};

fn main() -> ExitCode {
    clap_complete::CompleteEnv::with_factory(|| complete::attach(Cli::command())).complete();
    let Cli { common, command } = LAB.read();
    runweir::ended(&common, || dispatch(command))
}

fn dispatch(command: Command) -> Result<ExitCode> {
    match command {
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Soc(args) => soc::soc(&args),
        Command::Bare(args) => bare::bare(&args),
        Command::Man { dir } => pages::man(&LAB, &dir),
        Command::Docs { dir } => {
            weir::outdir::replace_file(
                &dir.join("lab.md"),
                pages::help(&LAB, "Help texts of the lab").as_bytes(),
            )?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

#[cfg(test)]
#[path = "../../crates/runweir/src/examples.rs"]
#[allow(dead_code)]
mod examples;

#[cfg(test)]
mod tests {
    use super::*;

    /// Every example of every page that names a command of this program is understood.
    #[test]
    fn examples_are_understood() {
        let mut count = 0;
        let made = examples::in_text("help", &pages::help(&LAB, "Help texts of the lab"));
        for all in examples::pages().iter().map(|page| examples::of(page)).chain([made]) {
            for example in all {
                let known = |w: &String| Cli::command().find_subcommand(w).is_some();
                if !example.words.first().is_some_and(known) {
                    continue;
                }
                let words = std::iter::once("runweir-lab").chain(example.words.iter().map(String::as_str));
                if let Err(e) = Cli::command().try_get_matches_from(words) {
                    panic!("{}: runweir {}: {e}", example.place, example.words.join(" "));
                }
                count += 1;
            }
        }
        assert!(count > 30, "only {count} examples were found");
    }
}
