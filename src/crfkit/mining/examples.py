"""Examples of rules: a few positions where each rule holds, with the words around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit import _native
from crfkit.data.columns import Columns
from crfkit.data.sequences import Encoded
from crfkit.exceptions import InputError
from crfkit.features.inputs import encode_input, given_template
from crfkit.features.template import Template
from crfkit.mining.rules import Rules
from crfkit.threads import thread_count

_TRIES = 20  # positions tried per example, as many are alike


@dataclass(frozen=True)
class Example:
    """A position where a rule holds."""

    before: tuple[str, ...]  # words
    word: str
    after: tuple[str, ...]
    label: Any  # its true label; None if it is not known
    sequence: int
    position: int  # in the sequence
    starts: bool  # whether ``before`` reaches back to the first word
    ends: bool  # whether ``after`` reaches the last


def find_examples(
    rules: Rules,
    X: Any,
    y: Sequence[Sequence[Any]] | None = None,
    *,
    template: Template | str | None = None,
    words: int | Sequence[Sequence[str]] = 0,
    n: int = 3,
    window: int = 4,
    n_jobs: int | None = None,
) -> list[list[Example]]:
    """Find for each rule up to n different places in X where it holds, those with its own label first.

    Parameters
    ----------
    rules : the rules to illustrate; pass only those to be shown.
    X, y : sequences and, if they are known, their labels; X as ``AssociationMiner.fit`` takes it.
    template : for columns, the template that the rules were mined with.
    words : which column holds the words; or, for X without columns, one list of words per sequence.
    n, window : examples per rule, and words on either side.
    """
    template = given_template(template)
    sequences = encode_input(X, rules.vocabulary, template, grow=False, n_jobs=n_jobs)
    texts = _words(X, words, template)
    offsets = sequences.offsets
    if [len(text) for text in texts] != np.diff(offsets).tolist():
        raise InputError(
            f"words must be one list per sequence, of the same length; got {len(texts)} lists for "
            f"{sequences.n_sequences} sequences"
        )
    matcher = _native.RuleMatcher(rules.first, rules.items, len(rules.vocabulary))
    first, found = matcher.match(sequences.indptr, sequences.indices, thread_count(n_jobs))
    positions = np.repeat(np.arange(len(first) - 1), np.diff(first))  # [matches]
    order = np.argsort(found, kind="stable")  # by rule, then by position
    bounds = np.searchsorted(found[order], np.arange(len(rules) + 1))
    illustrated = []
    for r in range(len(rules)):
        own = positions[order[bounds[r] : bounds[r + 1]][: n * _TRIES]]
        examples: dict[tuple[Any, ...], Example] = {}
        for t in own.tolist():
            i = int(np.searchsorted(offsets, t, "right")) - 1
            at = t - int(offsets[i])
            example = _cut(texts[i], i, at, None if y is None else y[i][at], window)
            examples.setdefault((example.before, example.word, example.after), example)
        label = rules.classes[rules.labels[r]]
        # At most one wrong example, unless there are too few others.
        right = [e for e in examples.values() if e.label is None or e.label == label]
        wrong = [e for e in examples.values() if not (e.label is None or e.label == label)]
        illustrated.append([*right[: n - bool(wrong) * (n > 1)], *wrong][:n])
    return illustrated


def _cut(words: Sequence[str], sequence: int, at: int, label: Any, window: int) -> Example:
    start, end = max(0, at - window), min(len(words), at + 1 + window)
    return Example(
        tuple(words[start:at]),
        words[at],
        tuple(words[at + 1 : end]),
        label,
        sequence,
        at,
        start == 0,
        end == len(words),
    )


def _words(
    X: Any, words: int | Sequence[Sequence[str]], template: Template | None
) -> Sequence[Sequence[str]]:
    if not isinstance(words, int):
        return words
    if template is None or isinstance(X, Encoded):
        raise InputError("X has no column of words: pass words=…, one list per sequence")
    return (X if isinstance(X, Columns) else Columns.from_rows(X)).column(words)
