// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The framework's central law: what the out-pipes of an instance hold follows from its in-pipes.
//!
//! For the components we know, [`check`] computes the batch meaning that the component's header states
//! and compares. A component it does not know (a user's own) is held to what its class promises.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::{Class, ComponentInfo, CpuSet, Msg, Ordering, TaskId, Topic, catalog};

use crate::Lab;

/// A CPU that has just asked for a task.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub cpu: u32,
    /// It got one: this task has left the pipes since they were brought up to date.
    pub got: bool,
}

/// Check every instance whose in-pipes are up to date. Of postponed pipes only those before the exit
/// of the CPU that has just asked are; a filter may have to let another task pass for the one that left.
///
/// The core's own invariants are checked once, after all the questions that this needs, instead of after each.
pub fn check(lab: &mut Lab, asked: Option<Asked>) -> Result<(), String> {
    lab.sched.set_checks(false);
    let found = check_instances(lab, asked);
    lab.sched.set_checks(true);
    lab.sched.check().map_err(|e| e.to_string())?;
    found
}

fn check_instances(lab: &mut Lab, asked: Option<Asked>) -> Result<(), String> {
    let fresh: BTreeSet<u32> = asked.map(|a| lab.upstream(a.cpu)).unwrap_or_default().into_iter().collect();
    let got = asked.is_some_and(|a| a.got);
    for i in 0..lab.plan.instances.len() {
        let inst = &lab.plan.instances[i];
        let filter = catalog().components[inst.class as usize].class == Class::Filter;
        let stale =
            |p: &u32| lab.plan.pipes[*p as usize].postponed && (!fresh.contains(p) || (filter && got));
        if inst.ins.iter().any(stale) || inst.ins.is_empty() {
            continue;
        }
        check_instance(lab, i).map_err(|e| format!("instance `{}`: {e}", lab.plan.instances[i].name))?;
    }
    Ok(())
}

/// Out-pipes of instances whose batch meaning leaves no choice, so that a fresh instance must agree.
pub fn determined(lab: &Lab) -> Vec<u32> {
    let mut sure = vec![true; lab.plan.pipes.len()];
    // Instances stand in topological order: what feeds an instance was looked at before.
    for inst in &lab.plan.instances {
        let class = catalog().components[inst.class as usize].class;
        let free =
            matches!(class, Class::Distribute | Class::Merge) || inst.ins.iter().any(|p| !sure[*p as usize]);
        for out in &inst.outs {
            sure[*out as usize] = !free && !lab.plan.pipes[*out as usize].postponed;
        }
        if inst.ins.iter().any(|p| lab.plan.pipes[*p as usize].postponed) {
            inst.outs.iter().for_each(|o| sure[*o as usize] = false);
        }
    }
    (0..sure.len() as u32).filter(|p| sure[*p as usize]).collect()
}

