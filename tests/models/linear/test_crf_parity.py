"""CRF against CRFsuite: the same optimum, the same labels, the same probabilities."""

import numpy as np
import pycrfsuite
import pytest
from small_tasks import ADDRESSES, TASKS

from crfkit import CRF
from crfkit.data.encode import encode
from crfkit.data.labels import encode_labels
from crfkit.features.index import build_index
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.potentials.linear import LinearWeights


def crfsuite(X, y, path, *, c1=0.0, c2=1.0, minfreq=0, states=False, transitions=False):
    """Return a CRFsuite tagger trained to convergence."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(
        {
            "c1": c1,
            "c2": c2,
            "max_iterations": 1000,
            "epsilon": 1e-7,
            "delta": 1e-8,
            "num_memories": 20,
            "feature.minfreq": minfreq,
            "feature.possible_states": states,
            "feature.possible_transitions": transitions,
        }
    )
    for xs, ys in zip(X, y, strict=True):
        trainer.append(pycrfsuite.ItemSequence(xs), ys)
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def objective_at(crf, X, y, state, transitions):
    """Return our objective at given weights, by name."""
    vocabulary, classes = crf.tagger_.vocabulary, crf.classes_
    sequences = encode(X, vocabulary, grow=False)
    labels = encode_labels(y, classes, sequences.offsets)
    index = build_index(
        sequences, labels, len(classes), all_possible_states=True, all_possible_transitions=True
    )
    table = np.zeros((len(vocabulary), len(classes)))
    for (attribute, label), weight in state.items():
        table[vocabulary.lookup([attribute])[0], classes.index(label)] = weight
    edge = np.zeros((len(classes),) * 2)
    for (one, two), weight in transitions.items():
        edge[classes.index(one), classes.index(two)] = weight
    weights = LinearWeights(edge, np.zeros(0), np.zeros(0), table.ravel()).vector
    objective = LinearLikelihood(sequences, labels, index, n_threads=1)
    loss = objective(objective.parameters(weights)).value
    size = np.concatenate([table.ravel(), edge.ravel()])
    return loss + crf.c2 * float(size @ size) + crf.c1 * float(np.abs(size).sum())


L2 = [
    ("addresses", {"c2": 1.0}),
    ("addresses", {"c2": 0.05}),
    ("addresses", {"c2": 0.2, "minfreq": 2}),
    ("addresses", {"c2": 0.3, "transitions": True}),
    ("casino", {"c2": 1.0}),
    ("casino", {"c2": 0.01}),
    ("casino", {"c2": 0.3, "states": True, "transitions": True}),
]


@pytest.mark.parametrize(("task", "options"), L2, ids=str)
def test_l2(task, options, tmp_path):
    X, y = TASKS[task]
    rival = crfsuite(X, y, tmp_path / "rival", **options)
    crf = CRF(
        c2=options["c2"],
        min_freq=options.get("minfreq", 0),
        all_possible_states=options.get("states", False),
        all_possible_transitions=options.get("transitions", False),
        tol=1e-7,
    ).fit(X, y)
    info = rival.info()
    theirs = objective_at(crf, X, y, info.state_features, info.transitions)
    assert crf.objective_ == pytest.approx(theirs, rel=1e-4)
    assert crf.objective_ == pytest.approx(
        objective_at(crf, X, y, crf.state_features_, crf.transition_features_), rel=1e-5
    )
    # the same features
    ours = set(crf.state_features_)
    assert len(ours ^ set(info.state_features)) <= 0.01 * len(ours)  # CRFsuite may drop weights near 0
    assert set(crf.transition_features_) == set(info.transitions)
    # the same labels and probabilities
    assert crf.predict(X) == [rival.tag(pycrfsuite.ItemSequence(xs)) for xs in X]
    for i in range(10):
        rival.set(pycrfsuite.ItemSequence(X[i]))
        for t, found in enumerate(crf.predict_marginals(X[i : i + 1])[0]):
            for label, probability in found.items():
                assert probability == pytest.approx(rival.marginal(label, t), abs=2e-3)


L1 = [
    ("addresses", 0.1, 0.1),
    ("addresses", 1.0, 0.0),
    ("casino", 0.5, 0.01),
    ("casino", 1.0, 0.0),
]


@pytest.mark.parametrize(("task", "c1", "c2"), L1)
def test_l1(task, c1, c2, tmp_path):
    X, y = TASKS[task]
    rival = crfsuite(X, y, tmp_path / "rival", c1=c1, c2=c2)
    crf = CRF(c1=c1, c2=c2, tol=1e-6).fit(X, y)
    info = rival.info()
    theirs = objective_at(crf_for_all(X, y, crf), X, y, info.state_features, info.transitions)
    # at least as good: CRFsuite's own OWL-QN often stops a little above the optimum
    assert crf.objective_ <= theirs * (1 + 1e-4)
    assert crf.objective_ >= theirs * (1 - 1e-2)
    same = np.mean(
        [
            a == b
            for xs, ys in zip(X, crf.predict(X), strict=True)
            for a, b in zip(rival.tag(pycrfsuite.ItemSequence(xs)), ys, strict=True)
        ]
    )
    assert same > 0.995


def crf_for_all(X, y, crf):
    """Return a CRF with the same settings and every attribute still in the vocabulary."""
    return CRF(c2=1.0).fit(X, y).set_params(c1=crf.c1, c2=crf.c2)


def test_min_freq_leaves_all_possible_transitions_in():
    """In CRFsuite min_freq removes the transitions that all_possible_transitions added."""
    X, y = ADDRESSES
    crf = CRF(min_freq=5, all_possible_transitions=True, max_iterations=200).fit(X, y)
    assert crf.tagger_.index.edges.all()
    assert len(crf.state_features_) < len(CRF().fit(X, y).state_features_)
