// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir advise`: record this machine, try other schedulers on what was recorded, propose one; on request switch, and see whether it helps.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use serde::Serialize;
use weir::OutDir;
use weir::advise::{Advice, AdviseOptions, CANDIDATES, Proposal, Skipped, WAKEUPS};
use weir_linux::gauges::Spread;
use weir_linux::protocol::{Switch, TopologyText};
use weir_linux::{ErrorKind, client};

use crate::fault::{Fault, Result};
use crate::live::fault as of_live;
use crate::output::{json, note, print, say, screen, show};
use crate::progress::{Counter, Waiting};
use crate::record::{self, RecordArgs, Tool};
use crate::stop;
use crate::units::{duration, exact, parse_duration};

/// Fewer wake-ups than this have no 99th percentile worth comparing.
const ENOUGH: u64 = 100;
/// A switch is kept if at least this share of the expected gain is measured.
const KEPT: f64 = 0.5;
/// How often somebody looks whether it is over.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo runweir advise                              five seconds of this machine, then what would serve it better
  sudo runweir advise --duration 30s --switch      and switch to it, if `runweir live` is in charge; back if it does not help
  runweir advise perf.data --machine epyc-64       a recording that was made elsewhere
  runweir advise perf.data -t linux -t eevdf --objective groups.nginx.wakeup_latency_ns.p99

The recording is cut into parts (`import`), the topologies and the times of their components are searched on some of them as by `tune`, and what was found is
judged on the others. The scheduler in charge, or `linux` if none of ours is, is replayed too: how far its figure is from the recorded one is the model's error.
With --switch the longest waits are measured before and after; if less than half of the expected gain comes, the previous topology is restored.")]
pub struct AdviseArgs {
    /// Recording that `import` reads; default: record this machine now
    #[arg(value_name = "RECORDING", value_parser = Text::new(), value_hint = ValueHint::AnyPath)]
    pub recording: Option<String>,
    /// Length of the recording
    #[arg(short, long, value_name = "TIME", default_value = "5s", value_parser = parse_duration, conflicts_with = "recording")]
    pub duration: u64,
    /// Tool that records; default: the first that is installed and permitted
    #[arg(long, value_name = "TOOL", conflicts_with = "recording")]
    pub with: Option<Tool>,
    /// Scheduler to try (repeatable); default: general ones of the catalogue, of those that are loaded where one is in charge
    #[arg(short, long = "topology", value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub topology: Vec<String>,
    /// Scheduler that was recorded; default: the one in charge, else linux
    #[arg(long, value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub under: Option<String>,
    /// Figure to minimise, a path in summary.json; default: response_ns.p99 where the load has response times, else (and
    /// with --switch) wakeup_latency_ns.p99
    #[arg(long, value_name = "METRIC", value_parser = Text::new())]
    pub objective: Option<String>,
    /// The recorded machine; default: this one, or with RECORDING equal CPUs
    #[arg(short, long, value_name = "M", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub machine: Option<String>,
    /// Configurations to try
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub trials: u64,
    /// Parts of the recording on which each configuration is tried; with --fit: seeds
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Other parts, or seeds, on which the best configuration is judged
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(2..=10_000))]
    pub held_out: u64,
    /// Fit distributions to the whole recording instead of cutting it into parts
    #[arg(long)]
    pub fit: bool,
    /// Number of parallel runs; default: all cores
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Switch to the proposal, and back if the gain is not confirmed
    #[arg(long, conflicts_with = "under")]
    pub switch: bool,
    /// Time for which waits are measured before and after the switch, up to 10 s
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_check, requires = "switch")]
    pub check: u64,
    /// Write advice.json, app.toml and proposal.weir into this folder, which must be new, empty or have earlier results
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Let --out write into a folder that has other files; they are kept
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Socket of `runweir live`: $RUNWEIR_SOCKET, else /run/runweir/live.sock
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

fn parse_check(text: &str) -> std::result::Result<u64, String> {
    match parse_duration(text)? {
        ns if (1_000_000_000..=10_000_000_000).contains(&ns) => Ok(ns),
        _ => Err("write a time from 1s to 10s: the scheduler remembers waits for as long".into()),
    }
}

