//! Monomials and the polynomial kernel are the same thing.

use crate::common::{ROUTES, inner_products, largest, largest_gap};
use crate::strategies::{config, no_error, some_points};
use mercer::testing::matrices::normal;
use mercer::testing::naive;
use mercer::{Embedding, Kernel, KernelPca, Pca};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn monomials_are_the_polynomial_kernel(
        x in prop::collection::vec(-2.0..2.0f64, 1..5), seed in 0..1000u64, degree in 1..6u32, offset in 0.0..2.0f64,
    ) {
        let y = normal(1, x.len(), seed).into_vec();
        let size = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
        let plain = (Embedding::monomials(degree), 0.0);
        for (phi, offset) in [plain, (Embedding::monomials_up_to(degree, offset), offset)] {
            let (a, b) = (phi.map(&x), phi.map(&y));
            prop_assert_eq!(Some(a.len() as u128), phi.features(x.len()));
            prop_assert_eq!(phi.names(&vec!["x"; x.len()]).len(), a.len());
            let dot: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let power = Kernel::polynomial(degree, offset).eval(&x, &y);
            let scale = ((size(&x) + offset) * (size(&y) + offset)).powf(f64::from(degree) / 2.0);
            prop_assert!((dot - power).abs() <= 1e-13 * scale, "{phi}: {dot} {power}");
            prop_assert_eq!(phi.to_string().parse::<Embedding>().ok(), Some(phi));
        }
    }

    #[test]
    fn embedded_pca_is_polynomial_kernel_pca(x in some_points(3..12, 1..4), degree in 1..4u32, offset in 0.0..2.0f64) {
        let kernel = no_error(KernelPca::new(Kernel::polynomial(degree, offset)).fit(&x))?;
        let entry = largest(naive::gram(&Kernel::polynomial(degree, offset), &x).as_slice());
        for route in ROUTES {
            let pca = Pca::new().embed(Embedding::monomials_up_to(degree, offset)).route(route);
            let explicit = no_error(pca.fit(&x))?;
            let z = inner_products(&no_error(explicit.transform(&x))?);
            prop_assert!(largest_gap(z.as_slice(), inner_products(&kernel.scores()).as_slice()) <= 1e-11 * entry);
        }
    }
}
