"""Checks and conversion of input: arrays, sparse matrices, and tables that support Arrow."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_n_features, assert_all_finite, validate_data

from . import _mercer

FLOATS = [np.float64, np.float32]


def checked(estimator, X, *, reset, sparse=False, least=1, copy=False):
    """Returns ``X`` as C-contiguous float64 or float32, or as CSR or CSC, without a copy if possible.

    The extension module checks that values are finite; :func:`explained` words the error.
    """
    refuse(X)
    names, table = read(X)
    if table is not None:
        if names is None:
            validate_data(estimator, X, reset=reset, skip_check_array=True)
        else:
            check_names(estimator, names, reset)
            _check_n_features(estimator, table, reset=reset)
        X = table
        if X.shape[0] < least or X.shape[1] < 1:
            validate_data(estimator, X, reset=reset, ensure_min_samples=least, ensure_all_finite=False)
        return X
    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse=sparse,
        dtype=FLOATS,
        order=None if sp.issparse(X) else "C",
        copy=copy,
        ensure_all_finite=sp.issparse(X),
        ensure_min_samples=least,
    )
    return X if sp.issparse(X) or X.flags.aligned else X.copy()


def refuse(X) -> None:
    """Raises TypeError for input that would be misread: masks, dates and lazy frames."""
    if isinstance(X, list | tuple) and len(X):
        X = X[0] if hasattr(X[0], "dtype") else np.asarray(X[0])
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            "X is a masked array, and masks are not supported: fill the masked values with X.filled(...), or drop "
            "their rows with numpy.ma.compress_rows(X)"
        )
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in ("m", "M"):
        raise TypeError(
            f"X holds dates or durations ({X.dtype}): convert them to numbers first, for example with "
            "(X - X.min()) / numpy.timedelta64(1, 'D')"
        )
    if type(X).__name__ == "LazyFrame" and hasattr(X, "collect"):
        raise TypeError("X is a LazyFrame, which is not computed yet: call X.collect() first")
    for name, dtype in zip(X.columns, X.dtypes, strict=False) if hasattr(X, "columns") and hasattr(X, "dtypes") else ():
        if getattr(dtype, "kind", "") in ("m", "M"):
            raise TypeError(
                f"column '{name}' has type {dtype}, which is not a number: convert dates and durations to numbers first"
            )


def read(X):
    """Reads a table by its Arrow stream. Returns its column names, if scikit-learn cannot read them, and its values.

    Returns ``(None, None)`` for other input and for tables with columns that are not numbers, which scikit-learn
    converts or refuses.
    """
    if isinstance(X, np.ndarray) or sp.issparse(X) or not hasattr(X, "__arrow_c_stream__"):
        return None, None
    known = type(X).__module__.split(".")[0] in ("pandas", "polars", "pyarrow")
    if known and len(getattr(X, "shape", (0, 0))) != 2:
        return None, None
    # pandas would send the index as a column.
    table = X.reset_index(drop=True) if hasattr(X, "reset_index") else X
    try:
        names, values = _mercer.read_table(table)
    except _mercer.DateColumnError:
        raise
    except Exception:
        if not known:
            raise
        return None, None
    return (None if known and hasattr(X, "columns") else names), values


def check_names(estimator, names, reset) -> None:
    """Stores or compares column names, as scikit-learn does for the tables it supports."""
    if reset:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_") and list(estimator.feature_names_in_) != names:
        fitted = list(estimator.feature_names_in_)
        odd = [n for n in names if n not in fitted] or [n for n in fitted if n not in names] or names
        raise ValueError(
            "The feature names should match those that were passed during fit.\n"
            f"Columns {', '.join(map(str, odd[:5]))} are new, missing, or in another order."
        )


def assert_finite(estimator, X) -> None:
    """Raises scikit-learn's error for NaN and infinite values."""
    values = X.data if sp.issparse(X) else X
    assert_all_finite(values, estimator_name=type(estimator).__name__, input_name="X")


def explained(error: ValueError, estimator, X) -> ValueError:
    """Returns the error of a computation, or scikit-learn's error if ``X`` has NaN or infinite values."""
    try:
        assert_finite(estimator, X)
    except ValueError as known:
        return known
    return error


def dense(X, memory: int):
    """Returns sparse points as a dense array, for kernels that need one."""
    needed = X.shape[0] * X.shape[1] * 8
    if needed > memory:
        raise MemoryError(
            f"a kernel needs sparse points as dense rows, which take {needed / 1e9:.1f} GB, but memory allows "
            f"{memory / 1e9:.1f} GB; reduce the columns first, or use PCA, which keeps them sparse"
        )
    return np.ascontiguousarray(X.toarray())


def compressed(X):
    """Sparse points as the extension module takes them: offsets of the rows, columns, values, and the shape."""
    X = X.tocsr()
    return *(np.ascontiguousarray(a) for a in (X.indptr, X.indices, X.data)), X.shape
