//! Tables of numbers, and standardised points.

use mercer::{AnyModel, Exec, Pca, Points};
use mercer_io::{Column, Table};

use crate::text::{component, shown_eigenvalues};

/// Returns the eigenvalues of a model with their shares of the variance.
///
/// # Errors
/// None: all columns have the same length.
pub fn eigenvalue_table(model: &AnyModel) -> mercer_io::Result<Table> {
    let values = shown_eigenvalues(model);
    let mut columns = vec![Column::text("component", (0..values.len()).map(component).collect())];
    columns.push(Column::numbers("eigenvalue", values));
    if let Some(spectrum) = model.spectrum() {
        columns.push(Column::numbers("explained_variance_ratio", spectrum.ratios()));
        columns.push(Column::numbers("cumulative", spectrum.cumulative()));
    }
    Table::new("eigenvalues", columns)
}

/// Returns the points with centred columns divided by their standard deviation, as the models do it.
///
/// # Errors
/// As fitting PCA to the points.
pub fn standardised(points: &Points<f64>, exec: &Exec) -> mercer::Result<Points<f64>> {
    let model = Pca::new().standardise(true).components(1).fit_with(points, exec)?;
    let (mean, scale) = (model.mean(), model.scale());
    Ok(Points::from_fn(points.n(), points.d(), |i, j| (points.row(i)[j] - mean[j]) / scale[j]))
}
