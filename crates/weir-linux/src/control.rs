// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Carries out requests: compile, put the tables into the staging area, let the kernel side apply
//! them, record the result.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weir_core::{
    Counters, CpuSet, Image, MachineShape, Parts, Plan, Topic, catalog, classes_with_timer, loaded,
};
use weir_lang::{Compiled, Edit, Loader, Source};
use weir_model::Verb;
use weir_model::scenario::{Part, Subject};

use crate::changes::Changes;
use crate::clock;
use crate::error::{Error, ErrorKind, Result};
use crate::gangs::{GangView, GangWish, Gangs};
use crate::gauges::Gauges;
use crate::kept;
use crate::layout::{LiveRequest, LiveStats, NONE, kind, state};
use crate::object::max_timers;
use crate::protocol::{Answer, Answered, Ask, File, Finding, Notify, Number, Request, Switch, Switched};
use crate::protocol::{TextOrigin, TopologyText};
use crate::snapshot::{Snapshot, SnapshotSource, SwapReport};
use crate::view::{Facts, View};

mod exchange;

/// How long the kernel side has for a request.
const PATIENCE: Duration = Duration::from_secs(2);

/// A running scheduler, seen from the loader. Shared by all its threads.
pub struct Control {
    pub(crate) view: View,
    shape: MachineShape,
    /// Where plans are put: memory of the arena that the core does not know.
    staging: (u64, u64),
    /// One request at a time.
    desk: Mutex<()>,
    facts: Mutex<Facts>,
    gauges: Mutex<Gauges>,
    pub(crate) changes: Changes,
    pub(crate) gangs: Gangs,
    /// A task that waits so long ends it all, ns.
    patience_ns: AtomicU64,
    stop: AtomicBool,
    /// The memory that the view reads lives as long as this.
    _keep: Arc<dyn Any + Send + Sync>,
}

impl Control {
    /// `keep` owns the memory of `view`, which outlives every holder of this.
    pub(crate) fn new(
        view: View,
        shape: MachineShape,
        staging: (u64, u64),
        facts: Facts,
        keep: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        let gauges = Gauges::new(shape.nr_cpus(), &facts.plan.name);
        Self {
            view,
            shape,
            staging,
            desk: Mutex::new(()),
            facts: Mutex::new(facts),
            gauges: Mutex::new(gauges),
            changes: Changes::default(),
            gangs: Gangs::default(),
            patience_ns: AtomicU64::new(u64::MAX),
            stop: AtomicBool::new(false),
            _keep: keep,
        }
    }

    /// CPUs that the kernel may have.
    pub fn nr_cpus(&self) -> u32 {
        self.shape.nr_cpus()
    }

    /// The core that a CPU is a thread of.
    pub(crate) fn core_of(&self, cpu: u32) -> u32 {
        self.shape.cpus.get(cpu as usize).map_or(cpu, |c| c.core)
    }

    /// A request to detach was made.
    pub fn stop_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Ask to leave.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gauges(&self) -> MutexGuard<'_, Gauges> {
        self.gauges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Look at what the kernel side measures; some ten times a second, so that "the last 10 s" are that.
    pub(crate) fn look(&self) {
        self.gauges().look(&self.view.memory, self.view.shared.gauges(), clock::now_ns(), false);
    }

    /// CPUs that sleep though a task has waited for them for `limit_ns`; see [`View::asleep`].
    pub(crate) fn asleep(&self, limit_ns: u64) -> Vec<(u32, u32, u64)> {
        self.view.asleep(&self.facts().plan, clock::now_ns(), limit_ns, &clock::may_run)
    }

    /// Have a sleeping CPU look for work, and count that.
    pub(crate) fn rescue(&self, cpu: u32) -> Result<()> {
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let request = LiveRequest { kind: kind::RESCUE, cpu, ..empty() };
        self.post(&desk, &request, "waking a CPU").map(|_| ())
    }

