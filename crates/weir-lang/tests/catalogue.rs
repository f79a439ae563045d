// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Every topology of the catalogue checks on the machines it is meant for, and its plan is sound.

use crate::common::{compile, machine, show, testcat, topologies, weir_files};
use weir_core::{MachineShape, Plan};
use weir_lang::{Compiled, Source};

/// Machines that each topology is meant for.
fn machines_of(name: &str) -> &'static [&'static str] {
    match name {
        "dual" | "bilingual" => &["smp-2"],
        "single" => &["smp-1"],
        "accelerator" | "extended" => &["accel"],
        "fpga_before" => &["fpga-before"],
        "fpga_after" => &["fpga-after"],
        "fpga_watched" | "fpga_reshaped" => &["fpga-shell"],
        "flat_mesh" => &["llcs"],
        "pipeline" | "pipeline_fcfs" | "pipeline_lcfs" => &["smp-4", "smp-8"],
        "halves" | "foreign" | "tenants" => &["smp-2", "smp-5", "llcs"],
        "distributed" => &["smp-1", "smp-4", "islands"],
        _ => &["smp-1", "smp-8", "llcs", "smp-300"],
    }
}

fn good(name: &str, text: &str, shape: &MachineShape) -> Compiled {
    match compile(name, text, shape) {
        Ok(compiled) => compiled,
        Err(findings) => panic!("{name} on {}:\n{}", shape.name, show(&findings)),
    }
}

#[test]
fn every_topology_checks_without_a_warning() {
    for (name, text) in weir_files(&topologies()) {
        for m in machines_of(&name) {
            let compiled = good(&name, &text, &machine(m));
            assert!(compiled.warnings.is_empty(), "{name} on {m}:\n{}", show(&compiled.warnings));
            sound(&name, &compiled.plan);
        }
    }
}

/// What every plan promises (`weir_core::plan`).
fn sound(name: &str, plan: &Plan) {
    assert_eq!(plan.entries.len(), plan.cpus.len(), "{name}");
    assert_eq!(plan.exits.len(), plan.cpus.len(), "{name}");
    let mut names: Vec<&str> = plan.instances.iter().map(|i| i.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), plan.instances.len(), "{name}: instance names are unique");
    for (p, pipe) in plan.pipes.iter().enumerate() {
        let (to, port) = pipe.to;
        assert_eq!(plan.instances[to as usize].ins[port as usize], p as u32, "{name}: {}", pipe.name);
        match pipe.from {
            None => assert_eq!(pipe.depth, 0, "{name}: entry pipes have depth 0"),
            Some((from, port)) => {
                assert_eq!(
                    plan.instances[from as usize].outs[port as usize], p as u32,
                    "{name}: {}",
                    pipe.name
                );
                assert!(from < to, "{name}: {} leads backwards", pipe.name);
                let longest =
                    plan.instances[from as usize].ins.iter().map(|i| plan.pipes[*i as usize].depth).max();
                assert_eq!(Some(pipe.depth), longest.map(|d| d + 1), "{name}: {}", pipe.name);
            }
        }
    }
    let entries = plan.pipes.iter().filter(|p| p.from.is_none()).count();
    assert!(plan.entries.iter().all(|e| (*e as usize) < entries), "{name}: entries are entry pipes");
    let end = testcat::catalog().get("termination").expect("it has one").id;
    for exit in plan.exits.iter().flatten() {
        let receiver = &plan.instances[plan.pipes[*exit as usize].to.0 as usize];
        assert_eq!(receiver.class, end, "{name}: exits end in a termination");
    }
    let first_piped = plan.instances.iter().position(|i| !i.ins.is_empty()).unwrap_or(0);
    assert!(plan.instances[first_piped..].iter().all(|i| !i.ins.is_empty()), "{name}: annotators come first");
}

#[test]
fn every_topology_is_formatted_and_says_how_to_run_it() {
    for (name, text) in weir_files(&topologies()) {
        let source = Source { name: format!("{name}.weir"), text: text.clone() };
        let formatted = weir_lang::format(&source).expect("it parses");
        assert_eq!(text, formatted, "{name}");
        assert!(text.starts_with("// "), "{name} opens with a comment");
        assert!(text.contains(&format!("runweir run --topology {name} ")), "{name} says how to run it");
    }
}

fn plan(name: &str, m: &str) -> Plan {
    let files = weir_files(&topologies());
    let (_, text) = files.iter().find(|f| f.0 == name).expect("it is in the catalogue");
    good(name, text, &machine(m)).plan
}

/// Source 0, listing 5.1: 2n+1 pipes and n+1 instances for n CPUs.
#[test]
fn decentral_has_the_size_of_the_source() {
    let p = plan("decentral", "smp-4");
    assert_eq!(p.pipes.len(), 9);
    let terminations = 4;
    let annotators = 1;
    assert_eq!(p.instances.len(), 5 + terminations + annotators);
    assert_eq!(p.depth(), 3);
    assert_eq!(p.instances[1].name, "load_balancer");
    assert_eq!(p.instances[2].name, "round_robin@cpu0");
    assert_eq!(p.instances[2].params, [3_000_000]);
    assert_eq!(p.exits[3], Some(p.instances[5].outs[0]));
    assert_eq!(p.entries, [0; 4]);
}

