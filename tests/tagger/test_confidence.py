"""The native tagger on compact and calibrated models, and its segments, against the batch path."""

import io
import struct
import zlib

import numpy as np
import pytest
from model_files import rewritten

from crfkit import CRF, Tagger, TreeCRF
from crfkit.datasets import addresses
from crfkit.exceptions import InputError, ModelFileError
from crfkit.features import token_features
from crfkit.mining import AssociationMiner

# Few iterations: nothing converges.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

TOKENS, LABELS = addresses(60, random_state=0)
ITEMS = [token_features(sentence) for sentence in TOKENS]
ROWS = [[[token, token[:1]] for token in sentence] for sentence in TOKENS]
TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,1]\nB01:%x[0,1]\nB"

MODELS = {  # parameters, X, whether X are tokens or rows
    "attributes": ({}, ITEMS, False),
    "order 2": ({"order": 2}, ITEMS, False),
    "pairs": ({"edge_attributes": "bias"}, ITEMS, False),
    "tokens": ({"extractor": token_features}, TOKENS, True),
    "template": ({"template": TEMPLATE}, ROWS, True),
    "rules": ({"template": TEMPLATE, "associations": AssociationMiner(use="votes")}, ROWS, True),
}


def trained(name, y=LABELS):
    parameters, X, tokens = MODELS[name]
    return CRF(max_iterations=8, **parameters).fit(X, y), X, tokens


def content(model, **how):
    file = io.BytesIO()
    model.save(file, **how)
    return file.getvalue()


