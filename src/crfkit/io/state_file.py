"""Nested values in a model file: dicts and lists of numbers, strings and arrays, such as states of training.

Arrays are those of the model file. Everything else is one JSON text in its header, in which {"array": k}
stands for array k. Unlike the header itself, the text may hold infinity and NaN.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from crfkit.exceptions import ModelFileError
from crfkit.io.model_file import Arrays, read_model, write_model


def write_state(path: str | os.PathLike[str], header: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Write a model file with this header and a state, atomically."""
    arrays: Arrays = {}
    text = json.dumps(_packed(state, arrays))
    write_model(path, {**header, "state": text}, arrays)


def read_state(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the state in a file; tuples come back as lists, arrays are read-only."""
    header, arrays = read_model(path, mmap=False)
    try:
        state = json.loads(header.pop("state"))
        found = _unpacked(state, arrays)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"cannot read {os.fspath(path)}: it holds no state of training") from error
    if not isinstance(found, dict):
        raise ModelFileError(f"cannot read {os.fspath(path)}: it holds no state of training")
    return header, found


def _packed(value: Any, arrays: Arrays) -> Any:
    """Return a value with its arrays moved to ``arrays``."""
    if isinstance(value, np.ndarray):
        name = str(len(arrays))
        arrays[name] = value
        return {"array": name}
    if isinstance(value, Mapping):
        return {key: _packed(each, arrays) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_packed(each, arrays) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _unpacked(value: Any, arrays: Arrays) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"array"}:
            return arrays[value["array"]]
        return {key: _unpacked(each, arrays) for key, each in value.items()}
    return [_unpacked(each, arrays) for each in value] if isinstance(value, list) else value
