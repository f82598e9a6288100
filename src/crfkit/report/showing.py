"""``crfkit.show``: labelled sentences as coloured spans in a notebook, and as text at a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.exceptions import InputError, MissingLibraryError
from crfkit.report.label_spans import token_sentences
from crfkit.report.spans import ShownSentence, spans_html
from crfkit.report.text_spans import text_sentence


@dataclass(frozen=True, repr=False)
class Shown:
    """Labelled sentences: coloured spans in a notebook, brackets in plain text."""

    sentences: Sequence[ShownSentence]
    types: Sequence[str] = ()  # all types of the model, so that each has its own colour
    total: int = 1  # sentences that there are

    def to_html(self) -> str:
        """Return the sentences as a fragment of HTML, to be put into a page. Needs Jinja2."""
        return spans_html(self.sentences, types=self.types, notes=self._notes())

    def _repr_html_(self) -> str | None:
        try:
            return self.to_html()
        except MissingLibraryError:  # the notebook then shows the text
            return None

    def __str__(self) -> str:
        parts = [sentence.text() for sentence in self.sentences]
        between = "\n\n" if any(sentence.gold is not None for sentence in self.sentences) else "\n"
        return between.join([*parts, *self._notes()])

    def __repr__(self) -> str:
        return str(self)

    def _notes(self) -> list[str]:
        more = self.total - len(self.sentences)
        return [f"… and {more:,} more: limit={self.total} shows all"] if more > 0 else []


def show(
    tokens: Any,
    labels: Any = None,
    probabilities: Any = None,
    *,
    gold: Any = None,
    scheme: str | None = None,
    limit: int = 20,
) -> Shown:
    """Show labelled sentences: as coloured spans in a notebook, in brackets at a prompt.

    There are three ways to call it:

    - ``show(tokens, labels, probabilities)``: one sentence or a list of sentences. Probabilities are one
      number per token, or the result of ``predict_marginals``. A span shows the smallest one of its tokens;
      its own probability is at most that.
    - ``show(text, spans)``: a plain text with the result of ``tag_text``, or with other spans that have
      ``start``, ``end`` and ``label``.
    - ``show(model, X)``: a fitted model labels a text, one sentence or several. Spans show their exact
      probabilities.

    With ``gold``, the true labels (or spans) are above each token and the predicted ones below it; a cross
    marks spans that the other side does not have. Labels such as ``B-LOC`` are read by conlleval's rules, or
    by those of a ``scheme``; other labels as runs of one label. ``limit`` is the number of sentences shown.

    >>> show(["Ada", "Lovelace", "saw", "Turin"], ["B-PER", "I-PER", "O", "B-LOC"])
    [PER Ada Lovelace] saw [LOC Turin]
    """
    if limit < 1:
        raise InputError(f"limit must be at least 1, got {limit}")
    if hasattr(tokens, "predict_segments") or hasattr(tokens, "fit"):
        if probabilities is not None:
            raise InputError("probabilities are the model's own: show(model, X) takes none")
        if labels is None:
            raise InputError("show(model, X) needs X: a text, the tokens of a sentence, or sentences")
        from crfkit.report.model_spans import shown_by_model  # which imports models

        found = shown_by_model(tokens, labels, gold, scheme, limit)
        return Shown(*found)
    if labels is None:
        raise InputError("show needs labels: show(tokens, labels), show(text, spans) or show(model, X)")
    if isinstance(tokens, str):
        if probabilities is not None:
            raise InputError(
                "the spans of a text have their own probabilities: show(text, spans) takes no others"
            )
        return Shown([text_sentence(tokens, labels, gold)])
    several = _is_nested(tokens)
    batch = [list(one) for one in tokens] if several else [list(tokens)]
    found_labels, true, sure = (
        _as_batch(values, batch, several, name)
        for values, name in ((labels, "labels"), (gold, "gold"), (probabilities, "probabilities"))
    )
    sentences = token_sentences(batch, found_labels, true, sure, scheme, limit)
    return Shown(sentences, (), len(batch))


def _is_nested(tokens: Any) -> bool:
    if not isinstance(tokens, (Sequence, np.ndarray)):
        raise InputError(f"tokens must be a list of tokens or of sentences, got {type(tokens).__name__}")
    return len(tokens) > 0 and isinstance(tokens[0], (list, tuple, np.ndarray))


def _as_batch(values: Any, tokens: list[list[Any]], several: bool, name: str) -> list[Any]:
    """Return one list per sentence, of the lengths of the sentences; Nones if there are no values."""
    if values is None:
        return [None] * len(tokens)
    if isinstance(values, (str, Mapping)) or not isinstance(values, (Sequence, np.ndarray)):
        raise InputError(f"{name} must be a list with one entry per token, got {type(values).__name__}")
    batch = list(values) if several else [values]
    if not several and len(values) == 1 and isinstance(values[0], (list, np.ndarray)):
        batch = [values[0]]  # model.predict([tokens]), beside the tokens themselves
    if len(batch) != len(tokens):
        raise InputError(f"expected {name} of {len(tokens)} sentences, got those of {len(batch)}")
    for i, (words, own) in enumerate(zip(tokens, batch, strict=True)):
        if own is None and name != "labels":
            continue
        if own is None or isinstance(own, str) or not hasattr(own, "__len__") or len(own) != len(words):
            got = f"{len(own)}" if hasattr(own, "__len__") and not isinstance(own, str) else repr(own)
            raise InputError(f"sentence {i} has {len(words)} tokens, but {name} for it: {got}")
    return batch
