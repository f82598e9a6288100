"""``crfkit train``: formats, templates, continuation, messages, and the files after a failure."""

import gzip
import inspect
import json
import re

import pytest

from crfkit.cli import train_linear
from crfkit.cli.default_template import default_template
from crfkit.cli.main import parser
from crfkit.features import PenaltyScales
from crfkit.features.default_features import default_features
from crfkit.features.template import Template
from crfkit.io.columns import read_columns
from crfkit.models.linear.constrained_crf import ConstrainedCRF
from crfkit.models.linear.crf import CRF
from crfkit.models.linear.tagger import LinearTagger

from .conftest import as_text, sentences

SMALL = as_text(sentences(8))


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text(SMALL, encoding="utf-8")
    return path


def test_the_same_as_in_python(run, folder, tmp_path):
    columns = read_columns(folder / "train.txt")
    for how, options in (
        ({"extractor": default_features([0], [1])}, []),
        ({"template": default_template(2)}, ["-t", folder / "template"]),
    ):
        expected = CRF(c1=0.1, c2=0.5, **how).fit(columns.without(2), columns.column(2))
        ran = run("train", folder / "train.txt", "-m", tmp_path / "m", "--c1", 0.1, "--c2", 0.5, *options)
        assert (ran.code, ran.out) == (0, "")
        model = CRF.load(tmp_path / "m")
        assert model.objective_ == expected.objective_
        assert model.state_features_ == expected.state_features_
        assert model.get_params()["c1"] == 0.1


def test_report(run, folder, tmp_path):
    err = run("train", folder / "train.txt", "-m", tmp_path / "m").err
    model = CRF.load(tmp_path / "m")
    columns = read_columns(folder / "train.txt")
    assert "train.txt: columns (told by its content), 3 per row, labels in column 2\n" in err
    assert "default features: words in column 0, classes in 1 (the first column of text, and others" in err
    assert f"60 sequences, {columns.n_positions:,} tokens" in err
    assert f"{len(model.classes_)} labels, {model.tagger_.index.n_attributes:,} attributes" in err
    assert f"{model.objective_:,.4f} after {model.n_iter_} iterations (converged)" in err
    assert re.search(r"reading \d+\.\d\d, training \d+\.\d\d, saving \d+\.\d\d\n", err)
    assert re.search(r"written +\S+/m, \d+\.\d MB\n", err)
    assert run("train", folder / "train.txt", "-m", tmp_path / "m", "-q") == (0, "", "")
    assert "iteration    1  objective" in run("train", folder / "train.txt", "-m", tmp_path / "m", "-v").err


def test_defaults_are_the_estimators():
    arguments = vars(parser(["train"]).parse_args(["train", "x", "-m", "y"]))
    renamed = {"n_jobs": "jobs", "random_state": "seed"}
    for name, parameter in inspect.signature(CRF.__init__).parameters.items():
        if name in ("self", "template", "extractor", "edge_attributes", "verbose", "warm_start"):
            continue
        given = arguments[renamed.get(name, name)]
        if name in ("order", "c2"):  # None: the estimator's own, or the earlier model's
            assert given is None
            continue
        assert given == parameter.default, name


def test_options_arrive(run, data, tmp_path):
    ran = run(
        *("train", data, "-m", tmp_path / "m", "--order", 2, "--algorithm", "lbfgs", "--max-iterations", 3),
        *("--tol", 0.001, "--min-freq", 2, "--all-possible-states", "--all-possible-transitions"),
        *("--class-weight", "balanced", "--seed", 5, "--jobs", 1, "--patience", 4),
    )
    assert ran.code == 0
    assert "crfkit: warning: training stopped before it converged" in ran.err
    assert "(not converged)" in ran.err
    given = CRF.load(tmp_path / "m").get_params()
    expected = {
        **{"order": 2, "algorithm": "lbfgs", "max_iterations": 3, "tol": 0.001, "min_freq": 2},
        **{"all_possible_states": True, "all_possible_transitions": True, "class_weight": "balanced"},
        **{"random_state": 5, "patience": 4},
    }
    assert {name: given[name] for name in expected} == expected


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_usual_template(n_columns):
    template = Template.parse(default_template(n_columns))
    assert template.n_columns == n_columns
    assert template.transitions
    assert len(template.attributes([["x"] * n_columns])[0]) == 7 + 12 * (n_columns - 1)


