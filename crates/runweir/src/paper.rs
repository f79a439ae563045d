// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Files that figures are written to. What the program draws is made of lines and texts; a PNG is made of that by librsvg's `rsvg-convert`,
//! for a library that does it would take as long to build as half of the rest.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use weir_report::picture::{Format, Picture};
use weir_text::packages;

use crate::fault::{Fault, Result};
use crate::outdir::replace_file;

/// What makes PNGs.
const CONVERTER: &str = "rsvg-convert";

/// The format of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    Drawn(Format),
    Png,
}

impl Paper {
    /// By the ending of a file's name. What a PNG needs is looked for here, before anything runs.
    pub fn of(path: &Path) -> Result<Self> {
        if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
            return converter().map(|_| Self::Png);
        }
        Format::of(path).map(Self::Drawn).ok_or_else(|| {
            Fault::user(
                format!("the ending of `{}` is none of .svg, .pdf, .tex, .png", path.display()),
                "give the file one of these endings",
            )
        })
    }

    /// Write a figure, whole or not at all.
    pub fn write(self, picture: &Picture, path: &Path) -> Result<()> {
        let bytes = match self {
            Self::Drawn(format) => picture.bytes(format),
            Self::Png => png(&picture.bytes(Format::Svg))?,
        };
        replace_file(path, &bytes)
    }
}

fn converter() -> Result<PathBuf> {
    packages::find(CONVERTER).ok_or_else(|| {
        Fault::user(
            format!("there is no `{CONVERTER}`, which makes a PNG of a figure"),
            format!("{}; an SVG or a PDF needs nothing", packages::install(&[CONVERTER])),
        )
    })
}

/// A PNG of an SVG, with two pixels for one of its units, on white.
pub fn png(svg: &[u8]) -> Result<Vec<u8>> {
    let started = Command::new(converter()?)
        .args(["--format=png", "--zoom=2", "--background-color=white"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut converter = started.map_err(|e| broken(&e.to_string()))?;
    // It reads to the end before it writes, so neither waits for the other. Where it ends sooner, its status says why.
    let _ = converter.stdin.take().map(|mut stdin| stdin.write_all(svg));
    let done = converter.wait_with_output().map_err(|e| broken(&e.to_string()))?;
    if !done.status.success() || done.stdout.is_empty() {
        return Err(broken(String::from_utf8_lossy(&done.stderr).trim()));
    }
    Ok(done.stdout)
}

fn broken(why: &str) -> Fault {
    Fault::system(format!("`{CONVERTER}` made no PNG: {why}"), "write an SVG or a PDF instead")
}
