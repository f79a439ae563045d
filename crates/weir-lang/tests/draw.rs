// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Pictures show everything once, whatever is folded, and are well-formed.

use std::collections::BTreeSet;

use crate::common::{compile, machine, show, topologies, weir_files};
use weir_lang::draw::{SvgOptions, dot, mermaid, svg};
use weir_lang::{Compiled, Graph};

fn compiled(name: &str, m: &str) -> Compiled {
    let files = weir_files(&topologies());
    let (_, text) = files.iter().find(|f| f.0 == name).expect("it is in the catalogue");
    compile(name, text, &machine(m)).unwrap_or_else(|e| panic!("{}", show(&e)))
}

/// Indices in `attribute` of elements of class `class`; none may come twice.
fn indices(xml: &roxmltree::Document, class: &str, attribute: &str) -> BTreeSet<u32> {
    let mut all = BTreeSet::new();
    let has_class =
        |n: &roxmltree::Node| n.attribute("class").is_some_and(|c| c.split(' ').any(|w| w == class));
    for node in xml.descendants().filter(has_class) {
        for word in node.attribute(attribute).unwrap_or("").split_whitespace() {
            assert!(all.insert(word.parse().expect("a number")), "{attribute} {word} is drawn twice");
        }
    }
    all
}

#[test]
fn svg_shows_every_pipe_and_instance_once() {
    for (name, m) in [
        ("decentral", "smp-4"),
        ("decentral", "smp-300"),
        ("hierarchical", "llcs"),
        ("distributed", "islands"),
        ("accelerator", "accel"),
        ("extended", "accel"),
        ("pipeline_fcfs", "smp-8"),
        ("multipipe", "smp-300"),
        ("scaling", "smp-8"),
        ("partitioned", "smp-300"),
    ] {
        let c = compiled(name, m);
        let text = svg(&c.graph, &SvgOptions::default());
        let xml = roxmltree::Document::parse(&text).unwrap_or_else(|e| panic!("{name} on {m}: {e}"));
        let pipes: BTreeSet<u32> = (0..c.plan.pipes.len() as u32).collect();
        let instances: BTreeSet<u32> = (0..c.plan.instances.len() as u32).collect();
        assert_eq!(indices(&xml, "pipe", "data-pipe"), pipes, "{name} on {m}");
        assert_eq!(indices(&xml, "box", "data-instance"), instances, "{name} on {m}");
        assert!(text.len() < 200_000, "{name} on {m} is {} bytes", text.len());
    }
}

/// Where a program knows no variables, as librsvg, the colour before each is what it draws with.
#[test]
fn each_variable_has_a_colour_before_it() {
    let text = svg(&compiled("decentral", "smp-4").graph, &SvgOptions::default());
    let declarations: Vec<&str> = text.split([';', '{', '}']).collect();
    let mut uses = 0;
    for pair in declarations.windows(2).filter(|pair| pair[1].contains("var(")) {
        let property = pair[1].split(':').next().expect("a declaration has one");
        assert!(pair[0].starts_with(&format!("{property}:#")), "`{}` before `{}`", pair[0], pair[1]);
        uses += 1;
    }
    assert!(uses > 4, "{text}");
}

#[test]
fn large_machines_are_folded() {
    let text = svg(&compiled("hierarchical", "smp-4096").graph, &SvgOptions::default());
    assert!(text.contains("×4096"));
    assert!(text.matches("class=\"box").count() < 10);
    let text = dot(&compiled("decentral", "smp-300").graph);
    assert!(text.contains("x300"), "{text}");
}

#[test]
fn labels_and_heat_are_drawn() {
    let c = compiled("dual", "smp-2");
    let mut options = SvgOptions::default();
    options.pipe_labels.insert(0, "12 <tasks>".into());
    options.pipe_heat.insert(0, 2.0);
    options.instance_labels.insert(2, "7 us".into());
    options.instance_heat.insert(2, 0.5);
    let text = svg(&c.graph, &options);
    assert!(text.contains("12 &lt;tasks&gt;") && text.contains("7 us"));
    assert!(text.contains("hsl(0,85%,48%)"), "heat above 1 is 1");
    roxmltree::Document::parse(&text).expect("well-formed");
}

#[test]
fn dot_and_mermaid() {
    let graph: Graph = compiled("accelerator", "accel").graph;
    let text = format!("{}\n{}", dot(&graph), mermaid(&graph));
    insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("accelerator", text);
    });
}
