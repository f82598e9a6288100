"""Advice on attributes whose scale makes training hard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from crfkit.arrays import IntArray
from crfkit.data.sequences import Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputWarning
from crfkit.features.index import FeatureIndex
from crfkit.warn import warn

_SPREAD = 0.01  # of the mean: with less, a column is nearly constant
_ROUNDING = 1e-12  # of the mean: with less, it is constant
_NEARLY_ALL = 0.9  # share of the positions
_SHOWN = 3  # names in a message


def nearly_constant(sequences: Sequences) -> IntArray:
    """Return the attributes that stand at nearly all positions, with values that hardly differ.

    Differences between them would need a large weight, which needs another large weight against the common
    part: under a penalty such an attribute acts as a constant. Constants themselves are left out.
    """
    values, where = sequences.values, sequences.indices
    if values is None:
        return np.zeros(0, np.int64)
    count = sequences.by_attribute()
    common = (count >= _NEARLY_ALL * sequences.n_positions) & (count > 1)
    if not common.any():
        return np.zeros(0, np.int64)
    often = np.maximum(count, 1)
    mean = sequences.by_attribute(lambda part: values[part]) / often
    squares = sequences.by_attribute(lambda part: (values[part] - mean[where[part]]) ** 2)
    spread = np.sqrt(squares / often)
    size = np.abs(mean)
    return np.flatnonzero(common & (spread < _SPREAD * size) & (spread > _ROUNDING * size))


def warn_of_constants(sequences: Sequences, vocabulary: Vocabulary) -> None:
    """Warn of nearly constant attributes, in the name of the caller of ``fit`` or ``partial_fit``."""
    flat = nearly_constant(sequences)
    if len(flat):
        warn(constant_words(flat, sequences, vocabulary), InputWarning)


def constant_words(attributes: IntArray, sequences: Sequences, vocabulary: Vocabulary) -> str:
    """Return a warning that names nearly constant attributes."""
    shown = [
        f"{_name(vocabulary, a)} ({_in_words(value_range(sequences, a))})"
        for a in map(int, attributes[:_SHOWN].tolist())
    ]
    more = f" and {len(attributes) - _SHOWN} more" if len(attributes) > _SHOWN else ""
    return (
        f"the values of {', '.join(shown)}{more} differ by less than {_SPREAD:.0%} of their size, so that "
        "they act as constants: standardise them (subtract the mean, divide by the standard deviation)"
    )


def steepest_words(
    place: int,
    index: FeatureIndex,
    vocabulary: Vocabulary,
    classes: list[Any],
    range_of: Callable[[int], tuple[float, float] | None],  # ``value_range`` of an attribute
) -> str:
    """Return which feature stands at a place of the weights, where training got stuck."""
    edges, ngrams, pairs, _ = index.sizes
    if place < edges + ngrams:
        run = divmod(place, index.n_labels) if place < edges else index.ngrams[place - edges].tolist()
        labels = [classes[label] for label in run if label >= 0]
        return f"The gradient is largest for the transition {labels}"
    indptr, at = index.pair_indptr, place - edges - ngrams
    if at >= pairs:
        indptr, at = index.state_indptr, at - pairs
    attribute = int(np.searchsorted(indptr, at, side="right")) - 1
    words = f"The gradient is largest for the attribute {_name(vocabulary, attribute)}"
    found = range_of(attribute)
    if found is None:
        return words
    return f"{words} ({_in_words(found)}): standardise its values or cut off extreme ones"


def _name(vocabulary: Vocabulary, attribute: int) -> str:
    return repr(vocabulary.strings(attribute, attribute + 1)[0])


def value_range(sequences: Sequences, attribute: int) -> tuple[float, float] | None:
    """Return the least and the greatest value of an attribute; None if values are not given."""
    if sequences.values is None:
        return None
    found = [
        sequences.values[part][sequences.indices[part] == attribute] for part in sequences.entry_pieces()
    ]
    values = np.concatenate(found)
    return float(values.min()), float(values.max())


def _in_words(found: tuple[float, float] | None) -> str:
    return "1" if found is None else f"{found[0]:.10g} to {found[1]:.10g}"
