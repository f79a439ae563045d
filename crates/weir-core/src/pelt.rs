// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Load tracking as the balancer of fair schedulers does it (`core/include/weir/kit/pelt.h`).

/// Averages of one task or queue, of which each period of 1,024 us counts y times what the next one does, with
/// y^32 = 1/2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Pelt {
    at: u64,
    load_sum: u64,
    util_sum: u64,
    part: u32,
    unused: u32,
}

unsafe extern "C" {
    fn weir_pelt_decay(value: u64, n: u64) -> u64;
    fn weir_pelt_update(p: *mut Pelt, now: u64, load: u64, capacity: u64) -> i32;
}

/// The limit of a sum: 1,024 for each period, in the kernel's arithmetic.
const MAX: u64 = 47_742;

impl Pelt {
    /// `value` after `periods` periods, rounded down. O(1).
    pub fn decay(value: u64, periods: u64) -> u64 {
        // SAFETY: a function of two numbers.
        unsafe { weir_pelt_decay(value, periods) }
    }

    /// Since the last call there was this load, and a CPU of this capacity ran it (0: none did). `now` in ns; the
    /// first call only begins. O(1).
    pub fn update(&mut self, now: u64, load: u64, capacity: u64) {
        // SAFETY: the record has C's layout, and nobody else has it.
        unsafe { weir_pelt_update(self, now, load, capacity) };
    }

    fn divider(&self) -> u64 {
        MAX - 1024 + u64::from(self.part)
    }

    /// Mean load.
    pub fn load(&self) -> u64 {
        self.load_sum / self.divider()
    }

    /// Part of a CPU of capacity 1,024 that it uses, in 1/1024.
    pub fn util(&self) -> u64 {
        self.util_sum / self.divider()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_NS: u64 = 1024 * 1024;

    /// y^n, from the definition.
    fn y(n: f64) -> f64 {
        (-n / 32.0).exp2()
    }

    /// The geometric series itself: the share of time for which each period had the load, newest first, weighed. `spans`
    /// are (length in ns, load), one after the other.
    fn series(spans: &[(u64, u64)]) -> f64 {
        let end: u64 = spans.iter().map(|s| s.0).sum();
        let newest = end / PERIOD_NS;
        let (mut sum, mut from) = (0.0, 0);
        for &(ns, load) in spans {
            let mut at = from;
            from += ns;
            while at < from {
                let period = at / PERIOD_NS;
                let until = from.min((period + 1) * PERIOD_NS);
                sum += load as f64 * (until - at) as f64 / 1024.0 * y((newest - period) as f64);
                at = until;
            }
        }
        // All full periods there ever were, and what there is of the newest.
        let whole = 1024.0 * y(1.0) / (1.0 - y(1.0)) + (end % PERIOD_NS) as f64 / 1024.0;
        sum / whole
    }

    /// Our averages after the same spans.
    fn ours(spans: &[(u64, u64)]) -> Pelt {
        let (mut p, mut now) = (Pelt::default(), PERIOD_NS);
        p.update(now, 0, 0);
        for &(ns, load) in spans {
            now += ns;
            p.update(now, load, load);
        }
        p
    }

    #[test]
    fn decay_is_a_power_of_a_half() {
        for value in [1, 1024, MAX, 1 << 31, 88_761 * MAX] {
            for n in 0..2100 {
                let exact = value as f64 * y(n as f64);
                let got = Pelt::decay(value, n) as f64;
                assert!(
                    got <= exact + 1e-6 && got > exact - 2.0 - exact * 1e-9,
                    "{value} after {n}: {got}, not {exact}"
                );
            }
        }
        assert_eq!(
            [32, 64, 320].map(|n| Pelt::decay(1 << 20, n)),
            [(1 << 19) - 1, (1 << 18) - 1, (1 << 10) - 1]
        );
    }

    /// What always runs is at 1,024, and gets there by halves each 32 periods; the limit of the sum is the series' up to what
    /// rounding loses.
    #[test]
    fn averages_follow_the_series() {
        let limit = 1024.0 / (1.0 - y(1.0));
        assert!(MAX as f64 <= limit && MAX as f64 > limit - 64.0, "{limit}");
        for (periods, util) in [(32, 512), (64, 768), (96, 896), (2000, 1024)] {
            let p = ours(&[(periods * PERIOD_NS, 1024)]);
            assert!(p.util().abs_diff(util) <= 1, "{} after {periods} periods", p.util());
        }
    }

    /// A duty cycle in closed form: on for a, off for b periods, for ever.
    #[test]
    fn duty_cycles_have_the_closed_form() {
        for (a, b) in [(1, 1), (4, 12), (12, 4), (40, 60), (3, 97)] {
            let mut spans = Vec::new();
            for _ in 0..600 / (a + b) + 2 {
                spans.extend([(b * PERIOD_NS, 0), (a * PERIOD_NS, 1024)]);
            }
            let top = 1024.0 * (1.0 - y(a as f64)) / (1.0 - y((a + b) as f64));
            let high = ours(&spans).util();
            spans.push((b * PERIOD_NS, 0));
            let low = ours(&spans).util();
            assert!((high as f64 - top).abs() < 2.0, "{a} of {}: {high}, not {top}", a + b);
            assert!((low as f64 - top * y(b as f64)).abs() < 2.0, "{a} of {}: {low} at the least", a + b);
        }
    }

    /// Spans of any length and load, against the series; time goes in steps of 1,024 ns.
    #[test]
    fn any_history_is_near_the_series() {
        let mut x = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = |n: u64| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x % n
        };
        for _ in 0..200 {
            let spans: Vec<_> = (0..1 + next(60))
                .map(|_| {
                    let most = [20, 1000, 30_000][next(3) as usize];
                    (1024 * (1 + next(most)), next(2) * 1024)
                })
                .collect();
            let (got, exact) = (ours(&spans), series(&spans));
            assert!((got.util() as f64 - exact).abs() < 3.0, "{} is {exact}: {spans:?}", got.util());
            assert_eq!(got.util(), got.load());
        }
    }

