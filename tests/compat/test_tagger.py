"""The tagger on the original's model files: the same labels, probabilities, tables and dump."""

import pickle
import subprocess
import sys

import pycrfsuite as original
import pytest
from crfsuite_training import fill

import crfkit
from crfkit.compat.pycrfsuite import ItemSequence, Tagger


def trained(path, X, y, **params):
    trainer = fill(original.Trainer("lbfgs", {"max_iterations": 60, **params}, verbose=False), X, y)
    trainer.train(str(path))
    return str(path)


@pytest.fixture(scope="module")
def model(chunks, tmp_path_factory):
    """Train a model with the original."""
    X, y, *_ = chunks
    return trained(tmp_path_factory.mktemp("model") / "chunks.crfsuite", X, y, c1=0.05, c2=0.05)


@pytest.fixture
def pair(model):
    """Return our tagger and theirs, both open."""
    ours, theirs = Tagger(), original.Tagger()
    ours.open(model)
    theirs.open(model)
    return ours, theirs


def test_labels_and_probabilities(pair, chunks):
    ours, theirs = pair
    assert ours.labels() == theirs.labels()
    for xseq in chunks[2]:
        found = ours.tag(xseq)
        assert found == theirs.tag(xseq)
        assert ours.probability(found) == pytest.approx(theirs.probability(found), abs=1e-9)
    for xseq in chunks[2][:50]:
        ours.set(xseq)
        theirs.set(ItemSequence(xseq).items())
        assert ours.tag() == theirs.tag()
        for t in range(len(xseq)):
            for label in ours.labels():
                assert ours.marginal(label, t) == pytest.approx(theirs.marginal(label, t), abs=1e-9)
        flat = [ours.labels()[0]] * len(xseq)
        assert ours.probability(flat) == pytest.approx(theirs.probability(flat), abs=1e-9)


@pytest.mark.parametrize(
    "form", [list, ItemSequence, original.ItemSequence, iter, lambda x: ItemSequence(x).items()]
)
def test_forms_of_a_sequence(pair, chunks, form):
    ours, theirs = pair
    for xseq in chunks[2][:5]:
        assert ours.tag(form(xseq)) == theirs.tag(xseq)


def test_lists_of_names(pair, chunks):
    ours, theirs = pair
    for xseq in chunks[2][:20]:
        names = [list(item) for item in ItemSequence(xseq).items()]
        assert ours.tag(names) == theirs.tag(names)
        assert ours.tag([dict.fromkeys(item).keys() for item in names]) == theirs.tag(names)


def test_odd_sequences(pair):
    ours, theirs = pair
    for xseq in ([], [[]], [{}, {}, {}], [["never seen"]], [{"bias": 100}], [{"bias": -3.5}] * 500):
        assert ours.tag(xseq) == theirs.tag(xseq)
        found = theirs.tag(xseq)
        assert ours.probability(found) == pytest.approx(theirs.probability(found), abs=1e-9)


def test_large_scores(pair):
    """The original's exponentials overflow here."""
    ours, theirs = pair
    assert ours.tag([{"bias": 1e6}]) == theirs.tag([{"bias": 1e6}])
    assert ours.probability(ours.tag()) == pytest.approx(1.0)


def test_info(pair):
    ours, theirs = (tagger.info() for tagger in pair)
    assert ours.header == theirs.header
    assert ours.labels == theirs.labels
    assert ours.attributes == theirs.attributes
    assert list(ours.transitions) == list(theirs.transitions)
    assert list(ours.state_features) == list(theirs.state_features)
    assert ours.transitions == pytest.approx(theirs.transitions, abs=1e-6)  # theirs are read from the dump
    assert ours.state_features == pytest.approx(theirs.state_features, abs=1e-6)


def test_dump(pair, tmp_path, capfd):
    ours, theirs = pair
    ours.dump(tmp_path / "ours")
    theirs.dump(str(tmp_path / "theirs"))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    ours.dump()
    assert capfd.readouterr().out == (tmp_path / "theirs").read_text(encoding="utf-8")


def test_open_in_memory_and_pickle(model, pair, chunks):
    with open(model, "rb") as file:
        data = file.read()
    with Tagger().open_inmemory(data) as tagger:
        copy = pickle.loads(pickle.dumps(tagger))
        for xseq in chunks[2][:10]:
            assert tagger.tag(xseq) == copy.tag(xseq) == pair[1].tag(xseq)
        assert tagger.info().header == copy.info().header == pair[1].info().header


