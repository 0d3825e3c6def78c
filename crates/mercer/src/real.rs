//! The two number types that data may have.

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// f32 or f64. Data may be either; sums, means, norms and eigenproblems are f64 whatever the data is,
/// since every f32 is exactly an f64.
pub trait Real: sealed::Sealed + Copy + Send + Sync + PartialOrd + std::fmt::Debug + 'static {
    /// The same number as f64.
    fn to_f64(self) -> f64;
}

impl Real for f32 {
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    fn to_f64(self) -> f64 {
        self
    }
}
