// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Host programs that the virtual machine needs, and their packages.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use weir_text::packages;

use crate::error::{Error, ErrorKind, Result};

/// Programs without which nothing boots.
pub const NEEDED: &[&str] = &["qemu-system-x86_64", "busybox", "ldd"];

/// Load generators that every guest has where the host has them.
pub const LOADS: &[&str] = &["hackbench", "stress-ng", "rt-app", "chrt"];

/// Programs that fetch a kernel; only needed until it is cached.
pub const FETCHING: &[&str] = &["apt-get", "apt-cache", "apt-config", "dpkg-deb"];

/// Path of a program: `PATH`, then the folders for administration that users often lack in it.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .filter(|d| d.is_absolute())
        .chain(more)
        .map(|dir| dir.join(name))
        .find(|p| is_program(p))
}

/// True for an executable ordinary file.
pub fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The one error that names all packages that are missing.
pub fn require(tools: &[&str]) -> Result<()> {
    require_with(tools, &|name| find(name).is_some())
}

/// [`require`] with another way to look.
fn require_with(tools: &[&str], there: &dyn Fn(&str) -> bool) -> Result<()> {
    let missing: Vec<&str> = tools.iter().copied().filter(|name| !there(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(|name| format!("`{name}`")).collect();
    let message =
        format!("the virtual machine needs {}, which this computer does not have", names.join(", "));
    Err(Error::new(ErrorKind::Missing, message).help(format!("as root, {}", packages::install(&missing))))
}

/// Run a program to its end, its output captured and its messages in English.
pub fn output(program: &str, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Output> {
    command(program)?
        .args(args)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Error::new(ErrorKind::Io, format!("cannot run `{program}`: {e}")))
}

/// A command for a program that must be there.
pub fn command(program: &str) -> Result<Command> {
    require(&[program])?;
    let mut command = Command::new(find(program).expect("require has found it"));
    command.env("LC_ALL", "C.UTF-8");
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_error_names_all_packages() {
        let error = require_with(NEEDED, &|name| name == "ldd").expect_err("two are missing");
        insta::assert_snapshot!(error, @"
        the virtual machine needs `qemu-system-x86_64`, `busybox`, which this computer does not have
        help: as root, on Debian: apt-get install qemu-system-x86 busybox-static; on Fedora: dnf install qemu-system-x86-core busybox; on Arch: pacman -S qemu-system-x86 busybox
        ");
        let error = require_with(FETCHING, &|_| false).expect_err("all are missing");
        assert!(error.help.expect("there is help").contains("install apt dpkg;"));
    }

    #[test]
    fn finds_programs_only() {
        assert!(find("sh").is_some_and(|p| p.ends_with("sh")));
        assert!(find("no-such-program-anywhere").is_none());
        assert!(!is_program(Path::new("/")));
    }
}
