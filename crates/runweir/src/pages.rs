// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Pages made from the program: completions, man pages, and the Markdown of the help and the components.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::Cli;
use crate::fault::{Fault, Result};
use crate::listing::{CLASSES, manual};
use crate::outdir::replace_file;
use crate::output::print;

/// `runweir completions SHELL`.
pub fn completions(shell: clap_complete::Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "runweir", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// `runweir man DIR`: `runweir.1` and one page for each command.
pub fn man(dir: &Path) -> Result<ExitCode> {
    make(dir)?;
    let mut top = Cli::command().disable_help_subcommand(true);
    top.build();
    page(dir, top.clone(), "runweir")?;
    for sub in top.get_subcommands().filter(|s| !s.is_hide_set()) {
        let name = format!("runweir-{}", sub.get_name());
        page(dir, sub.clone().version(env!("CARGO_PKG_VERSION")), &name)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `runweir docs DIR`: `reference.md`, `help.md` and `settings.md`.
pub fn docs(dir: &Path) -> Result<ExitCode> {
    make(dir)?;
    replace_file(&dir.join("reference.md"), components().as_bytes())?;
    replace_file(&dir.join("help.md"), help().as_bytes())?;
    replace_file(&dir.join("settings.md"), weir::ignored::page().as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn make(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).map_err(|e| {
        Fault::user(
            format!("cannot write into {}: {e}", dir.display()),
            "name a folder that you may write to",
        )
    })
}

/// The manual of every component of the repository; those in `components/local/` are the user's own.
fn components() -> String {
    let mut text = String::from(
        "# Components\n\nMade by `make docs` from the headers in `components/`. `runweir components NAME` shows one of them.\n",
    );
    for (class, heading) in CLASSES {
        let (word, meaning) = heading.split_once(": ").unwrap_or((heading, ""));
        let _ = write!(text, "\n## {}\n\nThey {meaning}.\n", capital(word));
        let mut own: Vec<_> = weir_core::catalog().components.iter().filter(|c| c.class == class).collect();
        own.retain(|c| !c.source.starts_with("components/local/"));
        own.sort_by(|a, b| a.name.cmp(&b.name));
        for c in own {
            let _ = write!(
                text,
                "\n### {}\n\n[{}](../{})\n\n```text\n{}```\n",
                c.name,
                c.source,
                c.source,
                manual(c)
            );
        }
    }
    text
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

/// The help text of every command.
fn help() -> String {
    let mut text = String::from(
        "# Help texts\n\nMade by `make docs`. Background: [command-line.md](command-line.md).\n",
    );
    let mut top = Cli::command().term_width(100);
    top.build();
    let mut add = |name: &str, command: &mut clap::Command| {
        let help = command.render_long_help().to_string();
        let help: String = help.lines().map(|l| l.trim_end().to_string() + "\n").collect();
        let _ = write!(text, "\n## {name}\n\n```text\n{help}```\n");
    };
    add("runweir", &mut top.clone());
    for sub in top.get_subcommands().filter(|s| !s.is_hide_set() && s.get_name() != "help") {
        add(&format!("runweir {}", sub.get_name()), &mut sub.clone().term_width(100));
    }
    text
}

fn page(dir: &Path, command: clap::Command, name: &str) -> Result<()> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command)
        .title(name)
        .date("")
        .source(format!("runweir {}", env!("CARGO_PKG_VERSION")))
        .render(&mut text)
        .map_err(|e| {
            Fault::system(
                format!("cannot make the page {name}.1: {e}"),
                "this is a bug in runweir; please report it",
            )
        })?;
    replace_file(&dir.join(format!("{name}.1")), &text)
}
