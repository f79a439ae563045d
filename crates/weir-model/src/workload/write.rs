// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A workload as a file: what [`super::tomlfile`] reads.

use std::collections::BTreeSet;
use std::fmt::Write;

use weir_core::Clamps;
use weir_text::toml::quoted;

use super::rtapp::{DEADLINE_PRIORITY, IDLE_PRIORITY};
use super::{
    Arrivals, BarrierWait, Criticality, Dist, OnMiss, Op, Policy, Protocol, Shape, TaskSpec, Workload,
};
use crate::error::{Error, Result};
use crate::machine::MachineEvent;
use crate::scenario::Verb;

impl Workload {
    /// The workload as the text of a TOML file. Reading it gives a workload that does the same.
    ///
    /// # Errors
    /// The workload has something that the format has no words for, or only together with other files: graphs, profiles,
    /// a scenario, gangs, guests, several private timers of one task, activations.
    pub fn to_toml(&self) -> Result<String> {
        let lacks = |what: &str| {
            Error::workload(format!("a workload file cannot be written of {what}"))
                .help("use the file or generator that the workload came from")
        };
        if !self.dags.is_empty() {
            return Err(lacks("a workload with graphs"));
        }
        if !self.profiles.is_empty() {
            return Err(lacks("a workload with profiles"));
        }
        if !self.gangs.is_empty() {
            return Err(lacks("a workload with gangs"));
        }
        if !self.guests.is_empty() {
            return Err(lacks("a workload with guests"));
        }
        if self.scenario.is_some() {
            return Err(lacks("a workload with a scenario"));
        }
        let mut out = String::new();
        if !self.name.is_empty() {
            let _ = writeln!(out, "name = {}", quoted(&self.name));
        }
        if let Some(ns) = self.duration_ns {
            let _ = writeln!(out, "duration = \"{ns}ns\"");
        }
        self.objects(&mut out);
        for group in &self.fairness.groups {
            let _ = write!(out, "\n[[group]]\nname = {}\nweight = {}\n", quoted(&group.name), group.weight);
            if let Some(parent) = group.parent.checked_sub(1) {
                let _ = writeln!(out, "parent = {}", quoted(&self.fairness.groups[parent as usize].name));
            }
            if group.quota_ns > 0 {
                let _ = writeln!(out, "quota = \"{}ns\"", group.quota_ns);
            }
            if group.burst_ns > 0 {
                let _ = writeln!(out, "burst = \"{}ns\"", group.burst_ns);
            }
            let _ = writeln!(out, "period = \"{}ns\"", group.period_ns);
            clamps(group.clamps, &mut out);
        }
        let names = self.words();
        for (i, task) in (0..).zip(&self.tasks) {
            self.task(i, task, &names, &mut out, &lacks)?;
        }
        for (at, event) in &self.machine_events {
            let _ = write!(out, "\n[[machine_event]]\nat = \"{at}ns\"\n");
            let _ = match event {
                MachineEvent::Online(c) => writeln!(out, "online = {c}"),
                MachineEvent::Offline(c) => writeln!(out, "offline = {c}"),
                MachineEvent::Frequency(c, hz) => writeln!(out, "cpu = {c}\nfrequency = \"{hz}Hz\""),
                // A workload file cannot say it, and none does.
                MachineEvent::Battery(_) => Ok(()),
            };
        }
        Ok(out)
    }

    /// Names of the tasks; one that is forked is a word, and none comes twice.
    fn words(&self) -> Vec<String> {
        let mut used = BTreeSet::new();
        let word = |(i, t): (usize, &TaskSpec)| {
            let apart = |c: char| c.is_whitespace() || c.is_control() || matches!(c, ';' | '{' | '}');
            let mut name = if t.start_ns.is_none() { t.name.replace(apart, "_") } else { t.name.clone() };
            if name.is_empty() || !used.insert(name.clone()) {
                name = format!("{name}.{i}");
                used.insert(name.clone());
            }
            name
        };
        self.tasks.iter().enumerate().map(word).collect()
    }

    fn objects(&self, out: &mut String) {
        let mut table = |name: &str, rows: Vec<String>| {
            if !rows.is_empty() {
                let _ = write!(out, "\n[{name}]\n{}\n", rows.join("\n"));
            }
        };
        let channels = self.channels.iter().enumerate();
        table("channels", channels.map(|(i, c)| format!("{} = \"{}B\"", key(&c.0, 'c', i), c.1)).collect());
        let barriers = self.barriers.iter().enumerate();
        table("barriers", barriers.map(|(i, b)| format!("{} = {}", key(&b.0, 'b', i), b.1)).collect());
        let protocol = |(i, p): (usize, &Protocol)| {
            let word = match p {
                Protocol::None => return None,
                Protocol::Inherit => "inherit",
                Protocol::Ceiling => "ceiling",
                Protocol::Classic => "pcp",
                Protocol::Spin => "spin",
            };
            Some(format!("{} = \"{word}\"", key(&self.mutexes[i], 'm', i)))
        };
        table("mutexes", self.protocols.iter().enumerate().filter_map(protocol).collect());
    }

