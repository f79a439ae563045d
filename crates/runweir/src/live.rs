// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir live`: a topology in charge of this machine.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::ValueHint;
use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, Subcommand};
use weir::gang::GangOptions;
use weir::live_config::LiveConfig;
use weir_core::{MachineShape, Topic};
use weir_linux::diagnose::{Host, preflight};
use weir_linux::endpoint::{Endpoint, listen_address};
use weir_linux::machine::{host_shape, possible_cpus, stand_in};
use weir_linux::pmu::Counting;
use weir_linux::protocol::GangWish;
use weir_linux::steering::Steering;
use weir_linux::{Ended, ErrorKind, Live, Options, Selection, client, kept};

use crate::fault::{Blame, Diag, Fault, Result};
use crate::output::warn;
use crate::output::{self, note};
use crate::progress::Waiting;
use crate::scenario::{self, Found};
use crate::units::{duration, parse_duration, plural};
use crate::{machine, topology};
use recording::Recording;
use script::Script;
use service::Manager;

mod recording;
mod script;
mod service;
mod summary;

/// Set by signals.
static STOP: AtomicBool = AtomicBool::new(false);

#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
Examples:
  sudo runweir live decentral
  sudo runweir live status                       the same as runweir status; so with the other commands
  sudo runweir live my.weir --duration 10s --json
  sudo runweir switch priority                   from another terminal: change the policy, in place
  sudo runweir live decentral --with edf-vd      so that `switch` can change to it
  sudo runweir live --scenario night.toml        changes by time and by rule
  sudo runweir live --config /etc/runweir/live.toml     as the service runweir does
  sudo runweir live gang --manifest a.manifest   programs whose threads run at the same time
  runweir vm -t my.weir -- hackbench             try it in a virtual machine first

It runs until Ctrl-C, SIGTERM, --duration or `stop` at its socket. Then, or if it is killed, the machine
returns to its default scheduler. `attached` on stderr reports that the scheduler is active.
Exit status 1: the kernel or the watchdog ended it; the message gives the reason.")]
pub struct LiveArgs {
    #[command(subcommand)]
    pub command: Option<LiveCommand>,
    /// Scheduler: a catalogue name or a .weir file; - reads it from stdin
    #[arg(value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath, required_unless_present_any = ["scenario", "named", "config"])]
    pub topology: Option<String>,
    /// The same as an option
    #[arg(short = 't', long = "topology", value_name = "T", value_parser = Text::new(), conflicts_with = "topology", value_hint = ValueHint::FilePath)]
    pub named: Option<String>,
    /// Changes by time and by rule: a scenario of the catalogue or a .toml file. Its topology and duration are defaults,
    /// its machine and workload are for the simulator
    #[arg(long, value_name = "S", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub scenario: Option<String>,
    /// Values for options that are not given: topology, scenario, set, with, only, socket, metrics, watchdog (`runweir config check`)
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// A gang to admit, by its manifest (repeatable); T must have slots, as `gang` has
    #[arg(long, value_name = "FILE", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub manifest: Vec<String>,
    /// If manifests do not fit, cut all execution times in equal proportion instead of refusing them
    #[arg(long, requires = "manifest")]
    pub cut: bool,
    /// Detach after this much time, with its unit: 10s, 5m
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub duration: Option<u64>,
    /// Print the results as JSON on stdout at the end
    #[arg(long)]
    pub json: bool,
    /// Detach when a task has waited this long in the scheduler; default: 2s
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub watchdog: Option<u64>,
    /// Properties of the CPUs that the system does not know (instruction sets); must have as many CPUs as this machine
    #[arg(short, long, value_name = "M", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub machine: Option<String>,
    /// A topology to which `switch` can change later (repeatable): its components are loaded too. Needed for components with
    /// `kernel: on request` in their manual; all others are loaded if they fit
    #[arg(long = "with", value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub also: Vec<String>,
    /// Load only the components of T and of --with: attaches several times faster, but `switch` has no others
    #[arg(long)]
    pub only: bool,
    /// Set a parameter, as in `run`
    #[arg(long, value_name = "COMP.PARAM=V", value_parser = Text::new())]
    pub set: Vec<String>,
    /// Hardware events for components that listen to COUNTERS: auto (all, if there is one), all, none, software (events of
    /// the kernel, for tests without a PMU), or a list such as cycles,l1_hits,l1_misses
    #[arg(long, value_name = "WHAT", default_value = "auto")]
    pub counters: Counting,
    /// Write forks, ends and sums of normalised counts of each thread to the kernel's trace, as `[PMC_SCHED]` lines; N is the
    /// level of the cache whose misses are logged
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3))]
    pub counter_log: Option<u32>,
    /// Memory of the scheduler, with its unit, from 4MiB to 4GiB; default: 64MiB plus 64KiB per CPU
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    pub memory: Option<u64>,
    /// Threads that the topology schedules, from 1024 to 4194304; further ones run outside the graph, alternating with it
    #[arg(long, value_name = "N", default_value_t = 32768, value_parser = clap::value_parser!(u32).range(1024..=4_194_304))]
    pub max_tasks: u32,
    /// Slice if the topology grants none
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "5ms")]
    pub slice: u64,
    /// Socket for `switch`, `status` and `top`: $RUNWEIR_SOCKET, else /run/runweir/live.sock
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
    /// Record the run into this folder: summary.json, tasks.csv, trace.pftrace, report.html, threads.csv
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub record: Option<PathBuf>,
    /// Let --record write into a folder that has other files; they are kept
    #[arg(long, requires = "record")]
    pub force: bool,
    /// Serve metrics for Prometheus at this address: 127.0.0.1:9100, or only the port
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub metrics: Option<SocketAddr>,
    /// Refuse a topology that ignores what users ask of the kernel, instead of warning
    #[arg(long)]
    pub strict: bool,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

