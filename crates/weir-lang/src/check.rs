// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Rules about the network as a whole (`docs/language-checks.md` lists all of them).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use weir_core::{Catalog, Class, ComponentInfo, CpuSet, MachineShape, OWN_TOPICS, Ordering, PortLabel};

use crate::diag::Sink;
use crate::machine::list_or_none;
use crate::net::Net;
use crate::source::Span;
use crate::wire::{From, To, Wired};

/// Longest path, in pipes: `WEIR_MAX_DEPTH` in `weir/topology.h`.
const MAX_DEPTH: u32 = 32;

/// Help where tasks meet CPUs that cannot run them.
const SPLIT_BY_ISA: &str =
    "distinguish them first: `annotate isa;` and `entry -> split :: isa_demux; split[native] -> ...`";

/// Topics about what few tasks ask for. Without the answer a distributor places the others as well as with it.
const WISHES: [&str; 2] = ["UCLAMP", "MEMORY"];

/// Inputs of the rules.
pub(crate) struct Check<'a> {
    pub net: &'a Net,
    pub wired: &'a Wired,
    pub catalog: &'a Catalog,
    pub shape: &'a MachineShape,
    pub sink: &'a mut Sink,
    /// Start of the topology's text, for findings without a place of their own.
    pub file: Span,
}

