// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Small changes of a topology's text that may relieve a lock: more ways in, postponed pipes, a queue for each cache.
//!
//! Candidates are made from the text's tokens alone; the compiler says which of them are topologies.

/// A changed topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// A readable description of the change.
    pub what: String,
    pub text: String,
    /// Edits that it is made of.
    pub edits: u32,
}

/// A token with its place in the text. Comments and strings are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Token<'a> {
    text: &'a str,
    at: usize,
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'.';
    let mut list = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let rest = &text[i..];
        let len = if rest.starts_with("//") {
            i += rest.find('\n').unwrap_or(rest.len());
            continue;
        } else if rest.starts_with("/*") {
            i += rest.find("*/").map_or(rest.len(), |e| e + 2);
            continue;
        } else if bytes[i] == b'"' {
            i += 1 + rest[1..].find('"').map_or(rest.len() - 1, |e| e + 1);
            continue;
        } else if rest.starts_with("->") || rest.starts_with("~>") || rest.starts_with("::") {
            2
        } else if is_word(bytes[i]) {
            rest.bytes().take_while(|b| is_word(*b)).count()
        } else if bytes[i].is_ascii_whitespace() || !text.is_char_boundary(i) {
            i += 1;
            continue;
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        list.push(Token { text: &text[i..i + len], at: i });
        i += len;
    }
    list
}

/// `text` with `old` at `at` replaced.
fn replaced(text: &str, at: usize, old: usize, new: &str) -> String {
    format!("{}{new}{}", &text[..at], &text[at + old..])
}

/// One edit each.
fn single(text: &str) -> Vec<Change> {
    let list = tokens(text);
    let mut changes = Vec::new();
    let mut add = |what: String, text: String, edits: u32| changes.push(Change { what, text, edits });
    for (i, t) in list.iter().enumerate() {
        let next = |k: usize| list.get(i + k).map_or("", |t| t.text);
        match t.text {
            "entry" if matches!(next(1), "->" | "~>") => {
                for each in ["node", "llc", "cpu"] {
                    add(
                        format!("split the entry by {}", shown(each)),
                        replaced(text, t.at, 5, &format!("entry each {each}")),
                        1,
                    );
                }
            }
            "entry" if next(1) == "each" && matches!(next(2), "node" | "package" | "llc") => {
                let at = list[i + 2].at;
                for each in ["llc", "cpu"].into_iter().filter(|e| *e != next(2)) {
                    add(
                        format!("split the entry by {}", shown(each)),
                        replaced(text, at, next(2).len(), each),
                        1,
                    );
                }
            }
            "->" if !matches!(next(1), "cpu" | "cpus" | "") => {
                add(format!("postpone the pipe{}", target(&list[i + 1..])), replaced(text, t.at, 2, "~>"), 1);
            }
            "cpus" if next(1) == ";" => {
                if let Some(change) = split_queue(text, &list, i) {
                    changes.extend(change);
                    return changes;
                }
            }
            _ => {}
        }
    }
    changes
}