def check(model, tagger, X, tokens):
    """Compare all answers of the tagger with those of the estimator."""
    X = [[], *X[:20], X[0] * 30]
    analyses = [(tagger.analyse_tokens if tokens else tagger.analyse)(x) for x in X]
    assert [found.labels() for found in analyses] == model.predict(X)
    marginals, several, segments = (
        model.predict_marginals(X),
        model.predict_nbest(X, 3),
        model.predict_segments(X),
    )
    for i, found in enumerate(analyses):
        for row, expected in zip(found.marginals(), marginals[i], strict=True):
            assert row == pytest.approx(expected, abs=1e-10)
        assert [labels for labels, _ in found.nbest(3)] == [labels for labels, _ in several[i]]
        assert [p for _, p in found.nbest(3)] == pytest.approx([p for _, p in several[i]])
        assert found.probability(several[i][0][0]) == pytest.approx(several[i][0][1])
        assert [segment[:3] for segment in found.segments()] == [segment[:3] for segment in segments[i]]
        assert [p for *_, p in found.segments()] == pytest.approx([p for *_, p in segments[i]], abs=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_compact(name):
    model, X, tokens = trained(name)
    small = content(model, compact=True)
    check(CRF.load(small), Tagger(small), X, tokens)


@pytest.mark.parametrize("method", [None, "temperature", "isotonic"])
@pytest.mark.parametrize("name", ["order 2", "pairs", "tokens"])
def test_calibration(name, method):
    model, X, tokens = trained(name)
    raw = Tagger(content(model))
    model.calibrate(X[30:], LABELS[30:], method)
    tagger = Tagger(content(model))
    check(model, tagger, X, tokens)
    found = [(one.analyse_tokens if tokens else one.analyse)(X[0]) for one in (raw, tagger)]
    assert found[0].score() == found[1].score()
    assert (found[0].marginals() == found[1].marginals()) == (method is None)


def test_trees():
    pytest.importorskip("lightgbm")
    X = [[[float(len(token)), float(token.isdigit())] for token in sentence] for sentence in TOKENS]
    model = TreeCRF(n_iterations=5, n_jobs=1).fit(X, LABELS).calibrate(X, LABELS)
    check(model, Tagger(content(model)), X, False)


SCHEMES = {
    "IOB1": [["I-X", "I-X", "B-X", "O", "I-Y"], ["I-Y", "B-Y", "I-X", "O", "O"]],
    "IOE2": [["I-X", "E-X", "E-X", "O", "E-Y"], ["I-Y", "E-Y", "E-X", "O", "O"]],
    "IOBES": [["B-X", "E-X", "S-X", "O", "S-Y"], ["B-Y", "I-Y", "E-Y", "O", "S-X"]],
    "BILOU": [["B-X", "L-X", "U-X", "O", "U-Y"], ["B-Y", "I-Y", "L-Y", "O", "U-X"]],
    "brackets": [["[-X", "]-X", "I-X", ".-X", "O"], ["B-X", "O", "[-Y", "B", "I"]],
    "plain": [["City", "City", "O", "Street", "Street"], ["Street", "City", "City", "O", ""]],
    "integers": [[0, 0, 1, 2, 2], [1, 1, 0, 2, 0]],
    "hyphens": [["B-A-1", "I-A-1", "B-A-2", "O", "I-A-2"], ["O", "B-A-2", "I-A-2", "I-A-1", "O"]],
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("order", [1, 2])
def test_segments_of_every_scheme(scheme, order):
    """A weak model has labellings of all kinds."""
    rng = np.random.default_rng(0)
    y = SCHEMES[scheme] * 5
    X = [[[f"w{rng.integers(4)}"] for _ in labels] for labels in y]
    model = CRF(order=order, c2=0.01, max_iterations=20).fit(X, y)
    tagger = Tagger(content(model))
    texts = [[[f"w{rng.integers(5)}"] for _ in range(rng.integers(1, 9))] for _ in range(40)]
    for x, expected in zip(texts, model.predict_segments(texts), strict=True):
        found = tagger.analyse(x).segments()
        assert [segment[:3] for segment in found] == [segment[:3] for segment in expected]
        assert [p for *_, p in found] == pytest.approx([p for *_, p in expected], abs=1e-10)


def test_labels_without_segments():
    model = CRF(max_iterations=5).fit([[["a"], ["b"]]], [["B-X", "Street"]])
    with pytest.raises(InputError, match="the label 'Street' has no tag, but others have one"):
        Tagger(content(model)).analyse([["a"]]).segments()


DAMAGE = [
    {"compact": None},
    {"compact": {"state": 0.0}},
    {"compact": {"state": 1}},
    {"compact": {"pair": 1.0}},
    {"vocabulary.names": None},
    {"vocabulary.names": lambda a: a[:-1]},
    {"vocabulary.names": lambda a: np.append(a, np.uint8([0, 1, 255]))},
    {"vocabulary.names": lambda a: np.append(a, np.uint8([1, 0, 1, 0]))},
    {"vocabulary.names": lambda a: np.append(a, np.uint8([0, 255, 255, 255, 255, 9]))},
    {"state.rows": lambda a: np.append(a, np.uint8([0]))},
    {"state.weights": lambda a: a[:-1]},
    {"state.weights": lambda a: a.astype(np.float64)},
    {"calibration": None},
    {"calibration": {"temperature": 0}},
    {"calibration": {"temperature": "1"}},
    {"calibration": {"isotonic": [0.5]}},
    {"calibration": {"isotonic": {"tokens": [[0, 1], [1, 0]]}}},
    {"calibration": {"isotonic": {"segments": [[0, 1]]}}},
    {"calibration": {"isotonic": {"labellings": [[0], [0]]}}},
]


@pytest.mark.parametrize("change", DAMAGE, ids=range(len(DAMAGE)))
def test_damage_has_the_same_words(change):
    damaged = rewritten(content(trained("attributes")[0], compact=True), change)
    words = []
    for load in (CRF.load, Tagger):
        with pytest.raises(ModelFileError) as error:
            load(damaged)
        words.append(str(error.value).split(": ", 1)[1])
    assert words[0] == words[1]


@pytest.mark.parametrize("version", [0, 4])
def test_other_versions(version):
    file = bytearray(content(trained("attributes")[0]))
    struct.pack_into("<I", file, 8, version)
    struct.pack_into("<I", file, 60, zlib.crc32(file[:60]))
    words = []
    for load in (CRF.load, Tagger):
        with pytest.raises(
            ModelFileError, match=f"format version {version}, this crfkit reads versions 1 to 3"
        ) as error:
            load(bytes(file))
        words.append(str(error.value).split(": ", 1)[1])
    assert words[0] == words[1]
