"""P20, P21, P22 and P26: what fell in other libraries."""

import mercer
import numpy as np
import pytest
import sklearn.decomposition
from mercer import PCA, IncrementalPCA, KernelPCA, Nystroem


@pytest.mark.parametrize(
    "estimator",
    [
        PCA(2),
        PCA(2, whiten=True),
        PCA(2, svd_solver="full"),
        PCA(2, svd_solver="randomized"),
        KernelPCA(2, kernel="rbf"),
        KernelPCA(2, kernel="poly"),
        KernelPCA(4),
        IncrementalPCA(2, batch_size=40),
        Nystroem(n_components=10, random_state=0),
    ],
    ids=repr,
)
def test_p20_fit_transform_is_fit_and_then_transform(iris, estimator):
    once = estimator.fit_transform(iris)
    twice = estimator.fit(iris).transform(iris)
    assert np.abs(once - twice).max() <= 1e-12 * np.abs(once).max()
    if hasattr(estimator, "explained_variance_"):
        assert (np.diff(estimator.explained_variance_) <= 0).all()


def test_p21_graphs_agree_where_others_lose_digits(iris):
    ort = pytest.importorskip("onnxruntime")

    def run(estimator, X):
        return ort.InferenceSession(estimator.to_onnx(), providers=["CPUExecutionProvider"]).run(None, {"X": X})[0]

    # Powers are powers, not whole numbers cut from them; norms of zero divide nothing; values are doubles.
    new = np.vstack([iris[:20] + 0.01, np.zeros((1, 4))])
    for kernel in ("poly", "cosine", "rbf", "normalised(polynomial(degree=2) + linear)"):
        model = KernelPCA(3, kernel=kernel).fit(iris)
        z, expected = run(model, new), model.transform(new)
        assert np.isfinite(z).all()
        assert np.abs(z - expected).max() < 1e-12 * np.abs(expected).max()
    with pytest.raises(ValueError, match="cannot be written as a graph"):
        KernelPCA(3, kernel="poly", degree=2.5).fit(iris).to_onnx()


def test_p22_nothing_of_the_user_s_is_changed(iris):
    params = {"degree": 2}
    Nystroem(kernel="polynomial", gamma=0.1, kernel_params=params, n_components=5).fit(iris)
    KernelPCA(2, kernel=lambda x, y, p: float(x @ y) ** p, kernel_params={"p": 2}).fit(iris[:10])
    assert params == {"degree": 2}
    before = iris.copy()
    for estimator in (PCA(2, copy=False), KernelPCA(2, copy_X=False), IncrementalPCA(2, copy=False)):
        estimator.fit(iris).transform(iris)
        assert (iris == before).all()


def test_p22_the_ridge_is_solved_once(iris, monkeypatch):
    calls, solve = [], np.linalg.solve

    def counted(*args):
        calls.append(args)
        return solve(*args)

    monkeypatch.setattr(np.linalg, "solve", counted)
    KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit_transform(iris)
    assert len(calls) == 1


@pytest.mark.parametrize(("alpha", "rmse"), [(1.0, 0.239), (1e-4, 0.089)])
def test_p26_the_inverse_is_theirs(iris, alpha, rmse):
    args = {"n_components": 4, "kernel": "rbf", "fit_inverse_transform": True, "alpha": alpha}
    ours, theirs = KernelPCA(**args).fit(iris), sklearn.decomposition.KernelPCA(**args).fit(iris)
    back = ours.inverse_transform(ours.transform(iris))
    assert np.allclose(back, theirs.inverse_transform(theirs.transform(iris)), atol=1e-7)
    assert np.sqrt(np.mean((back - iris) ** 2)) == pytest.approx(rmse, abs=5e-4)


def test_p26_the_mean_comes_back_when_it_is_asked_for(iris):
    args = {"n_components": 4, "kernel": "linear", "fit_inverse_transform": True, "alpha": 1e-6}
    lost = KernelPCA(**args).fit(iris)
    assert np.abs(lost.inverse_transform(lost.transform(iris)).mean(axis=0)).max() < 1e-6
    kept = KernelPCA(restore_mean=True, **args).fit(iris)
    assert np.allclose(kept.inverse_transform(kept.transform(iris)), iris, atol=1e-6)


def test_distances_far_from_the_origin_are_right(iris):
    # P3
    for kernel in ("rbf", "laplacian", "matern"):
        near = KernelPCA(3, kernel=kernel).fit(iris).eigenvalues_
        far = KernelPCA(3, kernel=kernel).fit(iris + 2.0**20).eigenvalues_
        assert np.allclose(near, far, rtol=1e-6)


def test_the_scale_of_the_data_does_not_matter(iris):
    # P6
    for factor in (1, 1e-6, 1e6):
        assert KernelPCA(kernel="linear").fit_transform(iris * factor).shape == (150, 4)


def test_ratios_sum_to_one_whatever_the_batches(rng):
    # P14
    X = rng.normal(size=(300, 8))
    ipca = mercer.IncrementalPCA(8, batch_size=37).fit(X)
    assert ipca.explained_variance_ratio_.sum() == pytest.approx(1)
