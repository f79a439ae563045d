// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Where the tools are: Verilator, a compiler for the cores, the cores themselves, and FreeRTOS.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::soc::build::System;
use crate::soc::error::{Error, ErrorKind, Result};

/// A core that a system can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Core {
    PicoRv32,
    VexRiscv,
}

impl Core {
    /// As its file in `hw/soc` has it: `weir_soc_core_NAME.sv`.
    pub fn name(self) -> &'static str {
        match self {
            Self::PicoRv32 => "picorv32",
            Self::VexRiscv => "vexriscv",
        }
    }

    /// What it is called, what names another file of it, and where it lies in its package.
    fn of(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::PicoRv32 => ("PicoRV32", "WEIR_PICORV32", "pythondata_cpu_picorv32/verilog/picorv32.v"),
            Self::VexRiscv => {
                ("VexRiscv", "WEIR_VEXRISCV", "pythondata_cpu_vexriscv/verilog/VexRiscv_Lite.v")
            }
        }
    }

    /// Its file: named, or in the environment of `make hw-setup`.
    fn file(self) -> Option<PathBuf> {
        let (_, variable, below) = self.of();
        found(variable, || {
            let libraries = |place: &PathBuf| -> Vec<PathBuf> {
                let lib = std::fs::read_dir(place.join("lib"));
                lib.map(|l| l.flatten().map(|e| e.path()).collect()).unwrap_or_default()
            };
            places()
                .iter()
                .flat_map(libraries)
                .map(|python| python.join("site-packages").join(below))
                .collect()
        })
    }
}

/// All that building a system needs.
#[derive(Clone, Debug)]
pub struct Tools {
    pub verilator: PathBuf,
    /// Prefix of compiler and binutils, with its folder if it has one.
    pub cross: String,
    /// The core's Verilog.
    pub core: PathBuf,
    /// Folder of FreeRTOS's kernel, for systems that have it.
    pub freertos: Option<PathBuf>,
}

impl Tools {
    /// Find them: `VERILATOR`, `WEIR_RISCV` (a prefix such as `riscv64-unknown-elf-`), `WEIR_PICORV32` or `WEIR_VEXRISCV` (a file) and
    /// `WEIR_FREERTOS` (a folder) name others than those in PATH and in the folder of `make hw-setup`.
    ///
    /// # Errors
    /// Something is missing; the message names all that is.
    pub fn find(system: System) -> Result<Self> {
        let (core, freertos) = (system.core(), system == System::Freertos);
        let mut missing = Vec::new();
        let verilator = PathBuf::from(env::var_os("VERILATOR").unwrap_or_else(|| "verilator".into()));
        if !works(&verilator) {
            missing.push("Verilator".to_string());
        }
        let cross = env::var("WEIR_RISCV").unwrap_or_else(|_| "riscv64-unknown-elf-".into());
        if !works(Path::new(&format!("{cross}gcc"))) {
            missing.push("a RISC-V compiler (riscv64-unknown-elf-gcc)".into());
        }
        let (name, variable, _) = core.of();
        let file = core.file();
        if file.is_none() {
            missing.push(format!("the core {name}"));
        }
        let kernel = if freertos { self::freertos() } else { None };
        if freertos && kernel.is_none() {
            missing.push("FreeRTOS".into());
        }
        match file {
            Some(core) if missing.is_empty() => Ok(Self { verilator, cross, core, freertos: kernel }),
            _ => Err(Error::new(
                ErrorKind::Missing,
                format!("to simulate a system there is no {}", missing.join(", no ")),
                format!(
                    "`make hw-setup` in Runweir's sources installs them; VERILATOR, WEIR_RISCV, {variable}{} name others",
                    if freertos { ", WEIR_FREERTOS" } else { "" }
                ),
            )),
        }
    }
}

fn works(program: &Path) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success())
}

/// Folder of FreeRTOS's kernel.
fn freertos() -> Option<PathBuf> {
    let below = "freertos/freertos-next/FreeRTOS-Kernel";
    found("WEIR_FREERTOS", || places().iter().map(|p| p.join(below)).collect())
}

/// What the variable names, or else the first of these that is there. Whole paths: Verilator runs elsewhere.
fn found(variable: &str, among: impl Fn() -> Vec<PathBuf>) -> Option<PathBuf> {
    if let Some(named) = env::var_os(variable) {
        return PathBuf::from(named).canonicalize().ok();
    }
    among().into_iter().find_map(|p| p.canonicalize().ok())
}

/// Where `make hw-setup` may have been run: of this folder, or of the sources.
fn places() -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = env::var_os("WEIR_HW_TOOLS").map(PathBuf::from).into_iter().collect();
    places.push("build/hw-tools".into());
    if let Ok(own) = env::current_exe() {
        // A program in target/PROFILE of the sources, or a test in target/PROFILE/deps.
        places.extend(own.ancestors().skip(2).take(4).map(|a| a.join("build/hw-tools")));
    }
    places
}
