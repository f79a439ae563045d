// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The RTL of the engine against model and component, in lock step.

use std::path::PathBuf;

use weir_hw::clocks::{self, Select};
use weir_hw::cosim::Cosim;
use weir_hw::device::{Claim, Device, Model, Setup};
use weir_hw::engine::{High, Policy, Server, Task, Terms};
use weir_hw::regs;
use weir_hw::verilated::{ENGINES, Engine, EngineIn, EngineOut, Kind as Built};

use crate::component::{Component, Kind};
use crate::golden::{self, VECTORS};
use crate::history::{Action, History};
use crate::number;

type BuiltEngine = Built<EngineIn, EngineOut>;

/// The RTL with a program that keeps its registers: one tick at a time.
struct Rtl {
    engine: Engine,
    tick_clocks: u64,
    decision_clocks: u64,
    /// It has budgets, and levels of criticality.
    budgets: bool,
    levels: bool,
    /// Clock of the tick before.
    ticked: Option<u64>,
}

/// Clocks that a program has between a decision and the next tick.
const ROOM: u64 = 200;

impl Rtl {
    fn new(built: &'static BuiltEngine, policy: Policy, keep: bool, stay: bool) -> Rtl {
        let mut engine = Engine::new(built);
        let clocks = engine.read(0, regs::CLOCKS);
        let (decision, least) =
            (u64::from(regs::clocks::DECISION.get(clocks)), u64::from(regs::clocks::LEAST.get(clocks)));
        let tick = least + ROOM;
        engine.write(0, regs::TICK, tick as u32);
        assert_eq!(u64::from(engine.read(0, regs::TICK)), tick);
        let status = engine.read(0, regs::STATUS);
        let size = (regs::status::TASKS.get(status) as usize, regs::status::CPUS.get(status) as usize);
        assert_eq!(size, (built.tasks, built.cpus));
        engine.write(0, regs::CTRL, regs::settings(policy, keep, stay));
        assert_eq!(engine.read(0, regs::CTRL), regs::settings(policy, keep, stay), "the policy is there");
        let (budgets, levels) =
            (regs::status::BUDGET.get(status) == 1, regs::status::CRITICALITY.get(status) == 1);
        Rtl { engine, tick_clocks: tick, decision_clocks: decision, budgets, levels, ticked: None }
    }

    fn command(&mut self, op: u32, n: usize) {
        self.command_with(op, n, false, false);
    }

    fn command_with(&mut self, op: u32, n: usize, sporadic: bool, high: bool) {
        self.engine.write(0, regs::CMD, regs::command(op, n as u8, sporadic, high));
        assert_eq!(self.engine.read(0, regs::CMD), 0, "command {op} of task {n} is taken");
    }

    fn parameters(&mut self, t: &Task, terms: &Terms) {
        let [param0, param1] = regs::parameters(t);
        self.engine.write(0, regs::PARAM0, param0);
        self.engine.write(0, regs::PARAM1, param1);
        let [param2, param3] = regs::terms(terms);
        if self.levels {
            self.engine.write(0, regs::PARAM2, param2);
        }
        if self.budgets {
            self.engine.write(0, regs::PARAM3, param3);
        }
    }

    fn set(&mut self, n: usize, t: &Task) {
        self.set_on(n, t, &Terms::default());
    }

