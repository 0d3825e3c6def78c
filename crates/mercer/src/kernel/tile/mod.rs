//! Tiles: rectangles of kernel values, the unit of all work on Gram matrices.
//!
//! In pseudo-code, for the rows I of one set of points and the rows J of another:
//!
//! ```text
//! for each leaf of the kernel:  S = statistic(I, J) by one matrix product;  V = value(S), vector by vector, in cache
//! sums, products, weights and normalisation combine the V of their parts
//! ```
//!
//! An entry depends on its two points and on the shape of its tile, never on the thread that computes it.

pub(crate) mod apply;
mod direct;
mod rows;

use std::ops::Range;

use fearless_simd::Level;

use super::bind::Bound;
use super::rounding::Slope;
use super::statistic::Pairing;
use super::{Kernel, Leaf, normalise};
use crate::panels::{self, Panels};
use crate::real::Real;
use apply::Raw;
use direct::Distance;
pub(crate) use rows::{DistanceMethod, Rows, prepared_values};

/// Rows and columns of a tile of few points: there are many tiles for the threads.
pub(crate) const TILE: usize = 48;
/// Rows and columns of a tile of a few thousand points.
pub(crate) const MIDDLE_TILE: usize = 96;
/// Rows and columns of a tile of many points: it stays in cache with its points, and its matrix product is efficient.
pub(crate) const LARGE_TILE: usize = 192;

/// Which values a tile has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// k(x, y).
    Value,
    /// k(x, y) + a(x) + a(y) + c for some function a and number c, which centring removes (MATHS.md, M6):
    /// linear terms measured from the mean, distance kernels less their value at distance 0.
    UpToCentring,
}

/// The value of a kernel at distance 0, which [`Form::UpToCentring`] subtracts.
pub(crate) fn origin(kernel: &Kernel) -> f64 {
    match kernel {
        Kernel::Sum(ks) => ks.iter().map(origin).sum(),
        Kernel::Product(ks) => ks.iter().map(origin).product(),
        Kernel::Scaled(w, k) => w * origin(k),
        Kernel::Normalised(_) => 0.0,
        Kernel::Leaf(leaf) => leaf.origin(),
    }
}

/// Buffers for computing tiles, reused from tile to tile.
#[derive(Debug, Default)]
pub(crate) struct Scratch<T>(Vec<Vec<T>>);

impl<T: Real> Scratch<T> {
    pub(crate) fn new() -> Self {
        Scratch(Vec::new())
    }

    fn take(&mut self, len: usize) -> Vec<T> {
        let mut buffer = self.0.pop().unwrap_or_default();
        buffer.resize(len, T::ZERO);
        buffer
    }

    fn give_back(&mut self, buffer: Vec<T>) {
        self.0.push(buffer);
    }
}

/// Fills `out`, row by row, with the values for `rows` of `a` against `cols` of `b`.
pub(crate) fn fill<T: Real>(
    (bound, form, level): (&Bound, Form, Level),
    (a, rows): (&Rows<T>, Range<usize>),
    (b, cols): (&Rows<T>, Range<usize>),
    out: &mut [T],
    scratch: &mut Scratch<T>,
) {
    debug_assert_eq!(out.len(), rows.len() * cols.len());
    if out.is_empty() {
        return;
    }
    let deviation = form == Form::UpToCentring && bound.uses_deviations();
    Tile { level, a, rows, b, cols, form, deviation }.fill(bound.kernel(), true, out, scratch);
}

/// The value for one point and itself, in the same form as [`fill`].
pub(crate) fn self_value(how: (&Bound, Form, Level), a: &Rows, i: usize) -> f64 {
    let mut out = [0.0];
    fill(how, (a, i..i + 1), (a, i..i + 1), &mut out, &mut Scratch::new());
    out[0]
}

struct Tile<'a, T> {
    level: Level,
    a: &'a Rows<T>,
    rows: Range<usize>,
    b: &'a Rows<T>,
    cols: Range<usize>,
    form: Form,
    deviation: bool,
}

