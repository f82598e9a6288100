"""``crfkit train --kind trees``: a TreeCRF from column files, whose cells it takes as they are."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from crfkit.cli import options
from crfkit.cli.column_roles import Roles, place_of
from crfkit.cli.data_file import open_data
from crfkit.cli.messages import UsageError
from crfkit.cli.train_data import Data, Job, check_alike, read_table
from crfkit.exceptions import InputError
from crfkit.io.formats import names_of

if TYPE_CHECKING:
    from crfkit.models.trees.tree_crf import TreeCRF


GOES_WITH = "--kind trees"
CHECKS = ()


_OPTIONS = """
--kind trees:
  --window N>=1             positions that trees see, an odd number (3)
  --leaves N>=2             of a tree, at most (8)
  --learning-rate X:float   what every tree counts (0.1)
  --min-samples-leaf N>=1   training rows in a leaf, at least (5)
  --potentials auto|joint|factored  joint: trees see the label before, too; factored: a table scores label
      pairs; auto: factored from 5 labels on
  --categorical COLUMN...   a column (name or number) of categories although it looks like numbers; may be
      given again
  --by COLUMN               a column of categories (name or number), each of which gets trees of its own
  --folds K>=2              choose the number of rounds by cross-validation with K folds
  --decode marginal|viterbi  what 'crfkit tag' will do: the best label of each token (marginal, the default),
      or the best sequence
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that trees have."""
    options.declare(parser, _OPTIONS)


def prepare(arguments: argparse.Namespace) -> Job:
    """Read the data, and make the estimator."""
    crf = _estimator(arguments)
    data = _read(arguments.data, arguments)
    dev = None
    if arguments.dev is not None:
        dev = _read([arguments.dev], arguments)
        check_alike(data, dev, arguments.dev)
    _set_columns(crf, data, arguments)
    return Job(crf, data, dev, crf.fit)


def _estimator(arguments: argparse.Namespace) -> TreeCRF:
    from crfkit.models.trees.tree_crf import TreeCRF

    same = ("window", "learning_rate", "min_samples_leaf", "potentials", "decode", "order")
    renamed = {"n_leaves": "leaves", "early_stopping": "folds", "n_iterations": "max_iterations"}
    return TreeCRF(
        **options.given(arguments, *same, **renamed),
        patience=arguments.patience,
        n_jobs=arguments.jobs,
        random_state=arguments.seed,
        verbose=2 if arguments.verbose else sys.stderr.isatty() and not arguments.quiet,
    )


def _set_columns(crf: TreeCRF, data: Data, arguments: argparse.Namespace) -> None:
    """Tell the estimator the columns that options name, counted as it sees them: without that of labels."""
    record = data.record or {}
    label = int(record["label_column"])

    def seen(named: str, option: str) -> int:
        place = place_of(named, option, arguments.data[0], record["columns"], record.get("names"))
        if place == label:
            raise UsageError(f"{option} {named}: that is the column of the labels")
        return place - (place > label)

    if arguments.categorical is not None:
        crf.set_params(categorical=[seen(named, "--categorical") for named in arguments.categorical])
    if arguments.by is not None:
        crf.set_params(by=seen(arguments.by, "--by"))


def _read(paths: list[str], arguments: argparse.Namespace) -> Data:
    """The tables of all files together."""
    parts: list[Data] = []
    for path in paths:
        with open_data(path, arguments, tables=True) as file:
            if not file.format.is_table:
                raise InputError(
                    f"{file.name}: {file.format.name} data has sparse attributes, and trees take columns "
                    f"(--format {names_of(tables=True)})"
                )
            columns, label, record = read_table(file, arguments)
        parts.append(Data(Roles(label).for_template(columns), columns.column(label), None, record))
        check_alike(parts[0], parts[-1], path)
    if len(parts) == 1:
        return parts[0]
    from crfkit.data.columns import Columns
    from crfkit.io.csv_data import NamedColumns

    rows = Columns.from_rows([sentence for part in parts for sentence in part.x])
    if isinstance(parts[0].x, NamedColumns):
        rows = NamedColumns.of(rows, parts[0].x.names)
    return Data(rows, [labels for part in parts for labels in part.y], None, parts[0].record)


def report(crf: TreeCRF) -> list[tuple[str, str]]:
    """What became of the model: names, and words."""
    forest = crf.tagger_.potential.forest
    size = (
        f"{len(crf.classes_):,} labels, {crf.n_iter_:,} rounds, {forest.n_trees:,} trees, "
        f"{len(forest.leaf):,} leaves"
    )
    lines = [("model", size), ("objective", f"{crf.objective_:,.4f}")]
    if crf.cv_accuracy_:
        lines.append(("folds", f"accuracy {100 * max(crf.cv_accuracy_):.2f} % with so many rounds"))
    return lines
