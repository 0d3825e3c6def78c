"""Sources of kernel values: a kernel of the table, a callable, or a given matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import KERNEL_PARAMS, PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.utils._param_validation import StrOptions

from . import _data, _mercer
from .kernels import TABLE, Kernel

#: Kernel parameters of the estimators, with scikit-learn's defaults.
DEFAULTS = {"gamma": None, "coef0": 1.0, "degree": 3}
NAMES = {name: entry["name"] for entry in TABLE for name in (entry["name"], *entry["aliases"])}
#: Kernels of the table that need no other parameters than these, by name.
PLAIN = {
    entry["name"]: tuple(p["name"] for p in entry["parameters"] if p["name"] in DEFAULTS)
    for entry in TABLE
    if not any(p["name"] not in DEFAULTS and p["default"] for p in entry["parameters"])
}
#: Rows of kernel values that a callable computes at a time.
BLOCK = 1024
#: From this many points on, a callable is tested for whether it takes blocks.
PROBE_FROM = 64
#: Pairs of points for which a function of two points is also called in the other order.
SYMMETRY_PAIRS = 64
#: Larger differences between a matrix and its transpose, relative to its largest value, are not rounding.
ASYMMETRY = 1e-6


class KernelNames(StrOptions):
    """Accepts names of kernels and expressions; an invalid expression gets its own error later."""

    def __init__(self):
        super().__init__(set(NAMES) | set(PAIRWISE_KERNEL_FUNCTIONS) | {"precomputed"})

    def is_satisfied_by(self, val):
        return isinstance(val, str) and (val in self.options or any(c in val for c in "(+*"))


class Given:
    """A kernel matrix that the user computes."""

    text = None

    def matrix(self, X, Y, options):
        return np.asarray(X, dtype=np.float64)


class Table:
    """A kernel expression that the extension module evaluates."""

    def __init__(self, text):
        self.text = text

    @property
    def parsed(self):
        """The name, the parameters and the properties of the kernel."""
        return _mercer.parse_kernel(self.text)

    def check(self, X):
        """Raises an error that names the first value in ``X`` that the kernel is not defined for.

        The extension module does that too, but it counts rows in the block that it is given.
        """
        rows, columns = (X < 0).nonzero() if self.parsed.is_non_negative else ((), ())
        if len(rows):
            i, j = rows[0], columns[0]
            raise ValueError(f"{self.text}: value {X[i, j]:g} in row {i}, column {j} (from 0); expected value >= 0")

    def matrix(self, X, Y, options):
        """Returns ``k(x, y)`` for all rows of ``X`` and ``Y``."""
        X, Y = _rows(X, options), _rows(Y, options)
        if X.dtype != Y.dtype:
            X, Y = X.astype(np.float64, copy=False), Y.astype(np.float64, copy=False)
        return _mercer.kernel_matrix(self.text, X, Y, options)


class Function:
    """A callable of two points or of two blocks of points, or a pairwise kernel of scikit-learn by name."""

    text = None

    def __init__(self, function, parameters, name=None):
        self.function, self.parameters, self.name = function, parameters, name
        #: Whether the callable takes blocks; None before that is tested.
        self.blocks = None

    def probe(self, X):
        """Tests whether the callable takes blocks: it must give the same values as for pairs.

        For few points there is no test, and pairs are tried first.
        """
        if self.name is None and X.shape[0] >= PROBE_FROM:
            x, y = X[:2], X[-3:]
            try:
                together = self._of_blocks(x, y)
            except Exception:
                return self
            try:
                self.blocks = np.allclose(together, self._of_pairs(x, y), rtol=1e-6, atol=1e-300)
            except Exception:
                self.blocks = True
        return self

    def matrix(self, X, Y, options):
        """Returns ``k(x, y)`` for all rows of ``X`` and ``Y``."""
        if self.name is not None:
            # Some kernels of scikit-learn cannot take read-only arrays.
            X, Y = (a if sp.issparse(a) or a.flags.writeable else a.copy() for a in (X, Y))
            K = pairwise_kernels(X, Y, metric=self.name, filter_params=True, **self.parameters)
        elif self.blocks:
            K = self._of_blocks(X, Y)
        else:
            try:
                K = self._of_pairs(X, Y)
            except Exception as error:
                K = self._of_blocks_after(error, X, Y)
        K = np.ascontiguousarray(K, dtype=np.float64)
        if not np.isfinite(K).all():
            raise ValueError("the kernel function returned NaN or infinite values")
        return K

    def check_symmetric(self, X, K, rows=None):
        """Raises an error that names two points for which the order matters. ``K`` is the matrix of ``X``.

        scikit-learn evaluates a function of two points for one half of the pairs only. Of the other half, some are
        evaluated here. ``rows`` are the numbers of the points, if they are not 0, 1, ...
        """
        if self.name is not None or len(K) < 2:
            return
        if self.blocks:
            i, j, _ = most_apart(K)
            pairs = [(i, j, K[j, i])]
        else:
            rng = np.random.default_rng(0)
            pairs = [rng.choice(len(K), size=2, replace=False) for _ in range(min(len(K), SYMMETRY_PAIRS))]
            pairs = [(i, j, self._of_pairs(X[[j]], X[[i]])[0, 0]) for i, j in pairs]
        for i, j, other in pairs:
            if not abs(K[i, j] - other) <= ASYMMETRY * np.abs(K).max():
                first, second = (i, j) if rows is None else (rows[i], rows[j])
                raise ValueError(
                    f"the kernel function is not symmetric: rows {first} and {second} of X (from 0) give {K[i, j]:.6g} "
                    f"in one order and {other:.6g} in the other. A kernel must not depend on the order of its arguments"
                )

    def diagonal(self, X, options):
        """Returns ``k(x, x)`` for all rows of ``X``, from small blocks, which are checked for symmetry."""
        values = []
        for i in range(0, X.shape[0], PROBE_FROM):
            block = X[i : i + PROBE_FROM]
            K = self.matrix(block, block, options)
            self.check_symmetric(block, K, range(i, X.shape[0]))
            values.append(np.diag(K))
        return np.concatenate(values)

    def _of_blocks_after(self, error, X, Y):
        """Returns the values of a function that failed for pairs, if it takes blocks. Else raises the user's error."""
        try:
            x, y = (A[[0]] if sp.issparse(A) else A[0] for A in (X, Y))
            first = np.ndim(self.function(x, y, **self.parameters)) == 0
        except Exception:
            first = None
        if first:  # It takes pairs, and failed for a later one.
            raise error
        try:
            K = self._of_blocks(X, Y)
        except Exception as of_blocks:
            # numpy raises these for arrays with another number of dimensions than the function is written for.
            shape = (AttributeError, IndexError, TypeError, ValueError)
            if first is False or (isinstance(error, shape) and not isinstance(of_blocks, shape)):
                raise of_blocks from error
            error.add_note(f"called for blocks of points, the kernel function raised {of_blocks!r}")
            raise error from None
        self.blocks = True
        return K

    def _of_pairs(self, X, Y):
        return pairwise_kernels(X, None if X is Y else Y, metric=self.function, **self.parameters)

    def _of_blocks(self, X, Y):
        K = np.asarray(self.function(X, Y, **self.parameters), dtype=np.float64)
        if K.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"the kernel function returned an array of shape {K.shape} for blocks of {X.shape[0]} and "
                f"{Y.shape[0]} points; it must return shape ({X.shape[0]}, {Y.shape[0]})"
            )
        return K


