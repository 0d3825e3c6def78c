"""Model files, graphs, models of scikit-learn's, and what a notebook shows."""

import json
import os
import pickle

import mercer
import numpy as np
import pytest
import sklearn.decomposition
import sklearn.kernel_approximation
from mercer import PCA, IncrementalPCA, KernelPCA, Nystroem
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SAVED = [
    PCA(3),
    PCA(2, scale=True, whiten=True),
    PCA(2, center=False),
    KernelPCA(3, kernel="rbf", gamma="median"),
    KernelPCA(3, kernel="0.5*gaussian(gamma=median) + linear"),
    KernelPCA(2, kernel="precomputed"),
    KernelPCA(8),
    KernelPCA(kernel="rbf"),
    IncrementalPCA(2, batch_size=40),
    Nystroem(n_components=20, random_state=0),
]


def data(estimator, iris):
    return iris @ iris.T if getattr(estimator, "kernel", None) == "precomputed" else iris


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("estimator", SAVED, ids=repr)
def test_a_saved_model_is_the_same_model(iris, tmp_path, estimator, dtype):
    X = data(estimator, iris).astype(dtype)
    fitted, path = clone(estimator).fit(X), tmp_path / "m.safetensors"
    fitted.save(path)
    loaded = mercer.load(path)
    assert type(loaded) is type(fitted)
    assert loaded.get_params() == fitted.get_params()
    scores, expected = loaded.transform(X), fitted.transform(X)
    assert (scores.shape, scores.dtype) == (expected.shape, expected.dtype)
    assert np.abs(scores - expected).max() <= np.finfo(dtype).eps * np.abs(expected).max()
    assert loaded.n_features_in_ == fitted.n_features_in_
    assert not hasattr(loaded, "feature_names_in_")
    for attribute, value in vars(fitted).items():
        if attribute.endswith("_") and not (attribute == "X_fit_" and fitted.kernel == "precomputed"):
            mine = getattr(loaded, attribute)
            if isinstance(value, np.ndarray):
                assert mine.dtype == value.dtype, attribute
                assert np.allclose(mine, value, atol=1e-6 * np.abs(value).max(initial=0.0)), attribute
            elif attribute != "certificate_":
                assert np.isclose(mine, value) if isinstance(value, float) else mine == value, attribute
    if hasattr(fitted, "certificate_"):
        assert str(loaded.certificate_).split(",")[0] == str(fitted.certificate_).split(",")[0]
    if isinstance(loaded, IncrementalPCA):
        assert np.allclose(loaded.partial_fit(X).components_, fitted.partial_fit(X).components_, atol=1e-6)
    if isinstance(loaded, PCA):
        assert np.allclose(loaded.inverse_transform(loaded.transform(X)), fitted.inverse_transform(fitted.transform(X)))
        assert np.isclose(loaded.noise_variance_, fitted.noise_variance_)


def test_whitened_models_of_low_rank_keep_their_shape(iris, tmp_path):
    X = np.hstack([iris, iris[:, :2]])
    for estimator in (PCA(whiten=True), KernelPCA(2)):
        flat = X if isinstance(estimator, PCA) else np.ones((9, 6))
        fitted = estimator.fit(flat)
        fitted.save(tmp_path / "m")
        assert mercer.load(tmp_path / "m").transform(flat).shape == fitted.transform(flat).shape
        assert mercer.load(os.fsencode(tmp_path / "m")).n_features_in_ == 6


def test_features_are_saved_too(iris, tmp_path):
    fitted = Nystroem(gamma="median", n_components=20, random_state=0).fit(iris)
    fitted.save(tmp_path / "m")
    loaded = mercer.load(tmp_path / "m")
    assert isinstance(loaded, Nystroem)
    assert (loaded.transform(iris) == fitted.transform(iris)).all()
    assert loaded.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    fitted = Nystroem(kernel="chi2", n_components=5).fit(iris)
    fitted.save(tmp_path / "m")
    assert (mercer.load(tmp_path / "m").transform(iris) == fitted.transform(iris)).all()
    with pytest.raises(ValueError, match="carries no code"):
        Nystroem(kernel="additive_chi2", n_components=5).fit(iris).save(tmp_path / "m")


