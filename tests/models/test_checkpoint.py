"""Checkpoints: a training that was killed and continued gives the bytes of one that never stopped."""

import io
import os
import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from crfkit import CRF, Checkpoint, ConstrainedCRF, KernelCRF, SemiCRF, TreeCRF
from crfkit.datasets import addresses, gaussian_mixtures
from crfkit.exceptions import InputError, InputWarning, ModelFileError
from crfkit.features import token_features
from crfkit.io.state_file import read_state, write_state
from crfkit.models import checkpoint as module
from crfkit.models.checkpoint import fingerprint
from crfkit.optim import methods


class Killed(BaseException):
    """What ends a training here: no code of the library may catch it."""


@cache
def letters():
    tokens, y = addresses(60, random_state=0)
    X = [token_features(sentence) for sentence in tokens]
    return X[:50], y[:50], None, X[50:], y[50:]


@cache
def points():
    X, y = gaussian_mixtures(40, 6, random_state=0)
    return X[:30], y[:30], None, X[30:], y[30:]


@cache
def lengths():
    """Return data with a number of another scale, which only small penalties can decode."""
    tokens, y = addresses(60, random_state=1)
    X = [[{"w": w[:2], "n": 1e6 * len(w), "first": w[0]} for w in sentence] for sentence in tokens]
    return X, y


SMALL = {"n_leaves": 4, "n_iterations": 8, "min_samples_leaf": 2, "window": 1, "n_jobs": 1}

# An estimator, its data, and how many of the arguments of fit it gets: with or without a dev set.
CASES = {
    "stochastic start": (lambda: CRF(c2=0.1), letters, 2),
    "dev set": (lambda: CRF(c2=0.01, patience=4), letters, 5),
    "lbfgs": (lambda: CRF(algorithm="lbfgs", max_iterations=25), letters, 2),
    "owl-qn": (lambda: CRF(algorithm="lbfgs", c1=0.5, min_freq=2), letters, 2),
    "perceptron": (lambda: CRF(algorithm="ap", max_iterations=15, order=2), letters, 2),
    "passive-aggressive": (lambda: CRF(algorithm="pa", max_iterations=15), letters, 2),
    "arow": (lambda: CRF(algorithm="arow(gamma=100)", max_iterations=15), letters, 2),
    "sgd": (lambda: CRF(algorithm="sgd", max_iterations=15, random_state=3), letters, 2),
    "saddle point": (lambda: ConstrainedCRF(validation=3, tau=0.01, max_iterations=30), letters, 2),
    "under constraints, dev set": (lambda: ConstrainedCRF(validation=5, patience=2), letters, 5),
    "largest penalty": (lambda: ConstrainedCRF(c2="largest", max_outer=6, max_iterations=20), letters, 2),
    "segments": (lambda: SemiCRF(c1=0.2, last_attributes=True, max_iterations=25), letters, 2),
    "segments, dev set": (lambda: SemiCRF(c2=0.01, patience=4, max_length=3), letters, 5),
    "trees": (lambda: TreeCRF(line_search=True, **SMALL), points, 2),
    "factored trees, dev set": (
        lambda: TreeCRF(potentials="factored", transition_every=3, patience=3, **SMALL),
        points,
        5,
    ),
    "sampled trees": (lambda: TreeCRF(subsample=0.7, colsample=0.5, random_state=2, **SMALL), points, 2),
    "committee of trees": (lambda: TreeCRF(committee=3, subsample=0.8, **SMALL), points, 2),
    "trees by folds": (lambda: TreeCRF(early_stopping=3, patience=3, trim=0.1, **SMALL), points, 2),
    "kernel": (lambda: KernelCRF(n_cliques=9, cliques="vertex+edge"), points, 2),
    "kernels, dev set": (
        lambda: KernelCRF(["rbf", "linear"], turns="alternate", n_cliques=24, per_round=3, patience=3),
        points,
        5,
    ),
    "all cliques": (lambda: KernelCRF(n_cliques=None), points, 2),
    "another scale": (lambda: CRF(algorithm="lbfgs", c2=0.1, max_iterations=25), lengths, 2),
    "no feasible penalty": (
        lambda: ConstrainedCRF(c2="largest", max_outer=3, max_iterations=8, tol=1e-3),
        lengths,
        2,
    ),
    "order 2": (lambda: CRF(order=2, class_weight="balanced", max_iterations=12), letters, 2),
}


