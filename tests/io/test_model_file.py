"""The model file: contents are read back unchanged, and no damage goes unnoticed."""

import io
import itertools
import json
import os
import stat
import struct
import sys
import threading
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from refusals import unreadable

from crfkit.data import Vocabulary
from crfkit.exceptions import ModelFileError
from crfkit.io import model_file, read_model, write_model

HEADER = {"kind": "crf", "classes": ["B-é", ":", 3, True, None], "c2": 0.1, "nested": {"a": [1, [2]]}}
ARRAYS = {
    "weights": np.arange(12.0).reshape(3, 4),
    "mask": np.array([[True], [False]]),
    "empty": np.zeros((0, 5), dtype=np.int32),
    "scalar": np.array(2.5, dtype=np.float32),
    "ids/é": np.array([-1, 2**62], dtype=np.int64),
}


def model_bytes(header=HEADER, content=ARRAYS):
    stream = io.BytesIO()
    write_model(stream, header, content)
    return stream.getvalue()


GOOD = model_bytes()


def assert_same(loaded, header=HEADER, content=ARRAYS):
    found_header, found = loaded
    assert found_header == header
    assert list(found) == list(content)
    for name, array in content.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert np.array_equal(found[name], array)
        assert not found[name].flags.writeable
        assert found[name].flags.aligned


def with_json(text, version=1, total=None, tail=b"", magic=b"\x89CRFKIT\n"):
    """Return a file with valid checksums around any JSON: deliberate damage, not accidental."""
    padding = bytes(-len(text) % 64) if tail else b""
    body = text + padding + tail
    total = 64 + len(body) if total is None else total
    preamble = struct.pack("<8sIIQQ28s", magic, version, zlib.crc32(text), len(text), total, b"")
    return preamble + struct.pack("<I", zlib.crc32(preamble)) + body


def with_entries(*entries, tail=bytes(64)):
    return with_json(json.dumps({"header": {}, "arrays": entries}).encode(), tail=tail)


def entry(**changes):
    return {
        "name": "a",
        "dtype": "float64",
        "shape": [8],
        "offset": 0,
        "crc32": zlib.crc32(bytes(64)),
    } | changes


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("verify", [True, False])
def test_round_trip(tmp_path, mmap, verify):
    for path in (tmp_path / "modèle 模型.crfkit", str(tmp_path / "plain")):
        write_model(path, HEADER, ARRAYS)
        assert_same(read_model(path, mmap=mmap, verify=verify))
        assert Path(path).read_bytes() == GOOD
        assert sorted(os.listdir(tmp_path))[-1] in ("plain", "modèle 模型.crfkit")


def test_from_memory_and_streams(tmp_path):
    for source in (GOOD, bytearray(GOOD), memoryview(GOOD), memoryview(b"x" + GOOD)[1:], io.BytesIO(GOOD)):
        assert_same(read_model(source))
    changing = bytearray(GOOD)
    loaded = read_model(changing)
    changing[:] = bytes(len(changing))
    assert_same(loaded)
    stream = io.BytesIO(b"before" + GOOD + b"after")
    stream.seek(6)
    assert_same(read_model(stream))
    assert stream.read() == b"after"
    path = tmp_path / "m"
    with open(path, "wb") as file:
        write_model(file, HEADER, ARRAYS)
    with open(path, "rb") as file:
        assert_same(read_model(file))


def test_a_pipe_is_a_stream():
    reader, writer = os.pipe()

    def feed():
        with open(writer, "wb") as file:
            file.write(GOOD)

    thread = threading.Thread(target=feed)
    thread.start()
    with open(reader, "rb") as file:
        assert_same(read_model(file))
    thread.join()


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
        st.sampled_from(
            ["bool", "int8", "uint8", "int16", "uint32", "int64", "uint64", "float32", "float64"]
        ).flatmap(lambda dtype: arrays(dtype, array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))),
        max_size=4,
    )
)
def test_any_arrays(content):
    _, found = read_model(model_bytes({}, content))
    assert list(found) == list(content)
    for name, array in content.items():
        assert found[name].tobytes() == array.tobytes()
        assert found[name].shape == array.shape