/// What concerns the running scheduler; each is a command of its own, too.
#[derive(Clone, Debug, Subcommand)]
pub enum LiveCommand {
    /// Replace the scheduler of this machine, in place
    Switch(crate::switch::SwitchArgs),
    /// Show the state of the running scheduler
    Status(crate::status::StatusArgs),
    /// Watch the running scheduler: graph, CPUs and tasks
    #[cfg(feature = "top")]
    Top(crate::top::TopArgs),
    /// Publish a message to the running scheduler
    Publish(crate::message::PublishArgs),
    /// Ask the running scheduler for the answer of a component to a topic
    Request(crate::message::RequestArgs),
    /// Change the phase of a gang
    Phase(crate::gang::PhaseArgs),
    /// Check the configuration of the service
    #[command(subcommand)]
    Config(crate::config::ConfigCommand),
}

/// `runweir live switch T` and its like.
fn about_running(command: &LiveCommand) -> Result<ExitCode> {
    match command {
        LiveCommand::Switch(args) => crate::switch::switch(args),
        LiveCommand::Status(args) => crate::status::status(args),
        #[cfg(feature = "top")]
        LiveCommand::Top(args) => crate::top::top(args),
        LiveCommand::Publish(args) => crate::message::publish(args),
        LiveCommand::Request(args) => crate::message::request(args),
        LiveCommand::Phase(args) => crate::gang::phase(args),
        LiveCommand::Config(command) => crate::config::config(command),
    }
}

/// How long a task may wait, if nobody says.
const WATCHDOG: Duration = Duration::from_secs(2);

/// The options, and what the file says where they do not.
fn configured(args: &LiveArgs) -> Result<LiveArgs> {
    let mut args = args.clone();
    let Some(file) = &args.config else { return Ok(args) };
    let config = LiveConfig::read(file)?;
    if args.topology.is_none() && args.named.is_none() && args.scenario.is_none() {
        (args.topology, args.scenario) = (config.topology, config.scenario);
    }
    args.set = config.set.into_iter().chain(args.set).collect();
    args.also.extend(config.with);
    args.only |= config.only;
    args.socket = args.socket.or(config.socket);
    args.metrics = args.metrics.or(config.metrics);
    args.watchdog = args.watchdog.or(config.watchdog);
    Ok(args)
}

