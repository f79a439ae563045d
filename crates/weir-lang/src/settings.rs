// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Values of parameters: from the descriptor, from the text, from `--set`, in rising precedence.

use std::collections::BTreeMap;

use weir_core::{ParamInfo, Relation, RelationKind, Unit};

use crate::Set;
use crate::ast::{Arg, Formal, Value};
use crate::diag::{Sink, suggest};
use crate::source::{Source, Span};
use crate::units;

/// Parameters of the file or sub-topology around, with their values; `None` where a mistake in the
/// value was reported.
pub(crate) type Bound = BTreeMap<String, (Option<u64>, Unit)>;

/// Settable values: a component's parameters or a sub-topology's formals.
pub(crate) struct Slot {
    pub info: ParamInfo,
    /// `None`: must be given. `Some(None)`: its mistake was reported.
    pub default: Option<Option<u64>>,
}

impl Slot {
    pub fn of_component(params: &[ParamInfo]) -> Vec<Slot> {
        params.iter().map(|p| Slot { info: p.clone(), default: Some(Some(p.default)) }).collect()
    }

    /// Defaults of formals are literals; a mistake in one is reported.
    pub fn of_formals(formals: &[Formal], sink: &mut Sink) -> Vec<Slot> {
        let slot = |f: &Formal, sink: &mut Sink| Slot {
            default: f.default.as_ref().map(|v| value(v, f.unit, &Bound::new(), sink)),
            info: ParamInfo {
                name: f.name.text.clone(),
                unit: f.unit,
                default: 0,
                min: 0,
                max: u64::MAX,
                help: String::new(),
            },
        };
        formals.iter().map(|f| slot(f, sink)).collect()
    }
}

/// Read a value that stands in the text; `None` after a report.
pub(crate) fn value(v: &Value, unit: Unit, bound: &Bound, sink: &mut Sink) -> Option<u64> {
    if v.is_name {
        return match bound.get(&v.text) {
            Some((value, u)) if *u == unit => *value,
            Some((_, u)) => {
                let help =
                    format!("expected {}, `{}` is {}", units::spelling(unit), v.text, units::spelling(*u));
                sink.error("wrong-unit", v.span, format!("parameter `{}` has another unit", v.text))
                    .help(help);
                None
            }
            None => {
                let names: Vec<&str> = bound.keys().map(String::as_str).collect();
                let help = match names.is_empty() {
                    true => format!("expected {}", units::spelling(unit)),
                    false => suggest(&v.text, &names, "parameters known here"),
                };
                sink.error(
                    "wrong-unit",
                    v.span,
                    format!("`{}` is neither a value nor a known parameter", v.text),
                )
                .help(help);
                None
            }
        };
    }
    match units::parse(&v.text, unit) {
        Ok(value) => Some(value),
        Err(why) => {
            sink.error("wrong-unit", v.span, why).help(format!("expected {}", units::spelling(unit)));
            None
        }
    }
}

/// Something that has parameters.
pub(crate) struct Target<'t> {
    /// Its name in messages.
    pub what: &'t str,
    /// By what `--set` may call it.
    pub names: &'t [&'t str],
    pub slots: &'t [Slot],
    /// What must hold between these.
    pub relations: &'t [Relation],
    /// Where it stands.
    pub at: Span,
}

/// The `--set` options and what became of them.
pub(crate) struct Settings<'a> {
    sets: &'a [Set],
    /// Source number of the option as text, once it was needed for a finding.
    sources: Vec<Option<u16>>,
    used: Vec<bool>,
    /// The topology has other cases, too: a component may be in one of them.
    pub several_cases: bool,
}

impl<'a> Settings<'a> {
    pub fn new(sets: &'a [Set]) -> Self {
        Self { sets, sources: vec![None; sets.len()], used: vec![false; sets.len()], several_cases: false }
    }

    /// Parts of option `i` as spans of a source of its own: component, parameter, value.
    fn spans(&mut self, i: usize, sink: &mut Sink) -> [Span; 3] {
        let set = &self.sets[i];
        let src = *self.sources[i].get_or_insert_with(|| {
            let text = format!("{}.{}={}", set.component, set.param, set.value);
            sink.add_source(Source { name: "--set".into(), text })
        });
        let (c, p, v) = (set.component.len() as u32, set.param.len() as u32, set.value.len() as u32);
        let span = |start, len| Span { src, start, end: start + len };
        [span(0, c), span(c + 1, p), span(c + p + 2, v)]
    }

