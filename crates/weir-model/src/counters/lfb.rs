// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Line fill buffers: the lines that are on their way into L1.

/// What happens to a load that L1 does not serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// It fetches the line: a miss.
    Miss,
    /// The line is on its way already.
    OnItsWay,
    /// All buffers are in use: it waits for the first of them, until this cycle, and is a miss then.
    Full(u64),
}

/// The buffers of a core.
#[derive(Clone, Debug)]
pub struct FillBuffers {
    /// Line and the cycle at which it arrives.
    lines: Vec<(u64, u64)>,
    most: usize,
}

impl FillBuffers {
    pub fn new(buffers: u32) -> Self {
        Self { lines: Vec::with_capacity(buffers as usize), most: buffers as usize }
    }

    /// A load of a line at cycle `now`, which arrives after `latency` if it has to be fetched.
    pub fn load(&mut self, line: u64, now: u64, latency: u64) -> Fill {
        self.lines.retain(|l| l.1 > now);
        if self.lines.iter().any(|l| l.0 == line) {
            return Fill::OnItsWay;
        }
        if self.lines.len() < self.most {
            self.lines.push((line, now + latency));
            return Fill::Miss;
        }
        let first = self.lines.iter().map(|l| l.1).min().unwrap_or(now);
        self.lines.retain(|l| l.1 > first);
        self.lines.push((line, first + latency));
        Fill::Full(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_on_its_way_is_no_second_miss() {
        let mut b = FillBuffers::new(2);
        assert_eq!(b.load(1, 0, 100), Fill::Miss);
        assert_eq!(b.load(1, 10, 100), Fill::OnItsWay);
        assert_eq!(b.load(2, 10, 100), Fill::Miss);
        assert_eq!(b.load(3, 20, 100), Fill::Full(100));
        assert_eq!(b.load(2, 105, 100), Fill::OnItsWay);
        assert_eq!(b.load(2, 111, 100), Fill::Miss);
        assert_eq!(b.load(1, 300, 100), Fill::Miss);
    }

    /// Eight loads of each line, one a cycle, as in a walk through an array.
    #[test]
    fn a_walk_through_an_array_misses_once_a_line() {
        let mut b = FillBuffers::new(10);
        let (mut misses, mut waiting) = (0, 0);
        for cycle in 0..800 {
            match b.load(cycle / 8, cycle, 40) {
                Fill::OnItsWay => waiting += 1,
                _ => misses += 1,
            }
        }
        assert_eq!((misses, waiting), (100, 700));
    }
}
