"""All errors and warnings that crfkit defines.

All errors are also ``ValueError``, so that code written for scikit-learn catches them.
"""


class CRFKitError(ValueError):
    """Base of all crfkit errors."""


class InputError(CRFKitError):
    """X, y or another argument is invalid; the message names the sequence and position."""

    position: int | None = None  # of the batch, while the message lacks it


class ModelFileError(CRFKitError):
    """A model file is damaged or truncated, or has another format or a newer version."""


class OutputError(OSError, CRFKitError):
    """A file could not be written, for example on a full disk; it is as it was before."""


class NoPathError(CRFKitError):
    """Constraints leave a sequence without any permitted path; the message names the sequence."""

    sequence: int | None = None  # its number in the batch


class MissingLibraryError(ImportError, CRFKitError):
    """A method needs a library that is not installed; the message has the command to install it."""


class ConvergenceWarning(UserWarning):
    """Training stopped before it reached the requested tolerance."""


class InputWarning(UserWarning):
    """The data is valid, but probably not what its author meant; the message says where."""
