"""Feature selection: the published tables, and what the same methods do on text and on genes.

Chen, Chen, Brent and Tenney, "Gradient-based feature selection for conditional random fields and its
applications in computational genetics".

    python benchmarks/papers/selection.py casino [--plots DIRECTORY] [--markdown FILE]
    python benchmarks/papers/selection.py text genes induction
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]

from tables import provenance, publish  # noqa: E402

PARTS = ("casino", "text", "genes", "induction")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which parts (default: casino)")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    parser.add_argument("--plots", type=Path, metavar="DIRECTORY", help="pictures go here (needs matplotlib)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the tables go here as well")
    parser.add_argument("--verbose", action="store_true", help="a line a round on stderr")
    arguments = parser.parse_args()
    if arguments.plots is not None:
        arguments.plots.mkdir(parents=True, exist_ok=True)
    pieces = []
    for part in arguments.parts or ["casino"]:
        module = import_module(f"selection_{part}")
        pieces.append(module.report(arguments.quick, arguments.plots, arguments.verbose))
    pieces.append(provenance("benchmarks/papers/selection.py"))
    publish("\n\n".join(pieces), arguments.markdown)


if __name__ == "__main__":
    main()
