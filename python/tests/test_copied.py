"""What the page gives as "Copy as Python" gives the scores that the page shows."""

import csv
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
COPIED = ROOT / "crates/mercer-serve/tests/copied"


@pytest.mark.parametrize("name", ["kernel", "pca", "default"])
def test_copied(name, tmp_path, monkeypatch, capsys):
    shutil.copy(ROOT / "crates/mercer-io/data/wine.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    scores = runpy.run_path(str(COPIED / f"{name}.py"))["scores"]
    rows = list(csv.reader((COPIED / f"{name}.csv").open()))[1:]
    shown = np.array([[float(cell) for cell in row[-scores.shape[1] :]] for row in rows])
    assert scores.shape == shown.shape
    np.testing.assert_allclose(scores, shown, atol=1e-8 * abs(shown).max())
    assert "eigenvalues accurate to" in capsys.readouterr().out
