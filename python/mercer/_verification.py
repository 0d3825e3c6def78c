"""A second opinion on a fitted model."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from . import _data


@dataclass(frozen=True)
class Claim:
    """A claim of a model, what was measured, and the outcome.

    Attributes
    ----------
    about : str
        ``"data"``, ``"mean"``, ``"scale"``, ``"vectors"``, ``"residual"``, ``"eigenvalue"``, ``"scores"``, ``"total"``
        or ``"missed"``.
    component : int or None
        The component it is about, from 0; None if it is about the model.
    outcome : str
        ``"confirmed"``, ``"refuted"`` or ``"not decided"``.
    claimed : float
        The bound that the model states, with its allowance for rounding.
    measured : float
        What was measured.
    allowance : float
        The allowance for the rounding of the measurement.
    text : str
        The claim and the measurement in words.
    """

    about: str
    component: int | None
    outcome: str
    claimed: float
    measured: float
    allowance: float
    text: str

    def __str__(self) -> str:
        return f"{self.outcome}: {self.text}"


@dataclass(frozen=True, eq=False)
class Verification:
    """A second opinion on a fitted model: what was measured on its data.

    ``print(verification)`` shows a line for each claim, and then the verdict.

    Attributes
    ----------
    verdict : str
        ``"confirmed"``: claims hold and none is refuted. ``"refuted"``: a claim does not hold. ``"not decided"``: the
        measurement is too coarse. ``"no claims to check"``: the numbers of the model were computed elsewhere.
    claims : list of Claim
        The claims of the model.
    residuals : ndarray of shape (n_components,)
        The measured residual ``|A u - lambda u|`` of each component.
    quotients : ndarray of shape (n_components,)
        The measured Rayleigh quotient ``u'A u`` of each component.
    orthonormality : float
        The largest entry of ``|U'U - I|``.
    total : float
        The measured sum of all eigenvalues.
    beyond : tuple of float
        A lower and an upper bound of the largest eigenvalue in the complement of the components. The upper bound fails
        with probability 1e-6.
    rounding : float
        The allowance for the rounding of the measurement.
    passes : int
        The number of passes over the data.
    """

    verdict: str
    claims: list
    residuals: np.ndarray
    quotients: np.ndarray
    orthonormality: float
    total: float
    beyond: tuple
    rounding: float
    passes: int
    text: str = field(repr=False)

    @classmethod
    def of(cls, found: tuple[str, str, str]) -> Verification:
        """Returns the record of what the extension module measured."""
        facts, verdict, text = json.loads(found[0]), found[1], found[2]
        claims = [Claim(**{**claim, "outcome": claim["outcome"].replace("_", " ")}) for claim in facts["claims"]]
        return cls(
            verdict=verdict,
            claims=claims,
            residuals=np.array(facts["residuals"], dtype=float),
            quotients=np.array(facts["quotients"], dtype=float),
            orthonormality=facts["orthonormality"],
            total=facts["total"],
            beyond=tuple(facts["beyond"]),
            rounding=facts["rounding"],
            passes=facts["passes"],
            text=text,
        )

    def __str__(self) -> str:
        return self.text


class Verifiable:
    """Estimators whose claims can be verified."""

    def verify(self, X, *, passes=8):
        """Check what the fitted model says, by an independent computation on its data.

        Residuals, eigenvalues, the total and the bound on missed eigenvalues are measured anew. The computation shares
        nothing with the fit but the definition of the kernel: it evaluates the kernel for all pairs of points, or sums
        the rows again, and allows for its own rounding.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data of the fit, with the same rows in the same order. For ``kernel='precomputed'`` the Gram matrix.
        passes : int, default=8
            The number of passes over the data. More passes give better bounds on eigenvalues that were missed.

        Returns
        -------
        verification : Verification
            The claims with their outcomes, and the verdict.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import PCA
        >>> X = np.array([[0.0, 0.1], [1.0, 2.1], [2.0, 3.9], [3.0, 6.0]])
        >>> verification = PCA(n_components=1).fit(X).verify(X)
        >>> verification.verdict
        'confirmed'
        >>> [claim.about for claim in verification.claims]
        ['mean', 'vectors', 'scores', 'residual', 'eigenvalue', 'total', 'missed']
        """
        check_is_fitted(self)
        if not isinstance(passes, Integral) or passes < 1:
            raise ValueError(f"passes must be a whole number of at least 1, but got {passes!r}")
        X = _data.checked(self, X, reset=False, sparse="csr")

        def work(options):
            return self._model.verify(self._verified_rows(X, options), int(passes), options)

        return Verification.of(self._compute(X, work))

    def certify(self, X):
        """Replace the certificate by one in which all rounding is enclosed.

        The kernel values or sums, and the residuals of the components, are computed again in twice the precision, with
        bounds on their own errors. Nothing is assumed but correctly rounded arithmetic: every statement is a theorem.
        A model that was fitted elsewhere gets error bounds in this way, too.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data of the fit, with the same rows in the same order. For ``kernel='precomputed'`` the Gram matrix.
            At most 5,000 rows for kernel PCA; at most 5,000 rows or columns, whichever is less, for PCA.

        Returns
        -------
        certificate : Certificate
            The new ``certificate_``.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import PCA
        >>> X = np.array([[0.0, 0.1], [1.0, 2.1], [2.0, 3.9], [3.0, 6.0]])
        >>> model = PCA(n_components=1).fit(X)
        >>> certificate = model.certify(X)
        >>> certificate.rigorous
        True
        >>> {statement.kind for statement in certificate.statements}
        {'theorem'}
        """
        check_is_fitted(self)
        X = _data.checked(self, X, reset=False, sparse="csr")
        self._model = self._compute(X, lambda options: self._model.certify(self._verified_rows(X, options), options))
        self._certify()
        return self.certificate_

    def _verified_rows(self, X, options):
        """Returns what the model of the extension module was fitted to."""
        return _data.dense(X, options.memory) if sp.issparse(X) else X
