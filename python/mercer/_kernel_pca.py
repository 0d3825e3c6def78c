"""Kernel principal component analysis."""

from __future__ import annotations

import copy
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.exceptions import NotFittedError, PositiveSpectrumWarning
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _batches, _data, _gram, _mercer
from ._base import CONSTRAINTS, Estimator, warn, whole
from ._certificate import Certificate, Plan
from ._landmarks import ByLandmarks

#: Eigenvalues below this share of the largest count as zero, as in scikit-learn.
ZERO = {"float64": 1e-12, "float32": 2e-7}
#: Negative eigenvalues beyond this share of the largest, and this size, are significant, as in scikit-learn.
NEGATIVE = {"float64": (1e-5, 1e-10), "float32": (5e-3, 1e-6)}


class KernelPCA(ByLandmarks, Estimator):
    """Kernel principal component analysis.

    Exact, also for 100,000 points: a few components are found by passes over a Gram matrix that is never stored, and
    the result says how far it can be from the truth. With ``landmarks`` approximate, for millions of points and for
    data that comes in batches, and the result says what that costs.

    Parameters
    ----------
    n_components : int or float, default=None
        How many components to keep: a number, a share of the variance (``0.95``), or all that are not zero. A share may
        need very many where the spectrum is flat, and then takes as long as all of them.
    kernel : str, Kernel or callable, default='linear'
        One of

        - a name, with the parameters below and scikit-learn's defaults: ``'linear'``, ``'poly'``, ``'rbf'``,
          ``'sigmoid'``, ``'cosine'``, ``'laplacian'``, ``'matern'``, ``'rational_quadratic'``, and scikit-learn's
          pairwise names (``'chi2'``, ``'additive_chi2'``);
        - a text: ``"0.5*gaussian(gamma=median) + linear"``, with the parameters in it, and the defaults of
          :mod:`mercer.kernels` for those that are not;
        - a :class:`mercer.Kernel`, made by the functions of :mod:`mercer.kernels` with ``+`` and ``*``;
        - ``'precomputed'``: X is the Gram matrix;
        - a function of two points, or of two blocks of points that returns the matrix of values.
    gamma : float, 'median' or 'scale', default=None
        Of rbf, poly, sigmoid and laplacian. None means 1/n_features. ``'median'`` is 1 over the median statistic of
        pairs of points (their squared distance for rbf), ``'scale'`` is 1/(n_features * variance); both follow the
        units of the data.
    degree : float, default=3
        Of poly.
    coef0 : float, default=1
        Of poly and sigmoid.
    kernel_params : dict, default=None
        Keyword arguments of a kernel function.
    alpha : float, default=1.0
        The ridge of the inverse transform.
    fit_inverse_transform : bool, default=False
        Whether the inverse transform is learned, by ridge regression of the points on their scores.
    eigen_solver : {'auto', 'dense', 'arpack', 'randomized'}, default='auto'
        ``'dense'`` computes all eigenpairs of the stored Gram matrix; all others leave it to :meth:`plan`. All are
        exact.
    tol : float, default=0
        The residual that is good enough, relative to the largest eigenvalue; 0 means 1e-6, which gives eigenvalues to
        about 1e-12. 1e-3 is enough for a picture. Without effect on landmarks, but that ``landmarks='auto'`` is then
        exact.
    max_iter : int, default=None
        Without effect: a search that does not reach its tolerance is an error, never a silent result.
    iterated_power : int or 'auto', default='auto'
        Without effect: nothing is approximated.
    remove_zero_eig : bool, default=False
        Whether components with eigenvalue zero are left out when ``n_components`` is a number.
    random_state : int, RandomState instance or None, default=None
        Seeds landmarks and probes. None means always the same; results depend on it only within the tolerance.
    copy_X : bool, default=True
        Whether ``X_fit_`` is a copy of X.
    n_jobs : int, default=None
        Threads; None or -1 for one per core. Results do not depend on it.
    landmarks : int, 'auto' or array-like of shape (n_landmarks, n_features), default=None
        Kernel PCA by landmarks (Nystroem): so many of them, or these. ``'auto'`` takes 1,000 where exact components
        would not fit the memory or take more than about half an hour on two cores. None is exact.
    landmark_selection : {'kmeans', 'uniform', 'rpcholesky'}, default='kmeans'
        How landmarks are chosen, from a sample where points are many: centres of k-means (the most accurate for
        ordinary data), points at random, or points by randomly pivoted Cholesky (better with outliers).
    trace_error : float, default=None
        As many landmarks, by randomly pivoted Cholesky, as it takes to leave at most this share of the variance. In
        place of ``landmarks``.
    restore_mean : bool, default=False
        Whether the inverse transform regresses deviations from the mean of the data and adds the mean again, which
        scikit-learn's loses.
    memory : int or str, default=None
        Bytes that may be used, also as ``"8G"``; None for 8 GB. What needs more is refused before it starts.
    progress : bool or callable, default=None
        Whether passes are shown on standard error, or the function that is told of them (with a dictionary).

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the centred Gram matrix, decreasing.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Its eigenvectors, of unit length; the entry of largest magnitude of each is positive.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the scores, with divisor n - 1.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Its share of the whole variance behind the kernel, the trace of the centred Gram matrix.
    certificate_ : Certificate
        How far eigenvalues and directions can be from the truth.
    kernel_ : str or None
        The kernel with numbers for all parameters; None for functions and given matrices.
    gamma_ : float
        The gamma of the kernel, if it is a single one that has a gamma; else scikit-learn's default.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The fitted points. With landmarks there are no ``X_fit_`` and no ``eigenvectors_``.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        The landmarks, where there are any.
    n_samples_seen_ : int
        The number of samples that landmarks stand for.
    dual_coef_ : ndarray of shape (n_samples, n_features)
        Of the inverse transform.
    X_transformed_fit_ : ndarray of shape (n_samples, n_components)
        Scores of the fitted points, for the inverse transform.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where the data has names.

    See Also
    --------
    PCA : Linear structure.
    Nystroem : Approximate features of a kernel.

    Examples
    --------
    Two rings, which no straight line parts, are parted by the sign of the first score:

    >>> from sklearn.datasets import make_circles
    >>> from mercer import KernelPCA
    >>> X, ring = make_circles(400, factor=0.3, noise=0.03, random_state=0)
    >>> kpca = KernelPCA(n_components=2, kernel="rbf", gamma=3).fit(X)
    >>> scores = kpca.transform(X)
    >>> ((scores[:, 0] > 0) == (ring == ring[scores[:, 0].argmax()])).all()
    np.True_
    >>> print(kpca.certificate_)
    eigenvalues within ... of the largest, directions within ... rad; all pairs computed
    """

    _parameter_constraints: dict = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
        "kernel": [_gram.KernelNames(), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), StrOptions({"median", "scale"}), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_inverse_transform": ["boolean"],
        "eigen_solver": [StrOptions({"auto", "dense", "arpack", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "remove_zero_eig": ["boolean"],
        "random_state": ["random_state"],
        "copy_X": ["boolean"],
        "landmarks": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), "array-like", None],
        "landmark_selection": [StrOptions({"kmeans", "uniform", "rpcholesky"})],
        "trace_error": [Interval(Real, 0, 1, closed="neither"), None],
        "restore_mean": ["boolean"],
        **CONSTRAINTS,
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        alpha=1.0,
        fit_inverse_transform=False,
        eigen_solver="auto",
        tol=0,
        max_iter=None,
        iterated_power="auto",
        remove_zero_eig=False,
        random_state=None,
        copy_X=True,
        n_jobs=None,
        landmarks=None,
        landmark_selection="kmeans",
        trace_error=None,
        restore_mean=False,
        memory=None,
        progress=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs
        self.landmarks = landmarks
        self.landmark_selection = landmark_selection
        self.trace_error = trace_error
        self.restore_mean = restore_mean
        self.memory = memory
        self.progress = progress

    @_fit_context(prefer_skip_nested_validation=True)
    @whole
    def fit(self, X, y=None):
        """Fit the model from data in X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), iterator of batches, or Arrow stream
            Training data; the Gram matrix for ``kernel='precomputed'``. Batches need landmarks, which are chosen from
            the first of them.
        y : Ignored
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator. A fit that fails leaves it as it was.
        """
        self._fit(X, scores=False)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @whole
    def fit_transform(self, X, y=None, **params):
        """Fit the model from data in X and transform X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : Ignored
            Ignored.
        **params : Ignored
            Ignored.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Scores of the training data, ``eigenvectors_ * sqrt(eigenvalues_)``.
        """
        if _batches.is_stream(X):
            raise TypeError("batches that went by cannot be transformed: call fit, then transform for each batch")
        return self._fit(X, scores=True)

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
        n, d = self._shape(X)
        return Plan(*self._plan(self._source(d), n, d, self._options())[0])

    def _plan(self, source, n, d, options):
        """The plan, and whether a function's matrix is stored; where it does not fit, it is only multiplied by."""
        how = (self._wanted(n), self._tolerance())
        try:
            dense = self.eigen_solver == "dense"
            plan = _mercer.plan_kernel(source.text, n, d, *how, dense, self._approximate(source), options)
        except MemoryError:
            if not isinstance(source, _gram.Function) or how[0] is None:
                raise
            return _mercer.plan_operator(n, *how, options), False
        # The matrix of a function, and its transpose while it is compared with it, come on top.
        if isinstance(source, _gram.Function) and how[0] is not None and plan[2] + 16 * n * n > options.memory:
            return _mercer.plan_operator(n, *how, options), False
        return plan, True

    def _source(self, n_features):
        params = self.kernel_params if callable(self.kernel) else None
        return _gram.source(
            self.kernel, n_features, gamma=self.gamma, degree=self.degree, coef0=self.coef0, params=params
        )

    def _wanted(self, n_samples):
        """What the extension module is asked for: None stands for all components."""
        if isinstance(self.n_components, Integral):
            return min(int(self.n_components), n_samples)
        return self.n_components

    def _fit(self, X, *, scores):
        """Fits; the scores of X where they are asked for."""
        for attribute in ("_basis", "_sums", "landmarks_", "n_samples_seen_"):
            self.__dict__.pop(attribute, None)
        if _batches.is_stream(X):
            if self.fit_inverse_transform:
                raise ValueError("there is no inverse transform for data that comes in batches")
            self._take_batches(_batches.of(self, X), fresh=True)
            return None
        if self.fit_inverse_transform and self.kernel == "precomputed":
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        if self.fit_inverse_transform and sp.issparse(X):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices!")
        X = _data.checked(self, X, reset=True, sparse="csr", least=2, copy=self.copy_X)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            error = ValueError(f"a precomputed Gram matrix is square; X has shape {X.shape}")
            raise _data.explained(error, self, X)
        self._dtype = X.dtype
        source = self._source(X.shape[1])
        self._approximate(source)  # which may refuse
        model = self._compute(X, lambda options: self._decompose(source, X, options), draw=True)
        for attribute in ("_centerer", "dual_coef_", "X_transformed_fit_", "_inverse_mean"):
            self.__dict__.pop(attribute, None)
        if source.text is not None and not model.is_exact():
            if self.fit_inverse_transform:
                raise ValueError("fit_inverse_transform=True needs exact components: set landmarks=None")
            self._keep_landmarks(model)
            return self._scores(X) if scores else None
        self._keep(model, X.shape)
        self.X_fit_ = X
        if isinstance(source, _gram.Table):
            source = _gram.Table(model.kernel)
        self._kernel_source, self.kernel_ = source, source.text
        self.gamma_ = _gram.gamma_of(source, self.gamma, X.shape[1])
        found = self._scores_of_fitted()
        if self.fit_inverse_transform:
            self._fit_inverse(found, X)
        return found

    def _decompose(self, source, X, options):
        n, tolerance, dense = X.shape[0], self._tolerance(), self.eigen_solver == "dense"
        wanted = self._wanted(n)
        if source.text is not None:
            rows = _data.dense(X, options.memory) if sp.issparse(X) else X
            return _mercer.fit_kernel(source.text, rows, wanted, tolerance, dense, self._approximate(source), options)
        if isinstance(source, _gram.Given):
            K = X.toarray() if sp.issparse(X) else X
            return _mercer.fit_gram(_symmetric(K), wanted, tolerance, dense, options)
        source.look(X)
        _, stored = self._plan(source, n, X.shape[1], options)
        if stored:
            return _mercer.fit_gram(_symmetric(source.matrix(X, X, options)), wanted, tolerance, dense, options)

        def apply(vectors, is_cancelled):
            images = np.empty_like(vectors)
            for i in range(0, n, _gram.BLOCK):
                if is_cancelled():
                    raise KeyboardInterrupt
                images[:, i : i + _gram.BLOCK] = vectors @ source.matrix(X[i : i + _gram.BLOCK], X, options).T
            return images

        blocks = (X[i : i + 64] for i in range(0, n, 64))
        diagonal = np.concatenate([np.diag(source.matrix(b, b, options)) for b in blocks])
        return _mercer.fit_operator(apply, diagonal, wanted, tolerance, options)

    def _keep(self, model, shape):
        """Takes the attributes from a model of the extension module, zero eigenvalues as scikit-learn has them."""
        n, kind = shape[0], "float32" if self._dtype == np.float32 else "float64"
        values = model.eigenvalues
        largest = values[0] if len(values) else 0.0
        self._warn_of_negative(model, n, largest, kind)
        kept = int(np.sum(values > ZERO[kind] * largest))
        fixed = isinstance(self.n_components, Integral) and not self.remove_zero_eig
        self._take(model, kept, min(self.n_components, n) if fixed else kept)

    def _take(self, model, kept, width):
        """Takes the first so many components, completed by others of eigenvalue zero."""
        values, vectors = model.eigenvalues[:kept], model.vectors()[:, :kept]
        values = np.append(values, np.zeros(width - kept))
        if width > kept:
            vectors = _mercer.complete_axes(np.ascontiguousarray(vectors.T), width).T
        self._model, self._kept = model, kept
        self.eigenvalues_, self.eigenvectors_ = self._cast(values), self._cast(vectors)
        variances, ratios = model.variances()
        zeros = np.zeros(len(values) - kept)
        self.explained_variance_ = self._cast(np.concatenate([variances[:kept], zeros]))
        self.explained_variance_ratio_ = self._cast(np.concatenate([ratios[:kept], zeros]))
        self.certificate_ = Certificate.of(model)

    def _warn_of_negative(self, model, n, largest, kind):
        """Negative eigenvalues are an error where they are asked for, and are told of in any case."""
        negative = model.negative()
        if negative is None:
            return
        count, smallest, share = negative
        ratio, size = NEGATIVE[kind]
        if smallest > -ratio * largest or smallest > -size:
            return
        wanted = n if self.n_components is None else self._wanted(n)
        if isinstance(wanted, Integral) and wanted > n - count:
            ratio = -smallest / largest if largest else np.inf
            raise ValueError(
                f"There are significant negative eigenvalues ({ratio:g} of the maximum positive). Either "
                "the matrix is not PSD, or there was an issue while computing the eigendecomposition of the matrix. "
                f"{n - count} components are not negative: ask for at most so many."
            )
        warn(
            f"the kernel is not positive semi-definite: {count} of {n} eigenvalues of the centred Gram matrix are "
            f"negative, the smallest is {smallest:.3g} (the largest {largest:.3g}), and they have {share:.1%} of "
            "its mass",
            PositiveSpectrumWarning,
        )

    def _scores_of_fitted(self):
        scores = np.zeros((len(self.eigenvectors_), len(self.eigenvalues_)), dtype=self._dtype)
        scores[:, : self._kept] = self._model.scores()[:, : self._kept]
        return scores

    def transform(self, X):
        """Transform X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New points; for ``kernel='precomputed'`` their kernel values with the fitted points.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Scores. Each depends on its own point only, not on those that come with it.
        """
        check_is_fitted(self)
        return self._scores(_data.checked(self, X, reset=False, sparse="csr"))

    def _scores(self, X):
        found = self._compute(X, lambda options: self._transform(X, options))
        scores = np.zeros((X.shape[0], len(self.eigenvalues_)), dtype=np.result_type(X.dtype, self._dtype))
        scores[:, : self._kept] = found[:, : self._kept]
        return scores

    def _transform(self, X, options):
        source = self._kernel_source
        if source.text is not None:
            rows = _data.dense(X, options.memory) if sp.issparse(X) else X
            return self._model.transform(rows, options)
        if isinstance(source, _gram.Given):
            return self._model.transform(np.ascontiguousarray(X.toarray() if sp.issparse(X) else X), options)
        parts = range(0, max(1, X.shape[0]), _gram.BLOCK)
        parts = [source.matrix(X[i : i + _gram.BLOCK], self.X_fit_, options) for i in parts]
        return np.vstack([self._model.transform(K, options) for K in parts])

    def _fit_inverse(self, scores, X):
        """Ridge regression of the points on their scores, solved once."""
        n, options = len(X), self._options()
        if 3 * 8 * n * n > options.memory:
            raise MemoryError(
                f"the inverse transform of {n} points stores a matrix of {8 * n * n / 1e6:.0f} MB and a copy, where "
                f"{options.memory / 1e6:.0f} MB are allowed; fit fewer points or raise memory="
            )
        K = self._kernel_source.matrix(scores, scores, options)
        K.flat[:: n + 1] += self.alpha
        self._inverse_mean = X.mean(axis=0, dtype=np.float64) if self.restore_mean else np.zeros(X.shape[1])
        self.dual_coef_ = self._cast(np.linalg.solve(K, X - self._inverse_mean))
        self.X_transformed_fit_ = scores

    def inverse_transform(self, X):
        """Transform scores back to the original space, approximately.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Points whose scores are near to these: the prediction of the ridge regression that ``fit`` learned with
            ``fit_inverse_transform=True``. Like scikit-learn's it does not know of the mean of the data unless
            ``restore_mean=True``.
        """
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and hence "
                "the inverse transform is not available."
            )
        check_is_fitted(self)
        X = check_array(X, input_name="X", dtype=_data.FLOATS, accept_sparse="csr")
        if X.shape[1] != self.X_transformed_fit_.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} columns, but there are {self.X_transformed_fit_.shape[1]} components to map back"
            )
        K = self._kernel_source.matrix(X, self.X_transformed_fit_, self._options())
        back = K @ self.dual_coef_ + self._inverse_mean
        return back.astype(np.result_type(X.dtype, self._dtype), copy=False)

    def _saved_model(self):
        if isinstance(self._kernel_source, _gram.Function):
            raise ValueError(
                "a model of a kernel function cannot be saved, since a file carries no code: use a named kernel, or "
                "kernel='precomputed' with the Gram matrix"
            )
        return self._model

    def to_sklearn(self):
        """The same fitted model as an estimator of scikit-learn's.

        Returns
        -------
        estimator
            Of the class of the same name, with parameters and fitted attributes that it knows.
        """
        if hasattr(self, "landmarks_"):
            raise ValueError("scikit-learn's KernelPCA has no landmarks: its Nystroem with its PCA comes near")
        return super().to_sklearn()

    def _front(self):
        shown = self
        if not isinstance(self.landmarks, Integral | str | None):  # the points themselves are in the model
            shown = copy.copy(self)
            shown.landmarks = len(self.landmarks_)
        return {**super(KernelPCA, shown)._front(), "width": len(self.eigenvalues_), "kept": self._kept}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    @property
    def _n_features_out(self):
        return self.eigenvalues_.shape[0]


def _symmetric(K):
    """A given matrix in float64, averaged with its transpose where they differ, which is said if it is no rounding."""
    K = np.ascontiguousarray(K, dtype=np.float64)
    steps = range(0, len(K), _gram.BLOCK)
    apart = max((np.abs(K[i : i + _gram.BLOCK] - K.T[i : i + _gram.BLOCK]).max() for i in steps), default=0.0)
    if not apart > 0.0:
        return K
    if apart > 1e-6 * max(np.abs(K[i : i + _gram.BLOCK]).max() for i in steps):
        warn(
            f"the Gram matrix is not symmetric (entries differ by up to {apart:.3g} from their mirror images); "
            "its mean with its transpose is used"
        )
    return (K + K.T) / 2
