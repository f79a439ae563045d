// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Calls of the scheduler cost no more than the analysis takes them to.

use std::collections::BTreeMap;

use weir::analyze::overheads::Calls;
use weir_core::event::{Call, Event, Observer};
use weir_model::costs::Stages;
use weir_model::{Costs, Machine, Workload};
use weir_sim::RunConfig;

/// The dearest call of each kind, ns, without what it waited for.
#[derive(Default)]
struct Dearest(BTreeMap<String, (Call, u64)>);

impl Observer for Dearest {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        if let Event::Sched { call, ns, lock_wait_ns, .. } = event {
            let dearest = self.0.entry(format!("{call:?}")).or_insert((*call, 0));
            dearest.1 = dearest.1.max(ns - lock_wait_ns);
        }
    }
}

/// Under the policies whose verdicts with costs may be positive.
#[test]
fn no_call_is_dearer_than_its_bound() {
    let dear = Costs { lock_uncontended: 300, context_switch: 0, ..Costs::default() };
    let carried = Costs { stages: Stages::Carried, ..Costs::default() };
    for topology in ["rm", "dm", "fp", "edf", "edf-us", "p-edf", "p-rm", "p-dm", "p-fp"] {
        for cpus in [1, 2, 4, 7] {
            let plan = &weir_refute::compiled(topology, cpus).plan;
            let machine = Machine::smp(cpus);
            for (seed, costs) in [(1, Costs::default()), (2, dear), (3, carried)] {
                let set =
                    format!("periodic:tasks={},util={}%,umax=70%,pmin=400us,pmax=4ms", 4 * cpus, 60 * cpus);
                let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
                let workload = Workload::resolve(&set, seed, &none, &[]).expect("a generator");
                let mut seen = Dearest::default();
                let config = RunConfig { seed, duration_ns: Some(60_000_000), ..RunConfig::default() };
                weir_sim::run(&machine, plan, &workload, &costs, &config, &mut seen).expect("runs");
                let calls = Calls::of(&costs, &machine, Some(plan), workload.tasks.len());
                assert!(seen.0.len() >= 4, "{topology} on {cpus}: {:?}", seen.0);
                for (call, ns) in seen.0.values() {
                    let bound = match call {
                        Call::Admit | Call::Unblock => calls.enter,
                        Call::Relinquish => calls.leave,
                        Call::Pick => calls.pick,
                        Call::Block => calls.block,
                        _ => calls.most(),
                    };
                    assert!(*ns <= bound, "{topology} on {cpus}: {call:?} takes {ns}, not {bound}");
                    // It means something, where stages are charged.
                    let near = *ns * 4 >= bound || costs.stages == Stages::Carried;
                    assert!(near || !matches!(call, Call::Pick | Call::Unblock), "{call:?}: {ns}, {bound}");
                }
            }
        }
    }
}
