// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The latency of a message between two CPUs, measured here or predicted from a machine's description, and its
//! consequences: which CPUs are near, and which ones a program of N communicating threads should have. (Source 1, 1.5: the
//! system knowledge base holds the measured latencies of all pairs, and programs ask it for a layout.)

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use weir_model::{Costs, Distance, Machine};

use crate::fault::{Fault, Result};
use crate::units::plural;
use crate::watch::Watch;

/// Round trips of a batch; the quickest batch counts. Batches are short, because both threads must run throughout and others may
/// run beside them.
const TRIPS: u64 = 20;
const BATCHES: u32 = 120;
/// A pair takes no longer, whatever else runs here; without that it takes a millisecond.
const PATIENCE: Duration = Duration::from_secs(2);
/// From as many CPUs on a choice is begun in each last-level cache only, not at each CPU.
const SEEDS: usize = 64;

/// One way between any two CPUs.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// Numbers of the CPUs in the machine.
    pub cpus: Vec<u32>,
    /// From `cpus[i]` to `cpus[j]`, ns; 0 on the diagonal.
    pub one_way_ns: Vec<Vec<f32>>,
    /// Otherwise by the machine's description and a table of costs.
    pub measured: bool,
}

/// CPUs for a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Pick {
    /// In ascending order.
    pub cpus: Vec<u32>,
    /// Between the two of them that are farthest from each other, ns.
    pub worst_ns: f32,
    /// Over all pairs, ns; 0 for a single CPU.
    pub mean_ns: f32,
}

/// Latencies of the pairs at one distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    pub distance: Distance,
    pub pairs: usize,
    pub min_ns: f32,
    pub median_ns: f32,
    pub max_ns: f32,
}

impl Latencies {
    /// By the machine's description: `costs.message` at each distance.
    pub fn foreseen(machine: &Machine, costs: &Costs) -> Self {
        let cpus: Vec<u32> = (0..machine.nr_cpus()).collect();
        let by = &costs.message;
        // Costs to other nodes go in proportion to their distance; none is nearer than the CPUs of the same node.
        let ns = |a: u32, b: u32| match machine.distance(a, b) {
            far @ Distance::Remote(_) => by.at(far).max(by.node) as f32,
            near => by.at(near) as f32,
        };
        let row = |a: &u32| cpus.iter().map(|b| ns(*a, *b)).collect();
        Self { one_way_ns: cpus.iter().map(row).collect(), cpus, measured: false }
    }

    /// Measure each pair of the CPUs that this process may use: a cache line goes to and fro between two threads that poll.
    /// Takes some ms a pair. `machine` is this computer's description.
    ///
    /// # Errors
    /// There are no two CPUs, threads cannot be bound to them, or the watch ended it.
    pub fn measure(machine: &Machine, watch: &dyn Watch) -> Result<Self> {
        let allowed = usable();
        let os = machine.shape.cpus.iter().map(|c| c.os_index as usize);
        let usable: Vec<(u32, usize)> = (0u32..).zip(os).filter(|(_, n)| allowed.contains(n)).collect();
        if usable.len() < 2 {
            return Err(Fault::user(
                "this process may not use two CPUs: there is no message between CPUs to measure",
                "allow it more CPUs (taskset, the container's cpuset)",
            ));
        }
        let cpus: Vec<u32> = usable.iter().map(|(c, _)| *c).collect();
        let mut one_way_ns = vec![vec![0.0; cpus.len()]; cpus.len()];
        watch.more((cpus.len() * (cpus.len() - 1) / 2) as u64);
        for i in 0..cpus.len() {
            for j in i + 1..cpus.len() {
                if watch.stop().load(Ordering::Relaxed) {
                    return Err(Fault::system("the measurement was interrupted", "begin it again"));
                }
                let ns = pair(usable[i].1, usable[j].1).ok_or_else(|| {
                    Fault::system(
                        format!("no answer between CPU {} and CPU {}", cpus[i], cpus[j]),
                        "another program may keep one of them; try again with less to do on this computer",
                    )
                })?;
                one_way_ns[i][j] = ns;
                one_way_ns[j][i] = ns;
                watch.one();
            }
        }
        Ok(Self { cpus, one_way_ns, measured: true })
    }

