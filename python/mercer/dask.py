"""PCA and kernel PCA of Dask arrays and data frames.

The estimators have the same parameters as those of :mod:`mercer`. ``fit`` computes on the blocks of rows where they
are; sums of a fixed size are merged in a tree that depends on the number of blocks alone. ``transform`` is lazy.

>>> import dask.array as da
>>> from mercer.dask import PCA
>>> X = da.random.default_rng(0).normal(size=(10_000, 8), chunks=(1_000, 8))
>>> scores = PCA(n_components=2).fit(X).transform(X)
>>> scores.chunks[1]
(2,)
"""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
from dask import delayed
from sklearn.utils.validation import check_is_fitted

from . import _cluster, _data

__all__ = ["PCA", "KernelPCA"]


class _Table(_cluster.Table):
    """The blocks of rows of a Dask array or data frame."""

    def __init__(self, X):
        self.blocks, self.d = _blocks(X)

    def reduce(self, task, *shared):
        task, merge, shared = delayed(task), delayed(_cluster.merge), [_put(value) for value in shared]
        states = [task([block], number, *shared) for number, block in enumerate(self.blocks)]
        while len(states) > 1:
            states = [merge(states[i : i + _cluster.FAN]) for i in range(0, len(states), _cluster.FAN)]
        return states[0].compute()

    def keep(self, task, *shared):
        blocks = dask.persist(*[delayed(_cluster.rows)(block) for block in self.blocks])
        task, shared = delayed(task), [_put(value) for value in shared]
        (found,) = dask.compute([task(block, *shared) for block in blocks])
        # A filter leaves blocks without rows.
        filled = [(block, f) for block, f in zip(blocks, found, strict=True) if len(f[0])]
        return _KeptBlocks([block for block, _ in filled]), [f for _, f in filled]


class _KeptBlocks(_cluster.KeptBlocks):
    """Persisted blocks."""

    def __init__(self, blocks):
        self.blocks = blocks

    def pairs(self, pieces, basis, single_precision):
        basis, task, count = _put(basis), delayed(_cluster.pair), len(self.blocks)
        block = [(i, self.blocks[i], _put(pieces[i])) for i in range(count)]
        # Each state has the sums of two blocks; those of one block are added where they are.
        pairs = {
            (i, j): task(basis, block[i], None if i == j else block[j], single_precision)
            for i in range(count)
            for j in range(i + 1)
        }
        total = delayed(lambda number, *states: sum(s.block(number) for s in states))
        images = [total(i, *(state for at, state in pairs.items() if i in at)) for i in range(count)]
        squares = delayed(lambda *states: sum(s.squares for s in states))(*pairs.values())
        *images, squares = dask.compute(*images, squares)
        return images, squares

    def release(self):
        """Does nothing: the workers free a block when nothing refers to it."""


class _Collections:
    """What the estimators share."""

    def _open(self, X):
        table = _Table(X)
        _check_names(self, X, reset=True)
        return table

    def _checked(self, X):
        """Returns the blocks of new rows. Refuses, before anything is computed, what the model was not fitted to."""
        check_is_fitted(self)
        table = _Table(X)
        _check_names(self, X, reset=False)
        if table.d != self.n_features_in_:
            name = type(self).__name__
            raise ValueError(
                f"X has {table.d} features, but {name} is expecting {self.n_features_in_} features as input."
            )
        return table.blocks

    def transform(self, X):
        """Return the scores of X: lazy for a Dask array or data frame, computed for data in memory."""
        if not hasattr(X, "dask"):
            return super().transform(X)
        self._checked(X)
        worker = self._worker()
        if isinstance(X, da.Array):
            X, width = _full_rows(X), self._n_features_out
            meta = np.empty((0, width))
            return X.map_blocks(_cluster.scores, worker, dtype=np.float64, chunks=(X.chunks[0], (width,)), meta=meta)
        return X.map_partitions(_frame, worker, meta=_frame(X._meta, worker))


class PCA(_Collections, _cluster.PCA, auto_wrap_output_keys=None):
    """:class:`mercer.PCA` of a Dask array or data frame, in one pass over its blocks."""


class KernelPCA(_Collections, _cluster.KernelPCA, auto_wrap_output_keys=None):
    """:class:`mercer.KernelPCA` of a Dask array or data frame.

    With ``landmarks`` it takes two passes over the blocks. Without, it is exact and certified, by passes over pairs of
    blocks, which are kept on the workers. ``transform`` then needs the workers that hold the fitted blocks.
    """

    def transform(self, X):
        """Return the scores of X, lazy; those of an exact model are sums over the fitted blocks on the workers."""
        check_is_fitted(self)
        if not self._is_remote:
            return super().transform(X)
        blocks = self._checked(X)
        alpha, offset = self._alpha_of_blocks()
        held = list(zip(self._kept_blocks.blocks, map(_put, alpha), strict=True))
        basis, part = _put(self._basis), delayed(_cluster.scores_part)
        total = delayed(lambda offset, *parts: sum(parts) - offset)
        scores = [total(offset, *(part(basis, b, fitted, a) for fitted, a in held)) for b in blocks]
        k = len(offset)
        if isinstance(X, da.Array):
            arrays = [da.from_delayed(s, (n, k), np.float64) for s, n in zip(scores, X.chunks[0], strict=True)]
            return da.concatenate(arrays, allow_unknown_chunksizes=True)
        import dask.dataframe as dd

        names = self.get_feature_names_out()
        frames = [delayed(_indexed)(s, b, names) for s, b in zip(scores, blocks, strict=True)]
        return dd.from_delayed(frames, meta=_indexed(np.empty((0, k)), X._meta, names), divisions=X.divisions)


def _blocks(X):
    """Returns blocks of rows with all columns, and the number of columns."""
    if not all(hasattr(X, name) for name in ("dask", "_meta", "ndim", "to_delayed")):
        raise TypeError(
            f"X is {type(X).__name__}, not a Dask array or data frame: use mercer.PCA or mercer.KernelPCA for data in "
            "memory"
        )
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, and X has {X.ndim}")
    if isinstance(X, da.Array):
        if X.dtype.kind not in "biufO":
            raise TypeError(f"X has type {X.dtype}, which is not a number")
        return list(_full_rows(X).to_delayed(optimize_graph=False).ravel()), X.shape[1]
    for name, kind in X.dtypes.items():
        if getattr(kind, "kind", "O") not in "biuf":
            raise TypeError(f"column '{name}' has type {kind}, which is not a number: drop it")
    return X.to_delayed(optimize_graph=False), len(X.columns)


def _full_rows(X):
    """Returns an array in blocks that have all columns."""
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _check_names(estimator, X, reset):
    """Stores or compares the column names of a frame; an array has none."""
    if isinstance(X, da.Array) or not all(isinstance(name, str) for name in X.columns):
        if reset:
            estimator.__dict__.pop("feature_names_in_", None)
    else:
        _data.check_names(estimator, list(X.columns), reset)


def _put(value):
    """Returns a value that tasks share as a part of the graph, which outlives workers; scattered values do not."""
    return delayed(value, pure=False, traverse=False)


def _frame(block, worker):
    """Returns the scores of a block of a frame."""
    return _indexed(_cluster.scores(block, worker), block, worker.get_feature_names_out())


def _indexed(scores, block, names):
    import pandas as pd

    return pd.DataFrame(scores, index=block.index, columns=names)
