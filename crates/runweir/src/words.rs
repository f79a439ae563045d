// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The command line as people read it: commands in groups, texts behind the options that fit the terminal, and the nearest
//! command to one that does not exist.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, FromArgMatches};
use weir_report::{Screen, pairs_at, wrap};

use crate::args::{Cli, STYLES};
use crate::complete;
use crate::fault::Fault;
use crate::output::{self, Colour};

/// Commands in a row of the list, and what they do; empty: what the command itself says.
pub type Row = (&'static [&'static str], &'static str);

/// What somebody wants to do, and the commands for it.
const GROUPS: [(&str, &[Row]); 8] = [
    (
        "Simulate",
        &[
            (&["tour"], ""),
            (&["run"], ""),
            (&["compare"], ""),
            (&["sweep"], ""),
            (&["analyze"], ""),
            (&["explain"], ""),
            (&["gantt"], ""),
            (&["report"], ""),
        ],
    ),
    (
        "Your own load",
        &[
            (&["record"], ""),
            (&["import"], ""),
            (&["tune"], ""),
            (&["advise"], ""),
            (&["guard"], ""),
            (&["shrink"], ""),
        ],
    ),
    (
        "The running kernel (also behind `live`)",
        &[
            (&["live"], ""),
            (&["switch"], ""),
            (&["status", "top"], "Show the running scheduler: once, or again and again"),
            (&["publish", "request"], "Tell the running scheduler something, or ask it"),
            (&["config"], ""),
            (&["gang", "phase"], "Run a program as a gang: its threads run at the same time"),
            (&["vm"], ""),
        ],
    ),
    (
        "Programs, without root",
        &[(&["threads"], ""), (&["ask", "doctor"], "Ask which CPUs are near or idle; measure wake-ups here")],
    ),
    (
        "Write a scheduler",
        &[
            (&["studio"], ""),
            (&["check", "fmt"], "Check topologies without running them; format them"),
            (&["graph"], ""),
            (&["component"], ""),
            (&["compile", "stubs"], "Plans for C runtimes; typed messages for C and Rust"),
        ],
    ),
    (
        "The catalogue",
        &[
            (&["topologies", "components", "machines"], "List them, or show one:"),
            (&["workloads", "scenarios", "packages"], "runweir topologies edf"),
        ],
    ),
    (
        "Research (runweir-lab)",
        &[(&["reproduce", "bare", "soc"], "Papers' figures; our own kernel; simulated cores")],
    ),
    ("Assistants and shells", &[(&["mcp"], ""), (&["completions"], ""), (&["help"], "")]),
];

/// Widest help text.
const WIDEST: usize = 100;

/// A program's command line: what clap knows of it, and its commands by what somebody wants to do.
pub struct Program {
    pub command: fn() -> Command,
    pub groups: &'static [(&'static str, &'static [Row])],
}

pub const RUNWEIR: Program = Program { command: Cli::command, groups: &GROUPS };

impl Program {
    /// What the arguments of the process say. Where they cannot be understood, the process ends with status 2 and an explanation.
    pub fn read<C: FromArgMatches>(&self) -> C {
        let colour = output::colour_asked(std::env::args_os().skip(1));
        let command =
            self.fitted(output::terminal_width().unwrap_or(WIDEST).min(WIDEST)).color(match colour {
                Colour::Always => clap::ColorChoice::Always,
                Colour::Never => clap::ColorChoice::Never,
                Colour::Auto => clap::ColorChoice::Auto,
            });
        let parsed = command.try_get_matches().and_then(|m| C::from_arg_matches(&m));
        parsed.unwrap_or_else(|e| match e.kind() {
            ErrorKind::InvalidUtf8 => {
                output::show(&not_text(std::env::args_os()).diags);
                std::process::exit(2)
            }
            _ => self.suggest(e).exit(),
        })
    }

