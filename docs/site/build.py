"""Build the documentation site: ``make site``. Warnings are errors."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from gather import ROOT, TOOLS, gather


def main() -> int:
    """Gather the pages, run Sphinx, and say where the site is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "site", help="the folder of the site (site/)")
    parser.add_argument("--pages", type=Path, default=ROOT / "build" / "site", help="gathered pages")
    arguments = parser.parse_args()
    os.environ["CRFKIT_SITE_TOOLS"] = str(TOOLS)
    os.environ.setdefault("MPLBACKEND", "agg")
    gather(arguments.pages)
    from sphinx.cmd.build import build_main

    code = build_main(["-q", "-W", "--keep-going", "-j", "auto", str(arguments.pages), str(arguments.output)])
    if code == 0:
        print(f"open {arguments.output / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
