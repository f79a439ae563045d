// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Why a scheduler cannot be attached here, and what to do.
//!
//! Facts about the system come through [`System`], so that each diagnostic can be tested anywhere.

use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::prune::{DEEP_CHAINS, MAX_FRAMES};

/// Queries to the operating system before loading.
pub trait System {
    /// Text of a small file below `/proc` or `/sys`, trimmed.
    fn text(&self, path: &str) -> Option<String>;
    fn exists(&self, path: &str) -> bool;
    /// Names in a folder.
    fn names(&self, path: &str) -> Vec<String>;
    /// Where a symbolic link leads.
    fn link(&self, path: &str) -> Option<String>;
}

/// The system that we run on.
pub struct Host;

impl System for Host {
    fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(path).ok().map(|t| t.trim().to_owned())
    }

    fn exists(&self, path: &str) -> bool {
        Path::new(path).exists()
    }

    fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.filter_map(|e| e.file_name().into_string().ok()).collect()
    }

    fn link(&self, path: &str) -> Option<String> {
        std::fs::read_link(path).ok()?.into_os_string().into_string().ok()
    }
}

const SCHED_EXT: &str = "/sys/kernel/sched_ext";
const BTF: &str = "/sys/kernel/btf/vmlinux";

const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

macro_rules! kernels {
    () => {
        "Linux 6.12 or later with sched_ext (tested: 6.16 to 7.3)"
    };
}

/// On which kernels a scheduler runs: pages say it in the same words.
pub const KERNELS: &str = kernels!();

/// Remedies that several diagnostics share.
const WHICH_KERNEL: &str = concat!(
    "a scheduler needs ",
    kernels!(),
    ". Kernels have sched_ext where they are built with CONFIG_SCHED_CLASS_EXT=y, Debian's from 6.16 on \
     (trixie-backports). `runweir vm` tries a topology in a virtual machine with such a kernel"
);
const BAD_BUILDS: &str = "known to be damaged: Debian's backports builds 7.1.13 and 7.2.12; install another build \
    of the kernel (7.2.13 is sound). `runweir vm` chooses a sound one";
const LEAVE_OTHER: &str = "stop it first: end its process (for a scheduler run as a service: \
    `systemctl stop scx` or `scx_loader`); the kernel runs one such scheduler at a time";

/// The first thing in the way of attaching, if there is one.
pub fn preflight(system: &dyn System) -> Result<()> {
    if !system.exists(SCHED_EXT) {
        return Err(no_sched_ext(system));
    }
    missing_capabilities(system)?;
    if !system.exists(BTF) {
        return Err(Error::new(
            ErrorKind::Kernel,
            format!("the kernel does not describe its types: {BTF} is missing"),
            "use a kernel built with CONFIG_DEBUG_INFO_BTF=y, as distributions' kernels are",
        ));
    }
    if state(system).is_some_and(|s| s != "disabled") {
        return Err(other_scheduler(system));
    }
    Ok(())
}

