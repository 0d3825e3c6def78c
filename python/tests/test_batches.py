"""Data that comes in batches: the model of all of it, whatever the batches."""

import pickle

import mercer
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import angle
from mercer import PCA, IncrementalPCA, KernelPCA
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

EXACT = ["moments", "factor"]
NAMES = list("abcdef")


@pytest.fixture
def X(rng):
    """Six columns of different variances, which are mixed, far from the origin."""
    mixed = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    return rng.normal(size=(211, 6)) * [8, 5, 3, 2, 1, 0.5] @ mixed + 50


def cut(X, size):
    return (X[i : i + size] for i in range(0, X.shape[0], size))


def same(a, b, tolerance=1e-10):
    """Each axis of one model is within an angle of that of the other, and so are their variances, relatively."""
    for one, other in zip(a.components_, b.components_, strict=True):
        assert angle(one[:, None].astype(float), other[:, None].astype(float)) < tolerance
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        assert np.allclose(getattr(a, name), getattr(b, name), rtol=tolerance, atol=0), name
    assert np.allclose(a.mean_, b.mean_, rtol=tolerance, atol=0)
    assert np.allclose(a.noise_variance_, b.noise_variance_, rtol=tolerance, atol=0)


# Exact PCA of batches.


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("size", [1, 2, 7, 100, 211])
def test_batches_of_any_size_give_the_components_of_all_data(X, method, size):
    whole = PCA(4).fit(X)
    by_parts = IncrementalPCA(4, method=method)
    for batch in cut(X, size):
        by_parts.partial_fit(batch)
    for fitted in (by_parts, IncrementalPCA(4, method=method, batch_size=size).fit(X)):
        same(fitted, whole)
        assert fitted.n_samples_seen_ == 211
        assert fitted.n_components_ == 4
        assert np.allclose(fitted.var_, X.var(axis=0), rtol=1e-12)
        assert np.abs(fitted.transform(X) - whole.transform(X)).max() < 1e-9


@pytest.mark.parametrize("method", EXACT)
def test_the_order_of_the_batches_does_not_matter(X, rng, method):
    whole = PCA(3).fit(X)
    for _ in range(3):
        order = rng.permutation(len(X))
        parts = np.split(X[order], sorted(rng.integers(1, 210, size=5)))
        same(IncrementalPCA(3, method=method).fit(part for part in parts), whole)


def test_the_stack_is_less_accurate_than_the_exact_methods(X):
    # Or the tests above would show nothing.
    parts = cut(X[np.argsort(X[:, 0])], 30)
    assert angle(IncrementalPCA(2).fit(parts).components_.T, PCA(2).fit(X).components_.T) > 1e-3


@pytest.mark.parametrize("method", EXACT)
def test_float32_stays_float32_and_is_computed_in_float64(X, method):
    narrow = X.astype(np.float32)
    fitted = IncrementalPCA(3, method=method).fit(cut(narrow, 10))
    same(fitted, PCA(3).fit(narrow), 1e-6)
    for name in ("components_", "mean_", "var_", "explained_variance_"):
        assert getattr(fitted, name).dtype == np.float32, name
    assert fitted.transform(narrow).dtype == np.float32
    # The scores are those of sums in float64.
    exact = PCA(3).fit(narrow.astype(float))
    assert angle(fitted._model.axes().T, exact.components_.T) < 1e-10


@pytest.mark.parametrize("estimator", [PCA(2), IncrementalPCA(2, method="moments")], ids=repr)
def test_the_kind_of_numbers_does_not_depend_on_the_order(X, estimator):
    wide, narrow = X[:100], X[100:].astype(np.float32)
    for batches in ([wide, narrow], [narrow, wide]):
        assert estimator.fit(iter(batches)).components_.dtype == np.float64


@pytest.mark.parametrize("method", EXACT)
def test_whitened_scores_have_unit_variance(X, method):
    fitted = IncrementalPCA(3, method=method, whiten=True).fit(cut(X, 9))
    scores = fitted.transform(X)
    assert np.allclose(np.cov(scores.T), np.eye(3), atol=1e-9)
    assert np.allclose(scores, PCA(3, whiten=True).fit(X).transform(X), atol=1e-9)
    back = fitted.inverse_transform(scores)
    assert np.allclose(back, PCA(3).fit(X).inverse_transform(PCA(3).fit_transform(X)), atol=1e-9)


