"""``crfkit annotate``: its options, Ctrl-C, kill -9 and the files that it writes."""

import sys

import pytest
from annotate_process import annotating, ask, interrupted

from crfkit import CRF
from crfkit.annotate.store import Answer, Store
from crfkit.annotate.tag_set import Marks, Span, TagSet
from crfkit.cli import main
from crfkit.io import read_columns

pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytest.importorskip("starlette", reason="Starlette is not installed")


@pytest.fixture
def data(tmp_path):
    """Write twelve sentences in one column."""
    names, verbs = ("Ada", "Bob", "Eve"), ("ran", "sang", "ate", "sat")
    lines = [f"{name}\n{verb}\n.\n" for name in names for verb in verbs]
    path = tmp_path / "news.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def answer(address, spans=((0, 1, "PER"),), unknown=()):
    state = ask(address, "state")
    return ask(
        address,
        "answer",
        {"sentence": state["sentence"]["number"], "spans": list(spans), "unknown": list(unknown)},
    )


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent to the process")
def test_from_the_first_answer_to_a_model(data, tmp_path, capsys):
    """Label, Ctrl-C, go on, save the model, export, train with the export, tag."""
    answers, model = tmp_path / "news.txt.annotations.jsonl", tmp_path / "names.crfkit"
    with annotating(data, "--labels", "PER,LOC") as (process, address):
        assert address.startswith("http://127.0.0.1:")
        for _ in range(3):
            state = answer(address)
        assert state["progress"]["done"] == 3
        code, errors = interrupted(process)
    assert code == 0
    assert f"3 labelled sentences are in {answers}, 3 of them new" in errors
    # The file of answers knows the labels.
    with annotating(data, "--save-model", model, "--order", "token") as (process, address):
        assert ask(address, "state")["progress"]["fitted_on"] == 3
        assert ask(address, "state")["order"] == "token"
        answer(address, unknown=[2])
        code, errors = interrupted(process)
    assert code == 0
    assert "going on after 3 labelled sentences" in errors
    assert "the model, with all 4 labelled sentences learnt" in errors
    exported = tmp_path / "labelled.txt"
    assert main(["annotate", str(data), "--export", str(exported)]) == 0
    assert "4 sentences of" in (told := capsys.readouterr().err)
    assert "1 unknown labels are '_'" in told
    assert read_columns(exported).column(1) == [["B-PER", "O", "O"]] * 3 + [["B-PER", "O", "_"]]
    retrained = tmp_path / "again.crfkit"
    assert main(["train", str(exported), "-m", str(retrained), "--unknown", "_", "-q"]) == 0
    assert CRF.load(retrained).classes_ == ["B-PER", "O"]
    assert main(["tag", str(model), str(data), "--label-only", "-q"]) == 0
    assert capsys.readouterr().out.split() == ["B-PER", "O", "O"] * 12


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent to the process")
def test_with_a_model_and_kill_9(data, tmp_path):
    """The model's labels are proposed, more labels can be named, and an answer survives kill -9."""
    train, model = tmp_path / "train.txt", tmp_path / "model.crfkit"
    train.write_text("".join(f"{w} {t}\n" for w, t in (("Ada", "B-PER"), ("ran", "O"), (".", "O"))) * 3)
    assert main(["train", str(train), "-m", str(model), "-q"]) == 0
    options = (data, "-m", model, "--labels", "LOC", "-o", tmp_path / "a.jsonl")
    with annotating(*options) as (process, address):
        state = ask(address, "state")
        assert [label["name"] for label in state["labels"]] == ["PER", "LOC"]
        assert state["sentence"]["proposed"] is not None
        answer(address, [(1, 2, "LOC")])
        process.kill()
        process.wait(30)
    store = Store(str(tmp_path / "a.jsonl"), None)
    assert store.answers[0].labels == ["O", "B-LOC", "O"]
    store.close()


def refused(capsys, *arguments):
    code = main(["annotate", *map(str, arguments), "--no-browser"])
    return code, capsys.readouterr().err


def test_labels_are_missing(data, capsys):
    code, errors = refused(capsys, data)
    assert code == 2
    assert "name the labels with --labels A,B,… or give a model with -m" in errors


def test_data_with_attributes(tmp_path, capsys):
    path = tmp_path / "x.crfsuite"
    path.write_text("O\tw=a\tbias\n", encoding="utf-8")
    code, errors = refused(capsys, path, "--format", "crfsuite", "--labels", "PER")
    assert code == 1
    assert "crfsuite data has attributes, but the page shows tokens" in errors


