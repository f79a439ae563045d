// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The arrangement of a picture: the flow from left to right, annotators in a row below it.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::fold::{Line, Picture};
use super::layout::{Layout, Point, Size, layout};
use crate::graph::NodeKind;

pub(crate) const MARGIN: f64 = 16.0;
/// Distance of arrows that leave or reach a box.
const ARROW_GAP: f64 = 9.0;
/// Gap between the graph and the row of annotators.
const ROW: f64 = 34.0;
/// Gap between annotators.
const BESIDE: f64 = 14.0;

/// A picture with places.
pub(crate) struct Arranged {
    pub sizes: Vec<Size>,
    /// Middle of each box.
    pub boxes: Vec<Point>,
    /// Points of each line, to the tip of its arrow.
    pub lines: Vec<Vec<Point>>,
    /// Height of the line between flow and annotators, where there are any.
    pub rule: Option<f64>,
    pub width: f64,
    pub height: f64,
}

/// Find the places; `sizes` are those that the boxes need, `gap` lies between two layers.
pub(crate) fn arrange(picture: &Picture, mut sizes: Vec<Size>, gap: f64) -> Arranged {
    let (flow, apart): (Vec<usize>, Vec<usize>) =
        (0..picture.boxes.len()).partition(|i| picture.boxes[*i].kind != NodeKind::Annotator);
    for (i, size) in sizes.iter_mut().enumerate() {
        // Room for the arrows of a fan.
        let ends = |at: fn(&Line) -> usize| picture.lines.iter().filter(|l| at(l) == i).count();
        let most = ends(|l| l.from).max(ends(|l| l.to));
        size.height = size.height.max(most.min(40) as f64 * ARROW_GAP + 8.0);
    }
    let index: BTreeMap<usize, usize> = flow.iter().enumerate().map(|(new, old)| (*old, new)).collect();
    let lines: Vec<(usize, usize)> = picture.lines.iter().map(|l| (index[&l.from], index[&l.to])).collect();
    let flow_sizes: Vec<Size> = flow.iter().map(|i| sizes[*i]).collect();
    let last: Vec<bool> = flow.iter().map(|i| picture.boxes[*i].kind == NodeKind::Cpus).collect();
    let plan = layout(&flow_sizes, &lines, &last, gap);

    let row_width: f64 = apart.iter().map(|i| sizes[*i].width + BESIDE).sum::<f64>() - BESIDE;
    let inner = plan.width.max(row_width).max(0.0);
    let row_height = apart.iter().map(|i| sizes[*i].height).fold(0.0, f64::max);
    let graph_bottom = MARGIN + plan.height;
    let extra = if apart.is_empty() { 0.0 } else { ROW + row_height };
    let (width, height) = (inner + 2.0 * MARGIN, graph_bottom + extra + MARGIN + 6.0);
    let shift = MARGIN + (inner - plan.width) / 2.0;

    let mut boxes = vec![Point::default(); picture.boxes.len()];
    for &i in &flow {
        let p = plan.boxes[index[&i]];
        boxes[i] = Point { x: p.x + shift, y: p.y + MARGIN };
    }
    let y = graph_bottom + ROW + row_height / 2.0;
    let mut x = MARGIN + (inner - row_width) / 2.0;
    for &i in &apart {
        boxes[i] = Point { x: x + sizes[i].width / 2.0, y };
        x += sizes[i].width + BESIDE;
    }
    let rule = (!apart.is_empty()).then_some(graph_bottom + ROW / 2.0);
    let lines = routes(picture, &plan, &boxes, &sizes, shift);
    Arranged { sizes, boxes, lines, rule, width, height }
}

/// Where lines leave and reach a box: spread over its side in the order of their other ends.
fn spread(count: usize, position: usize, height: f64) -> f64 {
    let room = (height - 16.0).max(0.0).min(ARROW_GAP * (count.saturating_sub(1)) as f64);
    if count < 2 { 0.0 } else { room * (position as f64 / (count - 1) as f64 - 0.5) }
}

fn routes(picture: &Picture, plan: &Layout, boxes: &[Point], sizes: &[Size], shift: f64) -> Vec<Vec<Point>> {
    // Ends of the lines at each box, from top to bottom.
    let near = |i: usize, at_start: bool| {
        let bends = &plan.bends[i];
        let bend = if at_start { bends.first() } else { bends.last() };
        let other = if at_start { picture.lines[i].to } else { picture.lines[i].from };
        bend.map_or(boxes[other].y, |p| p.y + MARGIN)
    };
    let side = |b: usize, at_start: bool| {
        let mut ends: Vec<usize> = (0..picture.lines.len())
            .filter(|i| b == if at_start { picture.lines[*i].from } else { picture.lines[*i].to })
            .collect();
        ends.sort_by(|x, y| near(*x, at_start).total_cmp(&near(*y, at_start)).then(x.cmp(y)));
        ends
    };
    let starts: Vec<Vec<usize>> = (0..picture.boxes.len()).map(|b| side(b, true)).collect();
    let arrivals: Vec<Vec<usize>> = (0..picture.boxes.len()).map(|b| side(b, false)).collect();
    let offset = |list: &[usize], i: usize, height: f64| {
        spread(list.len(), list.iter().position(|x| *x == i).unwrap_or(0), height)
    };
    let route = |(i, line): (usize, &Line)| {
        let (a, b) = (boxes[line.from], boxes[line.to]);
        let (sa, sb) = (sizes[line.from], sizes[line.to]);
        let start = Point { x: a.x + sa.width / 2.0, y: a.y + offset(&starts[line.from], i, sa.height) };
        let end = Point { x: b.x - sb.width / 2.0, y: b.y + offset(&arrivals[line.to], i, sb.height) };
        let bends = plan.bends[i].iter().map(|p| Point { x: p.x + shift, y: p.y + MARGIN });
        std::iter::once(start).chain(bends).chain([end]).collect()
    };
    picture.lines.iter().enumerate().map(route).collect()
}

/// The curve through the points of a line, in the words of SVG, and where its arrow ends.
pub(crate) fn path(points: &[Point]) -> (String, Point) {
    let end = points[points.len() - 1];
    let mut path = format!("M{:.1} {:.1}", points[0].x, points[0].y);
    for (i, pair) in points.windows(2).enumerate() {
        let (p, mut q) = (pair[0], pair[1]);
        if i + 2 == points.len() {
            // The arrow's head is drawn by itself.
            q.x -= 6.0;
        }
        if (p.y - q.y).abs() < 0.1 {
            let _ = write!(path, "L{:.1} {:.1}", q.x, q.y);
        } else {
            let half = (p.x + q.x) / 2.0;
            let _ = write!(path, "C{half:.1} {:.1} {half:.1} {:.1} {:.1} {:.1}", p.y, q.y, q.x, q.y);
        }
    }
    (path, end)
}
