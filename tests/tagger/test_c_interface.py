"""The C interface: the example is compiled and run; bad input is refused in the words of Python."""

import ctypes
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from crfkit import CRF, Tagger, TreeCRF
from crfkit.datasets import addresses
from crfkit.exceptions import CRFKitError
from crfkit.features import token_features
from crfkit.tagger import c_folder

LIBRARY = next(Path(c_folder(), "lib").glob("libcrfkit.*"), None)
EXAMPLE = Path(__file__).parents[2] / "examples" / "tag.c"
TOKENS, LABELS = addresses(40, random_state=0)
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="the library was not built")


class Attribute(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("value", ctypes.c_double))


@pytest.fixture(scope="module")
def c():
    library = ctypes.CDLL(str(LIBRARY))
    library.crfkit_open.restype = library.crfkit_open_memory.restype = ctypes.c_void_p
    library.crfkit_error.restype = library.crfkit_label.restype = ctypes.c_char_p
    library.crfkit_label_count.restype = ctypes.c_size_t
    return library


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations
        CRF(max_iterations=8, extractor=token_features).fit(TOKENS, LABELS).save(folder / "tokens.crfkit")
        crf = CRF(max_iterations=8).fit([token_features(sentence) for sentence in TOKENS], LABELS)
        crf.save(folder / "items.crfkit")
        rows = [[[token[:1], len(token)] for token in sentence] for sentence in TOKENS]
        TreeCRF(n_iterations=3, min_samples_leaf=1).fit(rows, LABELS).save(folder / "trees.crfkit")
    return folder


def tag_rows(c, tagger, rows):
    """Return the labels and their probability, or the error text."""
    cells = [None if cell is None else cell.encode() for row in rows for cell in row]
    ids = (ctypes.c_int32 * max(1, len(rows)))()
    probability = ctypes.c_double()
    array = (ctypes.c_char_p * max(1, len(cells)))(*cells)
    width = len(rows[0]) if rows else 1
    args = (array, ctypes.c_size_t(len(rows)), ctypes.c_size_t(width), ids, ctypes.byref(probability))
    if c.crfkit_tag_rows(ctypes.c_void_p(tagger), *args) < 0:
        return c.crfkit_error().decode()
    labels = [c.crfkit_label(ctypes.c_void_p(tagger), ids[t]).decode() for t in range(len(rows))]
    return labels, probability.value


