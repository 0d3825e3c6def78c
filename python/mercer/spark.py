"""PCA and kernel PCA of Spark data frames.

The estimators have the same parameters as those of :mod:`mercer`. They take the columns of a data frame, which must be
numeric. ``fit`` maps over the partitions where they are (`mapInArrow`); states of a fixed size are merged in a tree.
``transform`` is lazy and adds columns. Only the data frame interface is used, so that Spark Connect works.

>>> from mercer.spark import PCA
>>> scores = PCA(n_components=2).fit(frame.select("a", "b", "c")).transform(frame)  # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
import pickle

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from . import _cluster

__all__ = ["PCA", "KernelPCA"]

STATE = "part long, state binary"
#: Rows of a block of an exact model: a pair of blocks is one task.
BLOCK_ROWS = 10_000


class _Table(_cluster.Table):
    """The columns of a Spark data frame, whose partitions are the parts."""

    def __init__(self, frame, names):
        self.rows, self.d = _selected(frame, names), len(names)

    def reduce(self, task, *shared):
        from pyspark.sql import functions as F

        def run(batches):
            number = _partition()
            blocks = (_array_of(batch) for batch in batches if batch.num_rows)
            yield _row(part=number, state=pickle.dumps(task(blocks, number, *shared)))

        def merge(table):
            table = table.sort_by("part")
            merged = _cluster.merge([pickle.loads(s) for s in table.column("state").to_pylist()])
            return pa.table({"part": [table.column("part")[0].as_py()], "state": [pickle.dumps(merged)]})

        states = self.rows.mapInArrow(run, STATE)
        for width in (_cluster.FAN, _cluster.FAN**2):
            states = states.groupBy(F.floor(F.col("part") / width).alias("group")).applyInArrow(merge, STATE)
        found = sorted((row.part, bytes(row.state)) for row in states.collect())
        if not found:
            raise ValueError("X has no rows")
        return _cluster.merge([pickle.loads(state) for _, state in found])

    def keep(self, task, *shared):
        d = self.d

        def cut(batches):
            number = _partition()
            rows = (_array_of(batch) + 0.0 for batch in batches if batch.num_rows)
            for at, block in enumerate(_blocks(rows, BLOCK_ROWS)):
                yield _row(id=number * 2**20 + at, rows=block.tobytes())

        def run(batches):
            for batch in batches:
                for row in batch.to_pylist():
                    found = pickle.dumps(task(_array(row["rows"], d), *shared))
                    yield _row(id=row["id"], digest=_digest(row["rows"]), found=found)

        # Sorted, so that a partition that is lost and computed again is cut into the same blocks: rows that were sent
        # from one executor to another arrive in any order.
        rows = self.rows.sortWithinPartitions(*self.rows.columns)
        blocks = rows.mapInArrow(cut, "id long, rows binary").cache()
        seen = blocks.mapInArrow(run, "id long, digest binary, found binary").collect()
        seen = sorted(seen, key=lambda row: row.id)
        order = {row.id: (number, bytes(row.digest)) for number, row in enumerate(seen)}
        return _KeptBlocks(blocks, order, d), [pickle.loads(row.found) for row in seen]


class _KeptBlocks(_cluster.KeptBlocks):
    """Blocks in a cached frame; ``order`` has the number and the digest of each by its id."""

    def __init__(self, frame, order, d):
        self.frame, self.order, self.d = frame, order, d

    def renamed(self, name):
        """Returns the frame of blocks with columns ``name`` and ``name_id``."""
        from pyspark.sql import functions as F

        return self.frame.select(F.col("id").alias(f"{name}_id"), F.col("rows").alias(name))

    def pairs(self, pieces, basis, single_precision):
        order, d, width = self.order, self.d, pieces[0].shape[1]

        def run(batches):
            for batch in batches:
                for row in batch.to_pylist():
                    (i, a), (j, b) = (_known_block(order, row[f"{s}_id"], row[s], d) for s in ("a", "b"))
                    other = None if i == j else (j, b, pieces[j])
                    state = _cluster.pair(basis, (i, a, pieces[i]), other, single_precision)
                    for number in {i, j}:
                        squares = state.squares if number == i else 0.0
                        yield _row(block=number, other=i + j - number, y=state.block(number).tobytes(), squares=squares)

        def total(table):
            table = table.sort_by("other")
            sums = sum(np.frombuffer(y) for y in table.column("y").to_pylist())
            squares = sum(table.column("squares").to_pylist())
            block = table.column("block")[0].as_py()
            return pa.table({"block": [block], "y": [sums.tobytes()], "squares": [squares]})

        many = len(order) * (len(order) + 1) // 2
        pairs = self.renamed("a").crossJoin(self.renamed("b")).where("a_id >= b_id")
        pairs = pairs.repartition(min(many, 1000), "a_id", "b_id")
        images = pairs.mapInArrow(run, "block long, other long, y binary, squares double")
        images = images.groupBy("block").applyInArrow(total, "block long, y binary, squares double").collect()
        images = sorted(images, key=lambda row: row.block)
        return [_array(row.y, width) for row in images], sum(row.squares for row in images)

    def release(self):
        self.frame.unpersist()


class _Frames:
    """What the estimators share."""

    def _open(self, X):
        names = _check_numeric(X)
        self.feature_names_in_ = np.asarray(names, dtype=object)
        return _Table(X, names)

    def transform(self, X):
        """Return the frame X with columns of scores after its own, lazy."""
        names = self._fitted_columns(X)
        schema, worker = _with_scores(self, X), self._worker()
        places = [X.columns.index(name) for name in names]

        def run(batches):
            for batch in batches:
                yield _joined(batch, _cluster.scores(_array_of(batch, places), worker), schema)

        return _selected(X, X.columns).mapInArrow(run, schema)

    def _fitted_columns(self, X):
        """Returns the names of the fitted columns, which must be in the frame."""
        check_is_fitted(self)
        _refuse(X)
        names = [str(n) for n in self.feature_names_in_]
        missing = [n for n in names if n not in X.columns]
        if missing:
            raise ValueError(f"the frame has no column {', '.join(map(repr, missing[:5]))}, which was fitted")
        _check_numeric(X, names)
        return names


class PCA(_Frames, _cluster.PCA, auto_wrap_output_keys=None):
    """:class:`mercer.PCA` of a Spark data frame, in one pass over its partitions."""


class KernelPCA(_Frames, _cluster.KernelPCA, auto_wrap_output_keys=None):
    """:class:`mercer.KernelPCA` of a Spark data frame.

    With ``landmarks`` it takes two passes over the partitions. Without, it is exact and certified, by passes over pairs
    of blocks of rows, which are cached.
    """

    def transform(self, X):
        """Return the frame X with columns of scores after its own, lazy; an exact model sums over its cached blocks."""
        names = self._fitted_columns(X)
        return self._transform_exact(X, names) if self._is_remote else super().transform(X)

    def _transform_exact(self, frame, names):
        """Takes every batch of rows against every fitted block. The frame is read once, and its rows are sent along."""
        kept, basis, schema = self._kept_blocks, self._basis, _with_scores(self, frame)
        alpha, offset = self._alpha_of_blocks()
        order, d, k = kept.order, kept.d, len(offset)
        places = [frame.columns.index(name) for name in names]

        def cut(batches):
            part = _partition()
            for at, batch in enumerate(b for b in batches if b.num_rows):
                rows = _array_of(batch, places)
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, batch.schema) as stream:
                    stream.write_batch(batch)
                batch_bytes = sink.getvalue().to_pybytes()
                yield _row(key=f"{part} {at} {_digest(batch_bytes).hex()}", rows=rows.tobytes(), batch=batch_bytes)

        def run(batches):
            for batch in batches:
                for row in batch.to_pylist():
                    i, fitted = _known_block(order, row["a_id"], row["a"], d)
                    part = _cluster.scores_part(basis, _array(row["rows"], d), fitted, alpha[i])
                    # The rows themselves are sent with one of the parts.
                    yield _row(key=row["key"], other=i, part=part.tobytes(), batch=row["batch"] if i == 0 else b"")

        def total(table):
            table = table.sort_by("other")
            if table.column("other").to_pylist() != list(range(len(order))):
                raise RuntimeError(
                    "the rows of the frame arrived in another order when they were computed again: cache the frame"
                )
            scores = sum(_array(part, k) for part in table.column("part").to_pylist()) - offset
            return pa.table({"batch": [table.column("batch")[0].as_py()], "scores": [scores.tobytes()]})

        # `mapInArrow` returns the rows because `applyInArrow` does not take back its own time zones.
        def unpack(batches):
            for batch in batches:
                for row in batch.to_pylist():
                    for rows in pa.ipc.open_stream(row["batch"]):
                        yield _joined(rows, _array(row["scores"], k), schema)

        new = _selected(frame, frame.columns).mapInArrow(cut, "key string, rows binary, batch binary")
        parts = new.repartition("key").crossJoin(kept.renamed("a"))
        parts = parts.mapInArrow(run, "key string, other long, part binary, batch binary")
        sums = parts.groupBy("key").applyInArrow(total, "batch binary, scores binary")
        return sums.mapInArrow(unpack, schema)


def _check_numeric(frame, names=None):
    """Returns the columns of a frame. Refuses one that is not a number, of all or of those named."""
    _refuse(frame)
    if len(set(frame.columns)) < len(frame.columns):
        raise ValueError("two columns of the frame have the same name: rename one")
    if not frame.columns:
        raise ValueError("the frame has no columns")
    numeric = ("byte", "short", "int", "bigint", "float", "double", "tinyint", "smallint", "boolean")
    for name, kind in frame.dtypes:
        if (names is None or name in names) and kind not in numeric and not kind.startswith("decimal"):
            raise TypeError(
                f"column '{name}' has type {kind}, which is not a number: drop it with frame.drop({name!r})"
            )
    return frame.columns


def _refuse(frame):
    if not hasattr(frame, "mapInArrow"):
        name = type(frame).__name__
        raise TypeError(f"X is {name}, not a Spark data frame: use mercer.PCA or mercer.KernelPCA for data in memory")


def _selected(frame, names):
    """Returns these columns under names by position: `mapInArrow` does not accept names with dots."""
    from pyspark.sql import functions as F

    quoted = ("`" + name.replace("`", "``") + "`" for name in names)
    return frame.select(*(F.col(name).alias(f"c{j}") for j, name in enumerate(quoted)))


def _with_scores(estimator, frame):
    """Returns the schema of a frame with columns of scores after its own."""
    from pyspark.sql.types import DoubleType, StructField, StructType

    out = [str(name) for name in estimator.get_feature_names_out()]
    taken = [name for name in out if name in frame.columns]
    if taken:
        raise ValueError(f"the frame has a column '{taken[0]}' already: rename it or drop it")
    own = [StructField(field.name, field.dataType) for field in frame.schema.fields]
    return StructType(own + [StructField(name, DoubleType()) for name in out])


def _joined(batch, scores, schema):
    """Returns a batch with columns of scores after its own."""
    columns = [*batch.columns, *(pa.array(column) for column in scores.T)]
    return pa.RecordBatch.from_arrays(columns, schema.names)


def _array_of(batch, places=None):
    """Returns the columns of a batch, or those in these places, as an array."""
    columns = batch.columns if places is None else [batch.column(j) for j in places]
    return np.column_stack([c.cast(pa.float64()).to_numpy(zero_copy_only=False) for c in columns])


def _row(**columns):
    return pa.RecordBatch.from_pylist([columns])


def _partition():
    from pyspark import TaskContext

    return TaskContext.get().partitionId()


def _digest(data):
    """Returns a hash of bytes."""
    return hashlib.blake2b(data, digest_size=16).digest()


def _known_block(order, name, rows, d):
    """Returns the number and the rows of a block. Refuses rows that differ from those that were seen first."""
    number, digest = order[name]
    if _digest(rows) != digest:
        raise RuntimeError(
            "a partition was computed again and has other rows than before: cache the frame, or read a source that "
            "does not change"
        )
    return number, _array(rows, d)


def _array(data, d):
    """Returns rows of d values from their bytes."""
    return np.frombuffer(data, dtype=np.float64).reshape(-1, d)


def _blocks(parts, size):
    """Yields rows in blocks of one size, whatever the sizes of the parts."""
    kept, count = [], 0
    for part in parts:
        kept.append(part)
        count += len(part)
        while count >= size:
            rows = np.concatenate(kept)
            yield np.ascontiguousarray(rows[:size])
            kept, count = [rows[size:]], count - size
    if count:
        yield np.ascontiguousarray(np.concatenate(kept))
