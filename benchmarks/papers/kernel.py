"""Kernel CRFs: the experiments of Lafferty, Zhu and Liu (ICML 2004), with settings of our own.

The settings are ours, as the paper's are not at hand; the sizes are those of docs/kernel.md.

    python benchmarks/papers/kernel.py galaxy mixtures [--plots DIRECTORY] [--markdown FILE]
    python benchmarks/papers/kernel.py proteins [--sizes 5 10] [--trials 10] [--cache FILE]
    python benchmarks/papers/kernel.py folds
    python benchmarks/papers/kernel.py defaults
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]

from tables import provenance, publish  # noqa: E402

PARTS = ("galaxy", "mixtures", "proteins", "folds", "defaults")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", choices=[*PARTS, []], help="which parts (default: galaxy mixtures)"
    )
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    parser.add_argument("--sizes", type=int, nargs="+", default=[5, 10], help="of proteins: training chains")
    parser.add_argument("--trials", type=int, help="how many (default: 20; proteins, defaults 10; folds 7)")
    parser.add_argument("--plots", type=Path, metavar="DIRECTORY", help="pictures go here (needs matplotlib)")
    parser.add_argument(
        "--cache", type=Path, metavar="FILE", help="keep finished trials and folds of proteins here"
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the tables go here as well")
    arguments = parser.parse_args()
    if arguments.plots is not None:
        arguments.plots.mkdir(parents=True, exist_ok=True)
    pieces = []
    for part in arguments.parts or ["galaxy", "mixtures"]:
        module = import_module(f"kernel_{part}")
        pieces.append(module.report(arguments))
    pieces.append(provenance("benchmarks/papers/kernel.py"))
    publish("\n\n".join(pieces), arguments.markdown)


if __name__ == "__main__":
    main()
