// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A long life under reconfiguration: instances, parts and whole topologies are exchanged, CPUs come and go, while tasks are
//! admitted, run, block and end on 64 CPUs. Nothing is lost, run twice or starved; private data begin and end in pairs;
//! after each change every component is what its batch meaning says, and rebuilding changes nothing.
//!
//! `RESHAPES=10000 cargo test --release -p weir-tests --test reshape` is the long form.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use weir_core::{MachineShape, Msg, Topic, catalog};
use weir_lang::{Edit, NoIncludes, Source, compile_with};
use weir_tests::history::{Op, World, op};
use weir_tests::{Lab, law, machine, root};

const MACHINE: &str = "smp-64 core=2 llc=8 node=16";
/// Steps of tasks and users between two changes.
const STEPS: usize = 5;
/// Changes between two looks whether anybody starves.
const REST: usize = 40;
/// Most tasks at a time.
const TASKS: usize = 200;

/// Topologies with an instance called `policy` of a component that orders, so that parts can be exchanged in all of them.
const TEXTS: [(&str, &str); 5] = [
    ("one", "annotate affinity, lamport, priority; entry -> policy :: head_queue -> cpus;"),
    (
        "cpus",
        "annotate affinity, lamport, priority; entry -> lb :: load_balancer -> each cpu { policy :: round_robin -> cpu };",
    ),
    (
        "llcs",
        "annotate affinity, lamport, priority; entry -> top :: load_balancer -> each llc { policy :: head_queue -> low :: load_balancer -> each cpu { -> cpu } };",
    ),
    (
        "late",
        "annotate affinity, lamport, priority; entry each node ~> lb :: load_balancer -> each cpu { policy :: fcfs -> cpu };",
    ),
    (
        "split",
        "annotate affinity, lamport, priority; each node { entry -> policy :: priority_order -> lb :: load_balancer -> each cpu { head_queue -> cpu } };",
    ),
];
/// What may take the place of `policy`.
const ORDERS: [&str; 6] =
    ["head_queue", "round_robin(slice = 1ms)", "fcfs", "lcfs", "priority_order", "fifo"];
/// What may take its place together with more.
const PARTS: [&str; 4] = [
    "in -> watermark(high = 4) -> policy :: head_queue -> out",
    "in -> policy :: fcfs -> out",
    "in -> first :: head_queue -> second :: round_robin -> policy :: head_queue -> out",
    "in -> policy :: lcfs -> out",
];

/// A topology in force: its text, with what was changed of it.
struct Recipe {
    text: usize,
    edits: Vec<Edit>,
    witness: bool,
}

impl Recipe {
    fn plan(&self, shape: &MachineShape) -> Result<weir_core::Plan, String> {
        let (name, text) = TEXTS[self.text];
        let witness = if self.witness { "annotate witness; " } else { "" };
        let source = Source { name: format!("{name}.weir"), text: format!("{witness}{text}") };
        let made = compile_with(&source, &NoIncludes, catalog(), shape, &[], &self.edits);
        made.map(|c| c.plan).map_err(|all| all.iter().map(|d| format!("{d}\n")).collect())
    }
}

fn part(text: &str) -> Source {
    Source { name: "change".into(), text: text.into() }
}

/// A small generator of our own, so that the history is the same everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// How often each kind of change was made.
#[derive(Debug, Default)]
struct Made {
    whole: u32,
    part: u32,
    instance: u32,
    rebuilt: u32,
    cpus: u32,
}

struct Life {
    world: World,
    recipe: Recipe,
    dice: Dice,
    made: Made,
    shape: MachineShape,
    can_witness: bool,
}

