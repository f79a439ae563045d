// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Devices and the CPUs that they are attached to: of this computer, as Linux has them in `/sys/class`, or of an hwloc file that
//! names them (`lstopo --of xml`, version 2 or 3).

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::params;
use weir_core::MAX_CPUS;
use weir_model::machine::{Bitmap, parse_list};

use super::Base;
use crate::fault::{Fault, Result};
use crate::input;

/// Classes of Linux whose devices somebody may want to be near to, and our word for them.
const CLASSES: [(&str, &str); 5] = [
    ("net", "network"),
    ("block", "storage"),
    ("infiniband", "network"),
    ("drm", "graphics"),
    ("accel", "accelerator"),
];

/// A device.
#[derive(Clone, Debug, PartialEq)]
struct Device {
    name: String,
    class: &'static str,
    /// Linux's numbers; none: it is nowhere in particular.
    cpus: Vec<u32>,
}

impl Base {
    /// The devices of the machine called `spec`: this computer's for `host`, those of an hwloc file. Other machines have none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn add_devices(&mut self, spec: &str) -> Result<()> {
        let found = match spec {
            "host" => of_linux(Path::new("/sys/class")),
            file if input::is_path(file) => {
                let text = input::read_text(file).map_err(|e| Fault::user(e.message, e.help))?;
                if text.trim_start().starts_with('<') { of_hwloc(&text) } else { Vec::new() }
            }
            _ => Vec::new(),
        };
        self.add(|t| {
            for d in &found {
                t.execute("INSERT OR IGNORE INTO device VALUES (?, ?, NULL)", params![d.name, d.class])?;
                for linux in &d.cpus {
                    t.execute(
                        "INSERT OR IGNORE INTO device_cpu SELECT ?, cpu FROM cpu WHERE linux = ?",
                        params![d.name, linux],
                    )?;
                }
            }
            // The node, where all its CPUs are of one.
            t.execute(
                "UPDATE device SET node = (SELECT CASE WHEN min(c.node) = max(c.node) THEN min(c.node) END
                 FROM device_cpu d JOIN cpu c ON c.cpu = d.cpu WHERE d.device = device.name)",
                [],
            )
            .map(drop)
        })
    }
}

/// `/sys/class/CLASS/NAME/device` leads to the device; it, or what it is plugged into, says which CPUs are near.
fn of_linux(classes: &Path) -> Vec<Device> {
    let mut all = Vec::new();
    for (folder, class) in CLASSES {
        let Ok(entries) = fs::read_dir(classes.join(folder)) else { continue };
        let mut entries: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        entries.sort();
        for entry in entries {
            // Loops, bridges and such are no devices; connectors of a graphics card (`card0-DP-1`) are part of it.
            let Ok(device) = entry.join("device").canonicalize() else { continue };
            let Some(name) = entry.file_name().and_then(|n| n.to_str()) else { continue };
            if folder == "drm" && (!name.starts_with("card") || name.contains('-')) {
                continue;
            }
            let near = device.ancestors().find_map(|d| fs::read_to_string(d.join("local_cpulist")).ok());
            let cpus = parse_list(near.as_deref().unwrap_or(""), MAX_CPUS - 1).unwrap_or_default();
            all.push(Device { name: name.into(), class, cpus });
        }
    }
    all
}

/// Operating-system devices: each is below the object with the CPUs near it.
fn of_hwloc(text: &str) -> Vec<Device> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    // What is wrong with the file was said when the machine was read from it.
    let Ok(doc) = roxmltree::Document::parse_with_options(text, options) else { return Vec::new() };
    let device = |n: roxmltree::Node<'_, '_>| {
        let near = n.ancestors().find_map(|a| Bitmap::parse(a.attribute("cpuset")?).ok());
        let cpus = near.map_or_else(Vec::new, |set| (0..MAX_CPUS).filter(|c| set.contains(*c)).collect());
        Some(Device { name: n.attribute("name")?.into(), class: hwloc_class(n), cpus })
    };
    doc.descendants().filter(|n| n.attribute("type") == Some("OSDev")).filter_map(device).collect()
}

/// `osdev_type` is a number in version 2, and a set of bits in version 3.
fn hwloc_class(n: roxmltree::Node<'_, '_>) -> &'static str {
    let version = n.document().root_element().attribute("version").unwrap_or("2");
    match (version.starts_with('3'), n.attribute("osdev_type")) {
        (false, Some("0")) | (true, Some("1" | "2" | "3")) => "storage",
        (false, Some("1")) | (true, Some("4")) => "graphics",
        (false, Some("2" | "3")) | (true, Some("16" | "32")) => "network",
        (false, Some("5")) | (true, Some("8" | "12")) => "accelerator",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_an_hwloc_file_are_found() {
        let text = r#"<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">
            <object type="Machine" cpuset="0x00000001,0x0000000f">
              <object type="Package" cpuset="0x00000001,0x00000003"><object type="Bridge"><object type="PCIDev">
                <object type="OSDev" name="eth0" osdev_type="2"/></object></object></object>
              <object type="OSDev" name="nvme0n1" osdev_type="0"/></object></topology>"#;
        let device =
            |name: &str, class, cpus: &[u32]| Device { name: name.into(), class, cpus: cpus.to_vec() };
        assert_eq!(
            of_hwloc(text),
            [device("eth0", "network", &[0, 1, 32]), device("nvme0n1", "storage", &[0, 1, 2, 3, 32])]
        );
        assert!(of_hwloc("<topology").is_empty());
    }

    #[test]
    fn linux_names_the_cpus_of_what_a_device_is_plugged_into() {
        let root = tempfile::tempdir().expect("a folder");
        let slot = root.path().join("devices/pci0/0000:01:00.0");
        let (net, loops) = (root.path().join("class/net"), root.path().join("class/block/loop0"));
        for folder in [&slot.join("virtio0"), &net.join("eth0"), &loops] {
            fs::create_dir_all(folder).expect("made");
        }
        fs::write(slot.join("local_cpulist"), "2-3,7\n").expect("written");
        std::os::unix::fs::symlink(slot.join("virtio0"), net.join("eth0/device")).expect("linked");
        let all = of_linux(&root.path().join("class"));
        assert_eq!(all, [Device { name: "eth0".into(), class: "network", cpus: vec![2, 3, 7] }]);
    }
}
