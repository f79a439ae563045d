// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Curves with bands of uncertainty, as a self-contained SVG that follows light and dark settings.

use std::fmt::Write;

use crate::html::escape;

/// A point of a curve with the bounds of its interval, in units of the vertical axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// Index of the value on the horizontal axis.
    pub x: usize,
    pub y: f64,
    pub low: f64,
    pub high: f64,
}

impl Spot {
    /// A value that is known exactly.
    pub fn at(x: usize, y: f64) -> Self {
        Self { x, y, low: y, high: y }
    }
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    pub name: String,
    pub spots: Vec<Spot>,
    /// Colour by number; the curve's place in the list if left out.
    pub colour: Option<usize>,
    /// Drawn in dashes: what others measured beside what was measured here, for example.
    pub dashed: bool,
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    pub x_title: String,
    pub y_title: String,
    /// Values of the horizontal axis as they were written.
    pub x_values: Vec<String>,
    /// The vertical axis goes from 0 to 100.
    pub percent: bool,
    /// Its steps are powers of ten; all values have to be above 0.
    pub log: bool,
    pub curves: Vec<Curve>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 52.0;
/// Height of a line of the legend, and the width of a letter in it.
const LINE: f64 = 18.0;
const LETTER: f64 = 6.6;
/// The colours of the reports' charts.
const PALETTE: [&str; 12] = [
    "#4269d0", "#2fa58c", "#8a55d7", "#7d9f35", "#c9559b", "#2f93c4", "#96705a", "#6c7a89", "#5b6ee8",
    "#1f8a5f", "#b07cc6", "#a3a04a",
];
/// Dashes tell more curves than colours apart.
const DASHES: [&str; 3] = ["", " stroke-dasharray=\"7 3\"", " stroke-dasharray=\"2 3\""];

impl Plot {
    /// Positions of the horizontal values between 0 and 1: to scale where all are numbers of one unit, else
    /// evenly spaced.
    fn places(&self) -> Vec<f64> {
        let even = |n: usize| (0..n).map(|i| if n > 1 { i as f64 / (n - 1) as f64 } else { 0.5 }).collect();
        let split = |v: &str| {
            let at = v.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(v.len());
            Some((v[..at].parse::<f64>().ok()?, v[at..].trim().to_string()))
        };
        let Some(numbers) = self.x_values.iter().map(|v| split(v)).collect::<Option<Vec<_>>>() else {
            return even(self.x_values.len());
        };
        let (low, high) = numbers.iter().fold((f64::MAX, f64::MIN), |(l, h), (n, _)| (l.min(*n), h.max(*n)));
        if numbers.iter().any(|n| n.1 != numbers[0].1) || high <= low {
            return even(numbers.len());
        }
        // Steps of the same factor are shown as such.
        let ordered = numbers.windows(2).all(|w| w[0].0 < w[1].0);
        if ordered && low > 0.0 && high / low >= 50.0 {
            let scale = libm::log(high / low);
            return numbers.iter().map(|n| libm::log(n.0 / low) / scale).collect();
        }
        numbers.iter().map(|n| (n.0 - low) / (high - low)).collect()
    }

    /// Highest value that is drawn.
    fn top(&self) -> f64 {
        self.curves.iter().flat_map(|c| &c.spots).map(|s| s.high).fold(0.0, f64::max).max(1e-9)
    }

    /// Powers of ten at the ends of a logarithmic axis, at least one apart.
    fn decades(&self) -> (i32, i32) {
        let lows = self.curves.iter().flat_map(|c| &c.spots).map(|s| s.low).filter(|v| *v > 0.0);
        let low = lows.fold(self.top(), f64::min);
        let first = libm::floor(libm::log10(low)) as i32;
        // A value that is a power of ten except for rounding needs no decade of its own.
        (first, (libm::ceil(libm::log10(self.top()) - 1e-9) as i32).max(first + 1))
    }

    /// Values of the vertical axis that get a line.
    fn lines(&self) -> Vec<f64> {
        if self.log {
            let (first, last) = self.decades();
            return (first..=last).map(|e| libm::pow(10.0, f64::from(e))).collect();
        }
        let (top, step) = self.scale();
        (0..).map(|i| f64::from(i) * step).take_while(|v| *v <= top + step / 2.0).collect()
    }

