//! What is true: eigenpairs of the exact matrix of a problem, with a bound on their own error.

use mercer::testing::double_double::DoubleDouble;
use mercer::testing::reference::{self, Ball, Symmetric, product};
use mercer::{Embedding, Pca, Points};

use crate::problem::{Problem, Shown, Task};

/// Matrices up to this size are decomposed as a whole in higher precision.
const WHOLE_UP_TO: usize = 260;
/// Eigenpairs that are refined beyond those that are shown, where the matrix is larger.
const BEYOND: usize = 8;

/// The leading eigenpairs of the exact matrix, in a unit in which its entries are at most about 1.
pub struct Truth {
    pub unit: f64,
    pub values: Vec<DoubleDouble>,
    pub vectors: Vec<Vec<DoubleDouble>>,
    /// A bound on the error of each of the values.
    pub errors: Vec<f64>,
    /// A bound on the norm of the difference to a matrix that has exactly these eigenpairs.
    pub distance: f64,
    /// Whether these are all eigenpairs.
    pub complete: bool,
    /// All eigenvalues beyond those known, where the matrix says so: they are equal to this number.
    pub beyond: Option<f64>,
    image: Image,
}

/// How the exact matrix acts.
enum Image {
    Matrix(Symmetric),
    /// XX' + cI, centred, in units of `unit`.
    Inner {
        rows: Vec<Vec<DoubleDouble>>,
        shift: f64,
    },
}

impl Truth {
    /// The truth of a problem, of which `shown` says how many pairs are wanted and what numbers the kernel has; `None` where
    /// the reference does not know some entry.
    pub fn of(problem: &Problem, shown: &Shown) -> Option<Self> {
        let x = &problem.points;
        let matrix = match &problem.task {
            Task::Pca { pca, .. } | Task::PcaPasses { pca } | Task::States { pca, .. } | Task::Sparse { pca } => {
                scatter(&features(pca, x))
            }
            Task::Scatter { .. } => Symmetric::from_fn(x.n(), |i, j| x.row(i)[j].into()),
            Task::Kernel { .. } | Task::Landmarks { .. } => {
                // The certificate is about the points as the kernel sees them (M25).
                let rows = match &shown.standardise {
                    Some(at) => {
                        let seen = |i: usize, j: usize| (x.row(i)[j] - at.mean[j]) / at.scale[j];
                        known(&Points::from_fn(x.n(), x.d(), seen))
                    }
                    None => known(x),
                };
                let kernel = shown.kernel.as_ref().expect("a model of a kernel names it");
                let entry = |i: usize, j: usize| reference::kernel_up_to_centring(kernel, &rows[i], &rows[j]);
                Symmetric::from_fn(x.n(), entry).centred()
            }
            Task::Gram { .. } | Task::Operator { .. } => Symmetric::from_fn(x.n(), |i, j| x.row(i)[j].into()).centred(),
            Task::Function { function, .. } => {
                Symmetric::from_fn(x.n(), |i, j| function.value(x.row(i), x.row(j)).into()).centred()
            }
            Task::Whole { shift, .. } => return Truth::of_whole(x, *shift),
        };
        if !matrix.error().is_finite() || !matrix.largest().is_finite() {
            return None;
        }
        let (matrix, unit) = matrix.in_unit();
        Some(match matrix.n() <= WHOLE_UP_TO {
            true => Truth::of_all(matrix, unit),
            false => Truth::of_leading(matrix, unit, shown.values.len()),
        })
    }

    fn of_all(matrix: Symmetric, unit: f64) -> Self {
        let pairs = matrix.eigen();
        Truth {
            unit,
            errors: vec![pairs.error; pairs.values.len()],
            distance: pairs.error,
            values: pairs.values,
            vectors: pairs.vectors,
            complete: true,
            beyond: None,
            image: Image::Matrix(matrix),
        }
    }

