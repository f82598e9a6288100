"""Writer of CRFsuite's model files (``.crfsuite``); ``native/foreign/crfsuite_model.h`` reads them.

A file is a header of 48 bytes; the chunk ``FEAT`` with the features (type, source, label, weight); a
dictionary of the labels and one of the attributes (CQDB, ``native/foreign/cqdb.h``); and the chunks ``LFRF``
and ``AFRF``, which list the features of each label and each attribute. Numbers are little-endian, nearly all
of them 32 bits, so a file has at most 4 GiB.
"""

from __future__ import annotations

import os
import struct
from typing import IO

import numpy as np

from crfkit import _native
from crfkit.arrays import BoolArray, IntArray
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.io.foreign_model import ByteArray, ForeignModel
from crfkit.io.writing import open_output

MAGIC = b"lCRF"
_KIND = b"FOMC"
_VERSION = 100
_LIMIT = 1 << 32  # bytes

# magic, size, kind, version; number of features, labels, attributes; offsets of the same, of LFRF and AFRF
_HEADER = struct.Struct("<4sI4s9I")
_CHUNK = struct.Struct("<4sII")  # name, size, number of entries
_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
_STATE, _TRANSITION = 0, 1
_DICTIONARY = 24 + 8 * 256  # bytes of a dictionary without strings
_PER_STRING = 29  # bytes in addition to the string: record header, NUL, two hash slots, link


def write_crfsuite_model(path: str | os.PathLike[str] | IO[bytes], model: ForeignModel) -> None:
    """Write a ``.crfsuite`` file that CRFsuite and python-crfsuite read.

    As in CRFsuite, features of weight 0 and attributes without other features are left out. After an error,
    a file at a path is as it was before. Raises ``InputError`` if the format cannot hold the model.
    """
    chunks = _serialise(model)  # errors are raised before the file is touched
    with open_output(path, size=sum(map(len, chunks)), compress=False) as file:
        for chunk in chunks:
            file.write(chunk)


def _serialise(model: ForeignModel) -> list[bytes | memoryview]:
    if model.pair_weights is not None and model.pair_weights.any():
        raise InputError(
            "CRFsuite has no features of an attribute and a pair of labels: train without edge_attributes "
            "(and with no B… line but a bare B in the template), or keep the model in crfkit's own format"
        )
    L = len(model.classes)
    label_names = Vocabulary(model.classes)
    if len(label_names) != L:
        raise InputError("two labels have the same name as text: rename one")
    labels = _name_arrays(label_names, np.ones(L, np.bool_), "label")
    kept = model.state_weights != 0
    counts = np.diff(np.concatenate(([0], np.cumsum(kept)))[model.state_indptr])  # [A] features left
    used = counts > 0
    attributes = _name_arrays(model.attributes, used, "attribute")
    counts = counts[used]
    n_state, n_edges = int(kept.sum()), int(np.count_nonzero(model.edge_weights))
    A, F = len(counts), n_state + n_edges

    sizes = [
        _HEADER.size,
        _CHUNK.size + _FEATURE.itemsize * F,
        *(_DICTIONARY + len(arena) + _PER_STRING * (len(ends) - 1) for arena, ends in (labels, attributes)),
    ]
    padding = -sum(sizes) % 4
    sizes += [padding, _CHUNK.size + 4 * (L + 2) + 4 * (L + n_edges), _CHUNK.size + 4 * A + 4 * (A + n_state)]
    total = sum(sizes)
    if total >= _LIMIT:
        raise InputError(
            f"the model would take {total} bytes as a CRFsuite file, which cannot be larger than 4 GiB: "
            "train with fewer attributes (min_freq, or c1 for L1), or keep it in crfkit's own format"
        )
    at = np.concatenate(([0], np.cumsum(sizes))).tolist()

    features = np.empty(F, _FEATURE)
    features["type"] = np.repeat([_STATE, _TRANSITION], [n_state, n_edges])
    edges = np.flatnonzero(model.edge_weights)
    features["source"] = np.concatenate((np.repeat(np.arange(A), counts), edges // L))
    features["label"] = np.concatenate((model.state_labels[kept], edges % L))
    features["weight"] = np.concatenate((model.state_weights[kept], model.edge_weights.ravel()[edges]))
    if not np.isfinite(features["weight"]).all():
        raise InputError("the model has weights that are not finite")
    from_label = np.bincount(edges // L, minlength=L)
    # CRFsuite never fills in the number of features there: with 0, the file is identical to CRFsuite's.
    header = _HEADER.pack(MAGIC, total, _KIND, _VERSION, 0, L, A, at[1], at[2], at[3], at[5], at[6])
    return [
        header,
        _CHUNK.pack(b"FEAT", sizes[1], F),
        features.view(np.uint8).data,
        _native.cqdb_chunk(*labels).data,
        _native.cqdb_chunk(*attributes).data,
        bytes(padding),
        # CRFsuite reserves room for a label before the first and one after the last, but never uses it.
        *_references(b"LFRF", at[5], sizes[5], from_label, n_state, 2),
        *_references(b"AFRF", at[6], sizes[6], counts, 0, 0),
    ]


def check_names(vocabulary: Vocabulary, what: str) -> None:
    """Raise an error for names that a ``.crfsuite`` file cannot hold, before a model is trained with them."""
    arrays = vocabulary.to_arrays()
    _check_arena(arrays["arena"].view(np.uint8), arrays["offsets"].view(np.int64), what)


def _check_arena(arena: ByteArray, offsets: IntArray, what: str) -> None:
    nul = np.flatnonzero(arena == 0)
    if len(nul):
        which = int(np.searchsorted(offsets, nul[0], side="right")) - 1
        name = arena[offsets[which] : offsets[which + 1]].tobytes().decode()
        raise InputError(f"{what} {name!r} holds a NUL character, which a CRFsuite file cannot; rename it")


def _name_arrays(vocabulary: Vocabulary, used: BoolArray, what: str) -> tuple[ByteArray, IntArray]:
    """Return the names in use as arena [bytes] and offsets [n+1]."""
    arrays = vocabulary.to_arrays()
    arena, offsets = arrays["arena"].view(np.uint8), arrays["offsets"].view(np.int64)
    lengths = np.diff(offsets)
    if not used.all():
        arena = arena[np.repeat(used, lengths)]
        lengths = lengths[used]
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    _check_arena(arena, offsets, what)
    return arena, offsets


def _references(name: bytes, at: int, size: int, counts: IntArray, first: int, spare: int) -> list[bytes]:
    """Return the lists of the features of each label or attribute: counts [n], consecutive from ``first``."""
    n = len(counts)
    starts = np.concatenate(([0], np.cumsum(counts)))[:-1] + np.arange(n)  # [n] of each list, in words
    lists = np.empty(n + int(counts.sum()), "<u4")
    is_count = np.zeros(len(lists), np.bool_)
    is_count[starts] = True
    lists[is_count] = counts
    lists[~is_count] = first + np.arange(len(lists) - n)
    offsets = np.zeros(n + spare, "<u4")
    offsets[:n] = at + _CHUNK.size + 4 * (n + spare + starts)
    return [_CHUNK.pack(name, size, n + spare), offsets.tobytes(), lists.tobytes()]
