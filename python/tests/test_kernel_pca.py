"""Kernel PCA against the textbook in numpy and against scikit-learn's, and what it has beyond theirs."""

import mercer
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition
from conftest import angle
from mercer import Kernel, KernelPCA, Nystroem, kernels
from sklearn.exceptions import PositiveSpectrumWarning
from sklearn.metrics.pairwise import chi2_kernel, pairwise_kernels, rbf_kernel


def naive(K, k):
    """The k leading eigenpairs of HKH."""
    n = len(K)
    H = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(H @ K @ H)
    return values[::-1][:k], vectors[:, ::-1][:, :k]


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "cosine"])
@pytest.mark.parametrize("solver", ["auto", "dense", "arpack", "randomized"])
def test_scores_are_those_of_theirs(iris, kernel, solver):
    args = {"n_components": 3, "kernel": kernel, "eigen_solver": solver, "random_state": 0}
    ours, theirs = KernelPCA(**args).fit(iris), sklearn.decomposition.KernelPCA(**args).fit(iris)
    assert np.allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-8)
    scale = np.abs(theirs.transform(iris)).max()
    for Z in (ours.transform(iris[:70]), ours.fit_transform(iris)[:70]):
        assert np.abs(Z - theirs.transform(iris[:70])).max() < 1e-6 * scale


def test_new_points_do_not_depend_on_those_beside_them(iris):
    model = KernelPCA(3, kernel="rbf").fit(iris)
    new = np.vstack([iris + 0.1, iris - 0.1])
    together = model.transform(new)
    for rows in (1, 7, 150):
        assert (model.transform(new[:rows]) == together[:rows]).all()


def test_more_components_than_features(rng):
    # P11
    assert KernelPCA(5, kernel="rbf").fit_transform(rng.normal(size=(50, 1))).shape == (50, 5)


def test_shares_are_of_the_true_total(iris):
    K = rbf_kernel(iris, gamma=0.25)
    model = KernelPCA(2, kernel="rbf").fit(iris)
    total = np.trace(K) - K.sum() / len(K)
    assert np.allclose(model.explained_variance_ratio_, model.eigenvalues_ / total)
    assert np.allclose(model.explained_variance_, np.var(model.transform(iris), axis=0, ddof=1))
    assert model.explained_variance_ratio_.sum() < 0.9
    share = KernelPCA(0.95, kernel="rbf").fit(iris)
    assert share.explained_variance_ratio_.sum() >= 0.95 > share.explained_variance_ratio_[:-1].sum()


def test_kernels_by_name_text_object_and_function_are_the_same(iris):
    def pair(x, y):
        return 0.5 * np.exp(-0.2 * np.sum((x - y) ** 2)) + x @ y

    def block(X, Y):
        return 0.5 * np.exp(-0.2 * ((X[:, None] - Y[None]) ** 2).sum(-1)) + X @ Y.T

    by_text = KernelPCA(2, kernel="0.5*gaussian(gamma=0.2) + linear").fit(iris)
    made = 0.5 * kernels.gaussian(gamma=0.2) + kernels.linear()
    for kernel in (made, pair, block, Kernel("linear + 0.5 * rbf(gamma=0.2)")):
        other = KernelPCA(2, kernel=kernel).fit(iris)
        assert np.allclose(other.eigenvalues_, by_text.eigenvalues_, rtol=1e-12)
        assert np.allclose(other.transform(iris[:5] + 1), by_text.transform(iris[:5] + 1), atol=1e-9)
    assert np.allclose(made(iris), pairwise_kernels(iris, metric=pair))
    assert made.psd
    assert not kernels.sigmoid().psd