def test_template_file(run, data, tmp_path):
    (tmp_path / "t").write_text("U0:%x[0,0]\nB1:%x[0,1]\nB\n")
    run.ok("train", data, "-m", tmp_path / "m", "-t", tmp_path / "t")
    tagger, header = LinearTagger.load(tmp_path / "m")
    assert tagger.template == Template.read(tmp_path / "t")
    assert tagger.edge_features()
    assert header["data"] == {"columns": 3, "label_column": 2}


def test_label_column(run, data, tmp_path):
    """A label column that is not the last one gives the same model: the template counts the other columns."""
    moved = tmp_path / "moved.txt"
    moved.write_text(as_text([[(c, a, b) for a, b, c in rows] for rows in sentences(8)]), encoding="utf-8")
    run.ok("train", data, "-m", tmp_path / "a", "-q")
    run.ok("train", moved, "-m", tmp_path / "b", "-q", "--label-column", 0)
    assert CRF.load(tmp_path / "a").state_features_ == CRF.load(tmp_path / "b").state_features_


def test_all_formats_make_one_model(run, data, tmp_path):
    (tmp_path / "t").write_text(default_template(2))
    expected = None
    for name in ("data.txt", "data.crfsuite", "data.mallet", "data.csv"):
        path = tmp_path / name
        if path != data:
            template = [] if name.endswith("csv") else ["-t", tmp_path / "t"]
            run.ok("convert", data, path, *template)
        lines = ["-t", tmp_path / "t"] if name in ("data.txt", "data.csv") else []
        ran = run.ok("train", path, "-m", tmp_path / "m", *lines, "--format", "auto")
        assert f"{name}: {'columns' if path == data else name.partition('.')[2]}" in ran.err
        model = CRF.load(tmp_path / "m")
        expected = expected or model
        assert model.objective_ == pytest.approx(expected.objective_, rel=1e-9)
        assert model.state_features_.keys() == expected.state_features_.keys()


def test_several_files_and_gzip_and_standard_input(run, data, tmp_path):
    first, second = as_text(sentences(8)[:5]), as_text(sentences(8)[5:])
    (tmp_path / "a.txt").write_text(first, encoding="utf-8")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(second.encode()))
    run.ok("train", data, "-m", tmp_path / "whole", "-q")
    run.ok("train", tmp_path / "a.txt", tmp_path / "b.txt.gz", "-m", tmp_path / "two", "-q")
    piped = run("train", "-", "-m", tmp_path / "piped", stdin=SMALL)
    assert (piped.code, "<stdin>: columns (told by its content)" in piped.err) == (0, True)
    run.ok("train", "-", "-m", tmp_path / "gz", "-q", stdin=gzip.compress(SMALL.encode()))
    whole = CRF.load(tmp_path / "whole")
    for name in ("two", "piped", "gz"):
        assert CRF.load(tmp_path / name).state_features_ == whole.state_features_


def test_several_attribute_files_with_weights(run, tmp_path):
    (tmp_path / "a.crfsuite").write_text("@weight:2\tA\tx=1\nB\ty=1:0.5\n\nA\tx=1\n")
    (tmp_path / "b.crfsuite").write_text("B\tz=1\nA\tx=1\n")
    run.ok("train", tmp_path / "a.crfsuite", tmp_path / "b.crfsuite", "-m", tmp_path / "m", "-q")
    X = [[{"x=1": 1.0}, {"y=1": 0.5}], [{"x=1": 1.0}], [{"z=1": 1.0}, {"x=1": 1.0}]]
    expected = CRF().fit(X, [["A", "B"], ["A"], ["B", "A"]], sample_weight=[2, 1, 1])
    assert CRF.load(tmp_path / "m").objective_ == pytest.approx(expected.objective_, rel=1e-9)


