"""The plan of a fit and the certificate of its result."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Statement:
    """One statement of a certificate.

    Attributes
    ----------
    about : str
        ``"eigenvalues"``, ``"directions"``, ``"missed"``, ``"approximation"`` or ``"sample"``.
    text : str
        The statement.
    kind : str
        ``"theorem"``: it follows from the assumptions about floating-point arithmetic. ``"probability"``: it fails with
        probability ``failure`` at most, over the random probes. ``"estimate"``: it was measured, or rests on an
        assumption that is not checked.
    failure : float
        The probability that it does not hold; 0 for the other kinds.
    """

    about: str
    text: str
    kind: str
    failure: float

    @classmethod
    def of(cls, facts) -> Statement:
        """Returns the statement from that of the extension module."""
        sure = facts["confidence"]
        return cls(facts["about"], facts["text"], sure["kind"], sure.get("failure", 0.0))


@dataclass(frozen=True, eq=False)
class Certificate:
    """Error bounds of the eigenvalues and directions of a fitted model.

    ``print(certificate)`` shows them as one sentence.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_components,)
        Bounds of the exact eigenvalue of each component. They contain the value that the estimator shows, also if it is
        rounded to float32.
    residuals : ndarray of shape (n_components,)
        The residual ``|A u - lambda u|`` of each component, in float64. For a component with eigenvalue zero, an upper
        bound of it.
    spaces : list of (first, last, angle)
        Components ``first`` to ``last`` span a space within ``angle`` (radians) of the exact one. It includes the
        rounding of directions in float32, 6e-8 each. An angle of pi/2 means that the space is not determined, as for
        components without variance, which have no direction.
    missed : float
        An upper bound of all eigenvalues that were not computed.
    reason : str
        Where ``missed`` comes from: ``"all pairs"``, ``"trace"``, ``"frobenius"``, ``"cholesky"`` (theorems),
        ``"probes"`` (random), or ``"diagonal"`` (an assumption).
    failure : float
        The probability that ``missed`` is wrong; 0 if it is certain.
    rounding : float
        The allowance for rounding. It is contained in all other bounds. For a kernel function or a precomputed matrix
        it is about the given matrix, and assumes that its entries are accurate to 8 times the machine epsilon.
    rigorous : bool
        Whether all rounding is enclosed, so that nothing is assumed but correctly rounded arithmetic (``certify``).
    passes : tuple of int
        Passes over the Gram matrix in float32 and in float64.
    trace_error : float
        With landmarks, the trace of the part of the Gram matrix that they do not represent. No eigenvalue, and no sum
        of eigenvalues, is underestimated by more. 0 for exact components.
    trace_share : float
        ``trace_error`` as a share of the total variance.
    sampled_residuals : ndarray of shape (n_components, 2)
        With landmarks, ``|K u - lambda u|`` of each component estimated from a sample of rows, and its upper bound,
        which holds with probability ``confidence``. Empty for exact components.
    confidence : float
        The probability that the bounds of ``sampled_residuals`` hold.
    statements : list of Statement
        What the certificate says, statement by statement, each with its kind. All of it is about numerical error, not
        about sampling.
    """

    lower: np.ndarray
    upper: np.ndarray
    residuals: np.ndarray
    spaces: list
    missed: float
    reason: str
    failure: float
    rounding: float
    rigorous: bool
    passes: tuple
    trace_error: float
    trace_share: float
    sampled_residuals: np.ndarray
    confidence: float
    statements: list = field(repr=False)
    sentence: str = field(repr=False)

    @classmethod
    def of(cls, model, shown, dtype=None) -> Certificate:
        """Returns the certificate of a model of the extension module. It is made when it is first read.

        ``shown`` are the eigenvalues that the estimator shows: those of the model in its own dtype, then zeros.
        ``dtype`` is that of the directions, if it is another.
        """
        certificate = object.__new__(cls)
        certificate.__dict__["_source"] = (model, np.array(shown), dtype)
        return certificate

    def __getattr__(self, name):
        source = self.__dict__.get("_source")
        if source is not None and name in self.__dataclass_fields__:
            self.__dict__.update(Certificate._made(*source).__dict__)
            self.__dict__.pop("_source", None)  # which holds the model
        try:  # another thread may have made it
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getstate__(self):
        self.lower  # noqa: B018  makes the certificate
        return dict(self.__dict__)

    @classmethod
    def _made(cls, model, shown, dtype) -> Certificate:
        text, statements, sentence = model.certificate(len(shown))
        facts, values, dtype = json.loads(text), model.eigenvalues, np.dtype(dtype or shown.dtype)
        cost = facts.get("approximation") or {}
        below, above, residuals = (np.array(facts[name], dtype=float) for name in ("below", "above", "residuals"))
        spaces = [(c["first"], c["last"], float(np.arcsin(min(1.0, c["sine"])))) for c in facts["clusters"]]
        exact = np.append(values, np.zeros(len(residuals) - len(values)))
        # The ends are rounded outwards.
        with np.errstate(all="ignore"):
            lower = np.where(below > 0, np.nextafter(exact - below, -np.inf), exact)
            upper = np.where(above > 0, np.nextafter(exact + above, np.inf), exact)
        if len(shown) > len(values):
            sentence += f"; components from {len(values) + 1} on count as zero and have no direction"
        shown, cast = np.asarray(shown, dtype=np.float64), 0.0
        if dtype == np.float32:
            cast = float(np.finfo(dtype).eps) / 2
            sentence += f"; shown in float32, rounded to {cast:.0e}"
        # The directions of a space are rounded one by one.
        angles = [(a, b, angle + np.arcsin(min(1.0, cast * np.sqrt(b - a + 1)))) for a, b, angle in spaces]
        return cls(
            lower=np.minimum(lower, shown),
            upper=np.maximum(upper, shown),
            residuals=residuals,
            spaces=[(a, b, float(min(angle, np.pi / 2))) for a, b, angle in angles],
            missed=facts["missed"],
            reason=facts["kind"]["by"].replace("_", " "),
            failure=facts["kind"].get("failure", 0.0),
            rounding=facts["rounding"],
            rigorous=facts.get("rigorous", False),
            passes=(facts["passes"]["f32"], facts["passes"]["f64"]),
            trace_error=cost.get("trace_error", 0.0),
            trace_share=cost["trace_error"] / cost["total"] if cost.get("total") else 0.0,
            sampled_residuals=np.array(cost.get("residuals", []), dtype=float).reshape(-1, 2),
            confidence=cost.get("confidence", 1.0),
            statements=[Statement.of(statement) for statement in json.loads(statements)],
            sentence=sentence,
        )

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Plan:
    """What a fit would do and need, computed from the shape of the data.

    Attributes
    ----------
    route : str
        For PCA ``"covariance"``, ``"gram"``, ``"svd"`` or ``"passes"``; for kernel PCA ``"dense"``, ``"passes"`` or
        ``"landmarks"``.
    why : str
        Why this route was chosen.
    bytes : int
        Memory at the peak, besides the data.
    flops : float
        Approximate number of floating-point operations.
    seconds : float
        About how long they take on two ordinary cores.
    """

    route: str
    why: str
    bytes: int
    flops: float
    seconds: float
    text: str = field(repr=False)

    @classmethod
    def of(cls, plan) -> Plan:
        """Returns the plan from that of the extension module."""
        return cls(plan.route, plan.why, plan.bytes, plan.flops, plan.seconds, plan.text)

    def __str__(self) -> str:
        return self.text
