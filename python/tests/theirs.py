"""A pytest plugin that puts our classes in the place of scikit-learn's.

Used as ``pytest -p theirs --pyargs sklearn.decomposition.tests.test_pca ...``; see test_theirs.py.
"""

from pathlib import Path

import mercer
import sklearn.decomposition
import sklearn.kernel_approximation


def pytest_configure(config):
    for name in ("PCA", "IncrementalPCA", "KernelPCA"):
        setattr(sklearn.decomposition, name, getattr(mercer, name))
    sklearn.kernel_approximation.Nystroem = mercer.Nystroem


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"in the place of scikit-learn's: {Path(mercer.__file__).parent}")
