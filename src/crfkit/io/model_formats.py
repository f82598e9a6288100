"""The formats of model files: crfkit's own and those of other tools.

A new format is a module in this package and an entry in ``MODEL_FORMATS``. The module of the format ``x`` has
``is_x_model(start)``, which recognises its files by their first bytes, and ``read_x_model(source,
encoding=…)``, which returns a ``ForeignModel``.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crfkit.io.foreign_model import ForeignModel
    from crfkit.io.model_file import Source

OWN = "crfkit"
MAGIC = b"\x89CRFKIT\n"  # not ASCII, and its newline does not survive a text-mode transfer
# Formats of other tools: the module, and the name used in its functions.
_FOREIGN = {
    "crfsuite": ("crfkit.io.crfsuite_model", "crfsuite"),
    "wapiti": ("crfkit.io.wapiti_model", "wapiti"),
    "crf++": ("crfkit.io.crfpp_model", "crfpp"),
}
MODEL_FORMATS = (OWN, *_FOREIGN)
WRITABLE = (OWN, "crfsuite")
START = 64  # bytes used to detect the format
_TEXT_MAGIC = b"#mdl#"  # of Wapiti: the only text models that cannot be data


def model_format(source: str | os.PathLike[str] | bytes | bytearray | memoryview) -> str | None:
    """Return which of ``MODEL_FORMATS`` a file has, by its first bytes; None if it has none of them."""
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            start = file.read(START)
    else:
        start = bytes(source[:START])
    if start.startswith(MAGIC):
        return OWN
    # Imported when needed: tagging with crfkit's own models does not import the others.
    for format, (module, name) in _FOREIGN.items():
        if getattr(import_module(module), f"is_{name}_model")(start):
            return format
    return None


def binary_model_format(start: bytes) -> str | None:
    """Return the model format of a file that should hold data; also None if it may be text."""
    if b"\0" not in start and not start.startswith((MAGIC, _TEXT_MAGIC)):
        return None
    return model_format(start)


def read_foreign(source: Source, format: str, encoding: str) -> ForeignModel:
    """Read the model in a file of another tool."""
    module, name = _FOREIGN[format]
    model: ForeignModel = getattr(import_module(module), f"read_{name}_model")(source, encoding=encoding)
    return model
