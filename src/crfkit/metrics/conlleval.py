"""The report of conlleval, the scorer of the CoNLL shared tasks, character by character.

The script (Tjong Kim Sang, version of 2004-01-26) is the standard of published chunking and entity results.
For the tags it knows (``B I E O [ ] .``) numbers and layout are the same, including its oddities: the type
``0`` counts as no type, types are padded by bytes, and the line of the empty type (labels such as a bare
``B``) is printed twice if both labellings have it. ``S``, ``L`` and ``U``, which it does not know, are read
as in :mod:`crfkit.metrics.segments`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from crfkit.data.label_codes import LabelSequences
from crfkit.exceptions import InputError
from crfkit.metrics.pairs import Pairs
from crfkit.metrics.report import Report, Score
from crfkit.metrics.segment_counts import count_forgiving
from crfkit.metrics.segment_scores import scores_of
from crfkit.metrics.segments import reading_for


@dataclass(frozen=True, repr=False)
class ConllevalReport(Report):
    """Segment scores that print as conlleval prints them; in a notebook they are a table."""

    def __str__(self) -> str:
        whole = self.overall
        lines = [
            f"processed {self.n_tokens} tokens with {whole.true} phrases; "
            f"found: {whole.predicted} phrases; correct: {whole.correct}."
        ]
        if self.n_tokens:
            accuracy = 100 * self.n_correct_tokens / self.n_tokens
            lines.append(f"accuracy: {accuracy:6.2f}%; {_numbers(whole)}")
        for kind, score in self.scores.items():
            padding = " " * (17 - len(str(kind).encode("utf-8", "surrogateescape")))
            line = f"{padding}{kind}: {_numbers(score)}  {score.predicted}"
            # The script does not notice a repeated type if it is empty.
            lines += [line] * (2 if kind == "" and score.true and score.predicted else 1)
        return "\n".join(lines)


def conlleval(
    y_true: LabelSequences,
    y_pred: LabelSequences,
    *,
    scheme: str | None = None,
    raw: bool = False,
    outside: str = "O",
) -> ConllevalReport:
    """Score segments; ``print()`` the result for conlleval's report.

    ``raw`` is the script's ``-r``: labels have no tags, and each token that is not outside is a segment of
    its own. ``outside`` is its ``-o``: another label for outside; the script uses it only with ``-r``, this
    function always. ``scheme`` is only needed for IOBES labels without any ``S``.

    >>> print(conlleval([["B-NP", "I-NP", "O"]], [["B-NP", "O", "O"]]))
    processed 3 tokens with 1 phrases; found: 1 phrases; correct: 0.
    accuracy:  66.67%; precision:   0.00%; recall:   0.00%; FB1:   0.00
                   NP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
    """
    if raw and scheme is not None:
        raise InputError("raw labels have no scheme: leave out raw=True, or scheme=")

    def rename(label: Hashable) -> Hashable:
        if label == outside:
            return "O"
        if raw:
            label = label if label == "O" else f"B-{label}"
        tag, _, kind = label.partition("-") if isinstance(label, str) else ("", "", "")
        return tag if isinstance(label, str) and kind in ("", "0") else label

    pairs = Pairs.of(y_true, y_pred).renamed(rename)
    report = scores_of(pairs, count_forgiving(pairs, reading_for(pairs.names, scheme)))
    return ConllevalReport(**vars(report))


def _numbers(score: Score) -> str:
    return "precision: {:6.2f}%; recall: {:6.2f}%; FB1: {:6.2f}".format(*score.percentages)
