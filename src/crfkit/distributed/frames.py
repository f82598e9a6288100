"""A Dask data frame as delayed partitions of rows."""

from __future__ import annotations

from typing import Any

from crfkit.data.frames import TableRecord
from crfkit.distributed.collections import delayed


def frame_parts(frame: Any, record: TableRecord, estimator: Any) -> list[Any]:
    """Return the partitions of a frame, in the form that the estimator takes; each has whole sequences.

    ``record`` has been learnt from the first partition: which columns there are, and of which kinds.
    """
    how = (type(estimator), estimator.template)
    return [delayed(read_rows, part, record, *how) for part in frame.to_delayed()]


def read_rows(frame: Any, record: TableRecord, kind: Any, template: Any) -> tuple[Any, Any]:
    """Read the rows of a partition: a task."""
    rows = record.read(frame, labelled=True)
    return kind(template=template)._of_rows(rows, record), rows.labels