impl<'a> Check<'a> {
    fn info(&self, i: usize) -> Option<&'a ComponentInfo> {
        self.net.insts[i].class.map(|c| &self.catalog.components[c])
    }

    /// Topics: at most one responder each, one for each topic that is needed.
    pub fn responders(&mut self, lost_annotator: bool) {
        let mut answers: BTreeMap<&str, usize> = BTreeMap::new();
        for i in 0..self.net.insts.len() {
            let Some(info) = self.info(i) else { continue };
            for topic in &info.answers {
                match answers.get(topic.as_str()) {
                    None => {
                        answers.insert(topic, i);
                    }
                    Some(&first) => {
                        let (a, b) = (&self.net.insts[first], &self.net.insts[i]);
                        let place = self.sink.place(a.span);
                        self.sink
                            .error(
                                "double-responder",
                                b.span,
                                format!("`{}` and `{}` both answer {topic}", a.name, b.name),
                            )
                            .label("second here")
                            .also(a.span, "first here")
                            .help(format!("a topic has one responder; keep this one or the one at {place}"));
                    }
                }
            }
        }
        if lost_annotator {
            return;
        }
        for i in 0..self.net.insts.len() {
            let Some(info) = self.info(i) else { continue };
            for topic in info.asks.iter().chain(info.needs.iter().filter(|t| !info.asks.contains(t))) {
                if answers.contains_key(topic.as_str()) {
                    continue;
                }
                let providers: Vec<&str> = self
                    .catalog
                    .components
                    .iter()
                    .filter(|c| c.answers.contains(topic) && c.ins.1 == 0 && c.outs.1 == 0)
                    .map(|c| c.name.as_str())
                    .collect();
                let help = match providers.is_empty() {
                    true => format!("no component of this build answers {topic}"),
                    false => format!("write `annotate {};`", providers.join(";` or `annotate ")),
                };
                let (name, span) = (&self.net.insts[i].name, self.net.insts[i].span);
                if info.needs.contains(topic) {
                    let message = format!("`{name}` needs {topic} but no instance answers it");
                    self.sink.error("missing-responder", span, message).help(help);
                } else if !providers.is_empty()
                    && info.class == Class::Distribute
                    && !WISHES.contains(&topic.as_str())
                {
                    // Without the answer the choice of a path is blind; orders merely fall back to arrival.
                    let message = format!("`{name}` asks {topic} but no instance answers it");
                    self.sink
                        .warning("no-responder", span, message)
                        .help(format!("it then treats all tasks alike; to change that {help}"));
                }
            }
        }
    }

    /// Topics that components bring along need places in the scheduler's table.
    pub fn topics(&mut self) {
        let mut brought: BTreeSet<u64> = BTreeSet::new();
        for i in 0..self.net.insts.len() {
            let Some(info) = self.info(i) else { continue };
            for topic in &info.topics {
                brought.insert(topic.uuid);
                if brought.len() > OWN_TOPICS {
                    let message = format!(
                        "`{}` brings the topic {} along, one too many",
                        self.net.insts[i].name, topic.name
                    );
                    self.sink.error("too-many-topics", self.net.insts[i].span, message).help(format!(
                        "a scheduler has room for {OWN_TOPICS} topics that components bring along; leave a component out, \
                         or let components share a topic"
                    ));
                    return;
                }
            }
        }
    }

    /// A server that is to withhold tasks without budget needs a component that does it.
    pub fn budgets(&mut self) {
        let any_asks = (0..self.net.insts.len())
            .filter_map(|i| self.info(i))
            .any(|info| info.asks.iter().any(|t| t == "BUDGET"));
        if any_asks {
            return;
        }
        for i in 0..self.net.insts.len() {
            let Some(info) = self.info(i).filter(|info| info.answers.iter().any(|t| t == "BUDGET")) else {
                continue;
            };
            let inst = &self.net.insts[i];
            let hard = info.param("hard").is_some_and(|(p, _)| inst.params.get(p) == Some(&1));
            if hard {
                let message =
                    format!("`{}` has hard budgets, and nothing holds tasks back without budget", inst.name);
                self.sink.warning("budget-unheeded", inst.span, message).help(
                    "write `entry -> throttle -> …`, or leave out `hard`: the tasks run on as they are",
                );
            }
        }
    }

    /// Every CPU has an exit and an entry, unless the topology leaves it out.
    pub fn coverage(&mut self) {
        let exits = self.union(self.net.exits.iter().map(|e| &e.cpus));
        let entries = self.union(self.net.entries.iter().map(|e| &e.cpus));
        let with_exit = |isa: u16| exits.iter().any(|c| self.shape.cpus[c as usize].isa == isa);
        let (mut error, mut warning) = (CpuSet::new(), CpuSet::new());
        let mut no_entry = CpuSet::new();
        for (c, cpu) in self.shape.cpus.iter().enumerate() {
            let c = c as u32;
            if self.net.left.contains(c) {
                continue;
            }
            if !exits.contains(c) {
                // A foreign CPU may stay idle if the topology knows nothing of its kind at all.
                let strict = cpu.online && (cpu.isa == 0 || with_exit(cpu.isa));
                if strict { &mut error } else { &mut warning }.insert(c);
            }
            let hosted = cpu.host.is_some_and(|h| entries.contains(h));
            if !entries.contains(c) && !hosted && exits.contains(c) && !self.net.claimed.contains(c) {
                no_entry.insert(c);
            }
        }
        let help = |set: &CpuSet| {
            let list = set.to_string();
            let phrase = if set.len() == 1 { format!("cpu {list}") } else { format!("cpus {list}") };
            format!("end a chain with `-> {phrase}`, or write `leave {phrase};` if that is meant")
        };
        if !error.is_empty() {
            let span = self.last_exit();
            self.sink
                .error(
                    "no-exit",
                    span,
                    format!("{} no exit and would stay idle", many(&error, "has", "have")),
                )
                .help(help(&error));
        }
        if !warning.is_empty() {
            let span = self.last_exit();
            self.sink
                .warning(
                    "no-exit",
                    span,
                    format!("{} no exit and will stay idle", many(&warning, "has", "have")),
                )
                .help(help(&warning));
        }
        if self.net.entries.is_empty() {
            self.sink
                .error("no-entry", self.file, "no task can enter this topology")
                .help("begin a chain with `entry -> ...`");
        } else if !no_entry.is_empty() {
            let span = self.net.entries[self.net.entries.len() - 1].span;
            self.sink.error("no-entry", span, format!("{} no entry", many(&no_entry, "has", "have"))).help(
                "tasks that these CPUs admit need a way in: write `entry each cpu` or one `entry` for all",
            );
        }
    }

    fn union<'s>(&self, sets: impl Iterator<Item = &'s Rc<CpuSet>>) -> CpuSet {
        let mut all = CpuSet::new();
        sets.for_each(|s| s.iter().for_each(|c| all.insert(c)));
        all
    }

    fn last_exit(&self) -> Span {
        self.net.exits.last().map_or(self.file, |e| e.span)
    }

    /// Everything leads to an exit and comes from an entry; demultiplexers send each instruction set
    /// to CPUs that have it.
    pub fn reach(&mut self, order: &[usize]) {
        self.exits_mixed();
        let behind = self.behind(order);
        for (i, set) in behind.iter().enumerate() {
            if self.net.insts[i].annotator || !set.is_empty() || self.wired.outs[i].is_empty() {
                continue;
            }
            self.sink
                .error(
                    "dead-end",
                    self.net.insts[i].span,
                    format!("no exit is behind `{}`", self.net.insts[i].name),
                )
                .help("tasks that arrive here would never run; let the chain end at `cpu` or `cpus`");
        }
        for (i, set) in behind.iter().enumerate() {
            let Some(info) = self.info(i) else { continue };
            for w in &self.wired.outs[i] {
                let wire = &self.wired.wires[*w];
                let to = self.wire_cpus(*w, &behind);
                if let Some(cpu) = wire.for_cpu.filter(|c| !to.contains(*c)) {
                    let message = format!(
                        "port `[cpu {cpu}]` of `{}` does not lead to CPU {cpu}",
                        self.net.insts[i].name
                    );
                    self.sink
                        .error("wrong-port", wire.span, message)
                        .help(format!("it leads to CPUs {}", list_or_none(&to)));
                }
                if info.out_label == PortLabel::Isa {
                    self.isa_port(i, *w, &to);
                }
            }
            if info.out_label == PortLabel::Isa {
                self.isa_missing(i);
            } else if info.class == Class::Distribute && !self.above_demux(i) {
                self.isa_mixed(i, set);
            }
        }
    }

    /// A port for an instruction set leads to CPUs of that set.
    fn isa_port(&mut self, i: usize, w: usize, to: &CpuSet) {
        let wire = &self.wired.wires[w];
        let isa = wire.label as usize;
        let name = &self.shape.isas[isa];
        if let Some(cpu) = to.iter().find(|&c| self.shape.cpus[c as usize].isa as usize != isa) {
            let other = &self.shape.isas[self.shape.cpus[cpu as usize].isa as usize];
            let message = format!(
                "port `[{name}]` of `{}` leads to CPU {cpu}, whose instruction set is {other}",
                self.net.insts[i].name
            );
            self.sink.error("wrong-isa", wire.span, message).help(format!(
                "restrict the following stages: `each cpu in {name} {{ ... }}` or `cpus in {name}`"
            ));
        }
    }

    /// A demultiplexer has a port for every instruction set of which there are CPUs.
    fn isa_missing(&mut self, i: usize) {
        let ports: BTreeSet<u64> = self.wired.outs[i].iter().map(|w| self.wired.wires[*w].label).collect();
        for (isa, name) in self.shape.isas.iter().enumerate() {
            let used = self
                .shape
                .cpus
                .iter()
                .enumerate()
                .any(|(c, cpu)| cpu.isa as usize == isa && !self.net.left.contains(c as u32));
            if used && !ports.contains(&(isa as u64)) {
                let inst = &self.net.insts[i];
                let message = format!(
                    "`{}` has no port for instruction set {name}: its tasks could reach no exit",
                    inst.name
                );
                self.sink
                    .error("isa-without-exit", inst.span, message)
                    .help(format!("add `{}[{name}] -> ... -> cpus in {name};`", inst.name));
            }
        }
    }

    /// Does a demultiplexer come after this instance, on any path?
    fn above_demux(&self, i: usize) -> bool {
        let mut stack = vec![i];
        let mut seen = BTreeSet::new();
        while let Some(i) = stack.pop() {
            if !seen.insert(i) {
                continue;
            }
            if self.info(i).is_some_and(|c| c.out_label == PortLabel::Isa) {
                return true;
            }
            // Anything interesting lies near; wide graphs are not searched to their ends.
            if seen.len() > 10_000 {
                return false;
            }
            stack.extend(self.wired.outs[i].iter().filter_map(|w| match self.wired.wires[*w].to {
                To::Inst(t, _) => Some(t),
                To::Exit(_) => None,
            }));
        }
        false
    }

    /// A distributor that knows nothing of instruction sets sends tasks to CPUs of several.
    fn isa_mixed(&mut self, i: usize, cpus: &CpuSet) {
        if let Some(names) = self.isas(cpus) {
            let inst = &self.net.insts[i];
            let message =
                format!("`{}` sends tasks to CPUs of several instruction sets ({names})", inst.name);
            self.sink.warning("isa-mixed", inst.span, message).help(SPLIT_BY_ISA);
        }
    }

    /// CPUs of several instruction sets share an exit.
    fn exits_mixed(&mut self) {
        for exit in &self.net.exits {
            if let Some(names) = self.isas(&exit.cpus) {
                let message = format!("CPUs of several instruction sets share this exit ({names})");
                self.sink.warning("isa-mixed", exit.span, message).help(SPLIT_BY_ISA);
            }
        }
    }

    /// Names of the instruction sets of `cpus`, if there are several.
    fn isas(&self, cpus: &CpuSet) -> Option<String> {
        let isas: BTreeSet<u16> = cpus.iter().map(|c| self.shape.cpus[c as usize].isa).collect();
        let names: Vec<&str> = isas.iter().map(|i| self.shape.isas[*i as usize].as_str()).collect();
        (names.len() > 1).then(|| names.join(", "))
    }

    /// CPUs whose exits lie behind each instance.
    fn behind(&self, order: &[usize]) -> Vec<CpuSet> {
        let mut behind: Vec<CpuSet> = vec![CpuSet::new(); self.net.insts.len()];
        for &i in order.iter().rev() {
            let mut set = CpuSet::new();
            for w in &self.wired.outs[i] {
                self.wire_cpus(*w, &behind).iter().for_each(|c| set.insert(c));
            }
            behind[i] = set;
        }
        behind
    }

    fn wire_cpus(&self, w: usize, behind: &[CpuSet]) -> CpuSet {
        match self.wired.wires[w].to {
            To::Exit(e) => (*self.net.exits[e].cpus).clone(),
            To::Inst(t, _) => behind[t].clone(),
        }
    }

    /// On one path, a component that sorts again undoes an earlier one's order.
    pub fn orderings(&mut self, order: &[usize]) {
        // Places in the text, not instances: a path through 4,096 replicas has few of them.
        let mut sorted: Vec<Rc<BTreeMap<u32, usize>>> = vec![Rc::default(); self.net.insts.len()];
        let mut filters: Vec<Rc<BTreeMap<u32, usize>>> = vec![Rc::default(); self.net.insts.len()];
        for &i in order {
            let (mut above, mut filtered) = (self.merge(i, &sorted), self.merge(i, &filters));
            let inst = &self.net.insts[i];
            if let Some(info) = self.info(i) {
                if info.ordering == Ordering::Total && !above.is_empty() {
                    let names: Vec<String> =
                        above.values().map(|a| format!("`{}`", self.net.insts[*a].name)).collect();
                    let message =
                        format!("`{}` undoes the order that {} made", inst.name, names.join(" and "));
                    let mut note = self
                        .sink
                        .error("order-lost", inst.span, message)
                        .label("sorts all tasks again")
                        .help(
                            "of two components on one path the later must refine the earlier: remove one, let the \
                         coarser criterion come last, or let the two stand directly behind one another",
                        );
                    for first in above.values() {
                        note = note.also(self.net.insts[*first].span, "sorts before");
                    }
                }
                if info.ordering != Ordering::Keep {
                    Rc::make_mut(&mut above).insert(inst.site, i);
                }
                if info.class == Class::Filter {
                    if let Some(first) = filtered.values().next() {
                        let a = &self.net.insts[*first];
                        self.sink
                            .warning(
                                "filter-chain",
                                inst.span,
                                format!("`{}` after `{}` may leave no task at all", inst.name, a.name),
                            )
                            .also(a.span, "filters first")
                            .help(
                                "make sure that some tasks pass both, or give the others a path of their own",
                            );
                    }
                    Rc::make_mut(&mut filtered).insert(inst.site, i);
                }
            }
            (sorted[i], filters[i]) = (above, filtered);
        }
    }

    /// Union over the instances that feed `i`; shared where there is just one.
    fn merge(&self, i: usize, of: &[Rc<BTreeMap<u32, usize>>]) -> Rc<BTreeMap<u32, usize>> {
        let mut union: Rc<BTreeMap<u32, usize>> = Rc::default();
        for w in &self.wired.ins[i] {
            let From::Inst(f, _) = self.wired.wires[*w].from else { continue };
            if union.is_empty() {
                union = of[f].clone();
            } else if !Rc::ptr_eq(&union, &of[f]) && of[f].keys().any(|k| !union.contains_key(k)) {
                Rc::make_mut(&mut union).extend(of[f].iter());
            }
        }
        union
    }

    /// Instances with pipes are run by CPUs that share memory. CPUs run what lies between their
    /// entry and the next postponed pipes, and what lies between the last postponed pipes and
    /// their exit: a postponed pipe is a mailbox. Gives the coherence domain of each instance; an annotator
    /// has a copy in each.
    pub fn coherence(&mut self, order: &[usize]) -> Vec<u32> {
        let n = self.net.insts.len();
        let domain_of = self.shape.domains();
        if domain_of.iter().all(|d| *d == 0) {
            return vec![0; n];
        }
        // One CPU of each domain is enough; a third domain adds nothing.
        let add = |users: &mut BTreeMap<u32, u32>, more: &BTreeMap<u32, u32>| {
            for (domain, cpu) in more {
                if users.len() < 2 {
                    users.entry(*domain).or_insert(*cpu);
                }
            }
        };
        let of = |cpus: &CpuSet| {
            let mut domains = BTreeMap::new();
            for c in cpus.iter() {
                domains.entry(domain_of[c as usize]).or_insert(c);
            }
            domains
        };
        // CPUs before and behind each instance: those that are joined to it without a postponed pipe between two instances, and all.
        // A CPU writes its entry itself, so what it leads to is in the CPU's domain.
        let mut users: Vec<BTreeMap<u32, u32>> = vec![BTreeMap::new(); n];
        let mut before: Vec<BTreeMap<u32, u32>> = vec![BTreeMap::new(); n];
        for &i in order {
            for w in &self.wired.ins[i] {
                let wire = &self.wired.wires[*w];
                let (direct, all) = match wire.from {
                    From::Entry(e) => (Some(of(&self.net.entries[e].cpus)), None),
                    From::Inst(f, _) => {
                        ((!wire.postponed).then(|| users[f].clone()), Some(before[f].clone()))
                    }
                };
                add(&mut before[i], all.as_ref().or(direct.as_ref()).expect("one of them is there"));
                if let Some(direct) = direct {
                    add(&mut users[i], &direct);
                }
            }
        }
        let mut below: Vec<BTreeMap<u32, u32>> = vec![BTreeMap::new(); n];
        let mut behind: Vec<BTreeMap<u32, u32>> = vec![BTreeMap::new(); n];
        for &i in order.iter().rev() {
            for w in &self.wired.outs[i] {
                let wire = &self.wired.wires[*w];
                let (direct, all) = match wire.to {
                    To::Exit(e) => (Some(of(&self.net.exits[e].cpus)), None),
                    To::Inst(t, _) => ((!wire.postponed).then(|| below[t].clone()), Some(behind[t].clone())),
                };
                add(&mut behind[i], all.as_ref().or(direct.as_ref()).expect("one of them is there"));
                if let Some(direct) = direct {
                    add(&mut below[i], &direct);
                }
            }
        }
        for &i in order {
            let more = std::mem::take(&mut below[i]);
            add(&mut users[i], &more);
            let cpus: Vec<u32> = users[i].values().copied().collect();
            if let ([a, b], false) = (&cpus[..], self.net.insts[i].annotator) {
                let inst = &self.net.insts[i];
                let message =
                    format!("`{}` is used by CPU {a} and CPU {b}, which share no memory", inst.name);
                self.sink.error("no-shared-memory", inst.span, message).help(
                    "give each coherence domain its own instance, and let tasks cross through postponed pipes (`~>`) between two instances; \
                     an entry is no crossing",
                );
            }
        }
        // Between postponed pipes an instance is free: it stands with the CPUs that it leads to, or else with those that it comes from.
        let mut at = vec![0; n];
        for &i in order {
            let only = |of: &BTreeMap<u32, u32>| of.keys().next().copied().filter(|_| of.len() == 1);
            let from = || {
                self.wired.ins[i].iter().find_map(|w| match self.wired.wires[*w].from {
                    From::Inst(f, _) => Some(at[f]),
                    From::Entry(_) => None,
                })
            };
            let user = users[i].keys().next().copied();
            at[i] = user.or_else(|| only(&behind[i])).or_else(|| only(&before[i])).or_else(from).unwrap_or(0);
        }
        at
    }

    /// A task has a hook for each pipe of its path; the core has so many.
    pub fn depth(&mut self, depths: &[u32]) {
        let Some((w, depth)) = depths.iter().enumerate().max_by_key(|(_, d)| **d) else { return };
        if *depth >= MAX_DEPTH {
            let message = format!("a task would pass {} pipes in sequence", depth + 1);
            self.sink.error("too-deep", self.wired.wires[w].span, message).help(format!(
                "at most {MAX_DEPTH} are possible; combine stages or arrange them in parallel"
            ));
        }
    }

    /// Changes do not wait before an order that preempts (`waits()` of weir-core): an urgent task would not be noticed. Between coherence
    /// domains the arrow says that tasks cross, and nothing else is possible.
    pub fn postponed_orders(&mut self, order: &[usize], domains: &[u32]) {
        let preempts = |i: usize| self.info(i).is_some_and(|c| c.publishes.iter().any(|t| t == "PREEMPT"));
        let mut first: Vec<Option<usize>> =
            (0..self.net.insts.len()).map(|i| preempts(i).then_some(i)).collect();
        for &i in order.iter().rev() {
            if first[i].is_none() {
                first[i] = self.wired.outs[i].iter().find_map(|w| match self.wired.wires[*w].to {
                    To::Inst(t, _) => first[t],
                    To::Exit(_) => None,
                });
            }
        }
        for wire in self.wired.wires.iter().filter(|w| w.postponed) {
            let To::Inst(to, _) = wire.to else { continue };
            let crosses = matches!(wire.from, From::Inst(f, _) if domains[f] != domains[to]);
            if let (Some(who), false) = (first[to], crosses) {
                let message = format!(
                    "changes do not wait in this pipe: `{}` behind it preempts",
                    self.net.insts[who].name
                );
                self.sink
                    .warning("postponed-preemption", wire.span, message)
                    .also(self.net.insts[who].span, "has to see an urgent task at once")
                    .help("write `->`, which is what it does");
            }
        }
    }

    /// Between coherence domains tasks travel one by one, and come in this order to what is behind.
    pub fn lost_orders(&mut self, order: &[usize], domains: &[u32]) {
        let mut sorted: Vec<Option<usize>> = vec![None; self.net.insts.len()];
        for &i in order {
            let sorts = self.info(i).is_some_and(|c| c.ordering != Ordering::Keep);
            let before = || {
                self.wired.ins[i].iter().find_map(|w| match self.wired.wires[*w].from {
                    From::Inst(f, _) => sorted[f],
                    From::Entry(_) => None,
                })
            };
            sorted[i] = if sorts { Some(i) } else { before() };
        }
        for wire in &self.wired.wires {
            let (From::Inst(from, _), To::Inst(to, _)) = (wire.from, wire.to) else { continue };
            let Some(first) = sorted[from].filter(|_| domains[from] != domains[to]) else { continue };
            let inst = &self.net.insts[first];
            let message = format!(
                "tasks cross to other memory as they come: the order that `{}` made ends here",
                inst.name
            );
            self.sink
                .warning("order-crosses", wire.span, message)
                .also(inst.span, "sorts before")
                .help("sort behind the crossing, in each coherence domain");
        }
    }

    /// A postponed exit pipe has nothing to postpone.
    pub fn postponed_exits(&mut self) {
        for wire in &self.wired.wires {
            if wire.postponed && matches!(wire.to, To::Exit(_)) {
                self.sink
                    .warning(
                        "postponed-exit",
                        wire.span,
                        "nothing follows an exit pipe, so nothing is postponed",
                    )
                    .help("write `->`");
            }
        }
    }
}