    fn set_on(&mut self, n: usize, t: &Task, terms: &Terms) {
        self.parameters(t, terms);
        self.command_with(regs::OP_SET, n, t.sporadic, terms.high.is_some());
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Set(n, task, terms) => self.set_on(*n, task, terms),
            Action::Delete(n) => self.command(regs::OP_DELETE, *n),
            Action::Release(n) => self.command(regs::OP_RELEASE, *n),
            Action::Raise => self.command(regs::OP_HIGH, 0),
            Action::Done(n, job, _) => {
                self.engine.write(0, regs::DONE, regs::complete(*n as u8, *job));
            }
            Action::Hold(cpu, on) => {
                self.engine.write(*cpu, regs::HOLD, regs::hold::HOLD.put(u32::from(*on)));
            }
        }
    }

    /// On to the next decision, which must come as long after the tick as CLOCKS says; gives what the CPUs are to run.
    fn decision(&mut self, decides: bool) -> Result<Vec<Option<usize>>, String> {
        let next = match self.ticked {
            None => {
                let ctrl = self.engine.read(0, regs::CTRL);
                self.engine.write(0, regs::CTRL, ctrl | regs::ctrl::RUN.put(1));
                // The write takes effect with its second clock; the tick is the clock after.
                self.engine.clocks
            }
            Some(before) => before + self.tick_clocks,
        };
        if self.engine.clocks > next {
            return Err(format!("the program was {} clocks late for the tick", self.engine.clocks - next));
        }
        self.ticked = Some(next);
        let mut out = EngineOut::default();
        let mut decided = None;
        while self.engine.clocks < next + self.decision_clocks + 1 {
            out = self.engine.clock(EngineIn::default());
            if out.decided == 1 {
                decided = Some(self.engine.clocks - next);
            }
        }
        let due = decides.then_some(self.decision_clocks);
        if decided != due {
            return Err(format!("a decision {decided:?} clocks after the tick, should be {due:?}"));
        }
        Ok(self.engine.cpus(&out))
    }

    /// Every CPU takes what it is to run; the interrupt stands while, and only while, it holds something else and is not in a section.
    fn switch(
        &mut self,
        held: &mut Vec<Option<usize>>,
        cpus: &[Option<usize>],
        sections: &[Option<usize>],
    ) -> Result<(), String> {
        // A context can be held by the CPU that had the task before, until that one has saved it.
        for round in 0..3 {
            for c in 0..cpus.len() {
                let irq = self.engine.clock(EngineIn::default()).irq >> c & 1 == 1;
                if irq != (held[c] != cpus[c] && sections[c].is_none()) {
                    return Err(format!(
                        "CPU {c}: interrupt {irq}, holds {:?}, is to run {:?}",
                        held[c], cpus[c]
                    ));
                }
                if !irq {
                    continue;
                }
                let sched = regs::Sched::of(self.engine.read(c, regs::SCHED));
                let other = (0..cpus.len()).any(|o| o != c && cpus[c].is_some() && held[o] == cpus[c]);
                held[c] = if other { None } else { cpus[c] };
                if sched.wait != other || sched.task.map(usize::from) != cpus[c] {
                    return Err(format!("CPU {c}, round {round}: SCHED says {sched:?}, CPUs hold {held:?}"));
                }
            }
        }
        // Without a decision since a section began, another CPU may be to run its task: it waits for the end.
        let waits = |c: usize| cpus[c].is_some() && sections.contains(&cpus[c]);
        if (0..cpus.len()).any(|c| held[c] != cpus[c] && sections[c].is_none() && !waits(c)) {
            return Err(format!("after three rounds CPUs hold {held:?}, should hold {cpus:?}"));
        }
        Ok(())
    }
}

/// Where a difference is shown.
fn waveform(name: &str) -> PathBuf {
    let dir = std::env::var_os("CARGO_TARGET_TMPDIR").map_or_else(std::env::temp_dir, PathBuf::from);
    dir.join(format!("weir-hw-{name}.fst"))
}

