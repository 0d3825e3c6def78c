//! Tiles: rectangles of kernel values, the unit of all work on Gram matrices.
//!
//! In pseudo-code, for the rows I of one set of points and the rows J of another:
//!
//! ```text
//! for each leaf of the kernel:  S = statistic(I, J);  V = profile(S)
//! sums, products, weights and normalisation combine the V of their parts
//! ```
//!
//! An entry depends on its two points alone: neither on the tile it stands in nor on the thread that computes it.

use std::ops::Range;

use super::bind::Bound;
use super::statistic::Statistic;
use super::{Kernel, normalise, statistic};
use crate::points::Points;

/// Rows and columns of a tile: two tiles and their points stay in cache.
pub(crate) const TILE: usize = 64;

/// What is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// k(x, y).
    Value,
    /// k(x, y) + a(x) + a(y) + c for some function a and number c, which centring removes (MATHS.md, M6):
    /// linear terms measured from the mean, distance kernels less their value at distance 0.
    UpToCentring,
}

/// Points made ready for tiles of one kernel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rows {
    points: Points<f64>,
    /// The points less the shift, where the kernel has linear terms.
    shifted: Option<Points<f64>>,
}

impl Rows {
    pub(crate) fn new(bound: &Bound, points: Points<f64>) -> Self {
        let shifted =
            bound.shift().map(|shift| Points::from_fn(points.n(), points.d(), |i, j| points.row(i)[j] - shift[j]));
        Rows { points, shifted }
    }

    pub(crate) fn points(&self) -> &Points<f64> {
        &self.points
    }

    pub(crate) fn n(&self) -> usize {
        self.points.n()
    }
}

/// The constant that a kernel is near to where points are near: what [`Form::UpToCentring`] leaves out.
pub(crate) fn origin(kernel: &Kernel) -> f64 {
    match kernel {
        Kernel::Sum(ks) => ks.iter().map(origin).sum(),
        Kernel::Product(ks) => ks.iter().map(origin).product(),
        Kernel::Scaled(w, k) => w * origin(k),
        Kernel::Normalised(_) | Kernel::Cosine => 0.0,
        leaf => leaf.profile().map_or(0.0, |(_, p)| p.origin()),
    }
}

/// Fills `out`, row by row, with the values for `rows` of `a` against `cols` of `b`.
pub(crate) fn fill(
    bound: &Bound,
    form: Form,
    (a, rows): (&Rows, Range<usize>),
    (b, cols): (&Rows, Range<usize>),
    out: &mut [f64],
) {
    debug_assert_eq!(out.len(), rows.len() * cols.len());
    let tile = Tile { a, rows, b, cols, form, deviation: form == Form::UpToCentring && bound.uses_deviations() };
    tile.fill(bound.kernel(), true, out);
}

/// The value for one point and itself, in the same form as [`fill`].
pub(crate) fn self_value(bound: &Bound, form: Form, a: &Rows, i: usize) -> f64 {
    let mut out = [0.0];
    fill(bound, form, (a, i..i + 1), (a, i..i + 1), &mut out);
    out[0]
}

struct Tile<'a> {
    a: &'a Rows,
    rows: Range<usize>,
    b: &'a Rows,
    cols: Range<usize>,
    form: Form,
    deviation: bool,
}

impl Tile<'_> {
    /// `additive`: nothing but sums and weights stand between this kernel and the whole.
    fn fill(&self, kernel: &Kernel, additive: bool, out: &mut [f64]) {
        match kernel {
            Kernel::Scaled(w, k) => {
                self.fill(k, additive, out);
                out.iter_mut().for_each(|v| *v *= w);
            }
            Kernel::Sum(terms) => self.combine(terms, additive, out, |_, sum, _, term| sum + term),
            // (c + u)(c' + v) = c c' + (u v + c v + c' u)
            Kernel::Product(factors) => self.combine(factors, false, out, |c, u, c2, v| u * v + c * v + c2 * u),
            Kernel::Normalised(k) => {
                self.fill(k, false, out);
                let c = self.origin(k);
                out.iter_mut().for_each(|v| *v += c);
                self.normalise(out, |x| k.self_value(x));
            }
            Kernel::Cosine => {
                self.statistic(Statistic::Dot, false, out);
                self.normalise(out, |x| statistic::dot(x, x));
            }
            Kernel::Linear => self.statistic(Statistic::Dot, additive && self.form == Form::UpToCentring, out),
            leaf => {
                let (statistic, profile) = leaf.profile().expect("bound kernels have numbers");
                self.statistic(statistic, false, out);
                if self.deviation {
                    out.iter_mut().for_each(|v| *v = profile.deviation(*v));
                } else {
                    out.iter_mut().for_each(|v| *v = profile.value(*v));
                }
            }
        }
    }

    /// Folds the parts into `out` by f(origin so far, value so far, origin of the part, value of the part).
    fn combine(&self, parts: &[Kernel], additive: bool, out: &mut [f64], f: fn(f64, f64, f64, f64) -> f64) {
        let Some((first, others)) = parts.split_first() else {
            return;
        };
        self.fill(first, additive, out);
        let mut c = self.origin(first);
        let mut part = vec![0.0; out.len()];
        for k in others {
            self.fill(k, additive, &mut part);
            let c2 = self.origin(k);
            for (v, p) in out.iter_mut().zip(&part) {
                *v = f(c, *v, c2, *p);
            }
            c *= c2;
        }
    }

    fn origin(&self, kernel: &Kernel) -> f64 {
        if self.deviation { origin(kernel) } else { 0.0 }
    }

    fn normalise(&self, out: &mut [f64], self_value: impl Fn(&[f64]) -> f64) {
        let own =
            |rows: &Rows, range: Range<usize>| -> Vec<f64> { range.map(|i| self_value(rows.points.row(i))).collect() };
        let (row_values, col_values) = (own(self.a, self.rows.clone()), own(self.b, self.cols.clone()));
        for (line, kx) in out.chunks_exact_mut(self.cols.len()).zip(row_values) {
            for (v, ky) in line.iter_mut().zip(&col_values) {
                *v = normalise(*v, kx, *ky);
            }
        }
    }

    fn statistic(&self, statistic: Statistic, from_shift: bool, out: &mut [f64]) {
        let (a, b) = (source(self.a, from_shift), source(self.b, from_shift));
        for (line, i) in out.chunks_exact_mut(self.cols.len()).zip(self.rows.clone()) {
            let x = a.row(i);
            for (v, j) in line.iter_mut().zip(self.cols.clone()) {
                *v = statistic.of(x, b.row(j));
            }
        }
    }
}

fn source(rows: &Rows, from_shift: bool) -> &Points<f64> {
    match &rows.shifted {
        Some(shifted) if from_shift => shifted,
        _ => &rows.points,
    }
}
