// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Transactions, with a thread that acts as the kernel side and a folder instead of the CPUs' switches.

use std::cell::Cell;
use std::fs;
use std::path::Path;

use weir_core::catalog;
use weir_lang::{NoIncludes, Source};

use super::*;
use crate::control::tests::obedient;
use crate::rig::{Rig, TEXT};

const CENTRAL: &str = "entry -> fifo -> cpus;";
const SLOWER: &str =
    "annotate affinity; entry -> lb :: load_balancer -> each cpu { round_robin(slice = 9ms) -> cpu };";

/// Knows two topologies and one parameter; counts what became of its proposals.
#[derive(Default)]
struct Compiler {
    accepted: Rc<Cell<u32>>,
    rejected: Rc<Cell<u32>>,
}

impl Composer for Compiler {
    fn compose(&self, verbs: &[Verb], _: Option<usize>) -> std::result::Result<Proposal, String> {
        let text = match verbs.iter().find(|v| v.reshapes()) {
            Some(Verb::Swap { topology }) if topology == "central" => CENTRAL,
            Some(Verb::Swap { .. } | Verb::Undo) => TEXT,
            Some(Verb::Set { .. }) => SLOWER,
            other => return Err(format!("{other:?} is not for this test")),
        };
        let source = Source { name: "made.weir".into(), text: text.into() };
        let made = weir_lang::compile(&source, &NoIncludes, catalog(), &MachineShape::flat(2), &[]);
        let plan = made.map_err(|_| "unsound")?.plan;
        Ok(Proposal { plan: Rc::new(plan), source: text.into(), diff: "+ something".into() })
    }

    fn accept(&self) -> Vec<String> {
        self.accepted.set(self.accepted.get() + 1);
        Vec::new()
    }

    fn reject(&self) {
        self.rejected.set(self.rejected.get() + 1);
    }
}

/// CPU 0 is there for good, CPU 1 has a switch.
fn switches(folder: &Path) -> Hotplug {
    fs::create_dir(folder.join("cpu0")).expect("a folder");
    fs::create_dir(folder.join("cpu1")).expect("a folder");
    fs::write(folder.join("cpu1/online"), "1\n").expect("a file");
    Hotplug::at(folder)
}

fn verbs(texts: &[&str]) -> Vec<Verb> {
    texts.iter().map(|t| Verb::parse(t).expect("a verb")).collect()
}

/// Have transactions carried out one after the other; what became of them, and of the composer's proposals.
fn story(transactions: &[&[&str]], between: impl Fn(&Control)) -> (Vec<Reconfiguration>, (u32, u32), bool) {
    let rig = Rig::new();
    let (control, _) = obedient(&rig);
    let folder = tempfile::tempdir().expect("a folder");
    let compiler = Compiler::default();
    let (accepted, rejected) = (compiler.accepted.clone(), compiler.rejected.clone());
    let hotplug = switches(folder.path());
    let mut helm = Helm::new(&control, Box::new(compiler), hotplug.clone(), Box::new(|_| {}));
    for t in transactions {
        helm.transact("step".into(), &verbs(t), None);
        between(&control);
    }
    let online = hotplug.is_online(1);
    helm.put_cpus_back();
    assert!(hotplug.is_online(1), "it is as it was");
    (helm.done.clone(), (accepted.get(), rejected.get()), online)
}

#[test]
fn a_transaction_is_carried_out_and_reported() {
    let (done, count, online) = story(&[&["swap central", "cpu 1 offline", "publish POWER = 1"]], |_| {});
    let r = &done[0];
    assert_eq!(r.refused, None);
    assert_eq!((r.from.as_str(), r.to.as_str(), r.kind), ("test", "made", "topology"));
    assert_eq!((r.pause_ns, r.represented, r.built, r.kept), (700, 3, 4, 5));
    assert_eq!((r.diff.as_str(), count, online), ("+ something", (1, 0), false));
}

