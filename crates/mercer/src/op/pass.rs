//! One pass over the tiles of a symmetric matrix: Y = A X.
//!
//! The rows are cut into an odd number p of groups. Round r takes the pairs of groups (i, j) with i + j = r (mod p). Each
//! group is in one pair of a round, so that the pairs of a round can be processed in parallel. Over all rounds each pair of
//! groups occurs once. A tile is used twice, as A_ij and as A_ji. A row of Y is summed round by round: always in the same
//! order, and so with the same bits on any number of threads. Threads take the pairs in order. A pair waits until its two
//! groups have finished the previous round, and for no other group.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Mutex;

use fearless_simd::{Level, dispatch, prelude::*};
use memmap2::MmapMut;
use rayon::prelude::*;

use super::turns::{StopOnPanic, Turns};
use crate::block::Block;
use crate::error::Result;
use crate::exec::Exec;
use crate::kernel::tile::{LARGE_TILE, MIDDLE_TILE, Scratch, TILE};
use crate::panels::{self, Panels};
use crate::points::{Points, PointsRef};
use crate::real::Real;

/// Number of rows, size of a tile and largest number of groups: from this many rows on, tiles have this many rows and
/// columns, and rows are cut into at most this many groups, an odd number. The groups are enough for many threads, and few
/// enough that threads seldom wait.
const SIZES: [(usize, usize, usize); 3] = [(8192, LARGE_TILE, 129), (3072, LARGE_TILE, 33), (0, MIDDLE_TILE, 17)];

/// Below this many points, a pass is made by one thread.
const ALONE_BELOW: usize = 500;
/// Number of parts of a rectangle of tiles. Each part has its own sums.
const PARTS: usize = 8;

/// A matrix that computes its tiles.
pub(crate) trait Tiles<T>: Sync {
    /// The number of rows.
    fn n(&self) -> usize;

    /// Fills `out` with a tile, row by row.
    fn fill(&self, rows: Range<usize>, cols: Range<usize>, out: &mut [T], scratch: &mut Scratch<T>, exec: &Exec);
}

/// The division of the rows of a matrix into groups and tiles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    n: usize,
    side: usize,
    /// Rows of a group, a multiple of `side`.
    group: usize,
    /// An odd number; the last groups may be empty.
    pub(super) groups: usize,
}

impl Grid {
    pub(crate) fn new(n: usize) -> Self {
        let (_, side, most) = SIZES.into_iter().find(|(from, ..)| n >= *from).unwrap_or(SIZES[2]);
        let side = if n < TILE * 17 { TILE } else { side };
        let group = n.div_ceil(side).div_ceil(most) * side;
        Grid { n, side, group, groups: n.div_ceil(group) | 1 }
    }

    fn rows(&self, group: usize) -> Range<usize> {
        (group * self.group).min(self.n)..((group + 1) * self.group).min(self.n)
    }

    /// The pairs i >= j of a round.
    pub(super) fn pairs(&self, round: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let p = self.groups;
        (0..p).map(move |i| (i, (round + p - i) % p)).filter(|(i, j)| i >= j)
    }

