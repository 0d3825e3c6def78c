"""PCA of a Parquet file that is larger than the memory one wants to spend on it.

    python stream_pca.py --mercer ../../target/release/mercer                        # makes 4 GB, then removes them
    python stream_pca.py --mercer ../../target/release/mercer --folder DATA          # makes the file once, keeps it
    python stream_pca.py --mercer ../../target/release/mercer --rows 500000 --dask 256MB,1GB,4GB

Each engine is a process of its own. Of the command the whole process is timed, of Python engines what follows their
imports (the cluster's start is not timed either). The file is in the page cache, if the system has room for it, since
it was read just before; `--cold` has it thrown out before each run. Memory is the peak of the resident set of the
whole process; with workers, the sum over driver and workers. The error is the worst relative difference of the ten
eigenvalues from those of mercer's moments; `numpy by hand` is there to judge these.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
import time

import common

K = 10
BATCH = 50_000  # rows of a batch, for all engines that take batches


def mercer_command(binary, file, memory):
    """The command that is measured: the one place where it is written down."""
    return [binary, "fit", str(file), "-k", str(K), "--memory", memory, "--json", "--quiet"]


# ------------------------------------------------------------------------------------------------------- engines


def batches(file):
    """Batches as pyarrow gives them, with its defaults."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(file).iter_batches(batch_size=BATCH)


def rows_of(batch):
    """A batch as rows that lie one after the other."""
    return batch.to_tensor().to_numpy()


def read_only(job):
    """Reading and decoding, and nothing else."""
    import pyarrow.parquet  # noqa: F401

    yield
    rows = sum(len(batch) for batch in batches(job["file"]))
    yield None, f"{rows:,} rows"


def read_rows(job):
    """Reading, decoding, and turning columns into rows."""
    import numpy as np

    yield
    total = 0.0
    for batch in batches(job["file"]):
        total += float(np.asarray(rows_of(batch))[-1, -1])
    yield None, "columns made into rows"


def mercer_moments(job):
    """The exact method of mercer.IncrementalPCA, given pyarrow's batches as they are."""
    from mercer import IncrementalPCA

    yield
    model = IncrementalPCA(K, method=job.get("method", "moments")).fit(batches(job["file"]))
    yield model.explained_variance_, ""


def sklearn_incremental(job):
    """scikit-learn's IncrementalPCA, a batch at a time."""
    from sklearn.decomposition import IncrementalPCA

    yield
    model = IncrementalPCA(K)
    for batch in batches(job["file"]):
        model.partial_fit(rows_of(batch))
    yield model.explained_variance_, f"batches of {BATCH:,} rows"


def numpy_moments(job):
    """What a careful hand writes: moments about the mean of the first batch, which loses no digits."""
    import numpy as np
    import scipy.linalg

    yield
    shift, count, sums, squares = None, 0, 0.0, 0.0
    for batch in batches(job["file"]):
        x = rows_of(batch)
        shift = x.mean(axis=0) if shift is None else shift
        x = x - shift
        count, sums, squares = count + len(x), sums + x.sum(axis=0), squares + x.T @ x
    covariance = (squares - np.outer(sums, sums) / count) / (count - 1)
    d = len(covariance)
    yield scipy.linalg.eigh(covariance, subset_by_index=(d - K, d - 1))[0][::-1], ""


def on_dask(job):
    """A fit on two workers of one thread each, whose memory is limited."""
    import dask
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    dask.config.set({"distributed.logging.distributed": "critical", "distributed.admin.tick.limit": "1h"})
    # A worker that is over its limit is started anew; a task that has killed so many is given up.
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    if job["fit"] == "mercer":
        from mercer.dask import PCA
    else:
        from dask_ml.decomposition import PCA, IncrementalPCA
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            memory_limit=job["memory"],
            dashboard_address=None,
            local_directory=job["scratch"],
        ) as cluster,
        Client(cluster),
    ):
        yield
        frame = dd.read_parquet(job["file"])
        if job["fit"] == "mercer":
            model = PCA(K).fit(frame)
        else:
            points = frame.to_dask_array(lengths=True)
            if job["fit"] == "incremental":
                model = IncrementalPCA(K, batch_size=BATCH).fit(points)  # its default is 250 rows, a task each
            else:
                solver, _, power = job["fit"].partition(":")
                model = PCA(K, svd_solver=solver, iterated_power=int(power or 0), random_state=0).fit(points)
        yield model.explained_variance_, f"2 workers with {job['memory']} each, {frame.npartitions} partitions"


