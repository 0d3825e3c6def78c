"""Nystroem features of a kernel."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.metrics.pairwise import KERNEL_PARAMS
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _data, _gram, _mercer, _spec
from ._base import Estimator, atomic_fit, warn
from ._exec import Exec
from ._kernel_pca import NEGATIVE, ZERO, _symmetric
from .exceptions import IndefiniteKernelWarning


class Nystroem(Estimator):
    """Approximate features of a kernel, from a sample of the training points.

    The features z satisfy ``z(x).z(y) = k(x, y)`` approximately, and exactly if x or y is a sampled point.

    Eigenvalues of the kernel matrix of the sampled points below 1e-12 of the largest count as zero, so that features of
    a linear kernel follow the units of the data. If the kernel is not positive semi-definite, no features have these
    products: the negative eigenvalues are dropped, a warning says so, and the products of the features of the sampled
    points are the positive part of their kernel matrix.

    Parameters
    ----------
    kernel : str, Kernel or callable, default='rbf'
        As in :class:`KernelPCA`, and all names of scikit-learn's pairwise kernels.
    gamma : float, 'median' or 'scale', default=None
        As in :class:`KernelPCA`. None means the default of the kernel: 1/n_features, but 1 for chi2.
    coef0 : float, default=None
        Parameter of polynomial and sigmoid; None means 1.
    degree : float, default=None
        Parameter of polynomial; None means 3.
    kernel_params : dict, default=None
        Keyword arguments of a kernel function.
    n_components : int, default=100
        Number of points that are sampled, which is the number of features.
    random_state : int, RandomState instance or None, default=None
        Random seed of the sample. scikit-learn takes the same points for the same seed.
    n_jobs : int, default=None
        Number of threads; None or -1 for one per core.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The sampled points.
    component_indices_ : ndarray of shape (n_components,)
        Indices of the sampled points in the training data.
    normalization_ : ndarray of shape (n_components, n_components)
        The inverse square root of the kernel matrix of the sampled points, without its eigenvalues that are zero or
        negative.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the data has names.

    See Also
    --------
    KernelPCA : Exact kernel principal components.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Nystroem, kernels
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> Z = Nystroem(gamma=0.05, n_components=50, random_state=1).fit_transform(X)
    >>> K = kernels.gaussian(gamma=0.05)(X)
    >>> bool(np.abs(Z @ Z.T - K).max() < 0.01)
    True
    """

    _parameter_constraints: dict = {
        "kernel": [_gram.KernelNames(), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), StrOptions({"median", "scale"}), None],
        "coef0": [Interval(Real, None, None, closed="neither"), None],
        "degree": [Interval(Real, 1, None, closed="left"), None],
        "kernel_params": [dict, None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        gamma=None,
        coef0=None,
        degree=None,
        kernel_params=None,
        n_components=100,
        random_state=None,
        n_jobs=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    @atomic_fit
    def fit(self, X, y=None):
        """Fit estimator to data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = _data.checked(self, X, reset=True, sparse="csr")
        _data.assert_finite(self, X)
        n_samples = X.shape[0]
        if self.n_components > n_samples:
            warn(
                "n_components > n_samples. This is not possible.\nn_components was set to n_samples, which results "
                "in inefficient evaluation of the full kernel."
            )
        m = min(n_samples, self.n_components)
        chosen = check_random_state(self.random_state).permutation(n_samples)[:m]
        basis = X[chosen]
        self._kernel_source = self._bound(self._source(X.shape[1]), X)
        if self._kernel_source.text is not None:
            self._kernel_source.check(X)
        K = self._compute(X, lambda options: self._among(basis, chosen, options))
        self._dtype = X.dtype
        # In float64, because the inverses of small eigenvalues are large.
        self._root = self._inverse_root(basis, K, chosen)
        if isinstance(self._kernel_source, _gram.Given):
            self._root = self._root[chosen]
        self.normalization_ = self._cast(self._root)
        self.components_, self.component_indices_ = basis, chosen
        self._n_features_out = m
        return self

    def _among(self, basis, chosen, options):
        if isinstance(self._kernel_source, _gram.Given):
            K = basis.toarray() if sp.issparse(basis) else basis
            if K.shape[0] != K.shape[1]:
                raise ValueError(
                    "kernel='precomputed' needs the square kernel matrix of the sampled points: X of shape "
                    f"{K.shape} is not square"
                )
            # The rows were drawn; the columns are in the order of the points.
            return _symmetric(K[np.argsort(chosen)])
        if isinstance(self._kernel_source, _gram.Function):
            self._kernel_source.probe(basis)
        return self._kernel_source.matrix(basis, basis, options)

    def _inverse_root(self, basis, K, rows):
        """Returns the inverse square root of the positive part of the kernel matrix of the sampled points."""
        source = self._kernel_source
        # Values that the user computes from float32 are accurate to float32.
        kind = "float32" if source.text is None and basis.dtype == np.float32 else "float64"
        # In a unit near to the largest entry, whose root is a power of two.
        largest = np.abs(K).max()
        unit = 2.0 ** np.floor(np.log2(largest) / 2) if largest > 0 else 1.0
        values, vectors = _eigenpairs((K + K.T) / 2 / unit / unit, source)
        smallest, largest = values.min(), values.max()
        indefinite = smallest < -NEGATIVE[kind][0] * max(largest, 0.0)
        # For few points, a function of pairs is not called more often than by scikit-learn, whose tests count that.
        if isinstance(source, _gram.Function) and (indefinite or source.blocks or len(K) >= _gram.PROBE_FROM):
            source.check_symmetric(basis, K, rows)
        if indefinite:
            negative = values < 0
            warn(
                IndefiniteKernelWarning(
                    "the kernel is not positive semi-definite: the kernel matrix of the sampled points has negative "
                    "eigenvalues, and the features represent its positive part",
                    negative=int(negative.sum()),
                    n=len(values),
                    smallest=float(smallest) * unit * unit,
                    largest=float(largest) * unit * unit,
                    share=float(-values[negative].sum() / np.abs(values).sum()),
                )
            )
        kept = values > ZERO[kind] * max(largest, 0.0)
        vectors = vectors[:, kept]
        return (vectors / np.sqrt(values[kept]) / unit) @ vectors.T

    def _source(self, n_features):
        given = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        plain = isinstance(self.kernel, str) and self.kernel != "precomputed"
        if not plain and any(value is not None for value in given.values()):
            raise ValueError("Don't pass gamma, coef0 or degree to Nystroem if using a callable or precomputed kernel")
        params = dict(self.kernel_params or {})
        if plain and self.kernel in KERNEL_PARAMS:
            # kernel_params gives what no parameter of the same name gives.
            for name in KERNEL_PARAMS[self.kernel]:
                if given.get(name) is None and name in params:
                    given[name] = params[name]
        return _gram.source(self.kernel, n_features, params=params, **given)

    def _bound(self, source, X):
        """Returns the source with numbers in place of automatic parameters."""
        if not isinstance(source, _gram.Table) or source.parsed.is_bound:
            return source
        return self._compute(X, lambda options: _gram.Table(_mercer.bind_kernel(source.text, _dense(X), options)))

    def transform(self, X):
        """Apply feature map to X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data to transform.

        Returns
        -------
        X_transformed : ndarray of shape (n_samples, n_components)
            Features.
        """
        check_is_fitted(self)
        X = _data.checked(self, X, reset=False, sparse="csr")
        _data.assert_finite(self, X)
        if self._kernel_source.text is not None:
            self._kernel_source.check(X)
        kind = np.result_type(X.dtype, self.normalization_.dtype)
        out = np.empty((X.shape[0], self._n_features_out), dtype=kind)

        root = getattr(self, "_root", self.normalization_)

        def work(options):
            for i in range(0, X.shape[0], 4 * _gram.BLOCK):
                rows = X[i : i + 4 * _gram.BLOCK]
                rows = rows.toarray() if sp.issparse(rows) and self._kernel_source.text else rows
                K = self._kernel_source.matrix(rows, self.components_, options)
                out[i : i + 4 * _gram.BLOCK] = K @ root.T

        self._compute(X, work)
        return out

    def _saved_model(self):
        if self._kernel_source.text is None:
            raise ValueError(
                "a model with a kernel function or a precomputed matrix cannot be saved, since a file carries no code: "
                "use a kernel of mercer.kernels"
            )
        weights = np.ascontiguousarray(getattr(self, "_root", self.normalization_).T, dtype=np.float64)
        return _mercer.nystroem_model(self._kernel_source.text, _dense(self.components_).astype(np.float64), weights)

    def _front(self):
        return {**super()._front(), "rows": self.component_indices_.tolist()}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _dense(X):
    return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X)


def _eigenpairs(K, source):
    """Returns the eigenvalues of a symmetric matrix and its unit eigenvectors, a column per eigenvalue."""
    if source.text is None or not source.parsed.is_psd:
        return np.linalg.eigh(K)
    m = len(K)
    at = np.zeros(m).tolist(), np.ones(m).tolist()
    found = _mercer.fit_scatter(_spec.pca(center=False), K, *at, m, Exec(memory=1 << 62))
    return found.eigenvalues, found.axes().T
