//! The textbook in plain loops: the reference that all other code is compared with.

use crate::kernel::Kernel;
use crate::points::Points;

/// Eigenvalues, descending, and eigenvectors (rows of the result) of a symmetric matrix by cyclic Jacobi rotations, the
/// simplest method and the one with the highest relative accuracy.
pub fn eigen(matrix: &Points<f64>) -> (Vec<f64>, Points<f64>) {
    let n = matrix.n();
    let mut a: Vec<Vec<f64>> = matrix.rows().map(<[f64]>::to_vec).collect();
    let mut v: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _sweep in 0..60 {
        let mut rotated = false;
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q].abs() <= 1e-17 * (a[p][p].abs().sqrt() * a[q][q].abs().sqrt()) || a[p][q] == 0.0 {
                    continue;
                }
                rotated = true;
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for i in 0..n {
                    (a[i][p], a[i][q]) = (c * a[i][p] - s * a[i][q], s * a[i][p] + c * a[i][q]);
                }
                for i in 0..n {
                    (a[p][i], a[q][i]) = (c * a[p][i] - s * a[q][i], s * a[p][i] + c * a[q][i]);
                    (v[p][i], v[q][i]) = (c * v[p][i] - s * v[q][i], s * v[p][i] + c * v[q][i]);
                }
                (a[p][q], a[q][p]) = (0.0, 0.0);
            }
        }
        if !rotated {
            break;
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[j][j].total_cmp(&a[i][i]));
    let values = order.iter().map(|&i| a[i][i]).collect();
    (values, Points::from_fn(n, n, |i, j| v[order[i]][j]))
}

/// The Gram matrix K_ij = k(x_i, x_j).
pub fn gram(kernel: &Kernel, x: &Points<f64>) -> Points<f64> {
    Points::from_fn(x.n(), x.n(), |i, j| kernel.eval(x.row(i), x.row(j)))
}

/// HKH, by two multiplications with H.
pub fn centred(k: &Points<f64>) -> Points<f64> {
    let n = k.n();
    let h = |i: usize, j: usize| f64::from(u8::from(i == j)) - 1.0 / n as f64;
    let hk: Points<f64> = Points::from_fn(n, n, |i, j| (0..n).map(|l| h(i, l) * k.row(l)[j]).sum());
    Points::from_fn(n, n, |i, j| (0..n).map(|l| hk.row(i)[l] * h(l, j)).sum())
}

/// Kernel PCA: eigenvalues of HKH and scores of the fitted points for k components.
pub fn kernel_pca(kernel: &Kernel, x: &Points<f64>, k: usize) -> (Vec<f64>, Points<f64>) {
    let (values, vectors) = eigen(&centred(&gram(kernel, x)));
    let scores = Points::from_fn(x.n(), k, |i, j| vectors.row(j)[i] * values[j].max(0.0).sqrt());
    (values[..k].to_vec(), scores)
}

/// Scores of one new point, every centring term of the textbook written out.
pub fn project(kernel: &Kernel, x: &Points<f64>, new: &[f64], k: usize) -> Vec<f64> {
    let (n, gram) = (x.n(), gram(kernel, x));
    let (values, vectors) = eigen(&centred(&gram));
    let row: Vec<f64> = x.rows().map(|p| kernel.eval(new, p)).collect();
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let grand = mean(gram.as_slice());
    (0..k)
        .map(|j| {
            (0..n)
                .map(|i| {
                    let centred = row[i] - mean(&row) - mean(gram.row(i)) + grand;
                    vectors.row(j)[i] / values[j].sqrt() * centred
                })
                .sum()
        })
        .collect()
}

/// Mean and covariance with divisor n - 1, and its eigenpairs.
pub fn pca(x: &Points<f64>) -> (Vec<f64>, Vec<f64>, Points<f64>) {
    let (n, d) = (x.n(), x.d());
    let mean: Vec<f64> = (0..d).map(|j| x.rows().map(|r| r[j]).sum::<f64>() / n as f64).collect();
    let covariance = Points::from_fn(d, d, |a, b| {
        x.rows().map(|r| (r[a] - mean[a]) * (r[b] - mean[b])).sum::<f64>() / (n - 1) as f64
    });
    let (values, axes) = eigen(&covariance);
    (mean, values, axes)
}