TASKS = {
    "read": read_only,
    "rows": read_rows,
    "mercer": mercer_moments,
    "sklearn": sklearn_incremental,
    "numpy": numpy_moments,
    "dask": on_dask,
}


def work(job):
    """One engine: prepares, works while the clock runs, answers."""
    steps = TASKS[job["task"]](job)
    next(steps)
    start = time.perf_counter()
    answer, note = next(steps)
    seconds = time.perf_counter() - start
    answer = None if answer is None else [float(v) for v in answer]
    print(json.dumps({"seconds": seconds, "answer": answer, "note": note}), flush=True)
    steps.close()  # the cluster's end is not timed


# --------------------------------------------------------------------------------------------------- the command


def run_command(command, limit):
    """The command as an engine: the whole process is its time, the eigenvalues are in its JSON."""
    ran = common.process(command, limit)
    reply = {key: ran[key] for key in ("wall", "peak", "foreign", "failure")}
    reply |= {"seconds": None if ran["failure"] else ran["wall"], "answer": None, "note": ""}
    if not ran["failure"]:
        try:
            told = json.loads(ran["out"])
            reply["answer"], reply["note"] = told["eigenvalues"], f"route {told.get('route', '?')}"
        except (ValueError, KeyError) as error:
            reply["failure"] = f"its answer was not understood: {error}"
    return reply


def run_cat(file, limit):
    """Reading alone: `cat FILE`, whose output goes nowhere."""
    ran = common.process(["sh", "-c", 'exec cat "$1" > /dev/null', "sh", str(file)], limit)
    return {key: ran[key] for key in ("wall", "peak", "foreign", "failure")} | {
        "seconds": ran["wall"],
        "answer": None,
        "note": "",
    }


def bytes_of(text):
    """`512M`, `1.5G` or `256MB` as bytes."""
    text = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = {"K": 10**3, "M": 10**6, "G": 10**9}.get(text[-1:], 1)
    return int(float(text.rstrip("KMG")) * unit)


