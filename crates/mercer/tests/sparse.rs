//! Sparse points: products against plain loops, PCA against that of the same points with their zeros.
#![allow(missing_docs)]

use mercer::axes::complete_axes;
use mercer::testing::double_double::DoubleDouble;
use mercer::testing::{matrices, ratios};
use mercer::{Block, Components, Csr, Embedding, ErrorKind, Exec, Pca, PcaModel, Points, Result, Route};

/// Points of which a share is not zero, the same for the same seed.
fn filled(n: usize, d: usize, share: f64, seed: u64) -> Points<f64> {
    let (values, luck) = (matrices::normal(n, d, seed), matrices::normal(n, d, seed + 1));
    let cut = 2.5 * (1.0 - share) - 1.25;
    Points::from_fn(
        n,
        d,
        |i, j| if luck.row(i)[j] > cut { values.row(i)[j] * (1.0 + 3.0 / (1 + j) as f64) } else { 0.0 },
    )
}

/// The first k axes, a row each.
fn axes(model: &PcaModel, k: usize) -> Points<f64> {
    let axes = model.axes();
    Points::from_fn(k, axes.d(), |i, j| axes.row(i)[j])
}

/// Eigenvalues, shares, spaces and scores are those of the same points with their zeros, and are certified.
fn same_as_dense(what: &str, spec: &Pca, x: &Points<f64>) -> Result<PcaModel> {
    let sparse = Csr::from_points(x)?;
    let (found, expected) = (spec.fit_sparse(&sparse)?, spec.clone().route(Route::Svd).fit(x)?);
    assert_eq!(found.components(), expected.components(), "{what}");
    let (values, exact) = (found.spectrum().eigenvalues(), expected.spectrum().eigenvalues());
    let largest = exact.first().copied().unwrap_or(0.0);
    for (j, (value, exact)) in values.iter().zip(exact).enumerate() {
        assert!((value - exact).abs() <= 1e-10 * largest, "{what}: eigenvalue {j}: {value} {exact}");
        let (below, above) = found.certificate().enclosure(j);
        assert!(value - below <= *exact && *exact <= value + above, "{what}: {exact} is not enclosed by {value}");
    }
    assert!((found.spectrum().total() - expected.spectrum().total()).abs() <= 1e-10 * largest, "{what}");
    assert!(
        ratios::orthonormality(&axes(&found, found.components())) < ratios::THRESHOLD,
        "{what}: axes are orthonormal"
    );
    // Components that are apart from the next, and have a variance.
    let k = values.windows(2).position(|w| w[0] - w[1] < 1e-3 * largest).unwrap_or(values.len());
    let k = k.min(values.iter().take_while(|v| **v > 1e-6 * largest).count());
    if k > 0 {
        let sine = ratios::sine_of_angle(&axes(&found, k), &axes(&expected, k));
        assert!(sine < 1e-6, "{what}: angle {sine}");
        let (a, b) = (found.transform_sparse(&sparse)?.first_columns(k), found.transform(x)?.first_columns(k));
        let scale = b.as_slice().iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let gap = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(gap <= 1e-11 * scale, "{what}: scores differ by {gap} of {scale}");
    }
    Ok(found)
}

#[test]
fn products_are_those_of_plain_loops() -> Result<()> {
    for (n, d, b) in [(1, 1, 1), (70, 9, 5), (9, 70, 33), (200, 130, 21), (5, 3, 0)] {
        let x = filled(n, d, 0.3, 5);
        let sparse = Csr::from_points(&x)?;
        let (right, left) = (
            Block::from_fn(d, b, |i, j| (i + 3 * j) as f64 - 2.5),
            Block::from_fn(n, b, |i, j| 1.0 / (1 + i + j) as f64),
        );
        let plain = Block::from_fn(n, b, |i, c| (0..d).map(|j| x.row(i)[j] * right.at(j, c)).sum());
        let turned = Block::from_fn(d, b, |j, c| (0..n).map(|i| x.row(i)[j] * left.at(i, c)).sum());
        for (found, expected) in [(sparse.times(&right)?, plain), (sparse.transposed_times(&left)?, turned)] {
            assert_eq!((found.n(), found.b()), (expected.n(), expected.b()));
            for (a, b) in found.as_slice().iter().zip(expected.as_slice()) {
                assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{a} {b}");
            }
        }
        assert_eq!(sparse.to_points(&Exec::new())?, x);
        assert_eq!(sparse.transposed()?.transposed()?, sparse);
        for j in 0..d {
            let column = x.column(j);
            assert_eq!(sparse.column_counts()[j], column.iter().filter(|v| **v != 0.0).count());
            let sum = |f: fn(f64) -> f64| column.iter().fold(DoubleDouble::from(0.0), |s, v| s + f(*v).into()).to_f64();
            assert_eq!((sparse.column_sums()[j], sparse.column_squares()[j]), (sum(|v| v), sum(|v| v * v)));
        }
    }
    Ok(())
}

