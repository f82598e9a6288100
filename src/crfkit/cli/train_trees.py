"""``crfkit train --model trees``: a TreeCRF from column files, whose cells it takes as they are."""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from crfkit.cli import options
from crfkit.cli.column_roles import Roles, label_place, place_of
from crfkit.cli.data_file import open_data, say
from crfkit.cli.messages import UsageError, note
from crfkit.cli.train_data import Data, check_alike
from crfkit.exceptions import InputError
from crfkit.io.formats import names_of
from crfkit.io.opening import check_writable

if TYPE_CHECKING:
    from crfkit.models.trees.tree_crf import TreeCRF


def add_options(group: Any) -> None:
    """Add the options that trees have."""
    group.add_argument(
        "--window", type=options.whole(1), metavar="N", help="positions that trees see, an odd number (3)"
    )
    group.add_argument("--leaves", type=options.whole(2), metavar="N", help="of a tree, at most (8)")
    group.add_argument("--learning-rate", type=float, metavar="X", help="what every tree counts (0.1)")
    group.add_argument(
        "--min-samples-leaf", type=options.whole(1), metavar="N", help="training rows in a leaf, at least (5)"
    )
    group.add_argument(
        "--potentials",
        choices=("auto", "joint", "factored"),
        help="joint: trees see the label before, too; factored: a table scores label pairs; auto: factored "
        "from 5 labels on",
    )
    group.add_argument(
        "--categorical",
        action="append",
        metavar="COLUMN",
        help="a column (name or number) of categories although it looks like numbers; may be given again",
    )
    group.add_argument(
        "--by",
        metavar="COLUMN",
        help="a column of categories (name or number), each of which gets trees of its own",
    )
    group.add_argument(
        "--folds",
        type=options.whole(2),
        metavar="K",
        help="choose the number of rounds by cross-validation with K folds",
    )
    group.add_argument(
        "--decode",
        choices=("marginal", "viterbi"),
        help="what 'crfkit tag' will do: the best label of each token (marginal, the default), or the best "
        "sequence",
    )
    # What a linear model is trained with unless told otherwise: anything else was given for one.
    group.set_defaults(linear_defaults={name: group.get_default(name) for name in _LINEAR_OPTIONS})


_TREE_OPTIONS = (
    "window",
    "leaves",
    "learning_rate",
    "min_samples_leaf",
    "potentials",
    "categorical",
    "by",
    "folds",
    "decode",
)
_LINEAR_OPTIONS = (
    "template",
    "continued",
    "start",
    "c1",
    "c2",
    "algorithm",
    "tol",
    "class_weight",
    "features",
    "min_freq",
    "all_possible_states",
    "all_possible_transitions",
    "constrained",
    "associations",
)


def refuse(arguments: argparse.Namespace) -> None:
    """Raise where options of trees are given for a linear model."""
    for name in _TREE_OPTIONS:
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} goes with --model trees")


def run(arguments: argparse.Namespace) -> int:
    """Read, train, save, report."""
    for name, default in arguments.linear_defaults.items():
        if getattr(arguments, name) != default:
            shown = "continue" if name == "continued" else name.replace("_", "-")
            raise UsageError(f"--{shown} goes with linear models, not with --model trees")
    check_writable(arguments.model)
    crf = _estimator(arguments)
    began = time.perf_counter()
    data = _read(arguments.data, arguments)
    dev = None
    if arguments.dev is not None:
        dev = _read([arguments.dev], arguments)
        check_alike(data, dev, arguments.dev)
    _set_columns(crf, data, arguments)
    read = time.perf_counter()
    from crfkit.cli.train import fit_until_stopped, keep_unfinished, save

    interrupted = fit_until_stopped(crf.fit, data, dev)
    trained = time.perf_counter()
    if interrupted:
        keep_unfinished(crf, data, arguments, "")
    save(crf, data, arguments.model)
    if not arguments.quiet:
        _report(crf, data, arguments.model, (read - began, trained - read, time.perf_counter() - trained))
    return 0


def _estimator(arguments: argparse.Namespace) -> TreeCRF:
    from crfkit.models.trees.tree_crf import TreeCRF

    given = {
        "window": arguments.window,
        "n_leaves": arguments.leaves,
        "learning_rate": arguments.learning_rate,
        "min_samples_leaf": arguments.min_samples_leaf,
        "potentials": arguments.potentials,
        "early_stopping": arguments.folds,
        "decode": arguments.decode,
        "order": arguments.order,
        "n_iterations": arguments.max_iterations,
    }
    return TreeCRF(
        **{name: value for name, value in given.items() if value is not None},
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
            columns = file.table()
            if columns.n_positions == 0:
                raise InputError(f"{file.name}: there is nothing in it")
            label = label_place(columns, arguments.label_column)
            if not arguments.quiet:
                say(file, f", {columns.n_columns} a row, labels in column {label}")
        record: dict[str, Any] = {"columns": columns.n_columns, "label_column": label}
        if hasattr(columns, "names"):
            record["names"] = list(columns.names)
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


def _report(crf: TreeCRF, data: Data, path: str, seconds: tuple[float, float, float]) -> None:
    forest = crf.tagger_.potential.forest
    lines = [
        ("data", f"{len(data.y):,} sequences, {data.n_tokens:,} tokens"),
        (
            "model",
            f"{len(crf.classes_):,} labels, {crf.n_iter_:,} rounds, {forest.n_trees:,} trees, "
            f"{len(forest.leaf):,} leaves",
        ),
        ("objective", f"{crf.objective_:,.4f}"),
        ("seconds", "reading {:.2f}, training {:.2f}, saving {:.2f}".format(*seconds)),
        ("written", f"{path}, {os.path.getsize(path) / 1e6:,.1f} MB"),
    ]
    if crf.cv_accuracy_:
        lines.insert(3, ("folds", f"accuracy {100 * max(crf.cv_accuracy_):.2f} % with so many rounds"))
    if crf.history_ and "dev_accuracy" in crf.history_[-1]:
        best = max(record["dev_accuracy"] for record in crf.history_)
        lines.insert(3, ("dev accuracy", f"{100 * best:.2f} %"))
    for name, words in lines:
        note(f"{name:13}{words}")