/// What is printed.
#[derive(Serialize)]
struct Page {
    #[serde(flatten)]
    advice: Advice,
    /// A scheduler of ours was in charge.
    in_charge: bool,
    switched: Option<Switched>,
}

/// What came of a switch.
#[derive(Debug, Serialize)]
struct Switched {
    from: String,
    to: String,
    /// The objective as measured on this machine.
    before_ns: Option<u64>,
    after_ns: Option<u64>,
    gain_pct: Option<f64>,
    expected_pct: f64,
    /// False: the former topology is in charge again.
    kept: bool,
    why: String,
}

/// Record, search, print; perhaps switch.
pub fn advise(args: &AdviseArgs) -> Result<ExitCode> {
    let out = args.out.as_ref().map(|dir| OutDir::prepare(dir, args.force)).transpose()?;
    let socket = client::socket_path(args.socket.as_deref());
    let charge = Charge::look(&socket, args)?;
    let figure = args.switch.then(|| Figure::of(args.objective.as_deref().unwrap_or(WAKEUPS))).transpose()?;
    stop::install_saying("ending with the results so far; a switch that is being checked is taken back")?;
    let folder = tempfile::tempdir()
        .map_err(|e| Fault::system(format!("cannot make a temporary folder: {e}"), "see $TMPDIR"))?;
    let recording = match &args.recording {
        Some(file) => file.clone(),
        None => record_now(args, folder.path())?,
    };
    let baseline = match (&args.under, &charge) {
        (Some(name), _) => name.clone(),
        (None, Some(c)) => c.file(folder.path())?,
        (None, None) => CANDIDATES[0].into(),
    };
    let (candidates, not_loaded) = candidates(args, charge.as_ref());
    let options = AdviseOptions {
        recording,
        machine: args.machine.clone().or_else(|| args.recording.is_none().then(|| "host".into())),
        baseline,
        candidates,
        objective: args.objective.clone().or_else(|| args.switch.then(|| WAKEUPS.into())),
        trials: args.trials,
        seeds: args.seeds,
        held_out: args.held_out,
        fit: args.fit,
        jobs: args.jobs,
    };
    let counter = Counter::new(0, 0, !args.quiet);
    let advice = weir::advise(&options, &counter);
    counter.finish();
    let mut advice = advice?;
    advice.skipped.extend(not_loaded);
    if !args.json && !args.quiet {
        print(&advice.table(&screen()))?;
    }
    let mut page = Page { advice, in_charge: charge.is_some(), switched: None };
    if let (Some(figure), Some(charge)) = (figure, &charge)
        && !page.advice.interrupted
        && let Some(proposal) = &page.advice.proposal
    {
        page.switched = Some(try_it(&socket, charge, proposal, figure, args)?);
    }
    finish(args, out, &page)
}

