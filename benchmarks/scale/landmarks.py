"""Kernel PCA by landmarks: mercer beside scikit-learn's Nystroem and PCA, with the same number of landmarks.

    python landmarks.py                                             # n = 1,000,000 and, against the truth, n = 20,000
    python landmarks.py --n 50000 --m 200 --truth 5000 --seeds 3    # small

Two tables. The first is of n points: time of the fit (making the points is not timed), memory, and the eigenvalues
compared with each other. Those of landmarks are never above those of all points (what is left out of the Gram matrix is
positive semi-definite), so that larger is more accurate: `lost` is what is missing of the sum of ten, relative to the
engine that has most. The second is of fewer points, where the truth is had from exact kernel PCA: the relative error of
the ten eigenvalues, the median over seeds. scikit-learn stores features of all points, twice while it makes them: 16 GB
for a million points and 1,000 landmarks in float64; if the system kills it, this is said.

`by hand` is scikit-learn's Nystroem on batches, whose moments are added up: what one does without mercer and without
that memory.
"""

import functools
import json
import os
import statistics
import subprocess
import sys
import time

import common

K, D = 10, 50
GAMMA = 1.0 / D
BATCH = 10_000


# ------------------------------------------------------------------------------------------------------- engines


def mercer(x, job):
    """mercer with its defaults, or with landmarks at random as scikit-learn takes them."""
    from mercer import KernelPCA

    model = KernelPCA(
        K,
        kernel="rbf",
        gamma=GAMMA,
        copy_X=False,
        landmarks=job["m"],
        random_state=job["seed"],
        landmark_selection=job.get("selection", "kmeans"),
        memory="20G",
    ).fit(x)
    return model.eigenvalues_, {"says": str(model.certificate_)}


def mercer_batches(x, job):
    """The same of batches, which chooses landmarks from the first rows."""
    from mercer import KernelPCA

    parts = (x[i : i + BATCH] for i in range(0, len(x), BATCH))
    model = KernelPCA(K, kernel="rbf", gamma=GAMMA, landmarks=job["m"], random_state=job["seed"]).fit(parts)
    return model.eigenvalues_, {"says": str(model.certificate_)}


def exact(x, job):
    """The truth."""
    from mercer import KernelPCA

    model = KernelPCA(K, kernel="rbf", gamma=GAMMA, copy_X=False).fit(x)
    return model.eigenvalues_, {"says": str(model.certificate_)}


def nystroem(job):
    """scikit-learn's features."""
    from sklearn.kernel_approximation import Nystroem

    return Nystroem(kernel="rbf", gamma=GAMMA, n_components=job["m"], random_state=job["seed"])


def sklearn(x, job):
    """Features of all points, then PCA, as scikit-learn's documentation shows them."""
    from sklearn.decomposition import PCA

    features = nystroem(job).fit_transform(x)
    model = PCA(K, random_state=job["seed"]).fit(features)
    return model.explained_variance_ * (len(x) - 1), {}


def by_hand(x, job):
    """Features of batches, whose moments are added up."""
    import numpy as np
    import scipy.linalg

    maker = nystroem(job).fit(x)
    sums, squares, shift = 0.0, 0.0, None
    for i in range(0, len(x), BATCH):
        z = maker.transform(x[i : i + BATCH])
        shift = z.mean(axis=0) if shift is None else shift
        z -= shift
        sums, squares = sums + z.sum(axis=0, dtype=np.float64), squares + (z.T @ z).astype(np.float64)
    scatter = squares - np.outer(sums, sums) / len(x)
    m = len(scatter)
    return scipy.linalg.eigh(scatter, subset_by_index=(m - K, m - 1))[0][::-1], {"note": f"batches of {BATCH:,} rows"}


TASKS = {"mercer": mercer, "mercer_batches": mercer_batches, "exact": exact, "sklearn": sklearn, "by_hand": by_hand}
IMPORTS = {"mercer": "mercer", "mercer_batches": "mercer", "exact": "mercer"}


def work(job):
    """One engine: reads the points, works while the clock runs, answers."""
    import importlib

    import numpy as np

    sys.path.insert(0, str(common.ENGINES))
    import harness

    if job["task"] == "make":
        return make(job)
    for module in [IMPORTS.get(job["task"], "sklearn.kernel_approximation"), "sklearn.decomposition", "scipy.linalg"]:
        importlib.import_module(module)
    x = np.load(job["x"])
    base = harness.forget_peak()
    start = time.perf_counter()
    try:
        answer, more = TASKS[job["task"]](x, job)
    except MemoryError as error:
        sys.exit(f"MemoryError: {error}")
    seconds = time.perf_counter() - start
    beyond = None if base is None else harness.status("VmHWM") - base
    answer = [float(v) for v in np.asarray(answer, dtype=np.float64)]
    print(json.dumps({"seconds": seconds, "answer": answer, "note": "", "beyond": beyond, **more}))


def make(job):
    """Writes points in float64 and, beside them, in float32."""
    import numpy as np

    sys.path.insert(0, str(common.ENGINES))
    import data

    x = data.points("mix", job["n"], D, 0)
    for path, kind in ((job["x"], np.float64), (job["narrow"], np.float32)):
        np.save(path + ".partial.npy", x.astype(kind, copy=False))
        os.replace(path + ".partial.npy", path)


# ----------------------------------------------------------------------------------------------------------- main

