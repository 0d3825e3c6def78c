"""Kernel principal component analysis."""

from __future__ import annotations

import copy
from numbers import Integral, Real

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _batches, _data, _gram, _mercer, _spec
from ._base import CONSTRAINTS, Estimator, atomic_fit, warn
from ._certificate import Certificate, Plan
from ._landmarks import ByLandmarks
from ._verification import Verifiable
from .exceptions import AsymmetricMatrixWarning, IndefiniteKernelWarning

#: Eigenvalues below this share of the largest count as zero, as in scikit-learn.
ZERO = {"float64": 1e-12, "float32": 2e-7}
#: Negative eigenvalues are significant beyond this share of the largest and this magnitude, as in scikit-learn.
NEGATIVE = {"float64": (1e-5, 1e-10), "float32": (5e-3, 1e-6)}


class KernelPCA(Verifiable, ByLandmarks, Estimator):
    """Kernel principal component analysis.

    By default it is exact, also for 100,000 points: a few components are found by passes over a Gram matrix that is
    not stored, with error bounds in ``certificate_``. With ``landmarks`` it is approximate (Nystroem), for millions of
    points and for data in batches; the certificate then has the approximation error.

    Parameters
    ----------
    n_components : int or float, default=None
        Number of components to keep: a number, a share of the variance (``0.95``), or None for all that are not zero. A
        share of a flat spectrum needs many components, which takes as long as all of them.
    kernel : str, Kernel or callable, default='linear'
        One of

        - a name, used with the parameters below and scikit-learn's defaults: ``'linear'``, ``'poly'``, ``'rbf'``,
          ``'sigmoid'``, ``'cosine'``, ``'laplacian'``, ``'chi2'``, any other kernel of :mod:`mercer.kernels`, such as
          ``'matern'`` or ``'tanimoto'``, and scikit-learn's pairwise ``'additive_chi2'``;
        - an expression with its own parameters, such as ``"0.5*gaussian(gamma=median) + linear"``; parameters that it
          does not give have the defaults of :mod:`mercer.kernels`;
        - a :class:`mercer.Kernel`, made with the functions of :mod:`mercer.kernels`, ``+`` and ``*``;
        - ``'precomputed'``: X is the Gram matrix;
        - a function of two points, or a function of two blocks of points that returns the matrix of values.
    gamma : float, 'median' or 'scale', default=None
        Parameter of rbf, poly, sigmoid, laplacian and chi2. None means 1/n_features, but 1 for chi2. ``'median'`` is 1
        over the median of the squared distance (rbf), of the L1 distance (laplacian) or of the chi-squared distance
        (chi2) of pairs of points. ``'scale'`` is 1/(n_features * variance). Both adapt to the units of the data.
    degree : float, default=3
        Parameter of poly.
    coef0 : float, default=1
        Parameter of poly and sigmoid.
    kernel_params : dict, default=None
        Keyword arguments of a kernel function.
    alpha : float, default=1.0
        Ridge parameter of the inverse transform.
    fit_inverse_transform : bool, default=False
        Whether to learn the inverse transform, by ridge regression of the points on their scores.
    eigen_solver : {'auto', 'dense', 'arpack', 'randomized'}, default='auto'
        ``'dense'`` computes all eigenpairs of the stored Gram matrix. The others choose the method, see :meth:`plan`.
        All are exact. ``'randomized'`` refuses, as in scikit-learn, a Gram matrix with a negative eigenvalue of larger
        magnitude than those of the components.
    tol : float, default=0
        Largest residual, relative to the largest eigenvalue. 0 means 1e-6, which makes eigenvalues accurate to about
        1e-12. 1e-3 is enough for a plot. A tolerance makes ``landmarks='auto'`` exact; a fit by landmarks does not use
        it.
    max_iter : int, default=None
        Not used: a search that does not reach its tolerance raises an error.
    iterated_power : int or 'auto', default='auto'
        Not used: all solvers are exact.
    remove_zero_eig : bool, default=False
        Whether to drop components with eigenvalue zero when ``n_components`` is a number.
    random_state : int, RandomState instance or None, default=None
        Random seed of landmarks and of the search. None means a fixed seed. Exact results depend on it only within the
        tolerance.
    copy_X : bool, default=True
        Whether ``X_fit_`` is a copy of X.
    n_jobs : int, default=None
        Number of threads; None or -1 for one per core. Results do not depend on it.
    landmarks : int, 'auto' or array-like of shape (n_landmarks, n_features), default=None
        Number of landmarks (Nystroem), or the landmarks themselves. ``'auto'`` takes 1,000 if exact components would
        need more than ``memory`` or more than about 30 minutes on two cores. None is exact.
    landmark_selection : {'kmeans', 'uniform', 'rpcholesky'}, default='kmeans'
        How landmarks are chosen, from a sample if there are many points: centres of k-means (the most accurate for most
        data), random points, or points by randomly pivoted Cholesky (better with outliers).
    trace_error : float, default=None
        Largest share of the variance that landmarks may leave out. They are chosen by randomly pivoted Cholesky. It
        replaces ``landmarks``.
    restore_mean : bool, default=False
        Whether the inverse transform regresses deviations from the mean and adds the mean again. scikit-learn does not.
    memory : int or str, default=None
        Memory limit in bytes or as text, such as ``"8G"``; None for 8 GB, or for 60 % of what this process may
        still use if that is less. A fit that needs more raises MemoryError before it starts.
    progress : bool or callable, default=None
        Whether to show passes on standard error, or a function that gets a dictionary for each step.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the centred Gram matrix, decreasing. As in scikit-learn, those below 1e-12 of the largest (2e-7
        for float32) count as zero.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Unit eigenvectors of the centred Gram matrix; the entry of largest magnitude of each is positive. A component
        with eigenvalue zero has no direction: its vector is any that is orthogonal to the others. In float32 entries
        are rounded, by up to 6e-8 of their size.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the scores, with divisor n - 1.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the total variance, which is the trace of the centred Gram matrix.
    certificate_ : Certificate
        Error bounds of the eigenvalues and directions, one for each of ``eigenvalues_``. For a kernel function they are
        bounds for the matrix that the function returned.
    kernel_ : str or None
        The kernel with numbers for all parameters; None for kernel functions and precomputed matrices.
    gamma_ : float
        The gamma of the kernel, or scikit-learn's default if it is a sum or product or has no gamma.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The fitted points. A model by landmarks has no ``X_fit_`` and no ``eigenvectors_``.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        The landmarks, if there are any.
    n_samples_seen_ : int
        The number of samples that were read, if there are landmarks.
    dual_coef_ : ndarray of shape (n_samples, n_features)
        Coefficients of the inverse transform.
    X_transformed_fit_ : ndarray of shape (n_samples, n_components)
        Scores of the fitted points, for the inverse transform.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the data has names.

    See Also
    --------
    PCA : Linear principal components.
    Nystroem : Approximate features of a kernel.

    Examples
    --------
    The sign of the first score separates two rings, which no straight line does:

    >>> from sklearn.datasets import make_circles
    >>> from mercer import KernelPCA
    >>> X, ring = make_circles(400, factor=0.3, noise=0.03, random_state=0)
    >>> kpca = KernelPCA(n_components=2, kernel="rbf", gamma=3).fit(X)
    >>> scores = kpca.transform(X)
    >>> ((scores[:, 0] > 0) == (ring == ring[scores[:, 0].argmax()])).all()
    np.True_
    >>> print(kpca.certificate_)
    eigenvalues accurate to ... of the largest, directions to ... rad; all eigenpairs computed
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
    @atomic_fit
    def fit(self, X, y=None):
        """Fit the model from data in X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), iterator of batches, or Arrow stream
            Training data; the Gram matrix for ``kernel='precomputed'``. Batches need ``landmarks``, which are chosen
            from the first rows.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted estimator. A fit that fails leaves it unchanged.
        """
        self._fit(X, scores=False)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @atomic_fit
    def fit_transform(self, X, y=None, **params):
        """Fit the model from data in X and transform X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : Ignored
            Not used, present for API consistency.
        **params : Ignored
            Not used, present for API consistency.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Scores of the training data, ``eigenvectors_ * sqrt(eigenvalues_)``.
        """
        if _batches.is_stream(X):
            raise TypeError("batches cannot be read twice: call fit, then transform for each batch")
        return self._fit(X, scores=True)

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
        n, d = self._shape(X)
        source, options = self._source(d), self._options()
        spec = self._points_spec(source, n)
        kind = "points" if source.text else "function" if isinstance(source, _gram.Function) else "gram"
        return Plan.of(_mercer.plan(spec, kind, n, d, options))

    def _points_spec(self, source, n):
        """Returns the record of what is fitted to n points. Raises an error if landmarks do not suit the kernel."""
        dense, approx = self.eigen_solver == "dense", self._approximate(source)
        return _spec.kernel_pca(source.text, self._wanted(n), tol=self._tolerance(), dense=dense, approx=approx)

    def _source(self, n_features):
        params = self.kernel_params if callable(self.kernel) else None
        return _gram.source(
            self.kernel, n_features, gamma=self.gamma, degree=self.degree, coef0=self.coef0, params=params
        )

    def _wanted(self, n_samples):
        """Returns the number or share of components; None for all."""
        if isinstance(self.n_components, Integral):
            return min(int(self.n_components), n_samples)
        return self.n_components

    def _fit(self, X, *, scores):
        """Fits the model. Returns the scores of X if ``scores``, else None."""
        for attribute in ("_basis", "_sums", "landmarks_", "n_samples_seen_"):
            self.__dict__.pop(attribute, None)
        if _batches.is_stream(X):
            if self.fit_inverse_transform:
                raise ValueError("fit_inverse_transform=True is not supported for batches: set it to False")
            self._take_batches(_batches.of(self, X), fresh=True)
            return None
        if self.fit_inverse_transform and self.kernel == "precomputed":
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        if self.fit_inverse_transform and sp.issparse(X):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices!")
        X = _data.checked(self, X, reset=True, sparse="csr", least=2, copy=self.copy_X)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            error = ValueError(f"a precomputed Gram matrix must be square, but X has shape {X.shape}")
            raise _data.explained(error, self, X)
        self._dtype = X.dtype
        source = self._source(X.shape[1])
        if self.fit_inverse_transform and source.text is not None and source.parsed.is_non_negative:
            raise ValueError(
                f"fit_inverse_transform=True needs kernel values of scores, which can be negative, but {source.text} "
                "is not defined for negative values: set it to False, or use another kernel"
            )
        spec = self._points_spec(source, X.shape[0])
        model = self._compute(X, lambda options: self._decompose(spec, source, X, options), draw=True)
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
        if not (scores or self.fit_inverse_transform):
            return None
        found = self._scores_of_fitted()
        if self.fit_inverse_transform:
            self._fit_inverse(found, X)
        return found

    def _decompose(self, spec, source, X, options):
        n = X.shape[0]
        if source.text is not None:
            rows = _data.dense(X, options.memory) if sp.issparse(X) else X
            return _mercer.fit_points(spec, rows, options)
        if isinstance(source, _gram.Given):
            K = X.toarray() if sp.issparse(X) else X
            return _mercer.fit_gram(spec, _symmetric(K), _mercer.plan(spec, "gram", n, 1, options), options)
        source.probe(X)
        plan = _mercer.plan(spec, "function", n, 1, options)
        if plan.stores_matrix:
            K = source.matrix(X, X, options)
            source.check_symmetric(X, K)
            return _mercer.fit_gram(spec, _symmetric(K), plan, options)

        def apply(vectors, is_cancelled):
            images = np.empty_like(vectors)
            for i in range(0, n, _gram.BLOCK):
                if is_cancelled():
                    raise KeyboardInterrupt
                images[:, i : i + _gram.BLOCK] = vectors @ source.matrix(X[i : i + _gram.BLOCK], X, options).T
            return images

        diagonal = source.diagonal(X, options)
        return _mercer.fit_operator(spec, apply, diagonal, plan, options)

    def _keep(self, model, shape):
        """Sets the attributes from a model of the extension module, with zero eigenvalues as in scikit-learn."""
        n, kind = shape[0], "float32" if self._dtype == np.float32 else "float64"
        values = model.eigenvalues
        largest = values[0] if len(values) else 0.0
        self._warn_of_negative(model, n, largest, kind)
        kept = int(np.sum(values > ZERO[kind] * largest))
        if kept < len(values):
            model = model.first(kept)
        fixed = isinstance(self.n_components, Integral) and not self.remove_zero_eig
        self._take(model, min(self.n_components, n) if fixed else kept)

    def _take(self, model, width):
        """Sets the attributes from a model, completed to ``width`` components by ones of eigenvalue zero."""
        vectors, spectrum = model.vectors(), model.spectrum
        self._model, self._kept = model, vectors.shape[1]
        if width > self._kept:
            vectors = _mercer.complete_axes(np.ascontiguousarray(vectors.T), width).T
        zeros = np.zeros(width - self._kept)
        self.eigenvectors_ = self._cast(vectors)
        self.eigenvalues_ = self._cast(np.append(model.eigenvalues, zeros))
        self.explained_variance_ = self._cast(np.append(spectrum.variances, zeros))
        self.explained_variance_ratio_ = self._cast(np.append(spectrum.ratios, zeros))
        self._certify()

    def _certify(self):
        """Sets the certificate of the components as they are shown."""
        self.certificate_ = Certificate.of(self._model, self.eigenvalues_)

    def _warn_of_negative(self, model, n, largest, kind):
        """Raises an error if components with negative eigenvalues are wanted, and warns if there are any."""
        negative = model.negative
        if negative is None:
            return
        count, smallest = negative.count, negative.smallest
        ratio, size = NEGATIVE[kind]
        if smallest > -ratio * largest or smallest > -size:
            return
        wanted, most = n if self.n_components is None else self._wanted(n), n - count
        remedy = f"Use n_components={most} or less."
        if self.eigen_solver == "randomized":
            # As in scikit-learn, where this solver takes eigenvalues by magnitude.
            most = int(np.sum(model.eigenvalues >= -smallest))
            remedy = "Use another eigen_solver, which takes the largest."
        if isinstance(wanted, Integral) and wanted > most:
            ratio = -smallest / largest if largest else np.inf
            raise ValueError(
                f"There are significant negative eigenvalues ({ratio:g} of the maximum positive). Either "
                "the matrix is not PSD, or there was an issue while computing the eigendecomposition of the matrix. "
                f"{remedy}"
            )
        warn(
            IndefiniteKernelWarning(
                "the kernel is not positive semi-definite: the centred Gram matrix has negative eigenvalues. They have "
                "no components, and shares of the variance are of the sum of the magnitudes of all eigenvalues",
                negative=count,
                n=n,
                smallest=smallest,
                largest=float(largest),
                share=negative.share,
            )
        )

    def _scores_of_fitted(self):
        scores = np.zeros((len(self.eigenvectors_), len(self.eigenvalues_)), dtype=self._dtype)
        scores[:, : self._kept] = self._model.scores()
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
            Scores. The scores of a point do not depend on the other points in X.
        """
        check_is_fitted(self)
        return self._scores(_data.checked(self, X, reset=False, sparse="csr"))

    def _scores(self, X):
        found = self._compute(X, lambda options: self._transform(X, options))
        scores = np.zeros((X.shape[0], len(self.eigenvalues_)), dtype=np.result_type(X.dtype, self._dtype))
        scores[:, : self._kept] = found
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

    def _verified_rows(self, X, options):
        source = self._kernel_source
        if source.text is not None or isinstance(source, _gram.Given):
            return super()._verified_rows(X, options)
        # The kernel is a function of Python: the Gram matrix that it gives is verified.
        return np.ascontiguousarray(source.matrix(X, self.X_fit_, options))

    def _fit_inverse(self, scores, X):
        """Fits the ridge regression of the points on their scores."""
        n, options = len(X), self._options()
        if 3 * 8 * n * n > options.memory:
            raise MemoryError(
                f"the inverse transform of {n} points needs {3 * 8 * n * n / 1e6:.0f} MB, but memory allows "
                f"{options.memory / 1e6:.0f} MB; fit fewer points or raise memory"
            )
        K = self._kernel_source.matrix(scores, scores, options)
        self._inverse_mean = X.mean(axis=0, dtype=np.float64) if self.restore_mean else np.zeros(X.shape[1])
        self.dual_coef_ = self._cast(_ridge(K, self.alpha, X - self._inverse_mean, np.finfo(self._dtype).eps))
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
            Points whose scores are close to X, predicted by the ridge regression that ``fit`` learned with
            ``fit_inverse_transform=True``. As in scikit-learn, the mean of the data is lost unless
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
                f"X has {X.shape[1]} columns, but the model has {self.X_transformed_fit_.shape[1]} components"
            )
        K = self._kernel_source.matrix(X, self.X_transformed_fit_, self._options())
        back = K @ self.dual_coef_ + self._inverse_mean
        return back.astype(np.result_type(X.dtype, self._dtype), copy=False)

    def _saved_model(self):
        if isinstance(self._kernel_source, _gram.Function):
            raise ValueError(
                "a model with a kernel function cannot be saved, since a file carries no code: use a named kernel, or "
                "kernel='precomputed' with the Gram matrix"
            )
        return self._model

    def to_sklearn(self):
        """Convert the fitted model to scikit-learn, without fitting again.

        Returns
        -------
        estimator
            A fitted estimator of scikit-learn's class of the same name.
        """
        if hasattr(self, "landmarks_"):
            raise ValueError("scikit-learn's KernelPCA has no landmarks: use its Nystroem followed by its PCA")
        return super().to_sklearn()

    def _front(self):
        shown = self
        if not isinstance(self.landmarks, Integral | str | None):  # the model file has the landmarks
            shown = copy.copy(self)
            shown.landmarks = len(self.landmarks_)
        return {**super(KernelPCA, shown)._front(), "width": len(self.eigenvalues_)}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    @property
    def _n_features_out(self):
        return self.eigenvalues_.shape[0]


