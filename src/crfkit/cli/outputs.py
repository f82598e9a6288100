"""Where results go: files that are written whole or not at all, and standard output."""

from __future__ import annotations

import contextlib
import os
from typing import IO

from crfkit.exceptions import InputError


def check_writable(path: str) -> None:
    """Before the work, not after it: can this file be written?"""
    if path == "-":
        return
    directory = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise InputError(f"{path}: it is a directory; name a file for the result")
    if not os.path.isdir(directory):
        raise InputError(f"{path}: there is no directory {directory}")
    if os.path.isfile(path) or not os.path.exists(path):  # a device or a pipe takes what it is given
        for place in (directory, path):
            if os.path.exists(place) and not os.access(place, os.W_OK):
                raise InputError(f"{path}: {place} cannot be written to")


def open_result(path: str) -> contextlib.AbstractContextManager[IO[bytes]]:
    """The file for results; ``-`` is standard output."""
    from crfkit.io.opening import open_output

    check_writable(path)
    return open_output(path)
