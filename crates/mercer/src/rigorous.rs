//! Certificates in which all rounding is enclosed: that of kernel values and sums, and that of the decomposition
//! (MATHS.md, M27). They take about a thousand times the arithmetic of the numbers they are about.

use rayon::prelude::*;

use crate::ball::{Ball, DoubleDouble, ROUNDING, Symmetric, product};
use crate::block::Block;
use crate::eigen::{Certificate, Enclosed};
use crate::embedding::Embedding;
use crate::error::{Error, ErrorKind, ErrorSubject, Result};
use crate::exec::Exec;
use crate::features::{Features, Standardise};
use crate::kernel_pca::KernelPcaModel;
use crate::model::AnyModel;
use crate::pca::PcaModel;
use crate::points::{Points, PointsRef};
use crate::real::{Real, SQUARABLE};
use crate::spec::Spec;

/// The most rows of a matrix: 5,000 points of a kernel, or the smaller of points and dimensions for PCA.
const MOST_ROWS: usize = 5000;
/// The most products in twice the precision, n d min(n, d) for PCA: a few minutes.
const MOST_PRODUCTS: f64 = 2e10;
/// Bytes per entry of the matrix: in twice the precision with and without its error, and twice in f64.
const BYTES_PER_ENTRY: u128 = 64;

impl AnyModel {
    /// Returns the same model with a certificate in which all rounding is enclosed, given the points that it was fitted to, or
    /// the Gram matrix. Nothing is assumed but that sums, products and roots of f64 are rounded correctly. It is about a
    /// model of any origin, also one that was computed elsewhere.
    ///
    /// At most 5,000 points for kernel PCA; for PCA, at most 5,000 points or dimensions, whichever is less, and
    /// n d min(n, d) of at most 2e10.
    ///
    /// # Errors
    /// When the problem is larger than that, or needs more memory than the budget; for landmarks and embeddings; and when
    /// the points are not those of the fit.
    ///
    /// # Example
    /// ```
    /// use mercer::{AnyModel, Exec, Gamma, Kernel, KernelPca, Points};
    /// let x = Points::from_fn(60, 2, |i, j| ((i * (j + 2)) as f64).sin());
    /// let model = AnyModel::KernelPca(KernelPca::new(Kernel::gaussian(Gamma::Median)).components(2).fit(&x)?);
    /// let rigorous = model.certify(&x, &Exec::new())?;
    /// let certificate = rigorous.certificate().expect("kernel PCA has one");
    /// assert!(certificate.is_rigorous() && certificate.worst() < 1e-14);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn certify<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<AnyModel> {
        let x = points.into();
        x.check_dimensions(self.d())?;
        let n = self.spectrum().map_or(x.n(), |s| s.n());
        if x.n() != n {
            return Err(Error::shape("the data is not that of the fit: number of points", x.n(), n));
        }
        x.check(1)?;
        x.check_not_huge()?;
        exec.run(|| match self {
            AnyModel::Pca(model) => {
                let certificate = of_pca(model, x.to_f64(), exec)?;
                Ok(AnyModel::Pca(model.clone().with_certificate(certificate)))
            }
            AnyModel::KernelPca(model) => {
                let certificate = of_kernel_pca(model, x.to_f64(), exec)?;
                Ok(AnyModel::KernelPca(model.clone().with_certificate(certificate)))
            }
            AnyModel::Nystroem(_) => Err(unsupported("features of a kernel have no certificate", "use kernel PCA")),
        })
    }
}

fn unsupported(what: impl Into<String>, remedy: &str) -> Error {
    ErrorKind::Unsupported { what: what.into(), remedy: remedy.into() }.into()
}

impl Spec {
    /// Refuses what [`AnyModel::certify`] cannot do for n points of d dimensions, before a fit takes its time.
    ///
    /// # Errors
    /// As [`AnyModel::certify`].
    pub fn check_certifiable(&self, n: usize, d: usize, exec: &Exec) -> Result<()> {
        match self {
            Spec::Pca(pca) => check_pca(pca.get_embedding(), n, d, exec),
            Spec::KernelPca(_) => check_rows(n, exec),
        }
    }
}

/// Refuses a matrix of too many rows.
fn check_rows(rows: usize, exec: &Exec) -> Result<()> {
    if rows > MOST_ROWS {
        let what =
            format!("rigorous error bounds are for matrices of at most {MOST_ROWS} rows, and this one has {rows}");
        return Err(unsupported(what, "use the ordinary error bounds, or fewer points"));
    }
    let bytes = BYTES_PER_ENTRY * (rows as u128).pow(2);
    exec.allow(bytes, format!("a matrix of {rows} rows in twice the precision"), "raise the memory budget")
}

