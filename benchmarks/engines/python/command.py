"""The tiny job as a Python script does it: a table of numbers and one text column in, the scores of two components out.

python command.py sklearn|numpy TABLE.csv
"""

import csv
import sys

import numpy as np


def scores_by_sklearn(x):
    """Scores of two components, as scikit-learn gives them; it is imported only when asked for."""
    from sklearn.decomposition import PCA

    return PCA(n_components=2).fit_transform(x)


def scores_by_numpy(x):
    """Scores of two components, by the singular vectors of the centred points."""
    x = x - x.mean(axis=0)
    return x @ np.linalg.svd(x, full_matrices=False)[2][:2].T


def main():
    """Reads the table, whose last column is text, and prints the scores."""
    library, table = sys.argv[1:]
    with open(table, newline="") as f:
        names, *rows = csv.reader(f)
    x = np.array([row[:-1] for row in rows], dtype=float)
    scores = scores_by_sklearn(x) if library == "sklearn" else scores_by_numpy(x)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow([names[-1], "PC1", "PC2"])
    out.writerows([row[-1], *z] for row, z in zip(rows, scores.tolist(), strict=False))


if __name__ == "__main__":
    main()
