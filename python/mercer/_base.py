"""The base class of all estimators."""

from __future__ import annotations

import functools
import json
import re
import sys
import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from . import _card, _data, _exec

#: Parameters that several estimators have and scikit-learn's do not.
CONSTRAINTS = {
    "memory": [Interval(Real, 0, None, closed="neither"), str, None],
    "n_jobs": [Integral, None],
    "progress": ["boolean", callable, None],
}

#: Packages that a warning passes over on its way to the line of the user's that it belongs to.
CALLERS = {"mercer", "sklearn", "joblib", "dask", "distributed", "pyspark"} | {
    *("concurrent", "contextlib", "functools", "multiprocessing", "runpy", "threading")
}


def atomic_fit(fit):
    """Makes a fit that fails or is interrupted leave the estimator unchanged."""

    @functools.wraps(fit)
    def wrapper(self, *args, **kwargs):
        before = dict(self.__dict__)
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return wrapper


#: Texts, classes and places of warnings that were shown.
_SHOWN = set()


def warn(warning):
    """Warns, with the line of the caller outside mercer and the packages that call estimators.

    ``warning`` is a text, or a warning with numbers. A text must be constant, so that it is shown once per place.
    """
    level, frame = 1, sys._getframe()
    while frame is not None and _package(frame) in CALLERS:
        level, frame = level + 1, frame.f_back
    if frame is None:  # A worker thread or process has no line of the user's.
        level, frame = 2, sys._getframe(1)
    # Python itself forgets what it has shown whenever scikit-learn checks an array, which changes filters for a moment.
    category = type(warning) if isinstance(warning, Warning) else UserWarning
    place = (str(warning), category, frame.f_code.co_filename, frame.f_lineno)
    if place in _SHOWN and _is_shown_once(str(warning), category, frame):
        return
    warnings.warn(warning, stacklevel=level)
    _SHOWN.add(place)


def _is_shown_once(text, category, frame):
    """Returns whether the user's filters show this warning once per place, as Python does by default."""
    module = frame.f_globals.get("__name__", "")

    def matches(message, kind, where, line):
        named = (message is None or re.match(message, text)) and (where is None or re.match(where, module))
        return issubclass(category, kind) and named and line in (0, frame.f_lineno)

    actions = (action for action, *rest in warnings.filters if matches(*rest))
    return next(actions, warnings.defaultaction) in ("default", "module", "once")


def _package(frame):
    """Returns the name of the package that the code of a frame belongs to."""
    # What `python -m` runs, as joblib does for its workers, is called "__main__".
    spec = frame.f_globals.get("__spec__")
    return (spec.name if spec is not None else frame.f_globals.get("__name__", "")).split(".")[0]


#: Classes with parameters that were found valid, of these types. Checking them again takes as long as a small fit.
_VALID = set()
PLAIN = {bool, float, int, str, type(None)}


class Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The base class of all estimators."""

    def _validate_params(self):
        values = [getattr(self, name) for name in self._parameter_constraints]
        types = tuple(map(type, values))
        if not PLAIN.issuperset(types):  # what may change, or may be large, is not kept
            return super()._validate_params()
        key = (type(self), types, *values)
        if key not in _VALID:
            super()._validate_params()
            if len(_VALID) < 1000:
                _VALID.add(key)

    def _options(self, *, draw=False):
        """Returns the options of a computation. With ``draw``, a RandomState gives the random seed."""
        return _exec.options(
            n_jobs=getattr(self, "n_jobs", None),
            memory=getattr(self, "memory", None),
            random_state=getattr(self, "random_state", None) if draw else None,
            progress=getattr(self, "progress", None),
        )

    def _compute(self, X, work, *, draw=False):
        """Returns ``work(options)``. Errors about missing values name what scikit-learn would name."""
        options = self._options(draw=draw)
        try:
            return work(options)
        except ValueError as error:
            raise _data.explained(error, self, X) from None
        finally:
            if isinstance(options.progress, _exec.Bar):
                options.progress.close()

    def _shape(self, X):
        """Returns the shape of ``X``, which may be a shape itself."""
        shape = X if isinstance(X, tuple) else np.shape(X)
        if len(shape) != 2 or not all(isinstance(n, Integral) and n > 0 for n in shape):
            raise ValueError(f"plan() takes a table or its shape, two integers above 0, but got {X!r:.80}")
        return int(shape[0]), int(shape[1])

    def _tolerance(self):
        """Returns the tolerance of the search; None for the default of the library."""
        return min(self.tol, 0.5) if self.tol else None

    def _cast(self, values):
        """Returns values in the dtype that the estimator was fitted to."""
        return np.asarray(values, dtype=self._dtype)

    def save(self, path):
        """Write the fitted model to a file, atomically.

        The file is in the safetensors format: arrays and one JSON text, no code. :func:`mercer.load` and the command
        `mercer` read it.

        Parameters
        ----------
        path : str or path-like
            The file. The learned inverse of :class:`KernelPCA` is not saved; a warning says so.
        """
        check_is_fitted(self)
        if getattr(self, "fit_inverse_transform", False):
            warn("the learned inverse transform is not saved; the file only gives scores")
        self._saved_model().save(path, self._column_names(), json.dumps(self._front()))

    def _saved_model(self):
        return self._model

    def _front(self):
        """Returns what a file stores besides the model, so that :func:`mercer.load` restores the estimator."""
        plain = (bool, int, float, str, type(None))
        params = {name: getattr(v, "item", lambda v=v: v)() for name, v in self.get_params(deep=False).items()}
        return {
            "class": type(self).__name__,
            "params": {name: v for name, v in params.items() if isinstance(v, plain)},
            "dtype": self._dtype.name,
            "named": hasattr(self, "feature_names_in_"),
        }

    def _column_names(self):
        names = getattr(self, "feature_names_in_", None)
        if names is not None and len(set(names)) == len(names):
            return [str(n) for n in names]
        return [f"x{j + 1}" for j in range(self.n_features_in_)]

    def to_onnx(self, path=None):
        """Write the fitted transformation as an ONNX graph.

        The graph takes a float64 tensor ``X`` of shape (n, n_features) and returns ``scores`` of shape
        (n, n_components), the result of :meth:`transform`.

        Parameters
        ----------
        path : str or path-like, default=None
            The file to write; None to only return its content.

        Returns
        -------
        bytes
            The content of the file.
        """
        from . import _onnx

        check_is_fitted(self)
        return _onnx.write(self, path)

    def to_sklearn(self):
        """Convert the fitted model to scikit-learn, without fitting again.

        Returns
        -------
        estimator
            A fitted estimator of scikit-learn's class of the same name.
        """
        from . import _convert

        check_is_fitted(self)
        return _convert.to_sklearn(self)

    def _repr_html_(self):
        return _card.html(self) if _card.is_wanted(self) else super()._repr_html_()

    def _repr_mimebundle_(self, **kwargs):
        if not _card.is_wanted(self):
            return super()._repr_mimebundle_(**kwargs)
        return {"text/plain": repr(self), "text/html": _card.html(self)}
