"""Data frames for kernels: standardised numbers, and one column per value of a category."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.frames import TableRecord, TableRows
from crfkit.exceptions import InputError
from crfkit.models.data_frames import TakesFrames

_MOST_LEVELS = 1000


class KernelFrames(TakesFrames):
    """A kernel model that takes data frames."""

    def _complete(self, record: TableRecord, rows: TableRows) -> TableRecord:
        """Return the record with the scales of the numbers and the values of the categories."""
        scales: dict[str, tuple[float, float]] = {}
        levels: dict[str, list[str]] = {}
        for name, kind in record.kinds.items():
            values = rows.table[name].to_numpy()
            if kind == "number":
                known = values[~np.isnan(values)]
                mean, deviation = (float(known.mean()), float(known.std())) if len(known) else (0.0, 1.0)
                scales[name] = mean, deviation or 1.0
                continue
            levels[name] = sorted({value for value in values.tolist() if value is not None})
            if len(levels[name]) > _MOST_LEVELS:
                raise InputError(
                    f"column {name!r} has {len(levels[name]):,} different texts, too many for a kernel on "
                    f"tables (at most {_MOST_LEVELS:,}): leave it out, or pass vectors or a kernel function"
                )
        return replace(record, scales=scales, levels=levels)

    def _of_rows(self, rows: TableRows, record: TableRecord) -> Any:
        """Return the rows as numbers [ΣT, d]: missing ones are 0, the mean; unknown values are all 0."""
        parts: list[FloatArray] = []
        for name, kind in record.kinds.items():
            values = rows.table[name].to_numpy()
            if kind == "number":
                mean, deviation = record.scales[name]
                parts.append(np.nan_to_num((values - mean) / deviation)[:, None])
            else:
                levels = np.array(record.levels[name], dtype=object)
                parts.append((values[:, None] == levels[None, :]).astype(np.float64))
        return np.concatenate(parts, axis=1)