#[test]
fn ports_of_dual_follow_the_cpus() {
    let p = plan("dual", "smp-2");
    let lb = p.instances.iter().find(|i| i.name == "lb").expect("declared");
    let behind = |port: usize| p.instances[p.pipes[lb.outs[port] as usize].to.0 as usize].name.as_str();
    assert_eq!((behind(0), behind(1)), ("priority_order", "round_robin"));
    assert!(p.pipes[p.exits[0].expect("CPU 0 has one") as usize].keyed);
}

#[test]
fn accelerator_labels_ports_and_shares_an_exit() {
    let p = plan("accelerator", "accel");
    let split = p.instances.iter().find(|i| i.name == "split").expect("declared");
    let labels: Vec<u64> = split.outs.iter().map(|o| p.pipes[*o as usize].label).collect();
    assert_eq!(labels, [0, 1]);
    assert_eq!(p.exits[4], p.exits[5]);
    assert_ne!(p.exits[0], p.exits[1]);
    assert_eq!(p.entries, [0; 6]);
}

#[test]
fn distributed_joins_each_with_each_through_postponed_pipes() {
    let p = plan("distributed", "islands");
    assert_eq!(p.pipes.iter().filter(|p| p.postponed).count(), 16);
    let inbox = p.instances.iter().find(|i| i.name == "inbox@cpu2").expect("one per CPU");
    let writers: Vec<&str> = inbox
        .ins
        .iter()
        .map(|i| p.pipes[*i as usize].from.expect("no entry").0)
        .map(|w| p.instances[w as usize].name.as_str())
        .collect();
    assert_eq!(writers, ["balancer@cpu0", "balancer@cpu1", "balancer@cpu2", "balancer@cpu3"]);
    assert_eq!(p.entries, [0, 1, 2, 3]);
}

#[test]
fn entry_pipes_of_scaling_are_a_parameter() {
    let files = weir_files(&topologies());
    let (_, text) = files.iter().find(|f| f.0 == "scaling").expect("it is in the catalogue");
    for (k, per) in [(1, 16), (4, 4), (16, 1)] {
        let set = |component: &str, param: &str, value: String| weir_lang::Set {
            component: component.into(),
            param: param.into(),
            value,
        };
        let sets = [set("scaling", "pipes", k.to_string()), set("burn", "iterations", "500".into())];
        let source = Source { name: "scaling.weir".into(), text: text.clone() };
        let shape = MachineShape::flat(16);
        let c = weir_lang::compile(&source, &weir_lang::NoIncludes, &testcat::catalog(), &shape, &sets);
        let p = c.unwrap_or_else(|e| panic!("{}", show(&e))).plan;
        let lb = p.instances.iter().find(|i| i.name == "lb").expect("declared");
        assert_eq!(lb.ins.len(), k);
        assert_eq!(p.entries.iter().filter(|e| **e == p.entries[0]).count(), per);
        let burns = p.instances.iter().filter(|i| i.name.starts_with("burn"));
        assert!(burns.clone().count() == k && burns.into_iter().all(|b| b.params == [500]));
    }
}

#[test]
fn foreign_leaves_cpu_0_without_exit_but_with_entry() {
    let p = plan("foreign", "smp-5");
    assert_eq!(p.exits[0], None);
    assert!(p.exits[1..].iter().all(Option::is_some));
    assert_eq!(p.entries, [0; 5]);
}

#[test]
fn hierarchical_has_a_balancer_per_cache() {
    let p = plan("hierarchical", "llcs");
    let count = |prefix: &str| p.instances.iter().filter(|i| i.name.starts_with(prefix)).count();
    assert_eq!((count("lb@llc"), count("round_robin@cpu")), (4, 16));
    assert_eq!(p.depth(), 4);
}

#[test]
fn large_machines_compile() {
    let p = plan("hierarchical", "smp-4096");
    assert_eq!(p.exits.len(), 4096);
}

/// The same with the components of this build instead of the hand-written catalogue.
#[test]
fn every_topology_checks_with_the_real_components() {
    let components = weir_core::catalog();
    for (name, text) in weir_files(&topologies()) {
        for m in machines_of(&name) {
            let source = Source { name: format!("{name}.weir"), text: text.clone() };
            match weir_lang::compile(&source, &weir_lang::NoIncludes, components, &machine(m), &[]) {
                Ok(c) => assert!(c.warnings.is_empty(), "{name} on {m}:\n{}", show(&c.warnings)),
                Err(findings) => panic!("{name} on {m}:\n{}", show(&findings)),
            }
        }
    }
}

