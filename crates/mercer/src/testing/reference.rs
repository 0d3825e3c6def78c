//! Eigenpairs of exact matrices, to about 28 digits and with a bound on their own error: what error bounds are checked
//! against. Nothing here is shared with a fit but the definitions of the kernels, which are written out once more.

use std::ops::{Add, Div, Mul, Neg, Sub};

use rayon::prelude::*;

use super::double_double::DoubleDouble;
use crate::kernel::{Gamma, GaussianWidth, Kernel, Leaf, Length, Nu};

/// A bound on the relative error of one operation on [`DoubleDouble`]s, with room to spare.
const ROUNDING: f64 = 1.0 / (1u128 << 100) as f64;
/// The same for exponentials, logarithms and sines, per unit of their argument.
const ELEMENTARY: f64 = 1e-28;

/// What counts as 0 beside entries of about 1: far below rounding, and far above what has no square.
const NOTHING: f64 = 1e-60;

/// A number and a bound on its error, which operations carry along.
///
/// # Example
/// ```
/// use mercer::testing::reference::Known;
/// let third = Known::from(1.0) / Known::from(3.0);
/// assert!((third.value.to_f64() - 1.0 / 3.0).abs() < 1e-16 && third.error < 1e-29);
/// assert_eq!((Known::from(0.1) - Known::from(0.1)).value.to_f64(), 0.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The number.
    pub value: DoubleDouble,
    /// The largest distance of the exact number from it.
    pub error: f64,
}

impl From<f64> for Known {
    fn from(v: f64) -> Self {
        Known { value: v.into(), error: 0.0 }
    }
}

impl Known {
    /// The result of an operation: errors of the operands, and the rounding of the result.
    fn rounded(value: DoubleDouble, error: f64) -> Self {
        Known { value, error: error + ROUNDING * value.to_f64().abs() }
    }

    /// Whether it is 0 without an error.
    fn is_zero(self) -> bool {
        self.value.to_f64() == 0.0 && self.error == 0.0
    }

    /// The square root of a number that is not negative, whatever its error.
    pub fn sqrt(self) -> Self {
        let (at, root) = (self.value.to_f64(), self.value.sqrt());
        // |sqrt(a) - sqrt(b)| is |a - b| / (sqrt(a) + sqrt(b)), and at most the root of |a - b|.
        let error = if at > 0.0 { self.error.sqrt().min(self.error / at.sqrt()) } else { self.error.sqrt() };
        Known::rounded(root, error)
    }

    fn exp(self) -> Self {
        let value = self.value.exp();
        let spread = self.error.exp_m1() + ELEMENTARY * (1.0 + self.value.to_f64().abs());
        Known { value, error: value.to_f64() * spread }
    }

    /// e to a number that is not positive, less 1.
    fn exp_m1(self) -> Self {
        let value = self.value.exp_m1();
        let spread = self.error.exp_m1();
        Known { value, error: spread + ELEMENTARY * value.to_f64().abs() * (1.0 + self.value.to_f64().abs()) }
    }

    /// The natural logarithm of a positive number.
    fn ln(self) -> Self {
        let (value, at) = (self.value.ln(), self.value.to_f64());
        let spread = if at > self.error { self.error / (at - self.error) } else { f64::INFINITY };
        Known { value, error: spread + ELEMENTARY * (1.0 + value.to_f64().abs()) }
    }

    fn sin_pi(self) -> Self {
        let value = self.value.sin_pi();
        Known { value, error: std::f64::consts::PI * self.error + ELEMENTARY }
    }

    fn tanh(self) -> Self {
        let at = self.value.to_f64();
        let error = self.error + ELEMENTARY * (1.0 + at.abs());
        if at.abs() > 40.0 {
            return Known { value: at.signum().into(), error };
        }
        let below = (-(self.value.abs() + self.value.abs())).exp();
        let value = (DoubleDouble::from(1.0) - below) / (below + 1.0.into());
        Known { value: if at < 0.0 { -value } else { value }, error }
    }

    fn power(self, power: u32) -> Self {
        (0..power).fold(1.0.into(), |product, _| product * self)
    }

    fn abs(self) -> Self {
        Known { value: self.value.abs(), ..self }
    }
}

impl Add for Known {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Known::rounded(self.value + other.value, self.error + other.error)
    }
}

