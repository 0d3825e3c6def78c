"""The record of what is to be fitted, which the library, the command and the page share. It is JSON text."""

from __future__ import annotations

import json
from numbers import Integral


def pca(n_components=None, *, center=True, scale=False, route="auto", tol=None) -> str:
    """Returns the record of PCA.

    ``n_components`` is a number, a share of the variance, or None for all. With a tolerance, few of many components may
    be found by passes over the data.
    """
    record = {
        "method": "pca",
        "components": _components(n_components),
        "center": bool(center),
        "standardise": bool(scale),
        "route": route,
    }
    if tol is not None:
        record["tolerance"] = float(tol)
    return _text(record)


def kernel_pca(kernel=None, n_components=None, *, tol=None, dense=False, approx="none") -> str:
    """Returns the record of kernel PCA.

    ``kernel`` is an expression, or None for a Gram matrix or an operator. ``tol`` is None for the library's default.
    ``approx`` says whether landmarks are used, and which.
    """
    record = {"method": "kernel_pca", "components": _components(n_components), "dense": dense, "approx": approx}
    if kernel is not None:
        record["kernel"] = kernel
    if tol is not None:
        record["tolerance"] = float(tol)
    return _text(record)


def _components(wanted):
    if wanted is None:
        return "all"
    return int(wanted) if isinstance(wanted, Integral) else float(wanted)


def _text(record) -> str:
    return json.dumps(record, allow_nan=False)
