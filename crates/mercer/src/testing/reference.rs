//! Eigenpairs of exact matrices, to about 28 digits and with a bound on their own error: what error bounds are checked
//! against. Nothing here is shared with a fit but the definitions of the kernels, which are written out once more.

pub use crate::ball::{Ball, Symmetric, product};
use crate::ball::{DoubleDouble, ROUNDING, larger};
use crate::kernel::Kernel;
use crate::points::Points;

/// What counts as 0 beside entries of about 1: far below rounding, and far above what has no square.
const NOTHING: f64 = 1e-60;

/// Eigenpairs of a [`Symmetric`] matrix.
///
/// ```
/// use mercer::testing::reference::Symmetric;
/// let pairs = Symmetric::from_fn(3, |i, j| f64::from(u8::from(i == j)).into()).eigen();
/// assert_eq!(pairs.values.len(), 3);
/// assert!(pairs.error < 1e-6 * f64::EPSILON);
/// ```
#[derive(Clone, Debug)]
pub struct Pairs {
    /// The eigenvalues, descending.
    pub values: Vec<DoubleDouble>,
    /// The eigenvector of each, of length 1.
    pub vectors: Vec<Vec<DoubleDouble>>,
    /// A bound on the error of each eigenvalue, and on the norm of the difference between the exact matrix and the one that
    /// has exactly these eigenpairs.
    pub error: f64,
}

/// The value of a kernel whose parameters are numbers: its definition, in higher precision.
///
/// # Example
/// ```
/// use mercer::testing::reference::{self, Ball};
/// use mercer::{Gamma, Kernel};
/// let (x, y) = ([Ball::from(1.0)], [Ball::from(3.0)]);
/// let value = reference::kernel(&Kernel::gaussian(Gamma::Value(0.5)), &x, &y).value.to_f64();
/// assert!((value - (-2.0f64).exp()).abs() < 1e-16);
/// ```
pub fn kernel(kernel: &Kernel, x: &[Ball], y: &[Ball]) -> Ball {
    kernel.ball(x, y)
}

/// The same up to terms that centring removes (MATHS.md, M6).
pub fn kernel_up_to_centring(kernel: &Kernel, x: &[Ball], y: &[Ball]) -> Ball {
    kernel.ball_up_to_centring(x, y)
}

/// The scatter matrix of points less their mean, or of standardised ones, in units of the second number.
///
/// ```
/// use mercer::Points;
/// use mercer::testing::reference;
/// let (scatter, unit) = reference::scatter(&Points::from_rows(&[[1.0], [2.0], [6.0]]), false);
/// assert_eq!(scatter.at(0, 0).to_f64() * unit, 14.0);
/// ```
pub fn scatter(x: &Points<f64>, standardise: bool) -> (Symmetric, f64) {
    let n = x.n() as f64;
    let largest = x.as_slice().iter().fold(0.0, |m, v| larger(m, v.abs()));
    let unit = if standardise || largest == 0.0 { 1.0 } else { 2f64.powi(largest.log2().floor() as i32) };
    let columns: Vec<Vec<DoubleDouble>> = (0..x.d())
        .map(|j| {
            let column: Vec<DoubleDouble> = x.column(j).into_iter().map(|v| DoubleDouble::from(v / unit)).collect();
            let mean = column.iter().copied().sum::<DoubleDouble>() / n.into();
            let column: Vec<DoubleDouble> = column.into_iter().map(|v| v - mean).collect();
            let scale = (product(&column, &column) / (n - 1.0).into()).sqrt();
            let divided = standardise && scale.to_f64() > 0.0;
            if divided { column.into_iter().map(|v| v / scale).collect() } else { column }
        })
        .collect();
    let norm: f64 = columns.iter().flatten().map(|v| v.to_f64().powi(2)).sum();
    let entry = |i: usize, j: usize| Ball { value: product(&columns[i], &columns[j]), error: 0.0 };
    // Means and sums of n terms, relative to values of at most about 1.
    let error = 16.0 * n * ROUNDING * (norm + n * x.d() as f64);
    (Symmetric::from_fn(x.d(), entry).with_error(error), unit * unit)
}

impl Symmetric {
    /// All eigenpairs, by reflections to a tridiagonal matrix and QL steps with implicit shifts.
    ///
    /// # Panics
    /// When an eigenvalue takes more than a hundred steps, which an entry that is not finite makes happen.
    pub fn eigen(&self) -> Pairs {
        let (n, largest) = (self.n, self.largest());
        // In a unit of about the largest entry no square leaves the range.
        let unit = if largest > 0.0 { 2f64.powi(largest.log2().floor() as i32) } else { 1.0 };
        let mut a: Vec<Vec<DoubleDouble>> = self
            .values
            .chunks_exact(n)
            .map(|row| row.iter().map(|v| v.times_power_of_two(1.0 / unit)).collect())
            .collect();
        let (diagonal, beside, vectors) = tridiagonal(&mut a);
        let (values, vectors) = ql(diagonal, beside, vectors);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|i, j| values[*j].partial_cmp(&values[*i]).expect("eigenvalues are numbers"));
        let norm = n as f64 * largest;
        Pairs {
            values: order.iter().map(|i| values[*i].times_power_of_two(unit)).collect(),
            vectors: order.iter().map(|i| vectors[*i].clone()).collect(),
            error: self.error + 32.0 * n as f64 * ROUNDING * norm,
        }
    }
}

