"""python-crfsuite's tagger: one sequence at a time, from CRFsuite's model files or crfkit's own."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.compat.pycrfsuite.dump import HEADER_SIZE, ParsedDump, dump_lines, parsed_dump, read_header
from crfkit.compat.pycrfsuite.errors import TaggerError
from crfkit.compat.pycrfsuite.items import read_items
from crfkit.exceptions import InputError, ModelFileError
from crfkit.inference import Lattice, log_partition, marginals, path_score
from crfkit.models.linear.tagger import LinearTagger


class Tagger:
    """Labels sequences with a model. Unlike the original it pickles, and it opens crfkit's models too.

    ``with Tagger().open("model.crfsuite") as tagger: tagger.tag(xseq)`` closes it at the end.
    """

    def __init__(self) -> None:
        self._tagger: LinearTagger | None = None
        self._header: dict[str, str] = {}
        self._ids: dict[str, int] = {}  # label: place in classes
        self._lattice: Lattice | None = None  # of the current sequence
        self._marginals: FloatArray | None = None  # [T, L] of the current sequence

    # ---- the model

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Open a model file: CRFsuite's, crfkit's, or another that crfkit can read."""
        from crfkit.models.foreign import import_model

        with open(name, "rb") as file:
            start = file.read(HEADER_SIZE)
            size = os.fstat(file.fileno()).st_size
        return self._open(import_model(name), start, size)

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Open a model from the bytes of its file."""
        from crfkit.models.foreign import import_model

        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise InputError(f"open_inmemory takes the bytes of a model file, got {type(value).__name__}")
        data = bytes(value)
        if not data:
            raise ModelFileError("cannot read the model: it has no bytes")
        return self._open(import_model(data), data[:HEADER_SIZE], len(data))

    def _open(self, tagger: LinearTagger, start: bytes, size: int) -> contextlib.closing[Tagger]:
        tagger.n_jobs = 1  # one sequence at a time
        self.close()
        self._tagger, self._header = tagger, read_header(start, size, tagger)
        self._ids = {label: i for i, label in enumerate(tagger.classes)}
        return contextlib.closing(self)

    def close(self) -> None:
        """Release the model."""
        self._tagger = self._lattice = self._marginals = None

    @property
    def model(self) -> LinearTagger:
        """Return the open model as crfkit's own tagger, for many sequences at once."""
        if self._tagger is None:
            raise TaggerError("the tagger is not open: call open(path) first")
        return self._tagger

    def labels(self) -> list[str]:
        """Return the labels of the model."""
        return list(self.model.classes)

    def info(self) -> ParsedDump:
        """Return labels, attributes, and the weights of all features, by name."""
        return parsed_dump(self.model, self._header)

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text to a file, or to standard output."""
        lines = dump_lines(self.info())
        if filename is None:
            sys.stdout.writelines(lines)
            sys.stdout.flush()
        else:
            with open(filename, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(lines)

    # ---- a sequence

    def set(self, xseq: Any) -> None:
        """Set the current sequence for calls of ``tag``, ``probability`` and ``marginal``."""
        tagger = self.model
        batch = read_items(xseq, tagger.vocabulary, grow=False)
        self._lattice = tagger.potential.scores(batch, n_jobs=1)
        self._marginals = None

    def _current(self) -> Lattice:
        if self._lattice is None:
            _ = self.model  # raises an error if the tagger is not open
            raise TaggerError("there is no sequence yet: call set(xseq) or tag(xseq) first")
        return self._lattice

    def tag(self, xseq: Any = None) -> list[str]:
        """Return the most probable labels of the sequence, by default the current one."""
        if xseq is not None:
            self.set(xseq)
        lattice, classes = self._current(), self.model.classes
        return [classes[i] for i in self.model.decode(lattice).labels.tolist()]

    def probability(self, yseq: Iterable[str]) -> float:
        """Return the probability p(yseq | x) of a labelling of the current sequence; 0 if that is empty."""
        lattice = self._current()
        labels = list(yseq)
        if lattice.n_positions == 0:
            return 0.0
        if len(labels) != lattice.n_positions:
            raise InputError(
                f"the current sequence has {lattice.n_positions} items, but yseq has {len(labels)} labels"
            )
        path = np.array([self._label_id(label) for label in labels], dtype=np.int32)
        return float(np.exp(path_score(lattice, path, n_jobs=1)[0] - log_partition(lattice, n_jobs=1)[0]))

    def marginal(self, y: str, pos: int) -> float:
        """Return the probability of the label ``y`` at ``pos`` in the current sequence; 0 if it is empty."""
        lattice = self._current()
        if lattice.n_positions == 0:
            return 0.0
        if not 0 <= pos < lattice.n_positions:
            raise InputError(
                f"the current sequence has the positions 0..{lattice.n_positions - 1}, not {pos}"
            )
        if self._marginals is None:
            self._marginals = marginals(lattice, n_jobs=1).node
        return float(self._marginals[pos, self._label_id(y)])

    def _label_id(self, label: str | bytes) -> int:
        name = label.decode("utf-8") if isinstance(label, bytes) else label
        found = self._ids.get(name)
        if found is None:
            shown = ", ".join(map(repr, list(self._ids)[:10])) + (", …" if len(self._ids) > 10 else "")
            raise TaggerError(f"the model has no label {label!r}; it has {shown}")
        return found
