"""Libraries that crfkit uses where they are installed. Only this module and ``conventions`` import them.

NumPy is the only library that crfkit depends on. All others belong to an extra of the package: ``pip install
'crfkit[sklearn]'``. They are imported when a function needs them, because some take a second to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from crfkit.exceptions import MissingLibraryError

# Name of the module: name of the library, and what pip installs for it.
_LIBRARIES = {
    "sklearn": ("scikit-learn", "crfkit[sklearn]"),
    "scipy": ("SciPy", "crfkit[sklearn]"),
    "joblib": ("joblib", "crfkit[sklearn]"),
    "threadpoolctl": ("threadpoolctl", "crfkit[sklearn]"),
    "lightgbm": ("LightGBM", "crfkit[trees]"),
    "matplotlib": ("matplotlib", "crfkit[plot]"),
    "pynndescent": ("pynndescent", "crfkit[graph]"),
    "maxflow": ("PyMaxflow", "crfkit[maxflow]"),
    "pandas": ("pandas", "pandas"),
    "pyarrow": ("pyarrow", "pyarrow"),
    "narwhals": ("narwhals", "crfkit[tables]"),
    "starlette": ("Starlette", "crfkit[annotate]"),
    "uvicorn": ("uvicorn", "crfkit[annotate]"),
    "jinja2": ("Jinja2", "crfkit[report]"),
    "distributed": ("Dask", "crfkit[dask]"),
}


def find(module: str) -> Any:
    """Return a module of an optional library; None if the library is not installed."""
    try:
        return import_module(module)
    except ImportError:
        return None


def needed(module: str, what: str, extra: str | None = None, more: str = "") -> Any:
    """Return a module of an optional library, or raise an error that says how to install it.

    ``what`` begins the message, in the singular: "a plot". ``extra`` names another extra of crfkit than the
    library's usual one, and ``more`` is added to the message.
    """
    try:
        return import_module(module)
    except ImportError as error:
        top = module.split(".")[0]
        library, source = _LIBRARIES[top]
        source = source if extra is None else f"crfkit[{extra}]"
        missing = isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == top
        because = "is not installed" if missing else f"cannot be imported ({error})"
        quoted = f"'{source}'" if "[" in source else source
        raise MissingLibraryError(
            f"{what} needs {library}, which {because}: pip install {quoted}{more}", name=top
        ) from error
