// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What tools may know of a component: the facts of its C descriptor and the text of its header.

use serde::Serialize;

use crate::topic::Topic;

/// Purpose of a component (source 0, 5.2 and 5.8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    Filter,
    Order,
    Distribute,
    Merge,
    Annotate,
    Service,
}

/// How an order component treats the order of its in-pipe; decides what may be composed
/// on one path (source 0, 5.8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ordering {
    /// Keeps the in-pipe's order (head queue, round robin, filters, distributors).
    Keep,
    /// Sorts by a coarse key and keeps the in-pipe's order among equals (priority).
    Stable,
    /// Imposes an order of its own on all tasks: what an earlier stage sorted is lost (FCFS, LCFS).
    Total,
}

/// Unit of a parameter; the language accepts only values with a fitting suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds; written with `ns`, `us`, `ms` or `s`.
    Ns,
    /// A plain number.
    Count,
    /// Percent; written with `%`.
    Pct,
    /// Bytes; written plain or with `KiB`, `MiB`, `GiB`.
    Bytes,
    /// `true`/`false`, stored as 1/0.
    Flag,
}

/// One run-time parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParamInfo {
    pub name: String,
    pub unit: Unit,
    pub default: u64,
    /// Inclusive range.
    pub min: u64,
    pub max: u64,
    pub help: String,
}

/// What holds between two parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RelationKind {
    /// The first is less than the second.
    Less,
    /// The first is at most the second.
    AtMost,
    /// They are not both 0.
    OneOf,
}

/// What must hold between two parameters of a component, beyond their ranges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Relation {
    pub kind: RelationKind,
    /// Their numbers in the component's list.
    #[serde(skip)]
    pub of: (usize, usize),
    /// The same for people and tools: `low < high`.
    pub rule: String,
    /// What would happen otherwise.
    pub why: String,
}

impl RelationKind {
    /// Does it hold between these values?
    pub fn holds(self, a: u64, b: u64) -> bool {
        match self {
            RelationKind::Less => a < b,
            RelationKind::AtMost => a <= b,
            RelationKind::OneOf => a != 0 || b != 0,
        }
    }
}

impl Relation {
    /// Do the values of all parameters keep it?
    pub fn holds(&self, values: &[u64]) -> bool {
        let value = |i: usize| values.get(i).copied();
        value(self.of.0).zip(value(self.of.1)).is_some_and(|(a, b)| self.kind.holds(a, b))
    }
}

/// What labels the out-ports of a component: `lb[cpu 0]`, `split[accel]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PortLabel {
    /// Ports differ only by what is connected to them.
    None,
    /// Ports are distinguished by instruction set (`isa_demux`).
    Isa,
}

/// When the live kernel loads a component; `enum weir_kernel`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// If all that do fit.
    #[default]
    Always,
    /// Where a topology that is named at the start uses it.
    OnRequest,
    /// Why not.
    Never(String),
}

/// A topic that a component brings along: the core does not know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnTopic {
    pub name: String,
    pub help: String,
    pub uuid: u64,
    pub version: u32,
    /// Of the payload.
    pub bytes: u32,
    /// What the payload's words are called; none: only components read it.
    pub fields: Vec<String>,
    /// Programs may publish it.
    pub from_users: bool,
    /// Components do.
    pub from_components: bool,
}

impl OwnTopic {
    /// Do both owners mean the same? They may describe it in other words.
    pub fn is_same(&self, other: &OwnTopic) -> bool {
        let facts = |t: &OwnTopic| (t.uuid, t.version, t.bytes, t.publishers());
        self.name == other.name && self.fields == other.fields && facts(self) == facts(other)
    }

    /// `enum weir_from`
    pub(crate) fn publishers(&self) -> u32 {
        u32::from(self.from_components) | u32::from(self.from_users) << 1
    }

    /// The payload from named fields, those that are not named being 0.
    ///
    /// # Errors
    /// A field that the topic has not: a message and a remedy.
    pub fn payload(&self, given: &[(String, u64)]) -> Result<Vec<u64>, (String, String)> {
        let mut words = vec![0; self.fields.len()];
        for (name, value) in given {
            let Some(at) = self.fields.iter().position(|f| f == name) else {
                let help = match self.fields.is_empty() {
                    true => format!("{} has no fields: give its `value`", self.name),
                    false => format!("its fields are {}", self.fields.join(", ")),
                };
                return Err((format!("the topic {} has no field `{name}`", self.name), help));
            };
            words[at] = *value;
        }
        Ok(words)
    }
}

