"""Kernel PCA and PCA as a careful hand writes them in numpy and scipy; one engine per solver.

    eigsh     the Gram matrix stored, ARPACK on it, centred by subtraction of means
    eigh      the Gram matrix stored and centred in place, LAPACK for the largest eigenvalues only
    bkrylov   the Gram matrix stored, block Krylov on it
    symtile   no Gram matrix: block Krylov on tiles computed anew in each pass, each used for both of its places

What makes them fast: the exponent -gamma |x-y|^2 is one product of two thin matrices, so that a tile is a product and
an exponential and nothing else; only the upper tiles are computed; tiles are shared out to one thread per core, each
with a single-threaded BLAS (numpy's exponential does not use threads of itself). The iterative solvers stop at the
residual that the case asks for.
"""

from concurrent.futures import ThreadPoolExecutor

import harness
import numpy as np
import scipy.linalg
from harness import THREADS
from scipy.sparse.linalg import LinearOperator, eigsh
from threadpoolctl import threadpool_limits

TILE = 384  # points on a side: 1.2 MB, a share of the last-level cache
CHUNK = 4096  # rows of data read at once

pool = ThreadPoolExecutor(THREADS)


def share_out(work, tasks):
    """Calls work(task) for all tasks, on all cores, while BLAS uses one thread per call."""
    with threadpool_limits(1, user_api="blas"):
        return list(pool.map(work, tasks))


class Gaussian:
    """The Gaussian kernel between two sets of points, by tiles."""

    def __init__(self, x, y, gamma):
        """Prepares left and right with left @ right.T = -gamma |x_i - y_j|^2."""
        mean = x.mean(axis=0)  # distances stay as they are and their rounding gets smaller
        x, y = x - mean, y - mean
        self.left = np.column_stack([2 * gamma * x, -gamma * np.einsum("ij,ij->i", x, x), np.ones(len(x), x.dtype)])
        self.right = np.column_stack([y, np.ones(len(y), y.dtype), -gamma * np.einsum("ij,ij->i", y, y)])

    def tile(self, rows, columns):
        """exp(-gamma |x_i - y_j|^2) for a slice of i and a slice of j."""
        t = self.left[rows] @ self.right[columns].T
        return np.exp(t, out=t)


def slices(n, size):
    """0..n cut into slices of this size."""
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def upper_tiles(n):
    """The pairs of slices on and above the diagonal."""
    blocks = slices(n, TILE)
    return [(rows, columns) for i, rows in enumerate(blocks) for columns in blocks[i:]]


def stored_gram(kernel, n):
    """The whole Gram matrix, its lower tiles copied from the upper ones."""
    gram = np.empty((n, n))

    def fill(place):
        rows, columns = place
        tile = kernel.tile(rows, columns)
        gram[rows, columns] = tile
        if rows != columns:
            gram[columns, rows] = tile.T

    share_out(fill, upper_tiles(n))
    return gram


def tiled_product(kernel, v):
    """K v without a stored K: each thread sums its tiles' parts, then the sums are added."""

    def add_up(tiles):
        total = np.zeros_like(v)
        for rows, columns in tiles:
            tile = kernel.tile(rows, columns)
            total[rows] += tile @ v[columns]
            if rows != columns:
                total[columns] += tile.T @ v[rows]
        return total

    tiles = upper_tiles(len(v))
    return sum(share_out(add_up, [tiles[i::THREADS] for i in range(THREADS)]))


def centred(product):
    """H K H as a product, from K as a product."""

    def centred_product(v):
        w = product(v - v.mean(axis=0))
        return w - w.mean(axis=0)

    return centred_product


