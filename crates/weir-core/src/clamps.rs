// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Utilisation clamps (`weir/kit/uclamp.h`).

/// What a task counts as using of a CPU, at least and at most, in 1/1024 of the largest CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clamps {
    pub least: u32,
    pub most: u32,
}

impl Clamps {
    /// A whole CPU.
    pub const WHOLE: u32 = 1024;

    /// As UCLAMP has it: 0 says nothing.
    pub fn word(self) -> u64 {
        u64::from(self.least) | u64::from(Self::WHOLE - self.most) << 32
    }

    /// The reverse of [`Clamps::word`].
    pub fn of_word(word: u64) -> Self {
        Self { least: word as u32, most: Self::WHOLE.saturating_sub((word >> 32) as u32) }
    }
}

/// Nothing is clamped.
impl Default for Clamps {
    fn default() -> Self {
        Self { least: 0, most: Self::WHOLE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_clamps_are_no_word() {
        assert_eq!(Clamps::default().word(), 0);
        for (least, most) in [(0, 0), (1024, 1024), (128, 512)] {
            assert_eq!(Clamps::of_word(Clamps { least, most }.word()), Clamps { least, most });
        }
    }
}
