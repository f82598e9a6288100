"""``crfkit train --kind segments``, and what other commands do with its models."""

import gzip
import json

import pytest

import crfkit

TEXT = """\
in DT O
New NN B-LOC
York NN I-LOC

of DT O
Rome NN B-LOC

in DT O
San NN B-LOC
Jose NN I-LOC

"""


@pytest.fixture
def files(tmp_path):
    data, cities, model = tmp_path / "train.txt", tmp_path / "cities.txt", tmp_path / "m.crfkit"
    data.write_text(3 * TEXT, encoding="utf-8")
    cities.write_text("New York\nSan Jose\nROME\n", encoding="utf-8")
    return data, cities, model


def test_train_tag_and_inspect(run, files, tmp_path):
    data, cities, model = files
    gazetteer = ("--gazetteer", f"city={cities}", "--ignore-case")
    done = run("train", data, "-m", model, "--kind", "segments", "--c2", 0.1, "--last-attributes", *gazetteer)
    assert done.code == 0
    assert "1 kinds of segments" in done.err
    assert "1 to 2, longer ones by a tail" in done.err
    tagged = run("tag", model, data, "-q")
    assert [line.split()[-1] for line in tagged.out.splitlines()[:3]] == ["O", "B-LOC", "I-LOC"]
    segments = run("tag", model, data, "-q", "--segments").out.splitlines()
    assert segments[0].split("\t")[:4] == ["0", "1", "3", "LOC"]
    why = run("tag", model, data, "-q", "--why").out
    assert "segment city" in why
    shown = run("inspect", model)
    assert "weights of lengths" in shown.out
    assert "segment city" in run("inspect", model, "--attribute", "segment *").out
    assert "from \\ to" in run("inspect", model, "--transitions").out
    assert "B-LOC" in run("inspect", model, "--top", 3, "--label", "B-LOC").out
    found = json.loads(run("inspect", model, "--json").out)
    assert found["segments"] == ["O", "LOC"]
    assert len(found["lengths"]["LOC"]) == 2
    assert "column(0" in run("inspect", model, "--template").out
    lines = run("inspect", model, "--dump").out.splitlines()
    assert any(line.startswith("length 2\t#\tLOC\t") for line in lines)
    assert run("calibrate", model, data, "-m", tmp_path / "c.crfkit").code == 0


def test_templates_of_several_files(run, files, tmp_path):
    data, cities, model = files
    template = tmp_path / "t"
    template.write_text("U00:%x[0,0]\nU01:%x[0,1]\nB\n", encoding="utf-8")
    more = ("--kind", "segments", "-t", template, "--gazetteer", f"city={cities}", "--dev", data)
    assert run("train", data, data, "-m", model, *more).code == 0
    assert "U00:%x[0,0]" in run("inspect", model, "--template").out
    assert run("tag", model, data, "-q").out.startswith("in\tDT\tO\tO")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--gazetteer", "cities.txt"), "must be NAME=FILE"),
        (("--c2", "auto"), "give a number"),
        (("--order", 2), "--order is for"),
        (("--ignore-case",), "needs --gazetteer"),
        (("--window", 3), "is for --kind trees, not for --kind segments"),
        (("--associations", "features"), "is for linear models, not for --kind segments"),
        (("--gazetteer", "city=nowhere.txt"), "nowhere.txt"),
        (("--max-length", 1, "--longer", "forbidden"), "a segment of 'LOC' has 2 positions"),
        (("--scheme", "none"), "scheme must be one of"),
    ],
)
def test_bad_options(run, files, options, message):
    data, _, model = files
    done = run("train", data, "-m", model, "--kind", "segments", *options)
    assert done.code != 0
    assert message in done.err
    assert not model.exists()


def test_options_of_segments_are_for_segments_only(run, files):
    data, _, model = files
    done = run("train", data, "-m", model, "--max-length", 3)
    assert "--max-length is for --kind segments, not for --kind linear" in done.err


def test_files_of_gazetteers(run, files, tmp_path):
    """They may begin with a byte-order mark or be packed; what is no text is refused by name and line."""
    data, path, model = files[0], tmp_path / "cities", tmp_path / "m"
    given = ("train", data, "-m", model, "--kind", "segments", "--gazetteer", f"city={path}", "-q")
    for content in ("\ufeffNew York\r\nRome\r\n".encode(), gzip.compress(b"New York\nRome\n")):
        path.write_bytes(content)
        run.ok(*given)
        lists = crfkit.load(model).segment_features
        assert list(lists.find(["New", "York", "Rome"], 2)) == [(0, 2, ["city"]), (2, 3, ["city"])]
    path.write_bytes(b"Rome\n\xff\xfe\n")
    assert f"{path}:2: not UTF-8 text" in run(*given).err
    path.write_bytes(b"\n \n")
    assert "list 'city': a dictionary must have entries" in run(*given).err
