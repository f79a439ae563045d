// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Components that come while the program runs (source 0, 7.4.1; docs/decisions/0019).
//!
//! A plugin is a shared object that weir-glue's generated unit makes of a component's file. It is looked at as a file first
//! ([`crate::elf`]); only what passes is mapped. Its class id is one of a few that stand behind the built-in ones, and it is
//! in the catalogue from then on, so that everything that knows components knows it as well.

use std::ffi::c_void;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::catalog::{Catalog, ComponentInfo, Kernel, OwnTopic};
use crate::classes;
use crate::elf;
use crate::ffi::{self, CClass, CPlugin};
use crate::topic::Topic;

/// `WEIR_MAX_LOADED`.
const SLOTS: usize = 16;
const MAX_PARAMS: u32 = 8;
/// `WEIR_HAS_STEP`.
const HAS_STEP: u32 = 1 << 7;
/// Largest file.
const MAX_BYTES: u64 = 16 << 20;

/// A component in memory. Schedulers whose topology uses it hold on to it.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub name: String,
    class: CClass,
    kernel: Option<Arc<KernelPart>>,
    /// Dropped last: nothing of it may be called after.
    _library: Library,
}

impl Loaded {
    pub fn class(&self) -> &CClass {
        &self.class
    }
}

/// A scheduler for the kernel that has a loaded component as well: what `component build --kernel` puts into the object.
#[derive(Debug)]
pub struct KernelPart {
    pub object: Vec<u8>,
    /// Functions of the component that the kernel side calls, as (component, function).
    pub entries: Vec<(String, String)>,
}

impl KernelPart {
    fn of(bytes: &[u8]) -> Option<Self> {
        let object = elf::section(bytes, ".weir.kernel")?.to_vec();
        let entries = String::from_utf8_lossy(elf::section(bytes, ".weir.entries")?).into_owned();
        let entries = entries.lines().filter_map(|l| l.split_once(' ')).map(|(c, f)| (c.into(), f.into()));
        Some(Self { object, entries: entries.collect() })
    }
}

/// The kernel's part of a component that was loaded, if it was built with one and may go there.
pub fn kernel_part(class: u16) -> Option<Arc<KernelPart>> {
    of_class(class)?.kernel.clone()
}

/// Was the component loaded, and does it set timers?
pub(crate) fn timed_classes() -> Vec<u16> {
    const HAS_TIMER: u32 = 1 << 2;
    let built_in = classes::nr_built_in();
    let timed = |s: &Option<Arc<Loaded>>| s.as_ref().is_some_and(|l| l.class.has & HAS_TIMER != 0);
    slots().iter().enumerate().filter(|(_, s)| timed(s)).map(|(i, _)| (built_in + i) as u16).collect()
}

/// Does the object in a file bring a part for the kernel? Such a one has to be loaded first: in that part its class is the one
/// behind the built-in ones.
pub fn has_kernel_part(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| elf::section(&bytes, ".weir.kernel").is_some())
}

/// Why a component was not loaded or unloaded: what is wrong, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    pub message: String,
    pub help: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LoadError {}

pub(crate) fn refuse(message: impl Into<String>, help: impl Into<String>) -> LoadError {
    LoadError { message: message.into(), help: help.into() }
}

/// Slots of all loaded components.
static SLOTS_IN_USE: Mutex<[Option<Arc<Loaded>>; SLOTS]> = Mutex::new([const { None }; SLOTS]);

/// Faults of loaded components are caught from the first one on.
static GUARD: Once = Once::new();

fn slots() -> MutexGuard<'static, [Option<Arc<Loaded>>; SLOTS]> {
    SLOTS_IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Classes of the slots, empty where there is none.
pub(crate) fn classes() -> Vec<CClass> {
    slots().iter().map(|s| s.as_ref().map_or_else(CClass::default, |l| l.class)).collect()
}

/// The component of a class id, if it was loaded.
pub(crate) fn of_class(class: u16) -> Option<Arc<Loaded>> {
    let slot = usize::from(class).checked_sub(classes::nr_built_in())?;
    slots().get(slot)?.clone()
}

/// Is this the class of a component that was loaded? The kernel's side does not have it.
pub fn is_loaded(class: u16) -> bool {
    usize::from(class) >= classes::nr_built_in()
}

