// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! More or less of the same load: copies of a workload side by side, or a part of its independent tasks.
//!
//! A scheduler's performance depends on the load per CPU. To predict it for a machine of another size, the load must grow
//! or shrink with the machine.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::CpuSet;

use super::{Op, TaskSpec, Workload};

/// An object that tasks meet at: its list, and its place there.
type Object = (u8, u32);

/// The objects that an op refers to, with access to their numbers.
fn objects(op: &mut Op) -> Vec<(u8, &mut u32)> {
    match op {
        Op::Lock { mutex } | Op::Unlock { mutex } => vec![(0, mutex)],
        Op::Wait { condition, mutex } | Op::Sync { condition, mutex } => vec![(1, condition), (0, mutex)],
        Op::Signal { condition } | Op::Broadcast { condition } => vec![(1, condition)],
        Op::Barrier { barrier } => vec![(2, barrier)],
        Op::Suspend { event }
        | Op::Resume { event }
        | Op::Await { event }
        | Op::Take { event }
        | Op::Activate { event } => {
            vec![(3, event)]
        }
        Op::Write { channel, .. } | Op::Read { channel, .. } => vec![(4, channel)],
        Op::Raise { flag, .. } | Op::SpinUntil { flag, .. } => vec![(5, flag)],
        Op::Timer { timer, shared: true, .. } => vec![(6, timer)],
        Op::Fork { template } => vec![(7, template)],
        Op::Join { dag, .. } => vec![(8, dag)],
        Op::Vcpu { guest, .. } => vec![(9, guest)],
        Op::Run { .. }
        | Op::RunBetween { .. }
        | Op::RunDrawn { .. }
        | Op::Runtime { .. }
        | Op::Memory { .. }
        | Op::Sleep { .. }
        | Op::Until { .. }
        | Op::Io { .. }
        | Op::Timer { .. }
        | Op::Release { .. }
        | Op::Arrive { .. }
        | Op::Yield
        | Op::SetIsa { .. }
        | Op::SetPriority { .. }
        | Op::SetAffinity { .. }
        | Op::Loop { .. }
        | Op::LoopEnd
        | Op::Gang { .. }
        | Op::Group { .. }
        | Op::Marker { .. }
        | Op::Publish { .. }
        | Op::Request { .. } => Vec::new(),
    }
}

fn shifted(cpus: &CpuSet, by: u32) -> CpuSet {
    cpus.iter().map(|c| c + by).collect()
}

impl Workload {
    /// `n` copies side by side; copy `k` is bound to CPUs `k * stride` further on, where tasks are bound. Machine
    /// events stay those of the first. O(size of the result); programs without objects are shared.
    pub fn copies(&self, n: u32, stride: u32) -> Workload {
        let mut all = self.clone();
        let lengths = [
            self.mutexes.len(),
            self.conditions.len(),
            self.barriers.len(),
            self.events.len(),
            self.channels.len(),
            self.flags.len(),
            self.timers.len(),
            self.tasks.len(),
            self.dags.len(),
            self.guests.len(),
        ]
        .map(|l| l as u32);
        // Mutexes without a protocol of their own may be missing at the end of that list.
        all.protocols.resize(self.mutexes.len(), super::Protocol::None);
        let protocols = all.protocols.clone();
        for k in 1..n {
            let name = |s: &String| format!("{s}'{k}");
            all.mutexes.extend(self.mutexes.iter().map(name));
            all.protocols.extend(protocols.iter().copied());
            all.conditions.extend(self.conditions.iter().map(name));
            all.events.extend(self.events.iter().map(name));
            all.flags.extend(self.flags.iter().map(name));
            all.timers.extend(self.timers.iter().map(name));
            all.barriers.extend(self.barriers.iter().map(|b| (name(&b.0), b.1)));
            all.barrier_wait.extend(self.barrier_wait.iter().map(|(b, how)| (b + k * lengths[2], *how)));
            all.barrier_counter
                .extend(self.barrier_counter.iter().map(|(b, how)| (b + k * lengths[2], *how)));
            all.gangs.extend(self.gangs.iter().map(|g| {
                let mut copy = g.clone();
                copy.manifest.set_name(&format!("{k}-{}", g.manifest.name()));
                copy.members.iter_mut().for_each(|t| *t += k * lengths[7]);
                copy
            }));
            all.guests.extend(self.guests.iter().map(|g| {
                let mut copy = g.clone();
                copy.name = name(&g.name);
                copy.vcpus.iter_mut().for_each(|t| *t += k * lengths[7]);
                copy
            }));
            all.channels.extend(self.channels.iter().map(|c| (name(&c.0), c.1)));
            all.dags.extend(self.dags.iter().cloned());
            all.criticality.extend(self.criticality.iter().map(|(t, c)| (t + k * lengths[7], *c)));
            all.blocking.extend(self.blocking.iter().map(|(t, ns)| (t + k * lengths[7], *ns)));
            all.profile_of.extend(self.profile_of.iter().map(|(t, p)| (t + k * lengths[7], *p)));
            all.wait_profile_of.extend(self.wait_profile_of.iter().map(|(t, p)| (t + k * lengths[7], *p)));
            let mut programs: BTreeMap<*const Op, Arc<[Op]>> = BTreeMap::new();
            let mut program = |old: &Arc<[Op]>| -> Arc<[Op]> {
                let made = programs.entry(old.as_ptr()).or_insert_with(|| {
                    let mut ops = old.to_vec();
                    for op in &mut ops {
                        for (list, index) in objects(op) {
                            *index += k * lengths[usize::from(list)];
                        }
                        if let Op::SetAffinity { cpus: Some(cpus) } = op {
                            *cpus = shifted(cpus, k * stride);
                        }
                    }
                    if ops[..] == old[..] { old.clone() } else { ops.into() }
                });
                made.clone()
            };
            all.tasks.extend(self.tasks.iter().map(|t| TaskSpec {
                name: name(&t.name),
                cpus: t.cpus.as_ref().map(|c| shifted(c, k * stride)),
                program: program(&t.program),
                ..t.clone()
            }));
        }
        all
    }