    /// The tiles of a pair of groups, rows and columns; of a group with itself only those of the lower half.
    fn tiles(&self, i: usize, j: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<> {
        let (rows, cols, side) = (self.rows(i), self.rows(j), self.side);
        let cut = move |range: &Range<usize>| {
            let end = range.end;
            range.clone().step_by(side).map(move |start| start..(start + side).min(end))
        };
        let columns = cut(&cols);
        cut(&rows)
            .flat_map(move |r| columns.clone().map(move |c| (r.clone(), c)))
            .filter(move |(r, c)| c.start <= r.start)
    }

    fn entries(&self, i: usize, j: usize) -> usize {
        self.tiles(i, j).map(|(r, c)| r.len() * c.len()).sum()
    }

    /// The number of entries of all tiles together.
    pub(crate) fn all_entries(&self) -> u128 {
        let (full, rest) = ((self.n / self.side) as u128, (self.n % self.side) as u128);
        let side = self.side as u128;
        full * (full + 1) / 2 * side * side + rest * (full * side + rest)
    }
}

/// The cached tiles, as many as memory allows. Caching changes no bit of a result.
#[derive(Debug)]
pub(crate) struct Cache<T> {
    /// The number of entries in the tiles of each cached pair of groups.
    lengths: Vec<usize>,
    kept: Mutex<Kept>,
    values: PhantomData<T>,
}

#[derive(Debug)]
struct Kept {
    /// Memory in the largest pages of the system, since there is much of it and it is filled once.
    memory: MmapMut,
    /// Whether all tiles have been stored.
    complete: bool,
}

impl<T: Real> Cache<T> {
    /// A cache of at most about this many bytes; `None` if no pair of groups fits, or if the system has too little memory.
    pub(crate) fn new(n: usize, bytes: u128) -> Option<Self> {
        let grid = Grid::new(n);
        let mut left = bytes;
        let mut lengths = Vec::new();
        for (i, j) in (0..grid.groups).flat_map(|i| (0..=i).map(move |j| (i, j))) {
            let needed = (grid.entries(i, j) * size_of::<T>()) as u128;
            if needed > left {
                break;
            }
            left -= needed;
            lengths.push(grid.entries(i, j));
        }
        let total = lengths.iter().sum::<usize>() * size_of::<T>();
        let memory = MmapMut::map_anon(total.max(1)).ok().filter(|_| total > 0)?;
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        Some(Cache { lengths, kept: Mutex::new(Kept { memory, complete: false }), values: PhantomData })
    }
}

/// The place of the tiles of each pair of groups.
fn places<'a, T: Real>(memory: &'a mut [u8], lengths: &[usize]) -> Vec<Mutex<&'a mut [T]>> {
    let mut rest: &mut [T] = bytemuck::cast_slice_mut(&mut memory[..lengths.iter().sum::<usize>() * size_of::<T>()]);
    lengths
        .iter()
        .map(|len| {
            let (mine, others) = std::mem::take(&mut rest).split_at_mut(*len);
            rest = others;
            Mutex::new(mine)
        })
        .collect()
}

/// Y = A X; with a unit also the sum of the squares of all entries of A in that unit, else 0.
pub(crate) fn multiply<T: Real>(
    tiles: &impl Tiles<T>,
    cache: Option<&Cache<T>>,
    unit: Option<f64>,
    x: &Block,
    y: &mut Block,
    exec: &Exec,
) -> Result<f64> {
    let (n, b) = (tiles.n(), x.b());
    let grid = Grid::new(n);
    let inputs: Vec<Panels<T>> = (0..grid.groups).map(|g| Panels::of_block(x, grid.rows(g))).collect();
    let outputs: Vec<Mutex<Vec<f64>>> =
        (0..grid.groups).map(|g| Mutex::new(vec![0.0; grid.rows(g).len() * b])).collect();
    let mut kept = cache.map(|c| lock(&c.kept));
    let complete = kept.as_ref().is_some_and(|k| k.complete);
    let places = match (cache, &mut kept) {
        (Some(cache), Some(kept)) => places(&mut kept.memory, &cache.lengths),
        _ => Vec::new(),
    };
    let turns = Turns::new(grid);
    let work = || -> Result<Vec<f64>> {
        let mut space = Workspace::new();
        let mut sums = vec![0.0; turns.pairs.len()];
        let _stop = StopOnPanic(&turns);
        while let Some((at, (i, j))) = turns.next() {
            {
                let mut first = lock(&outputs[i]);
                let mut second = (i != j).then(|| lock(&outputs[j]));
                let mut pair = Pair { grid, i, j, b, unit, tiles, exec, inputs: (&inputs[i], &inputs[j]) };
                let mut place = places.get(i * (i + 1) / 2 + j).map(lock);
                let place = place.as_mut().map(|p| (&mut ***p, complete));
                let second = second.as_mut().map(|s| s.as_mut_slice());
                sums[at] = pair.work(place, &mut first, second, &mut space).inspect_err(|_| turns.stop())?;
            }
            turns.done(at);
            turns.report(exec);
        }
        Ok(sums)
    };
    // Few points are done sooner than another thread wakes up.
    let sums: Vec<Vec<f64>> = match n < ALONE_BELOW {
        true => vec![work()?],
        false => (0..rayon::current_num_threads()).into_par_iter().map(|_| work()).collect::<Result<_>>()?,
    };
    turns.report(exec);
    // Each pair was processed by one thread; the sums of the others are 0 there.
    let total = (0..turns.pairs.len()).map(|at| sums.iter().map(|s| s[at]).sum::<f64>()).sum();
    drop(places);
    if let Some(kept) = &mut kept {
        kept.complete = true;
    }
    for (g, piece) in outputs.iter().enumerate() {
        let (rows, piece) = (grid.rows(g), lock(piece));
        for c in 0..b {
            let column = &mut y.col_mut(c)[rows.clone()];
            column.iter_mut().zip(piece[c.min(piece.len())..].iter().step_by(b)).for_each(|(y, v)| *y = *v);
        }
    }
    Ok(total)
}

