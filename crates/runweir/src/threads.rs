// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir threads` and `runweir doctor`: programs under a policy without root, and what that costs on this machine.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use serde::Deserialize;

#[cfg(feature = "ask")]
use weir::knowledge::Base;
use weir::latency::{stay_on, usable};
use weir_core::{CpuSet, Plan, Setting};

use crate::args::one;
use crate::compile::{flat, plan};
use crate::elf::Elf;
use crate::fault::{Fault, Result};
use crate::units::plural;
use crate::{machine, output, topology};

const PRELOAD: &str = "libweir_preload.so";
const OPENMP: &str = "libweir_gomp.so";
const DOCTOR: &str = "weir-doctor";
const CPUS: &str = "weir-cpus";

/// Libraries that need an option here: one insists on being loaded first, and works in second place; the other one ends a child of a fork that
/// makes threads, as those do that join a policy.
const SANITIZERS: [(&str, &str, &str); 2] = [
    ("libasan.so.", "ASAN_OPTIONS", "verify_asan_link_order=0"),
    ("libtsan.so.", "TSAN_OPTIONS", "die_after_fork=0"),
];

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir threads decentral -- ./program                        # safe for any program
  runweir threads priority -- ./server --port 8080
  runweir threads my.weir --cpus 2 --set round_robin.slice=2ms -- python3 work.py
  OMP_NUM_THREADS=4 runweir threads decentral -- ./openmp-program
  runweir threads gang --manifest team.manifest --trace slots.json -- ./openmp-program
  runweir threads decentral --tree -- make -j8
  runweir threads priority --serve desk                         # until Ctrl-C
  runweir threads --join desk --priority 10 -- ./server         # as many as you like, each from its own shell
  runweir threads worksteal --switch desk                       # another policy for all of them, while they run

OpenMP programs that gcc built get a library with libgomp's interface, whose teams know which threads run.
Those of other compilers keep their own library.

The threads of the program, and no others, run as the policy says; neither root nor a kernel module is needed.
Where the policy sets no end to a thread's turn and others wait behind it, it ends after 5 ms; a thread that has waited
2 s is reported and goes on without the policy (--no-fallback: it is only reported).
It must be linked dynamically. Programs that it starts run as they are, unless the policy is in a process of its own
(--tree, --serve and --join): then they are under the same policy. docs/threads.md has the limits.")]
pub struct ThreadsArgs {
    /// Scheduler: a catalogue name or a .weir file
    #[arg(value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    #[arg(required_unless_present_any = ["join", "named"], conflicts_with = "join")]
    pub policy: Option<String>,
    /// The same as an option
    #[arg(short = 't', long = "topology", value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["policy", "join"])]
    pub named: Option<String>,
    /// Give the policy a process of its own, for the program and all programs that it starts
    #[arg(long, conflicts_with_all = ["join", "serve", "switch"])]
    pub tree: bool,
    /// Give the policy a process of its own, which programs join by this name; runs until Ctrl-C
    #[arg(long, value_name = "NAME", value_parser = parse_name, conflicts_with_all = ["join", "command", "switch"])]
    pub serve: Option<String>,
    /// Run the program, and those that it starts, under the policy that is served by this name
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    #[arg(conflicts_with_all = ["cpus", "set"])]
    pub join: Option<String>,
    /// Switch the programs that joined this name to the scheduler T, while they run
    #[arg(long, value_name = "NAME", value_parser = parse_name, conflicts_with_all = ["join", "command", "cpus"])]
    pub switch: Option<String>,
    /// Initial priority of the program's threads; greater is more urgent (policies with `annotate priority`)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub priority: Option<i64>,
    /// Share of CPU time of each thread, 1024 if left out (policies with `annotate weight`)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub weight: Option<i64>,
    /// Number of the group that the program's threads belong to (policies with `annotate group_weight`)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    pub group: Option<i64>,
    /// CPUs that the policy divides up; all that this process may use if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub cpus: Option<u32>,
    /// Set a parameter, as in `run`
    #[arg(long, value_name = "COMP.PARAM=V", value_parser = Text::new())]
    pub set: Vec<String>,
    /// A gang for an OpenMP team of its size (docs/gangs.md has the format); may be given for each team
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub manifest: Vec<String>,
    /// Let OpenMP programs use their own libgomp
    #[arg(long)]
    pub keep_libgomp: bool,
    /// Obey the policy strictly: a thread that spins until another thread has run may spin for ever
    #[arg(long, conflicts_with_all = ["join", "switch"])]
    pub no_fallback: bool,
    /// Refuse a policy that does not obey --priority, --weight or --group, and end a program that asks for what the policy
    /// does not obey, instead of warning
    #[arg(long)]
    pub strict: bool,
    /// Print a line of counters on stderr when the program ends
    #[arg(long)]
    pub stats: bool,
    /// Write into this file what ran on each CPU, and why it left the CPU; https://ui.perfetto.dev opens it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub trace: Option<PathBuf>,
    /// The program and its arguments
    #[arg(required_unless_present_any = ["serve", "switch"], last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// A name by which programs join a policy: part of a socket's name, which has 108 bytes.
fn parse_name(text: &str) -> std::result::Result<String, String> {
    let fits = (1..=80).contains(&text.len());
    if fits && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)) {
        Ok(text.into())
    } else {
        Err("a name has 1 to 80 letters, digits, `-`, `_` and `.`".into())
    }
}

