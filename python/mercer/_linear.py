"""PCA without the matrix: sparse data, and data with many points and many dimensions.

The Gram matrix ``X X'`` of the centred points has the eigenvalues of the scatter matrix, and a block of vectors is
multiplied by it in two products with ``X``. Centring is done on the vectors, so that sparse data stays sparse.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from . import _mercer

#: Up to this size the smaller of scatter and Gram matrix is decomposed as a whole.
WHOLE_UP_TO = 2000
#: Values of a dense block of scores that are computed at a time.
ENTRIES = 1 << 24


def by_passes(solver, shape, count) -> bool:
    """Whether a few components of dense data are found by passes over it."""
    least = min(shape)
    return (
        solver not in ("full", "covariance_eigh") and least > WHOLE_UP_TO and count is not None and count <= least // 10
    )


def fit_wide(X, count, center, scale, tolerance, options):
    """A few components of many points of many dimensions."""
    X = np.asarray(X, dtype=np.float64)
    mean = X.mean(axis=0) if center else np.zeros(X.shape[1])
    X = X - mean
    scales = _scales(np.einsum("ij,ij->j", X, X), len(X), center, scale)
    if scale:
        X /= scales
    return _by_operator(X, mean, np.zeros(X.shape[1]), scales, count, center, scale, tolerance, options)


def fit_sparse(X, count, center, scale, tolerance, solver, options):
    """PCA of sparse points, which stay sparse."""
    X = X.tocsc().astype(np.float64)
    n, d = X.shape
    # A column without zeros is moved to its mean first: there centring could cancel.
    shift = np.zeros(d)
    full = np.diff(X.indptr) == n
    if center and full.any():
        shift[full] = np.asarray(X[:, full].mean(axis=0)).ravel()
        X.data -= np.repeat(np.where(full, shift, 0.0), np.diff(X.indptr))
    rest = np.asarray(X.mean(axis=0)).ravel() if center else np.zeros(d)
    squares = np.asarray(X.multiply(X).sum(axis=0)).ravel() - n * rest**2
    scales = _scales(squares, n, center, scale)
    if scale:
        X = (X @ sp.diags_array(1.0 / scales)).tocsc()
        rest = rest / scales
    mean = shift + rest * scales
    if d <= WHOLE_UP_TO or (d <= n and (count is None or solver == "covariance_eigh")):
        scatter = np.ascontiguousarray((X.T @ X).toarray())
        scatter -= n * np.outer(rest, rest)
        scatter = (scatter + scatter.T) / 2
        return _mercer.fit_scatter(scatter, mean.tolist(), scales.tolist(), n, count, center, scale, options)
    return _by_operator(X.tocsr(), mean, rest, scales, count, center, scale, tolerance, options)


def _scales(squares, n, center, scale):
    """Standard deviations of the columns, 1 for those without variance, or all 1."""
    if not scale:
        return np.ones(len(squares))
    return np.sqrt(np.where(squares > 0, squares / (n - 1 if center else n), 1.0))


def _by_operator(X, mean, rest, scales, count, center, scale, tolerance, options):
    """The components of points ``X`` about ``rest``, by kernel PCA with the linear kernel."""
    n = X.shape[0]
    if not center:
        raise ValueError("center=False needs svd_solver='covariance_eigh' or 'full' for so many points and dimensions")
    sparse = sp.issparse(X)
    diagonal = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse else np.einsum("ij,ij->i", X, X)
    if n <= WHOLE_UP_TO:
        gram = X @ X.T
        gram = np.ascontiguousarray(gram.toarray() if sparse else gram)
        found = _mercer.fit_gram((gram + gram.T) / 2, count, tolerance, False, options)
    else:

        def apply(vectors):
            return np.ascontiguousarray((X @ (X.T @ vectors.T)).T)

        found = _mercer.fit_operator(apply, np.ascontiguousarray(diagonal), count, tolerance, options)
    # f = X'u / sqrt(lambda), u orthogonal to 1, so that the mean has no part in it
    axes = np.ascontiguousarray((X.T @ found.alpha()).T)
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    axes *= np.where(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    total, discarded, _, _ = found.total()
    facts = {
        "axes": axes,
        "mean": mean.tolist(),
        "scale": scales.tolist(),
        "eigenvalues": found.eigenvalues.tolist(),
        "certificate": found.certificate()[0],
        "total": total,
        "discarded": discarded,
        "n": n,
        "center": center,
        "standardise": scale,
        "whiten": False,
    }
    return _mercer.pca_model(facts)


def sparse_scores(X, mean, scale, axes):
    """Scores of sparse points: ``(x / s) F' - (m / s) F'``, a block of rows at a time."""
    weights = np.ascontiguousarray((axes / scale).T)
    X = X.tocsr()
    step = max(1, ENTRIES // max(1, len(axes)))
    parts = [np.asarray(X[i : i + step] @ weights) for i in range(0, X.shape[0], step)]
    return np.vstack(parts) - mean @ weights
