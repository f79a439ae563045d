// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A simulation displayed while it runs: it can be slowed down, stopped, stepped and moved to any time.
//!
//! A run is deterministic, so going back means running again up to that time.

mod actor;
mod controls;
mod frame;
mod tally;

use std::sync::atomic::AtomicBool;

use weir_lang::Source;
use weir_lang::draw::{Scene, scene};

use crate::explain::{Explainer, Explanation};
use crate::fault::{Diag, Result};
use crate::ignored;
use crate::session::{Candidate, Session, Setting, Watched};
use crate::sheet::{Picture, picture};
use crate::watch::Watch;

use actor::Actor;
pub use controls::{Command, Controls};
pub use frame::{Frame, Moment, Spread, State};

/// The run to be played.
#[derive(Clone, Debug)]
pub struct StageOptions {
    pub source: Source,
    pub setting: Setting,
    pub seed: u64,
}

/// A run with everything looked up.
pub struct Stage {
    session: Session,
    candidate: Candidate,
    scene: Scene,
    seed: u64,
}

/// Events with a cost are reported so often at least, and with many pipes not more often than so much for each, ns.
const EVERY_NS: u64 = 200_000;
const EVERY_PIPE_NS: u64 = 500;
/// What of a run is traced before and after a moment that is to be explained, at least, ns.
const BEFORE_NS: u64 = 20_000_000;
const AFTER_NS: u64 = 100_000;

impl Stage {
    /// Read and compile everything.
    ///
    /// # Errors
    /// The user's: something is missing, unknown or wrong.
    pub fn new(options: StageOptions) -> Result<Self> {
        let session = Session::open(&options.setting, options.seed)?;
        let candidate = session.candidate_of(options.source)?;
        let scene = scene(&candidate.graph, true);
        Ok(Self { session, candidate, scene, seed: options.seed })
    }

    /// The graph that frames are about.
    pub fn picture(&self) -> Picture {
        picture(&self.candidate.graph, &self.scene, None)
    }

    pub fn topology(&self) -> &str {
        &self.candidate.plan.name
    }

    pub fn machine(&self) -> &str {
        &self.session.machine.shape.name
    }

    pub fn workload(&self) -> &str {
        &self.session.workload.name
    }

    pub fn nr_cpus(&self) -> u32 {
        self.session.machine.nr_cpus()
    }

    /// When the run ends at the latest, ns.
    pub fn duration_ns(&self) -> Option<u64> {
        self.session.duration_ns()
    }

    /// Remarks for the user about machine, workload and topology.
    pub fn warnings(&self) -> Vec<Diag> {
        let of_inputs = self.session.warnings.iter().map(Diag::warning);
        let of_topology = self.candidate.warnings.iter().cloned();
        of_inputs.chain(of_topology).chain(ignored::warnings(&self.candidate.ignored)).collect()
    }

    /// Why a task, a name or `#` and a number, waited for `ns` until `at_ns`: the run is made again up to then and traced, and
    /// explained as [`Explainer::until`] does.
    ///
    /// # Errors
    /// The user's: there is no such task, or it was not there at that time.
    pub fn explain(&self, task: &str, at_ns: u64, ns: u64, watch: &dyn Watch) -> Result<Explanation> {
        // What was in its way may have begun long before.
        let before = ns.saturating_mul(4).max(BEFORE_NS);
        let part = (at_ns.saturating_sub(before), at_ns.saturating_add(AFTER_NS));
        let trace = self.session.traced(&self.candidate, self.seed, part, watch)?;
        Explainer::of(&trace, "the run")?.until(task, at_ns, ns)
    }

    /// Play until the controls are closed; frames go to `show`, each finished run to `done`.
    ///
    /// # Errors
    /// The policy did something that no scheduler may.
    pub fn play(&self, controls: &Controls, show: &dyn Fn(Frame), done: &dyn Fn(Watched)) -> Result<()> {
        let every = EVERY_NS.max(self.candidate.plan.pipes.len() as u64 * EVERY_PIPE_NS);
        for take in 0.. {
            if !controls.begin() {
                break;
            }
            let mut actor = Actor::new(&self.candidate, &self.scene, self.nr_cpus(), take, controls, show);
            let ends = Ends(controls);
            let watched = self.session.watched(&self.candidate, self.seed, &mut actor, every, &ends)?;
            if controls.again() {
                continue;
            }
            actor.last(watched.summary.duration_ns);
            controls.over();
            done(watched);
            if !controls.wait_for_more() {
                break;
            }
        }
        Ok(())
    }
}

/// The run ends where the controls say so.
struct Ends<'a>(&'a Controls);

impl Watch for Ends<'_> {
    fn stop(&self) -> &AtomicBool {
        self.0.ended()
    }
}

#[cfg(test)]
mod tests;
