"""``crfkit train --kind trees``: train a TreeCRF on the cells of column files."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from crfkit.cli import options
from crfkit.cli.column_roles import place_of
from crfkit.cli.messages import UsageError
from crfkit.cli.train_data import Data, Job, check_alike, read_cells

if TYPE_CHECKING:
    from crfkit.models.trees.tree_crf import TreeCRF


GOES_WITH = "--kind trees"
CHECKS = ()


_OPTIONS = """
--kind trees:
  --window N>=1             number of positions that the trees see, odd (default: 3)
  --leaves N>=2             most leaves per tree (default: 8)
  --learning-rate X:float   factor on the values of each tree (default: 0.1)
  --min-samples-leaf N>=1   least number of training rows per leaf (default: 5)
  --potentials auto|joint|factored  joint: trees also see the previous label; factored: a table scores label
      pairs; auto (default): factored from 5 labels on
  --categorical COLUMN...   a column (name or number) to treat as categories although it looks like numbers;
      may be given several times
  --by COLUMN               a column of categories (name or number); each category gets its own trees
  --folds K>=2              choose the number of rounds by cross-validation with K folds
  --decode marginal|viterbi  what 'crfkit tag' predicts: the best label of each token (marginal, the default)
      or the best sequence (viterbi)
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of trees."""
    options.declare(parser, _OPTIONS)


def prepare(arguments: argparse.Namespace) -> Job:
    """Read the data and create the estimator."""
    crf = estimator(arguments)
    data = read_cells(arguments.data, arguments, "trees")
    dev = None
    if arguments.dev is not None:
        dev = read_cells([arguments.dev], arguments, "trees")
        check_alike(data, dev, arguments.dev)
    _set_columns(crf, data, arguments)
    return Job(crf, data, dev, crf.fit)


def estimator(arguments: argparse.Namespace) -> TreeCRF:
    """Return the estimator with the settings that options name."""
    from crfkit.models.trees.tree_crf import TreeCRF

    same = ("window", "learning_rate", "min_samples_leaf", "potentials", "decode", "order", "class_weight")
    renamed = {"n_leaves": "leaves", "early_stopping": "folds", "n_iterations": "max_iterations"}
    return TreeCRF(
        **options.given(arguments, *same, **renamed),
        patience=arguments.patience,
        n_jobs=arguments.jobs,
        random_state=arguments.seed,
        verbose=options.verbosity(arguments),
    )


def _set_columns(crf: TreeCRF, data: Data, arguments: argparse.Namespace) -> None:
    """Set the columns that options name, counted without the label column as the estimator does."""
    record = data.record or {}
    label = int(record["label_column"])

    def seen(named: str, option: str) -> int:
        place = place_of(named, option, arguments.data[0], record["columns"], record.get("names"))
        if place == label:
            raise UsageError(f"{option} {named}: this is the label column")
        return place - (place > label)

    if arguments.categorical is not None:
        crf.set_params(categorical=[seen(named, "--categorical") for named in arguments.categorical])
    if arguments.by is not None:
        crf.set_params(by=seen(arguments.by, "--by"))


def report(crf: TreeCRF) -> list[tuple[str, str]]:
    """Return facts about the trained model: pairs of name and text."""
    forest = crf.tagger_.potential.forest
    size = (
        f"{len(crf.classes_):,} labels, {crf.n_iter_:,} rounds, {forest.n_trees:,} trees, "
        f"{len(forest.leaf):,} leaves"
    )
    lines = [("model", size), ("objective", f"{crf.objective_:,.4f}")]
    if crf.cv_accuracy_:
        lines.append(("folds", f"accuracy {100 * max(crf.cv_accuracy_):.2f} % with this number of rounds"))
    return lines
