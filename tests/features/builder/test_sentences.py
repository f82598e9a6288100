"""Sentences of every form give the same attributes; invalid ones give an error that names the place."""

from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from refusals import refuses

from crfkit import CRF
from crfkit.data import Columns
from crfkit.exceptions import InputError, InputWarning
from crfkit.features import Features, column, function, token, token_features
from crfkit.io import read_columns

WORDS = [["The", "dog"], ["It", "barks", "."], []]
TAGS = [["DT", "NN"], ["PRP", "VBZ", "."], []]
ROWS = [list(zip(words, tags, strict=True)) for words, tags in zip(WORDS, TAGS, strict=True)]
DICTS = [[{"w": w, "pos": p} for w, p in rows] for rows in ROWS]
Token = namedtuple("Token", "w pos")

BY_NUMBER = Features(column(0, "w"), column(1, "pos")[-1], column(0, "w") & column(-1, "pos"))
BY_NAME = Features(column("w"), column("pos")[-1], column("w") & column("pos"))
EXPECTED = [
    [["w=The", "pos[-1]=<s>", "w|pos=The|DT"], ["w=dog", "pos[-1]=DT", "w|pos=dog|NN"]],
    [
        ["w=It", "pos[-1]=<s>", "w|pos=It|PRP"],
        ["w=barks", "pos[-1]=PRP", "w|pos=barks|VBZ"],
        ["w=.", "pos[-1]=VBZ", "w|pos=.|."],
    ],
    [],
]


def frame(rows):
    return pd.DataFrame(rows, columns=["w", "pos"])


@pytest.mark.parametrize(
    "X",
    [
        pytest.param(ROWS, id="tuples"),
        pytest.param([[list(row) for row in rows] for rows in ROWS], id="lists"),
        pytest.param(tuple(map(tuple, ROWS)), id="nested tuples"),
        pytest.param([[Token(*row) for row in rows] for rows in ROWS], id="named tuples"),
        pytest.param([np.array(rows, dtype=object).reshape(-1, 2) for rows in ROWS], id="object arrays"),
        pytest.param([np.array(rows, dtype=str).reshape(-1, 2) for rows in ROWS], id="str arrays"),
        pytest.param([frame(rows) for rows in ROWS], id="frames"),
        pytest.param([frame(ROWS[0]), ROWS[1], ROWS[2]], id="mixed"),
    ],
)
def test_by_number(X):
    assert BY_NUMBER.transform(X) == EXPECTED


@pytest.mark.parametrize(
    "X",
    [
        pytest.param(DICTS, id="dicts"),
        pytest.param([[Token(*row) for row in rows] for rows in ROWS], id="named tuples"),
        pytest.param([[SimpleNamespace(w=w, pos=p) for w, p in rows] for rows in ROWS], id="objects"),
        pytest.param([frame(rows) for rows in ROWS], id="frames"),
        pytest.param(
            [{"w": words, "pos": tags} for words, tags in zip(WORDS, TAGS, strict=True)], id="columns"
        ),
        pytest.param(
            [{"w": np.array(w, dtype=object), "pos": p} for w, p in zip(WORDS, TAGS, strict=True)],
            id="arrays",
        ),
        pytest.param((iter(rows) for rows in DICTS), id="iterators"),
    ],
)
def test_by_name(X):
    assert BY_NAME.transform(X) == EXPECTED


def test_tokens():
    features = Features(token())
    assert features.transform(WORDS) == [[[f"w={w}"] for w in words] for words in WORDS]
    assert features.transform([np.array(["a", "b"])]) == [[["w=a"], ["w=b"]]]
    assert features.transform([]) == []
    assert features.transform([[], []]) == [[], []]


def test_one_table_with_lengths():
    rows = [row for sentence in ROWS for row in sentence]
    whole = frame(rows)
    for X in (rows, whole, whole.set_index("w", drop=False), np.array(rows)):
        assert BY_NUMBER.transform(X, lengths=[2, 3, 0]) == EXPECTED
    seen = Features(function(lambda s, t: f"{type(s).__name__}{len(s)}", "f"))
    assert seen.transform(whole, lengths=[5]) == [[["f=DataFrame5"]] * 5]
    assert seen.transform(rows, lengths=[1, 4])[1] == [["f=list4"]] * 4


