//! Points prepared for the tiles of one kernel.

use std::ops::Range;

use rayon::prelude::*;

use crate::kernel::rounding::{self, Slope};
use crate::kernel::statistic::{Lens, Pairing, dot};
use crate::kernel::{Bound, Kernel, Leaf};
use crate::panels::Panels;
use crate::points::Points;
use crate::real::Real;

/// How squared distances are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DistanceMethod {
    /// Coordinate by coordinate, accurate for all points. Used for few points, where it is cheap.
    Differences,
    /// |x|^2 + |y|^2 - 2 x.y by matrix products, after subtracting a point near the mean. The absolute error is about
    /// eps (|x|^2 + |y|^2). Where that is too large, differences are used ([`View::far_within`]).
    Products,
}

/// From this many values on, threads share the preparation of points.
const MANY: usize = 200_000;
/// The least squared norm of a point in f32 whose products with others keep their digits.
const LEAST_NORM: f64 = 1e-30;
/// Up to this many points, distances are computed by differences.
pub(crate) const FEW: usize = 600;

impl DistanceMethod {
    /// For a Gram matrix of n points, or for new points against n.
    pub(crate) fn of(n: usize) -> Self {
        if n <= FEW { DistanceMethod::Differences } else { DistanceMethod::Products }
    }
}

/// Prepared points: a view for every lens of the kernel's leaves, the plain one first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rows<T = f64> {
    n: usize,
    method: DistanceMethod,
    views: Vec<View<T>>,
}

/// The images of the points under one lens.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View<T> {
    lens: Lens,
    /// The mapped points, if a leaf needs them.
    raw: Option<Points<T>>,
    /// The plain points less the point near the mean, if a leaf needs them. Other lenses need none.
    centred: Option<Points<T>>,
    /// Both of them packed for matrix products, if a leaf needs those.
    raw_panels: Panels<T>,
    centred_panels: Panels<T>,
    /// |x|^2 of the raw points, for ratios of dot products.
    raw_norms: Vec<T>,
    /// |x|^2 of the centred points, for distances by products.
    norms: Vec<T>,
    /// The indices of points so far from the mean that products of two of them are not accurate enough, ascending.
    far: Vec<usize>,
}

/// Which data of a view the leaves of a kernel need.
#[derive(Clone, Copy, Debug, Default)]
struct Needs {
    raw: bool,
    /// Dot products of the raw points. Beside packed ones, `raw` is needed for other statistics only.
    products: bool,
    raw_norms: bool,
    centred: bool,
    /// Squared norms of the centred points.
    distances: bool,
}

impl Needs {
    /// The needs of all leaves with this lens.
    fn of(kernel: &Kernel, lens: &Lens, method: DistanceMethod, f32: bool) -> Needs {
        let mut needs = Needs::default();
        for leaf in kernel.leaves() {
            let (own, pairing) = leaf.statistic().by_tiles();
            if own != *lens {
                continue;
            }
            let smooth = matches!(leaf.slope(), Slope::At(_));
            match pairing {
                Pairing::Dot => needs.products = true,
                Pairing::Tanimoto => (needs.products, needs.raw_norms) = (true, true),
                Pairing::ChiSquared => needs.raw = true,
                Pairing::SquaredDistance if smooth && method == DistanceMethod::Products => needs.distances = true,
                // In f32, differences are of points less the middle point, which have more digits.
                Pairing::SquaredDistance | Pairing::L1 if f32 => needs.centred = true,
                Pairing::SquaredDistance | Pairing::L1 => needs.raw = true,
            }
        }
        needs
    }
}

impl Rows {
    pub(crate) fn new(bound: &Bound, points: Points<f64>, method: DistanceMethod) -> Self {
        let (n, kernel) = (points.n(), bound.kernel());
        let mut views = Vec::new();
        for lens in lenses(kernel).into_iter().skip(1) {
            let needs = Needs::of(kernel, &lens, method, false);
            let mapped = mapped(&lens, &points, bound.shift());
            let mut view = View::new(lens, Some(mapped));
            // The norms bound the error of mapped points for both ways of computing distances, so they are always computed.
            if needs.distances || matches!(view.lens, Lens::Scaled(_) | Lens::Circle(_)) {
                view.measure(bound);
            }
            view.pack(needs, false);
            views.push(view);
        }
        let needs = Needs::of(kernel, &Lens::Plain, method, false);
        let mut plain = View::new(Lens::Plain, Some(points));
        if needs.distances || bound.has_linear_term() {
            plain.centred = Some(less(plain.raw(), bound.shift()));
        }
        if needs.distances {
            plain.measure(bound);
        }
        if needs.raw_norms {
            plain.raw_norms = plain.raw().rows().map(|x| dot(x, x)).collect();
        }
        plain.pack(needs, bound.has_linear_term());
        views.insert(0, plain);
        Rows { n, method, views }
    }

