//! Certificates of kernels on points, against all eigenpairs of the stored matrix.

use std::sync::OnceLock;

use crate::common::{digits, relative};
use crate::{blobs, centred_gram, dense, kernel, leading, true_residuals, units, violations};
use mercer::testing::matrices::{normal, rings};
use mercer::testing::ratios::sine_of_angle;
use mercer::{KernelPca, KernelPcaModel, Points, Result};

struct Fit {
    name: String,
    x: Points,
    tolerance: f64,
    model: KernelPcaModel,
    truth: KernelPcaModel,
}

/// Points by a letter: blobs, rings, normal, a grid on which many distances are equal, points twice.
fn points(letter: char, n: usize) -> Points {
    match letter {
        'b' => blobs(n, 5, 7, 11),
        'r' => rings(n, 1.0, 0.3),
        'n' => normal(n, 12, 12),
        'g' => Points::from_fn(n, 2, |i, j| if j == 0 { (i % 26) as f64 } else { (i / 26) as f64 }),
        _ => {
            let half = normal(n / 2, 3, 13);
            Points::from_fn(n, 3, |i, j| half.row(i / 2)[j])
        }
    }
}

fn fits() -> &'static Vec<Fit> {
    static FITS: OnceLock<Vec<Fit>> = OnceLock::new();
    FITS.get_or_init(|| {
        let mut fits = Vec::new();
        for (letter, n, text, ks) in [
            ('b', 650, "gaussian", &[1, 6, 30, 65][..]),
            ('b', 650, "laplacian(gamma=0.5)", &[3, 20]),
            ('b', 1100, "matern(nu=3/2)", &[6]),
            ('r', 676, "gaussian(gamma=3)", &[1, 2, 3, 12]),
            ('r', 676, "laplacian", &[1, 2, 5, 12]),
            ('r', 676, "linear", &[1, 2, 4]),
            ('n', 650, "linear", &[1, 5, 20]),
            ('n', 650, "gaussian(gamma=1)", &[5]),
            ('n', 1100, "gaussian", &[5, 40]),
            ('g', 676, "gaussian(gamma=0.05)", &[1, 3, 8]),
            ('g', 676, "linear + 10*gaussian(gamma=2)", &[2, 4]),
            ('d', 700, "gaussian", &[4, 15]),
            ('d', 700, "polynomial(degree=3, coef0=1)", &[4, 19, 25]),
        ] {
            let x = points(letter, n);
            let mut truth = None;
            for (at, k) in ks.iter().enumerate() {
                let tolerance = [1e-6, 1e-3, 1e-9][at % 3];
                let model = KernelPca::new(kernel(text)).components(*k).tolerance(tolerance).fit(&x).expect(text);
                assert!(!model.spectrum().is_complete(), "{text}");
                let truth = truth.get_or_insert_with(|| dense(&model, &x).expect(text)).clone();
                let name = format!("{letter}{n}, {text}, {k} to {tolerance:e}");
                fits.push(Fit { name, x: x.clone(), tolerance, model, truth });
            }
        }
        fits
    })
}

fn faults(check: impl Fn(&Fit) -> Vec<String>) -> Vec<String> {
    fits().iter().flat_map(|fit| check(fit).into_iter().map(|f| format!("{}: {f}", fit.name))).collect()
}

/// The error of the dense route: a few units in the last place of the largest eigenvalue.
fn own(f: &Fit) -> f64 {
    30.0 * f64::EPSILON * f.truth.spectrum().eigenvalues()[0]
}

