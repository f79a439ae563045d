// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir component build`: from a C file to a shared object, or to one diagnostic for each mistake at its place in the file.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueHint};
use weir_core::{HEADERS, Topic, catalog, loaded};
use weir_glue::kernel;
use weir_glue::plugin::{self, KernelPart};
use weir_glue::source::{self, Finding};

use super::is_name;
use crate::fault::{Blame, Diag, Fault, Result};
use crate::input;
use crate::outdir::replace_file;
use crate::output::{note, show};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir component build mine.c
  runweir component build mine.rs
  runweir --load mine.so run -t my.weir -m smp-8 -w hackbench:groups=10
  runweir component build --kernel mine.c
  runweir --load mine.so vm -t my.weir -- hackbench -g 4

With --kernel the object holds, beside the component for simulations, a scheduler for the live kernel that has
it: `live`, `switch` and `vm` take it. That needs clang 19 or later on this computer, and half a minute.
The C compiler is `cc` (gcc or clang), or what the environment variable CC says; a component in Rust is compiled
by `rustc`, or what RUSTC says. What is wrong with the file
is said at its place in it, and nothing is written then.")]
pub struct BuildArgs {
    /// The component's file, in C or Rust; its name is the component's
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub source: PathBuf,
    /// Shared object to write; FILE.so if left out
    #[arg(short, long, value_name = "FILE.so", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// For the live kernel, too: recompiles its scheduler with this component (needs clang 19 or later)
    #[arg(long)]
    pub kernel: bool,
}

/// Check, compile, look whether what came out can be loaded, and write it.
pub fn build(args: &BuildArgs) -> Result<ExitCode> {
    let built = Built::of(&args.source, args.kernel)?;
    let output = args.output.clone().unwrap_or_else(|| args.source.with_extension("so"));
    let bytes = std::fs::read(built.object())
        .map_err(|e| Fault::system(format!("cannot read the compiled object: {e}"), "check the disk"))?;
    replace_file(&output, &bytes)?;
    note(&format!("written: {}", output.display()));
    Ok(ExitCode::SUCCESS)
}

/// A component that was compiled and is loaded.
pub struct Built {
    folder: tempfile::TempDir,
    pub info: weir_core::ComponentInfo,
}

impl Built {
    /// Compile the component in a file, and load it. Warnings are shown.
    pub fn of(path: &Path, for_kernel: bool) -> Result<Self> {
        let file = Source::read(path)?;
        let (late, found) = file.check().into_iter().partition(|f| f.late);
        file.refuse(found)?;
        let folder = tempfile::tempdir()
            .map_err(|e| Fault::system(format!("cannot make a temporary folder: {e}"), "check $TMPDIR"))?;
        let object = folder.path().join(format!("{}.so", file.name));
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let compile = |part: Option<&KernelPart<'_>>| {
            let work = folder.path().join("build");
            plugin::build(path, HEADERS, &work, &object, &compiler, part).map_err(|e| {
                let help = "install gcc or clang, or set CC";
                Fault::system(format!("cannot compile with `{compiler}`: {}", input::reason(&e)), help)
            })
        };
        if file.is_rust && for_kernel {
            return Err(Fault::user(
                "a component in Rust cannot go into the kernel",
                "leave --kernel out, or write it in C: docs/components.md",
            ));
        }
        let mut done = compile(None)?;
        file.refuse(std::mem::take(&mut done.findings))?;
        if done.ok && for_kernel {
            let kernel = kernel_side(path, &folder.path().join("kernel"), &file)?;
            done = compile(Some(&KernelPart { object: &kernel.object, entries: &kernel.entries }))?;
        }
        if !done.ok {
            let said = done.said.lines().last().unwrap_or("it said nothing").to_owned();
            return Err(Fault::user(
                format!("`{}` does not compile: {said}", file.shown),
                format!("does `{compiler}` take the options of gcc or clang?"),
            ));
        }
        let bytes = std::fs::read(&object)
            .map_err(|e| Fault::system(format!("cannot read the compiled object: {e}"), "check the disk"))?;
        let refused = |e: loaded::LoadError| {
            let message = e.message.rsplit(" is refused: ").next().unwrap_or(&e.message);
            let word = message.split('`').nth(1).unwrap_or_default();
            let at = source::Text::of(&file.text);
            let at = at.find(word).or(at.name.map(|n| n.at)).unwrap_or(0..0);
            Fault::from(file.diag(false, message, &e.help, at))
        };
        loaded::inspect(&bytes).map_err(refused)?;
        file.refuse(late)?;
        let info = loaded::load(&object).map_err(refused)?;
        Ok(Self { folder, info })
    }

    pub fn object(&self) -> PathBuf {
        self.folder.path().join(format!("{}.so", self.info.name))
    }
}