/// Refuses a PCA that takes too long.
fn check_pca(embedding: &Embedding, n: usize, d: usize, exec: &Exec) -> Result<()> {
    if *embedding != Embedding::Identity {
        let what = format!("there are no rigorous error bounds for the embedding {embedding}");
        return Err(unsupported(what, "use the polynomial kernel"));
    }
    let small = n.min(d);
    check_rows(small, exec)?;
    let products = n as f64 * d as f64 * small as f64;
    if products > MOST_PRODUCTS {
        let what = format!("rigorous error bounds of {n} points of {d} dimensions take {products:.0e} products");
        return Err(unsupported(what, "use the ordinary error bounds, or fewer points"));
    }
    exec.allow(16 * n as u128 * d as u128, "the points in twice the precision", "raise the memory budget")
}

fn of_kernel_pca(model: &KernelPcaModel, x: Points<f64>, exec: &Exec) -> Result<Certificate> {
    if !model.is_exact() {
        let what = "rigorous error bounds are for exact components, and these are by landmarks";
        return Err(unsupported(what, "fit without landmarks"));
    }
    let n = x.n();
    check_rows(n, exec)?;
    let seen = match model.features() {
        Features::Kernel { rows, standardise, .. } => {
            let seen = Standardise::apply(standardise.as_ref(), x.view());
            if seen.as_slice() != rows.points().as_slice() {
                return Err(Error::inconsistent(
                    "the data is not that of the fit: points differ from those of the model",
                ));
            }
            seen
        }
        Features::KernelFn { .. } | Features::GramRow { .. } | Features::Explicit { .. } => x,
    };
    let balls: Vec<Vec<Ball>> = seen.rows().map(|row| row.iter().map(|v| Ball::from(*v)).collect()).collect();
    let entry = |i: usize, j: usize| match model.features() {
        Features::Kernel { bound, .. } => bound.kernel().ball_up_to_centring(&balls[i], &balls[j]),
        // The matrix is what it is; what is decomposed is its symmetric part.
        Features::KernelFn { kernel, .. } => {
            half_sum(kernel(seen.row(i), seen.row(j)), kernel(seen.row(j), seen.row(i)))
        }
        Features::GramRow { .. } | Features::Explicit { .. } => half_sum(seen.row(i)[j], seen.row(j)[i]),
    };
    let gram = Symmetric::from_fn(n, entry);
    exec.check_cancelled()?;
    if !(gram.error().is_finite() && gram.largest().is_finite()) {
        return Err(unsupported("a kernel value has no bound on its error", "use the ordinary certificate"));
    }
    let (gram, unit) = gram.in_unit();
    let gram = gram.centred(); // M7  K~ = HKH
    let alpha = model.alpha();
    let vectors: Vec<Vec<DoubleDouble>> = (0..alpha.d()).map(|j| unit_vector(&alpha.column(j))).collect();
    let images = gram.times_each(&vectors);
    let values: Vec<f64> = model.spectrum().eigenvalues().iter().map(|v| v / unit).collect();
    let deflation = Block::from_fn(n, values.len(), |i, j| vectors[j][i].to_f64() * values[j].max(0.0).sqrt());
    let error = gram.error() + of_products(n, gram.frobenius());
    // Scores and eigenvectors are products of these weights with roots, rounded.
    let moved = 2.0 * f64::EPSILON;
    let pairs = Enclosed {
        values: &values,
        vectors: &vectors,
        images: &images,
        error,
        matrix: &gram,
        deflation,
        size: n,
        moved,
    };
    Ok(pairs.certificate(model.certificate().passes(), exec)?.in_units_of(unit))
}