    /// Eigenvectors in f64, refined once by the Rayleigh-Ritz procedure in higher precision. Ritz values are never above
    /// the eigenvalues, and below them by about the square of the residuals.
    fn of_leading(matrix: Symmetric, unit: f64, k: usize) -> Self {
        let n = matrix.n();
        let rounded = faer::Mat::from_fn(n, n, |i, j| matrix.at(i, j).to_f64());
        let eigen = rounded.self_adjoint_eigen(faer::Side::Lower).expect("the entries are finite");
        let m = (k + BEYOND).min(n - 1);
        // Eigenvalues ascend.
        let column = |j: usize| (0..n).map(|i| eigen.U()[(i, n - 1 - j)].into()).collect::<Vec<DoubleDouble>>();
        let basis = orthonormal((0..m).map(column).collect());
        let images: Vec<Vec<DoubleDouble>> = basis.iter().map(|v| matrix.times(v)).collect();
        let small = Symmetric::from_fn(m, |i, j| {
            let entry = (product(&basis[i], &images[j]) + product(&basis[j], &images[i])) / 2.0.into();
            Ball { value: entry, error: 0.0 }
        });
        let ritz = small.eigen();
        let mix = |from: &[Vec<DoubleDouble>], by: &[DoubleDouble]| -> Vec<DoubleDouble> {
            (0..n).map(|i| from.iter().zip(by).map(|(v, b)| v[i] * *b).sum()).collect()
        };
        let vectors: Vec<_> = ritz.vectors.iter().map(|by| mix(&basis, by)).collect();
        let residual = |(value, by): (&DoubleDouble, &Vec<DoubleDouble>)| {
            let (image, vector) = (mix(&images, by), mix(&basis, by));
            norm(image.iter().zip(&vector).map(|(a, v)| *a - *value * *v))
        };
        let residuals: Vec<f64> = ritz.values.iter().zip(&ritz.vectors).map(residual).collect();
        let all = residuals.iter().map(|r| r * r).sum::<f64>().sqrt();
        let floor = matrix.error() + ritz.error;
        // The next eigenvalue, by f64, with room for its error.
        let next = eigen.S()[n - 1 - m] + 1e-13 * n as f64;
        let error = |value: &DoubleDouble| {
            let gap = value.to_f64() - next;
            floor + if gap > 0.0 { (all * all / gap).min(all) } else { all }
        };
        Truth {
            unit,
            errors: ritz.values.iter().map(error).collect(),
            distance: all + floor,
            values: ritz.values,
            vectors,
            complete: false,
            beyond: None,
            image: Image::Matrix(matrix),
        }
    }

    /// XX' + cI of whole numbers, centred: its eigenvalues are those of X'HX with c added, c, and 0.
    fn of_whole(x: &Points<f64>, shift: f64) -> Option<Self> {
        let rows = centred(known(x));
        let (small, unit) = scatter(&rows).in_unit();
        let pairs = small.eigen();
        let rows: Vec<Vec<DoubleDouble>> = rows.iter().map(|r| r.iter().map(|v| v.value).collect()).collect();
        let vectors = pairs.vectors.iter().map(|w| {
            let v: Vec<DoubleDouble> = rows.iter().map(|row| product(row, w)).collect();
            let length = product(&v, &v).sqrt();
            v.into_iter().map(|v| v / length).collect()
        });
        let vectors: Vec<Vec<DoubleDouble>> = vectors.collect();
        // Directions without variance do not exist: keep those before them.
        let shift = shift / unit;
        let real = pairs.values.iter().take_while(|v| v.to_f64() > 1e-20).count();
        let least = pairs.values.get(real.checked_sub(1)?)?.to_f64();
        let error = pairs.error + 1e-28 * (1.0 + shift);
        Some(Truth {
            unit,
            values: pairs.values[..real].iter().map(|v| *v + shift.into()).collect(),
            vectors: vectors[..real].to_vec(),
            errors: vec![error; real],
            distance: error / least,
            complete: false,
            beyond: Some(shift),
            image: Image::Inner {
                rows: rows.iter().map(|r| r.iter().map(|v| v.times_power_of_two(root(unit))).collect()).collect(),
                shift,
            },
        })
    }

    /// |A u - value u|, in the unit, and what is not known of it.
    pub fn residual(&self, value: f64, u: &[f64]) -> (f64, f64) {
        let u: Vec<DoubleDouble> = u.iter().map(|v| (*v).into()).collect();
        let value = DoubleDouble::from(value).times_power_of_two(1.0 / self.unit);
        let image = match &self.image {
            Image::Matrix(matrix) => matrix.times(&u),
            Image::Inner { rows, shift } => {
                let mut along = vec![DoubleDouble::from(0.0); rows[0].len()];
                for (row, v) in rows.iter().zip(&u) {
                    along.iter_mut().zip(row).for_each(|(s, x)| *s = *s + *x * *v);
                }
                let mean = u.iter().copied().sum::<DoubleDouble>() / (u.len() as f64).into();
                rows.iter().zip(&u).map(|(row, v)| product(row, &along) + (*v - mean) * (*shift).into()).collect()
            }
        };
        let gap = norm(image.iter().zip(&u).map(|(a, u)| *a - value * *u));
        (gap, self.distance.min(self.floor()) + self.floor())
    }

    /// What is not known of products with the matrix.
    fn floor(&self) -> f64 {
        match &self.image {
            Image::Matrix(matrix) => matrix.error() + 1e-28 * matrix.n() as f64,
            Image::Inner { rows, .. } => 1e-26 * rows.len() as f64,
        }
    }
}

/// 2^(-e/2) for 2^e, which has an even exponent.
fn root(unit: f64) -> f64 {
    2f64.powi(-(unit.log2() as i32) / 2)
}

