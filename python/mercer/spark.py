"""PCA and kernel PCA of Spark data frames.

The estimators are those of :mod:`mercer`, with the same parameters, of the columns of a data frame, which have to be
numbers. ``fit`` maps over its partitions where they lie (`mapInArrow`); states of a fixed size are put together in a
tree. ``transform`` is lazy, and adds columns. Calls of the data frame interface only are used, so that Spark Connect
works.

>>> from mercer.spark import PCA
>>> scores = PCA(n_components=2).fit(frame.select("a", "b", "c")).transform(frame)  # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
import itertools

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from . import _cluster, _mercer
from ._base import whole

__all__ = ["PCA", "KernelPCA"]

STATE = "part long, state binary"
#: Rows of a block of an exact model: a pair of blocks is one task.
BLOCK_ROWS = 10_000


def _numbers(frame, names=None):
    """The columns of a frame, and it is an error if one, or one of those named, is not a number."""
    _refuse(frame)
    if len(set(frame.columns)) < len(frame.columns):
        raise ValueError("two columns of the frame have the same name")
    if not frame.columns:
        raise ValueError("the frame has no columns")
    numeric = ("byte", "short", "int", "bigint", "float", "double", "tinyint", "smallint", "boolean")
    for name, kind in frame.dtypes:
        if (names is None or name in names) and kind not in numeric and not kind.startswith("decimal"):
            raise TypeError(
                f"column '{name}' has type {kind}, which is not a number: leave it out with frame.select(...)"
            )
    return frame.columns


def _refuse(frame):
    if not hasattr(frame, "mapInArrow"):
        name = type(frame).__name__
        raise TypeError(f"X is {name}, not a Spark data frame: mercer.PCA takes what is in memory")


def _selected(frame, names):
    """These columns, by their places: `mapInArrow` does not bear names with dots."""
    from pyspark.sql import functions as F

    quoted = ("`" + name.replace("`", "``") + "`" for name in names)
    return frame.select(*(F.col(name).alias(f"c{j}") for j, name in enumerate(quoted)))


def _table(batch, places=None):
    """Rows of numbers: all columns of a batch, or those in these places."""
    columns = batch.columns if places is None else [batch.column(j) for j in places]
    return np.column_stack([c.cast(pa.float64()).to_numpy(zero_copy_only=False) for c in columns])


def _row(**columns):
    return pa.RecordBatch.from_pylist([columns])


def _partition():
    from pyspark import TaskContext

    return TaskContext.get().partitionId()


def _mapped(frame, names, make):
    """A row for each partition: its number, and the bytes of the state that ``make(blocks, number)`` gives."""

    def run(batches):
        number = _partition()
        blocks = (_table(batch) for batch in batches if batch.num_rows)
        yield _row(part=number, state=make(blocks, number).to_bytes())

    return _selected(frame, names).mapInArrow(run, STATE)


def _merged(states, kind):
    """One state of those of all partitions: merged in the order of their numbers, some at a time where they are."""
    from pyspark.sql import functions as F

    def run(table):
        table = table.sort_by("part")
        merged = _cluster.merge([kind.from_bytes(s) for s in table.column("state").to_pylist()])
        return pa.table({"part": [table.column("part")[0].as_py()], "state": [merged.to_bytes()]})

    for width in (_cluster.FAN, _cluster.FAN**2):
        states = states.groupBy(F.floor(F.col("part") / width).alias("group")).applyInArrow(run, STATE)
    found = sorted((row.part, bytes(row.state)) for row in states.collect())
    if not found:
        raise ValueError("there are no rows")
    return _cluster.merge([kind.from_bytes(state) for _, state in found])


def _scores(estimator, frame, names):
    """The frame with columns of scores behind its own, when they are asked for."""
    out, schema = _wider(estimator, frame)
    model, places = estimator._scorer(), [frame.columns.index(name) for name in names]

    def run(batches):
        for batch in batches:
            rows = _table(batch, places)
            scores = model(rows) if len(rows) else np.empty((0, len(out)))
            columns = [pa.array(scores[:, j]) for j in range(len(out))]
            yield pa.RecordBatch.from_arrays([*batch.columns, *columns], schema.names)

    return _selected(frame, frame.columns).mapInArrow(run, schema)


def _wider(estimator, frame):
    """Names of the columns of scores, and the schema of a frame with them."""
    from pyspark.sql.types import DoubleType, StructField, StructType

    out = [str(name) for name in estimator.get_feature_names_out()]
    taken = [name for name in out if name in frame.columns]
    if taken:
        raise ValueError(f"the frame has a column '{taken[0]}' already: rename it, or leave it out")
    own = [StructField(field.name, field.dataType) for field in frame.schema.fields]
    return out, StructType(own + [StructField(name, DoubleType()) for name in out])


class _Frames:
    """Names of the columns, and scores."""

    def _named(self, frame):
        self._validate_params()
        names = _numbers(frame)
        self.feature_names_in_ = np.asarray(names, dtype=object)
        return names

    def fit_transform(self, X, y=None, **params):
        """Fit the model with X, and give X with columns of scores when they are asked for."""
        return self.fit(X).transform(X)

    def transform(self, X):
        """The frame X with columns of scores behind its own, lazy."""
        return _scores(self, X, self._known(X))

    def _known(self, X):
        """The names of the fitted columns, which have to be in the frame."""
        check_is_fitted(self)
        _refuse(X)
        names = [str(n) for n in self.feature_names_in_]
        missing = [n for n in names if n not in X.columns]
        if missing:
            raise ValueError(f"the frame has no column {', '.join(map(repr, missing[:5]))}, which was fitted")
        _numbers(X, names)
        return names

    def _scorer(self):
        model = self._model
        return lambda rows: model.transform(_cluster.ready(rows), _cluster.exec_of())


class PCA(_Frames, _cluster.PCA, auto_wrap_output_keys=None):
    """:class:`mercer.PCA` of a Spark data frame, in one look at its partitions."""

    @whole
    def fit(self, X, y=None):
        """Fit the model with the columns of X, a Spark data frame."""
        names, route = self._named(X), self._stream_route()
        parts = _mapped(X, names, lambda blocks, _: _cluster.pca_state(blocks, len(names), route))
        return self._keep_state(_merged(parts, _mercer.PcaState))

    def _scorer(self):
        scores = super()._scorer()
        if not self.whiten:
            return scores
        deviations = self._deviations(self._model.variances()[0])
        return lambda rows: scores(rows) / deviations


class KernelPCA(_Frames, _cluster.KernelPCA, auto_wrap_output_keys=None):
    """:class:`mercer.KernelPCA` of a Spark data frame.

    With ``landmarks`` in two looks at its partitions; without, exact and certified, by passes over pairs of blocks of
    rows, which are cached meanwhile.
    """

    @whole
    def fit(self, X, y=None):
        """Fit the model with the columns of X, a Spark data frame."""
        names = self._named(X)
        d = len(names)
        text, how, exact = self._how(d)
        size, seed = self._survey_size(how), self._seed()
        parts = _mapped(X, names, lambda blocks, part: _cluster.survey(blocks, d, part, size, seed))
        survey = _merged(parts, _mercer.Survey)
        exact = self._is_exact(exact, text, survey.n, d)
        basis = self._basis = _mercer.LandmarkBasis(text, survey, False, how, self._options(draw=True))
        sums = _mapped(X, names, lambda blocks, _: _cluster.landmark_state(blocks, basis))
        sums = _merged(sums, _mercer.LandmarkState)
        return self._fit_exact(X, names, self._start_model(sums)) if exact else self._take_landmarks(sums)

    def _fit_exact(self, frame, names, start):
        from pyspark.sql import functions as F

        basis, d = self._basis, len(names)

        def cut(batches):
            number = _partition()
            rows = (_table(batch) + 0.0 for batch in batches if batch.num_rows)
            for at, block in enumerate(_blocks(rows, BLOCK_ROWS)):
                yield _row(id=number * 2**20 + at, rows=block.tobytes())

        def look(batches):
            for batch in batches:
                for number, rows in zip(*(batch.column(c).to_pylist() for c in ("id", "rows")), strict=True):
                    rows = _array(rows, d)
                    diagonal, square, reach = basis.facts(rows)
                    scores = start.transform(rows, _cluster.exec_of())
                    facts = {"diagonal": diagonal.tobytes(), "square": square, "reach": reach}
                    yield _row(id=number, digest=_digest(rows), z=scores.tobytes(), **facts)

        # Sorted, so that a partition that is lost and made again is cut into the same blocks: rows that were sent from
        # one executor to another come in any order.
        rows = _selected(frame, names)
        blocks = rows.sortWithinPartitions(*rows.columns).mapInArrow(cut, "id long, rows binary").cache()
        facts = "id long, digest binary, z binary, diagonal binary, square double, reach double"
        seen = sorted(blocks.mapInArrow(look, facts).collect(), key=lambda row: row.id)
        order = {row.id: (number, bytes(row.digest)) for number, row in enumerate(seen)}
        facts = [(np.frombuffer(row.diagonal), row.square, row.reach) for row in seen]
        ends = np.cumsum([0] + [len(f[0]) for f in facts])
        first = np.vstack([_array(row.z, -1, len(f[0])) for row, f in zip(seen, facts, strict=True)])
        left, right = (blocks.select(F.col("id").alias(f"{s}_id"), F.col("rows").alias(s)) for s in ("a", "b"))
        many = len(order) * (len(order) + 1) // 2
        pairs = left.crossJoin(right).where("a_id >= b_id").repartition(min(many, 1000), "a_id", "b_id")

        def apply(vectors, swift):
            pieces = [np.ascontiguousarray(vectors[:, a:b].T) for a, b in itertools.pairwise(ends)]
            width = len(vectors)

            def run(batches):
                for batch in batches:
                    for row in batch.to_pylist():
                        (i, a), (j, b) = (_known_block(order, row[f"{s}_id"], row[s], d) for s in ("a", "b"))
                        other = None if i == j else (j, b, pieces[j])
                        state = _cluster.pair(basis, (i, a, pieces[i]), other, swift)
                        for number in {i, j}:
                            squares = state.squares if number == i else 0.0
                            yield _row(
                                block=number, other=i + j - number, y=state.block(number).tobytes(), squares=squares
                            )

            def total(table):
                table = table.sort_by("other")
                sums = sum(np.frombuffer(y) for y in table.column("y").to_pylist())
                squares = sum(table.column("squares").to_pylist())
                block = table.column("block")[0].as_py()
                return pa.table({"block": [block], "y": [sums.tobytes()], "squares": [squares]})

            images = pairs.mapInArrow(run, "block long, other long, y binary, squares double")
            images = images.groupBy("block").applyInArrow(total, "block long, y binary, squares double").collect()
            images = sorted(images, key=lambda row: row.block)
            values = np.vstack([_array(row.y, width) for row in images])
            return np.ascontiguousarray(values.T), float(np.sqrt(sum(row.squares for row in images)))

        try:
            self._fit_remote(facts, first, apply)
        except BaseException:
            blocks.unpersist()
            raise
        if hasattr(self, "_fitted"):
            self._fitted.unpersist()
        self._fitted, self._order, self._ends = blocks, order, ends
        return self

    def _take_landmarks(self, sums):
        fitted = getattr(self, "_fitted", None)
        super()._take_landmarks(sums)
        if fitted is not None:
            fitted.unpersist()
        return self

    def transform(self, X):
        """The frame X with columns of scores behind its own, lazy; of an exact model sums over the fitted blocks."""
        names = self._known(X)
        return self._transform_exact(X, names) if self._is_remote else super().transform(X)

    def _transform_exact(self, frame, names):
        """Every batch of rows against every fitted block; the frame is gone through once, and its rows go along."""
        from pyspark.sql import functions as F

        k, d, schema = self._n_features_out, self.n_features_in_, _wider(self, frame)[1]
        basis, offset = self._basis, np.asarray(self._model.offset()[0])
        order, alpha = self._order, np.split(self._model.alpha(), self._ends[1:-1])
        most, places = len(order), [frame.columns.index(name) for name in names]

        def cut(batches):
            part = _partition()
            for at, batch in enumerate(b for b in batches if b.num_rows):
                rows = _table(batch, places)
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, batch.schema) as stream:
                    stream.write_batch(batch)
                all_of_it = sink.getvalue().to_pybytes()
                yield _row(key=f"{part} {at} {_digest(all_of_it).hex()}", rows=rows.tobytes(), whole=all_of_it)

        def run(batches):
            for batch in batches:
                for row in batch.to_pylist():
                    i, fitted = _known_block(order, row["a_id"], row["a"], d)
                    part = _cluster.scores_part(basis, _array(row["rows"], d), fitted, alpha[i])
                    # The rows themselves go with one of the parts.
                    yield _row(key=row["key"], other=i, part=part.tobytes(), whole=row["whole"] if i == 0 else b"")

        def total(table):
            table = table.sort_by("other")
            if table.column("other").to_pylist() != list(range(most)):
                raise RuntimeError("the rows of the frame came in another order when they were made again: cache it")
            scores = sum(_array(part, k) for part in table.column("part").to_pylist()) - offset
            return pa.table({"whole": [table.column("whole")[0].as_py()], "scores": [scores.tobytes()]})

        # The rows are unpacked by `mapInArrow`, which, unlike `applyInArrow`, takes its own time zones back.
        def unpack(batches):
            for batch in batches:
                for row in batch.to_pylist():
                    scores = _array(row["scores"], k)
                    for rows in pa.ipc.open_stream(row["whole"]):
                        columns = [*rows.columns, *(pa.array(scores[:, j]) for j in range(k))]
                        yield pa.RecordBatch.from_arrays(columns, schema.names)

        fitted = self._fitted.select(F.col("id").alias("a_id"), F.col("rows").alias("a"))
        new = (
            _selected(frame, frame.columns).mapInArrow(cut, "key string, rows binary, whole binary").repartition("key")
        )
        parts = new.crossJoin(fitted).mapInArrow(run, "key string, other long, part binary, whole binary")
        sums = parts.groupBy("key").applyInArrow(total, "whole binary, scores binary")
        return sums.mapInArrow(unpack, schema)


def _digest(data):
    """A few bytes that tell other bytes apart."""
    return hashlib.blake2b(data, digest_size=16).digest()


def _known_block(order, name, rows, d):
    """The number and the rows of a block, which have to be those that were seen first."""
    number, digest = order[name]
    if _digest(rows) != digest:
        raise RuntimeError(
            "a partition has other rows than before: its source has to give the same each time; cache it"
        )
    return number, _array(rows, d)


def _array(data, d, n=-1):
    """Rows from their bytes."""
    return np.frombuffer(data, dtype=np.float64).reshape(n, d)


def _blocks(parts, size):
    """Rows in blocks of one size, whatever they came in."""
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
