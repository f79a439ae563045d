// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! From the syntax tree to the flat network: blocks are repeated for the machine, sub-topologies
//! are copied in, names are looked up, elements are joined.

mod elem;
mod merge;
mod part;
mod patch;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use weir_core::{Catalog, CpuSet, MachineShape};

use crate::ast::*;
use crate::bundle::{Side, pair};
use crate::diag::{Sink, suggest};
use crate::edit::{Package, Parsed};
use crate::machine;
use crate::net::*;
use crate::settings::{Bound, Settings, Slot, Target};
use crate::source::Span;
use crate::splice::splice;

/// Deepest nesting of sub-topologies.
const MAX_USES: usize = 32;
/// Steps after which an expansion is given up: far beyond any real topology.
const FUEL: u64 = 500_000;

/// The meaning of a name.
#[derive(Clone, Debug)]
enum Thing {
    Inst(usize),
    /// A use of a sub-topology: joints of its two sides, and whether the body uses them.
    Sub {
        joint_in: usize,
        joint_out: usize,
        has_in: bool,
        has_out: bool,
        label: String,
    },
}

/// Names of one block.
struct Scope {
    names: BTreeMap<String, (Thing, Span)>,
    parent: Option<usize>,
}

/// Where an element stands.
#[derive(Clone)]
struct Ctx {
    scope: usize,
    cpus: Rc<CpuSet>,
    /// The CPU of the innermost `each cpu`.
    cpu: Option<u32>,
    /// The innermost group, such as `@llc1`; empty outside blocks.
    tag: Rc<str>,
    /// Sub-topologies around, such as `percpu@cpu3/`.
    prefix: Rc<str>,
    bound: Rc<Bound>,
    /// `in` and `out` of the sub-topology around.
    joints: Option<(usize, usize)>,
    site: u32,
}

/// Runs over the tree once and fills the network.
pub(crate) struct Expander<'a> {
    pub catalog: &'a Catalog,
    pub shape: &'a MachineShape,
    pub sink: &'a mut Sink,
    pub settings: Settings<'a>,
    pub net: Net,
    /// Something is missing that was reported: rules about the whole network would only echo it.
    pub broken: bool,
    /// The expansion was given up; what there is of the network is worth nothing.
    pub halted: bool,
    /// An annotator is missing that was reported.
    pub lost_annotator: bool,
    topologies: BTreeMap<&'a str, &'a Topology>,
    sites: BTreeMap<(u32, u32), u32>,
    scopes: Vec<Scope>,
    taken: HashMap<String, u32>,
    settable: BTreeSet<String>,
    stack: Vec<&'a str>,
    fuel: u64,
}

impl<'a> Expander<'a> {
    pub fn new(
        catalog: &'a Catalog,
        shape: &'a MachineShape,
        sets: &'a [crate::Set],
        sink: &'a mut Sink,
    ) -> Self {
        Self {
            catalog,
            shape,
            sink,
            settings: Settings::new(sets),
            net: Net::default(),
            broken: false,
            halted: false,
            lost_annotator: false,
            topologies: BTreeMap::new(),
            sites: BTreeMap::new(),
            scopes: Vec::new(),
            taken: HashMap::new(),
            settable: BTreeSet::new(),
            stack: Vec::new(),
            fuel: FUEL,
        }
    }

    /// Expand all `items`, then change what became of them; `stem` is the name of the topology.
    pub fn run(&mut self, items: &'a [Item], edits: &'a [Parsed], stem: &str) {
        let packages: Vec<&'a Package> = edits
            .iter()
            .filter_map(|e| match e {
                Parsed::Merge(package) => Some(package),
                _ => None,
            })
            .collect();
        self.declare_topologies(items);
        packages.iter().for_each(|p| self.declare_topologies(&p.items));
        self.net.claimed = self.claims(&packages);
        self.chains_of(items, stem);
        for edit in edits {
            if self.halted || self.broken || self.sink.has_errors() {
                break;
            }
            if !splice(&mut self.net, self.sink) {
                self.broken = true;
                break;
            }
            match edit {
                Parsed::Instance { name, used } => self.exchange(name, used),
                Parsed::Subgraph { names, body, span } => self.replace(names, body, *span),
                Parsed::Merge(package) => self.merge(package),
                Parsed::Annotate { used } => self.add_annotator(used),
                Parsed::Create { used } => self.add_instance(used),
                Parsed::Insert { used, at, port } => self.insert(used, at, *port),
                Parsed::Remove { name, at } => self.remove(name, *at),
                Parsed::Connect { from, to, postponed, at } => self.connect(from, to, *postponed, *at),
                Parsed::Disconnect { at, port } => self.disconnect(at, *port),
            }
        }
        let mut names: Vec<&str> = self.settable.iter().map(String::as_str).collect();
        names.extend([stem, "topology"]);
        let components: Vec<&str> = self.catalog.components.iter().map(|c| c.name.as_str()).collect();
        self.settings.finish(&names, &components, self.sink);
        self.unused();
    }

