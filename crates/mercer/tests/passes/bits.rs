//! The same bits on any number of threads and with any cache; results agree with plain loops up to rounding.

use crate::common::bits;
use crate::{blobs, kernel};
use mercer::exec::Instructions;
use mercer::parts::KernelPcaParts;
use mercer::testing::matrices::normal;
use mercer::{Components, Exec, KernelPca, Points, Result};

/// All that a fit gives, in bits where numbers are compared.
fn fit(text: &str, components: Components, x: &Points, exec: &Exec) -> Result<(KernelPcaParts, Vec<u64>, Vec<u64>)> {
    let model = KernelPca::new(kernel(text)).components(components).fit_with(x, exec)?;
    let scores = model.transform_with(x, exec)?;
    let parts = model.to_parts()?;
    let numbers = parts.weights.as_slice().iter().chain(&parts.eigenvalues).chain(&parts.offset);
    let numbers: Vec<f64> = numbers.chain([&parts.total, &parts.grand_mean]).copied().collect();
    Ok((parts, bits(&numbers), bits(scores.as_slice())))
}

#[test]
fn the_number_of_threads_changes_no_bit() -> Result<()> {
    for (text, n, components) in [
        ("gaussian", 1700, Components::Count(7)),
        ("laplacian", 800, Components::Count(3)),
        ("normalised(polynomial(coef0=1)) + linear", 1550, Components::Count(9)),
        ("matern * cosine", 640, Components::Share(0.8)),
        ("gaussian", 4300, Components::Count(4)),
        ("sigmoid(gamma=0.05)", 2100, Components::Count(3)),
    ] {
        let x = blobs(n, 5, 6, 51);
        let one = fit(text, components, &x, &Exec::new().threads(1))?;
        for threads in [2, 3, 7] {
            let more = fit(text, components, &x, &Exec::new().threads(threads))?;
            assert!(one == more, "{text} of {n} on {threads} threads");
        }
    }
    Ok(())
}

#[test]
fn threads_change_no_bit_with_outliers_and_pivots() -> Result<()> {
    let z = normal(1900, 4, 52);
    let x = Points::from_fn(1900, 4, |i, j| z.row(i)[j] * if i % 97 == 0 { 40.0 } else { 1.0 });
    let one = fit("gaussian(gamma=0.3)", Components::Count(5), &x, &Exec::new().threads(1))?;
    for threads in [2, 5] {
        let more = fit("gaussian(gamma=0.3)", Components::Count(5), &x, &Exec::new().threads(threads))?;
        assert!(one == more, "{threads} threads");
    }
    Ok(())
}

#[test]
fn the_memory_changes_no_bit_as_long_as_the_plan_is_the_same() -> Result<()> {
    for (text, n) in [("gaussian", 3200), ("gaussian", 4300)] {
        // Tiles are cached for points of many dimensions only.
        let x = blobs(n, 110, 6, 53);
        let pca = KernelPca::new(kernel(text)).components(4);
        let plan = |memory| pca.plan(n, 110, &Exec::new().memory(memory)).ok().and_then(|p| p.passes().cloned());
        let large = plan(8_000_000_000).expect("a plan");
        let whole = fit(text, Components::Count(4), &x, &Exec::new())?;
        let (mut kept, mut tried) = (vec![large.cached], 0);
        for memory in (8..40).map(|i| 2f64.powf(i as f64 / 2.0 + 14.0) as u64) {
            let Some(small) = plan(memory) else { continue };
            let same = (small.pivots, small.basis, small.f32) == (large.pivots, large.basis, large.f32);
            if same && !kept.contains(&small.cached) && tried < 4 {
                let found = fit(text, Components::Count(4), &x, &Exec::new().memory(memory))?;
                assert!(found == whole, "{text} of {n} with {memory} bytes, {} of tiles kept", small.cached);
                kept.push(small.cached);
                tried += 1;
            }
        }
        assert!(kept.len() > 1, "{text}: {kept:?}");
    }
    Ok(())
}

