"""PCA and kernel PCA of Dask collections, on a cluster of two processes; one machine is the measure."""

import os
import pickle
import signal
import threading
import time

import mercer
import numpy as np
import pandas as pd
import pytest
from conftest import angle
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

from mercer import dask as ours  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
NAMES = list("abcde")


@pytest.fixture(scope="module")
def client():
    # A local cluster looks 15 s after a worker died whether it is back, and gives it up if it has just died again.
    patience = {"distributed.scheduler.allowed-failures": 10, "distributed.deploy.lost-worker-timeout": "1h"}
    with (
        dask.config.set(patience),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    mixed = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    return rng.normal(size=(700, 5)) * [5, 3, 2, 1, 0.5] @ mixed + 20


def array(X):
    """Uneven blocks of rows and of columns."""
    return da.from_array(X, chunks=((100, 250, 1, 349) if len(X) == 700 else 40, (2, 3)))


def frame(X):
    return dd.from_pandas(pd.DataFrame(X, columns=NAMES, index=range(1000, 1000 + len(X))), npartitions=4)


COLLECTIONS = [array, frame]


def values(scores):
    """Scores, computed, as an array."""
    return np.asarray(scores.compute())


def same(a, b):
    for one, other in zip(a.components_, b.components_, strict=True):
        assert angle(one[:, None], other[:, None]) < 1e-10
    for name in ("explained_variance_", "explained_variance_ratio_", "mean_", "noise_variance_"):
        assert np.allclose(getattr(a, name), getattr(b, name), rtol=1e-10, atol=0), name
    assert a.n_samples_ == b.n_samples_


def agree(a, b):
    """Two certificates allow each other's eigenvalues."""
    for one, other in ((a, b), (b, a)):
        assert len(one.eigenvalues_) == len(other.eigenvalues_)
        reach = other.certificate_.upper - other.eigenvalues_
        assert (one.certificate_.lower - reach <= other.eigenvalues_).all()
        assert (other.eigenvalues_ <= one.certificate_.upper + reach).all()


# PCA.


@pytest.mark.parametrize("make", COLLECTIONS)
@pytest.mark.parametrize(
    "args",
    [
        {"n_components": 3},
        {"n_components": 3, "whiten": True},
        {"n_components": 2, "scale": True},
        {"n_components": 0.9},
        {"n_components": "mle"},
        {"center": False, "n_components": 2},
        {"svd_solver": "full"},
    ],
    ids=str,
)
def test_pca_is_that_of_one_machine(client, X, make, args):
    fitted, whole = ours.PCA(**args).fit(make(X)), mercer.PCA(**args).fit(X)
    same(fitted, whole)
    assert np.abs(values(fitted.transform(make(X))) - whole.transform(X)).max() < 1e-9
    assert np.abs(fitted.transform(X) - whole.transform(X)).max() < 1e-9
    assert (fitted.certificate_.lower <= whole.singular_values_**2).all()
    assert (whole.singular_values_**2 <= fitted.certificate_.upper).all()


def test_small_components_are_kept_where_the_data_itself_is_decomposed(client):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 4)) * [1, 1e-3, 1e-6, 1e-9] @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    truth = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    fitted = ours.PCA(svd_solver="full").fit(da.from_array(X, chunks=(60, 4)))
    assert np.abs(fitted.singular_values_ / truth - 1).max() < 1e-4


def test_the_same_blocks_give_the_same_bits(client, X):
    first, second = (ours.PCA(3).fit(array(X)) for _ in range(2))
    assert (first.components_ == second.components_).all()
    with dask.config.set(scheduler="sync"):
        third = ours.PCA(3).fit(array(X))
    assert (first.components_ == third.components_).all()


def test_blocks_without_rows_count_nothing(client, X):
    holes = da.concatenate([array(X)[:0], array(X), array(X)[:0]]).rechunk((None, 5))
    same(ours.PCA(3).fit(holes), mercer.PCA(3).fit(X))
    most = np.quantile(X[:, 0], 0.98)
    chosen, rows = array(X)[array(X)[:, 0] > most], X[X[:, 0] > most]
    assert X[350, 0] < most  # the one row of a block
    fitted = ours.PCA(1).fit(chosen)
    same(fitted, mercer.PCA(1).fit(rows))
    assert values(fitted.transform(chosen)).shape == (len(rows), 1)
    exact = ours.KernelPCA(2, kernel="rbf").fit(holes)
    agree(exact, mercer.KernelPCA(2, kernel="rbf").fit(X))
    assert values(exact.transform(holes)).shape == (700, 2)