def test_tokens_items_and_tables(c, models):
    tagger, python = c.crfkit_open(str(models / "tokens.crfkit").encode()), Tagger(models / "tokens.crfkit")
    assert c.crfkit_takes_rows(ctypes.c_void_p(tagger)) == 1
    assert c.crfkit_label_count(ctypes.c_void_p(tagger)) == len(python.labels)
    assert c.crfkit_label(ctypes.c_void_p(tagger), 10**6) is None
    for tokens in [[], *TOKENS[:10]]:
        found = python.analyse_tokens(tokens)
        assert tag_rows(c, tagger, [[token] for token in tokens]) == (found.labels(), found.probability())
    c.crfkit_close(ctypes.c_void_p(tagger))

    content = (models / "trees.crfkit").read_bytes()
    tagger, python = c.crfkit_open_memory(content, ctypes.c_size_t(len(content))), Tagger(content)
    for tokens in TOKENS[:10]:
        rows = [[token[:1], str(len(token))] for token in tokens]
        labels, _ = tag_rows(c, tagger, rows)
        assert labels == python.tag([[first, int(length)] for first, length in rows])
    c.crfkit_close(ctypes.c_void_p(tagger))

    tagger, python = c.crfkit_open(str(models / "items.crfkit").encode()), Tagger(models / "items.crfkit")
    for tokens in TOKENS[:10]:
        items = token_features(tokens)
        ends, flat = [], []
        for item in items:
            flat += [Attribute(name.encode(), 1.0) for name in item]
            ends.append(len(flat))
        ids = (ctypes.c_int32 * len(items))()
        done = c.crfkit_tag_items(
            ctypes.c_void_p(tagger),
            (Attribute * len(flat))(*flat),
            (ctypes.c_size_t * len(ends))(*ends),
            ctypes.c_size_t(len(ends)),
            ids,
            None,
        )
        assert done == 0
        assert [c.crfkit_label(ctypes.c_void_p(tagger), i).decode() for i in ids] == python.tag(items)
    assert "takes attributes, not tokens" in tag_rows(c, tagger, [["a"]])
    c.crfkit_close(ctypes.c_void_p(tagger))
    c.crfkit_close(None)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_example(models, tmp_path):
    folder = Path(c_folder())
    flags = [f"-I{folder / 'include'}", f"-L{folder / 'lib'}", "-lcrfkit", f"-Wl,-rpath,{folder / 'lib'}"]
    if shutil.which("pkg-config"):
        found = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "crfkit"],
            env={"PKG_CONFIG_PATH": str(folder / "lib" / "pkgconfig")},
            capture_output=True,
            text=True,
            check=True,
        )
        flags = found.stdout.split()
    subprocess.run(["cc", "-Wall", "-Werror", EXAMPLE, *flags, "-o", tmp_path / "tag"], check=True)
    lines = "".join(" ".join(tokens) + "\n" for tokens in TOKENS[:5])
    command = [tmp_path / "tag", models / "tokens.crfkit"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    python = Tagger(models / "tokens.crfkit")
    for tokens, line in zip(TOKENS, done.stdout.splitlines(), strict=False):
        pairs = zip(tokens, python.tag_tokens(tokens), strict=True)
        shown = " ".join(f"{token}/{label}" for token, label in pairs)
        assert line == f"{shown} ({python.analyse_tokens(tokens).probability():.3f})"


def changed(content, at, value):
    return content[:at] + value + content[at + len(value) :]


def with_version(content, version):
    """Return a model file of another version, with the right checksum."""
    import zlib

    start = changed(content[:60], 8, version.to_bytes(4, "little"))
    return start + zlib.crc32(start).to_bytes(4, "little") + content[64:]


BAD_FILES = {
    "newer": lambda good: with_version(good, 4),
    "cut off": lambda good: good[:-100],
    "cut off early": lambda good: good[:40],
    "too long": lambda good: good + b"x",
    "header changed": lambda good: changed(good, 70, b"?"),
    "array changed": lambda good: changed(good, len(good) - 9, b"?"),
    "no model": lambda good: b"Dear reader,\n",
    "empty": lambda good: b"",
    "CRFsuite's, cut off": lambda good: b"lCRF" + bytes(60),
    "Wapiti's, cut off": lambda good: b"#mdl#2#10\n#rdr#",
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_in_the_same_words(c, models, tmp_path, name):
    """From the tagger, from C and from the command line; and from the reader of batches."""
    path = tmp_path / "bad.crfkit"
    path.write_bytes(BAD_FILES[name]((models / "tokens.crfkit").read_bytes()))
    with pytest.raises(CRFKitError) as caught:
        Tagger(path)
    words = str(caught.value)
    assert words.startswith(f"cannot read the model {path}: ")
    assert c.crfkit_open(str(path).encode()) is None
    assert c.crfkit_error().decode() == words
    command = [sys.executable, "-m", "crfkit", "tag", path, "-"]
    done = subprocess.run(command, input="a\n", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"crfkit: {words}\n")


def test_missing_file(c, tmp_path):
    assert c.crfkit_open(str(tmp_path / "none").encode()) is None
    assert c.crfkit_error().decode() == f"{tmp_path / 'none'}: No such file or directory"
    with pytest.raises(FileNotFoundError):
        Tagger(tmp_path / "none")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("12 Main St.", "a sequence must be a list of tokens or rows, got str '12 Main St.'; split it first"),
        (
            [12, "Main"],
            "position 0: a token must be a str, and a row a list, tuple or dict of cells, got int 12",
        ),
        (["12", b"Main"], "position 1: a token must be a str, and a row a list"),
        ([["12"], []], "position 1: there is no column 0: the row has 0 cells"),
        (["\ud800"], "position 0: a lone surrogate cannot be stored as UTF-8"),
        (None, "a sequence must be a list of tokens or rows, got None"),
        ([["a"], {"word": "b"}], "position 1: there is no column 0"),
    ],
)
def test_bad_tokens(models, bad, words):
    with pytest.raises(CRFKitError) as caught:
        Tagger(models / "tokens.crfkit").tag_tokens(bad)
    assert str(caught.value).startswith(words)


def test_bad_cells_in_c(c, models):
    tagger = c.crfkit_open(str(models / "tokens.crfkit").encode())
    empty = (ctypes.c_char_p * 1)(b"\xff")
    ids = (ctypes.c_int32 * 1)()
    one = ctypes.c_size_t(1)
    assert c.crfkit_tag_rows(ctypes.c_void_p(tagger), empty, one, one, ids, None) == -1
    assert c.crfkit_error() == b"position 0: the text is not UTF-8"
    assert c.crfkit_tag_rows(ctypes.c_void_p(tagger), empty, one, ctypes.c_size_t(0), ids, None) == -1
    assert c.crfkit_error() == b"position 0: there is no column 0: the row has 0 cells"
    c.crfkit_close(ctypes.c_void_p(tagger))
