"""TreeCRF: the published results, and the paper's open ends.

Dietterich, Ashenfelter and Bulatov, "Training conditional random fields via gradient tree boosting",
ICML 2004.

    python benchmarks/papers/treecrf.py proteins [--plots DIRECTORY] [--markdown FILE]
    python benchmarks/papers/treecrf.py faq nettalk rs126 missing cost

Settings were chosen by cross-validation on training data (``--tune`` shows it); test data is looked at
once.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]

from tables import provenance, publish  # noqa: E402

PARTS = ("proteins", "faq", "nettalk", "rs126", "missing", "cost")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which parts (default: proteins)")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    parser.add_argument("--tune", action="store_true", help="the cross-validation that chose the settings")
    parser.add_argument("--only", metavar="TEXT", help="only rows whose name has this in it")
    parser.add_argument("--plots", type=Path, metavar="DIRECTORY", help="pictures go here (needs matplotlib)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the tables go here as well")
    arguments = parser.parse_args()
    if arguments.plots is not None:
        arguments.plots.mkdir(parents=True, exist_ok=True)
    pieces = []
    for part in arguments.parts or ["proteins"]:
        module = import_module(f"treecrf_{part}")
        pieces.append(module.report(arguments))
    pieces.append(provenance("benchmarks/papers/treecrf.py"))
    publish("\n\n".join(pieces), arguments.markdown)


if __name__ == "__main__":
    main()
