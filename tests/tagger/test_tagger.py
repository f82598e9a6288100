"""The native tagger against the batch path: models of every kind, the same answers."""

import math
import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from foreign_models import FILES, FOLDER
from hypothesis import given
from hypothesis import strategies as st

from crfkit import CRF, KernelCRF, Tagger, TreeCRF
from crfkit.data.columns import Columns
from crfkit.datasets import addresses, gaussian_mixtures
from crfkit.exceptions import InputError, ModelFileError
from crfkit.features import Features, column, token_features
from crfkit.mining import AssociationMiner
from crfkit.models.foreign import import_model

# Few iterations: nothing converges.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

TOKENS, LABELS = addresses(60, random_state=0)
ITEMS = [token_features(sentence) for sentence in TOKENS]
ROWS = [[[token, token[:1].upper()] for token in sentence] for sentence in TOKENS]
NUMBERS = [[{**dict.fromkeys(item, 1.0), "length": len(item) / 7} for item in items] for items in ITEMS]
TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,1]\nB01:%x[0,1]\nB"
PATTERNS = 'u:%x[0,0]\n*:%X[1,0]\nu:%t[0,0,"^\\u"]\nu:%m[-1,0,"\\d*$"]\nb'


def builder():
    word = column(0)
    return Features([word.lower(), word.suffix(3), word.shape(), word.lower()[-1], word.lower()[1]])


def small(**parameters):
    return CRF(**{"max_iterations": 8, **parameters})


def rules(use):
    return small(template="U00:%x[0,0]\nU01:%x[-1,0]\nB", associations=AssociationMiner(use=use))


