"""The partitions of a Dask collection: bags, delayed objects, futures; files as delayed objects."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from typing import Any

import dask

from crfkit.distributed.shards import paired, read_file
from crfkit.exceptions import InputError
from distributed import Future

_KNOWN = "a bag of pairs (x, y), two bags X and y, a list of delayed (X, y), or a data frame with label="


def delayed(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return a task for a worker; what it returns is a partition."""
    return dask.delayed(function)(*arguments)


def from_files(pattern: str | os.PathLike[str], *more: str | os.PathLike[str]) -> list[Any]:
    """Return files as delayed partitions, one per file, for ``CRF.fit``.

    Workers read them, so every worker must see the files under the same names. A pattern such as
    ``"part-*.gz"`` names several files, which are taken in the order of their names. All formats of
    ``crfkit.io`` are possible. The labels of rows of cells are in the last column; a model needs a template
    or an extractor for the others.
    """
    paths: list[str] = []
    for one in (os.fspath(given) for given in (pattern, *more)):
        found = sorted(glob.glob(one, recursive=True))
        if not found:
            raise InputError(f"{one}: no file has such a name")
        paths += map(os.path.abspath, found)
    return [delayed(read_file, path) for path in paths]


def partitions_of(X: Any, y: Any) -> list[Any]:
    """Return the partitions as delayed objects or futures, each of which gives (X, y) or pairs (x, y)."""
    if isinstance(X, (list, tuple)):
        if y is not None:
            raise InputError("leave out y: delayed partitions have their labels, each is a tuple (X, y)")
        for one in X:
            if not (dask.is_dask_collection(one) or isinstance(one, Future)):
                raise InputError(
                    "a list of partitions must have nothing but delayed objects or futures; got "
                    f"{type(one).__name__}"
                )
        return list(X)
    if not hasattr(X, "to_delayed") or hasattr(X, "columns"):
        raise InputError(f"cannot train on this {type(X).__name__} of Dask; expected {_KNOWN}")
    parts = X.to_delayed()
    if y is None:
        return list(parts)
    if not hasattr(y, "to_delayed"):
        raise InputError(f"X is a {type(X).__name__} of Dask, so y must be one, too; got {type(y).__name__}")
    labels = y.to_delayed()
    if len(labels) != len(parts):
        raise InputError(f"X has {len(parts)} partitions, but y has {len(labels)}: they must be the same")
    return [delayed(paired, one, other) for one, other in zip(parts, labels, strict=True)]