/// Products with A_ij and with A_ji, and a sum of squares.
type Sums = (Points<f64>, Option<Points<f64>>, f64);

/// The products of a rectangle of tiles A_ij with the vectors of its columns, and of A_ji with those of its rows. Without
/// second vectors it is a block with itself, and the products are with its own vectors. Also the sum of the squares of all
/// entries, both halves. Work is divided by size, and partial sums are added in order.
pub(crate) fn rectangle<T: Real>(
    fill: impl Fn(Range<usize>, Range<usize>, &mut [T], &mut Scratch<T>) + Sync,
    mine: PointsRef<'_, f64>,
    theirs: Option<PointsRef<'_, f64>>,
    exec: &Exec,
) -> Result<Sums> {
    let (n, b) = (mine.n(), mine.d());
    let same = theirs.is_none();
    let other = theirs.unwrap_or(mine);
    let packed = |x: PointsRef<'_, f64>| {
        let rounded: Vec<T> = x.as_slice().iter().map(|v| T::from_f64(*v)).collect();
        Panels::of_rows(&rounded, b)
    };
    let (x, y) = (packed(mine), packed(other));
    let strips = n.div_ceil(LARGE_TILE);
    let per_part = strips.div_ceil(PARTS).max(1) * LARGE_TILE;
    let parts: Vec<(Vec<f64>, Vec<f64>, f64)> = (0..n.div_ceil(per_part))
        .into_par_iter()
        .map(|part| {
            let range = part * per_part..n.min((part + 1) * per_part);
            let (mut first, mut second) = (vec![0.0; range.len() * b], vec![0.0; other.n() * b]);
            let (mut values, mut scratch) = (Vec::new(), Scratch::new());
            let mut squares = 0.0;
            for start in range.clone().step_by(LARGE_TILE) {
                exec.check_cancelled()?;
                let rows = start..range.end.min(start + LARGE_TILE);
                let last = if same { rows.end } else { other.n() };
                for start in (0..last).step_by(LARGE_TILE) {
                    let cols = start..last.min(start + LARGE_TILE);
                    values.resize(rows.len() * cols.len(), T::ZERO);
                    fill(rows.clone(), cols.clone(), &mut values, &mut scratch);
                    let diagonal = same && rows == cols;
                    squares += sum_of_squares(exec.level(), &values, 1.0) * if diagonal { 1.0 } else { 2.0 };
                    let out = &mut first[(rows.start - range.start) * b..];
                    panels::add_rows_times(exec.level(), &values, &y, cols.clone(), out);
                    if !diagonal {
                        let out = &mut second[cols.start * b..];
                        panels::add_columns_times(exec.level(), (&values, cols.len()), &x, rows.clone(), out);
                    }
                }
            }
            Ok((first, second, squares))
        })
        .collect::<Result<_>>()?;
    let (mut own, mut their, mut squares) = (Vec::with_capacity(n * b), vec![0.0; other.n() * b], 0.0);
    for (first, second, sum) in parts {
        own.extend(first);
        their.iter_mut().zip(second).for_each(|(a, v)| *a += v);
        squares += sum;
    }
    if same {
        own.iter_mut().zip(&their).for_each(|(a, v)| *a += v);
    }
    let theirs = if same { None } else { Some(Points::new(their, other.n(), b)?) };
    Ok((Points::new(own, n, b)?, theirs, squares))
}

fn lock<V>(mutex: &Mutex<V>) -> std::sync::MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Buffers of one thread.
struct Workspace<T> {
    tile: Vec<T>,
    scratch: Scratch<T>,
}

