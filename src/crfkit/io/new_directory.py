"""Writing a directory: under another name, beside the old one, whose place it takes when it is whole.

A locked file beside the new directory says that its writer lives. It is the first thing that a writer makes
and the last that it removes, so whatever has such a file that nobody has locked is abandoned.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator

from crfkit.exceptions import InputError
from crfkit.io.writing import lock

_LOCK = ".lock"
_OLD = ".old"


@contextlib.contextmanager
def new_directory(directory: str, mark: str, what: str) -> Iterator[str]:
    """Give a new directory, which takes the name when all is written; after an error, it is removed.

    An old directory is replaced only if it has the file ``mark``: it holds ``what`` this writes.
    """
    target = os.path.abspath(directory)
    if os.path.lexists(target) and not os.path.exists(os.path.join(target, mark)):
        if not os.path.isdir(target) or os.listdir(target):
            raise InputError(f"{target} exists and holds no {what}: name another directory, or remove it")
        os.rmdir(target)
    parent, name = os.path.split(target)
    if not os.path.isdir(parent):
        raise InputError(f"{target}: there is no directory {parent}")
    _remove_abandoned(parent, f".{name}.part-")
    with _claimed(os.path.join(parent, f".{name}.part-")) as place:
        os.mkdir(place)
        yield place
        if os.path.exists(target):
            os.rename(target, place + _OLD)
        os.rename(place, target)


@contextlib.contextmanager
def _claimed(prefix: str) -> Iterator[str]:
    """Give a path that no other writer uses; what is there and at its ``_OLD`` in the end is removed."""
    while True:
        place = prefix + os.urandom(8).hex()
        held = open(place + _LOCK, "xb")  # noqa: SIM115 (closed below)
        if lock(held.fileno()) != "held" and os.path.exists(held.name):
            break
        held.close()  # before it was locked, another writer took it for abandoned
    with held:
        try:
            yield place
        finally:
            _remove(place)


def _remove(place: str) -> None:
    for path in (place, place + _OLD):
        shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(place + _LOCK)


def _remove_abandoned(parent: str, prefix: str) -> None:
    """Remove what killed writers have left: paths whose lock nobody holds."""
    for entry in os.scandir(parent):
        if not (entry.name.startswith(prefix) and entry.name.endswith(_LOCK)):
            continue
        with contextlib.suppress(OSError), open(entry.path, "rb") as held:
            if lock(held.fileno()) == "locked":
                _remove(entry.path.removesuffix(_LOCK))
