"""Fitted transformations as ONNX graphs."""

from __future__ import annotations

import os

import numpy as np
import scipy.sparse as sp

from . import _mercer


def write(estimator, path=None) -> bytes:
    """Returns the graph of the transform of an estimator, and writes it to a file atomically."""
    makers = {"Nystroem": _nystroem, "KernelPCA": _kernel_pca}
    content = makers.get(type(estimator).__name__, _linear)(estimator)
    if path is not None:
        _mercer.write_file(os.fspath(path), content)
    return content


def _linear(estimator):
    location = estimator._model.location
    weights = estimator._model.axes().T
    if estimator.whiten:
        weights = weights / estimator._deviations(estimator._model.spectrum.variances)
    more = len(estimator.components_) - weights.shape[1]
    if more > 0:
        weights = np.hstack([weights, np.zeros((len(weights), more))])
    return _mercer.onnx_linear(location.mean.tolist(), location.scale.tolist(), np.ascontiguousarray(weights))


def _kernel_pca(estimator):
    model, kept, k = estimator._model, estimator._kept, len(estimator.eigenvalues_)
    alpha = model.alpha()
    weights = np.zeros((len(alpha), k))
    weights[:, :kept] = alpha[:, :kept]
    offset, about = model.offset()
    if not model.is_exact():
        about = None  # the weights of landmarks do not sum to 0, so linear terms cannot be shifted
    offset = offset[:kept] + [0.0] * (k - kept)
    points, standardise = (model.points(True), model.standardise()) if estimator.kernel_ else (None, None)
    return _kernel(estimator, points, weights, offset, about, standardise)


def _nystroem(estimator):
    m = estimator._n_features_out
    return _kernel(estimator, estimator.components_, getattr(estimator, "_root", estimator.normalization_).T, [0.0] * m)


def _kernel(estimator, points, weights, offset, about=None, standardise=None):
    text = estimator._kernel_source.text
    if text is None:
        raise ValueError(
            f"kernel={estimator.kernel!r} cannot be written as a graph, since it has no formula: use a kernel of "
            "mercer.kernels"
        )
    if sp.issparse(points):
        points = points.toarray()
    points, weights = (np.ascontiguousarray(a, dtype=np.float64) for a in (points, weights))
    return _mercer.onnx_kernel(text, points, weights, offset, about, standardise)
