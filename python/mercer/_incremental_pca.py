"""Principal component analysis of data in batches."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils import gen_batches, metadata_routing
from sklearn.utils._param_validation import Interval, StrOptions

from . import _batches, _data, _mercer, _spec
from ._base import atomic_fit
from ._exec import Exec, threads
from ._linear_model import LinearModel


class IncrementalPCA(LinearModel):
    """Principal component analysis of data in batches.

    By default each batch is stacked under the components found so far, and the stack is decomposed (Ross et al. 2008),
    as in scikit-learn. The result is approximate unless all components are kept, and it depends on the order of the
    batches.

    With ``method='moments'`` the result is that of :class:`PCA` of all data at once, for batches of any size and order.

    Parameters
    ----------
    n_components : int, default=None
        Number of components to keep; None for ``min(n_samples, n_features)`` of the first batch.
    whiten : bool, default=False
        Whether to divide scores by their standard deviation.
    copy : bool, default=True
        Not used: the data is never changed.
    batch_size : int, default=None
        Number of rows that :meth:`fit` takes at a time; None for ``5 * n_features``.
    method : {'stack', 'moments', 'factor'}, default='stack'
        ``'stack'`` is scikit-learn's approximate method. ``'moments'`` is exact and stores the scatter matrix, of
        ``n_features**2`` numbers. ``'factor'`` is exact and stores a triangular factor of it. It takes twice the time,
        and is accurate also for components whose standard deviation is less than 1e-6 of the largest.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The axes, by decreasing variance.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the scores.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the total variance of all data so far.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of the stack.
    mean_ : ndarray of shape (n_features,)
        Mean of all data so far.
    var_ : ndarray of shape (n_features,)
        Variance of all data so far, with divisor n.
    noise_variance_ : float
        Mean variance of the directions of the last stack that were not kept.
    n_components_ : int
        The number of components.
    n_samples_seen_ : int
        The number of samples so far.
    batch_size_ : int
        The batch size of :meth:`fit`.
    certificate_ : Certificate
        Error bounds of the eigenvalues; only with the exact methods.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the data has names.

    See Also
    --------
    PCA : Exact PCA of all data at once.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from mercer import IncrementalPCA
    >>> X, _ = load_digits(return_X_y=True)
    >>> ipca = IncrementalPCA(n_components=7, batch_size=200)
    >>> ipca.partial_fit(X[:100, :]).fit_transform(X).shape
    (1797, 7)

    The exact methods take batches that are smaller than the number of components:

    >>> exact = IncrementalPCA(n_components=7, method="moments")
    >>> for start in range(0, len(X), 5):
    ...     exact = exact.partial_fit(X[start : start + 5])
    >>> from mercer import PCA
    >>> bool(abs(exact.components_ - PCA(7).fit(X).components_).max() < 1e-10)
    True
    """

    __metadata_request__partial_fit = {"check_input": metadata_routing.UNUSED}

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "whiten": ["boolean"],
        "copy": ["boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "method": [StrOptions({"stack", "moments", "factor"})],
    }

    def __init__(self, n_components=None, *, whiten=False, copy=True, batch_size=None, method="stack"):
        self.n_components = n_components
        self.whiten = whiten
        self.copy = copy
        self.batch_size = batch_size
        self.method = method

    @_fit_context(prefer_skip_nested_validation=True)
    @atomic_fit
    def fit(self, X, y=None):
        """Fit the model with X, a batch at a time.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), iterator of batches, or Arrow stream
            Training data.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted estimator. A fit that fails leaves it unchanged.
        """
        self._forget()
        if _batches.is_stream(X):
            largest = 0
            for batch in _batches.of(self, X):
                largest = max(largest, len(batch))
                self._take(batch, finish=False)
            if not largest:
                raise ValueError("X has no batches, or none with rows")
            self.batch_size_ = largest
            return self._finish() if self.method != "stack" else self
        X = _data.checked(self, X, reset=True, sparse=["csr", "csc", "lil"])
        n_samples, n_features = X.shape
        self.batch_size_ = 5 * n_features if self.batch_size is None else self.batch_size
        if sp.issparse(X):
            X = X.tocsr()
        least = self.n_components or 0 if self.method == "stack" else 0
        for batch in gen_batches(n_samples, self.batch_size_, min_batch_size=least):
            rows = X[batch]
            self._take(rows.toarray() if sp.issparse(rows) else rows, finish=False)
        return self._finish() if self.method != "stack" else self

    @_fit_context(prefer_skip_nested_validation=True)
    @atomic_fit
    def partial_fit(self, X, y=None, check_input=True):
        """Update the model with X, all of it as one batch.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A batch.
        y : Ignored
            Not used, present for API consistency.
        check_input : bool, default=True
            Whether to check X.

        Returns
        -------
        self : object
            The updated estimator. An update that fails leaves it unchanged.
        """
        if check_input:
            if sp.issparse(X):
                raise TypeError(
                    "IncrementalPCA.partial_fit does not support sparse input. Either convert data to dense "
                    "or use IncrementalPCA.fit to do so in batches."
                )
            X = _data.checked(self, X, reset=not hasattr(self, "components_"))
        return self._take(X)

    def _forget(self):
        for name in ("components_", "n_samples_seen_", "mean_", "var_", "_model", "_state", "_began", "certificate_"):
            self.__dict__.pop(name, None)

    def _count(self, n_samples, n_features):
        """Returns the number of components, with scikit-learn's rules and messages."""
        first, k = not hasattr(self, "components_"), self.n_components
        if k is None:
            return min(n_samples, n_features) if first else len(self.components_)
        if not k <= n_features:
            raise ValueError(
                f"n_components={k!r} invalid for n_features={n_features}, need more rows than columns for "
                "IncrementalPCA processing"
            )
        if k > n_samples and first:
            raise ValueError(
                f"n_components={k} must be less or equal to the batch number of samples {n_samples} for the first "
                "partial_fit call."
            )
        if not first and len(self.components_) != k:
            raise ValueError(
                f"Number of input features has changed from {len(self.components_)} to {k} between calls to "
                "partial_fit! Try setting n_components to a fixed value."
            )
        return k

    def _take(self, X, finish=True):
        if getattr(self, "_began", self.method) != self.method:
            raise ValueError(
                f"method={self.method!r}, but earlier batches were taken by {self._began!r}: call fit to start again"
            )
        if self.method == "stack":
            self._began = self.method
            return self._stack(X)
        if "_state" not in self.__dict__:
            if hasattr(self, "components_"):
                raise ValueError(
                    "a model that was read or converted has no sums to add batches to: call fit to start again"
                )
            self._state = _mercer.PcaState.start(X.shape[1], self._state_spec())
            self._began, self._dtype = self.method, np.dtype(X.dtype)
        # A copy, so that an update that fails leaves the estimator unchanged.
        state = _mercer.PcaState(self._state.to_bytes()) if finish else self._state
        self._compute(X, lambda options: state.update(X, options))
        self._state, self._dtype = state, np.promote_types(self._dtype, X.dtype)
        return self._finish() if finish else self

    def _state_spec(self, k=None):
        """Returns the record of what is fitted."""
        return _spec.pca(k, route="svd" if self.method == "factor" else "covariance")

    def _finish(self):
        """Makes the exact model of all batches."""
        state = self._state
        n, d = state.n, state.d
        if self.n_components is not None and self.n_components > d:
            raise ValueError(f"n_components={self.n_components} must be at most n_features={d}")
        k = min(self.n_components or d, n, d)
        self.n_samples_seen_, self.n_components_ = n, k if n > 1 else 0
        if n > 1:
            model = state.finish(self._state_spec(k), self._options())
            self._keep(model, self._dtype)
            left = min(n, d) - k
            self.noise_variance_ = self._dtype.type(model.spectrum.discarded / left / (n - 1) if left else 0.0)
        else:  # One row has a mean and no direction.
            facts = {"axes": np.empty((0, d)), "eigenvalues": [], "total": 0.0, "discarded": 0.0, "n": n}
            facts |= {"mean": state.mean, "scale": [1.0] * d, "center": True, "standardise": False, "whiten": False}
            self._keep(_mercer.pca_model(facts), self._dtype)
            self.noise_variance_ = self._dtype.type(0.0)
        self._certify()
        self._mean64, self._var64 = np.asarray(state.mean), np.asarray(state.squares) / n
        self.var_ = self._cast(self._var64)
        return self

    def _stack(self, X):
        n, d = X.shape
        k = self._count(n, d)
        X, kind = np.asarray(X, dtype=np.float64), X.dtype
        if not np.isfinite(X).all():
            raise _data.explained(ValueError("X has values that are not finite"), self, X)
        seen = getattr(self, "n_samples_seen_", 0)
        total = seen + n
        batch_mean = X.mean(axis=0)
        stack = X - batch_mean
        batch_var = np.mean(stack**2, axis=0)
        if seen:
            # Mean and variance of the earlier batches and this one together.
            before, apart = self._mean64, self._mean64 - batch_mean
            mean = before + (batch_mean - before) * (n / total)
            var = (self._var64 * seen + batch_var * n) / total + (seen / total) * (n / total) * apart**2
            basis = self._values64[:, None] * self._axes64
            stack = np.vstack([basis, stack, np.sqrt(seen / total * n) * apart])
        else:
            mean, var = batch_mean, batch_var
        spec = _spec.pca(center=False, route="svd")
        found = _mercer.fit_points(spec, np.ascontiguousarray(stack), Exec(threads=threads(None)))
        values, axes = np.sqrt(found.eigenvalues), found.axes()
        # All in float64; the public attributes have the dtype of the data.
        self._mean64, self._var64, self._values64, self._axes64 = mean, var, values[:k], axes[:k]
        variances = values**2 / max(total - 1, 1)
        total_variance = np.sum(var * total)
        self._dtype = kind
        self.n_components_, self.n_samples_seen_ = k, total
        self.mean_, self.var_ = self._cast(mean), self._cast(var)
        self.components_, self.singular_values_ = self._cast(axes[:k]), self._cast(values[:k])
        self.explained_variance_ = self._cast(variances[:k])
        ratios = values**2 / total_variance if total_variance > 0 else np.zeros(len(values))
        self.explained_variance_ratio_ = self._cast(ratios[:k])
        left = variances[k:]
        self.noise_variance_ = self._dtype.type(left.mean() if k not in (n, d) and len(left) else 0.0)
        self._scale = np.ones(d)
        self._model = _mercer.pca_model(
            {
                "axes": np.ascontiguousarray(axes[:k]),
                "mean": mean.tolist(),
                "scale": self._scale.tolist(),
                "eigenvalues": (values[:k] ** 2).tolist(),
                "total": max(total_variance, float(np.sum(values[:k] ** 2))),
                "discarded": max(0.0, total_variance - float(np.sum(values[:k] ** 2))),
                "n": int(total),
                "center": True,
                "standardise": False,
                "whiten": False,
            }
        )
        return self

    def _front(self):
        seen = {"var": self._var64.tolist(), "ratios": self.explained_variance_ratio_.tolist()}
        return {**super()._front(), **seen, "batch_size": getattr(self, "batch_size_", None)}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
