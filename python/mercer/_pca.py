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

from . import _batches, _data, _mercer
from ._base import CONSTRAINTS, whole
from ._certificate import Certificate, Plan
from ._linear_model import LinearModel
from ._minka import minka

#: The route of the extension module for a solver of scikit-learn's. All of ours are exact.
ROUTES = {"full": "svd", "covariance_eigh": "covariance"}
#: Up to this size ``'auto'`` decomposes the data itself where scikit-learn does: small components keep their digits.
SVD_UP_TO = 1000


class PCA(LinearModel):
    """Principal component analysis.

    Exact for every solver, safe for data far from the origin, never densifying sparse data, and the same to the last
    bit on any number of threads.

    Parameters
    ----------
    n_components : int, float or 'mle', default=None
        How many components to keep: a number, a share of the variance (``0.95``), Minka's choice (``'mle'``), or all,
        ``min(n_samples, n_features)`` of them. A share works with every solver.
    copy : bool, default=True
        Without effect: the data is never changed.
    whiten : bool, default=False
        Whether scores are divided by their standard deviation. Scores of components without variance are 0.
    svd_solver : {'auto', 'full', 'covariance_eigh', 'arpack', 'randomized'}, default='auto'
        What is decomposed: the covariance matrix for ``'covariance_eigh'``, the data itself for ``'full'``, and
        whatever is best otherwise, see :meth:`plan`; all are exact. For sparse data, ``'auto'``, ``'arpack'`` or
        ``'covariance_eigh'``.
    tol : float, default=0.0
        The residual that is good enough where components are found by passes over the data, relative to the largest
        eigenvalue; 0 means 1e-6, which gives eigenvalues to about 1e-12.
    iterated_power : int or 'auto', default='auto'
        Without effect: nothing is approximated.
    n_oversamples : int, default=10
        Without effect.
    power_iteration_normalizer : {'auto', 'QR', 'LU', 'none'}, default='auto'
        Without effect.
    random_state : int, RandomState instance or None, default=None
        Seeds the probes of passes over the data; results do not depend on it beyond the tolerance.
    center : bool, default=True
        Whether the mean is subtracted. Without it variances are mean squares, with divisor n.
    scale : bool, default=False
        Whether features are divided by their standard deviation, with divisor n - 1. A constant feature is left as it
        is.
    n_jobs : int, default=None
        Threads; None or -1 for one per core. Results do not depend on it.
    memory : int or str, default=None
        Bytes that may be used, also as ``"8G"``; None for 8 GB. What needs more is refused before it starts.
    progress : bool or callable, default=None
        Whether passes over the data are shown on standard error, or the function that is told of them.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The axes, by decreasing variance; the entry of largest magnitude of each is positive.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the scores, with divisor n - 1.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Its share of the variance of the data, all of it.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of the centred data.
    mean_ : ndarray of shape (n_features,)
        What is subtracted.
    scale_ : ndarray of shape (n_features,)
        What features are divided by, with ``scale=True``.
    n_components_ : int
        The number of components.
    n_samples_ : int
        The number of samples.
    noise_variance_ : float
        The mean variance of the directions that were not kept.
    certificate_ : Certificate
        How far eigenvalues (of the scatter matrix: ``singular_values_ ** 2``) and directions can be from the truth.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where the data has names.

    See Also
    --------
    KernelPCA : Non-linear structure.
    IncrementalPCA : Data that comes in batches.

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
    @whole
    def fit(self, X, y=None):
        """Fit the model with X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), iterator of batches, or Arrow stream
            Training data. C-contiguous float64 and float32 is not copied. Batches (arrays or tables, of any sizes) may
            be more than memory holds.
        y : Ignored
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator. A fit that fails leaves it as it was.
        """
        self._fit(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @whole
    def fit_transform(self, X, y=None):
        """Fit the model with X and apply the dimensionality reduction on X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : Ignored
            Ignored.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Scores: the same bits as those of :meth:`transform`.
        """
        X = self._fit(X)
        if X is None:
            raise TypeError("batches that went by cannot be transformed: call fit, then transform for each batch")
        return self._scores(X)

    def plan(self, X):
        """What :meth:`fit` would do and need, without doing it.

        Parameters
        ----------
        X : array-like or tuple of int
            The data, or its shape.

        Returns
        -------
        Plan
            Route, memory, work; printed, a few lines.
        """
        self._validate_params()
        shape = self._shape(X)
        sparse = sp.issparse(X)
        solver, wanted = self._choose(shape, sparse)
        count = int(wanted) if isinstance(wanted, Integral) and wanted > 0 else None
        how = (count, self.center, self._route(shape, sparse, solver), self._options(), self._tolerance())
        route, why, *rest = _mercer.plan_pca(*shape, sparse, *how)
        if why == "asked for" and self.svd_solver == "auto":
            ours = "few values: the data itself"
            rest[-1], why = rest[-1].replace(why, ours), ours
        return Plan(route, why, *rest)

    def _route(self, shape, sparse, solver):
        """The route that the extension module is asked for."""
        if self.svd_solver == "auto" and not sparse:
            return "svd" if solver == "full" and max(shape) <= SVD_UP_TO else "auto"
        return ROUTES.get(self.svd_solver, "auto")

    def _fit_stream(self, X):
        """Batches that go by once: their moments add up."""
        state, dtype = None, None
        for batch in _batches.of(self, X):
            state = state or _mercer.PcaState(batch.shape[1], self._stream_route())
            self._compute(batch, functools.partial(state.update, batch))
            dtype = batch.dtype if dtype is None else np.promote_types(dtype, batch.dtype)
        if state is None:
            raise ValueError("there are no batches, or none with rows")
        self._finish_stream(state, dtype)

    def _stream_route(self):
        return "svd" if self.svd_solver == "full" else "covariance"

    def _finish_stream(self, state, dtype):
        """Makes a model of all that a state has seen."""
        shape = (state.n, state.d)
        if not state.n:
            raise ValueError("there are no rows")
        if self.n_components == "mle" and shape[0] < shape[1]:
            raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
        wanted = min(shape) if self.n_components is None else self.n_components
        if isinstance(wanted, Integral) and not 1 <= wanted <= min(shape):
            raise ValueError(f"n_components={wanted} must be between 1 and min(n_samples, n_features)={min(shape)}")
        count = int(wanted) if isinstance(wanted, Integral) else None
        model = state.finish(count, self.center, self.scale, self._options())
        self._fit_svd_solver = "full" if self._stream_route() == "svd" else "covariance_eigh"
        self._keep_fit(model if count else model.first(self._count(wanted, model, shape[0])), shape, dtype)

    def _fit(self, X):
        if _batches.is_stream(X):
            return self._fit_stream(X)
        if sp.issparse(X) and self.svd_solver not in ("auto", "arpack", "covariance_eigh"):
            raise TypeError(
                'PCA only support sparse inputs with the "arpack" and "covariance_eigh" solvers, while '
                f'"{self.svd_solver}" was passed. Use "auto" for the best exact one.'
            )
        X = _data.checked(self, X, reset=True, sparse=("csr", "csc"), least=2 if self.center else 1)
        solver, wanted = self._choose(X.shape, sp.issparse(X))
        # A share, Minka's rule and no component at all are chosen from the whole spectrum.
        count = int(wanted) if isinstance(wanted, Integral) and wanted > 0 else None
        model = self._compute(X, lambda options: self._decompose(X, count, solver, options), draw=True)
        if count is None:
            model = model.first(self._count(wanted, model, X.shape[0]))
        self._fit_svd_solver = solver
        self._keep_fit(model, X.shape, X.dtype)
        return X

    def _keep_fit(self, model, shape, dtype):
        """Takes the attributes of a model of data of this shape."""
        self._keep(model, dtype)
        self.n_samples_, self.n_components_ = shape[0], len(self.components_)
        if self.scale:
            self.scale_ = self._cast(self._scale)
        elif hasattr(self, "scale_"):
            del self.scale_
        left = min(shape) - self.n_components_
        divisor = shape[0] - 1 if self.center else shape[0]
        noise = model.total()[1] / left / divisor if left else 0.0
        self.noise_variance_ = self._dtype.type(noise)
        self.certificate_ = Certificate.of(model)

    def _decompose(self, X, count, solver, options):
        sparse = sp.issparse(X)
        how = (count, self.center, self.scale, self._route(X.shape, sparse, solver), options, self._tolerance())
        return _mercer.fit_sparse(_data.compressed(X), *how) if sparse else _mercer.fit_pca(X, *how)

    def _choose(self, shape, sparse):
        """The solver by its name, and the number of components, with scikit-learn's rules and messages."""
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
        """How many components a share, or Minka's rule, asks for."""
        variances, ratios = model.variances()
        if wanted == "mle":
            return minka(variances, n_samples)
        if wanted == 0:
            return 0
        # The first number of components with more than this share.
        return int(np.searchsorted(np.cumsum(ratios), wanted, side="right")) + 1

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
            Ignored.

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
