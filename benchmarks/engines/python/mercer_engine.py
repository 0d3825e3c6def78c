"""mercer through its Python package, with its defaults."""

import harness
from mercer import PCA, KernelPCA


def kpca_fit(job):
    """The fit of kernel PCA."""
    return lambda: KernelPCA(job.k, kernel="rbf", gamma=job.gamma, copy_X=False).fit(job.x).eigenvalues_


def kpca_transform(job):
    """The scores of new points by a fitted model."""
    model = KernelPCA(job.k, kernel="rbf", gamma=job.gamma, copy_X=False).fit(job.x)
    return lambda: model.transform(job.new)


def pca_fit(job):
    """The fit of PCA."""
    return lambda: PCA(job.k).fit(job.x).explained_variance_


if __name__ == "__main__":
    harness.run({"kpca_fit": kpca_fit, "kpca_transform": kpca_transform, "pca_fit": pca_fit})