/// One history in lock step: decisions, and those with a job that is withheld or set aside. `trace`: the tick before which a waveform begins.
fn run(
    built: &'static BuiltEngine,
    policy: Policy,
    seed: u64,
    ticks: u64,
    trace: Option<i64>,
) -> Result<[u64; 2], (i64, String)> {
    let mut history = History::new(seed, built.tasks, built.cpus, policy);
    history.separation = built.full;
    let with_component = policy == Policy::Llf && seed.is_multiple_of(2);
    let mut component = with_component.then(|| {
        history.periodic_only();
        Component::new(Kind::Laxity(0), built.tasks, built.cpus)
    });
    history.engine.keep = with_component || !seed.is_multiple_of(3);
    // R5 is on with the component, which has it; else off in half of the histories.
    history.engine.stay = with_component || seed % 4 != 1;
    let mut rtl = Rtl::new(built, policy, history.engine.keep, history.engine.stay);
    if built.full {
        history.with_sections(with_component);
    }
    // The component knows neither.
    if rtl.budgets && !with_component && seed % 4 < 2 {
        history.with_budgets();
    }
    if rtl.levels && !with_component && seed % 3 != 0 {
        history.with_levels();
    }
    let mut held = vec![None; built.cpus];
    let (mut made, mut special) = (0, 0);
    for _ in 0..ticks {
        let tick = history.step();
        if trace.is_some_and(|t| t <= tick.now) {
            rtl.engine.trace(Some(&waveform(built.name)));
        }
        let mut step = || -> Result<(), String> {
            tick.actions.iter().for_each(|a| rtl.act(a));
            let got = rtl.decision(tick.decides)?;
            let model = &history.engine;
            if got != model.cpus() {
                return Err(format!("CPUs {got:?}, the model says {:?}", model.cpus()));
            }
            if let Some(component) = &mut component {
                let software = component.tick(&history, &tick);
                if software != got {
                    return Err(format!("CPUs {got:?}, the component says {software:?}"));
                }
            }
            // Programs are slow now and then: then decisions pile up.
            if tick.now % 3 != 0 {
                rtl.switch(&mut held, &got, &history.engine.held)?;
            }
            // Another task's registers each tick.
            let n = tick.now as usize % built.tasks;
            let state = regs::State::of(rtl.engine.read(0, regs::state(n as u8)));
            let want = (model.ready(n), model.chosen(n), model.job(n), model.missed(n));
            let have = (state.ready, state.chosen, state.job, state.missed);
            if have != want {
                return Err(format!(
                    "task {n}: ready, chosen, job, missed {have:?}, the model says {want:?}"
                ));
            }
            let want = (model.withheld(n), model.aside(n) && rtl.levels, model.high(n));
            let have = (state.withheld, state.aside, state.high);
            if have != want {
                return Err(format!("task {n}: withheld, aside, high {have:?}, the model says {want:?}"));
            }
            if rtl.levels {
                let word = rtl.engine.read(0, regs::MODE);
                let mode = (regs::mode::HIGH.get(word) == 1, regs::mode::SWITCHES.get(word) as u16);
                if mode != model.mode() {
                    return Err(format!("the mode is {mode:?}, the model says {:?}", model.mode()));
                }
            }
            let counters = rtl.engine.read(0, regs::counters(n as u8));
            if model.ready(n)
                && (counters >> 16, counters as u16 as i16) != (model.left(n), model.time_left(n) as i16)
            {
                return Err(format!(
                    "task {n}: work and time left {} and {}, the model says {} and {}",
                    counters >> 16,
                    counters as u16 as i16,
                    model.left(n),
                    model.time_left(n)
                ));
            }
            let misses = rtl.engine.read(0, regs::MISSES);
            if misses != model.misses() {
                return Err(format!("{misses} misses, the model says {}", model.misses()));
            }
            Ok(())
        };
        step().map_err(|e| (tick.now, e))?;
        history.contexts.clone_from(&held);
        made += 1;
        special += u64::from(history.is_special());
    }
    Ok([made, special])
}

