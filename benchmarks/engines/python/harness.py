"""What every Python engine does alike: take a job, time it, watch its memory, print one line of JSON.

A job is JSON, the last argument of the command line:

    {"task": "kpca_fit", "solver": "arpack", "k": 10, "x": "points.npy", "new": null, "residual": 1e-6, "seconds": 1.0}

An engine gives a function per task. The function prepares whatever is not to be timed and returns what is: a callable
without arguments whose result is either the eigenvalues (a vector) or the scores (a matrix).
"""

import ctypes
import gc
import json
import os
import sys
import time
from dataclasses import dataclass

import numpy as np

THREADS = os.cpu_count()


@dataclass
class Job:
    """What is to be measured."""

    task: str
    solver: str
    k: int
    x: np.ndarray
    new: np.ndarray | None
    residual: float
    seconds: float

    @property
    def gamma(self):
        """The Gaussian's parameter in every case: one over the number of dimensions."""
        return 1.0 / self.x.shape[1]


def run(tasks):
    """Measures the job of the command line with one of `tasks`, a function by the name of each task."""
    told = json.loads(sys.argv[-1])
    told["x"] = np.load(told["x"])
    told["new"] = None if told["new"] is None else np.load(told["new"])
    job = Job(**told)
    if job.task not in tasks:
        sys.exit(f"{job.task}: this engine does not do it")
    measured = tasks[job.task](job)

    seconds, result = [], None
    gc.collect()
    base = forget_peak()
    while not seconds or (sum(seconds) < job.seconds and len(seconds) < 10):
        result = None  # what the last repeat made is given back before the next
        start = time.perf_counter()
        result = measured()
        seconds.append(time.perf_counter() - start)
    memory = None if base is None else status("VmHWM") - base
    print(json.dumps({"seconds": seconds, "memory": memory, "answer": answer(result), "note": ""}))


def answer(result):
    """What is compared between engines: eigenvalues, or the norms of the columns of scores, whose signs are free."""
    result = np.asarray(result)
    if result.ndim == 2:
        result = np.linalg.norm(result, axis=0)
    return result.tolist()


def forget_peak():
    """Lets the peak of the resident memory start anew; returns what is resident now, in bytes, or None if unknown."""
    try:
        ctypes.CDLL(None).malloc_trim(0)  # what was freed before is no part of the base
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
    except (OSError, AttributeError):
        return None
    return status("VmRSS")


def status(field):
    """A field of Linux's /proc/self/status, in bytes."""
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