#[test]
fn columns_in_any_order_are_sorted_and_duplicates_added_up() -> Result<()> {
    let x = Csr::new(2, 4, vec![0, 4, 6], vec![3, 0, 3, 1, 2, 2], vec![1.0, 2.0, 4.0, 8.0, 16.0, -16.0])?;
    assert_eq!(x.row(0), (&[0, 1, 3][..], &[2.0, 8.0, 5.0][..]));
    assert_eq!(x.row(1), (&[2][..], &[0.0][..]));
    assert_eq!(x.rows().len(), 2);
    Ok(())
}

#[test]
fn invalid_sparse_tables_are_refused_with_the_place() {
    let text = |r: Result<Csr>| r.expect_err("refused").to_string();
    let new = |offsets: &[usize], indices: &[u32], values: &[f64]| {
        text(Csr::new(2, 3, offsets.to_vec(), indices.to_vec(), values.to_vec()))
    };
    assert_eq!(new(&[0, 1], &[0], &[1.0]), "row offsets of 2 sparse points: 2; expected 3");
    assert_eq!(new(&[0, 1, 1], &[0, 1], &[1.0]), "columns of the stored values: 2; expected 1");
    assert!(new(&[1, 1, 1], &[0], &[1.0]).contains("row offsets go from 1 to 1"));
    assert!(new(&[0, 1, 2], &[0], &[1.0]).contains("row offsets go from 0 to 2"));
    assert!(new(&[0, 2, 1], &[0], &[1.0]).contains("row 1 (from 0) has offsets 2 and 1"));
    assert!(new(&[0, 0, 1], &[3], &[1.0]).contains("row 1 has a value in column 3 (from 0), but there are 3 columns"));
    let missing = new(&[0, 1, 2], &[0, 2], &[1.0, f64::NAN]);
    assert_eq!(missing, "points: value NaN in row 1, column 2 (from 0) is not finite");
    let sum = new(&[0, 2, 2], &[1, 1], &[f64::MAX, f64::MAX]);
    assert_eq!(sum, "points: value inf in row 0, column 1 (from 0) is not finite");
    let infinite = Points::from_rows(&[[0.0, 1.0], [f64::INFINITY, 0.0]]);
    assert!(text(Csr::from_points(&infinite)).contains("row 1, column 0"));
    assert!(Csr::new(usize::MAX, 1, vec![0], vec![], vec![]).is_err());
    assert!(Csr::new(1, usize::MAX, vec![0, 0], vec![], vec![]).is_err());
}

#[test]
fn products_with_other_shapes_are_refused() -> Result<()> {
    let x = Csr::new(2, 3, vec![0, 1, 1], vec![0], vec![1.0])?;
    assert!(x.times(&Block::zeros(2, 1)).is_err());
    assert!(x.transposed_times(&Block::zeros(3, 1)).is_err());
    assert!(x.to_points(&Exec::new().memory(8)).is_err());
    let model = Pca::new().components(1).fit_sparse(&x)?;
    assert!(model.transform_sparse(&Csr::new(1, 2, vec![0, 0], vec![], vec![])?).is_err());
    Ok(())
}

