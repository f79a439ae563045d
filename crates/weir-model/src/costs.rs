// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What scheduling costs on the modelled machine.
//!
//! All values are nanoseconds. The default table represents a 2 GHz core as simulated by source 0,
//! and present Linux servers where the source has no figure; `docs/costs.md` gives the origin of each
//! number. A cost file changes individual values.

use weir_core::{OpKind, OpRecord, What};

use crate::document::{Source, Table, Value};
use crate::error::{Error, ErrorKind, Result, did_you_mean};
use crate::machine::ReadFile;
use crate::units::{self, RATE, TIME, Units};

pub use crate::machine::Distance;

mod machines;

/// A cost that depends on how far two CPUs are apart. Between a CPU and itself it is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByDistance {
    /// Hardware threads of one core.
    pub sibling: u64,
    /// Cores with a common mid-level cache.
    pub l2: u64,
    /// Cores with a common last-level cache.
    pub llc: u64,
    /// Other last-level cache of the same NUMA node.
    pub node: u64,
    /// Other NUMA node at distance 20 (ACPI SLIT); other distances in proportion.
    pub remote: u64,
    /// Other coherence domain.
    pub domain: u64,
}

impl ByDistance {
    /// The cost at a distance, ns.
    #[inline]
    pub fn at(&self, distance: Distance) -> u64 {
        match distance {
            Distance::Same => 0,
            Distance::Sibling => self.sibling,
            Distance::L2 => self.l2,
            Distance::Llc => self.llc,
            Distance::Node => self.node,
            Distance::Remote(slit) => {
                let scaled =
                    u128::from(self.remote) * u128::from(slit) / u128::from(crate::machine::REMOTE_DISTANCE);
                u64::try_from(scaled).unwrap_or(u64::MAX)
            }
            Distance::Domain(_) => self.domain,
        }
    }
}

/// The cost of the scheduler's own code, by micro-operation of the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreCosts {
    /// Entering and leaving the scheduler, for each call of a runtime.
    pub call: u64,
    /// Link a task into a pipe, without the lock.
    pub pipe_add: u64,
    /// Take a task out of a pipe.
    pub pipe_remove: u64,
    /// One level walked in a keyed pipe: log2 of the tasks in it for an insertion.
    pub key_step: u64,
    /// Call a component's update function.
    pub update: u64,
    /// Each change that an update handles, beyond its pipe operations.
    pub change: u64,
    /// A request through the broker, with its answer.
    pub request: u64,
    /// A notification through the broker.
    pub notify: u64,
    /// Each element that a component visits (a balancer's pipes).
    pub scan: u64,
    /// A thousand iterations of the component `burn`.
    pub burn_1000: u64,
    /// A component's step, without what it asks for, if [`Costs::stages`] says so.
    pub step: u64,
}

/// How a task's way through the components is charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stages {
    /// As if each stage linked the task in its pipe and logged that, like the prototype of source 0: where it arrives, a lock of the
    /// pipe that the stage reads and an addition to it, an update, and a lock of the pipe that it writes; where it is taken out, a removal
    /// from each pipe on its way, with the lock.
    #[default]
    Linked,
    /// As the core works: [`CoreCosts::step`] for each component.
    Carried,
    /// As the prototype of source 0 works, from end to end: a task that leaves passes all stages again, each with its update and what that
    /// burns; a pipe's lock is held until all that follows is done; and where a task reaches its CPU's pipe, or leaves it, there is the update of
    /// a last component, Termination.
    Chained,
}

impl Stages {
    /// By the word of a cost file.
    const WORDS: [(&str, Self); 3] =
        [("linked", Self::Linked), ("carried", Self::Carried), ("chained", Self::Chained)];
}

/// Which CPU makes the call for a task that another task wakes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wakeups {
    /// The one on which the waker runs.
    #[default]
    Waker,
    /// The one on which the woken task ran last, in an interrupt, as Linux does between CPUs without a common cache.
    Last,
}

impl Wakeups {
    /// By the word of a cost file.
    const WORDS: [(&str, Self); 2] = [("waker", Self::Waker), ("last", Self::Last)];
}

