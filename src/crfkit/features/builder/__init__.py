"""Attributes from columns, data frames and token lists, written in Python.

``sentences`` reads sentences of any shape by columns. ``extractors`` defines the attributes made of them
(``algebra``: neighbours, windows, conjunctions), ``sources`` and ``numbers`` their values, ``steps`` the
functions of a cell. ``attributes`` makes the lists of attributes; ``features`` has the transformer.
"""

from crfkit.features.builder.extractors import bias, column, first, function, last, position, token
from crfkit.features.builder.features import Features

__all__ = ["Features", "bias", "column", "first", "function", "last", "position", "token"]
