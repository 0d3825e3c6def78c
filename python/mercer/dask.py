"""PCA and kernel PCA of Dask arrays and data frames.

The estimators are those of :mod:`mercer`, with the same parameters. ``fit`` goes over the blocks of rows where they
lie; sums of a fixed size come back, in a tree that depends on the number of blocks alone. ``transform`` is lazy.

>>> import dask.array as da
>>> from mercer.dask import PCA
>>> X = da.random.default_rng(0).normal(size=(10_000, 8), chunks=(1_000, 8))
>>> scores = PCA(n_components=2).fit(X).transform(X)
>>> scores.chunks[1]
(2,)
"""

from __future__ import annotations

import itertools

import dask
import dask.array as da
import numpy as np
from dask import delayed

from . import _cluster, _mercer

__all__ = ["PCA", "KernelPCA"]


def _blocks(X):
    """Blocks of whole rows, and how many columns they have."""
    if hasattr(X, "dask") and isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"a table has two dimensions, and X has {X.ndim}")
        X = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        return list(X.to_delayed(optimize_graph=False).ravel()), X.shape[1]
    if hasattr(X, "to_delayed") and hasattr(X, "columns"):
        return X.to_delayed(optimize_graph=False), len(X.columns)
    raise TypeError(f"X is {type(X).__name__}, not a Dask array or data frame: mercer.PCA takes what is in memory")


def _tree(states):
    """One state of many: the same tree for the same number."""
    merge = delayed(_cluster.merge)
    while len(states) > 1:
        states = [merge(states[i : i + _cluster.FAN]) for i in range(0, len(states), _cluster.FAN)]
    return states[0]


def _put(value):
    """A value that tasks share, sent once to where they run."""
    try:
        from distributed import get_client

        return get_client().scatter(value, broadcast=True, hash=False)
    except (ImportError, ValueError):
        return delayed(value, pure=False)


def _frame(block, estimator):
    import pandas as pd

    scores = np.empty((0, estimator._n_features_out)) if len(block) == 0 else estimator.transform(_cluster.rows(block))
    return pd.DataFrame(scores, index=block.index, columns=estimator.get_feature_names_out())


def _scores(estimator, X):
    """Scores, block by block and when they are asked for: an array of an array, a frame of a frame."""
    local = estimator._local()
    if isinstance(X, da.Array):
        X = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        chunks = (X.chunks[0], (estimator._n_features_out,))
        return X.map_blocks(lambda block: local.transform(_cluster.rows(block)), dtype=np.float64, chunks=chunks)
    meta = _frame(X._meta, local)
    return X.map_partitions(_frame, local, meta=meta)


class PCA(_cluster.PCA):
    """:class:`mercer.PCA` of a Dask array or data frame, in one look at its blocks."""

    def fit(self, X, y=None):
        """Fit the model with X, a Dask array or data frame."""
        self._validate_params()
        blocks, d = _blocks(X)
        part = delayed(_cluster.pca_state)
        return self._keep_state(_tree([part([b], d, self._stream_route()) for b in blocks]).compute())

    def fit_transform(self, X, y=None):
        """Fit the model with X, and give its scores when they are asked for."""
        return self.fit(X).transform(X)

    def transform(self, X):
        """Scores of X: lazy for a Dask array or data frame, at once for what is in memory."""
        return _scores(self, X) if hasattr(X, "dask") else super().transform(X)

    def _local(self):
        return self


class KernelPCA(_cluster.KernelPCA):
    """:class:`mercer.KernelPCA` of a Dask array or data frame.

    With ``landmarks`` in two looks at its blocks; without, exact and certified, by passes over pairs of blocks, which
    are kept on the workers meanwhile. In place of ``eigenvectors_`` of the fitted rows alone, scores of X are had by
    ``transform``.
    """

    def fit(self, X, y=None):
        """Fit the model with X, a Dask array or data frame."""
        blocks, d = _blocks(X)
        text, how, exact = self._how(d)
        size, seed = self._survey_size(how), self._seed()
        survey = delayed(_cluster.survey)
        survey = _tree([survey([b], d, i, size, seed) for i, b in enumerate(blocks)]).compute()
        exact = self._is_exact(exact, text, survey.n, d)
        self._basis = _mercer.LandmarkBasis(text, survey, False, how, self._options(draw=True))
        basis = _put(self._basis)
        part = delayed(_cluster.landmark_state)
        sums = _tree([part([b], basis) for b in blocks]).compute()
        return self._fit_exact(blocks, basis, self._start_model(sums)) if exact else self._take_landmarks(sums)

    def _fit_exact(self, blocks, basis, start):
        blocks = dask.persist(*[delayed(_cluster.rows)(b) for b in blocks])
        start = _put(start)
        facts = dask.compute(*[delayed(lambda basis, X: basis.facts(_cluster.rows(X)))(basis, b) for b in blocks])
        scores = delayed(lambda model, X: model.transform(_cluster.rows(X), _cluster.exec_of()))
        first = dask.compute(*[scores(start, b) for b in blocks])
        ends = np.cumsum([0] + [len(f[0]) for f in facts])

        def apply(vectors, swift):
            pieces = [_put(np.ascontiguousarray(vectors[:, a:b].T)) for a, b in itertools.pairwise(ends)]
            block = [(i, blocks[i], pieces[i]) for i in range(len(blocks))]
            task = delayed(_cluster.pair)
            # Each state has the sums of two blocks; those of one block are put together where they are.
            pairs = {
                (i, j): task(basis, block[i], None if i == j else block[j], swift)
                for i in range(len(blocks))
                for j in range(i + 1)
            }
            total = delayed(lambda number, *states: sum(s.block(number) for s in states))
            images = [total(i, *(p for at, p in pairs.items() if i in at)) for i in range(len(blocks))]
            squares = delayed(lambda *states: sum(s.squares for s in states))(*pairs.values())
            *images, squares = dask.compute(*images, squares)
            return np.ascontiguousarray(np.vstack(images).T), float(np.sqrt(squares))

        self._fit_remote(facts, np.vstack(first), apply)
        self._fitted, self._ends = blocks, ends
        return self

    def fit_transform(self, X, y=None, **params):
        """Fit the model with X, and give its scores when they are asked for."""
        return self.fit(X).transform(X)

    def transform(self, X):
        """Scores of X, lazy; of an exact model sums over the fitted blocks, which stay on the workers."""
        if not self._is_remote:
            return _scores(self, X) if hasattr(X, "dask") else super().transform(X)
        blocks, _ = _blocks(X)
        alpha, offset = self._model.alpha(), np.asarray(self._model.offset()[0])
        parts = list(zip(self._fitted, (_put(a) for a in np.split(alpha, self._ends[1:-1])), strict=True))
        basis = _put(self._basis)
        part = delayed(lambda basis, X, Y, a: _cluster.scores_part(basis, X, Y, a))
        total = delayed(lambda offset, *parts: sum(parts) - offset)
        scores = [total(offset, *(part(basis, b, fitted, a) for fitted, a in parts)) for b in blocks]
        sizes = X.chunks[0] if isinstance(X, da.Array) else [np.nan] * len(blocks)
        k = len(offset)
        arrays = [da.from_delayed(s, shape=(n, k), dtype=np.float64) for s, n in zip(scores, sizes, strict=True)]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)

    def _local(self):
        return self
