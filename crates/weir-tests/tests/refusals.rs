// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Constructors that refuse: because memory ran out, at each allocation of every component, and for parameters. The topology in charge
//! stays as it was, its tasks too, and nothing stays allocated.

use std::collections::BTreeSet;

use weir_core::{ComponentInfo, Config, ParamInfo, Plan, Relation, RelationKind, Sched, catalog};
use weir_lang::Set;
use weir_tests::lab::{compile, compile_with};
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
    let (mut refused, mut named) = (0, 0);
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
                        named += usize::from(
                            e.message.contains("` finds no room") || e.message.contains(") finds no room"),
                        );
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
    println!("{refused} refusals, {named} by constructors, {} components", tried.len());
    assert!(named > 20, "{named} of {refused} name the instance");
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

/// Values of all parameters that keep every range and break this one relation.
fn breaking(c: &ComponentInfo, r: &Relation) -> Vec<u64> {
    let (a, b) = r.of;
    let mut values: Vec<u64> = c.params.iter().map(|p| p.default).collect();
    match r.kind {
        RelationKind::Less => values[a] = values[b].max(c.params[a].min),
        RelationKind::AtMost => {
            values[b] = c.params[b].min.min(c.params[a].max - 1);
            values[a] = values[b] + 1;
        }
        RelationKind::OneOf => (values[a], values[b]) = (0, 0),
    }
    for (p, v) in c.params.iter().zip(&values) {
        assert!((p.min..=p.max).contains(v), "{}.{}: {v} is in its range", c.name, p.name);
    }
    values
}

/// The bug: `entry -> watermark(high = 1) -> cpus;` was checked as sound, and `run` said only that some component refused some
/// parameter. Every relation of every component is broken here: in the text, by settings, in plans, and when one instance is replaced.
#[test]
fn relations_of_parameters_are_refused_with_instance_and_parameters() {
    let shape = machine::parse("smp-1").expect("a machine");
    let mut broken = 0;
    for c in catalog().components.iter().filter(|c| !c.relations.is_empty()) {
        let annotates = "annotate affinity, deadline, executed, job, priority;";
        let around = |with: &str| match c.outs.1 {
            0 => format!("annotate x :: {}{with}; entry -> fifo -> cpus;", c.name),
            _ => format!("{annotates} entry -> x :: {}{with} -> cpus;", c.name),
        };
        let good = compile("good", &around(""), &shape).unwrap_or_else(|e| panic!("{}: {e:?}", c.name));
        for r in &c.relations {
            let values = breaking(c, r);
            let (a, b) = (&c.params[r.of.0], &c.params[r.of.1]);
            let show = |p: &ParamInfo, v| format!("{} = {}", p.name, weir_lang::show_value(v, p.unit));
            let list: Vec<String> = c.params.iter().zip(&values).map(|(p, v)| show(p, *v)).collect();
            let text = around(&format!("({})", list.join(", ")));
            let found = compile("wrong", &text, &shape).expect_err("the language refuses it");
            let (a_, b_) = (format!("`{}`", a.name), format!("`{}`", b.name));
            for part in ["`x`", &a_, &b_, "wrong.weir:1:", "parameter-relation"] {
                assert!(found.contains(part), "{}: no {part} in {found}", c.name);
            }
            // By a setting: the other is in the text, or the default.
            let set = |i: usize| Set {
                component: "x".into(),
                param: c.params[i].name.clone(),
                value: weir_lang::show_value(values[i], c.params[i].unit),
            };
            let found = compile_with("wrong", &around(""), &shape, &[set(r.of.0), set(r.of.1)]);
            assert!(found.expect_err("likewise").contains("parameter-relation"), "{}", c.name);
            let mut wrong = good.clone();
            let at = wrong.instances.iter().position(|i| i.name == "x").expect("it is there");
            wrong.instances[at].params = values;
            let mut lab = Lab::from_text("entry -> fifo -> cpus;", shape.clone()).expect("sound");
            let e = lab.sched.swap(&wrong).expect_err("the core is not given it");
            assert!(e.code == EPARAM && e.message.contains("`x`") && e.message.contains(&a.name), "{e}");
            lab.sched.swap(&good).expect("sound");
            let (used, before) = (lab.sched.memory_used(), lab.dump());
            let x = &wrong.instances[at];
            let e = lab.sched.swap_instance(at as u32, x.class, &x.params).expect_err("the same");
            assert!(e.code == EPARAM && e.message.contains("`x`") && e.message.contains(&b.name), "{e}");
            assert_eq!((lab.sched.memory_used(), lab.dump()), (used, before), "nothing changed");
            lab.sched.check().expect("sound");
            broken += 1;
        }
    }
    assert!(broken >= 6, "{broken} relations");
}
