// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A program and a simulator, from sources.

use std::fmt;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::soc::error::{Error, ErrorKind, Result};
use crate::soc::tools::{Core, Tools};

/// Files of hw/: name below it, text.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/soc.rs"));

/// What schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum System {
    /// Software; the service of an interrupt is executed by the interrupt, above all threads.
    Software,
    /// Software; interrupts are served by threads.
    Threaded,
    /// Lists in software; threads, interrupts and timers are compared by the unified controller.
    Unified,
    /// Threads, synchronisation, interrupts and timers in hardware.
    Hardware,
    /// Periodic tasks by least laxity, decided in software at each tick.
    Tick,
    /// Periodic tasks by least laxity, decided by the scheduling engine.
    Engine,
    /// FreeRTOS on VexRiscv, with tasks that the scheduling engine schedules.
    Freertos,
}

/// What programs are written against: a system has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    Threads,
    Periodic,
    Freertos,
}

impl Interface {
    /// The header that tells a program's.
    fn header(self) -> &'static str {
        match self {
            Self::Threads => "os.h",
            Self::Periodic => "periodic.h",
            Self::Freertos => "FreeRTOS.h",
        }
    }

    /// The systems that have it.
    pub fn systems(self) -> Vec<&'static str> {
        System::ALL.iter().filter(|s| s.interface() == self).map(|s| s.name()).collect()
    }
}

impl System {
    pub const ALL: [System; 7] = [
        Self::Software,
        Self::Threaded,
        Self::Unified,
        Self::Hardware,
        Self::Tick,
        Self::Engine,
        Self::Freertos,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Software => "software",
            Self::Threaded => "threaded",
            Self::Unified => "unified",
            Self::Hardware => "hardware",
            Self::Tick => "tick",
            Self::Engine => "engine",
            Self::Freertos => "freertos",
        }
    }

    /// What its programs are written against.
    pub fn interface(self) -> Interface {
        match self {
            Self::Software | Self::Threaded | Self::Unified | Self::Hardware => Interface::Threads,
            Self::Tick | Self::Engine => Interface::Periodic,
            Self::Freertos => Interface::Freertos,
        }
    }

    /// Its kernel and its scheduler are for more than one CPU.
    fn takes_several_cpus(self) -> bool {
        matches!(self, Self::Hardware | Self::Tick | Self::Engine)
    }

    /// Its cores: what weir_soc_core is.
    pub(crate) fn core(self) -> Core {
        if self == Self::Freertos { Core::VexRiscv } else { Core::PicoRv32 }
    }

    /// What the SoC has beside software: parameter `Scheduler` of weir_soc.
    fn scheduler(self) -> u32 {
        match self {
            Self::Software | Self::Threaded | Self::Tick => 0,
            Self::Unified => 1,
            Self::Hardware => 2,
            Self::Engine | Self::Freertos => 3,
        }
    }

    /// Parts of its kernel, beside board.c, with the linker script first.
    fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Software | Self::Threaded => &["program.ld", "boot.S", "common.c", "sync.c", "software.c"],
            Self::Unified => &["program.ld", "boot.S", "common.c", "sync.c", "unified.c"],
            Self::Hardware => &["program.ld", "boot.S", "common.c", "hardware.c"],
            Self::Tick => &["program.ld", "boot.S", "common.c", "tick.c"],
            Self::Engine => &["program.ld", "boot.S", "common.c", "engine.c"],
            Self::Freertos => &["freertos.ld", "start.S", "system.c", "weir_freertos.c"],
        }
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A program.
#[derive(Clone, Debug)]
pub struct App {
    pub name: String,
    /// C, against one of the interfaces.
    pub source: String,
}

impl App {
    /// One of [`apps`] by its name, or a file of C.
    ///
    /// # Errors
    /// The user's: there is neither.
    pub fn named(name: &str) -> Result<Self> {
        if let Some(app) = apps().into_iter().find(|a| a.name == name) {
            return Ok(app);
        }
        if !name.ends_with(".c") {
            let known: Vec<String> = apps().into_iter().map(|a| a.name).collect();
            return Err(Error::new(
                ErrorKind::Input,
                format!("there is no program `{}`", name.escape_debug()),
                format!("name a .c file, or one of {}", known.join(", ")),
            ));
        }
        let source = fs::read_to_string(name).map_err(|e| {
            Error::new(ErrorKind::Input, format!("cannot read {name}: {e}"), "name a readable file of C")
        })?;
        let stem = Path::new(name).file_stem().map_or(name.into(), |s| s.to_string_lossy().into_owned());
        Ok(Self { name: stem, source })
    }

