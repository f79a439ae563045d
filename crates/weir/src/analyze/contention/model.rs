// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Predicts a scheduler's cost on machines of other sizes from its cost on some.
//!
//! CPUs are the customers of a closed queueing network. In a cycle (from one decision to the next) each computes, which
//! is a delay, and needs the locks of some pipes, which are stations with a queue. Demands are fitted to short runs on
//! small machines as straight lines over the number of CPUs, because some grow with it (a balancer's scan, the
//! distance that a lock travels); the network is then solved by exact mean-value analysis (Reiser and Lavenberg,
//! "Mean-value analysis of closed multichain queuing networks", 1980). Service times count as exponential, which
//! overestimates queues somewhat near the knee.

/// A family of pipes (those whose names differ by numbers only) or of instances.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub name: String,
    /// Members.
    pub count: u32,
    /// Pipes: time that the locks were held; instances: their code. ns
    pub held_ns: u64,
    /// Pipes: time waited for the locks, ns.
    pub wait_ns: u64,
}

/// Measurements of a run on one size. Sums over all CPUs, ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    pub cpus: u32,
    pub end_ns: u64,
    /// Decisions: how often a CPU asked for a task.
    pub cycles: u64,
    pub switches: u64,
    /// Tasks; kernel work that is not the scheduler's; nothing.
    pub busy_ns: u64,
    pub other_ns: u64,
    pub idle_ns: u64,
    /// The scheduler's code with the waiting for its locks, and that alone.
    pub scheduler_ns: u64,
    pub wait_ns: u64,
    pub pipes: Vec<Group>,
    pub instances: Vec<Group>,
}

impl Sample {
    /// All CPU time there was, ns.
    pub fn capacity_ns(&self) -> u64 {
        self.busy_ns + self.other_ns + self.idle_ns + self.scheduler_ns
    }

    fn of_capacity(&self, ns: u64) -> f64 {
        ns as f64 / self.capacity_ns().max(1) as f64
    }

    /// Share of the machine that the scheduler takes.
    pub fn share(&self) -> f64 {
        self.of_capacity(self.scheduler_ns)
    }

    /// Share of waiting for the scheduler's locks.
    pub fn wait_share(&self) -> f64 {
        self.of_capacity(self.wait_ns)
    }

    /// Context switches a second of virtual time.
    pub fn switches_per_s(&self) -> f64 {
        self.switches as f64 * 1e9 / self.end_ns.max(1) as f64
    }

    fn a_cycle(&self, ns: u64) -> f64 {
        ns as f64 / self.cycles.max(1) as f64
    }
}

/// A straight line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Line {
    at_zero: f64,
    slope: f64,
}

impl Line {
    /// Least squares; level where there is one abscissa only.
    fn fit(points: &[(f64, f64)]) -> Self {
        let n = points.len().max(1) as f64;
        let (mx, my) =
            (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
        let across: f64 = points.iter().map(|p| (p.0 - mx).powi(2)).sum();
        let up: f64 = points.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
        // Costs do not shrink with the machine; a falling line is noise of short runs.
        let slope = if across > 0.0 { (up / across).max(0.0) } else { 0.0 };
        Self { at_zero: my - slope * mx, slope }
    }

    fn at(&self, x: f64) -> f64 {
        (self.at_zero + self.slope * x).max(0.0)
    }
}

/// A family of stations: demand of a cycle in all of them together, ns.
#[derive(Clone, Debug)]
struct Station {
    name: String,
    demand: Line,
}

/// The fitted network.
#[derive(Clone, Debug)]
pub struct Model {
    stations: Vec<Station>,
    /// Tasks and other kernel work a cycle, ns.
    work: f64,
    /// Nothing to do, ns a cycle: what waiting can use up before it costs anything.
    idle: f64,
    /// The scheduler's code a cycle, without waiting.
    code: Line,
}

/// The model's prediction for one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    pub cpus: u32,
    /// Shares of the machine: scheduler with its waiting, waiting alone.
    pub share: f64,
    pub wait_share: f64,
    /// Decisions a second.
    pub cycles_per_s: f64,
}

