//! Non-linear PCA by an explicit map: an ellipse becomes a plane, and the plane gives the ellipse's equation back.
//!
//! Points of a conic a x^2 + b xy + c y^2 = 1 satisfy a linear equation in the monomials x^2, xy, y^2. The component of
//! smallest variance of the embedded points is therefore the normal of a plane, with no variance along it.
#![allow(clippy::print_stdout, missing_docs, unreachable_pub)]

use mercer::{Embedding, Pca, Points};

pub fn main() -> mercer::Result<()> {
    // 2 x^2 + xy + 3 y^2 = 1, walked around by angle
    let (a, b, c) = (2.0, 1.0, 3.0);
    let x = Points::from_fn(60, 2, |i, j| {
        let (sin, cos) = (i as f64 * std::f64::consts::TAU / 60.0).sin_cos();
        let radius = 1.0 / f64::sqrt(a * cos * cos + b * cos * sin + c * sin * sin);
        radius * if j == 0 { cos } else { sin }
    });

    let embedding = Embedding::monomials(2);
    let model = Pca::new().embed(embedding.clone()).fit(&x)?;
    println!("variances of {:?}:", embedding.names(&["x", "y"]));
    println!("  {:?}", model.spectrum().variances());

    // The plane n.phi(x) = n.m; the monomial xy carries the weight sqrt(2).
    let (axes, mean) = (model.axes(), model.mean());
    let normal = axes.row(2);
    let level: f64 = normal.iter().zip(mean).map(|(n, m)| n * m).sum();
    let found = [normal[0] / level, 2f64.sqrt() * normal[1] / level, normal[2] / level];
    println!("equation: {:.12} x^2 + {:.12} xy + {:.12} y^2 = 1", found[0], found[1], found[2]);

    assert!(model.spectrum().ratios()[2] < 1e-28, "the smallest component has no variance");
    for (found, true_value) in found.iter().zip([a, b, c]) {
        assert!((found - true_value).abs() < 1e-12);
    }
    Ok(())
}
