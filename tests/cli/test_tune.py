"""``crfkit tune``: the same as in Python, templates, groups, kinds of model, and what is refused."""

import pytest

from crfkit.cli.default_template import default_template
from crfkit.io.columns import read_columns
from crfkit.model_selection import tune
from crfkit.models.linear.crf import CRF

FEW = ("--folds", 2, "--candidates", 2)


def test_the_best_model_is_written(run, folder, tmp_path):
    model = tmp_path / "best.crfkit"
    ran = run.ok("tune", folder / "train.txt", "-m", model, *FEW)
    assert ran.out == ""
    assert "default features: words in column" in ran.err
    assert "segment F1" in ran.err
    assert "as given" in ran.err
    assert "slightly optimistic" in ran.err
    assert "FB1" in run.ok("tag", model, folder / "test.txt", "--eval").err
    quiet = run.ok("tune", folder / "train.txt", "-m", model, *FEW, "-q")
    assert quiet.err == ""


def test_templates_and_parameters_as_in_python(run, folder, tmp_path):
    one, two = tmp_path / "one.template", tmp_path / "two.template"
    one.write_text("U0:%x[0,0]\nB\n")
    two.write_text(default_template(2))
    model = tmp_path / "best.crfkit"
    given = ("-t", one, "-t", two, "--try", "c2=0.1,1", "--folds", 2, "--metric", "log_loss", "-v")
    ran = run.ok("tune", folder / "train.txt", "-m", model, *given)
    assert "two.template" in ran.err
    columns = read_columns(folder / "train.txt")
    found = tune(
        CRF(random_state=0, template=one.read_text()),
        columns.without(2),
        columns.column(2),
        space={"c2": [0.1, 1], "template": [one.read_text(), two.read_text()]},
        metric="log_loss",
        cv=2,
    )
    assert f"{found.best_score_:.4f}" in ran.err
    loaded = CRF.load(model)
    assert loaded.c2 == found.best_params_["c2"]
    assert loaded.predict(columns.without(2)) == found.best_estimator_.predict(columns.without(2))


@pytest.fixture
def table(folder, tmp_path):
    """A CSV file with documents of three sentences each."""
    path = tmp_path / "table.csv"
    lines = ["document,sentence,word,tag,chunk"]
    for i, rows in enumerate(read_columns(folder / "train.txt")[:30]):
        lines += [f'd{i // 3},{i},"{word}",{tag},{chunk}' for word, tag, chunk in rows]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["linear", "segments", "constrained", "trees", "kernel"])
def test_groups_of_a_table(run, table, tmp_path, kind):
    if kind == "trees":
        pytest.importorskip("lightgbm")
    model = tmp_path / "best.crfkit"
    values = {"trees": "n_iterations=3,5", "kernel": "n_cliques=5,10"}
    tried = ("--try", values.get(kind, "c2=0.1,1"))
    columns = ("--sequence-column", "sentence", "--group-column", "document")
    ran = run.ok("tune", table, "-m", model, "--kind", kind, *columns, *tried, *FEW)
    assert "'document'" not in ran.err.split("default features")[-1]
    tagged = run.ok("tag", model, table)  # the model knows the columns by name
    assert tagged.out.splitlines()[0] == "document,sentence,word,tag,chunk,predicted"
    assert (
        "cv=11 needs as many groups, but there are 10"
        in run("tune", table, "-m", model, "--kind", kind, *columns, *tried, "--folds", 11).err
    )


def test_ready_made_attributes(run, folder, tmp_path):
    items = tmp_path / "train.crfsuite"
    lines = [
        "\n".join(f"{c}\tw={w}\tt={t}" for w, t, c in rows) for rows in read_columns(folder / "train.txt")
    ]
    items.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    run.ok("tune", items, "-m", tmp_path / "m.crfkit", "--try", "c2=0.1,1", *FEW)
    assert "ready-made attributes" in run("tune", items, "-m", tmp_path / "m", "-t", items).err
    for kind, words in (("trees", "trees need columns"), ("kernel", "a kernel needs columns")):
        assert words in run("tune", items, "-m", tmp_path / "m", "--kind", kind).err


def test_ctrl_c_writes_the_best_so_far(run, folder, tmp_path, monkeypatch):
    import crfkit.model_selection.scoring as scoring

    calls, real = [], scoring._accuracy

    def stopping(*given):
        calls.append(None)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(scoring, "_accuracy", stopping)
    model = tmp_path / "best.crfkit"
    ran = run("tune", folder / "train.txt", "-m", model, *FEW, "--metric", "accuracy")
    assert ran.code == 130
    assert f"is in {model}.unfinished" in ran.err
    assert not model.exists()
    run.ok("tag", f"{model}.unfinished", folder / "test.txt")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--try", "c2"], "'c2' is not of the form NAME=A,B"),
        (["--try", "c3=1,2"], "--try c3: the model has no such parameter; it has"),
        (["--kind", "trees", "-t", "x"], "--template is for linear models, not for --kind trees"),
        (["--kind", "kernel", "-t", "x"], "--template is for linear models, not for --kind kernel"),
        (["--group-column", "0"], "--group-column needs a table with a header"),
        (["--folds", "1"], "1 is less than 2"),
    ],
)
def test_refusals(run, folder, tmp_path, options, message):
    ran = run("tune", folder / "train.txt", "-m", tmp_path / "m.crfkit", *options)
    assert ran.code == 2
    assert message in ran.err


def test_group_columns_that_cannot_be(run, table, tmp_path):
    given = ("tune", table, "-m", tmp_path / "m", "--sequence-column", "sentence", "--group-column")
    assert "this is the label column" in run(*given, "chunk").err
    assert "table.csv:3: the group 'word' changes from" in run(*given, "word").err
    assert "there is no such column" in run(*given, "page").err
