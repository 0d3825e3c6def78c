"""What a fit on a cluster costs: work and bytes of each kind of pass as functions of the sizes, and times from rates.

n points of d columns in p blocks on w workers of one core each; m landmarks; b columns of a block of vectors. Numbers
are float64 of 8 bytes. `Rates` are measured on one process (workers.py does it); times come out in seconds. Bytes are
those that go over the wire to or from the busiest place.
"""

import math
from dataclasses import dataclass, replace

EXP = 20  # what one value of a kernel's profile costs beside the product, in flops: the rates are found with it, too
FAN = 16  # states that one task puts together, as in mercer._cluster
PASSES = ((26, True), (13, True), (13, True), (20, False))  # columns and whether in f32; workers.py gives measured ones


@dataclass(frozen=True)
class Rates:
    """What one worker does per second, and the driver for it."""

    pca: float  # flops of moments
    survey: float  # rows that a survey looks through, per second
    landmark: float  # flops of sums over kernel values with landmarks
    swift: float  # flops of a pass over pairs in f32
    exact: float  # the same in f64
    choose: float  # flops of choosing landmarks and of their decomposition, on the driver with all its cores
    finish: float  # flops of making a model of the sums, on the driver
    vectors: float  # flops of what the exact search does between passes, on the driver
    task: float  # seconds of the scheduler for one task
    start: float  # seconds of one round of tasks, however few they are
    network: float = 1e9  # bytes per second, to or from one place
    read: float = 5e8  # bytes per second that a worker reads; infinite for what is in memory
    pickle: float = 1e9  # bytes per second of making and merging states


@dataclass(frozen=True)
class Cost:
    """Seconds of a fit by kind, and bytes."""

    compute: float
    read: float
    network: float
    driver: float
    tasks: float
    moved: float  # bytes, over the whole cluster
    state: float  # bytes on the driver at once

    @property
    def seconds(self):
        """All of it, one after the other: nothing is assumed to overlap."""
        return self.compute + self.read + self.network + self.driver + self.tasks


# -------------------------------------------------------------------------------------------------- work and bytes


def pca_flops(n, d):
    """One half of X'X."""
    return n * d * (d + 1)


def pca_state(d):
    """Bytes of moments: one half of a matrix, means, what rounding took."""
    return 4 * d * (d + 9)


def sample_rows(m):
    """Rows that landmarks are chosen from."""
    return min(max(8 * m, 4000), max(16_000, m)) + 64


def landmark_flops(n, d, m):
    """Kernel values with landmarks and with 64 rows more, and one half of the sum of their products."""
    c = m + 64
    return n * (2 * d * c + EXP * c + m * (m + 1) + 2 * 64 * m)


def landmark_state(m):
    """Bytes of sums: one half of the products of m features, 64 kernel values and a 1."""
    return 4 * (m + 65) * (m + 66)


def choose_flops(d, m):
    """k-means of the sample, three steps, and the decomposition of m by m kernel values."""
    return 3 * 2 * sample_rows(m) * m * d + 10 * m**3


def finish_flops(m):
    """Features of the sums, and their decomposition."""
    return 14 * m**3


def pass_flops(n, d, b):
    """One pass over one half of the Gram matrix, each tile used for its rows and for its columns."""
    return n * n / 2 * (2 * d + EXP + 4 * b)


def pairs(p):
    """Pairs of blocks, those of a block with itself included."""
    return p * (p + 1) // 2


def pass_bytes(n, d, b, p, w):
    """Bytes that one worker gets in a pass: points of the blocks it has not, vectors of all, sums of pairs.

    The scheduler sends pairs wherever there is room, so that a worker gets every block in the end. A pair's sums are of
    two blocks and go to both places.
    """
    away = (w - 1) / w
    return 8 * n * d * away + 8 * n * b + 2 * (2 * 8 * n / p * b) * pairs(p) / w * away


# ----------------------------------------------------------------------------------------------------------- times


