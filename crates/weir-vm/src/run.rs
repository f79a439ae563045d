// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Boot, run a command, return its results.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::cache::Cache;
use crate::cpio;
use crate::error::{Error, ErrorKind, Result};
use crate::initramfs::{self, Files, copy_live, quoted};
use crate::kernel::Kernel;
use crate::layout::{Hotplug, Layout};
use crate::lines;
use crate::qemu;
use crate::scratch::Scratch;

/// Lines of a log that an error shows.
const TAIL: usize = 20;
/// How often we look whether the user wants to end, or QEMU has.
const TICK: Duration = Duration::from_millis(20);
/// QEMU has this long to end after the guest said that it is done.
const GRACE: Duration = Duration::from_secs(10);
/// The guest has this long to report what it is at when the time is up.
const LAST_WORDS: Duration = Duration::from_secs(15);
/// Seconds that a scheduler has to attach.
const ATTACH_S: u64 = 600;

/// Time is counted in instructions, 2 ns each, of all CPUs together: a run repeats bit for bit.
#[derive(Clone, Copy, Debug)]
pub struct Icount {
    /// Of what the guest takes for chance.
    pub seed: u64,
    /// For how long a CPU computes before the next one has its turn, us of the guest's clock. Short turns cost computing
    /// (5 us: half as much again with 4 CPUs), long ones let a CPU wait for a message of another one.
    pub turn_us: u32,
}

/// The machine.
#[derive(Clone, Debug)]
pub struct Spec {
    pub kernel: Kernel,
    pub layout: Layout,
    pub memory_mib: u32,
    /// Use the processor's virtualisation instead of emulation.
    pub kvm: bool,
    /// Count instructions instead of time.
    pub icount: Option<Icount>,
}

/// The work of a virtual machine.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Current folder in the guest; made if it is not there.
    pub cwd: PathBuf,
    /// Topology that schedules while the command runs: a name, or a path in the guest.
    pub topology: Option<String>,
    /// Only its own components are loaded, which is quick; else as many as there is room for, so that it can be switched.
    pub only: bool,
    /// A component for it: a path in the guest.
    pub load: Option<String>,
    /// The scheduler records what it does; that costs it some time.
    pub record: bool,
    /// This program, for the guest; without it there is no `runweir` there.
    pub runweir: Option<PathBuf>,
    pub files: Files,
    /// The terminal's settings as `stty` takes them (`rows 24 cols 80`) and its `TERM`: the
    /// command gets a terminal that is ours.
    pub terminal: Option<(String, String)>,
    /// How long all may take, booting included.
    pub timeout: Duration,
    /// Leave the machine's folder for a look.
    pub keep: bool,
}

/// Where output goes while the guest runs.
pub struct Sinks {
    pub out: Box<dyn Write + Send>,
    pub err: Box<dyn Write + Send>,
    /// Messages of the scheduler.
    pub log: Box<dyn Write + Send>,
}

impl Sinks {
    /// Nowhere.
    pub fn none() -> Self {
        let sink = || Box::new(std::io::sink());
        Self { out: sink(), err: sink(), log: sink() }
    }
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Exit status of the command, as a shell has it: 128 + N for signal N.
    pub status: u8,
    /// Exit status of the scheduler's program; `None` without a topology.
    pub live: Option<u8>,
    /// The scheduler left before the command ended (or never took over).
    pub left_early: bool,
    /// Files of the recordings folder by relative path.
    pub recordings: Vec<(PathBuf, Vec<u8>)>,
    /// The kernel's log.
    pub dmesg: String,
    /// Complaints of the kernel: oopses, warnings, stalls.
    pub complaints: Vec<String>,
    /// From the start of QEMU to the command's.
    pub boot: Duration,
    /// From the start of QEMU to its end.
    pub total: Duration,
    /// Where the machine's folder was left.
    pub kept: Option<PathBuf>,
}

/// Boot the machine, run the job, wait for its end. `stop` ends it early.
pub fn run(cache: &Cache, spec: &Spec, job: &Job, sinks: Sinks, stop: &AtomicBool) -> Result<Outcome> {
    let scratch = Scratch::new()?;
    let result = prepare(cache, spec, job, &scratch).and_then(|()| drive(spec, job, sinks, stop, &scratch));
    if !job.keep {
        return result;
    }
    let place = scratch.keep();
    match result {
        Ok(outcome) => Ok(Outcome { kept: Some(place), ..outcome }),
        Err(e) => {
            let help = format!("console and files of the machine are in {}", place.display());
            let help = e.help.as_ref().map_or(help.clone(), |h| format!("{h}; {help}"));
            Err(e.help(help))
        }
    }
}

