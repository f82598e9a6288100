"""Every Python block of README.md and docs/ runs, page by page; links into the repository are valid.

A block directly behind one of Python is what it prints: words exactly, figures nearly, because the last
digits of what is trained depend on the machine.
"""

import contextlib
import io
import re
import warnings
from pathlib import Path

import pytest
from transcripts import BLOCK, NUMBER, figures_agree, matches

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ALL_TEXTS = [
    *(page for page in PAGES if page.parent.name != "site"),  # its links are those of the built site
    *sorted(ROOT.glob("[A-Z]*.md")),
    *sorted((ROOT / "benchmarks").glob("*.md")),
    *sorted((ROOT / "examples" / "walks").glob("*.md")),
]
ALL_TEXTS = list(dict.fromkeys(ALL_TEXTS))

LINK = re.compile(r"\]\(([^)\s]+)\)")


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_python_blocks_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    namespace = {"__name__": "__main__"}  # one per page: later blocks use names of earlier ones
    printed, end = io.StringIO(), None
    for block in BLOCK.finditer(text):
        language, body = block.groups()
        if language in ("", "text") and end is not None and not text[end : block.start()].strip():
            found = printed.getvalue()
            assert matches(body, found, free=NUMBER), f"{path.name} shows\n{body}\nbut there is\n{found}"
            assert "…" in body or figures_agree(body, found), f"{path.name}: {body}\nbut there is\n{found}"
        end = block.end() if language == "python" else None
        if language != "python":
            continue
        # Blank lines in front, so that a traceback names the page's own line.
        line = text.count("\n", 0, block.start(2))
        code = compile("\n" * line + body, str(path), "exec")
        printed = io.StringIO()
        with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
            warnings.simplefilter("error")
            exec(code, namespace)


@pytest.mark.parametrize("path", ALL_TEXTS, ids=name_of)
def test_links_lead_somewhere(path):
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        if re.match(r"https?:|mailto:", target):
            continue
        file, _, anchor = target.partition("#")
        found = (path.parent / file).resolve() if file else path
        assert found.exists(), f"{name_of(path)} links to {target}, which does not exist"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", found.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in anchors, f"{name_of(path)} links to {target}, but {file} has no such heading"


def test_the_pages_show_code():
    blocks = [block for path in PAGES for block in BLOCK.findall(path.read_text(encoding="utf-8"))]
    assert sum(language == "python" for language, _ in blocks) >= 5


def test_the_comparison_of_figures_can_fail():
    assert figures_agree("4 of 1,000: 0.953", "5 of 1,020: 0.961")
    assert not figures_agree("4 of 1,000: 0.953", "6 of 1,020: 0.961")
    assert not figures_agree("0.953", "0.85")


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_no_blanks_are_left_to_fill(path):
    assert not re.search(r"@[A-Z]+@|TODO|FIXME", path.read_text(encoding="utf-8"))


def test_extras_are_those_of_the_package():
    """Hints to install an extra, in messages and on pages, name one that exists; README names all of them."""
    section = (
        (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("[project.optional-dependencies]")[1]
    )
    extras = set(re.findall(r"^(\w+) = \[", section.split("\n[")[0], re.MULTILINE))
    assert {"sklearn", "trees", "all"} <= extras
    sources = [*PAGES, *(ROOT / "src" / "crfkit").rglob("*.py")]
    for path in sources:
        for named in re.findall(r"(?:crfkit|'\.)\[([a-z,]+)\]", path.read_text(encoding="utf-8")):
            assert set(named.split(",")) <= extras, f"{name_of(path)}: there is no extra {named}"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for extra in re.search(r'^all = \["crfkit\[(.*?)\]"\]', section, re.MULTILINE)[1].split(","):
        assert f"[{extra}]" in readme, f"README.md does not name the extra {extra}"