def test_numbers_of_other_kinds(client, X):
    whole = np.round(X).astype(np.int32)
    same(ours.PCA(2).fit(da.from_array(whole, chunks=(200, 5))), mercer.PCA(2).fit(whole))
    missing = pd.DataFrame(whole, columns=NAMES).astype("Int64")
    same(ours.PCA(2).fit(dd.from_pandas(missing, npartitions=3)), mercer.PCA(2).fit(whole))
    missing.iloc[5, 2] = pd.NA
    with pytest.raises(ValueError, match="not finite"):
        ours.PCA(2).fit(dd.from_pandas(missing, npartitions=3))


# What transform gives.


@pytest.fixture(scope="module")
def models(client, X):
    return {
        "pca": ours.PCA(2).fit(array(X)),
        "landmarks": ours.KernelPCA(2, kernel="rbf", gamma=0.02, landmarks=30).fit(array(X)),
        "exact": ours.KernelPCA(2, kernel="rbf", gamma=0.02).fit(array(X)),
    }


WAYS = ["pca", "landmarks", "exact"]


@pytest.mark.parametrize("way", WAYS)
def test_transform_is_lazy_and_keeps_chunks_and_index(models, X, way, tmp_path):
    def seen(block):
        if len(block):
            (tmp_path / f"{time.time_ns()}").touch()
        return block

    rows = array(X).rechunk((None, 5)).map_blocks(seen, dtype=float)
    scores = models[way].transform(rows)
    table = frame(X).map_partitions(seen, meta=frame(X)._meta)
    named = models[way].transform(table)
    assert not list(tmp_path.iterdir())
    assert scores.chunks == ((100, 250, 1, 349), (2,))
    assert scores.dtype == np.float64
    assert list(named.columns) == list(models[way].get_feature_names_out())
    assert named.divisions == table.divisions
    computed = named.compute()
    assert (computed.index == range(1000, 1700)).all()
    assert np.allclose(computed.to_numpy(), values(scores), rtol=0, atol=1e-12)
    assert list(tmp_path.iterdir())


@pytest.mark.parametrize("way", WAYS)
def test_fit_transform_is_fit_and_then_transform(models, X, way):
    fitted = models[way]
    assert (values(clone(fitted).fit_transform(array(X))) == values(fitted.transform(array(X)))).all()


@pytest.mark.parametrize("way", WAYS)
def test_other_columns_are_refused_before_anything_is_computed(models, X, way):
    with pytest.raises(ValueError, match="X has 4 features, but .* is expecting 5"):
        models[way].transform(array(X)[:, :4])
    fitted = clone(models[way]).fit(frame(X))
    assert list(fitted.feature_names_in_) == NAMES
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(frame(X)[NAMES[::-1]])
    assert not hasattr(fitted.fit(array(X)), "feature_names_in_")


@pytest.mark.parametrize("estimator", [ours.PCA(2), ours.KernelPCA(2), ours.KernelPCA(2, landmarks=5)], ids=repr)
def test_dask_collections_without_numbers_are_refused(client, X, estimator):
    text = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "word": ["x", "y"]}), npartitions=1)
    day = dd.from_pandas(pd.DataFrame({"day": pd.date_range("2020", periods=3), "a": [1.0, 2, 3]}), npartitions=1)
    for other, error, message in (
        (X, TypeError, "ndarray, not a Dask array or data frame"),
        (pd.DataFrame(X), TypeError, "DataFrame, not a Dask"),
        (X.tolist(), TypeError, "list, not a Dask"),
        (dask.delayed(X), TypeError, "Delayed.*, not a Dask"),
        (array(X)[:, 0], ValueError, "two dimensions, and X has 1"),
        (frame(X).a, ValueError, "two dimensions, and X has 1"),
        (array(X) + 1j, TypeError, "complex128, which is not a number"),
        (array(X).astype("datetime64[s]"), TypeError, "which is not a number"),
        (text, TypeError, "column 'word' has type"),
        (day, TypeError, "column 'day' has type"),
        (array(X)[:0], ValueError, "no rows|at least 2 are needed"),
        (array(X)[:1], ValueError, "at least 2 are needed|must be between"),
        (da.where(array(X) > 25, np.nan, array(X)), ValueError, "not finite"),
        (da.from_array(np.ma.masked_greater(X, 25), chunks=(200, 5)), TypeError, "masked array"),
    ):
        with pytest.raises(error, match=message):
            clone(estimator).fit(other)
    with pytest.raises(NotFittedError):
        clone(estimator).transform(array(X))


