// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! QEMU's command line, and the process.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::{Error, ErrorKind, Result};
use crate::run::Spec;
use crate::scratch::Scratch;
use crate::tool;

/// Channels from the guest as sockets: what happens, the command's output, the scheduler's messages.
pub const CHANNELS: [&str; 4] = ["ctl", "out", "err", "log"];

/// The kernel's command line. Times are fixed where measuring them under emulation goes wrong, and what
/// only real processors need is left out, so that booting takes seconds.
const APPEND: &str = "console=ttyS0 panic=-1 quiet nokaslr lpj=4000000 tsc=reliable no_timer_check \
                      mitigations=off audit=0 random.trust_cpu=on init_on_alloc=0 rcupdate.rcu_expedited=1 \
                      cryptomgr.notests";

/// QEMU's options; `paths` gives the files in the machine's folder.
pub fn args(spec: &Spec, scratch: &dyn Fn(&str) -> OsString, interactive: bool) -> Vec<OsString> {
    let mut args: Vec<OsString> = Vec::new();
    let mut add = |words: &[&str]| args.extend(words.iter().map(OsString::from));
    add(&["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-machine", "q35"]);
    if spec.kvm {
        add(&["-accel", "kvm", "-cpu", "host"]);
    } else {
        // Several threads of QEMU's emulator trip over code that the kernel rewrites at run time. An
        // Intel processor is described with caches and threads as the layout has them.
        add(&["-accel", "tcg,thread=single", "-cpu", "max,vendor=GenuineIntel"]);
    }
    if let Some(icount) = spec.icount {
        add(&[
            "-icount",
            "shift=1,sleep=off",
            "-rtc",
            "base=2026-01-01,clock=vm",
            "-seed",
            &icount.seed.to_string(),
        ]);
        // Each CPU computes until the next timer is due before another one's turn comes: milliseconds, by which
        // wake-ups came late. A filter of a network without a card has a timer that the guest cannot see.
        let filter = format!("filter-buffer,id=turns,netdev=none,interval={}", icount.turn_us);
        add(&["-netdev", "hubport,id=none,hubid=0", "-object", &filter]);
    }
    // The CPU that is next when a turn ends handles the timer that ended it, and in QEMU 7.2 loses its own turn: of two the second
    // would have none, and of more one may have none while its neighbour computes and the others wait for it, with interrupts
    // off. So that one is a spare CPU.
    let spaced = spec.icount.is_some() && spec.layout.can_be_spaced();
    spec.layout.args(spec.memory_mib, spaced).iter().for_each(|word| add(&[word]));
    // Without an event descriptor a write is done when the guest makes it: it depends on no other thread.
    let bus = if spec.icount.is_some() { "virtio-serial-pci,ioeventfd=off" } else { "virtio-serial-pci" };
    add(&["-device", bus]);
    let mut with_path = |words: [&str; 2], file: &str, rest: &str| {
        let mut word = OsString::from(words[1]);
        word.push(scratch(file));
        word.push(rest);
        args.extend([OsString::from(words[0]), word]);
    };
    with_path(["-chardev", "file,id=console,path="], "console", "");
    for name in CHANNELS {
        with_path(["-chardev", &format!("socket,id={name},path=")], name, "");
    }
    with_path(["-chardev", "file,id=rec,path="], "rec", "");
    with_path(["-initrd", ""], "initrd", "");
    args.extend(["-kernel".into(), spec.kernel.image.clone().into_os_string()]);
    let mut add = |words: &[&str]| args.extend(words.iter().map(OsString::from));
    add(&["-serial", "chardev:console"]);
    for name in CHANNELS.iter().chain(&["rec"]) {
        add(&["-device", &format!("virtserialport,chardev={name},name={name}")]);
    }
    if interactive {
        add(&["-chardev", "stdio,id=tty,signal=off", "-device", "virtconsole,chardev=tty"]);
    }
    let limit = if spaced { format!(" nr_cpus={}", spec.layout.nr_cpus()) } else { String::new() };
    add(&["-append", &(APPEND.to_string() + &limit)]);
    args
}

/// Start QEMU. It dies with this program where `setpriv` is there to arrange it.
pub fn start(args: &[OsString], scratch: &Scratch, interactive: bool) -> Result<Child> {
    tool::require(tool::NEEDED)?;
    let qemu = tool::find("qemu-system-x86_64").expect("required above");
    let mut command = match tool::find("setpriv") {
        Some(setpriv) => {
            let mut command = Command::new(setpriv);
            command.args(["--pdeathsig", "KILL"]).arg(&qemu);
            command
        }
        None => Command::new(&qemu),
    };
    let log = scratch.path("qemu");
    let log = std::fs::File::create(&log).map_err(|e| Error::io("write", &log, &e))?;
    command.args(args).stdout(Stdio::null()).stderr(log).stdin(Stdio::null());
    if interactive {
        command.stdin(Stdio::inherit()).stdout(Stdio::inherit());
    } else {
        // Ctrl-C is for us; we end QEMU.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
    }
    command.spawn().map_err(|e| Error::new(ErrorKind::Io, format!("cannot start `{}`: {e}", qemu.display())))
}

/// What QEMU itself wrote.
pub fn messages(log: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(log).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::layout::Layout;
    use crate::run::Icount;

    fn shown(spec: &Spec, interactive: bool) -> String {
        let args = args(spec, &|name| format!("DIR/{name}").into(), interactive);
        let words: Vec<_> = args.iter().map(|w| w.to_str().expect("ASCII")).collect();
        words.join(" ").replace(" -", "\n-")
    }

    #[test]
    fn command_lines() {
        let kernel = Kernel { version: "7.2".into(), image: "K".into(), config: None, damage: None };
        let layout = Layout::flat(4).expect("possible");
        let mut spec = Spec { kernel, layout, memory_mib: 1024, kvm: false, icount: None };
        let plain = shown(&spec, false);
        insta::assert_snapshot!(plain);
        spec.icount = Some(Icount { seed: 7, turn_us: 5 });
        let icount = shown(&spec, false);
        let added: Vec<_> = icount.lines().filter(|l| !plain.contains(l)).collect();
        insta::assert_snapshot!(added.join("\n"));
        (spec.icount, spec.kvm) = (None, true);
        assert!(shown(&spec, true).contains("-accel kvm\n-cpu host"));
        assert!(shown(&spec, true).contains("-device virtconsole,chardev=tty"));
    }
}
