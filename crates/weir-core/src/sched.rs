// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A safe handle on one scheduler: the arena, the graph in it, and the calls of `schedule.h`.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::ptr;
use std::sync::Arc;

use memmap2::{MmapMut, MmapOptions};

use crate::catalog::OwnTopic;
use crate::classes;
use crate::crash::{self, Crash};
use crate::domains::{Call, Domains};
use crate::ffi::{self, CConfig, CMask, CMemory, CMsg, COpLog, CReplacement, CSched, CSwapStats, CTask};
use crate::loaded::{Loaded, is_loaded, of_class};
use crate::runtime::{Head, Ops, out_msg, runtime_topics};
use crate::tables::{Identity, Tables};
pub use crate::topic::Topic;
use crate::{Counters, CpuSet, Plan};

/// Handle of a task within a [`Sched`]; small, dense, reused after [`Sched::exit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(pub u32);

/// Set-up of a scheduler.
#[derive(Clone, Debug)]
pub struct Config {
    pub nr_cpus: u32,
    /// Address space for the arena; pages are touched only when used.
    pub arena_bytes: usize,
    /// Check all invariants (conservation, slot exclusivity) after every call.
    pub checks: bool,
    /// Record micro-operations for [`Sched::ops`].
    pub oplog: bool,
    /// Seed of the core's few random choices (treap priorities, steal victims).
    pub seed: u64,
}

/// A message of a standard topic. `value` is the topic's number: priority (signed, two's complement),
/// absolute deadline in ns, ISA index, burn iterations, online 1/0, frequency in Hz …
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Msg {
    pub cpu: Option<u32>,
    pub task: Option<TaskId>,
    pub value: u64,
    pub value2: u64,
    /// Only for `Topic::Affinity`; an empty set means "everywhere".
    pub mask: Option<CpuSet>,
}

/// What the responder of a topic said ([`Sched::ask`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    pub value: u64,
    pub value2: u64,
    /// What goes with it: the words of a set of CPUs, of counters, of an own topic's payload; none if there is nothing.
    pub data: Vec<u64>,
}

/// `WEIR_EPROTO`
const WEIR_EPROTO: i32 = 9;

/// Messages of components to the runtime during the last call(s).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutMsg {
    pub topic: Topic,
    pub cpu: Option<u32>,
    pub task: Option<TaskId>,
    pub value: u64,
    /// What a component publishes has the number of its instance here.
    pub value2: u64,
}

/// One micro-operation of the core, in order, for the cost model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct OpRecord {
    pub kind: OpKind,
    /// Pipe (lock, link, unlink), instance (step), or topic.
    pub object: u32,
    /// Elements scanned, iterations burnt; of a step what it hears, and from where; of a link the levels of a keyed pipe that
    /// were walked, and the task.
    pub n: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum OpKind {
    /// `object` = the home, or a pipe without one. Everything until the matching `Unlock` happens under the lock.
    Lock = 0,
    Unlock,
    /// `object` = instance whose code runs from here to the next `StepEnd`, for one change of one task: [`OpRecord::what`].
    Step,
    StepEnd,
    /// A task is linked in the pipe `object`: [`OpRecord::levels`], [`OpRecord::task`].
    Link,
    Unlink,
    /// `object` = topic.
    Request,
    Notify,
    /// `n` elements looked at (a balancer's scan).
    Scan,
    /// `n` iterations of a busy loop of the component `burn`.
    Burn,
    /// `object` = coherence domain whose queue of remote messages is written or emptied.
    Remote,
    /// A change was left in the inbox of the pipe `object`.
    Post,
}

/// What a step hears: `enum weir_what`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Arrived,
    Picked,
    Left,
    Review,
}

impl OpRecord {
    /// Of a `Step`: what the instance hears.
    pub fn what(&self) -> What {
        match self.n & 0xff {
            0 => What::Arrived,
            1 => What::Picked,
            2 => What::Left,
            _ => What::Review,
        }
    }

    /// Of a `Step`: the pipe through which the task came.
    pub fn pipe(&self) -> u32 {
        (self.n >> 8).wrapping_sub(1)
    }

    /// Of a `Link` or `Unlink`: levels of the pipe's tree that were walked.
    pub fn levels(&self) -> u32 {
        self.n & 0xff
    }

    /// Of a `Link` or `Unlink`: the task, by the low 24 bits of its number.
    pub fn task(&self) -> u32 {
        self.n >> 8
    }

    /// Whether a task joined the pipe `object`.
    pub fn joins(&self) -> bool {
        self.kind == OpKind::Link
    }

    /// Whether a task left the pipe `object`.
    pub fn leaves(&self) -> bool {
        self.kind == OpKind::Unlink
    }
}

/// Result of [`Sched::pick`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picked {
    pub task: TaskId,
    /// What the runtime gave with the task when it created it.
    pub cookie: u64,
    /// Time until the runtime should relinquish; `None`: runtime's default; `u64::MAX`: unlimited.
    pub slice_ns: Option<u64>,
}

/// What a reconfiguration did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwapStats {
    /// Tasks re-presented to the new graph.
    pub represented: u32,
    /// Wall-clock pause: from stopping readers to letting them in again.
    pub pause_ns: u64,
    pub instances_built: u32,
    pub instances_kept: u32,
}

/// Why the core refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// `WEIR_E…` number of `weir/error.h`.
    pub code: i32,
    pub message: String,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for Error {}

impl Error {
    /// What a function of the core means by the negative number that it gave while `doing` something.
    pub fn of(code: i32, doing: &str) -> Error {
        error(code, doing)
    }
}

/// The name of an error number of `weir/error.h`, as component authors write it.
pub fn error_name(code: u64) -> &'static str {
    const NAMES: [&str; 14] = [
        "none",
        "WEIR_ENOMEM",
        "WEIR_EINVAL",
        "WEIR_EAGAIN",
        "WEIR_ESTATE",
        "WEIR_ENOENT",
        "WEIR_EEXIST",
        "WEIR_EBUSY",
        "WEIR_EDEADLK",
        "WEIR_EPROTO",
        "WEIR_EPORTS",
        "WEIR_EPARAM",
        "WEIR_EPERM",
        "WEIR_ETOPICS",
    ];
    NAMES.get(code as usize).copied().unwrap_or("an unknown error")
}

pub(crate) fn error(code: i32, doing: &str) -> Error {
    let why = match -code {
        1 => "the arena is full; give it more memory",
        2 => "an argument or the plan makes no sense",
        3 => "a lock could not be had",
        4 => "the task's state does not allow it",
        5 => "no such task, pipe, topic or instance",
        6 => "it is there already: a second responder, or a task in two pipes of one depth",
        7 => "it is in use, or another reconfiguration runs",
        8 => "a call on this CPU is under way",
        9 => "the topic's UUID or version differs",
        10 => "a component refuses its pipes",
        11 => "a component refuses a parameter",
        12 => "programs may not publish this topic",
        13 => return Error { code: -code, message: format!("{doing}: {}", crate::topic::too_many()) },
        _ => "unknown reason",
    };
    Error { code: -code, message: format!("{doing}: {why}") }
}

