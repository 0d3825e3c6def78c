//! Exact kernel PCA of points that lie elsewhere: passes over pairs of blocks of rows, made by whoever has them
//! (MATHS.md, M21).

use std::collections::{BTreeMap, BTreeSet};

use super::landmark_basis::LandmarkBasis;
use super::passes::{Facts, Outcome};
use super::planning::Shape;
use super::{KernelPca, KernelPcaModel};
use crate::block::Block;
use crate::eigen::{Precondition, Problem};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::Exec;
use crate::features::{Features, Standardise};
use crate::kernel::tile::{self, DistanceMethod, Form, Rows};
use crate::op::{SymOp, pass};
use crate::plan::GramKind;
use crate::points::{Points, PointsRef};
use crate::real::Real;
use crate::wire::{Reader, Writer, damaged};

/// The name of the state in its bytes.
const KIND: &str = "a pass";

/// A block of rows: its number, its points, and its part of the vectors that a pass multiplies, a row per point.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct RowBlock<'a> {
    pub number: u64,
    pub points: PointsRef<'a, f64>,
    pub vectors: PointsRef<'a, f64>,
}

/// What is known of one pass over the Gram matrix, Y = K X: sums for the blocks of rows that were seen in pairs.
///
/// For p blocks there are p (p + 1) / 2 pairs, each of them one call of [`PassState::update`] by whoever has both blocks.
/// States merge by addition; when every pair was seen once, [`PassState::finish`] gives Y.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassState {
    /// For each block the sums of its rows.
    sums: BTreeMap<u64, Points<f64>>,
    /// Pairs that were seen, the larger number first.
    pairs: Vec<(u64, u64)>,
    /// The sum of the squares of the entries that were seen, both halves.
    squares: f64,
}

impl PassState {
    /// Of no pairs.
    pub fn new() -> Self {
        PassState::default()
    }

    /// Takes a pair of blocks, or a block with itself: K_ij X_j for the rows of the one, K_ji X_i for those of the other. In
    /// f32 when `f32`.
    ///
    /// # Errors
    /// When sizes do not fit, values are not finite, or the pair was seen before; the state is then as it was.
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
            return Err(Error::inconsistent(format!("blocks {i} and {j} were paired before")));
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
            return Err(ErrorKind::Range { what: "Gram matrix", magnitude: f64::INFINITY }.into());
        }
        let sums = parts.into_iter().flatten().collect();
        self.merge(&PassState { sums, pairs: vec![pair], squares })
    }

    /// Takes all that another state has seen.
    ///
    /// # Errors
    /// When a pair is in both, or blocks have other sizes; the state is then as it was.
    pub fn merge(&mut self, other: &PassState) -> Result<()> {
        if let Some((i, j)) = other.pairs.iter().find(|p| self.pairs.contains(p)) {
            return Err(Error::inconsistent(format!("blocks {i} and {j} are paired in both states")));
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

    /// Y, block after block, and the Frobenius norm of K: of so many blocks.
    ///
    /// # Errors
    /// When a pair of blocks is missing.
    pub fn finish(&self, blocks: u64) -> Result<(Block, f64)> {
        let all = || (0..blocks).flat_map(|i| (0..=i).map(move |j| (i, j)));
        if let Some((i, j)) = all().find(|pair| self.pairs.binary_search(pair).is_err()) {
            return Err(Error::inconsistent(format!("the pass has not seen blocks {i} and {j} together")));
        }
        if self.pairs.len() as u64 != blocks * (blocks + 1) / 2 {
            return Err(Error::inconsistent(format!("the pass has seen blocks beyond the {blocks} there are")));
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

    /// The sums of one block, if it was seen.
    pub fn block(&self, number: u64) -> Option<&Points<f64>> {
        self.sums.get(&number)
    }

    /// The sum of the squares of the entries of K that were seen, up to what centring removes.
    pub fn squares(&self) -> f64 {
        self.squares
    }

    /// The state as bytes, for files and other machines.
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

    /// The state that these bytes are of.
    ///
    /// # Errors
    /// When they are damaged, of another version, or not of such a state.
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
                return Err(damaged("their sums are not finite"));
            }
            sums.insert(number, Points::new(values, n, b)?);
        }
        reader.end()?;
        let ordered = pairs.windows(2).all(|w| w[0] < w[1]) && pairs.iter().all(|(i, j)| i >= j);
        let named: BTreeSet<&u64> = pairs.iter().flat_map(|(i, j)| [i, j]).collect();
        let widths: BTreeSet<usize> = sums.values().map(Points::d).collect();
        let known = named.into_iter().eq(sums.keys()) && widths.len() <= 1;
        if !(ordered && known && squares.is_finite() && squares >= 0.0) {
            return Err(damaged("their pairs do not fit their sums"));
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

/// What the driver has to know of the rows of a block before the first pass.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockFacts {
    /// k(x, x) of each row, up to what centring removes.
    pub diagonal: Vec<f64>,
    /// The largest |x|^2, as the kernel sees the rows.
    pub square: f64,
    /// The largest |x|^2 from the point in the middle on.
    pub reach: f64,
}

impl LandmarkBasis {
    fn method(&self, first: RowBlock<'_>, second: Option<RowBlock<'_>>) -> DistanceMethod {
        DistanceMethod::of(first.points.n() + second.map_or(0, |s| s.points.n()))
    }

    fn rows(&self, points: PointsRef<'_, f64>, method: DistanceMethod) -> Rows {
        Rows::new(&self.bound, Standardise::apply(self.standardise.as_ref(), points), method)
    }

    /// The facts about the rows of a block.
    ///
    /// # Errors
    /// When they have other dimensions or values that are not finite.
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
            reach: rows.points().rows().map(|r| norm(r, Some(shift))).fold(rows.reach(), f64::max),
        })
    }

    /// The part of the scores of points that comes from a block of fitted rows: sum_i k(x, x_i) alpha_i. The parts of all
    /// blocks add up to the scores, less the model's offset.
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

