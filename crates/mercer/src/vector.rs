//! Elementary functions on vectors of numbers, for any instruction set.
//!
//! e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln(2)/2, and (e^r - 1 - r)/r^2 by the polynomial that agrees with it at
//! Chebyshev's points: to within an ulp or so for f64 and f32. Arguments are never positive: that is all that kernels need.
//!
//! Functions take a few vectors at a time and go through their steps side by side: each step has to wait for the one
//! before, and meanwhile the others are worked on.

use fearless_simd::prelude::*;

use crate::real::Real;

/// A number type with the constants of its elementary functions.
pub trait Elementary: SimdFloatElement + 'static {
    /// 1.5 times the power of two from which on numbers are whole: adding it rounds.
    const ROUNDER: Self;
    /// 1 / ln 2.
    const LOG2_E: Self;
    /// ln 2 in two parts, the first of which has trailing zeros.
    const LN2: [Self; 2];
    /// Below it, e^x is taken to be what it is there: next to nothing.
    const LOWEST: Self;
    /// The coefficients for (e^r - 1 - r)/r^2, the highest power first.
    const EXP: &'static [Self];
    /// 1/3, 1/5, ..., the last first.
    const ATANH: &'static [Self];
    /// Bits of the fraction.
    const FRACTION: u32;
    /// The bits of the fraction set.
    const FRACTION_MASK: Self::Bits;
    /// The power of two from which on numbers are whole, and the exponent's bias added to it.
    const WHOLE: [Self; 2];
    /// The square root of 2, and numbers that every type has.
    const ROOT_2: Self;
    #[allow(missing_docs)]
    const ZERO: Self;
    #[allow(missing_docs)]
    const HALF: Self;
    #[allow(missing_docs)]
    const ONE: Self;
    #[allow(missing_docs)]
    const TWO: Self;
}

impl Elementary for f64 {
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    const LOG2_E: f64 = std::f64::consts::LOG2_E;
    const LN2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
    const LOWEST: f64 = -708.0;
    const EXP: &'static [f64] = &[
        2.510_037_584_222_37e-8,
        2.762_007_589_254_816_4e-7,
        2.755_726_848_028_971_6e-6,
        2.480_152_132_234_228e-5,
        1.984_126_986_304_055_9e-4,
        1.388_888_891_719_673_6e-3,
        8.333_333_333_330_065e-3,
        4.166_666_666_662_416_4e-2,
        1.666_666_666_666_666_9e-1,
        5.000_000_000_000_001e-1,
    ];
    const ATANH: &'static [f64] = &[
        1.0 / 23.0,
        1.0 / 21.0,
        1.0 / 19.0,
        1.0 / 17.0,
        1.0 / 15.0,
        1.0 / 13.0,
        1.0 / 11.0,
        1.0 / 9.0,
        1.0 / 7.0,
        1.0 / 5.0,
        1.0 / 3.0,
    ];
    const FRACTION: u32 = 52;
    const FRACTION_MASK: u64 = (1 << 52) - 1;
    const WHOLE: [f64; 2] = [4_503_599_627_370_496.0, 4_503_599_627_370_496.0 + 1023.0];
    const ONE: f64 = 1.0;
    const TWO: f64 = 2.0;
    const HALF: f64 = 0.5;
    const ROOT_2: f64 = std::f64::consts::SQRT_2;
    const ZERO: f64 = 0.0;
}

impl Elementary for f32 {
    const ROUNDER: f32 = 12_582_912.0;
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    const LN2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    const LOWEST: f32 = -87.0;
    const EXP: &'static [f32] = &[1.392_617_6e-3, 8.363_173e-3, 4.166_655_6e-2, 1.666_657_8e-1, 0.5];
    const ATANH: &'static [f32] = &[1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0];
    const FRACTION: u32 = 23;
    const FRACTION_MASK: u32 = (1 << 23) - 1;
    const WHOLE: [f32; 2] = [8_388_608.0, 8_388_608.0 + 127.0];
    const ONE: f32 = 1.0;
    const TWO: f32 = 2.0;
    const HALF: f32 = 0.5;
    const ROOT_2: f32 = std::f32::consts::SQRT_2;
    const ZERO: f32 = 0.0;
}