/// The cost table of a run; all in nanoseconds unless the name says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Leave one task and resume another.
    pub context_switch: u64,
    /// Time slice of a task where no component gives one.
    pub slice_default: u64,
    /// Such slices end at ticks of this period instead; 0: they last `slice_default`.
    pub slice_tick: u64,
    /// Period of the scheduler tick; 0: there is none.
    pub tick_period: u64,
    /// The ticks of each CPU are later than without this by a time up to it, drawn with the run's seed; 0: they are in step.
    pub tick_spread: u64,
    /// Each tick.
    pub tick: u64,
    /// An interrupt of a timer that wakes a task or ends a slice.
    pub timer_interrupt: u64,
    /// Reading one hardware counter, at each end of a stint, where a component listens to COUNTERS.
    pub counter_read: u64,
    /// Resuming a task on another CPU: its working set comes from there.
    pub migration: ByDistance,
    /// From sending an inter-processor interrupt until the target reacts.
    pub wakeup_ipi: ByDistance,
    /// The cost of an interrupt for its sender, for each target CPU.
    pub ipi_send: u64,
    /// From sending a message through common memory until its receiver, which polls, has it.
    pub message: ByDistance,
    /// The cost of a message for its sender, and likewise its receiver: half of the time per message of a stream between the two, because
    /// sends to different CPUs overlap.
    pub message_send: ByDistance,
    /// Take and release a pipe lock that was free and was last held here.
    pub lock_uncontended: u64,
    /// More for a lock that another CPU held last.
    pub lock_handover: ByDistance,
    /// Scheduler code.
    pub core: CoreCosts,
    /// Which of it the stages cost that carry a task.
    pub stages: Stages,
    /// Who pays for a wake-up.
    pub wakeups: Wakeups,
    /// A device request, without the transfer.
    pub io_latency: u64,
    /// Bytes a second that a device transfers; 0: the transfer takes no time.
    pub io_bandwidth: u64,
    /// Touching one KiB of memory.
    pub memory_per_kib: u64,
}

/// Kinds of micro-operations.
const KINDS: usize = OpKind::Post as usize + 1;

/// Price of each kind of micro-operation, and of each of its steps, ns; the steps of `Burn` cost thousandths.
#[derive(Clone, Copy, Debug)]
pub struct Prices {
    kinds: [(u64, u64); KINDS],
    /// Of a `Step` with a task that arrives, or is reviewed.
    arrives: u64,
    /// The part of that which comes before the instance's time.
    before: u64,
    /// Of a `Step` that hears that a task has left: the component's code.
    step_code: u64,
    /// Of an `Unlink`, for each further pipe that the task is in.
    leaves: u64,
    /// Of a pipe of a CPU, for each task that comes to it or leaves it.
    ends: u64,
    stages: Stages,
}

impl Prices {
    /// Price of one operation, ns, without waiting and hand-over.
    #[inline]
    pub fn of(&self, op: &OpRecord) -> u64 {
        match op.kind {
            OpKind::Burn => u64::from(op.n) * self.kinds[OpKind::Burn as usize].1 / 1_000,
            OpKind::Step => self.step(op),
            OpKind::Link | OpKind::Unlink => self.link(op),
            _ => self.by_steps(op),
        }
    }

    /// The same of a `Link` or `Unlink`.
    #[inline(always)]
    pub fn link(&self, op: &OpRecord) -> u64 {
        let (base, each) = self.kinds[op.kind as usize];
        base + u64::from(op.levels()) * each
    }

    /// The same of a `Lock`.
    #[inline(always)]
    pub fn lock(&self) -> u64 {
        self.kinds[OpKind::Lock as usize].0
    }

    /// The same of any other operation.
    #[inline(always)]
    pub fn by_steps(&self, op: &OpRecord) -> u64 {
        let (base, each) = self.kinds[op.kind as usize];
        base + u64::from(op.n) * each
    }

    /// The same of a `Step`.
    #[inline(always)]
    pub fn step(&self, op: &OpRecord) -> u64 {
        if self.brings(op) { self.arrives } else { self.step_code }
    }

    /// Stages are charged from end to end: each time that a task leaves, too.
    #[inline]
    pub fn is_chained(&self) -> bool {
        self.stages == Stages::Chained
    }

    /// Price of one stage of which a task is taken out, lock included, ns; without what its component burns.
    pub fn undoing(&self) -> u64 {
        self.leaves
    }

    /// Price of the last component of a chain, ns.
    pub fn ending(&self) -> u64 {
        self.ends
    }

