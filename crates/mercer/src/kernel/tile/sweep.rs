//! Profiles applied to a whole tile of statistics while it is in cache.

use fearless_simd::{Level, dispatch, prelude::*};

use crate::kernel::Nu;
use crate::kernel::profile::Profile;
use crate::real::Real;
use crate::vector::{self, map};

/// What the numbers of a tile are before the profile is applied.
#[derive(Clone, Copy)]
pub(super) enum Raw<'a, T> {
    /// The statistic itself.
    Statistic,
    /// Dot products of points whose squared norms these are: the statistic is |x|^2 + |y|^2 - 2 x.y.
    Products { rows: &'a [T], cols: &'a [T] },
}

/// Replaces the numbers of a tile of `width` columns by kernel values, or by values less the profile's origin.
pub(super) fn sweep<T: Real>(
    level: Level,
    profile: Profile,
    deviation: bool,
    raw: Raw<'_, T>,
    width: usize,
    out: &mut [T],
) {
    dispatch!(level, simd => profiles(simd, profile, deviation, raw, width, out));
}

type Native<S, T> = <T as SimdFloatElement>::Native<S>;

/// Vectors that go through a profile side by side.
const SIDE_BY_SIDE: usize = 4;
type Four<S, T> = vector::Several<S, T, SIDE_BY_SIDE>;

/// One line per profile: what [`Profile::value`] and [`Profile::deviation`] are for one number.
#[inline(always)]
fn profiles<S: Simd, T: Real>(
    simd: S,
    profile: Profile,
    deviation: bool,
    raw: Raw<'_, T>,
    width: usize,
    out: &mut [T],
) {
    // Finite, so that nothing times it is not a number.
    let splat = |v: f64| Native::<S, T>::splat(simd, T::from_f64(v.clamp(-T::LARGEST, T::LARGEST)));
    let one = splat(1.0);
    match (profile, deviation) {
        (Profile::Identity, _) => each(
            simd,
            raw,
            width,
            out,
            #[inline(always)]
            |s| s,
        ),
        (Profile::Power { gamma, coef0, degree }, _) => {
            let (gamma, coef0) = (splat(gamma), splat(coef0));
            each(
                simd,
                raw,
                width,
                out,
                #[inline(always)]
                |s| {
                    map(
                        s,
                        #[inline(always)]
                        |s| vector::power::<S, T>(simd, s.mul_add(gamma, coef0), degree),
                    )
                },
            );
        }
        (Profile::Tanh { gamma, coef0 }, _) => {
            let (gamma, coef0) = (splat(gamma), splat(coef0));
            each(
                simd,
                raw,
                width,
                out,
                #[inline(always)]
                |s| {
                    let x = map(
                        s,
                        #[inline(always)]
                        |s| s.mul_add(gamma, coef0),
                    );
                    vector::tanh::<S, T, SIDE_BY_SIDE>(simd, x)
                },
            );
        }
        (Profile::Exponential { gamma }, deviation) => {
            let gamma = splat(-gamma);
            if deviation {
                each(
                    simd,
                    raw,
                    width,
                    out,
                    #[inline(always)]
                    |s| vector::exp_m1::<S, T, SIDE_BY_SIDE>(simd, times(s, gamma)),
                );
            } else {
                each(
                    simd,
                    raw,
                    width,
                    out,
                    #[inline(always)]
                    |s| vector::exp::<S, T, SIDE_BY_SIDE>(simd, times(s, gamma)),
                );
            }
        }
        (Profile::Rational { alpha, length }, deviation) => {
            // In two factors: their product may exceed all numbers, and then is as good as the largest.
            let (first, second) = (splat(1.0 / length), splat(1.0 / length / (2.0 * alpha)));
            let (alpha, largest) = (splat(-alpha), splat(T::LARGEST));
            each(
                simd,
                raw,
                width,
                out,
                #[inline(always)]
                |s| {
                    let x = map(
                        s,
                        #[inline(always)]
                        |s| vector::ln_1p::<S, T>(simd, (s * first * second).min(largest)) * alpha,
                    );
                    if deviation { vector::exp_m1::<S, T, _>(simd, x) } else { vector::exp::<S, T, _>(simd, x) }
                },
            );
        }
        // exp(-a), (1 + a) exp(-a), (1 + a + a^2/3) exp(-a); less 1 it is e + p (1 + e) with e = exp(-a) - 1.
        (Profile::Matern { nu, length }, deviation) => {
            let root = match nu {
                Nu::Half => 1.0,
                Nu::ThreeHalves => 3f64.sqrt(),
                Nu::FiveHalves => 5f64.sqrt(),
            };
            let (scale, third) = (splat(root / length), splat(if nu == Nu::FiveHalves { 1.0 / 3.0 } else { 0.0 }));
            let linear = splat(if nu == Nu::Half { 0.0 } else { 1.0 });
            let (lowest, small) = (splat(T::LOWEST.to_f64()), splat(-0.5));
            let matern_series = MaternSeries::new(nu);
            each(
                simd,
                raw,
                width,
                out,
                #[inline(always)]
                |s| {
                    // x = -a. Far out the exponential is as good as 0, and the polynomial must not be infinite.
                    let x = map(
                        s,
                        #[inline(always)]
                        |s| (-(s.sqrt() * scale)).max(lowest),
                    );
                    let mut out =
                        if deviation { vector::exp_m1::<S, T, _>(simd, x) } else { vector::exp::<S, T, _>(simd, x) };
                    for (e, x) in out.iter_mut().zip(x) {
                        let p = (x * third - linear) * x;
                        if !deviation {
                            *e *= p + one;
                            continue;
                        }
                        *e = p.mul_add(*e + one, *e);
                        // Near 0 the two terms cancel: there the series is summed.
                        if nu != Nu::Half {
                            *e = x.simd_gt(small).select(matern_series.at::<S, T>(simd, -x), *e);
                        }
                    }
                    out
                },
            );
        }
    }
}