    /// Carry a request out.
    pub fn serve(&self, request: &Request) -> Answer {
        let result = match request {
            Request::Status {} => return Answer::result(&self.snapshot()),
            Request::Topology {} => self.text().map(|t| Answer::result(&t)),
            Request::Switch(s) => self.switch(s).map(|s| Answer::result(&s)),
            Request::Replace(r) => self.replace(r).map(|s| Answer::result(&s)),
            Request::Notify(n) => {
                self.notify(n).map(|n| Answer::result(&serde_json::json!({ "hearers": n })))
            }
            Request::Request(a) => self.ask(a).map(|a| Answer::result(&a)),
            Request::Gang(g) => self.gangs.admit(self, g).map(|g| Answer::result(&g)),
            Request::Join(j) => self.gangs.join(self, j).map(|g| Answer::result(&g)),
            Request::Phase(p) => self.gangs.phase(self, p).map(|p| Answer::result(&p)),
            Request::Leave(g) => self.gangs.leave(self, &g.gang).map(|g| Answer::result(&g)),
            Request::Gangs {} => Ok(Answer::result(&self.gangs.views())),
            Request::Stop {} => {
                self.stop();
                return Answer::result(&serde_json::json!({}));
            }
        };
        result.unwrap_or_else(|e| Answer::error(&e))
    }

    /// Admit a program whose threads are to run at the same time.
    pub fn admit(&self, wish: &GangWish) -> Result<GangView> {
        self.gangs.admit(self, wish)
    }

    /// Another topology.
    pub fn switch(&self, wish: &Switch) -> Result<Switched> {
        let mut wish = wish.clone();
        if wish.topology.is_empty() {
            let now = self.text()?;
            (wish.topology, wish.source) = (format!("{}.weir", now.topology), now.weir);
        }
        let wish = &wish;
        let mut compiled = compile(wish, &self.shape)?;
        if !wish.verbs.is_empty() && !compiled.plan.name.ends_with('*') {
            // Readers of reports see that it is not the text of that name.
            compiled.plan.name.push('*');
        }
        let mut done = Switched {
            dry_run: wish.dry_run,
            pipes: compiled.plan.pipes.len() as u32,
            instances: compiled.plan.instances.len() as u32,
            warnings: compiled.warnings.iter().map(Finding::from).collect(),
            ..Switched::default()
        };
        let plan = compiled.plan;
        match wish.dry_run {
            true => done.report.to = plan.name.clone(),
            false => {
                let source = Source { name: wish.topology.clone(), text: wish.source.clone() };
                // It was compiled with these files, so they are there.
                let text = weir_lang::join(&source, &Carried(&wish.files)).unwrap_or(source.text);
                done.report = self.swap(plan.clone(), text)?;
            }
        }
        // There may be many groups to look at: the change does not wait for that.
        done.warnings.extend(kept::ignored(&plan));
        Ok(done)
    }

    /// The topology in charge as text.
    pub fn text(&self) -> Result<TopologyText> {
        let (plan, source) = {
            let facts = self.facts();
            (facts.plan.clone(), facts.source.clone())
        };
        let back = weir_lang::read_back(&source, &plan, catalog(), &self.shape).map_err(|message| {
            Error::new(ErrorKind::Internal, message, "`runweir status --json` has the text that was loaded")
        })?;
        Ok(TopologyText {
            topology: plan.name,
            machine: self.shape.name.clone(),
            weir: back.text,
            origin: match back.origin {
                weir_lang::Origin::Written => TextOrigin::Written,
                weir_lang::Origin::Changed => TextOrigin::Changed,
                weir_lang::Origin::Graph => TextOrigin::Graph,
            },
        })
    }

    /// Have the kernel side build `plan` and change over to it.
    pub fn swap(&self, plan: Plan, source: String) -> Result<SwapReport> {
        takes(&plan, self.shape.nr_cpus())?;
        self.has(&plan)?;
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        self.swap_at(&desk, plan, source)
    }

    fn swap_at(&self, desk: &MutexGuard<'_, ()>, plan: Plan, source: String) -> Result<SwapReport> {
        let (image, from, was_bound) = {
            let facts = self.facts();
            let image = Image::new(&plan, Some(&facts.plan)).map_err(|e| core_error(&e))?;
            (image, facts.plan.name.clone(), binds(&facts.plan))
        };
        let at = self.stage(&image)?;
        // Until both know affinities, bound tasks go outside the graph: to the new one after the change only.
        let will_bind = binds(&plan);
        self.view.shared.set_bind(was_bound || will_bind);
        let request = LiveRequest { kind: kind::SWAP, plan: at, ..empty() };
        let done = self.post(desk, &request, &format!("building topology `{}`", plan.name));
        self.view.shared.set_bind(if done.is_ok() { will_bind } else { was_bound });
        let report = report(&done?, from, plan.name.clone());
        self.gauges().turn(&self.view.memory, self.view.shared.gauges(), clock::now_ns(), &plan.name);
        self.changes.add(&report, &plan);
        let mut facts = self.facts();
        facts.plan = plan;
        facts.source = source;
        facts.last_swap = Some(report.clone());
        Ok(report)
    }

