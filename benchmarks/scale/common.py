"""What the scripts of this folder share: engines in processes of their own, their time, their memory, tables.

A script is its own engine: `measure` starts it again as

    python SCRIPT.py --engine {"engine": "...", ...}

and it prints one line of JSON, `{"seconds": 1.5, "answer": [..], "note": ""}`. The parent imports neither numpy nor any
engine, so that its own memory is no part of what a child is charged with.
"""

import argparse
import contextlib
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENGINES = HERE.parent / "engines" / "python"  # data.py and harness.py
FOREIGN = 0.1  # more cores than this busy with something else make a time doubtful, as in xtask
MIB = 1024 * 1024


def options(description, name):
    """The options that all scripts have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument(
        "--folder", help="where data is made and kept; without it a temporary folder, removed at the end"
    )
    parser.add_argument("--json", default=f"{name}.json", help="where the results are written as JSON")
    parser.add_argument("--repeats", type=int, default=3, help="how often each engine is started")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds after which an engine is stopped")
    parser.add_argument("--only", action="append", help="one engine; may be given several times")
    return parser


@contextlib.contextmanager
def folder_of(given):
    """The folder of the data: the one that is given, or a temporary one that is removed."""
    if given:
        Path(given).mkdir(parents=True, exist_ok=True)
        yield Path(given)
    else:
        with tempfile.TemporaryDirectory(prefix="mercer-scale-") as folder:
            yield Path(folder)


# ---------------------------------------------------------------------------------------------------- one process


def tree(pid):
    """A process and all that came of it."""
    found, queue = [], [pid]
    while queue:
        pid = queue.pop()
        found.append(pid)
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as f:
                    queue.extend(int(child) for child in f.read().split())
    return found


def resident(pid):
    """Bytes of a process that are resident now, 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


