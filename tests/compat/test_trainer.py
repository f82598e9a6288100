"""The trainer: its file, subclasses, data that cannot be used for training."""

import os
import stat
import tempfile

import pycrfsuite as original
import pytest
from crfsuite_training import fill
from refusals import refuses

import crfkit
from crfkit.compat import pycrfsuite
from crfkit.compat.pycrfsuite import CRFSuiteError, ItemSequence, Tagger, Trainer


def test_the_file_opens_in_the_original(diary, tmp_path):
    xseq, yseq = diary
    path = str(tmp_path / "модель.crfsuite")
    trainer = Trainer("lbfgs", {"c2": 1e-3}, verbose=False)
    trainer.append(xseq, yseq)
    trainer.train(path)
    theirs, ours = original.Tagger(), Tagger()
    theirs.open(path)
    ours.open(path)
    assert theirs.labels() == ours.labels() == ["hot", "mild", "дождь", ":"]  # in order of appearance
    assert theirs.tag(xseq) == ours.tag(xseq) == yseq
    assert theirs.info().attributes == ours.info().attributes
    assert "небо:серое" in ours.info().attributes


def test_sparse_models_hold_no_zeros(small, tmp_path):
    params = {"c1": 2.0, "c2": 0.0, "feature.possible_transitions": True}
    trainer = fill(Trainer(params=params, verbose=False), *small[:2])
    trainer.train(tmp_path / "model")
    theirs, ours = original.Tagger(), Tagger()
    theirs.open(str(tmp_path / "model"))
    ours.open(tmp_path / "model")
    n = trainer.logparser.last_iteration["active_features"]
    for info in (theirs.info(), ours.info()):
        assert len(info.transitions) + len(info.state_features) == n
        assert {name for name, _ in info.state_features} == set(info.attributes)
    assert f"Number of active features: {n} " in "".join(trainer.logparser.log)


def test_items_in_every_form_train_the_same_model(small, tmp_path):
    forms = [lambda x: x, ItemSequence, original.ItemSequence, lambda x: ItemSequence(x).items(), iter]
    models = []
    for form in forms:
        trainer = fill(Trainer(verbose=False), map(form, small[0]), small[1])
        trainer.train(tmp_path / "model")
        models.append((tmp_path / "model").read_bytes())
    assert all(model == models[0] for model in models)


def test_data_is_taken_when_it_is_given(tmp_path):
    item, labels = {"a": 1}, ["x"]
    trainer = Trainer(verbose=False)
    trainer.append([item, {"b": 1}], [*labels, "y"])
    item.clear()
    labels[0] = "z"
    trainer.train(tmp_path / "model")
    with Tagger().open(tmp_path / "model") as tagger:
        assert tagger.tag([["a"], ["b"]]) == ["x", "y"]


