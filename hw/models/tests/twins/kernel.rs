// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The whole set against its model, call by call: threads, mutexes, condition variables, with interrupts and timers between.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weir_hw::kernel::{Call, FAILED, Kernel};
use weir_hw::map::{conditions, interrupts, lists, mutexes, threads, timers, unit};
use weir_hw::verilated::{CallIn, CallKind, CallOut, Calls, KERNEL_32X2_KEYS, KERNEL_256, KERNEL_256X3};

use crate::number;

/// Clocks within which a call must be answered: a broadcast to all, each behind another unit's wake-up.
const LATEST: u64 = 24 * 260;
const LINES: u8 = 16;

struct World {
    rtl: Calls,
    model: Kernel,
    /// Threads have keys.
    keys: bool,
    /// The CPU that calls.
    cpu: usize,
    /// Lines that are asserted now, threads that are to be woken by them, and timers: thread, clock of expiry.
    lines: u32,
    associated: BTreeMap<u8, u8>,
    timers: BTreeMap<u8, u64>,
    woken: Vec<u8>,
    /// Threads that a call from another CPU has blocked.
    suspended: Vec<u8>,
    /// Timers that have expired.
    expiries: u64,
}

impl World {
    fn new(built: &'static CallKind) -> Self {
        let mut this = Self {
            rtl: Calls::new(built),
            model: Kernel::new(built.cpus, built.tasks, built.full),
            keys: built.full,
            cpu: 0,
            lines: 0,
            associated: BTreeMap::new(),
            timers: BTreeMap::new(),
            woken: Vec::new(),
            suspended: Vec::new(),
            expiries: 0,
        };
        // The stack of free numbers is filled.
        for _ in 0..300 {
            this.clock(CallIn::default());
        }
        this
    }

    fn clock(&mut self, mut input: CallIn) -> CallOut {
        input.lines = self.lines;
        let out = self.rtl.clock(input);
        self.woken.extend((out.wake == 1).then_some(out.wake_id));
        out
    }

    fn ask(&mut self, addr: u32, store: Option<u32>) -> u32 {
        let lines = self.lines;
        let (we, cpu) = (store.is_some().into(), self.cpu as u8);
        let input = CallIn { addr, wdata: store.unwrap_or(0), lines, we, req: 0, cpu };
        let woken = &mut self.woken;
        self.rtl.call(input, LATEST, |out| woken.extend((out.wake == 1).then_some(out.wake_id))).0
    }

    /// The same call of both.
    fn both(&mut self, unit: u32, command: u32, thread: u8, argument: u8, at: &str) -> u32 {
        let call = Call { unit, command, thread, argument };
        // No timer expires during the call: which of the two is first would be a matter of clocks.
        while self.timers.values().any(|due| *due < self.rtl.clocks + 400) {
            self.settle();
            self.outside(at);
        }
        let got = self.ask(call.address(), None);
        self.settle();
        // Threads are one unit's matter: its NEXT gives the list's answer.
        let want = self.model.call(self.cpu, call).expect("the model has it");
        assert_eq!(got, want, "{at}: {call:?}");
        got
    }

    /// A new thread, if there is a number for it.
    fn spawn(&mut self, rng: &mut ChaCha8Rng, at: &str) {
        let t = self.both(unit::THREADS, threads::CREATE, 0, rng.random_range(0..2), at);
        if t & FAILED == 0 {
            self.both(unit::LISTS, lists::SET_PRIORITY, t as u8, priority(rng), at);
            if self.keys {
                self.set_key(t as u8, rng.random_range(0..4), at);
            }
            self.both(unit::THREADS, threads::ADD, t as u8, 0, at);
        }
    }

    /// The key of both.
    fn set_key(&mut self, t: u8, key: u32, at: &str) {
        let call = Call { unit: unit::LISTS, command: lists::SET_KEY, thread: t, argument: 0 };
        let got = self.ask(call.address(), Some(key));
        self.settle();
        assert_eq!(got, self.model.set_key(t, key), "{at}: key {key} of thread {t}");
    }

    /// Wait until hand-overs are through, and take what interrupts and timers have woken into account.
    fn settle(&mut self) {
        for _ in 0..40 {
            self.clock(CallIn::default());
        }
    }

    /// Wake-ups that no call has made must be due: a line's thread, or a timer's. Those of calls the model makes itself.
    fn outside(&mut self, at: &str) {
        let now = self.rtl.clocks;
        for t in std::mem::take(&mut self.woken) {
            let line =
                self.associated.iter().find(|(l, a)| **a == t && self.lines >> **l & 1 == 1).map(|(l, _)| *l);
            if let Some(line) = line {
                self.associated.remove(&line);
                self.model.wake(t);
            } else if self.timers.get(&t).is_some_and(|due| *due <= now) {
                self.timers.remove(&t);
                self.expiries += 1;
                self.model.wake(t);
            }
        }
        let late = self.timers.iter().find(|(_, due)| **due + 200 < now);
        assert!(late.is_none(), "{at}: a timer was not served: {late:?}");
        let unserved = self.associated.iter().find(|(l, _)| self.lines >> **l & 1 == 1);
        assert!(unserved.is_none(), "{at}: an interrupt was not served: {unserved:?}");
    }
}

