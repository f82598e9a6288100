"""Checks that bad input and damaged files raise the right errors."""

from collections.abc import Callable
from typing import Any

import pytest

from crfkit.exceptions import InputError, ModelFileError


def refuses(message: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Check that a call raises an InputError whose text matches the regular expression ``message``."""
    with pytest.raises(InputError, match=message):
        call(*args, **kwargs)


def unreadable(message: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Check that a call raises a ModelFileError whose text matches ``message``."""
    with pytest.raises(ModelFileError, match=message):
        call(*args, **kwargs)
