import faulthandler

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_circles


@pytest.fixture(scope="session")
def iris():
    return load_iris().data


@pytest.fixture(scope="session")
def rings():
    return make_circles(400, factor=0.3, noise=0.03, random_state=0)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def angle(a, b):
    """The largest principal angle between the spaces of the columns."""
    qa, qb = np.linalg.qr(a)[0], np.linalg.qr(b)[0]
    return float(np.linalg.norm(qb - qa @ (qa.T @ qb), 2))


@pytest.fixture(autouse=True)
def no_test_waits_forever():
    """A test that hangs ends the run, and shows where."""
    faulthandler.dump_traceback_later(600, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
