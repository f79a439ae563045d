// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The source's claims about contention, tried.

use super::study::Study;
use super::{At, BURNS, MEASURED};
use crate::reproduce::report::{Claim, FAR, Judged, NEAR, short};

impl Study<'_> {
    pub fn claims(&self, quick: bool) -> Vec<Claim> {
        let mut claims = Vec::new();
        claims.extend(self.gain_claims());
        claims.extend(self.knee_claims());
        claims.extend(self.slope_claim());
        claims.extend(self.half_claim());
        claims.extend(self.progress_claim());
        claims.extend(self.admit_claim());
        claims.extend(self.burn_claim());
        claims.extend(self.count_claim());
        if !quick {
            claims.extend(self.beyond_claim());
        }
        claims
    }

    /// The gains of table B: per machine at the least and the most work.
    fn gain_claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        let measured: Vec<u32> = self.sizes().into_iter().filter(|c| MEASURED.contains(c)).collect();
        for cpus in measured {
            for burn in [0, 2000] {
                let Some((fewest, here, there)) = self.gain(cpus, burn) else { continue };
                claims.push(Claim::new(
                    format!(
                        "{cpus} CPUs, {burn} iterations: activate_task with {fewest} pipe{} is dearer than with {cpus} by",
                        if fewest == 1 { "" } else { "s" }
                    ),
                    format!("{} ×", short(there)),
                    format!("{} ×", short(here)),
                    Judged::near(here, there, NEAR, FAR),
                ));
            }
        }
        claims
    }

    fn knee_claims(&self) -> Vec<Claim> {
        let claim = |burn: u32, words: &str, least: f64, most: f64| {
            let here: Vec<(u32, f64)> = self
                .sizes()
                .into_iter()
                .filter(|c| (32..=254).contains(c))
                .filter_map(|c| Some((c, self.knee(c, burn, |at| self.activate(at))?)))
                .collect();
            let there: Vec<(u32, f64)> = here
                .iter()
                .filter_map(|(c, _)| Some((*c, self.knee(*c, burn, |at| self.source(at, "activate_us"))?)))
                .collect();
            let inside = here.iter().filter(|k| (least..=most).contains(&k.1)).count();
            let list = |of: &[(u32, f64)]| {
                of.iter().map(|(c, k)| format!("{} ({c})", short(*k))).collect::<Vec<_>>().join(", ")
            };
            (!here.is_empty()).then(|| {
                Claim::new(
                    format!("{burn} iterations: contention is low {words} CPUs share a pipe"),
                    format!("CPUs a pipe (machine) up to which it costs at most half more: {}", list(&there)),
                    list(&here),
                    Judged::of(
                        inside == here.len(),
                        inside > 0,
                        format!("between {least} and {most} on every machine; partly on some"),
                    ),
                )
            })
        };
        [claim(0, "once fewer than about 16", 8.0, 32.0), claim(2000, "once fewer than about 8", 4.0, 16.0)]
            .into_iter()
            .flatten()
            .collect()
    }

    fn slope_claim(&self) -> Option<Claim> {
        let sizes: Vec<u32> = self.sizes().into_iter().filter(|c| MEASURED.contains(c)).collect();
        if sizes.len() < 2 {
            return None;
        }
        let here = self.slope(&sizes, |at| self.points.get(&at).map(|p| p.calls.admit.mean_us()));
        let there = self.slope(&[16, 32, 64, 128, 254], |at| self.source(at, "admit_us"));
        let show = |(slope, offset): (f64, f64)| format!("{offset:.2} us + {slope:.4} us a CPU");
        Some(
            Claim::new(
                "admission grows in proportion to the CPUs: the balancer looks at each",
                show(there),
                show(here),
                Judged::near(here.0, there.0, 1.05, 1.5),
            )
            .fitted("the cost table was fitted to this line, once"),
        )
    }

    /// One pipe a CPU is not necessary.
    fn half_claim(&self) -> Option<Claim> {
        let list: Vec<(u32, f64, Option<f64>)> = self
            .sizes()
            .into_iter()
            .filter(|c| MEASURED.contains(c))
            .filter_map(|c| {
                let half = self.pipes(c, 0).into_iter().find(|p| *p >= c / 2)?;
                let (half, full) = ((c, 0, half), (c, 0, c));
                let there = self
                    .source(half, "activate_us")
                    .zip(self.source(full, "activate_us"))
                    .map(|(h, f)| h / f);
                Some((c, self.activate(half)? / self.activate(full)?, there))
            })
            .collect();
        let worst = list.iter().map(|l| l.1).fold(0.0, f64::max);
        let show = |v: Option<f64>| v.map_or("?".into(), |v| format!("{:.1} %", 100.0 * (v - 1.0)));
        type Cost = (u32, f64, Option<f64>);
        let words = |f: &dyn Fn(&Cost) -> Option<f64>| {
            list.iter().map(|l| format!("{} ({})", show(f(l)), l.0)).collect::<Vec<_>>().join(", ")
        };
        (!list.is_empty()).then(|| {
            Claim::new(
                "not every CPU needs its own pipe: two CPUs a pipe, no iterations, cost more by",
                words(&|l| l.2),
                words(&|l| Some(l.1)),
                Judged::of(
                    worst <= 1.05,
                    worst <= 1.3,
                    "at most 5 % on every machine, as in the source; partly at most 30 %",
                ),
            )
        })
    }

    /// More than 32 CPUs a pipe.
    fn progress_claim(&self) -> Option<Claim> {
        let (one, all) = (self.points.get(&(64, 0, 1))?, self.points.get(&(64, 0, 64))?);
        let slower = one.end_ns as f64 / all.end_ns as f64;
        Some(
            Claim::new(
                "more than 32 CPUs at one pipe: nearly all time goes into the scheduler",
                "almost no progress; not measurable",
                format!(
                    "64 CPUs, 1 pipe: {:.0} % of the busy time (with 64 pipes {:.0} %); {} × as long",
                    100.0 * one.share,
                    100.0 * all.share,
                    short(slower)
                ),
                Judged::of(one.share >= 0.9, one.share >= 0.6, "90 % at least; partly 60 %"),
            )
            .remark("locks here are granted in order and do not get slower when many wait, so progress never stops"),
        )
    }

    fn admit_claim(&self) -> Option<Claim> {
        let ratio = |of: &dyn Fn(At) -> Option<f64>, cpus: u32| {
            let fewest = self.gain(cpus, 0)?.0;
            Some(of((cpus, 0, fewest))? / of((cpus, 0, cpus))?)
        };
        let sizes: Vec<u32> = self.sizes().into_iter().filter(|c| MEASURED.contains(c)).collect();
        let here = |at: At| self.points.get(&at).map(|p| p.calls.admit.mean_us());
        let there = |at: At| self.source(at, "admit_us");
        let words = |of: &dyn Fn(At) -> Option<f64>| {
            let one = |c: &u32| ratio(of, *c).map(|r| format!("{} ({c})", short(r)));
            sizes.iter().filter_map(one).collect::<Vec<_>>().join(", ")
        };
        let worst = sizes.iter().filter_map(|c| ratio(&here, *c)).fold(0.0, f64::max);
        (worst > 0.0).then(|| {
            Claim::new(
                "admission hardly suffers, because the benchmark forks while the machine is idle: fewest pipes over one a CPU",
                words(&there),
                words(&here),
                Judged::of(
                    worst <= 1.4,
                    worst <= 3.0,
                    "at most 1.4 on every machine, as in the source; partly at most 3",
                ),
            )
        })
        .map(|c| if worst < 1.005 { c.absent("nobody else takes the lock while the benchmark forks: there is no contention to limit") } else { c })
    }

    fn burn_claim(&self) -> Option<Claim> {
        let base = self.activate((16, 0, 16))?;
        let base_there = self.source((16, 0, 16), "activate_us")?;
        let added: Vec<(u32, f64, f64)> = BURNS[1..]
            .iter()
            .filter_map(|b| {
                let at = (16, *b, 16);
                Some((*b, self.activate(at)? - base, self.source(at, "activate_us")? - base_there))
            })
            .collect();
        let good = added.iter().all(|a| (a.1 - a.2).abs() <= 0.05 * a.2);
        let words = |f: fn(&(u32, f64, f64)) -> f64| {
            added.iter().map(|a| format!("{:.2}", f(a))).collect::<Vec<_>>().join(", ")
        };
        let steps = added.iter().map(|a| a.0.to_string()).collect::<Vec<_>>().join(", ");
        (!added.is_empty()).then(|| {
            Claim::new(
                format!("16 CPUs, 16 pipes: {steps} iterations are paid once a call, us"),
                words(|a| a.2),
                words(|a| a.1),
                Judged::of(good, false, "each within 5 % of the source"),
            )
            .fitted("an iteration has the source's cost; that a call pays it once is how the graph is built")
        })
    }

    fn count_claim(&self) -> Option<Claim> {
        let calls = |of: &dyn Fn(At) -> Option<f64>| Some(of((16, 2000, 1))? / of((16, 2000, 16))?);
        let here = |at: At| self.points.get(&at).map(|p| p.calls.unblock.calls as f64);
        let there = |at: At| self.source(at, "unblock_calls");
        let (h, t) = (calls(&here)?, calls(&there)?);
        let show = |of: &dyn Fn(At) -> Option<f64>, ratio: f64| {
            let n = |at| of(at).map_or("?".into(), short);
            format!("{} instead of {}: {} ×", n((16, 2000, 1)), n((16, 2000, 16)), short(ratio))
        };
        Some(Claim::new(
            "contention makes for more calls: wake-ups at 16 CPUs, 2000 iterations, with 1 pipe instead of 16",
            show(&there, t),
            show(&here, h),
            Judged::of(
                h / t <= NEAR && t / h <= NEAR,
                h >= 1.05,
                "within 10 % of the source; partly 5 % more calls at least",
            ),
        ))
    }

    /// Beyond the source's simulator.
    fn beyond_claim(&self) -> Option<Claim> {
        let largest = *self.sizes().last()?;
        let point = self.points.get(&(largest, 0, largest))?;
        let spent = point.calls.activate();
        let wait = spent.wait_ns as f64 / spent.ns.max(1) as f64;
        let mean = spent.mean_us();
        Some(
            Claim::new(
                format!("nothing speaks against more CPUs: {largest}, one pipe each"),
                "-",
                format!(
                    "waiting for locks is {:.1} % of activate_task ({} us), and {:.0} % of all busy time",
                    100.0 * wait,
                    short(mean),
                    100.0 * point.wait_share
                ),
                Judged::of(
                    wait <= 0.1 && point.wait_share <= 0.5,
                    wait <= 0.1,
                    "at most 10 % of the call and 50 % of the busy time; partly of the call alone",
                ),
            )
            .remark(
                "once all tasks run, contention is no limit, the balancer's look at every CPU is; but at the start one CPU \
                 creates and wakes all tasks, and whoever takes one of them waits for that CPU's way in",
            ),
        )
    }
}
