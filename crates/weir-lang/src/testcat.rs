// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A catalogue for tests, written by hand after the components' manuals, and some machines.

#![allow(dead_code)]

use weir_core::{
    Catalog, Class, ComponentInfo, MachineShape, Ordering, ParamInfo, PortLabel, Relation, RelationKind, Unit,
};

const ANY: u32 = u32::MAX;

fn component(name: &str, class: Class, ins: (u32, u32), outs: (u32, u32)) -> ComponentInfo {
    ComponentInfo {
        name: name.into(),
        id: 0,
        class,
        ordering: Ordering::Keep,
        summary: format!("{name} for tests"),
        ins,
        outs,
        out_label: PortLabel::None,
        params: Vec::new(),
        relations: Vec::new(),
        listens: Vec::new(),
        publishes: Vec::new(),
        asks: Vec::new(),
        needs: Vec::new(),
        answers: Vec::new(),
        topics: Vec::new(),
        per_task: 0,
        keyed_out: false,
        kernel: weir_core::Kernel::Always,
        manual: String::new(),
        source: String::new(),
    }
}

fn param(name: &str, unit: Unit, default: u64, min: u64, max: u64) -> ParamInfo {
    ParamInfo { name: name.into(), unit, default, min, max, help: String::new() }
}

fn topics(list: &[&str]) -> Vec<String> {
    list.iter().map(|t| t.to_string()).collect()
}

