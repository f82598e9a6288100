"""Label n-grams with a score each: transitions of order 2, 3 and higher, without a table of all n-grams.

Ye, Lee, Chieu and Wu, "Conditional random fields with high-order features for sequence labeling" (NIPS 2009).
N-grams that are not listed score 0. A pass over a sequence costs O(L + the number of n-grams) per position,
however many labels and whatever order there is; see native/orders/label_ngrams.h.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray, IdArray
from crfkit.exceptions import InputError


@dataclass(frozen=True, eq=False, init=False)
class LabelNgrams:
    """M runs of three labels or more, and their scores; those of equal runs add up.

    Parameters
    ----------
    labels
        [M, n+1] label ids for order n. A run of fewer labels is at the right end of its row, with -1 before
        it. A run scores at every position where it ends.
    scores
        [M]; -inf forbids. A run's score is added to those of the runs that it ends in, and to ``edge``.
    """

    labels: IdArray  # [M, n+1]
    scores: FloatArray  # [M]

    def __init__(self, labels: npt.ArrayLike, scores: npt.ArrayLike) -> None:
        given = np.asarray(labels)
        if given.size and given.dtype.kind not in "iu":
            raise InputError(f"label n-grams must be whole numbers, the ids of labels; got {given.dtype}")
        runs = np.ascontiguousarray(given, dtype=np.int32)
        values = np.ascontiguousarray(scores, dtype=np.float64)
        if runs.ndim != 2 or runs.shape[1] < 3:
            raise InputError(
                f"label n-grams must have shape [M, n+1] with n >= 2, one row each; got shape {runs.shape}"
            )
        if values.shape != runs.shape[:1]:
            raise InputError(f"{len(runs)} label n-grams need as many scores; got shape {values.shape}")
        known = runs >= 0
        wrong = (
            (runs < -1).any(axis=1) | ~known[:, -3:].all(axis=1) | (known[:, :-1] & ~known[:, 1:]).any(axis=1)
        )
        if wrong.any():
            k = int(np.argmax(wrong))
            raise InputError(
                f"label n-gram {k} is {runs[k].tolist()}: it must have three labels or more, after -1 where "
                "it is shorter than the row"
            )
        object.__setattr__(self, "labels", runs)
        object.__setattr__(self, "scores", values)

    @property
    def order(self) -> int:
        """Number of previous labels that a score may depend on."""
        return int(self.labels.shape[1]) - 1

    def __len__(self) -> int:
        return len(self.labels)

    def with_scores(self, scores: FloatArray) -> LabelNgrams:
        """Return the same n-grams with other scores [M]."""
        return LabelNgrams(self.labels, scores)

    def permitted(self) -> LabelNgrams:
        """Return the n-grams that are forbidden, and no other scores."""
        kept = self.scores == -np.inf
        return LabelNgrams(self.labels[kept], self.scores[kept])

    def forbidding(self, triples: npt.NDArray[np.signedinteger]) -> LabelNgrams:
        """Return n-grams under which these runs of three labels [K, 3] are forbidden as well."""
        more = np.full((len(triples), self.order + 1), -1, np.int32)
        more[:, -3:] = triples
        rows, place = np.unique(np.concatenate([self.labels, more]), axis=0, return_inverse=True)
        scores = np.zeros(len(rows))
        scores[place.reshape(-1)[: len(self)]] = self.scores
        scores[place.reshape(-1)[len(self) :]] = -np.inf
        return LabelNgrams(rows, scores)

    def ends_in(
        self, ids: IdArray, places: npt.NDArray[np.signedinteger]
    ) -> list[npt.NDArray[np.signedinteger]]:
        """Return, per n-gram length from 3, which n-gram [ΣT] ends at each position of labels; -1: none.

        ``places`` [ΣT] is the position within its sequence.
        """
        n, found = len(ids), []
        for size in range(3, self.order + 2):
            own = np.flatnonzero((self.labels >= 0).sum(axis=1) == size)
            rows = self.labels[own, -size:]
            at = np.flatnonzero(places >= size - 1)
            runs = np.stack([ids[at - size + 1 + k] for k in range(size)], axis=1).astype(np.int32)
            which = np.full(n, -1, np.int64)
            if len(own) and len(at):
                _, number = np.unique(np.concatenate([rows, runs]), axis=0, return_inverse=True)
                number = number.reshape(-1)
                row_of = np.full(int(number.max()) + 1, -1, np.int64)
                row_of[number[: len(own)]] = own
                which[at] = row_of[number[len(own) :]]
            found.append(which)
        return found
