"""The model file: a JSON header and named arrays, checksummed, no code inside.

docs/model-file.md defines the format. Writing is atomic. Reading trusts nothing: any error in a file raises
``ModelFileError`` with the path and the reason, before anything is allocated or used. Files below
``MAPPED_FROM`` are read into memory, so that a file that is overwritten later cannot harm its readers.
"""

from __future__ import annotations

import json
import math
import mmap as mmap_module
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from crfkit.exceptions import ModelFileError
from crfkit.io.model_formats import MAGIC
from crfkit.io.writing import open_output
from crfkit.log import inform
from crfkit.parameters import DIGITS

VERSION = 1
COMPACT = 2  # version of files with compact arrays, which earlier readers must refuse
NGRAMS = 3  # version of files with label n-grams, likewise
ALIGNMENT = 64
MAX_HEADER = 64 << 20  # bytes of JSON

# magic, version, crc32 of the JSON, bytes of JSON, bytes of the whole file, zeros, crc32 of the bytes before
_PREAMBLE = struct.Struct("<8sIIQQ28sI")
_DTYPES = {
    "bool": "|b1",
    **{f"{sign}int{8 * size}": f"<{sign or 'i'}{size}" for sign in ("", "u") for size in (1, 2, 4, 8)},
    "float32": "<f4",
    "float64": "<f8",
}
_MAX_DIMENSIONS = 8
MAPPED_FROM = 64 << 20  # bytes; larger files are mapped
_CHUNK = 1 << 24  # bytes read or checked at a time

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]
Source: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes]"


def write_model(
    path: str | os.PathLike[str] | IO[bytes],
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    version: int = VERSION,
) -> None:
    """Write a model file with a header of JSON values and arrays of bools, ints and floats.

    A path is written atomically: after an error, the file is as it was before. A symbolic link stays one. To
    a (buffered, binary) file object the bytes are written from its current position on.
    """
    size, chunks = _serialise(header, arrays, version)
    with open_output(path, size=size, compress=False) as file:
        for chunk in chunks:
            file.write(chunk)
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else getattr(path, "name", "<stream>")
    inform("models", "wrote %s (%s, %d bytes)", name, header.get("model", "no model"), size)


def read_model(
    source: Source, *, mmap: bool | None = None, verify: bool = True
) -> tuple[dict[str, Any], Arrays]:
    """Read the header and the arrays, read-only, of a model file at a path, in bytes, or in a file object.

    ``mmap=True`` maps a file at a path instead of reading it: its pages are shared between processes and
    loaded when used. A mapped file may be replaced but must not be overwritten: that changes the arrays, or
    ends the process. None maps files of 64 MB and more. ``verify=False`` skips the checksums of the arrays,
    so that the time to map a file does not depend on its size; everything else is checked. A file object is
    read from its current position to the end of the model.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        data, name = memoryview(source).toreadonly().cast("B"), "<bytes>"
        # Buffers that may change later, or that may not be aligned, are copied.
        if not isinstance(source, bytes):
            data = memoryview(bytes(data))
    elif not isinstance(source, (str, os.PathLike)):
        name = str(getattr(source, "name", "<stream>"))
        data = memoryview(_read_stream(source, name))
    else:
        name = os.fspath(source)
        data = _open(name, mmap)
    header, arrays = _parse(data, name, verify)
    inform("models", "opened %s (%s, %d bytes)", name, header.get("model", "no model"), len(data))
    return header, arrays


def _serialise(
    header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], version: int
) -> tuple[int, Iterator[bytes | memoryview]]:
    """Return the file's size and an iterator over its bytes. Errors are raised before the first bytes."""
    stored = {name: _storable(name, array) for name, array in arrays.items()}
    table: list[dict[str, Any]] = []
    data_size = 0
    for name, array in stored.items():
        offset = _aligned(data_size)
        data_size = offset + array.nbytes
        table.append(
            {
                "name": name,
                "dtype": array.dtype.name,
                "shape": list(array.shape),
                "offset": offset,
                "crc32": zlib.crc32(_bytes_of(array)),
            }
        )
    text = _dump(header, table)
    if len(text) > MAX_HEADER:
        raise ModelFileError(f"the header takes {len(text)} bytes as JSON, more than {MAX_HEADER}")
    _load_json(text, "the header")  # raises if it could not be read back
    data_start = _aligned(_PREAMBLE.size + len(text))
    total = data_start + data_size
    preamble = _PREAMBLE.pack(MAGIC, version, zlib.crc32(text), len(text), total, b"", 0)[:-4]

    def chunks() -> Iterator[bytes | memoryview]:
        yield preamble + struct.pack("<I", zlib.crc32(preamble))
        yield text
        written = _PREAMBLE.size + len(text)
        yield bytes(data_start - written)
        written = 0
        for entry, array in zip(table, stored.values(), strict=True):
            yield bytes(entry["offset"] - written)
            yield _bytes_of(array)
            written = entry["offset"] + array.nbytes

    return total, chunks()


