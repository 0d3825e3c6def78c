//! Exact kernel PCA of points on other machines: passes over pairs of blocks of rows, made by the machines that hold them
//! (MATHS.md, M21).

use std::collections::{BTreeMap, BTreeSet};

use super::landmark_basis::LandmarkBasis;
use super::passes::{GramProperties, Outcome};
use super::planning::Shape;
use super::{KernelPca, KernelPcaModel};
use crate::block::Block;
use crate::eigen::{Confidence, Precondition, Problem};
use crate::error::{Error, ErrorKind, ErrorSubject, Result};
use crate::exec::Exec;
use crate::features::{Features, Standardise};
use crate::kernel::rounding::Extent;
use crate::kernel::tile::{self, DistanceMethod, Form, Rows};
use crate::op::{SymOp, pass};
use crate::plan::{GramKind, Plan, Replan};
use crate::points::{Points, PointsRef};
use crate::real::Real;
use crate::wire::{Reader, Writer, damaged};

/// The name of the state in its bytes.
const KIND: &str = "a pass";

/// A block of rows, as [`PassState::update`] takes it.
///
/// ```
/// use mercer::Points;
/// use mercer::state::RowBlock;
/// let (points, vectors) = (Points::from_rows(&[[0.0, 1.0], [2.0, 3.0]]), Points::from_rows(&[[0.6], [0.8]]));
/// let block = RowBlock { number: 0, points: points.view(), vectors: vectors.view() };
/// assert_eq!(block.points.n(), block.vectors.n());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RowBlock<'a> {
    /// The number of the block.
    pub number: u64,
    /// Its points.
    pub points: PointsRef<'a, f64>,
    /// The part of the vectors of the pass that belongs to it, a row per point.
    pub vectors: PointsRef<'a, f64>,
}

/// The state of one pass over the Gram matrix, Y = K X, whose rows are in blocks on several machines.
///
/// For p blocks there are p (p + 1) / 2 pairs, each of them one call of [`PassState::update`] on a machine that has both
/// blocks. States merge by addition. When every pair was added once, [`PassState::finish`] returns Y.
///
/// ```
/// use mercer::state::{PassState, RowBlock, Survey};
/// use mercer::{Exec, Gamma, Kernel, KernelPca, Landmarks, Points};
/// let (exec, d) = (Exec::new(), 2);
/// let x = Points::from_fn(60, d, |i, j| ((i * (j + 2)) as f64).sin());
/// let kernel_pca = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(2).landmarks(Landmarks::Uniform(20));
/// let mut survey = Survey::new(d, kernel_pca.sample_size(), 0);
/// survey.update(&x, &exec)?;
/// let basis = kernel_pca.basis(&survey, &exec)?;
/// let vectors = Points::from_fn(60, 1, |_, _| 1.0);
/// let block = |number: u64, from: usize, to: usize| RowBlock {
///     number,
///     points: x.view().slice(from, to),
///     vectors: vectors.view().slice(from, to),
/// };
/// let (first, second) = (block(0, 0, 30), block(1, 30, 60));
/// let (mut here, mut there) = (PassState::new(), PassState::new());
/// here.update(&basis, first, None, false, &exec)?; // a block with itself
/// here.update(&basis, first, Some(second), false, &exec)?;
/// there.update(&basis, second, None, false, &exec)?;
/// here.merge(&there)?;
/// let (product, _) = here.finish(2)?;
/// assert_eq!((product.n(), product.b()), (60, 1));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassState {
    /// For each block the sums of its rows.
    sums: BTreeMap<u64, Points<f64>>,
    /// Pairs that were added, the larger number first.
    pairs: Vec<(u64, u64)>,
    /// The sum of the squares of the entries of these pairs, both halves.
    squares: f64,
}

impl PassState {
    /// Returns the state of no pairs.
    pub fn new() -> Self {
        PassState::default()
    }

