"""The benchmark of graphs runs on tiny generated data."""

import json

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
    for row in ("linear    | plus     | 0.1 ", "trees     | plus     | 0.3 ", "kernel    | plus     | 0.1 "):
        assert f"| {row}" in printed
    (tmp_path / "conll2002_es").mkdir()
    sentence = "Ana N B-PER\nve V O\na P O\nAna N B-PER\n\nel D O\nrío N O\n\n"
    for name in ("esp.train", "esp.testb"):
        (tmp_path / "conll2002_es" / name).write_text(sentence * 20, encoding="utf-8")
    printed = output("graph_tasks.py", "skip", "--quick", "--c2", "0.1", "--jobs", "1", data=tmp_path)
    for links in ("none", "next", "all"):
        assert f"| {links.ljust(5)} | 0.1 |" in printed