/// An error where a topology ignores what users ask of the kernel.
pub fn all_obeyed(found: &[weir_linux::protocol::Finding]) -> Result<()> {
    let ignored: Vec<_> = found.iter().filter(|f| f.setting.is_some()).collect();
    let Some(first) = ignored.first() else { return Ok(()) };
    let said: Vec<&str> = ignored.iter().map(|f| f.message.as_str()).collect();
    let help = first.setting.as_deref().map(weir::ignored::obeyed_by).unwrap_or_default();
    Err(Fault::user(said.join("; "), format!("{help}; or leave `--strict` out")))
}

/// Be in charge until the end.
pub fn live(args: &LiveArgs) -> Result<ExitCode> {
    if let Some(command) = &args.command {
        return about_running(command);
    }
    let args = &configured(args)?;
    let sets = topology::parse_sets(&args.set)?;
    let found = args.scenario.as_deref().map(scenario::find).transpose()?;
    let source = topology::source(&in_charge(args, found.as_ref())?)?;
    let shape = shape(args.machine.as_deref())?;
    let compiled = topology::compile(&source, &shape, &sets)?;
    // Remarks on a run that cannot begin would only hide the reason.
    let silent = args.quiet || preflight(&Host).is_err();
    let ignored = if silent && !args.strict { Vec::new() } else { kept::ignored(&compiled.plan) };
    if args.strict {
        all_obeyed(&ignored)?;
    }
    if !silent {
        let warnings = compiled.warnings.iter().map(topology::diag).chain(ignored.iter().map(finding));
        output::show(&warnings.collect::<Vec<_>>());
    }
    let wishes = manifests(args, &compiled.plan)?;
    let script = Script::prepare(found.as_ref(), &source, &sets, &shape, &compiled)?;
    catch_signals()?;
    let mut recording = match &args.record {
        Some(dir) => Some(Recording::prepare(dir, args.force, &compiled, &shape)?),
        None => None,
    };
    let nr_cpus = shape.nr_cpus();
    let online = shape.cpus.iter().filter(|c| c.online).count();
    let (name, machine) = (compiled.plan.name.clone(), shape.name.clone());
    let mut selection = Selection { only: args.only, ..Selection::default() };
    for name in &args.also {
        let also = topology::compile(&topology::source(name)?, &shape, &[])?;
        selection.classes.extend(also.plan.instances.iter().map(|i| i.class));
    }
    selection.classes.extend(script.iter().flat_map(|s| &s.classes));
    let waiting = Waiting::new(!args.quiet);
    let options = Options {
        plan: compiled.plan,
        source: weir_lang::join(&source, &topology::Includes).unwrap_or(source.text),
        selection,
        shape,
        memory: args.memory.unwrap_or_else(|| Options::default_memory(nr_cpus)),
        max_tasks: args.max_tasks,
        slice_ns: args.slice,
        counting: args.counters,
        log_level: args.counter_log.unwrap_or(0),
        watchdog: args.watchdog.map_or(WATCHDOG, Duration::from_nanos),
        socket: client::socket_path(args.socket.as_deref()),
        progress: Box::new(move |what| waiting.at(what)),
        sinks: recording.iter().map(Recording::sink).chain(script.iter().filter_map(Script::sink)).collect(),
    };
    let mut live = Live::attach(options, &Host).map_err(fault)?;
    let began = Instant::now();
    for wish in &wishes {
        live.control().admit(wish).map_err(fault)?;
    }
    if let Some(recording) = &mut recording {
        recording.begin(&live);
    }
    let endpoint = args.metrics.map(|at| endpoint(at, &live)).transpose()?;
    if !args.quiet {
        endpoint.iter().for_each(announce);
        note(&format!("attached {name} ({}, machine {machine})", plural(online, "CPU")));
        match live.counting() {
            None => {}
            Some(Ok(names)) => note(&format!("counters: {}", names.join(", "))),
            Some(Err(why)) => {
                note(&format!("counters: none; {why}. Components that listen to COUNTERS hear nothing"))
            }
        }
        live.unsupported().iter().for_each(|what| note(what));
    }
    let steering = script.map(|s| s.begin(&live, args.quiet)).transpose()?;
    let mut manager = Manager::find();
    manager.say(&format!("READY=1\nSTATUS={name} is in charge\nMAINPID={}", std::process::id()));
    let duration = args.duration.or_else(|| found.as_ref()?.file.duration_ns);
    let limit = duration.map(Duration::from_nanos);
    let mut over = |live: &Live| {
        manager.tick();
        if let Some(recording) = &mut recording {
            recording.tick(live);
        }
        let over = STOP.load(Ordering::Relaxed) || limit.is_some_and(|l| began.elapsed() >= l);
        if let Some(steering) = steering.as_ref().filter(|_| over) {
            steering.stop();
        }
        over
    };
    let ended = live.run(&mut over).map_err(fault)?;
    let wall = began.elapsed();
    Manager::find().say("STOPPING=1");
    let done = steering.map(Steering::finish).unwrap_or_default();
    let reconfigurations: Vec<_> = done.iter().map(scenario::summary).collect();
    let last = live.snapshot();
    drop(endpoint);
    let early = limit.is_some_and(|l| wall < l) || ended != Ended::Asked;
    let recorded = recording.map(|r| r.finish(&live, &last, early, reconfigurations.clone())).transpose();
    drop(live);
    let mut summary = summary::from_counters(&last, &machine, wall, limit);
    summary.reconfigurations = reconfigurations;
    // Where the files could not be written, the reason for the end is still reported first.
    let recorded = match (recorded, &ended) {
        (Err(fault), Ended::Asked) => return Err(fault),
        (Err(fault), _) => {
            output::show(&fault.diags);
            None
        }
        (Ok(recorded), _) => recorded,
    };
    if let Some(recorded) = recorded {
        summary = recorded.summary;
        summary.wall_ns = u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX);
        if !args.quiet {
            warn(recorded.remarks.iter());
            if !args.json {
                output::print(&weir_report::table(&summary, &output::screen()))?;
            }
            note(&format!("written: {}", recorded.written));
        }
    }
    if args.json {
        let mut text = Vec::new();
        summary
            .write_json(&mut text)
            .map_err(|e| Fault::system(format!("cannot write JSON: {e}"), "report it"))?;
        output::print(&String::from_utf8_lossy(&text))?;
    } else if !args.quiet {
        note(&farewell(&last));
    }
    finish(ended)
}