/// Make the first file system.
fn prepare(cache: &Cache, spec: &Spec, job: &Job, scratch: &Scratch) -> Result<()> {
    let mut files = job.files.clone();
    files.made.insert(0, ("/.runweir/job.sh".into(), 0o644, job_script(job).into_bytes()));
    let (absent, later): (Vec<_>, Vec<_>) = spec.layout.hotplug.iter().partition(|h| h.at_ns == 0);
    for (name, events) in [("absent", absent), ("hotplug", later)] {
        if !events.is_empty() {
            let path = format!("/.runweir/{name}.sh").into();
            files.made.push((path, 0o644, hotplug_script(&events).into_bytes()));
        }
    }
    if let Some(config) = &spec.kernel.config {
        let bytes = fs::read(config).map_err(|e| Error::io("read", config, &e))?;
        files.made.push((format!("/boot/config-{}", spec.kernel.version).into(), 0o644, bytes));
    }
    let of_job = scratch.path("job");
    initramfs::job(&of_job, &files)?;
    let mut parts = vec![initramfs::tools(cache)?];
    if let Some(program) = &job.runweir {
        parts.push(initramfs::program(cache, program)?);
    }
    parts.push(fs::File::open(&of_job).map_err(|e| Error::io("read", &of_job, &e))?);
    let bytes = initramfs::join(parts, &scratch.path("initrd"))?;
    // It is in memory twice while the kernel unpacks it, and there must be room to run.
    let needed = (bytes >> 20) * 2 + 256;
    if needed > u64::from(spec.memory_mib) {
        let message = format!(
            "the guest's {} MiB of memory are too few for its files ({} MiB)",
            spec.memory_mib,
            bytes >> 20
        );
        return Err(
            Error::new(ErrorKind::Input, message).help(format!("give it --memory {needed}MiB or more"))
        );
    }
    Ok(())
}

/// The input of the guest's first program.
fn job_script(job: &Job) -> String {
    let cwd = if job.cwd.as_os_str().is_empty() { Path::new("/") } else { &job.cwd };
    let words: Vec<String> = job.command.iter().map(|w| quoted(w)).collect();
    let mut script = format!("cwd={}\nwait_s={ATTACH_S}\n", quoted(&cwd.to_string_lossy()));
    if let Some(topology) = &job.topology {
        script.push_str(&format!("topology={}\n", quoted(topology)));
        script.push_str(if job.only { "only=--only\n" } else { "" });
        if let Some(load) = &job.load {
            script.push_str(&format!("load={}\n", quoted(load)));
        }
        script.push_str(if job.record { "record='--record /rec'\n" } else { "" });
    }
    if let Some((settings, term)) = &job.terminal {
        script.push_str(&format!("interactive={}\nterm={}\n", quoted(settings), quoted(term)));
    }
    script.push_str(&format!("set -- {}\n", words.join(" ")));
    script
}

/// CPUs that come and go, at their times since the script's start.
fn hotplug_script(events: &[Hotplug]) -> String {
    let mut script = String::new();
    let mut now_us = 0;
    for event in events {
        let at_us = event.at_ns / 1000;
        if at_us > now_us {
            script.push_str(&format!("usleep {}\n", at_us - now_us));
            now_us = at_us;
        }
        let (cpu, online) = (event.cpu, u8::from(event.online));
        script.push_str(&format!("echo {online} >/sys/devices/system/cpu/cpu{cpu}/online\n"));
    }
    script
}

/// QEMU's process; killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The guest's output so far.
#[derive(Default)]
struct Progress {
    ready: Option<Duration>,
    attached: bool,
    stopping: bool,
    live: Option<u8>,
    left_early: bool,
    unattached: bool,
    exit: Option<u8>,
    /// The guest's report when the time was up, and whether it is complete.
    report: String,
    reported: bool,
}

impl Progress {
    /// One line of the control channel.
    fn hear(&mut self, line: &str, since: Duration) {
        let status = |text: &str| text.parse().unwrap_or(255);
        match line.split_once(' ').unwrap_or((line, "")) {
            ("ready", _) => self.ready = Some(since),
            ("attached", _) => self.attached = true,
            ("unattached", _) => self.unattached = true,
            ("stopping", _) => self.stopping = true,
            ("live", text) => {
                self.live = Some(status(text));
                self.left_early = !self.stopping;
            }
            ("exit", text) => self.exit = Some(status(text)),
            ("|", text) => self.report.extend([text, "\n"]),
            ("reported", _) => self.reported = true,
            _ => {}
        }
    }