    /// Every component of the plan was loaded.
    fn has(&self, plan: &Plan) -> Result<()> {
        let facts = self.facts();
        let missing = plan.instances.iter().find(|i| !facts.components.contains(&i.class));
        let Some(c) = missing.and_then(|i| catalog().class(i.class)) else { return Ok(()) };
        Err(input(
            format!(
                "component `{}` of `{}` is not among those that `{}` was started with: a kernel runs what its verifier has seen",
                c.name, plan.name, facts.plan.name
            ),
            match loaded::is_loaded(c.id) {
                true => {
                    format!("stop it, and start it with the component: runweir live … --load {}", c.source)
                }
                // Part of a topology was changed: there is none of that name.
                false if plan.name.ends_with('*') => format!(
                    "stop it, and start it so that it can be switched: runweir live … --with T, where T is a topology with `{}`",
                    c.name
                ),
                false => format!(
                    "stop it, and start it so that it can be switched: runweir live … --with {}",
                    plan.name
                ),
            },
        ))
    }

    /// A message for the listeners of its topic: how many instances of the topology listen.
    pub fn notify(&self, wish: &Notify) -> Result<usize> {
        let mut request = self.message(wish)?;
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let topic = wish.topic.to_uppercase();
        if let Subject::Own(own) = self.subject(&wish.topic)? {
            let fields: Vec<(String, u64)> =
                wish.fields.iter().map(|(name, value)| (name.clone(), value.bits())).collect();
            let words = own.payload(&fields).map_err(|(message, help)| input(message, help))?;
            request.plan = self.put(&words.iter().flat_map(|w| w.to_ne_bytes()).collect::<Vec<u8>>())?;
        }
        self.post(&desk, &request, "publishing a message")?;
        let hears = |class| catalog().class(class).is_some_and(|c| c.listens.contains(&topic));
        Ok(self.facts().plan.instances.iter().filter(|i| hears(i.class)).count())
    }

    /// A topic by its name: a standard one, or one that an instance has brought along.
    fn subject(&self, name: &str) -> Result<Subject> {
        let wanted = name.to_uppercase();
        if let Some(topic) = Topic::by_name(&wanted) {
            return Ok(Subject::Standard(topic));
        }
        let facts = self.facts();
        if let Some(own) = facts.plan.own_topic(&wanted) {
            return Ok(Subject::Own(own));
        }
        let mut owners = catalog().components.iter().filter(|c| c.topics.iter().any(|t| t.name == wanted));
        if let Some(owner) = owners.next() {
            return Err(input(
                format!("no component of `{}` has the topic {wanted}", facts.plan.name),
                format!("`{}` brings it along: runweir switch to a topology with it", owner.name),
            ));
        }
        let own = facts.plan.own_topics().map(|t| t.name.as_str());
        let names: Vec<&str> = Topic::all().map(Topic::name).chain(own).collect();
        Err(unknown("topic", name, &names))
    }

    /// The request that publishes a message, where there is nothing to say against it; without the payload.
    pub(crate) fn message(&self, wish: &Notify) -> Result<LiveRequest> {
        let subject = self.subject(&wish.topic)?;
        match subject {
            Subject::Standard(topic) => {
                if let Some(field) = wish.fields.keys().next() {
                    let help = "give its `value`; topics that components bring along have fields";
                    return Err(input(format!("the topic {} has no field `{field}`", topic.name()), help));
                }
                let value = Some(wish.value.bits());
                let parts = Parts { task: wish.task.is_some(), cpu: wish.cpu.is_some(), value };
                topic.admits(&parts).map_err(|r| input(r.message, r.help))?;
            }
            Subject::Own(own) if !own.from_users => {
                let help = "`runweir request` asks for their values";
                return Err(input(format!("messages of {} come only from components", own.name), help));
            }
            Subject::Own(own) => {
                let fields: Vec<(String, u64)> = wish.fields.keys().map(|name| (name.clone(), 0)).collect();
                own.payload(&fields).map_err(|(message, help)| input(message, help))?;
            }
        }
        self.about(kind::NOTIFY, subject, wish.task, wish.cpu, [wish.value, wish.value2])
    }