def test_a_function_of_blocks_is_called_for_blocks(rng):
    X, calls = rng.normal(size=(200, 3)), []

    def block(X, Y, gamma):
        calls.append((len(X), len(Y)))
        return rbf_kernel(X, Y, gamma=gamma)

    model = KernelPCA(2, kernel=block, kernel_params={"gamma": 0.1}).fit(X)
    assert [c for c in calls if c[0] > 3] == [(200, 200)]
    assert np.allclose(model.eigenvalues_, KernelPCA(2, kernel="rbf", gamma=0.1).fit(X).eigenvalues_)
    # Not stored where memory does not allow it; the same components.
    lazy = KernelPCA(2, kernel=block, kernel_params={"gamma": 0.1}, memory=900_000)
    many = rng.normal(size=(2500, 3))
    with pytest.raises(MemoryError):
        KernelPCA(kernel="rbf", memory=900_000).fit(many)
    lazy.set_params(memory="100M").fit(many)
    assert max(a for a, _ in calls) == 1024
    assert np.allclose(lazy.eigenvalues_, KernelPCA(2, kernel="rbf", gamma=0.1).fit(many).eigenvalues_, rtol=1e-9)


def test_a_function_that_returns_the_wrong_shape_is_refused(rng):
    X = rng.normal(size=(100, 3))

    def odd(X, Y):
        return np.zeros((len(X), 2)) if np.ndim(X) == 2 else np.zeros(3)

    for rows in (X, X[:10]):
        with pytest.raises(ValueError, match=r"shape \(\d+, 2\) for blocks of"):
            KernelPCA(2, kernel=odd).fit(rows)


def test_errors_of_a_function_come_out_as_they_are(rng):
    class Mine(Exception):
        pass

    def fails(X, Y):
        raise Mine("the real reason")

    def fails_later(X, Y):
        if len(X) > 500:
            raise Mine("the real reason")
        return X @ Y.T

    with pytest.raises(Mine, match="the real reason"):
        KernelPCA(2, kernel=fails).fit(rng.normal(size=(100, 3)))
    with pytest.raises(Mine, match="the real reason"):
        KernelPCA(2, kernel=fails_later, memory="100M").fit(rng.normal(size=(2500, 3)))


def test_the_error_of_a_pair_function_comes_out_as_it_is(rng):
    class Mine(Exception):
        pass

    calls = []

    def fails_at_once(a, b):
        a @ b  # not for blocks
        raise Mine("the real reason")

    def fails_later(a, b):
        calls.append(1)
        if len(calls) > 20:
            raise RuntimeError("mine")
        return float(a @ b)

    def of_blocks(X, Y):
        if X.shape[1] == 3:  # not for pairs
            raise Mine("the real reason")

    for rows in (8, 100):
        X = rng.normal(size=(rows, 3))
        for function, kind, text in (
            (fails_at_once, Mine, "the real reason"),
            (fails_later, RuntimeError, "mine"),
            (of_blocks, Mine, "the real reason"),
        ):
            calls.clear()
            with pytest.raises(kind, match=text):
                KernelPCA(2, kernel=function).fit(X)


def test_a_function_that_is_not_symmetric_is_refused_with_the_pair(rng):
    def blocks(X, Y):
        return X[:, :1] - Y[:, :1].T

    def nearly(X, Y):
        return X @ Y.T + 1e-3 * (X[:, :1] - Y[:, :1].T)

    X = rng.normal(size=(100, 3))
    for rows in (X, X[:8]):
        for function in (lambda a, b: float(a[0] - b[0]), lambda a, b: float(a @ b + a[0]), blocks, nearly):
            with pytest.raises(ValueError, match=r"not symmetric: rows \d+ and \d+ of X .* give .* in one order and"):
                KernelPCA(2, kernel=function).fit(rows)
    with pytest.raises(ValueError, match="not symmetric") as found:
        KernelPCA(2, kernel=blocks).fit(X)
    words = str(found.value).split()
    i, j = (int(words[words.index("rows") + at]) for at in (1, 3))
    values = [float(words[at + 1]) for at, word in enumerate(words) if word in ("give", "and")][1:]
    assert np.allclose(values, [X[i, 0] - X[j, 0], X[j, 0] - X[i, 0]], rtol=1e-5)
    # Also where the matrix is not stored.
    with pytest.raises(ValueError, match="not symmetric"):
        KernelPCA(2, kernel=nearly, memory="100M").fit(rng.normal(size=(2500, 3)))


def test_functions_on_sparse_data(rng):
    X = sp.random_array((100, 6), density=0.5, rng=rng, format="csr")

    def kernel(a, b):
        value = a @ b.T
        return value.toarray() if np.ndim(value) == 2 and value.shape[0] > 1 else float(value.toarray().item())

    for rows in (X, X[:20]):
        fitted = KernelPCA(2, kernel=kernel).fit(rows)
        assert np.allclose(fitted.eigenvalues_, KernelPCA(2).fit(rows).eigenvalues_)


