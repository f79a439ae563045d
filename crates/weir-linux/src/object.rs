// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The object for the kernel: loading it, finding its memory, attaching it.

use std::any::Any;
use std::collections::BTreeSet;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{DataSec, Struct, Var};
use libbpf_rs::{
    AsRawLibbpf, Link, MapCore, MapFlags, MapMut, Object, ObjectBuilder, OpenObject, PrintLevel, ProgramType,
    RingBuffer, RingBufferBuilder,
};

use weir_core::{ComponentInfo, Topic, catalog, classes_with_timer, loaded};
use weir_text::packed;

use crate::diagnose::{self, System};
use crate::error::{Error, ErrorKind, Result};
use crate::event::LiveEvent;
use crate::layout::Live;
use crate::live::Selection;
use crate::memory::{Memory, Shared};
use crate::pmu::{Counters, FIELDS};
use crate::prune::{Calls, Part};

#[cfg(weir_no_clang)]
compile_error!(
    "weir-linux compiles the scheduler for the kernel with clang 19 or newer; on Debian: apt-get install clang-19; on Fedora: dnf install clang; \
     on Arch: pacman -S clang. `make demo` builds without it"
);

/// Compiled from `runtimes/linux/weir.bpf.c` by the build script.
#[cfg(not(weir_no_clang))]
pub(crate) static OBJECT: LazyLock<Vec<u8>> =
    LazyLock::new(|| packed::unpack(include_bytes!(concat!(env!("OUT_DIR"), "/weir.bpf.o.z"))));
#[cfg(weir_no_clang)]
pub(crate) static OBJECT: LazyLock<Vec<u8>> = LazyLock::new(Vec::new);

const PAGE: u64 = 4096;
/// The object's sources, by path: an installed program compiles it again with a component of the user.
pub fn sources() -> Vec<(String, String)> {
    packed::unpack_texts(include_bytes!(concat!(env!("OUT_DIR"), "/sources.z")))
}

/// Most bytes that an arena can have.
pub(crate) const MAX_ARENA: u64 = 1 << 32;

/// Instances that may have timers in the kernel: those of a large topology for each CPU, and its common ones.
pub(crate) fn max_timers(nr_cpus: u32) -> u32 {
    1024 + 64 * nr_cpus
}

/// The object with the components that `selection` names or has room for, and which these are, for a kernel that
/// grants a chain of calls `max_frames` functions; `counted`: counters may be published.
pub(crate) fn with_components(
    selection: &Selection,
    counted: bool,
    max_frames: usize,
) -> Result<(Vec<u8>, BTreeSet<u16>)> {
    let all = &catalog().components;
    let class = |id: &u16| catalog().class(*id).map(|c| c.name.as_str());
    // A component that was loaded with its part for the kernel: that part is the whole scheduler.
    let own = all.iter().find_map(|c| loaded::kernel_part(c.id).map(|part| (c, part)));
    let mut wanted: BTreeSet<&str> = selection.classes.iter().filter_map(class).collect();
    if let Some((component, _)) = own.as_ref().filter(|_| !selection.only) {
        wanted.insert(&component.name);
    }
    let needed = own.filter(|(component, _)| wanted.contains(component.name.as_str()));
    let (object, entries): (&[u8], &[(String, String)]) = match &needed {
        Some((_, part)) => (&part.object, &part.entries),
        None => (OBJECT.as_slice(), &[]),
    };
    let free = |c: &&ComponentInfo| {
        c.source.ends_with(".c")
            && c.not_in_kernel().is_none()
            && !c.on_request()
            && !wanted.contains(c.name.as_str())
    };
    let others: Vec<&str> = match selection.only {
        true => Vec::new(),
        false => all.iter().filter(free).map(|c| c.name.as_str()).collect(),
    };
    let calls = Calls::of(object, entries)?;
    let chosen = calls.choose(&wanted, &others, max_frames)?;
    let chosen_all = || all.iter().filter(|c| chosen.contains(c.name.as_str()));
    let needed = [
        (Part::Tick, chosen_all().any(|c| c.listens_to(Topic::Tick))),
        (Part::Counters, counted),
        (Part::Timers, chosen_all().any(|c| classes_with_timer().contains(&c.id))),
    ];
    let parts = needed.into_iter().filter(|(_, is_needed)| *is_needed).map(|(part, _)| part).collect();
    Ok((calls.keep(object, &chosen, &parts), chosen_all().map(|c| c.id).collect()))
}