    /// What the guest was doing, for a message.
    fn stage(&self, topology: bool) -> &'static str {
        match (self.ready, topology && !self.attached, self.exit) {
            (None, ..) => "while its kernel was booting",
            (_, true, _) => "while the scheduler was attaching",
            (_, _, None) => "while the command was running",
            _ => "while it was shutting down",
        }
    }
}

/// Start QEMU and listen to it until it ends.
fn drive(spec: &Spec, job: &Job, sinks: Sinks, stop: &AtomicBool, scratch: &Scratch) -> Result<Outcome> {
    let interactive = job.terminal.is_some();
    let listeners: Vec<UnixListener> =
        qemu::CHANNELS.iter().map(|n| listen(&scratch.path(n))).collect::<Result<_>>()?;
    let args = qemu::args(spec, &|name| scratch.path(name).into_os_string(), interactive);
    if job.keep {
        let words: Vec<String> = args.iter().map(|a| quoted(&a.to_string_lossy())).collect();
        let _ = fs::write(scratch.path("qemu.sh"), format!("qemu-system-x86_64 {}\n", words.join(" ")));
    }
    let began = Instant::now();
    let mut qemu = Running(qemu::start(&args, scratch, interactive)?);
    let mut channels = Vec::new();
    for listener in listeners {
        channels.push(accept(&listener, &mut qemu, scratch, stop)?);
    }
    let [ctl, out, err, log] = channels.try_into().expect("as many as names");
    let mut ask = ctl.try_clone().ok();
    let (sender, heard) = channel();
    let closed = std::sync::Arc::new(AtomicBool::new(false));
    let mut threads = vec![listen_to(ctl, sender)];
    for (stream, sink) in [(out, sinks.out), (err, sinks.err), (log, sinks.log)] {
        let closed = closed.clone();
        threads.push(std::thread::spawn(move || {
            if !copy_live(stream, sink) {
                closed.store(true, Ordering::Relaxed);
            }
        }));
    }
    let mut progress = Progress::default();
    let stopped = || stop.load(Ordering::Relaxed) || closed.load(Ordering::Relaxed);
    let ended = wait(&mut qemu, &heard, &mut progress, job, began, &stopped);
    if ended.as_ref().is_err_and(|e| e.kind == ErrorKind::Timeout) && progress.ready.is_some() {
        report(ask.as_mut(), &mut qemu, &heard, &mut progress, &stopped);
    }
    drop(qemu);
    let total = began.elapsed();
    // QEMU is gone, so all channels end.
    threads.into_iter().for_each(|t| drop(t.join()));
    heard.try_iter().for_each(|line| progress.hear(&line, total));
    let console =
        String::from_utf8_lossy(&fs::read(scratch.path("console")).unwrap_or_default()).into_owned();
    let booted = progress.ready.is_some();
    ended
        .and_then(|()| outcome(&progress, job, scratch, total))
        .map_err(|e| explain(e, &console, &progress.report, booted, scratch))
}

/// The time is up: have the guest report what it is at, if it still can.
fn report(
    ask: Option<&mut UnixStream>,
    qemu: &mut Running,
    heard: &Receiver<String>,
    progress: &mut Progress,
    stopped: &dyn Fn() -> bool,
) {
    let Some(ask) = ask else { return };
    let _ = ask.set_write_timeout(Some(TICK));
    if ask.write_all(b"report\n").is_err() {
        return;
    }
    let until = Instant::now() + LAST_WORDS;
    while !progress.reported
        && Instant::now() < until
        && !stopped()
        && qemu.0.try_wait().is_ok_and(|s| s.is_none())
    {
        if let Ok(line) = heard.recv_timeout(TICK) {
            progress.hear(&line, Duration::ZERO);
        }
    }
}

