"""Model files."""

from __future__ import annotations

import os

import numpy as np

from . import _gram, _mercer
from ._certificate import Certificate
from ._kernel_pca import KernelPCA
from ._nystroem import Nystroem
from ._pca import PCA


def load(path):
    """Read a model that :meth:`save` or the command `mercer` wrote.

    Parameters
    ----------
    path : str or path-like
        The file. It holds numbers and facts, no code, and nothing in it is trusted.

    Returns
    -------
    PCA, KernelPCA or Nystroem
        A fitted estimator.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> path = os.path.join(tempfile.mkdtemp(), "model.mercer.safetensors")
    >>> fitted = mercer.KernelPCA(2, kernel="rbf", gamma="median").fit(X)
    >>> fitted.save(path)
    >>> bool((mercer.load(path).transform(X) == fitted.transform(X)).all())
    True
    """
    model = _mercer.load_model(os.fspath(path))
    return {"pca": _pca, "kernel_pca": _kernel_pca, "nystroem": _nystroem}[model.kind](model)


def _nystroem(model):
    landmarks, weights = model.landmarks()
    estimator = Nystroem(kernel=model.kernel, n_components=len(landmarks))
    _names(estimator, model)
    estimator._dtype = landmarks.dtype
    estimator._kernel_source = _gram.Table(model.kernel)
    estimator.components_, estimator.normalization_ = landmarks, np.ascontiguousarray(weights.T)
    estimator._n_features_out = weights.shape[1]
    return estimator


def _names(estimator, model):
    columns = model.columns
    estimator.n_features_in_ = len(columns)
    if columns != [f"x{j + 1}" for j in range(len(columns))]:
        estimator.feature_names_in_ = np.asarray(columns, dtype=object)


def _pca(model):
    _, scale, center, standardise, whiten = model.location()
    estimator = PCA(n_components=len(model.eigenvalues), center=center, scale=standardise, whiten=whiten)
    _names(estimator, model)
    model = model.whitened(False)
    estimator._keep(model, np.dtype(np.float64))
    estimator.n_samples_, estimator.n_components_ = model.n, len(model.eigenvalues)
    estimator._fit_svd_solver = "full" if model.route() == "svd" else "covariance_eigh"
    if standardise:
        estimator.scale_ = scale
    left = min(model.n, estimator.n_features_in_) - estimator.n_components_
    divisor = model.n - 1 if center else model.n
    estimator.noise_variance_ = np.float64(model.total()[1] / left / divisor if left > 0 else 0.0)
    estimator.certificate_ = Certificate.of(model)
    return estimator


def _kernel_pca(model):
    kernel = model.kernel
    estimator = KernelPCA(n_components=len(model.eigenvalues), kernel="precomputed" if kernel is None else kernel)
    _names(estimator, model)
    estimator._dtype = np.dtype(np.float64)
    estimator._keep(model, (model.n, estimator.n_features_in_))
    estimator.X_fit_ = model.points() if kernel else np.empty((model.n, 0))
    estimator._kernel_source = _gram.Given() if kernel is None else _gram.Table(kernel)
    estimator.kernel_ = kernel
    estimator.gamma_ = _gram.widths(kernel or "") or 1 / estimator.n_features_in_
    return estimator
