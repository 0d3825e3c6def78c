"""What the adapters of clusters share: what a task does with a block of rows, and what the driver makes of it."""

from __future__ import annotations

import copy
from dataclasses import replace
from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _batches, _data, _gram, _kernel_pca, _mercer, _pca
from ._exec import Exec

#: Landmarks that the exact search starts from, and components of their model beyond those wanted.
START, MORE = 300, 8
#: States that are put together by one task.
FAN = 16


def rows(block) -> np.ndarray:
    """A block of rows, array or table, as rows of float64 that lie one after the other."""
    _data.refuse(block)
    if hasattr(block, "to_numpy"):
        values = block.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        values = np.asarray(block)
    if values.dtype.kind == "c":
        raise TypeError("complex numbers have no order and no components here")
    if values.ndim != 2:
        raise ValueError(f"a block of rows has two dimensions, and this one has {values.ndim}")
    return ready(values)


def ready(values) -> np.ndarray:
    """Numbers that lie one after the other, and where numbers may lie: what came over a wire need not."""
    return np.require(values, np.float64, ["C", "A"])


def exec_of(seed=0) -> Exec:
    """A task has the one thread that its worker gives it."""
    return Exec(threads=1, seed=seed)


def pca_state(blocks, d, route):
    """What PCA has to know of blocks."""
    state = _mercer.PcaState(d, route)
    for block in blocks:
        state.update(rows(block), exec_of())
    return state


def survey(blocks, d, number, size, seed):
    """The survey of part ``number`` of the data."""
    found = _mercer.Survey(d, size, number)
    for block in blocks:
        found.update(rows(block), exec_of(seed))
    return found


def landmark_state(blocks, basis):
    """What landmarks know of blocks."""
    state = basis.state()
    for block in blocks:
        state.update(basis, rows(block), exec_of())
    return state


def pair(basis, first, second, swift):
    """One pair of blocks of a pass, each a number, rows and vectors."""
    state = _mercer.PassState()
    blocks = [None if b is None else (b[0], rows(b[1]), ready(b[2])) for b in (first, second)]
    state.update(basis, *blocks, swift, exec_of())
    return state


def scores_part(basis, block, fitted, alpha):
    """The part of the scores of a block that comes from a block of fitted rows."""
    return basis.scores_part(rows(block), rows(fitted), ready(alpha), exec_of())


def merge(states):
    """States put together two by two, in their order; they themselves stay as they are."""
    return _batches.merged([type(s).from_bytes(s.to_bytes()) for s in states])


class PCA(_pca.PCA):
    """PCA of data that lies elsewhere: its moments come back, and nothing else."""

    def _keep_state(self, state):
        self.n_features_in_ = state.d
        self._finish_stream(state, np.dtype(np.float64))
        return self

    def _worker(self):
        """What scores rows in a task: this model, with the one thread that there is."""
        worker = copy.copy(self)
        worker.n_jobs, worker.progress = 1, None
        return worker


class KernelPCA(_kernel_pca.KernelPCA):
    """Kernel PCA of data that lies elsewhere: by landmarks in two looks, or exactly, by passes over pairs of blocks."""

    def _how(self, d):
        """The kernel as text, how landmarks are chosen, and whether to be exact; None is for the size to say."""
        self._validate_params()
        if self.fit_inverse_transform:
            raise ValueError("there is no inverse transform for data that lies elsewhere")
        self._dtype, self.n_features_in_ = np.dtype(np.float64), d
        source = self._source(d)
        if source.text is None:
            raise ValueError(f"a cluster needs a kernel of mercer.kernels; kernel={self.kernel!r} is another")
        how = self._approximate(source)
        exact = {"none": True, "auto": None}.get(how[0], False)
        if exact and not _mercer.parse_kernel(source.text)[1]:
            raise ValueError(
                f"kernel={self.kernel!r} may have negative eigenvalues, and exact components of a cluster's data need "
                "a positive semi-definite one"
            )
        return source.text, ("kmeans", START, None, None) if exact else how, exact

    def _is_exact(self, exact, text, n, d):
        if exact is None:
            wanted, options = self._wanted(n), self._options()
            plan = _mercer.plan_kernel(text, n, d, wanted, None, False, ("auto", None, None, None), options)
            return plan[0] != "landmarks"
        return exact

    def _survey_size(self, how):
        return _mercer.LandmarkBasis.sample_size(how)

    def _seed(self):
        return self._options(draw=True).seed

    def _start_model(self, sums):
        """The landmarks' model that the exact search starts from."""
        wanted = int(self.n_components) if isinstance(self.n_components, Integral) else 16
        return self._basis.finish(sums, wanted + MORE, self._options())

    def _fit_remote(self, facts, start, apply):
        """The exact search; ``apply(vectors, swift)`` makes a pass."""
        facts = [(ready(diagonal), square, reach) for diagonal, square, reach in facts]
        n = sum(len(f[0]) for f in facts)
        # Tasks that run in this process have a thread of their own: the search that waits for them must not hold it.
        options = self._options()
        options = replace(options, threads=max(2, options.threads))
        how = (self._wanted(n), self._tolerance(), options)
        model = _mercer.fit_remote(self._basis, facts, ready(start), apply, *how)
        self.__dict__.pop("landmarks_", None)
        kept = len(model.eigenvalues)
        self._take(model, kept, kept)
        self.n_samples_seen_, self.kernel_ = model.n, self._basis.kernel
        self._kernel_source = _gram.Table(self.kernel_)
        self.gamma_ = _gram.gamma_of(self._kernel_source, self.gamma, self.n_features_in_)
        return self

    def _forget(self):
        """Lets go of rows that are kept for an exact model, when another takes its place."""
        for attribute in ("_fitted", "_ends", "_order", "_sums"):
            self.__dict__.pop(attribute, None)

    def _take_landmarks(self, sums):
        self._forget()
        self._sums, self._started = sums, self._recipe()
        self._keep_landmarks(self._basis.finish(sums, self._wanted(sums.n), self._options()))
        return self

    @property
    def _is_remote(self):
        return not hasattr(self, "landmarks_")

    def _worker(self):
        """What scores rows in a task: this model of landmarks, with the one thread that there is."""
        worker = copy.copy(self)
        worker._forget()
        worker.__dict__.pop("_basis", None)
        worker.n_jobs, worker.progress = 1, None
        return worker

    def _saved_model(self):
        self._refuse_remote("saved")
        return super()._saved_model()

    def to_onnx(self, path=None):
        """As that of :class:`mercer.KernelPCA`, of a model of landmarks."""
        self._refuse_remote("written as a graph")
        return super().to_onnx(path)

    def to_sklearn(self):
        """Refused: scikit-learn's has no landmarks, and the rows of an exact model stay where they are."""
        self._refuse_remote("one of scikit-learn's")
        return super().to_sklearn()

    def _refuse_remote(self, what):
        check_is_fitted(self)
        if self._is_remote:
            raise ValueError(
                f"an exact model of a cluster's data has all fitted rows, which stay there, and cannot be {what}: use "
                "landmarks"
            )
