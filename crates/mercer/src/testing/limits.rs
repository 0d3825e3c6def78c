//! The inner loops by themselves, for measuring how fast a machine can be.

use fearless_simd::{Level, dispatch, prelude::*};

use crate::vector::{self, Elementary};

/// Replaces every value x <= 0 by e^x, as the tiles of the Gaussian kernel do.
pub fn exponentials<T: Elementary>(values: &mut [T]) {
    dispatch!(Level::new(), simd => sweep(simd, values));
}

#[inline(always)]
fn sweep<S: Simd, T: Elementary>(simd: S, values: &mut [T]) {
    simd.vectorize(
        #[inline(always)]
        || {
            let len = <T::Native<S>>::LEN;
            for v in values.chunks_exact_mut(len) {
                vector::exp::<S, T>(simd, <T::Native<S>>::from_slice(simd, v)).store_slice(v);
            }
        },
    );
}
