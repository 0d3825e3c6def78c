"""PCA and kernel PCA of Spark data frames.

The estimators are those of :mod:`mercer`, with the same parameters, of the columns of a data frame, which have to be
numbers. ``fit`` maps over its partitions where they lie (`mapInArrow`); states of a fixed size are put together in a
tree. ``transform`` is lazy, and adds columns. Calls of the data frame interface only are used, so that Spark Connect
works.

>>> from mercer.spark import PCA
>>> scores = PCA(n_components=2).fit(frame.select("a", "b", "c")).transform(frame)  # doctest: +SKIP
"""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa

from . import _cluster, _mercer

__all__ = ["PCA", "KernelPCA"]

STATE = "part long, state binary"
#: Rows of a block of an exact model: a pair of blocks is one task.
BLOCK_ROWS = 10_000


def _numbers(frame):
    """The columns of a frame that are numbers, and it is an error if one is not."""
    numeric = ("byte", "short", "int", "bigint", "float", "double", "tinyint", "smallint", "boolean")
    for name, kind in frame.dtypes:
        if kind not in numeric and not kind.startswith("decimal"):
            raise TypeError(
                f"column '{name}' has type {kind}, which is not a number: leave it out with frame.select(...)"
            )
    return frame.columns


def _table(batch, names):
    columns = [batch.column(name).cast(pa.float64()).to_numpy(zero_copy_only=False) for name in names]
    return np.column_stack(columns) if columns else np.empty((batch.num_rows, 0))


def _row(**columns):
    return pa.RecordBatch.from_pylist([columns])


def _partition():
    from pyspark import TaskContext

    return TaskContext.get().partitionId()


def _mapped(frame, names, make):
    """A row for each partition: its number, and the bytes of the state that ``make(blocks, number)`` gives."""

    def run(batches):
        number = _partition()
        blocks = (_table(batch, names) for batch in batches if batch.num_rows)
        yield _row(part=number, state=make(blocks, number).to_bytes())

    return frame.select(*names).mapInArrow(run, STATE)


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
    return _cluster.merge([kind.from_bytes(state) for _, state in found])


def _scores(estimator, frame, names):
    """The frame with columns of scores behind its own, when they are asked for."""
    out = [str(name) for name in estimator.get_feature_names_out()]
    schema = ", ".join(f"`{n}` {t}" for n, t in frame.dtypes) + "".join(f", `{n}` double" for n in out)
    model, width = estimator._scorer(), len(names)

    def run(batches):
        for batch in batches:
            rows = _table(batch, names)
            scores = model(rows) if len(rows) else np.empty((0, len(out)))
            columns = [pa.array(scores[:, j]) for j in range(len(out))]
            yield pa.RecordBatch.from_arrays([*batch.columns, *columns], [*batch.schema.names, *out])

    if width != estimator.n_features_in_:
        raise ValueError(f"the frame has {width} of the {estimator.n_features_in_} columns that were fitted")
    return frame.mapInArrow(run, schema)


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
        names = [str(n) for n in self.feature_names_in_]
        missing = [n for n in names if n not in X.columns]
        if missing:
            raise ValueError(f"the frame has no column {', '.join(map(repr, missing[:5]))}, which was fitted")
        return _scores(self, X, names)

    def _scorer(self):
        model = self._model
        return lambda rows: model.transform(_cluster.ready(rows), _cluster.exec_of())


class PCA(_Frames, _cluster.PCA):
    """:class:`mercer.PCA` of a Spark data frame, in one look at its partitions."""

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


class KernelPCA(_Frames, _cluster.KernelPCA):
    """:class:`mercer.KernelPCA` of a Spark data frame.

    With ``landmarks`` in two looks at its partitions; without, exact and certified, by passes over pairs of blocks of
    rows, which are cached meanwhile.
    """

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
            rows = (_table(batch, names) for batch in batches if batch.num_rows)
            for at, block in enumerate(_blocks(rows, BLOCK_ROWS)):
                yield _row(id=number * 2**20 + at, rows=block.tobytes())

        def look(batches):
            for batch in batches:
                for number, rows in zip(*(batch.column(c).to_pylist() for c in ("id", "rows")), strict=True):
                    rows = _array(rows, d)
                    diagonal, square, reach = basis.facts(rows)
                    scores = start.transform(rows, _cluster.exec_of())
                    yield _row(id=number, diagonal=diagonal.tobytes(), square=square, reach=reach, z=scores.tobytes())

        blocks = frame.select(*names).mapInArrow(cut, "id long, rows binary").cache()
        facts = "id long, diagonal binary, square double, reach double, z binary"
        seen = sorted(blocks.mapInArrow(look, facts).collect(), key=lambda row: row.id)
        order = {row.id: number for number, row in enumerate(seen)}
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
                        i, j = order[row["a_id"]], order[row["b_id"]]
                        mine = (i, _array(row["a"], d), pieces[i])
                        theirs = None if i == j else (j, _array(row["b"], d), pieces[j])
                        state = _cluster.pair(basis, mine, theirs, swift)
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

        self._fit_remote(facts, first, apply)
        self._fitted, self._order, self._ends = blocks, order, ends
        return self

    def transform(self, X):
        """The frame X with columns of scores behind its own, lazy; of an exact model sums over the fitted blocks."""
        return self._transform_exact(X) if self._is_remote else super().transform(X)

    def _transform_exact(self, frame):
        """Every row against every fitted block."""
        from pyspark.sql import functions as F

        names, d = [str(n) for n in self.feature_names_in_], self.n_features_in_
        out = [str(name) for name in self.get_feature_names_out()]
        basis, offset = self._basis, np.asarray(self._model.offset()[0])
        order, alpha = self._order, np.split(self._model.alpha(), self._ends[1:-1])
        key = "_mercer_row"
        numbered = frame.withColumn(key, F.monotonically_increasing_id())

        def cut(batches):
            for batch in batches:
                rows = _table(batch, names)
                yield _row(rows=rows.tobytes(), keys=batch.column(key).to_numpy(zero_copy_only=False).tobytes())

        def run(batches):
            for batch in batches:
                for row in batch.to_pylist():
                    rows = _array(row["rows"], d)
                    part = _cluster.scores_part(basis, rows, _array(row["a"], d), alpha[order[row["a_id"]]])
                    keys = np.frombuffer(row["keys"], dtype=np.int64)
                    columns = {key: keys, "other": np.full(len(rows), row["a_id"])}
                    yield pa.RecordBatch.from_pydict({**columns, **{n: part[:, j] for j, n in enumerate(out)}})

        fitted = self._fitted.select(F.col("id").alias("a_id"), F.col("rows").alias("a"))
        new = numbered.select(key, *names).mapInArrow(cut, "rows binary, keys binary")
        schema = f"`{key}` long, other long" + "".join(f", `{n}` double" for n in out)
        parts = new.crossJoin(fitted).mapInArrow(run, schema)
        sums = [(F.sum(n) - F.lit(float(offset[j]))).alias(n) for j, n in enumerate(out)]
        return numbered.join(parts.groupBy(key).agg(*sums), key, "left").drop(key)


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
