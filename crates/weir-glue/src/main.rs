// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Writes the translation unit of a target to stdout: `weir-glue process|plain|bpf [ROOT]`.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let target = match args.next().as_deref() {
        Some("process") => weir_glue::Target::Process,
        Some("plain") => weir_glue::Target::Plain,
        Some("bpf") => weir_glue::Target::Bpf,
        _ => {
            eprintln!("usage: weir-glue process|plain|bpf [ROOT]");
            return ExitCode::from(2);
        }
    };
    let root = PathBuf::from(args.next().unwrap_or_else(|| ".".into()));
    let unit = root.canonicalize().and_then(|root| {
        let components = weir_glue::scan(&root)?;
        weir_glue::unit(&root, &components, target)
    });
    match unit {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("weir-glue: {}: {e}", root.display());
            ExitCode::from(1)
        }
    }
}
