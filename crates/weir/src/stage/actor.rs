// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The observer of a displayed run: it counts, makes frames, keeps the pace and pauses on request.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use weir_core::Plan;
use weir_core::event::{Event, Observer, Stop};
use weir_lang::draw::Scene;

use super::controls::{Controls, Wanted};
use super::frame::{Frame, Moment, State};
use super::tally::Tally;
use crate::session::Candidate;
use crate::units::duration;

/// Time between two frames.
const FRAME: Duration = Duration::from_millis(33);
/// CPUs up to which the task of each is named.
const NAMED: usize = 64;
/// Worst moments of a kind, and last events.
const MOMENTS: usize = 4;
const LOG: usize = 80;
/// Nothing is drawn for it.
const NOWHERE: u32 = u32::MAX;

/// Where the numbers of a pipe go.
#[derive(Clone, Copy)]
struct Spot {
    line: u32,
    /// The box behind it and, where that has cells, the member.
    to: u32,
    cell: u32,
}

const LOST: Spot = Spot { line: NOWHERE, to: NOWHERE, cell: 0 };

#[derive(Clone, Copy, Default)]
struct Cpu {
    offline: bool,
    task: Option<u32>,
    /// Since when it runs, or since the last frame.
    since_ns: u64,
    run_ns: u64,
    sched_ns: u64,
}

/// What rates and shares are made of.
#[derive(Default)]
struct Window {
    ns: u64,
    /// Of lines.
    added: Vec<u64>,
    /// Of CPUs: time for tasks and for the scheduler.
    cpus: Vec<(u64, u64)>,
}

impl Window {
    /// As if it had begun where the other did.
    fn extend_by(&mut self, earlier: &Window) {
        self.ns += earlier.ns;
        self.added.iter_mut().zip(&earlier.added).for_each(|(a, b)| *a += b);
        self.cpus.iter_mut().zip(&earlier.cpus).for_each(|(a, b)| *a = (a.0 + b.0, a.1 + b.1));
    }
}

/// Something that people step by.
#[derive(Clone, Copy)]
enum Note {
    Ready { task: u32, wakeup: bool },
    Run { task: u32, cpu: u32, waited_ns: u64, migrated: bool },
    Off { task: u32, cpu: u32, why: Stop, ran_ns: u64 },
    Done { task: u32, response_ns: u64, missed: bool },
    Miss { task: u32 },
    Online { cpu: u32, online: bool },
    Swap { represented: u32, pause_ns: u64 },
}

pub(super) struct Actor<'a> {
    controls: &'a Controls,
    show: &'a dyn Fn(Frame),
    wanted: Wanted,
    take: u32,
    topology: String,
    spots: Vec<Spot>,
    by_name: HashMap<String, Spot>,
    box_of: Vec<u32>,
    depths: Vec<u32>,
    /// Of lines: tasks added since the last frame.
    added: Vec<u64>,
    /// Waits for locks and time held since `reported_ns`, and the shares before.
    locks: Vec<(u64, u64)>,
    code: Vec<u64>,
    lock_shares: Vec<(f64, f64)>,
    code_shares: Vec<f64>,
    reported_ns: u64,
    hearing_ns: u64,
    cells: Vec<(usize, usize)>,
    cpus: Vec<Cpu>,
    names: Vec<String>,
    wakeups: [Tally; 2],
    responses: [Tally; 2],
    jobs: u64,
    misses: u64,
    switches: u64,
    migrations: u64,
    preemptions: u64,
    worst: [Vec<(u64, u64, u32, u32)>; 3],
    log: VecDeque<(u64, Note)>,
    events: u64,
    frame_ns: u64,
    window: Window,
    next_ns: u64,
    shown: Instant,
    /// When it was where, for the pace.
    from: (Instant, u64),
}