    /// Place of a value on the vertical axis, from 0 to 1.
    fn height(&self, value: f64) -> f64 {
        let share = if self.log {
            let (first, last) = self.decades();
            (libm::log10(value.max(1e-300)) - f64::from(first)) / f64::from(last - first)
        } else {
            value / self.scale().0
        };
        share.clamp(0.0, 1.0)
    }

    /// End of the vertical axis and the distance of its lines.
    fn scale(&self) -> (f64, f64) {
        if self.percent {
            return (100.0, 20.0);
        }
        let top = self.top();
        let base = libm::pow(10.0, libm::floor(libm::log10(top / 5.0)));
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|f| f * base).find(|s| top / s <= 6.0);
        let step = step.unwrap_or(10.0 * base);
        (libm::ceil(top / step) * step, step)
    }

    /// Draw it.
    pub fn svg(&self) -> String {
        let places = self.places();
        let x = |i: usize| LEFT + places[i] * (WIDTH - LEFT - RIGHT);
        let y = |v: f64| HEIGHT - BOTTOM - self.height(v) * (HEIGHT - TOP - BOTTOM);
        let rows = self.legend();
        let height = HEIGHT + rows.iter().map(|r| r.1).fold(0.0, f64::max) + LINE;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"weir-plot\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" \
             width=\"{WIDTH:.0}\" height=\"{height:.0}\" role=\"img\">\n<title>{} against {}</title>\n<style>\n\
             .weir-plot {{ --ink: #16191d; --soft: #5c6670; --line: #dfe3e8; font: 12px system-ui, \"DejaVu Sans\", sans-serif; }}\n\
             @media (prefers-color-scheme: dark) {{ .weir-plot {{ --ink: #e7ebf0; --soft: #a0abb7; --line: #2b323b; }} }}\n\
             :root[data-theme=\"light\"] .weir-plot {{ --ink: #16191d; --soft: #5c6670; --line: #dfe3e8; }}\n\
             :root[data-theme=\"dark\"] .weir-plot {{ --ink: #e7ebf0; --soft: #a0abb7; --line: #2b323b; }}\n\
             .weir-plot text {{ fill: #5c6670; fill: var(--soft); }} .weir-plot .name {{ fill: #16191d; fill: var(--ink); }}\n\
             .weir-plot .grid {{ stroke: #dfe3e8; stroke: var(--line); }}\n</style>\n",
            escape(&self.y_title),
            escape(&self.x_title)
        );
        let w = &mut out;
        for v in self.lines() {
            put(
                w,
                format_args!(
                    "<path class=\"grid\" d=\"M{LEFT:.1} {0:.1}H{1:.1}\"/><text x=\"{2:.1}\" y=\"{3:.1}\" text-anchor=\"end\">{4}</text>\n",
                    y(v),
                    WIDTH - RIGHT,
                    LEFT - 8.0,
                    y(v) + 4.0,
                    number(v)
                ),
            );
        }
        self.ticks(w, &places);
        put(
            w,
            format_args!(
                "<text class=\"name\" x=\"{LEFT:.1}\" y=\"18\">{}</text>\n<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
                escape(&self.y_title),
                (LEFT + WIDTH - RIGHT) / 2.0,
                HEIGHT - 12.0,
                escape(&self.x_title)
            ),
        );
        for (i, curve) in self.curves.iter().enumerate() {
            let which = curve.colour.unwrap_or(i);
            let colour = PALETTE[which % PALETTE.len()];
            let dash = DASHES[(which / PALETTE.len() + usize::from(curve.dashed)) % DASHES.len()];
            let line = |of: fn(&Spot) -> f64, spots: &mut dyn Iterator<Item = &Spot>| {
                spots.map(|s| format!("{:.1},{:.1}", x(s.x), y(of(s)))).collect::<Vec<_>>().join(" ")
            };
            let (upper, lower) =
                (line(|s| s.high, &mut curve.spots.iter()), line(|s| s.low, &mut curve.spots.iter().rev()));
            put(w, format_args!("<g><title>{}</title>\n", escape(&curve.name)));
            put(
                w,
                format_args!(
                    "<polygon points=\"{upper} {lower}\" fill=\"{colour}\" fill-opacity=\".14\"/>\n"
                ),
            );
            put(
                w,
                format_args!(
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>\n",
                    line(|s| s.y, &mut curve.spots.iter())
                ),
            );
            for s in &curve.spots {
                put(
                    w,
                    format_args!(
                        "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"><title>{}, {} {}: {} ({} to {})</title></circle>\n",
                        x(s.x),
                        y(s.y),
                        escape(&curve.name),
                        escape(&self.x_title),
                        escape(&self.x_values[s.x]),
                        number(s.y),
                        number(s.low),
                        number(s.high)
                    ),
                );
            }
            let (left, down) = rows[i];
            put(
                w,
                format_args!(
                    "</g>\n<path d=\"M{left:.1} {0:.1}h22\" stroke=\"{colour}\" stroke-width=\"3\"{dash}/><text class=\"name\" x=\"{1:.1}\" y=\"{2:.1}\">{3}</text>\n",
                    HEIGHT + down,
                    left + 28.0,
                    HEIGHT + down + 4.0,
                    escape(&curve.name)
                ),
            );
        }
        out.push_str("</svg>\n");
        out
    }

    /// Values below the axis, as many as have room.
    fn ticks(&self, out: &mut String, places: &[f64]) {
        let mut free = f64::MIN;
        for (value, place) in self.x_values.iter().zip(places) {
            let at = LEFT + place * (WIDTH - LEFT - RIGHT);
            let half = value.chars().count() as f64 * LETTER / 2.0 + 4.0;
            if at - half < free {
                continue;
            }
            free = at + half;
            put(
                out,
                format_args!(
                    "<path class=\"grid\" d=\"M{at:.1} {0:.1}v5\"/><text x=\"{at:.1}\" y=\"{1:.1}\" text-anchor=\"middle\">{2}</text>\n",
                    HEIGHT - BOTTOM,
                    HEIGHT - BOTTOM + 20.0,
                    escape(value)
                ),
            );
        }
    }

    /// Where each curve's name goes: from the left, and below the picture.
    fn legend(&self) -> Vec<(f64, f64)> {
        let (mut left, mut down) = (LEFT, 0.0);
        let mut rows = Vec::with_capacity(self.curves.len());
        for curve in &self.curves {
            let width = 46.0 + curve.name.chars().count() as f64 * LETTER;
            if left > LEFT && left + width > WIDTH - RIGHT {
                (left, down) = (LEFT, down + LINE);
            }
            rows.push((left, down));
            left += width;
        }
        rows
    }
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a string");
}

