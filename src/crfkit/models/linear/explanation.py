"""The reasons of a linear model for a label and against its rival (``models/explanation.py``).

If the label l of position t is replaced by its rival r, the score of the path falls by

    S(… l …) - S(… r …) = Σ_a value_a (w[a, l] - w[a, r])                 attributes of the position
                        + w[y_{t-1}, l] - w[y_{t-1}, r]                    the transition in
                        + w[l, y_{t+1}] - w[r, y_{t+1}]                    the transition out

(Attributes on label pairs and longer label n-grams add terms of the same kind.)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.data.sequences import Sequences
from crfkit.inference.label_ngrams import LabelNgrams
from crfkit.models.explanation import Reason, Reasons
from crfkit.models.linear.tagger import LinearTagger


def linear_reasons(tagger: LinearTagger, sequences: Sequences) -> Reasons:
    """Return the reasons of a model at the positions of a batch."""
    return partial(_reasons, tagger, sequences)


def _reasons(
    tagger: LinearTagger,
    sequences: Sequences,
    labels: npt.NDArray[np.integer[Any]],
    start: int,
    stop: int,
    t: int,
    rival: int,
) -> Iterator[Reason]:
    """Yield the nonzero terms of the log odds at position t of the sequence start .. stop-1."""
    index, weights, L = tagger.index, tagger.weights, tagger.index.n_labels
    chosen = labels[start:stop].astype(np.int64)  # [T]
    changed = chosen.copy()
    changed[t - start] = rival

    def attribute_term(indptr: Any, ids: Any, w: Any, at: int, good: int, bad: int) -> Iterator[Reason]:
        for i in range(sequences.indptr[at], sequences.indptr[at + 1]):
            a = int(sequences.indices[i])
            row = slice(indptr[a], indptr[a + 1])
            found = dict(zip(ids[row].tolist(), w[row].tolist(), strict=True))
            difference = found.get(good, 0.0) - found.get(bad, 0.0)
            if difference:
                value = 1.0 if sequences.values is None else float(sequences.values[i])
                yield Reason(tagger.vocabulary.strings(a, a + 1)[0], value * difference)

    def transition_term(table: Any, last: int) -> Iterator[Reason]:
        run = slice(last - table.ndim + 1, last + 1)
        difference = float(table[tuple(chosen[run])] - table[tuple(changed[run])])
        if difference:
            yield Reason(" → ".join(str(tagger.classes[label]) for label in chosen[run]), difference)

    yield from attribute_term(index.state_indptr, index.state_labels, weights.state, t, int(labels[t]), rival)
    for last in range(max(t - start, 1), min(t - start + 2, stop - start)):
        yield from transition_term(weights.edge, last)
    if len(index.ngrams):
        place = np.arange(len(chosen))
        runs = LabelNgrams(index.ngrams, weights.ngrams)
        mine, other = (runs.ends_in(path.astype(np.int32), place) for path in (chosen, changed))
        for size, both in enumerate(zip(mine, other, strict=True), 3):
            for last in range(t - start, min(t - start + size, stop - start)):
                w = [0.0 if which[last] < 0 else float(weights.ngrams[which[last]]) for which in both]
                if w[0] != w[1]:
                    labels = chosen[last - size + 1 : last + 1]
                    yield Reason(" → ".join(str(tagger.classes[label]) for label in labels), w[0] - w[1])
    if index.has_pairs:
        for last in range(max(t - start, 1), min(t - start + 2, stop - start)):
            good, bad = (int(path[last - 1] * L + path[last]) for path in (chosen, changed))
            yield from attribute_term(
                index.pair_indptr, index.pair_ids, weights.pair, start + last, good, bad
            )
