"""``crfkit select``: the same results as in Python, and use of the selection in ``crfkit train``."""

import inspect
import json

import pytest

from crfkit.cli.default_template import default_template
from crfkit.cli.main import parser
from crfkit.io.columns import read_columns
from crfkit.models.linear.crf import CRF
from crfkit.selection import GradientSelector, Selection


def test_the_same_as_in_python(run, folder, tmp_path):
    columns = read_columns(folder / "train.txt")
    selector = GradientSelector(20, batch=5, template=default_template(2))
    with pytest.warns(UserWarning, match="copies"):
        selector.fit(columns.without(2), columns.column(2))
    ran = run("select", folder / "train.txt", "-o", tmp_path / "few.json", "-n", 20, "--batch", 5)
    assert (ran.code, ran.out) == (0, "")
    found = Selection.load(tmp_path / "few.json")
    assert [f.key for f in found] == [f.key for f in selector.selected_]
    assert found.made_by["selector"] == "GradientSelector"
    assert "round    4      20 features" in ran.err
    assert "20 features in" in ran.err
    assert "n_features=20 are chosen; there were" in ran.err
    assert "… and 10 more" in ran.err
    quiet = run.ok("select", folder / "train.txt", "-o", tmp_path / "few.json", "-n", 5, "--batch", 5, "-q")
    assert "round" not in quiet.err


def test_train_takes_it(run, folder, tmp_path):
    few, model = tmp_path / "few.json", tmp_path / "m.crfkit"
    run.ok("select", folder / "train.txt", "-o", few, "-n", 30, "--batch", 10, "-q")
    run.ok("train", folder / "train.txt", "-m", model, "--features", few, "-q")
    crf = CRF.load(model)
    assert crf.tagger_.index.n_features == 30
    assert {f.key for f in crf.features} == {f.key for f in Selection.load(few)}
    run.ok("tag", model, folder / "test.txt")
    few.write_text("{}", encoding="utf-8")
    run.fails(1, "expected a selection", "train", folder / "train.txt", "-m", model, "--features", few)
    assert "would overwrite" in run("train", folder / "train.txt", "-m", few, "--features", few).err


@pytest.mark.parametrize(
    "extra",
    [
        ["--method", "gain"],
        ["--method", "gain", "--screen", 20],
        ["--method", "approximate-gain", "--batch", 0.5],
        ["--method", "mutual-information", "--batch", 5],
        ["--method", "l1"],
        ["--resamples", 3, "--threshold", 0.5],
        ["--conjunctions", 20],
        ["--candidates", "state", "--order", 2],
        ["--tol", "aic"],
        ["--tol", "0.01"],
    ],
)
def test_methods(run, folder, tmp_path, extra):
    extra = ["-n", 10, *extra] if "--tol" not in extra else extra
    run.ok("select", folder / "train.txt", "-o", tmp_path / "few.json", *extra)
    assert len(Selection.load(tmp_path / "few.json")) >= 1


def test_dev_and_plot(run, folder, tmp_path):
    pytest.importorskip("matplotlib")
    options = ["--dev", folder / "test.txt", "-n", 12, "--plot", tmp_path / "few.png"]
    ran = run.ok("select", folder / "train.txt", "-o", tmp_path / "few.json", *options)
    assert "dev accuracy" in ran.err
    assert (tmp_path / "few.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("extra", "code", "message"),
    [
        (["--screen", 5], 2, "--screen needs --method gain"),
        (["--method", "l1", "--batch", 5], 2, "--batch cannot be combined with --method l1"),
        (["--method", "l1", "--conjunctions", 5], 2, "--conjunctions cannot be combined with"),
        (["--resamples", 3, "--dev", "x"], 2, "cannot be combined"),
        (["--min-freq", 99999], 1, "nothing to select from"),
        (["--batch", 2.5], 1, "batch must be"),
    ],
)
def test_wrong_usage(run, folder, tmp_path, extra, code, message):
    run.fails(code, message, "select", folder / "train.txt", "-o", tmp_path / "few.json", *extra)
    assert not (tmp_path / "few.json").exists()


def test_where_it_goes(run, folder):
    assert "-o needs a file, not standard output" in run("select", folder / "train.txt", "-o", "-").err
    assert "would overwrite the input" in run("select", folder / "train.txt", "-o", folder / "train.txt").err
    assert "there is no directory" in run("select", folder / "train.txt", "-o", folder / "none" / "x").err


def test_interruption(run, folder, tmp_path, monkeypatch):
    import crfkit.selection.gradient as module

    original = module.gradient_scores

    def stop(search):
        if search.round == 3:
            raise KeyboardInterrupt
        return original(search)

    monkeypatch.setattr(module, "gradient_scores", stop)
    ran = run("select", folder / "train.txt", "-o", tmp_path / "few.json", "-n", 9)
    assert ran.code == 130
    assert "stopped with 2 features" in ran.err
    assert len(Selection.load(tmp_path / "few.json.unfinished")) == 2
    assert not (tmp_path / "few.json").exists()


def test_defaults_are_the_selectors():
    arguments = vars(parser(["select"]).parse_args(["select", "x", "-o", "y"]))
    for name, parameter in inspect.signature(GradientSelector.__init__).parameters.items():
        if name in arguments and name != "conjunctions":
            assert arguments[name] == parameter.default, name


def test_the_file_is_plain_json(run, folder, tmp_path):
    run("select", folder / "train.txt", "-o", tmp_path / "few.json", "-n", 3, "-q")
    record = json.loads((tmp_path / "few.json").read_text(encoding="utf-8"))
    assert record["made_by"]["parameters"]["n_features"] == 3
    assert len(record["features"]) == 3