@pytest.mark.parametrize("method", EXACT)
def test_the_certificate_holds(X, method):
    certificate = IncrementalPCA(3, method=method).fit(cut(X, 9)).certificate_
    truth = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:3] ** 2
    assert ((certificate.lower <= truth) & (truth <= certificate.upper)).all()
    assert (certificate.upper - certificate.lower).max() < 1e-9 * truth[0]


def test_the_factor_keeps_small_components_and_moments_lose_them(rng):
    deviations = 10.0 ** -np.arange(0, 11, 2)
    mixed = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    X = rng.normal(size=(400, 6)) * deviations @ mixed
    truth = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    factor = IncrementalPCA(method="factor").fit(cut(X, 13))
    assert np.abs(factor.singular_values_ / truth - 1).max() < 1e-4
    moments = IncrementalPCA(method="moments").fit(cut(X, 13))
    assert np.abs(moments.singular_values_[:4] / truth[:4] - 1).max() < 1e-2
    assert abs(moments.singular_values_[5] / truth[5] - 1) > 0.5


@pytest.mark.parametrize("method", EXACT)
def test_one_row_has_a_mean_and_no_direction(X, method):
    fitted = IncrementalPCA(2, method=method).partial_fit(X[:1])
    assert (fitted.mean_ == X[0]).all()
    assert (fitted.var_ == 0).all()
    assert fitted.n_samples_seen_ == 1
    assert fitted.n_components_ == 0
    assert fitted.transform(X).shape == (211, 0)
    assert len(fitted.certificate_.lower) == 0
    assert fitted.partial_fit(X[1:2]).components_.shape == (2, 6)


@pytest.mark.parametrize("method", EXACT)
def test_a_bad_batch_leaves_the_model_unchanged(X, method):
    fitted = IncrementalPCA(2, method=method).partial_fit(X[:50])
    before, scores = dict(vars(fitted)), fitted.transform(X)
    bad = X[50:60].copy()
    bad[3, 2] = np.nan
    for batch, message in ((bad, "contains NaN"), (X[:, :4], "X has 4 features"), (X[0], "Expected 2D array")):
        with pytest.raises(ValueError, match=message):
            fitted.partial_fit(batch)
        with pytest.raises(ValueError, match=message):
            fitted.fit(iter([X, batch]))
        assert vars(fitted) == before
        assert (fitted.transform(X) == scores).all()
    with pytest.raises(ValueError, match="n_components=7 must be at most n_features=6"):
        clone(fitted).set_params(n_components=7).partial_fit(X)
    # And what comes after it counts.
    fitted.partial_fit(X[50:])
    same(fitted, PCA(2).fit(X))


@pytest.mark.parametrize("method", EXACT)
def test_partial_fit_continues_after_a_pickle(X, method):
    first = IncrementalPCA(2, method=method).partial_fit(X[:50])
    second = pickle.loads(pickle.dumps(first)).partial_fit(X[50:])
    assert first.n_samples_seen_ == 50
    same(second, PCA(2).fit(X))
    assert (second.components_ == first.partial_fit(X[50:]).components_).all()


@pytest.mark.parametrize("method", EXACT)
def test_files_hold_what_was_fitted(X, method, tmp_path):
    fitted = IncrementalPCA(2, method=method, whiten=True).fit(cut(X, 20))
    fitted.save(tmp_path / "m")
    read = mercer.load(tmp_path / "m")
    assert isinstance(read, IncrementalPCA)
    assert read.get_params() == fitted.get_params()
    assert (read.transform(X) == fitted.transform(X)).all()
    for name in ("var_", "mean_", "noise_variance_", "n_samples_seen_", "explained_variance_ratio_", "batch_size_"):
        assert np.allclose(getattr(read, name), getattr(fitted, name), rtol=1e-14), name
    # It has no sums.
    with pytest.raises(ValueError, match="call fit to start again"):
        read.partial_fit(X)
    same(read.fit(X), PCA(2).fit(X))


