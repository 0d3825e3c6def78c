"""Data that comes in batches: iterators of arrays or tables, and Arrow streams."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp

from . import _data, _mercer


def is_stream(X) -> bool:
    """Whether ``X`` gives batches one after the other, rather than being a table that is there."""
    if isinstance(X, np.ndarray | list | tuple | str) or sp.issparse(X) or hasattr(X, "shape") or hasattr(X, "__len__"):
        return False
    return hasattr(X, "__next__") or hasattr(X, "__arrow_c_stream__")


def of(estimator, X, *, reset=True):
    """The batches of a stream as checked arrays; names and widths are those of the first."""
    if hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__next__"):
        names, reader = _mercer.open_table(X)
        for values in iter(reader.next, None):
            _data.check_names(estimator, names, reset)
            yield _data.checked(estimator, values, reset=reset)
            reset = False
        return
    for batch in X:
        batch = sp.csr_array(batch).toarray() if sp.issparse(batch) else batch
        if getattr(batch, "shape", (1,))[0] == 0:
            continue
        yield _data.checked(estimator, batch, reset=reset)
        reset = False


def head(batches, rows):
    """Batches with at least so many rows together, as far as there are, and an iterator of all batches."""
    taken, count = [], 0
    for batch in batches:
        taken.append(batch)
        count += len(batch)
        if count >= rows:
            break
    return taken, itertools.chain(taken, batches)


def merged(states):
    """States put together two by two, in a tree that depends on their number alone."""
    states = list(states)
    while len(states) > 1:
        for a, b in zip(states[::2], states[1::2], strict=False):
            a.merge(b)
        states = states[::2]
    return states[0]
