"""Training from blocks on disk: the same model as from memory, whatever they were written from."""

import gzip
import os
import sys
import time
from collections import Counter
from importlib import import_module
from subprocess import PIPE, Popen

import numpy as np
import pytest
from interruptions import interrupt
from small_tasks import ADDRESSES, CASINO

from crfkit import CRF, Blocks, Checkpoint
from crfkit.datasets import addresses
from crfkit.exceptions import InputError, ModelFileError
from crfkit.features import token_features
from crfkit.models import block_sources, blocks
from crfkit.objectives.linear_likelihood import LinearLikelihood

TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\nB\n"


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(block_sources, "POSITIONS", 150)


def same(one: CRF, other: CRF, X) -> None:
    assert one.objective_ == other.objective_
    assert one.transition_features_ == other.transition_features_
    assert one.state_features_ == other.state_features_
    assert one.predict(X) == other.predict(X)


@pytest.mark.parametrize("task", [ADDRESSES, CASINO], ids=["attributes", "values"])
@pytest.mark.parametrize("settings", [{"c1": 0.2}, {"class_weight": "balanced"}])
def test_the_model_is_that_of_memory(tmp_path, task, settings):
    X, y = task
    found = Blocks.write(tmp_path / "blocks", zip(X, y, strict=True))
    crf = CRF(c2=0.1, **settings)
    same(crf.fit(X, y), CRF(c2=0.1, **settings).fit(Blocks.open(tmp_path / "blocks")), X)
    assert os.listdir(tmp_path) == ["blocks"]
    assert f"{len(X)} sequences" in repr(found)


def test_partial_labels_and_weights(tmp_path):
    X, y = ADDRESSES
    y = [list(labels) for labels in y]
    y[3][0], y[40][1], y[70] = None, {y[40][1], y[0][0]}, [None] * len(y[70])
    weights = [1.0] * 50 + [0.5] * 30
    Blocks.write(tmp_path / "blocks", zip(X, y, weights, strict=True))
    found = CRF(c2=0.1).fit(Blocks.open(tmp_path / "blocks"))
    same(CRF(c2=0.1).fit(X, y, weights), found, X)


def rows(n: int) -> list[list[tuple[str, str]]]:
    return [list(zip(*both, strict=True)) for both in zip(*addresses(n, random_state=1), strict=True)]


def write_files(tmp_path) -> list[str]:
    parts = rows(30), rows(60)[30:]
    text = ["\n\n".join("\n".join(map(" ".join, s)) for s in part) + "\n" for part in parts]
    (tmp_path / "one.txt").write_text(text[0])
    with gzip.open(tmp_path / "two.txt.gz", "wt") as file:
        file.write(text[1])
    return [str(tmp_path / "one.txt"), str(tmp_path / "two.txt.gz")]


def test_files_of_columns(tmp_path):
    paths = write_files(tmp_path)
    found = Blocks.write(tmp_path / "blocks", paths, template=TEMPLATE)
    x = [[[word] for word, _ in s] for s in rows(60)]
    y = [[label for _, label in s] for s in rows(60)]
    same(CRF(template=TEMPLATE).fit(x, y), CRF().fit(found), x)
    assert found.header["record"] == {"columns": 2, "label_column": 1}
    with pytest.raises(InputError, match="written with another template"):
        CRF(template="U:%x[0,0]").fit(found)
    with pytest.raises(InputError, match="need something that makes attributes: give template="):
        Blocks.write(tmp_path / "other", paths)
    (tmp_path / "bad.txt").write_text("a B\nb\n")
    with pytest.raises(InputError, match=r"bad\.txt:2"):
        Blocks.write(tmp_path / "other", [*paths, str(tmp_path / "bad.txt")], template=TEMPLATE)
    assert sorted(os.listdir(tmp_path)) == ["bad.txt", "blocks", "one.txt", "two.txt.gz"]


def test_files_of_attributes(tmp_path):
    X, y = ADDRESSES
    lines = ["".join(f"{b}\t" + "\t".join(f"f{len(i)}" for i in a) + "\n" for a, b in zip(*s, strict=True))
             for s in zip(X, y, strict=True)]  # fmt: skip
    path = tmp_path / "data.crfsuite"
    path.write_text("\n".join(lines))
    items = [[[f"f{len(i)}" for i in a] for a in x] for x in X]
    same(CRF().fit(items, y), CRF().fit(Blocks.write(tmp_path / "blocks", path)), items)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_parquet_and_arrow(tmp_path, ending):
    arrow = pytest.importorskip("pyarrow")
    words = [[word for word, _ in s] for s in rows(60)]
    y = [[label for _, label in s] for s in rows(60)]
    table, path = arrow.table({"tokens": words, "labels": y}), str(tmp_path / f"data.{ending}")
    if ending == "parquet":
        import_module("pyarrow.parquet").write_table(table, path)
    else:
        with arrow.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    found = Blocks.write(tmp_path / "blocks", path, extractor=token_features)
    same(CRF(extractor=token_features).fit(words, y), CRF().fit(found), words)
    with pytest.raises(InputError, match=r"column 'tags'.*got the columns tokens, labels"):
        Blocks.write(tmp_path / "other", path, extractor=token_features, label_column="tags")


