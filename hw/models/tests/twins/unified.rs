// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The unified controller against its model, call by call, with every command: threads, lines of both kinds, timers.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weir_hw::map::unified::*;
use weir_hw::regs::unified_call;
use weir_hw::unified::Unified;
use weir_hw::verilated::{CallIn, CallOut, Calls, UNIFIED_256};

use crate::number;

/// As in build.rs.
const LINES: u8 = 16;
const EDGES: u64 = 0x00ff;
const TIMERS: u8 = 8;
/// Clocks within which calls must be answered, and after which nothing is under way any more.
const NEXT_LATEST: u64 = 9 + LINES as u64 + TIMERS as u64;
const LATEST: u64 = 6;
const SETTLED: u64 = 48;
/// From a line that rises to the interrupt, if no other is read.
const PROMPT: u64 = 6;

struct World {
    rtl: Calls,
    model: Unified,
    high: u64,
}

impl World {
    fn clock(&mut self, mut input: CallIn) -> CallOut {
        input.lines = self.high as u32;
        self.rtl.clock(input)
    }

    /// Nothing is under way, no timer is about to expire: which of two is first would be a matter of clocks.
    fn settle(&mut self) {
        let mut until = self.rtl.clocks + SETTLED;
        loop {
            while self.rtl.clocks < until {
                self.clock(CallIn::default());
            }
            // One that has just expired may not have been found yet.
            let near = |at: &u64| at + SETTLED > until && *at < until + NEXT_LATEST + SETTLED;
            match self.model.expiries().filter(near).max() {
                Some(at) => until = at + SETTLED,
                None => break,
            }
        }
        self.model.time(self.rtl.clocks);
    }

    fn ask(&mut self, addr: u32, store: Option<u32>) -> u32 {
        let lines = self.high as u32;
        let (wdata, we) = (store.unwrap_or(0), store.is_some().into());
        let input = CallIn { addr, wdata, lines, we, ..CallIn::default() };
        let latest = if addr == unified_call(NEXT, 0, 0, 0) { NEXT_LATEST } else { LATEST };
        self.rtl.call(input, latest, |_| ()).0
    }

    fn interrupts(&mut self) -> bool {
        self.clock(CallIn::default()).irq == 1
    }
}

#[test]
fn the_controller_is_its_model() {
    let decisions = number("WEIR_HW_DECISIONS", 20_000);
    let first = number("WEIR_HW_SEED", 1);
    let (mut made, mut seed, mut sources, mut interrupts) = (0, 0, [0u64; 4], 0u64);
    while made < decisions {
        let mut rng = ChaCha8Rng::seed_from_u64(first + seed);
        let mut w = World {
            rtl: Calls::new(&UNIFIED_256),
            model: Unified::new(LINES.into(), EDGES, TIMERS.into()),
            high: 0,
        };
        w.settle();
        // Few priorities, so that there are equals, some of them at the ends.
        let levels: Vec<u8> = (0..5).map(|_| rng.random()).chain([0, 255]).collect();
        for step in 0..1000 {
            let at = format!("seed {}, step {step}", first + seed);
            let (thread, priority) = (rng.random(), levels[rng.random_range(0..levels.len())]);
            // One beyond the last line, and beyond the last timer, now and then.
            let (line, timer) = (rng.random_range(0..=LINES), rng.random_range(0..=TIMERS));
            let (command, which) = match rng.random_range(0..20) {
                0..=3 => (SET_THREAD, rng.random_range(0..2)),
                4..=6 => (ASSOCIATE, line),
                7 => (CLEAR, line),
                8 => (READ, line),
                9 | 10 => (ADD_TIMER, timer),
                11 => (TIMER_STATUS, timer),
                12 => (CANCEL_TIMER, timer),
                13 => (CURRENT, 0),
                14 => (rng.random_range(CLOCK..16), 0),
                _ => (NEXT, 0),
            };
            let address = if command == NEXT {
                unified_call(NEXT, 0, 0, 0)
            } else {
                unified_call(command, thread, priority, which)
            };
            let shown = format!("{at}: command {command}, thread {thread}, priority {priority}, {which}");
            match command {
                ADD_TIMER if rng.random_range(0..8) != 0 => {
                    let clocks = rng.random_range(0..2000);
                    // The clock of the call is that in which it is seen.
                    let due = w.rtl.clocks + 1 + u64::from(clocks);
                    assert_eq!(
                        w.ask(address, Some(clocks)),
                        w.model.add_timer(thread, priority, which, due),
                        "{shown}"
                    );
                }
                TIMER_STATUS => {
                    let (got, want) = (w.ask(address, None), w.model.call(command, thread, priority, which));
                    assert_eq!(got.min(1), want.min(1), "{shown}: {got}");
                    assert_eq!(got == u32::MAX, want == u32::MAX, "{shown}");
                }
                CLOCK => {
                    let now = w.rtl.clocks as u32;
                    assert!(w.ask(address, None).abs_diff(now) < 8, "{shown}");
                }
                _ => {
                    let (got, want) = (w.ask(address, None), w.model.call(command, thread, priority, which));
                    assert_eq!(got, want, "{shown}: {got:#x}, the model says {want:#x}");
                    if command == NEXT {
                        sources[if next::NONE.get(got) == 1 { 3 } else { next::SOURCE.get(got) as usize }] +=
                            1;
                    }
                }
            }
            // Posted only now, and the lines change one at a time.
            w.model.lines(w.high);
            w.settle();
            if rng.random_range(0..2) == 0 {
                w.high ^= 1 << rng.random_range(0..LINES);
                w.model.lines(w.high);
                w.settle();
            }
            let irq = w.interrupts();
            assert_eq!(irq, w.model.interrupts(), "{at}: interrupt");
            interrupts += u64::from(irq);
            made += 1;
        }
        seed += 1;
    }
    // What is compared must have happened: nothing to run is the rarest, once in about 400 calls.
    let often = sources.iter().all(|n| *n >= made / 1000) && interrupts >= made / 50;
    assert!(often, "of {made}: {sources:?} {interrupts}");
    println!(
        "unified_256: {made} calls in {seed} histories; NEXT gave {} threads, {} timers, {} lines, {} times nothing; no difference",
        sources[0], sources[1], sources[2], sources[3]
    );
}

