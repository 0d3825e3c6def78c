//! Exact kernel PCA by passes over pairs of blocks.

use super::common::{digits, iris, largest_gap};
use super::{Dice, refuses_damage, survives_forgery};
use mercer::kernel::Bound;
use mercer::state::{LandmarkBasis, LandmarkState, PassState, RowBlock, Survey};
use mercer::testing::ratios::aligned_difference;
use mercer::{Block, Exec, Gamma, Kernel, KernelPca, KernelPcaModel, Landmarks, Points, Result};

/// A cluster in one process: blocks of rows, tasks for their pairs, and a driver that has the vectors only.
struct Cluster<'a> {
    basis: LandmarkBasis,
    blocks: Vec<(usize, usize)>,
    x: &'a Points<f64>,
    exec: Exec,
}

impl Cluster<'_> {
    fn pass(&self, v: &Block, f32: bool, dice: &mut Dice) -> Result<(Block, f64)> {
        let vectors: Vec<Points<f64>> =
            self.blocks.iter().map(|(a, b)| Points::from_fn(b - a, v.b(), |i, c| v.at(a + i, c))).collect();
        let block = |i: usize| RowBlock {
            number: i as u64,
            points: self.x.view().slice(self.blocks[i].0, self.blocks[i].1),
            vectors: vectors[i].view(),
        };
        let mut parts = Vec::new();
        for i in 0..self.blocks.len() {
            for j in 0..=i {
                let mut state = PassState::new();
                state.update(&self.basis, block(i), (i != j).then(|| block(j)), f32, &self.exec)?;
                parts.push(PassState::from_bytes(&state.to_bytes())?);
            }
        }
        dice.tree(parts, |a, b| a.merge(b).unwrap()).finish(self.blocks.len() as u64)
    }

    fn fit(&self, spec: &KernelPca) -> Result<KernelPcaModel> {
        let mut state = LandmarkState::new(&self.basis);
        state.update(&self.basis, self.x, &self.exec)?;
        let start = spec.clone().components(16).finish(&self.basis, &state, &self.exec)?.transform(self.x)?;
        let facts = self.blocks.iter().map(|(a, b)| self.basis.facts(self.x.view().slice(*a, *b)));
        let facts = facts.collect::<Result<Vec<_>>>()?;
        let pass = |v: &Block, f32: bool| self.pass(v, f32, &mut Dice(v.b() as u64));
        let plan = spec.plan_remote(self.x.n(), self.x.d(), &self.exec)?;
        spec.fit_remote(&plan, &self.basis, &facts, &start, &pass, &self.exec)
    }
}

fn cluster<'a>(x: &'a Points<f64>, spec: &KernelPca, blocks: usize) -> Result<Cluster<'a>> {
    let exec = Exec::new();
    let mut survey = Survey::new(x.d(), spec.sample_size(), 0);
    survey.update(x, &exec)?;
    let basis = spec.clone().landmarks(Landmarks::KMeans(50)).basis(&survey, &exec)?;
    let size = x.n().div_ceil(blocks);
    let blocks = (0..blocks).map(|b| (b * size, x.n().min((b + 1) * size))).collect();
    Ok(Cluster { basis, blocks, x, exec })
}

#[test]
fn a_pass_over_pairs_is_the_product_with_the_whole_matrix() -> Result<()> {
    let mut dice = Dice(2);
    let x = iris().0;
    for text in ["gaussian(gamma=0.5)", "poly(degree=2)"] {
        let kernel: Kernel = text.parse()?;
        let spec = KernelPca::new(kernel.clone()).components(2);
        let v = Block::from_fn(150, 3, |_, _| dice.normal());
        let bound = Bound::new(&kernel, &x)?;
        for blocks in [1, 2, 7] {
            for f32 in [false, true] {
                let (y, norm) = cluster(&x, &spec, blocks)?.pass(&v, f32, &mut dice)?;
                // Up to what centring removes: compared after it.
                let gram = Points::from_fn(150, 150, |i, j| bound.eval(x.row(i), x.row(j)));
                let gram = mercer::testing::naive::centred(&gram);
                let product = |c: usize, i: usize| -> f64 {
                    let mean = v.col(c).iter().sum::<f64>() / 150.0;
                    gram.row(i).iter().zip(v.col(c)).map(|(k, v)| k * (v - mean)).sum()
                };
                let ones = Block::from_fn(150, 1, |_, _| 1.0);
                let (sums, _) = cluster(&x, &spec, blocks)?.pass(&ones, false, &mut dice)?;
                let scale = gram.as_slice().iter().fold(0.0f64, |m, v| m.max(v.abs()));
                for c in 0..3 {
                    let mean = v.col(c).iter().sum::<f64>() / 150.0;
                    let column: Vec<f64> = (0..150).map(|i| y.at(i, c) - mean * sums.at(i, 0)).collect();
                    let middle = column.iter().sum::<f64>() / 150.0;
                    let found: Vec<f64> = column.iter().map(|v| v - middle).collect();
                    let wanted: Vec<f64> = (0..150).map(|i| product(c, i)).collect();
                    let limit = if f32 { 1e-4 } else { 1e-11 } * scale * 150.0;
                    assert!(largest_gap(&found, &wanted) < limit, "{text} {blocks} {f32}");
                }
                assert!(norm > 0.0);
            }
        }
    }
    Ok(())
}