def test_clones_and_parameters(X):
    fitted = IncrementalPCA(2, method="factor", batch_size=7).fit(X)
    other = clone(fitted)
    assert other.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        other.transform(X)
    assert fitted.set_params(n_components=3).partial_fit(X[:1]).components_.shape == (3, 6)
    with pytest.raises(ValueError, match="The 'method' parameter of IncrementalPCA must be a str among"):
        IncrementalPCA(method="exact").fit(X)


@pytest.mark.parametrize("before", ["stack", "moments", "factor"])
@pytest.mark.parametrize("after", ["stack", "moments", "factor"])
def test_the_method_cannot_change_between_batches(X, before, after):
    fitted = IncrementalPCA(2, method=before).partial_fit(X).set_params(method=after)
    if before == after:
        assert fitted.partial_fit(X).n_samples_seen_ == 422
        return
    with pytest.raises(ValueError, match=f"method='{after}', but earlier batches were taken by '{before}'"):
        fitted.partial_fit(X)
    assert fitted.fit(X).n_samples_seen_ == 211


@pytest.mark.parametrize("method", EXACT)
def test_sparse_data_is_taken_in_batches(rng, method):
    X = sp.random_array((90, 6), density=0.4, rng=rng, format="csr")
    whole = PCA(3).fit(X.toarray())
    for rows in (X, cut(X, 11)):
        same(IncrementalPCA(3, method=method, batch_size=11).fit(rows), whole)


