"""python-crfsuite's tagger: one sequence at a time, from CRFsuite's model files or crfkit's own."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.compat.pycrfsuite.dump import HEADER_SIZE, ParsedDump, dump_lines, parsed_dump, read_header
from crfkit.compat.pycrfsuite.errors import TaggerError
from crfkit.compat.pycrfsuite.items import read_items
from crfkit.exceptions import InputError, ModelFileError
from crfkit.inference import Lattice, log_partition, marginals, path_score
from crfkit.io.writing import open_output
from crfkit.models.linear.tagger import LinearTagger


class _Sequence:
    """A sequence that was set: its scores, and its marginals once they are asked for."""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice

    @cached_property
    def marginals(self) -> FloatArray:  # [T, L]
        return marginals(self.lattice, n_jobs=1).node


class Tagger:
    """Labels sequences with a model. Unlike the original it pickles, and it opens crfkit's models too.

    ``with Tagger().open("model.crfsuite") as tagger: tagger.tag(xseq)`` closes it at the end. Threads may
    share a tagger: each has its own current sequence, and a thread that has set none sees the last one set.
    """

    def __init__(self) -> None:
        self._tagger: LinearTagger | None = None
        self._header: dict[str, str] = {}
        self._ids: dict[str, int] = {}  # label: place in classes
        self._own = threading.local()  # ``sequence``: the current one of a thread
        self._last: _Sequence | None = None  # set by any thread

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
        self._tagger = self._last = None
        self._own = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        """Return everything except the sequences of threads."""
        return {**self.__dict__, "_own": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _own=threading.local())

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
            with open_output(filename) as file:
                file.writelines(line.encode() for line in lines)

    # ---- a sequence

    def set(self, xseq: Any) -> None:
        """Set the current sequence for calls of ``tag``, ``probability`` and ``marginal``."""
        self._set(xseq)

    def _set(self, xseq: Any) -> _Sequence:
        tagger = self.model
        batch = read_items(xseq, tagger.vocabulary, grow=False)
        sequence = _Sequence(tagger.potential.scores(batch, n_jobs=1))
        self._own.sequence = self._last = sequence
        return sequence

    def _current(self) -> _Sequence:
        sequence: _Sequence | None = getattr(self._own, "sequence", self._last)
        if sequence is None:
            _ = self.model  # raises an error if the tagger is not open
            raise TaggerError("there is no sequence yet: call set(xseq) or tag(xseq) first")
        return sequence

    def tag(self, xseq: Any = None) -> list[str]:
        """Return the most probable labels of the sequence, by default the current one."""
        sequence, model = self._current() if xseq is None else self._set(xseq), self.model
        return [model.classes[i] for i in model.decode(sequence.lattice).labels.tolist()]

    def probability(self, yseq: Iterable[str]) -> float:
        """Return the probability p(yseq | x) of a labelling of the current sequence; 0 if that is empty."""
        lattice = self._current().lattice
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
        sequence = self._current()
        lattice = sequence.lattice
        if lattice.n_positions == 0:
            return 0.0
        if not 0 <= pos < lattice.n_positions:
            raise InputError(
                f"the current sequence has the positions 0..{lattice.n_positions - 1}, not {pos}"
            )
        return float(sequence.marginals[pos, self._label_id(y)])

    def _label_id(self, label: str | bytes) -> int:
        name = label.decode("utf-8") if isinstance(label, bytes) else label
        found = self._ids.get(name)
        if found is None:
            shown = ", ".join(map(repr, list(self._ids)[:10])) + (", …" if len(self._ids) > 10 else "")
            raise TaggerError(f"the model has no label {label!r}; it has {shown}")
        return found