type Native<S, T> = <T as SimdFloatElement>::Native<S>;
/// Vectors that go through a function side by side.
pub(crate) const SIDE_BY_SIDE: usize = 4;
/// So many vectors.
pub(crate) type Four<S, T> = Several<S, T, SIDE_BY_SIDE>;
/// A few vectors.
pub(crate) type Several<S, T, const N: usize> = [Native<S, T>; N];

#[inline(always)]
fn splat<S: Simd, T: Elementary>(simd: S, v: T) -> Native<S, T> {
    Native::<S, T>::splat(simd, v)
}

/// A number in every lane, clamped to the range of the type so that 0 times it cannot be NaN.
#[inline(always)]
pub(crate) fn constant<S: Simd, T: Real>(simd: S, v: f64) -> Native<S, T> {
    Native::<S, T>::splat(simd, T::from_f64(v.clamp(-T::LARGEST, T::LARGEST)))
}

/// Each times one and the same factor.
#[inline(always)]
pub(crate) fn times<V: Copy + std::ops::Mul<Output = V>, const N: usize>(s: [V; N], factor: V) -> [V; N] {
    map(
        s,
        #[inline(always)]
        |s| s * factor,
    )
}

/// The polynomial in x with these coefficients, the highest power first.
#[inline(always)]
pub(crate) fn series_of<S: Simd, T: Real>(simd: S, x: Native<S, T>, coefficients: &[f64]) -> Native<S, T> {
    let mut sum = constant::<S, T>(simd, coefficients[0]);
    for c in &coefficients[1..] {
        sum = sum.mul_add(x, constant::<S, T>(simd, *c));
    }
    sum
}

/// x^0 c_last + x c_(last-1) + ... for coefficients with the highest power first.
#[inline(always)]
fn series<S: Simd, T: Elementary>(simd: S, x: Native<S, T>, coefficients: &[T]) -> Native<S, T> {
    let mut sum = Native::<S, T>::splat(simd, coefficients[0]);
    for c in &coefficients[1..] {
        sum = sum.mul_add(x, Native::<S, T>::splat(simd, *c));
    }
    sum
}

/// `f` of each.
#[inline(always)]
pub(crate) fn map<V: Copy, const N: usize>(mut x: [V; N], f: impl Fn(V) -> V) -> [V; N] {
    for v in &mut x {
        *v = f(*v);
    }
    x
}

/// (x in units of ln 2 as bits that end in n, e^r - 1) with x = n ln 2 + r.
#[inline(always)]
fn reduced<S: Simd, T: Elementary, const N: usize>(
    simd: S,
    x: Several<S, T, N>,
) -> (Several<S, T, N>, Several<S, T, N>) {
    let (rounder, one_over) = (splat::<S, T>(simd, T::ROUNDER), splat::<S, T>(simd, T::LOG2_E));
    let (large, small) = (splat::<S, T>(simd, -T::LN2[0]), splat::<S, T>(simd, -T::LN2[1]));
    let (mut shifted, mut r) = (x, x);
    for (shifted, r) in shifted.iter_mut().zip(&mut r) {
        *r = r.max(splat::<S, T>(simd, T::LOWEST));
        *shifted = r.mul_add(one_over, rounder);
        let n = *shifted - rounder;
        *r = n.mul_add(small, n.mul_add(large, *r));
    }
    let mut rest = [splat::<S, T>(simd, T::EXP[0]); N];
    for c in &T::EXP[1..] {
        for (rest, r) in rest.iter_mut().zip(&r) {
            *rest = rest.mul_add(*r, splat::<S, T>(simd, *c));
        }
    }
    for (rest, r) in rest.iter_mut().zip(&r) {
        *rest = (*r * *r).mul_add(*rest, *r);
    }
    (shifted, rest)
}