    /// The request about a topic, a thread and a CPU that are there.
    fn about(
        &self,
        kind: u32,
        subject: Subject,
        task: Option<u32>,
        cpu: Option<u32>,
        [value, value2]: [Number; 2],
    ) -> Result<LiveRequest> {
        let nr_cpus = self.shape.nr_cpus();
        if cpu.is_some_and(|c| c >= nr_cpus) {
            return Err(input(
                format!("there is no CPU {}", cpu.unwrap_or(0)),
                format!("the machine has CPUs 0 to {}", nr_cpus - 1),
            ));
        }
        let task = match task {
            None => NONE,
            Some(pid) => self.view.task_of(pid).ok_or_else(|| {
                input(
                    format!("thread {pid} is not a task of the scheduler"),
                    "name the thread's number (not that of a thread of a real-time class): ps -eLo tid,cls,comm",
                )
            })?,
        };
        let (topic, uuid, version) = match subject {
            Subject::Standard(topic) => (topic as u32, 0, 0),
            Subject::Own(own) => (0, own.uuid, own.version),
        };
        let (value, value2) = (value.bits(), value2.bits());
        let cpu = cpu.unwrap_or(NONE);
        Ok(LiveRequest { kind, topic, cpu, task, value, value2, uuid, version, ..empty() })
    }

    /// The answer of the component that responds to a topic.
    pub fn ask(&self, wish: &Ask) -> Result<Answered> {
        let subject = self.subject(&wish.topic)?;
        let mut request = self.about(kind::ASK, subject, wish.task, wish.cpu, [wish.value, wish.value2])?;
        let name = subject.name();
        {
            let facts = self.facts();
            let mut classes = facts.plan.instances.iter().filter_map(|i| catalog().class(i.class));
            let answered =
                classes.any(|c| c.answers.iter().any(|t| t == name)) || name == Topic::Slice.name();
            if !answered {
                let mut able = catalog().components.iter().filter(|c| c.answers.iter().any(|t| t == name));
                let help = match able.next() {
                    Some(c) => {
                        format!("`{}` does: runweir switch to a topology with `annotate {}`", c.name, c.name)
                    }
                    None => "it is a topic that is only published".into(),
                };
                return Err(input(format!("no component of `{}` answers {name}", facts.plan.name), help));
            }
        }
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        request.plan = self.staging.0;
        let done = self.post(&desk, &request, &format!("asking for {name}")).map_err(|e| Error {
            help: match wish.task {
                None => format!("most answers of {name} are about a task: runweir request {name} PID"),
                Some(_) => e.help,
            },
            ..e
        })?;
        let words: Vec<u64> = (0..u64::from(done.bytes / 8))
            .filter_map(|i| self.view.memory.read::<u64>(self.staging.0 + 8 * i))
            .collect();
        drop(desk);
        let mut answer = Answered {
            topic: name.into(),
            task: wish.task,
            value: Number::Unsigned(done.value),
            value2: Number::Unsigned(done.value2),
            ..Answered::default()
        };
        let named = |names: &mut dyn Iterator<Item = &str>| -> BTreeMap<String, u64> {
            names.map(str::to_owned).zip(words.iter().copied()).collect()
        };
        match subject {
            Subject::Own(own) => answer.fields = named(&mut own.fields.iter().map(String::as_str)),
            Subject::Standard(Topic::Counters) => answer.fields = named(&mut Counters::NAMES.into_iter()),
            Subject::Standard(Topic::Affinity) if done.bytes > 0 => {
                let bit = |c: u32| words.get(c as usize / 64).is_some_and(|w| w >> (c % 64) & 1 == 1);
                let set: CpuSet = (0..self.shape.nr_cpus()).filter(|c| bit(*c)).collect();
                answer.cpus = Some(set.to_string());
                // An address of the kernel side.
                answer.value = Number::default();
            }
            Subject::Standard(Topic::Priority | Topic::Penalty) => {
                answer.value = Number::Signed(done.value as i64);
                answer.value2 = Number::Signed(done.value2 as i64);
            }
            Subject::Standard(_) => {}
        }
        Ok(answer)
    }