impl Neg for Known {
    type Output = Self;

    fn neg(self) -> Self {
        Known { value: -self.value, ..self }
    }
}

impl Sub for Known {
    type Output = Self;

    /// The difference of two f64 is exact.
    fn sub(self, other: Self) -> Self {
        let (value, error) = (self.value - other.value, self.error + other.error);
        let exact = error == 0.0 && self.value.rest() == 0.0 && other.value.rest() == 0.0;
        if exact { Known { value, error } } else { Known::rounded(value, error) }
    }
}

impl Mul for Known {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let (a, b) = (self.value.to_f64().abs(), other.value.to_f64().abs());
        Known::rounded(self.value * other.value, a * other.error + b * self.error + self.error * other.error)
    }
}

impl Div for Known {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        let below = other.value.to_f64().abs() - other.error;
        if below <= 0.0 {
            return Known { value: 0.0.into(), error: f64::INFINITY };
        }
        Known::rounded(value, (self.error + value.to_f64().abs() * other.error) / below)
    }
}

/// The value of a kernel whose parameters are numbers: its definition, in higher precision.
///
/// # Example
/// ```
/// use mercer::testing::reference::{self, Known};
/// use mercer::{Gamma, Kernel};
/// let (x, y) = ([Known::from(1.0)], [Known::from(3.0)]);
/// let value = reference::kernel(&Kernel::gaussian(Gamma::Value(0.5)), &x, &y).value.to_f64();
/// assert!((value - (-2.0f64).exp()).abs() < 1e-16);
/// ```
pub fn kernel(kernel: &Kernel, x: &[Known], y: &[Known]) -> Known {
    match kernel {
        Kernel::Leaf(leaf) => of_leaf(leaf, x, y, false),
        Kernel::Sum(terms) => terms.iter().fold(0.0.into(), |sum, k| sum + self::kernel(k, x, y)),
        Kernel::Product(factors) => factors.iter().fold(1.0.into(), |product, k| product * self::kernel(k, x, y)),
        Kernel::Scaled(w, k) => Known::from(*w) * self::kernel(k, x, y),
        Kernel::Normalised(k) => {
            let (own, other) = (self::kernel(k, x, x), self::kernel(k, y, y));
            if [own, other].iter().any(|v| v.value.to_f64() < -v.error || v.is_zero()) {
                return 0.0.into();
            }
            self::kernel(k, x, y) / (own.sqrt() * other.sqrt())
        }
    }
}

/// The same up to terms that centring removes (MATHS.md, M6): a function of a distance less its value at 0, which a
/// wide kernel would lose even in higher precision.
pub fn kernel_up_to_centring(kernel: &Kernel, x: &[Known], y: &[Known]) -> Known {
    match kernel {
        Kernel::Leaf(leaf) => of_leaf(leaf, x, y, true),
        Kernel::Scaled(w, k) => Known::from(*w) * kernel_up_to_centring(k, x, y),
        Kernel::Sum(terms) => terms.iter().fold(0.0.into(), |sum, k| sum + kernel_up_to_centring(k, x, y)),
        Kernel::Product(_) | Kernel::Normalised(_) => self::kernel(kernel, x, y),
    }
}