def test_dev_set_with_an_unseen_label(run, data, tmp_path):
    dev = tmp_path / "dev.txt"
    dev.write_text(as_text(sentences(3, seed=2)) + "\nmoo UH B-INTJ\n", encoding="utf-8")
    ran = run.ok("train", data, "-m", tmp_path / "m", "--dev", dev, "--patience", 2)
    assert re.search(r"dev accuracy +\d+\.\d\d %", ran.err)
    model = CRF.load(tmp_path / "m")
    assert 0.5 < max(record["dev_accuracy"] for record in model.history_) < 1.0
    assert "B-INTJ" not in model.classes_


def test_continue_with_new_data(run, folder, tmp_path):
    (tmp_path / "new.txt").write_text(SMALL + "\nmoo UH B-INTJ\n", encoding="utf-8")
    old = folder / "model.crfkit"
    ran = run("train", tmp_path / "new.txt", "-m", tmp_path / "m", "--continue", old)
    assert (ran.code, "no template" in ran.err) == (0, False)
    model, before = CRF.load(tmp_path / "m"), CRF.load(old)
    assert set(model.classes_) == {*before.classes_, "B-INTJ"}
    assert before.state_features_.keys() <= model.state_features_.keys()
    assert model.tagger_.template == before.tagger_.template


def test_start_from_a_model(run, folder, tmp_path):
    started = ("--start", folder / "model.crfkit", "--c2", 1)
    run.ok("train", folder / "train.txt", "-m", tmp_path / "m", *started, "-q")
    first, again = CRF.load(folder / "model.crfkit"), CRF.load(tmp_path / "m")
    assert again.n_iter_ < first.n_iter_
    assert again.objective_ == pytest.approx(first.objective_, rel=1e-3)


def test_the_report_says_what_was_pruned(run, data, tmp_path):
    given = ("train", data, "-m", tmp_path / "m", "--order", 2, "--c2", 1)
    assert "pruned" not in run.ok(*given).err
    ran = run.ok(*given, "--prune", 0.05)
    found = re.search(r"pruned +(\S+) % of the probability, at most (\S+) % of a sequence \(8 of", ran.err)
    assert 0 <= float(found[1]) <= float(found[2]) < 100
    for more in (("--order", 1), ()):
        given = ("train", data, "-m", tmp_path / "m", "--prune", 0.05, *more)
        assert "--prune needs --order 2 or higher" in run(*given).err
    assert "--prune and --continue cannot" in run(*given, "--continue", tmp_path / "m").err


def test_the_order_of_a_model_goes_on(run, data, tmp_path):
    run.ok("train", data, "-m", tmp_path / "a", "-q", "--order", 2)
    run.ok("train", data, "-m", tmp_path / "b", "-q", "--continue", tmp_path / "a")
    assert CRF.load(tmp_path / "b").tagger_.index.order == 2


@pytest.mark.parametrize(
    "text",
    [
        SMALL.replace("\n", "\r\n"),
        SMALL.replace(" ", "\t"),
        "\n\n" + SMALL.replace("\n\n", "\n \n\t\n"),
        SMALL.rstrip("\n"),
        "\ufeff" + SMALL,
    ],
    ids=["CRLF", "tabs", "many empty lines", "no newline at the end", "byte-order mark"],
)
def test_spellings_of_one_file(text, run, data, tmp_path):
    path = tmp_path / "other.txt"
    path.write_text(text, encoding="utf-8", newline="")
    run.ok("train", data, "-m", tmp_path / "a", "-q")
    run.ok("train", path, "-m", tmp_path / "b", "-q")
    assert CRF.load(tmp_path / "a").state_features_ == CRF.load(tmp_path / "b").state_features_


