//! The inner loops alone, for measuring the limits of a machine.

use fearless_simd::{Level, dispatch, prelude::*};

use crate::op::Gram;
use crate::vector::{self, Elementary};

/// A Gram matrix in f32, as the first passes of a fit have it.
pub fn in_f32(gram: &Gram) -> Gram<f32> {
    gram.to_f32()
}

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
            for four in values.chunks_exact_mut(4 * len) {
                let x = std::array::from_fn(
                    #[inline(always)]
                    |i| <T::Native<S>>::from_slice(simd, &four[i * len..(i + 1) * len]),
                );
                let values: [T::Native<S>; 4] = vector::exp::<S, T, 4>(simd, x);
                for (v, out) in values.iter().zip(four.chunks_exact_mut(len)) {
                    v.store_slice(out);
                }
            }
        },
    );
}
