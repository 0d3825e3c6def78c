"""Kernel PCA by Nystroem landmarks, of data in memory or in batches."""

from __future__ import annotations

import functools
import json
from enum import Enum, auto
from numbers import Integral

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_array
from sklearn.utils.metaestimators import available_if

from . import _batches, _data, _gram, _mercer, _spec
from ._base import atomic_fit, warn
from .exceptions import LandmarkWarning

#: The library's names of the ways to choose landmarks.
SELECTIONS = {"kmeans": "k_means", "uniform": "uniform", "rpcholesky": "rp_cholesky"}


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
        """Returns whether landmarks are used, and which, as part of the record of what is fitted."""
        if self.trace_error is None and self.landmarks is None:
            return "none"
        if source.text is None:
            raise ValueError(f"landmarks need a kernel of mercer.kernels, but kernel={self.kernel!r} is not one")
        if self.trace_error is not None:
            if self.landmarks is not None:
                raise ValueError("give landmarks or trace_error, not both")
            return {"landmarks": {"trace_error": float(self.trace_error)}}
        if isinstance(self.landmarks, str):
            return "auto" if self._method is Method.BY_SIZE else "none"
        if isinstance(self.landmarks, Integral):
            return {"landmarks": {SELECTIONS[self.landmark_selection]: int(self.landmarks)}}
        given = check_array(self.landmarks, dtype=np.float64, input_name="landmarks")
        return {"landmarks": {"given": given.tolist()}}

    def _landmark_spec(self, n_features, n_components=None):
        """Returns the record of kernel PCA by landmarks, of all components unless a number or share is given."""
        source = self._source(n_features)
        return _spec.kernel_pca(source.text, n_components, approx=self._approximate(source))

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
        if not first and (changed := self._changed()):
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
        sums = _mercer.LandmarkState(self._sums.to_bytes())
        for batch in batches:
            self._compute(batch, functools.partial(sums.update, self._basis, batch))
        self._sums = sums
        spec = self._landmark_spec(self._basis.d, self._wanted(sums.n))
        self._keep_landmarks(self._basis.finish(sums, spec, options))
        return self

    def _changed(self):
        """Returns the parameters that changed the record since landmarks were chosen by it."""
        spec = self._landmark_spec(self._basis.d)
        if spec == self._started:
            return []
        before, now = json.loads(self._started), json.loads(spec)
        names = []
        if before["kernel"] != now["kernel"]:
            names += _gram.changed(self.kernel, before["kernel"], now["kernel"])
        if before["approx"] != now["approx"]:
            (way, value), (new_way, new_value) = (_landmarks_of(record["approx"]) for record in (before, now))
            if {way, new_way} <= set(SELECTIONS.values()):
                names += ["landmarks"] * (value != new_value) + ["landmark_selection"] * (way != new_way)
            else:
                # A tolerance makes landmarks="auto" exact.
                odd = {"none": "tol", "trace_error": "trace_error"}
                names.append(odd.get(way) or odd.get(new_way) or "landmarks")
        return names

    def _first_rows(self):
        """Returns how many rows landmarks are chosen from."""
        return _mercer.LandmarkBasis.sample_size(self._landmark_spec(1))

    def _start(self, first, options):
        """Chooses the landmarks from the first batches."""
        if not first:
            raise ValueError("X has no batches, or none with rows")
        first = np.concatenate(first)
        spec = self._landmark_spec(first.shape[1])
        if self._method is Method.EXACT:
            raise ValueError(
                "kernel PCA of data that comes in batches needs landmarks: set landmarks to a number or to points"
            )
        self._dtype = first.dtype
        survey = _mercer.Survey.start(first.shape[1], _mercer.LandmarkBasis.sample_size(spec), 0)
        self._compute(first, lambda options: survey.update(first, options))
        self._basis = _mercer.LandmarkBasis.choose(spec, survey, options)
        self._sums, self._started = self._basis.state(), spec
        if isinstance(self.landmarks, Integral) and self._basis.landmarks < self.landmarks:
            text = "the first rows give fewer landmarks than requested: start with more rows"
            found, wanted = self._basis.landmarks, int(self.landmarks)
            warn(LandmarkWarning(text, landmarks=found, requested=wanted, trace_share=None, trace_error=None))

    def _keep_landmarks(self, model):
        """Sets the attributes from a model by landmarks."""
        for attribute in ("X_fit_", "eigenvectors_", "dual_coef_", "X_transformed_fit_", "_inverse_mean", "_centerer"):
            self.__dict__.pop(attribute, None)
        self._model, self._kept = model, len(model.eigenvalues)
        self.eigenvalues_ = self._cast(model.eigenvalues)
        spectrum = model.spectrum
        self.explained_variance_ = self._cast(spectrum.variances)
        self.explained_variance_ratio_ = self._cast(spectrum.ratios)
        self._certify()
        self.landmarks_, self.n_samples_seen_ = self._cast(model.points(False)), model.n
        self._kernel_source = _gram.Table(model.kernel)
        self.kernel_ = model.kernel
        self.gamma_ = _gram.gamma_of(self._kernel_source, self.gamma, self.landmarks_.shape[1])
        reached = self.certificate_.trace_share
        if self.trace_error is not None and reached > self.trace_error:
            text = (
                "the landmarks leave out more of the variance than trace_error allows: start with more rows, or raise "
                "trace_error if there are 4,000 landmarks"
            )
            found, allowed = len(self.landmarks_), float(self.trace_error)
            warn(LandmarkWarning(text, landmarks=found, requested=None, trace_share=reached, trace_error=allowed))


def _landmarks_of(approx):
    """Returns how landmarks are chosen, and how many, which, or up to which error."""
    return (approx, None) if isinstance(approx, str) else next(iter(approx["landmarks"].items()))