def test_files_hold_no_code_and_are_written_whole(iris, tmp_path):
    from safetensors import safe_open

    path = tmp_path / "m.safetensors"
    KernelPCA(2, kernel="rbf").fit(iris).save(path)
    with safe_open(path, "np") as f:
        assert json.loads(f.metadata()["mercer"])["model"]["kernel"] == "gaussian(gamma=0.25)"
        assert f.get_tensor("points").shape == (150, 4)
    before = path.read_bytes()
    path.write_bytes(before[:1000])
    with pytest.raises(ValueError, match="not a readable model file"):
        mercer.load(path)
    with pytest.raises(OSError, match="nowhere"):
        PCA(1).fit(iris).save(tmp_path / "nowhere" / "m")
    with pytest.raises(FileNotFoundError, match="missing"):
        mercer.load(tmp_path / "missing")
    assert [p.name for p in tmp_path.iterdir()] == ["m.safetensors"]
    with pytest.warns(UserWarning, match="inverse transform is not saved"):
        KernelPCA(2, fit_inverse_transform=True).fit(iris).save(path)
    with pytest.raises(ValueError, match="carries no code"):
        KernelPCA(2, kernel=lambda x, y: float(x @ y)).fit(iris).save(path)


def test_names_of_columns_are_kept(iris, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(iris, columns=["sepal length", "b", "c", "d"])
    PCA(2).fit(frame).save(tmp_path / "m")
    assert list(mercer.load(tmp_path / "m").feature_names_in_) == list(frame.columns)
    frame.columns = ["x1", "x2", "x3", "x4"]
    PCA(2).fit(frame).save(tmp_path / "m")
    assert list(mercer.load(tmp_path / "m").feature_names_in_) == list(frame.columns)
    PCA(2).fit(iris).save(tmp_path / "m")
    assert not hasattr(mercer.load(tmp_path / "m"), "feature_names_in_")


@pytest.mark.parametrize(
    "estimator",
    [
        PCA(3),
        PCA(2, whiten=True),
        PCA(2, scale=True),
        IncrementalPCA(2),
        *(KernelPCA(3, kernel=k["name"]) for k in mercer.kernels.TABLE if k["name"] != "sigmoid"),
        KernelPCA(3, kernel="sigmoid", gamma=0.01),  # its default gamma saturates it
        KernelPCA(3, kernel="0.5*gaussian(gamma=median) + linear"),
        KernelPCA(3, kernel="matern(nu=5/2)*cosine + normalised(polynomial(degree=2) + linear)"),
        KernelPCA(8, kernel="linear"),
        Nystroem(n_components=20, random_state=0),
        Nystroem(kernel="laplacian", n_components=20, random_state=0),
        Nystroem(kernel="polynomial", gamma=0.3, n_components=1, random_state=0),
        Nystroem(kernel="0.3*linear + cosine", n_components=1, random_state=0),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.PositiveSpectrumWarning")
def test_graphs_agree_with_transform(iris, tmp_path, estimator):
    onnx, ort = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    estimator, path = clone(estimator).fit(iris), tmp_path / "m.onnx"
    assert path.write_bytes(b"old")
    content = estimator.to_onnx(path)
    assert path.read_bytes() == content
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    for new in (iris[:1], iris + 0.3):
        z, expected = session.run(None, {"X": new})[0], estimator.transform(new)
        assert z.shape == expected.shape
        assert np.abs(z - expected).max() < 1e-10 * np.abs(expected).max()


THEIRS = [
    sklearn.decomposition.PCA(2),
    sklearn.decomposition.PCA(2, whiten=True),
    sklearn.decomposition.IncrementalPCA(2),
    *(sklearn.decomposition.KernelPCA(3, kernel=k) for k in ("linear", "poly", "rbf", "cosine", "precomputed")),
    sklearn.decomposition.KernelPCA(kernel="rbf"),
    sklearn.decomposition.KernelPCA(2, kernel="rbf", fit_inverse_transform=True),
    sklearn.kernel_approximation.Nystroem(n_components=10, random_state=0),
    sklearn.kernel_approximation.Nystroem(kernel="chi2", n_components=10, random_state=0),
]


@pytest.mark.parametrize("theirs", THEIRS, ids=repr)
def test_models_of_theirs_become_ours_and_go_back(iris, theirs):
    X = data(theirs, iris)
    theirs = clone(theirs).fit(X)
    ours = mercer.from_sklearn(theirs)
    expected = theirs.transform(X)
    assert type(ours).__module__.startswith("mercer")
    assert np.allclose(ours.transform(X), expected, atol=1e-9 * np.abs(expected).max())
    back = ours.to_sklearn()
    assert type(back) is type(theirs)
    assert np.allclose(back.transform(X), expected, atol=1e-9 * np.abs(expected).max())
    if hasattr(theirs, "inverse_transform") and getattr(theirs, "fit_inverse_transform", True):
        inverse = theirs.inverse_transform(expected)
        assert np.allclose(ours.inverse_transform(expected), inverse)
        assert np.allclose(back.inverse_transform(expected), inverse)
    if hasattr(ours, "certificate_"):
        assert ours.certificate_.missed > 0


@pytest.mark.parametrize(
    "ours",
    [
        PCA(2),
        IncrementalPCA(2),
        PCA(0.9, svd_solver="randomized"),
        KernelPCA(2, kernel="rbf", gamma="median"),
        KernelPCA(0.9, kernel="poly"),
        KernelPCA(2, kernel="gaussian(gamma=0.3)"),
        KernelPCA(2, kernel=mercer.kernels.polynomial(degree=2, gamma=0.5)),
        KernelPCA(2, kernel="sigmoid(gamma=0.001, coef0=0)"),
        KernelPCA(2, kernel="chi2"),
        Nystroem(n_components=9),
    ],
    ids=repr,
)
def test_models_of_ours_become_theirs(iris, ours):
    ours = clone(ours).fit(iris)
    theirs = ours.to_sklearn()
    assert type(theirs).__module__.startswith("sklearn")
    expected = ours.transform(iris)
    assert np.allclose(theirs.transform(iris), expected, atol=1e-8 * np.abs(expected).max())
    assert theirs.get_feature_names_out().tolist() == ours.get_feature_names_out().tolist()


def test_models_without_a_counterpart_are_refused(iris):
    blocks = KernelPCA(2, kernel=lambda X, Y: np.atleast_2d(X) @ np.atleast_2d(Y).T).fit(iris)
    with pytest.raises(ValueError, match="functions of blocks"):
        blocks.to_sklearn()
    with pytest.raises(ValueError, match="StandardScaler"):
        PCA(2, scale=True).fit(iris).to_sklearn()
    with pytest.raises(ValueError, match="has no kernel 'matern"):
        KernelPCA(2, kernel="matern").fit(iris).to_sklearn()
    with pytest.raises(TypeError, match="cannot convert"):
        mercer.from_sklearn(PCA(2).fit(iris))


def test_models_of_the_command(iris, tmp_path):
    # scikit-learn has no model that standardises its points first; the graph includes the scale.
    ort = pytest.importorskip("onnxruntime")
    inner = (iris - iris.mean(axis=0)) / iris.std(axis=0, ddof=1)
    fitted = KernelPCA(2, kernel="rbf", gamma=0.3).fit(inner)
    fitted.save(tmp_path / "m")
    rewrite(tmp_path / "m", {"mean": iris.mean(axis=0), "scale": iris.std(axis=0, ddof=1)}, {})
    loaded = mercer.load(tmp_path / "m")
    assert np.allclose(loaded.transform(iris), fitted.transform(inner))
    assert np.allclose(loaded.X_fit_, iris)
    z = ort.InferenceSession(loaded.to_onnx(), providers=["CPUExecutionProvider"]).run(None, {"X": iris})[0]
    assert np.allclose(z, fitted.transform(inner))
    with pytest.raises(ValueError, match="StandardScaler"):
        loaded.to_sklearn()


def rewrite(path, tensors, facts):
    """Changes a model file, which becomes one of the format without a checksum."""
    from safetensors.numpy import safe_open, save_file

    with safe_open(path, "np") as f:
        old, known = {name: f.get_tensor(name) for name in f.keys()}, json.loads(f.metadata()["mercer"])  # noqa: SIM118
    del known["checksum"]
    known = {**known, **facts, "format": "mercer-model/1"}
    save_file({**old, **tensors}, path, {"mercer": json.dumps(known)})


def test_a_changed_file_or_pickle_is_refused(iris, tmp_path):
    fitted, path = PCA(2).fit(iris), tmp_path / "m"
    fitted.save(path)
    changed = bytearray(path.read_bytes())
    changed[-3] ^= 1
    path.write_bytes(changed)
    with pytest.raises(ValueError, match="checksum mismatch"):
        mercer.load(path)
    stored = pickle.dumps(fitted)
    changed = stored.replace(rb"\"n\":150", rb"\"n\":151")
    assert changed != stored
    with pytest.raises(ValueError, match="checksum mismatch"):
        pickle.loads(changed)


@pytest.mark.parametrize(
    "front",
    [[1], {"params": 3}, {"class": "PCA", "params": {"n_components": -7}, "width": "x"}, {"dtype": [], "width": 10**9}],
    ids=repr,
)
def test_an_invalid_front_is_ignored(iris, tmp_path, front):
    for estimator in (PCA(2), KernelPCA(2, kernel="rbf"), IncrementalPCA(2), Nystroem(n_components=5)):
        fitted, path = estimator.fit(iris), tmp_path / "m"
        fitted.save(path)
        rewrite(path, {}, {"front": front})
        assert np.allclose(mercer.load(path).transform(iris), fitted.transform(iris))


def test_plain_text_is_respected(iris):
    with sklearn.config_context(display="text"):
        assert "text/html" not in PCA(2).fit(iris)._repr_mimebundle_()


def test_a_notebook_shows_a_card(iris):
    from xml.etree import ElementTree

    model = KernelPCA(3, kernel="rbf", gamma="median").fit(iris)
    html = model._repr_html_()
    ElementTree.fromstring(html)  # well formed
    for part in ("KernelPCA", "gamma=&#x27;median&#x27;", "150 rows", "<svg", str(model.certificate_)[:20]):
        assert part in html
    assert model._repr_mimebundle_()["text/html"] == html
    assert "KernelPCA" in KernelPCA(3)._repr_html_()
    for other in (PCA(2), IncrementalPCA(2), Nystroem(n_components=5)):
        ElementTree.fromstring(other.fit(iris)._repr_html_())


@pytest.mark.parametrize(
    "estimator",
    [
        *SAVED,
        PCA(0.9),
        KernelPCA(2, kernel="rbf", landmarks=20),
        KernelPCA(2, kernel="additive_chi2"),
        KernelPCA(2, kernel="rbf", fit_inverse_transform=True),
        IncrementalPCA(2, method="moments"),
        make_pipeline(StandardScaler(), KernelPCA(2, kernel="rbf")),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.PositiveSpectrumWarning")
def test_skops_reads_what_it_writes(iris, estimator):
    from skops.io import dumps, get_untrusted_types, loads

    X = data(estimator, iris)
    fitted = clone(estimator).fit(X)
    if hasattr(fitted, "partial_fit"):
        fitted.partial_fit(X)
    written = dumps(fitted)
    named = get_untrusted_types(data=written)
    assert all(name.startswith("mercer.") or name == "numpy.dtype" for name in named)
    loaded = loads(written, trusted=named)
    assert (loaded.transform(X) == fitted.transform(X)).all()
    if hasattr(fitted, "certificate_"):
        assert str(loaded.certificate_) == str(fitted.certificate_)
        assert (loaded.certificate_.lower == fitted.certificate_.lower).all()
    if hasattr(fitted, "partial_fit"):
        assert (loaded.partial_fit(X).transform(X) == fitted.partial_fit(X).transform(X)).all()
