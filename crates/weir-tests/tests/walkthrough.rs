// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The source's scheduling example (source 0, 5.7), event by event: what every pipe holds after each.
//!
//! Two CPUs; batch work by priority on the first, interactive work round robin on the second; a balancer
//! before them; one component knows affinities, one priorities. The source's tasks are coloured balls;
//! here they are `red`, which runs on the first CPU at the start, `blue` and `green`, which wait for the
//! first CPU, and `yellow` and `violet`, which wait for the second, which is idle. `orange` comes later.

use weir_core::{CpuSet, TaskId, Topic};
use weir_tests::{Lab, machine, root};

struct Example {
    lab: Lab,
    names: Vec<(&'static str, TaskId)>,
}

impl Example {
    fn create(&mut self, name: &'static str) -> TaskId {
        let t = self.lab.create(0).expect("memory");
        self.names.push((name, t));
        t
    }

    fn task(&self, name: &str) -> TaskId {
        self.names.iter().find(|(n, _)| *n == name).expect("a known task").1
    }

    /// The initial pipe, the two behind the balancer, the two that the CPUs take their tasks from.
    fn pipes(&self) -> [String; 5] {
        ["entry", "lb.out0", "lb.out1", "priority_order.out0", "round_robin.out0"].map(|name| {
            let pipe = self.lab.pipe(name).unwrap_or_else(|| panic!("pipe {name}"));
            let name = |t: TaskId| self.names.iter().find(|(_, id)| *id == t).expect("a known task").0;
            self.lab.tasks(pipe).into_iter().map(name).collect::<Vec<_>>().join(" ")
        })
    }

    fn affinity(&mut self, name: &str, cpus: &[u32]) {
        let t = self.task(name);
        self.lab.affinity(t, cpus.iter().copied().collect()).expect("the message is delivered");
    }
}

/// The topology `dual` of the catalogue in the state of figure 5.15.
fn initial() -> Example {
    let text = std::fs::read_to_string(root().join("topologies/dual.weir")).expect("the catalogue is there");
    let lab = Lab::from_text(&text, machine::parse("smp-2").expect("a machine")).expect("dual is legal");
    let mut x = Example { lab, names: Vec::new() };
    for (name, cpu, priority) in
        [("red", 0, 1), ("blue", 0, 0), ("green", 0, 1), ("yellow", 1, 0), ("violet", 1, 0)]
    {
        let t = x.create(name);
        x.affinity(name, &[cpu]);
        x.lab.notify_value(Topic::Priority, t, priority).expect("the message is delivered");
        x.lab.admit(0, t).expect("the task is new");
    }
    let picked = x.lab.pick(0).expect("the CPU is free").expect("there is work");
    assert_eq!(picked.task, x.task("red"), "the most urgent task, and of those the one that came first");
    // From now on they may run anywhere: only where they are matters.
    for name in ["blue", "green", "yellow", "violet"] {
        x.affinity(name, &[]);
    }
    assert_eq!(
        x.pipes(),
        ["blue green yellow violet", "blue green", "yellow violet", "green blue", "yellow violet"]
    );
    x.lab.messages.clear();
    x
}

/// 5.7.1: the idle CPU asks for a task, gets the first of its exit pipe, and the task leaves every pipe.
#[test]
fn task_selection() {
    let mut x = initial();
    let picked = x.lab.pick(1).expect("the CPU is free").expect("there is work");
    assert_eq!(picked.task, x.task("yellow"));
    assert_eq!(picked.slice_ns, Some(3_000_000));
    assert_eq!(x.pipes(), ["blue green violet", "blue green", "violet", "green blue", "violet"]);
}

fn after_selection() -> Example {
    let mut x = initial();
    x.lab.pick(1).expect("the CPU is free").expect("there is work");
    x
}

/// 5.7.2: a new task may run everywhere, as nobody said otherwise; the balancer chooses the lower pipe,
/// and the round-robin component puts it behind the others.
fn submit(x: &mut Example) {
    let t = x.create("orange");
    assert_eq!(x.lab.ask(Topic::Affinity, t).expect("there is a responder").mask, None);
    x.lab.admit(1, t).expect("the task is new");
}

#[test]
fn task_submission() {
    let mut x = after_selection();
    submit(&mut x);
    assert_eq!(
        x.pipes(),
        ["blue green violet orange", "blue green", "violet orange", "green blue", "violet orange"]
    );
}

/// 5.7.2, last paragraph: a task that wakes up takes the same way, but its affinity is known already.
#[test]
fn wake_up() {
    let mut x = after_selection();
    submit(&mut x);
    let orange = x.task("orange");
    x.lab.block(orange).expect("it waits");
    x.affinity("orange", &[0]);
    x.lab.unblock(1, orange).expect("it may go on");
    assert_eq!(
        x.pipes(),
        ["blue green violet orange", "blue green orange", "violet", "green blue orange", "violet"]
    );
}

/// 5.7.3: the task is not in the pipes of the priority component, which drops the message; the
/// annotating component stores it; no pipe changes.
#[test]
fn priority_change() {
    let mut x = after_selection();
    submit(&mut x);
    let before = x.pipes();
    let orange = x.task("orange");
    x.lab.notify_value(Topic::Priority, orange, 9).expect("the message is delivered");
    assert_eq!(x.pipes(), before);
    assert_eq!(x.lab.ask(Topic::Priority, orange).expect("there is a responder").value, 9);
    // Had it waited for the first CPU, it would have moved.
    let blue = x.task("blue");
    x.lab.notify_value(Topic::Priority, blue, 9).expect("the message is delivered");
    assert_eq!(x.pipes()[3], "blue green");
}

/// 5.7.4: the balancer migrates the task; it leaves the lower pipeline, and the priority component asks
/// for its priority and puts it first.
#[test]
fn affinity_change() {
    let mut x = after_selection();
    submit(&mut x);
    let orange = x.task("orange");
    x.lab.notify_value(Topic::Priority, orange, 9).expect("the message is delivered");
    x.affinity("orange", &[0]);
    assert_eq!(
        x.pipes(),
        ["blue green violet orange", "blue green orange", "violet", "orange green blue", "violet"]
    );
    let mask: CpuSet = [0].into_iter().collect();
    assert_eq!(x.lab.ask(Topic::Affinity, orange).expect("there is a responder").mask, Some(mask));
}
