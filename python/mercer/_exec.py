"""The options of a computation: threads, memory, random seed, progress."""

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

#: The largest memory limit.
MOST = 2**63 - 1
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Exec:
    """The options that the extension module takes."""

    threads: int = 0
    memory: int = _mercer.DEFAULT_MEMORY
    seed: int = 0
    progress: Callable | None = None


def options(n_jobs=None, memory=None, random_state=None, progress=None) -> Exec:
    """Returns the options from the parameters of an estimator, checked."""
    budget = _mercer.recent_memory() if memory is None else bytes_of(memory)
    return Exec(threads(n_jobs), budget, seed(random_state), reporter(progress))


def threads(n_jobs) -> int:
    """Returns the number of threads; 0 stands for one per core.

    Without ``n_jobs``, the usual environment variables count. joblib sets them in its worker processes.
    """
    if n_jobs is None:
        for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS"):
            if os.environ.get(name, "").isdigit():
                return int(os.environ[name])
        return 0
    if n_jobs == 0:
        raise ValueError("n_jobs=0 is not valid: use 1 for one thread, -1 or None for one per core")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def bytes_of(memory) -> int:
    """Returns a number of bytes, from a number or a text such as ``"8G"``."""
    if memory is None:
        return _mercer.default_memory()
    if isinstance(memory, Real) and not isinstance(memory, bool) and memory > 0:
        return min(int(memory), MOST)
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)i?B?\s*", str(memory), re.IGNORECASE)
    if not found or float(found[1]) <= 0:
        raise ValueError(f"memory={memory!r} is not a size: use a number of bytes, or a text such as '8G' or '500M'")
    return min(int(float(found[1]) * UNITS[found[2].upper()]), MOST)


def seed(random_state) -> int:
    """Returns the random seed; 0 without a random state, so that runs are reproducible."""
    if random_state is None:
        return 0
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def reporter(progress) -> Callable | None:
    """Returns the progress callback."""
    if progress is None or progress is False:
        return None
    return Bar() if progress is True else progress


class Bar:
    """A progress bar on standard error."""

    WIDTH = 30

    def __init__(self):
        self.number, self.last = 0, 0.0
        # A terminal or a notebook shows one line that changes; a file gets a line per pass.
        self.interactive = sys.stderr.isatty() or "ipykernel" in sys.modules

    def __call__(self, event: dict) -> None:
        stage = event["stage"]
        if stage == "landmarks":
            self.show("choosing landmarks")
        elif stage == "pass":
            self.number, self.facts = event["number"], event
        elif stage == "tiles":
            share = event["done"] / event["total"]
            if share < 1 and (not self.interactive or time.monotonic() - self.last < 0.05):
                return
            self.last = time.monotonic()
            residual = self.facts["residual"]
            reached = "" if residual is None else f", residual {residual:.0e} of {self.facts['tolerance']:.0e}"
            full = int(share * self.WIDTH)
            bar = "#" * full + "." * (self.WIDTH - full)
            self.show(f"pass {self.number} [{bar}] {share:4.0%} in {self.facts['precision']}{reached}")

    def show(self, text: str) -> None:
        if self.interactive:
            print(f"\r{text:<90}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Clears the line."""
        if self.interactive:
            print(f"\r{'':<90}\r", end="", file=sys.stderr, flush=True)