/// libbpf's output; it has one printer for the whole process.
static LOG: Mutex<String> = Mutex::new(String::new());
/// Where it stops being kept: the log of a verifier can be long.
const MAX_LOG: usize = 64 << 20;

fn keep(_: PrintLevel, text: String) {
    let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    if log.len() + text.len() <= MAX_LOG {
        log.push_str(&text);
    }
}

fn take_log() -> String {
    std::mem::take(&mut *LOG.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Loaded into the kernel, not yet in charge.
pub(crate) struct Loaded {
    /// Shared with readers of its memory, which goes with it.
    object: Arc<Mutex<Object>>,
    pub memory: Memory,
    pub shared: Shared,
    /// What this kernel does not report of control groups, and why.
    pub unsupported: Vec<(Topic, &'static str)>,
}

/// Kernel resources, released when this is dropped, the scheduler first.
pub(crate) struct Attached {
    _scheduler: Link,
    /// Report which CPUs higher classes have, and which are about to go.
    _watches: Vec<Link>,
}

/// Counters for the kernel side, and the cache level of its log of counts; 0: none.
#[derive(Clone, Copy)]
pub(crate) struct Counted<'a> {
    pub counters: &'a Counters,
    pub log_level: u32,
}

impl Loaded {
    /// Load `code` with an arena of `bytes`; with `counters`, the kernel side reads them.
    pub fn load(
        code: &[u8],
        bytes: u64,
        counters: Option<Counted<'_>>,
        nr_cpus: u32,
        system: &dyn System,
    ) -> Result<Self> {
        libbpf_rs::set_print(Some((PrintLevel::Info, keep)));
        take_log();
        let failed = |e: &libbpf_rs::Error| {
            let log = take_log();
            diagnose::load_failure(&log, errno(e), &|| save(&log), system)
        };
        let mut open = ObjectBuilder::default()
            .name("weir")
            .and_then(|b| b.open_memory(code))
            .map_err(|e| Error::bug(format!("the scheduler's object cannot be read: {e}")))?;
        let pages = u32::try_from(bytes / PAGE).map_err(|_| Error::bug("an arena beyond 4 GiB"))?;
        for (name, entries) in [("arena", pages), ("timers", max_timers(nr_cpus))] {
            open.maps_mut()
                .find(|m| m.name() == name)
                .ok_or_else(|| Error::bug(format!("the scheduler's object has no map `{name}`")))?
                .set_max_entries(entries)
                .map_err(|e| Error::bug(format!("the size of the map `{name}`: {e}")))?;
        }
        let known = known_calls();
        clear_unknown_calls(&mut open, &known)?;
        if let Some(counted) = &counters {
            look_at_counters(&mut open, code, nr_cpus, counted.log_level)?;
        }
        let mut object = open.load().map_err(|e| failed(&e))?;
        if let Some(Counted { counters, .. }) = counters {
            let table = map(&mut object, "perf_events")?;
            for (place, event) in &counters.events {
                table
                    .update(&place.to_ne_bytes(), &event.as_raw_fd().to_ne_bytes(), MapFlags::ANY)
                    .map_err(|e| Error::bug(format!("a counter cannot be handed to the kernel side: {e}")))?;
            }
        }
        let memory = arena_memory(&mut object, u64::from(pages) * PAGE)?;
        let shared = global_record(&mut object)?;
        Ok(Self { object: Arc::new(Mutex::new(object)), memory, shared, unsupported: unsupported(&known) })
    }

    fn object(&self) -> MutexGuard<'_, Object> {
        self.object.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As long as the result exists, so do arena and global data.
    pub fn keep(&self) -> Arc<dyn Any + Send + Sync> {
        self.object.clone()
    }

    /// Be in charge of the machine's tasks until the result is dropped.
    pub fn attach(&self, system: &dyn System) -> Result<Attached> {
        take_log();
        let mut object = self.object();
        let mut map = map(&mut object, "weir_ops")?;
        let scheduler = map.attach_struct_ops().map_err(|e| {
            let exit = crate::event::comm(&self.shared.head().exit_msg);
            match exit.is_empty() {
                true => diagnose::attach_failure(errno(&e), &take_log(), system),
                false => Error::new(
                    ErrorKind::Internal,
                    format!("the kernel accepted the scheduler and ejected it at once: {exit}"),
                    "the kernel's log says more: dmesg | grep sched_ext",
                ),
            }
        })?;
        let watches = object
            .progs_mut()
            .filter(|p| p.prog_type() == ProgramType::Tracing)
            .map(|p| {
                p.attach().map_err(|e| {
                    Error::io(
                        "watch context switches and CPUs that come and go",
                        &std::io::Error::from_raw_os_error(errno(&e)),
                        "does this kernel have CONFIG_BPF_EVENTS?",
                    )
                })
            })
            .collect::<Result<_>>()?;
        Ok(Attached { _scheduler: scheduler, _watches: watches })
    }

    /// A reader of the event ring that passes each event to `sink`.
    pub fn events(&self, mut sink: impl FnMut(&LiveEvent) + 'static) -> Result<RingBuffer<'static>> {
        let mut object = self.object();
        let map = map(&mut object, "events")?;
        let mut ring = RingBufferBuilder::new();
        let take = move |record: &[u8]| {
            if let Some(event) = LiveEvent::decode(record) {
                sink(&event);
            }
            0
        };
        ring.add(&map, take).map_err(|e| Error::bug(format!("the event ring cannot be read: {e}")))?;
        ring.build().map_err(|e| Error::bug(format!("the event ring cannot be read: {e}")))
    }
}

fn map<'a>(object: &'a mut Object, name: &str) -> Result<MapMut<'a>> {
    object
        .maps_mut()
        .find(|m| m.name() == name)
        .ok_or_else(|| Error::bug(format!("the scheduler's object has no map `{name}`")))
}

/// Calls of the kernel that not each has, first in our `struct sched_ext_ops` (`runtimes/linux/kernel.h`).
const OPTIONAL: [&str; 5] =
    ["cgroup_init", "cgroup_exit", "cgroup_move", "cgroup_set_weight", "cgroup_set_bandwidth"];

/// Of these, the ones that this kernel has; it says nothing of its types: all.
fn known_calls() -> Vec<bool> {
    let kernel = Btf::from_vmlinux().ok();
    let ops = kernel.as_ref().and_then(|btf| btf.type_by_name::<Struct<'_>>("sched_ext_ops"));
    let known =
        |name: &&str| ops.as_ref().is_none_or(|o| o.iter().any(|m| m.name.is_some_and(|n| n == *name)));
    OPTIONAL.iter().map(known).collect()
}

/// What this kernel does not report of control groups, and why.
fn unsupported(known: &[bool]) -> Vec<(Topic, &'static str)> {
    let groups = (Topic::Group, "this kernel has no control groups for sched_ext (CONFIG_EXT_GROUP_SCHED)");
    let limits = (Topic::Limit, "this kernel does not report limits of control groups (Linux 6.17 does)");
    [groups, limits]
        .into_iter()
        .zip([known[0], known[OPTIONAL.len() - 1]])
        .filter(|(_, k)| !k)
        .map(|(t, _)| t)
        .collect()
}

/// libbpf would refuse a call that the kernel does not make.
fn clear_unknown_calls(open: &mut OpenObject, known: &[bool]) -> Result<()> {
    let gone = || Error::bug("the scheduler's object has no table of calls");
    let mut map = open.maps_mut().find(|m| m.name() == "weir_ops").ok_or_else(gone)?;
    let table = map.initial_value_mut().ok_or_else(gone)?;
    let pointer = size_of::<usize>();
    for (i, _) in known.iter().enumerate().filter(|(_, known)| !**known) {
        table.get_mut(i * pointer..(i + 1) * pointer).ok_or_else(gone)?.fill(0);
    }
    Ok(())
}

/// Room for the events of all CPUs, and the words that keep the code for them.
fn look_at_counters(open: &mut OpenObject, code: &[u8], nr_cpus: u32, log_level: u32) -> Result<()> {
    let gone = || Error::bug("the scheduler's object does not describe what keeps the code for counters");
    let btf = Btf::from_raw("weir", code).ok().flatten().ok_or_else(gone)?;
    let at = |name| offset_of(&btf, ".rodata", name).map(|(at, _)| at as usize).ok_or_else(gone);
    let words = [(at("weir_linux_pmu")?, 1), (at("weir_linux_log")?, log_level)];
    for mut map in open.maps_mut() {
        if map.name() == "perf_events" {
            map.set_max_entries(FIELDS.len() as u32 * nr_cpus)
                .map_err(|e| Error::bug(format!("the table of counters: {e}")))?;
        } else if map.name().to_string_lossy().ends_with(".rodata") {
            let value = map.initial_value_mut().ok_or_else(gone)?;
            for (at, word) in words {
                value.get_mut(at..at + 4).ok_or_else(gone)?.copy_from_slice(&word.to_ne_bytes());
            }
        }
    }
    Ok(())
}

/// Positive number of libbpf's error, 0 if it has none.
fn errno(e: &libbpf_rs::Error) -> i32 {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(e);
    while let Some(e) = source {
        if let Some(io) = e.downcast_ref::<std::io::Error>()
            && let Some(n) = io.raw_os_error()
        {
            return n.abs();
        }
        source = e.source();
    }
    match e.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => libc::EPERM,
        libbpf_rs::ErrorKind::OutOfMemory => libc::ENOMEM,
        _ => libc::EINVAL,
    }
}

/// The whole log into a file, where it is of any length.
fn save(log: &str) -> Option<PathBuf> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    if log.is_empty() {
        return None;
    }
    let path = std::env::temp_dir().join(format!("runweir-load-{}.log", std::process::id()));
    // Never through somebody else's link: the folder is everybody's.
    let _ = std::fs::remove_file(&path);
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).ok()?;
    file.write_all(log.as_bytes()).ok()?;
    Some(path)
}

