// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The picture as data, for a page that draws it itself: each place in the text is one box; a box repeated for CPUs has a
//! strip with a cell for each.

use super::arrange::{arrange, path};
use super::fold::{Box, fold};
use super::layout::Size;
use super::palette::style;
use crate::graph::{Graph, NodeKind, Place};

/// What to draw. Lengths are pixels, from the top left corner.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    pub width: f64,
    pub height: f64,
    pub boxes: Vec<SceneBox>,
    pub lines: Vec<SceneLine>,
    /// Height of the line above the annotators, where there are any.
    pub rule: Option<f64>,
}

/// An entry, a component, an annotator, or the CPUs of exits; one, or all of a place in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneBox {
    /// `entry`, `cpus`, or the component's class.
    pub style: &'static str,
    pub kind: NodeKind,
    /// First line, without numbers of CPUs.
    pub title: String,
    /// Second line; may be empty.
    pub detail: String,
    /// Topics asked (components) or answered (annotators).
    pub topics: Vec<String>,
    /// The top left corner and the size.
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    /// Cells for the members, where there are several.
    pub strip: Option<Strip>,
    /// Where the text has it.
    pub place: Place,
    /// Indices into [`Graph::nodes`].
    pub members: Vec<usize>,
}

/// Cells in rows, of this size with a gap of a pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strip {
    pub x: f64,
    pub y: f64,
    pub columns: usize,
    pub cell: f64,
}

/// A pipe, or all of an arrow.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneLine {
    /// Indices into [`Scene::boxes`].
    pub from: usize,
    pub to: usize,
    /// The curve in the words of SVG, and where the arrow's tip is.
    pub path: String,
    pub tip: (f64, f64),
    /// Where a label has room: its right end.
    pub label_at: (f64, f64),
    pub postponed: bool,
    /// Instruction set of a demultiplexer's port.
    pub label: String,
    pub place: Place,
    /// Indices into [`Graph::edges`].
    pub members: Vec<usize>,
}

const TITLE_PX: f64 = 7.6;
const DETAIL_PX: f64 = 6.3;
const PILL_PX: f64 = 6.4;
/// Gap between layers: room for a rate and a depth.
const GAP: f64 = 92.0;

/// Arrange the graph. With `live`, boxes have room for a line of numbers.
pub fn scene(graph: &Graph, live: bool) -> Scene {
    let picture = fold(graph, 1);
    let sizes: Vec<Size> = picture.boxes.iter().map(|b| size(b, live)).collect();
    let plan = arrange(&picture, sizes, GAP);
    let place = |b: (usize, &Box)| {
        let (i, b) = b;
        let (at, size) = (plan.boxes[i], plan.sizes[i]);
        let (x, y) = (at.x - size.width / 2.0, at.y - size.height / 2.0);
        let strip = grid(b).map(|(columns, rows, cell)| {
            let (wide, high) = extent(columns, rows, cell);
            let bottom = if b.topics.is_empty() { 9.0 } else { 13.0 };
            Strip { x: at.x - wide / 2.0, y: y + size.height - bottom - high, columns, cell }
        });
        SceneBox {
            style: style(b.kind, b.class).word,
            kind: b.kind,
            title: b.title.clone(),
            detail: b.detail.clone(),
            topics: b.topics.clone(),
            x,
            y,
            width: size.width,
            height: size.height,
            strip,
            place: graph.nodes[b.members[0]].place,
            members: b.members.clone(),
        }
    };
    let boxes = picture.boxes.iter().enumerate().map(place).collect();
    let lines = picture.lines.iter().zip(&plan.lines).map(|(line, points)| {
        let (path, end) = path(points);
        SceneLine {
            from: line.from,
            to: line.to,
            path,
            tip: (end.x, end.y),
            label_at: (end.x - 13.0, end.y - 6.0),
            postponed: line.postponed,
            label: line.label.clone(),
            place: graph.edges[line.members[0]].place,
            members: line.members.clone(),
        }
    });
    let lines = lines.collect();
    Scene { width: plan.width, height: plan.height, boxes, lines, rule: plan.rule }
}

