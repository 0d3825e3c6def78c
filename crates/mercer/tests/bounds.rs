//! Error bounds at the edges of what they have to cover, each against a value that is known exactly.
#![allow(missing_docs)]

use mercer::certificate::{About, BoundKind, Confidence};
use mercer::op::SymOp;
use mercer::testing::double_double::DoubleDouble;
use mercer::testing::matrices;
use mercer::{Block, Certificate, Csr, Exec, Kernel, KernelPca, Landmarks, Pca, PcaModel, Points, Result, Route};

/// Fails unless the exact eigenvalue lies in the enclosure of component i.
fn encloses(what: &str, certificate: &Certificate, values: &[f64], i: usize, exact: DoubleDouble) {
    let (below, above) = certificate.enclosure(i);
    let error = (DoubleDouble::from(values[i]) - exact).to_f64();
    assert!((-above..=below).contains(&error), "{what}: {error:e} is not in [-{above:e}, {below:e}]");
}

fn of_pca(what: &str, model: &PcaModel, i: usize, exact: DoubleDouble) {
    encloses(what, model.certificate(), model.spectrum().eigenvalues(), i, exact);
}

fn product(a: f64, b: f64) -> DoubleDouble {
    DoubleDouble::from(a) * DoubleDouble::from(b)
}

#[test]
fn a_component_without_variance_has_no_direction() -> Result<()> {
    let x = matrices::normal(3, 6, 1);
    for route in [Route::Auto, Route::Gram, Route::Svd, Route::Covariance] {
        let model = Pca::new().route(route).fit(&x)?;
        assert_eq!(model.components(), 3);
        let last = model.certificate().clusters().last().copied().expect("components");
        assert_eq!((last.last, last.sine), (2, 1.0), "{route:?}");
        let constant = Pca::new().route(route).fit(&Points::from_fn(3, 20, |_, _| 1.0))?;
        assert!(constant.certificate().clusters().iter().all(|c| c.sine == 1.0), "{route:?}");
    }
    // A single direction without variance, beside as many dimensions, is the normal of a plane.
    let plane =
        Points::from_fn(40, 3, |i, j| if j < 2 { x.row(i % 3)[j] * i as f64 } else { x.row(i % 3)[0] * i as f64 });
    let model = Pca::new().fit(&plane)?;
    assert!(model.certificate().clusters().last().is_some_and(|c| c.first == 2 && c.sine < 1e-6));
    Ok(())
}

#[test]
fn sparse_columns_with_one_zero() -> Result<()> {
    // S = n a^2 (1 - 1/n) / n for n - 1 times a and one 0.
    for n in [100, 1000, 20_000] {
        let x = Points::from_fn(n, 1, |i, _| if i == 0 { 0.0 } else { 1.1 });
        let model = Pca::new().route(Route::Covariance).fit_sparse(&Csr::from_points(&x)?)?;
        let exact = product(1.1, 1.1) * DoubleDouble::from((n - 1) as f64) / DoubleDouble::from(n as f64);
        of_pca(&format!("n = {n}"), &model, 0, exact);
    }
    Ok(())
}

#[test]
fn sums_of_many_and_of_unequal_numbers() -> Result<()> {
    let giants = Points::from_fn(502, 1, |i, _| match i {
        0 => 1e9,
        1 => -1e9,
        _ => [7.5, -7.5][i % 2],
    });
    let exact = DoubleDouble::from(2e18) + DoubleDouble::from(500.0 * 56.25);
    for route in [Route::Covariance, Route::Svd] {
        of_pca("giants", &Pca::new().route(route).fit(&giants)?, 0, exact);
        for batch in [1, 7, 100] {
            of_pca("giants in batches", &in_batches(&giants, batch, route)?, 0, exact);
        }
    }
    for (n, batch) in [(20_000, 1), (100_000, 1), (1_000_000, 1000)] {
        let x = Points::from_fn(n, 1, |i, _| [0.1, -0.1][i % 2]);
        let exact = product(0.1, 0.1) * DoubleDouble::from(n as f64);
        of_pca("whole", &Pca::new().fit(&x)?, 0, exact);
        of_pca("moments", &in_batches(&x, batch, Route::Covariance)?, 0, exact);
        of_pca("factor", &in_batches(&x, batch, Route::Svd)?, 0, exact);
    }
    Ok(())
}

fn in_batches(x: &Points<f64>, batch: usize, route: Route) -> Result<PcaModel> {
    let (pca, exec) = (Pca::new().route(route), Exec::new());
    let mut state = pca.state(x.d())?;
    for start in (0..x.n()).step_by(batch) {
        state.update(x.view().slice(start, x.n().min(start + batch)), &exec)?;
    }
    pca.finish(&state, &exec)
}

