// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Settings of the kernel that a topology does not honour: nice values and affinities; for control groups, see
//! [`crate::groups`]. The user is warned before relying on them.

use std::path::Path;

use weir_core::{Class, Plan, Topic};

use crate::control::binds;
use crate::groups;
use crate::protocol::Finding;

/// Warnings of what `plan` does not keep, on this machine.
pub fn ignored(plan: &Plan) -> Vec<Finding> {
    let mut found: Vec<Finding> = nice(plan).into_iter().chain(affinity(plan)).collect();
    found.extend(groups::unkept(plan, Path::new(groups::MOUNTED)));
    found
}

fn warning(code: &str, message: String, help: &str) -> Finding {
    Finding { code: code.into(), message, help: Some(help.into()), ..Finding::default() }
}

/// No component goes by nice values: they say something to annotators alone, or to none.
fn nice(plan: &Plan) -> Option<Finding> {
    let by_nice = [Topic::Priority, Topic::Weight, Topic::Fair];
    let goes_by_nice = plan.any_component(|c| {
        let asks = |t: &Topic| c.asks.iter().any(|name| name == t.name());
        c.class != Class::Annotate && by_nice.iter().any(|t| asks(t) || c.listens_to(*t))
    });
    (!goes_by_nice).then(|| {
        warning(
            "nice-ignored",
            format!("`{}` does not go by nice values: tasks of all of them are treated alike", plan.name),
            "weights: topologies such as `eevdf`, `linux`, `groups`, `stride`; priorities: `priority`",
        )
    })
}

/// No component knows where tasks may run.
fn affinity(plan: &Plan) -> Option<Finding> {
    binds(plan).then(|| {
        warning(
            "affinity-ignored",
            format!(
                "`{}` does not know affinities: tasks that are bound to some CPUs run outside the graph, alternating with it",
                plan.name
            ),
            "`annotate affinity` lets the graph place them",
        )
    })
}

#[cfg(test)]
mod tests {
    use weir_core::{MachineShape, catalog};
    use weir_lang::{NoIncludes, Source};

    use super::*;

    fn codes(text: &str) -> Vec<String> {
        let source = Source { name: "t.weir".into(), text: text.into() };
        let done = weir_lang::compile(&source, &NoIncludes, catalog(), &MachineShape::flat(2), &[]);
        let plan = done.expect("a topology").plan;
        nice(&plan).into_iter().chain(affinity(&plan)).map(|f| f.code).collect()
    }

    #[test]
    fn what_is_not_kept_is_reported() {
        assert_eq!(codes("entry -> fifo -> cpus;"), ["nice-ignored", "affinity-ignored"]);
        let cache_aware =
            "annotate affinity, counters; entry -> load_balancer -> each cpu { round_robin -> cpu };";
        assert_eq!(codes(cache_aware), ["nice-ignored"]);
        // The annotator alone changes nothing.
        assert_eq!(codes("annotate affinity, weight; entry -> fifo -> cpus;"), ["nice-ignored"]);
        let weights =
            "annotate affinity, weight, fair, latency; entry -> load_balancer -> each cpu { eevdf -> cpu };";
        assert_eq!(codes(weights), [""; 0]);
        let priorities =
            "annotate affinity, priority; entry -> load_balancer -> each cpu { priority_order -> cpu };";
        assert_eq!(codes(priorities), [""; 0]);
        assert_eq!(codes("annotate affinity, weight, executed; entry -> stride -> cpus;"), [""; 0]);
    }
}
