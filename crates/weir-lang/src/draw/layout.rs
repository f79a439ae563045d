// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A layered layout: entries on the left, CPUs on the right, few crossings, straight lines.
//!
//! The usual four steps (layers by longest path, bends where a line passes a layer, order within
//! layers by the mean of the neighbours, heights by isotonic regression), small because the graphs
//! are: folding leaves tens of boxes.

/// Size of a box, in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub width: f64,
    pub height: f64,
}

/// Where a box's middle is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

/// Positions of boxes and bends of lines.
#[derive(Debug)]
pub struct Layout {
    /// Centre of each box.
    pub boxes: Vec<Point>,
    /// Points that each line passes between its two boxes: pairs at both sides of a layer.
    pub bends: Vec<Vec<Point>>,
    pub width: f64,
    pub height: f64,
}

/// Gap between boxes of a layer.
const ROW_GAP: f64 = 18.0;

/// A box or a bend.
struct Vertex {
    layer: usize,
    size: Size,
    before: Vec<usize>,
    after: Vec<usize>,
}

/// Lay out boxes of `sizes` that `lines` join, without cycles; `last` boxes go to the last layer,
/// and `gap` lies between layers.
pub fn layout(sizes: &[Size], lines: &[(usize, usize)], last: &[bool], gap: f64) -> Layout {
    let layers_of = longest_paths(sizes.len(), lines, last);
    let mut vertices: Vec<Vertex> = sizes
        .iter()
        .zip(&layers_of)
        .map(|(size, layer)| Vertex { layer: *layer, size: *size, before: Vec::new(), after: Vec::new() })
        .collect();
    let mut passes: Vec<Vec<usize>> = Vec::with_capacity(lines.len());
    for &(from, to) in lines {
        let mut at = from;
        let mut pass = Vec::new();
        for layer in layers_of[from] + 1..layers_of[to] {
            // As high as the box it leads to, which then may stand beside its neighbours in line.
            let size = Size { width: 0.0, height: sizes[to].height };
            vertices.push(Vertex { layer, size, before: vec![at], after: Vec::new() });
            let bend = vertices.len() - 1;
            vertices[at].after.push(bend);
            pass.push(bend);
            at = bend;
        }
        vertices[at].after.push(to);
        vertices[to].before.push(at);
        passes.push(pass);
    }
    let layers = order(&vertices);
    let ys = heights(&vertices, &layers);
    place(sizes.len(), &vertices, &layers, &ys, &passes, gap)
}

/// Layer of each box: its longest distance from a box without predecessors.
fn longest_paths(n: usize, lines: &[(usize, usize)], last: &[bool]) -> Vec<usize> {
    let mut layer = vec![0; n];
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); n];
    let mut waiting = vec![0; n];
    for &(from, to) in lines {
        after[from].push(to);
        waiting[to] += 1;
    }
    let mut ready: Vec<usize> = (0..n).filter(|i| waiting[*i] == 0).collect();
    while let Some(i) = ready.pop() {
        for &t in &after[i] {
            layer[t] = layer[t].max(layer[i] + 1);
            waiting[t] -= 1;
            if waiting[t] == 0 {
                ready.push(t);
            }
        }
    }
    let end = layer.iter().copied().max().unwrap_or(0);
    (0..n).map(|i| if last[i] { end } else { layer[i] }).collect()
}

/// Vertices of each layer from top to bottom.
fn order(vertices: &[Vertex]) -> Vec<Vec<usize>> {
    let count = vertices.iter().map(|v| v.layer + 1).max().unwrap_or(0);
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); count];
    (0..vertices.len()).for_each(|v| layers[vertices[v].layer].push(v));
    let mut best = (crossings(vertices, &layers), layers.clone());
    for sweep in 0..12 {
        let mut rank = vec![0.0; vertices.len()];
        let forward = sweep % 2 == 0;
        let sequence: Vec<usize> = if forward { (0..count).collect() } else { (0..count).rev().collect() };
        for l in sequence {
            let mut keyed: Vec<(f64, usize, usize)> = layers[l]
                .iter()
                .enumerate()
                .map(|(position, &v)| {
                    let near = if forward { &vertices[v].before } else { &vertices[v].after };
                    let mean = near.iter().map(|n| rank[*n]).sum::<f64>() / near.len().max(1) as f64;
                    (if near.is_empty() { position as f64 } else { mean }, position, v)
                })
                .collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            layers[l] = keyed.into_iter().map(|k| k.2).collect();
            layers[l].iter().enumerate().for_each(|(i, v)| rank[*v] = i as f64);
        }
        let now = crossings(vertices, &layers);
        if now < best.0 {
            best = (now, layers.clone());
        }
    }
    best.1
}

/// Number of pairs of lines that cross.
fn crossings(vertices: &[Vertex], layers: &[Vec<usize>]) -> usize {
    let mut rank = vec![0; vertices.len()];
    layers.iter().for_each(|l| l.iter().enumerate().for_each(|(i, v)| rank[*v] = i));
    let mut total = 0;
    for layer in layers {
        let mut ends: Vec<(usize, usize)> = Vec::new();
        for &v in layer {
            ends.extend(vertices[v].after.iter().map(|a| (rank[v], rank[*a])));
        }
        // Quadratic, on folded graphs; a picture with thousands of lines is not made prettier.
        if ends.len() > 2000 {
            continue;
        }
        for (i, a) in ends.iter().enumerate() {
            total +=
                ends[i + 1..].iter().filter(|b| (a.0 < b.0 && a.1 > b.1) || (a.0 > b.0 && a.1 < b.1)).count();
        }
    }
    total
}

