"""Attributes from columns, data frames and token lists, written in Python.

``extractors`` defines the attributes made of columns (``algebra``: neighbours, windows, conjunctions),
``sources`` and ``numbers`` their values, ``steps`` the functions of a cell. ``compilation`` turns them into a
feature program, which makes the attributes; ``features`` has the transformer.
"""

from crfkit.features.builder.extractors import bias, column, first, function, last, position, token
from crfkit.features.builder.features import Features

__all__ = ["Features", "bias", "column", "first", "function", "last", "position", "token"]
