// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! CPUs that share no memory: each coherence domain has a scheduler of its own, in an arena of its own, and what goes from one to
//! another is copied bytes (`core/src/remote.c`, docs/decisions/0160).
//!
//! This is the runtime's part: it carries remote messages in order, gives them to a domain before that domain's next call, and knows in which
//! domain each task is, or to which it is on its way. With the feature `strict`, only the arena of the domain that a call is for can be
//! read or written while the call runs: any other access is a fault of the processor.

use std::cell::Cell;
use std::collections::VecDeque;

use memmap2::MmapMut;

use crate::Plan;
use crate::ffi::{self, CRemoteMsg, CSched, CSwapStats, CTask};
use crate::sched::{Config, Error, Msg, TaskId, init, new_arena};
use crate::tables::{Identity, Tables};

/// A call about a task that is in another domain: `enum weir_remote_call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Call {
    Admit = 0,
    Unblock,
    Block,
    Exit,
}

/// `enum weir_remote_kind`
const TASK: u32 = 0;
const MESSAGE: u32 = 3;
const CALL: u32 = 4;
/// Kinds that a domain need not be interrupted for.
const MAY_WAIT: [u32; 3] = [1, 2, 5];

const NONE: u32 = u32::MAX;
/// `WEIR_ELSEWHERE`; `-WEIR_ENOMEM`, `-WEIR_EAGAIN`.
const ELSEWHERE: i32 = 1;
const LATER: [i32; 2] = [-1, -3];

const HEAD: usize = size_of::<CRemoteMsg>() / 8;

/// A remote message with its words, as C has it.
pub struct RemoteMsg(Vec<u64>);

impl RemoteMsg {
    fn new(head: CRemoteMsg, words: &[u64]) -> Self {
        let mut p = RemoteMsg(vec![0; HEAD + words.len()]);
        p.0[HEAD..].copy_from_slice(words);
        *p.head_mut() = CRemoteMsg { nr_words: words.len() as u32, ..head };
        p
    }

    /// # Safety
    /// `from` is a remote message of C with its words.
    unsafe fn copy(from: *const CRemoteMsg) -> Self {
        // SAFETY: the caller's promise.
        let words =
            unsafe { std::slice::from_raw_parts(from.cast::<u64>(), HEAD + (*from).nr_words as usize) };
        RemoteMsg(words.to_vec())
    }

    fn head(&self) -> &CRemoteMsg {
        // SAFETY: the words begin with the record, which has their alignment and holds numbers only.
        unsafe { &*self.as_ptr() }
    }

    fn head_mut(&mut self) -> &mut CRemoteMsg {
        // SAFETY: as in `head`.
        unsafe { &mut *self.0.as_mut_ptr().cast() }
    }

    pub fn as_ptr(&self) -> *const CRemoteMsg {
        self.0.as_ptr().cast()
    }
}

struct Part {
    s: *mut CSched,
    bytes: usize,
    /// That of the first domain belongs to the [`crate::Sched`].
    _arena: Option<MmapMut>,
    /// What has been sent here and not been given in.
    queue: VecDeque<RemoteMsg>,
    sent: u64,
}

/// The domains of a [`crate::Sched`], and what is between them.
pub struct Domains {
    parts: Vec<Part>,
    /// Domain of each CPU, of each instance, of the instances before and behind each pipe.
    cpus: Vec<u32>,
    instances: Vec<u32>,
    pipes: Vec<(u32, u32)>,
    /// Where each task is, or to which domain it is on its way, by its number.
    at: Vec<u32>,
    /// The CPU whose call was the last.
    last: u32,
    /// Number of the present plan.
    epoch: u32,
    plan: Option<Plan>,
    /// The domain whose arena can be accessed.
    open: Cell<u32>,
}

impl Domains {
    /// Schedulers for all domains of a machine, of which the first one exists.
    pub fn new(
        cfg: &Config,
        first: *mut CSched,
        plan: &Plan,
        set_up: impl Fn(*mut CSched),
    ) -> Result<Self, i32> {
        let part =
            |s, arena| Part { s, bytes: cfg.arena_bytes, _arena: arena, queue: VecDeque::new(), sent: 0 };
        let mut parts = vec![part(first, None)];
        for domain in 1..plan.domains() {
            let arena = new_arena(cfg).map_err(|e| -e.code)?;
            // SAFETY: fresh and zeroed; it lives as long as the part.
            let s = unsafe { init(cfg, arena.as_ptr().cast_mut()) }.map_err(|e| -e.code)?;
            // SAFETY: valid scheduler without a graph.
            unsafe { ffi::weir_remote_init(s, domain) };
            set_up(s);
            parts.push(part(s, Some(arena)));
        }
        let d = Domains {
            parts,
            cpus: plan.cpus.iter().map(|c| c.domain).collect(),
            instances: Vec::new(),
            pipes: Vec::new(),
            at: Vec::new(),
            last: 0,
            epoch: 0,
            plan: None,
            open: Cell::new(NONE),
        };
        d.close_all();
        Ok(d)
    }

