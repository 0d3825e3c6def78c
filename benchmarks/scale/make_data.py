"""Makes a Parquet file that is larger than the memory one wants to spend on it.

    python make_data.py big.parquet                  # 10,000,000 rows, 50 columns, 4 GB
    python make_data.py small.parquet --rows 500000

Ten Gaussian clusters, a part of low rank (twelve factors whose scales fall as j^-1/2) and noise, in float64 columns x1,
x2, ... with Snappy and row groups of 1,000,000 rows. Rows are drawn in chunks, each with its own seed, so that the
first n rows do not depend on n. What is in memory is one row group, 0.4 GB for 50 columns, and one chunk: `--group`
makes the groups smaller.
"""

import argparse
import os
import time

import numpy as np

CLUSTERS, FACTORS, NOISE = 10, 12, 0.3
CHUNK = 50_000  # rows that are drawn at once
GROUP = 1_000_000


def model(d):
    """Centres, loadings and a mean that is not zero: the same for every file of d columns."""
    rng = np.random.default_rng([20261, d])
    centres = rng.standard_normal((CLUSTERS, d))
    loadings = rng.standard_normal((FACTORS, d)) / np.sqrt(1.0 + np.arange(FACTORS))[:, None]
    return centres, loadings, 5.0 * rng.standard_normal(d)


def chunk(number, d, parts):
    """Chunk `number` of the points."""
    centres, loadings, mean = parts
    rng = np.random.default_rng([20261, d, number])
    labels = rng.integers(0, CLUSTERS, size=CHUNK)
    x = rng.standard_normal((CHUNK, FACTORS)) @ loadings
    x += NOISE * rng.standard_normal((CHUNK, d))
    x += centres[labels]
    x += mean
    return x


def fill(columns, start, parts):
    """The points from row `start` on, a column after the other."""
    d, rows = columns.shape
    for number in range(start // CHUNK, -(-(start + rows) // CHUNK)):
        first = number * CHUNK
        x = chunk(number, d, parts)
        lower, upper = max(start, first), min(start + rows, first + CHUNK)
        columns[:, lower - start : upper - start] = x[lower - first : upper - first].T


def write(path, rows, d=50, group=GROUP):
    """Writes the file, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts, names = model(d), [f"x{j + 1}" for j in range(d)]
    schema = pa.schema([(name, pa.float64()) for name in names])
    partial = f"{path}.partial"
    # One row group at a time: what is written together stands in one group.
    with pq.ParquetWriter(partial, schema, compression="snappy") as writer:
        for start in range(0, rows, group):
            columns = np.empty((d, min(group, rows - start)))
            fill(columns, start, parts)
            arrays = [pa.array(column) for column in columns]
            writer.write_table(pa.table(arrays, schema=schema), row_group_size=group)
    os.replace(partial, path)


def main():
    """Makes the file of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--group", type=int, default=GROUP, help="rows of a row group")
    told = parser.parse_args()
    start = time.perf_counter()
    write(told.file, told.rows, told.columns, told.group)
    size = os.path.getsize(told.file)
    print(f"{told.rows:,} rows, {told.columns} columns, {size / 1e9:.2f} GB in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
