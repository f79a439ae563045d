// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Pictures for papers: a few shapes, written as SVG, PDF or TikZ. The same shapes give the same bytes everywhere; no font of
//! the computer is asked.

use std::fmt::Write as _;

use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, Str};

use crate::html::escape;

/// A colour, `#rrggbb`.
pub type Ink = &'static str;

pub const BLACK: Ink = "#1c2128";
pub const GREY: Ink = "#8b949e";
pub const PALE: Ink = "#d5dae0";
pub const RED: Ink = "#c4342d";

/// Which point of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A part of a path; coordinates as in SVG.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    Move(f64, f64),
    Line(f64, f64),
    Curve([f64; 6]),
}

/// What a picture consists of; x to the right, y downwards, in points.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    Rect { at: [f64; 4], fill: Option<Ink>, line: Option<Ink>, dashed: bool },
    Path { steps: Vec<Step>, fill: Option<Ink>, line: Option<Ink>, width: f64, dashed: bool },
    Text { at: (f64, f64), text: String, size: f64, anchor: Anchor, ink: Ink, bold: bool },
}

/// A part of a picture that appears from left to right, over and over; browsers show it, paper has the whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Play {
    /// The shapes that appear.
    pub shapes: std::ops::Range<usize>,
    /// Where they begin and end.
    pub x: (f64, f64),
    /// How long a round takes, with a rest at its end.
    pub seconds: f64,
}

/// A picture, `width` by `height` points.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub width: f64,
    pub height: f64,
    pub title: String,
    pub shapes: Vec<Shape>,
    pub play: Option<Play>,
}

/// The formats of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Svg,
    Pdf,
    Tex,
}

impl Format {
    /// By the ending of a file's name.
    pub fn of(path: &std::path::Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_lowercase().as_str() {
            "svg" => Some(Self::Svg),
            "pdf" => Some(Self::Pdf),
            "tex" | "tikz" => Some(Self::Tex),
            _ => None,
        }
    }
}

/// Widths of Helvetica's letters from the space on, in thousandths of the size (Adobe's font metrics).
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
    556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// How wide a text is, in points.
pub fn text_width(text: &str, size: f64) -> f64 {
    let width = |c: char| match c as u32 {
        n @ 32..127 => f64::from(WIDTHS[n as usize - 32]),
        _ => 556.0,
    };
    text.chars().map(width).sum::<f64>() * size / 1000.0
}

