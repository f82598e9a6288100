"""Packages that fetch their public names at first use (PEP 562): nobody waits for what is not used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose public names are in ``modules``: name -> module.

    A name whose module is the name itself, in full, is a subpackage.
    """

    def fetch(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(modules[name])
        value = module if module.__name__ == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)  # the next access no longer comes through here
        return value

    return fetch, lambda: sorted(modules)


def moved_to(module: str) -> Callable[[str], Any]:
    """``__getattr__`` of a module whose contents now live in another one."""
    return lambda name: getattr(import_module(module), name)