def test_arrays_are_stored_little_endian_and_contiguous():
    big = np.arange(6, dtype=">i4").reshape(2, 3)
    _, found = read_model(model_bytes({}, {"big": big, "turned": big.T, "every_other": np.arange(9)[::2]}))
    assert found["big"].dtype == np.dtype("<i4")
    assert found["big"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert found["every_other"].tolist() == [0, 2, 4, 6, 8]


def test_alignment_and_documented_layout():
    """The file can be read as docs/model-file.md tells a reader in another language to."""
    magic, version, json_crc, json_size, total, zeros, crc = struct.unpack("<8sIIQQ28sI", GOOD[:64])
    assert (magic, version, total, zeros) == (b"\x89CRFKIT\n", 1, len(GOOD), bytes(28))
    assert zlib.crc32(GOOD[:60]) == crc
    text = GOOD[64 : 64 + json_size]
    assert zlib.crc32(text) == json_crc
    start = (64 + json_size + 63) // 64 * 64
    for item in json.loads(text)["arrays"]:
        assert item["offset"] % 64 == 0
        array = ARRAYS[item["name"]]
        raw = GOOD[start + item["offset"] :][: array.nbytes]
        assert zlib.crc32(raw) == item["crc32"]
        assert raw == array.tobytes()


def test_a_vocabulary_in_a_mapped_file(tmp_path):
    vocabulary = Vocabulary([f"name {i}" for i in range(1000)])
    write_model(tmp_path / "m", {}, vocabulary.to_arrays())
    mapped = Vocabulary.from_arrays(read_model(tmp_path / "m")[1])
    (tmp_path / "m").unlink()
    assert mapped.lookup(["name 999", "no name"]).tolist() == [999, -1]
    assert mapped.add(["no name"]).tolist() == [1000]


# Accidental damage


@settings(max_examples=300)
@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_any_changed_byte_is_noticed(place, change):
    damaged = bytearray(GOOD)
    damaged[place] ^= change
    unreadable("cannot read the model <bytes>: ", read_model, bytes(damaged))


def test_every_flipped_bit_is_noticed():
    small = model_bytes({"a": 1}, {"w": np.array([1.0, 2.0]), "v": np.array([True])})
    for place in range(len(small)):
        for bit in range(8):
            damaged = bytearray(small)
            damaged[place] ^= 1 << bit
            with pytest.raises(ModelFileError):
                read_model(bytes(damaged))


@pytest.mark.parametrize("mmap", [True, False])
def test_cut_off_anywhere_or_too_long(tmp_path, mmap):
    path = tmp_path / "m"
    for size in [*range(0, len(GOOD), 7), len(GOOD) - 1]:
        path.write_bytes(GOOD[:size])
        unreadable(r"cut off|not a crfkit model", read_model, path, mmap=mmap, verify=False)
        unreadable(r"cut off|not a crfkit model", read_model, io.BytesIO(GOOD[:size]))
    path.write_bytes(GOOD + b"\0")
    unreadable(f"m: it is too long: {len(GOOD)} bytes expected", read_model, path, mmap=mmap)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_unverified_damage_is_an_error_or_other_numbers(data):
    damaged = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 8))):
        damaged[data.draw(st.integers(0, len(GOOD) - 1))] = data.draw(st.integers(0, 255))
    try:
        _, found = read_model(bytes(damaged), verify=False)
    except ModelFileError:
        return
    assert {name: array.shape for name, array in found.items()} == {n: a.shape for n, a in ARRAYS.items()}


