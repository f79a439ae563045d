// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A comparison as a figure for a paper: a group of bars for each figure, relative to the first topology, with the values.

use crate::compare::{Better, Metric, columns, shown};
use crate::picture::{Anchor, BLACK, GREY, Ink, PALE, Picture, text_width};
use crate::stats::MeanCi;
use crate::summary::Summary;
use crate::text::clip;

/// Points.
const WIDTH: f64 = 640.0;
const BAR: f64 = 9.0;
const GAP: f64 = 12.0;
/// Where a bar of the first topology's length ends, as a part of the room; longer ones than [`MOST`] times it are cut.
const MOST: f64 = 2.5;
const INKS: [Ink; 6] = ["#4269d0", "#efb118", "#2fa58c", "#c9559b", "#8a55d7", "#96705a"];

/// Draw the figures in which one topology can be better than another.
pub fn compare_picture(runs: &[Summary]) -> Picture {
    let runs: Vec<&Summary> = runs.iter().collect();
    let columns = columns(&runs);
    let of = |m: &Metric| -> Vec<MeanCi> {
        columns.iter().map(|c| MeanCi::of(&c.runs.iter().map(|s| (m.of)(s)).collect::<Vec<_>>())).collect()
    };
    let lines: Vec<(&Metric, Vec<MeanCi>)> =
        shown(&runs).filter(|m| m.better != Better::None).map(|m| (m, of(m))).collect();
    let title = runs.first().map_or_else(String::new, |s| format!("{} on {}", s.workload, s.machine));
    let top = 46.0;
    let group = BAR * columns.len() as f64 + GAP;
    let mut p = Picture::new(WIDTH, top + group * lines.len() as f64 + 28.0, title.clone());
    p.heading((10.0, 16.0), clip(&title, 80), 10.0);
    let mut x = 10.0;
    for (i, c) in columns.iter().enumerate() {
        let name = clip(&c.title, 28);
        p.rect(x, 26.0, 9.0, 8.0, INKS[i % INKS.len()]);
        p.text((x + 12.0, 33.0), name.clone(), 8.0, Anchor::Start, BLACK);
        x += text_width(&name, 8.0) + 26.0;
    }
    let (left, right) = (104.0, WIDTH - 110.0);
    let one = left + (right - left) / MOST;
    for (line, (metric, cells)) in lines.iter().enumerate() {
        let y = top + group * line as f64;
        p.text((left - 6.0, y + group / 2.0 - 2.0), metric.name, 8.5, Anchor::End, BLACK);
        let base = cells[0].mean;
        for (i, cell) in cells.iter().enumerate() {
            let ratio = if base == 0.0 { f64::from(cell.mean != 0.0) * MOST } else { cell.mean / base };
            let end = left + (one - left) * ratio.min(MOST);
            let at = y + BAR * i as f64;
            p.rect(left, at, (end - left).max(0.4), BAR - 1.5, INKS[i % INKS.len()]);
            if cell.ci95 > 0.0 && base > 0.0 {
                let half = (one - left) * (cell.ci95 / base);
                let (a, b) = ((end - half).max(left), (end + half).min(right));
                p.line((a, at + 3.75), (b, at + 3.75), BLACK, 0.7);
            }
            let cut = if ratio > MOST { "… " } else { "" };
            p.text(
                (right + 6.0, at + 7.0),
                format!("{cut}{}", metric.show_ci(cell)),
                7.0,
                Anchor::Start,
                BLACK,
            );
        }
    }
    let floor = top + group * lines.len() as f64 - GAP / 2.0;
    p.line((one, top - 4.0), (one, floor), GREY, 0.6);
    p.line((left, top - 4.0), (left, floor), PALE, 0.6);
    let names = columns.first().map_or_else(String::new, |c| clip(&c.title, 28));
    p.text((one, floor + 12.0), format!("1.0 = {names}"), 8.0, Anchor::Middle, BLACK);
    p.text(
        (left, floor + 24.0),
        "bars: mean, lines: half of the 95 % confidence interval; left of 1.0 is less",
        7.0,
        Anchor::Start,
        GREY,
    );
    p
}
