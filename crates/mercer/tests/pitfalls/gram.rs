//! Given Gram matrices: ordinary, extreme, in f32, and invalid ones.

use crate::common::{assert_finite_kernel_pca, faults_of_kernel_pca, inner_products, largest_gap, map, to_f32};
use crate::{gram_of, is_range};
use mercer::testing::matrices::normal;
use mercer::testing::naive;
use mercer::testing::ratios::aligned_difference;
use mercer::{Components, ErrorKind, ErrorSubject, Exec, KernelPca, Points, Result, diagnose};

#[test]
fn plain_gram_matrices_have_the_answers_of_the_book() -> Result<()> {
    let n = 7;
    let pca = KernelPca::custom();
    for (what, value) in [("zero", 0.0), ("ones", 1.0), ("constant", 1e300), ("negative", -3.0), ("small", 1e-300)] {
        let gram = gram_of(n, |_, _| value);
        let model = pca.fit_gram(&gram)?;
        assert_eq!((model.components(), model.spectrum().rank()), (0, 0), "{what}");
        assert!(!model.definiteness().expect("all eigenvalues are known").is_indefinite(), "{what}");
        assert_finite_kernel_pca(what, &model, &gram);
        let scores = model.transform(&gram)?;
        assert_eq!((scores.n(), scores.d()), (n, 0), "{what}");
    }
    // HIH = H: n - 1 eigenvalues of 1.
    let gram = gram_of(n, |i, j| f64::from(u8::from(i == j)));
    for components in [Components::All, Components::Count(n), Components::Share(1.0)] {
        let model = pca.clone().components(components).fit_gram(&gram)?;
        assert_eq!((model.components(), model.spectrum().rank()), (n - 1, n - 1));
        assert!(largest_gap(model.spectrum().eigenvalues(), &[1.0; 6]) < 1e-14);
        assert!(largest_gap(inner_products(&model.scores()).as_slice(), naive::centred(&gram).as_slice()) < 1e-14);
        assert_finite_kernel_pca("identity", &model, &gram);
    }
    // -I: nothing positive at all.
    let model = pca.fit_gram(&map(&gram, |v| -v))?;
    assert_eq!(
        (model.components(), model.definiteness().expect("all eigenvalues are known").negative_count),
        (0, n - 1)
    );
    assert!((model.definiteness().expect("all eigenvalues are known").negative_share() - 1.0).abs() < 1e-12);
    assert_finite_kernel_pca("minus identity", &model, &gram);
    Ok(())
}

