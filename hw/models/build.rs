// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! With the feature `verilated`: turns configurations of hw/rtl into C++ with Verilator and links them. Without it: nothing.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "verilated")]
    verilated::build();
}

#[cfg(feature = "verilated")]
mod verilated {
    use std::env;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    /// What is built: name, module, parameters, shim. The names are those of `src/verilated.rs`.
    const MODELS: &[(&str, &str, &[&str], &str)] = &[
        (
            "engine_8x2",
            "weir_laxity",
            &["NumTasks=8", "NumCpus=2", "Select=0", "Hold=1'b1", "Budget=1'b1", "Criticality=1'b1"],
            "engine.cpp",
        ),
        (
            "engine_5x3",
            "weir_laxity",
            &["NumTasks=5", "NumCpus=3", "Select=1", "Hold=1'b1", "Budget=1'b1", "Criticality=1'b1"],
            "engine.cpp",
        ),
        ("engine_16x1", "weir_laxity", &["NumTasks=16", "NumCpus=1", "Select=2", "Hold=1'b1"], "engine.cpp"),
        (
            "engine_64x8",
            "weir_laxity",
            &["NumTasks=64", "NumCpus=8", "Select=0", "Separation=1'b0", "Policies=4'b0111"],
            "engine.cpp",
        ),
        ("array_16", "weir_pq_array", &["NumEntries=16", "KeyWidth=48"], "queue.cpp"),
        ("systolic_16", "weir_pq_systolic", &["NumEntries=16", "KeyWidth=48"], "queue.cpp"),
        ("lists_256", "weir_lists", &[], "calls.cpp"),
        ("kernel_256", "weir_kernel", &[], "calls.cpp"),
        ("kernel_256x3", "weir_kernel", &["NumCpus=3"], "calls.cpp"),
        ("kernel_32x2_keys", "weir_kernel", &["NumThreads=32", "NumCpus=2", "Keys=1'b1"], "calls.cpp"),
        ("ordered_16", "weir_ordered", &["NumThreads=16"], "calls.cpp"),
        ("unified_256", "weir_unified", &["NumLines=16", "Edges=16'h00ff"], "calls.cpp"),
    ];

    pub fn build() {
        let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
        let rtl = here.join("../../hw/rtl").canonicalize().expect("hw/rtl is in the repository");
        let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
        println!("cargo::rerun-if-changed={}", rtl.display());
        println!("cargo::rerun-if-changed=native");
        println!("cargo::rerun-if-env-changed=VERILATOR");
        let verilator = env::var("VERILATOR").unwrap_or_else(|_| "verilator".into());
        let root = PathBuf::from(stdout(Command::new(&verilator).args(["--getenv", "VERILATOR_ROOT"])));

        let support = root.join("include");
        let files = ["verilated.cpp", "verilated_fst_c.cpp", "verilated_threads.cpp"];
        // Optimising large models takes minutes: for long runs only.
        let level = if env::var("PROFILE").is_ok_and(|p| p == "release") { 3 } else { 1 };
        let mut runtime = compiler(&root, level);
        runtime.files(files.iter().map(|f| support.join(f)));
        let shared = text_of(&[here.join("native/model.h")]);
        for (name, module, params, shim) in MODELS {
            let dir = out.join(name);
            let native = here.join("native").join(shim);
            let prefix = format!("V{name}");
            // Compiling a large model takes minutes: only if something that it is made of has changed.
            let own = text_of(std::slice::from_ref(&native));
            let stamp = || format!("{module} {params:?}\n{shared}{own}{}", text_of(&used(&dir, &prefix)));
            let stamped = out.join(format!("{name}.stamp"));
            if std::fs::read_to_string(&stamped).is_ok_and(|s| s == stamp()) {
                println!("cargo::rustc-link-lib=static=weir_{name}");
                println!("cargo::rustc-link-lib=static=weir_{name}_slow");
                continue;
            }
            // Files of an earlier build with other parameters must not be linked.
            let _ = std::fs::remove_dir_all(&dir);
            stdout(
                Command::new(&verilator)
                    .args([
                        "--cc",
                        "--trace-fst",
                        "--x-assign",
                        "fast",
                        "--x-initial",
                        "fast",
                        "-O3",
                        "-Wall",
                    ])
                    .args(["--output-split", "20000", "--output-split-cfuncs", "2000", "--Mdir"])
                    .arg(&dir)
                    .args(["--prefix", &prefix, "-y"])
                    .arg(&rtl)
                    .args(params.iter().map(|p| format!("-G{p}")))
                    .args([rtl.join("weir_regs_pkg.sv"), rtl.join(format!("{module}.sv"))]),
            );
            let unit = out.join(format!("{name}_shim.cpp"));
            let text = format!(
                "#define MODEL {name}\n#define TOP {prefix}\n#include \"{prefix}.h\"\n#include \"{}\"\n",
                native.display()
            );
            std::fs::write(&unit, text).expect("OUT_DIR is writable");
            // What runs once, at the beginning or in a waveform, needs no optimisation.
            let (slow, fast): (Vec<PathBuf>, Vec<PathBuf>) = sorted(&dir, "cpp").into_iter().partition(|f| {
                let file = f.file_name().unwrap_or_default().to_string_lossy();
                file.contains("Slow") || file.contains("__Trace__") || file.contains("__Syms")
            });
            compiler(&root, level).include(&dir).file(&unit).files(fast).compile(&format!("weir_{name}"));
            compiler(&root, 0).include(&dir).files(slow).compile(&format!("weir_{name}_slow"));
            std::fs::write(&stamped, stamp()).expect("OUT_DIR is writable");
        }
        println!("cargo::rustc-link-search=native={}", out.display());
        // Last: the models need it.
        runtime.compile("weir_verilated");
        // Waveforms are compressed.
        println!("cargo::rustc-link-lib=z");
        println!("cargo::rustc-link-lib=pthread");
    }

    fn compiler(root: &Path, level: u32) -> cc::Build {
        let mut cpp = cc::Build::new();
        cpp.cpp(true)
            .std("c++17")
            .opt_level(level)
            .debug(false)
            .warnings(false)
            .include(root.join("include"))
            .include(root.join("include/vltstd"))
            .define("VM_TRACE", "1")
            .define("VM_TRACE_FST", "1")
            .flag_if_supported("-faligned-new");
        cpp
    }

    fn text_of(files: &[PathBuf]) -> String {
        files.iter().map(|f| std::fs::read_to_string(f).expect("the file is readable")).collect()
    }

    /// The modules that Verilator read for a model, as it noted; none if it has not been there yet, or one is gone.
    fn used(dir: &Path, prefix: &str) -> Vec<PathBuf> {
        let notes = std::fs::read_to_string(dir.join(format!("{prefix}__ver.d"))).unwrap_or_default();
        let mut files: Vec<PathBuf> =
            notes.split_whitespace().filter(|w| w.ends_with(".sv")).map(PathBuf::from).collect();
        files.retain(|f| f.exists());
        files.sort();
        files.dedup();
        files
    }

    fn sorted(dir: &Path, extension: &str) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
            .expect("the folder is there")
            .map(|e| e.expect("the folder is readable").path())
            .filter(|p| p.extension().is_some_and(|e| e == extension))
            .collect();
        files.sort();
        files
    }

    fn stdout(command: &mut Command) -> String {
        let shown = format!("{command:?}");
        let output = command
            .output()
            .unwrap_or_else(|e| panic!("{shown}: {e}; install Verilator with `make hw-setup`"));
        assert!(output.status.success(), "{shown}:\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}
