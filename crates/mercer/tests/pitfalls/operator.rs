//! Operators give the results of their matrices; faulty ones of the user are refused.

use crate::common::largest;
use crate::{FIXED, kernel};
use mercer::kernel::Bound;
use mercer::op::Centred;
use mercer::op::{Gram, SymOp};
use mercer::testing::matrices::normal;
use mercer::{Block, ErrorKind, Exec, Kernel, KernelPca, Result};

#[test]
fn an_operator_on_no_columns_gives_none() -> Result<()> {
    let x = normal(10, 2, 34);
    let gram = Gram::new(&Bound::new(&Kernel::linear(), &x)?, &x)?;
    let mut y = Block::zeros(10, 0);
    gram.apply(&Block::zeros(10, 0), &mut y, &Exec::new())?;
    assert_eq!((y.n(), y.b()), (10, 0));
    Ok(())
}

#[test]
fn an_operator_gives_the_results_of_its_matrix() -> Result<()> {
    let x = normal(150, 3, 35);
    for text in FIXED {
        let bound = Bound::new(&kernel(text), &x)?;
        let noise = normal(150, 3, 36);
        let v = Block::from_fn(150, 3, |i, j| noise.row(i)[j]);
        for gram in [Gram::new(&bound, &x)?, Gram::new(&bound, &x)?.up_to_centring()] {
            let matrix = gram.to_matrix(&Exec::new())?;
            let mut y = Block::zeros(150, 3);
            gram.apply(&v, &mut y, &Exec::new())?;
            for c in 0..3 {
                for i in 0..150 {
                    let expected: f64 = (0..150).map(|j| matrix.at(i, j) * v.at(j, c)).sum();
                    assert!((y.at(i, c) - expected).abs() < 1e-11 * largest(matrix.as_slice()), "{text}");
                    assert_eq!(matrix.at(i, c), matrix.at(c, i), "{text}: symmetric to the last bit");
                }
            }
        }
    }
    Ok(())
}

/// Rows and columns of the result for an argument.
type Shape = fn(&Block) -> (usize, usize);

/// An operator whose result has a shape of its own.
struct Shaped {
    n: usize,
    shape: Shape,
}

impl SymOp for Shaped {
    fn n(&self) -> usize {
        self.n
    }

    fn apply(&self, x: &Block, y: &mut Block, _: &Exec) -> Result<()> {
        let (n, b) = (self.shape)(x);
        *y = Block::zeros(n, b);
        Ok(())
    }
}

#[test]
fn an_operator_that_gives_another_shape_is_refused() {
    let shapes: [(&str, Shape); 6] = [
        ("nothing", |_| (0, 0)),
        ("a row more", |x| (x.n() + 1, x.b())),
        ("a row less", |x| (x.n() - 1, x.b())),
        ("a column more", |x| (x.n(), x.b() + 1)),
        ("a column less", |x| (x.n(), x.b() - 1)),
        ("one long column", |x| (x.n() * x.b(), 1)),
    ];
    for (what, shape) in shapes {
        // All columns at once, and in parts.
        for n in [10, 150] {
            let op = Shaped { n, shape };
            let fitted = KernelPca::custom().fit_op(&op).expect_err(what);
            let matrix = op.to_matrix(&Exec::new()).expect_err(what);
            let centred = Centred(op).to_matrix(&Exec::new()).expect_err(what);
            for error in [fitted, matrix, centred] {
                assert!(matches!(error.kind(), ErrorKind::Shape { .. }), "{what} of {n}: {error}");
            }
        }
    }
}

/// An operator that has a matrix, but of a shape of its own.
struct Stored(Block, usize);

impl SymOp for Stored {
    fn n(&self) -> usize {
        self.1
    }

    fn apply(&self, _: &Block, _: &mut Block, _: &Exec) -> Result<()> {
        Ok(())
    }

    fn to_matrix(&self, _: &Exec) -> Result<Block> {
        Ok(self.0.clone())
    }
}

#[test]
fn a_stored_matrix_of_another_shape_is_refused() {
    for (n, b) in [(5, 4), (4, 5), (4, 4), (6, 6), (0, 0), (25, 1), (1, 25)] {
        let op = Stored(Block::from_fn(n, b, |i, j| if i == j { 1.0 } else { 0.0 }), 5);
        let error = KernelPca::custom().fit_op(&op).expect_err("not 5 by 5");
        assert!(matches!(error.kind(), ErrorKind::Shape { .. }), "{n} {b}: {error}");
    }
}