/// Why a graph or an instance was not built: `refused` is 1 + the number of the instance whose constructor failed, `of` gives its name
/// and class.
pub fn not_built(code: i32, refused: u32, of: impl Fn(usize) -> Option<Identity>, doing: &str) -> Error {
    let Some((name, class)) = (refused as usize).checked_sub(1).and_then(of) else {
        return error(code, doing);
    };
    let info = classes::catalog().class(class);
    let component = info.map_or("?", |c| c.name.as_str());
    let who = if name == component { format!("`{name}`") } else { format!("`{name}` ({component})") };
    let why = match -code & 0xff {
        1 => "finds no room for its tables: the arena is full; give it more memory".to_owned(),
        10 => "refuses the number or kind of its pipes".to_owned(),
        11 => match classes::param_at(class, (-code >> 8) as u32) {
            Some(param) => format!("refuses the value of its parameter `{param}`"),
            None => "refuses a parameter".to_owned(),
        },
        _ => return error(code, &format!("{doing}: {who}")),
    };
    Error { code: -code & 0xff, message: format!("{doing}: {who} {why}") }
}

fn done(code: i32, doing: &str) -> Result<(), Error> {
    if code == 0 { Ok(()) } else { Err(error(code, doing)) }
}

/// The runtime of a [`Sched`]: its clock stands still between calls, its timers and messages wait until they are asked for.
#[repr(C)]
struct Host {
    head: Head,
    now: u64,
    /// Its clock is [`thread_time_ns`], for measurements.
    measured: bool,
    messages: Vec<OutMsg>,
    /// Time armed for each instance, and the same by time.
    timers: BTreeMap<u32, u64>,
    due: BTreeSet<(u64, u32)>,
}

impl Host {
    /// An instance wants to be called at this time; 0: no more.
    fn arm(&mut self, instance: u32, at_ns: u64) {
        let old =
            if at_ns == 0 { self.timers.remove(&instance) } else { self.timers.insert(instance, at_ns) };
        if let Some(old) = old {
            self.due.remove(&(old, instance));
        }
        if at_ns != 0 {
            self.due.insert((at_ns, instance));
        }
    }
}

/// From now on, this many of 1024 attempts of this thread to have a pipe's lock fail, as they may in the kernel
/// (docs/decisions/0014).
#[cfg(feature = "strict")]
pub fn strict_impatience(of_1024: u32, seed: u64) {
    // SAFETY: thread-local numbers.
    unsafe { ffi::weir_strict_impatience(of_1024, seed) }
}

/// One scheduler. Not `Sync`: the simulator calls it from one thread; the C core itself is thread-safe.
pub struct Sched {
    /// Where CPUs of several domains share no memory: the one of the first domain.
    s: *mut CSched,
    host: *mut Host,
    /// Messages that come to it.
    topics: u64,
    /// Our own memory; `None` where it is somebody else's.
    arena: Option<MmapMut>,
    /// The other domains, and what is between them.
    domains: Option<Box<Domains>>,
    config: Config,
    nr_cpus: u32,
    checks: bool,
    /// All CPUs share memory, no component was loaded, and nothing is checked after calls: these are calls of C and no more.
    direct: bool,
    /// What C has recorded since `clear_ops`; null where it does not record.
    log: *mut COpLog,
    /// The memory of it, as numbers: only what was written to is ever touched, so that a short run does not pay for a long log.
    _ops: Vec<[u32; 3]>,
    has: Vec<u32>,
    present: Vec<Identity>,
    /// Records of tasks by number, as far as they were made here; null where not. They never move.
    records: Vec<*mut CTask>,
    slice_responder: bool,
    /// Components of the present graph that were loaded: they stay as long as it does.
    loaded: Vec<Arc<Loaded>>,
}

/// Micro-operations that are recorded between two [`Sched::clear_ops`]; calls that make more are charged for these.
const MAX_OPS: usize = 1 << 20;

impl Drop for Sched {
    fn drop(&mut self) {
        // SAFETY: made by Box::into_raw in `new`, and C is not called any more.
        drop(unsafe { Box::from_raw(self.host) });
        if !self.log.is_null() {
            // SAFETY: likewise.
            drop(unsafe { Box::from_raw(self.log) });
        }
    }
}

// SAFETY: the arena and the host are reached only through this handle.
unsafe impl Send for Sched {}

/// Fresh, zeroed memory for a scheduler.
pub(crate) fn new_arena(cfg: &Config) -> Result<MmapMut, Error> {
    let bytes = cfg.arena_bytes;
    let map = MmapOptions::new().len(bytes).no_reserve_swap().map_anon();
    map.map_err(|e| Error { code: 1, message: format!("{bytes} bytes of arena: {e}") })
}

/// Set the core up.
///
/// # Safety
/// As [`Sched::within`].
pub(crate) unsafe fn init(cfg: &Config, memory: *mut u8) -> Result<*mut CSched, Error> {
    let classes = classes::class_table();
    let s = memory.cast::<CSched>();
    let config = CConfig {
        arena_bytes: cfg.arena_bytes as u64,
        seed: cfg.seed,
        nr_cpus: cfg.nr_cpus,
        nr_classes: classes.len() as u32,
        unused: [0; 2],
        patience: 0,
        classes: classes.as_ptr(),
    };
    // SAFETY: `s` is zeroed memory of `arena_bytes`; the class table is copied.
    done(unsafe { ffi::weir_init(s, &config) }, "setting up the scheduler")?;
    Ok(s)
}

impl Sched {
    pub fn new(cfg: &Config) -> Result<Self, Error> {
        // SAFETY: calls of a handle need a reference that nobody else has.
        unsafe { ffi::weir_host_alone() };
        let arena = new_arena(cfg)?;
        let memory = arena.as_ptr().cast_mut();
        // SAFETY: fresh, zeroed and page-aligned; it lives as long as the handle.
        let mut sched = unsafe { Self::set_up(cfg, memory) }?;
        sched.arena = Some(arena);
        Ok(sched)
    }

    /// Set up a scheduler in the memory of the process that will run it, here in this process and then
    /// elsewhere: see [`Sched::hand_over`]. Calls on several CPUs may overlap there.
    ///
    /// # Safety
    /// `memory` points to `cfg.arena_bytes` zeroed bytes, aligned to 4096, that nobody else uses before
    /// the handle is gone.
    pub unsafe fn within(cfg: &Config, memory: *mut u8) -> Result<Self, Error> {
        // SAFETY: the caller's promise.
        unsafe { Self::set_up(cfg, memory) }
    }

    /// # Safety
    /// As [`Sched::within`].
    unsafe fn set_up(cfg: &Config, memory: *mut u8) -> Result<Self, Error> {
        // SAFETY: the caller's promise.
        let s = unsafe { init(cfg, memory) }?;
        let host = Box::into_raw(Box::new(Host {
            head: Head { ops: &OPS },
            now: 0,
            measured: false,
            messages: Vec::new(),
            timers: BTreeMap::new(),
            due: BTreeSet::new(),
        }));
        // SAFETY: `s` is initialised; the cookie outlives every call.
        unsafe { ffi::weir_host_setup(s, host as u64, runtime_topics()) };
        let mut sched = Sched {
            s,
            host,
            topics: runtime_topics(),
            arena: None,
            domains: None,
            config: cfg.clone(),
            nr_cpus: cfg.nr_cpus,
            checks: cfg.checks,
            direct: !cfg.checks,
            log: ptr::null_mut(),
            _ops: Vec::new(),
            has: classes::class_table().iter().map(|c| c.has).collect(),
            present: Vec::new(),
            records: Vec::new(),
            slice_responder: false,
            loaded: Vec::new(),
        };
        if cfg.oplog {
            const { assert!(size_of::<OpRecord>() == size_of::<[u32; 3]>()) };
            sched._ops = vec![[0; 3]; MAX_OPS];
            let ops = sched._ops.as_mut_ptr().cast::<OpRecord>();
            sched.log = Box::into_raw(Box::new(COpLog { nr: 0, cap: MAX_OPS as u32, ops }));
            // SAFETY: log and buffer live as long as the handle, and the buffer is not resized.
            unsafe { ffi::weir_host_oplog(s, sched.log) };
        }
        Ok(sched)
    }