def test_a_function_that_calls_us_again_is_served(rng):
    from sklearn.decomposition import KernelPCA as Theirs

    X, inner = rng.normal(size=(2100, 3)), kernels.gaussian(gamma=0.1)
    for jobs in (1, 2):
        fitted = KernelPCA(2, kernel=lambda a, b, n_jobs=jobs: inner(a, b, n_jobs=n_jobs), memory="100M", n_jobs=jobs)
        fitted.fit(X)
    theirs = Theirs(2, kernel="rbf", gamma=0.1, eigen_solver="arpack").fit(X)
    assert np.allclose(fitted.eigenvalues_, theirs.eigenvalues_)


def test_the_gamma_that_was_used(iris):
    for kernel, gamma in [
        ("rbf(gamma=1)", 1.0),
        ("gaussian(over_sigma2=4)", 0.25),
        ("gaussian(over_2sigma2=4)", 0.125),
        (kernels.polynomial(gamma=0.5, degree=2), 0.5),
        ("chi2", 1.0),
        ("matern", 0.25),
        ("normalised(linear)", 0.25),
        ("squared_exponential", 0.25),
    ]:
        assert KernelPCA(2, kernel=kernel).fit(iris).gamma_ == gamma, kernel
    assert kernels.rbf(gamma=2) == kernels.gaussian(gamma=2)
    with pytest.raises(ValueError, match="returned NaN or infinite values"):
        KernelPCA(2, kernel=lambda a, b: np.nan).fit(iris)
    with pytest.raises(ValueError, match="degree=5 is not used with"):
        KernelPCA(2, kernel="polynomial(degree=2)", degree=5).fit(iris)
    with pytest.raises(ValueError, match="is not supported for kernel='additive_chi2'"):
        KernelPCA(2, kernel="additive_chi2", gamma="median").fit(iris)


def test_memory_is_refused_before_a_function_is_called(rng):
    calls = []

    def counted(X, Y):
        calls.append(len(X))
        return X @ Y.T

    with pytest.raises(MemoryError):
        KernelPCA(kernel=counted, memory="1M").fit(rng.normal(size=(800, 3)))
    assert max(calls) <= 3
    assert KernelPCA(2, kernel=counted).plan((100_000, 5)).route == "passes"


def test_a_refit_removes_old_attributes(iris):
    model = KernelPCA(2, fit_inverse_transform=True).fit(iris)
    model.set_params(fit_inverse_transform=False).fit(iris[:50])
    assert not hasattr(model, "dual_coef_")
    assert sum([kernels.linear(), kernels.cosine()]) == kernels.linear() + kernels.cosine()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.PositiveSpectrumWarning")
def test_their_pairwise_names(rng):
    X = rng.random(size=(60, 4))
    for name in ("laplacian", "chi2", "additive_chi2", "polynomial"):
        K = pairwise_kernels(X, metric=name)
        model = KernelPCA(2, kernel=name, gamma=None).fit(X)
        values = naive(K, 2)[0]
        assert np.allclose(model.eigenvalues_, values, rtol=1e-9), name
    assert np.allclose(
        KernelPCA(2, kernel="chi2", gamma=0.5).fit(X).eigenvalues_, naive(chi2_kernel(X, gamma=0.5), 2)[0]
    )


