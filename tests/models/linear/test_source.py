"""Training on a source of another kind: a sum over parts, registered by the type of X."""

from dataclasses import replace

import numpy as np
import pytest
from small_tasks import ADDRESSES

from crfkit import CRF, upper_floors
from crfkit.models.linear.source import Given, local_source
from crfkit.objectives.linear_function import LinearFunction
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.optim.problem import Evaluation


class Parts:
    """X and y in two parts."""

    def __init__(self, X, y) -> None:
        self.X, self.y = X, y


class SumOfParts(LinearFunction):
    """The sum of two likelihoods with the same parameters, one per feature."""

    n_threads = 1

    def __init__(self, source) -> None:
        n, sequences, labels = source.offsets.size - 1, source.encoded.sequences, source.data.labels
        self.parts = [
            LinearLikelihood(
                sequences.subset(ids),
                labels.subset(ids, sequences.offsets),
                source.index,
                n_threads=1,
                as_given=True,
            )
            for ids in (np.arange(n // 3), np.arange(n // 3, n))
        ]

    @property
    def n_parameters(self) -> int:
        return self.parts[0].n_parameters

    def __call__(self, x, *, diagonal: bool = False) -> Evaluation:
        one, two = (part(x, diagonal=diagonal) for part in self.parts)
        spread = one.diagonal + two.diagonal if diagonal else None
        return Evaluation(one.value + two.value, one.gradient + two.gradient, spread)

    def parameters(self, w):
        return self.parts[0].parameters(w)

    def weights(self, x):
        return self.parts[0].weights(x)

    def validation_sets(self, spans, margin):
        raise NotImplementedError


def open_parts(estimator, given: Given):
    whole = local_source(estimator, replace(given, X=given.X.X, y=given.X.y))
    return replace(whole, function=SumOfParts(whole))


@pytest.mark.parametrize("c1", [0.0, 0.3])
def test_a_registered_source_trains_the_same_model(monkeypatch, tmp_path, c1: float) -> None:
    own = {"source": f"{__name__}:open_parts"}
    monkeypatch.setitem(upper_floors._ELSEWHERE, __name__.partition(".")[0], own)
    X, y = ADDRESSES
    settings = {"c1": c1, "c2": 0.1, "algorithm": "lbfgs", "tol": 1e-9}
    there = CRF(**settings).fit(Parts(X, y), X_dev=None, checkpoint=tmp_path / "state")
    here = CRF(**settings).fit(X, y)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-6)
    assert there.predict(X) == here.predict(X)
    for feature, weight in here.transition_features_.items():
        assert there.transition_features_[feature] == pytest.approx(weight, abs=2e-3)