/// Would an object with these contents be mapped? Its description is looked at only by [`load`].
///
/// # Errors
/// As [`load`].
pub fn inspect(bytes: &[u8]) -> Result<(), LoadError> {
    // SAFETY: a constant of the generated unit.
    elf::check(bytes, unsafe { ffi::weir_abi })
}

/// Load the component in a file; its description.
///
/// # Errors
/// The file is not a component for this program: another version, foreign symbols, a wrong description, a name that is taken.
pub fn load(path: &Path) -> Result<ComponentInfo, LoadError> {
    let shown = path.display();
    let read = |e: std::io::Error| refuse(format!("cannot read `{shown}`: {e}"), "check the path");
    let meta = std::fs::metadata(path).map_err(read)?;
    if !meta.is_file() || meta.len() > MAX_BYTES {
        return Err(refuse(format!("`{shown}` is not a file of at most 16 MiB"), "name a shared object"));
    }
    let bytes = std::fs::read(path).map_err(read)?;
    inspect(&bytes).map_err(|e| refuse(format!("`{shown}` is refused: {}", e.message), e.help))?;

    let mut slots = slots();
    let Some(slot) = slots.iter().position(Option::is_none) else {
        return Err(refuse(format!("{SLOTS} components are loaded already"), "unload one first"));
    };
    let kernel = KernelPart::of(&bytes).map(Arc::new);
    let full = std::fs::canonicalize(path).map_err(read)?;
    // SAFETY: the file has no code that runs by itself (no initialisers, no other objects): `elf::check`.
    let library = unsafe { Library::open(Some(&full), RTLD_NOW | RTLD_LOCAL) }.map_err(|e| {
        refuse(format!("`{shown}` cannot be mapped: {e}"), "build it again for this computer")
    })?;
    // SAFETY: `elf::check` saw a data symbol of this name, with our magic and the hash of our headers.
    let plugin: *const CPlugin = unsafe {
        let symbol = library.get::<*const CPlugin>(b"weir_plugin\0");
        symbol.map_err(|e| refuse(e.to_string(), "build it again"))?.into_raw().cast()
    };
    // SAFETY: as above; constants as long as the library is mapped.
    let (p, descriptor) = unsafe { (&*plugin, &*(*plugin).descriptor) };
    let id = (classes::nr_built_in() + slot) as u16;
    let manual = classes::text(p.manual);
    let mut info = classes::described(id, descriptor, &p.entries, &shown.to_string(), &manual);
    match (&kernel, slot) {
        (Some(_), 0) => {}
        (Some(_), _) => {
            info.kernel = Kernel::Never("of the loaded components only the first one goes there".into());
        }
        (None, _) => {
            info.kernel = Kernel::Never(
                "it was built for simulations; `runweir component build --kernel` builds it for both".into(),
            );
        }
    }
    let kernel = kernel.filter(|_| slot == 0);
    sound(&info, descriptor, &p.entries)
        .map_err(|e| refuse(format!("`{shown}` is refused: {e}"), "mend its descriptor"))?;
    let catalog = classes::catalog();
    if let Some(other) = catalog.get(&info.name) {
        let message = format!("there is a component `{}` already ({})", info.name, other.source);
        return Err(refuse(message, "rename the file's component, or unload the other"));
    }
    // SAFETY: the table of imports has an entry for each function of the ABI, whose hash agrees.
    unsafe {
        let n = ffi::weir_nr_exports as usize;
        if p.nr_imports as usize != n {
            return Err(refuse(
                format!("`{shown}` is refused: it knows {} functions of {n}", p.nr_imports),
                "build it again",
            ));
        }
        std::ptr::copy_nonoverlapping((&raw const ffi::weir_exports).cast::<*const c_void>(), p.imports, n);
    }
    GUARD.call_once(|| {
        // SAFETY: handlers of signals; those before are called for what is not ours.
        unsafe { ffi::weir_guard_install() }
    });
    let mut class = CClass::default();
    // SAFETY: valid descriptor and record; nobody calls a scheduler that uses a free slot.
    unsafe {
        ffi::weir_host_class_of(descriptor, &p.entries, &mut class);
        ffi::weir_host_plugin(slot as u32, plugin);
    }
    slots[slot] = Some(Arc::new(Loaded { name: info.name.clone(), class, kernel, _library: library }));
    publish(&slots, Some(info.clone()));
    Ok(info)
}