# Deliberate damage: all checksums are right


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a crfkit model"),
        (b"lCRF" + bytes(100), "not a crfkit model"),
        (with_json(b"{}", magic=b"\x89CRFKIT\r"), "not a crfkit model"),
        (
            with_json(b"{}", version=4),
            "format version 4, this crfkit reads versions 1 to 3; install a newer crfkit",
        ),
        (with_json(b"{}", version=0), "format version 0, this crfkit reads versions 1 to 3"),
        (with_json(b"{}", total=2**63), f"cut off: {2**63} bytes expected"),
        (with_json(b"{}", total=10), "sizes are impossible"),
        (with_json(b"{}"), "lacks 'header' or 'arrays'"),
        (with_json(b"[]"), "not a JSON object"),
        (with_json(b""), "not acceptable JSON"),
        (with_json(b"\xff\xfe"), "not acceptable JSON"),
        (with_json(b'{"header": NaN, "arrays": []}'), "NaN is not JSON"),
        (with_json(b'{"header": {}, "arrays": [3]}'), "table of arrays is malformed"),
        (with_json(b'{"header": [], "arrays": []}'), "lacks 'header'"),
        (with_json(b"[" * 1_000_000), "not acceptable JSON"),
        (with_json(b'{"a":' * 1_000_000), "not acceptable JSON"),
        (
            with_json(b'{"header": {"n": ' + b"9" * 1_000_000 + b'}, "arrays": []}'),
            "integer of 1000000 digits",
        ),
        (with_entries(), "64 unknown bytes follow"),
        (with_entries(entry(), tail=bytes(65)), "1 unknown bytes follow"),
        (with_entries(entry(dtype="object")), "malformed at 'a'"),
        (with_entries(entry(dtype="|O")), "malformed at 'a'"),
        (with_entries(entry(dtype="<f8,(1000000,1000000)f8")), "malformed at 'a'"),
        (with_entries(entry(dtype=["float64"])), "malformed at 'a'"),
        (with_entries(entry(dtype="complex128")), "malformed at 'a'"),
        (with_entries(entry(name=7)), "malformed at '7'"),
        (with_entries(entry(shape=[-8])), "malformed"),
        (with_entries(entry(shape=[8.0])), "malformed"),
        (with_entries(entry(shape=[True])), "malformed"),
        (with_entries(entry(shape=8)), "malformed"),
        (with_entries(entry(shape=[1] * 9)), "malformed"),
        (with_entries(entry(shape=[2**39, 2**39])), "malformed"),
        (with_entries(entry(shape=[0, 2**39, 2**39])), "malformed"),
        (with_entries(entry(shape=[2**63])), "malformed"),
        (with_entries(entry(shape=[9])), "does not lie where it should"),
        (with_entries(entry(shape=[2**32])), "does not lie where it should"),
        (with_entries(entry(shape=[7])), "unknown bytes follow|checksum"),
        (with_entries(entry(offset=64)), "does not lie where it should"),
        (with_entries(entry(offset=-64)), "malformed"),
        (with_entries(entry(offset=2**66)), "integer|does not lie"),
        (with_entries(entry(offset="0")), "malformed"),
        (with_entries(entry(), entry(name="b")), "'b' does not lie where it should"),
        (with_entries(entry(), entry(offset=64), tail=bytes(128)), "'a' comes twice"),
        (with_entries(entry(crc32=1)), "the checksum of array 'a' is wrong"),
        (with_entries(entry(crc32=None)), "malformed"),
        (
            with_entries(entry(dtype="bool", shape=[1], crc32=zlib.crc32(b"\2")), tail=b"\2"),
            "bools other than 0 and 1",
        ),
    ],
    ids=itertools.count(),
)
def test_hostile_files(data, reason, tmp_path):
    path = tmp_path / "hostile"
    path.write_bytes(data)
    for source in (data, path, io.BytesIO(data)):
        start = time.perf_counter()
        unreadable(reason, read_model, source)
        assert time.perf_counter() - start < 2


def test_a_false_size_allocates_nothing(tmp_path):
    resource = pytest.importorskip("resource")
    scale = 1 if sys.platform == "darwin" else 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
    data = with_json(b"{}", total=2**40)
    path = tmp_path / "m"
    path.write_bytes(data)
    with open(path, "rb") as file:
        for source in (data, path, io.BytesIO(data), file):
            unreadable("cut off", read_model, source, mmap=False)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale - before < 64 << 20


