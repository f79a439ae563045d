// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The components linked into this program: descriptors read once, as catalogue and as class table.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::catalog::{
    self, Catalog, Class, ComponentInfo, Kernel, OwnTopic, ParamInfo, PortLabel, Relation, RelationKind, Unit,
};
use crate::ffi::{self, CClass, CDescriptor, CEntries};
use crate::sched::Topic;

include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// All components, in class-id order: the built-in ones, and behind them those that were loaded.
pub fn catalog() -> &'static Catalog {
    let now = CATALOG.load(Ordering::Acquire);
    if now.is_null() {
        // SAFETY: the first thread sets it; a catalogue lives for ever.
        return unsafe { &*first() };
    }
    // SAFETY: set by `replace` to a catalogue that lives for ever.
    unsafe { &*now }
}

/// The catalogue in force; null until somebody asks.
static CATALOG: AtomicPtr<Catalog> = AtomicPtr::new(std::ptr::null_mut());

fn first() -> *mut Catalog {
    let components = descriptors().enumerate().map(|(id, (d, e))| info(id as u16, d, e)).collect();
    let made = Box::into_raw(Box::new(Catalog { components }));
    let null = std::ptr::null_mut();
    match CATALOG.compare_exchange(null, made, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => made,
        Err(other) => {
            // SAFETY: nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
            other
        }
    }
}

/// Let another catalogue be in force. The old one stays in memory, as others may hold it; loading is rare.
pub(crate) fn replace(catalog: Catalog) {
    CATALOG.store(Box::into_raw(Box::new(catalog)), Ordering::Release);
}

/// Number of built-in components.
pub(crate) fn nr_built_in() -> usize {
    // SAFETY: a constant of the generated unit.
    unsafe { ffi::weir_nr_descriptors as usize }
}

/// The table of the built-in components.
pub(crate) fn built_in() -> Vec<CClass> {
    let mut classes = vec![CClass::default(); nr_built_in()];
    // SAFETY: the table has room for every class.
    unsafe { ffi::weir_host_classes(classes.as_mut_ptr()) };
    classes
}

/// The table that the core copies into its arena, with room for classes to come.
pub fn class_table() -> Vec<CClass> {
    let mut classes = built_in();
    classes.extend(crate::loaded::classes());
    classes
}

/// Ids of the components that set timers.
pub fn classes_with_timer() -> Vec<u16> {
    const HAS_TIMER: u32 = 1 << 2;
    let timed = descriptors().enumerate().filter(|(_, (_, e))| e.has & HAS_TIMER != 0);
    timed.map(|(i, _)| i as u16).chain(crate::loaded::timed_classes()).collect()
}

fn descriptors() -> impl Iterator<Item = (&'static CDescriptor, &'static CEntries)> {
    // SAFETY: both generated tables have `weir_nr_descriptors` entries and are constant.
    (0..unsafe { ffi::weir_nr_descriptors } as usize).map(|i| unsafe {
        let d = *(&raw const ffi::weir_descriptors).cast::<*const CDescriptor>().add(i);
        (&*d, &*(&raw const ffi::weir_entries).cast::<CEntries>().add(i))
    })
}

pub(crate) fn text(p: *const c_char) -> String {
    if p.is_null() {
        return String::new();
    }
    // SAFETY: descriptors hold string literals.
    unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned()
}

pub(crate) fn params(d: &CDescriptor) -> &[ffi::CParam] {
    if d.nr_params == 0 {
        return &[];
    }
    // SAFETY: WEIR_PARAMS derives the count from the array itself.
    unsafe { std::slice::from_raw_parts(d.params, d.nr_params as usize) }
}