/// Random histories of a policy on an engine; a difference is run again with a waveform around it.
fn lock_step(built: &'static BuiltEngine, policy: Policy) {
    let decisions = number("WEIR_HW_DECISIONS", 20_000);
    let (first, mut made, mut special, mut seed) = (number("WEIR_HW_SEED", 1), 0, 0, 0);
    while made < decisions {
        match run(built, policy, first + seed, 500, None) {
            Ok([n, s]) => (made, special) = (made + n, special + s),
            Err((tick, difference)) => {
                let again = run(built, policy, first + seed, 500, Some((tick - 3).max(1)));
                panic!(
                    "{}, {policy:?}, seed {}, tick {tick}: {difference}\nwaveform of the ticks before: {} ({})",
                    built.name,
                    first + seed,
                    waveform(built.name).display(),
                    if again.is_err() { "the difference is at its end" } else { "it did not come again" }
                );
            }
        }
        seed += 1;
    }
    let rtl = Rtl::new(built, policy, true, true);
    assert!(!(rtl.budgets && rtl.levels) || special > made / 20, "{}: {special} of {made}", built.name);
    println!(
        "{}, {policy:?}: {made} decisions in {seed} histories, {special} with a job that is withheld or set aside, no difference",
        built.name
    );
}

fn all(policy: Policy) {
    for built in ENGINES {
        if policy != Policy::Mllf || built.full {
            lock_step(built, policy);
        }
    }
}

#[test]
fn least_laxity_in_lock_step() {
    all(Policy::Llf);
}

#[test]
fn earliest_deadline_in_lock_step() {
    all(Policy::Edf);
}

#[test]
fn edzl_in_lock_step() {
    all(Policy::Edzl);
}

#[test]
fn mllf_in_lock_step() {
    all(Policy::Mllf);
}

/// The selectors of build.rs.
fn select(built: &BuiltEngine) -> Select {
    match built.name {
        "engine_8x2" | "engine_64x8" => Select::Serial,
        "engine_5x3" => Select::Tree,
        "engine_16x1" => Select::Pipelined,
        other => panic!("the selector of {other} is not known here"),
    }
}

/// From a tick to the decision and to the interrupt the RTL takes what the table of the simulator's `--hw model` says, with no
/// task that is ready and with all.
#[test]
fn the_rtl_takes_the_clocks_of_the_table() {
    for built in ENGINES {
        let decision = u64::from(clocks::to_decision(select(built), built.tasks as u32));
        for tasks in [1, built.tasks] {
            let mut rtl = Rtl::new(built, Policy::Llf, true, true);
            let task = Task { period: 50, wcet: 20, deadline: 50, phase: 0, sporadic: false };
            (0..tasks).for_each(|n| rtl.set(n, &task));
            rtl.engine.write(0, regs::CTRL, regs::ctrl::RUN.put(1));
            let tick = rtl.engine.clocks;
            let (mut decided, mut risen) = (None, None);
            while rtl.engine.clocks < tick + decision + 10 {
                let out = rtl.engine.clock(EngineIn::default());
                let now = rtl.engine.clocks - tick;
                decided = decided.or((out.decided == 1).then_some(now));
                risen = risen.or((out.irq != 0).then_some(now));
            }
            let (decided, risen) = (decided.expect("a decision"), risen.expect("an interrupt"));
            println!(
                "{}, {tasks} tasks: decision after {decided} clocks, interrupt after {risen}",
                built.name
            );
            assert_eq!(decided, decision, "{}, {tasks} tasks", built.name);
            assert_eq!(risen, decision + u64::from(clocks::TO_INTERRUPT), "{}, {tasks} tasks", built.name);
        }
    }
}

