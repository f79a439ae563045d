// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Times on the command line: read with a unit, shown with the unit that reads best.

/// Factors by suffix, longest suffix first where one ends another.
const UNITS: [(&str, u64); 6] =
    [("ns", 1), ("us", 1_000), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000)];

/// Read `2s`, `1.5ms`, `300us`; the result is in nanoseconds. The error says how to write it.
pub fn parse_duration(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    if text.starts_with('-') {
        return Err("a duration cannot be negative".into());
    }
    if number.is_empty() {
        return Err("a duration begins with a number and ends with a unit, for example 500ms".into());
    }
    let unit = unit.trim_start();
    if unit.is_empty() {
        return Err(format!("the unit is missing: write {number}s, {number}ms, {number}us or {number}ns"));
    }
    let factor = match UNITS.iter().find(|(name, _)| *name == unit) {
        Some((_, factor)) => *factor,
        None => return Err(format!("unknown unit `{unit}`: use ns, us, ms, s or m (minutes)")),
    };
    let ns = scale(&number.replace('_', ""), factor)?;
    if ns == 0 { Err("the duration must be longer than nothing".into()) } else { Ok(ns) }
}

/// `number * factor` with a decimal fraction, exactly; digits beyond a nanosecond are an error.
fn scale(number: &str, factor: u64) -> Result<u64, String> {
    let too_long = || "the duration is too long: 584 years are the most that 64 bits hold".to_string();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return Err(format!("`{number}` is not a number"));
    }
    let fraction = fraction.trim_end_matches('0');
    if !whole.chars().chain(fraction.chars()).all(|c| c.is_ascii_digit()) {
        return Err(format!("`{number}` is not a number"));
    }
    let places = u32::try_from(fraction.len()).ok().filter(|p| *p <= 15);
    let places = places.ok_or_else(|| format!("`{number}` is finer than a nanosecond"))?;
    let digits = format!("{whole}{fraction}");
    let value: u128 = if digits.is_empty() { 0 } else { digits.parse().map_err(|_| too_long())? };
    let scaled = value.checked_mul(u128::from(factor)).ok_or_else(too_long)?;
    let divisor = 10u128.pow(places);
    if scaled % divisor != 0 {
        return Err(format!("`{number}` is finer than a nanosecond"));
    }
    u64::try_from(scaled / divisor).map_err(|_| too_long())
}

/// Show a time with three significant digits or more: `1.50 ms`, `12.3 s`, `980 ns`.
pub fn show_ns(ns: u64) -> String {
    let (unit, factor) = match ns {
        0..=9_999 => return format!("{ns} ns"),
        10_000..=9_999_999 => ("us", 1e3),
        10_000_000..=9_999_999_999 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    let value = ns as f64 / factor;
    if value.fract() == 0.0 { format!("{value:.0} {unit}") } else { format!("{value:.2} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units_exactly() {
        for (text, ns) in [
            ("1ns", 1),
            ("2us", 2_000),
            ("2µs", 2_000),
            ("3ms", 3_000_000),
            ("1.5ms", 1_500_000),
            ("0.1s", 100_000_000),
            ("2s", 2_000_000_000),
            ("1.5m", 90_000_000_000),
            ("1_000us", 1_000_000),
            ("2 s", 2_000_000_000),
        ] {
            assert_eq!(parse_duration(text), Ok(ns), "{text}");
        }
    }

    #[test]
    fn refuses_with_a_remedy() {
        for (text, says) in [
            ("2", "2s, 2ms"),
            ("", "begins with a number"),
            ("s", "begins with a number"),
            ("-1s", "negative"),
            ("2h", "ns, us, ms, s or m"),
            ("2sec", "ns, us, ms, s or m"),
            ("0s", "longer than nothing"),
            ("1.2.3s", "not a number"),
            (".s", "not a number"),
            ("0.5ns", "finer than a nanosecond"),
            ("99999999999s", "too long"),
            ("99999999999999999999s", "too long"),
        ] {
            let error = parse_duration(text).expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn shows_the_unit_that_reads_best() {
        assert_eq!(show_ns(980), "980 ns");
        assert_eq!(show_ns(1_500_000), "1500 us");
        assert_eq!(show_ns(2_000_000_000), "2000 ms");
        assert_eq!(show_ns(12_340_000_000), "12.34 s");
    }
}
