"""Training from blocks on disk against training from memory, on CoNLL-2000 replicated with noise.

Every copy has 2 % of its words replaced by other words and 0.2 % by new ones. Private memory is what the
kernel cannot drop: anonymous pages, RssAnon in /proc/self/status, sampled twenty times per second.
``Private`` of smaps_rollup is larger: it also counts pages of the mapped files that only this process uses.
The passes from disk and from memory take turns; before each, the scratch files are dropped from the page
cache (posix_fadvise).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tasks

from crfkit import CRF, Blocks
from crfkit.data.labels import Labels
from crfkit.features.template import Template
from crfkit.models.linear.source import Given, LocalSource, local_source

_PAGE_CACHE_DROPPED = getattr(os, "POSIX_FADV_DONTNEED", None)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--tokens", type=float, default=1e6)
    parser.add_argument("--min-freq", type=float, default=5)
    parser.add_argument("--directory", help="for the files; default: a temporary one")
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--no-memory", action="store_true", help="leave out the passes from memory")
    parser.add_argument("--train", type=int, default=0, help="also train, with at most so many iterations")
    parser.add_argument("--jobs", type=int, default=None)


def run(arguments: argparse.Namespace) -> None:
    """Print bytes and seconds."""
    place = Path(arguments.directory or tempfile.mkdtemp(prefix="crfkit-scale-"))
    place.mkdir(exist_ok=True)
    try:
        _run(arguments, place)
    finally:
        if arguments.directory is None:
            shutil.rmtree(place)


def _run(arguments: argparse.Namespace, place: Path) -> None:
    text = place / f"conll2000x{int(arguments.tokens)}.txt"
    if not text.exists():
        replicate(tasks.data_directory("conll2000") / "train.txt", text, int(arguments.tokens))
    template = Template.read(Path(__file__).parents[1] / "chunking.template")
    figures: dict[str, Any] = {"part": "blocks", "min_freq": arguments.min_freq}
    directory = place / "blocks"
    if not directory.exists():
        with measured(figures, "write"):
            Blocks.write(directory, text, template=template, min_freq=arguments.min_freq)
    blocks = Blocks.open(directory)
    figures |= {"tokens": blocks.sequences.n_positions, "block_bytes": blocks.n_bytes}
    crf = CRF(c2=1.0, min_freq=arguments.min_freq, n_jobs=arguments.jobs)
    with measured(figures, "open"):
        source = of(crf, blocks)
    P = source.function.n_parameters
    figures |= {"parameters": P, "memory_limit": round(blocks.n_bytes / 10 + (2 * 10 + 4) * 8 * P)}
    x = np.random.default_rng(0).normal(0, 0.1, P)
    both = {"disk": source.function}
    if not arguments.no_memory:
        both["memory"] = of(crf, in_memory(blocks)).function
    seconds: dict[str, list[float]] = {name: [] for name in both}
    found = {}
    with measured(figures, "passes"):
        for _ in range(arguments.passes):
            for name, function in both.items():
                drop_page_cache()
                began = time.perf_counter()
                found[name] = function(x)
                seconds[name].append(time.perf_counter() - began)
    figures["pass_s"] = {name: [round(each, 3) for each in some] for name, some in seconds.items()}
    if len(found) == 2:
        figures["ratio"] = round(min(seconds["disk"]) / min(seconds["memory"]), 3)
        figures["same_value"] = bool(found["disk"].value == found["memory"].value)
        figures["same_gradient"] = bool((found["disk"].gradient == found["memory"].gradient).all())
    if arguments.train:
        with measured(figures, "train"):
            model = CRF(c2=1.0, min_freq=arguments.min_freq, max_iterations=arguments.train, verbose=2)
            model.fit(blocks)
        figures["objective"] = model.objective_
    print(json.dumps(figures), flush=True)


def of(crf: CRF, blocks: Blocks) -> LocalSource:
    """Return the training data, laid out."""
    return local_source(crf, Given(blocks, None, None, None, None, None))


def in_memory(blocks: Blocks) -> Blocks:
    """Return the same blocks with their arrays in memory."""
    s = blocks.sequences
    copied = replace(s, offsets=s.offsets.copy(), indptr=s.indptr.copy(), indices=s.indices.copy(), home=None)
    return replace(blocks, sequences=copied, labels=Labels(blocks.labels.ids.copy(), None))


def replicate(source: Path, target: Path, n_tokens: int) -> None:
    """Write copies of a file of columns, with noise."""
    lines = source.read_text().splitlines()
    rows = [line.split(" ", 1) if line else None for line in lines]
    words = np.array([row[0] for row in rows if row is not None])
    places = np.array([i for i, row in enumerate(rows) if row is not None])
    random, written = np.random.default_rng(0), 0
    with open(f"{target}.part", "w") as file:
        while written < n_tokens:
            copy = list(lines)
            chosen = random.random(len(words))
            for k in np.flatnonzero(chosen < 0.022).tolist():
                word = (
                    str(words[random.integers(len(words))])
                    if chosen[k] < 0.02
                    else f"w{random.integers(10**9)}"
                )
                at = int(places[k])
                copy[at] = f"{word} {rows[at][1]}"  # type: ignore[index]
            file.write("\n".join(copy) + "\n\n")
            written += len(words)
    os.rename(f"{target}.part", target)


@contextmanager
def measured(figures: dict[str, Any], name: str) -> Iterator[None]:
    """Add the seconds of a block of code and the largest memory meanwhile."""
    peak, stop = {"RssAnon": 0, "Private": 0}, threading.Event()

    def look() -> None:
        while not stop.wait(0.05):
            for key, found in memory().items():
                peak[key] = max(peak[key], found)

    thread = threading.Thread(target=look, daemon=True)
    began = time.perf_counter()
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    figures[f"{name}_s"] = round(time.perf_counter() - began, 2)
    figures[f"{name}_anonymous"], figures[f"{name}_private"] = peak["RssAnon"], peak["Private"]


def memory() -> dict[str, int]:
    """Return the bytes of anonymous memory, and of all pages that only this process uses."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    rollup = [line.split() for line in Path("/proc/self/smaps_rollup").read_text().splitlines()]
    private = sum(int(words[1]) for words in rollup if words[0].startswith("Private_"))
    return {"RssAnon": 1024 * int(status["RssAnon"].split()[0]), "Private": 1024 * private}


def drop_page_cache() -> None:
    """Drop the scratch files of this process from the page cache, as far as the system does."""
    if _PAGE_CACHE_DROPPED is None:
        return
    for name in os.listdir("/proc/self/fd"):
        try:
            if "crfkit-scratch" in os.readlink(f"/proc/self/fd/{name}"):
                os.fdatasync(int(name))
                os.posix_fadvise(int(name), 0, 0, _PAGE_CACHE_DROPPED)
        except OSError:
            continue