    fn task(
        &self,
        index: u32,
        task: &TaskSpec,
        names: &[String],
        out: &mut String,
        lacks: &dyn Fn(&str) -> Error,
    ) -> Result<()> {
        let name = &names[index as usize];
        let _ = write!(out, "\n[[task]]\nname = {}\n", quoted(name));
        if task.group != *name {
            let _ = writeln!(out, "group = {}", quoted(&task.group));
        }
        match task.start_ns {
            None => out.push_str("template = true\n"),
            Some(0) => {}
            Some(ns) => {
                let _ = writeln!(out, "start = \"{ns}ns\"");
            }
        }
        let real_time = matches!(task.policy, Policy::Fifo | Policy::RoundRobin);
        let fair = self.fairness.tasks.get(&index);
        let (word, fits) = match task.policy {
            Policy::Other => ("", (-19..=20).contains(&task.priority)),
            Policy::Batch => ("batch", (-19..=20).contains(&task.priority)),
            Policy::Idle => ("idle", task.priority == IDLE_PRIORITY),
            Policy::Fifo => ("fifo", (101..=199).contains(&task.priority)),
            Policy::RoundRobin => ("rr", (101..=199).contains(&task.priority)),
            Policy::Deadline { runtime_ns, deadline_ns, period_ns } => {
                let same = task.timing.is_some_and(|t| {
                    (t.wcet_ns, t.deadline_ns, t.period_ns) == (runtime_ns, deadline_ns, period_ns)
                });
                ("deadline", same && task.priority == DEADLINE_PRIORITY)
            }
        };
        if !fits {
            return Err(lacks(&format!("task `{name}`, whose priority does not belong to its policy")));
        }
        if !word.is_empty() {
            let _ = writeln!(out, "policy = \"{word}\"");
        }
        match task.policy {
            Policy::Fifo | Policy::RoundRobin => {
                let _ = writeln!(out, "priority = {}", task.priority - 100);
            }
            Policy::Other | Policy::Batch if task.priority != 0 => {
                let _ = writeln!(out, "nice = {}", -task.priority);
            }
            _ => {}
        }
        if let Some(weight) = fair.and_then(|f| f.weight).filter(|_| task.priority == 0) {
            let _ = writeln!(out, "weight = {weight}");
        }
        if let Some(ns) = fair.and_then(|f| f.slice_ns) {
            let _ = writeln!(out, "slice = \"{ns}ns\"");
        }
        clamps(fair.map(|f| f.clamps).unwrap_or_default(), out);
        if let Some(memory) = fair.and_then(|f| f.memory) {
            let _ = writeln!(out, "memory = {}\nmemory_bound = \"{}%\"", memory.node, memory.bound_pct);
        }
        if let Some(cpus) = &task.cpus {
            let list: Vec<String> = cpus.iter().map(|c| c.to_string()).collect();
            let _ = writeln!(out, "cpus = [{}]", list.join(", "));
        }
        if let Some(isa) = &task.isa {
            let _ = writeln!(out, "isa = {}", quoted(isa));
        }
        match task.on_miss {
            OnMiss::Continue => {}
            OnMiss::Abort => out.push_str("on_miss = \"abort\"\n"),
            OnMiss::Skip => out.push_str("on_miss = \"skip\"\n"),
        }
        let mut ops = &task.program[..];
        if let [Op::Loop { count }, first, body @ .., Op::LoopEnd] = ops
            && first.is_release()
        {
            jobs(first, *count, out);
            ops = body;
        } else if let [first, body @ ..] = ops
            && first.is_release()
        {
            jobs(first, Some(1), out);
            ops = body;
        }
        if ops.len() < task.program.len() {
            if let Some(timing) = task.timing {
                let _ = writeln!(out, "wcet = \"{}ns\"", timing.wcet_ns);
            }
            match self.criticality.get(&index) {
                None => {}
                Some(Criticality::Lo) => out.push_str("criticality = \"lo\"\n"),
                Some(Criticality::Hi { wcet_ns }) => {
                    let _ = write!(out, "criticality = \"hi\"\nwcet_hi = \"{wcet_ns}ns\"\n");
                }
            }
            if let Some(ns) = self.blocking.get(&index) {
                let _ = writeln!(out, "blocking = \"{ns}ns\"");
            }
        } else if task.timing.is_some() && !matches!(task.policy, Policy::Other) {
            return Err(lacks(&format!("task `{name}`, whose period is not that of its program")));
        }
        out.push_str("program = [\n");
        let mut line = String::new();
        for op in ops {
            let word = self
                .step(op, names, real_time)
                .ok_or_else(|| lacks(&format!("task `{name}`: a step of its program has no words")))?;
            if line.len() + word.len() > 100 {
                let _ = writeln!(out, "  {},", quoted(&line));
                line.clear();
            }
            if !line.is_empty() {
                line.push_str("; ");
            }
            line.push_str(&word);
        }
        if line.is_empty() && ops.is_empty() {
            line.push_str("run 1ns");
        }
        let _ = writeln!(out, "  {},\n]", quoted(&line));
        Ok(())
    }

