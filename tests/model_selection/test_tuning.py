"""Successive halving: stages, the best setting, failures, Ctrl-C, tables, and the same result every time."""

import io
import sys
from importlib.util import find_spec

import pytest
from refusals import refuses

from crfkit import CRF, ConstrainedCRF, KernelCRF, SemiCRF, TreeCRF
from crfkit.compat import sklearn_crfsuite
from crfkit.datasets import addresses, gaussian_mixtures
from crfkit.exceptions import InputError, InputWarning
from crfkit.features import token_features
from crfkit.model_selection import cross_val_score, default_space, tune

X, Y = addresses(180, random_state=1)
SPACE = {"c2": [0.01, 0.1, 1, 10], "min_freq": [0, 3]}
MODEL = CRF(extractor=token_features, tol=1e-3)
POINTS, STATES = gaussian_mixtures(20, 5, random_state=0)


def words_alone(tokens):
    return [[f"w={token}"] for token in tokens]


@pytest.fixture(scope="module")
def found():
    return tune(MODEL, X, Y, space=SPACE, cv=2)


def test_bad_settings_do_not_warn():
    """Only the model that is kept speaks of labels that it never predicts."""
    bad = CRF(extractor=token_features, c2=1e4)
    with pytest.warns(InputWarning, match="the model never predicts"):
        bad.fit(X, Y)
    tune(MODEL, X, Y, space={"c2": [0.1, 1e4]}, cv=2)  # a warning would be an error


def test_stages(found):
    assert [trial.n_sequences for trial in found.trials] == [60] * 8 + [180] * 4
    assert found.trials[8].params == {}  # the estimator as it was given, on all the data
    first, last = found.trials[:8], found.trials[9:]
    kept = sorted(first, key=lambda trial: -trial.score)[:3]
    assert [trial.params for trial in last] == [trial.params for trial in kept]
    best = max(found.trials[8:], key=lambda trial: trial.score)
    assert (found.best_params_, found.best_score_) == (best.params, best.score)


def test_scores_are_those_of_cross_validation_and_the_model_is_trained_on_everything(found):
    model = CRF(extractor=token_features, tol=1e-3).set_params(**found.best_params_)
    assert found.ranked()[0].scores == tuple(cross_val_score(model, X, Y, cv=2))
    assert found.best_estimator_.predict_marginals(X[:9]) == model.fit(X, Y).predict_marginals(X[:9])


def test_the_same_every_time(found):
    again = tune(MODEL, X, Y, space=SPACE, cv=2)
    assert [(t.params, t.scores) for t in again.trials] == [(t.params, t.scores) for t in found.trials]
    samples = [tune(MODEL, X[:30], Y[:30], cv=2, n_candidates=3, random_state=s) for s in (5, 5, 6)]
    params = [[trial.params for trial in one.trials] for one in samples]
    assert params[0] == params[1] != params[2]


def test_features_templates_and_their_names():
    space = {"extractor": {"words alone": words_alone, "with shapes": token_features}}
    found = tune(CRF(extractor=words_alone), X, Y, space=space, cv=2)
    assert found.best_params_ == {"extractor": token_features}
    assert "with shapes" in str(found)
    rows = [[[word] for word in words] for words in X]
    templates = ["U0:%x[0,0]\n", "U0:%x[0,0]\nB\n"]
    found = tune(CRF(template=templates[0]), rows, Y, space={"template": templates}, cv=2)
    assert found.best_params_ == {"template": templates[1]}


def test_groups_are_never_split():
    # Each document is given twice under one group: a model that has seen the copy would be right.
    groups = [i % 60 for i in range(120)]
    twice = (X[:60] * 2, Y[:60] * 2)
    model = CRF(extractor=words_alone, c2=0.01)
    split = tune(model, *twice, space={"c2": [0.01]}, cv=2).best_score_
    whole = tune(model, *twice, groups, space={"c2": [0.01]}, cv=2).best_score_
    assert whole < split - 0.1


def test_tables(found):
    lines = str(found).splitlines()
    assert lines[0].split() == ["c2", "min_freq", "segment", "F1", "±", "s.e.", "sequences", "seconds"]
    assert len(lines) == 1 + 12 + 1
    assert lines[-1].startswith("best: c2=")
    assert repr(found) == str(found)
    assert found._repr_html_().count("<tr>") == 13
    frame = found.to_frame()
    assert list(frame.columns[:4]) == ["param_c2", "param_min_freq", "score", "standard_error"]
    assert frame.score.iloc[0] == found.best_score_
    assert frame.score.iloc[0] >= frame.score.iloc[3]


