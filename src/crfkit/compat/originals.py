"""Lets ``import pycrfsuite`` and ``import sklearn_crfsuite`` find crfkit's shims, for code that is not yours.

Each name of the originals, submodules included, is another name of one of our modules: there is one class
CRF, whichever way it is imported. Nothing is imported before it is asked for.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

from crfkit.exceptions import InputError

_OURS = {
    "pycrfsuite": "crfkit.compat.pycrfsuite",
    "pycrfsuite._pycrfsuite": "crfkit.compat.pycrfsuite",
    "pycrfsuite._logparser": "crfkit.compat.pycrfsuite.training_log",
    "pycrfsuite._dumpparser": "crfkit.compat.pycrfsuite.dump",
    "sklearn_crfsuite": "crfkit.compat.sklearn_crfsuite",
    "sklearn_crfsuite._fileresource": "crfkit.compat.sklearn_crfsuite.file_resource",
    **{
        f"sklearn_crfsuite.{name}": f"crfkit.compat.sklearn_crfsuite.{name}"
        for name in ("estimator", "metrics", "scorers", "trainer", "utils")
    },
}
# "from pycrfsuite import _logparser" looks for it under the true name of the package.
_OURS |= {f"crfkit.compat.{name}": ours for name, ours in _OURS.items() if "._" in name}


def install() -> None:
    """Make ``import pycrfsuite`` and ``import sklearn_crfsuite`` import crfkit's shims from now on.

    Call it before anything imports the originals; they need not be installed. Pickles of
    ``sklearn_crfsuite.CRF`` then load too. Calling it again has no effect.
    """
    for name, ours in _OURS.items():
        module = sys.modules.get(name)
        if module is not None and module is not sys.modules.get(ours):
            raise InputError(
                f"{name} is already imported from {getattr(module, '__file__', None) or 'elsewhere'}: call "
                "crfkit.compat.install() before anything imports it"
            )
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds our modules under the names of the originals."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(fullname, self) if fullname in _OURS else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(_OURS[spec.name])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing but give the module its own spec back, which the import system has replaced."""
        alias = module.__spec__
        module.__spec__ = None if alias is None else alias.loader_state