    /// The topology itself.
    fn chains_of(&mut self, items: &'a [Item], stem: &str) {
        let bound = self.file_parameters(items, stem);
        for item in items {
            if let Item::Leave(sel) = item {
                let all = CpuSet::first(self.shape.nr_cpus());
                match machine::select(self.shape, &all, sel, self.sink) {
                    Some(set) => set.iter().for_each(|c| self.net.left.insert(c)),
                    None => self.broken = true,
                }
            }
        }
        for item in items {
            let (Item::Package(Topology { name: Word { span, .. }, .. })
            | Item::Claim(CpuSel { span, .. })
            | Item::Needs { span, .. }) = item
            else {
                continue;
            };
            self.broken = true;
            self.sink
                .error("package", *span, "this is a package, a part of a topology")
                .help("merge it into one: `runweir check decentral --with FILE@entry`; docs/packages.md");
        }
        let outside = |c: &u32| self.net.left.contains(*c) || self.net.claimed.contains(*c);
        let cpus: CpuSet = (0..self.shape.nr_cpus()).filter(|c| !outside(c)).collect();
        let served: CpuSet = self.net.left.iter().filter(|c| !self.net.claimed.contains(*c)).collect();
        self.net.left = served;
        self.scopes.push(Scope { names: BTreeMap::new(), parent: None });
        let ctx = Ctx {
            scope: 0,
            cpus: Rc::new(cpus),
            cpu: None,
            tag: "".into(),
            prefix: "".into(),
            bound: Rc::new(bound),
            joints: None,
            site: 0,
        };
        for item in items {
            if let Item::Annotate(uses) = item {
                uses.iter().for_each(|u| self.annotate(u, &ctx));
            }
        }
        let chains: Vec<&'a Chain> = items
            .iter()
            .filter_map(|i| match i {
                Item::Chain(c) => Some(c),
                _ => None,
            })
            .collect();
        self.declare(&chains, &ctx);
        for chain in &chains {
            if let Some(arrow) = chain.lead {
                self.sink
                    .error("nothing-enters", arrow.span, "nothing precedes this arrow")
                    .help("only the first chain of a block may begin with an arrow");
            }
            self.chain(chain, &ctx);
        }
    }

    fn declare_topologies(&mut self, items: &'a [Item]) {
        for item in items {
            let Item::Topology(t) = item else { continue };
            let name = t.name.text.as_str();
            if let Some(first) = self.topologies.get(name) {
                let place = self.sink.place(first.name.span);
                self.sink
                    .error("name-clash", t.name.span, format!("sub-topology `{name}` is declared twice"))
                    .also(first.name.span, "first here")
                    .help(format!("the first is at {place}; rename or remove one"));
            } else {
                self.topologies.insert(name, t);
            }
        }
    }

    /// Unused sub-topologies of the file itself, which were not checked.
    fn unused(&mut self) {
        if self.halted || self.sink.has_errors() {
            return;
        }
        for (name, t) in &self.topologies {
            // What is in use was remembered for `--set`.
            if t.name.span.src == 0 && !self.settable.contains(*name) {
                self.sink
                    .warning("unused-topology", t.name.span, format!("sub-topology `{name}` is not used"))
                    .help(
                        "its contents were not checked; use it, remove it, or move it to a file to include",
                    );
            }
        }
    }

    /// Values of the `param` statements.
    fn file_parameters(&mut self, items: &'a [Item], stem: &str) -> Bound {
        let formals: Vec<Formal> = items
            .iter()
            .filter_map(|i| match i {
                Item::Param(f) => Some(f.clone()),
                _ => None,
            })
            .collect();
        let mut bound = Bound::new();
        let slots = Slot::of_formals(&formals, self.sink);
        if formals.iter().any(|f| f.default.is_none()) {
            self.broken = true;
            return bound;
        }
        // A file without parameters leaves its name to a component that is called the same.
        let own = if formals.is_empty() && self.catalog.get(stem).is_some() { "topology" } else { stem };
        let (names, at) = ([own, "topology"], Span::default());
        let what = stem;
        let values = self.settings.values(
            Target { what, names: &names, slots: &slots, relations: &[], at },
            &[],
            &bound,
            self.sink,
        );
        for (f, v) in formals.iter().zip(values) {
            if bound.insert(f.name.text.clone(), (v, f.unit)).is_some() {
                let message = format!("parameter `{}` is declared twice", f.name.text);
                self.sink.error("name-clash", f.name.span, message).help("remove one of the two");
            }
        }
        bound
    }

