"""Sequences of sparse attributes, their labels and label schemes, and the vocabularies behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crfkit._lazy import lazy_names
from crfkit.data.encode import (
    encode,  # not lazily: its module has the same name, and would stand in its place
)

if TYPE_CHECKING:
    from crfkit.data.columns import Columns
    from crfkit.data.examples import Examples
    from crfkit.data.label_codes import LabelCodes
    from crfkit.data.labels import Labels, decode_labels, encode_labels, label_set
    from crfkit.data.relabel import (
        convert_labels,
        detect_scheme,
        illegal_places,
        possible_schemes,
        repair_labels,
    )
    from crfkit.data.sequences import Encoded, LabelHints, Sequences
    from crfkit.data.vocabulary import Vocabulary

__all__ = [
    "Columns",
    "Encoded",
    "Examples",
    "LabelCodes",
    "LabelHints",
    "Labels",
    "Sequences",
    "Vocabulary",
    "convert_labels",
    "decode_labels",
    "detect_scheme",
    "encode",
    "encode_labels",
    "illegal_places",
    "label_set",
    "possible_schemes",
    "repair_labels",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Columns": "crfkit.data.columns",
        "Encoded": "crfkit.data.sequences",
        "Examples": "crfkit.data.examples",
        "LabelCodes": "crfkit.data.label_codes",
        "LabelHints": "crfkit.data.sequences",
        "Labels": "crfkit.data.labels",
        "Sequences": "crfkit.data.sequences",
        "Vocabulary": "crfkit.data.vocabulary",
        "convert_labels": "crfkit.data.relabel",
        "encode": "crfkit.data.encode",
        "decode_labels": "crfkit.data.labels",
        "detect_scheme": "crfkit.data.relabel",
        "encode_labels": "crfkit.data.labels",
        "illegal_places": "crfkit.data.relabel",
        "label_set": "crfkit.data.labels",
        "possible_schemes": "crfkit.data.relabel",
        "repair_labels": "crfkit.data.relabel",
    },
)
