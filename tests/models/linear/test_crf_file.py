"""The model file of a CRF: round trips, damage, memory mapping."""

import contextlib
import io
from dataclasses import replace

import numpy as np
import pytest
from model_files import rewritten, saved
from refusals import unreadable
from small_tasks import ADDRESSES, CASINO

from crfkit import CRF
from crfkit.exceptions import ModelFileError

X, Y = ADDRESSES


def test_numbers_of_numpy_are_plain_parameters():
    options = {"c2": np.float32(0.5), "max_iterations": np.int64(400), "warm_start": np.bool_(True)}
    crf = CRF(**options, class_weight="balanced", min_freq=2.5, random_state=7).fit(*CASINO)
    loaded = CRF.load(saved(crf))
    assert loaded.get_params() == crf.get_params()
    assert loaded.state_features_ == crf.state_features_
    assert loaded.transition_features_ == crf.transition_features_
    assert saved(loaded) == saved(crf)


def test_arrays(tmp_path):
    X = np.random.default_rng(0).normal(size=(6, 5, 3))
    y = np.where(X[..., 0] > 0, 1, 0).tolist()
    for c1 in (0.0, 5.0):
        crf = CRF(c1=c1).fit(X, y)
        loaded = CRF.load(saved(crf))
        assert loaded.predict(X) == crf.predict(X)
        assert len(loaded.tagger_.vocabulary) == 3
        with pytest.raises(ValueError, match="X has 2 columns, but 3 were expected"):
            loaded.predict(X[..., :2])


@pytest.mark.parametrize(("mmap", "holder"), [(True, "mmap"), (False, "ndarray"), (None, "ndarray")])
def test_arrays_are_views_of_the_mapped_or_read_file(tmp_path, mmap, holder):
    path = tmp_path / "model"
    CRF().fit(X, Y).save(path)
    tagger = CRF.load(path, mmap=mmap).tagger_
    for array in (
        tagger.weights.state,
        tagger.weights.edge,
        tagger.index.state_indptr,
        tagger.index.state_labels,
    ):
        assert not array.flags.owndata
        assert not array.flags.writeable
        base = array
        while isinstance(base, np.ndarray):
            base = base.base
        assert type(base.obj).__name__ == holder


def test_training_goes_on_from_a_loaded_model(tmp_path):
    X, y = CASINO
    crf = CRF(warm_start=True).fit(X[:20], y[:20])
    crf.save(tmp_path / "model")
    for train in ("fit", "partial_fit"):
        loaded = CRF.load(tmp_path / "model")
        here = CRF.load(saved(crf))
        getattr(loaded, train)(X, y)
        getattr(here, train)(X, y)
        assert loaded.state_features_ == here.state_features_
        loaded.save(tmp_path / "model2")  # over a new file while the old one is mapped
        loaded.save(tmp_path / "model")
        assert CRF.load(tmp_path / "model").predict(X) == loaded.predict(X)
        crf.save(tmp_path / "model")


def test_a_sparse_model_is_smaller_and_predicts_the_same():
    dense, sparse = CRF(c2=1.0).fit(X, Y), CRF(c1=1.0, c2=0.0).fit(X, Y)
    assert len(saved(sparse)) < len(saved(dense)) / 3
    assert (sparse.tagger_.weights.state != 0).all()
    assert len(sparse.tagger_.vocabulary) == len({name for name, _ in sparse.state_features_})
    assert CRF.load(saved(sparse)).predict(X) == sparse.predict(X)


def test_compacting_changes_no_score():
    from crfkit.models.linear.tagger import LinearTagger

    tagger = CRF().fit(X, Y).tagger_
    state = np.where(
        np.random.default_rng(0).random(len(tagger.weights.state)) < 0.8, 0, tagger.weights.state
    )
    thinned = LinearTagger(tagger.classes, tagger.encoder, tagger.index, replace(tagger.weights, state=state))
    small = thinned.compact()
    assert len(small.weights.state) == np.count_nonzero(state)
    a, b = (tagger.lattice(tagger.encode(X)) for tagger in (thinned, small))
    np.testing.assert_allclose(a.node, b.node, atol=1e-12)
    assert small.state_features() == thinned.state_features()
    nothing = LinearTagger(
        tagger.classes, tagger.encoder, tagger.index, replace(tagger.weights, state=0 * state)
    ).compact()
    assert len(nothing.vocabulary) == 0
    assert [len(labels) for labels in nothing.predict(X)] == [len(labels) for labels in Y]


def test_what_is_no_json_leaves_the_old_file(tmp_path):
    crf, path = CRF().fit(*CASINO), tmp_path / "model"
    path.write_bytes(b"old")
    unreadable("JSON", crf.save, path, record={"mine": float("nan")})
    assert path.read_bytes() == b"old"


def test_a_history_with_numbers_that_json_lacks_is_saved_without_them():
    crf = CRF().fit(*CASINO)
    crf.history_ = [{"objective": float("nan"), "dev_accuracy": [1.0, float("inf")]}]
    assert CRF.load(saved(crf)).history_ == [{"objective": None, "dev_accuracy": [1.0, None]}]


