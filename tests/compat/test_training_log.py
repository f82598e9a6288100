"""The log: the original's messages parsed like the original does, and our own messages in the same format."""

import re

import pycrfsuite as original
import pytest
from crfsuite_training import fill
from pycrfsuite._logparser import TrainLogParser as OriginalParser

from crfkit.compat.pycrfsuite import Trainer, TrainLogParser


def recorded(module, tmp_path, algorithm, data, holdout, **params):
    """Return the messages of a training run."""

    class Recorder(module.Trainer):
        def __init__(self):
            self.messages = []

        def message(self, message):
            self.messages.append(message)

    trainer = Recorder()
    trainer.select(algorithm)
    trainer.set_params(params)
    X, y, X_dev, y_dev = data
    fill(trainer, X, y)
    fill(trainer, X_dev, y_dev, 1)
    trainer.train(str(tmp_path / "model"), holdout=holdout)
    return trainer.messages


def public(parser):
    return {name: value for name, value in vars(parser).items() if name not in ("scores", "events")}


@pytest.mark.parametrize("holdout", [-1, 1])
@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_the_originals_log(small, tmp_path, algorithm, holdout):
    messages = recorded(original, tmp_path, algorithm, small, holdout, max_iterations=4)
    ours, theirs = TrainLogParser(), OriginalParser()
    for message in messages:
        assert ours.feed(message) == theirs.feed(message)
        assert ours.last_log == theirs.last_log
    assert ours.events == theirs.events
    for mine, other in zip(ours.iterations, theirs.iterations, strict=True):
        # The original omits labels that the model predicts but the holdout data does not have.
        assert {k: v for k, v in mine["scores"].items() if k in other["scores"]} == other["scores"]
        assert mine | {"scores": None} == other | {"scores": None}
    assert ours.last_iteration is ours.iterations[-1]
    for name in ("featgen_num_features", "featgen_seconds", "featgen_percent", "training_seconds"):
        assert getattr(ours, name) == getattr(theirs, name)
    # The original treats 0.000 seconds as missing.
    assert ours.storing_seconds == (theirs.storing_seconds or 0.0)


@pytest.mark.parametrize("algorithm", ["lbfgs", "ap", "pa", "arow"])
@pytest.mark.parametrize("holdout", [-1, 1])
def test_our_log_is_shaped_like_theirs(algorithm, small, tmp_path, holdout):
    """Line by line, except for numbers that depend on the path to the optimum."""

    def shape(messages):
        text = "".join(messages)
        before, _, rest = text.partition("***** Iteration #1 *****")
        one = rest.partition("***** Iteration #2 *****")[0]
        after = text.rpartition("Total seconds")[2]
        return [re.sub(r"\d+(\.\d+)?|\*{6}", "#", part) for part in (before, one, after)]

    options = {"max_iterations": 3, "feature.minfreq": 2}
    ours = recorded(
        pytest.importorskip("crfkit.compat.pycrfsuite"), tmp_path, algorithm, small, holdout, **options
    )
    theirs = recorded(original, tmp_path, algorithm, small, holdout, **options)
    assert shape(ours) == shape(theirs)
    assert [line for line in ours if line.startswith("Number of features")] == [
        line for line in theirs if line.startswith("Number of features")
    ]
    assert ("L-BFGS terminated with the maximum number of iterations\n" in ours) == (algorithm == "lbfgs")


def test_hooks_are_called_in_order(small, tmp_path):
    calls = []

    class Listener(Trainer):
        def on_start(self, log):
            calls.append(("start", log))

        def on_featgen_progress(self, log, percent):
            calls.append(("progress", percent))

        def on_featgen_end(self, log):
            calls.append(("features", log))

        def on_prepared(self, log):
            calls.append(("prepared", log))

        def on_iteration(self, log, info):
            calls.append(("iteration", info["num"]))
            assert info is self.logparser.last_iteration
            assert log.startswith("***** Iteration")

        def on_optimization_end(self, log):
            calls.append(("optimised", log))

        def on_end(self, log):
            calls.append(("end", log))

    trainer = fill(Listener("lbfgs", {"max_iterations": 3}), *small[:2])
    trainer.train(tmp_path / "model")
    kinds = [kind for kind, _ in calls]
    assert kinds == [
        "start",
        *["progress"] * 51,
        "features",
        "prepared",
        *["iteration"] * 3,
        "optimised",
        "end",
    ]
    assert [value for kind, value in calls if kind == "progress"] == list(range(0, 101, 2))
    assert [value for kind, value in calls if kind == "iteration"] == [1, 2, 3]
    assert "c2: 1.000000" in dict(calls)["prepared"]
    calls.clear()
    trainer.verbose = False
    trainer.train(tmp_path / "model")
    assert calls == []
    assert len(trainer.logparser.iterations) == 3  # still parsed


def test_verbose_prints_the_log(small, tmp_path, capsys):
    for verbose in (True, False):
        trainer = fill(Trainer(params={"max_iterations": 2}, verbose=verbose), small[0][:1], small[1][:1])
        trainer.train(tmp_path / "model")
        printed = capsys.readouterr()
        assert printed.out == ("".join(trainer.logparser.log) if verbose else "")
        assert printed.err == ""


def test_holdout_scores(small, tmp_path):
    """Precision, recall and accuracy of the last iteration are those of the stored model."""
    from sklearn.metrics import accuracy_score, precision_recall_fscore_support

    from crfkit.compat.pycrfsuite import Tagger

    X, y, X_dev, y_dev = small
    y_dev = [["never seen", *labels[1:]] for labels in y_dev]
    trainer = fill(Trainer(verbose=False), X, y)
    fill(trainer, X_dev, y_dev, 7)
    trainer.train(tmp_path / "model", holdout=7)
    last = trainer.logparser.last_iteration
    tagger = Tagger()
    tagger.open(tmp_path / "model")
    assert "never seen" not in tagger.labels()
    true = [label for labels in y_dev for label in labels]
    found = [label for xseq in X_dev for label in tagger.tag(xseq)]
    assert last["item_accuracy_float"] == pytest.approx(accuracy_score(true, found))
    assert last["item_accuracy"].denominator <= len(true)
    assert last["instance_accuracy"] == 0
    labels = sorted(set(true))
    table = precision_recall_fscore_support(true, found, labels=labels, zero_division=0)
    for label, precision, recall, f1, support in zip(labels, *table, strict=True):
        score = last["scores"][label]
        assert score.ref == support
        assert (score.precision, score.recall, score.f1) == pytest.approx((precision, recall, f1), abs=5e-5)
    assert last["avg_f1"] == pytest.approx(sum(table[2]) / len(last["scores"]), abs=1e-6)