@pytest.mark.parametrize(
    "text",
    ["a A\n\nb B\n\nc A\n", "a A\nb B\n\nc B\nd A\n", "a :\nb \\\n\nc :\n", "# #\n% #\n\n# O\n"],
    ids=["length 1", "equal lengths", "label colon", "hash token"],
)
def test_odd_data(text, run, tmp_path):
    path = tmp_path / "ünï cøde" / "dätä.txt"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    model = path.parent / "mödel"
    run.ok("train", path, "-m", model, "-q", "--c2", 0.001)
    tagged = run("tag", model, path, "-q").out
    assert tagged == "".join(
        f"{line.replace(' ', chr(9))}\t{line.split()[1]}\n" if line else "\n" for line in text.split("\n")
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "x.txt: the file is empty"),
        ("\n\n", "x.txt: the file is empty"),
        ("a\nb\n", "x.txt: rows have one column"),
        ("a A\nb B\n" * 9 + "c\n", "x.txt:19: "),
        (b"a A\n\xff B\n", "x.txt:2: "),
        (b"lCRF\0\0\0\0", "expected data, but this is a model (crfsuite)"),
        (gzip.compress(SMALL.encode())[:-20], "x.txt: damaged or cut-off gzip file"),
    ],
)
def test_bad_data(content, words, run, folder, tmp_path):
    """One line that names the place, one that the old model is unchanged, and exit code 1."""
    path, model = tmp_path / "x.txt", tmp_path / "m"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    model.write_bytes(b"the old model")
    ran = run("train", path, "-m", model, "-q")
    assert (ran.code, ran.out) == (1, "")
    error, old = ran.err.splitlines()
    assert error.startswith("crfkit: ")
    assert words in error
    assert old == f"crfkit: {model} is unchanged: it is the result of an earlier run"
    assert model.read_bytes() == b"the old model"
    assert sorted(tmp_path.iterdir()) == [model, path]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["{0}/nowhere.txt", "-m", "{1}"], 1, "nowhere.txt: No such file or directory"),
        (["{0}", "-m", "{1}"], 1, "Is a directory"),
        (["{0}/train.txt", "-m", "{0}"], 1, "it is a directory; name a file"),
        (["{0}/train.txt", "-m", "{0}/no/m"], 1, "there is no directory"),
        (["{0}/train.txt", "-m", "{1}", "-t", "{0}/train.txt"], 1, "train.txt:1: "),
        (["{0}/train.txt", "-m", "{1}", "--c1", "-1"], 1, "c1 must be a number of at least 0"),
        (["{0}/train.txt", "-m", "{1}", "--label-column", "3"], 1, "the rows have 3 columns, 0 to 2"),
        (["{0}/train.txt", "-m", "{1}", "--c1", "1", "--algorithm", "sgd"], 1, "cannot train with c1 > 0"),
        (["{0}/train.txt", "-m", "{1}", "--continue", "{0}/train.txt"], 1, "train.txt"),
        (["{0}/train.txt"], 2, "-m FILE is missing"),
        (["{0}/train.txt", "-m", "-"], 2, "-m needs a file, not standard output"),
        (["-", "-m", "{1}", "--dev", "-"], 2, "only one input"),
        (
            ["{0}/train.txt", "-m", "{1}", "--algorithm", "magic"],
            2,
            "algorithm='magic': expected one of 'auto', 'lbfgs'",
        ),
        (["{0}/train.txt", "-m", "{1}", "--jobs", "0"], 2, "0 is less than 1"),
        (["{0}/train.txt", "-m", "{1}", "--continue", "a", "--start", "b"], 2, "cannot be combined"),
        (
            ["{0}/train.txt", "-m", "{1}", "--separator", ",", "--format", "columns"],
            2,
            "--separator must be 'tab' for columns",
        ),
        (["{0}/train.txt", "-m", "{1}", "--sequence-column", "x"], 2, "--sequence-column needs csv"),
    ],
)
def test_errors(arguments, code, words, run, folder, tmp_path):
    run.fails(code, words, "train", *(argument.format(folder, tmp_path / "m") for argument in arguments))
    assert list(tmp_path.iterdir()) == []


