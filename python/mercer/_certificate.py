"""What a fit says about itself: its plan before, its certificate after."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class Certificate:
    """How far computed eigenvalues and directions can be from the truth.

    Printed, it is a sentence.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_components,)
        The exact eigenvalue of each component lies between these.
    residuals : ndarray of shape (n_components,)
        The measured ``|A u - lambda u|``.
    spaces : list of (first, last, angle)
        Components from ``first`` to ``last`` span a space that is within ``angle`` (radians) of the exact one. One
        component by itself is a direction; an angle of pi/2 says nothing.
    missed : float
        No eigenvalue beyond those of the components exceeds this.
    reason : str
        Why that is so: ``"all pairs"``, ``"trace"``, ``"frobenius"`` (all certain) or ``"probes"``.
    failure : float
        The probability that the statement about ``missed`` fails; 0 where it is certain.
    rounding : float
        The allowance for rounding that is contained in all of this, a first-order bound.
    passes : tuple of int
        Passes over the Gram matrix in float32 and in float64.
    trace_error : float
        With landmarks, the trace of what they leave of the Gram matrix: no eigenvalue is underestimated by more, and
        all of them together are not. 0 for exact components.
    trace_share : float
        The same as a share of the whole variance.
    sampled_residuals : ndarray of shape (n_components, 2)
        With landmarks, ``|K u - lambda u|`` of each component as estimated from a sample of rows, and what it is below
        with ``confidence``: the trace error where the sample sees too little. Empty for exact components.
    confidence : float
        Of these bounds.
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
        """The certificate of a model of the extension module."""
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
    """What a fit would do and need, decided from sizes alone.

    Attributes
    ----------
    route : str
        The way: ``"covariance"``, ``"gram"``, ``"svd"``; for kernel PCA ``"dense"``, ``"passes"`` or
        ``"landmarks"``.
    why : str
        Why this one.
    bytes : int
        Memory at the peak, besides the data.
    flops : float
        Floating-point operations, roughly.
    """

    route: str
    why: str
    bytes: int
    flops: float
    text: str = field(repr=False)

    @classmethod
    def of(cls, plan) -> Plan:
        """Returns the plan of the extension module."""
        return cls(plan.route, plan.why, plan.bytes, plan.flops, plan.text)

    def __str__(self) -> str:
        return self.text
