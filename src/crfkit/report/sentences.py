"""The sentences that a report shows: those with mistakes, the worst first, and why the labels were chosen.

If there are more than fit on a page, the worst are shown, and with them some of every kind of mistake of
every type, so that no filter of the page is empty without cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import IntArray
from crfkit.metrics.segments import Segment
from crfkit.model_selection.labelled_sequences import LabelledSequences
from crfkit.report.mistakes import KINDS, Mistake, MistakeFinder
from crfkit.report.predictions import Predictions
from crfkit.report.reasons import Why, explain_sentences
from crfkit.report.spans import ShownSentence, ShownSpan

_OF_EACH = 3  # sentences with each kind of mistake of each type
_LONGEST = 150  # positions; of a longer sequence, only the part with most mistakes is shown


class ShownMistakes(NamedTuple):
    """A sentence on the page."""

    number: int  # of the sequence in the data, from 1
    part: str  # which positions are shown; empty: all
    shown: ShownSentence
    mistakes: list[Mistake]
    kinds: list[str]  # of its mistakes
    types: list[str]
    surprise: float  # -log p of the true labelling


class MistakeCount(NamedTuple):
    """How often a kind of mistake happens, and to which types most often."""

    kind: str
    n: int
    common: list[tuple[str, int]]  # in words, such as "NP as VP"


class Wrong(NamedTuple):
    """Everything that the second section of a report shows."""

    counts: list[MistakeCount]
    n_sentences: int  # with mistakes
    n_all: int
    sentences: list[ShownMistakes]
    types: list[str]  # of the mistakes shown
    why: Why


def wrong_sentences(
    model: Any, data: LabelledSequences, found: Predictions, words: Sequence[Sequence[str]], most: int
) -> Wrong:
    """Return the mistakes of predictions, and the sentences to show, at most so many."""
    finder = MistakeFinder(found.pairs, found.spans)
    wrong = dict(finder.wrong())
    order = sorted(wrong, key=lambda i: (-len(wrong[i]), found.log_true[i], i))
    chosen = _chosen(order, wrong, most)
    numbers = found.numbers[chosen] if chosen else np.zeros(0, np.int64)
    windows = [_window(int(found.pairs.lengths[i]), wrong[i]) for i in chosen]
    shown = [
        _sentence(i, int(number), window, finder, wrong[i], found, words[number])
        for i, number, window in zip(chosen, numbers.tolist(), windows, strict=True)
    ]
    types = sorted({name for one in shown for name in one.types})
    why = _why(model, data, numbers, windows)
    return Wrong(_counts(wrong), len(wrong), found.pairs.n_sequences, shown, types, why)


def _window(length: int, mistakes: list[Mistake]) -> tuple[int, int]:
    """Return the positions to show: all, or those of a long sequence among which most mistakes begin."""
    if length <= _LONGEST:
        return 0, length
    starts = np.array([one.start for one in mistakes])
    most = [int(((starts >= a) & (starts < a + _LONGEST * 3 // 4)).sum()) for a in starts.tolist()]
    first = max(0, min(int(starts[int(np.argmax(most))]) - _LONGEST // 8, length - _LONGEST))
    return first, first + _LONGEST


def _chosen(order: list[int], wrong: dict[int, list[Mistake]], most: int) -> list[int]:
    """Return the sentences to show, in their order."""
    if len(order) <= most:
        return order
    place = {i: rank for rank, i in enumerate(order)}
    kept: dict[int, None] = {}
    seen: Counter[tuple[str, str | None, str | None]] = Counter()
    for i in order:
        for mistake in wrong[i]:
            key = (mistake.kind, mistake.true, mistake.found)
            if seen[key] < _OF_EACH and len(kept) < most // 2:
                kept[i] = None
            seen[key] += 1
    for i in order:
        if len(kept) >= most:
            break
        kept[i] = None
    return sorted(kept, key=place.__getitem__)


def _counts(wrong: dict[int, list[Mistake]]) -> list[MistakeCount]:
    pairs: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for mistakes in wrong.values():
        for one in mistakes:
            several = one.true is not None and one.found is not None and one.true != one.found
            words = f"{one.true} as {one.found}" if several else str(one.true or one.found)
            pairs[one.kind][words] += 1
    return [MistakeCount(kind, sum(found.values()), found.most_common(4)) for kind, found in pairs.items()]


def _sentence(
    i: int,
    number: int,
    window: tuple[int, int],
    finder: MistakeFinder,
    mistakes: list[Mistake],
    found: Predictions,
    words: Sequence[str],
) -> ShownMistakes:
    first, last = window
    true, guessed = finder.segments(i)
    here = [one for one in mistakes if one.start < last and one.stop > first]
    part = "" if last - first == len(words) else f"positions {first + 1:,} to {last:,} of {len(words):,}"
    return ShownMistakes(
        number + 1,
        part,
        ShownSentence(words[first:last], shown_spans(guessed, window), shown_spans(true, window)),
        here,
        [kind for kind in KINDS if any(one.kind == kind for one in here)],
        sorted({name for one in here for name in (one.true, one.found) if name is not None}),
        round(-float(found.log_true[i]), 2),
    )


def shown_spans(segments: Sequence[Segment], window: tuple[int, int]) -> list[ShownSpan]:
    """Return segments as ``report.spans`` takes them, cut to a window; a type without a name gets one."""
    first, last = window
    return [
        ShownSpan(max(one.start, first) - first, min(one.end, last) - first, one.type or "segment")
        for one in segments
        if one.start < last and one.end > first
    ]


def _why(model: Any, data: LabelledSequences, numbers: IntArray, windows: list[tuple[int, int]]) -> Why:
    """Explain the sequences with these numbers, which need not rise."""
    order = np.argsort(numbers)
    part = data.part(numbers[order])
    X, lengths, _ = model._given(part.x, np.diff(part.offsets) if part.has_rows and not part.names else None)
    why = explain_sentences(model, X, lengths, part.y, [windows[k] for k in order.tolist()])
    place = np.argsort(order).tolist()
    return why._replace(sentences=[why.sentences[k] for k in place])
