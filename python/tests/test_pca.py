"""PCA against the textbook in numpy, and what it has beyond scikit-learn's."""

import operator

import mercer
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition
from conftest import angle
from mercer import PCA
from scipy.sparse.linalg import eigsh

SOLVERS = ["auto", "full", "covariance_eigh", "arpack", "randomized"]


def naive(X, center=True, scale=False):
    """Eigenpairs of the scatter matrix of float128-free, plainly centred data."""
    X = X - X.mean(axis=0) if center else X
    if scale:
        X = X / X.std(axis=0, ddof=1)
    values, vectors = np.linalg.eigh(X.T @ X)
    return values[::-1], vectors[:, ::-1]


def largest(X, k):
    """The k largest eigenvalues of X'X by Lanczos to machine precision, faster than all of them."""
    return np.sort(eigsh(X.T @ X, k=k, v0=X[0], tol=0, return_eigenvectors=False))[::-1]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_solver_gives_the_textbook_s_components(iris, solver, dtype):
    X = iris.astype(dtype)
    pca = PCA(n_components=2, svd_solver=solver).fit(X)
    values, vectors = naive(X.astype(float))
    eps = np.finfo(dtype).eps
    assert np.abs(pca.singular_values_.astype(float) ** 2 - values[:2]).max() < 20 * eps * values[0]
    assert angle(pca.components_.T.astype(float), vectors[:, :2]) < 100 * eps
    assert pca.components_.dtype == pca.transform(X).dtype == dtype


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_share_of_the_variance_works_with_every_solver(iris, solver):
    pca = PCA(n_components=0.95, svd_solver=solver).fit(iris)
    assert pca.n_components_ == 2
    assert pca.explained_variance_ratio_.sum() > 0.95


@pytest.mark.parametrize("offset", [0, 1e3, 1e6, 1e8])
def test_far_from_the_origin_small_variances_keep_their_digits(rng, offset):
    # P1 and P2: theirs is off by a factor of 8 at 1e8
    moved = rng.normal(size=(1000, 5)) * [3, 2, 1, 0.5, 0.1] + offset
    u, s, vt = np.linalg.svd(moved - moved.mean(axis=0), full_matrices=False)
    pca = PCA().fit(moved)
    assert np.abs(pca.explained_variance_ / (s**2 / 999) - 1).max() < 1e-12 + 1e-15 * offset
    signs = np.sign(np.sum(pca.components_ * vt, axis=1))
    assert np.abs(pca.transform(moved) - u * s * signs).max() < 1e-11 + 3e-15 * offset


def test_float32_data_is_computed_in_float64(rng):
    X = (rng.normal(size=(1000, 5)) * [3, 2, 1, 0.5, 0.1] + 1e3).astype(np.float32)
    values, _ = naive(X.astype(float))
    assert np.abs(PCA().fit(X).explained_variance_ * 999 / values - 1).max() < 1e-6


def test_whitening_does_not_scale_directions_without_variance():
    # P4: theirs gives scores of 8e5
    from sklearn.datasets import make_low_rank_matrix

    X = make_low_rank_matrix(1000, 10, effective_rank=2, tail_strength=0, random_state=0)
    for solver in ("auto", "full", "covariance_eigh"):
        scores = PCA(whiten=True, svd_solver=solver).fit_transform(X)
        assert np.abs(scores).max() < 5


def test_constant_data_has_shares_of_zero():
    pca = PCA().fit(np.ones((10, 3)))
    assert (pca.explained_variance_ratio_ == 0).all()
    assert (pca.transform(np.ones((2, 3))) == 0).all()


def test_switches_for_centre_and_scale(rng):
    X = rng.normal(size=(60, 4)) * [1, 10, 100, 0] + [5, 6, 7, 8]
    pca = PCA(scale=True).fit(X)
    with np.errstate(invalid="ignore"):
        expected = naive(X[:, :3], scale=True)[0]
    assert np.allclose(pca.singular_values_[:3] ** 2, expected)
    assert pca.scale_[3] == 1
    assert np.allclose(pca.inverse_transform(pca.transform(X)), X)
    assert np.allclose(pca.get_covariance(), np.cov(X.T), atol=1e-9)
    plain = PCA(center=False).fit(X)
    assert np.allclose(plain.singular_values_**2, naive(X, center=False)[0])
    assert (plain.mean_ == 0).all()


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array, sp.csr_matrix])
@pytest.mark.parametrize("shape", [(300, 40), (40, 300)])
@pytest.mark.parametrize(("center", "scale"), [(True, False), (True, True), (False, False)])
def test_sparse_data_gives_what_dense_data_gives(rng, container, shape, center, scale):
    X = sp.random_array(shape, density=0.2, rng=rng) + sp.csr_array(
        np.outer(np.ones(shape[0]), np.eye(shape[1])[0] * 1e4)
    )
    dense = X.toarray()
    args = {"n_components": 5, "center": center, "scale": scale}
    a, b = PCA(**args).fit(container(X)), PCA(svd_solver="full", **args).fit(dense)
    assert np.allclose(a.explained_variance_, b.explained_variance_, rtol=1e-9)
    assert np.allclose(a.explained_variance_ratio_, b.explained_variance_ratio_, rtol=1e-9)
    assert angle(a.components_.T, b.components_.T) < 1e-6
    assert np.allclose(a.transform(container(X)), b.transform(dense), atol=1e-6 * np.abs(b.transform(dense)).max())