    /// Price of taking a task out of `more` pipes besides the one in which it is linked, ns.
    #[inline]
    pub fn leaving(&self, more: u32) -> u64 {
        u64::from(more) * self.leaves
    }

    /// The part of a `Step` that is the instance's time, ns: without the lock of the pipe that it reads, but with what it does to the one
    /// that it writes.
    #[inline]
    pub fn inside(&self, op: &OpRecord) -> u64 {
        if self.brings(op) { self.arrives - self.before } else { self.step_code }
    }

    /// The pipe whose lock a `Step` takes until its end.
    #[inline]
    pub fn lock_of(&self, op: &OpRecord) -> Option<u32> {
        let takes = self.stages != Stages::Carried && self.brings(op) && op.pipe() != u32::MAX;
        takes.then(|| op.pipe())
    }

    /// Whether a `Step` is one with a task that comes by.
    #[inline(always)]
    fn brings(&self, op: &OpRecord) -> bool {
        matches!(op.what(), What::Arrived | What::Review)
    }
}

impl Default for Costs {
    /// The calibrated table; sources in `docs/costs.md`.
    fn default() -> Self {
        Self {
            context_switch: 1_500,
            slice_default: 4_000_000,
            slice_tick: 0,
            tick_period: 4_000_000,
            tick_spread: 0,
            tick: 1_000,
            timer_interrupt: 900,
            counter_read: 0,
            migration: ByDistance {
                sibling: 0,
                l2: 500,
                llc: 4_000,
                node: 8_000,
                remote: 15_000,
                domain: 100_000,
            },
            wakeup_ipi: ByDistance {
                sibling: 700,
                l2: 900,
                llc: 1_000,
                node: 1_300,
                remote: 1_800,
                domain: 10_000,
            },
            ipi_send: 100,
            // Source 1, 2.8: the machine with four packages of four cores; pairs with a common cache from the one that has them.
            message: ByDistance { sibling: 68, l2: 68, llc: 179, node: 214, remote: 218, domain: 2_000 },
            message_send: ByDistance { sibling: 16, l2: 16, llc: 56, node: 57, remote: 57, domain: 500 },
            lock_uncontended: 20,
            lock_handover: ByDistance { sibling: 10, l2: 25, llc: 50, node: 100, remote: 200, domain: 2_000 },
            // Source 0: 214 ns for a stage (8.6), of which an update, an addition and two locks; and
            // 830 ns + 92 ns per CPU for an admission through one stage and a balancer (8.5).
            core: CoreCosts {
                call: 230,
                pipe_add: 90,
                pipe_remove: 90,
                key_step: 15,
                update: 64,
                change: 20,
                request: 62,
                notify: 40,
                scan: 92,
                burn_1000: 2_500,
                step: 2,
            },
            stages: Stages::Linked,
            wakeups: Wakeups::Waker,
            io_latency: 100_000,
            io_bandwidth: 500_000_000,
            memory_per_kib: 60,
        }
    }
}

/// Longest time that a cost may be: a thousand seconds, so that sums stay far from overflow.
const MAX_NS: u64 = 1_000_000_000_000;
/// Longest micro-operation: it is multiplied by up to 2^32 steps.
const MAX_OP_NS: u64 = 1_000_000_000;

/// One value of the table: table (empty: top level), key, unit, access.
struct Entry {
    table: &'static str,
    key: &'static str,
    units: Units,
    get: fn(&mut Costs) -> &mut u64,
    /// Does not make scheduling cheaper or dearer, so `zero` keeps it.
    kept: bool,
}

macro_rules! entries {
    ($($table:literal { $($key:literal : $units:ident $($path:ident).+ $(, $kept:ident)? ;)+ })+) => {
        &[$($(Entry {
            table: $table,
            key: $key,
            units: $units,
            get: |c: &mut Costs| &mut c.$($path).+,
            kept: false $(|| stringify!($kept).len() > 0)?,
        },)+)+]
    };
}