/// Calls follow each other without a pause, as fast as a bus can: each answer is in time, a line and a timer interrupt in time.
#[test]
fn calls_without_a_pause_are_answered_in_time() {
    let mut rng = ChaCha8Rng::seed_from_u64(number("WEIR_HW_SEED", 1));
    let mut w = World {
        rtl: Calls::new(&UNIFIED_256),
        model: Unified::new(LINES.into(), EDGES, TIMERS.into()),
        high: 0,
    };
    w.clock(CallIn::default());
    for _ in 0..20_000 {
        let (command, priority) = (rng.random_range(0..10), rng.random());
        let which = rng.random_range(0..LINES);
        let address = if command == NEXT {
            unified_call(NEXT, 0, 0, 0)
        } else {
            unified_call(command, 1, priority, which)
        };
        w.ask(address, (command == ADD_TIMER).then_some(rng.random_range(0..40)));
        w.high = rng.random();
    }
    // Nothing but one line and one timer.
    w.high = 0;
    w.clock(CallIn::default());
    for level in 0..=255 {
        w.ask(unified_call(SET_THREAD, 0, level, 1), None);
    }
    for n in 0..LINES {
        w.ask(unified_call(CLEAR, 0, 0, n), None);
        w.ask(unified_call(CANCEL_TIMER, 0, 0, n), None);
    }
    let until_irq = |w: &mut World| {
        let began = w.rtl.clocks;
        while !w.interrupts() {
            assert!(w.rtl.clocks - began < 100, "no interrupt");
        }
        w.rtl.clocks - began
    };
    for n in 0..LINES {
        assert_eq!(next::NONE.get(w.ask(unified_call(NEXT, 0, 0, 0), None)), 1);
        assert_eq!(w.ask(unified_call(ASSOCIATE, n, 200, n), None), 0);
        for _ in 0..SETTLED {
            assert!(!w.interrupts());
        }
        w.high = 1 << n;
        assert!(until_irq(&mut w) <= PROMPT);
        w.high = 0;
        w.ask(unified_call(NEXT, 0, 0, 0), None);
        let clocks = rng.random_range(0..300);
        w.ask(unified_call(NEXT, 0, 0, 0), None);
        let timer = n % TIMERS;
        w.ask(unified_call(ADD_TIMER, n, 100, timer), Some(clocks));
        let due = w.rtl.clocks + u64::from(clocks);
        while w.rtl.clocks + 3 < due {
            assert!(!w.interrupts(), "too early");
        }
        // Found, read, compared.
        let late = until_irq(&mut w);
        assert!(late <= u64::from(TIMERS) + 2 + PROMPT, "{late} clocks late");
        let took = w.ask(unified_call(NEXT, 0, 0, 0), None);
        assert_eq!((next::SOURCE.get(took), next::WHICH.get(took)), (1, timer.into()));
    }
}