impl Life {
    fn change(&mut self) -> Result<(), String> {
        match self.dice.below(8) {
            0 => {
                self.recipe.text = self.dice.below(TEXTS.len());
                self.recipe.edits.clear();
                self.recipe.witness = self.can_witness && self.dice.below(3) > 0;
                self.made.whole += 1;
                self.swap()
            }
            1 | 2 => {
                let with = part(PARTS[self.dice.below(PARTS.len())]);
                self.recipe.edits.push(Edit::Subgraph { names: vec!["policy".into()], with });
                if self.recipe.edits.len() > 3 {
                    self.recipe.edits.clear();
                }
                self.made.part += 1;
                self.swap()
            }
            3 => {
                let with = part(ORDERS[self.dice.below(ORDERS.len())]);
                self.recipe.edits.retain(|e| !matches!(e, Edit::Instance { .. }));
                self.recipe.edits.push(Edit::Instance { name: "policy".into(), with });
                self.made.instance += 1;
                self.swap()
            }
            // One instance in its place, as an adaptive scheduler does it most; the recipe does not change, so the next swap undoes it.
            4 | 5 => {
                let (n, by) = (self.dice.below(256) as u8, self.dice.below(256) as u8);
                self.made.instance += 1;
                self.world.step(&Op::Exchange { n, by })
            }
            6 => {
                self.made.rebuilt += 1;
                self.world.step(&Op::Represent)
            }
            _ => {
                self.made.cpus += 1;
                let online = self.dice.below(2) == 0;
                for _ in 0..1 + self.dice.below(24) {
                    let cpu = self.dice.below(64) as u8;
                    // CPU 0 stays, as somebody must run the scheduler.
                    if cpu > 0 {
                        self.world.step(&Op::Cpu { cpu, online })?;
                    }
                }
                Ok(())
            }
        }
    }

    fn swap(&mut self) -> Result<(), String> {
        let plan = self.recipe.plan(&self.shape)?;
        self.world.lab.swap(plan)?;
        law::check(&mut self.world.lab, None)
    }

    /// Every task has private data of the witness, and nobody else has.
    fn pairs(&mut self) -> Result<(), String> {
        let answer = self.world.lab.sched.request(0, Topic::Marker, &Msg::default());
        match answer.map(|m| m.value as usize) {
            None => Ok(()),
            Some(n) if n == self.world.nr_tasks() => Ok(()),
            Some(n) => Err(format!("{n} tasks have private data, {} exist", self.world.nr_tasks())),
        }
    }
}

fn live(reshapes: usize, can_witness: bool) -> Result<Made, String> {
    let shape = machine::parse(MACHINE).expect("a machine");
    let recipe = Recipe { text: 1, edits: Vec::new(), witness: can_witness };
    let lab = Lab::new(recipe.plan(&shape)?, shape.clone())?;
    let mut life = Life {
        world: World::new(lab, Vec::new()),
        recipe,
        dice: Dice(20),
        made: Made::default(),
        shape,
        can_witness,
    };
    let mut runner = TestRunner::new_with_rng(
        ProptestConfig::default(),
        TestRng::from_seed(RngAlgorithm::ChaCha, &[3; 32]),
    );
    let steps = prop::collection::vec(op(0), STEPS..STEPS + 1);
    for i in 0..reshapes {
        let history = steps.new_tree(&mut runner).expect("a history").current();
        for step in &history {
            if matches!(step, Op::Admit { .. }) && life.world.nr_tasks() >= TASKS {
                life.world.step(&Op::Exit { n: i as u8 })?;
            }
            life.world.step(step).map_err(|e| format!("change {i}, {step:?}: {e}"))?;
        }
        let now = TEXTS[life.recipe.text].0;
        life.change().map_err(|e| format!("change {i} in {now}, {:?}: {e}", life.made))?;
        life.pairs().map_err(|e| format!("change {i} in {now}: {e}"))?;
        if i % REST == REST - 1 {
            life.world.nobody_starves().map_err(|e| format!("after change {i} in {now}: {e}"))?;
        }
    }
    life.world.drain()?;
    life.pairs()?;
    Ok(life.made)
}

#[test]
fn ten_thousand_changes_lose_nobody() {
    let reshapes = std::env::var("RESHAPES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let began = std::time::Instant::now();
    let folder = tempfile::tempdir().expect("a folder");
    // The strict port has headers of its own; a plugin is one of the native port.
    let can_witness = weir_tests::TARGET == "native";
    if can_witness {
        let source = root().join("crates/weir-tests/native/loaded/witness.c");
        let object = weir_tests::plugin::build(&source, folder.path());
        weir_core::loaded::load(&object).unwrap_or_else(|e| panic!("{e}"));
    }
    let made = live(reshapes, can_witness).unwrap_or_else(|e| panic!("{e}"));
    println!("{reshapes} changes in {:?}: {made:?}", began.elapsed());
    assert!(
        made.whole > 0 && made.part > 0 && made.instance > 0 && made.rebuilt > 0 && made.cpus > 0,
        "{made:?}"
    );
    if can_witness {
        weir_core::loaded::unload("witness").unwrap_or_else(|e| panic!("nobody uses it: {e}"));
    }
}
