// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Times on the command line, read with a unit. Durations and points in time are shown by [`duration`] and [`exact`] everywhere.

pub use weir_report::{duration, exact};
pub use weir_text::plural;
use weir_text::quantity::{self, MEMORY, TIME};

/// Read `2s`, `1.5ms`, `2min` as files do; the result is in nanoseconds and not 0. The error says how to write it.
pub fn parse_duration(text: &str) -> Result<u64, String> {
    match quantity::parse(text, TIME) {
        Ok(0) => Err("the duration must be longer than nothing".into()),
        Ok(ns) => Ok(ns),
        Err(e) => Err(format!("{}; {}", e.message, e.help)),
    }
}

/// Read `10ms..20ms`, `0..40ms`, `2s..`: two times, the second after the first.
pub fn parse_span(text: &str) -> Result<(u64, u64), String> {
    let time = |t: &str| match t.trim() {
        "" | "0" | "0s" | "0ms" | "0us" | "0ns" => Ok(0),
        t => parse_duration(t),
    };
    let Some((from, to)) = text.trim().split_once("..") else {
        return Err("write two times: 10ms..20ms".into());
    };
    let from = time(from)?;
    let to = if to.trim().is_empty() { u64::MAX } else { time(to)? };
    if from >= to {
        return Err("the span ends before it begins; write 10ms..20ms".into());
    }
    Ok((from, to))
}

/// Read `64MiB` or `2GiB`, from `min` to `max`, all in bytes; `whose` has it.
pub fn parse_memory(text: &str, whose: &str, min: u64, max: u64) -> Result<u64, String> {
    match quantity::parse(text, MEMORY) {
        Ok(bytes) if (min..=max).contains(&bytes) => Ok(bytes),
        Ok(_) => Err(format!(
            "{whose} can have from {} to {}",
            quantity::show(min, MEMORY),
            quantity::show(max, MEMORY)
        )),
        Err(e) => Err(format!("{}; {}", e.message, e.help)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_in_files() {
        for (text, ns) in [
            ("1ns", 1),
            ("2us", 2_000),
            ("2µs", 2_000),
            ("1.5ms", 1_500_000),
            ("2s", 2_000_000_000),
            ("1.5m", 90_000_000_000),
            ("1.5min", 90_000_000_000),
            ("1_000us", 1_000_000),
            ("2 s", 2_000_000_000),
        ] {
            assert_eq!(parse_duration(text), Ok(ns), "{text}");
        }
    }

    #[test]
    fn refuses_with_a_remedy() {
        for (text, says) in [
            ("2", "no unit; write a time like `1.5us`; units: ns, us"),
            ("", "is not a time"),
            ("s", "is not a time"),
            ("-1s", "negative"),
            ("2h", "`h` is not a unit of time"),
            ("0s", "longer than nothing"),
            ("1.2.3s", "not a number"),
            ("99999999999s", "too large"),
        ] {
            let error = parse_duration(text).expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn memory_has_a_unit_and_limits() {
        let guest = |text: &str| parse_memory(text, "a guest", 256 << 20, 1024 << 30);
        assert_eq!(guest("512MiB"), Ok(512 << 20));
        assert_eq!(guest("2G"), Ok(2 << 30));
        assert_eq!(guest("1.5GiB"), Ok(1536 << 20));
        for (text, says) in [
            ("512", "has no unit"),
            ("2TB", "`TB` is not a unit"),
            ("GiB", "is not a size"),
            ("-1GiB", "negative"),
            ("16MiB", "a guest can have from 256MiB to 1024GiB"),
            ("9999999999GiB", "from 256MiB"),
            ("", "is not a size"),
        ] {
            let error = guest(text).expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