    /// Adds a pair of blocks, or a block with itself: K_ij X_j for the rows of the one, K_ji X_i for those of the other. In
    /// f32 when `f32`.
    ///
    /// # Errors
    /// When sizes do not fit, values are not finite, or the pair was added before. The state is then unchanged.
    pub fn update(
        &mut self,
        basis: &LandmarkBasis,
        first: RowBlock<'_>,
        second: Option<RowBlock<'_>>,
        f32: bool,
        exec: &Exec,
    ) -> Result<()> {
        let (i, j) = (first.number, second.map_or(first.number, |s| s.number));
        let pair = (i.max(j), i.min(j));
        if self.pairs.contains(&pair) || second.is_some() && i == j {
            return Err(Error::inconsistent(format!("the pair of blocks {i} and {j} was added before")));
        }
        for block in [Some(first), second].into_iter().flatten() {
            block.points.check(1)?;
            basis.bound.check(block.points)?;
            if block.vectors.n() != block.points.n() || block.vectors.d() != first.vectors.d() {
                return Err(Error::shape("rows of the vectors", block.vectors.n(), block.points.n()));
            }
        }
        let ready = |block: RowBlock<'_>| basis.rows(block.points, basis.method(first, second));
        let (rows, others) = (ready(first), second.map(ready));
        let (mine, theirs, squares) = exec.run(|| match f32 {
            true => {
                let others = others.as_ref().map(|r| r.to_f32(&basis.bound));
                multiply(basis, &rows.to_f32(&basis.bound), others.as_ref(), first, second, exec)
            }
            false => multiply(basis, &rows, others.as_ref(), first, second, exec),
        })?;
        let parts = [Some((i, mine)), theirs.map(|theirs| (j, theirs))];
        if parts.iter().flatten().any(|(_, sums)| sums.as_slice().iter().any(|v| !v.is_finite())) {
            return Err(ErrorKind::Range { what: ErrorSubject::GramMatrix, magnitude: f64::INFINITY }.into());
        }
        let sums = parts.into_iter().flatten().collect();
        self.merge(&PassState { sums, pairs: vec![pair], squares })
    }

    /// Adds the pairs of another state.
    ///
    /// # Errors
    /// When a pair is in both, or blocks have different sizes. The state is then unchanged.
    pub fn merge(&mut self, other: &PassState) -> Result<()> {
        if let Some((i, j)) = other.pairs.iter().find(|p| self.pairs.contains(p)) {
            return Err(Error::inconsistent(format!("the pair of blocks {i} and {j} is in both states")));
        }
        for (number, theirs) in &other.sums {
            if let Some(mine) = self.sums.get(number)
                && (mine.n(), mine.d()) != (theirs.n(), theirs.d())
            {
                return Err(Error::shape(format!("rows of block {number}"), theirs.n(), mine.n()));
            }
        }
        for (number, theirs) in &other.sums {
            match self.sums.get_mut(number) {
                Some(mine) => mine.as_mut_slice().iter_mut().zip(theirs.as_slice()).for_each(|(a, b)| *a += b),
                None => {
                    self.sums.insert(*number, theirs.clone());
                }
            }
        }
        self.pairs.extend(&other.pairs);
        self.pairs.sort_unstable();
        self.squares += other.squares;
        Ok(())
    }

    /// Returns Y, block after block, and the Frobenius norm of K, for this number of blocks.
    ///
    /// # Errors
    /// When a pair of blocks is missing.
    pub fn finish(&self, blocks: u64) -> Result<(Block, f64)> {
        let all = || (0..blocks).flat_map(|i| (0..=i).map(move |j| (i, j)));
        if let Some((i, j)) = all().find(|pair| self.pairs.binary_search(pair).is_err()) {
            return Err(Error::inconsistent(format!("the pass lacks the pair of blocks {i} and {j}")));
        }
        if self.pairs.len() as u64 != blocks * (blocks + 1) / 2 {
            return Err(Error::inconsistent(format!("the pass has pairs of more than {blocks} blocks")));
        }
        let n = self.sums.values().map(Points::n).sum();
        let b = self.sums.values().next().map_or(0, Points::d);
        let mut y = Block::zeros(n, b);
        let mut start = 0;
        for sums in self.sums.values() {
            for c in 0..b {
                let column = &mut y.col_mut(c)[start..start + sums.n()];
                column.iter_mut().enumerate().for_each(|(i, v)| *v = sums.row(i)[c]);
            }
            start += sums.n();
        }
        Ok((y, self.squares.sqrt()))
    }

