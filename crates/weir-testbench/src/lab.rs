// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A scheduler on the bench: a runtime with nothing of its own, whose tasks do what the test says and
//! whose pipes can be looked into.

use weir_core::{
    Config, Counters, CpuSet, MachineShape, Msg, OutMsg, OwnTopic, Picked, PipeIdx, Plan, Sched, SwapStats,
    TaskId, Topic, catalog,
};
use weir_lang::{NoIncludes, Set, Source};

/// Address space of a lab's arena.
const ARENA: usize = 256 << 20;

/// Compile a topology for a machine, or say why not, as the command line would.
pub fn compile(name: &str, text: &str, shape: &MachineShape) -> Result<Plan, String> {
    compile_with(name, text, shape, &[])
}

/// As [`compile`], with parameters set.
pub fn compile_with(name: &str, text: &str, shape: &MachineShape, sets: &[Set]) -> Result<Plan, String> {
    let source = Source { name: format!("{name}.weir"), text: text.into() };
    weir_lang::compile(&source, &NoIncludes, catalog(), shape, sets)
        .map(|c| c.plan)
        .map_err(|all| all.iter().map(|d| format!("{d}\n")).collect())
}

/// One scheduler, its machine and what runs on it.
pub struct Lab {
    pub sched: Sched,
    pub shape: MachineShape,
    pub plan: Plan,
    /// Task that each CPU runs.
    pub running: Vec<Option<TaskId>>,
    pub online: Vec<bool>,
    /// Messages for the runtime that no test has looked at yet.
    pub messages: Vec<OutMsg>,
    /// CPUs behind each pipe.
    behind: Vec<CpuSet>,
}

impl Lab {
    /// All invariants are checked after every call.
    pub fn new(plan: Plan, shape: MachineShape) -> Result<Self, String> {
        let nr_cpus = shape.nr_cpus();
        let config = Config { nr_cpus, arena_bytes: ARENA, checks: true, oplog: false, seed: 1 };
        let mut sched = Sched::new(&config).map_err(|e| e.to_string())?;
        sched.load(&plan).map_err(|e| e.to_string())?;
        let mut lab = Lab {
            sched,
            behind: cpus_behind(&plan),
            plan,
            running: vec![None; nr_cpus as usize],
            online: vec![true; nr_cpus as usize],
            messages: Vec::new(),
            shape,
        };
        for cpu in 0..nr_cpus {
            if !lab.shape.cpus[cpu as usize].online {
                lab.cpu_status(cpu, false)?;
            }
        }
        lab.messages.clear();
        Ok(lab)
    }

    /// Compile and load.
    pub fn from_text(text: &str, shape: MachineShape) -> Result<Self, String> {
        Self::new(compile("test", text, &shape)?, shape)
    }

    /// A component's timer is due: a CPU that shares memory with it calls.
    pub fn expire(&mut self, handle: u32) {
        let domain = self.plan.instances[handle as usize].domain;
        let cpu = self.plan.cpus.iter().position(|c| c.domain == domain).unwrap_or(0);
        self.sched.timer_expired(cpu as u32, handle);
    }

    /// Every coherence domain handles what was sent to it, and what is sent meanwhile.
    pub fn poll_remote(&mut self) {
        while self.sched.remote_waiting() {
            (0..self.shape.nr_cpus()).for_each(|cpu| self.sched.poll_remote(cpu));
        }
    }

    fn done(&mut self, r: Result<(), weir_core::Error>) -> Result<(), String> {
        self.sched.drain_messages(&mut self.messages);
        r.map_err(|e| e.to_string())
    }

    /// A task that does not run yet.
    pub fn create(&mut self, cpu: u32) -> Result<TaskId, String> {
        let t = self.sched.task_new(cpu, 0).map_err(|e| e.to_string())?;
        self.sched.drain_messages(&mut self.messages);
        Ok(t)
    }