impl<'a> Actor<'a> {
    pub fn new(
        candidate: &Candidate,
        scene: &Scene,
        nr_cpus: u32,
        take: u32,
        controls: &'a Controls,
        show: &'a dyn Fn(Frame),
    ) -> Self {
        let (plan, graph) = (&candidate.plan, &candidate.graph);
        let mut at = vec![(NOWHERE, 0); graph.nodes.len()];
        for (b, drawn) in scene.boxes.iter().enumerate() {
            drawn.members.iter().enumerate().for_each(|(cell, node)| at[*node] = (b as u32, cell as u32));
        }
        let mut spots = vec![LOST; plan.pipes.len()];
        for (line, drawn) in scene.lines.iter().enumerate() {
            for edge in drawn.members.iter().map(|e| &graph.edges[*e]) {
                let (to, cell) = at[edge.to];
                spots[edge.pipe as usize] = Spot { line: line as u32, to, cell };
            }
        }
        let mut box_of = vec![NOWHERE; plan.instances.len()];
        for (node, (b, _)) in graph.nodes.iter().zip(&at) {
            if let Some(i) = node.instance {
                box_of[i as usize] = *b;
            }
        }
        let cells = scene.boxes.iter().enumerate().filter(|(_, b)| b.strip.is_some());
        let (lines, boxes) = (scene.lines.len(), scene.boxes.len());
        let now = Instant::now();
        Actor {
            controls,
            show,
            wanted: controls.wanted(),
            take,
            topology: plan.name.clone(),
            by_name: plan.pipes.iter().map(|p| p.name.clone()).zip(spots.iter().copied()).collect(),
            depths: vec![0; spots.len()],
            spots,
            box_of,
            added: vec![0; lines],
            locks: vec![(0, 0); lines],
            code: vec![0; boxes],
            lock_shares: vec![(0.0, 0.0); lines],
            code_shares: vec![0.0; boxes],
            reported_ns: 0,
            hearing_ns: 0,
            cells: cells.map(|(i, b)| (i, b.members.len())).collect(),
            cpus: vec![Cpu::default(); nr_cpus as usize],
            names: Vec::new(),
            wakeups: Default::default(),
            responses: Default::default(),
            jobs: 0,
            misses: 0,
            switches: 0,
            migrations: 0,
            preemptions: 0,
            worst: Default::default(),
            log: VecDeque::new(),
            events: 0,
            frame_ns: 0,
            window: Window::default(),
            next_ns: 0,
            shown: now,
            from: (now, 0),
        }
    }

    /// The run is over.
    pub fn last(&mut self, end_ns: u64) {
        self.frame(end_ns, State::Done);
    }

    fn name(&self, task: u32) -> &str {
        self.names.get(task as usize).map_or("?", String::as_str)
    }

    /// Shares of what was reported since the last time.
    fn heard(&mut self, t: u64) {
        let span = (self.hearing_ns - self.reported_ns).max(1) as f64;
        for (share, cost) in self.lock_shares.iter_mut().zip(&mut self.locks) {
            *share = (cost.0 as f64 / span, cost.1 as f64 / span);
            *cost = (0, 0);
        }
        for (share, cost) in self.code_shares.iter_mut().zip(&mut self.code) {
            *share = *cost as f64 / span;
            *cost = 0;
        }
        self.reported_ns = self.hearing_ns;
        self.hearing_ns = t;
    }

    fn note(&mut self, t: u64, note: Note) -> bool {
        if self.log.len() == LOG {
            self.log.pop_front();
        }
        self.log.push_back((t, note));
        true
    }

    fn bad(&mut self, kind: usize, at_ns: u64, ns: u64, task: u32, cpu: u32) {
        let list = &mut self.worst[kind];
        if ns == 0 || (list.len() == MOMENTS && list[MOMENTS - 1].0 >= ns) {
            return;
        }
        let at = list.partition_point(|known| known.0 >= ns);
        list.insert(at, (ns, at_ns, task, cpu));
        list.truncate(MOMENTS);
    }

