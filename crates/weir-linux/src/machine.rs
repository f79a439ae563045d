// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The shape of the present machine: CPU numbers are the kernel's, including offline CPUs.

use weir_core::{CpuShape, MachineShape};

use crate::error::{Error, ErrorKind, Result};

/// CPUs that the kernel may have (`/sys/devices/system/cpu/possible`).
pub fn possible_cpus() -> Result<u32> {
    let n = libbpf_rs::num_possible_cpus().map_err(|e| {
        Error::new(
            ErrorKind::Io,
            format!("cannot find out how many CPUs this machine may have: {e}"),
            "is /sys mounted? mount -t sysfs sys /sys",
        )
    })?;
    let max = weir_core::MAX_CPUS;
    u32::try_from(n).ok().filter(|n| (1..=max).contains(n)).ok_or_else(|| {
        Error::new(
            ErrorKind::Input,
            format!("this machine may have {n} CPUs, more than {max}"),
            "limit them when the kernel starts: nr_cpus=4096",
        )
    })
}

/// `host` knows the CPUs that are online. In the result, CPU number `n` is the kernel's CPU `n`,
/// and those that may come are there, too.
pub fn host_shape(host: &MachineShape, possible: u32) -> MachineShape {
    let away = |n: u32, i: u32| CpuShape {
        os_index: n,
        core: host.cpus.iter().map(|c| c.core + 1).max().unwrap_or(0) + i,
        cluster: host.cpus.iter().map(|c| c.cluster + 1).max().unwrap_or(0) + i,
        llc: host.cpus.first().map_or(0, |c| c.llc),
        node: host.cpus.first().map_or(0, |c| c.node),
        package: host.cpus.first().map_or(0, |c| c.package),
        isa: 0,
        capacity: 1024,
        coherence: 0,
        host: None,
        online: false,
    };
    let mut missing = 0;
    let cpus = (0..possible)
        .map(|n| {
            host.cpus.iter().find(|c| c.os_index == n).cloned().unwrap_or_else(|| {
                missing += 1;
                away(n, missing - 1)
            })
        })
        .collect();
    MachineShape { name: host.name.clone(), cpus, isas: host.isas.clone() }
}

/// `wanted` in the place of the machine's own description: what its CPUs share and can, by their number.
pub fn stand_in(wanted: &MachineShape, own: &MachineShape) -> Result<MachineShape> {
    if wanted.nr_cpus() != own.nr_cpus() {
        return Err(Error::new(
            ErrorKind::Input,
            format!(
                "machine `{}` has {}, and this one may have {}",
                wanted.name,
                weir_text::plural(wanted.nr_cpus(), "CPU"),
                own.nr_cpus()
            ),
            "leave out --machine to use this machine as it is, or describe one with as many CPUs",
        ));
    }
    let mut shape = wanted.clone();
    for (i, (cpu, real)) in shape.cpus.iter_mut().zip(&own.cpus).enumerate() {
        cpu.os_index = i as u32;
        cpu.online = real.online;
        // All memory is common here, and every CPU runs its own scheduler code.
        cpu.host = None;
        cpu.coherence = 0;
    }
    Ok(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_kernels() {
        let mut host = MachineShape::flat(2);
        host.cpus[1].os_index = 3;
        let shape = host_shape(&host, 4);
        let os: Vec<u32> = shape.cpus.iter().map(|c| c.os_index).collect();
        let online: Vec<bool> = shape.cpus.iter().map(|c| c.online).collect();
        let cores: Vec<u32> = shape.cpus.iter().map(|c| c.core).collect();
        assert_eq!(os, [0, 1, 2, 3]);
        assert_eq!(online, [true, false, false, true]);
        assert_eq!(cores, [0, 2, 3, 1]);
    }

    #[test]
    fn another_description_must_have_as_many() {
        let own = host_shape(&MachineShape::flat(2), 4);
        let e = stand_in(&MachineShape::flat(8), &own).expect_err("too many");
        assert!(e.message.contains("has 8 CPUs, and this one may have 4"), "{e}");
        let mut two = MachineShape::flat(4);
        two.isas.push("accel".into());
        two.cpus[3].isa = 1;
        let shape = stand_in(&two, &own).expect("fits");
        assert_eq!(shape.cpus[3].isa, 1);
        assert!(shape.cpus[0].online && !shape.cpus[3].online);
    }
}
