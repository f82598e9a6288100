"""Compiled feature programs make the attributes of the Python versions, to the byte."""

import unicodedata
from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.features.test_unicode_table import TRICKY
from tests.oracles.rendered_attributes import Renderer, in_python

from crfkit import _native
from crfkit.data.encode import encode
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, ModelFileError
from crfkit.features import (
    Features,
    TokenFeatures,
    bias,
    column,
    first,
    last,
    position,
    token,
    token_features,
)
from crfkit.features.builder.plan import plan
from crfkit.features.extraction import learn_extraction
from crfkit.features.program import FeatureProgram
from crfkit.features.program_code import Part, ProgramCode, number, real, step
from crfkit.features.sentences import read_blocks

pytestmark = pytest.mark.skipif(
    unicodedata.unidata_version != _native.UNICODE_VERSION, reason="Python has another version of Unicode"
)

WORDS = TRICKY | st.sampled_from(
    ["New", "York", "new york", "St.", "12", "1,5", "<s>", "</s2>", "\\<s>", "a|b", "\\", "", "3.5", "Σας"]
)
SETS = st.sampled_from(
    ["[.,;]", r"[^\w.]", "[0-9]", r"[\W]", "[aeiouA-Z]", r"[\s\d]", r"[^a-zà-ÿ\-]", r"[\]|\\]", "[-x]"]
)
CITIES = ["New York", "york", "New", ["St.", "12"], "straße", "ΣΑΣ"]


KINDS = (
    *("lower", "upper", "shape", "short_shape", "length", "prefix", "suffix", "skip", "casefold", "named"),
    *("reversed", "find", "member", "strip", "remove", "tail"),
)


@st.composite
def texts(draw):
    """Draw an extractor of texts."""
    text = token()
    for k in range(draw(st.integers(0, 3))):
        n, name = draw(st.integers(1, 4)), f"n{k}"
        kind = draw(st.sampled_from(KINDS))
        if kind in ("lower", "upper", "shape", "short_shape", "length"):
            text = getattr(text, kind)()
        elif kind in ("prefix", "suffix", "skip"):
            text = getattr(text, kind)(n)
        elif kind == "casefold":
            text = text.map(str.casefold, name)
        elif kind == "named":
            text = text.named(name)
        elif kind == "reversed":  # stays in Python
            text = text.map(lambda word: word[::-1] or None, name)
        elif kind == "find":
            text = text.find(r"\w+", name)
        elif kind == "member":
            text = text.member(CITIES, name, bio=True, ignore_case=draw(st.booleans()))
        elif kind == "strip":
            ends = {end: draw(st.booleans()) for end in ("left", "right", "keep_whole")}
            text = text.strip(draw(SETS), name, **ends)
        else:
            text = getattr(text, kind)(draw(SETS), name)
    return text


@st.composite
def flags(draw):
    """Draw a test."""
    text = draw(texts())
    flag = draw(
        st.sampled_from(
            [
                bias(),
                first(),
                last(),
                token().missing(),
                text.has(draw(SETS), "has"),
                text.only_has(draw(SETS), "only"),
                text.test(str.isdigit, "digit"),
                text.test(str.istitle, "title"),
                text.test(lambda word: len(word) > 2, "long"),
                text.matches(r"[a-z]+", "small"),
                text.member(CITIES, "city"),
            ]
        )
    )
    return ~flag if draw(st.booleans()) else flag


numbers = st.sampled_from(
    [
        position(),
        position(from_end=True),
        position().standardised(),
        token().length().number(),
        token().length().number().map(lambda x: x / 3, "third"),
    ]
)


@st.composite
def extractors(draw):
    """Draw an extractor of any kind, at any offset, in its own spelling or another."""
    kind = draw(st.sampled_from(["text", "flag", "number", "bin", "joined"]))
    if kind == "joined":
        parts = draw(st.lists(st.one_of(texts(), flags(), numbers), min_size=2, max_size=3))
        made = parts[0][draw(st.integers(-2, 2))]
        for part in parts[1:]:
            made = made & part[draw(st.integers(-2, 2))]
    elif kind == "bin":
        made = draw(numbers).binned(draw(st.sampled_from([[1.0], [0.5, 2.0, 3.0], 3])))
    else:
        made = draw({"text": texts(), "flag": flags(), "number": numbers}[kind])
    made = made[draw(st.integers(-3, 3))]
    return made.written_as(draw(st.sampled_from(["a:", "b=", "c"]))) if draw(st.integers(0, 4)) == 0 else made