/// `CPU 3 has`, `CPUs 0-2 have`.
fn many(set: &CpuSet, one: &str, more: &str) -> String {
    if set.len() == 1 { format!("CPU {set} {one}") } else { format!("CPUs {set} {more}") }
}

#[cfg(test)]
mod tests {
    use weir_core::{MachineShape, OWN_TOPICS, OwnTopic};

    use crate::testcat::catalog;
    use crate::{NoIncludes, Source, compile};

    /// More topics than a scheduler has room for: said by the checker, and not by the scheduler's memory.
    #[test]
    fn topics_that_components_bring_along_have_room() {
        let mut catalog = catalog();
        let mut annotator = catalog.get("affinity").expect("it is there").clone();
        annotator.answers.clear();
        let topic = |n: usize| OwnTopic {
            name: format!("TOPIC_{n}"),
            help: String::new(),
            uuid: 1000 + n as u64,
            version: 1,
            bytes: 0,
            fields: Vec::new(),
            from_users: true,
            from_components: true,
        };
        for n in 0..=OWN_TOPICS {
            let (name, topics) = (format!("herald{n}"), vec![topic(n), topic(0)]);
            catalog.components.push(weir_core::ComponentInfo { name, topics, ..annotator.clone() });
        }
        let with = |n: usize| {
            let heralds: Vec<String> = (0..n).map(|i| format!("herald{i}")).collect();
            let text = format!("annotate {};\nentry -> fifo -> cpus;", heralds.join(", "));
            compile(
                &Source { name: "t.weir".into(), text },
                &NoIncludes,
                &catalog,
                &MachineShape::flat(1),
                &[],
            )
        };
        with(OWN_TOPICS).expect("that many fit");
        let found = with(OWN_TOPICS + 1).expect_err("one too many");
        assert!(found.len() == 1 && found[0].code == "too-many-topics", "{found:?}");
        let last = format!("`herald{OWN_TOPICS}` brings the topic TOPIC_{OWN_TOPICS} along");
        assert!(found[0].message.contains(&last), "{found:?}");
    }
}
