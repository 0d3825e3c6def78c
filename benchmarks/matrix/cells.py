"""The cells of the matrix: jobs that scikit-learn can do, small and large.

A cell has data, and a job for each package. A job is a function of the package, the solver and the data; it prepares
whatever is not timed and returns what is: a callable without arguments. The answer of a cell is a vector that does not
depend on signs: eigenvalues, or the norms of the columns of scores.
"""

import sys
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1] / "engines" / "python"))
import data as mixtures


@dataclass(frozen=True)
class Cell:
    """A job, the data it is done on, and scikit-learn's solvers for it."""

    name: str
    make: callable
    job: callable
    solvers: tuple = ("auto",)
    #: The largest relative difference of the answers; a solver beyond it does not count.
    tolerance: float = 1e-6
    #: The least ratio that is aimed at.
    aim: float = 1.0
    #: For approximate methods, whose answers differ: whether scikit-learn's answer is only shown.
    approximate: bool = False
    options: dict = field(default_factory=dict)


def package(name):
    """The module that has the estimators of a package."""
    return import_module("mercer" if name == "mercer" else "sklearn.decomposition")


def mix(n, d, dtype="float64", seed=0):
    """A mixture of ten Gaussian clusters; of many dimensions without a rotation, which would take minutes."""
    if d <= 1000:
        return mixtures.points("mix", n, d, seed).astype(dtype)
    rng = np.random.default_rng([20240, seed, 3, d])
    scales = 1.0 / np.sqrt(1.0 + np.arange(d))
    scales *= np.sqrt(d / np.sum(scales**2))
    centres = rng.standard_normal((mixtures.CLUSTERS, d))
    labels = rng.integers(0, mixtures.CLUSTERS, size=n)
    return ((rng.standard_normal((n, d)) * scales + centres[labels]) / np.sqrt(2.0)).astype(dtype)


def swiss(n):
    """A roll in three dimensions."""
    rng = np.random.default_rng(0)
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    return np.column_stack([t * np.cos(t), 21 * rng.random(n), t * np.sin(t)])


def moons(n):
    """Two half circles."""
    from sklearn.datasets import make_moons

    return make_moons(n, noise=0.05, random_state=0)[0]


def digits():
    """Small pictures of digits, 1797 of 64 pixels."""
    from sklearn.datasets import load_digits

    return load_digits().data


def iris():
    """Flowers, 150 of 4 measurements."""
    from sklearn.datasets import load_iris

    return load_iris().data


def sparse(n, d, density):
    """Sparse rows without structure: a flat spectrum."""
    return sp.random(n, d, density, format="csr", random_state=0)


def sparse_low_rank(n, d, rank):
    """Sparse rows that are sums of a few patterns, and noise."""
    rng = np.random.default_rng(0)
    left = sp.random(n, rank, 0.1, format="csr", random_state=1)
    right = sp.random(rank, d, 0.02, format="csr", random_state=2)
    scale = sp.diags(1.0 / np.sqrt(1.0 + np.arange(rank)))
    noise = sp.random(n, d, 0.001, format="csr", random_state=rng)
    return (left @ scale @ right + 0.1 * noise).tocsr()


def kernel_pca(name, solver, k, kernel, gamma, **options):
    """The estimator; without a solver, our own default."""
    extra = {"eigen_solver": solver, "random_state": 0} if name == "sklearn" else {}
    return package(name).KernelPCA(k, kernel=kernel, gamma=gamma, copy_X=False, **options, **extra)


def width(x, gamma):
    """The parameter of the Gaussian: one over the number of dimensions, unless stated."""
    return 1.0 / x.shape[1] if gamma is None else gamma


def fit_kernel(name, solver, x, *, k, kernel="rbf", gamma=None, **options):
    """A fit of kernel PCA."""
    return lambda: kernel_pca(name, solver, k, kernel, width(x, gamma), **options).fit(x).eigenvalues_


