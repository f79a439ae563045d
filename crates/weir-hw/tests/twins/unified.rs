// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The unified controller against its model, call by call, with every command: threads, lines of both kinds, timers.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weir_hw::map::unified::*;
use weir_hw::regs::unified_call;
use weir_hw::unified::Unified;
use weir_hw::verilated::{UNIFIED_256, UnifiedIn, UnifiedRtl};

use crate::number;

/// As in build.rs.
const LINES: u8 = 16;
const EDGES: u64 = 0x00ff;
const TIMERS: u8 = 8;
/// Clocks within which a call must be answered, and after which nothing is under way any more.
const LATEST: u64 = 60;
const SETTLED: u64 = 80;

struct World {
    rtl: UnifiedRtl,
    model: Unified,
    high: u64,
}

impl World {
    fn clock(&mut self, mut input: UnifiedIn) -> weir_hw::verilated::UnifiedOut {
        input.lines = self.high as u32;
        self.rtl.clock(input)
    }

    /// Nothing is under way, no timer is about to expire: which of two is first would be a matter of clocks.
    fn settle(&mut self) {
        let mut until = self.rtl.clocks + SETTLED;
        loop {
            while self.rtl.clocks < until {
                self.clock(UnifiedIn::default());
            }
            self.model.time(self.rtl.clocks);
            let soon = self.model.expiries().filter(|at| *at < until + LATEST + SETTLED).max();
            match soon {
                Some(at) => until = at + SETTLED,
                None => break,
            }
        }
    }

    fn ask(&mut self, addr: u32, store: Option<u32>) -> u32 {
        let input =
            UnifiedIn { addr, wdata: store.unwrap_or(0), lines: 0, req: 1, we: store.is_some().into() };
        let mut out = self.clock(input);
        let asked = self.rtl.clocks;
        while out.rvalid == 0 {
            out = self.clock(UnifiedIn { req: 0, ..input });
            assert!(self.rtl.clocks - asked < LATEST, "call {addr:#x} is not answered");
        }
        out.rdata
    }

    fn interrupts(&mut self) -> bool {
        self.clock(UnifiedIn::default()).irq == 1
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
            rtl: UnifiedRtl::new(&UNIFIED_256),
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
            let address = unified_call(command, thread, priority, which);
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
    assert!(sources.iter().all(|n| *n > 50) && interrupts > 100, "{sources:?} {interrupts}");
    println!(
        "unified_256: {made} calls in {seed} histories; NEXT gave {} threads, {} timers, {} lines, {} times nothing; no difference",
        sources[0], sources[1], sources[2], sources[3]
    );
}
