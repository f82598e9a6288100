"""The formats of model files: crfkit's own and those of other tools.

The formats of other tools are recognised and read by the native core: ``native/foreign/any_model.h``.
"""

from __future__ import annotations

import os

from crfkit import _native

OWN = "crfkit"
MAGIC = b"\x89CRFKIT\n"  # not ASCII, and its newline does not survive a text-mode transfer
FOREIGN = ("crfsuite", "wapiti", "crf++")
MODEL_FORMATS = (OWN, *FOREIGN)
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
    return OWN if start.startswith(MAGIC) else _native.foreign_format(start)


def binary_model_format(start: bytes) -> str | None:
    """Return the model format of a file that should hold data; also None if it may be text."""
    if b"\0" not in start and not start.startswith((MAGIC, _TEXT_MAGIC)):
        return None
    return model_format(start)
