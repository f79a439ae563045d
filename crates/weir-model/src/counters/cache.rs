// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A set-associative cache that replaces the least recently used line of a set.

use super::Cache;

/// Contents of a cache; lines are named by numbers.
#[derive(Clone, Debug)]
pub struct SetAssociative {
    ways: usize,
    sets: u64,
    /// `ways` lines a set, the most recently used first; `u64::MAX` is an empty place.
    lines: Vec<u64>,
    pub hits: u64,
    pub misses: u64,
}

impl SetAssociative {
    pub fn new(shape: Cache) -> Self {
        let places = shape.sets() as usize * shape.ways as usize;
        Self {
            ways: shape.ways as usize,
            sets: shape.sets(),
            lines: vec![u64::MAX; places],
            hits: 0,
            misses: 0,
        }
    }

    /// Load a line; `true`: it was there. O(ways).
    pub fn load(&mut self, line: u64) -> bool {
        let first = (line % self.sets) as usize * self.ways;
        let set = &mut self.lines[first..first + self.ways];
        let at = set.iter().position(|&l| l == line);
        // The line comes to the front; those before its place, or all, move back by one.
        set[..=at.unwrap_or(self.ways - 1)].rotate_right(1);
        set[0] = line;
        match at {
            Some(_) => self.hits += 1,
            None => self.misses += 1,
        }
        at.is_some()
    }

    /// Misses among all loads; 0 before the first.
    pub fn miss_rate(&self) -> f64 {
        self.misses as f64 / (self.hits + self.misses).max(1) as f64
    }

    /// Count from here.
    pub fn reset(&mut self) {
        (self.hits, self.misses) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::LINE;

    fn cache(lines: u64, ways: u32) -> SetAssociative {
        SetAssociative::new(Cache { bytes: lines * LINE, ways })
    }

    #[test]
    fn a_known_trace_gives_known_hits() {
        // Two sets of two ways: even lines in one set, odd ones in the other.
        let mut c = cache(4, 2);
        let trace = [0, 2, 0, 4, 2, 0, 1, 3, 1, 5, 3, 0];
        let hits: Vec<bool> = trace.iter().map(|&l| c.load(l)).collect();
        // 4 takes the place of 2, then 2 that of 0, then 0 that of 4; the odd ones likewise; 0 has stayed.
        let want = [0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1].map(|h| h == 1);
        assert_eq!(hits, want);
        assert_eq!((c.hits, c.misses), (3, 9));
    }

    #[test]
    fn a_loop_that_fits_hits_and_one_line_more_always_misses() {
        for (lines, want) in [(8, 8), (9, 90)] {
            let mut c = cache(8, 8);
            for i in 0..10 * lines {
                c.load((i % lines) * 16);
            }
            assert_eq!(c.misses, want, "a loop over {lines} lines");
        }
    }

    #[test]
    fn a_co_runner_takes_lines_away() {
        let alone = {
            let mut c = cache(64, 8);
            (0..6400).for_each(|i| _ = c.load(i % 48));
            c.misses
        };
        let mut c = cache(64, 8);
        let mut mine = 0;
        for i in 0..6400 {
            mine += u64::from(!c.load(i % 48));
            c.load(1000 + i % 48);
        }
        assert_eq!(alone, 48);
        assert!(mine > 3000, "{mine} of 6400 loads missed beside an equal neighbour");
    }
}
