//! The two number types that data may have.

use crate::error::{ErrorKind, ErrorSubject, Result, check_finite};

mod sealed {
    /// What the inside needs of the two types: matrix products, vector instructions, elementary functions.
    pub trait Sealed: faer::traits::ComplexField<Real = Self> + bytemuck::Pod + crate::vector::Elementary {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// f32 or f64. Data may be either. Sums, means, norms and eigenproblems are computed in f64 for both: every f32 is exactly
/// an f64.
///
/// ```
/// use mercer::{Points, Real};
/// fn largest<T: Real>(x: &Points<T>) -> f64 {
///     x.as_slice().iter().map(|v| v.to_f64()).fold(f64::NEG_INFINITY, f64::max)
/// }
/// assert_eq!(largest(&Points::from_rows(&[[0.5f32, 2.0]])), 2.0);
/// ```
pub trait Real: sealed::Sealed + Copy + Send + Sync + PartialOrd + std::fmt::Debug + 'static {
    /// The spacing of numbers near 1.
    const EPSILON: f64;
    /// The largest number.
    const LARGEST: f64;
    /// The least positive number that is not subnormal.
    const LEAST: f64;

    /// Returns the same number as f64.
    fn to_f64(self) -> f64;

    /// Returns the nearest number of this type.
    fn from_f64(v: f64) -> Self;
}

/// Magnitudes whose squares keep all their digits, with room for sums of many.
pub(crate) const SQUARABLE: std::ops::Range<f64> = 1e-140..1e140;

/// Rejects numbers of a model that no fit finds: those that are not finite, or far beyond the points that a fit accepts. A
/// standard deviation may be larger than every point, but not twice as large.
pub(crate) fn check_found(what: ErrorSubject, values: &[f64]) -> Result<()> {
    check_finite(what, values, |at| (at, 0))?;
    match largest(values) {
        magnitude if magnitude < 2.0 * SQUARABLE.end => Ok(()),
        magnitude => Err(ErrorKind::Range { what, magnitude }.into()),
    }
}

/// Returns the shortest text that reads back as the same number.
///
/// ```
/// assert_eq!((mercer::text::shortest(2.0), mercer::text::shortest(0.1)), ("2".to_string(), "0.1".to_string()));
/// ```
pub fn shortest(v: f64) -> String {
    let text = format!("{v:?}");
    text.strip_suffix(".0").map(str::to_string).unwrap_or(text)
}

/// Returns a number with at most six significant digits, as tables show it.
///
/// ```
/// assert_eq!((mercer::text::short(4.228241706), mercer::text::short(1.5e-9)), ("4.22824".to_string(), "1.50000e-9".to_string()));
/// ```
pub fn short(v: f64) -> String {
    let size = v.abs();
    if v == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e7).contains(&size) {
        return format!("{v:.5e}");
    }
    let digits = (5 - size.log10().floor() as i32).max(0) as usize;
    let text = format!("{v:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// The largest magnitude, 0 of nothing.
pub(crate) fn largest<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    values.into_iter().fold(0.0, |m, v| m.max(v.abs()))
}

impl Real for f32 {
    const EPSILON: f64 = f32::EPSILON as f64;
    const LARGEST: f64 = f32::MAX as f64;
    const LEAST: f64 = f32::MIN_POSITIVE as f64;

    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn from_f64(v: f64) -> Self {
        v as f32
    }
}

impl Real for f64 {
    const EPSILON: f64 = f64::EPSILON;
    const LARGEST: f64 = f64::MAX;
    const LEAST: f64 = f64::MIN_POSITIVE;

    fn to_f64(self) -> f64 {
        self
    }

    fn from_f64(v: f64) -> Self {
        v
    }
}