/// The components of the first milestone.
pub fn catalog() -> Catalog {
    use Class::*;
    let mut all = Vec::new();
    for name in ["head_queue", "fifo", "rusty"] {
        all.push(component(name, Order, (1, 1), (1, 1)));
    }
    all.push(ComponentInfo {
        params: vec![param("high", Unit::Count, 8, 1, 1_000_000), param("low", Unit::Count, 1, 0, 999_999)],
        relations: vec![Relation {
            kind: RelationKind::Less,
            of: (1, 0),
            rule: "`low` is below `high`".into(),
            why: "the same number would count as many and as few".into(),
        }],
        ..component("watermark", Order, (1, 1), (1, 1))
    });
    for name in ["fcfs", "lcfs"] {
        all.push(ComponentInfo {
            ordering: Ordering::Total,
            asks: topics(&["LAMPORT"]),
            needs: topics(&["LAMPORT"]),
            keyed_out: true,
            ..component(name, Order, (1, 1), (1, 1))
        });
    }
    for name in ["burn", "depth"] {
        let params = vec![param("iterations", Unit::Count, 0, 0, 1_000_000)];
        all.push(ComponentInfo { params, ..component(name, Order, (1, 1), (1, 1)) });
    }
    // Two for the rules about filters.
    for name in ["sieve", "winnow", "urgent"] {
        all.push(component(name, Filter, (1, 1), (1, 1)));
    }
    all.push(ComponentInfo {
        asks: topics(&["BUDGET"]),
        needs: topics(&["BUDGET"]),
        ..component("throttle", Filter, (1, 1), (1, 1))
    });
    all.push(ComponentInfo {
        answers: topics(&["DEADLINE", "BUDGET"]),
        params: ["hard", "policy"]
            .map(|name| param(name, Unit::Flag, 0, 0, 1))
            .into_iter()
            .chain([param("bound", Unit::Pct, 0, 0, 100)])
            .collect(),
        ..component("cbs", Annotate, (0, 0), (0, 0))
    });
    all.push(ComponentInfo {
        params: vec![param("slice", Unit::Ns, 3_000_000, 100_000, 1_000_000_000)],
        ..component("round_robin", Order, (1, 1), (1, 1))
    });
    all.push(ComponentInfo {
        ordering: Ordering::Stable,
        asks: topics(&["PRIORITY"]),
        needs: topics(&["PRIORITY"]),
        keyed_out: true,
        ..component("priority_order", Order, (1, 1), (1, 1))
    });
    all.push(ComponentInfo {
        ordering: Ordering::Stable,
        asks: topics(&["DEADLINE"]),
        needs: topics(&["DEADLINE"]),
        keyed_out: true,
        ..component("edf", Order, (1, 1), (1, 1))
    });
    for (name, needs) in [
        ("rm", &["DEADLINE"][..]),
        ("dm", &["JOB"]),
        ("edf_us", &["DEADLINE", "JOB"]),
        ("edzl", &["DEADLINE", "JOB", "EXECUTED"]),
        ("llf", &["DEADLINE", "JOB", "EXECUTED"]),
        ("rbed", &["DEADLINE", "JOB", "EXECUTED"]),
        ("edf_vd", &["DEADLINE", "JOB", "EXECUTED"]),
        ("rt", &["PRIORITY"]),
        ("fair_server", &["PRIORITY"]),
    ] {
        all.push(ComponentInfo {
            ordering: Ordering::Stable,
            asks: topics(needs),
            needs: topics(needs),
            params: vec![
                param("tick", Unit::Ns, 100_000, 0, 1_000_000_000),
                param("slice", Unit::Ns, 100_000_000, 100_000, 10_000_000_000),
                param("rr", Unit::Flag, 0, 0, 1),
                param("defer", Unit::Flag, 0, 0, 1),
            ],
            keyed_out: true,
            ..component(name, Order, (1, 1), (1, 1))
        });
    }
    all.push(ComponentInfo {
        params: vec![
            param("fit", Unit::Count, 0, 0, 2),
            param("bound", Unit::Pct, 100, 1, 100),
            param("unknown", Unit::Pct, 0, 0, 100),
        ],
        asks: topics(&["AFFINITY", "DEADLINE", "JOB"]),
        needs: topics(&["AFFINITY", "DEADLINE", "JOB"]),
        ..component("partition", Distribute, (1, ANY), (1, ANY))
    });
    all.push(ComponentInfo {
        asks: topics(&["DEADLINE", "JOB"]),
        needs: topics(&["DEADLINE", "JOB"]),
        params: ["early", "ties"].map(|name| param(name, Unit::Flag, 0, 0, 1)).to_vec(),
        ..component("pd2", Distribute, (1, 1), (1, ANY))
    });
    all.push(ComponentInfo {
        asks: topics(&["AFFINITY", "DEADLINE", "JOB", "EXECUTED"]),
        needs: topics(&["DEADLINE", "JOB", "EXECUTED"]),
        params: vec![
            param("tick", Unit::Ns, 100_000, 0, 1_000_000_000),
            param("eager", Unit::Flag, 1, 0, 1),
            param("ties", Unit::Flag, 1, 0, 1),
            param("stay", Unit::Flag, 1, 0, 1),
            param("by", Unit::Count, 0, 0, 2),
        ],
        ..component("laxity", Distribute, (1, 1), (1, ANY))
    });
    for name in ["dp_wrap", "llref", "run", "u_edf"] {
        all.push(ComponentInfo {
            asks: topics(&["DEADLINE", "JOB"]),
            needs: topics(&["DEADLINE", "JOB"]),
            params: vec![param("lazy", Unit::Flag, 0, 0, 1)],
            ..component(name, Distribute, (1, 1), (1, ANY))
        });
    }
    let asks = topics(&["AFFINITY", "COUNTERS"]);
    for name in ["cache_balancer", "capacity_balancer"] {
        all.push(ComponentInfo {
            needs: asks.clone(),
            asks: asks.clone(),
            ..component(name, Distribute, (1, ANY), (1, ANY))
        });
    }
    all.push(ComponentInfo {
        answers: topics(&["PENALTY"]),
        params: vec![
            param("level", Unit::Count, 1, 1, 3),
            param("branch", Unit::Flag, 0, 0, 1),
            param("cache_weight", Unit::Pct, 50, 0, 100),
            param("reward", Unit::Flag, 0, 0, 1),
            param("log_only", Unit::Flag, 0, 0, 1),
            param("scale", Unit::Count, 0, 0, 2),
            param("slice_rule", Unit::Count, 0, 0, 2),
            param("alpha", Unit::Pct, 50, 1, 100),
        ],
        ..component("pmc_fair", Annotate, (0, 0), (0, 0))
    });
    let asks = topics(&["AFFINITY", "WEIGHT"]);
    all.push(ComponentInfo {
        needs: asks.clone(),
        asks,
        ..component("fair_balancer", Distribute, (1, ANY), (1, ANY))
    });
    all.push(ComponentInfo {
        asks: topics(&["PRIORITY", "DEADLINE", "AFFINITY"]),
        needs: topics(&["PRIORITY", "AFFINITY"]),
        ..component("push_pull", Distribute, (1, ANY), (1, ANY))
    });
    for name in ["stride", "lottery", "bvt"] {
        all.push(ComponentInfo {
            ordering: Ordering::Total,
            asks: topics(&["WEIGHT", "EXECUTED", "LATENCY"]),
            needs: topics(&["EXECUTED", "WEIGHT"]),
            params: vec![param("quantum", Unit::Ns, 3_000_000, 100_000, 1_000_000_000)],
            keyed_out: true,
            ..component(name, Order, (1, 1), (1, 1))
        });
    }
    for name in ["cfs", "eevdf"] {
        all.push(ComponentInfo {
            ordering: Ordering::Total,
            asks: topics(&["FAIR", "WEIGHT", "PENALTY", "LATENCY", "AFFINITY"]),
            needs: topics(&["WEIGHT", "FAIR"]),
            params: vec![
                param("tick", Unit::Ns, 0, 0, 1_000_000_000),
                param("latency", Unit::Ns, 6_000_000, 100_000, 1_000_000_000),
                param("granularity", Unit::Ns, 750_000, 10_000, 1_000_000_000),
                param("wakeup", Unit::Ns, 1_000_000, 0, 1_000_000_000),
                param("slice", Unit::Ns, 750_000, 10_000, 1_000_000_000),
                param("scale", Unit::Flag, 1, 0, 1),
                param("gentle", Unit::Flag, 1, 0, 1),
                param("rules", Unit::Count, 7, 6, 7),
            ],
            keyed_out: true,
            ..component(name, Order, (1, 1), (1, 1))
        });
    }
    for (name, ins) in [
        ("task_distributor", (1, 1)),
        ("task_mux", (1, ANY)),
        ("load_balancer", (1, ANY)),
        ("cool_balancer", (1, ANY)),
        ("thrifty_balancer", (1, ANY)),
        ("advanced_balancer", (1, ANY)),
        ("work_stealing", (1, ANY)),
    ] {
        let asks = topics(&["AFFINITY"]);
        let full = (name == "load_balancer").then(|| param("full", Unit::Flag, 0, 0, 1));
        all.push(ComponentInfo {
            params: full.into_iter().collect(),
            needs: asks.clone(),
            asks,
            ..component(name, Distribute, ins, (1, ANY))
        });
    }
    let asks = topics(&["AFFINITY", "WEIGHT"]);
    all.push(ComponentInfo {
        needs: asks.clone(),
        asks,
        ..component("weight_balancer", Distribute, (1, ANY), (1, ANY))
    });
    all.push(ComponentInfo {
        asks: topics(&["TENANT"]),
        needs: topics(&["TENANT"]),
        ..component("tenant_split", Distribute, (1, ANY), (1, ANY))
    });
    all.push(ComponentInfo {
        ordering: Ordering::Stable,
        asks: topics(&["GANG", "AFFINITY"]),
        needs: topics(&["GANG"]),
        params: vec![param("slice", Unit::Ns, 3_000_000, 20_000, 1_000_000_000)],
        keyed_out: true,
        ..component("gang", Order, (1, 1), (1, 1))
    });
    // Swallows tasks.
    all.push(component("drain", Service, (1, ANY), (0, 0)));
    // Asks without needing, for the rule about such topics.
    all.push(ComponentInfo {
        asks: topics(&["AFFINITY"]),
        ..component("scatter", Distribute, (1, 1), (1, ANY))
    });
    all.push(ComponentInfo {
        asks: topics(&["ISA"]),
        needs: topics(&["ISA"]),
        out_label: PortLabel::Isa,
        ..component("isa_demux", Distribute, (1, ANY), (1, ANY))
    });
    all.push(ComponentInfo {
        answers: topics(&["AFFINITY"]),
        params: vec![param("fallback", Unit::Flag, 0, 0, 1)],
        ..component("affinity", Annotate, (0, 0), (0, 0))
    });
    for (name, answers) in [
        ("lamport", "LAMPORT"),
        ("priority", "PRIORITY"),
        ("counters", "COUNTERS"),
        ("isa", "ISA"),
        ("job", "JOB"),
        ("executed", "EXECUTED"),
        ("criticality", "CRITICALITY"),
        ("policy", "POLICY"),
        ("sporadic", "BUDGET"),
        ("tcb", "TCB"),
        ("status", "STATUS"),
        ("deadline", "DEADLINE"),
        ("weight", "WEIGHT"),
        ("fair", "FAIR"),
        ("group_weight", "WEIGHT"),
        ("bandwidth", "BUDGET"),
        ("latency", "LATENCY"),
        ("membership", "GANG"),
        ("tenant", "TENANT"),
    ] {
        all.push(ComponentInfo { answers: topics(&[answers]), ..component(name, Annotate, (0, 0), (0, 0)) });
    }
    all.push(component("pace", Annotate, (0, 0), (0, 0)));
    all.push(component("marker", Service, (0, 0), (0, 0)));
    all.push(component("termination", Service, (1, 1), (0, 0)));
    for (id, c) in all.iter_mut().enumerate() {
        c.id = id as u16 + 1;
    }
    Catalog { components: all }
}