fn of_leaf(leaf: &Leaf, x: &[Known], y: &[Known], less_origin: bool) -> Known {
    let one = Known::from(1.0);
    let exponential = |t: Known| if less_origin { (-t).exp_m1() } else { (-t).exp() };
    let distance = || sum(x, y, |a, b| gap(a, b) * gap(a, b));
    let length = |length: Length| Known::from(length.number().unwrap_or(f64::NAN));
    let times_gamma = |gamma: Gamma, s: Known| match gamma {
        Gamma::OverSigma2(v) => s / v.into(),
        Gamma::Over2Sigma2(v) => s / Known::from(v) / Known::from(2.0),
        other => s * other.number().unwrap_or(f64::NAN).into(),
    };
    match leaf {
        Leaf::Linear(_) => dot(x, y),
        Leaf::Polynomial(k) => (times_gamma(k.gamma, dot(x, y)) + k.coef0.into()).power(k.degree),
        Leaf::Gaussian(k) => exponential(match &k.width {
            GaussianWidth::Gamma(gamma) => times_gamma(*gamma, distance()),
            GaussianWidth::Length(l) => {
                let l = length(*l);
                distance() / (l * l) / 2.0.into()
            }
            GaussianWidth::Lengths(lengths) => {
                let gaps = x.iter().zip(y).zip(lengths).map(|((a, b), l)| gap(*a, *b) / (*l).into());
                gaps.fold(Known::from(0.0), |sum, gap| sum + gap * gap) / 2.0.into()
            }
        }),
        Leaf::Laplacian(k) => exponential(times_gamma(k.gamma, sum(x, y, |a, b| gap(a, b).abs()))),
        Leaf::Matern(k) => {
            let (square, l) = (distance(), length(k.length));
            let times = |factor: f64| (square * factor.into()).sqrt() / l;
            match k.nu {
                Nu::Half => exponential(times(1.0)),
                Nu::ThreeHalves => {
                    let a = times(3.0);
                    (-a).exp_m1() + a * (-a).exp() + if less_origin { 0.0.into() } else { one }
                }
                Nu::FiveHalves => {
                    let a = times(5.0);
                    let rest = a + a * a / 3.0.into();
                    (-a).exp_m1() + rest * (-a).exp() + if less_origin { 0.0.into() } else { one }
                }
            }
        }
        Leaf::RationalQuadratic(k) => {
            let (l, alpha) = (length(k.length), Known::from(k.alpha));
            let base = one + distance() / (l * l) / (alpha * 2.0.into());
            exponential(alpha * base.ln())
        }
        Leaf::GammaExponential(k) => {
            let (square, l) = (distance(), length(k.length));
            // Of points that may be equal, no more is known than how far they are from each other at most.
            if square.value.to_f64() <= square.error {
                let most = (square.value.to_f64() + square.error).sqrt() / l.value.to_f64();
                return Known { value: if less_origin { 0.0 } else { 1.0 }.into(), error: 2.0 * most.powf(k.power) };
            }
            let half = Known::from(k.power) / 2.0.into();
            exponential((half * (square / (l * l)).ln()).exp())
        }
        Leaf::Periodic(k) => {
            let sines = sum(x, y, |a, b| {
                let sine = (gap(a, b) / k.period.into()).sin_pi();
                sine * sine
            });
            exponential(sines * 2.0.into() / (Known::from(k.length) * k.length.into()))
        }
        Leaf::Sigmoid(k) => (times_gamma(k.gamma, dot(x, y)) + k.coef0.into()).tanh(),
        Leaf::Cosine(_) => {
            let (own, other) = (dot(x, x), dot(y, y));
            if own.is_zero() || other.is_zero() {
                return 0.0.into();
            }
            dot(x, y) / (own.sqrt() * other.sqrt())
        }
        Leaf::Tanimoto(_) => {
            let (own, other, both) = (dot(x, x), dot(y, y), dot(x, y));
            if own.is_zero() && other.is_zero() { one } else { both / (own + other - both) }
        }
        Leaf::Chi2(k) => {
            let squares = sum(x, y, |a, b| {
                let total = a + b;
                if total.is_zero() { 0.0.into() } else { gap(a, b) * gap(a, b) / total }
            });
            exponential(times_gamma(k.gamma, squares))
        }
    }
}

/// The difference of two values of one column: equal numbers, also with an error, stand for the same value.
fn gap(a: Known, b: Known) -> Known {
    if a == b { 0.0.into() } else { a - b }
}

fn sum(x: &[Known], y: &[Known], term: impl Fn(Known, Known) -> Known) -> Known {
    x.iter().zip(y).fold(0.0.into(), |sum, (a, b)| sum + term(*a, *b))
}

fn dot(x: &[Known], y: &[Known]) -> Known {
    sum(x, y, |a, b| a * b)
}

/// A symmetric matrix, and a bound on the norm of its error.
///
/// ```
/// use mercer::testing::reference::Symmetric;
/// let matrix = Symmetric::from_fn(2, |i, j| (if i == j { 2.0 } else { 1.0 }).into());
/// let pairs = matrix.eigen();
/// assert!((pairs.values[0].to_f64() - 3.0).abs() <= 1e-28);
/// ```
#[derive(Clone, Debug)]
pub struct Symmetric {
    n: usize,
    values: Vec<DoubleDouble>,
    error: f64,
}

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

