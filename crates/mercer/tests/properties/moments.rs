//! Moments of parts, merged.

use crate::common::largest_gap;
use crate::strategies::{EPS, config, no_error, some_points};
use mercer::Points;
use mercer::state::Moments;
use mercer::testing::ratios::THRESHOLD;
use proptest::prelude::*;

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn moments_of_parts_are_moments_of_the_whole(
        x in some_points(1..40, 1..5), offset in prop_oneof![Just(0.0), Just(100.0)],
        cuts in prop::collection::vec(0..40usize, 0..5),
    ) {
        let x = Points::from_fn(x.n(), x.d(), |i, j| x.row(i)[j] + offset);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(x.n())).chain([0, x.n()]).collect();
        cuts.sort_unstable();
        let mut merged = Moments::empty(x.d());
        for cut in cuts.windows(2) {
            merged = no_error(merged.merge(&no_error(Moments::of(x.view().slice(cut[0], cut[1])))?))?;
        }
        let whole = no_error(Moments::of(&x))?;
        let n = x.n() as f64;
        let mean: Vec<f64> = (0..x.d()).map(|j| x.rows().map(|r| r[j]).sum::<f64>() / n).collect();
        let size = offset + 3.0;
        for moments in [&merged, &whole] {
            prop_assert_eq!(moments.n(), x.n() as u64);
            prop_assert!(largest_gap(&moments.mean(), &mean) <= THRESHOLD * EPS * size);
            let (scatter, about) = (moments.scatter(), moments.scatter_about_origin());
            for i in 0..x.d() {
                prop_assert_eq!(moments.is_constant(i), x.rows().all(|r| r[i] == x.row(0)[i]));
                for j in 0..x.d() {
                    let truth: f64 = x.rows().map(|r| (r[i] - mean[i]) * (r[j] - mean[j])).sum();
                    prop_assert!((scatter.at(i, j) - truth).abs() <= THRESHOLD * n * EPS * 3.0 * size);
                    let truth: f64 = x.rows().map(|r| r[i] * r[j]).sum();
                    prop_assert!((about.at(i, j) - truth).abs() <= THRESHOLD * n * EPS * size * size);
                }
            }
        }
    }
}