    /// From now on all calls of this process take the atomic instructions that several threads need, as those of [`crate::host::Host`] do: to measure
    /// what they cost.
    pub fn for_threads() {
        // SAFETY: sets a word of the port.
        unsafe { ffi::weir_host_threads() };
    }

    /// The runtime acts on SLICE messages: a component may grant a long turn and shorten it while the task runs. To be called before
    /// the first topology is loaded.
    pub fn shortens_turns(&mut self) {
        self.topics |= Topic::Slice.bit();
        // SAFETY: `s` is initialised; the host outlives every call.
        unsafe { ffi::weir_host_setup(self.s, self.host as u64, self.topics) };
    }

    /// Address of the scheduler, which stands at the beginning of its memory.
    pub fn address(&self) -> u64 {
        self.s as u64
    }

    /// Memory for the caller's tables, zeroed: its address. It is never given back.
    pub fn alloc(&mut self, bytes: u64) -> Result<u64, Error> {
        // SAFETY: valid scheduler.
        match unsafe { ffi::weir_alloc_at(self.s, bytes) } {
            0 => Err(error(-1, "setting tables up")),
            at => Ok(at),
        }
    }

    /// Leave the scheduler, set up with [`Sched::within`], to the runtime that runs it from now on.
    pub fn hand_over(self) {
        // SAFETY: valid scheduler; without a cookie nothing of this process is left in it.
        unsafe { ffi::weir_host_setup(self.s, 0, runtime_topics()) };
    }

    /// Build the first topology.
    pub fn load(&mut self, plan: &Plan) -> Result<(), Error> {
        self.swap(plan).map(|_| ())
    }

    /// Replace the topology; instances of the same name and class keep their state.
    pub fn swap(&mut self, plan: &Plan) -> Result<SwapStats, Error> {
        let doing = format!("building topology `{}`", plan.name);
        let loaded = self.learn(plan.instances.iter().map(|i| i.class))?;
        let tables = Tables::new(plan, &self.has, &self.present)?;
        let stats = if plan.domains() > 1 || self.domains.is_some() {
            self.swap_domains(plan, tables, !loaded.is_empty())
                .map_err(|(code, refused)| not_built(code, refused, |i| plan.identity(i), &doing))?
        } else {
            let mut stats = CSwapStats::default();
            // SAFETY: `tables` outlives the call; C copies what it keeps.
            let (s, c) = (self.s, tables.as_c());
            let call = || unsafe { ffi::weir_swap(s, 0, &c, &mut stats) };
            let code = if loaded.is_empty() { self.enter(call) } else { self.enter_guarded(call) };
            if code != 0 {
                return Err(not_built(code, stats.refused, |i| plan.identity(i), &doing));
            }
            stats
        };
        self.present = plan.instances.iter().map(|i| (i.name.clone(), i.class)).collect();
        self.loaded = loaded;
        self.find_regime();
        self.find_slice_responder();
        self.after_call();
        Ok(stats.into())
    }

    /// Let the core know classes that were loaded, before it builds instances of them.
    fn learn(&mut self, classes: impl Iterator<Item = u16>) -> Result<Vec<Arc<Loaded>>, Error> {
        let mut new: Vec<u16> = classes.filter(|c| is_loaded(*c)).collect();
        new.sort_unstable();
        new.dedup();
        let mut held = Vec::new();
        for class in new {
            let Some(component) = of_class(class) else {
                return Err(Error {
                    code: 5,
                    message: "a component of the topology is not loaded any more".into(),
                });
            };
            // Where instances are of the class already it is known; writing it again changes nothing.
            self.has[usize::from(class)] = component.class().has;
            // SAFETY: valid scheduler; the core has room for this many classes.
            self.each(|s| unsafe { ffi::weir_host_learn_class(s, class.into(), component.class()) });
            held.push(component);
        }
        Ok(held)
    }

    /// A call of the core that may reach components. Loaded ones may break it off: see [`crate::crash`].
    #[inline(always)]
    fn enter<R>(&self, call: impl FnOnce() -> R) -> R {
        if self.direct || self.loaded.is_empty() { call() } else { self.enter_guarded(call) }
    }

    #[inline(never)]
    fn enter_guarded<R>(&self, call: impl FnOnce() -> R) -> R {
        // SAFETY: `host` is valid; no other reference to it exists between calls.
        crash::guarded(call, || unsafe { (*self.host).now })
    }

    /// Is there a responder that says how long a task may run?
    fn find_slice_responder(&mut self) {
        let components = &classes::catalog().components;
        self.slice_responder =
            self.present.iter().any(|(_, c)| components[*c as usize].answers_to(Topic::Slice));
    }

    /// Put an instance of `class` with `params` in the place of instance number `instance`.
    pub fn swap_instance(&mut self, instance: u32, class: u16, params: &[u64]) -> Result<SwapStats, Error> {
        let name = self.present.get(instance as usize).map_or("?", |p| p.0.as_str());
        let accepted = classes::catalog().class(class).ok_or_else(|| "there is no such component".to_owned());
        if let Err(why) = accepted.and_then(|c| c.accepts(params)) {
            return Err(Error { code: 11, message: format!("replacing instance `{name}`: {why}") });
        }
        let is_now = (name.to_owned(), class);
        let old = self.present.iter().enumerate().filter(|(i, _)| *i != instance as usize).map(|(_, p)| p.1);
        let loaded = self.learn(old.chain([class]).collect::<Vec<_>>().into_iter())?;
        let with = CReplacement { instance, class: class.into(), params: params.as_ptr() };
        let mut stats = CSwapStats::default();
        let (s, cpu) = self.enter_instance(0, instance);
        // SAFETY: `with` and the parameters outlive the call.
        let call = || unsafe { ffi::weir_swap_instance(s, cpu, &with, &mut stats) };
        let code = if loaded.is_empty() { self.enter(call) } else { self.enter_guarded(call) };
        if code != 0 {
            return Err(not_built(code, stats.refused, |_| Some(is_now.clone()), "replacing an instance"));
        }
        if let Some(p) = self.present.get_mut(instance as usize) {
            p.1 = class;
        }
        if let Some(d) = &mut self.domains {
            d.replaced(instance, class, params);
        }
        self.loaded = loaded;
        self.find_regime();
        self.find_slice_responder();
        self.after_call();
        Ok(stats.into())
    }

    /// Check all invariants after every call from now on, or do not: for callers that ask thousands of questions in a row and
    /// calls [`Sched::check`] after them.
    pub fn set_checks(&mut self, on: bool) {
        self.checks = on;
        self.find_regime();
    }

    fn find_regime(&mut self) {
        self.direct = self.domains.is_none() && self.loaded.is_empty() && !self.checks;
    }