/// `cbs(hard = true)` alone let the task on after its budget by one nanosecond at a time.
#[test]
fn hard_budgets_that_nobody_heeds_are_reported() {
    let compile = |text: &str| {
        let source = Source { name: "t.weir".into(), text: text.into() };
        weir_lang::compile(&source, &weir_lang::NoIncludes, weir_core::catalog(), &machine("smp-2"), &[])
            .unwrap_or_else(|e| panic!("{}", show(&e)))
            .warnings
    };
    let found = compile("annotate affinity, job, cbs(hard = true); entry -> edf -> cpus;");
    assert!(found.len() == 1 && found[0].code == "budget-unheeded", "{}", show(&found));
    assert!(
        compile("annotate affinity, job, cbs(hard = true); entry -> throttle -> edf -> cpus;").is_empty()
    );
    assert!(compile("annotate affinity, job, cbs; entry -> edf -> cpus;").is_empty());
}

/// Some say of how many components they are made: so many different ones there are.
#[test]
fn topologies_are_made_of_as_many_components_as_they_say() {
    const WORDS: [&str; 6] = ["Four", "Five", "Six", "Seven", "Eight", "Nine"];
    let components = weir_core::catalog();
    let files = weir_files(&topologies());
    let mut seen = Vec::new();
    for (name, text) in &files {
        let said = |word| text.contains(&format!("{word} components: "));
        let Some(number) = WORDS.iter().position(said) else { continue };
        let source = Source { name: format!("{name}.weir"), text: text.clone() };
        let compiled = weir_lang::compile(&source, &weir_lang::NoIncludes, components, &machine("llcs"), &[]);
        let plan = compiled.unwrap_or_else(|e| panic!("{name}: {}", show(&e))).plan;
        let end = components.get("termination").expect("it has one").id;
        let mut used: Vec<u16> = plan.instances.iter().map(|i| i.class).filter(|c| *c != end).collect();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len(), number + 4, "{name}");
        seen.push(name.as_str());
    }
    for name in ["groups", "linux", "scx-interactive", "scx-pick-two", "scx-simple"] {
        assert!(seen.contains(&name), "{name} does not say how many components it took");
    }
}

/// The examples of the language's page are text of the language.
#[test]
fn examples_of_the_documentation_parse() {
    let page = topologies().join("../docs/language.md");
    let page = std::fs::read_to_string(page).expect("the page exists");
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).filter(|b| !b.starts_with("ebnf")).collect();
    assert!(blocks.len() >= 4);
    for block in blocks {
        let source = Source { name: "language.md".into(), text: block.into() };
        assert!(weir_lang::format(&source).is_ok(), "{block}");
    }
}

/// A block of one CPU at the end of a component with one out-port needs no distributor.
#[test]
fn a_block_for_a_single_cpu_is_an_exit() {
    let text = "annotate affinity, isa, lamport, tcb;
        entry -> split :: isa_demux;
        split[native] -> load_balancer -> each cpu in native { head_queue -> cpu };
        split[accel] -> fcfs -> each cpu in accel { -> cpu };";
    let one = testcat::foreign(2, &[("accel", 1)]);
    assert_eq!(good("t", text, &one).plan.exits.len(), 3);
    let findings =
        compile("t", text, &testcat::foreign(2, &[("accel", 2)])).expect_err("fcfs has one out-port");
    assert_eq!(findings.iter().map(|d| d.code).collect::<Vec<_>>(), ["too-many-pipes"]);
}

/// Sub-topologies with numbered and with unnumbered sides, in blocks and in one another.
#[test]
fn sub_topologies_are_spliced_in_order() {
    let text = "annotate affinity;
        topology cross { in[0] -> a :: head_queue -> out[1]; in[1] -> b :: head_queue -> out[0] }
        topology row { in -> task_mux -> out }
        entry -> lb :: load_balancer;
        x :: cross;
        lb -> x;
        lb -> x;
        x -> row -> cpu 0;
        x -> row -> cpu 1;";
    let p = good("t", text, &MachineShape::flat(2)).plan;
    let at =
        |name: &str| p.instances.iter().position(|i| i.name == name).unwrap_or_else(|| panic!("no {name}"));
    let next = |i: usize, port: usize| p.pipes[p.instances[i].outs[port] as usize].to.0 as usize;
    assert_eq!(next(at("lb"), 0), at("x/a"));
    assert_eq!(next(at("lb"), 1), at("x/b"));
    // `out[0]` comes from b and goes to the first row.
    assert_eq!(next(at("x/b"), 0), at("row/task_mux"));
    assert_eq!(next(at("x/a"), 0), at("row_2/task_mux"));
    assert_eq!(
        p.pipes[p.exits[0].expect("it has one") as usize].from.expect("no entry").0 as usize,
        at("row/task_mux")
    );
}

/// One side without numbers stands for as many pipes as the other side has.
#[test]
fn sides_of_sub_topologies_fan_out() {
    let text = "annotate affinity;
        topology spread { in -> load_balancer -> out }
        entry each cpu -> spread ~> each cpu { head_queue -> cpu };";
    let p = good("t", text, &MachineShape::flat(3)).plan;
    let lb = p.instances.iter().find(|i| i.name == "spread/load_balancer").expect("copied in");
    assert_eq!((lb.ins.as_slice(), lb.outs.len()), ([0, 1, 2].as_slice(), 3));
    assert!(lb.outs.iter().all(|o| p.pipes[*o as usize].postponed));
    assert_eq!(p.entries, [0, 1, 2]);
}
