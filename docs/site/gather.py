"""Gather the pages of the documentation site from the whole repository.

Pages lie where their readers look for them: docs/, examples/, benchmarks/ and the top folder. Sphinx wants
them in one folder, so they are copied into one, and the links between them are rewritten. A link to a file
that is no page (a script, a header) becomes a download.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
from pathlib import Path

from decision_figure import decision_svg
from reference import reference_pages
from themed_svg import PICTURE, inlined

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(__file__).resolve().parent

# Pages with another place in the site than in the repository.
PLACES = {
    "docs/site/home.md": "index.md",
    "docs/index.md": "overview.md",
    "README.md": "index.md",
    "examples": "examples/index.md",
    "examples/walks": "walks/index.md",
    "CHANGELOG.md": "project/changelog.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/RESULTS.md": "benchmarks/results.md",
    "benchmarks/README.md": "benchmarks/scripts.md",
}
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
FENCE = re.compile(r"^(?P<ticks>`{3,})[^\n]*\n.*?^(?P=ticks)`*\s*?$", re.MULTILINE | re.DOTALL)
LANGUAGES = {".py": "python", ".c": "c"}


def place_of(path: str) -> str | None:
    """Return where a file of the repository is in the site, if it is a page, picture or notebook there."""
    if path in PLACES:
        return PLACES[path]
    parts = Path(path).parts
    if parts[0] == "docs":
        return None if len(parts) > 1 and parts[1] == "site" else "/".join(parts[1:])
    if parts[0] == "examples" and len(parts) == 2:
        suffix = Path(path).suffix
        if suffix == ".ipynb":
            return f"notebooks/{parts[1]}"
        return f"examples/{Path(path).stem}.md" if suffix in LANGUAGES else None
    if parts[:2] == ("examples", "walks"):
        return "/".join(parts[1:])
    return None


def outside_fences(text: str, change: re.Pattern[str], by: object) -> str:
    """Substitute in ``text``, but not in its blocks of code."""
    pieces, end = [], 0
    for fence in FENCE.finditer(text):
        directive = fence.group().lstrip("`").startswith("{")  # a directive has links in it, code has none
        pieces += [change.sub(by, text[end : fence.start()])]  # type: ignore[call-overload]
        pieces += [change.sub(by, fence.group()) if directive else fence.group()]  # type: ignore[call-overload]
        end = fence.end()
    return "".join([*pieces, change.sub(by, text[end:])])  # type: ignore[call-overload]


def with_links(text: str, path: str, to: Path) -> str:
    """Rewrite the links of the page at ``path``; files that are no pages are copied to ``to``/files."""
    here = Path(PLACES.get(path) or place_of(path) or path).parent

    def moved(match: re.Match[str]) -> str:
        target, hash_, anchor = match.group(1).partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return match.group(1)
        found = os.path.normpath(Path(path).parent / target).replace(os.sep, "/")
        place = place_of(found)
        if place is None and (ROOT / found).is_file():
            place = f"files/{found}"
            (to / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / found, to / place)
        return Path(os.path.relpath(place or found, here)).as_posix() + hash_ + anchor

    return outside_fences(text, LINK, moved)


def with_drawings(text: str, path: str) -> str:
    """Put drawings (SVG) into the page itself: there they take on its colours, and their links work."""

    def put(match: re.Match[str]) -> str:
        name = Path(match["path"]).name
        drawn = ROOT / Path(path).parent / match["path"]
        svg = decision_svg(".html") if name == "which-model.svg" else drawn.read_text(encoding="utf-8")
        return inlined(svg, match["words"])

    return PICTURE.sub(put, text)


def example_page(path: Path) -> str:
    """Return a page with the docstring and the code of an example."""
    code = path.read_text(encoding="utf-8")
    title = path.stem.replace("_", " ").capitalize()
    text = ""
    if path.suffix == ".py":
        tree = ast.parse(code)
        text = (ast.get_docstring(tree) or "") + "\n\n"
        code = "\n".join(code.split("\n")[tree.body[0].end_lineno or 0 :]).lstrip("\n")
    return f"# {title}\n\n{text}`examples/{path.name}`:\n\n```{LANGUAGES[path.suffix]}\n{code}```\n"


def listing(title: str, words: str, names: list[str]) -> str:
    """Return a page that lists other pages of its folder."""
    entries = "\n".join(names)
    return f"# {title}\n\n{words}\n\n```{{toctree}}\n:maxdepth: 1\n\n{entries}\n```\n"


def listed_pages(text: str) -> list[str]:
    """Return the pages that the toctrees of a page list."""
    found = []
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        found += [line for line in block.splitlines() if line and not line.startswith(":")]
    return found


def with_list(text: str, pages: list[str]) -> str:
    """Add a hidden list of pages, which puts them into the side bar below this page."""
    entries = "\n".join(pages)
    return f"{text}\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"


def linked_beside(text: str) -> list[str]:
    """Return the pages of the same folder that a page links to, in their order."""
    return list(dict.fromkeys(re.findall(r"\]\(([\w-]+)\.md\)", text)))


def gather(to: Path) -> None:
    """Copy all pages into the folder ``to``, which is emptied first."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(ROOT / "docs", to, ignore=shutil.ignore_patterns("__pycache__", "*.md"))
    docs = ROOT / "docs"
    pages = [
        *(path for path in docs.rglob("*.md") if "site" not in path.relative_to(docs).parts),
        *(ROOT / "examples" / "walks").glob("*.md"),
        *(ROOT / path for path in PLACES if path.endswith(".md") and path != "README.md"),
    ]
    for page in dict.fromkeys(pages):
        path = page.relative_to(ROOT).as_posix()
        place = to / str(place_of(path))
        place.parent.mkdir(parents=True, exist_ok=True)
        text = with_drawings(page.read_text(encoding="utf-8"), path)
        if path in ("docs/howto/index.md", "docs/theory/index.md"):
            text = with_list(text, linked_beside(text))
        elif path == "docs/benchmarks.md":
            text = with_list(text, ["benchmarks/results", "benchmarks/scripts"])
        place.write_text(with_links(text, path, to), encoding="utf-8")
    write_lists(to)
    for name, page_text in reference_pages(ROOT / "src" / "crfkit").items():
        (to / "reference" / name).write_text(page_text, encoding="utf-8")


def write_lists(to: Path) -> None:
    """Write the pages of examples, and the lists of walks, examples and notebooks."""
    for folder in ("examples", "notebooks", "reference"):
        (to / folder).mkdir(exist_ok=True)
    walks = sorted(path.stem for path in (ROOT / "examples" / "walks").glob("*.md"))
    examples = [path for path in sorted((ROOT / "examples").glob("*.*")) if path.suffix in LANGUAGES]
    for path in examples:
        (to / "examples" / f"{path.stem}.md").write_text(example_page(path), encoding="utf-8")
    notebooks = sorted((ROOT / "examples").glob("*.ipynb"))
    for path in notebooks:
        shutil.copy(path, to / "notebooks" / path.name)
    lists = {
        "walks": ("Walks", "From data to labels, with all output; the tests run every line.", walks),
        "examples": ("Examples", "Short, complete programs; the tests run them.", [p.stem for p in examples]),
        "notebooks": (
            "Notebooks",
            "With their output; the tests run them and compare.",
            [p.stem for p in notebooks],
        ),
    }
    for folder, (title, words, names) in lists.items():
        (to / folder / "index.md").write_text(listing(title, words, names), encoding="utf-8")