    /// The runtime's clock, read by components; set before each call.
    #[inline]
    pub fn set_now(&mut self, ns: u64) {
        // SAFETY: `host` is valid; no other reference to it exists between calls.
        unsafe { (*self.host).now = ns };
    }

    /// From now on the clock is [`thread_time_ns`]: for measuring pauses, not for runs that are to be repeated.
    pub fn use_thread_time(&mut self) {
        // SAFETY: `host` is valid; no other reference to it exists between calls.
        unsafe { (*self.host).measured = true };
    }

    /// Create an unconsidered task. `cookie` comes back from [`Sched::cookie`].
    pub fn task_new(&mut self, cpu: u32, cookie: u64) -> Result<TaskId, Error> {
        assert!(cpu < self.nr_cpus, "CPU {cpu} of {}", self.nr_cpus);
        // SAFETY: `s` is initialised.
        let s = self.enter_cpu(cpu);
        let t = self.enter(|| unsafe { ffi::weir_task_new(s, cpu, cookie) });
        if t.is_null() {
            self.after_call();
            return Err(error(-1, "creating a task"));
        }
        // SAFETY: a task record stays valid for the arena's life.
        let id = TaskId(unsafe { (*t).id });
        if let Some(d) = &mut self.domains {
            d.created(id, cpu);
            self.after_call();
            return Ok(id);
        }
        self.after_call();
        if self.records.len() <= id.0 as usize {
            self.records.resize(id.0 as usize + 1, ptr::null_mut());
        }
        self.records[id.0 as usize] = t;
        Ok(id)
    }

    #[inline(always)]
    fn raw(&self, t: TaskId) -> *mut CTask {
        if !self.direct
            && let Some(d) = &self.domains
        {
            return d.record(t).unwrap_or_else(|| panic!("task {} does not exist", t.0));
        }
        if let Some(&p) = self.records.get(t.0 as usize)
            // SAFETY: a task record stays valid for the arena's life; its state says whether it is in use.
            && !p.is_null() && unsafe { (*p).claim & 0xff } != 0
        {
            return p;
        }
        // SAFETY: `s` is initialised; unknown numbers give null.
        let p = unsafe { ffi::weir_task_get(self.s, t.0) };
        assert!(!p.is_null(), "task {} does not exist", t.0);
        p
    }

    #[inline]
    pub fn cookie(&self, t: TaskId) -> u64 {
        if let Some(cookie) = self.domains.as_ref().and_then(|d| d.cookie_on_its_way(t)) {
            return cookie;
        }
        // SAFETY: `raw` gives a valid record.
        unsafe { (*self.raw(t)).cookie }
    }

    /// State of a task as in `enum weir_task_state`: 1 unconsidered, 2 schedulable, 3 running; 0 gone.
    pub fn state(&self, t: TaskId) -> u32 {
        if let Some(d) = &self.domains {
            return d.state(t);
        }
        // SAFETY: `s` is initialised; unknown numbers give null.
        unsafe {
            let p = ffi::weir_task_get(self.s, t.0);
            if p.is_null() { 0 } else { ((*p).claim & 0xff) as u32 }
        }
    }

    #[inline(always)]
    fn on_task(
        &mut self,
        cpu: u32,
        t: TaskId,
        call: unsafe extern "C" fn(*mut CSched, u32, *mut CTask) -> i32,
        by_message: Option<Call>,
        doing: &str,
    ) -> Result<(), Error> {
        assert!(cpu < self.nr_cpus, "CPU {cpu} of {}", self.nr_cpus);
        let s = self.enter_cpu(cpu);
        if !self.direct
            && let Some(d) = &mut self.domains
            && let Some(call) = by_message
            && !d.is_at(t, cpu)
        {
            d.call(t, cpu, call);
            self.note_remote();
            return Ok(());
        }
        let t = self.raw(t);
        // SAFETY: valid scheduler and record.
        let code = self.enter(|| unsafe { call(s, cpu, t) });
        self.after_call();
        done(code, doing)
    }

    /// unconsidered -> schedulable, first time. `cpu` is the CPU that runs the call.
    pub fn admit(&mut self, cpu: u32, t: TaskId) -> Result<(), Error> {
        self.on_task(cpu, t, ffi::weir_admit, Some(Call::Admit), "admitting a task")
    }

    /// unconsidered -> schedulable, after a block.
    #[inline(always)]
    pub fn unblock(&mut self, cpu: u32, t: TaskId) -> Result<(), Error> {
        self.on_task(cpu, t, ffi::weir_unblock, Some(Call::Unblock), "unblocking a task")
    }

    /// Until it is called with `false`, what `cpu` wakes is woken by a thread that is about to block: a hint for policies.
    pub fn wakes_and_leaves(&mut self, cpu: u32, leaves: bool) {
        assert!(cpu < self.nr_cpus, "CPU {cpu} of {}", self.nr_cpus);
        let s = self.domains.as_ref().map_or(self.s, |d| d.open_for(cpu));
        // SAFETY: valid scheduler, and the CPU is one of its.
        unsafe { ffi::weir_wakes_and_leaves(s, cpu, u32::from(leaves)) };
    }

    /// running -> schedulable.
    #[inline(always)]
    pub fn relinquish(&mut self, cpu: u32, t: TaskId) -> Result<(), Error> {
        self.on_task(cpu, t, ffi::weir_relinquish, None, "relinquishing a CPU")
    }

    /// running or schedulable -> unconsidered.
    #[inline(always)]
    pub fn block(&mut self, cpu: u32, t: TaskId) -> Result<(), Error> {
        self.on_task(cpu, t, ffi::weir_block, Some(Call::Block), "blocking a task")
    }

    /// Destroy from any state; the id may be reused afterwards.
    pub fn exit(&mut self, cpu: u32, t: TaskId) -> Result<(), Error> {
        self.on_task(cpu, t, ffi::weir_exit, Some(Call::Exit), "ending a task")
    }

    /// Did calls of this CPU give up waiting for another one since it was last asked, or leave work behind? Then it
    /// has to [pick](Sched::pick) again soon.
    pub fn gave_up(&mut self, cpu: u32) -> bool {
        assert!(cpu < self.nr_cpus, "CPU {cpu} of {}", self.nr_cpus);
        let s = self.enter_cpu(cpu);
        // SAFETY: valid scheduler.
        unsafe { ffi::weir_gave_up(s, cpu) != 0 }
    }

    /// Claim the next task of CPU `target`; `cpu` runs the call (differs for foreign-hosted CPUs).
    #[inline(always)]
    pub fn pick(&mut self, cpu: u32, target: u32) -> Option<Picked> {
        assert!(cpu < self.nr_cpus && target < self.nr_cpus, "CPU {cpu}, {target} of {}", self.nr_cpus);
        let s = self.enter_cpu(cpu);
        // SAFETY: `s` is initialised.
        let t = self.enter(|| unsafe { ffi::weir_pick(s, cpu, target) });
        if t.is_null() {
            self.after_call();
            return None;
        }
        // SAFETY: a task record stays valid for the arena's life.
        let (task, cookie, mut slice) = unsafe { (TaskId((*t).id), (*t).cookie, (*t).slice_ns) };
        if self.slice_responder {
            let mut msg = CMsg { task: t, ..empty(Topic::Slice) };
            // SAFETY: valid scheduler and message.
            if self.enter(|| unsafe { ffi::weir_ask(s, cpu, &mut msg) }) == 0 {
                slice = msg.value;
            }
        }
        self.after_call();
        Some(Picked { task, cookie, slice_ns: (slice != 0).then_some(slice) })
    }

