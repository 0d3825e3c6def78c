//! A second opinion: right models are confirmed, wrong ones are refuted.
#![allow(missing_docs)]

mod common;

use common::{ROUTES, bits, iris, to_f32};
use mercer::kernel::registry::KERNELS;
use mercer::parts::{KernelPcaParts, PcaParts};
use mercer::testing::{conformance, matrices};
use mercer::verify::{Claim, Outcome, Subject, Verdict, Verification, Verify};
use mercer::{
    AnyModel, Certificate, Embedding, ErrorKind, Exec, Gamma, Kernel, KernelPca, KernelPcaModel, Landmarks, Pca,
    PcaModel, Points, Result,
};

fn opinion(model: AnyModel, x: &Points<f64>) -> Result<Verification> {
    model.verify(x, &Exec::new())
}

fn of_pca(parts: PcaParts, x: &Points<f64>) -> Result<Verification> {
    opinion(AnyModel::Pca(PcaModel::from_parts(parts)?), x)
}

fn of_kernel(parts: KernelPcaParts, x: &Points<f64>) -> Result<Verification> {
    opinion(AnyModel::KernelPca(KernelPcaModel::from_parts(parts)?), x)
}

fn confirmed(what: &str, found: &Verification) {
    assert_eq!(found.verdict(), Verdict::Confirmed, "{what}\n{found}");
}

/// Refuted, by a claim about one of these.
fn refuted(what: &str, found: &Verification, by: &[Subject]) {
    assert_eq!(found.verdict(), Verdict::Refuted, "{what}\n{found}");
    let is_one = |c: &&Claim| c.outcome == Outcome::Refuted && by.contains(&c.about);
    assert!(found.claims.iter().any(|c| is_one(&c)), "{what}\n{found}");
}

fn outcome(found: &Verification, about: Subject) -> Vec<Outcome> {
    found.claims.iter().filter(|c| c.about == about).map(|c| c.outcome).collect()
}

fn gaussian() -> KernelPca {
    KernelPca::new(Kernel::gaussian(Gamma::Median)).components(3)
}

/// The certificate without component `i`.
fn without(certificate: &Certificate, i: usize) -> Certificate {
    let mut value = serde_json::to_value(certificate).expect("as JSON");
    for list in ["residuals", "below", "above"] {
        value[list].as_array_mut().expect("a list").remove(i);
    }
    let left = value["residuals"].as_array().expect("a list").len();
    value["clusters"] = serde_json::json!([{"first": 0, "last": left - 1, "sine": 1.0}]);
    serde_json::from_value(value).expect("a certificate")
}

#[test]
fn golden_iris_is_confirmed_in_every_claim() -> Result<()> {
    let (x, _) = iris();
    for route in ROUTES {
        for standardise in [false, true] {
            let found =
                opinion(AnyModel::Pca(Pca::new().standardise(standardise).components(2).route(route).fit(&x)?), &x)?;
            assert!(found.claims.iter().all(|c| c.outcome == Outcome::Confirmed), "{route:?}\n{found}");
        }
    }
    let golden = common::numbers(&common::golden()["pca_iris_cov"]["eigenvalues"]);
    let found = opinion(AnyModel::Pca(Pca::new().fit(&x)?), &x)?;
    for (measured, variance) in found.quotients.iter().zip(golden) {
        assert!((measured / (149.0 * variance) - 1.0).abs() < 1e-11);
    }
    // Mean, vectors, total, what is beyond, and three claims for each of four components.
    assert_eq!(found.sentence(), "confirmed: 16 claims hold");
    Ok(())
}

