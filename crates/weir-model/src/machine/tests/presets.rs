// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Built-in machines are what their names say, and survive both writers.

use super::super::check::check;
use super::super::{Distance, Machine, presets};
use super::resolve;

/// Every listed name, with numbers put in for patterns.
fn all() -> Vec<Machine> {
    presets()
        .iter()
        .map(|(name, _)| resolve(&name.replace("-N", "-8")).expect("a listed preset resolves"))
        .collect()
}

#[test]
fn describe_themselves() {
    let text: Vec<String> = all().iter().map(|m| format!("{:13} {}", m.shape.name, m.describe())).collect();
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn are_consistent() {
    for m in all() {
        check(&m).expect("a preset is a sound machine");
        assert_eq!(m.shape.cpus.iter().map(|c| c.capacity).max(), Some(1024), "{}", m.shape.name);
        for (a, row) in m.distances.iter().enumerate() {
            assert_eq!(row[a], 10);
            for (b, d) in row.iter().enumerate() {
                assert_eq!(*d, m.distances[b][a], "{} is symmetric", m.shape.name);
                assert!(a == b || *d > 10);
            }
        }
    }
}

#[test]
fn survive_toml() {
    for m in all() {
        let text = m.to_toml();
        let back = Machine::from_text("x.toml", &text, "x").unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(back, m, "{text}");
        assert!(text.lines().count() < 400, "{} takes {} lines", m.shape.name, text.lines().count());
    }
}

#[test]
fn survive_hwloc_xml_where_hwloc_can_say_it() {
    for m in all() {
        let text = m.to_hwloc_xml();
        let back =
            Machine::from_text("x.xml", &text, &m.shape.name).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(back.distances, m.distances, "{}", m.shape.name);
        assert_eq!(back.kind_of, m.kind_of);
        assert_eq!((back.llc_bytes, back.l2_of), (m.llc_bytes, m.l2_of));
        for (b, c) in back.shape.cpus.iter().zip(&m.shape.cpus) {
            let expected = weir_core::CpuShape { isa: 0, host: None, coherence: 0, ..c.clone() };
            assert_eq!(*b, expected, "{}", m.shape.name);
        }
        for (b, k) in back.kinds.iter().zip(&m.kinds) {
            assert_eq!((&b.name, b.top().hz), (&k.name, k.top().hz));
        }
    }
}

#[test]
fn smp_takes_any_number_up_to_the_limit() {
    for n in [1, 2, 3, 255, 4096] {
        assert_eq!(resolve(&format!("smp-{n}")).expect("within the limit").nr_cpus(), n);
    }
    for n in ["0", "4097", "99999999999999999999"] {
        assert!(resolve(&format!("smp-{n}")).is_err());
    }
}

#[test]
fn distances_of_two_cpus() {
    let epyc = resolve("epyc-64").expect("a preset");
    // Linux numbers second threads after all first ones.
    assert_eq!(epyc.distance(0, 0), Distance::Same);
    assert_eq!(epyc.distance(0, 64), Distance::Sibling);
    assert_eq!(epyc.distance(0, 7), Distance::Llc);
    assert_eq!(epyc.distance(0, 8), Distance::Node);
    assert_eq!(epyc.distance(0, 16), Distance::Remote(12));
    let hybrid = resolve("hybrid-8p16e").expect("a preset");
    assert_eq!(hybrid.distance(16, 19), Distance::L2);
    assert_eq!(hybrid.distance(16, 20), Distance::Llc);
    assert_eq!(hybrid.speed(16, hybrid.top_hz(16)), 614);
    let cluster = resolve("cluster-4x8").expect("a preset");
    assert_eq!(cluster.distance(0, 8), Distance::Domain(255));
}

#[test]
fn foreign_cpus_are_hosted() {
    let m = resolve("accel-4x2").expect("a preset");
    assert_eq!(m.shape.isas, ["native", "accel"]);
    assert!(m.shape.cpus[..4].iter().all(|c| c.isa == 0 && c.host.is_none()));
    assert!(m.shape.cpus[4..].iter().all(|c| c.isa == 1 && c.host == Some(0)));
}

#[test]
fn wrong_names_get_a_suggestion() {
    let wrong = [
        "epcy-64",
        "smp",
        "smp-0",
        "smp-5000",
        "smp-8x",
        "smb-8",
        "mesh-250",
        "numa-100",
        "hybrid-0p4e",
        "accel-0x2",
        "cluster-100x100",
        "i7-2601",
        "banana",
        "",
        "hots",
        "no/such.xml",
        "missing.toml",
    ];
    let text: Vec<String> =
        wrong.iter().map(|w| format!("{w:?}\n{}", resolve(w).expect_err("this is not a machine"))).collect();
    insta::assert_snapshot!(text.join("\n\n"));
}
