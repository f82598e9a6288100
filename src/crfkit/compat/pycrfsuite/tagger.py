"""python-crfsuite's tagger: one sequence at a time, from CRFsuite's model files or crfkit's own.

It is native (``native/bind/sequence_tagger.cpp``), so importing it and tagging load no NumPy.
"""

from __future__ import annotations

import contextlib
import os
import sys

from crfkit import _native
from crfkit.compat.pycrfsuite.errors import TaggerError
from crfkit.exceptions import InputError, ModelFileError

TYPE_CHECKING = False  # importing it from typing would double the time to start
if TYPE_CHECKING:
    from typing import Any

    from crfkit.compat.pycrfsuite.dump import ParsedDump
    from crfkit.models.linear.tagger import LinearTagger


class Tagger(_native.SequenceTagger):
    """Labels sequences with a model. Unlike the original it pickles, and it opens crfkit's models too.

    ``with Tagger().open("model.crfsuite") as tagger: tagger.tag(xseq)`` closes it at the end. Threads may
    share a tagger: each has its own current sequence, and a thread that has set none sees the last one set.
    """

    def __init__(self) -> None:
        super().__init__()
        self._content = b""
        self._model: LinearTagger | None = None

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Open a model file: CRFsuite's, crfkit's, or another that crfkit can read."""
        with open(name, "rb", buffering=0) as file:
            return self._open(file.readall(), os.fspath(name))

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Open a model from the bytes of its file."""
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise InputError(f"open_inmemory takes the bytes of a model file, got {type(value).__name__}")
        if not value:
            raise ModelFileError("cannot read the model: it has no bytes")
        return self._open(bytes(value), "<bytes>")

    def _open(self, content: bytes, name: str) -> contextlib.closing[Tagger]:
        self.open_content(content, name)
        self._content, self._model = content, None
        return contextlib.closing(self)

    def close(self) -> None:
        """Release the model."""
        super().close()
        self._content, self._model = b"", None

    def __reduce__(self) -> tuple[Any, tuple[type[Tagger], bytes | None]]:
        return _reopened, (type(self), self._content if self.is_open else None)

    @property
    def model(self) -> LinearTagger:
        """Return the open model as crfkit's own tagger, for many sequences at once."""
        if not self.is_open:
            raise TaggerError("the tagger is not open: call open(path) first")
        if self._model is None:
            from crfkit.models.foreign import import_model

            self._model = import_model(self._content)
        return self._model

    def info(self) -> ParsedDump:
        """Return labels, attributes, and the weights of all features, by name."""
        from crfkit.compat.pycrfsuite.dump import HEADER_SIZE, parsed_dump, read_header

        model = self.model
        return parsed_dump(model, read_header(self._content[:HEADER_SIZE], len(self._content), model))

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text to a file, or to standard output."""
        from crfkit.compat.pycrfsuite.dump import dump_lines

        lines = dump_lines(self.info())
        if filename is None:
            sys.stdout.writelines(lines)
            sys.stdout.flush()
        else:
            from crfkit.io.writing import open_output

            with open_output(filename) as file:
                file.writelines(line.encode() for line in lines)


def _reopened(kind: type[Tagger], content: bytes | None) -> Tagger:
    """Return a tagger with the model of these bytes; None: not open."""
    tagger = kind()
    if content is not None:
        tagger.open_inmemory(content)
    return tagger
