"""The template of the cluster backends, by the smallest backend that there can be: a list of blocks in this process."""

import mercer
import numpy as np
import pytest
from conftest import angle
from mercer import _cluster


class Table(_cluster.Table):
    def __init__(self, blocks):
        self.blocks, self.d = blocks, blocks[0].shape[1]

    def reduce(self, task, *shared):
        return _cluster.merge([task([block], number, *shared) for number, block in enumerate(self.blocks)])

    def keep(self, task, *shared):
        return KeptBlocks(self.blocks), [task(block, *shared) for block in self.blocks]


class KeptBlocks(_cluster.KeptBlocks):
    def __init__(self, blocks):
        self.blocks, self.released = blocks, False

    def pairs(self, pieces, basis, single_precision):
        assert not self.released
        count = range(len(self.blocks))
        block = [(i, self.blocks[i], pieces[i]) for i in count]
        states = {
            (i, j): _cluster.pair(basis, block[i], None if i == j else block[j], single_precision)
            for i in count
            for j in range(i + 1)
        }
        images = [sum(state.block(i) for at, state in states.items() if i in at) for i in count]
        return images, sum(state.squares for state in states.values())

    def release(self):
        self.released = True


class Lists:
    def _open(self, X):
        return Table(X)

    def transform(self, X):
        worker = self._worker()
        return [_cluster.scores(block, worker) for block in X]


class PCA(Lists, _cluster.PCA, auto_wrap_output_keys=None):
    pass


class KernelPCA(Lists, _cluster.KernelPCA, auto_wrap_output_keys=None):
    def transform(self, X):
        if not self._is_remote:
            return super().transform(X)
        alpha, offset = self._alpha_of_blocks()
        held = list(zip(self._kept_blocks.blocks, alpha, strict=True))
        return [sum(_cluster.scores_part(self._basis, b, f, a) for f, a in held) - offset for b in X]


@pytest.fixture
def X(rng):
    return rng.normal(size=(400, 4)) * [4, 3, 2, 1] + 5


@pytest.fixture
def blocks(X):
    return np.split(X, [100, 101, 250])


def test_pca(X, blocks):
    fitted, whole = PCA(3, whiten=True).fit(blocks), mercer.PCA(3, whiten=True).fit(X)
    assert angle(fitted.components_.T, whole.components_.T) < 1e-10
    assert np.abs(np.vstack(fitted.transform(blocks)) - whole.transform(X)).max() < 1e-9


def test_landmarks(X, blocks):
    args = {"n_components": 3, "kernel": "rbf", "gamma": 0.02, "landmarks": X[::10]}
    fitted, whole = KernelPCA(**args).fit(blocks), mercer.KernelPCA(**args).fit(X)
    assert np.allclose(fitted.eigenvalues_, whole.eigenvalues_, rtol=1e-10)
    assert np.abs(np.vstack(fitted.transform(blocks)) - whole.transform(X)).max() < 1e-8


@pytest.mark.parametrize("landmarks", [None, "auto"])
def test_exact(X, blocks, landmarks):
    fitted = KernelPCA(3, kernel="rbf", gamma=0.02, landmarks=landmarks).fit(blocks)
    whole = mercer.KernelPCA(3, kernel="rbf", gamma=0.02).fit(X)
    assert np.abs(fitted.eigenvalues_ / whole.eigenvalues_ - 1).max() < 1e-9
    assert np.abs(np.vstack(fitted.transform(blocks)) - whole.transform(X)).max() < 1e-5


def test_kept_blocks_are_released_when_another_model_replaces_theirs(X, blocks):
    fitted = KernelPCA(2, kernel="rbf").fit(blocks)
    first = fitted._kept_blocks
    with pytest.raises(ValueError, match="NaN|not finite"):
        fitted.fit([np.where(X > 10, np.nan, X)])
    assert fitted._kept_blocks is first
    assert not first.released
    second = fitted.fit(blocks)._kept_blocks
    assert first.released
    assert not second.released
    fitted.set_params(landmarks=10).fit(blocks)
    assert second.released
    assert not hasattr(fitted, "_kept_blocks")


def test_blocks_of_a_search_that_fails_are_released(blocks, monkeypatch):
    kept = []

    def fails(self, pieces, basis, single_precision):
        kept.append(self)
        raise RuntimeError("lost")

    monkeypatch.setattr(KeptBlocks, "pairs", fails)
    with pytest.raises(RuntimeError, match="lost"):
        KernelPCA(2, kernel="rbf").fit(blocks)
    assert kept[0].released
