"""Conversion of fitted models from and to scikit-learn."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from . import _gram, _mercer


def from_sklearn(estimator):
    """Convert a fitted estimator of scikit-learn, without fitting again.

    Parameters
    ----------
    estimator : PCA, IncrementalPCA, KernelPCA or Nystroem of scikit-learn
        A fitted estimator.

    Returns
    -------
    estimator
        A fitted estimator of the class of the same name. Its certificate says that no error bounds are known.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> from sklearn.decomposition import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> theirs = KernelPCA(n_components=2, kernel="rbf").fit(X)
    >>> ours = mercer.from_sklearn(theirs)
    >>> bool(np.allclose(ours.transform(X), theirs.transform(X)))
    True
    """
    from sklearn.utils.validation import check_is_fitted

    import mercer

    makers = {"PCA": _pca, "IncrementalPCA": _incremental, "KernelPCA": _kernel_pca, "Nystroem": _nystroem}
    name = type(estimator).__name__
    if name not in makers or not type(estimator).__module__.startswith("sklearn."):
        raise TypeError(f"cannot convert {type(estimator).__module__}.{name}: use {', '.join(makers)} of scikit-learn")
    check_is_fitted(estimator)
    ours = getattr(mercer, name)(**estimator.get_params(deep=False))
    for attribute in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, attribute):
            setattr(ours, attribute, getattr(estimator, attribute))
    makers[name](ours, estimator)
    return ours


def _linear_model(ours, theirs, n, total):
    ours._dtype, ours._scale = theirs.components_.dtype, np.ones(theirs.components_.shape[1])
    values = np.asarray(theirs.explained_variance_, dtype=np.float64) * (n - 1)
    ours._model = _mercer.pca_model(
        {
            "axes": np.ascontiguousarray(theirs.components_, dtype=np.float64),
            "mean": np.asarray(theirs.mean_, dtype=np.float64).tolist(),
            "scale": ours._scale.tolist(),
            "eigenvalues": values.tolist(),
            "total": max(total, float(values.sum())),
            "discarded": max(0.0, total - float(values.sum())),
            "n": int(n),
            "center": True,
            "standardise": False,
            "whiten": False,
        }
    )


def _pca(ours, theirs):
    ratio = float(np.sum(theirs.explained_variance_ratio_, dtype=np.float64))
    variance = float(np.sum(theirs.explained_variance_, dtype=np.float64))
    total = variance / ratio * (theirs.n_samples_ - 1) if ratio > 0 else 0.0
    _linear_model(ours, theirs, theirs.n_samples_, total)
    _copy(ours, theirs)
    ours._certify()


def _incremental(ours, theirs):
    total = float(np.sum(theirs.var_) * theirs.n_samples_seen_)
    _linear_model(ours, theirs, theirs.n_samples_seen_, total)
    _copy(ours, theirs)
    ours._mean64, ours._var64 = theirs.mean_.astype(np.float64), np.asarray(theirs.var_, dtype=np.float64)
    ours._values64, ours._axes64 = (a.astype(np.float64) for a in (theirs.singular_values_, theirs.components_))


def _kernel_pca(ours, theirs):
    _copy(ours, theirs)
    ours._dtype = theirs.eigenvectors_.dtype
    ours._kept = int(np.sum(theirs.eigenvalues_ > 0))
    X = theirs.X_fit_.toarray() if sp.issparse(theirs.X_fit_) else theirs.X_fit_
    source = ours._source(ours.n_features_in_)
    ours._kernel_source, ours.kernel_ = source, source.text
    means = np.asarray(theirs._centerer.K_fit_rows_, dtype=np.float64)
    n = len(means)
    diagonal = _diagonal(theirs, source, X, ours)
    total = float(np.sum(diagonal) - n * theirs._centerer.K_fit_all_)
    values = np.asarray(theirs.eigenvalues_[: ours._kept], dtype=np.float64)
    points = X if source.text else np.empty((n, 0))
    ours._model = _mercer.kernel_model(
        {
            "vectors": np.ascontiguousarray(theirs.eigenvectors_[:, : ours._kept], dtype=np.float64),
            "eigenvalues": values.tolist(),
            "means": means.tolist(),
            "kernel": source.text,
            "points": np.ascontiguousarray(points, dtype=np.float64),
            "total": max(total, float(values.sum())),
        }
    )
    spectrum, zeros = ours._model.spectrum, np.zeros(len(theirs.eigenvalues_) - ours._kept)
    ours.explained_variance_ = ours._cast(np.concatenate([spectrum.variances, zeros]))
    ours.explained_variance_ratio_ = ours._cast(np.concatenate([spectrum.ratios, zeros]))
    ours._certify()
    ours._inverse_mean = np.zeros(ours.n_features_in_)


def _diagonal(theirs, source, X, ours):
    if isinstance(source, _gram.Given):
        return np.diag(X)
    if isinstance(source, _gram.Function):
        return source.diagonal(X, ours._options())
    rows = (X[i : i + 64] for i in range(0, len(X), 64))
    return np.concatenate([np.diag(source.matrix(b, b, ours._options())) for b in rows])


def _nystroem(ours, theirs):
    _copy(ours, theirs)
    ours._dtype = theirs.normalization_.dtype
    ours._kernel_source = ours._source(ours.n_features_in_)


def _copy(ours, theirs):
    for name, value in vars(theirs).items():
        if name not in theirs.get_params(deep=False):
            setattr(ours, name, value)


def to_sklearn(ours):
    """Returns a fitted estimator of scikit-learn."""
    from sklearn import decomposition, kernel_approximation

    name = type(ours).__name__
    theirs = getattr(kernel_approximation if name == "Nystroem" else decomposition, name)
    known = theirs._get_param_names()
    params = {k: v for k, v in ours.get_params(deep=False).items() if k in known}
    other = []
    if getattr(ours, "scale", False):
        other.append("scale=True: put a StandardScaler before it")
    if getattr(ours, "center", True) is False:
        other.append("center=False: TruncatedSVD is scikit-learn's estimator for that")
    if getattr(ours, "restore_mean", False):
        other.append("restore_mean=True")
    kernel = params.get("kernel")
    if kernel is not None:
        params.update(_their_kernel(ours, kernel))
    if getattr(ours, "_model", None) is not None and name == "KernelPCA" and ours.kernel_ and ours._model.standardise():
        other.append("kernel of standardised points: put a StandardScaler before it")
    if isinstance(getattr(ours, "_kernel_source", None), _gram.Function) and ours._kernel_source.blocks:
        other.append("kernel functions of blocks: use a function of two points")
    if other:
        raise ValueError(f"scikit-learn's {name} has no {'; no '.join(other)}")
    if isinstance(params["n_components"], float) and (name == "KernelPCA" or params["svd_solver"] != "full"):
        params["n_components"] = ours._n_features_out
    made = theirs(**params)
    shown = {k: v for k, v in vars(ours).items() if k.endswith("_") and not k.startswith("_")}
    for attribute in ("certificate_", "kernel_", "scale_"):
        shown.pop(attribute, None)
    if name == "KernelPCA":
        for attribute in ("explained_variance_", "explained_variance_ratio_"):
            shown.pop(attribute)
        shown["_centerer"] = _centerer(ours)
    if name == "Nystroem":
        shown["_n_features_out"] = ours._n_features_out
    for attribute, value in shown.items():
        setattr(made, attribute, value)
    if name == "PCA":
        made._fit_svd_solver = ours._fit_svd_solver
    return made


def _their_kernel(ours, kernel):
    """Returns scikit-learn's parameters of the same kernel."""
    source = ours._kernel_source
    if source.text is None:
        return {}
    theirs = {"gaussian": "rbf", "polynomial": "poly" if type(ours).__name__ == "KernelPCA" else "polynomial"}
    parsed = source.parsed
    name = theirs.get(parsed.name, parsed.name)
    known = ("linear", "rbf", "poly", "polynomial", "sigmoid", "cosine", "chi2", "laplacian")
    widths = name == "rbf" and not parsed.arguments  # one per dimension
    if name not in known or widths or (name == "laplacian" and type(ours).__name__ == "KernelPCA"):
        raise ValueError(f"scikit-learn's {type(ours).__name__} has no kernel '{source.text}'")
    return {"kernel": name, **dict(parsed.arguments)}


def _centerer(ours):
    """Returns scikit-learn's object that centres kernel values, with the means of the Gram matrix."""
    from sklearn.preprocessing import KernelCenterer

    if hasattr(ours, "_centerer"):  # converted from scikit-learn
        return ours._centerer
    X = ours.X_fit_
    n, options = X.shape[0], ours._options()
    if isinstance(ours._kernel_source, _gram.Given):
        means = np.asarray(X.mean(axis=0)).ravel()
    else:
        step = max(1, min(_gram.BLOCK, (1 << 27) // n))
        sums = [ours._kernel_source.matrix(X[i : i + step], X, options).sum(axis=1) for i in range(0, n, step)]
        means = np.concatenate(sums) / n
    made = KernelCenterer()
    made.K_fit_rows_, made.K_fit_all_ = ours._cast(means), ours._dtype.type(means.mean())
    made.n_features_in_ = n
    return made