    /// Count. True for what people step by.
    fn count(&mut self, t: u64, event: &Event<'_>) -> bool {
        match *event {
            Event::TaskNew { task, name, .. } | Event::TaskName { task, name, .. } => {
                let i = task as usize;
                if i >= self.names.len() {
                    self.names.resize(i + 1, String::new());
                }
                self.names[i] = name.to_string();
                false
            }
            Event::Ready { task, wakeup } => self.note(t, Note::Ready { task, wakeup }),
            Event::Run { task, cpu, migrated, switched, wakeup, waited_ns } => {
                let c = &mut self.cpus[cpu as usize];
                (c.task, c.since_ns) = (Some(task), t);
                self.switches += u64::from(switched);
                self.migrations += u64::from(migrated);
                if wakeup {
                    self.wakeups.iter_mut().for_each(|w| w.add(waited_ns));
                    self.bad(0, t, waited_ns, task, cpu);
                }
                self.note(t, Note::Run { task, cpu, waited_ns, migrated })
            }
            Event::Off { task, cpu, why, ran_ns } => {
                let c = &mut self.cpus[cpu as usize];
                c.run_ns += t - c.since_ns.min(t);
                (c.task, c.since_ns) = (None, t);
                self.preemptions += u64::from(why == Stop::Preempted);
                self.note(t, Note::Off { task, cpu, why, ran_ns })
            }
            Event::Preempted { .. } => {
                self.preemptions += 1;
                false
            }
            Event::JobDone { task, response_ns, missed, .. } => {
                self.jobs += 1;
                self.responses.iter_mut().for_each(|r| r.add(response_ns));
                if missed {
                    self.bad(1, t, response_ns, task, NOWHERE);
                }
                self.note(t, Note::Done { task, response_ns, missed })
            }
            Event::DeadlineMiss { task, .. } => {
                self.misses += 1;
                self.note(t, Note::Miss { task })
            }
            Event::Sched { cpu, ns, lock_wait_ns, .. } => {
                self.cpus[cpu as usize].sched_ns += ns;
                self.bad(2, t, lock_wait_ns, NOWHERE, cpu);
                false
            }
            Event::PipeLock { pipe, held_ns, wait_ns } => {
                if t > self.hearing_ns {
                    self.heard(t);
                }
                if let Some(cost) = self.locks.get_mut(self.spots[pipe as usize].line as usize) {
                    *cost = (cost.0 + wait_ns, cost.1 + held_ns);
                }
                false
            }
            Event::InstanceTime { instance, ns, .. } => {
                let place = self.box_of.get(instance as usize).map_or(NOWHERE as usize, |b| *b as usize);
                if let Some(cost) = self.code.get_mut(place) {
                    *cost += ns;
                }
                false
            }
            Event::PipeDepth { pipe, depth } => {
                let was = std::mem::replace(&mut self.depths[pipe as usize], depth);
                if depth > was
                    && let Some(added) = self.added.get_mut(self.spots[pipe as usize].line as usize)
                {
                    *added += u64::from(depth - was);
                }
                false
            }
            Event::CpuOnline { cpu, online } => {
                self.cpus[cpu as usize].offline = !online;
                self.note(t, Note::Online { cpu, online })
            }
            Event::Swap { to, pause_ns, represented, .. } => {
                self.topology = to.to_string();
                self.note(t, Note::Swap { represented, pause_ns })
            }
            _ => false,
        }
    }

    /// What was counted since the last frame. Where the run stands still, and with it the time since then, what was counted before
    /// that counts, too.
    fn window(&mut self, t: u64, state: State) {
        let ns = t.saturating_sub(self.frame_ns);
        let mut cpus = Vec::with_capacity(self.cpus.len());
        for c in &mut self.cpus {
            if c.task.is_some() {
                c.run_ns += t - c.since_ns.min(t);
                c.since_ns = t;
            }
            cpus.push((c.run_ns, c.sched_ns));
            (c.run_ns, c.sched_ns) = (0, 0);
        }
        let nothing = vec![0; self.added.len()];
        let mut window = Window { ns, added: std::mem::replace(&mut self.added, nothing), cpus };
        let still = ns == 0 || self.wanted.steps > 0 || matches!(state, State::Paused | State::Done);
        if still && ns < self.window.ns / 2 {
            window.extend_by(&self.window);
        }
        self.window = window;
    }