/// Run a program under a policy: in itself, or in a process of its own; or serve a policy, or switch it.
pub fn threads(args: &ThreadsArgs) -> Result<ExitCode> {
    if let Some(name) = &args.switch {
        return switch(args, name);
    }
    if let Some(name) = &args.serve {
        return serve(args, name);
    }
    // With --strict, what the policy does not obey comes before all else.
    let early = (args.strict && args.join.is_none()).then(|| policy(args, usable_cpus(args)?)).transpose()?;
    let preload = installed(PRELOAD)?;
    let program = find_program(&args.command[0])?;
    // What cannot be read is let through.
    let elf = Elf::open(&program).ok();
    if elf.as_ref().is_some_and(|elf| !elf.as_ref().is_some_and(Elf::names_interpreter)) {
        return Err(Fault::user(
            format!("`{}` is not a dynamically linked program", program.display()),
            "the runtime is loaded into the program at its start; a script needs its interpreter named, a static \
             program has to be built against libweir_threads (docs/threads.md)",
        ));
    }
    if let Some(why) = ignores_preloads(&program) {
        return Err(Fault::user(
            format!("`{}` {why}, so Linux loads no library into it", program.display()),
            "run a copy of it without that, or run it as the user that it would become",
        ));
    }
    let gangs = manifests(&args.manifest)?;
    let mut command = Command::new(&program);
    command.args(&args.command[1..]).arg0(&args.command[0]);
    command.env("LD_PRELOAD", libraries(&preload, args.keep_libgomp));
    let elf = elf.flatten();
    for (library, variable, option) in SANITIZERS {
        if elf.as_ref().is_some_and(|elf| elf.needs(library)) {
            let mut options = std::env::var_os(variable).unwrap_or_default();
            options.push(if options.is_empty() { "" } else { ":" });
            options.push(option);
            command.env(variable, options);
        }
    }
    let attributes = attributes(args);
    if !attributes.is_empty() {
        command.env("WEIR_THREADS_ATTRIBUTES", attributes);
    }
    if !gangs.is_empty() {
        command.env("WEIR_THREADS_GANGS", gangs);
    }
    if args.strict {
        command.env("WEIR_THREADS_STRICT", "1");
    }
    let mut plan = None;
    if let Some(name) = &args.join {
        command.env("WEIR_THREADS_JOIN", name);
    } else {
        let own = early.map_or_else(|| policy(args, usable_cpus(args)?), Ok)?;
        if args.tree {
            let name = format!("tree-{}", std::process::id());
            let mut server = serve_command(args, &name, &own)?;
            server.arg("--with-parent").stdout(Stdio::piped());
            let ready = kept_on(&own, || server.spawn());
            first_line(ready.map_err(|e| broken(&e.to_string()))?)?;
            command.env("WEIR_THREADS_JOIN", name);
        } else {
            let file = plan_file(&own)?;
            command.env("WEIR_THREADS_PLAN", &file).env("WEIR_THREADS_UNLINK", "1");
            if args.no_fallback {
                command.env("WEIR_THREADS_NO_FALLBACK", "1");
            }
            if let Some(cpus) = &own.cpus {
                command.env("WEIR_THREADS_CPUS", cpus.to_string());
            }
            plan = Some(file);
        }
    }
    if !args.tree {
        if let Some(file) = &args.trace {
            command.env("WEIR_THREADS_TRACE", absolute(file)?);
        }
        if args.stats {
            command.env("WEIR_THREADS_STATS", "1");
        }
    }
    let error = command.exec();
    if let Some(file) = plan {
        let _ = fs::remove_file(&file);
    }
    Err(Fault::user(
        format!("`{}` cannot be run: {error}", program.display()),
        "name a program that you may execute",
    ))
}

