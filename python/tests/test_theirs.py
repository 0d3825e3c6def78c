"""scikit-learn's own checks and tests, with our classes in the place of theirs."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import mercer
import pytest
import sklearn.decomposition
import sklearn.kernel_approximation
from sklearn.utils.estimator_checks import check_estimator

HERE = Path(__file__).parent
ESTIMATORS = [
    mercer.PCA(),
    mercer.PCA(n_components=2, whiten=True, svd_solver="full"),
    mercer.PCA(scale=True, n_components=0.9),
    mercer.KernelPCA(),
    mercer.KernelPCA(n_components=2, kernel="rbf", gamma="median"),
    mercer.KernelPCA(kernel="0.5*gaussian(gamma=median) + linear", n_components=0.95),
    mercer.IncrementalPCA(),
    mercer.Nystroem(),
    mercer.Nystroem(kernel=mercer.kernels.laplacian(), n_components=5),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_every_check_of_an_estimator_holds(estimator):
    results = check_estimator(estimator, on_fail=None)
    failed = [r["check_name"] for r in results if r["status"] in ("failed", "xfail")]
    assert not failed
    # The array API, which we do not support, is the only thing that is not checked.
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= {"check_array_api_input"}


@pytest.mark.parametrize(
    "modules",
    [
        ["sklearn.decomposition.tests.test_pca"],
        ["sklearn.decomposition.tests.test_kernel_pca"],
        ["sklearn.decomposition.tests.test_incremental_pca"],
        ["sklearn.tests.test_kernel_approximation", "-k", "nystroem or Nystroem"],
    ],
    ids=["PCA", "KernelPCA", "IncrementalPCA", "Nystroem"],
)
def test_their_own_tests_pass(modules):
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "theirs", "-p", "no:cacheprovider", "--pyargs"]
    env = dict(os.environ, PYTHONPATH=str(HERE), SKLEARN_RUN_FLOAT32_TESTS="1")
    done = subprocess.run(command + modules, cwd=HERE, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
    # They ran, and with our classes.
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    least = {"test_pca": 400, "test_kernel_pca": 38, "test_incremental_pca": 25, "test_kernel_approximation": 8}
    assert passed >= least[modules[0].split(".")[-1]]
    assert f"in the place of scikit-learn's: {Path(mercer.__file__).parent}" in done.stdout


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (mercer.PCA, sklearn.decomposition.PCA),
        (mercer.KernelPCA, sklearn.decomposition.KernelPCA),
        (mercer.IncrementalPCA, sklearn.decomposition.IncrementalPCA),
        (mercer.Nystroem, sklearn.kernel_approximation.Nystroem),
    ],
)
def test_signatures_begin_with_theirs(ours, theirs):
    mine, other = (inspect.signature(c.__init__).parameters for c in (ours, theirs))
    for (name, p), (other_name, q) in zip(mine.items(), other.items(), strict=False):
        assert (name, p.default, p.kind) == (other_name, q.default, q.kind)
    assert len(mine) >= len(other)
    public = {n for n in dir(theirs) if not n.startswith("_")}
    assert public <= set(dir(ours))


@pytest.mark.parametrize("name", ["PCA", "KernelPCA", "IncrementalPCA", "Nystroem"])
def test_fitted_attributes_contain_theirs(name, iris):
    place = sklearn.kernel_approximation if name == "Nystroem" else sklearn.decomposition
    args = {"n_components": 3}
    ours, theirs = getattr(mercer, name)(**args).fit(iris), getattr(place, name)(**args).fit(iris)
    for attribute, value in vars(theirs).items():
        # They count samples in a float.
        if attribute.endswith("_") and attribute != "n_samples_seen_":
            mine = getattr(ours, attribute)
            assert getattr(mine, "shape", None) == getattr(value, "shape", None), attribute
            assert getattr(mine, "dtype", None) == getattr(value, "dtype", None), attribute
