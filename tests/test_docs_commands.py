"""The commands of README.md and docs/ run as they are written, on small files of the same names.

Where a page shows the output, it is compared: words and layout exactly, figures, labels and attributes by
their form, because the pages show results of real data. ``…`` in a page stands for anything.
"""

import argparse
import re
import shlex
import shutil
from importlib import import_module
from pathlib import Path

import pytest
from page_files import names, write_files
from transcripts import NUMBER, commands_of, matches, run

from crfkit.cli.main import COMMANDS, parser

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LABEL = r"\b[BI]-[A-Z]+\b"
# What differs between the data of a page and the files here.
DATA = "|".join(
    [
        r"(?m:^ +[^\n→]*\[[A-Za-z]+\][^\n]*)",  # a place where a rule holds
        r"\w+\[-?\d(?:,\d)?\]=\S+(?: & \w+\[-?\d(?:,\d)?\]=\S+)*",  # a rule
        rf"\bU\d\d:\S+|{LABEL} → {LABEL}",  # an attribute, a transition
        LABEL,
        NUMBER,
    ]
)
INLINE = re.compile(r"`(crfkit [a-z]+[^`\n]*)`")
FILE = re.compile(r"[\w*-]\.[a-z]{2,}\b")

# Commands that are not run, by their beginnings, and why.
NOT_RUN = {
    "make ": "builds, installs or runs all tests",
    "pip install": "installs; tests/test_packaging.py looks at the extras",
    "python benchmarks/": "takes minutes and real data; tests/benchmarks runs the scripts on small data",
    "python -c '\nimport time": "writes and times a file of 100 MB",
    "export PKG_CONFIG_PATH": "needs a C compiler; tests/tagger/test_c_interface.py compiles examples/tag.c",
    "cc tag.c": "needs a C compiler; tests/tagger/test_c_interface.py compiles examples/tag.c",
    'awk \'BEGIN {RS = ""; ORS = "\\n\\n"} NR > 8000\'': "rest.txt is there; train.txt has fewer sentences",
    "crfkit tune table.csv -m best.crfkit --kind trees": "slow; tests/cli/test_tune.py tries fewer",
    "crfkit stocks backtest prices/A*.csv": "as prices/*.csv before it",
    "crfkit stocks backtest prices/*.csv --report out.html --forecasts": "as in tests/cli/test_stocks.py",
    "crfkit annotate ": "serves a page until it is stopped; tests/annotate/test_page.py does that",
    "crf_learn ": "another tool",
    "crf_test ": "another tool",
    "wapiti ": "another tool",
    "crfsuite ": "another tool",
    "java ": "another tool",
}
# Files that replace others of the same name before a command, by its page and beginning.
REPLACED = {
    ("model-selection.md", "crfkit tune train.txt -m best.crfkit"): {"train.txt": names(20)},
    ("command-line.md", "crfkit tune train.txt"): {"train.txt": names(20)},
    ("command-line.md", "crfkit convert names.crfkit"): {"test.txt": names(30, seed=1)},
    ("confidence.md", "crfkit tag names.crfkit"): {
        "test.txt": names(30, seed=1),
        "dev.txt": names(30, seed=2),
    },
    ("moving-over.md", "crfkit train train.txt --format crfsuite"): dict.fromkeys(
        ("train.txt", "test.txt"), "B-X\tw=a\nI-X\tw=b\nO\tw=c\n\n" * 10
    ),
    ("moving-over.md", "crfkit train train.txt --format mallet"): dict.fromkeys(
        ("train.txt", "test.txt"), "w=a B-X\nw=b I-X\nw=c O\n\n" * 10
    ),
}
_OLD = [
    "crfkit train data.txt --format crfsuite -m made.crfkit -q",
    "crfkit convert made.crfkit old.crfsuite",
]
NEEDS = {
    "command-line.md": ["lightgbm"],
    "graphs.md": ["lightgbm"],
    "trees.md": ["lightgbm"],
    "confidence.md": ["matplotlib"],
    "genes.md": ["matplotlib"],
    "selection.md": ["matplotlib"],
    "stocks.md": ["matplotlib", "sklearn", "lightgbm"],
}
# Commands that make the models which a page takes for granted.
BEFORE = {
    "README.md": ["crfkit train new.txt -m old-model -q"],
    "command-line.md": ["crfkit train names.txt -m names.crfkit -q", *_OLD],
    "models-of-other-tools.md": _OLD,
    "confidence.md": ["crfkit train names.txt -m names.crfkit -q"],
}