    /// One step of work; false when the expansion must stop.
    fn step(&mut self, at: Span) -> bool {
        if self.fuel == 0 {
            return false;
        }
        self.fuel -= 1;
        if self.sink.full() {
            // Nobody reads on.
            (self.fuel, self.halted) = (0, true);
            return false;
        }
        if self.fuel == 0 || self.net.insts.len() >= MAX_INSTANCES || self.net.edges.len() >= MAX_PIPES {
            self.fuel = 0;
            self.halted = true;
            self.broken = true;
            self.sink
                .error("too-big", at, format!("on machine `{}` this topology is too large", self.shape.name))
                .help(format!(
                    "at most {MAX_INSTANCES} instances and {MAX_PIPES} pipes are built; use fewer or smaller blocks"
                ));
            return false;
        }
        true
    }

    fn site(&mut self, parent: u32, id: u32) -> u32 {
        let next = self.sites.len() as u32 + 1;
        *self.sites.entry((parent, id)).or_insert(next)
    }

    /// A unique name: prefix, base and tag, with a number where that is taken.
    fn unique(&mut self, base: &str, ctx: &Ctx) -> String {
        let plain = format!("{}{base}{}", ctx.prefix, ctx.tag);
        if !self.taken.contains_key(&plain) {
            self.taken.insert(plain.clone(), 1);
            return plain;
        }
        let mut n = self.taken[&plain];
        loop {
            n += 1;
            let name = format!("{}{base}_{n}{}", ctx.prefix, ctx.tag);
            if !self.taken.contains_key(&name) {
                self.taken.insert(plain, n);
                self.taken.insert(name.clone(), 1);
                return name;
            }
        }
    }

    fn annotate(&mut self, used: &'a Use, ctx: &Ctx) {
        let class = used.class.as_ref().unwrap_or(&used.word);
        let Some(info) = self.catalog.get(&class.text) else {
            self.lost_annotator = true;
            let names: Vec<&str> = self
                .catalog
                .components
                .iter()
                .filter(|c| c.ins.1 == 0 && c.outs.1 == 0)
                .map(|c| c.name.as_str())
                .collect();
            let help = suggest(&class.text, &names, "components to annotate with");
            self.sink
                .error("unknown-component", class.span, format!("unknown component `{}`", class.text))
                .help(help);
            return;
        };
        if info.ins.1 != 0 || info.outs.1 != 0 {
            self.sink
                .error("not-an-annotator", class.span, format!("`{}` has pipes", class.text))
                .help(format!("put it into a chain: `entry -> {} -> cpus;`", class.text));
            return;
        }
        let index = self.instance(used, class, ctx, true);
        if used.class.is_some() {
            self.name(&used.word, Thing::Inst(index), ctx);
        }
    }

    /// Instantiate `used` as component `class`.
    fn instance(&mut self, used: &'a Use, class: &Word, ctx: &Ctx, annotator: bool) -> usize {
        let class_idx = self.catalog.components.iter().position(|c| c.name == class.text);
        let base = used.word.text.as_str();
        let name = self.unique(base, ctx);
        let local = format!("{base}{}", ctx.tag);
        let params = match class_idx {
            Some(i) => {
                let info = &self.catalog.components[i];
                let (slots, relations) = (Slot::of_component(&info.params), &info.relations);
                let names = [class.text.as_str(), base, &local, &name];
                self.remember(class.text.as_str());
                self.remember(base);
                let (what, bound) = (&class.text, &ctx.bound);
                let values = self.settings.values(
                    Target { what, names: &names, slots: &slots, relations, at: used.span },
                    &used.args,
                    bound,
                    self.sink,
                );
                values.into_iter().zip(&slots).map(|(v, s)| v.unwrap_or(s.info.default)).collect()
            }
            None => Vec::new(),
        };
        let site = self.site(ctx.site, used.id);
        let cpus = ctx.cpus.clone();
        self.net.insts.push(Inst { name, class: class_idx, params, cpus, span: used.span, site, annotator });
        self.net.insts.len() - 1
    }

    /// Note a name that `--set` may use, for the help of those who mistype it.
    fn remember(&mut self, name: &str) {
        if !self.settable.contains(name) {
            self.settable.insert(name.to_string());
        }
    }