#[test]
fn exact_components_by_passes_are_those_of_one_machine() -> Result<()> {
    let x = digits().0;
    let spec = KernelPca::new(Kernel::gaussian(Gamma::Value(1e-3))).components(5);
    let here = spec.fit(&x)?;
    let there = cluster(&x, &spec, 5)?;
    let model = there.fit(&spec)?;
    let (a, b) = (model.spectrum(), here.spectrum());
    for i in 0..5 {
        let gap = (a.eigenvalues()[i] - b.eigenvalues()[i]).abs();
        assert!(gap <= model.certificate().radius(i) + here.certificate().radius(i), "{i}: {gap}");
    }
    assert!((a.total() / b.total() - 1.0).abs() < 1e-10);
    assert!(aligned_difference(&model.scores(), &here.scores()) < 1e-4);
    assert!(model.certificate().worst() < 1e-8, "{}", model.certificate());
    assert!(model.certificate().passes().f32 > 0 && model.certificate().approximation().is_none());
    // New points: parts of the scores, block by block.
    let new = x.view().slice(100, 140);
    let mut scores = vec![0.0; 40 * 5];
    let alpha = model.alpha();
    for (from, to) in &there.blocks {
        let part = Points::from_fn(to - from, 5, |i, j| alpha.row(from + i)[j]);
        let part = there.basis.scores_part(new, x.view().slice(*from, *to), part.view(), &there.exec)?;
        scores.iter_mut().zip(part.as_slice()).for_each(|(a, v)| *a += v);
    }
    let offset = model.to_parts()?.offset;
    scores.iter_mut().enumerate().for_each(|(at, v)| *v -= offset[at % 5]);
    assert!(largest_gap(&scores, &model.scores().as_slice()[100 * 5..140 * 5]) < 1e-5);
    Ok(())
}

#[test]
fn missing_and_duplicate_pairs_are_detected() -> Result<()> {
    let (x, exec) = (iris().0, Exec::new());
    let spec = KernelPca::new(Kernel::gaussian(Gamma::Value(0.5))).components(2);
    let cluster = cluster(&x, &spec, 2)?;
    let v = Points::from_fn(75, 2, |i, j| (i + j) as f64);
    let block =
        |i: usize| RowBlock { number: i as u64, points: x.view().slice(i * 75, i * 75 + 75), vectors: v.view() };
    let mut state = PassState::new();
    state.update(&cluster.basis, block(0), None, false, &exec)?;
    state.update(&cluster.basis, block(1), Some(block(0)), false, &exec)?;
    let before = state.to_bytes();
    assert!(state.update(&cluster.basis, block(0), Some(block(1)), false, &exec).is_err(), "twice");
    assert!(state.merge(&state.clone()).is_err());
    assert!(state.finish(2).is_err_and(|e| e.to_string().contains("blocks 1 and 1")));
    assert_eq!(state.to_bytes(), before);
    refuses_damage(&before, |b| PassState::from_bytes(b).is_ok());
    survives_forgery(&before, 3, |b| {
        if let Ok(mut other) = PassState::from_bytes(b) {
            let _ = other.finish(2);
            let _ = other.merge(&state);
            let _ = other.finish(2);
        }
    });
    state.update(&cluster.basis, block(1), None, false, &exec)?;
    assert_eq!(state.finish(2)?.0.n(), 150);
    assert!(state.finish(1).is_err());
    Ok(())
}
