// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! From the user's text to a machine: preset, host, catalogue name or file.

use std::path::Path;

use super::{Machine, host, hwloc, preset, toml_read};
use crate::error::{Error, Result};

/// How files are read; the command line passes `std::fs::read`, tests pass a table.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> std::io::Result<Vec<u8>>;

/// Largest machine file that is read, bytes; 4,096 CPUs in hwloc's form are about 5 MB.
const MAX_FILE: usize = 64 << 20;

impl Machine {
    /// The machine that `spec` names: a preset, `host`, a name in `catalogue` (pairs of name and
    /// text), or the path of an hwloc XML or a TOML file, distinguished by its first character.
    ///
    /// A path is what ends in `.xml` or `.toml` or contains a `/`.
    pub fn resolve(spec: &str, read: ReadFile<'_>, catalogue: &[(&str, &str)]) -> Result<Self> {
        let is_path = spec.contains('/')
            || Path::new(spec)
                .extension()
                .is_some_and(|e| e.eq_ignore_ascii_case("xml") || e.eq_ignore_ascii_case("toml"));
        if !is_path {
            if spec == "host" {
                return host::read(read);
            }
            if let Some((name, text)) = catalogue.iter().find(|(name, _)| *name == spec) {
                return Self::from_text(name, text, name);
            }
            if let Some(machine) = preset::preset(spec) {
                return machine;
            }
            let names: Vec<&str> = catalogue.iter().map(|(n, _)| *n).collect();
            return Err(Error::machine(format!("there is no machine `{spec}`"))
                .help(preset::suggestion(spec, &names)));
        }
        let bytes = read(spec).map_err(|e| Error::io(spec, "machine file", &e))?;
        if bytes.len() > MAX_FILE {
            return Err(Error::machine(format!("`{spec}` is larger than {} MiB", MAX_FILE >> 20))
                .help("a machine file is an hwloc XML export (`lstopo --of xml`) or a TOML file"));
        }
        let text = String::from_utf8(bytes).map_err(|e| {
            Error::machine(format!(
                "`{spec}` is not text: byte {} is not UTF-8",
                e.utf8_error().valid_up_to()
            ))
            .help("export the machine with `lstopo --of xml FILE.xml`, or write a TOML file")
        })?;
        let stem = Path::new(spec).file_stem().map_or(spec.into(), |s| s.to_string_lossy());
        Self::from_text(spec, &text, &stem)
    }

    /// Read a machine from the text of an hwloc XML file or a TOML file. `source` names the text in
    /// diagnostics; `name` is the machine's name where the text gives none.
    pub fn from_text(source: &str, text: &str, name: &str) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match text.trim_start().starts_with('<') {
            true => hwloc::read(source, text, name),
            false => toml_read::read(source, text, name),
        }
    }
}