#[test]
fn every_way_to_fit_is_confirmed() -> Result<()> {
    let (x, _) = iris();
    let far = common::map(&x, |v| v + 1e6);
    for route in ROUTES {
        for (what, pca) in [
            ("plain", Pca::new()),
            ("some", Pca::new().components(2)),
            ("uncentred", Pca::new().center(false)),
            ("whitened", Pca::new().whiten(true).components(3)),
            ("uncentred, standardised", Pca::new().center(false).standardise(true)),
            ("embedded", Pca::new().embed(Embedding::monomials(2)).components(4)),
            ("embedded, standardised", Pca::new().embed(Embedding::monomials_up_to(2, 1.0)).standardise(true)),
        ] {
            let pca = pca.route(route);
            confirmed(&format!("{what} {route:?}"), &opinion(AnyModel::Pca(pca.fit(&x)?), &x)?);
            confirmed(&format!("far {what} {route:?}"), &opinion(AnyModel::Pca(pca.fit(&far)?), &far)?);
        }
    }
    let wide = matrices::normal(12, 40, 3);
    confirmed("wide", &opinion(AnyModel::Pca(Pca::new().fit(&wide)?), &wide)?);
    let constant = Points::from_fn(9, 3, |i, j| if j == 1 { 0.1 } else { (i * (j + 1)) as f64 });
    confirmed(
        "constant",
        &opinion(AnyModel::Pca(Pca::new().standardise(true).components(1).fit(&constant)?), &constant)?,
    );

    // Kernel PCA from the stored matrix, by passes, of a Gram matrix, of a function, standardised, and of f32 points.
    let many = matrices::normal(700, 3, 5);
    let model = gaussian().fit(&many)?;
    assert!(model.certificate().passes().f64 > 0, "this fit makes passes");
    confirmed("passes", &opinion(AnyModel::KernelPca(model), &many)?);
    confirmed("standardised", &opinion(AnyModel::KernelPca(gaussian().standardise(true).fit(&x)?), &x)?);
    let gram = mercer::testing::naive::gram(&Kernel::gaussian(Gamma::Value(0.2)), &x);
    let model = KernelPca::custom().components(3).fit_gram(&gram)?;
    confirmed("Gram matrix", &opinion(AnyModel::KernelPca(model), &gram)?);
    let narrow = to_f32(&x);
    let model = AnyModel::KernelPca(gaussian().fit(&narrow)?);
    confirmed("f32", &model.verify(&narrow, &Exec::new())?);
    // Landmarks, few and many.
    for m in [10, 60] {
        let model = gaussian().landmarks(Landmarks::KMeans(m)).fit(&x)?;
        confirmed(&format!("{m} landmarks"), &opinion(AnyModel::KernelPca(model), &x)?);
        let model = gaussian().standardise(true).landmarks(Landmarks::Uniform(m)).fit(&many)?;
        confirmed(&format!("{m} landmarks, standardised"), &opinion(AnyModel::KernelPca(model), &many)?);
    }
    Ok(())
}

#[test]
fn every_kernel_is_confirmed() -> Result<()> {
    for entry in KERNELS {
        let x = conformance::points(entry.domain, 3, 7);
        for kernel in conformance::examples(entry, 3) {
            for components in [2, 12] {
                let kernel_pca = KernelPca::new(kernel.clone()).components(mercer::Components::UpTo(components));
                let found = opinion(AnyModel::KernelPca(kernel_pca.fit(&x)?), &x)?;
                confirmed(&kernel.to_string(), &found);
            }
        }
    }
    let x = matrices::normal(40, 3, 8);
    for text in ["0.5*gaussian(gamma=0.3) + linear", "normalised(polynomial(degree=3))", "linear*laplacian(gamma=0.2)"]
    {
        let kernel_pca = KernelPca::new(text.parse()?).components(3);
        confirmed(text, &opinion(AnyModel::KernelPca(kernel_pca.fit(&x)?), &x)?);
    }
    Ok(())
}

#[test]
fn a_changed_pca_is_refuted() -> Result<()> {
    let (x, _) = iris();
    for route in ROUTES {
        let good = Pca::new().components(3).route(route).fit(&x)?.to_parts();
        for by in [1e-11, 1e-3] {
            let what = format!("{route:?} {by:e}");
            let mut parts = good.clone();
            parts.eigenvalues[1] *= 1.0 + by;
            refuted(&what, &of_pca(parts, &x)?, &[Subject::Residual]);
            let mut parts = good.clone();
            parts.axes.row_mut(1)[2] += by;
            refuted(&what, &of_pca(parts, &x)?, &[Subject::Residual, Subject::Vectors]);
            let mut parts = good.clone();
            parts.mean[0] *= 1.0 + by;
            refuted(&what, &of_pca(parts, &x)?, &[Subject::Mean]);
            let mut parts = good.clone();
            parts.total *= 1.0 + by;
            refuted(&what, &of_pca(parts, &x)?, &[Subject::Total]);
            let mut parts = good.clone();
            parts.scale[3] *= 1.0 + by;
            refuted(&what, &of_pca(parts, &x)?, &[Subject::Scale, Subject::Scores]);
        }
        // Another row, or rows of another order that PCA does not see.
        let mut other = x.clone();
        other.row_mut(17)[0] += 1e-6;
        refuted("another row", &of_pca(good.clone(), &other)?, &[Subject::Mean, Subject::Residual]);
        let turned = Points::from_fn(x.n(), x.d(), |i, j| x.row(x.n() - 1 - i)[j]);
        confirmed("another order", &of_pca(good, &turned)?);
    }
    Ok(())
}

