// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Wrong topologies and their diagnostics. Each file of `bad/weir` names its machine in its
//! first line; the snapshots are to be read like a manual.

use std::path::Path;

use crate::common::{Folder, machine, show, testcat, weir_files};
use weir_lang::{Set, Source};

#[test]
fn wrong_topologies_get_good_diagnostics() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/weir");
    let files = weir_files(&folder);
    assert!(files.len() >= 10);
    for (name, text) in files {
        let Some(m) = text.lines().next().and_then(|l| l.strip_prefix("// machine: ")) else {
            continue; // included by others
        };
        let source = Source { name: format!("{name}.weir"), text: text.clone() };
        let result =
            weir_lang::compile(&source, &Folder(folder.clone()), &testcat::catalog(), &machine(m), &[]);
        let findings = match result {
            Ok(compiled) => compiled.warnings,
            Err(findings) => findings,
        };
        assert!(!findings.is_empty(), "{name} should be wrong");
        assert!(
            findings.iter().all(|d| d.help.is_some()),
            "{name}: a finding without help:\n{}",
            show(&findings)
        );
        insta::with_settings!({ snapshot_path => "bad/snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name.as_str(), show(&findings));
        });
    }
}

#[test]
fn wrong_settings_get_good_diagnostics() {
    let text = "annotate affinity;\nentry -> lb :: load_balancer -> each cpu { round_robin -> cpu };\n";
    let source = Source { name: "t.weir".into(), text: text.into() };
    let mut all = String::new();
    for (component, param, value) in [
        ("round_robn", "slice", "1ms"),
        ("fcfs", "slice", "1ms"),
        ("round_robin", "slce", "1ms"),
        ("round_robin", "slice", "1"),
        ("round_robin@cpu1", "slice", "1h"),
        ("round_robin", "slice", "1ns"),
        ("lb", "slice", "1ms"),
        ("t", "pipes", "1"),
    ] {
        let sets = [Set { component: component.into(), param: param.into(), value: value.into() }];
        let result = weir_lang::compile(
            &source,
            &weir_lang::NoIncludes,
            &testcat::catalog(),
            &machine("smp-2"),
            &sets,
        );
        all += &show(&result.expect_err("each is wrong"));
        all.push('\n');
    }
    insta::with_settings!({ snapshot_path => "bad/snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("settings", all);
    });
}

/// A setting may name the component, one instance, or the instance of all blocks.
#[test]
fn settings_reach_what_they_name() {
    let text =
        "annotate affinity;\nentry -> load_balancer -> each cpu { q :: round_robin(slice = 2ms) -> cpu };\n";
    let source = Source { name: "t.weir".into(), text: text.into() };
    let slices = |component: &str| -> Vec<u64> {
        let sets = [Set { component: component.into(), param: "slice".into(), value: "1ms".into() }];
        let compiled = weir_lang::compile(
            &source,
            &weir_lang::NoIncludes,
            &testcat::catalog(),
            &machine("smp-2"),
            &sets,
        );
        let plan = compiled.unwrap_or_else(|e| panic!("{}", show(&e))).plan;
        plan.instances.iter().filter(|i| i.name.starts_with("q@")).map(|i| i.params[0]).collect()
    };
    assert_eq!(slices("round_robin"), [1_000_000, 1_000_000]);
    assert_eq!(slices("q"), [1_000_000, 1_000_000]);
    assert_eq!(slices("q@cpu1"), [2_000_000, 1_000_000]);
}

/// `--set llf.tick=1ms` was refused for the topology `llf`, which has no parameters of its own: its name hid that
/// of the component.
#[test]
fn a_file_without_parameters_does_not_hide_a_component() {
    let text = "annotate affinity;\nentry -> round_robin -> cpus;\n";
    let source = Source { name: "dir/round_robin.weir".into(), text: text.into() };
    let sets = [Set { component: "round_robin".into(), param: "slice".into(), value: "1ms".into() }];
    let compiled =
        weir_lang::compile(&source, &weir_lang::NoIncludes, &testcat::catalog(), &machine("smp-2"), &sets);
    let plan = compiled.unwrap_or_else(|e| panic!("{}", show(&e))).plan;
    assert!(plan.instances.iter().any(|i| i.params == [1_000_000]), "{:?}", plan.instances);
}

/// Machines that no topology can run on.
#[test]
fn unusable_machines_are_refused() {
    let text = "entry -> round_robin -> cpus;";
    let source = Source { name: "t.weir".into(), text: text.into() };
    let mut nameless = machine("smp-2");
    nameless.isas.clear();
    let mut all = String::new();
    for shape in [machine("smp-0"), machine("smp-5000"), nameless] {
        let result = weir_lang::compile(&source, &weir_lang::NoIncludes, &testcat::catalog(), &shape, &[]);
        all += &show(&result.expect_err("each is unusable"));
        all.push('\n');
    }
    insta::with_settings!({ snapshot_path => "bad/snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("machines", all);
    });
}
