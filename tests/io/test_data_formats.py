"""Common behaviour of the data readers: sources, encodings, pieces of any size, arbitrary bytes."""

import gzip
import io
import os
import threading
import warnings
from inspect import signature
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from trickle import Trickle

from crfkit.data import Examples, Vocabulary
from crfkit.exceptions import InputError, InputWarning
from crfkit.io import columns, conllu_data, crfsuite_data, csv_data, jsonl_data, mallet_data

SENTENCES = [[["EU", "NNP", "B-ORG"], ["rejects", "wört", "O"]], [["Peter", "NNP", "B-PER"]]]
ROWS = "EU NNP B-ORG\nrejects wört O\n\nPeter NNP B-PER\n"
FORMATS = {  # reader, stream, the sentences, a line of them
    "columns": (columns.read_columns, columns.stream_columns, ROWS, "a b C\n"),
    "csv": (csv_data.read_csv, csv_data.stream_csv, "w,p,l\n" + ROWS.replace(" ", ","), "a,b,C\n"),
    "mallet": (mallet_data.read_mallet, mallet_data.stream_mallet, ROWS, "a b C\n"),
    "crfsuite": (
        crfsuite_data.read_crfsuite,
        crfsuite_data.stream_crfsuite,
        "B-ORG\tEU\tNNP\nO\trejects\twört\n\nB-PER\tPeter\tNNP\n",
        "C\ta\tb\n",
    ),
    "conllu": (
        conllu_data.read_conllu,
        conllu_data.stream_conllu,
        "1\tEU\t_\tB-ORG\t_\t_\t_\t_\t_\t_\n2\trejects\t_\tO\t_\t_\t_\t_\t_\t_\n\n"
        "1\tPeter\t_\tB-PER\t_\t_\t_\t_\t_\t_\n",
        "1\ta\tb\tC\t_\t_\t_\t_\t_\t_\n",
    ),
    "jsonl": (
        jsonl_data.read_jsonl,
        jsonl_data.stream_jsonl,
        '{"tokens": ["EU", "rejects"], "tags": ["B-ORG", "O"]}\n{"tokens": ["Peter"], "tags": ["B-PER"]}\n',
        '{"tokens": ["a", "b"], "tags": ["C", "C"]}\n',
    ),
}
WITHOUT_TAGS = ("conllu", "jsonl")  # they hold tokens and labels only
every_format = pytest.mark.parametrize("name", FORMATS)
by_lines = pytest.mark.parametrize("name", [name for name in FORMATS if name != "jsonl"])
PROMPT = [name for name in FORMATS if name not in ("csv", "jsonl")]


def rows_of(piece, vocabulary):
    """Return the cells, or the attributes and then the label, of each position of each sentence."""
    if not isinstance(piece, Examples):
        return list(piece)
    x, names = piece.sequences, vocabulary.strings()
    assert (x.lengths > 0).all()
    assert x.values is None or (np.isfinite(x.values) & (x.values != 0)).all()
    labels = [label for sentence in piece.labels for label in sentence]
    rows = [[*(names[a] for a in x.indices[i:j]), labels[t]] for t, (i, j) in enumerate(pairwise(x.indptr))]
    return [rows[i:j] for i, j in pairwise(x.offsets)]


def held(name, sentences):
    """Return what a format can hold of sentences."""
    return [[row[::2] for row in rows] for rows in sentences] if name in WITHOUT_TAGS else sentences


def call(function, source, options):
    """Return a reader's result for a path, a stream or bytes, and the vocabulary it filled."""
    vocabulary = Vocabulary()
    grown = {"vocabulary": vocabulary, "grow": True} if "grow" in signature(function).parameters else {}
    return function(
        io.BytesIO(source) if isinstance(source, bytes) else source, **grown, **options
    ), vocabulary


def read(name, source, **options):
    return rows_of(*call(FORMATS[name][0], source, options))


def stream(name, source, **options):
    pieces, vocabulary = call(FORMATS[name][1], source, options)
    return (rows_of(piece, vocabulary) for piece in pieces)


