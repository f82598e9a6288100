"""Packages that import their public names on first use (PEP 562), so that start-up is fast."""

from __future__ import annotations

import os
import sys
from importlib import import_module

TYPE_CHECKING = False  # importing it from typing would take longer than everything else here
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def public_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    The public names are listed once, in the ``__init__.pyi`` beside the package's ``__init__.py``, whose
    lines are ``from module import name as name``. Readers, type checkers and this function use that list.
    """
    with open(os.path.splitext(file)[0] + ".pyi", encoding="utf-8") as stub:
        words = [line.split() for line in stub if line.startswith("from ")]
    modules = {name: module for _, module, _, name, *_ in words}
    names = sorted(modules)

    def fetch(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if modules[name] == package:
            value: Any = import_module(f"{package}.{name}")
        else:
            value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # later accesses do not call this function
        return value

    for name in names:
        if modules[name] == f"{package}.{name}":
            fetch(name)  # now: importing the module later would overwrite the name
    return fetch, lambda: names, names


def moved_to(module: str) -> Callable[[str], Any]:
    """Return ``__getattr__`` for a module whose contents have moved to another one."""
    return lambda name: getattr(import_module(module), name)
