// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The emulator: start it, pass on what the console says, and wait for the end.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::bare::boot::Setup;
use crate::bare::error::{Error, Result};
use crate::bare::results::Results;

pub const EMULATOR: &str = "qemu-system-riscv64";
/// Between two looks at the console.
const LOOK: Duration = Duration::from_millis(10);

/// What came of a run.
#[derive(Debug)]
pub struct Done {
    pub results: Results,
    /// All that the console printed.
    pub console: Vec<u8>,
}

/// Where the emulator is.
pub fn emulator() -> Result<PathBuf> {
    weir_text::packages::find(EMULATOR).ok_or_else(|| {
        Error::system(
            format!("{EMULATOR} is not here"),
            format!("as root, {}", weir_text::packages::install(&[EMULATOR])),
        )
    })
}

/// Run `kernel` with what `setup` says. The console goes to `out` as it comes. `stop`: end it now. `limit`: how long it may take here.
pub fn run(
    kernel: &Path,
    setup: &Setup,
    stop: &AtomicBool,
    limit: Duration,
    out: &mut dyn Write,
) -> Result<Done> {
    let emulator = emulator()?;
    let trouble =
        |e: std::io::Error| Error::system(format!("the machine cannot be started: {e}"), "make room in /tmp");
    let folder = tempfile::Builder::new().prefix("runweir-bare-").tempdir().map_err(trouble)?;
    let (ram, serial) = (folder.path().join("ram"), folder.path().join("console"));
    let file = File::options().read(true).write(true).create_new(true).open(&ram).map_err(trouble)?;
    setup.write(&file)?;
    File::create(&serial).map_err(trouble)?;
    let megabytes = setup.ram_bytes() >> 20;
    let mut child = Command::new(emulator)
        .args(["-nodefaults", "-no-user-config", "-display", "none", "-monitor", "none", "-bios", "none"])
        .args(if setup.parallel { ["-accel", "tcg,thread=multi"] } else { ["-icount", "shift=0,sleep=off"] })
        .args(["-machine", "virt,memory-backend=ram"])
        .arg("-object")
        .arg(format!("memory-backend-file,id=ram,size={megabytes}M,mem-path={},share=on", ram.display()))
        .args(["-m", &format!("{megabytes}M"), "-smp", &setup.harts.to_string()])
        .args(["-serial", &format!("file:{}", serial.display())])
        .arg("-kernel")
        .arg(kernel)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(trouble)?;
    let began = Instant::now();
    let mut console = File::open(&serial).map_err(trouble)?;
    let mut said = Vec::new();
    let mut pass = |said: &mut Vec<u8>| {
        let from = said.len();
        let read = console.read_to_end(said);
        if read.is_ok() && said.len() > from {
            let _ = out.write_all(&said[from..]).and_then(|()| out.flush());
        }
    };
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(e) => return Err(trouble(e)),
        }
        pass(&mut said);
        let late = began.elapsed() > limit;
        if late || stop.load(Ordering::Relaxed) {
            let _ = child.kill();
            let _ = child.wait();
            pass(&mut said);
            return Err(if late {
                Error::system(
                    format!("the machine did not stop within {} s", limit.as_secs()),
                    "--duration bounds its own time, --limit how long it may take here",
                )
            } else {
                Error::system("interrupted", "the machine was stopped")
            });
        }
        std::thread::sleep(LOOK);
    };
    pass(&mut said);
    if !status.success() {
        let mut text = String::new();
        if let Some(mut e) = child.stderr.take() {
            let _ = e.read_to_string(&mut text);
        }
        return Err(Error::system(
            format!("{EMULATOR} ended with {status}: {}", text.trim()),
            "it has to be version 7 or newer, with the machine `virt`",
        ));
    }
    Ok(Done { results: Results::read(&file, setup)?, console: said })
}