def fit_transform_kernel(name, solver, x, *, k):
    """A fit of kernel PCA, and the scores of its points."""
    return lambda: kernel_pca(name, solver, k, "rbf", width(x, None)).fit_transform(x)


def transform_kernel(name, solver, x, *, k, new):
    """The scores of new points."""
    model = kernel_pca(name, "arpack", k, "rbf", width(x, None)).fit(x)
    points = mix(new, x.shape[1], seed=1)
    return lambda: model.transform(points)


def inverse_kernel(name, solver, x, *, k):
    """A fit of kernel PCA with its inverse, and points back from their scores."""

    def work():
        model = kernel_pca(name, solver, k, "rbf", 1e-3, fit_inverse_transform=True, alpha=0.1)
        return model.inverse_transform(model.fit_transform(x))

    return work


def pca(name, solver, k, asked):
    """The estimator; our own gets the solver that the cell asks for, theirs each of its solvers."""
    return package(name).PCA(k, svd_solver=asked if name == "mercer" else solver, random_state=0)


def fit_pca(name, solver, x, *, k, asked="auto"):
    """A fit of PCA."""
    return lambda: pca(name, solver, k, asked).fit(x).explained_variance_


def transform_pca(name, solver, x, *, k):
    """The scores of points."""
    model = pca(name, "auto", k, "auto").fit(x)
    return lambda: model.transform(x)


def fit_transform_pca(name, solver, x, *, k):
    """A fit of PCA, and the scores of its points."""
    return lambda: pca(name, solver, k, "auto").fit_transform(x)


def inverse_pca(name, solver, x, *, k):
    """Points from their scores."""
    model = pca(name, "auto", k, "auto").fit(x)
    scores = model.transform(x)
    return lambda: model.inverse_transform(scores)


def incremental(name, solver, x, *, k, batch, **options):
    """PCA of batches."""
    ours = options if name == "mercer" else {}
    return lambda: package(name).IncrementalPCA(k, batch_size=batch, **ours).fit(x).explained_variance_


def nystroem_pca(name, solver, x, *, k, landmarks):
    """Kernel PCA by landmarks; with scikit-learn, PCA of Nystroem features."""
    gamma = width(x, None)
    if name == "mercer":
        module = package(name)
        return lambda: module.KernelPCA(k, kernel="rbf", gamma=gamma, landmarks=landmarks).fit(x).eigenvalues_
    from sklearn.decomposition import PCA
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    def work():
        features = Nystroem(kernel="rbf", gamma=gamma, n_components=landmarks, random_state=0)
        model = make_pipeline(features, PCA(k, svd_solver=solver)).fit(x)
        return model[-1].explained_variance_ * (len(x) - 1)

    return work


def nystroem_features(name, solver, x, *, landmarks):
    """Nystroem features of all points."""
    module = import_module("mercer" if name == "mercer" else "sklearn.kernel_approximation")
    make = partial(module.Nystroem, kernel="rbf", gamma=width(x, None), n_components=landmarks, random_state=0)
    return lambda: make().fit_transform(x)


def answer(result):
    """What is compared: eigenvalues, or norms of columns."""
    result = np.asarray(result, dtype=np.float64)
    return (np.linalg.norm(result, axis=0) if result.ndim == 2 else result)[:50]


def kernel_cell(label, make, k, aim=1.0, solvers=("arpack", "randomized"), dtype="float64", **options):
    """A cell of a fit of kernel PCA."""
    tolerance = 1e-6 if dtype == "float64" else 1e-4
    return Cell(label, make, partial(fit_kernel, k=k, **options), solvers, tolerance, aim)


def pca_cell(label, make, k, asked="auto", aim=1.0, solvers=(), dtype="float64"):
    """A cell of a fit of PCA, against the solver that is asked for and others that are exact."""
    tolerance = 1e-6 if dtype == "float64" else 1e-4
    return Cell(
        label, make, partial(fit_pca, k=k, asked=asked), tuple({asked: 0, **dict.fromkeys(solvers)}), tolerance, aim
    )


