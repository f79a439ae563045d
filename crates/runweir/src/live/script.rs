// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `--scenario`: what is done to the scheduler in charge, by time and by rule.

use std::collections::BTreeSet;

use weir_core::MachineShape;
use weir_lang::{Compiled, Set, Source};
use weir_linux::steering::{self, Ear, Orders, Steering};
use weir_linux::{EventSink, Live};
use weir_model::{Reconfiguration, Scenario};

use super::fault;
use crate::fault::{Fault, Result};
use crate::output::note;
use crate::scenario::{self, Found, Workshop};
use crate::units::{duration, exact, plural};

/// A scenario that has been tried on this machine's description.
pub struct Script {
    scenario: Scenario,
    /// Components of all topologies that it leads to.
    pub classes: BTreeSet<u16>,
    ear: Option<Ear>,
    workshop: Box<dyn FnOnce() -> Workshop + Send>,
}

impl Script {
    /// Try all that the scenario may do, beginning with the topology that was compiled from `source`.
    pub fn prepare(
        found: Option<&Found>,
        source: &Source,
        sets: &[Set],
        shape: &MachineShape,
        compiled: &Compiled,
    ) -> Result<Option<Self>> {
        let adapts = scenario::adaptive(&compiled.whens)?;
        let Some(scenario) = scenario::join(found.map(|f| &f.file.scenario), adapts.as_ref()) else {
            return Ok(None);
        };
        let folder = found.map_or(String::new(), |f| f.folder.clone());
        if let Some(why) = scenario.verbs().find_map(|v| steering::unable(v).err()) {
            return Err(Fault::user(
                why,
                "build it in, or try the scenario in the simulator: runweir run --scenario",
            ));
        }
        steering::unheard(&scenario).map_err(|why| {
            Fault::user(
                why,
                "wait for a metric, or try the scenario in the simulator: runweir run --scenario",
            )
        })?;
        let trial = Workshop::new(source.clone(), sets, shape, &compiled.graph, &folder);
        let classes = scenario::components(&scenario, &trial, shape, &compiled.plan)?;
        let (source, sets) = (source.clone(), sets.to_vec());
        let (graph, shape) = (compiled.graph.clone(), shape.clone());
        let ear = steering::ear(&scenario, &shape);
        let workshop = move || Workshop::new(source, &sets, &shape, &graph, &folder);
        Ok(Some(Self { scenario, classes, ear, workshop: Box::new(workshop) }))
    }

    /// The receiver of events, if rules need any.
    pub fn sink(&self) -> Option<Box<dyn EventSink>> {
        self.ear.as_ref().map(|ear| Box::new(ear.clone()) as Box<dyn EventSink>)
    }

    /// Carry it out; the time begins with the attachment.
    pub fn begin(self, live: &Live, quiet: bool) -> Result<Steering> {
        let workshop = self.workshop;
        let on_done = move |r: &Reconfiguration| {
            if !quiet || r.refused.is_some() {
                note(&line(r));
            }
        };
        let orders = Orders {
            scenario: self.scenario,
            composer: Box::new(move || Box::new(workshop())),
            ear: self.ear,
            on_done: Box::new(on_done),
        };
        Steering::start(live.control(), orders).map_err(fault)
    }
}

/// A transaction in a line.
fn line(r: &Reconfiguration) -> String {
    let head = format!("{} at {}: {}", r.cause, exact(r.at_ns), r.verbs.join("; "));
    match (&r.refused, r.kind) {
        (Some(why), _) => format!("{head}: refused, and nothing changed: {why}"),
        (None, "none") => head,
        (None, _) => format!(
            "{head}: {} -> {}, {} pause, {} re-enqueued",
            r.from,
            r.to,
            duration(r.pause_ns),
            plural(r.represented, "task")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_was_done() {
        let mut r = Reconfiguration {
            at_ns: 100_000_000,
            cause: "step 1".into(),
            verbs: vec!["swap fifo".into(), "cpu 1 offline".into()],
            from: "decentral".into(),
            to: "fifo".into(),
            kind: "topology",
            pause_ns: 42_000,
            represented: 7,
            ..Reconfiguration::default()
        };
        assert_eq!(
            line(&r),
            "step 1 at 100 ms: swap fifo; cpu 1 offline: decentral -> fifo, 42.0 us pause, 7 tasks re-enqueued"
        );
        r.refused = Some("there is no CPU 9".into());
        assert!(line(&r).ends_with("refused, and nothing changed: there is no CPU 9"));
    }
}
