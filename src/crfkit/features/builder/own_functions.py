"""Attributes made by functions of the user, which get the sentence and the position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from math import isfinite
from typing import Any

import numpy as np

from crfkit.exceptions import InputError
from crfkit.features.builder.algebra import Own
from crfkit.features.sentences import Block, Key, read_blocks

Pair = tuple[str, Any]  # an attribute's name and its number or vector


def asked(own: Own, block: Block, i: int) -> Iterator[tuple[list[str], list[Pair]]]:
    """Yield a user function's attributes and numbers at each position of the i-th sentence."""
    sentence = block.sentence(i)
    for t in range(block.lengths[i]):
        try:
            try:
                value = own.function(sentence, t)
            except Exception as error:
                raise InputError(f"the function failed: {type(error).__name__}: {error}") from error
            yield _answer(own.name, value)
        except InputError as error:
            raise InputError(f"{block.place(block.offsets[i] + t)}: {own.name}: {error}") from error


def _answer(name: str, value: Any) -> tuple[list[str], list[Pair]]:
    if value is None:
        return [], []
    if isinstance(value, str):
        return [f"{name}={value}"], []
    if isinstance(value, (bool, np.bool_)):
        return [name] if value else [], []
    if isinstance(value, Mapping):
        texts: list[str] = []
        numbers: list[Pair] = []
        for key, inner in value.items():
            if not isinstance(key, str) or "=" in key or isinstance(inner, Mapping):
                raise InputError(
                    "a dict must have text without '=' as keys and text, numbers, bools or lists as values, "
                    f"got {key!r}: {inner!r}"
                )
            more_texts, more_numbers = _answer(f"{name}:{key}", inner)
            texts += more_texts
            numbers += more_numbers
        return texts, numbers
    if isinstance(value, (list, tuple, AbstractSet)):
        if not all(isinstance(text, str) for text in value):
            raise InputError(f"a list must have text in it, got {value!r}")
        distinct = sorted(value) if isinstance(value, AbstractSet) else dict.fromkeys(value)
        return [f"{name}={text}" for text in distinct], []
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(
            "a function must return text, a bool, a number, a list of texts, a dict of these, or None, got "
            f"{type(value).__name__} {value!r}"
        ) from None
    if not isfinite(number):
        raise InputError(f"expected a finite number, got {number}")
    return [], [(name, number)]


def own_items(
    functions: tuple[Own, ...], X: Any, lengths: Any, column: Key | None, keep: frozenset[str] | None
) -> Iterator[list[list[str] | dict[str, Any]]]:
    """Yield the items that functions make of each sentence; of those without a number, only ``keep``."""
    for block in read_blocks(X, lengths, column):
        for i in range(len(block.lengths)):
            items: list[list[str] | dict[str, Any]] = []
            for answers in zip(*(asked(own, block, i) for own in functions), strict=True):
                texts = [text for found, _ in answers for text in found if keep is None or text in keep]
                pairs = [pair for _, found in answers for pair in found]
                items.append({**dict.fromkeys(texts, 1.0), **dict(pairs)} if pairs else texts)
            yield items
