// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Which policy a topology implements, derived from its graph.

use weir_analysis::{Fit, Policy, Priorities};
use weir_core::{Class, ComponentInfo, Plan, PlanInstance};

/// Where partitions with fixed priorities are full: ln 2.
const LN2_PCT: u64 = 69;

/// A policy with the name that users know it by; `None` where the analysis knows nothing of it.
pub struct Named {
    pub name: String,
    pub policy: Option<Policy>,
}

/// An instance with the description of its class.
type Part<'a> = (&'a PlanInstance, &'a ComponentInfo);

/// The value of a parameter.
fn param(part: &Part<'_>, name: &str) -> u64 {
    let at = part.1.params.iter().position(|p| p.name == name);
    at.and_then(|i| part.0.params.get(i)).copied().unwrap_or(0)
}

/// The policy of a compiled topology: one ordering component for all CPUs, or `partition` before one a CPU.
pub fn of(plan: &Plan, cpus: u32) -> Option<Policy> {
    let catalog = weir_core::catalog();
    let part = |i: &'_ PlanInstance| catalog.components.iter().find(|c| c.id == i.class);
    let parts: Vec<Part<'_>> = plan
        .instances
        .iter()
        .filter_map(|i| part(i).map(|c| (i, c)))
        .filter(|p| p.1.class != Class::Annotate && p.1.name != "termination")
        .collect();
    let named = |name: &str| parts.iter().filter(|p| p.1.name == name).count();
    // What comes before an order of its own decides among equals only.
    let ties = |p: &&Part<'_>| p.1.name == "fcfs" && named("llf") > 0;
    let main: Vec<&Part<'_>> = parts.iter().filter(|p| !ties(p)).collect();
    match &main[..] {
        [one] => single(one, cpus),
        [first, rest @ ..] if first.1.name == "partition" => {
            let local = rest.first().filter(|_| rest.len() == cpus as usize)?;
            if rest.iter().any(|p| p.1.name != local.1.name || p.0.params != local.0.params) {
                return None;
            }
            let fit = [Fit::First, Fit::Best, Fit::Worst].into_iter().nth(param(first, "fit") as usize)?;
            let local = Box::new(single(local, 1)?);
            Some(Policy::Partitioned { fit, bound_pct: param(first, "bound"), local })
        }
        _ => None,
    }
}

/// The policy of one ordering component.
fn single(part: &Part<'_>, cpus: u32) -> Option<Policy> {
    Some(match part.1.name.as_str() {
        "rm" => Policy::Fixed(Priorities::Rate),
        "dm" => Policy::Fixed(Priorities::Deadline),
        "priority_order" if param(part, "slice") == 0 => Policy::Fixed(Priorities::Given),
        "edf" => Policy::Edf,
        "edf_us" => Policy::EdfUs { threshold_pct: param(part, "threshold") },
        "edf_vd" if cpus == 1 => Policy::EdfVd { x_pct: param(part, "x") },
        "edzl" => Policy::Edzl,
        "llf" => Policy::Llf { tick_ns: param(part, "tick") },
        "laxity" => {
            let tick_ns = param(part, "tick");
            let by = match param(part, "by") {
                0 => Policy::Llf { tick_ns },
                1 => Policy::Edf,
                _ => Policy::Edzl,
            };
            let driven = param(part, "eager") == 0 && tick_ns > 0;
            if driven { Policy::Ticked { tick_ns, by: Box::new(by) } } else { by }
        }
        // Without the tie rules it is EPDF, which is optimal on two CPUs only.
        "pd2" if param(part, "ties") == 1 || cpus <= 2 => {
            Policy::Optimal { quantum_ns: param(part, "quantum") }
        }
        "run" => Policy::Run,
        "llref" | "lre_tl" | "dp_wrap" | "u_edf" => Policy::Optimal { quantum_ns: 0 },
        _ => return None,
    })
}

/// Every policy that has a test, by the names of the catalogue (RM-US has no topology there).
pub fn all(cpus: u32) -> Vec<Named> {
    let rate = || Policy::Fixed(Priorities::Rate);
    let deadline = || Policy::Fixed(Priorities::Deadline);
    let mut list = vec![("rm", rate()), ("dm", deadline()), ("edf", Policy::Edf), ("edzl", Policy::Edzl)];
    if cpus == 1 {
        list.push(("edf-vd", Policy::EdfVd { x_pct: 0 }));
    } else {
        let part =
            |bound_pct, local| Policy::Partitioned { fit: Fit::First, bound_pct, local: Box::new(local) };
        list.extend([
            ("edf-us", Policy::EdfUs { threshold_pct: 50 }),
            ("rm-us", Policy::RmUs),
            ("p-rm", part(LN2_PCT, rate())),
            ("p-dm", part(LN2_PCT, deadline())),
            ("p-edf", part(100, Policy::Edf)),
        ]);
    }
    list.extend([
        ("pd2", Policy::Optimal { quantum_ns: 1_000_000 }),
        ("llref, dp-wrap, u-edf", Policy::Optimal { quantum_ns: 0 }),
        ("run", Policy::Run),
    ]);
    list.into_iter().map(|(name, policy)| Named { name: name.into(), policy: Some(policy) }).collect()
}
