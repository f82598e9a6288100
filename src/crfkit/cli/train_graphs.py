"""``crfkit train --graphs``: train a GraphCRF on graphs in JSON lines."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crfkit.cli import options
from crfkit.cli.messages import UsageError, ending
from crfkit.cli.train_data import Data, Job
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.models.graphs.graph_crf import GraphCRF

GOES_WITH = "--graphs"
ALSO = ("c1", "c2", "tol", "min_freq")  # options of linear models

_OPTIONS = """
--graphs:
  --graphs                  DATA is graphs as JSON lines (docs/graphs.md); the same as --kind graphs
  --training auto|likelihood|tree-reweighted|pseudo-likelihood  what is maximised; auto (default): the
      likelihood where it is feasible, otherwise its tree-reweighted surrogate
  --inference auto|exact|bp|trw|mean-field  how 'crfkit tag' computes labels; auto (default): exactly where it
      is feasible, otherwise tree-reweighted
  --ends                    features of an edge's two nodes score its pair of labels, too
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of graphs."""
    options.declare(parser, _OPTIONS)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.graphs and arguments.kind == "linear":  # the default
        arguments.kind = "graphs"
    if arguments.kind != "graphs":
        return
    arguments.graphs = True
    for option in ("order", "label_column", "separator", "sequence_column"):
        if getattr(arguments, option) is not None:
            raise UsageError(f"--{option.replace('_', '-')} does not go with --graphs")
    if isinstance(arguments.c2, str):
        raise UsageError(f"--c2 {arguments.c2} does not go with --graphs: give a number")


CHECKS = (_check,)


def prepare(arguments: argparse.Namespace) -> Job:
    """Read the data and create the estimator."""
    from crfkit.models.graphs.graph_crf import GraphCRF

    same = ("c1", "c2", "tol", "min_freq", "training", "inference", "class_weight", "max_iterations")
    crf = GraphCRF(
        **options.given(arguments, *same),
        ends=arguments.ends,
        patience=arguments.patience,
        n_jobs=arguments.jobs,
        random_state=arguments.seed,
        verbose=options.verbosity(arguments),
    )
    dev = None if arguments.dev is None else _read([arguments.dev])
    return Job(crf, _read(arguments.data), dev, crf.fit)


def _read(paths: Sequence[str]) -> Data:
    from crfkit.io.graph_lines import read_graphs

    graphs, y = [], []
    for path in paths:
        for record in read_graphs(path):
            if record.labels is None:
                raise InputError(f"{path}:{record.line}: the graph has no labels")
            graphs.append(record.graph)
            y.append(record.labels)
        if not graphs:
            raise InputError(f"{path}: the file is empty")
    return Data(graphs, y, None, None, words=("graphs", "nodes"))


def report(crf: GraphCRF) -> list[tuple[str, str]]:
    """Return facts about the trained model: pairs of name and text."""
    facts = crf.tagger_.facts()
    size = f"{len(crf.classes_):,} labels, attributes: {facts['attributes']}, features: {facts['features']}"
    how = ending(crf.history_, crf.converged_)
    return [
        ("model", size),
        ("maximised", crf.maximised_),
        ("objective", f"{crf.objective_:,.4f} after {crf.n_iter_:,} iterations ({how})"),
    ]