sentences = st.lists(st.lists(WORDS, max_size=6), max_size=4)


def planned(some):
    """Return the extractors whose names do not clash."""
    kept = []
    for extractor in some:
        try:
            plan([*kept, extractor])
        except InputError:
            continue
        kept.append(extractor)
    return kept


def names_of(extraction, X):
    """Return the names of the attributes, as lists per sentence and position."""
    vocabulary = Vocabulary()
    sequences = extraction.encode(X, vocabulary, grow=True)
    names = vocabulary.strings()
    rows = [[names[i] for i in sequences.indices[a:b]] for a, b in pairwise(sequences.indptr.tolist())]
    return [rows[a:b] for a, b in pairwise(sequences.offsets.tolist())]


@given(st.lists(extractors(), max_size=5), sentences, st.booleans())
@settings(max_examples=300)
def test_the_same_attributes_as_in_python(some, X, padding):
    chosen = planned(some)
    features = Features(*chosen, padding=padding)
    try:
        made = features.fit_transform(X)
    except InputError:  # nothing to learn from
        return
    with in_python():
        renderer = Renderer(plan(chosen), features.learnt_, padding)
        expected = [s for block in read_blocks(X) for s in renderer.items(block, None)]
    assert made == expected


@given(sentences, st.integers(0, 3))
def test_token_features(X, window):
    expected = [token_features(sentence, window=window) for sentence in X]
    assert names_of(learn_extraction(TokenFeatures(window), X), X) == expected


def test_token_features_by_their_names():
    X = [["42", "Main", "St."]]
    for extractor in (token_features, TokenFeatures(), TokenFeatures(window=2)):
        assert names_of(learn_extraction(extractor, X), X) == [token_features(X[0])]
    with pytest.raises(InputError, match=r"window must be a whole number of 0 or more, got -1"):
        learn_extraction(TokenFeatures(-1), X)


@given(st.lists(extractors(), max_size=5), sentences)
@settings(max_examples=100)
def test_a_model_gets_what_transform_gives(some, X):
    """The ids of an extraction are those of the lists and dicts that ``transform`` makes."""
    features = Features(*planned(some))
    try:
        items = features.fit_transform(X)
    except InputError:
        return
    found, expected = Vocabulary(), Vocabulary()
    one = learn_extraction(features, X).encode(X, found, grow=True)
    other = encode(items, expected, grow=True)
    assert found.strings() == expected.strings()
    assert one.indices.tolist() == other.indices.tolist()
    assert one.indptr.tolist() == other.indptr.tolist()
    ones = [1.0] * one.indices.size
    assert (ones if one.values is None else one.values.tolist()) == (
        ones if other.values is None else other.values.tolist()
    )


def test_threads_do_not_change_the_ids():
    words = [f"w{i % 371}" for i in range(3000)]
    X = [words[i : i + 30] for i in range(0, 3000, 30)] * 5
    made = []
    for n_jobs in (1, 3):
        vocabulary = Vocabulary()
        sequences = learn_extraction(token_features, X).encode(X, vocabulary, grow=True, n_jobs=n_jobs)
        made.append((vocabulary.strings(), sequences.indices.tolist(), sequences.indptr.tolist()))
    assert made[0] == made[1]


@pytest.mark.parametrize("more", ["", "\u2003", "x", "e", "(1)"])
@pytest.mark.parametrize(
    "text", ["1", " 1.5 ", "１２", "1_000", "_1", "1__0", "+1", "-2e3", "nan", "NaN", "", " ", "inf", "1e999"]
)
def test_numbers_are_read_as_python_reads_them(text, more):
    cell = text + more
    numbers = Features(token().strip("[#]", "bare").number())
    try:
        value = float(cell) if cell.strip() else float("nan")
    except ValueError:
        value = float("inf")
    if value != value:
        assert numbers.transform([[cell]]) == [[{}]]
    elif value == float("inf"):
        place = r"sequence 0, position 0: column 0: expected a (finite )?number, got"
        with pytest.raises(InputError, match=place):
            numbers.transform([[cell]])
    else:
        assert numbers.transform([[cell]]) == [[{"w.bare": value}]]


