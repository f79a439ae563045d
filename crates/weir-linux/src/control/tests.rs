// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Requests, with a thread that acts as the kernel side.

use std::fmt::Write as _;
use std::sync::Weak;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::memory::Shared;
use crate::protocol::{Replace, SetParam};
use crate::rig::{BYTES, Rig, TEXT};

const STAGING: u64 = 1 << 20;

/// Answers requests until the control is gone.
fn kernel(shared: Shared, alive: Weak<Control>, answer: impl Fn(&mut LiveRequest) + Send + 'static) {
    std::thread::spawn(move || {
        while let Some(control) = alive.upgrade() {
            let word = shared.request_state();
            if word.compare_exchange(state::POSTED, 2, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                let mut r = shared.request();
                answer(&mut r);
                shared.fill_request(&r);
                word.store(state::DONE, Ordering::Release);
            }
            drop(control);
            std::thread::yield_now();
        }
    });
}

/// A control whose requests are all carried out and kept.
pub(crate) fn recording(rig: &Rig) -> (Arc<Control>, Arc<Mutex<Vec<LiveRequest>>>) {
    let control = control(rig);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = seen.clone();
    kernel(rig.view.shared, Arc::downgrade(&control), move |r| {
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(*r);
    });
    (control, seen)
}

fn control(rig: &Rig) -> Arc<Control> {
    let staging = (rig.memory as u64 + BYTES as u64 - STAGING, STAGING);
    Arc::new(Control::new(rig.view, MachineShape::flat(2), staging, rig.facts.clone(), Arc::new(())))
}

fn wish(text: &str) -> Switch {
    Switch { topology: "next.weir".into(), source: text.into(), ..Switch::default() }
}

/// A control whose requests are all carried out, and a count of them.
pub(crate) fn obedient(rig: &Rig) -> (Arc<Control>, Arc<AtomicUsize>) {
    let control = control(rig);
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    kernel(rig.view.shared, Arc::downgrade(&control), move |r| {
        counter.fetch_add(1, Ordering::Relaxed);
        r.stats = LiveStats { represented: 3, built: 4, kept: 5, refused: 0, pause_ns: 700 };
        r.done_ns = 42;
    });
    (control, count)
}

#[test]
fn a_switch_is_carried_out_and_remembered() {
    let rig = Rig::new();
    let (control, count) = obedient(&rig);
    let done = control.switch(&wish("entry -> fifo -> cpus;")).expect("a sound topology");
    assert_eq!((done.report.from.as_str(), done.report.to.as_str()), ("test", "next"));
    assert_eq!((done.report.represented, done.report.pause_ns, done.report.t_ns), (3, 700, 42));
    assert_eq!(control.facts().plan.name, "next");
    assert_eq!(control.snapshot().last_swap, Some(done.report));
    assert_eq!(rig.view.shared.head().bind, 1, "nobody knows affinities now");
    control.switch(&wish(TEXT)).expect("a sound topology");
    assert_eq!(rig.view.shared.head().bind, 0);
    let dry = Switch { dry_run: true, ..wish("entry -> fifo -> cpus;") };
    assert!(control.switch(&dry).expect("a sound topology").dry_run);
    assert_eq!((control.facts().plan.name.as_str(), count.load(Ordering::Relaxed)), ("next", 2));
    assert_eq!(rig.view.shared.request_state().load(Ordering::Relaxed), state::FREE);
}

/// Parts of the topology in charge come and go without its text; the result is checked as any topology is.
#[test]
fn parts_of_the_topology_in_charge_change() {
    let rig = Rig::new();
    let (control, count) = obedient(&rig);
    let text = "annotate affinity; entry -> load_balancer -> each cpu { round_robin -> cpu };";
    control.switch(&wish(text)).expect("a sound topology");
    let part = |verbs: &[&str]| Switch {
        verbs: verbs.iter().map(|v| (*v).to_owned()).collect(),
        ..Switch::default()
    };
    control
        .switch(&part(&["annotate priority", "insert priority_order at round_robin.in"]))
        .expect("a sound topology");
    let names: Vec<String> = control.facts().plan.instances.iter().map(|i| i.name.clone()).collect();
    assert!(names.iter().any(|n| n == "priority_order@cpu1"), "{names:?}");
    assert_eq!(control.facts().plan.name, "next*");
    // The next request finds what this one made, in a text of its own.
    let now = control.text().expect("readable");
    assert!(now.weir.contains("priority_order") && now.weir.contains("priority"), "{}", now.weir);
    let e = control.switch(&part(&["remove priority"])).expect_err("it is needed");
    assert!(e.findings.iter().any(|f| f.message.contains("needs PRIORITY")), "{:?}", e.findings);
    let e = control.switch(&part(&["cpu 0 offline"])).expect_err("no part");
    assert!(e.message.contains("not a change of parts"), "{e}");
    assert_eq!(count.load(Ordering::Relaxed), 2);
}

