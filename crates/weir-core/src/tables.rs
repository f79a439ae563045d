// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! From a [`Plan`] to the tables of `weir/topology.h`, with what the core would otherwise search for:
//! the CPUs behind each pipe, the postponed pipes and pulling instances before each exit.

use std::collections::HashMap;

use crate::classes::catalog;
use crate::ffi::{CMask, CPlan, CPlanCpu, CPlanInstance, CPlanPipe};
use crate::plan::Plan;
use crate::sched::Error;

const NONE: u32 = u32::MAX;
const HAS_IDLE: u32 = 1 << 1;
const HAS_PAIRS: u32 = 1 << 9;

/// Owns the tables that a `struct weir_plan` points to.
pub struct Tables {
    pub(crate) pipes: Vec<CPlanPipe>,
    pub(crate) instances: Vec<CPlanInstance>,
    pub(crate) cpus: Vec<CPlanCpu>,
    pub(crate) links: Vec<u32>,
    pub(crate) lists: Vec<u32>,
    pub(crate) params: Vec<u64>,
    pub(crate) masks: Vec<CMask>,
    pub(crate) nr_slots: u32,
    pub(crate) nr_domains: u32,
    /// Number of the plan, where there are several domains.
    pub(crate) epoch: u32,
}

/// Name and class of an instance: by which a new one is recognised as its continuation.
pub type Identity = (String, u16);

impl Tables {
    /// `has` gives the entry points of a class; `present` are the instances of the graph in use.
    ///
    /// # Errors
    /// The plan makes no sense.
    pub fn new(plan: &Plan, has: &[u32], present: &[Identity]) -> Result<Self, Error> {
        check(plan, has)?;
        let mut t = Tables {
            pipes: Vec::with_capacity(plan.pipes.len()),
            instances: Vec::with_capacity(plan.instances.len()),
            cpus: Vec::with_capacity(plan.exits.len()),
            links: Vec::new(),
            lists: Vec::new(),
            params: Vec::new(),
            masks: Vec::new(),
            nr_slots: plan.depth(),
            nr_domains: plan.domains(),
            epoch: 0,
        };
        t.add_instances(plan, present);
        t.add_pipes(plan, has);
        t.add_cpus(plan, has);
        Ok(t)
    }

    /// Valid as long as `self` lives and stays where it is.
    pub fn as_c(&self) -> CPlan {
        CPlan {
            nr_pipes: self.pipes.len() as u32,
            nr_instances: self.instances.len() as u32,
            nr_cpus: self.cpus.len() as u32,
            nr_slots: self.nr_slots,
            pipes: self.pipes.as_ptr(),
            instances: self.instances.as_ptr(),
            cpus: self.cpus.as_ptr(),
            links: self.links.as_ptr(),
            lists: self.lists.as_ptr(),
            params: self.params.as_ptr(),
            masks: self.masks.as_ptr(),
            nr_masks: self.masks.len() as u32,
            nr_domains: self.nr_domains,
            epoch: self.epoch,
            unused: 0,
        }
    }

    /// Bytes that [`Tables::place`] writes.
    fn bytes(&self) -> usize {
        size_of::<CPlan>() + self.parts().map(|p| p.len().next_multiple_of(8)).sum::<usize>()
    }

