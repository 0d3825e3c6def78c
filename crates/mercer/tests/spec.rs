//! One record from every front: written and read back, planned once, executed as planned, for every source.
#![allow(missing_docs)]

use mercer::plan::PlannedRoute;
use mercer::testing::matrices::normal;
use mercer::{
    AnyModel, AnyPoints, Approx, Batches, Components, Embedding, ErrorKind, Exec, KernelPca, Landmarks, Pca, Points,
    Result, Route, Source, Spec,
};

fn specs() -> Vec<Spec> {
    let kernel = |text: &str| KernelPca::new(text.parse().expect(text));
    vec![
        Pca::new().into(),
        Pca::new().components(0.9).center(false).whiten(true).route(Route::Svd).into(),
        Pca::new().components(Components::UpTo(10)).standardise(true).embed(Embedding::monomials(2)).into(),
        kernel("gaussian(length=[1, 2, 0.5]) + 0.1*chi2").components(1.0).into(),
        kernel("periodic(period=7)").components(3).tolerance(1e-9).dense(true).standardise(true).into(),
        kernel("matern").approx(Approx::Auto).into(),
        kernel("tanimoto").landmarks(Landmarks::TraceError(0.05)).into(),
        kernel("rbf").landmarks(Landmarks::Given(normal(4, 3, 1))).into(),
        KernelPca::custom().components(2).into(),
    ]
}

#[test]
fn a_spec_reads_back_as_itself() {
    for spec in specs() {
        let text = serde_json::to_string(&spec).expect("writes");
        assert_eq!(serde_json::from_str::<Spec>(&text).expect(&text), spec, "{text}");
    }
    let short: Spec = serde_json::from_str(r#"{"method": "kernel_pca", "kernel": "rbf"}"#).expect("defaults");
    assert_eq!(short, KernelPca::new("gaussian".parse().expect("a kernel")).into());
    for wrong in [
        r#"{"method": "kernel_pca", "kernel": "gausian"}"#,
        r#"{"method": "pca", "components": "some"}"#,
        r#"{"method": "lda"}"#,
        r#"{"method": "pca", "tolerence": 1e-3}"#,
        r#"{"method": "kernel_pca", "kernel": "rbf", "component": 2}"#,
    ] {
        assert!(serde_json::from_str::<Spec>(wrong).is_err(), "{wrong}");
    }
    let own: Spec = Pca::new().embed(Embedding::new(1, |x| vec![x[0]])).into();
    assert!(serde_json::to_string(&own).is_err(), "a function cannot be written");
}

/// Points in batches of uneven sizes.
struct Parts<'a> {
    x: &'a Points,
    known: bool,
    passes: usize,
}

impl Batches for Parts<'_> {
    fn d(&self) -> usize {
        self.x.d()
    }

    fn n(&self) -> Option<u64> {
        self.known.then_some(self.x.n() as u64)
    }

    fn each(&mut self, take: &mut dyn FnMut(AnyPoints<'_>) -> Result<()>) -> Result<()> {
        self.passes += 1;
        let (mut start, mut size) = (0, 1);
        while start < self.x.n() {
            let end = self.x.n().min(start + size);
            take(self.x.view().slice(start, end).into())?;
            (start, size) = (end, size * 2);
        }
        Ok(())
    }
}

#[test]
fn batches_give_the_model_of_all_points() -> Result<()> {
    let (x, exec) = (normal(500, 4, 3), Exec::new());
    for known in [true, false] {
        let spec: Spec = Pca::new().components(Components::UpTo(10)).into();
        let mut parts = Parts { x: &x, known, passes: 0 };
        let fitted = spec.fit(Source::Batches(&mut parts), &exec)?;
        assert_eq!((parts.passes, fitted.n, fitted.model.components(), fitted.ranges.len()), (1, 500, 4, 4));
        let whole = spec.fit(Source::points(&x), &exec)?.model;
        let values = |m: &AnyModel| m.spectrum().expect("components").eigenvalues().to_vec();
        for (a, b) in values(&fitted.model).iter().zip(values(&whole)) {
            assert!((a - b).abs() < 1e-12 * b, "{a} {b}");
        }
    }
    // Landmarks take two passes, and exact kernel PCA is refused.
    let spec = KernelPca::new("gaussian".parse()?).components(2);
    let mut parts = Parts { x: &x, known: true, passes: 0 };
    let by_landmarks: Spec = spec.clone().landmarks(Landmarks::KMeans(60)).into();
    let fitted = by_landmarks.fit(Source::Batches(&mut parts), &exec)?;
    assert_eq!((parts.passes, fitted.n), (2, 500));
    assert!(fitted.model.certificate().is_some_and(|c| c.approximation().is_some()));
    let error = Spec::from(spec).fit(Source::Batches(&mut parts), &exec).expect_err("all points are needed");
    assert!(error.to_string().contains("all points in memory"), "{error}");
    Ok(())
}

