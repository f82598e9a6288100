"""``crfkit train --graphs``: train a GraphCRF on graphs in JSON lines."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crfkit.cli import options, train_kernels, train_trees
from crfkit.cli.messages import UsageError, ending
from crfkit.cli.tag_graphs import lines_in_messages
from crfkit.cli.train_data import Data, Job
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.models.graphs.graph_crf import GraphCRF

GOES_WITH = "--graphs"

# Options of the chain's models by potential: the value of --kind beside --graphs.
_ALSO = {
    "linear": ("c1", "c2", "tol", "min_freq"),
    "trees": ("leaves", "learning_rate", "min_samples_leaf"),
    "kernel": ("kernel", "gamma", "reg", "cliques", "edges"),
}

_OPTIONS = """
--graphs:
  --graphs                  DATA is graphs as JSON lines (docs/graphs.md); with --kind trees or kernel scores
      come from boosted trees or a kernel, with some of the options of these kinds
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
    if arguments.kind == "graphs":
        arguments.graphs, arguments.kind = True, "linear"
    if not arguments.graphs:
        return
    if arguments.kind not in _ALSO:
        raise UsageError(f"--kind {arguments.kind} does not go with --graphs: choose from {', '.join(_ALSO)}")
    arguments.potential, arguments.kind = arguments.kind, "graphs"
    for option in ("order", "label_column", "separator", "sequence_column"):
        if getattr(arguments, option) is not None:
            raise UsageError(f"--{option.replace('_', '-')} does not go with --graphs")
    if isinstance(arguments.c2, str):
        raise UsageError(f"--c2 {arguments.c2} does not go with --graphs: give a number")


CHECKS = (_check,)


def also(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the options of other kinds that are taken as well."""
    return _ALSO[arguments.potential]


def prepare(arguments: argparse.Namespace) -> Job:
    """Read the data and create the estimator."""
    from crfkit.models.graphs.graph_crf import GraphCRF

    same = ("c1", "c2", "tol", "min_freq", "training", "inference", "class_weight", "max_iterations")
    crf = GraphCRF(
        _potential(arguments),
        **options.given(arguments, *same),
        ends=arguments.ends,
        patience=arguments.patience,
        n_jobs=arguments.jobs,
        random_state=arguments.seed,
        verbose=options.verbosity(arguments),
    )
    data, lines = _read(arguments.data)
    dev, of_dev = (None, []) if arguments.dev is None else _read([arguments.dev])

    def fit(*given: Any, **how: Any) -> Any:
        with lines_in_messages(lines, of_dev):
            return crf.fit(*given, **how)

    return Job(crf, data, dev, fit)


def _potential(arguments: argparse.Namespace) -> Any:
    """Return where scores come from: a name, or an estimator with the settings."""
    if arguments.potential == "trees":
        return train_trees.estimator(arguments)
    return train_kernels.estimator(arguments) if arguments.potential == "kernel" else "linear"


def _read(paths: Sequence[str]) -> tuple[Data, list[str]]:
    """Return the graphs of files with their labels, and the file and line of each graph."""
    from crfkit.io.graph_lines import read_graphs

    graphs, y, lines = [], [], []
    for path in paths:
        for record in read_graphs(path):
            if record.labels is None:
                raise InputError(f"{path}:{record.line}: the graph has no labels")
            graphs.append(record.graph)
            y.append(record.labels)
            lines.append(f"{path}:{record.line}")
        if not graphs:
            raise InputError(f"{path}: the file is empty")
    return Data(graphs, y, None, None, words=("graphs", "nodes")), lines


def report(crf: GraphCRF) -> list[tuple[str, str]]:
    """Return facts about the trained model: pairs of name and text."""
    described = (f"{name}: {value}" for name, value in crf.tagger_.part.facts().items())
    size = ", ".join([f"{len(crf.classes_):,} labels", *described])
    how = ending(crf.history_, crf.converged_)
    return [
        ("model", size),
        ("maximised", crf.maximised_),
        ("objective", f"{crf.objective_:,.4f} after {crf.n_iter_:,} iterations ({how})"),
    ]