ESTIMATORS = [
    IncrementalPCA(method="moments"),
    IncrementalPCA(method="factor", n_components=2, whiten=True),
    KernelPCA(landmarks=20, kernel="rbf"),
    KernelPCA(trace_error=0.05, kernel="rbf", gamma="median"),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_every_check_of_an_estimator_holds(estimator):
    results = check_estimator(estimator, on_fail=None)
    assert [r["check_name"] for r in results if r["status"] in ("failed", "xfail")] == []
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= {"check_array_api_input"}


# Batches of any kind.


class Stream:
    """An Arrow stream, and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def batches(X, kind):
    """The same rows, once, as batches of one kind; rows are 0 in one of them."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    parts = [X[:40], X[:0], X[40:41], X[41:]]
    tables = [pa.table({n: p[:, j] for j, n in enumerate(NAMES)}) for p in parts]
    if kind == "arrays":
        return iter(parts)
    if kind == "lists":
        return (p.tolist() for p in parts if len(p))
    if kind == "columns first":
        return (np.asfortranarray(p) for p in parts)
    if kind == "pandas":
        return (pd.DataFrame(p, columns=NAMES) for p in parts)
    if kind == "polars":
        return (pl.DataFrame(p, NAMES) for p in parts)
    if kind == "tables":
        return iter(tables)
    if kind == "record batches":
        return (b for t in tables for b in t.to_batches())
    if kind == "streams":
        return (Stream(t) for t in tables)
    whole = pa.concat_tables(tables)
    if kind == "reader":
        return pa.RecordBatchReader.from_batches(whole.schema, whole.to_batches())
    return Stream(whole)


KINDS = ["pandas", "polars", "tables", "record batches", "streams", "reader", "stream"]
TAKERS = [PCA(3), IncrementalPCA(3), IncrementalPCA(3, method="moments"), KernelPCA(3, kernel="rbf", landmarks=30)]


@pytest.mark.parametrize("kind", ["arrays", "lists", "columns first", *KINDS])
@pytest.mark.parametrize("estimator", TAKERS, ids=repr)
@pytest.mark.filterwarnings("error")
def test_batches_of_any_kind_are_taken_and_their_names_kept(X, estimator, kind):
    expected = clone(estimator).fit(p for p in (X[:40], X[40:41], X[41:]))
    fitted = clone(estimator).fit(batches(X, kind))
    assert fitted.n_features_in_ == 6
    if kind in KINDS:
        assert list(fitted.feature_names_in_) == NAMES
        # Names of before are forgotten.
        assert not hasattr(fitted.fit(iter([X])), "feature_names_in_")
        fitted.fit(batches(X, kind))
    else:
        assert not hasattr(fitted, "feature_names_in_")
    assert (fitted._model.transform(X, fitted._options()) == expected._model.transform(X, fitted._options())).all()


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh"])
@pytest.mark.parametrize(("center", "scale"), [(True, False), (True, True), (False, False)])
@pytest.mark.parametrize("wanted", [3, 0.9, None])
def test_pca_of_batches_is_pca_of_all_rows(X, solver, center, scale, wanted):
    args = {"n_components": wanted, "svd_solver": solver, "center": center, "scale": scale}
    whole, fitted = PCA(**args).fit(X), PCA(**args).fit(cut(X, 17))
    same(fitted, whole)
    assert fitted.n_components_ == whole.n_components_
    assert fitted.n_samples_ == 211
    assert np.abs(fitted.transform(X) - whole.transform(X)).max() < 1e-9
    assert (fitted.certificate_.lower <= whole.singular_values_**2).all()
    assert (whole.singular_values_**2 <= fitted.certificate_.upper).all()
    if scale:
        assert np.allclose(fitted.scale_, X.std(axis=0, ddof=1), rtol=1e-12)


def test_a_file_of_parquet_is_fitted_as_it_is_read(X, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({n: X[:, j] for j, n in enumerate(NAMES)}), tmp_path / "x", row_group_size=50)
    fitted = PCA(2).fit(parquet.ParquetFile(tmp_path / "x").iter_batches(batch_size=33))
    same(fitted, PCA(2).fit(X))
    assert list(fitted.feature_names_in_) == NAMES


def test_batches_are_not_kept_in_memory(rng):
    import weakref

    alive, most = weakref.WeakSet(), 0

    class Rows(np.ndarray):
        pass

    def many():
        nonlocal most
        for _ in range(20):
            rows = rng.normal(size=(50, 3)).view(Rows)
            alive.add(rows)
            most = max(most, len(alive))
            yield rows

    # numpy's arrays cannot be hashed: a set of them holds their identities.
    Rows.__hash__ = object.__hash__
    Rows.__eq__ = object.__eq__
    PCA(2).fit(many())
    assert 0 < most <= 3


@pytest.mark.parametrize("estimator", TAKERS, ids=repr)
def test_streams_that_cannot_be_fitted_are_refused_with_the_reason(X, estimator):
    import pandas as pd
    import pyarrow as pa

    fitted = clone(estimator).fit(X)
    scores = fitted.transform(X)
    named = [pd.DataFrame(X, columns=NAMES), pd.DataFrame(X, columns=NAMES[::-1])]
    nothing = pa.table({n: pa.array([], pa.float64()) for n in NAMES})
    for stream, error, message in (
        (iter([]), ValueError, "X has no batches, or none with rows"),
        (iter([X[:0], X[:0]]), ValueError, "X has no batches, or none with rows"),
        (Stream(nothing), ValueError, "X has no batches, or none with rows"),
        (iter([X, X[:, :4]]), ValueError, "X has 4 features, but .* is expecting 6"),
        (iter([X[:, :4], X]), ValueError, "X has 6 features, but .* is expecting 4"),
        (iter(named), ValueError, "feature names"),
        (iter(X), ValueError, "Expected 2D array, got 1D array"),
        (iter(X[0]), ValueError, "Expected 2D array, got scalar array"),
        (iter([X, np.where(X > 60, np.nan, X)]), ValueError, "Input X contains NaN"),
        (iter(["text"]), ValueError, "could not convert string to float"),
        (Stream(pa.table({"day": ["monday"]})), ValueError, "'day' has type"),
    ):
        with pytest.raises(error, match=message):
            fitted.fit(stream)
        assert (fitted.transform(X) == scores).all()


@pytest.mark.parametrize("estimator", [TAKERS[0], TAKERS[3]], ids=repr)
def test_fit_transform_of_batches_is_refused(X, estimator):
    with pytest.raises(TypeError, match="call fit, then transform for each batch"):
        clone(estimator).fit_transform(cut(X, 20))


def test_an_error_of_the_iterator_comes_out_as_it_is(X):
    def breaks():
        yield X
        raise OSError("the disk")

    for estimator in TAKERS:
        with pytest.raises(OSError, match="the disk"):
            clone(estimator).fit(breaks())


def test_minka_s_rule_works_for_batches(X):
    for n in (20, 211):
        same(PCA("mle").fit(cut(X[:n], 7)), PCA("mle", svd_solver="full").fit(X[:n]))


def test_too_few_rows_are_refused(X):
    with pytest.raises(ValueError, match="at least 2 are needed"):
        PCA(1).fit(iter([X[:1]]))
    with pytest.raises(ValueError, match=r"between 1 and min\(n_samples, n_features\)=6"):
        PCA(7).fit(iter([X]))
    with pytest.raises(ValueError, match="'mle' is only supported if n_samples >= n_features"):
        PCA("mle").fit(iter([X[:5]]))


# Kernel PCA by landmarks.


@pytest.fixture
def curved(rng):
    """A bent strip in three dimensions."""
    t = rng.uniform(0, 4, size=600)
    return np.column_stack([np.cos(t), np.sin(t), rng.normal(size=600) / 2])


def exact(X, k):
    return KernelPCA(k, kernel="rbf", gamma=0.5).fit(X)


def by_landmarks(landmarks=60, k=3, **args):
    return KernelPCA(k, kernel="rbf", gamma=0.5, landmarks=landmarks, **args)


@pytest.mark.parametrize("selection", ["kmeans", "uniform", "rpcholesky"])
def test_exact_eigenvalues_lie_between_the_bounds(curved, selection):
    truth = exact(curved, 3).eigenvalues_
    for m in (5, 20, 60):
        fitted = by_landmarks(m, landmark_selection=selection).fit(curved)
        certificate = fitted.certificate_
        assert fitted.landmarks_.shape == (m, 3)
        assert fitted.n_samples_seen_ == 600
        assert ((certificate.lower <= truth) & (truth <= certificate.upper)).all()
        # Landmarks explain a part of the variance.
        assert (fitted.eigenvalues_ <= truth * (1 + 1e-9)).all()
        assert not hasattr(fitted, "X_fit_")
        assert not hasattr(fitted, "eigenvectors_")
    assert np.abs(fitted.eigenvalues_ / truth - 1).max() < 1e-3


def test_the_error_of_landmarks_is_reported(curved):
    fitted = by_landmarks(20).fit(curved)
    certificate, gram = fitted.certificate_, mercer.kernels.gaussian(gamma=0.5)
    K, L = gram(curved), gram(curved, fitted.landmarks_)
    centre = np.eye(600) - 1 / 600
    left = K - L @ np.linalg.pinv(gram(fitted.landmarks_), rcond=1e-12) @ L.T
    K = centre @ K @ centre
    assert np.isclose(certificate.trace_error, np.trace(left), rtol=1e-3)
    assert np.isclose(certificate.trace_share, np.trace(left) / np.trace(K), rtol=1e-3)
    assert "20 landmarks" in str(certificate)
    # Residuals of the components, estimated from a sample of rows.
    u = fitted.transform(curved) / np.sqrt(fitted.eigenvalues_)
    residuals = np.linalg.norm(K @ u - u * fitted.eigenvalues_, axis=0)
    estimated, bound = certificate.sampled_residuals.T
    assert (estimated / 2.5 < residuals).all()
    assert (residuals < 2.5 * estimated).all()
    assert (estimated < bound).all()
    assert 0.9 <= certificate.confidence < 1
    none = exact(curved, 3).certificate_
    assert (none.trace_error, none.trace_share, none.sampled_residuals.shape, none.confidence) == (0, 0, (0, 2), 1)


def test_given_landmarks_are_kept(curved):
    fitted = by_landmarks(curved[:40]).fit(curved)
    assert (fitted.landmarks_ == curved[:40]).all()
    assert (by_landmarks(curved[:40].tolist()).fit(curved).eigenvalues_ == fitted.eigenvalues_).all()
    # All points as landmarks leave nothing.
    every = by_landmarks(curved[:150]).fit(curved[:150])
    assert np.allclose(every.eigenvalues_, exact(curved[:150], 3).eigenvalues_, rtol=1e-9)
    assert every.certificate_.trace_share < 1e-9
    scores = exact(curved[:150], 3).transform(curved)
    assert np.abs(np.abs(every.transform(curved)) - np.abs(scores)).max() < 1e-6


def test_auto_is_exact_where_that_can_be_done(curved):
    fitted = by_landmarks("auto").fit(curved)
    assert (fitted.eigenvalues_ == exact(curved, 3).eigenvalues_).all()
    assert not hasattr(fitted, "landmarks_")
    plan = by_landmarks("auto", memory="8G").plan((5_000_000, 50))
    assert plan.route == "landmarks"
    # For batches, whose number is unknown, auto means landmarks.
    assert len(by_landmarks("auto").partial_fit(curved).landmarks_) == 600


def test_a_trace_error_is_reached(curved):
    counts = []
    for share in (0.3, 0.03, 0.003):
        fitted = KernelPCA(3, kernel="rbf", gamma=0.5, trace_error=share).fit(curved)
        assert fitted.certificate_.trace_share <= share
        counts.append(len(fitted.landmarks_))
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] < 300