def test_sparse_data_is_never_densified(rng):
    # Dense it would take 32 GB.
    X = sp.random_array((20_000, 200_000), density=1e-4, rng=rng, format="csr")
    X.data[:] = rng.normal(size=X.nnz)
    X = X + sp.csr_array((np.full(20_000, 3.0), (np.arange(20_000), np.arange(20_000) % 5)), shape=X.shape)
    pca = PCA(n_components=3, memory="4G").fit(X)
    scores = pca.transform(X[:100])
    assert scores.shape == (100, 3)
    assert pca.certificate_.residuals.max() < 1e-5 * pca.singular_values_[0] ** 2


def test_a_few_components_of_many_points_and_dimensions_are_exact(rng):
    # P28: theirs takes a randomized solver here, 1e-3 off
    X = rng.normal(size=(2500, 2200)) * np.linspace(3, 1, 2200) + 7.0
    pca = PCA(n_components=4).fit(X)
    values = largest(X - X.mean(axis=0), 4)
    assert np.abs(pca.singular_values_**2 / values - 1).max() < 1e-9
    lower, upper = pca.certificate_.lower, pca.certificate_.upper
    assert ((lower <= values) & (values <= upper)).all()
    assert PCA(n_components=4).plan(X).route == "passes"
    assert PCA(n_components=4).plan((100, 5)).route == "covariance"


def test_score_is_the_density_of_the_gaussian(rng):
    from scipy.stats import multivariate_normal

    X = rng.normal(size=(500, 4)) * [3, 2, 1, 0.5]
    for args in ({}, {"scale": True}):
        pca = PCA(n_components=2, **args).fit(X)
        expected = multivariate_normal(pca.mean_, pca.get_covariance()).logpdf(X)
        assert np.allclose(pca.score_samples(X), expected)
        assert np.allclose(pca.get_precision(), np.linalg.inv(pca.get_covariance()))


def test_minka_s_rule_works_with_equal_eigenvalues():
    # P18: theirs takes the logarithm of zero
    X = np.vstack([np.eye(6), -np.eye(6), [[3, 0, 0, 0, 0, 0]], [[-3, 0, 0, 0, 0, 0]]])
    assert PCA(n_components="mle", svd_solver="full").fit(X).n_components_ == 1
    rng = np.random.default_rng(3)
    Y = rng.normal(size=(200, 6)) * [5, 4, 1, 1, 1, 1]
    theirs = sklearn.decomposition.PCA(n_components="mle", svd_solver="full").fit(Y)
    assert PCA(n_components="mle", svd_solver="full").fit(Y).n_components_ == theirs.n_components_


def test_the_same_bits_for_any_number_of_threads(rng):
    X = rng.normal(size=(3000, 40))
    first = PCA(n_components=5, n_jobs=1).fit(X)
    for jobs in (2, 3, 7):
        other = PCA(n_components=5, n_jobs=jobs).fit(X)
        assert (first.components_ == other.components_).all()
        assert (first.transform(X) == other.transform(X)).all()


def test_incremental_pca_gives_what_theirs_gives(rng):
    X = rng.normal(size=(500, 12)) * np.linspace(4, 1, 12) + 100
    args = {"n_components": 4, "batch_size": 60}
    a, b = mercer.IncrementalPCA(**args).fit(X), sklearn.decomposition.IncrementalPCA(**args).fit(X)
    for attribute in (
        "components_",
        "singular_values_",
        "mean_",
        "var_",
        "explained_variance_ratio_",
        "noise_variance_",
    ):
        assert np.allclose(getattr(a, attribute), getattr(b, attribute)), attribute
    assert np.allclose(a.transform(X), b.transform(X))


def test_duplicate_entries_of_sparse_data_are_added_up(rng):
    dense = rng.normal(size=(30, 4)) + 5
    rows, columns = np.nonzero(np.ones(dense.shape))
    half = dense.ravel() / 2
    X = sp.coo_array((np.r_[half, half], (np.r_[rows, rows], np.r_[columns, columns])), shape=dense.shape)
    X = sp.csc_array((X.data, (X.row, X.col)), shape=dense.shape)
    raw = sp.csc_array(dense)
    raw.indptr, raw.indices, raw.data = 2 * raw.indptr, np.repeat(raw.indices, 2), np.repeat(raw.data / 2, 2)
    expected = PCA(2).fit(dense)
    for matrix in (X, raw):
        fitted = PCA(2).fit(matrix)
        assert np.allclose(fitted.explained_variance_, expected.explained_variance_)
        assert np.allclose(fitted.transform(matrix), expected.transform(dense))


