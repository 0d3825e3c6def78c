"""The HTML of a fitted model in a notebook."""

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
    """Returns whether the estimator is fitted and HTML output is enabled."""
    fitted = hasattr(estimator, "_dtype") and hasattr(estimator, "n_features_in_")
    return fitted and sklearn.get_config()["display"] == "diagram"


def html(estimator) -> str:
    """Returns parameters, spectrum and certificate as HTML."""
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
    sentence = f"<div style='margin-top:6px;opacity:.8'>{escape(str(certificate))}</div>" if certificate else ""
    lines = "".join(f"<div>{line}</div>" for line in facts)
    return f"<div style='{STYLE}'><b>{type(estimator).__name__}</b>{lines}{picture}{sentence}</div>"


def _changed(estimator) -> dict:
    """Returns the parameters that differ from their defaults."""
    defaults = type(estimator)().get_params(deep=False)

    def same(a, b):
        return a is b or (type(a) is type(b) and bool(np.all(a == b)))

    return {k: v for k, v in estimator.get_params(deep=False).items() if not same(v, defaults[k])}


def scree(ratios) -> str:
    """Returns the scree plot as SVG: the share of each component dark, the cumulative share light."""
    shown = ratios[:BARS]
    running = np.cumsum(ratios)[: len(shown)]
    step, height = 16, 60
    width = max(step * len(shown), 40)

    def bar(i, share, colour):
        size = min(share, 1.0) * height
        return (
            f"<rect x='{i * step + 2}' y='{height - size:.1f}' width='{step - 4}' height='{size:.1f}' fill='{colour}'/>"
        )

    bars = "".join(
        f"<g><title>component {i + 1}: {r:.2%} of the variance, {s:.2%} cumulative</title>"
        f"{bar(i, s, '#4477aa55')}{bar(i, r, '#4477aa')}</g>"
        for i, (r, s) in enumerate(zip(shown, running, strict=True))
    )
    more = f" (the first {len(shown)} of {len(ratios)} are shown)" if len(ratios) > len(shown) else ""
    return (
        f"<div style='margin-top:6px'><svg role='img' aria-label='shares of the variance' width='{width}' "
        f"height='{height + 2}'><path d='M0 .5H{width}M0 {height + 0.5}H{width}' stroke='#8888'/>{bars}</svg>"
        f"<div>{np.sum(ratios):.2%} of the variance explained{more}</div></div>"
    )