/// A value with at most three digits behind the point.
fn number(value: f64) -> String {
    let text =
        if value != 0.0 && value.abs() < 0.001 { format!("{value:.9}") } else { format!("{value:.3}") };
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(values: &[&str]) -> Plot {
        Plot {
            x_title: "x".into(),
            y_title: "y".into(),
            x_values: values.iter().map(|v| v.to_string()).collect(),
            percent: false,
            log: false,
            curves: vec![Curve {
                name: "c".into(),
                spots: vec![Spot { x: 0, y: 7.0, low: 6.0, high: 23.0 }],
                colour: None,
                dashed: false,
            }],
        }
    }

    #[test]
    fn numbers_are_to_scale_and_words_are_not() {
        assert_eq!(plot(&["10%", "20%", "50%"]).places(), [0.0, 0.25, 1.0]);
        assert_eq!(plot(&["a", "b", "c"]).places(), [0.0, 0.5, 1.0]);
        assert_eq!(plot(&["1ms", "2s", "9s"]).places(), [0.0, 0.5, 1.0]);
        assert_eq!(plot(&["4"]).places(), [0.5]);
        let places = plot(&["1", "10", "100"]).places();
        assert!((places[1] - 0.5).abs() < 1e-9, "{places:?}");
    }

    #[test]
    fn the_axis_ends_at_a_round_number() {
        assert_eq!(plot(&["1"]).scale(), (25.0, 5.0));
        assert_eq!(Plot { percent: true, ..plot(&["1"]) }.scale(), (100.0, 20.0));
        assert_eq!(number(2.5), "2.5");
    }

    #[test]
    fn a_logarithmic_axis_goes_by_decades() {
        let mut p = Plot { log: true, ..plot(&["1"]) };
        assert_eq!(p.decades(), (0, 2));
        assert_eq!(p.lines(), [1.0, 10.0, 100.0]);
        assert!((p.height(10.0) - 0.5).abs() < 1e-9 && p.height(0.5) == 0.0);
        p.curves[0].spots[0] = Spot::at(0, 100.0);
        assert_eq!(p.decades(), (2, 3));
        assert_eq!(number(0.0001), "0.0001");
    }
}
