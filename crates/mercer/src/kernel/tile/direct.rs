//! Distances coordinate by coordinate, for statistics without a matrix product, or where a product would lose digits.

use std::ops::Range;

use fearless_simd::{Level, dispatch, prelude::*};

use super::Scratch;
use crate::kernel::statistic::Pairing;
use crate::points::Points;
use crate::real::Real;

type Native<S, T> = <T as SimdFloatElement>::Native<S>;

/// Vectors of columns that are summed at the same time, enough to hide the latency of an addition.
const SIDE_BY_SIDE: usize = 4;

/// A distance that is a sum over coordinates.
#[derive(Clone, Copy, Debug)]
pub(super) enum Distance {
    Squared,
    L1,
    ChiSquared,
}

impl Distance {
    /// The distance behind a statistic; `None` for those of dot products.
    pub(super) fn of(pairing: Pairing) -> Option<Self> {
        match pairing {
            Pairing::SquaredDistance => Some(Distance::Squared),
            Pairing::L1 => Some(Distance::L1),
            Pairing::ChiSquared => Some(Distance::ChiSquared),
            Pairing::Dot | Pairing::Tanimoto => None,
        }
    }
}

/// Fills `out`, row by row, with distances. Each is summed over coordinates in order, at any position in the tile.
pub(super) fn fill<T: Real>(
    level: Level,
    distance: Distance,
    (a, rows): (&Points<T>, Range<usize>),
    (b, cols): (&Points<T>, Range<usize>),
    out: &mut [T],
    scratch: &mut Scratch<T>,
) {
    dispatch!(level, simd => blocks(simd, distance, (a, rows), (b, cols), out, scratch));
}

#[inline(always)]
fn blocks<S: Simd, T: Real>(
    simd: S,
    distance: Distance,
    (a, rows): (&Points<T>, Range<usize>),
    (b, cols): (&Points<T>, Range<usize>),
    out: &mut [T],
    scratch: &mut Scratch<T>,
) {
    let block = Native::<S, T>::LEN * SIDE_BY_SIDE;
    let (d, width) = (a.d(), cols.len());
    // The columns' points lie block by block, coordinate by coordinate.
    let mut turned = scratch.take(width.div_ceil(block) * block * d);
    for (j, at) in cols.enumerate() {
        let start = j / block * block * d + j % block;
        for (c, v) in b.row(at).iter().enumerate() {
            turned[start + c * block] = *v;
        }
    }
    simd.vectorize(
        #[inline(always)]
        || {
            for (line, i) in out.chunks_exact_mut(width).zip(rows) {
                for (line, points) in line.chunks_mut(block).zip(turned.chunks_exact(block * d)) {
                    let zero = Native::<S, T>::splat(simd, T::ZERO);
                    let sums = match distance {
                        Distance::L1 => row::<S, T>(
                            simd,
                            a.row(i),
                            points,
                            #[inline(always)]
                            |sum, x, y| sum + (x - y).abs(),
                        ),
                        Distance::Squared => row::<S, T>(
                            simd,
                            a.row(i),
                            points,
                            #[inline(always)]
                            |sum, x, y| {
                                let gap = x - y;
                                gap.mul_add(gap, sum)
                            },
                        ),
                        Distance::ChiSquared => row::<S, T>(
                            simd,
                            a.row(i),
                            points,
                            #[inline(always)]
                            |sum, x, y| {
                                let (gap, total) = (x - y, x + y);
                                sum + total.simd_gt(zero).select(gap / total * gap, zero)
                            },
                        ),
                    };
                    for (v, sum) in line.chunks_mut(Native::<S, T>::LEN).zip(sums) {
                        v.copy_from_slice(&sum.as_slice()[..v.len()]);
                    }
                }
            }
        },
    );
    scratch.give_back(turned);
}

/// The distances of one point to a block of others.
#[inline(always)]
fn row<S: Simd, T: Real>(
    simd: S,
    x: &[T],
    block: &[T],
    add: impl Fn(Native<S, T>, Native<S, T>, Native<S, T>) -> Native<S, T>,
) -> [Native<S, T>; SIDE_BY_SIDE] {
    let len = Native::<S, T>::LEN;
    let mut sums = [Native::<S, T>::splat(simd, T::ZERO); SIDE_BY_SIDE];
    for (x, ys) in x.iter().zip(block.chunks_exact(len * SIDE_BY_SIDE)) {
        let x = Native::<S, T>::splat(simd, *x);
        for (sum, y) in sums.iter_mut().zip(ys.chunks_exact(len)) {
            *sum = add(*sum, x, Native::<S, T>::from_slice(simd, y));
        }
    }
    sums
}