MODELS = {  # model, X, whether X are tokens or rows
    "attributes": (lambda: small(), ITEMS, False),
    "values": (lambda: small(), NUMBERS, False),
    "order 2": (lambda: small(order=2), ITEMS, False),
    "attributes of pairs": (lambda: small(edge_attributes="bias"), ITEMS, False),
    "tokens": (lambda: small(extractor=token_features), TOKENS, True),
    "builder": (lambda: small(extractor=builder()), TOKENS, True),
    "template": (lambda: small(template=TEMPLATE), ROWS, True),
    "template of Wapiti": (lambda: small(template=PATTERNS), ROWS, True),
    "template, order 2": (lambda: small(template=TEMPLATE, order=2), ROWS, True),
    "rules as features": (lambda: rules("features"), ROWS, True),
    "weighted rules": (lambda: rules("weighted"), ROWS, True),
    "rules as constraints": (lambda: rules("constraints"), ROWS, True),
    "votes of rules": (lambda: rules("votes"), ROWS, True),
}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Return a function that gives a model by name, the tagger of its file, X, and whether X are tokens."""
    folder, made = tmp_path_factory.mktemp("models"), {}

    def get(name):
        if name not in made:
            estimator, X, tokens = MODELS[name]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                crf = estimator().fit(X, LABELS)
            crf.save(folder / f"{name}.crfkit")
            made[name] = crf, Tagger(folder / f"{name}.crfkit"), X, tokens
        return made[name]

    return get


@pytest.mark.parametrize("name", MODELS)
def test_equals_the_batch_path(fitted, name):
    crf, tagger, X, tokens = fitted(name)
    X = [[], *X, X[0] * 40]
    tag, analyse = (tagger.tag_tokens, tagger.analyse_tokens) if tokens else (tagger.tag, tagger.analyse)
    assert tagger.labels == list(crf.classes_)
    assert [tag(x) for x in X] == [list(labels) for labels in crf.predict(X)]
    for x, marginals, nbest in zip(X, crf.predict_marginals(X), crf.predict_nbest(X, 3), strict=True):
        found = analyse(x)
        assert len(found) == len(x)
        for ours, theirs in zip(found.marginals(), marginals, strict=True):
            assert ours == pytest.approx(theirs, abs=1e-12)
        assert [labels for labels, _ in found.nbest(3)] == [labels for labels, _ in nbest]
        assert [p for _, p in found.nbest(3)] == pytest.approx([p for _, p in nbest], abs=1e-12)
        assert found.probability() == pytest.approx(found.nbest(1)[0][1], abs=1e-12)
        assert found.probability(found.labels()) == found.probability()
        if x:
            label = found.labels()[0]
            assert found.marginal(label, 0) == found.marginals()[0][label]


@pytest.mark.parametrize("potentials", ["joint", "factored"])
@pytest.mark.parametrize("named", [False, True])
def test_trees(tmp_path, potentials, named):
    points, states = gaussian_mixtures(12, 8, random_state=0)
    X = [[[float(a), "low" if b < 0 else "high", None if a > 1 else 2] for a, b, *_ in x] for x in points]
    if named:
        X = [[dict(zip("abc", row, strict=True)) for row in x] for x in X]
    crf = TreeCRF(n_iterations=4, min_samples_leaf=1, potentials=potentials).fit(X, states)
    crf.save(tmp_path / "trees.crfkit")
    tagger = Tagger(tmp_path / "trees.crfkit")
    assert [tagger.tag(x) for x in X] == [list(labels) for labels in crf.predict(X)]
    for x, marginals in zip(X, crf.predict_marginals(X), strict=True):
        for ours, theirs in zip(tagger.analyse(x).marginals(), marginals, strict=True):
            assert ours == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("name", [path.stem for path in sorted(FOLDER.glob("*.answers"))])
def test_models_of_other_tools(name):
    tagger, batch = Tagger(FILES[name]), import_model(FILES[name])
    text = (FOLDER / f"{name}.answers").read_text(encoding="utf-8").strip()
    sentences = [[line.split()[:2] for line in sentence.split("\n")] for sentence in text.split("\n\n")]
    assert tagger.takes_tokens
    assert [tagger.tag_tokens(rows) for rows in sentences] == batch.predict(Columns.from_rows(sentences))


names = st.sampled_from(["bias", "w=a", "w=b", "größe", "never seen"])
numbers = st.floats(-3, 3) | st.booleans() | st.integers(-2, 2)
items = st.lists(names, max_size=4) | st.dictionaries(names, numbers | names, max_size=4)


@pytest.fixture(scope="module")
def small_model(tmp_path_factory):
    X = [[{"bias": 1, "w": "a"}, {"größe": 2.5, "w=b": True}], [["w=a", "bias"], ["w=b"]]] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        crf = small().fit(X, [["x", "y"], ["y", "x"]] * 3)
    path = tmp_path_factory.mktemp("small") / "model.crfkit"
    crf.save(path)
    return crf, Tagger(path)


@given(st.lists(items, max_size=5))
def test_any_items(small_model, sequence):
    crf, tagger = small_model
    assert tagger.tag(sequence) == list(crf.predict([sequence])[0])
    found = tagger.analyse(sequence).marginals()
    for ours, theirs in zip(found, crf.predict_marginals([sequence])[0], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-12)


def test_integer_labels_and_pickles(tmp_path):
    crf = small().fit([[["a"], ["b"]]] * 3, [[1, 2]] * 3)
    crf.save(tmp_path / "model.crfkit")
    tagger = Tagger(tmp_path / "model.crfkit")
    assert tagger.tag([["a"], ["b"]]) == [1, 2]
    assert pickle.loads(pickle.dumps(tagger)).labels == [1, 2]
    content = (tmp_path / "model.crfkit").read_bytes()
    assert Tagger(content).tag([["a"]]) == [1]
    assert Tagger(bytearray(content)).tag([["a"]]) == [1]
    assert repr(tagger) == "<Tagger of a crfkit model with 2 labels>"


def test_threads_share_a_tagger(fitted):
    _, tagger, X, _ = fitted("builder")
    expected = [tagger.tag_tokens(x) for x in X]
    wrong = []

    def work(seed):
        for i in np.random.default_rng(seed).integers(len(X), size=300).tolist():
            if tagger.tag_tokens(X[i]) != expected[i]:
                wrong.append(i)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong


def test_it_loads_no_numpy(fitted, tmp_path):
    crf, *_ = fitted("tokens")
    crf.save(tmp_path / "model.crfkit")
    code = (
        "import sys\nsys.modules['numpy'] = None\nfrom crfkit import Tagger\n"
        f"print(Tagger({str(tmp_path / 'model.crfkit')!r}).tag_tokens({TOKENS[0]!r}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{crf.predict(TOKENS[:1])[0]}\n"


def test_kernel_models_go_through_python(tmp_path):
    pytest.importorskip("scipy")
    points, states = gaussian_mixtures(12, 8, random_state=0)
    crf = KernelCRF(n_cliques=5, gamma=0.5, reg=1.0).fit(points, states)
    crf.save(tmp_path / "kernel.crfkit")
    for tagger in (Tagger(tmp_path / "kernel.crfkit"), Tagger((tmp_path / "kernel.crfkit").read_bytes())):
        tagger = pickle.loads(pickle.dumps(tagger))
        assert isinstance(tagger, Tagger)
        assert tagger.labels == list(crf.classes_)
        assert not tagger.takes_tokens
        assert repr(tagger) == f"<Tagger of a crfkit model with {len(crf.classes_)} labels>"
        assert [tagger.tag(x) for x in points[:4]] == [list(labels) for labels in crf.predict(points[:4])]
    found, x = tagger.analyse(points[0]), points[:1]
    assert len(found) == len(points[0])
    assert found.marginals() == crf.predict_marginals(x)[0]
    assert found.marginal(tagger.labels[0], 2) == found.marginals()[2][tagger.labels[0]]
    assert found.nbest(3) == crf.predict_nbest(x, 3)[0]
    assert found.nbest(3, log=True) == crf.predict_nbest(x, 3, log=True)[0]
    assert found.segments() == [tuple(segment) for segment in crf.predict_segments(x)[0]]
    best, probability = found.nbest(1)[0]
    assert found.probability(best) == pytest.approx(probability)
    assert math.exp(found.probability(best, log=True)) == pytest.approx(probability)
    assert found.score(best) >= found.score()
    for wrong in (lambda: tagger.tag_tokens(["a"]), lambda: found.score(["no label"] * len(found))):
        with pytest.raises(InputError):
            wrong()
    for wrong in (lambda: found.marginal(tagger.labels[0], 99), lambda: found.nbest(0)):
        with pytest.raises(InputError):
            wrong()
    damaged = bytearray((tmp_path / "kernel.crfkit").read_bytes())
    damaged[-5] ^= 1
    with pytest.raises(ModelFileError):
        Tagger(bytes(damaged))
