//! Error bounds in which all rounding is enclosed (MATHS.md, M27).

use rayon::prelude::*;

use super::Passes;
use super::certificate::{Certificate, EnclosedBounds, ROUNDED_UP};
use super::statement::BoundKind;
use crate::ball::{DoubleDouble, ROUNDING, Symmetric, product};
use crate::block::Block;
use crate::error::Result;
use crate::exec::Exec;
use crate::linalg;
use crate::rng::Rng;

/// The rounding of f64.
const UNIT: f64 = 0.5 * f64::EPSILON;
/// How much larger than its estimate the next eigenvalue is first supposed to be, at most, and then.
const LARGER_BY: [f64; 6] = [1e-9, 1e-6, 1e-3, 3e-2, 0.5, 4.0];
/// Lanczos steps that estimate it.
const STEPS: usize = 40;

/// Computed eigenpairs of a symmetric matrix A that is known up to an error with a bound.
pub(crate) struct Enclosed<'a> {
    /// The eigenvalues, descending, as they are shown.
    pub(crate) values: &'a [f64],
    /// Their vectors, of length 1 up to n times [`ROUNDING`].
    pub(crate) vectors: &'a [Vec<DoubleDouble>],
    /// The products of A with them.
    pub(crate) images: &'a [Vec<DoubleDouble>],
    /// A bound on the error of each image.
    pub(crate) error: f64,
    /// A matrix that has all eigenvalues of A that are not 0.
    pub(crate) matrix: &'a Symmetric,
    /// For each pair a vector w such that ww' takes it out of this matrix: any numbers give valid bounds.
    pub(crate) deflation: Block,
    /// The number of rows of A.
    pub(crate) size: usize,
    /// How far a vector that is shown, such as one of scores, can be from the one here.
    pub(crate) moved: f64,
}

/// What is measured of a pair.
struct Measured {
    /// The Rayleigh quotient of the vector, and its distance from the eigenvalue that is shown.
    quotient: f64,
    offset: f64,
    /// The residuals of the quotient and of the eigenvalue that is shown.
    of_quotient: f64,
    of_shown: f64,
}

