"""Processes, threads, signals, pickles: an estimator among others."""

import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import joblib
import mercer
import numpy as np
import pytest
from mercer import PCA, KernelPCA
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

ESTIMATORS = [
    PCA(2),
    KernelPCA(2, kernel="rbf"),
    KernelPCA(2, kernel=mercer.kernels.matern(nu="5/2")),
    KernelPCA(2, kernel="precomputed"),
    mercer.IncrementalPCA(2),
    mercer.Nystroem(n_components=5, random_state=0),
]


def data(estimator, iris):
    return iris @ iris.T if getattr(estimator, "kernel", None) == "precomputed" else iris


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_pickles_copies_and_refits_have_the_same_bits(iris, estimator):
    X = data(estimator, iris)
    estimator = clone(estimator).fit(X)
    expected = estimator.transform(X)
    for other in (
        pickle.loads(pickle.dumps(estimator)),
        copy.deepcopy(estimator),
        clone(estimator).fit(X),
        estimator.fit(X),
    ):
        assert (other.transform(X) == expected).all()
        assert other.get_params() == estimator.get_params()


def test_in_pipelines_searches_and_unions(rings):
    X, y = rings
    pipe = make_pipeline(StandardScaler(), KernelPCA(n_components=2, kernel="rbf"), LinearSVC())
    search = GridSearchCV(
        pipe, {"kernelpca__gamma": [0.01, 1.0, 3.0], "kernelpca__n_components": [1, 2]}, cv=3, n_jobs=2
    )
    search.fit(X, y)
    assert search.best_score_ == 1
    union = FeatureUnion([("pca", PCA(1)), ("kpca", KernelPCA(2, kernel="rbf"))]).fit(X)
    assert union.transform(X).shape == (400, 3)
    assert list(union.get_feature_names_out()) == ["pca__pca0", "kpca__kernelpca0", "kpca__kernelpca1"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_output_as_tables(iris, library):
    out = PCA(2).set_output(transform=library).fit_transform(iris)
    assert type(out).__module__.startswith(library)
    assert list(out.columns) == ["pca0", "pca1"]


def test_metadata_routing(iris):
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        # Nothing is asked for: what a pipeline is given goes to others.
        for estimator in (PCA(), KernelPCA(), mercer.IncrementalPCA(), mercer.Nystroem()):
            requests = estimator.get_metadata_routing()
            assert all(not getattr(requests, method).requests for method in ("fit", "transform"))
        weights = np.arange(1.0, 151.0)
        model = LinearSVC().set_fit_request(sample_weight=True)
        make_pipeline(KernelPCA(2), model).fit(iris, np.arange(150) % 3, sample_weight=weights)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_joblib(iris, backend):
    expected = KernelPCA(2, kernel="rbf").fit_transform(iris)
    jobs = (joblib.delayed(fit_one)(iris) for _ in range(4))
    for scores in joblib.Parallel(n_jobs=2, backend=backend)(jobs):
        assert (scores == expected).all()


def fit_one(X):
    return KernelPCA(2, kernel="rbf").fit_transform(X)


def test_many_threads_fit_at_once(rng):
    X = rng.normal(size=(900, 4))
    expected = KernelPCA(2, kernel="rbf").fit_transform(X)
    results = [None] * 6

    def work(i):
        results[i] = KernelPCA(2, kernel="rbf", n_jobs=1 + i % 3).fit_transform(X)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all((r == expected).all() for r in results)


def test_other_threads_are_not_held_up(rng):
    X = rng.normal(size=(8000, 30))
    gaps, done = [], threading.Event()

    def tick():
        last = time.perf_counter()
        while not done.is_set():
            time.sleep(0.005)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    ticker = threading.Thread(target=tick)
    ticker.start()
    KernelPCA(5, kernel="rbf").fit(X).transform(X)
    PCA(5).fit_transform(X)
    KernelPCA(3, kernel="rbf", fit_inverse_transform=True).fit(X[:1500])
    done.set()
    ticker.join()
    assert len(gaps) > 20
    assert max(gaps) < 0.5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_fork_after_a_fit_can_fit(rng):
    X = rng.normal(size=(800, 3))
    expected = KernelPCA(2, kernel="rbf").fit_transform(X)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        results = pool.map_async(fit_one, [X] * 4).get(timeout=120)
    assert all((r == expected).all() for r in results)


def run(code, **kwargs):
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True, **kwargs)


