// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The command line's words: what `--help`, the man page and the completions are made from.
//!
//! Names and meanings are a contract that scripts rely on; see `docs/command-line.md`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

use weir_report::Part;

use crate::output::Colour;
use crate::units::{parse_duration, parse_span};

pub const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const AFTER_HELP: &str = "\
Start here: runweir tour; then runweir help run, with examples.
Everywhere: --load FILE.so, --allow-code, --color auto|always|never, --help, --version.
Exit status: 0 done, 2 the input is wrong, 1 anything else.";

/// Build CPU schedulers of components joined by pipes; simulate them, run them
#[derive(Debug, Parser)]
#[command(name = "runweir", version, long_version = crate::version::long(), about, styles = STYLES, after_help = AFTER_HELP)]
#[command(arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// The heading of those in each help text, behind the command's own.
const EVERYWHERE: &str = "Options of all commands";

/// What every command of every program takes.
#[derive(Debug, Args)]
pub struct Common {
    /// Load a component that `runweir component build` has made (repeatable); for `live`, `switch` and `vm` one that was built with --kernel
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "FILE.so", value_hint = ValueHint::FilePath)]
    pub load: Vec<PathBuf>,
    /// Let workloads, scenarios and packages load the components that they name, beside those of --load
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub allow_code: bool,
    /// Colours: on a terminal unless NO_COLOR is set, always, or never
    #[arg(
        long,
        global = true,
        help_heading = EVERYWHERE,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        hide_possible_values = true
    )]
    pub color: Colour,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// See two schedulers in half a minute, and the next commands
    Tour,
    /// Run a workload under a scheduler on a simulated machine
    Run(RunArgs),
    /// Run a workload under several schedulers, side by side
    Compare(CompareArgs),
    /// Run a grid of parameters and seeds, and draw success ratios
    Sweep(crate::sweep::SweepArgs),
    /// Find what limits a topology; test which deadlines are met
    Analyze(crate::analyze::AnalyzeArgs),
    /// Reproduce the papers' figures, with a verdict for each claim
    #[command(disable_help_flag = true)]
    Reproduce(crate::elsewhere::Args),
    /// Make a workload of a recording: perf, ftrace, Perfetto …
    Import(crate::import::ImportArgs),
    /// Explain why a task waited: the causes, from a run's trace
    Explain(crate::explain::ExplainArgs),
    /// Draw a run as a figure for a paper: SVG, PDF or TikZ
    Gantt(crate::gantt::GanttArgs),
    /// Check results against bounds, for continuous integration
    Guard(crate::guard::GuardArgs),
    /// Make a failing run as small as possible, as files
    Shrink(crate::shrink::ShrinkArgs),
    /// Search topologies and parameters for a workload
    Tune(crate::tune::TuneArgs),
    /// Record this machine, and propose a better scheduler
    Advise(Box<crate::advise::AdviseArgs>),
    /// Record what this machine's scheduler does, for import
    Record(crate::record::RecordArgs),
    /// Serve run, check, explain … to an assistant (MCP over stdio)
    Mcp(crate::mcp::McpArgs),
    /// Check topologies without running them
    Check(CheckArgs),
    /// Compile a topology for a machine into a flat plan, which C runtimes load
    Compile(crate::compile::CompileArgs),
    /// Make C and Rust stubs for the messages of an interface file
    Stubs(crate::stubs::StubsArgs),
    /// Draw a topology as SVG, DOT or Mermaid
    Graph(GraphArgs),
    /// Rewrite .weir files in the standard format
    Fmt(FmtArgs),
    /// Run a scheduler on this machine (Linux with sched_ext)
    Live(Box<crate::live::LiveArgs>),
    /// Replace the scheduler of this machine, in place
    Switch(crate::switch::SwitchArgs),
    /// Check the configuration of the service
    #[command(subcommand)]
    Config(crate::config::ConfigCommand),
    /// Publish a message to the running scheduler
    Publish(crate::message::PublishArgs),
    /// Ask the running scheduler for the answer of a component to a topic
    Request(crate::message::RequestArgs),
    /// Show the state of the running scheduler
    Status(crate::status::StatusArgs),
    /// Edit, run and watch schedulers in the browser
    Studio(crate::studio::StudioArgs),
    /// Show finished runs again: as a table, or in the browser
    Report(crate::studio::ReportArgs),
    /// Watch the running scheduler: graph, CPUs and tasks
    Top(crate::top::TopArgs),
    /// Run a program's own threads under a scheduler
    Threads(crate::threads::ThreadsArgs),
    /// Run a program on simulated RISC-V cores, with the scheduler in software or in hardware
    #[command(disable_help_flag = true)]
    Soc(crate::elsewhere::Args),
    /// Boot the bare multikernel in an emulator with a scheduler and programs
    #[command(disable_help_flag = true)]
    Bare(crate::elsewhere::Args),
    /// Ask which CPUs are near, idle or free, and what is where: facts about a machine
    Ask(crate::ask::AskArgs),
    /// Measure what timers and wake-ups cost here
    Doctor(crate::threads::DoctorArgs),
    /// Run a program as a gang, whose threads get their CPUs at the same time; check and list gangs
    Gang(Box<crate::gang::GangArgs>),
    /// Change the phase of a gang
    Phase(crate::gang::PhaseArgs),
    /// Run a command in a virtual machine with sched_ext
    Vm(Box<crate::vm::VmArgs>),
    /// List the components, or show the manual of one
    Components(ListArgs),
    /// Build a component that can be loaded at run time
    #[command(subcommand)]
    Component(crate::component::ComponentCommand),
    /// List the topologies of the catalogue, or show one
    Topologies(ListArgs),
    /// List the machines of the catalogue, or describe one
    Machines(crate::models::MachinesArgs),
    /// List the workloads and generators of the catalogue, or describe one
    Workloads(ListArgs),
    /// List the scenarios of the catalogue, or show one
    Scenarios(ListArgs),
    /// List the packages of the catalogue, or show one
    Packages(ListArgs),
    /// Print the completion script for a shell
    Completions {
        /// Shell to complete in
        shell: clap_complete::Shell,
    },
    /// Write the man pages into a folder
    #[command(hide = true)]
    Man {
        /// Folder that receives runweir.1 and a page for each command
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
    /// Write the Markdown pages made from the program (reference.md, help.md) into a folder
    #[command(hide = true)]
    Docs {
        /// Folder that receives the pages
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
}

/// Where the workload runs and how long: shared by `run` and `compare`.
#[derive(Clone, Debug, Args)]
pub struct Setting {
    /// Machine: a preset (smp-8, epyc-64 …), an hwloc XML file, a TOML file, or `host`
    #[arg(short, long, value_name = "M", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub machine: Option<String>,
    /// Workload: a catalogue name, rt-app .json, SimSo .xml, a task set .csv, .toml, or generator:key=value,…
    #[arg(short, long, value_name = "W", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub workload: Option<String>,
    /// End after this much virtual time, with its unit: 500us, 20ms, 2s
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub duration: Option<u64>,
    /// Set a parameter of a component or of a named instance (repeatable): round_robin.slice=1ms
    #[arg(long, value_name = "COMP.PARAM=V", value_parser = Text::new())]
    pub set: Vec<String>,
    /// Costs of scheduling, switching and migrating: zero, default, a TOML file, or workload (a SimSo file's own, the default on its own processors)
    #[arg(long, value_name = "COSTS", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub costs: Option<String>,
    /// Treat settings of the workload that a topology ignores as errors, not warnings
    #[arg(long)]
    pub strict: bool,
}

impl From<Setting> for weir::Setting {
    fn from(args: Setting) -> Self {
        let Setting { machine, workload, duration, set, costs, strict } = args;
        Self { machine, workload, duration_ns: duration, set, costs, strict }
    }
}

/// What `--hw` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum HwArg {
    /// The rules, and the clocks that the RTL takes
    #[default]
    Model,
    /// The RTL, simulated clock by clock; only where it was built in
    Cosim,
}

