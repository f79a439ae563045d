// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What `runweir --version` says: the version, the commit of a release, the optional parts, and on which kernels a scheduler runs.

use std::sync::LazyLock;

/// The optional parts that this program was built with, in the words of `Cargo.toml`.
const PARTS: [(&str, bool); 8] = [
    ("cosim", cfg!(feature = "cosim")),
    ("live", cfg!(feature = "live")),
    ("mcp", cfg!(feature = "mcp")),
    ("perf", cfg!(feature = "perf")),
    ("studio", cfg!(feature = "studio")),
    ("testbench", cfg!(feature = "testbench")),
    ("top", cfg!(feature = "top")),
    ("vm", cfg!(feature = "vm")),
];

#[cfg(feature = "live")]
const KERNELS: &str = weir_linux::diagnose::KERNELS;
#[cfg(not(feature = "live"))]
const KERNELS: &str = "none: built without `live`";

static LONG: LazyLock<String> = LazyLock::new(|| {
    let parts: Vec<&str> = PARTS.iter().filter(|(_, there)| *there).map(|(name, _)| *name).collect();
    format!(
        "{}\ncommit   {}\nparts    {}\nkernels  {KERNELS}",
        env!("CARGO_PKG_VERSION"),
        env!("RUNWEIR_COMMIT"),
        if parts.is_empty() { "none".to_owned() } else { parts.join(" ") }
    )
});

/// The first line is `runweir VERSION`; scripts read that. `-V` prints it alone.
pub fn long() -> &'static str {
    &LONG
}