def test_vectors_are_one_attribute_per_element():
    rows = [[{"v": [1.0, 0.0]}, {"v": np.array([2.0, 3.0])}, {"v": None}]]
    extraction = learn_extraction(Features(column("v").vector()[-1], column("v", "here").vector()), rows)
    expected = [["here:0"], ["v[-1]:0", "here:0", "here:1"], ["v[-1]:0", "v[-1]:1"]]
    assert names_of(extraction, rows) == [expected]
    with pytest.raises(InputError, match="sequence 1, position 0: column 'v': expected 2 numbers like"):
        extraction.encode([[{"v": [1, 2]}], [{"v": [1]}]], Vocabulary(), grow=True)


def test_products_that_are_too_large_are_named():
    x = column("x").number()
    extraction = learn_extraction(Features(x & x[-1]), [[{"x": 1.0}]])
    with pytest.raises(InputError, match=r"sequence 1, position 1: x\|x\[-1\]: expected a finite number"):
        extraction.encode([[{"x": 1}], [{"x": 1e200}, {"x": 1e200}]], Vocabulary(), grow=True)


# ---- damaged programs


def small_program() -> bytes:
    """Return a program with every kind of thing in it."""
    code = ProgramCode()
    word = code.node("input", number(code.input("text", 0, "tokens")))
    lower = code.node("step", number(word), step("lower"))
    city = code.node("phrases", number(lower), number(code.gazetteer([("new", "york"), ("bath",)], True)))
    place = code.node("place")
    code.node("bin", number(place), number(1) + real(2.0), b"\1<\1>")
    code.node("standardised", number(place), real(1.0), real(2.0))
    code.line(["w=", ""], [Part(lower, -1)], escape="borders")
    code.line(["c", ""], [Part(city, 0, shown=False)], [Part(place, 1)])
    return code.finish(["<s>"], ["</s>"])


@given(st.data())
@settings(max_examples=300)
def test_damaged_programs_are_refused_or_run(data):
    """No damage makes a program read outside of anything: it is refused with words, or it runs."""
    code = bytearray(small_program())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(code) - 1))
        change = data.draw(st.sampled_from(["set", "cut", "insert"]))
        if change == "set":
            code[place] = data.draw(st.integers(0, 255))
        elif change == "cut":
            del code[place]
        else:
            code.insert(place, data.draw(st.integers(0, 255)))
    try:
        program = FeatureProgram(bytes(code), stored=True)
        inputs = program.inputs
    except ModelFileError:
        return
    if any(one.kind == "vector" or one.key != 0 for one in inputs):
        return
    with suppress(InputError):
        program.run(program.read([["New", "York", "12"], []]), Vocabulary(), grow=True, n_jobs=1)


def test_what_damaged_programs_are_refused_for():
    whole = small_program()
    for code, problem in [
        (b"", "it is cut off"),
        (b"\7" + whole[1:], "it has version 7, this crfkit reads version 1; install a newer crfkit"),
        (whole[:-1], "it is cut off"),
        (whole + b"\0", "bytes follow its end"),
        (b"\1\xff\xff\xff\xff\x07", "it is cut off"),
        (b"\1\xff\xff\xff\xff\xff\xff", "it has a number that is too large"),
    ]:
        with pytest.raises(ModelFileError, match=f"^its feature program is damaged: {problem}$"):
            FeatureProgram(code, stored=True).inputs  # noqa: B018
    made_in_python = ProgramCode()
    made_in_python.input("text", 0, "w.bare", computed=True)
    assert FeatureProgram(made_in_python.finish()).inputs[0].computed
    with pytest.raises(ModelFileError, match="a Python function makes one of its inputs"):
        FeatureProgram(made_in_python.finish(), stored=True).inputs  # noqa: B018


def test_long_chains_of_steps():
    """Each step called the one before: a stored program of 100,000 steps ended the process."""

    def chained(n):
        code = ProgramCode()
        node = code.node("input", number(code.input("text", 0, "column 0")))
        for i in range(n):
            node = code.node("step", number(node), step("upper" if i % 2 else "lower"))
        code.line(["u=", ""], [Part(node, 0)])
        return code.finish((), ())

    program = FeatureProgram(chained(60_000))
    vocabulary = Vocabulary()
    program.run(program.read([["Ab", "aB"]]), vocabulary, grow=True, n_jobs=1)
    assert vocabulary.strings() == ["u=AB"]
    with pytest.raises(ModelFileError, match="it has 70001 nodes, at most 65536 are possible"):
        FeatureProgram(chained(70_000), stored=True).inputs  # noqa: B018