/// The reason for a second pass is that of the plan, whatever other notes there are.
#[test]
fn a_second_pass_names_its_reason() -> Result<()> {
    let noise = normal(40, 2, 4);
    let x = Points::from_fn(40, 3, |i, j| match j {
        0 => 7.0,
        1 => noise.row(i)[0],
        _ => noise.row(i)[0] + 1e-6 * noise.row(i)[1],
    });
    let spec = Spec::from(Pca::new().components(2).standardise(true));
    let mut parts = Parts { x: &x, known: true, passes: 0 };
    let fitted = spec.fit(Source::Batches(&mut parts), &Exec::new())?;
    assert_eq!((parts.passes, fitted.notes.len()), (2, 1));
    let note = &fitted.notes[0];
    assert!(note.contains("second pass over the data: component 2 has") && !note.contains("constant"), "{note}");
    Ok(())
}

#[test]
fn a_given_plan_is_executed() -> Result<()> {
    let (x, exec) = (normal(700, 3, 5), Exec::new());
    let spec = KernelPca::new("gaussian".parse()?).components(3);
    let by_passes = spec.plan(700, 3, &exec)?;
    assert!(matches!(by_passes.route, PlannedRoute::Passes(_)), "{by_passes}");
    let dense = spec.clone().dense(true).plan(700, 3, &exec)?;
    // The plan decides, not the spec.
    assert!(!spec.fit_planned(by_passes.clone(), &x, &exec)?.spectrum().is_complete());
    assert!(spec.fit_planned(dense, &x, &exec)?.spectrum().is_complete());
    // Plans of other sizes or other methods are refused.
    let of_pca = Pca::new().plan(700, 3, &exec)?;
    assert!(matches!(
        spec.fit_planned(of_pca, &x, &exec).expect_err("a plan of PCA").kind(),
        ErrorKind::Inconsistent { .. }
    ));
    assert!(spec.fit_planned(by_passes.clone(), &normal(600, 3, 5), &exec).is_err());
    assert!(Pca::new().fit_planned(by_passes, &x, &exec).is_err());
    Ok(())
}

#[test]
fn sources_that_a_method_does_not_take_are_refused() -> Result<()> {
    let (x, exec) = (normal(20, 20, 6), Exec::new());
    let refused = |spec: Spec, source: Source<'_>| spec.fit(source, &exec).expect_err("refused").to_string();
    assert!(refused(Pca::new().into(), Source::gram(&x)).contains("PCA is fitted to points"));
    assert!(refused(KernelPca::custom().into(), Source::points(&x)).contains("fitted with a kernel"));
    let linear: Spec = KernelPca::new("linear".parse()?).into();
    assert!(refused(linear, Source::gram(&x)).contains("no kernel beside a Gram matrix"));
    Ok(())
}

#[test]
fn fitted_scores_are_those_of_the_points_whatever_the_model() -> Result<()> {
    let (x, exec) = (normal(300, 3, 7), Exec::new());
    let kernel = KernelPca::new("gaussian".parse()?).components(2);
    let specs: [Spec; 3] =
        [Pca::new().components(2).into(), kernel.clone().into(), kernel.landmarks(Landmarks::KMeans(40)).into()];
    for spec in specs {
        let model = spec.fit(Source::points(&x), &exec)?.model;
        let (fitted, new) = (model.fitted_scores(&x, &exec)?, model.transform(&x, &exec)?);
        assert_eq!((fitted.n(), fitted.d()), (300, 2));
        for (a, b) in fitted.as_slice().iter().zip(new.as_slice()) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }
    Ok(())
}
