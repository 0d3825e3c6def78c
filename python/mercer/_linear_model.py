"""The base class of linear models."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from . import _data, _mercer
from ._base import Estimator
from ._certificate import Certificate
from ._verification import Verifiable


class LinearModel(Verifiable, Estimator):
    """The base class of linear models: axes, a mean, and the Gaussian model of probabilistic PCA."""

    def _keep(self, model, dtype, width=0):
        """Sets the attributes from a model of the extension module, completed to ``width`` components."""
        self._model, self._dtype = model, dtype
        location, spectrum = model.location, model.spectrum
        more = max(0, width - len(spectrum.variances))
        self.mean_ = self._cast(location.mean)
        self._scale = location.scale
        self.components_ = self._cast(_mercer.complete_axes(model.axes(), width))
        self.explained_variance_ = self._cast(np.append(spectrum.variances, np.zeros(more)))
        self.explained_variance_ratio_ = self._cast(np.append(spectrum.ratios, np.zeros(more)))
        self.singular_values_ = self._cast(np.sqrt(np.append(model.eigenvalues, np.zeros(more))))

    def _certify(self):
        """Sets the certificate of the components as they are shown."""
        values = np.asarray(self.singular_values_, dtype=np.float64) ** 2
        self.certificate_ = Certificate.of(self._model, values, self._dtype)

    def _deviations(self, variances):
        """Returns what whitened scores are divided by; components without variance get scores of 0."""
        deviations = np.sqrt(variances)
        return np.where(np.arange(len(deviations)) < self._model.spectrum.rank, deviations, np.inf)

    def transform(self, X):
        """Apply dimensionality reduction to X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New data.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Scores: ``((X - mean_) / scale_) @ components_.T``. The mean is subtracted first, which keeps the accuracy
            of data far from the origin.
        """
        check_is_fitted(self)
        X = _data.checked(self, X, reset=False, sparse=("csr", "csc"))
        return self._scores(X)

    def _scores(self, X):
        if sp.issparse(X):
            scores = self._compute(X, lambda options: self._model.transform_sparse(_data.compressed(X), options))
        else:
            scores = self._compute(X, lambda options: self._model.transform(X, options))
        if self.whiten:
            scores /= self._deviations(self._model.spectrum.variances)
        more = len(self.components_) - scores.shape[1]
        if more > 0:  # a whitened model from a file lacks the components without variance
            scores = np.hstack([scores, np.zeros((len(scores), more))])
        return scores.astype(np.result_type(X.dtype, self._dtype), copy=False)

    def _saved_model(self):
        return self._model.whitened(True) if self.whiten else self._model

    def _front(self):
        return {**super()._front(), "width": len(self.components_), "noise_variance": float(self.noise_variance_)}

    def inverse_transform(self, X):
        """Transform scores back to the original space.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            The points with these scores in the space of the components.
        """
        check_is_fitted(self)
        X = check_array(X, input_name="X", dtype=_data.FLOATS)
        components = self.components_
        if self.whiten:
            components = np.sqrt(self.explained_variance_[:, None]) * components
        return X @ (components * self._scale).astype(components.dtype, copy=False) + self.mean_

    def _generative(self):
        """Returns the axes, and the variance along them less that of the noise."""
        axes, variances = self.components_, self.explained_variance_
        if self.whiten:
            axes = axes * np.sqrt(variances[:, None])
        return axes, np.maximum(variances - self.noise_variance_, 0.0)

    def get_covariance(self):
        """Compute data covariance with the generative model.

        Returns
        -------
        cov : ndarray of shape (n_features, n_features)
            ``components_.T @ diag(explained_variance_ - noise_variance_) @ components_ + noise_variance_ * I``, in the
            units of the data.
        """
        check_is_fitted(self)
        axes, beyond = self._generative()
        cov = (axes.T * beyond) @ axes
        cov.flat[:: len(cov) + 1] += self.noise_variance_
        return cov * np.outer(self._scale, self._scale).astype(cov.dtype)

    def get_precision(self):
        """Compute data precision matrix with the generative model.

        Returns
        -------
        precision : ndarray of shape (n_features, n_features)
            The inverse of :meth:`get_covariance`, by the matrix inversion lemma.
        """
        check_is_fitted(self)
        n_features, noise = self.components_.shape[1], self.noise_variance_
        units = np.outer(self._scale, self._scale)
        if self.n_components_ == 0:
            return np.eye(n_features) / noise / units
        if noise == 0.0:
            return np.linalg.inv(self.get_covariance())
        axes, beyond = self._generative()
        with np.errstate(divide="ignore"):
            inner = axes @ axes.T / noise + np.diag(1.0 / beyond)
        finite = np.isfinite(np.diag(inner))
        axes, inner = axes[finite], inner[np.ix_(finite, finite)]
        precision = -(axes.T @ np.linalg.inv(inner) @ axes) / noise**2
        precision.flat[:: n_features + 1] += 1.0 / noise
        return precision / units.astype(precision.dtype)

    @property
    def _n_features_out(self):
        return self.components_.shape[0]