/// Relations of a component's parameters.
///
/// # Errors
/// One of them is not between two parameters, or of no known kind.
pub(crate) fn relations(d: &CDescriptor) -> Result<Vec<Relation>, String> {
    if d.nr_relations == 0 {
        return Ok(Vec::new());
    }
    if d.relations.is_null() {
        return Err("its relations of parameters are nowhere".into());
    }
    // SAFETY: WEIR_RELATIONS derives the count from the array itself.
    let all = unsafe { std::slice::from_raw_parts(d.relations, d.nr_relations as usize) };
    let one = |r: &ffi::CRelation| {
        let at = |offset: u32| params(d).iter().position(|p| p.offset == offset);
        let (Some(a), Some(b)) = (at(r.a), at(r.b)) else {
            return Err("a relation is not between two of its parameters".to_owned());
        };
        let (x, y) = (text(params(d)[a].name), text(params(d)[b].name));
        let (kind, rule) = match r.kind {
            0 => (RelationKind::Less, format!("`{x}` is below `{y}`")),
            1 => (RelationKind::AtMost, format!("`{x}` is at most `{y}`")),
            2 => (RelationKind::OneOf, format!("`{x}` or `{y}` is not 0")),
            _ => return Err("a relation of its parameters is of no known kind".to_owned()),
        };
        Ok(Relation { kind, of: (a, b), rule, why: text(r.why) })
    };
    all.iter().map(one).collect()
}

/// The parameter of a class at an offset of its state, which is how the core names it.
pub(crate) fn param_at(class: u16, offset: u32) -> Option<String> {
    let table = class_table();
    let at = table.get(usize::from(class))?;
    let k = at.param_offset[..at.nr_params as usize].iter().position(|o| *o == offset)?;
    catalog().class(class)?.params.get(k).map(|p| p.name.clone())
}

/// First number of a component's own topics, `WEIR_OWN_FIRST`.
pub(crate) const OWN_FIRST: u32 = 60;

/// Names of topics, of which those from [`OWN_FIRST`] on are the component's own.
fn topics(bits: u64, own: &[OwnTopic]) -> Vec<String> {
    let mine = (OWN_FIRST..).zip(own).filter(|(n, _)| bits >> n & 1 == 1).map(|(_, t)| t.name.clone());
    let standard = Topic::all().filter(|t| bits >> (*t as u32) & 1 == 1).map(|t| t.name().to_owned());
    standard.chain(mine).collect()
}

/// Topics that a component brings along.
pub(crate) fn own_topics(d: &CDescriptor) -> Vec<OwnTopic> {
    if d.nr_topics == 0 || d.topics.is_null() {
        return Vec::new();
    }
    // SAFETY: WEIR_TOPICS derives the count from the array itself.
    let all = unsafe { std::slice::from_raw_parts(d.topics, d.nr_topics as usize) };
    let one = |t: &ffi::COwnTopic| OwnTopic {
        name: text(t.name),
        help: text(t.help),
        uuid: t.uuid,
        version: t.version,
        bytes: t.bytes,
        fields: text(t.fields).split_whitespace().map(str::to_owned).collect(),
        from_users: t.from & 2 != 0,
        from_components: t.from & 1 != 0,
    };
    all.iter().map(one).collect()
}

fn info(id: u16, d: &CDescriptor, e: &CEntries) -> ComponentInfo {
    let name = text(d.name);
    let (_, source, manual) = SOURCES.iter().find(|s| s.0 == name).copied().unwrap_or(("", "", ""));
    described(id, d, e, source, manual)
}

/// What a manual says behind a tag, without the word `never` or `no`.
fn said<'m>(manual: &'m str, tag: &str) -> Option<&'m str> {
    let tag = format!("{tag}:");
    let rest = manual.lines().find_map(|l| l.trim().strip_prefix(tag.as_str()))?.trim();
    Some(
        rest.strip_prefix("never")
            .or_else(|| rest.strip_prefix("no"))
            .unwrap_or(rest)
            .trim_start_matches([',', ' ']),
    )
}

/// What tools may know of a component.
pub(crate) fn described(id: u16, d: &CDescriptor, e: &CEntries, source: &str, manual: &str) -> ComponentInfo {
    let own = own_topics(d);
    ComponentInfo {
        id,
        class: match d.cls {
            0 => Class::Filter,
            1 => Class::Order,
            2 => Class::Distribute,
            3 => Class::Merge,
            4 => Class::Annotate,
            _ => Class::Service,
        },
        ordering: match d.ordering {
            0 => catalog::Ordering::Keep,
            1 => catalog::Ordering::Stable,
            _ => catalog::Ordering::Total,
        },
        summary: text(d.summary),
        ins: (d.in_min, d.in_max),
        outs: (d.out_min, d.out_max),
        out_label: if d.out_label == 1 { PortLabel::Isa } else { PortLabel::None },
        params: params(d).iter().map(param).collect(),
        // Of a loaded component they were looked at.
        relations: relations(d).unwrap_or_default(),
        listens: topics(e.on | d.reviews, &own),
        publishes: topics(d.publishes, &own),
        asks: topics(d.asks | d.needs, &own),
        needs: topics(d.needs, &own),
        answers: topics(e.answers, &own),
        topics: own,
        per_task: d.per_task,
        keyed_out: d.keyed_out != 0,
        kernel: match d.kernel {
            0 => Kernel::Always,
            1 => Kernel::OnRequest,
            _ => Kernel::Never(said(manual, "kernel").unwrap_or("its manual does not say why").to_owned()),
        },
        manual: manual.to_owned(),
        source: source.to_owned(),
        name: text(d.name),
    }
}