def test_sparse_data_far_from_the_origin(rng):
    dense = rng.normal(size=(200, 5)) * [3, 2, 1, 0.5, 0.1] + 1e8
    fitted = PCA(3).fit(sp.csr_array(dense))
    assert np.allclose(fitted.explained_variance_, PCA(3).fit(dense).explained_variance_, rtol=1e-9)
    assert np.abs(fitted.transform(sp.csr_array(dense)) - fitted.transform(dense)).max() < 1e-9


@pytest.mark.parametrize("kind", ["dense", "sparse wide", "sparse large"])
def test_as_many_components_as_asked_for_also_of_low_rank(rng, kind):
    shape = {"dense": (2050, 2010), "sparse wide": (40, 3000), "sparse large": (2100, 2300)}[kind]
    left, right = rng.normal(size=(shape[0], 2)), rng.normal(size=(2, shape[1])) * (rng.random(shape[1]) < 0.1)
    X = left @ right
    fitted = PCA(5).fit(X if kind == "dense" else sp.csr_array(X))
    assert fitted.components_.shape == (5, shape[1])
    assert np.allclose(fitted.components_ @ fitted.components_.T, np.eye(5), atol=1e-8)
    # X is left @ right, so its singular values are those of the product of two small triangular factors.
    factors = [np.linalg.qr(a, mode="r") for a in (left - left.mean(axis=0), right.T)]
    values = np.linalg.svd(factors[0] @ factors[1].T, compute_uv=False)
    assert np.allclose(fitted.singular_values_[:2], values)
    assert np.abs(fitted.singular_values_[2:]).max() < 1e-6 * values[0]
    assert fitted.transform(X[:3]).shape == (3, 5)
    assert len(fitted.certificate_.lower) == 5


def test_without_a_mean_at_any_size(rng):
    X = rng.normal(size=(40, 3000)) * (rng.random((40, 3000)) < 0.1) + 0.0
    values = np.linalg.svd(X, compute_uv=False)[:3]
    assert np.allclose(PCA(3, center=False).fit(sp.csr_array(X)).singular_values_, values)
    big = rng.normal(size=(2050, 2010))
    fitted = PCA(3, center=False).fit(big)
    assert np.allclose(fitted.singular_values_**2, largest(big, 3))


@pytest.mark.parametrize("shape", [(400, 300), (100, 90), (50, 400), (20_000, 5), (2500, 2200)])
def test_the_fit_follows_the_plan(rng, shape):
    pca = PCA(4)
    plan, fitted = pca.plan(shape), pca.fit(rng.normal(size=shape))
    done = "passes" if fitted.certificate_.passes[1] else fitted._model.route()
    assert plan.route == done
    sparse = sp.random_array((3000, 2500), density=0.001, rng=rng, format="csr")
    assert pca.plan(sparse).route == "passes"
    assert PCA().plan(sparse).route == "covariance"


def test_missing_values_have_no_score(iris):
    pca = PCA(2).fit(iris)
    bad = iris.copy()
    bad[0, 0] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        pca.score_samples(bad)


def test_partial_fit_takes_its_arguments_in_order(iris):
    mercer.IncrementalPCA(2).partial_fit(iris, None, False)


def test_a_generator_is_drawn_from_only_to_fit(iris):
    generator = np.random.RandomState(0)
    pca = PCA(2, random_state=generator).fit(iris)
    before = generator.get_state()[2]
    pca.transform(iris)
    pca.plan(iris)
    assert generator.get_state()[2] == before


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "arpack", "randomized"])
@pytest.mark.parametrize("wanted", [None, 2, np.int32(2), np.int64(3), 0.9, "mle", 0])
def test_the_number_of_components_has_their_type(iris, tmp_path, solver, wanted):
    try:
        theirs = sklearn.decomposition.PCA(wanted, svd_solver=solver).fit(iris)
    except (ValueError, TypeError):
        theirs = None
    try:
        ours = PCA(wanted, svd_solver=solver).fit(iris)
    except ValueError:
        assert theirs is None
        return
    if theirs is not None:
        assert type(ours.n_components_) is type(theirs.n_components_)
        assert ours.n_components_ == theirs.n_components_
    ours.save(tmp_path / "model.mercer.safetensors")
    read = mercer.load(tmp_path / "model.mercer.safetensors").n_components_
    assert read == ours.n_components_
    if not isinstance(wanted, np.integer):  # a file has plain numbers
        assert type(read) is type(ours.n_components_)
    if wanted in (0.9, "mle"):
        # An example of scikit-learn's gallery formats a text without a place for it, which a plain int does not allow.
        assert operator.mod("number of components", ours.n_components_) == "number of components"