    /// Returns the sums of one block, if it is in a pair.
    pub fn block(&self, number: u64) -> Option<&Points<f64>> {
        self.sums.get(&number)
    }

    /// Returns the sum of the squares of the entries of K in the pairs, up to terms that centring removes.
    pub fn squares(&self) -> f64 {
        self.squares
    }

    /// Returns the state as bytes, for files and other machines.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(KIND);
        writer.number(self.squares);
        writer.count(self.pairs.len() as u64);
        for (i, j) in &self.pairs {
            writer.count(*i);
            writer.count(*j);
        }
        writer.count(self.sums.len() as u64);
        for (number, sums) in &self.sums {
            writer.count(*number);
            writer.count(sums.n() as u64);
            writer.numbers(sums.as_slice());
        }
        writer.finish()
    }

    /// Reads a state from bytes.
    ///
    /// # Errors
    /// When the bytes are damaged, of another version, or not of such a state.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::open(bytes, KIND)?;
        let squares = reader.number()?;
        let count = reader.size()?;
        let mut pairs = Vec::new();
        for _ in 0..count {
            pairs.push((reader.count()?, reader.count()?));
        }
        let count = reader.size()?;
        let mut sums = BTreeMap::new();
        for _ in 0..count {
            let (number, n) = (reader.count()?, reader.size()?);
            let values = reader.numbers()?;
            let b = values.len().checked_div(n).unwrap_or(0);
            if b == 0 {
                return Err(damaged("a block has no sums"));
            }
            if values.iter().any(|v| !v.is_finite()) {
                return Err(damaged("the sums are not finite"));
            }
            sums.insert(number, Points::new(values, n, b)?);
        }
        reader.end()?;
        let ordered = pairs.windows(2).all(|w| w[0] < w[1]) && pairs.iter().all(|(i, j)| i >= j);
        let named: BTreeSet<&u64> = pairs.iter().flat_map(|(i, j)| [i, j]).collect();
        let widths: BTreeSet<usize> = sums.values().map(Points::d).collect();
        let known = named.into_iter().eq(sums.keys()) && widths.len() <= 1;
        if !(ordered && known && squares.is_finite() && squares >= 0.0) {
            return Err(damaged("the pairs do not fit the sums"));
        }
        Ok(PassState { sums, pairs, squares })
    }
}

/// The products of a pair of blocks, and the sum of the squares of the entries.
fn multiply<T: Real>(
    basis: &LandmarkBasis,
    rows: &Rows<T>,
    others: Option<&Rows<T>>,
    first: RowBlock<'_>,
    second: Option<RowBlock<'_>>,
    exec: &Exec,
) -> Result<(Points<f64>, Option<Points<f64>>, f64)> {
    let how = (&basis.bound, Form::UpToCentring, exec.level());
    let fill = |r: std::ops::Range<usize>, c: std::ops::Range<usize>, out: &mut [T], scratch: &mut tile::Scratch<T>| {
        tile::fill(how, (rows, r), (others.unwrap_or(rows), c), out, scratch);
    };
    pass::rectangle(fill, first.vectors, second.map(|s| s.vectors), exec)
}

/// Facts about the rows of a block that the driver needs before the first pass.
///
/// ```
/// use mercer::state::Survey;
/// use mercer::{Exec, Gamma, Kernel, KernelPca, Landmarks, Points};
/// let (exec, d) = (Exec::new(), 2);
/// let x = Points::from_fn(60, d, |i, j| ((i * (j + 2)) as f64).sin());
/// let kernel_pca = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(2).landmarks(Landmarks::Uniform(20));
/// let mut survey = Survey::new(d, kernel_pca.sample_size(), 0);
/// survey.update(&x, &exec)?;
/// let basis = kernel_pca.basis(&survey, &exec)?;
/// let facts = basis.facts(x.view().slice(0, 30))?;
/// assert_eq!(facts.diagonal.len(), 30);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BlockFacts {
    /// k(x, x) of each row, up to terms that centring removes.
    pub diagonal: Vec<f64>,
    /// The largest |x|^2 of the rows, standardised as for the kernel.
    pub square: f64,
    /// The largest squared distance of a row from the middle point.
    pub reach: f64,
}

