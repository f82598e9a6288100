"""Every estimator answers every question, or refuses in the words of the documentation."""

import numpy as np
import pytest
from estimators import ESTIMATORS, X, Y, fitted, make

from crfkit import KernelCRF, SemiCRF
from crfkit.exceptions import InputError
from crfkit.inference import Constraints

KNOWN = [[y[0], *[None] * (len(y) - 1)] for y in Y]
# Question: how it is asked of a fitted model that must not change.
QUESTIONS = {
    "predict": lambda m: m.predict(X),
    "predict_posterior": lambda m: m.predict_posterior(X),
    "predict_marginals": lambda m: m.predict_marginals(X),
    "predict_nbest": lambda m: m.predict_nbest(X, 2),
    "predict_segments": lambda m: m.predict_segments(X, scheme="runs"),
    "score": lambda m: m.score(X, Y),
    "explain": lambda m: m.explain(X),
    "known": lambda m: m.predict(X, known=KNOWN),
    "constraints": lambda m: m.predict(X, constraints=Constraints(transitions=np.eye(3, dtype=bool))),
}
# Ways of training: how an unfitted estimator is trained.
TRAININGS = {
    "fit": lambda m: m.fit(X, Y),
    "partial labels": lambda m: m.fit(X, [[{"P", "Q"}, *y[1:]] for y in Y]),
    "missing labels": lambda m: m.fit(X, [[None, *y[1:]] for y in Y]),
    "sequences without labels": lambda m: m.fit(X, [None, *Y[1:]]),
    "sample_weight": lambda m: m.fit(X, Y, np.linspace(1, 2, len(X))),
    "class_weight": lambda m: m.set_params(class_weight={"P": 2.0}).fit(X, Y),
    "dev set": lambda m: m.fit(X[:8], Y[:8], X_dev=X[8:], y_dev=Y[8:]),
    "partial_fit": lambda m: m.fit(X[:8], Y[:8]).partial_fit(X[8:], Y[8:]),
}
# What cannot be, and the words in which it is refused.
REFUSED = {
    (name, "partial_fit"): "cannot continue training with new data"
    for name, (kind, _) in ESTIMATORS.items()
    if kind in (KernelCRF, SemiCRF)
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_questions(name, question):
    answer = QUESTIONS[question](fitted(name))
    if question != "score":
        assert len(answer) == len(X)


@pytest.mark.filterwarnings("ignore:1 sequences have no label")  # kernels without a graph: docs/kernel.md
@pytest.mark.parametrize("training", TRAININGS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_trainings(name, training):
    if (name, training) in REFUSED:
        with pytest.raises(InputError, match=REFUSED[name, training]):
            TRAININGS[training](make(name))
        return
    model = TRAININGS[training](make(name))
    assert model.score(X, Y) > 0.5


@pytest.mark.parametrize("name", ESTIMATORS)
def test_reasons_add_up_to_the_log_odds(name):
    """The terms are the difference of the scores of two labellings."""
    model = fitted(name)
    for x, decisions in zip(X[:4], model.explain(X[:4]), strict=True):
        lattice = model.tagger_.scored([x]).lattice
        path = [model.classes_.index(d.label) for d in decisions]
        for t, decision in enumerate(decisions):
            if name == "segments":  # other labels change with it: the best with the rival there
                known = [None if s != t else decision.rival for s in range(len(path))]
                other = model.predict([x], known=[known])[0]
                pair = np.array([path, [model.classes_.index(label) for label in other]], np.int32)
                own, rivals = (model.tagger_.answers.score(lattice, labels)[0] for labels in pair)
                assert decision.log_odds == pytest.approx(own - rivals)
                continue
            changed = list(path)
            changed[t] = model.classes_.index(decision.rival)
            difference = score_of(lattice, path) - score_of(lattice, changed)
            assert decision.log_odds == pytest.approx(difference, abs=1e-4)


def score_of(lattice, path):
    """Return the score of a labelling, term by term."""
    total = sum(lattice.node[t, k] for t, k in enumerate(path))
    for t in range(1, len(path)):
        total += (lattice.edge if lattice.edge.ndim == 2 else lattice.edge[t])[path[t - 1], path[t]]
    for t in range(2, len(path)):
        if lattice.edge2 is not None:
            total += (lattice.edge2 if lattice.edge2.ndim == 3 else lattice.edge2[t])[
                tuple(path[t - 2 : t + 1])
            ]
    if lattice.ngrams is not None:
        for which in lattice.ngrams.ends_in(np.array(path, np.int32), np.arange(len(path))):
            total += lattice.ngrams.scores[which[which >= 0]].sum()
    for table, k in ((lattice.start, path[0]), (lattice.end, path[-1])):
        total += 0.0 if table is None else table[k]
    return total