/// What is loaded into the program: the runtime, the OpenMP library, and what the user loads anyway.
fn libraries(preload: &Path, keep_libgomp: bool) -> OsString {
    let openmp = preload.with_file_name(OPENMP);
    let mut libraries = preload.as_os_str().to_owned();
    if !keep_libgomp && openmp.is_file() {
        libraries.push(":");
        libraries.push(openmp);
    }
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|o| !o.is_empty()) {
        libraries.push(":");
        libraries.push(others);
    }
    libraries
}

/// As the library reads them.
fn attributes(args: &ThreadsArgs) -> String {
    [("priority", args.priority), ("weight", args.weight), ("group", args.group)]
        .iter()
        .filter_map(|(name, value)| value.map(|v| format!("{name}={v}")))
        .collect::<Vec<_>>()
        .join(",")
}

/// CPUs of the policy.
fn usable_cpus(args: &ThreadsArgs) -> Result<u32> {
    let available = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let cpus = args.cpus.unwrap_or(available);
    if cpus > available {
        return Err(Fault::user(
            format!("--cpus {cpus}: this process may use {available}"),
            format!("ask for at most {available}, or allow it more with taskset"),
        ));
    }
    Ok(cpus)
}

/// Where the policy gets fewer CPUs than there are: those that the knowledge base proposes, by Linux's numbers. So policies of
/// several programs have CPUs of their own, and a policy's CPUs are near each other. None: the first ones.
#[cfg(feature = "ask")]
fn placed(cpus: u32) -> Option<CpuSet> {
    let machine = machine::resolve("host").ok().filter(|_| cpus < usable().len() as u32)?;
    let mut base = Base::new().ok()?;
    base.add_machine(&machine, &weir_model::Costs::default()).ok()?;
    crate::ask::running().iter().try_for_each(|policy| base.add_policy(policy)).ok()?;
    Some(base.layout(cpus as usize).ok()?.numbers("linux").into_iter().collect())
}

#[cfg(not(feature = "ask"))]
fn placed(_: u32) -> Option<CpuSet> {
    None
}

/// Say what of the program's attributes the policy does not obey.
fn unheeded(args: &ThreadsArgs, plan: &Plan) -> Result<()> {
    let priority =
        args.priority.map(|p| if (-19..=20).contains(&p) { Setting::Nice } else { Setting::Priority });
    let weight = args.weight.map(|_| Setting::Weight);
    let group = args.group.filter(|g| *g != 0).map(|_| Setting::GroupWeight);
    let asked: Vec<Setting> = [priority, weight, group].into_iter().flatten().collect();
    let ignored = weir::ignored::of_program(plan, &asked);
    match weir::ignored::refusal(&ignored).filter(|_| args.strict) {
        Some(refused) => Err(refused),
        None => {
            output::show(&weir::ignored::warnings(&ignored));
            Ok(())
        }
    }
}

