"""One sequence of items in python-crfsuite's conventions, and its conversion to crfkit's arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from crfkit import _native
from crfkit.data.sequences import Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError

Pairs = list[tuple[str, float]]  # the attributes of an item; a name may occur several times


class ItemSequence:
    """The features of a sequence, read once, for use with several trainers and taggers.

    An item is a dict or a list: ``{"name": number or bool}``, ``{"name": "text"}`` (which is
    ``{"name:text": 1.0}``), or ``["name", …]``. Dicts, lists and sets may be nested in a dict; their names
    are prefixed with the key and a colon.

    >>> ItemSequence([["walk"], {"word": "Rain", "caps": True, "pos": {"NN": 0.5}}]).items()
    [{'walk': 1.0}, {'word:Rain': 1.0, 'caps': 1.0, 'pos:NN': 0.5}]
    """

    __slots__ = ("_pairs",)

    _pairs: list[Pairs]

    def __init__(self, pyseq: Iterable[Any]) -> None:
        if isinstance(pyseq, ItemSequence):
            self._pairs = pyseq._pairs
            return
        _require_sequence(pyseq, "an ItemSequence")
        self._pairs = []
        for position, item in enumerate(pyseq if isinstance(pyseq, Iterable) else pyseq.items()):
            try:
                self._pairs.append(list(_attributes(item, "")))
            except InputError as error:
                raise InputError(f"position {position}: {error}") from None

    def items(self) -> list[dict[str, float]]:
        """Return each item as ``{name: value}``, with the last value of a name that occurs several times."""
        return [dict(pairs) for pairs in self._pairs]

    def summed(self) -> list[dict[str, float]]:
        """Return each item as ``{name: value}``, with the sum of the values of each name."""
        found = []
        for pairs in self._pairs:
            item = dict(pairs)
            if len(item) < len(pairs):
                item = dict.fromkeys(item, 0.0)
                for name, value in pairs:
                    item[name] += value
            found.append(item)
        return found

    def __len__(self) -> int:
        return len(self._pairs)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def _attributes(item: Any, prefix: str) -> Iterator[tuple[str, float]]:
    if isinstance(item, Mapping):
        for key, value in item.items():
            name = prefix + _text(key, "a key of a dict")
            if isinstance(value, (str, bytes)):
                yield f"{name}:{_text(value, name)}", 1.0
            elif isinstance(value, (Mapping, list, tuple, set, frozenset)):
                yield from _attributes(value, f"{name}:")
            else:
                yield name, _number(value, name)
    elif isinstance(item, Iterable) and not isinstance(item, (str, bytes)):
        for name in item:
            yield prefix + _text(name, "an attribute in a list"), 1.0
    else:
        raise InputError(
            f"an item must be a dict or a list of strings, got {type(item).__name__} {item!r:.60}"
        )


def _text(text: Any, what: str) -> str:
    if isinstance(text, str):
        return text
    if isinstance(text, bytes):
        try:
            return text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{what}: bytes must be UTF-8, got {text!r:.60}") from error
    raise InputError(f"{what} must be str or bytes, got {type(text).__name__} {text!r:.60}")


def _number(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"feature {name!r}: a value must be a str, bool, number, dict, or a list or set of strings, got "
            f"{type(value).__name__} {value!r:.60}"
        ) from error
    if not math.isfinite(number):
        raise InputError(
            f"feature {name!r}: expected a finite number, got {number}; leave the feature out where its "
            "value is missing"
        )
    return number


def _require_sequence(xseq: Any, what: str) -> None:
    # python-crfsuite's own ItemSequence is not iterable, but has items().
    if isinstance(xseq, (str, bytes, Mapping)) or not (isinstance(xseq, Iterable) or hasattr(xseq, "items")):
        raise InputError(
            f"{what} takes a list of items, each a dict or a list of strings; "
            f"got {type(xseq).__name__} {xseq!r:.60}"
        )


def read_items(xseq: Any, vocabulary: Vocabulary, *, grow: bool, name: str = "") -> Sequences:
    """Convert ``xseq`` to a batch of one sequence; messages call it ``name``.

    With ``grow``, attributes of value 0 are kept as well: CRFsuite generates a feature for every
    attribute-label pair, whatever the value.
    """
    _require_sequence(xseq, name or "xseq")
    items = xseq.summed() if isinstance(xseq, ItemSequence) else xseq
    try:
        return Sequences(*_native.encode_objects([items], vocabulary.native, grow, grow))
    except InputError as error:
        words = str(error).removeprefix("sequence 0").lstrip(":, ")
        raise InputError(f"{name}, {words}" if name else words) from None
