"""PCA and kernel PCA of Spark data frames, on a cluster of two executors; one machine is the measure."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import mercer
import numpy as np
import pandas as pd
import pytest
from conftest import angle
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("there is no Java", allow_module_level=True)

from mercer import spark as ours  # noqa: E402

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]
#: A name with a dot is one that Spark takes for a field of a structure.
NAMES = ["a", "b.c", "d", "e"]


@pytest.fixture(scope="module")
def session():
    from pyspark.sql import SparkSession

    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("mercer")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.log.level": "OFF",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
    if before is None:
        del os.environ["PYSPARK_PYTHON"]
    else:
        os.environ["PYSPARK_PYTHON"] = before


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(600, 4)) * [4, 3, 2, 1] + 5


@pytest.fixture(scope="module")
def mixed(session, X):
    """Numbers, and beside them words and a date, in three partitions."""
    table = pd.DataFrame(X, columns=NAMES)
    table["word"] = [f"w{i}" for i in range(len(X))]
    table["day"] = pd.Timestamp("2020-02-02")
    return session.createDataFrame(table).repartition(3).cache()


@pytest.fixture(scope="module")
def numbers(mixed):
    return mixed.drop("word", "day")


@pytest.fixture(scope="module")
def exact(numbers):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ours, "BLOCK_ROWS", 120)
        return ours.KernelPCA(3, kernel="rbf", gamma=0.02).fit(numbers)


def scores_of(fitted, frame, X):
    """Scores in the order of the rows of X, which the words tell."""
    out = fitted.transform(frame).toPandas()
    assert list(out.columns) == [*frame.columns, *fitted.get_feature_names_out()]
    out = out.sort_values("word", key=lambda w: w.str[1:].astype(int))
    assert (out[NAMES].to_numpy() == X).all()
    assert (out.day == pd.Timestamp("2020-02-02")).all()
    return out[list(fitted.get_feature_names_out())].to_numpy()


@pytest.mark.parametrize(
    "args",
    [{"n_components": 3, "whiten": True}, {"n_components": 0.8, "scale": True}, {"svd_solver": "full"}],
    ids=str,
)
def test_pca_is_that_of_one_machine(numbers, mixed, X, args):
    fitted, whole = ours.PCA(**args).fit(numbers), mercer.PCA(**args).fit(X)
    for one, other in zip(fitted.components_, whole.components_, strict=True):
        assert angle(one[:, None], other[:, None]) < 1e-10
    assert np.allclose(fitted.explained_variance_, whole.explained_variance_, rtol=1e-10)
    assert np.allclose(fitted.mean_, whole.mean_, rtol=1e-12)
    assert fitted.n_samples_ == 600
    assert list(fitted.feature_names_in_) == NAMES
    assert np.abs(scores_of(fitted, mixed, X) - whole.transform(X)).max() < 1e-9


def test_landmarks_are_within_their_certificate(numbers, mixed, X):
    fitted = ours.KernelPCA(3, kernel="rbf", gamma=0.02, landmarks=40).fit(numbers)
    truth, certificate = mercer.KernelPCA(3, kernel="rbf", gamma=0.02).fit(X).eigenvalues_, fitted.certificate_
    assert ((certificate.lower <= truth) & (truth <= certificate.upper)).all()
    assert fitted.landmarks_.shape == (40, 4)
    assert fitted.n_samples_seen_ == 600
    expected = fitted._model.transform(X, fitted._options())
    assert np.abs(scores_of(fitted, mixed, X) - expected).max() < 1e-12
    assert len(fitted.to_onnx()) > 1000


def test_exact_kernel_pca_is_that_of_one_machine(exact, mixed, X):
    whole = mercer.KernelPCA(3, kernel="rbf", gamma=0.02).fit(X)
    for one, other in ((exact, whole), (whole, exact)):
        reach = other.certificate_.upper - other.eigenvalues_
        assert (one.certificate_.lower - reach <= other.eigenvalues_).all()
        assert (other.eigenvalues_ <= one.certificate_.upper + reach).all()
    assert len(exact._kept_blocks.order) == 6  # blocks, two of each partition
    assert np.allclose(exact.explained_variance_ratio_, whole.explained_variance_ratio_, rtol=1e-9)
    assert np.abs(scores_of(exact, mixed, X) - whole.transform(X)).max() < 1e-5


CONNECTED = """
import json, sys
import numpy as np
import pandas as pd
from mercer import spark as ours
from pyspark.sql import SparkSession

session = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "4").getOrCreate()
table = pd.DataFrame(np.load(sys.argv[1]), columns=["a", "b.c", "d", "e"])
frame = session.createDataFrame(table).repartition(3)
ours.BLOCK_ROWS = 200
kernel = {"n_components": 3, "kernel": "rbf", "gamma": 0.02}
found = {"session": type(session).__module__}
for name, model in {
    "pca": ours.PCA(3),
    "exact": ours.KernelPCA(**kernel),
    "landmarks": ours.KernelPCA(**kernel, landmarks=40),
}.items():
    model.fit(frame)
    scores = model.transform(frame).toPandas().sort_values("a")[list(model.get_feature_names_out())]
    found[name] = [model.explained_variance_.tolist(), scores.to_numpy().tolist()]
print(json.dumps(found))
session.stop()
"""


def test_spark_connect_gives_the_same(X, tmp_path):
    pytest.importorskip("grpc")
    np.save(tmp_path / "X.npy", X)
    # In a process of its own, which has no other session.
    call = [sys.executable, "-c", CONNECTED, str(tmp_path / "X.npy")]
    python = {"PYSPARK_PYTHON": sys.executable}
    environment = {k: v for k, v in os.environ.items() if "SPARK" not in k} | python
    run = subprocess.run(call, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=400, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(run.stdout.splitlines()[-1])
    assert "connect" in found["session"]
    order = X[X[:, 0].argsort()]
    whole = mercer.PCA(3).fit(X)
    assert np.allclose(found["pca"][0], whole.explained_variance_, rtol=1e-10)
    assert np.abs(found["pca"][1] - whole.transform(order)).max() < 1e-9
    whole = mercer.KernelPCA(3, kernel="rbf", gamma=0.02).fit(X)
    assert np.allclose(found["exact"][0], whole.explained_variance_, rtol=1e-9)
    assert np.abs(found["exact"][1] - whole.transform(order)).max() < 1e-5
    share = np.array(found["landmarks"][0]) / whole.explained_variance_
    assert (share > 0.9).all()
    assert (share < 1 + 1e-12).all()


def test_transform_is_lazy(session, numbers, exact, tmp_path):
    spoor = str(tmp_path)

    def seen(batches):
        for batch in batches:
            Path(spoor, str(os.getpid())).touch()
            yield batch

    watched = numbers.withColumnRenamed("b.c", "b").mapInArrow(seen, "a double, b double, d double, e double")
    watched = watched.withColumnRenamed("b", "b.c")
    out = [model.transform(watched) for model in (ours.PCA(2).fit(numbers), exact)]
    assert not list(tmp_path.iterdir())
    assert out[0].count() == 600
    assert list(tmp_path.iterdir())


def test_frames_without_numbers_are_refused(session, mixed, numbers, X, exact):
    for estimator in (ours.PCA(2), ours.KernelPCA(2, kernel="rbf"), ours.KernelPCA(2, kernel="rbf", landmarks=5)):
        for other, error, message in (
            (mixed, TypeError, "column 'word' has type string"),
            (mixed.drop("word"), TypeError, "column 'day' has type timestamp"),
            (pd.DataFrame(X), TypeError, "DataFrame, not a Spark data frame"),
            (X, TypeError, "ndarray, not a Spark data frame"),
        ):
            with pytest.raises(error, match=message):
                clone(estimator).fit(other)
        with pytest.raises(NotFittedError):
            clone(estimator).transform(numbers)
    with pytest.raises(ValueError, match="no rows"):
        ours.PCA(2).fit(numbers.where("a > 1e9"))
    fitted = ours.PCA(2).fit(numbers)
    for model in (fitted, exact):
        with pytest.raises(ValueError, match="no column 'e', which was fitted"):
            model.transform(numbers.drop("e"))
        with pytest.raises(TypeError, match="column 'e' has type string"):
            model.transform(numbers.withColumn("e", numbers.e.cast("string")))
    with pytest.raises(ValueError, match="has a column 'pca0' already"):
        fitted.transform(fitted.transform(numbers))
    with pytest.raises(ValueError, match="the fitted rows stay on the cluster"):
        exact.save("m")


def test_a_missing_value_is_refused_and_the_model_unchanged(session, numbers):
    from pyspark.errors import PythonException

    fitted = ours.PCA(2).fit(numbers)
    before = dict(vars(fitted))
    missing = session.createDataFrame([(1.0, 2.0), (None, 3.0), (1.0, 5.0)], "x double, y double").coalesce(1)
    with pytest.raises(PythonException, match="not finite"):
        fitted.fit(missing)
    assert vars(fitted) == before


def test_numbers_of_other_kinds(session):
    frame = session.sql("select cast(id as decimal(10,2)) a, id > 30 b, cast(id * id % 11 as tinyint) c from range(70)")
    i = np.arange(70)
    whole = mercer.PCA(2).fit(np.column_stack([i, i > 30, i * i % 11]).astype(float))
    assert angle(ours.PCA(2).fit(frame).components_.T, whole.components_.T) < 1e-10


def test_the_driver_collects_states_and_no_rows(session, monkeypatch):
    sizes, kind = [], type(session.range(1))
    collect = kind.collect

    def spy(self):
        rows = collect(self)
        sizes.extend(sum(len(v) if isinstance(v, bytes | bytearray) else 8 for v in row) for row in rows)
        return rows

    monkeypatch.setattr(kind, "collect", spy)
    for other in ("toPandas", "toArrow", "take", "head", "first", "toLocalIterator"):
        monkeypatch.setattr(kind, other, None)
    columns = ", ".join(f"rand({j}) c{j}" for j in range(10))
    frame = session.range(20_000, numPartitions=6).selectExpr(*columns.split(", "))
    ours.PCA(2).fit(frame)
    assert len(sizes) == 1
    assert sizes[0] < 10_000
    sizes.clear()
    ours.KernelPCA(2, kernel="rbf", landmarks=20).fit(frame)
    # A sample of at most 4064 rows, of which landmarks are chosen, and sums of 20 by 20.
    assert len(sizes) == 2
    assert sizes[0] < 4064 * 14 * 8
    assert sizes[1] < 200_000


def dying(frame, sentinel, whom):
    """The same rows; whoever looks at them first is killed: the Python worker, or the executor above it."""

    def run(batches):
        import psutil

        for batch in batches:
            if not os.path.exists(sentinel):
                open(sentinel, "w").close()
                above = psutil.Process().parents()
                pid = os.getpid() if whom == "worker" else next(p.pid for p in above if p.name() == "java")
                os.kill(pid, signal.SIGKILL)
            yield batch

    renamed = frame.withColumnRenamed("b.c", "b")
    return renamed.mapInArrow(run, "a double, b double, d double, e double").withColumnRenamed("b", "b.c")


@pytest.mark.parametrize(("way", "whom"), [("pca", "worker"), ("pca", "executor"), ("exact", "executor")])
def test_a_killed_executor_changes_nothing(numbers, X, exact, way, whom, tmp_path, monkeypatch):
    monkeypatch.setattr(ours, "BLOCK_ROWS", 120)
    frame = dying(numbers, str(tmp_path / "died"), whom)
    if way == "pca":
        fitted, calm = ours.PCA(3).fit(frame), ours.PCA(3).fit(numbers)
        assert angle(fitted.components_.T, calm.components_.T) < 1e-12
        assert np.allclose(fitted.explained_variance_, calm.explained_variance_, rtol=1e-12)
        assert fitted.n_samples_ == 600
    else:
        fitted = ours.KernelPCA(3, kernel="rbf", gamma=0.02).fit(frame)
        assert np.allclose(fitted.eigenvalues_, exact.eigenvalues_, rtol=1e-10)
        assert angle(fitted.eigenvectors_, exact.eigenvectors_) < 1e-5
    assert (tmp_path / "died").exists()


def test_nothing_but_the_data_frame_interface_is_used():
    source = Path(ours.__file__).read_text()
    assert not [word for word in (".rdd", "sparkContext", "_jdf", "_jvm") if word in source]
