"""Model files."""

from __future__ import annotations

import json
import os

import numpy as np

from . import _gram, _mercer
from ._incremental_pca import IncrementalPCA
from ._kernel_pca import KernelPCA
from ._nystroem import Nystroem
from ._pca import PCA


def load(path):
    """Read a model that :meth:`save` or the command `mercer` wrote.

    Parameters
    ----------
    path : str or path-like
        The file. It holds no code, and its content is checked.

    Returns
    -------
    PCA, IncrementalPCA, KernelPCA or Nystroem
        A fitted estimator, without the learned inverse transform of kernel PCA.

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
    model = _mercer.load_model(os.fsdecode(path))
    if model.kind == "pca" and model.embedding():
        raise ValueError(
            f"{os.fsdecode(path)} is a model of PCA of {model.embedding()}, which Python does not support: use the "
            "command mercer, or fit PCA to these features"
        )
    front = json.loads(model.front) if model.front else {}
    make = {"pca": _pca, "kernel_pca": _kernel_pca, "nystroem": _nystroem}[model.kind]
    try:
        estimator = make(model, front)
    except (AttributeError, TypeError, ValueError):
        # The estimator's parameters in the file are not valid. The model itself is.
        front = {}
        estimator = make(model, front)
    estimator.n_features_in_ = len(model.columns)
    if front.get("named", model.columns != [f"x{j + 1}" for j in range(len(model.columns))]):
        estimator.feature_names_in_ = np.asarray(model.columns, dtype=object)
    return estimator


def _made(kind, front, **parameters):
    """Returns an estimator of this class with the parameters in the file, if they are valid."""
    known = kind._get_param_names() if front.get("class") == kind.__name__ else []
    stored = {name: value for name, value in front.get("params", {}).items() if name in known}
    estimator = kind(**{**parameters, **stored})
    try:
        estimator._validate_params()
    except ValueError:
        estimator = kind(**parameters)
    estimator._dtype = np.dtype(np.float32 if front.get("dtype") == "float32" else np.float64)
    return estimator


def _width(front, name, least, most):
    """Returns a number of components from the file, or ``least`` if it is not valid."""
    value = front.get(name, least)
    return value if isinstance(value, int) and least <= value <= most else least


def _pca(model, front):
    location = model.location
    center, standardise, whiten = location.is_centered, location.is_standardised, location.is_whitened
    model, d = model.whitened(False), len(model.columns)
    k = len(model.eigenvalues)
    width = _width(front, "width", k, d)
    if front.get("class") == "IncrementalPCA":
        return _incremental(model, front, width, whiten)
    parameters = {"n_components": width, "center": center, "scale": standardise, "whiten": whiten}
    estimator = _made(PCA, front, **parameters)
    estimator.set_params(center=center, scale=standardise, whiten=whiten)
    estimator._keep(model, estimator._dtype, width)
    estimator.n_samples_, estimator.n_components_ = model.n, estimator._counted(width)
    estimator._fit_svd_solver = "full" if model.route() == "svd" else "covariance_eigh"
    if standardise:
        estimator.scale_ = estimator._cast(location.scale)
    left = min(model.n, d) - width
    divisor = model.n - 1 if center else model.n
    estimator.noise_variance_ = estimator._dtype.type(model.spectrum.discarded / left / divisor if left > 0 else 0.0)
    estimator._certify()
    return estimator


def _incremental(model, front, width, whiten):
    estimator = _made(IncrementalPCA, front, n_components=width, whiten=whiten)
    estimator.set_params(whiten=whiten)
    estimator._keep(model, estimator._dtype, width)
    d = estimator.components_.shape[1]
    var = np.asarray(front.get("var", ()), dtype=float)
    estimator._var64 = var if var.shape == (d,) else np.full(d, np.nan)
    ratios = np.asarray(front.get("ratios", ()), dtype=float)
    if ratios.shape == (width,):
        estimator.explained_variance_ratio_ = estimator._cast(ratios)
    estimator._mean64, estimator._values64 = model.location.mean, np.sqrt(model.eigenvalues)
    estimator._axes64 = model.axes()
    estimator.var_, estimator.n_components_ = estimator._cast(estimator._var64), width
    estimator.n_samples_seen_ = model.n
    estimator.noise_variance_ = estimator._dtype.type(front.get("noise_variance", 0.0))
    if isinstance(front.get("batch_size"), int):
        estimator.batch_size_ = front["batch_size"]
    return estimator


def _kernel_pca(model, front):
    kernel, found = model.kernel, len(model.eigenvalues)
    if not model.is_exact():
        estimator = _made(KernelPCA, front, n_components=found or None, kernel=kernel, landmarks=len(model.alpha()))
        estimator._keep_landmarks(model)
        return estimator
    width = _width(front, "width", found, model.n)
    estimator = _made(KernelPCA, front, n_components=width or None, kernel="precomputed" if kernel is None else kernel)
    # The inverse transform is not in the file.
    estimator.fit_inverse_transform = False
    estimator._take(model, width)
    estimator.X_fit_ = estimator._cast(model.points(False)) if kernel else np.empty((model.n, 0))
    estimator._kernel_source = _gram.Given() if kernel is None else _gram.Table(kernel)
    estimator.kernel_ = kernel
    estimator.gamma_ = _gram.gamma_of(estimator._kernel_source, None, len(model.columns))
    return estimator


def _nystroem(model, front):
    landmarks, weights = model.landmarks()
    estimator = _made(Nystroem, front, kernel=model.kernel, n_components=len(landmarks))
    estimator._kernel_source = _gram.Table(model.kernel)
    estimator.components_ = estimator._cast(landmarks)
    estimator._root = np.ascontiguousarray(weights.T)
    estimator.normalization_ = estimator._cast(estimator._root)
    estimator._n_features_out = weights.shape[1]
    rows = front.get("rows", ())
    if len(rows) == len(landmarks):
        estimator.component_indices_ = np.asarray(rows, dtype=np.int64)
    return estimator
