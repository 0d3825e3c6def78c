//! What rounding can do to a kernel value.

use super::Kernel;

/// How far a computed value of the kernel can be from k(x, y), for points of `d` dimensions with |x|^2 <= `square`,
/// when the values that are computed are at most `largest`. First order, with generous constants.
pub(crate) fn entry_error(kernel: &Kernel, d: usize, square: f64, largest: f64) -> f64 {
    // Finite, so that a bound that overflows refuses components and not the whole model.
    let scale = Size::of(kernel, square).error.min(f64::MAX / 1e20).max(largest);
    f64::EPSILON * (8 + d / 8) as f64 * scale
}

/// A bound on the value, and on its error in units of the rounding of a sum over dimensions, beyond what the largest
/// value itself explains: powers multiply the relative error of their base, and a constant may cancel the dot product
/// that it is added to.
struct Size {
    value: f64,
    error: f64,
}

impl Size {
    fn of(kernel: &Kernel, square: f64) -> Size {
        match kernel {
            Kernel::Linear => Size { value: square, error: 0.0 },
            Kernel::Polynomial { gamma, coef0, degree } => {
                let base = gamma.number().unwrap_or(1.0) * square + coef0.abs();
                let value = base.powf(f64::from(*degree));
                Size { value, error: f64::from(*degree) * value }
            }
            Kernel::Sigmoid { gamma, coef0 } => {
                Size { value: 1.0, error: gamma.number().unwrap_or(1.0) * square + coef0.abs() }
            }
            Kernel::Sum(terms) => {
                terms.iter().map(|k| Size::of(k, square)).fold(Size { value: 0.0, error: 0.0 }, |sum, term| Size {
                    value: sum.value + term.value,
                    error: sum.error + term.error,
                })
            }
            Kernel::Product(factors) => {
                factors.iter().map(|k| Size::of(k, square)).fold(Size { value: 1.0, error: 0.0 }, |a, b| Size {
                    value: a.value * b.value,
                    error: a.error * b.value + b.error * a.value,
                })
            }
            Kernel::Scaled(w, k) => {
                let Size { value, error } = Size::of(k, square);
                Size { value: w * value, error: w * error }
            }
            Kernel::Normalised(k) => {
                let Size { value, error } = Size::of(k, square);
                Size { value: 1.0, error: if value > 0.0 && value.is_finite() { error / value } else { 0.0 } }
            }
            // Functions of a distance fall by at most 1 while the distance doubles: they add no error of their own.
            _ => Size { value: 1.0, error: 0.0 },
        }
    }
}