    fn index(&self, cpu: u32) -> Result<usize> {
        self.cpus.binary_search(&cpu).map_err(|_| {
            let last = self.cpus.last().copied().unwrap_or(0);
            Fault::user(format!("there is no CPU {cpu} here"), format!("name one of 0 to {last}"))
        })
    }

    /// The other CPUs, the nearest first.
    ///
    /// # Errors
    /// There is no such CPU.
    pub fn nearest(&self, cpu: u32) -> Result<Vec<(u32, f32)>> {
        let row = &self.one_way_ns[self.index(cpu)?];
        let mut all: Vec<(u32, f32)> =
            self.cpus.iter().copied().zip(row.iter().copied()).filter(|(c, _)| *c != cpu).collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        Ok(all)
    }

    /// `n` CPUs of which any two are near each other: from each CPU on, the one is added that is nearest to the farthest of those
    /// chosen; the best of these sets. (To find the very best is a clique problem; on machines whose caches are nested, this finds it.)
    ///
    /// # Errors
    /// There are not as many.
    pub fn pick(&self, n: usize) -> Result<Pick> {
        self.pick_from(&[], &self.cpus, n)
    }

    /// The same with the CPUs `fixed`, and others of `pool` only.
    ///
    /// # Errors
    /// There are not as many, or no such CPUs.
    pub fn pick_from(&self, fixed: &[u32], pool: &[u32], n: usize) -> Result<Pick> {
        let index = |cpus: &[u32]| cpus.iter().map(|c| self.index(*c)).collect::<Result<Vec<_>>>();
        let (fixed, pool) = (index(fixed)?, index(pool)?);
        let there = fixed.len() + pool.iter().filter(|p| !fixed.contains(p)).count();
        if n == 0 || n > there || n < fixed.len() {
            return Err(Fault::user(
                format!("{} cannot be chosen from {there}", plural(n, "CPU")),
                format!("ask for {} to {there}", fixed.len().max(1)),
            ));
        }
        let grown = |start: &[usize]| self.grown(start, &pool, n);
        let best = if fixed.is_empty() {
            let step = (pool.len() / SEEDS).max(1);
            let sets = pool.iter().step_by(step).map(|seed| grown(&[*seed]));
            sets.min_by(|a, b| a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2)))
        } else {
            Some(grown(&fixed))
        };
        let (mut chosen, worst_ns, sum) = best.unwrap_or_default();
        chosen.sort_unstable();
        let pairs = n * (n - 1) / 2;
        let mean_ns = if pairs == 0 { 0.0 } else { sum / pairs as f32 };
        Ok(Pick { cpus: chosen.into_iter().map(|i| self.cpus[i]).collect(), worst_ns, mean_ns })
    }

    /// A set of `n` from `start` on, of `pool`: its members, its worst latency and the sum over its pairs.
    fn grown(&self, start: &[usize], pool: &[usize], n: usize) -> (Vec<usize>, f32, f32) {
        let mut chosen = Vec::with_capacity(n);
        // Of each CPU to the set so far: the farthest member, and the sum.
        let mut far = vec![(0.0_f32, 0.0_f32); self.cpus.len()];
        let mut taken = vec![false; self.cpus.len()];
        let (mut worst, mut sum) = (0.0_f32, 0.0);
        let nearest = |far: &[(f32, f32)], taken: &[bool]| {
            let free = pool.iter().copied().filter(|i| !taken[*i]);
            free.min_by(|a, b| far[*a].0.total_cmp(&far[*b].0).then(far[*a].1.total_cmp(&far[*b].1)))
        };
        while chosen.len() < n {
            let next = start.get(chosen.len()).copied().or_else(|| nearest(&far, &taken));
            let Some(next) = next else { break };
            chosen.push(next);
            taken[next] = true;
            worst = worst.max(far[next].0);
            sum += far[next].1;
            for (of, ns) in far.iter_mut().zip(&self.one_way_ns[next]) {
                *of = (of.0.max(*ns), of.1 + ns);
            }
        }
        (chosen, worst, sum)
    }

    /// The pairs by their distance in `machine`, the nearest first.
    pub fn bands(&self, machine: &Machine) -> Vec<Band> {
        let mut found: BTreeMap<(u32, u32), (Distance, Vec<f32>)> = BTreeMap::new();
        for (i, a) in self.cpus.iter().enumerate() {
            for (j, b) in self.cpus.iter().enumerate().skip(i + 1) {
                let distance = machine.distance(*a, *b);
                let key = match distance {
                    Distance::Same => (0, 0),
                    Distance::Sibling => (1, 0),
                    Distance::L2 => (2, 0),
                    Distance::Llc => (3, 0),
                    Distance::Node => (4, 0),
                    Distance::Remote(slit) => (5, slit),
                    Distance::Domain(slit) => (6, slit),
                };
                found.entry(key).or_insert((distance, Vec::new())).1.push(self.one_way_ns[i][j]);
            }
        }
        let band = |(distance, mut all): (Distance, Vec<f32>)| {
            all.sort_by(f32::total_cmp);
            Band {
                distance,
                pairs: all.len(),
                min_ns: all[0],
                median_ns: all[all.len() / 2],
                max_ns: all[all.len() - 1],
            }
        };
        found.into_values().map(band).collect()
    }
}

