"""Minka's choice of the number of components."""

from __future__ import annotations

from math import lgamma, log

import numpy as np


def minka(spectrum, n_samples):
    """Returns the number of components, from 1 to n_features - 1, of greatest evidence (Minka 2000)."""
    n_features = len(spectrum)
    evidence = [-np.inf] + [_evidence(spectrum, rank, n_samples) for rank in range(1, n_features)]
    return max(1, int(np.argmax(evidence)))


def _evidence(spectrum, rank, n_samples):
    """Returns Minka's approximation of the log evidence for this number of components."""
    n_features, tiny = len(spectrum), 1e-15
    # A cut between equal eigenvalues is not determined.
    same = 1e-14 * spectrum[0]
    if spectrum[rank - 1] < tiny or spectrum[rank - 1] - spectrum[rank] <= same:
        return -np.inf
    i = np.arange(1, rank + 1)
    prior = -rank * log(2.0) + sum(lgamma((n_features - k + 1) / 2.0) for k in i)
    prior -= log(np.pi) * np.sum(n_features - i + 1) / 2.0
    noise = max(tiny, float(np.sum(spectrum[rank:])) / (n_features - rank))
    kept = -np.sum(np.log(spectrum[:rank])) * n_samples / 2.0
    left = -log(noise) * n_samples * (n_features - rank) / 2.0
    free = n_features * rank - rank * (rank + 1.0) / 2.0
    modelled = np.where(np.arange(n_features) < rank, spectrum, noise)
    first, second = np.triu_indices(n_features, 1)
    pairs = (first < rank) & (spectrum[first] - spectrum[second] > same)
    first, second = first[pairs], second[pairs]
    bend = (spectrum[first] - spectrum[second]) * (1.0 / modelled[second] - 1.0 / modelled[first])
    curvature = np.sum(np.log(bend)) + len(first) * log(n_samples)
    return prior + kept + left + log(2.0 * np.pi) * (free + rank) / 2.0 - curvature / 2.0 - rank * log(n_samples) / 2.0
