"""Build the documentation site: ``make site``. Warnings are errors."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from accessible import mend
from gather import ROOT, TOOLS, gather

# What a browser fetches by itself; links that a reader may follow are free.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|object|embed)\b[^>]*?\b(?:src|data)\s*=\s*["']?(?:https?:)?//[^>]*>"""
    r"""|<link\b(?![^>]*rel\s*=\s*["']?canonical)[^>]*?\bhref\s*=\s*["']?(?:https?:)?//[^>]*>"""
    r"""|@import\s+[^;]*//[^;]*;|url\(\s*["']?(?:https?:)?//[^)]*\)""",
    re.IGNORECASE,
)


def fetched(folder: Path) -> list[str]:
    """Return what the pages of a site would fetch from the network: there must be nothing."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".html", ".css"):
            text = path.read_text(encoding="utf-8", errors="replace")
            found += [f"{path.relative_to(folder)}: {match.group()}" for match in FETCHED.finditer(text)]
    return found


def main() -> int:
    """Gather the pages, run Sphinx, and say where the site is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "site" / "html", help="the site")
    parser.add_argument("--pages", type=Path, default=ROOT / "build" / "site", help="gathered pages")
    arguments = parser.parse_args()
    os.environ["CRFKIT_SITE_TOOLS"] = str(TOOLS)
    os.environ.setdefault("MPLBACKEND", "agg")
    gather(arguments.pages)
    from sphinx.cmd.build import build_main

    code = build_main(["-q", "-W", "--keep-going", "-j", "auto", str(arguments.pages), str(arguments.output)])
    if code:
        return code
    mend(arguments.output)
    outside = fetched(arguments.output)
    print(*(f"fetches from the network: {line}" for line in outside), sep="\n", end="\n" if outside else "")
    print(f"open {arguments.output / 'index.html'}")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
