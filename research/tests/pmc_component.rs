// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The component `pmc_fair` against the thesis's integers and tables (source 4, sections 4, 6, 7, 10).

use proptest::prelude::*;
use runweir_lab::reproduce::pmc::average::Metric;
use runweir_lab::reproduce::pmc::fixed::{HALF, ONE};
use runweir_lab::reproduce::pmc::matrix::{self, Config, LEVELS, MODELS, POLICIES};
use runweir_lab::reproduce::pmc::penalty::{Level, Model, Policy, next, sample};
use runweir_lab::reproduce::pmc::published;
use weir_core::{Config as Core, Counters, MachineShape, Msg, Plan, Sched, TaskId, Topic};
use weir_lang::{NoIncludes, Source};

/// A scheduler with the component, and one task.
struct Bench {
    sched: Sched,
    task: TaskId,
}

impl Bench {
    fn new(config: &Config, more: &str) -> Self {
        let params: Vec<String> = config
            .params()
            .into_iter()
            .map(|(k, v)| match k {
                "branch" | "reward" | "log_only" => format!("{k} = {}", v != 0),
                "cache_weight" => format!("{k} = {v}%"),
                _ => format!("{k} = {v}"),
            })
            .collect();
        let text = format!(
            "annotate affinity, pmc_fair({}{more});\nentry -> head_queue -> cpus;",
            params.join(", ")
        );
        let source = Source { name: "bench.weir".into(), text };
        let shape = MachineShape::flat(1);
        let plan: Plan = weir_lang::compile(&source, &NoIncludes, weir_core::catalog(), &shape, &[])
            .expect("it compiles")
            .plan;
        let core = Core { nr_cpus: 1, arena_bytes: 64 << 20, checks: false, oplog: false, seed: 1 };
        let mut sched = Sched::new(&core).expect("a scheduler");
        sched.load(&plan).expect("the topology loads");
        let task = sched.task_new(0, 0).expect("a task");
        Self { sched, task }
    }

    fn notify_value(&mut self, c: &Counters) {
        self.sched.publish_counters(0, 0, self.task, c).expect("somebody listens");
    }

    fn penalty(&mut self) -> i64 {
        let msg = Msg { task: Some(self.task), ..Msg::default() };
        let reply = self.sched.request(0, Topic::Penalty, &msg).expect("it answers");
        assert_eq!(reply.value, reply.value2, "both effects are on");
        reply.value as i64
    }

    /// Mean penalty in percent over so many passes.
    fn mean(&mut self, passes: u32, mut counts: impl FnMut() -> Counters) -> f64 {
        let mut sum = 0;
        for _ in 0..passes {
            self.notify_value(&counts());
            sum += self.penalty();
        }
        sum as f64 * 100.0 / (f64::from(passes) * ONE as f64)
    }
}

/// Whole numbers that scatter around a mean, which they keep: no pass is like the one before, as on the real machine.
struct Scatter {
    mean: f64,
    width: f64,
    owed: f64,
    state: u64,
}