@pytest.mark.parametrize("way", WAYS)
def test_a_failed_fit_leaves_the_model_unchanged(models, X, way):
    fitted = models[way]
    before, scores = dict(vars(fitted)), values(fitted.transform(array(X)))
    with pytest.raises(ValueError, match="not finite"):
        fitted.fit(da.where(array(X)[:, :4] > 25, np.nan, array(X)[:, :4]))
    assert vars(fitted) == before
    assert (values(fitted.transform(array(X))) == scores).all()


def test_parameters_of_ours_are_theirs(client):
    for one, other in ((ours.PCA, mercer.PCA), (ours.KernelPCA, mercer.KernelPCA)):
        assert one().get_params() == other().get_params()
    with pytest.raises(ValueError, match="The 'n_components' parameter of KernelPCA"):
        ours.KernelPCA(0).fit(da.ones((4, 2)))
    with pytest.raises(ValueError, match="The 'whiten' parameter of PCA"):
        ours.PCA(whiten="yes").fit(da.ones((4, 2)))


def test_set_output_has_no_effect_with_dask(models, X):
    import sklearn

    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(models["pca"].transform(array(X)), da.Array)
        assert isinstance(values(models["pca"].transform(array(X))), np.ndarray)


# Kernel PCA.


@pytest.mark.parametrize("make", COLLECTIONS)
def test_landmarks_are_within_their_certificate(client, X, make):
    fitted = ours.KernelPCA(3, kernel="rbf", gamma=0.02, landmarks=60).fit(make(X))
    whole = mercer.KernelPCA(3, kernel="rbf", gamma=0.02).fit(X)
    certificate = fitted.certificate_
    assert ((certificate.lower <= whole.eigenvalues_) & (whole.eigenvalues_ <= certificate.upper)).all()
    assert fitted.n_samples_seen_ == 700
    assert fitted.landmarks_.shape == (60, 5)
    assert 0 < certificate.trace_share < 0.5
    assert np.allclose(values(fitted.transform(make(X))), fitted.transform(X), rtol=0, atol=1e-12)


def test_given_landmarks_give_what_they_give_on_one_machine(client, X):
    args = {"n_components": 3, "kernel": "rbf", "gamma": 0.02, "landmarks": X[::20]}
    fitted, whole = ours.KernelPCA(**args).fit(array(X)), mercer.KernelPCA(**args).fit(X)
    assert np.allclose(fitted.eigenvalues_, whole.eigenvalues_, rtol=1e-10)
    assert np.abs(values(fitted.transform(array(X))) - whole.transform(X)).max() < 1e-8
    assert np.isclose(fitted.certificate_.trace_error, whole.certificate_.trace_error, rtol=1e-8)
    # It can go on with what is in memory.
    assert fitted.partial_fit(X[:10]).n_samples_seen_ == 710


@pytest.mark.parametrize("make", COLLECTIONS)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "0.5*gaussian(gamma=median) + linear"])
def test_exact_kernel_pca_is_that_of_one_machine(client, X, make, kernel):
    fitted = ours.KernelPCA(3, kernel=kernel).fit(make(X))
    whole = mercer.KernelPCA(3, kernel=kernel).fit(X)
    agree(fitted, whole)
    assert np.abs(fitted.eigenvalues_ / whole.eigenvalues_ - 1).max() < 1e-9
    assert np.allclose(fitted.explained_variance_ratio_, whole.explained_variance_ratio_, rtol=1e-9)
    assert angle(fitted.eigenvectors_, whole.eigenvectors_) < 1e-5
    new = X[:90] + 0.1
    expected = whole.transform(new)
    assert np.abs(values(fitted.transform(make(new))) - expected).max() < 1e-5 * np.abs(expected).max()
    assert fitted.certificate_.trace_error == 0