    fn step(&self, op: &Op, names: &[String], real_time: bool) -> Option<String> {
        let object = |list: &[String], mark: char, i: u32| word(&list[i as usize], mark, i as usize);
        let mutex = |i: u32| object(&self.mutexes, 'm', i);
        let condition = |i: u32| object(&self.conditions, 'v', i);
        let event = |i: u32| object(&self.events, 'e', i);
        let flag = |i: u32| object(&self.flags, 'f', i);
        let channel = |i: u32| word(&self.channels[i as usize].0, 'c', i as usize);
        Some(match op {
            Op::Run { ns } => format!("run {ns}ns"),
            Op::RunBetween { min_ns, max_ns } => format!("run {min_ns}ns..{max_ns}ns"),
            Op::RunDrawn { dist } => format!("run {}", drawn(dist)?),
            Op::Runtime { ns } => format!("runtime {ns}ns"),
            Op::Memory { bytes } => format!("mem {bytes}B"),
            Op::Sleep { ns } => format!("sleep {ns}ns"),
            Op::Until { ns } => format!("until {ns}ns"),
            Op::Io { bytes } => format!("io {bytes}B"),
            Op::Timer { timer, period_ns, relative, shared } => {
                let mode = if *relative { "" } else { " absolute" };
                match shared {
                    true => format!("timer {period_ns}ns{mode} {}", object(&self.timers, 't', *timer)),
                    false if *timer == 0 => format!("timer {period_ns}ns{mode}"),
                    false => return None,
                }
            }
            Op::Lock { mutex: m } => format!("lock {}", mutex(*m)),
            Op::Unlock { mutex: m } => format!("unlock {}", mutex(*m)),
            Op::Wait { condition: c, mutex: m } => format!("wait {} {}", condition(*c), mutex(*m)),
            Op::Signal { condition: c } => format!("signal {}", condition(*c)),
            Op::Broadcast { condition: c } => format!("broadcast {}", condition(*c)),
            Op::Sync { condition: c, mutex: m } => format!("sync {} {}", condition(*c), mutex(*m)),
            Op::Barrier { barrier: b } => {
                let name = word(&self.barriers[*b as usize].0, 'b', *b as usize);
                let counter =
                    self.barrier_counter.get(b).map_or(String::new(), |how| format!(" {}", how.name()));
                match self.barrier_wait.get(b) {
                    Some(BarrierWait::Spin { ns }) => format!("barrier {name} spin {ns}ns{counter}"),
                    Some(BarrierWait::Yield { ns }) => format!("barrier {name} yield {ns}ns{counter}"),
                    None if counter.is_empty() => format!("barrier {name}"),
                    None => format!("barrier {name} spin 0ns{counter}"),
                }
            }
            Op::Suspend { event: e } => format!("suspend {}", event(*e)),
            Op::Resume { event: e } => format!("resume {}", event(*e)),
            Op::Yield => "yield".into(),
            Op::Write { channel: c, bytes } => format!("write {} {bytes}B", channel(*c)),
            Op::Read { channel: c, bytes } => format!("read {} {bytes}B", channel(*c)),
            Op::Raise { flag: f, by } => format!("raise {} {by}", flag(*f)),
            Op::SpinUntil { flag: f, per_iteration: true, value: 1 } => format!("spin {} each", flag(*f)),
            Op::SpinUntil { flag: f, per_iteration: false, value } => format!("spin {} {value}", flag(*f)),
            Op::Fork { template } => format!("fork {}", names[*template as usize]),
            Op::SetIsa { isa } => format!("isa {}", isa.as_deref().unwrap_or("native")),
            Op::SetPriority { priority } if real_time => format!("priority {}", priority - 100),
            Op::SetPriority { priority } => format!("nice {}", -priority),
            Op::SetAffinity { cpus: None } => "cpus all".into(),
            Op::SetAffinity { cpus: Some(cpus) } => {
                let list: Vec<String> = cpus.iter().map(|c| c.to_string()).collect();
                format!("cpus {}", list.join(","))
            }
            Op::Loop { count: None } => "loop {".into(),
            Op::Loop { count: Some(n) } => format!("loop {n} {{"),
            Op::LoopEnd => "}".into(),
            // The number is read from the first or the last word.
            Op::Marker { text, number } => {
                let words = [text.split(' ').next(), text.split(' ').next_back()];
                let read = words.into_iter().flatten().find_map(|w| w.parse::<u64>().ok()).unwrap_or(0);
                if read != *number {
                    return None;
                }
                format!("marker {text}")
            }
            Op::Request { topic } => format!("request {}", topic.name()),
            Op::Publish { what } => Verb::Publish((**what).clone()).to_string(),
            Op::SpinUntil { .. }
            | Op::Join { .. }
            | Op::Await { .. }
            | Op::Take { .. }
            | Op::Activate { .. } => return None,
            Op::Release { .. } | Op::Arrive { .. } | Op::Gang { .. } | Op::Group { .. } | Op::Vcpu { .. } => {
                return None;
            }
        })
    }
}

