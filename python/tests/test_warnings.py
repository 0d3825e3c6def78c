"""Warnings: a constant text, the line of the user, and numbers as attributes."""

import subprocess
import sys
import warnings

import joblib
import numpy as np
import pytest
from mercer import KernelPCA, Nystroem
from mercer.exceptions import AsymmetricMatrixWarning, IndefiniteKernelWarning, LandmarkWarning
from sklearn.exceptions import PositiveSpectrumWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

SIGMOID = {"kernel": "sigmoid", "gamma": 0.05, "coef0": -1}


def caught(call):
    """The warnings of a call that are ours."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [w for w in found if isinstance(w.message, IndefiniteKernelWarning)]


def test_numbers_are_attributes(iris):
    (first,) = caught(lambda: KernelPCA(2, **SIGMOID).fit(iris))
    (second,) = caught(lambda: KernelPCA(2, **SIGMOID).fit(iris[:140]))
    assert issubclass(first.category, PositiveSpectrumWarning)
    assert str(first.message) == str(second.message)
    assert not any(c.isdigit() for c in str(first.message))
    assert (first.message.n, second.message.n) == (150, 140)
    assert first.message.smallest < 0 < first.message.largest
    assert 0 < first.message.share < 1
    assert 0 < first.message.negative < 150


def test_they_are_shown_once_for_a_place(iris):
    for action, times in (("default", 1), ("always", 3), ("ignore", 0)):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter(action)
            for rows in range(120, 150, 10):
                KernelPCA(2, **SIGMOID).fit(iris[:rows])
        assert len(found) == times, action
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(IndefiniteKernelWarning):
                KernelPCA(2, **SIGMOID).fit(iris)


def test_a_search_shows_them_once(iris):
    code = (
        "import numpy as np, mercer\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "from sklearn.model_selection import GridSearchCV\n"
        "from sklearn.pipeline import make_pipeline\n"
        "X = np.random.default_rng(0).normal(size=(90, 3))\n"
        "pipe = make_pipeline(mercer.KernelPCA(kernel='sigmoid', coef0=-1), LogisticRegression())\n"
        "grid = {'kernelpca__gamma': [0.5, 1.0, 2.0], 'kernelpca__n_components': [1, 2]}\n"
        "GridSearchCV(pipe, grid, cv=3, error_score='raise').fit(X, np.arange(90) % 2)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("IndefiniteKernelWarning") == 1
    assert "<string>:8: IndefiniteKernelWarning" in done.stderr


def test_they_name_the_line_of_the_user(iris, tmp_path):
    y = np.arange(150) % 2
    memory = joblib.Memory(tmp_path, verbose=0)
    pipe = make_pipeline(KernelPCA(2, **SIGMOID), LogisticRegression(), memory=memory)
    search = GridSearchCV(pipe, {"kernelpca__n_components": [1, 2]}, cv=2)
    jobs = joblib.Parallel(n_jobs=1)
    for call in (
        lambda: KernelPCA(2, **SIGMOID).fit(iris),
        lambda: KernelPCA(2, **SIGMOID).fit_transform(iris),
        lambda: Nystroem(**SIGMOID, n_components=20, random_state=0).fit(iris),
        lambda: pipe.fit(iris, y),
        lambda: search.fit(iris, y),
        lambda: jobs([joblib.delayed(KernelPCA(2, **SIGMOID).fit)(iris)]),
    ):
        found = caught(call)
        assert found
        assert {w.filename for w in found} == {__file__}


def test_in_a_worker_process_they_name_one_place():
    code = (
        "import joblib, numpy as np, mercer\n"
        "X = np.random.default_rng(0).normal(size=(60, 3))\n"
        "fits = [mercer.KernelPCA(2, kernel='sigmoid', gamma=1, coef0=-1).fit for _ in range(6)]\n"
        "joblib.Parallel(n_jobs=2)(joblib.delayed(fit)(X[:50 + i]) for i, fit in enumerate(fits))\n"
    )
    done = subprocess.run([sys.executable, "-W", "default", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    places = [line for line in done.stderr.splitlines() if "IndefiniteKernelWarning" in line]
    # At most once for each of the two processes.
    assert 1 <= len(places) <= 2
    assert not any("joblib" in line for line in places)


def test_matrices_and_landmarks(rng):
    K = rng.normal(size=(20, 20))
    K = K @ K.T
    K[0, 1] += 1
    with pytest.warns(AsymmetricMatrixWarning) as found:
        KernelPCA(2, kernel="precomputed").fit(K)
    warning = found[0].message
    assert {warning.row, warning.column} == {0, 1}
    assert warning.difference == pytest.approx(1)
    assert not any(c.isdigit() for c in str(warning))
    model = KernelPCA(2, kernel="rbf", landmarks=30)
    with pytest.warns(LandmarkWarning) as found:
        model.partial_fit(rng.normal(size=(10, 3)))
    assert (found[0].message.landmarks, found[0].message.requested) == (10, 30)
