"""scikit-learn as its documentation shows it, one engine per solver."""

import harness
from sklearn.decomposition import PCA, KernelPCA


def kernel_pca(job):
    """KernelPCA with a Gaussian kernel; `auto` takes the dense solver from ten components on."""
    return KernelPCA(
        n_components=job.k,
        kernel="rbf",
        gamma=job.gamma,
        eigen_solver=job.solver,
        random_state=0,
        copy_X=False,  # the points are ours and stay as they are
    )


def kpca_fit(job):
    """The fit of kernel PCA."""
    return lambda: kernel_pca(job).fit(job.x).eigenvalues_


def kpca_transform(job):
    """The scores of new points by a fitted model."""
    model = kernel_pca(job).fit(job.x)
    return lambda: model.transform(job.new)


def pca_fit(job):
    """The fit of PCA; its solvers have names of their own."""
    return lambda: PCA(n_components=job.k, svd_solver=job.solver, random_state=0).fit(job.x).explained_variance_


if __name__ == "__main__":
    harness.run({"kpca_fit": kpca_fit, "kpca_transform": kpca_transform, "pca_fit": pca_fit})