    pub fn admit(&mut self, cpu: u32, t: TaskId) -> Result<(), String> {
        let r = self.sched.admit(cpu, t);
        self.done(r)
    }

    pub fn unblock(&mut self, cpu: u32, t: TaskId) -> Result<(), String> {
        let r = self.sched.unblock(cpu, t);
        self.done(r)
    }

    /// The CPU takes its next task; it must have given up the one before.
    pub fn pick(&mut self, cpu: u32) -> Result<Option<Picked>, String> {
        if let Some(t) = self.running[cpu as usize] {
            return Err(format!("CPU {cpu} runs task {} still", t.0));
        }
        if !self.online[cpu as usize] {
            return Err(format!("CPU {cpu} is offline"));
        }
        let picked = self.sched.pick(cpu, cpu);
        self.running[cpu as usize] = picked.map(|p| p.task);
        self.done(Ok(()))?;
        Ok(picked)
    }

    /// CPU that runs the task.
    pub fn cpu_of(&self, t: TaskId) -> Option<u32> {
        self.running.iter().position(|r| *r == Some(t)).map(|c| c as u32)
    }

    fn stop(&mut self, t: TaskId) -> u32 {
        let cpu = self.cpu_of(t);
        if let Some(cpu) = cpu {
            self.running[cpu as usize] = None;
        }
        cpu.unwrap_or(0)
    }

    /// The task gives up its CPU and stays schedulable.
    pub fn relinquish(&mut self, t: TaskId) -> Result<(), String> {
        let cpu = self.stop(t);
        let r = self.sched.relinquish(cpu, t);
        self.done(r)
    }

    pub fn block(&mut self, t: TaskId) -> Result<(), String> {
        let cpu = self.stop(t);
        let r = self.sched.block(cpu, t);
        self.done(r)
    }

    pub fn exit(&mut self, t: TaskId) -> Result<(), String> {
        let cpu = self.stop(t);
        let r = self.sched.exit(cpu, t);
        self.done(r)
    }

    pub fn notify(&mut self, topic: Topic, msg: &Msg) -> Result<(), String> {
        let r = self.sched.notify(0, topic, msg);
        self.done(r)
    }

    pub fn notify_value(&mut self, topic: Topic, t: TaskId, value: u64) -> Result<(), String> {
        self.notify(topic, &Msg { task: Some(t), value, ..Msg::default() })
    }

    /// Topics that instances have brought along, each once.
    pub fn own_topics(&self) -> Vec<OwnTopic> {
        let mut found: Vec<OwnTopic> = Vec::new();
        for topic in self.plan.own_topics() {
            if !found.iter().any(|t| t.name == topic.name) {
                found.push(topic.clone());
            }
        }
        found
    }

    /// As a program publishes; `data` are the payload's words.
    pub fn publish(&mut self, topic: &OwnTopic, msg: &Msg, data: &[u64]) -> Result<(), String> {
        let r = self.sched.publish_own(0, topic, msg, data);
        self.done(r)
    }

    /// What the task did, where it runs or last ran.
    pub fn counters(&mut self, t: TaskId, counts: &Counters) -> Result<(), String> {
        let on = self.cpu_of(t).unwrap_or(0);
        let r = self.sched.publish_counters(0, on, t, counts);
        self.done(r)
    }

    /// An empty set means everywhere.
    pub fn affinity(&mut self, t: TaskId, mask: CpuSet) -> Result<(), String> {
        self.notify(Topic::Affinity, &Msg { task: Some(t), mask: Some(mask), ..Msg::default() })
    }

    /// A CPU comes or goes. One that goes gives back its task first.
    pub fn cpu_status(&mut self, cpu: u32, online: bool) -> Result<(), String> {
        if let (false, Some(t)) = (online, self.running[cpu as usize]) {
            self.relinquish(t)?;
        }
        self.online[cpu as usize] = online;
        self.notify(Topic::CpuStatus, &Msg { cpu: Some(cpu), value: online.into(), ..Msg::default() })
    }

