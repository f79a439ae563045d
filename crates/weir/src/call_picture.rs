// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A call graph as a figure: calls of the runtime on the left, what they call to the right of them.

use weir_lang::draw::{Point, Size, layout};
use weir_report::picture::{Anchor, BLACK, GREY, Ink, Picture, Shape, Step, text_width};
use weir_report::{CallGraph, CallPart};

/// Points: names, and what stands below them and at arrows.
const NAME: f64 = 12.0;
const SMALL: f64 = 9.0;
const MARGIN: f64 = 16.0;
/// Between two columns, with room for what stands at an arrow.
const GAP: f64 = 130.0;
/// Distance of arrows that reach a box.
const APART: f64 = 13.0;

/// Draw a call graph.
pub fn call_picture(graph: &CallGraph) -> Picture {
    let ahead = forward(graph);
    let lines: Vec<(usize, usize)> =
        ahead.iter().map(|e| (graph.edges[*e].from, graph.edges[*e].to)).collect();
    let sizes: Vec<Size> = (0..graph.parts.len()).map(|i| size(&graph.parts[i], i, &lines)).collect();
    let plan = layout(&sizes, &lines, &vec![false; sizes.len()], GAP);
    let (width, height) = (plan.width + 2.0 * MARGIN, plan.height + 2.0 * MARGIN + NAME + 8.0);
    let title = graph.title();
    let mut p =
        Picture::new(width.max(text_width(&title, NAME) + 2.0 * MARGIN + 20.0), height, title.clone());
    p.heading((MARGIN, MARGIN + NAME - 2.0), title, NAME);
    let down = MARGIN + NAME + 8.0;
    let moved = |q: &Point| (q.x + MARGIN, q.y + down);
    let boxes: Vec<(f64, f64)> = plan.boxes.iter().map(moved).collect();
    let bends: Vec<Vec<(f64, f64)>> = plan.bends.iter().map(|b| b.iter().map(moved).collect()).collect();
    for (i, way) in ways(&lines, &sizes, &boxes, &bends).iter().enumerate() {
        arrow(&mut p, way, &graph.edges[ahead[i]].label());
    }
    for ((part, size), at) in graph.parts.iter().zip(&sizes).zip(&boxes) {
        part_box(&mut p, part, *size, *at, graph.shade(part));
    }
    p
}

/// The edges that lead on: without those back to a part from which a way leads here, which have no place in columns. The table has them.
fn forward(graph: &CallGraph) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    for (i, edge) in graph.edges.iter().enumerate() {
        let mut seen = vec![false; graph.parts.len()];
        let mut next = vec![edge.to];
        while let Some(at) = next.pop() {
            if !std::mem::replace(&mut seen[at], true) {
                next.extend(kept.iter().map(|k| &graph.edges[*k]).filter(|e| e.from == at).map(|e| e.to));
            }
        }
        if !seen[edge.from] {
            kept.push(i);
        }
    }
    kept
}

/// Room for the text, and for all arrows.
fn size(part: &CallPart, index: usize, lines: &[(usize, usize)]) -> Size {
    let [first, second] = part.lines();
    let texts = [(&part.name, NAME), (&first, SMALL), (&second, SMALL)];
    let width = texts.iter().map(|(text, size)| text_width(text, *size)).fold(0.0, f64::max) + 20.0;
    let arrive = lines.iter().filter(|l| l.1 == index).count();
    Size { width, height: (arrive as f64 * APART + 6.0).max(46.0) }
}

/// The points of each line, spread over the side of the box that it reaches in the order in which they come.
fn ways(
    lines: &[(usize, usize)],
    sizes: &[Size],
    boxes: &[(f64, f64)],
    bends: &[Vec<(f64, f64)>],
) -> Vec<Vec<(f64, f64)>> {
    let comes_from = |i: usize| bends[i].last().copied().unwrap_or(boxes[lines[i].0]).1;
    let end = |i: usize| {
        let to = lines[i].1;
        let mut all: Vec<usize> = (0..lines.len()).filter(|o| lines[*o].1 == to).collect();
        all.sort_by(|a, b| comes_from(*a).total_cmp(&comes_from(*b)).then(a.cmp(b)));
        let at = all.iter().position(|o| *o == i).unwrap_or(0) as f64;
        let (x, y) = boxes[to];
        (x - sizes[to].width / 2.0, y + (at - (all.len() as f64 - 1.0) / 2.0) * APART)
    };
    let way = |i: usize| {
        let from = lines[i].0;
        let start = (boxes[from].0 + sizes[from].width / 2.0, boxes[from].1);
        std::iter::once(start).chain(bends[i].iter().copied()).chain([end(i)]).collect()
    };
    (0..lines.len()).map(way).collect()
}

