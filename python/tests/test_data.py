"""Data as it comes."""

import tracemalloc
from datetime import datetime

import mercer
import numpy as np
import pytest
import scipy.sparse as sp
from mercer import PCA, KernelPCA, Nystroem

ESTIMATORS = [PCA(2), KernelPCA(2, kernel="rbf"), Nystroem(n_components=5, random_state=0), mercer.IncrementalPCA(2)]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_layout_does_not_matter(iris, estimator, tmp_path):
    expected = estimator.fit_transform(iris)
    wide = np.zeros((300, 8))
    wide[::2, ::2] = iris
    mapped = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=iris.shape)
    mapped[:] = iris
    mapped.flush()
    frozen = iris.copy()
    frozen.flags.writeable = False
    odd = np.ndarray(iris.shape, buffer=bytearray(b"x" + iris.tobytes()), offset=1)
    swapped = iris.astype(iris.dtype.newbyteorder())
    for X in (
        np.asfortranarray(iris),
        wide[::2, ::2],
        iris[::-1][::-1],
        np.memmap(tmp_path / "x", dtype=float, mode="r", shape=iris.shape),
        frozen,
        odd,
        swapped,
        iris.tolist(),
    ):
        assert (estimator.fit_transform(X) == expected).all()
        assert (estimator.fit(iris).transform(X) == estimator.transform(iris)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_contiguous_data_is_not_copied(rng, dtype):
    X = rng.normal(size=(200_000, 20)).astype(dtype)
    tracemalloc.start()
    PCA(2).fit(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes / 10
    model = KernelPCA(2, copy_X=False).fit(X[:500])
    assert np.shares_memory(model.X_fit_, X)
    assert not np.shares_memory(KernelPCA(2).fit(X[:500]).X_fit_, X)


def tables(iris):
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    names = ["a", "b", "c", "d"]
    columns = {n: iris[:, j] for j, n in enumerate(names)}
    frame = pd.DataFrame(columns)
    yield "pandas", frame
    yield "polars", pl.DataFrame(columns)
    yield "pyarrow", pa.table(columns)
    yield "duckdb", duckdb.sql("select * from frame")


@pytest.mark.parametrize("which", ["pandas", "polars", "pyarrow", "duckdb"])
@pytest.mark.parametrize("estimator", [PCA(2), KernelPCA(2, kernel="rbf")], ids=lambda e: type(e).__name__)
def test_tables_are_read_by_their_arrow_stream(iris, estimator, which, monkeypatch):
    expected = estimator.fit(iris).transform(iris)
    calls, read = [], mercer._mercer.read_table
    monkeypatch.setattr(mercer._mercer, "read_table", lambda t: calls.append(t) or read(t))
    table = dict(tables(iris))[which]
    assert (estimator.fit_transform(table) == estimator.fit_transform(iris)).all()
    assert list(estimator.fit(table).feature_names_in_) == ["a", "b", "c", "d"]
    assert (estimator.transform(table) == expected).all()
    assert len(calls) == 3
    for other, renamed in tables(iris):
        if other == which:
            renamed = (
                renamed.rename(columns={"a": "z"})
                if which == "pandas"
                else renamed.rename({"a": "z"})
                if which == "polars"
                else renamed.rename_columns(["z", "b", "c", "d"])
                if which == "pyarrow"
                else renamed.project("a as z, b, c, d")
            )
            with pytest.raises(ValueError, match="feature names should match"):
                estimator.transform(renamed)


def test_the_index_of_a_frame_is_no_column(iris):
    import pandas as pd

    frame = pd.DataFrame(iris, columns=list("abcd"))
    part = frame[frame.a > 5].sample(frac=1.0, random_state=0)
    fitted = PCA(2).fit(part)
    assert fitted.components_.shape == (2, 4)
    assert (fitted.components_ == PCA(2).fit(part.to_numpy()).components_).all()
    out = PCA(2).set_output(transform="pandas").fit_transform(part)
    assert (out.index == part.index).all()
    assert list(KernelPCA(2).fit(part.set_index(part.a.astype(str))).feature_names_in_) == list("abcd")


def test_objects_that_only_look_like_tables(iris):
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    for series in (pd.Series(iris[:, 0]), pl.Series(iris[:, 0]), pa.chunked_array([iris[:, 0]])):
        with pytest.raises(ValueError, match="Expected a? ?2-?"):
            PCA(1).fit(series)
    with pytest.raises(ValueError, match="Complex data not supported"):
        PCA(1).fit(pd.DataFrame({"a": [1 + 1j, 2], "b": [1.0, 2.0]}))
    with pytest.raises(TypeError, match=r"call X.collect\(\) first"):
        PCA(1).fit(pl.DataFrame({"a": [1.0, 2.0]}).lazy())
    with pytest.raises(TypeError, match="dates or durations"):
        PCA(1).fit([np.array(["2020-01-01"], dtype="datetime64[D]"), np.array(["2021-01-01"], dtype="datetime64[D]")])
    with pytest.raises((TypeError, ValueError)):
        PCA(1).fit(pd.DataFrame({"a": pd.period_range("2020", periods=3, freq="M"), "b": [1.0, 2.0, 3.0]}))
    sparse = pd.DataFrame(iris * (iris > 2), columns=list("abcd")).astype(pd.SparseDtype(float, 0.0))
    assert np.allclose(PCA(2).fit(sparse).explained_variance_, PCA(2).fit(iris * (iris > 2)).explained_variance_)


def test_columns_of_other_numbers(iris):
    import pandas as pd
    import polars as pl

    whole = (10 * iris).astype(int)
    frame = pd.DataFrame(whole, columns=list("abcd")).astype({"a": "int8", "b": "bool", "c": "float32"})
    expected = PCA(2).fit_transform(frame.to_numpy(dtype=float))
    assert (PCA(2).fit_transform(frame) == expected).all()
    assert PCA(2).fit_transform(pl.DataFrame(iris.astype(np.float32), list("abcd"))).dtype == np.float32
    missing = pl.DataFrame({"a": [1.0, None, 3.0], "b": [1.0, 2.0, 4.0]})
    with pytest.raises(ValueError, match="Input X contains NaN"):
        PCA(1).fit(missing)


def test_values_that_are_not_numbers_are_refused(iris):
    import duckdb
    import pandas as pd
    import polars as pl

    for estimator in ESTIMATORS:
        with pytest.raises(TypeError, match="masked array.*filled"):
            estimator.fit(np.ma.masked_array(iris, iris > 5))
        with pytest.raises(TypeError, match="dates or durations"):
            estimator.fit(np.array([["2020-01-01"], ["2021-01-01"]], dtype="datetime64[D]"))
        with pytest.raises(ValueError, match="Complex data not supported"):
            estimator.fit(iris + 1j)
        with pytest.raises(ValueError, match="could not convert string to float"):
            estimator.fit(np.array([["a", "b"], ["c", "d"]]))
    dated = {"day": [datetime(2020, 1, 1), datetime(2021, 1, 1)], "x": [1.0, 2.0]}
    only = pd.DataFrame({"day": pd.date_range("2020", periods=5), "other": pd.date_range("2021", periods=5)})
    for frame in (pd.DataFrame(dated), pl.DataFrame(dated), only):
        with pytest.raises(TypeError, match="'day'.*not a number"):
            PCA(1).fit(frame)
    with pytest.raises((TypeError, ValueError), match="'name' has type"):
        PCA(1).fit(duckdb.sql("select 'a' as name, 1.0 as x"))
    with pytest.raises(ValueError, match="could not convert string to float"):
        PCA(1).fit(pd.DataFrame({"name": ["a", "b"], "x": [1.0, 2.0]}))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_missing_and_infinite_values_are_named_as_theirs(iris, estimator):
    name = type(estimator).__name__
    for value, message in (
        (np.nan, f"Input X contains NaN.\n{name} does not accept"),
        (np.inf, "Input X contains infinity"),
    ):
        X = iris.copy()
        X[3, 1] = value
        with pytest.raises(ValueError, match=message):
            estimator.fit(X)
        estimator.fit(iris)
        with pytest.raises(ValueError, match=message):
            estimator.transform(X)


def test_messages_are_theirs(iris):
    for make, message in [
        (
            lambda: PCA(9).fit(iris),
            r"n_components=9 must be between 0 and min\(n_samples, n_features\)=4 with svd_solver='c",
        ),
        (lambda: PCA().transform(iris), "This PCA instance is not fitted yet. Call 'fit' with appropriate arguments"),
        (lambda: PCA().fit(iris).transform(iris[:, :3]), "X has 3 features, but PCA is expecting 4 features as input."),
        (
            lambda: KernelPCA(2).fit(iris).inverse_transform(iris[:, :2]),
            "hence the inverse transform is not available.",
        ),
        (lambda: KernelPCA(0).fit(iris), "The 'n_components' parameter of KernelPCA must be an int in the range"),
        (lambda: PCA().fit(iris[:1]), "minimum of 2 is required by PCA"),
        (lambda: PCA(memory="lots").fit(iris), "memory='lots' is not a size"),
        (lambda: PCA(n_jobs=0).fit(iris), "n_jobs=0 is not valid"),
    ]:
        with pytest.raises(Exception, match=message):
            make()


def test_sparse_data_in_kernels(rng):
    X = sp.random_array((60, 8), density=0.4, rng=rng, format="csr")
    dense = X.toarray()
    for kernel in ("linear", "rbf", "poly", "cosine"):
        a, b = KernelPCA(3, kernel=kernel).fit(X), KernelPCA(3, kernel=kernel).fit(dense)
        assert (a.eigenvalues_ == b.eigenvalues_).all()
        assert (a.transform(X) == b.transform(dense)).all()
        assert sp.issparse(a.X_fit_)
    with pytest.raises(MemoryError, match="sparse points as dense rows"):
        KernelPCA(2, kernel="rbf", memory=1000).fit(X)
