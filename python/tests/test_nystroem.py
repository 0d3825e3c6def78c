"""Nystroem features: units, indefinite kernels, and functions."""

import warnings

import mercer
import numpy as np
import pytest
from mercer import Nystroem
from mercer.exceptions import IndefiniteKernelWarning
from sklearn.metrics.pairwise import sigmoid_kernel


def products(Z):
    return Z @ Z.T


@pytest.mark.parametrize("unit", [1e-60, 1e-8, 2.0**-20, 1e8, 1e60])
@pytest.mark.parametrize("n_components", [3, 10, 40])
def test_features_of_a_linear_kernel_follow_the_units(rng, unit, n_components):
    X = rng.normal(size=(60, 3)) * [3, 1, 0.1]
    args = {"kernel": "linear", "n_components": n_components, "random_state": 0}
    Z, scaled = (Nystroem(**args).fit_transform(x) for x in (X, X * unit))
    assert np.abs(scaled / unit - Z).max() < 1e-9 * np.abs(Z).max()
    assert np.abs(products(Z) - X @ X.T).max() < 1e-12 * np.abs(X @ X.T).max()


def test_a_function_and_a_given_matrix_follow_the_units_too(rng):
    X = rng.normal(size=(40, 3))
    for unit in (1e-8, 1.0, 1e8):
        K = X @ X.T * unit**2
        for kernel, data in ((lambda a, b: float(a @ b), X * unit), ("precomputed", K)):
            Z = Nystroem(kernel, n_components=40, random_state=0).fit_transform(data)
            assert np.abs(products(Z) - K).max() < 1e-11 * np.abs(K).max()


def test_zero_data_has_zero_features():
    assert not Nystroem("linear", n_components=5).fit_transform(np.zeros((8, 2))).any()


@pytest.mark.parametrize("given", ["name", "function", "precomputed"])
def test_an_indefinite_kernel_gives_its_positive_part_and_a_warning(iris, given):
    K = sigmoid_kernel(iris, gamma=0.05, coef0=-1)
    values, vectors = np.linalg.eigh(K)
    positive = (vectors * np.maximum(values, 0)) @ vectors.T
    assert values[0] < -1e-3 * values[-1]
    model, data = {
        "name": (Nystroem("sigmoid", gamma=0.05, coef0=-1, n_components=150, random_state=0), iris),
        "function": (Nystroem(lambda a, b: np.tanh(0.05 * a @ b - 1), n_components=150, random_state=0), iris),
        "precomputed": (Nystroem("precomputed", n_components=150, random_state=0), K),
    }[given]
    with pytest.warns(IndefiniteKernelWarning, match="positive part") as found:
        Z = model.fit_transform(data)
    assert np.abs(products(Z) - positive).max() < 1e-9 * values[-1]
    warning = found[0].message
    assert np.isclose(warning.smallest, values[0])
    assert np.isclose(warning.largest, values[-1])
    assert np.isclose(warning.share, -values[values < 0].sum() / np.abs(values).sum())


def test_a_positive_kernel_gives_no_warning(iris):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kernel in ("rbf", "linear", "polynomial", lambda a, b: float(a @ b)):
            Nystroem(kernel, n_components=30, random_state=0).fit(iris)


def test_a_file_has_the_same_features(iris, tmp_path):
    model = Nystroem("linear", n_components=20, random_state=0).fit(iris * 1e-8)
    model.save(tmp_path / "features.mercer.safetensors")
    assert (mercer.load(tmp_path / "features.mercer.safetensors").transform(iris) == model.transform(iris)).all()


def test_functions_that_are_not_symmetric_are_refused(rng):
    X = rng.normal(size=(100, 3))
    for rows in (X, X[:10]):
        with pytest.raises(ValueError, match="is not symmetric: rows"):
            Nystroem(lambda a, b: float(a[0] - b[0]), n_components=len(rows), random_state=0).fit(rows)
        with pytest.raises(ValueError, match="is not symmetric: rows"):
            Nystroem(lambda A, B: A @ B.T + 1e-3 * A[:, :1], n_components=len(rows), random_state=0).fit(rows)