/// The state of sched_ext. Waits for a scheduler that is being detached, which takes a moment.
fn state(system: &dyn System) -> Option<String> {
    let mut state = None;
    for _ in 0..30 {
        state = system.text(&format!("{SCHED_EXT}/state"));
        if state.as_deref() != Some("disabling") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    state
}

/// Version of the running kernel, for messages.
fn release(system: &dyn System) -> String {
    system.text("/proc/sys/kernel/osrelease").unwrap_or_else(|| "of unknown version".into())
}

/// Functions that the verifier of the running kernel grants to a chain of calls.
pub fn max_frames(system: &dyn System) -> usize {
    let release = release(system);
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < DEEP_CHAINS { MAX_FRAMES } else { usize::MAX }
}

fn no_sched_ext(system: &dyn System) -> Error {
    let message = format!("this kernel ({}) has no sched_ext: {SCHED_EXT} is missing", release(system));
    Error::new(ErrorKind::Kernel, message, WHICH_KERNEL)
}

/// The single capabilities that `SYS_ADMIN` includes.
fn missing_capabilities(system: &dyn System) -> Result<()> {
    let status = system.text("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    let Some(effective) = effective.and_then(|e| u64::from_str_radix(e.trim(), 16).ok()) else {
        return Ok(()); // then the kernel will say it
    };
    let has = |cap: u32| effective >> cap & 1 == 1;
    if has(CAP_SYS_ADMIN) {
        return Ok(());
    }
    let missing: Vec<&str> =
        [(CAP_BPF, "CAP_BPF"), (CAP_PERFMON, "CAP_PERFMON"), (CAP_NET_ADMIN, "CAP_NET_ADMIN")]
            .iter()
            .filter(|(cap, _)| !has(*cap))
            .map(|(_, name)| *name)
            .collect();
    if missing.is_empty() { Ok(()) } else { Err(permission(&missing.join(", "))) }
}

fn permission(missing: &str) -> Error {
    Error::new(
        ErrorKind::Permission,
        format!("attaching a scheduler needs more than this process may: {missing} missing"),
        "run it as root (sudo runweir live …); in a container, give it CAP_SYS_ADMIN, or CAP_BPF with \
         CAP_PERFMON and CAP_NET_ADMIN",
    )
}

/// A sched_ext scheduler that is not ours is in charge.
pub fn other_scheduler(system: &dyn System) -> Error {
    let name = system.text(&format!("{SCHED_EXT}/root/ops")).unwrap_or_else(|| "of unknown name".into());
    let holder = Holder::find(system, name == OUR_NAME);
    if let Some(Holder { pid, socket: Some(socket), .. }) = &holder {
        return Error::new(
            ErrorKind::InCharge,
            format!("runweir is in charge already (process {pid}, socket {socket})"),
            format!(
                "`runweir switch T --socket {socket}` replaces its topology without a pause; \
                 `runweir status --socket {socket}` shows it"
            ),
        );
    }
    let by = holder.map_or(String::new(), |h| format!(" (process {}, `{}`)", h.pid, h.comm));
    Error::new(
        ErrorKind::InCharge,
        format!("another scheduler is in charge already: `{name}`{by}"),
        LEAVE_OTHER,
    )
}

/// We are in charge already, and answer at `socket`.
pub fn ourselves(topology: &str, pid: Option<u32>, socket: &Path) -> Error {
    let process = pid.map_or(String::new(), |pid| format!("process {pid}, "));
    Error::new(
        ErrorKind::InCharge,
        format!(
            "runweir is in charge already, with topology `{topology}` ({process}socket {})",
            socket.display()
        ),
        "`runweir switch T` replaces its topology without a pause; `runweir status` shows it",
    )
}

/// Name of our schedulers in the kernel.
const OUR_NAME: &str = "weir";

/// The process that keeps a scheduler in charge.
struct Holder {
    pid: u32,
    comm: String,
    /// Where it listens, if it is one of ours.
    socket: Option<String>,
}

impl Holder {
    /// The one that holds a scheduler's link, as far as we may see: root sees all. `ours`: it is runweir.
    fn find(system: &dyn System, ours: bool) -> Option<Self> {
        let mut pids: Vec<u32> = system.names("/proc").iter().filter_map(|n| n.parse().ok()).collect();
        pids.sort_unstable();
        let holds = |pid: &u32| {
            let comm = system.text(&format!("/proc/{pid}/comm")).unwrap_or_default();
            let info = format!("/proc/{pid}/fdinfo");
            let is_link = |fd: &String| {
                system.text(&format!("{info}/{fd}")).is_some_and(|t| t.contains("link_type:\tstruct_ops"))
            };
            let held = (ours == (comm == "runweir")) && system.names(&info).iter().any(is_link);
            held.then(|| Self { pid: *pid, comm, socket: ours.then(|| listens(system, *pid)).flatten() })
        };
        pids.iter().find_map(holds)
    }
}

/// Path of the Unix socket on which a process listens.
fn listens(system: &dyn System, pid: u32) -> Option<String> {
    let fds = format!("/proc/{pid}/fd");
    let inodes: Vec<String> = system
        .names(&fds)
        .iter()
        .filter_map(|fd| system.link(&format!("{fds}/{fd}")))
        .filter_map(|to| Some(to.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let table = system.text("/proc/net/unix")?;
    table.lines().find_map(|line| {
        // Num RefCount Protocol Flags Type St Inode Path; the flag says that it accepts connections.
        let mut words = line.split_whitespace();
        let (flags, inode) = (words.nth(3)?, words.nth(2)?);
        (flags == "00010000" && inodes.iter().any(|i| i == inode)).then(|| words.next().map(str::to_owned))?
    })
}

/// What libbpf's words mean. `log` is all it printed while it failed with `errno` (positive); `save`
/// puts the log where the message can point to, if it does.
pub fn load_failure(log: &str, errno: i32, save: &dyn Fn() -> Option<PathBuf>, system: &dyn System) -> Error {
    let kernel = release(system);
    let at = || save().map_or(String::new(), |p| format!("; all of it: {}", p.display()));
    if log.contains("sched_ext_ops is not found") {
        return no_sched_ext(system);
    }
    if let Some(line) = find(log, &["incompatible with vmlinux", "func_proto", "is incompatible"]) {
        return Error::new(
            ErrorKind::Kernel,
            format!("this kernel ({kernel}) describes one of its functions wrongly: {line}"),
            format!("its BTF is malformed; {BAD_BUILDS}"),
        );
    }
    if let Some(line) = find(log, &["not found in kernel or module BTFs"]) {
        return Error::new(
            ErrorKind::Kernel,
            format!("this kernel ({kernel}) lacks a function that the scheduler calls: {line}"),
            format!("either it is older than 6.12, or its BTF is malformed; {BAD_BUILDS}"),
        );
    }
    if let Some(line) = find(log, &["struct_ops init_kern", "struct_ops reloc"]) {
        return Error::new(
            ErrorKind::Kernel,
            format!("this kernel's ({kernel}) sched_ext differs from what the scheduler knows: {line}"),
            format!("it needs {KERNELS}{}", at()),
        );
    }
    if log.contains("pointer arithmetic on arena prohibited") {
        return Error::new(
            ErrorKind::Kernel,
            format!(
                "the verifier of this kernel ({kernel}) does not know how a component reckons with addresses"
            ),
            format!(
                "Linux 7.0 does; here, load no more than a topology needs (--only), or another topology{}",
                at()
            ),
        );
    }
    if log.contains("BEGIN PROG LOAD LOG") {
        let program = find(log, &["BPF program load failed"]).unwrap_or("a program");
        return Error::new(
            ErrorKind::Internal,
            format!(
                "the verifier of this kernel ({kernel}) refuses the scheduler: {program}: {}",
                verdict(log)
            ),
            format!("please report it with the verifier's log{}; another kernel version may accept it", at()),
        );
    }
    if errno == libc::EPERM || errno == libc::EACCES {
        return permission("the kernel answers `operation not permitted`; CAP_SYS_ADMIN");
    }
    if errno == libc::ENOMEM {
        return Error::new(
            ErrorKind::Io,
            "the kernel has not enough memory for the scheduler's arena",
            "ask for less: --memory 32MiB",
        );
    }
    let last = log.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("no reason was given");
    Error::new(
        ErrorKind::Internal,
        format!(
            "this kernel ({kernel}) does not take the scheduler: {}",
            last.trim_start_matches("libbpf: ")
        ),
        format!("please report it with the log{}", at()),
    )
}

/// Attaching failed with `errno` (positive).
pub fn attach_failure(errno: i32, log: &str, system: &dyn System) -> Error {
    match errno {
        libc::EBUSY => other_scheduler(system),
        libc::EPERM | libc::EACCES => {
            permission("the kernel answers `operation not permitted`; CAP_SYS_ADMIN")
        }
        libc::ENOMEM => Error::new(
            ErrorKind::Io,
            "the kernel has not enough memory to attach the scheduler",
            "free some, or ask for less: --memory 32MiB",
        ),
        _ => {
            let reason = std::io::Error::from_raw_os_error(errno);
            let last = log.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or_default();
            Error::new(
                ErrorKind::Internal,
                format!("the kernel refused to attach the scheduler: {reason} {last}").trim_end().to_owned(),
                "the kernel's log says why: dmesg | grep sched_ext",
            )
        }
    }
}

/// The first line that has one of `words`, without libbpf's prefix.
fn find<'a>(log: &'a str, words: &[&str]) -> Option<&'a str> {
    let line = words.iter().find_map(|w| log.lines().find(|l| l.contains(w)))?;
    Some(line.trim().trim_start_matches("libbpf: "))
}

/// The verifier's last words before its statistics.
fn verdict(log: &str) -> &str {
    let end = log.find("END PROG LOAD LOG").unwrap_or(log.len());
    log[..end]
        .lines()
        .rev()
        .map(str::trim)
        .find(|l| {
            !(l.is_empty()
                || l.starts_with("--")
                || l.starts_with("processed ")
                || l.starts_with("stack depth")
                || l.starts_with("verification time"))
        })
        .unwrap_or("no reason was given")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fmt::Write as _;

    #[derive(Default)]
    struct Fake(BTreeMap<&'static str, &'static str>);

    impl System for Fake {
        fn text(&self, path: &str) -> Option<String> {
            self.0.get(path).map(|t| (*t).to_owned())
        }

        fn exists(&self, path: &str) -> bool {
            self.0.contains_key(path)
        }

        fn names(&self, path: &str) -> Vec<String> {
            let inside =
                |p: &&str| Some(p.strip_prefix(path)?.strip_prefix('/')?.split('/').next()?.to_owned());
            self.0.keys().filter_map(inside).collect()
        }

        fn link(&self, path: &str) -> Option<String> {
            self.text(path)
        }
    }

    #[test]
    fn who_is_in_charge_is_reported_with_process_and_socket() {
        let mut fake = Fake::default();
        fake.0.extend([
            ("/sys/kernel/sched_ext/root/ops", "weir"),
            ("/proc/7/comm", "runweir"),
            ("/proc/7/fdinfo/3", "pos:\t0"),
            ("/proc/12/comm", "runweir"),
            ("/proc/12/fdinfo/4", "pos:\t0\nlink_type:\tstruct_ops\nlink_id:\t9"),
            ("/proc/12/fd/5", "socket:[4242]"),
            ("/proc/12/fd/6", "/dev/null"),
            ("/proc/13/comm", "scx_rival"),
            ("/proc/13/fdinfo/4", "link_type:\tstruct_ops"),
            (
                "/proc/net/unix",
                "Num RefCount Protocol Flags Type St Inode Path\n\
                 0: 00000003 00000000 00000000 0001 03 4242 /run/connected\n\
                 0: 00000002 00000000 00010000 0001 01 4242 /run/other.sock",
            ),
        ]);
        let e = other_scheduler(&fake);
        assert_eq!(e.message, "runweir is in charge already (process 12, socket /run/other.sock)");
        assert!(e.help.contains("--socket /run/other.sock"), "{e}");
        fake.0.insert("/sys/kernel/sched_ext/root/ops", "rival");
        let e = other_scheduler(&fake);
        assert_eq!(e.message, "another scheduler is in charge already: `rival` (process 13, `scx_rival`)");
        assert_eq!(e.kind, ErrorKind::InCharge);
        fake.0.remove("/proc/13/fdinfo/4");
        assert_eq!(other_scheduler(&fake).message, "another scheduler is in charge already: `rival`");
        let e = ourselves("fifo", Some(12), Path::new("/run/x"));
        assert!(e.message.ends_with("with topology `fifo` (process 12, socket /run/x)"), "{e}");
    }

    const ROOT: &str = "Name:\trunweir\nCapEff:\t000001ffffffffff\nSeccomp:\t0";

    fn good() -> Fake {
        Fake(BTreeMap::from([
            ("/proc/sys/kernel/osrelease", "7.2.13-amd64"),
            ("/proc/self/status", ROOT),
            (SCHED_EXT, ""),
            ("/sys/kernel/sched_ext/state", "disabled"),
            (BTF, ""),
        ]))
    }

    #[test]
    fn nothing_is_in_the_way() {
        preflight(&good()).expect("a good system");
        let mut three = good();
        three.0.insert("/proc/self/status", "CapEff:\t000000c000001000");
        preflight(&three).expect("the three single capabilities do");
    }

    #[test]
    fn older_kernels_grant_short_chains() {
        let of = |release: &'static str| {
            let mut system = good();
            system.0.insert("/proc/sys/kernel/osrelease", release);
            max_frames(&system)
        };
        assert_eq!([of("6.18.15+deb13-amd64"), of("7.1.13")], [MAX_FRAMES; 2]);
        assert_eq!([of("7.2.13-amd64"), of("10.1")], [usize::MAX; 2]);
    }

    #[test]
    fn each_obstacle_is_named_with_its_remedy() {
        let mut text = String::new();
        let mut show =
            |title: &str, e: Error| writeln!(text, "# {title} ({:?})\n{e}\n", e.kind).expect("memory");
        let without = |path: &str| {
            let mut system = good();
            system.0.remove(path);
            preflight(&system).expect_err("an obstacle")
        };
        let with = |path: &'static str, value: &'static str| {
            let mut system = good();
            system.0.insert(path, value);
            system
        };
        show("no sched_ext", without(SCHED_EXT));
        show("no BTF", without(BTF));
        let user = with("/proc/self/status", "CapEff:\t0000000000000000");
        show("an ordinary user", preflight(&user).expect_err("an obstacle"));
        let some = with("/proc/self/status", "CapEff:\t0000008000000000");
        show("CAP_BPF alone", preflight(&some).expect_err("an obstacle"));
        let mut busy = with("/sys/kernel/sched_ext/state", "enabled");
        busy.0.insert("/sys/kernel/sched_ext/root/ops", "bpfland_1.1.4");
        show("another scheduler", preflight(&busy).expect_err("an obstacle"));
        show("ourselves", ourselves("decentral", Some(77), Path::new("/run/runweir/live.sock")));
        show("EBUSY at attachment", attach_failure(libc::EBUSY, "", &busy));
        show("EPERM at attachment", attach_failure(libc::EPERM, "", &good()));
        show("ENOMEM at attachment", attach_failure(libc::ENOMEM, "", &good()));
        show("EINVAL at attachment", attach_failure(libc::EINVAL, "", &good()));
        let load =
            |log: &str, errno: i32| load_failure(log, errno, &|| Some("/tmp/weir-load.log".into()), &good());
        show(
            "a function is described wrongly",
            load(
                "libbpf: extern (func ksym) 'scx_bpf_kick_cpu': func_proto [12] incompatible with vmlinux [3456]\n\
                 libbpf: failed to load BPF skeleton",
                libc::EINVAL,
            ),
        );
        show(
            "an older verifier",
            load(
                "libbpf: -- BEGIN PROG LOAD LOG --\nR1 pointer arithmetic on arena prohibited",
                libc::EACCES,
            ),
        );
        show(
            "a function is missing",
            load("libbpf: extern (func ksym) 'scx_bpf_create_dsq': not found in kernel or module BTFs", 22),
        );
        show(
            "no sched_ext_ops",
            load(
                "libbpf: struct_ops init_kern weir_ops: struct sched_ext_ops is not found in kernel BTF",
                22,
            ),
        );
        show(
            "another sched_ext",
            load("libbpf: struct_ops init_kern weir_ops: cannot find member tick in kernel BTF", 95),
        );
        show(
            "the verifier",
            load(
                "libbpf: prog 'weir_enqueue': BPF program load failed: Permission denied\n\
                 libbpf: prog 'weir_enqueue': -- BEGIN PROG LOAD LOG --\n\
                 0: R1=ctx() R10=fp0\n\
                 R2 invalid mem access 'scalar'\n\
                 verification time 34 usec\n\
                 processed 12 insns (limit 1000000) max_states_per_insn 0\n\
                 -- END PROG LOAD LOG --\n\
                 libbpf: failed to load object 'weir'",
                libc::EACCES,
            ),
        );
        show("no permission", load("libbpf: something", libc::EPERM));
        show("no memory", load("", libc::ENOMEM));
        show("anything else", load("libbpf: the last words\n\n", libc::EINVAL));
        insta::assert_snapshot!(text);
    }
}
