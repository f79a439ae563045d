// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Changes of a topology: one instance, a part, a package; what each makes of the graph, and what is refused.

use crate::common::{Folder, machine, show, testcat, topologies};
use weir_core::MachineShape;
use weir_lang::{Compiled, Edit, Source, compile_with, diff, format, needs};

const DECENTRAL: &str = "annotate affinity; entry -> load_balancer -> each cpu { round_robin -> cpu };";

fn part(text: &str) -> Source {
    Source { name: "change".into(), text: text.into() }
}

fn instance(name: &str, with: &str) -> Edit {
    Edit::Instance { name: name.into(), with: part(with) }
}

fn replace(names: &[&str], with: &str) -> Edit {
    Edit::Subgraph { names: names.iter().map(|n| n.to_string()).collect(), with: part(with) }
}

fn merge(text: &str, at: &str) -> Edit {
    Edit::Merge { package: Source { name: "pack.weir".into(), text: text.into() }, at: at.into() }
}

fn changed(text: &str, edits: &[Edit], shape: &MachineShape) -> Result<Compiled, String> {
    let source = Source { name: "t.weir".into(), text: text.into() };
    compile_with(&source, &Folder(topologies()), &testcat::catalog(), shape, &[], edits).map_err(|f| show(&f))
}

/// What a change changes, as text.
fn what(text: &str, edits: &[Edit], shape: &MachineShape) -> String {
    let before = changed(text, &[], shape).unwrap_or_else(|e| panic!("{e}"));
    let after = changed(text, edits, shape).unwrap_or_else(|e| panic!("{e}"));
    diff(&before.graph, &after.graph).to_string()
}

fn refused(text: &str, edits: &[Edit], shape: &MachineShape, part: &str) {
    match changed(text, edits, shape) {
        Ok(_) => panic!("{edits:?} was not refused"),
        Err(e) => assert!(e.contains(part), "{edits:?}:\n{e}"),
    }
}

#[test]
fn one_instance_of_many() {
    let smp = machine("smp-4");
    let one =
        changed(DECENTRAL, &[instance("round_robin@cpu2", "fifo")], &smp).unwrap_or_else(|e| panic!("{e}"));
    let of = |plan: &weir_core::Plan, name: &str| {
        let class = plan.instances.iter().find(|i| i.name == name).map(|i| i.class);
        testcat::catalog().components.into_iter().find(|c| Some(c.id) == class).map(|c| c.name)
    };
    assert_eq!(of(&one.plan, "round_robin@cpu2").as_deref(), Some("fifo"), "the place keeps its name");
    assert_eq!(of(&one.plan, "round_robin@cpu1").as_deref(), Some("round_robin"));
    let all = changed(DECENTRAL, &[instance("round_robin", "fifo")], &smp).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(all.plan.instances.iter().filter(|i| i.name.starts_with("round_robin@")).count(), 4);
    assert!(all.graph.nodes.iter().all(|n| n.component != "round_robin"));
    insta::assert_snapshot!(what(DECENTRAL, &[instance("round_robin", "round_robin(slice = 1ms)")], &smp));
}

#[test]
fn a_part_is_replaced_copy_by_copy() {
    let smp = machine("smp-4");
    let edits = [replace(&["round_robin"], "{ in -> burn -> round_robin -> out }")];
    insta::assert_snapshot!(what(DECENTRAL, &edits, &smp));
    let all = changed(DECENTRAL, &edits, &smp).unwrap_or_else(|e| panic!("{e}"));
    assert!(
        all.plan.instances.iter().any(|i| i.name == "round_robin@cpu3"),
        "what goes on keeps its name, and so its state"
    );
    assert_eq!(all.plan.exits.iter().flatten().count(), 4);
}

#[test]
fn a_part_may_bring_its_own_exits() {
    let smp = machine("smp-4");
    let edits = [replace(&["load_balancer", "round_robin"], "in -> fifo -> cpus")];
    insta::assert_snapshot!(what(DECENTRAL, &edits, &smp));
    // Then the next change starts from what there is.
    let two = [edits[0].clone(), instance("fifo", "head_queue")];
    let made = changed(DECENTRAL, &two, &smp).unwrap_or_else(|e| panic!("{e}"));
    assert!(made.graph.nodes.iter().any(|n| n.name == "fifo" && n.component == "head_queue"));
}