@pytest.fixture(scope="module")
def good():
    return saved(CRF(order=2, class_weight={"fake": 2.0}).fit(*CASINO))


HEADERS = [
    ("model", "hidden Markov model", "expected a linear-chain CRF, got 'hidden Markov model'"),
    ("model", None, "expected a linear-chain CRF"),
    ("classes", [], "labels are malformed"),
    ("classes", ["a", "a"], "labels are malformed"),
    ("classes", ["a", [1]], "labels are malformed"),
    ("classes", ["a", None], "labels are malformed"),
    ("classes", ["a", "b", "c"], "expected an array 'edge.weights'"),
    ("params", None, "training record is malformed"),
    ("history", {}, "training record is malformed"),
    ("history", [1], "training record is malformed"),
    ("objective", "small", "training record is malformed"),
    ("params", {"class_weight": [1, 2]}, "class weights are malformed"),
    ("params", {"class_weight": [[["x"], 1.0]]}, "class weights are malformed"),
    ("params", {"class_weight": [["x", "y"]]}, "class weights are malformed"),
]


@pytest.mark.parametrize(("key", "value", "message"), HEADERS)
def test_headers_that_lie(good, key, value, message):
    unreadable(message, CRF.load, rewritten(good, {key: value}))


def test_unknown_parameters_of_a_later_version_are_passed_over(good):
    later = rewritten(good, {"params": lambda params: {**params, "c3": 1}})
    assert CRF.load(later).order == 2


CHANGES = [
    ("state.indptr", lambda a: a[:-1]),
    ("state.indptr", lambda a: a.astype(np.int32)),
    ("state.indptr", lambda a: a[::-1]),
    ("state.indptr", lambda a: a + 1),
    ("state.labels", lambda a: a + 100),
    ("state.labels", lambda a: a - 100),
    ("state.labels", lambda a: a[:-1]),
    ("state.weights", lambda a: a[:-1]),
    ("state.weights", lambda a: a * np.nan),
    ("edge.weights", lambda a: a * np.inf),
    ("edge.weights", lambda a: a[:1]),
    ("edge.mask", lambda a: a.astype(np.uint8)),
    ("edge2.mask", lambda a: a[0]),
    ("edge2.weights", lambda a: a.astype(np.float32)),
    ("vocabulary.offsets", lambda a: a[:-1]),
    ("vocabulary.slots", lambda a: a[:-1]),
]


@pytest.mark.parametrize(("name", "change"), CHANGES, ids=range(len(CHANGES)))
def test_arrays_that_lie(good, name, change):
    with np.errstate(invalid="ignore"):
        content = rewritten(good, {name: change})
    with pytest.raises(ModelFileError):
        CRF.load(content)


@pytest.mark.parametrize(
    "name", ["state.indptr", "state.labels", "state.weights", "edge.mask", "edge2.mask", "vocabulary.slots"]
)
def test_arrays_that_are_missing(good, name):
    unreadable(name.split(".")[1], CRF.load, rewritten(good, {name: None}))


LIES = [
    (
        "vocabulary.slots",
        lambda a: np.random.default_rng(0).integers(0, 2**32, size=a.shape, dtype=np.uint32),
    ),
    ("vocabulary.offsets", lambda a: a[::-1]),
    ("vocabulary.offsets", lambda a: np.concatenate([a[:3], [2**62], a[4:]])),
    ("vocabulary.arena", lambda a: a[:-3]),
]


@pytest.mark.filterwarnings("ignore:X has no attribute that the model knows")
@pytest.mark.parametrize(("name", "change"), LIES, ids=range(len(LIES)))
def test_names_that_lie_never_crash(good, name, change):
    """Names are not checked on load: a wrong one is detected later, or finds nothing."""
    content = rewritten(good, {name: change})
    X, y = CASINO
    for use in (
        lambda crf: crf.predict(X),
        lambda crf: crf.state_features_,
        lambda crf: crf.partial_fit(X, y),
        lambda crf: crf.save(io.BytesIO()),
    ):
        with contextlib.suppress(ValueError):
            use(CRF.load(content))


def test_models_of_other_tools_load(tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    for x, labels in zip(X, Y, strict=True):
        trainer.append(x, labels)
    trainer.train(str(tmp_path / "other.crfsuite"))
    crf = CRF.load(tmp_path / "other.crfsuite")
    assert crf.get_params() == CRF().get_params()
    assert np.isnan(crf.objective_)
    assert crf.history_ == []
    found = crf.predict(X)
    with pycrfsuite.Tagger().open(str(tmp_path / "other.crfsuite")) as tagger:
        assert found == [tagger.tag(x) for x in X]
    crf.save(tmp_path / "own")  # an ordinary model from then on
    assert CRF.load(tmp_path / "own").predict(X) == found
    crf.partial_fit(X, Y)
    assert np.isfinite(crf.objective_)
