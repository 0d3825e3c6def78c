"""A second opinion on fitted models."""

import mercer
import numpy as np
import pytest
import scipy.sparse as sp
from mercer import PCA, IncrementalPCA, KernelPCA, Verification
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA as TheirPCA
from sklearn.exceptions import NotFittedError

X = load_iris().data


@pytest.mark.parametrize(
    "estimator",
    [
        PCA(),
        PCA(n_components=2),
        PCA(n_components=2, whiten=True),
        PCA(n_components=3, scale=True),
        PCA(n_components=2, center=False),
        IncrementalPCA(n_components=2, method="moments"),
        KernelPCA(n_components=3, kernel="rbf"),
        KernelPCA(n_components=3, kernel="poly"),
        KernelPCA(n_components=2, kernel="gaussian(gamma=median) + linear"),
        KernelPCA(n_components=2, kernel=lambda x, y: float(np.exp(-0.1 * np.sum((x - y) ** 2)))),
        KernelPCA(n_components=2, kernel="rbf", landmarks=40),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_right_models_are_confirmed(estimator, dtype):
    data = X.astype(dtype)
    found = estimator.fit(data).verify(data)
    assert isinstance(found, Verification)
    assert found.verdict == "confirmed", str(found)
    assert str(found).splitlines()[-1].startswith("verdict      confirmed: ")
    assert all(claim.outcome != "refuted" for claim in found.claims)


def test_gram_matrix_and_sparse_data():
    K = np.exp(-0.2 * ((X[:, None] - X[None]) ** 2).sum(2))
    assert KernelPCA(n_components=2, kernel="precomputed").fit(K).verify(K).verdict == "confirmed"
    assert PCA(n_components=2).fit(sp.csr_matrix(X)).verify(sp.csr_matrix(X)).verdict == "confirmed"


def test_other_data_is_refuted_or_refused():
    other = X.copy()
    other[17, 0] += 1e-6
    for estimator in [PCA(n_components=2), KernelPCA(n_components=2, kernel="rbf")]:
        estimator.fit(X)
        assert estimator.verify(other).verdict == "refuted"
        with pytest.raises(ValueError, match="not that of the fit"):
            estimator.verify(X[:-1])
        with pytest.raises(ValueError, match="features"):
            estimator.verify(X[:, :3])
        with pytest.raises(ValueError, match="passes must be"):
            estimator.verify(X, passes=0)
    kernel = KernelPCA(n_components=2, kernel="rbf").fit(X).verify(other)
    wrong = next(claim for claim in kernel.claims if claim.about == "data")
    assert (wrong.outcome, wrong.component) == ("refuted", None)
    assert "row 18" in str(wrong)


def test_a_saved_model_and_one_from_sklearn(tmp_path):
    PCA(n_components=2).fit(X).save(tmp_path / "iris.safetensors")
    assert mercer.load(tmp_path / "iris.safetensors").verify(X).verdict == "confirmed"
    found = mercer.from_sklearn(TheirPCA(n_components=2).fit(X)).verify(X)
    assert (found.verdict, found.claims) == ("no claims to check", [])
    assert found.residuals.max() < 1e-9
    assert found.beyond[0] <= 11.66
    assert found.beyond[1] >= 11.65


def test_more_passes_give_better_bounds_and_the_record_is_frozen():
    model = KernelPCA(n_components=2, kernel="rbf").fit(X)
    few, many = model.verify(X, passes=1), model.verify(X, passes=20)
    assert (few.passes, many.passes) == (1, 20)
    assert few.beyond[0] < many.beyond[0] <= many.beyond[1] < few.beyond[1]
    with pytest.raises(AttributeError):
        many.verdict = "refuted"
    with pytest.raises(NotFittedError):
        KernelPCA().verify(X)
