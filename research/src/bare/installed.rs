// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Where the kernel and the programs are that `make bare` built.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bare::error::{Error, Result};
use crate::bare::image::Image;

/// The kernel's file in its folder.
pub const KERNEL: &str = "kernel.elf";

/// The file of its variant. `shared`: one scheduler for all harts. `parallel`: harts do not take turns.
#[must_use]
pub fn kernel(shared: bool, parallel: bool) -> &'static str {
    match (shared, parallel) {
        (false, false) => KERNEL,
        (true, false) => "kernel-shared.elf",
        (false, true) => "kernel-parallel.elf",
        (true, true) => "kernel-shared-parallel.elf",
    }
}

/// The folder with the kernel: where `RUNWEIR_BARE` says, where `make install` or where `make bare` put it.
///
/// # Errors
/// It is in none of them.
pub fn installed() -> Result<PathBuf> {
    let mut places: Vec<PathBuf> = std::env::var_os("RUNWEIR_BARE").map(PathBuf::from).into_iter().collect();
    if let Ok(own) = std::env::current_exe()
        && let Some(folder) = own.parent()
    {
        places.push(folder.join("../lib/runweir/bare"));
        places.push(folder.join("../bare"));
    }
    places.iter().find(|p| p.join(KERNEL).is_file()).cloned().ok_or_else(|| {
        let looked: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
        Error::system(
            format!("the bare kernel is not here: no {KERNEL} in {}", looked.join(", ")),
            "`make bare` builds it (Debian: gcc-riscv64-unknown-elf); RUNWEIR_BARE names the folder where it is",
        )
    })
}

/// A program of that folder.
///
/// # Errors
/// It is not there, or no program.
pub fn image(folder: &Path, name: &str) -> Result<Image> {
    let path = folder.join(format!("{name}.image"));
    let bytes = fs::read(&path).map_err(|e| {
        Error::system(format!("`{}` cannot be read: {e}", path.display()), "`make bare` builds it")
    })?;
    Image::parse(&path.display().to_string(), &bytes)
}