def _storable(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if not isinstance(name, str):
        raise ModelFileError(f"the name of an array must be a str, got {name!r}")
    array = np.asarray(array)
    if array.dtype.name not in _DTYPES or array.ndim > _MAX_DIMENSIONS:
        raise ModelFileError(
            f"array {name!r}: expected one of {', '.join(_DTYPES)} with at most {_MAX_DIMENSIONS} "
            f"dimensions, got {array.ndim}-D {array.dtype}"
        )
    return np.asarray(array, dtype=_DTYPES[array.dtype.name], order="C")


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _dump(header: Mapping[str, Any], table: list[dict[str, Any]]) -> bytes:
    try:
        return json.dumps({"header": header, "arrays": table}, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"the header must hold JSON values only: {error}") from error


def _open(path: str, mmap: bool | None) -> memoryview:
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        total = _unpack_preamble(file.read(_PREAMBLE.size), path)[2]
        _check_size(total, size, path)
        if mmap or (mmap is None and size >= MAPPED_FROM):
            return memoryview(mmap_module.mmap(file.fileno(), total, access=mmap_module.ACCESS_READ))
        file.seek(0)
        content = np.empty(total, np.uint8).data  # not cleared, unlike a bytearray
        found = 0
        while found < total:
            n = file.readinto(content[found:])
            if not n:  # cut off since its size was asked
                break
            found += n
        _check_size(total, found, path)
        return content.toreadonly()


def _read_stream(stream: IO[bytes], name: str) -> bytes:
    """Read the announced number of bytes in pieces, so that a false number does not allocate memory."""
    data = bytearray(_read_some(stream, _PREAMBLE.size))
    total = _unpack_preamble(data, name)[2]
    while len(data) < total:
        piece = _read_some(stream, min(_CHUNK, total - len(data)))
        if not piece:
            break
        data += piece
    _check_size(total, len(data), name)
    return bytes(data)


def _read_some(stream: IO[bytes], count: int) -> bytes:
    piece = stream.read(count)
    if not isinstance(piece, (bytes, bytearray)):
        raise ModelFileError("the file object must be opened in binary mode ('rb')")
    return bytes(piece)


def _unpack_preamble(data: bytes | bytearray | memoryview, name: str) -> tuple[int, int, int]:
    """Return the checksum and size of the JSON, and the size of the file."""
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise _damaged(name, "it is not a crfkit model (its first bytes are wrong)")
    if len(data) < _PREAMBLE.size:
        raise _damaged(name, f"it is cut off after {len(data)} bytes")
    _, version, json_crc, json_size, total, zeros, crc = _PREAMBLE.unpack(data)
    if zlib.crc32(data[:-4]) != crc:
        raise _damaged(name, "the checksum of its first 64 bytes is wrong")
    if version not in (VERSION, COMPACT, NGRAMS):
        raise _damaged(
            name,
            f"it has format version {version}, this crfkit reads versions {VERSION} to {NGRAMS}"
            + ("; install a newer crfkit" if version > NGRAMS else ""),
        )
    if any(zeros) or json_size > MAX_HEADER or _PREAMBLE.size + json_size > total:
        raise _damaged(name, f"its sizes are impossible ({json_size} bytes of header in a file of {total})")
    return json_crc, json_size, total


def _check_size(announced: int, found: int, name: str) -> None:
    if found != announced:
        what = "cut off" if found < announced else "too long"
        raise _damaged(name, f"it is {what}: {announced} bytes expected, {found} found")


def _parse(data: memoryview, name: str, verify: bool) -> tuple[dict[str, Any], Arrays]:
    json_crc, json_size, total = _unpack_preamble(data[: _PREAMBLE.size], name)
    _check_size(total, len(data), name)  # another file may have been written over it since it was opened
    end = _PREAMBLE.size + json_size
    text = bytes(data[_PREAMBLE.size : end])
    if zlib.crc32(text) != json_crc:
        raise _damaged(name, "the checksum of its header is wrong")
    content = _load_json(text, name)
    header, table = content.get("header"), content.get("arrays")
    if not isinstance(header, dict) or not isinstance(table, list):
        raise _damaged(name, "its header lacks 'header' or 'arrays'")
    arrays: Arrays = {}
    data_start = _aligned(end)
    for entry in table:
        array_name, dtype, shape, relative, crc = _checked_entry(entry, name)
        offset = data_start + relative
        size = dtype.itemsize * math.prod(shape)
        where = f"array {array_name!r}"
        if array_name in arrays:
            raise _damaged(name, f"{where} comes twice")
        if offset != _aligned(end) or size > total - offset:
            raise _damaged(name, f"{where} does not lie where it should (offset {relative}, {size} bytes)")
        content_bytes = data[offset : offset + size]
        if verify:
            if any(data[end:offset]):
                raise _damaged(name, f"the padding before {where} is not zero")
            if zlib.crc32(content_bytes) != crc:
                raise _damaged(name, f"the checksum of {where} is wrong")
        if dtype == np.bool_ and size and np.frombuffer(content_bytes, np.uint8).max() > 1:
            raise _damaged(name, f"{where} has bools other than 0 and 1")
        arrays[array_name] = np.frombuffer(content_bytes, dtype).reshape(shape)
        end = offset + size
    rest = max(end, data_start)
    if rest != total:
        raise _damaged(name, f"{total - rest} unknown bytes follow its last array")
    if any(data[end:rest]):
        raise _damaged(name, "the padding after its header is not zero")
    return header, arrays


def _checked_entry(entry: Any, name: str) -> tuple[str, np.dtype[Any], tuple[int, ...], int, int]:
    if not isinstance(entry, dict):
        raise _damaged(name, "its table of arrays is malformed")
    array_name, dtype, shape = entry.get("name"), entry.get("dtype"), entry.get("shape")
    offset, crc = entry.get("offset"), entry.get("crc32")
    if (
        not isinstance(array_name, str)
        or not isinstance(dtype, str)
        or dtype not in _DTYPES
        or not isinstance(shape, list)
        or len(shape) > _MAX_DIMENSIONS
        or any(type(extent) is not int or not 0 <= extent < 1 << 40 for extent in shape)
        or math.prod(extent for extent in shape if extent) >= 1 << 60
        or type(offset) is not int
        or offset < 0
        or type(crc) is not int
    ):
        raise _damaged(name, f"its table of arrays is malformed at {str(array_name)[:60]!r}")
    return array_name, np.dtype(_DTYPES[dtype]), tuple(shape), offset, crc


def _load_json(text: bytes, name: str) -> dict[str, Any]:
    try:
        content = json.loads(text.decode(), parse_int=_short_int, parse_constant=_no_constant)
        if b"\\ud" in text.lower():  # only an escape can give half of a surrogate pair, which is not text
            json.dumps(content, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise _damaged(name, f"its header is not acceptable JSON ({error})") from error
    if not isinstance(content, dict):
        raise _damaged(name, "its header is not a JSON object")
    return content


def _short_int(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError(f"an integer of {len(digits)} digits")
    return int(digits)


def _no_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


def _damaged(name: str, reason: str) -> ModelFileError:
    return ModelFileError(f"cannot read the model {name}: {reason}")