/// Unload a component by its name.
///
/// # Errors
/// No such component was loaded, or a topology uses it.
pub fn unload(name: &str) -> Result<(), LoadError> {
    let mut slots = slots();
    let Some(slot) = slots.iter().position(|s| s.as_ref().is_some_and(|l| l.name == name)) else {
        return Err(refuse(format!("no component `{name}` was loaded"), "built-in components stay"));
    };
    if slots[slot].as_ref().is_some_and(|l| Arc::strong_count(l) > 1) {
        return Err(refuse(format!("a topology uses `{name}`"), "swap its instances for others first"));
    }
    // SAFETY: no scheduler has the class.
    unsafe { ffi::weir_host_plugin(slot as u32, std::ptr::null()) };
    slots[slot] = None;
    publish(&slots, None);
    Ok(())
}

/// A catalogue of what there is now. Slots without a component have an entry that nobody can name.
fn publish(slots: &[Option<Arc<Loaded>>; SLOTS], new: Option<ComponentInfo>) {
    let before = classes::catalog();
    let built_in = classes::nr_built_in();
    let mut components = before.components[..built_in].to_vec();
    let last = slots.iter().rposition(Option::is_some).map_or(0, |i| i + 1);
    for (i, slot) in slots.iter().take(last).enumerate() {
        let id = (built_in + i) as u16;
        let known = new.iter().chain(before.components.get(built_in + i)).find(|c| c.id == id);
        components.push(match (slot, known) {
            (Some(_), Some(info)) => info.clone(),
            _ => ComponentInfo {
                name: String::new(),
                id,
                summary: "(unloaded)".into(),
                ..before.components[0].clone()
            },
        });
    }
    classes::replace(Catalog { components });
}

/// The descriptor names the topics that there are functions for.
fn topics_agree(name: &str, d: &ffi::CDescriptor, e: &ffi::CEntries) -> Result<(), String> {
    for (said, there, words, functions) in [
        (d.listens, e.on | d.reviews, "listens to", &["on"][..]),
        (d.answers, e.answers, "answers", &["answer"][..]),
    ] {
        let odd = said ^ there;
        if odd == 0 {
            continue;
        }
        let own = classes::own_topics(d);
        let number = odd.trailing_zeros();
        let mine = number.checked_sub(classes::OWN_FIRST).and_then(|n| own.get(n as usize));
        let standard = Topic::ALL.get(number as usize).map(|t| t.name());
        let topic = mine.map(|t| t.name.as_str()).or(standard).unwrap_or("an unknown topic");
        let lower = topic.to_lowercase();
        let functions: Vec<String> = functions.iter().map(|f| format!("`{name}_{f}_{lower}`")).collect();
        let functions = functions.join(" or ");
        return Err(match said & odd & odd.wrapping_neg() {
            0 => format!("its descriptor does not say that it {words} {topic}, for which it has {functions}"),
            _ => format!("its descriptor says that it {words} {topic}, but there is no function {functions}"),
        });
    }
    match Topic::ALL.get((d.hears_all & !e.on).trailing_zeros() as usize) {
        Some(t) => {
            let function = format!("`{name}_on_{}`", t.name().to_lowercase());
            Err(format!(
                "its descriptor says `hears_all` of {}, but there is no function {function}",
                t.name()
            ))
        }
        None => Ok(()),
    }
}