@pytest.mark.parametrize("size", [1, 13, 500])
@pytest.mark.parametrize("args", [{"landmarks": 40}, {"trace_error": 0.05}, {"landmarks": np.eye(3)}], ids=str)
def test_with_the_same_first_batch_later_cuts_do_not_matter(curved, args, size):
    def fitted(parts):
        model = KernelPCA(3, kernel="rbf", gamma="median", **args).partial_fit(curved[:200])
        for part in parts:
            model.partial_fit(part)
        return model

    whole, parts = fitted([curved[200:]]), fitted(cut(curved[200:][::-1], size))
    assert (whole.landmarks_ == parts.landmarks_).all()
    assert whole.kernel_ == parts.kernel_
    assert parts.n_samples_seen_ == 600
    assert np.allclose(parts.eigenvalues_, whole.eigenvalues_, rtol=1e-10)
    assert np.isclose(parts.certificate_.trace_error, whole.certificate_.trace_error, rtol=1e-8)
    assert np.abs(parts.transform(curved) - whole.transform(curved)).max() < 1e-8


def test_batches_of_an_iterator_choose_landmarks_together(curved):
    # The first alone has fewer rows than there are landmarks.
    fitted = by_landmarks(40).fit(cut(curved, 10))
    assert len(fitted.landmarks_) == 40
    assert fitted.n_samples_seen_ == 600
    truth, certificate = exact(curved, 3).eigenvalues_, fitted.certificate_
    assert ((certificate.lower <= truth) & (truth <= certificate.upper)).all()
    # And it can go on.
    assert fitted.partial_fit(curved[:7]).n_samples_seen_ == 607


