//! Sums with their rounding errors, and small linear algebra in plain loops.

use crate::block::Block;
use crate::precise::{two_product, two_sum};

/// A sum with its rounding errors, which are added at the end: exact to a rounding of the result, but for terms of u^2.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) high: f64,
    pub(super) low: f64,
}

impl Sum {
    #[inline]
    pub(super) fn add(&mut self, v: f64) {
        let (high, error) = two_sum(self.high, v);
        (self.high, self.low) = (high, self.low + error);
    }

    #[inline]
    pub(super) fn add_product(&mut self, a: f64, b: f64) {
        let (product, error) = two_product(a, b);
        self.add(product);
        self.low += error;
    }

    pub(super) fn value(&self) -> f64 {
        self.high + self.low
    }
}

pub(super) fn add(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sum = Sum::default();
    values.into_iter().for_each(|v| sum.add(v));
    sum.value()
}

pub(super) fn add_products(pairs: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let mut sum = Sum::default();
    pairs.into_iter().for_each(|(a, b)| sum.add_product(a, b));
    sum.value()
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    add_products(a.iter().copied().zip(b.iter().copied()))
}

/// The norm, of values of any size.
pub(super) fn norm(v: &[f64]) -> f64 {
    let largest = v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return if v.iter().any(|v| v.is_nan()) { f64::NAN } else { largest };
    }
    largest * v.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt()
}

/// w less its part along v.
pub(super) fn subtract_along(v: &[f64], w: &mut [f64]) -> f64 {
    let along = dot(v, w);
    w.iter_mut().zip(v).for_each(|(w, v)| *w -= along * v);
    along
}

/// w less its part in the space of an orthonormal basis.
pub(super) fn project(basis: &Block, w: &mut [f64]) {
    for _ in 0..2 {
        (0..basis.b()).for_each(|j| {
            subtract_along(basis.col(j), w);
        });
    }
}

/// U = Q T by Gram and Schmidt, twice. A column that depends on those before it becomes 0.
pub(super) fn orthonormalised(u: &Block) -> (Block, Block) {
    let (mut q, mut t) = (u.clone(), Block::zeros(u.b(), u.b()));
    for j in 0..u.b() {
        let mut column = q.col(j).to_vec();
        let before = norm(&column);
        for _ in 0..2 {
            for i in 0..j {
                *t.at_mut(i, j) += subtract_along(q.col(i), &mut column);
            }
        }
        let length = norm(&column);
        let depends = length <= 1e-12 * before || length == 0.0;
        q.col_mut(j).iter_mut().zip(&column).for_each(|(q, v)| *q = if depends { 0.0 } else { v / length });
        *t.at_mut(j, j) = if depends { 0.0 } else { length };
    }
    (q, t)
}

/// The eigenvalues of a small symmetric matrix, descending, by Jacobi's rotations.
pub(super) fn eigenvalues(mut a: Block) -> Vec<f64> {
    let n = a.n();
    let size = norm(a.as_slice());
    for _ in 0..60 {
        let mut turned = false;
        for p in 0..n {
            for q in p + 1..n {
                let apq = a.at(p, q);
                if apq.abs() <= 0.125 * f64::EPSILON * size / n as f64 || !apq.is_finite() {
                    continue;
                }
                turned = true;
                let tau = (a.at(q, q) - a.at(p, p)) / (2.0 * apq);
                let tangent = tau.signum() / (tau.abs() + tau.hypot(1.0));
                let cosine = 1.0 / tangent.hypot(1.0);
                let sine = tangent * cosine;
                for r in 0..n {
                    let (x, y) = (a.at(r, p), a.at(r, q));
                    (*a.at_mut(r, p), *a.at_mut(r, q)) = (cosine * x - sine * y, sine * x + cosine * y);
                }
                for r in 0..n {
                    let (x, y) = (a.at(p, r), a.at(q, r));
                    (*a.at_mut(p, r), *a.at_mut(q, r)) = (cosine * x - sine * y, sine * x + cosine * y);
                }
            }
        }
        if !turned {
            break;
        }
    }
    let mut values: Vec<f64> = (0..n).map(|i| a.at(i, i)).collect();
    values.sort_by(|a, b| b.total_cmp(a));
    values
}
