"""Training under validation constraints: the published experiments on genes, and text with little data.

Chen, Chen, Brent and Tenney, "Constrained optimization for validation-guided conditional random field
learning" (KDD 2009). The
experiment on stocks has a script of its own.

    python benchmarks/papers/constrained.py genes [--results FILE] [--plots DIRECTORY] [--markdown FILE]
    python benchmarks/papers/constrained.py gradients text
    python benchmarks/papers/constrained.py explained --results FILE --plots DIRECTORY

With --results, what has been trained is kept in that file and not trained again.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from importlib import import_module
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]

from results_file import Results  # noqa: E402
from tables import provenance, publish  # noqa: E402

from crfkit.exceptions import ConvergenceWarning, InputWarning  # noqa: E402

PARTS = ("genes", "gradients", "text", "explained")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which parts (default: genes)")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep finished trainings here")
    parser.add_argument("--known", action="store_true", help="tables of what --results has; train nothing")
    parser.add_argument("--plots", type=Path, metavar="DIRECTORY", help="pictures go here (needs matplotlib)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the tables go here as well")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", InputWarning)
    if arguments.plots is not None:
        arguments.plots.mkdir(parents=True, exist_ok=True)
    pieces = []
    for part in arguments.parts or ["genes"]:
        module = import_module(f"constrained_{part}")
        results = Results(arguments.results, closed=arguments.known)
        pieces.append(module.report(arguments.quick, results, arguments.plots))
    pieces.append(provenance("benchmarks/papers/constrained.py"))
    publish("\n\n".join(pieces), arguments.markdown)


if __name__ == "__main__":
    main()