fn of_pca(model: &PcaModel, x: Points<f64>, exec: &Exec) -> Result<Certificate> {
    let (n, d) = (x.n(), x.d());
    check_pca(model.embedding(), n, d, exec)?;
    // Largest values of about 1: a power of two changes no digit, and its square divides eigenvalues exactly.
    let largest = x.as_slice().iter().fold(0.0f64, |m, v| m.max(v.abs()));
    if largest > 0.0 && !SQUARABLE.contains(&largest) {
        return Err(ErrorKind::Range { what: ErrorSubject::Points, magnitude: largest }.into());
    }
    let unit = match model.is_standardised() || largest == 0.0 {
        true => 1.0,
        false => 2f64.powi(largest.log2().floor() as i32),
    };
    let columns: Vec<Column> = (0..d)
        .into_par_iter()
        .map(|j| Column::new(&x.column(j), unit, model.is_centered(), model.is_standardised()))
        .collect();
    let norm = |part: fn(&Column) -> f64| columns.iter().map(part).map(|v| v * v).sum::<f64>().sqrt();
    let (size, moved) = (norm(|c| c.norm), norm(|c| c.error));
    let terms = if d <= n { n } else { d };
    let matrix = match d <= n {
        true => Symmetric::from_fn(d, |i, j| exact(product(&columns[i].values, &columns[j].values))),
        false => {
            Symmetric::from_fn(n, |i, j| exact(columns.iter().map(|c| c.values[i] * c.values[j]).sum::<DoubleDouble>()))
        }
    };
    // |dS| <= 2 |X| |dX| + |dX|^2, and the rounding of the sums.
    let matrix = matrix.with_error((2.0 * size + moved) * moved * 1.01 + of_products(terms, size * size));
    exec.check_cancelled()?;
    if !matrix.error().is_finite() {
        return Err(unsupported("the sums have no bound on their error", "rescale the columns"));
    }
    let axes = model.axes();
    let vectors: Vec<Vec<DoubleDouble>> = (0..axes.n()).map(|j| unit_vector(axes.row(j))).collect();
    let values: Vec<f64> = model.spectrum().eigenvalues().iter().map(|v| v / (unit * unit)).collect();
    let (images, deflation) = match d <= n {
        true => {
            let deflation = |i: usize, j: usize| vectors[j][i].to_f64() * values[j].max(0.0).sqrt();
            (matrix.times_each(&vectors), Block::from_fn(d, values.len(), deflation))
        }
        false => {
            let scores: Vec<Vec<DoubleDouble>> = vectors
                .par_iter()
                .map(|v| (0..n).map(|i| columns.iter().zip(v).map(|(c, v)| c.values[i] * *v).sum()).collect())
                .collect();
            let images = scores.par_iter().map(|s| columns.iter().map(|c| product(&c.values, s)).collect()).collect();
            (images, Block::from_fn(n, values.len(), |i, j| scores[j][i].to_f64()))
        }
    };
    let error = matrix.error() + 2.0 * of_products(n.max(d), size * size);
    let pairs = Enclosed {
        values: &values,
        vectors: &vectors,
        images: &images,
        error,
        matrix: &matrix,
        deflation,
        size: d,
        moved: 0.0,
    };
    Ok(pairs.certificate(model.certificate().passes(), exec)?.in_units_of(unit * unit))
}

/// One column less its mean and divided by its scale.
struct Column {
    values: Vec<DoubleDouble>,
    /// The root of the sum of the squares, and a bound on the same of the errors.
    norm: f64,
    error: f64,
}

impl Column {
    fn new(column: &[f64], unit: f64, center: bool, standardise: bool) -> Self {
        let n = column.len() as f64;
        let largest = column.iter().fold(0.0f64, |m, v| m.max(v.abs())) / unit;
        let is_constant = column.iter().all(|v| *v == column[0]);
        let mut values: Vec<DoubleDouble> = column.iter().map(|v| DoubleDouble::from(v / unit)).collect();
        let mut error = 0.0;
        if center {
            let mean = values.iter().copied().sum::<DoubleDouble>() / n.into();
            let mean = if is_constant { values[0] } else { mean };
            values.iter_mut().for_each(|v| *v = *v - mean);
            error = n.sqrt() * (n + 8.0) * ROUNDING * largest;
        }
        let mut norm = product(&values, &values).sqrt();
        if standardise && norm.to_f64() > 0.0 && !(center && is_constant) {
            let divisor = if center { n - 1.0 } else { n };
            let scale = norm / DoubleDouble::from(divisor).sqrt();
            values.iter_mut().for_each(|v| *v = *v / scale);
            // The scale has the relative error of the column, and the rounding of its sum.
            let relative = 2.0 * error / norm.to_f64() + (n + 16.0) * ROUNDING;
            norm = DoubleDouble::from(divisor).sqrt();
            error = relative * norm.to_f64();
        }
        let norm = norm.to_f64() * (1.0 + 1e-12);
        Column { values, norm, error: (error + 8.0 * ROUNDING * norm) * 1.01 }
    }
}

/// A bound on the error of sums of so many products in twice the precision, of vectors whose norms have this product.
fn of_products(terms: usize, sizes: f64) -> f64 {
    (terms as f64 + 8.0) * ROUNDING * sizes
}

fn exact(value: DoubleDouble) -> Ball {
    Ball { value, error: 0.0 }
}

/// (a + b) / 2
fn half_sum(a: f64, b: f64) -> Ball {
    let sum = DoubleDouble::from(a) + b.into();
    Ball { value: sum.times_power_of_two(0.5), error: ROUNDING * sum.to_f64().abs() }
}

/// A vector divided by its length.
fn unit_vector(v: &[f64]) -> Vec<DoubleDouble> {
    let largest = v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let unit = if largest > 0.0 { 2f64.powi(largest.log2().floor() as i32) } else { 1.0 };
    let v: Vec<DoubleDouble> = v.iter().map(|v| DoubleDouble::from(v / unit)).collect();
    let length = product(&v, &v).sqrt();
    if length.to_f64() > 0.0 { v.into_iter().map(|v| v / length).collect() } else { v }
}