fn check_instance(lab: &mut Lab, i: usize) -> Result<(), String> {
    let inst = lab.plan.instances[i].clone();
    let info = &catalog().components[inst.class as usize];
    let ins: Vec<Vec<TaskId>> = inst.ins.iter().map(|p| lab.tasks(*p)).collect();
    let outs: Vec<Vec<TaskId>> = inst.outs.iter().map(|p| lab.sched.pipe_tasks_before(*p)).collect();
    let only = || ins[0].clone();
    match info.name.as_str() {
        "termination" => Ok(()),
        "head_queue" | "round_robin" | "fifo" | "burn" | "depth" | "rusty" | "watermark" => {
            same(&only(), &outs[0])
        }
        "fcfs" => same(&by(lab, only(), Topic::Lamport, |v| v), &outs[0]),
        "lcfs" => same(&by(lab, only(), Topic::Lamport, |v| !v), &outs[0]),
        "priority_order" => same(&by(lab, only(), Topic::Priority, |v| !(v ^ 1 << 63)), &outs[0]),
        "edf" => same(&by(lab, only(), Topic::Deadline, |v| if v == 0 { u64::MAX } else { v }), &outs[0]),
        "top" => same(&only().into_iter().take(inst.params[0] as usize).collect::<Vec<_>>(), &outs[0]),
        "affinity_filter" => {
            let pass = only().into_iter().filter(|t| allowed(lab, inst.outs[0], *t)).collect::<Vec<_>>();
            same(&pass, &outs[0])
        }
        "port_order" => same(&ins.concat(), &outs[0]),
        "task_distributor" | "task_mux" => {
            exact(lab, &ins, &outs, |lab, t| first_allowed(lab, &inst.outs, t))
        }
        "tenant_split" => {
            let own = lab.own_topics().into_iter().find(|t| t.name == "TENANT").ok_or("nobody has TENANT")?;
            let topic = lab.sched.topic_find(&own).map_err(|e| e.to_string())?;
            exact(lab, &ins, &outs, |lab, t| {
                let msg = Msg { task: Some(t), ..Msg::default() };
                let tenant = lab.sched.ask(0, topic, &msg).map_or(0, |r| r.data[0]);
                Some(if tenant < outs.len() as u64 { tenant as usize } else { 0 })
            })
        }
        "isa_demux" => {
            let labels: Vec<u64> = inst.outs.iter().map(|p| lab.plan.pipes[*p as usize].label).collect();
            exact(lab, &ins, &outs, |lab, t| {
                let isa = lab.ask(Topic::Isa, t).map_or(0, |m| m.value);
                labels.iter().position(|l| *l == isa)
            })
        }
        "load_balancer" | "weight_balancer" | "advanced_balancer" | "cache_balancer"
        | "capacity_balancer" | "cool_balancer" | "thrifty_balancer" | "work_stealing" => {
            let at = distributed(&ins, &outs)?;
            for t in ins.iter().flatten() {
                match at.get(t) {
                    Some(o) if !allowed(lab, inst.outs[*o], *t) => {
                        return Err(format!("task {} is in out-pipe {o}, which it may not use", t.0));
                    }
                    None if first_allowed(lab, &inst.outs, *t).is_some() => {
                        return Err(format!("task {} is withheld without need", t.0));
                    }
                    _ => {}
                }
            }
            Ok(())
        }
        _ => by_class(info, &ins, &outs),
    }
}

/// What the class alone promises.
fn by_class(info: &ComponentInfo, ins: &[Vec<TaskId>], outs: &[Vec<TaskId>]) -> Result<(), String> {
    let Some(out) = outs.first() else { return Ok(()) };
    match (info.class, info.ordering) {
        (Class::Order, Ordering::Keep) => same(&ins.concat(), out),
        (Class::Order | Class::Merge, _) => {
            let sorted = |mut v: Vec<TaskId>| {
                v.sort();
                v
            };
            same(&sorted(ins.concat()), &sorted(out.clone()))
        }
        _ => distributed(ins, outs).map(drop),
    }
}

fn same(want: &[TaskId], have: &[TaskId]) -> Result<(), String> {
    if want == have { Ok(()) } else { Err(format!("should hold {}, holds {}", list(want), list(have))) }
}

fn list(tasks: &[TaskId]) -> String {
    format!("{:?}", tasks.iter().map(|t| t.0).collect::<Vec<_>>())
}

/// Stably sorted by what the topic's responder says.
fn by(lab: &mut Lab, mut tasks: Vec<TaskId>, topic: Topic, key: impl Fn(u64) -> u64) -> Vec<TaskId> {
    tasks.sort_by_cached_key(|t| key(lab.ask(topic, *t).map_or(0, |m| m.value)));
    tasks
}

fn mask_of(lab: &mut Lab, t: TaskId) -> Option<CpuSet> {
    lab.ask(Topic::Affinity, t).and_then(|m| m.mask)
}