/// A number with at most two digits behind the point.
fn short(v: f64) -> String {
    let text = format!("{v:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

impl Picture {
    pub fn new(width: f64, height: f64, title: impl Into<String>) -> Self {
        Self { width, height, title: title.into(), shapes: Vec::new(), play: None }
    }

    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, fill: Ink) {
        self.shapes.push(Shape::Rect {
            at: [x, y, width, height],
            fill: Some(fill),
            line: None,
            dashed: false,
        });
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, width: f64) {
        let steps = vec![Step::Move(from.0, from.1), Step::Line(to.0, to.1)];
        self.shapes.push(Shape::Path { steps, fill: None, line: Some(ink), width, dashed: false });
    }

    pub fn polygon(&mut self, points: &[(f64, f64)], fill: Ink) {
        let mut steps: Vec<Step> = points.iter().map(|p| Step::Line(p.0, p.1)).collect();
        if let Some(Step::Line(x, y)) = steps.first().copied() {
            steps[0] = Step::Move(x, y);
        }
        self.shapes.push(Shape::Path { steps, fill: Some(fill), line: None, width: 0.0, dashed: false });
    }

    pub fn text(&mut self, at: (f64, f64), text: impl Into<String>, size: f64, anchor: Anchor, ink: Ink) {
        self.shapes.push(Shape::Text { at, text: text.into(), size, anchor, ink, bold: false });
    }

    pub fn heading(&mut self, at: (f64, f64), text: impl Into<String>, size: f64) {
        self.shapes.push(Shape::Text {
            at,
            text: text.into(),
            size,
            anchor: Anchor::Start,
            ink: BLACK,
            bold: true,
        });
    }

    /// The bytes of a file in this format.
    pub fn bytes(&self, format: Format) -> Vec<u8> {
        match format {
            Format::Svg => self.svg().into_bytes(),
            Format::Pdf => self.pdf(),
            Format::Tex => self.tikz().into_bytes(),
        }
    }

    /// For browsers and documents; on white.
    pub fn svg(&self) -> String {
        let (w, h) = (short(self.width), short(self.height));
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" \
             font-family=\"Helvetica, Arial, sans-serif\">\n<title>{}</title>\n<rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n",
            escape(&self.title)
        );
        let moving = self.play.as_ref().map_or(0..0, |p| p.shapes.clone());
        if let Some(play) = &self.play {
            out += &self.played(play);
        }
        for (i, shape) in self.shapes.iter().enumerate() {
            if !moving.is_empty() && i == moving.start {
                out += "<g clip-path=\"url(#played)\">\n";
            }
            svg_shape(&mut out, shape);
            if !moving.is_empty() && i + 1 == moving.end {
                out += "</g>\n";
            }
        }
        if let Some(Play { x: (left, _), .. }) = self.play {
            let x = short(left);
            out += &format!(
                "<line class=\"head\" x1=\"{x}\" x2=\"{x}\" y1=\"40\" y2=\"{h}\" stroke=\"{RED}\" stroke-width=\"0.8\"/>\n"
            );
        }
        out + "</svg>\n"
    }

    /// What moves: the clip that uncovers the shapes, and the line at its edge. Who asks for less motion sees the whole.
    fn played(&self, play: &Play) -> String {
        let (left, right) = play.x;
        let (x, w, h, s) = (short(left), short(right - left), short(self.height), short(play.seconds));
        format!(
            "<style>\n\
             #uncovered {{ animation: uncover {s}s linear infinite; transform-origin: {x}px 0 }}\n\
             .head {{ animation: go {s}s linear infinite }}\n\
             @keyframes uncover {{ 0% {{ transform: scaleX(0) }} 85%, 100% {{ transform: scaleX(1) }} }}\n\
             @keyframes go {{ 0% {{ transform: translateX(0) }} 85%, 100% {{ transform: translateX({w}px) }} }}\n\
             @media (prefers-reduced-motion: reduce) {{ #uncovered, .head {{ animation: none }} .head {{ display: none }} }}\n\
             </style>\n\
             <clipPath id=\"played\"><rect id=\"uncovered\" x=\"{x}\" y=\"0\" width=\"{w}\" height=\"{h}\"/></clipPath>\n"
        )
    }

    /// A page as large as the picture; texts in Helvetica, which every reader of PDF has.
    pub fn pdf(&self) -> Vec<u8> {
        let [catalog, tree, page, plain, bold, content, info] = [1, 2, 3, 4, 5, 6, 7].map(Ref::new);
        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(tree);
        pdf.pages(tree).kids([page]).count(1);
        pdf.document_info(info)
            .title(pdf_writer::TextStr(&self.title))
            .producer(pdf_writer::TextStr("Runweir"));
        let mut leaf = pdf.page(page);
        leaf.media_box(Rect::new(0.0, 0.0, self.width as f32, self.height as f32))
            .parent(tree)
            .contents(content);
        leaf.resources().fonts().pair(Name(b"F"), plain).pair(Name(b"B"), bold);
        leaf.finish();
        for (font, name) in [(plain, &b"Helvetica"[..]), (bold, b"Helvetica-Bold")] {
            pdf.type1_font(font).base_font(Name(name)).encoding_predefined(Name(b"WinAnsiEncoding"));
        }
        let mut c = Content::new();
        for shape in &self.shapes {
            pdf_shape(&mut c, shape, self.height);
        }
        pdf.stream(content, &c.finish());
        pdf.finish()
    }

    /// For LaTeX: `\usepackage{tikz}`, then `\input` of the file.
    pub fn tikz(&self) -> String {
        let mut out = format!(
            "% {}\n% \\usepackage{{tikz}}\n\\begin{{tikzpicture}}[x=1pt,y=-1pt,every node/.style={{inner sep=0pt,outer sep=0pt}}]\n",
            self.title.replace(['\n', '\r'], " ")
        );
        let mut inks: Vec<Ink> = Vec::new();
        for shape in &self.shapes {
            let used: Vec<Ink> = match shape {
                Shape::Rect { fill, line, .. } | Shape::Path { fill, line, .. } => {
                    [*fill, *line].into_iter().flatten().collect()
                }
                Shape::Text { ink, .. } => vec![*ink],
            };
            for ink in used {
                if !inks.contains(&ink) {
                    let _ = writeln!(
                        out,
                        "\\definecolor{{{}}}{{HTML}}{{{}}}",
                        tex_ink(ink),
                        ink[1..].to_uppercase()
                    );
                    inks.push(ink);
                }
            }
        }
        for shape in &self.shapes {
            tikz_shape(&mut out, shape);
        }
        out + "\\end{tikzpicture}\n"
    }
}