    /// Publish from the runtime or from user space.
    #[inline]
    pub fn notify(&mut self, cpu: u32, topic: Topic, msg: &Msg) -> Result<(), Error> {
        assert!(cpu < self.nr_cpus, "CPU {cpu} of {}", self.nr_cpus);
        let mask = msg.mask.as_ref().filter(|m| !m.is_empty()).map(to_mask);
        let s = self.enter_cpu(cpu);
        if let Some(d) = &mut self.domains
            && let Some(t) = msg.task
            && !d.is_at(t, cpu)
        {
            let words = mask.as_ref().map_or(&[][..], |m| &m.word[..self.nr_cpus.div_ceil(64) as usize]);
            d.message(t, cpu, (1 + topic as u64, 1), msg, words);
            self.note_remote();
            return Ok(());
        }
        let c = CMsg {
            cpu: msg.cpu.unwrap_or(u32::MAX),
            task: msg.task.map_or(ptr::null_mut(), |t| self.raw(t)),
            value: msg.value,
            value2: msg.value2,
            mask: mask.as_ref().map_or(ptr::null(), |m| m as *const CMask),
            ..empty(topic)
        };
        // SAFETY: valid scheduler; message and mask outlive the call.
        let code = self.enter(|| unsafe { ffi::weir_notify(s, cpu, &c) });
        self.after_call();
        done(code, "publishing a message")
    }

    /// Ask a topic's responder; `None` if there is none.
    pub fn request(&mut self, cpu: u32, topic: Topic, msg: &Msg) -> Option<Msg> {
        let (s, cpu) = self.enter_for(cpu, msg.task);
        let mut c = CMsg {
            cpu: msg.cpu.unwrap_or(u32::MAX),
            task: msg.task.map_or(ptr::null_mut(), |t| self.raw(t)),
            value: msg.value,
            value2: msg.value2,
            ..empty(topic)
        };
        // SAFETY: valid scheduler and message.
        let code = self.enter(|| unsafe { ffi::weir_ask(s, cpu, &mut c) });
        self.after_call();
        if code != 0 {
            return None;
        }
        Some(Msg {
            cpu: (c.cpu != u32::MAX).then_some(c.cpu),
            // SAFETY: a responder returns null or a task record.
            task: unsafe { c.task.as_ref() }.map(|t| TaskId(t.id)),
            value: c.value,
            value2: c.value2,
            mask: if topic == Topic::Affinity { self.read_mask(c.mask) } else { None },
        })
    }

    /// Report what `t` did on CPU `on` since the last such message.
    pub fn publish_counters(&mut self, cpu: u32, on: u32, t: TaskId, counts: &Counters) -> Result<(), Error> {
        assert!(cpu < self.nr_cpus, "CPU {cpu} of {}", self.nr_cpus);
        let s = self.enter_cpu(cpu);
        if let Some(d) = &mut self.domains
            && !d.is_at(t, cpu)
        {
            let msg = Msg { cpu: Some(on), ..Msg::default() };
            d.message(t, cpu, (1 + Topic::Counters as u64, 1), &msg, &counts.to_array());
            self.note_remote();
            return Ok(());
        }
        // The field is a union in C, of pointers to what the topic carries.
        let mask = ptr::from_ref(counts).cast::<CMask>();
        let c = CMsg { cpu: on, task: self.raw(t), mask, ..empty(Topic::Counters) };
        // SAFETY: valid scheduler; message and counters outlive the call, which delivers the message.
        let code = self.enter(|| unsafe { ffi::weir_notify(s, cpu, &c) });
        self.after_call();
        done(code, "publishing a message")
    }

    /// What `t` did lately, or in all its life, and its loads of the last-level cache in 1024 instructions;
    /// `None` where nobody answers.
    pub fn ask_counters(&mut self, cpu: u32, t: TaskId, all: bool) -> Option<(Counters, u64)> {
        let (s, cpu) = self.enter_for(cpu, Some(t));
        let mut c = CMsg { task: self.raw(t), value: all.into(), ..empty(Topic::Counters) };
        // SAFETY: valid scheduler and message.
        let code = self.enter(|| unsafe { ffi::weir_ask(s, cpu, &mut c) });
        self.after_call();
        // SAFETY: a responder of the topic returns null or its record in the arena.
        let counts = unsafe { c.mask.cast::<Counters>().as_ref() };
        (code == 0).then_some(())?;
        counts.map(|counts| (*counts, c.value))
    }

    /// Responders keep only the words of a mask that the machine has.
    fn read_mask(&self, mask: *const CMask) -> Option<CpuSet> {
        if mask.is_null() {
            return None;
        }
        // SAFETY: a responder returns null or a mask in the arena with a bit for each CPU.
        let word = |i: u32| unsafe { ptr::addr_of!((*mask).word).cast::<u64>().add(i as usize).read() };
        Some((0..self.nr_cpus).filter(|c| word(c / 64) >> (c % 64) & 1 == 1).collect())
    }

    /// Calls of the CPU, and about the task that it runs, will come soon.
    #[inline]
    pub fn soon(&self, cpu: u32, t: TaskId) {
        if let Some(&p) = self.records.get(t.0 as usize) {
            crate::fetch(p.cast());
            crate::fetch(p.cast::<u8>().wrapping_add(64));
        }
        if self.direct {
            // SAFETY: valid scheduler; an unknown CPU has nothing to be fetched.
            unsafe { ffi::weir_host_soon(self.s, cpu) };
        }
    }

    /// They come now.
    #[inline]
    pub fn now_due(&self, cpu: u32) {
        if self.direct {
            // SAFETY: valid scheduler; an unknown CPU has nothing to be fetched.
            unsafe { ffi::weir_host_now(self.s, cpu) };
        }
    }

    /// There are messages for the runtime.
    #[inline]
    pub fn has_messages(&self) -> bool {
        // SAFETY: `host` is valid; no other reference to it exists between calls.
        unsafe { !(*self.host).messages.is_empty() }
    }

    /// Some component has armed a timer.
    #[inline]
    pub fn has_timers(&self) -> bool {
        // SAFETY: as in `has_messages`.
        unsafe { !(*self.host).due.is_empty() }
    }

    /// Messages for the runtime since the last call of this function, appended to `out`.
    #[inline]
    pub fn drain_messages(&mut self, out: &mut Vec<OutMsg>) {
        // SAFETY: `host` is valid; no other reference to it exists between calls.
        let messages = unsafe { &mut (*self.host).messages };
        if !messages.is_empty() {
            out.append(messages);
        }
    }

    /// Micro-operations since the last `clear_ops`.
    #[inline]
    pub fn ops(&self) -> &[OpRecord] {
        // SAFETY: null, or valid; C writes to it within calls only.
        let Some(log) = (unsafe { self.log.as_ref() }) else { return &[] };
        // SAFETY: C has written the first `nr` records, of which there are no more than the buffer has.
        unsafe { std::slice::from_raw_parts(log.ops, log.nr as usize) }
    }

    /// Record no micro-operations from now on, or record them again, where [`Config::oplog`] asked for them.
    pub fn record_ops(&mut self, on: bool) {
        // SAFETY: valid scheduler.
        self.each(|s| unsafe { ffi::weir_host_record(s, on.into()) });
    }