#[test]
fn what_makes_no_sound_topology_is_refused() {
    let smp = machine("smp-4");
    refused(DECENTRAL, &[instance("round_robbin", "fifo")], &smp, "did you mean `round_robin`?");
    refused(DECENTRAL, &[instance("round_robin", "fiffo")], &smp, "did you mean `fifo`?");
    refused(DECENTRAL, &[instance("round_robin", "fcfs")], &smp, "needs LAMPORT");
    refused(DECENTRAL, &[instance("round_robin", "affinity")], &smp, "cannot stand in the place");
    refused(DECENTRAL, &[instance("load_balancer", "fifo")], &smp, "fifo");
    refused(DECENTRAL, &[instance("round_robin", "round_robin(slice = 1)")], &smp, "slice");
    refused(DECENTRAL, &[replace(&["affinity"], "{ in -> fifo -> out }")], &smp, "has no pipes");
    refused(DECENTRAL, &[replace(&["round_robin"], "{ fifo -> out }")], &smp, "in");
    refused(DECENTRAL, &[replace(&["round_robin"], "{ in -> -> out }")], &smp, "expected");
    refused(DECENTRAL, &[replace(&["round_robin"], "in -> fifo -> cpus 0-1")], &smp, "CPU");
}

const PACKAGE: &str = "annotate isa; claim cpus in accel;
package npu(slice: ns = 3ms) {
    in -> split :: isa_demux;
    split[native] -> out;
    split[accel] -> round_robin(slice = slice) -> cpus in accel;
}";

#[test]
fn a_package_serves_the_cpus_that_it_claims() {
    let accel = machine("accel");
    let made = changed(DECENTRAL, &[merge(PACKAGE, "entry")], &accel).unwrap_or_else(|e| panic!("{e}"));
    assert!(made.warnings.is_empty(), "{}", show(&made.warnings));
    assert_eq!(made.plan.exits.iter().flatten().count(), 6);
    assert!(made.plan.instances.iter().any(|i| i.name == "npu/split"));
    insta::assert_snapshot!(what(DECENTRAL, &[merge(PACKAGE, "entry")], &accel));
    // The same place by another name.
    let named =
        changed(DECENTRAL, &[merge(PACKAGE, "load_balancer.in")], &accel).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(named.plan, made.plan);
}

#[test]
fn annotators_are_shared_where_they_are_equal() {
    let accel = machine("accel");
    let with = "annotate affinity, isa; entry -> load_balancer -> each cpu { round_robin -> cpu };";
    let made = changed(with, &[merge(PACKAGE, "entry")], &accel).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(made.graph.nodes.iter().filter(|n| n.component == "isa").count(), 1);
}

#[test]
fn what_is_ambiguous_is_not_merged() {
    let accel = machine("accel");
    refused(DECENTRAL, &[merge(PACKAGE, "load_balancer.out")], &accel, "stands for 4 pipes");
    refused(DECENTRAL, &[merge(PACKAGE, "round_robin.in")], &accel, "stands for 4 pipes");
    refused(DECENTRAL, &[merge(PACKAGE, "entri")], &accel, "did you mean `entry`?");
    refused(DECENTRAL, &[merge(PACKAGE, "entry"), merge(PACKAGE, "entry")], &accel, "already");
    let other = PACKAGE.replace("npu", "gpu");
    refused(
        DECENTRAL,
        &[merge(PACKAGE, "entry"), merge(&other, "entry")],
        &accel,
        "another package serves CPU 4",
    );
    refused(DECENTRAL, &[merge("package p { in -> fifo; }", "entry")], &accel, "has no `out`");
    refused(DECENTRAL, &[merge("entry -> fifo -> cpus;", "entry")], &accel, "holds no package");
    refused(
        DECENTRAL,
        &[merge("leave cpu 1; package p { in -> fifo -> out }", "entry")],
        &accel,
        "takes no CPUs out",
    );
    refused(
        DECENTRAL,
        &[merge("package p { in -> fifo -> out; fifo -> cpus }", "entry")],
        &machine("smp-2"),
        "CPU",
    );
    refused(PACKAGE, &[], &accel, "this is a package");
}

