//! How well k-means clusters of scores agree with the classes of the points.

use mercer::k_means::{Agreement, KMeans};
use mercer::{Exec, Points, Result};

use crate::colour::Colour;
use crate::figure::spread;

/// Points that are clustered at most: more change the share little.
const MOST_POINTS: usize = 5000;
/// Starts of k-means; fewer where many methods are compared at once.
const RESTARTS: usize = 20;
/// Number of classes at most.
const MOST_CLASSES: usize = 50;

/// k-means on the first component, and on the first two, against the classes.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelAgreement {
    /// On the first component alone.
    pub first: Agreement,
    /// On the first two, where there are two.
    pub both: Option<Agreement>,
}

/// Compares k-means clusters of scores with the classes; `None` without classes, with a single one, or with too many.
///
/// # Errors
/// When the work is cancelled.
pub fn agreement(scores: &Points<f64>, colour: &Colour, exec: &Exec) -> Result<Option<LabelAgreement>> {
    let Colour::Classes { of, names, .. } = colour else { return Ok(None) };
    let some = spread(scores.n(), MOST_POINTS);
    if scores.d() == 0 || !(2..=MOST_CLASSES).contains(&names.len()) || 2 * names.len() > some.len() {
        return Ok(None);
    }
    let classes: Vec<usize> = some.iter().map(|&i| of[i]).collect();
    let on = |k: usize| -> Result<Agreement> {
        let z = Points::from_fn(some.len(), k, |i, j| scores.row(some[i])[j]);
        let found = KMeans::new(names.len()).restarts(RESTARTS).fit_with(&z, exec)?;
        Agreement::of(&classes, &found.labels)
    };
    Ok(Some(LabelAgreement { first: on(1)?, both: if scores.d() > 1 { Some(on(2)?) } else { None } }))
}