    /// Tasks that have to do with each other, directly or through others: sets of indices, by their first.
    /// O(steps of all programs).
    pub fn independent(&self) -> Vec<Vec<u32>> {
        let mut leader: Vec<usize> = (0..self.tasks.len()).collect();
        fn find(leader: &mut [usize], mut i: usize) -> usize {
            while leader[i] != i {
                leader[i] = leader[leader[i]];
                i = leader[i];
            }
            i
        }
        let mut user: BTreeMap<Object, usize> = BTreeMap::new();
        let mut known: BTreeMap<*const Op, Vec<Object>> = BTreeMap::new();
        for (i, task) in self.tasks.iter().enumerate() {
            let uses = known.entry(task.program.as_ptr()).or_insert_with(|| {
                let mut uses: Vec<Object> = Vec::new();
                for op in task.program.iter() {
                    uses.extend(objects(&mut op.clone()).into_iter().map(|(list, index)| (list, *index)));
                }
                uses.sort_unstable();
                uses.dedup();
                uses
            });
            for object in uses.iter() {
                let other = if object.0 == 7 { object.1 as usize } else { *user.entry(*object).or_insert(i) };
                let (a, b) = (find(&mut leader, i), find(&mut leader, other));
                leader[a.max(b)] = a.min(b);
            }
        }
        let mut sets: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for i in 0..self.tasks.len() {
            let first = find(&mut leader, i);
            sets.entry(first).or_default().push(i as u32);
        }
        sets.into_values().collect()
    }

    /// The first of each `whole` independent sets of tasks stay in proportion `part / whole`, the others never start.
    /// `None` where there are too few sets for that, or tasks are bound to CPUs.
    pub fn part(&self, part: u32, whole: u32) -> Option<Workload> {
        let bound = |t: &TaskSpec| {
            t.cpus.is_some() || t.program.iter().any(|op| matches!(op, Op::SetAffinity { cpus: Some(_) }))
        };
        let sets = self.independent();
        if part == 0 || sets.len() < whole as usize || self.tasks.iter().any(bound) {
            return None;
        }
        let mut small = self.clone();
        for (i, set) in sets.iter().enumerate() {
            // Evenly spread: the i-th set stays where the product passes a whole number.
            let stays = (i as u64 + 1) * u64::from(part) / u64::from(whole)
                > i as u64 * u64::from(part) / u64::from(whole);
            if !stays {
                set.iter().for_each(|t| small.tasks[*t as usize].start_ns = None);
            }
        }
        Some(small)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(spec: &str) -> Workload {
        let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        Workload::resolve(spec, 1, &none, &[]).expect("a generator call")
    }

    #[test]
    fn copies_have_objects_of_their_own() {
        let one = make("tokens:pairs=2,loops=3");
        let two = one.copies(2, 4);
        assert_eq!((two.tasks.len(), two.channels.len()), (8, 8));
        assert_eq!(two.independent().len(), 4);
        assert!(two.tasks[4].program.contains(&Op::Write { channel: 4, bytes: 4 }));
        assert_eq!(one.copies(1, 4).tasks, one.tasks);
        // Nothing to shift: the program is the same one.
        let alone = make("compute:tasks=2").copies(3, 1);
        assert!(Arc::ptr_eq(&alone.tasks[0].program, &alone.tasks[5].program));
    }

    #[test]
    fn bound_tasks_move_along() {
        let w = make("pipeline:threads=2,cpu=3").copies(2, 4);
        let cpus: Vec<Vec<u32>> =
            w.tasks.iter().map(|t| t.cpus.as_ref().expect("bound").iter().collect()).collect();
        assert_eq!(cpus, [[3], [3], [7], [7]]);
        assert_eq!(w.barriers.len(), 2);
    }

    #[test]
    fn parts_keep_whole_sets() {
        let w = make("tokens:pairs=8");
        assert_eq!(w.independent().len(), 8);
        let half = w.part(1, 2).expect("eight sets");
        let started: Vec<usize> = (0..16).filter(|t| half.tasks[*t].start_ns.is_some()).collect();
        assert_eq!(started.len(), 8);
        assert!(started.chunks(2).all(|p| p[1] == p[0] + 1 && p[0] % 2 == 0), "{started:?}");
        // All of hackbench hangs together through its barrier.
        assert_eq!(make("hackbench:groups=2").independent().len(), 1);
        assert!(make("hackbench:groups=2").part(1, 2).is_none());
    }
}