    /// Bind a name in the scope of `ctx`.
    fn name(&mut self, word: &Word, thing: Thing, ctx: &Ctx) {
        let clash = self.find(&word.text, ctx).map(|(_, span)| span);
        if let Some(first) = clash {
            let place = self.sink.place(first);
            self.sink
                .error("name-clash", word.span, format!("`{}` is declared twice", word.text))
                .label("again here")
                .also(first, "first here")
                .help(format!("the first is at {place}; choose another name for one of them"));
            return;
        }
        // Names of components are no clash: a component that is added must not break any text.
        if self.topologies.contains_key(word.text.as_str()) {
            self.sink
                .error(
                    "name-clash",
                    word.span,
                    format!("`{}` is already the name of a sub-topology", word.text),
                )
                .help("choose another name for the instance");
            return;
        }
        self.scopes[ctx.scope].names.insert(word.text.clone(), (thing, word.span));
    }

    fn find(&self, name: &str, ctx: &Ctx) -> Option<(Thing, Span)> {
        let mut scope = Some(ctx.scope);
        while let Some(s) = scope {
            if let Some(found) = self.scopes[s].names.get(name) {
                return Some(found.clone());
            }
            scope = self.scopes[s].parent;
        }
        None
    }

    /// Create what the chains of a block declare, so that order of statements does not matter.
    fn declare(&mut self, chains: &[&'a Chain], ctx: &Ctx) {
        for chain in chains {
            for elem in std::iter::once(&chain.first).chain(chain.rest.iter().map(|(_, e)| e)) {
                let Elem::Use(used) = elem else { continue };
                let Some(class) = &used.class else { continue };
                if let Some(thing) = self.create(used, class, ctx) {
                    self.name(&used.word, thing, ctx);
                }
            }
        }
    }

    /// Instantiate a component or copy a sub-topology in.
    fn create(&mut self, used: &'a Use, class: &Word, ctx: &Ctx) -> Option<Thing> {
        if !self.step(used.span) {
            return None;
        }
        if let Some(t) = self.topologies.get(class.text.as_str()).copied() {
            return self.copy(t, used, ctx);
        }
        match self.catalog.get(&class.text) {
            None => {
                let mut names: Vec<&str> = self.catalog.components.iter().map(|c| c.name.as_str()).collect();
                names.extend(self.topologies.keys());
                let mut scope = Some(ctx.scope);
                while let Some(s) = scope {
                    names.extend(self.scopes[s].names.keys().map(String::as_str));
                    scope = self.scopes[s].parent;
                }
                let help = suggest(&class.text, &names, "what there is");
                let message = format!("unknown component `{}`", class.text);
                self.sink.error("unknown-component", class.span, message).help(help);
            }
            Some(info) if info.name == "termination" => {
                self.sink
                    .error(
                        "explicit-termination",
                        class.span,
                        "`termination` is added at every exit automatically",
                    )
                    .help("write `-> cpu` or `-> cpus` where CPUs take their tasks");
                self.broken = true;
                return None;
            }
            Some(info) if info.ins.1 == 0 && info.outs.1 == 0 => {
                self.sink
                    .error(
                        "no-pipes",
                        class.span,
                        format!("`{}` has no pipes and cannot stand in a chain", info.name),
                    )
                    .help(format!("write `annotate {};`", info.name));
                self.broken = true;
                return None;
            }
            Some(_) => {}
        }
        Some(Thing::Inst(self.instance(used, class, ctx, false)))
    }

    /// Copy sub-topology `t` in as `used`.
    fn copy(&mut self, t: &'a Topology, used: &'a Use, ctx: &Ctx) -> Option<Thing> {
        let name = t.name.text.as_str();
        if self.stack.contains(&name) || self.stack.len() == MAX_USES {
            self.broken = true;
            let (code, message) = match self.stack.contains(&name) {
                true => ("recursive-topology", format!("sub-topology `{name}` contains itself")),
                false => ("too-deep", format!("sub-topologies are nested more than {MAX_USES} deep")),
            };
            self.sink
                .error(code, used.span, message)
                .help(format!("the path is {} -> {name}", self.stack.join(" -> ")));
            if code == "too-deep" {
                // There may be millions of such paths.
                (self.fuel, self.halted) = (0, true);
            }
            return None;
        }
        let label = self.unique(&used.word.text, ctx);
        let slots = Slot::of_formals(&t.formals, self.sink);
        let names = [name, used.word.text.as_str(), &label];
        self.remember(name);
        self.remember(used.word.text.as_str());
        let values = self.settings.values(
            Target { what: name, names: &names, slots: &slots, relations: &[], at: used.span },
            &used.args,
            &ctx.bound,
            self.sink,
        );
        let bound: Bound =
            t.formals.iter().zip(values).map(|(f, v)| (f.name.text.clone(), (v, f.unit))).collect();
        let joint = |is_in| Joint { is_in, name: label.clone(), span: used.span };
        self.net.joints.extend([joint(true), joint(false)]);
        let (joint_in, joint_out) = (self.net.joints.len() - 2, self.net.joints.len() - 1);
        self.scopes.push(Scope { names: BTreeMap::new(), parent: None });
        let inner = Ctx {
            scope: self.scopes.len() - 1,
            cpus: ctx.cpus.clone(),
            cpu: ctx.cpu,
            tag: "".into(),
            prefix: format!("{label}/").into(),
            bound: Rc::new(bound),
            joints: Some((joint_in, joint_out)),
            site: self.site(ctx.site, used.id),
        };
        self.stack.push(name);
        self.chains(&t.body, &inner);
        self.stack.pop();
        let (mut has_in, mut has_out) = (false, false);
        sides(&t.body, &mut has_in, &mut has_out);
        Some(Thing::Sub { joint_in, joint_out, has_in, has_out, label })
    }

    /// Expand a chain; gives the sides at its two ends.
    fn chain(&mut self, chain: &'a Chain, ctx: &Ctx) -> (Side, Side) {
        let mut first = self.elem(&chain.first, ctx);
        if let Some(lead) = chain.lead {
            first.ins.iter_mut().for_each(|i| i.postponed |= lead.postponed);
        }
        let mut last = first.clone();
        for (arrow, elem) in &chain.rest {
            if !self.step(arrow.span) {
                break;
            }
            let right = self.elem(elem, ctx);
            self.join(&last, &right, *arrow);
            last = right;
        }
        (first, last)
    }

    /// Lay pipes from `left` to `right`.
    fn join(&mut self, left: &Side, right: &Side, arrow: Arrow) {
        if left.broken || right.broken {
            self.broken = true;
            return;
        }
        if left.outs.is_empty() {
            self.broken = true;
            self.sink
                .error("nothing-leaves", arrow.span, format!("no task leaves {}", left.what))
                .help("end the chain before this arrow");
            return;
        }
        if right.ins.is_empty() {
            self.broken = true;
            self.sink
                .error("nothing-enters", arrow.span, format!("nothing can go into {}", right.what))
                .help("an `entry` begins a chain; pipes into a block lead to its first chain");
            return;
        }
        let room = MAX_PIPES.saturating_sub(self.net.edges.len());
        let pairs = match pair(&left.outs, &right.ins, arrow.all, room) {
            Ok(pairs) => pairs,
            Err(lonely) => {
                self.broken = true;
                match lonely {
                    crate::bundle::Unpaired::TooMany => {
                        self.fuel = 1;
                        self.step(arrow.span);
                    }
                    crate::bundle::Unpaired::Left(i) => {
                        self.lonely(left, right, &left.outs[i].cpus, true, arrow)
                    }
                    crate::bundle::Unpaired::Right(i) => {
                        self.lonely(left, right, &right.ins[i].cpus, false, arrow)
                    }
                }
                return;
            }
        };
        for (l, r) in pairs {
            let seq = self.net.edges.len() as u32;
            self.net.edges.push(Edge {
                tail: left.outs[l].tail.clone(),
                head: right.ins[r].head.clone(),
                postponed: arrow.postponed || right.ins[r].postponed,
                span: arrow.span,
                tail_key: vec![seq],
                head_key: vec![seq],
            });
        }
    }

    /// Report an end that belongs to nothing on the other side.
    fn lonely(&mut self, left: &Side, right: &Side, cpus: &CpuSet, is_left: bool, arrow: Arrow) {
        let (a, b) = if is_left { (left, right) } else { (right, left) };
        self.sink
            .error("no-match", arrow.span, format!("{} of CPUs {cpus} has no partner in {}", a.what, b.what))
            .help("an arrow joins elements whose CPUs contain one another; `-> all` joins every end with every other");
    }
}

/// Do the chains use `in` and `out`?
fn sides(chains: &[Chain], has_in: &mut bool, has_out: &mut bool) {
    for chain in chains {
        for elem in std::iter::once(&chain.first).chain(chain.rest.iter().map(|(_, e)| e)) {
            match elem {
                Elem::In { .. } => *has_in = true,
                Elem::Out { .. } => *has_out = true,
                Elem::Each(each) => sides(&each.body, has_in, has_out),
                _ => {}
            }
        }
    }
}