ENGINES = {
    "mercer": {"task": "mercer"},
    "mercer, float32": {"task": "mercer", "narrow": True},
    "mercer, landmarks at random": {"task": "mercer", "selection": "uniform"},
    "mercer, batches": {"task": "mercer_batches"},
    "sklearn Nystroem + PCA": {"task": "sklearn"},
    "sklearn Nystroem + PCA, float32": {"task": "sklearn", "narrow": True},
    "by hand: Nystroem in batches + moments": {"task": "by_hand"},
    "by hand: Nystroem in batches + moments, float32": {"task": "by_hand", "narrow": True},
}


def points(folder, n, limit):
    """The files of n points, made if they are not there."""
    wide, narrow = (str(folder / f"mix-{n}-{D}-{kind}.npy") for kind in ("f64", "f32"))
    if not (os.path.exists(wide) and os.path.exists(narrow)):
        job = {"task": "make", "n": n, "x": wide, "narrow": narrow}
        subprocess.run([sys.executable, os.path.abspath(__file__), "--engine", json.dumps(job)], check=True)
    return wide, narrow


def jobs(told, files, m, seed):
    """All engines by name, each a function without arguments."""
    found = {}
    for name, job in ENGINES.items():
        if told.only and not any(part in name for part in told.only):
            continue
        job = {**job, "m": m, "seed": seed, "x": files[bool(job.get("narrow"))]}
        found[name] = functools.partial(common.engine, os.path.abspath(__file__), job, told.limit)
    return found


def large(told, files):
    """The table of n points."""
    results = common.by_turns(jobs(told, files, told.m, 0), told.repeats)
    most = max((sum(r["answer"]) for r in results.values() if r["answer"]), default=None)
    rows = []
    for name, reply in results.items():
        values = reply["answer"]
        reply["lost"] = 1.0 - sum(values) / most if values else None
        seconds = None if reply["failure"] else reply["seconds"]
        rows.append(
            [
                name,
                common.number(seconds),
                common.mib(reply["peak"]),
                common.mib(reply.get("beyond")),
                common.number(values[0] if values else None),
                common.number(values[-1] if values else None),
                common.number(reply["lost"]),
                common.remark(reply),
            ]
        )
    print(f"## n = {told.n:,}, d = {D}, m = {told.m:,}, k = {K}, gamma = 1/{D}\n")
    head = ["engine", "seconds", "peak MiB", "beyond the points", "1st eigenvalue", "10th", "lost", ""]
    print(common.table(head, rows) + "\n", flush=True)
    tell({name: reply["says"] for name, reply in results.items() if reply.get("says")})
    return results


def tell(certificates):
    """What mercer itself says of its accuracy."""
    for name, text in certificates.items():
        print(f"{name}: {text}\n", flush=True)


def small(told, files):
    """The table of fewer points, with the truth."""
    truth = common.by_turns(
        {
            "exact": functools.partial(
                common.engine, os.path.abspath(__file__), {"task": "exact", "x": files[0]}, told.limit
            )
        },
        1,
    )["exact"]
    if truth["failure"]:
        sys.exit(f"no truth: {truth['failure']}")
    results = {}
    for seed in range(told.seeds):
        for name, reply in common.by_turns(jobs(told, files, told.m, seed), 1).items():
            results.setdefault(name, []).append(reply)
    rows = [
        [
            "mercer, exact: the truth",
            common.number(truth["seconds"]),
            common.mib(truth["peak"]),
            "0",
            "0",
            "0",
            common.remark(truth),
        ]
    ]
    record = {"truth": truth, "engines": results}
    for name, replies in results.items():
        good = [reply for reply in replies if reply["answer"]]
        if not good:
            rows.append([name, "-", "-", "-", "-", "-", common.remark(replies[-1])])
            continue
        apart = [[(t - a) / t for a, t in zip(r["answer"], truth["answer"], strict=True)] for r in good]
        worst = statistics.median(max(map(abs, a)) for a in apart)
        first = statistics.median(abs(a[0]) for a in apart)
        total = statistics.median(1 - sum(r["answer"]) / sum(truth["answer"]) for r in good)
        above = max(-v for a in apart for v in a)
        note = f"above the truth by {above:.0e}" if above > 1e-12 else ""
        seconds = statistics.median(r["seconds"] for r in good)
        rows.append(
            [
                name,
                common.number(seconds),
                common.mib(max(r["peak"] for r in good)),
                common.number(first),
                common.number(worst),
                common.number(total),
                note,
            ]
        )
    print(f"## Against the truth: n = {told.truth:,}, m = {told.m:,}, the median of {told.seeds} seeds\n")
    head = ["engine", "seconds", "peak MiB", "error of the 1st", "worst of ten", "lost of the sum", ""]
    print(common.table(head, rows) + "\n", flush=True)
    tell({name: r[-1]["says"] for name, r in {"the truth": [truth], **results}.items() if r[-1].get("says")})
    return record


def main():
    """Measures, compares, prints."""
    parser = common.options(__doc__.splitlines()[0], "landmarks")
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--m", type=int, default=1_000, help="landmarks")
    parser.add_argument("--truth", type=int, default=20_000, help="points for which the truth is computed; 0 for none")
    parser.add_argument("--seeds", type=int, default=5, help="how many draws of landmarks are compared with the truth")
    told = parser.parse_args()
    if told.engine:
        return work(json.loads(told.engine))
    facts = common.heading("Kernel PCA by landmarks", "numpy", "scikit-learn", "scipy", "mercer")
    record = facts | {"settings": {key: getattr(told, key) for key in ("n", "m", "truth", "seeds", "repeats")}}
    with common.folder_of(told.folder) as folder:
        if told.truth:
            record["truth"] = small(told, points(folder, told.truth, told.limit))
            common.write(told.json, record)
        if told.n:
            record["large"] = large(told, points(folder, told.n, told.limit))
    common.write(told.json, record)


if __name__ == "__main__":
    main()
