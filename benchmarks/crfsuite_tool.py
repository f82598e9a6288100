"""What a user of python-crfsuite has instead of a command: a script from column file to model, and to labels.

    python benchmarks/crfsuite_tool.py train train.txt model --c2 0.05
    python benchmarks/crfsuite_tool.py tag model test.txt > tagged.txt

Imports nothing of crfkit: its times and its memory are those of python-crfsuite with features made in Python.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import pycrfsuite

# The 19 templates of tasks.py, the ones that chunking.template spells for CRF++: (column, offset) pairs.
TEMPLATES = (
    *(((0, offset),) for offset in (-2, -1, 0, 1, 2)),
    ((0, -1), (0, 0)),
    ((0, 0), (0, 1)),
    *(((1, offset),) for offset in (-2, -1, 0, 1, 2)),
    *(((1, offset), (1, offset + 1)) for offset in (-2, -1, 0, 1)),
    *(((1, offset), (1, offset + 1), (1, offset + 2)) for offset in (-2, -1, 0)),
)


def sentences(path: str) -> Iterator[list[list[str]]]:
    """Rows of cells, sentence by sentence."""
    rows: list[list[str]] = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            cells = line.split()
            if cells:
                rows.append(cells)
            elif rows:
                yield rows
                rows = []
    if rows:
        yield rows


def attributes(rows: list[list[str]]) -> list[list[str]]:
    """The templates at every position; outside the sentence there is a mark with the distance."""
    n = len(rows)

    def cell(t: int, column: int) -> str:
        if t < 0:
            return f"_B{t}"
        return rows[t][column] if t < n else f"_B+{t - n + 1}"

    return [
        [
            f"{number}:" + "/".join([cell(t + offset, column) for column, offset in template])
            for number, template in enumerate(TEMPLATES)
        ]
        for t in range(n)
    ]


def train(options: argparse.Namespace) -> None:
    """Column file to model."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": 0.0, "c2": options.c2})
    if options.max_iterations:
        trainer.set_params({"max_iterations": options.max_iterations})
    for rows in sentences(options.data):
        trainer.append(attributes(rows), [row[-1] for row in rows])
    trainer.train(options.model)


def tag(options: argparse.Namespace) -> None:
    """The rows of a file with the label found for each."""
    tagger = pycrfsuite.Tagger()
    tagger.open(options.model)
    for rows in sentences(options.data):
        for row, label in zip(rows, tagger.tag(attributes(rows)), strict=True):
            sys.stdout.write(" ".join(row) + " " + label + "\n")
        sys.stdout.write("\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("train")
    command.add_argument("data")
    command.add_argument("model")
    command.add_argument("--c2", type=float, default=1.0)
    command.add_argument("--max-iterations", type=int)
    command.set_defaults(run=train)
    command = commands.add_parser("tag")
    command.add_argument("model")
    command.add_argument("data")
    command.set_defaults(run=tag)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