/// libbpf maps the arena at the address that the object asks for: the same as the kernel side's.
fn arena_memory(object: &mut Object, bytes: u64) -> Result<Memory> {
    let map = map(object, "arena")?;
    let mut size = 0;
    // SAFETY: a loaded map; `size` is written.
    let at = unsafe { libbpf_sys::bpf_map__initial_value(map.as_libbpf_object().as_ptr(), &mut size) };
    if at.is_null() {
        return Err(Error::bug("the arena is not mapped"));
    }
    // SAFETY: a loaded map.
    let wanted = unsafe { libbpf_sys::bpf_map__map_extra(map.as_libbpf_object().as_ptr()) };
    // The address is that of the object's own data in the arena, of which it has none: the pages begin or end there.
    if !(wanted..=wanted + bytes).contains(&(at as u64)) {
        return Err(Error::bug(format!("the arena is at {at:p} instead of {wanted:#x}")));
    }
    // SAFETY: libbpf maps the whole arena there, until the object is dropped.
    Ok(unsafe { Memory::new(wanted, bytes) })
}

/// Where the variable `weir_live` stands among the global data.
fn global_record(object: &mut Object) -> Result<Shared> {
    let offset = offset_of_global(object, "weir_live")?;
    let map = object
        .maps_mut()
        .find(|m| m.name().to_string_lossy().ends_with(".bss"))
        .ok_or_else(|| Error::bug("the scheduler's object has no global data"))?;
    let mut size = 0;
    // SAFETY: a loaded map; `size` is written.
    let at = unsafe { libbpf_sys::bpf_map__initial_value(map.as_libbpf_object().as_ptr(), &mut size) };
    if at.is_null() || offset as usize + size_of::<Live>() > size as usize {
        return Err(Error::bug("the scheduler's global data is not as expected"));
    }
    // SAFETY: in bounds of the mapping, which lives as long as the object.
    Ok(unsafe { Shared::new(at.cast::<u8>().add(offset as usize).cast::<Live>()) })
}