    /// The command line with texts of at most `width` columns.
    pub fn fitted(&self, width: usize) -> Command {
        let mut top = (self.command)().term_width(width);
        top = top.mut_subcommands(|sub| fit(sub, width));
        top = with_text(top, width);
        let list = self.list(&top, width);
        top.help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}{{after-help}}"
        ))
    }

    /// Commands with what they do, by group: one screen.
    fn list(&self, top: &Command, width: usize) -> String {
        let header = STYLES.get_header();
        let about = |name: &str| {
            let found = top.get_subcommands().find(|s| s.get_name() == name);
            match (found, name) {
                (Some(sub), _) => sub.get_about().map(StyledStr::to_string).unwrap_or_default(),
                (None, "help") => "Print this list, or the help of a command".into(),
                (None, other) => panic!("there is no command `{other}`"),
            }
        };
        let row = |(names, text): &Row| {
            let text = if text.is_empty() { about(names[0]) } else { (*text).into() };
            (names.join(", "), text)
        };
        let group = |(title, rows): &(&str, &[Row])| {
            let rows: Vec<(String, String)> = rows.iter().map(row).collect();
            let screen = Screen { width, colour: false };
            let column = rows.iter().map(|r| cells(&r.0)).max().unwrap_or(0).clamp(COMMAND, 32);
            format!("{header}{title}:{header:#}\n{}", pairs_at(&rows, column, &screen))
        };
        self.groups.iter().map(group).collect::<String>().trim_end().into()
    }

    /// The error with the command that was most likely meant, first.
    fn suggest(&self, mut error: clap::Error) -> clap::Error {
        if error.kind() == ErrorKind::InvalidSubcommand
            && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand).cloned()
        {
            let top = (self.command)();
            let names: Vec<&str> =
                top.get_subcommands().filter(|s| !s.is_hide_set()).map(|s| s.get_name()).collect();
            let near = weir_text::suggest::nearest(&word, names);
            match near {
                Some(near) => {
                    error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near.into()]))
                }
                None => error.remove(ContextKind::SuggestedSubcommand),
            };
        }
        error
    }
}

/// The command line for a shell that completes a word of it.
pub fn completed() -> Command {
    complete::attach(Cli::command())
}

/// A command and those below it, for the width.
fn fit(command: Command, width: usize) -> Command {
    let command = command.term_width(width);
    let command =
        if command.has_subcommands() { command.mut_subcommands(|sub| fit(sub, width)) } else { command };
    with_text(command, width)
}

/// The text behind the options, broken for the width.
fn with_text(command: Command, width: usize) -> Command {
    match command.get_after_help().map(StyledStr::to_string) {
        Some(text) => command.after_help(reflow(&text, width)),
        None => command,
    }
}

/// Columns of most rows of commands.
const COMMAND: usize = 16;

/// Break a text for `width` columns. Indented lines are examples, a remark after two spaces or more; the others are
/// paragraphs.
pub fn reflow(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("  ") {
            let mut block = vec![line];
            while let Some(next) = lines.next_if(|l| l.starts_with("  ")) {
                block.push(next);
            }
            out += &examples(&block, width);
        } else if line.trim().is_empty() {
            out.push('\n');
        } else {
            let mut paragraph = line.trim().to_string();
            // A line that ends as a heading does stands alone.
            while !paragraph.ends_with(':') {
                let Some(next) = lines.next_if(|l| !l.starts_with("  ") && !l.trim().is_empty()) else {
                    break;
                };
                paragraph.push(' ');
                paragraph.push_str(next.trim());
            }
            for line in wrap(&paragraph, width) {
                out += &line;
                out.push('\n');
            }
        }
    }
    out.trim_end().to_string()
}

/// A command and the remark behind it.
fn remark(line: &str) -> (&str, &str) {
    let line = line.trim();
    match line.find("  ") {
        Some(at) => (&line[..at], line[at..].trim()),
        None => (line, ""),
    }
}