impl<T: Real> Tile<'_, T> {
    /// `additive`: whether this kernel is inside sums and weights only.
    fn fill(&self, kernel: &Kernel, additive: bool, out: &mut [T], scratch: &mut Scratch<T>) {
        match kernel {
            Kernel::Scaled(w, k) => {
                self.fill(k, additive, out, scratch);
                let w = T::from_f64(*w);
                out.iter_mut().for_each(|v| *v *= w);
            }
            Kernel::Sum(terms) => self.combine(terms, additive, out, scratch, |_, sum, _, term| sum + term),
            // (c + u)(c' + v) = c c' + (u v + c v + c' u)
            Kernel::Product(factors) => {
                self.combine(factors, false, out, scratch, |c, u, c2, v| u * v + c * v + c2 * u);
            }
            Kernel::Normalised(k) => {
                self.fill(k, false, out, scratch);
                let c = T::from_f64(self.origin(k));
                out.iter_mut().for_each(|v| *v += c);
                self.normalise(out, |x| k.self_value(x));
            }
            Kernel::Leaf(Leaf::Linear(_)) if additive && self.form == Form::UpToCentring => {
                self.products(self.a.plain().centred_panels(), self.b.plain().centred_panels(), out);
            }
            Kernel::Leaf(leaf) => self.leaf(leaf, out, scratch),
        }
    }

    fn leaf(&self, leaf: &Leaf, out: &mut [T], scratch: &mut Scratch<T>) {
        let (lens, pairing) = leaf.statistic().by_tiles();
        let (a, b) = (self.a.view(&lens), self.b.view(&lens));
        let width = self.cols.len();
        let apply = |raw: Raw<'_, T>, out: &mut [T]| leaf.apply(self.level, self.deviation, raw, width, out);
        let Some(distance) = Distance::of(pairing) else {
            self.products(a.raw_panels(), b.raw_panels(), out);
            let raw = match pairing == Pairing::Tanimoto {
                true => {
                    Raw::Ratios { rows: &a.raw_norms()[self.rows.clone()], cols: &b.raw_norms()[self.cols.clone()] }
                }
                false => Raw::Statistic,
            };
            return apply(raw, out);
        };
        let smooth = matches!(leaf.slope(), Slope::At(_));
        let by_products = pairing == Pairing::SquaredDistance && smooth && self.a.method() == DistanceMethod::Products;
        if !by_products {
            let (a, b) = (a.for_differences(pairing), b.for_differences(pairing));
            direct::fill(self.level, distance, (a, self.rows.clone()), (b, self.cols.clone()), out, scratch);
            return apply(Raw::Statistic, out);
        }
        self.products(a.centred_panels(), b.centred_panels(), out);
        let (row_norms, col_norms) = (&a.norms()[self.rows.clone()], &b.norms()[self.cols.clone()]);
        if std::ptr::eq(self.a, self.b) {
            // A point is at distance 0 from itself.
            for i in self.rows.start.max(self.cols.start)..self.rows.end.min(self.cols.end) {
                out[(i - self.rows.start) * width + (i - self.cols.start)] = a.norms()[i];
            }
        }
        apply(Raw::Products { rows: row_norms, cols: col_norms }, out);
        // Two points far from the mean may be close to each other. Products would lose all digits of their distance.
        for i in a.far_within(&self.rows) {
            for j in b.far_within(&self.cols) {
                let (x, y) = (a.for_differences(pairing).row(i), b.for_differences(pairing).row(j));
                let s = x.iter().zip(y).map(|(x, y)| (x.to_f64() - y.to_f64()).powi(2)).sum();
                let value = if self.deviation { leaf.deviation(s) } else { leaf.value(s) };
                out[(i - self.rows.start) * width + (j - self.cols.start)] = T::from_f64(value);
            }
        }
    }

    /// Folds the parts into `out` by f(origin so far, value so far, origin of the part, value of the part).
    fn combine(
        &self,
        parts: &[Kernel],
        additive: bool,
        out: &mut [T],
        scratch: &mut Scratch<T>,
        f: fn(T, T, T, T) -> T,
    ) {
        let Some((first, others)) = parts.split_first() else {
            return;
        };
        self.fill(first, additive, out, scratch);
        let mut c = self.origin(first);
        let mut part = scratch.take(out.len());
        for k in others {
            self.fill(k, additive, &mut part, scratch);
            let (c1, c2) = (T::from_f64(c), T::from_f64(self.origin(k)));
            for (v, p) in out.iter_mut().zip(&part) {
                *v = f(c1, *v, c2, *p);
            }
            c *= self.origin(k);
        }
        scratch.give_back(part);
    }

    fn origin(&self, kernel: &Kernel) -> f64 {
        if self.deviation { origin(kernel) } else { 0.0 }
    }

    fn normalise(&self, out: &mut [T], self_value: impl Fn(&[f64]) -> f64) {
        let own = |rows: &Rows<T>, range: Range<usize>| -> Vec<f64> {
            range
                .map(|i| self_value(&rows.plain().raw().row(i).iter().map(|v| v.to_f64()).collect::<Vec<f64>>()))
                .collect()
        };
        let (row_values, col_values) = (own(self.a, self.rows.clone()), own(self.b, self.cols.clone()));
        for (line, kx) in out.chunks_exact_mut(self.cols.len()).zip(row_values) {
            for (v, ky) in line.iter_mut().zip(&col_values) {
                *v = T::from_f64(normalise(v.to_f64(), kx, *ky));
            }
        }
    }

    /// Dot products of the points of the tile.
    fn products(&self, a: &Panels<T>, b: &Panels<T>, out: &mut [T]) {
        let (rows, cols) = (self.rows.clone(), self.cols.clone());
        panels::products(self.level, (a, rows), (b, cols), out, self.cols.len());
    }
}
