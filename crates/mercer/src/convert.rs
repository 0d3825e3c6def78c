//! Conversions between points and the matrices of other libraries, one feature each. Rows are points in all of them.

/// `ndarray`: standard layout is row by row, as in [`crate::Points`], so that views need no copy.
#[cfg(feature = "ndarray")]
mod with_ndarray {
    use ndarray::{Array2, ArrayView2};

    use crate::error::{Error, ErrorKind, Result};
    use crate::points::{Points, PointsRef};
    use crate::real::Real;

    /// Views an array without copying it. Feature `ndarray`.
    ///
    /// Fails when the array is not in standard layout (contiguous, row by row). `Points::from(view)` copies such an array.
    ///
    /// ```
    /// use mercer::{Pca, PointsRef};
    /// use ndarray::array;
    /// let x = array![[0.0, 0.1], [1.0, 0.9], [2.0, 2.1]];
    /// let model = Pca::new().components(1).fit(PointsRef::try_from(x.view())?)?;
    /// assert_eq!(model.d(), 2);
    /// assert!(PointsRef::try_from(x.t()).is_err()); // column by column
    /// # Ok::<(), mercer::Error>(())
    /// ```
    impl<'a, T: Real> TryFrom<ArrayView2<'a, T>> for PointsRef<'a, T> {
        type Error = Error;

        fn try_from(view: ArrayView2<'a, T>) -> Result<Self> {
            let (n, d) = view.dim();
            match view.to_slice() {
                Some(data) => PointsRef::new(data, n, d),
                None => Err(ErrorKind::Unsupported {
                    what: format!("the {n} x {d} array is not in standard layout (contiguous, row by row)"),
                    remedy: "copy it with Points::from(view), or view its as_standard_layout()".into(),
                }
                .into()),
            }
        }
    }

    /// Copies an array of any layout. Feature `ndarray`.
    ///
    /// ```
    /// use mercer::Points;
    /// use ndarray::array;
    /// let x = array![[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]];
    /// assert_eq!(Points::from(x.t()), Points::from_rows(&[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]));
    /// ```
    impl<T: Real> From<ArrayView2<'_, T>> for Points<T> {
        fn from(view: ArrayView2<'_, T>) -> Self {
            let (n, d) = view.dim();
            Points::from_fn(n, d, |i, j| view[(i, j)])
        }
    }

    /// Takes the values of an array in standard layout without copying them; copies any other. Feature `ndarray`.
    ///
    /// ```
    /// use mercer::Points;
    /// use ndarray::array;
    /// let x = Points::from(array![[0.0, 1.0], [2.0, 3.0]]);
    /// assert_eq!(x.row(1), [2.0, 3.0]);
    /// ```
    impl<T: Real> From<Array2<T>> for Points<T> {
        fn from(array: Array2<T>) -> Self {
            let (n, d) = array.dim();
            if !array.is_standard_layout() {
                return Points::from(array.view());
            }
            let (mut data, offset) = array.into_raw_vec_and_offset();
            // A sliced array may own more values than it shows.
            data.drain(..offset.unwrap_or(0));
            data.truncate(n * d);
            Points::new(data, n, d).expect("an array in standard layout has all its values")
        }
    }

    /// Views points as an array without copying them. Feature `ndarray`.
    ///
    /// ```
    /// use mercer::Points;
    /// use ndarray::{ArrayView2, Axis};
    /// let x = Points::from_rows(&[[0.0, 1.0], [2.0, 5.0]]);
    /// let sums = ArrayView2::from(x.view()).sum_axis(Axis(0));
    /// assert_eq!(sums.to_vec(), [2.0, 6.0]);
    /// ```
    impl<'a, T: Real> From<PointsRef<'a, T>> for ArrayView2<'a, T> {
        fn from(points: PointsRef<'a, T>) -> Self {
            ArrayView2::from_shape((points.n(), points.d()), points.as_slice()).expect("points are in standard layout")
        }
    }

    /// Turns points into an array without copying them. Feature `ndarray`.
    ///
    /// ```
    /// use mercer::Points;
    /// use ndarray::{Array2, array};
    /// let x = Points::from_rows(&[[0.0, 1.0], [2.0, 3.0]]);
    /// assert_eq!(Array2::from(x), array![[0.0, 1.0], [2.0, 3.0]]);
    /// ```
    impl<T: Real> From<Points<T>> for Array2<T> {
        fn from(points: Points<T>) -> Self {
            let shape = (points.n(), points.d());
            Array2::from_shape_vec(shape, points.into_vec()).expect("points are in standard layout")
        }
    }
}

