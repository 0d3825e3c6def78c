"""One package in a process of its own, which works when it is asked to.

It reads lines of JSON and answers each by one line:

    {"cell": 3, "solver": "arpack"}   prepares the job:  {"ready": true}
    {"run": 5}                        runs it 5 times:   {"seconds": [...], "answer": [...]}
"""

import json
import sys
import time

import cells


def main(name):
    """Answers until the input ends."""
    job, points, made = None, None, None
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if "cell" in asked:
                cell = cells.CELLS[asked["cell"]]
                job = None
                if made != asked["cell"]:
                    points = None
                    points, made = cell.make(), asked["cell"]
                job = cell.job(name, asked["solver"], points)
                reply = {"ready": True}
            else:
                seconds, result = [], None
                for _ in range(asked["run"]):
                    result = None
                    start = time.perf_counter()
                    result = job()
                    seconds.append(time.perf_counter() - start)
                reply = {"seconds": seconds, "answer": cells.answer(result).tolist()}
        except Exception as e:
            reply = {"error": f"{type(e).__name__}: {e}".splitlines()[0][:200]}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