fn svg_shape(out: &mut String, shape: &Shape) {
    let paint = |fill: &Option<Ink>, line: &Option<Ink>| {
        let line = line.map_or(String::new(), |l| format!(" stroke=\"{l}\""));
        format!(" fill=\"{}\"{line}", fill.unwrap_or("none"))
    };
    let dash = |dashed: bool| if dashed { " stroke-dasharray=\"3 2\"" } else { "" };
    let _ = match shape {
        Shape::Rect { at: [x, y, w, h], fill, line, dashed } => writeln!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}{}/>",
            short(*x),
            short(*y),
            short(*w),
            short(*h),
            paint(fill, line),
            dash(*dashed)
        ),
        Shape::Path { steps, fill, line, width, dashed } => {
            let mut d = String::new();
            for step in steps {
                let _ = match step {
                    Step::Move(x, y) => write!(d, "M{} {}", short(*x), short(*y)),
                    Step::Line(x, y) => write!(d, "L{} {}", short(*x), short(*y)),
                    Step::Curve(c) => write!(d, "C{}", c.map(short).join(" ")),
                };
            }
            let close = if fill.is_some() { "Z" } else { "" };
            let width =
                if line.is_some() { format!(" stroke-width=\"{}\"", short(*width)) } else { String::new() };
            writeln!(out, "<path d=\"{d}{close}\"{}{width}{}/>", paint(fill, line), dash(*dashed))
        }
        Shape::Text { at, text, size, anchor, ink, bold } => {
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let weight = if *bold { " font-weight=\"bold\"" } else { "" };
            writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{ink}\"{anchor}{weight}>{}</text>",
                short(at.0),
                short(at.1),
                short(*size),
                escape(text)
            )
        }
    };
}

/// Red, green and blue from 0 to 1.
fn rgb(ink: Ink) -> [f32; 3] {
    let byte = |i: usize| u8::from_str_radix(&ink[i..i + 2], 16).unwrap_or(0);
    [1, 3, 5].map(|i| f32::from(byte(i)) / 255.0)
}