impl Enclosed<'_> {
    /// The certificate of these pairs.
    pub(crate) fn certificate(&self, passes: Passes, exec: &Exec) -> Result<Certificate> {
        let k = self.values.len();
        let measured: Vec<Measured> = (0..k).into_par_iter().map(|j| self.measure(j)).collect();
        // |U'U - I| in the Frobenius norm; s is below the smallest singular value of U.
        let squares: f64 = (0..k)
            .into_par_iter()
            .map(|i| {
                let entry = |j: usize| {
                    let own = if i == j { 1.0 } else { 0.0 };
                    let product = product(&self.vectors[i], &self.vectors[j]) - own.into();
                    product.to_f64().abs() + self.size as f64 * ROUNDING
                };
                (0..k).map(|j| entry(j).powi(2)).sum::<f64>()
            })
            .sum();
        let skew = squares.sqrt() * ROUNDED_UP;
        exec.check_cancelled()?;
        if skew >= 0.5 {
            return Ok(self.nothing_known(&measured, passes));
        }
        let least = (1.0 - skew).sqrt() / ROUNDED_UP;
        // k eigenvalues are within eta of the quotients, which are sorted (Kahan).
        let apart = linalg::norm(&measured.iter().map(|m| m.of_quotient).collect::<Vec<f64>>());
        let mut quotients: Vec<f64> = measured.iter().map(|m| m.quotient).collect();
        quotients.sort_by(|a, b| b.total_cmp(a));
        let rounded = 4.0 * UNIT * quotients.iter().fold(0.0f64, |m, q| m.max(q.abs()));
        let eta = std::f64::consts::SQRT_2 * apart / least * ROUNDED_UP + rounded;

        let missed = if k < self.size { self.ceiling(k, None, exec)? } else { f64::NEG_INFINITY };
        // The first p are the p largest: nothing else exceeds `next`, and they do.
        let (mut p, mut next) = (k, missed);
        while p > 0 && quotients[p - 1] - eta <= next {
            // The next gap that may be wide enough to prove it.
            let from = quotients[p - 1];
            p = (0..p)
                .rev()
                .find(|q| *q == 0 || quotients[q - 1] - quotients[*q] > 8.0 * eta + 1e-7 * from)
                .unwrap_or(0);
            next = self.ceiling(p, Some(quotients[p]), exec)?;
        }
        let (mut below, mut above) = (Vec::with_capacity(k), Vec::with_capacity(k));
        for (j, found) in measured.iter().enumerate() {
            let (rho, shown) = (found.quotient, self.values[j]);
            // The eigenvalues beside this one, as far as they are known.
            let smaller = if j + 1 < p { quotients[j + 1] + eta } else { next + rounded };
            let larger = if j > 0 { quotients[j - 1] - eta } else { f64::INFINITY };
            let square = found.of_quotient.powi(2) * ROUNDED_UP;
            if j < p && rho == quotients[j] && smaller < rho && rho < larger {
                // Temple and Kato: no other eigenvalue lies between.
                let room = |gap: f64| (gap - rounded).max(f64::MIN_POSITIVE);
                let (down, up) = (square / room(larger - rho), square / room(rho - smaller));
                below.push(down.min(eta) + self.error - found.offset);
                above.push(up.min(eta) + self.error + found.offset);
            } else {
                below.push(shown - quotients[j] + eta);
                above.push(if j < p { quotients[j] + eta - shown } else { next + rounded - shown });
            }
        }
        let up = |v: f64| (v + f64::EPSILON * v.abs()).max(0.0) * ROUNDED_UP;
        let moved = self.moved * (self.matrix.frobenius() + eta) * ROUNDED_UP;
        let bounds = EnclosedBounds {
            residuals: measured.iter().map(|m| m.of_shown + moved).collect(),
            for_angles: measured.iter().map(|m| (m.of_shown + moved) / least * ROUNDED_UP).collect(),
            below: below.into_iter().map(up).collect(),
            above: above.into_iter().map(up).collect(),
            missed: if k < self.size { missed } else { 0.0 },
            kind: if k < self.size { BoundKind::Cholesky } else { BoundKind::AllPairs },
        };
        Ok(Certificate::of_enclosed(self.values, bounds, passes))
    }

    /// The Rayleigh quotient of a vector, and residuals from above.
    fn measure(&self, j: usize) -> Measured {
        let (u, image) = (&self.vectors[j], &self.images[j]);
        let quotient = product(u, image);
        let residual = |value: DoubleDouble| {
            let squares: DoubleDouble =
                image.iter().zip(u).map(|(a, v)| *a - value * *v).map(|difference| difference * difference).sum();
            let size = quotient.to_f64().abs() + self.values[j].abs();
            (squares.sqrt().to_f64() + self.error + 8.0 * self.size as f64 * ROUNDING * size) * ROUNDED_UP
        };
        Measured {
            quotient: quotient.to_f64(),
            offset: (quotient - self.values[j].into()).to_f64(),
            of_quotient: residual(quotient),
            of_shown: residual(self.values[j].into()),
        }
    }

    /// The vectors are not even roughly orthonormal, as in a damaged file: eigenvalues exist near the values, and that is all.
    fn nothing_known(&self, measured: &[Measured], passes: Passes) -> Certificate {
        let norm = self.matrix.frobenius() * ROUNDED_UP + self.matrix.error();
        let far: Vec<f64> = self.values.iter().map(|v| (norm + v.abs()) * ROUNDED_UP).collect();
        // A vector of zeros has no residual that says anything, and no direction is known.
        let is_zero = |j: usize| self.vectors[j].iter().all(|v| v.to_f64() == 0.0);
        let residual = |(j, m): (usize, &Measured)| if is_zero(j) { far[j] } else { m.of_shown };
        let bounds = EnclosedBounds {
            residuals: measured.iter().enumerate().map(residual).collect(),
            for_angles: vec![f64::INFINITY; far.len()],
            below: far.clone(),
            above: far,
            missed: norm,
            kind: BoundKind::Frobenius,
        };
        Certificate::of_enclosed(self.values, bounds, passes)
    }

    /// An upper bound of the eigenvalue after the first p: a Cholesky decomposition of mu I - A + WW' shows that A is at most
    /// mu I + WW', whose eigenvalue after the first p is mu.
    fn ceiling(&self, p: usize, estimate: Option<f64>, exec: &Exec) -> Result<f64> {
        let n = self.matrix.n();
        let norm = self.matrix.frobenius();
        let w = self.deflation.columns(0, p);
        let taken: f64 = w.as_slice().iter().map(|v| v * v).sum();
        let mut rest = linalg::product(&w, &w.transposed());
        rest.as_mut_slice().iter_mut().zip(self.matrix.values()).for_each(|(v, a)| *v = a.to_f64() - *v);
        let estimate = estimate.unwrap_or_else(|| largest_eigenvalue(&rest)).max(0.0);
        let sure = norm * ROUNDED_UP + self.matrix.error();
        for larger_by in LARGER_BY {
            exec.check_cancelled()?;
            let of_entries = |mu: f64| {
                let sizes = norm + taken + mu * (n as f64).sqrt();
                (p as f64 + 8.0) * UNIT * sizes * ROUNDED_UP + self.matrix.error()
            };
            let mu = estimate * (1.0 + larger_by) + 4.0 * of_entries(estimate) + 1e-280;
            if mu >= sure {
                break;
            }
            let shifted = Block::from_fn(n, n, |i, j| if i == j { mu - rest.at(i, j) } else { -rest.at(i, j) });
            let trace: f64 = (0..n).map(|i| shifted.at(i, i).max(0.0)).sum();
            if linalg::has_cholesky(shifted) {
                // LL' differs from the matrix by at most 2 (n + 3) u of its trace, divisions by reciprocals included.
                let of_cholesky = 2.0 * (n as f64 + 3.0) * UNIT * trace * ROUNDED_UP + n as f64 * 1e-290;
                return Ok((mu + of_entries(mu) + of_cholesky) * ROUNDED_UP);
            }
        }
        Ok(sure)
    }
}