#[test]
fn a_changed_kernel_pca_is_refuted() -> Result<()> {
    let (x, _) = iris();
    let good = gaussian().fit(&x)?.to_parts()?;
    for by in [1e-10, 1e-3] {
        let what = format!("{by:e}");
        let mut parts = good.clone();
        parts.eigenvalues[1] *= 1.0 + by;
        refuted(&what, &of_kernel(parts, &x)?, &[Subject::Residual]);
        let mut parts = good.clone();
        parts.weights.row_mut(20)[1] += by;
        refuted(&what, &of_kernel(parts, &x)?, &[Subject::Residual]);
        let mut parts = good.clone();
        parts.offset[0] += by;
        refuted(&what, &of_kernel(parts, &x)?, &[Subject::Scores]);
        let mut parts = good.clone();
        let Some(Kernel::Leaf(leaf)) = &parts.kernel else { panic!("a gaussian") };
        let gamma: f64 = leaf.arguments()[0].1.to_string().parse().expect("a number");
        parts.kernel = Some(Kernel::gaussian(Gamma::Value(gamma * (1.0 + by))));
        refuted(&what, &of_kernel(parts, &x)?, &[Subject::Residual]);
        let mut other = x.clone();
        other.row_mut(17)[0] += by;
        let found = of_kernel(good.clone(), &other)?;
        refuted(&what, &found, &[Subject::Data]);
        assert_eq!(found.sentence(), "refuted: the data is not that of the fit");
    }
    // By landmarks, whose residuals are bounded by the trace error only: the squares of the scores tell, beyond the allowance
    // for rounding, which is larger where landmarks are close to each other.
    let good = gaussian().landmarks(Landmarks::KMeans(30)).fit(&x)?.to_parts()?;
    assert!(good.certificate.rounding() < 1e-6 * good.eigenvalues[0]);
    for by in [1e-6, 1e-3] {
        let mut parts = good.clone();
        parts.eigenvalues[1] *= 1.0 + by;
        refuted("landmarks", &of_kernel(parts, &x)?, &[Subject::Scores]);
        let mut parts = good.clone();
        parts.weights.row_mut(3)[0] += by;
        refuted("landmarks", &of_kernel(parts, &x)?, &[Subject::Scores]);
    }
    Ok(())
}

#[test]
fn a_missing_component_is_found_by_the_probes() -> Result<()> {
    let (x, _) = iris();
    let mut parts = Pca::new().components(3).fit(&x)?.to_parts();
    parts.certificate = without(&parts.certificate, 1);
    parts.eigenvalues.remove(1);
    parts.axes = Points::from_fn(2, 4, |i, j| parts.axes.row(2 * i)[j]);
    let found = of_pca(parts, &x)?;
    refuted("pca", &found, &[Subject::Missed]);
    refuted("pca", &found, &[Subject::Eigenvalue]); // the second eigenvalue is larger than the model says
    assert!(outcome(&found, Subject::Residual).iter().all(|o| *o == Outcome::Confirmed), "{found}");

    for points in [x, matrices::normal(700, 3, 5)] {
        let mut parts = gaussian().fit(&points)?.to_parts()?;
        parts.certificate = without(&parts.certificate, 1);
        parts.eigenvalues.remove(1);
        parts.offset.remove(1);
        parts.weights = Points::from_fn(points.n(), 2, |i, j| parts.weights.row(i)[2 * j]);
        let found = of_kernel(parts, &points)?;
        refuted("kernel pca", &found, &[Subject::Missed]);
        assert!(outcome(&found, Subject::Residual).iter().all(|o| *o == Outcome::Confirmed), "{found}");
    }
    Ok(())
}

