"""A fitted model as a notebook shows it."""

from __future__ import annotations

from html import escape

import numpy as np
import sklearn

STYLE = (
    "font-family:system-ui,sans-serif;font-size:13px;border:1px solid #8886;border-radius:6px;padding:10px 14px;"
    "display:inline-block;max-width:640px"
)
BARS = 24


def is_wanted(estimator) -> bool:
    """Whether there is something to show, and the user has not asked for plain text."""
    fitted = hasattr(estimator, "_dtype") and hasattr(estimator, "n_features_in_")
    return fitted and sklearn.get_config()["display"] == "diagram"


def html(estimator) -> str:
    """Parameters, spectrum, certificate."""
    changed = ", ".join(f"{k}={v!r}" for k, v in _changed(estimator).items()) or "default parameters"
    facts = [f"<code style='color:inherit'>{escape(changed)}</code>"]
    ratios = getattr(estimator, "explained_variance_ratio_", None)
    samples = getattr(estimator, "n_samples_", getattr(estimator, "n_samples_seen_", None))
    if samples is None and hasattr(estimator, "X_fit_"):
        samples = estimator.X_fit_.shape[0]
    size = (
        f"{samples:,} rows × {estimator.n_features_in_:,} columns"
        if samples
        else f"{estimator.n_features_in_:,} columns"
    )
    facts.append(f"{size}, {estimator._n_features_out} components")
    if getattr(estimator, "kernel_", None):
        facts.append(f"kernel <code style='color:inherit'>{escape(estimator.kernel_)}</code>")
    picture = scree(np.asarray(ratios, dtype=float)) if ratios is not None and len(ratios) else ""
    certificate = getattr(estimator, "certificate_", None)
    said = f"<div style='margin-top:6px;opacity:.8'>{escape(str(certificate))}</div>" if certificate else ""
    lines = "".join(f"<div>{line}</div>" for line in facts)
    return f"<div style='{STYLE}'><b>{type(estimator).__name__}</b>{lines}{picture}{said}</div>"


def _changed(estimator) -> dict:
    """Parameters that are not at their defaults."""
    defaults = type(estimator)().get_params(deep=False)

    def same(a, b):
        return a is b or (type(a) is type(b) and bool(np.all(a == b)))

    return {k: v for k, v in estimator.get_params(deep=False).items() if not same(v, defaults[k])}


def scree(ratios) -> str:
    """Bars of the first shares of the variance, with their running sum as a line, as SVG."""
    shown = ratios[:BARS]
    running, top = np.cumsum(ratios)[: len(shown)], max(float(shown.max(initial=0.0)), 1e-300)
    step, height = 16, 60
    width = step * len(shown)
    bars = "".join(
        f"<rect x='{i * step + 2}' y='{height - height * r / top:.1f}' width='{step - 4}' "
        f"height='{height * r / top:.1f}' fill='#4477aa'><title>component {i + 1}: {r:.2%} of the variance, "
        f"{s:.2%} with those before</title></rect>"
        for i, (r, s) in enumerate(zip(shown, running, strict=True))
    )
    line = " ".join(f"{i * step + step / 2},{height - height * s:.1f}" for i, s in enumerate(running))
    more = f" (first {len(shown)} of {len(ratios)})" if len(ratios) > len(shown) else ""
    return (
        f"<div style='margin-top:6px'><svg role='img' aria-label='shares of the variance' width='{max(width, 40)}' "
        f"height='{height + 4}' viewBox='0 -2 {max(width, 40)} {height + 4}'>{bars}"
        f"<polyline points='{line}' fill='none' stroke='#ee6677' stroke-width='1.5'/></svg>"
        f"<div>{running[-1]:.2%} of the variance explained{more}</div></div>"
    )