def test_train_again_and_clear(small, tmp_path):
    trainer = fill(Trainer(verbose=False), small[0][:1], small[1][:1])
    trainer.train(tmp_path / "one")
    trainer.train(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    trainer.clear()
    trainer.append([["a"], ["b"]], ["x", "y"])
    trainer.train(tmp_path / "one")
    with Tagger().open(tmp_path / "one") as tagger:
        assert tagger.labels() == ["x", "y"]


def test_an_empty_name_writes_nothing(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trainer = fill(Trainer(verbose=False), small[0][:1], small[1][:1])
    trainer.train("")
    assert os.listdir() == []
    assert trainer.logparser.storing_seconds is None
    assert trainer.logparser.iterations


def test_subclass_that_does_not_call_init(small, tmp_path):
    class Plain(Trainer):
        def __init__(self):
            self.mine = 1

    trainer = fill(Plain(), small[0][:1], small[1][:1])
    trainer.train(tmp_path / "model")
    assert trainer.verbose is None
    assert trainer.logparser.iterations


def test_an_exception_in_a_hook_comes_out(small, tmp_path):
    class StopError(Exception):
        pass

    class Impatient(Trainer):
        def on_iteration(self, log, info):
            raise StopError

    trainer = fill(Impatient(), small[0][:1], small[1][:1])
    with pytest.raises(StopError):
        trainer.train(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_base_trainer_passes_messages_on(small, tmp_path, capsys):
    trainer = fill(pycrfsuite.BaseTrainer("lbfgs", {"max_iterations": 1}), small[0][:1], small[1][:1])
    trainer.train(tmp_path / "model")
    assert "***** Iteration #1 *****" in capsys.readouterr().out


def test_features_of_attributes_given_as_false(tmp_path):
    """CRFsuite gives "caps" a weight for both labels, though it is true for one of them only."""
    X = [[{"caps": True, "w": "A"}, {"caps": False, "w": "b"}]] * 3
    models = []
    for module in (original, pycrfsuite):
        trainer = fill(module.Trainer(verbose=False), X, [["name", "other"]] * 3)
        trainer.train(str(tmp_path / "model"))
        with Tagger().open(tmp_path / "model") as tagger:
            models.append(tagger.info().state_features)
    assert models[0].keys() == models[1].keys()
    assert models[1]["caps", "other"] < -0.1
    assert models[1] == pytest.approx(models[0], abs=1e-3)
    assert ("caps", "other") not in crfkit.CRF().fit(X, [["name", "other"]] * 3).state_features_


def test_negative_values_are_not_lost(tmp_path):
    """The original drops attributes whose values sum to less than feature.minfreq, 0 by default."""
    X, y = [[{"cold": -2.0}, {"cold": 1.0}]] * 5, [["winter", "summer"]] * 5
    features = []
    for module in (original, pycrfsuite):
        trainer = fill(module.Trainer(params={"feature.minfreq": 1}, verbose=False), X, y)
        trainer.train(str(tmp_path / "model"))
        with Tagger().open(tmp_path / "model") as tagger:
            features.append(set(tagger.info().state_features))
    assert features[0] == {("cold", "summer")}
    assert features[1] == {("cold", "summer"), ("cold", "winter")}


def test_min_freq_adds_up_values(tmp_path):
    X = [[{"a": 0.4, "b": 2.5, "c": 0, "d": 1}], [{"a": 0.4, "c": 0, "d": 1}], [{"a": 0.4, "c": 0}]]
    X, y = [*X, [["z"]] * 9], [["x"], ["x"], ["x"], ["y"] * 9]
    for minfreq in (0, 0.5, 1, 1.2, 2, 2.5, 3):
        features = []
        for module in (original, pycrfsuite):
            trainer = fill(module.Trainer(params={"feature.minfreq": minfreq}, verbose=False), X, y)
            trainer.train(str(tmp_path / "model"))
            features.append(trainer.logparser.featgen_num_features)
        assert features[0] == features[1]


def test_one_label_one_item(tmp_path):
    trainer = Trainer(verbose=False)
    trainer.append([["a"]], ["x"])
    trainer.append([], [])
    trainer.train(tmp_path / "model")
    with Tagger().open(tmp_path / "model") as tagger:
        assert tagger.tag([["b"], []]) == ["x", "x"]
        assert tagger.tag([]) == []


def test_threads_do_not_change_the_labels(small, tmp_path):
    found = []
    for n_jobs in (1, 2):
        trainer = Trainer(verbose=False)
        trainer.n_jobs = n_jobs
        fill(trainer, *small[:2])
        trainer.train(tmp_path / "model")
        with Tagger().open(tmp_path / "model") as tagger:
            found.append([tagger.tag(xseq) for xseq in small[2]])
    assert found[0] == found[1]


# ---- bad data


@pytest.mark.parametrize(
    ("xseq", "yseq", "words"),
    [
        ([["a"], ["b"]], ["x"], "sequence 1: xseq has 2 items but yseq has 1 labels"),
        ([["a"]], ["x", "y"], "sequence 1: xseq has 1 items but yseq has 2 labels"),
        ([["a"]], "x", "sequence 1: yseq must be a list of labels, got str 'x'"),
        ([["a"]], [1], "sequence 1, position 0: a label must be a str here.*got int 1. Use str"),
        ([["a"]], [None], "a label must be a str"),
        ("a", ["x"], "sequence 1 takes a list of items.*got str 'a'"),
        ({"a": 1}, ["x"], "sequence 1 takes a list of items"),
        (["a"], ["x"], "sequence 1, position 0: an item must be a list"),
        ([["a"], {"b": float("nan")}], ["x", "y"], "sequence 1, position 1: feature 'b': expected a finite"),
    ],
)
def test_bad_sequences(xseq, yseq, words, tmp_path):
    trainer = Trainer(verbose=False)
    trainer.append([["a"], ["b"]], ["x", "y"])
    refuses(words, trainer.append, xseq, yseq)
    trainer.train(tmp_path / "model")  # the bad sequence has left no trace
    with Tagger().open(tmp_path / "model") as tagger:
        assert tagger.labels() == ["x", "y"]


def test_nothing_to_train_on(tmp_path):
    trainer = Trainer(verbose=False)
    with pytest.raises(CRFSuiteError, match="nothing to train on: call append") as caught:
        trainer.train(tmp_path / "model")
    assert isinstance(caught.value, ValueError)
    assert caught.value.code < 0
    trainer.append([], [])
    with pytest.raises(CRFSuiteError, match="every sequence is empty"):
        trainer.train(tmp_path / "model")
    trainer.append([["a"]], ["x"], 2)
    with pytest.raises(CRFSuiteError, match="every sequence is in the holdout group 2"):
        trainer.train(tmp_path / "model", holdout=2)
    with pytest.raises(CRFSuiteError, match=r"holdout group 3 has no items; there are the groups \[0, 2\]"):
        trainer.train(tmp_path / "model", holdout=3)
    refuses("holdout must be", trainer.train, tmp_path / "model", holdout="dev")
    assert not (tmp_path / "model").exists()


def test_values_too_large(tmp_path):
    trainer = Trainer(verbose=False)
    trainer.append([{"a": 1e300}, {"b": 1}], ["x", "y"])
    with pytest.raises(CRFSuiteError, match="too large to train on"):
        trainer.train(tmp_path / "model")


def test_interruption_writes_no_model(small, tmp_path):
    """As in python-crfsuite."""

    class Interrupted(Trainer):
        def message(self, message):
            super().message(message)
            if message == "***** Iteration #3 *****\n":
                raise KeyboardInterrupt

    trainer = fill(Interrupted(verbose=False), *small[:2])
    with pytest.raises(KeyboardInterrupt):
        trainer.train(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("item", "label", "file", "message"),
    [
        ("a\0b", "x", "m", "attribute 'a.x00b' holds a NUL"),
        ("a", "x\0", "m", "label 'x.x00' holds a NUL"),
        ("a", "x", "none/m", "there is no directory"),
    ],
)
def test_what_cannot_be_written_is_refused_before_training(item, label, file, message, tmp_path):
    trainer = Trainer(verbose=False)
    trainer.append([[item], ["b"]], [label, "y"])
    seen = []
    trainer.message = seen.append
    refuses(message, trainer.train, tmp_path / file)
    assert seen == []


def test_into_an_open_temporary_file(small):
    with tempfile.NamedTemporaryFile() as file:
        fill(Trainer(verbose=False), *small[:2]).train(file.name)
        assert file.read(4) == b"lCRF"
        assert stat.S_IMODE(os.stat(file.name).st_mode) == 0o600
