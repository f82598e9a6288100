"""Mend what Sphinx, the theme and the gallery leave open for people who use a keyboard or a screen reader.

axe-core names each of these; the pages are changed after they were built, and a second time changes nothing.
"""

from __future__ import annotations

import re
from pathlib import Path


def _signature(match: re.Match[str]) -> str:
    """Write the lines of a long signature as spans: a list of definitions may not stand inside a term."""
    lines = match["lines"].replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")
    return f'<span class="sig-paren">(</span><span class="sig-lines">{lines}</span>'


def mended(page: str) -> str:
    """Return a page with its headings, landmarks, links and scrolling parts marked as such."""
    page = page.replace(
        '<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'
    )
    page = page.replace(
        '<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="All pages">'
    )
    page = re.sub(r'<aside class="(toc-drawer[^"]*)">', r'<aside class="\1" aria-label="This page">', page)
    page = re.sub(
        r"""<th(?: class="head[^"]*"| style=(?:"[^"]*"|'[^']*'))?>(?:<p></p>)?</th>""", "<td></td>", page
    )
    page = re.sub(
        r"""<div style=(["'])overflow-x:auto\1>""", '<div style="overflow-x:auto" tabindex="0">', page
    )
    page = re.sub(r"<pre>", '<pre tabindex="0">', page)
    page = re.sub(r'<div class="(table-wrapper[^"]*)">', r'<div class="\1" tabindex="0">', page)
    page = re.sub(
        r'<span class="sig-paren">\(</span>\s*<dl>(?P<lines>.*?)</dl>', _signature, page, flags=re.DOTALL
    )
    return re.sub(  # a title in the gallery, which the theme of the gallery makes invisible
        r'(<a class="reference internal" href="plot_\w+\.html")(><span class="doc">([^<]*)</span></a>)',
        r'\1 aria-label="\3"\2',
        page,
    )


def mend(folder: Path) -> None:
    """Mend all pages of a built site."""
    for path in folder.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        changed = mended(text)
        if changed != text:
            path.write_text(changed, encoding="utf-8")