fn pdf_shape(c: &mut Content, shape: &Shape, height: f64) {
    let flip = |y: f64| (height - y) as f32;
    let paint = |c: &mut Content, fill: &Option<Ink>, line: &Option<Ink>, closed: bool| {
        match (fill, line) {
            (Some(_), Some(_)) => c.fill_nonzero_and_stroke(),
            (Some(_), None) => c.fill_nonzero(),
            (None, _) if closed => c.close_and_stroke(),
            (None, _) => c.stroke(),
        };
    };
    let inks = |c: &mut Content, fill: &Option<Ink>, line: &Option<Ink>, width: f64, dashed: bool| {
        if let Some([r, g, b]) = fill.map(rgb) {
            c.set_fill_rgb(r, g, b);
        }
        if let Some([r, g, b]) = line.map(rgb) {
            c.set_stroke_rgb(r, g, b);
            c.set_line_width(width as f32);
            c.set_dash_pattern(if dashed { vec![3.0, 2.0] } else { Vec::new() }, 0.0);
        }
    };
    match shape {
        Shape::Rect { at: [x, y, w, h], fill, line, dashed } => {
            inks(c, fill, line, 0.8, *dashed);
            c.rect(*x as f32, flip(y + h), *w as f32, *h as f32);
            paint(c, fill, line, true);
        }
        Shape::Path { steps, fill, line, width, dashed } => {
            inks(c, fill, line, *width, *dashed);
            for step in steps {
                match step {
                    Step::Move(x, y) => c.move_to(*x as f32, flip(*y)),
                    Step::Line(x, y) => c.line_to(*x as f32, flip(*y)),
                    Step::Curve([a, b, d, e, f, g]) => {
                        c.cubic_to(*a as f32, flip(*b), *d as f32, flip(*e), *f as f32, flip(*g))
                    }
                };
            }
            paint(c, fill, line, false);
        }
        Shape::Text { at, text, size, anchor, ink, bold } => {
            let [r, g, b] = rgb(ink);
            let back = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => text_width(text, *size) / 2.0,
                Anchor::End => text_width(text, *size),
            };
            c.set_fill_rgb(r, g, b);
            c.begin_text();
            c.set_font(Name(if *bold { b"B" } else { b"F" }), *size as f32);
            c.next_line((at.0 - back) as f32, flip(at.1));
            c.show(Str(&latin(text)));
            c.end_text();
        }
    }
}

/// In the encoding of PDF's own fonts.
fn latin(text: &str) -> Vec<u8> {
    let byte = |c: char| match c {
        '…' => 0x85,
        '–' => 0x96,
        '—' => 0x97,
        '’' => 0x92,
        '→' => b'>',
        c if c.is_control() => b' ',
        c => u8::try_from(c as u32).unwrap_or(b'?'),
    };
    text.chars().map(byte).collect()
}

fn tex_ink(ink: Ink) -> String {
    format!("weir{}", &ink[1..])
}

fn tikz_shape(out: &mut String, shape: &Shape) {
    let paint = |fill: &Option<Ink>, line: &Option<Ink>, width: f64, dashed: bool| {
        let mut options = Vec::new();
        options.extend(fill.map(|i| format!("fill={}", tex_ink(i))));
        options.extend(line.map(|i| format!("draw={},line width={}pt", tex_ink(i), short(width))));
        options.extend(dashed.then(|| "dash pattern=on 3pt off 2pt".to_string()));
        options.join(",")
    };
    let at = |x: f64, y: f64| format!("({},{})", short(x), short(y));
    let _ = match shape {
        Shape::Rect { at: [x, y, w, h], fill, line, dashed } => {
            writeln!(
                out,
                "\\path[{}] {} rectangle {};",
                paint(fill, line, 0.8, *dashed),
                at(*x, *y),
                at(x + w, y + h)
            )
        }
        Shape::Path { steps, fill, line, width, dashed } => {
            let mut d = String::new();
            for step in steps {
                d += &match step {
                    Step::Move(x, y) => format!(" {}", at(*x, *y)),
                    Step::Line(x, y) => format!(" -- {}", at(*x, *y)),
                    Step::Curve([a, b, c, e, f, g]) => {
                        format!(" .. controls {} and {} .. {}", at(*a, *b), at(*c, *e), at(*f, *g))
                    }
                };
            }
            let close = if fill.is_some() { " -- cycle" } else { "" };
            writeln!(out, "\\path[{}]{d}{close};", paint(fill, line, *width, *dashed))
        }
        Shape::Text { at: place, text, size, anchor, ink, bold } => {
            let anchor = match anchor {
                Anchor::Start => "base west",
                Anchor::Middle => "base",
                Anchor::End => "base east",
            };
            let series = if *bold { "\\bfseries" } else { "" };
            writeln!(
                out,
                "\\node[anchor={anchor},text={},font=\\sffamily{series}\\fontsize{{{s}}}{{{s}}}\\selectfont] at {} {{{}}};",
                tex_ink(ink),
                at(place.0, place.1),
                tex(text),
                s = short(*size)
            )
        }
    };
}