/// What the simulator drives with `--hw cosim` is what it drives with `--hw model`: the same choices, interrupts, claims and
/// states under tasks of which some end early.
#[test]
fn both_devices_of_the_simulator_agree() {
    let ticks = number("WEIR_HW_DECISIONS", 20_000).min(200_000);
    for built in ENGINES {
        for policy in [Policy::Llf, Policy::Edf, Policy::Edzl] {
            let setup = Setup {
                tasks: built.tasks,
                cpus: built.cpus,
                policy,
                keep: true,
                stay: true,
                tick_clocks: 300,
            };
            let mut rtl = Cosim::new(&setup, select(built)).expect("it is built");
            let mut model = Model::new(&setup);
            for n in 0..built.tasks {
                // About as much as the CPUs can do.
                let period = 20 + 7 * n as u32;
                let wcet = (period * built.cpus as u32 / built.tasks as u32).clamp(1, period - 1);
                let task = Task { period, wcet, deadline: period, phase: n as u32, sporadic: false };
                assert!(rtl.set(n, task) && model.set(n, task), "{task:?}");
            }
            let claimed = |c: Claim| if let Claim::Task(n, _) = c { Some(n) } else { None };
            for tick in 0..ticks / 20 {
                rtl.tick();
                model.tick();
                for round in 0..2 {
                    for c in 0..built.cpus {
                        let at = format!("{}, {policy:?}, tick {tick}, CPU {c}, round {round}", built.name);
                        assert_eq!(rtl.chosen(c), model.chosen(c), "{at}");
                        let interrupt = model.interrupts(c);
                        assert_eq!(rtl.interrupts(c), interrupt, "{at}");
                        if interrupt {
                            let claim = model.claim(c);
                            assert_eq!(rtl.claim(c), claim, "{at}");
                            // Now and then a job ends as soon as it has the CPU.
                            if let Some(n) = claimed(claim).filter(|n| (n + tick as usize).is_multiple_of(5))
                            {
                                let (_, job) = model.state(n);
                                rtl.done(n, job);
                                model.done(n, job);
                            }
                        }
                    }
                }
                let n = tick as usize % built.tasks;
                assert_eq!(rtl.state(n), model.state(n), "{}, {policy:?}, tick {tick}, task {n}", built.name);
            }
        }
    }
}

/// On every engine that has room for them.
#[test]
fn the_rtl_keeps_the_golden_schedules() {
    let mut checked = 0;
    for v in VECTORS {
        for built in ENGINES.iter().filter(|b| b.tasks >= v.tasks.len() && b.cpus == v.cpus) {
            let mut rtl = Rtl::new(built, v.policy, v.keep, true);
            v.tasks.iter().enumerate().for_each(|(n, t)| rtl.set(n, &golden::task(*t)));
            let given: Vec<_> = (0..v.ticks()).map(|_| rtl.decision(true).expect("a decision")).collect();
            v.check(&given, rtl.engine.read(0, regs::MISSES));
            checked += 1;
        }
    }
    assert!(checked >= VECTORS.len(), "{checked}");
}

/// Parameters are without effect until a command takes them, and nonsense is refused and changes nothing.
#[test]
fn what_cannot_be_is_refused() {
    let mut rtl = Rtl::new(ENGINES[0], Policy::Llf, true, true);
    let good = Task { period: 10, wcet: 3, deadline: 8, phase: 2, sporadic: false };
    let bad = [
        Task { wcet: 0, ..good },
        Task { period: 0, ..good },
        Task { wcet: 10, deadline: 10, ..good },
        Task { wcet: 9, ..good },
        Task { deadline: 11, ..good },
        Task { phase: 65535, ..good },
    ];
    let server = |budget, replenish| Terms { server: Some(Server { budget, replenish }), high: None };
    let high = |wcet, deadline| Terms { server: None, high: Some(High { wcet, deadline }) };
    // A budget that no period has; times of the high mode below those of the low one, or beyond period and deadline.
    let bad = bad.map(|t| (t, Terms::default())).into_iter().chain(
        [server(3, 2), server(1, 0), high(2, 8), high(9, 8), high(10, 8), high(3, 2), high(3, 9)]
            .map(|terms| (good, terms)),
    );
    for (t, terms) in bad {
        rtl.parameters(&t, &terms);
        rtl.engine.write(0, regs::CMD, regs::command(regs::OP_SET, 0, false, terms.high.is_some()));
        assert_eq!(rtl.engine.read(0, regs::CMD), 1, "{t:?} {terms:?}");
        assert!(!regs::State::of(rtl.engine.read(0, regs::state(0))).exists, "{t:?} {terms:?}");
    }
    for terms in [server(2, 2), high(3, 3), high(8, 0), high(8, 8)] {
        rtl.set_on(0, &good, &terms);
    }
    rtl.set(0, &good);
    assert!(regs::State::of(rtl.engine.read(0, regs::state(0))).exists);
    // A task that is not there, a command that is none.
    for command in [regs::command(regs::OP_SET, 8, false, false), 9] {
        rtl.engine.write(0, regs::CMD, command);
        assert_eq!(rtl.engine.read(0, regs::CMD), 1, "{command:#x}");
    }
    // Ticks closer than a decision lasts, and a policy that is not built in (64x8 has no MLLF), with all else that is in the write.
    let (tick, least) =
        (rtl.engine.read(0, regs::TICK), regs::clocks::LEAST.get(rtl.engine.read(0, regs::CLOCKS)));
    rtl.engine.write(0, regs::TICK, least - 1);
    assert_eq!((rtl.engine.read(0, regs::TICK), rtl.engine.read(0, regs::CMD)), (tick, 1));
    rtl.engine.write(0, regs::TICK, least);
    assert_eq!((rtl.engine.read(0, regs::TICK), rtl.engine.read(0, regs::CMD)), (least, 0));
    let without = ENGINES.iter().find(|b| !b.full).expect("one of them lacks MLLF");
    let mut engine = Engine::new(without);
    engine.write(0, regs::CTRL, regs::settings(Policy::Mllf, false, false) | regs::ctrl::RUN.put(1));
    assert_eq!((engine.read(0, regs::CTRL), engine.read(0, regs::CMD)), (0, 1));
    // Nor levels of criticality.
    for (op, high) in [(regs::OP_SET, true), (regs::OP_HIGH, false)] {
        let mut rtl = Rtl::new(without, Policy::Llf, true, true);
        rtl.parameters(&Task { deadline: 10, ..good }, &Terms::default());
        rtl.engine.write(0, regs::CMD, regs::command(op, 0, false, high));
        assert_eq!(rtl.engine.read(0, regs::CMD), 1, "command {op}");
    }
}

