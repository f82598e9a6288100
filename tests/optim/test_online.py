"""The perceptron and its kin against their rule in plain Python, over all paths."""

import itertools
from collections import Counter

import numpy as np
import pytest

from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.features.index import build_index
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.optim.online import UpdateRule

A, L = 6, 3
RULES = {
    "perceptron": UpdateRule(least=1, most=1, averaged=True),
    "pa": UpdateRule(power=0.5, averaged=True),
    "pa-i": UpdateRule(most=0.05, power=0.5, averaged=True),
    "pa-ii": UpdateRule(slack=2.0),
    "arow": UpdateRule(slack=0.3, power=1.0, variance=2.0),
}


def features(x, y, order):
    """Return the counts of features on a path: of (attribute, label), and of runs of labels."""
    found = Counter()
    for t, item in enumerate(x):
        for a, value in item.items():
            found[a, y[t]] += value
        for k in range(1, order + 1):
            if t >= k:
                found[tuple(y[t - k : t + 1])] += 1.0
    return found


class Plain:
    """The rule of native/online/update_rule.h over all paths, with a dict of weights."""

    def __init__(self, rule, known, order):
        self.rule, self.known, self.order = rule, known, order
        self.w, self.sums, self.sigma, self.turn = Counter(), Counter(), {}, 1

    def score(self, x, y):
        return sum(self.w[f] * v for f, v in features(x, y, self.order).items())

    def best(self, x, permitted):
        return max(itertools.product(*permitted), key=lambda y: (self.score(x, y), [-i for i in y[::-1]]))

    def take(self, x, permitted, weight):
        rule, free = self.rule, [range(L)] * len(x)
        best = self.best(x, free)
        wrong = sum(label not in may for label, may in zip(best, permitted, strict=True))
        if wrong:
            truth = self.best(x, permitted)
            delta = features(x, truth, self.order)
            delta.subtract(features(x, best, self.order))
            delta = {f: v for f, v in delta.items() if v and f in self.known}
            loss = self.score(x, best) - self.score(x, truth) + wrong**rule.power
            sigma = {f: self.sigma.get(f, rule.variance or 1.0) for f in delta}
            spread = sum(sigma[f] * v * v for f, v in delta.items()) + rule.slack / weight
            tau = min(max(loss / spread, rule.least * weight), rule.most * weight)
            for f, v in delta.items():
                self.w[f] += tau * sigma[f] * v
                self.sums[f] += self.turn * tau * sigma[f] * v
                if rule.variance:
                    self.sigma[f] = 1 / (1 / sigma[f] + weight * v * v / rule.slack)
        self.turn += 1

    def weights(self):
        mean = self.rule.averaged
        return {f: self.w[f] - self.sums[f] / self.turn * mean for f in self.known}


def problem(seed, order, partial):
    """Return items with random values (so that there are no ties), permitted labels, and weights."""
    numbers = np.random.default_rng(seed)
    X, Y = [], []
    for length in (4, 1, 0, 5, 3):
        X.append([{int(a): float(numbers.normal()) for a in numbers.choice(A, 2)} for _ in range(length)])
        Y.append([[int(numbers.integers(L))] for _ in range(length)])
        if partial:
            for t in range(1, length, 2):
                Y[-1][t] = [[0, 1, 2], [0, 2]][t % 4 // 2]
    return X, Y, numbers.uniform(0.5, 2, len(X))


def objective(X, Y, weights, order):
    items = [item for x in X for item in x]
    counts, offsets = [len(item) for item in items], np.cumsum([0, *map(len, X)])
    data = Sequences(
        offsets.astype(np.int64),
        np.cumsum([0, *counts]).astype(np.int64),
        np.array([a for item in items for a in sorted(item)], dtype=np.int32),
        np.array([item[a] for item in items for a in sorted(item)]),
        A,
    )
    flat = [may for y in Y for may in y]
    ids = np.array([may[0] if len(may) == 1 else -1 for may in flat], dtype=np.int32)
    allowed = np.array([[label in may for label in range(L)] for may in flat])
    labels = Labels(ids, None if (ids >= 0).all() else allowed)
    index = build_index(data, labels, L, order=order, all_possible_states=True, all_possible_transitions=True)
    return LinearLikelihood(data, labels, index, n_threads=1, weights=weights)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(("order", "partial"), [(1, False), (2, False), (1, True), (2, True)])
def test_epochs_follow_the_rule(name, order, partial):
    X, Y, weights = problem(len(name), order, partial)
    likelihood = objective(X, Y, weights, order)
    runs = [run for k in range(2, order + 2) for run in itertools.product(range(L), repeat=k)]
    plain = Plain(RULES[name], {*runs, *((("a", a), label) for a in range(A) for label in range(L))}, order)
    learner = likelihood.learner(np.zeros(likelihood.n_parameters), RULES[name])
    for epoch in range(4):
        ids = np.random.default_rng(epoch).permutation(len(X)).astype(np.int32)
        learner.run(ids)
        for i in ids:
            plain.take([{("a", a): v for a, v in item.items()} for item in X[i]], Y[i], weights[i])
    found = likelihood.weights(learner.point())
    expected = plain.weights()
    state = [expected[("a", a), label] for a in range(A) for label in range(L)]
    np.testing.assert_allclose(found[-A * L :], state, rtol=0, atol=1e-6)  # values are stored in float
    np.testing.assert_allclose(found[: -A * L], [expected[run] for run in runs], rtol=0, atol=1e-6)
