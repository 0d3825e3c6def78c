"""PCA and kernel PCA of rows that lie on a cluster.

The estimators here fit by three operations on the rows: reduce them to one small state, keep blocks of them on the
workers, and go over all pairs of kept blocks. A cluster backend (Dask, Spark) implements :class:`Table` and
:class:`KeptBlocks`, and in its estimators ``_open`` and ``transform``.
"""

from __future__ import annotations

import copy
import itertools
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial
from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _batches, _data, _gram, _kernel_pca, _mercer, _pca, _spec
from ._base import atomic_fit
from ._exec import Exec
from ._landmarks import Method

#: Landmarks that the exact search starts from, and components of their model beyond those wanted.
START, MORE = 300, 8
#: States that are merged by one task.
FAN = 16


class Table(ABC):
    """A table whose rows lie on a cluster, in parts. ``shared`` values are sent to the workers once."""

    #: The number of columns.
    d: int

    @abstractmethod
    def reduce(self, task, *shared):
        """Returns the state of all rows.

        ``task(blocks, number, *shared)`` makes the state of part ``number`` from its blocks of rows. States are merged
        by :func:`merge` in the order of the parts, in a tree that depends on the number of parts alone.
        """

    @abstractmethod
    def keep(self, task, *shared):
        """Keeps the rows on the workers in blocks, none of them empty.

        Returns the :class:`KeptBlocks` and a list of what ``task(rows, *shared)`` gives for each.
        """


class KeptBlocks(ABC):
    """Blocks of rows that stay on the workers, in a fixed order."""

    @abstractmethod
    def pairs(self, pieces, basis, single_precision):
        """Makes a pass: calls :func:`pair` for every pair of blocks and for every block with itself.

        ``pieces`` are the rows of the vectors that belong to each block. Returns the sum over the states that have a
        block of its ``state.block(number)``, for each block, and the sum of all ``state.squares``.
        """

    @abstractmethod
    def release(self):
        """Lets the workers free the blocks."""


# Tasks: what a worker does.


def rows(block) -> np.ndarray:
    """Returns a block of rows, array or table, as C-contiguous float64."""
    _data.refuse(block)
    if hasattr(block, "to_numpy"):
        values = block.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        values = np.asarray(block)
    if values.dtype.kind == "c":
        raise TypeError("X has complex numbers: use real ones")
    if values.ndim != 2:
        raise ValueError(f"a block of rows must have two dimensions, but this one has {values.ndim}")
    return ready(values)


def ready(values) -> np.ndarray:
    """Returns contiguous and aligned float64; an array that was received over a network may be neither."""
    return np.require(values, np.float64, ["C", "A"])


def one_thread(seed=0) -> Exec:
    """Returns the options of a task, which has one thread of its worker."""
    return Exec(threads=1, seed=seed)


def pca_state(blocks, number, d, spec):
    """Returns the state of PCA of a part of the data."""
    state = _mercer.PcaState.start(d, spec)
    for block in blocks:
        state.update(rows(block), one_thread())
    return state


def survey(blocks, number, d, size, seed):
    """Returns the survey of a part of the data."""
    found = _mercer.Survey.start(d, size, number)
    for block in blocks:
        found.update(rows(block), one_thread(seed))
    return found


def landmark_state(blocks, number, basis):
    """Returns the sums of a part of the data over its kernel values with the landmarks."""
    state = basis.state()
    for block in blocks:
        state.update(basis, rows(block), one_thread())
    return state


def prepare_block(block, basis, start):
    """Returns what the exact search needs of a block: facts, and the scores to start from."""
    block = rows(block)
    return basis.facts(block), start.transform(block, one_thread())


def pair(basis, first, second, single_precision):
    """Returns the state of one pair of blocks of a pass, each a number, rows and vectors."""
    state = _mercer.PassState.start()
    blocks = [None if b is None else (b[0], rows(b[1]), ready(b[2])) for b in (first, second)]
    state.update(basis, *blocks, single_precision, one_thread())
    return state


def merge(states):
    """Returns the states merged two by two, in their order. The states themselves do not change."""
    return _batches.merged([type(s)(s.to_bytes()) for s in states])


def scores(block, worker):
    """Returns the scores of a block of rows by the estimator that :meth:`Remote._worker` made."""
    return worker._scores(rows(block)) if len(block) else np.empty((0, worker._n_features_out))


def scores_part(basis, block, fitted, alpha):
    """Returns the part of the scores of a block that comes from one block of fitted rows."""
    return basis.scores_part(rows(block), rows(fitted), ready(alpha), one_thread())


# Estimators: what the driver does.


class Remote:
    """What PCA and kernel PCA of rows on a cluster share."""

    def _open(self, X) -> Table:
        """Returns the table of ``X`` after checking it, and keeps the names of its columns."""
        raise NotImplementedError

    def fit_transform(self, X, y=None, **params):
        """Fit the model with X and return its scores, which are computed when they are needed."""
        return self.fit(X).transform(X)

    def _worker(self):
        """Returns a copy of this estimator that computes scores in a task, with one thread."""
        worker = copy.copy(self)
        worker.n_jobs, worker.progress = 1, None
        return worker


class PCA(Remote, _pca.PCA):
    """PCA in one pass over the rows."""

    @atomic_fit
    def fit(self, X, y=None):
        """Fit the model with X in one pass over its rows."""
        self._validate_params()
        table = self._open(X)
        self.n_features_in_ = table.d
        state = table.reduce(partial(pca_state, d=table.d, spec=self._stream_spec()))
        self._finish_stream(state, np.dtype(np.float64))
        return self