fn listen(path: &Path) -> Result<UnixListener> {
    let failed = |e: std::io::Error| Error::io("make the socket", path, &e);
    let listener = UnixListener::bind(path).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

/// QEMU's connection; it comes at once unless QEMU refuses its options.
fn accept(
    listener: &UnixListener,
    qemu: &mut Running,
    scratch: &Scratch,
    stop: &AtomicBool,
) -> Result<UnixStream> {
    loop {
        if let Ok((stream, _)) = listener.accept() {
            stream
                .set_nonblocking(false)
                .map_err(|e| Error::new(ErrorKind::Io, format!("cannot use a socket: {e}")))?;
            return Ok(stream);
        }
        if let Ok(Some(status)) = qemu.0.try_wait() {
            let messages = qemu::messages(&scratch.path("qemu"));
            return Err(Error::new(ErrorKind::Guest, format!("QEMU did not start ({status})"))
                .help("see its own words; another --machine or --accel may do")
                .log("QEMU", &lines::tail(&messages, TAIL)));
        }
        if stop.load(Ordering::Relaxed) {
            return Err(interrupted());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn listen_to(stream: UnixStream, sender: Sender<String>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(std::result::Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    })
}

fn interrupted() -> Error {
    Error::new(ErrorKind::Interrupted, "the virtual machine was ended").help("nothing of it is left")
}

/// Until QEMU has ended, the time is up or the user wants an end.
fn wait(
    qemu: &mut Running,
    heard: &Receiver<String>,
    progress: &mut Progress,
    job: &Job,
    began: Instant,
    stopped: &dyn Fn() -> bool,
) -> Result<()> {
    let mut deadline = began + job.timeout;
    let topology = job.topology.is_some();
    loop {
        match heard.recv_timeout(TICK) {
            Ok(line) => {
                progress.hear(&line, began.elapsed());
                if progress.exit.is_some() {
                    deadline = deadline.min(Instant::now() + GRACE);
                }
            }
            // The channel has ended: QEMU is about to.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(TICK),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if qemu.0.try_wait().is_ok_and(|s| s.is_some()) {
            return Ok(());
        }
        if stopped() {
            return Err(interrupted());
        }
        if Instant::now() > deadline {
            if progress.exit.is_some() {
                return Ok(());
            }
            let seconds = job.timeout.as_secs_f64();
            let message =
                format!("the virtual machine took longer than {seconds} s, {}", progress.stage(topology));
            let help = match progress.ready {
                None => {
                    "give it more time with --timeout; if it never boots, the end of its console says why"
                }
                Some(_) => "give it more time with --timeout",
            };
            return Err(Error::new(ErrorKind::Timeout, message).help(help));
        }
    }
}

/// Put together what came back, if the guest came to its end.
fn outcome(progress: &Progress, job: &Job, scratch: &Scratch, total: Duration) -> Result<Outcome> {
    let (Some(status), Some(boot)) = (progress.exit, progress.ready) else {
        let stage = progress.stage(job.topology.is_some());
        return Err(Error::new(ErrorKind::Guest, format!("the virtual machine died {stage}"))
            .help("the end of its console says why; --accel tcg and another --kernel are worth a try"));
    };
    if progress.unattached {
        let message = format!("the scheduler did not attach within {ATTACH_S} s");
        return Err(
            Error::new(ErrorKind::Guest, message).help("its messages are above; fewer CPUs attach faster")
        );
    }
    let damaged = |why: String| {
        Error::new(ErrorKind::Guest, format!("the recordings did not arrive whole: {why}"))
            .help("did the command fill the guest's memory? Give it more with --memory")
    };
    let archive = fs::read(scratch.path("rec")).map_err(|e| damaged(e.to_string()))?;
    let entries = cpio::read(&archive).map_err(damaged)?;
    let mut recordings: Vec<(PathBuf, Vec<u8>)> =
        entries.into_iter().map(|e| (e.path, e.bytes.to_vec())).collect();
    let dmesg =
        recordings.iter().position(|(p, _)| p == Path::new(".dmesg")).map(|at| recordings.remove(at).1);
    let dmesg = String::from_utf8_lossy(&dmesg.unwrap_or_default()).into_owned();
    Ok(Outcome {
        status,
        live: progress.live,
        left_early: progress.left_early,
        recordings,
        complaints: lines::complaints(&dmesg),
        dmesg,
        boot,
        total,
        kept: None,
    })
}

/// Add what console and QEMU say to an error about the guest.
fn explain(e: Error, console: &str, report: &str, booted: bool, scratch: &Scratch) -> Error {
    if !matches!(e.kind, ErrorKind::Guest | ErrorKind::Timeout) || e.log.is_some() {
        return e;
    }
    let e = match lines::panic(console) {
        Some(reason) => Error { message: format!("{}; its kernel panicked: {reason}", e.message), ..e },
        None => e,
    };
    let tail = lines::tail(console, TAIL);
    let messages = lines::tail(&qemu::messages(&scratch.path("qemu")), TAIL);
    if e.kind == ErrorKind::Timeout && booted {
        let last = if report.is_empty() { "(it does not answer any more)\n" } else { report };
        let console = if tail.is_empty() { "(nothing)" } else { &tail };
        return e.log("the guest when the time was up", &format!("{last}console:\n{console}"));
    }
    match (tail.is_empty(), messages.is_empty()) {
        (false, _) => e.log("console", &tail),
        (true, false) => e.log("QEMU", &messages),
        (true, true) if booted => e,
        (true, true) => e.log("console", "(nothing: the kernel printed no message)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_survive_the_shell() {
        let job = Job {
            command: vec!["sh".into(), "-c".into(), "echo 'it''s'; $x".into()],
            cwd: "/some where".into(),
            topology: Some("decentral".into()),
            only: true,
            load: Some("/c/mine.so".into()),
            record: true,
            ..Job::default()
        };
        insta::assert_snapshot!(job_script(&job), @r"
        cwd='/some where'
        wait_s=600
        topology='decentral'
        only=--only
        load='/c/mine.so'
        record='--record /rec'
        set -- 'sh' '-c' 'echo '\''it'\'''\''s'\''; $x'
        ");
    }

    #[test]
    fn cpus_come_and_go_in_time() {
        let at = |at_ns, cpu, online| Hotplug { at_ns, cpu, online };
        let script = hotplug_script(&[at(0, 4, false), at(20_000_000, 4, true), at(20_000_000, 1, false)]);
        insta::assert_snapshot!(script, @"
        echo 0 >/sys/devices/system/cpu/cpu4/online
        usleep 20000
        echo 1 >/sys/devices/system/cpu/cpu4/online
        echo 0 >/sys/devices/system/cpu/cpu1/online
        ");
    }

    #[test]
    fn the_guest_is_understood() {
        let hear = |lines: &[&str]| {
            let mut progress = Progress::default();
            lines.iter().for_each(|l| progress.hear(l, Duration::from_secs(1)));
            progress
        };
        let p = hear(&[]);
        assert_eq!(p.stage(true), "while its kernel was booting");
        let p = hear(&["ready"]);
        assert_eq!(p.stage(true), "while the scheduler was attaching");
        let p = hear(&["ready", "attached"]);
        assert_eq!(p.stage(true), "while the command was running");
        let p = hear(&["ready", "attached", "stopping", "live 0", "exit 7"]);
        assert_eq!((p.exit, p.live, p.left_early), (Some(7), Some(0), false));
        let p = hear(&["ready", "attached", "live 1", "exit 0"]);
        assert_eq!((p.live, p.left_early), (Some(1), true));
        let p = hear(&["| one", "|", "|  two", "reported"]);
        assert_eq!((p.report.as_str(), p.reported), ("one\n\n two\n", true));
        let p = hear(&["exit what"]);
        assert_eq!(p.exit, Some(255));
    }

    #[test]
    fn deaths_are_explained() {
        let scratch = Scratch::new().expect("a folder");
        let died = || Error::new(ErrorKind::Guest, "the virtual machine died");
        let e = explain(died(), "[    1.0] Kernel panic - not syncing: VFS\n", "", false, &scratch);
        insta::assert_snapshot!(e, @"
        the virtual machine died; its kernel panicked: VFS
        console:
          [    1.0] Kernel panic - not syncing: VFS
        ");
        let e = explain(died(), "", "", false, &scratch);
        assert!(e.log.is_some_and(|(_, text)| text.starts_with("(nothing")));
        fs::write(scratch.path("qemu"), "qemu: no memory\n").expect("written");
        let e = explain(died(), "", "", false, &scratch);
        assert_eq!(e.log, Some(("QEMU".into(), "qemu: no memory".into())));
        assert_eq!(explain(interrupted(), "x", "", true, &scratch).log, None);
        let late = || Error::new(ErrorKind::Timeout, "too long");
        insta::assert_snapshot!(explain(late(), "[ 1.0] words\n", "tasks:\n  1 init\n", true, &scratch), @"
        too long
        the guest when the time was up:
          tasks:
            1 init
          console:
          [ 1.0] words
        ");
        let silent = explain(late(), "", "", true, &scratch).log.expect("a log").1;
        assert!(
            silent.starts_with("(it does not answer any more)") && silent.ends_with("(nothing)"),
            "{silent}"
        );
    }
}