def levels(p):
    """Levels of the tree that puts p states together, and its tasks."""
    tasks, depth = 0, 0
    while p > 1:
        p = -(-p // FAN)
        tasks, depth = tasks + p, depth + 1
    return depth, tasks


def busiest(p, w):
    """Blocks of the worker that has most, relative to an even share."""
    return -(-p // w) / (p / w)


def tree_time(size, p, w, rates):
    """Seconds until states of this size have become one: level after level, each of FAN states in one place."""
    depth, tasks = levels(p)
    moved = size * FAN * depth if w > 1 else 0
    return (moved + size) / rates.network, size * FAN * max(depth, tasks / w) / rates.pickle


def pca(n, d, p, w, rates):
    """PCA: one look."""
    size = pca_state(d)
    network, merging = tree_time(size, p, w, rates)
    return Cost(
        compute=pca_flops(n, d) / w * busiest(p, w) / rates.pca + merging,
        read=8 * n * d / w / rates.read,
        network=network,
        driver=0.0,
        tasks=rates.start + (2 * p + levels(p)[1]) * rates.task,
        moved=size * p,
        state=size,
    )


def landmarks(n, d, m, p, w, rates):
    """Kernel PCA by landmarks: two looks, the first of which only draws a sample."""
    size, sample = landmark_state(m), 8 * d * min(sample_rows(m), n / p)
    first, merging_first = tree_time(sample, p, w, rates)
    second, merging = tree_time(size, p, w, rates)
    basis = 8 * (m + 64) * d * 2 + 8 * m * m
    return Cost(
        compute=(landmark_flops(n, d, m) / rates.landmark + n / rates.survey) / w * busiest(p, w)
        + merging
        + merging_first,
        read=2 * 8 * n * d / w / rates.read,
        network=first + second + basis / rates.network,
        driver=choose_flops(d, m) / rates.choose + finish_flops(m) / rates.finish,
        tasks=2 * rates.start + 2 * (2 * p + levels(p)[1]) * rates.task,
        moved=(sample + size) * p + basis * w,
        state=max(size, sample),
    )


def one_pass(n, d, b, swift, p, w, rates):
    """One pass of the exact search: seconds of computing, of the network, of the scheduler."""
    share = busiest(pairs(p), w)
    compute = pass_flops(n, d, b) / w * share / (rates.swift if swift else rates.exact)
    # What goes through the driver, vectors out and images in, waits for nobody else.
    network = pass_bytes(n, d, b, p, w) / rates.network if w > 1 else 8 * n * b / rates.network
    return compute, network + 8 * n * b / rates.network, rates.start + (pairs(p) + 2 * p) * rates.task


def exact(n, d, k, p, w, rates, passes=PASSES, start=300):
    """Exact kernel PCA: two looks for landmarks to start from, then passes over pairs of blocks on the workers."""
    before = landmarks(n, d, start, p, w, rates)
    # The driver has the basis and its images, and makes them orthogonal to each other.
    width = sum(b for b, _ in passes)
    vectors = 2 * 8 * n * (width + k + 8)
    totals = [one_pass(n, d, b, swift, p, w, rates) for b, swift in passes]
    return replace(
        before,
        compute=before.compute + sum(t[0] for t in totals),
        network=before.network + sum(t[1] for t in totals),
        driver=before.driver + 8 * n * width * width / rates.vectors,
        tasks=before.tasks + sum(t[2] for t in totals),
        moved=before.moved + sum(w * pass_bytes(n, d, b, p, w) + 16 * n * b for b, _ in passes),
        state=max(before.state, vectors),
    )


def blocks(n, w, kind):
    """How many blocks are sensible: enough for all workers, not more than 100 MB each where rows are of 50 columns."""
    if kind == "exact":  # four pairs for each worker are enough
        return max(math.ceil(math.sqrt(8 * w)), -(-n // 250_000))
    return max(w, -(-n // 250_000))