#[test]
fn what_the_kernel_refuses_leaves_everything_as_it_was() {
    let rig = Rig::new();
    let control = control(&rig);
    kernel(rig.view.shared, Arc::downgrade(&control), |r| r.result = -1);
    let e = control.switch(&wish("entry -> fifo -> cpus;")).expect_err("no memory");
    assert!(e.message.contains("arena is full") && e.help.contains("--memory"), "{e}");
    assert_eq!((control.facts().plan.name.as_str(), rig.view.shared.head().bind), ("test", 0));
    assert_eq!(rig.view.shared.request_state().load(Ordering::Relaxed), state::FREE);
}

#[test]
fn a_request_that_nobody_takes_is_taken_back() {
    let rig = Rig::new();
    let control = control(&rig);
    let e = control.switch(&wish("entry -> fifo -> cpus;")).expect_err("nobody there");
    assert_eq!(e.kind, ErrorKind::Busy, "{e}");
    assert_eq!(rig.view.shared.request_state().load(Ordering::Relaxed), state::FREE);
}

#[test]
fn after_the_end_requests_are_refused() {
    let mut rig = Rig::new();
    rig.live.head.exit_kind = 64;
    let e = control(&rig).switch(&wish("entry -> fifo -> cpus;")).expect_err("it is over");
    assert!(e.message.contains("not in charge any more"), "{e}");
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let rig = Rig::new();
    let control = Control::new(
        rig.view,
        MachineShape::flat(2),
        (rig.memory as u64, 64),
        rig.facts.clone(),
        Arc::new(()),
    );
    let e = control.switch(&wish("entry -> fifo -> cpus;")).expect_err("64 bytes");
    assert!(e.message.contains("set aside") && e.help.contains("--memory"), "{e}");
}

#[test]
fn an_instance_is_replaced() {
    let rig = Rig::new();
    let (control, _) = obedient(&rig);
    let replace = |instance: &str, component: Option<&str>, params: &[(&str, &str)]| {
        control.replace(&Replace {
            instance: instance.into(),
            component: component.map(Into::into),
            params: params.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(),
        })
    };
    replace("round_robin@cpu0", None, &[("slice", "2ms")]).expect("in range");
    let of = |name: &str| {
        let facts = control.facts();
        facts.plan.instances.iter().find(|i| i.name == name).expect("there").clone()
    };
    assert!(of("round_robin@cpu0").params.contains(&2_000_000));
    replace("round_robin@cpu1", Some("fifo"), &[]).expect("fits");
    assert_eq!(of("round_robin@cpu1").class, catalog().get("fifo").expect("there").id);

    let mut text = String::new();
    for (instance, component, params) in [
        ("round_robin", None, &[][..]),
        ("", None, &[]),
        ("lb", Some("fifoo"), &[]),
        ("lb", Some("termination"), &[]),
        ("affinity", Some("priority"), &[]),
        ("round_robin@cpu0", None, &[("slice", "9000s")]),
        ("round_robin@cpu0", None, &[("slice", "5")]),
        ("round_robin@cpu0", None, &[("slcie", "5ms")]),
    ] {
        let e = replace(instance, component, params).expect_err(instance);
        writeln!(text, "{instance} {component:?} {params:?}\n{e}\n").expect("memory");
    }
    insta::assert_snapshot!(text);
}