    /// The tables' bytes, in the order of `CPlan`'s pointers.
    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        [
            as_bytes(&self.pipes),
            as_bytes(&self.instances),
            as_bytes(&self.cpus),
            as_bytes(&self.links),
            as_bytes(&self.lists),
            as_bytes(&self.params),
            as_bytes(&self.masks),
        ]
        .into_iter()
    }

    /// The plan and its tables, one after the other, as they stand in memory at `address`.
    fn place(&self, address: u64) -> Vec<u8> {
        let mut at = address + size_of::<CPlan>() as u64;
        let mut body = Vec::with_capacity(self.bytes());
        let mut place = [0u64; 7];
        for (part, place) in self.parts().zip(&mut place) {
            *place = at;
            body.extend_from_slice(part);
            body.resize(body.len().next_multiple_of(8), 0);
            at = address + (size_of::<CPlan>() + body.len()) as u64;
        }
        let plan = CPlan {
            pipes: place[0] as *const _,
            instances: place[1] as *const _,
            cpus: place[2] as *const _,
            links: place[3] as *const _,
            lists: place[4] as *const _,
            params: place[5] as *const _,
            masks: place[6] as *const _,
            ..self.as_c()
        };
        let mut all = as_bytes(std::slice::from_ref(&plan)).to_vec();
        all.append(&mut body);
        all
    }

    fn add_instances(&mut self, plan: &Plan, present: &[Identity]) {
        let by_name: HashMap<(&str, u16), u32> =
            present.iter().enumerate().map(|(i, (n, c))| ((n.as_str(), *c), i as u32)).collect();
        for inst in &plan.instances {
            let first_in = self.links.len() as u32;
            self.links.extend(&inst.ins);
            let first_out = self.links.len() as u32;
            self.links.extend(&inst.outs);
            let first_param = self.params.len() as u32;
            self.params.extend(&inst.params);
            self.instances.push(CPlanInstance {
                class: inst.class.into(),
                nr_in: inst.ins.len() as u32,
                nr_out: inst.outs.len() as u32,
                first_in,
                first_out,
                first_param,
                keep: by_name.get(&(inst.name.as_str(), inst.class)).copied().unwrap_or(NONE),
                domain: inst.domain,
            });
        }
    }

    /// CPUs behind an instance: those of its exits, and those behind its out-pipes. Instances come in
    /// topological order, so one pass from the back sees every receiver before its feeders. Behind an in-port of a pair
    /// there is what is behind the out-port.
    fn add_pipes(&mut self, plan: &Plan, has: &[u32]) {
        let mut behind = vec![CMask { word: [0; 64] }; plan.instances.len()];
        for (cpu, exit) in plan.exits.iter().enumerate() {
            if let Some(exit) = exit {
                let to = plan.pipes[*exit as usize].to.0 as usize;
                behind[to].word[cpu / 64] |= 1 << (cpu % 64);
            }
        }
        let mut at: Vec<CMask> = vec![CMask { word: [0; 64] }; plan.pipes.len()];
        for i in (0..plan.instances.len()).rev() {
            let inst = &plan.instances[i];
            let mut own = behind[i];
            for out in &inst.outs {
                own.word.iter_mut().zip(at[*out as usize].word).for_each(|(a, b)| *a |= b);
            }
            behind[i] = own;
            let pairs = has[inst.class as usize] & HAS_PAIRS != 0 && inst.ins.len() == inst.outs.len();
            for (port, p) in inst.ins.iter().enumerate() {
                at[*p as usize] = if pairs { at[inst.outs[port] as usize] } else { own };
            }
        }
        let mut index: HashMap<CMask, u32> = HashMap::new();
        let waits = waits(plan);
        for (((pipe, waits), mask), home) in plan.pipes.iter().zip(waits).zip(at).zip(plan.homes()) {
            let mask = *index.entry(mask).or_insert_with(|| {
                self.masks.push(mask);
                self.masks.len() as u32 - 1
            });
            self.pipes.push(CPlanPipe {
                slot: pipe.depth,
                keyed: pipe.keyed.into(),
                postponed: waits.into(),
                from: pipe.from.map_or(NONE, |f| f.0),
                to: pipe.to.0,
                to_port: pipe.to.1,
                mask,
                home: home.unwrap_or(NONE),
                label: pipe.label,
            });
        }
    }

    fn add_cpus(&mut self, plan: &Plan, has: &[u32]) {
        let waits = waits(plan);
        let postponed = waits.contains(&true);
        let pulls = plan.instances.iter().any(|i| has[i.class as usize] & HAS_IDLE != 0);
        let mut walked: HashMap<u32, Upstream> = HashMap::new();
        for (i, exit) in plan.exits.iter().enumerate() {
            let shape = plan.cpus.get(i).copied().unwrap_or_default();
            let mut cpu = CPlanCpu {
                entry: plan.entries[i],
                exit: exit.unwrap_or(NONE),
                core: shape.core,
                llc: shape.llc,
                node: shape.node,
                isa: shape.isa.into(),
                capacity: shape.capacity,
                domain: shape.domain,
                ..CPlanCpu::default()
            };
            if let Some(exit) = exit.filter(|_| postponed || pulls) {
                let up = walked.entry(exit).or_insert_with(|| {
                    let (p, i) = upstream(plan, has, &waits, exit);
                    let first_postponed = self.lists.len() as u32;
                    self.lists.extend(&p);
                    let first_puller = self.lists.len() as u32;
                    self.lists.extend(&i);
                    Upstream {
                        first_postponed,
                        nr_postponed: p.len() as u32,
                        first_puller,
                        nr_puller: i.len() as u32,
                    }
                });
                cpu.first_postponed = up.first_postponed;
                cpu.nr_postponed = up.nr_postponed;
                cpu.first_puller = up.first_puller;
                cpu.nr_puller = up.nr_puller;
            }
            self.cpus.push(cpu);
        }
    }
}

/// The bytes of plain records without padding.
pub(crate) fn as_bytes<T>(records: &[T]) -> &[u8] {
    // SAFETY: used for `#[repr(C)]` records of integers (and, in `CPlan`, addresses) that name their padding.
    unsafe { std::slice::from_raw_parts(records.as_ptr().cast(), size_of_val(records)) }
}

/// A `struct weir_plan` with its tables, for a scheduler that runs in other hands: it reads them there.
pub struct Image {
    tables: Tables,
}