/// Offset and size of a variable in a section.
fn offset_of(btf: &Btf<'_>, section: &str, name: &str) -> Option<(u32, usize)> {
    let section = btf.type_by_name::<DataSec<'_>>(section)?;
    section
        .iter()
        .find(|v| btf.type_by_id::<Var<'_>>(v.ty).and_then(|t| t.name()).is_some_and(|n| n == name))
        .map(|v| (v.offset, v.size))
}

fn offset_of_global(object: &Object, name: &str) -> Result<u32> {
    let gone = || Error::bug(format!("the scheduler's object does not describe `{name}`"));
    let btf = object.btf().ok().flatten().ok_or_else(gone)?;
    match offset_of(&btf, ".bss", name) {
        Some((offset, size)) if size == size_of::<Live>() => Ok(offset),
        Some((_, size)) => Err(Error::bug(format!(
            "the kernel side's record has {size} bytes, the loader's {}",
            size_of::<Live>()
        ))),
        None => Err(gone()),
    }
}

#[cfg(test)]
mod tests {
    use std::iter::successors;

    use libbpf_rs::btf::types::{Func, FuncProto};
    use libbpf_rs::btf::{BtfKind, BtfType, ReferencesType};
    use object::read::elf::ElfFile64;
    use object::{LittleEndian, Object as _, ObjectSymbol};

    use super::*;
    use crate::prune::MAX_FRAMES;

    /// Facts about the object that need no kernel to load it.
    #[test]
    fn the_object_is_as_the_loader_expects() {
        let object = ObjectBuilder::default().open_memory(&OBJECT).expect("an object");
        let names: Vec<String> = object.maps().map(|m| m.name().to_string_lossy().into_owned()).collect();
        for name in ["arena", "events", "perf_events", "timers", "weir_ops"] {
            assert!(names.iter().any(|n| n == name), "{name} in {names:?}");
        }
        let btf = Btf::from_raw("weir", &OBJECT).expect("readable").expect("has BTF");
        let size = offset_of(&btf, ".bss", "weir_live").map(|(_, size)| size);
        assert_eq!(size, Some(size_of::<Live>()));
        assert!(offset_of(&btf, ".rodata", "weir_linux_pmu").is_some());
    }

    /// libbpf finds no function of the kernel's whose arguments are of incomplete types here, and a weak one would be
    /// absent from every kernel without a word.
    #[test]
    fn functions_of_the_kernel_are_declared_in_full() {
        let btf = Btf::from_raw("weir", &OBJECT).expect("readable").expect("has BTF");
        let elf = ElfFile64::<LittleEndian>::parse(OBJECT.as_slice()).expect("an object");
        let wanted: BTreeSet<_> =
            elf.symbols().filter(|s| s.is_undefined()).filter_map(|s| s.name().ok()).collect();
        let functions: Vec<_> = btf
            .type_by_kind::<Func<'_>>()
            .filter(|f| f.name().and_then(|n| n.to_str()).is_some_and(|n| wanted.contains(n)))
            .collect();
        assert!(functions.len() >= 20, "{} functions", functions.len());
        for function in functions {
            let signature =
                FuncProto::try_from(function.referenced_type()).expect("a function has a signature");
            for argument in signature.iter() {
                let named = btf.type_by_id::<BtfType<'_>>(argument.ty);
                let last = successors(named, BtfType::next_type).last().expect("itself");
                assert_ne!(last.kind(), BtfKind::Fwd, "{:?}", function.name());
            }
        }
    }

    fn selection(names: &[&str], only: bool) -> Selection {
        let class = |n: &&str| catalog().get(n).expect("a component").id;
        Selection { classes: names.iter().map(class).collect(), only }
    }

    /// Each component that the kernel takes fits with all that an ordinary topology has, and is not called where
    /// nobody wants it.
    #[test]
    fn what_nobody_wants_is_left_out() {
        let (all, classes) = with_components(&selection(&["fcfs", "round_robin"], false), false, usize::MAX)
            .expect("an object");
        let (few, only) = with_components(&selection(&["fcfs", "round_robin"], true), false, usize::MAX)
            .expect("an object");
        assert_eq!(only.len(), 2);
        assert!(classes.is_superset(&only) && classes.len() > 30, "{} components", classes.len());
        assert_eq!(all.len(), OBJECT.len());
        let calls = |code: &[u8]| Calls::of(code, &[]).expect("readable").functions_of_all();
        assert!(calls(&few) < calls(&all), "{} and {}", calls(&few), calls(&all));
        assert!(calls(&all) <= crate::prune::MAX_FUNCTIONS);
        let there = |c: &&ComponentInfo| c.source.ends_with(".c") && c.not_in_kernel().is_none();
        let wanted: Vec<&ComponentInfo> = catalog().components.iter().filter(there).collect();
        for some in wanted.chunks(8) {
            let names: Vec<&str> =
                std::iter::once("fcfs").chain(some.iter().map(|c| c.name.as_str())).collect();
            let (_, with) = with_components(&selection(&names, false), false, usize::MAX).expect("an object");
            for c in some {
                assert!(with.contains(&c.id), "{}", c.name);
            }
        }
    }

    /// The catalogue's largest topology.
    #[test]
    fn push_pull_with_all_classes_fits() {
        let names = [
            "affinity",
            "cbs",
            "executed",
            "job",
            "policy",
            "priority",
            "weight",
            "fair",
            "latency",
            "throttle",
            "fair_balancer",
            "push_pull",
            "eevdf",
            "rt",
            "edf",
            "fair_server",
        ];
        let (_, chosen) = with_components(&selection(&names, true), false, usize::MAX).expect("it fits");
        assert_eq!(chosen.len(), names.len());
    }

    /// An older kernel takes what has short chains of calls, and says of the rest what it would need.
    #[test]
    fn chains_of_calls_are_short_enough_for_older_kernels() {
        let short = [
            "affinity",
            "load_balancer",
            "work_stealing",
            "round_robin",
            "fair_balancer",
            "eevdf",
            "edf",
            "llf",
        ];
        let (_, with) = with_components(&selection(&short, false), false, MAX_FRAMES).expect("an object");
        assert!(with.len() >= 30, "{} components: {with:?}", with.len());
        let refused = with_components(&selection(&["fcfs", "rbed", "u_edf"], true), false, MAX_FRAMES);
        let message = refused.expect_err("too deep").to_string();
        assert!(message.contains("`rbed`, `u_edf` would need chains of"), "{message}");
    }

    /// libbpf takes what is left.
    #[test]
    fn a_smaller_object_is_one() {
        let (few, _) = with_components(&selection(&["fcfs"], true), false, MAX_FRAMES).expect("an object");
        let object = ObjectBuilder::default().open_memory(&few).expect("an object");
        assert!(object.progs().any(|p| p.name() == "weir_dispatch"));
        // What attach() attaches by its kind: switches, and CPUs before and after a step.
        assert_eq!(
            object.progs().filter(|p| p.section().to_string_lossy().starts_with("tp_btf/")).count(),
            3
        );
    }
}