#[test]
fn bounds_on_what_is_beyond_hold() -> Result<()> {
    let x = matrices::normal(60, 3, 11);
    let all = KernelPca::new(Kernel::gaussian(Gamma::Median)).fit(&x)?.spectrum().eigenvalues().to_vec();
    let model = AnyModel::KernelPca(gaussian().fit(&x)?);
    let mut width = f64::INFINITY;
    for passes in [1, 2, 4, 8, 16, 64] {
        let found = Verify::new().passes(passes).run(&model, &x, &Exec::new().seed(3))?;
        let (low, high) = found.beyond;
        assert!(low <= all[3] && all[3] <= high, "{passes} passes: {low} {} {high}", all[3]);
        assert!(high - low <= width + 1e-10 * all[0], "more passes give no worse bounds, but for rounding");
        assert_eq!(found.passes, passes.min(56));
        width = high - low;
    }
    assert!(width < 1e-9 * all[0], "all of the complement is seen");
    let found = Verify::new().passes(64).run(&model, &x, &Exec::new())?;
    assert!(found.claims.iter().all(|c| c.outcome == Outcome::Confirmed), "{found}");
    Ok(())
}

#[test]
fn bits_do_not_depend_on_threads() -> Result<()> {
    let x = matrices::normal(90, 4, 2);
    let models = [
        AnyModel::Pca(Pca::new().components(2).fit(&x)?),
        AnyModel::KernelPca(gaussian().fit(&x)?),
        AnyModel::KernelPca(gaussian().landmarks(Landmarks::KMeans(20)).fit(&x)?),
    ];
    for model in models {
        let numbers = |threads: usize| {
            let v = model.verify(&x, &Exec::new().threads(threads))?;
            let claims = v.claims.iter().flat_map(|c| [c.measured, c.claimed, c.allowance]);
            let rest = [v.orthonormality, v.total, v.beyond.0, v.beyond.1, v.rounding];
            Ok::<_, mercer::Error>(bits(
                &claims.chain(v.residuals.clone()).chain(v.quotients.clone()).chain(rest).collect::<Vec<f64>>(),
            ))
        };
        let one = numbers(1)?;
        assert_eq!(one, numbers(2)?);
        assert_eq!(one, numbers(7)?);
    }
    Ok(())
}

#[test]
fn a_model_without_bounds_has_no_claims() -> Result<()> {
    let (x, _) = iris();
    let mut parts = Pca::new().components(2).fit(&x)?.to_parts();
    parts.certificate = Certificate::unknown(&parts.eigenvalues, parts.total);
    let found = of_pca(parts, &x)?;
    assert_eq!((found.verdict(), found.claims.len()), (Verdict::NoClaims, 0));
    assert!(found.residuals.iter().all(|r| *r < 1e-10));
    assert!(found.to_string().contains("no claims to check"), "{found}");
    Ok(())
}

#[test]
fn an_older_certificate_is_checked_like_a_newer_one() -> Result<()> {
    let (x, _) = iris();
    let mut parts = gaussian().fit(&x)?.to_parts()?;
    let mut value = serde_json::to_value(&parts.certificate).expect("as JSON");
    value.as_object_mut().expect("fields").remove("rounding_is").expect("it is written");
    parts.certificate = serde_json::from_value(value).expect("a certificate");
    confirmed("older", &of_kernel(parts, &x)?);
    Ok(())
}

#[test]
fn other_data_is_an_error() -> Result<()> {
    let (x, _) = iris();
    let kernel = AnyModel::KernelPca(gaussian().fit(&x)?);
    for model in [&AnyModel::Pca(Pca::new().fit(&x)?), &kernel] {
        let fewer = x.view().slice(0, 149);
        let error = model.verify(fewer, &Exec::new()).expect_err("other rows");
        assert!(matches!(error.kind(), ErrorKind::Shape { found: 149, expected: 150, .. }), "{error}");
        assert!(error.to_string().contains("not that of the fit"), "{error}");
        let narrower = x.first_columns(3);
        let error = model.verify(&narrower, &Exec::new()).expect_err("other columns");
        assert!(matches!(error.kind(), ErrorKind::Shape { found: 3, expected: 4, .. }), "{error}");
        let mut broken = x.clone();
        broken.row_mut(3)[1] = f64::NAN;
        let error = model.verify(&broken, &Exec::new()).expect_err("a missing value");
        assert!(matches!(error.kind(), ErrorKind::NotFinite { row: 3, column: 1, .. }), "{error}");
    }
    Ok(())
}
