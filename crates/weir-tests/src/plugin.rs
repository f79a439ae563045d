// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Components that tests build and load while they run.

use std::path::{Path, PathBuf};

/// Build a C file to a shared object in `folder`.
pub fn build(source: &Path, folder: &Path) -> PathBuf {
    let object = folder.join(source.with_extension("so").file_name().expect("a file"));
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let work = folder.join(format!("{}.build", source.file_stem().expect("a file").to_string_lossy()));
    let done = weir_glue::plugin::build(source, weir_core::HEADERS, &work, &object, &compiler, None)
        .expect("a C compiler");
    assert!(done.ok, "{}", done.said);
    object
}