#[test]
fn what_a_package_needs_is_reported_and_has_to_be_there() {
    let smp = machine("smp-2");
    let text =
        "needs fifo from \"fifo.so\";\nneeds mine from \"there/mine.so\";\npackage p { in -> fifo -> out }";
    let source = Source { name: "pack.weir".into(), text: text.into() };
    let found = needs(&source);
    let said: Vec<(&str, &str)> = found.iter().map(|n| (n.component.as_str(), n.file.as_str())).collect();
    assert_eq!(said, [("fifo", "fifo.so"), ("mine", "there/mine.so")]);
    let why = found[1].refused("it is green", "paint it").to_string();
    assert!(
        why.starts_with("pack.weir:2:7: error: it is green [needs]") && why.ends_with("help: paint it"),
        "{why}"
    );
    refused(
        DECENTRAL,
        &[merge(text, "entry")],
        &smp,
        "pack.weir:2:7: error: the component `mine` is not loaded",
    );
    // A program that has the first needs nothing more.
    let text = text.replace("needs mine", "// needs mine");
    changed(DECENTRAL, &[merge(&text, "entry")], &smp).unwrap_or_else(|e| panic!("{e}"));
    refused("needs fifo from \"fifo.so\"; entry -> fifo -> cpus;", &[], &smp, "this is a package");
    refused(
        DECENTRAL,
        &[merge("needs fifo; package p { in -> fifo -> out }", "entry")],
        &smp,
        "needs mine from",
    );
    let fine = "needs fifo from \"fifo.so\";\npackage p { in -> fifo -> out };\n";
    assert_eq!(format(&Source { name: "p".into(), text: fine.into() }).as_deref(), Ok(fine));
}

#[test]
fn a_package_stands_where_it_was_put() {
    let smp = machine("smp-2");
    let watch = "package watch(high: count = 16) { in -> watermark(high = high) -> out }";
    let made =
        changed(DECENTRAL, &[merge(watch, "round_robin@cpu1.in")], &smp).unwrap_or_else(|e| panic!("{e}"));
    let pipe = |a: &str, b: &str| {
        made.graph
            .edges
            .iter()
            .any(|e| made.graph.nodes[e.from].name == a && made.graph.nodes[e.to].name == b)
    };
    assert!(pipe("load_balancer", "watch/watermark") && pipe("watch/watermark", "round_robin@cpu1"));
    assert!(pipe("load_balancer", "round_robin@cpu0"));
}

fn annotate(with: &str) -> Edit {
    Edit::Annotate { with: part(with) }
}

fn create(with: &str) -> Edit {
    Edit::Create { with: part(with) }
}

fn insert(with: &str, at: &str) -> Edit {
    Edit::Insert { with: part(with), at: at.into() }
}

fn remove(name: &str) -> Edit {
    Edit::Remove { name: name.into() }
}

fn connect(from: &str, to: &str) -> Edit {
    Edit::Connect { from: from.into(), to: to.into(), postponed: false }
}

fn disconnect(at: &str) -> Edit {
    Edit::Disconnect { at: at.into() }
}

/// One annotator, one instance, one pipe: each comes and goes, and what came and went leaves no trace.
#[test]
fn one_part_comes_and_goes() {
    let smp = machine("smp-2");
    // Annotators.
    assert!(what(DECENTRAL, &[annotate("priority")], &smp).contains("+ priority\n"));
    assert!(what(DECENTRAL, &[annotate("p :: priority")], &smp).contains("+ p :: priority\n"));
    let both = [annotate("priority"), remove("priority")];
    assert!(what(DECENTRAL, &both, &smp).contains("nothing changes"));
    // An instance in a pipe of one block, and of all.
    let one = what(DECENTRAL, &[annotate("priority"), insert("priority_order", "round_robin@cpu1.in")], &smp);
    assert!(one.contains("+ load_balancer -> priority_order@cpu1"), "{one}");
    assert!(one.contains("+ priority_order@cpu1 -> round_robin@cpu1") && !one.contains("@cpu0"), "{one}");
    let all = what(DECENTRAL, &[insert("q :: fifo", "round_robin.out")], &smp);
    assert!(all.contains("+ q :: fifo (2 of them)") && all.contains("+ q -> CPU (2 of them)"), "{all}");
    let back = [insert("q :: fifo", "round_robin.out"), remove("q")];
    assert!(what(DECENTRAL, &back, &smp).contains("nothing changes"));
    // What was removed is bridged.
    let gone = what(DECENTRAL, &[remove("round_robin@cpu0")], &smp);
    assert!(
        gone.contains("- round_robin@cpu0 :: round_robin\n") && gone.contains("+ load_balancer -> CPU"),
        "{gone}"
    );
    // A pipe in the place of another: only the result has to be sound.
    let detour = [
        create("q :: fifo(slice = 1ms)"),
        disconnect("round_robin@cpu0.out"),
        connect("round_robin@cpu0", "q"),
        connect("q", "cpu 0"),
    ];
    let made = changed(DECENTRAL, &detour, &smp);
    assert!(made.is_err_and(|e| e.contains("no parameter `slice`")), "parameters are checked");
    let detour = [&[create("q :: fifo")], &detour[1..]].concat();
    let text = what(DECENTRAL, &detour, &smp);
    assert!(text.contains("+ round_robin@cpu0 -> q") && text.contains("+ q -> CPU 0"), "{text}");
    refused(DECENTRAL, &detour[..3], &smp, "CPU 0");
}

