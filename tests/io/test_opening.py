"""Opening files for reading."""

import gzip
import io
import os
import sys
from pathlib import Path

import pytest
from refusals import refuses
from trickle import Trickle

from crfkit.exceptions import InputError
from crfkit.io import opening
from crfkit.io.opening import open_input, source_name

CONTENT = "Zürich\n".encode() * 50_000


@pytest.fixture
def stdin(monkeypatch):
    def put(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return put


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_whatever_it_comes_from(tmp_path, stdin, pack):
    packed = pack(CONTENT)
    path = tmp_path / "größe"
    path.write_bytes(packed)
    stdin(packed)
    for source in (
        path,
        str(path),
        "-",
        io.BytesIO(packed),
        Trickle(pack(CONTENT[:100])),
        path.open("rb", buffering=0),
    ):
        with open_input(source) as file:
            content = file.read()
        assert content == CONTENT or (isinstance(source, Trickle) and content == CONTENT[:100])
        if isinstance(source, io.IOBase):
            assert not source.closed
            source.close()
    assert not sys.stdin.closed


@pytest.mark.parametrize("content", [b"", b"\x1f", b"\x1fx", b"x", b"\n"])
def test_almost_gzip(tmp_path, content):
    (tmp_path / "f").write_bytes(content)
    for source in (tmp_path / "f", io.BytesIO(content), Trickle(content)):
        with open_input(source) as file:
            assert file.read() == content


def test_several_gzip_members(tmp_path):
    (tmp_path / "f").write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    with open_input(tmp_path / "f") as file:
        assert file.read() == b"a\nb\n"


def test_damaged_gzip(tmp_path):
    packed = gzip.compress(bytes(range(256)) * 100)
    flipped = bytearray(packed)
    flipped[40] ^= 0xFF
    for damaged in (packed[:-9], packed[:5], bytes(flipped), b"\x1f\x8b" + b"x" * 100, packed + b"rest"):
        (tmp_path / "f").write_bytes(damaged)
        with (
            open_input(tmp_path / "f") as file,
            pytest.raises(InputError, match="f: damaged or cut-off gzip file"),
        ):
            file.read()


def test_what_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        open_input(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        open_input(tmp_path)
    refuses("<stream>: the file object must be opened in binary mode", open_input, io.StringIO("text"))
    refuses("a path, '-' or a binary file object, got int", open_input, 3)

    class Text:
        def read(self, n):
            return "text"

    refuses(r"binary mode \('rb'\), but read\(\) gave str", open_input, Text())


def test_names():
    assert source_name("-") == "<stdin>"
    assert source_name(Path("a") / "b") == os.path.join("a", "b")
    assert source_name(io.BytesIO()) == "<stream>"
    assert source_name("\udcff.txt") == "\\udcff.txt"


def test_a_gzip_file_that_unpacks_without_bound(tmp_path, monkeypatch):
    bomb = gzip.compress(bytes(1 << 22))
    path = tmp_path / "bomb.gz"
    path.write_bytes(bomb)
    with open_input(path) as file:  # below the limit, it is an ordinary file
        assert len(file.read()) == 1 << 22
    monkeypatch.setattr(opening, "_UNPACKED", 1 << 20)
    with open_input(path) as file:
        assert len(file.read(1 << 19)) == 1 << 19
        refuses("more than 100 times its size.*gunzip", file.read)
    path.write_bytes(gzip.compress(os.urandom(1 << 21)))  # large, but not out of proportion
    with open_input(path) as file:
        assert len(file.read()) == 1 << 21
