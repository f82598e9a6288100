"""Every Python block of README.md and docs/ runs, page by page; links into the repository are valid."""

import re
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ALL_TEXTS = [*PAGES, *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"))]

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_python_blocks_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    namespace = {"__name__": "__main__"}  # one per page: later blocks use names of earlier ones
    for block in BLOCK.finditer(text):
        # Blank lines in front, so that a traceback names the page's own line.
        line = text.count("\n", 0, block.start(1))
        code = compile("\n" * line + block.group(1), str(path), "exec")
        with warnings.catch_warnings():
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
    assert sum(len(BLOCK.findall(path.read_text(encoding="utf-8"))) for path in PAGES) >= 5


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_no_blanks_are_left_to_fill(path):
    assert not re.search(r"@[A-Z]+@|TODO|FIXME", path.read_text(encoding="utf-8"))
