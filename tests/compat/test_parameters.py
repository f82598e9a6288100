"""Algorithms and parameters of the trainer, against the original's."""

import numpy as np
import pycrfsuite as original
import pytest

from crfkit.compat.pycrfsuite import Trainer

ALGORITHMS = ["lbfgs", "l2sgd", "ap", "averaged-perceptron", "pa", "passive-aggressive", "arow", "LBFGS"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_names_and_defaults(algorithm):
    ours, theirs = Trainer(algorithm), original.Trainer(algorithm)
    assert ours.params() == theirs.params()
    assert ours.get_params() == theirs.get_params()
    ours.set_params(ours.get_params())
    assert ours.get_params() == theirs.get_params()
    for name in ours.params():
        assert ours.help(name)
        assert type(ours.get(name)) is type(theirs.get(name)) or name == "calibration.samples"


def test_without_a_choice_it_is_lbfgs():
    assert Trainer().get_params() == original.Trainer().get_params()


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("c1", "0.25", 0.25),
        ("c2", 3, 3.0),
        ("c2", 1e-9, 1e-9),  # the original shows 0.0
        ("max_iterations", "50", 50),
        ("max_iterations", 50.0, 50),
        ("feature.possible_states", True, True),
        ("feature.possible_states", 0, False),
        ("feature.possible_transitions", "1", True),
        ("linesearch", "Backtracking", "Backtracking"),
    ],
)
def test_values(name, value, read):
    trainer = Trainer(params={name: value})
    assert trainer.get(name) == read
    assert type(trainer.get(name)) is type(read)


def test_select_goes_back_to_the_defaults():
    trainer = Trainer(params={"c2": 9})
    trainer.select("l2sgd")
    assert trainer.get("c2") == 1.0
    assert "c1" not in trainer.params()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("c1", -1, "'c1' must be a number of at least 0, got -1"),
        ("c1", "much", "'c1' must be a number of at least 0, got 'much'"),
        ("c2", float("nan"), "'c2' must be a number"),
        ("c2", None, "'c2' must be a number"),
        ("max_iterations", float("inf"), "'max_iterations' must be a whole number"),
        ("num_memories", 0, "at least 1, got 0"),
        ("linesearch", "Brent", "one of 'MoreThuente', 'Backtracking', 'StrongBacktracking', got 'Brent'"),
        ("C2", 1, "has no parameter 'C2'; it has feature.minfreq, .*c2"),
        ("gamma", 1, "'lbfgs' has no parameter 'gamma' \\(it belongs to 'arow'\\)"),
    ],
)
def test_bad_values_in_words(name, value, words):
    trainer = Trainer()
    with pytest.raises(ValueError, match=words):
        trainer.set(name, value)
    assert trainer.get_params() == Trainer().get_params()


def test_unknown_names_in_words():
    trainer = Trainer("l2sgd")
    for ask in (trainer.get, trainer.help):
        with pytest.raises(ValueError, match=r"'l2sgd' has no parameter 'c1' \(it belongs to 'lbfgs'\)"):
            ask("c1")
    with pytest.raises(ValueError, match="unknown algorithm 'adam': expected one of 'lbfgs', 'l2sgd', 'ap'"):
        trainer.select("adam")
    with pytest.raises(ValueError, match="unknown type of model 'crf2d'"):
        trainer.select("lbfgs", "crf2d")
    assert "L1" in Trainer().help("c1")


@pytest.mark.parametrize("value", [10.5, "10.5", 10, "10", np.int64(10), np.float32(10.9), True])
def test_fractions_are_cut_off_as_in_the_original(value):
    found = []
    for kind in (Trainer, original.Trainer):
        trainer = kind(verbose=False)
        trainer.set("max_iterations", value)
        found.append(trainer.get("max_iterations"))
    assert found[0] == found[1]