impl Image {
    /// `present` is the plan of the graph in use, whose instances go on under the same name and class.
    pub fn new(plan: &Plan, present: Option<&Plan>) -> Result<Self, Error> {
        let has: Vec<u32> = crate::classes::class_table().iter().map(|c| c.has).collect();
        let present: Vec<Identity> = present
            .map(|p| p.instances.iter().map(|i| (i.name.clone(), i.class)).collect())
            .unwrap_or_default();
        Ok(Image { tables: Tables::new(plan, &has, &present)? })
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        self.tables.bytes()
    }

    /// The bytes to be put at `address`, which is a multiple of 8; the plan stands at their beginning.
    pub fn at(&self, address: u64) -> Vec<u8> {
        self.tables.place(address)
    }
}

struct Upstream {
    first_postponed: u32,
    nr_postponed: u32,
    first_puller: u32,
    nr_puller: u32,
}

/// Which pipes are postponed in effect. A component that preempts has to see a task to know that it is urgent, so changes for it do not
/// wait until a busy CPU asks: that may be as long as its task runs.
pub(crate) fn waits(plan: &Plan) -> Vec<bool> {
    let preempts =
        |class: u16| catalog().class(class).is_some_and(|c| c.publishes.iter().any(|t| t == "PREEMPT"));
    let mut urgent: Vec<bool> = plan.instances.iter().map(|i| preempts(i.class)).collect();
    // Instances come after those that feed them.
    for i in (0..plan.instances.len()).rev() {
        urgent[i] |= plan.instances[i].outs.iter().any(|p| urgent[plan.pipes[*p as usize].to.0 as usize]);
    }
    plan.pipes.iter().map(|p| p.postponed && !urgent[p.to.0 as usize]).collect()
}

/// Postponed pipes before (and including) `exit`, shallow first, and instances with `on_idle`, nearest first. The walk ends at pipes from
/// other coherence domains: what stands before them is a gap in this domain's tables.
fn upstream(plan: &Plan, has: &[u32], waits: &[bool], exit: u32) -> (Vec<u32>, Vec<u32>) {
    let domain = plan.instances[plan.pipes[exit as usize].to.0 as usize].domain;
    let mut pipes = vec![exit];
    let mut seen_pipe = vec![false; plan.pipes.len()];
    let mut seen_inst = vec![false; plan.instances.len()];
    seen_pipe[exit as usize] = true;
    let (mut postponed, mut pullers) = (Vec::new(), Vec::new());
    let mut next = 0;
    while next < pipes.len() {
        let p = pipes[next];
        next += 1;
        if waits[p as usize] {
            postponed.push(p);
        }
        let Some((from, _)) = plan.pipes[p as usize].from else { continue };
        if plan.instances[from as usize].domain != domain {
            continue;
        }
        if std::mem::replace(&mut seen_inst[from as usize], true) {
            continue;
        }
        if has[plan.instances[from as usize].class as usize] & HAS_IDLE != 0 {
            pullers.push(from);
        }
        for &i in &plan.instances[from as usize].ins {
            if !std::mem::replace(&mut seen_pipe[i as usize], true) {
                pipes.push(i);
            }
        }
    }
    postponed.sort_by_key(|p| (plan.pipes[*p as usize].depth, *p));
    (postponed, pullers)
}

fn bad(message: String) -> Error {
    Error { code: 2, message }
}

/// Indices in range, instances in topological order: what the C side relies on.
fn check(plan: &Plan, has: &[u32]) -> Result<(), Error> {
    let (np, ni) = (plan.pipes.len() as u32, plan.instances.len() as u32);
    if plan.entries.len() != plan.exits.len() {
        return Err(bad("the plan names entries and exits for different numbers of CPUs".into()));
    }
    let pipe_ok = |p: &u32| *p < np;
    if !plan.entries.iter().all(pipe_ok) || !plan.exits.iter().flatten().all(pipe_ok) {
        return Err(bad("an entry or exit names a pipe that does not exist".into()));
    }
    for i in &plan.instances {
        if i.class as usize >= has.len() || !i.ins.iter().chain(&i.outs).all(pipe_ok) {
            return Err(bad(format!("instance `{}` has an unknown class or pipe", i.name)));
        }
        if let Some(Err(why)) = catalog().class(i.class).map(|c| c.accepts(&i.params)) {
            return Err(Error { code: 11, message: format!("instance `{}`: {why}", i.name) });
        }
    }
    for p in &plan.pipes {
        let from_ok = p.from.is_none_or(|f| f.0 < ni && f.0 < p.to.0);
        if p.to.0 >= ni || !from_ok {
            return Err(bad(format!("pipe `{}` does not lead forward", p.name)));
        }
    }
    apart(plan)
}

