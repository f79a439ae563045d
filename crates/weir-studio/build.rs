// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Packs the page's script, which is a third of its size then.

use std::path::Path;
use std::{env, fs};

fn main() {
    let script = "ui/dist/studio.js";
    println!("cargo:rerun-if-changed={script}");
    let text = fs::read(script).expect("the page is checked in");
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("studio.js.z"), weir_text::packed::pack(&text))
        .expect("the build directory is writable");
}
