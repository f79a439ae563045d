// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! SVG: a picture that stands alone, follows the reader's light or dark setting, and carries plan
//! indices, so that a report can write live numbers on its pipes and boxes.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::FOLD_ABOVE;
use super::arrange::{MARGIN, arrange, path};
use super::fold::{Box, Line, Picture, fold};
use super::layout::{Point, Size};
use super::palette::{STYLES, style};
use crate::graph::{Graph, NodeKind};

/// What to add to the picture. Keys are plan indices.
#[derive(Clone, Debug, PartialEq)]
pub struct SvgOptions {
    /// Text on a pipe. Of a bundle the hottest pipe speaks.
    pub pipe_labels: BTreeMap<u32, String>,
    /// Text below an instance's name. Of a stack the hottest instance speaks.
    pub instance_labels: BTreeMap<u32, String>,
    /// 0 (cold) to 1 (hot): colours and thickens the line, or colours the border of the box.
    pub pipe_heat: BTreeMap<u32, f64>,
    pub instance_heat: BTreeMap<u32, f64>,
    /// Repetitions beyond this number are drawn as one stack.
    pub fold_above: usize,
}

impl Default for SvgOptions {
    fn default() -> Self {
        Self {
            pipe_labels: BTreeMap::new(),
            instance_labels: BTreeMap::new(),
            pipe_heat: BTreeMap::new(),
            instance_heat: BTreeMap::new(),
            fold_above: FOLD_ABOVE,
        }
    }
}

const TITLE_PX: f64 = 7.3;
const DETAIL_PX: f64 = 6.1;
const PILL_PX: f64 = 6.4;
const COUNT_PX: f64 = 7.0;
/// Least gap between layers.
const LAYER_GAP: f64 = 56.0;

/// Draw the topology. Elements of class `pipe` and `pipe-label` have `data-pipe`, those of class
/// `box` have `data-instance`: plan indices, several with blanks between for bundles and stacks
/// (`[data-pipe~="7"]` selects in either case).
pub fn svg(graph: &Graph, options: &SvgOptions) -> String {
    let picture = fold(graph, options.fold_above.max(1));
    let sizes: Vec<Size> = picture.boxes.iter().map(|b| size(b, options)).collect();
    let text = (0..picture.lines.len())
        .filter_map(|l| label(&picture, &picture.lines[l], options))
        .map(|t| t.chars().count())
        .max();
    let gap = LAYER_GAP.max(text.map_or(0.0, |n| n as f64 * DETAIL_PX + 30.0));
    let plan = arrange(&picture, sizes, gap);
    let (width, height) = (plan.width, plan.height);

    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"weir\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{} on {}</title>\n",
        escape(&graph.name),
        escape(&graph.machine)
    );
    sheet(&mut out);
    for (line, points) in picture.lines.iter().zip(&plan.lines) {
        draw_line(&mut out, line, points, label(&picture, line, options), options);
    }
    let (flow, apart): (Vec<usize>, Vec<usize>) =
        (0..picture.boxes.len()).partition(|i| picture.boxes[*i].kind != NodeKind::Annotator);
    for &i in &flow {
        draw_box(&mut out, &picture.boxes[i], plan.sizes[i], plan.boxes[i], options);
    }
    if let Some(rule) = plan.rule {
        let _ = writeln!(
            out,
            "<line class=\"rule\" x1=\"{MARGIN}\" x2=\"{:.1}\" y1=\"{rule:.1}\" y2=\"{rule:.1}\"/>",
            width - MARGIN
        );
    }
    for &i in &apart {
        draw_box(&mut out, &picture.boxes[i], plan.sizes[i], plan.boxes[i], options);
    }
    out.push_str("</svg>\n");
    out
}

