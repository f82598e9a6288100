"""Writing plots of matplotlib as png, svg or pdf; the same plot gives the same bytes."""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, Any

from crfkit.exceptions import InputError
from crfkit.io.writing import open_output
from crfkit.optional import needed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The entries of a picture's metadata that hold the time, by format.
_TIMES: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def picture_format(path: str | os.PathLike[str]) -> str:
    """Return the format for a plot with this file name: png, svg or pdf."""
    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending[1:] not in _TIMES:
        raise InputError(
            f"{os.fspath(path)}: expected the name of a picture that ends in "
            f"{', '.join(f'.{known}' for known in _TIMES)}, got "
            + (f"one in {ending}" if ending else "one without an ending")
        )
    return ending[1:]


def save_picture(figure: Figure, path: str | os.PathLike[str], *, dpi: int = 120) -> None:
    """Write a plot to a file."""
    form = picture_format(path)
    with open_output(path) as file:
        draw_picture(figure, file, form, dpi=dpi)


def draw_picture(figure: Figure, file: IO[bytes], form: str, *, dpi: int = 120) -> None:
    """Write a plot to a binary file object."""
    # Without a salt, the ids in an svg file are random.
    with needed("matplotlib", "a picture").rc_context({"svg.hashsalt": "crfkit"}):
        figure.savefig(file, format=form, dpi=dpi, metadata=_TIMES[form])
