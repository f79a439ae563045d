// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A topology in charge of the machine, from attaching to leaving.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use libbpf_rs::RingBuffer;
use weir_core::{Config, MachineShape, Msg, Plan, Sched, Topic};

use crate::client;
use crate::clock;
use crate::control::{self, Control};
use crate::diagnose::{self, System};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{EventSink, comm};
use crate::gangs::Looking;
use crate::layout::LiveTask;
use crate::memory::{Memory, Shared};
use crate::object::{self, Attached, Loaded, MAX_ARENA, with_components};
use crate::pmu::{Counters, Counting};
use crate::protocol::{Answer, Request};
use crate::server::{Handler, Server};
use crate::snapshot::{Snapshot, SnapshotSource};
use crate::view::{Facts, View};
use crate::watchdog::{self, Stall, Watchdog};

/// Part of the arena that is the loader's, for the tables of topologies to switch to: an eighth.
const STAGING_SHARE: u64 = 8;
/// Events that are read in a row before anything else gets its turn.
const BATCH: usize = 8192;
/// Interval at which an empty ring is polled. It holds 70 000 events.
const LOOK: Duration = Duration::from_millis(5);
/// Likewise if events are not read.
const IDLE: Duration = Duration::from_millis(50);
/// Interval at which the kernel side's measurements are read.
const GAUGES: Duration = Duration::from_millis(100);
/// How long the kernel may take to detach.
const LEAVING: Duration = Duration::from_secs(10);

/// Components to load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Certainly these, by class.
    pub classes: BTreeSet<u16>,
    /// No others, so that loading is quick; else all that there is room for.
    pub only: bool,
}

/// How to be in charge.
pub struct Options {
    /// The topology, compiled for `shape`, and its text.
    pub plan: Plan,
    pub source: String,
    /// Components of topologies for later switches; the plan's own components are always included.
    pub selection: Selection,
    /// CPU `n` is the kernel's CPU `n`: see [`crate::machine::host_shape`].
    pub shape: MachineShape,
    /// Memory for all that the scheduler keeps, bytes.
    pub memory: u64,
    /// Tasks of which figures are kept; more are scheduled all the same.
    pub max_tasks: u32,
    /// Slice of tasks to which no component grants one, ns.
    pub slice_ns: u64,
    /// Hardware counters for components that listen to COUNTERS.
    pub counting: Counting,
    /// Write what threads do to the cache of this level, 1 to 3, to the kernel's trace (`[PMC_SCHED]` lines); 0: nothing.
    pub log_level: u32,
    /// Leave when a task has waited so long in the graph.
    pub watchdog: Duration,
    pub socket: PathBuf,
    /// Gets every event; without any, none are recorded.
    pub sinks: Vec<Box<dyn EventSink>>,
    /// Receives the progress of attaching, for a user who waits.
    pub progress: Box<dyn Fn(&str)>,
}

impl Options {
    /// Memory for a machine of `nr_cpus` where the user names none.
    pub fn default_memory(nr_cpus: u32) -> u64 {
        (64 << 20) + u64::from(nr_cpus) * (64 << 10)
    }
}

/// Why it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The caller's condition, or a request at the socket.
    Asked,
    /// The kernel threw us out, for example because a task was not run for long.
    Ejected { reason: String, message: String },
    /// A task waited too long in our pipes.
    Stalled(Stall),
}

/// Being in charge. Ends when the link is dropped.
pub(crate) struct Charge {
    link: Mutex<Option<Attached>>,
    shared: Shared,
}

