"""``crfkit tag`` without NumPy, against the general path: the same bytes, notes and errors."""

import subprocess
import sys

import pytest

from crfkit.cli import main, tag

TRAIN = "the D B\ndog N I\nruns V O\n\nMary N B\nsleeps V O\n\n"
TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,1]\nU02:%x[0,1]\nB\n"
DATA = {
    "with labels": "-DOCSTART- X O\n\nthe D B\ncat N I\n\n\nMary  N\tB\nruns V O",
    "without labels": "the D\ncat N\n\nMary N\nruns V\n",
    "unknown": "Ünïcode Q\n",
    "empty": "",
    "ragged": "the D B\ncat\n",
    "too few columns": "the\ncat\n",
    "not UTF-8": "the D\n\udcff N\n",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "train.txt").write_text(TRAIN, encoding="utf-8")
    (folder / "template").write_text(TEMPLATE, encoding="utf-8")
    path = folder / "chunks.crfkit"
    command = ["train", f"{folder / 'train.txt'}", "-m", f"{path}", "-t", f"{folder / 'template'}", "-q"]
    assert main(command) == 0
    return str(path)


@pytest.mark.parametrize("options", [[], ["--blanks"], ["-q"], ["--jobs", "2"]])
@pytest.mark.parametrize("name", DATA)
def test_equals_the_general_path(model, tmp_path, monkeypatch, capfd, name, options):
    data = tmp_path / "data.txt"
    data.write_bytes(DATA[name].encode("utf-8", "surrogateescape"))
    answers, quick = [], []
    original = tag.tag_quickly
    for path in (lambda *given: quick.append(original(*given)) or quick[-1], lambda *given: False):
        monkeypatch.setattr(tag, "tag_quickly", path)
        code = main(["tag", model, str(data), "-o", str(tmp_path / "out"), *options])
        written = (tmp_path / "out").read_bytes() if (tmp_path / "out").exists() else None
        answers.append((code, written, capfd.readouterr()))
        (tmp_path / "out").unlink(missing_ok=True)
    assert answers[0] == answers[1]
    assert quick == [name in ("with labels", "without labels", "unknown")]


@pytest.mark.parametrize("option", [["--score"], ["--marginals"], ["--label-only"], ["--nbest", "2"]])
def test_options_take_the_general_path(model, tmp_path, option, monkeypatch, capfd):
    (tmp_path / "data.txt").write_text(DATA["with labels"], encoding="utf-8")
    taken = []
    original = tag.tag_quickly
    monkeypatch.setattr(tag, "tag_quickly", lambda *given: taken.append(original(*given)) or taken[-1])
    assert main(["tag", model, str(tmp_path / "data.txt"), "-q", *option]) == 0
    assert taken == [False]
    assert capfd.readouterr().out


def test_it_loads_no_numpy(model, tmp_path):
    (tmp_path / "data.txt").write_text(DATA["with labels"], encoding="utf-8")
    code = (
        "import sys\nsys.modules['numpy'] = None\nfrom crfkit.cli import main\n"
        f"sys.exit(main(['tag', {model!r}, {str(tmp_path / 'data.txt')!r}, '-q']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("the\tD\tB\t")