def most_apart(K):
    """Returns where a matrix differs most from its transpose, and by how much."""
    worst = (0, 0, 0.0)
    for start in range(0, len(K), BLOCK):
        apart = np.abs(K[start : start + BLOCK] - K.T[start : start + BLOCK])
        i, j = np.unravel_index(np.argmax(apart), apart.shape)
        if apart[i, j] > worst[2]:
            worst = (start + int(i), int(j), float(apart[i, j]))
    return worst


def source(kernel, n_features, *, gamma=None, degree=None, coef0=None, params=None):
    """Returns the source of the values of a kernel.

    A parameter that is None takes scikit-learn's default: gamma 1/n_features (1 for chi2), degree 3, coef0 1.
    """
    given = {"gamma": gamma, "coef0": coef0, "degree": degree}
    if isinstance(kernel, Kernel):
        return Table(_alone(kernel.text, given))
    if callable(kernel):
        return Function(kernel, dict(params or {}))
    if kernel == "precomputed":
        return Given()
    name = NAMES.get(kernel)
    if name in PLAIN:
        return _plain(kernel, name, given, n_features)
    if kernel in PAIRWISE_KERNEL_FUNCTIONS:
        if isinstance(gamma, str):
            raise ValueError(f"gamma={gamma!r} is not supported for kernel={kernel!r} of scikit-learn: use a number")
        found = {**(params or {}), **{n: v for n, v in given.items() if v is not None}}
        return Function(None, {n: v for n, v in found.items() if n in KERNEL_PARAMS[kernel]}, name=kernel)
    return Table(_alone(Kernel(kernel).text, given))


