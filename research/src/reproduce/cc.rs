// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Measurements in C that are part of this program, built by the computer's compiler in a folder of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_core::HEADERS;

use crate::reproduce::lab::{Done, Halt, Lab};
use weir::fault::Fault;

/// Status of a program that cannot measure on this computer.
const CANNOT: i32 = 3;

/// A compiler, and a folder with sources.
pub struct Bench {
    compiler: String,
    folder: tempfile::TempDir,
}

impl Bench {
    /// With the core's headers and these files; or say why nothing can be compiled here.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn new(sources: &[(&str, &str)]) -> Done<Result<Self, String>> {
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        if Command::new(&compiler).arg("--version").output().is_err() {
            return Ok(Err(format!("there is no C compiler `{compiler}`; install one, or set CC")));
        }
        let folder = tempfile::tempdir().map_err(|e| failed(&format!("cannot make a folder: {e}")))?;
        let bench = Self { compiler, folder };
        bench.unpack(sources).map_err(|e| failed(&format!("cannot write the sources: {e}")))?;
        Ok(Ok(bench))
    }

    fn unpack(&self, sources: &[(&str, &str)]) -> std::io::Result<()> {
        let headers = HEADERS.iter().map(|(name, text)| (format!("weir/{name}"), *text));
        for (name, text) in headers.chain(sources.iter().map(|(name, text)| ((*name).to_string(), *text))) {
            let file = self.folder.path().join(name);
            fs::create_dir_all(file.parent().expect("a file lies in a folder"))?;
            fs::write(file, text)?;
        }
        Ok(())
    }

    /// A program of these files.
    ///
    /// # Errors
    /// They do not compile, or Ctrl-C.
    pub fn compile(&self, lab: &Lab<'_>, program: &str, args: &[&str]) -> Done<PathBuf> {
        let compiler = &self.compiler;
        let done = Command::new(compiler)
            .current_dir(self.folder.path())
            .args(["-std=gnu11", "-Wno-unused-parameter", "-I.", "-o", program])
            .args(args)
            .arg("-pthread")
            .output();
        let done = done.map_err(|e| failed(&format!("cannot start `{compiler}`: {e}")))?;
        match done.status.success() {
            true => Ok(self.folder.path().join(program)),
            _ if lab.stopped() => Err(Halt::Interrupted),
            _ => {
                let said = String::from_utf8_lossy(&done.stderr);
                let first = said.lines().find(|l| l.contains("error")).unwrap_or_default();
                Err(failed(&format!("`{compiler}` does not compile {program}: {first}")))
            }
        }
    }
}

/// What a compiled program prints; or what it says where it ends with [`CANNOT`].
///
/// # Errors
/// It fails otherwise, or Ctrl-C.
pub fn printed(lab: &Lab<'_>, program: &Path, args: &[String]) -> Done<Result<String, String>> {
    if lab.stopped() {
        return Err(Halt::Interrupted);
    }
    let done = Command::new(program).args(args).output();
    let done = done.map_err(|e| failed(&format!("cannot start the compiled program: {e}")))?;
    if lab.stopped() {
        return Err(Halt::Interrupted);
    }
    let said = String::from_utf8_lossy(&done.stderr).trim().to_string();
    match done.status.code() {
        Some(0) => Ok(Ok(String::from_utf8_lossy(&done.stdout).into_owned())),
        Some(CANNOT) => Ok(Err(said)),
        _ => Err(failed(&format!("the compiled program fails: {said}"))),
    }
}

pub fn failed(what: &str) -> Halt {
    Halt::Fault(Fault::system(
        format!("a part in C cannot be measured: {what}"),
        "is the C compiler whole, and is there room in the folder for temporary files?",
    ))
}