    #[inline]
    pub fn clear_ops(&mut self) {
        // SAFETY: null, or valid; no other reference to it exists between calls.
        if let Some(log) = unsafe { self.log.as_mut() } {
            log.nr = 0;
        }
    }

    /// Earliest timer a component armed: (time, handle); run it with `timer_expired` when due.
    #[inline]
    pub fn next_timer(&self) -> Option<(u64, u32)> {
        // SAFETY: `host` is valid; no other reference to it exists between calls.
        unsafe { (*self.host).due.first().copied() }
    }

    /// All timers that components armed: (time, handle).
    pub fn timers(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        // SAFETY: as in `next_timer`.
        let timers = unsafe { &(*self.host).timers };
        timers.iter().map(|(i, t)| (*t, *i))
    }

    /// Remote messages and tasks to a coherence domain so far, 0 where all CPUs share memory. Reports of load do not count: they may wait.
    pub fn remote_sent(&self, domain: u32) -> u64 {
        self.domains.as_ref().map_or(0, |d| d.sent(domain))
    }

    /// Whether something was sent to a coherence domain that it has not been given yet.
    pub fn remote_waiting(&self) -> bool {
        self.domains.as_ref().is_some_and(|d| d.waiting())
    }

    /// Schedulable tasks of all coherence domains, of which those count that are on their way and those that a call on its way will wake,
    /// block or end. `None` where all CPUs share memory.
    pub fn schedulable_in_domains(&self) -> Option<u32> {
        self.domains.as_ref().map(|d| d.nr_schedulable())
    }

    /// Deliver what has been sent to the CPU's coherence domain; each other call of it does that as well.
    pub fn poll_remote(&mut self, cpu: u32) {
        assert!(cpu < self.nr_cpus, "CPU {cpu} of {}", self.nr_cpus);
        self.enter_cpu(cpu);
        self.after_call();
    }

    pub fn timer_expired(&mut self, cpu: u32, handle: u32) {
        // SAFETY: as in `next_timer`.
        unsafe { (*self.host).arm(handle, 0) };
        let (s, cpu) = self.enter_instance(cpu, handle);
        // SAFETY: valid scheduler; an unknown instance is an error that leaves everything as it is.
        self.enter(|| unsafe { ffi::weir_timer_expired(s, cpu, handle) });
        self.after_call();
    }

    pub fn pipe_len(&self, pipe: u32) -> u32 {
        // SAFETY: valid scheduler; an unknown pipe has length 0.
        unsafe { ffi::weir_host_pipe_len(self.of_pipe(pipe), pipe) }
    }

    /// The first pipe from `from` on that does not hold as many tasks as `known` says, a number for each pipe, and how many
    /// it holds; `known` says so from then on.
    #[inline]
    pub fn other_len(&self, known: &mut [u32], from: u32) -> Option<(u32, u32)> {
        if self.domains.is_some() {
            let other = |p: &u32| known[*p as usize] != self.pipe_len(*p);
            let pipe = (from..known.len() as u32).find(other)?;
            known[pipe as usize] = self.pipe_len(pipe);
            return Some((pipe, known[pipe as usize]));
        }
        // SAFETY: valid scheduler; C looks at no more numbers than there are.
        let pipe = unsafe { ffi::weir_host_other_len(self.s, known.as_mut_ptr(), known.len() as u32, from) };
        known.get(pipe as usize).map(|&len| (pipe, len))
    }

    /// The deepest pipe that a task has reached.
    pub fn stands(&self, t: TaskId) -> Option<u32> {
        // SAFETY: valid scheduler; an unknown task stands nowhere.
        let pipe = unsafe { ffi::weir_host_stands(self.of_task(t), t.0) };
        (pipe != u32::MAX).then_some(pipe)
    }

    /// Tasks of a pipe in order.
    pub fn pipe_tasks(&self, pipe: u32) -> Vec<TaskId> {
        tasks_of(self.of_pipe(pipe), pipe)
    }

    /// The same in the memory of the instance before the pipe: another one, if the pipe leads to another coherence domain.
    pub fn pipe_tasks_before(&self, pipe: u32) -> Vec<TaskId> {
        tasks_of(self.domains.as_ref().map_or(self.s, |d| d.before_pipe(pipe)), pipe)
    }

    /// Tasks that came to an instance since the graph was built.
    pub fn updates(&self, instance: u32) -> u64 {
        // SAFETY: valid scheduler; an unknown instance has none.
        unsafe { ffi::weir_host_updates(self.of_instance(instance), instance) }
    }

    fn memory(&self) -> CMemory {
        let mut sum = CMemory::default();
        self.each(|s| {
            let mut m = CMemory::default();
            // SAFETY: valid scheduler and struct.
            unsafe { ffi::weir_host_memory(s, &mut m) };
            sum.used += m.used;
            sum.per_task = sum.per_task.max(m.per_task);
            sum.faults += m.faults;
            sum.lost_messages += m.lost_messages;
            // Those that are on their way have a record in the domain that they left.
            sum.nr_tasks += m.nr_tasks - m.nr_away;
            sum.nr_slots = m.nr_slots;
        });
        sum.nr_tasks += self.domains.as_ref().map_or(0, |d| d.nr_on_their_way());
        sum
    }

    /// Bytes of arena memory in use.
    pub fn memory_used(&self) -> usize {
        self.memory().used as usize
    }

    /// Bytes per task under the current topology.
    pub fn bytes_per_task(&self) -> usize {
        self.memory().per_task as usize
    }

    /// Tasks that exist.
    pub fn nr_tasks(&self) -> u32 {
        self.memory().nr_tasks
    }

    /// Components that failed and were rebuilt, messages lost because memory ran out.
    pub fn faults(&self) -> (u64, u64) {
        let m = self.memory();
        (m.faults, m.lost_messages)
    }

    /// Register a topic beyond the standard ones, which stays until it is removed; gives its number.
    pub fn topic_register(&mut self, topic: &OwnTopic) -> Result<u32, Error> {
        let mut name = [0; 24];
        name.iter_mut().take(23).zip(topic.name.bytes()).for_each(|(to, from)| *to = from);
        let (uuid, version, bytes) = (topic.uuid, topic.version, topic.bytes);
        let c = ffi::CClassTopic { uuid, version, bytes, from: topic.publishers(), unused: 0, name };
        let mut ids = Vec::new();
        // SAFETY: valid scheduler and record.
        self.each(|s| ids.push(unsafe { ffi::weir_topic_register(s, &c) }));
        match ids.iter().find(|id| **id < 0) {
            Some(id) => Err(error(*id, "registering a topic")),
            None => Ok(ids[0] as u32),
        }
    }

    /// The number of a topic that some instance has brought along, or that was registered.
    pub fn topic_find(&self, topic: &OwnTopic) -> Result<u32, Error> {
        // Where there are several coherence domains: the number and the domain, since numbers differ.
        let mut found = Err(error(-5, "looking for a topic"));
        for (domain, s) in (0u32..).zip(self.all()) {
            // SAFETY: valid scheduler.
            let id = unsafe { ffi::weir_topic_find(s, topic.uuid, topic.version) };
            if id >= 0 {
                return Ok(id as u32 + domain * TOPICS);
            }
            if id != -5 {
                found = Err(error(id, "looking for a topic"));
            }
        }
        found
    }

