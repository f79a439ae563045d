// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Cost tables of the second source's machines, by the machines' names: its measurements (Peter, 2012, 2.6 and chapter 4).
//! All other values are as in the default table.

use super::{ByDistance, Costs};

/// Machines that have a table.
pub const NAMES: &[&str] = &["intel-2x4", "amd-2x2", "amd-4x4", "amd-8x4", "scc-48"];

/// Fetching a line twice (the sender invalidates, the receiver fetches) is what a message takes; a lock is handed over with one fetch. A
/// context switch was measured on amd-4x4 alone, 4 us (E21); others have as many cycles.
fn table(lines: ByDistance, messages: ByDistance, sends: ByDistance, switch: u64) -> Costs {
    Costs {
        context_switch: switch,
        lock_handover: lines,
        message: messages,
        message_send: sends,
        ..Costs::default()
    }
}

/// The table of a machine; ns.
pub fn of(name: &str) -> Option<Costs> {
    let by = |sibling, l2, llc, node, remote| ByDistance { sibling, l2, llc, node, remote, domain: remote };
    Some(match name {
        // 2.66 GHz: L2 14 cycles, another L2 of the package 80, the other package 128. A stream by a shared cache: 84 cycles a message;
        // by memory: 265.
        "intel-2x4" => table(by(1, 5, 30, 30, 48), by(68, 68, 214, 214, 214), by(16, 16, 50, 50, 50), 3_760),
        // 2.8 GHz. Lines were not measured: half of a message. Streams: 292 cycles a message on a die, 313 a hop away.
        "amd-2x2" => table(by(1, 80, 80, 80, 95), by(161, 161, 161, 161, 190), by(52, 52, 52, 52, 56), 3_570),
        // 2.5 GHz: 75 cycles within a package, 160 between two. Streams: 280 cycles a message within a package, 284 between two.
        "amd-4x4" => table(by(1, 30, 30, 30, 64), by(179, 179, 179, 179, 220), by(56, 56, 56, 56, 57), 4_000),
        // 2.0 GHz: L3 75 cycles, another core's L2 130, one hop 190, two hops 260. Distance 20 is one hop. Streams:
        // 361 cycles a message within a package, 358 a hop away.
        "amd-8x4" => table(by(1, 37, 65, 65, 95), by(269, 269, 269, 269, 307), by(90, 90, 90, 90, 90), 5_000),
        // 533 MHz, no coherence: a message goes through memory and is notified by an interrupt. The source has no latencies; these are
        // some 1,500 cycles, and 60 a hop.
        "scc-48" => Costs {
            ipi_send: 400,
            ..table(
                by(100, 500, 500, 600, 700),
                by(2_500, 2_500, 2_800, 2_800, 3_200),
                by(900, 900, 900, 900, 900),
                18_700,
            )
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_machine_of_a_table_exists() {
        let none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
        for name in NAMES {
            let machine = crate::Machine::resolve(name, &none, &[]).expect("it is a preset");
            assert!(machine.shape.nr_cpus() >= 4 && of(name).is_some(), "{name}");
        }
        assert!(of("smp-4").is_none());
        let scc = crate::Machine::resolve("scc-48", &none, &[]).expect("it is a preset");
        assert_eq!((scc.shape.nr_cpus(), scc.shape.cpus[47].node), (48, 3));
    }
}
