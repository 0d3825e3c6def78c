"""Certificates in which all rounding is enclosed, against the ball arithmetic of another library (FLINT)."""

import pickle

import numpy as np
import pytest
import sklearn.decomposition
from flint import acb_mat, arb, arb_mat, ctx
from mercer import PCA, KernelPCA, Nystroem, from_sklearn, load
from sklearn.datasets import load_wine

KERNELS = {
    "linear": lambda x, y: dot(x, y),
    "polynomial(gamma=0.25, coef0=1, degree=3)": lambda x, y: (dot(x, y) / 4 + 1) ** 3,
    "gaussian(gamma=0.25)": lambda x, y: (-squares(x, y) / 4).exp(),
    "laplacian(gamma=0.5)": lambda x, y: (-sum((abs(a - b) for a, b in zip(x, y, strict=True)), arb(0)) / 2).exp(),
    "matern(nu=3/2, length=2)": lambda x, y: matern(squares(x, y)),
    "sigmoid(gamma=0.015625, coef0=0)": lambda x, y: (dot(x, y) / 64).tanh(),
    "cosine": lambda x, y: dot(x, y) / (dot(x, x) * dot(y, y)).sqrt(),
}


def dot(x, y):
    return sum((a * b for a, b in zip(x, y, strict=True)), arb(0))


def squares(x, y):
    return sum(((a - b) ** 2 for a, b in zip(x, y, strict=True)), arb(0))


def matern(square):
    a = (3 * square).sqrt() / 2 if square != 0 else arb(0)
    return (1 + a) * (-a).exp()


@pytest.fixture(autouse=True)
def precision():
    before, ctx.prec = ctx.prec, 300
    yield
    ctx.prec = before


def exact(rows):
    return [[arb(float(v)) for v in row] for row in rows]


def centred(K):
    n = len(K)
    means = [sum(row, arb(0)) / n for row in K]
    mean = sum(means, arb(0)) / n
    return [[K[i][j] - means[i] - means[j] + mean for j in range(n)] for i in range(n)]


def scatter(rows):
    rows = exact(rows)
    n, d = len(rows), len(rows[0])
    means = [sum((row[j] for row in rows), arb(0)) / n for j in range(d)]
    moved = [[row[j] - means[j] for j in range(d)] for row in rows]
    return [[sum((row[i] * row[j] for row in moved), arb(0)) for j in range(d)] for i in range(d)]


def eigenpairs(A):
    """Returns enclosures of the eigenvalues, descending, and of their vectors, None where eigenvalues are equal."""
    A = acb_mat(arb_mat(A))
    try:
        values, vectors = A.eig(right=True)
    except ValueError:
        return sorted((value.real for value in A.eig(multiple=True)), key=float, reverse=True), None
    order = sorted(range(len(values)), key=lambda i: -float(values[i].real))
    return [values[i].real for i in order], [[vectors[j, i].real for j in range(len(values))] for i in order]


def check(certificate, A, vectors):
    """Checks every bound of a certificate against the exact matrix."""
    assert certificate.rigorous
    assert {statement.kind for statement in certificate.statements} == {"theorem"}
    values, exact_vectors = eigenpairs(A)
    k = len(vectors)
    for j in range(k):
        # The enclosure of FLINT is far narrower than ours and lies within it.
        assert arb(certificate.lower[j]) <= values[j] <= arb(certificate.upper[j])
        assert values[j].rad() < 1e-40
    assert all(value <= arb(certificate.missed) for value in values[k:])
    for first, last, angle in certificate.spaces:
        if first == last and angle < 1.5 and exact_vectors:
            v, w = [arb(float(a)) for a in vectors[first]], exact_vectors[first]
            outside = 1 - dot(v, w) ** 2 / (dot(v, v) * dot(w, w))
            assert outside <= arb(angle) ** 2


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_pca_encloses_what_flint_finds(iris, kernel):
    X = iris[::5]
    model = KernelPCA(4, kernel=kernel).fit(X)
    usual = model.certificate_
    certificate = model.certify(X)
    assert model.certificate_ is certificate
    assert not usual.rigorous
    rows = exact(X)
    A = centred([[KERNELS[kernel](x, y) for y in rows] for x in rows])
    check(certificate, A, model.eigenvectors_.T)
    widths = certificate.upper - certificate.lower
    assert np.all(widths <= usual.upper - usual.lower)
    # Within a few roundings of the eigenvalues themselves.
    assert np.all(widths <= 64 * np.finfo(float).eps * model.eigenvalues_[0])


def test_pca_encloses_what_flint_finds():
    X = load_wine().data[:60]
    for data, k in [(X, 5), (X[:8], 3), (1e6 + X, 2)]:
        model = PCA(k).fit(data)
        certificate = model.certify(data)
        if data.shape[0] > data.shape[1]:
            check(certificate, scatter(data), model.components_)
        assert certificate.reason == "cholesky"


def test_models_computed_elsewhere_get_error_bounds(iris):
    theirs = sklearn.decomposition.KernelPCA(2, kernel="rbf", gamma=0.25).fit(iris)
    ours = from_sklearn(theirs)
    assert ours.certificate_.reason == "unknown"
    certificate = ours.certify(iris)
    assert certificate.rigorous
    assert np.all(certificate.upper - certificate.lower < 1e-12 * theirs.eigenvalues_[0])
    assert "all rounding enclosed" in str(certificate)
    K = np.exp(-0.25 * ((iris[:, None] - iris) ** 2).sum(axis=2))
    assert KernelPCA(2, kernel="precomputed").fit(K).certify(K).rigorous


def test_components_of_eigenvalue_zero_are_enclosed_too():
    # A given matrix may have negative eigenvalues: nothing is known of the lowest.
    B = np.random.default_rng(0).normal(size=(8, 2))
    K = B @ B.T
    model = KernelPCA(8, kernel="precomputed").fit(K)
    A = centred([[(arb(float(K[i, j])) + arb(float(K[j, i]))) / 2 for j in range(8)] for i in range(8)])
    values, _ = eigenpairs(A)
    for certificate in (model.certificate_, model.certify(K)):
        ends = zip(certificate.lower, values, certificate.upper, strict=True)
        assert all(arb(low) <= value <= arb(high) for low, value, high in ends)


def test_certificates_are_kept_and_what_cannot_be_done_is_refused(iris, tmp_path):
    model = PCA(2).fit(iris)
    model.certify(iris)
    assert pickle.loads(pickle.dumps(model)).certificate_.rigorous
    model.save(tmp_path / "m.mercer.safetensors")
    assert load(tmp_path / "m.mercer.safetensors").certificate_.rigorous
    with pytest.raises(ValueError, match="landmarks"):
        KernelPCA(2, kernel="rbf", landmarks=20).fit(iris).certify(iris)
    with pytest.raises(ValueError, match="not that of the fit"):
        KernelPCA(2, kernel="rbf").fit(iris).certify(iris[::-1])
    with pytest.raises(ValueError, match="not that of the fit"):
        PCA(2).fit(iris).certify(iris[:100])
    assert not hasattr(Nystroem(), "certify")