/// The topology in force is read back, whatever changes it has had.
#[test]
fn the_topology_in_charge_is_read_back() {
    let rig = Rig::new();
    let (control, _) = obedient(&rig);
    let now = || {
        let answer = control.serve(&Request::Topology {});
        let text: TopologyText = serde_json::from_value(answer.result.expect("a text")).expect("of its form");
        let plan = compile(&wish(&text.weir), &MachineShape::flat(2)).expect("sound").plan;
        let of = |p: &Plan| p.instances.iter().map(|i| (i.class, i.params.clone())).collect::<Vec<_>>();
        assert_eq!(of(&plan), of(&control.facts().plan), "{}", text.weir);
        (text.topology, text.weir, text.origin)
    };
    assert_eq!(now(), ("test".into(), TEXT.into(), TextOrigin::Written));
    let set = SetParam { component: "round_robin".into(), param: "slice".into(), value: "2ms".into() };
    control.switch(&Switch { set: vec![set], ..wish(TEXT) }).expect("in range");
    let changed = TEXT.replace("round_robin", "round_robin(slice = 2ms)");
    assert_eq!(now(), ("next".into(), changed, TextOrigin::Changed));
    let params = [("slice".to_string(), "7ms".to_string())].into();
    let one = Replace { instance: "round_robin@cpu0".into(), component: None, params };
    control.replace(&one).expect("in range");
    let (_, graph, origin) = now();
    assert!(origin == TextOrigin::Graph && graph.contains("round_robin(slice = 7ms) -> cpu 0;"), "{graph}");

    let (from, include, name) = ("next.weir".into(), "x.weir".into(), "x.weir".into());
    let file = File { from, include, name, text: "topology q { in -> fifo -> out }".into() };
    let sent = Switch { files: vec![file], ..wish("include \"x.weir\"; entry -> q -> cpus;") };
    control.switch(&sent).expect("sound");
    let (_, joined, origin) = now();
    assert!(origin == TextOrigin::Written && joined.contains("topology q") && !joined.contains("include"));
    assert_eq!(control.snapshot().source, joined);
}