#[test]
fn the_set_is_its_model() {
    compare(&KERNEL_256);
}

#[test]
fn the_set_with_three_cpus_is_its_model() {
    compare(&KERNEL_256X3);
}

#[test]
fn the_set_with_keys_is_its_model() {
    compare(&KERNEL_32X2_KEYS);
}

/// Few, so that there are equals.
fn priority(rng: &mut ChaCha8Rng) -> u8 {
    rng.random_range(1..6) * 40
}

/// Threads that behave: a running one calls, a blocked one gives up the CPU, on several CPUs not always at once.
fn compare(built: &'static CallKind) {
    let decisions = number("WEIR_HW_DECISIONS", 20_000);
    let first = number("WEIR_HW_SEED", 1);
    let (mut made, mut seed, mut seen) = (0, 0, Seen::default());
    while made < decisions {
        let mut rng = ChaCha8Rng::seed_from_u64(first + seed);
        let mut w = World::new(built);
        for cpu in 0..built.cpus {
            w.cpu = cpu;
            let idle = w.both(unit::THREADS, threads::CREATE, 0, 0, "idle thread") as u8;
            w.both(unit::LISTS, lists::SET_IDLE, idle, 0, "idle thread");
            if w.keys {
                w.set_key(idle, 0, "idle thread");
            }
            w.both(unit::LISTS, lists::PREEMPTION, 0, 1, "idle thread");
        }
        // As many as there are threads for.
        for step in 0..6 * built.tasks {
            let at = format!("seed {}, step {step}", first + seed);
            w.cpu = rng.random_range(0..built.cpus);
            let someone = |w: &World, rng: &mut ChaCha8Rng| {
                let all = w.model.alive();
                all[rng.random_range(0..all.len())]
            };
            let cpu = w.cpu;
            match w.model.current(cpu) {
                // Some time after its call: it may have been woken meanwhile.
                Some(_) if w.model.must_leave(cpu) => seen.leave(&mut w, &at),
                // The idle thread makes the first ones.
                None => {
                    w.spawn(&mut rng, &at);
                    w.both(unit::THREADS, threads::NEXT, 0, 0, &at);
                }
                Some(me) => {
                    let (m, c) = (rng.random_range(0..4), rng.random_range(0..3));
                    let leave = match rng.random_range(0..24) {
                        0..=3 => w.both(unit::MUTEXES, mutexes::LOCK, me, m, &at) == 1,
                        4..=6 => {
                            if let Some(m) = w.model.owns(me).first() {
                                w.both(unit::MUTEXES, mutexes::UNLOCK, me, *m, &at);
                            }
                            false
                        }
                        7 => w.both(unit::MUTEXES, mutexes::TRY_LOCK, me, m, &at) == 7,
                        8 => {
                            w.both(
                                unit::MUTEXES,
                                if m & 1 == 0 { mutexes::OWNER } else { mutexes::COUNT },
                                me,
                                m,
                                &at,
                            ) == 7
                        }
                        9 if m & 1 == 0 => {
                            w.both(unit::MUTEXES, mutexes::KIND, rng.random_range(0..2), m, &at) == 777
                        }
                        9 => {
                            w.both(unit::MUTEXES, mutexes::CEILING, rng.random_range(0..6) * 40, m, &at)
                                == 777
                        }
                        10 if !w.model.waits(me) => {
                            w.both(unit::CONDITIONS, conditions::WAIT, me, c, &at);
                            // It can be signalled, by a thread that preempts it, before it sleeps.
                            if rng.random_range(0..4) == 0 {
                                w.both(unit::CONDITIONS, conditions::SIGNAL, 0, c, &at);
                            }
                            w.both(unit::CONDITIONS, conditions::SLEEP, me, c, &at) == 1
                        }
                        11 | 12 => w.both(unit::CONDITIONS, conditions::SIGNAL, 0, c, &at) == 777,
                        13 => w.both(unit::CONDITIONS, conditions::BROADCAST, 0, c, &at) == 777,
                        14..=16 => {
                            w.spawn(&mut rng, &at);
                            false
                        }
                        17 if w.model.owns(me).is_empty() => {
                            w.both(unit::THREADS, threads::EXIT, 0, 0, &at);
                            true
                        }
                        18 => {
                            let t = someone(&w, &mut rng);
                            w.both(unit::THREADS, threads::JOIN, t, 0, &at) == 1
                        }
                        23 if built.cpus > 1 && rng.random_range(0..4) == 0 => {
                            let on = u8::from(rng.random_range(0..4) != 0);
                            w.both(unit::LISTS, lists::PREEMPTION, 0, on, &at) == 777
                        }
                        23 if built.cpus > 1 => {
                            let other = (cpu + 1) % built.cpus;
                            if let Some(t) = w.model.current(other).filter(|_| !w.model.must_leave(other)) {
                                w.both(unit::THREADS, threads::BLOCK, t, 0, &at);
                                seen.stopped += u64::from(w.model.interrupts(other));
                                if rng.random() {
                                    w.both(unit::THREADS, threads::ADD, t, 0, &at);
                                } else {
                                    w.suspended.push(t);
                                }
                            }
                            false
                        }
                        19 if w.keys && rng.random() => {
                            let t = someone(&w, &mut rng);
                            w.set_key(t, rng.random_range(0..4), &at);
                            w.both(unit::LISTS, lists::GET_KEY, t, 0, &at) == 777
                        }
                        19 => {
                            let t = someone(&w, &mut rng);
                            let (unit, command) = [
                                (unit::LISTS, lists::SET_PRIORITY),
                                (unit::LISTS, lists::RAISE),
                                (unit::THREADS, threads::RAISE),
                                (unit::THREADS, threads::LOWER),
                            ][rng.random_range(0..4)];
                            w.both(unit, command, t, priority(&mut rng), &at);
                            w.both(unit::THREADS, threads::STATUS, t, 0, &at) == 777
                        }
                        20 | 21 if w.associated.len() < usize::from(LINES) => {
                            // Serve a line that is quiet: blocked until it interrupts.
                            let line =
                                (0..LINES).find(|l| !w.associated.contains_key(l)).expect("one is free");
                            w.lines &= !(1 << line);
                            w.settle();
                            let call = Call {
                                unit: unit::INTERRUPTS,
                                command: interrupts::ASSOCIATE,
                                thread: me,
                                argument: line,
                            };
                            assert_eq!(w.ask(call.address(), None), 0, "{at}: {call:?}");
                            w.model.block(me, None);
                            w.associated.insert(line, me);
                            true
                        }
                        22 if w.timers.len() < 16 => {
                            let clocks = rng.random_range(100..3000);
                            let call =
                                Call { unit: unit::TIMERS, command: timers::ADD, thread: me, argument: 0 };
                            w.timers.insert(me, w.rtl.clocks + u64::from(clocks));
                            w.ask(call.address(), Some(clocks));
                            w.model.block(me, None);
                            true
                        }
                        _ => {
                            w.both(unit::THREADS, threads::YIELD, 0, 0, &at);
                            false
                        }
                    };
                    w.outside(&at);
                    if leave && (built.cpus == 1 || rng.random()) {
                        seen.leave(&mut w, &at);
                    }
                }
            }
            if rng.random_range(0..3) == 0
                && let Some(t) = w.suspended.pop()
            {
                w.both(unit::THREADS, threads::ADD, t, 0, &at);
            }
            // A device now and then.
            if rng.random_range(0..3) == 0
                && let Some((line, _)) =
                    w.associated.iter().nth(rng.random_range(0..w.associated.len().max(1)))
            {
                w.lines |= 1 << line;
                seen.lines += 1;
            }
            w.settle();
            w.outside(&at);
            let irq = w.clock(CallIn::default()).irq;
            let want = |w: &World| (0..built.cpus).map(|c| u8::from(w.model.interrupts(c)) << c).sum::<u8>();
            assert_eq!(irq, want(&w), "{at}: interrupts");
            // All that are interrupted switch, and after that the most urgent threads run.
            if rng.random_range(0..built.cpus as u32 + 1) != 0 {
                while want(&w) != 0 {
                    w.cpu = want(&w).trailing_zeros() as usize;
                    seen.switches += 1;
                    w.both(unit::THREADS, threads::NEXT, 0, 0, &at);
                }
                assert_eq!(w.clock(CallIn::default()).irq, 0, "{at}: interrupts after all have switched");
            }
            made += 1;
        }
        seen.expiries += w.expiries;
        seed += 1;
    }
    println!("{}: {made} calls in {seed} histories, {seen:?}, no difference", built.name);
    // What is compared must have happened often.
    let least = made / 400;
    let each = [seen.left, seen.lines, seen.expiries, seen.switches];
    assert!(each.iter().all(|n| *n >= least), "of {made}: {seen:?}");
    assert!(built.cpus == 1 || seen.stopped >= least, "of {made}: {seen:?}");
}

/// How often something happened: a blocked thread gave up its CPU, a line rose, a timer expired, an interrupt made a CPU switch, a
/// thread on another CPU was stopped.
#[derive(Debug, Default)]
struct Seen {
    left: u64,
    lines: u64,
    expiries: u64,
    switches: u64,
    stopped: u64,
}

impl Seen {
    fn leave(&mut self, w: &mut World, at: &str) {
        self.left += 1;
        w.both(unit::THREADS, threads::NEXT, 0, 0, at);
    }
}
