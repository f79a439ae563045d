// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the program may touch from now on: files by Landlock; network, other processes and other programs by Landlock's later parts and by
//! seccomp. For this process and the threads that it starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// What descriptions of this machine are read from.
const MACHINE: [&str; 2] = ["/sys/devices/system", "/proc/cpuinfo"];

/// Calls that no simulation needs: sockets of any kind, other programs, other processes' memory, and rings that would do these
/// things past the filter.
const NEVER: [i64; 14] = [
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_tkill,
    libc::SYS_io_uring_setup,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
];

/// Calls that name a process first, which is to be this one.
const OWN: [i64; 3] = [libc::SYS_kill, libc::SYS_tgkill, libc::SYS_rt_tgsigqueueinfo];

fn words(e: impl std::fmt::Display) -> String {
    e.to_string()
}

/// From now on: everything in `scratch`, reading below `allowed`, nothing else; no network, no other process. Says why where it cannot be.
/// Of Landlock, what this kernel has: files from 5.13 on, TCP from 6.7, abstract sockets and signals from 6.12.
pub fn enter(scratch: &Path, allowed: &[PathBuf]) -> Result<(), String> {
    let abi = ABI::V6;
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(abi))
        .and_then(|r| r.handle_access(AccessNet::from_all(abi)))
        .and_then(|r| r.scope(Scope::from_all(abi)))
        .and_then(Ruleset::create)
        .map_err(words)?;
    let mut add = |path: &Path, access| -> Result<(), String> {
        let Ok(fd) = PathFd::new(path) else { return Ok(()) };
        (&mut rules).add_rule(PathBeneath::new(fd, access)).map(drop).map_err(words)
    };
    add(scratch, AccessFs::from_all(abi) & !AccessFs::Execute)?;
    for path in allowed.iter().map(PathBuf::as_path).chain(MACHINE.map(Path::new)) {
        let access =
            if path.is_dir() { AccessFs::ReadFile | AccessFs::ReadDir } else { AccessFs::ReadFile.into() };
        add(path, access)?;
    }
    let status = rules.restrict_self().map_err(words)?;
    if matches!(status.ruleset, RulesetStatus::NotEnforced) {
        return Err("this kernel has no Landlock".into());
    }
    let filter = filter().map_err(|e| format!("seccomp: {e}"))?;
    seccompiler::apply_filter_all_threads(&filter).map_err(|e| format!("seccomp: {e}"))
}

fn filter() -> Result<BpfProgram, String> {
    let me = u64::from(std::process::id());
    let other = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, me).map_err(words)?;
    let other = SeccompRule::new(vec![other]).map_err(words)?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = NEVER.iter().map(|call| (*call, Vec::new())).collect();
    rules.extend(OWN.iter().map(|call| (*call, vec![other.clone()])));
    let denied = SeccompAction::Errno(libc::EPERM as u32);
    let arch = std::env::consts::ARCH.try_into().map_err(words)?;
    SeccompFilter::new(rules, SeccompAction::Allow, denied, arch).map_err(words)?.try_into().map_err(words)
}
