// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Which package brings a program that is missing, on Debian, Fedora and Arch.

use std::path::{Path, PathBuf};

/// A line a program.
const TABLE: &str = include_str!("packages.txt");

/// What installs packages on each of them, in the order of the table's columns.
const INSTALLERS: [(&str, &str); 3] =
    [("Debian", "apt-get install"), ("Fedora", "dnf install"), ("Arch", "pacman -S")];

/// How to install what brings these programs: `on Debian: apt-get install …; on Fedora: …`, as root.
pub fn install(programs: &[&str]) -> String {
    let lines: Vec<Vec<&str>> = programs.iter().map(|p| packages(p)).collect();
    let on = |(i, (system, installer)): (usize, &(&str, &str))| {
        let mut names: Vec<&str> = lines.iter().map(|l| l[i]).filter(|n| *n != "-").collect();
        names.dedup();
        let without: Vec<&str> =
            lines.iter().zip(programs).filter(|(l, _)| l[i] == "-").map(|(_, p)| *p).collect();
        let from_source = match without.len() {
            0 => String::new(),
            _ => format!(
                "{}build {} from source",
                if names.is_empty() { "" } else { ", and " },
                without.join(" ")
            ),
        };
        let packages =
            if names.is_empty() { String::new() } else { format!("{installer} {}", names.join(" ")) };
        format!("on {system}: {packages}{from_source}")
    };
    INSTALLERS.iter().enumerate().map(on).collect::<Vec<_>>().join("; ")
}

/// Where a program is in PATH.
pub fn find(program: impl AsRef<Path>) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(&program)).find(|path| path.is_file())
}

/// The packages of one program; its own name where the table does not have it.
fn packages(program: &str) -> Vec<&str> {
    let mut lines = TABLE.lines().filter(|l| !l.starts_with('#')).map(|l| l.split_whitespace());
    let found =
        lines.find_map(|mut words| (words.next() == Some(program)).then(|| words.collect::<Vec<_>>()));
    found.unwrap_or_else(|| vec![program; INSTALLERS.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_has_its_package_on_each_system() {
        let lines = TABLE.lines().filter(|l| !l.starts_with('#'));
        for line in lines {
            assert_eq!(line.split_whitespace().count(), 1 + INSTALLERS.len(), "{line}");
        }
        assert_eq!(
            install(&["qemu-system-x86_64", "busybox"]),
            "on Debian: apt-get install qemu-system-x86 busybox-static; on Fedora: dnf install qemu-system-x86-core \
             busybox; on Arch: pacman -S qemu-system-x86 busybox"
        );
        assert!(
            install(&["rt-app"]).contains("on Arch: build rt-app from source"),
            "{}",
            install(&["rt-app"])
        );
        assert!(
            install(&["chrt", "rt-app"]).contains("dnf install util-linux, and build rt-app from source")
        );
    }
}
