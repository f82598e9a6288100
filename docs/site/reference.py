"""The reference: a page per public package and per estimator, and a Sphinx extension that leaves members out.

The public names of a package are listed in its ``__init__.pyi`` (crfkit/_lazy.py); autodoc takes the texts
from the docstrings.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

WITHOUT_STUB = ("crfkit.datasets", "crfkit.exceptions")
NOT_HERE = ("crfkit.compat",)  # the names of other packages, documented there
TABLES = {"FORMATS", "CHAIN", "__version__"}  # values, not things to call


def public_names(module: str, package: Path) -> list[str]:
    """Return the public names of a module, from its stub or from what it defines."""
    stub = package.joinpath(*module.split(".")[1:], "__init__.pyi")
    if stub.exists():
        words = [line.split() for line in stub.read_text(encoding="utf-8").splitlines()]
        return [line[-1] for line in words if line[:1] == ["from"]]
    loaded = import_module(module)
    return [name for name, value in vars(loaded).items() if name[0] != "_" and getattr(value, "__doc__", "")]


def entry(module: str, name: str, value: Any) -> str:
    """Return the directive that documents one name."""
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
    options = {"class": "\n   :members:\n   :inherited-members:", "data": "\n   :no-value:"}.get(kind, "")
    return f".. auto{kind}:: {module}.{name}{options}\n"


def heading(title: str) -> str:
    """Return a title and its underline."""
    return f"{title}\n{'=' * len(title)}\n"


def reference_pages(package: Path) -> dict[str, str]:
    """Return file names and texts: one page per package, one per class of crfkit itself, and their list."""
    stubs = sorted(package.rglob("__init__.pyi"), key=lambda stub: (len(stub.parts), stub.parts))
    modules = [".".join(stub.parent.relative_to(package.parent).parts) for stub in stubs]
    modules = [name for name in (*modules, *WITHOUT_STUB) if not name.startswith(NOT_HERE)]
    pages: dict[str, str] = {}
    own: list[str] = []
    seen: set[int] = set()  # a name that two packages offer is documented in the first
    for module in modules:
        loaded = import_module(module)
        found = {name: getattr(loaded, name) for name in sorted(public_names(module, package), key=str.lower)}
        values = {k: v for k, v in found.items() if k not in TABLES and not inspect.ismodule(v)}
        found = {k: v for k, v in values.items() if id(v) not in seen}
        seen.update(map(id, found.values()))
        table = f".. currentmodule:: {module}\n\n.. autosummary::\n   :nosignatures:\n\n"
        table += "".join(f"   {name}\n" for name in found)
        about = f".. automodule:: {module}\n   :no-index:\n"
        parts = [heading(module), about, table]
        if module == "crfkit":
            for name, value in found.items():
                own.append(f"{module}.{name}")
                pages[f"{module}.{name}.rst"] = "\n".join([heading(name), entry(module, name, value)])
        else:
            parts += [entry(module, name, value) for name, value in found.items()]
        pages[f"{module}.rst"] = "\n".join(parts)
    lists = [("Models and taggers", own), ("Packages", modules)]
    index = ["# Reference\n\nEvery public name, from its docstring: what `help(crfkit.CRF)` shows.\n"]
    for caption, names in lists:
        entries = "\n".join(names)
        index.append(f"```{{toctree}}\n:maxdepth: 1\n:caption: {caption}\n\n{entries}\n```\n")
    pages["index.md"] = "\n".join(index)
    return pages


def leave_out(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what classes inherit from outside (scikit-learn, tuples, exceptions)."""
    if isinstance(member, property):
        member = member.fget
    if type(member).__name__ == "RequestMethod":  # scikit-learn's set_fit_request and the like
        return True
    module = getattr(inspect.unwrap(member), "__module__", None) if callable(member) else ""
    return True if module is None or module.startswith("sklearn") else None


def setup(app: Any) -> dict[str, Any]:
    """Connect the extension to autodoc."""
    app.connect("autodoc-skip-member", leave_out)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
