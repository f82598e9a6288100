"""SemiCRF: lengths, attributes of segments, boundaries, partial labels, parity with a chain, bad input."""

from itertools import pairwise

import numpy as np
import pytest
from model_files import rewritten, saved
from refusals import refuses, unreadable

import crfkit
from crfkit import CRF, SemiCRF
from crfkit.exceptions import NoPathError
from crfkit.features import Gazetteers
from crfkit.inference import SEGMENTATIONS, Constraints, Lattice, log_partition, marginals, scheme_constraints

WORDS = {"O": ["in", "of", "and"], "X": ["a", "b", "c"], "Y": ["a", "d", "c"]}


def sentences(n, seed=0, lengths=(1, 2, 3)):
    """Return sentences of words, with segments of X and Y whose words overlap."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words, labels = [], []
        for _ in range(int(rng.integers(1, 5))):
            kind = rng.choice(["O", "X", "Y"])
            size = 1 if kind == "O" else int(rng.choice(lengths))
            words += rng.choice(WORDS[kind], size).tolist()
            labels += ["O"] if kind == "O" else [f"B-{kind}", *[f"I-{kind}"] * (size - 1)]
        X.append([[word] for word in words])
        y.append(labels)
    return X, y


X, Y = sentences(40)


@pytest.fixture(scope="module")
def model():
    return SemiCRF(c2=0.3).fit(X, Y)


def test_without_weights_of_lengths_it_is_a_chain(model):
    """The same weights in a chain over B, I and O: the same log Z, marginals and best labels."""
    tagger = SemiCRF(c2=0.3).fit(X, Y).tagger_
    tagger.weights.lengths[:], tagger.weights.tail[:] = 0, 0  # the parts are views of the vector
    scores = next(tagger.pieces(X)).lattice
    codec, L = tagger.codec, tagger.codec.n_types
    C = len(codec.classes)
    begin, go_on = codec.class_of[:L], codec.class_of[L:]
    edge = np.full((C, C), -np.inf)
    for last in (go_on, begin):
        edge[np.ix_(last, begin)] = scores.edge
    start, longer = np.full(C, -np.inf), np.arange(L) != codec.background
    start[begin] = 0
    edge[begin[longer], go_on[longer]] = edge[go_on[longer], go_on[longer]] = 0
    node = np.empty((scores.n_positions, C))
    node[:, go_on], node[:, begin] = scores.node[:, L:], scores.node[:, :L]
    chain = Lattice(node, edge, scores.offsets, start=start)
    np.testing.assert_allclose(SEGMENTATIONS.log_partition(scores), log_partition(chain), rtol=1e-10)
    np.testing.assert_allclose(tagger.marginals(scores), marginals(chain).node, atol=1e-10)
    # and the weights of a CRF are those of a SemiCRF, as far as attributes go
    assert set(model.state_features_) == set(CRF().fit(X, Y).state_features_)


def test_lengths_have_weights(model):
    assert {length for kind, length in model.length_features_ if kind == "X"} == {1, 2, 3, None}
    assert {length for kind, length in model.length_features_ if kind == "O"} == {1}
    always_two = SemiCRF(c2=0.01).fit(*sentences(60, 1, lengths=(2,)))
    weights = always_two.length_features_
    assert weights["X", 2] > 1 > 0 > weights["X", 1]
    found = always_two.predict_segments([[["a"]] * 4])[0]
    assert [(s.start, s.stop) for s in found] == [(0, 2), (2, 4)]


def test_segments_longer_than_those_of_training(model):
    long = [[["b"]] * 9]  # three is the longest in training
    known = [["B-X", *["I-X"] * 8]]
    assert model.predict(long, known=known) == known  # by the tail
    short = SemiCRF(c2=0.3, longer="forbidden").fit(X, Y)
    assert max(s.stop - s.start for s in short.predict_segments(long)[0]) == 3
    with pytest.raises(NoPathError, match="no permitted segmentation of sequence 0"):
        short.predict(long, known=known)
    assert {length for _, length in short.length_features_} == {1, 2, 3}
    four = SemiCRF(c2=0.3, longer="forbidden", max_length=4).fit(X, Y)
    assert {length for kind, length in four.length_features_ if kind == "X"} == {1, 2, 3, 4}
    two = SemiCRF(c2=0.3, max_length=2).fit(X, Y)
    assert {length for kind, length in two.length_features_ if kind == "Y"} == {1, 2, None}
    at = next(i for i, labels in enumerate(Y) if "I-X I-X" in " ".join(labels))
    message = r"sequence 0, position \d+: a segment of 'X' has 3 positions, but max_length=2 .*longer='tail'"
    refuses(message, SemiCRF(longer="forbidden", max_length=2).fit, X[at:], Y[at:])


def test_runs_of_plain_labels():
    plain = [[label[-1] for label in labels] for labels in Y]
    model = SemiCRF(c2=0.3).fit(X, plain)
    assert model.classes_ == ["O", "X", "Y"]
    assert model.score(X, plain) > 0.8
    rows = model.predict_marginals(X[:3], as_arrays=True)
    np.testing.assert_allclose([row.sum() for array in rows for row in array], 1)
    for found in model.predict_segments(X):
        assert all(a.type != b.type for a, b in pairwise(found) if a.stop == b.start)
    tagged = SemiCRF(c2=0.3, scheme="runs").fit(X, Y)
    assert tagged.predict_segments(X[:1])[0][0].type in tagged.classes_
    again = SemiCRF.load(saved(tagged))
    assert again.predict_segments(X) == tagged.predict_segments(X)


def test_probabilities_of_segments_are_sums_over_labellings(model):
    x = [["a"], ["b"], ["in"], ["c"]]
    every = model.predict_nbest([x], 10_000)[0]
    assert sum(p for _, p in every) == pytest.approx(1)
    for start, stop, kind, p in model.predict_segments([x])[0]:
        labels = [f"B-{kind}", *[f"I-{kind}"] * (stop - start - 1)]
        having = sum(
            q for path, q in every if path[start:stop] == labels and path[stop : stop + 1] != [f"I-{kind}"]
        )
        assert p == pytest.approx(having)
    analysis = model.tagger_.analyse(x)
    assert analysis.probability() == pytest.approx(every[0][1])
    assert analysis.probability(["I-X", "O", "O", "O"]) == 0  # not legal


def test_partial_labels_sum_over_segmentations():
    """The likelihood of partial labels is the sum over the labellings that agree with them."""
    model = SemiCRF(c2=0.3).fit(X, Y)
    x, known = X[0][:4] + X[1][:1], ["B-X", None, {"I-X", "O"}, None, "O"]
    every = model.predict_nbest([x], 100_000)[0]

    def agrees(path):
        return all(
            label is None or one == label or (isinstance(label, set) and one in label)
            for one, label in zip(path, known, strict=True)
        )

    agreeing = sum(p for path, p in every if agrees(path))
    under = model.predict_nbest([x], 1, known=[known])[0][0]
    best = max((p, path) for path, p in every if agrees(path))
    assert under[0] == best[1]
    assert under[1] == pytest.approx(best[0] / agreeing)
    gaps = [[None if t % 3 == 1 else label for t, label in enumerate(labels)] for labels in Y]
    partly = SemiCRF(c2=0.3).fit(X, gaps)
    assert partly.score(X, Y) > 0.75


def test_labels_that_no_segmentation_has():
    y = [["B-X", {"I-X", "O"}, "I-X", "I-X"], ["B-X", "O", "B-Y", "O"]]
    x = [[["a"]] * 4] * 2
    message = "labels of sequence 0 fit no segmentation.*max_length"
    refuses(message, SemiCRF(longer="forbidden", max_length=3).fit, x, y)
    SemiCRF(longer="forbidden", max_length=4).fit(x, y)


def test_other_schemes():
    """Tags of IOBES are read; predictions have B, I and O, and scores know both."""
    other = crfkit.data.convert_labels(Y, "IOB2", "IOBES")
    model = SemiCRF(c2=0.3).fit(X, other, X_dev=X, y_dev=other)
    assert model.predict(X) == SemiCRF(c2=0.3).fit(X, Y, X_dev=X, y_dev=Y).predict(X)
    assert model.score(X, other) == model.score(X, Y) > 0.7
    table, flat = np.eye(4), np.array(["B-X", "E-X", "S-Y", "O"])  # labels of all positions in one array
    numbers = SemiCRF(c2=0.01).fit(table, flat, lengths=[2, 2])
    assert numbers.score(table, flat, lengths=[2, 2]) == 1
    assert str(model.calibrate(X, other).calibration_) == str(model.calibrate(X, Y).calibration_)


# ---- attributes of segments


def whole(items, begin, end):
    return ["".join(item[0] for item in items[begin:end])]


def test_attributes_of_whole_segments():
    """Only the whole tells the two labels apart: equal letters are X, different ones Y."""
    rng = np.random.default_rng(0)
    pieces = [["aa", "ab", "ba", "bb", "."][k] for k in rng.integers(5, size=200)]
    types = {"aa": "X", "bb": "X", "ab": "Y", "ba": "Y"}
    kinds = {".": ["O"]} | {piece: [f"B-{kind}", f"I-{kind}"] for piece, kind in types.items()}
    x = [[[letter] for piece in pieces[i : i + 5] for letter in piece] for i in range(0, 200, 5)]
    y = [[label for piece in pieces[i : i + 5] for label in kinds[piece]] for i in range(0, 200, 5)]
    model = SemiCRF(c2=0.05, segment_features=whole).fit(x, y)
    assert model.score(x, y) > 0.9 > 0.8 > SemiCRF(c2=0.05).fit(x, y).score(x, y)
    assert model.segment_features_["ab", "Y"] > 0.5
    assert set(model.segment_features_) == {*types.items(), (".", "O")}  # seen in training
    loaded = SemiCRF.load(saved(model), segment_features=whole)
    assert loaded.predict(x) == model.predict(x)
    unreadable(r"SemiCRF.load\(path, segment_features=…\)", SemiCRF.load, saved(model))
    numbers = SemiCRF(c2=0.05, segment_features=lambda s, a, b: {"n": (b - a) / 2}).fit(x, y)
    assert numbers.score(x, y) > 0.5
    silent = "no segment of the training data has an attribute"
    with pytest.warns(UserWarning, match=silent):
        SemiCRF(segment_features=lambda s, a, b: None).fit(x[:3], y[:3])


def test_gazetteers(tmp_path):
    """A list of names that training shows in part helps with the others; files hold the lists."""
    cities = ["New York", "Den Haag", "Paris", "San Jose", "Rome", "Los Angeles"]
    x = [["in", *city.split(), "and", "Foo", "Bar"] for city in cities]
    y = [["O", "B-LOC", *["I-LOC"] * city.count(" "), "O", "O", "O"] for city in cities]
    items = [[{"w": word, "upper": word[0].isupper()} for word in words] for words in x]
    lists = Gazetteers({"city": cities}, column="w")
    model = SemiCRF(c2=0.1, segment_features=lists).fit(items[:3], y[:3])
    assert model.predict(items) == y
    assert SemiCRF(c2=0.1).fit(items[:3], y[:3]).predict(items) != y
    model.save(tmp_path / "m")
    loaded = crfkit.load(tmp_path / "m")
    assert loaded.predict(items) == y
    assert repr(loaded.segment_features) == "<gazetteers: city: 6 phrases>"
    assert any("segment city" in str(d.reasons) for d in model.explain(items[3:4])[0])
    folded = Gazetteers({"a": ["NEW york", ["Rome"]], "b": ["rome"]}, ignore_case=True)
    assert list(folded.find(["New", "York", "rome"], 2)) == [(0, 2, ["a"]), (2, 3, ["a", "b"])]
    assert list(folded.find(["New", "York", "rome"], 1)) == [(2, 3, ["a", "b"])]
    refuses(
        "sequence 0: position 0: .*has no 0; pass Gazetteers", SemiCRF(segment_features=folded).fit, items, y
    )
    refuses("lists must be a dict", Gazetteers, ["Rome"])
    refuses("column must be", Gazetteers, {"a": ["b"]}, column=1.5)


def test_boundaries():
    """Breaks that no segment crosses, and where segments of a label may begin and end."""

    def bounds(items):
        places = [t for t, item in enumerate(items) if item[0] == "d"]
        return {"breaks": places, "starts": {"X": range(min(2, len(items)))}, "ends": {"Y": places}}

    def is_legal(x, labels):
        ends = [t for t, label in enumerate(labels) if label[-1] == "Y" and [*labels, "O"][t + 1] != "I-Y"]
        crossed = any(x[t][0] == "d" for t, label in enumerate(labels) if label[0] == "I")
        late = any(label == "B-X" for label in labels[2:])
        return not late and not crossed and all(x[t][0] == "d" for t in ends)

    data, y = sentences(300)
    legal = [i for i in range(300) if is_legal(data[i], y[i])]
    assert 20 < len(legal) < 200
    wrong = next(i for i in range(300) if i not in legal)
    chosen = [data[i] for i in legal], [y[i] for i in legal]
    message = f"labels of sequence {len(legal)} .*boundaries do not permit"
    refuses(message, SemiCRF(boundaries=bounds).fit, [*chosen[0], data[wrong]], [*chosen[1], y[wrong]])
    model = SemiCRF(c2=0.3, boundaries=bounds).fit(*chosen)
    for x, found in zip(X, model.predict_segments(X), strict=True):
        for start, stop, kind, _ in found:
            assert not any(x[t][0] == "d" for t in range(start + 1, stop))
            assert kind != "X" or start < 2
            assert kind != "Y" or x[stop - 1][0] == "d"
    loaded = SemiCRF.load(saved(model), boundaries=bounds)
    assert loaded.predict(X) == model.predict(X)
    unreadable(r"SemiCRF.load\(path, boundaries=…\)", SemiCRF.load, saved(model))
    for wrong, message in [
        (["breaks"], "must return a dict"),
        ({"breaks": [99]}, "positions must be a list of whole numbers from 0 to"),
        ({"ends": [0]}, "must be a dict of label to positions"),
    ]:
        refuses(f"sequence 0: .*{message}", SemiCRF(boundaries=lambda items, w=wrong: w).fit, X, Y)
    with pytest.warns(UserWarning, match="name the label 'Z', but segments have the labels O, X, Y"):
        SemiCRF(boundaries=lambda items: {"starts": {"Z": [0]}}).fit(X, Y)


# ---- constraints, settings, files


def test_constraints(model):
    C = len(model.classes_)
    legal = scheme_constraints(model.classes_, "IOB2")
    assert model.predict(X, constraints=legal) == model.predict(X)  # it never predicts anything else
    single = np.ones((C, C), bool)
    single[:, [c for c, name in enumerate(model.classes_) if name[0] == "I"]] = False
    found = model.predict(X, constraints=Constraints(transitions=single))
    assert not any(label[0] == "I" for labels in found for label in labels)
    pairs = np.ones((C, C), bool)
    for kind in "XY":
        at = model.classes_.index(f"I-{kind}")
        pairs[at, at] = False
    found = model.predict_segments(X, constraints=Constraints(transitions=pairs))
    assert max(s.stop - s.start for sequence in found for s in sequence) == 2
    only = np.array([name[-1] == "X" for name in model.classes_])
    found = model.predict(X, constraints=Constraints(starts=only, ends=only))
    assert all(labels[0] == "B-X" and labels[-1][-1] == "X" for labels in found)
    one_sided = only & np.array([name[0] == "B" for name in model.classes_])
    message = "ends treat 'X' differently after a segment of one position"
    refuses(message, model.predict, X, constraints=Constraints(ends=one_sided))
    triples = Constraints(transitions2=np.ones((C, C, C), bool))
    refuses("triples of labels", model.predict, X, constraints=triples)
    refuses("starts must have shape", model.predict, X, constraints=Constraints(starts=np.ones(2, bool)))
    refuses("leave out scheme=", model.predict_segments, X, scheme="runs")


def test_a_sparse_model_is_smaller(model):
    sparse = SemiCRF(c1=0.5, c2=0.0, last_attributes=True).fit(X, Y)
    assert len(sparse.state_features_) < len(model.state_features_)
    assert (sparse.tagger_.weights.state != 0).all()
    assert SemiCRF.load(saved(sparse)).predict(X) == sparse.predict(X)
    assert sparse.last_features_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_length": 0}, "max_length must be"),
        ({"longer": "cut"}, "longer must be"),
        ({"segment_features": 3}, "segment_features must be"),
        ({"boundaries": 3}, "boundaries must be"),
        ({"scheme": "BIOX"}, "scheme must be one of"),
        ({"scheme": 1}, "scheme must be None, 'runs'"),
        ({"segment_features": lambda s, a, b: 1 / 0}, "sequence 0: segment_features .*ZeroDivisionError"),
        ({"segment_features": lambda s, a, b: [1.5]}, "sequence 0: segment_features for the positions"),
        ({"min_freq": 1000}, "lower min_freq"),
    ],
    ids=range(9),
)
def test_bad_settings(settings, message):
    if "min_freq" in settings:
        with pytest.warns(UserWarning, match=message):
            SemiCRF(**settings).fit(X, Y)
        return
    refuses(message, SemiCRF(**settings).fit, X, Y)


def test_attributes_of_segments_need_the_input_itself(model):
    from crfkit.data.sequences import Encoded

    encoded = Encoded(model.tagger_.encoder.encode(X).sequences, model.tagger_.vocabulary)
    assert model.predict(encoded) == model.predict(X)
    refuses("segment_features and boundaries need X itself", SemiCRF(segment_features=whole).fit, encoded, Y)


def test_one_sequence_per_call(model):
    """``crfkit.Tagger`` takes its files, through Python."""
    tagger = crfkit.Tagger(saved(model))
    assert (tagger.labels, tagger.takes_tokens) == (model.classes_, False)
    assert [tagger.tag(x) for x in X[:5]] == model.predict(X[:5])
    assert tagger.analyse(X[0]).marginals() == model.predict_marginals(X[:1])[0]
    refuses("is a semi-Markov CRF that makes no attributes from tokens", tagger.tag_tokens, ["a"])
    words = [[item[0] for item in x] for x in X]
    lists = Gazetteers({"two": ["a b", "d"]})
    made = SemiCRF(extractor=crfkit.features.token_features, segment_features=lists).fit(words, Y)
    tagger = crfkit.Tagger(saved(made))
    assert tagger.takes_tokens
    assert [tagger.tag_tokens(one) for one in words[:5]] == made.predict(words[:5])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lengths.longest": lambda old: old + 1}, "its lengths are malformed"),
        ({"lengths.longest": lambda old: old * 0}, "its lengths are malformed"),
        ({"lengths.weights": None}, "expected an array 'lengths.weights'"),
        ({"edge.mask": lambda old: old[:1]}, "expected an array 'edge.mask'"),
        ({"state.ids": lambda old: old + 100}, "its feature index does not fit together"),
        ({"state.weights": lambda old: old + 1e10}, "it has weights above"),
        ({"tail.weights": None}, "expected an array 'tail.weights'"),
        ({"segments": None}, "its record of segments is malformed"),
        ({"segments": {"runs": True}}, "expected an array"),
        ({"segments": {"features": {"gazetteers": []}}}, "its attributes of segments are malformed"),
        ({"classes": ["B-X", "O"]}, "its labels are not those of segments"),
        ({"classes": ["B-X", "E-X", "O"]}, "is not 'O'"),
    ],
    ids=range(12),
)
def test_falsified_files(model, changes, message):
    unreadable(message, SemiCRF.load, rewritten(saved(model), changes))


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    rows = [
        (i, item[0], label)
        for i, (x, y) in enumerate(zip(X, Y, strict=True))
        for item, label in zip(x, y, strict=True)
    ]
    frame = pandas.DataFrame(rows, columns=["sentence", "word", "tag"])
    lists = Gazetteers({"short": ["a b", "d"]}, column="word")
    model = SemiCRF(c2=0.3, segment_features=lists).fit(frame, label="tag", sequence="sentence")
    assert model.score(frame) > 0.7
    assert ("short", "Y") in model.segment_features_
    assert len(model.predict(frame)) == len(frame)