/// Each word of the window is read and written without an error where the map says so, and nowhere else.
#[test]
fn errors_are_where_the_map_has_no_register() {
    let (mut budgets, mut levels) = (0, 0);
    for built in ENGINES {
        let mut engine = Engine::new(built);
        let status = engine.read(0, regs::STATUS);
        let has = |bit: weir_hw::map::Field| bit.get(status) == 1;
        budgets += u32::from(has(regs::status::BUDGET));
        levels += u32::from(has(regs::status::CRITICALITY));
        for at in (0..regs::WINDOW as u16).step_by(4) {
            let register = regs::REGISTERS.iter().find(|r| (0..r.count).any(|n| r.at + n * r.stride == at));
            let exists = |r: &&weir_hw::map::Register| {
                (!["STATE", "COUNTERS"].contains(&r.name)
                    || usize::from((at - r.at) / r.stride) < built.tasks)
                    && match r.name {
                        "HOLD" => built.full,
                        "PARAM2" | "MODE" => has(regs::status::CRITICALITY),
                        "PARAM3" => has(regs::status::BUDGET),
                        _ => true,
                    }
            };
            let register = register.filter(exists);
            let shown = format!("{}, {at:#x}, {register:?}", built.name);
            assert_eq!(engine.errs(0, at, None), !register.is_some_and(|r| r.reads), "read: {shown}");
            assert_eq!(engine.errs(0, at, Some(0)), !register.is_some_and(|r| r.writes), "write: {shown}");
        }
    }
    assert!(
        [budgets, levels].iter().all(|n| (1..ENGINES.len() as u32).contains(n)),
        "engines with and without"
    );
}