impl Charge {
    /// Give the machine back to its default scheduler.
    pub fn leave(&self) {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner).take();
        if link.is_some() {
            self.shared.set_leave(true);
        }
        // The kernel moves every task before this returns.
        drop(link);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A topology in charge. Dropping it gives the machine back.
pub struct Live {
    // In the order in which they go: nobody is answered any more, nobody watches, the link goes, then the memory.
    server: Option<Server>,
    watchdog: Option<Watchdog>,
    looking: Option<Looking>,
    charge: Arc<Charge>,
    ring: Option<RingBuffer<'static>>,
    control: Arc<Control>,
    /// The last look before it left: the tasks that it had.
    last: Option<Snapshot>,
    loaded: Loaded,
    counting: Counted,
}

impl Live {
    /// Load, build the topology, attach.
    pub fn attach(options: Options, system: &dyn System) -> Result<Self> {
        check_free(&options, system)?;
        let nr_cpus = options.shape.nr_cpus();
        control::takes(&options.plan, nr_cpus)?;
        control::loadable(&options.selection.classes)?;
        let memory = options.memory.clamp(1 << 20, MAX_ARENA) / 4096 * 4096;
        let mut selection = options.selection.clone();
        selection.classes.extend(options.plan.instances.iter().map(|i| i.class));
        let (code, components) =
            with_components(&selection, wants_counters(&options), diagnose::max_frames(system))?;
        (options.progress)(&format!(
            "the kernel checks the code of {}",
            weir_text::plural(components.len(), "component")
        ));
        let (loaded, counting) = load(&code, memory, &options, system)?;
        (options.progress)("the topology is built");
        loaded.memory.touch();
        let own = memory / STAGING_SHARE / 4096 * 4096;
        let tasks = build(&options, loaded.memory, memory - own)?;
        let shared = loaded.shared;
        shared.set_up(loaded.memory.base(), tasks, options.max_tasks, nr_cpus, options.slice_ns);
        shared.set_bind(control::binds(&options.plan));
        shared.set_counting(counting.as_ref().and_then(|c| c.as_ref().ok()).map_or(0, |c| c.counting));
        let recording = !options.sinks.is_empty();
        let progress = options.progress;
        let mut sinks = options.sinks;
        let emit = move |event: &crate::LiveEvent| sinks.iter_mut().for_each(|s| s.event(event));
        let ring = recording.then(|| loaded.events(emit)).transpose()?;
        shared.set_recording(recording);
        let facts = Facts {
            plan: options.plan,
            source: options.source,
            components,
            attached_ns: clock::now_ns(),
            last_swap: None,
        };
        let view = View { memory: loaded.memory, shared };
        let staging = (loaded.memory.base() + memory - own, own);
        let control = Arc::new(Control::new(view, options.shape, staging, facts, loaded.keep()));
        // Before the attachment: a socket that cannot be made must not leave a scheduler behind.
        let gate = Arc::new(Gate(control.clone()));
        let server = Server::open(&options.socket, gate)?;
        watchdog::keep_in_memory();
        progress("the kernel hands its tasks over");
        let link = loaded.attach(system)?;
        control.facts().attached_ns = clock::now_ns();
        let charge = Arc::new(Charge { link: Mutex::new(Some(link)), shared });
        let watchdog = Watchdog::start(control.clone(), charge.clone(), options.watchdog)?;
        control.set_patience(options.watchdog);
        let looking = Looking::start(control.clone())?;
        Ok(Self {
            server: Some(server),
            watchdog: Some(watchdog),
            looking: Some(looking),
            charge,
            ring,
            control,
            last: None,
            loaded,
            counting,
        })
    }

    /// The target of requests and snapshots.
    pub fn control(&self) -> Arc<Control> {
        self.control.clone()
    }

    /// Do what is to be done in user space until `over`, a request, or a mishap ends it. `over` is asked
    /// every 50 ms or oftener, and may look around.
    pub fn run(&mut self, over: &mut dyn FnMut(&Live) -> bool) -> Result<Ended> {
        let mut looked: Option<Instant> = None;
        loop {
            // Here, and not in the watchdog: that is above the tasks of the topology, which would wait meanwhile.
            if looked.is_none_or(|at| at.elapsed() >= GAUGES) {
                looked = Some(Instant::now());
                self.control.look();
            }
            if self.watchdog.as_ref().and_then(Watchdog::stall).is_some() || self.shared().exit_kind() != 0 {
                break;
            }
            if over(self) || self.control.stop_requested() {
                break;
            }
            match &self.ring {
                // Not until it is empty: events may come as fast as they are read.
                Some(ring) if ring.consume_raw_n(BATCH) >= BATCH as i32 => {}
                Some(_) => std::thread::sleep(LOOK),
                None => std::thread::sleep(IDLE),
            }
        }
        self.leave()
    }

    /// Names of the hardware counters, or why there are none; none if not wanted.
    pub fn counting(&self) -> Option<std::result::Result<Vec<&'static str>, &str>> {
        Some(self.counting.as_ref()?.as_ref().map(Counters::names).map_err(String::as_str))
    }

    /// What components of the first topology listen to and this kernel does not report, as sentences.
    pub fn unsupported(&self) -> Vec<String> {
        let plan = &self.control.facts().plan;
        self.loaded
            .unsupported
            .iter()
            .filter(|(topic, _)| plan.listens_to(*topic))
            .map(|(topic, why)| format!("{}: {why}; components that listen to it hear nothing", topic.name()))
            .collect()
    }

    fn shared(&self) -> Shared {
        self.loaded.shared
    }

    /// Give the machine back, and say why.
    fn leave(&mut self) -> Result<Ended> {
        self.server = None;
        self.looking = None;
        self.last = Some(self.control.snapshot());
        let ejected = self.shared().exit_kind() != 0;
        self.charge.leave();
        let began = Instant::now();
        while self.shared().exit_kind() == 0 && began.elapsed() < LEAVING {
            std::thread::sleep(Duration::from_millis(1));
        }
        let stall = self.watchdog.take().and_then(|w| w.stall());
        if let Some(ring) = &self.ring {
            let _ = ring.consume_raw();
        }
        if let Some(stall) = stall {
            return Ok(Ended::Stalled(stall));
        }
        if ejected {
            let head = self.shared().head();
            let (reason, message) = (comm(&head.exit_reason), comm(&head.exit_msg));
            return Ok(Ended::Ejected { reason, message });
        }
        Ok(Ended::Asked)
    }

