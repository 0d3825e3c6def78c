//! The user's operators, functions and Gram matrices, correct and faulty ones.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Spectral, blobs, kernel, violations};
use mercer::kernel::Bound;
use mercer::op::{Gram, SymOp};
use mercer::testing::matrices::normal;
use mercer::testing::naive;
use mercer::{Block, Components, ErrorKind, Exec, Kernel, KernelPca, Points, Result};

const N: usize = 2002;

fn harmonic() -> Vec<f64> {
    (0..N - 1).map(|i| 1.0 / (i + 1) as f64).collect()
}

/// (0 B; B' 0) with a diagonal B: eigenvalues of both signs, and a diagonal of zeros, as the adjacency of a graph has it.
struct Pairs(Vec<f64>);

impl SymOp for Pairs {
    fn n(&self) -> usize {
        2 * self.0.len()
    }

    fn apply(&self, x: &Block, y: &mut Block, _: &Exec) -> Result<()> {
        let half = self.0.len();
        for c in 0..x.b() {
            for (i, s) in self.0.iter().enumerate() {
                y.col_mut(c)[i] = s * x.col(c)[half + i];
                y.col_mut(c)[half + i] = s * x.col(c)[i];
            }
        }
        Ok(())
    }

    fn diagonal(&self, _: &Exec) -> Result<Option<Vec<f64>>> {
        Ok(Some(vec![0.0; self.n()]))
    }
}

#[test]
fn an_operator_with_a_diagonal_of_zeros_is_not_taken_for_zero() -> Result<()> {
    let op = Pairs((0..N / 2).map(|i| 1.0 / (1.0 + 0.01 * i as f64)).collect());
    let model = KernelPca::custom().components(5).tolerance(1e-3).fit_op(&op)?;
    let c = model.certificate();
    // The eigenvalues at a smaller tolerance are larger, and no more than the true ones.
    let better = KernelPca::custom().components(12).tolerance(1e-8).fit_op(&op)?;
    let truth = better.spectrum().eigenvalues();
    assert!(c.rounding() > 0.0, "no allowance for rounding of a matrix of norm 1");
    let wrong = violations(&model, truth, 1e-13);
    assert!(wrong.is_empty(), "{wrong:#?}");
    // It has negative eigenvalues and fits the memory, so all its eigenvalues were computed.
    assert!(model.definiteness().is_some_and(|d| d.is_indefinite()));
    Ok(())
}

#[test]
fn without_the_norm_no_bound_relies_on_it() -> Result<()> {
    let mut op = Spectral::new(&harmonic(), 3);
    op.squares = false;
    for k in [1, 6] {
        let model = KernelPca::custom().components(k).fit_op(&op)?;
        let wrong = violations(&model, &op.truth(), 0.0);
        assert!(wrong.is_empty(), "{wrong:#?}");
        let kind = model.certificate().kind();
        assert!(
            !matches!(kind, mercer::certificate::BoundKind::Frobenius | mercer::certificate::BoundKind::Trace),
            "{k}: {kind:?}"
        );
    }
    Ok(())
}

#[test]
fn scales_far_from_one_change_nothing_but_the_scale() -> Result<()> {
    let plain = KernelPca::custom().components(4).fit_op(&Spectral::new(&harmonic(), 5))?;
    for exponent in [-1000, -600, -560, -100, 100, 500] {
        let scale = 2f64.powi(exponent);
        let values: Vec<f64> = harmonic().iter().map(|v| v * scale).collect();
        let op = Spectral::new(&values, 5);
        let model = match KernelPca::custom().components(4).fit_op(&op) {
            Ok(model) => model,
            // What leaves the range may be refused.
            Err(e) if matches!(e.kind(), ErrorKind::Range { .. }) => continue,
            Err(e) => return Err(e),
        };
        let (c, p) = (model.certificate(), plain.certificate());
        let wrong = violations(&model, &op.truth(), 0.0);
        assert!(wrong.is_empty(), "2^{exponent}: {wrong:#?}");
        assert!(c.rounding() / scale > 0.5 * p.rounding(), "2^{exponent}: rounding {:e}", c.rounding() / scale);
        for (a, b) in c.clusters().iter().zip(p.clusters()) {
            assert!(a.sine > 0.5 * b.sine && a.sine < 2.0 * b.sine, "2^{exponent}: {a:?} {b:?}");
        }
    }
    Ok(())
}

