// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What runs is read back as a text that compiles to the same.

use crate::common::{Folder, machine, testcat, topologies, weir_files};
use weir_core::{MachineShape, Plan};
use weir_lang::{Loader, NoIncludes, Origin, Set, Source, join, read_back};

const MACHINES: [&str; 12] = [
    "smp-1",
    "smp-2",
    "smp-4",
    "smp-5",
    "smp-8",
    "smp-70",
    "accel",
    "fpga-before",
    "fpga-after",
    "fpga-shell",
    "llcs",
    "islands",
];

fn set(component: &str, param: &str, value: &str) -> Set {
    Set { component: component.into(), param: param.into(), value: value.into() }
}

fn plan(text: &str, shape: &MachineShape, sets: &[Set]) -> Option<Plan> {
    let source = Source { name: "t.weir".into(), text: text.into() };
    weir_lang::compile(&source, &NoIncludes, &testcat::catalog(), shape, sets).ok().map(|c| c.plan)
}

/// Each topology of the catalogue on each machine for which it compiles: as it was written, and with nothing known but the graph.
#[test]
fn every_topology_is_read_back() {
    let catalog = testcat::catalog();
    let mut graphs = 0;
    for (name, text) in weir_files(&topologies()) {
        let source = Source { name: format!("{name}.weir"), text };
        let text = join(&source, &Folder(topologies())).expect("its files are there");
        for shape in MACHINES.map(machine) {
            let Ok(compiled) = weir_lang::compile(&source, &Folder(topologies()), &catalog, &shape, &[])
            else {
                continue;
            };
            let back = read_back(&text, &compiled.plan, &catalog, &shape).expect("a text");
            assert_eq!((back.origin, &back.text), (Origin::Written, &text), "{name} on {}", shape.name);
            let back = read_back("", &compiled.plan, &catalog, &shape)
                .unwrap_or_else(|e| panic!("{name} on {}: {e}", shape.name));
            assert_eq!(back.origin, Origin::Graph);
            graphs += 1;
        }
    }
    assert!(graphs > 200, "{graphs}");
}

#[test]
fn values_and_components_are_put_into_the_text() {
    let (catalog, shape) = (testcat::catalog(), MachineShape::flat(4));
    let text = "// Kept.\nannotate affinity;\nentry -> load_balancer -> each cpu { round_robin(slice = 3ms) -> cpu };\n";
    let of = |sets: &[Set]| plan(text, &shape, sets).expect("sound");
    let back = |plan: &Plan| read_back(text, plan, &catalog, &shape).expect("a text");

    let all = of(&[set("round_robin", "slice", "1ms")]);
    assert_eq!(back(&all).text, text.replace("3ms", "1ms"));
    assert_eq!(back(&all).origin, Origin::Changed);
    // One of four copies: the text has one place for them.
    let one = of(&[set("round_robin@cpu2", "slice", "1ms")]);
    let graph = back(&one);
    assert_eq!(graph.origin, Origin::Graph);
    assert!(graph.text.contains("round_robin_cpu2 :: round_robin(slice = 1ms) -> cpu 2;"), "{}", graph.text);
    assert!(graph.text.contains("round_robin_cpu1 :: round_robin -> cpu 1;"), "{}", graph.text);
    // And what was read back can be read back.
    let again = plan(&graph.text, &shape, &[]).expect("sound");
    assert_eq!(read_back(&graph.text, &again, &catalog, &shape).expect("a text").origin, Origin::Written);

    let text = "annotate affinity; entry -> q :: round_robin -> cpus;";
    let mut other = plan(text, &shape, &[]).expect("sound");
    let fifo = catalog.get("fifo").expect("one");
    let q = other.instances.iter_mut().find(|i| i.name == "q").expect("there");
    (q.class, q.params) = (fifo.id, fifo.params.iter().map(|p| p.default).collect());
    let back = read_back(text, &other, &catalog, &shape).expect("a text");
    assert_eq!(
        (back.text.as_str(), back.origin),
        ("annotate affinity; entry -> q :: fifo -> cpus;", Origin::Changed)
    );
}

#[test]
fn a_topology_that_reshapes_itself_is_the_same_text_in_every_case() {
    let (catalog, shape) = (testcat::catalog(), MachineShape::flat(4));
    let text = "when cpus.online > 2 { entry -> fifo -> cpus; } else { entry -> round_robin -> cpus; }";
    for case in ["0", "1"] {
        let now = plan(text, &shape, &[set("topology", "when1", case)]).expect("sound");
        let back = read_back(text, &now, &catalog, &shape).expect("a text");
        assert_eq!((back.text.as_str(), back.origin), (text, Origin::Written));
    }
}

/// One file that includes another.
struct Two;

impl Loader for Two {
    fn load(&self, _: &str, include: &str) -> Result<Source, String> {
        let text = match include {
            "a.weir" => "include \"b.weir\";\ntopology a { in -> b -> out }\n",
            _ => "topology b { in -> fifo -> out }\n",
        };
        Ok(Source { name: include.into(), text: text.into() })
    }
}

#[test]
fn files_that_are_included_come_along() {
    let source = Source { name: "t.weir".into(), text: "include \"a.weir\" ;\nentry -> a -> cpus;\n".into() };
    let loader = Two;
    let text = join(&source, &loader).expect("all are there");
    assert!(!text.contains("include"), "{text}");
    let (catalog, shape) = (testcat::catalog(), MachineShape::flat(2));
    let with = weir_lang::compile(&source, &loader, &catalog, &shape, &[]).expect("sound").plan;
    assert_eq!(plan(&text, &shape, &[]).expect("sound"), with);
    let gone = join(&source, &NoIncludes).expect_err("no files");
    assert!(gone.contains("cannot be included"), "{gone}");
}