/// p(a) e^-a - 1 = sum over m >= 2 of c_m (-a)^m / m!, for a <= 1/2 (MATHS.md, M6).
struct MaternSeries([f64; 17]);

impl MaternSeries {
    fn new(nu: Nu) -> Self {
        let mut coefficients = [0.0; 17];
        let mut factorial = 1.0;
        for (at, c) in coefficients.iter_mut().enumerate() {
            let m = at as f64 + 2.0;
            factorial *= m;
            let sign = if at % 2 == 0 { 1.0 } else { -1.0 };
            let product_rule = match nu {
                Nu::FiveHalves => 1.0 - m + m * (m - 1.0) / 3.0,
                _ => 1.0 - m,
            };
            *c = sign * product_rule / factorial;
        }
        coefficients.reverse();
        MaternSeries(coefficients)
    }

    #[inline(always)]
    fn at<S: Simd, T: Real>(&self, simd: S, a: Native<S, T>) -> Native<S, T> {
        let mut sum = Native::<S, T>::splat(simd, T::from_f64(self.0[0]));
        for c in &self.0[1..] {
            sum = sum.mul_add(a, Native::<S, T>::splat(simd, T::from_f64(*c)));
        }
        sum * a * a
    }
}

/// `f` of every statistic, a few vectors at a time.
#[inline(always)]
fn each<S: Simd, T: Real>(simd: S, raw: Raw<'_, T>, width: usize, out: &mut [T], f: impl Fn(Four<S, T>) -> Four<S, T>) {
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
        },
    );
}

/// `f(values, beside)` of a line and of the numbers beside it (zeros when there are none).
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
        // The last few go through vectors of their own: an entry has the same bits wherever it stands.
        let (mut v, mut w) = (none, none);
        copy(&*rest, v.iter_mut().flat_map(|v| v.as_mut_slice()));
        if !beside.is_empty() {
            copy(&beside[whole..], w.iter_mut().flat_map(|w| w.as_mut_slice()));
        }
        let values = f(v, w);
        copy(values.iter().flat_map(|v| v.as_slice()), rest);
    }
}

/// Each times one and the same factor.
#[inline(always)]
fn times<V: Copy + std::ops::Mul<Output = V>>(s: [V; SIDE_BY_SIDE], factor: V) -> [V; SIDE_BY_SIDE] {
    map(
        s,
        #[inline(always)]
        |s| s * factor,
    )
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
    use super::*;

    /// The vector path against the definition, on every instruction set there is.
    #[test]
    fn every_profile_is_its_definition_on_every_instruction_set() {
        let profiles = [
            Profile::Identity,
            Profile::Power { gamma: 0.3, coef0: -1.5, degree: 5 },
            Profile::Tanh { gamma: 0.01, coef0: -0.7 },
            Profile::Exponential { gamma: 0.3 },
            Profile::Matern { nu: Nu::Half, length: 1.3 },
            Profile::Matern { nu: Nu::ThreeHalves, length: 1.3 },
            Profile::Matern { nu: Nu::FiveHalves, length: 1.3 },
            Profile::Rational { alpha: 0.7, length: 1.3 },
            Profile::Rational { alpha: 30.0, length: 0.01 },
            Profile::Rational { alpha: 2.0, length: 1e-160 },
            Profile::Matern { nu: Nu::ThreeHalves, length: 1e-310 },
        ];
        let s: Vec<f64> = (0..2011).map(|i| 1e-12 * 1.02f64.powi(i)).chain([0.0, 1e300]).collect();
        for level in [Level::new(), Level::fallback()] {
            for profile in profiles {
                for deviation in [false, true] {
                    let of = |s: f64| if deviation { profile.deviation(s) } else { profile.value(s) };
                    let mut wide = s.clone();
                    sweep(level, profile, deviation, Raw::Statistic, s.len(), &mut wide);
                    for (s, v) in s.iter().zip(&wide).filter(|(s, _)| **s < 1e30 || profile.origin() == 1.0) {
                        let gap = (v - of(*s)).abs();
                        // Relative to the value, or to the least number that is not subnormal.
                        let allowed = 16.0 * f64::EPSILON * of(*s).abs() * (1.0 + argument(profile, *s)) + 1e-300;
                        assert!(gap <= allowed, "{profile:?} {deviation} at {s}: {v} for {}", of(*s));
                    }
                    let mut narrow: Vec<f32> = s.iter().map(|v| *v as f32).collect();
                    sweep(level, profile, deviation, Raw::Statistic, s.len(), &mut narrow);
                    for (s, v) in s.iter().zip(&narrow).filter(|(s, _)| **s < 1e3) {
                        let s = f64::from(*s as f32);
                        let allowed =
                            16.0 * f64::from(f32::EPSILON) * of(s).abs() * (1.0 + argument(profile, s)) + 1e-30;
                        assert!((f64::from(*v) - of(s)).abs() <= allowed, "f32 {profile:?} at {s}: {v} {}", of(s));
                    }
                }
            }
        }
    }

    /// How large the argument of the exponential is: rounding it changes the value by as much.
    fn argument(profile: Profile, s: f64) -> f64 {
        match profile {
            Profile::Power { .. } => 40.0,
            Profile::Identity => 0.0,
            // Where the sum of its two terms cancels, the value is small and the error is not.
            Profile::Tanh { gamma, coef0 } => (gamma * s + coef0.abs()) / (gamma * s + coef0).abs().max(1e-300),
            p => -p.value(s).max(1e-300).ln(),
        }
    }
}
