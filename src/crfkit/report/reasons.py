"""Why a model has chosen the labels of some sentences: compact records that the page's script unfolds.

For each position: the label and its rival with their probabilities, the terms of the log odds of the two
(with the labels around fixed), and the other probable labels. The rival of a wrong label is the true one; of
a right label, the most probable other one. For each sentence: its n best labellings.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.inference.lattice import ScoredSequences
from crfkit.models.explanation import Reasons
from crfkit.models.fitted_model import FittedModel

_REASONS = 5  # on either side
_PROBABLE = 4  # labels per position
_LEAST = 0.001  # a probability that is shown
_BEST = 5  # labellings per sentence


class Why(NamedTuple):
    """Records of sentences, with texts and labels by number."""

    labels: list[str]
    texts: list[str]  # attributes, transitions, splits, cliques
    sentences: list[dict[str, Any]]  # "t": positions, "n": labellings


def explain_sentences(
    model: Any,
    X: Any,
    lengths: Any,
    gold: Sequence[Sequence[Any]],
    windows: Sequence[tuple[int, int]],
) -> Why:
    """Return the records of all sequences of X, given their true labels and the positions to explain."""
    tagger: FittedModel = model._fitted()
    writer = _Writer(tagger)
    done = 0
    for lattice, reasons in model._reasoned(X, lengths, None, None):
        here = slice(done, done + lattice.n_sequences)
        writer.add(lattice, reasons, gold[here], windows[here])
        done = here.stop
    return Why([str(label) for label in tagger.classes], list(writer.texts), writer.sentences)


class _Writer:
    def __init__(self, tagger: FittedModel) -> None:
        self._tagger = tagger
        self._place = {label: i for i, label in enumerate(tagger.classes)}
        self.texts: dict[str, int] = {}
        self.sentences: list[dict[str, Any]] = []

    def add(
        self,
        lattice: ScoredSequences,
        reasons: Reasons,
        gold: Sequence[Sequence[Any]],
        windows: Sequence[tuple[int, int]],
    ) -> None:
        """Add the sequences of a lattice."""
        tagger = self._tagger
        decoded = tagger.decode(lattice, with_marginals=True)
        labels, node = decoded.labels.astype(np.int64), decoded.marginals
        if node is None:
            return
        paths = list(tagger.decode_several(lattice, _BEST))
        for i, (start, stop) in enumerate(pairwise(lattice.offsets.tolist())):
            true = [self._place.get(label, -1) for label in gold[i]]
            first, last = windows[i]
            self.sentences.append(
                {
                    "t": [
                        self._position(labels, node[t], reasons, start, stop, t, true[t - start])
                        for t in range(start + first, start + last)
                    ],
                    "n": [_labelling(path, log, labels[start:stop], first, last) for path, log in paths[i]],
                }
            )

    def _position(
        self,
        labels: IntArray,
        node: FloatArray,  # [L]
        reasons: Reasons,
        start: int,
        stop: int,
        t: int,
        true: int,
    ) -> list[Any]:
        """Return label, rival, log odds, probabilities by label, and the strongest reasons."""
        label = int(labels[t])
        others = node.copy()
        others[label] = -1.0
        rival = true if 0 <= true != label else int(others.argmax())
        alone = rival == label or (rival != true and node[rival] <= 0)
        found = [] if alone else sorted(reasons(labels, start, stop, t, rival), key=lambda one: -one.weight)
        odds = sum(reason.weight for reason in found)
        pro = [reason for reason in found if reason.weight > 0][:_REASONS]
        con = [reason for reason in found[::-1] if reason.weight < 0][:_REASONS]
        probable = np.argsort(-node, kind="stable")[:_PROBABLE].tolist()
        shown = dict.fromkeys(
            [*(k for k in probable if node[k] >= _LEAST), label, *([] if alone else [rival])]
        )
        return [
            label,
            -1 if alone else rival,
            _number(odds),
            [part for k in shown for part in (k, _probability(float(node[k])))],
            [part for one in (*pro, *con) for part in (self._text(one.what), _number(one.weight))],
            len(found) - len(pro) - len(con),
        ]

    def _text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))


def _labelling(path: Any, log: float, labels: IntArray, first: int, last: int) -> list[Any]:
    """Return the log probability of a labelling, where it differs from the predicted one, and how often."""
    changed = np.flatnonzero(path != labels)
    shown = [t for t in changed.tolist() if first <= t < last]
    return [
        round(float(log), 3),
        [part for t in shown for part in (t - first, int(path[t]))],
        len(changed) - len(shown),
    ]


def _number(value: float) -> float:
    return round(value, 2) if abs(value) >= 0.095 else float(f"{value:.2g}")


def _probability(value: float) -> float:
    """Return a probability with few digits, but never 1 if it is less."""
    return round(value, 3) if value < 0.9995 else round(value, 6)