impl Symmetric {
    /// The matrix with these entries, of which those of the lower triangle are asked for.
    pub fn from_fn(n: usize, entry: impl Fn(usize, usize) -> Known + Sync) -> Self {
        let lower: Vec<Vec<Known>> = (0..n).into_par_iter().map(|i| (0..=i).map(|j| entry(i, j)).collect()).collect();
        let at = |i: usize, j: usize| if i >= j { lower[i][j] } else { lower[j][i] };
        let values = (0..n * n).map(|at_ij| at(at_ij / n, at_ij % n).value).collect();
        let largest = lower.iter().flatten().map(|v| v.error).fold(0.0, larger);
        let squares: f64 =
            (0..n * n).map(|ij| at(ij / n, ij % n).error / largest.max(f64::MIN_POSITIVE)).map(|e| e * e).sum();
        Symmetric { n, values, error: if largest > 0.0 { largest * squares.sqrt() } else { 0.0 } }
    }

    /// The number of rows.
    pub fn n(&self) -> usize {
        self.n
    }

    /// An entry.
    pub fn at(&self, i: usize, j: usize) -> DoubleDouble {
        self.values[i * self.n + j]
    }

    /// A bound on the norm of the error of the matrix; not finite where an entry is not known at all.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The largest magnitude of an entry.
    pub fn largest(&self) -> f64 {
        self.values.iter().map(|v| v.to_f64().abs()).fold(0.0, larger)
    }

    /// The same matrix in a unit that is about the largest entry: a power of four, so that its root is exact.
    pub fn in_unit(mut self) -> (Self, f64) {
        let largest = self.largest();
        let unit = if largest > 0.0 { 4f64.powi((0.5 * largest.log2()).floor() as i32) } else { 1.0 };
        self.values.iter_mut().for_each(|v| *v = v.times_power_of_two(1.0 / unit));
        self.error /= unit;
        (self, unit)
    }

    /// HAH, H = I - 11'/n.
    pub fn centred(mut self) -> Self {
        let (n, rounding) = (self.n, 8.0 * self.n as f64 * ROUNDING * self.largest());
        let over = DoubleDouble::from(n as f64);
        let means: Vec<DoubleDouble> =
            self.values.chunks_exact(n).map(|row| row.iter().copied().sum::<DoubleDouble>() / over).collect();
        let mean = means.iter().copied().sum::<DoubleDouble>() / over;
        for i in 0..n {
            for j in 0..=i {
                let v = self.values[i * n + j] - (means[i] + means[j] - mean);
                (self.values[i * n + j], self.values[j * n + i]) = (v, v);
            }
        }
        // Entries have errors of a few roundings of the largest entry: |E| <= n max|E_ij|.
        self.error += n as f64 * rounding;
        self
    }

    /// A v.
    pub fn times(&self, v: &[DoubleDouble]) -> Vec<DoubleDouble> {
        self.values.chunks_exact(self.n).map(|row| row.iter().zip(v).map(|(a, b)| *a * *b).sum()).collect()
    }

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

fn larger(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() { b } else { a }
}

/// v'w.
pub fn product(v: &[DoubleDouble], w: &[DoubleDouble]) -> DoubleDouble {
    v.iter().zip(w).map(|(a, b)| *a * *b).sum()
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
        let exact = Symmetric::from_fn(21, |i, j| Known::from(((i / 7 + 1) * (j / 7 + 1)) as f64));
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
    fn errors_cover_what_is_lost() {
        // (1 + t) - 1 for t of 40 digits: what is lost of t is within the error.
        let t = Known::from(1.0) / Known::from(3e20);
        let back = Known::from(1.0) + t - Known::from(1.0);
        assert!((back.value - t.value).abs().to_f64() <= back.error);
        assert!(back.error > 0.0 && back.error < 1e-29);
        let zero = Known::from(0.3) - Known::from(0.3);
        assert!(zero.is_zero() && zero.sqrt().is_zero());
        assert!((Known::from(0.3) / zero).error.is_infinite());
    }

    #[test]
    fn kernels_are_those_of_the_table() {
        use crate::kernel::{Bound, registry};
        use crate::testing::conformance;
        for entry in registry::KERNELS {
            let x = conformance::points(entry.domain, 3, 5);
            let known = |i: usize| x.row(i).iter().map(|v| Known::from(*v)).collect::<Vec<_>>();
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