/// The length of a vector.
pub fn norm(v: impl Iterator<Item = DoubleDouble>) -> f64 {
    let v: Vec<DoubleDouble> = v.collect();
    let largest = v.iter().map(|v| v.to_f64().abs()).fold(0.0, f64::max);
    if largest == 0.0 {
        return 0.0;
    }
    let unit = 2f64.powi(-(largest.log2().floor().max(-1000.0) as i32));
    let scaled: Vec<DoubleDouble> = v.iter().map(|v| v.times_power_of_two(unit)).collect();
    product(&scaled, &scaled).sqrt().to_f64() / unit
}

/// The same space with orthonormal vectors.
pub fn orthonormal(mut vectors: Vec<Vec<DoubleDouble>>) -> Vec<Vec<DoubleDouble>> {
    for j in 0..vectors.len() {
        for _twice in 0..2 {
            let (before, rest) = vectors.split_at_mut(j);
            for other in before.iter() {
                let along = product(other, &rest[0]);
                rest[0].iter_mut().zip(other).for_each(|(v, o)| *v = *v - along * *o);
            }
            let length = product(&rest[0], &rest[0]).sqrt();
            if length.to_f64() > 0.0 {
                rest[0].iter_mut().for_each(|v| *v = *v / length);
            }
        }
    }
    vectors
}

type Rows = Vec<Vec<Ball>>;

fn known(x: &Points<f64>) -> Rows {
    x.rows().map(|row| row.iter().map(|v| Ball::from(*v)).collect()).collect()
}

/// Rows less their mean. The first row is subtracted before, so that what does not vary is 0 without an error.
fn centred(mut rows: Rows) -> Rows {
    let (n, d) = (Ball::from(rows.len() as f64), rows[0].len());
    for j in 0..d {
        let first = rows[0][j];
        rows.iter_mut().for_each(|row| row[j] = row[j] - first);
        let varies = rows.iter().any(|row| row[j].value.to_f64() != 0.0);
        if varies {
            let mean = rows.iter().fold(Ball::from(0.0), |sum, row| sum + row[j]) / n;
            rows.iter_mut().for_each(|row| row[j] = row[j] - mean);
        }
    }
    rows
}

/// Rows less their mean if so, each column divided by its standard deviation, or its root mean square.
fn standardised(rows: Rows, center: bool) -> Rows {
    let n = rows.len() as f64;
    let mut rows = if center { centred(rows) } else { rows };
    let divisor = if center { (n - 1.0).max(1.0) } else { n };
    for j in 0..rows[0].len() {
        let square = rows.iter().fold(Ball::from(0.0), |sum, row| sum + row[j] * row[j]);
        if square.value.to_f64() > 0.0 {
            let scale = (square / divisor.into()).sqrt();
            rows.iter_mut().for_each(|row| row[j] = row[j] / scale);
        }
    }
    rows
}

/// The rows whose scatter PCA decomposes.
fn features(pca: &Pca, x: &Points<f64>) -> Rows {
    let rows = match pca.get_embedding() {
        Embedding::Identity => known(x),
        Embedding::Monomials(_) => {
            // "monomials:DEGREE:OFFSET"
            let text = pca.get_embedding().to_string();
            let numbers: Vec<f64> = text.split(':').skip(1).map(|t| t.parse().expect("a number")).collect();
            let (degree, offset) = (numbers[0] as u32, numbers.get(1).copied().unwrap_or(0.0));
            known(x).into_iter().map(|row| monomials(row, degree, offset)).collect()
        }
        _ => unreachable!("the campaign has no other embedding"),
    };
    match (pca.get_standardise(), pca.get_center()) {
        (true, center) => standardised(rows, center),
        (false, true) => centred(rows),
        (false, false) => rows,
    }
}

/// All monomials of a degree, weighted (MATHS.md, M4), in descending order of exponents.
fn monomials(mut x: Vec<Ball>, degree: u32, offset: f64) -> Vec<Ball> {
    if offset > 0.0 {
        x.push(Ball::from(offset).sqrt());
    }
    let mut all = Vec::new();
    below(&x, degree, 1.0, Ball::from(1.0), &mut all);
    all
}

/// Monomials of the last variables: `ways` is the multinomial coefficient so far, of which the root is taken at the end.
fn below(x: &[Ball], left: u32, ways: f64, product: Ball, all: &mut Vec<Ball>) {
    if x.len() == 1 {
        let last = (0..left).fold(product, |p, _| p * x[0]);
        all.push(last * Ball::from(ways).sqrt());
        return;
    }
    for take in (0..=left).rev() {
        let taken = (0..take).fold(product, |p, _| p * x[0]);
        // C(left, take), exact for the small degrees here.
        let choose = (0..take).fold(1.0, |c, i| c * f64::from(left - i) / f64::from(i + 1));
        below(&x[1..], left - take, ways * choose, taken, all);
    }
}

/// X'X.
fn scatter(rows: &Rows) -> Symmetric {
    Symmetric::from_fn(rows[0].len(), |i, j| rows.iter().fold(Ball::from(0.0), |sum, row| sum + row[i] * row[j]))
}
