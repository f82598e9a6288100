"""The house rules that can be checked automatically: imports between rooms, docstrings, no print.

The order of the rooms is that of ARCHITECTURE.md. A module may import from its own room and below.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "crfkit"

# From the top floor down. Rooms on one floor may use each other.
FLOORS = (
    ("__main__",),
    ("cli", "report", "distributed"),
    ("apps", "compat"),
    ("models",),
    ("selection", "mining"),
    ("objectives",),
    ("optim", "potentials"),
    ("kernels", "features"),
    ("inference",),
    ("data", "datasets", "metrics", "io"),
    ("exceptions", "parameters", "arrays", "threads", "progress", "_lazy", "_native"),
)
FLOOR = {room: -n for n, rooms in enumerate(FLOORS) for room in rooms}

# Optimisers know nothing of CRFs, and potentials nothing of optimisers.
FORBIDDEN = {
    "optim": set(FLOOR) - {"optim", *FLOORS[-1]},
    "potentials": {"optim"},
}

# Optional or slow to import: only inside the function that needs them.
NOT_AT_THE_TOP = {"lightgbm", "dask", "distributed", "matplotlib", "tqdm", "pandas", "pynndescent"}
# ... and these two are imported in one place only.
ONLY_IN = {"lightgbm": "models/trees/grower.py", "dask": "distributed/"}


@dataclass(frozen=True)
class Import:
    module: str  # dotted and absolute
    line: int
    at_the_top: bool  # runs when the module is imported


def is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def imports_of(tree: ast.Module, package: str) -> Iterator[Import]:
    """Yield all imports; ``package`` is the dotted package of the module, for relative ones."""

    def walk(node: ast.AST, at_the_top: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, at_the_top)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                # `from crfkit import metrics` names a room in the alias.
                yield Import(f"{base}.{alias.name}", node.lineno, at_the_top)
        elif isinstance(node, ast.If) and is_type_checking(node.test):
            for child in node.body:
                yield from walk(child, False)
            for child in node.orelse:
                yield from walk(child, at_the_top)
        else:
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                yield from walk(child, at_the_top and not inside)

    yield from walk(tree, True)


def room_of(module: str) -> str | None:
    """Return the room of a dotted name; None outside crfkit and for crfkit itself (its version)."""
    parts = module.split(".")
    if parts[0] != "crfkit" or len(parts) < 2 or parts[1] in ("__version__", "CRF", "TreeCRF"):
        return None
    return parts[1]


def room_at(path: str) -> str:
    """Return the room of a file below src/crfkit."""
    return Path(path).parts[0].split(".")[0]


def problems(source: str, path: str) -> list[str]:
    """Return the violations in ``source``, the file at ``path`` below src/crfkit."""
    tree = ast.parse(source)
    room = room_at(path)
    package = ".".join(["crfkit", *Path(path).parts[:-1]])
    found = []
    if ast.get_docstring(tree) is None and path.endswith(".py"):
        found.append(f"{path}:1: the module has no docstring")
    for item in imports_of(tree, package):
        top = item.module.split(".")[0]
        target = room_of(item.module)
        where = f"{path}:{item.line}"
        if item.at_the_top and top in NOT_AT_THE_TOP:
            found.append(f"{where}: imports {top} when the module loads; import it where it is used")
        if top in ONLY_IN and not path.startswith(ONLY_IN[top]):
            found.append(f"{where}: imports {top}, which only {ONLY_IN[top]} may")
        if target is None or room == "__init__":  # crfkit/__init__.py offers names of every room
            continue
        if target not in FLOOR:
            found.append(
                f"{where}: imports crfkit.{target}, a room this test does not know; add it to FLOORS"
            )
        elif FLOOR[target] > FLOOR[room] or target in FORBIDDEN.get(room, ()):
            found.append(f"{where}: {room} must not import {target} ({item.module})")
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            found.append(f"{path}:{node.lineno}: assert in library code; raise an error that says what to do")
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print" and room != "cli":
            found.append(f"{path}:{node.lineno}: print in library code; only cli prints")
    return found


STUBS = PACKAGE.rglob("__init__.pyi")  # the public names of a package
SOURCES = sorted(path.relative_to(PACKAGE).as_posix() for path in (*PACKAGE.rglob("*.py"), *STUBS))


@pytest.mark.parametrize("path", SOURCES)
def test_house_rules(path):
    room = room_at(path)
    assert room in (*FLOOR, "__init__"), f"{path}: a room this test does not know; add it to FLOORS"
    assert problems((PACKAGE / path).read_text(encoding="utf-8"), path) == []


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("data/x.py", "from crfkit.models.linear.crf import CRF", "data must not import models"),
        ("data/x.py", "from crfkit import models", "data must not import models"),
        ("data/x.py", "from ..models import crf", "data must not import models"),
        ("data/x.py", "def f():\n    import crfkit.cli", "data must not import cli"),
        ("optim/x.py", "from crfkit.inference import chain", "optim must not import inference"),
        ("potentials/x.py", "import crfkit.optim.lbfgs", "potentials must not import optim"),
        ("models/x.py", "import tqdm", "imports tqdm when the module loads"),
        (
            "models/x.py",
            "try:\n    import pandas as pd\nexcept ImportError:\n    pd = None",
            "imports pandas",
        ),
        ("models/x.py", "class A:\n    import matplotlib.pyplot", "imports matplotlib when"),
        ("models/x.py", "def f():\n    import lightgbm", "only models/trees/grower.py may"),
        ("models/x.py", "from crfkit.helpers import f", "a room this test does not know"),
        ("models/x.py", "print('x')", "print in library code"),
        ("models/x.py", "assert True", "assert in library code"),
    ],
)
def test_the_rules_bite(path, code, message):
    found = problems(f'"""Docstring."""\n{code}', path)
    assert len(found) >= 1
    assert message in found[0]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (
            "models/x.py",
            "from crfkit.inference.lattice import Lattice\nfrom crfkit.exceptions import InputError",
        ),
        ("models/x.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas"),
        ("models/x.py", "def progress():\n    import tqdm"),
        ("models/trees/grower.py", "def fit():\n    import lightgbm"),
        ("cli/x.py", "from crfkit import __version__, datasets\nprint(__version__)"),
        ("models/x.py", "from . import crf"),
        ("data/x.py", "from crfkit import _native"),
    ],
)
def test_the_rules_permit(path, code):
    assert problems(f'"""Docstring."""\n{code}', path) == []


def test_missing_docstring():
    assert problems("x = 1", "data/x.py") == ["data/x.py:1: the module has no docstring"]


def test_the_drawing_names_every_room():
    """ARCHITECTURE.md mentions each room that exists."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = {path.split("/")[0] for path in SOURCES if "/" in path}
    assert [room for room in sorted(rooms) if f"{room}" not in text] == []