    /// The points as they were given.
    pub(crate) fn points(&self) -> &Points<f64> {
        self.views[0].raw()
    }

    /// The same points in f32, always after subtracting the middle point.
    pub(crate) fn to_f32(&self, bound: &Bound) -> Rows<f32> {
        let kernel = bound.kernel();
        let views = self.views.iter().map(|view| {
            let needs = Needs::of(kernel, &view.lens, DistanceMethod::Products, true);
            let plain = view.lens == Lens::Plain;
            let raw = !plain || needs.raw || has_normalised(kernel);
            let mut out = View::new(view.lens.clone(), (raw || needs.products).then(|| rounded(view.raw())));
            if plain && (needs.centred || needs.distances || bound.has_linear_term()) {
                out.centred = Some(less(view.raw(), bound.shift()));
            }
            if needs.distances {
                out.measure(bound);
            }
            if needs.raw_norms {
                let norms: Vec<f64> = view.raw().rows().map(|x| dot(x, x)).collect();
                // Norms too small for f32 would make different points equal. Then all points count as far.
                if norms.iter().any(|v| *v > 0.0 && *v < LEAST_NORM) {
                    out.far = (0..norms.len()).collect();
                }
                out.raw_norms = norms.into_iter().map(|v| v as f32).collect();
            }
            out.pack(needs, plain && bound.has_linear_term());
            out.raw = out.raw.filter(|_| raw);
            out
        });
        Rows { n: self.n, method: DistanceMethod::Products, views: views.collect() }
    }
}

impl<T: Real> Rows<T> {
    pub(crate) fn n(&self) -> usize {
        self.n
    }

    pub(crate) fn method(&self) -> DistanceMethod {
        self.method
    }

    /// The view of a lens.
    pub(super) fn view(&self, lens: &Lens) -> &View<T> {
        self.views.iter().find(|view| view.lens == *lens).expect("a view for every leaf of the kernel")
    }

    /// The view of the plain points.
    pub(super) fn plain(&self) -> &View<T> {
        &self.views[0]
    }

    /// The share of points for which products are not accurate enough.
    pub(crate) fn far_share(&self) -> f64 {
        let most = self.views.iter().map(|view| view.far.len()).max().unwrap_or(0);
        most as f64 / self.n.max(1) as f64
    }

    /// The largest squared norm of a point for which products are used, or 0 without products. Mapped points are rounded, so
    /// they always count.
    pub(crate) fn reach(&self) -> f64 {
        self.views.iter().map(View::reach).fold(0.0, f64::max)
    }
}

impl<T: Real> View<T> {
    fn new(lens: Lens, raw: Option<Points<T>>) -> Self {
        View {
            lens,
            raw,
            centred: None,
            raw_panels: Panels::default(),
            centred_panels: Panels::default(),
            raw_norms: Vec::new(),
            norms: Vec::new(),
            far: Vec::new(),
        }
    }

    /// Packs the points that are multiplied; those of a linear term both ways. What is needed for nothing else is dropped.
    fn pack(&mut self, needs: Needs, linear: bool) {
        if needs.products {
            self.raw_panels = Panels::of_points(self.raw().view());
        }
        if needs.distances || linear {
            self.centred_panels = Panels::of_points(self.centred().view());
        }
        if T::EPSILON == f64::EPSILON {
            self.centred = None;
        }
    }

    pub(super) fn raw_panels(&self) -> &Panels<T> {
        &self.raw_panels
    }

    pub(super) fn centred_panels(&self) -> &Panels<T> {
        &self.centred_panels
    }

    pub(super) fn raw(&self) -> &Points<T> {
        self.raw.as_ref().expect("kept for kernels that need the points as they are")
    }

    pub(super) fn centred(&self) -> &Points<T> {
        match &self.centred {
            Some(points) => points,
            None => {
                debug_assert!(self.lens != Lens::Plain, "kept for kernels that need the points from the middle");
                self.raw()
            }
        }
    }

    pub(super) fn raw_norms(&self) -> &[T] {
        &self.raw_norms
    }

    pub(super) fn norms(&self) -> &[T] {
        &self.norms
    }

    /// The points whose differences are taken: in f64 the mapped points, in f32 those less the middle point.
    pub(super) fn for_differences(&self, pairing: Pairing) -> &Points<T> {
        let raw = T::EPSILON == f64::EPSILON || pairing == Pairing::ChiSquared;
        if raw { self.raw() } else { self.centred() }
    }

