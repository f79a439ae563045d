// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Numbers in sentences: digits in groups, and the noun in the form that goes with them.

/// A count with thin groups: `1 234 567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// A number with its noun: `1 seed`, `2 seeds`, `2 switches`. Nouns that are formed otherwise are not for it.
pub fn plural(n: impl TryInto<u64>, one: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    let hisses = ["s", "x", "ch", "sh"].iter().any(|end| one.ends_with(end));
    let end = match n {
        1 => "",
        _ if hisses => "es",
        _ => "s",
    };
    format!("{} {one}{end}", count(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_go_with_their_numbers() {
        assert_eq!(plural(0_u32, "task"), "0 tasks");
        assert_eq!(plural(1_usize, "other seed"), "1 other seed");
        assert_eq!(plural(12_345_u64, "CPU"), "12 345 CPUs");
        assert_eq!(plural(2_u64, "switch"), "2 switches");
        assert_eq!(count(1_234_567), "1 234 567");
    }
}
