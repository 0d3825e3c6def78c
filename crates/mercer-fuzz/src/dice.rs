//! Random choices that a seed fixes.

use mercer::text::checksum;

/// A source of random choices (SplitMix64).
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// Returns the choices for one input of a target. They depend on nothing else.
    pub fn new(seed: u64, target: &str, index: u64) -> Self {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ checksum(target.as_bytes()) ^ index.rotate_left(32))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`; 0 if there is none.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// Returns true once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Returns one of some values.
    ///
    /// # Panics
    /// When there are none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
