"""Bad input is refused, and damaged files are unreadable, in words."""

from collections.abc import Callable
from typing import Any

import pytest

from crfkit.exceptions import InputError, ModelFileError


def refuses(message: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Check that a call raises an InputError whose text matches the regular expression ``message``."""
    with pytest.raises(InputError, match=message):
        call(*args, **kwargs)


def unreadable(message: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Check the same of a ModelFileError."""
    with pytest.raises(ModelFileError, match=message):
        call(*args, **kwargs)
