"""The plan of a fit and the certificate of its result."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class Certificate:
    """Error bounds of the eigenvalues and directions of a fitted model.

    ``print(certificate)`` shows them as one sentence.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_components,)
        Bounds of the exact eigenvalue of each component.
    residuals : ndarray of shape (n_components,)
        The residual ``|A u - lambda u|`` of each component.
    spaces : list of (first, last, angle)
        Components ``first`` to ``last`` span a space within ``angle`` (radians) of the exact one. An angle of pi/2
        means that the space is not determined.
    missed : float
        An upper bound of all eigenvalues that were not computed.
    reason : str
        Where ``missed`` comes from: ``"all pairs"``, ``"trace"``, ``"frobenius"`` (certain) or ``"probes"`` (random).
    failure : float
        The probability that ``missed`` is wrong; 0 if it is certain.
    rounding : float
        A first-order bound of the rounding error. It is contained in all other bounds.
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
    """

    lower: np.ndarray
    upper: np.ndarray
    residuals: np.ndarray
    spaces: list
    missed: float
    reason: str
    failure: float
    rounding: float
    passes: tuple
    trace_error: float
    trace_share: float
    sampled_residuals: np.ndarray
    confidence: float
    sentence: str = field(repr=False)

    @classmethod
    def of(cls, model) -> Certificate:
        """Returns the certificate of a model of the extension module."""
        text, sentence = model.certificate()
        facts, values = json.loads(text), model.eigenvalues
        cost = facts.get("approximation") or {}
        return cls(
            lower=values - np.array(facts["below"], dtype=float),
            upper=values + np.array(facts["above"], dtype=float),
            residuals=np.array(facts["residuals"], dtype=float),
            spaces=[(c["first"], c["last"], float(np.arcsin(min(1.0, c["sine"])))) for c in facts["clusters"]],
            missed=facts["missed"],
            reason=facts["kind"]["by"].replace("_", " "),
            failure=facts["kind"].get("failure", 0.0),
            rounding=facts["rounding"],
            passes=(facts["passes"]["swift"], facts["passes"]["exact"]),
            trace_error=cost.get("trace_error", 0.0),
            trace_share=cost["trace_error"] / cost["total"] if cost.get("total") else 0.0,
            sampled_residuals=np.array(cost.get("residuals", []), dtype=float).reshape(-1, 2),
            confidence=cost.get("confidence", 1.0),
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
    """

    route: str
    why: str
    bytes: int
    flops: float
    text: str = field(repr=False)

    @classmethod
    def of(cls, plan) -> Plan:
        """Returns the plan from that of the extension module."""
        return cls(plan.route, plan.why, plan.bytes, plan.flops, plan.text)

    def __str__(self) -> str:
        return self.text
