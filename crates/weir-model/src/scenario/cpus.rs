// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Which CPUs are online after a scenario's verbs, and whether they suffice.

use weir_core::Topic;

use super::{Publication, Verb};

/// The CPUs that are online after `verbs`, where those of `online` are before them. `serves`: which CPUs could run the
/// scheduler.
///
/// # Errors
/// A sentence: a CPU is unknown, or none would be left that runs the scheduler.
pub fn cpus_after(
    verbs: &[Verb],
    online: &[bool],
    serves: impl Fn(usize) -> bool,
) -> Result<Vec<bool>, String> {
    let mut after = online.to_vec();
    for verb in verbs {
        if let Verb::Cpu { cpu, online: wanted } = verb {
            known_cpu(*cpu, online.len())?;
            after[*cpu as usize] = *wanted;
        }
    }
    match (0..after.len()).any(|c| after[c] && serves(c)) {
        true => Ok(after),
        false => Err("no CPU that can run the scheduler would be left".into()),
    }
}

/// `cpu` is one of `nr`.
///
/// # Errors
/// A sentence: it is not.
pub fn known_cpu(cpu: u32, nr: usize) -> Result<(), String> {
    match (cpu as usize) < nr {
        true => Ok(()),
        false => Err(format!("there is no CPU {cpu}; the machine has {nr}")),
    }
}

/// A message of ISA names one of the `nr` instruction sets of the machine.
///
/// # Errors
/// A sentence: it does not.
pub fn known_isa(message: &Publication, nr: usize) -> Result<(), String> {
    let isa = message.value.unwrap_or(0);
    match message.topic != Topic::Isa || isa < nr as u64 {
        true => Ok(()),
        false => Err(format!("there is no instruction set {isa}; the machine has {nr}, counted from 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(verbs: &[&str]) -> Result<Vec<bool>, String> {
        let verbs: Vec<Verb> = verbs.iter().map(|v| Verb::parse(v).expect("sound")).collect();
        // CPU 2 runs no scheduler, and CPU 1 is not there yet.
        cpus_after(&verbs, &[true, false, true], |c| c != 2)
    }

    #[test]
    fn cpus_come_and_go() {
        assert_eq!(after(&[]), Ok(vec![true, false, true]));
        assert_eq!(after(&["cpu 1 online", "undo", "cpu 0 offline"]), Ok(vec![false, true, true]));
        assert_eq!(
            after(&["cpu 0 offline", "cpu 0 online"]),
            Ok(vec![true, false, true]),
            "the last word counts"
        );
    }

    #[test]
    fn one_of_them_runs_the_scheduler() {
        let why = after(&["cpu 0 offline"]).expect_err("only CPU 2 is left");
        assert_eq!(why, "no CPU that can run the scheduler would be left");
        assert_eq!(after(&["cpu 3 offline"]).expect_err("0 to 2"), "there is no CPU 3; the machine has 3");
    }
}