/// The result is checked as any topology is, and what cannot be meant is refused where it stands.
#[test]
fn a_part_that_cannot_come_or_go_is_refused() {
    let smp = machine("smp-2");
    refused(DECENTRAL, &[annotate("fifo")], &smp, "has pipes");
    refused(DECENTRAL, &[annotate("affinty")], &smp, "did you mean `affinity`?");
    refused(DECENTRAL, &[annotate("a :: affinity")], &smp, "both answer AFFINITY");
    refused(DECENTRAL, &[remove("affinity")], &smp, "needs AFFINITY");
    refused(DECENTRAL, &[remove("load_balancer")], &smp, "has 2 out-pipes");
    refused(DECENTRAL, &[remove("nobody")], &smp, "no instance `nobody`");
    refused(DECENTRAL, &[insert("affinity", "entry")], &smp, "cannot stand in one");
    refused(DECENTRAL, &[insert("fifo", "round_robin.inn")], &smp, "no port `round_robin.inn`");
    refused(DECENTRAL, &[insert("load_balancer :: fifo", "entry")], &smp, "called `load_balancer` already");
    refused(DECENTRAL, &[create("q :: fifo")], &smp, "q");
    refused(DECENTRAL, &[connect("load_balancer", "round_robin")], &smp, "stands for several");
    refused(DECENTRAL, &[connect("load_balancer", "cpu 9")], &smp, "CPU 9");
    refused(DECENTRAL, &[connect("affinity", "cpu 0")], &smp, "has no pipes");
    refused(DECENTRAL, &[disconnect("load_balancer.out")], &smp, "stands for 2 pipes");
    refused(DECENTRAL, &[disconnect("round_robin@cpu0.out")], &smp, "CPU 0");
    refused(DECENTRAL, &[connect("load_balancer[cpu 1]", "cpu 1")], &smp, "CPU 1");
}

/// Source 0, 5.8.1: the coarse goal is applied first, and the fine one orders its groups. The same comes out the other way round, and
/// that is what is built; where something stands between the two, they cannot change places.
#[test]
fn a_coarse_order_may_come_before_a_fine_one() {
    let smp = machine("smp-1");
    let pipes = |chain: &str| {
        let text = format!("annotate lamport, priority, deadline; entry -> {chain} -> cpus;");
        let made = changed(&text, &[], &smp).unwrap_or_else(|e| panic!("{chain}: {e}"));
        let name = |n: usize| made.graph.nodes[n].name.clone();
        let mut edges: Vec<String> =
            made.graph.edges.iter().map(|e| format!("{}-{}", name(e.from), name(e.to))).collect();
        edges.sort();
        edges
    };
    assert_eq!(pipes("priority_order -> fcfs"), pipes("fcfs -> priority_order"));
    assert_eq!(pipes("edf -> priority_order -> lcfs"), pipes("lcfs -> edf -> priority_order"));
    assert_eq!(pipes("priority_order -> fifo -> fcfs"), pipes("fcfs -> priority_order -> fifo"));
    assert_eq!(pipes("fifo -> priority_order -> fcfs"), pipes("fifo -> fcfs -> priority_order"));
    assert_ne!(pipes("fifo -> fcfs"), pipes("fcfs -> fifo"), "nothing is coarse there");
    let text = |chain: &str| format!("annotate affinity, lamport, priority; entry -> {chain};");
    refused(&text("fcfs -> priority_order -> lcfs -> cpus"), &[], &smp, "undoes the order");
    refused(&text("lcfs -> fcfs -> cpus"), &[], &smp, "undoes the order");
    let apart = text("priority_order -> load_balancer -> each cpu { fcfs -> cpu }");
    refused(&apart, &[], &smp, "directly behind one another");
}