    /// What it is, by its first comment after the licence.
    pub fn summary(&self) -> String {
        let text = self.source.lines().skip_while(|l| !l.trim_start().starts_with("* ")).take(12);
        let text: Vec<&str> = text.map(|l| l.trim().trim_start_matches("* ").trim()).collect();
        let text = text.join(" ");
        text.split_once('.').map_or(text.clone(), |(first, _)| first.to_string())
    }

    /// What it is written against, by what it includes.
    pub fn interface(&self) -> Interface {
        let includes = |i: &Interface| self.source.contains(&format!("\"{}\"", i.header()));
        [Interface::Freertos, Interface::Periodic].into_iter().find(includes).unwrap_or(Interface::Threads)
    }
}

/// The programs that come with Runweir.
pub fn apps() -> Vec<App> {
    let of = |(name, text): &(&str, &str)| {
        let name = name.strip_prefix("soc/apps/")?.strip_suffix(".c")?;
        Some(App { name: name.into(), source: (*text).into() })
    };
    SOURCES.iter().filter_map(of).collect()
}

/// What is to be simulated.
#[derive(Clone, Debug)]
pub struct Options {
    pub system: System,
    pub cpus: u32,
    /// Tasks of the scheduling engine: at least those of the program.
    pub tasks: u32,
    pub app: App,
    /// Macros of the program: name, value.
    pub defines: Vec<(String, String)>,
    /// The kernel reports what it does, at the price of a store each.
    pub probes: bool,
    /// End after so many clocks.
    pub limit: u64,
}

impl Options {
    pub fn new(system: System, app: App) -> Self {
        Self { system, cpus: 1, tasks: 16, app, defines: Vec::new(), probes: true, limit: 2_000_000_000 }
    }
}

/// A system that is ready to run.
pub struct Soc {
    pub(crate) simulator: PathBuf,
    pub(crate) image: PathBuf,
    pub(crate) task_begin: u32,
    pub(crate) cpus: u32,
    pub(crate) limit: u64,
    pub(crate) probes: bool,
    // Holds the image.
    _work: TempDir,
}

impl Soc {
    /// Compile what is not in the cache; `progress` is called with what takes long.
    ///
    /// # Errors
    /// Of the user: the program does not fit the system or cannot be compiled. Else tools are missing, or fail.
    pub fn prepare(options: &Options, progress: &dyn Fn(&str)) -> Result<Self> {
        let (app, system) = (&options.app, options.system);
        if app.interface() != system.interface() {
            return Err(Error::new(
                ErrorKind::Input,
                format!("`{}` does not run on the system `{system}`", app.name),
                format!("choose one of {}", app.interface().systems().join(", ")),
            ));
        }
        if options.cpus > 1 && !system.takes_several_cpus() {
            let others: Vec<_> = System::ALL
                .iter()
                .filter(|s| s.interface() == system.interface() && s.takes_several_cpus())
                .map(|s| format!(", or choose `{s}`"))
                .collect();
            return Err(Error::new(
                ErrorKind::Input,
                format!("the system `{system}` has one CPU"),
                format!("leave --cpus out{}", others.concat()),
            ));
        }
        let tools = Tools::find(system)?;
        let simulator = simulator(&tools, options, progress)?;
        let work = tempfile::Builder::new().prefix("runweir-soc-").tempdir();
        let work = work.map_err(|e| Error::io("make a folder in", &std::env::temp_dir(), &e))?;
        let task_begin = firmware(&tools, options, work.path())?;
        let image = work.path().join("program.hex");
        let (cpus, limit, probes) = (options.cpus, options.limit, options.probes);
        Ok(Self { simulator, image, task_begin, cpus, limit, probes, _work: work })
    }
}

/// Write the sources whose names begin so into a folder.
fn unpack(dir: &Path, prefix: &str) -> Result<()> {
    for (name, text) in SOURCES.iter().filter(|(n, _)| n.starts_with(prefix)) {
        let name = Path::new(name).file_name().expect("a file");
        let path = dir.join(name);
        fs::write(&path, text).map_err(|e| Error::io("write", &path, &e))?;
    }
    Ok(())
}

