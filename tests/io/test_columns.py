"""The reader of column files."""

from __future__ import annotations

import gzip

import pytest

from crfkit.exceptions import InputError
from crfkit.io.columns import read_columns

TEXT = "-DOCSTART- -X- O\n\nEU NNP B-ORG\nrejects VBZ O\n\n\nPeter\tNNP\tB-PER\n"
SENTENCES = [[["EU", "NNP", "B-ORG"], ["rejects", "VBZ", "O"]], [["Peter", "NNP", "B-PER"]]]


def test_plain_gzipped_and_crlf(tmp_path):
    (tmp_path / "plain").write_text(TEXT)
    (tmp_path / "dos").write_bytes(TEXT.replace("\n", "\r\n").encode())
    (tmp_path / "zipped.gz").write_bytes(gzip.compress(TEXT.encode()))
    for name in ("plain", "dos", "zipped.gz"):
        assert read_columns(tmp_path / name) == SENTENCES
        assert read_columns(str(tmp_path / name)) == SENTENCES


def test_no_newline_at_the_end_and_empty_files(tmp_path):
    path = tmp_path / "größe.txt"
    path.write_text("a b", encoding="utf-8")
    assert read_columns(path) == [[["a", "b"]]]
    path.write_text("")
    assert read_columns(path) == []


def test_odd_blanks_belong_to_tokens(tmp_path):
    path = tmp_path / "f"
    path.write_text("10\u00a0000  CD\n# X\n", encoding="utf-8")
    assert read_columns(path) == [[["10\u00a0000", "CD"], ["#", "X"]]]


def test_errors_name_path_and_line(tmp_path):
    path = tmp_path / "f"
    path.write_text("a b\n\nc d\ne\n")
    with pytest.raises(InputError, match=r"f:4: expected 2 columns.*got 1: 'e'"):
        read_columns(path)
    path.write_bytes(b"a \xff\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read_columns(path)
    path.write_bytes(gzip.compress(TEXT.encode() * 100)[:-20])
    with pytest.raises(InputError, match="cut-off gzip"):
        read_columns(path)
    with pytest.raises(FileNotFoundError):
        read_columns(tmp_path / "missing")
