// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A topology as a figure for a paper: black on white, as PDF, TikZ or SVG. What is drawn, and where, is the language's scene.

use weir_lang::draw::{SceneBox, SceneLine, scene};
use weir_lang::{Graph, NodeKind};
use weir_report::picture::{Anchor, BLACK, GREY, PALE, Picture, Shape, Step, text_width};

/// Points: names, what stands below them, topics and labels.
const NAME: f64 = 12.0;
const DETAIL: f64 = 10.0;
const SMALL: f64 = 8.0;
/// Members of a box that have a cell each; more are a number.
const MOST_CELLS: usize = 256;

/// Draw a topology.
pub fn graph_picture(graph: &Graph) -> Picture {
    let scene = scene(graph, false);
    let mut p = Picture::new(scene.width, scene.height, format!("{} on {}", graph.name, graph.machine));
    scene.lines.iter().for_each(|l| pipe(&mut p, l));
    if let Some(y) = scene.rule {
        let steps = vec![Step::Move(16.0, y), Step::Line(scene.width - 16.0, y)];
        p.shapes.push(Shape::Path { steps, fill: None, line: Some(PALE), width: 0.8, dashed: true });
    }
    scene.boxes.iter().for_each(|b| component(&mut p, b));
    p
}

fn pipe(p: &mut Picture, line: &SceneLine) {
    let steps = steps(&line.path);
    p.shapes.push(Shape::Path { steps, fill: None, line: Some(GREY), width: 1.2, dashed: line.postponed });
    let (x, y) = line.tip;
    p.polygon(&[(x, y), (x - 8.0, y - 3.6), (x - 8.0, y + 3.6)], GREY);
    if !line.label.is_empty() {
        p.text(line.label_at, &line.label, SMALL + 1.0, Anchor::End, BLACK);
    }
}

/// The scene's paths have moves, lines and curves, all with absolute places.
fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = path;
    while let Some(kind) = rest.chars().next() {
        let body = &rest[kind.len_utf8()..];
        let end = body.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(body.len());
        let n: Vec<f64> = body[..end].split_whitespace().filter_map(|w| w.parse().ok()).collect();
        match (kind, n.as_slice()) {
            ('M', [x, y]) => steps.push(Step::Move(*x, *y)),
            ('L', [x, y]) => steps.push(Step::Line(*x, *y)),
            ('C', [a, b, c, d, e, f]) => steps.push(Step::Curve([*a, *b, *c, *d, *e, *f])),
            _ => debug_assert!(false, "a step that the scene does not have: {kind}{}", &body[..end]),
        }
        rest = &body[end..];
    }
    steps
}

fn component(p: &mut Picture, b: &SceneBox) {
    let dashed = b.kind == NodeKind::Annotator;
    let at = [b.x, b.y, b.width, b.height];
    p.shapes.push(Shape::Rect { at, fill: Some("#ffffff"), line: Some(BLACK), dashed });
    let middle = b.x + b.width / 2.0;
    let room = b.width - 12.0;
    // The names of CPUs have their number already.
    let several = b.members.len() > 1 && b.kind != NodeKind::Cpus;
    let count = if several { format!(" ×{}", b.members.len()) } else { String::new() };
    let title = fitted(&b.title, NAME, room - text_width(&count, NAME)) + &count;
    let lines = 1 + usize::from(!b.detail.is_empty());
    // The strip and the topics are below the text.
    let below = b.strip.map_or(if b.topics.is_empty() { 0.0 } else { 6.0 }, |s| b.y + b.height - s.y);
    let mut y = b.y + (b.height - below) / 2.0 + 4.0 - 7.0 * (lines - 1) as f64;
    p.text((middle, y), title, NAME, Anchor::Middle, BLACK);
    if !b.detail.is_empty() {
        y += 14.0;
        p.text((middle, y), fitted(&b.detail, DETAIL, room), DETAIL, Anchor::Middle, BLACK);
    }
    if let Some(strip) = b.strip.filter(|_| b.members.len() <= MOST_CELLS) {
        for i in 0..b.members.len() {
            let place = |n: usize| n as f64 * (strip.cell + 1.0);
            let (x, y) = (strip.x + place(i % strip.columns), strip.y + place(i / strip.columns));
            p.rect(x, y, strip.cell, strip.cell, PALE);
        }
    }
    if !b.topics.is_empty() {
        let topics = fitted(&b.topics.join(" "), SMALL, b.width - 8.0);
        let wide = text_width(&topics, SMALL) + 6.0;
        p.rect(middle - wide / 2.0, b.y + b.height - 6.0, wide, 12.0, "#ffffff");
        p.text((middle, b.y + b.height + 3.0), topics, SMALL, Anchor::Middle, BLACK);
    }
}

/// The text, cut where it needs more room.
fn fitted(text: &str, size: f64, room: f64) -> String {
    if text_width(text, size) <= room {
        return text.into();
    }
    let mut kept: String = text.into();
    while !kept.is_empty() && text_width(&kept, size) + text_width("…", size) > room {
        kept.pop();
    }
    kept.trim_end().to_string() + "…"
}

#[cfg(test)]
mod tests {
    use weir_report::picture::Format;

    use super::*;
    use crate::{machine, topology};

    fn picture(name: &str, cpus: &str) -> Picture {
        let machine = machine::resolve(cpus).expect("a preset");
        let source = topology::source(name).expect("in the catalogue");
        graph_picture(&topology::compile(&source, &machine.shape, &[]).expect("right").graph)
    }

    /// Nothing is outside the page, every component has its name, and the same topology gives the same bytes.
    #[test]
    fn the_whole_graph_is_on_the_page() {
        for (name, cpus) in
            [("decentral", "smp-4"), ("decentral", "smp-512"), ("gang", "smp-8"), ("rbed", "smp-2")]
        {
            let p = picture(name, cpus);
            for shape in &p.shapes {
                let points: Vec<(f64, f64)> = match shape {
                    Shape::Rect { at: [x, y, w, h], .. } => vec![(*x, *y), (x + w, y + h)],
                    Shape::Path { steps, .. } => steps
                        .iter()
                        .map(|s| match s {
                            Step::Move(x, y) | Step::Line(x, y) | Step::Curve([.., x, y]) => (*x, *y),
                        })
                        .collect(),
                    Shape::Text { at, .. } => vec![*at],
                };
                for (x, y) in points {
                    let inside = (0.0..=p.width).contains(&x) && (0.0..=p.height).contains(&y);
                    assert!(inside, "{name} on {cpus}: {shape:?}");
                }
            }
            let svg = p.svg();
            assert!(svg.contains("entry") && svg.contains("CPU"), "{svg}");
            assert_eq!(p.bytes(Format::Pdf), picture(name, cpus).bytes(Format::Pdf));
            assert!(p.pdf().starts_with(b"%PDF") && p.tikz().contains("tikzpicture"));
        }
        assert!(picture("decentral", "smp-512").svg().contains("×512"));
    }
}
