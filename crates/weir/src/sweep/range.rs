// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Evenly spaced values with a unit: from `50%` to `100%` in steps of `5%`. Decimal and exact.

/// Decimal places that are kept.
const PLACES: usize = 6;
const SCALE: i64 = 1_000_000;

/// A number with what follows it, in millionths.
struct Quantity<'a> {
    micro: i64,
    unit: &'a str,
}

type Refusal = (String, &'static str);
const HELP: &str =
    "write it like { from = \"50%\", to = \"100%\", step = \"5%\" }: one unit, at most six decimals";

fn parse(text: &str) -> Result<Quantity<'_>, Refusal> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let wrong = || (format!("`{text}` is not a number with a unit"), HELP);
    if whole.is_empty() || fraction.len() > PLACES || fraction.contains('.') {
        return Err(wrong());
    }
    let digits = format!("{whole}{fraction:0<PLACES$}");
    let micro = digits.parse::<i64>().ok().filter(|v| *v < 1_000_000_000 * SCALE).ok_or_else(wrong)?;
    Ok(Quantity { micro, unit: unit.trim() })
}

/// A value as people write it: without needless zeros.
fn show(micro: i64, unit: &str) -> String {
    let number = format!("{}.{:06}", micro / SCALE, micro % SCALE);
    format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.'))
}

/// All values from the first on that are not above the last.
pub fn expand(from: &str, to: &str, step: &str) -> Result<Vec<String>, Refusal> {
    let (a, b, s) = (parse(from)?, parse(to)?, parse(step)?);
    if a.unit != b.unit || a.unit != s.unit {
        return Err((format!("`{from}`, `{to}` and `{step}` have different units"), HELP));
    }
    if s.micro == 0 || b.micro < a.micro {
        return Err((format!("from `{from}` steps of `{step}` do not lead to `{to}`"), HELP));
    }
    if (b.micro - a.micro) / s.micro >= super::spec::MAX_POINTS as i64 {
        return Err((format!("from `{from}` to `{to}` there are too many steps of `{step}`"), HELP));
    }
    Ok((0..=(b.micro - a.micro) / s.micro).map(|i| show(a.micro + i * s.micro, a.unit)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_exact() {
        assert_eq!(expand("50%", "60%", "2.5%").expect("a range"), ["50%", "52.5%", "55%", "57.5%", "60%"]);
        assert_eq!(expand("1", "3", "1").expect("a range"), ["1", "2", "3"]);
        assert_eq!(expand("0.1ms", "0.35ms", "0.1ms").expect("a range"), ["0.1ms", "0.2ms", "0.3ms"]);
    }

    #[test]
    fn nonsense_is_refused() {
        for (a, b, s) in [
            ("5%", "1%", "1%"),
            ("1%", "5", "1%"),
            ("1", "2", "0"),
            ("x", "2", "1"),
            ("0", "99999999", "0.1"),
        ] {
            assert!(expand(a, b, s).is_err(), "{a} {b} {s}");
        }
    }
}