/// Vertical centre of each vertex.
fn heights(vertices: &[Vertex], layers: &[Vec<usize>]) -> Vec<f64> {
    let mut ys = vec![0.0; vertices.len()];
    for layer in layers {
        let mut y = 0.0;
        for &v in layer {
            ys[v] = y + vertices[v].size.height / 2.0;
            y += vertices[v].size.height + ROW_GAP;
        }
        layer.iter().for_each(|v| ys[*v] -= y / 2.0);
    }
    for sweep in 0..24 {
        let sequence: Vec<usize> =
            if sweep % 2 == 0 { (0..layers.len()).rev().collect() } else { (0..layers.len()).collect() };
        for l in sequence {
            let wish: Vec<f64> = layers[l]
                .iter()
                .map(|&v| {
                    let near: Vec<usize> =
                        if sweep % 2 == 0 { vertices[v].after.clone() } else { vertices[v].before.clone() };
                    let near = if near.is_empty() { vec![v] } else { near };
                    near.iter().map(|n| ys[*n]).sum::<f64>() / near.len() as f64
                })
                .collect();
            separate(&layers[l], vertices, &wish, &mut ys);
        }
    }
    ys
}

/// Bring a layer as near to its wishes as the distances allow: least squares under order
/// constraints, by pooling neighbours that would overlap.
fn separate(layer: &[usize], vertices: &[Vertex], wish: &[f64], ys: &mut [f64]) {
    let mut offset = 0.0;
    let mut offsets = Vec::with_capacity(layer.len());
    for (i, &v) in layer.iter().enumerate() {
        if i > 0 {
            offset += (vertices[layer[i - 1]].size.height + vertices[v].size.height) / 2.0 + ROW_GAP;
        }
        offsets.push(offset);
    }
    // Blocks of (mean wish less offset, members).
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for i in 0..layer.len() {
        blocks.push((wish[i] - offsets[i], 1));
        while blocks.len() > 1 && blocks[blocks.len() - 2].0 > blocks[blocks.len() - 1].0 {
            let (b, nb) = blocks.pop().expect("two blocks");
            let (a, na) = blocks.pop().expect("two blocks");
            blocks.push(((a * na as f64 + b * nb as f64) / (na + nb) as f64, na + nb));
        }
    }
    let mut i = 0;
    for (base, members) in blocks {
        for _ in 0..members {
            ys[layer[i]] = base + offsets[i];
            i += 1;
        }
    }
}

/// Turn layers and heights into points, with the top left corner at the origin.
fn place(
    n: usize,
    vertices: &[Vertex],
    layers: &[Vec<usize>],
    ys: &[f64],
    passes: &[Vec<usize>],
    gap: f64,
) -> Layout {
    let widths: Vec<f64> =
        layers.iter().map(|l| l.iter().map(|v| vertices[*v].size.width).fold(0.0, f64::max)).collect();
    let mut left = Vec::with_capacity(layers.len());
    let mut x = 0.0;
    for w in &widths {
        left.push(x);
        x += w + gap;
    }
    let width = (x - gap).max(0.0);
    let top =
        (0..vertices.len()).map(|v| ys[v] - vertices[v].size.height / 2.0).fold(f64::INFINITY, f64::min);
    let bottom =
        (0..vertices.len()).map(|v| ys[v] + vertices[v].size.height / 2.0).fold(f64::NEG_INFINITY, f64::max);
    let (top, bottom) = if n == 0 { (0.0, 0.0) } else { (top, bottom) };
    let boxes = (0..n)
        .map(|v| Point { x: left[vertices[v].layer] + widths[vertices[v].layer] / 2.0, y: ys[v] - top })
        .collect();
    let bends = passes
        .iter()
        .map(|pass| {
            pass.iter()
                .flat_map(|&v| {
                    let (l, y) = (vertices[v].layer, ys[v] - top);
                    [Point { x: left[l], y }, Point { x: left[l] + widths[l], y }]
                })
                .collect()
        })
        .collect();
    Layout { boxes, bends, width, height: bottom - top }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_do_not_overlap() {
        let size = Size { width: 50.0, height: 30.0 };
        let lines: Vec<(usize, usize)> = (1..9).map(|i| (0, i)).chain((1..9).map(|i| (i, 9))).collect();
        let l = layout(&[size; 10], &lines, &[false; 10], 60.0);
        for a in 0..10 {
            for b in 0..a {
                let (p, q) = (l.boxes[a], l.boxes[b]);
                assert!((p.x - q.x).abs() >= 50.0 || (p.y - q.y).abs() >= 30.0, "{a} and {b}: {p:?} {q:?}");
            }
        }
        assert_eq!(l.boxes[0].y, l.boxes[9].y, "a symmetric graph is drawn symmetric");
    }

    #[test]
    fn a_chain_is_straight() {
        let size = Size { width: 50.0, height: 30.0 };
        let l = layout(&[size; 4], &[(0, 1), (1, 2), (2, 3)], &[false; 4], 60.0);
        assert!(l.boxes.windows(2).all(|w| w[0].y == w[1].y && w[0].x < w[1].x));
    }

    #[test]
    fn nothing_is_nothing() {
        let l = layout(&[], &[], &[], 60.0);
        assert_eq!((l.width, l.height), (0.0, 0.0));
    }
}
