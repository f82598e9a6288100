"""Model files in memory: as written by a model, and falsified with valid checksums."""

import io
from typing import Any

from crfkit.io.model_file import read_model, write_model


def saved(model: Any) -> bytes:
    """Return the contents of a model's file."""
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def rewritten(content: bytes, changes: dict[str, Any]) -> bytes:
    """Return a model file with changed arrays (None: removed) or header entries.

    A change is the new value, or a function of the old one.
    """
    header, arrays = read_model(content)
    for key, change in changes.items():
        part = arrays if key in arrays else header
        part[key] = change(part[key]) if callable(change) else change
    file = io.BytesIO()
    write_model(file, header, {name: array for name, array in arrays.items() if array is not None})
    return file.getvalue()
