// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `RESULTS.md`: all claims with their verdicts on one page.

use std::fmt::Write as _;

use crate::report::{Record, Verdict};

/// The page.
pub fn page(records: &[&Record]) -> String {
    let count = |v: Verdict| records.iter().flat_map(|r| &r.claims).filter(|c| c.verdict == v).count();
    let quick = if records.iter().any(|r| r.quick) { " (reduced sweeps)" } else { "" };
    let mut text = format!(
        "# Results{quick}\n\n\
         Written by `runweir reproduce`; do not edit. Each claim of a source with the source's figure, the figure\n\
         measured here, and the verdict. What each experiment does is in the README of its folder.\n\n\
         {} claims: {} hold, {} hold partly, {} do not{}.\n\n\
         | experiment | source | verdicts |\n|---|---|---|\n",
        records.iter().map(|r| r.claims.len()).sum::<usize>(),
        count(Verdict::Holds),
        count(Verdict::Partly),
        count(Verdict::Fails),
        match count(Verdict::Calibrated) {
            0 => String::new(),
            n => format!("; {n} are calibrated: a cost was fitted to them, so that they are no findings"),
        },
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
    use crate::recorded;

    /// The committed page is what the committed records make.
    #[test]
    fn the_page_is_up_to_date() {
        let all = recorded::all();
        let page = page(&all.iter().collect::<Vec<_>>());
        let committed = include_str!("../../../experiments/RESULTS.md");
        assert!(
            page == committed,
            "write it anew: `runweir reproduce --page > experiments/RESULTS.md`\n{page}"
        );
    }
}
