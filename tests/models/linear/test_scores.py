"""The scores of a linear model are its weights, by name."""

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
        table = lattice.edge if not more else lattice.edge2[:, :, crf.classes_.index(more[0])]
        assert table[i, j] == weight
