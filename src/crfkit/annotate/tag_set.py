"""What a person chooses from: types of segments or plain labels, and how they are written as labels.

If the labels fit a scheme such as IOB2, a person marks segments (``PER`` over two tokens) and everything
else is ``O``. Plain labels, such as parts of speech, mark runs of tokens; a token without a mark has no known
label.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from crfkit.data.relabel import convert_labels, label_schemes
from crfkit.data.schemes import scheme_called
from crfkit.exceptions import InputError
from crfkit.metrics.segments import segments

Label = str | None  # None: unknown
OUTSIDE = "O"


class Span(NamedTuple):
    """The tokens ``start`` to ``stop`` (not included) and their type."""

    start: int
    stop: int
    type: str


class Marks(NamedTuple):
    """A labelling as a person sees it: spans, and the tokens whose label is unknown."""

    spans: list[Span]
    unknown: list[int]


class TagSet(NamedTuple):
    """The types that a person can choose, and the scheme that writes them as labels; None: plain labels."""

    types: tuple[str, ...]
    scheme: str | None

    @classmethod
    def of_labels(cls, labels: Iterable[str]) -> TagSet:
        """Return the types of labels: those behind the tags of a scheme, or the labels themselves."""
        names = list(dict.fromkeys(labels))
        schemes = label_schemes(names) if any(name != OUTSIDE for name in names) else ["IOB2"]
        if not schemes:
            return cls(tuple(names), None)
        types = dict.fromkeys(name.partition("-")[2] for name in names if name != OUTSIDE)
        return cls(tuple(types), schemes[0])

    @classmethod
    def of_names(cls, names: Sequence[str], scheme: str) -> TagSet:
        """Return the types that a user names, with a scheme; ``none``: they are plain labels.

        With "auto", names such as B-PER are labels, and others the types of IOB2.
        """
        if scheme == "auto":
            told = len(names) > 0 and bool(label_schemes(list(names))) and set(names) != {OUTSIDE}
            return cls.of_labels(names) if told else cls.of_names(names, "IOB2")
        unique = tuple(dict.fromkeys(names))
        if scheme == "none":
            return cls(unique, None)
        return cls(tuple(name for name in unique if name != OUTSIDE), scheme_called(scheme).name)

    def with_types(self, names: Iterable[str]) -> TagSet:
        """Return the set with more types."""
        return self._replace(types=tuple(dict.fromkeys((*self.types, *names))))

    def labels(self, marks: Marks, length: int) -> list[Label]:
        """Return the labels of a sentence of ``length`` tokens; marks that do not fit it raise an error."""
        found: list[Label] = [OUTSIDE if self.scheme is not None else None] * length
        end = 0
        for start, stop, kind in sorted(marks.spans):
            if not 0 <= start < stop <= length:
                raise InputError(f"a span goes from {start} to {stop}, but the sentence has {length} tokens")
            if start < end:
                raise InputError(f"two spans overlap at token {start}")
            if kind not in self.types:
                raise InputError(f"there is no label {kind!r}; there are {', '.join(self.types)}")
            end = stop
            if self.scheme is None:
                found[start:stop] = [kind] * (stop - start)
            else:
                behind = f"-{kind}" if kind else ""
                found[start:stop] = [f"B{behind}", *[f"I{behind}"] * (stop - start - 1)]
        if self.scheme is not None and length:
            found[:] = convert_labels([[label or OUTSIDE for label in found]], "IOB2", self.scheme)[0]
        for t in marks.unknown:
            if not 0 <= t < length:
                raise InputError(f"token {t} is unknown, but the sentence has {length} tokens")
            found[t] = None
        return found

    def marks(self, labels: Sequence[Label]) -> Marks:
        """Return a labelling as spans. Illegal labels are read as conlleval does."""
        unknown = [t for t, label in enumerate(labels) if label is None]
        if self.scheme is not None:
            filled = [OUTSIDE if label is None else label for label in labels]
            found = [Span(start, end, kind) for kind, start, end in segments(filled, self.scheme)]
            return Marks(found, unknown)
        spans, t = [], 0
        for label, run in groupby(labels):
            stop = t + sum(1 for _ in run)
            if label is not None:
                spans.append(Span(t, stop, label))
            t = stop
        return Marks(spans, [])

    def shortcuts(self) -> list[str]:
        """Return the key of each type: digits, letters, capital letters; "" where no key is left."""
        letters = "abcdefghijklmnopqrstvwxy"  # not u (unknown) and z (undo)
        keys = [*"123456789", *letters, *letters.upper()]
        return [*keys, *[""] * len(self.types)][: len(self.types)]
