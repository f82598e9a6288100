"""Evaluation on the holdout group after each iteration, in the format of CRFsuite's log."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.compat.pycrfsuite.instances import Part, without_zeros
from crfkit.features.index import FeatureIndex
from crfkit.inference import viterbi
from crfkit.potentials.linear import LinearPotential


class Holdout:
    """Labelled sequences that are not used for training."""

    def __init__(self, part: Part, names: list[str], known: IntArray, n_jobs: int | None) -> None:
        """``names`` are all labels, also those of the holdout group only; ``known`` [L] are the indices of
        the model's labels in it."""
        self._sequences = without_zeros(part.sequences)
        self._right = part.ids.astype(np.int64)  # [ΣT]
        self._names, self._known, self._n_jobs = names, known, n_jobs

    def lines(self, index: FeatureIndex, weights: FloatArray) -> Iterator[str]:
        """Yield the scores of the weights as lines of the log."""
        lattice = LinearPotential(index, weights).scores(self._sequences, n_jobs=self._n_jobs)
        found = self._known[viterbi(lattice, n_jobs=self._n_jobs).labels]  # [ΣT]
        hit = found == self._right
        n = len(self._names)
        match = np.bincount(self._right[hit], minlength=n)
        model, ref = np.bincount(found, minlength=n), np.bincount(self._right, minlength=n)
        precision = match / np.maximum(model, 1)  # [labels]
        recall = match / np.maximum(ref, 1)
        f1 = 2 * precision * recall / np.where(match > 0, precision + recall, 1)
        there = ref > 0
        yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
        for i, name in enumerate(self._names):
            shares = "(******, ******, ******)"
            if there[i]:
                shares = f"({precision[i]:.4f}, {recall[i]:.4f}, {f1[i]:.4f})"
            yield f"    {name}: ({match[i]}, {model[i]}, {ref[i]}) {shares}\n"
        means = [share[there].sum() / n for share in (precision, recall, f1)]
        yield "Macro-average precision, recall, F1: ({:f}, {:f}, {:f})\n".format(*means)
        yield _accuracy("Item", int(hit.sum()), len(hit))
        offsets = self._sequences.offsets
        lengths = np.diff(offsets)
        hits = np.concatenate(([0], np.cumsum(hit)))[offsets]  # [N+1]
        whole = (np.diff(hits) == lengths)[lengths > 0]
        yield _accuracy("Instance", int(whole.sum()), len(whole))


def _accuracy(what: str, right: int, total: int) -> str:
    return f"{what} accuracy: {right} / {total} ({right / max(total, 1):.4f})\n"