def test_attributes_and_columns_do_not_mix(run, data, tmp_path):
    (tmp_path / "a.crfsuite").write_text("A\tx=1\n")
    ran = run.fails(
        1, "or all must have attributes", "train", tmp_path / "a.crfsuite", data, "-m", tmp_path / "m"
    )
    (tmp_path / "t").write_text("U0:%x[0,0]\n")
    ran = run("train", tmp_path / "a.crfsuite", "-m", tmp_path / "m", "-t", tmp_path / "t")
    assert (ran.code, "already has attributes" in ran.err) == (1, True)
    ran = run("train", tmp_path / "a.crfsuite", "-m", tmp_path / "m", "--label-column", 1)
    assert (ran.code, "--label-column needs a table: jsonl, conllu, columns or csv" in ran.err) == (2, True)
    run.ok("train", tmp_path / "a.crfsuite", "-m", tmp_path / "plain", "-q")
    ran = run("train", data, "-m", tmp_path / "m", "--continue", tmp_path / "plain")
    assert (ran.code, "the earlier model has no template" in ran.err) == (1, True)


def test_a_template_that_looks_at_the_label(run, data, tmp_path):
    (tmp_path / "t").write_text("U0:%x[0,0]\nU1:%x[0,2]\n")
    for arguments in (["train", data, "-m", tmp_path / "m"], ["convert", data, tmp_path / "x.crfsuite"]):
        run.fails(1, "t:2: %x[0,2] reads column 2", *arguments, "-t", tmp_path / "t")
    assert not (tmp_path / "x.crfsuite").exists()


def test_rows_of_other_files_have_as_many_columns(run, data, tmp_path):
    (tmp_path / "wide.txt").write_text("a b c B-NP\n")
    for arguments in ([data, tmp_path / "wide.txt"], [data, "--dev", tmp_path / "wide.txt"]):
        ran = run("train", *arguments, "-m", tmp_path / "m")
        assert (ran.code, "wide.txt: its rows have 4 columns, but the other data has 3" in ran.err) == (
            1,
            True,
        )


def test_another_template_than_the_models(run, folder, data, tmp_path):
    (tmp_path / "t").write_text("U0:%x[0,0]\n")
    ran = run(
        "train", data, "-m", tmp_path / "m", "-t", tmp_path / "t", "--continue", folder / "model.crfkit"
    )
    assert (ran.code, "is not the template of" in ran.err) == (1, True)


def test_a_failed_write_leaves_the_old_model(run, folder, tmp_path, monkeypatch):
    model = tmp_path / "m"
    model.write_bytes(b"the old model")

    def full(*_):
        raise OSError(28, "No space left on device", str(model))

    monkeypatch.setattr("os.fsync", full)
    ran = run("train", folder / "train.txt", "-m", model, "-q")
    assert ran.code == 1
    assert ran.err.startswith(f"crfkit: {model}: No space left on device; no other folder could take")
    assert model.read_bytes() == b"the old model"
    assert list(tmp_path.iterdir()) == [model]


def test_csv(run, tmp_path):
    (tmp_path / "x.csv").write_text(
        'id,label,word\n1,B,"New ""York"", NY"\n1,O,is\n2,B,Köln\n,O,is\n', encoding="utf-8"
    )
    ran = run(
        *("train", tmp_path / "x.csv", "-m", tmp_path / "m", "--c2", 0.01),
        *("--sequence-column", "id", "--label-column", "label"),
    )
    assert ran.code == 0
    assert "2 sequences, 4 tokens" in ran.err
    found = json.loads(run("inspect", tmp_path / "m", "--attribute", 'word=New "York", NY', "--json").out)
    assert found["attributes"]['word=New "York", NY'][0]["label"] == "B"


def test_a_column_of_words_is_hardly_the_labels(run, tmp_path):
    (tmp_path / "data.txt").write_text(
        "".join(f"word{i} A\n" + "\n" * (i % 60 == 0) for i in range(510)), encoding="utf-8"
    )
    ran = run(
        "train", tmp_path / "data.txt", "-m", tmp_path / "m", "--label-column", 0, "--max-iterations", 1, "-q"
    )
    assert "510 different labels" in ran.err
    assert "--label-column" in ran.err


