// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The files in `machines/`.

use super::super::Machine;

#[test]
fn every_catalogue_machine_reads_and_says_what_it_is() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines");
    let mut text = Vec::new();
    let mut paths: Vec<_> = std::fs::read_dir(dir)
        .expect("the catalogue is part of the repository")
        .map(|e| e.expect("it can be listed").path())
        .filter(|p| p.extension().is_some_and(|e| e == "xml" || e == "toml"))
        .collect();
    paths.sort();
    for path in paths {
        let name = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
        let content = std::fs::read_to_string(&path).expect("it is text");
        let m = Machine::from_text(&name, &content, &name).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(m.shape.name, name, "a catalogue machine is called as its file");
        assert!(content.contains("SPDX-License-Identifier"), "{name}");
        assert_eq!(Machine::from_text("x", &m.to_toml(), "x").as_ref(), Ok(&m));
        text.push(format!("{name:12} {}", m.describe()));
    }
    insta::assert_snapshot!(text.join("\n"));
}
