"""The formats of model files: crfkit's own and those of other tools.

A new one is a module of this room and an entry in ``MODEL_FORMATS``. The module of the format ``x`` has
``is_x_model(start)``, which tells its files by their first bytes, and ``read_x_model(source, encoding=…)``,
which gives a ``ForeignModel``.
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
# Of other tools: their modules, and what functions there are called after.
_FOREIGN = {
    "crfsuite": ("crfkit.io.crfsuite_model", "crfsuite"),
    "wapiti": ("crfkit.io.wapiti_model", "wapiti"),
    "crf++": ("crfkit.io.crfpp_model", "crfpp"),
}
MODEL_FORMATS = (OWN, *_FOREIGN)
WRITABLE = (OWN, "crfsuite")
START = 64  # bytes that tell the format
_TEXT_MAGIC = b"#mdl#"  # of the only models that are text and cannot be data


def model_format(source: str | os.PathLike[str] | bytes | bytearray | memoryview) -> str | None:
    """Which of ``MODEL_FORMATS`` a file is in, by its first bytes; None if in none of them."""
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            start = file.read(START)
    else:
        start = bytes(source[:START])
    if start.startswith(MAGIC):
        return OWN
    # Fetched when needed: those who tag with crfkit's own models do not wait for the others.
    for format, (module, name) in _FOREIGN.items():
        if getattr(import_module(module), f"is_{name}_model")(start):
            return format
    return None


def binary_model_format(start: bytes) -> str | None:
    """The same of a file that should hold data: None also where it may be text."""
    if b"\0" not in start and not start.startswith((MAGIC, _TEXT_MAGIC)):
        return None
    return model_format(start)


def read_foreign(source: Source, format: str, encoding: str) -> ForeignModel:
    """The model in a file of another tool."""
    module, name = _FOREIGN[format]
    model: ForeignModel = getattr(import_module(module), f"read_{name}_model")(source, encoding=encoding)
    return model
