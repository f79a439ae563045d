// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Scenarios by name: finding them, making the topologies that they request, trying them without a run.

mod adaptive;
mod dry;
mod needs;
mod reshaping;
mod workshop;

use weir_model::scenario::File;
use weir_model::{Reconfiguration, Scenario};
use weir_report::ReconfigurationSummary;

pub use adaptive::adaptive;
pub use dry::{Tried, components, plans, refused, show, try_all};
pub use needs::bring;
pub use reshaping::Reshaping;
pub use workshop::{Workshop, package};

use crate::catalogue::{self, SCENARIOS, unknown};
use crate::fault::Result;
use crate::{input, machine};

/// A scenario with the folder that its paths are relative to.
#[derive(Debug, Default)]
pub struct Found {
    pub file: File,
    /// Ends with a slash, or is empty.
    pub folder: String,
}

impl Found {
    /// A path of the file, as seen from the current folder; names of the catalogue stay.
    pub fn beside(&self, name: &str) -> String {
        let relative = input::is_path(name) && !name.starts_with('/') && !name.contains(':');
        if relative { format!("{}{name}", self.folder) } else { name.to_string() }
    }
}

/// The scenario that the user names: a file or a catalogue name.
pub fn find(name: &str) -> Result<Found> {
    if let Some(entry) = catalogue::find(SCENARIOS, name) {
        let file = weir_model::scenario::parse(entry.name, entry.file, entry.text).map_err(machine::fault)?;
        return Ok(Found { file, folder: String::new() });
    }
    if !input::is_path(name) {
        let names: Vec<&str> = SCENARIOS.iter().map(|e| e.name).collect();
        return Err(unknown("scenario", "scenarios", name, &names));
    }
    let text = input::read_text(name)?;
    let stem = std::path::Path::new(name).file_stem().and_then(|s| s.to_str()).unwrap_or(name);
    let folder = name.rfind('/').map_or("", |i| &name[..=i]).to_string();
    Ok(Found { file: weir_model::scenario::parse(stem, name, &text).map_err(machine::fault)?, folder })
}

/// Steps of a scenario file and of a workload together, the latter's first where times are equal.
pub fn join(workload: Option<&Scenario>, file: Option<&Scenario>) -> Option<Scenario> {
    let (first, second) = match (workload, file) {
        (None, None) => return None,
        (Some(one), None) | (None, Some(one)) => return Some(one.clone()),
        (Some(a), Some(b)) => (a, b),
    };
    let mut both = second.clone();
    both.steps = first.steps.iter().chain(&second.steps).cloned().collect();
    both.steps.sort_by_key(|s| s.at_ns);
    both.rules = first.rules.iter().chain(&second.rules).cloned().collect();
    both.sample_ns = first.sample_ns.min(second.sample_ns);
    Some(both)
}

/// As the summary has it.
pub fn summary(r: &Reconfiguration) -> ReconfigurationSummary {
    ReconfigurationSummary {
        at_ns: r.at_ns,
        cause: r.cause.clone(),
        verbs: r.verbs.clone(),
        done: r.refused.is_none(),
        why: r.refused.clone().unwrap_or_default(),
        from: r.from.clone(),
        to: r.to.clone(),
        kind: r.kind.into(),
        pause_ns: r.pause_ns,
        running: r.running,
        drained: r.drained,
        represented: r.represented,
        instances_built: r.built,
        instances_kept: r.kept,
        diff: r.diff.lines().map(str::to_string).collect(),
    }
}
