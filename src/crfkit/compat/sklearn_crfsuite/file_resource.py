"""The ``.crfsuite`` file of an estimator; a temporary file is written only when its name is read."""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crfkit.exceptions import InputError
from crfkit.models.linear.tagger import LinearTagger

_DATA = "__FILE_RESOURCE_DATA__"  # the content of a temporary file in a pickle of the original


class FileResource:
    """A file: one at a given path, or a temporary one that is removed with this object.

    Attributes
    ----------
    name : str or None
        The path. The temporary file of a model is written when it is read; None before there is a model.
    auto : bool
        Whether the file is a temporary one.
    keep_tempfiles : bool
        Whether temporary files are left behind.
    """

    def __init__(
        self,
        filename: str | os.PathLike[str] | None = None,
        keep_tempfiles: bool = False,
        suffix: str = "",
        prefix: str = "",
        *,
        content: bytes | LinearTagger | None = None,
    ) -> None:
        self.auto = filename is None
        self.keep_tempfiles, self.suffix, self.prefix = keep_tempfiles, suffix, prefix
        self.content = content  # what to write into a temporary file
        self._name = None if filename is None else os.fspath(filename)
        self._removal: weakref.finalize[Any, Any] | None = None

    @property
    def name(self) -> str | None:
        """Return the path."""
        if self._name is None and self.content is not None:
            self.ensure_name()
        return self._name

    @name.setter
    def name(self, path: str | None) -> None:
        self._name = path

    def ensure_name(self) -> None:
        """Make a temporary file, unless there is a name already."""
        if self._name is not None:
            return
        if not self.auto:
            raise InputError("there is no file name: give one when the object is made")
        self._name = _new_path(self.suffix, self.prefix)
        if not self.keep_tempfiles:
            self._removal = weakref.finalize(self, _remove, self._name)
        if isinstance(self.content, bytes):
            Path(self._name).write_bytes(self.content)
        elif self.content is not None:
            from crfkit.models.foreign import export_crfsuite

            export_crfsuite(self.content, self._name)

    def cleanup(self) -> None:
        """Remove the temporary file, unless temporary files are kept; a file at a given path stays."""
        if self.keep_tempfiles or not self.auto:
            return
        if self._removal is not None:
            self._removal()
        self._name = self.content = self._removal = None

    def refresh(self) -> None:
        """Remove the temporary file and make a new, empty one."""
        self.cleanup()
        self.ensure_name()

    def __getstate__(self) -> dict[str, Any]:
        state = {name: getattr(self, name) for name in ("auto", "keep_tempfiles", "suffix", "prefix")}
        if not self.auto:
            return {**state, "name": self._name}
        data = None if self.name is None else Path(self.name).read_bytes()
        return {**state, "name": None, _DATA: data}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Accept the state of the original too."""
        settings = {name: state.get(name, default) for name, default in _DEFAULTS.items()}
        self.__init__(None if state["auto"] else state["name"], **settings, content=state.get(_DATA))  # type: ignore[misc]


_DEFAULTS: dict[str, Any] = {"keep_tempfiles": False, "suffix": ".crfsuite", "prefix": "model"}


@contextlib.contextmanager
def temporary_path() -> Iterator[str]:
    """Provide a path for a temporary file, and remove the file afterwards."""
    path = _new_path(".crfsuite", "model")
    try:
        yield path
    finally:
        _remove(path)


def _new_path(suffix: str, prefix: str) -> str:
    descriptor, path = tempfile.mkstemp(suffix, prefix)
    os.close(descriptor)
    return path


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