fn cache() -> Result<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|h| h.join(".cache")));
    let dir = base
        .ok_or_else(|| {
            Error::new(
                ErrorKind::System,
                "there is no place for the simulator: neither XDG_CACHE_HOME nor HOME is set",
                "set one of them to a folder",
            )
        })?
        .join("runweir/soc");
    fs::create_dir_all(&dir).map_err(|e| Error::io("make", &dir, &e))?;
    Ok(dir)
}

/// The program that simulates this configuration, from the cache or built now.
fn simulator(tools: &Tools, options: &Options, progress: &dyn Fn(&str)) -> Result<PathBuf> {
    let core = fs::read(&tools.core).map_err(|e| Error::io("read", &tools.core, &e))?;
    let version =
        Command::new(&tools.verilator).arg("--version").output().map(|o| o.stdout).unwrap_or_default();
    let scheduler = options.system.scheduler();
    let tasks = if scheduler == 3 { options.tasks } else { 16 };
    let mut hasher = DefaultHasher::new();
    for (name, text) in SOURCES
        .iter()
        .filter(|(n, _)| n.starts_with("rtl/") || n.ends_with(".cpp") || n.starts_with("soc/weir_soc"))
    {
        (name, text).hash(&mut hasher);
    }
    (core, version).hash(&mut hasher);
    let kind = options.system.core().name();
    let name = format!("soc-{kind}-{scheduler}-{}-{tasks}-{:016x}", options.cpus, hasher.finish());
    let dir = cache()?;
    let program = dir.join(&name);
    if program.is_file() {
        return Ok(program);
    }
    // One process builds; others that come meanwhile wait and find it.
    let path = dir.join("lock");
    let lock = File::create(&path).map_err(|e| Error::io("make", &path, &e))?;
    lock.lock().map_err(|e| Error::io("lock", &path, &e))?;
    if program.is_file() {
        return Ok(program);
    }
    progress("building the simulator, once for this configuration");
    let work = tempfile::Builder::new()
        .prefix(".new-")
        .tempdir_in(&dir)
        .map_err(|e| Error::io("make a folder in", &dir, &e))?;
    unpack(work.path(), "rtl/")?;
    let adapter = format!("weir_soc_core_{kind}.sv");
    for file in ["weir_soc.sv", "weir_soc_device.sv", "weir_soc_clint.sv", &adapter, "sim.cpp"] {
        let text = SOURCES.iter().find(|(n, _)| *n == format!("soc/{file}")).expect("it is embedded").1;
        let path = work.path().join(file);
        fs::write(&path, text).map_err(|e| Error::io("write", &path, &e))?;
    }
    let mut verilate = Command::new(&tools.verilator);
    verilate.current_dir(work.path());
    verilate.args([
        "--cc",
        "--exe",
        "--build",
        "-j",
        "2",
        "-O3",
        "--x-assign",
        "fast",
        "--x-initial",
        "fast",
    ]);
    // The core's own style is not ours to mend.
    verilate.args(["-Wno-fatal", "-Wno-lint", "-Wno-TIMESCALEMOD", "--noassert"]);
    // But a parameter that a module refuses is an error.
    verilate.arg("-Werror-USERERROR");
    verilate
        .args(["-MAKEFLAGS", "OPT_FAST=-O3 OPT_SLOW=-O0", "-CFLAGS"])
        .arg(format!("-DCPUS={}", options.cpus));
    verilate.arg(format!("-GNumCpus={}", options.cpus)).arg(format!("-GScheduler={scheduler}"));
    verilate.arg(format!("-GNumTasks={tasks}")).arg("-GHold=1'b1");
    verilate
        .args(["-y", ".", "--Mdir", "out", "--top-module", "weir_soc", "weir_regs_pkg.sv"])
        .args([&adapter, "weir_soc.sv"])
        .arg(&tools.core)
        .arg("sim.cpp");
    let done = verilate.output().map_err(|e| Error::io("run", &tools.verilator, &e))?;
    if !done.status.success() {
        let text = String::from_utf8_lossy(&done.stderr);
        let first = text.lines().find(|l| l.contains("rror")).unwrap_or("no message");
        return Err(Error::new(
            ErrorKind::System,
            format!("Verilator cannot build the simulator: {first}"),
            "Verilator 5.006 or later and a C++ compiler are needed; `make hw-setup` installs them",
        ));
    }
    let built = work.path().join("out/Vweir_soc");
    fs::rename(&built, &program).map_err(|e| Error::io("move", &built, &e))?;
    Ok(program)
}