fn param(p: &ffi::CParam) -> ParamInfo {
    ParamInfo {
        name: text(p.name),
        unit: match p.unit {
            0 => Unit::Ns,
            1 => Unit::Count,
            2 => Unit::Pct,
            3 => Unit::Bytes,
            _ => Unit::Flag,
        },
        default: p.def,
        min: p.min,
        max: p.max,
        help: text(p.help),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Facts of the descriptor that the generator also sees in the code must agree.
    #[test]
    fn descriptors_state_what_the_code_does() {
        for (d, e) in descriptors() {
            let name = text(d.name);
            assert_eq!(d.listens, e.on | d.reviews, "{name}: listens");
            assert_eq!(d.hears_all & !e.on, 0, "{name}: hears_all is part of what it subscribes to");
            assert_eq!(d.answers, e.answers, "{name}: answers");
            assert_eq!(crate::loaded::own_topics_sound(d), Ok(()), "{name}");
            assert_eq!(d.needs & !d.asks, 0, "{name}: needs is part of asks");
            let defaults: Vec<u64> = params(d).iter().map(|p| p.def).collect();
            for r in relations(d).expect(&name) {
                assert!(r.holds(&defaults) && !r.why.is_empty(), "{name}: {}: the defaults keep it", r.rule);
            }
            for p in params(d) {
                assert!(p.min <= p.def && p.def <= p.max, "{name}.{}: default in range", text(p.name));
                assert!(p.offset % 8 == 0 && p.offset + 8 <= d.size, "{name}.{}: a u64 field", text(p.name));
            }
        }
    }

    /// The tag in the manual is the descriptor's field.
    #[test]
    fn manuals_say_when_the_kernel_loads_a_component() {
        let mut requested = 0;
        for c in &catalog().components {
            let tag = said(&c.manual, "kernel");
            match &c.kernel {
                Kernel::Always => assert_eq!(tag, None, "{}", c.name),
                Kernel::OnRequest => assert_eq!(tag, Some("on request"), "{}", c.name),
                Kernel::Never(why) => assert!(tag.is_some() && !why.is_empty(), "{}", c.name),
            }
            requested += usize::from(c.on_request());
        }
        assert!(requested >= 10, "the search for the tag finds nothing");
    }

    /// A component of more than 250 lines says why it is one.
    #[test]
    fn long_components_say_why() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for c in catalog().components.iter().filter(|c| c.source.starts_with("components/")) {
            let text = std::fs::read_to_string(root.join(&c.source)).expect("it was compiled");
            let long = text.lines().count() > 250;
            assert_eq!(said(&c.manual, "long").is_some(), long, "{}: split it, or write why not", c.source);
        }
    }

    /// What has one name or one UUID is one topic, whichever components bring it along.
    #[test]
    fn components_agree_about_the_topics_that_they_share() {
        let all: Vec<_> =
            catalog().components.iter().flat_map(|c| c.topics.iter().map(|t| (&c.name, t))).collect();
        assert!(all.iter().any(|(c, t)| *c == "tenant" && t.name == "TENANT" && t.fields == ["tenant"]));
        for (a, t) in &all {
            for (b, o) in all.iter().filter(|(_, o)| o.name == t.name || o.uuid == t.uuid) {
                assert!(t.is_same(o), "{} of {a} is not {} of {b}", t.name, o.name);
            }
        }
    }

    #[test]
    fn every_component_has_a_manual_that_begins_with_its_summary() {
        for c in &catalog().components {
            let first = c.manual.lines().next().unwrap_or_default();
            assert_eq!(first, format!("{} - {}", c.name, c.summary), "{}", c.source);
        }
    }
}
