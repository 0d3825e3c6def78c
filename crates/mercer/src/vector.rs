//! Elementary functions on vectors of numbers, for any instruction set.
//!
//! e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln(2)/2, and e^r by its series: to within an ulp or so for f64 and f32.
//! Arguments are never positive: that is all that kernels need.

use fearless_simd::prelude::*;

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
    /// 1/2!, 1/3!, ..., the last first.
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
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
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
    const EXP: &'static [f32] = &[1.0 / 5_040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5];
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

#[inline(always)]
fn splat<S: Simd, T: Elementary>(simd: S, v: T) -> Native<S, T> {
    Native::<S, T>::splat(simd, v)
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

/// (2^n as bits to be added to an exponent, e^r - 1) with x = n ln 2 + r.
#[inline(always)]
fn reduced<S: Simd, T: Elementary>(simd: S, x: Native<S, T>) -> (<Native<S, T> as SimdFloat<S>>::Bits, Native<S, T>) {
    let x = x.max(splat::<S, T>(simd, T::LOWEST));
    let shifted = x.mul_add(splat::<S, T>(simd, T::LOG2_E), splat::<S, T>(simd, T::ROUNDER));
    let n = shifted - splat::<S, T>(simd, T::ROUNDER);
    let r = n.mul_add(splat::<S, T>(simd, -T::LN2[1]), n.mul_add(splat::<S, T>(simd, -T::LN2[0]), x));
    let rest = (r * r).mul_add(series::<S, T>(simd, r, T::EXP), r);
    (shifted.to_bits() << T::FRACTION, rest)
}

/// e^x for x <= 0.
#[inline(always)]
pub(crate) fn exp<S: Simd, T: Elementary>(simd: S, x: Native<S, T>) -> Native<S, T> {
    let (power, rest) = reduced::<S, T>(simd, x);
    let sum = rest + Native::<S, T>::splat(simd, T::ONE);
    Native::<S, T>::from_bits(sum.to_bits() + power)
}

/// e^x - 1 for x <= 0, with all digits near 0.
#[inline(always)]
pub(crate) fn exp_m1<S: Simd, T: Elementary>(simd: S, x: Native<S, T>) -> Native<S, T> {
    let (power, rest) = reduced::<S, T>(simd, x);
    let one = Native::<S, T>::splat(simd, T::ONE);
    let scale = Native::<S, T>::from_bits(one.to_bits() + power);
    scale.mul_add(rest, scale - one)
}

/// ln(1 + x) for x >= 0, with all digits near 0.
#[inline(always)]
pub(crate) fn ln_1p<S: Simd, T: Elementary>(simd: S, x: Native<S, T>) -> Native<S, T> {
    let one = splat::<S, T>(simd, T::ONE);
    let y = x + one;
    let lost = (x - (y - one)) / y;
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
    e.mul_add(splat::<S, T>(simd, T::LN2[0]), e.mul_add(splat::<S, T>(simd, T::LN2[1]), ln_m + lost))
}

/// tanh x.
#[inline(always)]
pub(crate) fn tanh<S: Simd, T: Elementary>(simd: S, x: Native<S, T>) -> Native<S, T> {
    let two = Native::<S, T>::splat(simd, T::TWO);
    let e = exp_m1::<S, T>(simd, -(x.abs() * two));
    (-e / (e + two)).copysign(x)
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