class Sampler(threading.Thread):
    """Looks fifty times a second at how much memory a process and its children have together."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak, self.done = pid, 0, threading.Event()

    def run(self):
        """Until it is told that it is over."""
        while not self.done.wait(0.02):
            self.peak = max(self.peak, sum(resident(pid) for pid in tree(self.pid)))


def others():
    """Processor seconds since boot that were spent on others."""
    with open("/proc/stat") as f:
        user, nice, system, _idle, _wait, interrupts, soft, *_ = map(float, f.readline().split()[1:])
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def process(command, limit=1800.0, environment=None):
    """Runs a command; what it took, and what it said: `wall`, `peak` (bytes), `foreign` (cores), `out`, `failure`.

    The peak is the larger of what the system charges the process with (exact, of the largest process in the tree) and
    the sum over the tree, sampled: the second counts for engines with workers.
    """
    before, start = others(), time.perf_counter()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(
            command, stdout=out, stderr=err, env={**os.environ, **(environment or {})}, start_new_session=True
        )
        sampler = Sampler(child.pid)
        sampler.start()
        stopped = threading.Event()

        def stop():
            stopped.set()
            os.killpg(child.pid, 9)  # the session that was started for it, workers included

        timer = threading.Timer(limit, stop)
        timer.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            stop()  # nobody is left behind
            raise
        finally:
            timer.cancel()
        wall = time.perf_counter() - start
        sampler.done.set()
        sampler.join()
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said, wrong = out.read().decode(errors="replace"), err.read().decode(errors="replace")
    failure = None
    if stopped.is_set():
        failure = f"stopped after {limit:.0f} s"
    elif child.returncode < 0:
        failure = f"killed by signal {-child.returncode}" + (" (out of memory?)" if child.returncode == -9 else "")
    elif child.returncode:
        lines = [line.strip() for line in wrong.strip().splitlines() if line.strip()]
        failure = short(lines[-1]) if lines else f"ended with {child.returncode} and without a word"
    return {
        "wall": wall,
        "peak": max(usage.ru_maxrss * 1024, sampler.peak),
        "foreign": max(0.0, others() - before) / max(wall, 0.5),
        "out": said,
        "failure": failure,
    }


def short(line):
    """The last line of an error, in fewer words where they are known."""
    if "KilledWorker" in line:
        return "workers were killed at their limit of memory (KilledWorker)"
    return line[:300]


def engine(script, job, limit):
    """One process of an engine of a script: its reply, with peak memory, or why there is none."""
    ran = process([sys.executable, str(script), "--engine", json.dumps(job)], limit)
    reply = {"seconds": None, "answer": None, "note": ""}
    if ran["failure"] is None:
        try:
            reply |= json.loads(ran["out"].strip().splitlines()[-1])
        except (ValueError, IndexError):
            ran["failure"] = "no answer"
    return reply | {key: ran[key] for key in ("wall", "peak", "foreign", "failure")}


def by_turns(runs, repeats, long=120.0):
    """Starts each of `runs` (functions by name) so many times, by turns; what takes long or fails is started once.

    Returns by name the last reply with the median `seconds`, the largest `peak` and `foreign`, and all `times`.
    """
    results = {}
    for turn in range(repeats):
        for name, run in runs.items():
            before = results.get(name)
            if before and (before["failure"] or before["wall"] > long):
                continue
            reply = run()
            times = (before["times"] if before else []) + [reply["seconds"]]
            reply["times"] = [t for t in times if t is not None]
            if before:
                for key in ("peak", "foreign"):
                    reply[key] = max(reply[key], before[key])
            if reply["times"]:
                reply["seconds"] = statistics.median(reply["times"])
            results[name] = reply
            print(f"   {turn + 1}/{repeats}  {name}: {told(reply)}", file=sys.stderr, flush=True)
    return results


def told(reply):
    """A reply in a few words, while it goes on."""
    peak = f"{reply['peak'] / MIB:.0f} MiB"
    return f"{reply['failure']} ({peak})" if reply["failure"] else f"{reply['seconds']:.3g} s, {peak}"


# ------------------------------------------------------------------------------------------------------- answers


def error(answer, truth):
    """The worst relative difference of an answer from the right one; None where there is nothing to compare."""
    if not answer or not truth:
        return None
    if len(answer) != len(truth):
        return float("inf")
    return max(abs(a - b) / abs(b) for a, b in zip(answer, truth, strict=True))


def remark(reply):
    """What is to be said beside a row."""
    words = [reply["failure"]] if reply["failure"] else []
    if reply.get("note"):
        words.append(reply["note"])
    if reply["foreign"] > FOREIGN:
        words.append(f"while {reply['foreign']:.1f} cores were busy with something else")
    return "; ".join(words)


# -------------------------------------------------------------------------------------------------------- tables


def number(value, digits=3):
    """A number with three digits, as the records have it."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e7 else f"{value:.1e}"
    return f"{value:.{digits}g}" if abs(value) >= 1e-3 else f"{value:.0e}"


def mib(value):
    """Bytes as MiB."""
    return "-" if not value else number(value / MIB)


def table(head, rows, left=(0, -1)):
    """A Markdown table whose columns are aligned; `left` are the columns of text."""
    left = {i % len(head) for i in left}
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(2, *(len(row[i]) for row in [head, *rows])) for i in range(len(head))]

    def line(cells):
        padded = (c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True)))
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * w if i in left else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return "\n".join([line(head), line(rule), *(line(row) for row in rows)])


# ------------------------------------------------------------------------------------------------------- records


def machine():
    """What it was measured on, without names or paths."""
    cpu, memory = platform.processor() or "unknown processor", 0
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), cpu)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 10**9
    return f"{cpu}, {os.cpu_count()} threads, {memory} GB"


def versions(*names):
    """Versions of packages that are there."""
    found = {"python": platform.python_version()}
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def commit():
    """The commit of this folder, or None outside a repository."""
    command = ["git", "-C", str(HERE), "describe", "--always", "--dirty", "--abbrev=7"]
    ran = subprocess.run(command, capture_output=True, text=True)
    return ran.stdout.strip() if ran.returncode == 0 else None


def heading(title, *packages):
    """The first lines of what is printed, and the facts for the record."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that engines end with it
    facts = {
        "title": title,
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "versions": versions(*packages),
        "commit": commit(),
    }
    listed = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    print(f"# {title}\n\n{facts['date']}, {facts['machine']}; commit {facts['commit']}; {listed}\n", flush=True)
    return facts


def write(path, record):
    """The record as JSON."""
    Path(path).write_text(json.dumps(record, indent=1) + "\n")
