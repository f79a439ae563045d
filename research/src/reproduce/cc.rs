// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Measurements in C that are part of this program, built by the computer's compiler in a folder of their own.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_core::HEADERS;

use crate::reproduce::lab::{Done, Halt, Lab};
use weir::fault::Fault;

/// Status of a program that cannot measure on this computer.
const CANNOT: i32 = 3;
/// Attempts, and how long each may take, s: in full, and with `--quick`.
pub const TRIES: u32 = 3;
const PATIENCE_S: (u32, u32) = (300, 3);

/// Why a program has printed nothing.
pub enum Cannot {
    /// What it says: something is missing here.
    Missing(String),
    /// It took too long, [`TRIES`] times: other work is on the CPUs.
    Busy,
}

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

/// What a compiled program prints; or why it cannot measure.
///
/// # Errors
/// It fails otherwise, or Ctrl-C.
pub fn printed(lab: &Lab<'_>, program: &Path, args: &[String]) -> Done<Result<String, Cannot>> {
    let patience = lab.pick(PATIENCE_S.0, PATIENCE_S.1).to_string();
    for _ in 0..TRIES {
        if lab.stopped() {
            return Err(Halt::Interrupted);
        }
        let done = Command::new(program).args(args).env("WEIR_PATIENCE", &patience).output();
        let done = done.map_err(|e| failed(&format!("cannot start the compiled program: {e}")))?;
        if lab.stopped() {
            return Err(Halt::Interrupted);
        }
        let said = String::from_utf8_lossy(&done.stderr).trim().to_string();
        match done.status.code() {
            Some(0) => return Ok(Ok(String::from_utf8_lossy(&done.stdout).into_owned())),
            Some(CANNOT) => return Ok(Err(Cannot::Missing(said))),
            // Its patience is over (`be_patient` in `experiments/multikernel-e1/pair.h`).
            None if done.status.signal() == Some(libc::SIGALRM) => {}
            _ => return Err(failed(&format!("the compiled program fails: {said}"))),
        }
    }
    Ok(Err(Cannot::Busy))
}

pub fn failed(what: &str) -> Halt {
    Halt::Fault(Fault::system(
        format!("a part in C cannot be measured: {what}"),
        "is the C compiler whole, and is there room in the folder for temporary files?",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir::Unwatched;

    /// A program whose patience is over is tried again, and then given up.
    #[test]
    fn what_takes_too_long_is_tried_some_times() {
        let dir = tempfile::tempdir().expect("there is room");
        let lab = Lab::new(true, None, &Unwatched);
        let script = |after: &str| {
            vec!["-c".to_string(), format!("echo x >> {}/tried; {after}", dir.path().display())]
        };
        let run =
            |after: &str| printed(&lab, Path::new("/bin/sh"), &script(after)).expect("a shell is there");
        let tried = || fs::read_to_string(dir.path().join("tried")).expect("it was tried").lines().count();
        assert!(matches!(run("kill -s ALRM $$"), Err(Cannot::Busy)));
        assert_eq!(tried(), TRIES as usize);
        assert!(matches!(run("echo $WEIR_PATIENCE"), Ok(said) if said.trim() == PATIENCE_S.1.to_string()));
        assert!(matches!(run("echo none >&2; exit 3"), Err(Cannot::Missing(why)) if why == "none"));
    }
}
