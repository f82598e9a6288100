"""The output files of a command: checked before the work, not lost after it.

An output must be writable and must not be an input. If the command fails, ``unchanged`` names the outputs of
earlier runs that are still there. A result whose file cannot be written goes to another folder.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence

from crfkit.cli.messages import UsageError
from crfkit.exceptions import OutputError
from crfkit.io.writing import check_writable

_State = tuple[int, int, int]  # inode, time of the last change, size


def check_outputs(
    arguments: argparse.Namespace, outputs: Sequence[str | None], inputs: Sequence[str | None]
) -> None:
    """Raise an error if an output cannot be written, is also an input, or is named twice.

    Symbolic and hard links are seen through, and so is a file behind standard input or output. ``arguments``
    remember the outputs that exist already, for ``unchanged``.
    """
    named = [path for path in outputs if path is not None]
    read = {_identity(path, 0): path for path in inputs if path is not None}
    seen: dict[tuple[int, int] | str, str] = {}
    for path in named:
        check_writable(path)
        same = _identity(path, 1)
        if same is not None and same in read:
            what = "standard output" if path == "-" else path
            raise UsageError(f"{what} would overwrite the input {read[same]}: name another file")
        key = same or os.path.realpath(path)
        if key in seen and not _is_special(path):
            raise UsageError(f"{seen[key]} and {path} are the same file: name two")
        seen[key] = path
    arguments.earlier = {path: state for path in named if (state := _state(path)) is not None}


def unchanged(arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the outputs that existed before the command and are still the same."""
    earlier: dict[str, _State] = getattr(arguments, "earlier", {})
    for path, state in earlier.items():
        if _state(path) == state:
            yield path


def keep(path: str, write: Callable[[str], object], what: str) -> None:
    """Write a result to its file; if that fails, to another folder, and raise an error that names the place.

    ``write`` takes the path; ``what`` is the result in words. Standard output has no other folder. After
    Ctrl-C or SIGTERM, a file is written all the same, because the work is done; a second Ctrl-C ends that.
    """
    if path == "-":
        write(path)
        return
    try:
        write(path)
    except KeyboardInterrupt:
        if os.path.exists(path) and not os.path.isfile(path):
            raise  # a pipe has got a part already
        write(path)
        raise KeyboardInterrupt(f"stopped, but {what} was finished and is in {path}") from None
    except OSError as error:
        place = _rescued(os.path.basename(path), write)
        where = f"; {what} went to {place}" if place else f"; no other folder could take {what}"
        raise OutputError(error.errno, (error.strerror or str(error)) + where, path) from error


def _rescued(name: str, write: Callable[[str], object]) -> str | None:
    """Write to a new file that only the user can read; return its path, or None if no folder takes it."""
    import tempfile  # seldom needed, and slow to import

    for folder in (tempfile.gettempdir(), os.getcwd(), os.path.expanduser("~")):
        with contextlib.suppress(OSError):
            descriptor, place = tempfile.mkstemp(f"-{name[-100:]}", "crfkit-", folder)
            os.close(descriptor)
            try:
                write(place)
            except BaseException:
                os.unlink(place)
                raise
            return place
    return None


def _identity(path: str, descriptor: int) -> tuple[int, int] | None:
    """Return device and inode of a regular file; ``-`` is the file behind the descriptor, if there is one."""
    with contextlib.suppress(OSError, ValueError):
        if path == "-":
            stream = sys.stdout if descriptor else sys.stdin
            status = os.fstat(stream.fileno())
        else:
            status = os.stat(path)
        if stat.S_ISREG(status.st_mode):
            return status.st_dev, status.st_ino
    return None


def _is_special(path: str) -> bool:
    return path == "-" or (os.path.exists(path) and not os.path.isfile(path))


def _state(path: str) -> _State | None:
    """Return the state of a regular file with content; None for anything else."""
    with contextlib.suppress(OSError):
        status = os.stat(path)
        if stat.S_ISREG(status.st_mode) and status.st_size:
            return status.st_ino, status.st_mtime_ns, status.st_size
    return None
