"""With what a computation may be done: threads, memory, seed, progress."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real

from sklearn.utils import check_random_state

from . import _mercer

#: The most bytes that anybody has.
MOST = 2**63 - 1
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Exec:
    """What the extension module takes."""

    threads: int = 0
    memory: int = _mercer.DEFAULT_MEMORY
    seed: int = 0
    progress: Callable | None = None


def options(n_jobs=None, memory=None, random_state=None, progress=None) -> Exec:
    """The options of an estimator, checked."""
    return Exec(threads(n_jobs), bytes_of(memory), seed(random_state), reporter(progress))


def threads(n_jobs) -> int:
    """How many threads; 0 stands for one per core.

    Without ``n_jobs`` the usual variables of the environment are looked at, so that a worker process of joblib, which
    sets them, does not take more than its share.
    """
    if n_jobs is None:
        for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS"):
            if os.environ.get(name, "").isdigit():
                return int(os.environ[name])
        return 0
    if n_jobs == 0:
        raise ValueError("n_jobs = 0 means nothing: use 1 for one thread, -1 or None for one per core")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def bytes_of(memory) -> int:
    """A number of bytes, from a number or a text such as ``"8G"``."""
    if memory is None:
        return _mercer.DEFAULT_MEMORY
    if isinstance(memory, Real) and not isinstance(memory, bool) and memory > 0:
        return min(int(memory), MOST)
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)i?B?\s*", str(memory), re.IGNORECASE)
    if not found or float(found[1]) <= 0:
        raise ValueError(f"memory={memory!r} is not a size: use a number of bytes or a text such as '8G' or '500M'")
    return min(int(float(found[1]) * UNITS[found[2].upper()]), MOST)


def seed(random_state) -> int:
    """A seed; without one, always the same, so that reruns agree."""
    if random_state is None:
        return 0
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def reporter(progress) -> Callable | None:
    """The function that is told of progress."""
    if progress is None or progress is False:
        return None
    return Bar() if progress is True else progress


class Bar:
    """A line of progress on standard error, in a terminal or a notebook."""

    WIDTH = 30

    def __init__(self):
        self.number, self.last = 0, 0.0
        # In a file a line per pass, in a terminal or a notebook one line that changes.
        self.lively = sys.stderr.isatty() or "ipykernel" in sys.modules

    def __call__(self, told: dict) -> None:
        stage = told["stage"]
        if stage == "landmarks":
            self.show("choosing landmarks")
        elif stage == "pass":
            self.number, self.facts = told["number"], told
        elif stage == "tiles":
            share = told["done"] / told["total"]
            if share < 1 and (not self.lively or time.monotonic() - self.last < 0.05):
                return
            self.last = time.monotonic()
            residual = self.facts["residual"]
            reached = "" if residual is None else f", residual {residual:.0e} of {self.facts['tolerance']:.0e}"
            full = int(share * self.WIDTH)
            bar = "#" * full + "." * (self.WIDTH - full)
            self.show(f"pass {self.number} [{bar}] {share:4.0%} in {self.facts['precision']}{reached}")

    def show(self, text: str) -> None:
        if self.lively:
            print(f"\r{text:<90}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Takes the line away."""
        if self.lively:
            print(f"\r{'':<90}\r", end="", file=sys.stderr, flush=True)
