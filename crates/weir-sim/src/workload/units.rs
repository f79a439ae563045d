// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Values with units as people write them: `2ms`, `80%`, `64KiB`, `10_000`.
//!
//! Numbers are read exactly (no floating point) except shares, which are ratios anyway.

/// Why a value was refused: a sentence and its remedy, without a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub message: String,
    pub help: String,
}

fn refuse<T>(message: impl Into<String>, help: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { message: message.into(), help: help.into() })
}

/// Longest time that a workload may name, ns: 10,000 hours, far below the end of the clock.
pub(crate) const MAX_NS: u64 = 36_000_000 * 1_000_000_000;

/// Largest size, bytes.
const MAX_BYTES: u64 = 1 << 50;

const TIMES: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

const SIZES: &[(&str, u64)] = &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

const CLOCKS: &[(&str, u64)] = &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)];

/// Split `1_000.5ms` into its digits and its unit.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// `digits * scale`, exact to the unit below; `None` for what is no number.
fn scaled(digits: &str, scale: u64) -> Option<u128> {
    let clean: String = digits.chars().filter(|&c| c != '_').collect();
    let (whole, fraction) = clean.split_once('.').unwrap_or((&clean, ""));
    if whole.is_empty() && fraction.is_empty() || whole.len() > 19 || fraction.contains('.') {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction = &fraction[..fraction.len().min(12)];
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    Some(whole * u128::from(scale) + part * u128::from(scale) / 10u128.pow(fraction.len() as u32))
}

fn with_unit(text: &str, what: &str, example: &str, units: &[(&str, u64)], max: u64) -> Result<u64, Refusal> {
    let text = text.trim();
    let (digits, unit) = split(text);
    let names: Vec<&str> = units.iter().map(|u| u.0).filter(|u| u.is_ascii()).collect();
    if digits.is_empty() {
        return if text.starts_with('-') {
            refuse(
                format!("{what} `{text}` is negative"),
                format!("write a value from 0, such as `{example}`"),
            )
        } else {
            refuse(
                format!("`{text}` is no {what}"),
                format!("write a number and a unit, such as `{example}`"),
            )
        };
    }
    let Some(&(_, scale)) = units.iter().find(|u| u.0 == unit) else {
        if unit.is_empty() {
            return match scaled(digits, 1) {
                Some(0) => Ok(0),
                _ => refuse(
                    format!("{what} `{text}` has no unit"),
                    format!("add one of {}, such as `{example}`", names.join(", ")),
                ),
            };
        }
        // `KB` is nearer to `B` in letters, but not in meaning.
        let binary = ["KiB", "MiB", "GiB"]
            .into_iter()
            .find(|b| names.contains(b) && b[..1].eq_ignore_ascii_case(unit.get(..1).unwrap_or("")));
        let help = match binary.or_else(|| crate::error::nearest(unit, names.iter().copied())) {
            Some(near) => format!("did you mean `{digits}{near}`?"),
            None => format!("known units: {}", names.join(", ")),
        };
        return refuse(format!("unknown unit `{unit}` in the {what} `{text}`"), help);
    };
    match scaled(digits, scale) {
        Some(v) if v <= u128::from(max) => Ok(v as u64),
        Some(_) => {
            refuse(format!("{what} `{text}` is too large"), format!("the limit is {}", limit(max, units)))
        }
        None => refuse(
            format!("`{text}` is no {what}"),
            format!("write a number and a unit, such as `{example}`"),
        ),
    }
}

/// `max` in the largest unit that divides it.
fn limit(max: u64, units: &[(&str, u64)]) -> String {
    let (unit, scale) = units.iter().rev().find(|u| max.is_multiple_of(u.1)).expect("the unit 1 divides all");
    format!("{}{unit}", max / scale)
}

/// A length of time, ns.
pub(crate) fn duration(text: &str) -> Result<u64, Refusal> {
    with_unit(text, "time", "2ms", TIMES, MAX_NS)
}

/// A clock frequency, Hz.
pub(crate) fn frequency(text: &str) -> Result<u64, Refusal> {
    with_unit(text, "clock", "2.4GHz", CLOCKS, 1_000_000_000_000)
}

/// A size, bytes; a bare number counts bytes.
pub(crate) fn bytes(text: &str) -> Result<u64, Refusal> {
    let text = text.trim();
    let (digits, unit) = split(text);
    if unit.is_empty() && !digits.is_empty() && !digits.contains('.') {
        return with_unit(&format!("{digits}B"), "size", "4KiB", SIZES, MAX_BYTES);
    }
    with_unit(text, "size", "4KiB", SIZES, MAX_BYTES)
}

/// A share: `80%`, or a plain ratio such as `0.8`. The result is the ratio.
pub(crate) fn share(text: &str) -> Result<f64, Refusal> {
    let text = text.trim();
    let (digits, scale) = match text.strip_suffix('%') {
        Some(d) => (d.trim_end(), 0.01),
        None => (text, 1.0),
    };
    let plain = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    match digits.parse::<f64>() {
        Ok(v) if plain && v.is_finite() => Ok(v * scale),
        _ => refuse(
            format!("`{text}` is no share"),
            "write a percentage such as `80%`, or a ratio such as `0.8`",
        ),
    }
}

/// A count in a range.
pub(crate) fn count(text: &str, min: u64, max: u64) -> Result<u64, Refusal> {
    let text = text.trim();
    let clean: String = text.chars().filter(|&c| c != '_').collect();
    if clean.is_empty() || !clean.chars().all(|c| c.is_ascii_digit()) {
        return refuse(format!("`{text}` is no count"), format!("write a whole number from {min} to {max}"));
    }
    match clean.parse::<u64>() {
        Ok(v) if (min..=max).contains(&v) => Ok(v),
        _ => refuse(format!("{text} is out of range"), format!("write a whole number from {min} to {max}")),
    }
}

/// A whole number in a range, perhaps negative.
pub(crate) fn integer(text: &str, min: i64, max: i64) -> Result<i64, Refusal> {
    let text = text.trim();
    match text.parse::<i64>() {
        Ok(v) if (min..=max).contains(&v) => Ok(v),
        Ok(_) => {
            refuse(format!("{text} is out of range"), format!("write a whole number from {min} to {max}"))
        }
        Err(_) => refuse(
            format!("`{text}` is no whole number"),
            format!("write a whole number from {min} to {max}"),
        ),
    }
}

/// A CPU list as the kernel writes it: `0-3,8`.
pub(crate) fn cpu_list(text: &str) -> Result<weir_core::CpuSet, Refusal> {
    let max = weir_core::cpuset::MAX_CPUS;
    let mut set = weir_core::CpuSet::new();
    for part in text.split(',').map(str::trim) {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let number = |t: &str| t.trim().parse::<u32>().ok().filter(|&c| c < max);
        match (number(low), number(high)) {
            (Some(l), Some(h)) if l <= h => (l..=h).for_each(|c| set.insert(c)),
            _ => {
                return refuse(
                    format!("`{part}` is no CPU or range of CPUs"),
                    format!("write CPU numbers below {max}, such as `0-3,8`"),
                );
            }
        }
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(duration("16.667ms"), Ok(16_667_000));
        assert_eq!(duration("1_000us"), Ok(1_000_000));
        assert_eq!(duration("1.5 s"), Ok(1_500_000_000));
        assert_eq!(duration("3µs"), Ok(3_000));
        assert_eq!(duration("0"), Ok(0));
    }

    #[test]
    fn refusals_name_the_remedy() {
        assert!(duration("5").unwrap_err().help.contains("ns, us, ms"));
        assert_eq!(duration("5mss").unwrap_err().help, "did you mean `5ms`?");
        assert_eq!(bytes("4KB").unwrap_err().help, "did you mean `4KiB`?");
        assert!(duration("99999999h").unwrap_err().help.contains("10000h"));
        assert!(share("1e300").is_err() && share("nan").is_err() && share("").is_err());
        assert!(cpu_list("3-1").is_err() && cpu_list("4096").is_err());
    }

    #[test]
    fn lists_and_sizes() {
        assert_eq!(cpu_list("0-2, 8").expect("a list").to_string(), "0-2,8");
        assert_eq!(bytes("100"), Ok(100));
        assert_eq!(bytes("1.5KiB"), Ok(1536));
        assert!((share("80%").expect("a share") - 0.8).abs() < 1e-12);
        assert_eq!(count("1_000", 1, 1000), Ok(1000));
        assert!(integer("-21", -20, 19).is_err());
    }
}
