//! Points and their reconstructions.

use mercer::{AnyModel, Embedding, Exec, Points, Result};

use crate::colour::Colour;
use crate::figure::{Figure, Layer, Panel, spread};
use crate::kinds::{Axes, AxesOf, PlotKind, Unavailable, some_components};
use crate::text::{count, percent, plural};

pub(super) static KIND: PlotKind = PlotKind {
    name: "reconstruction",
    title: "Reconstruction",
    about: "Points, and their reconstructions or pre-images",
    needs: "PCA or the gaussian kernel, and data of two columns or more",
    axes: AxesOf::Columns,
    prepare: |subject, look| {
        let (model, points) = (subject.model()?, subject.points()?);
        let d = points.d();
        if d < 2 {
            return Err(Unavailable::TooFewColumns { found: d, least: 2 });
        }
        some_components(model.components())?;
        let reconstruct = reconstruct_of(model).ok_or(Unavailable::NoReconstruction)?;
        let axes = look.axes.unwrap_or_else(|| widest(points));
        if axes.x.max(axes.y) >= d {
            return Err(Unavailable::NoSuchAxis { of: AxesOf::Columns, count: d });
        }
        Ok(Box::new(move |exec| {
            reconstruction(&look.title, (model, &reconstruct), points, subject.columns, axes, exec)
        }))
    },
};

/// Points that are drawn at most; pre-images take time.
const MOST_POINTS: usize = 2000;
/// More lines between points and reconstructions than this hide both.
const MOST_LINKS: usize = 400;

/// The reconstructions of points, in the units of the data.
type Reconstruct<'a> = Box<dyn Fn(&Points<f64>, &Exec) -> Result<Points<f64>> + 'a>;

/// How a model reconstructs points; `None` where it has neither reconstructions nor pre-images.
fn reconstruct_of(model: &AnyModel) -> Option<Reconstruct<'_>> {
    match model {
        AnyModel::Pca(m) if *m.embedding() == Embedding::Identity => {
            Some(Box::new(|x, exec| m.reconstruct_with(&m.transform_with(x, exec)?, exec)))
        }
        AnyModel::KernelPca(m) if m.has_preimages() => {
            Some(Box::new(|x, exec| Ok(m.preimages(x, exec)?.points().clone())))
        }
        _ => None,
    }
}

/// The two columns with the largest variance, in their order.
fn widest(points: &Points<f64>) -> Axes {
    let variance = |j: usize| {
        let column = points.column(j);
        let mean = column.iter().sum::<f64>() / column.len() as f64;
        column.iter().map(|v| (v - mean).powi(2)).sum::<f64>()
    };
    let variances: Vec<f64> = (0..points.d()).map(variance).collect();
    let mut order: Vec<usize> = (0..points.d()).collect();
    order.sort_by(|&a, &b| variances[b].total_cmp(&variances[a]).then(a.cmp(&b)));
    match order[..] {
        [a, b, ..] => Axes { x: a.min(b), y: a.max(b) },
        _ => Axes::default(),
    }
}

/// Points and their reconstructions, in the plane of two columns.
fn reconstruction(
    title: &str,
    (model, reconstruct): (&AnyModel, &Reconstruct<'_>),
    points: &Points<f64>,
    columns: &[String],
    Axes { x, y }: Axes,
    exec: &Exec,
) -> Result<Figure> {
    let which = spread(points.n(), MOST_POINTS);
    let some = Points::from_fn(which.len(), points.d(), |i, j| points.row(which[i])[j]);
    let back = reconstruct(&some, exec)?;
    let place = |row: &[f64]| (row[x], row[y]);
    let before: Vec<(f64, f64)> = some.rows().map(place).collect();
    let after: Vec<(f64, f64)> = back.rows().map(place).collect();
    let name = if matches!(model, AnyModel::Pca(_)) { "reconstruction" } else { "pre-image" };
    let mut layers = vec![Layer::Faint { at: before.clone(), name: "data".into() }];
    if before.len() <= MOST_LINKS {
        layers.push(Layer::Links(before.iter().zip(&after).map(|(a, b)| [*a, *b]).collect()));
    }
    let colour = Colour::Classes { name: String::new(), of: vec![0; after.len()], names: vec![name.to_string()] };
    layers.push(Layer::Points { at: after, colour });
    let kept = model.spectrum().and_then(|s| s.cumulative().last().copied()).unwrap_or(0.0);
    let mut note =
        format!("{name} from {} ({} of the variance)", plural(model.components(), "component"), percent(kept));
    if which.len() < points.n() {
        note += &format!("; {} of {} points", count(which.len()), count(points.n()));
    }
    let mut panel = Panel { axes: (columns[x].clone(), columns[y].clone()), layers, ..Panel::default() };
    panel.equal = panel.is_square();
    Ok(Figure { title: title.into(), note, panels: vec![panel], across: 1, compact: false })
}
