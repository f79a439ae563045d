// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Quantities with their unit, as people write them: `1.5us`, `2.8GHz`, `350mW`, `16MiB`.
//!
//! Decimal fractions are exact (no floating point), so that the same file means the same number
//! on every machine; what is finer than the base unit is rounded to the nearest, halves up.

/// A unit system: the suffixes with the number of base units each stands for.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    /// What is measured, for messages: `a time`.
    pub what: &'static str,
    /// Suffix and factor; the first is used in examples.
    pub suffixes: &'static [(&'static str, u64)],
    /// An example for help texts.
    pub example: &'static str,
}

/// Time; base unit nanosecond.
pub const TIME: Units = Units {
    what: "a time",
    suffixes: &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("μs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("m", 60_000_000_000),
    ],
    example: "1.5us",
};

/// Clock; base unit hertz.
pub const CLOCK: Units = Units {
    what: "a clock",
    suffixes: &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)],
    example: "2.8GHz",
};

/// Power; base unit milliwatt.
pub const POWER: Units =
    Units { what: "a power", suffixes: &[("mW", 1), ("W", 1_000), ("kW", 1_000_000)], example: "3.5W" };

/// Memory size; base unit byte.
pub const SIZE: Units = Units {
    what: "a size",
    suffixes: &[
        ("B", 1),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
    ],
    example: "16MiB",
};

/// Memory of a machine or of a scheduler, as QEMU and systemd write it, too; base unit byte.
pub const MEMORY: Units = Units {
    what: "a size",
    suffixes: &[("B", 1), ("M", 1 << 20), ("G", 1 << 30), ("MiB", 1 << 20), ("GiB", 1 << 30)],
    example: "64MiB",
};

/// Data rate; base unit byte per second.
pub const RATE: Units = Units {
    what: "a data rate",
    suffixes: &[
        ("B/s", 1),
        ("KiB/s", 1 << 10),
        ("MiB/s", 1 << 20),
        ("GiB/s", 1 << 30),
        ("kB/s", 1_000),
        ("MB/s", 1_000_000),
        ("GB/s", 1_000_000_000),
    ],
    example: "500MB/s",
};

/// A plain number.
pub const COUNT: Units = Units { what: "a number", suffixes: &[("", 1)], example: "7" };

/// Share; base unit percent.
pub const PERCENT: Units = Units { what: "a percentage", suffixes: &[("%", 1)], example: "62%" };

/// Why a quantity could not be read: message and remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    pub message: String,
    pub help: String,
}

/// Read a quantity into base units.
pub fn parse(text: &str, units: Units) -> Result<u64, UnitError> {
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(trimmed.len());
    let (number, suffix) = (&trimmed[..split], trimmed[split..].trim());
    let err = |message: String, help: String| Err(UnitError { message, help });
    let plain = format!("write {} like `{}`", units.what, units.example);
    if number.is_empty() {
        let message = if trimmed.starts_with('-') {
            format!("`{text}` is negative; {} cannot be", units.what)
        } else {
            format!("`{text}` is not {}", units.what)
        };
        return err(message, plain);
    }
    let Some(&(_, factor)) = units.suffixes.iter().find(|(s, _)| *s == suffix) else {
        let known: Vec<&str> = units.suffixes.iter().map(|(s, _)| *s).filter(|s| s.is_ascii()).collect();
        let message = if suffix.is_empty() {
            if number.chars().all(|c| c == '0') {
                return Ok(0);
            }
            format!("`{text}` has no unit")
        } else {
            format!("`{suffix}` is not a unit of {}", units.what.trim_start_matches("a "))
        };
        return err(message, format!("{plain}; units: {}", known.join(", ")));
    };
    let digits: String = number.chars().filter(|c| *c != '_').collect();
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    if whole.is_empty() || fraction.contains('.') || digits.ends_with('.') {
        return err(format!("`{number}` is not a number"), plain);
    }
    let too_big = || UnitError {
        message: format!("`{text}` is too large"),
        help: format!("the largest is {} {}", u64::MAX, units.suffixes[0].0),
    };
    // Nineteen decimals are finer than any base unit here; what follows cannot change the result.
    let fraction = &fraction[..fraction.len().min(19)];
    let scale = 10u128.pow(fraction.len() as u32);
    let whole: u128 =
        if whole.len() > 20 { return Err(too_big()) } else { whole.parse().map_err(|_| too_big())? };
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| too_big())? };
    let factor = u128::from(factor);
    let value = whole * factor + (part * factor + scale / 2) / scale;
    u64::try_from(value).map_err(|_| too_big())
}

/// Write a value in the largest unit that shows it exactly, else in the base unit.
pub fn show(value: u64, units: Units) -> String {
    let best = units
        .suffixes
        .iter()
        .filter(|(s, f)| s.is_ascii() && !["min", "m"].contains(s) && *f <= value && value.is_multiple_of(*f))
        .max_by_key(|(_, f)| *f);
    match best {
        Some((suffix, factor)) if value > 0 => format!("{}{suffix}", value / factor),
        _ => format!("{value}{}", units.suffixes[0].0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_exact_decimals() {
        assert_eq!(parse("1.5us", TIME), Ok(1_500));
        assert_eq!(parse(" 4 ms ", TIME), Ok(4_000_000));
        assert_eq!(parse("0.214us", TIME), Ok(214));
        assert_eq!(parse("2.8GHz", CLOCK), Ok(2_800_000_000));
        assert_eq!(parse("0.35W", POWER), Ok(350));
        assert_eq!(parse("16MiB", SIZE), Ok(16 << 20));
        assert_eq!(parse("0", TIME), Ok(0));
        assert_eq!(parse("1_000ns", TIME), Ok(1_000));
        assert_eq!(parse("0.5ns", TIME), Ok(1));
        assert_eq!(parse("2min", TIME), parse("2m", TIME));
    }

    #[test]
    fn refuses_what_it_cannot_mean() {
        for (text, what) in [
            ("5", "has no unit"),
            ("5 parsecs", "is not a unit"),
            ("", "is not a time"),
            ("-1ms", "negative"),
            ("1.2.3s", "not a number"),
            ("99999999999999s", "too large"),
            ("9999999999999999999999999999999999999999999s", "too large"),
            (".s", "not a number"),
        ] {
            let e = parse(text, TIME).expect_err(text);
            assert!(e.message.contains(what), "{text}: {e:?}");
        }
    }

    #[test]
    fn shows_what_it_reads() {
        for v in [0, 1, 999, 1_000, 1_500, 4_000_000, 60_000_000_000, u64::MAX] {
            assert_eq!(parse(&show(v, TIME), TIME), Ok(v), "{}", show(v, TIME));
        }
        assert_eq!(show(16 << 20, SIZE), "16MiB");
        assert_eq!(show(2_800_000_000, CLOCK), "2800MHz");
    }
}
