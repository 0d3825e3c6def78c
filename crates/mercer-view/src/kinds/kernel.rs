//! The Gram matrix and the centred Gram matrix as colours, points ordered by their clusters.

use mercer::k_means::KMeans;
use mercer::kernel::Bound;
use mercer::op::centre;
use mercer::op::{Gram, SymOp};
use mercer::{AnyModel, Exec, Kernel, KernelPcaModel, Points, Result};

use crate::colour::Colour;
use crate::figure::{Figure, Layer, Panel, spread};
use crate::kinds::{AxesOf, PlotKind, Unavailable};
use crate::text::count;

pub(super) static KIND: PlotKind = PlotKind {
    name: "kernel",
    title: "Kernel matrix",
    about: "Gram matrix and centred Gram matrix, points ordered by k-means clusters of their scores",
    needs: "a kernel model and its data",
    axes: AxesOf::Fixed,
    prepare: |subject, look| {
        let AnyModel::KernelPca(model) = subject.model()? else { return Err(Unavailable::NoKernel) };
        let kernel = model.kernel().ok_or(Unavailable::GivenGramMatrix)?;
        let (points, scores) = (subject.points()?, subject.scores()?);
        Ok(Box::new(move |exec| gram(&look.title, (model, kernel), points, scores, subject.colour, exec)))
    },
};

/// Points that are drawn at most: their matrix is quick to compute.
const MOST_POINTS: usize = 1000;
/// Cells in a row at most: more would be too small to see.
const CELLS: usize = 100;
/// Number of clusters when there are no labels.
const CLUSTERS: usize = 3;

/// K and HKH of the points of a kernel model, ordered by the clusters of their scores; a cell is the mean of a block where
/// there are more points than cells. Fails when the kernel has values that are not finite, or the work is cancelled.
fn gram(
    title: &str,
    (model, kernel): (&KernelPcaModel, &Kernel),
    points: &Points<f64>,
    scores: &Points<f64>,
    colour: &Colour,
    exec: &Exec,
) -> Result<Figure> {
    let some = spread(points.n(), MOST_POINTS);
    let z = Points::from_fn(some.len(), scores.d(), |i, j| scores.row(some[i])[j]);
    let clusters = match colour {
        Colour::Classes { names, .. } => names.len().max(2),
        _ => CLUSTERS,
    };
    let labels = KMeans::new(clusters.min(some.len())).fit_with(&z, exec)?.labels;
    // Clusters and the points within each are ordered along the first component.
    let mut means = vec![(0.0, 0usize); clusters];
    for (i, &c) in labels.iter().enumerate() {
        means[c] = (means[c].0 + z.row(i)[0], means[c].1 + 1);
    }
    let mean = |c: usize| means[c].0 / means[c].1.max(1) as f64;
    let mut order: Vec<usize> = (0..some.len()).collect();
    order.sort_by(|&a, &b| {
        let (ca, cb) = (labels[a], labels[b]);
        mean(ca).total_cmp(&mean(cb)).then(ca.cmp(&cb)).then(z.row(a)[0].total_cmp(&z.row(b)[0])).then(a.cmp(&b))
    });
    let x = Points::from_fn(some.len(), points.d(), |i, j| {
        let value = points.row(some[order[i]])[j];
        model.standardise().map_or(value, |s| (value - s.mean[j]) / s.scale[j])
    });
    let mut matrix = Gram::new(&Bound::new(kernel, &x)?, &x)?.to_matrix(exec)?;
    let cells = some.len().min(CELLS);
    let blocks = |matrix: &mercer::Block| -> Vec<Vec<f64>> {
        let edge = |c: usize| c * some.len() / cells;
        (0..cells)
            .map(|r| {
                (0..cells)
                    .map(|c| {
                        let (rows, columns) = (edge(r)..edge(r + 1), edge(c)..edge(c + 1));
                        let number = (rows.len() * columns.len()) as f64;
                        rows.flat_map(|i| columns.clone().map(move |j| (i, j)))
                            .map(|(i, j)| matrix.at(i, j))
                            .sum::<f64>()
                            / number
                    })
                    .collect()
            })
            .collect()
    };
    let plain = blocks(&matrix);
    centre(&mut matrix);
    let panel = |title: &str, rows, signed| Panel {
        title: title.into(),
        axes: ("points".into(), "points".into()),
        layers: vec![Layer::Matrix { rows, name: String::new(), signed, points: some.len() }],
        equal: true,
    };
    let panels = vec![panel("K", plain, false), panel("HKH, centred", blocks(&matrix), true)];
    let mut note = format!("points ordered by {clusters} k-means clusters of their scores");
    if some.len() < points.n() {
        note += &format!("; {} of {} points", count(some.len()), count(points.n()));
    }
    if cells < some.len() {
        note += "; each cell is the mean of a block";
    }
    Ok(Figure { title: title.into(), note, panels, across: 2, compact: false })
}
