//! The Gram matrix and the centred one as colours, points in the order of their clusters.

use mercer::op::centre;
use mercer::{Bound, Exec, Gram, KMeans, KernelPcaModel, Points, Result, SymOp};

use crate::colour::Colour;
use crate::figure::{Figure, Layer, Panel, spread};
use crate::text::count;

/// Points that are looked at: their matrix is quick to have.
const MOST_POINTS: usize = 1000;
/// Cells across: more cannot be told apart.
const CELLS: usize = 100;
/// Clusters when there are no labels to count.
const CLUSTERS: usize = 3;

/// K and HKH of the points of a kernel model, in the order of the clusters of their scores; a cell is the mean of a block
/// where there are more points than cells.
///
/// # Errors
/// When the kernel has values that are not finite, or the work is cancelled.
pub fn gram(
    title: &str,
    model: &KernelPcaModel,
    points: &Points<f64>,
    scores: &Points<f64>,
    colour: &Colour,
    exec: &Exec,
) -> Result<Option<Figure>> {
    let Some(kernel) = model.kernel() else { return Ok(None) };
    let some = spread(points.n(), MOST_POINTS);
    let z = Points::from_fn(some.len(), scores.d(), |i, j| scores.row(some[i])[j]);
    let clusters = match colour {
        Colour::Classes { names, .. } => names.len().max(2),
        _ => CLUSTERS,
    };
    let labels = KMeans::new(clusters.min(some.len())).fit_with(&z, exec)?.labels;
    // Clusters from one end of the first component to the other, and points within them alike.
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
    let mut note = format!("points in the order of {clusters} clusters of their scores");
    if some.len() < points.n() {
        note += &format!("; {} of {} points", count(some.len()), count(points.n()));
    }
    if cells < some.len() {
        note += "; a cell is the mean of a block";
    }
    Ok(Some(Figure { title: title.into(), note, panels, across: 2, compact: false }))
}
