"""The ``.crfsuite`` file of an estimator; a temporary file is written only when its name is read."""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from collections.abc import Iterator

from crfkit.models.linear.tagger import LinearTagger


class ModelFile:
    """The model's file: the given path, or a temporary file that is removed with this object."""

    def __init__(
        self, path: str | os.PathLike[str] | None, tagger: LinearTagger | None, keep: bool = False
    ) -> None:
        self._path = None if path is None else os.fspath(path)
        self._tagger, self._keep = tagger, keep

    @property
    def name(self) -> str | None:
        """Return the path; None before there is a model."""
        if self._path is None and self._tagger is not None:
            from crfkit.models.foreign import export_crfsuite

            self._path = _new_path()
            if not self._keep:
                weakref.finalize(self, _remove, self._path)
            export_crfsuite(self._tagger, self._path)
        return self._path


@contextlib.contextmanager
def temporary_path() -> Iterator[str]:
    """Provide a path for a temporary file, and remove the file afterwards."""
    path = _new_path()
    try:
        yield path
    finally:
        _remove(path)


def _new_path() -> str:
    descriptor, path = tempfile.mkstemp(".crfsuite", "model")
    os.close(descriptor)
    return path


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
