"""Bulk tagging: a function of a model's path and one partition of the data.

Dask, Ray, Spark and joblib send functions and data to processes on many machines. A function that takes the
path of a model, not the model, travels light: every process opens the model once (docs/large-data.md).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from crfkit.data.frames import is_one_frame
from crfkit.exceptions import InputError
from crfkit.models.loading import load
from crfkit.optional import needed

_MOST = 4  # models that a process keeps open
_opening = threading.Lock()


def tag_partition(
    model_path: str | os.PathLike[str],
    frame: Any,
    *,
    column: str = "predicted",
    tokens: str | None = None,
    n_jobs: int | None = 1,
) -> Any:
    """Label one partition of the data with the model in a file.

    The result depends on the arguments and the file alone. A process opens a file once, and again if the
    file has changed. Sequences must lie within one partition.

    Parameters
    ----------
    model_path : the file of a model, at the same path on every machine.
    frame : a data frame of pandas, polars or Arrow, or a list of sequences.
        A model that was trained on a data frame takes one with the same columns, and a table with the labels
        in a new column is returned. From a list of sequences, the labels are returned: a list of lists.
    column : the name of the new column.
    tokens : the name of a column with one sequence per row: a list of tokens, or of items. The new column
        then has one list of labels per row.
    n_jobs : threads. With one process per core, as usual on a cluster, one is best.
    """
    model = _opened(model_path, n_jobs)
    if not is_one_frame(frame):
        if isinstance(frame, Mapping):
            raise InputError(
                f"expected a data frame or a list of sequences, got {type(frame).__name__}: Ray gives data "
                "frames with batch_format='pandas'"
            )
        return model.predict(frame)
    nw = needed("narwhals", "tagging a data frame")
    given = nw.from_native(frame, eager_only=True)
    if tokens is None and not hasattr(model, "table_"):
        raise InputError(
            f"{os.fspath(model_path)} was not trained on a data frame, so it does not know the columns of "
            "this one: name the column of sequences with tokens=, or give a list of sequences"
        )
    if tokens is not None and tokens not in given.columns:
        raise InputError(f"tokens= names the column {tokens!r}, but the frame has {', '.join(given.columns)}")
    if len(given) == 0:  # the column has the type that it has in other partitions
        labels = [model.classes_[0] if tokens is None else model.classes_[:1]]
    elif tokens is None:
        labels = nw.from_native(model.predict(frame), series_only=True).to_list()
    else:
        labels = model.predict([_plain(cell) for cell in given[tokens].to_list()])
    made = nw.new_series(column, labels, backend=nw.get_native_namespace(given))
    return given.with_columns(made.head(len(given))).to_native()


def _plain(cell: Any) -> Any:
    """Return a cell with a sequence as a list; Arrow's lists may come as arrays."""
    return cell.tolist() if hasattr(cell, "tolist") else cell


def _opened(path: str | os.PathLike[str], n_jobs: int | None) -> Any:
    status = os.stat(path)
    with _opening:  # threads of one process wait for the first one
        return _load(os.path.abspath(path), status.st_mtime_ns, status.st_size, n_jobs)


@lru_cache(_MOST)
def _load(path: str, changed: int, size: int, n_jobs: int | None) -> Any:
    """Open a model; the time of its last change and its size tell whether it is still the same."""
    return load(path, n_jobs=n_jobs)
