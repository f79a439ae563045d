// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A program that runs as a gang, and threads that become one.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weir_linux::launch::{adopt_orphans, ask_to_end};
use weir_linux::protocol::{GangName, GangView, GangWish, JoinWish, PhaseChanged, PhaseWish, Request};

use super::{GangArgs, JoinArgs, ask, line};
use crate::fault::{Fault, Result};
use crate::output::note;
use crate::{input, output};

/// Set by signals.
static STOP: AtomicBool = AtomicBool::new(false);
/// Time between two looks at whether the program has ended.
const LOOK: Duration = Duration::from_millis(20);

/// `runweir gang join`.
pub fn join(args: &JoinArgs) -> Result<ExitCode> {
    let wish = JoinWish {
        gang: args.name.clone(),
        process: args.pid,
        thread: args.tid,
        cgroup: args.cgroup.clone(),
        children: false,
    };
    let gang: GangView = ask(args.socket.as_deref(), &Request::Join(wish))?;
    output::print(&line(&gang))?;
    Ok(ExitCode::SUCCESS)
}

/// Milliseconds, as manifests have them.
fn ms(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000)
}

/// The manifest that the options mean, if they mean one.
fn manifest(args: &GangArgs, name: &str) -> Result<Option<String>> {
    if let Some(file) = &args.manifest {
        let text = input::read_text(file).map_err(|e| Fault::user(e.message, e.help))?;
        let parsed = weir::gang::parse(file, &text)?;
        if !parsed.name().is_empty() && parsed.name() != name {
            return Err(Fault::user(
                format!("{file} is the manifest of `{}`, not of `{name}`", parsed.name()),
                format!("runweir gang {} …, or take the line `name` away", parsed.name()),
            ));
        }
        return Ok(Some(text));
    }
    let (Some(slot), Some(period)) = (args.slot, args.period) else { return Ok(None) };
    let threads = args.threads.map_or(String::new(), |n| format!("threads {n}\n"));
    let text = format!("{threads}cores {}\nB 0\nH {} {}\n", args.cores, ms(slot), ms(period));
    weir::gang::parse("--slot and --period", &text)?;
    Ok(Some(text))
}

/// A gang that leaves with its program.
struct Admitted<'a> {
    name: &'a str,
    socket: Option<&'a Path>,
}

impl Admitted<'_> {
    fn leave(&self) -> Result<GangView> {
        ask(self.socket, &Request::Leave(GangName { gang: self.name.into() }))
    }
}

/// `runweir gang NAME -- COMMAND`.
pub fn launch(args: &GangArgs) -> Result<ExitCode> {
    let name = args.name.as_deref().unwrap_or_default();
    let socket = args.socket.as_deref();
    let own = std::process::id();
    let admitted = match manifest(args, name)? {
        None => None,
        Some(text) => {
            let wish = GangWish { manifest: text, name: Some(name.into()), cut: args.cut };
            let gang: GangView = ask(socket, &Request::Gang(wish))?;
            if gang.name != name {
                let _ = Admitted { name: &gang.name, socket }.leave();
                return Err(Fault::user(
                    format!("`{name}` is not a name of a gang"),
                    "use 1 to 31 letters, digits, `_`, `-` and `.`",
                ));
            }
            if gang.scale < 1000 {
                note(&format!(
                    "gangs are cut to {:.1} % of their slots, so that `{name}` fits",
                    f64::from(gang.scale) / 10.0
                ));
            }
            Some(Admitted { name, socket })
        }
    };
    let done = run(args, name, own);
    // Whatever happened, the gang goes with its program.
    let last = admitted.as_ref().map(Admitted::leave).transpose();
    let status = done?;
    // A scheduler that has left meanwhile has taken its gangs along.
    if let (true, Ok(Some(gang))) = (args.stats, last) {
        note(line(&gang).trim_end());
    }
    Ok(status)
}

fn run(args: &GangArgs, name: &str, own: u32) -> Result<ExitCode> {
    let socket = args.socket.as_deref();
    let wish = JoinWish { gang: name.into(), process: Some(own), children: true, ..JoinWish::default() };
    ask::<GangView>(socket, &Request::Join(wish))?;
    if let Some(phase) = args.phase.or(args.slot.map(|_| 1)) {
        ask::<PhaseChanged>(socket, &Request::Phase(PhaseWish { gang: name.into(), phase }))?;
    }
    adopt_orphans();
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed)).map_err(|e| {
        Fault::system(format!("cannot catch Ctrl-C: {e}"), "this is a bug in runweir; please report it")
    })?;
    let program = args.run[0].to_string_lossy().into_owned();
    let mut child = Command::new(&args.run[0]).args(&args.run[1..]).spawn().map_err(|e| {
        let text = e.to_string();
        let why = text.split(" (os error").next().unwrap_or(&text).to_lowercase();
        Fault::user(
            format!("`{program}` cannot be run: {why}"),
            "name a program in PATH, or a file with its folder",
        )
    })?;
    let mut asked = false;
    let status = loop {
        let lost = |e: std::io::Error| {
            Fault::system(format!("cannot wait for `{program}`: {e}"), "is it still there?")
        };
        if let Some(status) = child.try_wait().map_err(lost)? {
            break status;
        }
        if STOP.load(Ordering::Relaxed) && !asked {
            asked = true;
            ask_to_end(child.id());
        }
        std::thread::sleep(LOOK);
    };
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or(status.signal().map(|s| 128 + s)).unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}