/// The keys of a release.
fn jobs(release: &Op, count: Option<u64>, out: &mut String) {
    let time = |out: &mut String, key: &str, ns: u64| {
        if ns > 0 {
            let _ = writeln!(out, "{key} = \"{ns}ns\"");
        }
    };
    match release {
        Op::Release { offset_ns, period_ns, deadline_ns, jitter_ns, extra_ns } => {
            time(out, "period", *period_ns);
            time(out, "deadline", *deadline_ns);
            time(out, "offset", *offset_ns);
            time(out, "jitter", *jitter_ns);
            time(out, "sporadic", *extra_ns);
        }
        Op::Arrive { arrivals, offset_ns, period_ns, deadline_ns, jitter_ns } => {
            let words = match &**arrivals {
                Arrivals::Poisson { mean_ns, least_ns: 0 } => format!("\"poisson {mean_ns}ns\""),
                Arrivals::Poisson { mean_ns, least_ns } => format!("\"poisson {mean_ns}ns {least_ns}ns\""),
                Arrivals::Bursts { count, gap_ns, pause_ns } => {
                    format!("\"bursts {count} {gap_ns}ns {pause_ns}ns\"")
                }
                Arrivals::Modulated { phases: [on, off] } if off.gap_ns == u64::MAX => {
                    format!("\"onoff {}ns {}ns {}ns\"", on.length_ns, off.length_ns, on.gap_ns)
                }
                Arrivals::Modulated { phases: [a, b] } => {
                    format!("\"mmpp {}ns {}ns {}ns {}ns\"", a.gap_ns, a.length_ns, b.gap_ns, b.length_ns)
                }
                Arrivals::List(times) => {
                    let list: Vec<String> = times.iter().map(|t| format!("\"{t}ns\"")).collect();
                    format!("[{}]", list.join(", "))
                }
            };
            let _ = writeln!(out, "arrivals = {words}");
            time(out, "period", *period_ns);
            if *deadline_ns != u64::MAX {
                time(out, "deadline", *deadline_ns);
            }
            time(out, "offset", *offset_ns);
            time(out, "jitter", *jitter_ns);
        }
        _ => {}
    }
    if let Some(count) = count {
        let _ = writeln!(out, "jobs = {count}");
    }
}

fn drawn(dist: &Dist) -> Option<String> {
    let max = dist.max_ns;
    if dist.clamp {
        return None;
    }
    Some(match &dist.shape {
        Shape::Normal { mean_ns, deviation_ns } => format!("normal {mean_ns}ns {deviation_ns}ns {max}ns"),
        Shape::Exponential { mean_ns } => format!("exponential {mean_ns}ns {max}ns"),
        Shape::Weibull { scale_ns, shape } => format!("weibull {scale_ns}ns {shape} {max}ns"),
        Shape::Histogram(parts) => {
            let mut out = String::from("histogram");
            let mut below = 0.0;
            for (low, high, sum) in parts {
                let _ = match low == high {
                    true => write!(out, " {low}ns:{}", sum - below),
                    false => write!(out, " {low}ns..{high}ns:{}", sum - below),
                };
                below = *sum;
            }
            out
        }
    })
}

/// An object's name as a word of a step; one of ours where it is none.
fn word(name: &str, mark: char, i: usize) -> String {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.is_empty() && name.len() <= 64 && name.chars().all(fits) {
        name.into()
    } else {
        format!("{mark}{i}")
    }
}

/// The keys of utilisation clamps, as far as they say something.
fn clamps(clamps: Clamps, out: &mut String) {
    if clamps.least > 0 {
        let _ = writeln!(out, "util_min = {}", clamps.least);
    }
    if clamps.most < Clamps::WHOLE {
        let _ = writeln!(out, "util_max = {}", clamps.most);
    }
}

fn key(name: &str, mark: char, i: usize) -> String {
    quoted(&word(name, mark, i))
}
