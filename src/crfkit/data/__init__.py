"""Sequences of sparse attributes, their labels, and the vocabularies behind them."""

from .columns import Columns
from .encode import encode
from .labels import Labels, decode_labels, encode_labels, label_set
from .sequences import Encoded, Sequences
from .vocabulary import Vocabulary

__all__ = [
    "Columns",
    "Encoded",
    "Labels",
    "Sequences",
    "Vocabulary",
    "decode_labels",
    "encode",
    "encode_labels",
    "label_set",
]