    pub fn nr(&self) -> u32 {
        self.parts.len() as u32
    }

    fn domain(&self, cpu: u32) -> u32 {
        self.cpus[cpu as usize]
    }

    fn first_cpu(&self, domain: u32) -> u32 {
        self.cpus.iter().position(|d| *d == domain).expect("a domain has CPUs") as u32
    }

    fn part(&mut self, domain: u32) -> &mut Part {
        &mut self.parts[domain as usize]
    }

    // --- memory -----------------------------------------------------------------------------------------

    #[cfg(feature = "strict")]
    fn protect(&self, domain: u32, open: bool) {
        let part = &self.parts[domain as usize];
        let how = if open { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
        // SAFETY: whole pages of a map of ours, which nobody refers to while it is closed.
        let failed = unsafe { libc::mprotect(part.s.cast(), part.bytes, how) };
        assert_eq!(failed, 0, "mprotect: {}", std::io::Error::last_os_error());
    }

    #[cfg(not(feature = "strict"))]
    fn protect(&self, domain: u32, _open: bool) {
        debug_assert!(self.parts[domain as usize].bytes > 0);
    }

    fn close_all(&self) {
        (0..self.nr()).for_each(|d| self.protect(d, false));
    }

    /// The scheduler of a domain; until the next call of this kind, only its memory is to be accessed.
    pub fn open(&self, domain: u32) -> *mut CSched {
        let before = self.open.replace(domain);
        if before != domain {
            if before != NONE {
                self.protect(before, false);
            }
            self.protect(domain, true);
        }
        self.parts[domain as usize].s
    }

    pub fn open_again(&self, s: *mut CSched) {
        let domain = self.parts.iter().position(|p| p.s == s).expect("a scheduler of these");
        self.open(domain as u32);
    }

    pub fn open_for(&self, cpu: u32) -> *mut CSched {
        self.open(self.domain(cpu))
    }

    /// That of the last call.
    pub fn open_last(&self) {
        self.open_for(self.last);
    }

    /// Behind the pipe.
    pub fn of_pipe(&self, pipe: u32) -> *mut CSched {
        self.open(self.pipes.get(pipe as usize).map_or(0, |p| p.1))
    }

    pub fn before_pipe(&self, pipe: u32) -> *mut CSched {
        self.open(self.pipes.get(pipe as usize).map_or(0, |p| p.0))
    }

    pub fn of_instance(&self, instance: u32) -> *mut CSched {
        self.open(self.instances.get(instance as usize).copied().unwrap_or(0))
    }

    pub fn of_task(&self, t: TaskId) -> *mut CSched {
        self.open(self.at.get(t.0 as usize).copied().unwrap_or(0))
    }

    // --- tasks ------------------------------------------------------------------------------------------

    /// A task has been created by a call of `cpu`.
    pub fn created(&mut self, t: TaskId, cpu: u32) {
        if self.at.len() <= t.0 as usize {
            self.at.resize(t.0 as usize + 1, 0);
        }
        self.at[t.0 as usize] = self.domain(cpu);
    }

    /// Its record in the domain where it is; `None` if it is on its way, or does not exist.
    pub fn record(&self, t: TaskId) -> Option<*mut CTask> {
        let s = self.of_task(t);
        // SAFETY: valid scheduler; unknown numbers give null.
        let p = unsafe { ffi::weir_task_get(s, t.0) };
        // SAFETY: a record stays valid for the arena's life. 4: it has left, and not all know.
        (!p.is_null() && unsafe { (*p).claim & 0xff } != 4).then_some(p)
    }

    /// On the way to the domain that `at` says.
    fn on_its_way(&self, t: TaskId) -> Option<&RemoteMsg> {
        let at = *self.at.get(t.0 as usize)?;
        self.parts[at as usize].queue.iter().find(|p| p.head().kind == TASK && p.head().task == t.0)
    }

    pub fn cookie_on_its_way(&self, t: TaskId) -> Option<u64> {
        self.on_its_way(t).map(|p| p.head().cookie)
    }

    pub fn nr_on_their_way(&self) -> u32 {
        self.parts.iter().flat_map(|p| &p.queue).filter(|p| p.head().kind == TASK).count() as u32
    }

    pub fn nr_schedulable(&self) -> u32 {
        let mut last_call = std::collections::BTreeMap::new();
        for head in self.parts.iter().flat_map(|p| &p.queue).map(RemoteMsg::head).filter(|h| h.kind == CALL) {
            last_call.insert(head.task, head.call <= Call::Unblock as u32);
        }
        let will_be = |t: &u32| last_call.get(t).copied().unwrap_or_else(|| self.state(TaskId(*t)) == 2);
        (0..self.at.len() as u32).filter(will_be).count() as u32
    }

    pub fn state(&self, t: TaskId) -> u32 {
        // Schedulable: it was sent because it is.
        if self.on_its_way(t).is_some() {
            return 2;
        }
        // SAFETY: a valid record.
        self.record(t).map_or(0, |p| unsafe { (*p).claim & 0xff } as u32)
    }

    /// Whether a call of `cpu` can be about this task directly.
    pub fn is_at(&self, t: TaskId, cpu: u32) -> bool {
        self.at.get(t.0 as usize) == Some(&self.domain(cpu)) && self.on_its_way(t).is_none()
    }

    /// A CPU of the domain where the task is: `cpu`, if that is one.
    pub fn cpu_near(&self, t: TaskId, cpu: u32) -> u32 {
        match self.at.get(t.0 as usize) {
            Some(d) if *d != self.domain(cpu) => self.first_cpu(*d),
            _ => cpu,
        }
    }

    pub fn cpu_of_instance(&self, instance: u32, cpu: u32) -> u32 {
        match self.instances.get(instance as usize) {
            Some(d) if *d != self.domain(cpu) => self.first_cpu(*d),
            _ => cpu,
        }
    }

    // --- remote messages ----------------------------------------------------------------------------------------

    pub fn sent(&self, domain: u32) -> u64 {
        self.parts.get(domain as usize).map_or(0, |p| p.sent)
    }

    pub fn waiting(&self) -> bool {
        self.parts.iter().any(|p| !p.queue.is_empty())
    }

    fn send(&mut self, message: RemoteMsg) {
        let CRemoteMsg { kind, to, task, .. } = *message.head();
        if kind == TASK {
            self.at[task as usize] = to;
        }
        let part = self.part(to);
        part.sent += u64::from(!MAY_WAIT.contains(&kind));
        part.queue.push_back(message);
    }

    fn about(&self, t: TaskId, cpu: u32, kind: u32) -> CRemoteMsg {
        let to = self.at.get(t.0 as usize).copied().unwrap_or_else(|| panic!("task {} does not exist", t.0));
        CRemoteMsg { kind, from: self.domain(cpu), to, task: t.0, cpu: NONE, ..CRemoteMsg::default() }
    }

    pub fn call(&mut self, t: TaskId, cpu: u32, call: Call) {
        self.send(RemoteMsg::new(CRemoteMsg { call: call as u32, ..self.about(t, cpu, CALL) }, &[]));
    }

    /// A message about a task that is in another domain.
    pub fn message(&mut self, t: TaskId, cpu: u32, topic: (u64, u32), msg: &Msg, words: &[u64]) {
        let head = self.about(t, cpu, MESSAGE);
        self.send(RemoteMsg::new(filled(head, topic, msg), words));
    }

    /// A message that the domain of `cpu` does not know the topic of.
    pub fn message_to_all(&mut self, cpu: u32, topic: (u64, u32), msg: &Msg, words: &[u64]) {
        let from = self.domain(cpu);
        for to in (0..self.nr()).filter(|d| *d != from) {
            let head = CRemoteMsg { kind: MESSAGE, from, to, task: NONE, ..CRemoteMsg::default() };
            self.send(RemoteMsg::new(filled(head, topic, msg), words));
        }
    }

    /// The next remote message for the domain of `cpu`, which calls now.
    pub fn next_for(&mut self, cpu: u32) -> Option<RemoteMsg> {
        self.last = cpu;
        let domain = self.domain(cpu);
        self.part(domain).queue.pop_front()
    }

    /// C has been given it. False: nothing more can be given in now.
    pub fn accepted(&mut self, cpu: u32, mut message: RemoteMsg, code: i32) -> bool {
        let domain = self.domain(cpu);
        let t = TaskId(message.head().task);
        if LATER.contains(&code) {
            self.part(domain).queue.push_front(message);
            return false;
        }
        if code == ELSEWHERE {
            // It has moved on, and this follows. What concerns a task that has ended is dropped.
            let at = self.at[t.0 as usize];
            if at != domain || self.on_its_way(t).is_some() {
                message.head_mut().to = at;
                self.send(message);
            }
            return true;
        }
        assert_eq!(code, 0, "a remote call was refused: {:?}", message.head());
        true
    }

    /// Take what the domain of `cpu` has left for others.
    pub fn collect(&mut self, cpu: u32) {
        let s = self.open_for(cpu);
        loop {
            // SAFETY: valid scheduler.
            let next = unsafe { ffi::weir_remote_next(s, cpu) };
            if next.is_null() {
                return;
            }
            // SAFETY: a remote message in the arena, which is copied before it is freed.
            let message = unsafe { RemoteMsg::copy(next) };
            // SAFETY: valid scheduler.
            unsafe { ffi::weir_remote_taken(s) };
            self.send(message);
        }
    }

    pub fn collect_last(&mut self) {
        self.collect(self.last);
    }

    // --- topologies -------------------------------------------------------------------------------------

    /// Exchange the parts of all domains.
    pub fn swap(
        &mut self,
        plan: &Plan,
        tables: &mut Tables,
        has: &[u32],
        present: &[Identity],
        enter: impl Fn(&mut dyn FnMut() -> i32) -> i32,
    ) -> Result<CSwapStats, (i32, u32)> {
        if plan.domains() != self.nr() {
            return Err((-2, 0));
        }
        let mut sum = CSwapStats::default();
        let swap_one = |d: &Domains, domain: u32, tables: &Tables, sum: &mut CSwapStats| {
            let mut stats = CSwapStats::default();
            let (s, cpu, c) = (d.open(domain), d.first_cpu(domain), tables.as_c());
            // SAFETY: the tables outlive the call; C copies what it keeps.
            let code = enter(&mut || unsafe { ffi::weir_swap(s, cpu, &c, &mut stats) });
            sum.represented += stats.represented;
            sum.built += stats.built;
            sum.kept += stats.kept;
            sum.pause_ns += stats.pause_ns;
            sum.refused = stats.refused;
            code
        };
        tables.epoch = self.epoch + 1;
        for domain in 0..self.nr() {
            let code = swap_one(self, domain, tables, &mut sum);
            if code == 0 {
                continue;
            }
            // The others return to the old plan. What they need was theirs a moment ago.
            if let Some(old) = &self.plan {
                let now: Vec<Identity> = plan.instances.iter().map(|i| (i.name.clone(), i.class)).collect();
                let mut back = Tables::new(old, has, &now).map_err(|e| (-e.code, 0))?;
                back.epoch = self.epoch;
                for d in 0..domain {
                    let failed = swap_one(self, d, &back, &mut CSwapStats::default());
                    assert_eq!(failed, 0, "domain {d} cannot return to topology `{}`", old.name);
                }
                debug_assert_eq!(present.len(), old.instances.len());
            }
            return Err((code, sum.refused));
        }
        self.epoch += 1;
        self.instances = plan.instances.iter().map(|i| i.domain).collect();
        let of = |i: u32| self.instances[i as usize];
        self.pipes =
            plan.pipes.iter().map(|p| (p.from.map_or(of(p.to.0), |f| of(f.0)), of(p.to.0))).collect();
        self.plan = Some(plan.clone());
        (0..self.nr()).for_each(|d| self.collect(self.first_cpu(d)));
        Ok(sum)
    }

    /// One instance was exchanged.
    pub fn replaced(&mut self, instance: u32, class: u16, params: &[u64]) {
        if let Some(i) = self.plan.as_mut().and_then(|p| p.instances.get_mut(instance as usize)) {
            i.class = class;
            i.params = params.to_vec();
        }
    }

    /// Conservation between domains: each task is in one, or on its way to one.
    pub fn check(&self) -> Result<(), Error> {
        let mut found = vec![0_u8; self.at.len()];
        for message in self.parts.iter().flat_map(|p| &p.queue).filter(|p| p.head().kind == TASK) {
            found[message.head().task as usize] += 1;
        }
        for d in 0..self.nr() {
            let s = self.open(d);
            for (t, found) in (0u32..).zip(&mut found) {
                // SAFETY: valid scheduler; null, or a valid record.
                let state = unsafe {
                    let p = ffi::weir_task_get(s, t);
                    if p.is_null() { 0 } else { ((*p).claim & 0xff) as u32 }
                };
                // Not unused, ended or away.
                let here = matches!(state, 1..=3 | 5 | 6);
                *found += u8::from(here);
                let at = self.at[t as usize];
                if *found > 1 || (here && at != d) {
                    let message = format!("task {t} is in domain {d}, and elsewhere, or should be in {at}");
                    return Err(Error { code: 2, message });
                }
            }
        }
        Ok(())
    }
}

fn filled(head: CRemoteMsg, (uuid, version): (u64, u32), msg: &Msg) -> CRemoteMsg {
    let cpu = msg.cpu.unwrap_or(NONE);
    CRemoteMsg { uuid, version: version.into(), cpu, value: msg.value, value2: msg.value2, ..head }
}