    /// Publish a topic that is not a standard one, for a program. `data` are the payload's words.
    ///
    /// # Errors
    /// No instance has the topic, it takes nothing from programs, or the payload is of another length.
    pub fn publish_own(&mut self, cpu: u32, topic: &OwnTopic, msg: &Msg, data: &[u64]) -> Result<(), Error> {
        let id = self.topic_find(topic)?;
        let (s, topic_there) = self.topic_at(id);
        // SAFETY: valid scheduler.
        done(unsafe { ffi::weir_topic_for_users(s, topic_there) }, "publishing a message")?;
        if data.len() * 8 != topic.bytes as usize {
            return Err(error(-WEIR_EPROTO, "publishing a message"));
        }
        let s = self.enter_cpu(cpu);
        if let Some(d) = &mut self.domains
            && let Some(t) = msg.task
            && !d.is_at(t, cpu)
        {
            d.message(t, cpu, (topic.uuid, topic.version), msg, data);
            self.note_remote();
            return Ok(());
        }
        // Another domain may have it, and this one not.
        let Ok(id) = self.topic_in(s, id) else {
            if let Some(d) = &mut self.domains {
                d.message_to_all(cpu, (topic.uuid, topic.version), msg, data);
            }
            return Ok(());
        };
        let c = CMsg {
            topic: id,
            cpu: msg.cpu.unwrap_or(u32::MAX),
            task: msg.task.map_or(ptr::null_mut(), |t| self.raw(t)),
            value: msg.value,
            value2: msg.value2,
            // The field is a union in C, of pointers to what the topic carries.
            mask: if data.is_empty() { ptr::null() } else { data.as_ptr().cast() },
        };
        // SAFETY: valid scheduler; the payload, of the length that the topic says, is copied.
        let code = self.enter(|| unsafe { ffi::weir_notify(s, cpu, &c) });
        self.after_call();
        done(code, "publishing a message")
    }

    /// Ask the responder of any topic, by its number: what a program may learn.
    ///
    /// # Errors
    /// Nobody answers, or the responder refuses the question.
    pub fn ask(&mut self, cpu: u32, topic: u32, msg: &Msg) -> Result<Reply, Error> {
        let (s, cpu) = self.enter_for(cpu, msg.task);
        let topic = self.topic_in(s, topic)?;
        let mut c = CMsg {
            topic,
            cpu: msg.cpu.unwrap_or(u32::MAX),
            task: msg.task.map_or(ptr::null_mut(), |t| self.raw(t)),
            value: msg.value,
            value2: msg.value2,
            mask: ptr::null(),
        };
        // SAFETY: valid scheduler and message.
        let code = self.enter(|| unsafe { ffi::weir_ask(s, cpu, &mut c) });
        self.after_call();
        done(code, "asking")?;
        // SAFETY: valid scheduler.
        let bytes = if c.mask.is_null() { 0 } else { unsafe { ffi::weir_payload_bytes(s, topic) } };
        // SAFETY: a responder returns null or a record in the arena of the length that the topic says.
        let data = (0..bytes as usize / 8).map(|i| unsafe { c.mask.cast::<u64>().add(i).read() }).collect();
        Ok(Reply { value: c.value, value2: c.value2, data })
    }

    /// Whether a topic number stands for this UUID and version.
    pub fn topic_check(&self, topic: u32, uuid: u64, version: u32) -> Result<(), Error> {
        let (s, topic) = self.topic_at(topic);
        // SAFETY: valid scheduler.
        done(unsafe { ffi::weir_topic_check(s, topic, uuid, version) }, "checking a topic")
    }

    /// Count a user of a topic in, or out.
    pub fn topic_hold(&mut self, topic: u32, hold: bool) -> Result<(), Error> {
        let f = if hold { ffi::weir_topic_hold } else { ffi::weir_topic_release };
        self.in_each_domain(topic, f, "using a topic")
    }

    /// Remove a topic that nobody uses.
    pub fn topic_remove(&mut self, topic: u32) -> Result<(), Error> {
        self.in_each_domain(topic, ffi::weir_topic_remove, "removing a topic")
    }

    /// All invariants; the error names the broken one by its line.
    pub fn check(&self) -> Result<(), Error> {
        let mut line = 0;
        self.each(|s| {
            // SAFETY: valid scheduler, no call under way.
            let found = self.enter(|| unsafe { ffi::weir_check(s) });
            line = if line == 0 { found } else { line };
        });
        if line == 0 {
            return self.domains.as_ref().map_or(Ok(()), |d| d.check());
        }
        let text = include_str!("../../../core/src/check.c").lines().nth(line as usize - 1).unwrap_or("");
        Err(Error { code: 2, message: format!("broken invariant, core/src/check.c:{line}: {}", text.trim()) })
    }

    #[inline]
    fn after_call(&mut self) {
        if !self.direct {
            self.after_any_call();
        }
    }

    fn after_any_call(&mut self) {
        if self.domains.is_some() {
            self.send_on();
        }
        if self.checks {
            self.look_after();
        }
        // A reply may point into the arena.
        if let Some(d) = &self.domains {
            d.open_last();
        }
    }

    /// An invariant does not hold after a call: where components were loaded, one of them did that.
    fn blame(&self, e: &Error) {
        let Some(component) = self.loaded.first() else { return };
        let of_it = |class: u16| of_class(class).is_some_and(|c| c.name == component.name);
        let instance = self.present.iter().position(|(_, class)| of_it(*class)).unwrap_or(0) as u32;
        // SAFETY: `host` is valid; no other reference to it exists between calls.
        let now_ns = unsafe { (*self.host).now };
        let what = format!("after it had run, the framework was found inconsistent ({e})");
        let component = component.name.clone();
        let (function, task) = (String::new(), None);
        resume_unwind(Box::new(Crash { component, instance, function, task, what, now_ns }));
    }

    #[inline(never)]
    fn look_after(&self) {
        if let Err(e) = self.check() {
            self.blame(&e);
            panic!("{e}");
        }
    }
}

/// Topic numbers of one coherence domain.
const TOPICS: u32 = 64;

fn tasks_of(s: *mut CSched, pipe: u32) -> Vec<TaskId> {
    // SAFETY: valid scheduler; an unknown pipe has length 0.
    let n = unsafe { ffi::weir_host_pipe_len(s, pipe) };
    let mut ids = vec![0u32; n as usize];
    // SAFETY: C writes at most `n` numbers.
    let n = unsafe { ffi::weir_host_pipe_tasks(s, pipe, ids.as_mut_ptr(), n) };
    ids.truncate(n as usize);
    ids.into_iter().map(TaskId).collect()
}

/// Several coherence domains: each has a scheduler of its own, in memory of its own.
impl Sched {
    /// Call `f` for the scheduler of each domain.
    fn each(&self, mut f: impl FnMut(*mut CSched)) {
        match &self.domains {
            None => f(self.s),
            Some(d) => (0..d.nr()).for_each(|i| f(d.open(i))),
        }
    }

