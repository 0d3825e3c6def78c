"""Data as it comes: arrays of any layout, sparse matrices, tables of any library that speaks Arrow."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_n_features, assert_all_finite, validate_data

from . import _mercer

FLOATS = [np.float64, np.float32]


def checked(estimator, X, *, reset, sparse=False, least=1, copy=False):
    """``X`` as rows of float64 or float32 that lie one after the other, copied only if they do not; or as CSR or CSC.

    Whether values are finite is left to the extension module, which looks at them anyway; see :func:`explained`.
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
    """Refuses, in words, what would only seem to work."""
    if isinstance(X, list | tuple) and len(X):
        X = X[0] if hasattr(X[0], "dtype") else np.asarray(X[0])
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            "X is a masked array, and the mask would be ignored: fill the masked values with X.filled(...), "
            "or drop their rows with numpy.ma.compress_rows(X)"
        )
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in ("m", "M"):
        raise TypeError(
            f"X holds dates or durations ({X.dtype}): turn them into numbers in a unit of your choice first, "
            "such as (X - X.min()) / numpy.timedelta64(1, 'D')"
        )
    for name, dtype in zip(X.columns, X.dtypes, strict=False) if hasattr(X, "columns") and hasattr(X, "dtypes") else ():
        if getattr(dtype, "kind", "") in ("m", "M"):
            raise TypeError(
                f"column '{name}' has type {dtype}, which is not a number: turn dates and durations into numbers in a "
                "unit of your choice first"
            )
    if type(X).__name__ == "LazyFrame" and hasattr(X, "collect"):
        raise TypeError("X is a LazyFrame, which has no values yet: call X.collect() first")


def read(X):
    """A table by its Arrow stream: names (where scikit-learn cannot see them itself) and values.

    ``(None, None)`` for what is no such table, and for tables with columns that are not numbers, about which
    scikit-learn's own conversion is to decide.
    """
    if isinstance(X, np.ndarray) or sp.issparse(X) or not hasattr(X, "__arrow_c_stream__"):
        return None, None
    known = type(X).__module__.split(".")[0] in ("pandas", "polars", "pyarrow")
    if known and len(getattr(X, "shape", (0, 0))) != 2:
        return None, None
    # The index of a frame is no column, but pandas would send it along.
    table = X.reset_index(drop=True) if hasattr(X, "reset_index") else X
    try:
        names, values = _mercer.read_table(table)
    except Exception as error:
        if not known or ("which is not a number" in str(error) and isinstance(error, TypeError)):
            raise
        return None, None
    return (None if known and hasattr(X, "columns") else names), values


def check_names(estimator, names, reset) -> None:
    """As scikit-learn does for the tables it knows."""
    if reset:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_") and list(estimator.feature_names_in_) != names:
        fitted = list(estimator.feature_names_in_)
        odd = [n for n in names if n not in fitted] or [n for n in fitted if n not in names] or names
        raise ValueError(
            "The feature names should match those that were passed during fit.\n"
            f"Columns {', '.join(map(str, odd[:5]))} are other ones, missing, or in another order."
        )


def assert_finite(estimator, X) -> None:
    """Refuses, in scikit-learn's words, values that are missing or infinite."""
    values = X.data if sp.issparse(X) else X
    assert_all_finite(values, estimator_name=type(estimator).__name__, input_name="X")


def explained(error: ValueError, estimator, X) -> ValueError:
    """The error of a computation; in scikit-learn's words if values of ``X`` are missing or infinite."""
    try:
        assert_finite(estimator, X)
    except ValueError as known:
        return known
    return error


def dense(X, memory: int):
    """Sparse points as rows, for kernels that need them so."""
    needed = X.shape[0] * X.shape[1] * 8
    if needed > memory:
        raise MemoryError(
            f"a kernel needs these sparse points as rows, which take {needed / 1e9:.1f} GB where {memory / 1e9:.1f} GB "
            "are allowed; reduce the columns first, or use PCA, which keeps them sparse"
        )
    return np.ascontiguousarray(X.toarray())


def compressed(X):
    """Sparse points as the extension module takes them: offsets of the rows, columns, values, and the shape."""
    X = X.tocsr()
    return *(np.ascontiguousarray(a) for a in (X.indptr, X.indices, X.data)), X.shape