/// FreeRTOS with its RISC-V port, from the folder of its kernel. Ours come first among the folders with headers (portmacro.h).
fn freertos(compile: &mut Command, kernel: &Path) {
    let port = kernel.join("portable/GCC/RISC-V");
    // Of the instructions for control registers the compiler knows in this version of the architecture without being told, and
    // has its library for it. Headers of C are of picolibc. Traps and tasks are told apart by their functions' sections.
    compile.args(["--specs=picolibc.specs", "-misa-spec=2.2", "-ffunction-sections", "-Wl,--gc-sections"]);
    // The port multiplies an address by 64 bits.
    compile.arg("-Wno-int-to-pointer-cast");
    for folder in [
        kernel.join("include"),
        port.join("chip_specific_extensions/RISCV_MTIME_CLINT_no_extensions"),
        port.clone(),
    ] {
        compile.arg("-I").arg(folder);
    }
    for file in ["tasks.c", "list.c", "queue.c", "event_groups.c", "timers.c", "portable/MemMang/heap_4.c"] {
        compile.arg(kernel.join(file));
    }
    compile.arg(port.join("port.c")).arg(port.join("portASM.S"));
}

/// Compile kernel and program into program.hex; gives the address from which code of threads lies.
fn firmware(tools: &Tools, options: &Options, work: &Path) -> Result<u32> {
    unpack(work, "soc/kernel/")?;
    unpack(work, "soc/freertos/")?;
    unpack(work, "sw/")?;
    let app = work.join("app.c");
    // The macros are the program's alone: the kernel has names of its own.
    let mut text: String = options.defines.iter().map(|(n, v)| format!("#define {n} {v}\n")).collect();
    text.push_str(&format!(
        "#line 1 \"{}.c\"\n{}",
        options.app.name.replace(['"', '\\'], "_"),
        options.app.source
    ));
    fs::write(&app, text).map_err(|e| Error::io("write", &app, &e))?;
    let mut compile = Command::new(format!("{}gcc", tools.cross));
    compile.current_dir(work);
    compile.args([
        "-march=rv32im",
        "-mabi=ilp32",
        "-O2",
        "-ffreestanding",
        "-nostdlib",
        "-nostartfiles",
        "-Wall",
    ]);
    compile.arg("-Wl,--no-warn-rwx-segments").arg(format!("-DCPUS={}", options.cpus)).arg("-I.");
    if options.system == System::Threaded {
        compile.arg("-DTHREADED");
    }
    if !options.probes {
        compile.arg("-DNO_PROBES");
    }
    compile.arg("-T").args(options.system.parts()).args(["board.c", "app.c"]);
    if let Some(kernel) = &tools.freertos {
        freertos(&mut compile, kernel);
    }
    compile.args(["-lgcc", "-o", "program.elf"]);
    let done = compile.output().map_err(|e| Error::io("run the compiler in", work, &e))?;
    if !done.status.success() {
        let text = String::from_utf8_lossy(&done.stderr);
        let first = text.lines().find(|l| l.contains("rror")).or(text.lines().next()).unwrap_or("no message");
        return Err(Error::new(
            ErrorKind::Input,
            format!("`{}` cannot be compiled: {}", options.app.name, first.trim()),
            "a program is one file of C against os.h or, for the systems tick and engine, periodic.h of hw/soc/kernel; for freertos \
             against FreeRTOS.h and weir_freertos.h",
        ));
    }
    let tool = |name: &str, args: &[&str]| -> Result<String> {
        let program = format!("{}{name}", tools.cross);
        let done = Command::new(&program).current_dir(work).args(args).output();
        let done = done.map_err(|e| Error::io("run", Path::new(&program), &e))?;
        if !done.status.success() {
            let why = String::from_utf8_lossy(&done.stderr).trim().to_string();
            return Err(Error::new(
                ErrorKind::System,
                format!("{program} failed: {why}"),
                "install it again",
            ));
        }
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    };
    tool("objcopy", &["-O", "verilog", "--verilog-data-width=4", "program.elf", "program.hex"])?;
    let symbols = tool("nm", &["program.elf"])?;
    let found = symbols.lines().find_map(|l| l.strip_suffix(" task_begin")?.split(' ').next());
    Ok(found.and_then(|a| u32::from_str_radix(a, 16).ok()).expect("the linker script has it"))
}
