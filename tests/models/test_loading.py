"""``crfkit.load`` opens models of any kind."""

import io

import pytest
from foreign_models import FILES

from crfkit import CRF, load
from crfkit.exceptions import ModelFileError
from crfkit.io import write_model


def test_other_tools():
    assert isinstance(load(FILES["wapiti"]), CRF)
    assert isinstance(load(io.BytesIO(FILES["crfpp_text"])), CRF)


def test_own_models(tmp_path):
    crf = CRF().fit([[["a"], ["b"]]], [["X", "Y"]])
    crf.save(tmp_path / "m")
    for source in (tmp_path / "m", str(tmp_path / "m"), (tmp_path / "m").read_bytes()):
        assert load(source, n_jobs=1).predict([[["a"], ["b"]]]) == [["X", "Y"]]
    with (tmp_path / "m").open("rb") as file:
        assert load(file).classes_ == ["X", "Y"]


def test_what_is_not_a_model_of_sequences(tmp_path):
    write_model(tmp_path / "m", {"model": "gene finder"}, {})
    with pytest.raises(ModelFileError, match="it is a gene finder: load it with"):
        load(tmp_path / "m")
    write_model(tmp_path / "m", {"model": "toaster"}, {})
    with pytest.raises(ModelFileError, match="it is a toaster"):
        load(tmp_path / "m")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")