    /// The points of a range for which products are not accurate enough.
    pub(super) fn far_within(&self, range: &Range<usize>) -> impl Iterator<Item = usize> + use<'_, T> {
        let (first, last) =
            (self.far.partition_point(|i| *i < range.start), self.far.partition_point(|i| *i < range.end));
        self.far[first..last].iter().copied()
    }

    fn reach(&self) -> f64 {
        let mut far = self.far.iter().peekable();
        let near = self.norms.iter().enumerate();
        // Distances of far points are computed by differences, which are exact for plain points only.
        let near = near.filter(|(i, _)| self.lens != Lens::Plain || far.next_if(|f| **f == *i).is_none());
        near.fold(0.0, |m, (_, v)| m.max(v.to_f64()))
    }

    fn measure(&mut self, bound: &Bound) {
        let most = rounding::most_by_products(bound.kernel(), bound.d(), T::EPSILON);
        let points = self.centred();
        let square = |i: usize| points.row(i).iter().map(|v| v.to_f64() * v.to_f64()).sum();
        let norms: Vec<f64> = match points.as_slice().len() < MANY {
            true => (0..points.n()).map(square).collect(),
            false => (0..points.n()).into_par_iter().map(square).collect(),
        };
        self.far = (0..norms.len()).filter(|i| norms[*i] > most || norms[*i].is_nan()).collect();
        self.norms = norms.into_iter().map(T::from_f64).collect();
    }
}

/// The lenses of all leaves, each once, the plain one first.
fn lenses(kernel: &Kernel) -> Vec<Lens> {
    let mut found = vec![Lens::Plain];
    for lens in kernel.leaves().into_iter().map(|leaf: &Leaf| leaf.statistic().by_tiles().0) {
        if !found.contains(&lens) {
            found.push(lens);
        }
    }
    found
}

/// The memory of prepared points in f64 and in f32, as a number of f64 values of each point.
pub(crate) fn prepared_values(kernel: &Kernel, d: usize) -> usize {
    let linear = kernel.leaves().iter().any(|leaf| matches!(leaf, Leaf::Linear(_)));
    let of_lens = |lens: &Lens| {
        let needs = Needs::of(kernel, lens, DistanceMethod::Products, true);
        let plain = *lens == Lens::Plain;
        let packed = usize::from(needs.products) + usize::from(needs.distances || (plain && linear));
        let centred = usize::from(plain && (needs.centred || needs.distances || linear));
        let raw = usize::from(!plain || needs.raw || has_normalised(kernel));
        // In halves: all of f64, which has the points themselves, and those of f32.
        lens.dimensions(d).saturating_mul(2 * (1 + packed) + raw + centred + packed)
    };
    lenses(kernel).iter().fold(0usize, |sum, lens| sum.saturating_add(of_lens(lens))).div_ceil(2)
}

/// Whether values of points with themselves are needed.
fn has_normalised(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Leaf(_) => false,
        Kernel::Sum(ks) | Kernel::Product(ks) => ks.iter().any(has_normalised),
        Kernel::Scaled(_, k) => has_normalised(k),
        Kernel::Normalised(_) => true,
    }
}

fn mapped(lens: &Lens, points: &Points<f64>, middle: &[f64]) -> Points<f64> {
    let d = lens.dimensions(points.d());
    let mut out = Vec::with_capacity(points.n() * d);
    points.rows().for_each(|row| lens.map(row, middle, &mut out));
    Points::new(out, points.n(), d).expect("as many values")
}

fn rounded(points: &Points<f64>) -> Points<f32> {
    let values = points.as_slice().iter().map(|v| *v as f32).collect();
    Points::new(values, points.n(), points.d()).expect("as many values")
}

/// The points less `middle`; the difference is rounded once.
fn less<T: Real>(points: &Points<f64>, middle: &[f64]) -> Points<T> {
    let d = points.d().max(1);
    let mut out = vec![T::ZERO; points.as_slice().len()];
    let subtract = |(out, row): (&mut [T], &[f64])| {
        out.iter_mut().zip(row).zip(middle).for_each(|((out, v), m)| *out = T::from_f64(v - m));
    };
    match out.len() < MANY {
        true => out.chunks_exact_mut(d).zip(points.as_slice().chunks_exact(d)).for_each(subtract),
        false => {
            out.par_chunks_exact_mut(d).zip(points.as_slice().par_chunks_exact(d)).with_min_len(64).for_each(subtract);
        }
    }
    Points::new(out, points.n(), points.d()).expect("as many values")
}
