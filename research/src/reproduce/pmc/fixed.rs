// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Fixed-point numbers as in the thesis (source 4, section 4): a number n is kept as n times 2^P in 64 bits.
//!
//! Sums need no care. A product is shifted back by P, which rounds towards minus infinity; a quotient's dividend is
//! shifted first. Only the way back to whole numbers rounds to the nearest.

/// Fraction bits of the scheduler.
pub const P: u32 = 10;

/// One, a half and minus a half.
pub const ONE: i64 = 1 << P;
pub const HALF: i64 = ONE / 2;

/// A whole number; on overflow the most significant bits stay and the low ones are lost.
pub fn from_unsigned(n: u64, p: u32) -> u64 {
    let spare = n.leading_zeros();
    if spare >= p { n << p } else { n << spare }
}

/// The same for signed numbers: the sign stays.
pub fn from_signed(n: i64, p: u32) -> i64 {
    let spare = if n < 0 { n.leading_ones() } else { n.leading_zeros() } - 1;
    n << p.min(spare)
}

/// To the nearest whole number, halves up.
pub fn to_signed(v: i64, p: u32) -> i64 {
    if p == 0 { v } else { (v >> p) + (v >> (p - 1) & 1) }
}

/// Product, rounded down, by way of 128 bits.
pub fn mul_signed(a: i64, b: i64, p: u32) -> i64 {
    ((i128::from(a) * i128::from(b)) >> p) as i64
}

/// Product of numbers without sign.
pub fn mul_unsigned(a: u64, b: u64, p: u32) -> u64 {
    ((u128::from(a) * u128::from(b)) >> p) as u64
}

/// Quotient, rounded down; of two whole numbers it is their ratio as a fixed-point number. 0 where `b` is 0.
pub fn div_unsigned(a: u64, b: u64, p: u32) -> u64 {
    if b == 0 { 0 } else { ((u128::from(a) << p) / u128::from(b)) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The examples of the thesis.
    #[test]
    fn reference_vectors() {
        assert_eq!((1.5 * 16.0) as u8, 0b0001_1000);
        assert_eq!(div_unsigned(3, 2, 4), 0b0001_1000);
        let (a, b) = (0x0f80, 0x02c0);
        assert_eq!((a as f64 / 256.0, b as f64 / 256.0), (15.5, 2.75));
        assert_eq!(a * b, 0x2a_a000);
        assert_eq!(mul_unsigned(a, b, 8), 0x2aa0);
        assert_eq!(0x2aa0 as f64 / 256.0, 42.625);
        assert_eq!(from_unsigned(10, P), 10_240);
        assert_eq!((ONE, HALF, -HALF), (1024, 512, -512));
    }

    #[test]
    fn products_round_down_and_whole_numbers_to_the_nearest() {
        assert_eq!(mul_signed(-1, 512, P), -1);
        assert_eq!(mul_signed(1, 512, P), 0);
        for (v, want) in [(511, 0), (512, 1), (1535, 1), (1536, 2), (-511, 0), (-512, 0), (-513, -1)] {
            assert_eq!(to_signed(v, P), want, "{v}");
        }
    }

    #[test]
    fn too_large_numbers_keep_their_most_significant_bits() {
        assert_eq!(from_unsigned(u64::MAX, P), u64::MAX);
        assert_eq!(from_unsigned(1 << 60, P), 1 << 63);
        assert_eq!(from_signed(i64::MIN, P), i64::MIN);
        assert_eq!(from_signed(-3, P), -3072);
        assert!(from_signed(1 << 60, P) > 0);
        assert_eq!(div_unsigned(5, 0, P), 0);
    }

    proptest! {
        /// Against exact rationals: the product is the floor of the true one, the quotient likewise.
        #[test]
        fn products_and_quotients(a in -1i64 << 40..1 << 40, b in -1i64 << 20..1 << 20, c in 1u64..1 << 40) {
            let exact = i128::from(a) * i128::from(b);
            let have = i128::from(mul_signed(a, b, P));
            prop_assert!(have * 1024 <= exact && exact < (have + 1) * 1024);
            let q = u128::from(div_unsigned(a.unsigned_abs(), c, P));
            let top = u128::from(a.unsigned_abs()) << P;
            prop_assert!(q * u128::from(c) <= top && top < (q + 1) * u128::from(c));
        }
    }
}
