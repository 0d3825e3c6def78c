"""What the estimators share."""

from __future__ import annotations

import functools
import json
import sys
import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from . import _card, _data, _exec

#: Parameters of ours that several estimators have.
CONSTRAINTS = {
    "memory": [Interval(Real, 0, None, closed="neither"), str, None],
    "n_jobs": [Integral, None],
    "progress": ["boolean", callable, None],
}


def whole(fit):
    """Makes a fit that fails, or is interrupted, leave the estimator as it was before."""

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


def warn(message, category=UserWarning):
    """A warning that points at the line of the user's, beyond our files and scikit-learn's."""
    level, frame = 1, sys._getframe(0)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("mercer", "sklearn"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


class Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What the estimators share."""

    def _options(self, *, draw=False):
        """The options of a computation; a seed is drawn from a generator of the user's only to fit."""
        return _exec.options(
            n_jobs=getattr(self, "n_jobs", None),
            memory=getattr(self, "memory", None),
            random_state=getattr(self, "random_state", None) if draw else None,
            progress=getattr(self, "progress", None),
        )

    def _compute(self, X, work, *, draw=False):
        """``work(options)``; its errors in words that fit ``X``."""
        options = self._options(draw=draw)
        try:
            return work(options)
        except ValueError as error:
            raise _data.explained(error, self, X) from None
        finally:
            if isinstance(options.progress, _exec.Bar):
                options.progress.close()

    def _shape(self, X):
        """The shape of data, or the one given in its place."""
        shape = X if isinstance(X, tuple) else np.shape(X)
        if len(shape) != 2 or not all(isinstance(n, Integral) and n > 0 for n in shape):
            raise ValueError(f"plan() takes a table or its shape, two whole numbers above 0; got {X!r:.80}")
        return int(shape[0]), int(shape[1])

    def _tolerance(self):
        """The tolerance of passes; None for that of the library."""
        return min(self.tol, 0.5) if self.tol else None

    def _cast(self, values):
        """Values as the kind of number that the estimator was fitted to."""
        return np.asarray(values, dtype=self._dtype)

    def save(self, path):
        """Write the fitted model to a file.

        The file holds numbers and one JSON text (it is in the safetensors format), no code. The command `mercer` reads
        it, and :func:`mercer.load` does. It appears whole or not at all.

        Parameters
        ----------
        path : str or path-like
            The file. The learned inverse of :class:`KernelPCA` is not saved, about which there is a warning.
        """
        check_is_fitted(self)
        if getattr(self, "fit_inverse_transform", False):
            warn("the learned inverse transform is not saved: a file has the model, which gives scores")
        self._saved_model().save(path, self._column_names(), json.dumps(self._front()))

    def _saved_model(self):
        return self._model

    def _front(self):
        """What a file keeps besides the model, so that the estimator comes back as it was."""
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

        It takes a float64 tensor ``X`` of shape (n, n_features) and gives ``scores`` of shape (n, n_components), as
        :meth:`transform` does.

        Parameters
        ----------
        path : str or path-like, default=None
            The file.

        Returns
        -------
        bytes
            The file's content.
        """
        from . import _onnx

        check_is_fitted(self)
        return _onnx.write(self, path)

    def to_sklearn(self):
        """The same fitted model as an estimator of scikit-learn's.

        Returns
        -------
        estimator
            Of the class of the same name, with parameters and fitted attributes that it knows.
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