/// `nalgebra`: matrices are stored column by column, so that every conversion copies.
#[cfg(feature = "nalgebra")]
mod with_nalgebra {
    use nalgebra::{DMatrix, Scalar};

    use crate::points::{Points, PointsRef};
    use crate::real::Real;

    /// Copies a matrix, which nalgebra stores column by column. Feature `nalgebra`.
    ///
    /// ```
    /// use mercer::{Pca, Points};
    /// use nalgebra::DMatrix;
    /// let x = DMatrix::from_row_slice(3, 2, &[0.0, 0.1, 1.0, 0.9, 2.0, 2.1]);
    /// let points = Points::from(&x);
    /// assert_eq!(points.row(1), [1.0, 0.9]);
    /// # Pca::new().components(1).fit(&points)?;
    /// # Ok::<(), mercer::Error>(())
    /// ```
    impl<T: Real + Scalar> From<&DMatrix<T>> for Points<T> {
        fn from(matrix: &DMatrix<T>) -> Self {
            Points::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)])
        }
    }

    /// Copies points into a matrix, which nalgebra stores column by column. Feature `nalgebra`.
    ///
    /// ```
    /// use mercer::Points;
    /// use nalgebra::DMatrix;
    /// let x = Points::from_rows(&[[0.0, 1.0], [2.0, 3.0]]);
    /// assert_eq!(DMatrix::from(x.view())[(1, 0)], 2.0);
    /// ```
    impl<T: Real + Scalar> From<PointsRef<'_, T>> for DMatrix<T> {
        fn from(points: PointsRef<'_, T>) -> Self {
            DMatrix::from_row_slice(points.n(), points.d(), points.as_slice())
        }
    }
}

/// `faer`: matrices are stored column by column, so that every conversion copies.
#[cfg(feature = "faer")]
mod with_faer {
    use faer::{Mat, MatRef};

    use crate::points::{Points, PointsRef};
    use crate::real::Real;

    /// Copies a matrix, which faer stores column by column. Feature `faer`.
    ///
    /// ```
    /// use faer::mat;
    /// use mercer::{Pca, Points};
    /// let x = mat![[0.0, 0.1], [1.0, 0.9], [2.0, 2.1]];
    /// let points = Points::from(x.as_ref());
    /// assert_eq!(points.row(1), [1.0, 0.9]);
    /// # Pca::new().components(1).fit(&points)?;
    /// # Ok::<(), mercer::Error>(())
    /// ```
    impl<T: Real> From<MatRef<'_, T>> for Points<T> {
        fn from(matrix: MatRef<'_, T>) -> Self {
            Points::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)])
        }
    }

    /// Copies points into a matrix, which faer stores column by column. Feature `faer`.
    ///
    /// ```
    /// use faer::{Mat, mat};
    /// use mercer::Points;
    /// let x = Points::from_rows(&[[0.0, 1.0], [2.0, 3.0]]);
    /// assert_eq!(Mat::from(x.view()), mat![[0.0, 1.0], [2.0, 3.0]]);
    /// ```
    impl<T: Real> From<PointsRef<'_, T>> for Mat<T> {
        fn from(points: PointsRef<'_, T>) -> Self {
            Mat::from_fn(points.n(), points.d(), |i, j| points.row(i)[j])
        }
    }
}
