"""Points to measure with: a mixture of ten Gaussian clusters, the same on every run.

    python data.py KIND N D SEED OUT.npy

KIND is `mix` (within a cluster the scales fall as j^-1/2, turned by a random rotation: a spectrum as data has it) or
`iso` (within a cluster all directions are alike: a flat spectrum, hard for Krylov methods). The mean variance of a
column is about 1. The first n rows do not depend on n; SEED chooses the points, never the clusters, so that seeds 0
and 1 are a training set and new points of one distribution.
"""

import os
import sys

import numpy as np

CLUSTERS = 10
CHUNK = 8192  # points are drawn in whole chunks, so that a product's rounding does not depend on n


def points(kind, n, d, seed):
    """Returns the first n points of the distribution, a row each."""
    model = np.random.default_rng([20240, 0, 0, d])
    centres = model.standard_normal((CLUSTERS, d))
    spread = np.eye(d)
    if kind == "mix":
        scales = 1.0 / np.sqrt(1.0 + np.arange(d))
        scales *= np.sqrt(d / np.sum(scales**2))
        rotation = np.linalg.qr(model.standard_normal((d, d)))[0]
        spread = scales[:, None] * rotation
    draws = np.random.default_rng([20240, seed, 2, d])
    labels = np.random.default_rng([20240, seed, 1, d]).integers(0, CLUSTERS, size=n)
    x = np.empty((n, d))
    for start in range(0, n, CHUNK):
        rows = x[start : start + CHUNK]
        within = draws.standard_normal((CHUNK, d)) @ spread
        rows[:] = (within[: len(rows)] + centres[labels[start : start + CHUNK]]) / np.sqrt(2.0)
    return x


def main():
    """Writes the points of the command line, whole or not at all."""
    kind, n, d, seed, out = sys.argv[1:]
    if kind not in ("mix", "iso"):
        sys.exit(f"data: {kind} is neither mix nor iso")
    partial = f"{out}.partial.npy"
    np.save(partial, points(kind, int(n), int(d), int(seed)))
    os.replace(partial, out)


if __name__ == "__main__":
    main()