class KernelPCA(Remote, _kernel_pca.KernelPCA):
    """Kernel PCA, by landmarks in two passes over the rows, or exact by passes over pairs of blocks."""

    @atomic_fit
    def fit(self, X, y=None):
        """Fit the model with X, by landmarks or exactly."""
        self._validate_params()
        table = self._open(X)
        self._dtype, self.n_features_in_ = np.dtype(np.float64), table.d
        source, method = self._checked_source(table.d), self._method
        spec = self._basis_spec(source, method)
        size, seed = _mercer.LandmarkBasis.sample_size(spec), self._options(draw=True).seed
        found = table.reduce(partial(survey, d=table.d, size=size, seed=seed))
        if method is Method.BY_SIZE:
            wanted = self._landmark_spec(table.d, self._wanted(found.n))
            plan = _mercer.plan(wanted, "remote", found.n, table.d, self._options())
            method = Method.LANDMARKS if plan.uses_landmarks else Method.EXACT
        self._basis = _mercer.LandmarkBasis.choose(spec, found, self._options(draw=True))
        sums = table.reduce(landmark_state, self._basis)
        previous = getattr(self, "_kept_blocks", None)
        if method is Method.EXACT:
            self._search(table, sums)
        else:
            self._forget()
            self._sums, self._started = sums, spec
            spec = self._landmark_spec(table.d, self._wanted(sums.n))
            self._keep_landmarks(self._basis.finish(sums, spec, self._options()))
        if previous is not None:
            previous.release()
        return self

    def _checked_source(self, d):
        """Returns the kernel, after refusing what a cluster cannot do."""
        if self.fit_inverse_transform:
            raise ValueError("fit_inverse_transform=True is not supported for data on a cluster: set it to False")
        source = self._source(d)
        if source.text is None:
            raise ValueError(f"a cluster needs a kernel of mercer.kernels, but kernel={self.kernel!r} is not one")
        if self._method is Method.EXACT and not source.parsed.is_psd:
            raise ValueError(
                f"kernel={self.kernel!r} is not positive semi-definite, and exact components on a cluster need a "
                "kernel that is: set landmarks, or use another kernel"
            )
        return source

    def _basis_spec(self, source, method):
        """Returns the record that landmarks are chosen by. The exact search starts from a model by landmarks, too."""
        if method is Method.EXACT:
            return _spec.kernel_pca(source.text, approx={"landmarks": {"k_means": START}})
        return self._landmark_spec(self.n_features_in_)

    def _search(self, table, sums):
        """Finds the exact components by passes over pairs of blocks."""
        few = int(self.n_components) if isinstance(self.n_components, Integral) else 16
        start = self._basis.finish(sums, _spec.kernel_pca(self._basis.kernel, few + MORE), self._options())
        kept, found = table.keep(prepare_block, self._basis, start)
        facts, first = zip(*found, strict=True)
        ends = np.cumsum([0] + [len(f) for f in facts])

        def apply(vectors, single_precision):
            pieces = [np.ascontiguousarray(vectors[:, a:b].T) for a, b in itertools.pairwise(ends)]
            images, squares = kept.pairs(pieces, self._basis, single_precision)
            return np.ascontiguousarray(np.vstack(images).T), float(np.sqrt(squares))

        # Tasks that run in this process need a thread of their own besides the one that waits for them.
        options = self._options()
        options = replace(options, threads=max(2, options.threads))
        spec = _spec.kernel_pca(self._basis.kernel, self._wanted(int(ends[-1])), tol=self._tolerance())
        try:
            plan = _mercer.plan(spec, "remote", int(ends[-1]), table.d, options)
            model = _mercer.fit_remote(spec, plan, self._basis, list(facts), ready(np.vstack(first)), apply, options)
        except BaseException:
            kept.release()
            raise
        self._forget()
        self.__dict__.pop("landmarks_", None)
        self._take(model, len(model.eigenvalues))
        self.n_samples_seen_, self.kernel_ = model.n, self._basis.kernel
        self._kernel_source = _gram.Table(self.kernel_)
        self.gamma_ = _gram.gamma_of(self._kernel_source, self.gamma, self.n_features_in_)
        self._kept_blocks, self._ends = kept, ends

    def _forget(self):
        """Drops what belongs to one kind of model, before another is fitted."""
        for attribute in ("_kept_blocks", "_ends", "_sums"):
            self.__dict__.pop(attribute, None)

    @property
    def _is_remote(self):
        """Whether the fitted rows are part of the model and stay on the cluster."""
        return not hasattr(self, "landmarks_")

    def _alpha_of_blocks(self):
        """Returns the coefficients of the rows of each kept block, and the offset of the scores."""
        return np.split(self._model.alpha(), self._ends[1:-1]), np.asarray(self._model.offset()[0])

    def _worker(self):
        worker = super()._worker()
        worker._forget()
        worker.__dict__.pop("_basis", None)
        return worker

    def _saved_model(self):
        self._refuse_remote("saved")
        return super()._saved_model()

    def to_onnx(self, path=None):
        """Write the transformation of a model by landmarks as an ONNX graph.

        Parameters and result are those of :meth:`mercer.KernelPCA.to_onnx`. An exact model is refused: its rows stay on
        the cluster.
        """
        self._refuse_remote("written as a graph")
        return super().to_onnx(path)

    def to_sklearn(self):
        """Raise an error: scikit-learn has no landmarks, and the rows of an exact model stay on the cluster."""
        self._refuse_remote("converted to scikit-learn")
        return super().to_sklearn()

    def _refuse_remote(self, what):
        check_is_fitted(self)
        if self._is_remote:
            raise ValueError(
                f"an exact model of data on a cluster cannot be {what}, since the fitted rows stay on the cluster: set "
                "landmarks"
            )
