"""What every structure answers about one sequence (or graph), given all labellings and their scores."""

import numpy as np

from crfkit.data.labels import Labels
from crfkit.exceptions import NoPathError
from crfkit.inference.segment_answers import SegmentScores


def check_any_labellings(structure, x, labellings, scores, slack):
    """Check partial labels, samples and, where there is one, the list of best labellings.

    ``labellings`` [P, T] are all of them, ``scores`` [P] may be -inf but not all.
    """
    rng = np.random.default_rng(np.frombuffer(scores.tobytes(), np.uint32))  # the same for the same scores
    known = dict(zip(map(tuple, labellings.tolist()), scores.tolist(), strict=True))
    assert len(known) == len(labellings)
    allowed = rng.random((labellings.shape[1], number_of_ids(x))) < 0.7
    allowed[~allowed.any(axis=1)] = True
    check_partial_labels(structure, x, labellings, scores, allowed, slack)
    for drawn in structure.sample(x, 2, random_state=int(rng.integers(2**31))):
        assert known[tuple(drawn.tolist())] > -np.inf, "a forbidden sample"
    if hasattr(structure, "nbest"):
        k = int(rng.integers(1, 12))
        found = structure.nbest(x, k)
        top = np.sort(scores[scores > -np.inf])[::-1][:k]
        np.testing.assert_allclose(found.scores_of(0), top, atol=slack)
        paths = list(map(tuple, found.paths_of(0).tolist()))
        assert len(set(paths)) == len(top), "a labelling twice among the best"
        np.testing.assert_allclose([known[path] for path in paths], top, atol=slack)


def check_partial_labels(structure, x, labellings, scores, allowed, slack):
    """Check log Z of the labellings that agree with a mask [T, number of ids]."""
    fits = allowed[np.arange(len(allowed)), labellings].all(axis=1)
    log_z = np.logaddexp.reduce(scores[fits], initial=-np.inf)
    agreeing = structure.permit(x, Labels(np.full(len(allowed), -1, np.int32), allowed))
    try:
        found = structure.log_partition(agreeing)[0]
    except NoPathError:
        found = -np.inf
    assert found == log_z or abs(found - log_z) <= slack, ("partial labels", found, log_z)


def number_of_ids(scores):
    """Return how many ids labels have: two per label of segments."""
    return 2 * scores.n_labels if isinstance(scores, SegmentScores) else scores.n_labels
