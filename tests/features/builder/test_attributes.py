"""Attributes against a slow and simple oracle, and against templates."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.data import Columns
from crfkit.exceptions import InputError
from crfkit.features import Features, Template, bias, column, first, function, last, position, token
from crfkit.features import sentences as reading
from crfkit.features.shapes import full_shape, word_shape

WORD, POS = column(0, "w"), column(1, "pos")
SENTENCE = [("The", "DT"), ("2nd", "JJ"), ("dog", "NN")]


def made(*extractors, sentence=SENTENCE, **settings):
    (items,) = Features(*extractors, **settings).transform([sentence])
    return items


# ---- names and values


@pytest.mark.parametrize(
    ("extractor", "expected"),
    [
        (WORD, [["w=The"], ["w=2nd"], ["w=dog"]]),
        (WORD[0], [["w=The"], ["w=2nd"], ["w=dog"]]),
        (column(1), [["c1=DT"], ["c1=JJ"], ["c1=NN"]]),
        (column(-1, "tag"), [["tag=DT"], ["tag=JJ"], ["tag=NN"]]),
        (WORD[-1], [["w[-1]=<s>"], ["w[-1]=The"], ["w[-1]=2nd"]]),
        (WORD[2], [["w[2]=dog"], ["w[2]=</s>"], ["w[2]=</s2>"]]),
        (WORD[-2][1], [["w[-1]=<s>"], ["w[-1]=The"], ["w[-1]=2nd"]]),
        (WORD.lower(), [["w.lower=the"], ["w.lower=2nd"], ["w.lower=dog"]]),
        (WORD[1].lower(), [["w.lower[1]=2nd"], ["w.lower[1]=dog"], ["w.lower[1]=</s>"]]),
        (WORD.prefix(2), [["w.prefix2=Th"], ["w.prefix2=2n"], ["w.prefix2=do"]]),
        (WORD.lower().suffix(3), [["w.lower.suffix3=the"], ["w.lower.suffix3=2nd"], ["w.lower.suffix3=dog"]]),
        (POS.suffix(3), [[], [], []]),
        (WORD.shape(), [["w.shape=Xxx"], ["w.shape=9xx"], ["w.shape=xxx"]]),
        (WORD.short_shape(), [["w.short_shape=Xx"], ["w.short_shape=9x"], ["w.short_shape=x"]]),
        (WORD.matches("[a-z]+", "small"), [[], [], ["w.small"]]),
        (WORD.contains(r"\d", "digit")[1], [["w.digit[1]"], [], []]),
        (WORD.find(r"(\d)nd|e", "no"), [[], ["w.no=2"], []]),
        (WORD.find("[A-Z]", "cap"), [["w.cap=T"], [], []]),
        (WORD.test(str.isalpha, "alpha"), [["w.alpha"], [], ["w.alpha"]]),
        (WORD.map(len, "len"), [["w.len=3"], ["w.len=3"], ["w.len=3"]]),
        (WORD.map({"The": "det"}.get, "kind"), [["w.kind=det"], [], []]),
        (WORD.lower().suffix(1).named("end")[-1], [["end[-1]=<s>"], ["end[-1]=e"], ["end[-1]=d"]]),
        (WORD.lower().named("low").prefix(1), [["low.prefix1=t"], ["low.prefix1=2"], ["low.prefix1=d"]]),
        (
            WORD[1].named("next").lower(),
            [["next.lower[1]=2nd"], ["next.lower[1]=dog"], ["next.lower[1]=</s>"]],
        ),
        (WORD & POS, [["w|pos=The|DT"], ["w|pos=2nd|JJ"], ["w|pos=dog|NN"]]),
        (WORD[-1] & WORD, [["w[-1]|w=<s>|The"], ["w[-1]|w=The|2nd"], ["w[-1]|w=2nd|dog"]]),
        ((POS & WORD[1])[-1], [["pos[-1]|w=<s>|The"], ["pos[-1]|w=DT|2nd"], ["pos[-1]|w=JJ|dog"]]),
        (WORD.test(str.isalpha, "alpha") & POS, [["w.alpha|pos=DT"], [], ["w.alpha|pos=NN"]]),
        (first() & WORD.test(str.isalpha, "alpha"), [["first|w.alpha"], [], []]),
        (bias(), [["bias"], ["bias"], ["bias"]]),
        (first(), [["first"], [], []]),
        (last()[1], [[], ["last[1]"], []]),
        (position().binned([1, 2]), [["position.bin=<1"], ["position.bin=[1,2)"], ["position.bin=>=2"]]),
        (
            position(from_end=True).binned([1]),
            [["position.end.bin=>=1"], ["position.end.bin=>=1"], ["position.end.bin=<1"]],
        ),
    ],
    ids=repr,
)
def test_one_extractor(extractor, expected):
    assert made(extractor) == expected


@pytest.mark.parametrize(
    ("group", "names"),
    [
        (WORD.window(-1, 1), ["w[-1]=", "w=", "w[1]="]),
        (WORD.ngrams(2, -1, 1), ["w[-1]|w=", "w|w[1]="]),
        (POS.ngrams(3, -2, 0), ["pos[-2]|pos[-1]|pos="]),
        (WORD.prefixes(1, 2), ["w.prefix1=", "w.prefix2="]),
        (WORD.suffixes(2, 3)[-1], ["w.suffix2[-1]=", "w.suffix3[-1]="]),
        (WORD.prefixes(1, 2).window(0, 1), ["w.prefix1=", "w.prefix2=", "w.prefix1[1]=", "w.prefix2[1]="]),
        (WORD.window(-1, 0) & POS, ["w[-1]|pos=", "w|pos="]),
        (POS & WORD.window(-1, 0), ["pos|w[-1]=", "pos|w="]),
        (WORD.window(0, 1) & POS.window(0, 1), ["w|pos=", "w|pos[1]=", "w[1]|pos=", "w[1]|pos[1]="]),
        ((WORD & POS).ngrams(2, 0, 1), ["w|pos|w[1]|pos[1]="]),
    ],
    ids=repr,
)
def test_groups(group, names):
    assert Features(group).names == names
    assert len(group) == len(names)


def test_padding_is_a_choice():
    assert made(WORD[-1], WORD[-1] & WORD, padding=False) == [
        [],
        ["w[-1]=The", "w[-1]|w=The|2nd"],
        ["w[-1]=2nd", "w[-1]|w=2nd|dog"],
    ]


def test_offsets_beyond_the_sentence():
    items = Features(token()[-3], token()[3]).transform([["a"], [], ["b", "c"]])
    assert items == [
        [["w[-3]=<s3>", "w[3]=</s3>"]],
        [],
        [["w[-3]=<s3>", "w[3]=</s2>"], ["w[-3]=<s2>", "w[3]=</s3>"]],
    ]


def test_one_given_twice_counts_once():
    assert made(WORD, WORD.window(0, 0), [WORD]) == made(WORD)


# ---- no collisions


CELLS = [
    "",
    "a",
    "b",
    "=",
    "|",
    "\\",
    "a|b",
    "\\|",
    "<s>",
    "\\<s>",
    "\\\\<s>",
    "</s>",
    "<s2>",
    "w=a",
    "a|",
    "|a",
    "A1",
]


def shifted(value, offset):
    def at(sentence, t):
        k = t + offset
        if k < 0:
            return ("border", k)
        if k >= len(sentence):
            return ("border", k - len(sentence) + 1)
        return value(sentence[k])

    return at


TEXTS = [
    (WORD, lambda row: row[0]),
    (POS, lambda row: row[1]),
    (WORD.lower(), lambda row: row[0].lower()),
    (WORD.prefix(1), lambda row: row[0][0] if row[0] else None),
    (POS.suffix(2), lambda row: row[1][-2:] if len(row[1]) > 1 else None),
    (WORD.shape(), lambda row: full_shape(row[0])),
    (WORD.short_shape(), lambda row: word_shape(row[0])),
    (POS.map(lambda cell: cell + "|", "bar"), lambda row: row[1] + "|"),
]
FLAGS = [
    (WORD.contains("a", "a"), lambda row: True if "a" in row[0] else None),
    (POS.test(str.isalpha, "alpha"), lambda row: True if row[1].isalpha() else None),
]
MARKS = range(-2, 3)


@st.composite
def parts(draw):
    """Draw an extractor, and a slow reference function for its value at a position."""
    extractor, value = draw(st.sampled_from(TEXTS + FLAGS))
    offset = draw(st.sampled_from(MARKS))
    return extractor[offset], shifted(value, offset), any(extractor is flag for flag, _ in FLAGS)


@st.composite
def whole(draw):
    chosen = draw(st.lists(parts(), min_size=1, max_size=3))
    extractor = chosen[0][0]
    for other, _, _ in chosen[1:]:
        extractor = extractor & other

    def value(sentence, t, padding):
        values = []
        for _, at, is_flag in chosen:
            v = at(sentence, t)
            if v is None or (isinstance(v, tuple) and (is_flag or not padding)):
                return None
            values.append(v)
        return tuple(values)

    return extractor, value


rows = st.tuples(st.sampled_from(CELLS), st.sampled_from(CELLS))


@given(
    st.lists(whole(), min_size=1, max_size=6),
    st.lists(st.lists(rows, max_size=5), min_size=1, max_size=5),
    st.booleans(),
)
def test_attributes_are_the_oracles_one_to_one(chosen, sentences, padding):
    chosen = dict(chosen)  # one of each
    features = Features(*chosen, padding=padding)
    names = {}  # (extractor, values) -> attribute
    for sentence, items in zip(sentences, features.transform(sentences), strict=True):
        assert len(items) == len(sentence)
        for t, item in enumerate(items):
            expected = [(e, value(sentence, t, padding)) for e, value in chosen.items()]
            present = [pair for pair in expected if pair[1] is not None]
            assert len(item) == len(present)
            for pair, attribute in zip(present, item, strict=True):
                assert names.setdefault(pair, attribute) == attribute
    assert len(set(names.values())) == len(names)


@given(st.lists(st.lists(rows, max_size=4), max_size=8), st.integers(1, 6))
def test_blocks_make_no_difference(sentences, size):
    features = Features(WORD.window(-2, 2), WORD[-1] & POS, WORD.suffix(1), first(), position())
    expected = features.transform(sentences)
    usual, reading._BLOCK = reading._BLOCK, size
    try:
        assert features.transform(sentences) == expected
        assert list(features.stream(iter(sentences))) == expected
    finally:
        reading._BLOCK = usual
    assert [features.transform([sentence])[0] for sentence in sentences] == expected


@pytest.mark.parametrize(
    ("extractors", "message"),
    [
        (
            [column(0, "a"), column(1, "a")],
            "column(0, 'a') and column(1, 'a') would both make attributes called 'a'",
        ),
        ([column("w.lower"), column("w").lower()], "called 'w.lower'"),
        ([column("a|b"), column("a") & column("b")], "called 'a|b'"),
        ([column("a[-1]"), column("a")[-1]], r"called 'a[-1]'"),
        ([WORD.map(len, "x"), WORD.map(hash, "x")], "called 'w.x'"),
        ([column("n").number(), column(0, "n").number()], "called 'n'"),
        ([column("f"), function(lambda s, t: "", "f")], "called 'f'"),
        ([column("f:a"), function(lambda s, t: "", "f")], "begin with 'f:'"),
        ([column("v").vector(), column("v:0").number()], "begin with 'v:'"),
        ([function(lambda s, t: "", "v"), column("v").vector()], "called 'v'"),
        ([column("v").vector(), function(lambda s, t: "", "v")], "called 'v'"),
    ],
)
def test_names_that_would_collide(extractors, message):
    with pytest.raises(InputError) as caught:
        Features(*extractors)
    assert message in str(caught.value)
    assert "another name" in str(caught.value)


def test_text_and_number_of_one_column_do_not_collide():
    year = column("year")
    assert Features(year, year.number()).transform([[{"year": 1998}]]) == [
        [{"year=1998": 1.0, "year": 1998.0}]
    ]


def test_a_value_may_have_an_equals_sign():
    assert made(token(), sentence=["a=b"]) == [["w=a=b"]]


# ---- errors in the definition of extractors


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda: WORD[-1:2], r"for several write \.window"),
        (lambda: WORD["a"], "an offset must be a whole number, got 'a'"),
        (lambda: WORD.window(2, -2), "from the first offset to the last, got 2 and -2"),
        (lambda: WORD.ngrams(4, -1, 1), "fit into the window -1 to 1, got 4"),
        (lambda: WORD.prefix(0), "n must be 1 or more, got 0"),
        (lambda: WORD.prefixes(3, 1), "from the shortest to the longest, got 3 and 1"),
        (lambda: WORD.suffix(1.5), "whole number, got 1.5"),
        (lambda: WORD.matches("(", "x"), r"'\(' is not a regular expression"),
        (lambda: WORD.matches(b"a", "x"), "must be text"),
        (lambda: WORD.map("len", "x"), "expected a function, got 'len'"),
        (lambda: WORD.map(len, "a=b"), "must be text without '='"),
        (lambda: WORD.named(""), "must be text without '='"),
        (lambda: column("a=b"), "a column can have another name"),
        (lambda: column(1.0), "a column is a number or a name, got 1.0"),
        (lambda: column(0, ""), "must be text without '='"),
        (lambda: WORD.lower().missing(), r"missing\(\) is only for a column itself"),
        (lambda: column("v").vector() & WORD, "cannot be combined with others"),
        (lambda: Features("word"), r"got str 'word'"),
        (lambda: Features(dict), "got type"),
        (lambda: column("n").number().binned(1), "2 bins or more, got 1"),
        (lambda: column("n").number().binned([2, 1]), r"must be finite and increasing, got \[2, 1\]"),
        (lambda: column("n").number().binned("abc"), "a number of bins or a list of edges, got 'abc'"),
        (lambda: column("n").number().binned(True), "whole number, got True"),
    ],
)
def test_mistakes(write, message):
    refuses(message, write)


def test_an_extractor_is_no_sequence():
    """Otherwise Python would iterate over ``word[0]``, ``word[1]``, … forever."""
    with pytest.raises(TypeError):
        list(WORD)
    with pytest.raises(TypeError):
        _ = "a" in WORD
    with pytest.raises(TypeError):
        _ = WORD & "pos"
    with pytest.raises(TypeError):
        _ = WORD.window(0, 1) & "pos"


def test_equal_if_written_alike():
    assert column(0, "w").lower()[-1] == WORD[-1].lower()
    assert hash(column(0, "w").matches("a", "x")) == hash(WORD.matches("a", "x"))
    assert WORD != POS
    assert WORD.number() != WORD


# ---- templates

CHUNKING = (
    [f"U{k:02}:%x[{k - 2},0]" for k in range(5)]
    + ["U05:%x[-1,0]/%x[0,0]", "U06:%x[0,0]/%x[1,0]"]
    + [f"U{k + 10}:%x[{k - 2},1]" for k in range(5)]
    + [f"U{k + 17}:%x[{k},1]/%x[{k + 1},1]" for k in range(-2, 2)]
    + [f"U{k + 22}:%x[{k},1]/%x[{k + 1},1]/%x[{k + 2},1]" for k in range(-2, 1)]
)
AS_FEATURES = [
    WORD.window(-2, 2),
    WORD.ngrams(2, -1, 1),
    POS.window(-2, 2),
    POS.ngrams(2, -2, 2),
    POS.ngrams(3, -2, 2),
]


def same_partition(ours, theirs):
    """Check that two descriptions of the same positions are equal up to the names of attributes."""
    names = {}
    for mine, other in zip(itertools.chain(*ours), itertools.chain(*theirs), strict=True):
        assert len(mine) == len(other)
        for a, b in zip(mine, other, strict=True):
            assert names.setdefault(a, b) == b
    assert len(set(names.values())) == len(names)


letters = st.sampled_from("abcA")


@given(st.lists(st.lists(st.tuples(letters, letters), min_size=1, max_size=7), min_size=1, max_size=5))
def test_the_chunking_templates_of_crfpp(sentences):
    template = Template.parse("\n".join(CHUNKING))
    same_partition(Features(*AS_FEATURES).transform(sentences), [template.attributes(s) for s in sentences])


@given(st.lists(st.lists(st.tuples(letters, letters), min_size=1, max_size=7), min_size=1, max_size=5))
def test_the_chunking_templates_of_the_benchmarks(sentences):
    """As benchmarks/tasks.py applies them: no attributes outside the sentence."""
    pairs = [(c, (k,)) for c in (0,) for k in range(-2, 3)] + [(0, (-1, 0)), (0, (0, 1))]
    pairs += [(1, (k,)) for k in range(-2, 3)] + [(1, (k, k + 1)) for k in range(-2, 2)]
    pairs += [(1, (k, k + 1, k + 2)) for k in range(-2, 1)]
    expected = []
    for sentence in sentences:
        items = []
        for t in range(len(sentence)):
            item = [
                (c, ks, tuple(sentence[t + k][c] for k in ks))
                for c, ks in pairs
                if t + ks[0] >= 0 and t + ks[-1] < len(sentence)
            ]
            items.append(item + ["BOS"] * (t == 0) + ["EOS"] * (t + 1 == len(sentence)))
        expected.append(items)
    assert len(Features(*AS_FEATURES).names) == len(pairs) == 19
    same_partition(Features(*AS_FEATURES, first(), last(), padding=False).transform(sentences), expected)


def test_wapitis_tests_and_matches():
    template = Template.parse('u:1=%x[0,0]\nu:2=%m[0,0,"\\d\\d*"]\nu:3=%X[-1,0]', "wapiti")
    columns = Columns.from_rows([SENTENCE, [("A1b22", "X")]])
    theirs = [template.attributes(s) for s in columns]
    ours = Features(WORD, WORD.find(r"\d\d*", "n"), WORD.lower()[-1]).transform(columns)
    # If a pattern finds nothing, Wapiti makes an attribute with empty text; crfkit makes none.
    theirs = [[[a for a in item if a != "u:2="] for item in items] for items in theirs]
    same_partition(ours, theirs)
