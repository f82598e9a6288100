"""Sequences of sparse attributes, their labels and label schemes, and the vocabularies behind them."""

from .columns import Columns
from .encode import encode
from .examples import Examples
from .label_codes import LabelCodes
from .labels import Labels, decode_labels, encode_labels, label_set
from .relabel import convert_labels, detect_scheme, illegal_places, possible_schemes, repair_labels
from .sequences import Encoded, Sequences
from .vocabulary import Vocabulary

__all__ = [
    "Columns",
    "Encoded",
    "Examples",
    "LabelCodes",
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
