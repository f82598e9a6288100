"""Sphinx extension: formulas as MathML, which browsers draw themselves. No script, no font, no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    """Write a displayed formula; blank lines separate formulas that stand below each other."""
    parts = [part for part in node.astext().split("\n\n") if part.strip()]
    translator.body.append(translator.starttag(node, "div", CLASS="math-display", tabindex="0", role="group"))
    translator.body.extend(convert(part, display="block") for part in parts)
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name that ``html_math_renderer`` asks for."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