impl LandmarkBasis {
    fn method(&self, first: RowBlock<'_>, second: Option<RowBlock<'_>>) -> DistanceMethod {
        DistanceMethod::of(first.points.n() + second.map_or(0, |s| s.points.n()))
    }

    fn rows(&self, points: PointsRef<'_, f64>, method: DistanceMethod) -> Rows {
        Rows::new(&self.bound, Standardise::apply(self.standardise.as_ref(), points), method)
    }

    /// Returns the facts about the rows of a block.
    ///
    /// # Errors
    /// When they have another number of columns, or values that are not finite.
    pub fn facts(&self, points: PointsRef<'_, f64>) -> Result<BlockFacts> {
        points.check(0)?;
        self.bound.check(points)?;
        let rows = self.rows(points, DistanceMethod::Differences);
        let how = (&self.bound, Form::UpToCentring, Exec::new().level());
        let norm = |row: &[f64], about: Option<&[f64]>| -> f64 {
            row.iter().enumerate().map(|(j, v)| (v - about.map_or(0.0, |a| a[j])).powi(2)).sum()
        };
        let shift = self.bound.shift();
        Ok(BlockFacts {
            diagonal: (0..rows.n()).map(|i| tile::self_value(how, &rows, i)).collect(),
            square: rows.points().rows().map(|r| norm(r, None)).fold(0.0, f64::max),
            reach: match self.bound.uses_plain_distances() {
                true => rows.points().rows().map(|r| norm(r, Some(shift))).fold(rows.reach(), f64::max),
                false => rows.reach(),
            },
        })
    }

    /// Returns the contribution of a block of fitted rows to the scores of points: sum_i k(x, x_i) alpha_i. The scores are
    /// the sum over all blocks, less the offset of the model.
    ///
    /// # Errors
    /// When sizes do not fit or values are not finite.
    pub fn scores_part(
        &self,
        points: PointsRef<'_, f64>,
        block: PointsRef<'_, f64>,
        alpha: PointsRef<'_, f64>,
        exec: &Exec,
    ) -> Result<Points<f64>> {
        for points in [points, block] {
            points.check(0)?;
            self.bound.check(points)?;
        }
        if alpha.n() != block.n() {
            return Err(Error::shape("rows of alpha", alpha.n(), block.n()));
        }
        let features = Features::Kernel {
            bound: self.bound.clone(),
            rows: self.rows(block, DistanceMethod::of(block.n())),
            standardise: self.standardise.clone(),
            form: Form::UpToCentring,
        };
        let offset = vec![0.0; alpha.d()];
        crate::projection::Projection::new(features, alpha.to_f64(), offset)?.apply(points, exec)
    }
}

/// A pass: takes X and whether it may be an f32 pass; returns K X and the Frobenius norm of K.
pub type PassFn<'a> = dyn Fn(&Block, bool) -> Result<(Block, f64)> + Sync + 'a;

/// The Gram matrix of rows on other machines.
struct Remote<'a> {
    n: usize,
    f32: bool,
    pass: &'a PassFn<'a>,
}

impl SymOp for Remote<'_> {
    fn n(&self) -> usize {
        self.n
    }

    fn apply(&self, x: &Block, y: &mut Block, exec: &Exec) -> Result<()> {
        self.apply_with_norm(x, y, exec).map(|_| ())
    }

    fn apply_with_norm(&self, x: &Block, y: &mut Block, _: &Exec) -> Result<Option<f64>> {
        let (images, norm) = (self.pass)(x, self.f32)?;
        if (images.n(), images.b()) != (x.n(), x.b()) {
            return Err(Error::shape("rows of the pass", images.n(), x.n()));
        }
        *y = images;
        Ok(Some(norm))
    }
}