    /// The graph is to do without a CPU that a higher class holds, until the kernel side reports that it is back.
    pub(crate) fn away(&self, cpu: u32) -> Result<()> {
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let request = LiveRequest { kind: kind::AWAY, cpu, ..empty() };
        self.post(&desk, &request, "reporting that a CPU is taken").map(|_| ())
    }

    /// The topology in charge takes rows of gangs and knows members.
    pub(crate) fn has_slots(&self) -> bool {
        let plan = &self.facts().plan;
        plan.listens_to(Topic::GangSlot) && plan.listens_to(Topic::Gang)
    }

    pub(crate) fn topology(&self) -> String {
        self.facts().plan.name.clone()
    }

    /// Changes of topology so far.
    pub(crate) fn swaps(&self) -> u64 {
        self.view.shared.head().swaps
    }

    /// A task that waits so long ends the scheduler, ns.
    pub(crate) fn patience_ns(&self) -> u64 {
        self.patience_ns.load(Ordering::Relaxed)
    }

    pub(crate) fn set_patience(&self, limit: Duration) {
        self.patience_ns.store(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// By number: which CPUs are online.
    pub(crate) fn online(&self) -> Vec<bool> {
        let sched = self.view.sched();
        let is_on = |c: u32| {
            sched.as_ref().is_some_and(|s| {
                self.view.memory.entry::<weir_core::raw::Cpu>(s.cpus, c.into()).is_some_and(|c| c.online != 0)
            })
        };
        (0..self.nr_cpus()).map(is_on).collect()
    }

    /// A message of the service of gangs: about a task (its number) or a CPU, and where the task may run.
    pub(crate) fn post_gang(
        &self,
        topic: Topic,
        task: u32,
        cpu: u32,
        [value, value2]: [u64; 2],
        mask: Option<&CpuSet>,
    ) -> Result<()> {
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = match mask {
            None => 0,
            Some(set) => {
                let words = (self.nr_cpus() as usize).div_ceil(64);
                let word = |w: usize| set.words().get(w).copied().unwrap_or(0);
                self.put(&(0..words).flat_map(|w| word(w).to_ne_bytes()).collect::<Vec<u8>>())?
            }
        };
        let request = LiveRequest {
            kind: kind::NOTIFY,
            topic: topic as u32,
            task,
            cpu,
            value,
            value2,
            plan,
            ..empty()
        };
        self.post(&desk, &request, "a message about a gang").map(|_| ())
    }

    /// Put bytes into the staging area; their address.
    fn put(&self, bytes: &[u8]) -> Result<u64> {
        let (at, room) = self.staging;
        match bytes.len() as u64 <= room && self.view.memory.write(at, bytes) {
            true => Ok(at),
            false => Err(Error::bug("a message does not fit")),
        }
    }

    /// Put a plan into the staging area; its address.
    fn stage(&self, image: &Image) -> Result<u64> {
        let (at, room) = self.staging;
        if image.bytes() as u64 > room || !self.view.memory.write(at, &image.at(at)) {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "the topology's tables take {} KiB, and {} KiB are set aside for them",
                    image.bytes().div_ceil(1024),
                    room / 1024
                ),
                "attach with more memory: runweir live --memory 256MiB",
            ));
        }
        Ok(at)
    }

    /// Have the kernel side carry out a request. The desk is ours meanwhile.
    fn post(&self, _desk: &MutexGuard<'_, ()>, request: &LiveRequest, doing: &str) -> Result<LiveRequest> {
        let shared = &self.view.shared;
        let word = shared.request_state();
        let left = || {
            Error::new(
                ErrorKind::Internal,
                format!("{doing}: the scheduler is not in charge any more"),
                "`runweir live` says why it left",
            )
        };
        if shared.exit_kind() != 0 {
            return Err(left());
        }
        if word.load(Ordering::Acquire) != state::FREE {
            return Err(Error::new(
                ErrorKind::Busy,
                format!("{doing}: the kernel side is still busy with an earlier request"),
                "wait a moment and try again; if it lasts, `runweir live` has to be restarted",
            ));
        }
        shared.fill_request(request);
        word.store(state::POSTED, Ordering::Release);
        let began = Instant::now();
        let mut looks = 0u32;
        while word.load(Ordering::Acquire) != state::DONE {
            if shared.exit_kind() != 0 {
                return Err(left());
            }
            let free =
                || word.compare_exchange(state::POSTED, state::FREE, Ordering::AcqRel, Ordering::Acquire);
            if began.elapsed() > PATIENCE && free().is_ok() {
                return Err(Error::new(
                    ErrorKind::Busy,
                    format!("{doing}: no CPU took the request within {} s", PATIENCE.as_secs()),
                    "nothing was changed; is a real-time program holding all CPUs?",
                ));
            }
            if began.elapsed() > 2 * PATIENCE {
                return Err(Error::new(
                    ErrorKind::Internal,
                    format!("{doing}: the kernel side began and did not end"),
                    "`runweir live` has to be restarted",
                ));
            }
            // A dispatch anywhere carries it out; our going to sleep is one.
            match looks {
                0..16 => std::thread::yield_now(),
                _ => std::thread::sleep(Duration::from_micros(200)),
            }
            looks += 1;
        }
        let done = shared.request();
        word.store(state::FREE, Ordering::Release);
        if done.result == 0 { Ok(done) } else { Err(core_error(&weir_core::Error::of(done.result, doing))) }
    }
}

