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
from sklearn.utils.validation import check_is_fitted

from . import _cluster, _data, _mercer
from ._base import whole

__all__ = ["PCA", "KernelPCA"]


def _blocks(X):
    """Blocks of whole rows, and how many columns they have."""
    if not all(hasattr(X, name) for name in ("dask", "_meta", "ndim", "to_delayed")):
        raise TypeError(f"X is {type(X).__name__}, not a Dask array or data frame: mercer.PCA takes what is in memory")
    if X.ndim != 2:
        raise ValueError(f"a table has two dimensions, and X has {X.ndim}")
    if isinstance(X, da.Array):
        if X.dtype.kind not in "biufO":
            raise TypeError(f"X has type {X.dtype}, which is not a number")
        return list(_whole_rows(X).to_delayed(optimize_graph=False).ravel()), X.shape[1]
    for name, kind in X.dtypes.items():
        if getattr(kind, "kind", "O") not in "biuf":
            raise TypeError(f"column '{name}' has type {kind}, which is not a number: leave it out")
    return X.to_delayed(optimize_graph=False), len(X.columns)


def _whole_rows(X):
    """An array in blocks of whole rows."""
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _names(estimator, X, reset):
    """The names of the columns of a frame, kept or compared; an array has none."""
    if isinstance(X, da.Array) or not all(isinstance(name, str) for name in X.columns):
        if reset:
            estimator.__dict__.pop("feature_names_in_", None)
    else:
        _data.check_names(estimator, list(X.columns), reset)


def _tree(states):
    """One state of many: the same tree for the same number."""
    merge = delayed(_cluster.merge)
    while len(states) > 1:
        states = [merge(states[i : i + _cluster.FAN]) for i in range(0, len(states), _cluster.FAN)]
    return states[0]


def _put(value):
    """A value that tasks share: a part of the graph, which outlives workers; what is scattered does not."""
    return delayed(value, pure=False, traverse=False)


def _block(rows, worker):
    """Scores of a block of an array."""
    return worker._scores(_cluster.rows(rows)) if len(rows) else np.empty((0, worker._n_features_out))


def _frame(block, worker):
    """Scores of a block of a frame."""
    return _indexed(_block(block, worker), block, worker.get_feature_names_out())


def _indexed(scores, block, names):
    import pandas as pd

    return pd.DataFrame(scores, index=block.index, columns=names)


def _checked(estimator, X):
    """Refuses what was not fitted, before anything is computed."""
    check_is_fitted(estimator)
    blocks, d = _blocks(X)
    _names(estimator, X, reset=False)
    if d != estimator.n_features_in_:
        name = type(estimator).__name__
        raise ValueError(f"X has {d} features, but {name} is expecting {estimator.n_features_in_} features as input.")
    return blocks


def _scores(estimator, X):
    """Scores, block by block and when they are asked for: an array of an array, a frame of a frame."""
    _checked(estimator, X)
    worker = estimator._worker()
    if isinstance(X, da.Array):
        X, width = _whole_rows(X), estimator._n_features_out
        meta = np.empty((0, width))
        return X.map_blocks(_block, worker, dtype=np.float64, chunks=(X.chunks[0], (width,)), meta=meta)
    return X.map_partitions(_frame, worker, meta=_frame(X._meta, worker))


class PCA(_cluster.PCA, auto_wrap_output_keys=None):
    """:class:`mercer.PCA` of a Dask array or data frame, in one look at its blocks."""

    @whole
    def fit(self, X, y=None):
        """Fit the model with X, a Dask array or data frame."""
        self._validate_params()
        blocks, d = _blocks(X)
        _names(self, X, reset=True)
        part = delayed(_cluster.pca_state)
        return self._keep_state(_tree([part([b], d, self._stream_route()) for b in blocks]).compute())

    def fit_transform(self, X, y=None):
        """Fit the model with X, and give its scores when they are asked for."""
        return self.fit(X).transform(X)

    def transform(self, X):
        """Scores of X: lazy for a Dask array or data frame, at once for what is in memory."""
        return _scores(self, X) if hasattr(X, "dask") else super().transform(X)


class KernelPCA(_cluster.KernelPCA, auto_wrap_output_keys=None):
    """:class:`mercer.KernelPCA` of a Dask array or data frame.

    With ``landmarks`` in two looks at its blocks; without, exact and certified, by passes over pairs of blocks, which
    are kept on the workers meanwhile. In place of ``eigenvectors_`` of the fitted rows alone, scores of X are had by
    ``transform``.
    """

    @whole
    def fit(self, X, y=None):
        """Fit the model with X, a Dask array or data frame."""
        blocks, d = _blocks(X)
        _names(self, X, reset=True)
        text, how, exact = self._how(d)
        size, seed = self._survey_size(how), self._seed()
        survey = delayed(_cluster.survey)
        survey = _tree([survey([b], d, i, size, seed) for i, b in enumerate(blocks)]).compute()
        exact = self._is_exact(exact, text, survey.n, d)
        self._basis = _mercer.LandmarkBasis(text, survey, False, how, self._options(draw=True))
        part, basis = delayed(_cluster.landmark_state), _put(self._basis)
        sums = _tree([part([b], basis) for b in blocks]).compute()
        return self._fit_exact(blocks, self._start_model(sums)) if exact else self._take_landmarks(sums)

    def _fit_exact(self, blocks, start):
        self._forget()
        blocks = dask.persist(*[delayed(_cluster.rows)(b) for b in blocks])
        fact = delayed(lambda basis, X: basis.facts(_cluster.rows(X)))
        score = delayed(lambda model, X: model.transform(_cluster.rows(X), _cluster.exec_of()))

        basis, model = _put(self._basis), _put(start)
        facts, first = dask.compute([fact(basis, b) for b in blocks], [score(model, b) for b in blocks])
        # A filter leaves blocks without rows.
        blocks, facts, first = zip(*[z for z in zip(blocks, facts, first, strict=True) if len(z[1][0])], strict=True)
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
        check_is_fitted(self)
        if not self._is_remote:
            return _scores(self, X) if hasattr(X, "dask") else super().transform(X)
        blocks = _checked(self, X)
        alpha, offset = self._model.alpha(), np.asarray(self._model.offset()[0])
        held = [_put(a) for a in np.split(alpha, self._ends[1:-1])]
        parts = list(zip(self._fitted, held, strict=True))
        basis = _put(self._basis)
        part = delayed(lambda basis, X, Y, a: _cluster.scores_part(basis, X, Y, a))
        total = delayed(lambda offset, *parts: sum(parts) - offset)
        scores = [total(offset, *(part(basis, b, fitted, a) for fitted, a in parts)) for b in blocks]
        k = len(offset)
        if isinstance(X, da.Array):
            arrays = [da.from_delayed(s, (n, k), np.float64) for s, n in zip(scores, X.chunks[0], strict=True)]
            return da.concatenate(arrays, allow_unknown_chunksizes=True)
        import dask.dataframe as dd

        names = self.get_feature_names_out()
        frames = [delayed(_indexed)(s, b, names) for s, b in zip(scores, blocks, strict=True)]
        return dd.from_delayed(frames, meta=_indexed(np.empty((0, k)), X._meta, names), divisions=X.divisions)
