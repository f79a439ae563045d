// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Everything that reshapes a run, in one value that a run can borrow.

use weir_model::Scenario;
use weir_sim::Control;

use super::Workshop;

/// The steps and rules of a run, if it has any, and the maker of the topologies that they ask for.
pub struct Reshaping {
    scenario: Option<Scenario>,
    workshop: Workshop,
}

impl Reshaping {
    pub fn new(scenario: Option<Scenario>, workshop: Workshop) -> Self {
        Self { scenario, workshop }
    }

    pub fn control(&self) -> Option<Control<'_>> {
        self.scenario.as_ref().map(|scenario| Control { scenario, composer: &self.workshop })
    }
}