/// A = Q T Q' by reflections: the diagonal of T, the entries beside it, and the columns of Q as rows. A is used up.
fn tridiagonal(a: &mut [Vec<DoubleDouble>]) -> (Vec<DoubleDouble>, Vec<DoubleDouble>, Vec<Vec<DoubleDouble>>) {
    let (n, zero, one) = (a.len(), DoubleDouble::from(0.0), DoubleDouble::from(1.0));
    let two = DoubleDouble::from(2.0);
    let mut beside = vec![zero; n];
    let mut reflections: Vec<Option<Vec<DoubleDouble>>> = Vec::new();
    for k in 0..n.saturating_sub(1) {
        // The reflection that turns column k below the diagonal into a multiple of its first unit vector.
        let mut v: Vec<DoubleDouble> = (k + 1..n).map(|i| a[i][k]).collect();
        let rest = product(&v[1..], &v[1..]);
        if rest.to_f64() <= NOTHING * NOTHING {
            beside[k] = v[0];
            reflections.push(None);
            continue;
        }
        let length = (rest + v[0] * v[0]).sqrt();
        beside[k] = if v[0].to_f64() > 0.0 { -length } else { length };
        v[0] = v[0] - beside[k];
        let norm = (rest + v[0] * v[0]).sqrt();
        v.iter_mut().for_each(|x| *x = *x / norm);
        // A - 2 v w' - 2 w v' with w = A v - (v'A v) v.
        let mut w: Vec<DoubleDouble> = (k + 1..n).map(|i| product(&a[i][k + 1..], &v)).collect();
        let along = product(&v, &w);
        w.iter_mut().zip(&v).for_each(|(w, v)| *w = *w - along * *v);
        for i in k + 1..n {
            let (vi, wi) = (v[i - k - 1] * two, w[i - k - 1] * two);
            for (j, entry) in a[i][k + 1..].iter_mut().enumerate() {
                *entry = *entry - (vi * w[j] + wi * v[j]);
            }
        }
        reflections.push(Some(v));
    }
    // Column j of Q = P_0 P_1 ... e_j.
    let columns = (0..n).map(|j| {
        let mut q = vec![zero; n];
        q[j] = one;
        for (k, v) in reflections.iter().enumerate().rev() {
            if let Some(v) = v {
                let along = product(v, &q[k + 1..]) * two;
                q[k + 1..].iter_mut().zip(v).for_each(|(q, v)| *q = *q - along * *v);
            }
        }
        q
    });
    let columns = columns.collect();
    ((0..n).map(|i| a[i][i]).collect(), beside, columns)
}

