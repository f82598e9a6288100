"""The compact form of a linear model in a file: 16-bit weights, names that share beginnings, short ids.

docs/model-file.md defines it. A weight w is stored as the whole number nearest to w / scale, where the
largest weight gets 32767; the error is at most half a scale, 7·10⁻⁵ for weights up to 5. Weights that become
0 are dropped, then the attributes that have none left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit import _native
from crfkit.arrays import FloatArray, IntArray
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, ModelFileError
from crfkit.features.conjunctions import Conjunctions
from crfkit.features.index import FeatureIndex, rows_of
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays

if TYPE_CHECKING:
    from crfkit.models.linear.tagger import LinearTagger

IN_HEADER = "compact"  # {"state": scale, "pair": scale}
_LARGEST = 32767  # of 16 bits with a sign
_PARTS = {"state": ("labels", 1), "pair": ("ids", 2)}  # name of the ids; their width is a power of L


def rounded(tagger: LinearTagger, drop_below: float = 0.0) -> LinearTagger:
    """Return the tagger with weights that the compact form can store, without those below ``drop_below``.

    Attributes are sorted by name, unless their order means something.
    """
    if isinstance(drop_below, bool) or not isinstance(drop_below, (int, float)) or not 0 <= drop_below < 1e9:
        raise InputError(f"drop_below must be a number that is not negative, got {drop_below!r}")

    def nearest(weights: FloatArray) -> FloatArray:
        scale = _scale(weights)
        stored = np.round(weights / scale) * scale
        return np.where(np.abs(stored) < drop_below, 0.0, stored)

    weights = tagger.weights
    weights = replace(weights, state=nearest(weights.state), pair=nearest(weights.pair))
    smaller = tagger.with_features(tagger.index, weights).compact()
    smaller.curvature = None  # a small file is made for labelling, not for training on
    if smaller.vocabulary.names_columns() or smaller.associations is not None:
        return smaller
    return _sorted(smaller)


def to_compact(header: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Return the parts of a model file in the compact form."""
    scales, packed = {}, dict(arrays)
    vocabulary = Vocabulary.from_arrays(
        {name: packed.pop(f"vocabulary.{name}") for name in ("arena", "offsets", "slots", "hash_version")}
    )
    small: Arrays = {"vocabulary.names": _native.pack_names(vocabulary.native)}
    for part, (ids, _) in _PARTS.items():
        if f"{part}.weights" in packed:
            weights = packed.pop(f"{part}.weights")
            scales[part] = _scale(weights)
            rows = _native.pack_rows(packed.pop(f"{part}.indptr"), packed.pop(f"{part}.{ids}"))
            small |= {
                f"{part}.rows": rows,
                f"{part}.weights": np.round(weights / scales[part]).astype(np.int16),
            }
    return {**header, IN_HEADER: scales}, {**small, **packed}


def of_compact(header: Mapping[str, Any], arrays: ModelArrays, n_labels: int) -> ModelArrays:
    """Return the arrays of a model file as they are without the compact form."""
    scales = header[IN_HEADER]
    numbers = isinstance(scales, dict) and all(type(scale) is float for scale in scales.values())
    if (
        not numbers
        or not {"state"} <= set(scales) <= set(_PARTS)
        or not all(0 < s < 1e9 for s in scales.values())
    ):
        raise arrays.wrong("its compact form is malformed")
    full = dict(arrays.arrays)
    try:
        native = _native.unpack_names(arrays.take("vocabulary.names", np.uint8, (None,)))
        vocabulary = Vocabulary.from_native(native).to_arrays()
        full |= {f"vocabulary.{name}": array for name, array in vocabulary.items()}
        for part, scale in scales.items():
            ids, power = _PARTS[part]
            packed = arrays.take(f"{part}.rows", np.uint8, (None,))
            ends, found = _native.unpack_rows(packed, len(native), n_labels**power)
            weights = arrays.take(f"{part}.weights", np.int16, (len(found),)) * scale
            full |= {f"{part}.indptr": ends, f"{part}.{ids}": found, f"{part}.weights": weights}
    except ModelFileError as error:
        text = str(error)
        raise error if text.startswith("cannot read") else arrays.wrong(text) from error
    return ModelArrays(full, arrays.name)


def _scale(weights: FloatArray) -> float:
    """Return the weight that 1 stands for."""
    return float(np.abs(weights).max(initial=0.0)) / _LARGEST or 1.0


def _sorted(tagger: LinearTagger) -> LinearTagger:
    """Return the same tagger with attributes sorted by name."""
    L, old, names = tagger.index.n_labels, tagger.index, tagger.vocabulary.strings()
    order = sorted(range(len(names)), key=names.__getitem__)
    places = np.empty(len(names), np.int64)  # [A] new ids
    places[order] = np.arange(len(names))

    def moved(keys: IntArray, width: int) -> IntArray:
        new: IntArray = places[keys // width] * width + keys % width
        return new

    state, pair = moved(old.state_keys(), L), moved(old.pair_keys(), L**2)
    by_state, by_pair = np.argsort(state), np.argsort(pair)
    rows, pair_rows = rows_of(state[by_state], L, len(names)), rows_of(pair[by_pair], L**2, len(names))
    vocabulary = Vocabulary([names[a] for a in order])
    conjunctions = Conjunctions(vocabulary, tagger.conjunctions.atoms)
    weights = tagger.weights
    return tagger.with_features(
        FeatureIndex(L, *rows, old.edges, old.ngrams, *pair_rows),
        replace(weights, state=weights.state[by_state], pair=weights.pair[by_pair]),
        replace(tagger.encoder, vocabulary=vocabulary, conjunctions=conjunctions),
    )