#[test]
fn normalised_kernels_with_small_values() -> Result<()> {
    // Of p, -p and 0 for p = 1 + e: k = (xy - 1)^2 / (|x^2 - 1| |y^2 - 1|), and x^2 - 1 has few digits left.
    for e in [1e-3, 1e-4, 1e-7, 1e-10] {
        let points = [1.0 + e, -(1.0 + e), 0.0];
        let x = Points::from_fn(3, 1, |i, _| points[i]);
        let kernel: Kernel = "normalised(polynomial(degree=2, gamma=1, coef0=-1))".parse()?;
        let model = KernelPca::new(kernel).components(1).fit(&x)?;
        let one = DoubleDouble::from(1.0);
        let inner = |a: f64, b: f64| {
            let base = product(a, b) - one;
            base * base
        };
        let norm = |a: f64| {
            let base = product(a, a) - one;
            if base.to_f64() < 0.0 { DoubleDouble::from(0.0) - base } else { base }
        };
        let k = |a: f64, b: f64| inner(a, b) / (norm(a) * norm(b));
        // By symmetry (1, 1, -2) / sqrt 6 is an eigenvector of the centred matrix.
        let number = DoubleDouble::from;
        let (same, other, far) = (k(points[0], points[0]), k(points[0], points[1]), k(points[0], points[2]));
        let exact = (same + other - number(4.0) * far + number(2.0) * k(0.0, 0.0)) / number(3.0);
        let values = model.spectrum().eigenvalues();
        assert!(values.is_empty() || (values[0] / exact.to_f64() - 1.0).abs() < 0.5, "{values:?} {exact:?}");
        if !values.is_empty() {
            encloses(&format!("e = {e}"), model.certificate(), values, 0, exact);
        }
        if e <= 1e-7 {
            assert!(values.is_empty() || model.certificate().rounding() > 1e-10 * exact.to_f64(), "e = {e}");
        }
    }
    Ok(())
}

#[test]
fn landmarks_with_a_singular_core() -> Result<()> {
    // The kernel (xy + 1/2)^2 has three features, of which centring leaves two.
    let line = matrices::normal(30, 1, 3);
    let x = Points::from_fn(30, 1, |i, _| 3.0 * line.row(i)[0]);
    let kernel: Kernel = "polynomial(degree=2, gamma=1, coef0=0.5)".parse()?;
    let exact = Pca::new().route(Route::Svd).embed(mercer::Embedding::monomials_up_to(2, 0.5)).fit(&x)?;
    for landmarks in [Landmarks::RpCholesky(10), Landmarks::KMeans(10), Landmarks::Uniform(12)] {
        let model = KernelPca::new(kernel.clone()).components(3).landmarks(landmarks).fit(&x)?;
        let (values, certificate) = (model.spectrum().eigenvalues(), model.certificate());
        for (i, value) in values.iter().enumerate() {
            let expected = if i < 2 { exact.spectrum().eigenvalues()[i] } else { 0.0 };
            let (below, above) = certificate.enclosure(i);
            // The reference has an error of its own.
            let slack = 1e-14 * exact.spectrum().eigenvalues()[0];
            assert!((value - below - slack..=value + above + slack).contains(&expected), "{i}: {value} {expected}");
        }
    }
    Ok(())
}

#[test]
fn angles_do_not_depend_on_units() -> Result<()> {
    let x = matrices::normal(20, 2, 5);
    for unit in [1e-130, 1e-80, 1e80] {
        let scaled = Points::from_fn(20, 2, |i, j| unit * x.row(i)[j] * (j + 1) as f64);
        let pca = Pca::new().fit(&scaled)?;
        assert!(pca.certificate().clusters().iter().all(|c| c.sine > 1e-18), "{unit}: {:?}", pca.certificate());
        if unit > 1e-100 {
            let kernel = KernelPca::new(Kernel::linear()).components(1).fit(&scaled)?;
            assert!(kernel.certificate().clusters().iter().all(|c| c.sine > 1e-18), "{unit}");
        }
    }
    Ok(())
}

/// A diagonal operator that tells its diagonal and nothing else.
struct Diagonal(Vec<f64>);

impl SymOp for Diagonal {
    fn n(&self) -> usize {
        self.0.len()
    }

    fn apply(&self, x: &Block, y: &mut Block, _: &Exec) -> Result<()> {
        for j in 0..x.b() {
            y.col_mut(j).iter_mut().zip(x.col(j)).zip(&self.0).for_each(|((y, x), d)| *y = d * x);
        }
        Ok(())
    }

    fn diagonal(&self, _: &Exec) -> Result<Option<Vec<f64>>> {
        Ok(Some(self.0.clone()))
    }
}

#[test]
fn what_is_only_assumed_is_called_an_estimate() -> Result<()> {
    let op = Diagonal((0..2500).map(|i| 1.0 + 1e3 / (1 + i) as f64).collect());
    let model = KernelPca::custom().components(3).fit_op(&op)?;
    let certificate = model.certificate();
    // No norm is known, and that no eigenvalue is negative is not known either.
    assert!(matches!(certificate.kind(), BoundKind::Diagonal | BoundKind::Probes { .. }), "{certificate:?}");
    assert_eq!(certificate.rounding_confidence(), Confidence::Estimate);
    let statements = certificate.statements();
    assert_eq!(statements[0].about, About::Eigenvalues);
    assert_eq!(statements[0].confidence, Confidence::Estimate);
    assert_eq!(statements.last().map(|s| s.about), Some(About::Missed));
    Ok(())
}
