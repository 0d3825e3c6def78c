//! What rounding can do to a kernel value.

use super::{Kernel, Nu};

/// How far a computed value of the kernel can be from k(x, y), for points of `d` dimensions with |x|^2 <= `square`,
/// when the values that are computed are at most `largest`, in arithmetic of spacing `epsilon`. Where distances come
/// from products of points about their middle, `reach` is the largest squared norm there. First order.
pub(crate) fn entry_error(kernel: &Kernel, d: usize, square: f64, reach: f64, largest: f64, epsilon: f64) -> f64 {
    // Finite, so that a bound that overflows refuses components and not the whole model.
    let scale = Size::of(kernel, square).error.min(f64::MAX / 1e20).max(largest);
    epsilon * ((8 + d / 2) as f64 * scale + products(kernel, d) * reach)
}

/// Distances by products have an error of up to this times eps times the larger squared norm, as seen in the value of
/// the kernel: two norms and a dot product of d terms each, and the slope of the profile.
fn products(kernel: &Kernel, d: usize) -> f64 {
    (2 * d + 8) as f64 * Slope::of(kernel).slope
}

/// The largest squared norm for which distances by products are used: beyond, two points that are near to each other
/// would be seen too far apart or too near by a thousandth in f32, or by 4e-12 in f64.
pub(crate) fn most_by_products(kernel: &Kernel, d: usize, epsilon: f64) -> f64 {
    let Slope { value, .. } = Slope::of(kernel);
    let allowed = if epsilon > f64::EPSILON { 1e-3 } else { 4e-12 };
    match products(kernel, d) {
        0.0 => f64::INFINITY,
        slope => allowed * value / (slope * epsilon),
    }
}

/// A bound on |k(x, y)| for points with |x|^2 <= `square`.
pub(crate) fn largest_value(kernel: &Kernel, square: f64) -> f64 {
    Size::of(kernel, square).value
}

/// Whether values and their errors in f32 stay in range, also those of every part, for points with |x|^2 <= `square`.
pub(crate) fn allows_narrow(kernel: &Kernel, square: f64) -> bool {
    let Size { value, error } = Size::of(kernel, square);
    let in_range = |v: f64| v == 0.0 || (1e-25..1e25).contains(&v);
    let parts = match kernel {
        Kernel::Sum(ks) | Kernel::Product(ks) => ks.iter().all(|k| allows_narrow(k, square)),
        Kernel::Scaled(_, k) | Kernel::Normalised(k) => allows_narrow(k, square),
        _ => true,
    };
    parts && in_range(square) && in_range(value) && error <= 1e3 * value
}

/// A bound on the value of the part of a kernel that depends on squared distances, and on its slope in them.
struct Slope {
    value: f64,
    slope: f64,
}

impl Slope {
    fn of(kernel: &Kernel) -> Slope {
        let flat = |value| Slope { value, slope: 0.0 };
        match kernel {
            Kernel::Gaussian { gamma } => Slope { value: 1.0, slope: gamma.number().unwrap_or(1.0) },
            Kernel::Matern { nu, length } => {
                let over = length.number().unwrap_or(1.0).powi(-2);
                Slope {
                    value: 1.0,
                    slope: match nu {
                        Nu::Half => 0.0, // by differences
                        Nu::ThreeHalves => 1.5 * over,
                        Nu::FiveHalves => 5.0 / 6.0 * over,
                    },
                }
            }
            Kernel::RationalQuadratic { length, .. } => {
                Slope { value: 1.0, slope: 0.5 * length.number().unwrap_or(1.0).powi(-2) }
            }
            Kernel::Sum(terms) => terms
                .iter()
                .map(Slope::of)
                .fold(flat(0.0), |sum, term| Slope { value: sum.value + term.value, slope: sum.slope + term.slope }),
            Kernel::Product(factors) => factors.iter().map(Slope::of).fold(flat(1.0), |a, b| Slope {
                value: a.value * b.value,
                slope: a.slope * b.value + b.slope * a.value,
            }),
            Kernel::Scaled(w, k) => {
                let Slope { value, slope } = Slope::of(k);
                Slope { value: w * value, slope: w * slope }
            }
            Kernel::Normalised(k) => {
                let Slope { value, slope } = Slope::of(k);
                Slope { value: 1.0, slope: if value > 0.0 { slope / value } else { 0.0 } }
            }
            _ => flat(1.0),
        }
    }
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