/// A policy, compiled.
struct Policy {
    /// As the user names it.
    name: String,
    plan: Plan,
    /// Linux's numbers of the CPUs that it is to have; none: the first ones.
    cpus: Option<CpuSet>,
}

/// The policy for so many CPUs. What it does not obey of the program's attributes is said, or an error.
fn policy(args: &ThreadsArgs, cpus: u32) -> Result<Policy> {
    let host = machine::resolve("host").ok().filter(|m| m.shape.nr_cpus() == cpus);
    let machine = host.map_or_else(|| machine::resolve(&format!("smp-{cpus}")), Ok)?;
    let sets = topology::parse_sets(&args.set)?;
    let name = one(args.policy.as_ref(), args.named.as_ref());
    let plan = plan(&name, &machine.shape, &sets, &[], false)?;
    unheeded(args, &plan)?;
    Ok(Policy { name, plan, cpus: args.cpus.and_then(placed) })
}

/// A temporary file with the policy's plan, which its reader removes.
fn plan_file(policy: &Policy) -> Result<PathBuf> {
    let plan = flat(&policy.name, &policy.plan)?;
    let trouble = |e: std::io::Error| {
        Fault::system(
            format!("the plan cannot be written: {e}"),
            "make room in the folder of temporary files",
        )
    };
    let mut file = tempfile::Builder::new().prefix("runweir-").suffix(".plan").tempfile().map_err(trouble)?;
    file.write_all(&plan).map_err(trouble)?;
    let (_, path) = file.keep().map_err(|e| trouble(e.error))?;
    Ok(path)
}

fn absolute(file: &Path) -> Result<PathBuf> {
    std::path::absolute(file).map_err(|e| {
        Fault::user(format!("--trace {}: {e}", file.display()), "name a file that can be written")
    })
}

/// The process that has the policy, as a command.
fn serve_command(args: &ThreadsArgs, name: &str, policy: &Policy) -> Result<Command> {
    let mut command = Command::new(installed(CPUS)?);
    command.arg("serve").arg(name).arg(plan_file(policy)?).arg("--unlink");
    if args.stats {
        command.arg("--stats");
    }
    if args.no_fallback {
        command.arg("--no-fallback");
    }
    if let Some(file) = &args.trace {
        command.arg("--trace").arg(absolute(file)?);
    }
    Ok(command)
}

/// Start a process that has the policy and runs nothing else: the CPUs that it may use are the policy's.
fn kept_on<T>(policy: &Policy, start: impl FnOnce() -> T) -> T {
    let whole = usable();
    if let Some(cpus) = &policy.cpus {
        stay_on(cpus.iter().map(|c| c as usize));
    }
    let started = start();
    stay_on(whole);
    started
}

/// Become the process that has the policy.
fn serve(args: &ThreadsArgs, name: &str) -> Result<ExitCode> {
    if !args.manifest.is_empty() || !attributes(args).is_empty() {
        return Err(Fault::user(
            "--manifest, --priority, --weight and --group are a program's, and --serve runs none",
            format!("give them to `runweir threads --join {name}`"),
        ));
    }
    let own = policy(args, usable_cpus(args)?)?;
    let mut server = serve_command(args, name, &own)?;
    let error = kept_on(&own, || server.exec());
    Err(broken(&error.to_string()))
}

fn broken(why: &str) -> Fault {
    Fault::system(format!("{CPUS} failed: {why}"), "build it again with `make threads`")
}

/// What a process of ours says when it is ready. If it says nothing, it has said why on stderr.
fn first_line(mut child: Child) -> Result<String> {
    let mut line = String::new();
    let out = child.stdout.take().ok_or_else(|| broken("no output"))?;
    BufReader::new(out).read_line(&mut line).map_err(|e| broken(&e.to_string()))?;
    child.wait().map_err(|e| broken(&e.to_string()))?;
    if line.is_empty() {
        return Err(Fault::user("the policy's process did not start", "its reason is the line above"));
    }
    Ok(line)
}

