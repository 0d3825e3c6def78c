"""PCA without the matrix: sparse data, and data with many points and many dimensions.

The Gram matrix ``X X'`` of the centred points has the eigenvalues of the scatter matrix, and a block of vectors is
multiplied by it in two products with ``X``. Centring is done on the vectors, so that sparse data stays sparse.
"""

from __future__ import annotations

import json

import numpy as np
import scipy.sparse as sp

from . import _mercer, _spec

#: Up to this size the smaller of scatter and Gram matrix is decomposed as a whole.
WHOLE_UP_TO = 2000
#: Values of a dense block of scores that are computed at a time.
ENTRIES = 1 << 24


def by_passes(solver, shape, count, options) -> bool:
    """Whether a few components of dense data are found by passes over a centred copy of it."""
    least = min(shape)
    few = least > WHOLE_UP_TO and count is not None and count <= least // 10
    return solver not in ("full", "covariance_eigh") and few and 16 * shape[0] * shape[1] <= options.memory


def sparse_way(shape, count, center, solver) -> str:
    """Which matrix of sparse data is decomposed, "covariance" or "gram", or "passes" where both are large."""
    n, d = shape
    whole = count is None or count > min(shape) // 10 or not center
    if d <= WHOLE_UP_TO or (d <= n and (whole or solver == "covariance_eigh")):
        return "covariance"
    return "gram" if n <= WHOLE_UP_TO or whole else "passes"


def fit_wide(X, count, center, scale, tolerance, options):
    """A few components of many points of many dimensions."""
    X = np.asarray(X, dtype=np.float64)
    mean = X.mean(axis=0)
    X = X - mean
    scales = _scales(np.einsum("ij,ij->j", X, X), len(X), center, scale)
    if scale:
        X /= scales
    found = _by_passes(X, count, tolerance, options)
    return _with_axes(X, found, found.alpha(), count, (mean, scales, center, scale))


def fit_sparse(X, way, count, center, scale, tolerance, options):
    """PCA of sparse points, which stay sparse."""
    X = X.tocsc().astype(np.float64)
    X.sum_duplicates()
    n, d = X.shape
    # A column without zeros is moved to its mean first: there centring could cancel.
    shift = np.zeros(d)
    full = np.diff(X.indptr) == n
    if center and full.any():
        shift[full] = np.asarray(X[:, full].mean(axis=0)).ravel()
        X.data -= np.repeat(shift, np.diff(X.indptr))
    rest = np.asarray(X.mean(axis=0)).ravel() if center else np.zeros(d)
    squares = np.asarray(X.multiply(X).sum(axis=0)).ravel() - n * rest**2
    scales = _scales(squares, n, center, scale)
    if scale:
        X = (X @ sp.diags_array(1.0 / scales)).tocsc()
        rest = rest / scales
    mean = shift + rest * scales
    if way == "covariance":
        scatter = np.ascontiguousarray((X.T @ X).toarray())
        scatter -= n * np.outer(rest, rest)
        scatter = (scatter + scatter.T) / 2
        spec = _spec.pca(count, center=center, scale=scale)
        return _mercer.fit_scatter(spec, scatter, mean.tolist(), scales.tolist(), n, options)
    X, at = X.tocsr(), (mean, scales, center, scale)
    if way == "passes":
        found = _by_passes(X, count, tolerance, options)
        return _with_axes(X, found, found.alpha(), count, at)
    gram = np.ascontiguousarray((X @ X.T).toarray())
    gram = (gram + gram.T) / 2
    if center:
        found = _mercer.fit_gram(_spec.kernel_pca(None, count, tol=tolerance), gram, options)
        return _with_axes(X, found, found.alpha(), count, at)
    # Without a mean, the eigenvectors of X X' are those of a scatter matrix about the origin.
    zero, one = np.zeros(n).tolist(), np.ones(n).tolist()
    found = _mercer.fit_scatter(_spec.pca(count, center=False), gram, zero, one, n, options)
    return _with_axes(X, found, found.axes().T, count, at)


def _scales(squares, n, center, scale):
    """Standard deviations of the columns, 1 for those without variance, or all 1."""
    if not scale:
        return np.ones(len(squares))
    return np.sqrt(np.where(squares > 0, squares / (n - 1 if center else n), 1.0))


def _by_passes(X, count, tolerance, options):
    """Kernel PCA with the linear kernel, by products with ``X``."""
    diagonal = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X)

    def apply(vectors, is_cancelled):
        return np.ascontiguousarray((X @ (X.T @ vectors.T)).T)

    spec = _spec.kernel_pca(None, count, tol=tolerance)
    return _mercer.fit_operator(spec, apply, np.ascontiguousarray(diagonal), options)


def _with_axes(X, found, vectors, count, at):
    """The model of PCA with the axes ``f = X'u / |X'u|``; u is orthogonal to 1, so that the mean has no part in it."""
    mean, scales, center, scale = at
    values, certificate = found.eigenvalues, json.loads(found.certificate()[0])
    real = int(np.sum(values > 0))
    axes = np.ascontiguousarray((X.T @ vectors[:, :real]).T)
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    axes *= np.where(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    # Components without variance exist as directions.
    more = (min(X.shape) if count is None else count) - real
    if more > 0:
        k, rounding = real + more, certificate["rounding"]
        for name in ("residuals", "below", "above"):
            certificate[name] = certificate[name][:real] + [rounding] * more
        clusters = [c for c in certificate["clusters"] if c["last"] < real]
        first = clusters[-1]["last"] + 1 if clusters else 0
        certificate["clusters"] = [*clusters, {"first": first, "last": k - 1, "sine": 1.0}]
        values = np.append(values[:real], np.zeros(more))
    total, discarded, _, _ = found.total()
    facts = {
        "axes": completed(axes, max(0, more)),
        "mean": mean.tolist(),
        "scale": scales.tolist(),
        "eigenvalues": values.tolist(),
        "certificate": json.dumps(certificate),
        "total": total,
        "discarded": discarded,
        "n": X.shape[0],
        "center": center,
        "standardise": scale,
        "whiten": False,
    }
    return _mercer.pca_model(facts)


def completed(axes, more):
    """Orthonormal rows, with so many others after them: of unit vectors, what is orthogonal to those that are there."""
    if more <= 0:
        return axes
    k, d = axes.shape
    rows = np.vstack([axes, np.zeros((more, d))])
    for j in range(k, k + more):
        # The unit vector that has least of itself in their space.
        row = np.zeros(d)
        row[np.argmin(np.einsum("ij,ij->j", rows[:j], rows[:j]))] = 1.0
        for _ in range(2):
            row -= rows[:j].T @ (rows[:j] @ row)
            row /= max(np.linalg.norm(row), np.finfo(float).tiny)
        rows[j] = row if row[np.abs(row).argmax()] > 0 else -row
    return rows


def sparse_scores(X, mean, scale, axes):
    """Scores of sparse points: ``(x / s) F' - (m / s) F'``, a block of rows at a time.

    In columns without zeros the mean is subtracted first: there the two products could cancel.
    """
    weights = np.ascontiguousarray((axes / scale).T)
    X = X.tocsr().astype(np.float64)
    step = max(1, ENTRIES // max(1, len(axes)))
    parts = []
    for i in range(0, X.shape[0], step):
        rows = X[i : i + step].tocsc()
        rows.sum_duplicates()
        full = np.diff(rows.indptr) == rows.shape[0]
        rows.data -= np.repeat(np.where(full, mean, 0.0), np.diff(rows.indptr))
        parts.append(rows @ weights - np.where(full, 0.0, mean) @ weights)
    return np.vstack(parts)