fn examples(block: &[&str], width: usize) -> String {
    let column = block.iter().map(|l| remark(l)).filter(|(_, r)| !r.is_empty()).map(|(c, _)| cells(c)).max();
    let column = column.unwrap_or(0);
    let fits = |(command, remark): (&str, &str)| match remark {
        "" => 2 + cells(command) <= width,
        remark => 2 + column.max(cells(command)) + 2 + cells(remark) <= width,
    };
    // Remarks beside all commands, or below all.
    let beside = block.iter().all(|l| fits(remark(l)));
    let mut out = String::new();
    for line in block {
        // Lines of a file keep the place that they have.
        if line.starts_with("   ") && remark(line).1.is_empty() {
            out += line;
            out.push('\n');
            continue;
        }
        let (command, remark) = remark(line);
        if beside {
            out += format!("  {command:<column$}  {remark}").trim_end();
            out.push('\n');
            continue;
        }
        for (i, part) in broken(command, width - 2).iter().enumerate() {
            out += &format!("{}{part}\n", if i == 0 { "  " } else { "      " });
        }
        if !remark.is_empty() {
            for part in wrap(remark, width - 6) {
                out += &format!("      {part}\n");
            }
        }
    }
    out
}

/// A command in lines that a shell takes for one.
fn broken(command: &str, room: usize) -> Vec<String> {
    if cells(command) <= room {
        return vec![command.to_string()];
    }
    let mut lines = wrap(command, room - 6);
    let last = lines.len() - 1;
    lines[..last].iter_mut().for_each(|l| l.push_str(" \\"));
    lines
}

fn cells(text: &str) -> usize {
    text.chars().count()
}

/// An argument has bytes that are no text, where text is expected.
fn not_text(args: impl Iterator<Item = std::ffi::OsString>) -> Fault {
    let found = (0..).zip(args).find_map(|(i, arg)| match arg.to_str() {
        Some(_) => None,
        None => Some(format!("argument {i}, `{}`, is not UTF-8", arg.to_string_lossy().escape_debug())),
    });
    Fault::user(
        found.unwrap_or_else(|| "an argument is not UTF-8".into()),
        "topologies, machines, workloads and values are written in UTF-8: rename the file, or give a link to it (ln -s); folders of results may have any name",
    )
}

#[cfg(all(test, feature = "default"))]
mod tests {
    use super::*;
    use crate::{examples, pages, topology};

