"""Model files in memory: as a model writes them, and with lies in them whose checksums are right."""

import io
from typing import Any

from crfkit.io.model_file import read_model, write_model


def saved(model: Any) -> bytes:
    """A model's file."""
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def rewritten(content: bytes, changes: dict[str, Any]) -> bytes:
    """A model file with other arrays (None: without them) or other entries of its header.

    A change is a value, or a function that makes it of what is there.
    """
    header, arrays = read_model(content)
    for key, change in changes.items():
        part = arrays if key in arrays else header
        part[key] = change(part[key]) if callable(change) else change
    file = io.BytesIO()
    write_model(file, header, {name: array for name, array in arrays.items() if array is not None})
    return file.getvalue()
