"""``crfkit train --graphs``; ``tag``, ``eval`` and ``inspect`` with the model."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from crfkit import GraphCRF
from crfkit.cli import main

RNG = np.random.default_rng(0)


def grids(n):
    """Return lines with grids in which every second column has the label B, and the letters are noisy."""
    lines = []
    for _ in range(n):
        labels = [["A", "B", "A"] for _ in range(2)]
        cells = ["".join("ab"[(x == "B") ^ (RNG.random() < 0.2)] for x in row) for row in labels]
        lines.append({"cells": cells, "labels": labels, "id": len(lines)})
    return lines


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write(tmp_path_factory.mktemp("graphs") / "train.jsonl", grids(20))


@pytest.fixture(scope="module")
def model(data):
    path = data.parent / "model.crfkit"
    assert main(["train", "--graphs", str(data), "-m", str(path), "--c2", "0.1", "-j", "1"]) == 0
    return path


def test_train(data, run, tmp_path):
    ran = run.ok("train", "--graphs", data, "-m", tmp_path / "m", "--ends", "--c1", 0.1, "--dev", data)
    assert "data         20 graphs, 120 nodes\n" in ran.err
    assert "2 labels, attributes: 2 of nodes" in ran.err
    assert "dev accuracy" in ran.err
    assert GraphCRF.load(tmp_path / "m").get_params()["ends"] is True
    ran = run.ok(
        "train", "--kind", "graphs", data, data, "-m", tmp_path / "m", "--training", "pseudo-likelihood"
    )
    assert "40 graphs" in ran.err


@pytest.mark.parametrize(
    ("kind", "settings", "potential"),
    [
        ("trees", ("--leaves", 2, "--learning-rate", 0.5, "--max-iterations", 5), "TreeCRF"),
        ("kernel", ("--kernel", "laplacian", "--gamma", "median", "--edges", "--cliques", 5), "KernelCRF"),
    ],
)
def test_other_potentials(kind, settings, potential, run, tmp_path):
    lines, model = grids(20), tmp_path / "m"
    for line in lines:
        line["cells"] = [[[float(letter == "b"), 1.0] for letter in row] for row in line["cells"]]
    data = write(tmp_path / "numbers.jsonl", lines)
    ran = run.ok("train", "--graphs", data, "--kind", kind, *settings, "-m", model, "--dev", data)
    assert "2 labels" in ran.err
    given = GraphCRF.load(model).get_params()
    assert type(given["potential"]).__name__ == potential
    found = given["potential"].get_params()
    if kind == "trees":
        assert (found["n_leaves"], found["learning_rate"], found["n_iterations"]) == (2, 0.5, 5)
    else:
        assert (found["kernel"], found["gamma"], found["cliques"]) == ("laplacian", "median", "vertex+edge")
    report = run.ok("tag", model, data, "--eval", "-o", tmp_path / "tagged").err
    assert float(report.split("token accuracy")[1].split()[0]) > 75
    assert kind in run.ok("inspect", model).out


def test_tag_and_eval(data, model, run, tmp_path):
    ran = run.ok("tag", model, data, "--eval", "-o", tmp_path / "tagged.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "tagged.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == list(range(20))
    assert all(np.shape(line["predicted"]) == (2, 3) for line in lines)
    right = np.mean([np.array(line["predicted"]) == np.array(line["labels"]) for line in lines])
    assert right > 0.9
    assert f"token accuracy                       {100 * right:.2f}".rstrip() in ran.err
    report = json.loads(run.ok("eval", "--graphs", tmp_path / "tagged.jsonl", "--json").out)
    assert report["n_tokens"] == 120
    ran = run.ok("tag", model, data, "--marginals", "all", "--posterior")
    first = json.loads(ran.out.splitlines()[0])["probabilities"][0][0]
    assert sum(first.values()) == pytest.approx(1, abs=1e-5)
    best = json.loads(run.ok("tag", model, data, "--marginals").out.splitlines()[0])["probabilities"][0][0]
    assert best == pytest.approx(max(first.values()))


@pytest.mark.parametrize("kind", ["linear", "trees", "kernel"])
def test_the_file_of_the_page(kind, run, tmp_path):
    """Every kind takes the lines that docs/graphs.md shows: a string is an item with one attribute."""
    page = (Path(__file__).parents[2] / "docs" / "graphs.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith(('{"nodes"', '{"cells"'))]
    (tmp_path / "g.jsonl").write_text("\n".join(lines * 10), encoding="utf-8")
    run.ok("train", "--graphs", tmp_path / "g.jsonl", "--kind", kind, "-m", tmp_path / "m")
    tagged = run.ok("tag", tmp_path / "m", tmp_path / "g.jsonl").out.splitlines()
    for found in map(json.loads, tagged):
        assert found["predicted"] == found["labels"]


def test_labels_that_conlleval_treats_specially(run, tmp_path):
    """0 and O, say the atoms of oxygen, are labels like the others."""
    lines = [{"nodes": ["a", "b", "c"], "labels": [0, "O", "C"], "predicted": [0, "O", "O"]}]
    report = run.ok("eval", "--graphs", write(tmp_path / "atoms.jsonl", lines)).out
    rows = {line.split()[0]: line.split()[1:] for line in report.splitlines() if line.strip()}
    assert rows["0"] == ["100.00", "100.00", "100.00", "1"]
    assert rows["O"] == ["50.00", "100.00", "66.67", "1"]
    assert rows["C"] == ["0.00", "0.00", "0.00", "1"]


def test_messages_name_file_and_line(model, run, tmp_path):
    right = {"nodes": [{"x": 1}, {"x": 2}], "edges": [[0, 1]], "labels": ["A", "B"]}
    good = write(tmp_path / "good.jsonl", [right])

    def bad(**changes):
        return write(tmp_path / "bad.jsonl", [right, right | changes])

    wrong = bad(nodes=[{"x": 1}, {"x": None}])
    ran = run("train", "--graphs", good, wrong, "-m", tmp_path / "m")
    assert f"{wrong}:2: node 1: feature 'x': a value must be" in ran.err
    wide = bad(edge_features=[[1.0]])
    ran = run("train", "--graphs", good, wide, "-m", tmp_path / "m")
    assert f"{good}:1: the graph has edges without edge_features" in ran.err
    ran = run("train", "--graphs", good, "-m", tmp_path / "m", "--dev", bad(edge_types=["up"]))
    assert f"{tmp_path / 'bad.jsonl'}:2: the model knows no edges of type 'up'" in ran.err
    ran = run("tag", model, bad())
    assert f"{tmp_path / 'bad.jsonl'}:1: its edges have no types" in ran.err
    many = write(tmp_path / "many.jsonl", [*grids(250), {"nodes": [{"x": None}]}])
    ran = run("tag", model, many, "-o", tmp_path / "tagged")
    assert f"{many}:251: node 0: feature 'x'" in ran.err


def test_compressed_files_and_pipes(data, model, run, tmp_path):
    packed = tmp_path / "train.jsonl.gz"
    packed.write_bytes(gzip.compress(data.read_bytes()))
    assert run.ok("tag", model, packed).out == run.ok("tag", model, data).out
    run.ok("train", "--graphs", packed, "-m", tmp_path / "m", "--kind", "kernel", "--cliques", 4)
    assert "kernel" in run.ok("inspect", tmp_path / "m").out


def test_inspect(model, run):
    overview = run.ok("inspect", model).out
    assert "graph CRF" in overview
    assert "label pairs of edges of type down" in overview
    assert "attributes of nodes" in run.ok("inspect", model, "--top", 2).out
    dumped = [line.split("\t") for line in run.ok("inspect", model, "--dump").out.splitlines()]
    assert {line[0] for line in dumped} == {"(bias)", "a", "b", "down", "right"}
    found = json.loads(run.ok("inspect", model, "--json").out)
    assert found["edge_types"] == ["down", "right"]
    assert np.shape(found["pairs"]["right"]) == (2, 2)


def test_errors(data, model, run, tmp_path):
    bare = write(tmp_path / "bare.jsonl", [{"nodes": ["a"]}])
    empty = write(tmp_path / "empty.jsonl", [])
    for arguments, message in [
        (("train", "--graphs", bare, "-m", tmp_path / "m"), "bare.jsonl:1: the graph has no labels"),
        (("train", "--graphs", empty, "-m", tmp_path / "m"), "empty.jsonl: the file is empty"),
        (("train", data, "-m", tmp_path / "m"), "graphs need 'crfkit train --graphs'"),
        (
            ("train", "--graphs", data, "-m", tmp_path / "m", "--order", 2),
            "--order does not go with --graphs",
        ),
        (("train", "--graphs", data, "-m", tmp_path / "m", "--c2", "auto"), "--c2 auto does not go with"),
        (("train", "--graphs", data, "-m", tmp_path / "m", "--window", 3), "--window is for --kind trees"),
        (("train", "--graphs", data, "-m", tmp_path / "m", "--leaves", 3), "--leaves is for --kind trees"),
        (("train", "--graphs", data, "-m", tmp_path / "m", "--kind", "trees", "--c1", 1), "--c1 is for"),
        (("train", "--graphs", data, "-m", tmp_path / "m", "--kind", "segments"), "--kind segments does not"),
        (("train", data, "-m", tmp_path / "m", "--ends"), "--ends is for --graphs, not for --kind linear"),
        (("tag", model, data, "--nbest", 2), "--nbest does not go with a model of graphs"),
        (("tag", model, bare, "--eval"), "bare.jsonl:1: the graph needs a true label of every node"),
        (("eval", "--graphs", data), "train.jsonl:1: the graph has no predicted labels"),
        (("eval", "--graphs", empty), "the file is empty"),
        (("eval", "--graphs", data, "--strict"), "no segments to score"),
        (("inspect", model, "--attribute", "a"), "--attribute needs a linear model"),
    ]:
        ran = run(*arguments)
        assert ran.code != 0
        assert message in ran.err
