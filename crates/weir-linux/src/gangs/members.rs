// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Members of a gang: threads of named processes, of a program, of a control group. They are found in the scheduler's own table of
//! tasks; data that it does not hold (parents, names) is read from /proc, once per process unless it is new.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use weir_core::gang::Manifest;
use weir_core::{CpuSet, Topic};

use super::{JoinWish, State, only, wrong};
use crate::clock;
use crate::control::Control;
use crate::error::Result;
use crate::layout::NONE;

/// Where control groups are.
const CGROUPS: &str = "/sys/fs/cgroup";
/// A process in no gang may become another program: it is checked again after this time, then after twice as long …
const SOON: Duration = Duration::from_millis(20);
/// … and at last so seldom.
const SELDOM: Duration = Duration::from_secs(2);
/// Interval at which control groups are checked.
const GROUPS: Duration = Duration::from_millis(100);
/// Processes that are remembered, some of which are gone.
const MAX_KNOWN: usize = 4096;
/// Parents of parents that are asked for.
const DEPTH: usize = 32;
/// Folders of control groups that are read below one.
const MAX_FOLDERS: usize = 256;

/// How threads come to a gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Joined {
    pub processes: BTreeSet<u32>,
    /// Processes whose children belong to it, but not they themselves.
    pub parents: BTreeSet<u32>,
    pub threads: BTreeSet<u32>,
    pub program: Option<String>,
    pub groups: BTreeSet<PathBuf>,
}

impl Joined {
    pub fn of(manifest: &Manifest) -> Self {
        let program = Some(manifest.program().to_string()).filter(|p| !p.is_empty());
        let mut joined = Self { program, ..Self::default() };
        if !manifest.group().is_empty() {
            joined.groups.insert(group_path(manifest.group()));
        }
        joined
    }

    pub fn add(&mut self, wish: &JoinWish) -> Result<()> {
        let known = |id: u32| Path::new("/proc").join(id.to_string()).exists();
        let gone = |what: &str, id: u32| {
            wrong(
                format!("there is no {what} {id}"),
                format!("name a {what} that runs: ps -eLo pid,tid,comm"),
            )
        };
        match *wish {
            JoinWish { process: Some(pid), thread: None, cgroup: None, children, .. } if known(pid) => {
                if children { &mut self.parents } else { &mut self.processes }.insert(pid);
            }
            JoinWish { process: Some(pid), thread: None, cgroup: None, .. } => {
                return Err(gone("process", pid));
            }
            JoinWish { process: None, thread: Some(tid), cgroup: None, children: false, .. }
                if known(tid) =>
            {
                self.threads.insert(tid);
            }
            JoinWish { process: None, thread: Some(tid), cgroup: None, children: false, .. } => {
                return Err(gone("thread", tid));
            }
            JoinWish { process: None, thread: None, cgroup: Some(ref group), children: false, .. } => {
                let path = group_path(group);
                if group.split('/').any(|part| part == "..") || !path.join("cgroup.procs").exists() {
                    return Err(wrong(
                        format!("there is no control group `{}`", group.escape_debug()),
                        format!("name a folder below {CGROUPS}: systemd-cgls shows them"),
                    ));
                }
                self.groups.insert(path);
            }
            _ => {
                return Err(wrong(
                    "who is to join?",
                    "name one of `process` (with `children`, only those that it starts), `thread` and `cgroup`",
                ));
            }
        }
        Ok(())
    }
}

fn group_path(group: &str) -> PathBuf {
    Path::new(CGROUPS).join(group.trim_start_matches('/'))
}

/// Processes of a group and of those below it.
fn processes_of(root: &Path) -> BTreeSet<u32> {
    let (mut found, mut folders) = (BTreeSet::new(), vec![root.to_path_buf()]);
    let mut read = 0;
    while let Some(folder) = folders.pop().filter(|_| read < MAX_FOLDERS) {
        read += 1;
        let text = std::fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        found.extend(text.lines().filter_map(|l| l.parse::<u32>().ok()));
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        folders
            .extend(entries.flatten().filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()));
    }
    found
}

/// A thread that belongs to a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub tid: u32,
    /// Its number in the scheduler.
    pub task: u32,
    /// Where it has its slots; none: it has bound itself to a CPU that is not the gang's.
    pub cpu: Option<u32>,
    /// The part of that which the graph has received.
    bound: Option<u32>,
    /// The graph knows that it is a member.
    joined: bool,
}