def pages():
    """Return the commands of each page, also those within its sentences that name files."""
    found = {}
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        commands = [(command.line, command.text, command.shown) for command in commands_of(text)]
        for inline in INLINE.finditer(text):
            if FILE.search(inline[1]):
                commands.append((text.count("\n", 0, inline.start()) + 1, inline[1], None))
        if commands:
            found[path.name] = commands
    return found


FOUND = pages()


def left_out(command):
    return next((start for start in NOT_RUN if command.startswith(start)), None)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    return folder


RUN = {page: kept for page, all_ in FOUND.items() if (kept := [c for c in all_ if not left_out(c[1])])}


@pytest.mark.skipif(shutil.which("grep") is None, reason="the pages use grep, head and the like")
@pytest.mark.parametrize("page", RUN)
def test_commands_run(page, files, tmp_path):
    for library in NEEDS.get(page, ()):
        pytest.importorskip(library)
    folder = shutil.copytree(files, tmp_path / "page")
    for command in BEFORE.get(page, ()):
        run(command, folder)
    for line, command, shown in RUN[page]:
        for (of, start), texts in REPLACED.items():
            if of == page and command.startswith(start):
                for name, text in texts.items():
                    (folder / name).write_text(text, encoding="utf-8")
        printed = run(command, folder)
        if shown is not None:
            assert matches(shown, printed, free=DATA), (
                f"{page}:{line} shows\n{shown}\nbut there is\n{printed}"
            )


def test_what_is_not_run_is_there():
    commands = [command for page in FOUND.values() for _, command, _ in page]
    for start in NOT_RUN:
        assert any(command.startswith(start) for command in commands), f"no page has a command {start!r}"
    for page, start in REPLACED:
        assert any(command.startswith(start) for _, command, _ in RUN[page]), (page, start)
    assert set(BEFORE) | set(NEEDS) <= set(RUN)


def options_of(above, words):
    """Return the options of a command, of one of its commands (``crfkit genes train``), or of all these."""
    below = [action.choices for action in above._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        return set(above._option_string_actions)
    if words and not words[0].startswith("-"):
        assert words[0] in below[0], words
        return options_of(below[0][words[0]], words[1:])
    return set().union(*(options_of(one, words) for one in below[0].values()))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_options_exist(path):
    """Check the options of commands that the sentences mention."""
    for words in (found.split() for found in INLINE.findall(path.read_text(encoding="utf-8"))):
        _, name, *rest = words
        known = options_of(parser([name]), [name, *rest])
        for option in (word for word in rest if word.startswith("-")):
            assert option in known, f"{path.name}: {' '.join(words)}"


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_of_help_texts(name):
    """The command line of every example is valid."""
    text = re.sub(r"\n      +", " ", import_module(f"crfkit.cli.{name}").EXAMPLES)
    examples = re.findall(r"^  .*?(crfkit [a-z].*?)(?:   .*| [|>] .*)?$", text, re.MULTILINE)
    assert examples
    for example in examples:
        argv = shlex.split(example)[1:]
        given, surplus = parser(argv).parse_known_args(argv)
        assert given.command == argv[0]
        assert not surplus, example


def test_the_comparison_can_fail():
    shown = "head  12.5 %\n…\n  B-NP      U12:JJ +3.23\nend"
    assert matches(shown, "head 1,000 %\nx\ny\n  B-VP  U02:a/b -1.00  \nend\n", free=DATA)
    assert not matches(shown, "head 12.5 %\nx\n  B-NP U12:JJ many\nend", free=DATA)
    assert not matches(shown, "head 12.5 %\nx\n  B-NP U12:JJ +3.23", free=DATA)
    assert not matches("accuracy: 95.98%", "precision: 95.98%", free=DATA)
