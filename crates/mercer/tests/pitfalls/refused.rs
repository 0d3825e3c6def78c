//! Too few points, other dimensions, wrong options and kernels too deep are refused.

use crate::common::{ROUTES, assert_finite_pca};
use crate::kernel;
use mercer::k_means::KMeans;
use mercer::kernel::Bound;
use mercer::kernel::registry::KERNELS;
use mercer::op::Gram;
use mercer::state::Moments;
use mercer::testing::matrices::normal;
use mercer::{Components, ErrorKind, ErrorSubject, Kernel, KernelPca, Pca, Result};

#[test]
fn too_few_points_or_dimensions_are_refused() {
    let few = |e: mercer::Error, what: ErrorSubject, found: usize, needed: usize| match *e.kind() {
        ErrorKind::TooFew { what: w, found: f, needed: m } => assert_eq!((w, f, m), (what, found, needed)),
        ref other => panic!("{other:?}"),
    };
    let (none, one, flat) = (normal(0, 3, 1), normal(1, 3, 1), normal(5, 0, 1));
    for route in ROUTES {
        few(Pca::new().route(route).fit(&none).expect_err("none"), ErrorSubject::Points, 0, 2);
        few(Pca::new().route(route).fit(&one).expect_err("one"), ErrorSubject::Points, 1, 2);
        few(Pca::new().route(route).fit(&flat).expect_err("flat"), ErrorSubject::Dimensions, 0, 1);
        few(Pca::new().center(false).route(route).fit(&none).expect_err("none"), ErrorSubject::Points, 0, 1);
        let alone = Pca::new().center(false).route(route).fit(&one).expect("one point has a direction");
        assert_finite_pca("alone", &alone, &one);
        assert_eq!((alone.components(), alone.spectrum().rank()), (1, 1), "{route:?}");
    }
    for entry in KERNELS {
        let pca = KernelPca::new(kernel(entry.name));
        few(pca.fit(&none).expect_err("none"), ErrorSubject::Points, 0, 2);
        few(pca.fit(&one).expect_err("one"), ErrorSubject::Points, 1, 2);
        few(pca.fit(&flat).expect_err("flat"), ErrorSubject::Dimensions, 0, 1);
    }
    few(Moments::of(&flat).expect_err("flat"), ErrorSubject::Dimensions, 0, 1);
    few(KMeans::new(1).fit(&none).expect_err("none"), ErrorSubject::Points, 0, 1);
    let x = normal(5, 3, 1);
    for (k, pca) in [(0, Pca::new().components(0)), (4, Pca::new().components(4))] {
        let error = pca.fit(&x).expect_err("components");
        assert!(matches!(error.kind(), ErrorKind::Parameter { name, .. } if name == "components"), "{k}: {error}");
    }
    for share in [0.0, -0.1, 1.1, f64::NAN] {
        assert!(Pca::new().components(Components::Share(share)).fit(&x).is_err(), "{share}");
        assert!(KernelPca::new(Kernel::linear()).components(Components::Share(share)).fit(&x).is_err(), "{share}");
    }
    for clusters in [0, 6] {
        assert!(KMeans::new(clusters).fit(&x).is_err(), "{clusters}");
    }
}

#[test]
fn other_dimensions_are_refused() -> Result<()> {
    let x = normal(8, 3, 33);
    let shape = |e: mercer::Error| assert!(matches!(e.kind(), ErrorKind::Shape { found: 4, expected: 3, .. }), "{e}");
    let other = normal(2, 4, 1);
    shape(Pca::new().fit(&x)?.transform(&other).expect_err("four, not three"));
    shape(Pca::new().fit(&x)?.reconstruct(&other).expect_err("four, not three"));
    shape(KernelPca::new(kernel("gaussian")).fit(&x)?.transform(&other).expect_err("four, not three"));
    shape(Gram::new(&Bound::new(&Kernel::linear(), &x)?, &other).expect_err("four, not three"));
    shape(Moments::of(&x)?.merge(&Moments::of(&other)?).expect_err("four, not three"));
    Ok(())
}

/// What puts a level around a kernel.
type Around = fn(Kernel) -> Kernel;

/// The linear kernel inside this many levels.
fn nested(levels: usize, around: Around) -> Kernel {
    (0..levels).fold(Kernel::linear(), |k, _| around(k))
}

#[test]
fn kernels_nested_too_deep_are_refused() -> Result<()> {
    let x = normal(5, 3, 1);
    let kinds: [(&str, Around); 4] = [
        ("sum", |k| Kernel::Sum(vec![Kernel::cosine(), k])),
        ("product", |k| Kernel::Product(vec![Kernel::cosine(), k])),
        ("weight", |k| Kernel::Scaled(1.0, Box::new(k))),
        ("normalised", Kernel::normalised),
    ];
    for (what, around) in kinds {
        // The linear kernel itself is a level.
        let deep = nested(63, around);
        deep.validate()?;
        assert!(deep.to_string().parse::<Kernel>().is_ok(), "{what}: what is valid can be written and read");
        for levels in [64, 65, 1000] {
            let deeper = nested(levels, around);
            let error = deeper.validate().expect_err("too deep");
            assert!(matches!(error.kind(), ErrorKind::Parameter { name, .. } if name == "depth"), "{what}: {error}");
            assert!(error.to_string().contains("64 levels"), "{what}: {error}");
            assert!(Bound::new(&deeper, &x).is_err() && KernelPca::new(deeper).fit(&x).is_err(), "{what}");
        }
    }
    Ok(())
}
