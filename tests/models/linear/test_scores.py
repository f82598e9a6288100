"""The scores of a linear model are its weights, by name."""

import numpy as np
import pytest

from crfkit import CRF

X = [[["a"], ["b"], ["c", "a"]], [["c"]], [], [["b"], ["a"], ["b"], ["d"]]] * 3
Y = [["P", "Q", "R"], ["Q"], [], ["R", "P", "R", "Q"]] * 3


@pytest.fixture(params=[1, 2])
def crf(request):
    return CRF(order=request.param, c2=0.3, all_possible_states=True).fit(X, Y)


def test_scores_are_the_weights_by_name(crf):
    lattice = crf.tagger_.lattice(crf.tagger_.encode([[["a", "c"], ["unknown", "d"]]]))
    state = crf.state_features_
    for t, names in enumerate([["a", "c"], ["d"]]):
        for i, label in enumerate(crf.classes_):
            assert lattice.node[t, i] == pytest.approx(sum(state.get((name, label), 0) for name in names))
    for (first, second, *more), weight in crf.transition_features_.items():
        i, j = crf.classes_.index(first), crf.classes_.index(second)
        if not more:
            assert lattice.edge[i, j] == weight
            continue
        run = [i, j, *(crf.classes_.index(label) for label in more)]
        (place,) = np.flatnonzero((lattice.ngrams.labels[:, -len(run) :] == run).all(axis=1))
        assert lattice.ngrams.scores[place] == weight
