"""JSON lines: the shapes that tools write, what is written back, errors with their places."""

import io
import json
import pickle

import pytest
from refusals import refuses

from crfkit.data.columns import Columns
from crfkit.exceptions import InputWarning
from crfkit.io.jsonl_data import read_jsonl, read_text, stream_jsonl, stream_text, write_jsonl, write_text

TEXT = "EU rejects Peter Blackburn."
ROWS = [["EU", "B-ORG"], ["rejects", "O"], ["Peter", "B-PER"], ["Blackburn", "I-PER"], [".", "O"]]
SPANS = [[11, 26, "PER"], [0, 2, "ORG"]]


def lines(*contents):
    return io.BytesIO("".join(json.dumps(content) + "\n" for content in contents).encode())


def as_dicts(label="label", wrap=lambda x: x):
    return [{"start": a, "end": b, label: wrap(c), "more": 1} for a, b, c in SPANS]


STUDIO = as_dicts("labels", lambda c: [c])


@pytest.mark.parametrize(
    "content",
    [
        {"tokens": [token for token, _ in ROWS], "tags": [tag for _, tag in ROWS]},
        {"id": "7", "words": [token for token, _ in ROWS], "ner_tags": [tag for _, tag in ROWS]},
        {"text": TEXT, "label": SPANS},
        {"text": TEXT, "labels": SPANS, "meta": {"a": [1]}},
        {"text": TEXT, "entities": [{"start_offset": a, "end_offset": b, "label": c} for a, b, c in SPANS]},
        {"text": TEXT, "spans": as_dicts(), "tokens": None},
        {"text": TEXT, "label": STUDIO},
        {"data": {"text": TEXT}, "annotations": [{"result": [{"value": v} for v in STUDIO]}]},
    ],
)
def test_shapes(content):
    table = read_jsonl(lines(content))
    assert list(table) == [ROWS]
    assert table.names == ("token", "label")
    assert table.tokenizer == (None if content.get("tokens") or "words" in content else "words")
    array = read_jsonl(io.BytesIO(json.dumps([content, content], indent=1).encode()))
    assert list(array) == [ROWS, ROWS]


def test_without_labels():
    table = read_jsonl(lines({"text": "a b"}, {"text": " "}, {"tokens": ["c"]}))
    assert list(table) == [[["a"], ["b"]], [["c"]]]
    assert table.names == ("token",)
    assert table.lines.tolist() == [1, 1, 3]


def test_the_key_of_the_labels_can_be_named():
    content = {"tokens": ["a"], "tags": ["X"], "pos": [3]}
    assert list(read_jsonl(lines(content), label_key="pos")) == [[["a", "3"]]]
    message = "<stream>:1: there is no key 'no'; there are 'tokens', 'tags', 'pos'"
    refuses(message, read_jsonl, lines(content), label_key="no")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1], "expected an object, got int"),
        ("x", "expected an object, got str"),
        ({}, "expected a key 'tokens' or 'text', got no key"),
        ({"text": 3}, "expected a key 'tokens' or 'text', got 'text'"),
        ({"tokens": ["a", "b"], "tags": ["X"]}, "2 tokens, but 1 tags"),
        ({"tokens": ["a", None]}, r"tokens\[1\]: expected text, got None"),
        ({"tokens": ["a", ""]}, r"tokens\[1\]: expected text, got ''"),
        ({"tokens": ["a"], "tags": "X"}, "tags must be a list, got str"),
        ({"text": "ab", "label": [[0, 1, "X"]]}, r"the span X \[0, 1\) 'a' cuts the token 'ab'"),
        ({"text": "ab", "label": [[0, 2]]}, "expected a span with start, end and label"),
        ({"text": "ab", "label": [[0, True, "X"]]}, "expected a span with start, end and label"),
        ({"text": "ab", "spans": [{"start": 0, "end": 2, "labels": ["A", "B"]}]}, "expected a span"),
        ({"text": "ab", "annotations": [3]}, "annotations must be a list of objects"),
        ({"text": "ab"}, "expected token and label as in the lines above, got token"),
    ],
)
def test_errors_name_the_line(content, message):
    refuses(f"<stream>:2: {message}", read_jsonl, lines({"tokens": ["a"], "tags": ["X"]}, content))


def test_what_is_not_json():
    refuses("<stream>:1: not JSON", read_jsonl, io.BytesIO(b"EU NNP B-ORG\n"))
    refuses("<stream>:2: not JSON", read_jsonl, io.BytesIO(b'{"tokens": ["a"]}\n{"tokens": \n'))
    refuses("not JSON", read_jsonl, io.BytesIO(b"[" * 100_000))


def test_spans_can_be_widened():
    with pytest.warns(InputWarning, match="1 spans were widened to whole tokens"):
        assert list(read_jsonl(lines({"text": "ab c", "label": [[0, 1, "X"]]}), snap=True)) == [
            [["ab", "B-X"], ["c", "O"]]
        ]


def test_predictions_are_written_in_the_shape_of_the_input():
    contents = [
        {"id": 1, "tokens": ["a", "b"], "tags": ["O", "O"]},
        {"text": "x yz", "label": [], "keep": None},
    ]
    table = read_jsonl(lines(*contents))
    text = table.labelled([["O", "B-A"], ["O", "B-B"]], lambda: [[(1, 2, "A", 0.5)], [(1, 2, "B", 0.75)]])
    first, second = map(json.loads, text.splitlines())
    assert first == {**contents[0], "predicted": ["O", "B-A"]}
    span = {"start": 2, "end": 4, "label": "B", "text": "yz", "probability": 0.75}
    assert second == {**contents[1], "predicted": [span]}
    again = read_jsonl(io.BytesIO(text))
    assert again.names == ("token", "label", "predicted")
    assert again.column(2) == [["O", "B-A"], ["O", "B-B"]]


def test_pieces_and_parts():
    contents = [{"tokens": ["a"] * n, "tags": ["X"] * n} for n in (2, 1, 3, 1)]
    pieces = list(stream_jsonl(lines(*contents), positions=3))
    assert [len(piece) for piece in pieces] == [2, 1, 1]
    table = read_jsonl(lines(*contents))
    some = table.subset([2, 0])
    assert [record.content for record in some.records] == [contents[2], contents[0]]
    copy = pickle.loads(pickle.dumps(table))
    assert (list(copy), copy.records) == (list(table), table.records)
    assert table.select([1]).names == ("label",)
    refuses("positions must be at least 1", list, stream_jsonl(lines(), positions=0))


def test_plain_text():
    assert list(read_text(io.BytesIO(b"a b.\n\n  \nc\r\n"))) == [[["a"], ["b"], ["."]], [["c"]]]
    assert [len(p) for p in stream_text(io.BytesIO(b"a\nb\n"), prompt=True)] == [1, 1]
    assert list(read_text(io.BytesIO(b""))) == []


def test_writing():
    table, out = Columns.from_rows([[["a", "NN", "X"], ["b", "VB", "Y"]], [["ü", "", "X"]]]), io.BytesIO()
    write_jsonl(out, [table])
    assert list(read_jsonl(io.BytesIO(out.getvalue()))) == [[["a", "X"], ["b", "Y"]], [["ü", "X"]]]
    out = io.BytesIO()
    write_text(out, [table])
    assert out.getvalue().decode() == "a b\nü\n"