/// Each word in a line of its own: two, as some processors fetch lines in pairs.
#[repr(align(128))]
struct Line(AtomicU64);

const OVER: u64 = u64::MAX;

/// CPUs of Linux that this process may use, ascending; none where that cannot be found out.
pub fn usable() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|c| set.is_set(*c)).collect()
}

/// Bind the calling thread to CPUs of Linux; false where that is not allowed.
pub fn stay_on(cpus: impl IntoIterator<Item = usize>) -> bool {
    let mut set = CpuSet::new();
    cpus.into_iter().for_each(|cpu| set.set(cpu));
    sched_setaffinity(None, &set).is_ok()
}

/// Until the word is no more what it was; `None`: it took too long.
fn await_change(word: &AtomicU64, was: u64, until: Instant, ended: &AtomicBool) -> Option<u64> {
    let mut spins = 0u32;
    loop {
        let now = word.load(Ordering::Acquire);
        if now != was {
            return Some(now);
        }
        spins = spins.wrapping_add(1);
        if spins.is_multiple_of(4096) {
            if Instant::now() > until || ended.load(Ordering::Relaxed) {
                return None;
            }
            // The other thread may be waiting for this CPU's share of a virtual machine.
            std::thread::yield_now();
        }
        std::hint::spin_loop();
    }
}

