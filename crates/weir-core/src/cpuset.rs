// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A set of CPUs, as a bit per CPU; the layout is the C core's `struct weir_cpumask`.

use std::fmt;

/// Most CPUs a scheduler may have (`WEIR_MAX_CPUS` in `weir/task.h`).
pub const MAX_CPUS: u32 = 4096;

/// A set of CPU indices below [`MAX_CPUS`].
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct CpuSet {
    words: Vec<u64>,
}

impl CpuSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// CPUs `0..n`.
    pub fn first(n: u32) -> Self {
        (0..n).collect()
    }

    /// Add `cpu`. Panics if it is not below [`MAX_CPUS`].
    pub fn insert(&mut self, cpu: u32) {
        assert!(cpu < MAX_CPUS, "CPU {cpu} is beyond the limit of {MAX_CPUS}");
        let word = (cpu / 64) as usize;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu % 64);
    }

    /// Take `cpu` out; trailing empty words go, so that equal sets compare equal.
    pub fn remove(&mut self, cpu: u32) {
        if let Some(w) = self.words.get_mut((cpu / 64) as usize) {
            *w &= !(1 << (cpu % 64));
        }
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }

    pub fn contains(&self, cpu: u32) -> bool {
        self.words.get((cpu / 64) as usize).is_some_and(|w| w >> (cpu % 64) & 1 == 1)
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub fn len(&self) -> u32 {
        self.words.iter().map(|w| w.count_ones()).sum()
    }

    /// Members in ascending order.
    pub fn iter(&self) -> Members<'_> {
        Members { words: &self.words, next: 0, left: 0 }
    }

    /// The bits, lowest CPU first; shorter than `MAX_CPUS / 64` words where the rest is zero.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

/// The members of a set, from the lowest on: a step for each of them and each word.
#[derive(Clone)]
pub struct Members<'a> {
    words: &'a [u64],
    /// The word after that of `left`.
    next: usize,
    /// The bits of a word that are still to come.
    left: u64,
}

impl Iterator for Members<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        while self.left == 0 {
            self.left = *self.words.get(self.next)?;
            self.next += 1;
        }
        let bit = self.left.trailing_zeros();
        self.left &= self.left - 1;
        Some((self.next as u32 - 1) * 64 + bit)
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(iter: I) -> Self {
        let mut set = Self::new();
        iter.into_iter().for_each(|c| set.insert(c));
        set
    }
}

/// The kernel's list format: `0-3,8`.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<u32> = self.iter().collect();
        let mut i = 0;
        while i < all.len() {
            let start = i;
            while i + 1 < all.len() && all[i + 1] == all[i] + 1 {
                i += 1;
            }
            if start > 0 {
                f.write_str(",")?;
            }
            if start == i {
                write!(f, "{}", all[i])?;
            } else {
                write!(f, "{}-{}", all[start], all[i])?;
            }
            i += 1;
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuSet({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_like_the_kernel() {
        let set: CpuSet = [0, 1, 2, 3, 8, 70, 71].into_iter().collect();
        assert_eq!(set.to_string(), "0-3,8,70-71");
        assert_eq!([0, 1, 2, 5, 7, 8].into_iter().collect::<CpuSet>().to_string(), "0-2,5,7-8");
        assert_eq!(CpuSet::from_iter([]).to_string(), "");
        assert_eq!(set.len(), 7);
    }

    #[test]
    fn members_come_in_order() {
        for members in [vec![], vec![0], vec![63, 64], vec![1, 62, 63, 128, 4095], (0..200).collect()] {
            assert_eq!(members.iter().copied().collect::<CpuSet>().iter().collect::<Vec<u32>>(), members);
        }
    }

    #[test]
    fn removing_the_last_word_restores_equality() {
        let mut set: CpuSet = [1, 100].into_iter().collect();
        set.remove(100);
        assert_eq!(set, [1].into_iter().collect());
    }
}
