//! Reference implementations, error ratios, conformance checks and nasty inputs, for the tests of this library and of your
//! own kernels and operators.

pub mod conformance;
pub mod limits;
pub mod matrices;
pub mod naive;
pub mod ratios;
pub mod reference;

pub use crate::wire::signed_again;

/// Numbers of about 31 digits.
pub mod double_double {
    pub use crate::ball::DoubleDouble;
    use crate::kernel::Formula;

    impl DoubleDouble {
        /// The value of a formula at this number.
        pub fn formula(self, formula: &Formula) -> Self {
            match formula {
                Formula::Statistic => self,
                Formula::Times(factor, f) => self.formula(f) * (*factor).into(),
                Formula::Plus(f, number) => self.formula(f) + (*number).into(),
                Formula::Product(f, g) => self.formula(f) * self.formula(g),
                Formula::Power(f, power) => self.formula(f).power(*power),
                Formula::Root(f) => self.formula(f).sqrt(),
                Formula::Exp(f) => self.formula(f).exp(),
                Formula::Tanh(f) => {
                    let e = (self.formula(f) * (-2.0).into()).exp();
                    (DoubleDouble::from(1.0) - e) / (e + 1.0.into())
                }
            }
        }

        fn power(self, power: f64) -> Self {
            if power.fract() == 0.0 && (0.0..64.0).contains(&power) {
                return (0..power as u32).fold(1.0.into(), |product, _| product * self);
            }
            if self.to_f64() <= 0.0 { 0.0.into() } else { (self.ln() * power.into()).exp() }
        }
    }
}
