"""Data in batches: iterators of arrays or tables, and Arrow streams."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_n_features

from . import _data, _mercer


def is_stream(X) -> bool:
    """Returns whether ``X`` is an iterator of batches or an Arrow stream, not a table in memory."""
    if isinstance(X, np.ndarray | list | tuple | str) or sp.issparse(X) or hasattr(X, "shape") or hasattr(X, "__len__"):
        return False
    return hasattr(X, "__next__") or hasattr(X, "__arrow_c_stream__")


def of(estimator, X, *, reset=True):
    """Yields the batches of a stream as checked arrays. Column names and number are those of the first."""
    for batch in X if hasattr(X, "__next__") else [X]:
        if _is_arrow(batch):
            batches = _read(estimator, batch, reset)
        else:
            batch = batch.toarray() if sp.issparse(batch) else batch
            if np.ndim(batch) == 2 and np.shape(batch)[0] == 0:
                continue
            batches = [_data.checked(estimator, batch, reset=reset)]
        for values in batches:
            yield values
            reset = False


def _is_arrow(batch) -> bool:
    """Returns whether a batch is read by Arrow. A table with a shape is left to scikit-learn, which reads its names."""
    return hasattr(batch, "__arrow_c_stream__") and (
        not hasattr(batch, "shape") or type(batch).__name__ == "RecordBatch"
    )


def _read(estimator, table, reset):
    """Yields the batches of an Arrow stream."""
    names, reader = _mercer.open_table(table)
    while (values := reader.next()) is not None:
        _data.check_names(estimator, names, reset)
        _check_n_features(estimator, values, reset=reset)
        yield values
        reset = False


def head(batches, rows):
    """Returns the first batches, with at least this many rows if there are, and an iterator of all batches."""
    taken, count = [], 0
    for batch in batches:
        taken.append(batch)
        count += len(batch)
        if count >= rows:
            break
    return taken, itertools.chain(taken, batches)


def merged(states):
    """Merges states two by two, in a tree that depends on their number alone."""
    states = list(states)
    while len(states) > 1:
        for a, b in zip(states[::2], states[1::2], strict=False):
            a.merge(b)
        states = states[::2]
    return states[0]