/// e^x for x <= 0.
#[inline(always)]
pub(crate) fn exp<S: Simd, T: Elementary, const N: usize>(simd: S, x: Several<S, T, N>) -> Several<S, T, N> {
    let one = splat::<S, T>(simd, T::ONE);
    let (shifted, mut rest) = reduced::<S, T, N>(simd, x);
    for (rest, shifted) in rest.iter_mut().zip(&shifted) {
        let sum = *rest + one;
        *rest = Native::<S, T>::from_bits(sum.to_bits() + (shifted.to_bits() << T::FRACTION));
    }
    rest
}

/// e^x - 1 for x <= 0, with all digits near 0.
#[inline(always)]
pub(crate) fn exp_m1<S: Simd, T: Elementary, const N: usize>(simd: S, x: Several<S, T, N>) -> Several<S, T, N> {
    let one = splat::<S, T>(simd, T::ONE);
    let (shifted, mut rest) = reduced::<S, T, N>(simd, x);
    for (rest, shifted) in rest.iter_mut().zip(&shifted) {
        let scale = Native::<S, T>::from_bits(one.to_bits() + (shifted.to_bits() << T::FRACTION));
        *rest = scale.mul_add(*rest, scale - one);
    }
    rest
}

/// ln(1 + x) for x >= 0, with all digits near 0.
#[inline(always)]
pub(crate) fn ln_1p<S: Simd, T: Elementary>(simd: S, x: Native<S, T>) -> Native<S, T> {
    let one = splat::<S, T>(simd, T::ONE);
    let y = x + one;
    log::<S, T>(simd, y, (x - (y - one)) / y)
}

/// ln x for x > 0 that is not subnormal.
#[inline(always)]
pub(crate) fn ln<S: Simd, T: Elementary>(simd: S, x: Native<S, T>) -> Native<S, T> {
    log::<S, T>(simd, x, splat::<S, T>(simd, T::ZERO))
}

/// ln y + rest.
#[inline(always)]
fn log<S: Simd, T: Elementary>(simd: S, y: Native<S, T>, rest: Native<S, T>) -> Native<S, T> {
    let one = splat::<S, T>(simd, T::ONE);
    // y = 2^e m, 1 <= m < 2, and then 1/sqrt(2) < m <= sqrt(2)
    let bits = y.to_bits();
    let whole = splat::<S, T>(simd, T::WHOLE[0]).to_bits();
    let e = Native::<S, T>::from_bits((bits >> T::FRACTION) | whole) - splat::<S, T>(simd, T::WHOLE[1]);
    let mask = <Native<S, T> as SimdFloat<S>>::Bits::splat(simd, T::FRACTION_MASK);
    let m = Native::<S, T>::from_bits((bits & mask) | one.to_bits());
    let large = m.simd_gt(splat::<S, T>(simd, T::ROOT_2));
    let m = large.select(m * splat::<S, T>(simd, T::HALF), m);
    let e = large.select(e + one, e);
    // ln m = 2 atanh(s), s = (m - 1)/(m + 1)
    let s = (m - one) / (m + one);
    let square = s * s;
    let tail = series::<S, T>(simd, square, T::ATANH) * square * s;
    let ln_m = (s + tail) * splat::<S, T>(simd, T::TWO);
    e.mul_add(splat::<S, T>(simd, T::LN2[0]), e.mul_add(splat::<S, T>(simd, T::LN2[1]), ln_m + rest))
}

/// tanh x.
#[inline(always)]
pub(crate) fn tanh<S: Simd, T: Elementary, const N: usize>(simd: S, x: Several<S, T, N>) -> Several<S, T, N> {
    let two = splat::<S, T>(simd, T::TWO);
    let mut out = exp_m1::<S, T, N>(
        simd,
        map(
            x,
            #[inline(always)]
            |x| -(x.abs() * two),
        ),
    );
    for (e, x) in out.iter_mut().zip(x) {
        *e = (-*e / (*e + two)).copysign(x);
    }
    out
}

/// x^power by repeated squaring, for any sign of x.
#[inline(always)]
pub(crate) fn power<S: Simd, T: Elementary>(simd: S, x: Native<S, T>, power: u32) -> Native<S, T> {
    let (mut result, mut square, mut left) = (Native::<S, T>::splat(simd, T::ONE), x, power);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        left >>= 1;
        if left > 0 {
            square = square * square;
        }
    }
    result
}
