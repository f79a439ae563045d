// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Settings of the kernel that a topology does not honour: nice values and affinities; for control groups, see
//! [`crate::groups`]. The user is warned before relying on them.

use std::fs;
use std::path::Path;

use weir_core::{Heed, Plan, Setting};

use crate::control::binds;
use crate::groups;
use crate::protocol::Finding;

/// Linux's number of SCHED_BATCH and SCHED_IDLE.
const POLICIES: [(Setting, u32); 2] = [(Setting::Batch, 3), (Setting::Idle, 5)];

/// Warnings of what `plan` does not keep, on this machine. (The kernel keeps FIFO, round robin and SCHED_DEADLINE itself.)
pub fn ignored(plan: &Plan) -> Vec<Finding> {
    ignored_below(plan, Path::new("/proc"), Path::new(groups::MOUNTED))
}

/// The same, with processes and control groups below these folders.
pub fn ignored_below(plan: &Plan, proc: &Path, groups: &Path) -> Vec<Finding> {
    let mut found: Vec<Finding> = nice(plan).into_iter().chain(affinity(plan)).collect();
    found.extend(policies(plan, proc));
    found.extend(groups::unkept(plan, groups));
    found
}

fn warning(code: &str, setting: Setting, message: String) -> Finding {
    Finding { code: code.into(), message, setting: Some(setting.name().into()), ..Finding::default() }
}

/// No component goes by nice values: they say something to annotators alone, or to none.
fn nice(plan: &Plan) -> Option<Finding> {
    (plan.heed(Setting::Nice) != Heed::Obeyed).then(|| {
        let text =
            format!("`{}` does not go by nice values: tasks of all of them are treated alike", plan.name);
        warning("nice-ignored", Setting::Nice, text)
    })
}

/// Threads with a policy that is the topology's to keep, and is not kept. O(threads) files are read, none if the plan keeps all.
fn policies(plan: &Plan, proc: &Path) -> Vec<Finding> {
    let missed: Vec<_> = POLICIES.into_iter().filter(|(s, _)| plan.heed(*s) != Heed::Obeyed).collect();
    let threads = if missed.is_empty() { Vec::new() } else { threads(proc) };
    let warning_of = |(setting, number): &(Setting, u32)| {
        let mut asking = threads.iter().filter(|(_, policy)| policy == number);
        let (first, _) = asking.next()?;
        let others = match asking.count() {
            0 => String::new(),
            n => format!(" and {}", weir_text::plural(n, "other thread")),
        };
        let name = setting.value().unwrap_or_default();
        let text = format!("`{}` does not keep {name} of `{first}`{others}: {}", plan.name, setting.lack());
        Some(warning("policy-ignored", *setting, text))
    };
    missed.iter().filter_map(warning_of).collect()
}

/// Name and policy of each thread of the machine.
fn threads(proc: &Path) -> Vec<(String, u32)> {
    let folders =
        |at: &Path| fs::read_dir(at).into_iter().flatten().flatten().map(|e| e.path()).collect::<Vec<_>>();
    let is_number =
        |p: &Path| p.file_name().is_some_and(|n| n.as_encoded_bytes().iter().all(u8::is_ascii_digit));
    let tasks = folders(proc).into_iter().filter(|p| is_number(p)).flat_map(|p| folders(&p.join("task")));
    tasks.filter_map(|task| policy_of(&String::from_utf8_lossy(&fs::read(task.join("stat")).ok()?))).collect()
}

/// Name and policy in a line of `/proc/PID/task/TID/stat`; the name may contain anything.
fn policy_of(stat: &str) -> Option<(String, u32)> {
    let (head, tail) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1;
    // The state, the third field, comes first; the policy is the 41st.
    Some((name.to_string(), tail.split_whitespace().nth(38)?.parse().ok()?))
}

/// No component knows where tasks may run.
fn affinity(plan: &Plan) -> Option<Finding> {
    binds(plan).then(|| {
        let text = format!(
            "`{}` does not know affinities: tasks that are bound to some CPUs run outside the graph, alternating with it",
            plan.name
        );
        warning("affinity-ignored", Setting::Affinity, text)
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
    fn policies_are_read_behind_any_name() {
        let rest = (4..=40).map(|i| i.to_string()).collect::<Vec<_>>().join(" ");
        let line = format!("7 (a) S (b) R {rest} 5 42 43");
        assert_eq!(policy_of(&line), Some(("a) S (b".to_string(), 5)));
        let root = tempfile::tempdir().expect("a folder");
        let task = root.path().join("7/task/7");
        std::fs::create_dir_all(&task).expect("a folder");
        std::fs::write(task.join("stat"), line).expect("written");
        let source = Source { name: "t.weir".into(), text: "entry -> fifo -> cpus;".into() };
        let done = weir_lang::compile(&source, &NoIncludes, catalog(), &MachineShape::flat(2), &[]);
        let found = policies(&done.expect("a topology").plan, root.path());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.contains("SCHED_IDLE of `a) S (b`"), "{found:?}");
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