SLOW = "lambda X, Y: (time.sleep(0.05), X @ Y.T)[1]"


@pytest.mark.parametrize(
    "fit",
    [
        "KernelPCA(10, kernel='rbf').fit(rng.normal(size=(60_000, 30)))",
        "KernelPCA(kernel='rbf', memory='20G', n_jobs=1).fit(rng.normal(size=(6000, 3)))",
        f"KernelPCA(3, kernel={SLOW}, memory='300M').fit(rng.normal(size=(12_000, 3)))",
    ],
    ids=["by passes", "of a stored matrix", "with a function"],
)
def test_ctrl_c_ends_a_fit_and_leaves_the_process_healthy(fit):
    child = run(f"""
        import time, numpy as np
        from mercer import KernelPCA
        rng = np.random.default_rng(0)
        model = KernelPCA(2).fit(rng.normal(size=(20, 3)))
        print("ready", flush=True)
        try:
            while True:
                {fit}
        except KeyboardInterrupt:
            print("interrupted", time.time(), flush=True)
        start = time.time()
        print(KernelPCA(2, kernel="rbf", n_jobs=1).fit(rng.normal(size=(300, 3))).eigenvalues_.shape, flush=True)
        print("soon" if time.time() - start < 3 else "late", flush=True)
    """)
    assert child.stdout.readline() == "ready\n"
    time.sleep(2)
    sent = time.time()
    child.send_signal(signal.SIGINT)
    word, when = child.stdout.readline().split()
    assert word == "interrupted"
    assert float(when) - sent < 3
    assert child.stdout.readline() == "(2,)\n"
    assert child.stdout.readline() == "soon\n"
    assert child.wait(timeout=120) == 0


def test_a_failed_refit_leaves_the_model_unchanged(iris, rng):
    for estimator in (PCA(2), KernelPCA(2, kernel="rbf"), mercer.IncrementalPCA(2), mercer.Nystroem(n_components=5)):
        estimator.fit(iris)
        expected, state = estimator.transform(iris), set(vars(estimator))
        bad = rng.normal(size=(30, 7))
        bad[2, 3] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            estimator.fit(bad)
        assert set(vars(estimator)) == state
        assert (estimator.transform(iris) == expected).all()


def test_progress_is_reported(rng, capsys, monkeypatch):
    X, told = rng.normal(size=(1600, 4)), []
    KernelPCA(2, kernel="rbf", progress=told.append).fit(X)
    stages = [t["stage"] for t in told]
    assert stages[0] == "landmarks"
    assert "pass" in stages
    assert told[-1] == {"stage": "tiles", "done": told[-1]["total"], "total": told[-1]["total"]}
    KernelPCA(2, kernel="rbf", progress=True).fit(X)
    shown = capsys.readouterr()
    assert "pass 1 [" in shown.err
    assert "\r" not in shown.err
    assert shown.out == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    KernelPCA(2, kernel="rbf", progress=True).fit(X)
    shown = capsys.readouterr()
    assert "\rpass 1 [" in shown.err
    assert shown.err.endswith("\r")

    def fails(_):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        KernelPCA(2, kernel="rbf", progress=fails).fit(X)


def test_import_brings_nothing_but_scikit_learn_s_own():
    # That is what keeps it at 30 to 50 ms.
    child = run("""
        import sys
        import sklearn.metrics.pairwise, sklearn.preprocessing, sklearn.utils.validation, scipy.sparse
        before = set(sys.modules)
        import mercer
        print(" ".join(sorted(m for m in set(sys.modules) - before if not m.startswith("mercer"))))
    """)
    brought = child.communicate()[0].split()
    assert child.returncode == 0
    assert [m for m in brought if m.split(".")[0] not in ("sklearn", "scipy", "numpy")] == []


@pytest.mark.skipif(sys.platform != "linux", reason="limits are read from /proc")
def test_the_default_memory_respects_a_limit_of_the_process():
    code = """
        import resource
        from mercer._exec import bytes_of
        free = bytes_of(None)
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, resource.RLIM_INFINITY))
        print(free, bytes_of(None), bytes_of("1G"))
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    free, limited, given = map(int, run.stdout.split())
    assert limited <= min(free, 0.6 * (6 << 30))
    assert free <= 8 * 10**9
    assert given == 10**9