/// The gangs that are to be admitted: they fit, as far as that can be seen before.
fn manifests(args: &LiveArgs, plan: &weir_core::Plan) -> Result<Vec<GangWish>> {
    if args.manifest.is_empty() {
        return Ok(Vec::new());
    }
    if !plan.listens_to(Topic::GangSlot) || !plan.listens_to(Topic::Gang) {
        return Err(Fault::user(
            format!("--manifest: topology `{}` has no slots for gangs", plan.name),
            "use `gang`, or a topology with `annotate membership` and the component `gang`",
        ));
    }
    let options = GangOptions { files: args.manifest.clone(), machine: "host".into(), cut: args.cut };
    let admission = weir::gang::admit(&options)?;
    let wish = |(file, gang): (&String, &weir::gang::Admitted)| {
        let manifest = crate::input::read_text(file).map_err(|e| Fault::user(e.message, e.help))?;
        Ok(GangWish { manifest, name: Some(gang.name.clone()), cut: args.cut })
    };
    args.manifest.iter().zip(&admission.gangs).map(wish).collect()
}

/// The scheduler that is to begin.
fn in_charge(args: &LiveArgs, found: Option<&Found>) -> Result<String> {
    let suggested = || found.and_then(|f| f.file.topology.as_ref().map(|t| f.beside(t)));
    args.topology.clone().or_else(|| args.named.clone()).or_else(suggested).ok_or_else(|| {
        Fault::user(
            "no topology is named",
            "name one on the command line, or write `topology = \"decentral\"` into the scenario",
        )
    })
}

/// Serve the figures at `at`.
fn endpoint(at: SocketAddr, live: &Live) -> Result<Endpoint> {
    Endpoint::start(at, live.control(), env!("CARGO_PKG_VERSION")).map_err(|e| {
        Fault::user(
            format!("the figures cannot be served at {at}: {e}"),
            "is the port in use? --metrics 127.0.0.1:0 takes a free one",
        )
    })
}