def test_a_bad_batch_leaves_landmarks_unchanged(curved):
    fitted = by_landmarks(20).partial_fit(curved[:300])
    before, scores = dict(vars(fitted)), fitted.transform(curved)
    for batch, message in (
        (np.where(curved > 0.9, np.nan, curved), "contains NaN"),
        (curved[:, :2], "X has 2 features"),
        (curved * 1e200, "cannot be squared"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.partial_fit(batch)
        assert vars(fitted) == before
        assert (fitted.transform(curved) == scores).all()
    assert fitted.partial_fit(curved[300:]).n_samples_seen_ == 600


def test_partial_fit_is_there_with_landmarks_only():
    assert not hasattr(KernelPCA(), "partial_fit")
    assert hasattr(KernelPCA(landmarks=5), "partial_fit")
    assert hasattr(KernelPCA(landmarks=[[1.0]]), "partial_fit")
    assert hasattr(KernelPCA(trace_error=0.1), "partial_fit")


def test_partial_fit_after_fit_starts_again_with_a_warning(curved, tmp_path):
    fitted = by_landmarks(20).fit(curved)
    fitted.save(tmp_path / "m")
    for model in (fitted, mercer.load(tmp_path / "m")):
        with pytest.warns(UserWarning, match="partial_fit starts again"):
            model.partial_fit(curved[:100])
        assert model.n_samples_seen_ == 100


@pytest.mark.parametrize("kernel", [lambda a, b: a @ b, "precomputed", "additive_chi2"], ids=str)
def test_landmarks_need_a_kernel_with_a_formula(curved, kernel):
    X = curved @ curved.T if kernel == "precomputed" else np.abs(curved)
    for args in ({"landmarks": 20}, {"trace_error": 0.1}):
        with pytest.raises(ValueError, match="landmarks need a kernel of mercer.kernels"):
            KernelPCA(2, kernel=kernel, **args).fit(X)
        with pytest.raises(ValueError, match="landmarks need a kernel of mercer.kernels"):
            KernelPCA(2, kernel=kernel, **args).partial_fit(X)


def test_unsupported_options_with_landmarks_are_refused(curved):
    for fit in (by_landmarks(20, fit_inverse_transform=True).fit, by_landmarks(20).set_params(landmarks=None).fit):
        with pytest.raises(ValueError, match="fit_inverse_transform=True is not supported|needs landmarks"):
            fit(iter([curved]))
    with pytest.raises(ValueError, match="fit_inverse_transform=True needs exact components"):
        by_landmarks(20, fit_inverse_transform=True).fit(curved)
    with pytest.raises(ValueError, match="fit_inverse_transform=True is not supported"):
        by_landmarks(20, fit_inverse_transform=True).partial_fit(curved)
    with pytest.raises(ValueError, match="landmarks or trace_error, not both"):
        by_landmarks(20, trace_error=0.1).fit(curved)
    with pytest.raises(ValueError, match="dimensions of the points: 2; expected 3"):
        by_landmarks(curved[:, :2]).fit(curved)
    with pytest.raises(ValueError, match="Input landmarks contains NaN"):
        by_landmarks([[1.0, np.nan, 1.0]]).fit(curved)
    with pytest.raises(ValueError, match="The 'landmarks' parameter of KernelPCA must be"):
        by_landmarks(0).fit(curved)
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        by_landmarks(20).partial_fit(curved[:1])
    with pytest.raises(ValueError, match="has no landmarks"):
        by_landmarks(20).fit(curved).to_sklearn()


def test_a_refit_forgets_the_landmarks(curved):
    fitted = by_landmarks(20).partial_fit(curved).set_params(landmarks=None).fit(curved)
    assert not hasattr(fitted, "landmarks_")
    assert (fitted.transform(curved) == exact(curved, 3).transform(curved)).all()
    fitted.set_params(landmarks=20).fit(curved)
    assert not hasattr(fitted, "X_fit_")


@pytest.mark.parametrize("landmarks", [20, "given"])
def test_files_and_pickles_of_landmarks(curved, tmp_path, landmarks):
    fitted = by_landmarks(curved[:20] if landmarks == "given" else 20).partial_fit(curved)
    scores = fitted.transform(curved)
    fitted.save(tmp_path / "m")
    read = mercer.load(tmp_path / "m")
    for other in (read, pickle.loads(pickle.dumps(fitted))):
        assert (other.transform(curved) == scores).all()
        assert (other.landmarks_ == fitted.landmarks_).all()
        assert (other.eigenvalues_ == fitted.eigenvalues_).all()
        assert other.certificate_.trace_error == fitted.certificate_.trace_error
        assert (other.certificate_.sampled_residuals == fitted.certificate_.sampled_residuals).all()
        assert other.n_samples_seen_ == 600
        assert other.kernel_ == fitted.kernel_
    assert pickle.loads(pickle.dumps(fitted)).partial_fit(curved[:5]).n_samples_seen_ == 605
    assert read.get_params()["gamma"] == 0.5


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "0.5*gaussian(gamma=median) + linear"])
def test_onnx_graphs_of_landmarks_give_the_scores(curved, kernel):
    ort = pytest.importorskip("onnxruntime")
    fitted = KernelPCA(2, kernel=kernel, landmarks=15).fit(curved + 3)
    graph = ort.InferenceSession(fitted.to_onnx(), providers=["CPUExecutionProvider"])
    scores = fitted.transform(curved + 3)
    assert np.abs(graph.run(None, {"X": curved + 3})[0] - scores).max() < 1e-9 * np.abs(scores).max()


