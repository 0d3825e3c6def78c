"""Principal component analysis."""

from __future__ import annotations

import functools
from math import log
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _batches, _data, _mercer, _spec
from ._base import CONSTRAINTS, atomic_fit
from ._certificate import Plan
from ._linear_model import LinearModel
from ._minka import minka

#: The route of the extension module for a solver of scikit-learn. All routes are exact.
ROUTES = {"full": "svd", "covariance_eigh": "covariance"}
#: The residual of components that are found by passes, relative to the largest eigenvalue.
DEFAULT_TOLERANCE = 1e-6


class PCA(LinearModel):
    """Principal component analysis.

    All solvers are exact. Data far from the origin keeps its accuracy, sparse data stays sparse, and results have the
    same bits on any number of threads.

    Parameters
    ----------
    n_components : int, float or 'mle', default=None
        Number of components to keep: a number, a share of the variance (``0.95``), Minka's choice (``'mle'``), or None
        for all ``min(n_samples, n_features)``. A share works with every solver.
    copy : bool, default=True
        Not used: the data is never changed.
    whiten : bool, default=False
        Whether to divide scores by their standard deviation. Scores of components without variance are 0.
    svd_solver : {'auto', 'full', 'covariance_eigh', 'arpack', 'randomized'}, default='auto'
        ``'covariance_eigh'`` uses the covariance matrix and ``'full'`` decomposes the data itself. The others choose
        the best exact method, see :meth:`plan`. Sparse data needs ``'auto'``, ``'arpack'`` or ``'covariance_eigh'``.
    tol : float, default=0.0
        Largest residual of a few of many components, which are found by steps over the data or over the covariance
        matrix, relative to the largest eigenvalue. 0 means 1e-6, which makes eigenvalues accurate to about 1e-12. Up
        to 2,000 samples or features it is at most 1e-9.
    iterated_power : int or 'auto', default='auto'
        Not used: all solvers are exact.
    n_oversamples : int, default=10
        Not used.
    power_iteration_normalizer : {'auto', 'QR', 'LU', 'none'}, default='auto'
        Not used.
    random_state : int, RandomState instance or None, default=None
        Random seed of passes over the data. Results depend on it only within the tolerance.
    center : bool, default=True
        Whether to subtract the mean. If False, variances are mean squares with divisor n.
    scale : bool, default=False
        Whether to divide features by their standard deviation, with divisor n - 1. Constant features are not divided.
    n_jobs : int, default=None
        Number of threads; None or -1 for one per core. Results do not depend on it.
    memory : int or str, default=None
        Memory limit in bytes or as text, such as ``"8G"``; None for 8 GB, or for 60 % of what this process may
        still use if that is less. A fit that needs more raises MemoryError before it starts.
    progress : bool or callable, default=None
        Whether to show passes over the data on standard error, or a function that gets a dictionary for each step.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The axes, by decreasing variance; the entry of largest magnitude of each is positive.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the scores, with divisor n - 1.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the total variance of the data.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of the centred data.
    mean_ : ndarray of shape (n_features,)
        The mean that is subtracted.
    scale_ : ndarray of shape (n_features,)
        The standard deviations that features are divided by, with ``scale=True``.
    n_components_ : int
        The number of components; a NumPy integer if it follows from a share or from ``'mle'``.
    n_samples_ : int
        The number of samples.
    noise_variance_ : float
        Mean variance of the directions that were not kept.
    certificate_ : Certificate
        Error bounds of the eigenvalues of the scatter matrix, ``singular_values_ ** 2``, and of the directions.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the data has names.

    See Also
    --------
    KernelPCA : Non-linear structure.
    IncrementalPCA : PCA of data in batches.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PCA
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> pca = PCA(n_components=2).fit(X)
    >>> print(pca.explained_variance_ratio_.round(4))
    [0.9924 0.0076]
    >>> print(pca.singular_values_.round(4))
    [6.3006 0.5498]
    >>> PCA(n_components=0.95).fit(X + 1e9).components_.shape  # far from the origin
    (1, 2)
    """

    _parameter_constraints: dict = {
        "n_components": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"mle"}),
            None,
        ],
        "copy": ["boolean"],
        "whiten": ["boolean"],
        "svd_solver": [StrOptions({"auto", "full", "covariance_eigh", "arpack", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "iterated_power": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
        "center": ["boolean"],
        "scale": ["boolean"],
        **CONSTRAINTS,
    }

    def __init__(
        self,
        n_components=None,
        *,
        copy=True,
        whiten=False,
        svd_solver="auto",
        tol=0.0,
        iterated_power="auto",
        n_oversamples=10,
        power_iteration_normalizer="auto",
        random_state=None,
        center=True,
        scale=False,
        n_jobs=None,
        memory=None,
        progress=None,
    ):
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.center = center
        self.scale = scale
        self.n_jobs = n_jobs
        self.memory = memory
        self.progress = progress

    @_fit_context(prefer_skip_nested_validation=True)
    @atomic_fit
    def fit(self, X, y=None):
        """Fit the model with X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), iterator of batches, or Arrow stream
            Training data. C-contiguous float64 and float32 is not copied. Batches are arrays or tables of any size;
            together they may be larger than memory.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted estimator. A fit that fails leaves it unchanged.
        """
        self._fit(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @atomic_fit
    def fit_transform(self, X, y=None):
        """Fit the model with X and apply the dimensionality reduction on X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Scores, with the same bits as those of :meth:`transform`.
        """
        X = self._fit(X)
        if X is None:
            raise TypeError("batches cannot be read twice: call fit, then transform for each batch")
        return self._scores(X)

    def plan(self, X):
        """Return what :meth:`fit` would do and need, without fitting.

        Parameters
        ----------
        X : array-like or tuple of int
            The data, or its shape.

        Returns
        -------
        Plan
            Route, memory and work. ``print(plan)`` shows them.
        """
        self._validate_params()
        shape = self._shape(X)
        sparse = sp.issparse(X)
        _, wanted = self._choose(shape, sparse)
        count = int(wanted) if isinstance(wanted, Integral) and wanted > 0 else None
        kind = "sparse" if sparse else "points"
        return Plan.of(_mercer.plan(self._pca_spec(count), kind, *shape, self._options()))

    def _pca_spec(self, count):
        """Returns the record of this PCA, whose tolerance allows passes over the data for few of many components."""
        route, tol = ROUTES.get(self.svd_solver, "auto"), self._tolerance() or DEFAULT_TOLERANCE
        return _spec.pca(count, center=self.center, scale=self.scale, route=route, tol=tol)

    def _fit_stream(self, X):
        """Fits to batches, each of which is read once."""
        state, dtype = None, None
        for batch in _batches.of(self, X):
            state = state or _mercer.PcaState.start(batch.shape[1], self._stream_spec())
            self._compute(batch, functools.partial(state.update, batch))
            dtype = batch.dtype if dtype is None else np.promote_types(dtype, batch.dtype)
        if state is None:
            raise ValueError("X has no batches, or none with rows")
        self._finish_stream(state, dtype)

    def _stream_route(self):
        return "svd" if self.svd_solver == "full" else "covariance"

    def _stream_spec(self, count=None):
        return _spec.pca(count, center=self.center, scale=self.scale, route=self._stream_route())

    def _finish_stream(self, state, dtype):
        """Makes the model of all rows in a state."""
        shape = (state.n, state.d)
        if not state.n:
            raise ValueError("X has no rows")
        if self.n_components == "mle" and shape[0] < shape[1]:
            raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
        wanted = min(shape) if self.n_components is None else self.n_components
        if isinstance(wanted, Integral) and not 1 <= wanted <= min(shape):
            raise ValueError(f"n_components={wanted} must be between 1 and min(n_samples, n_features)={min(shape)}")
        count = int(wanted) if isinstance(wanted, Integral) else None
        model = state.finish(self._stream_spec(count), self._options())
        self._fit_svd_solver = "full" if self._stream_route() == "svd" else "covariance_eigh"
        self._keep_fit(model if count else model.first(self._count(wanted, model, shape[0])), shape, dtype)

    def _fit(self, X):
        if _batches.is_stream(X):
            return self._fit_stream(X)
        if sp.issparse(X) and self.svd_solver not in ("auto", "arpack", "covariance_eigh"):
            raise TypeError(
                'PCA only support sparse inputs with the "arpack" and "covariance_eigh" solvers, while '
                f'"{self.svd_solver}" was passed. Use "auto".'
            )
        X = _data.checked(self, X, reset=True, sparse=("csr", "csc"), least=2 if self.center else 1)
        solver, wanted = self._choose(X.shape, sp.issparse(X))
        # A share, Minka's choice and zero components need the full spectrum.
        count = int(wanted) if isinstance(wanted, Integral) and wanted > 0 else None
        model = self._compute(X, lambda options: self._decompose(X, count, options), draw=True)
        if count is None:
            model = model.first(self._count(wanted, model, X.shape[0]))
        self._fit_svd_solver = solver
        self._keep_fit(model, X.shape, X.dtype)
        return X

    def _keep_fit(self, model, shape, dtype):
        """Sets the attributes from a model of data of this shape."""
        self._keep(model, dtype)
        self.n_samples_, self.n_components_ = shape[0], self._counted(len(self.components_))
        if self.scale:
            self.scale_ = self._cast(self._scale)
        elif hasattr(self, "scale_"):
            del self.scale_
        left = min(shape) - self.n_components_
        divisor = shape[0] - 1 if self.center else shape[0]
        noise = model.spectrum.discarded / left / divisor if left else 0.0
        self.noise_variance_ = self._dtype.type(noise)
        self._certify()

    def _counted(self, count):
        """Returns a number of components in the type that scikit-learn has: as given, NumPy's if it was computed."""
        wanted = self.n_components
        if wanted is None:
            return count
        return type(wanted)(count) if isinstance(wanted, Integral) else np.int64(count)

    def _decompose(self, X, count, options):
        spec = self._pca_spec(count)
        if sp.issparse(X):
            return _mercer.fit_sparse(spec, _data.compressed(X), options)
        return _mercer.fit_points(spec, X, options)

    def _choose(self, shape, sparse):
        """Returns the solver and the number of components, with scikit-learn's rules and messages."""
        solver, wanted, least = self.svd_solver, self.n_components, min(shape)
        if solver == "auto" and sparse:
            solver = "arpack"
        if wanted is None:
            wanted = least - 1 if solver == "arpack" else least
        if solver == "auto":
            if shape[1] <= 1000 and shape[0] >= 10 * shape[1]:
                solver = "covariance_eigh"
            elif max(shape) <= 500 or wanted == "mle":
                solver = "full"
            else:
                solver = "randomized" if 1 <= wanted < 0.8 * least else "full"
        if solver in ("full", "covariance_eigh"):
            if wanted == "mle":
                if shape[0] < shape[1]:
                    raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
            elif not 0 <= wanted <= least:
                raise ValueError(
                    f"n_components={wanted} must be between 0 and min(n_samples, n_features)={least} with "
                    f"svd_solver={solver!r}"
                )
        elif isinstance(wanted, str):
            raise ValueError(f"n_components={wanted!r} cannot be a string with svd_solver='{solver}'")
        elif isinstance(wanted, Integral):
            if not 1 <= wanted <= least:
                raise ValueError(
                    f"n_components={wanted} must be between 1 and min(n_samples, n_features)={least} with "
                    f"svd_solver='{solver}'"
                )
            if solver == "arpack" and wanted == least:
                raise ValueError(
                    f"n_components={wanted} must be strictly less than min(n_samples, n_features)={least} with "
                    f"svd_solver='{solver}'"
                )
        return solver, wanted

    def _count(self, wanted, model, n_samples):
        """Returns the number of components for a share or for Minka's choice."""
        spectrum = model.spectrum
        if wanted == "mle":
            return minka(spectrum.variances, n_samples)
        if wanted == 0:
            return 0
        # The smallest number of components with more than this share.
        return int(np.searchsorted(np.cumsum(spectrum.ratios), wanted, side="right")) + 1

    def score_samples(self, X):
        """Return the log-likelihood of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.

        Returns
        -------
        ll : ndarray of shape (n_samples,)
            Log-likelihood of each sample under the Gaussian model of probabilistic PCA.
        """
        check_is_fitted(self)
        X = _data.checked(self, X, reset=False)
        _data.assert_finite(self, X)
        centred, precision = X - self.mean_, self.get_precision()
        log_like = -0.5 * np.sum(centred * (centred @ precision), axis=1)
        sign, volume = np.linalg.slogdet(precision)
        return log_like - 0.5 * (X.shape[1] * log(2.0 * np.pi) - (volume if sign > 0 else -np.inf))

    def score(self, X, y=None):
        """Return the average log-likelihood of all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        ll : float
            Average log-likelihood of the samples under the current model.
        """
        return float(np.mean(self.score_samples(X)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = self.svd_solver in ("auto", "arpack", "covariance_eigh")
        return tags