impl Model {
    /// Fit to runs on different sizes, at least one, ascending.
    pub fn fit(samples: &[Sample]) -> Self {
        let mut names: Vec<&str> = samples
            .iter()
            .flat_map(|s| &s.pipes)
            .filter(|g| g.held_ns > 0)
            .map(|g| g.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        let line = |of: &dyn Fn(&Sample) -> f64| {
            Line::fit(&samples.iter().map(|s| (f64::from(s.cpus), of(s))).collect::<Vec<_>>())
        };
        let held = |s: &Sample, name: &str| s.pipes.iter().find(|g| g.name == name).map_or(0, |g| g.held_ns);
        let stations = names
            .iter()
            .map(|n| Station { name: (*n).to_string(), demand: line(&|s| s.a_cycle(held(s, n))) })
            .collect();
        let mean =
            |of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / samples.len().max(1) as f64;
        Self {
            stations,
            work: mean(&|s| s.a_cycle(s.busy_ns + s.other_ns)),
            idle: mean(&|s| s.a_cycle(s.idle_ns)),
            code: line(&|s| s.a_cycle(s.scheduler_ns - s.wait_ns)),
        }
    }

    /// How it would be with `cpus` CPUs, where `count` gives the pipes of each family on that size.
    /// O(CPUs × families).
    pub fn forecast(&self, cpus: u32, count: impl Fn(&str) -> u32) -> Forecast {
        let n = f64::from(cpus);
        let code = self.code.at(n);
        // Each family of k pipes: k stations with a k-th of the demand. Locks are held within one another, so that
        // their times may add up to more than the scheduler's; then all are taken as so much shorter.
        let mut demands: Vec<(f64, f64)> =
            self.stations.iter().map(|s| (f64::from(count(&s.name).max(1)), s.demand.at(n))).collect();
        let all: f64 = demands.iter().map(|d| d.1).sum();
        let outermost = demands.iter().map(|d| d.1).fold(0.0, f64::max);
        if all > code && all > 0.0 {
            // The longest lock is the outer one and real in full; the others fit into what is left.
            let rest = all - outermost;
            let room = (code - outermost).max(0.0);
            for d in &mut demands {
                if d.1 < outermost && rest > 0.0 {
                    d.1 *= (room / rest).min(1.0);
                }
            }
        }
        let held: f64 = demands.iter().map(|d| d.1).sum();
        let alone = self.work + self.idle + code.max(held);
        let delay = alone - held;
        let mut queues = vec![0.0_f64; demands.len()];
        let mut cycle = alone.max(1e-9);
        for customers in 1..=cpus {
            let times: Vec<f64> = demands.iter().zip(&queues).map(|((k, d), q)| d / k * (1.0 + q)).collect();
            cycle = delay + times.iter().zip(&demands).map(|(r, (k, _))| r * k).sum::<f64>();
            let rate = f64::from(customers) / cycle.max(1e-9);
            queues.iter_mut().zip(&times).for_each(|(q, r)| *q = rate * r);
        }
        let wait = (cycle - alone).max(0.0);
        // What a CPU waits it cannot idle.
        let cycle = (self.work + code + wait).max(alone).max(1e-9);
        Forecast {
            cpus,
            share: (code + wait) / cycle,
            wait_share: wait / cycle,
            cycles_per_s: n * 1e9 / cycle,
        }
    }
}

/// Sizes at which answers are given: powers of two and the halves between, up to `most`.
pub fn ladder(most: u32) -> Vec<u32> {
    let mut sizes: Vec<u32> =
        (0..13).flat_map(|e| [1u32 << e, (1u32 << e) / 2 * 3]).filter(|n| *n >= 1).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.retain(|n| *n <= most);
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One shared lock held 100 ns a cycle of 1000 ns, of which 150 are scheduler code; 10 ns longer per CPU where
    /// wanted.
    fn sample(cpus: u32, more: u64) -> Sample {
        let cycles = 1000;
        let each = 100 + more * u64::from(cpus);
        Sample {
            cpus,
            cycles,
            end_ns: 1_000_000,
            switches: cycles,
            busy_ns: 850 * cycles,
            scheduler_ns: (50 + each) * cycles,
            pipes: vec![Group { name: "entry".into(), count: 1, held_ns: each * cycles, wait_ns: 0 }],
            ..Sample::default()
        }
    }

    #[test]
    fn a_lock_saturates_at_its_rate() {
        let model = Model::fit(&[sample(2, 0), sample(4, 0)]);
        let one = model.forecast(1, |_| 1);
        assert!((one.share - 0.15).abs() < 1e-9 && one.wait_share == 0.0, "{one:?}");
        // The knee is at ten CPUs; far beyond, the lock passes one cycle each 100 ns.
        let many = model.forecast(100, |_| 1);
        assert!((many.cycles_per_s - 1e7).abs() < 1e4, "{many:?}");
        assert!((many.wait_share - 0.9).abs() < 0.01, "{many:?}");
        // As many locks as CPUs: hardly any waiting.
        let split = model.forecast(100, |_| 100);
        assert!(split.wait_share < 0.02 && split.cycles_per_s > 9.8e7, "{split:?}");
    }

    #[test]
    fn demands_grow_with_the_machine() {
        let model = Model::fit(&[sample(2, 10), sample(4, 10), sample(8, 10)]);
        assert!((model.code.at(100.0) - 1150.0).abs() < 1e-6);
        let f = model.forecast(64, |_| 64);
        assert!(f.share > 0.4, "{f:?}");
    }

    #[test]
    fn idle_time_is_used_up_before_waiting_costs() {
        let idle = |mut s: Sample| {
            s.idle_ns = 9_000 * s.cycles;
            s
        };
        let model = Model::fit(&[idle(sample(2, 0)), idle(sample(4, 0))]);
        let f = model.forecast(50, |_| 1);
        assert!((f.cycles_per_s - 5e6).abs() < 5e4 && f.share < 0.05, "{f:?}");
    }

    #[test]
    fn the_ladder_has_halves() {
        assert_eq!(ladder(16), [1, 2, 3, 4, 6, 8, 12, 16]);
        assert_eq!(ladder(4096).last(), Some(&4096));
    }
}