def test_a_model_does_not_overwrite_what_it_is_made_of(run, tmp_path):
    data = tmp_path / "data.txt"
    data.write_text("a A\nb B\n\n", encoding="utf-8")
    run.fails(2, "would overwrite", "train", data, "-m", data)
    assert data.read_text(encoding="utf-8") == "a A\nb B\n\n"


def test_csv_columns_go_by_name(run, tmp_path):
    rows = [("a", "1", "A"), ("b", "2", "B")] * 3
    (tmp_path / "train.csv").write_text(
        "word,number,label\n" + "".join(f"{w},{n},{y}\n" for w, n, y in rows), encoding="utf-8"
    )
    (tmp_path / "other.csv").write_text(
        "label,number,word\n" + "".join(f"{y},{n},{w}\n" for w, n, y in rows), encoding="utf-8"
    )
    (tmp_path / "less.csv").write_text("word\na\n", encoding="utf-8")
    run.ok("train", tmp_path / "train.csv", "-m", tmp_path / "m", "--c2", "0.01", "-q")
    for name in ("train.csv", "other.csv"):
        tagged = run("tag", tmp_path / "m", tmp_path / name, "-q")
        found = [line.split(",")[-1] for line in tagged.out.split()[1:]]
        assert found == [y for _, _, y in rows]
    (tmp_path / "tagged.csv").write_text(run("tag", tmp_path / "m", tmp_path / "train.csv", "-q").out)
    assert "accuracy: 100.00%" in run("eval", tmp_path / "tagged.csv", "--raw").out
    run.fails(1, "trained on a column 'number'", "tag", tmp_path / "m", tmp_path / "less.csv")


def test_a_table_that_is_one_sequence_is_mentioned(run, tmp_path):
    (tmp_path / "t.csv").write_text("w,y\n" + "a,A\nb,B\n" * 300, encoding="utf-8")
    ran = run("train", tmp_path / "t.csv", "-m", tmp_path / "m", "--max-iterations", "2")
    assert "--sequence-column" in ran.err


def test_the_penalty_is_found_unless_it_is_given(run, tmp_path, monkeypatch):
    data = tmp_path / "data.txt"
    data.write_text(as_text(sentences(10)), encoding="utf-8")

    def c2_of(*options):
        run.ok("train", data, "-m", tmp_path / "m", "-q", *options)
        crf = CRF.load(tmp_path / "m")
        return crf.c2, getattr(crf, "c2_", None)

    word, found = c2_of()
    assert word == "auto"
    assert found == CRF.load(tmp_path / "m").penalty_history_[-1]["c2"]
    run.ok("train", data, "-m", tmp_path / "more", "--continue", tmp_path / "m", "-q")
    assert CRF.load(tmp_path / "more").c2 == "auto"
    assert c2_of("--c2", 1) == (1.0, None)
    assert c2_of("--algorithm", "pa") == (0.1, None)
    assert c2_of("--associations", "features", "--rule-support", 2) == (0.1, None)
    monkeypatch.setattr(train_linear, "_SEARCHED", 10)
    assert c2_of() == (0.1, None)
    assert c2_of("--c1", "auto", "--max-iterations", 50)[0] == "auto"
    assert "  c1 = c2 = " in run.ok("inspect", tmp_path / "m").out
    data.write_text(SMALL, encoding="utf-8")
    monkeypatch.undo()
    assert c2_of() == (0.1, None)


