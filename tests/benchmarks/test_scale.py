"""The benchmark of large data runs on tiny data, and its figures are what they say."""

import json

import pytest
from benchmark_runs import output


@pytest.fixture
def data(tmp_path):
    (tmp_path / "conll2000").mkdir()
    sentence = "the DT B-NP\ncat NN I-NP\nsleeps VB B-VP\n. . O\n\n"
    (tmp_path / "conll2000" / "train.txt").write_text(sentence * 30)
    return tmp_path


def test_threads(data):
    lines = output("scale.py", "threads", "--features", 2000, "--rounds", 1, data=data).splitlines()
    figures = [json.loads(line) for line in lines]
    assert [each["rows"] for each in figures] == ["lists", "dense"]
    assert all(1000 <= each["features"] <= 40_000 for each in figures)


def test_blocks(data):
    given = ("--tokens", 900, "--min-freq", 2, "--passes", 1, "--train", 3)
    found = json.loads(output("scale.py", "blocks", *given, data=data).splitlines()[-1])
    assert found["tokens"] == 960
    assert found["same_value"]
    assert found["same_gradient"]
    assert found["block_bytes"] > 960 * 4


def test_cluster(data):
    lines = output("scale.py", "cluster", "--tokens", 1, "--rounds", 1, "--fit", 1e-5, data=data)
    figures, *curves, optimum = map(json.loads, lines.splitlines())
    assert abs(optimum["differ"]) < 1e-4
    assert figures["tokens"] == 2 * 120
    assert len(figures["weights_of_parts"]) == 2
    assert figures["value_differs"] < 1e-6
    assert figures["bytes_ratio"] > 1
    assert len(curves) == 3
    assert all(0 <= share <= 1 for curve in curves for share in curve["efficiency"].values())


def test_tagging(data):
    found = json.loads(output("scale.py", "tagging", "--tokens", 500, "--jobs", 1, data=data))
    assert found["tokens"] == 4 * 120
    assert found["tokens_per_processor_s"] > 0