impl From<HwArg> for weir::Hw {
    fn from(arg: HwArg) -> Self {
        match arg {
            HwArg::Model => Self::Model,
            HwArg::Cosim => Self::Cosim,
        }
    }
}

/// What `--trace` says.
pub fn parse_part(text: &str) -> Result<Part, String> {
    match text.trim() {
        "none" => Ok(Part::None),
        "full" => Ok(Part::Full),
        "misses" => Ok(Part::Misses),
        span if span.contains("..") => parse_span(span).map(|(from, to)| Part::Span(from, to)),
        _ => Err("write none, full, misses, or two times: 10ms..20ms".into()),
    }
}

/// What becomes of the results.
#[derive(Debug, Args)]
pub struct Output {
    /// Write all results into this folder, which must be new, empty or have earlier results
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Let --out write into a folder that has other files; they are kept
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Part of the run in trace.pftrace: none, full, a span such as 10ms..20ms, or misses: the time around each deadline
    /// miss and around each wake-up that took far longer than those before
    #[arg(long, value_name = "PART", value_parser = parse_part, default_value = "full", requires = "out")]
    pub trace: Part,
    /// Compress the trace: trace.pftrace.zst, which `explain`, `import` and new versions of Perfetto read
    #[arg(long, requires = "out")]
    pub zstd: bool,
    /// Accept errors that components return; without this option they give exit status 1
    #[arg(long)]
    pub allow_faults: bool,
    /// Print the results as JSON, and nothing else, on stdout
    #[arg(long)]
    pub json: bool,
    /// Print errors only: no table, progress or warnings
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir run -t decentral -m smp-8 -w hackbench:groups=10,loops=100
  runweir run -t my.weir -m lstopo.xml -w app.json --duration 2s --out results
  runweir run -t central -m epyc-64 -w tasks.xml --set round_robin.slice=1ms --json
  runweir run --scenario fpga        changes the scheduler during the run; --dry-run only shows the changes

Without --duration a finite workload runs to its end; an endless workload needs --duration.
--out writes summary.json, tasks.csv, jobs.csv, wakeups.csv, calls.json, trace.pftrace (open it in
ui.perfetto.dev) and report.html, all of them or none. The same seed gives the same bytes.
Ctrl-C ends a run early with the results so far (`interrupted` in the summary, exit status 1).")]
pub struct RunArgs {
    /// Scheduler: a catalogue name or a .weir file; - reads stdin; default: a SimSo file's own
    #[arg(value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub place: Option<String>,
    /// The same as an option
    #[arg(short, long, value_name = "T", value_parser = Text::new(), conflicts_with = "place", value_hint = ValueHint::FilePath)]
    pub topology: Option<String>,
    #[command(flatten)]
    pub setting: Setting,
    /// Seed of all random numbers of the run
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = parse_seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Check after every event that no task is lost or duplicated (slower)
    #[arg(long)]
    pub checks: bool,
    /// On a machine with `scheduler = "engine"`: a model with the clocks measured on the RTL, or the RTL itself
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub hw: HwArg,
    /// Changes to the scheduler during the run: a catalogue name or a TOML file, which can also name topology, machine and workload
    #[arg(long, value_name = "S", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub scenario: Option<String>,
    /// Only try the changes of the scenario and show their effect on the graph
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir compare -t central -t decentral -m smp-8 -w hackbench:groups=4
  runweir compare -t central -t my.weir -m lstopo.xml -w app.json -d 2s --seeds 10 --out results

The first topology is the baseline. --out writes compare.json, compare.csv and compare.html, and a
folder for each topology with the files that `run --out` writes (of the first seed).")]
pub struct CompareArgs {
    /// Schedulers to compare: catalogue names or .weir files
    #[arg(value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub places: Vec<String>,
    /// The same as an option (repeatable)
    #[arg(short, long = "topology", value_name = "T", value_parser = Text::new(), required_unless_present = "places", value_hint = ValueHint::FilePath)]
    pub topologies: Vec<String>,
    #[command(flatten)]
    pub setting: Setting,
    /// First seed
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = parse_seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Run each topology with this many seeds, counted up from --seed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub seeds: u32,
    /// Number of parallel runs; default: all cores
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Draw the comparison as a figure for a paper; the ending selects the format
    #[arg(long, value_name = "F.svg|F.pdf|F.tex|F.png", value_hint = ValueHint::FilePath)]
    pub plot: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir check decentral
  runweir check my.weir --machine lstopo.xml
  runweir check decentral --machine accel-4x2 --with npu@entry

Errors give exit status 2. Warnings do not change the exit status.")]
pub struct CheckArgs {
    /// Catalogue names or .weir files; - reads stdin
    #[arg(required_unless_present = "named", value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub topologies: Vec<String>,
    /// The same as an option (repeatable)
    #[arg(short = 't', long = "topology", value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub named: Vec<String>,
    /// Machine to check for; default: the one in the file's first comment, else smp-8
    #[arg(short, long, value_name = "M", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub machine: Option<String>,
    /// Set a parameter, as in `run`
    #[arg(long, value_name = "COMP.PARAM=V", value_parser = Text::new())]
    pub set: Vec<String>,
    /// Merge a package, a catalogue name or a file, at a port of the topology (repeatable)
    #[arg(long, value_name = "PACKAGE@PORT", value_parser = Text::new())]
    pub with: Vec<String>,
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

/// Formats of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Drawing {
    /// A picture for browsers and documents
    Svg,
    /// Graphviz
    Dot,
    /// Mermaid, for Markdown pages
    Mmd,
    /// A figure for papers, black on white
    Pdf,
    /// TikZ, for LaTeX
    Tex,
    /// The picture in pixels, by rsvg-convert
    Png,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir graph decentral -o decentral.svg
  runweir graph decentral --machine smp-4 -o figure.pdf     for a paper; figure.tex for LaTeX
  runweir graph dual --machine smp-2 --format mmd
  runweir graph my.weir -o my.png                           in pixels: needs rsvg-convert
  runweir graph decentral --diff central

A dashed line is a postponed pipe. A dashed box (SVG, PNG, DOT) belongs to no home: several exits lie
ahead of it, so no exit's lock guards it.")]
pub struct GraphArgs {
    /// Catalogue name or .weir file; - reads stdin
    #[arg(required_unless_present = "named", value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub topology: Option<String>,
    /// The same as an option
    #[arg(short = 't', long = "topology", value_name = "T", value_parser = Text::new(), conflicts_with = "topology", value_hint = ValueHint::FilePath)]
    pub named: Option<String>,
    /// Machine to expand `each cpu` for; default: the one in the file's first comment, else smp-8
    #[arg(short, long, value_name = "M", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub machine: Option<String>,
    /// Set a parameter, as in `run`
    #[arg(long, value_name = "COMP.PARAM=V", value_parser = Text::new())]
    pub set: Vec<String>,
    /// Merge a package, a catalogue name or a file, at a port of the topology (repeatable)
    #[arg(long, value_name = "PACKAGE@PORT", value_parser = Text::new())]
    pub with: Vec<String>,
    /// Also draw the guests of this workload inside; DOT only
    #[arg(short, long, value_name = "W", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub workload: Option<String>,
    /// Do not draw; list the differences to another topology
    #[arg(long, value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath, conflicts_with_all = ["output", "format", "workload"])]
    pub diff: Option<String>,
    /// File to write; its extension selects the format. Default: stdout
    #[arg(short, long, value_name = "F.svg|F.dot|F.mmd", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Format, unless a file name selects it; default: dot
    #[arg(short, long, value_name = "KIND")]
    pub format: Option<Drawing>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir fmt my.weir            rewrite the file
  runweir fmt --check *.weir     list the files that would change; exit status 1 if there are any
  runweir fmt - < my.weir        format stdin to stdout")]
pub struct FmtArgs {
    /// .weir files to rewrite; - formats stdin to stdout
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Change nothing; list the files that are not formatted, with exit status 1
    #[arg(long)]
    pub check: bool,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Show this one in full
    pub name: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// The topology, wherever it stands: in its place or behind -t. clap sees to it that it is one of both.
pub fn one(place: Option<&String>, option: Option<&String>) -> String {
    place.or(option).cloned().unwrap_or_default()
}

/// Any 64-bit number is a seed.
pub fn parse_seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