def test_chi2_is_a_kernel_of_the_table_with_their_meaning(iris):
    for gamma, theirs in ((None, chi2_kernel(iris)), (0.5, chi2_kernel(iris, gamma=0.5))):
        model = KernelPCA(2, kernel="chi2", gamma=gamma).fit(iris)
        assert model.kernel_ == f"chi2(gamma={1 if gamma is None else gamma:g})"
        assert np.allclose(model.eigenvalues_, naive(theirs, 2)[0], rtol=1e-10)
        assert np.allclose(kernels.Kernel(model.kernel_)(iris), theirs, rtol=1e-13)
    X = iris.copy()
    X[7, 2] = -0.5
    for fit in (KernelPCA(2, kernel="chi2").fit, Nystroem("chi2", n_components=150).fit, kernels.chi2(gamma=1)):
        with pytest.raises(ValueError, match="value -0.5 in row 7, column 2 .*; expected value >= 0"):
            fit(X)
    many = np.vstack([np.repeat(iris, 30, axis=0), X])
    for model in (KernelPCA(2, kernel="chi2"), Nystroem("chi2", n_components=9)):
        with pytest.raises(ValueError, match="row 4507, column 2"):
            model.fit(iris).transform(many)
    with pytest.raises(ValueError, match="row 7, column 2"):
        Nystroem("chi2", n_components=9).fit(sp.csr_matrix(X))
    with pytest.raises(ValueError, match="scores, which can be negative"):
        KernelPCA(2, kernel="chi2", fit_inverse_transform=True).fit(iris)


def test_kernels_by_name_and_by_expression(rng):
    X = rng.random(size=(80, 3))
    dots, squares = X @ X.T, np.sum(X**2, axis=1)
    tanimoto = dots / (squares[:, None] + squares - dots)
    apart = np.abs(X[:, None] - X)
    periodic = np.exp(-2 * np.sum(np.sin(np.pi * apart / 7) ** 2, axis=2) / 0.5**2)
    for kernel, K in (
        ("tanimoto", tanimoto),
        (kernels.jaccard(), tanimoto),
        ("periodic(period=7, length=0.5)", periodic),
        (kernels.periodic(period=7, length=0.5), periodic),
        ("gamma_exponential(length=2, power=1)", np.exp(-np.sqrt(np.sum(apart**2, axis=2)) / 2)),
    ):
        assert np.allclose(KernelPCA(3, kernel=kernel).fit(X).eigenvalues_, naive(K, 3)[0], rtol=1e-9), kernel


def test_a_width_per_dimension(rng):
    X = rng.normal(size=(90, 3))
    widths = np.array([1, 2, 0.5])
    for given in ([1, 2, 0.5], (1.0, 2.0, 0.5), widths, widths.astype(np.float32)):
        assert str(kernels.gaussian(length=given)) == "gaussian(length=[1, 2, 0.5])"
    model = KernelPCA(2, kernel=kernels.gaussian(length=widths)).fit(X)
    assert np.allclose(model.eigenvalues_, naive(rbf_kernel(X / widths, gamma=0.5), 2)[0], rtol=1e-9)
    assert np.allclose(model.transform(X), KernelPCA(2, kernel="rbf", gamma=0.5).fit(X / widths).transform(X / widths))
    assert KernelPCA(2, kernel=kernels.gaussian(length=2)).fit(X).gamma_ == 0.125
    with pytest.raises(ValueError, match="expected 3 numbers, one per dimension"):
        KernelPCA(2, kernel=kernels.gaussian(length=[1, 2])).fit(X)
    with pytest.raises(ValueError, match="has no kernel"):
        model.to_sklearn()


def test_widths_from_the_data(iris):
    # P25: the picture does not change with the units
    for rule in ("median", "scale"):
        a = KernelPCA(2, kernel="rbf", gamma=rule).fit(iris)
        b = KernelPCA(2, kernel="rbf", gamma=rule).fit(100 * iris)
        assert np.isclose(a.gamma_, 1e4 * b.gamma_)
        assert np.allclose(a.eigenvalues_, b.eigenvalues_)
        assert a.kernel_ == f"gaussian(gamma={a.gamma_!r})"
    assert np.isclose(KernelPCA(2, kernel="rbf", gamma="scale").fit(iris).gamma_, 1 / (4 * iris.var()))
    assert KernelPCA(2, kernel="rbf").fit(iris).gamma_ == 0.25


def test_many_points_are_exact_and_certified(rng):
    X = rng.normal(size=(1500, 6)) * [4, 3, 2, 1, 0.5, 0.2]
    model = KernelPCA(5, kernel="rbf", gamma="median").fit(X)
    values, vectors = naive(rbf_kernel(X, gamma=model.gamma_), 5)
    c = model.certificate_
    assert c.passes[0] + c.passes[1] >= 2
    assert ((c.lower <= values) & (values <= c.upper)).all()
    assert np.abs(model.eigenvalues_ / values - 1).max() < 1e-10
    assert angle(model.eigenvectors_, vectors) < 1e-4
    assert str(c).startswith("eigenvalues accurate to")
    tight = KernelPCA(5, kernel="rbf", gamma="median", tol=1e-10).fit(X)
    assert tight.certificate_.residuals.max() < 1e-9 * values[0]