    /// A frame of what was counted since the last one.
    fn frame(&mut self, t: u64, state: State) {
        self.window(t, state);
        let dt = self.window.ns;
        let seconds = dt.max(1) as f64 / 1e9;
        let mut lines = vec![[0.0; 5]; self.added.len()];
        let mut boxes = vec![[0.0; 2]; self.code.len()];
        let mut cells: Vec<(usize, Vec<u32>)> = self.cells.iter().map(|(b, n)| (*b, vec![0; *n])).collect();
        let mut cells_of = vec![usize::MAX; boxes.len()];
        cells.iter().enumerate().for_each(|(i, (b, _))| cells_of[*b] = i);
        for (spot, depth) in self.spots.iter().zip(&self.depths) {
            if spot.line == NOWHERE || *depth == 0 {
                continue;
            }
            let line = &mut lines[spot.line as usize];
            line[1] += f64::from(*depth);
            line[2] = line[2].max(f64::from(*depth));
            boxes[spot.to as usize][0] += f64::from(*depth);
            if let Some((_, list)) = cells.get_mut(cells_of[spot.to as usize]) {
                list[spot.cell as usize] += depth;
            }
        }
        for (i, line) in lines.iter_mut().enumerate() {
            line[0] = self.window.added[i] as f64 / seconds;
            (line[3], line[4]) = self.lock_shares[i];
        }
        boxes.iter_mut().zip(&self.code_shares).for_each(|(b, share)| b[1] = *share);
        let (mut busy, mut sched) = (Vec::new(), Vec::new());
        for (c, (run_ns, sched_ns)) in self.cpus.iter().zip(&self.window.cpus) {
            let percent = |ns: u64| (u128::from(ns) * 100 / u128::from(dt.max(1))).min(100) as u8;
            let code = percent(*sched_ns);
            // What runs between is part of the task's span.
            busy.push(if c.offline { 255 } else { percent(*run_ns).min(100 - code) });
            sched.push(code);
        }
        let named = self.cpus.len() <= NAMED;
        let running = self.cpus.iter().filter(|_| named).map(|c| c.task.map(|t| self.name(t).to_string()));
        let kinds = ["wakeup", "late job", "lock"];
        let this = &*self;
        let worst = kinds.into_iter().zip(&this.worst).flat_map(|(what, list)| {
            list.iter().map(move |(ns, at_ns, task, cpu)| Moment {
                what,
                at_ns: *at_ns,
                ns: *ns,
                task: if *task == NOWHERE { String::new() } else { this.name(*task).to_string() },
                number: (*task != NOWHERE).then_some(*task),
                cpu: (*cpu != NOWHERE).then_some(*cpu),
            })
        });
        let log = self.log.iter().filter(|_| state == State::Paused).map(|(t, n)| (*t, self.words(n)));
        let frame = Frame {
            take: self.take,
            state,
            t_ns: t,
            dt_ns: dt,
            events: self.events,
            topology: self.topology.clone(),
            lines,
            boxes,
            cells,
            busy,
            sched,
            running: running.collect(),
            wakeup: [self.wakeups[0].spread(), self.wakeups[1].spread()],
            response: [self.responses[0].spread(), self.responses[1].spread()],
            jobs: self.jobs,
            misses: self.misses,
            switches: self.switches,
            migrations: self.migrations,
            preemptions: self.preemptions,
            worst: worst.collect(),
            log: log.collect(),
        };
        (self.show)(frame);
        self.wakeups[0].clear();
        self.responses[0].clear();
        self.frame_ns = t;
        self.shown = Instant::now();
    }

