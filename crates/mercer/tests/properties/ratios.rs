//! LAPACK's ratios and the certificate, on the nasty points and matrices.

use crate::common::{ROUTES, faults_of_kernel_pca, largest};
use mercer::kernel::registry::KERNELS;
use mercer::testing::conformance;
use mercer::testing::matrices::{POINTS, SYMMETRIC, points, symmetric};
use mercer::testing::ratios::{THRESHOLD, difference, orthonormality, residual};
use mercer::testing::{naive, reference};
use mercer::{Exec, KernelPca, KernelPcaModel, Pca, Points, Result, diagnose};

/// X'X of the points less their mean.
fn scatter(x: &Points) -> Points {
    let mean = naive::pca(x).0;
    Points::from_fn(x.d(), x.d(), |a, b| x.rows().map(|r| (r[a] - mean[a]) * (r[b] - mean[b])).sum())
}

#[test]
fn axes_of_the_nasty_points_have_small_ratios() -> Result<()> {
    for number in 0..POINTS {
        let (name, x) = points(number);
        let (size, truth) = (x.n().max(x.d()), naive::pca(&x).1);
        for route in ROUTES {
            let model = Pca::new().route(route).fit(&x)?;
            let (axes, values) = (model.axes(), model.spectrum().eigenvalues());
            let ratio = residual(&scatter(&x), values, &axes);
            assert!(ratio < THRESHOLD, "{name}, {route:?}: residual {ratio}");
            let ratio = orthonormality(&axes);
            assert!(ratio < THRESHOLD, "{name}, {route:?}: orthonormality {ratio}");
            let truth: Vec<f64> = truth[..values.len()].iter().map(|v| v * (x.n() - 1) as f64).collect();
            let ratio = difference(values, &truth, size);
            assert!(ratio < THRESHOLD, "{name}, {route:?}: eigenvalues {ratio}");
            // The certificate is sharper than the oracle in f64.
            let (exact, unit) = reference::scatter(&x, false);
            let truth = exact.eigen();
            for (j, value) in values.iter().enumerate() {
                let gap = (truth.values[j] - (value / unit).into()).to_f64().abs() - truth.error;
                let radius = model.certificate().radius(j) / unit;
                assert!(gap <= radius, "{name}, {route:?}: eigenvalue {j} is {gap:e} off, radius {radius:e}");
            }
        }
    }
    Ok(())
}

/// The unit eigenvectors of a kernel model, a row each.
fn units(model: &KernelPcaModel) -> Points {
    let values = model.spectrum().eigenvalues();
    Points::from_fn(model.components(), model.n(), |j, i| model.alpha().row(i)[j] * values[j].sqrt())
}

#[test]
fn eigenpairs_of_the_nasty_matrices_have_small_ratios() -> Result<()> {
    for number in 0..SYMMETRIC {
        for n in [2, 5, 20, 60] {
            let (name, gram) = symmetric(number, n);
            let model = KernelPca::custom().fit_gram(&gram)?;
            let what = format!("{name} of size {n}");
            let faults = faults_of_kernel_pca(&model, &gram);
            assert!(faults.is_empty(), "{what}: {faults:?}");
            let (centred, values, vectors) = (naive::centred(&gram), model.spectrum().eigenvalues(), units(&model));
            // Of a matrix that centring removes, rounding is left: its norm is not what errors are measured by.
            let norm = largest(gram.as_slice()) / largest(centred.as_slice()).max(f64::MIN_POSITIVE);
            let ratio = residual(&centred, values, &vectors) / norm.max(1.0);
            assert!(ratio < THRESHOLD, "{what}: residual {ratio}");
            assert!(orthonormality(&vectors) < THRESHOLD, "{what}: orthonormality {}", orthonormality(&vectors));
            assert!(values.iter().all(|v| *v > 0.0), "{what}");
            // The oracle multiplies diagonal entries: it is asked about the same matrix at a size that it can square.
            let unit = 2f64.powi(largest(gram.as_slice()).max(f64::MIN_POSITIVE).log2().floor() as i32);
            let scaled = Points::from_fn(n, n, |i, j| gram.row(i)[j] / unit);
            let (truth, _) = naive::eigen(&naive::centred(&scaled));
            for (j, value) in values.iter().enumerate() {
                let (gap, radius) = ((value / unit - truth[j]).abs(), model.certificate().radius(j) / unit);
                assert!(gap <= radius, "{what}: eigenvalue {j} is {gap:e} off, radius {radius:e}");
            }
            let radius = model.certificate().rounding() / unit;
            assert!(truth[values.len()..].iter().all(|v| *v <= 2.0 * radius), "{what}: positive ones are left out");
            let negative = truth.iter().filter(|v| **v < -2.0 * radius).count();
            assert!(model.definiteness().expect("all eigenvalues are known").negative_count >= negative, "{what}");
            let report = diagnose::check_gram(&gram, &Exec::new())?;
            assert_eq!(
                report.centred.negative_count,
                model.definiteness().expect("all eigenvalues are known").negative_count,
                "{what}"
            );
        }
    }
    Ok(())
}

#[test]
fn the_oracle_does_not_depend_on_the_unit() {
    for number in 0..SYMMETRIC {
        let (name, matrix) = symmetric(number, 12);
        let (values, vectors) = naive::eigen(&matrix);
        let ratio = residual(&matrix, &values, &vectors);
        assert!(ratio < THRESHOLD, "{name}: residual {ratio}");
        assert!(orthonormality(&vectors) < THRESHOLD, "{name}");
    }
}

#[test]
fn the_radius_encloses_what_the_oracle_finds() -> Result<()> {
    for number in 0..POINTS {
        let (name, x) = points(number);
        for entry in KERNELS {
            let x = conformance::within(entry.domain, &x);
            let model = KernelPca::new(entry.name.parse()?).fit(&x)?;
            let kernel = model.kernel().expect("a kernel").clone();
            let gram = naive::gram(&kernel, &x);
            let given = KernelPca::custom().fit_gram(&gram)?;
            let (truth, _) = naive::eigen(&naive::centred(&gram));
            // The oracle's own rounding is that of the plain values, which are larger than ours.
            let own = given.certificate().rounding();
            for (j, value) in model.spectrum().eigenvalues().iter().enumerate() {
                let gap = (value - truth[j]).abs();
                assert!(gap <= model.certificate().radius(j) + own, "{name}, {kernel}: {j}: {gap:e}");
            }
            for (j, value) in given.spectrum().eigenvalues().iter().enumerate() {
                let (gap, radius) = ((value - truth[j]).abs(), given.certificate().radius(j));
                assert!(gap <= radius, "{name}, {kernel} given: {j}: {gap:e} {radius:e}");
            }
        }
    }
    Ok(())
}
