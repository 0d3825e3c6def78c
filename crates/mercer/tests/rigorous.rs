//! Certificates in which all rounding is enclosed, against eigenpairs of 28 digits.
#![allow(missing_docs)]

use mercer::certificate::{BoundKind, Confidence};
use mercer::kernel::registry::KERNELS;
use mercer::testing::conformance;
use mercer::testing::double_double::DoubleDouble;
use mercer::testing::matrices::normal;
use mercer::testing::reference::{self, Ball, Symmetric, product};
use mercer::{AnyModel, Certificate, Exec, Kernel, KernelPca, Landmarks, Pca, Points};

/// The exact centred Gram matrix, of the kernel as the model has it.
fn centred_gram(kernel: &Kernel, x: &Points) -> Symmetric {
    let balls: Vec<Vec<Ball>> = x.rows().map(|row| row.iter().map(|v| Ball::from(*v)).collect()).collect();
    Symmetric::from_fn(x.n(), |i, j| reference::kernel_up_to_centring(kernel, &balls[i], &balls[j])).centred()
}

/// Everything that the certificate says holds; returns the ratios of its bounds and the errors of the eigenvalues.
fn check(
    what: &str,
    certificate: &Certificate,
    shown: &[f64],
    vectors: &[Vec<f64>],
    (exact, unit): (&Symmetric, f64),
) -> Vec<f64> {
    assert!(certificate.is_rigorous(), "{what}");
    assert!(certificate.statements().iter().all(|s| s.confidence == Confidence::Theorem), "{what}");
    let (truth, k) = (exact.eigen(), shown.len());
    let mut ratios = Vec::new();
    for j in 0..k {
        let (below, above) = certificate.enclosure(j);
        let (below, above, value) = (below / unit, above / unit, shown[j] / unit);
        let off = (truth.values[j] - value.into()).to_f64();
        assert!(off >= -below - truth.error && off <= above + truth.error, "{what}, {j}: {off:e} {below:e} {above:e}");
        if off.abs() > 100.0 * truth.error {
            ratios.push(certificate.radius(j) / unit / off.abs());
        }
        let u: Vec<DoubleDouble> = vectors[j].iter().map(|v| DoubleDouble::from(*v)).collect();
        let length = product(&u, &u).sqrt();
        let residual: DoubleDouble =
            exact.times(&u).iter().zip(&u).map(|(a, u)| *a - *u * value.into()).map(|r| r * r).sum();
        let residual = (residual.sqrt() / length).to_f64();
        assert!(residual <= certificate.residuals()[j] / unit * (1.0 + 1e-9), "{what}, {j}: {residual:e}");
    }
    if let Some(next) = truth.values.get(k) {
        assert!(next.to_f64() <= certificate.missed() / unit + truth.error, "{what}: {:e}", next.to_f64());
    }
    for cluster in certificate.clusters().iter().filter(|c| c.sine < 1.0) {
        // What of each vector lies outside of the exact space.
        for v in &vectors[cluster.first..=cluster.last] {
            let v: Vec<DoubleDouble> = v.iter().map(|v| DoubleDouble::from(*v)).collect();
            let inside: DoubleDouble =
                (cluster.first..=cluster.last).map(|i| product(&truth.vectors[i], &v)).map(|p| p * p).sum();
            let outside = (DoubleDouble::from(1.0) - inside / product(&v, &v)).to_f64().max(0.0).sqrt();
            assert!(outside <= cluster.sine + 1e-13, "{what}: {outside:e} {:e}", cluster.sine);
        }
    }
    ratios
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

#[test]
fn kernel_pca_of_every_kernel_is_enclosed() {
    let mut ratios = Vec::new();
    for entry in KERNELS {
        let x = conformance::points(entry.domain, 3, 7);
        for kernel in conformance::examples(entry, 3) {
            let model = KernelPca::new(kernel.clone()).components(3).fit(&x).expect("fits");
            let numbers = model.kernel().expect("a kernel").clone();
            let certified = AnyModel::KernelPca(model.clone()).certify(&x, &Exec::new()).expect("certified");
            let certificate = certified.certificate().expect("a certificate");
            let vectors: Vec<Vec<f64>> = (0..model.components()).map(|j| model.alpha().column(j)).collect();
            let exact = centred_gram(&numbers, &x);
            let found =
                check(&kernel.to_string(), certificate, model.spectrum().eigenvalues(), &vectors, (&exact, 1.0));
            assert!(certificate.worst() <= model.certificate().worst() * 1.001, "{kernel}");
            ratios.extend(found);
        }
    }
    let median = median(ratios);
    assert!(median < 10.0, "the median of bound and error is {median}");
}

#[test]
fn pca_is_enclosed_whatever_its_shape() {
    let mut ratios = Vec::new();
    let far = Points::from_fn(40, 4, |i, j| 1e7 + ((i * (j + 2)) as f64).sin() * 10f64.powi(-(j as i32)));
    let flat = Points::from_fn(30, 3, |i, j| if j == 2 { 5.0 } else { ((i * (j + 1)) as f64).cos() });
    for (what, x) in [
        ("tall", normal(80, 6, 1)),
        ("wide", normal(12, 30, 2)),
        ("square", normal(15, 15, 3)),
        ("far", far),
        ("flat", flat),
        ("tiny", Points::from_fn(30, 4, |i, j| 1e-120 * ((i * (j + 2)) as f64).sin())),
    ] {
        for k in [1, 3] {
            for standardise in [false, true] {
                let model = Pca::new().components(k).standardise(standardise).fit(&x).expect("fits");
                let certified = AnyModel::Pca(model.clone()).certify(&x, &Exec::new()).expect("certified");
                let certificate = certified.certificate().expect("a certificate");
                let vectors: Vec<Vec<f64>> = model.axes().rows().map(<[f64]>::to_vec).collect();
                let values = model.spectrum().eigenvalues();
                let (exact, unit) = reference::scatter(&x, standardise);
                ratios.extend(check(what, certificate, values, &vectors, (&exact, unit)));
            }
        }
    }
    let median = median(ratios);
    assert!(median < 10.0, "the median of bound and error is {median}");
}

#[test]
fn equal_eigenvalues_and_given_matrices_are_enclosed() {
    // Four corners: two equal eigenvalues.
    let x = Points::from_rows(&[[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]);
    for k in [1, 2] {
        let model = AnyModel::Pca(Pca::new().components(k).fit(&x).expect("fits"));
        let certified = model.certify(&x, &Exec::new()).expect("certified");
        let certificate = certified.certificate().expect("a certificate");
        let (below, above) = certificate.enclosure(0);
        assert!(below < 1e-14 && above < 1e-6, "{below:e} {above:e}");
        assert_eq!(certificate.kind(), if k == 1 { BoundKind::Cholesky } else { BoundKind::AllPairs });
        assert_eq!(certificate.clusters()[0].sine < 1.0, k == 2, "one of two equal directions is not determined");
    }
    let points = normal(25, 3, 8);
    let gram = Points::from_fn(25, 25, |i, j| {
        (-0.3 * (0..3).map(|l| (points.row(i)[l] - points.row(j)[l]).powi(2)).sum::<f64>()).exp()
    });
    let model = KernelPca::custom().components(4).fit_gram(&gram).expect("fits");
    assert!(model.certificate().statements().iter().any(|s| s.confidence == Confidence::Estimate));
    let certified = AnyModel::KernelPca(model.clone()).certify(&gram, &Exec::new()).expect("certified");
    let exact = Symmetric::from_fn(25, |i, j| gram.row(i)[j].into()).centred();
    let vectors: Vec<Vec<f64>> = (0..4).map(|j| model.alpha().column(j)).collect();
    let certificate = certified.certificate().expect("a certificate");
    check("given", certificate, model.spectrum().eigenvalues(), &vectors, (&exact, 1.0));
}

#[test]
fn wrong_numbers_get_wide_bounds_and_what_is_not_possible_is_refused() {
    let x = normal(50, 3, 4);
    let exec = Exec::new();
    let kernel: Kernel = "gaussian(gamma=0.5)".parse().expect("a kernel");
    let model = KernelPca::new(kernel.clone()).components(2).fit(&x).expect("fits");
    let mut parts = model.to_parts().expect("parts");
    parts.eigenvalues[0] *= 1.0 + 1e-6;
    let wrong = AnyModel::KernelPca(mercer::KernelPcaModel::from_parts(parts).expect("a model"));
    let certified = wrong.certify(&x, &exec).expect("certified");
    let certificate = certified.certificate().expect("a certificate");
    assert!(certificate.radius(0) >= 0.999e-6 * model.spectrum().eigenvalues()[0]);
    // A saved certificate says that it is rigorous.
    let text = serde_json::to_string(certificate).expect("JSON");
    let back: Certificate = serde_json::from_str(&text).expect("a certificate");
    assert!(back.is_rigorous() && back == *certificate);

    let refused = |model: &AnyModel, x: &Points, what: &str| {
        let error = model.certify(x, &exec).expect_err(what);
        assert!(error.to_string().contains(what), "{error}");
    };
    let exact = AnyModel::KernelPca(model);
    refused(&exact, &normal(50, 3, 5), "not that of the fit");
    refused(&exact, &normal(49, 3, 4), "not that of the fit");
    let few = KernelPca::new(kernel).components(2).landmarks(Landmarks::KMeans(10)).fit(&x).expect("fits");
    refused(&AnyModel::KernelPca(few), &x, "landmarks");
    let embedded = Pca::new().embed(mercer::Embedding::monomials(2)).components(2).fit(&x).expect("fits");
    refused(&AnyModel::Pca(embedded), &x, "embedding");
    let large = normal(5001, 1, 1);
    let model = KernelPca::new(Kernel::linear()).components(1).fit(&large).expect("fits");
    refused(&AnyModel::KernelPca(model), &large, "at most 5000 rows");
    assert!(exact.certify(&x, &Exec::new().memory(1000)).is_err());
}

#[test]
fn what_is_not_known_is_not_claimed() {
    let exec = Exec::new();
    let refused_or_wide = |what: &str, kernel: &str, x: &Points, largest: f64| {
        let kernel: Kernel = kernel.parse().expect("a kernel");
        let Ok(model) = KernelPca::new(kernel).components(2).fit(x) else { return };
        let Ok(certified) = AnyModel::KernelPca(model.clone()).certify(x, &exec) else { return };
        let certificate = certified.certificate().expect("a certificate");
        // The largest eigenvalue is that of the first component, or it is said that it may have been missed.
        let found = match model.spectrum().eigenvalues().first() {
            Some(first) => certificate.interval(0, *first).1,
            None => 0.0,
        };
        let known = found.max(certificate.missed());
        assert!(known >= largest, "{what}: {known:e} where {largest:e} is true");
    };
    // A quotient by a number that may be 0, times a 0.
    let tiny = 2f64.powi(-60);
    let x = Points::from_rows(&[[1.0, tiny], [tiny, -1.0], [2.0, 1.0], [1.0, 3.0]]);
    refused_or_wide("nan", "linear * normalised(polynomial(gamma=1, coef0=-1, degree=1))", &x, 2.4e18);
    // Squares that underflow.
    let x = Points::from_fn(8, 2, |i, j| ((3 * i + 7 * j + 1) as f64).sin() * if i < 3 { 1e-170 } else { 1.0 });
    refused_or_wide("cosine", "cosine", &x, 0.0);
    let column = Points::from_fn(6, 2, |i, j| if j == 0 { 1.0 } else { 1e-165 * ((i + 1) as f64).sin() });
    refused_or_wide("rational quadratic", "rational_quadratic(alpha=1, length=1e-165)", &column, 1.0);

    // Fewer components: what is left out is missed, rounded upwards.
    let x = normal(8, 2, 3);
    let model = KernelPca::new("gaussian(gamma=0.5)".parse().expect("a kernel")).components(5).fit(&x).expect("fits");
    let certified = AnyModel::KernelPca(model.clone()).certify(&x, &exec).expect("certified");
    let AnyModel::KernelPca(certified) = certified else { panic!("kernel PCA stays what it is") };
    let truth = centred_gram(model.kernel().expect("a kernel"), &x).eigen();
    for k in 1..5 {
        let first = certified.first(k).expect("fewer");
        let above = (truth.values[k] - first.certificate().missed().into()).to_f64();
        assert!(above <= truth.error, "{k}: {above:e}");
    }
    // Axes of zeros have no residual that says anything.
    let model = Pca::new().components(2).fit(&normal(30, 3, 9)).expect("fits");
    let mut parts = model.to_parts();
    parts.axes.row_mut(1).fill(0.0);
    if let Ok(damaged) = mercer::PcaModel::from_parts(parts) {
        let certified = AnyModel::Pca(damaged).certify(&normal(30, 3, 9), &exec).expect("certified");
        let certificate = certified.certificate().expect("a certificate");
        assert!(certificate.residuals()[1] > 1.0 && certificate.clusters().iter().all(|c| c.sine >= 1.0));
    }
    // Too small to be squared.
    let small = Points::from_fn(9, 2, |i, j| 1e-170 * ((i * (j + 2)) as f64).sin());
    let model = Pca::new().components(1).fit(&normal(9, 2, 1)).expect("fits");
    assert!(AnyModel::Pca(model).certify(&small, &exec).is_err());
}