ALL = ("arpack", "randomized", "dense")
CELLS = [
    kernel_cell("kpca rbf n=100 d=10 k=5", partial(mix, 100, 10), 5, 1.0, ALL),
    kernel_cell("kpca rbf n=300 d=50 k=10", partial(mix, 300, 50), 10, 1.0, ALL),
    kernel_cell("kpca rbf n=1000 d=50 k=10", partial(mix, 1000, 50), 10, 3.0, ALL),
    kernel_cell("kpca rbf n=2000 d=50 k=10", partial(mix, 2000, 50), 10, 3.0),
    kernel_cell("kpca rbf n=5000 d=50 k=10", partial(mix, 5000, 50), 10, 8.0),
    kernel_cell("kpca rbf n=10000 d=50 k=10", partial(mix, 10000, 50), 10, 8.0),
    kernel_cell("kpca rbf n=20000 d=50 k=10", partial(mix, 20000, 50), 10, 8.0, ("arpack",)),
    kernel_cell("kpca rbf n=1000 d=50 k=2", partial(mix, 1000, 50), 2),
    kernel_cell("kpca rbf n=5000 d=50 k=2", partial(mix, 5000, 50), 2),
    kernel_cell("kpca rbf n=5000 d=50 k=50", partial(mix, 5000, 50), 50, 4.0),
    kernel_cell("kpca rbf n=5000 d=50 k=200", partial(mix, 5000, 50), 200, 4.0),
    kernel_cell("kpca rbf n=5000 d=3 k=10", partial(mix, 5000, 3), 10),
    kernel_cell("kpca rbf n=5000 d=784 k=10", partial(mix, 5000, 784), 10),
    kernel_cell("kpca rbf n=5000 d=50 k=10 f32", partial(mix, 5000, 50, "float32"), 10, dtype="float32"),
    kernel_cell("kpca poly n=5000 d=20 k=10", partial(mix, 5000, 20), 10, kernel="poly"),
    kernel_cell("kpca linear n=5000 d=20 k=10", partial(mix, 5000, 20), 10, kernel="linear"),
    kernel_cell("kpca cosine n=5000 d=20 k=10", partial(mix, 5000, 20), 10, kernel="cosine"),
    kernel_cell("kpca linear n=20000 d=20 k=10", partial(mix, 20000, 20), 10, 1.0, ("arpack",), kernel="linear"),
    kernel_cell("kpca rbf digits k=10", digits, 10, gamma=1e-3),
    kernel_cell("kpca rbf swiss roll n=5000 k=10", partial(swiss, 5000), 10, gamma=0.01),
    kernel_cell("kpca rbf moons n=5000 k=2", partial(moons, 5000), 2, gamma=2.0),
    kernel_cell("kpca rbf swiss roll narrow n=5000 k=10", partial(swiss, 5000), 10, gamma=1.0),
    kernel_cell("kpca rbf very narrow n=5000 d=50 k=10", partial(mix, 5000, 50), 10, gamma=0.5),
    kernel_cell("kpca rbf n=600 d=20 all", partial(mix, 600, 20), None, 1.0, ("dense",)),
    kernel_cell("kpca rbf n=2000 d=20 all", partial(mix, 2000, 20), None, 1.0, ("dense",)),
    Cell("kpca transform 10000 on 5000", partial(mix, 5000, 50), partial(transform_kernel, k=10, new=10000), aim=15.0),
    Cell("kpca transform 1 on 5000", partial(mix, 5000, 50), partial(transform_kernel, k=10, new=1), aim=2.0),
    Cell(
        "kpca fit_transform n=2000 d=50 k=10", partial(mix, 2000, 50), partial(fit_transform_kernel, k=10), ("arpack",)
    ),
    Cell("kpca with inverse digits k=20", digits, partial(inverse_kernel, k=20), ("arpack", "dense")),
    pca_cell("pca n=150 d=4 k=2", iris, 2, solvers=("full", "covariance_eigh")),
    pca_cell("pca n=1797 d=64 k=10", digits, 10, solvers=("full", "covariance_eigh", "randomized")),
    pca_cell("pca n=100000 d=100 k=10", partial(mix, 100000, 100), 10),
    pca_cell("pca n=1000000 d=50 k=10", partial(mix, 1000000, 50), 10, aim=2.2),
    pca_cell("pca n=1000000 d=10 k=5", partial(mix, 1000000, 10), 5),
    pca_cell("pca n=100000 d=500 k=10", partial(mix, 100000, 500), 10, solvers=("covariance_eigh",)),
    pca_cell("pca n=2000 d=5000 k=20", partial(mix, 2000, 5000), 20, solvers=("arpack", "randomized")),
    pca_cell("pca n=500 d=20000 k=20 full", partial(mix, 500, 20000), 20, "full"),
    pca_cell("pca n=5000 d=5000 k=20 arpack", partial(mix, 5000, 5000), 20, "arpack", solvers=("auto", "randomized")),
    pca_cell("pca n=100000 d=100 k=10 f32", partial(mix, 100000, 100, "float32"), 10, dtype="float32"),
    pca_cell("pca n=20000 d=2000 k=50", partial(mix, 20000, 2000), 50, "covariance_eigh", solvers=("arpack", "auto")),
    pca_cell("pca n=3000 d=3000 all", partial(mix, 3000, 3000), None, "full"),
    Cell("pca transform n=200000 d=50", partial(mix, 200000, 50), partial(transform_pca, k=10), aim=1.5),
    Cell("pca transform n=1 d=50", partial(mix, 200, 50), partial(transform_pca, k=10), aim=1.0),
    Cell("pca fit_transform n=200000 d=50", partial(mix, 200000, 50), partial(fit_transform_pca, k=10)),
    Cell("pca inverse_transform n=200000 d=50", partial(mix, 200000, 50), partial(inverse_pca, k=10)),
    pca_cell("sparse pca 20000x5000 1 % k=10", partial(sparse, 20000, 5000, 0.01), 10, "arpack", aim=1.3),
    pca_cell("sparse pca low rank 20000x5000 k=10", partial(sparse_low_rank, 20000, 5000, 50), 10, "arpack", aim=1.3),
    Cell("incremental pca 200000x50", partial(mix, 200000, 50), partial(incremental, k=10, batch=1000)),
    Cell(
        "incremental pca by moments 200000x50",
        partial(mix, 200000, 50),
        partial(incremental, k=10, batch=1000, method="moments"),
        tolerance=1e-2,
    ),
    Cell(
        "kpca landmarks m=500 n=50000",
        partial(mix, 50000, 50),
        partial(nystroem_pca, k=10, landmarks=500),
        approximate=True,
    ),
    Cell(
        "Nystroem features m=200 n=20000",
        partial(mix, 20000, 50),
        partial(nystroem_features, landmarks=200),
        tolerance=1e-4,
    ),
]

#: The jobs of the README's table, beside those that are slower than with scikit-learn.
SHOWN = {
    "kpca rbf n=1000 d=50 k=10",
    "kpca rbf n=5000 d=50 k=10",
    "kpca rbf n=10000 d=50 k=10",
    "kpca rbf n=20000 d=50 k=10",
    "kpca rbf n=5000 d=50 k=200",
    "kpca transform 10000 on 5000",
    "kpca landmarks m=500 n=50000",
    "pca n=150 d=4 k=2",
    "pca n=1000000 d=50 k=10",
    "pca n=20000 d=2000 k=50",
    "pca n=2000 d=5000 k=20",
    "pca transform n=200000 d=50",
    "sparse pca low rank 20000x5000 k=10",
}