@pytest.mark.filterwarnings("error")
def test_scores_of_tables_keep_their_index(curved):
    import pandas as pd

    frame = pd.DataFrame(curved, columns=list("abc"), index=range(1000, 1600))
    fitted = by_landmarks(20).set_output(transform="pandas")
    scores = fitted.fit_transform(frame)
    assert (scores.index == frame.index).all()
    assert (scores.to_numpy() == fitted.transform(frame).to_numpy()).all()


def test_clones_of_landmarks(curved):
    points = curved[:10]
    fitted = by_landmarks(points, random_state=3, landmark_selection="uniform").fit(curved)
    other = clone(fitted)
    assert (other.get_params()["landmarks"] == points).all()
    assert (other.fit(curved).transform(curved) == fitted.transform(curved)).all()


def test_landmarks_are_the_same_on_any_number_of_threads(curved):
    first, second = (by_landmarks(20, n_jobs=n).fit(curved) for n in (1, 2))
    assert (first.landmarks_ == second.landmarks_).all()
    assert (first.transform(curved) == second.transform(curved)).all()


def test_landmarks_of_float32_are_float32(curved):
    narrow = curved.astype(np.float32)
    for fitted in (by_landmarks(20).fit(narrow), by_landmarks(20).fit(cut(narrow, 90))):
        assert fitted.landmarks_.dtype == fitted.eigenvalues_.dtype == fitted.transform(narrow).dtype == np.float32


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ({"gamma": 0.1}, {"gamma": 0.2}, "gamma"),
        ({"gamma": "median"}, {"gamma": "scale"}, "gamma"),
        ({"gamma": 0.1}, {"kernel": "laplacian"}, "kernel"),
        ({"kernel": "gaussian(gamma=1)"}, {"kernel": "gaussian(gamma=2)"}, "kernel"),
        ({"kernel": "poly"}, {"degree": 2, "coef0": 2}, "coef0, degree"),
        ({}, {"landmarks": 21}, "landmarks"),
        ({}, {"landmarks": "auto"}, "landmarks"),
        ({}, {"landmark_selection": "uniform"}, "landmark_selection"),
        ({}, {"landmarks": 30, "landmark_selection": "rpcholesky"}, "landmarks, landmark_selection"),
        ({}, {"landmarks": None, "trace_error": 0.1}, "trace_error"),
        ({"landmarks": "auto"}, {"tol": 1e-3}, "tol"),
    ],
)
def test_a_change_of_parameters_between_batches_is_named(curved, before, after, named):
    fitted = KernelPCA(2, **{"kernel": "rbf", "landmarks": 20, **before}).partial_fit(curved)
    with pytest.raises(ValueError, match=f"^{named} changed since the first batch: call fit to start again"):
        fitted.set_params(**after).partial_fit(curved)
    assert fitted.set_params(**{"gamma": None, "degree": 3, "coef0": 1}).fit(curved) is fitted


def test_parameters_that_do_not_affect_the_sums_may_change(curved):
    fitted = by_landmarks(20).partial_fit(curved).set_params(n_components=2, degree=7, tol=1e-3)
    assert fitted.partial_fit(curved).eigenvalues_.shape == (2,)


def test_a_change_of_any_landmark_is_detected():
    X = np.random.default_rng(0).normal(size=(1500, 2))
    model = mercer.KernelPCA(2, kernel="rbf", gamma=0.1, landmarks=X[:1200].copy()).partial_fit(X)
    model.landmarks[600] += 1  # in the middle, which numpy does not write
    with pytest.raises(ValueError, match="landmarks changed"):
        model.partial_fit(X)


def test_a_tolerance_asks_for_exact_components():
    X = np.random.default_rng(0).normal(size=(3000, 4))
    settings = {"n_components": 2, "kernel": "rbf", "gamma": 0.1, "landmarks": "auto", "memory": "20M"}
    assert mercer.KernelPCA(**settings, tol=1e-8).fit(X).certificate_.trace_error == 0