/// An estimate of the largest eigenvalue, by Lanczos steps.
fn largest_eigenvalue(a: &Block) -> f64 {
    let n = a.n();
    let mut rng = Rng::new(0x656e_636c);
    let start: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
    let length = linalg::norm(&start);
    let mut basis = vec![start.iter().map(|v| v / length).collect::<Vec<f64>>()];
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    for step in 0..STEPS.min(n) {
        let q = &basis[step];
        let mut image: Vec<f64> = (0..n).into_par_iter().map(|i| linalg::dot(a.col(i), q)).collect();
        diagonal.push(linalg::dot(&image, q));
        for _ in 0..2 {
            for earlier in &basis {
                let along = linalg::dot(&image, earlier);
                image.iter_mut().zip(earlier).for_each(|(v, e)| *v -= along * e);
            }
        }
        let length = linalg::norm(&image);
        if length <= f64::MIN_POSITIVE {
            break;
        }
        beside.push(length);
        basis.push(image.into_iter().map(|v| v / length).collect());
    }
    let m = diagonal.len();
    let entry = |i: usize, j: usize| match i.abs_diff(j) {
        0 => diagonal[i],
        1 => beside[i.min(j)],
        _ => 0.0,
    };
    linalg::eigenvalues(Block::from_fn(m, m, entry)).map_or(0.0, |v| v.into_iter().fold(0.0, f64::max))
}