KINDS = [CRF(), SemiCRF(), ConstrainedCRF(), KernelCRF(), *([TreeCRF()] if find_spec("lightgbm") else [])]


@pytest.mark.parametrize("estimator", KINDS, ids=lambda one: type(one).__name__)
def test_default_spaces(estimator):
    space = default_space(estimator)
    for name, values in space.items():
        for value in values:
            assert getattr(estimator.set_params(**{name: value}), name) == value
    kind = type(estimator)
    small = {"n_cliques": 20, "per_round": 10, "gamma": 1.0, "reg": 0.1} if kind is KernelCRF else {}
    n = 1 if kind is KernelCRF else 2  # it searches by itself for what is "auto"
    found = tune(kind(**small), POINTS, STATES, cv=2, n_candidates=n)
    assert len(found.trials) == n + 1
    assert all(set(trial.params) in (set(), set(space)) for trial in found.trials)
    assert found.best_estimator_.score(POINTS, STATES) > 0.5


def test_all_values_of_the_default_spaces_are_permitted():
    for estimator in KINDS:
        for name, values in default_space(estimator).items():
            if name == "kernel":
                continue  # no rule of a parameter, but the kernels themselves check it
            described, permits = estimator._rules[name]
            assert all(map(permits, values)), (name, described)


def test_classes_of_sklearn_crfsuite():
    rows = [token_features(words) for words in X[:40]]
    crf = sklearn_crfsuite.CRF(max_iterations=10)
    found = tune(crf, rows, Y[:40], space={"c2": [0.1, 1.0]}, cv=2, metric="log_loss")
    assert isinstance(found.best_estimator_, sklearn_crfsuite.CRF)
    assert found.metric == "−log loss"


def test_settings_that_fail_are_recorded():
    found = tune(MODEL, X[:20], Y[:20], space={"c2": [-1, 0.1]}, cv=2)
    failed = [trial for trial in found.trials if trial.error is not None]
    assert [trial.params for trial in failed] == [{"c2": -1}]
    assert "c2" in failed[0].error
    assert "failed" in str(found)
    refuses(
        "c2 must be", tune, CRF(c2=-2, extractor=token_features), X[:20], Y[:20], space={"c2": [-1]}, cv=2
    )


def test_ctrl_c_keeps_what_was_tried(capsys):
    def stopping_after(n):
        calls = []

        def metric(y_true, y_pred):
            calls.append(None)
            if len(calls) == n:
                raise KeyboardInterrupt
            return -float(len(calls))

        return metric

    found = tune(MODEL, X[:20], Y[:20], space=SPACE, cv=2, metric=stopping_after(6), verbose=2)
    assert found.interrupted
    assert len(found.trials) == 2
    assert found.best_params_ == {}
    assert found.best_estimator_.predict(X[:1])
    assert "stopped by Ctrl-C" in str(found)
    assert "stopped by Ctrl-C; training the best setting so far" in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt):
        tune(MODEL, X[:20], Y[:20], space=SPACE, cv=2, metric=stopping_after(1))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress(capsys, monkeypatch):
    tune(MODEL, X[:20], Y[:20], space={"c2": [0.1]}, cv=2)
    assert capsys.readouterr().err == ""
    tune(MODEL, X[:20], Y[:20], space={"c2": [0.1]}, cv=2, verbose=2)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert "the estimator as given  (all sequences" in lines[0]
    assert "c2=0.1" in lines[1]
    assert lines[2].startswith("segment F1")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    tune(MODEL, X[:20], Y[:20], space={"c2": [0.1]}, cv=2, verbose=True)
    assert "\rtune [##########----------] 1 of 2, 0:00" in terminal.getvalue()


def test_refusals():
    refuses("space must be a dict", tune, MODEL, X, Y, space=["c2"])
    refuses(r"space\['c2'\] must be a list of values", tune, MODEL, X, Y, space={"c2": 0.1})
    refuses("n_candidates must be", tune, MODEL, X, Y, n_candidates=0)
    refuses("no default space for Unknown", default_space, type("Unknown", (), {})())
    refuses("cv=5 needs as many sequences", tune, MODEL, X[:3], Y[:3])
    with pytest.raises((ValueError, InputError), match="Invalid parameter 'c3'"):
        tune(MODEL, X, Y, space={"c3": [1]})