/// A pass: takes X and whether f32 will do, and gives K X and the Frobenius norm of K.
pub type PassFn<'a> = dyn Fn(&Block, bool) -> Result<(Block, f64)> + Sync + 'a;

/// The Gram matrix of rows that lie elsewhere.
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
    /// Exact kernel PCA of rows that lie elsewhere, by passes that somebody else makes: `facts` of their blocks, in order, and
    /// `start`, a row per point, scores of kernel PCA by the same landmarks or anything near to them.
    ///
    /// The model projects kernel values with all fitted points; see [`LandmarkBasis::scores_part`] for points.
    ///
    /// # Errors
    /// As [`KernelPca::fit`], and whatever stops a pass.
    pub fn fit_remote(
        &self,
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
            return Err(ErrorKind::TooFew { what: "points", found: n, needed: 2 }.into());
        }
        if start.n() != n {
            return Err(Error::shape("rows of the start", start.n(), n));
        }
        let plan = self.remote_plan(n, bound.d(), bound.allows_f32(square), exec)?;
        let mut passes = plan.passes().cloned().ok_or_else(|| Error::inconsistent("rows elsewhere need passes"))?;
        let f32 = passes.f32;
        let errors = bound.clone();
        let facts = Facts {
            diagonal,
            definite: bound.kernel().is_psd(),
            entry_errors: Box::new(move |size| {
                let of = |epsilon| errors.entry_error(square, reach, size, epsilon);
                (of(f64::EPSILON), if f32 { of(f64::from(f32::EPSILON)) } else { 0.0 })
            }),
        };
        facts.check(n)?;
        let (in_f64, in_f32) = (Remote { n, f32: false, pass }, Remote { n, f32: true, pass });
        let start = Start(Block::from_fn(n, start.d(), |i, j| start.row(i)[j]));
        let rounding = |norm, largest| facts.rounding(norm, largest);
        let problem = Problem {
            f64: &in_f64,
            f32: f32.then_some(&in_f32 as &dyn SymOp),
            precondition: Some(&start),
            rounding: &rounding,
            key: crate::fingerprint(&facts.diagonal),
        };
        let (shape, mut made) = (Shape { n, d: bound.d(), kind: GramKind::Operator }, (0, 0));
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
