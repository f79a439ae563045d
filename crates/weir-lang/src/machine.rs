// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Which CPUs a phrase such as `each llc in node 0` denotes on a machine.

use std::collections::BTreeMap;

use weir_core::{CpuSet, MachineShape};

use crate::ast::{CpuSel, Level, Num, Where, Which, Word};
use crate::diag::{Sink, suggest};

/// Index of what `cpu` shares at `level`.
pub(crate) fn group_of(shape: &MachineShape, cpu: u32, level: Level) -> u32 {
    let c = &shape.cpus[cpu as usize];
    match level {
        Level::Cpu => cpu,
        Level::Core => c.core,
        Level::Cluster => c.cluster,
        Level::Llc => c.llc,
        Level::Node => c.node,
        Level::Package => c.package,
    }
}

/// The members of `cpus` by group, groups in ascending order.
pub(crate) fn split(shape: &MachineShape, cpus: &CpuSet, level: Level) -> Vec<(u32, CpuSet)> {
    let mut groups: BTreeMap<u32, CpuSet> = BTreeMap::new();
    for cpu in cpus.iter() {
        groups.entry(group_of(shape, cpu, level)).or_default().insert(cpu);
    }
    groups.into_iter().collect()
}

/// `cpus` in `parts` runs of neighbours whose sizes differ by one at most.
pub(crate) fn parts(cpus: &CpuSet, parts: usize) -> Vec<(u32, CpuSet)> {
    let all: Vec<u32> = cpus.iter().collect();
    (0..parts)
        .map(|i| {
            (i as u32, all[i * all.len() / parts..(i + 1) * all.len() / parts].iter().copied().collect())
        })
        .collect()
}

/// `cpus` in runs of `size` neighbours; the last may be shorter.
pub(crate) fn chunks(cpus: &CpuSet, size: usize) -> Vec<(u32, CpuSet)> {
    let all: Vec<u32> = cpus.iter().collect();
    all.chunks(size).enumerate().map(|(i, c)| (i as u32, c.iter().copied().collect())).collect()
}

/// Index of an instruction set by name; `native` is the first. Unknown names are reported.
pub(crate) fn isa(shape: &MachineShape, word: &Word, sink: &mut Sink) -> Option<u16> {
    let found = shape.isas.iter().position(|i| *i == word.text);
    let found = found.or((word.text == "native" && !shape.isas.is_empty()).then_some(0));
    if found.is_none() {
        let mut names: Vec<&str> = shape.isas.iter().map(String::as_str).collect();
        names.push("native");
        let machine = &shape.name;
        sink.error(
            "unknown-isa",
            word.span,
            format!("machine `{machine}` has no instruction set `{}`", word.text),
        )
        .help(suggest(&word.text, &names, "instruction sets of this machine"));
    }
    found.map(|i| i as u16)
}

/// Is `number` a CPU of the machine? Others are reported.
pub(crate) fn known_cpu(shape: &MachineShape, number: Num, sink: &mut Sink) -> bool {
    let n = shape.nr_cpus();
    if number.value < n {
        return true;
    }
    let message = format!("machine `{}` has no CPU {}", shape.name, number.value);
    sink.error("unknown-cpu", number.span, message).help(match n {
        0 => "the machine has no CPUs at all".to_string(),
        1 => "its only CPU is 0".to_string(),
        _ => format!("its CPUs are 0 to {}", n - 1),
    });
    false
}

/// CPUs of inclusive ranges; `None` after a report.
pub(crate) fn list(shape: &MachineShape, list: &[(Num, Num)], sink: &mut Sink) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    for (low, high) in list {
        if !known_cpu(shape, *high, sink) {
            return None;
        }
        (low.value..=high.value).for_each(|c| set.insert(c));
    }
    Some(set)
}

/// Members of `from` that pass all `filters`; `None` after a report.
pub(crate) fn filter(
    shape: &MachineShape,
    from: &CpuSet,
    filters: &[Where],
    sink: &mut Sink,
) -> Option<CpuSet> {
    let mut set = from.clone();
    for f in filters {
        let all = CpuSet::first(shape.nr_cpus());
        let named: CpuSet = match &f.which {
            Which::Isa(word) => {
                let isa = isa(shape, word, sink)?;
                all.iter().filter(|&c| shape.cpus[c as usize].isa == isa).collect()
            }
            Which::Level(Level::Cpu, number) => {
                if !known_cpu(shape, *number, sink) {
                    return None;
                }
                [number.value].into_iter().collect()
            }
            Which::Level(level, number) => {
                let named: CpuSet =
                    all.iter().filter(|&c| group_of(shape, c, *level) == number.value).collect();
                if named.is_empty() {
                    let (machine, word) = (&shape.name, level.word());
                    let last = all.iter().map(|c| group_of(shape, c, *level)).max().unwrap_or(0);
                    let message = format!("machine `{machine}` has no {word} {}", number.value);
                    let help = match last {
                        0 => format!("its only {word} is 0"),
                        _ => format!("they are numbered 0 to {last}"),
                    };
                    sink.error("unknown-cpu", number.span, message).help(help);
                    return None;
                }
                named
            }
            Which::List(l) => list(shape, l, sink)?,
        };
        set = set.iter().filter(|&c| named.contains(c) != f.except).collect();
    }
    Some(set)
}

/// CPUs that `cpus ...` stands for within `scope`. CPUs that are named one by one must be in the
/// scope; `None` after a report.
pub(crate) fn select(shape: &MachineShape, scope: &CpuSet, sel: &CpuSel, sink: &mut Sink) -> Option<CpuSet> {
    let base = if sel.list.is_empty() {
        scope.clone()
    } else {
        let named = list(shape, &sel.list, sink)?;
        if let Some(out) = named.iter().find(|&c| !scope.contains(c)) {
            sink.error("cpu-out-of-scope", sel.span, format!("CPU {out} does not belong here"))
                .help(format!("here are CPUs {scope}; the others belong to another block or were left out"));
            return None;
        }
        named
    };
    let set = filter(shape, &base, &sel.filters, sink)?;
    if set.is_empty() {
        sink.error("empty-each", sel.span, "no CPU of the machine fits this selection")
            .help(format!("the CPUs to choose from here are {}", list_or_none(&base)));
        return None;
    }
    Some(set)
}

/// `0-3`, or `none`.
pub(crate) fn list_or_none(set: &CpuSet) -> String {
    if set.is_empty() { "none".into() } else { set.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_cpus_evenly() {
        for n in 1..40u32 {
            for k in 1..=n as usize {
                let got = parts(&CpuSet::first(n), k);
                assert_eq!(got.len(), k);
                let sizes: Vec<u32> = got.iter().map(|(_, s)| s.len()).collect();
                assert_eq!(sizes.iter().sum::<u32>(), n);
                assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            }
        }
    }

    #[test]
    fn chunks_keep_their_size() {
        let got = chunks(&CpuSet::first(10), 4);
        assert_eq!(got.iter().map(|(_, s)| s.to_string()).collect::<Vec<_>>(), ["0-3", "4-7", "8-9"]);
    }
}