/// Data about a process.
struct Known {
    /// When it is checked again, if ever: kernel threads belong to no gang.
    next: Option<Instant>,
    pause: Duration,
    gang: Option<u32>,
}

/// Checked processes.
#[derive(Default)]
pub(super) struct Processes {
    known: HashMap<u32, Known>,
    groups: HashMap<u32, u32>,
    groups_looked: Option<Instant>,
}

impl Processes {
    /// Membership has changed: look again.
    pub fn forget(&mut self) {
        self.known.clear();
        self.groups_looked = None;
    }

    /// The gang of a process, if it is known by now.
    fn gang_of(&mut self, tgid: u32, gangs: &BTreeMap<u32, Joined>, now: Instant) -> Option<u32> {
        if let Some(number) = self.groups.get(&tgid) {
            return Some(*number);
        }
        let known = self.known.entry(tgid).or_insert(Known { next: Some(now), pause: SOON, gang: None });
        if known.gang.is_some() || known.next.is_none_or(|at| at > now) {
            return known.gang;
        }
        let found = find(tgid, gangs);
        if let Some(known) = self.known.get_mut(&tgid) {
            known.next = (found != Found::Never).then_some(now + known.pause);
            known.pause = (2 * known.pause).min(SELDOM);
            known.gang = if let Found::Gang(number) = found { Some(number) } else { None };
            return known.gang;
        }
        None
    }

    fn look_at_groups(&mut self, gangs: &BTreeMap<u32, Joined>, now: Instant) {
        if self.groups_looked.is_some_and(|at| at + GROUPS > now) {
            return;
        }
        self.groups_looked = Some(now);
        self.groups.clear();
        for (number, joined) in gangs {
            for group in &joined.groups {
                self.groups.extend(processes_of(group).into_iter().map(|pid| (pid, *number)));
            }
        }
    }
}

/// The result of checking a process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Gang(u32),
    /// It belongs to no gang now.
    Nobody,
    Never,
}

/// The parent of all threads of the kernel.
const KTHREADD: u32 = 2;

/// The gang that a process belongs to, by its number, its parents' and its name.
fn find(tgid: u32, gangs: &BTreeMap<u32, Joined>) -> Found {
    let gang = |mut fits: Box<dyn FnMut(&Joined) -> bool + '_>| {
        gangs.iter().find(|(_, j)| fits(j)).map(|(n, _)| Found::Gang(*n))
    };
    if let Some(found) = gang(Box::new(|j| j.processes.contains(&tgid))) {
        return found;
    }
    let Some(first) = parent(tgid) else { return Found::Nobody };
    if tgid == KTHREADD || first == KTHREADD {
        return Found::Never;
    }
    if gangs.values().any(|j| j.program.is_some())
        && let Some(name) = clock::thread_name(tgid)
        && let Some(found) = gang(Box::new(|j| j.program.as_deref() == Some(&name)))
    {
        return found;
    }
    if gangs.values().all(|j| j.processes.is_empty() && j.parents.is_empty()) {
        return Found::Nobody;
    }
    let mut at = first;
    for _ in 0..DEPTH {
        if let Some(found) = gang(Box::new(|j| j.processes.contains(&at) || j.parents.contains(&at))) {
            return found;
        }
        match parent(at) {
            Some(next) if next > 1 => at = next,
            _ => break,
        }
    }
    Found::Nobody
}

/// The parent of a process, 0 of the first ones; none: the process is gone.
fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may have anything in it.
    let fields = &stat[stat.rfind(')')? + 1..];
    fields.split_whitespace().nth(1)?.parse().ok()
}

/// The CPUs that a thread has bound itself to; none: all.
fn own_cpus(tid: u32, nr_cpus: u32) -> Option<CpuSet> {
    let set: CpuSet = (0..nr_cpus).filter(|c| clock::may_run(tid, *c)).collect();
    // Of a thread that is gone nothing is known.
    (!set.is_empty() && set.len() < nr_cpus).then_some(set)
}

impl State {
    /// Report to the graph that a thread belongs to no gang and may run everywhere.
    pub(super) fn expel(&mut self, control: &Control, number: u32, m: &Member) -> Result<()> {
        self.post(control, number, || control.post_gang(Topic::Gang, m.task, NONE, [0, 0], None))?;
        if m.bound.is_some() {
            let mask = own_cpus(m.tid, control.nr_cpus());
            let post = || control.post_gang(Topic::Affinity, m.task, NONE, [0, 0], mask.as_ref());
            self.post(control, number, post)?;
        }
        Ok(())
    }

