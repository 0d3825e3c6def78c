//! Kernel PCA of many points by passes over tiles. Its certificates are compared with all eigenpairs of the stored matrix,
//! with constructed spectra, whose eigenvalues are known, and with fits at a smaller tolerance.
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

mod bits;
mod certificate;
mod data;
mod kernels;
mod operators;
mod plans;
mod shares;
mod spectra;
mod stops;

use mercer::kernel::Bound;
use mercer::op::centre;
use mercer::op::{Gram, SymOp};
use mercer::testing::matrices::normal;
use mercer::{Block, Components, Exec, Kernel, KernelPca, KernelPcaModel, Points, Result};

fn kernel(text: &str) -> Kernel {
    text.parse().expect(text)
}

/// Points around a few centres.
fn blobs(n: usize, d: usize, centres: usize, seed: u64) -> Points {
    let (noise, middle) = (normal(n, d, seed), normal(centres, d, seed + 1));
    Points::from_fn(n, d, |i, j| 4.0 * middle.row(i % centres)[j] + noise.row(i)[j])
}

/// The leading components of a kernel, by passes.
fn leading(text: &str, k: usize, x: &Points) -> Result<KernelPcaModel> {
    let model = KernelPca::new(kernel(text)).components(k).fit(x)?;
    assert!(!model.spectrum().is_complete(), "{text} of {} points was not done by passes", x.n());
    Ok(model)
}

/// All components of the kernel of a model, from the stored matrix.
fn dense(model: &KernelPcaModel, x: &Points) -> Result<KernelPcaModel> {
    KernelPca::new(model.kernel().expect("a kernel").clone()).components(Components::All).fit(x)
}

/// The unit eigenvectors of a model, a row each.
fn units(model: &KernelPcaModel, from: usize, to: usize) -> Points {
    let values = model.spectrum().eigenvalues();
    Points::from_fn(to - from, model.n(), |j, i| model.alpha().row(i)[from + j] * values[from + j].sqrt())
}

/// HKH of the kernel of a model, stored.
fn centred_gram(model: &KernelPcaModel, x: &Points) -> Result<Block> {
    let bound = Bound::new(model.kernel().expect("a kernel"), x)?;
    let mut gram = Gram::new(&bound, x)?.up_to_centring().to_matrix(&Exec::new())?;
    centre(&mut gram);
    Ok(gram)
}

/// |A u - lambda u| of every pair of a model, A given by its action.
fn true_residuals(model: &KernelPcaModel, apply: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let (k, values) = (model.components(), model.spectrum().eigenvalues());
    let vectors = units(model, 0, k);
    (0..k)
        .map(|j| {
            let (u, mut image) = (vectors.row(j), apply(vectors.row(j)));
            let mean = image.iter().sum::<f64>() / image.len() as f64;
            image.iter_mut().zip(u).for_each(|(v, u)| *v -= mean + values[j] * u);
            norm(&image)
        })
        .collect()
}

fn norm(v: &[f64]) -> f64 {
    let scale = v.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
    scale * v.iter().map(|x| (x / scale).powi(2)).sum::<f64>().sqrt()
}

/// The statements of a certificate that are false, given all eigenvalues of the exact matrix, which are accurate to `own`.
fn violations(model: &KernelPcaModel, truth: &[f64], own: f64) -> Vec<String> {
    let (c, values) = (model.certificate(), model.spectrum().eigenvalues());
    let mut found = Vec::new();
    for (i, (value, truth)) in values.iter().zip(truth).enumerate() {
        let (below, above) = c.enclosure(i);
        let gap = truth - value;
        if !(gap >= -below - own && gap <= above + own) {
            found.push(format!(
                "eigenvalue {i} is {truth:e}, {gap:+.2e} from {value:e} where -{below:.2e} +{above:.2e}"
            ));
        }
    }
    let next = truth.get(values.len()).copied().unwrap_or(0.0);
    if next > c.missed() + own {
        found.push(format!("{next:e} was missed where none is above {:e} ({})", c.missed(), c.kind().name()));
    }
    found
}

/// A D A' with D given and A orthogonal, the first column of A being 1/sqrt(n): HAH has the eigenvalues that were given.
struct Spectral {
    values: Vec<f64>,
    reflections: Vec<Vec<f64>>,
    /// Whether the operator gives the sum of squares.
    squares: bool,
}

impl Spectral {
    fn new(values: &[f64], seed: u64) -> Self {
        let n = values.len() + 1;
        let unit = |mut v: Vec<f64>| {
            let length = norm(&v);
            v.iter_mut().for_each(|x| *x /= length);
            v
        };
        let mut first = vec![1.0 / (n as f64).sqrt(); n];
        first[0] -= 1.0;
        let noise = normal(3, n, seed);
        let others = noise.rows().map(|r| std::iter::once(0.0).chain(r[1..].iter().copied()).collect());
        let reflections = std::iter::once(first).chain(others).map(unit).collect();
        let values = std::iter::once(0.0).chain(values.iter().copied()).collect();
        Spectral { values, reflections, squares: true }
    }

    /// The eigenvalues of HAH, descending, 0 for the vector 1 among them.
    fn truth(&self) -> Vec<f64> {
        let mut values = self.values.clone();
        values.sort_by(|a, b| b.total_cmp(a));
        values
    }

    /// The eigenvectors of this many of the largest eigenvalues, a row each.
    fn vectors(&self, from: usize, to: usize) -> Points {
        let mut order: Vec<usize> = (1..self.values.len()).collect();
        order.sort_by(|a, b| self.values[*b].total_cmp(&self.values[*a]));
        let rows: Vec<f64> = order[from..to].iter().flat_map(|j| self.turned(*j, true)).collect();
        Points::new(rows, to - from, self.values.len()).expect("whole rows")
    }

    /// A e_j, or A'e_j.
    fn turned(&self, j: usize, forward: bool) -> Vec<f64> {
        let mut v = vec![0.0; self.values.len()];
        v[j] = 1.0;
        self.turn(&mut v, forward);
        v
    }

    fn turn(&self, v: &mut [f64], forward: bool) {
        let mut one = |w: &Vec<f64>| {
            let along = 2.0 * w.iter().zip(&*v).map(|(w, v)| w * v).sum::<f64>();
            v.iter_mut().zip(w).for_each(|(v, w)| *v -= along * w);
        };
        if forward {
            self.reflections.iter().rev().for_each(&mut one);
        } else {
            self.reflections.iter().for_each(&mut one);
        }
    }

    fn image(&self, x: &[f64]) -> Vec<f64> {
        let mut v = x.to_vec();
        self.turn(&mut v, false);
        v.iter_mut().zip(&self.values).for_each(|(v, d)| *v *= d);
        self.turn(&mut v, true);
        v
    }
}

impl SymOp for Spectral {
    fn n(&self) -> usize {
        self.values.len()
    }

    fn apply(&self, x: &Block, y: &mut Block, exec: &Exec) -> Result<()> {
        let _ = exec;
        (0..x.b()).for_each(|c| y.col_mut(c).copy_from_slice(&self.image(x.col(c))));
        Ok(())
    }

    fn apply_with_norm(&self, x: &Block, y: &mut Block, exec: &Exec) -> Result<Option<f64>> {
        self.apply(x, y, exec)?;
        let largest = self.values.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
        Ok(self.squares.then(|| self.values.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt() * largest))
    }

    fn diagonal(&self, _: &Exec) -> Result<Option<Vec<f64>>> {
        let square = |i| self.turned(i, false).iter().zip(&self.values).map(|(a, d)| a * a * d).sum();
        Ok(Some((0..self.n()).map(square).collect()))
    }
}