def trained(make, given, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some do not converge
        model = make().fit(*given, **more)
    file = io.BytesIO()
    model.save(file)
    return model, file.getvalue()


def history_of(model):
    return model.path_ if hasattr(model, "path_") else model.history_


def kill_after(monkeypatch, n):
    """Kill training after its n-th checkpoint; return a list with one entry per checkpoint."""
    written = []

    def write(*given):
        write_state(*given)
        written.append(None)
        if len(written) == n:
            raise Killed

    monkeypatch.setattr(module, "write_state", write)
    return written


@pytest.fixture(autouse=True)
def _stochastic_on_little_data(monkeypatch):
    monkeypatch.setattr(methods, "_STOCHASTIC_FROM", 20)


@pytest.mark.parametrize("name", CASES)
def test_killed_and_continued(name, tmp_path, monkeypatch):
    make, data, n = CASES[name]
    given, path = data()[:n], tmp_path / "part"
    written = kill_after(monkeypatch, 0)
    whole, expected = trained(make, given, checkpoint=Checkpoint(path, 0))
    assert trained(make, given)[1] == expected  # checkpoints change nothing
    n_written = len(written)
    assert n_written >= 4
    assert not path.exists()
    for kills in ([1, n_written // 2], [n_written - 1]):
        for after in kills:  # one after the other
            kill_after(monkeypatch, after)
            with pytest.raises(Killed):
                trained(make, given, checkpoint=Checkpoint(path, 0, resume=True))
            assert path.exists()
        kill_after(monkeypatch, 0)
        model, found = trained(make, given, checkpoint=Checkpoint(path, 0, resume=True))
        assert found == expected
        history, uninterrupted = history_of(model), history_of(whole)
        assert [record.keys() for record in history] == [record.keys() for record in uninterrupted]
        seconds = [record["seconds"] for record in history]
        assert name == "committee of trees" or seconds == sorted(seconds)
        assert not path.exists()


def test_another_number_of_threads(tmp_path, monkeypatch):
    X, y = letters()[:2]
    X, y = X * 8, y * 8  # so that there are two threads
    whole = CRF(n_jobs=1).fit(X, y)
    kill_after(monkeypatch, 12)
    with pytest.raises(Killed):
        CRF(n_jobs=2).fit(X, y, checkpoint=Checkpoint(tmp_path / "part", 0))
    model = CRF(n_jobs=1).fit(X, y, checkpoint=Checkpoint(tmp_path / "part", 0, resume=True))
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-6)


def test_partial_fit(tmp_path, monkeypatch):
    X, y = letters()[:2]
    first = CRF().fit(X[:20], y[:20])

    def copy():
        file = io.BytesIO()
        first.save(file)
        return CRF.load(file.getvalue())

    whole = copy().partial_fit(X[20:], y[20:])
    kill_after(monkeypatch, 3)
    with pytest.raises(Killed):
        copy().partial_fit(X[20:], y[20:], checkpoint=Checkpoint(tmp_path / "part", 0))
    with pytest.raises(InputError, match="another training: the training data differ"):
        CRF().partial_fit(X[20:], y[20:], checkpoint=Checkpoint(tmp_path / "part", resume=True))
    model = copy().partial_fit(X[20:], y[20:], checkpoint=Checkpoint(tmp_path / "part", resume=True))
    assert model.state_features_ == whole.state_features_


# ---- the file


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """Return the checkpoint of a training that was killed."""
    kill_after(monkeypatch, 3)
    with pytest.raises(Killed):
        CRF(c2=0.1).fit(*letters(), checkpoint=Checkpoint(tmp_path / "part", 0))
    monkeypatch.setattr(module, "write_state", write_state)
    return tmp_path / "part"


def test_other_settings_and_data_are_refused(stopped):
    X, y, _, X_dev, y_dev = letters()
    again = Checkpoint(stopped, resume=True)
    before = stopped.read_bytes()
    for estimator, given, words in [
        (CRF(c2=0.2, tol=1e-3), letters(), "another training: c2 was 0.1, now it is 0.2; tol was 1e-05, now"),
        (CRF(c2=0.1), (X[1:], y[1:], None, X_dev, y_dev), "the training data differ"),
        (CRF(c2=0.1), (X, [["A"] * len(s) for s in y], None, X_dev, y_dev), "the labels differ"),
        (CRF(c2=0.1), (X, y, np.full(len(X), 2.0), X_dev, y_dev), ": the training data differ. Train with"),
        (CRF(c2=0.1), (X, y, None, X_dev[1:], y_dev[1:]), "the dev data differ"),
        (CRF(c2=0.1), (X, y), "the dev data differ"),
    ]:
        with pytest.raises(InputError, match=words) as error:
            estimator.fit(*given, checkpoint=again)
        assert str(stopped) in str(error.value)
    assert stopped.read_bytes() == before
    CRF(c2=0.1, n_jobs=1, verbose=0).fit(*letters(), checkpoint=again)  # these two may change


def test_other_validation_sets_are_refused(tmp_path, monkeypatch):
    X, y = letters()[:2]
    kill_after(monkeypatch, 2)
    with pytest.raises(Killed):
        ConstrainedCRF().fit(X, y, groups=[0, 1] * 25, checkpoint=Checkpoint(tmp_path / "part", 0))
    with pytest.raises(InputError, match="the validation sets differ"):
        ConstrainedCRF().fit(
            X, y, groups=[0] * 25 + [1] * 25, checkpoint=Checkpoint(tmp_path / "part", resume=True)
        )


def test_another_version_is_refused(stopped):
    header, state = read_state(stopped)
    write_state(stopped, {**header, "version": "0.0.1"}, state)
    with pytest.raises(InputError, match=r"version was '0\.0\.1', now it is"):
        CRF(c2=0.1).fit(*letters(), checkpoint=Checkpoint(stopped, resume=True))


def test_a_file_that_is_there_is_not_overwritten(stopped):
    before = stopped.read_bytes()
    with pytest.raises(InputError, match=r"there is a file already.*resume"):
        CRF(c2=0.1).fit(*letters(), checkpoint=stopped)
    assert stopped.read_bytes() == before


def test_it_is_no_model(stopped, tmp_path):
    with pytest.raises(ModelFileError, match="got 'checkpoint of a training that has not ended'"):
        CRF.load(stopped)
    path = tmp_path / "model"
    X, y = letters()[:2]
    CRF().fit(X, y).save(path)
    with pytest.raises(ModelFileError, match="it holds no state of training"):
        CRF().fit(X, y, checkpoint=Checkpoint(path, resume=True))


def test_a_damaged_file_is_refused(stopped):
    content = stopped.read_bytes()
    for damaged in (content[:-1], content[:70] + b"\0" + content[71:], b""):
        stopped.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            CRF(c2=0.1).fit(*letters(), checkpoint=Checkpoint(stopped, resume=True))


def test_a_state_that_somebody_has_changed_is_refused(stopped):
    header, state = read_state(stopped)
    for key in state:
        without = {k: v for k, v in state.items() if k != key}
        for changed in (without, {**state, key: "x"}, {**state, key: []}):
            write_state(stopped, header, changed)
            with pytest.raises(ModelFileError, match="the state in the file is not that of such a training"):
                CRF(c2=0.1).fit(*letters(), checkpoint=Checkpoint(stopped, resume=True))
    for key in ("settings", "data"):
        write_state(stopped, {**header, key: None}, state)
        with pytest.raises(ModelFileError, match="lacks settings or fingerprints"):
            CRF(c2=0.1).fit(*letters(), checkpoint=Checkpoint(stopped, resume=True))


def test_a_path_alone_and_keep(tmp_path):
    X, y = letters()[:2]
    path = tmp_path / "part"
    CRF().fit(X, y, checkpoint=path)
    assert not path.exists()
    checkpoint = Checkpoint(str(path), 0, keep=True)
    model = CRF().fit(X, y, checkpoint=checkpoint)
    assert path.exists()
    assert CRF().fit(X, y, checkpoint=Checkpoint(path, resume=True)).objective_ == model.objective_
    checkpoint.remove()
    checkpoint.remove()


def test_it_stays_after_ctrl_c(tmp_path, monkeypatch):
    X, y = letters()[:2]
    written = []

    def write(*given):
        write_state(*given)
        written.append(None)
        if len(written) == 7:
            raise KeyboardInterrupt

    monkeypatch.setattr(module, "write_state", write)
    model = CRF(algorithm="lbfgs")
    with pytest.raises(KeyboardInterrupt, match="interrupted after 7 iterations"):
        model.fit(X, y, checkpoint=Checkpoint(tmp_path / "part", 0))
    assert model.predict(X[:1])
    assert (tmp_path / "part").exists()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written"):
        CRF().fit(*letters()[:2], checkpoint=tmp_path / "part")


def test_training_goes_on_without_room_for_a_checkpoint(tmp_path, monkeypatch):
    def write(*_):
        raise OSError(28, "No space left on device", str(tmp_path / "part"))

    X, y = letters()[:2]
    monkeypatch.setattr(module, "write_state", write)
    with pytest.warns(InputWarning, match="checkpoint could not be written: .*No space left.* after 0 min"):
        model = CRF(max_iterations=30, tol=1e-3).fit(X, y, checkpoint=Checkpoint(tmp_path / "part", 0))
    assert model.predict(X[:1])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"minutes": -1}, "minutes must be a number of at least 0, got -1"),
        ({"resume": "yes"}, "resume must be True or False"),
        ({"path": 3}, "checkpoint must be a path or a crfkit.Checkpoint, got int"),
        ({"path": "no/such/folder/part"}, "there is no directory"),
    ],
)
def test_wrong_use(given, words):
    with pytest.raises(InputError, match=words):
        CRF().fit(*letters()[:2], checkpoint=Checkpoint(**{"path": "part", **given}))


