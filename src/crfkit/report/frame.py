"""The frame of all HTML pages that crfkit writes: one file, nothing from the network, light and dark.

A page is a template in ``templates/`` that extends ``base.html``. Values are escaped when they are put into a
template, so text from data and models cannot become markup; no other code writes tags. ``macros.html`` has
tables that a click on a column's head sorts.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from crfkit.io.writing import open_output
from crfkit.optional import needed


def check_engine(what: str = "an HTML page") -> None:
    """Raise an error if Jinja2 is missing: for commands that work long before they write a page."""
    needed("jinja2", what)


def render(template: str, **values: Any) -> str:
    """Return a template of the folder ``templates``, filled in."""
    check_engine()
    text: str = _environment().get_template(template).render(**values)
    return text


def write_page(page: str, path: str | os.PathLike[str]) -> None:
    """Write a page to a file, completely or not at all; ``-`` is standard output."""
    with open_output(path) as file:
        file.write(page.encode("utf-8", "replace"))


@cache
def _environment() -> Any:
    jinja2 = needed("jinja2", "an HTML page")
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # ``tojson`` escapes <, > and &, so that "</script>" in the data does not end the script it stands in.
    found.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return found
