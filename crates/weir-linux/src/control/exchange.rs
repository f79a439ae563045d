// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Replaces one instance in place: tasks queued elsewhere in the graph stay where they are.

use std::sync::{MutexGuard, PoisonError};

use weir_core::{Plan, catalog};

use super::{Control, binds, empty, input, report, takes, unknown};
use crate::error::{Error, Result};
use crate::layout::{LiveRequest, kind};
use crate::protocol::{Replace, Switched};
use crate::snapshot::SwapReport;

impl Control {
    /// Another component, or other parameters, for one instance.
    pub(super) fn replace(&self, wish: &Replace) -> Result<Switched> {
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let mut plan = self.facts().plan.clone();
        let idx = replacement(&mut plan, wish)?;
        takes(&plan, self.shape.nr_cpus())?;
        self.has(&plan)?;
        let (pipes, instances) = (plan.pipes.len() as u32, plan.instances.len() as u32);
        let source = self.facts().source.clone();
        let report = self.exchange(&desk, plan, idx, source)?;
        Ok(Switched { report, pipes, instances, ..Switched::default() })
    }

    /// Change over to `plan`, in the way that disturbs least: the only instance that differs is exchanged in its place, or
    /// else a new graph takes over. Says what was done, and whether it was the former.
    pub fn change(&self, plan: Plan, source: String) -> Result<(SwapReport, bool)> {
        takes(&plan, self.shape.nr_cpus())?;
        self.has(&plan)?;
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let only = {
            let now = &self.facts().plan;
            now.only_difference(&plan).filter(|i| {
                let answers =
                    |p: &Plan| catalog().class(p.instances[*i as usize].class).map(|c| c.answers.clone());
                answers(now) == answers(&plan)
            })
        };
        match only {
            Some(idx) => self.exchange(&desk, plan, idx, source).map(|r| (r, true)),
            None => self.swap_at(&desk, plan, source).map(|r| (r, false)),
        }
    }

    /// Have the kernel side put instance number `idx` of `plan` into its place.
    fn exchange(
        &self,
        desk: &MutexGuard<'_, ()>,
        plan: Plan,
        idx: u32,
        source: String,
    ) -> Result<SwapReport> {
        let instance = &plan.instances[idx as usize];
        let bytes: Vec<u8> = instance.params.iter().flat_map(|p| p.to_ne_bytes()).collect();
        let at = self.staging.0;
        if bytes.len() as u64 > self.staging.1 || !self.view.memory.write(at, &bytes) {
            return Err(Error::bug("parameters do not fit"));
        }
        let class = instance.class.into();
        let request = LiveRequest { kind: kind::REPLACE, plan: at, instance: idx, class, ..empty() };
        let done = self.post(desk, &request, &format!("replacing instance `{}`", instance.name))?;
        self.view.shared.set_bind(binds(&plan));
        let mut facts = self.facts();
        let report = report(&done, facts.plan.name.clone(), plan.name.clone());
        self.changes.add(&report, &plan);
        facts.plan = plan;
        facts.source = source;
        facts.last_swap = Some(report.clone());
        Ok(report)
    }
}

/// Change one instance in `plan`; its index.
fn replacement(plan: &mut Plan, wish: &Replace) -> Result<u32> {
    let before = plan.clone();
    let names: Vec<&str> = plan.instances.iter().map(|i| i.name.as_str()).collect();
    let idx = names
        .iter()
        .position(|n| *n == wish.instance)
        .ok_or_else(|| unknown("instance", &wish.instance, &names))?;
    let instance = &mut plan.instances[idx];
    let all = &catalog().components;
    let old = &all[instance.class as usize];
    let new = match &wish.component {
        None => old,
        Some(name) => catalog().get(name).ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|c| c.name.as_str()).collect();
            unknown("component", name, &known)
        })?,
    };
    for (what, n, (min, max)) in
        [("in", instance.ins.len() as u32, new.ins), ("out", instance.outs.len() as u32, new.outs)]
    {
        if n < min || n > max {
            return Err(input(
                format!(
                    "`{}` has {n} {what}-pipes, and component `{}` takes {min} to {max}",
                    wish.instance, new.name
                ),
                "switch to a topology that is wired for it: runweir switch",
            ));
        }
    }
    if new.answers != old.answers {
        return Err(input(
            format!("`{}` and `{}` do not answer the same topics", old.name, new.name),
            "switch to a topology that is checked as a whole: runweir switch",
        ));
    }
    if new.id != old.id {
        instance.class = new.id;
        instance.params = new.params.iter().map(|p| p.default).collect();
    }
    for (name, value) in &wish.params {
        let (i, info) = new.param(name).ok_or_else(|| {
            let known: Vec<&str> = new.params.iter().map(|p| p.name.as_str()).collect();
            unknown("parameter", name, &known)
        })?;
        let says = |why: String| {
            input(
                format!("{}.{name}: {why}", new.name),
                format!("`runweir components {}` lists the ranges", new.name),
            )
        };
        instance.params[i] = weir_lang::param_value(info, value).map_err(says)?;
    }
    new.accepts(&instance.params).map_err(|why| {
        input(
            format!("`{}` ({}): {why}", instance.name, new.name),
            "set both parameters in one request, or another value",
        )
    })?;
    if !before.waits_like(plan) {
        return Err(input(
            format!(
                "`{}` decides whether changes wait in a postponed pipe before it, and `{}` otherwise",
                old.name, new.name
            ),
            "switch to a topology that is built as a whole: runweir switch",
        ));
    }
    Ok(idx as u32)
}