    /// The timer of an instance is due.
    pub fn timer(&mut self, handle: u32) -> Result<(), String> {
        self.sched.timer_expired(0, handle);
        self.done(Ok(()))
    }

    /// Ask a topic's responder about a task.
    pub fn ask(&mut self, topic: Topic, t: TaskId) -> Option<Msg> {
        self.sched.request(0, topic, &Msg { task: Some(t), ..Msg::default() })
    }

    pub fn swap(&mut self, plan: Plan) -> Result<SwapStats, String> {
        let stats = self.sched.swap(&plan).map_err(|e| e.to_string())?;
        self.behind = cpus_behind(&plan);
        self.plan = plan;
        self.done(Ok(()))?;
        Ok(stats)
    }

    /// Replace one instance by one of another component with default parameters, or the given ones.
    pub fn replace(
        &mut self,
        instance: u32,
        class: &str,
        params: Option<Vec<u64>>,
    ) -> Result<SwapStats, String> {
        let info = catalog().get(class).ok_or_else(|| format!("no component `{class}`"))?;
        let params = params.unwrap_or_else(|| info.params.iter().map(|p| p.default).collect());
        let stats = self.sched.swap_instance(instance, info.id, &params).map_err(|e| e.to_string())?;
        let inst = &mut self.plan.instances[instance as usize];
        inst.class = info.id;
        inst.params = params;
        let outs = inst.outs.clone();
        for out in outs {
            self.plan.pipes[out as usize].keyed = info.keyed_out;
        }
        self.done(Ok(()))?;
        Ok(stats)
    }

    pub fn pipe(&self, name: &str) -> Option<PipeIdx> {
        self.plan.pipes.iter().position(|p| p.name == name).map(|i| i as PipeIdx)
    }

    pub fn tasks(&self, pipe: PipeIdx) -> Vec<TaskId> {
        self.sched.pipe_tasks(pipe)
    }

    /// Contents of all pipes.
    pub fn dump(&self) -> Vec<Vec<TaskId>> {
        (0..self.plan.pipes.len() as u32).map(|p| self.tasks(p)).collect()
    }

    /// CPUs that can be reached through the pipe.
    pub fn behind(&self, pipe: PipeIdx) -> &CpuSet {
        &self.behind[pipe as usize]
    }

    /// Some CPU behind the pipe is online and in the mask.
    pub fn allows(&self, pipe: PipeIdx, mask: Option<&CpuSet>) -> bool {
        self.behind(pipe).iter().any(|c| self.online[c as usize] && mask.is_none_or(|m| m.contains(c)))
    }

    /// Pipes on the way to the exit of a CPU.
    pub fn upstream(&self, cpu: u32) -> Vec<PipeIdx> {
        let mut found: Vec<PipeIdx> = self.plan.exits[cpu as usize].into_iter().collect();
        let mut at = 0;
        while at < found.len() {
            if let Some((from, _)) = self.plan.pipes[found[at] as usize].from {
                for p in &self.plan.instances[from as usize].ins {
                    if !found.contains(p) {
                        found.push(*p);
                    }
                }
            }
            at += 1;
        }
        found
    }
}

fn cpus_behind(plan: &Plan) -> Vec<CpuSet> {
    let mut behind = vec![CpuSet::new(); plan.instances.len()];
    for (cpu, exit) in plan.exits.iter().enumerate() {
        if let Some(exit) = exit {
            behind[plan.pipes[*exit as usize].to.0 as usize].insert(cpu as u32);
        }
    }
    for i in (0..plan.instances.len()).rev() {
        for out in &plan.instances[i].outs {
            let next = behind[plan.pipes[*out as usize].to.0 as usize].clone();
            next.iter().for_each(|c| behind[i].insert(c));
        }
    }
    plan.pipes.iter().map(|p| behind[p.to.0 as usize].clone()).collect()
}
