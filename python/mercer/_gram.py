"""Where kernel values come from: a kernel of the table, a function of the user's, or the user."""

from __future__ import annotations

import re

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import KERNEL_PARAMS, PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.utils._param_validation import StrOptions

from . import _data, _mercer
from .kernels import TABLE, Kernel

#: What scikit-learn's kernels have: parameters of estimators, and their defaults.
DEFAULTS = {"gamma": None, "coef0": 1.0, "degree": 3}
NAMES = {name: entry["name"] for entry in TABLE for name in (entry["name"], *entry["aliases"])}
#: Kernels of the table whose parameters are those of estimators, by name.
PLAIN = {
    entry["name"]: tuple(p["name"] for p in entry["parameters"] if p["name"] in DEFAULTS)
    for entry in TABLE
    if not any(p["name"] not in DEFAULTS and p["default"] for p in entry["parameters"])
}
#: Rows of kernel values that a function of the user's computes at a time.
BLOCK = 1024
#: From this many points on it is worth finding out whether a function takes blocks.
PROBE_FROM = 64


class KernelNames(StrOptions):
    """Names of kernels, and texts of expressions, whose own errors are better than a list of names."""

    def __init__(self):
        super().__init__(set(NAMES) | set(PAIRWISE_KERNEL_FUNCTIONS) | {"precomputed"})

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
        if self.name is None and X.shape[0] >= PROBE_FROM:
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
            # Some of theirs cannot read what may not be written to.
            X, Y = (a if sp.issparse(a) or a.flags.writeable else a.copy() for a in (X, Y))
            K = pairwise_kernels(X, Y, metric=self.name, filter_params=True, **self.parameters)
        elif self.blocks:
            K = self._together(X, Y)
        else:
            try:
                K = self._pairs(X, Y)
            except Exception as of_pairs:
                try:
                    K = self._together(X, Y)
                except Exception as of_blocks:
                    raise of_blocks from of_pairs
                self.blocks = True
        K = np.ascontiguousarray(K, dtype=np.float64)
        if not np.isfinite(K).all():
            raise ValueError("the kernel function returned values that are not finite")
        return K

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
            raise ValueError(
                f"gamma={gamma!r} means nothing for kernel={kernel!r}, which is scikit-learn's: use a number"
            )
        found = {**(params or {}), **{n: v for n, v in given.items() if v is not None}}
        return Function(None, {n: v for n, v in found.items() if n in KERNEL_PARAMS[kernel]}, name=kernel)
    return Table(_alone(Kernel(kernel).text, given))


def _plain(kernel, name, given, n_features):
    """A kernel of the table with scikit-learn's parameters."""
    own = PLAIN[name]
    values = {n: DEFAULTS[n] if v is None else v for n, v in given.items()}
    if values["gamma"] is None:
        values["gamma"] = 1.0 / n_features
    odd = "degree" in own and (values["degree"] != int(values["degree"]) or values["degree"] < 1)
    if odd or ("gamma" in own and values["gamma"] == 0):
        if isinstance(values["gamma"], str):
            raise ValueError(f"gamma={values['gamma']!r} needs a whole degree, 1 or more; got {values['degree']}")
        # Kernels of scikit-learn's that are none of the table's: powers that are not whole, and a width of infinity.
        theirs = {"gaussian": "rbf"}.get(name, name)
        return Function(None, {n: values[n] for n in KERNEL_PARAMS[theirs]}, name=theirs)
    if values["gamma"] == "median" and name in ("polynomial", "sigmoid"):
        raise ValueError(f"gamma='median' means nothing for kernel={kernel!r}, a median of dot products; use 'scale'")
    return Table(Kernel(f"{name}({', '.join(f'{n}={_spelled(n, values[n])}' for n in own)})" if own else name).text)


def _spelled(name, value) -> str:
    if isinstance(value, str):
        return value
    return str(int(value)) if name == "degree" else repr(float(value))


def _alone(text, given) -> str:
    """A text has its parameters in itself."""
    for name, value in given.items():
        if value is not None and value != DEFAULTS[name]:
            raise ValueError(f"{name}={value!r} has no place beside kernel='{text}': write it into the text")
    return text


def _rows(X, options):
    return _data.dense(X, options.memory) if sp.issparse(X) else np.ascontiguousarray(X)


def parameters(text) -> tuple[str, dict]:
    """Name and numbers of a single kernel of the table; of an expression of several, the empty name."""
    found = re.fullmatch(r"(\w+)(?:\(([^()]*)\))?", text)
    parts = [part.split("=") for part in (found[2] or "").split(", ") if part] if found else []
    if not found or any(len(part) != 2 for part in parts):
        return "", {}
    given = dict(parts)
    numbers = {n: int(v) if n == "degree" else float(v) for n, v in given.items() if "/" not in v}
    for name, factor in (("over_sigma2", 1.0), ("over_2sigma2", 0.5)):
        if name in numbers:
            numbers["gamma"] = factor / numbers.pop(name)
    return found[1], numbers


def gamma_of(source, given, n_features) -> float:
    """The gamma that is used; scikit-learn's default where the kernel has none."""
    default = 1.0 / n_features if given is None or isinstance(given, str) else given
    if source.text is not None:
        return parameters(source.text)[1].get("gamma", default)
    if isinstance(source, Function) and source.name == "chi2":
        return source.parameters.get("gamma", 1.0)
    return default
