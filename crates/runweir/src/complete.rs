// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Words that shells complete: what the name of a value stands for, the same in every command.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::builder::StyledStr;
use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use weir::complete::{self, Choice};

/// Give each argument of the command, and of those below it, the words for its value.
pub fn attach(command: Command) -> Command {
    let name = command.get_name().to_string();
    let command = command.mut_args(|arg| offer(&name, arg));
    if command.has_subcommands() { command.mut_subcommands(attach) } else { command }
}

fn offer(command: &str, arg: Arg) -> Arg {
    let value = arg.get_value_names().and_then(<[_]>::first).map(ToString::to_string).unwrap_or_default();
    let catalogue = |which: fn() -> Vec<Choice>| move |_: &str| which();
    let completer = match (value.as_str(), command) {
        ("T", _) => with_files(catalogue(complete::topologies), &["weir"]),
        ("M", _) => with_files(catalogue(complete::machines), &["xml", "toml"]),
        ("W", _) => with_files(complete::workloads, &["json", "xml", "toml", "csv"]),
        ("S", _) => with_files(catalogue(complete::scenarios), &["toml"]),
        ("COSTS", _) => with_files(catalogue(complete::costs), &["toml"]),
        ("COMP.PARAM=V", _) => with_files(complete::parameters, &[]),
        ("METRIC" | "CONDITION", _) => with_files(catalogue(complete::metrics), &[]),
        ("TASK@TIME", _) => ArgValueCompleter::new(tasks),
        ("NAME", "components") => with_files(catalogue(complete::components), &[]),
        ("NAME", "topologies") => with_files(catalogue(complete::topologies), &[]),
        ("NAME", "workloads") => with_files(complete::workloads, &[]),
        ("NAME", "scenarios") => with_files(catalogue(complete::scenarios), &[]),
        ("NAME", "packages") => with_files(catalogue(complete::packages), &[]),
        _ => return arg,
    };
    arg.add(completer)
}

/// Words, and files with one of the endings.
fn with_files(
    words: impl Fn(&str) -> Vec<Choice> + Send + Sync + 'static,
    endings: &'static [&'static str],
) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let Some(text) = current.to_str() else { return Vec::new() };
        let fits = |c: &Choice| c.word.starts_with(text);
        let mut all: Vec<CompletionCandidate> = words(text).into_iter().filter(fits).map(candidate).collect();
        if !endings.is_empty() {
            let ends = |p: &Path| p.extension().is_some_and(|e| endings.iter().any(|x| e == OsStr::new(x)));
            all.extend(PathCompleter::any().filter(move |p| ends(p) || p.is_dir()).complete(current));
        }
        all
    })
}

fn candidate(choice: Choice) -> CompletionCandidate {
    let help = (!choice.help.is_empty()).then(|| StyledStr::from(choice.help));
    CompletionCandidate::new(choice.word).help(help)
}

/// Tasks of the run that the words before name.
fn tasks(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(text) = current.to_str() else { return Vec::new() };
    // What is being completed follows `--`.
    let words: Vec<OsString> = std::env::args_os().skip_while(|a| a != "--").skip(1).collect();
    let run = words.iter().map(PathBuf::from).find(|p| p.join("summary.json").is_file());
    let all = run.map(|folder| complete::tasks(&folder)).unwrap_or_default();
    all.into_iter().filter(|c| c.word.starts_with(text)).map(candidate).collect()
}
