"""Sphinx extension: formulas as SVG, drawn by ziamath when the site is built.

They look the same in every browser, need no script, no font and no network, and take the colour of the text
around them. Screen readers get the formula's source.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

import ziafont
import ziamath
from docutils import nodes
from sphinx.application import Sphinx

SIZE = 16.0  # px; written in em, so that formulas grow with the text
ziamath.config.svg2 = False  # glyphs as paths: no ids that two formulas of a page could share
ziamath.config.precision = ziafont.config.precision = 2


def drawn(source: str, *, inline: bool) -> str:
    """Return a formula as SVG in units of the text's size, on the text's baseline."""
    formula = ziamath.Latex(source, size=SIZE, color="currentColor", inline=inline)
    svg: str = formula.svg()
    width, height = (float(re.search(rf' {side}="([\d.]+)"', svg)[1]) / SIZE for side in ("width", "height"))  # type: ignore[index]
    style = f"width:{width:.3f}em;height:{height:.3f}em;vertical-align:{formula.getyofst() / SIZE:.3f}em"
    svg = re.sub(r'<svg [^>]*?(viewBox="[^"]*")', rf'<svg style="{style}" \1', svg, count=1)
    return f'<span class="formula" role="img" aria-label="{escape(source.strip())}">{svg}</span>'


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(drawn(node.astext(), inline=True))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="formula-display", tabindex="0"))
    translator.body.append(drawn(node.astext(), inline=False))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name that ``html_math_renderer`` asks for."""
    app.add_html_math_renderer("drawn", (_inline, None), (_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