/// A start without corrections: the search then spans a Krylov space.
struct Start(Block);

impl Precondition for Start {
    fn start(&self, b: usize) -> Block {
        self.0.clone().first(b.min(self.0.b()))
    }

    fn correct(&self, residuals: &Block, _: &[f64]) -> Block {
        residuals.clone()
    }
}

impl KernelPca {
    /// Fits exact kernel PCA to rows on other machines, as planned by [`KernelPca::plan_remote`]. `pass` makes the passes there; `facts` are those of the blocks, in
    /// order; `start` has a row per point: scores of kernel PCA by the same landmarks, or an approximation of them.
    ///
    /// The model projects kernel values with all fitted points; see [`LandmarkBasis::scores_part`] for points.
    ///
    /// # Errors
    /// As [`KernelPca::fit`], and any error of a pass.
    pub fn fit_remote(
        &self,
        plan: &Plan,
        basis: &LandmarkBasis,
        facts: &[BlockFacts],
        start: &Points<f64>,
        pass: &PassFn<'_>,
        exec: &Exec,
    ) -> Result<KernelPcaModel> {
        let bound = basis.bound.clone();
        let fold = |f: fn(&BlockFacts) -> f64| facts.iter().map(f).fold(0.0, f64::max);
        let (square, reach) = (fold(|f| f.square), fold(|f| f.reach));
        let diagonal: Vec<f64> = facts.iter().flat_map(|f| f.diagonal.iter().copied()).collect();
        let n = diagonal.len();
        if n < 2 {
            return Err(ErrorKind::TooFew { what: ErrorSubject::Points, found: n, needed: 2 }.into());
        }
        if start.n() != n {
            return Err(Error::shape("rows of the start", start.n(), n));
        }
        let shape = Shape { n, d: bound.d(), kind: GramKind::Operator };
        let by_passes = |plan: &Plan| {
            let passes = plan.passes().filter(|_| plan.n == n).cloned();
            passes.ok_or_else(|| Error::inconsistent("the plan is not one by passes over these rows"))
        };
        let mut passes = by_passes(plan)?;
        if passes.f32 && !bound.allows_f32(square) {
            passes = by_passes(&self.replan(shape, &passes, Replan::NeedsF64, exec)?)?;
        }
        let f32 = passes.f32;
        let errors = bound.clone();
        // Landmarks refuse kernels that may have negative eigenvalues.
        let extent = Extent { square, reach, share: 1.0 };
        let facts = GramProperties {
            diagonal,
            definite: bound.kernel().is_psd(),
            entry_errors: Box::new(move |size| {
                let of = |epsilon| errors.entry_error(&extent, size, epsilon);
                (of(f64::EPSILON), if f32 { of(f64::from(f32::EPSILON)) } else { 0.0 })
            }),
            confidence: Confidence::Theorem,
        };
        facts.check(n)?;
        let (in_f64, in_f32) = (Remote { n, f32: false, pass }, Remote { n, f32: true, pass });
        let start = Start(Block::from_fn(n, start.d(), |i, j| start.row(i)[j]));
        let rounding = |norm, largest| facts.rounding(norm, largest);
        let problem = Problem {
            f64: &in_f64,
            f32: f32.then_some(&in_f32 as &dyn SymOp),
            precondition: Some(&start),
            centred: true,
            rounding: &rounding,
            key: crate::block::fingerprint(&facts.diagonal),
        };
        let mut made = (0, 0);
        loop {
            match self.search(&problem, &facts, &passes, &mut made, exec)? {
                Outcome::Found(found, k) => return self.finish_found(Features::GramRow { n }, found, k, &facts),
                Outcome::Again(reason) => {
                    let plan = self.replan(shape, &passes, reason, exec)?;
                    passes = plan.passes().cloned().ok_or(ErrorKind::Unsupported {
                        what: "so many components, or a kernel with negative eigenvalues, need the whole matrix".into(),
                        remedy: "ask for fewer components, or use a positive semi-definite kernel".into(),
                    })?;
                }
            }
        }
    }
}
