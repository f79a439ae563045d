// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the program may touch from now on: Landlock, for this process and the threads that it starts.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
};

/// What descriptions of this machine are read from.
const MACHINE: [&str; 2] = ["/sys/devices/system", "/proc/cpuinfo"];

/// From now on: everything in `scratch`, reading below `allowed`, nothing else. Says why where it cannot be.
pub fn enter(scratch: &Path, allowed: &[PathBuf]) -> Result<(), String> {
    let abi = ABI::V3;
    let words = |e: &dyn std::fmt::Display| e.to_string();
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(abi))
        .and_then(Ruleset::create)
        .map_err(|e| words(&e))?;
    let mut add = |path: &Path, access| -> Result<(), String> {
        let Ok(fd) = PathFd::new(path) else { return Ok(()) };
        (&mut rules).add_rule(PathBeneath::new(fd, access)).map(drop).map_err(|e| words(&e))
    };
    add(scratch, AccessFs::from_all(abi) & !AccessFs::Execute)?;
    for path in allowed.iter().map(PathBuf::as_path).chain(MACHINE.map(Path::new)) {
        let access =
            if path.is_dir() { AccessFs::ReadFile | AccessFs::ReadDir } else { AccessFs::ReadFile.into() };
        add(path, access)?;
    }
    let status = rules.restrict_self().map_err(|e| words(&e))?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err("this kernel has no Landlock".into()),
        _ => Ok(()),
    }
}
