"""The oracle of segmentations: enumerates all of them in plain Python, and random scores to try."""

import numpy as np

from crfkit.inference import SegmentLattice, Spans
from crfkit.inference.segmentations import SegmentGradient


def all_segmentations(length, n_labels):
    """Yield every list of (begin, end, label)."""
    if length == 0:
        yield []
        return
    for begin in range(length):
        for before in all_segmentations(begin, n_labels):
            for label in range(n_labels):
                yield [*before, (begin, length, label)]


def score(x: SegmentLattice, sequence: int, segmentation) -> float:
    """Return the score of one segmentation, term by term."""
    if x.tail is None and any(e - b > x.longest for b, e, _ in segmentation):
        return -np.inf
    terms = score_terms(x, sequence, segmentation)
    return float(sum(times * getattr(x, field)[place] for field, place, times in terms))


def counts_of(x: SegmentLattice, sequence: int, segmentations, probabilities):
    """Return the expected counts of each table, as a dict."""
    tables = (name for name in SegmentGradient._fields if getattr(x, name) is not None)
    counts = {name: np.zeros(getattr(x, name).shape) for name in tables}
    for segmentation, p in zip(segmentations, probabilities, strict=True):
        for field, place, times in score_terms(x, sequence, segmentation) if p else ():
            counts[field][place] += p * times
    return counts


def score_terms(x: SegmentLattice, sequence: int, segmentation):
    """Yield what a segmentation consists of: table, place in it, and how many times."""
    L, K, base = x.n_labels, x.longest, int(x.offsets[sequence])
    spans = {}
    if x.spans is not None:
        for number, place in enumerate(zip(*x.spans, strict=True)):
            spans[tuple(map(int, place))] = number
    for i, (b, e, y) in enumerate(segmentation):
        d = e - b
        yield "node", (base + b, y), 1
        for t in range(b + 1, e):
            yield "node", (base + t, L + y), 1
        yield "lengths", (y, min(d, K) - 1), 1
        if d > K:
            yield "tail", y, d - K
        if i:
            yield "edge", (segmentation[i - 1][2], y), 1
        if x.last is not None:
            yield "last", (base + e - 1, y), 1
        if (sequence, b, e) in spans:
            yield "span", (spans[sequence, b, e], y), 1
    if segmentation and x.start is not None:
        yield "start", segmentation[0][2], 1
    if segmentation and x.end is not None:
        yield "end", segmentation[-1][2], 1


def ids_of(segmentation, n_labels):
    """Return the labelling of a segmentation: y where a segment begins, L + y where it goes on."""
    ids = []
    for begin, end, label in segmentation:
        ids += [label] + [n_labels + label] * (end - begin - 1)
    return np.array(ids, np.int32)


def random_scores(seed, lengths, n_labels, longest, *, scale=1.0, forbidden=0.0, parts=True):
    """Return random scores with a share of -inf, ``forbidden``; ``parts``: with all optional tables."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    T, L, K = int(offsets[-1]), n_labels, longest

    def table(*shape):
        values = rng.normal(scale=scale, size=shape)
        values[rng.random(shape) < forbidden] = -np.inf
        return values

    more = {}
    if parts:
        places = [
            (i, b, e)
            for i, length in enumerate(lengths)
            for b in range(length)
            for e in range(b + 1, min(length, b + K) + 1)
            if rng.random() < 0.4
        ]
        columns = np.array(places, np.int64).reshape(-1, 3).T
        more = {
            "start": table(L),
            "end": table(L),
            "last": table(T, L),
            "tail": table(L),
            "spans": Spans(*columns),
            "span": table(len(places), L),
        }
    return SegmentLattice(table(T, 2 * L), table(L, L), table(L, K), offsets, **more)