    /// A thread in a Linux 7.2 kernel, switch by switch, and what that kernel said of its load when it was asked
    /// (experiments/sim-vs-kernel/pelt.sh). The kernel begins with guesses, which are gone after 0.9 s.
    #[test]
    fn the_numbers_are_the_kernels() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/sim-vs-kernel/data/pelt.csv");
        let text = std::fs::read_to_string(path).expect("the recording is there");
        let (mut p, mut runnable, mut running) = (Pelt::default(), 0, 0);
        let (mut then, mut off) = ((0, 0), Vec::new());
        for line in text.lines() {
            let fields: Vec<_> = line.split(',').collect();
            let us: u64 = fields[0].parse().expect("a time");
            match fields[1] {
                "look" => then = (p.util(), p.load()),
                "seen" if us > 900_000 => {
                    let (util, load): (u64, u64) = (fields[2].parse().unwrap(), fields[3].parse().unwrap());
                    off.push((util.abs_diff(then.0), load.abs_diff(then.1)));
                }
                "seen" => {}
                event => {
                    // The kernel's averages are those of the thread's last event.
                    p.update(us * 1000 + PERIOD_NS, runnable, running);
                    (runnable, running) = match event {
                        "woke" => (1024, running),
                        "on" => (1024, 1024),
                        "off" => (runnable, 0),
                        "slept" => (0, 0),
                        other => panic!("{other} in {path}"),
                    };
                }
            }
        }
        assert!(off.len() >= 40, "{} looks", off.len());
        let mean = |of: fn(&(u64, u64)) -> u64| off.iter().map(of).sum::<u64>() as f64 / off.len() as f64;
        let worst = off.iter().fold((0, 0), |w, o| (w.0.max(o.0), w.1.max(o.1)));
        assert!(mean(|o| o.0) < 2.0 && mean(|o| o.1) < 1.0, "utilisation, load: {off:?}");
        assert!(worst.0 <= 16 && worst.1 <= 8, "{worst:?} of 1024");
    }
}