/// One component class.
#[derive(Clone, Debug, Serialize)]
pub struct ComponentInfo {
    /// Lower-case word: file, C prefix, class in topologies, trace label.
    pub name: String,
    /// Class id of the generated dispatch table.
    pub id: u16,
    pub class: Class,
    pub ordering: Ordering,
    /// Verb phrase, first line of the header.
    pub summary: String,
    /// Allowed number of in- and out-pipes, inclusive; `u32::MAX` is "any number".
    pub ins: (u32, u32),
    pub outs: (u32, u32),
    pub out_label: PortLabel,
    pub params: Vec<ParamInfo>,
    /// What must hold between these.
    pub relations: Vec<Relation>,
    /// Topic names it subscribes to, publishes, asks and answers.
    pub listens: Vec<String>,
    pub publishes: Vec<String>,
    pub asks: Vec<String>,
    /// Subset of `asks` without whose responder it cannot work.
    pub needs: Vec<String>,
    pub answers: Vec<String>,
    /// Topics that it brings along.
    pub topics: Vec<OwnTopic>,
    /// Bytes of private memory per task, 0 if none.
    pub per_task: u32,
    /// Out-pipes are keyed (sorted by a 64-bit key) rather than lists.
    pub keyed_out: bool,
    /// When the live kernel loads it.
    pub kernel: Kernel,
    /// Whole header comment of the source file: the manual page.
    pub manual: String,
    /// Path of the source below the repository root.
    pub source: String,
}

impl ComponentInfo {
    pub fn param(&self, name: &str) -> Option<(usize, &ParamInfo)> {
        self.params.iter().enumerate().find(|(_, p)| p.name == name)
    }

    /// Are there as many values as parameters, and do their relations hold? If not: why.
    ///
    /// # Errors
    /// The relation that does not hold, with the values.
    pub fn accepts(&self, values: &[u64]) -> Result<(), String> {
        if values.len() != self.params.len() {
            return Err(format!("it has {} parameters, not {}", self.params.len(), values.len()));
        }
        let Some(broken) = self.relations.iter().find(|r| !r.holds(values)) else { return Ok(()) };
        let said = |i: usize| format!("{} = {}", self.params[i].name, values[i]);
        let (a, b) = broken.of;
        Err(format!("{} and {}: {}, as otherwise {}", said(a), said(b), broken.rule, broken.why))
    }

    /// Those of these values, in the order of the parameters, that differ from their default.
    pub fn changed<'a>(&'a self, values: &'a [u64]) -> impl Iterator<Item = (&'a ParamInfo, u64)> {
        self.params.iter().zip(values).filter(|(p, value)| p.default != **value).map(|(p, value)| (p, *value))
    }

    pub fn listens_to(&self, topic: Topic) -> bool {
        self.listens.iter().any(|t| t == topic.name())
    }

    pub fn answers_to(&self, topic: Topic) -> bool {
        self.answers.iter().any(|t| t == topic.name())
    }

    /// The live kernel has it only where a topology that is named at the start uses it.
    pub fn on_request(&self) -> bool {
        self.kernel == Kernel::OnRequest
    }

    /// Why the live kernel does not take it.
    pub fn not_in_kernel(&self) -> Option<&str> {
        match &self.kernel {
            Kernel::Never(why) => Some(why),
            _ => None,
        }
    }
}

/// All components linked into this program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Catalog {
    pub components: Vec<ComponentInfo>,
}

impl Catalog {
    pub fn get(&self, name: &str) -> Option<&ComponentInfo> {
        self.components.iter().find(|c| c.name == name)
    }

    /// A topic that some component brings along, by its name.
    pub fn own_topic(&self, name: &str) -> Option<&OwnTopic> {
        self.components.iter().flat_map(|c| &c.topics).find(|t| t.name == name)
    }

    /// Names of all topics, the standard ones first.
    pub fn topic_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Topic::all().map(Topic::name).collect();
        let own = self.components.iter().flat_map(|c| &c.topics).map(|t| t.name.as_str());
        for name in own {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The component of a class id, as plans have it.
    pub fn class(&self, id: u16) -> Option<&ComponentInfo> {
        self.components.get(id as usize)
    }
}
