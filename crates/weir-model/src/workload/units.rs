// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Values with units as people write them: `2ms`, `80%`, `64KiB`, `10_000`.
//!
//! What [`crate::units`] reads, with limits that suit workloads, and shares, counts and CPU lists.

use crate::units::{self, Units};

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

/// A quantity up to `max`.
fn quantity(text: &str, units: Units, max: u64) -> Result<u64, Refusal> {
    match units::parse(text, units) {
        Ok(v) if v <= max => Ok(v),
        Ok(_) => {
            refuse(format!("`{text}` is too large"), format!("the limit is {}", units::show(max, units)))
        }
        Err(e) => {
            let text = text.trim();
            let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
            let (digits, unit) = text.split_at(split);
            let near =
                crate::error::nearest(unit, units.suffixes.iter().map(|u| u.0)).filter(|_| !unit.is_empty());
            refuse(e.message, near.map_or(e.help, |n| format!("did you mean `{digits}{n}`?")))
        }
    }
}

/// A length of time, ns.
pub(crate) fn duration(text: &str) -> Result<u64, Refusal> {
    quantity(text, units::TIME, MAX_NS)
}

/// A size, bytes; a bare number counts bytes.
pub(crate) fn bytes(text: &str) -> Result<u64, Refusal> {
    let text = text.trim();
    let bare = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    if bare {
        quantity(&format!("{text}B"), units::SIZE, MAX_BYTES)
    } else {
        quantity(text, units::SIZE, MAX_BYTES)
    }
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
            format!("`{text}` is not a share"),
            "write a percentage such as `80%`, or a ratio such as `0.8`",
        ),
    }
}

/// A count in a range.
pub(crate) fn count(text: &str, min: u64, max: u64) -> Result<u64, Refusal> {
    let text = text.trim();
    let clean: String = text.chars().filter(|&c| c != '_').collect();
    if clean.is_empty() || !clean.chars().all(|c| c.is_ascii_digit()) {
        return refuse(
            format!("`{text}` is not a count"),
            format!("write a whole number from {min} to {max}"),
        );
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
            format!("`{text}` is not a whole number"),
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
                    format!("`{part}` is not a CPU or range of CPUs"),
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
    fn times_have_limits() {
        assert_eq!(duration("16.667ms"), Ok(16_667_000));
        assert_eq!(duration("0"), Ok(0));
        assert_eq!(duration("36000000s"), Ok(MAX_NS));
        assert!(duration("36000001s").unwrap_err().help.contains("36000000s"));
    }

    #[test]
    fn refusals_name_the_remedy() {
        assert!(duration("5").unwrap_err().help.contains("ns, us, ms"));
        assert_eq!(duration("5mss").unwrap_err().help, "did you mean `5ms`?");
        assert_eq!(bytes("4kib").unwrap_err().help, "did you mean `4KiB`?");
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
