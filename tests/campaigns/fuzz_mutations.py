"""Damage for the fuzz campaign: bytes, lines and numbers of files are changed at random, checksums repaired.

Without the repair, nearly every damaged model file would be refused for its checksum, and nothing behind it
would be tested.
"""

from __future__ import annotations

import gzip
import json
import random
import struct
import zlib
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

LONGEST = 1 << 17  # bytes of an input

_WORDS = [
    *b"0 -1 1e308 -1e39 nan inf 2147483648 18446744073709551616 0x7fffffff 1e-320 %x[0,0] %x[-9,9]".split(),
    *b"U0: B *0: #mdl# _B-1 # \\: \\ [,] ,, ; : = -DOCSTART- gene_id Parent= ID= CDS + - . >c ATG".split(),
    *(
        b"\t",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\xff",
        b"\xed\xa0\x80",
        b"\0",
        b"\xef\xbb\xbf",
        b'"',
        b'%m[0,0,"a*"]',
    ),
    b"9" * 400,
    b"a" * 3000,
    "é\u2028\U0001f600".encode(),
]
_NUMBERS = [0, 1, -1, 2, 3, 127, 255, 256, 65535, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**62, -(2**63)]
_VALUES: list[Any] = [
    *_NUMBERS,
    None,
    True,
    "",
    "x",
    "\u0000",
    [],
    {},
    [1],
    {"a": 1},
    0.5,
    -1e308,
    1e-320,
    10**19,
]
_REALS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e38,
    -1e38,
    1e308,
    -1e308,
    5e-324,
    float("nan"),
    float("inf"),
    float("-inf"),
    1e9,
]