    /// The scheduler of each domain, usable until the next one.
    fn all(&self) -> impl Iterator<Item = *mut CSched> + '_ {
        let nr = self.domains.as_ref().map_or(1, |d| d.nr());
        (0..nr).map(|i| self.domains.as_ref().map_or(self.s, |d| d.open(i)))
    }

    fn of_pipe(&self, pipe: u32) -> *mut CSched {
        self.domains.as_ref().map_or(self.s, |d| d.of_pipe(pipe))
    }

    fn of_instance(&self, instance: u32) -> *mut CSched {
        self.domains.as_ref().map_or(self.s, |d| d.of_instance(instance))
    }

    fn of_task(&self, t: TaskId) -> *mut CSched {
        self.domains.as_ref().map_or(self.s, |d| d.of_task(t))
    }

    /// The scheduler that a call of `cpu` goes to, which has been given before what was sent to it.
    #[inline]
    fn enter_cpu(&mut self, cpu: u32) -> *mut CSched {
        if self.direct || self.domains.is_none() { self.s } else { self.receive(cpu) }
    }

    /// The same for a question about a task: it is put in the domain that has the task.
    fn enter_for(&mut self, cpu: u32, t: Option<TaskId>) -> (*mut CSched, u32) {
        let cpu = self.domains.as_ref().zip(t).map_or(cpu, |(d, t)| d.cpu_near(t, cpu));
        (self.enter_cpu(cpu), cpu)
    }

    fn enter_instance(&mut self, cpu: u32, instance: u32) -> (*mut CSched, u32) {
        let cpu = self.domains.as_ref().map_or(cpu, |d| d.cpu_of_instance(instance, cpu));
        (self.enter_cpu(cpu), cpu)
    }

    /// Where a topic is, by the number that [`Sched::topic_find`] gives.
    fn topic_at(&self, topic: u32) -> (*mut CSched, u32) {
        match &self.domains {
            None => (self.s, topic),
            Some(d) => (d.open((topic / TOPICS).min(d.nr() - 1)), topic % TOPICS),
        }
    }

    /// The number in another domain's scheduler.
    fn topic_in(&self, s: *mut CSched, topic: u32) -> Result<u32, Error> {
        let Some(d) = &self.domains else { return Ok(topic) };
        let (home, number) = self.topic_at(topic);
        let mut version = 0;
        // SAFETY: valid schedulers.
        let uuid = unsafe { ffi::weir_host_topic(home, number, &mut version) };
        d.open_again(s);
        if home == s || number < Topic::ALL.len() as u32 {
            return Ok(number);
        }
        // SAFETY: likewise.
        let id = unsafe { ffi::weir_topic_find(s, uuid, version) };
        if id < 0 { Err(error(id, "looking for a topic")) } else { Ok(id as u32) }
    }

    fn in_each_domain(
        &mut self,
        topic: u32,
        f: unsafe extern "C" fn(*mut CSched, u32) -> i32,
        doing: &str,
    ) -> Result<(), Error> {
        let mut code = None;
        for s in self.all() {
            let Ok(topic) = self.topic_in(s, topic) else { continue };
            // SAFETY: valid scheduler.
            let now = unsafe { f(s, topic) };
            code = Some(code.filter(|c| *c != 0).unwrap_or(now));
        }
        done(code.unwrap_or(-5), doing)
    }

    /// Report a message that the runtime itself sends to the cost model.
    fn note_remote(&mut self) {
        // SAFETY: null, or valid; no other reference to it exists between calls.
        let Some(log) = (unsafe { self.log.as_mut() }) else { return };
        if log.nr < log.cap {
            let op = OpRecord { kind: OpKind::Remote, object: 0, n: 0 };
            // SAFETY: the buffer has `cap` records.
            unsafe { log.ops.add(log.nr as usize).write(op) };
            log.nr += 1;
        }
    }

    /// Give the domain of `cpu` what was sent to it.
    #[inline(never)]
    fn receive(&mut self, cpu: u32) -> *mut CSched {
        let Some(mut d) = self.domains.take() else { return self.s };
        while let Some(message) = d.next_for(cpu) {
            let s = d.open_for(cpu);
            let code = self.enter(|| unsafe {
                // SAFETY: valid scheduler; the remote message outlives the call.
                ffi::weir_remote_accept(s, cpu, message.as_ptr())
            });
            d.collect(cpu);
            if !d.accepted(cpu, message, code) {
                break;
            }
        }
        let s = d.open_for(cpu);
        self.domains = Some(d);
        s
    }

    /// Take what the last call has left for other domains.
    #[inline(never)]
    fn send_on(&mut self) {
        if let Some(d) = &mut self.domains {
            d.collect_last();
        }
    }

    /// The part of each domain is exchanged, one after the other; tasks may be on their way. After an error all have the old one.
    fn swap_domains(
        &mut self,
        plan: &Plan,
        mut tables: Tables,
        guarded: bool,
    ) -> Result<CSwapStats, (i32, u32)> {
        if self.domains.is_none() {
            if self.arena.is_none() || !self.present.is_empty() {
                return Err((-2, 0));
            }
            let d = Domains::new(&self.config, self.s, plan, |s| {
                // SAFETY: the host outlives every call.
                unsafe { ffi::weir_host_setup(s, self.host as u64, self.topics) };
                if !self.log.is_null() {
                    // SAFETY: as in `set_up`.
                    unsafe { ffi::weir_host_oplog(s, self.log) };
                }
            })
            .map_err(|code| (code, 0))?;
            self.domains = Some(Box::new(d));
        }
        let Some(mut d) = self.domains.take() else { return Err((-2, 0)) };
        let done = d.swap(plan, &mut tables, &self.has, &self.present, |call| {
            if guarded { self.enter_guarded(call) } else { call() }
        });
        self.domains = Some(d);
        done
    }
}

impl From<CSwapStats> for SwapStats {
    fn from(s: CSwapStats) -> Self {
        SwapStats {
            represented: s.represented,
            pause_ns: s.pause_ns,
            instances_built: s.built,
            instances_kept: s.kept,
        }
    }
}

/// A message of this topic that carries nothing yet.
pub fn empty(topic: Topic) -> CMsg {
    CMsg { topic: topic as u32, cpu: u32::MAX, task: ptr::null_mut(), value: 0, value2: 0, mask: ptr::null() }
}

/// A set of CPUs as C has it.
pub fn to_mask(set: &CpuSet) -> CMask {
    let mut m = CMask { word: [0; 64] };
    m.word[..set.words().len()].copy_from_slice(set.words());
    m
}

/// The processor time that the calling thread has used, ns: what a computation takes, whatever else the computer does.
pub fn thread_time_ns() -> u64 {
    let mut used = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes one `timespec`.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut used) };
    assert_eq!(failed, 0, "Linux has this clock");
    used.tv_sec.unsigned_abs() * 1_000_000_000 + used.tv_nsec.unsigned_abs()
}

/// The functions of a [`Host`].
static OPS: Ops = Ops { now, message, timer };

/// # Safety
/// For all three: `head` is that of a [`Host`], to which the caller of the core holds no reference.
unsafe extern "C" fn now(head: *mut Head) -> u64 {
    // SAFETY: see above.
    let host = unsafe { &*head.cast::<Host>() };
    if host.measured { thread_time_ns() } else { host.now }
}

unsafe extern "C" fn message(head: *mut Head, msg: *const CMsg) {
    // SAFETY: see `now`; `msg` is valid for the call.
    unsafe {
        if let Some(msg) = out_msg(msg) {
            (*head.cast::<Host>()).messages.push(msg);
        }
    }
}

unsafe extern "C" fn timer(head: *mut Head, instance: u32, at_ns: u64) {
    // SAFETY: see `now`.
    unsafe { (*head.cast::<Host>()).arm(instance, at_ns) };
}
