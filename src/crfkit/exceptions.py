"""Every error and warning crfkit raises of its own.

All errors are ``ValueError`` too, so that code written for scikit-learn catches them.
"""


class CRFKitError(ValueError):
    """Base of all crfkit errors."""


class InputError(CRFKitError):
    """X, y or another argument is not what was expected; the message names the sequence and position."""


class ModelFileError(CRFKitError):
    """A model file is damaged, cut off, of another format, or of a newer version."""


class NoPathError(CRFKitError):
    """Constraints leave a sequence without any permitted path; the message names the sequence."""

    sequence: int | None = None  # its number in the batch


class ConvergenceWarning(UserWarning):
    """Training stopped before it reached the requested tolerance."""


class InputWarning(UserWarning):
    """Data was read as its format demands, but hardly as its author meant it; the message says where."""
