"""The documentation site: every page is listed, links hold after gathering, pictures show the tables.

The site itself is built by ``make site`` and ``make test``; here is what can be seen without Sphinx.
"""

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def tools():
    """Return a function that imports a module of docs/site."""
    sys.path.insert(0, str(DOCS / "site"))
    yield importlib.import_module
    sys.path.remove(str(DOCS / "site"))


@pytest.fixture(scope="module")
def gathered(tools, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "pages"
    tools("gather").gather(folder)
    return folder


def test_every_page_is_listed_once(tools, gathered):
    """A page that no list names cannot be found in the side bar; Sphinx calls it an error, too."""
    listed_pages = tools("gather").listed_pages
    listed = []
    for page in sorted(gathered.rglob("*.md")):
        folder = page.parent.relative_to(gathered)
        listed += [(folder / name).as_posix() for name in listed_pages(page.read_text(encoding="utf-8"))]
    there = {path.relative_to(gathered).with_suffix("").as_posix() for path in gathered.rglob("*.*")}
    pages = {
        path.relative_to(gathered).with_suffix("").as_posix()
        for path in gathered.rglob("*.*")
        if path.suffix in (".md", ".rst", ".ipynb") and not {"files", "gallery"} & set(path.parts)
    }
    assert sorted(pages - set(listed) - {"index"}) == []
    assert len(listed) == len(set(listed))
    assert [name for name in listed if name not in there and name != "pictures/index"] == []


def test_links_hold_after_gathering(gathered):
    """Sphinx does not look into links to files that are downloads, nor into pictures of raw HTML."""
    for page in gathered.rglob("*.md"):
        text = re.sub(
            r"^(`{3,}).*?^\1$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
        )
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            file = target.partition("#")[0]
            if file and not re.match(r"[a-z]+:", target):
                assert (page.parent / file).exists(), f"{page.relative_to(gathered)} links to {target}"


def test_pages_move_and_their_links_with_them(tools, tmp_path):
    moved = tools("gather").with_links
    text = (
        "[a](../examples/plain.py) [b](training.md#speed) [c](https://x.org)\n```sh\n[d](../README.md)\n```\n"
    )
    found = moved(text, "docs/tutorial.md", tmp_path)
    assert "[a](examples/plain.md) [b](training.md#speed) [c](https://x.org)" in found
    assert "[d](../README.md)" in found  # code stays as it is
    assert moved("[x](../Makefile)", "docs/tutorial.md", tmp_path) == "[x](files/Makefile)"
    assert (tmp_path / "files" / "Makefile").exists()


def test_pictures_of_benchmarks_show_the_tables(tools):
    plots = tools("benchmark_plots")
    for name, (read, *_) in plots.PLOTS.items():
        svg = (plots.IMAGES / f"{name}.svg").read_text(encoding="utf-8")
        assert plots.drawn_from(svg) == read(), f"{name}: run python docs/site/benchmark_plots.py"
    assert {path.stem for path in plots.IMAGES.glob("*.svg")} == set(plots.PLOTS)


def test_tables_are_found_by_their_heading(tools):
    plots = tools("benchmark_plots")
    with pytest.raises(ValueError, match="no heading 'Nothing'"):
        plots.tables_below("Nothing")
    assert plots.number("1,234.5 ms") == pytest.approx(1.2345)
    assert plots.number("28.1×") == 28.1


def test_the_decision_figure_is_as_drawn_and_leads_to_pages(tools):
    figure = tools("decision_figure")
    assert figure.IMAGE.read_text(encoding="utf-8") == figure.decision_svg()
    linked = re.findall(r'href="([\w-]+)\.html"', figure.decision_svg(".html"))
    assert linked
    assert [name for name in linked if not (DOCS / f"{name}.md").exists()] == []


def test_what_comes_from_the_network_is_found(tools, tmp_path):
    build = tools("make")
    page = (
        '<a href="https://x.org">x</a><script src="{}"></script><img src="a.png"><link rel="icon" href="{}">'
    )
    (tmp_path / "good.html").write_text(page.format("a.js", "a.css"), encoding="utf-8")
    assert build.fetched(tmp_path) == []
    (tmp_path / "bad.html").write_text(
        page.format("https://cdn.org/a.js", "//cdn.org/a.css"), encoding="utf-8"
    )
    (tmp_path / "bad.css").write_text("@font-face { src: url('https://fonts.org/a') }", encoding="utf-8")
    assert len(build.fetched(tmp_path)) == 3


def test_the_papers_page_names_what_exists():
    """Commands and files that docs/papers.md names are there."""
    text = (DOCS / "papers.md").read_text(encoding="utf-8")
    named = re.findall(r"`python (\S+\.py)|`((?:src|native)/[\w/.]*)`", text)
    assert len(named) > 20
    assert [name for pair in named for name in pair if name and not (ROOT / name).exists()] == []


def test_pages_are_mended_for_keyboards_and_screen_readers(tools):
    mended = tools("accessible").mended
    page = (
        '<p class="caption" role="heading">Start</p><pre>x</pre><th class="head"><p></p></th>'
        '<span class="sig-paren">(</span>\n<dl>\n<dd>a,</dd>\n<dd>b,</dd>\n</dl>\n)'
        '<a class="reference internal" href="plot_x.html"><span class="doc">A title</span></a>'
        "<div style='overflow-x:auto'><th style='x'></th></div>"
    )
    found = mended(page)
    for part in (
        'aria-level="2"',
        '<pre tabindex="0">',
        "<td></td>",
        'aria-label="A title"',
        '<span class="sig-line">a,',
        'auto" tabindex="0"><td></td></div>',
    ):
        assert part in found
    assert "<dl>" not in found
    assert mended(found) == found