impl SnapshotSource for Control {
    fn snapshot(&self) -> Snapshot {
        let facts = self.facts().clone();
        let now_ns = clock::now_ns();
        let mut snapshot = self.view.snapshot(&facts, now_ns, &clock::thread_name);
        snapshot.gangs = self.gangs.views();
        let mut gauges = self.gauges();
        gauges.look(&self.view.memory, self.view.shared.gauges(), now_ns, true);
        snapshot.waits = gauges.topologies();
        for cpu in &mut snapshot.cpus {
            cpu.calls = gauges.calls(cpu.cpu);
        }
        let exits: BTreeSet<u32> = facts.plan.exits.iter().flatten().copied().collect();
        for pipe in snapshot.pipes.iter_mut().filter(|p| exits.contains(&p.idx)) {
            pipe.waits = gauges.pipe(&facts.plan, pipe.idx);
        }
        snapshot
    }
}

fn empty() -> LiveRequest {
    LiveRequest {
        state: 0,
        kind: 0,
        plan: 0,
        instance: 0,
        class: 0,
        topic: 0,
        cpu: NONE,
        task: NONE,
        result: 0,
        value: 0,
        value2: 0,
        stats: LiveStats { represented: 0, built: 0, kept: 0, refused: 0, pause_ns: 0 },
        done_ns: 0,
        attempts: 0,
        bytes: 0,
        uuid: 0,
        version: 0,
        unused: 0,
    }
}

fn report(done: &LiveRequest, from: String, to: String) -> SwapReport {
    SwapReport {
        t_ns: done.done_ns,
        from,
        to,
        pause_ns: done.stats.pause_ns,
        represented: done.stats.represented,
        built: done.stats.built,
        kept: done.stats.kept,
    }
}

fn input(message: impl Into<String>, help: impl Into<String>) -> Error {
    Error::new(ErrorKind::Input, message, help)
}

/// A name that nothing has.
fn unknown(what: &str, name: &str, known: &[&str]) -> Error {
    let name = name.escape_debug().to_string();
    let help = match weir_text::suggest::nearest(&name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.len() <= 40 => format!("there are: {}", known.join(", ")),
        None => "`runweir status` lists them".into(),
    };
    input(format!("there is no {what} `{name}`"), help)
}

fn core_error(e: &weir_core::Error) -> Error {
    let help = match e.code {
        1 => "attach with more memory: runweir live --memory 256MiB",
        3 | 7 => "nothing was changed; try again",
        10 | 11 => "`runweir components NAME` says what a component takes",
        _ => "nothing was changed",
    };
    let kind = if matches!(e.code, 3 | 7) { ErrorKind::Busy } else { ErrorKind::Input };
    Error::new(kind, e.message.clone(), help)
}