/// `llcs` last-level caches with `per` CPUs each; two LLCs make a NUMA node, a node is a package.
pub fn llcs(llcs: u32, per: u32) -> MachineShape {
    let mut shape = MachineShape::flat(llcs * per);
    shape.name = format!("llcs-{llcs}x{per}");
    for (i, cpu) in shape.cpus.iter_mut().enumerate() {
        cpu.llc = i as u32 / per;
        cpu.node = cpu.llc / 2;
        cpu.package = cpu.node;
    }
    shape
}

/// `native` CPUs, then CPUs of other instruction sets, hosted by CPU 0.
pub fn foreign(native: u32, others: &[(&str, u32)]) -> MachineShape {
    let mut shape = MachineShape::flat(native + others.iter().map(|o| o.1).sum::<u32>());
    shape.name = format!("smp-{native}+{}", others.iter().map(|o| o.0).collect::<Vec<_>>().join("+"));
    let mut at = native as usize;
    for (i, (name, n)) in others.iter().enumerate() {
        shape.isas.push(name.to_string());
        for cpu in &mut shape.cpus[at..at + *n as usize] {
            cpu.isa = i as u16 + 1;
            cpu.host = Some(0);
        }
        at += *n as usize;
    }
    shape
}

/// `n` CPUs with memory of their own each.
pub fn distributed(n: u32) -> MachineShape {
    let mut shape = MachineShape::flat(n);
    shape.name = format!("islands-{n}");
    for (i, cpu) in shape.cpus.iter_mut().enumerate() {
        cpu.coherence = i as u32;
    }
    shape
}