def hard_limits(size):
    """Ways to put a hard limit on a command: what it is called, what stands before it, whether the system can do it.

    The limit of address space counts all that is mapped, files and reserved stacks included; that of data counts what a
    process can write to; a cgroup counts what is resident, and throws out the file's pages first.
    """
    kib = str(size // 1024)
    yield "address space (ulimit -v)", ["sh", "-c", 'ulimit -v "$0" && exec "$@"', kib], True
    yield "data (ulimit -d)", ["sh", "-c", 'ulimit -d "$0" && exec "$@"', kib], True
    scope = ["systemd-run", "--scope", "--quiet", "-p", f"MemoryMax={size}", "-p", "MemorySwapMax=0"]
    for more in ([], ["--user"]):
        if shutil.which("systemd-run") and subprocess.run([*scope, *more, "true"], capture_output=True).returncode == 0:
            yield "cgroup (systemd-run)", [*scope, *more], True
            return
    yield "cgroup (systemd-run)", [], False


def forget(file):
    """Has the system throw the pages of a file out of its cache."""
    with open(file, "rb") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


# ----------------------------------------------------------------------------------------------------------- main


def engines(told, file, scratch):
    """All engines by name, each a function without arguments; those of Dask apart."""
    script = os.path.abspath(__file__)

    def python(task, limit=told.limit, **more):
        return functools.partial(common.engine, script, {"task": task, "file": str(file), **more}, limit)

    runs = {"cat": lambda: run_cat(file, told.limit), "pyarrow, reading only": python("read")}
    runs["pyarrow, rows made of columns"] = python("rows")
    if told.mercer:
        command = mercer_command(told.mercer, file, told.memory)
        runs["mercer fit"] = lambda: run_command(command, told.limit)
        for name, before, works in hard_limits(bytes_of(told.hard)):
            if works:
                runs[f"mercer fit, {told.hard} of {name}"] = functools.partial(
                    run_command, [*before, *command], told.limit
                )
            else:
                print(f"   {name}: does not work here", file=sys.stderr)
    runs["mercer.IncrementalPCA, moments"] = python("mercer")
    runs["mercer.IncrementalPCA, factor"] = python("mercer", method="factor")
    runs["numpy by hand, moments"] = python("numpy")
    runs["sklearn IncrementalPCA"] = python("sklearn")
    dask = {
        name: {
            memory: python("dask", told.dask_limit, fit=fit, memory=memory, scratch=str(scratch))
            for memory in told.dask.split(",")
        }
        for name, fit in {
            "mercer.dask.PCA": "mercer",
            "dask-ml PCA, auto (randomized)": "auto",
            "dask-ml PCA, randomized, 3 power iterations": "randomized:3",
            "dask-ml PCA, tsqr": "tsqr",
            "dask-ml IncrementalPCA": "incremental",
        }.items()
    }
    return runs, dask


def main():
    """Measures, compares, prints."""
    parser = common.options(__doc__.splitlines()[0], "stream_pca")
    parser.add_argument("--mercer", help="the command; without it only Python engines run")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--memory", default="512M", help="what the command is told it may use")
    parser.add_argument("--hard", default="1.5G", help="the hard limit that it is put under as well")
    parser.add_argument(
        "--dask",
        default="256MB,512MB,1GB,2GB,4GB,8GB",
        help="memory of each of two workers; each engine goes through the list until it succeeds",
    )
    parser.add_argument(
        "--dask-limit",
        type=float,
        default=600.0,
        help="seconds after which an engine on Dask is stopped: workers that are short of memory pause for ever",
    )
    parser.add_argument("--cold", action="store_true", help="throw the file out of the page cache before each run")
    told = parser.parse_args()
    if told.engine:
        return work(json.loads(told.engine))

    facts = common.heading(
        "PCA of a file larger than memory", "numpy", "pyarrow", "scikit-learn", "dask", "dask-ml", "mercer"
    )
    with common.folder_of(told.folder) as folder:
        file, scratch = folder / f"scale-{told.rows}.parquet", folder / "dask"
        if not file.exists():
            maker = [sys.executable, str(common.HERE / "make_data.py"), str(file), "--rows", str(told.rows)]
            subprocess.run(maker, check=True, stdout=sys.stderr)
        size = file.stat().st_size
        runs, dask = engines(told, file, scratch)
        wanted = lambda name: not told.only or any(part in name for part in told.only)  # noqa: E731

        def start(run):
            if told.cold:
                forget(file)
            return run()

        forget(file)
        cold = run_cat(file, told.limit)
        results = common.by_turns(
            {name: functools.partial(start, run) for name, run in runs.items() if wanted(name)}, told.repeats
        )
        results = {"cat, not in the cache": cold | {"times": [cold["seconds"]]}} | results
        for name, by_memory in dask.items():
            if not wanted(name):
                continue
            for memory, run in by_memory.items():
                title = f"{name}, 2 x {memory}"
                found = common.by_turns({title: functools.partial(start, run)}, told.repeats)
                results |= found
                if not found[title]["failure"]:
                    break
        shutil.rmtree(scratch, ignore_errors=True)

    truth = results.get("mercer.IncrementalPCA, moments", {}).get("answer")
    rows = []
    for name, reply in results.items():
        reply["error"] = common.error(reply["answer"], truth)
        if reply["failure"]:
            reply["failure"] = reply["failure"].replace(str(folder), "FOLDER")
        seconds = reply["seconds"] if not reply["failure"] else None
        speed = size / 1e6 / seconds if seconds else None
        rows.append(
            [
                name,
                common.number(seconds),
                common.number(speed),
                common.mib(reply["peak"]),
                common.number(reply["error"]),
                common.remark(reply),
            ]
        )
    state = "not in the page cache" if told.cold else "in the page cache"
    print(f"{told.rows:,} rows, 50 columns, {size / 1e9:.2f} GB of Parquet, {state}; {K} components\n")
    print(common.table(["engine", "seconds", "MB/s of file", "peak MiB", "error", ""], rows))
    settings = {key: getattr(told, key) for key in ("rows", "memory", "hard", "repeats", "cold")}
    common.write(told.json, facts | {"settings": settings, "bytes": size, "results": results})


if __name__ == "__main__":
    main()