/// What a call of `weir-cpus` prints; its reasons are ours.
fn asked<T: serde::de::DeserializeOwned>(name: &str, with: &[&OsStr]) -> Result<T> {
    let ran = Command::new(installed(CPUS)?).args(with).output().map_err(|e| broken(&e.to_string()))?;
    if !ran.status.success() {
        let why = String::from_utf8_lossy(&ran.stderr);
        return Err(Fault::user(
            why.trim().to_owned(),
            format!(
                "`runweir threads --serve {name}` starts a policy of that name; another one has to fit its CPUs"
            ),
        ));
    }
    serde_json::from_slice(&ran.stdout).map_err(|e| broken(&e.to_string()))
}

#[derive(Deserialize)]
struct Served {
    cpus: u32,
    policy: String,
}

#[derive(Deserialize)]
struct Switched {
    represented: u32,
    built: u32,
    kept: u32,
    pause_ns: f64,
}

/// Another policy for those who joined.
fn switch(args: &ThreadsArgs, name: &str) -> Result<ExitCode> {
    let served: Served = asked(name, &["ask".as_ref(), name.as_ref()])?;
    let plan = plan_file(&policy(args, served.cpus)?)?;
    let switched = asked(name, &["switch".as_ref(), name.as_ref(), plan.as_os_str()]);
    let _ = fs::remove_file(&plan);
    let s: Switched = switched?;
    output::print(&format!(
        "{name}: {} -> {} in {}; {} presented, {} built, {} kept\n",
        served.policy,
        args.policy.as_deref().unwrap_or_default(),
        weir_report::duration_f(s.pause_ns),
        plural(s.represented, "thread"),
        plural(s.built, "component"),
        s.kept
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// The manifests' files as the library reads them, one a line, each found to be right; whether they fit is for the controller.
fn manifests(files: &[String]) -> Result<OsString> {
    let mut list = OsString::new();
    for file in files {
        weir::gang::manifest(file)?;
        let path = fs::canonicalize(file).map_err(|e| {
            Fault::user(format!("{file}: {e}"), "name a manifest, as docs/gangs.md describes it")
        })?;
        if !list.is_empty() {
            list.push("\n");
        }
        list.push(path);
    }
    Ok(list)
}

/// A file of the thread library: where RUNWEIR_LIB says, where `make install` or where `make threads` put it.
fn installed(name: &str) -> Result<PathBuf> {
    let mut places: Vec<PathBuf> = std::env::var_os("RUNWEIR_LIB").map(PathBuf::from).into_iter().collect();
    if let Ok(own) = std::env::current_exe()
        && let Some(folder) = own.parent()
    {
        places.push(folder.join("../lib/runweir"));
        places.push(folder.join("../threads"));
    }
    places.iter().map(|p| p.join(name)).find(|p| p.is_file()).ok_or_else(|| {
        let looked: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
        Fault::system(
            format!("the thread library is not here: no {name} in {}", looked.join(", ")),
            "`make threads` builds it; RUNWEIR_LIB names the folder where it is",
        )
    })
}

/// The program by its path or in PATH.
fn find_program(name: &OsStr) -> Result<PathBuf> {
    let missing = || {
        Fault::user(
            format!("there is no program `{}`", name.to_string_lossy()),
            "name one in PATH, or a file with its folder",
        )
    };
    let path = Path::new(name);
    if path.components().count() > 1 {
        return if path.is_file() { Ok(path.into()) } else { Err(missing()) };
    }
    weir_text::packages::find(name).ok_or_else(missing)
}

/// Why the loader leaves `LD_PRELOAD` out for this program and user.
fn ignores_preloads(program: &Path) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    let file = fs::metadata(program).ok()?;
    let own = fs::metadata("/proc/self").ok()?;
    if file.mode() & 0o4000 != 0 && file.uid() != own.uid() {
        return Some("runs as another user (set-user-ID)");
    }
    (file.mode() & 0o2010 == 0o2010 && file.gid() != own.gid())
        .then_some("runs as another group (set-group-ID)")
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir doctor
  runweir doctor --json

Takes about two seconds. Run it on a quiet machine, because other load is part of every figure.")]
pub struct DoctorArgs {
    /// Print the figures as JSON, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// What `weir-doctor` measures, ns.
#[derive(Debug, Deserialize)]
struct Figures {
    cpus: f64,
    clock_ns: f64,
    switch_ns: f64,
    arm_ns: f64,
    expiry_ns: f64,
    expiry_late_p99_ns: f64,
    wake_same_cpu_ns: f64,
    wake_other_cpu_ns: Option<f64>,
    wake_price_ns: Option<f64>,
    message_ns: Option<f64>,
}

impl Figures {
    /// The shortest slice of which ending it takes `percent`, ns: the timer's expiry, setting it again, and a switch.
    fn slice(&self, percent: f64) -> f64 {
        (self.expiry_ns + self.arm_ns + self.switch_ns) * 100.0 / percent
    }

    fn rows(&self) -> Vec<(&'static str, Option<f64>)> {
        vec![
            ("read the clock", Some(self.clock_ns)),
            ("switch between green threads", Some(self.switch_ns)),
            ("set a timer", Some(self.arm_ns)),
            ("what an expiry takes from the thread", Some(self.expiry_ns)),
            ("expiry latency, 99th percentile", Some(self.expiry_late_p99_ns)),
            ("wake a thread on the same CPU", Some(self.wake_same_cpu_ns)),
            ("wake a thread that sleeps on another CPU", self.wake_other_cpu_ns),
            ("of that, what the waker pays", self.wake_price_ns),
            ("a message to another CPU that polls", self.message_ns),
        ]
    }
}

/// Measure, and say which slices make sense.
pub fn doctor(args: &DoctorArgs) -> Result<ExitCode> {
    let program = installed(DOCTOR)?;
    let failed = |why: String| {
        Fault::system(format!("{} failed: {why}", program.display()), "build it again with `make threads`")
    };
    let ran = Command::new(&program).output().map_err(|e| failed(e.to_string()))?;
    if !ran.status.success() {
        return Err(failed(ran.status.to_string()));
    }
    let figures: Figures = serde_json::from_slice(&ran.stdout).map_err(|e| failed(e.to_string()))?;
    if args.json {
        let mut all: serde_json::Value =
            serde_json::from_slice(&ran.stdout).map_err(|e| failed(e.to_string()))?;
        for (key, value) in [
            ("slice_1_percent_ns", figures.slice(1.0)),
            ("slice_5_percent_ns", figures.slice(5.0)),
            ("poll_window_ns", figures.wake_other_cpu_ns.unwrap_or_default()),
        ] {
            all[key] = value.round().into();
        }
        output::print(&format!("{all}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("threads on this machine, {}\n\n", plural(figures.cpus as u64, "CPU"));
    for (what, ns) in figures.rows() {
        text.push_str(&format!("  {what:<42}{:>12}\n", ns.map_or("-".into(), weir_report::duration_f)));
    }
    text.push_str(&format!(
        "\nSlices: ending one costs 1 % of {}, 5 % of {}. Shorter ones are eaten by their own timer.\n",
        weir_report::duration_f(figures.slice(1.0)),
        weir_report::duration_f(figures.slice(5.0))
    ));
    if let Some(wake) = figures.wake_other_cpu_ns {
        text.push_str(&format!(
            "Polling pays where a reply arrives within {}; a sleeper costs that much to wake.\n",
            weir_report::duration_f(wake)
        ));
    }
    output::say(&text)?;
    Ok(ExitCode::SUCCESS)
}
