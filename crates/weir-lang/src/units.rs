// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Values with units: `3ms`, `50%`, `64KiB`, `7`, `true`.

use weir_core::{ParamInfo, Unit};
use weir_text::quantity;

/// How values of a unit are written.
pub(crate) fn spelling(unit: Unit) -> &'static str {
    match unit {
        Unit::Ns => "a time such as `3ms` (ns, us, ms, s or min)",
        Unit::Count => "a plain number such as `7`",
        Unit::Pct => "a percentage such as `50%`",
        Unit::Bytes => "a size such as `64KiB` (KiB, MiB, GiB, or plain bytes)",
        Unit::Flag => "`true` or `false`",
    }
}

/// Read `text` as a value of `unit`, in base units (ns, bytes, percent). The error is a sentence.
pub(crate) fn parse(text: &str, unit: Unit) -> Result<u64, String> {
    let noun = match unit {
        Unit::Ns => "time with a unit",
        Unit::Count => "plain number",
        Unit::Pct => "percentage",
        Unit::Bytes => "size in bytes",
        Unit::Flag => "boolean",
    };
    let wrong = || format!("`{text}` is not a {noun}");
    if unit == Unit::Flag {
        return match text {
            "true" => Ok(1),
            "false" => Ok(0),
            _ => Err(wrong()),
        };
    }
    let units = match unit {
        Unit::Ns => quantity::TIME,
        Unit::Bytes => quantity::SIZE,
        Unit::Pct => quantity::PERCENT,
        Unit::Count | Unit::Flag => quantity::COUNT,
    };
    // Without a unit it is bytes, or nothing of anything.
    let bare = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let text_with = if bare && unit == Unit::Bytes { &format!("{text}B") } else { text };
    if matches!(unit, Unit::Count | Unit::Pct) && text.contains('.') {
        return Err(wrong());
    }
    quantity::parse(text_with, units)
        .map_err(|e| if e.message.contains("too large") { format!("`{text}` is too large") } else { wrong() })
}

/// `value` in the largest unit that shows it whole, as one writes it in a topology.
pub fn show(value: u64, unit: Unit) -> String {
    let whole = |steps: &[(u64, &str)], base: &str| {
        let step = steps.iter().find(|(scale, _)| value != 0 && value.is_multiple_of(*scale));
        step.map_or_else(|| format!("{value}{base}"), |(scale, word)| format!("{}{word}", value / scale))
    };
    match unit {
        Unit::Ns => whole(&[(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")], "ns"),
        Unit::Count => value.to_string(),
        Unit::Pct => format!("{value}%"),
        Unit::Bytes => whole(&[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")], ""),
        Unit::Flag => (value != 0).to_string(),
    }
}

/// Is `value` within the range of `param`? The error names the range.
pub(crate) fn in_range(value: u64, param: &ParamInfo) -> Result<(), String> {
    if (param.min..=param.max).contains(&value) {
        return Ok(());
    }
    let (low, high) = (show(param.min, param.unit), show(param.max, param.unit));
    Err(format!("{} is out of range: `{}` takes {low} to {high}", show(value, param.unit), param.name))
}

/// What a parameter is without a value, for one that is out of range.
pub(crate) fn without(param: &ParamInfo) -> String {
    let meaning = if param.help.is_empty() { String::new() } else { format!(" ({})", param.help) };
    format!("without a value `{}`{meaning} is {}", param.name, show(param.default, param.unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units() {
        assert_eq!(parse("3ms", Unit::Ns), Ok(3_000_000));
        assert_eq!(parse("1.5us", Unit::Ns), Ok(1_500));
        assert_eq!(parse("2min", Unit::Ns), Ok(120_000_000_000));
        assert_eq!(parse("0.000000001s", Unit::Ns), Ok(1));
        assert_eq!(parse("1_000", Unit::Count), Ok(1000));
        assert_eq!(parse("64KiB", Unit::Bytes), Ok(65536));
        assert_eq!(parse("1.5KiB", Unit::Bytes), Ok(1536));
        assert_eq!(parse("true", Unit::Flag), Ok(1));
        assert_eq!(parse("0", Unit::Ns), Ok(0));
    }

    #[test]
    fn refuses_the_wrong_unit_and_size() {
        for (text, unit) in [
            ("3", Unit::Ns),
            ("3ms", Unit::Count),
            ("99999999999999999999", Unit::Count),
            ("99999999999s", Unit::Ns),
            ("1", Unit::Flag),
            ("5.5%", Unit::Pct),
            ("1.", Unit::Count),
            ("", Unit::Count),
            ("__", Unit::Count),
        ] {
            assert!(parse(text, unit).is_err(), "{text} as {unit:?}");
        }
    }

    #[test]
    fn shows_what_it_reads() {
        for text in ["3ms", "1500us", "7ns", "2s"] {
            assert_eq!(show(parse(text, Unit::Ns).unwrap(), Unit::Ns), text);
        }
        assert_eq!(show(65536, Unit::Bytes), "64KiB");
        assert_eq!(show(0, Unit::Ns), "0ns");
        assert_eq!(show(50, Unit::Pct), "50%");
        assert_eq!(show(1, Unit::Flag), "true");
    }
}