def test_a_share_of_the_variance_and_auto(client, X):
    rows = array(X)[:300]
    fitted = ours.KernelPCA(0.6, kernel="rbf", gamma=0.01).fit(rows)
    agree(fitted, mercer.KernelPCA(0.6, kernel="rbf", gamma=0.01).fit(X[:300]))
    auto = ours.KernelPCA(2, kernel="rbf", gamma=0.01, landmarks="auto").fit(rows)
    assert not hasattr(auto, "landmarks_")
    agree(auto, mercer.KernelPCA(2, kernel="rbf", gamma=0.01).fit(X[:300]))


def test_unsupported_parameters_are_refused(client, X, models, tmp_path):
    for args, message in (
        ({"kernel": "precomputed"}, "a cluster needs a kernel of mercer.kernels"),
        ({"kernel": lambda a, b: a @ b}, "a cluster needs a kernel of mercer.kernels"),
        ({"kernel": "sigmoid"}, "positive semi-definite"),
        ({"kernel": "rbf", "fit_inverse_transform": True}, "fit_inverse_transform=True is not supported"),
        ({"kernel": "rbf", "landmarks": 5, "trace_error": 0.1}, "not both"),
    ):
        with pytest.raises(ValueError, match=message):
            ours.KernelPCA(2, **args).fit(array(X))
    for use in (lambda m: m.save(tmp_path / "m"), lambda m: m.to_onnx(), lambda m: m.to_sklearn()):
        with pytest.raises(ValueError, match="the fitted rows stay on the cluster"):
            use(models["exact"])


@pytest.mark.parametrize("way", ["pca", "landmarks"])
def test_models_can_be_saved_and_pickled(models, X, way, tmp_path):
    fitted = models[way]
    scores = fitted.transform(X)
    fitted.save(tmp_path / "m")
    read = mercer.load(tmp_path / "m")
    assert type(read).__module__.startswith("mercer._")
    assert (read.transform(X) == scores).all()
    other = pickle.loads(pickle.dumps(fitted))
    assert (other.transform(X) == scores).all()
    assert (values(other.transform(array(X))) == values(fitted.transform(array(X)))).all()


# Where the data goes.