#[test]
fn a_second_run_gives_the_same_bits_and_another_seed_the_same_components() -> Result<()> {
    let x = blobs(1700, 5, 6, 54);
    for text in ["gaussian", "linear + laplacian"] {
        let one = fit(text, Components::Count(5), &x, &Exec::new().seed(3))?;
        assert!(one == fit(text, Components::Count(5), &x, &Exec::new().seed(3))?, "{text}");
        let other = fit(text, Components::Count(5), &x, &Exec::new().seed(u64::MAX))?;
        let model = KernelPca::new(kernel(text)).components(5).fit(&x)?;
        for (j, (a, b)) in one.0.eigenvalues.iter().zip(&other.0.eigenvalues).enumerate() {
            assert!((a - b).abs() <= 3.0 * model.certificate().radius(j), "{text}, {j}: {a} {b}");
        }
    }
    Ok(())
}

#[test]
fn scores_do_not_depend_on_the_batch() -> Result<()> {
    let (x, new) = (blobs(1700, 5, 6, 55), blobs(333, 5, 6, 56));
    for text in ["gaussian", "cosine + laplacian"] {
        let model = KernelPca::new(kernel(text)).components(3).fit(&x)?;
        let whole = bits(model.transform(&new)?.as_slice());
        for batch in [1, 7, 64, 65, 200] {
            let mut parts = Vec::new();
            for start in (0..new.n()).step_by(batch) {
                let end = new.n().min(start + batch);
                let piece = Points::from_fn(end - start, 5, |i, j| new.row(start + i)[j]);
                parts.extend(bits(model.transform_with(&piece, &Exec::new().threads(2))?.as_slice()));
            }
            assert!(parts == whole, "{text} in batches of {batch}");
        }
    }
    Ok(())
}

#[test]
fn f32_points_give_the_results_of_f64_points() -> Result<()> {
    let narrow = crate::common::to_f32(&blobs(1600, 5, 6, 57));
    let wide = Points::from_fn(1600, 5, |i, j| f64::from(narrow.row(i)[j]));
    for text in ["gaussian", "linear + matern"] {
        let pca = KernelPca::new(kernel(text)).components(4);
        let (a, b) = (pca.fit(&narrow)?, pca.fit(&wide)?);
        assert!(a.to_parts()? == b.to_parts()?, "{text}");
        assert_eq!(bits(a.transform(&narrow)?.as_slice()), bits(b.transform(&wide)?.as_slice()), "{text}");
    }
    Ok(())
}

#[test]
fn plain_loops_give_the_same_to_rounding() -> Result<()> {
    let mut wrong = Vec::new();
    for (text, n) in [
        ("gaussian", 640),
        ("gaussian(gamma=1e-4)", 1100),
        ("matern(nu=3/2)", 1100),
        ("matern(nu=5/2, length=100)", 640),
        ("rational_quadratic", 1100),
        ("laplacian", 640),
        ("polynomial(degree=5, coef0=1)", 640),
        ("normalised(linear + gaussian) * cosine", 640),
        ("gaussian + linear", 4100),
    ] {
        let x = blobs(n, 5, 6, 58);
        let run = |instructions| {
            let exec = Exec::new().instructions(instructions);
            let model = KernelPca::new(kernel(text)).components(4).tolerance(1e-9).fit_with(&x, &exec)?;
            let scores = model.transform_with(&x, &exec)?;
            Ok::<_, mercer::Error>((model, scores))
        };
        let ((best, scores), (plain, others)) = (run(Instructions::Best)?, run(Instructions::Scalar)?);
        for j in 0..4 {
            let (a, b) = (best.spectrum().eigenvalues()[j], plain.spectrum().eigenvalues()[j]);
            let allowed = 2.0 * best.certificate().rounding() + 1e-17 * a;
            if (a - b).abs() > allowed {
                wrong.push(format!("{text}: eigenvalue {j} {:.2e} apart, {allowed:.2e} allowed", (a - b).abs()));
            }
            // Vectors to the angle that both certify.
            let sine: f64 = [&best, &plain]
                .iter()
                .flat_map(|m| m.certificate().clusters().iter().filter(|c| c.first <= j && j <= c.last))
                .map(|c| c.sine)
                .sum();
            let gap = (0..n).map(|i| (scores.row(i)[j] - others.row(i)[j]).powi(2)).sum::<f64>().sqrt();
            if gap > (2.0 * sine + 1e-9) * a.sqrt() {
                wrong.push(format!("{text}: scores {j} {gap:.2e} apart, the sine is {sine:.2e}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}