/// The topics that a component brings along make sense.
pub(crate) fn own_topics_sound(d: &ffi::CDescriptor) -> Result<(), String> {
    const MAX_OWN: u32 = 4;
    const MAX_BYTES: u32 = 64;
    /// Numbers of standard topics, and room for more.
    const RESERVED: u64 = 1000;
    if d.nr_topics > MAX_OWN || (d.nr_topics > 0 && d.topics.is_null()) {
        return Err(format!("it brings {} topics along, and {MAX_OWN} are possible", d.nr_topics));
    }
    let used = d.listens | d.publishes | d.asks | d.needs | d.answers;
    let declared = ((1u64 << d.nr_topics) - 1) << classes::OWN_FIRST;
    let own = u64::MAX << classes::OWN_FIRST;
    if used & own & !declared != 0 {
        return Err("it names an own topic that it does not declare: add it to WEIR_TOPICS".into());
    }
    for t in classes::own_topics(d) {
        let word = t.name.starts_with(|c: char| c.is_ascii_uppercase())
            && t.name.len() < 24
            && t.name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        let name = t.name.escape_debug();
        if !word {
            return Err(format!("`{name}` is not a topic name: up to 23 of A-Z, 0-9 and _"));
        }
        if Topic::by_name(&t.name).is_some() {
            return Err(format!("its topic {name} has the name of a standard topic"));
        }
        if t.uuid < RESERVED {
            return Err(format!(
                "the UUID {} of its topic {name} is one of standard topics; draw one",
                t.uuid
            ));
        }
        if t.bytes % 8 != 0 || t.bytes > MAX_BYTES {
            return Err(format!(
                "the payload of its topic {name} has {} bytes: a multiple of 8, up to {MAX_BYTES}",
                t.bytes
            ));
        }
        if !t.fields.is_empty() && t.fields.len() * 8 != t.bytes as usize {
            return Err(format!("its topic {name} names {} words of {} bytes", t.fields.len(), t.bytes));
        }
        if t.from_users && t.fields.is_empty() && t.bytes > 0 {
            return Err(format!("programs may publish its topic {name}, whose words have no names"));
        }
        if !t.from_users && !t.from_components {
            return Err(format!("nobody may publish its topic {name}"));
        }
    }
    Ok(())
}

/// Components that have a topic in common mean the same by it.
fn known_topics(own: &[OwnTopic], all: &Catalog) -> Result<(), String> {
    for t in own {
        for c in &all.components {
            let Some(o) = c.topics.iter().find(|o| (o.name == t.name || o.uuid == t.uuid) && !o.is_same(t))
            else {
                continue;
            };
            return Err(format!(
                "its topic {} (UUID {:#x}, version {}, {} bytes) is not the {} of `{}` (UUID {:#x}, version {}, {} bytes): topics with the same name or UUID must be the same",
                t.name, t.uuid, t.version, t.bytes, o.name, c.name, o.uuid, o.version, o.bytes
            ));
        }
    }
    Ok(())
}

/// What a test sees to for built-in components: the description agrees with the code.
fn sound(info: &ComponentInfo, d: &ffi::CDescriptor, e: &ffi::CEntries) -> Result<(), String> {
    let word = |s: &str| {
        !s.is_empty()
            && s.len() < 64
            && s.starts_with(|c: char| c.is_ascii_lowercase())
            && s.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    if !word(&info.name) {
        return Err(format!("`{}` is not a component name", info.name.escape_debug()));
    }
    own_topics_sound(d)?;
    topics_agree(&info.name, d, e)?;
    known_topics(&info.topics, classes::catalog())?;
    if d.out_max > 0 && e.has & HAS_STEP == 0 {
        return Err(format!("it has out-pipes, but no function `{}_step` that fills them", info.name));
    }
    if d.needs & !d.asks != 0 {
        return Err("it needs a topic that it does not ask".into());
    }
    if d.nr_params > MAX_PARAMS || (d.nr_params > 0 && d.params.is_null()) {
        return Err(format!("it has {} parameters, and 8 are possible", d.nr_params));
    }
    for p in classes::params(d) {
        if !(p.min <= p.def && p.def <= p.max)
            || p.offset % 8 != 0
            || u64::from(p.offset) + 8 > u64::from(d.size)
        {
            return Err(format!("its parameter `{}` is out of range", classes::text(p.name)));
        }
    }
    let defaults: Vec<u64> = classes::params(d).iter().map(|p| p.def).collect();
    if let Some(broken) = classes::relations(d)?.iter().find(|r| !r.holds(&defaults)) {
        return Err(format!("the defaults of its parameters do not keep that {}", broken.rule));
    }
    if d.cls > 5
        || d.ordering > 2
        || d.in_min > d.in_max
        || d.out_min > d.out_max
        || d.size > 1 << 20
        || d.size < 64
    {
        return Err("its descriptor makes no sense".into());
    }
    Ok(())
}
