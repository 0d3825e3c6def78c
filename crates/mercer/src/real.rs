//! The two number types that data may have.

mod sealed {
    /// What the inside needs of the two types: matrix products, vector instructions, elementary functions.
    pub trait Sealed: faer::traits::ComplexField<Real = Self> + bytemuck::Pod + crate::vector::Elementary {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// f32 or f64. Data may be either; sums, means, norms and eigenproblems are f64 whatever the data is,
/// since every f32 is exactly an f64.
pub trait Real: sealed::Sealed + Copy + Send + Sync + PartialOrd + std::fmt::Debug + 'static {
    /// The spacing of numbers near 1.
    const EPSILON: f64;
    /// The largest number.
    const LARGEST: f64;
    /// The least positive number that is not subnormal.
    const LEAST: f64;

    /// The same number as f64.
    fn to_f64(self) -> f64;

    /// The nearest number of this type.
    fn from_f64(v: f64) -> Self;
}

/// Magnitudes whose squares keep all their digits, with room for sums of many.
pub(crate) const SQUARABLE: std::ops::Range<f64> = 1e-140..1e140;

/// The shortest text that reads back as the same number.
pub fn shortest(v: f64) -> String {
    let text = format!("{v:?}");
    text.strip_suffix(".0").map(str::to_string).unwrap_or(text)
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
