// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Settings of control groups that a topology does not honour: the user is warned before relying on them.

use std::fs;
use std::path::{Path, PathBuf};

use weir_core::{Heed, Plan, Setting};

use crate::protocol::Finding;

/// Where Linux has its control groups (version 2).
pub const MOUNTED: &str = "/sys/fs/cgroup";

/// Maximum number of groups examined; the kernel side's limit is the same.
const MOST: usize = 65_536;

/// A file of each group, the value that asks for nothing, the setting and what is said of it.
struct Wish {
    setting: Setting,
    file: &'static str,
    nothing: &'static str,
    what: &'static str,
}

const WISHES: [Wish; 2] = [
    Wish { setting: Setting::GroupLimit, file: "cpu.max", nothing: "max", what: "limits" },
    Wish { setting: Setting::GroupWeight, file: "cpu.weight", nothing: "100", what: "weights" },
];

/// Warnings of limits and weights of the control groups below `mounted` that `plan` does not keep. O(number of groups) files are
/// read, none if the plan keeps all.
pub fn unkept(plan: &Plan, mounted: &Path) -> Vec<Finding> {
    let missed: Vec<&Wish> = WISHES.iter().filter(|w| plan.heed(w.setting) != Heed::Obeyed).collect();
    let groups = if missed.is_empty() { Vec::new() } else { below(mounted) };
    let warning = |wish: &&Wish| {
        let asking: Vec<&PathBuf> = groups.iter().filter(|g| asks(g, wish)).collect();
        let first = asking.first()?.strip_prefix(mounted).ok()?;
        let others = match asking.len() - 1 {
            0 => String::new(),
            n => format!(" and {}", weir_text::plural(n, "other")),
        };
        Some(Finding {
            code: "group-ignored".into(),
            message: format!(
                "`{}` does not keep the {} of control groups: {} of `/{}`{others}",
                plan.name,
                wish.what,
                wish.file,
                first.display()
            ),
            setting: Some(wish.setting.name().into()),
            ..Finding::default()
        })
    };
    missed.iter().filter_map(warning).collect()
}

/// The group's file is there and asks for something.
fn asks(group: &Path, wish: &Wish) -> bool {
    let text = fs::read_to_string(group.join(wish.file));
    text.is_ok_and(|t| t.split_whitespace().next().is_some_and(|word| word != wish.nothing))
}

/// All groups below this one, parents before their children, in the order of their names.
fn below(mounted: &Path) -> Vec<PathBuf> {
    let mut found = vec![mounted.to_owned()];
    let mut next = 0;
    while next < found.len() && found.len() < MOST {
        let mut inside: Vec<PathBuf> = fs::read_dir(&found[next])
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok().filter(|e| e.file_type().is_ok_and(|t| t.is_dir())))
            .map(|entry| entry.path())
            .collect();
        inside.sort();
        found.append(&mut inside);
        next += 1;
    }
    // The root has no such files.
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use weir_core::{MachineShape, catalog};
    use weir_lang::{NoIncludes, Source};

    use super::*;

    fn plan(text: &str) -> Plan {
        let source = Source { name: "t.weir".into(), text: text.into() };
        let done = weir_lang::compile(&source, &NoIncludes, catalog(), &MachineShape::flat(1), &[]);
        done.expect("a topology").plan
    }

    fn group(root: &Path, name: &str, max: &str, weight: &str) {
        let folder = root.join(name);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("cpu.max"), format!("{max} 100000\n")).expect("written");
        fs::write(folder.join("cpu.weight"), format!("{weight}\n")).expect("written");
    }

    #[test]
    fn what_is_not_kept_is_reported_with_its_group() {
        let root = tempfile::tempdir().expect("a folder");
        let plain = plan("entry -> round_robin -> cpus;");
        group(root.path(), "plain", "max", "100");
        assert_eq!(unkept(&plain, root.path()), []);
        group(root.path(), "plain/inner", "50000", "100");
        group(root.path(), "other", "20000", "300");
        let said: Vec<String> = unkept(&plain, root.path()).into_iter().map(|f| f.message).collect();
        assert_eq!(
            said,
            [
                "`t` does not keep the limits of control groups: cpu.max of `/other` and 1 other",
                "`t` does not keep the weights of control groups: cpu.weight of `/other`",
            ]
        );
        let limits = plan("annotate bandwidth; entry -> throttle -> round_robin -> cpus;");
        assert!(unkept(&limits, root.path()).iter().all(|f| f.message.contains("weights")));
        assert_eq!(unkept(&plain, Path::new("/no/such/folder")), []);
    }
}
