//! One pass over the tiles of a symmetric matrix: Y = A X.
//!
//! The rows are cut into an odd number p of groups. Round r takes the pairs of groups (i, j) with i + j = r (mod p): each
//! group stands in one pair of a round, so that the pairs can be worked on side by side, and over all rounds each pair of
//! groups comes once. A tile is used twice, as A_ij and as A_ji. A row of Y collects its sums round by round: in the
//! same order, and so with the same bits, whoever does the work.

use std::ops::Range;
use std::sync::{Mutex, OnceLock};

use rayon::prelude::*;

use crate::block::Block;
use crate::error::Result;
use crate::exec::{Exec, Progress};
use crate::kernel::tile::{LARGE_TILE, MIDDLE_TILE, Scratch, TILE};
use crate::linalg;
use crate::real::Real;

/// From so many rows on, tiles have so many rows and columns, and rows are cut into at most so many groups, an odd number:
/// enough for many threads, few enough that they seldom wait for each other.
const SIZES: [(usize, usize, usize); 3] = [(8192, LARGE_TILE, 129), (3072, LARGE_TILE, 33), (0, MIDDLE_TILE, 17)];

/// Where tiles come from.
pub(crate) trait Tiles<T>: Sync {
    /// The number of rows.
    fn n(&self) -> usize;

    /// Fills `out`, row by row.
    fn fill(&self, rows: Range<usize>, cols: Range<usize>, out: &mut [T], scratch: &mut Scratch<T>, exec: &Exec);
}

/// How the rows of a matrix are cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    n: usize,
    side: usize,
    /// Rows of a group, a multiple of `side`.
    group: usize,
    /// An odd number; the last groups may be empty.
    groups: usize,
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
    fn pairs(&self, round: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
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

    /// How many entries all tiles together have.
    pub(crate) fn all_entries(&self) -> u128 {
        let (full, rest) = ((self.n / self.side) as u128, (self.n % self.side) as u128);
        let side = self.side as u128;
        full * (full + 1) / 2 * side * side + rest * (full * side + rest)
    }
}

/// Tiles that were computed once and are kept, as far as memory allows: what is kept changes no bit of a result.
#[derive(Debug)]
pub(crate) struct Cache<T> {
    /// By pairs of groups.
    pairs: Vec<OnceLock<Vec<T>>>,
}

impl<T: Real> Cache<T> {
    /// A cache of at most about this many bytes.
    pub(crate) fn new(n: usize, bytes: u128) -> Self {
        let grid = Grid::new(n);
        let mut left = bytes;
        let mut pairs = Vec::new();
        for (i, j) in (0..grid.groups).flat_map(|i| (0..=i).map(move |j| (i, j))) {
            let needed = (grid.entries(i, j) * size_of::<T>()) as u128;
            if needed > left {
                break;
            }
            left -= needed;
            pairs.push(OnceLock::new());
        }
        Cache { pairs }
    }

    fn slot(&self, i: usize, j: usize) -> Option<&OnceLock<Vec<T>>> {
        self.pairs.get(i * (i + 1) / 2 + j)
    }
}