def test_labels_and_names_of_all_sorts(diary, tmp_path):
    xseq, yseq = diary
    path = trained(tmp_path / "diary", [xseq], [yseq])
    ours, theirs = Tagger(), original.Tagger()
    ours.open(path)
    theirs.open(path)
    assert ours.tag(xseq) == theirs.tag(xseq)
    assert ours.labels() == theirs.labels()
    for t in range(len(xseq)):
        for label in yseq:
            assert ours.marginal(label, t) == pytest.approx(theirs.marginal(label, t), abs=1e-9)
    assert ours.marginal(b":", 0) == ours.marginal(":", 0)


def test_crfkits_own_models(chunks, tmp_path):
    X, y, X_test, _ = (part[:50] for part in chunks)
    crf = crfkit.CRF(max_iterations=1000).fit(X, y)
    crf.save(tmp_path / "model.crfkit")
    with Tagger().open(tmp_path / "model.crfkit") as tagger:
        assert [tagger.tag(xseq) for xseq in X_test] == crf.predict(X_test)
        info = tagger.info()
        assert info.state_features == crf.state_features_
        assert info.transitions == crf.transition_features_
        assert int(info.header["size"]) == (tmp_path / "model.crfkit").stat().st_size
        assert int(info.header["num_attrs"]) == len(info.attributes)
        tagger.dump(tmp_path / "dump")
    second = crfkit.CRF(order=2, c2=1.0).fit(X, y)
    second.save(tmp_path / "model.crfkit")
    with Tagger().open(tmp_path / "model.crfkit") as tagger:
        assert tagger.tag(X[0]) == second.predict(X[:1])[0]
        with pytest.raises(RuntimeError, match="cannot show"):
            tagger.info()


# ---- errors


def test_not_open(model):
    ours = Tagger()
    with ours.open(model) as tagger:
        assert tagger is ours
        assert tagger.labels()
    for tagger in (ours, Tagger()):
        for ask in (
            tagger.labels,
            tagger.info,
            tagger.dump,
            tagger.tag,
            lambda tagger=tagger: tagger.tag([["a"]]),
            lambda tagger=tagger: tagger.set([["a"]]),
            lambda tagger=tagger: tagger.probability(["a"]),
            lambda tagger=tagger: tagger.marginal("a", 0),
        ):
            with pytest.raises(ValueError, match="the tagger is not open"):
                ask()
        with pytest.raises(RuntimeError, match="the tagger is not open"):
            tagger.info()
        tagger.close()


def test_no_sequence_yet(pair):
    ours, _ = pair
    for ask in (ours.tag, lambda: ours.probability([]), lambda: ours.marginal("O", 0)):
        with pytest.raises(ValueError, match="there is no sequence yet"):
            ask()


def test_questions_that_do_not_fit(pair):
    ours, _ = pair
    ours.set([["a"], ["b"]])
    with pytest.raises(ValueError, match="has 2 items, but yseq has 1 labels"):
        ours.probability(["O"])
    with pytest.raises(ValueError, match=r"positions 0\.\.1, not 2"):
        ours.marginal(ours.labels()[0], 2)
    with pytest.raises(ValueError, match="not -1"):
        ours.marginal(ours.labels()[0], -1)
    for ask in (lambda: ours.marginal("no such", 0), lambda: ours.probability(["no such"] * 2)):
        with pytest.raises(RuntimeError, match="the model has no label 'no such'; it has '"):
            ask()


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("foo", "a sequence is a list of items"),
        (["foo"], "position 0: an item must be a list of attribute strings or a dict, got str 'foo'"),
        ([["a"], [{"foo": 1.0}]], "position 1: an attribute in a list must be str or bytes"),
        ([{"foo": float("inf")}], "position 0: feature 'foo': expected a finite number"),
    ],
)
def test_bad_sequences(pair, bad, words):
    with pytest.raises(ValueError, match=f"^{words}"):
        pair[0].tag(bad)


def test_files_that_are_none(tmp_path):
    tagger = Tagger()
    with pytest.raises(FileNotFoundError):
        tagger.open(tmp_path / "nothing")
    for content in (b"foo", b"lCRFfoo", b"lCRFfoo" * 100, b""):
        (tmp_path / "model").write_bytes(content)
        with pytest.raises(ValueError, match=r"."):
            tagger.open(tmp_path / "model")
        with pytest.raises(ValueError, match=r"."):
            tagger.open_inmemory(content)
    with pytest.raises(ValueError, match="takes the bytes of a model file, got str"):
        tagger.open_inmemory("model")
    with pytest.raises(ValueError, match="not open"):
        tagger.labels()


def test_tagging_loads_nothing_heavy(model):
    code = (
        "import sys\n"
        "from crfkit.compat import pycrfsuite\n"
        f"with pycrfsuite.Tagger().open({model!r}) as tagger: tagger.tag([['a'], ['b']])\n"
        "print(*(name for name in ('sklearn', 'scipy', 'pandas', 'tqdm') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