/// Compile a topology that came as text.
pub fn compile(wish: &Switch, shape: &MachineShape) -> Result<Compiled> {
    let source = Source { name: wish.topology.clone(), text: wish.source.clone() };
    let edits = wish.verbs.iter().map(|v| edit(v)).collect::<Result<Vec<_>>>()?;
    let compiled =
        weir_lang::compile_with(&source, &Carried(&wish.files), catalog(), shape, &wish.sets(), &edits);
    compiled.map_err(|found| {
        let errors = found.iter().filter(|d| d.severity == weir_lang::Severity::Error).count();
        let mut e = input(
            format!("topology `{}` has {}", wish.topology, weir_text::plural(errors, "error")),
            format!("`runweir check {} --machine host` shows them", wish.topology),
        );
        e.findings = found.iter().map(Finding::from).collect();
        e
    })
}

/// A change of a part of the topology, from its words in a scenario.
fn edit(text: &str) -> Result<Edit> {
    let source = |text: &str| Source { name: "change".into(), text: text.to_string() };
    let verb = Verb::parse(text).map_err(|e| input(e.message, e.help))?;
    Ok(match verb {
        Verb::Part(Part::Annotate { with }) => Edit::Annotate { with: source(&with) },
        Verb::Part(Part::Create { with }) => Edit::Create { with: source(&with) },
        Verb::Part(Part::Insert { with, at }) => Edit::Insert { with: source(&with), at },
        Verb::Part(Part::Remove { name }) => Edit::Remove { name },
        Verb::Part(Part::Connect { from, to, postponed }) => Edit::Connect { from, to, postponed },
        Verb::Part(Part::Disconnect { at }) => Edit::Disconnect { at },
        Verb::Instance { name, with } => Edit::Instance { name, with: source(&with) },
        Verb::Replace { names, with } => Edit::Subgraph { names, with: source(&with) },
        other => {
            return Err(input(
                format!("`{other}` is not a change of parts of the topology"),
                "write annotate, create, insert, remove, connect, disconnect, replace or swap instance",
            ));
        }
    })
}

/// Included files that came with the text. None are read here.
struct Carried<'a>(&'a [File]);

impl Loader for Carried<'_> {
    fn load(&self, from: &str, include: &str) -> std::result::Result<Source, String> {
        let found = self.0.iter().find(|f| f.from == from && f.include == include);
        let found = found.ok_or_else(|| "the request does not contain it".to_owned())?;
        Ok(Source { name: found.name.clone(), text: found.text.clone() })
    }
}

/// The kernel side can run every component of the plan.
pub(crate) fn takes(plan: &Plan, nr_cpus: u32) -> Result<()> {
    loadable(&plan.instances.iter().map(|i| i.class).collect())?;
    let room = max_timers(nr_cpus) as usize;
    match plan.instances.iter().skip(room).find(|i| classes_with_timer().contains(&i.class)) {
        None => Ok(()),
        Some(i) => Err(input(
            format!(
                "the topology has more than {room} instances, and of these only the first may set timers: `{}` does",
                i.name
            ),
            "use fewer instances: one for several CPUs where the component serves them",
        )),
    }
}

/// The kernel side can run each of these components.
pub(crate) fn loadable(classes: &BTreeSet<u16>) -> Result<()> {
    for c in classes.iter().filter_map(|c| catalog().class(*c)) {
        if !c.source.ends_with(".c") && !loaded::is_loaded(c.id) {
            return Err(input(
                format!("component `{}` is not written in C, and the kernel takes no other", c.name),
                format!("use another component; {} runs in the simulator only", c.source),
            ));
        }
        if let Some(why) = c.not_in_kernel() {
            return Err(input(
                format!("component `{}` does not run in the kernel: {why}", c.name),
                match loaded::is_loaded(c.id) {
                    true => "runweir component build --kernel FILE.c, and --load the file that it writes",
                    false => "use another component here; the simulator runs this one",
                },
            ));
        }
    }
    Ok(())
}

/// No instance knows affinities.
pub(crate) fn binds(plan: &Plan) -> bool {
    !plan.answers_to(Topic::Affinity)
}

#[cfg(test)]
pub(crate) mod tests;
