//! A kernel's function applied to a whole tile of statistics while it is in cache.

use fearless_simd::prelude::*;

use crate::real::Real;
use crate::vector::{Four, SIDE_BY_SIDE};

/// The meaning of the numbers in a tile before the function is applied.
#[derive(Clone, Copy)]
pub(crate) enum Raw<'a, T> {
    /// The statistic itself.
    Statistic,
    /// Dot products of points whose squared norms these are: the statistic is |x|^2 + |y|^2 - 2 x.y.
    Products { rows: &'a [T], cols: &'a [T] },
    /// Dot products of points whose squared norms these are: the statistic is x.y / (|x|^2 + |y|^2 - x.y).
    Ratios { rows: &'a [T], cols: &'a [T] },
}

type Native<S, T> = <T as SimdFloatElement>::Native<S>;

/// Applies `f` to every statistic, a few vectors at a time.
#[inline(always)]
pub(crate) fn each<S: Simd, T: Real>(
    simd: S,
    raw: Raw<'_, T>,
    width: usize,
    out: &mut [T],
    f: impl Fn(Four<S, T>) -> Four<S, T>,
) {
    simd.vectorize(
        #[inline(always)]
        || match raw {
            Raw::Statistic => {
                for line in out.chunks_exact_mut(width) {
                    lanes::<S, T>(
                        simd,
                        line,
                        &[],
                        #[inline(always)]
                        |s, _| f(s),
                    );
                }
            }
            Raw::Products { rows, cols } => {
                let (minus_two, zero) =
                    (Native::<S, T>::splat(simd, T::from_f64(-2.0)), Native::<S, T>::splat(simd, T::from_f64(0.0)));
                for (line, norm) in out.chunks_exact_mut(width).zip(rows) {
                    let norm = Native::<S, T>::splat(simd, *norm);
                    lanes::<S, T>(
                        simd,
                        line,
                        cols,
                        #[inline(always)]
                        |mut dots, others| {
                            for (dot, other) in dots.iter_mut().zip(others) {
                                *dot = dot.mul_add(minus_two, norm + other).max(zero);
                            }
                            f(dots)
                        },
                    );
                }
            }
            Raw::Ratios { rows, cols } => {
                let (one, zero) = (Native::<S, T>::splat(simd, T::ONE), Native::<S, T>::splat(simd, T::ZERO));
                for (line, norm) in out.chunks_exact_mut(width).zip(rows) {
                    let norm = Native::<S, T>::splat(simd, *norm);
                    lanes::<S, T>(
                        simd,
                        line,
                        cols,
                        #[inline(always)]
                        |mut dots, others| {
                            for (dot, other) in dots.iter_mut().zip(others) {
                                let below = norm + other - *dot;
                                *dot = below.simd_gt(zero).select(*dot / below, one);
                            }
                            f(dots)
                        },
                    );
                }
            }
        },
    );
}

/// Applies `f(values, beside)` to a line and to the numbers `beside` it (zeros if there are none).
#[inline(always)]
fn lanes<S: Simd, T: Real>(simd: S, line: &mut [T], beside: &[T], f: impl Fn(Four<S, T>, Four<S, T>) -> Four<S, T>) {
    let step = Native::<S, T>::LEN * SIDE_BY_SIDE;
    let whole = line.len() / step * step;
    let (body, rest) = line.split_at_mut(whole);
    let none = [Native::<S, T>::splat(simd, T::ZERO); SIDE_BY_SIDE];
    if beside.is_empty() {
        for v in body.chunks_exact_mut(step) {
            store::<S, T>(f(load::<S, T>(simd, v), none), v);
        }
    } else {
        for (v, w) in body.chunks_exact_mut(step).zip(beside.chunks_exact(step)) {
            store::<S, T>(f(load::<S, T>(simd, v), load::<S, T>(simd, w)), v);
        }
    }
    if !rest.is_empty() {
        // The last few are padded to full vectors, so that an entry has the same bits at any position.
        let (mut v, mut w) = (none, none);
        copy(&*rest, v.iter_mut().flat_map(|v| v.as_mut_slice()));
        if !beside.is_empty() {
            copy(&beside[whole..], w.iter_mut().flat_map(|w| w.as_mut_slice()));
        }
        let values = f(v, w);
        copy(values.iter().flat_map(|v| v.as_slice()), rest);
    }
}