def test_empty_data(tmp_path, capsys):
    path = tmp_path / "x.txt"
    path.write_text("\n\n", encoding="utf-8")
    code, errors = refused(capsys, path, "--labels", "PER")
    assert (code, "there are no sentences" in errors) == (1, True)


def test_scheme_of_a_model(data, tmp_path, capsys):
    train, model = tmp_path / "train.txt", tmp_path / "model.crfkit"
    train.write_text("Ada B-PER\nran O\n\n", encoding="utf-8")
    main(["train", str(train), "-m", str(model), "-q"])
    code, errors = refused(capsys, data, "-m", model, "--scheme", "BILOU")
    assert (code, "its labels decide" in errors) == (2, True)
    code, errors = refused(capsys, data, "-m", data)
    assert code == 1


def test_answers_in_use(data, tmp_path, capsys):
    store = Store(str(tmp_path / "news.txt.annotations.jsonl"), TagSet(("PER",), "IOB2"))
    code, errors = refused(capsys, data, "--labels", "PER")
    store.close()
    assert (code, "in use by another 'crfkit annotate'" in errors) == (1, True)


def test_answers_must_not_be_the_data(data, capsys):
    code, errors = refused(capsys, data, "--labels", "PER", "-o", data)
    assert (code, "would overwrite the input" in errors) == (2, True)
    assert data.read_text(encoding="utf-8").startswith("Ada")


def test_standard_input_needs_a_name(capsys):
    code, errors = refused(capsys, "-", "--labels", "PER")
    assert (code, "name the file of answers with -o" in errors) == (2, True)


def test_export_of_nothing(data, tmp_path, capsys):
    code, errors = refused(capsys, data, "--export", tmp_path / "x")
    assert (code, "there are no annotations yet" in errors) == (1, True)
    store = Store(str(tmp_path / "news.txt.annotations.jsonl"), TagSet(("PER",), "IOB2"))
    store.append(Answer((("Ada",),), ["B-PER"], None, False, 0))
    store.close()
    assert main(["annotate", str(data), "--export", "-", "-q"]) == 0
    assert capsys.readouterr().out == "Ada\tB-PER\n\n"


@pytest.mark.parametrize(
    ("name", "content", "options", "columns", "n_sentences"),
    [
        ("a.csv", "token,doc\nAda,1\nran,1\nBob,2\n", ("--sequence-column", "doc"), 1, 2),
        ("a.csv", "token,tag\nAda,B-PER\n\nran,O\n", ("--label-column", "tag"), 1, 2),
        ("a.jsonl", '{"tokens": ["Ada", "ran"], "tags": ["B-PER", "O"]}\n', (), 1, 1),
        ("a.jsonl", '{"tokens": ["Ada", "ran"]}\n', (), 1, 1),
        ("a.txt", "Ada ran.\nBob sat.\n", ("--format", "text"), 1, 2),
        ("a.txt", "Ada NNP B-PER\nran VB O\n", ("--label-column", "-1"), 2, 1),
        ("a.txt", "Ada NNP\nran VB\n", (), 2, 1),
    ],
)
def test_tables(tmp_path, monkeypatch, capsys, name, content, options, columns, n_sentences):
    """Labels in the data are neither shown nor learnt from; the model that is saved fits the data."""
    data, model = tmp_path / name, tmp_path / "a.crfkit"
    data.write_text(content, encoding="utf-8")
    shown = []

    def label_all(session, *more):
        while (now := session.current()) is not None:
            shown.append(now.rows)
            session.answer(now.number, Marks([Span(0, 1, "PER")], []))

    monkeypatch.setattr("crfkit.annotate.server.serve", label_all)
    command = ["annotate", data, "--labels", "PER,LOC", "--save-model", model, "--no-browser", *options]
    assert main([*map(str, command)]) == 0
    assert len(shown) == n_sentences
    assert {len(row) for rows in shown for row in rows} == {columns}
    capsys.readouterr()
    tagging = [option for option in options if option not in ("--label-column", "tag", "-1")]
    assert main([*map(str, ["tag", model, data, *tagging])]) == 0
    told = capsys.readouterr()
    assert "PER" in told.out
    assert "warning" not in told.err


def test_a_label_with_a_blank(data, capsys):
    code, errors = refused(capsys, data, "--labels", "PER,my label")
    assert (code, "'my label' has a blank in it" in errors) == (2, True)


def test_libraries_are_missing(data, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, errors = refused(capsys, data, "--labels", "PER")
    assert code == 1
    assert "crfkit annotate needs uvicorn" in errors
    assert "pip install 'crfkit[annotate]'" in errors
    assert list(data.parent.iterdir()) == [data]
