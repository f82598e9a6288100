"""Errors of the types that code written for python-crfsuite catches."""

from __future__ import annotations

from crfkit.exceptions import CRFKitError, InputError


class CRFSuiteError(CRFKitError):
    """Training failed; the message says why. ``code`` is CRFsuite's number for the kind of failure."""

    INCOMPATIBLE = -(2**31) + 3  # the data cannot be trained on
    OVERFLOW = -(2**31) + 5  # the objective is not a finite number

    def __init__(self, message: str, code: int = INCOMPATIBLE) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[CRFSuiteError], tuple[str, int]]:
        return type(self), (str(self), self.code)


class TaggerError(InputError, RuntimeError):
    """The tagger is not open, or was asked about a label it does not know.

    python-crfsuite raises ValueError in some of these places and RuntimeError in others: this is both.
    """
