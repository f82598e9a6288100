"""Bulk tagging of partitions: lists, data frames of every library, one model per process."""

import os

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refuses

import crfkit
from crfkit import CRF, tag_partition
from crfkit.features import token_features
from crfkit.models import partitions

WORDS = [["Ann", "sees", "2", "dogs"], ["Bob", "runs"], ["a", "dog", "sees", "Bob"]]
TAGS = [["NAME", "VERB", "NUM", "NOUN"], ["NAME", "VERB"], ["DET", "NOUN", "VERB", "NAME"]]
ROWS = pd.DataFrame(
    [
        (i, word, tag)
        for i, pair in enumerate(zip(WORDS, TAGS, strict=True))
        for word, tag in zip(*pair, strict=True)
    ],
    columns=["sid", "word", "tag"],
    index=np.arange(10) * 3 + 7,
)
LIBRARIES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame),
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}
every_library = pytest.mark.parametrize("library", LIBRARIES)


def as_lists(frame):
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    return frame.to_dict("list") if isinstance(frame, pd.DataFrame) else frame.to_dict(as_series=False)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    CRF(c2=0.01, extractor=token_features).fit(WORDS, TAGS).save(folder / "tokens.crfkit")
    CRF(c2=0.01).fit(ROWS, label="tag", sequence="sid").save(folder / "rows.crfkit")
    return folder


def test_a_list_of_sequences(models):
    assert tag_partition(models / "tokens.crfkit", WORDS) == TAGS
    assert tag_partition(models / "tokens.crfkit", []) == []
    assert joblib.Parallel(2)(
        joblib.delayed(tag_partition)(models / "tokens.crfkit", WORDS[i : i + 2]) for i in (0, 2)
    ) == [TAGS[:2], TAGS[2:]]


@every_library
def test_rows_of_a_frame(models, library):
    given = ROWS.drop(columns="tag")
    found = tag_partition(models / "rows.crfkit", LIBRARIES[library](given), column="label")
    assert as_lists(found) == {**given.to_dict("list"), "label": ROWS.tag.to_list()}
    if library == "pandas":
        assert found.index.equals(given.index)
        assert "label" not in given
    none = tag_partition(models / "rows.crfkit", LIBRARIES[library](given)[:0])
    assert as_lists(none) == {"sid": [], "word": [], "predicted": []}


@every_library
def test_one_sequence_per_row(models, library):
    given = LIBRARIES[library](pd.DataFrame({"words": WORDS, "n": [1, 2, 3]}))
    found = tag_partition(models / "tokens.crfkit", given, tokens="words")
    assert as_lists(found)["predicted"] == TAGS
    none = tag_partition(models / "tokens.crfkit", given[:0], tokens="words")
    if library == "arrow":
        assert none.schema == found.schema
    assert as_lists(none)["predicted"] == []


def test_a_model_is_opened_once_and_again_when_it_changes(models, tmp_path, monkeypatch):
    path = tmp_path / "model.crfkit"
    path.write_bytes((models / "tokens.crfkit").read_bytes())
    opened = []
    monkeypatch.setattr(partitions, "load", lambda *a, **more: opened.append(a) or crfkit.load(*a, **more))
    for _ in range(3):
        assert tag_partition(path, WORDS[:1]) == TAGS[:1]
    assert len(opened) == 1
    os.utime(path, ns=(1, 1))
    assert tag_partition(str(path), WORDS[:1]) == TAGS[:1]
    assert len(opened) == 2


def test_refusals(models):
    tokens, frame = models / "tokens.crfkit", pd.DataFrame({"words": WORDS})
    refuses("was not trained on a data frame", tag_partition, tokens, frame)
    refuses("'tokens', but the frame has words", tag_partition, tokens, frame, tokens="tokens")
    refuses("batch_format='pandas'", tag_partition, tokens, {"words": np.array(WORDS[0])})
    with pytest.raises(FileNotFoundError):
        tag_partition(models / "none.crfkit", WORDS)
