// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Streams of loads and branches as a profile describes them, for the structural models.

use super::{Model, ONE};
use crate::rng::Rng;

/// Loads with given reuse distances: a stack of lines, the latest at its end.
#[derive(Debug)]
pub struct Loads<'m> {
    model: &'m Model,
    rng: Rng,
    stack: Vec<u64>,
    next_line: u64,
    /// Added to all lines, so that two streams have none in common.
    base: u64,
}

impl<'m> Loads<'m> {
    pub fn new(model: &'m Model, seed: u64, number: u64) -> Self {
        let size = model.working_set().max(1);
        Self {
            model,
            rng: Rng::new(seed, number),
            stack: (0..size).collect(),
            next_line: size,
            base: number << 40,
        }
    }

    /// Lines in the order in which a warm cache would have seen them.
    pub fn warm(&self) -> impl Iterator<Item = u64> + '_ {
        self.stack.iter().map(|l| l + self.base)
    }

    fn distance(&mut self) -> Option<u64> {
        let mut at = self.rng.between(0, ONE - 1);
        let mut low = 0;
        for &(high, weight) in self.model.reuse.iter() {
            if at < weight {
                return Some(self.rng.between(low, high - 1));
            }
            at -= weight;
            low = high;
        }
        None
    }
}

impl Iterator for Loads<'_> {
    type Item = u64;

    /// The next line. O(distance), a move of memory.
    fn next(&mut self) -> Option<u64> {
        let line = match self.distance() {
            Some(d) => self.stack.remove(self.stack.len() - 1 - (d as usize).min(self.stack.len() - 1)),
            None => {
                self.stack.remove(0);
                self.next_line += 1;
                self.next_line - 1
            }
        };
        self.stack.push(line);
        Some(line + self.base)
    }
}

/// Branches: some sites go either way at random, the others in one direction each.
#[derive(Debug)]
pub struct Branches {
    entropy: u64,
    sites: u64,
    rng: Rng,
    at: u64,
}

impl Branches {
    pub fn new(model: &Model, seed: u64, number: u64) -> Self {
        let sites = u64::from(model.sites.max(1));
        Self { entropy: model.entropy, sites, rng: Rng::new(seed, !number), at: 0 }
    }
}

impl Iterator for Branches {
    type Item = (u32, bool);

    /// Address and direction.
    fn next(&mut self) -> Option<(u32, bool)> {
        self.at = (self.at + 1) % self.sites;
        let random = self.rng.between(0, ONE - 1) < self.entropy;
        let taken = if random { self.rng.between(0, 1) == 1 } else { !self.at.is_multiple_of(3) };
        Some((self.at as u32 * 7, taken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::share;

    #[test]
    fn reuse_distances_are_those_of_the_profile() {
        let model = Model {
            reuse: [(10, share(0.6)), (100, share(0.3))].into(),
            burst: 0,
            entropy: 0,
            sites: 1,
            overlap: 1,
        };
        let mut stack: Vec<u64> = Loads::new(&model, 1, 0).warm().collect();
        let (mut near, mut far, mut new) = (0, 0, 0);
        for line in Loads::new(&model, 1, 0).take(20_000) {
            match stack.iter().rev().position(|&l| l == line) {
                Some(d) => {
                    if d < 10 {
                        near += 1
                    } else {
                        far += 1
                    }
                    let at = stack.len() - 1 - d;
                    stack.remove(at);
                }
                None => new += 1,
            }
            stack.push(line);
        }
        assert!((11_800..12_200).contains(&near), "{near}");
        assert!((5_800..6_200).contains(&far), "{far}");
        assert!((1_850..2_150).contains(&new), "{new}");
    }
}