def here(X, pid):
    """Blocks that only workers can make."""

    def block(rows):
        if os.getpid() == pid:
            raise AssertionError("a block was made by the driver")
        return rows

    return da.from_array(X, chunks=(len(X) // 5, X.shape[1])).map_blocks(block, dtype=float, meta=np.empty((0, 0)))


@pytest.fixture
def received(client, monkeypatch):
    """Sizes of all that the driver receives, with their types."""
    sizes, gather = [], distributed.Client.gather

    def spy(self, futures, *args, **kwargs):
        found = gather(self, futures, *args, **kwargs)

        def note(values):
            if isinstance(values, list | tuple):
                for v in values:
                    note(v)
            elif values is not None:
                sizes.append((type(values).__name__, len(pickle.dumps(values))))

        note(found)
        return found

    monkeypatch.setattr(distributed.Client, "gather", spy)
    return sizes


def test_the_driver_receives_sums_and_no_rows(client, received):
    X = np.random.default_rng(0).normal(size=(20_000, 10))
    rows = here(X, os.getpid())
    ours.PCA(2).fit(rows)
    assert [kind for kind, _ in received] == ["PcaState"]
    assert received[0][1] < 10_000
    received.clear()
    ours.KernelPCA(2, kernel="rbf", landmarks=20).fit(rows)
    # A sample of at most 4064 rows, of which landmarks are chosen, and sums of 20 by 20.
    assert [kind for kind, _ in received] == ["Survey", "LandmarkState"]
    assert received[0][1] < 4064 * 14 * 8
    assert received[1][1] < 200_000
    received.clear()
    sum_of_scores = ours.PCA(2).fit(rows).transform(rows).sum().compute()
    assert abs(sum_of_scores) < 1e-6
    assert sum(size for _, size in received) < 20_000


def test_the_exact_search_receives_vectors_and_no_rows(client, received):
    X = np.random.default_rng(0).normal(size=(500, 400))
    fitted = ours.KernelPCA(2, kernel="rbf").fit(here(X, os.getpid()))
    agree(fitted, mercer.KernelPCA(2, kernel="rbf").fit(X))
    # Besides the survey, a sample of fixed size, which for so few rows has all of them.
    assert received[0][0] == "Survey"
    blocks = [size for kind, size in received[1:] if kind == "ndarray"]
    assert len(blocks) > 15
    assert max(blocks) < 100 * 400 * 8 / 3


# Workers that die.


def dies_once(X, sentinel):
    """The same blocks; the process that makes the third for the first time is killed."""

    def block(rows, block_info=None):
        at = block_info[0]["chunk-location"][0] if block_info else None
        if at == 2 and not os.path.exists(sentinel):
            open(sentinel, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return rows

    return da.from_array(X, chunks=(100, X.shape[1])).map_blocks(block, dtype=float)


ESTIMATORS = [
    ours.PCA(3),
    ours.KernelPCA(2, kernel="rbf", gamma=0.02, landmarks=30),
    ours.KernelPCA(2, kernel="rbf", gamma=0.02),
]


def fitted_numbers(model):
    return [model.components_] if hasattr(model, "components_") else [model.eigenvalues_, model._model.alpha()]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_a_worker_killed_in_the_middle_changes_no_bit(client, X, estimator, tmp_path):
    calm = clone(estimator).fit(da.from_array(X, chunks=(100, 5)))
    sentinel = str(tmp_path / "died")
    shaken = clone(estimator).fit(dies_once(X, sentinel))
    assert os.path.exists(sentinel)
    for a, b in zip(fitted_numbers(calm), fitted_numbers(shaken), strict=True):
        assert (a == b).all()
    client.wait_for_workers(2, timeout=60)


@pytest.mark.parametrize("both", [False, True], ids=["one", "both"])
def test_workers_killed_between_passes_change_no_bit(client, X, both, monkeypatch):
    estimator = ours.KernelPCA(2, kernel="rbf", gamma=0.02)
    killed, puts, put, quiet = [], 0, ours._put, True

    def kill():
        workers = client.run(os.getpid)
        for pid in list(workers.values())[: 2 if both else 1]:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    def then(value):
        # The first array is part of the vectors of the first pass: a worker is killed during it.
        nonlocal puts
        if isinstance(value, np.ndarray):
            puts += 1
            if puts == 1 and not quiet:
                threading.Timer(0.1, kill).start()
        return put(value)

    monkeypatch.setattr(ours, "_put", then)
    calm = clone(estimator).fit(da.from_array(X, chunks=(100, 5)))
    usual, puts, quiet = puts, 0, False
    shaken = clone(estimator).fit(da.from_array(X, chunks=(100, 5)))
    monkeypatch.undo()
    assert usual > 0
    assert len(killed) == (2 if both else 1)
    # Shared data is in the graph: it survives the loss of any worker.
    assert puts == usual
    for a, b in zip(fitted_numbers(calm), fitted_numbers(shaken), strict=True):
        assert (a == b).all()
    client.wait_for_workers(2, timeout=60)
    scores = [values(model.transform(da.from_array(X, chunks=(100, 5)))) for model in (calm, shaken)]
    assert (scores[0] == scores[1]).all()


def test_a_change_since_a_fit_is_detected(client, X):
    model = ours.KernelPCA(2, kernel="rbf", gamma=0.02, landmarks=30).fit(da.from_array(X, chunks=(100, 5)))
    assert model.partial_fit(X).n_samples_seen_ == 1400
    model.gamma = 0.05
    with pytest.raises(ValueError, match="gamma changed"):
        model.partial_fit(X)
    model.fit(da.from_array(X, chunks=(100, 5)))
    assert model.partial_fit(X).n_samples_seen_ == 1400
