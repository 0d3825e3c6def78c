"""The record of what is fitted."""

import json

import numpy as np
import pytest
from mercer import _mercer, _spec
from mercer._exec import Exec


def test_records_are_read_by_the_library(iris):
    model = _mercer.fit_points(_spec.pca(0.95, scale=True, route="svd"), iris, Exec())
    assert model.kind == "pca"
    assert model.location.is_standardised
    assert len(model.eigenvalues) == 2
    given = {"landmarks": {"given": iris[:20].tolist()}}
    model = _mercer.fit_points(_spec.kernel_pca("rbf(gamma=0.1)", 3, approx=given), iris, Exec())
    assert (model.points(False) == iris[:20]).all()
    assert model.kernel == "gaussian(gamma=0.1)"
    plan = _mercer.plan(_spec.kernel_pca(None, 3, tol=1e-3), "operator", 50_000, 1, Exec())
    assert plan.route == "passes"


def test_the_digits_of_landmarks_are_kept(rng):
    landmarks = rng.normal(size=(30, 4)) * 10.0 ** rng.integers(-8, 8, size=(30, 4))
    spec = _spec.kernel_pca("rbf(gamma=0.1)", approx={"landmarks": {"given": landmarks.tolist()}})
    model = _mercer.fit_points(spec, np.vstack([landmarks, rng.normal(size=(50, 4))]), Exec())
    assert (model.points(False) == landmarks).all()


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"method": "ica"}, "unknown variant `ica`, expected `pca` or `kernel_pca`"),
        ({"method": "pca", "route": "qr"}, "unknown variant `qr`"),
        ({"method": "kernel_pca", "kernel": "rbg"}, "'rbg' is not a kernel"),
        ({"method": "kernel_pca", "kernel": "rbf(gamma=-1)"}, "gamma = -1; expected gamma > 0"),
        ({"method": "kernel_pca", "kernel": "rbf", "tolerance": 2}, "tolerance = 2; expected"),
        ({"method": "kernel_pca"}, "points are fitted with a kernel, and there is none"),
        (
            {"method": "kernel_pca", "kernel": "rbf", "approx": {"landmarks": {"given": [[1.0], [1.0, 2.0]]}}},
            "row 1 has 2 values where the first has 1",
        ),
    ],
)
def test_bad_records_are_refused(iris, record, message):
    with pytest.raises(ValueError, match=message):
        _mercer.fit_points(json.dumps(record), iris, Exec())


def test_records_of_another_method_are_refused(iris):
    pca, kernel_pca = _spec.pca(), _spec.kernel_pca("linear")
    plan = _mercer.plan(_spec.kernel_pca(None), "gram", len(iris), 1, Exec())
    with pytest.raises(ValueError, match="not to a Gram matrix"):
        _mercer.fit_gram(pca, iris @ iris.T, plan, Exec())
    with pytest.raises(ValueError, match="not one of kernel PCA"):
        _mercer.plan(pca, "gram", 100, 1, Exec())
    with pytest.raises(ValueError, match="not one of PCA"):
        _mercer.PcaState.start(4, kernel_pca)
    with pytest.raises(ValueError, match="is not 'points', 'sparse', 'gram', 'function', 'operator' or 'remote'"):
        _mercer.plan(kernel_pca, "cube", 100, 1, Exec())
    with pytest.raises(ValueError, match="JSON"):
        _spec.kernel_pca("linear", float("nan"))
