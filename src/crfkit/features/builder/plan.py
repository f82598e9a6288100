"""The list of extractors of a ``Features``, with distinct names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from crfkit.exceptions import InputError
from crfkit.features.builder.algebra import Extractor, Group, Own, Vector
from crfkit.features.builder.sources import Learner


def plan(extractors: Iterable[Any]) -> list[Extractor]:
    """Return the extractors as a flat list, with plain functions named and repetitions dropped.

    The part of an attribute before ``=`` identifies its extractor, so two different extractors must not have
    the same name.
    """
    flat: list[Extractor] = []
    n_unnamed = 0
    for given in _opened(extractors):
        if isinstance(given, Extractor):
            flat.append(given)
        elif callable(given) and not isinstance(given, type):
            name = getattr(given, "__name__", "<unnamed>")
            if name.startswith("<"):
                n_unnamed += 1
                name = f"f{n_unnamed}"
            flat.append(Own(given, name))
        else:
            raise InputError(
                "Features takes extractors made from columns, such as column(0).lower(), or functions "
                f"f(sentence, t); got {type(given).__name__} {given!r}"
            )
    made: dict[str, Extractor] = {}
    for extractor in flat:
        for head in _heads(extractor):
            other = made.setdefault(head, extractor)
            if other != extractor:
                raise InputError(
                    f"{other!r} and {extractor!r} would both make attributes called {extractor.name!r}; "
                    "give one of them another name, with .named('…') for text"
                )
    open_ended = {f"{e.name}:": e for e in made.values() if isinstance(e, (Own, Vector))}
    for start, extractor in open_ended.items():
        for head, other in made.items():
            if head.startswith(start) and other != extractor:
                raise InputError(
                    f"{extractor!r} makes attributes that begin with {start!r}, and so does {other!r}; "
                    "give one of them another name"
                )
    return list(dict.fromkeys(made.values()))


def _opened(extractors: Iterable[Any]) -> Iterator[Any]:
    for given in extractors:
        if isinstance(given, (Group, list, tuple)):
            yield from _opened(given)
        else:
            yield given


def learners(extractors: Iterable[Extractor]) -> list[Learner]:
    """Return the sources that fit must learn, each once, in order."""
    return list(dict.fromkeys(learner for extractor in extractors for learner in extractor.learners()))


def _heads(extractor: Extractor) -> tuple[str, ...]:
    if isinstance(extractor, Own):  # the function determines the rest of the name
        return (extractor.name, f"{extractor.name}=", f"{extractor.name}:")
    return (extractor.head,)
