"""Where kernel values come from: a kernel of the table, a function of the user's, or the user."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import KERNEL_PARAMS, PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.utils._param_validation import StrOptions

from . import _data, _mercer
from .kernels import TABLE, Kernel

#: Names that scikit-learn's parameters ``gamma``, ``degree`` and ``coef0`` belong to, as the table calls them.
PLAIN = {
    "linear": ("linear", ()),
    "cosine": ("cosine", ()),
    "poly": ("polynomial", ("gamma", "coef0", "degree")),
    "polynomial": ("polynomial", ("gamma", "coef0", "degree")),
    "rbf": ("gaussian", ("gamma",)),
    "gaussian": ("gaussian", ("gamma",)),
    "laplacian": ("laplacian", ("gamma",)),
    "sigmoid": ("sigmoid", ("gamma", "coef0")),
}
NAMES = {name for entry in TABLE for name in (entry["name"], *entry["aliases"])}
#: Rows of kernel values that a function of the user's computes at a time.
BLOCK = 1024
#: From this many points on it is worth finding out whether a function takes blocks.
PROBE_FROM = 64


class KernelNames(StrOptions):
    """Names of kernels, and texts of expressions, whose own errors are better than a list of names."""

    def __init__(self):
        super().__init__(set(PLAIN) | NAMES | set(PAIRWISE_KERNEL_FUNCTIONS) | {"precomputed"})

    def is_satisfied_by(self, val):
        return isinstance(val, str) and (val in self.options or any(c in val for c in "(+*"))


class Given:
    """A matrix that the user computes."""

    text = None

    def matrix(self, X, Y, options):
        return np.asarray(X, dtype=np.float64)


class Table:
    """A kernel that the extension module knows, with all parameters written out."""

    def __init__(self, text):
        self.text = text

    def matrix(self, X, Y, options):
        """``k(x, y)`` for all rows of ``X`` and ``Y``."""
        X, Y = _rows(X, options), _rows(Y, options)
        if X.dtype != Y.dtype:
            X, Y = X.astype(np.float64, copy=False), Y.astype(np.float64, copy=False)
        return _mercer.kernel_matrix(self.text, X, Y, options)


class Function:
    """A function of the user's, of pairs of points or of blocks of them; or one of scikit-learn's by name."""

    text = None

    def __init__(self, function, parameters, name=None):
        self.function, self.parameters, self.name = function, parameters, name
        #: Whether the function takes blocks; None as long as nobody knows.
        self.blocks = None

    def look(self, X):
        """Finds out whether the function takes blocks: whether it gives the same for them as for their pairs.

        Of few points pairs are taken, as long as that works.
        """
        if self.name is None and len(X) >= PROBE_FROM:
            x, y = X[:2], X[-3:]
            try:
                together = self._together(x, y)
            except Exception:
                return self
            try:
                self.blocks = np.allclose(together, self._pairs(x, y), rtol=1e-6, atol=1e-300)
            except Exception:
                self.blocks = True
        return self

    def matrix(self, X, Y, options):
        """``k(x, y)`` for all rows of ``X`` and ``Y``."""
        if self.name is not None:
            K = pairwise_kernels(X, Y, metric=self.name, filter_params=True, **self.parameters)
        elif self.blocks:
            K = self._together(X, Y)
        else:
            try:
                K = self._pairs(X, Y)
            except Exception as error:
                try:
                    K = self._together(X, Y)
                except Exception:
                    raise error from None
                self.blocks = True
        return np.ascontiguousarray(K, dtype=np.float64)

    def _pairs(self, X, Y):
        return pairwise_kernels(X, None if X is Y else Y, metric=self.function, **self.parameters)

    def _together(self, X, Y):
        K = np.asarray(self.function(X, Y, **self.parameters), dtype=np.float64)
        if K.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"the kernel function returned an array of shape {K.shape} for blocks of {X.shape[0]} and "
                f"{Y.shape[0]} points; it must return shape ({X.shape[0]}, {Y.shape[0]})"
            )
        return K


def source(kernel, n_features, *, gamma=None, degree=None, coef0=None, params=None):
    """Where the values of this kernel come from.

    A parameter that is None takes scikit-learn's default: gamma 1/n_features, degree 3, coef0 1.
    """
    if isinstance(kernel, Kernel):
        return Table(_alone(kernel.text, gamma))
    if callable(kernel):
        return Function(kernel, dict(params or {}))
    if kernel == "precomputed":
        return Given()
    if kernel not in PLAIN:
        if kernel in PAIRWISE_KERNEL_FUNCTIONS:
            given = dict(params or {}, gamma=gamma, degree=degree, coef0=coef0)
            given = {n: v for n, v in given.items() if v is not None and n in KERNEL_PARAMS[kernel]}
            return Function(None, given, name=kernel)
        return Table(_alone(Kernel(kernel).text, gamma))
    name, own = PLAIN[kernel]
    values = {
        "gamma": 1.0 / n_features if gamma is None else gamma,
        "degree": 3 if degree is None else degree,
        "coef0": 1.0 if coef0 is None else coef0,
    }
    odd = "degree" in own and (values["degree"] != int(values["degree"]) or values["degree"] < 1)
    if odd or ("gamma" in own and values["gamma"] == 0):
        if isinstance(values["gamma"], str):
            raise ValueError(f"gamma={gamma!r} needs a degree that is a whole number, 1 or more; got degree={degree}")
        # Kernels of scikit-learn's that are none of the table's: powers that are not whole, and a width of infinity.
        given = {n: values[n] for n in KERNEL_PARAMS[kernel if kernel != "gaussian" else "rbf"]}
        return Function(None, given, name="rbf" if kernel == "gaussian" else kernel)
    if values["gamma"] == "median" and name in ("polynomial", "sigmoid"):
        raise ValueError(f"gamma='median' means nothing for kernel={kernel!r}, a median of dot products; use 'scale'")
    return Table(Kernel(f"{name}({', '.join(f'{n}={_spelled(n, values[n])}' for n in own)})").text)


def _spelled(name, value) -> str:
    if isinstance(value, str):
        return value
    return str(int(value)) if name == "degree" else repr(float(value))


def _alone(text, gamma) -> str:
    if gamma is not None:
        raise ValueError(f"gamma={gamma!r} has no place beside kernel='{text}': write it into the text")
    return text


def _rows(X, options):
    return _data.dense(X, options.memory) if sp.issparse(X) else np.ascontiguousarray(X)


def widths(text: str) -> float | None:
    """The number gamma in the text of a plain kernel."""
    import re

    found = re.fullmatch(r"\w+\(gamma=([^,)]+).*\)", text)
    return float(found[1]) if found else None