def block_krylov(product, n, k, residual):
    """The k largest eigenpairs: a growing basis of blocks, orthogonalised fully, Rayleigh-Ritz in each step."""
    block = k + 10
    new = np.linalg.qr(np.random.default_rng(0).standard_normal((n, block)))[0]
    basis, image = np.empty((n, 0)), np.empty((n, 0))
    while True:
        basis, image = np.hstack([basis, new]), np.hstack([image, product(new)])
        values, vectors = np.linalg.eigh(basis.T @ image)
        values, vectors = values[: -k - 1 : -1], vectors[:, : -k - 1 : -1]
        ritz = basis @ vectors
        error = np.linalg.norm(image @ vectors - ritz * values, axis=0).max()
        if error <= residual * values[0]:
            return values, ritz
        new = image[:, -block:]
        for _ in range(2):
            new = new - basis @ (basis.T @ new)
        new = np.linalg.qr(new)[0]


def top_eigenpairs(job, kernel):
    """The k largest eigenpairs of the centred Gram matrix, largest first, by the job's solver."""
    n = len(job.x)
    if job.solver == "symtile":
        return block_krylov(centred(lambda v: tiled_product(kernel, v)), n, job.k, job.residual)
    gram = stored_gram(kernel, n)
    if job.solver == "bkrylov":
        return block_krylov(centred(lambda v: gram @ v), n, job.k, job.residual)
    if job.solver == "eigsh":
        operator = LinearOperator((n, n), matvec=centred(lambda v: gram @ v), dtype=gram.dtype)
        start = np.random.default_rng(0).standard_normal(n)
        values, vectors = eigsh(operator, k=job.k, which="LA", v0=start, tol=job.residual)
    elif job.solver == "eigh":
        mean = gram.mean(axis=0)
        gram -= mean
        gram -= mean[:, None] - mean.mean()
        top = (n - job.k, n - 1)
        values, vectors = scipy.linalg.eigh(gram.T, subset_by_index=top, overwrite_a=True, check_finite=False)
    else:
        raise SystemExit(f"{job.solver}: no such solver")
    return values[::-1], vectors[:, ::-1]


def kpca_fit(job):
    """The eigenvalues, from the points."""
    return lambda: top_eigenpairs(job, Gaussian(job.x, job.x, job.gamma))[0]


def kpca_pass(job):
    """K v for a block v of k columns, which is the same for every engine."""
    i, j = np.arange(1, len(job.x) + 1), np.arange(1, job.k + 1)
    v = np.cos(np.outer(i, j))
    x = job.x
    if job.solver == "f32":
        x, v = x.astype(np.float32), v.astype(np.float32)
    return lambda: tiled_product(Gaussian(x, x, job.gamma), v)


def kpca_transform(job):
    """Scores of new points: z = A'k(x) - A'kbar with A = U L^(-1/2), whose columns are orthogonal to 1."""
    kernel = Gaussian(job.x, job.x, job.gamma)
    values, vectors = top_eigenpairs(job, kernel)
    weights = vectors / np.sqrt(values)
    offset = tiled_product(kernel, weights).mean(axis=0)

    def transform():
        kernel = Gaussian(job.x, job.new, job.gamma)
        scores = np.empty((len(job.new), job.k))

        def fill(rows):
            parts = [kernel.tile(columns, rows).T @ weights[columns] for columns in slices(len(job.x), TILE)]
            scores[rows] = sum(parts) - offset

        share_out(fill, slices(len(job.new), TILE))
        return scores

    return transform


def pca_fit(job):
    """The covariance in one pass over the data, as X'X - n m m': fast, though it cancels far from the origin."""

    def fit():
        n, d = job.x.shape

        def moments(rows):
            part = job.x[rows]
            return part.T @ part, part.sum(axis=0)

        squares, sums = (sum(parts) for parts in zip(*share_out(moments, slices(n, CHUNK)), strict=False))
        covariance = (squares - np.outer(sums, sums) / n) / (n - 1)
        return scipy.linalg.eigh(covariance, subset_by_index=(d - job.k, d - 1))[0][::-1]

    return fit


if __name__ == "__main__":
    harness.run({"kpca_fit": kpca_fit, "kpca_pass": kpca_pass, "kpca_transform": kpca_transform, "pca_fit": pca_fit})