    /// Values for the slots of a target; `None` after a report.
    pub fn values(
        &mut self,
        target: Target<'_>,
        args: &[Arg],
        bound: &Bound,
        sink: &mut Sink,
    ) -> Vec<Option<u64>> {
        let Target { what, names, slots, relations, at } = target;
        let known: Vec<&str> = slots.iter().map(|s| s.info.name.as_str()).collect();
        let mut values: Vec<Option<Option<u64>>> = slots.iter().map(|s| s.default).collect();
        let mut given: Vec<Option<Span>> = vec![None; slots.len()];
        // Where each value stands that is not the default.
        let mut places: Vec<Option<Span>> = vec![None; slots.len()];
        for arg in args {
            let Some(i) = known.iter().position(|n| *n == arg.name.text) else {
                let message = format!("`{what}` has no parameter `{}`", arg.name.text);
                sink.error("unknown-parameter", arg.name.span, message).help(match known.is_empty() {
                    true => format!("`{what}` takes no parameters"),
                    false => suggest(&arg.name.text, &known, "its parameters"),
                });
                continue;
            };
            if let Some(first) = given[i].replace(arg.name.span) {
                sink.error("double-parameter", arg.name.span, format!("`{}` is given twice", arg.name.text))
                    .label("again here")
                    .also(first, "first here")
                    .help("remove one of the two");
                continue;
            }
            let Some(v) = value(&arg.value, slots[i].info.unit, bound, sink) else {
                values[i] = Some(None);
                continue;
            };
            if let Err(why) = units::in_range(v, &slots[i].info) {
                let info = &slots[i].info;
                sink.error("out-of-range", arg.value.span, why).help(units::without(info));
                continue;
            }
            values[i] = Some(Some(v));
            places[i] = Some(arg.value.span);
        }
        for s in 0..self.sets.len() {
            let set = &self.sets[s];
            if !names.contains(&set.component.as_str()) {
                continue;
            }
            self.used[s] = true;
            let Some(i) = known.iter().position(|n| *n == set.param) else {
                let [_, param, _] = self.spans(s, sink);
                let message = format!("`{what}` has no parameter `{}`", set.param);
                sink.error("unknown-parameter", param, message).help(match known.is_empty() {
                    true => format!("`{what}` takes no parameters"),
                    false => suggest(&set.param, &known, "its parameters"),
                });
                continue;
            };
            let read = units::parse(&set.value, slots[i].info.unit).map_err(|why| ("wrong-unit", why));
            let ranged =
                |v| units::in_range(v, &slots[i].info).map(|()| v).map_err(|why| ("out-of-range", why));
            match read.and_then(ranged) {
                Ok(v) => {
                    values[i] = Some(Some(v));
                    let [_, _, value] = self.spans(s, sink);
                    places[i] = Some(value);
                }
                Err((code, why)) => {
                    let [_, _, value] = self.spans(s, sink);
                    let info = &slots[i].info;
                    let help = match code {
                        // The message names the range.
                        "out-of-range" => units::without(info),
                        _ => format!("expected {}", units::spelling(info.unit)),
                    };
                    sink.error(code, value, why).help(help);
                }
            }
        }
        for (slot, value) in slots.iter().zip(&values) {
            if value.is_none() {
                let name = &slot.info.name;
                sink.error("missing-parameter", at, format!("`{what}` needs a value for `{name}`"))
                    .help(format!("write `{what}({name} = ...)`, {}", units::spelling(slot.info.unit)));
            }
        }
        let values: Vec<Option<u64>> = values.into_iter().map(Option::flatten).collect();
        for relation in relations {
            let (a, b) = relation.of;
            let (Some(x), Some(y)) = (values[a], values[b]) else { continue };
            if relation.kind.holds(x, y) {
                continue;
            }
            let show = |i: usize, v: u64| {
                let info = &slots[i].info;
                let default = if places[i].is_none() { ", its default" } else { "" };
                format!("`{}` ({}{default})", info.name, units::show(v, info.unit))
            };
            let (x, y) = (show(a, x), show(b, y));
            let rule = match relation.kind {
                RelationKind::Less => format!("{x} must be below {y}"),
                RelationKind::AtMost => format!("{x} must be at most {y}"),
                RelationKind::OneOf => format!("one of {x} and {y} must not be 0"),
            };
            let who = match names.last() {
                Some(name) if *name != what => format!("`{name}` ({what})"),
                _ => format!("`{what}`"),
            };
            let (here, there) = match (places[a], places[b]) {
                (Some(a), Some(b)) => (a, Some(b)),
                (a, b) => (a.or(b).unwrap_or(at), None),
            };
            let note = sink.error("parameter-relation", here, format!("{who}: {rule}"));
            let note = note.help(format!("otherwise {}; change one of the two", relation.why));
            if let Some(there) = there {
                note.also(there, "and this");
            }
        }
        values
    }

    /// Report the options that named nothing. `names` is what they could have named.
    pub fn finish(&mut self, names: &[&str], components: &[&str], sink: &mut Sink) {
        for s in 0..self.sets.len() {
            if self.used[s] {
                continue;
            }
            let component = &self.sets[s].component;
            if self.several_cases && components.contains(&component.split('@').next().unwrap_or_default()) {
                continue;
            }
            let [span, ..] = self.spans(s, sink);
            let message = match components.contains(&component.as_str()) {
                true => format!("this topology has no `{component}`"),
                false => format!("there is no component or instance `{component}`"),
            };
            sink.error("unknown-component", span, message).help(suggest(component, names, "it has"));
        }
    }
}
