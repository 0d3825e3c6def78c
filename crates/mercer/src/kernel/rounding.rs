//! What rounding can do to a kernel value (MATHS.md, M25).

use super::Kernel;
use super::statistic::Pairing;
use crate::points::Points;

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

/// The extent of points, as far as the rounding of kernel values depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extent {
    /// The largest |x|^2.
    pub(crate) square: f64,
    /// The largest squared norm of mapped points whose distances come from products.
    pub(crate) reach: f64,
    /// The least k(x, x) of a kernel that is normalised, relative to the largest value that it can have; 1 if no kernel
    /// with negative eigenvalues is normalised. (For a Mercer kernel errors are relative to the root of k(x, x) k(y, y),
    /// and dividing by it does not make them larger.)
    pub(crate) share: f64,
}

impl Extent {
    /// Of points, with the reach of their rows.
    pub(crate) fn of(kernel: &Kernel, points: &Points<f64>, reach: f64) -> Self {
        let square = points.rows().map(|x| x.iter().map(|v| v * v).sum()).fold(0.0, f64::max);
        let extent = Extent { square, reach, share: 1.0 };
        Extent { share: extent.least_share(kernel, points), ..extent }
    }

    fn least_share(&self, kernel: &Kernel, points: &Points<f64>) -> f64 {
        match kernel {
            Kernel::Leaf(_) => 1.0,
            Kernel::Sum(ks) | Kernel::Product(ks) => ks.iter().map(|k| self.least_share(k, points)).fold(1.0, f64::min),
            Kernel::Scaled(_, k) => self.least_share(k, points),
            Kernel::Normalised(k) if k.is_psd() => 1.0,
            Kernel::Normalised(k) => {
                let largest = Size::of(k, points.d(), self).value.max(f64::MIN_POSITIVE);
                let least = points.rows().map(|x| k.self_value(x)).fold(f64::INFINITY, f64::min);
                (least.max(0.0) / largest).min(self.least_share(k, points))
            }
        }
    }
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

    fn of(kernel: &Kernel, d: usize, extent: &Extent) -> Size {
        let fold = |ks: &[Kernel], start: f64, join: fn(Size, Size) -> Size| {
            ks.iter().map(|k| Size::of(k, d, extent)).fold(Size { value: start, error: 0.0 }, join)
        };
        match kernel {
            Kernel::Leaf(leaf) => leaf.size(d, extent.square),
            Kernel::Sum(terms) => fold(terms, 0.0, |a, b| Size { value: a.value + b.value, error: a.error + b.error }),
            Kernel::Product(factors) => fold(factors, 1.0, |a, b| Size {
                value: a.value * b.value,
                error: a.error * b.value + b.error * a.value,
            }),
            Kernel::Scaled(w, k) => {
                let Size { value, error } = Size::of(k, d, extent);
                Size { value: w * value, error: w * error }
            }
            Kernel::Normalised(k) => {
                // The error of k(x, y), and half of each of those of k(x, x) and k(y, y), over the least k(x, x). Values of a
                // kernel that is no Mercer kernel are not bounded by 1, but by the largest over the least of k.
                let Size { value, error } = Size::of(k, d, extent);
                let relative = if value > 0.0 && value.is_finite() { error.max(value) / value } else { 1.0 };
                let largest = 1.0 / extent.share;
                Size { value: largest, error: relative * largest * (1.0 + largest) }
            }
        }
    }
}

/// The largest number of kernels that a value is a product of: each of them adds its relative error.
fn factors(kernel: &Kernel) -> usize {
    match kernel {
        Kernel::Leaf(_) => 1,
        Kernel::Sum(ks) => ks.iter().map(factors).max().unwrap_or(1),
        Kernel::Product(ks) => ks.iter().map(factors).sum(),
        Kernel::Scaled(_, k) | Kernel::Normalised(k) => factors(k),
    }
}

/// Roundings in a value, in units of eps: those of its function, and those of the sum over dimensions. Matrix products add
/// their terms one after the other, other sums are formed in eight parts.
fn roundings(kernel: &Kernel, d: usize) -> f64 {
    let of_sum = |pairing: Pairing| match pairing {
        Pairing::Dot | Pairing::Tanimoto => d / 2,
        Pairing::SquaredDistance | Pairing::L1 | Pairing::ChiSquared => d / 16,
    };
    let sums = kernel.leaves().into_iter().map(|leaf| of_sum(leaf.statistic().by_tiles().1)).max();
    (8 + sums.unwrap_or(0)) as f64
}

/// How far a computed value of the kernel can be from k(x, y), for points of `d` dimensions with this extent, when the
/// values that are computed are of the size `size`, in arithmetic of spacing `epsilon`. First order.
///
/// With the largest value as the size it is a bound for every entry. With the root of the mean square of the entries, or
/// the mean of k(x, x) if that is larger, n times it is a bound on the Frobenius norm of all errors (M25).
pub(crate) fn entry_error(kernel: &Kernel, d: usize, extent: &Extent, size: f64, epsilon: f64) -> f64 {
    // Finite, so that a bound that overflows refuses components and not the whole model.
    let own = Size::of(kernel, d, extent).error.min(f64::MAX / 1e20);
    let scale = own.max(factors(kernel) as f64 * size);
    epsilon * (roundings(kernel, d) * scale + Products::of(kernel, d).error * extent.reach)
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
    Size::of(kernel, d, &Extent { square, reach: 0.0, share: 1.0 }).value
}

/// Whether values and their errors in f32 stay in range, also those of every part, for points with |x|^2 <= `square`.
pub(crate) fn allows_f32(kernel: &Kernel, d: usize, square: f64) -> bool {
    let Size { value, error } = Size::of(kernel, d, &Extent { square, reach: 0.0, share: 1.0 });
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