impl Scatter {
    fn new(mean: f64, width: f64, seed: u64) -> Self {
        Self { mean, width: width.min(mean).min(1024.0 - mean), owed: 0.0, state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let noise = (self.state >> 40) as f64 / (1u64 << 23) as f64 - 1.0;
        self.owed += self.mean;
        let n = (self.owed.min(self.mean + 1.0) + noise * self.width).round().max(0.0);
        self.owed -= n;
        n as u64
    }
}

/// Counts with so many misses of the level among 1024 loads.
fn of_level(level: Level, misses: u64) -> Counters {
    let mut c = Counters::default();
    let hits = 1024u64.saturating_sub(misses);
    match level {
        Level::L1 => (c.l1_hits, c.l1_misses) = (hits, misses),
        Level::L2 => (c.l2_hits, c.l2_misses) = (hits, misses),
        Level::L3 => (c.l3_hits, c.l3_misses) = (hits, misses),
    }
    c
}

/// The rates of the tables, with the policies' changes, must give the penalties of the tables: all 96 of ffmpeg and
/// octave, whose tasks live long enough for the beginning not to matter.
#[test]
fn table_rates_land_on_table_penalties() {
    let rows = published::rows().expect("the tables are there");
    let mut checked = 0;
    for row in rows.iter().filter(|r| r.metric == Metric::Penalty && r.program != "make") {
        let rate = |metric, i: usize| {
            let other = rows.iter().find(|o| {
                (&o.table, &o.program, &o.workload, o.level, o.metric)
                    == (&row.table, &row.program, &row.workload, row.level, metric)
            })?;
            Some(other.original? * (1.0 + other.under[i].2 / 100.0))
        };
        for (i, &(model, policy, want)) in row.under.iter().enumerate() {
            let cache = rate(Metric::CacheRate, i).expect("every table has cache miss rates");
            let branch = rate(Metric::BranchRate, i).unwrap_or(0.0);
            let mut bench = Bench::new(&Config::new(row.level, model, Some(policy)), "");
            // What the tables call rates are means of numbers with ten fraction bits, of which those of branches are
            // ten times whole ones: passes are made up so that these numbers have the means of the tables.
            let mut misses = Scatter::new(cache * 10.24, 40.0, 1);
            let mut wrong = Scatter::new(branch * 1.024, 3.0, 2);
            let have = bench.mean(5000, || {
                let (misses, mispredicts) = (misses.next(), wrong.next());
                Counters { branches: 1024, mispredicts, ..of_level(row.level, misses) }
            });
            assert!(
                (have - want).abs() <= 0.2,
                "{} {} {} {:?} {model:?} {policy:?}: {have:.3}, table {want}",
                row.table,
                row.program,
                row.workload,
                row.level
            );
            checked += 1;
        }
    }
    assert_eq!(checked, 96);
}

/// Every new process begins at 0, so short ones never reach their score: with k passes the mean is 1 - (1 - 2^-k) / k
/// of it, which is what the tables show for make.
#[test]
fn short_tasks_are_attenuated() {
    for (k, want) in [(1, 0.5), (12, 0.917), (24, 0.958)] {
        let mut bench = Bench::new(&Config::new(Level::L1, Model::CacheOnly, Some(Policy::Penalty)), "");
        let have = bench.mean(k, || of_level(Level::L1, 1024)) / 50.0;
        assert!((have - want).abs() < 0.003, "{k} passes: {have:.4}, should be {want}");
    }
}

/// A constant rate settles about one step of 1/1024 too low, for products are rounded down.
#[test]
fn the_average_is_biased_like_the_thesis_s() {
    let config = Config::new(Level::L3, Model::CacheOnly, Some(Policy::Penalty));
    let (mut bias, mut n) = (0.0, 0.0);
    for hits in (0..=1024).step_by(7) {
        let c = Counters { l3_hits: hits, l3_misses: 1024 - hits, ..Counters::default() };
        let mut bench = Bench::new(&config, "");
        (0..40).for_each(|_| bench.notify_value(&c));
        bias += (bench.penalty() - (1024 - hits as i64 - HALF)) as f64 / ONE as f64 * 100.0;
        n += 1.0;
    }
    assert!((bias / n + 0.098).abs() < 0.02, "{} points", bias / n);
}

#[test]
fn log_only_counts_and_changes_nothing() {
    for config in matrix::baselines() {
        let mut bench = Bench::new(&config, "");
        (0..10).for_each(|_| bench.notify_value(&of_level(config.level, 1024)));
        assert_eq!(bench.penalty(), 0);
        let updates = bench.sched.request(0, Topic::Penalty, &Msg { value: 5, ..Msg::default() });
        assert_eq!(updates.map(|m| m.value), Some(10));
    }
}

fn any_counts() -> impl Strategy<Value = Counters> {
    prop::array::uniform11(prop_oneof![0u64..20, 0u64..100_000, 0u64..1 << 48]).prop_map(Counters::from_array)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Whatever is counted, the component and the reference agree to the bit, within the bounds.
    #[test]
    fn the_component_is_the_reference(
        history in prop::collection::vec(any_counts(), 1..30),
        level in 0usize..3, model in 0usize..4, policy in 0usize..2, alpha in 1u64..=100,
    ) {
        let config = Config::new(LEVELS[level], MODELS[model], Some(POLICIES[policy]));
        let mut bench = Bench::new(&config, &format!(", alpha = {alpha}%"));
        let mut want = 0;
        for c in &history {
            bench.notify_value(c);
            let s = sample(config.level, config.model, c);
            want = next(config.model, POLICIES[policy], (alpha * 1024 / 100) as i64, s, want);
            prop_assert_eq!(bench.penalty(), want);
            prop_assert!((-HALF..=HALF).contains(&want));
        }
    }
}