# Writing


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m"
    write_model(path, {"old": 1}, {})
    old = path.read_bytes()

    def no_space(*_):
        raise OSError(28, "No space left on device")

    for module_function in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, module_function, no_space)
            with pytest.raises(OSError, match="No space left"):
                write_model(path, HEADER, ARRAYS)
        assert path.read_bytes() == old
        assert os.listdir(tmp_path) == ["m"]
    with pytest.raises(FileNotFoundError):
        write_model(tmp_path / "nowhere" / "m", HEADER, ARRAYS)


@pytest.mark.parametrize(
    ("header", "content", "reason"),
    [
        ({"a": np.float64}, {}, "JSON values only"),
        ({"a": float("nan")}, {}, "JSON values only"),
        ({"a": "\ud800"}, {}, "JSON values only"),
        ({"a": 10**30}, {}, "an integer of 31 digits"),
        ({}, {"a": np.array(["x"])}, "array 'a': expected one of bool, .* got 1-D <U1"),
        ({}, {"a": np.array([None])}, "got 1-D object"),
        ({}, {"a": np.ones(1, dtype=complex)}, "got 1-D complex128"),
        ({}, {"a": np.ones((1,) * 9)}, "got 9-D float64"),
        ({}, {3: np.ones(1)}, "must be a str, got 3"),
    ],
)
def test_what_cannot_be_stored(header, content, reason, tmp_path):
    unreadable(reason, write_model, tmp_path / "m", header, content)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_permissions_of_a_new_file_follow_the_umask(tmp_path):
    for umask, mode in ((0o022, 0o644), (0o077, 0o600)):
        path = tmp_path / f"{umask:o}"
        previous = os.umask(umask)
        try:
            write_model(path, {}, {})
        finally:
            os.umask(previous)
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.name != "posix", reason="POSIX links and open files")
def test_links_stay_and_mapped_files_may_be_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real" / "m")
    write_model(link, HEADER, ARRAYS)
    assert link.is_symlink()
    header, content = read_model(link)
    write_model(link, header, {**content, "more": np.ones(3)})
    assert_same((header, content))
    assert read_model(link)[1]["more"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(("mmap", "mapped"), [(None, [0, 1]), (True, [1, 1]), (False, [0, 0])])
def test_large_files_are_mapped(mmap, mapped, tmp_path, monkeypatch):
    monkeypatch.setattr("crfkit.io.model_file.MAPPED_FROM", 1000)
    found = []
    for n in (10, 1000):
        write_model(tmp_path / "m", {}, {"a": np.arange(n)})
        header, content = read_model(tmp_path / "m", mmap=mmap)
        assert_same((header, content), {}, {"a": np.arange(n)})
        base = content["a"]
        while isinstance(base, np.ndarray):
            base = base.base
        found.append(type(base.obj).__name__ == "mmap")
    assert found == mapped


def test_a_file_that_shrinks_while_it_is_read(tmp_path, monkeypatch):
    path, real = tmp_path / "m", os.fstat
    write_model(path, {}, {"a": np.arange(1000)})

    def shrink(descriptor):
        status = real(descriptor)
        os.truncate(path, 500)
        return status

    monkeypatch.setattr(os, "fstat", shrink)
    unreadable("it is cut off: 8[0-9]* bytes expected, 500 found", read_model, path)


def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch):
    """Between the look at its size and the reading, another file is written over it."""
    path = tmp_path / "m"
    write_model(path, {}, {"a": np.arange(1000)})
    other = model_bytes({}, {"a": np.arange(2000)})
    monkeypatch.setattr(
        "crfkit.io.model_file._check_size",
        lambda *given, real=model_file._check_size: (path.write_bytes(other), real(*given)),
    )
    unreadable("it is cut off: 1[0-9]* bytes expected, 8[0-9]* found", read_model, path)


def test_what_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "none")
    unreadable("binary mode", read_model, io.StringIO("text"))