/// Eigenvalues of a tridiagonal matrix, and the rows turned along with it.
fn ql(
    mut d: Vec<DoubleDouble>,
    mut e: Vec<DoubleDouble>,
    mut rows: Vec<Vec<DoubleDouble>>,
) -> (Vec<DoubleDouble>, Vec<Vec<DoubleDouble>>) {
    let (n, zero, one) = (d.len(), DoubleDouble::from(0.0), DoubleDouble::from(1.0));
    let size = |v: &[DoubleDouble]| v.iter().map(|v| v.to_f64().abs()).fold(0.0, larger);
    let negligible = ROUNDING / 256.0 * (size(&d) + 2.0 * size(&e));
    for first in 0..n {
        for step in 0.. {
            assert!(step < 100, "the eigenvalues of the reference do not converge");
            let last = (first..n - 1).find(|m| e[*m].to_f64().abs() <= negligible).unwrap_or(n - 1);
            if last == first {
                break;
            }
            // The shift: the eigenvalue of the leading 2 x 2 matrix that is nearer to its first entry.
            let half = (d[first + 1] - d[first]) / (e[first] + e[first]);
            let root = (half * half + one).sqrt();
            let mut g = d[last] - d[first] + e[first] / (half + if half.to_f64() < 0.0 { -root } else { root });
            let (mut s, mut c, mut p) = (one, one, zero);
            let mut broke = false;
            for i in (first..last).rev() {
                let (f, b) = (s * e[i], c * e[i]);
                let r = (f * f + g * g).sqrt();
                e[i + 1] = r;
                if r.to_f64() <= NOTHING {
                    e[i + 1] = zero;
                    d[i + 1] = d[i + 1] - p;
                    e[last] = zero;
                    broke = true;
                    break;
                }
                (s, c) = (f / r, g / r);
                let shifted = d[i + 1] - p;
                let turned = (d[i] - shifted) * s + (c + c) * b;
                p = s * turned;
                d[i + 1] = shifted + p;
                g = c * turned - b;
                let (above, below) = rows.split_at_mut(i + 1);
                for (x, y) in above[i].iter_mut().zip(&mut below[0]) {
                    (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                }
            }
            if !broke {
                d[first] = d[first] - p;
                e[first] = g;
                e[last] = zero;
            }
        }
    }
    (d, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::matrices;

    fn worst(a: &Symmetric, pairs: &Pairs) -> f64 {
        let gap = |(value, v): (&DoubleDouble, &Vec<DoubleDouble>)| {
            let residual: DoubleDouble =
                a.times(v).iter().zip(v).map(|(i, v)| (*i - *value * *v) * (*i - *value * *v)).sum();
            residual.sqrt().to_f64().max((product(v, v) - 1.0.into()).abs().to_f64() * a.largest())
        };
        pairs.values.iter().zip(&pairs.vectors).map(gap).fold(0.0, larger)
    }

    #[test]
    fn eigenpairs_have_28_digits() {
        for number in 0..matrices::SYMMETRIC {
            for n in [1, 2, 3, 17] {
                let (what, m) = matrices::symmetric(number, n);
                let a = Symmetric::from_fn(n, |i, j| m.row(i)[j].into());
                // Squares of the residuals of the extreme ones leave the range.
                if a.largest() > 1e100 || (a.largest() > 0.0 && a.largest() < 1e-100) {
                    continue;
                }
                let pairs = a.eigen();
                assert!(worst(&a, &pairs) <= 1e-28 * a.largest(), "{what}, {n}: {:e}", worst(&a, &pairs));
                assert!(pairs.error <= 1e-26 * a.largest(), "{what}, {n}: {:e}", pairs.error);
                for (i, v) in pairs.vectors.iter().enumerate() {
                    for w in &pairs.vectors[..i] {
                        assert!(product(v, w).to_f64().abs() < 1e-28, "{what}, {n}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_null_space_is_orthonormal() {
        // Rank 3 of 21, up to rounding of f64: QL steps meet numbers whose squares are 0.
        let x = matrices::normal(21, 3, 4);
        let a = Symmetric::from_fn(21, |i, j| (0..3).fold(0.0, |s, l| s + x.row(i)[l] * x.row(j)[l]).into());
        let pairs = a.eigen();
        for (i, v) in pairs.vectors.iter().enumerate() {
            for (j, w) in pairs.vectors.iter().enumerate() {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((product(v, w).to_f64() - expected).abs() < 1e-28, "{i} {j}");
            }
        }
        let exact = Symmetric::from_fn(21, |i, j| Ball::from(((i / 7 + 1) * (j / 7 + 1)) as f64));
        let pairs = exact.eigen();
        assert!((pairs.values[0].to_f64() - 98.0).abs() < 1e-13);
        assert!(pairs.vectors.iter().all(|v| (product(v, v) - 1.0.into()).abs().to_f64() < 1e-28));
    }

    #[test]
    fn eigenvalues_of_a_chain_are_squared_sines() {
        // 2 on the diagonal and -1 beside it: 4 sin^2(pi j / (2 (n + 1))).
        let n = 40;
        let a = Symmetric::from_fn(n, |i, j| [2.0, -1.0, 0.0][(i - j).min(2)].into());
        let pairs = a.eigen();
        for (j, value) in pairs.values.iter().rev().enumerate() {
            let sine = (DoubleDouble::from((j + 1) as f64) / (2.0 * (n + 1) as f64).into()).sin_pi();
            let exact = sine * sine * 4.0.into();
            assert!((*value - exact).abs().to_f64() < 1e-29, "{j}");
        }
        // Extreme units change nothing but the unit.
        for unit in [2f64.powi(900), 2f64.powi(-900)] {
            let a = Symmetric::from_fn(n, |i, j| ([2.0, -1.0, 0.0][(i - j).min(2)] * unit).into());
            assert_eq!(a.eigen().values[3].times_power_of_two(1.0 / unit), pairs.values[3]);
        }
    }

    #[test]
    fn kernels_are_those_of_the_table() {
        use crate::kernel::{Bound, registry};
        use crate::testing::conformance;
        for entry in registry::KERNELS {
            let x = conformance::points(entry.domain, 3, 5);
            let known = |i: usize| x.row(i).iter().map(|v| Ball::from(*v)).collect::<Vec<_>>();
            for example in conformance::examples(entry, 3) {
                let bound = Bound::new(&example, &x).expect("the table's own examples");
                for (i, j) in [(0, 3), (1, 2), (4, 4), (5, 9), (20, 31)] {
                    let value = kernel(bound.kernel(), &known(i), &known(j));
                    let other = bound.eval(x.row(i), x.row(j));
                    let gap = (value.value.to_f64() - other).abs();
                    assert!(gap <= 64.0 * f64::EPSILON * other.abs().max(1.0), "{example}: {gap:e}");
                    assert!(value.error < 1e-24 * other.abs().max(1.0), "{example}: {:e}", value.error);
                    let short = kernel_up_to_centring(bound.kernel(), &known(i), &known(j));
                    let less = (value.value - short.value).to_f64();
                    assert!(less.abs() < 1e-26 || (less - 1.0).abs() < 1e-26, "{example}: {less}");
                }
            }
        }
    }
}
