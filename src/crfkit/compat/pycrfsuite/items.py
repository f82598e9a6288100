"""One sequence of items in python-crfsuite's conventions, and its conversion to crfkit's arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from crfkit import _native
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.data.sequences import Sequences
    from crfkit.data.vocabulary import Vocabulary


class ItemSequence(_native.ItemSequence):
    """The features of a sequence, read once, for use with several trainers and taggers.

    An item is a dict or a list: ``{"name": number or bool}``, ``{"name": "text"}`` (which is
    ``{"name:text": 1.0}``), or ``["name", …]``. Dicts, lists and sets may be nested in a dict; their names
    are prefixed with the key and a colon.

    >>> ItemSequence([["walk"], {"word": "Rain", "caps": True, "pos": {"NN": 0.5}}]).items()
    [{'walk': 1.0}, {'word:Rain': 1.0, 'caps': 1.0, 'pos:NN': 0.5}]
    """

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"

    def __reduce__(self) -> tuple[type[ItemSequence], tuple[list[dict[str, float]]]]:
        return type(self), (self.summed(),)


def read_items(xseq: Any, vocabulary: Vocabulary, *, grow: bool, name: str = "") -> Sequences:
    """Convert ``xseq`` to a batch of one sequence; messages call it ``name``.

    With ``grow``, attributes of value 0 are kept as well: CRFsuite generates a feature for every
    attribute-label pair, whatever the value.
    """
    from crfkit.data.sequences import Sequences

    # python-crfsuite's own ItemSequence is not iterable, but has items().
    if isinstance(xseq, (str, bytes, Mapping)) or not (isinstance(xseq, Iterable) or hasattr(xseq, "items")):
        raise InputError(
            f"{name or 'xseq'} takes a list of items, each a dict or a list of strings; "
            f"got {type(xseq).__name__} {xseq!r:.60}"
        )
    items = xseq.summed() if isinstance(xseq, ItemSequence) else xseq
    try:
        return Sequences(*_native.encode_objects([items], vocabulary.native, grow, grow))
    except InputError as error:
        words = str(error).removeprefix("sequence 0").lstrip(":, ")
        raise InputError(f"{name}, {words}" if name else words) from None