impl<T: Real> Workspace<T> {
    fn new() -> Self {
        Workspace { tile: Vec::new(), scratch: Scratch::new() }
    }
}

/// A pair of groups.
struct Pair<'a, T, S> {
    grid: Grid,
    i: usize,
    j: usize,
    b: usize,
    unit: Option<f64>,
    tiles: &'a S,
    exec: &'a Exec,
    inputs: (&'a Panels<T>, &'a Panels<T>),
}

impl<T: Real, S: Tiles<T>> Pair<'_, T, S> {
    /// Adds A_ij X_j to `first` and A_ji X_i to `second`, or to `first` if there is no `second`. `place` is the cache of the
    /// tiles, and whether they are in it.
    fn work(
        &mut self,
        place: Option<(&mut [T], bool)>,
        first: &mut [f64],
        mut second: Option<&mut [f64]>,
        space: &mut Workspace<T>,
    ) -> Result<f64> {
        let (mut place, complete) = place.map_or((None, false), |(p, complete)| (Some(p), complete));
        let (mut at, mut sum) = (0, 0.0);
        let Workspace { tile, scratch } = space;
        for (rows, cols) in self.grid.tiles(self.i, self.j) {
            self.exec.check_cancelled()?;
            let len = rows.len() * cols.len();
            let values = match &mut place {
                Some(place) => &mut place[at..at + len],
                None => {
                    tile.resize(len, T::ZERO);
                    tile.as_mut_slice()
                }
            };
            if !complete {
                self.tiles.fill(rows.clone(), cols.clone(), values, scratch, self.exec);
            }
            at += len;
            let diagonal = rows == cols;
            if let Some(unit) = self.unit {
                sum += sum_of_squares(self.exec.level(), values, 1.0 / unit) * if diagonal { 1.0 } else { 2.0 };
            }
            let (r, c) = (rows.start - self.grid.rows(self.i).start, cols.start - self.grid.rows(self.j).start);
            let (level, depths) = (self.exec.level(), (r..r + rows.len(), c..c + cols.len()));
            panels::add_rows_times(level, values, self.inputs.1, depths.1, &mut first[r * self.b..]);
            if !diagonal {
                let out = &mut second.as_deref_mut().unwrap_or(first)[c * self.b..];
                panels::add_columns_times(level, (values, cols.len()), self.inputs.0, depths.0, out);
            }
        }
        Ok(sum)
    }
}

/// The sum of the squares of values times a scale.
fn sum_of_squares<T: Real>(level: Level, values: &[T], scale: f64) -> f64 {
    dispatch!(level, simd => squares(simd, values, scale))
}

/// In sixteen sums, so that all instruction sets give the same bits.
#[inline(always)]
fn squares<S: Simd, T: Real>(simd: S, values: &[T], scale: f64) -> f64 {
    simd.vectorize(
        #[inline(always)]
        || {
            let mut parts = [0.0; 16];
            let chunks = values.chunks_exact(16);
            let rest: f64 = chunks.remainder().iter().map(|v| (v.to_f64() * scale).powi(2)).sum();
            for chunk in chunks {
                for (part, v) in parts.iter_mut().zip(chunk) {
                    let v = v.to_f64() * scale;
                    *part += v * v;
                }
            }
            parts.iter().sum::<f64>() + rest
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_comes_once_and_no_group_twice_in_a_round() {
        for n in [1, 63, 64, 65, 200, 1000, 3071, 3072, 5000, 30_000] {
            let grid = Grid::new(n);
            let mut seen = std::collections::BTreeSet::new();
            for round in 0..grid.groups {
                let mut busy = std::collections::BTreeSet::new();
                for (i, j) in grid.pairs(round) {
                    assert!(busy.insert(i) && (i == j || busy.insert(j)), "group twice in round {round} of {n}");
                    assert!(seen.insert((i, j)), "pair twice for {n}");
                }
            }
            assert_eq!(seen.len(), grid.groups * (grid.groups + 1) / 2);
            let entries: usize = seen.iter().map(|(i, j)| grid.entries(*i, *j)).sum();
            assert_eq!(entries as u128, grid.all_entries(), "n = {n}");
        }
    }
}
