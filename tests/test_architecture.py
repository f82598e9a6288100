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
    ("cli", "report", "annotate", "distributed"),
    ("apps", "compat", "model_selection"),
    ("models",),
    ("selection", "mining"),
    ("objectives",),
    ("optim", "potentials"),
    ("kernels", "features"),
    ("inference",),
    ("data", "datasets", "metrics", "io"),
    (
        *("tagger", "exceptions", "parameters", "arrays", "threads", "progress", "log", "warn"),
        *("optional", "conventions", "plain_estimator", "_lazy", "_native", "upper_floors"),
    ),
)
FLOOR = {room: -n for n, rooms in enumerate(FLOORS) for room in rooms}

# Optimisers know nothing of CRFs, and potentials nothing of optimisers.
FORBIDDEN = {
    "optim": set(FLOOR) - {"optim", *FLOORS[-1]},
    "potentials": {"optim"},
}

# Optional libraries: `needed` and `find` of optional.py import them when a function needs them. Only the
# base classes of estimators are imported when a module loads, in conventions.py.
OPTIONAL = {
    *("sklearn", "scipy", "joblib", "threadpoolctl", "lightgbm", "matplotlib", "tqdm", "pandas", "pyarrow"),
    *("pynndescent", "dask", "distributed", "narwhals", "jinja2", "starlette", "uvicorn", "maxflow"),
}
IMPORTS_OPTIONAL = {"sklearn": "conventions.py", "dask": "distributed/", "distributed": "distributed/"}
# ... and these are asked for in one place only.
ONLY_IN = {
    **{"lightgbm": "models/trees/grower.py", "jinja2": "report/frame.py"},
    **{"starlette": "annotate/server.py", "uvicorn": "annotate/server.py"},
    "maxflow": "inference/max_flow.py",
}


@dataclass(frozen=True)
class Import:
    module: str  # dotted and absolute
    line: int
    at_the_top: bool  # runs when the module is imported
    for_types: bool = False  # only type checkers read it


def is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def imports_of(tree: ast.Module, package: str) -> Iterator[Import]:
    """Yield all imports; ``package`` is the dotted package of the module, for relative ones."""

    def walk(node: ast.AST, at_the_top: bool, for_types: bool = False) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, at_the_top, for_types)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                # `from crfkit import metrics` names a room in the alias.
                yield Import(f"{base}.{alias.name}", node.lineno, at_the_top, for_types)
        elif isinstance(node, ast.If) and is_type_checking(node.test):
            for child in node.body:
                yield from walk(child, False, True)
            for child in node.orelse:
                yield from walk(child, at_the_top)
        else:
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                yield from walk(child, at_the_top and not inside, for_types)

    yield from walk(tree, True)


def asked_for(tree: ast.Module) -> Iterator[tuple[str, int, bool]]:
    """Yield library and line of each `needed("library.module", …)`, and whether it runs on import."""

    def walk(node: ast.AST, at_the_top: bool) -> Iterator[tuple[str, int, bool]]:
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("needed", "find") and node.args:
            name = node.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield name.value.split(".")[0], node.lineno, at_the_top
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
        may = IMPORTS_OPTIONAL.get(top)
        if top in OPTIONAL and not item.for_types and not (may and path.startswith(may)):
            found.append(f"{where}: imports {top}, which may be missing: ask crfkit.optional for it")
        if target is None or room == "__init__":  # crfkit/__init__.py offers names of every room
            continue
        if target not in FLOOR:
            found.append(
                f"{where}: imports crfkit.{target}, a room this test does not know; add it to FLOORS"
            )
        elif FLOOR[target] > FLOOR[room] or target in FORBIDDEN.get(room, ()):
            found.append(f"{where}: {room} must not import {target} ({item.module})")
    for library, line, at_the_top in asked_for(tree):
        where = f"{path}:{line}"
        if library not in OPTIONAL:
            found.append(f"{where}: asks for {library}, which this test does not know; add it to OPTIONAL")
        if library in ONLY_IN and path != ONLY_IN[library]:
            found.append(f"{where}: asks for {library}, which only {ONLY_IN[library]} may")
        if at_the_top and path != "compat/sklearn_crfsuite/scorers.py":
            found.append(f"{where}: asks for {library} when the module loads; ask where it is used")
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
        ("models/x.py", "import tqdm", "imports tqdm, which may be missing"),
        ("models/x.py", "from sklearn.base import clone", "imports sklearn, which may be missing"),
        ("models/x.py", "def f():\n    import scipy.sparse", "imports scipy, which may be missing"),
        ("models/x.py", "x = needed('scipy.sparse', 'x')", "asks for scipy when the module loads"),
        (
            "models/x.py",
            "def f():\n    needed('torch', 'x')",
            "asks for torch, which this test does not know",
        ),
        (
            "models/x.py",
            "try:\n    import pandas as pd\nexcept ImportError:\n    pd = None",
            "imports pandas",
        ),
        ("models/x.py", "class A:\n    import matplotlib.pyplot", "imports matplotlib, which"),
        ("models/x.py", "def f():\n    needed('lightgbm', 'x')", "only models/trees/grower.py may"),
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
        ("models/x.py", "def progress():\n    tqdm = find('tqdm.auto')"),
        ("models/trees/grower.py", "def fit():\n    needed('lightgbm', 'training')"),
        ("conventions.py", "from sklearn.base import BaseEstimator"),
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