#[test]
fn pca_is_that_of_the_points_with_their_zeros() -> Result<()> {
    for (n, d) in [(60, 12), (12, 60), (30, 30), (200, 7)] {
        let x = filled(n, d, 0.3, 11);
        for center in [true, false] {
            for standardise in [false, true] {
                for route in [Route::Auto, Route::Covariance, Route::Gram] {
                    for components in
                        [Components::Count(1), Components::Count(n.min(d)), Components::Share(0.7), Components::All]
                    {
                        let spec =
                            Pca::new().components(components).center(center).standardise(standardise).route(route);
                        let what = format!("{n} x {d}, {spec:?}");
                        let model = same_as_dense(&what, &spec, &x)?;
                        assert_eq!((model.is_centered(), model.is_standardised()), (center, standardise));
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn rows_and_columns_of_zeros_change_nothing_else() -> Result<()> {
    let x = filled(40, 15, 0.4, 3);
    let holes = Points::from_fn(40, 15, |i, j| if i % 7 == 0 || j % 4 == 1 { 0.0 } else { x.row(i)[j] });
    for route in [Route::Covariance, Route::Gram] {
        for standardise in [false, true] {
            same_as_dense("zeros", &Pca::new().standardise(standardise).route(route), &holes)?;
        }
    }
    Ok(())
}

#[test]
fn columns_far_from_the_origin_keep_their_digits() -> Result<()> {
    let x = filled(50, 8, 0.4, 21);
    let far = Points::from_fn(50, 8, |i, j| match j {
        0 => 1e8 + matrices::normal(50, 1, 9).row(i)[0],
        1 => 1e8 + 0.1, // constant, and not a binary fraction
        _ => x.row(i)[j],
    });
    for route in [Route::Covariance, Route::Gram] {
        for standardise in [false, true] {
            let spec = Pca::new().components(3).standardise(standardise).route(route);
            let (found, expected) =
                (spec.fit_sparse(&Csr::from_points(&far)?)?, spec.clone().route(Route::Svd).fit(&far)?);
            for (a, b) in found.spectrum().eigenvalues().iter().zip(expected.spectrum().eigenvalues()) {
                assert!((a / b - 1.0).abs() < 1e-9, "{route:?}: {a} {b}");
            }
            assert_eq!(found.mean()[1], 1e8 + 0.1);
            assert_eq!(found.scale()[1], 1.0);
            let (a, b) = (found.transform_sparse(&Csr::from_points(&far)?)?, expected.transform(&far)?);
            let gap = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(gap < 1e-6, "{route:?}: {gap}");
        }
    }
    Ok(())
}

#[test]
fn points_without_variance_have_components_without_variance() -> Result<()> {
    for (n, d) in [(5, 3), (3, 2500), (2100, 2300)] {
        let zero = Csr::new(n, d, vec![0; n + 1], vec![], vec![])?;
        let model = Pca::new().components(2).fit_sparse(&zero)?;
        assert_eq!(model.spectrum().eigenvalues(), [0.0, 0.0]);
        assert!(ratios::orthonormality(&axes(&model, 2)) < 1.0);
        assert_eq!(model.certificate().residuals(), [0.0, 0.0]);
        assert!(model.transform_sparse(&zero)?.as_slice().iter().all(|z| *z == 0.0));
        assert_eq!(Pca::new().components(2).whiten(true).fit_sparse(&zero)?.components(), 0);
    }
    Ok(())
}

/// Points in pairs x and -x, a pair per column: the mean is 0, and eigenvalue j of the scatter matrix is twice the square of
/// the value of pair j.
fn pairs(d: usize) -> (Csr, Vec<f64>) {
    let size = |j: usize| if j < 30 { 40.0 - j as f64 } else { 1.0 / (1.0 + j as f64) };
    let indices = (0..2 * d).map(|i| (i / 2) as u32).collect();
    let values = (0..2 * d).map(|i| if i % 2 == 0 { size(i / 2) } else { -size(i / 2) }).collect();
    let x = Csr::new(2 * d, d, (0..=2 * d).collect(), indices, values).expect("a table");
    (x, (0..d).map(|j| 2.0 * size(j) * size(j)).collect())
}

#[test]
fn a_few_components_of_many_dimensions_are_found_by_passes() -> Result<()> {
    let (x, exact) = pairs(2100);
    let spec = Pca::new().components(12);
    assert_eq!(spec.plan_sparse(x.n(), x.d(), &Exec::new())?.passes().map(|p| p.k), Some(12));
    let models = [1, 2, 7].map(|threads| spec.fit_sparse_with(&x, &Exec::new().threads(threads)));
    let [model, two, seven] = models;
    let model = model?;
    for j in 0..12 {
        let (value, (below, above)) = (model.spectrum().eigenvalues()[j], model.certificate().enclosure(j));
        assert!((value / exact[j] - 1.0).abs() < 1e-10);
        assert!(value - below <= exact[j] && exact[j] <= value + above);
        assert!((model.axes().row(j)[j] - 1.0).abs() < 1e-8, "axis {j} is that of column {j}");
    }
    assert!(model.certificate().passes().f64 > 0);
    assert!((model.spectrum().total() / exact.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    for other in [two?, seven?] {
        assert_eq!(model.to_parts(), other.to_parts(), "the same bits on any number of threads");
    }
    let whitened = spec.clone().whiten(true).fit_sparse(&x)?;
    let scores = whitened.transform_sparse(&x)?;
    let squares: f64 = scores.column(3).iter().map(|z| z * z).sum();
    assert!((squares / (x.n() - 1) as f64 - 1.0).abs() < 1e-9);
    Ok(())
}

#[test]
fn dense_points_are_fitted_by_passes_too() -> Result<()> {
    let x = matrices::normal(300, 200, 8);
    let x = Points::from_fn(300, 200, |i, j| 1e6 + x.row(i)[j] / (1 + j) as f64);
    let narrow = Points::from_fn(300, 200, |i, j| x.row(i)[j] as f32);
    for standardise in [false, true] {
        let spec = Pca::new().components(4).standardise(standardise).tolerance(1e-8);
        let (found, expected) = (spec.fit_by_passes(&x)?, spec.clone().route(Route::Svd).fit(&x)?);
        for (a, b) in found.spectrum().eigenvalues().iter().zip(expected.spectrum().eigenvalues()) {
            assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
        }
        assert!(ratios::sine_of_angle(&axes(&found, 4), &axes(&expected, 4)) < 1e-6);
        assert_eq!((found.mean(), found.scale()), (expected.mean(), expected.scale()));
        assert_eq!(spec.fit_by_passes(&narrow)?.components(), 4);
    }
    let exec = Exec::new();
    let spec = Pca::new().components(4).tolerance(1e-6);
    assert_eq!(spec.plan(300, 200, &exec)?.route.name(), "covariance");
    let plan = spec.plan(2500, 2200, &exec)?;
    assert_eq!(plan.passes().map(|p| p.k), Some(4));
    assert!(plan.to_string().starts_with("route      passes (4 leading"));
    let not_by_passes = [spec.clone().center(false), Pca::new(), spec.clone().embed(Embedding::monomials(2))];
    for other in not_by_passes.iter().chain([&Pca::new().components(201)]) {
        assert!(other.fit_by_passes(&x).is_err());
    }
    Ok(())
}

#[test]
fn bits_do_not_depend_on_threads() -> Result<()> {
    let x = filled(90, 40, 0.3, 17);
    let sparse = Csr::from_points(&x)?;
    for route in [Route::Covariance, Route::Gram] {
        let fit = |threads: usize| -> Result<_> {
            let exec = Exec::new().threads(threads);
            let model = Pca::new().components(6).route(route).fit_sparse_with(&sparse, &exec)?;
            Ok((model.to_parts(), model.transform_sparse_with(&sparse, &exec)?))
        };
        let first = fit(1)?;
        assert!(fit(2)? == first && fit(7)? == first);
    }
    Ok(())
}

#[test]
fn routes_follow_from_sizes_and_are_explained() -> Result<()> {
    let route = |spec: &Pca, n, d| -> Result<(&'static str, String)> {
        let plan = spec.plan_sparse(n, d, &Exec::new())?;
        Ok((plan.route.name(), plan.why))
    };
    let few = Pca::new().components(20);
    assert_eq!(route(&few, 100, 2000)?, ("covariance", "few features (2000)".into()));
    assert_eq!(route(&few, 100, 5000)?, ("gram", "few points (100)".into()));
    assert_eq!(
        route(&few, 20_000, 5000)?,
        ("passes", "20 leading components of 5000, by products with the points".into())
    );
    assert_eq!(route(&few.clone().route(Route::Covariance), 20_000, 5000)?.0, "covariance");
    assert_eq!(route(&few.clone().route(Route::Covariance), 5000, 20_000)?.0, "passes");
    assert_eq!(route(&few.clone().center(false), 5000, 20_000)?.0, "gram");
    assert_eq!(route(&Pca::new(), 20_000, 5000)?.0, "covariance");
    assert_eq!(route(&Pca::new(), 5000, 20_000)?.0, "gram");
    assert!(few.plan_sparse(usize::MAX, usize::MAX, &Exec::new()).is_err());
    assert!(few.plan(usize::MAX, usize::MAX, &Exec::new()).is_err());
    assert!(few.clone().tolerance(1e-6).plan(usize::MAX, usize::MAX, &Exec::new()).is_err());
    // A Gram matrix of few sparse points needs no table of all their dimensions.
    few.plan_sparse(100, 4_000_000_000, &Exec::new())?;
    Ok(())
}

#[test]
fn unsupported_options_for_sparse_points_are_refused() -> Result<()> {
    let x = Csr::from_points(&filled(6, 4, 0.5, 1))?;
    let kind = |spec: Pca| spec.fit_sparse(&x).expect_err("refused").kind().clone();
    assert!(matches!(kind(Pca::new().route(Route::Svd)), ErrorKind::Unsupported { .. }));
    assert!(matches!(kind(Pca::new().embed(Embedding::monomials(2))), ErrorKind::Unsupported { .. }));
    assert!(matches!(kind(Pca::new().components(5)), ErrorKind::Parameter { .. }));
    assert!(matches!(kind(Pca::new().components(5).route(Route::Gram)), ErrorKind::Parameter { .. }));
    assert!(matches!(kind(Pca::new().components(0).route(Route::Gram)), ErrorKind::Parameter { .. }));
    let huge = Csr::new(2, 1, vec![0, 1, 1], vec![0], vec![1e200])?;
    assert!(matches!(Pca::new().fit_sparse(&huge).expect_err("refused").kind(), ErrorKind::Range { .. }));
    let one = Csr::new(1, 3, vec![0, 1], vec![0], vec![2.0])?;
    assert!(matches!(Pca::new().fit_sparse(&one).expect_err("refused").kind(), ErrorKind::TooFew { .. }));
    assert_eq!(Pca::new().center(false).fit_sparse(&one)?.spectrum().eigenvalues(), [4.0]);
    let empty = Csr::new(2, 0, vec![0, 0, 0], vec![], vec![])?;
    assert!(matches!(Pca::new().fit_sparse(&empty).expect_err("refused").kind(), ErrorKind::TooFew { .. }));
    let exec = Exec::new().memory(100);
    assert!(matches!(Pca::new().fit_sparse_with(&x, &exec).expect_err("refused").kind(), ErrorKind::Memory { .. }));
    Ok(())
}

#[test]
fn axes_are_completed_to_an_orthonormal_basis() {
    let axes = complete_axes(&Points::from_rows(&[[0.6, 0.0, 0.8, 0.0], [0.0, 1.0, 0.0, 0.0]]), 9);
    assert_eq!((axes.n(), axes.d()), (4, 4), "there are no more than dimensions");
    assert_eq!(axes.row(0), [0.6, 0.0, 0.8, 0.0]);
    assert_eq!(axes.row(2), [0.0, 0.0, 0.0, 1.0]);
    assert!(axes.row(3).iter().zip([0.8, 0.0, -0.6, 0.0]).all(|(a, b)| (a - b).abs() < 1e-15));
    assert_eq!(complete_axes(&axes, 2), axes);
    let none = complete_axes(&Points::from_fn(0, 3, |_, _| 0.0), 2);
    assert_eq!((none.row(0), none.row(1)), (&[1.0, 0.0, 0.0][..], &[0.0, 1.0, 0.0][..]));
}
