"""Attributes of whole segments: what makes them, in the form in which a model keeps it.

``SemiCRF(segment_features=…)`` takes a function (items, begin, end) of a sequence and of a stretch of it that
may be a segment, or :class:`Gazetteers`, which model files can hold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from crfkit.exceptions import InputError, ModelFileError
from crfkit.features.builder.gazetteer import Gazetteer
from crfkit.features.builder.settings import attribute_name

Found = tuple[int, int, Any]  # begin, end, and a list of names or a dict of name to number


class SpanFeatures(ABC):
    """What makes attributes of stretches of a sequence."""

    @abstractmethod
    def find(self, items: Sequence[Any], longest: int) -> Iterator[Found]:
        """Yield the stretches of at most ``longest`` positions that have attributes, in order."""

    @abstractmethod
    def at(self, items: Sequence[Any], begin: int, end: int) -> Any:
        """Return the attributes of one stretch; nothing (None, empty) if it has none."""

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """Return the record in the header of a model file."""

    lost: str | None = None  # what a model file cannot hold


class Gazetteers(SpanFeatures):
    """Lists of phrases: a stretch that is a phrase of a list, from begin to end, has the name of the list.

    Parameters
    ----------
    lists
        A dict of a list's name to its phrases: strings, split at blanks, or lists of tokens; for a file pass
        its lines, ``open(path, encoding="utf-8")``.
    ignore_case
        Whether upper and lower case are the same.
    column
        Where the token of an item is, if items are rows of cells (a number) or dicts (a name).

    Examples
    --------
    >>> cities = Gazetteers({"city": ["New York", "York"]})
    >>> list(cities.find(["in", "New", "York"], 5))
    [(1, 3, ['city']), (2, 3, ['city'])]
    """

    def __init__(
        self,
        lists: Mapping[str, Iterable[str | Sequence[str]]],
        *,
        ignore_case: bool = False,
        column: int | str = 0,
    ) -> None:
        if not isinstance(lists, Mapping) or not lists:
            found = "an empty dict" if isinstance(lists, Mapping) else type(lists).__name__
            raise InputError(
                f"lists must be a dict of a list's name to its phrases, got {found}: "
                "Gazetteers({'city': […]})"
            )
        if isinstance(column, bool) or not isinstance(column, int | str):
            raise InputError(f"column must be a number or a name, got {column!r}")
        self.column, self.ignore_case = column, bool(ignore_case)
        self._lists: dict[str, Gazetteer] = {}
        for name, phrases in lists.items():
            try:
                self._lists[attribute_name(name)] = Gazetteer.of(phrases, self.ignore_case)
            except InputError as error:
                raise InputError(f"list {name!r}: {error}") from None

    def find(self, items: Sequence[Any], longest: int) -> Iterator[Found]:
        tokens = [self._token(item, t) for t, item in enumerate(items)]
        found: dict[tuple[int, int], list[str]] = {}
        for name, gazetteer in self._lists.items():
            for begin, end in gazetteer.find(tokens):
                if end - begin <= longest:
                    found.setdefault((begin, end), []).append(name)
        for begin, end in sorted(found):
            yield begin, end, found[begin, end]

    def at(self, items: Sequence[Any], begin: int, end: int) -> list[str]:
        return next(
            (names for a, b, names in self.find(items[begin:end], end - begin) if b - a == end - begin), []
        )

    def _token(self, item: Any, t: int) -> str:
        token = item
        if not isinstance(item, str):
            try:
                token = item[self.column]
            except (LookupError, TypeError):
                raise InputError(
                    f"position {t}: gazetteers need the token of each item, but {item!r:.60} has no "
                    f"{self.column!r}; pass Gazetteers(…, column=…)"
                ) from None
        if not isinstance(token, str):
            raise InputError(f"position {t}: gazetteers need tokens of text, got {token!r:.60}")
        return token

    def to_record(self) -> dict[str, Any]:
        lists = {name: sorted(map(list, one.phrases)) for name, one in self._lists.items()}
        return {"gazetteers": lists, "ignore_case": self.ignore_case, "column": self.column}

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {len(one.phrases):,} phrases" for name, one in self._lists.items())
        return f"<gazetteers: {sizes}>"


class FunctionFeatures(SpanFeatures):
    """A function of the user's, called for every stretch."""

    def __init__(self, function: Callable[[Any, int, int], Any]) -> None:
        self.function = function
        self.lost = getattr(function, "__qualname__", None) or repr(function)

    def find(self, items: Sequence[Any], longest: int) -> Iterator[Found]:
        n = len(items) if not hasattr(items, "shape") else items.shape[0]  # a sparse matrix has no len
        for begin in range(n):
            for end in range(begin + 1, min(n, begin + longest) + 1):
                found = self.at(items, begin, end)
                if found:
                    yield begin, end, found

    def at(self, items: Sequence[Any], begin: int, end: int) -> Any:
        try:
            found = self.function(items, begin, end)
            if isinstance(found, Mapping):
                return dict(found)
            if isinstance(found, Iterable) and not isinstance(found, (str, bytes)):
                return list(found)  # an array has no truth value, and a generator is read once
        except Exception as error:
            raise InputError(
                f"segment_features {self.lost} failed for the positions {begin} to {end - 1}: "
                f"{type(error).__name__}: {error}"
            ) from error
        if found:
            raise InputError(
                f"segment_features {self.lost} must return a list of names, or a dict of name to number; for "
                f"the positions {begin} to {end - 1} it returned {type(found).__name__} {found!r:.60}"
            )
        return None  # also for False, as of `condition and ["name"]`

    def to_record(self) -> dict[str, Any]:
        return {"in_python": self.lost}


class LostFeatures(SpanFeatures):
    """A function that a model file could not hold."""

    def __init__(self, name: str) -> None:
        self.lost = name

    @property
    def explanation(self) -> str:
        """What is missing, and what to do."""
        return (
            f"the attributes of segments need Python code that a file cannot hold ({self.lost}): pass it "
            "again, SemiCRF.load(path, segment_features=…)"
        )

    def find(self, items: Sequence[Any], longest: int) -> Iterator[Found]:
        raise InputError(self.explanation)

    def at(self, items: Sequence[Any], begin: int, end: int) -> Any:
        raise InputError(self.explanation)

    def to_record(self) -> dict[str, Any]:
        return {"in_python": self.lost}


def span_features_of(given: Any) -> SpanFeatures | None:
    """Return the parameter ``segment_features`` of an estimator, ready to use."""
    if given is None or isinstance(given, SpanFeatures):
        return given
    return FunctionFeatures(given)


def is_span_features(value: Any) -> bool:
    """Tell whether a value can be the parameter ``segment_features`` of an estimator."""
    return value is None or callable(value) or isinstance(value, SpanFeatures)


def span_features_of_record(record: Any) -> SpanFeatures | None:
    """Return what the record in a model file says."""
    if record is None:
        return None
    wrong = ModelFileError("its attributes of segments are malformed")
    if not isinstance(record, dict):
        raise wrong
    if isinstance(record.get("in_python"), str):
        return LostFeatures(record["in_python"])
    try:
        return Gazetteers(record["gazetteers"], ignore_case=record["ignore_case"], column=record["column"])
    except (InputError, KeyError, TypeError) as error:
        raise wrong from error
