"""The command in its own process: exit codes, pipes that close or wait, Ctrl-C, locales."""

import locale
import os
import signal
import subprocess
import sys
import time

import pytest

from crfkit.models.linear.crf import CRF

from .conftest import as_text, sentences

CRFKIT = [sys.executable, "-m", "crfkit"]


def command(*arguments, **options):
    return subprocess.run(
        [*CRFKIT, *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        **options,
    )


def test_exit_codes(folder):
    assert command("tag", folder / "model.crfkit", folder / "test.txt").returncode == 0
    failed = command("tag", folder / "model.crfkit", folder / "nowhere")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == f"crfkit: {folder}/nowhere: No such file or directory\n"
    assert command("tag").returncode == 2


def test_results_and_messages_stay_apart(folder):
    done = command("tag", folder / "model.crfkit", folder / "test.txt", "--eval")
    assert "crfkit" not in done.stdout
    assert done.stdout.count("\n\n") == 12
    assert done.stderr.startswith("crfkit: ")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_that_closes(unbuffered, folder, tmp_path):
    """``crfkit tag … | head -1`` ends quietly."""
    (tmp_path / "long.txt").write_text(10 * as_text(sentences(3000)), encoding="utf-8")
    process = subprocess.Popen(
        [*CRFKIT, "tag", "-q", "-j", "2", str(folder / "model.crfkit"), str(tmp_path / "long.txt")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    assert process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 141


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("options", [[], ["--marginals"]])
def test_interrupted_tagging(options, folder, tmp_path):
    """Ctrl-C ends the threads that work on a large file."""
    (tmp_path / "long.txt").write_text(10 * as_text(sentences(3000)), encoding="utf-8")
    with subprocess.Popen(
        [*CRFKIT, "tag", *options, "-q", "-j", "2", str(folder / "model.crfkit"), str(tmp_path / "long.txt")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline()  # the rest does not fit into the pipe
        process.send_signal(signal.SIGINT)
        assert (process.stderr.read(), process.wait(60)) == (b"crfkit: stopped\n", 130)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk(folder):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*CRFKIT, "tag", "-q", folder / "model.crfkit", folder / "test.txt"],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"crfkit: No space left on device\n")


@pytest.mark.parametrize("buffered", ["", "1"])
def test_help_on_a_full_disk_and_into_a_closed_pipe(buffered):
    environment = {**os.environ, "PYTHONUNBUFFERED": buffered}
    for arguments in (["--help"], ["--version"], ["tag", "--help"], []):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [*CRFKIT, *arguments], stdout=full, stderr=subprocess.PIPE, env=environment, check=False
            )
        assert (done.returncode, done.stderr) == (1, b"crfkit: No space left on device\n")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*CRFKIT, "--help"], stdout=writing, stderr=subprocess.PIPE, env=environment, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_each_sentence_is_answered_before_the_next(folder):
    """Each sentence written to the pipe is answered at once, before the pipe is closed."""
    with subprocess.Popen(
        [*CRFKIT, "tag", "-q", str(folder / "model.crfkit")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        for rows in sentences(3, seed=5):
            process.stdin.write((as_text([rows], 2) + "\n").encode())
            process.stdin.flush()
            for row in rows:
                assert process.stdout.readline().decode().split("\t")[:2] == list(row[:2])
            assert process.stdout.readline() == b"\n"
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(60) == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_read_once(folder, tmp_path):
    """As in ``crfkit train <(zcat …)``: detecting the format must not consume the beginning."""
    os.mkfifo(tmp_path / "pipe")
    text = as_text(sentences(60))
    words = ["train", "-q", str(tmp_path / "pipe"), "-m", str(tmp_path / "m"), "--c2", "1"]
    words += ["-t", str(folder / "template")]
    with subprocess.Popen([*CRFKIT, *words], stderr=subprocess.PIPE) as process:
        (tmp_path / "pipe").write_text(text, encoding="utf-8")
        assert process.stderr.read() == b""
        assert process.wait(60) == 0
    assert CRF.load(tmp_path / "m").objective_ == CRF.load(folder / "model.crfkit").objective_


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize(("sent", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_interrupted_training_leaves_the_old_model(tmp_path, sent, code):
    (tmp_path / "x.txt").write_text(as_text(sentences(400)), encoding="utf-8")
    (tmp_path / "m").write_bytes(b"the old model")
    with subprocess.Popen(
        [*CRFKIT, "train", "x.txt", "-m", "m", "-v", "--tol", "0", "--c2", "1e-9", "--algorithm", "lbfgs"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        for line in process.stderr:
            if line.startswith("iteration    3"):
                break
        process.send_signal(getattr(signal, sent))
        rest = process.stderr.read()
        assert process.wait(60) == code
    assert "Traceback" not in rest
    assert "m is unchanged" in rest
    assert (tmp_path / "m").read_bytes() == b"the old model"
    unfinished = CRF.load(tmp_path / "m.unfinished")
    assert unfinished.n_iter_ >= 3


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize(("sent", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_interrupted_while_waiting(folder, sent, code):
    with subprocess.Popen(
        [*CRFKIT, "tag", "-q", str(folder / "model.crfkit")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdin.write(b"dog NN\n\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"dog\tNN\t")
        time.sleep(0.1)
        process.send_signal(getattr(signal, sent))
        assert process.wait(60) == code
        assert process.stderr.read() == b"crfkit: stopped\n"


def comma_locale():
    """Return a locale that writes 1,5 for 1.5, if the system has one."""
    before = locale.setlocale(locale.LC_NUMERIC)
    try:
        for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "fr_FR.utf8", "de_DE", "da_DK.UTF-8"):
            try:
                locale.setlocale(locale.LC_NUMERIC, name)
            except locale.Error:
                continue
            if locale.localeconv()["decimal_point"] == ",":
                return name
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)
    return None


@pytest.mark.parametrize("name", ["C", "POSIX", comma_locale()])
def test_locales(name, folder):
    """In every locale numbers have points and text is UTF-8."""
    if name is None:
        pytest.skip("no locale with a decimal comma here")
    expected = command("tag", folder / "model.crfkit", folder / "test.txt", "--marginals").stdout
    environment = {**os.environ, "LC_ALL": name, "PYTHONIOENCODING": ""}
    done = command("tag", folder / "model.crfkit", folder / "test.txt", "--marginals", env=environment)
    assert done.stdout == expected
    assert "Köln" in done.stdout


def test_ascii_terminals(folder):
    """Tables replace characters that the terminal cannot show; data stays UTF-8."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    shown = command("inspect", folder / "model.crfkit", env=environment)
    assert (shown.returncode, "?" in shown.stdout) == (0, True)
    tagged = command("tag", folder / "model.crfkit", folder / "test.txt", env=environment)
    assert "Köln" in tagged.stdout
