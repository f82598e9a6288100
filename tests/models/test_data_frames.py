"""Training and prediction on one data frame, for every estimator and every library."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refuses

from crfkit import CRF, ConstrainedCRF, KernelCRF, TreeCRF, load
from crfkit.data.frames import TableRecord
from crfkit.exceptions import InputError, InputWarning, ModelFileError

WORDS = [["Ann", "sees", "2", "dogs"], ["Bob", "runs"], ["a", "dog", "sees", "Bob"]] * 6
TAGS = {"Ann": "NAME", "Bob": "NAME", "sees": "VERB", "runs": "VERB", "2": "NUM", "a": "DET"}
ESTIMATORS = {
    "CRF": lambda: CRF(c2=0.1),
    "ConstrainedCRF": lambda: ConstrainedCRF(c2=0.1, max_outer=2),
    "TreeCRF": lambda: TreeCRF(n_iterations=10, n_jobs=1),
    "KernelCRF": lambda: KernelCRF(n_cliques=12),
}
LIBRARIES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame),
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def frame(**more):
    rows = [(i, word, len(word), word[0].isupper()) for i, s in enumerate(WORDS) for word in s]
    made = pd.DataFrame(rows, columns=["sid", "word", "length", "capital"])
    made["kind"] = pd.Categorical(np.where(made.length > 2, "long", "short"))
    made["tag"] = [TAGS.get(word, "NOUN") for s in WORDS for word in s]
    made.index = np.arange(len(made)) * 3 + 7
    return made.assign(**more)


@every_estimator
@pytest.mark.parametrize("library", LIBRARIES)
def test_fit_and_predict(name, library):
    table = frame()
    given = LIBRARIES[library](table)
    model = ESTIMATORS[name]().fit(given, label="tag", sequence="sid")
    found = model.predict(given)
    values = found.to_list() if library != "arrow" else found.to_pylist()
    assert np.mean([a == b for a, b in zip(values, table.tag, strict=True)]) > 0.85
    if library == "pandas":
        assert isinstance(found, pd.Series)
        assert found.index.equals(table.index)
        assert found.name == "tag"
        assert model.score(given) == pytest.approx(np.mean(found == table.tag))
    else:
        assert type(found).__module__.split(".")[0] == {"polars": "polars", "arrow": "pyarrow"}[library]
    # Other columns and their order do not matter, labels need not be there.
    other = LIBRARIES[library](table[["kind", "capital", "length", "word", "sid"]].assign(more=1))
    again = model.predict(other)
    assert (again.to_list() if library != "arrow" else again.to_pylist()) == values


@every_estimator
def test_files_remember_the_table(name, tmp_path):
    model = ESTIMATORS[name]().fit(frame(), label="tag", sequence="sid")
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert type(loaded) is (CRF if name == "ConstrainedCRF" else type(model))
    assert loaded.table_ == model.table_
    pd.testing.assert_series_equal(loaded.predict(frame()), model.predict(frame()))


@every_estimator
def test_rows_of_a_sequence_may_be_anywhere(name):
    table = frame()
    model = ESTIMATORS[name]().fit(table, label="tag", sequence="sid")
    mixed = table.iloc[np.random.default_rng(0).permutation(len(table))]
    mixed = mixed.sort_values("sid", kind="stable")  # each sequence in another order would be another one
    expected = model.predict(mixed)
    spread = pd.concat([mixed[mixed.sid % 2 == 0], mixed[mixed.sid % 2 == 1]])
    assert model.predict(spread).to_dict() == expected.to_dict()


def test_missing_ids_mean_the_same_as_above():
    table = frame()
    sparse = table.assign(sid=table.sid.where(~table.sid.duplicated()))
    model = CRF().fit(table, label="tag", sequence="sid")
    same = CRF().fit(sparse, label="tag", sequence="sid")
    assert same.objective_ == model.objective_
    two = table.assign(doc=table.sid // 5, sent=table.sid % 5)
    assert (
        CRF().fit(two.drop(columns="sid"), label="tag", sequence=["doc", "sent"]).objective_
        == model.objective_
    )


def test_parameters_stay_what_they_were():
    model = CRF().fit(frame(), label="tag", sequence="sid")
    assert model.extractor is None
    assert "word=Ann" in {name for name, _ in model.state_features_}
    assert "table_" in vars(model)
    model.fit([[["a"]]], [["X"]])
    assert "table_" not in vars(model)


def test_templates_take_the_cells():
    table = frame()[["sid", "word", "kind", "tag"]]
    model = CRF(template="U0:%x[0,0]/%x[0,1]\nB\n").fit(table, label="tag", sequence="sid")
    assert (model.predict(table) == table.tag).mean() > 0.9
    refuses(
        "column 'length' holds numbers",
        CRF(template="U0:%x[0,0]\n").fit,
        frame(),
        label="tag",
        sequence="sid",
    )


@pytest.mark.parametrize("name", ["ConstrainedCRF", "TreeCRF", "KernelCRF"])
def test_a_column_of_groups_is_no_feature(name):
    table = frame(doc=np.arange(60) // 20)
    names = {"label": "tag", "sequence": "sid"}
    grouped = ESTIMATORS[name]().fit(table, **names, group="doc")
    assert "doc" not in grouped.table_.kinds
    assert "doc" in ESTIMATORS[name]().fit(table, **names).table_.kinds
    assert list(grouped.predict(table.drop(columns="doc"))) == list(grouped.predict(table))


def test_plain_text_with_a_model_of_a_frame(tmp_path):
    model = CRF(c2=0.1).fit(frame()[["sid", "word", "tag"]].replace("NOUN", "O"), label="tag", sequence="sid")
    spans = model.tag_text("Bob sees Ann")
    assert [(span.start, span.end, span.label) for span in spans] == [
        *((0, 3, "NAME"), (4, 8, "VERB"), (9, 12, "NAME"))
    ]
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").tag_text("Bob sees Ann") == spans


def test_groups_and_a_dev_set():
    table = frame(doc=[i // 3 for i, s in enumerate(WORDS) for _ in s])
    TreeCRF(n_iterations=4, early_stopping=3, n_jobs=1).fit(table, label="tag", sequence="sid", group="doc")
    ConstrainedCRF(max_outer=1).fit(table, label="tag", sequence="sid", group="doc")
    CRF(patience=2).fit(table, label="tag", sequence="sid", X_dev=table)
    split = table.assign(doc=range(len(table)))
    refuses(
        "several values in the column 'doc'",
        ConstrainedCRF().fit,
        split,
        label="tag",
        sequence="sid",
        group="doc",
    )


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda f: f, {"label": "Tag"}, "the table has no column 'Tag'; its columns are sid, word"),
        (lambda f: f, {"label": "tag", "sequence": "id"}, "the table has no column 'id'"),
        (lambda f: f, {"sequence": "sid"}, "needs label="),
        (lambda f: f[["sid", "tag"]], {"label": "tag", "sequence": "sid"}, "no column beside tag, sid"),
        (
            lambda f: f.assign(t=pd.Timestamp("2020")),
            {"label": "tag"},
            "column 't' holds values of type Datetime",
        ),
        (lambda f: f.assign(tag=None), {"label": "tag"}, "the column of the labels, 'tag', is empty"),
        (lambda f: f.assign(word=[["x"]] * len(f)), {"label": "tag"}, "column 'word'"),
        (lambda f: [1, 2], {"label": "tag"}, "go with one data frame .*, got list"),
    ],
)
def test_refusals(change, options, message):
    refuses(message, CRF().fit, change(frame()), **options)


@pytest.mark.parametrize("estimator", [CRF(), CRF(template="U0:%x[0,0]\n")])
def test_na_is_named(estimator):
    table = frame()[["sid", "word", "tag"]]
    table.iloc[4, 1] = np.nan
    message = "column 'word', row 4: the text is missing.*keep_default_na=False"
    refuses(message, estimator.fit, table, label="tag", sequence="sid")


def test_another_table():
    model = CRF().fit(frame(), label="tag", sequence="sid")
    refuses(
        "trained on a column 'word', but the table has no such column",
        model.predict,
        frame().drop(columns="word"),
    )
    refuses("column 'length': expected numbers, as in training", model.predict, frame(length="x"))


@pytest.mark.parametrize(
    ("column", "words"),
    [(lambda f: f.tag, "equals"), (lambda f: f.tag.str.lower(), "has one value for each of")],
)
def test_a_leak_is_named(column, words):
    table = frame()
    with pytest.warns(InputWarning, match=f"column 'leak' {words} the labels in 'tag'"):
        CRF().fit(table.assign(leak=column(table)), label="tag", sequence="sid")


def test_missing_numbers_and_categories():
    table = frame()
    table.loc[table.index[3], "length"] = np.nan
    table.loc[table.index[5], "kind"] = np.nan
    for name in ESTIMATORS:
        model = ESTIMATORS[name]().fit(table, label="tag", sequence="sid")
        assert model.predict(table).notna().all()


def test_malformed_records():
    record = TableRecord({"a": "number"}, "y", ("s",), {"a": (0.0, 1.0)}, {}).to_json()
    assert TableRecord.from_json(record).scales == {"a": (0.0, 1.0)}
    for key, value in [
        ("kinds", {"a": "x"}),
        ("kinds", 3),
        ("label", 1),
        ("sequence", [1]),
        ("scales", {"b": [0, 1]}),
    ]:
        with pytest.raises(ModelFileError, match="its record of the training table is malformed"):
            TableRecord.from_json({**record, key: value})
    with pytest.raises(InputError):
        CRF().fit(frame(), [["a"]], label="tag")
