//! Points made ready for the tiles of one kernel.

use std::ops::Range;

use crate::kernel::rounding;
use crate::kernel::{Bound, Kernel};
use crate::points::Points;
use crate::real::Real;

/// How squared distances are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// Coordinate by coordinate: all digits, whatever the points. For few points, where it costs next to nothing.
    Differences,
    /// |x|^2 + |y|^2 - 2 x.y about a point in the middle, by matrix products: an absolute error of about
    /// eps (|x|^2 + |y|^2), which is kept below what matters ([`Rows::far_within`]).
    Products,
}

/// Up to this many points, distances are computed by differences.
pub(crate) const FEW: usize = 600;

impl Means {
    /// For a Gram matrix of n points, or for new points against n.
    pub(crate) fn of(n: usize) -> Self {
        if n <= FEW { Means::Differences } else { Means::Products }
    }
}

/// Points made ready.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rows<T = f64> {
    n: usize,
    means: Means,
    /// The points as they are, where the kernel looks at them so.
    raw: Option<Points<T>>,
    /// The points less the point in the middle, where the kernel looks at them so.
    centred: Option<Points<T>>,
    /// |x|^2 of the centred points, for distances by products.
    norms: Vec<T>,
    /// Points so far out that products of two of them are not good enough, ascending.
    far: Vec<usize>,
}

impl Rows {
    pub(crate) fn new(bound: &Bound, points: Points<f64>, means: Means) -> Self {
        let mut rows =
            Rows { n: points.n(), means, raw: Some(points), centred: None, norms: Vec::new(), far: Vec::new() };
        let distances = means == Means::Products && uses(bound.kernel(), &|k| smooth_distance(k));
        if distances || bound.has_linear_term() {
            rows.centred = Some(rows.less(bound.shift()));
        }
        if distances {
            rows.measure(bound);
        }
        rows
    }

    /// The points as they were given.
    pub(crate) fn points(&self) -> &Points<f64> {
        self.raw()
    }

    /// The same points in f32, always by way of the point in the middle.
    pub(crate) fn narrow(&self, bound: &Bound) -> Rows<f32> {
        let raw = uses(bound.kernel(), &|k| looks_at_raw(k)).then(|| {
            let values = self.raw().as_slice().iter().map(|v| *v as f32).collect();
            Points::new(values, self.n, self.raw().d()).expect("as many values")
        });
        let mut rows =
            Rows { n: self.n, means: Means::Products, raw, centred: None, norms: Vec::new(), far: Vec::new() };
        rows.centred = Some(self.less(bound.shift()));
        rows.measure(bound);
        rows
    }

    /// The points less `middle`; the difference is rounded once.
    fn less<T: Real>(&self, middle: &[f64]) -> Points<T> {
        let points = self.raw();
        let mut out = Vec::with_capacity(self.n * points.d());
        for row in points.rows() {
            out.extend(row.iter().zip(middle).map(|(v, m)| T::from_f64(v - m)));
        }
        Points::new(out, self.n, points.d()).expect("as many values")
    }
}

impl<T: Real> Rows<T> {
    pub(crate) fn n(&self) -> usize {
        self.n
    }

    pub(crate) fn means(&self) -> Means {
        self.means
    }

    pub(super) fn raw(&self) -> &Points<T> {
        self.raw.as_ref().expect("kept for kernels that look at the points as they are")
    }

    pub(super) fn centred(&self) -> &Points<T> {
        self.centred.as_ref().expect("kept for kernels that look at the points from the middle")
    }

    pub(super) fn norms(&self) -> &[T] {
        &self.norms
    }

    /// The points whose differences are taken: f64 ones as they are, f32 ones from the middle.
    pub(super) fn for_differences(&self) -> &Points<T> {
        if T::EPSILON == f64::EPSILON { self.raw() } else { self.centred() }
    }

    /// Points of a range of which no two may be compared by products.
    pub(super) fn far_within(&self, range: &Range<usize>) -> impl Iterator<Item = usize> + use<'_, T> {
        let (first, last) =
            (self.far.partition_point(|i| *i < range.start), self.far.partition_point(|i| *i < range.end));
        self.far[first..last].iter().copied()
    }

    /// The share of points that products are not good enough for.
    pub(crate) fn far_share(&self) -> f64 {
        self.far.len() as f64 / self.n.max(1) as f64
    }

    /// The largest squared norm of a point that products are used for, 0 where they are not.
    pub(crate) fn reach(&self) -> f64 {
        let mut far = self.far.iter().peekable();
        let near = self.norms.iter().enumerate().filter(|(i, _)| far.next_if(|f| **f == *i).is_none());
        near.fold(0.0, |m, (_, v)| m.max(v.to_f64()))
    }

    fn measure(&mut self, bound: &Bound) {
        let most = rounding::most_by_products(bound.kernel(), bound.d(), T::EPSILON);
        for (i, row) in self.centred.iter().flat_map(|p| (0..p.n()).map(|i| p.row(i))).enumerate() {
            let norm = row.iter().map(|v| v.to_f64() * v.to_f64()).sum::<f64>();
            self.norms.push(T::from_f64(norm));
            if norm > most || norm.is_nan() {
                self.far.push(i);
            }
        }
    }
}

/// Whether any leaf is so.
fn uses(kernel: &Kernel, leaf: &dyn Fn(&Kernel) -> bool) -> bool {
    match kernel {
        Kernel::Sum(ks) | Kernel::Product(ks) => ks.iter().any(|k| uses(k, leaf)),
        Kernel::Scaled(_, k) => uses(k, leaf),
        Kernel::Normalised(k) => leaf(kernel) || uses(k, leaf),
        k => leaf(k),
    }
}

fn smooth_distance(leaf: &Kernel) -> bool {
    use crate::kernel::statistic::Statistic;
    leaf.profile().is_some_and(|(s, p)| s == Statistic::SquaredDistance && p.is_smooth())
}

fn looks_at_raw(leaf: &Kernel) -> bool {
    use crate::kernel::statistic::Statistic;
    matches!(leaf, Kernel::Cosine | Kernel::Normalised(_)) || leaf.profile().is_some_and(|(s, _)| s == Statistic::Dot)
}
