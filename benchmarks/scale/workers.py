"""Fits on one and on two Dask workers, beside what model.py predicts, and predictions for more.

    python workers.py                   # n = 2,000,000 for PCA, 200,000 for landmarks, 20,000 for exact kernel PCA
    python workers.py --scale 0.05      # all of these smaller

Workers are processes of one thread. Points are made on the workers and stay there before the clock starts, so that no
file is read. Rates are measured on one process without a cluster (`calibrate`); what the exact search does on the
driver between its passes is taken from the run on one worker. Predictions for larger n assume that files are read at
500 MB/s per worker and that the network gives each worker 1 GB/s; none of them was measured.
"""

import dataclasses
import functools
import json
import os
import statistics
import sys
import time

import common
import model

D, K_PCA, K_LANDMARK, K_EXACT = 50, 10, 10, 5
BLOCKS = 8
WORKERS = (1, 2)
TABLE = {"n": (10**6, 10**7, 10**9), "workers": (1, 10, 100, 1000), "m": 1000}


def points(n, seed):
    """Points of the benchmarks' distribution."""
    sys.path.insert(0, str(common.ENGINES))
    import data

    return data.points("mix", n, D, seed)


def estimator(job):
    """What is fitted."""
    from mercer.dask import PCA, KernelPCA

    if job["kind"] == "pca":
        return PCA(K_PCA)
    how = {"landmarks": job["m"]} if job["kind"] == "landmarks" else {}
    return KernelPCA(K_LANDMARK if how else K_EXACT, kernel="rbf", gamma=1.0 / D, **how)


# --------------------------------------------------------------------------------------------------- on a cluster