def test_penalties_that_find_themselves(run, data, tmp_path):
    model, groups = tmp_path / "m", tmp_path / "groups.json"
    ran = run("train", data, "-m", model, "--penalty-groups", "templates")
    assert re.search(r"penalties +c2 [\d.e-]+; .* times the common penalty", ran.err)
    shown = run.ok("inspect", model).out
    assert re.search(r"penalties +\d+  c2 [\d.e-]+; .* times the common penalty", shown)
    record = json.loads(run.ok("inspect", model, "--json").out)["penalties"]
    assert record["groups"].keys() >= {"transitions"}
    run.ok("train", data, "-m", tmp_path / "more", "--continue", model, "--c2", "auto")
    PenaltyScales({"transitions": 0.5}).save(groups)
    ran = run("train", data, "-m", model, "--c2", 2, "--penalty-groups", groups)
    assert "transitions 0.5 times" in ran.err
    groups.write_text('{"words": ["w"]}', encoding="utf-8")
    assert "words" in run("train", data, "-m", model, "--c2", "auto", "--penalty-groups", groups).err
    groups.write_text("[]", encoding="utf-8")
    for options, message in (
        (("--penalty-groups", groups), "neither scales nor prefixes"),
        (("--penalty-groups", tmp_path / "none"), "neither 'templates' nor 'general' nor a file"),
        (("--penalty-groups", "templates", "--c2", "1"), "needs c2='auto'"),
        (("--c2", "auto", "--constrained"), "need --kind linear"),
    ):
        ran = run("train", data, "-m", model, *options)
        assert ran.code
        assert message in ran.err


def test_constrained(run, data, tmp_path):
    ran = run("train", data, "-m", tmp_path / "m", "--kind", "constrained", "--tau", 0.5, "--validation", 2)
    assert ran.code == 0
    assert re.search(r"constraints +2 hold \(largest .*, tau 0.5\) after \d+ outer step", ran.err)
    crf = ConstrainedCRF.load(tmp_path / "m")
    assert crf.feasible_
    assert (crf.tau, crf.validation, crf.c2) == (0.5, 2, 0.0)
    ran = run.ok("train", data, "-m", tmp_path / "m", "--constrained", "--c2", "largest", "--last", 1)
    assert ", c2 " in ran.err
    options = ("--gradient", "envelope", "--margin", 0.5, "--max-outer", 3, "--validation", "sequences")
    run.ok("train", data, "-m", tmp_path / "m", "--constrained", *options)
    crf = ConstrainedCRF.load(tmp_path / "m")
    assert (crf.gradient, crf.margin, crf.max_outer, crf.validation) == ("envelope", 0.5, 3, "sequences")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tau", 1), "--tau needs --constrained"),
        (("--max-outer", 3), "--max-outer needs --constrained"),
        (("--c2", "largest"), "--c2 largest needs --constrained"),
        (("--c2", "much"), "'much' is neither a number nor 'auto' or 'largest'"),
        (("--constrained", "--algorithm", "sgd"), "--constrained needs --algorithm auto or lbfgs"),
        (("--constrained", "--tau", -1), "tau must be a number of at least 0, got -1.0"),
        (("--constrained", "--last", 10000), "last=10000, but sequence 0 has only"),
    ],
)
def test_constrained_wrongly(run, data, tmp_path, options, message):
    ran = run("train", data, "-m", tmp_path / "m", *options)
    assert ran.code != 0
    assert message in ran.err


def test_groups_of_a_table_stay_together(run, tmp_path):
    """Every sentence is there twice: only folds that keep copies together hold out what is new."""
    lines = ["document,sentence,word,label"]
    for copy in (0, 1):
        for i, rows in enumerate(sentences(10)):
            lines += [f"{i},{10 * copy + i},{row[0]}{i}x{t},{row[-1]}" for t, row in enumerate(rows)]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    losses = []
    for more in ((), ("--group-column", "document")):
        command = ("train", tmp_path / "table.csv", "-m", tmp_path / "m", "--sequence-column", "sentence")
        run.ok(*command, *more, "-q")
        crf = CRF.load(tmp_path / "m")
        losses.append(crf.penalty_history_[-1]["loss"])
        assert any("document" in attribute for attribute, _ in crf.state_features_) is not bool(more)
    assert losses[1] > 2 * losses[0]
    run.ok("tag", tmp_path / "m", tmp_path / "table.csv", "-q")
    (tmp_path / "a.crfsuite").write_text("A\tx=1\n", encoding="utf-8")
    refused = run("train", tmp_path / "a.crfsuite", "-m", tmp_path / "m", "--group-column", "document")
    assert "--group-column needs a table" in refused.err