fn finish(args: &AdviseArgs, out: Option<OutDir>, page: &Page) -> Result<ExitCode> {
    let advice = &page.advice;
    let text = json(page)?;
    if let Some(out) = out {
        out.write("advice.json", text.as_bytes())?;
        out.write("app.toml", advice.workload.as_bytes())?;
        let mut names = vec!["advice.json", "app.toml"];
        if let Some(p) = &advice.proposal {
            out.write("proposal.weir", p.weir.as_bytes())?;
            names.push("proposal.weir");
        }
        let written: Vec<String> = names.iter().map(|n| out.shown(n)).collect();
        out.commit()?;
        if !args.quiet {
            note(&format!("written: {}", written.join("  ")));
        }
    }
    if !args.quiet {
        let proposed =
            |i: &weir_report::Ignored| advice.proposal.as_ref().is_some_and(|p| p.topology == i.topology);
        let unheeded: Vec<_> = advice.ignored.iter().filter(|i| proposed(i)).cloned().collect();
        show(&weir::ignored::warnings(&unheeded));
    }
    if args.json {
        print(&text)?;
    } else if !args.quiet {
        say(&ending(page))?;
    }
    let interrupted = advice.interrupted || stop::flag().load(Ordering::Relaxed);
    Ok(if interrupted { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// What was done, or what to do next.
fn ending(page: &Page) -> String {
    let mut out = String::new();
    if let Some(s) = &page.switched {
        let time = |ns: Option<u64>| ns.map_or_else(|| "-".into(), duration);
        let gain = s.gain_pct.map_or_else(String::new, |g| format!(", gain {g:+.1} %"));
        let _ = writeln!(
            out,
            "\nswitched from {} to {}: {} before, {} after{gain} (expected {:+.1} %)\n{}",
            s.from,
            s.to,
            time(s.before_ns),
            time(s.after_ns),
            s.expected_pct,
            s.why
        );
    } else if let Some(p) = &page.advice.proposal {
        let set: String = p.set.iter().map(|s| format!(" --set {s}")).collect();
        let verb = if page.in_charge { "switch" } else { "live" };
        let _ = writeln!(out, "\nnext: sudo runweir {verb} {}{set}", p.topology);
    }
    out
}

/// The scheduler of ours that is in charge.
struct Charge {
    now: TopologyText,
    /// Components that it can be switched to.
    components: Vec<String>,
}

impl Charge {
    /// None where nobody of ours is, or a recording says what was; with --switch somebody has to be.
    fn look(socket: &Path, args: &AdviseArgs) -> Result<Option<Self>> {
        let ask = || -> weir_linux::Result<Self> {
            let now = client::topology(socket)?;
            Ok(Charge { now, components: client::status(socket)?.components })
        };
        if args.recording.is_some() && !args.switch {
            return Ok(None);
        }
        match ask() {
            Ok(charge) => Ok(Some(charge)),
            Err(e) if args.switch || e.kind != ErrorKind::NotAttached => Err(of_live(e)),
            Err(_) => Ok(None),
        }
    }

    /// As a file that a topology can be named by.
    fn file(&self, folder: &Path) -> Result<String> {
        let path = folder.join(format!("{}.weir", self.now.topology));
        crate::outdir::replace_file(&path, self.now.weir.as_bytes())?;
        Ok(path.to_string_lossy().into_owned())
    }

    fn wish(topology: &str, weir: &str) -> Switch {
        Switch { topology: format!("{topology}.weir"), source: weir.into(), ..Switch::default() }
    }
}

fn record_now(args: &AdviseArgs, folder: &Path) -> Result<String> {
    let file = folder.join("recording");
    if !args.quiet {
        note(&format!(
            "recording how this machine schedules, for {} (--duration); its scheduler stays as it is",
            exact(args.duration)
        ));
    }
    record::record(&RecordArgs {
        output: Some(file.clone()),
        duration: Some(args.duration),
        with: args.with,
        buffer: 32,
        force: true,
        quiet: true,
        command: Vec::new(),
    })?;
    Ok(file.to_string_lossy().into_owned())
}

/// What to try, and of what was left out why.
fn candidates(args: &AdviseArgs, charge: Option<&Charge>) -> (Vec<String>, Vec<Skipped>) {
    let named = match args.topology.as_slice() {
        [] => CANDIDATES.iter().map(ToString::to_string).collect(),
        some => some.to_vec(),
    };
    let Some(charge) = charge else { return (named, Vec::new()) };
    let mut left = Vec::new();
    let fits = |name: &String| match missing(name, charge) {
        Some(component) => {
            let why = format!(
                "the kernel has the components that were loaded at the start, and `{component}` is not among them"
            );
            left.push(Skipped { topology: name.clone(), why });
            false
        }
        None => true,
    };
    (named.into_iter().filter(fits).collect(), left)
}

/// A component of the topology that was not loaded. What is wrong with the topology is said later.
fn missing(name: &str, charge: &Charge) -> Option<String> {
    let source = crate::topology::source(name).ok()?;
    let shape = crate::machine::resolve("host").ok()?.shape;
    let plan = crate::topology::compile(&source, &shape, &[]).ok()?.plan;
    let names = plan.instances.iter().filter_map(|i| weir_core::catalog().class(i.class)).map(|c| &c.name);
    names.filter(|n| !charge.components.contains(n)).min().cloned()
}

/// A percentile of the waits of tasks that were woken.
#[derive(Clone, Copy)]
struct Figure(fn(&Spread) -> u64);

impl Figure {
    fn of(objective: &str) -> Result<Self> {
        match objective {
            "wakeup_latency_ns.p50" => Ok(Self(|s| s.p50_ns)),
            "wakeup_latency_ns.p95" => Ok(Self(|s| s.p95_ns)),
            "wakeup_latency_ns.p99" => Ok(Self(|s| s.p99_ns)),
            "wakeup_latency_ns.max" => Ok(Self(|s| s.max_ns)),
            _ => Err(Fault::user(
                format!("whether `{objective}` gets better cannot be measured here"),
                "with --switch the objective is wakeup_latency_ns.p50, .p95, .p99 or .max; leave --switch out for others",
            )),
        }
    }

    /// What the scheduler in charge measured; none where there were too few wake-ups.
    fn measure(self, socket: &Path, args: &AdviseArgs, what: &str) -> Result<Option<u64>> {
        let waiting = Waiting::new(!args.quiet);
        waiting.at(what);
        let began = Instant::now();
        while began.elapsed() < Duration::from_nanos(args.check) && !stop::flag().load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
        }
        let snapshot = client::status(socket).map_err(of_live)?;
        let spread = snapshot.waits.first().map(|w| w.waits.woken.last_10s.clone()).unwrap_or_default();
        Ok((spread.count >= ENOUGH).then(|| self.0(&spread)))
    }
}

/// Switch, see whether the gain comes, else switch back. Whatever happens after the switch, it is kept only for a reason.
fn try_it(
    socket: &Path,
    charge: &Charge,
    proposal: &Proposal,
    figure: Figure,
    args: &AdviseArgs,
) -> Result<Switched> {
    let mut out = Switched {
        from: charge.now.topology.clone(),
        to: proposal.topology.clone(),
        before_ns: None,
        after_ns: None,
        gain_pct: None,
        expected_pct: proposal.gain_pct.mean,
        kept: false,
        why: String::new(),
    };
    out.before_ns = figure.measure(socket, args, "measuring the waits under the present topology")?;
    if stop::flag().load(Ordering::Relaxed) || out.before_ns.is_none() {
        out.why = match out.before_ns {
            None => format!("not switched: fewer than {ENOUGH} tasks were woken, so no gain could be seen"),
            Some(_) => "not switched: interrupted".into(),
        };
        return Ok(out);
    }
    client::switch(socket, &Charge::wish(&proposal.topology, &proposal.weir)).map_err(of_live)?;
    let after = figure.measure(socket, args, "measuring the waits under the proposal");
    let verdict = match (&after, out.before_ns) {
        _ if stop::flag().load(Ordering::Relaxed) => Err("interrupted".to_string()),
        (Err(_), _) => Err("the scheduler did not answer".into()),
        (Ok(None), _) | (_, None) => Err(format!("fewer than {ENOUGH} tasks were woken")),
        (Ok(Some(after)), Some(before)) => {
            let gain = 100.0 * (1.0 - *after as f64 / before.max(1) as f64);
            out.after_ns = Some(*after);
            out.gain_pct = Some((gain * 10.0).round() / 10.0);
            match gain > 0.0 && gain >= KEPT * proposal.gain_pct.mean {
                true => Ok(()),
                false => Err("less than half of the expected gain came".into()),
            }
        }
    };
    match verdict {
        Ok(()) => {
            out.kept = true;
            out.why = format!("kept: {} is in charge", out.to);
        }
        Err(why) => {
            client::switch(socket, &Charge::wish(&charge.now.topology, &charge.now.weir)).map_err(|e| {
                let mut fault = of_live(e);
                fault.diags.push(weir::Diag::error(format!(
                    "the switch to `{}` could not be taken back ({why})",
                    out.to
                )));
                fault
            })?;
            out.why = format!("switched back to {}: {why}", out.from);
        }
    }
    after.map(|_| out)
}
