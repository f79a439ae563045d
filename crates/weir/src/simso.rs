// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The scheduler that a SimSo file requests, as a topology of the catalogue.

use weir_model::workload::SimsoExtras;

use crate::catalogue::{self, TOPOLOGIES};
use crate::fault::{Fault, Result};

/// SimSo's class, without its module, and our topology.
const CLASSES: &[(&str, &str)] = &[
    ("EDF", "edf"),
    ("EDF2", "edf"),
    ("EDF_mono", "edf"),
    ("RM", "rm"),
    ("RM_mono", "rm"),
    ("FP", "fp"),
    ("EDF_US", "edf-us"),
    ("EDZL", "edzl"),
    ("LLF", "llf"),
    ("MLLF", "mllf"),
    ("EPDF", "epdf"),
    ("PD2", "pd2"),
    ("ER_PD2", "er-pd2"),
    ("LLREF", "llref"),
    ("LLREF2", "llref"),
    ("LRE_TL", "lre-tl"),
    ("DP_WRAP", "dp-wrap"),
    ("RUN", "run"),
    ("U_EDF", "u-edf"),
    ("P_EDF", "p-edf"),
    ("P_EDF2", "p-edf"),
    ("P_RM", "p-rm"),
    ("SCHED_DEADLINE", "sched-deadline"),
];

/// SimSo's other schedulers, and what is nearest to each here.
const OTHERS: &[(&str, &str)] = &[
    ("BF", "--topology pd2 or dp-wrap, which are optimal as it is, with other quanta"),
    ("EKG", "--topology dp-wrap, which is optimal, but does not bind most tasks to a CPU"),
    ("EDHS", "--topology p-edf, which splits no task"),
    ("EDCL", "--topology edzl, which also raises a task that would be late"),
    ("G_FL", "--topology edf, with other priority points"),
    ("G_FL_ZL", "--topology edzl, with other priority points"),
    ("LB_P_EDF", "--topology p-edf --set partition.fit=2, which fills the emptiest CPU first"),
    ("P_EDF_WF", "--topology p-edf --set partition.fit=2, which fills the emptiest CPU first"),
    ("Fixed_PEDF", "--topology p-edf with `cpus` for each task in a TOML workload"),
    ("Static_EDF", "--topology edf, which leaves the clock alone"),
    ("CC_EDF", "--topology edf, which leaves the clock alone, or paced, which sets it by load"),
    ("LSTR", "--topology llf, which decides more often"),
    ("NVNLF", "--topology llref, whose plane it refines"),
    ("PriD", "--topology edf-us, which also separates heavy tasks"),
    ("WC_RUN", "--topology run, which leaves CPUs idle where the reduction says so"),
    ("WC_U_EDF", "--topology u-edf, which leaves CPUs idle where its plan says so"),
];

/// The topology for the scheduler of a SimSo file, if the user names none.
pub fn topology(extras: Option<&SimsoExtras>) -> Result<&'static str> {
    let Some(extras) = extras else {
        return Err(Fault::user(
            "no topology is named, and the workload does not say which scheduler it wants",
            "add --topology, for example --topology edf; `runweir topologies` lists them",
        ));
    };
    let Some(class) = &extras.scheduler else {
        return Err(Fault::user(
            "no topology is named, and the SimSo file has no `<sched class=\"…\">`",
            "add --topology, for example --topology edf; `runweir topologies` lists them",
        ));
    };
    if class.ends_with(".py") {
        return Err(Fault::user(
            format!(
                "the file's scheduler `{}` is Python code, which only SimSo can run",
                class.escape_debug()
            ),
            "name a topology instead, for example --topology edf, or write one (docs/tutorial.md)",
        ));
    }
    let name = class.rsplit('.').next().unwrap_or(class);
    let found = CLASSES.iter().find(|c| c.0 == name).map(|c| c.1);
    match found.filter(|t| catalogue::find(TOPOLOGIES, t).is_some()) {
        Some(topology) => Ok(topology),
        None => {
            let near = OTHERS.iter().find(|o| o.0 == name).map(|o| format!("nearest is {}", o.1));
            Err(Fault::user(
                format!("the file's scheduler `{}` has no counterpart in the catalogue", class.escape_debug()),
                near.unwrap_or_else(|| {
                    "name the topology to use instead, for example --topology edf; `runweir topologies` lists them".into()
                }),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(class: &str) -> Result<&'static str> {
        topology(Some(&SimsoExtras { scheduler: Some(class.into()), ..SimsoExtras::default() }))
    }

    #[test]
    fn classes_have_counterparts_or_a_clear_word() {
        assert_eq!(of("simso.schedulers.EDF").expect("known"), "edf");
        assert_eq!(of("simso.schedulers.RM_mono").expect("known"), "rm");
        for (class, word) in [("simso.schedulers.EKG", "EKG"), ("./mine.py", "Python code")] {
            let fault = of(class).expect_err("no counterpart");
            assert!(fault.diags[0].to_string().contains(word), "{fault:?}");
        }
        assert!(topology(None).is_err() && topology(Some(&SimsoExtras::default())).is_err());
    }
}