#[cfg(not(feature = "live"))]
fn kernel_side(_: &Path, _: &Path, _: &Source) -> Result<kernel::Built> {
    Err(Fault::user(
        "this build leaves out what a component for the kernel is compiled with, as that of `make demo` does",
        "`make build` has it: target/release/runweir; without --kernel the component is built here",
    ))
}

/// The scheduler for the kernel, with the component.
#[cfg(feature = "live")]
fn kernel_side(path: &Path, folder: &Path, file: &Source) -> Result<kernel::Built> {
    let oldest = kernel::OLDEST;
    let Some(clang) = kernel::clang() else {
        return Err(Fault::user(
            format!("a component for the kernel is compiled by clang {oldest} or later, and there is none"),
            format!(
                "install it ({}), or name it in $WEIR_CLANG; without --kernel no clang is needed",
                weir_text::packages::install(&["clang-19"])
            ),
        ));
    };
    let failed = |e: std::io::Error| {
        Fault::system(
            format!("cannot compile with `{clang}`: {}", input::reason(&e)),
            "check the disk and $WEIR_CLANG",
        )
    };
    let done = kernel::build(&clang, &weir_linux::sources(), path, folder).map_err(failed)?;
    file.refuse(done.findings.clone())?;
    if !done.ok {
        let said = done.said.lines().find(|l| l.contains("error")).unwrap_or("it said nothing").to_owned();
        return Err(Fault::user(
            format!("`{}` does not compile for the kernel: {said}", file.shown),
            "the rules of the language are in docs/components.md: bounded loops, weir_mem on pointers, small frames",
        ));
    }
    Ok(done)
}

/// The component's file.
struct Source {
    name: String,
    text: String,
    shown: String,
    is_rust: bool,
}

impl Source {
    fn read(path: &Path) -> Result<Self> {
        let shown = path.display().to_string();
        let name = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default().to_owned();
        let is_rust = path.extension().is_some_and(|e| e == "rs");
        if !is_name(&name) || !is_rust && path.extension().is_none_or(|e| e != "c") {
            return Err(Fault::user(
                format!("`{}` is not the name of a component's file", shown.escape_debug()),
                "call it like the component: a lower-case word, and .c or .rs",
            ));
        }
        let text = input::read_text(&shown)?;
        Ok(Self { name, text, shown, is_rust })
    }

    /// What can be seen in its text.
    fn check(&self) -> Vec<Finding> {
        let check = if self.is_rust { weir_glue::rust::check } else { source::check };
        check(&self.name, &self.text, &topics(), &taken())
    }

    fn diag(&self, warning: bool, message: &str, help: &str, at: Range<usize>) -> Diag {
        let diag = if warning { Diag::warning(message) } else { Diag::error(message) };
        let diag = if help.is_empty() { diag } else { diag.help(help) };
        if at.is_empty() { diag } else { diag.source(&self.shown, &self.text).label(at, None) }
    }

    /// Show warnings; errors end it.
    fn refuse(&self, findings: Vec<Finding>) -> Result<()> {
        let (warnings, errors): (Vec<_>, Vec<_>) = findings.iter().partition(|f| f.warning);
        let diag = |f: &&Finding| self.diag(f.warning, &f.message, &f.help, f.at.clone());
        if !errors.is_empty() {
            return Err(Fault { blame: Blame::User, diags: errors.iter().map(diag).collect() });
        }
        show(&warnings.iter().map(diag).collect::<Vec<_>>());
        Ok(())
    }
}

fn topics() -> Vec<&'static str> {
    Topic::all().map(Topic::name).collect()
}

/// Names of the components that the program came with.
fn taken() -> Vec<&'static str> {
    catalog().components.iter().filter(|c| !loaded::is_loaded(c.id)).map(|c| c.name.as_str()).collect()
}
