// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The frame that both pages share.

use serde::Serialize;

const STYLE: &str = include_str!("assets/style.css");
const COMMON: &str = include_str!("assets/common.js");

/// Text as HTML, also within a quoted attribute. Control characters that HTML does not allow become
/// replacement characters.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(c),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A value as JSON that may stand in a script element: no `<`, so that no end tag and no comment can
/// begin within, and no line separator that old engines take for a line break.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value)
        .expect("report data has string keys and finite numbers only")
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// A text with the micro sign, which every browser has and not every terminal.
pub fn micro(text: &str) -> String {
    text.replace(" us", " µs")
}

/// A headline number: label, value, and a remark below; `alert` colours it.
pub struct Tile {
    pub label: &'static str,
    pub value: String,
    pub note: String,
    pub alert: bool,
}

/// The tiles as HTML.
pub fn tiles(tiles: &[Tile]) -> String {
    let tile = |t: &Tile| {
        format!(
            "<div class=\"tile{}\"><dt>{}</dt><dd>{}</dd><small>{}</small></div>",
            if t.alert { " alert" } else { "" },
            escape(t.label),
            escape(&micro(&t.value)),
            escape(&micro(&t.note))
        )
    };
    format!("<dl class=\"tiles\">{}</dl>", tiles.iter().map(tile).collect::<String>())
}

/// A whole page. `title` and `body` are HTML already; `data` is the value that the script reads.
pub fn page(title: &str, body: &str, data: &impl Serialize, script: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n{body}\n<script type=\"application/json\" id=\"data\">{}</script>\n\
         <script>\n\"use strict\";\n{COMMON}\n{script}</script>\n</body>\n</html>\n",
        json(data)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_names_is_text() {
        assert_eq!(escape("<b a='\"&\x07"), "&lt;b a=&#39;&quot;&amp;\u{fffd}");
        assert_eq!(json(&"</script><!--\u{2028}"), "\"\\u003c/script>\\u003c!--\\u2028\"");
    }
}
