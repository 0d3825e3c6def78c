//! States: the results for points in batches do not depend on the batches.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod landmarks;
mod passes;
mod pca;

/// SplitMix64, for cuts and trees.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * n as u128) >> 64) as usize
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.below(1 << 30) as f64 / (1u64 << 30) as f64).sum::<f64>() - 6.0
    }

    /// Cuts 0..n into pieces, some of them empty.
    fn cuts(&mut self, n: usize) -> Vec<(usize, usize)> {
        let mut at: Vec<usize> = (0..self.below(8)).map(|_| self.below(n + 1)).collect();
        at.extend([0, n]);
        at.sort_unstable();
        at.windows(2).map(|w| (w[0], w[1])).collect()
    }

    /// Puts parts together two at a time, in any order, until one is left.
    fn tree<S>(&mut self, mut parts: Vec<S>, mut merge: impl FnMut(&mut S, &S)) -> S {
        while parts.len() > 1 {
            let b = parts.swap_remove(self.below(parts.len()));
            let at = self.below(parts.len());
            merge(&mut parts[at], &b);
        }
        parts.pop().unwrap()
    }
}

/// Bytes that are damaged, in every place or cut at every length, are refused and never panic.
fn refuses_damage(bytes: &[u8], read: impl Fn(&[u8]) -> bool) {
    assert!(read(bytes));
    let step = (bytes.len() / 300).max(1);
    for at in (0..bytes.len()).step_by(step) {
        let mut other = bytes.to_vec();
        other[at] ^= 1 << (at % 8);
        assert!(!read(&other), "byte {at}");
        assert!(!read(&bytes[..at]), "cut at {at}");
    }
}

/// Bytes whose parts were changed and whose checksum is right again are refused, or are of a state that does no harm: `use_it`
/// may fail, and does not panic.
fn survives_forgery(bytes: &[u8], seed: u64, use_it: impl Fn(&[u8])) {
    let mut dice = Dice(seed);
    // Sizes, which come first, that overflow.
    for at in 14..(bytes.len() - 16).min(200) {
        let mut other = bytes.to_vec();
        other[at..at + 8].fill(0xff);
        use_it(&mercer::testing::signed_again(&other));
    }
    for _ in 0..2000 {
        let mut other = bytes.to_vec();
        for _ in 0..1 + dice.below(3) {
            // A number of eight bytes becomes another, or a byte does.
            let at = 14 + dice.below(other.len() - 30);
            match dice.below(3) {
                0 => other[at] ^= 1 << dice.below(8),
                1 => other[at..at + 8].copy_from_slice(&(dice.below(12) as u64).to_le_bytes()),
                _ => other[at..at + 8].copy_from_slice(&[0xff, 0, 0, 0x10, 0, 0, 0x80, 0xbf]),
            }
        }
        use_it(&mercer::testing::signed_again(&other));
    }
}
