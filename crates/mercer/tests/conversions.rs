//! Points to the matrices of other libraries and back.

use mercer::{Points, PointsRef, Result};
use nalgebra::DMatrix;
use ndarray::{Array2, ArrayView2, s};

fn example() -> Points<f64> {
    Points::from_fn(4, 3, |i, j| (10 * i + j) as f64)
}

#[test]
fn arrays_in_standard_layout_are_not_copied() -> Result<()> {
    let x = example();
    let at = x.as_slice().as_ptr();
    let view = ArrayView2::from(x.view());
    assert_eq!((view.dim(), view[(2, 1)], view.as_ptr()), ((4, 3), 21.0, at));
    assert_eq!(PointsRef::try_from(view)?.as_slice().as_ptr(), at);
    let array = Array2::from(x);
    assert_eq!(array.as_ptr(), at);
    let back = Points::from(array);
    assert_eq!(back.as_slice().as_ptr(), at);
    assert_eq!(back, example());
    Ok(())
}

#[test]
fn rows_of_an_array_are_viewed_and_columns_are_refused_or_copied() -> Result<()> {
    let array = Array2::from(example());
    let rows = PointsRef::try_from(array.slice(s![1..3, ..]))?;
    assert_eq!((rows.n(), rows.row(0)), (2, &[10.0, 11.0, 12.0][..]));

    for view in [array.t(), array.slice(s![.., 1..]), array.slice(s![..;-1, ..])] {
        let error = PointsRef::try_from(view).expect_err("not in standard layout");
        assert!(error.to_string().contains("not in standard layout"), "{error}");
        assert!(error.help().is_some_and(|help| help.contains("Points::from(view)")));
        let copy = Points::from(view);
        assert_eq!(Array2::from(copy), view);
    }
    Ok(())
}

#[test]
fn owned_arrays_of_any_layout_keep_their_values() {
    let array = Array2::from(example());
    for owned in [
        array.clone().reversed_axes(),
        array.clone().slice_move(s![1..3, ..]),
        array.clone().slice_move(s![.., 1..]),
        array.clone().slice_move(s![..;-1, ..]),
        Array2::zeros((0, 3)),
        Array2::zeros((3, 0)),
    ] {
        let expected = owned.clone();
        let points = Points::from(owned);
        assert_eq!((points.n(), points.d()), expected.dim());
        assert_eq!(Array2::from(points), expected);
    }
}

#[test]
fn matrices_of_nalgebra_and_faer_keep_rows_and_columns() {
    let x = example();
    let matrix = DMatrix::from(x.view());
    assert_eq!((matrix.nrows(), matrix.ncols(), matrix[(3, 2)]), (4, 3, 32.0));
    assert_eq!(Points::from(&matrix), x);

    let matrix = faer::Mat::from(x.view());
    assert_eq!((matrix.nrows(), matrix.ncols(), matrix[(3, 2)]), (4, 3, 32.0));
    assert_eq!(Points::from(matrix.as_ref()), x);
    assert_eq!(Points::from(matrix.transpose()).row(2), [2.0, 12.0, 22.0, 32.0]);
}

#[test]
fn f32_is_converted_as_it_is() -> Result<()> {
    let x = Points::from_rows(&[[0.1f32, 0.2], [0.3, 0.4]]);
    assert_eq!(Points::from(Array2::from(x.clone())), x);
    assert_eq!(Points::from(&DMatrix::from(x.view())), x);
    assert_eq!(Points::from(faer::Mat::from(x.view()).as_ref()), x);
    Ok(())
}