/// Y = A X; with `squares` also the sum of the squares of all entries of A, else 0.
pub(crate) fn multiply<T: Real>(
    tiles: &impl Tiles<T>,
    cache: Option<&Cache<T>>,
    squares: bool,
    x: &Block,
    y: &mut Block,
    exec: &Exec,
) -> Result<f64> {
    let (n, b) = (tiles.n(), x.b());
    let grid = Grid::new(n);
    let inputs: Vec<Vec<T>> = (0..grid.groups)
        .map(|g| {
            // Row by row: the matrix products then need no copy of the tile.
            let rows = grid.rows(g);
            let mut piece = vec![T::ZERO; rows.len() * b];
            for c in 0..b {
                for (v, x) in piece[c.min(rows.len() * b)..].iter_mut().step_by(b).zip(&x.col(c)[rows.clone()]) {
                    *v = T::from_f64(*x);
                }
            }
            piece
        })
        .collect();
    let outputs: Vec<Mutex<Vec<f64>>> =
        (0..grid.groups).map(|g| Mutex::new(vec![0.0; grid.rows(g).len() * b])).collect();
    let workspaces = Mutex::new(Vec::new());
    let mut total = 0.0;
    for round in 0..grid.groups {
        let pairs: Vec<(usize, usize)> = grid.pairs(round).collect();
        let sums: Vec<f64> = pairs
            .into_par_iter()
            .map(|(i, j)| {
                let mut space = lock(&workspaces).pop().unwrap_or_else(Workspace::new);
                let mut first = lock(&outputs[i]);
                let mut second = (i != j).then(|| lock(&outputs[j]));
                let mut pair = Pair { grid, i, j, b, squares, tiles, exec, inputs: (&inputs[i], &inputs[j]) };
                let sum = pair.work(cache, &mut first, second.as_mut().map(|s| s.as_mut_slice()), &mut space);
                lock(&workspaces).push(space);
                sum
            })
            .collect::<Result<_>>()?;
        total += sums.iter().sum::<f64>();
        exec.tell(Progress::Tiles { done: round + 1, of: grid.groups });
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

fn lock<V>(mutex: &Mutex<V>) -> std::sync::MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Buffers of one thread.
struct Workspace<T> {
    tile: Vec<T>,
    product: Vec<T>,
    scratch: Scratch<T>,
}

impl<T: Real> Workspace<T> {
    fn new() -> Self {
        Workspace { tile: Vec::new(), product: Vec::new(), scratch: Scratch::new() }
    }
}

/// A pair of groups.
struct Pair<'a, T, S> {
    grid: Grid,
    i: usize,
    j: usize,
    b: usize,
    squares: bool,
    tiles: &'a S,
    exec: &'a Exec,
    inputs: (&'a [T], &'a [T]),
}

impl<T: Real, S: Tiles<T>> Pair<'_, T, S> {
    /// Adds A_ij X_j to `first` and A_ji X_i to `second`, which is `first` itself when there is none.
    fn work(
        &mut self,
        cache: Option<&Cache<T>>,
        first: &mut [f64],
        mut second: Option<&mut [f64]>,
        space: &mut Workspace<T>,
    ) -> Result<f64> {
        let slot = cache.and_then(|c| c.slot(self.i, self.j));
        let kept = slot.and_then(OnceLock::get);
        let mut fresh = match (slot, kept) {
            (Some(_), None) => vec![T::ZERO; self.grid.entries(self.i, self.j)],
            _ => Vec::new(),
        };
        let (mut at, mut sum) = (0, 0.0);
        let Workspace { tile, product, scratch } = space;
        for (rows, cols) in self.grid.tiles(self.i, self.j) {
            self.exec.go_on()?;
            let len = rows.len() * cols.len();
            let values: &[T] = match kept {
                Some(kept) => &kept[at..at + len],
                None => {
                    tile.resize(len, T::ZERO);
                    let out = if slot.is_some() { &mut fresh[at..at + len] } else { tile.as_mut_slice() };
                    self.tiles.fill(rows.clone(), cols.clone(), out, scratch, self.exec);
                    out
                }
            };
            at += len;
            let diagonal = rows == cols;
            if self.squares {
                sum += sum_of_squares(values) * if diagonal { 1.0 } else { 2.0 };
            }
            let shape = (rows.len(), cols.len());
            let (r, c) = (rows.start - self.grid.rows(self.i).start, cols.start - self.grid.rows(self.j).start);
            linalg::tile_apply(values, shape, false, &self.inputs.1[c * self.b..], self.b, product);
            add(&mut first[r * self.b..], product);
            if !diagonal {
                linalg::tile_apply(values, shape, true, &self.inputs.0[r * self.b..], self.b, product);
                add(&mut second.as_deref_mut().unwrap_or(first)[c * self.b..], product);
            }
        }
        if let Some(slot) = slot.filter(|_| kept.is_none()) {
            let _ = slot.set(fresh);
        }
        Ok(sum)
    }
}

fn add<T: Real>(out: &mut [f64], product: &[T]) {
    out.iter_mut().zip(product).for_each(|(v, p)| *v += p.to_f64());
}

fn sum_of_squares<T: Real>(values: &[T]) -> f64 {
    let mut parts = [0.0; 8];
    let chunks = values.chunks_exact(8);
    let rest: f64 = chunks.remainder().iter().map(|v| v.to_f64() * v.to_f64()).sum();
    for chunk in chunks {
        for (part, v) in parts.iter_mut().zip(chunk) {
            *part += v.to_f64() * v.to_f64();
        }
    }
    parts.iter().sum::<f64>() + rest
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