fn arrow(p: &mut Picture, way: &[(f64, f64)], label: &str) {
    let (x, y) = way[way.len() - 1];
    // The last stretch is level, so that there is room for the label above it.
    let level = x - text_width(label, SMALL) - 14.0;
    let mut steps = vec![Step::Move(way[0].0, way[0].1)];
    let mut from = way[0];
    for &to in way[1..way.len() - 1].iter().chain([&(level, y)]) {
        let half = (from.0 + to.0) / 2.0;
        steps.push(Step::Curve([half, from.1, half, to.1, to.0, to.1]));
        from = to;
    }
    steps.push(Step::Line(x - 6.0, y));
    p.shapes.push(Shape::Path { steps, fill: None, line: Some(GREY), width: 1.0, dashed: false });
    p.polygon(&[(x, y), (x - 7.0, y - 3.0), (x - 7.0, y + 3.0)], GREY);
    p.text((x - 10.0, y - 2.5), label, SMALL, Anchor::End, BLACK);
}

fn part_box(p: &mut Picture, part: &CallPart, size: Size, (x, y): (f64, f64), fill: Ink) {
    let at = [x - size.width / 2.0, y - size.height / 2.0, size.width, size.height];
    p.shapes.push(Shape::Rect { at, fill: Some(fill), line: Some(BLACK), dashed: false });
    let [first, second] = part.lines();
    p.text((x, y - 8.0), &part.name, NAME, Anchor::Middle, BLACK);
    p.text((x, y + 5.0), first, SMALL, Anchor::Middle, BLACK);
    p.text((x, y + 17.0), second, SMALL, Anchor::Middle, BLACK);
}

#[cfg(test)]
mod tests {
    use weir_report::{CallEdge, CallKind};

    use super::*;

    fn graph(parts: usize, edges: &[(usize, usize)]) -> CallGraph {
        let part = |i: usize| CallPart {
            name: format!("part {i}"),
            kind: CallKind::Framework,
            calls: 3,
            total_ns: 1_000 * (parts - i) as u64,
            mean_ns: 10.0,
            own_ns: 5,
        };
        let edge =
            |(from, to): &(usize, usize)| CallEdge { from: *from, to: *to, calls: 7, ns: 70, mean_ns: 10.0 };
        CallGraph {
            scheduler_ns: 1_000 * parts as u64,
            parts: (0..parts).map(part).collect(),
            edges: edges.iter().map(edge).collect(),
            ..CallGraph::default()
        }
    }

    /// Every part and arrow is on the page, edges back excepted, and no two boxes overlap.
    #[test]
    fn the_whole_graph_is_on_the_page() {
        for (parts, edges, arrows) in [
            (0, vec![], 0),
            (1, vec![(0, 0)], 0),
            (4, vec![(0, 1), (1, 2), (2, 1), (0, 2), (2, 3)], 4),
            (9, (0..8).map(|i| (i, 8)).collect(), 8),
        ] {
            let p = call_picture(&graph(parts, &edges));
            let texts = |what: &str| {
                p.shapes
                    .iter()
                    .filter(|s| matches!(s, Shape::Text { text, .. } if text.starts_with(what)))
                    .count()
            };
            assert_eq!((texts("part "), texts("7 ×")), (parts, arrows), "{edges:?}");
            let boxes: Vec<[f64; 4]> = p
                .shapes
                .iter()
                .filter_map(|s| if let Shape::Rect { at, .. } = s { Some(*at) } else { None })
                .collect();
            for (i, [x, y, w, h]) in boxes.iter().enumerate() {
                assert!(*x >= 0.0 && *y >= 0.0 && x + w <= p.width && y + h <= p.height);
                for [ox, oy, ow, oh] in &boxes[..i] {
                    assert!(x + w <= *ox || ox + ow <= *x || y + h <= *oy || oy + oh <= *y, "{edges:?}");
                }
            }
            assert_eq!(p.svg(), call_picture(&graph(parts, &edges)).svg());
        }
    }
}