#[test]
fn a_huge_matrix_is_refused_with_a_message_or_fitted() {
    for scale in [1e155, 1e200, 1e300] {
        let values: Vec<f64> = harmonic().iter().map(|v| v * scale).collect();
        let op = Spectral::new(&values, 5);
        match KernelPca::custom().components(4).fit_op(&op) {
            Ok(model) => assert!(violations(&model, &op.truth(), 0.0).is_empty(), "{scale:e}"),
            Err(e) => {
                let said = matches!(e.kind(), ErrorKind::Range { .. } | ErrorKind::NotFinite { .. });
                assert!(said && !e.to_string().contains("inf"), "{scale:e}: {e}");
            }
        }
    }
}

/// 1, 1/2, 1/3, ... on the diagonal. From the pass with this number on, one entry of its products is replaced.
struct Spoilt {
    value: f64,
    good_passes: usize,
    passes: AtomicUsize,
}

impl SymOp for Spoilt {
    fn n(&self) -> usize {
        N
    }

    fn apply(&self, x: &Block, y: &mut Block, _: &Exec) -> Result<()> {
        let pass = self.passes.fetch_add(1, Ordering::SeqCst);
        for c in 0..x.b() {
            y.col_mut(c).iter_mut().zip(x.col(c)).enumerate().for_each(|(i, (y, x))| *y = x / (i + 1) as f64);
            if pass >= self.good_passes {
                y.col_mut(c)[3] = self.value;
            }
        }
        Ok(())
    }

    fn diagonal(&self, _: &Exec) -> Result<Option<Vec<f64>>> {
        Ok(Some((0..N).map(|i| 1.0 / (i + 1) as f64).collect()))
    }
}

