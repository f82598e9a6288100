"""Packages that fetch their public names at first use (PEP 562): nobody waits for what is not used."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def public_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Its public names are listed once, for readers, type checkers and this function alike: in the
    ``__init__.pyi`` beside its ``__init__.py``, whose lines are ``from module import name as name``.
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
        setattr(sys.modules[package], name, value)  # the next access no longer comes through here
        return value

    for name in names:
        if modules[name] == f"{package}.{name}":
            fetch(name)  # now: importing the module later would put it in the place of the name
    return fetch, lambda: names, names


def moved_to(module: str) -> Callable[[str], Any]:
    """``__getattr__`` of a module whose contents now live in another one."""
    return lambda name: getattr(import_module(module), name)
