"""The file of answers: nothing confirmed is lost, whatever happens to the process or the disk."""

import errno
import json
import os
import signal
import subprocess
import sys

import pytest

from crfkit.annotate.store import Answer, Store, conll
from crfkit.annotate.tag_set import TagSet
from crfkit.exceptions import InputError, OutputError
from crfkit.io import read_columns

TAGS = TagSet(("PER", "LOC"), "IOB2")


def answer(word, label="B-PER"):
    return Answer(((word, "NN"), ("slept", "VB")), [label, "O"], None, False, 0)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "answers.jsonl")


def reopened(path, tags=None):
    store = Store(path, tags)
    store.close()
    return store


def test_answers_come_back(path):
    store = Store(path, TAGS, seed=5)
    given = [
        Answer((("Ada",), ("«ö»\t\n",)), ["B-PER", None], ["O", "O"], True, 30),
        Answer((("<script>",),), ["O"], None, False, 0),
    ]
    for one in given:
        store.append(one)
    store.close()
    found = reopened(path)
    assert found.answers == given
    assert (found.tags, found.seed, found.n_removed) == (TAGS, 5, 0)


def test_undo_is_an_entry(path):
    store = Store(path, TAGS)
    for word in "ab":
        store.append(answer(word))
    assert store.undo() == answer("b")
    store.append(answer("c"))
    size = os.path.getsize(path)
    assert [store.undo(), store.undo(), store.undo()] == [answer("c"), answer("a"), None]
    store.close()
    assert os.path.getsize(path) > size  # nothing was deleted
    assert reopened(path).answers == []


def test_one_process_at_a_time(path):
    store = Store(path, TAGS)
    with pytest.raises(InputError, match="in use by another 'crfkit annotate'"):
        Store(path, TAGS)
    store.append(answer("a"))
    store.close()
    assert reopened(path).answers == [answer("a")]


WRITER = """
import sys
from crfkit.annotate.store import Answer, Store
from crfkit.annotate.tag_set import TagSet
store = Store(sys.argv[1], TagSet(("PER",), "IOB2"))
for k in range(10**6):
    store.append(Answer(((str(k), "x" * 500),), ["O"], None, False, 0))
    sys.stdout.write(f"{k}\\n")
    sys.stdout.flush()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killed_while_it_writes(path):
    """After kill -9 every confirmed answer is in the file, at most one more, and the file can go on."""
    n = 0
    for _ in range(2):
        with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE) as writer:
            lines = [writer.stdout.readline() for _ in range(60)]
            writer.send_signal(signal.SIGKILL)
            confirmed = [*lines, *writer.stdout.read().splitlines()]
        found = reopened(path).answers[n:]
        assert len(confirmed) >= 60
        assert len(found) - len(confirmed) in (0, 1)
        assert [one.rows[0][0] for one in found] == [str(k) for k in range(len(found))]
        n += len(found)


def test_cut_off_anywhere(path):
    """A line without its end was never confirmed: it goes, all before it stays."""
    store = Store(path, TAGS)
    store.append(answer("a"))
    store.close()
    with open(path, "rb") as file:
        whole = file.read()
    store = Store(path, TAGS)
    store.append(answer("b"))
    store.close()
    with open(path, "rb") as file:
        longer = file.read()
    for size in range(len(whole), len(longer)):
        with open(path, "wb") as file:
            file.write(longer[:size])
        found = reopened(path)
        assert found.answers == [answer("a")]
        assert found.n_removed == size - len(whole)
        assert os.path.getsize(path) == len(whole)


def test_cut_off_in_the_first_line(path):
    Store(path, TAGS).close()
    with open(path, "rb") as file:
        first = file.read()
    for size in range(len(first)):
        with open(path, "wb") as file:
            file.write(first[:size])
        store = Store(path, TAGS)
        store.append(answer("a"))
        store.close()
        assert reopened(path).answers == [answer("a")]


def test_full_disk(path, monkeypatch):
    """An answer that does not fit leaves no trace; the next one fits again."""
    store = Store(path, TAGS)
    store.append(answer("a"))
    size = os.path.getsize(path)
    real = os.fsync

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="the last answer is not in the file, all others are"):
        store.append(answer("b"))
    monkeypatch.setattr(os, "fsync", real)
    assert os.path.getsize(path) == size
    assert store.answers == [answer("a")]
    store.append(answer("c"))
    store.close()
    assert reopened(path).answers == [answer("a"), answer("c")]


@pytest.mark.parametrize("content", ["The DT\ndog NN\n", "hello", '{"a": 1}\n', "\n"])
def test_the_file_of_somebody_else_is_not_touched(path, content):
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    with pytest.raises(InputError, match=r"answers\.jsonl:1: not a"):
        Store(path, TAGS)
    with open(path, encoding="utf-8") as file:
        assert file.read() == content


def test_a_damaged_line_is_named(path):
    store = Store(path, TAGS)
    store.append(answer("a"))
    store.close()
    for line, message in (
        ('{"rows": [["a"]], "labels": ["O", "O"], "proposed": null}', "3: 1 rows, but 2 labels"),
        ('{"rows": [["a"]]', "3: not a line of crfkit's annotations"),
        ("[]", "3: not a line"),
        ('{"undo": true}\n{"undo": true}', "4: not a line"),
    ):
        with open(path, "rb") as file:
            before = file.read()
        with open(path, "ab") as file:
            file.write(f"{line}\n".encode())
        with pytest.raises(InputError, match=rf"answers\.jsonl:{message}"):
            Store(path, TAGS)
        with open(path, "wb") as file:
            file.write(before)


def test_a_newer_file(path):
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"crfkit": "annotations", "version": 9}) + "\n")
    with pytest.raises(InputError, match="made by a newer crfkit"):
        Store(path, TAGS)


def test_more_labels_later(path):
    Store(path, TAGS).close()
    Store(path, TagSet(("LOC", "ORG"), "IOB2")).close()
    assert reopened(path).tags == TagSet(("PER", "LOC", "ORG"), "IOB2")


def test_another_scheme_is_refused(path):
    Store(path, TAGS).close()
    with pytest.raises(InputError, match="has labels of the scheme IOB2, but this session has plain labels"):
        Store(path, TagSet(("PER",), None))


def test_labels_must_be_known(path):
    with pytest.raises(InputError, match="the labels must be named"):
        Store(path, None)
    assert not os.path.exists(path)


def test_export_as_columns(path, tmp_path):
    answers = [answer("Ada"), Answer((("<b>", "X"), ("x", "Y")), [None, "O"], None, False, 0)]
    exported = tmp_path / "labelled.txt"
    exported.write_bytes(conll(answers))
    found = read_columns(exported)
    assert [row[:2] for row in found[0]] == [list(row) for row in answers[0].rows]
    assert found.column(2) == [["B-PER", "O"], ["_", "O"]]
    assert conll([]) == b""