def mutated(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return a damaged text or binary file; parts of the ``others`` may get into it."""
    for _ in range(r.choice((1, 1, 1, 2, 3, 8))):
        data = r.choice(_CHANGES)(r, data, others)[:LONGEST]
    if r.random() < 0.02:
        packed = gzip.compress(data, 1)
        data = packed if r.random() < 0.5 else _set(r, packed, others)
    return data


def _place(r: random.Random, data: bytes) -> int:
    return r.randrange(len(data) + 1)


def _set(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Change some bytes."""
    changed = bytearray(data)
    for _ in range(r.choice((1, 1, 2, 4))):
        if changed:
            at = r.randrange(len(changed))
            changed[at] = r.choice(
                (0, 1, 255, 128, 10, 32, changed[at] ^ (1 << r.randrange(8)), r.randrange(256))
            )
    return bytes(changed)


def _word(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Put a word in, or in the place of some bytes."""
    at = _place(r, data)
    return data[:at] + r.choice(_WORDS) + data[at + r.choice((0, 0, 1, 2, 5)) :]


def _number(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Put a binary number over four or eight bytes."""
    code = r.choice(("<I", "<Q", "<d"))
    value: float = r.choice(_REALS) if code == "<d" else r.choice(_NUMBERS) % (1 << 8 * struct.calcsize(code))
    at = _place(r, data) & ~3
    return data[:at] + struct.pack(code, value) + data[at + struct.calcsize(code) :]


def _cut(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Cut a piece out, or the end off."""
    at = _place(r, data)
    return data[:at] if r.random() < 0.3 else data[:at] + data[at + r.choice((1, 2, 4, 16, 100)) :]


def _repeat(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Repeat a piece."""
    at, n = _place(r, data), r.choice((1, 4, 30, 200))
    return data[:at] + data[at : at + n] * r.choice((2, 2, 3, 50)) + data[at + n :]


def _move_line(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Delete, repeat or exchange lines."""
    lines = data.split(b"\n")
    a, b = r.randrange(len(lines)), r.randrange(len(lines))
    choice = r.randrange(3)
    if choice == 0:
        del lines[a]
    elif choice == 1:
        lines.insert(b, lines[a])
    else:
        lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def _splice(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Go on with another file."""
    other = r.choice(others) if others else data
    return data[: _place(r, data)] + other[_place(r, other) :]


_CHANGES: list[Callable[[random.Random, bytes, Sequence[bytes]], bytes]] = [
    *(_set, _set, _set, _word, _word, _number, _cut, _repeat, _move_line, _splice)
]

# ---- crfkit's own model files: docs/model-file.md

_PREAMBLE = struct.Struct("<8sIIQQ28s")


def mutated_model(r: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return a damaged model file of crfkit, mostly with right checksums."""
    if r.random() < 0.05:
        return mutated(r, data, others)
    _, _, _, size, _, _ = _PREAMBLE.unpack_from(data)
    text, section = data[64 : 64 + size], data[_aligned(64 + size) :]
    if r.random() < 0.25:
        return _packed(mutated(r, text, ()), section)
    content = json.loads(text)
    arrays = [section[e["offset"] : e["offset"] + _size(e)] for e in content["arrays"]]
    for _ in range(r.choice((1, 1, 1, 2, 4))):
        if r.random() < 0.5 or not arrays:
            _change_json(r, content["header"])
        else:
            _change_array(r, content["arrays"], arrays)
    out, end = bytearray(), 0
    for entry, array in zip(content["arrays"], arrays, strict=True):
        out += bytes(_aligned(end) - end) + array
        entry["offset"], entry["crc32"] = _aligned(end), zlib.crc32(array)
        end = len(out)
    if r.random() < 0.03 and content["arrays"]:
        _change_json(r, r.choice(content["arrays"]))
    return _packed(json.dumps(content).encode(), bytes(out))


def _aligned(offset: int) -> int:
    return -(-offset // 64) * 64


def _packed(text: bytes, section: bytes) -> bytes:
    start = _aligned(64 + len(text))
    total = start + len(section)
    head = _PREAMBLE.pack(b"\x89CRFKIT\n", 1, zlib.crc32(text), len(text), total, b"")
    return head + struct.pack("<I", zlib.crc32(head)) + text + bytes(start - 64 - len(text)) + section


def _item_size(entry: dict[str, Any]) -> int:
    return 1 if entry["dtype"] == "bool" else int(entry["dtype"].lstrip("uintfloa")) // 8


def _size(entry: dict[str, Any]) -> int:
    size = _item_size(entry)
    for extent in entry["shape"]:
        size *= extent
    return size


def _change_json(r: random.Random, node: Any) -> None:
    """Change a value somewhere below a dict or a list, or remove it."""
    while True:
        keys: list[Any] = [*node] if isinstance(node, dict) else [*range(len(node))]
        if not keys:
            return
        key = r.choice(keys)
        inner = node[key]
        if isinstance(inner, (dict, list)) and inner and r.random() < 0.7:
            node = inner
            continue
        if r.random() < 0.2:
            del node[key]
        elif r.random() < 0.2 and isinstance(node, list):
            node.insert(key, deepcopy(r.choice(node)))
        elif isinstance(inner, str) and r.random() < 0.5:
            node[key] = mutated(r, inner.encode(), ()).decode("utf-8", "replace")
        elif isinstance(inner, int) and r.random() < 0.5:
            node[key] = inner + r.choice((-1, 1, 2, 1000))
        else:
            node[key] = deepcopy(r.choice(_VALUES))
        return


def _change_array(r: random.Random, table: list[dict[str, Any]], arrays: list[bytes]) -> None:
    """Change elements of an array, its length or its type, or remove it."""
    i = r.randrange(len(table))
    entry, size = table[i], _item_size(table[i])
    choice = r.random()
    if choice < 0.04:
        del table[i], arrays[i]
    elif choice < 0.16 and entry["shape"]:
        rows = max(0, entry["shape"][0] + r.choice((-1, 1, -2, 7, -entry["shape"][0])))
        row = _size(entry) // entry["shape"][0] if entry["shape"][0] else size
        arrays[i] = (arrays[i] + arrays[i][-row:] * max(0, rows - entry["shape"][0]))[: rows * row]
        entry["shape"][0] = rows
        arrays[i] = arrays[i].ljust(_size(entry), b"\0")[: _size(entry)]
    elif choice < 0.2:
        entry["dtype"] = {"float64": "int64", "int64": "float64", "int32": "float32", "uint8": "int8"}.get(
            entry["dtype"], entry["dtype"]
        )
    elif choice < 0.25:
        entry["shape"].append(1)
    elif arrays[i]:
        changed = bytearray(arrays[i])
        for _ in range(r.choice((1, 1, 2, 10))):
            at = r.randrange(len(changed) // size) * size
            if entry["dtype"].startswith("float"):
                value = r.choice(_REALS)
                if size == 8 or abs(value) < 1e39 or value != value or abs(value) == float("inf"):
                    struct.pack_into("<d" if size == 8 else "<f", changed, at, value)
            else:
                old = int.from_bytes(changed[at : at + size], "little")
                new = r.choice((*_NUMBERS, old + 1, old - 1, old ^ 1, r.randrange(1 << 16)))
                changed[at : at + size] = (new % (1 << 8 * size)).to_bytes(size, "little")
        arrays[i] = bytes(changed)