fn allowed(lab: &mut Lab, pipe: u32, t: TaskId) -> bool {
    let mask = mask_of(lab, t);
    lab.allows(pipe, mask.as_ref())
}

/// The first of the pipes that the task may use.
fn first_allowed(lab: &mut Lab, pipes: &[u32], t: TaskId) -> Option<usize> {
    let mask = mask_of(lab, t);
    pipes.iter().position(|p| lab.allows(*p, mask.as_ref()))
}

/// No task twice, none from nowhere, and every out-pipe keeps the order of every in-pipe. Gives the out-pipe of each task
/// that is in one.
fn distributed(ins: &[Vec<TaskId>], outs: &[Vec<TaskId>]) -> Result<BTreeMap<TaskId, usize>, String> {
    let mut places = BTreeMap::new();
    for (i, input) in ins.iter().enumerate() {
        places.extend(input.iter().enumerate().map(|(rank, t)| (*t, (i, rank))));
    }
    let mut at = BTreeMap::new();
    for (o, out) in outs.iter().enumerate() {
        // Behind which rank of each in-pipe the next task has to stand.
        let mut next = vec![0; ins.len()];
        for t in out {
            if at.insert(*t, o).is_some() {
                return Err(format!("task {} is in two out-pipes", t.0));
            }
            let Some(&(i, rank)) = places.get(t) else {
                return Err(format!("task {} in out-pipe {o} is in no in-pipe", t.0));
            };
            if rank < next[i] {
                let here: Vec<TaskId> = out.iter().filter(|t| ins[i].contains(t)).copied().collect();
                let order: Vec<TaskId> = ins[i].iter().filter(|t| out.contains(t)).copied().collect();
                return Err(format!(
                    "out-pipe {o} has {} of in-pipe {i}, which has them as {}",
                    list(&here),
                    list(&order)
                ));
            }
            next[i] = rank + 1;
        }
    }
    Ok(at)
}

/// Each task in the out-pipe that `want` names, or in none.
fn exact(
    lab: &mut Lab,
    ins: &[Vec<TaskId>],
    outs: &[Vec<TaskId>],
    want: impl Fn(&mut Lab, TaskId) -> Option<usize>,
) -> Result<(), String> {
    let at = distributed(ins, outs)?;
    for t in ins.iter().flatten() {
        let have = at.get(t).copied();
        let want = want(lab, *t);
        if have != want {
            return Err(format!("task {} is in out-pipe {have:?}, should be in {want:?}", t.0));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(ids: &[u32]) -> Vec<TaskId> {
        ids.iter().copied().map(TaskId).collect()
    }

    #[test]
    fn what_is_no_distribution_is_reported() {
        let ins = [tasks(&[1, 2, 3]), tasks(&[4, 5])];
        let found = |outs: &[&[u32]]| distributed(&ins, &outs.iter().map(|o| tasks(o)).collect::<Vec<_>>());
        let at = found(&[&[1, 4, 3], &[5, 2]]).expect("each order is kept");
        assert_eq!((at[&TaskId(3)], at[&TaskId(5)], at.len()), (0, 1, 5));
        assert_eq!(found(&[&[], &[2]]).expect("tasks may be withheld").len(), 1);
        for (outs, says) in [
            (&[&[1, 2][..], &[2]], "task 2 is in two out-pipes"),
            (&[&[1, 1], &[]], "task 1 is in two out-pipes"),
            (&[&[1, 9], &[]], "task 9 in out-pipe 0 is in no in-pipe"),
            (&[&[1], &[3, 4, 2]], "out-pipe 1 has [3, 2] of in-pipe 0, which has them as [2, 3]"),
            (&[&[5, 1, 4], &[]], "out-pipe 0 has [5, 4] of in-pipe 1, which has them as [4, 5]"),
        ] {
            assert_eq!(found(outs).expect_err("it is wrong"), says);
        }
    }
}
