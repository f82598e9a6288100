"""Attributes from columns, data frames and token lists, written in Python.

A sentence is read by columns. ``extractors`` says what is made of them (``algebra``: neighbours, windows,
conjunctions), ``sources`` and ``numbers`` where the values come from, ``steps`` what is done to a cell,
``sentences`` how sentences of any shape are read, ``attributes`` how it all becomes lists of attributes;
``features`` has the transformer.
"""

from crfkit.features.builder.extractors import bias, column, first, function, last, position, token
from crfkit.features.builder.features import Features

__all__ = ["Features", "bias", "column", "first", "function", "last", "position", "token"]