/// A text that TeX prints as it is.
fn tex(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' => out += "\\textbackslash{}",
            '~' => out += "\\textasciitilde{}",
            '^' => out += "\\textasciicircum{}",
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '…' => out += "\\ldots{}",
            '·' => out += "\\textperiodcentered{}",
            '→' => out += "$\\to$",
            '×' => out += "$\\times$",
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Picture {
        let mut p = Picture::new(100.0, 50.0, "a & b");
        p.rect(1.0, 2.0, 30.0, 4.5, RED);
        p.line((0.0, 0.0), (10.0, 5.0), BLACK, 0.5);
        p.polygon(&[(0.0, 0.0), (4.0, 0.0), (2.0, 3.0)], GREY);
        p.text((50.0, 20.0), "50 % of <a_b>", 8.0, Anchor::End, BLACK);
        p.heading((1.0, 10.0), "Größe…", 10.0);
        p
    }

    #[test]
    fn svg_is_well_formed_and_texts_are_escaped() {
        let svg = sample().svg();
        assert!(svg.contains("<title>a &amp; b</title>") && svg.contains("50 % of &lt;a_b&gt;"), "{svg}");
        assert_eq!(svg.matches('<').count(), svg.matches('>').count(), "{svg}");
    }

    /// The shapes are the same; one group of them is uncovered.
    #[test]
    fn a_part_of_an_svg_moves() {
        let mut picture = sample();
        let still = picture.svg();
        picture.play = Some(Play { shapes: 0..picture.shapes.len(), x: (10.0, 90.0), seconds: 8.0 });
        let moving = picture.svg();
        assert!(moving.contains("clip-path=\"url(#played)\"") && moving.contains("prefers-reduced-motion"));
        assert_eq!(moving.matches("<rect").count(), still.matches("<rect").count() + 1);
        assert_eq!(moving.matches("<g ").count(), moving.matches("</g>").count());
    }

    #[test]
    fn pdf_has_its_page_and_texts() {
        let pdf = sample().pdf();
        assert!(pdf.starts_with(b"%PDF-1.") && pdf.ends_with(b"%%EOF"));
        let text = String::from_utf8_lossy(&pdf);
        assert!(text.contains("/Helvetica") && text.contains("(50 % of <a_b>) Tj"), "{text}");
        assert!(text.contains("[0 0 100 50]"), "{text}");
        assert_eq!(pdf, sample().pdf());
    }

    #[test]
    fn tex_takes_every_text() {
        let tex = sample().tikz();
        assert!(tex.contains("50 \\% of <a\\_b>") && tex.contains("\\definecolor{weirc4342d}"), "{tex}");
        assert_eq!(tex.matches("\\begin").count(), tex.matches("\\end").count());
        // Nothing opens that does not close.
        let depth = tex
            .replace("\\{", "")
            .replace("\\}", "")
            .chars()
            .fold(0i32, |d, c| d + i32::from(c == '{') - i32::from(c == '}'));
        assert_eq!(depth, 0);
    }

    #[test]
    fn texts_have_widths() {
        assert!((text_width("Hello", 10.0) - 22.78).abs() < 0.01);
    }
}