/// CPUs reach only what is in their own coherence domain, and only a postponed pipe leads from one to another.
fn apart(plan: &Plan) -> Result<(), Error> {
    let domain = |instance: u32| plan.instances[instance as usize].domain;
    for p in &plan.pipes {
        if p.from.is_some_and(|f| domain(f.0) != domain(p.to.0)) && !p.postponed {
            return Err(bad(format!(
                "pipe `{}` leads to another coherence domain and is not postponed",
                p.name
            )));
        }
    }
    for (cpu, shape) in plan.cpus.iter().enumerate().take(plan.entries.len()) {
        for pipe in [Some(plan.entries[cpu]), plan.exits[cpu]].into_iter().flatten() {
            let pipe = &plan.pipes[pipe as usize];
            if domain(pipe.to.0) != shape.domain {
                return Err(bad(format!("pipe `{}` of CPU {cpu} is in another coherence domain", pipe.name)));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::{self, CSched, CSwapStats};
    use crate::{Config, PlanCpu, PlanInstance, PlanPipe, Sched};
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    const BYTES: usize = 16 << 20;
    const STAGING: usize = 1 << 20;

    /// `entry -> fifo -> termination` for one CPU; `fifo` may have another name.
    fn plan(name: &str) -> Plan {
        let class = |name: &str| {
            let c = crate::catalog().get(name).expect("a component of the catalogue");
            (c.id, c.params.iter().map(|p| p.default).collect::<Vec<_>>())
        };
        let instance = |name: &str, component: &str, ins: Vec<u32>, outs: Vec<u32>| {
            let (class, params) = class(component);
            PlanInstance { name: name.into(), class, params, domain: 0, ins, outs }
        };
        let pipe = |name: &str, from, to, depth| PlanPipe {
            name: name.into(),
            keyed: false,
            postponed: false,
            from,
            to,
            label: 0,
            depth,
        };
        Plan {
            name: name.into(),
            pipes: vec![pipe("entry", None, (0, 0), 0), pipe("out", Some((0, 0)), (1, 0), 1)],
            instances: vec![
                instance(name, "head_queue", vec![0], vec![1]),
                instance("end", "termination", vec![1], vec![]),
            ],
            entries: vec![0],
            exits: vec![Some(1)],
            cpus: vec![PlanCpu { capacity: 1024, ..PlanCpu::default() }],
        }
    }

    /// The way of a live scheduler: set up in given memory, later plans as bytes behind the core's part.
    #[test]
    fn a_plan_placed_in_memory_is_what_the_core_builds() {
        let layout = Layout::from_size_align(BYTES, 4096).expect("a power of two");
        // SAFETY: not of size zero.
        let memory = unsafe { alloc_zeroed(layout) };
        let config = Config { nr_cpus: 1, arena_bytes: BYTES - STAGING, checks: true, oplog: false, seed: 1 };
        // SAFETY: zeroed, aligned, ours until the end.
        let mut sched = unsafe { Sched::within(&config, memory) }.expect("fits");
        assert_eq!(sched.address(), memory as u64);
        let own = sched.alloc(1000).expect("fits");
        assert!((memory as u64..memory as u64 + (BYTES - STAGING) as u64).contains(&own));
        let (first, second) = (plan("first"), plan("second"));
        sched.load(&first).expect("a sound plan");
        let tasks: Vec<_> = (0..3).map(|i| sched.task_new(0, i).expect("memory")).collect();
        tasks.iter().for_each(|t| sched.admit(0, *t).expect("a new task"));
        for (next, kept) in [(&second, 1), (&second, 2)] {
            let present = if kept == 1 { &first } else { &second };
            let image = Image::new(next, Some(present)).expect("a sound plan");
            // SAFETY: the staging area is ours.
            let at = unsafe { memory.add(BYTES - STAGING) };
            let bytes = image.at(at as u64);
            assert_eq!(bytes.len(), image.bytes());
            let mut stats = CSwapStats::default();
            // SAFETY: the bytes fit; the scheduler is valid, and the plan stands at `at`.
            let code = unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len());
                ffi::weir_swap(sched.address() as *mut CSched, 0, at.cast(), &mut stats)
            };
            assert_eq!((code, stats.kept, stats.represented), (0, kept, 3));
            sched.check().expect("all invariants hold");
        }
        for task in tasks {
            assert_eq!(sched.pick(0, 0).expect("a task").task, task);
            sched.block(0, task).expect("it runs");
        }
        sched.hand_over();
        // SAFETY: of this layout; nobody uses it any more.
        unsafe { dealloc(memory, layout) };
    }

    #[test]
    fn a_plan_that_leads_nowhere_is_refused() {
        let mut wrong = plan("wrong");
        wrong.pipes[1].to = (7, 0);
        assert!(Image::new(&wrong, None).is_err());
    }
}