#[test]
fn no_enclosure_excludes_an_eigenvalue_of_the_stored_matrix() {
    let wrong = faults(|f| violations(&f.model, f.truth.spectrum().eigenvalues(), own(f)));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn eigenvalues_are_good_to_the_square_of_the_tolerance() {
    let wrong = faults(|f| {
        let (found, truth) = (f.model.spectrum().eigenvalues(), f.truth.spectrum().eigenvalues());
        // Where the next eigenvalue is near, the error is of the first order.
        let k = found.len();
        let gap = truth[k - 1] - truth.get(k).copied().unwrap_or(0.0);
        if gap < 0.01 * truth[0] {
            return vec![];
        }
        let allowed = (f.tolerance * truth[0]).powi(2) * k as f64 / gap + own(f);
        let worst = found.iter().zip(truth).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        if worst <= allowed { vec![] } else { vec![format!("{worst:.2e} where {allowed:.2e} is allowed")] }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn reported_residuals_are_those_of_the_stored_matrix() -> Result<()> {
    let mut wrong = Vec::new();
    for f in fits() {
        let gram = centred_gram(&f.model, &f.x)?;
        let n = gram.n();
        let apply = |u: &[f64]| (0..n).map(|i| gram.col(i).iter().zip(u).map(|(a, u)| a * u).sum()).collect();
        let c = f.model.certificate();
        for (i, (found, truth)) in c.residuals().iter().zip(true_residuals(&f.model, apply)).enumerate() {
            if (found - truth).abs() > c.rounding() {
                wrong.push(format!("{}: residual {i} is {truth:.3e}, not {found:.3e}", f.name));
            }
            if *found > f.tolerance * f.model.spectrum().eigenvalues()[0] {
                wrong.push(format!("{}: residual {i} is {found:.3e}", f.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn the_sine_of_a_cluster_bounds_the_angle_to_the_space_of_the_stored_matrix() {
    let wrong = faults(|f| {
        let values = f.truth.spectrum().eigenvalues();
        let check = |c: &mercer::certificate::EigenvalueCluster| {
            let to = (c.last + 1).min(f.truth.components());
            let sine = sine_of_angle(&units(&f.truth, c.first, to), &units(&f.model, c.first, c.last + 1));
            let gap = values.get(c.last + 1).map_or(f64::INFINITY, |v| values[c.last] - v);
            // The dense vectors have an error of their own.
            let dense = 100.0 * f64::EPSILON * values[0] / gap.max(f64::MIN_POSITIVE);
            (c.sine < 1.0 && sine > c.sine + dense).then(|| format!("{c:?}, but the sine is {sine:.3e}"))
        };
        f.model.certificate().clusters().iter().filter_map(check).collect()
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_total_is_the_trace() {
    let wrong = faults(|f| {
        let ratio = relative(&[f.model.spectrum().total()], &[f.truth.spectrum().total()]);
        if ratio < 1e-12 { vec![] } else { vec![format!("total off by {ratio:.1e}")] }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The components explain nearly everything here, and a gap follows: enclosures must be narrow.
#[test]
fn enclosures_of_clear_components_are_narrow() -> Result<()> {
    let digits = digits().0;
    let mut wrong = Vec::new();
    for (name, x, text, k) in [
        ("digits", &digits, "gaussian", 2),
        ("digits", &digits, "gaussian", 3),
        ("digits", &digits, "linear", 3),
        ("digits", &digits, "polynomial(degree=3, coef0=1)", 2),
        ("blobs", &blobs(1500, 5, 4, 3), "gaussian", 3),
        ("blobs", &blobs(1500, 5, 4, 3), "laplacian", 3),
        ("rings", &rings(1000, 1.0, 0.3), "gaussian(gamma=3)", 1),
    ] {
        let model = leading(text, k, x)?;
        let worst = model.certificate().worst();
        if worst > 1e-6 {
            wrong.push(format!("{name}, {text}, {k}: {}", model.certificate()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

/// Residuals are a millionth of the largest eigenvalue; an enclosure as wide as a tenth of it would be useless.
#[test]
fn enclosures_of_ordinary_data_are_tight() -> Result<()> {
    let digits = digits().0;
    let mut wrong = Vec::new();
    for (name, x, text, k) in [
        ("digits", &digits, "gaussian", 5),
        ("digits", &digits, "gaussian", 10),
        ("digits", &digits, "linear", 10),
        ("digits", &digits, "gaussian + linear", 10),
        ("digits", &digits, "laplacian", 10),
        ("digits", &digits, "cosine", 10),
        ("normal", &normal(1200, 20, 5), "gaussian", 5),
        ("normal", &normal(1200, 20, 5), "linear", 1),
        ("normal", &normal(1200, 20, 5), "linear", 5),
        ("blobs", &blobs(1200, 6, 8, 1), "gaussian", 12),
    ] {
        let model = leading(text, k, x)?;
        let worst = model.certificate().worst();
        if worst > 0.1 {
            wrong.push(format!("{name}, {text}, {k}: {}", model.certificate()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

/// Most points near the middle, two small groups far out on either side of it: in f32 the points of a group fall
/// together. The better fit is in f64 alone; its eigenvalues are lower bounds.
#[test]
fn groups_that_f32_cannot_resolve_are_within_the_bound() -> Result<()> {
    let z = normal(4200, 3, 9);
    let mut wrong = Vec::new();
    for (far, width, k) in [(1e8, 0.01, 10), (1e8, 0.01, 4), (1e8, 1.0, 30), (3e7, 0.01, 10)] {
        let x = Points::from_fn(4200, 3, |i, j| {
            let (side, width) = if i < 80 {
                (far, 1.0)
            } else if i < 160 {
                (-far, 1.0)
            } else {
                (0.0, width)
            };
            width * z.row(i)[j] + if j == 0 { side } else { 0.0 }
        });
        let pca = KernelPca::new(kernel("gaussian(gamma=0.5)"));
        let model = pca.clone().components(k).fit(&x)?;
        let better = pca.components(k + 6).tolerance(1e-10).fit(&x)?;
        let found = violations(&model, better.spectrum().eigenvalues(), better.certificate().rounding());
        wrong.extend(found.into_iter().map(|f| format!("{far:e}, {width}, {k}: {f}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn passes_in_f32_are_certified_as_those_in_f64() -> Result<()> {
    let (mut wrong, mut f32) = (Vec::new(), 0);
    for (x, text, k) in [
        (blobs(4200, 10, 9, 21), "gaussian", 8),
        (blobs(4200, 10, 9, 21), "gaussian(gamma=0.2)", 12),
        (normal(4200, 6, 22), "laplacian", 4),
        (normal(4200, 6, 22), "gaussian(gamma=1e-5) + 0.001*matern", 8),
        (normal(4200, 6, 22), "polynomial(degree=2, coef0=1)", 20),
    ] {
        let pca = KernelPca::new(kernel(text));
        let model = pca.clone().components(k).fit(&x)?;
        f32 += model.certificate().passes().f32;
        let better = pca.components(k + 6).tolerance(1e-10).fit(&x)?;
        assert_eq!(better.certificate().passes().f32, 0, "{text}");
        let found = violations(&model, better.spectrum().eigenvalues(), better.certificate().rounding());
        wrong.extend(found.into_iter().map(|f| format!("{text}, {k}: {f}")));
        let gap = relative(model.spectrum().eigenvalues(), &better.spectrum().eigenvalues()[..k]);
        if gap > 1e-9 {
            wrong.push(format!("{text}, {k}: eigenvalues {gap:.1e} apart"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(f32 > 5, "{f32} passes in f32");
    Ok(())
}
