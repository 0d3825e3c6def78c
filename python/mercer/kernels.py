"""Kernels as objects, which can be added, multiplied, scaled and evaluated.

There is a function for each kernel that the command, the Rust library and this package support. It returns a
:class:`Kernel`.

Examples
--------
>>> from mercer import kernels
>>> k = 0.5 * kernels.gaussian(gamma="median") + kernels.linear()
>>> k
Kernel('0.5*gaussian(gamma=median) + linear')
>>> k == kernels.Kernel("0.5*gaussian(gamma=median) + linear")
True
>>> kernels.polynomial(degree=3)([[1.0, 2.0]], [[3.0, 4.0]])
array([[1331.]])
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_array

from . import _mercer
from ._exec import Exec

TABLE = _mercer.kernels()


class Kernel:
    """A Mercer kernel.

    Parameters
    ----------
    text : str
        A kernel with its parameters, or an expression of several kernels: ``"gaussian(gamma=0.5)"``,
        ``"0.5*gaussian(gamma=median) + linear"``, ``"normalised(polynomial(degree=2))"``.

    Examples
    --------
    >>> from mercer import Kernel
    >>> k = Kernel("rbf(gamma=0.5)") * Kernel("linear")
    >>> str(k)
    'gaussian(gamma=0.5) * linear'
    >>> k.psd
    True
    """

    __slots__ = ("psd", "text")

    def __init__(self, text: str):
        parsed = _mercer.parse_kernel(str(text))
        self.text, self.psd = parsed.text, parsed.is_psd

    def __call__(self, X, Y=None, *, n_jobs=None):
        """Return the matrix of ``k(x, y)`` for all rows of ``X`` and ``Y``; ``Y`` is ``X`` if it is None.

        Automatic parameters, such as ``gamma=median``, are computed from ``Y``.
        """
        from ._exec import threads

        X = check_array(X, dtype=[np.float64, np.float32], order="C")
        Y = X if Y is None else check_array(Y, dtype=X.dtype, order="C")
        return _mercer.kernel_matrix(self.text, X, Y, Exec(threads=threads(n_jobs)))

    def bind(self, X) -> Kernel:
        """Return the kernel with automatic parameters replaced by numbers, computed from ``X``."""
        X = check_array(X, dtype=[np.float64, np.float32], order="C")
        return Kernel(_mercer.bind_kernel(self.text, X, Exec()))

    def __add__(self, other):
        return Kernel(f"({self.text}) + ({other.text})") if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other):
        return self if other == 0 else NotImplemented  # so that sum() works

    def __mul__(self, other):
        if isinstance(other, Kernel):
            return Kernel(f"({self.text})*({other.text})")
        if isinstance(other, Real):
            return Kernel(f"{float(other)!r}*({self.text})")
        return NotImplemented

    __rmul__ = __mul__

    def normalised(self) -> Kernel:
        """Return the kernel ``k(x,y) / sqrt(k(x,x) k(y,y))``."""
        return Kernel(f"normalised({self.text})")

    def __eq__(self, other):
        return self.text == other.text if isinstance(other, Kernel) else NotImplemented

    def __hash__(self):
        return hash((Kernel, self.text))

    def __reduce__(self):
        return Kernel, (self.text,)

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"Kernel({self.text!r})"


def _function(entry):
    """Returns the function that makes the kernels of one entry of the table."""

    def make(**parameters) -> Kernel:
        given = ", ".join(f"{name}={_spelled(value)}" for name, value in parameters.items())
        return Kernel(f"{entry['name']}({given})" if given else entry["name"])

    make.__name__ = make.__qualname__ = entry["name"]
    lines = [f"``{entry['formula']}``: {entry['about']}.", ""]
    if entry["parameters"]:
        lines += ["Parameters", "----------"]
        for p in entry["parameters"]:
            default = f", default={p['default']}" if p["default"] else ""
            kind = "float, str or array-like of shape (n_features,)" if p["per_dimension"] else "float or str"
            lines += [f"{p['name']} : {kind}{default}", f"    {p['about']}; {p['constraint']}."]
    lines += ["", "Returns", "-------", "Kernel"]
    make.__doc__ = "\n".join(lines)
    return make


def _spelled(value) -> str:
    """Returns the value of a parameter as it is written in an expression."""
    if np.ndim(value):
        return f"[{', '.join(_spelled(v) for v in value)}]"
    return repr(float(value)) if isinstance(value, Real) and not isinstance(value, Integral) else str(value)


for _entry in TABLE:
    for _name in (_entry["name"], *_entry["aliases"]):
        globals()[_name] = _function(_entry)

__all__ = ["TABLE", "Kernel", *(name for entry in TABLE for name in (entry["name"], *entry["aliases"]))]