const ENTRIES: &[Entry] = entries! {
    "" {
        "context_switch": TIME context_switch;
        "slice_default": TIME slice_default, kept;
        "slice_tick": TIME slice_tick, kept;
        "tick_period": TIME tick_period, kept;
        "tick_spread": TIME tick_spread, kept;
        "tick": TIME tick;
        "timer_interrupt": TIME timer_interrupt;
        "counter_read": TIME counter_read;
        "ipi_send": TIME ipi_send;
        "lock_uncontended": TIME lock_uncontended;
        "io_latency": TIME io_latency, kept;
        "io_bandwidth": RATE io_bandwidth, kept;
        "memory_per_kib": TIME memory_per_kib, kept;
    }
    "migration" {
        "sibling": TIME migration.sibling;
        "l2": TIME migration.l2;
        "llc": TIME migration.llc;
        "node": TIME migration.node;
        "remote": TIME migration.remote;
        "domain": TIME migration.domain;
    }
    "wakeup_ipi" {
        "sibling": TIME wakeup_ipi.sibling;
        "l2": TIME wakeup_ipi.l2;
        "llc": TIME wakeup_ipi.llc;
        "node": TIME wakeup_ipi.node;
        "remote": TIME wakeup_ipi.remote;
        "domain": TIME wakeup_ipi.domain;
    }
    "message" {
        "sibling": TIME message.sibling;
        "l2": TIME message.l2;
        "llc": TIME message.llc;
        "node": TIME message.node;
        "remote": TIME message.remote;
        "domain": TIME message.domain;
    }
    "message_send" {
        "sibling": TIME message_send.sibling;
        "l2": TIME message_send.l2;
        "llc": TIME message_send.llc;
        "node": TIME message_send.node;
        "remote": TIME message_send.remote;
        "domain": TIME message_send.domain;
    }
    "lock_handover" {
        "sibling": TIME lock_handover.sibling;
        "l2": TIME lock_handover.l2;
        "llc": TIME lock_handover.llc;
        "node": TIME lock_handover.node;
        "remote": TIME lock_handover.remote;
        "domain": TIME lock_handover.domain;
    }
    "core" {
        "call": TIME core.call;
        "pipe_add": TIME core.pipe_add;
        "pipe_remove": TIME core.pipe_remove;
        "key_step": TIME core.key_step;
        "update": TIME core.update;
        "change": TIME core.change;
        "request": TIME core.request;
        "notify": TIME core.notify;
        "scan": TIME core.scan;
        "burn_1000": TIME core.burn_1000;
        "step": TIME core.step;
    }
};

/// Tables of a cost file.
const TABLES: [&str; 6] = ["migration", "wakeup_ipi", "message", "message_send", "lock_handover", "core"];

impl Costs {
    /// Scheduling, switching and migrating are free, as in textbooks. What is a task's own time stays:
    /// default slice, devices and memory; and the tick still comes, at no cost.
    pub fn zero() -> Self {
        let mut costs = Self::default();
        for e in ENTRIES.iter().filter(|e| !e.kept) {
            *(e.get)(&mut costs) = 0;
        }
        costs
    }

    /// The names of tables that are not a machine's.
    pub const NAMES: [&str; 4] = ["zero", "default", "native", "source"];

