// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Constructors that refuse: because memory ran out, at each allocation of every component, and for parameters. The topology in charge
//! stays as it was, its tasks too, and nothing stays allocated.

use std::collections::BTreeSet;

use weir_core::{Config, Plan, Sched, catalog};
use weir_tests::lab::compile;
use weir_tests::{Lab, machine, root};

const ENOMEM: i32 = 1;
const EPARAM: i32 = 11;

/// Tasks that wait while a new topology is refused.
const TASKS: u64 = 5;

/// A scheduler with the smallest topology and tasks that wait; none where this does not fit.
fn waiting(base: &Plan, arena_bytes: usize) -> Option<Sched> {
    let config = Config { nr_cpus: base.cpus.len() as u32, arena_bytes, checks: true, oplog: false, seed: 1 };
    let mut s = Sched::new(&config).ok()?;
    s.load(base).ok()?;
    for i in 0..TASKS {
        let t = s.task_new(0, i).ok()?;
        s.admit(0, t).ok()?;
    }
    Some(s)
}

/// All of them run, in their order.
fn goes_on(s: &mut Sched, what: &str) {
    for i in 0..TASKS {
        let picked = s.pick(0, 0).unwrap_or_else(|| panic!("{what}: task {i} is lost"));
        assert_eq!(s.cookie(picked.task), i, "{what}");
        s.exit(0, picked.task).unwrap_or_else(|e| panic!("{what}: {e}"));
    }
}

/// The arena is given in steps of a page, so that each allocation of a constructor is the one that fails at some size.
#[test]
fn constructors_that_find_no_memory_leave_everything_as_it_was() {
    const STEP: usize = 4 << 10;
    let mut tried = BTreeSet::new();
    let mut refused = 0;
    for m in
        ["smp-4 core=2 llc=2", "smp-4 accel=3", "smp-4 alpha=2 beta=3", "smp-4 domain=2", "smp-4 beta=2-3"]
    {
        let shape = machine::parse(m).expect("a machine");
        let base = compile("base", "entry -> fifo -> cpus;", &shape);
        let Ok(base) =
            base.or_else(|_| compile("base", "entry each domain { entry -> fifo -> cpus };", &shape))
        else {
            continue;
        };
        for entry in std::fs::read_dir(root().join("topologies")).expect("the catalogue is there").flatten() {
            let path = entry.path();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).expect("readable");
            let Ok(plan) = compile(&name, &text, &shape) else { continue };
            if plan.instances.iter().all(|i| tried.contains(&i.class)) {
                continue;
            }
            let mut bytes = 64 << 10;
            loop {
                bytes += STEP;
                assert!(bytes < 64 << 20, "{name} on {m} never fits");
                let Some(mut s) = waiting(&base, bytes) else { continue };
                let before = s.memory_used();
                match s.swap(&plan) {
                    Ok(_) => break,
                    Err(e) => {
                        let what = format!("{name} on {m} in {bytes} bytes: {e}");
                        assert_eq!(e.code, ENOMEM, "{what}");
                        assert_eq!(s.memory_used(), before, "{what}: memory stays allocated");
                        s.check().unwrap_or_else(|e| panic!("{what}: {e}"));
                        goes_on(&mut s, &what);
                        refused += 1;
                    }
                }
            }
            tried.extend(plan.instances.iter().map(|i| i.class));
        }
    }
    println!("{refused} refusals, {} components", tried.len());
    let all = &catalog().components;
    let missing: Vec<&str> = all
        .iter()
        .enumerate()
        .filter(|(i, _)| !tried.contains(&(*i as u16)))
        .map(|(_, c)| c.name.as_str())
        .collect();
    // Components that no topology of the catalogue uses.
    assert!(missing.len() < all.len() / 3, "too few components were tried: not {missing:?}");
    assert!(refused > 100, "{refused}");
}

/// What the language cannot see: parameters that contradict each other, when a topology is loaded and when one instance is replaced.
#[test]
fn constructors_that_refuse_parameters_leave_everything_as_it_was() {
    let shape = machine::parse("smp-1").expect("a machine");
    let wrong = compile("wrong", "entry -> w :: watermark(low = 5, high = 5) -> cpus;", &shape);
    let wrong = wrong.expect("each parameter is in its range");
    let mut lab = Lab::from_text("entry -> w :: watermark -> cpus;", shape).expect("sound");
    let t = lab.create(0).expect("memory");
    lab.admit(0, t).expect("new");
    let (used, before) = (lab.sched.memory_used(), lab.dump());
    assert_eq!(lab.sched.swap(&wrong).expect_err("low is not below high").code, EPARAM);
    let w = &wrong.instances[0];
    assert_eq!(lab.sched.swap_instance(0, w.class, &w.params).expect_err("the same").code, EPARAM);
    assert_eq!((lab.sched.memory_used(), lab.dump()), (used, before), "nothing changed");
    lab.sched.check().expect("sound");
    assert_eq!(lab.pick(0).expect("a CPU").expect("it waits").task, t);
}