    /// Report new threads, and remove ended ones.
    pub(super) fn look_at_members(&mut self, control: &Control) -> Result<()> {
        let now = Instant::now();
        let joined: BTreeMap<u32, Joined> = self.gangs.iter().map(|(n, g)| (*n, g.joined.clone())).collect();
        self.processes.look_at_groups(&joined, now);
        let own = std::process::id();
        let threads: Vec<(u32, u32, u32)> =
            control.view.threads().filter(|(_, _, tgid)| *tgid != own).collect();
        let mut there: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
        for (task, tid, tgid) in threads {
            let single = joined.iter().find(|(_, j)| j.threads.contains(&tid)).map(|(n, _)| *n);
            if let Some(number) = single.or_else(|| self.processes.gang_of(tgid, &joined, now)) {
                there.entry(number).or_default().insert(tid, task);
            }
        }
        if self.processes.known.len() > MAX_KNOWN {
            self.processes.forget();
        }
        let online = control.online();
        let nothing = BTreeMap::new();
        for number in joined.keys() {
            self.bring_up_to_date(control, *number, there.get(number).unwrap_or(&nothing), &online)?;
        }
        Ok(())
    }

    /// Let the members of a gang be these: by thread, its number in the scheduler.
    fn bring_up_to_date(
        &mut self,
        control: &Control,
        number: u32,
        threads: &BTreeMap<u32, u32>,
        online: &[bool],
    ) -> Result<()> {
        let Some(gang) = self.gangs.get_mut(&number) else { return Ok(()) };
        let waits = u64::from(gang.manifest.waits());
        gang.members.retain(|tid, m| threads.get(tid) == Some(&m.task));
        let mut load: BTreeMap<u32, usize> = gang.cpus.iter().map(|c| (*c, 0)).collect();
        for m in gang.members.values() {
            m.cpu.and_then(|c| load.get_mut(&c)).into_iter().for_each(|n| *n += 1);
        }
        let is_on = |cpu: u32| online.get(cpu as usize).copied().unwrap_or(false);
        let mut news = Vec::new();
        for (tid, task) in threads {
            if let Some(m) = gang.members.get_mut(tid) {
                let wanted = m.cpu.filter(|c| is_on(*c));
                if m.bound != wanted || !m.joined {
                    news.push((*tid, *task, wanted));
                }
                continue;
            }
            // The emptiest of those that the thread may use; a program that binds its threads is left alone.
            let allowed = load.iter().filter(|(c, _)| clock::may_run(*tid, **c));
            let cpu = allowed.min_by_key(|(c, n)| (**n, **c)).map(|(c, _)| *c);
            cpu.and_then(|c| load.get_mut(&c)).into_iter().for_each(|n| *n += 1);
            gang.members.insert(*tid, Member { tid: *tid, task: *task, cpu, bound: None, joined: false });
            news.push((*tid, *task, cpu.filter(|c| is_on(*c))));
        }
        for (tid, task, cpu) in news {
            self.update_member(control, number, (tid, task), cpu, waits)?;
        }
        Ok(())
    }

    /// Bind a member to `cpu` as far as the graph goes, and report that it is one.
    fn update_member(
        &mut self,
        control: &Control,
        number: u32,
        (tid, task): (u32, u32),
        cpu: Option<u32>,
        waits: u64,
    ) -> Result<()> {
        let known =
            |s: &Self| s.gangs.get(&number).and_then(|g| g.members.get(&tid)).map(|m| (m.bound, m.joined));
        let Some((bound, joined)) = known(self) else { return Ok(()) };
        if cpu != bound {
            let mask = cpu.map(only).or_else(|| own_cpus(tid, control.nr_cpus()));
            let post = || control.post_gang(Topic::Affinity, task, NONE, [0, 0], mask.as_ref());
            self.post(control, number, post)?;
        }
        if !joined {
            let value = u64::from(number) + 1;
            self.post(control, number, || control.post_gang(Topic::Gang, task, NONE, [value, waits], None))?;
        }
        let gang = self.gangs.get_mut(&number);
        if let Some(m) = gang.and_then(|g| g.members.get_mut(&tid)) {
            (m.bound, m.joined) = (cpu, true);
        }
        Ok(())
    }
}
