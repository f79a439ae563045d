// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir component new`: a component that works, to begin with.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueEnum, ValueHint};
use weir_core::{catalog, loaded};

use super::is_name;
use crate::fault::{Fault, Result};
use crate::outdir::replace_file;
use crate::output::note;

/// Classes of components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Puts the tasks of a pipe into an order
    Order,
    /// Lets some tasks of a pipe pass
    Filter,
    /// Spreads tasks over several pipes: over CPUs, for example
    Distribute,
    /// Joins several pipes
    Merge,
    /// Knows something about each task, and answers those who ask
    Annotate,
    /// Does something for others, without tasks of its own
    Service,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir component new mine --kind order
  runweir component test mine.c
  runweir component build mine.c

It writes NAME.c, which compiles and obeys the law as it is, and NAME.wtest, which passes.")]
pub struct NewArgs {
    /// The component's name, a lower-case word: file, prefix of its functions, word of the language
    #[arg(value_name = "NAME", value_parser = Text::new())]
    pub name: String,
    /// What it is to do
    #[arg(short, long, value_name = "KIND")]
    pub kind: Kind,
    /// Folder to write into; the current one if left out
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long)]
    pub force: bool,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

/// A skeleton and its test; in both, `NAME` stands for the component's name.
fn skeleton(kind: Kind) -> (&'static str, &'static str) {
    macro_rules! files {
        ($kind:literal) => {
            (
                include_str!(concat!("skeletons/", $kind, ".c")),
                include_str!(concat!("skeletons/", $kind, ".wtest")),
            )
        };
    }
    match kind {
        Kind::Order => files!("order"),
        Kind::Filter => files!("filter"),
        Kind::Distribute => files!("distribute"),
        Kind::Merge => files!("merge"),
        Kind::Annotate => files!("annotate"),
        Kind::Service => files!("service"),
    }
}

/// Write both files, or none.
pub fn new(args: &NewArgs) -> Result<ExitCode> {
    let name = args.name.as_str();
    if !is_name(name) {
        return Err(Fault::user(
            format!("`{}` is not a component name", name.escape_debug()),
            "take a lower-case word of letters, digits and _, such as shortest_first",
        ));
    }
    if let Some(c) = catalog().get(name).filter(|c| !loaded::is_loaded(c.id)) {
        return Err(Fault::user(
            format!("there is a component `{name}` already: {}", c.summary),
            format!("choose another name; `runweir components {name}` shows that one's manual"),
        ));
    }
    let folder = args.out.as_deref().unwrap_or(Path::new(""));
    if !folder.as_os_str().is_empty() && !folder.is_dir() {
        return Err(Fault::user(format!("{} is not a folder", folder.display()), "make it first: mkdir"));
    }
    let (code, test) = skeleton(args.kind);
    let files = [("c", code), ("wtest", test)].map(|(ending, text)| {
        (folder.join(format!("{name}.{ending}")), aligned(&text.replace("NAME", name)))
    });
    if let Some((there, _)) = files.iter().find(|(path, _)| path.symlink_metadata().is_ok() && !args.force) {
        return Err(Fault::user(
            format!("there is a file {} already", there.display()),
            "choose another name or folder, or replace it with --force",
        ));
    }
    for (path, text) in &files {
        replace_file(path, text.as_bytes())?;
    }
    if !args.quiet {
        note(&format!("written: {}  {}", files[0].0.display(), files[1].0.display()));
        note(&format!("try it: runweir component test {}", files[0].0.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Continuation lines stand below the parenthesis that they belong to, however long the name is.
fn aligned(text: &str) -> String {
    let mut out = String::new();
    // Column of the innermost parenthesis that is open at the end of the line before; 0: none.
    let mut open: Vec<usize> = Vec::new();
    let mut in_comment = false;
    for line in text.lines() {
        let code = !in_comment && !line.trim_start().starts_with("/*");
        let line = match open.last() {
            Some(column) if code => format!("{}{}", indent(*column), line.trim_start()),
            _ => line.to_owned(),
        };
        if code {
            let mut column = 0;
            for c in line.chars() {
                column += if c == '\t' { 8 - column % 8 } else { 1 };
                match c {
                    '(' => open.push(column),
                    ')' => drop(open.pop()),
                    _ => {}
                }
            }
        }
        in_comment = (in_comment || line.contains("/*")) && !line.contains("*/");
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// Tabs of 8, then spaces.
fn indent(column: usize) -> String {
    format!("{}{}", "\t".repeat(column / 8), " ".repeat(column % 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_stand_below_their_parenthesis() {
        let text = "/* f(\n * x */\nf(a,\n\t\t\tb(c,\n  d),\n e);\ng();\n";
        assert_eq!(aligned(text), "/* f(\n * x */\nf(a,\n  b(c,\n    d),\n  e);\ng();\n");
        let (code, _) = skeleton(Kind::Order);
        assert!(code.contains("NAME_step(struct NAME"));
    }
}
