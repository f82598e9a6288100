"""Large data: what it costs. Parts, each a module in ``benchmarks/scale_parts``:

    python benchmarks/scale.py threads                # one thread against two, 10⁵ to 10⁷ features
    python benchmarks/scale.py blocks --tokens 1e7    # training from disk against training from memory
    python benchmarks/scale.py cluster --tokens 1e6   # two Dask workers against two threads, and a simulation
    python benchmarks/scale.py tagging                # crfkit tag on large files

Every part prints its figures as JSON lines.
"""

from __future__ import annotations

import argparse
from importlib import import_module

PARTS = ("threads", "blocks", "cluster", "tagging")


def main() -> None:
    """Run the part that is named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="PART")
    for name in PARTS:
        module = import_module(f"scale_parts.{name}")
        own = commands.add_parser(name, description=module.__doc__)
        module.add_options(own)
        own.set_defaults(run=module.run)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