#[test]
fn a_message_is_published() {
    let mut rig = Rig::new();
    let id = rig.sched.task_new(0, 0).expect("memory");
    rig.note(id, 77, 0, 0);
    let control = control(&rig);
    kernel(rig.view.shared, Arc::downgrade(&control), move |r| {
        assert_eq!((r.kind, r.topic), (kind::NOTIFY, Topic::Priority as u32));
        assert_eq!((r.value as i64, r.task, r.cpu), (-5, id.0, NONE));
    });
    let json = |text: &str| crate::protocol::parse(text.as_bytes()).expect("a request");
    let good = json(r#"{"verb":"notify","topic":"priority","value":-5,"task":77}"#);
    assert_eq!(
        control.serve(&good).result,
        Some(serde_json::json!({ "hearers": 0 })),
        "nobody listens to PRIORITY"
    );

    let mut text = String::new();
    for request in [
        r#"{"verb":"notify","topic":"PRIORTY"}"#,
        r#"{"verb":"notify","topic":"AFFINITY","task":77}"#,
        r#"{"verb":"notify","topic":"CPU_STATUS","cpu":0,"value":0}"#,
        r#"{"verb":"notify","topic":"MARKER","cpu":2}"#,
        r#"{"verb":"notify","topic":"MARKER","task":78}"#,
    ] {
        let e = control.serve(&json(request)).error.expect(request);
        writeln!(text, "{request}\n{}\n  help: {}\n", e.message, e.help).expect("memory");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn hearers_of_a_message_are_counted() {
    let mut rig = Rig::new();
    let id = rig.sched.task_new(0, 0).expect("memory");
    rig.note(id, 77, 0, 0);
    let (control, _) = obedient(&rig);
    let text = "annotate affinity, priority; entry -> load_balancer -> each cpu { priority_order -> cpu };";
    control.switch(&wish(text)).expect("a sound topology");
    let hearers = |topic: &str| {
        control
            .notify(&Notify { topic: topic.into(), task: Some(77), ..Notify::default() })
            .expect("carried out")
    };
    // The annotator, and the order in front of each of two CPUs.
    assert_eq!((hearers("PRIORITY"), hearers("MARKER")), (3, 0));
}

#[test]
fn a_faulty_topology_is_reported_with_its_places() {
    let rig = Rig::new();
    let (control, count) = obedient(&rig);
    let e = control.switch(&wish("entry -> fifoo -> cpus;")).expect_err("no such component");
    assert!(e.message.contains("`next.weir` has 1 error"), "{e}");
    let found = &e.findings[0];
    assert!(found.error && found.help.as_ref().is_some_and(|h| h.contains("fifo")), "{found:?}");
    assert_eq!(found.labels[0].0, 9);
    let e = control.switch(&wish("include \"x.weir\"; entry -> fifo -> cpus;")).expect_err("not sent");
    assert!(e.findings[0].message.contains("does not contain it"), "{e:?}");
    assert_eq!(count.load(Ordering::Relaxed), 0);
    let file = File {
        from: "next.weir".into(),
        include: "x.weir".into(),
        name: "x.weir".into(),
        text: "topology q { fifo }".into(),
    };
    let sent = Switch { files: vec![file], ..wish("include \"x.weir\"; entry -> q -> cpus;") };
    if let Err(e) = control.switch(&sent) {
        assert!(!e.findings.iter().any(|f| f.message.contains("does not contain")), "{e:?}");
    }
}

#[test]
fn components_that_the_kernel_cannot_take_are_refused() {
    let shape = MachineShape::flat(2);
    let rusty = catalog().components.iter().find(|c| c.source.ends_with(".rs")).expect("one is in Rust");
    let text = format!("annotate affinity; entry -> load_balancer -> each cpu {{ {} -> cpu }};", rusty.name);
    let plan = compile(&wish(&text), &shape).expect("a sound topology").plan;
    let e = takes(&plan, 4).expect_err("not in C");
    assert!(e.message.contains(&rusty.name) && e.help.contains(".rs"), "{e}");
}

const TENANTS: &str = "annotate affinity, tenant; entry -> tenant_split -> each part of 2 { -> cpus };";

/// A topic that a component brings along: named by its UUID, with its payload in the staging area; the reply comes from there.
#[test]
fn a_topic_that_the_core_does_not_know_is_published_and_asked() {
    let mut rig = Rig::new();
    let id = rig.sched.task_new(0, 0).expect("memory");
    rig.note(id, 77, 0, 0);
    let control = control(&rig);
    let own = catalog().own_topic("TENANT").expect("there").clone();
    kernel(rig.view.shared, Arc::downgrade(&control), move |r| {
        if r.kind == kind::SWAP {
            return;
        }
        assert_eq!((r.uuid, r.version, r.task), (own.uuid, own.version, id.0));
        // SAFETY: the staging area is the test's memory.
        let payload = r.plan as *mut u64;
        match r.kind {
            // SAFETY: as above.
            kind::NOTIFY => assert_eq!(unsafe { payload.read() }, 5),
            kind::ASK => {
                // SAFETY: as above.
                unsafe { payload.write(6) };
                (r.value, r.bytes) = (6, 8);
            }
            other => panic!("a request of kind {other}"),
        }
    });
    let json = |text: &str| crate::protocol::parse(text.as_bytes()).expect("a request");
    let publish = json(r#"{"verb":"notify","topic":"tenant","task":77,"fields":{"tenant":5}}"#);
    let ask = json(r#"{"verb":"request","topic":"TENANT","task":77}"#);
    let mut text = String::new();
    let mut refused = |request: &Request| {
        let e = control.serve(request).error.expect("refused");
        writeln!(text, "{}\n  help: {}\n", e.message, e.help).expect("memory");
    };
    refused(&publish);
    refused(&ask);
    control.switch(&wish(TENANTS)).expect("a sound topology");
    assert_eq!(control.serve(&publish).result, Some(serde_json::json!({ "hearers": 2 })));
    assert_eq!(
        control.serve(&ask).result,
        Some(
            serde_json::json!({ "topic": "TENANT", "task": 77, "value": 6, "value2": 0, "fields": { "tenant": 6 } })
        )
    );
    for wrong in [
        r#"{"verb":"notify","topic":"TENANT","task":77,"fields":{"landlord":5}}"#,
        r#"{"verb":"notify","topic":"MARKER","fields":{"tenant":5}}"#,
        r#"{"verb":"notify","topic":"DISPATCH","task":77}"#,
        r#"{"verb":"request","topic":"TENANT","task":78}"#,
        r#"{"verb":"request","topic":"MARKER"}"#,
        r#"{"verb":"request","topic":"STATUS"}"#,
        r#"{"verb":"request","topic":"STATSU"}"#,
    ] {
        refused(&json(wrong));
    }
    insta::assert_snapshot!(text);
}
