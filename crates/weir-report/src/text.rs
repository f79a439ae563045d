// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Numbers for people.

/// Unit of a duration: three significant digits and `ns`, `us`, `ms` or `s`.
pub fn duration(ns: u64) -> String {
    duration_f(ns as f64)
}

/// A duration that is the result of a division.
pub fn duration_f(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        x if x < 999.5 => return if x == 0.0 { "0".into() } else { format!("{} ns", significant(ns)) },
        x if x < 999.5e3 => (ns / 1e3, "us"),
        x if x < 999.5e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", significant(value))
}

/// A time to the nanosecond, in the unit that [`duration`] chooses: points in time, which are to be found again, and what the user set.
pub fn exact(ns: u64) -> String {
    let (factor, digits, unit) = match ns {
        0 => return "0".into(),
        1..=999 => return format!("{ns} ns"),
        1_000..=999_999 => (1_000, 3, "us"),
        1_000_000..=999_999_999 => (1_000_000, 6, "ms"),
        _ => (1_000_000_000, 9, "s"),
    };
    match ns % factor {
        0 => format!("{} {unit}", ns / factor),
        rest => format!("{}.{} {unit}", ns / factor, format!("{rest:0digits$}").trim_end_matches('0')),
    }
}

/// Three significant digits, but never fewer than the whole part has.
pub fn significant(value: f64) -> String {
    match value.abs() {
        x if x >= 99.95 => format!("{value:.0}"),
        x if x >= 9.995 => format!("{value:.1}"),
        0.0 => "0".into(),
        _ if value.fract() == 0.0 => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}

/// `part` of `whole` in percent, two significant decimals where it is small.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".into();
    }
    match 100.0 * part as f64 / whole as f64 {
        0.0 => "0 %".into(),
        x if x < 0.01 => "<0.01 %".into(),
        x if x < 1.0 => format!("{x:.2} %"),
        x => format!("{x:.1} %"),
    }
}

/// Energy, from microjoules.
pub fn energy_f(uj: f64) -> String {
    let (value, unit) = match uj.abs() {
        0.0 => return "0".into(),
        x if x < 999.5 => (uj, "uJ"),
        x if x < 999.5e3 => (uj / 1e3, "mJ"),
        x if x < 999.5e6 => (uj / 1e6, "J"),
        _ => (uj / 1e9, "kJ"),
    };
    format!("{} {unit}", significant(value))
}

/// Cells that a string takes on a terminal; characters are counted, which is right for all names but
/// those in wide scripts.
pub fn cells(s: &str) -> usize {
    s.chars().count()
}

/// At most `max` cells; what is cut is shown by an ellipsis. Control characters become spaces, so
/// that a name can neither break a line nor talk to the terminal.
pub fn clip(s: &str, max: usize) -> String {
    let clean = s.chars().map(|c| if c.is_control() { ' ' } else { c });
    if cells(s) <= max { clean.collect() } else { clean.take(max.saturating_sub(1)).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_a_unit() {
        let shown: Vec<_> = [0, 1, 999, 1000, 1234, 12_345, 999_499, 999_500, 4_000_000, 61_000_000_000]
            .iter()
            .map(|&ns| duration(ns))
            .collect();
        assert_eq!(
            shown,
            ["0", "1 ns", "999 ns", "1 us", "1.23 us", "12.3 us", "999 us", "1.00 ms", "4 ms", "61.0 s"]
        );
    }

    #[test]
    fn times_are_exact() {
        let shown: Vec<_> = [0, 999, 1_000, 1_050, 2_865_170, 12_000_000, 999_999_999, 12_340_000_001]
            .iter()
            .map(|&ns| exact(ns))
            .collect();
        assert_eq!(
            shown,
            ["0", "999 ns", "1 us", "1.05 us", "2.86517 ms", "12 ms", "999.999999 ms", "12.340000001 s"]
        );
    }

    #[test]
    fn counts_and_shares() {
        assert_eq!(percent(1, 0), "-");
        assert_eq!(percent(0, 5), "0 %");
        assert_eq!(percent(1, 1_000_000), "<0.01 %");
        assert_eq!(percent(1, 300), "0.33 %");
        assert_eq!(percent(1, 3), "33.3 %");
        assert_eq!(energy_f(1_500_000.0), "1.50 J");
    }

    #[test]
    fn long_and_hostile_names_are_tamed() {
        assert_eq!(clip("abcdef", 4), "abc…");
        assert_eq!(clip("a\x1b[31m\nb", 20), "a [31m b");
    }
}
