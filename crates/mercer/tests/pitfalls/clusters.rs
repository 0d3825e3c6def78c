//! Clusters of huge points, and labels that are any numbers.

use crate::common::map;
use crate::finite_or_refused;
use mercer::Result;
use mercer::k_means::{Agreement, KMeans};
use mercer::testing::matrices::normal;

#[test]
fn clusters_of_huge_points_are_finite_or_refused() {
    for size in [1e160, 1e200, 1e308] {
        let found = KMeans::new(2).fit(&map(&normal(12, 3, 29), |v| v.clamp(-1.7, 1.7) * size));
        if let Ok(found) = &found {
            assert!(found.labels.contains(&1), "{size:e}: one cluster where two were asked for");
        }
        let numbers = found.map(|f| [vec![f.inertia], f.centres.into_vec()].concat());
        assert_eq!(finite_or_refused(&format!("{size:e}"), numbers), None);
    }
}

#[test]
fn labels_may_be_any_numbers() -> Result<()> {
    let same = Agreement::of(&[3, 3, 1_000_000_007, 5], &[usize::MAX, usize::MAX, 0, 1])?;
    assert_eq!((same.correct, same.adjusted_rand), (4, 1.0));
    Ok(())
}