/// One way between two CPUs of Linux, ns.
fn pair(a: usize, b: usize) -> Option<f32> {
    let shared = Arc::new((Line(AtomicU64::new(0)), Line(AtomicU64::new(0)), AtomicBool::new(false)));
    let until = Instant::now() + PATIENCE;
    let theirs = Arc::clone(&shared);
    let other = std::thread::spawn(move || {
        let mut seen = if stay_on([b]) { 0 } else { OVER };
        theirs.1.0.store(if seen == OVER { OVER } else { 1 }, Ordering::Release);
        while seen != OVER {
            match await_change(&theirs.0.0, seen, until + PATIENCE, &theirs.2) {
                Some(next) => seen = next,
                None => return,
            }
            theirs.1.0.store(seen, Ordering::Release);
        }
    });
    let own = std::thread::spawn(move || {
        let (ask, answer, ended) = (&shared.0.0, &shared.1.0, &shared.2);
        let mut best = None;
        let mut at = 1;
        let ready = stay_on([a]) && await_change(answer, 0, until, ended) == Some(1);
        'all: for _ in 0..if ready { BATCHES } else { 0 } {
            let began = Instant::now();
            for _ in 0..TRIPS {
                ask.store(at + 1, Ordering::Release);
                if await_change(answer, at, until, ended).is_none() {
                    break 'all;
                }
                at += 1;
            }
            let trip = began.elapsed().as_nanos() as f32 / TRIPS as f32;
            best = Some(best.map_or(trip, |b: f32| b.min(trip)));
        }
        ended.store(true, Ordering::Relaxed);
        ask.store(OVER, Ordering::Release);
        best.map(|trip| trip / 2.0)
    });
    let measured = own.join().ok().flatten();
    other.join().ok()?;
    measured
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Unwatched;

    fn foreseen(name: &str) -> (Machine, Latencies) {
        let machine = crate::machine::resolve(name).expect("there");
        let latencies = Latencies::foreseen(&machine, &Costs::default());
        (machine, latencies)
    }

    #[test]
    fn near_cpus_are_chosen_together() {
        let (machine, all) = foreseen("epyc-64");
        let eight = all.pick(8).expect("enough");
        let llcs: Vec<u32> = eight.cpus.iter().map(|c| machine.shape.cpus[*c as usize].llc).collect();
        assert!(llcs.windows(2).all(|w| w[0] == w[1]), "{eight:?}");
        // More than a cache has: as few nodes as possible.
        let many = all.pick(40).expect("enough");
        let mut nodes: Vec<u32> = many.cpus.iter().map(|c| machine.shape.cpus[*c as usize].node).collect();
        nodes.dedup();
        nodes.sort_unstable();
        nodes.dedup();
        assert_eq!(nodes.len(), 2, "{many:?}");
        let nearest = all.nearest(0).expect("there");
        assert_eq!(nearest.len(), 127);
        assert!(nearest.windows(2).all(|w| w[0].1 <= w[1].1));
        assert_eq!(machine.distance(0, nearest[0].0), Distance::Sibling);
        assert!(all.pick(129).is_err() && all.pick(0).is_err() && all.nearest(128).is_err());
        assert_eq!(all.pick(1).expect("one").mean_ns, 0.0);
    }

    #[test]
    fn the_best_of_small_machines_is_found() {
        // Against all sets of four.
        let (_, all) = foreseen("opteron-64");
        let few = Latencies {
            cpus: (0..16).collect(),
            one_way_ns: all.one_way_ns[..16].iter().map(|r| r[..16].to_vec()).collect(),
            measured: false,
        };
        let mut best = f32::MAX;
        for set in 0u32..1 << 16 {
            if set.count_ones() == 4 {
                let members: Vec<usize> = (0..16).filter(|i| set >> i & 1 == 1).collect();
                let worst = members
                    .iter()
                    .flat_map(|a| members.iter().map(|b| few.one_way_ns[*a][*b]))
                    .fold(0.0, f32::max);
                best = best.min(worst);
            }
        }
        assert_eq!(few.pick(4).expect("enough").worst_ns, best);
    }

    #[test]
    fn this_computer_is_measured_or_says_why_not() {
        let Ok(machine) = crate::machine::resolve("host") else { return };
        match Latencies::measure(&machine, &Unwatched) {
            Ok(all) => {
                assert!(all.measured && all.cpus.len() >= 2);
                let (there, back) = (all.one_way_ns[0][1], all.one_way_ns[1][0]);
                // Faster than light over a millimetre it is not, nor slower than the patience.
                assert!(there == back && there > 0.1 && there < 2e9, "{there}");
            }
            Err(fault) => assert!(fault.diags.iter().all(|d| d.remedy().is_some())),
        }
    }
}