def _plain(kernel, name, given, n_features):
    """Returns the source of a kernel of the table with scikit-learn's parameters."""
    own = PLAIN[name]
    values = {n: DEFAULTS[n] if v is None else v for n, v in given.items()}
    if values["gamma"] is None:
        values["gamma"] = 1.0 if name == "chi2" else 1.0 / n_features
    odd = "degree" in own and (values["degree"] != int(values["degree"]) or values["degree"] < 1)
    if odd or ("gamma" in own and values["gamma"] == 0):
        if isinstance(values["gamma"], str):
            raise ValueError(
                f"gamma={values['gamma']!r} needs an integer degree of at least 1, but degree={values['degree']}"
            )
        # The table has no fractional degrees and no gamma of 0; scikit-learn computes these.
        theirs = {"gaussian": "rbf"}.get(name, name)
        return Function(None, {n: values[n] for n in KERNEL_PARAMS[theirs]}, name=theirs)
    if values["gamma"] == "median" and name in ("polynomial", "sigmoid"):
        raise ValueError(f"gamma='median' is not supported for kernel={kernel!r}, which has no distances: use 'scale'")
    return Table(Kernel(f"{name}({', '.join(f'{n}={_spelled(n, values[n])}' for n in own)})" if own else name).text)


def _spelled(name, value) -> str:
    if isinstance(value, str):
        return value
    return str(int(value)) if name == "degree" else repr(float(value))


def _alone(text, given) -> str:
    """Returns the expression. Refuses parameters beside it, since it has its own."""
    for name, value in given.items():
        if value is not None and value != DEFAULTS[name]:
            raise ValueError(f"{name}={value!r} is not used with kernel='{text}': write it into the kernel")
    return text


def changed(kernel, before, now) -> list:
    """Returns the parameters of an estimator by which one expression became another."""
    if NAMES.get(kernel if isinstance(kernel, str) else None) in PLAIN:
        before, now = (_mercer.parse_kernel(text) for text in (before, now))
        if before.name == now.name:
            numbers, new = dict(before.arguments), dict(now.arguments)
            # Only gamma can be a rule in place of a number.
            return [n for n in DEFAULTS if numbers.get(n) != new.get(n)] or ["gamma"]
    return ["kernel"]


def _rows(X, options):
    return _data.dense(X, options.memory) if sp.issparse(X) else np.ascontiguousarray(X)


def gamma_of(source, given, n_features) -> float:
    """Returns the gamma of the kernel, or scikit-learn's default if it has none."""
    default = 1.0 / n_features if given is None or isinstance(given, str) else given
    if source.text is not None:
        return dict(source.parsed.arguments).get("gamma", default)
    if isinstance(source, Function) and source.name == "chi2":
        return source.parameters.get("gamma", 1.0)
    return default