#[test]
fn what_differs_in_one_instance_is_exchanged_in_its_place() {
    let (done, _, _) = story(&[&["swap test"], &["set round_robin.slice = 9ms"]], |_| {});
    assert_eq!((done[1].kind, &done[1].refused), ("topology", &None), "each CPU's copy differs");
    let source = Source { name: "made.weir".into(), text: TEXT.into() };
    let shape = MachineShape::flat(2);
    let plan = weir_lang::compile(&source, &NoIncludes, catalog(), &shape, &[]).expect("sound").plan;
    let at = plan.instances.iter().position(|i| i.name == "round_robin@cpu1").expect("one of them");
    let mut one = plan.clone();
    one.instances[at].params[0] += 1;
    assert_eq!((plan.only_difference(&plan), plan.only_difference(&one)), (None, Some(at as u32)));
    let rig = Rig::new();
    let (control, _) = obedient(&rig);
    assert!(control.change(one.clone(), TEXT.into()).expect("it is obedient").1);
    assert_eq!(control.facts().plan, one);
    let central = Source { name: "central.weir".into(), text: CENTRAL.into() };
    let other = weir_lang::compile(&central, &NoIncludes, catalog(), &shape, &[]).expect("sound").plan;
    assert_eq!(one.only_difference(&other), None);
    assert!(!control.change(other, CENTRAL.into()).expect("it is obedient").1);
}

#[test]
fn what_cannot_be_had_is_refused_before_anything_is_done() {
    for (asked, part) in [
        (&["swap central", "cpu 7 offline"][..], "there is no CPU 7"),
        (&["swap central", "cpu 0 offline"], "has no"),
        (&["swap central", "publish MARKER = 1 cpu 5"], "no CPU 5"),
        (&["swap central", "publish PRIORITY = 1 task nobody"], "no thread called `nobody`"),
        (&["load mine.so"], "no components that are loaded from a file"),
        (&["merge npu at entry"], "not for this test"),
    ] {
        let (done, count, online) = story(&[asked], |_| {});
        let why = done[0].refused.as_deref().expect(part);
        assert!(why.contains(part), "{asked:?}: {why}");
        assert_eq!(
            (done[0].to.as_str(), done[0].kind, count, online),
            ("test", "none", (0, 0), true),
            "{asked:?}"
        );
    }
}

#[test]
fn what_was_done_is_taken_back_if_the_rest_fails() {
    let rig = Rig::new();
    let (control, count) = obedient(&rig);
    let folder = tempfile::tempdir().expect("a folder");
    let hotplug = switches(folder.path());
    let compiler = Compiler::default();
    let rejected = compiler.rejected.clone();
    // A switch that nobody can move.
    fs::remove_file(folder.path().join("cpu1/online")).expect("it is there");
    fs::create_dir(folder.path().join("cpu1/online")).expect("a folder");
    let mut helm = Helm::new(&control, Box::new(compiler), hotplug, Box::new(|_| {}));
    assert!(!helm.transact("step".into(), &verbs(&["swap central", "cpu 1 offline"]), None));
    let r = &helm.done[0];
    assert!(r.refused.as_deref().is_some_and(|w| w.contains("does not let CPU 1 go offline")), "{r:?}");
    assert_eq!((r.to.as_str(), r.kind, rejected.get()), ("test", "none", 1));
    assert_eq!(control.facts().plan.name, "test");
    assert_eq!(count.load(std::sync::atomic::Ordering::Relaxed), 2, "there and back");
}

#[test]
fn a_foreign_switch_is_not_built_upon() {
    let foreign = |control: &Control| {
        let wish = crate::protocol::Switch {
            topology: "foreign.weir".into(),
            source: CENTRAL.into(),
            ..Default::default()
        };
        control.switch(&wish).expect("it is sound");
    };
    let (done, _, _) = story(
        &[&["swap test"], &["set round_robin.slice = 9ms"], &["swap central"], &["swap test"]],
        foreign,
    );
    let why = done[1].refused.as_deref().expect("it is refused");
    assert!(why.contains("has since loaded `foreign`"), "{why}");
    assert_eq!((&done[2].refused, &done[3].refused), (&None, &None), "a whole topology can follow");
}