#[test]
fn gram_matrices_at_the_ends_of_the_range_are_sound_or_refused() {
    let noise = normal(8, 8, 19);
    let mut wrong = Vec::new();
    for size in [1e308, f64::MAX / 2.0, 1e-308, 1e-315, 1e-320] {
        let two = |i: usize, j: usize| (noise.row(i)[0] * noise.row(j)[0] + noise.row(i)[1] * noise.row(j)[1]) / 10.0;
        for (what, gram, rank) in [
            ("constant", gram_of(8, |_, _| size), 0),
            ("identity", gram_of(8, |i, j| if i == j { size } else { 0.0 }), 7),
            ("rank two", gram_of(8, |i, j| size * two(i.max(j), i.min(j))), 2),
        ] {
            match KernelPca::custom().fit_gram(&gram) {
                Err(e) if is_range(e.kind()) => {}
                Err(e) => wrong.push(format!("{what} {size:e}: {e}")),
                Ok(model) => {
                    let faults = faults_of_kernel_pca(&model, &gram);
                    if !faults.is_empty() || model.spectrum().rank() != rank {
                        wrong.push(format!("{what} {size:e}: rank {}, {faults:?}", model.spectrum().rank()));
                    }
                }
            }
            match diagnose::check_gram(&gram, &Exec::new()) {
                Err(e) if is_range(e.kind()) => {}
                Ok(report) if report.holds() => {}
                other => wrong.push(format!("{what} {size:e}, checked: {other:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn invalid_gram_matrices_are_refused() {
    let pca = KernelPca::custom();
    let mut gram = gram_of(5, |i, j| if i == j { 2.0 } else { 0.5 });
    gram.row_mut(1)[3] = 0.6;
    gram.row_mut(4)[2] = -0.7;
    let error = pca.fit_gram(&gram).expect_err("not symmetric");
    match *error.kind() {
        ErrorKind::NotSymmetric { row, column, value, mirrored } => {
            let worst = if (row, column) == (2, 4) { (value, mirrored) } else { (mirrored, value) };
            assert!((row.min(column), row.max(column)) == (2, 4) && worst == (0.5, -0.7), "{error}");
        }
        ref other => panic!("{other:?}"),
    }
    assert!(error.to_string().contains("K[2][4] = 0.5 but K[4][2] = -0.7"), "{error}");
    assert!(error.help().is_some());
    let report = diagnose::check_gram(&gram, &Exec::new()).expect("a report");
    assert!(!report.is_symmetric && !report.holds() && (report.asymmetry - 0.6).abs() < 1e-15);
    let skew = pca.fit_fn(&normal(5, 2, 20), |x, y| x[0] - y[0]).expect_err("not symmetric");
    assert!(matches!(skew.kind(), ErrorKind::NotSymmetric { .. }), "{skew}");
    // Rounding is not asymmetry.
    gram.row_mut(1)[3] = 0.5 * (1.0 + 1e-12);
    gram.row_mut(4)[2] = 0.5;
    assert!(pca.fit_gram(&gram).is_ok());

    for (n, d) in [(3, 4), (4, 3), (1, 5), (5, 0)] {
        let error = pca.fit_gram(&Points::from_fn(n, d, |_, _| 1.0)).expect_err("not square");
        assert!(matches!(error.kind(), ErrorKind::Shape { found, expected, .. } if (*found, *expected) == (d, n)));
        assert!(error.to_string().contains("square"), "{error}");
    }
    for n in [0, 1] {
        let error = pca.fit_gram(&gram_of(n, |_, _| 1.0)).expect_err("too few");
        assert!(matches!(error.kind(), ErrorKind::TooFew { what: ErrorSubject::Points, .. }), "{n}: {error}");
    }
    let model = pca.fit_gram(&gram).expect("symmetric");
    let error = model.transform(&normal(2, 4, 1)).expect_err("four columns, not five");
    assert!(matches!(error.kind(), ErrorKind::Shape { found: 4, expected: 5, .. }), "{error}");
    let error = model.squared_errors(&gram).expect_err("k(x, x) is not known");
    assert!(matches!(error.kind(), ErrorKind::Unsupported { .. }), "{error}");
}

/// X X' with every step rounded to f32, and the terms summed in one order above the diagonal and in the other below,
/// as a product in blocks may do.
fn f32_product(x: &Points<f32>) -> Points<f32> {
    Points::from_fn(x.n(), x.n(), |i, j| {
        let terms = x.row(i).iter().zip(x.row(j)).map(|(a, b)| a * b);
        if i <= j { terms.fold(0.0, |sum, term| sum + term) } else { terms.rev().fold(0.0, |sum, term| sum + term) }
    })
}

// P6
#[test]
fn the_rank_of_an_f32_gram_matrix_is_not_read_from_its_rounding() -> Result<()> {
    let (mut asymmetric, pca) = (0, KernelPca::custom());
    for seed in 37..42 {
        let x = to_f32(&normal(60, 3, seed));
        let gram = f32_product(&x);
        let report = diagnose::check_gram(&gram, &Exec::new())?;
        assert!(report.is_symmetric && report.asymmetry < 1e-6, "{seed}: {report:?}");
        assert!(report.holds() && !report.centred.is_indefinite(), "{seed}: {}; {}", report.gram, report.centred);
        asymmetric += usize::from(report.asymmetry > 1e-8);

        let model = pca.fit_gram(&gram)?;
        assert_eq!((model.components(), model.spectrum().rank()), (3, 3), "{seed}");
        let found = model.definiteness().expect("all eigenvalues are known");
        assert!(!found.is_indefinite() && found.negative_mass == 0.0, "{seed}: {found:?}");
        assert!(model.notes().is_empty(), "{seed}: {:?}", model.notes());
        let truth = KernelPca::new(mercer::Kernel::linear()).fit(&x)?;
        for (j, (value, truth)) in model.spectrum().eigenvalues().iter().zip(truth.spectrum().eigenvalues()).enumerate()
        {
            let (gap, radius) = ((value - truth).abs(), model.certificate().radius(j));
            assert!(gap <= radius && gap < 1e-5 * truth, "{seed}: eigenvalue {j} is {gap:e} off, radius {radius:e}");
        }
        assert!(aligned_difference(&model.scores(), &truth.scores()) < 1e-4, "{seed}");
    }
    assert!(asymmetric > 0, "the order of the sums makes a difference");
    Ok(())
}

// P6: the same numbers given as f64 count as exact: the library cannot know of an earlier rounding.
#[test]
fn an_f32_asymmetry_among_f64_numbers_is_refused() {
    let gram = f32_product(&to_f32(&normal(60, 3, 37))).view().to_f64();
    let error = KernelPca::custom().fit_gram(&gram).expect_err("not symmetric");
    assert!(matches!(error.kind(), ErrorKind::NotSymmetric { .. }), "{error}");
}