/// Columns, rows and size of the cells of a box that stands for several.
fn grid(b: &Box) -> Option<(usize, usize, f64)> {
    let n = b.members.len();
    if n < 2 || b.kind == NodeKind::Annotator {
        return None;
    }
    let (columns, cell) = match n {
        2..=16 => (n, 9.0),
        17..=64 => (16, 7.0),
        65..=256 => (32, 4.0),
        257..=1024 => (64, 3.0),
        _ => (((n as f64 * 2.0).sqrt().ceil() as usize).max(1), 2.0),
    };
    Some((columns, n.div_ceil(columns), cell))
}

fn extent(columns: usize, rows: usize, cell: f64) -> (f64, f64) {
    let along = |n: usize| n as f64 * (cell + 1.0) - 1.0;
    (along(columns), along(rows))
}

/// A longer list of parameters is cut off in the picture: one box would make all others small.
const MOST_DETAIL: f64 = 250.0;

fn size(b: &Box, live: bool) -> Size {
    let chars = |s: &str| s.chars().count() as f64;
    let count = if b.count > 1 { 44.0 } else { 0.0 };
    let mut width = chars(&b.title) * TITLE_PX + count + 34.0;
    let mut height = 38.0;
    if !b.detail.is_empty() {
        width = width.max((chars(&b.detail) * DETAIL_PX + 28.0).min(MOST_DETAIL));
        height += 15.0;
    }
    if live && !matches!(b.kind, NodeKind::Annotator | NodeKind::Entry) {
        width = width.max(126.0);
        height += 16.0;
    }
    if let Some((columns, rows, cell)) = grid(b) {
        let (wide, high) = extent(columns, rows, cell);
        width = width.max(wide + 24.0);
        height += high + 8.0;
    }
    let pills: f64 = b.topics.iter().map(|t| chars(t) * PILL_PX + 14.0).sum();
    width = width.max(pills + 16.0);
    if !b.topics.is_empty() {
        height += 5.0;
    }
    Size { width: width.max(84.0), height }
}

#[cfg(test)]
mod tests {
    use weir_core::MachineShape;

    use super::*;
    use crate::testcat::catalog;
    use crate::{NoIncludes, Source, survey};

    fn scene_of(text: &str, cpus: u32) -> (Graph, Scene) {
        let src = Source { name: "t.weir".into(), text: text.into() };
        let seen = survey(&src, &NoIncludes, &catalog(), &MachineShape::flat(cpus), &[]);
        let graph = seen.compiled.map(|c| c.graph).or(seen.outline).expect("a graph");
        let scene = scene(&graph, true);
        (graph, scene)
    }

    #[test]
    fn a_place_in_the_text_is_one_box() {
        let text = "annotate affinity;\nentry -> load_balancer -> each cpu { round_robin -> cpu };";
        for n in [2, 8, 300, 4096] {
            let (graph, scene) = scene_of(text, n);
            assert_eq!(scene.boxes.len(), 5, "entry, balancer, queues, CPUs, annotator");
            assert_eq!(scene.lines.len(), 3);
            let queues = &scene.boxes.iter().find(|b| b.title == "round_robin").expect("queues");
            assert_eq!(&text[queues.place.start as usize..queues.place.end as usize], "round_robin");
            let strip = queues.strip.expect("a cell for each CPU");
            assert!(strip.x > queues.x && strip.y > queues.y);
            let rows = (n as usize).div_ceil(strip.columns);
            assert!(strip.y + rows as f64 * (strip.cell + 1.0) <= queues.y + queues.height);
            let members: usize = scene.boxes.iter().map(|b| b.members.len()).sum();
            assert_eq!(members, graph.nodes.len());
            let arrow = scene.lines.iter().find(|l| l.members.len() == 1).expect("the entry's");
            assert_eq!(&text[arrow.place.start as usize..arrow.place.end as usize], "->");
        }
    }

    #[test]
    fn a_text_with_mistakes_has_a_picture() {
        let (_, scene) = scene_of("entry -> round_robin -> unheard -> cpus; a :: fifo; x -> ;", 4);
        let titles: Vec<&str> = scene.boxes.iter().map(|b| b.title.as_str()).collect();
        assert_eq!(titles, ["entry", "a", "round_robin", "unheard", "CPUs 0-3"]);
        // A circle has one, too.
        let (_, scene) = scene_of("entry -> a :: load_balancer -> b :: load_balancer -> cpus; b -> a;", 4);
        assert_eq!((scene.boxes.len(), scene.lines.len()), (4, 4));
    }
}
