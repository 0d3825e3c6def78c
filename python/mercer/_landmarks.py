"""Kernel PCA by Nystroem landmarks, of data in memory or in batches."""

from __future__ import annotations

import functools
import hashlib
from enum import Enum, auto
from numbers import Integral

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_array
from sklearn.utils.metaestimators import available_if

from . import _batches, _data, _gram, _mercer
from ._base import atomic_fit, warn
from ._certificate import Certificate


class Method(Enum):
    """How kernel PCA is computed."""

    EXACT = auto()
    LANDMARKS = auto()
    #: By landmarks if exact components would take too much memory or time.
    BY_SIZE = auto()


class ByLandmarks:
    """The part of :class:`mercer.KernelPCA` that uses landmarks."""

    @property
    def _method(self):
        if self.trace_error is not None:
            return Method.LANDMARKS
        if isinstance(self.landmarks, str):  # "auto", which a tolerance makes exact
            return Method.EXACT if self.tol else Method.BY_SIZE
        return Method.EXACT if self.landmarks is None else Method.LANDMARKS

    def _approximate(self, source):
        """Returns how landmarks are chosen, how many, which, and the trace error, for the extension module."""
        if self.trace_error is None and self.landmarks is None:
            return ("none", None, None, None)
        if source.text is None:
            raise ValueError(f"landmarks need a kernel of mercer.kernels, but kernel={self.kernel!r} is not one")
        if self.trace_error is not None:
            if self.landmarks is not None:
                raise ValueError("give landmarks or trace_error, not both")
            return ("trace", None, None, float(self.trace_error))
        if isinstance(self.landmarks, str):
            return ("auto" if self._method is Method.BY_SIZE else "none", None, None, None)
        if isinstance(self.landmarks, Integral):
            return (self.landmark_selection, int(self.landmarks), None, None)
        return ("given", None, check_array(self.landmarks, dtype=np.float64, order="C", input_name="landmarks"), None)

    @available_if(lambda self: self.landmarks is not None or self.trace_error is not None)
    @_fit_context(prefer_skip_nested_validation=True)
    @atomic_fit
    def partial_fit(self, X, y=None):
        """Update the model with a batch, by landmarks.

        Landmarks and automatic kernel parameters are chosen from the first batch, which should be representative. Later
        batches may have any size and any order; the model is the same, up to rounding.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A batch.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The updated estimator. An update that fails leaves it unchanged.
        """
        if self.fit_inverse_transform:
            raise ValueError("fit_inverse_transform=True is not supported for batches: set it to False")
        first = not hasattr(self, "_sums")
        started = getattr(self, "_started", None) or self._recipe()
        if not first and started != self._recipe():
            changed = [name for name, value in self._recipe().items() if started[name] != value]
            raise ValueError(f"{', '.join(changed)} changed since the first batch: call fit to start again")
        if first and hasattr(self, "_model"):
            warn("partial_fit starts again: a model that was fitted at once or read from a file cannot be updated")
        return self._take_batches(iter([_data.checked(self, X, reset=first, least=2 if first else 1)]), fresh=first)

    def _take_batches(self, batches, *, fresh):
        """Updates the sums with batches, and makes the model of all batches so far."""
        options = self._options(draw=fresh)
        if fresh:
            first, batches = _batches.head(batches, self._first_rows())
            self._start(first, options)
        sums = _mercer.LandmarkState.from_bytes(self._sums.to_bytes())
        for batch in batches:
            self._compute(batch, functools.partial(sums.update, self._basis, batch))
        self._sums = sums
        self._keep_landmarks(self._basis.finish(sums, self._wanted(sums.n), options))
        return self

    def _recipe(self):
        """Returns hashes of the parameters that must not change from batch to batch."""
        names = ("kernel", "gamma", "degree", "coef0", "landmarks", "landmark_selection", "trace_error")
        values = {name: getattr(self, name) for name in names}
        # repr() of a large array leaves most values out.
        values = {k: np.asarray(v).tolist() if hasattr(v, "__array__") else v for k, v in values.items()}
        return {k: hashlib.sha256(repr(v).encode()).hexdigest() for k, v in values.items()}

    def _first_rows(self):
        """Returns how many rows landmarks are chosen from."""
        return _mercer.LandmarkBasis.sample_size(self._approximate(self._source(1)))

    def _start(self, first, options):
        """Chooses the landmarks from the first batches."""
        if not first:
            raise ValueError("X has no batches, or none with rows")
        first = np.concatenate(first)
        source = self._source(first.shape[1])
        how = self._approximate(source)
        if self._method is Method.EXACT:
            raise ValueError(
                "kernel PCA of data that comes in batches needs landmarks: set landmarks to a number or to points"
            )
        self._dtype = first.dtype
        survey = _mercer.Survey(first.shape[1], _mercer.LandmarkBasis.sample_size(how), 0)
        self._compute(first, lambda options: survey.update(first, options))
        self._basis = _mercer.LandmarkBasis(source.text, survey, False, how, options)
        self._sums, self._started = self._basis.state(), self._recipe()
        if isinstance(self.landmarks, Integral) and self._basis.landmarks < self.landmarks:
            found = self._basis.landmarks
            warn(f"the first rows give only {found} landmarks, not {self.landmarks}: start with more rows")

    def _keep_landmarks(self, model):
        """Sets the attributes from a model by landmarks."""
        for attribute in ("X_fit_", "eigenvectors_", "dual_coef_", "X_transformed_fit_", "_inverse_mean", "_centerer"):
            self.__dict__.pop(attribute, None)
        self._model, self._kept = model, len(model.eigenvalues)
        self.eigenvalues_ = self._cast(model.eigenvalues)
        spectrum = model.spectrum
        self.explained_variance_ = self._cast(spectrum.variances)
        self.explained_variance_ratio_ = self._cast(spectrum.ratios)
        self.certificate_ = Certificate.of(model)
        self.landmarks_, self.n_samples_seen_ = self._cast(model.points(False)), model.n
        self._kernel_source = _gram.Table(model.kernel)
        self.kernel_ = model.kernel
        self.gamma_ = _gram.gamma_of(self._kernel_source, self.gamma, self.landmarks_.shape[1])
        reached = self.certificate_.trace_share
        if self.trace_error is not None and reached > self.trace_error:
            warn(
                f"{len(self.landmarks_)} landmarks leave {reached:.2g} of the variance, more than trace_error="
                f"{self.trace_error:g}: start with more rows, or raise trace_error if there are 4,000 landmarks"
            )