    /// The present state; after the end, the final counters with the last tasks.
    pub fn snapshot(&self) -> Snapshot {
        let now = self.control.snapshot();
        match &self.last {
            Some(last) => Snapshot {
                tasks: last.tasks.clone(),
                gangs: last.gangs.clone(),
                uptime_ns: last.uptime_ns,
                ..now
            },
            None => now,
        }
    }
}

/// Serves no clients before the scheduler is attached.
struct Gate(Arc<Control>);

impl Handler for Gate {
    fn handle(&self, request: &Request) -> Answer {
        let early =
            !self.0.view.shared.attached() && matches!(request, Request::Switch(_) | Request::Replace(_));
        if early {
            let e = Error::new(ErrorKind::Busy, "the scheduler is being attached", "try again in a moment");
            return Answer::error(&e);
        }
        self.0.serve(request)
    }
}

/// Open counters, or why there are none; none if not wanted.
type Counted = Option<std::result::Result<Counters, String>>;

/// Counters are to be published, if the machine has them.
fn wants_counters(options: &Options) -> bool {
    match options.counting {
        Counting::Nothing => false,
        Counting::Auto => options.plan.listens_to(Topic::Counters),
        Counting::Software | Counting::Fields(_) => true,
    }
}

/// Load the kernel side, with counters if they are wanted and there are any.
fn load(code: &[u8], memory: u64, options: &Options, system: &dyn System) -> Result<(Loaded, Counted)> {
    let nr_cpus = options.shape.nr_cpus();
    if !wants_counters(options) {
        return Ok((Loaded::load(code, memory, None, nr_cpus, system)?, None));
    }
    let counters = match Counters::open(options.counting, nr_cpus) {
        Ok(counters) => counters,
        Err(e) => {
            let why = format!("this machine has none that may be used ({e})");
            return Ok((Loaded::load(code, memory, None, nr_cpus, system)?, Some(Err(why))));
        }
    };
    let counted = object::Counted { counters: &counters, log_level: options.log_level };
    match Loaded::load(code, memory, Some(counted), nr_cpus, system) {
        Ok(loaded) => Ok((loaded, Some(Ok(counters)))),
        // Before Linux 6.15 a scheduler may not read counters: without them it may load.
        Err(e) if e.kind == ErrorKind::Kernel || e.kind == ErrorKind::Internal => {
            let why = "this kernel lets no scheduler read them (Linux 6.15 does)".into();
            Ok((Loaded::load(code, memory, None, nr_cpus, system)?, Some(Err(why))))
        }
        Err(e) => Err(e),
    }
}

/// No scheduler is attached, and this process may attach one.
fn check_free(options: &Options, system: &dyn System) -> Result<()> {
    if let Ok(s) = client::status(&options.socket) {
        let pid = client::process_at(&options.socket);
        return Err(diagnose::ourselves(&s.topology, pid, &options.socket));
    }
    diagnose::preflight(system)
}

/// Set the scheduler up in the arena while no other code sees it; returns the address of the table of tasks.
fn build(options: &Options, memory: Memory, arena_bytes: u64) -> Result<u64> {
    let more = || "attach with more memory: --memory 256MiB";
    let failed = |e: weir_core::Error| Error::new(ErrorKind::Input, e.message, more());
    let nr_cpus = options.shape.nr_cpus();
    let config = Config { nr_cpus, arena_bytes: arena_bytes as usize, checks: false, oplog: false, seed: 1 };
    // SAFETY: the arena is zeroed, page-aligned, and nobody else's before the attachment.
    let mut sched = unsafe { Sched::within(&config, memory.base() as *mut u8) }.map_err(failed)?;
    // One more record than tasks: those beyond share it.
    let bytes = (u64::from(options.max_tasks) + 1) * size_of::<LiveTask>() as u64;
    let tasks = sched.alloc(bytes).map_err(failed)?;
    sched.set_now(clock::now_ns());
    sched.load(&options.plan).map_err(failed)?;
    for (cpu, shape) in options.shape.cpus.iter().enumerate().filter(|(_, c)| !c.online) {
        let msg = Msg { cpu: Some(cpu as u32), value: u64::from(shape.online), ..Msg::default() };
        sched.notify(0, Topic::CpuStatus, &msg).map_err(failed)?;
    }
    sched.hand_over();
    Ok(tasks)
}