/// Style sheet; all rules are below `.weir`, so that a page may embed several pictures. Programs that know no variables (librsvg, and those that use it)
/// take the colour that stands before each.
fn sheet(out: &mut String) {
    out.push_str(
        "<style>\n\
         .weir{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;--ink:#1f2933;--dim:#5b6773;--line:#7b8794;--paper:#fff}\n\
         .weir text{fill:#1f2933;fill:var(--ink);text-anchor:middle}\n\
         .weir .name{font-size:13px;font-weight:600}\n\
         .weir .detail{font-size:11px;fill:#5b6773;fill:var(--dim)}\n\
         .weir .live{font-size:11px;font-weight:600}\n\
         .weir .count{font-size:11px;font-weight:700}\n\
         .weir .pill{font-size:9px;letter-spacing:.3px;font-weight:600;fill:#fff}\n\
         .weir .pipe-label{font-size:10.5px;fill:#5b6773;fill:var(--dim);paint-order:stroke;stroke:#fff;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}\n\
         .weir .pipe{fill:none;stroke:#7b8794;stroke:var(--line);stroke-width:1.5}\n\
         .weir .postponed{stroke-dasharray:6 4}\n\
         .weir .tip{fill:#7b8794;fill:var(--line)}\n\
         .weir .rule{stroke:#7b8794;stroke:var(--line);stroke-width:1;stroke-dasharray:2 5;opacity:.6}\n\
         .weir rect{stroke-width:1.5}\n\
         .weir .shared rect{stroke-dasharray:5 3}\n",
    );
    for s in &STYLES {
        let _ = writeln!(
            out,
            ".weir .{0} rect{{fill:{2};stroke:{1}}}.weir .{0} .tag{{fill:{1};stroke:none}}",
            s.word, s.border, s.light
        );
    }
    out.push_str("@media (prefers-color-scheme:dark){.weir{--ink:#e6edf3;--dim:#a3b0bd;--line:#8593a1;--paper:#0d1117}\n");
    for s in &STYLES {
        let _ = writeln!(out, ".weir .{} rect{{fill:{}}}", s.word, s.dark);
    }
    out.push_str("}\n</style>\n");
}

/// Text that a box shows below its name: live numbers of its hottest member.
fn live<'a>(b: &Box, options: &'a SvgOptions) -> Option<&'a str> {
    hottest(&b.instances, &options.instance_heat, &options.instance_labels)
}

/// The label of the hottest of `members` that has one.
fn hottest<'a>(
    members: &[u32],
    heat: &BTreeMap<u32, f64>,
    labels: &'a BTreeMap<u32, String>,
) -> Option<&'a str> {
    let heat = |i: &u32| heat.get(i).copied().unwrap_or(0.0);
    let labelled = members.iter().filter(|i| labels.contains_key(i));
    let best = labelled.max_by(|a, b| heat(a).total_cmp(&heat(b)).then(b.cmp(a)))?;
    labels.get(best).map(String::as_str)
}

fn max_heat(members: &[u32], heat: &BTreeMap<u32, f64>) -> Option<f64> {
    members.iter().filter_map(|i| heat.get(i)).copied().reduce(f64::max).map(|h| h.clamp(0.0, 1.0))
}

/// From grey over amber to red.
fn colour(heat: f64) -> String {
    format!("hsl({:.0},{:.0}%,48%)", 45.0 - 45.0 * heat, 35.0 + 50.0 * heat)
}

/// `×64`, for a stack.
fn badge(b: &Box) -> Option<String> {
    (b.count > 1).then(|| format!("×{}", b.count))
}