@every_format
def test_one_text_in_many_guises(name, tmp_path):
    path, text = tmp_path / "größe 語", FORMATS[name][2]
    guises = [text, "\ufeff" + text, text.rstrip("\n"), text.replace("\n\n", "\n\n\n"), text + "\n\n"]
    guises += [text.replace("\n", "\r\n")] if name != "crfsuite" else []
    for content in (guise.encode() for guise in guises):
        for packed in (content, gzip.compress(content)):
            path.write_bytes(packed)
            for source in (path, str(path), packed):
                assert read(name, source) == held(name, SENTENCES)


@every_format
def test_nothing_in_it(name):
    for content in (b"", b"\n", b"\n\n\n", b"\xef\xbb\xbf"):
        assert read(name, content) == list(stream(name, content)) == []


@by_lines
def test_pieces_add_up_to_the_whole(name):
    head = FORMATS[name][2].split("\n")[0] + "\n" if name == "csv" else ""
    text = head + "".join(FORMATS[name][3] * (1 + i % 3) + "\n" for i in range(40))
    whole = read(name, text.encode())
    assert [len(sentence) for sentence in whole] == [1 + i % 3 for i in range(40)]
    for positions, n in ((1, 1), (2, 7), (7, 1000), (1000, 3)):
        pieces = list(stream(name, Trickle(text.encode(), n), positions=positions))
        assert [sentence for piece in pieces for sentence in piece] == whole
        if name != "columns":  # fewer positions than requested, plus one sequence
            assert all(sum(map(len, piece[:-1])) < positions for piece in pieces)
    refuses("positions must be at least 1, got 0", stream, name, b"", positions=0)


@pytest.mark.parametrize("name", PROMPT)
def test_a_slow_pipe_gives_its_sentences_at_once(name):
    reading, writing = os.pipe()
    received = []
    with open(reading, "rb") as source, open(writing, "wb", buffering=0) as sink:
        pieces = stream(name, source, prompt=True)
        line = FORMATS[name][3].encode()
        sink.write(line)
        for _ in range(3):
            sink.write(line)
            sink.write(b"\n" + line)  # the end of a sentence, and the beginning of the next
            # The result is returned although the pipe stays open.
            worker = threading.Thread(target=lambda: received.append(next(pieces)))
            worker.start()
            worker.join(10)
            assert not worker.is_alive()
            assert received[-1] == held(name, [[["a", "b", "C"]] * 2])


@pytest.mark.parametrize(
    "bad", [b"\x80", b"\xc0\xaf", b"\xc3", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe4\xb8"]
)
@every_format
def test_what_is_not_utf8_names_path_and_line(name, bad, tmp_path):
    path, line = tmp_path / "größe", FORMATS[name][3].encode()
    for broken in (line.replace(b"b", bad), line.replace(b"b", bad)[:-1]):
        path.write_bytes(line + line.replace(b"b", "\u4e2d".encode()) + broken)
        refuses(r"größe:3: not UTF-8 text.*convert the file to UTF-8", read, name, path)
    path.write_bytes(line + line.replace(b"b", b"\0"))
    refuses(r"größe:2: .*NUL", read, name, path)


@every_format
def test_what_cannot_be_read(name, tmp_path):
    (tmp_path / "cut").write_bytes(gzip.compress(FORMATS[name][2].encode() * 100)[:-9])
    refuses("cut: damaged or cut-off gzip file", read, name, tmp_path / "cut")
    refuses("binary mode", read, name, io.StringIO(FORMATS[name][2]))
    with pytest.raises(FileNotFoundError):
        read(name, tmp_path / "missing")


PIECES = [b"@weight", b"\xc3", b"\xa9", b"\0", *(bytes([c]) for c in b'A1 \t\n\r:,;"\\')]
LABELS = {"mallet": [True, False], "crfsuite": [True, False, "optional"]}


@every_format
@given(data=st.binary(max_size=200) | st.lists(st.sampled_from(PIECES)).map(b"".join), n=st.integers(1, 9))
def test_any_bytes_give_sentences_or_an_input_error(name, data, n):
    for labels in LABELS.get(name, [None]):
        any_bytes(name, data, n, {} if labels is None else {"labels": labels})


def any_bytes(name, data, n, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        try:
            pieces = list(stream(name, Trickle(data, n), positions=2, **options))
        except InputError:
            with pytest.raises(InputError):
                read(name, data, **options)
            return
        sentences = [sentence for piece in pieces for sentence in piece]
        assert sentences == read(name, data, **options)
        assert all(sentences)