    fn words(&self, note: &Note) -> String {
        match *note {
            Note::Ready { task, wakeup: true } => format!("{} wakes up", self.name(task)),
            Note::Ready { task, .. } => format!("{} is ready again", self.name(task)),
            Note::Run { task, cpu, waited_ns, migrated } => {
                let moved = if migrated { ", migrated" } else { "" };
                format!("CPU {cpu} runs {} after {}{moved}", self.name(task), duration(waited_ns))
            }
            Note::Off { task, cpu, why, ran_ns } => {
                let why = match why {
                    Stop::Preempted => "is preempted",
                    Stop::SliceEnd => "has used its slice up",
                    Stop::Yield => "yields",
                    Stop::Block => "blocks",
                    Stop::Exit => "ends",
                };
                format!("{} {why} on CPU {cpu} after {}", self.name(task), duration(ran_ns))
            }
            Note::Done { task, response_ns, missed } => {
                let late = if missed { ", too late" } else { "" };
                format!("job of {} is done after {}{late}", self.name(task), duration(response_ns))
            }
            Note::Miss { task } => format!("{} misses its deadline", self.name(task)),
            Note::Online { cpu, online } => {
                format!("CPU {cpu} goes {}", if online { "online" } else { "offline" })
            }
            Note::Swap { represented, pause_ns } => {
                format!(
                    "the topology changes: {} pause, {} moved",
                    duration(pause_ns),
                    crate::units::plural(represented, "task")
                )
            }
        }
    }

    /// Check clock and controls: show, wait, or continue.
    fn turn(&mut self, t: u64) {
        loop {
            if self.controls.news() {
                self.wanted = self.controls.wanted();
                self.from = (Instant::now(), t);
                self.next_ns = t;
                if self.wanted.paused && !self.controls.has_ended() {
                    self.controls.reached(t, false);
                    self.frame(t, State::Paused);
                }
            }
            if self.controls.has_ended() {
                return;
            }
            if self.wanted.until.is_some_and(|until| t >= until) {
                self.stop_here(t);
            } else if self.wanted.paused {
                self.controls.wait(Duration::from_secs(3600));
                continue;
            }
            if self.wanted.paused {
                continue;
            }
            let seeks = self.wanted.until.is_some();
            let state = if seeks { State::Seeking } else { State::Running };
            let Some(pace) = self.wanted.pace.filter(|_| !seeks && self.wanted.steps == 0) else {
                self.next_ns = u64::MAX;
                if self.shown.elapsed() >= FRAME {
                    self.controls.reached(t, false);
                    self.frame(t, state);
                }
                return;
            };
            let due = Duration::from_secs_f64(((t - self.from.1) as f64 / 1e9 / pace).min(3600.0));
            let passed = self.from.0.elapsed();
            if passed >= due {
                // Behind by more than a moment: it cannot go as fast, so the pace counts from here.
                if passed > due + Duration::from_millis(500) {
                    self.from = (Instant::now(), t);
                }
                if t.saturating_sub(self.frame_ns) > 0 && self.shown.elapsed() >= FRAME {
                    self.controls.reached(t, false);
                    self.frame(t, state);
                }
                self.next_ns = t + (pace * FRAME.as_secs_f64() / 8.0 * 1e9) as u64;
                return;
            }
            // Nothing happens until then: the clock is shown meanwhile.
            if self.shown.elapsed() >= FRAME {
                let now = self.from.1 + (passed.as_secs_f64() * pace * 1e9) as u64;
                let now = now.clamp(self.frame_ns, t);
                self.controls.reached(now, false);
                self.frame(now, state);
            }
            self.controls.wait((due - passed).min(FRAME));
        }
    }

    fn stop_here(&mut self, t: u64) {
        self.controls.reached(t, true);
        self.wanted = self.controls.wanted();
        self.frame(t, State::Paused);
    }
}

impl Observer for Actor<'_> {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        self.events += 1;
        if t >= self.next_ns || self.events & 0xff == 0 || self.wanted.until.is_some_and(|u| t >= u) {
            self.turn(t);
        }
        let notable = self.count(t, event);
        if notable && self.wanted.steps > 0 {
            self.wanted.steps -= 1;
            if self.wanted.steps == 0 {
                self.stop_here(t);
                self.turn(t);
            }
        }
    }

    fn rewired(&mut self, plan: &Plan) {
        // What has the same name goes on where it was; the rest is not in the picture.
        let spot = |name: &String| self.by_name.get(name).copied().unwrap_or(LOST);
        self.spots = plan.pipes.iter().map(|p| spot(&p.name)).collect();
        self.depths = vec![0; plan.pipes.len()];
        self.box_of = vec![NOWHERE; plan.instances.len()];
    }
}
