//! What rounding can do to a kernel value (MATHS.md, M13).

use super::Kernel;

/// A bound on the derivative of a kernel in the squared distance of points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Slope {
    /// The kernel is no function of a squared distance.
    Unused,
    /// There is no bound near distance 0: distances are computed coordinate by coordinate. `lipschitz`: the kernel
    /// changes by at most as much as the distance itself, so that rounded points do no harm.
    NotSmooth { lipschitz: bool },
    /// This bound.
    At(f64),
}

/// A bound on the value, and on its error in units of the rounding of a sum over dimensions, beyond what the largest
/// value itself explains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size {
    pub(crate) value: f64,
    pub(crate) error: f64,
}

impl Size {
    /// Functions of a distance fall by at most 1 while the distance doubles: they add no error of their own.
    pub(crate) const OF_DISTANCE: Size = Size { value: 1.0, error: 0.0 };

    fn of(kernel: &Kernel, d: usize, square: f64) -> Size {
        let fold = |ks: &[Kernel], start: f64, join: fn(Size, Size) -> Size| {
            ks.iter().map(|k| Size::of(k, d, square)).fold(Size { value: start, error: 0.0 }, join)
        };
        match kernel {
            Kernel::Leaf(leaf) => leaf.size(d, square),
            Kernel::Sum(terms) => fold(terms, 0.0, |a, b| Size { value: a.value + b.value, error: a.error + b.error }),
            Kernel::Product(factors) => fold(factors, 1.0, |a, b| Size {
                value: a.value * b.value,
                error: a.error * b.value + b.error * a.value,
            }),
            Kernel::Scaled(w, k) => {
                let Size { value, error } = Size::of(k, d, square);
                Size { value: w * value, error: w * error }
            }
            Kernel::Normalised(k) => {
                let Size { value, error } = Size::of(k, d, square);
                Size { value: 1.0, error: if value > 0.0 && value.is_finite() { error / value } else { 0.0 } }
            }
        }
    }
}

/// How far a computed value of the kernel can be from k(x, y), for points of `d` dimensions with |x|^2 <= `square`,
/// when the values that are computed are at most `largest`, in arithmetic of spacing `epsilon`. Where distances come
/// from products of mapped points, `reach` is the largest squared norm of these. First order.
pub(crate) fn entry_error(kernel: &Kernel, d: usize, square: f64, reach: f64, largest: f64, epsilon: f64) -> f64 {
    // Finite, so that a bound that overflows refuses components and not the whole model.
    let scale = Size::of(kernel, d, square).error.min(f64::MAX / 1e20).max(largest);
    epsilon * ((8 + d / 2) as f64 * scale + Products::of(kernel, d).error * reach)
}

/// The largest squared norm for which distances by products are used: beyond, two points that are near to each other
/// would be seen too far apart or too near by a thousandth in f32, or by 4e-12 in f64.
pub(crate) fn most_by_products(kernel: &Kernel, d: usize, epsilon: f64) -> f64 {
    let Products { value, error } = Products::of(kernel, d);
    let allowed = if epsilon > f64::EPSILON { 1e-3 } else { 4e-12 };
    if error == 0.0 { f64::INFINITY } else { allowed * value / (error * epsilon) }
}

/// A bound on |k(x, y)| for points of `d` dimensions with |x|^2 <= `square`.
pub(crate) fn largest_value(kernel: &Kernel, d: usize, square: f64) -> f64 {
    Size::of(kernel, d, square).value
}

/// Whether values and their errors in f32 stay in range, also those of every part, for points with |x|^2 <= `square`.
pub(crate) fn allows_f32(kernel: &Kernel, d: usize, square: f64) -> bool {
    let Size { value, error } = Size::of(kernel, d, square);
    let in_range = |v: f64| v == 0.0 || (1e-25..1e25).contains(&v);
    let parts = match kernel {
        Kernel::Sum(ks) | Kernel::Product(ks) => ks.iter().all(|k| allows_f32(k, d, square)),
        Kernel::Scaled(_, k) | Kernel::Normalised(k) => allows_f32(k, d, square),
        Kernel::Leaf(leaf) => leaf.slope() != (Slope::NotSmooth { lipschitz: false }),
    };
    parts && in_range(square) && in_range(value) && error <= 1e3 * value
}

/// A bound on the part of a kernel that depends on squared distances, and on the error that distances by products cause
/// in it, in units of eps times the larger squared norm: two norms and a dot product of d terms each, the rounding of the
/// mapped points, and the slope of the kernel.
struct Products {
    value: f64,
    error: f64,
}

impl Products {
    fn of(kernel: &Kernel, d: usize) -> Products {
        let fold = |ks: &[Kernel], start: f64, join: fn(Products, Products) -> Products| {
            ks.iter().map(|k| Products::of(k, d)).fold(Products { value: start, error: 0.0 }, join)
        };
        match kernel {
            Kernel::Leaf(leaf) => {
                let (lens, _) = leaf.statistic().by_tiles();
                let of_distance = (2 * lens.dimensions(d) + 8) as f64 + lens.error();
                let error = match leaf.slope() {
                    Slope::Unused | Slope::NotSmooth { .. } => 0.0,
                    Slope::At(slope) => of_distance * slope,
                };
                Products { value: 1.0, error }
            }
            Kernel::Sum(terms) => {
                fold(terms, 0.0, |a, b| Products { value: a.value + b.value, error: a.error + b.error })
            }
            Kernel::Product(factors) => fold(factors, 1.0, |a, b| Products {
                value: a.value * b.value,
                error: a.error * b.value + b.error * a.value,
            }),
            Kernel::Scaled(w, k) => {
                let Products { value, error } = Products::of(k, d);
                Products { value: w * value, error: w * error }
            }
            Kernel::Normalised(k) => {
                let Products { value, error } = Products::of(k, d);
                Products { value: 1.0, error: if value > 0.0 { error / value } else { 0.0 } }
            }
        }
    }
}