    /// One of them.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "zero" => Self::zero(),
            "default" => Self::default(),
            "native" => Self::native(),
            "source" => Self::source(),
            _ => return None,
        })
    }

    /// What the prototype of source 0 costs, in Linux 4.4 on simulated CPUs without common caches: `docs/costs.md` says where each value is
    /// from. The update of the last component, which the default table has in the call, is charged where it is made.
    pub fn source() -> Self {
        let core = Self::default().core;
        Self {
            slice_tick: 1_000_000,
            stages: Stages::Chained,
            wakeups: Wakeups::Last,
            core: CoreCosts { call: core.call - core.update - core.change, ..core },
            ..Self::default()
        }
    }

    /// The default table with scheduler code as it takes natively on a present server; its prices are those that
    /// `tools/bench.sh costs` has fitted (docs/costs.md).
    pub fn native() -> Self {
        let core = CoreCosts {
            call: 6,
            pipe_add: 0,
            pipe_remove: 0,
            key_step: 7,
            update: 24,
            change: 0,
            request: 3,
            notify: 13,
            scan: 2,
            step: 2,
            ..Self::default().core
        };
        Self { core, stages: Stages::Carried, lock_uncontended: 9, ..Self::default() }
    }

    /// This table with the scheduler code of another one: its micro-operations, locks, and how stages are charged.
    #[must_use]
    pub fn with_code_of(&self, other: &Self) -> Self {
        Self { core: other.core, stages: other.stages, lock_uncontended: other.lock_uncontended, ..*self }
    }

    /// Whether scheduling, switching and migrating are free.
    pub fn is_zero(&self) -> bool {
        let mut costs = *self;
        ENTRIES.iter().filter(|e| !e.kept).all(|e| *(e.get)(&mut costs) == 0)
    }

    /// What the core's micro-operations cost. A lock is charged when it is taken; waiting for it and fetching it from
    /// another CPU come on top.
    pub fn prices(&self) -> Prices {
        let core = &self.core;
        let mut prices = [(0, 0); KINDS];
        let mut set = |kind: OpKind, base, each| prices[kind as usize] = (base, each);
        set(OpKind::Lock, self.lock_uncontended, 0);
        set(OpKind::Link, core.pipe_add, core.key_step);
        set(OpKind::Unlink, core.pipe_remove, core.key_step);
        set(OpKind::Post, self.lock_uncontended, 0);
        set(OpKind::Request, core.request, 0);
        set(OpKind::Notify, core.notify, 0);
        set(OpKind::Scan, 0, core.scan);
        set(OpKind::Burn, 0, core.burn_1000);
        set(OpKind::Remote, self.lock_handover.domain, 0);
        let lock = self.lock_uncontended;
        let update = core.update + core.change;
        let (arrives, before, step_code, leaves, ends) = match self.stages {
            Stages::Linked => {
                (lock + update + core.pipe_add + lock, lock, update, core.pipe_remove + lock, 0)
            }
            Stages::Carried => (core.step, 0, core.step, 0, 0),
            // What a component hears of a task that leaves is part of the way back.
            Stages::Chained => {
                let back = core.pipe_remove + lock + update + lock;
                (lock + update + core.pipe_add + lock, lock, 0, back, update)
            }
        };
        Prices { kinds: prices, arrives, before, step_code, leaves, ends, stages: self.stages }
    }

    /// Cost of resuming a task at a distance from where it last ran, ns.
    pub fn migrate(&self, distance: Distance) -> u64 {
        self.migration.at(distance)
    }

    /// Time that an inter-processor interrupt takes over a distance, ns.
    pub fn ipi(&self, distance: Distance) -> u64 {
        self.wakeup_ipi.at(distance)
    }

    /// Extra cost of a lock that was last held at a distance, ns.
    pub fn handover(&self, distance: Distance) -> u64 {
        self.lock_handover.at(distance)
    }

    /// Time of a device transfer, ns.
    pub fn io(&self, bytes: u64) -> u64 {
        let transfer = match self.io_bandwidth {
            0 => 0,
            rate => u128::from(bytes) * 1_000_000_000 / u128::from(rate),
        };
        self.io_latency.saturating_add(u64::try_from(transfer).unwrap_or(u64::MAX))
    }

    /// Time to touch memory, ns; begun KiB count in proportion.
    pub fn memory(&self, bytes: u64) -> u64 {
        u64::try_from(u128::from(bytes) * u128::from(self.memory_per_kib) / 1024).unwrap_or(u64::MAX)
    }

    /// The table that `spec` names: `zero`, `default`, `native`, a machine of [`machines`], or the path of a TOML cost file.
    pub fn resolve(spec: &str, read: ReadFile<'_>) -> Result<Self> {
        if let Some(costs) = Self::named(spec).or_else(|| machines::of(spec)) {
            return Ok(costs);
        }
        if !spec.contains('/') && !spec.to_ascii_lowercase().ends_with(".toml") {
            let known: Vec<&str> = Self::NAMES.into_iter().chain(machines::NAMES.iter().copied()).collect();
            let help = format!("{} (or name a .toml file)", did_you_mean(spec, &known));
            return Err(Error::costs(format!("there is no cost table `{spec}`")).help(help));
        }
        let bytes = read(spec).map_err(|e| Error::io(spec, "cost file", &e))?;
        if bytes.len() > 1 << 20 {
            return Err(Error::costs(format!("`{spec}` is larger than 1 MiB"))
                .help("a cost file has about fifty lines"));
        }
        let text = String::from_utf8(bytes).map_err(|e| {
            Error::costs(format!("`{spec}` is not text: byte {} is not UTF-8", e.utf8_error().valid_up_to()))
                .help("a cost file is TOML, with lines like `context_switch = \"1.5us\"`")
        })?;
        Self::from_toml(spec, &text)
    }

    /// Read a cost file: values that it does not give are those of `base` (`"default"`, `"native"` or `"zero"`).
    pub fn from_toml(name: &str, text: &str) -> Result<Self> {
        let source = Source { name, text, kind: ErrorKind::Costs };
        let document = source.parse()?;
        let keys =
            |table: &str| ENTRIES.iter().filter(|e| e.table == table).map(|e| e.key).collect::<Vec<_>>();
        let mut known = keys("");
        known.extend(["base", "stages", "wakeups"]);
        known.extend(TABLES);
        let top = Table::new(source, document.get_ref(), 0..0, "a cost file", &known)?;
        let mut costs = match top.get("base") {
            None => Self::default(),
            Some(v) => {
                let name = v.str("\"zero\"")?;
                Self::named(name).ok_or_else(|| {
                    v.error(format!("there is no cost table `{name}` to begin with"))
                        .help(did_you_mean(name, &Self::NAMES))
                })?
            }
        };
        costs.set_all(&top, "")?;
        if let Some(v) = top.get("stages") {
            costs.stages = one_of(&v, &Stages::WORDS, "stages are not charged as")?;
        }
        if let Some(v) = top.get("wakeups") {
            costs.wakeups = one_of(&v, &Wakeups::WORDS, "no CPU for wake-ups is called")?;
        }
        for table in TABLES {
            if let Some(v) = top.get(table) {
                costs.set_all(&v.table(&format!("[{table}]"), &keys(table))?, table)?;
            }
        }
        Ok(costs)
    }

    fn set_all(&mut self, table: &Table<'_, '_>, name: &str) -> Result<()> {
        for e in ENTRIES.iter().filter(|e| e.table == name) {
            let Some(v) = table.get(e.key) else { continue };
            *(e.get)(self) = Self::value(&v, e)?;
        }
        Ok(())
    }

    fn value(v: &Value<'_, '_>, e: &Entry) -> Result<u64> {
        let value = v.quantity(e.units)?;
        if e.key == "io_bandwidth" {
            return Ok(value);
        }
        let (most, shown) = if e.table == "core" { (MAX_OP_NS, "1s") } else { (MAX_NS, "1000s") };
        if value > most {
            return Err(v
                .error(format!("`{}` is {}, longer than {shown}", e.key, units::show(value, TIME)))
                .help("costs are nanoseconds to milliseconds"));
        }
        let least = match e.key {
            "slice_default" => 1_000,
            "slice_tick" | "tick_period" if value > 0 => 1_000,
            _ => 0,
        };
        if value < least {
            let help = match e.key {
                "slice_tick" => "0: slices last `slice_default`; the shortest is 1us",
                "tick_period" => "0 switches the tick off; the shortest is 1us",
                _ => "the shortest is 1us",
            };
            return Err(v
                .error(format!("`{}` is {}, too short to simulate", e.key, units::show(value, TIME)))
                .help(help));
        }
        Ok(value)
    }

    /// The table as a cost file with every value.
    pub fn to_toml(&self) -> String {
        let mut costs = *self;
        let stages = word_of(&Stages::WORDS, self.stages);
        let wakeups = word_of(&Wakeups::WORDS, self.wakeups);
        let mut out = format!("stages = \"{stages}\"\nwakeups = \"{wakeups}\"\n");
        let mut table = "";
        for e in ENTRIES {
            if e.table != table {
                table = e.table;
                out.push_str(&format!("\n[{table}]\n"));
            }
            out.push_str(&format!("{} = \"{}\"\n", e.key, units::show(*(e.get)(&mut costs), e.units)));
        }
        out
    }
}

/// What a word of a cost file stands for.
fn one_of<T: Copy, const N: usize>(v: &Value<'_, '_>, words: &[(&str, T); N], fault: &str) -> Result<T> {
    let word = v.str(&format!("\"{}\"", words[0].0))?;
    words.iter().find(|w| w.0 == word).map(|w| w.1).ok_or_else(|| {
        v.error(format!("{fault} `{word}`")).help(did_you_mean(word, &words.each_ref().map(|w| w.0)))
    })
}

/// The word that stands for it.
fn word_of<T: PartialEq>(words: &[(&'static str, T)], meaning: T) -> &'static str {
    words.iter().find(|w| w.1 == meaning).map_or("", |w| w.0)
}

#[cfg(test)]
mod tests;
