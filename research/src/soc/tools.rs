// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Where the tools are: Verilator, a compiler for the cores, and the core itself.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::soc::error::{Error, ErrorKind, Result};

/// All that building a system needs.
#[derive(Clone, Debug)]
pub struct Tools {
    pub verilator: PathBuf,
    /// Prefix of compiler and binutils, with its folder if it has one.
    pub cross: String,
    /// picorv32.v.
    pub core: PathBuf,
}

impl Tools {
    /// Find them: `VERILATOR`, `WEIR_RISCV` (a prefix such as `riscv64-unknown-elf-`) and `WEIR_PICORV32` (a file) name others than
    /// those in PATH and in the folder of `make hw-setup`.
    ///
    /// # Errors
    /// Something is missing; the message names all that is.
    pub fn find() -> Result<Self> {
        let mut missing = Vec::new();
        let verilator = PathBuf::from(env::var_os("VERILATOR").unwrap_or_else(|| "verilator".into()));
        if !works(&verilator) {
            missing.push("Verilator");
        }
        let cross = env::var("WEIR_RISCV").unwrap_or_else(|_| "riscv64-unknown-elf-".into());
        if !works(Path::new(&format!("{cross}gcc"))) {
            missing.push("a RISC-V compiler (riscv64-unknown-elf-gcc)");
        }
        let core = core();
        if core.is_none() {
            missing.push("the core PicoRV32");
        }
        match core {
            Some(core) if missing.is_empty() => Ok(Self { verilator, cross, core }),
            _ => Err(Error::new(
                ErrorKind::Missing,
                format!("to simulate a system there is no {}", missing.join(", no ")),
                "`make hw-setup` in Runweir's sources installs them; VERILATOR, WEIR_RISCV and WEIR_PICORV32 name others",
            )),
        }
    }
}

fn works(program: &Path) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success())
}

/// The file of the core: named, or in the environment of `make hw-setup` of this folder or of the sources.
fn core() -> Option<PathBuf> {
    if let Some(named) = env::var_os("WEIR_PICORV32") {
        return PathBuf::from(named).canonicalize().ok();
    }
    let mut places: Vec<PathBuf> = env::var_os("WEIR_HW_TOOLS").map(PathBuf::from).into_iter().collect();
    places.push("build/hw-tools".into());
    if let Ok(own) = env::current_exe() {
        // A program in target/PROFILE of the sources, or a test in target/PROFILE/deps.
        places.extend(own.ancestors().skip(2).take(4).map(|a| a.join("build/hw-tools")));
    }
    let libraries = |place: &PathBuf| -> Vec<PathBuf> {
        let lib = std::fs::read_dir(place.join("lib"));
        lib.map(|l| l.flatten().map(|e| e.path()).collect()).unwrap_or_default()
    };
    let file = |python: PathBuf| python.join("site-packages/pythondata_cpu_picorv32/verilog/picorv32.v");
    // Verilator runs elsewhere: the whole path.
    places.iter().flat_map(libraries).map(file).find_map(|p| p.canonicalize().ok())
}
