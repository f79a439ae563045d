// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The name that was meant where one was written that nothing has.

/// Longest word that is compared, bytes: distances grow with the product of the lengths, and nobody mistypes a kilobyte.
const LONGEST: usize = 64;

/// The candidate that looks most like `word`, if one is near enough to be a slip of the pen, or begins like it; the first
/// of those that are as near.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let lower = word.to_lowercase();
    let length = lower.chars().count();
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&lower, &c.to_lowercase()), c))
        .filter(|(distance, c)| {
            let other = c.chars().count();
            let slips = (other.max(length) / 3).max(1 + other.min(length) / 4);
            *distance <= slips || (length >= 3 && c.to_lowercase().starts_with(&lower))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

/// Help for an unknown name: the nearest one, else all that there are, in the given order.
pub fn did_you_mean(word: &str, candidates: &[&str]) -> String {
    match nearest(word, candidates.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known here: {}", candidates.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_what_is_near_or_begins_alike() {
        assert_eq!(nearest("epcy-64", ["epyc-64", "smp-4"]), Some("epyc-64"));
        assert_eq!(nearest("decentrl", ["central", "decentral"]), Some("decentral"));
        assert_eq!(nearest("work", ["central", "work_stealing"]), Some("work_stealing"));
        assert_eq!(nearest("acell", ["native", "accel"]), Some("accel"));
        assert_eq!(nearest("10mm", ["10ms", "10m"]), Some("10ms"));
        assert_eq!(nearest("banana", ["epyc-64", "smp-4"]), None);
        assert_eq!(nearest(&"a".repeat(65), ["a"]), None);
    }
}
