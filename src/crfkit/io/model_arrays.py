"""The arrays of a model file, checked for type and shape."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import IntArray
from crfkit.exceptions import ModelFileError
from crfkit.io.model_file import Arrays, Source, read_model


class ModelArrays:
    """Arrays by name. A missing or malformed array raises a ``ModelFileError`` that names the model."""

    def __init__(self, arrays: Arrays, name: str) -> None:
        self.arrays = arrays
        self.name = name  # of the model, in messages

    def __contains__(self, key: str) -> bool:
        return key in self.arrays

    def wrong(self, what: str) -> ModelFileError:
        """Return an error about the model."""
        return ModelFileError(f"cannot read the model {self.name}: {what}")

    def under(self, prefix: str) -> Arrays:
        """Return the arrays whose names begin with the prefix, by the rest of their names."""
        return {key[len(prefix) :]: array for key, array in self.arrays.items() if key.startswith(prefix)}

    def take(
        self, key: str, dtype: type[np.generic], shape: tuple[int | None, ...], *, infinite: bool = False
    ) -> npt.NDArray[Any]:
        """Return the array ``key``. A None in ``shape`` permits any length.

        Numbers must be finite; with ``infinite`` they may be infinite, but not NaN.
        """
        array = self.arrays.get(key)
        fits = array is not None and array.dtype == dtype and array.ndim == len(shape)
        if (
            array is None
            or not fits
            or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True))
        ):
            expected = "(" + ", ".join("any" if n is None else str(n) for n in shape) + ")"
            found = "none" if array is None else f"{array.dtype} {array.shape}"
            raise self.wrong(f"expected an array {key!r} of {np.dtype(dtype)} {expected}, got {found}")
        if array.dtype.kind == "f" and not (
            not np.isnan(array).any() if infinite else np.isfinite(array).all()
        ):
            raise self.wrong(f"{key!r} holds numbers that are not finite")
        return array

    def check_rows(self, ends: IntArray, ids: npt.NDArray[Any], width: int, what: str) -> None:
        """Raise unless rows that end at ``ends`` [R+1] hold the ``ids``, all of them in 0 .. width-1."""
        sound = len(ends) and ends[0] == 0 and ends[-1] == len(ids) and bool((ends[1:] >= ends[:-1]).all())
        if not sound or (len(ids) and not (ids.min() >= 0 and ids.max() < width)):
            raise self.wrong(f"{what} does not fit together")


def open_model(source: Source, *, mmap: bool | None = None) -> tuple[dict[str, Any], ModelArrays]:
    """Return the header and the arrays of a model file of crfkit (see ``read_model``)."""
    header, arrays = read_model(source, mmap=mmap)
    name = str(source) if isinstance(source, (str, os.PathLike)) else "the model"
    return header, ModelArrays(arrays, name)