def test_dense_solver_computes_all_pairs(rng):
    X = rng.normal(size=(700, 3))
    assert KernelPCA(2, kernel="rbf", eigen_solver="dense").fit(X).certificate_.reason == "all pairs"
    assert KernelPCA(2, kernel="rbf").fit(X).certificate_.reason != "all pairs"


def test_a_plan_is_available_before_the_fit():
    plan = KernelPCA(10, kernel="rbf").plan((100_000, 50))
    assert plan.route == "passes"
    assert plan.bytes < 3e9
    assert "passes" in str(plan)
    with pytest.raises(MemoryError, match="budget"):
        KernelPCA(kernel="rbf").plan((100_000, 50))
    with pytest.raises(MemoryError, match="ask for a number of components"):
        KernelPCA(kernel="rbf", memory="10M").fit(np.random.default_rng(0).normal(size=(1000, 2)))


def test_a_share_that_needs_many_components_is_found_by_all_of_them(rng):
    X = rng.normal(size=(800, 20))
    model = KernelPCA(0.9, kernel="rbf", gamma=0.2).fit(X)
    assert model.certificate_.reason == "all pairs"
    assert len(model.eigenvalues_) > 100
    assert model.explained_variance_ratio_.sum() >= 0.9 > model.explained_variance_ratio_[:-1].sum()
    assert "time and memory are larger" in KernelPCA(0.9, kernel="rbf").plan((20_000, 30)).why
    for shape in (5, "x", (5, 3, 2), (-5, 3)):
        with pytest.raises(ValueError, match="plan\\(\\) takes a table or its shape"):
            KernelPCA(2).plan(shape)


def test_indefinite_kernels_are_reported_for_every_solver_and_number(iris):
    # P5
    for solver in ("auto", "dense", "arpack", "randomized"):
        for k in (2, 60):
            args = {"kernel": "sigmoid", "gamma": 0.05, "coef0": -1, "eigen_solver": solver}
            if solver == "randomized":  # as theirs: a negative eigenvalue is larger than the positive ones
                with pytest.raises(ValueError, match="significant negative eigenvalues .* another eigen_solver"):
                    KernelPCA(k, **args).fit(iris)
                continue
            with pytest.warns(PositiveSpectrumWarning, match="negative"):
                KernelPCA(k, **args).fit(iris)
        with pytest.raises(ValueError, match="significant negative eigenvalues"):
            KernelPCA(kernel="sigmoid", gamma=0.05, coef0=-1, eigen_solver=solver).fit(iris)


def test_invalid_kernels_are_refused_with_a_message(iris):
    for kernel, message in [
        ("rbff", "The 'kernel' parameter of KernelPCA must be a str among .* Got 'rbff' instead."),
        ("gaussian(gama=2)", "'gama' is not a parameter of gaussian; did you mean 'gamma'"),
        ("gaussian(sigma=2)", "sigma has two meanings"),
        ("gaussian(gamma=-1)", "gamma > 0"),
        ("linear + ", "expected"),
    ]:
        with pytest.raises(ValueError, match=message):
            KernelPCA(2, kernel=kernel).fit(iris)
    with pytest.raises(ValueError, match="write it into the kernel"):
        KernelPCA(2, kernel="gaussian(gamma=1) + linear", gamma=2.0).fit(iris)
    with pytest.raises(ValueError, match="which has no distances"):
        KernelPCA(2, kernel="poly", gamma="median").fit(iris)


def test_asymmetric_matrices_give_a_warning(rng):
    K = rng.normal(size=(20, 20))
    K = K @ K.T
    K[0, 1] += 1
    with pytest.warns(UserWarning, match="not symmetric"):
        KernelPCA(2, kernel="precomputed").fit(K)
    with pytest.raises(ValueError, match="square"):
        KernelPCA(2, kernel="precomputed").fit(K[:5])


