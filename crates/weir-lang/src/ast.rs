// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The syntax tree: declare and connect, plus what rewrites into these two.

use crate::source::Span;
use weir_core::Unit;

/// A name and its place.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub text: String,
    pub span: Span,
}

/// A statement of a file.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// `annotate affinity, lamport;`
    Annotate(Vec<Use>),
    /// `include "x.weir";`
    Include {
        path: String,
        span: Span,
    },
    /// `topology name(formals) { ... }`
    Topology(Topology),
    /// `package name(formals) { in -> ... -> out }`
    Package(Topology),
    /// `claim cpus in accel;` of a package
    Claim(CpuSel),
    /// `needs mine from "mine.so";` of a package
    Needs {
        component: Word,
        file: String,
        span: Span,
    },
    /// `leave cpu 3;`
    Leave(CpuSel),
    /// `param pipes: count = 4;`
    Param(Formal),
    Chain(Chain),
    /// `when cpus.online > 3 { ... } else { ... }`
    When(When),
}

/// Statements of which those of one arm are in force at a time.
#[derive(Clone, Debug)]
pub(crate) struct When {
    pub arms: Vec<Arm>,
    /// The first word.
    pub span: Span,
}

/// A case of a [`When`].
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    /// `None`: otherwise.
    pub condition: Option<Vec<Vec<Test>>>,
    pub items: Vec<Item>,
}

/// `cpus.online > 3`, `POWER = 1`
#[derive(Clone, Debug)]
pub(crate) struct Test {
    /// `online`, or the name of a topic.
    pub subject: Word,
    pub compare: String,
    pub value: Num,
}

/// A named sub-topology, or a package.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    pub name: Word,
    pub formals: Vec<Formal>,
    pub body: Vec<Chain>,
}

/// A parameter of a file or a sub-topology.
#[derive(Clone, Debug)]
pub(crate) struct Formal {
    pub name: Word,
    pub unit: Unit,
    pub default: Option<Value>,
}

/// A value as written.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// A number with unit, `true`, `false`, or the name of a parameter.
    pub text: String,
    pub is_name: bool,
    pub span: Span,
}

/// Elements joined by arrows.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    /// `{ -> cpu }`: the arrow that begins the first chain of a block.
    pub lead: Option<Arrow>,
    pub first: Elem,
    pub rest: Vec<(Arrow, Elem)>,
}

/// `->` or `~>`, perhaps with `all`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrow {
    /// `~>`: changes wait until an exit behind the pipe is asked.
    pub postponed: bool,
    /// `-> all`: every left end with every right end.
    pub all: bool,
    pub span: Span,
}

/// What may be between arrows.
#[derive(Clone, Debug)]
pub(crate) enum Elem {
    /// Where tasks come in. `id` identifies the element among all others of a compilation.
    Entry {
        id: u32,
        sel: EntrySel,
        span: Span,
    },
    Use(Use),
    Each(Each),
    /// `cpu` or `cpu 3`
    Cpu {
        id: u32,
        number: Option<Num>,
        span: Span,
    },
    /// `cpus`, `cpus 0-3`, `cpus in accel`
    Cpus {
        id: u32,
        sel: CpuSel,
        span: Span,
    },
    /// `in` or `in[1]` of a sub-topology
    In {
        port: Option<Num>,
        span: Span,
    },
    Out {
        port: Option<Num>,
        span: Span,
    },
}

/// Which entry pipes an `entry` stands for.
#[derive(Clone, Debug)]
pub(crate) enum EntrySel {
    /// One for all CPUs of the scope.
    Scope,
    Cpu(Num),
    Cpus(CpuSel),
    Each(Group, Vec<Where>),
}

/// A component, sub-topology or instance in a chain.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    pub id: u32,
    /// `[1]x`
    pub in_port: Option<Port>,
    /// Instance or class name; the instance name if `class` is there.
    pub word: Word,
    /// `x :: class`
    pub class: Option<Word>,
    pub args: Vec<Arg>,
    /// `x[2]`
    pub out_port: Option<Port>,
    /// Name, class and arguments, without ports.
    pub span: Span,
}

/// `slice = 3ms`
#[derive(Clone, Debug)]
pub(crate) struct Arg {
    pub name: Word,
    pub value: Value,
}

/// A port in square brackets.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    pub sel: PortSel,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PortSel {
    Number(u32),
    /// `[cpu 3]`
    Cpu(u32),
    /// `[accel]`
    Isa(String),
}

/// A plain number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Num {
    pub value: u32,
    pub span: Span,
}

/// `each cpu in accel { ... }`
#[derive(Clone, Debug)]
pub(crate) struct Each {
    pub group: Group,
    pub filters: Vec<Where>,
    pub body: Vec<Chain>,
    /// `each ...` up to the brace.
    pub span: Span,
}

/// What a block or an entry is repeated for.
#[derive(Clone, Debug)]
pub(crate) enum Group {
    Level(Level),
    /// `8 cpus`: every eight neighbouring CPUs.
    Chunk(Value),
    /// `part of 4`: four parts of nearly equal size.
    Parts(Value),
}

/// What CPUs may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Cpu,
    Core,
    Cluster,
    Llc,
    Node,
    Package,
}

impl Level {
    pub const ALL: [Level; 6] =
        [Level::Cpu, Level::Core, Level::Cluster, Level::Llc, Level::Node, Level::Package];

    pub fn word(self) -> &'static str {
        match self {
            Level::Cpu => "cpu",
            Level::Core => "core",
            Level::Cluster => "cluster",
            Level::Llc => "llc",
            Level::Node => "node",
            Level::Package => "package",
        }
    }

    pub fn from_word(word: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|l| l.word() == word)
    }
}

/// A set of CPUs; an empty selection means all of the scope.
#[derive(Clone, Debug)]
pub(crate) struct CpuSel {
    /// Inclusive ranges.
    pub list: Vec<(Num, Num)>,
    pub filters: Vec<Where>,
    pub span: Span,
}

/// `in accel`, `except cpu 3`
#[derive(Clone, Debug)]
pub(crate) struct Where {
    pub except: bool,
    pub which: Which,
}

/// `accel`, `node 0`, `cpus 0-3`
#[derive(Clone, Debug)]
pub(crate) enum Which {
    Isa(Word),
    Level(Level, Num),
    List(Vec<(Num, Num)>),
}

/// Words that name no component, instance or sub-topology.
pub(crate) const RESERVED: [&str; 13] = [
    "annotate", "all", "cpu", "cpus", "each", "entry", "false", "in", "include", "leave", "out", "param",
    "true",
];