def _ridge(K, alpha, Y, eps):
    """Returns ``(K + alpha I)^-1 Y``, for K of values that are accurate to ``eps``. It may change K.

    What Y has outside the range of K, such as the mean of the data for a linear kernel, is divided by alpha and then
    multiplied by the rounding of K. If alpha is so small that this would show, it is left out, as in the limit of a
    small alpha.
    """
    if alpha > eps ** (2 / 3) * np.linalg.norm(K):
        K.flat[:: len(K) + 1] += alpha
        return np.linalg.solve(K, Y)
    values, vectors = scipy.linalg.eigh(K, overwrite_a=True)
    kept = values > 16 * eps * np.abs(values).max(initial=0.0)
    values, vectors = values[kept], vectors[:, kept]
    return vectors @ ((vectors.T @ Y) / (values + alpha)[:, None])


def _symmetric(K):
    """Returns the mean of a matrix and its transpose. Warns if they differ by more than rounding."""
    K = np.ascontiguousarray(K, dtype=np.float64)
    row, column, difference = _gram.most_apart(K)
    if not difference > 0.0:
        return K
    if difference > _gram.ASYMMETRY * max(K.max(), -K.min()):
        text = "the Gram matrix is not symmetric; the mean of the matrix and its transpose is used"
        warn(AsymmetricMatrixWarning(text, row=row, column=column, difference=difference))
    return (K + K.T) / 2
