// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Pages made from the program: completions, man pages, and the Markdown of the help and the components.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use weir_report::Screen;

use crate::fault::{Fault, Result};
use crate::listing::{CLASSES, manual};
use crate::outdir::replace_file;
use crate::output::print;
use crate::words::{self, Program};

/// `runweir completions SHELL`: a script that asks the program, so that it knows what the program knows.
pub fn completions(shell: clap_complete::Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    let shells = clap_complete::env::Shells::builtins();
    let shell = shells.completer(&shell.to_string()).expect("every shell of the list is known");
    shell.write_registration("COMPLETE", "runweir", "runweir", "runweir", &mut script).map_err(|e| {
        Fault::system(format!("cannot make the script: {e}"), "this is a bug in runweir; please report it")
    })?;
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// `runweir man DIR`: `runweir.1` and one page for each command.
pub fn man(program: &Program, dir: &Path) -> Result<ExitCode> {
    make(dir)?;
    let mut top = program.fitted(usize::from(u16::MAX)).disable_help_subcommand(true);
    top.build();
    page(dir, top.clone(), top.get_name())?;
    for sub in top.get_subcommands().filter(|s| !s.is_hide_set()) {
        let name = format!("{}-{}", top.get_name(), sub.get_name());
        page(dir, sub.clone().version(env!("CARGO_PKG_VERSION")), &name)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `runweir docs DIR`: `reference.md`, `help.md` and `settings.md`.
pub fn docs(dir: &Path) -> Result<ExitCode> {
    make(dir)?;
    replace_file(&dir.join("reference.md"), components().as_bytes())?;
    replace_file(&dir.join("help.md"), help(&words::RUNWEIR, "Help texts").as_bytes())?;
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
pub fn components() -> String {
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
                manual(c, &Screen::default())
            );
        }
    }
    text
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

/// A page with the help text of every command.
pub fn help(program: &Program, title: &str) -> String {
    let mut text =
        format!("# {title}\n\nMade by `make docs`. Background: [command-line.md](command-line.md).\n");
    let mut top = program.fitted(100);
    top.build();
    let own = top.get_name().to_string();
    let mut add = |name: &str, command: &mut clap::Command| {
        let help = command.render_long_help().to_string();
        let help: String = help.lines().map(|l| l.trim_end().to_string() + "\n").collect();
        let _ = write!(text, "\n## {name}\n\n```text\n{help}```\n");
    };
    add(&own, &mut top.clone());
    for sub in top.get_subcommands().filter(|s| !s.is_hide_set() && s.get_name() != "help") {
        add(&format!("{own} {}", sub.get_name()), &mut sub.clone().term_width(100));
    }
    text
}

fn page(dir: &Path, command: clap::Command, name: &str) -> Result<()> {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let synopsis = synopsis(&command, name);
    let command = command.after_help("");
    let has_commands = command.has_subcommands();
    let man = clap_mangen::Man::new(command)
        .title(name)
        .date("")
        .source(format!("runweir {}", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    let made = (|| {
        man.render_title(&mut text)?;
        man.render_name_section(&mut text)?;
        text.write_all(synopsis.as_bytes())?;
        man.render_description_section(&mut text)?;
        man.render_options_section(&mut text)?;
        if has_commands {
            man.render_subcommands_section(&mut text)?;
        }
        text.write_all(behind(&after).as_bytes())?;
        man.render_version_section(&mut text)
    })();
    made.map_err(|e: std::io::Error| {
        Fault::system(
            format!("cannot make the page {name}.1: {e}"),
            "this is a bug in runweir; please report it",
        )
    })?;
    replace_file(&dir.join(format!("{name}.1")), &text)
}

/// Text that is no request to the formatter.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

/// The call with all that it takes, values included.
fn synopsis(command: &clap::Command, name: &str) -> String {
    let mut parts = vec![format!("\\fB{}\\fR", escaped(&name.replacen('-', " ", 1)))];
    let shown = |a: &&clap::Arg| !a.is_hide_set() && !matches!(a.get_id().as_str(), "help" | "version");
    let values = |a: &clap::Arg| {
        let names = a.get_value_names().unwrap_or_default();
        names.iter().map(|n| format!("\\fI{}\\fR", escaped(n))).collect::<Vec<_>>().join(" ")
    };
    for option in command.get_opts().filter(shown) {
        let short = option.get_short().map(|s| format!("\\fB\\-{s}\\fR"));
        let long = option.get_long().map(|l| format!("\\fB\\-\\-{}\\fR", escaped(l)));
        let word = [short, long].into_iter().flatten().collect::<Vec<_>>().join("|");
        let word = format!("{word} {}", values(option));
        parts.push(if option.is_required_set() { word } else { format!("[{}]", word.trim_end()) });
    }
    for flag in
        command.get_arguments().filter(|a| !a.is_positional() && !a.get_action().takes_values()).filter(shown)
    {
        let word = flag.get_long().map_or_else(String::new, |l| format!("\\fB\\-\\-{}\\fR", escaped(l)));
        parts.push(format!("[{word}]"));
    }
    for place in command.get_positionals().filter(shown) {
        let word = format!("{}{}", if place.is_last_set() { "\\-\\- " } else { "" }, values(place));
        let many = if place.get_action().takes_values()
            && place.get_num_args().is_some_and(|n| n.max_values() > 1)
        {
            "…"
        } else {
            ""
        };
        parts.push(if place.is_required_set() { word + many } else { format!("[{word}{many}]") });
    }
    if command.has_subcommands() {
        parts.push("\\fICOMMAND\\fR".into());
    }
    format!(".SH SYNOPSIS\n{}\n", parts.join(" "))
}

/// The text behind the options: examples under a heading of their own, then what is to be known.
fn behind(text: &str) -> String {
    let mut out = String::new();
    let mut heading = ".SH NOTES\n";
    let mut inside = false;
    for line in text.lines() {
        if matches!(line, "Examples:" | "Start here:") {
            out += ".SH EXAMPLES\n";
            heading = ".SH NOTES\n";
            continue;
        }
        if line.starts_with("  ") {
            if !inside {
                out += ".nf\n";
                inside = true;
            }
            out += &format!("{}\n", escaped(line));
            continue;
        }
        if inside {
            out += ".fi\n";
            inside = false;
        }
        match line.trim() {
            "" if !heading.is_empty() => {}
            "" => out += ".PP\n",
            text => {
                out += std::mem::take(&mut heading);
                out += &format!("{}\n", escaped(text));
            }
        }
    }
    if inside {
        out += ".fi\n";
    }
    out
}
