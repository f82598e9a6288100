"""``crfkit tag`` on large files against the tagger in memory: seconds, and memory as files grow.

The file is CoNLL-2000's training data, again and again. The machine may have other work, so processor seconds
are printed beside those of the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tasks

from crfkit import CRF
from crfkit.features.template import Template
from crfkit.io import read_columns


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--tokens", type=float, nargs="+", default=[1e6, 1e7])
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])


def run(arguments: argparse.Namespace) -> None:
    """Print tokens per second, and the most memory that the command needed."""
    data = tasks.data_directory("conll2000") / "train.txt"
    table = read_columns(data)
    X, y = table.without(-1), table.column(-1)
    template = Template.read(Path(__file__).parents[1] / "chunking.template")
    model = CRF(template=template, c2=1.0, tol=1e-2, n_jobs=1).fit(X, y)
    began = time.process_time()
    model.predict(X)
    in_memory = table.n_positions / (time.process_time() - began)
    with tempfile.TemporaryDirectory() as folder:
        model.save(os.path.join(folder, "m"))
        content = data.read_bytes()
        for tokens in arguments.tokens:
            copies = max(1, round(tokens / table.n_positions))
            path = os.path.join(folder, "data.txt")
            with open(path, "wb") as file:
                for _ in range(copies):
                    file.write(content)
            for jobs in arguments.jobs:
                _tag(folder, path, jobs, copies * table.n_positions, in_memory)


def _tag(folder: str, path: str, jobs: int, n: int, in_memory: float) -> None:
    command = [sys.executable, "-m", "crfkit", "tag", os.path.join(folder, "m"), path, "-q", "-j", str(jobs)]
    began = time.perf_counter()
    with subprocess.Popen([*command, "-o", os.path.join(folder, "tagged")]) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall, own = time.perf_counter() - began, used.ru_utime + used.ru_stime
    figures = {
        "part": "tagging",
        "tokens": n,
        "jobs": jobs,
        "wall_s": round(wall, 2),
        "processor_s": round(own, 2),
        "tokens_per_processor_s": round(n / own),
        "in_memory_tokens_per_processor_s": round(in_memory),
        "ratio": round(in_memory / (n / own), 3),
        "most_memory_mb": round(used.ru_maxrss / 1024, 1),
    }
    print(json.dumps(figures), flush=True)