def test_one_frame_with_a_sequence_column():
    whole = frame([row for sentence in ROWS for row in sentence])
    whole["sentence"] = ["b", "b", "a", "a", "a"]
    features = Features(*BY_NAME.extractors, sequence_column="sentence")
    assert features.transform(whole) == EXPECTED[:2]
    assert features.fit_transform(whole) == EXPECTED[:2]
    whole["sentence"] = ["b", "a", "b", "b", "b"]
    with pytest.raises(
        InputError, match="row 2: sequence 'b' begins again; the rows of a sequence must lie together"
    ):
        features.transform(whole)
    whole["sentence"] = ["b", None, "b", "b", "b"]
    refuses("row 1: the sequence column 'sentence' has no value", features.transform, whole)
    refuses("row 0: there is no column 'sentence', but 'w', 'pos'", features.transform, whole[["w", "pos"]])


def test_polars():
    polars = pytest.importorskip("polars")
    frames = [polars.DataFrame({"w": w, "pos": p}) for w, p in zip(WORDS[:2], TAGS[:2], strict=True)]
    assert BY_NAME.transform(frames) == EXPECTED[:2]
    assert BY_NAME.transform(polars.concat(frames), lengths=[2, 3]) == EXPECTED[:2]


def test_column_files(tmp_path):
    path = tmp_path / "chunks.txt"
    path.write_text("The DT\ndog NN\n\nIt PRP\nbarks VBZ\n. .\n", encoding="utf-8")
    columns = read_columns(path)
    assert isinstance(columns, Columns)
    assert BY_NUMBER.transform(columns) == EXPECTED[:2]
    assert Features(function(lambda s, t: s[t][1], "f")).transform(columns)[0] == [["f=DT"], ["f=NN"]]
    with pytest.raises(
        InputError, match=r"chunks\.txt:5: sequence 1, position 1: column 1: expected a number, got"
    ):
        Features(column(1).map(lambda tag: tag if tag == "VBZ" else "0", "x").number()).transform(columns)
    refuses(r"chunks\.txt: there is no column 2, but columns 0 to 1", Features(column(2)).transform, columns)
    assert Features(column(2, optional=True)).transform(columns[:1]) == [[[], []]]


def test_csv_files_have_names(tmp_path):
    from crfkit.io.csv_data import read_csv

    path = tmp_path / "chunks.csv"
    path.write_text("w,pos\nThe,DT\ndog,NN\n\nIt,PRP\nbarks,VBZ\n.,.\n", encoding="utf-8")
    assert BY_NAME.transform(read_csv(path)) == EXPECTED[:2]
    refuses(r"there is no column 'tag', but 'w', 'pos'", Features(column("tag")).transform, read_csv(path))


# ---- cells


def test_missing_cells_make_no_attribute():
    pos = column("pos")
    rows = [
        [{"pos": None}, {"pos": float("nan")}, {"pos": pd.NA}, {"pos": pd.NaT}, {"pos": ""}, {"pos": "NN"}]
    ]
    named = r"sequence 0, position 1: .*'pos'.* the text is missing, got nan.*keep_default_na=False"
    with pytest.warns(InputWarning, match=named):
        found = Features(pos, pos.lower() & pos, pos.missing()).transform(rows)
    assert found == [[["pos.missing"]] * 4 + [["pos=", "pos.lower|pos=|"], ["pos=NN", "pos.lower|pos=nn|NN"]]]
    frame = pd.DataFrame({"pos": ["a", None, np.nan]})
    with pytest.warns(InputWarning, match="keep_default_na=False"):
        assert Features(pos).transform([frame]) == [[["pos=a"], [], []]]
    meant = Features(column("pos", optional=True))  # a warning would be an error
    assert meant.transform([frame, [{"pos": None}]]) == [[["pos=a"], [], []], [[]]]


def test_missing_tokens_are_named():
    for gap in (float("nan"), pd.NA, None):
        for X in ([["a", gap]], [["a"], ["b", gap]]):
            with pytest.raises(InputError, match=r"position 1: the token is missing.*keep_default_na=False"):
                Features(token()).transform(X)
            with pytest.raises(InputError, match=r"position 1: the token is missing.*keep_default_na=False"):
                CRF(extractor=token_features).fit(X, [["A"] * len(x) for x in X])
        with pytest.raises(InputError, match=r"position 1: expected a word, got .*keep_default_na=False"):
            token_features(["a", gap])
    with pytest.raises(InputError, match=r"position 0: expected a word, got int 3$"):
        token_features([3])


def test_cells_that_are_no_text():
    X = [[(1,), (1.5,), (True,), (np.int64(3),), (np.str_("s"),), (np.float32(0.5),)]]
    texts = ["1", "1.5", "True", "3", "s", "0.5"]
    assert Features(column(0)).transform(X) == [[[f"c0={text}"] for text in texts]]
    assert Features(column(0)).transform([[(1,), (1.0,), (True,)]]) == [[["c0=1"], ["c0=1.0"], ["c0=True"]]]


