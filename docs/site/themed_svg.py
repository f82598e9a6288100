"""SVG pictures that follow the reader's light or dark setting, alone or inside a page of the site."""

from __future__ import annotations

import re

LIGHT = {"ink": "#1f2933", "edge": "#52606d", "ask": "#eef2f7", "take": "#e2f1ec"}
DARK = {"ink": "#e4e7eb", "edge": "#9aa5b1", "ask": "#2b3440", "take": "#1f3d35"}
PICTURE = re.compile(r"^!\[(?P<words>[^\]]*)\]\((?P<path>[^)\s]+\.svg)\)$", re.MULTILINE)


def colours(name: str) -> str:
    """Return the rules that define the colours of pictures of class ``name`` as CSS variables."""
    light, dark = ("; ".join(f"--{key}: {value}" for key, value in table.items()) for table in (LIGHT, DARK))
    return (
        f".{name} {{ {light}; color: var(--ink); }}\n"
        f"@media (prefers-color-scheme: dark) {{ .{name} {{ {dark}; }} }}\n"
        f'body[data-theme="light"] .{name} {{ {light}; }}\n'
        f'body[data-theme="dark"] .{name} {{ {dark}; }}'
    )


def inlined(svg: str, label: str) -> str:
    """Return a picture as a block of HTML for a Markdown page: its text can be read and selected there."""
    start = svg.index("<svg")
    figure = f'<figure class="drawn" tabindex="0" aria-label="{label}">\n{svg[start:].strip()}\n</figure>'
    return f"```{{raw}} html\n{figure}\n```"
