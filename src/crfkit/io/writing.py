"""Writing files: the one way in which crfkit writes models, labels, tables, plots and pages.

A regular file is replaced in one step: the bytes go to a temporary file beside it, which is on the disk
before it takes the name. A process that is killed therefore leaves the old file or the new one. The temporary
file is locked while it is written: the next writer removes those that killed processes have left, which
nobody has locked.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import IO, TypeAlias, cast

from crfkit.exceptions import InputError, OutputError
from crfkit.io.text_width import visible

Target: TypeAlias = "str | os.PathLike[str] | IO[bytes]"

_TEMPORARY = re.compile(r"\.crfkit-[0-9a-f]{16}\.tmp")
_NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_DESCRIPTORS = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/self/fd/\d+")
_PIECE = 1 << 20  # bytes


@contextlib.contextmanager
def open_output(path: Target, *, size: int | None = None, compress: bool = True) -> Iterator[IO[bytes]]:
    """Open a binary file for writing; after an error, the old file stays as it was.

    An existing file keeps its permissions, owner and group; a new one gets the permissions of the umask. A
    symbolic link is followed. ``-`` is standard output; it, devices, pipes and file objects are written
    directly. An existing empty file may be held open (``tempfile.NamedTemporaryFile``), so it is not
    replaced: the finished bytes are copied into it. A path that ends in ``.gz`` is compressed, if
    ``compress``. ``size`` is the number of bytes to come, if known; the message about a full disk names it.
    """
    if not isinstance(path, (str, os.PathLike)):
        yield path
        return
    if path == "-":
        sys.stdout.flush()
        out = sys.stdout.buffer
        whole = cast("IO[bytes]", _Whole(out)) if isinstance(out, io.RawIOBase) else out
        yield cast("IO[bytes]", _Screen(whole)) if sys.stdout.isatty() else whole
        out.flush()
        return
    old = _status(path)
    to_descriptor = _DESCRIPTORS.fullmatch(os.path.abspath(path)) is not None
    if to_descriptor or (old is not None and not stat.S_ISREG(old.st_mode)):
        # A descriptor of the shell may be a file that has content already. A directory is an error here.
        with open(path, "ab" if to_descriptor else "wb") as direct:
            yield direct
        return
    target = os.path.realpath(path)
    if old is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    directory = os.path.dirname(target)
    _remove_abandoned(directory)
    try:
        file = _temporary(target, old)
    except OSError as error:
        error.filename = os.fspath(path)  # not that of a temporary file, which nobody has heard of
        raise
    try:
        if compress and target.endswith(".gz"):
            # No name and time inside: the same content gives the same bytes.
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                yield cast("IO[bytes]", packed)
        else:
            yield file
        file.flush()
        os.fsync(file.fileno())
        _install(file, target)
    except BaseException as error:
        written = 0 if file.closed else file.tell()
        with contextlib.suppress(OSError):  # on a full disk, it fails again
            file.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file.name)
        # An error of writing here names no file.
        if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
            raise _no_room(error, os.fspath(path), directory, size, written) from error
        raise
    file.close()
    _sync_directory(directory)


def _status(path: str | os.PathLike[str]) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _no_room(error: OSError, path: str, directory: str, size: int | None, written: int) -> OutputError:
    needed = f"more than {written:,}" if size is None else f"{size:,}"
    import shutil  # seldom needed, and slow to import

    free = f", {shutil.disk_usage(directory).free:,} are free" if error.errno == errno.ENOSPC else ""
    number = error.errno or errno.ENOSPC
    return OutputError(
        number, f"{os.strerror(number)}: the file needs {needed} bytes{free}; nothing was changed", path
    )


# ---- the temporary file


def _temporary(target: str, old: os.stat_result | None) -> IO[bytes]:
    """Open a new file beside the target, locked, with the permissions of the old file."""
    while True:
        name = os.path.join(os.path.dirname(target), f".crfkit-{os.urandom(8).hex()}.tmp")
        # A file that replaces a private one must be private from the beginning.
        file = open(name, "xb", opener=None if old is None else _open_private)  # noqa: SIM115
        if lock(file.fileno()) != "held" and os.path.exists(name):
            break
        file.close()  # before it was locked, another writer took it for abandoned
    if old is not None:
        _take_permissions(file.fileno(), target, old)
    return file


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def lock(descriptor: int) -> str:
    """Try to lock a file: "locked", "held" by another process, or "unsupported" by the system."""
    if sys.platform == "win32":
        return "unsupported"
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "held"
    except OSError:
        return "unsupported"
    return "locked"


def _remove_abandoned(directory: str) -> None:
    """Remove the user's temporary files whose writers were killed: nobody holds their lock."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if not _TEMPORARY.fullmatch(entry.name) or not entry.is_file(follow_symlinks=False):
                continue
            with contextlib.suppress(OSError):  # another writer may remove it at the same time
                if os.geteuid() not in (0, entry.stat(follow_symlinks=False).st_uid):
                    continue
                descriptor = os.open(entry.path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    if lock(descriptor) == "locked":
                        os.unlink(entry.path)
                finally:
                    os.close(descriptor)


def _take_permissions(descriptor: int, target: str, old: os.stat_result) -> None:
    """Give a file the owner, group, permissions and access list of the old one, as far as allowed."""
    if sys.platform == "win32":
        return
    mode = stat.S_IMODE(old.st_mode) & 0o777
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
        except OSError:  # only root gives files away
            try:
                os.fchown(descriptor, -1, old.st_gid)
            except OSError:  # the members of another group may do no more than everybody
                mode = (mode & 0o707) | (mode & 0o007) << 3
    os.fchmod(descriptor, mode)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # there is none, or the file system has none
            name = "system.posix_acl_access"
            os.setxattr(descriptor, name, os.getxattr(target, name))


def _install(file: IO[bytes], target: str) -> None:
    """Let the finished temporary file become the target."""
    now = _status(target)
    if now is None or now.st_size > 0:
        if sys.platform == "win32":
            file.close()  # an open file cannot be renamed there
        os.replace(file.name, target)
        return
    import shutil

    try:
        with open(file.name, "rb") as finished, open(target, "r+b") as empty:
            shutil.copyfileobj(finished, empty, _PIECE)
            empty.flush()
            os.fsync(empty.fileno())
    except BaseException:
        with contextlib.suppress(OSError):  # it may have gone
            os.truncate(target, 0)
        raise
    os.unlink(file.name)


def _sync_directory(directory: str) -> None:
    """Make the new name survive a power cut, on systems where a directory can be opened."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class _Whole:
    """A raw stream (standard output with ``python -u``) whose ``write`` writes everything.

    A raw stream itself may write only a part and return how much.
    """

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw

    def write(self, data: bytes) -> int:
        """Write everything."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._raw.write(rest) or 0 :]
        return len(data)

    def flush(self) -> None:
        """Do nothing: there is no buffer."""


class _Screen:
    """A terminal: control characters in the text are shown as escapes."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out

    def write(self, data: bytes) -> int:
        """Write text."""
        self._out.write(visible(bytes(data).decode("utf-8", "replace")).encode())
        return len(data)

    def flush(self) -> None:
        self._out.flush()


def check_writable(path: str) -> None:
    """Raise if a file cannot be written, so that the error comes before the work."""
    if path == "-":
        return
    directory = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise InputError(f"{path}: it is a directory; name a file for the result")
    if not os.path.isdir(directory):
        raise InputError(f"{path}: there is no directory {directory}")
    if os.path.isfile(path) or not os.path.exists(path):  # not a device or a pipe
        for place in (directory, path):
            if os.path.exists(place) and not os.access(place, os.W_OK):
                raise InputError(f"{path}: {place} cannot be written to")