#[inline(always)]
fn load<S: Simd, T: Real>(simd: S, from: &[T]) -> Four<S, T> {
    let len = Native::<S, T>::LEN;
    std::array::from_fn(
        #[inline(always)]
        |i| Native::<S, T>::from_slice(simd, &from[i * len..(i + 1) * len]),
    )
}

#[inline(always)]
fn store<S: Simd, T: Real>(values: Four<S, T>, to: &mut [T]) {
    for (v, to) in values.iter().zip(to.chunks_exact_mut(Native::<S, T>::LEN)) {
        v.store_slice(to);
    }
}

fn copy<'a, T: Real>(from: impl IntoIterator<Item = &'a T>, to: impl IntoIterator<Item = &'a mut T>) {
    to.into_iter().zip(from).for_each(|(to, v)| *to = *v);
}

#[cfg(test)]
mod tests {
    use fearless_simd::Level;

    use super::*;
    use crate::kernel::{Kernel, Leaf};

    /// The vector path against the definition, over all magnitudes, on every instruction set of this machine.
    #[test]
    fn vectors_are_the_definition_on_every_instruction_set() {
        let texts = [
            "linear",
            "polynomial(gamma=0.3, coef0=-1.5, degree=5)",
            "sigmoid(gamma=0.01, coef0=-0.7)",
            "gaussian(gamma=0.3)",
            "matern(nu=1/2, length=1.3)",
            "matern(nu=3/2, length=1.3)",
            "matern(nu=5/2, length=1.3)",
            "rational_quadratic(alpha=0.7, length=1.3)",
            "rational_quadratic(alpha=30, length=0.01)",
            "rational_quadratic(alpha=2, length=1e-160)",
            "matern(nu=3/2, length=1e-310)",
            "gamma_exponential(power=0.3, length=1.3)",
            "gamma_exponential(power=1.7, length=0.01)",
            "gamma_exponential(power=2, length=1e-160)",
        ];
        let s: Vec<f64> = (0..2011).map(|i| 1e-12 * 1.02f64.powi(i)).chain([0.0, 1e300]).collect();
        for leaf in texts.map(|text| text.parse::<Kernel>().expect(text)) {
            let Kernel::Leaf(leaf) = leaf else { unreachable!("a single kernel") };
            for level in [Level::new(), Level::fallback()] {
                for deviation in [false, true] {
                    let of = |s: f64| if deviation { leaf.deviation(s) } else { leaf.value(s) };
                    let mut in_f64 = s.clone();
                    leaf.apply(level, deviation, Raw::Statistic, s.len(), &mut in_f64);
                    for (s, v) in s.iter().zip(&in_f64).filter(|(s, _)| **s < 1e30 || leaf.origin() == 1.0) {
                        let gap = (v - of(*s)).abs();
                        // Relative to the value, or to the smallest normal number.
                        let allowed = 16.0 * f64::EPSILON * of(*s).abs() * (1.0 + argument(&leaf, *s)) + 1e-300;
                        assert!(gap <= allowed, "{leaf:?} {deviation} at {s}: {v} for {}", of(*s));
                    }
                    let mut in_f32: Vec<f32> = s.iter().map(|v| *v as f32).collect();
                    leaf.apply(level, deviation, Raw::Statistic, s.len(), &mut in_f32);
                    for (s, v) in s.iter().zip(&in_f32).filter(|(s, _)| **s < 1e3) {
                        let s = f64::from(*s as f32);
                        let allowed = 16.0 * f64::from(f32::EPSILON) * of(s).abs() * (1.0 + argument(&leaf, s)) + 1e-30;
                        assert!((f64::from(*v) - of(s)).abs() <= allowed, "f32 {leaf:?} at {s}: {v} {}", of(s));
                    }
                }
            }
        }
    }

    /// The size of the argument of the exponential: its rounding error is a relative error of the value.
    fn argument(leaf: &Leaf, s: f64) -> f64 {
        match leaf {
            Leaf::Polynomial(_) => 40.0,
            Leaf::Linear(_) => 0.0,
            // Where the sum of its two terms cancels, the value is small and the error is not.
            Leaf::Sigmoid(k) => {
                let gamma = k.gamma.number().expect("a number");
                (gamma * s + k.coef0.abs()) / (gamma * s + k.coef0).abs().max(1e-300)
            }
            // The power is computed by a logarithm.
            Leaf::GammaExponential(_) => 8.0 + 2.0 * s.max(1e-300).ln().abs() - leaf.value(s).max(1e-300).ln(),
            _ => -leaf.value(s).max(1e-300).ln(),
        }
    }
}
