//! Points before and after: what the components keep of them.

use mercer::{AnyModel, Embedding, Exec, Points, Result};

use crate::colour::Colour;
use crate::figure::{Figure, Layer, Panel, spread};
use crate::text::{count, percent};

/// Points that are shown; pre-images take time.
const MOST_POINTS: usize = 2000;
/// More lines between points and reconstructions than this hide both.
const MOST_LINKS: usize = 400;

/// What the components keep of points.
#[derive(Clone, Debug)]
pub struct Reconstruction {
    /// The points that were looked at, of those given.
    pub which: Vec<usize>,
    /// Their reconstructions, or pre-images, in the units of the data.
    pub points: Points<f64>,
}

impl Reconstruction {
    /// Of at most so many of the points; `None` where the model has neither reconstructions nor pre-images.
    ///
    /// # Errors
    /// As transforming the points.
    pub fn of(model: &AnyModel, points: &Points<f64>, exec: &Exec) -> Result<Option<Self>> {
        let which = spread(points.n(), MOST_POINTS);
        let x = Points::from_fn(which.len(), points.d(), |i, j| points.row(which[i])[j]);
        let points = match model {
            AnyModel::Pca(m) if *m.embedding() == Embedding::Identity => m.reconstruct(&m.transform_with(&x, exec)?)?,
            AnyModel::KernelPca(m) if m.has_preimages() => m.preimages(&x, exec)?.points().clone(),
            _ => return Ok(None),
        };
        Ok(Some(Reconstruction { which, points }))
    }
}

/// The two columns with the largest variance, in their order: where there is most to see. The first two of fewer.
pub fn widest(points: &Points<f64>) -> (usize, usize) {
    let variance = |j: usize| {
        let column = points.column(j);
        let mean = column.iter().sum::<f64>() / column.len() as f64;
        column.iter().map(|v| (v - mean).powi(2)).sum::<f64>()
    };
    let variances: Vec<f64> = (0..points.d()).map(variance).collect();
    let mut order: Vec<usize> = (0..points.d()).collect();
    order.sort_by(|&a, &b| variances[b].total_cmp(&variances[a]).then(a.cmp(&b)));
    match order[..] {
        [a, b, ..] => (a.min(b), a.max(b)),
        _ => (0, 1),
    }
}

/// Points and what the components keep of them, in the plane of two columns; `None` where the model keeps nothing that
/// can be drawn.
///
/// # Errors
/// As transforming the points.
pub fn reconstruction(
    title: &str,
    model: &AnyModel,
    points: &Points<f64>,
    columns: &[String],
    (x, y): (usize, usize),
    exec: &Exec,
) -> Result<Option<Figure>> {
    let Some(back) = Reconstruction::of(model, points, exec)? else { return Ok(None) };
    let place = |row: &[f64]| (row[x], row[y]);
    let before: Vec<(f64, f64)> = back.which.iter().map(|&i| place(points.row(i))).collect();
    let after: Vec<(f64, f64)> = back.points.rows().map(place).collect();
    let name = if matches!(model, AnyModel::Pca(_)) { "reconstruction" } else { "pre-image" };
    let mut layers = vec![Layer::Faint { at: before.clone(), name: "data".into() }];
    if before.len() <= MOST_LINKS {
        layers.push(Layer::Links(before.iter().zip(&after).map(|(a, b)| [*a, *b]).collect()));
    }
    let colour = Colour::Classes { name: String::new(), of: vec![0; after.len()], names: vec![name.to_string()] };
    layers.push(Layer::Points { at: after, colour });
    let kept = model.spectrum().and_then(|s| s.cumulative().last().copied()).unwrap_or(0.0);
    let mut note = match model.components() {
        1 => format!("what one component with {} of the variance keeps", percent(kept)),
        k => format!("what {k} components with {} of the variance keep", percent(kept)),
    };
    if back.which.len() < points.n() {
        note += &format!("; {} of {} points", count(back.which.len()), count(points.n()));
    }
    let mut panel = Panel { axes: (columns[x].clone(), columns[y].clone()), layers, ..Panel::default() };
    panel.equal = panel.is_square();
    Ok(Some(Figure { title: title.into(), note, panels: vec![panel], across: 1, compact: false }))
}