def test_the_estimator_stays_as_it_was(tmp_path):
    model = CRF()
    before = model.get_params()
    model.fit(*letters()[:2], checkpoint=tmp_path / "part")
    assert model.get_params() == before == clone(model).get_params()


def test_states_come_back_as_they_were(tmp_path):
    state = {
        "numbers": [1, 2.5, np.inf, -np.inf, None, True, "text"],
        "nested": {"a": np.arange(6.0).reshape(2, 3), "b": [np.array([], np.int32), {"c": np.float64(0.1)}]},
    }
    write_state(tmp_path / "state", {"model": "x"}, state)
    header, found = read_state(tmp_path / "state")
    assert header == {"model": "x"}
    assert found["numbers"] == state["numbers"]
    np.testing.assert_array_equal(found["nested"]["a"], state["nested"]["a"])
    assert found["nested"]["b"][0].dtype == np.int32
    assert found["nested"]["b"][1] == {"c": 0.1}


def test_fingerprints_tell_data_apart():
    a = np.arange(4)
    different = [
        a,
        a.reshape(2, 2),
        a.astype(np.int32),
        [a, a],
        [[a], a],
        ["ab"],
        ["a", "b"],
        None,
        0,
        0.0,
        "",
    ]
    assert len({fingerprint(data) for data in different}) == len(different)
    assert fingerprint([a, "x"]) == fingerprint((a.copy(), "x"))
    with pytest.raises(TypeError):
        fingerprint(object())
