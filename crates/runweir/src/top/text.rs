// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The picture as plain text, and numbers in few cells.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use weir_linux::snapshot::Snapshot;
use weir_report::clip;

use super::keys::Keys;
use super::view::Picture;

/// At most `width` cells, filled up with spaces.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let text = clip(text, width);
    let missing = width.saturating_sub(text.chars().count());
    text + &" ".repeat(missing)
}

/// At most `width` cells, to the right of them.
pub(crate) fn right(text: &str, width: usize) -> String {
    let text = clip(text, width);
    " ".repeat(width.saturating_sub(text.chars().count())) + &text
}

/// A rate in at most five cells: `0`, `0.4`, `12.3k`.
pub(crate) fn per_second(rate: f64) -> String {
    match rate {
        0.0 => "0".into(),
        r if r < 9.95 => format!("{r:.1}"),
        r if r < 9999.5 => format!("{r:.0}"),
        r if r < 99_950.0 => format!("{:.1}k", r / 1e3),
        r if r < 9_999_500.0 => format!("{:.0}k", r / 1e3),
        r => format!("{:.0}M", r / 1e6),
    }
}

/// A share, 0 to 1, as whole percent; what is more than nothing is not shown as 0.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0%".into(),
        p if p < 1.0 => "<1%".into(),
        p => format!("{p:.0}%"),
    }
}

/// One picture of `width` by `height` cells as plain text.
pub fn once(before: Option<&Snapshot>, now: &Snapshot, width: u16, height: u16) -> String {
    let (width, height) = (width.max(20), height.max(8));
    let keys = Keys::default();
    // The line with the keys would be of no use: it comes after the last.
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height + 1));
    (&Picture { before, now, keys: &keys, note: None }).render(buf.area, &mut buf);
    let mut text = String::new();
    for y in 0..height {
        let line: String = (0..width).map(|x| buf[(x, y)].symbol()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_shares_are_short() {
        let shown = [0.0, 0.04, 9.94, 9.96, 9999.0, 12_345.0, 99_949.0, 123_456.0, 9_999_600.0];
        assert_eq!(shown.map(per_second), ["0", "0.0", "9.9", "10", "9999", "12.3k", "99.9k", "123k", "10M"]);
        assert_eq!([0.0, 0.001, 0.5, 1.0].map(percent), ["0%", "<1%", "50%", "100%"]);
    }

    #[test]
    fn cells_have_their_width() {
        assert_eq!((pad("abc", 5), right("abc", 5)), ("abc  ".into(), "  abc".into()));
        assert_eq!((pad("abcdef", 4), right("ü\n", 3)), ("abc…".into(), " ü ".into()));
    }
}
