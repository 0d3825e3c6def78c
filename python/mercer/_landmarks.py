"""Kernel PCA by landmarks, of data that is there or comes in batches."""

from __future__ import annotations

import functools
import hashlib
from numbers import Integral

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_array
from sklearn.utils.metaestimators import available_if

from . import _batches, _data, _gram, _mercer
from ._base import warn, whole
from ._certificate import Certificate


class ByLandmarks:
    """What :class:`mercer.KernelPCA` does where landmarks stand for all points."""

    def _approximate(self, source):
        """How landmarks are chosen, how many, which, and the trace error; for the extension module."""
        if self.trace_error is None and self.landmarks is None:
            return ("none", None, None, None)
        if source.text is None:
            raise ValueError(
                f"landmarks need a kernel of mercer.kernels, which knows its formula; kernel={self.kernel!r} is another"
            )
        if self.trace_error is not None:
            if self.landmarks is not None:
                raise ValueError("give landmarks or trace_error, not both")
            return ("trace", None, None, float(self.trace_error))
        if isinstance(self.landmarks, str):  # "auto"; whoever states a tolerance wants exact components
            return ("none" if self.tol else "auto", None, None, None)
        if isinstance(self.landmarks, Integral):
            return (self.landmark_selection, int(self.landmarks), None, None)
        return ("given", None, check_array(self.landmarks, dtype=np.float64, order="C", input_name="landmarks"), None)

    @available_if(lambda self: self.landmarks is not None or self.trace_error is not None)
    @_fit_context(prefer_skip_nested_validation=True)
    @whole
    def partial_fit(self, X, y=None):
        """Update the model with a batch, by landmarks.

        The first batch chooses the landmarks and the numbers of the kernel, so that it should be like the others; from
        then on, batches of any size in any order give the same model, up to rounding.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A batch.
        y : Ignored
            Ignored.

        Returns
        -------
        self : object
            The updated estimator. An update that fails leaves it as it was.
        """
        if self.fit_inverse_transform:
            raise ValueError("there is no inverse transform for data that comes in batches")
        first = not hasattr(self, "_sums")
        started = getattr(self, "_started", None) or self._recipe()
        if not first and started != self._recipe():
            changed = [name for name, value in self._recipe().items() if started[name] != value]
            raise ValueError(f"{', '.join(changed)} changed since the first batch: call fit to begin anew")
        if first and hasattr(self, "_model"):
            warn(
                "a model that was fitted at once, or comes from a file, has no sums to add to: partial_fit begins anew"
            )
        return self._take_batches(iter([_data.checked(self, X, reset=first, least=2 if first else 1)]), fresh=first)

    def _take_batches(self, batches, *, fresh):
        """Goes through batches, and makes a model of all that were ever seen."""
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
        """What landmarks depend on; it stays the same from batch to batch."""
        names = ("kernel", "gamma", "degree", "coef0", "landmarks", "landmark_selection", "trace_error")
        values = {name: getattr(self, name) for name in names}
        # What numpy writes of a large array leaves most of it out.
        values = {k: np.asarray(v).tolist() if hasattr(v, "__array__") else v for k, v in values.items()}
        return {k: hashlib.sha256(repr(v).encode()).hexdigest() for k, v in values.items()}

    def _first_rows(self):
        """Rows that landmarks are chosen from."""
        return _mercer.LandmarkBasis.sample_size(self._approximate(self._source(1)))

    def _start(self, first, options):
        """Chooses landmarks from the first batches."""
        if not first:
            raise ValueError("there are no batches, or none with rows")
        first = np.concatenate(first)
        source = self._source(first.shape[1])
        how = self._approximate(source)
        if how[0] == "none":
            raise ValueError(
                "kernel PCA of data that comes in batches needs landmarks: set landmarks= to a number of them, or to "
                "points"
            )
        self._dtype = first.dtype
        survey = _mercer.Survey(first.shape[1], _mercer.LandmarkBasis.sample_size(how), 0)
        self._compute(first, lambda options: survey.update(first, options))
        self._basis = _mercer.LandmarkBasis(source.text, survey, False, how, options)
        self._sums, self._started = self._basis.state(), self._recipe()
        if isinstance(self.landmarks, Integral) and self._basis.landmarks < self.landmarks:
            found = self._basis.landmarks
            warn(f"the first rows give {found} landmarks of {self.landmarks}: begin with more rows")

    def _keep_landmarks(self, model):
        """Takes the attributes of a model of landmarks."""
        for attribute in ("X_fit_", "eigenvectors_", "dual_coef_", "X_transformed_fit_", "_inverse_mean", "_centerer"):
            self.__dict__.pop(attribute, None)
        self._model, self._kept = model, len(model.eigenvalues)
        self.eigenvalues_ = self._cast(model.eigenvalues)
        variances, ratios = model.variances()
        self.explained_variance_, self.explained_variance_ratio_ = self._cast(variances), self._cast(ratios)
        self.certificate_ = Certificate.of(model)
        self.landmarks_, self.n_samples_seen_ = self._cast(model.points(False)), model.n
        self._kernel_source = _gram.Table(model.kernel)
        self.kernel_ = model.kernel
        self.gamma_ = _gram.gamma_of(self._kernel_source, self.gamma, self.landmarks_.shape[1])
        reached = self.certificate_.trace_share
        if self.trace_error is not None and reached > self.trace_error:
            warn(
                f"{len(self.landmarks_)} landmarks leave {reached:.2g} of the variance, where trace_error="
                f"{self.trace_error:g} was asked for: they were chosen from too few rows, or 4,000 are not enough"
            )