/// READY and MISSED, both words, say of each task what its STATE says; what is written to MISSED clears those bits and no others. CPU and
/// PEEK say of each CPU what SCHED says to it.
#[test]
fn words_of_all_tasks_are_those_of_each() {
    for built in ENGINES {
        let mut rtl = Rtl::new(built, Policy::Edf, true, true);
        for n in 0..built.tasks {
            // Too much for the CPUs: some are late. Every third is not set.
            if n % 3 != 1 {
                let period = 4 + n as u32 % 5;
                rtl.set(n, &Task { period, wcet: 3, deadline: period, phase: n as u32 % 3, sporadic: false });
            }
        }
        let (mut seen_ready, mut seen_missed) = (0u64, 0u64);
        for tick in 0..40 {
            rtl.decision(true).expect("a decision");
            let word = |rtl: &mut Rtl, at: u16| {
                u64::from(rtl.engine.read(0, at)) | u64::from(rtl.engine.read(0, at + 4)) << 32
            };
            let states: Vec<_> =
                (0..built.tasks).map(|n| regs::State::of(rtl.engine.read(0, regs::state(n as u8)))).collect();
            let bits = |f: fn(&regs::State) -> bool| {
                states.iter().enumerate().map(|(n, s)| u64::from(f(s)) << n).sum::<u64>()
            };
            let (ready, missed) = (bits(|s| s.ready), bits(|s| s.missed));
            let at = format!("{}, tick {tick}", built.name);
            assert_eq!(word(&mut rtl, regs::READY), ready, "{at}");
            assert_eq!(word(&mut rtl, regs::MISSED), missed, "{at}");
            seen_ready |= ready;
            seen_missed |= missed;
            // One bit of each word.
            if tick % 7 == 6 {
                let half = tick as u16 / 7 % 2;
                let some = (missed >> (32 * half)) as u32;
                let bit = some & some.wrapping_neg();
                rtl.engine.write(0, regs::MISSED + 4 * half, bit);
                let left = missed & !(u64::from(bit) << (32 * half));
                assert_eq!(word(&mut rtl, regs::MISSED), left, "{at}: after {bit:#x} is cleared");
            }
            // A CPU a tick: a tick has not the clocks for all.
            {
                let c = tick as usize % built.cpus;
                assert_eq!(rtl.engine.read(c, regs::CPU) as usize, c, "{at}");
                let peek = rtl.engine.read(c, regs::PEEK);
                assert_eq!(rtl.engine.read(c, regs::PEEK), peek, "{at}: PEEK changes nothing");
                assert_eq!(rtl.engine.read(c, regs::SCHED), peek, "{at}");
            }
        }
        let all = (0..built.tasks).filter(|n| n % 3 != 1).map(|n| 1u64 << n).sum::<u64>();
        assert_eq!(seen_ready, all, "{}", built.name);
        // More than the CPUs can do, but for five tasks on three of them: late ones, and some in each word.
        let late = [seen_missed as u32 != 0, built.tasks <= 32 || seen_missed >> 32 != 0];
        assert!(built.tasks == 5 || late == [true; 2], "{}: {seen_missed:#x}", built.name);
    }
}

/// A job that is reported complete while a decision is made is not given a CPU by it, in whichever clock the report comes.
#[test]
fn a_report_during_a_decision_counts() {
    for built in ENGINES {
        let probe = Rtl::new(built, Policy::Llf, true, true);
        for clock in 0..probe.decision_clocks + 2 {
            let mut rtl = Rtl::new(built, Policy::Llf, true, true);
            let n = built.tasks - 1;
            rtl.set(n, &Task { period: 50, wcet: 20, deadline: 50, phase: 0, sporadic: false });
            rtl.decision(true).expect("the first decision");
            let tick = rtl.ticked.expect("there was a tick") + rtl.tick_clocks;
            while rtl.engine.clocks < tick - 1 + clock {
                rtl.engine.clock(EngineIn::default());
            }
            let mut busy = rtl.engine.write(0, regs::DONE, regs::complete(n as u8, 1)).busy;
            while rtl.engine.clocks < tick + rtl.decision_clocks + 1 {
                busy = rtl.engine.clock(EngineIn::default()).busy;
            }
            // A report that takes effect, three clocks after its request, no later than the decision leaves the CPU idle; a
            // later one waits for the next.
            let counted = clock + 1 < rtl.decision_clocks;
            assert_eq!(busy == 0, counted, "{}, a report in clock {clock} of a decision", built.name);
        }
    }
}