/// ` into NAME`, of what an arrow leads to.
fn target(rest: &[Token<'_>]) -> String {
    let named = match rest {
        [name, colons, component, ..] if colons.text == "::" => format!("{} ({})", name.text, component.text),
        [each, of, brace, inner, ..] if each.text == "each" && brace.text == "{" => {
            format!("{} of each {}", inner.text, of.text)
        }
        [first, ..] => first.text.to_string(),
        [] => return String::new(),
    };
    format!(" into {named}")
}

/// `… -> QUEUE -> cpus;` becomes a balancer before such a queue for each cache or CPU.
fn split_queue(text: &str, list: &[Token<'_>], cpus: usize) -> Option<Vec<Change>> {
    // The last element before `-> cpus` begins after the arrow before it.
    let arrow = cpus.checked_sub(1).filter(|i| list[*i].text == "->")?;
    let before = (0..arrow).rev().find(|i| matches!(list[*i].text, "->" | "~>"))?;
    let (begin, end) = (list.get(before + 1)?.at, list[arrow].at);
    let queue = text[begin..end].trim_end();
    let name = list[before + 1].text;
    let annotated = list
        .iter()
        .position(|t| t.text == "annotate")
        .is_some_and(|a| list[a..].iter().take_while(|t| t.text != ";").any(|t| t.text == "affinity"));
    // The entry of this statement, to split it too.
    let entry = (0..before).rev().take_while(|i| list[*i].text != ";").find(|i| list[*i].text == "entry")?;
    let plain = list.get(entry + 1).is_some_and(|t| matches!(t.text, "->" | "~>"));
    let body = |each: &str| {
        let exit = if each == "cpu" { "cpu" } else { "cpus" };
        format!("load_balancer -> each {each} {{ {queue} -> {exit} }}")
    };
    let make = |each: &str, ways: Option<&str>| {
        let mut new = replaced(text, begin, list[cpus].at + 4 - begin, &body(each));
        if let Some(ways) = ways {
            new = replaced(&new, list[entry].at, 5, &format!("entry each {ways}"));
        }
        let mut edits = 2 + u32::from(ways.is_some());
        if !annotated {
            let at = list.first().map_or(0, |t| t.at);
            new = replaced(&new, at, 0, "annotate affinity;\n");
            edits += 1;
        }
        let entry = ways.map_or(String::new(), |w| format!(", and the entry by {}", shown(w)));
        Change { what: format!("split the queue of {name} by {}{entry}", shown(each)), text: new, edits }
    };
    let mut changes = Vec::new();
    for each in ["llc", "cpu"] {
        changes.push(make(each, None));
        if plain {
            changes.push(make(each, Some("llc")));
            changes.push(make(each, Some("cpu")));
        }
    }
    Some(changes)
}

fn shown(each: &str) -> &str {
    match each {
        "llc" => "last-level cache",
        "node" => "NUMA node",
        "cpu" => "CPU",
        other => other,
    }
}

/// All candidates, smallest first: single edits, then an entry split together with one postponed pipe.
pub fn candidates(text: &str) -> Vec<Change> {
    let ones = single(text);
    let mut all = ones.clone();
    for first in ones.iter().filter(|c| c.what.starts_with("split the entry")) {
        for second in single(&first.text).into_iter().filter(|c| c.what.starts_with("postpone")) {
            all.push(Change {
                what: format!("{}, and {}", first.what, second.what),
                text: second.text,
                edits: first.edits + second.edits,
            });
        }
    }
    all.sort_by_key(|c| c.edits);
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|c| seen.insert(c.text.clone()));
    all
}

/// The lines that differ, old ones with `-`, new ones with `+`.
pub fn diff(old: &str, new: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[same..], &new[same..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let lines =
        |mark: char, of: &[&str]| of.iter().map(|l| format!("{mark} {}", l.trim_end())).collect::<Vec<_>>();
    let mut out = lines('-', &old[..old.len() - tail]);
    out.extend(lines('+', &new[..new.len() - tail]));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const BALANCED: &str = "// entry -> nothing\nannotate affinity;\n\nentry -> load_balancer -> each cpu { round_robin(slice = 3ms) -> cpu };\n";
    const GLOBAL: &str = "annotate affinity;\nentry -> round_robin(slice = 3ms) -> cpus;\n";

    #[test]
    fn comments_are_no_part_of_the_text() {
        let words: Vec<&str> =
            tokens("a // -> b\n:: \"entry\" c->d /* x */;").iter().map(|t| t.text).collect();
        assert_eq!(words, ["a", "::", "c", "->", "d", ";"]);
    }

    #[test]
    fn an_entry_is_split_and_a_pipe_postponed() {
        let all = candidates(BALANCED);
        let texts: Vec<&str> = all.iter().map(|c| c.what.as_str()).collect();
        assert!(texts.contains(&"split the entry by last-level cache"), "{texts:?}");
        assert!(texts.contains(&"postpone the pipe into round_robin of each cpu"), "{texts:?}");
        let both = all
            .iter()
            .find(|c| c.what == "split the entry by CPU, and postpone the pipe into round_robin of each cpu");
        let both = both.expect("a pair");
        assert!(both.text.contains("entry each cpu -> load_balancer ~> each cpu {"), "{}", both.text);
        assert!(both.edits == 2 && all.is_sorted_by_key(|c| c.edits));
        assert_eq!(diff(BALANCED, &all[0].text).len(), 2);
    }

    #[test]
    fn a_shared_queue_is_split() {
        let all = candidates(GLOBAL);
        let llc = all
            .iter()
            .find(|c| c.what == "split the queue of round_robin by last-level cache")
            .expect("there");
        assert_eq!(
            llc.text,
            "annotate affinity;\nentry -> load_balancer -> each llc { round_robin(slice = 3ms) -> cpus };\n"
        );
        let both =
            all.iter().find(|c| c.what.ends_with("and the entry by CPU") && c.text.contains("each cpu {"));
        assert_eq!(
            both.expect("there").text,
            "annotate affinity;\nentry each cpu -> load_balancer -> each cpu { round_robin(slice = 3ms) -> cpu };\n"
        );
        let bare = candidates("entry -> fifo -> cpus;");
        assert!(
            bare.iter().any(|c| c.text.starts_with("annotate affinity;\nentry -> load_balancer")),
            "{bare:?}"
        );
    }
}
