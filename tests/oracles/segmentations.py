"""The oracle of segmentations: enumerates all of them in plain Python, and random scores to try."""

import numpy as np

from crfkit.inference import SegmentLattice, Spans


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
    L, K, base = x.n_labels, x.longest, int(x.offsets[sequence])
    spans = {}
    if x.spans is not None:
        for number, place in enumerate(zip(*x.spans, strict=True)):
            spans[tuple(map(int, place))] = number
    total = 0.0
    for i, (b, e, y) in enumerate(segmentation):
        d = e - b
        if d > K and x.tail is None:
            return -np.inf
        total += x.node[base + b, y] + sum(x.node[base + t, L + y] for t in range(b + 1, e))
        total += x.lengths[y, min(d, K) - 1] + (x.tail[y] * (d - K) if d > K else 0.0)
        total += x.edge[segmentation[i - 1][2], y] if i else 0.0
        total += x.last[base + e - 1, y] if x.last is not None else 0.0
        total += x.span[spans[sequence, b, e], y] if (sequence, b, e) in spans else 0.0
    if segmentation:
        total += 0.0 if x.start is None else x.start[segmentation[0][2]]
        total += 0.0 if x.end is None else x.end[segmentation[-1][2]]
    return total


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