/// Where the figures are, and which users may read them.
fn announce(endpoint: &Endpoint) {
    let at = endpoint.address();
    if !at.ip().is_loopback() {
        warn([format!("the figures at {at} can be read by everybody who reaches this address")].iter());
    }
    note(&format!("figures at http://{at}/metrics"));
}

/// What it came to, in two lines.
fn farewell(s: &weir_linux::Snapshot) -> String {
    let t = &s.totals;
    format!(
        "detached {} after {}: {} entered, {} were handed to a CPU, {} taken back by the kernel; \
         {} outside the graph, {} of topology",
        s.topology,
        duration(s.uptime_ns),
        plural(t.enqueues, "task"),
        t.dispatches,
        t.dequeues,
        t.aside,
        plural(t.swaps, "switch")
    )
}

fn finish(ended: Ended) -> Result<ExitCode> {
    match ended {
        Ended::Asked => Ok(ExitCode::SUCCESS),
        Ended::Ejected { reason, message } => {
            let why = if message.is_empty() { reason } else { format!("{reason}: {message}") };
            Err(Fault::system(
                format!("the kernel ended the scheduler: {why}"),
                "the machine is back on its default scheduler; dmesg | grep sched_ext says more",
            ))
        }
        Ended::Stalled(s) => Err(Fault::system(
            format!(
                "task {} (`{}`) waited {} in pipe `{}`{}",
                s.pid,
                s.comm,
                duration(s.waited_ns),
                s.pipe,
                s.obstacle.map_or(String::new(), |why| format!(": {why}"))
            ),
            "the machine is back on its default scheduler. Does the topology serve every task, and every CPU's \
             exit? --watchdog TIME allows for longer waits",
        )),
    }
}

/// This machine's CPUs by their number, or those that the user describes in their place.
fn shape(named: Option<&str>) -> Result<MachineShape> {
    let possible = possible_cpus().map_err(fault)?;
    let own = host_shape(&machine::resolve("host")?.shape, possible);
    match named {
        None | Some("host") => Ok(own),
        Some(name) => stand_in(&machine::resolve(name)?.shape, &own).map_err(fault),
    }
}

/// An error of the live scheduler, with the excerpts of a topology where that is the cause.
pub fn fault(e: weir_linux::Error) -> Fault {
    let blame = match e.kind {
        // Where trying again may help, the input is not wrong.
        ErrorKind::Internal | ErrorKind::Io | ErrorKind::Busy => Blame::System,
        _ => Blame::User,
    };
    if e.findings.is_empty() {
        return Fault { blame, diags: vec![Diag::error(e.message).help(e.help)] };
    }
    Fault { blame, diags: e.findings.iter().map(finding).collect() }
}

/// A finding of the compiler that came through the socket.
pub fn finding(f: &weir_linux::protocol::Finding) -> Diag {
    let mut diag = if f.error { Diag::error(&f.message) } else { Diag::warning(&f.message) };
    diag = diag.code(&f.code);
    let obeying = || f.setting.as_deref().map(weir::ignored::obeyed_by);
    if let Some(help) = f.help.clone().or_else(obeying) {
        diag = diag.help(help);
    }
    if let Some((name, text)) = &f.source {
        diag = diag.source(name, text);
        for (start, end, remark) in &f.labels {
            diag = diag.label(*start..*end, Some(remark.clone()).filter(|r| !r.is_empty()));
        }
    }
    diag
}

/// The first signal ends it cleanly; a second does not hurry what the kernel has to do.
fn catch_signals() -> Result<()> {
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed)).map_err(|e| {
        Fault::system(format!("cannot catch Ctrl-C: {e}"), "this is a bug in runweir; please report it")
    })
}

/// `64MiB`, `1GiB`; the result is in bytes.
fn parse_memory(text: &str) -> std::result::Result<u64, String> {
    crate::units::parse_memory(text, "a scheduler", 4 << 20, 4 << 30)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_a_unit() {
        assert_eq!(parse_memory("64MiB"), Ok(64 << 20));
        assert_eq!(parse_memory("4GiB"), Ok(4 << 30));
        for wrong in ["64", "1MiB", "5GiB", "x", "", "-4MiB", "99999999999999999999GiB"] {
            assert!(parse_memory(wrong).is_err(), "{wrong}");
        }
    }
}