    /// Every example of every page is understood (those of the research wing by its own tests), and the topologies that it names
    /// are there: `sudo runweir switch fair` was in four texts, and nothing is called `fair`.
    #[test]
    fn examples_are_understood() {
        let mut count = 0;
        let made = [pages::help(&RUNWEIR, "Help texts"), pages::components()];
        let made = made.iter().map(|text| examples::in_text("help", text));
        for all in examples::pages().iter().map(|page| examples::of(page)).chain(made) {
            for example in all {
                if example.words.first().is_none_or(|w| w.starts_with('-') && w != "--load") {
                    continue;
                }
                let words = std::iter::once("runweir").chain(example.words.iter().map(String::as_str));
                let shown = example.words.join(" ");
                let matches = match Cli::command().try_get_matches_from(words) {
                    Ok(matches) => matches,
                    Err(e) if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
                        continue;
                    }
                    Err(e) => panic!("{}: runweir {shown}: {e}", example.place),
                };
                count += 1;
                let (_, sub) = matches.subcommand().expect("a command is required");
                let command = Cli::command();
                let found = command
                    .find_subcommand(matches.subcommand_name().unwrap_or_default())
                    .expect("it is there");
                let of_t = found.get_arguments().filter(|a| a.get_value_names().is_some_and(|v| v[0] == "T"));
                for id in of_t.map(|a| a.get_id().as_str()) {
                    let Ok(Some(names)) = sub.try_get_many::<String>(id) else { continue };
                    for name in names.filter(|n| !n.contains(['.', '/']) && *n != "-") {
                        let found = topology::source(name);
                        assert!(
                            found.is_ok(),
                            "{}: runweir {shown}: there is no topology `{name}`",
                            example.place
                        );
                    }
                }
            }
        }
        assert!(count > 150, "only {count} examples were found");
    }

    /// Each command is in one group, and every command's short options mean the same.
    #[test]
    fn commands_and_options_are_alike() {
        let top = Cli::command();
        let rows = GROUPS.iter().flat_map(|(_, rows)| rows.iter());
        let listed: Vec<&str> = rows.flat_map(|(names, _)| names.iter().copied()).collect();
        for sub in top.get_subcommands().filter(|s| !s.is_hide_set()) {
            let name = sub.get_name();
            assert_eq!(listed.iter().filter(|n| **n == name).count(), 1, "{name} in the list of commands");
        }
        // Those within commands, too: `component test`, `gang check`, `live switch`.
        let mut all: Vec<&Command> = top.get_subcommands().filter(|s| !s.is_hide_set()).collect();
        let mut at = 0;
        while at < all.len() {
            let sub = all[at];
            at += 1;
            all.extend(sub.get_subcommands());
            let name = sub.get_name();
            for arg in sub.get_arguments() {
                let long = arg.get_long().unwrap_or_default();
                let meaning = match arg.get_short() {
                    Some('t') => long == "topology",
                    Some('m') => long == "machine",
                    Some('w') => long == "workload",
                    Some('d') => long == "duration",
                    Some('s') => long == "seed" || long == "speed",
                    Some('q') => long == "quiet",
                    // One file or a folder, where the results go.
                    Some('o') => matches!(long, "out" | "output"),
                    Some('a') => long == "all",
                    Some('n') => long == "dry-run",
                    Some('i') => long == "interval",
                    Some('j') => long == "jobs",
                    _ => true,
                };
                assert!(meaning, "{name}: -{} is --{long}", arg.get_short().unwrap_or(' '));
                let place = arg.is_positional() && arg.get_value_names().is_some_and(|v| v[0] == "T");
                let has_t = sub.get_arguments().any(|a| a.get_short() == Some('t'));
                assert!(!place || has_t, "{name} takes a scheduler in its place, but not behind -t");
            }
        }
    }

    /// The list of commands is one screen.
    #[test]
    fn commands_are_one_screen() {
        for width in [80, 100] {
            let text = RUNWEIR.fitted(width).render_help().to_string();
            assert!(text.lines().count() <= 50, "{} lines at {width}:\n{text}", text.lines().count());
        }
    }

    /// Texts behind the options fit every terminal, and are broken once only.
    #[test]
    fn help_fits() {
        for width in [60, 80, 100] {
            let mut top = RUNWEIR.fitted(width);
            top.build();
            for sub in top.get_subcommands() {
                let Some(text) = sub.get_after_help() else { continue };
                for line in text.to_string().lines() {
                    assert!(cells(line) <= width, "{} at {width}: {line}", sub.get_name());
                }
            }
            for line in top.render_help().to_string().lines() {
                assert!(cells(line) <= width, "at {width}: {line}");
            }
        }
    }

    #[test]
    fn paragraphs_are_joined_and_examples_kept() {
        let text = "Examples:\n  runweir a      remark\n  runweir bb     other\n\nOne two\nthree four.";
        assert_eq!(
            reflow(text, 60),
            "Examples:\n  runweir a   remark\n  runweir bb  other\n\nOne two three four."
        );
        assert_eq!(reflow("one two three\nfour", 9), "one two\nthree\nfour");
        let long = "  runweir compare --aaaaaaaaaa bbbbbbbbbbbb --cccccccc ddddddd";
        assert_eq!(
            reflow(long, 40),
            "  runweir compare --aaaaaaaaaa \\\n      bbbbbbbbbbbb --cccccccc ddddddd"
        );
    }

    #[test]
    fn the_command_that_was_meant_is_named() {
        for (word, meant) in [("rn", "'run'"), ("compere", "'compare'"), ("topology", "'topologies'")] {
            let error = Cli::command().try_get_matches_from(["runweir", word]).expect_err("no such command");
            let text = RUNWEIR.suggest(error).to_string();
            assert!(text.contains(meant) && !text.contains("completions"), "{word}: {text}");
        }
    }
}