def fit(job):
    """One fit on a cluster; of an exact one, the passes apart."""
    import dask.array as da
    import numpy as np
    from distributed import Client, LocalCluster, wait

    n, p = job["n"], job["blocks"]
    with (
        LocalCluster(
            n_workers=job["workers"],
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address=None,
            local_directory=job["scratch"],
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(warm)  # modules are loaded
        sizes = [n // p + (i < n % p) for i in range(p)]
        parts = [client.submit(points, size, i, pure=False) for i, size in enumerate(sizes)]
        wait(parts)
        x = da.concatenate([da.from_delayed(part, (s, D), np.float64) for part, s in zip(parts, sizes, strict=True)])
        overhead = tasks_cost(client)
        network = network_rate(client) if job["workers"] > 1 else None
        fitted, passes = estimator(job), []
        if job["kind"] == "exact":
            time_passes(fitted, passes)
        start = time.perf_counter()
        fitted.fit(x)
        seconds = time.perf_counter() - start
    values = fitted.explained_variance_ if job["kind"] == "pca" else fitted.eigenvalues_
    return {
        "seconds": seconds,
        "answer": [float(v) for v in values],
        "passes": passes,
        "task": overhead[0],
        "start": overhead[1],
        "network": network,
    }


def warm():
    """Loads what tasks need."""
    import mercer.dask  # noqa: F401


def time_passes(fitted, passes):
    """Has the passes of an exact fit timed: columns, whether in f32, seconds. The one place that knows how."""
    inner = fitted._fit_remote

    def outer(facts, first, apply):
        def timed(vectors, swift):
            start = time.perf_counter()
            result = apply(vectors, swift)
            passes.append([len(vectors), bool(swift), time.perf_counter() - start])
            return result

        return inner(facts, first, timed)

    fitted._fit_remote = outer


def tasks_cost(client, count=500):
    """Seconds of one more task, and of a round of one task."""
    nothing = functools.partial(max, 1)

    def round_of(size):
        start = time.perf_counter()
        client.gather(client.map(nothing, range(size), pure=False))
        return time.perf_counter() - start

    round_of(10)
    one = sorted(round_of(1) for _ in range(5))[2]
    return max(0.0, (round_of(count) - one) / count), one


def network_rate(client, size=4_000_000):
    """Bytes per second from one worker to another."""
    import numpy as np

    first, second = list(client.scheduler_info(n_workers=-1)["workers"])[:2]
    rates = []
    for _ in range(3):
        there = client.submit(np.ones, size, workers=[first], pure=False)
        client.submit(len, there, workers=[first], pure=False).result()
        start = time.perf_counter()
        client.submit(len, there, workers=[second], pure=False).result()
        rates.append(8 * size / (time.perf_counter() - start))
    return sorted(rates)[1]


# ------------------------------------------------------------------------------------------------ on one process


def calibrate(job):
    """Rates of one thread, from blocks as tasks get them, and of the driver."""
    import numpy as np
    from mercer import _cluster, _mercer
    from mercer.dask import PCA

    def timed(work, least=0.3):
        result, times = work(), []
        while sum(times) < least or len(times) < 3:
            start = time.perf_counter()
            result = work()
            times.append(time.perf_counter() - start)
        return sorted(times)[len(times) // 2], result

    def basis_of(kind, n, m):
        fitted = estimator({"kind": kind, "m": m})
        fitted.n_features_in_, options = D, fitted._options(draw=True)
        spec = fitted._basis_spec(fitted._checked_source(D), fitted._method)
        size = _mercer.LandmarkBasis.sample_size(spec)
        x = points(n, 0)
        seconds, survey = timed(lambda: _cluster.survey([x], 0, D, size, options.seed))
        choosing, basis = timed(lambda: _mercer.LandmarkBasis.choose(spec, survey, options))
        return x, n / seconds, choosing, basis, spec, options

    rates = {}
    x = points(job["pca"] // BLOCKS, 0)
    spec = PCA(K_PCA)._stream_spec()
    rates["pca"] = model.pca_flops(len(x), D) / timed(lambda: _cluster.pca_state([x], 0, D, spec))[0]

    m = job["m"]
    x, rates["survey"], choosing, basis, spec, options = basis_of("landmarks", job["landmarks"], m)
    rates["choose"] = model.choose_flops(D, m) / choosing
    block = x[: job["landmarks"] // BLOCKS]
    seconds, state = timed(lambda: _cluster.landmark_state([block], 0, basis))
    rates["landmark"] = model.landmark_flops(len(block), D, m) / seconds
    finishing = timed(lambda: basis.finish(state, spec, options))[0]
    rates["finish"] = model.finish_flops(m) / finishing
    merging = timed(lambda: _cluster.merge([state] * model.FAN))[0]
    rates["pickle"] = model.FAN * model.landmark_state(m) / merging

    x, _, _, basis, _, _ = basis_of("exact", job["exact"], _cluster.START)
    size, b = job["exact"] // job["exact_blocks"], 16
    v = np.random.default_rng(0).standard_normal((2 * size, b))
    pair = [(i, x[i * size : (i + 1) * size], v[i * size : (i + 1) * size]) for i in range(2)]
    for swift, name in ((True, "swift"), (False, "exact")):
        # A pair of blocks is size^2 entries, each used twice; a pass of so many rows has half of these.
        flops = 2 * model.pass_flops(size, D, b)
        rates[name] = flops / timed(lambda swift=swift: _cluster.pair(basis, *pair, swift))[0]
    return {"seconds": 0.0, "answer": None, "rates": rates}


def work(job):
    """One process."""
    print(json.dumps({"calibrate": calibrate, "fit": fit}[job["task"]](job)))


# ------------------------------------------------------------------------------------------------------ and model


def predicted(kind, told, w, rates, passes):
    """The model's costs of a run."""
    if kind == "pca":
        return model.pca(told["pca"], D, BLOCKS, w, rates)
    if kind == "landmarks":
        return model.landmarks(told["landmarks"], D, told["m"], BLOCKS, w, rates)
    return model.exact(told["exact"], D, K_EXACT, told["exact_blocks"], w, rates, passes)


def time_of(seconds):
    """Seconds as people say them."""
    for size, name in ((365.25 * 86400, "years"), (86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{common.number(seconds / size)} {name}"
    return f"{common.number(seconds)} s"


def outlook(rates, passes):
    """Predicted times for many points and many workers."""
    rows, m = [], TABLE["m"]
    for n in TABLE["n"]:
        for kind in ("PCA", f"landmarks, m = {m:,}", "exact"):
            row = [f"{n:.0e}".replace("e+0", "e"), kind]
            for w in TABLE["workers"]:
                p = model.blocks(n, w, kind)
                if kind == "PCA":
                    cost = model.pca(n, D, p, w, rates)
                elif kind == "exact":
                    cost = model.exact(n, D, K_EXACT, p, w, rates, passes)
                else:
                    cost = model.landmarks(n, D, m, p, w, rates)
                row.append(time_of(cost.seconds))
            rows.append([*row, f"{common.number(cost.state / 1e9)} GB"])
    return rows


def main():
    """Measures, compares, predicts."""
    parser = common.options(__doc__.splitlines()[0], "workers")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the sizes; of its root for exact kernel PCA")
    parser.add_argument("--m", type=int, default=500, help="landmarks")
    parser.add_argument("--exact-blocks", type=int, default=4, help="blocks of rows of exact kernel PCA")
    told = parser.parse_args()
    if told.engine:
        return work(json.loads(told.engine))
    facts = common.heading("One worker and two", "numpy", "dask", "distributed", "mercer")
    sizes = {
        "pca": int(2_000_000 * told.scale),
        "landmarks": int(200_000 * told.scale),
        "exact": int(20_000 * told.scale**0.5),
        "m": told.m,
        "exact_blocks": told.exact_blocks,
    }
    script = os.path.abspath(__file__)
    with common.folder_of(told.folder) as folder:
        run = functools.partial(common.engine, script, {"task": "calibrate", **sizes}, told.limit)
        calibration = common.by_turns({"rates of one process": run}, 1)["rates of one process"]
        if calibration["failure"]:
            sys.exit(calibration["failure"])
        runs = {}
        for kind in ("pca", "landmarks", "exact"):
            for w in WORKERS:
                job = {"task": "fit", "kind": kind, "n": sizes[kind], "m": told.m, "workers": w}
                job |= {"blocks": told.exact_blocks if kind == "exact" else BLOCKS, "scratch": str(folder / "dask")}
                runs[kind, w] = functools.partial(common.engine, script, job, told.limit)
        results = common.by_turns(runs, told.repeats)

    failed = {key: reply["failure"] for key, reply in results.items() if reply["failure"]}
    if failed:
        sys.exit(f"no model without these: {failed}")
    passes = [(b, swift) for b, swift, _ in results["exact", 1]["passes"]]
    rates = model.Rates(
        **calibration["rates"],
        vectors=float("inf"),
        read=float("inf"),
        task=statistics.median(r["task"] for r in results.values()),
        start=statistics.median(r["start"] for r in results.values()),
        network=results["exact", 2]["network"],
    )
    # What is neither a pass nor the start is the driver's, between passes.
    one = results["exact", 1]
    before = model.landmarks(sizes["exact"], D, 300, told.exact_blocks, 1, rates).seconds
    rest = max(one["seconds"] - sum(t for *_, t in one["passes"]) - before, 1e-3)
    rates = dataclasses.replace(rates, vectors=8 * sizes["exact"] * sum(b for b, _ in passes) ** 2 / rest)

    names = {"pca": "PCA", "landmarks": f"landmarks, m = {told.m}", "exact": "exact kernel PCA"}
    rows, per_pass = [], []
    for (kind, w), reply in results.items():
        cost = predicted(kind, sizes, w, rates, passes)
        reply["predicted"] = dataclasses.asdict(cost) | {"seconds": cost.seconds}
        apart = common.error(reply["answer"], results[kind, 1]["answer"])
        rows.append(
            [
                names[kind],
                f"{sizes[kind]:,}",
                w,
                common.number(reply["seconds"]),
                common.number(cost.seconds),
                common.number(reply["seconds"] / cost.seconds),
                common.number(cost.moved / 1e6),
                common.mib(reply["peak"]),
                common.number(apart),
                common.remark(reply),
            ]
        )
        for i, (b, swift, seconds) in enumerate(reply["passes"]):
            compute, network, scheduler = model.one_pass(sizes["exact"], D, b, swift, told.exact_blocks, w, rates)
            moved = w * model.pass_bytes(sizes["exact"], D, b, told.exact_blocks, w)
            per_pass.append(
                [
                    w,
                    i + 1,
                    b,
                    "f32" if swift else "f64",
                    common.number(seconds),
                    common.number(compute + network + scheduler),
                    common.number(moved / 1e6),
                ]
            )
    print("## Measured and predicted\n")
    head = ["fit", "n", "workers", "seconds", "predicted", "ratio", "MB moved (estimated)", "peak MiB", "apart", ""]
    print(common.table(head, rows) + "\n")
    print("`apart` is how far the eigenvalues are from those on one worker.\n\n## Passes of exact kernel PCA\n")
    head = ["workers", "pass", "columns", "in", "seconds", "predicted", "MB moved (estimated)"]
    print(common.table(head, per_pass, left=(3,)) + "\n")
    units = {
        "pca": (1e9, "Gflop/s"),
        "landmark": (1e9, "Gflop/s"),
        "swift": (1e9, "Gflop/s"),
        "exact": (1e9, "Gflop/s"),
        "choose": (1e9, "Gflop/s"),
        "finish": (1e9, "Gflop/s"),
        "vectors": (1e9, "Gflop/s"),
        "survey": (1e6, "M rows/s"),
        "pickle": (1e6, "MB/s"),
        "network": (1e6, "MB/s"),
        "task": (1e-3, "ms"),
        "start": (1e-3, "ms"),
    }
    print("## Rates\n")
    listed = [[name, common.number(getattr(rates, name) / unit), word] for name, (unit, word) in units.items()]
    print(common.table(["rate", "", "unit"], listed) + "\n")
    ahead = outlook(dataclasses.replace(rates, network=1e9, read=5e8), passes)
    print("## Predicted: 1 GB/s of network and 500 MB/s of reading per worker\n")
    head = ["n", "fit", *(f"{w:,} workers" for w in TABLE["workers"]), "on the driver"]
    print(common.table(head, ahead, left=(1,)) + "\n")
    n = TABLE["n"][-1]
    b = max(b for b, _ in passes)
    print(
        f"Exact kernel PCA of {n:.0e} points is out of reach: one pass is {model.pass_flops(n, D, b):.0e} flops, and "
        f"the driver would hold {model.exact(n, D, K_EXACT, 4000, 1000, rates, passes).state / 1e9:,.0f} GB of vectors."
    )
    record = {" on ".join(map(str, key)): reply for key, reply in results.items()}
    common.write(
        told.json,
        facts | {"sizes": sizes, "rates": dataclasses.asdict(rates), "results": record, "outlook": ahead},
    )


if __name__ == "__main__":
    main()
