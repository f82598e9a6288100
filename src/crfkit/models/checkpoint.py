"""Checkpoints: training that was killed continues from its last saved state, as if nothing had happened.

The file holds the state of the optimiser (or the rounds so far), the settings, and a fingerprint of the data,
so that it is never mistaken for the state of another training. It is a model file without code, written in
one step (``io/writing.py``): a process that is killed while it writes leaves the checkpoint before.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from crfkit import __version__, parameters
from crfkit.exceptions import CRFKitError, InputError, InputWarning, ModelFileError
from crfkit.io.state_file import read_state, write_state
from crfkit.io.writing import check_writable
from crfkit.models.training_record import TrainingRecord
from crfkit.optim.problem import State
from crfkit.warn import warn

KIND = "checkpoint of a training that has not ended"  # in place of a kind of model
_NO_SETTINGS = {"n_jobs", "verbose"}  # may change from run to run


class Checkpoint:
    """A file in which training saves its state every few minutes: ``fit(X, y, checkpoint=…)``.

    A training that is continued ends with the same model, to the last bit, as one that was never stopped, if
    it has as many threads. It is refused if the data or the settings have changed.

    Parameters
    ----------
    path
        The file. ``fit`` removes it when training has ended; after Ctrl-C it stays.
    minutes
        Minutes between checkpoints; 0 writes one after every iteration. At most so much work is lost.
    resume
        Continue from the file; if there is none, begin. Without it, a file that exists is an error, because
        it may be all that is left of a training.
    keep
        Leave the file where it is when training has ended: call ``remove`` once the model is saved.
    """

    def __init__(
        self, path: str | os.PathLike[str], minutes: float = 5.0, *, resume: bool = False, keep: bool = False
    ) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise InputError(f"checkpoint must be a path or a crfkit.Checkpoint, got {type(path).__name__}")
        self.path = os.fspath(path)
        self.minutes, self.resume, self.keep = minutes, resume, keep
        self.continues = False  # whether training has begun with the state in the file
        parameters.check_parameters(
            self,
            {"minutes": parameters.number(0), "resume": parameters.flag(), "keep": parameters.flag()},
        )

    @classmethod
    def of(cls, given: Checkpoint | str | os.PathLike[str] | None) -> Checkpoint | None:
        """Return the checkpoint that a user has given as such or as a path, once the file can be used."""
        if given is None:
            return None
        checkpoint = given if isinstance(given, Checkpoint) else cls(given)
        check_writable(checkpoint.path)
        if os.path.lexists(checkpoint.path) and not checkpoint.resume:
            raise InputError(
                f"{checkpoint.path}: there is a file already, perhaps of a training that was stopped. To "
                "continue from it, resume (Checkpoint(path, resume=True), or --resume); else remove it"
            )
        return checkpoint

    def begin(self, estimator: Any, data: Mapping[str, Any]) -> Saving:
        """Return the checkpoint of one training, with the saved state if there is one.

        ``data`` is everything except the settings that decides the result, by its name in messages.
        """
        settings = TrainingRecord(estimator.get_params(deep=False)).to_header()["params"]
        header: dict[str, Any] = {
            "model": KIND,
            "version": __version__,
            "estimator": type(estimator).__name__,
            "settings": {name: value for name, value in settings.items() if name not in _NO_SETTINGS},
            "data": {},
        }
        found, state = None, None
        if self.resume and os.path.lexists(self.path):
            found, state = read_state(self.path)
            self._check(found, header)
            self.continues = True
        saving = Saving(self, header, found, state)
        for name, part in data.items():
            saving.depends_on(name, part)
        return saving

    def remove(self) -> None:
        """Remove the file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def _check(self, found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
        if found.get("model") != KIND:
            raise ModelFileError(f"{self.path}: expected a checkpoint, got {found.get('model')!r}")
        if not (isinstance(found.get("settings"), dict) and isinstance(found.get("data"), dict)):
            raise ModelFileError(f"{self.path}: the checkpoint lacks settings or fingerprints of the data")
        then = {"version": found.get("version"), "estimator": found.get("estimator"), **found["settings"]}
        now = {"version": expected["version"], "estimator": expected["estimator"], **expected["settings"]}
        differences = [
            f"{name} was {then.get(name)!r:.60}, now it is {now.get(name)!r:.60}"
            for name in {**now, **then}
            if then.get(name) != now.get(name)
        ]
        if differences:
            raise self.other_training("; ".join(differences))

    def other_training(self, difference: str) -> InputError:
        """Return the error of a checkpoint that belongs to another training."""
        return InputError(
            f"{self.path} is the checkpoint of another training: {difference}. Train with the same data and "
            "settings, or remove the file and begin again"
        )


class Saving:
    """The checkpoint of one training: the state that was found, and the file for the next ones."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        header: dict[str, Any],
        found: dict[str, Any] | None,  # the header in the file
        state: State | None,
    ) -> None:
        self.state = state  # to continue from
        self._checkpoint, self._header, self._found = checkpoint, header, found
        self._wait()

    def depends_on(self, name: str, part: Any) -> None:
        """Note a part of the data that decides the result; raise if it is not as in the file."""
        self._header["data"][name] = own = fingerprint(part)
        if self._found is not None and self._found["data"].get(name) != own:
            raise self._checkpoint.other_training(f"the {name} differ")

    def offer(self, state: Callable[[], State]) -> None:
        """Write the state if it is time; if it cannot be written, warn and go on."""
        if time.monotonic() < self._due:
            return
        try:
            write_state(self._checkpoint.path, self._header, state())
        except OSError as error:
            warn(
                f"the checkpoint could not be written: {error}. Training goes on, and tries again after "
                f"{self._checkpoint.minutes:g} minutes",
                InputWarning,
            )
        self._wait()

    def end(self) -> None:
        """Remove the file, because training has ended."""
        if not self._checkpoint.keep:
            self._checkpoint.remove()

    def _wait(self) -> None:
        self._due = time.monotonic() + 60 * self._checkpoint.minutes


@contextlib.contextmanager
def continuing(checkpoint: Checkpoint | None) -> Iterator[None]:
    """Name the checkpoint in errors of a training that continues from it: the file may have been changed."""
    try:
        yield
    except CRFKitError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        if checkpoint is None or not checkpoint.continues:
            raise
        raise ModelFileError(
            f"the training continued from {checkpoint.path} has failed: the state in the file is not that "
            f"of such a training ({type(error).__name__}: {error}). Begin again without the file"
        ) from error


def fingerprint(data: Any) -> str:
    """Return a digest of nested data: dataclasses, lists and dicts of arrays, strings and numbers."""
    digest = hashlib.blake2b(digest_size=16)
    _feed(data, digest.update)
    return digest.hexdigest()


def _feed(data: Any, update: Callable[[Any], None]) -> None:
    if isinstance(data, np.ndarray):
        update(f"{data.dtype.str}{data.shape}".encode())
        update(np.ascontiguousarray(data).reshape(-1).view(np.uint8))
    elif is_dataclass(data) and not isinstance(data, type):
        for field in (field for field in fields(data) if field.compare):
            _feed(getattr(data, field.name), update)
    elif isinstance(data, Mapping):
        _feed(list(data.items()), update)
    elif isinstance(data, (list, tuple)):
        update(f"{len(data)} of".encode())
        for each in data:
            _feed(each, update)
    elif isinstance(data, str):
        text = data.encode("utf-8", "surrogatepass")
        update(f"{len(text)}:".encode())
        update(text)
    elif data is None or isinstance(data, (bool, int, float, np.generic)):
        update(f"{type(data).__name__} {data!r};".encode())
    else:
        raise TypeError(f"no fingerprint of a {type(data).__name__}")
