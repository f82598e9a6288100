"""Parsing a column file in pieces of bounded size. Loads no NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from crfkit.io.opening import Source, open_input

if TYPE_CHECKING:
    from crfkit._native import ColumnParser

Table = TypeVar("Table")

PIECE = 1 << 18  # bytes read at a time
_SMALLEST_PIECE = 1 << 12


def parsed_pieces(
    parser: ColumnParser, take: Callable[[], Table], source: Source, positions: int, prompt: bool = False
) -> Iterator[Table]:
    """Yield what ``take``, a method of the parser, returns: whole sequences, about ``positions`` in all.

    With ``prompt``, sequences come as soon as they are complete.
    """
    size = min(PIECE, max(_SMALLEST_PIECE, 8 * positions))  # few rows are shorter than 8 bytes
    with open_input(source) as file:
        while piece := file.read1(size):
            parser.feed(piece)
            if parser.ready >= (1 if prompt else positions):
                yield take()
    parser.finish()
    if parser.ready:
        yield take()
