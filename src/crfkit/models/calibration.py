"""What is done to a model's probabilities so that they are true shares: a temperature, or rising functions.

A temperature T > 1 makes a model less sure: all scores are divided by it before anything is summed, so that
the probabilities of labels, segments and labellings fit together. (Guo et al., ICML 2017, for a chain.) An
isotonic map sends each probability to the share of right predictions near it on held-out data. Labels are
decoded from the scores themselves, so neither changes them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.exceptions import InputError
from crfkit.inference.lattice import ScoredSequences

if TYPE_CHECKING:
    from crfkit.metrics.isotonic import IsotonicMap

Scores = TypeVar("Scores", bound=ScoredSequences)

IN_HEADER = "calibration"  # name of the entry in the header of a model file


@dataclass(frozen=True, repr=False)
class Calibration:
    """A temperature and maps of probabilities; the defaults change nothing."""

    temperature: float = 1.0
    tokens: IsotonicMap | None = None
    segments: IsotonicMap | None = None

    @property
    def is_none(self) -> bool:
        """Whether it changes nothing."""
        return self.temperature == 1.0 and self.tokens is None and self.segments is None

    def tempered(self, scores: Scores) -> Scores:
        """Return the scores divided by the temperature."""
        return scores.scaled(1 / self.temperature)

    def of_tokens(self, node: FloatArray) -> FloatArray:
        """Return mapped probabilities of labels [ΣT, L]; each row sums to 1."""
        if self.tokens is None or not len(node):
            return node
        mapped = self.tokens(node)
        total = mapped.sum(axis=1, keepdims=True)
        return np.where(total > 0, mapped / np.where(total > 0, total, 1.0), node)

    def of_segments(self, probability: FloatArray) -> FloatArray:
        """Return mapped probabilities of segments [M]."""
        return probability if self.segments is None else self.segments(probability)

    def to_header(self) -> dict[str, Any]:
        """Return the entry of a model file's header; nothing if it changes nothing."""
        if self.is_none:
            return {}
        record: dict[str, Any] = {}
        if self.temperature != 1.0:
            record["temperature"] = self.temperature
        maps = {
            name: found.to_lists()
            for name, found in (("tokens", self.tokens), ("segments", self.segments))
            if found is not None
        }
        if maps:
            record["isotonic"] = maps
        return {IN_HEADER: record}

    @classmethod
    def of_header(cls, header: Mapping[str, Any]) -> Calibration:
        """Return the calibration in a model file's header."""
        if IN_HEADER not in header:
            return cls()
        from crfkit.metrics.isotonic import IsotonicMap  # few models need it

        record = header[IN_HEADER]
        wrong = InputError("its calibration is malformed")
        if not isinstance(record, dict) or not isinstance(record.get("isotonic", {}), dict):
            raise wrong
        temperature = record.get("temperature", 1.0)
        if type(temperature) not in (int, float) or not (0 < temperature < math.inf):
            raise wrong
        maps = {name: IsotonicMap.of_lists(points) for name, points in record.get("isotonic", {}).items()}
        if set(maps) - {"tokens", "segments"} or any(found is None for found in maps.values()):
            raise wrong
        return cls(float(temperature), maps.get("tokens"), maps.get("segments"))

    def __repr__(self) -> str:
        return f"<calibration: {self}>"

    def __str__(self) -> str:
        parts = [] if self.temperature == 1.0 else [f"temperature {self.temperature:.3f}"]
        for name, found in (("labels", self.tokens), ("segments", self.segments)):
            if found is not None:
                parts.append(f"isotonic, {len(found.x)} points for {name}")
        return "; ".join(parts) or "none"