def test_optional_columns():
    rows = [[{"w": "a", "x": "1"}, {"w": "b"}]]
    with pytest.raises(
        InputError, match=r"sequence 0, position 1: there is no column 'x', but 'w'; if it may be miss"
    ):
        Features(column("x")).transform(rows)
    features = Features(column("x", optional=True), column("x", optional=True).missing())
    assert features.transform(rows) == [[["x=1"], ["x.missing"]]]
    assert features.transform([pd.DataFrame({"w": ["a"]})]) == [[["x.missing"]]]
    assert Features(column(1, optional=True)).transform([[("a", "b"), ("c",)]]) == [[["c1=b"], []]]


# ---- input that is not a list of sentences


@pytest.mark.parametrize(
    ("X", "key", "message"),
    [
        ("The dog", 0, "X must be a list of sentences, got str"),
        (5, 0, "X must be a list of sentences, got int"),
        ({"w": ["a"]}, 0, "X must be a list of sentences, got dict"),
        (["The dog"], 0, "sequence 0: a sentence must be a list of tokens or rows, got the string 'The dog'"),
        ([["a"], 5], 0, "sequence 1: a sentence must be a list of tokens or rows, got int"),
        ([["a"], ["b"]], 1, "sequence 0, position 0: there is no column 1: the sentence is a list of tokens"),
        ([["a"], ["b"]], "w", "there is no column 'w': the sentence is a list of tokens, which are column 0"),
        (
            [[("a", "b")], [("a",)]],
            1,
            r"sequence 1, position 0: there is no column 1: the row has 1 cells, \('a',\)",
        ),
        (
            [[("a",), "b"]],
            0,
            "sequence 0, position 1: expected a row with columns like the others, got the string 'b'",
        ),
        ([[("a",), None]], 0, "sequence 0, position 1: there is no column 0: the row has no cells, None"),
        ([[{"w": "a"}]], 0, r"position 0: there is no column 0, but 'w'; name the column: column\('…'\)"),
        ([[{"w": "a"}, {}]], "w", "sequence 0, position 1: there is no column 'w'"),
        (
            [[["a"]]],
            "index",
            r"there is no column 'index' in a list; columns of lists and tuples have numbers",
        ),
        (
            [[["a"], ["b"], [["c"]]]],
            0,
            r"sequence 0, position 2: column 0: expected text or a number, got list \['c'\]",
        ),
        ([[[b"a"]]], 0, "got bytes b'a'; decode it first"),
        ([[[np.zeros(2)]]], 0, r"for a vector of numbers write \.vector\(\)"),
        ([{"w": ["a", "b"], "pos": ["c"]}], "w", "needs columns of one length, got {'w': 2, 'pos': 1}"),
        ([{"w": 5}], "w", "needs columns of one length, got {'w': int}"),
        ([{}], "w", "needs columns of one length"),
        ([np.zeros((2, 3))], 3, "sequence 0, position 0: there is no column 3: the array has columns 0 to 2"),
        ([np.zeros((2, 3, 1))], 0, r"sequence 0: expected an array \[T\] or \[T, columns\], got 3-D"),
        (np.zeros((2, 3)), 0, "a single 2-D array does not say where sequences end"),
        (
            pd.DataFrame({"w": ["a"]}),
            "w",
            "a single data frame does not say where sequences end: pass lengths",
        ),
        ([pd.DataFrame({"w": ["a"]})], "v", "sequence 0, position 0: there is no column 'v', but 'w'"),
        ([pd.DataFrame([["a", "b"]], columns=["w", "w"])], "w", "two columns called 'w'; rename one"),
    ],
)
def test_wrong_sentences(X, key, message):
    refuses(message, Features(column(key)).transform, X)


@pytest.mark.parametrize(
    ("X", "lengths", "message"),
    [
        (["a", "b"], [1], "lengths add up to 1 positions, but X has 2 rows"),
        (["a", "b"], [3, -1], "must not be negative"),
        ("ab", [2], "lengths goes with one data frame, array or list of rows, got str"),
    ],
)
def test_wrong_lengths(X, lengths, message):
    refuses(message, Features(token()).transform, X, lengths=lengths)


def test_wrong_sequence_columns():
    features = Features(token(), sequence_column="s")
    with pytest.raises(InputError, match="give lengths or sequence_column, not both"):
        features.transform(pd.DataFrame({"s": ["a"]}), lengths=[1])
    refuses("sequence_column goes with a single data frame, got list", features.transform, [["a"]])
