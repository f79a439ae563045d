// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `RESULTS.md`: all claims with their verdicts on one page.

use std::fmt::Write as _;

use crate::reproduce::report::{Record, verdicts};

/// The page.
pub fn page(records: &[&Record]) -> String {
    let quick = if records.iter().any(|r| r.quick) { " (reduced sweeps)" } else { "" };
    let claims = || records.iter().flat_map(|r| &r.claims);
    let mut text = format!(
        "# Results{quick}\n\n\
         Written by `runweir reproduce`; do not edit. Each claim of a source with the source's figure, the figure\n\
         measured here, and the verdict. What each experiment does is in the README of its folder.\n\n\
         {} claims: {}. What is calibrated (a cost was fitted to it), vacuous (the effect that it limits is absent here) or our own\n\
         counts as nothing that the sources found.\n\n\
         | experiment | source | verdicts |\n|---|---|---|\n",
        claims().count(),
        verdicts(claims()),
    );
    for r in records {
        let _ = writeln!(
            text,
            "| [{}]({}/README.md): {} | {} | {} |",
            r.id,
            r.id,
            r.title,
            r.source,
            r.verdicts()
        );
    }
    for r in records {
        let _ = write!(text, "\n## {}: {}\n\n{}\n\n", r.id, r.title, r.source);
        text.push_str(&r.markdown());
        for note in &r.notes {
            let _ = write!(text, "\n{note}\n");
        }
        let link = |f: &String| format!("[{f}]({}/{f})", r.id);
        let files: Vec<String> = r.files.iter().map(link).collect();
        if !files.is_empty() {
            let _ = write!(text, "\nData and pictures: {}.\n", files.join(", "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::recorded;

    /// The committed page is what the committed records make.
    #[test]
    fn the_page_is_up_to_date() {
        let all = recorded::all();
        let page = page(&all.iter().collect::<Vec<_>>());
        let committed = include_str!("../../../experiments/RESULTS.md");
        assert!(
            page == committed,
            "regenerate it: `runweir reproduce --page > experiments/RESULTS.md`\n{page}"
        );
    }
}
