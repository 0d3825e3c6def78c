"""The matrix: mercer beside scikit-learn, or beside an earlier mercer, job by job.

    python matrix.py [--against FOLDER] [--only TEXT] [--record FILE] [--text FILE]

Every contender is a process of its own that waits between its turns, so that turns can be taken in short succession: a
cell's runs alternate between contenders, and its figures are medians of the same minutes. scikit-learn takes part with
each of its solvers that gives the right answer; the fastest one counts. With ``--against`` the other contender is the
mercer that is installed in FOLDER.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median

import cells
import numpy as np

#: Seconds that each contender may spend on a cell, and how often it runs at least and at most.
BUDGET, LEAST, MOST = 2.5, 3, 31
#: Runs shorter than this are repeated within a turn.
SHORT = 0.02
#: Seconds between turns: the threads of some libraries keep a core busy for a while after their work.
PAUSE = 0.2


class Worker:
    """A process with one package."""

    def __init__(self, package, folder=None):
        env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
        if folder is not None:
            env["PYTHONPATH"] = str(folder)
        script = Path(__file__).with_name("worker.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script), package],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=env,
        )

    def ask(self, **asked):
        """Sends a request and returns the reply."""
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the process ended"}

    def end(self):
        """Ends the process."""
        self.process.stdin.close()
        self.process.wait()


class Contender:
    """A package with a solver, on one cell."""

    def __init__(self, label, package, folder, cell, solver):
        self.label, self.worker = label, Worker(package, folder)
        self.seconds, self.answer, self.error = [], None, None
        self.repeat = 1
        reply = self.worker.ask(cell=cell, solver=solver)
        if "error" in reply:
            self.error = reply["error"]
        else:
            self.turn()  # the first run loads code and data
            if self.seconds:
                self.repeat = max(1, min(20, int(SHORT / self.seconds[-1])))
                self.seconds = self.seconds if self.seconds[-1] > BUDGET else []

    def turn(self):
        """Runs the job."""
        time.sleep(PAUSE)
        reply = self.worker.ask(run=self.repeat)
        if "error" in reply:
            self.error = reply["error"]
        else:
            self.seconds += reply["seconds"]
            self.answer = np.array(reply["answer"])

    def is_done(self):
        """Whether it has run often and long enough."""
        if self.error:
            return True
        spent = sum(self.seconds)
        return len(self.seconds) >= MOST * self.repeat or (
            spent >= BUDGET and (len(self.seconds) >= LEAST or spent >= 2 * BUDGET)
        )


def difference(answer, reference):
    """The largest relative difference of two answers, relative to the largest value for tiny ones."""
    if answer is None or reference is None or len(answer) != len(reference):
        return float("inf")
    scale = np.maximum(np.abs(reference), 1e-8 * np.abs(reference).max())
    return float(np.max(np.abs(answer - reference) / scale, initial=0.0))


def spread(seconds):
    """Half of the distance of the quartiles, relative to the median."""
    low, middle, high = np.percentile(seconds, [25, 50, 75])
    return float((high - low) / 2 / middle)


def measure(index, folder):
    """Measures a cell and returns its figures."""
    cell = cells.CELLS[index]
    ours = Contender("mercer", "mercer", None, index, None)
    if folder:
        others = [Contender("before", "mercer", folder, index, None)]
    else:
        others = [Contender(solver, "sklearn", None, index, solver) for solver in cell.solvers]
    contenders = [ours, *others]
    while not all(c.is_done() for c in contenders):
        for contender in contenders:
            if not contender.is_done():
                contender.turn()
    for contender in contenders:
        contender.worker.end()
    if ours.error:
        return {"cell": cell.name, "error": ours.error}
    figures = []
    for other in others:
        if other.error:
            figures.append({"solver": other.label, "error": other.error})
            continue
        found = difference(other.answer, ours.answer)
        figures.append(
            {
                "solver": other.label,
                "seconds": median(other.seconds),
                "spread": spread(other.seconds),
                "difference": found,
                "right": cell.approximate or found <= cell.tolerance,
            }
        )
    right = [f for f in figures if f.get("right")]
    result = {
        "cell": cell.name,
        "aim": cell.aim,
        "seconds": median(ours.seconds),
        "spread": spread(ours.seconds),
        "runs": len(ours.seconds),
        "others": figures,
    }
    if right:
        best = min(right, key=lambda f: f["seconds"])
        result |= {"fastest": best["solver"], "ratio": best["seconds"] / result["seconds"]}
        result["difference"] = best["difference"]
    return result


def line(result):
    """A cell as a line of text."""
    name = f"{result['cell']:<40}"
    if "error" in result:
        return f"{name} {result['error']}"
    if "ratio" not in result:
        others = ", ".join(f"{f['solver']}: {f.get('error', 'another answer')}" for f in result["others"])
        return f"{name} ours {1e3 * result['seconds']:10.2f} ms  no other right answer ({others})"
    best = next(f for f in result["others"] if f["solver"] == result["fastest"])
    mark = "  SLOWER" if result["ratio"] < 1 else "  below its aim" if result["ratio"] < result["aim"] else ""
    return (
        f"{name} ours {1e3 * result['seconds']:10.2f} ms  {best['solver']:<15} {1e3 * best['seconds']:10.2f} ms"
        f"  ratio {result['ratio']:6.2f}  difference {result['difference']:.0e}{mark}"
    )


def duration(seconds):
    """A time with three digits and its unit."""
    unit, factor = ("s", 1.0) if seconds >= 1 else ("ms", 1e3) if seconds >= 1e-3 else ("us", 1e6)
    value = seconds * factor
    return f"{value:.{max(0, 2 - int(np.log10(max(value, 1e-9))))}f} {unit}"


def row(result):
    """A cell as a line of a table."""
    if "ratio" not in result:
        ours = duration(result["seconds"]) if "seconds" in result else result["error"]
        return f"| {result['cell']} | {ours} | - | - | - |"
    best = next(f for f in result["others"] if f["solver"] == result["fastest"])
    shown = f"{result['ratio']:.2f}" if result["ratio"] >= 1 else f"**{result['ratio']:.2f}**"
    times = f"{duration(result['seconds'])} | {duration(best['seconds'])}"
    return f"| {result['cell']} | {times} | {best['solver']} | {shown} |"


def text(results, machine):
    """The record to be read: a summary with the jobs that are slower and some others, then all of them."""
    head = "| job | mercer | scikit-learn | its solver | ratio |\n| --- | ---: | ---: | --- | ---: |"
    ratios = [r["ratio"] for r in results if "ratio" in r]
    shown = {cell.name for cell in cells.CELLS if cell.name in cells.SHOWN}
    slower = sorted((r for r in results if r.get("ratio", 1) < 1), key=lambda r: r["ratio"])
    others = [r for r in results if r["cell"] in shown and r not in slower]
    lines = [
        "# The matrix",
        "",
        head,
        *map(row, slower + others),
        "",
        f"{len(results)} jobs: the median of the ratios is {median(ratios):.1f}, the least {min(ratios):.2f}; "
        f"{len(slower)} are slower. {machine}, {os.cpu_count()} threads, scikit-learn {version('scikit-learn')}.",
        "",
        "## All jobs",
        "",
        head,
        *map(row, results),
    ]
    return "\n".join(lines) + "\n"


def changed(result):
    """Whether the times of a cell differ beyond noise: by more than twice the quartiles, and by a twentieth."""
    if "ratio" not in result:
        return False
    noise = 2 * (result["spread"] + result["others"][0]["spread"])
    return abs(np.log(result["ratio"])) > max(noise, 0.05)


def main():
    """Measures, prints and records."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--against")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--record")
    parser.add_argument("--text")
    parser.add_argument("--machine", default=platform.processor())
    options = parser.parse_args()
    chosen = [
        index
        for index, cell in enumerate(cells.CELLS)
        if not options.only or any(text in cell.name for text in options.only)
    ]
    results = []
    for index in chosen:
        result = measure(index, options.against)
        results.append(result)
        print(line(result), flush=True)
    ratios = [r["ratio"] for r in results if "ratio" in r]
    print()
    if options.against:
        for result in results:
            if changed(result):
                word = "faster" if result["ratio"] > 1 else "slower"
                print(f"{result['cell']}: {word}, {result['ratio']:.2f} of the speed before")
        print(f"median of the ratios {median(ratios):.2f}")
    elif ratios:
        for result in sorted((r for r in results if r.get("ratio", 1) < 1), key=lambda r: r["ratio"]):
            print(f"slower than scikit-learn: {result['cell']}, ratio {result['ratio']:.2f}")
        print(f"median of the ratios {median(ratios):.2f}, least {min(ratios):.2f}")
    if options.record:
        about = {
            "machine": options.machine,
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
        }
        Path(options.record).write_text(json.dumps({"about": about, "cells": results}, indent=1) + "\n")
    if options.text:
        Path(options.text).write_text(text(results, options.machine))


if __name__ == "__main__":
    main()
