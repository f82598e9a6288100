"""Functions that all readers of X share: the kind of X, where its sequences end, and places in messages.

The readers are ``encode`` (sparse attributes), ``raw_columns`` (tables of mixed values), ``positions`` (rows
for kernels) and ``features.sentences`` (cells by column).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from crfkit.arrays import IntArray
from crfkit.data.sequences import offsets_of, place_of
from crfkit.exceptions import InputError

# The end of messages about text that is missing.
MISSING_HINT = (
    "If it was 'NA', 'null' or the like, pandas has read it as missing: read the file with "
    "keep_default_na=False; otherwise fill it, with fillna('') say"
)


def is_sparse(X: Any) -> bool:
    """Tell whether X is a sparse matrix or array of SciPy."""
    if isinstance(X, np.ndarray):
        return False
    # If X is a sparse matrix, this module is imported already; importing it here would slow down other calls.
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def is_matrix(X: Any) -> bool:
    """Tell whether X is sparse, or an array of bools or real or complex numbers of 2 or more dimensions."""
    if isinstance(X, np.ndarray):
        return X.ndim >= 2 and X.dtype.kind in "biufc"
    return is_sparse(X)


def is_frame(X: Any) -> bool:
    """Tell whether X is a pandas or polars data frame, by its attributes; neither library is imported."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "__getitem__")


def is_table(X: Any) -> bool:
    """Tell whether X is one table of rows. An array of objects is not: it may hold a sequence per row."""
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype.kind != "O"
    return is_frame(X) or is_sparse(X)


def is_empty(sequence: Any) -> bool:
    """Tell whether a sequence has neither positions nor a width."""
    return not is_matrix(sequence) and hasattr(sequence, "__len__") and len(sequence) == 0


def listed(X: Any, name: str = "X", of: str = "sequences") -> Iterable[Any]:
    """Return X if it is iterable and not a string or dict; raise ``InputError`` otherwise."""
    if isinstance(X, (str, bytes, Mapping)) or not isinstance(X, Iterable):
        raise InputError(f"{name} must be a list of {of}, got {type(X).__name__}")
    return X


def sequences_in(X: Any, name: str = "X", of: str = "sequences") -> Iterable[Any]:
    """Return X if it is a list of sequences; raise for a single table, which needs ``lengths``."""
    if is_table(X):
        raise undivided(X)
    return listed(X, name, of)


def undivided(X: Any, also: str = "") -> InputError:
    """Return the error for one table without ``lengths``; ``also`` names another way to mark the ends."""
    kind = "array" if isinstance(X, np.ndarray) else type(X).__name__
    what = "data frame" if is_frame(X) else f"{X.ndim}-D {kind}"
    return InputError(
        f"a single {what} does not say where sequences end: pass lengths=[…],{also} or a list with one "
        f"{'frame' if is_frame(X) else '2-D array'} per sequence"
    )


def cut(X: Any, lengths: Any, name: str = "X") -> IntArray:
    """Return the offsets [N+1] of the sequences of one table, which have these lengths [N]."""
    if not (is_table(X) or (isinstance(X, np.ndarray) and X.ndim == 2)):
        dimensions = f"{X.ndim}-D " if hasattr(X, "ndim") else ""
        raise InputError(
            "lengths goes with one 2-D array, sparse matrix or data frame that has all positions as rows, "
            f"got {name} of type {dimensions}{type(X).__name__}"
        )
    return cut_rows(X.shape[0], lengths, name)


def cut_rows(n_rows: int, lengths: Any, name: str = "X", of: str = "rows") -> IntArray:
    """Return the offsets [N+1] of sequences with these lengths [N], which must make up all the rows."""
    array = np.asarray(lengths)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"lengths must be a 1-D list of ints, got {array.ndim}-D {array.dtype}")
    if array.size and array.min() < 0:
        raise InputError(f"lengths must not be negative, got {array.min()} for sequence {array.argmin()}")
    offsets = offsets_of(array)
    if offsets[-1] != n_rows:
        raise InputError(f"lengths add up to {offsets[-1]} positions, but {name} has {n_rows} {of}")
    return offsets


def frame_columns(frame: Any, where: str) -> dict[str, Any]:
    """Return the columns of a data frame by name, which must all be different."""
    if not is_frame(frame):
        raise InputError(
            f"{where}: expected a data frame like the other sequences, got {type(frame).__name__}"
        )
    columns = {str(name): frame[name] for name in frame.columns}
    if len(columns) < len(frame.columns):
        names = [str(name) for name in frame.columns]
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{where}: the data frame has two columns called {repeated!r}; rename one")
    return columns


def refuse_masked(array: Any, where: str) -> None:
    """Raise for an array in which values are masked."""
    if isinstance(array, np.ma.MaskedArray):
        raise InputError(f"{where}: masked arrays are not supported; fill the masked values, with 0 say")


def place(offsets: IntArray, position: int | np.integer[Any]) -> str:
    """Return a position of the batch as text for messages."""
    sequence, at = place_of(offsets, position)
    return f"sequence {sequence}, position {at}"
