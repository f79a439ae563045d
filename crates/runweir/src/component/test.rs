// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir component test`: what the test suite does with the catalogue's components, for one of the user's own.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueHint};
use weir_testbench::trial::{self, Effort};
use weir_testbench::wtest::{self, Outcome};

use super::build::Built;
use crate::args::parse_seed;
use crate::fault::{Blame, Diag, Fault, Result};
use crate::input;
use crate::output::{note, print, show};
use crate::units::plural;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir component test mine.c
  runweir component test mine.c --cases 2000 --seed 7

It builds the component as `component build` does, writes nothing, and runs
  - FILE.wtest and FILE_*.wtest beside the file;
  - the law: on graphs made from the descriptor, after every step of random histories (tasks come, block,
    migrate and end, CPUs go, instances are replaced), the out-pipes hold what the class promises for the
    in-pipes, a fresh instance agrees, and no task is lost or there twice. The shortest history that breaks
    it is shown.
Exit status: 1 if a test fails, 2 if the file does not compile.")]
pub struct TestArgs {
    /// The component's file
    #[arg(value_name = "FILE.c", value_hint = ValueHint::FilePath)]
    pub source: PathBuf,
    /// CPUs of the largest machine for the law
    #[arg(short, long, value_name = "N", default_value_t = trial::MAX_CPUS, value_parser = clap::value_parser!(u32).range(1..=i64::from(trial::MAX_CPUS)))]
    pub cpus: u32,
    /// Histories on four CPUs; on larger machines there are fewer
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub cases: u32,
    /// Seed of the histories
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    pub seed: u64,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

/// Machines of the law: CPUs, the part of the histories that they get, and steps at most. Many CPUs take many tasks to fill.
const SIZES: [(u32, u32, usize); 5] = [(4, 1, 80), (1, 8, 80), (16, 8, 120), (64, 16, 250), (256, 25, 600)];

/// Build, run the scripts, try the law.
pub fn test(args: &TestArgs) -> Result<ExitCode> {
    let built = Built::of(&args.source, false)?;
    let say = |text: String| if args.quiet { Ok(()) } else { print(&text) };
    say(format!("{}: builds, and can be loaded\n", built.info.name))?;
    // A broken component makes the core panic, too: what it says of itself is in the result.
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let found = scripts(args, &say).and_then(|failed| {
        let law = law(args, &built, &say)?;
        Ok(failed.into_iter().chain(law).collect::<Vec<_>>())
    });
    std::panic::set_hook(before);
    let failed = found?;
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Fault { blame: Blame::System, diags: failed })
}

/// The `.wtest` files of the component: what failed.
fn scripts(args: &TestArgs, say: &dyn Fn(String) -> Result<()>) -> Result<Vec<Diag>> {
    let files = beside(&args.source);
    let mut failed = Vec::new();
    if files.is_empty() && !args.quiet {
        let name = args.source.with_extension("wtest");
        let message = format!("there is no test `{}`", name.display());
        let help = "say there what the component is to do: docs/wtest.md; `runweir component new` writes one";
        show(&[Diag::warning(message).help(help)]);
    }
    for file in files {
        let shown = file.display().to_string();
        let text = input::read_text(&shown)?;
        let outcome = weir_core::crash::catch(|| wtest::run(&text));
        let outcome = outcome.unwrap_or_else(|crash| {
            Err(wtest::Failure { line: 0, message: format!("{crash}, called by the script") })
        });
        match outcome {
            Ok(Outcome::Passed) => say(format!("{shown}: passed\n"))?,
            Ok(Outcome::Skipped) => say(format!("{shown}: skipped: `%targets` does not name native\n"))?,
            Err(e) => {
                let start: usize =
                    text.split_inclusive('\n').take(e.line.saturating_sub(1)).map(str::len).sum();
                let line = text[start..].lines().next().unwrap_or_default();
                let code = line.split('#').next().unwrap_or_default().trim_end().len();
                let message =
                    e.message.strip_prefix(&format!("{}: ", line[..code].trim())).unwrap_or(&e.message);
                let diag = Diag::error(format!("{shown} fails: {message}")).source(&shown, &text);
                failed.push(if e.line == 0 { diag } else { diag.label(start..start + code, None) });
            }
        }
    }
    Ok(failed)
}

/// `mine.wtest` and `mine_….wtest` beside `mine.c`, in order.
fn beside(source: &Path) -> Vec<PathBuf> {
    let name = source.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
    let folder = source.parent().unwrap_or(Path::new(""));
    let list = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let ours = |path: &Path| {
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
        let of_it = stem.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
        // `mine_too.c` has a test of its own.
        of_it
            && path.extension().is_some_and(|e| e == "wtest")
            && (stem == name || !path.with_extension("c").exists())
    };
    let mut all: Vec<PathBuf> = std::fs::read_dir(list)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .filter(|p| ours(p))
        .collect();
    all.sort();
    all.into_iter().map(|p| folder.join(p.file_name().unwrap_or_default())).collect()
}

/// The law on machines of every size: how it fails.
fn law(args: &TestArgs, built: &Built, say: &dyn Fn(String) -> Result<()>) -> Result<Option<Diag>> {
    for (cpus, part, steps) in SIZES.into_iter().filter(|s| s.0 <= args.cpus) {
        let effort = Effort { cpus, cases: (args.cases / part).max(1), steps, seed: Some(args.seed) };
        match trial::law(&built.info, effort) {
            Ok(tried) => say(format!(
                "the law on {}: holds ({} histories on {}, {})\n",
                plural(cpus, "CPU"),
                tried.histories,
                plural(tried.graphs, "graph"),
                plural(tried.steps, "step")
            ))?,
            Err(broken) => {
                note(&broken.to_string());
                let message = format!("`{}` breaks the law on {}", built.info.name, plural(cpus, "CPU"));
                let help = "the shortest history that was found is above; write it into a .wtest and go on from there";
                return Ok(Some(Diag::error(message).help(help)));
            }
        }
    }
    Ok(None)
}