def test_rare_attributes_are_dropped_and_hashing_changes_nothing(tmp_path):
    for name, (X, y) in {"addresses": ADDRESSES, "casino": CASINO}.items():
        whole = Blocks.write(tmp_path / name, X, y)
        some = Blocks.write(tmp_path / f"{name}-some", X, y, min_freq=4)
        hashed = Blocks.write(tmp_path / f"{name}-hashed", X, y, min_freq=4, buckets=3000)
        counts = Counter(whole.sequences.indices.tolist())
        often = [whole.encoder.vocabulary.strings()[a] for a, n in sorted(counts.items()) if n >= 4]
        assert some.encoder.vocabulary.strings() == often
        assert sorted(hashed.encoder.vocabulary.strings()) == sorted(often)
        assert some.collisions is None
        assert 0 < hashed.collisions < 0.9 if name == "addresses" else hashed.collisions == 0
        models = [CRF(min_freq=4).fit(each) for each in (whole, some, hashed)]
        assert models[0].state_features_ == models[1].state_features_
        assert models[2].objective_ == pytest.approx(models[0].objective_, rel=1e-5)
        assert models[2].state_features_.keys() == models[0].state_features_.keys()
    with pytest.raises(InputError, match="read only once: give a list"):
        Blocks.write(tmp_path / "x", zip(X, y, strict=True), min_freq=4, buckets=300)
    with pytest.raises(InputError, match="give min_freq above 1"):
        Blocks.write(tmp_path / "x", X, y, buckets=300)


def test_what_is_not_whole_is_refused(tmp_path):
    X, y = ADDRESSES
    place = tmp_path / "blocks"
    Blocks.write(place, X, y)
    with pytest.raises(ModelFileError, match="has no blocks"):
        Blocks.open(tmp_path)
    with pytest.raises(InputError, match="holds no blocks: name another directory"):
        Blocks.write(tmp_path, X, y)
    with pytest.raises(InputError, match=r"sequences from 0 on: sequence 1 has 1 items but 2 labels"):
        Blocks.write(place, [([["a"]], ["A"]), ([["a"]], ["A", "B"])])
    with pytest.raises(InputError, match=r"expected a pair \(x, y\)"):
        Blocks.write(place, [3])
    assert os.listdir(tmp_path) == ["blocks"]
    assert CRF().fit(Blocks.open(place)).converged_  # the old ones are as they were
    with pytest.raises(InputError, match="leave out y"):
        CRF().fit(Blocks.open(place), y)
    with pytest.raises(InputError, match="partial_fit takes sequences"):
        CRF().fit(X, y).partial_fit(Blocks.open(place), y)
    size = os.path.getsize(place / "indices.i4")
    os.truncate(place / "indices.i4", size - 4)
    with pytest.raises(ModelFileError, match=rf"indices\.i4 has {size - 4:,} bytes, expected {size:,}"):
        Blocks.open(place)
    Blocks.write(place, X, y)
    data = np.fromfile(place / "indices.i4", np.int32)
    for change, words in ((1 << 30, "numbers that are not from 0 to"), (data[6], "another checksum")):
        damaged = data.copy()
        damaged[5] = change
        damaged.tofile(place / "indices.i4")
        with pytest.raises(ModelFileError, match=rf"are damaged: indices\.i4 has {words}.*write them again"):
            Blocks.open(place)
    data.tofile(place / "indices.i4")
    Blocks.open(place)
    os.unlink(place / "labels.i4")
    with pytest.raises(ModelFileError, match=r"labels\.i4"):
        Blocks.open(place)


def test_another_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "VERSION", 7)
    Blocks.write(tmp_path / "blocks", *ADDRESSES)
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match="have the version 7, but this crfkit reads version 2"):
        Blocks.open(tmp_path / "blocks")


WRITER = """
import sys
from crfkit import Blocks
from crfkit.datasets import addresses

while True:
    for n in (5, 40):
        X, y = addresses(n, random_state=0)
        Blocks.write(sys.argv[1], [[[word] for word in x] for x in X], y, n_jobs=1)
        print(flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="locks of Unix")
def test_killed_writers_leave_nothing_for_ever(tmp_path):
    lengths = {sum(map(len, addresses(n, random_state=0)[0])) for n in (5, 40)}
    random, left = np.random.default_rng(0), 0
    for _ in range(6):
        with Popen([sys.executable, "-c", WRITER, tmp_path / "blocks"], stdout=PIPE) as writer:
            writer.stdout.readline()
            time.sleep(random.uniform(0, 0.1))
            writer.kill()
        if (tmp_path / "blocks").exists():  # one in thousands is killed between two renamings
            assert Blocks.open(tmp_path / "blocks").sequences.n_positions in lengths
        left += any(path.suffix == ".lock" for path in tmp_path.iterdir())
    assert left > 0
    Blocks.write(tmp_path / "blocks", *ADDRESSES)
    assert os.listdir(tmp_path) == ["blocks"]


def test_ctrl_c_and_resume_as_in_memory(tmp_path, monkeypatch):
    X, y = ADDRESSES
    found = Blocks.write(tmp_path / "blocks", X * 8, [*y] * 8)
    whole, crf, state = CRF(c2=0.1).fit(found), CRF(c2=0.1), tmp_path / "state"
    with monkeypatch.context() as patch:
        interrupt(patch, LinearLikelihood, "__call__", 12)
        with pytest.raises(KeyboardInterrupt, match="interrupted"):
            crf.fit(found, checkpoint=Checkpoint(state, 0))
    assert crf.predict(X)
    again = CRF(c2=0.1).fit(Blocks.open(tmp_path / "blocks"), checkpoint=Checkpoint(state, resume=True))
    same(whole, again, X)
