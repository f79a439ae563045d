// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Machines for tests, written in a few words: `smp-8 llc=2 node=4 accel=6-7 offline=3`.

use weir_core::{CpuSet, MachineShape};

/// `smp-N` and then any of: `core=`, `cluster=`, `llc=`, `node=`, `domain=` CPUs that share one; `capacity=CPUS:VALUE`;
/// `offline=CPUS`; and `NAME=CPUS` for a further instruction set. Words are separated by space.
pub fn parse(text: &str) -> Result<MachineShape, String> {
    let mut words = text.split_whitespace();
    let first = words.next().ok_or("a machine begins with smp-N")?;
    let n: u32 = first
        .strip_prefix("smp-")
        .and_then(|n| n.parse().ok())
        .filter(|n| (1..=4096).contains(n))
        .ok_or_else(|| format!("`{first}`: a machine begins with smp-1 to smp-4096"))?;
    let mut shape = MachineShape::flat(n);
    for word in words {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is not key=value"))?;
        let number = || {
            value.parse::<u32>().ok().filter(|v| *v > 0).ok_or_else(|| format!("`{word}`: a number above 0"))
        };
        let group = |per: u32, set: &mut dyn FnMut(usize, u32)| (0..n).for_each(|c| set(c as usize, c / per));
        match key {
            "core" => group(number()?, &mut |c, g| shape.cpus[c].core = g),
            "cluster" => group(number()?, &mut |c, g| shape.cpus[c].cluster = g),
            "llc" => group(number()?, &mut |c, g| shape.cpus[c].llc = g),
            "node" => group(number()?, &mut |c, g| {
                shape.cpus[c].node = g;
                shape.cpus[c].package = g;
            }),
            "domain" => group(number()?, &mut |c, g| shape.cpus[c].coherence = g),
            "capacity" => {
                let (cpus, cap) =
                    value.split_once(':').ok_or_else(|| format!("`{word}`: capacity=CPUS:VALUE"))?;
                let cap = cap.parse().map_err(|_| format!("`{word}`: a capacity is a number"))?;
                cpus_of(cpus, n)?.iter().for_each(|c| shape.cpus[c as usize].capacity = cap);
            }
            "offline" => cpus_of(value, n)?.iter().for_each(|c| shape.cpus[c as usize].online = false),
            isa => {
                let index = shape.isas.len() as u16;
                shape.isas.push(isa.into());
                cpus_of(value, n)?.iter().for_each(|c| shape.cpus[c as usize].isa = index);
            }
        }
    }
    shape.name = text.split_whitespace().collect::<Vec<_>>().join("_");
    Ok(shape)
}

/// `0,2-3`, below `n`.
pub fn cpus_of(text: &str, n: u32) -> Result<CpuSet, String> {
    let mut set = CpuSet::new();
    for part in text.split(',') {
        let (a, b) = part.split_once('-').unwrap_or((part, part));
        let (Ok(a), Ok(b)) = (a.parse::<u32>(), b.parse::<u32>()) else {
            return Err(format!("`{part}` is not a CPU or a range of CPUs"));
        };
        if a > b || b >= n {
            return Err(format!("`{part}` is not a range below {n}"));
        }
        (a..=b).for_each(|c| set.insert(c));
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_a_shape() {
        let m = parse("smp-8 llc=2 node=4 accel=6-7 capacity=4-5:512 offline=3").expect("a machine");
        assert_eq!(m.isas, ["native", "accel"]);
        assert_eq!((m.cpus[5].llc, m.cpus[5].node, m.cpus[5].capacity, m.cpus[7].isa), (2, 1, 512, 1));
        assert!(!m.cpus[3].online && m.cpus[2].online);
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in ["", "smp-0", "smp-2 llc", "smp-2 llc=x", "smp-2 offline=2", "smp-2 accel=1-0"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