/// Text on a line, if any: instruction set, number of pipes where it is not one, live numbers.
fn label(picture: &Picture, line: &Line, options: &SvgOptions) -> Option<String> {
    let mut parts = Vec::new();
    if !line.label.is_empty() {
        parts.push(line.label.clone());
    }
    let n = line.pipes.len();
    if n > 1 && n != picture.boxes[line.from].count && n != picture.boxes[line.to].count {
        parts.push(format!("×{n}"));
    }
    parts.extend(hottest(&line.pipes, &options.pipe_heat, &options.pipe_labels).map(str::to_string));
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn size(b: &Box, options: &SvgOptions) -> Size {
    let chars = |s: &str| s.chars().count() as f64;
    let badge = badge(b).map_or(0.0, |t| chars(&t) * COUNT_PX + 6.0);
    let mut width = chars(&b.title) * TITLE_PX + badge + 28.0;
    let mut height = 34.0;
    if !b.detail.is_empty() {
        width = width.max(chars(&b.detail) * DETAIL_PX + 24.0);
        height += 15.0;
    }
    if let Some(text) = live(b, options) {
        width = width.max(chars(text) * DETAIL_PX + 24.0);
        height += 15.0;
    }
    let pills: f64 = b.topics.iter().map(|t| chars(t) * PILL_PX + 14.0).sum();
    width = width.max(pills + 16.0);
    if !b.topics.is_empty() {
        height += 4.0;
    }
    Size { width: width.max(72.0), height }
}

fn draw_box(out: &mut String, b: &Box, size: Size, at: Point, options: &SvgOptions) {
    let (w, h) = (size.width, size.height);
    let (x, y) = (at.x - w / 2.0, at.y - h / 2.0);
    let data = join(&b.instances);
    let data = if data.is_empty() { String::new() } else { format!(" data-instance=\"{data}\"") };
    let (shared, says) = if b.shared {
        (" shared", " (in no home: several exits lie ahead, or changes wait)")
    } else {
        ("", "")
    };
    let _ = write!(out, "<g class=\"box {}{shared}\"{data}>", style(b.kind, b.class).word);
    let _ = write!(out, "<title>{}</title>", escape(&format!("{} {}{says}", b.title, b.detail)));
    let round = match b.kind {
        NodeKind::Entry => h / 2.0,
        NodeKind::Cpus => 3.0,
        _ => 8.0,
    };
    if b.count > 1 {
        for d in [8.0, 4.0] {
            let _ = write!(
                out,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"{round}\"/>",
                x + d,
                y - d
            );
        }
    }
    let hot = max_heat(&b.instances, &options.instance_heat).map_or(String::new(), |t| {
        format!(" style=\"stroke:{};stroke-width:{:.1}\"", colour(t), 1.5 + 2.0 * t)
    });
    let _ = write!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"{round}\"{hot}/>"
    );
    let badge = badge(b).unwrap_or_default();
    let middle =
        at.x - if badge.is_empty() { 0.0 } else { (badge.chars().count() as f64 * COUNT_PX + 6.0) / 2.0 };
    // The lines of text stand in the middle, whatever the height.
    let lines = 1 + usize::from(!b.detail.is_empty()) + usize::from(live(b, options).is_some());
    let pill = if b.topics.is_empty() { 0.0 } else { 4.0 };
    let mut line = at.y - pill / 2.0 + 4.5 - 7.5 * (lines - 1) as f64;
    let _ = write!(out, "<text class=\"name\" x=\"{middle:.1}\" y=\"{line:.1}\">{}</text>", escape(&b.title));
    if !badge.is_empty() {
        let _ = write!(
            out,
            "<text class=\"count\" x=\"{:.1}\" y=\"{line:.1}\" style=\"text-anchor:end\">{badge}</text>",
            x + w - 10.0
        );
    }
    if !b.detail.is_empty() {
        line += 15.0;
        let _ = write!(
            out,
            "<text class=\"detail\" x=\"{:.1}\" y=\"{line:.1}\">{}</text>",
            at.x,
            escape(&b.detail)
        );
    }
    if let Some(text) = live(b, options) {
        line += 15.0;
        let _ = write!(out, "<text class=\"live\" x=\"{:.1}\" y=\"{line:.1}\">{}</text>", at.x, escape(text));
    }
    pills(out, b, at.x, y + h);
    out.push_str("</g>\n");
}

/// Topics on the lower edge of a box: what an annotator answers and what a component asks have the
/// same look, which stands for the line between them.
fn pills(out: &mut String, b: &Box, middle: f64, y: f64) {
    let width = |t: &String| t.chars().count() as f64 * PILL_PX + 10.0;
    let total: f64 = b.topics.iter().map(|t| width(t) + 4.0).sum::<f64>() - 4.0;
    let mut x = middle - total / 2.0;
    for topic in &b.topics {
        let w = width(topic);
        let _ = write!(
            out,
            "<g class=\"annotate\"><rect class=\"tag\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{w:.1}\" height=\"13\" rx=\"6.5\"/>\
             <text class=\"pill\" x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
            y - 6.5,
            x + w / 2.0,
            y + 3.2,
            escape(topic)
        );
        x += w + 4.0;
    }
}

fn draw_line(out: &mut String, line: &Line, points: &[Point], label: Option<String>, options: &SvgOptions) {
    let data = join(&line.pipes);
    let (path, end) = path(points);
    let heat = max_heat(&line.pipes, &options.pipe_heat);
    let (stroke, fill) = heat.map_or((String::new(), String::new()), |h| {
        let c = colour(h);
        (format!(" style=\"stroke:{c};stroke-width:{:.1}\"", 1.5 + 4.0 * h), format!(" style=\"fill:{c}\""))
    });
    let class = if line.postponed { "pipe postponed" } else { "pipe" };
    let _ = write!(out, "<path class=\"{class}\" data-pipe=\"{data}\" d=\"{path}\"{stroke}/>");
    let _ = writeln!(out, "<path class=\"tip\" d=\"M{:.1} {:.1}l-8 -3.6v7.2z\"{fill}/>", end.x - 0.5, end.y);
    if let Some(label) = label {
        // At the arrow's head, where lines of a fan are apart.
        let _ = writeln!(
            out,
            "<text class=\"pipe-label\" data-pipe=\"{data}\" x=\"{:.1}\" y=\"{:.1}\" style=\"text-anchor:end\">{}</text>",
            end.x - 11.0,
            end.y - 5.0,
            escape(&label)
        );
    }
}

/// Indices with blanks between.
fn join(indices: &[u32]) -> String {
    indices.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

/// Text for XML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