def test_the_same_bits_for_any_number_of_threads(rng):
    X = rng.normal(size=(1200, 5))
    first = KernelPCA(3, kernel="rbf", n_jobs=1).fit(X)
    for jobs in (2, 3, 7):
        other = KernelPCA(3, kernel="rbf", n_jobs=jobs).fit(X)
        assert (first.eigenvectors_ == other.eigenvectors_).all()
        assert (first.transform(X[:50]) == other.transform(X[:50])).all()


def test_features_of_float32_are_computed_in_float64():
    from sklearn.datasets import make_moons

    X = make_moons(300, noise=0.05, random_state=0)[0].astype(np.float32)
    fitted = mercer.Nystroem(gamma=0.5, n_components=50, random_state=0).fit(X)
    Z = fitted.transform(fitted.components_)
    assert Z.dtype == np.float32
    assert np.abs(Z @ Z.T - kernels.rbf(gamma=0.5)(fitted.components_)).max() < 1e-4


def test_nystroem_with_all_points_is_exact(iris):
    # P12: centred, it is kernel PCA
    Z = mercer.Nystroem(n_components=150, gamma=0.25).fit_transform(iris)
    assert np.allclose(Z @ Z.T, rbf_kernel(iris, gamma=0.25), atol=1e-7)
    exact = KernelPCA(3, kernel="rbf", gamma=0.25).fit(iris)
    assert np.allclose(mercer.PCA(3).fit(Z).singular_values_ ** 2, exact.eigenvalues_, rtol=1e-7)
    theirs = sklearn.kernel_approximation.Nystroem(n_components=20, random_state=3).fit(iris)
    ours = mercer.Nystroem(n_components=20, random_state=3).fit(iris)
    assert (ours.component_indices_ == theirs.component_indices_).all()
    a, b = ours.transform(iris), theirs.transform(iris)
    assert np.allclose(a @ a.T, b @ b.T, atol=1e-8)


