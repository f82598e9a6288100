"""Peak memory of loading CoNLL-2000 and training for ten iterations, beside the Python features themselves.

    python benchmarks/memory.py crfkit        # or: crfsuite

One library a process, for a peak cannot be taken back. Prints megabytes as JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import tasks
from measure import peak_megabytes, reset_peak, resident_megabytes


def of_crfkit(task: tasks.Task) -> dict[str, float]:
    """All cores, as by default."""
    before = resident_megabytes()
    import crfkit_side

    from crfkit.threads import thread_count

    imported = resident_megabytes()
    reset_peak()
    loaded = crfkit_side.load(task.X, task.y)
    crfkit_side.fit(loaded, c1=0.0, c2=1.0, threads=thread_count(None), max_iterations=10)
    return {"import": imported - before, "train": peak_megabytes() - imported}


def of_crfsuite(task: tasks.Task) -> dict[str, float]:
    """With lbfgs."""
    before = resident_megabytes()
    import crfsuite_side

    imported = resident_megabytes()
    reset_peak()
    with tempfile.TemporaryDirectory() as folder:
        trainer = crfsuite_side.load(task.X, task.y)
        crfsuite_side.fit(trainer, Path(folder) / "model", c1=0.0, c2=1.0, max_iterations=10)
    return {"import": imported - before, "train": peak_megabytes() - imported}


LIBRARIES = {"crfkit": of_crfkit, "crfsuite": of_crfsuite}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--sentences", type=int, help="only so many sentences")
    options = parser.parse_args()
    print(json.dumps(LIBRARIES[options.library](tasks.conll2000(options.sentences))))


if __name__ == "__main__":
    main()
