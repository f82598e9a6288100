"""The model's file: as in the original, except that a temporary one is written when it is asked for."""

import os
import pickle

import pytest
from sklearn_crfsuite._fileresource import FileResource as Original

from crfkit.compat.sklearn_crfsuite import CRF
from crfkit.compat.sklearn_crfsuite.file_resource import FileResource


@pytest.mark.parametrize("kind", [FileResource, Original])
def test_temporary_files_come_and_go(kind):
    file = kind(suffix=".x", prefix="y")
    assert (file.auto, file.name, file.keep_tempfiles) == (True, None, False)
    file.ensure_name()
    first = file.name
    file.ensure_name()
    assert file.name == first
    assert os.path.basename(first).startswith("y")
    assert os.path.getsize(first) == 0
    file.refresh()
    assert file.name != first
    assert not os.path.exists(first)
    second = file.name
    file.cleanup()
    assert file.name is None
    assert not os.path.exists(second)
    file.cleanup()
    file.ensure_name()
    third = file.name
    del file
    assert not os.path.exists(third)


@pytest.mark.parametrize("kind", [FileResource, Original])
def test_given_and_kept_files_stay(kind, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"model")
    given, kept = kind(str(path)), kind(keep_tempfiles=True)
    kept.ensure_name()
    for file in (given, kept):
        name = file.name
        file.cleanup()
        assert file.name == name
        assert os.path.exists(name)
    os.unlink(kept.name)
    given.name = None
    with pytest.raises(ValueError, match=r"[Ff]ile name"):
        given.ensure_name()


@pytest.mark.parametrize("kind", [FileResource, Original])
def test_pickles_hold_temporary_files_only(kind, tmp_path):
    auto, given = kind(suffix=".s"), kind(str(tmp_path / "model"))
    auto.ensure_name()
    with open(auto.name, "wb") as file:
        file.write(b"content")
    again = pickle.loads(pickle.dumps(auto))
    assert again.name != auto.name
    assert again.suffix == ".s"
    with open(again.name, "rb") as file:
        assert file.read() == b"content"
    assert pickle.loads(pickle.dumps(given)).name == given.name
    empty = pickle.loads(pickle.dumps(kind()))
    assert (empty.name, empty.auto) == (None, True)


def test_of_an_estimator(small):
    crf = CRF(max_iterations=3)
    assert crf.modelfile.auto
    assert crf.modelfile.name is None
    crf.fit(*small[:2])
    name = crf.modelfile.name
    with open(name, "rb") as file:
        assert file.read(4) == b"lCRF"
    crf.modelfile.cleanup()
    assert not os.path.exists(name)
    assert crf.predict(small[2]) is not None  # the model itself is in memory