@pytest.mark.parametrize("shift", [0.0, 1.0, 1e3, 1e8])
@pytest.mark.parametrize("n_components", [None, 4])
def test_a_linear_inverse_restores_the_mean(iris, shift, n_components):
    X = iris + shift
    args = {"fit_inverse_transform": True, "alpha": 1e-9, "restore_mean": True}
    model = KernelPCA(n_components, **args).fit(X)
    for scores in (model.transform(X), model.fit_transform(X)):
        assert np.abs(model.inverse_transform(scores) - X).max() < 1e-6 * np.ptp(X) + 1e-15 * shift
    # The mean itself has scores of 0.
    zero = np.zeros((1, model.X_transformed_fit_.shape[1]))
    assert np.allclose(model.inverse_transform(zero), X.mean(axis=0))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("unit", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("restore_mean", [False, True])
def test_the_ridge_of_an_inverse_may_be_below_rounding(iris, dtype, unit, restore_mean):
    X = (iris * unit).astype(dtype)
    model = KernelPCA(fit_inverse_transform=True, alpha=1e-9, restore_mean=restore_mean).fit(X)
    # As in scikit-learn, the mean is lost unless it is asked for; nothing else is.
    expected = X if restore_mean else X - X.mean(axis=0)
    error = np.abs(model.inverse_transform(model.transform(X)) - expected).max()
    assert error < max(100 * np.finfo(dtype).eps, 1e-9) * X.max()
    # No kernel value is lost that theirs has.
    rbf = {"kernel": "rbf", "gamma": 0.1, "n_components": 3, "fit_inverse_transform": True, "alpha": 1e-3}
    ours, theirs = KernelPCA(**rbf).fit(iris), sklearn.decomposition.KernelPCA(**rbf).fit(iris)
    Z = theirs.transform(iris)
    assert np.allclose(ours.inverse_transform(Z), theirs.inverse_transform(Z), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_components", [None, 18, 24])
def test_what_is_shown_is_certified(dtype, n_components):
    X = np.random.default_rng(0).normal(size=(24, 3)).astype(dtype)
    model = KernelPCA(n_components, kernel="rbf", gamma=1e-3).fit(X)
    c, k = model.certificate_, len(model.eigenvalues_)
    assert len(c.lower) == len(c.upper) == len(c.residuals) == k == model.eigenvectors_.shape[1]
    assert c.spaces[-1][1] == k - 1
    assert (c.lower <= model.eigenvalues_).all()
    assert (model.eigenvalues_ <= c.upper).all()
    K = rbf_kernel(X.astype(np.float64), gamma=1e-3)
    values, vectors = naive(K, 24)
    noise = 1e-13 * values[0]
    assert (c.lower <= values[:k] + noise).all()
    assert (values[:k] - noise <= c.upper).all()
    assert k == 24 or values[k] <= c.missed + noise
    for first, last, bound in c.spaces:
        if bound < np.pi / 2:
            found = model.eigenvectors_[:, first : last + 1].astype(np.float64)
            # The noise of the reference, by its gap.
            near = np.delete(values, range(first, last + 1))
            gap = np.abs(values[first : last + 1, None] - near).min()
            assert angle(vectors[:, first : last + 1], found) <= np.sin(bound) + noise / gap
    # A component without variance has no direction, and its vector is made up.
    (zeros,) = np.nonzero(model.eigenvalues_ == 0)
    for i in zeros:
        assert [bound for first, last, bound in c.spaces if first <= i <= last] == [np.pi / 2]
    assert ("no direction" in str(c)) == bool(len(zeros))
    assert ("float32" in str(c)) == (dtype == np.float32)
    H = np.eye(24) - 1 / 24
    residuals = np.linalg.norm(H @ K @ H @ model.eigenvectors_ - model.eigenvectors_ * model.eigenvalues_, axis=0)
    assert (residuals <= c.residuals + c.rounding + (2e-7 if dtype == np.float32 else 1e-15) * values[0]).all()
    if dtype == np.float32:
        assert max(bound for *_, bound in c.spaces[:1]) >= 2.0**-24


def test_a_file_has_the_components_that_are_shown(tmp_path, rng):
    X = rng.normal(size=(100, 3))
    model = KernelPCA(kernel="rbf", gamma=1e-2).fit(X)
    model.save(tmp_path / "model.mercer.safetensors")
    read = mercer.load(tmp_path / "model.mercer.safetensors")
    assert len(read._model.eigenvalues) == len(model.eigenvalues_) == len(read.certificate_.lower)
    assert read.certificate_.missed == model.certificate_.missed
    assert str(read.certificate_) == str(model.certificate_)
    assert (read.transform(X) == model.transform(X)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.PositiveSpectrumWarning")
def test_the_randomized_solver_refuses_what_theirs_refuses(iris):
    K = np.diag([9.0, 3.0, 2.0, -5.0, 1.0, 0.5])
    K -= K.mean(axis=0)
    K = K - K.mean(axis=1, keepdims=True)
    K = (K + K.T) / 2
    for k in range(1, 6):
        outcomes = []
        for module in (sklearn.decomposition, mercer):
            try:
                module.KernelPCA(k, kernel="precomputed", eigen_solver="randomized", random_state=0).fit(K)
                outcomes.append(None)
            except ValueError as error:
                outcomes.append(str(error)[:40])
        assert outcomes[0] == outcomes[1], k
    with pytest.warns(PositiveSpectrumWarning):
        KernelPCA(2, kernel="precomputed").fit(K)


def test_equal_tiny_points_have_no_variance():
    X = np.full((6, 2), 1e-227)
    assert KernelPCA().fit(X).eigenvalues_.shape == (0,)
    assert not KernelPCA(2).fit(X).eigenvalues_.any()
    with pytest.raises(ValueError, match="cannot be squared"):
        KernelPCA().fit(np.arange(12.0).reshape(6, 2) * 1e-227)


def test_statements_say_how_sure_they_are():
    x = np.random.default_rng(0).normal(size=(60, 3))
    certificate = KernelPCA(n_components=2, kernel="rbf").fit(x).certificate_
    assert [s.about for s in certificate.statements] == ["eigenvalues", "directions", "missed"]
    assert {s.kind for s in certificate.statements} == {"theorem"}
    given = KernelPCA(n_components=2, kernel="precomputed").fit(x @ x.T).certificate_
    assert given.statements[0].kind == "estimate"
    assert all(s.text in str(given) for s in given.statements)
