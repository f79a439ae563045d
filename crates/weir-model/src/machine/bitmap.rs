// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! hwloc's text form of CPU and node sets, and the kernel's list form.
//!
//! hwloc writes 32-bit words in hexadecimal, most significant first, separated by commas; an empty
//! word is zero (`0x0000ffff,,,0x1`), and a leading `0xf...f` means that all higher bits are set.

/// Highest bit that is accepted: real machines stay far below, and it bounds memory.
const MAX_BITS: u32 = 1 << 20;

/// A set of numbers below a million.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u32>,
    /// All bits beyond `words` are set.
    infinite: bool,
}

impl Bitmap {
    /// Read hwloc's form.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (infinite, text) = match text.strip_prefix("0xf...f") {
            Some("") => return Ok(Self { words: Vec::new(), infinite: true }),
            Some(rest) => match rest.strip_prefix(',') {
                Some(rest) => (true, rest),
                None => return Err(format!("`{text}` is not a bitmap: a comma must follow `0xf...f`")),
            },
            None => (false, text),
        };
        if text.is_empty() {
            return Err("a bitmap must not be empty".into());
        }
        let count = text.split(',').count();
        if count > (MAX_BITS / 32) as usize {
            return Err(format!("a bitmap of {count} words is longer than {MAX_BITS} bits"));
        }
        let word = |w: &str| {
            if w.is_empty() {
                return Ok(0);
            }
            let digits = w.strip_prefix("0x").unwrap_or(w);
            // `from_str_radix` would take a sign.
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(format!("`{w}` is not a hexadecimal word"));
            }
            if digits.len() > 8 {
                return Err(format!("`{w}` is longer than 32 bits"));
            }
            u32::from_str_radix(digits, 16).map_err(|_| format!("`{w}` is longer than 32 bits"))
        };
        let mut words = text.split(',').rev().map(word).collect::<Result<Vec<u32>, String>>()?;
        if !infinite {
            while words.last() == Some(&0) {
                words.pop();
            }
        }
        Ok(Self { words, infinite })
    }

    pub fn contains(&self, bit: u32) -> bool {
        match self.words.get((bit / 32) as usize) {
            Some(w) => w >> (bit % 32) & 1 == 1,
            None => self.infinite,
        }
    }

    pub fn insert(&mut self, bit: u32) {
        let word = (bit / 32) as usize;
        if word >= self.words.len() {
            if self.infinite {
                return;
            }
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (bit % 32);
    }

    /// Lowest member.
    pub fn first(&self) -> Option<u32> {
        let found =
            (0u32..).zip(&self.words).find(|(_, w)| **w != 0).map(|(i, w)| i * 32 + w.trailing_zeros());
        found.or(self.infinite.then_some(self.words.len() as u32 * 32))
    }

    /// Number of members; what lies beyond the written words does not count.
    pub fn count(&self) -> u32 {
        self.words.iter().map(|w| w.count_ones()).sum()
    }
}

impl FromIterator<u32> for Bitmap {
    fn from_iter<I: IntoIterator<Item = u32>>(iter: I) -> Self {
        let mut map = Self::default();
        iter.into_iter().for_each(|b| map.insert(b));
        map
    }
}

impl std::fmt::Display for Bitmap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.infinite {
            f.write_str("0xf...f")?;
        } else if self.words.is_empty() {
            return f.write_str("0x0");
        }
        for (i, w) in self.words.iter().rev().enumerate() {
            let comma = if i > 0 || self.infinite { "," } else { "" };
            write!(f, "{comma}{w:#010x}")?;
        }
        Ok(())
    }
}

/// Read the kernel's list form, `0-3,8`; numbers up to `max`.
///
/// # Errors
/// What is wrong with it.
pub fn parse_list(text: &str, max: u32) -> Result<Vec<u32>, String> {
    let number = |t: &str| -> Result<u32, String> {
        match t.trim().parse::<u32>() {
            Ok(n) if n <= max => Ok(n),
            Ok(n) => Err(format!("{n} is beyond {max}")),
            Err(_) => Err(format!("`{}` is not a number", t.trim())),
        }
    };
    let mut all = Vec::new();
    for part in text.trim().split(',').filter(|p| !p.trim().is_empty()) {
        match part.split_once('-') {
            None => all.push(number(part)?),
            Some((a, b)) => {
                let (a, b) = (number(a)?, number(b)?);
                if a > b {
                    return Err(format!("the range `{}` runs backwards", part.trim()));
                }
                if all.len() + (b - a) as usize > 2 * MAX_BITS as usize {
                    return Err("it names the same numbers over and over".into());
                }
                all.extend(a..=b);
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_sparse_words() {
        let b = Bitmap::parse("0x0000ffff,,,,,,0x000000ff").unwrap();
        assert_eq!(b.count(), 24);
        assert!(b.contains(0) && b.contains(7) && !b.contains(8) && b.contains(192) && b.contains(207));
        assert!(!b.contains(208));
        assert_eq!(b.first(), Some(0));
        assert_eq!(Bitmap::parse("0x00000001,,,,,,0x0").unwrap().first(), Some(192));
        assert_eq!(Bitmap::parse("0x0").unwrap(), Bitmap::default());
    }

    #[test]
    fn reads_infinite_sets() {
        let b = Bitmap::parse("0xf...f,0xfffffff0").unwrap();
        assert!(!b.contains(3) && b.contains(4) && b.contains(100_000));
        assert!(Bitmap::parse("0xf...f").unwrap().contains(9));
    }

    #[test]
    fn writes_what_it_reads() {
        for text in ["0x0", "0x00000001", "0x00000001,0x00000000,0x000000ff", "0xf...f", "0xf...f,0x00000001"]
        {
            assert_eq!(Bitmap::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn refuses_garbage() {
        for text in ["", "0xzz", "0x123456789", "zebra", "0xf...f0x1", "+1", "0x+1"] {
            assert!(Bitmap::parse(text).is_err(), "{text}");
        }
        assert!(Bitmap::parse(&",".repeat(100_000)).is_err());
    }

    #[test]
    fn reads_kernel_lists() {
        assert_eq!(parse_list("0-3,8\n", 100).unwrap(), [0, 1, 2, 3, 8]);
        assert_eq!(parse_list("", 100).unwrap(), []);
        assert!(parse_list("0-4000000000", 4096).is_err());
        assert!(parse_list("3-1", 10).is_err());
        assert!(parse_list(&"0-999999,".repeat(1_000_000), 1_000_000).is_err());
        assert!(parse_list("x", 10).is_err());
    }
}