#[test]
fn an_operator_with_products_that_are_not_finite_is_refused() {
    let mut wrong = Vec::new();
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for good_passes in 0..5 {
            let op = Spoilt { value, good_passes, passes: AtomicUsize::new(0) };
            match KernelPca::custom().components(5).fit_op(&op) {
                Ok(model) => wrong.push(format!(
                    "{value} from pass {}: a model with {} components, {}",
                    good_passes + 1,
                    model.components(),
                    model.certificate()
                )),
                Err(e) if matches!(e.kind(), ErrorKind::NotFinite { .. } | ErrorKind::Range { .. }) => {}
                Err(e) => wrong.push(format!("{value} from pass {}: {e}", good_passes + 1)),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// An operator with a diagonal that is not its own.
struct Diagonal(Spectral, Vec<f64>);

impl SymOp for Diagonal {
    fn n(&self) -> usize {
        self.0.n()
    }

    fn apply(&self, x: &Block, y: &mut Block, exec: &Exec) -> Result<()> {
        self.0.apply(x, y, exec)
    }

    fn diagonal(&self, _: &Exec) -> Result<Option<Vec<f64>>> {
        Ok(Some(self.1.clone()))
    }
}

#[test]
fn a_diagonal_of_another_length_or_not_finite_is_refused() {
    let mut wrong = Vec::new();
    for (what, diagonal) in [
        ("none", vec![]),
        ("too short", vec![1.0; N - 1]),
        ("too long", vec![1.0; N + 1]),
        ("not numbers", vec![f64::NAN; N]),
        ("infinite", vec![f64::INFINITY; N]),
    ] {
        let op = Diagonal(Spectral::new(&harmonic(), 1), diagonal);
        match KernelPca::custom().components(5).fit_op(&op) {
            Ok(model) => wrong.push(format!("{what}: total {:e}", model.spectrum().total())),
            Err(e) if matches!(e.kind(), ErrorKind::Shape { .. } | ErrorKind::NotFinite { .. }) => {}
            Err(e) => wrong.push(format!("{what}: {e}")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_operator_that_gives_another_shape_is_refused() {
    struct Shaped(fn(&Block) -> (usize, usize));
    impl SymOp for Shaped {
        fn n(&self) -> usize {
            N
        }
        fn apply(&self, x: &Block, y: &mut Block, _: &Exec) -> Result<()> {
            let (n, b) = (self.0)(x);
            *y = Block::zeros(n, b);
            Ok(())
        }
        fn diagonal(&self, _: &Exec) -> Result<Option<Vec<f64>>> {
            Ok(Some(vec![1.0; N]))
        }
    }
    #[allow(clippy::type_complexity)]
    let shapes: [fn(&Block) -> (usize, usize); 6] = [
        |_| (0, 0),
        |x| (x.n() + 1, x.b()),
        |x| (x.n() - 1, x.b()),
        |x| (x.n(), x.b() + 1),
        |x| (x.n(), x.b() - 1),
        |x| (x.n() * x.b(), 1),
    ];
    for shape in shapes {
        let error = KernelPca::custom().components(5).fit_op(&Shaped(shape)).expect_err("another shape");
        assert!(matches!(error.kind(), ErrorKind::Shape { .. }), "{error}");
    }
}

#[test]
fn an_operator_that_is_not_symmetric_gives_no_model() {
    struct Skew;
    impl SymOp for Skew {
        fn n(&self) -> usize {
            N
        }
        fn apply(&self, x: &Block, y: &mut Block, _: &Exec) -> Result<()> {
            for c in 0..x.b() {
                for i in 0..N {
                    let shifted = x.col(c)[(i + 1) % N];
                    y.col_mut(c)[i] = x.col(c)[i] / (i + 1) as f64 + 0.3 * shifted;
                }
            }
            Ok(())
        }
        fn diagonal(&self, _: &Exec) -> Result<Option<Vec<f64>>> {
            Ok(Some((0..N).map(|i| 1.0 / (i + 1) as f64).collect()))
        }
    }
    let found = KernelPca::custom().components(3).fit_op(&Skew);
    let error = found.map(|m| m.certificate().to_string()).expect_err("no symmetric matrix");
    assert!(matches!(error.kind(), ErrorKind::NotConverged { .. } | ErrorKind::NotSymmetric { .. }), "{error}");
}

#[test]
fn a_gram_matrix_an_operator_and_a_function_give_what_the_kernel_gives() -> Result<()> {
    let x = blobs(N, 3, 6, 40);
    let gaussian = kernel("gaussian(gamma=0.05)");
    let points = KernelPca::new(gaussian.clone()).components(4).tolerance(1e-9).fit(&x)?;
    let gram = naive::gram(&gaussian, &x);
    let custom = KernelPca::custom().components(4).tolerance(1e-9);
    let given = custom.fit_gram(&gram)?;
    let function = custom.fit_fn(&x, move |x, y| gaussian.eval(x, y))?;
    for (what, model) in [("gram", &given), ("function", &function)] {
        assert!(!model.spectrum().is_complete(), "{what}");
        for (j, (a, b)) in model.spectrum().eigenvalues().iter().zip(points.spectrum().eigenvalues()).enumerate() {
            let allowed = model.certificate().radius(j) + points.certificate().radius(j);
            assert!((a - b).abs() <= allowed, "{what}, {j}: {a} {b}, {allowed:e}");
        }
        let ratio = (model.spectrum().total() / points.spectrum().total() - 1.0).abs();
        assert!(ratio < 1e-12, "{what}: {ratio:e}");
    }
    // New points by their rows of kernel values.
    let rows = Points::from_fn(5, N, |i, j| gram.row(7 * i)[j]);
    let (scores, known) = (given.transform(&rows)?, given.scores());
    for i in 0..5 {
        for j in 0..4 {
            let allowed = 2e-9 * given.spectrum().eigenvalues()[0] / given.spectrum().eigenvalues()[j].sqrt();
            assert!((scores.row(i)[j] - known.row(7 * i)[j]).abs() <= allowed, "{i} {j}");
        }
    }
    Ok(())
}

#[test]
fn a_matrix_in_f32_has_the_rounding_of_f32() -> Result<()> {
    let x = normal(N, 2, 41);
    let wide = naive::gram(&kernel("gaussian(gamma=0.3)"), &x);
    let narrow = crate::common::to_f32(&wide);
    let custom = KernelPca::custom().components(3);
    let (a, b) = (custom.fit_gram(&narrow)?, custom.fit_gram(&wide)?);
    assert!(a.certificate().rounding() > 1e6 * b.certificate().rounding());
    for j in 0..3 {
        let gap = (a.spectrum().eigenvalues()[j] - b.spectrum().eigenvalues()[j]).abs();
        assert!(gap <= a.certificate().radius(j) + b.certificate().radius(j), "{j}: {gap:e}");
    }
    Ok(())
}

#[test]
fn a_share_of_an_operator_is_found() -> Result<()> {
    let values: Vec<f64> = (0..N - 1).map(|i| 0.8f64.powi(i as i32)).collect();
    let op = Spectral::new(&values, 8);
    for share in [0.3, 0.9, 0.999] {
        let model = KernelPca::custom().components(share).fit_op(&op)?;
        let total: f64 = values.iter().sum();
        let mut sum = 0.0;
        let expected = values
            .iter()
            .take_while(|v| {
                sum += **v;
                sum < share * total
            })
            .count()
            + 1;
        assert_eq!(model.components(), expected, "{share}");
        assert!(violations(&model, &op.truth(), 0.0).is_empty(), "{share}");
    }
    let all = KernelPca::new(Kernel::linear()).components(Components::Share(1.0)).fit(&blobs(700, 3, 4, 1))?;
    assert_eq!(all.components(), 3);
    Ok(())
}

/// A diagonal matrix with too many rows to be stored.
struct Falling(usize);

impl SymOp for Falling {
    fn n(&self) -> usize {
        self.0
    }

    fn apply(&self, x: &Block, y: &mut Block, _: &Exec) -> Result<()> {
        for j in 0..x.b() {
            for (i, (y, x)) in y.col_mut(j).iter_mut().zip(x.col(j)).enumerate() {
                *y = *x * 0.5f64.powi(i.min(60) as i32);
            }
        }
        Ok(())
    }

    fn diagonal(&self, _: &Exec) -> Result<Option<Vec<f64>>> {
        Ok(Some((0..self.0).map(|i| 0.5f64.powi(i.min(60) as i32)).collect()))
    }
}

#[test]
fn an_operator_needs_no_memory_for_a_matrix() -> Result<()> {
    // Stored it would take 20 GB. Centring changes it by 2/n.
    let model = KernelPca::custom().components(3).fit_op_with(&Falling(50_000), &Exec::new().memory(500_000_000))?;
    for (found, wanted) in model.spectrum().eigenvalues().iter().zip([1.0, 0.5, 0.25]) {
        assert!((found - wanted).abs() < 1e-4, "{found} for {wanted}");
    }
    Ok(())
}

#[test]
fn blocks_of_another_shape_are_refused() -> Result<()> {
    let x = normal(70, 3, 7);
    let gram = Gram::new(&Bound::new(&kernel("gaussian"), &x)?, &x)?;
    for (rows, out) in [(69, (69, 2)), (70, (69, 2)), (70, (70, 1))] {
        let error = gram.apply(&Block::zeros(rows, 2), &mut Block::zeros(out.0, out.1), &Exec::new());
        assert!(matches!(error.expect_err("a shape").kind(), ErrorKind::Shape { .. }));
    }
    Ok(())
}

#[test]
fn new_points_too_large_to_be_squared_are_refused() -> Result<()> {
    let x = normal(700, 2, 8);
    let model = KernelPca::new(kernel("gaussian")).components(2).fit(&x)?;
    for huge in [1e308, 1e200, -1e150] {
        let error = model.transform(&Points::from_rows(&[[huge, 0.0]])).expect_err("too large");
        assert!(matches!(error.kind(), ErrorKind::Range { .. }), "{error}");
    }
    Ok(())
}
